//! Where an array lies, by the conventions of CF, GDAL and GeoZarr.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::metadata::{Metadata, json_of};
use super::read::distinct_values_of;
use crate::{Crs, Georeference, Result};

/// Coordinates that are read: a raster has no more columns or rows.
const MOST: u64 = 1 << 26;

/// How far coordinates may lie from where even steps lead, in steps.
const EVEN: f64 = 1e-3;

/// The place of an array in a folder, and what is to be said of it.
pub(crate) fn place_of(
    folder: &Path,
    array: &Metadata,
) -> Result<(Option<Georeference>, Vec<String>)> {
    let beside = |name: &str| {
        let path = folder.parent()?.join(name);
        Metadata::of(&json_of(&path).ok()?).ok().map(|about| (path, about))
    };
    let own = &array.attributes;
    let mapping = own.get("grid_mapping").and_then(Value::as_str).and_then(&beside);
    let mapping = mapping.map(|(_, about)| about.attributes).unwrap_or_default();
    let (stated, crs) = system(&mapping, own);
    let mut notes = Vec::new();
    if stated && crs.is_none() {
        notes.push(format!(
            "{}: its reference system is not understood, so none is kept",
            folder.display()
        ));
    }
    if let Some(transform) = transform(&mapping, own) {
        return Ok((Some(Georeference { transform, crs }), notes));
    }
    let sides = array.shape.len();
    let mut axes = Vec::new();
    for i in [sides - 1, sides - 2] {
        let Some((path, about)) = array.dimensions[i].as_deref().and_then(&beside) else { break };
        if about.shape != [array.shape[i]] || about.shape[0] < 2 || about.shape[0] > MOST {
            break;
        }
        let values = distinct_values_of(&path, &about)?;
        let Some((start, step)) = values.as_deref().and_then(even_steps) else {
            notes.push(format!(
                "{}: its coordinates are not evenly spaced, so it has no place",
                path.display()
            ));
            break;
        };
        axes.push((start, step));
    }
    let place = match axes[..] {
        [(left, across), (top, down)] => {
            let transform = [left, across, 0.0, top, 0.0, down];
            Some(Georeference { transform, crs })
        }
        _ => None,
    };
    Ok((place, notes))
}

/// Where the first cell begins, and the step from cell to cell, by the centres of two cells or more; `None` if they are
/// not evenly spaced.
fn even_steps(centres: &[f64]) -> Option<(f64, f64)> {
    let (first, last) = (centres.first()?, centres.last()?);
    let step = (last - first) / (centres.len() - 1) as f64;
    let is_even =
        |(i, value): (usize, &f64)| (value - first - i as f64 * step).abs() <= EVEN * step.abs();
    let are_even = step != 0.0 && step.is_finite() && centres.iter().enumerate().all(is_even);
    are_even.then_some((first - step / 2.0, step))
}

/// Six numbers that say where an array lies.
fn transform(mapping: &Map<String, Value>, own: &Map<String, Value>) -> Option<[f64; 6]> {
    let text = mapping.get("GeoTransform").or_else(|| own.get("GeoTransform"));
    let of_text = || {
        let numbers = text?.as_str()?.split([' ', ',']).filter(|word| !word.is_empty());
        numbers.map(|word| word.parse().ok()).collect::<Option<Vec<f64>>>()?.try_into().ok()
    };
    let of_list = || {
        let numbers = own.get("spatial:transform")?.as_array()?.iter().map(Value::as_f64);
        let numbers: [f64; 6] = numbers.collect::<Option<Vec<f64>>>()?.try_into().ok()?;
        let [a, b, c, d, e, f] = numbers;
        Some([c, a, b, f, d, e])
    };
    let transform: Option<[f64; 6]> = of_text().or_else(of_list);
    transform.filter(|[_, a, b, _, d, e]| a * e - b * d != 0.0)
}

/// Whether a reference system is stated, and which.
fn system(mapping: &Map<String, Value>, own: &Map<String, Value>) -> (bool, Option<Crs>) {
    let own_crs = own.get("_CRS");
    let of_own = |name: &str| own_crs.and_then(|crs| crs.get(name));
    let texts =
        [mapping.get("crs_wkt"), mapping.get("spatial_ref"), of_own("wkt"), own.get("proj:wkt2")];
    let objects = [of_own("projjson"), own.get("proj:projjson")];
    let codes = [of_own("url"), own.get("proj:code"), own.get("proj:epsg")];
    let stated =
        texts.iter().chain(&objects).chain(&codes).any(|value| value.is_some_and(|v| !v.is_null()));
    let of_text = || texts.iter().flatten().find_map(|text| Crs::from_wkt(text.as_str()?));
    let of_object = || objects.iter().flatten().find_map(|object| Crs::from_projjson(object));
    let of_code = || {
        codes.iter().flatten().find_map(|code| {
            let text = code.as_str().map_or_else(|| code.to_string(), str::to_owned);
            let number = text.rsplit(['/', ':']).next()?;
            let is_epsg = !text.contains(['/', ':']) || text.to_ascii_uppercase().contains("EPSG");
            Crs::parse(&format!("EPSG:{number}")).ok().filter(|_| is_epsg)
        })
    };
    (stated, of_text().or_else(of_object).or_else(of_code))
}

/// Returns an array's attributes for its coordinate system, as GDAL reads it, and those of its grid mapping (CF).
pub(crate) fn attributes(place: &Georeference) -> (Map<String, Value>, Map<String, Value>) {
    let (mut own, mut mapping) = (Map::new(), Map::new());
    own.insert("grid_mapping".into(), "spatial_ref".into());
    let numbers = place.transform.map(|number| number.to_string()).join(" ");
    mapping.insert("GeoTransform".into(), numbers.into());
    let Some(crs) = &place.crs else { return (own, mapping) };
    let mut system = Map::new();
    if let Some(wkt) = crs.whole_wkt() {
        system.insert("wkt".into(), wkt.into());
        mapping.insert("crs_wkt".into(), wkt.into());
        mapping.insert("spatial_ref".into(), wkt.into());
    }
    if let Some(json) = crs.projjson() {
        system.insert("projjson".into(), json);
    }
    if let Some(code) = crs.epsg() {
        system.insert("url".into(), format!("http://www.opengis.net/def/crs/EPSG/0/{code}").into());
        own.insert("proj:code".into(), format!("EPSG:{code}").into());
    }
    own.insert("_CRS".into(), json!(system));
    (own, mapping)
}
