//! What a caller may choose, checked.

use gpu_core::GridSpec;
use kernels_rs::terrain::Shade;

use crate::{Error, Result};

/// What becomes of a cell with a neighbour that is NODATA or beyond the raster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edges {
    /// NODATA, as by gdaldem.
    #[default]
    Nodata,
    /// The neighbour counts as level with the cell: for pictures.
    Level,
}

/// The unit of slopes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlopeUnit {
    /// Degrees, from 0 to 90.
    #[default]
    Degrees,
    /// Rise over run, in percent.
    Percent,
}

/// How slopes are taken.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SlopeParams {
    /// Their unit: degrees by default.
    pub unit: SlopeUnit,
    /// Factor on heights, the ratio of their unit to the ground's: 1 by default.
    pub z_factor: f64,
    /// Beside NODATA: NODATA too by default.
    pub edges: Edges,
}

impl SlopeParams {
    /// The defaults.
    pub fn new() -> Self {
        Self { unit: SlopeUnit::Degrees, z_factor: 1.0, edges: Edges::Nodata }
    }

    gpu_core::builders! {
        unit: SlopeUnit;
        z_factor: f64;
        edges: Edges;
    }
}

impl Default for SlopeParams {
    fn default() -> Self {
        Self::new()
    }
}

/// How the light falls.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct HillshadeParams {
    /// Where it comes from, in degrees clockwise from north: 315 by default.
    pub azimuth: f64,
    /// Its height above the horizon, in degrees: 45 by default.
    pub altitude: f64,
    /// Factor on heights, exaggeration, or the ratio of their unit to the ground's: 1 by default.
    pub z_factor: f64,
    /// Beside NODATA: NODATA too by default.
    pub edges: Edges,
}

impl HillshadeParams {
    /// The defaults.
    pub fn new() -> Self {
        Self { azimuth: 315.0, altitude: 45.0, z_factor: 1.0, edges: Edges::Nodata }
    }

    gpu_core::builders! {
        azimuth: f64;
        altitude: f64;
        z_factor: f64;
        edges: Edges;
    }
}

impl Default for HillshadeParams {
    fn default() -> Self {
        Self::new()
    }
}

/// The heights of contour lines.
#[derive(Clone, Debug, PartialEq)]
pub enum Levels {
    /// `base` plus whole multiples of `interval`.
    Every {
        /// From one level to the next.
        interval: f64,
        /// A level.
        base: f64,
    },
    /// These, which rise.
    At(Vec<f64>),
}

/// Which contour lines are drawn.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ContourParams {
    /// Their heights.
    pub levels: Levels,
}

impl ContourParams {
    /// Lines of these heights.
    pub fn new(levels: Levels) -> Self {
        Self { levels }
    }

    /// Lines at the whole multiples of `interval`.
    pub fn every(interval: f64) -> Self {
        Self::new(Levels::Every { interval, base: 0.0 })
    }

    /// Lines at these heights, which rise.
    pub fn at(levels: impl Into<Vec<f64>>) -> Self {
        Self::new(Levels::At(levels.into()))
    }

    gpu_core::builders! {
        levels: Levels;
    }
}

/// The most levels of [`Levels::Every`].
pub const MAX_LEVELS: u32 = 1 << 20;

fn finite(what: &'static str, value: f64) -> Result<()> {
    Ok(gpu_core::require_parameter(what, value, value.is_finite(), "a finite number")?)
}

/// Checks a grid.
pub(crate) fn check_grid(grid: &GridSpec) -> Result<()> {
    let &GridSpec { width, height, .. } = grid;
    grid.check()?;
    match grid.cells() < u64::from(u32::MAX) {
        true => Ok(()),
        false => Err(Error::TooLarge { width, height }),
    }
}

/// What makes rises over unit lengths of Horn's sums of differences of heights.
fn factor(z_factor: f64, cell_size: f64) -> f64 {
    z_factor / (8.0 * cell_size)
}

impl SlopeParams {
    /// Checks it, and gives the square of the kernels' factor.
    pub(crate) fn factor_squared(&self, cell_size: f64) -> Result<f32> {
        finite("z factor", self.z_factor)?;
        Ok(factor(self.z_factor, cell_size).powi(2) as f32)
    }
}

impl HillshadeParams {
    /// Checks it, and gives what the kernels make a brightness with.
    pub(crate) fn shade(&self, cell_size: f64) -> Result<Shade> {
        finite("azimuth", self.azimuth)?;
        finite("altitude", self.altitude)?;
        finite("z factor", self.z_factor)?;
        let (azimuth, altitude) = (self.azimuth.to_radians(), self.altitude.to_radians());
        let (east, north) = (azimuth.sin() * altitude.cos(), azimuth.cos() * altitude.cos());
        let factor = factor(self.z_factor, cell_size);
        let light = [east * factor, -north * factor, altitude.sin()].map(|part| part as f32);
        Ok(Shade { factor_squared: factor.powi(2) as f32, light })
    }
}

impl ContourParams {
    /// Checks what does not depend on the DEM.
    pub(crate) fn check(&self) -> Result<()> {
        match &self.levels {
            Levels::Every { interval, base } => {
                finite("base level", *base)?;
                let (interval, expected) = (*interval, "a positive finite number");
                let is_good = interval.is_finite() && interval > 0.0;
                Ok(gpu_core::require_parameter("interval", interval, is_good, expected)?)
            }
            Levels::At(levels) => {
                levels.iter().try_for_each(|&level| finite("contour level", level))?;
                match levels.windows(2).find(|pair| pair[0] >= pair[1]) {
                    Some(pair) => Err(Error::Levels { value: pair[1] }),
                    None => Ok(()),
                }
            }
        }
    }

    /// Whether the levels depend on the DEM's range.
    pub(crate) fn needs_range(&self) -> bool {
        matches!(self.levels, Levels::Every { .. })
    }

    /// The levels for a DEM from `low` to `high`; none where `low > high`.
    pub(crate) fn within(&self, low: f64, high: f64) -> Result<Vec<f64>> {
        match &self.levels {
            Levels::At(levels) => Ok(levels.clone()),
            Levels::Every { .. } if low > high => Ok(Vec::new()),
            &Levels::Every { interval, base } => {
                let first = ((low - base) / interval).floor();
                let last = ((high - base) / interval).ceil();
                if last - first > f64::from(MAX_LEVELS) {
                    return Err(Error::TooManyLevels { interval, low, high, most: MAX_LEVELS });
                }
                let steps = (last - first) as u32;
                let mut levels: Vec<f64> =
                    (0..=steps).map(|k| base + (first + f64::from(k)) * interval).collect();
                // Far from 0 two steps may round to one number.
                levels.dedup();
                Ok(levels)
            }
        }
    }
}
