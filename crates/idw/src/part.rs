//! Sums over all points, if the points come in parts.

use gpu_core::parallel::{self, FINE};
use gpu_core::{GridSpec, host_memory};
use kernels_rs::idw::part::{Weight, mean};

use crate::points::check_len;
use crate::{Error, Number, Params, Result, Summary, Surface};

/// The values of targets from a part of the points: for each target, the weighted mean and its weight.
///
/// Example: see [`part`](crate::part()).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Part<T> {
    /// For each column of the points' values, the weighted means of the targets; NaN where the part has no point.
    pub values: Vec<Vec<T>>,
    /// The sum of the weights for each target. Weights take distances in ground units (metres on the sphere).
    pub weights: Vec<Weight>,
    /// Where the targets lie, if they are a grid.
    pub grid: Option<GridSpec>,
    /// How many points were read and left out. Here `nodata` counts targets without a mean.
    pub summary: Summary,
}

/// The total of the parts that were added so far: for each target, the mean over all of their points.
///
/// A part's mean is the value that [`interpolate`](crate::interpolate) computes from its points. The total is their
/// mean in f64, weighted by the sums of weights. So the total is as accurate as one call over all points. The order of
/// the parts changes only the last bits of the result. The same parts in the same order add up to the same bits, on
/// every processor.
///
/// Memory: 16 bytes a target, and 8 for each column of values.
///
/// Example: see [`part`](crate::part()).
#[derive(Clone, Debug, Default)]
pub struct Total {
    means: Vec<Vec<f64>>,
    weights: Vec<Weight>,
    grid: Option<GridSpec>,
    points: u64,
    skipped: u64,
}

impl Total {
    /// Returns a total without parts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a part. The first part decides how many targets and columns of values there are.
    ///
    /// Work: two additions and two powers a target and column.
    ///
    /// # Errors
    /// [`gpu_core::Error::Length`] for a part with other targets or columns, [`Error::Conflict`] for a part on another
    /// grid, [`Error::Core`] where memory fails.
    pub fn add<T: Number>(&mut self, part: &Part<T>) -> Result<()> {
        let count = part.weights.len();
        if self.means.is_empty() {
            let column = || host_memory::filled(f64::NAN, count);
            self.means = part.values.iter().map(|_| column()).collect::<Result<_, _>>()?;
            self.weights = host_memory::filled(Weight::NONE, count)?;
            self.grid = part.grid;
        }
        check_len("part: targets", self.weights.len(), count)?;
        check_len("part: columns of values", self.means.len(), part.values.len())?;
        part.values.iter().try_for_each(|v| check_len("part: column of values", count, v.len()))?;
        if self.grid != part.grid {
            return Err(Error::Conflict { option: "a part", with: "parts on another grid" });
        }
        let Self { means, weights, .. } = self;
        for (means, values) in means.iter_mut().zip(&part.values) {
            parallel::for_each(means, FINE, |i, of_all| {
                let (_, shares) = weights[i].plus(part.weights[i]);
                *of_all = mean([*of_all, values[i].to_f64()], shares);
            });
        }
        parallel::for_each(weights, FINE, |i, of_all| *of_all = of_all.plus(part.weights[i]).0);
        self.points += part.summary.points;
        self.skipped += part.summary.skipped;
        Ok(())
    }

    /// Returns how many points were added, and how many of them were left out.
    pub fn points(&self) -> (u64, u64) {
        (self.points, self.skipped)
    }

    /// Returns the values over all points that were added. A target without a value has [`Params::nodata`]; so do all
    /// targets if the points are fewer than [`Params::min_points`].
    ///
    /// # Errors
    /// [`Error::Core`] where memory fails.
    pub fn surface<T: Number>(&self, params: &Params) -> Result<Surface<T>> {
        let count = self.weights.len();
        let nodata = T::from_f64(params.nodata);
        let too_few = self.points - self.skipped < u64::from(params.min_points);
        let is_missing = |i: usize| too_few || !self.weights[i].is_some();
        host_memory::require((count * self.means.len() * size_of::<T>()) as u64)?;
        let column = |means: &Vec<f64>| {
            let value = |i: usize| if is_missing(i) { nodata } else { T::from_f64(means[i]) };
            parallel::map(count, FINE, value)
        };
        let values = self.means.iter().map(column).collect();
        let nodata = parallel::count(count, FINE, is_missing);
        let summary = Summary { points: self.points, skipped: self.skipped, nodata };
        Ok(Surface { values, grid: self.grid, statistics: None, summary })
    }
}
