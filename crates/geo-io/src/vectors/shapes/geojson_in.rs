//! GeoJSON in.

use std::path::Path;

use geojson::JsonObject;
use serde_json::Value;

use super::{Properties, Take, malformed};
use crate::tables::{Geometry, Vertex, feature_name};
use crate::vectors::json_text::{Documents, documents};
use crate::{Crs, Result};

/// Gives each feature of a file. Returns the system that its member `crs` states, and a note on properties.
pub(super) fn rows(path: &Path, take: &mut Take<'_>) -> Result<(Option<Crs>, Option<String>)> {
    let mut found = Rows { crs: None, number: 0, take };
    let Documents { values, texts } = documents(path)?;
    for document in values {
        found.add(document).map_err(|reason| malformed(path, reason))?;
    }
    let note = texts.map(|(count, first)| {
        format!("whole numbers beyond 64 bits become text: {count}, the first {first}")
    });
    Ok((found.crs, note))
}

struct Rows<'a, 'b> {
    crs: Option<Crs>,
    /// The next feature's.
    number: u64,
    take: &'a mut Take<'b>,
}

impl Rows<'_, '_> {
    /// Adds the features of a document.
    fn add(&mut self, document: Value) -> Result<(), String> {
        let Value::Object(mut object) = document else {
            return Err(format!("{} is not a GeoJSON object", shown(&document)));
        };
        if let Some(member) = object.get("crs") {
            self.crs = system(member)?;
        }
        match kind(&object)? {
            "FeatureCollection" => {
                let Some(Value::Array(features)) = object.remove("features") else {
                    return Err("its FeatureCollection has no list \"features\"".to_owned());
                };
                features.into_iter().try_for_each(|feature| self.push(feature))
            }
            _ => self.push(Value::Object(object)),
        }
    }

    /// Adds a feature, or a geometry by itself.
    fn push(&mut self, feature: Value) -> Result<(), String> {
        let named = |reason| format!("{}: {reason}", feature_name(self.number));
        let (geometry, properties) = read(feature).map_err(named)?;
        (self.take)(geometry, properties).map_err(named)?;
        self.number += 1;
        Ok(())
    }
}

/// A feature, or a geometry by itself.
fn read(value: Value) -> Result<(Option<Geometry>, Properties), String> {
    let Value::Object(mut object) = value else {
        return Err(format!("{} is not a feature", shown(&value)));
    };
    if kind(&object)? != "Feature" {
        return Ok((geometry(&object)?, Properties::default()));
    }
    let geometry = match object.get("geometry") {
        None | Some(Value::Null) => None,
        Some(Value::Object(object)) => geometry(object)?,
        Some(other) => return Err(format!("its geometry is {}", shown(other))),
    };
    let named = match object.remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => JsonObject::new(),
    };
    let id = object.remove("id").filter(|id| id.is_string() || id.is_number());
    Ok((geometry, Properties { id, named }))
}

/// The type of an object.
fn kind(object: &JsonObject) -> Result<&str, String> {
    match object.get("type") {
        Some(Value::String(kind)) if kind == "Topology" => {
            Err("it is TopoJSON: convert it first, as by ogr2ogr out.geojson in.json".to_owned())
        }
        Some(Value::String(kind)) => Ok(kind),
        Some(other) => Err(format!("its \"type\" is {}, not a word", shown(other))),
        None if object.contains_key("geometryType") || object.contains_key("rings") => {
            Err("it is Esri's JSON: convert it first, as by ogr2ogr out.geojson in.json".to_owned())
        }
        None => Err("it has no \"type\", as all GeoJSON objects have".to_owned()),
    }
}

/// A geometry; `None` for one without places, which RFC 7946 lets stand for none.
fn geometry(object: &JsonObject) -> Result<Option<Geometry>, String> {
    let kind = kind(object)?;
    if kind == "GeometryCollection" {
        let Some(Value::Array(parts)) = object.get("geometries") else {
            return Err("its GeometryCollection has no list \"geometries\"".to_owned());
        };
        let of = |part: &Value| match part {
            Value::Object(object) => geometry(object),
            other => Err(format!("{} is not a geometry", shown(other))),
        };
        let parts = parts.iter().filter_map(|part| of(part).transpose());
        return Ok(Geometry::Several(parts.collect::<Result<Vec<_>, _>>()?).some());
    }
    let at = object.get("coordinates").unwrap_or(&Value::Null);
    let found = match kind {
        "Point" if at.as_array().is_some_and(Vec::is_empty) => Geometry::Points(vec![]),
        "Point" => Geometry::Points(vec![place(at)?]),
        "MultiPoint" => Geometry::Points(places(at)?),
        "LineString" => Geometry::Lines(vec![places(at)?]),
        "MultiLineString" => Geometry::Lines(all("line", at, places)?),
        "Polygon" => Geometry::Polygons(vec![rings(at)?]),
        "MultiPolygon" => Geometry::Polygons(all("part", at, rings)?),
        "FeatureCollection" | "Feature" => return Err(format!("a feature contains a {kind}")),
        _ => return Err(format!("\"{kind}\" is not a type of GeoJSON")),
    };
    Ok(found.some())
}

/// Each element of a list.
fn all<T>(
    what: &str,
    value: &Value,
    each: impl Fn(&Value) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let Value::Array(items) = value else {
        return Err(format!("{} is not a list of {what}s", shown(value)));
    };
    let of = |(i, item)| each(item).map_err(|reason| format!("{what} {i}: {reason}"));
    items.iter().enumerate().map(of).collect()
}

fn rings(value: &Value) -> Result<Vec<Vec<Vertex>>, String> {
    all("ring", value, places)
}

fn places(value: &Value) -> Result<Vec<Vertex>, String> {
    all("position", value, place)
}

/// Two numbers, or three with a height; JSON has none that is not finite.
fn place(value: &Value) -> Result<Vertex, String> {
    let number = |i: usize| value.get(i).and_then(Value::as_f64);
    match (number(0), number(1), value.get(2)) {
        (Some(x), Some(y), None | Some(Value::Null)) => Ok([x, y, f64::NAN]),
        (Some(x), Some(y), Some(Value::Number(z))) => Ok([x, y, z.as_f64().unwrap_or(f64::NAN)]),
        _ => {
            let shown = shown(value);
            Err(format!(
                "{shown} is not a position: expected [x, y] or [x, y, height], such as [8.5, 47.4]"
            ))
        }
    }
}

/// The beginning of a value's text.
fn shown(value: &Value) -> String {
    const MOST: usize = 40;
    let text = match value {
        Value::Array(items) if items.len() > 3 => format!("a list of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
        other => other.to_string(),
    };
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// The system that a member `crs` names (GeoJSON of 2008, section 3); `None` where it is null.
fn system(member: &Value) -> Result<Option<Crs>, String> {
    if member.is_null() {
        return Ok(None);
    }
    let name = member.pointer("/properties/name").and_then(Value::as_str);
    let code = member.pointer("/properties/code").and_then(Value::as_u64);
    let of_name = |name: &str| match name.contains('[') {
        true => Crs::from_wkt(name),
        false => Crs::parse(name).ok(),
    };
    let found = match (name, code) {
        (Some(name), _) => of_name(name),
        (None, Some(code)) => Crs::parse(&format!("EPSG:{code}")).ok(),
        (None, None) => None,
    };
    let words = || {
        let stated = name.map_or_else(|| member.to_string(), |name| format!("{name:?}"));
        format!(
            "its member \"crs\" states {stated}, an unknown system: write the file in a system of the EPSG list, as by \
             ogr2ogr -t_srs EPSG:4326"
        )
    };
    found.map(Some).ok_or_else(words)
}
