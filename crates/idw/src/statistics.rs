//! Statistics of the points that a target's value comes from.

use gpu_core::parallel::{self, FINE};
use gpu_scan::{Sum, cpu};

use crate::{Error, Number, Result};

/// Statistics of the points that count for each target, and of their first value. Distances are in ground units, values
/// in the values' unit. NaN where a target has no point.
///
/// A target with too few points has no value. The statistics of a search still tell of the points that it found. If all
/// points count, and they are fewer than [`Params::min_points`](crate::Params::min_points), the statistics are those of
/// no points.
///
/// ```
/// use gpu_core::{Device, Points, Targets};
/// use idw::{Input, Params, interpolate};
///
/// let points = Points { x: &[0.0, 1.0, 9.0], y: &[0.0; 3], values: &[&[10.0, 20.0, 90.0]] };
/// let targets = Targets::Points { x: &[0.5], y: &[0.0] };
/// let params = Params::nearest(2).statistics(true);
/// let surface = interpolate::<f64>(&Device::Cpu, Input::new(points, targets), &params)?;
/// let found = surface.statistics.expect("they were asked for");
/// assert_eq!((found.count[0], found.min[0], found.max[0]), (2, 10.0, 20.0));
/// assert_eq!((found.mean[0], found.nearest_distance[0]), (15.0, 0.5));
/// # Ok::<(), idw::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Statistics<T> {
    /// How many points.
    pub count: Vec<u32>,
    /// The lowest value.
    pub min: Vec<T>,
    /// The highest value.
    pub max: Vec<T>,
    /// The mean of the values, unweighted.
    pub mean: Vec<T>,
    /// The standard deviation of the values (divided by their number, not by one less).
    pub deviation: Vec<T>,
    /// The distance to the nearest point; metres on the sphere.
    pub nearest_distance: Vec<T>,
}

impl<T: Number> Statistics<T> {
    /// Returns the statistics of all points, for every target: the lowest and the highest value, mean and standard
    /// deviation.
    pub(crate) fn constant(
        count: u32,
        [min, max, mean, deviation]: [f64; 4],
        nearest_distance: Vec<T>,
    ) -> Self {
        let n = nearest_distance.len();
        let all = |value: f64| vec![T::from_f64(value); n];
        Self {
            count: vec![count; n],
            min: all(min),
            max: all(max),
            mean: all(mean),
            deviation: all(deviation),
            nearest_distance,
        }
    }

    /// Refuses a distance that the type does not hold; what values give lies between them.
    pub(crate) fn require_finite(&self) -> Result<()> {
        let distances = &self.nearest_distance;
        let is_beyond = |i: usize| distances[i].to_f64().is_infinite();
        let beyond = parallel::first(distances.len(), FINE, is_beyond);
        beyond.map_or(Ok(()), |index| Err(Error::Distance { index }))
    }
}

/// Mean and standard deviation of values. Both back ends sum in the order of `gpu-scan`'s reductions.
pub(crate) fn moments(values: &[f64], offset: f64) -> [f64; 2] {
    let rest: Vec<f64> = values.iter().map(|value| value - offset).collect();
    let sum = cpu::reduce(Sum, &rest);
    let mean = sum / values.len() as f64;
    let squares: Vec<f64> = rest.iter().map(|rest| (rest - mean) * (rest - mean)).collect();
    moments_of([sum, cpu::reduce(Sum, &squares)], values.len(), offset)
}

/// The same from the sum of the values less their offset, and from the sum of the squared differences from their mean.
pub(crate) fn moments_of([sum, squares]: [f64; 2], count: usize, offset: f64) -> [f64; 2] {
    let n = count as f64;
    [offset + sum / n, (squares / n).sqrt()]
}
