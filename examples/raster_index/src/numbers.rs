//! Numbers as they are typed and shown, and as an index compares them.

use anyhow::{Result, ensure};
use ccq_tree::Bound;
use geo_io::{Number, SampleType};
use gpu_core::Shortest;

/// Converts a number to a bound of cells: for floats, the value that it rounds to; for integers, the least value that
/// is not below it. A cell is below the number if it is below the bound.
pub fn bound_in(cells: &str, number: Number) -> Bound {
    let rounded = match cells {
        "f32" => at_least(SampleType::F32, number),
        "f64" => Some(number.to_f64().into()),
        _ => Some(number.ceil()),
    };
    // A number beyond the greatest float is below infinity.
    let is_open = rounded.is_some_and(|rounded| rounded.to_f64() == f64::INFINITY);
    bound(rounded.filter(|_| !is_open).unwrap_or(number))
}

/// The least value of a type that is not below a number; of floats the one that a decimal rounds to, but for infinity
/// below.
pub fn at_least(kind: SampleType, number: Number) -> Option<Number> {
    let least = kind.at_least(number)?;
    let is_beyond = least.to_f64() == f64::NEG_INFINITY && number.to_f64().is_finite();
    Some(if is_beyond { f64::from(f32::MIN).into() } else { least })
}

/// A number as a bound.
pub fn bound(number: Number) -> Bound {
    number.to_i128().map_or(number.to_f64().into(), Bound::from)
}

/// A bound of a value as a number, exactly.
pub fn number_of(bound: Bound) -> Number {
    let float = bound.to_f64();
    // The fewest digits that give a large float back are those of another whole number.
    let digits = if bound == Bound::from(float) { None } else { bound.to_string().parse().ok() };
    digits.unwrap_or(float.into())
}

/// Refuses boundaries of bins that are not numbers, or do not rise.
pub fn check_bins(bins: &[Number]) -> Result<()> {
    for (number, bin) in (1..).zip(bins) {
        ensure!(!bin.is_nan(), "--bins: boundary {number} of {} is not a number", bins.len());
    }
    for (number, pair) in (2..).zip(bins.windows(2)) {
        let (before, bin) = (pair[0], pair[1]);
        ensure!(
            before < bin,
            "--bins: boundary {number}, {bin}, is not above the previous one, {before}: \
             boundaries must rise"
        );
    }
    Ok(())
}

/// A value of cells as it is shown.
pub fn shown(cells: &str, value: impl Into<Bound>) -> String {
    let value = value.into();
    if cells == "f32" { Shortest(value.to_f64() as f32).to_string() } else { value.to_string() }
}

/// A sum of cells as JSON: of floats the number; of integers all digits, as text where 64 bits do not hold them.
pub fn json_of_sum(cells: &str, sum: &str) -> serde_json::Value {
    let float = sum.parse::<f64>().ok().filter(|_| ["f32", "f64"].contains(&cells));
    let signed = || sum.parse::<i64>().map(serde_json::Value::from);
    let whole = || signed().or_else(|_| sum.parse::<u64>().map(Into::into));
    float.map_or_else(|| whole().unwrap_or(sum.into()), |sum| Number::from(sum).to_json())
}

/// A value as JSON, exactly.
pub fn json(value: &Bound) -> serde_json::Value {
    number_of(*value).to_json()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_means_the_float_that_it_rounds_to() {
        for (cells, text, float) in [
            ("f64", "1e23", 1e23),
            ("f64", "9007199254740993", 9_007_199_254_740_992.0),
            ("f64", "0.1", 0.1),
            ("f32", "0.1", f64::from(0.1f32)),
            ("f32", "16777217", 16_777_216.0),
        ] {
            assert_eq!(
                bound_in(cells, text.parse().unwrap()),
                Bound::from(float),
                "{cells} {text}"
            );
        }
        let whole = "9007199254740993".parse().unwrap();
        assert_eq!(bound_in("i64", whole), Bound::from(9_007_199_254_740_993i128));
        let json = |value: f64| json(&value.into()).to_string();
        assert_eq!(
            [1e23, 2f64.powi(64), 0.1].map(json),
            ["1e+23", "1.8446744073709552e+19", "0.1"]
        );
        let between = "9007199254740992.5".parse().unwrap();
        assert_eq!(bound_in("i64", between), Bound::from(9_007_199_254_740_993i128));
        assert_eq!(bound_in("u8", f64::INFINITY.into()), Bound::from(f64::INFINITY));
    }
}
