//! What a caller may ask for, checked.

use std::fmt;
use std::str::FromStr;

use gpu_core::GridSpec;
use rayon::prelude::*;

use crate::{Error, Result};

/// The finest supersampling.
pub const MAX_SUPERSAMPLE: u32 = 8;

/// The most pixels on a side of the Voronoi raster: positions in half pixels are `i32`.
pub const MAX_SIDE: u64 = 1 << 29;

/// Points to interpolate, as columns of equal length, in ground units.
#[derive(Clone, Copy, Debug)]
pub struct Points<'a> {
    /// Eastings.
    pub x: &'a [f64],
    /// Northings.
    pub y: &'a [f64],
    /// Values: elevations, say.
    pub z: &'a [f64],
}

impl Points<'_> {
    /// Checks that the columns have the same length.
    pub(crate) fn check_lengths(&self) -> Result<()> {
        let (x, y, z) = (self.x.len(), self.y.len(), self.z.len());
        if x == y && y == z { Ok(()) } else { Err(Error::Columns { x, y, z }) }
    }

    /// Checks the columns, and that the points are finite.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_lengths()?;
        let finite = |&i: &usize| {
            self.x[i].is_finite() && self.y[i].is_finite() && self.z[i].abs() <= f64::from(f32::MAX)
        };
        match (0..self.z.len()).into_par_iter().find_first(|i| !finite(i)) {
            Some(index) => {
                let (x, y, z) = (self.x[index], self.y[index], self.z[index]);
                Err(Error::NotFinite { index, x, y, z })
            }
            None => Ok(()),
        }
    }
}

/// Which value a site gets when several points lie in its pixel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// Their mean, rounded to the fixed-point resolution.
    #[default]
    Mean,
    /// The lowest.
    Min,
    /// The highest.
    Max,
    /// That of the first point in input order.
    First,
    /// That of the last point in input order.
    Last,
}

impl Duplicates {
    /// Every policy.
    pub const ALL: [Self; 5] = [Self::Mean, Self::Min, Self::Max, Self::First, Self::Last];

    fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Min => "min",
            Self::Max => "max",
            Self::First => "first",
            Self::Last => "last",
        }
    }
}

impl fmt::Display for Duplicates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Duplicates {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|policy| policy.name() == text);
        found.ok_or_else(|| Error::UnknownDuplicates { name: text.to_owned() })
    }
}

/// How to interpolate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// The DEM.
    pub grid: GridSpec,
    /// Region of influence of a site, in DEM cells: a cell farther away does not use it. May be
    /// infinite.
    pub site_radius: f64,
    /// Radius, in DEM cells, of the circle in which a cell looks for pixels to steal. May be
    /// infinite: then the weights are those of the whole natural neighbourhood.
    pub query_radius: f64,
    /// Pixels of the Voronoi raster along a cell's side: 1 to [`MAX_SUPERSAMPLE`].
    pub supersample: u32,
    /// What becomes of several points in one pixel.
    pub duplicates: Duplicates,
    /// Whether the number of stolen pixels is given for each cell.
    pub counts: bool,
}

impl Params {
    /// Site radius 10 and query radius 3, as in the paper; no supersampling, mean, no counts.
    pub fn new(grid: GridSpec) -> Self {
        Self {
            grid,
            site_radius: 10.0,
            query_radius: 3.0,
            supersample: 1,
            duplicates: Duplicates::Mean,
            counts: false,
        }
    }

    /// The Voronoi raster, checked like everything else.
    pub(crate) fn raster(&self) -> Result<GridSpec> {
        let &Self { grid, site_radius, query_radius, supersample, .. } = self;
        if !(1..=MAX_SUPERSAMPLE).contains(&supersample) {
            return Err(Error::Supersample { supersample });
        }
        if query_radius.is_nan() || query_radius <= 0.0 {
            return Err(Error::QueryRadius { query_radius });
        }
        if site_radius.is_nan() || site_radius <= 0.0 {
            return Err(Error::SiteRadius { site_radius });
        }
        GridSpec::new(grid.origin_x, grid.origin_y, grid.cell_size, grid.width, grid.height)?;
        let side = |cells: u32| u64::from(cells) * u64::from(supersample);
        let (width, height) = (side(grid.width), side(grid.height));
        if width.max(height) > MAX_SIDE || width * height > pba_voronoi::MAX_PIXELS {
            return Err(Error::TooLarge { width, height });
        }
        Ok(grid.refined(supersample)?)
    }
}
