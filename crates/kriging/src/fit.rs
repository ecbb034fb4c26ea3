//! Models fitted to empirical variograms.
//!
//! For a given range, linear least squares give nugget and sill, neither below 0. A search finds the range: first the
//! least error among ranges that rise by a few percent, then golden sections around it. So the caller gives no starting
//! values, and the result depends on the variogram alone.

use crate::{Empirical, Error, Lag, Model, Result, Variogram};

/// A fitted variogram.
///
/// ```
/// use gpu_core::{Points, Silent};
/// use kriging::{Empirical, EmpiricalParams, Lag, Model, Variogram};
///
/// let exact = Variogram::new(0.5).structure(Model::Spherical, 2.0, 30.0);
/// # let points = Points { x: &[0.0], y: &[0.0], values: &[&[0.0]] };
/// # let mut empirical = Empirical::of(points, &EmpiricalParams::default(), &Silent)?;
/// let lag = |distance| Lag { pairs: 100, distance, semivariance: exact.semivariance(distance) };
/// empirical.lags = [5.0, 15.0, 25.0, 35.0].map(lag).to_vec();
/// let fitted = Variogram::fit(&empirical, &Model::ALL)?;
/// assert_eq!(fitted.model, Model::Spherical);
/// assert!((fitted.variogram.nugget() - 0.5).abs() < 1e-3);
/// assert!((fitted.variogram.structures()[0].range - 30.0).abs() < 0.1);
/// # Ok::<(), kriging::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fitted {
    /// The nugget and one structure.
    pub variogram: Variogram,
    /// The model of the structure.
    pub model: Model,
    /// The weighted sum of squared errors.
    pub error: f64,
}

/// Ranges that are tried, from a quarter of the least distance to four times the greatest.
const STEPS: u32 = 200;

impl Variogram {
    /// Fits a nugget and one structure to an empirical variogram. The structure has the model with the least error
    /// among those given; the first of equal models. The errors' weights are gstat's default, the number of pairs
    /// divided by the square of their distance.
    ///
    /// # Errors
    /// [`Error::Fit`] without models, with fewer than three lags above distance 0, without a semivariance above 0, or
    /// with numbers beyond f64.
    pub fn fit(empirical: &Empirical, models: &[Model]) -> Result<Fitted> {
        let lags: Vec<Lag> =
            empirical.lags.iter().copied().filter(|lag| lag.distance > 0.0).collect();
        if lags.len() < 3 {
            return Err(Error::Fit { reason: "the empirical variogram has fewer than three lags" });
        }
        if !lags.iter().any(|lag| lag.semivariance > 0.0) {
            return Err(Error::Fit { reason: "all values are the same" });
        }
        let fits = models.iter().map(|&model| fit(&lags, model));
        let best = fits.reduce(|best, fit| if fit.error < best.error { fit } else { best });
        let best = best.ok_or(Error::Fit { reason: "the list of models is empty" })?;
        let is_good = best.error.is_finite() && best.variogram.check().is_ok();
        is_good.then_some(best).ok_or(Error::Fit { reason: "its numbers overflow f64" })
    }
}

fn fit(lags: &[Lag], model: Model) -> Fitted {
    let [nearest, .., farthest] = lags else { unreachable!("there are three lags") };
    let error = |exponent: f64| linear(lags, model, exponent.exp()).1;
    let (low, high) = ((nearest.distance / 4.0).ln(), (farthest.distance * 4.0).ln());
    let step = (high - low) / f64::from(STEPS);
    let tried = (0..=STEPS).map(|i| low + f64::from(i) * step);
    let best = tried.min_by(|&a, &b| error(a).total_cmp(&error(b))).unwrap_or(low);
    let range = golden_section(error, [best - step, best + step]).exp();
    let ([nugget, sill], error) = linear(lags, model, range);
    Fitted { variogram: Variogram::new(nugget).structure(model, sill, range), model, error }
}

/// The place of the least value of a function between two bounds, if it has one minimum there.
fn golden_section(of: impl Fn(f64) -> f64, [mut low, mut high]: [f64; 2]) -> f64 {
    let share = (5f64.sqrt() - 1.0) / 2.0;
    let (mut a, mut b) = (high - share * (high - low), low + share * (high - low));
    let (mut at_a, mut at_b) = (of(a), of(b));
    // After 45 steps the bounds are as near as rounding lets values be told apart.
    for _ in 0..45 {
        if at_a <= at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - share * (high - low);
            at_a = of(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + share * (high - low);
            at_b = of(b);
        }
    }
    0.5 * (low + high)
}

/// Nugget and sill of a range, neither below 0, and the weighted sum of squared errors.
fn linear(lags: &[Lag], model: Model, range: f64) -> ([f64; 2], f64) {
    let rows = || {
        lags.iter().map(|lag| {
            let weight = lag.pairs as f64 / (lag.distance * lag.distance);
            (weight, model.rise(lag.distance / range), lag.semivariance)
        })
    };
    let sum = |of: fn(f64, f64) -> f64| rows().map(|(w, f, g)| w * of(f, g)).sum::<f64>();
    let (ones, rises, squares) = (sum(|_, _| 1.0), sum(|f, _| f), sum(|f, _| f * f));
    let (values, products) = (sum(|_, g| g), sum(|f, g| f * g));
    let error = |[nugget, sill]: [f64; 2]| {
        rows().map(|(w, f, g)| w * (g - nugget - sill * f).powi(2)).sum::<f64>()
    };
    let determinant = ones * squares - rises * rises;
    let both = [
        (values * squares - products * rises) / determinant,
        (ones * products - rises * values) / determinant,
    ];
    // Where one of both would be negative, one alone is best.
    let alone = [[values / ones, 0.0], [0.0, products / squares]];
    let is_good = |found: &[f64; 2]| found.iter().all(|part| part.is_finite() && *part >= 0.0);
    let tried = [both].into_iter().filter(is_good).chain(alone.into_iter().filter(is_good));
    let tried = tried.map(|found| (found, error(found)));
    tried.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(([0.0; 2], f64::INFINITY))
}
