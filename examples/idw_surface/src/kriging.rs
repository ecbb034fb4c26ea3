//! Ordinary kriging: its options, and the steps of a surface.

use std::str::FromStr;

use anyhow::{Result, anyhow, ensure};
use clap::Args;
use geo_io::Crs;
use gpu_core::{Device, GridSpec, Points, Progress, Targets};
use kriging::{
    EmpiricalParams, Fitted, Input, MAX_NEIGHBOURS, Model, Params, Sample, Structure, Variogram,
};
use programs::args::distance;
use programs::report::{Report, digits};
use programs::stages::Stages;
use programs::units;
use serde_json::json;

/// Points of a neighbourhood where nothing says otherwise.
pub const DEFAULT_POINTS: u32 = 16;

/// What excludes --variogram. clap waives `requires` if the option that is required conflicts with another one: so the
/// options that need --variogram conflict with the same ones.
const NOT_KRIGING: [&str; 6] =
    ["power", "adaptive", "smoothing", "per_quadrant", "geographic", "kernel"];

/// Options of kriging.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Kriging")]
pub struct KrigingArgs {
    /// Ordinary kriging of the nearest points (--max-points, at most 64 [default: 16]) by this variogram, such as
    /// nugget:0.1+spherical:0.9,250 (partial sill, range; exponential, gaussian; +anisotropy:AZIMUTH,RATIO). Or by
    /// one fitted to the points: fit, or fit:MODEL,.. of these models
    #[arg(long, value_name = "VARIOGRAM", conflicts_with_all = NOT_KRIGING)]
    pub variogram: Option<Choice>,
    /// Write the kriging variance as a second band of a GeoTIFF
    #[arg(long, requires = "variogram", conflicts_with_all = NOT_KRIGING)]
    pub variance: bool,
    /// A fit takes pairs of points up to this distance [default: a third of the diagonal of the points' extent]
    #[arg(long, requires = "variogram", conflicts_with_all = NOT_KRIGING, value_parser = distance)]
    pub cutoff: Option<f64>,
}

impl KrigingArgs {
    /// Refuses --cutoff beside a variogram that needs no fit.
    ///
    /// # Errors
    /// In the case that the summary names.
    pub fn require_a_fit_for_cutoff(&self) -> Result<()> {
        let is_given = matches!(self.variogram, Some(Choice::Given(_)));
        ensure!(!is_given || self.cutoff.is_none(), "--cutoff is for --variogram fit");
        Ok(())
    }

    /// Refuses an azimuth where the north is not the direction of y.
    ///
    /// # Errors
    /// In the case that the summary names.
    pub fn require_north_up(&self, crs: Option<&Crs>) -> Result<()> {
        match &self.variogram {
            Some(Choice::Given(variogram)) if variogram.direction().is_some() => {
                units::require_north_up("the azimuth of --variogram", crs)
            }
            _ => Ok(()),
        }
    }
}

/// `--variogram`.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// This one.
    Given(Variogram),
    /// The model of this list that fits best.
    Fit(Vec<Model>),
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "fit" {
            return Ok(Self::Fit(Model::ALL.to_vec()));
        }
        let Some(names) = text.strip_prefix("fit:") else {
            return text
                .parse()
                .map(Self::Given)
                .map_err(|error: kriging::Error| error.to_string());
        };
        let model = |name: &str| {
            let model = Model::ALL.into_iter().find(|model| model.name() == name.trim());
            model.ok_or_else(|| {
                format!("unknown model {name:?}: use spherical, exponential or gaussian")
            })
        };
        names.split(',').map(model).collect::<Result<_, _>>().map(Self::Fit)
    }
}

impl KrigingArgs {
    /// Whether the program fits the variogram.
    pub fn fits(&self) -> bool {
        matches!(self.variogram, Some(Choice::Fit(_)))
    }

    /// The sample of points that a variogram is fitted to.
    pub fn sample(&self) -> Result<Sample> {
        Ok(Sample::new(&EmpiricalParams::default().cutoff(self.cutoff.unwrap_or(0.0)))?)
    }

    /// Returns the variogram, given or fitted to a sample, and reports it.
    pub fn variogram(
        &self,
        sample: Sample,
        progress: &dyn Progress,
        report: &mut Report,
    ) -> Result<Option<Variogram>> {
        let models = match &self.variogram {
            None => return Ok(None),
            Some(Choice::Given(variogram)) => {
                report_variogram(variogram, report);
                return Ok(Some(variogram.clone()));
            }
            Some(Choice::Fit(models)) => models,
        };
        let empirical = sample.variogram(progress)?;
        let Fitted { variogram, error, .. } =
            Variogram::fit(&empirical, models).map_err(|error| {
                let [cutoff] = digits([empirical.cutoff], 4);
                anyhow!(
                    "--variogram fit fails for {} points and pairs up to {cutoff} (--cutoff): \
                     {error}; give a variogram yourself, such as --variogram spherical:1,250",
                    empirical.points
                )
            })?;
        report_variogram(&variogram, report);
        let (points, lags) = (empirical.points, empirical.lags.len());
        let [cutoff] = digits([empirical.cutoff], 4);
        report.line("fit", format_args!("to {points} points, {lags} lags up to {cutoff}"));
        let lags = empirical.lags.iter().map(|lag| {
            json!({"pairs": lag.pairs, "distance": lag.distance, "semivariance": lag.semivariance})
        });
        let lags: Vec<_> = lags.collect();
        report.field(
            "fit",
            json!({"points": points, "cutoff": empirical.cutoff, "error": error, "lags": lags}),
        );
        Ok(Some(variogram))
    }
}

fn report_variogram(variogram: &Variogram, report: &mut Report) {
    report.line("variogram", variogram);
    report.field("variogram", variogram.to_string());
    if is_too_smooth(variogram) {
        let [least] = digits([1e-3 * variogram.sill()], 1);
        report.note(format_args!(
            "a Gaussian variogram with so small a nugget makes systems nearly singular, whose solutions may be far off: \
             add +nugget:{least} or more"
        ));
    }
}

/// Whether systems of points that are near each other, compared with the range, are nearly singular. Other models, and a
/// nugget, keep them apart: by a millionth of the sill, results have nine digits.
fn is_too_smooth(variogram: &Variogram) -> bool {
    let is_gaussian = |structure: &Structure| structure.model == Model::Gaussian;
    variogram.structures().iter().all(is_gaussian) && variogram.nugget() < 1e-6 * variogram.sill()
}

/// The parameters of kriging by a variogram.
pub fn params(
    variogram: Variogram,
    max_points: Option<u32>,
    min_points: u32,
    radius: Option<f64>,
) -> Params {
    Params::new(variogram)
        .max_points(max_points.unwrap_or(DEFAULT_POINTS))
        .min_points(min_points)
        .radius(radius.unwrap_or(0.0))
}

/// Refuses a neighbourhood that kriging does not have.
pub fn check(max_points: Option<u32>, min_points: u32) -> Result<()> {
    let most = max_points.unwrap_or(DEFAULT_POINTS);
    anyhow::ensure!(
        most <= MAX_NEIGHBOURS,
        "--max-points {most}: kriging takes at most {MAX_NEIGHBOURS} points"
    );
    anyhow::ensure!(
        min_points <= most,
        "--min-points {min_points} is above --max-points, {most} for kriging"
    );
    Ok(())
}

/// The bands of targets.
pub fn interpolate(
    device: &Device,
    points: Points,
    targets: Targets,
    (params, variance): (&Params, bool),
    progress: &dyn Progress,
) -> kriging::Result<Vec<Vec<f32>>> {
    let input = Input::new(points, targets);
    let surface = kriging::interpolate(device.with_progress(progress), input, params)?;
    let columns = surface.values.into_iter().chain(variance.then_some(surface.variances));
    Ok(columns.map(|column| column.into_iter().map(|value| value as f32).collect()).collect())
}

/// The bands of a grid, after a cross-validation where that is wanted.
pub fn surface(
    device: &Device,
    (points, grid): (Points, GridSpec),
    (params, variance): (&Params, bool),
    is_validated: bool,
    stages: &mut Stages,
    report: &mut Report,
) -> kriging::Result<Vec<Vec<f32>>> {
    if is_validated {
        let found = stages.run("cross-validate", |p| {
            kriging::cross_validate(device.with_progress(p), points, params)
        })?;
        report_validation(report, &found);
    }
    stages.run("interpolate", |p| interpolate(device, points, grid.into(), (params, variance), p))
}

/// What stands in the place of errors where there are none.
pub const NONE_PREDICTED: &str = "errors unknown, since no point gets a value from the others";

/// What leaving points out one by one found.
fn report_validation(report: &mut Report, found: &kriging::Validation) {
    let kriging::Validation { rmse, mean_absolute, bias, deviation_ratio, count, .. } = found;
    let [a, b, c, d] = digits([*rmse, *mean_absolute, *bias, *deviation_ratio], 4);
    let ratio = if deviation_ratio.is_nan() { "unknown" } else { &d };
    let errors = match count {
        0 => NONE_PREDICTED.to_owned(),
        _ => format!(
            "rmse {a}, mean absolute error {b}, bias {c}, mean squared deviation ratio {ratio}, {count} points"
        ),
    };
    report.line("left out", errors);
    let shared = found.variances.iter().filter(|variance| **variance == 0.0).count();
    if shared > 0 {
        report.note(format_args!(
            "{shared} of {count} points share a place with others, which predict them with variance 0: errors are too small, and \
             these points do not count for the ratio; merge such points first"
        ));
    }
    let found = json!({
        "what": "kriging", "rmse": rmse, "mean_absolute": mean_absolute, "bias": bias, "points": count,
        "deviation_ratio": deviation_ratio,
    });
    report.element("cross_validation", found);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variograms_are_given_or_fitted() {
        let given = Variogram::new(0.5).structure(Model::Gaussian, 2.0, 30.0);
        assert_eq!("gaussian:2,30+nugget:0.5".parse(), Ok(Choice::Given(given)));
        assert_eq!("fit".parse(), Ok(Choice::Fit(Model::ALL.to_vec())));
        assert_eq!("fit:gaussian".parse(), Ok(Choice::Fit(vec![Model::Gaussian])));
        for (text, is_smooth) in [
            ("gaussian:1,200", true),
            ("nugget:1e-9+gaussian:1,200", true),
            ("nugget:0.001+gaussian:1,200", false),
            ("gaussian:1,200+spherical:0.1,50", false),
            ("spherical:1,200", false),
        ] {
            let Ok(Choice::Given(variogram)) = text.parse() else { panic!("{text}") };
            assert_eq!(is_too_smooth(&variogram), is_smooth, "{text}");
        }
        for bad in ["", "fit:", "fit:linear", "spherical:1", "nugget:0"] {
            assert!(bad.parse::<Choice>().is_err(), "{bad:?} was taken");
        }
    }
}
