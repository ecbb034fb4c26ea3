//! Contour lines, as CPU and GPU give them.

use gpu_core::GridSpec;
use kernels_rs::terrain::{CellPlaces, NONE};

use crate::Result;

/// The line of one height, with the high ground on its right.
#[derive(Clone, Debug, PartialEq)]
pub struct Contour {
    /// Its height.
    pub level: f64,
    /// Its points in ground coordinates (x, y); a ring ends at the point at which it begins.
    pub points: Vec<[f64; 2]>,
}

impl Contour {
    /// Whether it is a ring.
    pub fn is_closed(&self) -> bool {
        self.points.len() > 2 && self.points.first() == self.points.last()
    }
}

/// Checks that pieces can be numbered.
pub(crate) fn check_count(pieces: u64) -> Result<()> {
    Ok(gpu_core::require_at_most("pieces of contour lines", pieces, u64::from(NONE) - 1)?)
}

/// Where a grid's cells lie on the ground.
pub(crate) fn ground(grid: &GridSpec) -> CellPlaces {
    CellPlaces { x: grid.origin_x, y: grid.origin_y, cell_size: grid.cell_size }
}
