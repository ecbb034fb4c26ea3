//! Points, breaklines, contours and triangles as GeoParquet.

use std::path::Path;

use geo_io::{ColumnType, Crs, Line, Number, Shape, read_lines, read_polygons, write_geoparquet};

use crate::PROGRAM;
use crate::common::places;

/// Points of a slope with steps, as a table of text and as GeoParquet.
fn points(folder: &Path, crs: &Crs) {
    let all = places(900, [40.0, 40.0], 7);
    let z = |[x, y]: [f64; 2]| 5.0 * (x / 4.0).floor() + y / 4.0;
    let rows = all.iter().map(|&p| format!("{},{},{}\n", p[0], p[1], z(p)));
    std::fs::write(folder.join("p.csv"), format!("x,y,z\n{}", rows.collect::<String>())).unwrap();
    let rows = all.iter().map(|&p| (vec![Number::from(z(p))], Shape::Points(vec![p])));
    write_geoparquet(&folder.join("p.parquet"), &[("z", ColumnType::Real)], rows, Some(crs))
        .unwrap();
}

#[test]
fn geoparquet_in_and_out_says_what_text_and_geojson_say() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let crs = Crs::parse("EPSG:32631").unwrap();
    points(here, &crs);
    let lines = [vec![[4.0, 1.0], [4.5, 39.0]], vec![[20.0, 3.0], [30.0, 3.5], [31.0, 30.0]]];
    let lines = lines.map(|line| (vec![], Shape::Lines(vec![line])));
    write_geoparquet(&here.join("l.parquet"), &[], lines.clone(), Some(&crs)).unwrap();
    let lines = lines.map(|(_, shape)| (Vec::<(&str, f64)>::new(), shape));
    geo_io::write_shapes(&here.join("l.geojson"), lines, Some(&crs)).unwrap();
    let run = |words: &[&str]| {
        let always = ["--device", "cpu", "--resolution", "1", "--overwrite"];
        PROGRAM.succeeds(here, &[words, &always].concat())
    };
    run(&[
        "p.csv",
        "--crs",
        "EPSG:32631",
        "-o",
        "a.tif",
        "--breaklines",
        "l.geojson",
        "--contours",
        "c.geojson",
    ]);
    run(&["p.parquet", "-o", "b.tif", "--breaklines", "l.parquet", "--contours", "c.parquet"]);
    let bytes = |name: &str| std::fs::read(here.join(name)).unwrap();
    assert!(bytes("a.tif") == bytes("b.tif"));
    let [json, parquet] =
        ["c.geojson", "c.parquet"].map(|name| read_lines(&here.join(name)).unwrap());
    assert!(json.lines.len() > 5 && json.lines == parquet.lines);
    assert_eq!(parquet.crs, Some(crs.clone()));
    let elevations = |name: &str| {
        let found = geo_io::read_features(&here.join(name)).unwrap().properties;
        found.iter().map(|of| of.get("elevation").unwrap().as_f64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(elevations("c.geojson"), elevations("c.parquet"));
    // Triangles, and the same by another way out.
    run(&["p.parquet", "-o", "c.tif", "--triangles", "t.parquet"]);
    run(&["p.parquet", "-o", "c.tif", "--triangles", "t.obj"]);
    let triangles = read_polygons(&here.join("t.parquet")).unwrap();
    let faces = std::fs::read_to_string(here.join("t.obj")).unwrap();
    assert_eq!(triangles.shapes.len(), faces.lines().filter(|line| line.starts_with("f ")).count());
    assert_eq!(triangles.crs, Some(crs));
    PROGRAM.fails(
        here,
        &["p.parquet", "-o", "d.tif", "--breaklines", "t.parquet"],
        &["feature 0: a polygon is not a line"],
    );
    let wrong = Crs::parse("EPSG:32632").unwrap();
    let line = [(vec![], Shape::Lines(vec![vec![[1.0, 1.0], [9.0, 9.0]]]))];
    write_geoparquet(&here.join("other.parquet"), &[], line, Some(&wrong)).unwrap();
    let words = ["other.parquet is in EPSG:32632", "the points are in EPSG:32631"];
    PROGRAM.fails(here, &["p.parquet", "-o", "d.tif", "--breaklines", "other.parquet"], &words);
    let heights: Vec<Line> = read_lines(&here.join("l.parquet")).unwrap().lines;
    assert!(heights.iter().all(|line| line.heights.is_none()));
}

#[test]
fn an_error_that_no_point_lies_in_the_bounds_has_both_extents() {
    PROGRAM.tells_both_extents(&["--method", "pixels", "--resolution", "1", "-o", "o.tif"]);
}
