//! The choice of contour levels, and the checks that all calls share.

use gpu_core::GridSpec;

use crate::{Error, Result};

/// The heights of contour lines.
///
/// Example: see [`ContourParams`].
#[derive(Clone, Debug, PartialEq)]
pub enum Levels {
    /// `base` plus whole multiples of `interval`.
    Every {
        /// From one level to the next.
        interval: f64,
        /// A level.
        base: f64,
    },
    /// These levels, in rising order.
    At(Vec<f64>),
}

/// Which contour lines are drawn.
///
/// ```
/// use gpu_core::{Device, GridSpec, GridView};
/// use terrain_grid::{ContourParams, Levels, contours};
///
/// let dem = GridView::new(&[1.0, 25.0, 1.0, 25.0], GridSpec::of_pixels(2, 2))?;
/// let levels = |params: ContourParams| -> terrain_grid::Result<Vec<f64>> {
///     Ok(contours(&Device::Cpu, dem, &params)?.iter().map(|line| line.level).collect())
/// };
/// assert_eq!(levels(ContourParams::every(10.0))?, [10.0, 20.0]);
/// assert_eq!(levels(ContourParams::new(Levels::Every { interval: 10.0, base: 5.0 }))?, [5.0, 15.0, 25.0]);
/// assert_eq!(levels(ContourParams::at([7.0]))?, [7.0]);
/// # Ok::<(), terrain_grid::Error>(())
/// ```
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

    /// Lines at these heights, in rising order.
    pub fn at(levels: impl Into<Vec<f64>>) -> Self {
        Self::new(Levels::At(levels.into()))
    }

    gpu_core::builders! {
        levels: Levels;
    }
}

/// The most levels of [`Levels::Every`].
pub const MAX_LEVELS: u32 = 1 << 20;

/// Refuses a number that is not finite.
pub(crate) fn finite(what: &'static str, value: f64) -> Result<()> {
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

    /// Returns the levels of a DEM whose lowest height is `low` and whose highest is `high`, in rising order; none where
    /// `low > high`. Levels of [`Levels::Every`] reach to the next one below `low` and above `high`.
    ///
    /// # Errors
    /// [`Error::TooManyLevels`] beyond [`MAX_LEVELS`].
    pub fn within(&self, low: f64, high: f64) -> Result<Vec<f64>> {
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
