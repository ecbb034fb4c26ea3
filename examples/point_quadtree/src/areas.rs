//! The points in the polygons of a file.

use std::path::Path;

use anyhow::{Context, Result};
use geo_io::{Crs, Features, Output, Shape};
use gpu_core::{Bounds, Progress, Shortest};
use programs::report::Report;
use programs::systems::is_across_antimeridian;
use quadtree_sort::{Lists, Polygons, Quadtree, Regions, Values, list_in};
use serde_json::json;

use crate::asked::Asked;
use crate::system::Beside;
use crate::values;

/// What counts stand under in a file of polygons.
const NAMES: [&str; 2] = ["polygon", "points"];

/// The formats of what was found in polygons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolygonsFormat {
    /// The polygons, with counts.
    GeoJson,
    /// A table with a row for each feature.
    GeoParquet,
    /// A line for each point in each polygon.
    Table,
}

/// The polygons of a file, and the points in each.
pub struct Areas {
    features: Features<geo_io::Polygons>,
    /// The coordinate system of the polygons.
    crs: Option<Crs>,
    /// By feature, the points in it in the order of the tree.
    found: Vec<Vec<u32>>,
    /// For each feature, the places of its points in the tree; empty if the tree has no values.
    places: Vec<Vec<u32>>,
    notes: Vec<String>,
}

impl Areas {
    /// Finds the points of each feature. [`geo_io::Polygons`] defines which points a feature holds.
    pub fn search(path: &Path, asked: Asked<'_>, progress: &dyn Progress) -> Result<Self> {
        let Asked { device, tree, crs, .. } = asked;
        let features = geo_io::read_polygons(path)?;
        let notes = notes(path, &features, asked)?;
        let mut rings = Polygons::new();
        for ring in features.shapes.iter().flatten().flatten() {
            rings.push([ring]).with_context(|| path.display().to_string())?;
        }
        let lists = list_in(device.with_progress(progress), tree, Regions::Polygons(&rings))?;
        let found = in_features(&features.shapes, &lists, tree)?;
        let places = match tree.values().is_empty() {
            true => vec![Vec::new(); found.len()],
            false => split(tree.places_of(&found.concat())?, &found),
        };
        let of_points = crs.filter(|crs| !crs.is_geographic());
        let crs = features.crs.as_ref().or(of_points).cloned();
        Ok(Self { features, crs, found, places, notes })
    }

    /// Says how many points each has.
    pub fn report(&self, tree: &Quadtree, report: &mut Report) {
        self.notes.iter().for_each(|note| report.note(note));
        let shapes = &self.features.shapes;
        let skipped = shapes.iter().filter(|parts| parts.is_empty()).count();
        report.features_skipped(skipped, shapes.len());
        for (polygon, (found, places)) in self.found.iter().zip(&self.places).enumerate() {
            let (count, words) = (found.len(), values::in_words(tree.values(), places));
            report.line("polygon", format_args!("{polygon}: {count} points{words}"));
            let mut of_polygon = json!({"polygon": polygon, "points": count});
            if !tree.values().is_empty() {
                of_polygon["values"] = values::summaries(tree.values(), places);
            }
            report.element("polygons", of_polygon);
        }
    }

    /// Writes them. A table says which rows of which files points are, where their numbers do not.
    pub fn write(
        &self,
        format: PolygonsFormat,
        output: Output<'_>,
        asked: Asked<'_>,
    ) -> Result<()> {
        let (found, tree) = (self.found.iter().enumerate(), asked.tree);
        match format {
            PolygonsFormat::GeoJson | PolygonsFormat::GeoParquet => {
                let features = found.map(|(polygon, points)| {
                    let mut properties = self.features.properties[polygon].clone();
                    let counts = [polygon as u64, points.len() as u64];
                    NAMES.iter().zip(counts).for_each(|(name, count)| properties.set(name, count));
                    for column in tree.values() {
                        let summary = values::summary(column, &self.places[polygon]);
                        for (what, value) in summary.into_iter().flatten() {
                            properties.set(&property(column, what), value);
                        }
                    }
                    (properties, Shape::Polygons(self.features.shapes[polygon].clone()))
                });
                match format {
                    PolygonsFormat::GeoParquet => {
                        geo_io::write_geoparquet_features(output, features, self.crs.as_ref())?
                    }
                    _ => geo_io::write_shapes(output, features, self.crs.as_ref())?,
                }
            }
            PolygonsFormat::Table => {
                let all = found.flat_map(|(polygon, points)| {
                    points.iter().map(move |&point| (polygon, point as usize))
                });
                let all: Vec<(usize, usize)> = all.collect();
                let points: Vec<usize> = all.iter().map(|&(_, point)| point).collect();
                let rows = asked.rows.map(|rows| rows(&points));
                let places = tree.places_of(&self.found.concat())?;
                let line = |(i, &(polygon, point)): (usize, &(usize, usize))| {
                    let place = places[i] as usize;
                    let value = |v: &Values| format!(",{}", values::at(v, place));
                    let values: String = tree.values().iter().map(value).collect();
                    let row = rows.as_ref().map(|rows| format!(",{}", quoted(&rows[i])));
                    let (x, y) = (Shortest(tree.x()[place]), Shortest(tree.y()[place]));
                    format!("{polygon},{point},{x},{y}{values}{}", row.unwrap_or_default())
                };
                let names = columns(tree.values(), rows.is_some());
                geo_io::write_rows(output, &names.join(","), all.iter().enumerate().map(line))?;
            }
        }
        Ok(())
    }
}

/// The names of the columns of a table of points. A value whose name another column has gets `value` in its name.
fn columns(values: &[Values], has_rows: bool) -> Vec<String> {
    let first = ["polygon", "point", "x", "y"].map(str::to_owned);
    let last = has_rows.then(|| "row".to_owned());
    let mut names: Vec<String> = first.into_iter().collect();
    for value in values {
        let mut name = value.name().to_owned();
        let is_another = |name: &str| {
            let taken = names.iter().chain(&last).any(|other| other.eq_ignore_ascii_case(name));
            taken
                || values.iter().any(|other| {
                    other.name().eq_ignore_ascii_case(name) && other.name() != value.name()
                })
        };
        while is_another(&name) {
            name += "_value";
        }
        names.push(name);
    }
    names.iter().chain(&last).map(|name| field(name)).collect()
}

/// A text as a field of a table, which may hold commas and quotes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// Returns the name of a statistic of a column of values, in a file of polygons.
fn property(values: &Values, what: &str) -> String {
    format!("{}_{what}", values.name())
}

/// A list cut into lists as long as others.
fn split(all: Vec<u32>, others: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut rest = &all[..];
    let mut take = |other: &Vec<u32>| {
        let (own, after) = rest.split_at(other.len());
        rest = after;
        own.to_vec()
    };
    others.iter().map(&mut take).collect()
}

/// A name as a field of a table, with quotes where it needs them.
fn field(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) { quoted(name) } else { name.to_owned() }
}

/// What to say of the polygons beside the points.
fn notes(
    path: &Path,
    features: &Features<geo_io::Polygons>,
    asked: Asked<'_>,
) -> Result<Vec<String>> {
    let rectangle = |feature: &geo_io::Polygons| {
        let places = || feature.iter().flatten().flatten();
        let (x, y): (Vec<f64>, Vec<f64>) = places().map(|&[x, y]| (x, y)).unzip();
        Bounds::of(&x, &y)
    };
    let all: Vec<Bounds> = features.shapes.iter().filter_map(rectangle).collect();
    let mut notes = Vec::new();
    if features.shapes.is_empty() {
        notes.push(format!("{} has no features", path.display()));
    }
    if let Some(bounds) = all.iter().copied().reduce(crate::leaves::union) {
        let root = asked.tree.bounds();
        let meets = |b: &Bounds| {
            b.min_x <= root.max_x
                && b.max_x >= root.min_x
                && b.min_y <= root.max_y
                && b.max_y >= root.min_y
        };
        let (stated, points) = (features.crs.as_ref(), asked.crs);
        let meets = all.iter().any(meets);
        notes = Beside { path, stated, bounds, points, meets }.notes()?;
    }
    notes.extend(features.notes.iter().map(|note| format!("{}: {note}", path.display())));
    if let Some((first, others)) = features.outside.split_first() {
        let (path, others) = (path.display(), if others.is_empty() { "" } else { " and others" });
        notes.push(format!(
            "feature {first}{others} of {path}: a hole lies outside of its outer ring, and counts as a polygon of its own, as \
             GDAL's make_valid takes it"
        ));
    }
    if asked.crs.is_some_and(Crs::is_geographic) {
        notes.extend(note_on_antimeridian(path, features, asked.tree.bounds()));
    }
    let of_values = asked.tree.values().iter();
    let of_values = of_values.flat_map(|v| ["min", "mean", "max"].map(|what| property(v, what)));
    for name in NAMES.map(str::to_owned).into_iter().chain(of_values) {
        if features.properties.iter().any(|properties| properties.has(&name)) {
            let path = path.display();
            notes.push(format!("the property \"{name}\" of {path} gives way to what was found"));
        }
    }
    Ok(notes)
}

/// Whether a longitude, a turn on or back, is among those of the points.
fn is_a_turn_away(longitude: f64, points: Bounds) -> bool {
    [-360.0, 360.0].iter().any(|turn| {
        let other = longitude + turn;
        points.min_x < other && other < points.max_x
    })
}

/// Returns a note on polygons across the antimeridian, or at longitudes that points have a turn away: all edges are
/// straight on the map, and a place has one longitude.
fn note_on_antimeridian(
    path: &Path,
    features: &Features<geo_io::Polygons>,
    points: Bounds,
) -> Option<String> {
    let is_wide = |ends: &[[f64; 2]]| {
        let span = (ends[1][0] - ends[0][0]).abs();
        span > 180.0 && span < 360.0
    };
    let first = |is_it: &dyn Fn(&Vec<[f64; 2]>) -> bool| {
        features.shapes.iter().position(|parts| parts.iter().flatten().any(is_it))
    };
    let path = path.display();
    // GDAL cuts by itself only what lies within 10 degrees.
    if let Some(feature) = first(&|ring| ring.windows(2).any(is_wide)) {
        return Some(format!(
            "feature {feature} of {path} reaches across the antimeridian: polygons are taken as they lie on a map of longitudes \
             and latitudes, so cut them there, as by ogr2ogr -wrapdateline -datelineoffset 180"
        ));
    }
    let feature = first(&|ring| {
        ring.iter().any(|place| {
            is_across_antimeridian([place[0]; 2], points) || is_a_turn_away(place[0], points)
        })
    })?;
    Some(format!(
        "feature {feature} of {path} lies where points may have other longitudes by a turn of 360 degrees, and these do not \
         count: give the longitudes of points and polygons from -180 to 180 (ogr2ogr -wrapdateline -datelineoffset 180 cuts \
         polygons)"
    ))
}

/// Returns the points of each feature, from the points of each ring. A polygon has the points in its outer ring that
/// lie in none of its holes. A feature has the points of any of its polygons.
fn in_features(
    features: &[geo_io::Polygons],
    rings: &Lists,
    tree: &Quadtree,
) -> Result<Vec<Vec<u32>>> {
    let is_plain = |feature: &geo_io::Polygons| feature.iter().flatten().count() <= 1;
    if features.iter().all(is_plain) {
        let mut next = 0..rings.len();
        let of = |feature: &geo_io::Polygons| {
            let own = next.by_ref().take(feature.iter().flatten().count());
            own.map(|ring| rings.of(ring)).collect::<Vec<_>>().concat()
        };
        return Ok(features.iter().map(of).collect());
    }
    // Lists are in the order of the tree, so they are put together by places in it.
    let places = tree.places_of(&rings.indices)?;
    let of_ring =
        |ring: usize| &places[rings.offsets[ring] as usize..rings.offsets[ring + 1] as usize];
    let mut next = 0..rings.len();
    let of = |feature: &geo_io::Polygons| {
        let mut held = Vec::new();
        for polygon in feature {
            let own: Vec<&[u32]> = next.by_ref().take(polygon.len()).map(of_ring).collect();
            if let [outer, holes @ ..] = &own[..] {
                let mut without: Vec<u32> = holes.iter().copied().flatten().copied().collect();
                without.sort_unstable();
                let inside = outer.iter().copied();
                held.extend(inside.filter(|place| without.binary_search(place).is_err()));
            }
        }
        held.sort_unstable();
        held.dedup();
        held.into_iter().map(|place| tree.order()[place as usize]).collect()
    };
    Ok(features.iter().map(of).collect())
}
