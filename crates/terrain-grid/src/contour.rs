//! Contour lines, as the CPU and the GPU return them.

use gpu_core::GridSpec;
use kernels_rs::terrain::{CellPlaces, NONE, Piece};

use crate::Result;

/// The line of one height, with the high ground on its right.
///
/// Example: see [`contours`](fn@crate::contours).
#[derive(Clone, Debug, PartialEq)]
pub struct Contour {
    /// Its height.
    pub level: f64,
    /// Its points in ground coordinates (x, y), each in another place than the one before it; the last point of a ring
    /// equals its first. The fragments of [`contours_of_part`](crate::contours_of_part) may repeat a point, where a
    /// cell's value is the level.
    pub points: Vec<[f64; 2]>,
}

impl Contour {
    /// Whether all of its points are one place, as around a cell whose value is the level.
    pub(crate) fn is_place(&self) -> bool {
        self.points.iter().all(|point| *point == self.points[0])
    }

    /// Whether it is a ring.
    pub fn is_closed(&self) -> bool {
        self.points.len() > 2 && self.points.first() == self.points.last()
    }
}

/// The points of the line; its height stays behind. (Feature `geo`.)
///
/// ```
/// use gpu_core::geo_types::LineString;
/// use gpu_core::{Device, GridSpec, GridView};
/// use terrain_grid::{ContourParams, contours};
///
/// # fn main() -> Result<(), terrain_grid::Error> {
/// let dem = GridView::new(&[0.0_f32, 1.0, 0.0, 1.0], GridSpec::new(0.0, 2.0, 1.0, 2, 2)?)?;
/// let mut lines = contours(&Device::Cpu, dem, &ContourParams::at([0.5]))?;
/// let line = LineString::from(lines.remove(0));
/// assert_eq!(line, LineString::from(vec![(1.0, 0.5), (1.0, 1.5)]));
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "geo")]
impl From<Contour> for gpu_core::geo_types::LineString<f64> {
    fn from(line: Contour) -> Self {
        line.points.into()
    }
}

/// A line, and where it begins.
pub(crate) struct Found {
    pub line: Contour,
    /// Its first piece; for a ring, the piece with the lowest number.
    pub first: Piece,
    pub is_ring: bool,
}

/// The lines that have a length, without where they begin.
pub(crate) fn with_length(lines: Vec<Found>) -> Vec<Contour> {
    let mut lines: Vec<Contour> =
        lines.into_iter().map(|found| found.line).filter(|line| !line.is_place()).collect();
    // A line crosses all edges of a cell whose value is the level in the cell's centre.
    lines.iter_mut().for_each(|line| line.points.dedup());
    lines
}

/// Checks that pieces can be numbered.
pub(crate) fn check_count(pieces: u64) -> Result<()> {
    Ok(gpu_core::require_at_most("pieces of contour lines", pieces, u64::from(NONE) - 1)?)
}

/// Where the cells of a grid lie on the ground, or those of a part that begins at a column and a row.
pub(crate) fn ground(grid: &GridSpec, [column, row]: [u32; 2]) -> CellPlaces {
    CellPlaces { x: grid.origin_x, y: grid.origin_y, cell_size: grid.cell_size, column, row }
}
