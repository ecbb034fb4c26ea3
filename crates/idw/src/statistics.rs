//! Statistics of the points that a target's value comes from.

use crate::Number;
use crate::points::Range;

/// Statistics of the points of each target, of their first value; in ground units and those of the
/// value. NaN where a target has no point.
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
    /// Their standard deviation (over their number, not one less).
    pub deviation: Vec<T>,
    /// The distance to the nearest point; metres on the sphere.
    pub nearest_distance: Vec<T>,
}

impl<T: Number> Statistics<T> {
    /// Those of all points, for every target.
    pub(crate) fn constant(
        count: u32,
        range: Range,
        [mean, deviation]: [f64; 2],
        nearest_distance: Vec<T>,
    ) -> Self {
        let n = nearest_distance.len();
        let all = |value: f64| vec![T::from_f64(value); n];
        Self {
            count: vec![count; n],
            min: all(range.low),
            max: all(range.high),
            mean: all(mean),
            deviation: all(deviation),
            nearest_distance,
        }
    }
}

/// Mean and standard deviation of values.
pub(crate) fn moments(values: &[f64], offset: f64) -> [f64; 2] {
    let n = values.len() as f64;
    let mean = values.iter().map(|v| v - offset).sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - offset - mean).powi(2)).sum::<f64>() / n;
    [offset + mean, variance.sqrt()]
}
