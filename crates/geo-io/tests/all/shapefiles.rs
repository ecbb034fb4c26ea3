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
