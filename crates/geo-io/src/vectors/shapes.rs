//! Points, lines and polygons from GeoJSON.

mod plane;
mod with_heights;

use std::path::Path;

use geojson::JsonObject;
use serde_json::Value;

use crate::vectors::json_text::documents;
use crate::{Crs, Error, Number, Polygons, Result};
pub use with_heights::{Line, Lines, read_lines};

/// What a feature is, in (x, y). A ring of a polygon ends with the place that it began with.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Shape {
    /// Places.
    Points(Vec<[f64; 2]>),
    /// Lines from place to place.
    Lines(Vec<Vec<[f64; 2]>>),
    /// Polygons, each its outer ring and its holes.
    Polygons(Polygons),
    /// All of these together.
    Several(Vec<Shape>),
}

/// The features of a GeoJSON file, in their order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Features<S = Option<Shape>> {
    /// What each is: `None`, or no polygons, for one without geometry, or whose geometry has no places.
    pub shapes: Vec<S>,
    /// The properties of each.
    pub properties: Vec<Properties>,
    /// The coordinate system that the file states in the member `crs`, which GDAL, QGIS and
    /// [`write_polygons`](crate::write_polygons) write for projected coordinates. Without it RFC 7946 has longitudes and latitudes
    /// on WGS 84.
    pub crs: Option<Crs>,
    /// The features with a hole outside of its outer ring, as [`read_polygons`] takes it: their numbers from 0.
    pub outside: Vec<usize>,
}

/// The properties of a feature, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Properties(pub(crate) JsonObject);

impl Properties {
    /// Sets a property to a number, in place of what has the name, as [`Number::to_json`] has it: a whole number that fits 64
    /// bits as an integer with all of its digits, an infinity or NaN as a string.
    pub fn set(&mut self, name: &str, number: impl Into<Number>) {
        self.0.insert(name.to_owned(), number.into().to_json());
    }

    /// Whether a property has the name.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

impl<N: Into<Number>> From<Vec<(&str, N)>> for Properties {
    fn from(numbers: Vec<(&str, N)>) -> Self {
        let mut properties = Self::default();
        numbers.into_iter().for_each(|(name, number)| properties.set(name, number));
        properties
    }
}

/// Reads the features of a GeoJSON file; a geometry by itself is one feature, and texts of JSON one after the other
/// (newline-delimited GeoJSON, RFC 8142) are read as well. Heights are left out, and rings that are not closed are
/// closed.
///
/// # Errors
/// [`Error::Read`], [`Error::Empty`], [`Error::NotA`] for what is no JSON object, and [`Error::Malformed`] for what is no GeoJSON:
/// it names the feature, from 0, and in it the ring or line and the position, from 0.
pub fn read_features(path: &Path) -> Result<Features> {
    let (shapes, properties, outside) = (Vec::new(), Vec::new(), Vec::new());
    let mut features = Features { shapes, properties, crs: None, outside };
    for document in documents(path)? {
        features.add(document).map_err(|reason| malformed(path, reason))?;
    }
    Ok(features)
}

/// Reads the polygons of each feature of a GeoJSON file: Polygon, MultiPolygon, or collections of them; a feature
/// without geometry has none. Holes that lie outside of their outer ring, in the plane of the coordinates, become polygons.
///
/// # Errors
/// As [`read_features`], and [`Error::Malformed`] for a feature with points or lines.
pub fn read_polygons(path: &Path) -> Result<Features<Polygons>> {
    let Features { shapes, properties, crs, mut outside } = read_features(path)?;
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
    Ok(Features { shapes, properties, crs, outside })
}

/// Adds the polygons of a shape.
fn collect(shape: Shape, polygons: &mut Polygons) -> Result<(), &'static str> {
    match shape {
        Shape::Polygons(more) => polygons.extend(more),
        Shape::Several(parts) => parts.into_iter().try_for_each(|part| collect(part, polygons))?,
        Shape::Points(_) => return Err("a point is no polygon"),
        Shape::Lines(_) => return Err("a line is no polygon"),
    }
    Ok(())
}

/// A polygon, and each of its holes that has no place in common with the outer ring.
fn with_outside_apart(rings: Vec<Vec<[f64; 2]>>) -> Polygons {
    let outer = rings.first().cloned().unwrap_or_default();
    let mut polygons = vec![Vec::new()];
    for (i, ring) in rings.into_iter().enumerate() {
        match i == 0 || plane::meets(&outer, &ring) {
            true => polygons[0].push(ring),
            false => polygons.push(vec![ring]),
        }
    }
    polygons
}

fn malformed(path: &Path, reason: String) -> Error {
    Error::Malformed { path: path.to_owned(), reason }
}

impl Features {
    /// Adds those of a document.
    fn add(&mut self, document: Value) -> Result<(), String> {
        let Value::Object(mut object) = document else {
            return Err(format!("{} is no GeoJSON object", shown(&document)));
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
        let number = self.shapes.len();
        let (shape, properties) =
            read(feature).map_err(|reason| format!("feature {number}: {reason}"))?;
        self.shapes.push(shape);
        self.properties.push(Properties(properties));
        Ok(())
    }
}

/// A feature, or a geometry by itself.
fn read(value: Value) -> Result<(Option<Shape>, JsonObject), String> {
    let Value::Object(mut object) = value else {
        return Err(format!("{} is no feature", shown(&value)));
    };
    if kind(&object)? != "Feature" {
        return Ok((shape(&object)?, JsonObject::new()));
    }
    let shape = match object.get("geometry") {
        None | Some(Value::Null) => None,
        Some(Value::Object(geometry)) => shape(geometry)?,
        Some(other) => return Err(format!("its geometry is {}", shown(other))),
    };
    let properties = match object.remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => JsonObject::new(),
    };
    Ok((shape, properties))
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
fn shape(geometry: &JsonObject) -> Result<Option<Shape>, String> {
    let kind = kind(geometry)?;
    if kind == "GeometryCollection" {
        let Some(Value::Array(parts)) = geometry.get("geometries") else {
            return Err("its GeometryCollection has no list \"geometries\"".to_owned());
        };
        let of = |part: &Value| match part {
            Value::Object(geometry) => shape(geometry),
            other => Err(format!("{} is no geometry", shown(other))),
        };
        let parts = parts.iter().filter_map(|part| of(part).transpose());
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        return Ok((!parts.is_empty()).then_some(Shape::Several(parts)));
    }
    let at = geometry.get("coordinates").unwrap_or(&Value::Null);
    let shape = match kind {
        "Point" if at.as_array().is_some_and(Vec::is_empty) => Shape::Points(vec![]),
        "Point" => Shape::Points(vec![place(at)?]),
        "MultiPoint" => Shape::Points(places(at)?),
        "LineString" => Shape::Lines(some(vec![places(at)?])),
        "MultiLineString" => Shape::Lines(some(all("line", at, places)?)),
        "Polygon" => Shape::Polygons(some(vec![rings(at)?])),
        "MultiPolygon" => Shape::Polygons(some(all("part", at, rings)?)),
        "FeatureCollection" | "Feature" => return Err(format!("a {kind} stands in a feature")),
        _ => return Err(format!("\"{kind}\" is no type of GeoJSON")),
    };
    let is_empty = match &shape {
        Shape::Points(places) => places.is_empty(),
        Shape::Lines(lines) => lines.is_empty(),
        Shape::Polygons(polygons) => polygons.is_empty(),
        Shape::Several(_) => false,
    };
    Ok((!is_empty).then_some(shape))
}

/// The lists that are not empty.
fn some<T>(lists: Vec<Vec<T>>) -> Vec<Vec<T>> {
    lists.into_iter().filter(|list| !list.is_empty()).collect()
}

/// Each element of a list.
fn all<T>(
    what: &str,
    value: &Value,
    each: impl Fn(&Value) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let Value::Array(items) = value else {
        return Err(format!("{} is no list of {what}s", shown(value)));
    };
    let of = |(i, item)| each(item).map_err(|reason| format!("{what} {i}: {reason}"));
    items.iter().enumerate().map(of).collect()
}

fn rings(value: &Value) -> Result<Vec<Vec<[f64; 2]>>, String> {
    let ring = |value: &Value| {
        let mut ring = places(value)?;
        if let Some(&first) = ring.first().filter(|first| ring.last() != Some(first)) {
            ring.push(first);
        }
        Ok(once(ring))
    };
    Ok(some(all("ring", value, ring)?))
}

/// Keeps one round of a closed ring that goes round the same vertices several times. The rule of odd and even would let such a ring
/// hold nothing after an even number of rounds.
fn once(ring: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    let mut cycle = ring.clone();
    cycle.dedup();
    cycle.pop();
    // By the lengths of the longest proper prefixes that are suffixes too (Knuth, Morris and Pratt 1977).
    let mut prefixes = vec![0; cycle.len()];
    for i in 1..cycle.len() {
        let mut length = prefixes[i - 1];
        while length > 0 && cycle[i] != cycle[length] {
            length = prefixes[length - 1];
        }
        prefixes[i] = length + usize::from(cycle[i] == cycle[length]);
    }
    let period = cycle.len() - prefixes.last().copied().unwrap_or(0);
    if cycle.is_empty() || period == cycle.len() || !cycle.len().is_multiple_of(period) {
        return ring;
    }
    cycle.truncate(period);
    cycle.push(cycle[0]);
    cycle
}

fn places(value: &Value) -> Result<Vec<[f64; 2]>, String> {
    all("position", value, place)
}

/// Two numbers; JSON has none that is not finite.
fn place(value: &Value) -> Result<[f64; 2], String> {
    let number = |i: usize| value.get(i).and_then(Value::as_f64);
    match (number(0), number(1)) {
        (Some(x), Some(y)) => Ok([x, y]),
        _ => Err(format!("{} is no position: expected two numbers, as [8.5, 47.4]", shown(value))),
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
    let of_name = |name: &str| {
        // Of a compound system: urn:ogc:def:crs,crs:EPSG::26910,crs:EPSG::5703, or two addresses behind a third.
        let parts: Vec<&str> = match name.contains("crs-compound") {
            true => name.split(['?', '&']).skip(1).collect(),
            false => name.split(",crs:").skip(1).collect(),
        };
        if let [horizontal, vertical] = parts[..]
            && !name.contains('[')
        {
            let is_listed = |part: &&str| part.to_ascii_uppercase().contains("EPSG");
            let code = |part: &str| part.rsplit([':', '/']).next().unwrap_or("").to_owned();
            let both = format!("EPSG:{}+{}", code(horizontal), code(vertical));
            return Crs::parse(&both).ok().filter(|_| parts.iter().all(is_listed));
        }
        let words: Vec<&str> = name.split([':', '/']).filter(|word| !word.is_empty()).collect();
        match words[..] {
            _ if name.contains('[') => Crs::from_wkt(name),
            [.., "CRS84"] => Crs::parse("EPSG:4326").ok(),
            [.., code] if words.iter().any(|word| word.eq_ignore_ascii_case("EPSG")) => {
                Crs::parse(&format!("EPSG:{code}")).ok()
            }
            _ => None,
        }
    };
    let found = match (name, code) {
        (Some(name), _) => of_name(name),
        (None, Some(code)) => Crs::parse(&format!("EPSG:{code}")).ok(),
        (None, None) => None,
    };
    let words = || {
        let stated = name.map_or_else(|| member.to_string(), |name| format!("{name:?}"));
        format!(
            "its member \"crs\" states {stated}, which is not known: write the file in a system of the EPSG list, as by \
             ogr2ogr -t_srs EPSG:4326"
        )
    };
    found.map(Some).ok_or_else(words)
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
        in_feature(&line("[[2, 3], [1]]"), &["feature 1: position 1: [1] is no position"]);
        in_feature(&line(r#"[["2", "3"], [1, 1]]"#), &["feature 1: position 0: [\"2\",\"3\"]"]);
        in_feature(&line("[1, 2]"), &["feature 1: position 0: 1 is no position"]);
        in_feature(&line("null"), &["feature 1: null is no list of positions"]);
        in_feature(&line("[[NaN, 1], [2, 3]]"), &["line 1 column", "NaN"]);
        in_feature(&line("[[1, -Infinity], [2, 3]]"), &["line 1 column", "Infinity"]);
        in_feature(&line("[[1, 1e999], [2, 3]]"), &["number out of range"]);
        let rings = "[[[0, 0], [1, 0], [0, 1], [0, 0]], [[0, 0], [null, 1]]]";
        let polygon = format!(r#"{{"type": "MultiPolygon", "coordinates": [{rings}]}}"#);
        in_feature(&polygon, &["feature 1: part 0: ring 1: position 1: [null,1]"]);
        in_feature("{}", &["feature 1: it has no \"type\""]);
        in_feature("[1, 2]", &["feature 1: its geometry is [1,2]"]);
        in_feature(r#"{"type": "Circle"}"#, &["feature 1: \"Circle\" is no type of GeoJSON"]);
        says(
            r#"{"type": "FeatureCollection", "features": [null]}"#,
            &["feature 0: null is no feature"],
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
    fn a_ring_that_goes_round_several_times_is_taken_once() {
        let triangle = vec![[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]];
        let first = &triangle[..1];
        let closed = [&triangle, first].concat();
        for times in 1..4 {
            assert_eq!(once([&triangle.repeat(times), first].concat()), closed);
            // Closed anew each time.
            assert_eq!(once(closed.repeat(times)), closed);
        }
        // Twice the way, but another one the second time.
        let other = [&triangle[..], &[[0.0, 0.0], [0.0, 4.0], [4.0, 0.0], [0.0, 0.0]]].concat();
        assert_eq!(once(other.clone()), other);
        for short in [vec![], vec![[1.0, 2.0]]] {
            assert_eq!(once(short.clone()), short);
        }
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
        assert!(named("ESRI:54009").unwrap_err().contains("\"ESRI:54009\", which is not known"));
        assert!(of(r#"{"type": "link"}"#).unwrap_err().contains("not known"));
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
        assert!(read(&two).unwrap_err().ends_with("feature 1: a point is no polygon"));
        assert!(matches!(read_polygons(&path.with_extension("no")), Err(Error::Read { .. })));
    }
}
