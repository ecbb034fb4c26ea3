//! Sites that are points, lines and polygons.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use geo_io::{Features, Shape as Feature};
use programs::report::Report;
use sphere_qtm::{Error, Latitude, LonLat, Shape, Shapes};

use crate::{Sites, require_degrees_of};

/// Reads the features of a file, and reports what it took from them. With `needs_points` each must be one point.
pub fn read(
    path: &Path,
    latitude: Latitude,
    needs_points: bool,
    report: &mut Report,
) -> Result<Sites> {
    let Features { shapes, crs, properties, notes, .. } = geo_io::read_features(path)?;
    notes.iter().for_each(|note| report.note(format_args!("{}: {note}", path.display())));
    require_degrees_of(path, crs.as_ref())?;
    let is_point = |shape: &Feature| matches!(shape, Feature::Points(places) if places.len() == 1);
    let other = shapes.iter().position(|shape| shape.as_ref().is_some_and(|one| !is_point(one)));
    if let Some(feature) = other.filter(|_| needs_points) {
        let path = path.display();
        bail!("--ids needs points, but feature {feature} of {path} is not one point");
    }
    let taken = sites(&shapes, latitude).with_context(|| path.display().to_string())?;
    let sites = Sites { properties, ..taken };
    report.line("input", format_args!("{}: {} features", path.display(), shapes.len()));
    report.field("input", path.display().to_string());
    report.features_skipped(shapes.len() - sites.count(), shapes.len());
    note_on_mended(&sites, report);
    note_on_wide_edges(&shapes, report);
    Ok(sites)
}

/// Says which edges do not go the way that they have on a map.
fn note_on_wide_edges(features: &[Option<Feature>], report: &mut Report) {
    let is_some = |feature: &Option<Feature>| feature.as_ref().is_some_and(has_wide_edge);
    if let Some(first) = features.iter().position(is_some) {
        let others = if features[first + 1..].iter().any(is_some) { " and others" } else { "" };
        report.note(format_args!(
            "feature {first}{others}: an edge over more than 180 degrees of longitude takes the \
             shorter way, across the antimeridian; to force the longer way, add vertices along it"
        ));
    }
}

/// Whether an edge spans more than half of the longitudes; one around all of them ends where it begins.
fn has_wide_edge(feature: &Feature) -> bool {
    let is_wide = |ends: &[[f64; 2]]| {
        let span = (ends[1][0] - ends[0][0]).abs();
        span > 180.0 && span < 360.0
    };
    let of_line = |line: &Vec<[f64; 2]>| line.windows(2).any(is_wide);
    match feature {
        Feature::Lines(lines) => lines.iter().any(of_line),
        Feature::Polygons(polygons) => polygons.iter().flatten().any(of_line),
        Feature::Several(parts) => parts.iter().any(has_wide_edge),
        _ => false,
    }
}

/// Says which polygons are not taken as they are.
fn note_on_mended(sites: &Sites, report: &mut Report) {
    const SHOWN: usize = 5;
    let mended = sites.shapes.as_ref().map_or(&[][..], Shapes::mended);
    let number = |&site: &u32| sites.numbers.as_ref().map_or(site, |all| all[site as usize]);
    let numbers: Vec<u32> = mended.iter().map(number).collect();
    let shown: Vec<String> = numbers.iter().take(SHOWN).map(u32::to_string).collect();
    if let Some(count) = numbers.len().checked_sub(1) {
        let features = if count == 0 { "feature" } else { "features" };
        let more = if numbers.len() > SHOWN { " and others" } else { "" };
        report.note(format_args!(
            "{features} {}{more}: polygons had rings that cross, touch, have no area or lie \
             outside: the program repaired them, as GDAL's make_valid does",
            shown.join(", ")
        ));
    }
    report.field("features_mended", numbers);
}

/// A site for each feature that has a geometry.
fn sites(features: &[Option<Feature>], latitude: Latitude) -> Result<Sites> {
    let mut sites = Sites { latitude, ..Sites::default() };
    let (mut shapes, mut numbers) = (Vec::with_capacity(features.len()), Vec::new());
    for (i, feature) in features.iter().enumerate() {
        let Some(feature) = feature else {
            sites.x.push(f64::NAN);
            sites.y.push(f64::NAN);
            continue;
        };
        let mut first = None;
        let shape = shape(feature, latitude, &mut first).with_context(|| format!("feature {i}"))?;
        let first = first.with_context(|| format!("feature {i} has no vertices"))?;
        sites.x.push(first.longitude());
        sites.y.push(first.latitude());
        shapes.push(shape);
        numbers.push(i as u32);
    }
    ensure!(!shapes.is_empty(), "there are no sites");
    let shapes = Shapes::new(&shapes).map_err(|error| numbered(error, &numbers, latitude));
    sites.shapes = Some(shapes?);
    sites.numbers = Some(numbers);
    Ok(sites)
}

/// An error that names the feature in place of its site.
fn numbered(error: Error, numbers: &[u32], latitude: Latitude) -> anyhow::Error {
    let number = |site: u64| numbers.get(site as usize).map_or(site, |&number| number.into());
    match error {
        Error::Arc { site, from: [a, b], to: [c, d], why } => {
            let [b, d] = [b, d].map(|degrees| latitude.to_geodetic(degrees));
            anyhow!(
                "feature {} has an arc from ({a}, {b}) to ({c}, {d}), which are {why}",
                number(site)
            )
        }
        Error::Shape { site, why } => anyhow!("feature {} {why}", number(site)),
        other => other.into(),
    }
}

/// A feature on the sphere, and its first place as given.
fn shape(feature: &Feature, how: Latitude, first: &mut Option<LonLat>) -> Result<Shape> {
    let mut place = |&[longitude, latitude]: &[f64; 2]| -> Result<LonLat> {
        first.get_or_insert(LonLat::new(longitude, latitude)?);
        Ok(LonLat::from_geodetic(longitude, latitude, how)?)
    };
    let mut several: Vec<Shape> = match feature {
        Feature::Points(places) => {
            places.iter().map(|p| Ok(Shape::Point(place(p)?))).collect::<Result<_>>()?
        }
        Feature::Lines(lines) => lines
            .iter()
            .map(|line| Ok(Shape::Line(line.iter().map(&mut place).collect::<Result<_>>()?)))
            .collect::<Result<_>>()?,
        Feature::Polygons(polygons) => {
            let mut ring = |ring: &Vec<[f64; 2]>| ring.iter().map(&mut place).collect();
            let mut polygon = |rings: &Vec<Vec<[f64; 2]>>| -> Result<Shape> {
                Ok(Shape::Polygon(rings.iter().map(&mut ring).collect::<Result<_>>()?))
            };
            polygons.iter().map(&mut polygon).collect::<Result<_>>()?
        }
        Feature::Several(all) => {
            all.iter().map(|one| shape(one, how, first)).collect::<Result<_>>()?
        }
        other => bail!("{other:?} is not a shape that this program knows"),
    };
    // One by itself is what it is.
    Ok(if several.len() == 1 { several.remove(0) } else { Shape::Several(several) })
}
