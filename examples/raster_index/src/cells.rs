//! The type of an index's cells, and values, NODATA and bounds in it.
//!
//! Nodes hold values of at most 32 bits. Values of other types become cells of a type that holds them all exactly.
//! Floats of 16 and 64 bits become f32, and integers of 8 and 64 bits i16, i32 or u32. If no such type holds a value of
//! 64 bits, cells keep the 64 bits, and nodes hold codes for them. Then values of 32 bits in rasters beside it become
//! cells of 64 bits too.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use geo_io::{ArrayData, Number, SampleType};

use crate::values::Values;

/// Returns the types of cells that values of a type can become, in the order in which they are tried.
fn cells_of(values: SampleType) -> &'static [&'static str] {
    match values {
        SampleType::Bool | SampleType::U8 => &["u8"],
        SampleType::I8 | SampleType::I16 => &["i16"],
        SampleType::U16 => &["u16"],
        SampleType::I32 => &["i32", "i64"],
        SampleType::U32 => &["u32", "i64", "u64"],
        SampleType::U64 => &["u32", "u64", "i64"],
        SampleType::I64 => &["i32", "u32", "i64", "u64"],
        SampleType::F16 | SampleType::F32 | SampleType::F64 => &["f32", "f64"],
    }
}

/// Bytes of a cell.
pub fn cell_bytes(cells: &str) -> u64 {
    match cells {
        "u8" => 1,
        "i16" | "u16" => 2,
        "f64" | "i64" | "u64" => 8,
        _ => 4,
    }
}

/// Returns what cells have where the values have NODATA: the same value if the cells' type has it. If not, it is NaN,
/// or for integers the end of their type that is least likely to be a value.
fn nodata_in(cells: &str, nodata: Number) -> Number {
    let (kind, other) = match cells {
        "u8" => (SampleType::U8, u8::MAX.into()),
        "i16" => (SampleType::I16, i16::MIN.into()),
        "u16" => (SampleType::U16, u16::MAX.into()),
        "i32" => (SampleType::I32, i32::MIN.into()),
        "u32" => (SampleType::U32, u32::MAX.into()),
        "i64" => (SampleType::I64, i64::MIN.into()),
        "u64" => (SampleType::U64, u64::MAX.into()),
        "f64" => (SampleType::F64, f64::NAN.into()),
        _ => (SampleType::F32, f64::NAN.into()),
    };
    kind.value(nodata).filter(|value| *value == nodata).unwrap_or(other)
}

/// Returns what cells have where the values of rasters have NODATA. Their types may lack the number that the user
/// gives. `None` if only NaN stands for NODATA, as when a decimal means different floats in two types.
pub fn nodata_of_cells(
    cells: &str,
    rasters: &[(&Path, SampleType)],
    nodata: Option<Number>,
) -> Option<Number> {
    let mut own = rasters.iter().filter_map(|(_, values)| values.value(nodata?));
    let first = own.next()?;
    let is_one = own.all(|other| other == first);
    Some(nodata_in(cells, first)).filter(|nodata| is_one && !nodata.is_nan())
}

/// Returns the type of cells that holds the values of all rasters, each of a type of its own. It is the first type
/// that all types can become and with which all rasters pass a check.
///
/// The check gets the raster's number and a type of cells. It returns whether the raster has a value that is not
/// NODATA. If no raster has one, the type must hold the NODATA of the first raster.
///
/// # Errors
/// The errors of the check, or a raster whose values can have no such cells.
pub fn cells_of_all(
    rasters: &[(&Path, SampleType)],
    nodata: Option<Number>,
    check: impl Fn(usize, &str) -> Result<bool>,
) -> Result<&'static str> {
    let Some(&(first, kind)) = rasters.first() else { bail!("there is no raster") };
    let mut candidates = cells_of(kind).to_vec();
    for (path, other) in rasters {
        candidates.retain(|cells| cells_of(*other).contains(cells));
        if candidates.is_empty() {
            return Err(of_two_types((first, kind), (path, *other)));
        }
    }
    let stated = nodata.and_then(|nodata| kind.value(nodata));
    let mut failed = None;
    for cells in candidates {
        let all = (0..rasters.len()).try_fold(false, |any, i| {
            let beside = rasters.iter().find(|(_, other)| *other != rasters[i].1);
            Ok(check(i, cells).map_err(|error| beside_another(error, beside))? || any)
        });
        match all {
            Ok(true) => return Ok(cells),
            Ok(false) if stated.is_none_or(|own| nodata_in(cells, own) == own) => return Ok(cells),
            Ok(false) => {}
            // The last type has the most values.
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.unwrap_or_else(|| {
        anyhow!("{}: an index cannot hold values of this type", first.display())
    }))
}

/// Says that values of two types have no type of cells in common, and which type to give both.
fn of_two_types((a, one): (&Path, SampleType), (b, other): (&Path, SampleType)) -> anyhow::Error {
    let is_float = |kind| matches!(kind, SampleType::F16 | SampleType::F32 | SampleType::F64);
    let is_wide = |kind| matches!(kind, SampleType::I64 | SampleType::U64 | SampleType::U32);
    let both = [one, other];
    let common = match both.iter().any(|&kind| is_float(kind)) {
        true if both.contains(&SampleType::F64) || both.iter().any(|&kind| is_wide(kind)) => {
            "Float64"
        }
        true => "Float32",
        false if both.iter().any(|&kind| is_wide(kind)) => "Int64",
        false => "Int32",
    };
    anyhow!(
        "{} has values of type {other}, {} of type {one}, and the rasters of an index must have \
         one type: `gdal_translate -ot {common}` converts both",
        b.display(),
        a.display()
    )
}

/// Names the raster of another type that a value has no cell beside.
fn beside_another(error: anyhow::Error, beside: Option<&(&Path, SampleType)>) -> anyhow::Error {
    match beside {
        Some((path, kind)) => {
            anyhow!("{error} (beside it, {} has values of type {kind})", path.display())
        }
        None => error,
    }
}

/// A part of a raster that was read.
pub struct Part<'a> {
    /// The raster's file.
    pub path: &'a Path,
    /// The value that stands for NODATA in it.
    pub nodata: Option<Number>,
    /// Its first row and column in the raster.
    pub corner: (usize, usize),
    /// Its columns.
    pub width: usize,
}

impl Part<'_> {
    /// Refuses values that have no cell of a type. Returns whether a value is not NODATA. Values of 32 bits and less
    /// are not checked for that.
    ///
    /// # Errors
    /// The first such value.
    pub fn check(&self, values: &ArrayData, cells: &str) -> Result<bool> {
        let misfit = match (values, cells) {
            (ArrayData::F64(v), "f32") => {
                let narrow = self.narrow_float();
                v.iter().position(|&value| narrow(value).is_none())
            }
            (ArrayData::I64(v), "i32") => self.first_without::<i64, i32>(v, cells),
            (ArrayData::I64(v), "u32") => self.first_without::<i64, u32>(v, cells),
            (ArrayData::I64(v), "u64") => self.first_without::<i64, u64>(v, cells),
            (ArrayData::U64(v), "u32") => self.first_without::<u64, u32>(v, cells),
            (ArrayData::U64(v), "i64") => self.first_without::<u64, i64>(v, cells),
            (values, _) if cells_of(values.sample_type()).contains(&cells) => None,
            (values, _) => {
                let (path, found) = (self.path.display(), values.sample_type());
                bail!("{path} has values of type {found}, but the index has {cells}")
            }
        };
        let Some(at) = misfit else { return Ok(self.has_values(values)) };
        let (row, column) = (self.corner.0 + at / self.width, self.corner.1 + at % self.width);
        let (value, how) = match values {
            ArrayData::F64(v) => (
                Number::from(v[at]),
                "astype('float32') and `gdal_translate -ot Float32` round them",
            ),
            ArrayData::I64(v) => (Number::from(v[at]), "number them anew"),
            ArrayData::U64(v) => (Number::from(v[at]), "number them anew"),
            _ => bail!("{}: a value does not fit cells of type {cells}", self.path.display()),
        };
        bail!(
            "{}: its value {value} in row {row}, column {column} does not fit {cells}, the type \
             of the index's cells: {how}, or give --nodata {value} if it stands for no value",
            self.path.display()
        )
    }

    /// Whether a value of 64 bits is not NODATA.
    fn has_values(&self, values: &ArrayData) -> bool {
        let nodata = self.nodata;
        match values {
            ArrayData::F64(v) => {
                let nodata = nodata.map(Number::to_f64);
                v.iter().any(|value| !value.is_nan() && Some(*value) != nodata)
            }
            ArrayData::I64(v) => {
                let nodata = nodata.and_then(Number::to_i128);
                v.iter().any(|&value| Some(value.into()) != nodata)
            }
            ArrayData::U64(v) => {
                let nodata = nodata.and_then(Number::to_i128);
                v.iter().any(|&value| Some(value.into()) != nodata)
            }
            _ => true,
        }
    }

    /// The values as cells of a type.
    ///
    /// # Errors
    /// The first value that has no such cell.
    pub fn cells(&self, values: ArrayData, cells: &str) -> Result<Values> {
        self.check(&values, cells)?;
        Ok(match (values, cells) {
            (ArrayData::Bool(v), _) => Values::U8(v.into_iter().map(u8::from).collect()),
            (ArrayData::U8(v), _) => Values::U8(v),
            (ArrayData::I8(v), _) => Values::I16(v.into_iter().map(i16::from).collect()),
            (ArrayData::I16(v), _) => Values::I16(v),
            (ArrayData::U16(v), _) => Values::U16(v),
            (ArrayData::I32(v), "i64") => Values::I64(v.into_iter().map(i64::from).collect()),
            (ArrayData::I32(v), _) => Values::I32(v),
            (ArrayData::U32(v), "i64") => Values::I64(v.into_iter().map(i64::from).collect()),
            (ArrayData::U32(v), "u64") => Values::U64(v.into_iter().map(u64::from).collect()),
            (ArrayData::U32(v), _) => Values::U32(v),
            (ArrayData::F16(v), "f64") => self.wide_floats(v.into_iter().map(f32::from)),
            (ArrayData::F32(v), "f64") => self.wide_floats(v.into_iter()),
            (ArrayData::F16(v), _) => self.floats(v.into_iter().map(f32::from).collect()),
            (ArrayData::F32(v), _) => self.floats(v),
            (ArrayData::F64(v), "f64") => Values::F64(v),
            (ArrayData::I64(v), "i64") => Values::I64(v),
            (ArrayData::U64(v), "u64") => Values::U64(v),
            (ArrayData::I64(v), "u64") => {
                Values::U64(v.into_iter().filter_map(self.narrow_integer(cells)).collect())
            }
            (ArrayData::U64(v), "i64") => {
                Values::I64(v.into_iter().filter_map(self.narrow_integer(cells)).collect())
            }
            (ArrayData::F64(v), _) => {
                Values::F32(v.into_iter().filter_map(self.narrow_float()).collect())
            }
            (ArrayData::I64(v), "i32") => {
                Values::I32(v.into_iter().filter_map(self.narrow_integer(cells)).collect())
            }
            (ArrayData::I64(v), _) => {
                Values::U32(v.into_iter().filter_map(self.narrow_integer(cells)).collect())
            }
            (ArrayData::U64(v), _) => {
                Values::U32(v.into_iter().filter_map(self.narrow_integer(cells)).collect())
            }
        })
    }

    /// Floats, NaN where they are NODATA: a decimal means another float in a raster of 64 bits beside this one.
    fn floats(&self, mut values: Vec<f32>) -> Values {
        if let Some(nodata) = self.nodata.map(|nodata| nodata.to_f64() as f32) {
            let missing = values.iter_mut().filter(|value| **value == nodata);
            missing.for_each(|value| *value = f32::NAN);
        }
        Values::F32(values)
    }

    /// Returns floats of 64 bits, NaN where they are NODATA.
    fn wide_floats(&self, values: impl Iterator<Item = f32>) -> Values {
        let nodata = self.nodata.map(|nodata| nodata.to_f64() as f32);
        let wide = |value: f32| if Some(value) == nodata { f64::NAN } else { value.into() };
        Values::F64(values.map(wide).collect())
    }

    /// A float as one of 32 bits, where it is one or NODATA.
    fn narrow_float(&self) -> impl Fn(f64) -> Option<f32> + use<> {
        let nodata = self.nodata.map(Number::to_f64);
        let empty = self.nodata.map(|nodata| nodata_in("f32", nodata).to_f64() as f32);
        move |value| match value as f32 {
            _ if nodata == Some(value) => empty,
            narrow => (f64::from(narrow) == value || value.is_nan()).then_some(narrow),
        }
    }

    /// The first of some integers that has no cell of a type.
    fn first_without<T, C>(&self, values: &[T], cells: &str) -> Option<usize>
    where
        T: TryFrom<i128> + PartialEq + Copy,
        C: TryFrom<T> + TryFrom<i128> + PartialEq + Copy,
    {
        let narrow = self.narrow_integer::<T, C>(cells);
        values.iter().position(|&value| narrow(value).is_none())
    }

    /// An integer as one of another type, where it is one or NODATA.
    fn narrow_integer<T, C>(&self, cells: &str) -> impl Fn(T) -> Option<C> + use<T, C>
    where
        T: TryFrom<i128> + PartialEq + Copy,
        C: TryFrom<T> + TryFrom<i128> + PartialEq + Copy,
    {
        let value = |number: Number| number.to_i128().and_then(|value| T::try_from(value).ok());
        let nodata = self.nodata.and_then(value);
        let empty = self.nodata.map(|nodata| nodata_in(cells, nodata));
        let empty = empty.and_then(Number::to_i128).and_then(|value| C::try_from(value).ok());
        move |value| match nodata == Some(value) {
            true => empty,
            // A value must not become NODATA.
            false => {
                C::try_from(value).ok().filter(|narrow| nodata.is_none() || empty != Some(*narrow))
            }
        }
    }
}
