//! Points, lines and polygons of FlatGeobuf, shapefiles, GeoParquet and GeoPackages.

use std::path::Path;

use geo_io::{
    Crs, CsvColumns, Features, Filter, Line, Number, PointCloud, Properties, Shape, read_column,
    read_features, read_lines, read_points,
};
use gpu_core::Silent;

/// Reads points with the values of a column.
pub fn points(path: &Path, value: &str) -> Result<PointCloud, String> {
    let columns = CsvColumns::new(["x", "y", value].map(str::to_owned));
    read_points(path, &Filter::default(), &columns, &Silent).map_err(|error| error.to_string())
}

/// The formats that GDAL writes.
const OF_GDAL: &[&str] = &[
    "fgb",
    "shp",
    #[cfg(feature = "geopackage")]
    "gpkg",
];

const OTHERS: &[&str] = &[
    #[cfg(feature = "parquet")]
    "parquet",
];

/// Files that GDAL makes of GeoJSON, one of each format that it writes; none without GDAL.
fn of_gdal(folder: &Path, text: &str) -> Vec<std::path::PathBuf> {
    let json = folder.join("in.geojson");
    std::fs::write(&json, text).unwrap();
    let mut made = Vec::new();
    for &ending in OF_GDAL {
        let path = folder.join("out").with_extension(ending);
        let ran = std::process::Command::new("ogr2ogr").arg(&path).arg(&json).output();
        match ran {
            Ok(ran) if ran.status.success() => made.push(path),
            Ok(ran) => panic!("{}", String::from_utf8_lossy(&ran.stderr)),
            Err(_) => println!("skipped: no ogr2ogr"),
        }
    }
    made
}

fn collection(features: &str) -> String {
    let crs = r#"{"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::32631"}}"#;
    format!(r#"{{"type": "FeatureCollection", "crs": {crs}, "features": [{features}]}}"#)
}

fn feature(value: f64, geometry: &str) -> String {
    format!(
        r#"{{"type": "Feature", "properties": {{"value": {value}, "code": 9007199254740993}}, "geometry": {geometry}}}"#
    )
}

/// A number among properties.
pub fn number(of: &Properties, name: &str) -> Option<Number> {
    of.get(name)?.to_string().parse().ok()
}

/// The features in the order of their values.
fn sorted(features: Features) -> Vec<(f64, Option<Shape>)> {
    let all = features.properties.iter().zip(features.shapes);
    let value = |of: &Properties| number(of, "value").unwrap().to_f64();
    let mut all: Vec<_> = all.map(|(of, shape)| (value(of), shape)).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

#[test]
fn points_come_with_every_bit_their_values_and_their_system() {
    let folder = tempfile::tempdir().unwrap();
    let places: [[f64; 3]; 2] =
        [[500_000.1, 4_000_000.333_333_333_5, 7.1], [0.1 + 0.2, -1e-300, 1e17]];
    let [a, b] = places.map(|[x, y, z]| {
        feature(
            (x * 4.0).round() / 8.0,
            &format!(r#"{{"type": "Point", "coordinates": [{x:e}, {y:e}, {z:e}]}}"#),
        )
    });
    let utm = Crs::parse("EPSG:32631").unwrap();
    for path in of_gdal(folder.path(), &collection(&format!("{a}, {b}"))) {
        for column in ["z", "value"] {
            let cloud = points(&path, column).unwrap();
            let mut found: Vec<_> =
                (0..cloud.len()).map(|i| [cloud.x[i], cloud.y[i], cloud.z[i]]).collect();
            found.sort_by(|a, b| b[0].total_cmp(&a[0]));
            let z = |p: [f64; 3]| if column == "z" { p[2] } else { (p[0] * 4.0).round() / 8.0 };
            let expected = places.map(|p| [p[0], p[1], z(p)]);
            // A shapefile has values as text of few digits.
            assert_eq!(found, expected, "{} {column}", path.display());
            assert!(cloud.crs.as_ref().unwrap().same_as(&utm), "{}", path.display());
        }
        let found = read_features(&path).unwrap();
        assert!(found.properties.iter().all(|of| {
            number(of, "code").is_none_or(|id| id.to_i128() == Some(9_007_199_254_740_993))
        }));
    }
}

#[test]
fn polygons_and_lines_of_gdal_are_those_of_its_geojson() {
    let holed = "[[0,0],[10,0],[10,10],[0,10],[0,0]],[[1,1],[1,2],[2,2],[2,1],[1,1]]";
    let island = "[[1.25,1.25],[1.5,1.25],[1.5,1.5],[1.25,1.25]]";
    let other = "[[20,0],[30,0],[30,10],[20,0]],[[25,1],[26,2],[26,1],[25,1]]";
    let polygons = [
        feature(
            1.0,
            &format!(
                r#"{{"type": "MultiPolygon", "coordinates": [[{holed}],[{island}],[{other}]]}}"#
            ),
        ),
        feature(2.0, "null"),
        feature(3.0, &format!(r#"{{"type": "Polygon", "coordinates": [{holed}]}}"#)),
    ];
    let lines = [
        feature(1.0, r#"{"type": "MultiLineString", "coordinates": [[[0.1,0,1],[10,0,2]]]}"#),
        feature(
            2.0,
            r#"{"type": "MultiLineString", "coordinates": [[[0,0,1],[10,0,2]],[[5,5,5],[6,6,6.5],[7,7,7]]]}"#,
        ),
    ];
    let folder = tempfile::tempdir().unwrap();
    for path in of_gdal(folder.path(), &collection(&polygons.join(","))) {
        let mut found = sorted(read_features(&path).unwrap());
        let mut expected = sorted(read_features(&folder.path().join("in.geojson")).unwrap());
        // The FlatGeobuf writer of GDAL leaves out what has no geometry.
        if found.len() == 2 {
            expected.remove(1);
        }
        for (_, shape) in found.iter_mut().chain(&mut expected) {
            shape.iter_mut().for_each(turn);
        }
        assert_eq!(found, expected, "{}", path.display());
        let error = points(&path, "value").unwrap_err();
        assert!(error.contains("row 1: its geometry is a polygon, not a point"), "{error}");
    }
    let folder = tempfile::tempdir().unwrap();
    for path in of_gdal(folder.path(), &collection(&lines.join(","))) {
        let of = |path: &Path| {
            let lines = read_lines(path).unwrap().lines.into_iter();
            let mut lines: Vec<_> =
                lines.map(|Line { places, heights, .. }| (places, heights)).collect();
            lines.sort_by_key(|line| format!("{line:?}"));
            lines
        };
        assert_eq!(of(&path), of(&folder.path().join("in.geojson")), "{}", path.display());
    }
}

/// Shapefiles have rings the other way round: each begins with its least vertex, and goes counterclockwise.
fn turn(shape: &mut Shape) {
    let Shape::Polygons(polygons) = shape else { return };
    for ring in polygons.iter_mut().flatten() {
        ring.pop();
        let least = (0..ring.len()).min_by(|&a, &b| ring[a].partial_cmp(&ring[b]).unwrap());
        ring.rotate_left(least.unwrap());
        if ring[1] > ring[ring.len() - 1] {
            ring[1..].reverse();
        }
        ring.push(ring[0]);
    }
}

#[test]
fn multi_points_are_points_and_columns_are_named_as_in_csv() {
    let folder = tempfile::tempdir().unwrap();
    let two = feature(5.0, r#"{"type": "MultiPoint", "coordinates": [[1, 2], [3, 4]]}"#);
    for path in of_gdal(folder.path(), &collection(&two)) {
        let cloud = points(&path, "VALUE").unwrap();
        assert_eq!((&cloud.x[..], &cloud.z[..]), (&[1.0, 3.0][..], &[5.0, 5.0][..]));
        let error = points(&path, "z").unwrap_err();
        assert!(error.contains("row 1: its point has no height"), "{error}");
        let error = points(&path, "depth").unwrap_err();
        assert!(error.contains("no column \"depth\"; its columns are"), "{error}");
        let columns = CsvColumns::new(["lon", "lat", "lat"].map(str::to_owned));
        let columns = columns.values(["value".to_owned(), "none".to_owned()]);
        let error = read_points(&path, &Filter::default(), &columns, &Silent).unwrap_err();
        assert!(error.to_string().contains("no column \"none\"; its columns are"), "{error}");
    }
}

#[test]
fn damaged_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for &ending in OF_GDAL.iter().chain(OTHERS) {
        let path = folder.path().join("bad").with_extension(ending);
        assert!(points(&path, "z").unwrap_err().contains("cannot read"), "{ending}");
        std::fs::write(&path, "").unwrap();
        assert!(points(&path, "z").unwrap_err().ends_with("is empty"), "{ending}");
        std::fs::write(&path, [b'x'; 200]).unwrap();
        let error = points(&path, "z").unwrap_err();
        assert!(error.contains("is not a"), "{error}");
    }
    let point = feature(1.0, r#"{"type": "Point", "coordinates": [1, 2, 3]}"#);
    let all = vec![point; 40].join(",");
    for path in of_gdal(folder.path(), &collection(&all)) {
        let bytes = std::fs::read(&path).unwrap();
        for part in 1..16 {
            std::fs::write(&path, &bytes[..bytes.len() * part / 16]).unwrap();
            let error = points(&path, "z").unwrap_err();
            assert!(error.contains("out.") && !error.contains('\n'), "{error}");
        }
    }
}

/// 9007199254740993 is 2^53 + 1, which no float of 64 bits holds.
#[test]
fn whole_numbers_that_floats_may_have_rounded_are_no_ids_and_noted_as_values() {
    let folder = tempfile::tempdir().unwrap();
    let at = r#"{"type": "Point", "coordinates": [1, 2, 3]}"#;
    let far = feature(123_456_789_012_345_680.0, at).replace("680,", "680.5,");
    let text = collection(&format!("{},{far}", feature(0.5, at)));
    for path in of_gdal(folder.path(), &text) {
        let codes = read_column(&path, "code").unwrap();
        assert_eq!(codes, [9_007_199_254_740_993_u64; 2], "{}", path.display());
        let error = read_column(&path, "value").unwrap_err().to_string();
        for words in ["row 2: its column \"value\" has floats", "12345678901234568"] {
            assert!(error.contains(words), "{error}");
        }
        let notes = points(&path, "code").unwrap().notes;
        let expected = "beyond 2^53 that were rounded, since numbers are floats of 64 bits here: 2, the first \
                        9007199254740993 in row 1, column \"code\"";
        assert!(notes.iter().any(|note| note.contains(expected)), "{notes:?}");
        assert!(points(&path, "value").unwrap().notes.iter().all(|note| !note.contains("2^53")));
    }
}

#[test]
fn columns_of_the_wanted_names_are_noted_where_geometries_give_the_places() {
    let folder = tempfile::tempdir().unwrap();
    let at = r#""geometry": {"type": "Point", "coordinates": [1, 2, 3]}"#;
    for (properties, is_noted) in [(r#"{"x": 7, "y": 8}"#, true), (r#"{"x": 7}"#, false)] {
        let feature = format!(r#"{{"type": "Feature", "properties": {properties}, {at}}}"#);
        for path in of_gdal(folder.path(), &collection(&feature)) {
            let read = points(&path, "z").unwrap();
            assert_eq!((read.x[0], read.y[0]), (1.0, 2.0));
            let is_said = read.notes.iter().any(|note| note.contains("not of its columns \"x\""));
            assert_eq!(is_said, is_noted, "{}: {:?}", path.display(), read.notes);
            std::fs::remove_file(path).unwrap();
        }
    }
}

/// JSON's numbers have any length; readers of JSON round them.
#[test]
fn properties_beyond_64_bits_keep_their_digits_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("in.geojson"), folder.path().join("copy.geojson"));
    let geometry = r#"{"type": "Point", "coordinates": [123456789012345678901234567890, 2]}"#;
    let properties = r#"{"id": 340282366920938463463374607431768211455, "of": [-123456789012345678901], "n": 18446744073709551615, "real": 1.5e300}"#;
    let feature =
        format!(r#"{{"type": "Feature", "properties": {properties}, "geometry": {geometry}}}"#);
    std::fs::write(&path, feature).unwrap();
    let read = read_features(&path).unwrap();
    assert_eq!(read.shapes, [Some(Shape::Points(vec![[123456789012345678901234567890.0, 2.0]]))]);
    let note = "whole numbers beyond 64 bits become text: 2, the first 340282366920938463463374607431768211455";
    assert_eq!(read.notes, [note]);
    let features = read.properties.into_iter().zip(read.shapes.into_iter().flatten());
    geo_io::write_shapes(&copy, features, None).unwrap();
    let text = std::fs::read_to_string(&copy).unwrap();
    for kept in [
        r#""340282366920938463463374607431768211455""#,
        r#"["-123456789012345678901"]"#,
        r#"18446744073709551615"#,
        "1.5e+300",
    ] {
        assert!(text.contains(kept), "{text}");
    }
    // An error has its place in the file, though quotes were added before it.
    std::fs::write(&path, r#"{"id": 123456789012345678901, "a": nan}"#).unwrap();
    let error = read_features(&path).unwrap_err().to_string();
    assert!(error.contains("line 1 column 3"), "{error}");
}

#[test]
fn features_of_flatgeobuf_may_end_anywhere_in_a_buffer() {
    use flatgeobuf::geozero::{ColumnValue, GeomProcessor, PropertyProcessor as _, error};
    use flatgeobuf::{ColumnType, FgbWriter, FgbWriterOptions, GeometryType, GeozeroGeometry};
    struct Point(f64, f64);
    impl GeozeroGeometry for Point {
        fn process_geom<P: GeomProcessor>(&self, processor: &mut P) -> error::Result<()> {
            processor.point_begin(0)?;
            processor.xy(self.0, self.1, 0)?;
            processor.point_end(0)
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let options = FgbWriterOptions { write_index: false, ..Default::default() };
    let mut writer =
        FgbWriter::create_with_options("points", GeometryType::Point, options).unwrap();
    writer.add_column("Höhe", ColumnType::Double, |_, _| {});
    for i in 0..3000_u32 {
        let (i, point) = (f64::from(i), Point(f64::from(i), 1.0));
        let field = ColumnValue::Double(i + 0.5);
        writer
            .add_feature_geom(point, |fields| {
                fields.property(0, "Höhe", &field).unwrap();
            })
            .unwrap();
    }
    let mut whole = Vec::new();
    writer.write(&mut whole).unwrap();
    let size = |at: usize| u32::from_le_bytes(whole[at..at + 4].try_into().unwrap()) as usize;
    let first = 12 + size(8);
    let mut file = whole[..first].to_vec();
    // Zeros at the end of every second feature, so that features end at all multiples of 4.
    let (mut at, mut i) = (first, 0);
    while at < whole.len() {
        let end = at + 4 + size(at);
        let more = 4 * (i % 2);
        file.extend((size(at) as u32 + more).to_le_bytes());
        file.extend(&whole[at + 4..end]);
        file.resize(file.len() + more as usize, 0);
        (at, i) = (end, i + 1);
    }
    let path = folder.path().join("a.fgb");
    std::fs::write(&path, &file).unwrap();
    // Upper and lower case are alike beyond ASCII too.
    let all = points(&path, "HÖHE").unwrap();
    assert_eq!(all.x.len(), 3000);
    assert!((0..3000).all(|i| all.x[i] == i as f64 && all.z[i] == i as f64 + 0.5));
    // The last feature is cut short.
    file.truncate(file.len() - 8);
    std::fs::write(&path, &file).unwrap();
    let error = points(&path, "höhe").unwrap_err();
    assert!(error.contains("promises 3000 features and holds 2999"), "{error}");
}
