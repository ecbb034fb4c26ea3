//! Inputs that are not there, and those whose names say no format.

use std::path::Path;

use geo_io::{Error, Filter, ValuesFile, read_column, read_place, read_points, read_raster};

/// What each reader that goes by endings says of a file.
fn errors(path: &Path) -> [Error; 5] {
    let points = read_points(path, &Filter::default(), &Default::default(), &gpu_core::Silent);
    let raster = read_raster(path, None).map(drop);
    let in_parts = ValuesFile::open(path).map(drop);
    let column = read_column(path, "id").map(drop);
    let place = read_place(path).map(drop);
    [points.map(drop), raster, in_parts, column, place].map(Result::unwrap_err)
}

#[test]
fn a_missing_file_is_missing_whatever_its_ending() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.json");
    for error in errors(&path) {
        assert!(error.to_string().contains("No such file"), "{error}");
    }
    std::fs::write(&path, b"{}").unwrap();
    for error in errors(&path) {
        assert!(matches!(error, Error::UnknownEnding { .. }), "{error}");
    }
    for error in errors(Path::new("https://example.org/list.json")) {
        assert!(error.to_string().contains("unknown file ending"), "{error}");
    }
}
