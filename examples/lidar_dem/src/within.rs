//! Polygons outside of which cells have no value.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use geo_io::{Crs, Features, Polygons};
use gpu_core::{Bounds, GridSpec};
use programs::ground::Ground;

use crate::beside::{Beside, Stated};
use crate::lattice::Lattice;

/// The polygons of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Area {
    path: PathBuf,
    /// The polygons of all features.
    polygons: Polygons,
    crs: Option<Crs>,
    /// The first feature with a hole outside of its outer ring.
    outside: Option<usize>,
    notes: Vec<String>,
}

impl Area {
    /// Reads polygons. [`geo_io::Polygons`] defines which places they hold.
    ///
    /// # Errors
    /// An error that says what is wrong with the file, with the feature; a file without polygons.
    pub fn read(path: &Path) -> Result<Self> {
        let Features { shapes, crs, outside, notes, .. } =
            geo_io::read_polygons(path).context("--within")?;
        let polygons: Polygons = shapes.into_iter().flatten().collect();
        ensure!(!polygons.is_empty(), "--within {} has no polygons", path.display());
        let (path, outside) = (path.to_owned(), outside.first().copied());
        Ok(Self { path, polygons, crs, outside, notes })
    }

    /// The file and its system.
    pub fn stated(&self) -> Stated<'_> {
        ("--within", &self.path, self.crs.as_ref())
    }

    /// Compares the polygons' system with the cells' system; returns notes.
    ///
    /// # Errors
    /// The systems differ, or no polygon reaches the rectangle of the cells.
    pub fn notes(&self, crs: Option<&Crs>, grid: &GridSpec) -> Result<Vec<String>> {
        let (path, cells) = (self.path.display(), grid.bounds());
        let meets = |rings: &Vec<Vec<[f64; 2]>>| {
            let (x, y): (Vec<f64>, Vec<f64>) = rings.iter().flatten().map(|&[x, y]| (x, y)).unzip();
            Bounds::of(&x, &y).is_some_and(|bounds| bounds.touches(&cells))
        };
        let (count, meets) = (self.polygons.len(), self.polygons.iter().any(meets));
        let (stated, notes) = (self.crs.as_ref(), &self.notes);
        let beside =
            Beside { option: "--within", path: &self.path, what: "polygons", stated, notes };
        let mut notes = beside.notes(crs, meets)?;
        ensure!(
            meets,
            "--within {path}: none of its {count} polygons reaches the rectangle of the cells, {cells}"
        );
        if let Some(first) = self.outside {
            notes.push(format!(
                "feature {first} of {path}: a hole lies outside of its outer ring, and counts as a polygon of its own"
            ));
        }
        Ok(notes)
    }

    /// Returns 1 for each cell of a grid of the lattice whose centre a polygon holds, and 0 for the others: the same in a tile as in the whole.
    ///
    /// # Errors
    /// A vertex is not finite, or memory does not hold the cells.
    pub fn mask(&self, grid: &GridSpec, lattice: &Lattice) -> Result<Vec<u8>> {
        let [x, y] = lattice.centres(grid);
        let mask = gpu_core::cells_within(&x, &y, &self.polygons);
        mask.with_context(|| format!("--within {}", self.path.display()))
    }
}
