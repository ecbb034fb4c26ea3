//! Parameters.

use gpu_core::{require_at_most, require_parameter};

use crate::{Error, Result, Variogram};

/// The most points of a target's neighbourhood.
pub const MAX_NEIGHBOURS: u32 = 64;

/// How to interpolate. A variogram holds a list of structures, so this is `Clone` and not `Copy`, unlike the parameters
/// of most other crates; all functions take it by reference.
///
/// ```
/// use kriging::{Model, Params, Variogram};
///
/// let variogram = Variogram::new(0.1).structure(Model::Exponential, 2.0, 150.0);
/// let params = Params::new(variogram).max_points(24).min_points(3).radius(500.0);
/// assert_eq!((params.max_points, params.min_points), (24, 3));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Params {
    /// How values are related.
    pub variogram: Variogram,
    /// How many points count for a target, the nearest ones: 1 to [`MAX_NEIGHBOURS`]. Among equally near points, those
    /// with the lower index count. Points at one place are one point.
    pub max_points: u32,
    /// A target with fewer points has no value. A target always needs at least one point.
    pub min_points: u32,
    /// Only points within this distance count, whatever the anisotropy; 0 for all.
    pub radius: f64,
    /// The number that stands for a missing value and for its variance.
    pub nodata: f64,
}

impl Params {
    /// Returns parameters that take the nearest 16 points, by a variogram.
    pub fn new(variogram: Variogram) -> Self {
        Self { variogram, max_points: 16, min_points: 1, radius: 0.0, nodata: f64::NAN }
    }

    gpu_core::builders! {
        variogram: Variogram;
        max_points: u32;
        min_points: u32;
        radius: f64;
        nodata: f64;
    }

    /// Checks all of them.
    pub(crate) fn check(&self) -> Result<()> {
        self.variogram.check()?;
        let (min, max) = (self.min_points, self.max_points);
        require_parameter("max_points", max, max > 0, "at least 1")?;
        require_at_most("points for a target", max.into(), MAX_NEIGHBOURS.into())?;
        if min > max {
            return Err(Error::MinAboveMax { min, max });
        }
        let is_radius = self.radius == 0.0 || (1e-130..=1e150).contains(&self.radius);
        Ok(require_parameter("radius", self.radius, is_radius, "0 or between 1e-130 and 1e150")?)
    }

    /// The farthest that a point may be.
    pub(crate) fn reach(&self) -> f64 {
        if self.radius > 0.0 { self.radius } else { f64::INFINITY }
    }
}
