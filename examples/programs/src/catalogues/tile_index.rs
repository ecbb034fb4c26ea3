//! Tile indexes: tables of polygons with a column of paths, as `gdaltindex` and `pdal tindex` write them.

use std::path::Path;

use anyhow::{Context, Result, bail};
use geo_io::{Crs, Features, Properties, Shape};
use gpu_core::Bounds;
use serde_json::Value;

use super::Entry;
use super::stated::{Stated, bounds_of};
use crate::args::ending;

/// The column of paths, as both programs call it.
const LOCATION: &str = "location";

/// The column of the system of each file, which both programs write if asked.
const SYSTEM: &str = "srs";

/// Whether a table may be a tile index: its first geometry is a polygon. The reader of the table reports its errors.
pub fn is_one(path: &Path) -> bool {
    geo_io::begins_with_polygon(path).unwrap_or(false)
}

/// Whether a table is sound and its first geometry is not a polygon.
pub fn has_other_geometries(path: &Path) -> bool {
    let first =
        geo_io::read_features(path).ok().and_then(|of| of.shapes.into_iter().flatten().next());
    first.is_some_and(|shape| !matches!(shape, Shape::Polygons(_)))
}

/// Reads the entries of a tile index.
///
/// # Errors
/// What is wrong with the table; no such column; a row without a path, or with another geometry than a polygon.
pub fn entries(path: &Path, column: Option<&str>) -> Result<Vec<Entry>> {
    let Features { shapes, properties, crs, .. } = geo_io::read_features(path)?;
    let Some(first) = properties.first() else { return Ok(Vec::new()) };
    let column = column_of(first, column).with_context(|| path.display().to_string())?;
    let is_geojson = ["json", "geojson"].contains(&&ending(path)[..]);
    // What RFC 7946 takes for granted.
    let crs = match crs {
        None if is_geojson => Some(Crs::parse("EPSG:4326")?),
        crs => crs,
    };
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let rows = shapes.iter().zip(&properties).enumerate();
    rows.map(|(number, (shape, properties))| {
        let name = format!("feature {number}");
        let named = || format!("{}, {name}", path.display());
        let bounds = shape.as_ref().map(footprint).transpose().with_context(named)?;
        let href = path_of(properties, &column).with_context(named)?;
        let stated = Stated {
            crs: properties.get(SYSTEM).and_then(Value::as_str).and_then(system),
            footprint: bounds.map(|bounds| (bounds, crs.clone())),
            ..Stated::default()
        };
        Ok(Entry { href, folder: folder.clone(), stated, name })
    })
    .collect()
}

/// The name of the column of paths, upper and lower case alike.
fn column_of(row: &Properties, asked: Option<&str>) -> Result<String> {
    let wanted = asked.unwrap_or(LOCATION);
    let names: Vec<&str> = row.names().collect();
    let is_it = |name: &&&str| name.to_lowercase() == wanted.to_lowercase();
    let found = names.iter().find(|name| **name == wanted).or(names.iter().find(is_it));
    found.map(|name| (*name).to_owned()).with_context(|| {
        let columns = names.join(", ");
        format!(
            "a tile index needs a column of paths, but no column is called \"{wanted}\": name it \
             by --path-column; its columns are {columns}"
        )
    })
}

/// The path that a row has.
fn path_of(row: &Properties, column: &str) -> Result<String> {
    match row.get(column) {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
        None | Some(Value::Null | Value::String(_)) => bail!("its column \"{column}\" is empty"),
        Some(other) => bail!("its column \"{column}\" has {other}, which is not a path"),
    }
}

/// Where a polygon lies.
fn footprint(shape: &Shape) -> Result<Bounds> {
    let Shape::Polygons(polygons) = shape else {
        bail!("its geometry is not a polygon: a tile index states the ground of each file as one");
    };
    let vertices = polygons.iter().flatten().flatten().copied();
    bounds_of(vertices).context("its polygon has no vertices")
}

/// A system by its code or as text; `None` for what neither is, such as the strings of PROJ.
fn system(text: &str) -> Option<Crs> {
    Crs::parse(text).ok().or_else(|| Crs::from_wkt(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str, column: Option<&str>) -> Result<Vec<Entry>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        entries(&path, column)
    }

    fn feature(properties: &str) -> String {
        let ring = "[[1, 2], [3, 2], [3, 5], [1, 2]]";
        let geometry = format!(r#"{{"type": "Polygon", "coordinates": [{ring}]}}"#);
        format!(r#"{{"type": "Feature", "properties": {properties}, "geometry": {geometry}}}"#)
    }

    fn index(features: &[String]) -> String {
        format!(r#"{{"type": "FeatureCollection", "features": [{}]}}"#, features.join(", "))
    }

    #[test]
    fn rows_are_paths_with_footprints_and_systems() {
        let text = index(&[feature(r#"{"Location": " a.laz ", "srs": "EPSG:26910"}"#)]);
        let found = read("a.geojson", &text, None).unwrap();
        let entry = &found[0];
        assert_eq!((entry.href.as_str(), entry.name.as_str()), ("a.laz", "feature 0"));
        assert_eq!(entry.stated.crs, Some(Crs::parse("EPSG:26910").unwrap()));
        let (bounds, crs) = entry.stated.footprint.clone().unwrap();
        assert_eq!(bounds, Bounds { min_x: 1.0, min_y: 2.0, max_x: 3.0, max_y: 5.0 });
        assert_eq!(crs, Some(Crs::parse("EPSG:4326").unwrap()));
    }

    #[test]
    fn rows_without_a_path_and_other_geometries_are_refused_by_their_number() {
        let good = feature(r#"{"location": "a.laz"}"#);
        for (row, words) in [
            (feature(r#"{"location": null}"#), "feature 1: its column \"location\" is empty"),
            (feature(r#"{"location": " "}"#), "feature 1: its column \"location\" is empty"),
            (feature("{}"), "feature 1: its column \"location\" is empty"),
            (feature(r#"{"location": 5}"#), "has 5, which is not a path"),
            (
                r#"{"type": "Feature", "properties": {"location": "b"}, "geometry": {"type": "Point", "coordinates": [1, 2]}}"#
                    .to_owned(),
                "feature 1: its geometry is not a polygon",
            ),
        ] {
            let error = read("a.json", &index(&[good.clone(), row]), None).err().unwrap();
            assert!(format!("{error:#}").contains(words), "{error:#}");
        }
        let error = read("a.json", &index(&[good]), Some("file")).err().unwrap();
        let words =
            "no column is called \"file\": name it by --path-column; its columns are location";
        assert!(format!("{error:#}").contains(words), "{error:#}");
        assert!(read("a.json", &index(&[]), None).unwrap().is_empty());
    }
}
