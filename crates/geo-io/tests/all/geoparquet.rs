//! GeoParquet out and in, and files of other writers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use geo_io::{
    ColumnType, Crs, Number, Shape, read_features, read_lines, read_polygons, write_geoparquet,
    write_geoparquet_features, write_geoparquet_mesh,
};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::Type;

use crate::features::{number, points};

fn square(x: f64) -> Vec<[f64; 2]> {
    vec![[x, 0.1], [x + 0.7, 0.1], [x + 0.7, 1.1], [x, 0.1]]
}

/// The head of the first page has a list that the format does not know, of two thousand million numbers.
#[test]
fn what_a_head_of_a_page_claims_ends_with_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let rows = (0..3).map(|i| (vec![Number::from(i as u64)], Shape::Points(vec![[1.0, 2.0]])));
    write_geoparquet(&path, &[("id", ColumnType::Whole)], rows, None).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4..11].copy_from_slice(&[0xf9, 0xf7, 0xff, 0xff, 0xff, 0xff, 0x07]);
    std::fs::write(&path, bytes).unwrap();
    let error = read_features(&path).unwrap_err().to_string();
    assert!(error.contains("a.parquet") && error.contains("ends within"), "{error}");
}

#[test]
fn shapes_come_back_with_every_bit_their_numbers_and_their_system() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let shapes = [
        Shape::Points(vec![[0.1 + 0.2, -1e-300]]),
        Shape::Points(vec![[1.0, 2.0], [1e17, 4.0]]),
        Shape::Lines(vec![vec![[0.3, 0.5], [1.0, 2.0]]]),
        Shape::Lines(vec![vec![[4.0, 0.5], [1.0, 2.0]], vec![[1.0, 1.0], [2.0, 2.0]]]),
        Shape::Polygons(vec![vec![square(0.0), square(0.01)]]),
        Shape::Polygons(vec![vec![square(0.0)], vec![square(9.0)]]),
        Shape::Several(vec![Shape::Points(vec![[1.0, 2.0]]), Shape::Lines(vec![square(3.0)])]),
    ];
    let numbers = |i: usize| vec![Number::from(i as u64), Number::from(i as f64 / 3.0)];
    let rows = shapes.iter().enumerate().map(|(i, shape)| (numbers(i), shape.clone()));
    let columns = [("id", ColumnType::Whole), ("height", ColumnType::Real)];
    for system in ["EPSG:32631", "EPSG:26910+5703", "EPSG:4326", "EPSG:2056"] {
        let crs = Crs::parse(system).unwrap();
        write_geoparquet(&path, &columns, rows.clone(), Some(&crs)).unwrap();
        let found = read_features(&path).unwrap();
        assert_eq!(found.crs, Some(crs));
        assert_eq!(found.shapes, shapes.clone().map(Some));
        for (i, of) in found.properties.iter().enumerate() {
            assert_eq!(number(of, "id"), Some(Number::from(i as u64)));
            assert_eq!(number(of, "height"), Some(Number::from(i as f64 / 3.0)));
        }
    }
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
    assert!(read_features(&path).unwrap_err().to_string().contains("did not finish"));
    write_geoparquet(&path, &columns, rows.clone().take(0), None).unwrap();
    let empty = read_features(&path).unwrap();
    assert_eq!((empty.shapes, empty.crs), (vec![], None));
    assert_eq!(points(&path, "height").unwrap().len(), 0);
    let bad = [(numbers(0), Shape::Points(vec![[f64::NAN, 1.0]]))];
    let bad = write_geoparquet(&path.with_extension("2.parquet"), &columns, bad, None);
    assert!(bad.unwrap_err().to_string().contains("finite"));
}

#[test]
fn many_rows_are_several_groups() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let count = 150_000_u32;
    let row = |i: u32| {
        let x = f64::from(i) / 7.0;
        (vec![Number::from(x)], Shape::Points(vec![[x, -x]]))
    };
    write_geoparquet(&path, &[("v", ColumnType::Real)], (0..count).map(row), None).unwrap();
    let found = points(&path, "v").unwrap();
    assert_eq!(found.len(), count as usize);
    assert!((0..count).all(|i| {
        let (x, i) = (f64::from(i) / 7.0, i as usize);
        (found.x[i], found.y[i], found.z[i]) == (x, -x, x)
    }));
}

#[test]
fn properties_become_columns_of_their_types() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("in.geojson");
    let feature = |properties: &str| {
        format!(
            r#"{{"type": "Feature", "properties": {properties}, "geometry": {{"type": "Point", "coordinates": [1, 2]}}}}"#
        )
    };
    let features = [
        r#"{"k": 0.5, "l": "NaN", "m": 1, "a": 1, "b": 1, "c": true, "d": "x", "e": 18446744073709551615, "f": null, "g": 1, "h": 9007199254740993, "i": -1, "j": 9007199254740992, "geometry": 3}"#,
        r#"{"k": "NaN", "l": "-inf", "m": "x", "a": 2, "b": 1.5, "c": false, "d": "y", "e": 1, "g": "z", "h": 1.5, "i": 18446744073709551615, "j": 1.5, "list": [1, 2]}"#,
        r#"{"k": "inf", "m": "NaN"}"#,
    ];
    let text = features.map(feature).join(",");
    std::fs::write(&json, format!(r#"{{"type": "FeatureCollection", "features": [{text}]}}"#))
        .unwrap();
    let given = read_features(&json).unwrap();
    let path = folder.path().join("out.parquet");
    let rows = given.properties.iter().cloned().zip(given.shapes.iter().flatten().cloned());
    write_geoparquet_features(&path, rows, None).unwrap();
    let found = read_features(&path).unwrap();
    let file = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let kind = |name: &str| {
        let column = schema.columns().iter().find(|column| column.name() == name);
        column.unwrap().physical_type()
    };
    // Floats may be no number, and texts may have the words for that.
    let kinds = ["k", "l", "m"].map(kind);
    assert_eq!(kinds, [Physical::DOUBLE, Physical::DOUBLE, Physical::BYTE_ARRAY]);
    for (name, texts) in [
        ("k", ["0.5", "\"NaN\"", "\"inf\""]),
        ("l", ["\"NaN\"", "\"-inf\"", "null"]),
        ("m", ["\"1\"", "\"x\"", "\"NaN\""]),
        ("a", ["1", "2", "null"]),
        ("b", ["1", "1.5", "null"]),
        ("c", ["true", "false", "null"]),
        ("d", ["\"x\"", "\"y\"", "null"]),
        ("e", ["18446744073709551615", "1", "null"]),
        ("f", ["null"; 3]),
        ("g", ["\"1\"", "\"z\"", "null"]),
        // 2^53 + 1 and 2^64 - 1 are no floats; 2^53 is one.
        ("h", ["\"9007199254740993\"", "\"1.5\"", "null"]),
        ("i", ["\"-1\"", "\"18446744073709551615\"", "null"]),
        ("j", ["9007199254740992", "1.5", "null"]),
        ("list", ["null", "\"[1,2]\"", "null"]),
        ("geometry_value", ["3", "null", "null"]),
    ] {
        let all = found.properties.iter().map(|of| of.get(name).unwrap().to_string());
        assert_eq!(all.collect::<Vec<_>>(), texts, "{name}");
    }
}

#[test]
fn ids_of_features_become_a_column_unless_a_property_has_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let [json, path] = ["in.geojson", "out.parquet"].map(|name| folder.path().join(name));
    let column = |properties: &str, name: &str| {
        let feature = |id: &str| {
            format!(
                r#"{{"type": "Feature", "id": {id}, "properties": {properties}, "geometry": {{"type": "Point", "coordinates": [1, 2]}}}}"#
            )
        };
        let features = ["7", "\"b\"", "null"].map(feature).join(",");
        let text = format!(r#"{{"type": "FeatureCollection", "features": [{features}]}}"#);
        std::fs::write(&json, text).unwrap();
        let given = read_features(&json).unwrap();
        let rows = given.properties.into_iter().zip(given.shapes.into_iter().flatten());
        write_geoparquet_features(&path, rows, None).unwrap();
        let found = read_features(&path).unwrap().properties;
        found.iter().map(|of| of.get(name).unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(column(r#"{"a": 1}"#, "id"), ["\"7\"", "\"b\"", "null"]);
    assert_eq!(column(r#"{"a": 1, "ID": 5}"#, "ID"), ["5"; 3]);
}

#[test]
fn triangles_have_their_heights() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mesh.parquet");
    let vertices = [[0.0, 0.0, 1.5], [4.0, 0.0, 2.0], [4.0, 4.0, 2.5]];
    write_geoparquet_mesh(&path, &vertices, &[[0, 1, 2]], None).unwrap();
    let polygons = read_polygons(&path).unwrap();
    assert_eq!(polygons.shapes, [vec![vec![vec![[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 0.0]]]]]);
    let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
    assert!(text.contains("Polygon Z"));
    let error = write_geoparquet_mesh(&path, &vertices, &[[0, 1, 3]], None).unwrap_err();
    assert!(error.to_string().contains("expected 4"), "{error}");
}

/// A file of a schema, with "geo" if it is given, and columns of floats and bytes.
fn written(folder: &Path, schema: &str, geo: Option<&str>, columns: &[Column]) -> PathBuf {
    let schema = parse_message_type(schema).unwrap();
    written_by(folder, schema, geo, columns)
}

fn written_by(folder: &Path, schema: Type, geo: Option<&str>, columns: &[Column]) -> PathBuf {
    let path = folder.join("other.parquet");
    let geo = geo.map(|text| vec![KeyValue::new("geo".to_owned(), text.to_owned())]);
    let properties = WriterProperties::builder().set_key_value_metadata(geo).build();
    let file = std::fs::File::create(&path).unwrap();
    let mut file = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).unwrap();
    let mut group = file.next_row_group().unwrap();
    for column in columns {
        let mut writer = group.next_column().unwrap().unwrap();
        match column {
            Column::Ints(values) => {
                writer.typed::<Int32Type>().write_batch(values, None, None).map(drop).unwrap();
            }
            Column::Longs(values) => {
                writer.typed::<Int64Type>().write_batch(values, None, None).map(drop).unwrap();
            }
            Column::Floats(values, levels, repeats) => {
                let writer = writer.typed::<DoubleType>();
                writer.write_batch(values, *levels, *repeats).unwrap();
            }
            Column::Bytes(values, levels) => {
                let values: Vec<_> = values.iter().map(|v| v.clone().into()).collect();
                writer.typed::<ByteArrayType>().write_batch(&values, *levels, None).unwrap();
            }
        }
        writer.close().unwrap();
    }
    group.close().unwrap();
    file.close().unwrap();
    path
}

enum Column<'a> {
    Ints(Vec<i32>),
    Longs(Vec<i64>),
    Floats(&'a [f64], Option<&'a [i16]>, Option<&'a [i16]>),
    Bytes(&'a [Vec<u8>], Option<&'a [i16]>),
}

fn geo(encoding: &str, rest: &str) -> String {
    format!(
        r#"{{"version": "1.1.0", "primary_column": "geometry", "columns": {{"geometry": {{"encoding": "{encoding}", "geometry_types": []{rest}}}}}}}"#
    )
}

/// As FlatGeobuf and GeoPackage have times.
#[test]
fn times_of_features_are_texts() {
    let folder = tempfile::tempdir().unwrap();
    let schema = "message m { required binary geometry; required int64 t (TIMESTAMP(MICROS,false));
        required int64 u (TIMESTAMP(MILLIS,true)); required int32 d (DATE); required int64 o (TIME(NANOS,false)); }";
    let longs = |value: i64| Column::Longs(vec![value]);
    let columns = [
        Column::Bytes(&[wkb(1.0, 2.0)], None),
        longs(1_577_934_245_600_000),
        longs(1_577_934_245_600),
        Column::Ints(vec![18_263]),
        longs(45_296_000_000_007),
    ];
    let path = written(folder.path(), schema, Some(&geo("WKB", "")), &columns);
    let found = read_features(&path).unwrap();
    for (name, text) in [
        ("t", "2020-01-02T03:04:05.6"),
        ("u", "2020-01-02T03:04:05.6Z"),
        ("d", "2020-01-02"),
        ("o", "12:34:56.000000007"),
    ] {
        assert_eq!(found.properties[0].get(name).unwrap().as_str(), Some(text), "{name}");
    }
}

#[test]
fn points_of_columns_of_coordinates_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let separated =
        "message m { optional group geometry { required double x; required double y; } }";
    let (x, y) = ([0.1, 0.2], [5.0, 6.0]);
    let there = [1, 0, 1];
    let columns = [Column::Floats(&x, Some(&there), None), Column::Floats(&y, Some(&there), None)];
    let path = written(folder.path(), separated, Some(&geo("point", "")), &columns);
    let found = read_features(&path).unwrap();
    let at = |x, y| Some(Shape::Points(vec![[x, y]]));
    assert_eq!(found.shapes, [at(0.1, 5.0), None, at(0.2, 6.0)]);
    assert_eq!(found.crs, Some(Crs::parse("EPSG:4326").unwrap()));
    assert!(points(&path, "y").unwrap_err().contains("row 2: it has no geometry"));
    let interleaved = "message m { optional group geometry (LIST) { repeated group list { required double element; } } }";
    let floats =
        [Column::Floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], Some(&[2; 6]), Some(&[0, 1, 1, 0, 1, 1]))];
    let path = written(
        folder.path(),
        interleaved,
        Some(&geo("geoarrow.point", r#", "crs": null"#)),
        &floats,
    );
    let found = points(&path, "z").unwrap();
    assert_eq!((found.x, found.y, found.z), (vec![1.0, 4.0], vec![2.0, 5.0], vec![3.0, 6.0]));
    assert_eq!(found.crs, None);
}

#[test]
fn lines_of_columns_of_coordinates_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let schema = "message m { optional group geometry (LIST) { repeated group list { required group element {
        required double x; required double y; required double z; } } } }";
    // Two vertices, none, no line, three.
    let (levels, repeats) = ([2, 2, 1, 0, 2, 2, 2], [0, 1, 0, 0, 0, 1, 1]);
    let column = |values: &'static [f64]| Column::Floats(values, Some(&levels), Some(&repeats));
    let columns =
        [column(&[0.0, 1.0, 2.0, 3.0, 4.0]), column(&[9.0; 5]), column(&[5.0, 6.0, 7.0, 8.0, 9.0])];
    let path = written(folder.path(), schema, Some(&geo("linestring", "")), &columns);
    let found = read_lines(&path).unwrap().lines;
    let all: Vec<_> = found.iter().map(|line| (line.feature, line.places.len())).collect();
    assert_eq!(all, [(0, 2), (3, 3)]);
    assert_eq!(found[1].heights, Some(vec![7.0, 8.0, 9.0]));
    let path = written(folder.path(), schema, Some(&geo("polygon", "")), &columns);
    assert!(read_lines(&path).unwrap_err().to_string().contains("lists 1 deep"));
}

/// A point in WKB.
fn wkb(x: f64, y: f64) -> Vec<u8> {
    [&[1, 1, 0, 0, 0][..], &x.to_le_bytes(), &y.to_le_bytes()].concat()
}

#[test]
fn systems_are_those_of_the_metadata() {
    let folder = tempfile::tempdir().unwrap();
    let schema = "message m { required binary geometry; }";
    let bytes = [wkb(1.0, 2.0)];
    let of = |geo: Option<&str>, schema: &str| {
        let path = written(folder.path(), schema, geo, &[Column::Bytes(&bytes, None)]);
        read_features(&path)
            .map(|found| found.crs.map(|crs| crs.to_string()))
            .map_err(|e| e.to_string())
    };
    for (stated, expected) in [
        ("", Some("EPSG:4326")),
        (r#", "crs": null"#, None),
        (
            r#", "crs": {"type": "ProjectedCRS", "name": "x", "id": {"authority": "EPSG", "code": 32631}}"#,
            Some("EPSG:32631"),
        ),
        (
            r#", "crs": {"type": "GeographicCRS", "name": "x", "id": {"authority": "OGC", "code": "CRS84"}}"#,
            Some("EPSG:4326"),
        ),
        (r#", "crs": "EPSG:2056""#, Some("EPSG:2056")),
    ] {
        let found = of(Some(&geo("WKB", stated)), schema);
        assert_eq!(found, Ok(expected.map(str::to_owned)), "{stated}");
    }
    for (text, words) in [
        (geo("WKB", r#", "crs": {"type": "What", "name": "moon base"}"#), "moon base"),
        (geo("WKT", ""), "unknown encoding WKT"),
        ("{".to_owned(), "is not JSON"),
        ("{}".to_owned(), "names no primary column"),
        (
            geo("WKB", "").replace("primary_column\": \"geometry", "primary_column\": \"shape"),
            "does not describe its column \"shape\"",
        ),
        (
            geo("WKB", "").replace("\"geometry\"", "\"shape\""),
            "it names the column \"shape\" for its geometry",
        ),
    ] {
        let error = of(Some(&text), schema).unwrap_err();
        assert!(error.contains(words) && error.contains("other.parquet"), "{error}");
    }
    assert!(of(None, schema).unwrap_err().contains("no geometries"));
    // Parquet's own type.
    for (stated, expected) in [
        (None, Some("EPSG:4326")),
        (Some("srid:32631"), Some("EPSG:32631")),
        (Some("srid:0"), None),
    ] {
        let kind = LogicalType::geometry(stated.map(str::to_owned));
        let column = Type::primitive_type_builder("place", Physical::BYTE_ARRAY)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(kind));
        let fields = vec![Arc::new(column.build().unwrap())];
        let schema = Type::group_type_builder("m").with_fields(fields).build().unwrap();
        let path = written_by(folder.path(), schema, None, &[Column::Bytes(&bytes, None)]);
        let found = read_features(&path).unwrap();
        assert_eq!(found.shapes, [Some(Shape::Points(vec![[1.0, 2.0]]))]);
        assert_eq!(found.crs.map(|crs| crs.to_string()).as_deref(), expected);
    }
}

#[test]
fn what_is_wrong_in_a_row_is_named_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let schema = "message m { optional binary geometry; optional double value; }";
    let all = [1_i16, 1, 1];
    for (third, words) in [
        (vec![], "row 3: its geometry ends too early"),
        (vec![7, 1, 0, 0, 0], "row 3: its geometry begins with 7"),
        (wkb(1.0, f64::INFINITY), "row 3: the place (1, inf"),
        ([wkb(1.0, 2.0), vec![0]].concat(), "row 3: its field has bytes beyond its geometry: 1"),
        (vec![1, 8, 0, 0, 0], "row 3: its geometry has curves"),
        (vec![1, 2, 0, 0, 0, 255, 255, 255, 255], "row 3: its geometry ends too early"),
        (
            vec![1, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            "row 3: its geometry is a line",
        ),
    ] {
        let bytes = [wkb(1.0, 2.0), wkb(3.0, 4.0), third];
        let columns =
            [Column::Bytes(&bytes, Some(&all)), Column::Floats(&[1.0, 2.0, 3.0], Some(&all), None)];
        let path = written(folder.path(), schema, Some(&geo("WKB", "")), &columns);
        let error = points(&path, "value").unwrap_err();
        assert!(error.contains(words), "{error}");
    }
    let bytes = [wkb(1.0, 2.0), wkb(3.0, 4.0)];
    for (values, levels, words) in [
        (
            &[1.0, f64::NAN][..],
            &[1, 1][..],
            "row 2, column \"value\": \"NaN\" is not a finite number",
        ),
        (&[1.0], &[1, 0], "row 2, column \"value\": the field is empty"),
    ] {
        let columns =
            [Column::Bytes(&bytes, Some(&[1, 1])), Column::Floats(values, Some(levels), None)];
        let path = written(folder.path(), schema, Some(&geo("WKB", "")), &columns);
        let error = points(&path, "value").unwrap_err();
        assert!(error.to_lowercase().contains(&words.to_lowercase()), "{error}");
    }
}
