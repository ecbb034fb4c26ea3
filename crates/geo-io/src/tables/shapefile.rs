//! Reads shapefiles: the shapes (.shp), and beside them fields (.dbf), index (.shx) and coordinate system (.prj). Any
//! of the latter may be missing.
//!
//! The crate `shapefile` writes the files of the tests. It is not the reader, since it allocates memory for as many
//! vertices as a damaged file claims. It returns fields of type F as f32 and whole numbers as f64, and counts deleted
//! rows only among the fields, not among the shapes.

mod encoding;
mod fields;
mod shapes;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{About, Field, Geometry, Stop, Table, Take, Vertex};
use crate::vectors::shapes::plane::{Bands, Outline, area, extent};
use crate::{Crs, Error, Result};
use fields::Fields;
use shapes::Shapes;

/// A shapefile that is open.
pub(super) struct Shapefile {
    shapes: Shapes,
    fields: Option<Fields>,
    about: About,
}

impl Shapefile {
    pub fn open(path: &Path) -> Result<Self> {
        let (index, fields, system) =
            (beside(path, "shx"), beside(path, "dbf"), beside(path, "prj"));
        let shapes = Shapes::open(path, index.as_deref())?;
        let fields = fields.map(|path| Fields::open(&path)).transpose()?;
        let mut about = About {
            columns: fields.as_ref().map(Fields::names).unwrap_or_default(),
            has_geometry: true,
            crs: system.map(|path| system_of(&path)).transpose()?,
            ..About::default()
        };
        match &fields {
            Some(fields) => about
                .notes
                .extend(encoding::note(beside(path, "cpg").as_deref(), fields.code_page())?),
            None => {
                about.notes.push("there is no .dbf beside it: its rows have no fields".to_owned());
            }
        }
        if about.crs.is_none() {
            about
                .notes
                .push("there is no .prj beside it: it names no coordinate system".to_owned());
        }
        Ok(Self { shapes, fields, about })
    }
}

/// The file beside that has another ending, in lower or in upper case.
fn beside(path: &Path, ending: &str) -> Option<PathBuf> {
    let other = |ending: &str| Some(path.with_extension(ending)).filter(|path| path.is_file());
    let is_upper = path.extension().is_some_and(|own| own == OsStr::new("SHP"));
    let upper = ending.to_ascii_uppercase();
    let [first, second] = if is_upper { [&upper[..], ending] } else { [ending, &upper[..]] };
    other(first).or_else(|| other(second))
}

/// The system of a .prj.
fn system_of(path: &Path) -> Result<Crs> {
    let text = std::fs::read(path).map_err(|reason| Error::read(path, reason))?;
    Crs::from_wkt(&String::from_utf8_lossy(&text)).ok_or_else(|| {
        Error::malformed(
            path,
            "it states an unknown coordinate system: give it as WKT, or remove the file",
        )
    })
}

impl Table for Shapefile {
    fn about(&self) -> &About {
        &self.about
    }

    fn each(mut self: Box<Self>, wanted: &[usize], take: &mut Take<'_>) -> Result<(), Stop> {
        let mut row = 0;
        while let Some(record) = self.shapes.next().map_err(|reason| Stop::Row(row, reason))? {
            let values = match &mut self.fields {
                // A row that was deleted is there until its file is packed, and so is its shape.
                Some(fields) => fields.next(wanted).map_err(|reason| Stop::Row(row, reason))?,
                None => Some(vec![Field::Null; wanted.len()]),
            };
            if let Some(values) = values {
                let geometry = shapes::geometry(&record);
                take(row, geometry.map_err(|reason| Stop::Row(row, reason))?, values)?;
            }
            row += 1;
        }
        match self.fields.as_ref().map(Fields::rows) {
            Some(rows) if rows != row => {
                Err(Stop::File(format!("it has {row} shapes, but its .dbf has {rows} rows")))
            }
            _ => Ok(()),
        }
    }
}

/// Makes polygons of rings, which stand in any order. Outer rings go one way round, and holes the other. Some files have
/// all of them the other way round than the format says; the largest ring of all is no hole. A hole belongs to the outer ring that holds most of its vertices; of
/// several, to the smallest.
fn nested(rings: Vec<Vec<Vertex>>) -> Geometry {
    let flat = |ring: &Vec<Vertex>| ring.iter().map(|&[x, y, _]| [x, y]).collect::<Vec<_>>();
    let areas: Vec<f64> = rings.iter().map(|ring| area(&flat(ring))).collect();
    let largest = areas.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0);
    let is_hole = |i: usize| (areas[i] < 0.0) != (largest < 0.0) && areas[i] != 0.0;
    let outer: Vec<usize> = (0..rings.len()).filter(|&i| !is_hole(i)).collect();
    let flats: Vec<_> = outer.iter().map(|&i| flat(&rings[i])).collect();
    let outlines: Vec<_> = flats.iter().map(|ring| Outline::of(ring)).collect();
    let heights = |outline: &Outline| outline.extent().map(|corner| corner[1]);
    let bands = Bands::of(&outlines.iter().map(heights).collect::<Vec<_>>());
    let around = |hole: &Vec<Vertex>| {
        let hole = flat(hole);
        let [low, high] = extent(&hole);
        let reaches = |&o: &usize| {
            let [from, to] = outlines[o].extent();
            (0..2).all(|k| from[k] <= low[k] && high[k] <= to[k])
        };
        let near = bands.at(low[1]).iter().map(|&o| o as usize);
        let mut candidates: Vec<usize> = near.filter(reaches).collect();
        if candidates.len() > 1 {
            // A few of its vertices tell.
            let some = || hole.iter().step_by(hole.len().div_ceil(8).max(1));
            let held = |o: usize| some().filter(|&&place| outlines[o].holds(place)).count();
            let size = |o: usize| areas[outer[o]].abs();
            candidates.sort_by_cached_key(|&o| (std::cmp::Reverse(held(o)), size(o).to_bits()));
        }
        candidates.first().copied()
    };
    let mut polygons: Vec<Vec<Vec<Vertex>>> =
        outer.iter().map(|&i| vec![rings[i].clone()]).collect();
    for (i, ring) in rings.into_iter().enumerate() {
        if is_hole(i) {
            match around(&ring) {
                Some(of) => polygons[of].push(ring),
                None => polygons.push(vec![ring]),
            }
        }
    }
    Geometry::Polygons(polygons)
}
