//! Reads Parquet, and reads and writes GeoParquet, column by column, without Arrow.

mod columns;
mod nested;
mod pages;
mod source;
mod system;
mod times;
pub(crate) mod write;

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use ::parquet::basic::{LogicalType, Type as Physical};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::FileReader;
use ::parquet::file::serialized_reader::SerializedFileReader;
use ::parquet::schema::types::SchemaDescriptor;

use super::{About, Field, Geometry, Stop, Table, Take, wkb};
use crate::input::open;
use crate::{Error, Result};
use columns::{Column, Values};
use nested::{Kind, Nested};
use source::Source;
use system::Meta;

/// Rows that are decoded at once.
const AT_ONCE: usize = 8192;

/// A file that is open.
pub(super) struct Parquet {
    file: Arc<Source>,
    reader: SerializedFileReader<Source>,
    about: About,
    /// The leaf of the schema of each column.
    leaves: Vec<usize>,
    geometry: Option<Form>,
}

/// How geometries are stored.
enum Form {
    /// As WKB, in a leaf of the schema.
    Wkb(usize),
    /// As numbers, in one leaf or several.
    Native(Nested),
}

impl Parquet {
    pub fn open(path: &Path) -> Result<Self> {
        let (mut file, _) = open(path)?;
        let mut mark = [0; 4];
        let is_one = file.read_exact(&mut mark).is_ok() && mark == *b"PAR1";
        let read = |reason| Error::read(path, reason);
        let copy = file.try_clone().and_then(Source::new).map_err(read)?;
        let file = Source::new(file).map_err(read)?;
        let reader = SerializedFileReader::new(copy).map_err(|error| match error {
            _ if !is_one => Error::NotA { path: path.to_owned(), format: "Parquet" },
            ParquetError::General(text) if text.contains("Corrupt footer") => {
                Error::malformed(path, "its end is missing: whoever wrote it did not finish")
            }
            error => Error::malformed(path, error),
        })?;
        Self::of(Arc::new(file), reader).map_err(|reason| Error::malformed(path, reason))
    }

    fn of(file: Arc<Source>, reader: SerializedFileReader<Source>) -> Result<Self, String> {
        let about = reader.metadata().file_metadata();
        let schema = about.schema_descr();
        let entries = about.key_value_metadata().into_iter().flatten();
        let meta = entries.filter(|entry| entry.key == "geo").find_map(|entry| entry.value.clone());
        let meta = meta.map(|text| Meta::read(&text)).transpose()?;
        let (root, geometry, crs) = match &meta {
            Some(meta) => {
                let root = root_of(schema, &meta.column)?;
                (Some(root), Some(form(schema, root, &meta.encoding)?), meta.crs.clone())
            }
            None => match native(schema) {
                Some((root, stated)) => {
                    let crs =
                        system::of_logical_type(stated.as_deref(), about.key_value_metadata())?;
                    (Some(root), Some(Form::Wkb(leaves_of(schema, root)[0])), crs)
                }
                None => (None, None, None),
            },
        };
        let is_flat = |&leaf: &usize| {
            schema.column(leaf).max_rep_level() == 0
                && Some(schema.get_column_root_idx(leaf)) != root
        };
        let (whole, parts): (Vec<usize>, Vec<usize>) = (0..schema.num_columns())
            .filter(is_flat)
            .partition(|&leaf| schema.column(leaf).path().parts().len() == 1);
        let parts_count = parts.len();
        let leaves: Vec<usize> = whole.into_iter().chain(parts).collect();
        let columns = leaves.iter().map(|&leaf| schema.column(leaf).path().string()).collect();
        let rows = u64::try_from(about.num_rows()).ok();
        let has_geometry = geometry.is_some();
        let notes = meta.map(|meta| meta.notes).unwrap_or_default();
        let about = About { columns, parts: parts_count, has_geometry, crs, rows, notes };
        Ok(Self { file, reader, about, leaves, geometry })
    }
}

/// The top-level column of a name.
fn root_of(schema: &SchemaDescriptor, name: &str) -> Result<usize, String> {
    let fields = schema.root_schema().get_fields();
    let found = fields.iter().position(|field| field.name() == name);
    found.ok_or_else(|| {
        format!("it names the column \"{name}\" for its geometry, but has no such column")
    })
}

fn leaves_of(schema: &SchemaDescriptor, root: usize) -> Vec<usize> {
    (0..schema.num_columns()).filter(|&leaf| schema.get_column_root_idx(leaf) == root).collect()
}

/// The first column of Parquet's own type for geometries, and the system that it states.
fn native(schema: &SchemaDescriptor) -> Option<(usize, Option<String>)> {
    let fields = schema.root_schema().get_fields().iter().enumerate();
    fields.filter(|(_, field)| field.is_primitive()).find_map(|(root, field)| {
        match field.get_basic_info().logical_type_ref()? {
            LogicalType::Geometry(of) => Some((root, of.crs.clone())),
            LogicalType::Geography(of) => Some((root, of.crs.clone())),
            _ => None,
        }
    })
}

fn form(schema: &SchemaDescriptor, root: usize, encoding: &str) -> Result<Form, String> {
    let leaves = leaves_of(schema, root);
    let word = encoding.to_ascii_lowercase();
    let word = word.strip_prefix("geoarrow.").unwrap_or(&word);
    if word == "wkb" {
        return match leaves[..] {
            [leaf] if schema.column(leaf).physical_type() == Physical::BYTE_ARRAY => {
                Ok(Form::Wkb(leaf))
            }
            _ => {
                Err("it states WKB for its geometry, but that column does not hold bytes"
                    .to_owned())
            }
        };
    }
    let kind = Kind::of(word).ok_or_else(|| {
        format!("its geometry has the unknown encoding {encoding}: write it as WKB, as by ogr2ogr or GeoPandas")
    })?;
    Nested::new(schema, &leaves, kind).map(Form::Native)
}

impl Table for Parquet {
    fn about(&self) -> &About {
        &self.about
    }

    fn each(self: Box<Self>, wanted: &[usize], take: &mut Take<'_>) -> Result<(), Stop> {
        let metadata = self.reader.metadata();
        let schema = metadata.file_metadata().schema_descr();
        let mut before = 0;
        for group in metadata.row_groups() {
            let rows = u64::try_from(group.num_rows()).unwrap_or(0);
            let column = |&leaf: &usize| {
                let chunk = group.column(leaf);
                Column::open(&self.file, chunk, schema.column(leaf), rows as usize)
                    .map_err(Stop::File)
            };
            let places: Vec<usize> = match &self.geometry {
                None => Vec::new(),
                Some(Form::Wkb(leaf)) => vec![*leaf],
                Some(Form::Native(nested)) => nested.leaves.clone(),
            };
            let mut places = places.iter().map(column).collect::<Result<Vec<_>, _>>()?;
            let leaves = wanted.iter().map(|&of| self.leaves[of]);
            let leaves: Vec<usize> = leaves.collect();
            let mut fields = leaves.iter().map(column).collect::<Result<Vec<_>, _>>()?;
            let mut first = 0;
            while first < rows {
                let most = AT_ONCE.min((rows - first) as usize);
                let wrong = |reason: String| Stop::Row(before + first, reason);
                let geometries = self.geometries(&mut places, most).map_err(wrong)?;
                let read = |column: &mut Column| Ok(column.read(most)?.into_fields(column.of()));
                let mut columns = fields
                    .iter_mut()
                    .map(read)
                    .collect::<Result<Vec<std::vec::IntoIter<Field>>, String>>()
                    .map_err(wrong)?;
                for (i, geometry) in geometries.into_iter().enumerate() {
                    let row = before + first + i as u64;
                    let geometry = geometry.map_err(|reason| Stop::Row(row, reason))?;
                    let values =
                        columns.iter_mut().map(|column| column.next().unwrap_or(Field::Null));
                    take(row, geometry, values.collect())?;
                }
                first += most as u64;
            }
            before += rows;
        }
        Ok(())
    }
}

type Geometries = Vec<Result<Option<Geometry>, String>>;

impl Parquet {
    /// The geometries of this many rows.
    fn geometries(&self, columns: &mut [Column], most: usize) -> Result<Geometries, String> {
        let found: Geometries = match &self.geometry {
            None => (0..most).map(|_| Ok(None)).collect(),
            Some(Form::Native(nested)) => {
                let parts = columns.iter_mut().map(|column| column.read(most));
                nested.geometries(parts.collect::<Result<Vec<_>, _>>()?)?
            }
            Some(Form::Wkb(_)) => {
                let batch = columns[0].read(most)?;
                let Values::Bytes(values) = &batch.values else {
                    return Err("its column of geometry does not hold bytes".to_owned());
                };
                let mut values = values.iter();
                let one = |is_there: bool| {
                    let bytes = if is_there { values.next() } else { None };
                    bytes.map(|bytes| wkb::read(bytes.data())).transpose()
                };
                batch.there(columns[0].of()).map(one).collect()
            }
        };
        match found.len() {
            count if count == most => Ok(found),
            count => Err(format!("its geometry has {count} rows where there should be {most}")),
        }
    }
}
