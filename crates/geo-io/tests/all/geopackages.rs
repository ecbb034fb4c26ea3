//! GeoPackages with odd layers, systems and geometries.

use std::path::{Path, PathBuf};

use geo_io::{Crs, read_features};
use rusqlite::Connection;

use crate::features::points;

/// A file with the tables that all GeoPackages have.
fn begun(folder: &Path) -> (PathBuf, Connection) {
    let path = folder.join("a.gpkg");
    let _ = std::fs::remove_file(&path);
    let file = Connection::open(&path).unwrap();
    file.execute_batch(
        r#"CREATE TABLE gpkg_spatial_ref_sys (srs_name TEXT, srs_id INTEGER, organization TEXT, organization_coordsys_id INTEGER,
            definition TEXT);
         INSERT INTO gpkg_spatial_ref_sys VALUES ('utm', 32631, 'EPSG', 32631, 'x'), ('none', -1, 'NONE', -1, 'undefined'),
            ('of GDAL', 99999, 'GDAL', 99999, 'LOCAL_CS["Undefined SRS",LOCAL_DATUM["unknown",32767],UNIT["unknown",0]]'),
            ('odd', 7, 'ESRI', 54009, 'what');
         CREATE TABLE gpkg_contents (table_name TEXT, data_type TEXT);
         CREATE TABLE gpkg_geometry_columns (table_name TEXT, column_name TEXT, srs_id INTEGER);"#,
    )
    .unwrap();
    (path, file)
}

fn layer(file: &Connection, name: &str, system: i64) {
    let plain = name.replace("\"\"", "\"");
    file.execute_batch(&format!(
        "CREATE TABLE \"{name}\" (fid INTEGER PRIMARY KEY, geom BLOB, value REAL, \"a \"\"b\" TEXT);
         INSERT INTO gpkg_contents VALUES ('{plain}', 'features');
         INSERT INTO gpkg_geometry_columns VALUES ('{plain}', 'geom', {system});"
    ))
    .unwrap();
}

/// A point behind a header with an envelope.
fn point(x: f64, y: f64, is_big: bool) -> Vec<u8> {
    let mut bytes = vec![b'G', b'P', 0, if is_big { 0b10 } else { 0b11 }];
    bytes.extend([0; 4 + 32]);
    bytes.push(u8::from(!is_big));
    let bytes_of = |v: f64| if is_big { v.to_be_bytes() } else { v.to_le_bytes() };
    bytes.extend(if is_big { 1_u32.to_be_bytes() } else { 1_u32.to_le_bytes() });
    bytes.extend([x, y].map(bytes_of).concat());
    bytes
}

fn insert(file: &Connection, name: &str, geometry: Option<Vec<u8>>, value: Option<f64>) {
    let sql = format!("INSERT INTO \"{name}\" (geom, value) VALUES (?1, ?2)");
    file.execute(&sql, (geometry, value)).unwrap();
}

#[test]
fn a_layer_without_a_system_has_none_however_it_is_stated() {
    for system in [-1, 0, 99999] {
        let folder = tempfile::tempdir().unwrap();
        let (path, file) = begun(folder.path());
        layer(&file, "a", system);
        insert(&file, "a", Some(point(1.0, 2.0, true)), Some(3.0));
        assert_eq!(points(&path, "value").unwrap().crs, None, "{system}");
    }
}

#[test]
fn one_layer_is_read_with_its_system() {
    let folder = tempfile::tempdir().unwrap();
    let (path, file) = begun(folder.path());
    layer(&file, "an odd \"\"name", 32631);
    for (i, is_big) in [(1.0, true), (2.0, false)] {
        insert(&file, "an odd \"\"name", Some(point(i / 3.0, i, is_big)), Some(i));
    }
    let found = points(&path, "value").unwrap();
    assert_eq!((&found.x[..], &found.z[..]), (&[1.0 / 3.0, 2.0 / 3.0][..], &[1.0, 2.0][..]));
    assert_eq!(found.crs, Some(Crs::parse("EPSG:32631").unwrap()));
    for (value, geometry, words) in [
        (None, Some(point(1.0, 1.0, true)), "row 3, column \"value\": the field is empty"),
        (Some(1.0), None, "row 3: it has no geometry"),
        (Some(1.0), Some(b"GP".to_vec()), "row 3: its geometry"),
        (
            Some(1.0),
            Some(point(1.0, 1.0, true)[..50].to_vec()),
            "row 3: its geometry ends too early",
        ),
        (Some(1.0), Some(point(f64::INFINITY, 1.0, true)), "row 3: the place (inf, 1"),
    ] {
        insert(&file, "an odd \"\"name", geometry, value);
        let error = points(&path, "value").unwrap_err();
        assert!(error.contains(words), "{error}");
        file.execute("DELETE FROM \"an odd \"\"name\" WHERE fid > 2", ()).unwrap();
    }
    // An empty point is none.
    insert(&file, "an odd \"\"name", Some(point(f64::NAN, f64::NAN, false)), Some(1.0));
    assert!(points(&path, "value").unwrap_err().contains("row 3: it has no geometry"));
    assert_eq!(read_features(&path).unwrap().shapes[2], None);
}

#[test]
fn layers_and_systems_that_are_unclear_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let (path, file) = begun(folder.path());
    assert!(points(&path, "value").unwrap_err().contains("no layer"));
    layer(&file, "stations", -1);
    assert_eq!(points(&path, "value").unwrap().len(), 0);
    assert_eq!(points(&path, "value").unwrap().crs, None);
    for (system, words) in
        [(7, "unknown coordinate system ESRI:54009"), (8, "not in gpkg_spatial_ref_sys")]
    {
        file.execute("UPDATE gpkg_geometry_columns SET srs_id = ?1", [system]).unwrap();
        let error = points(&path, "value").unwrap_err();
        assert!(error.contains(words), "{error}");
    }
    layer(&file, "roads", 32631);
    let error = points(&path, "value").unwrap_err();
    assert!(error.contains("2 layers (roads, stations)") && error.contains("ogr2ogr"), "{error}");
}

#[test]
fn a_table_without_geometries_has_columns_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (path, file) = begun(folder.path());
    file.execute_batch(
        "CREATE TABLE t (x REAL, y INTEGER, value TEXT); INSERT INTO t VALUES (0.1, 2, '3.5'), (0.2, 3, 'four');
         INSERT INTO gpkg_contents VALUES ('t', 'attributes');",
    )
    .unwrap();
    let error = points(&path, "value").unwrap_err();
    assert!(error.contains("row 2, column \"value\": \"four\""), "{error}");
    file.execute("DELETE FROM t WHERE y = 3", ()).unwrap();
    let found = points(&path, "value").unwrap();
    assert_eq!((found.x, found.y, found.z), (vec![0.1], vec![2.0], vec![3.5]));
    assert!(read_features(&path).unwrap_err().to_string().contains("no geometries"));
}
