//! The values of options, as words.

use std::fmt::Display;
use std::num::IntErrorKind;
use std::ops::RangeInclusive;
use std::str::FromStr;

use geo_io::{CsvColumns, Number};
use gpu_core::Bounds;

/// A number in an option; not NaN.
pub fn number(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.trim().parse().ok();
    value.filter(|v| !v.is_nan()).ok_or_else(|| format!("\"{text}\" is not a number"))
}

/// The f32 that stands for NODATA: the number that a decimal rounds to, an infinity, or NaN.
pub fn nodata(text: &str) -> Result<f32, String> {
    let number = text.parse::<Number>().map_err(|error| error.to_string())?.to_f64();
    let value = number as f32;
    let is_there = value.is_finite() || !number.is_finite();
    if is_there { Ok(value) } else { Err(format!("{text} is beyond the range of f32")) }
}

/// A finite number above 0.
pub fn positive(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    match value > 0.0 {
        true if value.is_finite() => Ok(value),
        true => Err(format!("{text} is not a finite number")),
        false => Err(format!("{text} is not above 0")),
    }
}

/// A finite number from 0 up.
pub fn fraction(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    match value >= 0.0 {
        true if value.is_finite() => Ok(value),
        true => Err(format!("{text} is not a finite number")),
        false => Err(format!("{text} is below 0")),
    }
}

/// A distance between places on the ground. Its square must be a number: the libraries compare squares.
pub fn distance(text: &str) -> Result<f64, String> {
    let value = positive(text)?;
    let is_good = (1e-130..=1e150).contains(&value);
    if is_good { Ok(value) } else { Err(format!("{text} is not from 1e-130 to 1e150")) }
}

/// 0, or a [`distance`].
pub fn distance_or_0(text: &str) -> Result<f64, String> {
    match fraction(text)? {
        0.0 => Ok(0.0),
        _ => distance(text).map_err(|reason| format!("{reason}, and not 0")),
    }
}

/// Returns the parser of an option that takes a whole number within a range.
pub fn whole<T: Whole>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let word = text.trim();
        let number = word.parse::<i128>().or_else(|error| match error.kind() {
            IntErrorKind::PosOverflow => Ok(i128::MAX),
            IntErrorKind::NegOverflow => Ok(i128::MIN),
            _ => Err(format!("\"{word}\" is not a whole number")),
        })?;
        let (value, least) = (T::try_from(number).ok(), range.start());
        match value.filter(|value| range.contains(value)) {
            Some(value) => Ok(value),
            None if number < 0 || value.is_some_and(|value| value < *least) => {
                Err(format!("{word} is below {least}"))
            }
            None => Err(format!("{word} is above {}", range.end())),
        }
    }
}

/// The types of [`whole`].
pub trait Whole: TryFrom<i128> + Copy + Display + PartialOrd + Send + Sync + 'static {}

impl<T: TryFrom<i128> + Copy + Display + PartialOrd + Send + Sync + 'static> Whole for T {}

/// A whole number from 1 up.
pub fn count(text: &str) -> Result<usize, String> {
    whole(1..=usize::MAX)(text)
}

/// The number of threads. With more than some ten thousand, the system refuses a thread, and the program would abort.
pub fn threads(text: &str) -> Result<usize, String> {
    whole(1..=4096)(text)
}

/// A number of bytes, such as 8GiB, 500MB or 1073741824.
pub fn bytes(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "k" | "kib" => f64::from(1 << 10),
        "m" | "mib" => f64::from(1 << 20),
        "g" | "gib" => f64::from(1 << 30),
        "t" | "tib" => 1024.0 * f64::from(1 << 30),
        _ => {
            return Err(format!(
                "\"{unit}\" is not a unit of bytes: use KiB, MiB, GiB, KB, MB, GB"
            ));
        }
    };
    // A cast from f64 saturates, so any product becomes a number of bytes.
    Ok((positive(digits)? * factor) as u64)
}

/// The rectangle of `--bounds`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent(pub Bounds);

impl FromStr for Extent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let finite = |word: &str| {
            let value = number(word)?;
            if value.is_finite() { Ok(value) } else { Err(format!("\"{word}\" is not finite")) }
        };
        let numbers = text.split(',').map(finite).collect::<Result<Vec<f64>, _>>()?;
        let [min_x, min_y, max_x, max_y] = numbers[..] else {
            return Err(format!("expected 4 numbers, found {}", numbers.len()));
        };
        if !(min_x < max_x && min_y < max_y) {
            return Err("the minimum must lie below the maximum".to_owned());
        }
        if !((max_x - min_x).is_finite() && (max_y - min_y).is_finite()) {
            return Err("the minimum is too far below the maximum".to_owned());
        }
        Ok(Self(Bounds { min_x, min_y, max_x, max_y }))
    }
}

/// The name of the heights, which every point of a LAS file has, among values.
pub const HEIGHT: &str = "z";

/// Returns the name of a value. The name of the heights may be in upper case, like the names of fields of LAS
/// files.
pub fn value_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    Ok(if name.eq_ignore_ascii_case(HEIGHT) { HEIGHT.to_owned() } else { name.to_owned() })
}

/// An angle in degrees, from nothing to a full turn either way.
pub fn turn(text: &str) -> Result<f64, String> {
    within(text, -360.0, 360.0)
}

/// A height above the horizon, in degrees.
pub fn elevation(text: &str) -> Result<f64, String> {
    within(text, 0.0, 90.0)
}

fn within(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let value = number(text)?;
    let good = (least..=most).contains(&value);
    if good { Ok(value) } else { Err(format!("{text} is not from {least} to {most} degrees")) }
}

/// The columns of a table.
#[derive(Clone, Debug)]
pub struct Columns(pub [String; 3]);

impl Columns {
    /// Returns the value for geo-io.
    pub fn names(&self) -> CsvColumns {
        CsvColumns::new(self.0.clone())
    }

    /// Two columns. A table need not have a third.
    ///
    /// # Errors
    /// They are more or fewer.
    pub fn pair(text: &str) -> Result<Self, String> {
        let [x, y] = words(text)?;
        require_x_first(&[&x, &y])?;
        Ok(Self([x, y.clone(), y]))
    }

    /// Whether the columns have the names of longitudes and latitudes.
    pub fn are_degrees(&self) -> bool {
        let [x, y, _] = &self.0;
        is_longitude(x) && is_latitude(y)
    }
}

/// Refuses names of which the first two are those of a latitude and a longitude.
///
/// # Errors
/// The names are in the order latitude, longitude; the error gives all in the right order.
pub fn require_x_first(names: &[&str]) -> Result<(), String> {
    match *names {
        [y, x, ref others @ ..] if is_latitude(y) && is_longitude(x) => {
            let names = [&[x, y], others].concat().join(",");
            Err(format!("the longitude comes first: give --columns {names}"))
        }
        _ => Ok(()),
    }
}

fn is_longitude(name: &str) -> bool {
    ["lon", "long", "lng", "longitude"].contains(&name.to_lowercase().as_str())
}

fn is_latitude(name: &str) -> bool {
    ["lat", "latitude"].contains(&name.to_lowercase().as_str())
}

/// Splits a text at commas into `N` words.
fn words<const N: usize>(text: &str) -> Result<[String; N], String> {
    let names: Vec<String> = text.split(',').map(|n| n.trim().to_owned()).collect();
    let count = names.len();
    names.try_into().map_err(|_| format!("expected {N} names, found {count}"))
}

impl FromStr for Columns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: [String; 3] = words(text)?;
        require_x_first(&names.each_ref().map(String::as_str))?;
        Ok(Self(names))
    }
}

/// A list of point classes, separated by commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classes(pub Vec<u8>);

impl FromStr for Classes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let class = |word: &str| {
            let word = word.trim();
            word.parse().map_err(|_| format!("unknown class \"{word}\": classes are 0 to 255"))
        };
        let mut classes = text.split(',').map(class).collect::<Result<Vec<u8>, _>>()?;
        classes.sort_unstable();
        classes.dedup();
        Ok(Self(classes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Size;

    #[test]
    fn lists_are_parsed_and_refused() {
        assert_eq!("9, 2,2".parse(), Ok(Classes(vec![2, 9])));
        for bad in ["", "256", "-1", "2,,9", "ground"] {
            assert!(bad.parse::<Classes>().is_err(), "{bad:?} was taken");
        }
        let pair = Columns::pair("lon, lat").unwrap();
        assert_eq!(pair.0, ["lon", "lat", "lat"]);
        for bad in ["a", "a,b,c"] {
            assert!(Columns::pair(bad).is_err(), "{bad:?} was taken");
        }
        let bounds = Bounds { min_x: -1.0, min_y: 0.0, max_x: 2.5, max_y: 3.0 };
        assert_eq!("-1,0,2.5,3".parse(), Ok(Extent(bounds)));
        for bad in
            ["", "1,2,3", "0,0,0,1", "0,0,nan,1", "0,0,inf,1", "0,0,1,1,1", "-1e308,0,1e308,1"]
        {
            assert!(bad.parse::<Extent>().is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn bytes_have_units() {
        for (text, value) in [("8GiB", 8 << 30), ("1.5k", 1536), ("500 MB", 500_000_000), ("7", 7)]
        {
            assert_eq!(bytes(text), Ok(value), "{text}");
        }
        for bad in ["", "GiB", "8 miles", "-1GiB", "0", "infGiB"] {
            assert!(bytes(bad).is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn numbers_are_parsed_and_refused() {
        assert_eq!((number("-1e3"), positive("0.5"), fraction("0")), (Ok(-1e3), Ok(0.5), Ok(0.0)));
        assert_eq!((nodata("-9999."), nodata("-3.4028235e+38")), (Ok(-9999.0), Ok(f32::MIN)));
        assert!(nodata("nan").is_ok_and(f32::is_nan) && nodata("1e39").is_err());
        assert_eq!((count("12"), threads("4096")), (Ok(12), Ok(4096)));
        assert!(threads("0").is_err() && threads("4097").is_err());
        for bad in ["1m", "nan", "", "one"] {
            assert!(number(bad).unwrap_err().contains("is not a number"), "{bad:?} was taken");
        }
        let (huge, hugest) = ("4294967296", "1".repeat(50));
        for (bad, reason) in [
            ("1.5", "\"1.5\" is not a whole number"),
            ("0", "0 is below 1"),
            ("-1", "-1 is below 1"),
            (huge, "4294967296 is above 4294967295"),
            (hugest.as_str(), "1 is above 4294967295"),
        ] {
            assert!(whole(1..=u32::MAX)(bad).unwrap_err().ends_with(reason), "{bad}");
            let size = format!("5x{bad}").parse::<Size>();
            assert!(size.unwrap_err().ends_with(reason), "{bad}");
        }
        for bad in ["0", "-1", "inf"] {
            assert!(positive(bad).is_err(), "{bad:?} was taken");
        }
        assert_eq!((turn("-45"), turn("360"), elevation("90")), (Ok(-45.0), Ok(360.0), Ok(90.0)));
        for bad in ["361", "-361", "inf", "nan"] {
            assert!(turn(bad).is_err() && elevation(bad).is_err(), "{bad:?} was taken");
        }
        assert!(elevation("91").unwrap_err().ends_with("from 0 to 90 degrees"));
        assert!(elevation("-1").is_err());
        assert_eq!(
            (value_name(" Z").unwrap(), value_name("Zone ").unwrap()),
            ("z".into(), "Zone".into())
        );
        assert_eq!((distance("1e-130"), distance_or_0("0")), (Ok(1e-130), Ok(0.0)));
        for bad in ["1e-200", "1e151"] {
            assert!(distance(bad).unwrap_err().starts_with(bad), "{bad:?} was taken");
            assert!(distance_or_0(bad).unwrap_err().ends_with("and not 0"), "{bad:?} was taken");
        }
        assert!(fraction("-1").is_err() && count("0").is_err() && count("1.5").is_err());
    }
}
