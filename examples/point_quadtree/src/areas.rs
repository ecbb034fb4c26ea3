//! The points in the polygons of a file.

use std::path::Path;

use anyhow::{Context, Result};
use geo_io::Output;
use gpu_core::{Device, Progress};
use programs::report::Report;
use quadtree_sort::{Lists, Polygons, Quadtree, Regions, list_in};
use serde_json::json;

use crate::ask::PolygonsFormat;

/// The polygons of a file, and the points in each.
pub struct Areas {
    shapes: Vec<geo_io::Polygons>,
    found: Lists,
}

impl Areas {
    /// Looks for them.
    pub fn search(
        path: &Path,
        device: &Device,
        tree: &Quadtree,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let shapes = geo_io::read_polygons(path)?;
        let mut polygons = Polygons::new();
        for parts in &shapes {
            polygons.push(parts.iter().flatten()).with_context(|| path.display().to_string())?;
        }
        let found = list_in(device, tree, Regions::Polygons(&polygons), progress)?;
        Ok(Self { shapes, found })
    }

    /// Says how many points each has.
    pub fn report(&self, report: &mut Report) {
        let skipped = self.shapes.iter().filter(|parts| parts.is_empty()).count();
        report.features_skipped(skipped, self.shapes.len());
        for (polygon, count) in self.counts() {
            report.line("polygon", format_args!("{polygon}: {count} points"));
            report.element("polygons", json!({"polygon": polygon, "points": count}));
        }
    }

    fn counts(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.shapes.len()).map(|polygon| (polygon, self.found.of(polygon).len()))
    }

    /// Writes them.
    pub fn write(&self, format: PolygonsFormat, output: Output<'_>, tree: &Quadtree) -> Result<()> {
        match format {
            PolygonsFormat::GeoJson => {
                let features = self.counts().map(|(polygon, count)| {
                    let properties = vec![("polygon", polygon as f64), ("points", count as f64)];
                    (properties, self.shapes[polygon].clone())
                });
                geo_io::write_polygons(output, features, None)?;
            }
            PolygonsFormat::Table => {
                let rows = (0..self.shapes.len()).flat_map(|polygon| {
                    let found = self.found.of(polygon).iter();
                    found.map(move |&point| (polygon, point as usize))
                });
                let places = places(tree);
                let row = |(polygon, point): (usize, usize)| {
                    let place = places.get(point).map_or(0, |&place| place as usize);
                    format!("{polygon},{point},{},{}", tree.x()[place], tree.y()[place])
                };
                geo_io::write_rows(output, "polygon,point,x,y", rows.map(row))?;
            }
        }
        Ok(())
    }
}

/// Where in the tree each point as given is; 0 for those that are not.
fn places(tree: &Quadtree) -> Vec<u32> {
    let mut places = vec![0; tree.summary().points as usize];
    for (place, &point) in (0..).zip(tree.order()) {
        // A file may say anything.
        if let Some(of_point) = places.get_mut(point as usize) {
            *of_point = place;
        }
    }
    places
}
