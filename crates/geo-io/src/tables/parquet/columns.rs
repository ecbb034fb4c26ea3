//! The values of a column, and their types of fields.

use std::sync::Arc;

use ::parquet::basic::{ConvertedType, LogicalType};
use ::parquet::column::reader::{ColumnReader, get_column_reader};
use ::parquet::data_type::{ByteArray, FixedLenByteArray, Int96};
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::schema::types::{ColumnDescPtr, ColumnDescriptor};

use super::source::Source;
use super::{Field, pages, times};
use crate::tables::EXACT;
use crate::{Number, f16};

/// A column of a row group.
pub(super) struct Column {
    reader: ColumnReader,
    of: ColumnDescPtr,
}

/// Values of some rows: how often each repeats and how much of it is there, and those that are there.
pub(super) struct Batch {
    pub repeats: Vec<i16>,
    pub levels: Vec<i16>,
    pub values: Values,
}

/// Values by their types.
pub(super) enum Values {
    Bools(Vec<bool>),
    Ints(Vec<i32>),
    Longs(Vec<i64>),
    Times(Vec<Int96>),
    Floats(Vec<f32>),
    Doubles(Vec<f64>),
    Bytes(Vec<ByteArray>),
    Fixed(Vec<FixedLenByteArray>),
}

impl Column {
    pub fn open(
        file: &Arc<Source>,
        chunk: &ColumnChunkMetaData,
        of: ColumnDescPtr,
        rows: usize,
    ) -> Result<Self, String> {
        let pages = pages::open(file, chunk, rows).map_err(|error| plain(&error))?;
        Ok(Self { reader: get_column_reader(of.clone(), pages), of })
    }

    pub fn of(&self) -> &ColumnDescriptor {
        &self.of
    }

    /// The values of this many rows.
    pub fn read(&mut self, rows: usize) -> Result<Batch, String> {
        let (mut levels, mut repeats) = (Vec::new(), Vec::new());
        macro_rules! read {
            ($reader:expr, $variant:ident) => {{
                let mut values = Vec::new();
                let (levels, repeats) = (Some(&mut levels), Some(&mut repeats));
                let read = $reader.read_records(rows, levels, repeats, &mut values);
                (read, Values::$variant(values))
            }};
        }
        let (read, values) = match &mut self.reader {
            ColumnReader::BoolColumnReader(reader) => read!(reader, Bools),
            ColumnReader::Int32ColumnReader(reader) => read!(reader, Ints),
            ColumnReader::Int64ColumnReader(reader) => read!(reader, Longs),
            ColumnReader::Int96ColumnReader(reader) => read!(reader, Times),
            ColumnReader::FloatColumnReader(reader) => read!(reader, Floats),
            ColumnReader::DoubleColumnReader(reader) => read!(reader, Doubles),
            ColumnReader::ByteArrayColumnReader(reader) => read!(reader, Bytes),
            ColumnReader::FixedLenByteArrayColumnReader(reader) => read!(reader, Fixed),
        };
        let (records, found, _) = read.map_err(|error| plain(&error))?;
        if records < rows {
            let name = self.of.path().string();
            return Err(format!("its column \"{name}\" ends {} rows early", rows - records));
        }
        if self.of.max_def_level() == 0 {
            levels = vec![0; found];
        }
        Ok(Batch { repeats, levels, values })
    }
}

/// An error in words, without the name of its kind.
fn plain(error: &::parquet::errors::ParquetError) -> String {
    let text = error.to_string();
    text.strip_prefix("Parquet error: ").unwrap_or(&text).to_owned()
}

impl Batch {
    /// Returns, for each row, whether it has a value.
    pub fn there<'a>(&'a self, of: &ColumnDescriptor) -> impl Iterator<Item = bool> + 'a {
        let most = of.max_def_level();
        self.levels.iter().map(move |&level| level == most)
    }

    /// The fields of the rows.
    pub fn into_fields(self, of: &ColumnDescriptor) -> std::vec::IntoIter<Field> {
        let Self { levels, values, .. } = self;
        let mut values: Box<dyn Iterator<Item = Field> + '_> = match values {
            Values::Bools(all) => Box::new(all.into_iter().map(Field::Bool)),
            Values::Ints(all) => Box::new(all.into_iter().map(|v| integer(v.into(), 32, of))),
            Values::Longs(all) => Box::new(all.into_iter().map(|v| integer(v, 64, of))),
            Values::Times(all) => {
                Box::new(all.into_iter().map(|v| Field::Text(times::of_int96(&v))))
            }
            Values::Floats(all) => Box::new(all.into_iter().map(Field::single)),
            Values::Doubles(all) => Box::new(all.into_iter().map(Field::double)),
            Values::Bytes(all) => Box::new(all.into_iter().map(|v| bytes(v.data(), of))),
            Values::Fixed(all) => Box::new(all.into_iter().map(|v| bytes(v.data(), of))),
        };
        let most = of.max_def_level();
        let field = |level| match level == most {
            true => values.next().unwrap_or(Field::Null),
            false => Field::Null,
        };
        levels.into_iter().map(field).collect::<Vec<_>>().into_iter()
    }
}

/// Digits behind the point of a decimal.
fn scale(of: &ColumnDescriptor) -> Option<usize> {
    let scale = match of.logical_type_ref() {
        Some(LogicalType::Decimal(decimal)) => decimal.scale,
        _ if of.converted_type() == ConvertedType::DECIMAL => of.type_scale(),
        _ => return None,
    };
    usize::try_from(scale).ok()
}

fn integer(value: i64, bits: u32, of: &ColumnDescriptor) -> Field {
    if let Some(scale) = scale(of) {
        return decimal(value.into(), scale);
    }
    if let Some(text) = times::of_integer(value, of) {
        return Field::Text(text);
    }
    let is_unsigned = match of.logical_type_ref() {
        Some(LogicalType::Integer(int)) => !int.is_signed,
        _ => matches!(
            of.converted_type(),
            ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64
        ),
    };
    Field::Number(match (is_unsigned, bits) {
        (true, 32) => (value as u32).into(),
        (true, _) => (value as u64).into(),
        _ => value.into(),
    })
}

/// A whole number with this many of its digits behind the point.
fn decimal(value: i128, scale: usize) -> Field {
    let sign = if value < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, part) = digits.split_at(digits.len() - scale);
    let number = format!("{sign}{whole}.{part}").parse::<Number>();
    number.map_or(Field::Other("a decimal"), Field::Number)
}

fn bytes(bytes: &[u8], of: &ColumnDescriptor) -> Field {
    if let Some(scale) = scale(of) {
        let Some(&first) = bytes.first().filter(|_| bytes.len() <= 16) else {
            return Field::Other("a decimal of more than 128 bits");
        };
        let sign = if first & 0x80 == 0 { 0 } else { -1 };
        let value = bytes.iter().fold(sign, |value: i128, &byte| value << 8 | i128::from(byte));
        return decimal(value, scale);
    }
    match (of.logical_type_ref(), bytes) {
        (Some(LogicalType::Float16), &[low, high]) => {
            Field::float(f16::from_le_bytes([low, high]).to_f64(), EXACT[0])
        }
        (
            Some(
                LogicalType::Uuid
                | LogicalType::Bson
                | LogicalType::Geometry(_)
                | LogicalType::Geography(_),
            ),
            _,
        ) => Field::Other("bytes"),
        // Some writers do not say that a text is one.
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => Field::Text(text.to_owned()),
            Err(_) => Field::Other("bytes"),
        },
    }
}
