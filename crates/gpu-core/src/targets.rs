//! Where an interpolation computes values.

use crate::GridSpec;
#[cfg(feature = "cuda")]
use crate::{Error, Result, Slice};

/// Where to interpolate.
#[derive(Clone, Copy, Debug)]
pub enum Targets<'a> {
    /// At these places.
    Points {
        /// Eastings, or degrees of longitude.
        x: &'a [f64],
        /// Northings, or degrees of latitude.
        y: &'a [f64],
    },
    /// At the centres of a grid's cells, row by row from the north.
    Grid(GridSpec),
}

impl From<GridSpec> for Targets<'_> {
    fn from(grid: GridSpec) -> Self {
        Self::Grid(grid)
    }
}

impl Targets<'_> {
    /// Returns the grid, if the targets are one.
    pub fn grid(&self) -> Option<GridSpec> {
        match *self {
            Self::Points { .. } => None,
            Self::Grid(grid) => Some(grid),
        }
    }

    /// How many.
    pub fn len(&self) -> u64 {
        match self {
            Self::Points { x, .. } => x.len() as u64,
            Self::Grid(grid) => grid.cells(),
        }
    }

    /// Whether there are no targets.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The place of a target. Panics where there is none.
    #[inline]
    pub fn place(&self, index: usize) -> (f64, f64) {
        match self {
            Self::Points { x, y } => (x[index], y[index]),
            Self::Grid(grid) => {
                let width = grid.width as usize;
                grid.cell_centre((index % width) as u32, (index / width) as u32)
            }
        }
    }
}

/// Where to interpolate, on the device.
#[cfg(feature = "cuda")]
#[derive(Clone, Copy, Debug)]
pub enum DeviceTargets<'a> {
    /// At these places. A target that is not finite gets no value.
    Points {
        /// Eastings, or degrees of longitude.
        x: Slice<'a, f64>,
        /// Northings, or degrees of latitude.
        y: Slice<'a, f64>,
    },
    /// At the centres of a grid's cells, row by row from the north.
    Grid(GridSpec),
}

#[cfg(feature = "cuda")]
impl<'a> DeviceTargets<'a> {
    /// At places in two columns.
    pub fn points(x: impl Into<Slice<'a, f64>>, y: impl Into<Slice<'a, f64>>) -> Self {
        Self::Points { x: x.into(), y: y.into() }
    }

    /// Returns the grid, if the targets are one.
    pub fn grid(&self) -> Option<GridSpec> {
        match *self {
            Self::Points { .. } => None,
            Self::Grid(grid) => Some(grid),
        }
    }

    /// How many.
    pub fn len(&self) -> u64 {
        match self {
            Self::Points { x, .. } => x.len() as u64,
            Self::Grid(grid) => grid.cells(),
        }
    }

    /// Whether there are no targets.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Checks that both columns have the same length.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn check_lengths(&self) -> Result<()> {
        match self {
            Self::Points { x, y } if x.len() != y.len() => {
                let (expected, found) = (x.len() as u64, y.len() as u64);
                Err(Error::Length { what: "column of targets' y", expected, found })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(feature = "cuda")]
impl From<GridSpec> for DeviceTargets<'_> {
    fn from(grid: GridSpec) -> Self {
        Self::Grid(grid)
    }
}
