//! Inputs that come through named pipes.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use geo_io::{
    ArrayData, Filter, LasPoints, check_distinct, read_header, read_points, read_polygons,
    read_raster, write_las,
};

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn two_outputs_on_standard_output_are_refused() {
    let (pipe, file) = (Path::new("-"), Path::new("a.csv"));
    // Standard input is another.
    check_distinct(&[pipe.to_owned()], &[file, pipe]).unwrap();
    let error = check_distinct(&[], &[pipe, file, pipe]).unwrap_err().to_string();
    assert!(error.contains("the output - is the same"), "{error}");
}

/// To open a pipe and to close it would end its writer, or wait for one for ever.
#[test]
fn a_pipe_beside_an_output_that_exists_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let [input, output] = ["x.csv", "dem.tif"].map(|name| folder.path().join(name));
    std::fs::write(&output, "before").unwrap();
    pipe(&input);
    let inputs = [input.clone()];
    check_distinct(&inputs, &[&output]).unwrap();
    assert!(check_distinct(&inputs, &[&input]).is_err());
    let to = input.clone();
    let writer = std::thread::spawn(move || std::fs::write(to, "0 0 1\n1 0 2\n0 1 3\n"));
    std::thread::sleep(Duration::from_millis(50));
    check_distinct(&inputs, &[&output]).unwrap();
    let read =
        read_points(&input, &Filter::default(), &Default::default(), &gpu_core::Silent).unwrap();
    writer.join().unwrap().unwrap();
    assert_eq!(read.len(), 3);
}

#[test]
fn rasters_and_polygons_come_through_pipes() {
    let folder = tempfile::tempdir().unwrap();
    let square = r#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}"#;
    let tiff = testing::files::tiff::Tiff::of_bytes(2, &[1, 2, 3, 4]);
    for (name, bytes) in [("a.tif", tiff.bytes()), ("b.geojson", square.into())] {
        let path = folder.path().join(name);
        pipe(&path);
        let to = path.clone();
        let writer = std::thread::spawn(move || std::fs::write(to, bytes));
        if name == "a.tif" {
            let raster = read_raster(&path, None).unwrap();
            assert_eq!(raster.values, ArrayData::U8(vec![1, 2, 3, 4]));
        } else {
            assert_eq!(read_polygons(&path).unwrap().shapes.len(), 1);
        }
        writer.join().unwrap().unwrap();
    }
}

#[test]
fn points_come_through_pipes_of_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.laz");
    let x: Vec<f64> = (0..5000).map(f64::from).collect();
    let points = LasPoints { x: &x, y: &x, z: &x, ..Default::default() };
    write_las(&whole, &points, None).unwrap();
    let table: String = (0..5000).map(|i| format!("{i} {i} {i}\n")).collect();
    let read = |path: &Path| {
        read_points(path, &Filter::default(), &Default::default(), &gpu_core::Silent).unwrap()
    };
    for (name, bytes) in [
        ("a.laz", std::fs::read(&whole).unwrap()),
        ("las_without_ending", std::fs::read(&whole).unwrap()),
        ("b.xyz", table.clone().into_bytes()),
        ("table_without_ending", table.into_bytes()),
    ] {
        let path = folder.path().join(name);
        pipe(&path);
        let to = path.clone();
        let writer = std::thread::spawn(move || std::fs::write(to, bytes).unwrap());
        // The header first, as a program may.
        let header = read_header(&path).unwrap();
        assert_eq!(header.is_some(), name == "a.laz");
        assert_eq!(read(&path).x, x, "{name}");
        writer.join().unwrap();
        // Nothing is kept of what was read: the pipe is opened again.
        if name != "a.laz" {
            let to = path.clone();
            let writer = std::thread::spawn(move || std::fs::write(to, "7 8 9\n").unwrap());
            assert_eq!(read(&path).x, [7.0], "{name}");
            writer.join().unwrap();
        }
    }
}
