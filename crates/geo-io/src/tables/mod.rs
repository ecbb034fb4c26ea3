//! Tables of features: rows of a geometry and named columns, from FlatGeobuf, Shapefile, GeoParquet and GeoPackage.
//!
//! Each format is a [`Table`]. [`open`] chooses the format by the file's ending. Points (`points::features`) and shapes
//! (`vectors::shapes`) come from these rows, for every format.

pub(crate) mod column;
mod flatgeobuf;
pub(crate) mod geometry;
#[cfg(feature = "geopackage")]
mod geopackage;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
mod shapefile;
#[cfg(any(feature = "geopackage", feature = "parquet"))]
pub(crate) mod wkb;

use std::path::Path;

use serde_json::Value;

use crate::error::unwinding;
use crate::points::ending;
use crate::{Crs, Error, Number, Result};

pub(crate) use geometry::{Geometry, Vertex};

/// A field of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Field {
    Null,
    Bool(bool),
    Number(Number),
    /// A whole number that is stored as a float and may have been another one: floats of its size do not hold every
    /// whole number there.
    Rounded(Number),
    Text(String),
    /// A value that no program here can use, in words: "a list".
    Other(&'static str),
}

/// From here on floats of 16, 32 and 64 bits do not hold every whole number.
pub(crate) const EXACT: [f64; 3] = [2048.0, 16_777_216.0, 9_007_199_254_740_992.0];

impl Field {
    /// A number from a float of 64 bits.
    pub fn double(value: f64) -> Self {
        Self::float(value, EXACT[2])
    }

    /// A number from a float of 32 bits.
    pub fn single(value: f32) -> Self {
        Self::float(value.into(), EXACT[1])
    }

    /// A number from floats that hold every whole number below `exact`.
    pub fn float(value: f64, exact: f64) -> Self {
        let is_rounded = value.fract() == 0.0 && value.abs() >= exact;
        if is_rounded { Self::Rounded(value.into()) } else { Self::Number(value.into()) }
    }

    /// The field as a property of a feature. NaN and infinities become text, since GeoJSON has no numbers for them.
    pub fn into_json(self) -> Value {
        match self {
            Self::Null | Self::Other(_) => Value::Null,
            Self::Bool(value) => value.into(),
            Self::Number(number) | Self::Rounded(number) => number.to_json(),
            Self::Text(text) => text.into(),
        }
    }

    /// The field as an error shows it; a null is empty, as in a table of text.
    pub fn shown(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Bool(value) => value.to_string(),
            Self::Number(number) | Self::Rounded(number) => number.to_string(),
            Self::Text(text) => text.clone(),
            Self::Other(what) => (*what).to_owned(),
        }
    }
}

/// The facts about a table before its rows are read.
#[derive(Clone, Debug, Default)]
pub(crate) struct About {
    /// The names of its columns, except the geometry's.
    pub columns: Vec<String>,
    /// How many of these columns, at the end, are parts of other columns.
    pub parts: usize,
    /// Whether rows have geometries.
    pub has_geometry: bool,
    /// The coordinate system that the file states.
    pub crs: Option<Crs>,
    /// Rows, where the file says.
    pub rows: Option<u64>,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Why the reading of rows ended before the last.
pub(crate) enum Stop {
    /// A row is wrong: its number from 0, and why.
    Row(u64, String),
    /// The file is.
    File(String),
    /// Whoever took the rows wanted no more.
    Taker(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Taker(error)
    }
}

/// Takes a row: its number from 0, its geometry if it has one that is not empty, and the wanted fields.
pub(crate) type Take<'a> = dyn FnMut(u64, Option<Geometry>, Vec<Field>) -> Result<(), Stop> + 'a;

/// A file of features that is open.
pub(crate) trait Table {
    fn about(&self) -> &About;

    /// Gives each row, with the fields of these columns.
    fn each(self: Box<Self>, wanted: &[usize], take: &mut Take<'_>) -> Result<(), Stop>;
}

/// The formats, by the endings of their files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    FlatGeobuf,
    Shapefile,
    Parquet,
    GeoPackage,
}

impl Kind {
    /// The format that a file's ending means, if it is a format of features.
    pub fn of(path: &Path) -> Option<Self> {
        match ending(path).as_str() {
            "fgb" => Some(Self::FlatGeobuf),
            "shp" => Some(Self::Shapefile),
            "parquet" | "geoparquet" | "pq" => Some(Self::Parquet),
            "gpkg" => Some(Self::GeoPackage),
            _ => None,
        }
    }
}

/// Opens a table.
///
/// # Errors
/// [`Error::Read`], [`Error::Empty`], [`Error::NotA`], [`Error::Malformed`], and [`Error::NotBuilt`] for a format whose
/// feature is off.
pub(crate) fn open(path: &Path, kind: Kind) -> Result<Box<dyn Table>> {
    let open = || -> Result<Box<dyn Table>> {
        match kind {
            Kind::FlatGeobuf => Ok(Box::new(flatgeobuf::File::open(path)?)),
            Kind::Shapefile => Ok(Box::new(shapefile::Shapefile::open(path)?)),
            #[cfg(feature = "parquet")]
            Kind::Parquet => Ok(Box::new(parquet::Parquet::open(path)?)),
            #[cfg(feature = "geopackage")]
            Kind::GeoPackage => Ok(Box::new(geopackage::Layer::open(path)?)),
            #[cfg(not(feature = "parquet"))]
            Kind::Parquet => Err(Error::NotBuilt { path: path.to_owned(), feature: "parquet" }),
            #[cfg(not(feature = "geopackage"))]
            Kind::GeoPackage => {
                Err(Error::NotBuilt { path: path.to_owned(), feature: "geopackage" })
            }
        }
    };
    unwinding(open).map_err(|reason| Error::malformed(path, reason))?
}

/// Gives each row of a table, with the fields of some columns. `name` says what a row is called: a row from 1, or a feature from 0.
///
/// # Errors
/// An error that says what is wrong with the file, with the row, and the errors of `take`.
pub(crate) fn each(
    path: &Path,
    table: Box<dyn Table>,
    wanted: &[usize],
    name: impl Fn(u64) -> String,
    take: &mut Take<'_>,
) -> Result<()> {
    let mut last = 0;
    let mut counted = |row, geometry: Option<Geometry>, fields| {
        last = row + 1;
        let geometry = geometry.and_then(Geometry::some);
        if let Some(geometry) = &geometry {
            geometry.check().map_err(|reason| Stop::Row(row, reason))?;
        }
        take(row, geometry, fields)
    };
    match unwinding(|| table.each(wanted, &mut counted)) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(Stop::Taker(error))) => Err(error),
        Ok(Err(Stop::File(reason))) => Err(Error::malformed(path, reason)),
        Ok(Err(Stop::Row(row, reason))) => {
            Err(Error::malformed(path, format!("{}: {reason}", name(row))))
        }
        Err(reason) => Err(Error::malformed(path, format!("{}: {reason}", name(last)))),
    }
}

/// How rows are counted where they are points.
pub(crate) fn row_name(row: u64) -> String {
    format!("row {}", row + 1)
}

/// How rows are counted where they are shapes, as in GeoJSON.
pub(crate) fn feature_name(row: u64) -> String {
    format!("feature {row}")
}
