//! Variograms: how much values differ, by the distance between their places.

use std::fmt;
use std::str::FromStr;

use gpu_core::require_parameter;
use kernels_rs::kriging::correlation::{Correlation, model};

use crate::{Error, Result};

/// The most structures of a variogram, beside its nugget.
pub const MAX_STRUCTURES: usize = kernels_rs::kriging::correlation::MAX_STRUCTURES;

/// How a structure of a variogram rises with r, the distance in units of its range, to its sill.
///
/// ```
/// use kriging::Model;
///
/// assert_eq!(Model::Spherical.rise(0.0), 0.0);
/// assert_eq!(Model::Spherical.rise(1.0), 1.0); // and stays there
/// assert!((Model::Exponential.rise(3.0) - 0.95).abs() < 0.001);
/// assert_eq!(Model::Gaussian.name(), "gaussian");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Model {
    /// `1.5 r - 0.5 r^3` to r = 1, then 1.
    Spherical,
    /// `1 - exp(-r)`: 95% of the sill at r = 3.
    Exponential,
    /// `1 - exp(-r^2)`: 95% of the sill at r = 1.73. Without a nugget points near each other make the systems nearly singular.
    Gaussian,
}

impl Model {
    /// All models.
    pub const ALL: [Self; 3] = [Self::Spherical, Self::Exponential, Self::Gaussian];

    /// Its name in the text form of a [`Variogram`].
    pub fn name(self) -> &'static str {
        match self {
            Self::Spherical => "spherical",
            Self::Exponential => "exponential",
            Self::Gaussian => "gaussian",
        }
    }

    /// Returns the share of the sill that the structure reaches at a distance, in units of the range.
    pub fn rise(self, ratio: f64) -> f64 {
        let mut alone = Correlation::default();
        alone.set(0, self.number(), 1.0, 1.0);
        let [left] = alone.of([ratio], [0.0]);
        1.0 - left
    }

    /// As the kernels name it.
    fn number(self) -> u32 {
        match self {
            Self::Spherical => model::SPHERICAL,
            Self::Exponential => model::EXPONENTIAL,
            Self::Gaussian => model::GAUSSIAN,
        }
    }
}

/// A part of a variogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Structure {
    /// How the semivariance rises with the distance.
    pub model: Model,
    /// The partial sill, to which the structure rises, in squared units of the values.
    pub sill: f64,
    /// The range parameter, in units of the coordinates, as in gstat.
    pub range: f64,
}

/// Ranges that are shorter across a direction than along it.
///
/// ```
/// use kriging::{Anisotropy, Model, Variogram};
///
/// // Values are alike twice as far to the east and west as to the north and south.
/// let variogram = Variogram::new(0.0).structure(Model::Spherical, 1.0, 100.0).anisotropy(90.0, 0.5);
/// assert_eq!(variogram.direction(), Some(Anisotropy { azimuth: 90.0, ratio: 0.5 }));
/// assert_eq!(variogram.semivariance(100.0), 1.0); // to the east
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Anisotropy {
    /// The direction of the longest ranges, in degrees clockwise from north (the y axis).
    pub azimuth: f64,
    /// The ranges across this direction, divided by the ranges along it: above 0, at most 1.
    pub ratio: f64,
}

/// A variogram: half the mean squared difference of two values, as a function of the distance between their places.
///
/// It is 0 at distance 0. At larger distances it is the nugget plus up to [`MAX_STRUCTURES`] structures. The parameters
/// are as in gstat's `vgm`: a structure's sill is its partial sill, and the range of an exponential or Gaussian
/// structure is `a` in `exp(-h / a)` and `exp(-(h / a)^2)`. With an [`Anisotropy`], vectors are first stretched across
/// its azimuth by 1 / ratio. So ranges are measured along the azimuth.
///
/// ```
/// use kriging::{Model, Variogram};
///
/// let variogram = Variogram::new(0.1).structure(Model::Spherical, 0.9, 250.0);
/// assert_eq!(variogram.sill(), 1.0);
/// assert_eq!([0.0, 250.0].map(|h| variogram.semivariance(h)), [0.0, 1.0]);
/// assert_eq!(variogram, "nugget:0.1+spherical:0.9,250".parse()?);
/// # Ok::<(), kriging::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Variogram {
    nugget: f64,
    structures: Vec<Structure>,
    anisotropy: Option<Anisotropy>,
}

impl Variogram {
    /// Returns a variogram that has only a nugget: the semivariance at any distance above 0, in squared units of the
    /// values.
    pub fn new(nugget: f64) -> Self {
        Self { nugget, structures: Vec::new(), anisotropy: None }
    }

    /// Adds a structure.
    #[must_use]
    pub fn structure(mut self, model: Model, sill: f64, range: f64) -> Self {
        self.structures.push(Structure { model, sill, range });
        self
    }

    /// Sets the anisotropy of all structures.
    #[must_use]
    pub fn anisotropy(self, azimuth: f64, ratio: f64) -> Self {
        Self { anisotropy: Some(Anisotropy { azimuth, ratio }), ..self }
    }

    /// The nugget.
    pub fn nugget(&self) -> f64 {
        self.nugget
    }

    /// The structures.
    pub fn structures(&self) -> &[Structure] {
        &self.structures
    }

    /// The anisotropy, if there is one.
    pub fn direction(&self) -> Option<Anisotropy> {
        self.anisotropy
    }

    /// Returns the sill: the sum of the nugget and all partial sills.
    pub fn sill(&self) -> f64 {
        self.structures.iter().fold(self.nugget, |sum, structure| sum + structure.sill)
    }

    /// The semivariance at a distance along the azimuth.
    pub fn semivariance(&self, distance: f64) -> f64 {
        if distance == 0.0 {
            return 0.0;
        }
        let rise = |s: &Structure| s.sill * s.model.rise(distance / s.range);
        self.structures.iter().map(rise).fold(self.nugget, |sum, part| sum + part)
    }

    /// Checks all parameters.
    ///
    /// # Errors
    /// - [`gpu_core::Error::Parameter`]: the nugget or a sill is not between 0 and 1e150.
    /// - [`gpu_core::Error::Parameter`]: a range is not between 1e-100 and 1e150.
    /// - [`gpu_core::Error::Parameter`]: the azimuth is not between -1e6 and 1e6, or the ratio not between 1e-6 and
    ///   1.
    /// - [`gpu_core::Error::TooMany`]: there are more structures than [`MAX_STRUCTURES`].
    /// - [`Error::NoSill`]: the nugget and all sills together are below 1e-290.
    pub fn check(&self) -> Result<()> {
        let is_sill = |sill: f64| (0.0..=1e150).contains(&sill);
        let sill = "between 0 and 1e150";
        require_parameter("nugget", self.nugget, is_sill(self.nugget), sill)?;
        let count = self.structures.len() as u64;
        gpu_core::require_at_most("structures of a variogram", count, MAX_STRUCTURES as u64)?;
        for s in &self.structures {
            require_parameter("sill", s.sill, is_sill(s.sill), sill)?;
            let is_range = (1e-100..=1e150).contains(&s.range);
            require_parameter("range", s.range, is_range, "between 1e-100 and 1e150")?;
        }
        if let Some(Anisotropy { azimuth, ratio }) = self.anisotropy {
            require_parameter("azimuth", azimuth, azimuth.abs() <= 1e6, "between -1e6 and 1e6")?;
            let is_ratio = (1e-6..=1.0).contains(&ratio);
            require_parameter("anisotropy's ratio", ratio, is_ratio, "between 1e-6 and 1")?;
        }
        // Below the normal numbers shares of it would be rounded.
        if self.sill() < 1e-290 { Err(Error::NoSill) } else { Ok(()) }
    }

    /// As the kernels take it.
    pub(crate) fn correlation(&self) -> Correlation {
        let mut correlation = Correlation::default();
        let sill = self.sill();
        for (i, s) in self.structures.iter().enumerate().take(MAX_STRUCTURES) {
            correlation.set(i, s.model.number(), s.sill / sill, s.range);
        }
        correlation
    }

    /// The matrix, row by row, that brings vectors to where the variogram is the same in all directions.
    pub(crate) fn isotropy(&self) -> [f64; 4] {
        let Some(Anisotropy { azimuth, ratio }) = self.anisotropy else {
            return [1.0, 0.0, 0.0, 1.0];
        };
        let (sin, cos) = azimuth.to_radians().sin_cos();
        [sin, cos, cos / ratio, -sin / ratio]
    }
}

/// `nugget:N+MODEL:SILL,RANGE+..`, and `+anisotropy:AZIMUTH,RATIO` where there is one.
impl fmt::Display for Variogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nugget:{:?}", self.nugget)?;
        for Structure { model, sill, range } in &self.structures {
            write!(f, "+{}:{sill:?},{range:?}", model.name())?;
        }
        match self.anisotropy {
            Some(Anisotropy { azimuth, ratio }) => write!(f, "+anisotropy:{azimuth:?},{ratio:?}"),
            None => Ok(()),
        }
    }
}

/// The text of [`Display`](fmt::Display), its terms in any order, the nugget 0 if it is left out.
impl FromStr for Variogram {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = |reason: String| Error::Syntax { text: text.to_string(), reason };
        let mut variogram = Self::new(0.0);
        let mut once = Vec::new();
        for term in terms(text) {
            let (name, numbers) = term.split_once(':').ok_or_else(|| {
                wrong(format!("{term:?} is not NAME:NUMBERS, such as spherical:0.9,250"))
            })?;
            let numbers = numbers.split(',').map(|number| number.trim().parse::<f64>());
            let numbers: Vec<f64> = numbers
                .collect::<std::result::Result<_, _>>()
                .map_err(|_| wrong(format!("{term:?} has a part that is not a number")))?;
            let name = name.trim().to_ascii_lowercase();
            let model = Model::ALL.into_iter().find(|model| model.name() == name);
            if model.is_none() && once.contains(&name) {
                return Err(wrong(format!("it has two terms {name:?}: give one")));
            }
            variogram = match (name.as_str(), model, &numbers[..]) {
                ("nugget", _, &[nugget]) => Self { nugget, ..variogram },
                ("anisotropy", _, &[azimuth, ratio]) => variogram.anisotropy(azimuth, ratio),
                (_, Some(model), &[sill, range]) => variogram.structure(model, sill, range),
                ("nugget" | "anisotropy", ..) | (_, Some(_), _) => {
                    return Err(wrong(format!(
                        "{term:?} has {} numbers: a nugget has one, all other terms two",
                        numbers.len()
                    )));
                }
                _ => {
                    return Err(wrong(format!(
                        "unknown structure {name:?}: use nugget, spherical, exponential, gaussian \
                         or anisotropy"
                    )));
                }
            };
            once.push(name);
        }
        variogram.check()?;
        Ok(variogram)
    }
}

/// The parts of a text between plus signs, but those of exponents, as in 1e+5.
fn terms(text: &str) -> Vec<&str> {
    let (mut terms, mut start) = (Vec::new(), 0);
    for (at, _) in text.match_indices('+') {
        if text[at + 1..].trim_start().starts_with(|c: char| c.is_ascii_alphabetic()) {
            terms.push(text[start..at].trim());
            start = at + 1;
        }
    }
    terms.push(text[start..].trim());
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_as_they_are_written() {
        let two = Variogram::new(0.25)
            .structure(Model::Exponential, 1e-7, 1e+20)
            .structure(Model::Gaussian, 3.0, 0.125)
            .anisotropy(-30.0, 0.5);
        for variogram in [two, Variogram::new(1.0)] {
            assert_eq!(variogram.to_string().parse(), Ok(variogram));
        }
        let read: Variogram = "Spherical: 2e+0, 300 + nugget:.5".parse().unwrap();
        assert_eq!(read, Variogram::new(0.5).structure(Model::Spherical, 2.0, 300.0));
    }

    #[test]
    fn what_is_no_variogram_is_named() {
        for (text, words) in [
            ("", "not NAME:NUMBERS"),
            ("spherical", "not NAME:NUMBERS"),
            ("linear:1,2", "unknown structure \"linear\""),
            ("spherical:1", "1 numbers"),
            ("nugget:1,2", "2 numbers"),
            ("gaussian:1,x", "not a number"),
            ("spherical:1,0", "range 0 is not between"),
            ("spherical:-1,5", "sill -1 is not"),
            ("spherical:NaN,5", "sill NaN is not"),
            ("nugget:-1+spherical:1,5", "nugget -1 is not"),
            ("spherical:0,5", "no sill"),
            ("nugget:1+anisotropy:30,2", "ratio 2 is not"),
            ("nugget:1+anisotropy:inf,1", "azimuth inf is not"),
            ("spherical:1,1+spherical:1,1+spherical:1,1+spherical:1,1", "at most 3"),
            ("nugget:1+spherical:1,5+nugget:2", "two terms \"nugget\""),
            ("spherical:1,5+anisotropy:30,.5+anisotropy:20,.1", "two terms \"anisotropy\""),
        ] {
            let error = text.parse::<Variogram>().unwrap_err().to_string();
            assert!(error.contains(words), "{text:?}: {error}");
        }
    }

    #[test]
    fn models_rise_as_gstats() {
        assert_eq!(Model::Spherical.rise(0.5), 0.6875);
        assert_eq!(Model::Spherical.rise(2.0), 1.0);
        assert!((Model::Exponential.rise(2.0) - (1.0 - (-2.0f64).exp())).abs() < 1e-15);
        assert!((Model::Gaussian.rise(2.0) - (1.0 - (-4.0f64).exp())).abs() < 1e-15);
    }

    #[test]
    fn ranges_across_the_azimuth_are_shorter() {
        let [a, b, c, d] = Variogram::new(1.0).anisotropy(90.0, 0.25).isotropy();
        let length = |x: f64, y: f64| (a * x + b * y).hypot(c * x + d * y);
        assert!((length(8.0, 0.0) - 8.0).abs() < 1e-14 && (length(0.0, 2.0) - 8.0).abs() < 1e-14);
    }
}
