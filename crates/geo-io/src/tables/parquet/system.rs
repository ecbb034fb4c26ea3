//! A file's metadata of its geometries, with the coordinate system.

use ::parquet::file::metadata::KeyValue;
use serde_json::Value;

use crate::Crs;

/// The member "geo" of a GeoParquet file's metadata, of the column that counts.
pub(super) struct Meta {
    pub column: String,
    pub encoding: String,
    pub crs: Option<Crs>,
    pub notes: Vec<String>,
}

/// GeoParquet's system without a statement: longitudes and latitudes on WGS 84.
fn crs84() -> Option<Crs> {
    Crs::parse("EPSG:4326").ok()
}

impl Meta {
    pub fn read(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| format!("its metadata of GeoParquet {what}");
        let meta: Value =
            serde_json::from_str(text).map_err(|error| wrong(&format!("is not JSON: {error}")))?;
        let column = meta.get("primary_column").and_then(Value::as_str);
        let column = column.ok_or_else(|| wrong("names no primary column"))?;
        let about = meta.get("columns").and_then(|all| all.get(column));
        let about =
            about.ok_or_else(|| wrong(&format!("does not describe its column \"{column}\"")))?;
        let encoding = about.get("encoding").and_then(Value::as_str);
        let encoding = encoding.ok_or_else(|| wrong("states no encoding"))?;
        let crs = match about.get("crs") {
            None => crs84(),
            Some(Value::Null) => None,
            Some(stated) => Some(of_value(stated)?),
        };
        let mut notes = Vec::new();
        let others = meta.get("columns").and_then(Value::as_object).map_or(0, |all| all.len() - 1);
        if others > 0 {
            notes.push(format!(
                "it has {others} more columns of geometries than \"{column}\", which are not read"
            ));
        }
        let (column, encoding) = (column.to_owned(), encoding.to_owned());
        Ok(Self { column, encoding, crs, notes })
    }
}

/// A system as PROJJSON, or as text, which older writers have.
fn of_value(stated: &Value) -> Result<Crs, String> {
    let found = match stated {
        Value::Object(_) => Crs::from_projjson(stated),
        Value::String(text) if text.contains("CRS84") && !text.contains('[') => crs84(),
        Value::String(text) => Crs::parse(text).ok().or_else(|| Crs::from_wkt(text)),
        _ => None,
    };
    found.ok_or_else(|| {
        let name = stated.get("name").or(Some(stated)).map(Value::to_string).unwrap_or_default();
        let name: String = name.chars().take(80).collect();
        format!("it states the unknown coordinate system {name}: reproject it to a system of the EPSG list")
    })
}

/// The system of Parquet's own type for geometries: a code, or the name of an entry with PROJJSON.
pub(super) fn of_logical_type(
    stated: Option<&str>,
    entries: Option<&Vec<KeyValue>>,
) -> Result<Option<Crs>, String> {
    let Some(stated) = stated.filter(|stated| !stated.is_empty()) else { return Ok(crs84()) };
    if let Some(key) = stated.strip_prefix("projjson:") {
        let text = entries.into_iter().flatten().find(|entry| entry.key == key);
        let text = text.and_then(|entry| entry.value.as_deref());
        let value = text.and_then(|text| serde_json::from_str(text).ok());
        return of_value(&value.ok_or(format!(
            "it refers to \"{key}\" for its coordinate system, but has no such entry"
        ))?)
        .map(Some);
    }
    match stated.strip_prefix("srid:") {
        Some("0") => Ok(None),
        Some(code) => of_value(&format!("EPSG:{code}").into()).map(Some),
        None => match serde_json::from_str::<Value>(stated) {
            Ok(value @ Value::Object(_)) => of_value(&value).map(Some),
            _ => of_value(&stated.into()).map(Some),
        },
    }
}

/// A system as GeoParquet has it: null where there is none.
pub(super) fn json_of(crs: Option<&Crs>) -> Result<Value, String> {
    crs.map_or(Ok(Value::Null), |crs| {
        crs.projjson().ok_or_else(|| {
            format!("GeoParquet states systems as PROJJSON, and {crs} has no such form: give --crs with a code, or write another format")
        })
    })
}
