//! Numbers in files and on command lines, and the samples that they mean.
//!
//! NODATA, the values of sites and the ends of ranges are [`Number`]s. A number is exact, whatever type the samples
//! have. The type of the samples decides which of its values a number means, and comparisons use that type. So no whole
//! number is rounded to a float, and a decimal means the float to which it rounds: 0.1 matches an f32 that stores 0.1.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use bytemuck::Pod;
use gpu_core::Shortest;
use half::f16;

use crate::{ArrayData, Error, NpyElement, Result};

/// A number as a file states it or a person types it. It is a whole number of up to 128 bits, a float of 64 bits,
/// or a decimal between two whole numbers.
///
/// NaN equals itself, and -0 is 0. A decimal such as `-9999.`, `1e3` or `9007199254740993` stays a whole number. A
/// decimal such as `9007199254740992.5` stays between two whole numbers, whatever float it rounds to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(Form);

#[derive(Clone, Copy, Debug)]
enum Form {
    Whole(i128),
    /// A number that is not a whole number below 2^100.
    Real(f64),
    /// A decimal that rounds to a float beyond the whole numbers around it. Holds the whole number below it, and how
    /// far above that it lies, in units of [`PART`], from 1 on.
    Between(i128, u64),
}

/// How many parts of 1 a decimal is kept in: 19 digits.
const PART: u64 = 10u64.pow(19);

impl PartialEq for Form {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => a == b,
            (Self::Real(a), Self::Real(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Self::Between(a, more), Self::Between(b, other)) => (a, more) == (b, other),
            _ => false,
        }
    }
}

impl PartialOrd for Number {
    /// `None` if exactly one is NaN.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self.0, other.0) {
            (Form::Whole(a), Form::Whole(b)) => Some(a.cmp(&b)),
            (Form::Real(a), Form::Real(b)) if a.is_nan() && b.is_nan() => Some(Ordering::Equal),
            (Form::Real(a), Form::Real(b)) => a.partial_cmp(&b),
            (Form::Whole(_), Form::Real(b)) if b.is_nan() => None,
            // The float is not whole, so it is not equal to its floor.
            (Form::Whole(a), Form::Real(b)) if a <= b.floor() as i128 => Some(Ordering::Less),
            (Form::Whole(_), Form::Real(_)) => Some(Ordering::Greater),
            (Form::Between(a, more), Form::Between(b, other)) => Some((a, more).cmp(&(b, other))),
            (Form::Whole(a), Form::Between(b, _)) => {
                Some(if a <= b { Ordering::Less } else { Ordering::Greater })
            }
            (Form::Between(..), Form::Real(b)) if b.is_nan() => None,
            (Form::Between(a, more), Form::Real(b)) => {
                let part = more as f64 / PART as f64;
                Some(a.cmp(&(b.floor() as i128)).then(part.total_cmp(&(b - b.floor()))))
            }
            (Form::Real(_), _) | (Form::Between(..), _) => {
                other.partial_cmp(self).map(Ordering::reverse)
            }
        }
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        let is_whole = value.fract() == 0.0 && value.abs() < 2f64.powi(100);
        Self(if is_whole { Form::Whole(value as i128) } else { Form::Real(value) })
    }
}

macro_rules! from_integers {
    ($($type:ty),+) => {$(
        impl From<$type> for Number {
            fn from(value: $type) -> Self {
                Self(Form::Whole(value.into()))
            }
        }
    )+};
}

from_integers!(i8, u8, i16, u16, i32, u32, i64, u64);

impl fmt::Display for Number {
    /// Writes digits that give the same number when they are read. Beyond 64 bits the number read means the same among
    /// samples of any type.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            // Beyond all integers of samples it is one of their floats.
            Form::Whole(value) if value.unsigned_abs() > u64::MAX.into() => {
                Shortest(value as f64).fmt(f)
            }
            Form::Whole(value) => value.fmt(f),
            Form::Real(value) => Shortest(value).fmt(f),
            Form::Between(floor, more) => {
                let (sign, whole, part) = match floor {
                    0.. => ("", floor, more),
                    _ => ("-", -(floor + 1), PART - more),
                };
                let part = format!("{part:019}");
                write!(f, "{sign}{whole}.{}", part.trim_end_matches('0'))
            }
        }
    }
}

impl FromStr for Number {
    type Err = Error;

    /// A decimal as a person types it or NumPy prints it, such as `-9999.`, `-3.4028235e+38`, `inf` or `nan`.
    fn from_str(text: &str) -> Result<Self> {
        let word = text.trim();
        if let Some(value) = whole(word) {
            return Ok(Self(Form::Whole(value)));
        }
        let real = word.parse::<f64>();
        let real = real.map_err(|_| Error::NotANumber { text: text.to_owned() })?;
        let is_between = |(floor, _): &(i128, u64)| {
            real != 0.0 && (real.fract() == 0.0 || real.floor() as i128 != *floor)
        };
        let between = between(word).filter(is_between);
        Ok(between.map_or(real.into(), |(floor, more)| Self(Form::Between(floor, more))))
    }
}

impl ArrayData {
    /// Returns the values as floats of 64 bits, with NaN for missing values.
    pub fn to_floats(&self, nodata: Option<Number>) -> Vec<f64> {
        with_values!(self, values => floats(values, nodata))
    }

    /// Replaces a row by some of the values, each as the nearest f64.
    pub(crate) fn reals(&self, which: Range<usize>, row: &mut Vec<f64>) {
        row.clear();
        with_values!(self, values => row.extend(values[which].iter().map(|value| value.real())));
    }

    /// Returns a second value that stands for NODATA: [`Sample::also`].
    pub(crate) fn also(&self, nodata: Number) -> Option<f64> {
        with_sample_type!(self.sample_type(), T => T::also(nodata).map(T::real))
    }

    /// Returns a value whose type has integers that no f64 has; else `None`.
    pub(crate) fn long(&self, at: usize) -> Option<Number> {
        match self {
            Self::U64(values) => Some(values[at].into()),
            Self::I64(values) => Some(values[at].into()),
            _ => None,
        }
    }
}

fn floats<T: Sample>(values: &[T], nodata: Option<Number>) -> Vec<f64> {
    let nodata = nodata.and_then(T::of);
    let float = |value: &T| match nodata {
        Some(nodata) if *value == nodata => f64::NAN,
        _ => value.number().to_f64(),
    };
    values.iter().map(float).collect()
}

impl Number {
    /// Returns the f32 that a text stands for if the text has too few digits for an f64. That is an f32 written with
    /// fifteen to seventeen digits, or the greatest or the least f32 within 10^-10, as GDAL reads NODATA of any float.
    /// Any other number stays as it is.
    fn or_f32(self, text: &str) -> Self {
        let (value, most) = (self.to_f64(), f64::from(f32::MAX));
        let near = f64::from(value as f32);
        let digits = significant_digits(text);
        let is_near = || format!("{near:.*e}", digits - 1).parse() == Ok(value);
        match value {
            _ if (value.abs() - most).abs() < 1e-10 * most => most.copysign(value).into(),
            _ if (15..=17).contains(&digits) && is_near() => near.into(),
            _ => self,
        }
    }

    /// Returns the nearest f64.
    pub fn to_f64(self) -> f64 {
        match self.0 {
            Form::Whole(value) => value as f64,
            Form::Real(value) => value,
            Form::Between(floor, _) => self.to_string().parse().unwrap_or(floor as f64),
        }
    }

    /// Returns it as a whole number, if it is one.
    pub fn to_i128(self) -> Option<i128> {
        match self.0 {
            Form::Whole(value) => Some(value),
            Form::Real(_) | Form::Between(..) => None,
        }
    }

    /// Returns the least whole number that is not below it; an infinity or NaN unchanged.
    ///
    /// ```
    /// let number: geo_io::Number = "9007199254740992.5".parse()?;
    /// assert_eq!(number.ceil().to_i128(), Some(9007199254740993));
    /// # Ok::<(), geo_io::Error>(())
    /// ```
    #[must_use]
    pub fn ceil(self) -> Self {
        match self.0 {
            Form::Whole(_) => self,
            Form::Real(value) => value.ceil().into(),
            Form::Between(floor, _) => Self(Form::Whole(floor + 1)),
        }
    }

    /// Returns the number in JSON. If 64 bits or a float hold it, it becomes a number with all of its digits. Otherwise
    /// it becomes a string: `inf`, `-inf`, `nan`, a greater whole number, or a decimal between two whole numbers.
    ///
    /// ```
    /// use geo_io::Number;
    /// assert_eq!(Number::from(u64::MAX).to_json().to_string(), "18446744073709551615");
    /// assert_eq!(Number::from(f64::INFINITY).to_json().to_string(), "\"inf\"");
    /// ```
    pub fn to_json(self) -> serde_json::Value {
        match self.0 {
            Form::Whole(value) => {
                let signed = i64::try_from(value).map(serde_json::Value::from);
                let whole = signed.or_else(|_| u64::try_from(value).map(Into::into));
                let is_float = (value as f64) as i128 == value;
                whole.unwrap_or_else(|_| match is_float {
                    true => (value as f64).into(),
                    false => value.to_string().into(),
                })
            }
            Form::Real(value) if value.is_finite() => value.into(),
            _ => self.to_string().into(),
        }
    }

    /// Whether it is NaN.
    pub fn is_nan(self) -> bool {
        self.to_f64().is_nan()
    }
}

/// The whole number that a decimal states exactly.
fn whole(word: &str) -> Option<i128> {
    let (mantissa, exponent) = match word.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (word, 0),
    };
    let digits = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
    let (front, back) = digits.split_once('.').unwrap_or((digits, ""));
    let all = [front, back].concat();
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let significant = all.trim_end_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    // The number is the significant digits times ten to this power.
    let zeros = (all.len() - significant.len()) as i64 - back.len() as i64;
    let power = u32::try_from(exponent.checked_add(zeros)?).ok()?;
    let value = significant.parse::<i128>().ok()?.checked_mul(10i128.checked_pow(power)?)?;
    Some(if mantissa.starts_with('-') { -value } else { value })
}

/// Returns the whole number below a decimal, and how many of [`PART`] parts the decimal lies above it, at least one.
/// `None` for a whole number, and for numbers beyond 128 bits.
fn between(word: &str) -> Option<(i128, u64)> {
    let (mantissa, exponent) = match word.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (word, 0),
    };
    let digits = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
    let (front, back) = digits.split_once('.').unwrap_or((digits, ""));
    let all = [front, back].concat();
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Where the point stands among the digits.
    let point = exponent.checked_add(front.len() as i64)?;
    let (whole, part) = match usize::try_from(point) {
        Ok(point) => (all.get(..point)?, all[point..].to_owned()),
        Err(_) if point < -19 => return None,
        Err(_) => ("0", "0".repeat(point.unsigned_abs() as usize) + &all),
    };
    let whole = if whole.is_empty() { 0 } else { whole.parse::<i128>().ok()? };
    let first = format!("{part:0<19}")[..19].parse::<u64>().ok()?;
    let has_rest = part.bytes().any(|digit| digit != b'0');
    let part = if first == 0 && has_rest { 1 } else { first };
    match mantissa.starts_with('-') {
        _ if part == 0 => None,
        true => Some((-whole - 1, PART - part)),
        false => Some((whole, part)),
    }
}

/// The type of a raster's samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SampleType {
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    F32,
    F64,
}

/// Evaluates an expression with a name for the type of the samples; booleans are bytes.
macro_rules! with_sample_type {
    ($sample_type:expr, $name:ident => $result:expr) => {
        match $sample_type {
            $crate::SampleType::Bool | $crate::SampleType::U8 => {
                type $name = u8;
                $result
            }
            $crate::SampleType::I8 => {
                type $name = i8;
                $result
            }
            $crate::SampleType::U16 => {
                type $name = u16;
                $result
            }
            $crate::SampleType::I16 => {
                type $name = i16;
                $result
            }
            $crate::SampleType::U32 => {
                type $name = u32;
                $result
            }
            $crate::SampleType::I32 => {
                type $name = i32;
                $result
            }
            $crate::SampleType::U64 => {
                type $name = u64;
                $result
            }
            $crate::SampleType::I64 => {
                type $name = i64;
                $result
            }
            $crate::SampleType::F16 => {
                type $name = half::f16;
                $result
            }
            $crate::SampleType::F32 => {
                type $name = f32;
                $result
            }
            $crate::SampleType::F64 => {
                type $name = f64;
                $result
            }
        }
    };
}
pub(crate) use with_sample_type;

/// The result of an expression for the elements of an array; those of booleans are bytes.
macro_rules! with_values {
    ($array:expr, $values:ident => $result:expr) => {
        match $array {
            $crate::ArrayData::Bool(values) => {
                let $values: &[u8] = bytemuck::cast_slice(values);
                $result
            }
            $crate::ArrayData::U8($values) => $result,
            $crate::ArrayData::I8($values) => $result,
            $crate::ArrayData::U16($values) => $result,
            $crate::ArrayData::I16($values) => $result,
            $crate::ArrayData::U32($values) => $result,
            $crate::ArrayData::I32($values) => $result,
            $crate::ArrayData::U64($values) => $result,
            $crate::ArrayData::I64($values) => $result,
            $crate::ArrayData::F16($values) => $result,
            $crate::ArrayData::F32($values) => $result,
            $crate::ArrayData::F64($values) => $result,
        }
    };
}
pub(crate) use with_values;

impl SampleType {
    /// Returns the value of this type that a number means: the same number for an integer type, the nearest one for a
    /// float type. `None` if the type has no such value, as bytes have no -9999: then no sample equals the number.
    pub fn value(self, number: Number) -> Option<Number> {
        with_sample_type!(self, T => T::of(number).map(T::number))
    }

    /// Bytes of a sample in memory.
    pub(crate) fn bytes(self) -> u64 {
        with_sample_type!(self, T => size_of::<T>() as u64)
    }

    /// Returns the least value of this type that is not below a number; in a float type, the value that the number
    /// rounds to.
    pub fn at_least(self, number: Number) -> Option<Number> {
        with_sample_type!(self, T => T::at_least(number).map(T::number))
    }

    /// Returns the number that a text begins with, as GDAL reads NODATA of this type from a GeoTIFF's tag. Ignores
    /// blanks before it and any text behind it; the decimal point may be a comma.
    pub(crate) fn number_of_tag(self, text: &str) -> Option<Number> {
        match self {
            Self::I64 | Self::U64 => self.leading_integer(text),
            _ => {
                // The first of the two decides.
                let at = text.find([',', '.']);
                let has_comma = at.is_some_and(|at| text[at..].starts_with(','));
                self.number_of_text(&text.replacen(',', ".", usize::from(has_comma)))
            }
        }
    }

    /// The same of a text in which only a point is decimal.
    pub(crate) fn number_of_text(self, text: &str) -> Option<Number> {
        match self {
            Self::I64 | Self::U64 => self.leading_integer(text),
            _ => leading_number(text).map(|number| number.or_f32(text)),
        }
    }

    /// The integer that a text begins with, as C's `strtoll` and `strtoull` read it.
    fn leading_integer(self, text: &str) -> Option<Number> {
        let text = text.trim_start();
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        if end == 0 {
            return None;
        }
        // Beyond 64 bits there is no sign, as C has it.
        let size = digits[..end].parse::<u64>();
        let is_negative = text.starts_with('-');
        let most = i128::from(u64::MAX);
        let value = match (size, self) {
            (Ok(size), _) if is_negative => -i128::from(size),
            (Err(_), Self::I64) if is_negative => -most,
            (size, _) => size.map_or(most, i128::from),
        };
        Some(match self {
            // Negative numbers count from the end.
            Self::U64 => (value as u64).into(),
            _ => (value.clamp(i64::MIN.into(), i64::MAX.into()) as i64).into(),
        })
    }
}

impl fmt::Display for SampleType {
    /// The name of the type in Rust, such as `u8`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Bool => "bool",
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        })
    }
}

/// Returns how many digits count in the number that a text begins with: all from the first that is not 0.
fn significant_digits(text: &str) -> usize {
    let mantissa = text.trim_start().trim_start_matches(['-', '+', '0', '.']);
    mantissa
        .bytes()
        .take_while(|byte| byte.is_ascii_digit() || *byte == b'.')
        .filter(u8::is_ascii_digit)
        .count()
}

/// The number that a text begins with, by the grammar of C's `strtod`.
fn leading_number(text: &str) -> Option<Number> {
    let text = text.trim_start();
    let (is_negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = rest.to_ascii_lowercase();
    let signed = |value: f64| Some(Number::from(if is_negative { -value } else { value }));
    if ["nan", "1.#qnan", "1.#snan", "1.#ind"].iter().any(|word| lower.starts_with(word)) {
        return signed(f64::NAN);
    }
    if ["inf", "1.#inf"].iter().any(|word| lower.starts_with(word)) {
        return signed(f64::INFINITY);
    }
    if let Some(digits) = lower.strip_prefix("0x") {
        let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
        return signed(u64::from_str_radix(&digits[..end], 16).ok()? as f64);
    }
    let count = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut end = count(&lower);
    if lower[end..].starts_with('.') {
        end += 1 + count(&lower[end + 1..]);
    }
    if let Some(exponent) = lower[end..].strip_prefix('e') {
        let sign = usize::from(exponent.starts_with(['-', '+']));
        let digits = count(&exponent[sign..]);
        end += if digits > 0 { 1 + sign + digits } else { 0 };
    }
    let number = format!("{}{}", if is_negative { "-" } else { "" }, &lower[..end]);
    number.parse::<f64>().ok().map(Number::from)
}

/// A type of samples, and which of its values numbers mean.
pub(crate) trait Sample: NpyElement + Pod + PartialOrd + Default + Send + Sync {
    /// What [`SampleType::value`] says.
    fn of(number: Number) -> Option<Self>;
    /// Returns the value of pixels for which a file has nothing but NODATA, which the type may not have.
    fn fill(nodata: Option<Number>) -> Self {
        nodata.map_or_else(Self::default, |n| Self::of(n).unwrap_or_else(|| Self::nearest(n)))
    }
    /// The nearest value of the type; 0 for a NaN among integers.
    fn nearest(number: Number) -> Self;
    /// What [`SampleType::at_least`] says.
    fn at_least(number: Number) -> Option<Self>;
    /// Returns the greatest value that is not above a number; in a float type, the value that the number rounds to.
    fn at_most(number: Number) -> Option<Self>;
    /// The value as a number.
    fn number(self) -> Number;
    /// Returns the nearest f64.
    fn real(self) -> f64;
    /// Returns the nearest value of the type, and for a half the one farther from 0. In an integer type NaN gives 0.
    fn rounded(value: f64) -> Self;
    /// Some values as the elements of an array.
    fn array(values: Vec<Self>) -> ArrayData;
    /// Returns a second value that stands for NODATA, as it does in GDAL. Of the least and the greatest float that is
    /// the float itself where NODATA has fewer digits, such as -3.4e38. Of f64 it is also the f32 that NODATA rounds to.
    fn also(_: Number) -> Option<Self> {
        None
    }
    /// Whether it is NaN.
    #[allow(clippy::eq_op)]
    fn is_nan(self) -> bool {
        self != self
    }
}

macro_rules! integers {
    ($($type:ty, $variant:ident;)+) => {$(
        impl Sample for $type {
            fn of(number: Number) -> Option<Self> {
                number.to_i128()?.try_into().ok()
            }

            fn nearest(number: Number) -> Self {
                match number.0 {
                    Form::Whole(value) => value.clamp(Self::MIN.into(), Self::MAX.into()) as Self,
                    Form::Real(value) => value.round() as Self,
                    Form::Between(floor, more) => {
                        let nearest = floor + i128::from(more >= PART / 2);
                        nearest.clamp(Self::MIN.into(), Self::MAX.into()) as Self
                    }
                }
            }

            fn at_least(number: Number) -> Option<Self> {
                let least = match number.0 {
                    Form::Whole(value) => value,
                    Form::Real(value) if value.is_nan() => return None,
                    Form::Real(value) => value.ceil() as i128,
                    Form::Between(floor, _) => floor + 1,
                };
                least.max(Self::MIN.into()).try_into().ok()
            }

            fn at_most(number: Number) -> Option<Self> {
                let most = match number.0 {
                    Form::Whole(value) => value,
                    Form::Real(value) if value.is_nan() => return None,
                    Form::Real(value) => value.floor() as i128,
                    Form::Between(floor, _) => floor,
                };
                most.min(Self::MAX.into()).try_into().ok()
            }

            fn number(self) -> Number {
                self.into()
            }

            fn real(self) -> f64 {
                self as f64
            }

            fn rounded(value: f64) -> Self {
                value.round() as Self
            }

            fn array(values: Vec<Self>) -> ArrayData {
                ArrayData::$variant(values)
            }
        }
    )+};
}

integers!(u8, U8; i8, I8; u16, U16; i16, I16; u32, U32; i32, I32; u64, U64; i64, I64;);

macro_rules! floats {
    ($($type:ty, $variant:ident, $of:expr;)+) => {$(
        impl Sample for $type {
            fn of(number: Number) -> Option<Self> {
                let (exact, value) = (number.to_f64(), Self::nearest(number));
                let is_extreme = exact.is_finite() && !value.is_finite() && size_of::<Self>() > 2;
                // The greatest float in few digits, rounded up, such as 3.403e38.
                let is_near = exact.abs() < 1.02 * f64::from(Self::MAX);
                Some(if is_extreme && is_near { Self::MAX.copysign(value) } else { value })
            }

            fn nearest(number: Number) -> Self {
                let of: fn(f64) -> Self = $of;
                of(number.to_f64())
            }

            fn also(number: Number) -> Option<Self> {
                let exact = number.to_f64();
                let is_near = |other: &f64, far: f64| (exact / other - 1.0).abs() < far;
                // An extreme with two digits or more lies within 2%.
                let extreme = Some(f64::from(Self::MAX).copysign(exact));
                let extreme = extreme.filter(|extreme| is_near(extreme, 0.02));
                let rounded = Some(f64::from(exact as f32)).filter(|other| is_near(other, 1e-7));
                let other = Self::nearest(extreme.or(rounded)?.into());
                // f16 is left out: its ordinary values lie as near to its extreme.
                (size_of::<Self>() > 2 && other != Self::nearest(number)).then_some(other)
            }

            fn at_least(number: Number) -> Option<Self> {
                let (exact, value) = (number.to_f64(), Self::nearest(number));
                // A finite number that rounds to negative infinity is above it.
                let is_below = exact.is_finite() && value == Self::NEG_INFINITY;
                (!exact.is_nan()).then_some(if is_below { Self::MIN } else { value })
            }

            fn at_most(number: Number) -> Option<Self> {
                let (exact, value) = (number.to_f64(), Self::nearest(number));
                let is_above = exact.is_finite() && value == Self::INFINITY;
                (!exact.is_nan()).then_some(if is_above { Self::MAX } else { value })
            }

            fn number(self) -> Number {
                f64::from(self).into()
            }

            fn real(self) -> f64 {
                self.into()
            }

            fn rounded(value: f64) -> Self {
                let of: fn(f64) -> Self = $of;
                of(value)
            }

            fn array(values: Vec<Self>) -> ArrayData {
                ArrayData::$variant(values)
            }
        }
    )+};
}

floats! {
    f16, F16, f16::from_f64;
    f32, F32, |value| value as f32;
    f64, F64, |value| value;
}

impl ArrayData {
    /// The type of the elements.
    pub fn sample_type(&self) -> SampleType {
        match self {
            Self::Bool(_) => SampleType::Bool,
            Self::U8(_) => SampleType::U8,
            Self::I8(_) => SampleType::I8,
            Self::U16(_) => SampleType::U16,
            Self::I16(_) => SampleType::I16,
            Self::U32(_) => SampleType::U32,
            Self::I32(_) => SampleType::I32,
            Self::U64(_) => SampleType::U64,
            Self::I64(_) => SampleType::I64,
            Self::F16(_) => SampleType::F16,
            Self::F32(_) => SampleType::F32,
            Self::F64(_) => SampleType::F64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        text.parse().unwrap()
    }

    #[test]
    fn decimals_are_whole_numbers_where_they_can_be() {
        for (text, expected) in [
            ("-9999.", -9999),
            ("1e3", 1000),
            (" 12 ", 12),
            ("-0", 0),
            ("9007199254740993", 9007199254740993),
            ("9.007199254740993e15", 9007199254740993),
            ("18446744073709551615.000", i128::from(u64::MAX)),
            ("-9223372036854775808", i128::from(i64::MIN)),
            ("1200e-2", 12),
        ] {
            assert_eq!(number(text), Number(Form::Whole(expected)), "{text}");
        }
        for text in ["0.1", "-3.5e-3", "1e200", "inf", "-inf", "nan"] {
            let found = number(text);
            assert!(matches!(found, Number(Form::Real(_))), "{text}");
            assert_eq!(number(&found.to_string()), found, "{text}");
        }
        for bad in ["", "1_000", "1,5", "0x10", "five", "1e", "--1", "np.float32(1.0)"] {
            let error = bad.parse::<Number>().unwrap_err().to_string();
            assert!(error.contains("is not a number"), "{bad:?}: {error}");
        }
    }

    #[test]
    fn numbers_are_in_exact_order() {
        let rising = [
            "-inf",
            "-1e30",
            "-2.5",
            "-2",
            "0.5",
            "1",
            "9007199254740992",
            "9007199254740993",
            "1e40",
            "inf",
        ];
        let rising = rising.map(number);
        for (i, a) in rising.iter().enumerate() {
            for (j, b) in rising.iter().enumerate() {
                assert_eq!(a.partial_cmp(b), Some(i.cmp(&j)), "{a} {b}");
            }
        }
        assert_eq!(number("nan").partial_cmp(&number("1")), None);
        assert_eq!(number("nan"), number("NaN"));
    }

    #[test]
    fn a_type_has_a_number_or_not() {
        let value = |kind: SampleType, text: &str| kind.value(number(text));
        assert_eq!(value(SampleType::U8, "255"), Some(number("255")));
        for (kind, text) in [
            (SampleType::U8, "256"),
            (SampleType::U8, "-1"),
            (SampleType::U8, "5.5"),
            (SampleType::U8, "nan"),
            (SampleType::I16, "32768"),
            (SampleType::U64, "18446744073709551616"),
            (SampleType::I64, "1e300"),
        ] {
            assert_eq!(value(kind, text), None, "{kind} {text}");
        }
        let tenth = f64::from(0.1f32).into();
        assert_eq!(value(SampleType::F32, "0.1"), Some(tenth));
        assert_eq!(value(SampleType::F16, "-9999"), Some(number("-10000")));
        assert_eq!(value(SampleType::F32, "-3.4028235e+38"), Some(f64::from(f32::MIN).into()));
        assert_eq!(value(SampleType::F32, "-0.0"), Some(number("0")));
    }

    #[test]
    fn nodata_of_floats_has_other_forms() {
        let (f32_min, f64_min) = (f32::MIN, f64::MIN);
        let wide = |value: f32| Some(f64::from(value));
        for (text, of_f32, of_f64) in [
            ("-3.4e38", Some(f32_min), wide(-3.4e38)),
            ("-3.4028235e+38", None, wide(f32_min)),
            ("-1.79e308", None, Some(f64_min)),
            ("-9999.9", None, wide(-9999.9)),
            ("-9999", None, None),
            ("0.5", None, None),
            ("0", None, None),
            // Nothing that f32 rounds to 0 or to infinity.
            ("1e-300", None, None),
            ("1e300", None, None),
            ("1e-44", None, None),
            ("inf", None, None),
            ("nan", None, None),
        ] {
            assert_eq!(
                (f32::also(number(text)), f64::also(number(text))),
                (of_f32, of_f64),
                "{text}"
            );
        }
        assert_eq!(f16::also(number("65000")), None);
        // Four digits of the greatest f32 round up.
        assert_eq!(f32::of(number("-3.403e38")), Some(f32::MIN));
        assert_eq!(f32::of(number("-1e39")), Some(f32::NEG_INFINITY));
        assert_eq!(f32::fill(Some(number("-3.403e38"))), f32::MIN);
        assert_eq!(u8::fill(Some(number("-9999"))), 0);
    }

    #[test]
    fn ends_of_ranges_are_values_of_the_type() {
        let ends = |low: &str, high: &str| (i16::at_least(number(low)), i16::at_most(number(high)));
        assert_eq!(ends("1.5", "4.5"), (Some(2), Some(4)));
        assert_eq!(ends("-1e9", "inf"), (Some(i16::MIN), Some(i16::MAX)));
        assert_eq!(ends("1e9", "-1e9"), (None, None));
        let ends = |low: &str, high: &str| (f32::at_least(number(low)), f32::at_most(number(high)));
        assert_eq!(ends("0.1", "0.7"), (Some(0.1), Some(0.7)));
        assert_eq!(ends("-1e300", "1e300"), (Some(f32::MIN), Some(f32::MAX)));
        assert_eq!(ends("1e300", "-1e300"), (Some(f32::INFINITY), Some(f32::NEG_INFINITY)));
        assert_eq!(u64::at_most(number("18446744073709551615")), Some(u64::MAX));
        assert_eq!(u64::at_least(number("9007199254740993")), Some(9007199254740993));
    }

    #[test]
    fn decimals_lie_between_the_whole_numbers_around_them() {
        for (text, below) in [
            ("9007199254740992.5", 9007199254740992),
            ("-9007199254740992.5", -9007199254740993),
            ("18446744073709551614.99999999999999999999999", 18446744073709551614),
            ("0.99999999999999999999", 0),
            ("9.0071992547409925e15", 9007199254740992),
            ("-0.99999999999999999999", -1),
            ("1.00000000000000000000000000000001", 1),
        ] {
            let found = number(text);
            let whole = |value| Number(Form::Whole(value));
            assert!(whole(below) < found && found < whole(below + 1), "{text}");
            assert_eq!(found.ceil(), whole(below + 1), "{text}");
            assert_eq!(number(&found.to_string()), found, "{text}");
            assert_eq!(found.to_f64(), text.parse::<f64>().unwrap(), "{text}");
            if below >= 0 {
                let ends = (u64::at_least(found), u64::at_most(found));
                assert_eq!(ends, (Some(below as u64 + 1), Some(below as u64)), "{text}");
                assert_eq!(u64::of(found), None);
            }
        }
        assert!(number("0.9999999999999999") < number("0.99999999999999999999"));
        assert!(number("1e300") > number("9007199254740992.5"));
        assert_eq!(number("9007199254740992.5").partial_cmp(&number("nan")), None);
        assert_eq!(number("1e-400"), number("0"));
        assert_eq!(number("9007199254740992.5").to_json(), "9007199254740992.5");
        let sum: Number = "36893488147419103233".parse().unwrap();
        assert_eq!(sum.to_json(), "36893488147419103233");
        assert_eq!(Number::from(1e30).to_json(), 1e30);
    }

    /// As GDAL 3.6 reads a GeoTIFF's tag, by `gdalinfo`.
    #[test]
    fn texts_of_tags_are_read_as_gdal_does() {
        for (text, expected) in [
            ("  5  ", Some("5")),
            ("5\n", Some("5")),
            ("5 6 7", Some("5")),
            ("5abc", Some("5")),
            ("1,5", Some("1.5")),
            ("1.5,2", Some("1.5")),
            ("+5", Some("5")),
            ("-9999.", Some("-9999")),
            ("1E3", Some("1000")),
            ("1e", Some("1")),
            ("1d3", Some("1")),
            ("0x10", Some("16")),
            ("1_000", Some("1")),
            (".5", Some("0.5")),
            ("-nan", Some("nan")),
            ("NaN", Some("nan")),
            ("-1.#IND", Some("nan")),
            ("1.#SNAN", Some("nan")),
            ("-inf", Some("-inf")),
            ("3.4028234663852886e+38", Some("3.4028234663852886e+38")),
            ("", None),
            (".", None),
            ("none", None),
        ] {
            assert_eq!(SampleType::F32.number_of_tag(text), expected.map(number), "{text:?}");
        }
        let (signed, unsigned) = (SampleType::I64, SampleType::U64);
        for (text, of_signed, of_unsigned) in [
            (" 9007199254740993", "9007199254740993", "9007199254740993"),
            ("-9999.5", "-9999", "18446744073709541617"),
            ("99999999999999999999", "9223372036854775807", "18446744073709551615"),
            ("1e3", "1", "1"),
            ("-99999999999999999999", "-9223372036854775808", "18446744073709551615"),
        ] {
            assert_eq!(signed.number_of_tag(text), Some(number(of_signed)), "{text}");
            assert_eq!(unsigned.number_of_tag(text), Some(number(of_unsigned)), "{text}");
        }
        assert_eq!(signed.number_of_tag("nan"), None);
        for text in ["-3.40282346638529e+38", "-3.402823466385289e+38", "-3.4028234663852886e38"] {
            let least = SampleType::F64.number_of_tag(text).unwrap();
            assert_eq!(least, f64::from(f32::MIN).into(), "{text}");
        }
        assert_eq!(SampleType::F64.number_of_tag("3.4e38"), Some(number("3.4e38")));
        // What netCDF fills floats of 32 bits with, in fifteen digits.
        let fill = SampleType::F64.number_of_tag("9.96920996838687e+36").unwrap();
        assert_eq!(fill, f64::from(9.969_21e36f32).into());
        // No f32 has these digits.
        let of_64_bits = ["1.00000000000001", "-0.10000000149011609", "-1.7976931348623157e+308"];
        for text in ["0.1", "-9999.00000001"].into_iter().chain(of_64_bits) {
            assert_eq!(SampleType::F64.number_of_tag(text), Some(number(text)), "{text}");
        }
        // More digits than a number is written with.
        let long = format!("0.1{}", "1".repeat(70_000));
        assert_eq!(SampleType::F64.number_of_tag(&long), Some(number("0.1111111111111111")));
        assert_eq!(SampleType::F64.number_of_text(" 7,5 "), Some(number("7")));
    }
}
