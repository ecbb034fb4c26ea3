//! Columns of Arrow and GeoArrow, without a copy. (Feature `arrow`.)
//!
//! A column with nulls or of another type is an error, which names the column and the row. For results no function is
//! needed: a `Vec` becomes an Arrow array by `From`, without a copy.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use gpu_core::ArrayPoints;
//! use gpu_core::arrow_array::{ArrayRef, Float64Array, RecordBatch};
//!
//! let column = |values: Vec<f64>| Arc::new(Float64Array::from(values)) as ArrayRef;
//! let (x, y, z) = (column(vec![0.5, 9.5]), column(vec![1.5, 2.5]), column(vec![7.0, 8.0]));
//! let table = RecordBatch::try_from_iter([("x", x), ("y", y), ("z", z)])?;
//! let stations = ArrayPoints::from_batch(&table, "x", "y", &["z"])?;
//! assert_eq!(stations.points().values, [[7.0, 8.0]]);
//!
//! let nearest: Vec<f64> = vec![0.25, 0.75]; // what a search found
//! let nearest = Float64Array::from(nearest);
//! # assert_eq!(nearest.value(1), 0.75);
//! # Ok(())
//! # }
//! ```

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrowPrimitiveType, Float64Array, RecordBatch, StructArray};
use arrow_schema::{DataType, Field};

use crate::error::unfit;
use crate::{ArrayPoints, Error, Result};

/// Returns the values of a column, without a copy. Errors use `name` for the column.
///
/// # Errors
/// [`Error::Unfit`] for a column of another type than `T`, and for one with a null, with its row.
pub fn values<'a, T: ArrowPrimitiveType>(
    name: &str,
    column: &'a dyn Array,
) -> Result<&'a [T::Native]> {
    check_nulls(name, column)?;
    match column.as_primitive_opt::<T>() {
        Some(array) => Ok(array.values()),
        None => Err(wrong_type(name, column, &format!("{}: cast it first", T::DATA_TYPE))),
    }
}

/// Returns a column of a table by its name.
///
/// # Errors
/// [`Error::Unfit`] where the table has no such column.
pub fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a dyn Array> {
    match batch.column_by_name(name) {
        Some(column) => Ok(column),
        None => {
            let names = batch.schema_ref().fields().iter().map(|field| field.name().as_str());
            let found = format!("columns {}", names.collect::<Vec<_>>().join(", "));
            Err(unfit("table", found, format!("one of the name {name:?}")))
        }
    }
}

/// Returns points as a GeoArrow array of separated coordinates, without a copy. In a table its field needs the metadata
/// `ARROW:extension:name` = `geoarrow.point`.
///
/// # Errors
/// [`Error::Length`] unless there are as many y as x.
pub fn points(x: Vec<f64>, y: Vec<f64>) -> Result<StructArray> {
    ArrayPoints::new(Cow::Borrowed(&x), Cow::Borrowed(&y))?;
    let side = |name, column: Vec<f64>| {
        let field = Arc::new(Field::new(name, DataType::Float64, false));
        (field, Arc::new(Float64Array::from(column)) as arrow_array::ArrayRef)
    };
    Ok(StructArray::from(vec![side("x", x), side("y", y)]))
}

impl<'a> ArrayPoints<'a> {
    /// Takes columns of a table by their names: x, y, and any number of values, all Float64. Nothing is copied. (Feature `arrow`.)
    ///
    /// # Errors
    /// [`Error::Unfit`] for a name that the table does not have, a column of another type, and one with a null, with its row.
    pub fn from_batch(batch: &'a RecordBatch, x: &str, y: &str, values: &[&str]) -> Result<Self> {
        let of = |name: &str| self::values::<Float64Type>(name, column(batch, name)?);
        let points = Self::new(Cow::Borrowed(of(x)?), Cow::Borrowed(of(y)?))?;
        values.iter().try_fold(points, |points, name| points.with_values(of(name)?))
    }

    /// Takes a GeoArrow array of points. Separated coordinates (a struct of x and y) are not copied; interleaved ones (lists of two
    /// numbers) are. (Feature `arrow`.)
    ///
    /// # Errors
    /// [`Error::Unfit`] for an array of another type, for points with z or m, and for a null, with its row.
    pub fn from_geoarrow(points: &'a dyn Array) -> Result<Self> {
        const WANTED: &str = "GeoArrow points of x and y: take heights as values, or drop them";
        check_nulls("points", points)?;
        if let Some(separated) = points.as_struct_opt() {
            let [x, y] = separated.columns() else {
                return Err(wrong_type("points", points, WANTED));
            };
            if separated.column_names() != ["x", "y"] {
                return Err(wrong_type("points", points, WANTED));
            }
            let (x, y) = (values::<Float64Type>("x", x)?, values::<Float64Type>("y", y)?);
            return Self::new(Cow::Borrowed(x), Cow::Borrowed(y));
        }
        let interleaved = points.as_fixed_size_list_opt().filter(|list| list.value_length() == 2);
        let Some(interleaved) = interleaved else {
            return Err(wrong_type("points", points, WANTED));
        };
        let first = interleaved.value_offset_at(0);
        let numbers = interleaved.values().slice(first, 2 * interleaved.len());
        let (places, _) = values::<Float64Type>("coordinates", &numbers)?.as_chunks::<2>();
        let (x, y) = places.iter().map(|&[x, y]| (x, y)).unzip();
        Self::new(Cow::Owned(x), Cow::Owned(y))
    }
}

fn check_nulls(name: &str, column: &dyn Array) -> Result<()> {
    let Some(nulls) = column.nulls().filter(|nulls| nulls.null_count() > 0) else { return Ok(()) };
    let row = nulls.iter().position(|is_valid| !is_valid).unwrap_or_default();
    let what = format!("column {name:?}, row {row}");
    Err(unfit(what, "a null", "a value: fill nulls, or drop such rows"))
}

fn wrong_type(name: &str, column: &dyn Array, expected: &str) -> Error {
    unfit(format!("column {name:?}"), column.data_type().to_string(), expected)
}

#[cfg(test)]
mod tests {
    use arrow_array::types::{Float32Type, UInt32Type};
    use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, UInt32Array};

    use super::*;

    fn column(values: Vec<f64>) -> ArrayRef {
        Arc::new(Float64Array::from(values))
    }

    fn table(z: ArrayRef) -> RecordBatch {
        let (x, y) = (column(vec![-0.0, 1.5, 2.5]), column(vec![3.0, f64::NAN, 5.0]));
        RecordBatch::try_from_iter([("x", x), ("y", y), ("z", z)]).unwrap()
    }

    #[test]
    fn columns_of_a_table_are_borrowed() {
        let table = table(column(vec![7.0, 8.0, 9.0]));
        let points = ArrayPoints::from_batch(&table, "x", "y", &["z", "x"]).unwrap();
        let x: &Float64Array = table["x"].as_primitive();
        assert_eq!(points.points().x.as_ptr(), x.values().as_ptr());
        assert_eq!(points.points().values, [&[7.0, 8.0, 9.0], &[-0.0, 1.5, 2.5][..]]);
        assert_eq!(points.points().y[1].to_bits(), f64::NAN.to_bits());
        // A part that begins later.
        let part = table.slice(1, 2);
        let points = ArrayPoints::from_batch(&part, "x", "y", &[]).unwrap();
        assert_eq!(points.points().x, [1.5, 2.5]);
        assert_eq!(points.points().x.as_ptr(), x.values()[1..].as_ptr());
        let empty = table.slice(3, 0);
        assert!(ArrayPoints::from_batch(&empty, "x", "y", &["z"]).unwrap().points().is_empty());
        let indices = UInt32Array::from(vec![3, 4]);
        assert_eq!(values::<UInt32Type>("i", &indices).unwrap(), [3, 4]);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let says = |z: ArrayRef, name: &str| {
            ArrayPoints::from_batch(&table(z), "x", "y", &[name]).unwrap_err().to_string()
        };
        let with_null = Arc::new(Float64Array::from(vec![Some(1.0), Some(2.0), None]));
        let found = says(with_null.clone(), "z");
        assert_eq!(found.split(", expected").next(), Some("column \"z\", row 2: found a null"));
        let single = Arc::new(Float32Array::from(vec![1.0; 3]));
        let expected = "column \"z\": found Float32, expected Float64: cast it first";
        assert_eq!(says(single.clone(), "z"), expected);
        assert_eq!(values::<Float32Type>("z", &*single), Ok(&[1.0; 3][..]));
        let found = says(single, "height");
        assert_eq!(found, "table: found columns x, y, z, expected one of the name \"height\"");
        // A slice without its nulls has none.
        assert_eq!(values::<Float64Type>("z", &with_null.slice(0, 2)).unwrap(), [1.0, 2.0]);
        assert!(points(vec![1.0], vec![]).is_err());
    }

    #[test]
    fn geoarrow_points_come_back_to_the_bit() {
        let (x, y) = (vec![-0.0, 1e300, 5e-324], vec![0.1 + 0.2, -1.5, f64::MIN]);
        let address = x.as_ptr();
        let separated = points(x.clone(), y.clone()).unwrap();
        let all = ArrayPoints::from_geoarrow(&separated).unwrap();
        let bits = |v: &[f64]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!([bits(all.points().x), bits(all.points().y)], [bits(&x), bits(&y)]);
        let own: &Float64Array = separated.column(0).as_primitive();
        assert_eq!(all.points().x.as_ptr(), own.values().as_ptr());
        assert_eq!(
            points(x, y.clone()).unwrap().column(0).as_primitive::<Float64Type>().values().as_ptr(),
            address
        );
        let part = separated.slice(1, 2);
        let all = ArrayPoints::from_geoarrow(&part).unwrap();
        assert_eq!(bits(all.points().y), bits(&y[1..]));

        let numbers = column(vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let list = |size| {
            let field = Arc::new(Field::new("xy", DataType::Float64, false));
            FixedSizeListArray::new(field, size, numbers.clone(), None)
        };
        let all = list(2).slice(1, 2);
        let all = ArrayPoints::from_geoarrow(&all).unwrap();
        assert_eq!((all.points().x, all.points().y), (&[2.0, 4.0][..], &[3.0, 5.0][..]));
        let error = ArrayPoints::from_geoarrow(&list(3)).unwrap_err().to_string();
        assert!(error.contains("heights as values"), "{error}");
    }

    #[test]
    fn geoarrow_points_of_other_forms_are_refused() {
        let field = |name| Arc::new(Field::new(name, DataType::Float64, true));
        let side = |name| (field(name), column(vec![1.0, 2.0]));
        let says = |points: &dyn Array| ArrayPoints::from_geoarrow(points).unwrap_err().to_string();
        let high = says(&StructArray::from(vec![side("x"), side("y"), side("z")]));
        assert!(high.starts_with("column \"points\": found Struct("), "{high}");
        assert!(says(&StructArray::from(vec![side("y"), side("x")])).contains("x and y"));
        assert!(says(&Float64Array::from(vec![1.0])).contains("found Float64"));
        let fields = vec![field("x"), field("y")];
        let columns = vec![column(vec![1.0, 2.0]); 2];
        let nulls = Some(vec![true, false].into());
        let found = says(&StructArray::new(fields.clone().into(), columns, nulls));
        assert!(found.starts_with("column \"points\", row 1: found a null"), "{found}");
        let y: ArrayRef = Arc::new(Float64Array::from(vec![None, Some(2.0)]));
        let found = says(&StructArray::new(fields.into(), vec![column(vec![1.0, 2.0]), y], None));
        assert!(found.starts_with("column \"y\", row 0: found a null"), "{found}");
    }
}
