//! Leave-one-out cross-validation: how well the other points predict each point.

use gpu_core::{On, Points};

use crate::points::Data;
use crate::{Error, Params, Result, leave_one_out};

/// How well the other points predict each point.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Validation {
    /// For each given point, the value that the others predict minus the point's first value. NaN where the point was
    /// left out, or the others predict no value.
    pub errors: Vec<f64>,
    /// Points that got a value.
    pub count: u64,
    /// The root mean square error; NaN if no point got a value, as for the next two fields.
    pub rmse: f64,
    /// The mean of the errors' magnitudes.
    pub mean_absolute: f64,
    /// The mean error: above 0 if predictions are too high.
    pub bias: f64,
}

/// Which powers [`best_power`] compares.
///
/// Example: see [`best_power`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PowerParams {
    /// The powers.
    pub powers: Vec<f64>,
    /// How to interpolate. Cross-validation ignores its power and its adaptive power.
    pub interpolation: Params,
}

impl PowerParams {
    /// Returns parameters with these powers, and defaults otherwise.
    pub fn new(powers: impl Into<Vec<f64>>) -> Self {
        Self { powers: powers.into(), interpolation: Params::default() }
    }

    gpu_core::builders! {
        interpolation: Params;
    }
}

/// Powers beside each other.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// The power with the least root mean square error; the lowest of equal powers. `None` if no power gives a value.
    pub best: Option<f64>,
    /// Each power with its cross-validation, in the order given.
    pub all: Vec<(f64, Validation)>,
}

/// Interpolates the first value of each point from all other points.
///
/// Few points are summed in f64. From 8192 points on, if all of them count, [`Method::Auto`](crate::Method::Auto) sums in
/// f32: the result is within 1e-5 of the exact prediction. It expands far points if the power is at most 4. Above power
/// 4 the error grows in proportion to the power.
///
/// Several points in one place predict each other. Where fewer than [`Params::min_points`] others count, a point gets no
/// value. Cost: as for an interpolation at the points.
///
/// ```
/// use gpu_core::{Device, Points};
/// use idw::{Params, cross_validate};
///
/// let points = Points { x: &[0.0, 4.0], y: &[0.0; 2], values: &[&[10.0, 20.0]] };
/// let found = cross_validate(&Device::Cpu, points, &Params::default())?;
/// assert_eq!(found.errors, [10.0, -10.0]); // each gets the other's value
/// assert_eq!((found.rmse, found.bias), (10.0, 0.0));
/// # Ok::<(), idw::Error>(())
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
    let data = Data::of(points, params)?;
    let others = data.len().saturating_sub(1);
    let too_few = params.is_all_pairs() && params.min_points as usize > others;
    let predicted = match others == 0 || too_few {
        true => vec![f64::NAN; data.len()],
        false => leave_one_out(device, &data, params, progress)?,
    };
    let mut errors = vec![f64::NAN; points.x.len()];
    for (i, value) in predicted.into_iter().enumerate() {
        let point = data.kept.as_ref().map_or(i, |kept| kept[i] as usize);
        errors[point] = value - points.values[0][point];
    }
    Ok(Validation::of(errors))
}

/// Cross-validates by several powers, to choose one.
///
/// ```
/// use gpu_core::{Device, Points};
/// use idw::{PowerParams, best_power};
///
/// // The near point has the right value, and a high power gives it most of the weight.
/// let points = Points { x: &[0.0, 1.0, 8.0, 9.0], y: &[0.0; 4], values: &[&[5.0, 5.0, 7.0, 7.0]] };
/// let found = best_power(&Device::Cpu, points, &PowerParams::new([1.0, 2.0, 4.0]))?;
/// assert_eq!(found.best, Some(4.0));
/// assert!(found.all[2].1.rmse < found.all[0].1.rmse);
/// # Ok::<(), idw::Error>(())
/// ```
///
/// # Errors
/// The errors of [`cross_validate`], and [`Error::Conflict`] where weights are a kernel function, which has no power.
pub fn best_power<'on>(
    on: impl Into<On<'on>>,
    points: Points,
    params: &PowerParams,
) -> Result<Comparison> {
    let On { device, progress } = on.into();
    if params.interpolation.kernel.is_some() {
        return Err(Error::Conflict { option: "a kernel function", with: "powers" });
    }
    let mut all = Vec::with_capacity(params.powers.len());
    for (i, &power) in params.powers.iter().enumerate() {
        let fraction = i as f64 / params.powers.len() as f64;
        progress.at("cross-validate", fraction)?;
        let params = params.interpolation.power(power).adaptive(None);
        all.push((power, cross_validate(device, points, &params)?));
    }
    let with_value = all.iter().filter(|(_, v)| v.count > 0);
    let best = with_value.min_by(|(p, a), (q, b)| a.rmse.total_cmp(&b.rmse).then(p.total_cmp(q)));
    Ok(Comparison { best: best.map(|&(power, _)| power), all })
}

impl Validation {
    fn of(errors: Vec<f64>) -> Self {
        let known = || errors.iter().filter(|e| !e.is_nan());
        let count = known().count() as u64;
        let mean = |of: fn(f64) -> f64| known().map(|&e| of(e)).sum::<f64>() / count as f64;
        let (rmse, mean_absolute, bias) = (mean(|e| e * e).sqrt(), mean(f64::abs), mean(|e| e));
        Self { errors, count, rmse, mean_absolute, bias }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measures_leave_out_what_is_unknown() {
        let v = Validation::of(vec![3.0, f64::NAN, -4.0]);
        assert_eq!((v.count, v.mean_absolute, v.bias), (2, 3.5, -0.5));
        assert!((v.rmse - 12.5f64.sqrt()).abs() < 1e-15);
    }
}
