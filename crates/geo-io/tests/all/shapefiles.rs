//! Shapefiles with parts that are missing, deleted or odd.

use std::path::{Path, PathBuf};

use geo_io::{Shape, read_features};
use shapefile::dbase::{self, FieldValue, TableWriterBuilder};
use shapefile::{Point, Writer};

use crate::features::points;

/// A shapefile of points, each with a number.
fn written(folder: &Path, values: &[f64]) -> PathBuf {
    let path = folder.join("a.shp");
    let name = dbase::FieldName::try_from("value").unwrap();
    let table = TableWriterBuilder::new().add_numeric_field(name, 20, 5);
    let mut writer = Writer::from_path(&path, table).unwrap();
    for &value in values {
        let mut record = dbase::Record::default();
        record.insert("value".to_owned(), FieldValue::Numeric(Some(value)));
        writer.write_shape_and_record(&Point::new(value * 10.0, 1.0), &record).unwrap();
    }
    drop(writer);
    path
}

#[test]
fn parts_that_are_missing_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), &[1.5, 2.5, 3.5]);
    let all = points(&path, "value").unwrap();
    assert_eq!((&all.x[..], &all.z[..]), (&[15.0, 25.0, 35.0][..], &[1.5, 2.5, 3.5][..]));
    assert!(all.crs.is_none() && all.notes.iter().any(|note| note.contains(".prj")));
    std::fs::remove_file(path.with_extension("shx")).unwrap();
    assert_eq!(points(&path, "value").unwrap(), all);
    std::fs::write(path.with_extension("prj"), "hello").unwrap();
    let error = points(&path, "value").unwrap_err();
    assert!(error.contains("a.prj") && error.contains("coordinate system"), "{error}");
    std::fs::remove_file(path.with_extension("prj")).unwrap();
    std::fs::remove_file(path.with_extension("dbf")).unwrap();
    assert_eq!(read_features(&path).unwrap().shapes.len(), 3);
    let error = points(&path, "value").unwrap_err();
    assert!(error.contains("no column \"value\"; its columns are none"), "{error}");
}

#[test]
fn encodings_that_contradict_each_other_are_noted() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), &[1.5, 2.5, 3.5]);
    let fields = path.with_extension("dbf");
    let mut bytes = std::fs::read(&fields).unwrap();
    std::fs::write(path.with_extension("cpg"), "UTF-8").unwrap();
    for (byte, is_noted) in [(0, false), (201, true)] {
        bytes[29] = byte;
        std::fs::write(&fields, &bytes).unwrap();
        let notes = points(&path, "value").unwrap().notes;
        let note =
            "its .cpg says UTF-8, and its .dbf says code page 1251: texts were read as UTF-8";
        assert_eq!(notes.iter().any(|found| found.starts_with(note)), is_noted, "{notes:?}");
    }
}

#[test]
fn deleted_rows_take_their_shapes_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), &[1.5, 2.5, 3.5]);
    let fields = path.with_extension("dbf");
    let mut bytes = std::fs::read(&fields).unwrap();
    let [start, width] =
        [8, 10].map(|at| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]])));
    bytes[start + width] = b'*';
    std::fs::write(&fields, &bytes).unwrap();
    let found = points(&path, "value").unwrap();
    assert_eq!((&found.x[..], &found.z[..]), (&[15.0, 35.0][..], &[1.5, 3.5][..]));
    // What is not a number is named with its row.
    bytes[start + width] = b' ';
    bytes[start + width + 1..start + width + 21].copy_from_slice(b"               twice");
    std::fs::write(&fields, &bytes).unwrap();
    let error = points(&path, "value").unwrap_err();
    assert!(error.contains("row 2, column \"value\": \"twice\" is not a finite number"), "{error}");
    bytes[start + width + 1..start + width + 21].copy_from_slice(b"********************");
    std::fs::write(&fields, &bytes).unwrap();
    let error = points(&path, "value").unwrap_err();
    assert!(error.contains("row 2, column \"value\": the field is empty"), "{error}");
    bytes[start + width + 1..start + width + 21].copy_from_slice(b"                   2");
    for (rows, words) in
        [(2_u32, "row 3: its .dbf has 2 rows, but there are more shapes"), (9, "truncated")]
    {
        bytes[4..8].copy_from_slice(&rows.to_le_bytes());
        std::fs::write(&fields, &bytes).unwrap();
        let error = points(&path, "value").unwrap_err();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn an_empty_number_is_called_empty_as_in_a_table_of_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), &[1.5, 2.5]);
    let fields = path.with_extension("dbf");
    let mut bytes = std::fs::read(&fields).unwrap();
    let [start, width] =
        [8, 10].map(|at| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]])));
    bytes[start + width + 1..start + width + 21].fill(b' ');
    std::fs::write(&fields, &bytes).unwrap();
    let words =
        "column \"value\": the field is empty: give it a finite number, or leave the row out";
    let error = points(&path, "value").unwrap_err();
    assert!(error.contains("a.shp, row 2,") && error.ends_with(words), "{error}");
    let table = folder.path().join("a.csv");
    std::fs::write(&table, "x,y,value\n1,1,5\n2,2,\n").unwrap();
    let error = points(&table, "value").unwrap_err();
    assert!(error.contains("a.csv, row 2 (line 3)") && error.ends_with(words), "{error}");
}

#[test]
fn numbers_keep_all_digits() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), &[1.0]);
    let fields = path.with_extension("dbf");
    let bytes = std::fs::read(&fields).unwrap();
    for (kind, text, expected) in [
        (b'N', "    9007199254740993", "9007199254740993"),
        (b'F', "   123456.7890123456", "123456.7890123456"),
        (b'N', "********************", "null"),
        (b'N', "                    ", "null"),
        (b'C', "              Z\u{fc}rich", "\"Z\u{fc}rich\""),
        (b'L', "T                   ", "true"),
    ] {
        let mut bytes = bytes.clone();
        (bytes[32 + 11], bytes[32 + 17]) = (kind, 0);
        let at = bytes.len() - 1 - 20;
        let at = if bytes[at - 1] == b' ' { at } else { at + 1 };
        // In Latin-1.
        let text: Vec<u8> = text.chars().map(|c| u32::from(c) as u8).collect();
        bytes[at..at + 20].copy_from_slice(&text[text.len() - 20..]);
        std::fs::write(&fields, &bytes).unwrap();
        let found = read_features(&path).unwrap();
        assert_eq!(found.shapes, [Some(Shape::Points(vec![[10.0, 1.0]]))]);
        let found = found.properties[0].get("value").unwrap().to_string();
        assert_eq!(found, expected);
    }
}

#[test]
fn days_are_written_with_hyphens_and_no_day_is_null() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("days.shp");
    let name = dbase::FieldName::try_from("day").unwrap();
    let mut writer =
        Writer::from_path(&path, TableWriterBuilder::new().add_date_field(name)).unwrap();
    for day in [dbase::Date::new(29, 2, 2024).ok(), None] {
        let mut record = dbase::Record::default();
        record.insert("day".to_owned(), FieldValue::Date(day));
        writer.write_shape_and_record(&Point::new(1.0, 1.0), &record).unwrap();
    }
    drop(writer);
    let fields = path.with_extension("dbf");
    let mut bytes = std::fs::read(&fields).unwrap();
    let days = |bytes: &[u8]| {
        std::fs::write(&fields, bytes).unwrap();
        let found = read_features(&path).unwrap().properties;
        found.iter().map(|row| row.get("day").cloned().unwrap_or_default()).collect::<Vec<_>>()
    };
    assert_eq!(days(&bytes), [serde_json::json!("2024-02-29"), serde_json::Value::Null]);
    let blank = bytes.windows(8).rposition(|word| word == b"        ").unwrap();
    bytes[blank..blank + 8].copy_from_slice(b"00000000");
    assert_eq!(days(&bytes)[1], serde_json::Value::Null);
}

/// A square of rings around a centre; a negative half side goes the other way round.
fn square(x: f64, y: f64, half: f64) -> Vec<[f64; 2]> {
    let (w, s, e, n) = (x - half, y - half.abs(), x + half, y + half.abs());
    vec![[w, s], [w, n], [e, n], [e, s], [w, s]]
}

/// A shapefile with one polygon of rings as they are: crate `shapefile` would put them in order.
fn polygon(folder: &Path, rings: &[Vec<[f64; 2]>]) -> PathBuf {
    let vertices: Vec<[f64; 2]> = rings.iter().flatten().copied().collect();
    let mut record = 5_i32.to_le_bytes().to_vec();
    record.extend([0.0_f64; 4].iter().flat_map(|number| number.to_le_bytes()));
    record.extend((rings.len() as i32).to_le_bytes());
    record.extend((vertices.len() as i32).to_le_bytes());
    let mut first = 0_i32;
    for ring in rings {
        record.extend(first.to_le_bytes());
        first += ring.len() as i32;
    }
    record.extend(vertices.iter().flatten().flat_map(|number| number.to_le_bytes()));
    let words = |bytes: usize| (bytes as u32 / 2).to_be_bytes();
    let mut file = vec![0; 100];
    file[..4].copy_from_slice(&9994_u32.to_be_bytes());
    file[24..28].copy_from_slice(&words(108 + record.len()));
    file[28..32].copy_from_slice(&1000_u32.to_le_bytes());
    file[32..36].copy_from_slice(&5_u32.to_le_bytes());
    file.extend([1_u32.to_be_bytes(), words(record.len())].concat());
    file.extend(record);
    let path = folder.join("rings.shp");
    std::fs::write(&path, file).unwrap();
    path
}

#[test]
fn rings_of_a_polygon_stand_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let rings = [square(0.0, 0.0, 10.0), square(2.0, 2.0, -3.0), square(2.0, 2.0, 1.0)];
    let reversed = |ring: &Vec<[f64; 2]>| ring.iter().rev().copied().collect::<Vec<_>>();
    for order in [[0, 1, 2], [1, 0, 2], [1, 2, 0], [2, 1, 0], [2, 0, 1]] {
        for is_reversed in [false, true] {
            let turned =
                |i: usize| if is_reversed { reversed(&rings[i]) } else { rings[i].clone() };
            let path = polygon(folder.path(), &order.map(turned));
            let shapes = read_features(&path).unwrap().shapes;
            let [Some(Shape::Polygons(polygons))] = &shapes[..] else { panic!("{shapes:?}") };
            let mut parts: Vec<usize> = polygons.iter().map(Vec::len).collect();
            parts.sort_unstable();
            assert_eq!(parts, [1, 2], "{order:?} {is_reversed}");
            let with_hole = polygons.iter().find(|polygon| polygon.len() == 2).unwrap();
            assert_eq!(with_hole[..], [turned(0), turned(1)], "{order:?} {is_reversed}");
        }
    }
}

#[test]
fn a_polygon_of_many_vertices_and_holes_takes_no_product_of_both() {
    let folder = tempfile::tempdir().unwrap();
    let around = (0..200_001).map(|i| {
        let (y, x) = (-f64::from(i % 200_000) / 200_000.0 * std::f64::consts::TAU).sin_cos();
        [1000.0 * x, 1000.0 * y]
    });
    let mut rings = vec![around.collect::<Vec<_>>()];
    let places = (0..20_000).map(|i| (f64::from(i % 100), f64::from(i / 100)));
    rings.extend(places.map(|(x, y)| square(5.0 * x - 250.0, 5.0 * y - 500.0, -1.0)));
    let start = std::time::Instant::now();
    let shapes = read_features(&polygon(folder.path(), &rings)).unwrap().shapes;
    let [Some(Shape::Polygons(polygons))] = &shapes[..] else { panic!() };
    assert_eq!((polygons.len(), polygons[0].len()), (1, 20_001));
    // Some tenths of a second; more than a minute before.
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn an_index_that_is_cut_short_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), &[1.5, 2.5, 3.5]);
    std::fs::remove_file(path.with_extension("dbf")).unwrap();
    let index = path.with_extension("shx");
    let whole = std::fs::read(&index).unwrap();
    for end in [0, 50, 100, 108, whole.len() - 3] {
        std::fs::write(&index, &whole[..end]).unwrap();
        let error = read_features(&path).unwrap_err().to_string();
        assert!(error.contains("a.shx") && error.contains("remove it"), "{end}: {error}");
    }
    let mut wrong = whole.clone();
    wrong[108..112].copy_from_slice(&u32::MAX.to_be_bytes());
    std::fs::write(&index, &wrong).unwrap();
    let error = read_features(&path).unwrap_err().to_string();
    assert!(error.contains(".shx"), "{error}");
}
