//! The values that points carry (`--value`).

use std::path::PathBuf;

use anyhow::{Result, ensure};
use geo_io::{CsvColumns, LasField, Number};
use programs::args::{HEIGHT, ending};
use quadtree_sort::{Quadtree, ValueType, Values};
use serde_json::Value;

/// Checks that no name occurs twice.
///
/// # Errors
/// In the case that the summary names.
pub fn check(names: &[String]) -> Result<()> {
    for (i, name) in names.iter().enumerate() {
        ensure!(!name.is_empty(), "--value has an empty name: give names separated by commas");
        ensure!(!names[..i].contains(name), "--value {name}: name each value once");
    }
    Ok(())
}

/// Returns the columns of tables, with the columns of the values. A table must have heights only if the user wants
/// them.
pub fn columns(places: CsvColumns, names: &[String]) -> CsvColumns {
    let further: Vec<String> = names.iter().filter(|name| *name != HEIGHT).cloned().collect();
    let has_heights = further.len() < names.len();
    let z = if has_heights { HEIGHT.to_owned() } else { places.z };
    CsvColumns { z, ..places }.values(further)
}

/// Says that `--value` asked for a missing column of heights: places need x and y alone.
pub fn named(mut error: anyhow::Error) -> anyhow::Error {
    if let Some(geo_io::Error::NoColumn { column, is_value, .. }) = error.downcast_mut() {
        *is_value |= column == HEIGHT;
    }
    error
}

/// Whether all files are LAS, LAZ or COPC, whose fields have types of their own; the columns of a table have f64.
pub fn are_fields(inputs: &[PathBuf]) -> bool {
    inputs.iter().all(|path| ["las", "laz"].contains(&ending(path).as_str()))
}

/// Gives the points of a tree the values of these names: of `z`, and of `further` in the order of the other names.
///
/// # Errors
/// What the tree refuses.
pub fn carried(
    mut tree: Quadtree,
    (names, are_fields): (&[String], bool),
    z: &[f64],
    further: &[Vec<f64>],
) -> Result<Quadtree> {
    let mut further = further.iter();
    for name in names {
        let values =
            if name == HEIGHT { z } else { further.next().map_or(&[][..], |column| column) };
        let field = LasField::of(name).filter(|_| are_fields && name != HEIGHT);
        tree = match field {
            Some(LasField::Return | LasField::Returns | LasField::Class | LasField::UserData) => {
                tree.with_values(name, &narrowed(values, |value| value as u8))?
            }
            None | Some(LasField::ScanAngle | LasField::GpsTime) => {
                tree.with_values(name, values)?
            }
            Some(_) => tree.with_values(name, &narrowed(values, |value| value as u16))?,
        };
    }
    Ok(tree)
}

/// The values in the type of their field, which a reader has widened.
fn narrowed<T>(values: &[f64], narrow: fn(f64) -> T) -> Vec<T> {
    values.iter().copied().map(narrow).collect()
}

/// The values of a column in some points: the least, the mean and the greatest. `None` without points.
pub fn summary(values: &Values, places: &[u32]) -> Option<[(&'static str, Number); 3]> {
    let of_points = || places.iter().map(|&place| at(values, place as usize));
    let low = of_points().reduce(|a, b| if b < a || a.is_nan() { b } else { a })?;
    let high = of_points().reduce(|a, b| if b > a || a.is_nan() { b } else { a })?;
    let mean = match is_whole(values) {
        false => mean(of_points().map(Number::to_f64), [low, high].map(Number::to_f64)),
        // The sum of 2^32 whole numbers of 64 bits is exact.
        true => of_points().filter_map(Number::to_i128).sum::<i128>() as f64 / places.len() as f64,
    };
    Some([("min", low), ("mean", mean.into()), ("max", high)])
}

/// The value of a point, exact, by its place in the order of the tree.
pub fn at(values: &Values, place: usize) -> Number {
    match values.value_type() {
        ValueType::U64 => values.as_slice::<u64>().map(|numbers| numbers[place].into()),
        ValueType::I64 => values.as_slice::<i64>().map(|numbers| numbers[place].into()),
        _ => None,
    }
    .unwrap_or_else(|| values.at(place).into())
}

/// The mean of floats between two ends, at least one: with what each step of the sum loses added at the end (Neumaier
/// 1974). Sums of values near the greatest of f64 are made of smaller ones.
fn mean(values: impl Iterator<Item = f64>, [low, high]: [f64; 2]) -> f64 {
    // Fewer than 2^32 values, each below 2^960, have a sum.
    let is_large = low.abs().max(high.abs()) > 2f64.powi(960);
    let scale = if is_large { 2f64.powi(-64) } else { 1.0 };
    let (mut sum, mut lost, mut count) = (0.0, 0.0, 0_u32);
    for value in values.map(|value| value * scale) {
        let next: f64 = sum + value;
        lost +=
            if f64::abs(sum) >= value.abs() { (sum - next) + value } else { (value - next) + sum };
        (sum, count) = (next, count + 1);
    }
    // What is not a number has no part that is lost.
    let sum = if lost.is_finite() { sum + lost } else { sum };
    sum / f64::from(count) / scale
}

/// Whether a column has whole numbers.
fn is_whole(values: &Values) -> bool {
    !matches!(values.value_type(), ValueType::F32 | ValueType::F64)
}

/// A number of a column as JSON; whole numbers keep all of their digits.
pub fn json(values: &Values, number: Number) -> Value {
    let whole = number.to_i128().filter(|_| is_whole(values));
    let signed = whole.and_then(|whole| i64::try_from(whole).ok()).map(Value::from);
    let unsigned = || whole.and_then(|whole| u64::try_from(whole).ok()).map(Value::from);
    signed.or_else(unsigned).unwrap_or_else(|| number.to_f64().into())
}

/// The values of all columns in some points, in the form of a report.
pub fn summaries(columns: &[Values], places: &[u32]) -> Value {
    let of_column = |values: &Values| {
        let of_column = |what, value: Number| match what {
            "mean" => value.to_f64().into(),
            _ => json(values, value),
        };
        let summary = summary(values, places)?;
        let summary = summary.map(|(what, value)| (what.to_owned(), of_column(what, value)));
        Some((values.name().to_owned(), Value::Object(summary.into_iter().collect())))
    };
    Value::Object(columns.iter().filter_map(of_column).collect())
}

/// The same in words, such as ", z 10.5 to 12, mean 11.2".
pub fn in_words(columns: &[Values], places: &[u32]) -> String {
    let of_column = |values: &Values| {
        let [(_, low), (_, mean), (_, high)] = summary(values, places)?;
        Some(format!(", {} {low} to {high}, mean {mean}", values.name()))
    };
    columns.iter().filter_map(of_column).collect()
}

/// The columns in words, such as "z f64, class u8".
pub fn kinds(values: &[Values]) -> String {
    let kinds = values.iter().map(|column| format!("{} {}", column.name(), column.value_type()));
    kinds.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_of_the_largest_numbers_are_numbers_and_small_parts_are_not_lost() {
        let mean_of = |values: &[f64]| {
            let ends = [
                values.iter().copied().fold(f64::INFINITY, f64::min),
                values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            ];
            mean(values.iter().copied(), ends)
        };
        assert_eq!(mean_of(&[1.7e308; 5]), 1.7e308);
        assert_eq!(mean_of(&[f64::MAX, -f64::MAX, f64::MAX]), f64::MAX / 3.0);
        assert_eq!(mean_of(&[1e16, 1.0, -1e16, 1.0]), 0.5);
        assert_eq!(mean_of(&[1e-308, 3e-308]), 2e-308);
        assert_eq!(mean_of(&[0.1; 10]), 0.1);
        assert_eq!(mean_of(&[f64::INFINITY, 1.0]), f64::INFINITY);
        assert!(mean_of(&[f64::NAN, 1.0]).is_nan());
    }
}
