//! What a transform gives.

use gpu_core::{Grid, GridSpec};

/// A raster of unsigned numbers: of 32 bits if all numbers fit, else of 64 bits. All bits are set where there is no
/// site.
///
/// Example: see [`transform`](crate::transform()).
#[derive(Clone, Debug, PartialEq)]
pub enum Integers {
    /// 32 bits.
    U32(Grid<u32>),
    /// 64 bits.
    U64(Grid<u64>),
}

impl Integers {
    /// The number of pixels.
    pub fn len(&self) -> usize {
        match self {
            Self::U32(raster) => raster.values().len(),
            Self::U64(raster) => raster.values().len(),
        }
    }

    /// Where the pixels lie.
    pub fn grid(&self) -> &GridSpec {
        match self {
            Self::U32(raster) => raster.grid(),
            Self::U64(raster) => raster.grid(),
        }
    }

    /// Whether there are no pixels.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of pixel `p`, counted row by row; `None` if it has no site, or lies beyond the end.
    pub fn get(&self, p: usize) -> Option<u64> {
        match self {
            Self::U32(raster) => {
                raster.values().get(p).filter(|&&n| n != u32::MAX).map(|&n| n.into())
            }
            Self::U64(raster) => raster.values().get(p).filter(|&&n| n != u64::MAX).copied(),
        }
    }
}

/// The result of a transform: the rasters that [`Params`](crate::Params) name, on the input's grid.
///
/// Example: see [`transform`](crate::transform()).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Diagram {
    /// Where the pixels lie.
    pub grid: GridSpec,
    /// The squared length on the ground that a [squared distance](Self::squared_distance) of 1 means. If pixels are
    /// square, it is the square of their side. It is 0 on the globe, which has no squared distances.
    pub square_unit: f64,
    /// Linear index of the nearest site.
    pub nearest: Option<Integers>,
    /// Column and row of the nearest site; both are `u32::MAX` without a site.
    pub coordinates: Option<Grid<[u32; 2]>>,
    /// Squared distance to it.
    pub squared_distance: Option<Integers>,
    /// The distance to the nearest site; infinite without a site.
    pub distance: Option<Grid<f32>>,
    /// The distance to the nearest site; infinite without a site.
    pub distance_f64: Option<Grid<f64>>,
    /// The signed distance: positive outside the sites, negative at sites; infinite if all pixels are of one kind.
    pub signed_distance: Option<Grid<f32>>,
    /// The nearest site's value; NaN without a site.
    pub value: Option<Grid<f32>>,
    /// The nearest site's label; 0 without a site.
    pub label: Option<Grid<u32>>,
}

impl Diagram {
    /// One without any output yet.
    pub(crate) fn new(grid: GridSpec, square_unit: f64) -> Self {
        Self {
            grid,
            square_unit,
            nearest: None,
            coordinates: None,
            squared_distance: None,
            distance: None,
            distance_f64: None,
            signed_distance: None,
            value: None,
            label: None,
        }
    }
}
