//! Reads GeoPackages with a single layer.

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use super::{About, Field, Geometry, Stop, Table, Take, wkb};
use crate::input::open;
use crate::{Crs, Error, Result};

/// A layer of a file that is open.
pub(super) struct Layer {
    file: Connection,
    name: String,
    /// The column of the geometries.
    geometry: Option<String>,
    about: About,
}

impl Layer {
    pub fn open(path: &Path) -> Result<Self> {
        use std::io::Read;
        let (mut start, mut mark) = (open(path)?.0, [0; 16]);
        let is_one = start.read_exact(&mut mark).is_ok() && &mark == b"SQLite format 3\0";
        if !is_one {
            return Err(Error::NotA { path: path.to_owned(), format: "GeoPackage" });
        }
        Self::read(path).map_err(|reason| Error::malformed(path, reason))
    }

    fn read(path: &Path) -> Result<Self, String> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let file = Connection::open_with_flags(path, flags).map_err(words)?;
        // What a file from elsewhere defines may call no functions, and damaged pages are found.
        file.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")
            .map_err(words)?;
        let name = layer_of(&file)?;
        let of_geometry = "SELECT column_name, srs_id FROM gpkg_geometry_columns WHERE lower(table_name) = lower(?1)";
        let stated = match has_table(&file, "gpkg_geometry_columns")? {
            true => optional(file.query_row(of_geometry, [&name], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
            }))?,
            false => None,
        };
        let crs = match &stated {
            Some((_, id)) => system_of(&file, *id)?,
            None => None,
        };
        let geometry = stated.map(|(column, _)| column);
        let columns: Vec<String> = file
            .prepare(&format!("SELECT * FROM {} LIMIT 0", quoted(&name)))
            .map_err(words)?
            .column_names()
            .filter(|column| geometry.as_ref().is_none_or(|of| !of.eq_ignore_ascii_case(column)))
            .map(str::to_owned)
            .collect();
        let count = format!("SELECT count(*) FROM {}", quoted(&name));
        let rows: i64 = file.query_row(&count, [], |row| row.get(0)).map_err(words)?;
        let has_geometry = geometry.is_some();
        let rows = u64::try_from(rows).ok();
        let about = About { columns, has_geometry, crs, rows, ..About::default() };
        Ok(Self { file, name, geometry, about })
    }
}

impl Table for Layer {
    fn about(&self) -> &About {
        &self.about
    }

    fn each(self: Box<Self>, wanted: &[usize], take: &mut Take<'_>) -> Result<(), Stop> {
        let wanted_names = wanted.iter().map(|&column| quoted(&self.about.columns[column]));
        let names: Vec<String> =
            self.geometry.iter().map(|name| quoted(name)).chain(wanted_names).collect();
        let names = if names.is_empty() { "1".to_owned() } else { names.join(", ") };
        let select = format!("SELECT {names} FROM {}", quoted(&self.name));
        let failed = |error| Stop::File(words(error));
        let mut statement = self.file.prepare(&select).map_err(failed)?;
        let mut rows = statement.query([]).map_err(failed)?;
        let mut number = 0;
        let first = usize::from(self.geometry.is_some());
        loop {
            let wrong = |reason| Stop::Row(number, reason);
            let Some(row) = rows.next().map_err(|error| wrong(words(error)))? else {
                return Ok(());
            };
            let value = |at| row.get_ref(at).map_err(|error| wrong(words(error)));
            let geometry = match self.geometry {
                Some(_) => geometry(value(0)?).map_err(wrong)?,
                None => None,
            };
            let fields = (0..wanted.len()).map(|i| Ok(field(value(first + i)?)));
            let fields = fields.collect::<Result<Vec<Field>, Stop>>()?;
            take(number, geometry, fields)?;
            number += 1;
        }
    }
}

/// The only layer of features, or without any the only table of attributes.
fn layer_of(file: &Connection) -> Result<String, String> {
    if !has_table(file, "gpkg_contents")? {
        return Err("it is an SQLite file without gpkg_contents, so no GeoPackage".to_owned());
    }
    let layers = |kind: &str| -> Result<Vec<String>, String> {
        let of = "SELECT table_name FROM gpkg_contents WHERE data_type = ?1 ORDER BY table_name";
        let mut statement = file.prepare(of).map_err(words)?;
        let names = statement.query_map([kind], |row| row.get(0)).map_err(words)?;
        names.collect::<Result<_, _>>().map_err(words)
    };
    for kind in ["features", "attributes"] {
        match &layers(kind)?[..] {
            [] => {}
            [one] => return Ok(one.clone()),
            several => {
                let (count, names) = (several.len(), several.join(", "));
                return Err(format!(
                    "it has {count} layers ({names}): write one of them to a file of its own, as by ogr2ogr one.gpkg \
                     all.gpkg {}",
                    several[0]
                ));
            }
        }
    }
    Err("it has no layer of features or attributes".to_owned())
}

fn has_table(file: &Connection, name: &str) -> Result<bool, String> {
    let of = "SELECT 1 FROM sqlite_master WHERE type IN ('table', 'view') AND lower(name) = ?1";
    Ok(optional(file.query_row(of, [name], |_| Ok(())))?.is_some())
}

/// The system of an entry of gpkg_spatial_ref_sys; `None` for those that stand for none.
fn system_of(file: &Connection, id: i64) -> Result<Option<Crs>, String> {
    if matches!(id, 0 | -1) {
        return Ok(None);
    }
    let of = "SELECT organization, organization_coordsys_id, definition FROM gpkg_spatial_ref_sys WHERE srs_id = ?1";
    let entry = optional(file.query_row(of, [id], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, Option<String>>(2)?))
    }))?;
    let (organization, code, text) =
        entry.ok_or(format!("its coordinate system {id} is not in gpkg_spatial_ref_sys"))?;
    // What GDAL writes from 3.9 on if the data have no system, beside -1 and 0 of the standard.
    if text.as_ref().is_some_and(|text| text.contains("[\"Undefined SRS\"")) {
        return Ok(None);
    }
    let of_code = (organization.eq_ignore_ascii_case("EPSG"))
        .then(|| Crs::parse(&format!("EPSG:{code}")).ok())
        .flatten();
    let found = of_code.or_else(|| Crs::from_wkt(&text.unwrap_or_default()));
    found.map(Some).ok_or_else(|| {
        format!("it states the unknown coordinate system {organization}:{code}: reproject it to a system of the EPSG list, as by ogr2ogr -t_srs")
    })
}

/// A geometry behind a GeoPackage's header.
fn geometry(value: ValueRef<'_>) -> Result<Option<Geometry>, String> {
    let bytes = match value {
        ValueRef::Null => return Ok(None),
        ValueRef::Blob(bytes) => bytes,
        _ => return Err("its geometry is not a blob".to_owned()),
    };
    let [b'G', b'P', _, flags, rest @ ..] = bytes else {
        return Err("its geometry does not begin with the GeoPackage signature".to_owned());
    };
    if flags & 0x20 != 0 {
        return Err("its geometry is of an extended type".to_owned());
    }
    let envelope = match flags >> 1 & 7 {
        0 => 0,
        1 => 32,
        2 | 3 => 48,
        4 => 64,
        other => return Err(format!("its geometry has the unknown envelope {other}")),
    };
    // Behind the number of the system.
    let body = rest.get(4 + envelope..).ok_or("its geometry ends too early".to_owned())?;
    wkb::read(body).map(Some)
}

fn field(value: ValueRef<'_>) -> Field {
    match value {
        ValueRef::Null => Field::Null,
        ValueRef::Integer(number) => Field::Number(number.into()),
        ValueRef::Real(number) => Field::double(number),
        ValueRef::Text(text) => Field::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(_) => Field::Other("bytes"),
    }
}

/// A name in SQL.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn optional<T>(result: rusqlite::Result<T>) -> Result<Option<T>, String> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
        Err(error) => Err(words(error)),
    }
}

fn words(error: rusqlite::Error) -> String {
    use rusqlite::ErrorCode::{CannotOpen, DatabaseBusy, DatabaseLocked, ReadOnly};
    match error {
        rusqlite::Error::SqliteFailure(code, _)
            if matches!(code.code, CannotOpen | DatabaseBusy | DatabaseLocked | ReadOnly) =>
        {
            "another program writes to it, or ended before it had written all: wait for that program, or open the file by \
             ogrinfo, which takes back what was not finished"
                .to_owned()
        }
        rusqlite::Error::SqliteFailure(code, None) => code.to_string(),
        other => other.to_string(),
    }
}
