//! What points carry beside their places: `--value`.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use geo_io::{CsvColumns, LasField};
use programs::args::ending;
use quadtree_sort::{Quadtree, Values};
use serde_json::Value;

/// The name of the heights, which every point of a LAS file has.
const HEIGHT: &str = "z";

/// Checks that names differ.
///
/// # Errors
/// As said.
pub fn check(names: &[String]) -> Result<()> {
    for (i, name) in names.iter().enumerate() {
        ensure!(!name.is_empty(), "--value: a name is missing between the commas");
        ensure!(!names[..i].contains(name), "--value {name}: the name is given twice");
    }
    Ok(())
}

/// The columns of tables, with those of the values: a table must have heights only where they are asked for.
pub fn columns(places: CsvColumns, names: &[String]) -> CsvColumns {
    let further: Vec<String> = names.iter().filter(|name| *name != HEIGHT).cloned().collect();
    let has_heights = further.len() < names.len();
    let z = if has_heights { HEIGHT.to_owned() } else { places.z };
    CsvColumns { z, ..places }.values(further)
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
pub fn summary(values: &Values, places: &[u32]) -> Option<[(&'static str, f64); 3]> {
    let of_points = || places.iter().map(|&place| values.at(place as usize));
    let [low, high] = [of_points().reduce(f64::min)?, of_points().reduce(f64::max)?];
    let mean = of_points().sum::<f64>() / places.len() as f64;
    Some([("min", low), ("mean", mean), ("max", high)])
}

/// The values of all columns in some points, as a report has them.
pub fn summaries(columns: &[Values], places: &[u32]) -> Value {
    let of_column = |values: &Values| {
        let summary = summary(values, places)?.map(|(what, value)| (what.to_owned(), value.into()));
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

/// What columns there are, such as "z f64, class u8".
pub fn kinds(values: &[Values]) -> String {
    let kinds = values.iter().map(|column| format!("{} {}", column.name(), column.value_type()));
    kinds.collect::<Vec<_>>().join(", ")
}
