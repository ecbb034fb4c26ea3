//! Where an array lies, by the conventions of CF, GDAL and GeoZarr.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::coordinates::distinct_values_of;
use super::json::json_of;
use super::metadata::Metadata;
use crate::rasters::band::metres_of_name;
use crate::{Crs, Error, Georeference, Result};

/// Coordinates that are read: a raster has no more columns or rows.
const MOST: u64 = 1 << 26;

/// How far coordinates may lie from where even steps lead, in steps.
const EVEN: f64 = 1e-3;

/// How far a ratio of equal units may lie from 1.
const SAME_UNIT: f64 = 1e-9;

/// The variable that has the reference system where an array does not name it.
const SPATIAL_REF: &str = "spatial_ref";

/// CF's attribute for the projection.
const GRID_MAPPING_NAME: &str = "grid_mapping_name";

/// The place of an array in a folder, and what is to be said of it.
///
/// # Errors
/// The rows run along x; a damaged array of coordinates.
pub(crate) fn place_of(
    folder: &Path,
    array: &Metadata,
) -> Result<(Option<Georeference>, Vec<String>)> {
    let sides = array.shape.len();
    let axes = [sides - 1, sides - 2].map(|i| Coordinates::of(folder, array, i));
    let directions = [0, 1].map(|i| {
        let name = array.dimensions[sides - 1 - i].as_deref();
        axes[i].as_ref().and_then(Coordinates::direction).or_else(|| direction_of_name(name?))
    });
    if directions == [Some(Direction::North), Some(Direction::East)] {
        let reason = "its rows run along x: transpose it, as xarray's transpose(\"y\", \"x\") does";
        return Err(Error::malformed(folder, reason));
    }
    let mut notes = Vec::new();
    let mut note = |reason: &str| notes.push(format!("{}: {reason}", folder.display()));
    let own = attributes_of(folder, array);
    let (mapping, is_missing) = grid_mapping(folder, &own);
    let (stated, mut crs) = system(&mapping, &own);
    if crs.is_none() && (stated || is_missing) {
        note("its reference system is not understood, so none is kept");
    } else if crs.is_none() && (are_degrees(&axes) || mapping.contains_key(GRID_MAPPING_NAME)) {
        crs = Crs::parse("EPSG:4326").ok();
        note(
            "its coordinates are degrees without a reference system: they are taken for those of WGS 84",
        );
    }
    if let Some(transform) = transform(&mapping, &own) {
        return Ok((Some(Georeference { transform, crs }), notes));
    }
    let (mut steps, mut of_units) = (Vec::new(), Vec::new());
    for axis in axes.iter().map_while(Option::as_ref) {
        let (factor, note) = axis.unit(crs.as_ref());
        of_units.extend(note);
        let mut values = distinct_values_of(&axis.folder, &axis.about)?;
        values.iter_mut().flatten().for_each(|value| *value *= factor);
        let Some(even) = values.as_deref().and_then(even_steps) else {
            let name = axis.folder.display();
            notes
                .push(format!("{name}: its coordinates are not evenly spaced, so it has no place"));
            break;
        };
        steps.push(even);
    }
    notes.extend(of_units);
    let place = match steps[..] {
        [(left, across), (top, down)] => {
            let transform = [left, across, 0.0, top, 0.0, down];
            Some(Georeference { transform, crs })
        }
        _ => None,
    };
    Ok((place, notes))
}

fn are_degrees(axes: &[Option<Coordinates>; 2]) -> bool {
    axes.iter().all(|axis| axis.as_ref().is_some_and(Coordinates::is_in_degrees))
}

/// What grows along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Direction {
    East,
    North,
}

/// The coordinates along a dimension of an array: an array of the dimension's name beside it.
struct Coordinates {
    folder: PathBuf,
    about: Metadata,
}

impl Coordinates {
    /// The coordinates of dimension `i`, unless they have another length, or are too few or too many to tell a place.
    fn of(folder: &Path, array: &Metadata, i: usize) -> Option<Self> {
        let folder = folder.parent()?.join(array.dimensions[i].as_deref()?);
        let about = Metadata::of(&json_of(&folder).ok()?).ok()?;
        let is_fit = about.shape == [array.shape[i]] && (2..=MOST).contains(&about.shape[0]);
        is_fit.then_some(Self { folder, about })
    }

    fn word(&self, name: &str) -> &str {
        self.about.attributes.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// By CF's attributes.
    fn direction(&self) -> Option<Direction> {
        let standard = self.word("standard_name");
        let is_of = |axis: &str, of_plane: &str, of_globe: &str, unit: &str| {
            self.word("axis").eq_ignore_ascii_case(axis)
                || [of_plane, of_globe].contains(&standard)
                || is_degree(self.word("units"), unit)
        };
        if is_of("X", "projection_x_coordinate", "longitude", "east") {
            Some(Direction::East)
        } else if is_of("Y", "projection_y_coordinate", "latitude", "north") {
            Some(Direction::North)
        } else {
            None
        }
    }

    /// Returns what to multiply them by, for the unit of a system of their plane, and what to say of it.
    fn unit(&self, crs: Option<&Crs>) -> (f64, Option<String>) {
        let units = self.word("units");
        let Some(own) = metres_of_name(units) else { return (1.0, None) };
        let name = self.folder.display();
        let Some(crs) = crs else {
            let note = format!(
                "{name}: its coordinates are in {units} without a reference system: they are kept as they are"
            );
            return (1.0, (own != 1.0).then_some(note));
        };
        let factor = crs.metres_per_unit().map_or(1.0, |of_system| own / of_system);
        if (factor - 1.0).abs() < SAME_UNIT {
            return (1.0, None);
        }
        let note = format!(
            "{name}: its coordinates are in {units}: they are multiplied by {factor}, for the unit of {crs}"
        );
        (factor, Some(note))
    }

    /// Whether they are longitudes or latitudes in degrees.
    fn is_in_degrees(&self) -> bool {
        let (units, standard) = (self.word("units"), self.word("standard_name"));
        let is_plain = ["degree", "degrees"].contains(&units);
        is_degree(units, "east")
            || is_degree(units, "north")
            || is_plain && ["longitude", "latitude"].contains(&standard)
    }
}

/// Whether a unit is CF's degree to the east or north: degrees_east, degree_east, degree_E, degrees_E, degreeE, degreesE.
fn is_degree(unit: &str, way: &str) -> bool {
    let rest = unit.strip_prefix("degrees").or_else(|| unit.strip_prefix("degree"));
    let rest = rest.map(|rest| rest.strip_prefix('_').unwrap_or(rest));
    rest.is_some_and(|rest| rest == way || rest == way[..1].to_ascii_uppercase())
}

/// What a dimension's name says where nothing else does.
fn direction_of_name(name: &str) -> Option<Direction> {
    match &name.to_ascii_lowercase()[..] {
        "x" | "lon" | "longitude" | "easting" => Some(Direction::East),
        "y" | "lat" | "latitude" | "northing" => Some(Direction::North),
        _ => None,
    }
}

/// An array's attributes, with those of GeoZarr that its group states for all of its arrays.
fn attributes_of(folder: &Path, array: &Metadata) -> Map<String, Value> {
    let mut all = array.attributes.clone();
    let group = folder.parent().and_then(|group| json_of(group).ok()).unwrap_or_default();
    for (name, value) in group["attributes"].as_object().into_iter().flatten() {
        if name.starts_with("spatial:") || name.starts_with("proj:") {
            all.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    all
}

/// The attributes of an array's grid mapping (CF), and whether it names one that is missing. The attribute may list the
/// coordinates of a mapping behind its name; of several mappings the first counts.
fn grid_mapping(folder: &Path, own: &Map<String, Value>) -> (Map<String, Value>, bool) {
    let named = own.get("grid_mapping").and_then(Value::as_str);
    let name = named.and_then(|text| text.split([':', ' ']).find(|word| !word.is_empty()));
    let variable = folder.parent().map(|group| group.join(name.unwrap_or(SPATIAL_REF)));
    let json = variable.and_then(|variable| json_of(&variable).ok());
    let is_missing = name.is_some() && json.is_none();
    let attributes = json.as_ref().and_then(|json| json["attributes"].as_object());
    (attributes.cloned().unwrap_or_default(), is_missing)
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
        let [a, b, mut c, d, e, mut f] = numbers;
        // Else it is that of corners.
        if own.get("spatial:registration").is_some_and(|of| of == "node") {
            (c, f) = (c - (a + b) / 2.0, f - (d + e) / 2.0);
        }
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
    // CF's parameters of a projection are not read; longitudes and latitudes without an ellipsoid have none.
    let name = mapping.get(GRID_MAPPING_NAME);
    let is_globe = name.is_some_and(|name| name == "latitude_longitude")
        && !["semi_major_axis", "earth_radius"].iter().any(|axis| mapping.contains_key(*axis));
    let by_name = name.filter(|_| !is_globe);
    let stated = texts
        .iter()
        .chain(&objects)
        .chain(&codes)
        .chain([&by_name])
        .any(|value| value.is_some_and(|v| !v.is_null()));
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
    if !system.is_empty() {
        own.insert("_CRS".into(), json!(system));
    }
    (own, mapping)
}

/// Whether a Zarr store can name a system: it has an EPSG code, WKT, or a form in PROJJSON.
///
/// ```
/// use geo_io::{Crs, is_named_in_zarr};
///
/// assert!(is_named_in_zarr(&Crs::parse("EPSG:32632")?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn is_named_in_zarr(crs: &Crs) -> bool {
    crs.epsg().is_some() || crs.whole_wkt().is_some() || crs.projjson().is_some()
}
