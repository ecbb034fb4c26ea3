//! Leave-one-out cross-validation: how well the other points predict each point, and whether the variances are as large
//! as the errors.

use gpu_core::{On, Points};

use crate::input::check_points;
use crate::{Params, Result, leave_one_out};

/// How well the other points predict each point.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Validation {
    /// For each point, the value that the others predict minus the point's first value. NaN where the others predict no
    /// value.
    pub errors: Vec<f64>,
    /// The kriging variance of each; NaN where the others predict no value.
    pub variances: Vec<f64>,
    /// Points that got a value.
    pub count: u64,
    /// The root of the mean squared error; NaN where no point got a value, like the next two.
    pub rmse: f64,
    /// The mean of the errors' magnitudes.
    pub mean_absolute: f64,
    /// The mean error: above 0 if predictions are too high.
    pub bias: f64,
    /// The mean of the squared errors, each divided by its variance. It is near 1 if the variances are right, and above
    /// 1 if errors are larger. Points that share a place have variance 0 and do not count; NaN if no point counts.
    pub deviation_ratio: f64,
}

/// Interpolates the first value of each point from the nearest of all other points. Several points at one place predict
/// each other. Cost: as an interpolation at the points.
///
/// ```
/// use gpu_core::{Device, Points};
/// use kriging::{Model, Params, Variogram, cross_validate};
///
/// let points = Points { x: &[0.0, 4.0], y: &[0.0; 2], values: &[&[10.0, 20.0]] };
/// let params = Params::new(Variogram::new(0.0).structure(Model::Spherical, 1.0, 4.0));
/// let found = cross_validate(&Device::Cpu, points, &params)?;
/// assert_eq!(found.errors, [10.0, -10.0]); // each gets the other's value
/// assert_eq!((found.rmse, found.bias), (10.0, 0.0));
/// // Of one neighbour the variance is twice the semivariance, which is the sill from the range on.
/// assert!((found.variances[0] - 2.0).abs() < 1e-9);
/// # Ok::<(), kriging::Error>(())
/// ```
///
/// # Errors
/// The errors of [`interpolate`](crate::interpolate).
pub fn cross_validate<'on>(
    on: impl Into<On<'on>>,
    points: Points,
    params: &Params,
) -> Result<Validation> {
    let On { device, progress } = on.into();
    params.check()?;
    check_points(&points)?;
    let [predicted, variances] = leave_one_out(device, points, params, progress)?;
    let errors = predicted.iter().zip(points.values[0]).map(|(value, point)| value - point);
    Ok(Validation::of(errors.collect(), variances))
}

impl Validation {
    fn of(errors: Vec<f64>, variances: Vec<f64>) -> Self {
        let known = || errors.iter().filter(|e| !e.is_nan());
        let count = known().count() as u64;
        let mean = |of: fn(f64) -> f64| known().map(|&e| of(e)).sum::<f64>() / count as f64;
        let (rmse, mean_absolute, bias) = (mean(|e| e * e).sqrt(), mean(f64::abs), mean(|e| e));
        let ratios =
            || errors.iter().zip(&variances).filter(|(_, v)| **v > 0.0).map(|(e, v)| e * e / v);
        let deviation_ratio = ratios().sum::<f64>() / ratios().count() as f64;
        Self { errors, variances, count, rmse, mean_absolute, bias, deviation_ratio }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measures_leave_out_what_is_unknown() {
        let v = Validation::of(vec![3.0, f64::NAN, -4.0, 0.0], vec![9.0, f64::NAN, 4.0, 0.0]);
        assert_eq!((v.count, v.mean_absolute, v.deviation_ratio), (3, 7.0 / 3.0, 2.5));
        assert!(
            (v.rmse - (25.0f64 / 3.0).sqrt()).abs() < 1e-15 && (v.bias + 1.0 / 3.0).abs() < 1e-15
        );
    }
}
