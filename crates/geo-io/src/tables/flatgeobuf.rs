//! FlatGeobuf in.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flatgeobuf::geozero::{self, ColumnValue, FeatureProperties, PropertyProcessor};
use flatgeobuf::{FallibleStreamingIterator, FgbReader, GeometryType, Header};

use super::{About, Field, Geometry, Stop, Table, Take, Vertex};
use crate::input::open;
use crate::{Crs, Error, Result};

/// A file that is open.
pub(super) struct File {
    reader: FgbReader<Bounded>,
    about: About,
    /// The type of all geometries, or unknown.
    kind: GeometryType,
}

impl File {
    pub fn open(path: &Path) -> Result<Self> {
        let (file, length) = open(path)?;
        let file = Bounded { file: BufReader::new(file), at: 0, length };
        let reader = FgbReader::open(file).map_err(|error| match error {
            flatgeobuf::Error::IO(reason) if reason.kind() != io::ErrorKind::UnexpectedEof => {
                Error::read(path, reason)
            }
            flatgeobuf::Error::InvalidFlatbuffer(_) => Error::malformed(path, error),
            _ => Error::NotA { path: path.to_owned(), format: "FlatGeobuf" },
        })?;
        let header = reader.header();
        let names = header.columns().into_iter().flatten().map(|column| column.name().to_owned());
        let about = About {
            columns: names.collect(),
            has_geometry: true,
            crs: system_of(&header).map_err(|reason| Error::malformed(path, reason))?,
            rows: Some(header.features_count()).filter(|&count| count > 0),
            ..About::default()
        };
        let kind = header.geometry_type();
        Ok(Self { reader, about, kind })
    }
}

impl Table for File {
    fn about(&self) -> &About {
        &self.about
    }

    fn each(self: Box<Self>, wanted: &[usize], take: &mut Take<'_>) -> Result<(), Stop> {
        let Self { reader, about, kind } = *self;
        let count = about.rows.unwrap_or(0);
        let mut features = reader.select_all().map_err(|e| Stop::File(e.to_string()))?;
        let mut row = 0;
        loop {
            let wrong = |reason: &dyn ToString| Stop::Row(row, reason.to_string());
            let Some(feature) = features.next().map_err(|e| wrong(&e))? else { break };
            let geometry = feature.geometry().map(|g| geometry(&g, kind, DEEPEST));
            let geometry = geometry.transpose().map_err(|reason| wrong(&reason))?;
            let mut fields = Fields { wanted, values: vec![Field::Null; wanted.len()] };
            if !wanted.is_empty() {
                feature.process_properties(&mut fields).map_err(|e| wrong(&e))?;
            }
            take(row, geometry, fields.values)?;
            row += 1;
        }
        if row < count {
            return Err(Stop::File(format!("it promises {count} features and holds {row}")));
        }
        Ok(())
    }
}

/// A file that refuses a part longer than the rest of the file. The reader allocates memory for a part as soon as it
/// has read the part's size, in 4 bytes.
struct Bounded {
    file: BufReader<std::fs::File>,
    at: u64,
    length: u64,
}

impl Read for Bounded {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(bytes)?;
        self.at += count as u64;
        Ok(count)
    }

    /// The reader asks for 4 bytes as a whole if they are a size. What [`read`](Self::read) gives may be 4 bytes of
    /// anything.
    fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_exact(bytes)?;
        self.at += bytes.len() as u64;
        if let &mut [a, b, c, d] = bytes {
            let size = u64::from(u32::from_le_bytes([a, b, c, d]));
            if size > self.length.saturating_sub(self.at) {
                return Err(io::Error::other("it ends too early, or is damaged"));
            }
        }
        Ok(())
    }
}

impl Seek for Bounded {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = self.file.seek(to)?;
        Ok(self.at)
    }
}

/// Collections within collections that are read.
const DEEPEST: u32 = 16;

/// The values of the wanted columns of a row.
struct Fields<'a> {
    wanted: &'a [usize],
    values: Vec<Field>,
}

impl PropertyProcessor for Fields<'_> {
    fn property(
        &mut self,
        column: usize,
        _: &str,
        value: &ColumnValue<'_>,
    ) -> geozero::error::Result<bool> {
        for (of, field) in self.wanted.iter().zip(&mut self.values) {
            if *of == column {
                *field = match *value {
                    ColumnValue::Byte(value) => Field::Number(value.into()),
                    ColumnValue::UByte(value) => Field::Number(value.into()),
                    ColumnValue::Bool(value) => Field::Bool(value),
                    ColumnValue::Short(value) => Field::Number(value.into()),
                    ColumnValue::UShort(value) => Field::Number(value.into()),
                    ColumnValue::Int(value) => Field::Number(value.into()),
                    ColumnValue::UInt(value) => Field::Number(value.into()),
                    ColumnValue::Long(value) => Field::Number(value.into()),
                    ColumnValue::ULong(value) => Field::Number(value.into()),
                    ColumnValue::Float(value) => Field::single(value),
                    ColumnValue::Double(value) => Field::double(value),
                    ColumnValue::String(text)
                    | ColumnValue::Json(text)
                    | ColumnValue::DateTime(text) => Field::Text(text.to_owned()),
                    ColumnValue::Binary(_) => Field::Other("bytes"),
                };
            }
        }
        Ok(false)
    }
}

/// A geometry; of a part of a collection the type is its own.
fn geometry(
    of: &flatgeobuf::Geometry<'_>,
    kind: GeometryType,
    depth: u32,
) -> Result<Geometry, String> {
    let kind = if kind == GeometryType::Unknown { of.type_() } else { kind };
    let places: Vec<f64> = of.xy().map(|xy| xy.iter().collect()).unwrap_or_default();
    let heights: Vec<f64> = of.z().map(|z| z.iter().collect()).unwrap_or_default();
    let height = |i: usize| heights.get(i).copied().unwrap_or(f64::NAN);
    let vertices: Vec<Vertex> =
        places.chunks_exact(2).enumerate().map(|(i, p)| [p[0], p[1], height(i)]).collect();
    let lists = || -> Result<Vec<Vec<Vertex>>, String> {
        let Some(ends) = of.ends().filter(|ends| !ends.is_empty()) else {
            return Ok(vec![vertices.clone()]);
        };
        let mut start = 0;
        let list = |end: u32| {
            let part = vertices.get(start..end as usize);
            start = end as usize;
            part.map(<[_]>::to_vec)
                .ok_or("its parts do not end where its list of ends says".to_owned())
        };
        ends.iter().map(list).collect()
    };
    let parts = |kind| -> Result<Vec<Geometry>, String> {
        if depth == 0 {
            return Err(format!("its collections lie more than {DEEPEST} deep within each other"));
        }
        let parts = of.parts().into_iter().flatten();
        parts.map(|part| geometry(&part, kind, depth - 1)).collect()
    };
    Ok(match kind {
        GeometryType::Point | GeometryType::MultiPoint => Geometry::Points(vertices),
        GeometryType::LineString => Geometry::Lines(vec![vertices]),
        GeometryType::MultiLineString => Geometry::Lines(lists()?),
        GeometryType::Polygon => Geometry::Polygons(vec![lists()?]),
        GeometryType::MultiPolygon => {
            let polygons = parts(GeometryType::Polygon)?.into_iter().flat_map(|part| match part {
                Geometry::Polygons(polygons) => polygons,
                _ => Vec::new(),
            });
            Geometry::Polygons(polygons.collect())
        }
        GeometryType::GeometryCollection => Geometry::Several(parts(GeometryType::Unknown)?),
        other => {
            let name = other.variant_name().unwrap_or("shape of an unknown type");
            return Err(format!("a {name} is not a point, line or polygon"));
        }
    })
}

/// The system that a file states: by its EPSG code, or as WKT.
fn system_of(header: &Header<'_>) -> Result<Option<Crs>, String> {
    let Some(stated) = header.crs() else { return Ok(None) };
    let is_epsg = stated.org().is_none_or(|org| org.eq_ignore_ascii_case("EPSG"));
    let of_code =
        (is_epsg && stated.code() > 0).then(|| Crs::parse(&format!("EPSG:{}", stated.code())).ok());
    let found = of_code.flatten().or_else(|| stated.wkt().and_then(Crs::from_wkt));
    match found {
        None if stated.code() > 0 || stated.wkt().is_some() => {
            Err("it states an unknown coordinate system: reproject the file to a system of the EPSG list"
                .to_owned())
        }
        found => Ok(found),
    }
}
