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
    /// Returns the site of the cell that a place lies in.
    ///
    /// # Panics
    /// Panics if the diagram was edited, so that its level does not have as many cells as there are nearest sites.
    pub fn site_of(&self, place: impl Into<UnitVector>) -> u32 {
        self.require_a_site_a_cell();
        self.nearest[Cell::containing(place, self.level).index() as usize]
    }

    /// Returns the cells, each with its nearest site.
    ///
    /// # Panics
    /// As [`site_of`](Self::site_of).
    pub fn cells(&self) -> impl ExactSizeIterator<Item = (Cell, u32)> {
        self.require_a_site_a_cell();
        self.level.cells().zip(self.nearest.iter().copied())
    }

    fn require_a_site_a_cell(&self) {
        let (cells, found) = (self.level.cell_count(), self.nearest.len() as u64);
        assert!(cells == found, "a level of {cells} cells has {found} nearest sites");
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LonLat, Params, voronoi};
    use gpu_core::{Device, Points};

    #[test]
    fn a_diagram_whose_level_was_edited_panics_with_both_counts() {
        let poles = Points::new(&[0.0, 0.0], &[90.0, -90.0]);
        let level = |level: u32| Level::new(level).unwrap();
        let good = voronoi(&Device::Cpu, &poles, &Params::new(level(3))).unwrap();
        let place = LonLat::new(10.0, 50.0).unwrap();
        assert_eq!((good.site_of(place), good.cells().count()), (0, 512));
        for edited in [2, 4] {
            let bad = Diagram { level: level(edited), ..good.clone() };
            let site = std::panic::catch_unwind(|| bad.site_of(place));
            let text = *site.unwrap_err().downcast::<String>().unwrap();
            assert!(text.ends_with("has 512 nearest sites"), "{text}");
            assert!(std::panic::catch_unwind(|| bad.cells().count()).is_err());
        }
    }
}
