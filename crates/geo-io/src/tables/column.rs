//! One column of a table.

use std::path::Path;

use serde_json::Value;

use super::{Field, Kind, Stop, each, open, row_name};
use crate::points::{csv, ending};
use crate::{Error, Number, Result};

/// Reads one column of a table: text (`.csv`, `.txt`), or any other table that [`read_points`](crate::read_points)
/// reads. The name may be in upper or lower case. Fields of text files are text, as they stand. Whole numbers of other
/// files keep all of their bits. A field without a value is null.
///
/// The column may be one of ids, so a whole number that floats may have rounded is an error. Among floats of 64 bits
/// these are the numbers from 2^53 on, and among floats of 32 bits those from 2^24 on.
///
/// # Errors
/// [`Error::UnknownEnding`], [`Error::NotBuilt`], [`Error::NoColumn`], [`Error::Malformed`] for a rounded number, and the
/// errors of the file.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("cells.csv");
/// std::fs::write(&path, "cell,count\n85283473fffffff,7\n")?;
/// assert_eq!(geo_io::read_column(&path, "cell")?, ["85283473fffffff"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_column(path: &Path, name: &str) -> Result<Vec<Value>> {
    let Some(kind) = Kind::of(path) else {
        let is_text = ["csv", "txt"].contains(&ending(path).as_str()) || path.as_os_str() == "-";
        if !is_text {
            let known = ".csv, .txt, .parquet, .fgb, .gpkg or .shp";
            return Err(Error::unknown_ending(path, known));
        }
        return Ok(csv::read_column(path, name)?.into_iter().map(Value::from).collect());
    };
    let table = open(path, kind)?;
    let columns = &table.about().columns;
    let is_it = |column: &String| column.to_lowercase() == name.to_lowercase();
    let found = columns.iter().position(|column| column == name).or(columns.iter().position(is_it));
    let found = found.ok_or_else(|| Error::NoColumn {
        path: path.to_owned(),
        column: name.to_owned(),
        columns: columns.join(", "),
        is_value: false,
    })?;
    let mut values = Vec::new();
    each(path, table, &[found], row_name, &mut |row, _, fields| {
        if let Some(Field::Rounded(number)) = fields.first() {
            return Err(Stop::Row(row, rounded(name, *number)));
        }
        values.extend(fields.into_iter().map(Field::into_json));
        Ok(())
    })?;
    Ok(values)
}

/// Why a whole number among floats is refused.
fn rounded(column: &str, number: Number) -> String {
    format!(
        "its column \"{column}\" has floats, which do not hold every whole number near {number}, so it may have been another \
         one: store the column as whole numbers or as text"
    )
}
