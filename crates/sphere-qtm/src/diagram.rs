//! Voronoi diagrams in host memory.

use crate::{Cell, Error, Level, Result, UnitVector};

/// The nearest site of each cell of a level, in the order of the cells, and the other outputs that the parameters name.
///
/// Example: see [`voronoi`](crate::voronoi()).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Diagram {
    /// The level.
    pub level: Level,
    /// The site nearest to each cell's centre.
    pub nearest: Vec<u32>,
    /// The second nearest site, or [`NONE`](crate::NONE) if there is only one site.
    pub second: Option<Vec<u32>>,
    /// The great-circle distance to the nearest site on the sphere of radius 1, as an angle in radians.
    pub distance: Option<Vec<f64>>,
    /// 1 where the two nearest sites have equal squared chords in f64; else 0.
    pub tie: Option<Vec<u8>>,
}

impl Diagram {
    /// The site of the cell that a place lies in.
    pub fn site_of(&self, place: impl Into<UnitVector>) -> u32 {
        self.nearest[Cell::containing(place, self.level).index() as usize]
    }

    /// The cells, each with its nearest site.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = (Cell, u32)> {
        self.level.cells().zip(self.nearest.iter().copied())
    }

    /// Checks that there is a site for each cell, which is one of `sites`.
    pub(crate) fn check(&self, sites: usize) -> Result<()> {
        let (expected, found) = (self.level.cell_count(), self.nearest.len() as u64);
        if expected != found {
            let what = "list of nearest sites";
            return Err(Error::Core(gpu_core::Error::Length { what, expected, found }));
        }
        match self.nearest.iter().find(|&&site| site as usize >= sites) {
            Some(&site) => Err(Error::Site { site, sites: sites as u64 }),
            None => Ok(()),
        }
    }
}
