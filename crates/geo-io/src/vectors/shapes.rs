//! Points, lines and polygons of GeoJSON, and of the tables of features.

mod geojson_in;
pub(crate) mod plane;
mod shape;
mod with_heights;

use std::path::Path;

use geojson::JsonObject;
use serde_json::Value;

use crate::points::ending;
use crate::tables::{self, Geometry, Kind, Stop, feature_name};
use crate::{Crs, Error, Number, Polygons, Result};
use plane::Outline;
pub use shape::Shape;
pub use with_heights::{Line, Lines, read_lines};

/// The features of a file, in their order.
///
/// Example: see [`read_features`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Features<S = Option<Shape>> {
    /// Each feature's shape: `None`, or no polygons, if the feature has no geometry or its geometry has no places.
    pub shapes: Vec<S>,
    /// The properties of each.
    pub properties: Vec<Properties>,
    /// The coordinate system that the file states in the member `crs`, which GDAL, QGIS and
    /// [`write_polygons`](crate::write_polygons) write for projected coordinates. Without it, coordinates are
    /// longitudes and latitudes on WGS 84 (RFC 7946).
    pub crs: Option<Crs>,
    /// The numbers, from 0, of features with a hole outside of its outer ring; see [`read_polygons`].
    pub outside: Vec<usize>,
    /// Notes, in words, on parts of the file that the reader ignored, and on what the file lacks.
    pub notes: Vec<String>,
}

/// The properties of a feature, by name.
///
/// ```
/// use geo_io::Properties;
///
/// let mut properties = Properties::from(vec![("height", 12.5)]);
/// properties.set("floors", 4);
/// assert_eq!(properties.get("height").and_then(|height| height.as_f64()), Some(12.5));
/// assert!(properties.has("floors") && !properties.has("roof"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Properties {
    /// A text or a number.
    pub(crate) id: Option<Value>,
    pub(crate) named: JsonObject,
}

impl Properties {
    /// Sets a property to a number, and replaces a property of that name. It writes the number as [`Number::to_json`]
    /// does: a whole number that fits 64 bits as an integer with all of its digits, an infinity or NaN as a string.
    pub fn set(&mut self, name: &str, number: impl Into<Number>) {
        self.named.insert(name.to_owned(), number.into().to_json());
    }

    /// Sets a property to text, and replaces a property of that name.
    pub fn set_text(&mut self, name: &str, text: impl Into<String>) {
        self.named.insert(name.to_owned(), text.into().into());
    }

    /// Returns the feature's own id: the member `id` that a GeoJSON feature has beside its properties, a text or a
    /// number. [`write_shapes`](crate::write_shapes) and [`write_polygons`](crate::write_polygons) write it as that
    /// member again. `write_geoparquet_features` writes it as a column `id` if no feature has a property of that name,
    /// in upper or lower case.
    ///
    /// ```
    /// use geo_io::read_features;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("places.geojson");
    /// std::fs::write(&path, r#"{"type": "Feature", "id": "A7", "properties": {}, "geometry": null}"#)?;
    /// let found = read_features(&path)?;
    /// assert_eq!(found.properties[0].id().and_then(|id| id.as_str()), Some("A7"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn id(&self) -> Option<&Value> {
        self.id.as_ref()
    }

    /// Returns the value of a property, as JSON.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.named.get(name)
    }

    /// The names of all.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }

    /// Whether a property has the name.
    pub fn has(&self, name: &str) -> bool {
        self.named.contains_key(name)
    }
}

impl<N: Into<Number>> From<Vec<(&str, N)>> for Properties {
    fn from(numbers: Vec<(&str, N)>) -> Self {
        let mut properties = Self::default();
        numbers.into_iter().for_each(|(name, number)| properties.set(name, number));
        properties
    }
}

/// Reads the features of a file. The endings `.fgb`, `.shp`, `.parquet` and `.gpkg` mean FlatGeobuf, a shapefile,
/// GeoParquet and a GeoPackage. Any other file is GeoJSON.
///
/// A GeoJSON geometry without a feature is one feature. Newline-delimited GeoJSON (RFC 8142), texts of JSON one after
/// the other, is read as well. It drops heights, and closes open rings.
///
/// ```
/// use geo_io::{Shape, read_features};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("line.geojson");
/// std::fs::write(&path, r#"{"type": "LineString", "coordinates": [[0, 0], [4, 3]]}"#)?;
/// let found = read_features(&path)?;
/// assert_eq!(found.shapes, [Some(Shape::Lines(vec![vec![[0.0, 0.0], [4.0, 3.0]]]))]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - [`Error::Read`]: the file cannot be read.
/// - [`Error::Empty`]: the file is empty.
/// - [`Error::NotA`]: the file has another format.
/// - [`Error::NotBuilt`]: the format needs a feature of this crate.
/// - [`Error::Malformed`]: the file is damaged. The error names the feature, from 0. In GeoJSON, it also names the ring
///   or line and the position, from 0.
pub fn read_features(path: &Path) -> Result<Features> {
    let (mut shapes, mut properties) = (Vec::new(), Vec::new());
    let (crs, notes) = rows(path, true, &mut |geometry, fields| {
        shapes.push(geometry.map(Shape::from));
        properties.push(fields);
        Ok(())
    })?;
    Ok(Features { shapes, properties, crs, outside: Vec::new(), notes })
}

/// Whether a file has features: geometries with properties, which [`read_features`] reads. True for GeoJSON by the
/// endings `.geojson` and `.json`, false for a table that has only columns.
///
/// ```
/// use std::path::Path;
/// use geo_io::has_features;
///
/// assert!(has_features(Path::new("areas.geojson"))?); // by the ending alone
/// assert!(!has_features(Path::new("points.csv"))?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Says what is wrong with the beginning of the file.
pub fn has_features(path: &Path) -> Result<bool> {
    let is_geojson = ["geojson", "json"].contains(&ending(path).as_str());
    let of_table = |kind| Ok(tables::open(path, kind)?.about().has_geometry);
    Kind::of(path).map_or(Ok(is_geojson), of_table)
}

/// Whether the first geometry of a file is a Polygon or a MultiPolygon. The file is one that [`read_features`] reads.
/// False for a file without geometries. Reads a table only up to its first geometry.
///
/// # Errors
/// The errors of [`read_features`], up to this geometry.
pub fn begins_with_polygon(path: &Path) -> Result<bool> {
    let mut first = None;
    let read = rows(path, false, &mut |geometry, _| match geometry {
        None => Ok(()),
        Some(geometry) => {
            first = Some(matches!(geometry, Geometry::Polygons(_)));
            Err("the first one is enough".to_owned())
        }
    });
    first.map_or_else(|| read.map(|_| false), Ok)
}

/// Takes a feature: its geometry, and its properties if they are wanted.
type Take<'a> = dyn FnMut(Option<Geometry>, Properties) -> Result<(), String> + 'a;

/// Gives each feature of a file, and the system that it states, with what the user should know.
fn rows(
    path: &Path,
    with_properties: bool,
    take: &mut Take<'_>,
) -> Result<(Option<Crs>, Vec<String>)> {
    let Some(kind) = Kind::of(path) else {
        let (crs, note) = geojson_in::rows(path, take)?;
        return Ok((crs, note.filter(|_| with_properties).into_iter().collect()));
    };
    let table = tables::open(path, kind)?;
    let about = table.about().clone();
    if !about.has_geometry {
        return Err(malformed(path, "it has no geometries".to_owned()));
    }
    let whole = about.columns.len() - about.parts;
    let wanted: Vec<usize> = if with_properties { (0..whole).collect() } else { Vec::new() };
    tables::each(path, table, &wanted, feature_name, &mut |row, geometry, fields| {
        let values = fields.into_iter().map(tables::Field::into_json);
        let named = about.columns.iter().cloned().zip(values).collect();
        take(geometry, Properties { id: None, named }).map_err(|reason| Stop::Row(row, reason))
    })?;
    Ok((about.crs, about.notes))
}

/// Reads the polygons of each feature of a file, as [`read_features`] does. A geometry may be a Polygon, a
/// MultiPolygon, or a collection of them; a feature without geometry has no polygons. Holes that lie outside of
/// their outer ring, in the plane of the coordinates, become polygons.
///
/// Example: see [`write_polygons`](crate::write_polygons).
///
/// # Errors
/// - The errors of [`read_features`].
/// - [`Error::Malformed`]: a feature has points or lines.
pub fn read_polygons(path: &Path) -> Result<Features<Polygons>> {
    let Features { shapes, properties, crs, mut outside, notes } = read_features(path)?;
    let of = |(i, shape): (usize, Option<Shape>)| {
        let mut all = Polygons::new();
        shape
            .map_or(Ok(()), |shape| collect(shape, &mut all))
            .map_err(|reason| malformed(path, format!("feature {i}: {reason}")))?;
        let polygons = all.len();
        let all: Polygons = all.into_iter().flat_map(with_outside_apart).collect();
        if all.len() > polygons {
            outside.push(i);
        }
        Ok(all)
    };
    let shapes = shapes.into_iter().enumerate().map(of).collect::<Result<_>>()?;
    Ok(Features { shapes, properties, crs, outside, notes })
}

/// Adds the polygons of a shape.
fn collect(shape: Shape, polygons: &mut Polygons) -> Result<(), &'static str> {
    match shape {
        Shape::Polygons(more) => polygons.extend(more),
        Shape::Several(parts) => parts.into_iter().try_for_each(|part| collect(part, polygons))?,
        Shape::Points(_) => return Err("a point is not a polygon"),
        Shape::Lines(_) => return Err("a line is not a polygon"),
    }
    Ok(())
}

/// A polygon, and each of its holes that has no place in common with the outer ring.
fn with_outside_apart(rings: Vec<Vec<[f64; 2]>>) -> Polygons {
    if rings.len() < 2 {
        return vec![rings];
    }
    let outer = rings[0].clone();
    let outline = Outline::of(&outer);
    let mut polygons = vec![Vec::new()];
    for (i, ring) in rings.into_iter().enumerate() {
        match i == 0 || outline.meets(&ring) {
            true => polygons[0].push(ring),
            false => polygons.push(vec![ring]),
        }
    }
    polygons
}

fn malformed(path: &Path, reason: String) -> Error {
    Error::Malformed { path: path.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Features> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.geojson");
        std::fs::write(&path, text).unwrap();
        read_features(&path)
    }

    fn read(text: &str) -> Result<Vec<Option<Shape>>> {
        read_text(text).map(|features| features.shapes)
    }

    #[test]
    fn every_kind_of_geometry_is_read() {
        let text = r#"{"type": "FeatureCollection", "features": [
            {"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [1, 2, 300]}},
            {"type": "Feature", "properties": null, "geometry":
                {"type": "LineString", "coordinates": [[1, 2], [3, 4]]}},
            {"type": "Feature", "properties": {}, "bbox": [0, 0, 1, 1], "geometry":
                {"type": "MultiPolygon", "coordinates": [[[[0, 0], [1, 0], [0, 1], [0, 0]]]]}},
            {"type": "Feature", "properties": {}, "geometry": {"type": "GeometryCollection", "geometries": [
                {"type": "MultiPoint", "coordinates": [[5, 6]]},
                {"type": "MultiLineString", "coordinates": [[[7, 8], [9, 10]]]}]}}]}"#;
        let expected = vec![
            Shape::Points(vec![[1.0, 2.0]]),
            Shape::Lines(vec![vec![[1.0, 2.0], [3.0, 4.0]]]),
            Shape::Polygons(vec![vec![vec![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]]]),
            Shape::Several(vec![
                Shape::Points(vec![[5.0, 6.0]]),
                Shape::Lines(vec![vec![[7.0, 8.0], [9.0, 10.0]]]),
            ]),
        ];
        let expected: Vec<_> = expected.into_iter().map(Some).collect();
        assert_eq!(read(text).unwrap(), expected);
        let polygon = r#"{"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [0, 1], [0, 0]]]}"#;
        assert_eq!(read(polygon).unwrap(), expected[2..3]);
        // Not closed.
        let polygon = r#"{"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [0, 1]]]}"#;
        assert_eq!(read(polygon).unwrap(), expected[2..3]);
    }

    #[test]
    fn a_feature_without_places_has_no_shape() {
        let empty = r#"{"type": "Polygon", "coordinates": []}"#;
        let points = r#"{"type": "MultiPoint", "coordinates": []}"#;
        let point = r#"{"type": "Point", "coordinates": []}"#;
        let ring = r#"{"type": "MultiPolygon", "coordinates": [[[]], []]}"#;
        let collection =
            |parts: &str| format!(r#"{{"type": "GeometryCollection", "geometries": [{parts}]}}"#);
        let nested = collection(&collection(points));
        for geometry in ["null", empty, points, point, ring, &collection(""), &nested] {
            let text =
                format!(r#"{{"type": "Feature", "properties": {{}}, "geometry": {geometry}}}"#);
            assert_eq!(read(&text).unwrap(), [None], "{geometry}");
        }
        let part = r#"{"type": "Point", "coordinates": [1, 2]}"#;
        let found = read(&collection(&format!("{empty}, {part}, {points}"))).unwrap();
        assert_eq!(found, [Some(Shape::Several(vec![Shape::Points(vec![[1.0, 2.0]])]))]);
        assert_eq!(read(r#"{"type": "FeatureCollection", "features": []}"#).unwrap(), []);
    }

    #[test]
    fn what_is_no_geojson_is_refused_in_a_line_that_says_where() {
        assert!(matches!(read("").unwrap_err(), Error::Empty { .. }));
        for text in ["lon,lat\n1,2\n", "[]", "[{\"type\":\"Feature\"}]", "\u{1f}8b", "  "] {
            assert!(matches!(read(text).unwrap_err(), Error::NotA { .. }), "{text}");
        }
        let says = |text: &str, words: &[&str]| {
            let found = read(text).unwrap_err().to_string();
            assert!(!found.contains('\n'), "{found}");
            assert!(words.iter().all(|word| found.contains(word)), "{text}: {found}");
        };
        let in_feature = |geometry: &str, words: &[&str]| {
            let first = r#"{"type": "Feature", "geometry": null}"#;
            let features = format!(
                r#"[{first}, {{"type": "Feature", "properties": {{}}, "geometry": {geometry}}}]"#
            );
            says(&format!(r#"{{"type": "FeatureCollection", "features": {features}}}"#), words);
        };
        let line = |text: &str| format!(r#"{{"type": "LineString", "coordinates": {text}}}"#);
        in_feature(&line("[[2, 3], [1]]"), &["feature 1: position 1: [1] is not a position"]);
        in_feature(&line(r#"[["2", "3"], [1, 1]]"#), &["feature 1: position 0: [\"2\",\"3\"]"]);
        in_feature(&line("[1, 2]"), &["feature 1: position 0: 1 is not a position"]);
        in_feature(&line("null"), &["feature 1: null is not a list of positions"]);
        in_feature(&line("[[NaN, 1], [2, 3]]"), &["line 1 column", "NaN"]);
        in_feature(&line("[[1, -Infinity], [2, 3]]"), &["line 1 column", "Infinity"]);
        in_feature(&line("[[1, 1e999], [2, 3]]"), &["number out of range"]);
        let rings = "[[[0, 0], [1, 0], [0, 1], [0, 0]], [[0, 0], [null, 1]]]";
        let polygon = format!(r#"{{"type": "MultiPolygon", "coordinates": [{rings}]}}"#);
        in_feature(&polygon, &["feature 1: part 0: ring 1: position 1: [null,1]"]);
        in_feature("{}", &["feature 1: it has no \"type\""]);
        in_feature("[1, 2]", &["feature 1: its geometry is [1,2]"]);
        in_feature(r#"{"type": "Circle"}"#, &["feature 1: \"Circle\" is not a type of GeoJSON"]);
        says(
            r#"{"type": "FeatureCollection", "features": [null]}"#,
            &["feature 0: null is not a feature"],
        );
        says(r#"{"type": "FeatureCollection"}"#, &["\"features\""]);
        says(r#"{"type": "Topology", "objects": {}, "arcs": []}"#, &["TopoJSON", "ogr2ogr"]);
        says(r#"{"geometryType": "esriGeometryPolygon", "features": []}"#, &["Esri"]);
        says(r#"{"type": 5}"#, &["\"type\" is 5"]);
        says(r#"{"type": "FeatureCollection", "features": ["#, &["EOF", "line 1"]);
        let (open, shut) = ("[".repeat(100_000), "]".repeat(100_000));
        in_feature(&line(&format!("{open}{shut}")), &["nested"]);
        let open = r#"{"type": "GeometryCollection", "geometries": ["#.repeat(100_000);
        in_feature(&format!("{open}{}", "]}".repeat(100_000)), &["nested"]);
    }

    #[test]
    fn texts_one_after_the_other_are_features() {
        let point = |x: i32| {
            format!(
                r#"{{"type":"Feature","properties":{{"x":{x}}},"geometry":{{"type":"Point","coordinates":[{x},1]}}}}"#
            )
        };
        let lines = format!("\u{feff}{}\n{}\n\n", point(1), point(2));
        let sequence = format!("\u{1e}{}\n\u{1e}{}\n", point(1), point(2));
        for text in [lines, sequence] {
            let found = read_text(&text).unwrap();
            let of = |x: f64| Some(Shape::Points(vec![[x, 1.0]]));
            assert_eq!(found.shapes, [of(1.0), of(2.0)]);
            assert!(found.properties[1].has("x"));
        }
        let error = read(&format!("{} and more", point(1))).unwrap_err().to_string();
        assert!(error.contains("line 1 column"), "{error}");
    }

    #[test]
    fn the_system_is_that_of_the_member_crs() {
        let of = |member: &str| {
            read_text(&format!(
                r#"{{"type": "FeatureCollection", "crs": {member}, "features": []}}"#
            ))
            .map(|features| features.crs.map(|crs| crs.to_string()))
            .map_err(|error| error.to_string())
        };
        let named =
            |name: &str| of(&format!(r#"{{"type": "name", "properties": {{"name": "{name}"}}}}"#));
        for (name, code) in [
            ("urn:ogc:def:crs:EPSG::32631", "EPSG:32631"),
            ("urn:ogc:def:crs:EPSG:9.8:32631", "EPSG:32631"),
            ("EPSG:32631", "EPSG:32631"),
            ("epsg:2056", "EPSG:2056"),
            ("http://www.opengis.net/def/crs/EPSG/0/2056", "EPSG:2056"),
            ("urn:ogc:def:crs:OGC:1.3:CRS84", "EPSG:4326"),
            ("urn:ogc:def:crs:OGC::CRS84", "EPSG:4326"),
            ("OGC:CRS84", "EPSG:4326"),
            ("urn:ogc:def:crs,crs:EPSG::26910,crs:EPSG::5703", "EPSG:26910+5703"),
            ("EPSG:26910+5703", "EPSG:26910+5703"),
            (
                "http://www.opengis.net/def/crs-compound?1=http://www.opengis.net/def/crs/EPSG/0/26910&2=http://www.opengis.net/def/crs/EPSG/0/5703",
                "EPSG:26910+5703",
            ),
        ] {
            assert_eq!(named(name), Ok(Some(code.to_owned())), "{name}");
        }
        assert_eq!(of("null"), Ok(None));
        let old = r#"{"type": "EPSG", "properties": {"code": 2056}}"#;
        assert_eq!(of(old), Ok(Some("EPSG:2056".to_owned())));
        assert!(named("ESRI:54009").unwrap_err().contains("\"ESRI:54009\", an unknown system"));
        assert!(of(r#"{"type": "link"}"#).unwrap_err().contains("an unknown system"));
    }

    #[test]
    fn every_form_of_geojson_with_polygons_is_read_and_others_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("areas.geojson");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read_polygons(&path).map(|all| all.shapes).map_err(|error| error.to_string())
        };
        let polygon = r#"{"type":"Polygon","coordinates":[[[0,0,7],[1,0,7],[0,1,7],[0,0,7]]]}"#;
        let wanted: Polygons = vec![vec![vec![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]]];
        let feature = |geometry: &str| {
            format!(r#"{{"type":"Feature","properties":null,"geometry":{geometry}}}"#)
        };
        assert_eq!(read(polygon).unwrap(), std::slice::from_ref(&wanted));
        assert_eq!(read(&feature(polygon)).unwrap(), std::slice::from_ref(&wanted));
        assert_eq!(read(&feature("null")).unwrap(), [Polygons::new()]);
        let both = format!(r#"{{"type":"GeometryCollection","geometries":[{polygon},{polygon}]}}"#);
        assert_eq!(read(&both).unwrap(), [[wanted.clone(), wanted.clone()].concat()]);
        let point = feature(r#"{"type":"Point","coordinates":[1,2]}"#);
        let two =
            format!(r#"{{"type":"FeatureCollection","features":[{},{point}]}}"#, feature(polygon));
        assert!(read(&two).unwrap_err().ends_with("feature 1: a point is not a polygon"));
        assert!(matches!(read_polygons(&path.with_extension("no")), Err(Error::Read { .. })));
    }
}
