//! STAC documents of versions 1.0 and 1.1: collections of items, single items, and catalogues that link to either.
//!
//! A virtual point cloud (`.vpc` of PDAL's wrench and of QGIS) is a collection of items with the extensions for point
//! clouds and projections.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use geo_io::Crs;
use gpu_core::Bounds;
use serde_json::{Map, Value};

use super::stated::{Stated, bounds_of, corners};
use super::{Content, Entry, plain};
use crate::args::ending;

/// Reads a STAC document; `None` for other JSON.
///
/// # Errors
/// The file cannot be read, or is not JSON.
pub fn document(path: &Path) -> Result<Option<Value>> {
    let name = || path.display().to_string();
    let text =
        std::fs::read(path).map_err(|reason| geo_io::Error::Read { path: path.into(), reason })?;
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
    let value: Value = serde_json::from_slice(text).with_context(name)?;
    let is_stac = |value: &Value| value.get("stac_version").is_some();
    // A collection of items need not state a version of its own.
    let is_one = is_stac(&value) || value.pointer("/features/0").is_some_and(is_stac);
    Ok(is_one.then_some(value))
}

/// Reads the entries of a document, and of those that it links to.
///
/// # Errors
/// Says which item or link is wrong, and what is wrong with it.
pub fn entries(
    path: &Path,
    document: Value,
    content: Content,
    asset: Option<&str>,
) -> Result<Vec<Entry>> {
    let mut found = Found { root: path, content, asset, entries: Vec::new() };
    let root = path.display();
    let mut seen = HashSet::from([plain(path)]);
    // The last comes first.
    let mut waiting = vec![(path.to_owned(), document)];
    while let Some((path, document)) = waiting.pop() {
        let links = found.add(&path, &document).with_context(|| match path == found.root {
            true => root.to_string(),
            false => format!("{root}, {}", path.display()),
        })?;
        for link in links.into_iter().rev() {
            let from = || format!("{root}: {}, which {} links to", link.display(), path.display());
            ensure!(seen.insert(link.clone()), "{}: a second link leads to it", from());
            let document = self::document(&link).with_context(from)?;
            let document = document.with_context(|| format!("{}: it is no STAC", from()))?;
            waiting.push((link, document));
        }
    }
    Ok(found.entries)
}

/// The entries found so far.
struct Found<'a> {
    /// The document that the user gives.
    root: &'a Path,
    content: Content,
    asset: Option<&'a str>,
    entries: Vec<Entry>,
}

impl Found<'_> {
    /// Adds the items of a document, and gives the documents that it links to.
    fn add(&mut self, path: &Path, document: &Value) -> Result<Vec<PathBuf>> {
        match document.get("type").and_then(Value::as_str) {
            Some("FeatureCollection") => {
                let items = document.get("features").and_then(Value::as_array);
                for (i, item) in items.context("it has no list \"features\"")?.iter().enumerate() {
                    let id = item.get("id").map_or_else(String::new, |id| format!(" ({id})"));
                    self.push(path, item, format!("item {i}{id}"))?;
                }
                Ok(Vec::new())
            }
            Some("Feature") => {
                let id = document.get("id").map_or_else(String::new, |id| format!(" {id}"));
                self.push(path, document, format!("item{id}"))?;
                Ok(Vec::new())
            }
            Some("Catalog" | "Collection") => links(path, document),
            kind => bail!(
                "its \"type\" is {kind:?}: expected Feature, FeatureCollection, Catalog or Collection"
            ),
        }
    }

    /// Adds an item.
    fn push(&mut self, path: &Path, item: &Value, name: String) -> Result<()> {
        let asset = self.asset_of(item).with_context(|| name.clone())?;
        let href = asset.get("href").and_then(Value::as_str).map_or("", str::trim);
        ensure!(!href.is_empty(), "{name}: its asset has no \"href\"");
        let href = href.to_owned();
        let stated = stated(item, asset).with_context(|| name.clone())?;
        let is_linked = path != self.root;
        let name = if is_linked { format!("{name} of {}", path.display()) } else { name };
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        self.entries.push(Entry { name, href, folder, stated });
        Ok(())
    }

    /// The asset of an item that is read.
    fn asset_of<'v>(&self, item: &'v Value) -> Result<&'v Map<String, Value>> {
        let none = Map::new();
        let assets = item.get("assets").and_then(Value::as_object);
        let keys = || assets.unwrap_or(&none).keys().cloned().collect::<Vec<_>>().join(", ");
        let all = assets.into_iter().flatten();
        let all: Vec<_> = all.filter_map(|(key, asset)| Some((key, asset.as_object()?))).collect();
        ensure!(!all.is_empty(), "it has no assets");
        if let Some(wanted) = self.asset {
            let found = all.iter().find(|(key, _)| *key == wanted);
            let lacks = || format!("--asset {wanted}: it has no such asset, but {}", keys());
            return Ok(found.with_context(lacks)?.1);
        }
        let mut data: Vec<_> =
            all.into_iter().filter(|(_, asset)| is_data(asset, self.content)).collect();
        if data.iter().any(|(_, asset)| has_role(asset, &["data"])) {
            data.retain(|(_, asset)| has_role(asset, &["data"]));
        }
        let what = match self.content {
            Content::Points => "points",
            Content::Rasters => "a raster",
        };
        match data[..] {
            [(_, asset)] => Ok(asset),
            [] => {
                bail!(
                    "none of its assets has {what}: name one by --asset; its assets are {}",
                    keys()
                )
            }
            _ => {
                let keys: Vec<&str> = data.iter().map(|(key, _)| key.as_str()).collect();
                bail!(
                    "several of its assets have {what}: name one by --asset, {}",
                    keys.join(" or ")
                )
            }
        }
    }
}

/// The local documents that a catalogue links to, in their order.
fn links(path: &Path, document: &Value) -> Result<Vec<PathBuf>> {
    let links = document.get("links").and_then(Value::as_array);
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut found = Vec::new();
    for (i, link) in links.into_iter().flatten().enumerate() {
        let text = |key: &str| link.get(key).and_then(Value::as_str).map_or("", str::trim);
        if !matches!(text("rel"), "item" | "child") {
            continue;
        }
        let href = text("href").to_owned();
        ensure!(!href.is_empty(), "link {i} has no \"href\"");
        let (name, stated) = (format!("link {i}"), Stated::default());
        let entry = Entry { name, href, folder: folder.to_owned(), stated };
        found.push(plain(&entry.locate_here().with_context(|| entry.name.clone())?));
    }
    Ok(found)
}

fn has_role(asset: &Map<String, Value>, roles: &[&str]) -> bool {
    let own = asset.get("roles").and_then(Value::as_array);
    own.into_iter().flatten().filter_map(Value::as_str).any(|role| roles.contains(&role))
}

/// Returns whether an asset has points, or a raster. The ending of its name tells; if the ending is unknown, the media
/// type does. An asset whose role is a picture of the data, or metadata, does not count unless its role is also `data`.
fn is_data(asset: &Map<String, Value>, content: Content) -> bool {
    const POINTS: &[&str] =
        &["las", "laz", "csv", "txt", "xyz", "parquet", "geoparquet", "pq", "fgb", "gpkg", "shp"];
    const RASTERS: &[&str] = &["tif", "tiff", "vrt", "asc", "zarr", "npy", "npz", "png"];
    let text = |key: &str| asset.get(key).and_then(Value::as_str).unwrap_or("");
    let is_beside = has_role(asset, &["thumbnail", "overview", "metadata"]);
    let of = ending(Path::new(text("href")));
    let has = |endings: &[&str]| endings.contains(&&of[..]);
    let (own, begins): (_, &[&str]) = match content {
        Content::Points => {
            (has(POINTS), &["application/vnd.las", "application/vnd.apache.parquet"])
        }
        Content::Rasters => (has(RASTERS), &["image/tiff", "image/vnd.stac.geotiff"]),
    };
    let is_known = has(POINTS) || has(RASTERS);
    let by_type = || begins.iter().any(|begin| text("type").starts_with(begin));
    let is_of = if is_known { own } else { by_type() };
    is_of && (has_role(asset, &["data"]) || !is_beside)
}

/// What an item states of an asset: what the asset states itself comes first.
fn stated(item: &Value, asset: &Map<String, Value>) -> Result<Stated> {
    let properties = item.get("properties");
    let get = |key: &str| {
        let own = asset.get(key).filter(|value| !value.is_null());
        own.or_else(|| properties?.get(key).filter(|value| !value.is_null()))
    };
    let whole = |key: &str| get(key).map(|value| (value, value.as_u64()));
    let points = match whole("pc:count") {
        Some((value, None)) => bail!("pc:count is {value}, which is not a number of points"),
        found => found.and_then(|(_, count)| count),
    };
    let size = match get("proj:shape").map(|value| (value, numbers(value).as_deref().map(sides))) {
        None => None,
        Some((_, Some(Some(size)))) => Some(size),
        Some((value, _)) => {
            bail!("proj:shape is {value}: expected the numbers of rows and columns")
        }
    };
    let transform = match get("proj:transform").map(|value| (value, numbers(value))) {
        None => None,
        Some((_, Some(t))) if [6, 9].contains(&t.len()) => {
            Some([t[2], t[0], t[1], t[5], t[3], t[4]])
        }
        Some((value, _)) => bail!("proj:transform is {value}: expected six numbers, or nine"),
    };
    let of_box = get("proj:bbox").map(|value| {
        let bounds = rectangle(value).filter(|b| b.min_x <= b.max_x);
        bounds.with_context(|| {
            format!("proj:bbox is {value}: expected four numbers, or six, the least first")
        })
    });
    let of_geometry = || get("proj:geometry").and_then(|geometry| bounds_of(places(geometry)));
    let of_raster = || Some(corners(&transform?, size?));
    let bounds = of_box.transpose()?.or_else(of_geometry).or_else(of_raster);
    // Across the antimeridian the first longitude is the greater one, and no rectangle tells.
    let globe = item.get("bbox").and_then(rectangle).filter(|b| b.min_x <= b.max_x);
    let globe = globe.or_else(|| bounds_of(places(item.get("geometry")?)));
    let crs = system(&get)?;
    // Without the file's coordinate system, longitudes and latitudes do not say where its points lie.
    let globe = globe.filter(|_| crs.is_some());
    let footprint = globe.map(|b| Ok::<_, geo_io::Error>((b, Some(Crs::parse("EPSG:4326")?))));
    Ok(Stated { crs, bounds, footprint: footprint.transpose()?, points, size, transform })
}

/// The system that an item states: by code, as PROJJSON, or as text. Codes of other authorities than EPSG do not count.
fn system<'v>(get: &impl Fn(&str) -> Option<&'v Value>) -> Result<Option<Crs>> {
    let code = match (get("proj:code"), get("proj:epsg")) {
        (Some(Value::String(code)), _) => Some(code.clone()),
        // Some writers have all numbers as floats: 26910.0.
        (None, Some(Value::Number(code))) => code.as_f64().map(|code| format!("EPSG:{code}")),
        (None, None) => None,
        (Some(other), _) => bail!("proj:code is {other}: expected text such as \"EPSG:26910\""),
        (_, Some(other)) => bail!("proj:epsg is {other}: expected a number such as 26910"),
    };
    if let Some(code) = code.filter(|code| code.to_ascii_uppercase().starts_with("EPSG:")) {
        return Ok(Some(Crs::parse(&code)?));
    }
    if let Some(stated) = get("proj:projjson").and_then(Crs::from_projjson) {
        return Ok(Some(stated));
    }
    Ok(get("proj:wkt2").and_then(Value::as_str).and_then(Crs::from_wkt))
}

/// The columns and rows that two whole numbers are, of which the rows come first.
fn sides(numbers: &[f64]) -> Option<(u64, u64)> {
    let is_whole = numbers.iter().all(|&side| side >= 0.0 && side.fract() == 0.0);
    match numbers {
        &[rows, columns] if is_whole => Some((columns as u64, rows as u64)),
        _ => None,
    }
}

/// A list of numbers.
fn numbers(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(Value::as_f64).collect()
}

/// The rectangle of a box in two or three dimensions.
fn rectangle(value: &Value) -> Option<Bounds> {
    let (min_x, min_y, max_x, max_y) = match numbers(value)?[..] {
        [min_x, min_y, max_x, max_y] | [min_x, min_y, _, max_x, max_y, _] => {
            (min_x, min_y, max_x, max_y)
        }
        _ => return None,
    };
    (min_y <= max_y).then_some(Bounds { min_x, min_y, max_x, max_y })
}

/// The positions of a geometry of GeoJSON.
fn places(geometry: &Value) -> Vec<[f64; 2]> {
    let (mut found, mut waiting) = (Vec::new(), vec![geometry]);
    while let Some(value) = waiting.pop() {
        match value {
            Value::Object(object) => {
                waiting.extend(object.get("coordinates").or(object.get("geometries")))
            }
            Value::Array(items) => match items.iter().map(Value::as_f64).collect::<Vec<_>>()[..] {
                [Some(x), Some(y), ..] => found.push([x, y]),
                _ => waiting.extend(items),
            },
            _ => {}
        }
    }
    found
}
