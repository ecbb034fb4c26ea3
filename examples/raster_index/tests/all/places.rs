//! Where rasters lie and in which system: kept by an index, refused where they differ, said where there is none.

use std::path::Path;
use std::process::Command;

use geo_io::{Cells, Crs, Georeference, TiffOptions, write_npy, write_tiff};
use testing::files::grid::{ascii_grid, virtual_raster};
use testing::files::npy::{header, npy};
use testing::files::tiff::{Field, Tiff};

use testing::program::{is_same, json_of};

use crate::PROGRAM;

/// A raster of four cells with a side of 30, from an easting on.
fn write(folder: &Path, name: &str, left: f64, crs: Option<&str>) {
    write_in(folder, name, left, crs.map(|text| Crs::parse(text).unwrap()));
}

/// The same in a system that has any form.
fn write_in(folder: &Path, name: &str, left: f64, crs: Option<Crs>) {
    let mut place = Georeference::north_up((left, 4_000_000.0), (30.0, 30.0));
    place.crs = crs;
    let cells = Cells::Values { values: &[1.0, 2.0, 3.0, 4.0], nodata: -9.0 };
    write_tiff(&folder.join(name), &place, (2, 2), cells, &TiffOptions::default()).unwrap();
}

#[test]
fn an_index_keeps_its_system_and_geojson_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "utm.tif", 500_000.0, Some("EPSG:32633"));
    let report = PROGRAM.succeeds(path, &["build", "utm.tif", "-o", "a.ccq"]);
    assert!(report.contains("system      EPSG:32633"), "{report}");
    assert!(PROGRAM.succeeds(path, &["info", "a.ccq"]).contains("EPSG:32633"));
    PROGRAM.succeeds(path, &["query", "a.ccq", "--range", "2,4", "-o", "q.geojson"]);
    let json = json_of(&path.join("q.geojson"));
    assert_eq!(json["crs"]["properties"]["name"], "urn:ogc:def:crs:EPSG::32633");
    match Command::new("ogrinfo").args(["-al", "-so"]).arg(path.join("q.geojson")).output() {
        Ok(output) => {
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(text.contains("ID[\"EPSG\",32633]]"), "{text}");
        }
        Err(_) => println!("skipped: ogrinfo is not installed"),
    }
    // By a plan, the same bytes.
    PROGRAM.succeeds(path, &["plan", "utm.tif", "-o", "plan.json"]);
    PROGRAM.succeeds(path, &["run", "plan.json", "--all"]);
    let report = PROGRAM.succeeds(path, &["merge", "plan.json", "-o", "b.ccq"]);
    assert!(report.contains("EPSG:32633"), "{report}");
    let bytes = |name: &str| std::fs::read(path.join(name)).unwrap();
    assert!(bytes("a.ccq") == bytes("b.ccq"));
}

#[test]
fn geojson_keeps_the_vertical_part_of_a_system_or_a_note_says_that_it_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let horizontal = Crs::parse("EPSG:32633").unwrap();
    let own = format!(
        r#"COMPD_CS["both",{},VERT_CS["own heights",VERT_DATUM["own",2005],UNIT["metre",1]]]"#,
        horizontal.wkt().unwrap()
    );
    let known = (Crs::parse("EPSG:32633+5703").unwrap(), "crs:EPSG::32633,crs:EPSG::5703", false);
    let unknown = (Crs::from_wkt(&own).unwrap(), "urn:ogc:def:crs:EPSG::32633", true);
    for (crs, name, is_noted) in [known, unknown] {
        write_in(path, "r.tif", 500_000.0, Some(crs));
        PROGRAM.succeeds(path, &["build", "r.tif", "-o", "a.ccq", "--overwrite"]);
        let query = ["query", "a.ccq", "-o", "q.geojson", "--overwrite"];
        let report = PROGRAM.succeeds(path, &query);
        assert_eq!(
            report.contains("q.geojson names only the horizontal part"),
            is_noted,
            "{report}"
        );
        let json = json_of(&path.join("q.geojson"));
        let found = json["crs"]["properties"]["name"].as_str().unwrap();
        assert!(found.ends_with(name), "{found}");
    }
}

#[test]
fn rasters_of_other_systems_or_places_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "west.tif", 500_000.0, Some("EPSG:32633"));
    write(path, "east.tif", 500_060.0, Some("EPSG:32634"));
    write(path, "same.tif", 500_060.0, Some("EPSG:32633"));
    write(path, "unknown.tif", 500_120.0, None);
    let words = ["east.tif is in EPSG:32634", "west.tif is in EPSG:32633"];
    for (command, out) in [("build", "x.ccq"), ("plan", "x.json")] {
        PROGRAM.fails(path, &[command, "west.tif", "east.tif", "-o", out], &words);
        let three = [command, "west.tif", "same.tif", "unknown.tif", "-o", out];
        PROGRAM.succeeds(path, &three);
    }
    write_npy(&path.join("array.npy"), &[1f32, 2.0, 3.0, 4.0], 2, 2).unwrap();
    write_npy(&path.join("other.npy"), &[1f32, 2.0, 3.0], 3, 1).unwrap();
    for name in ["west.tif", "east.tif", "same.tif", "array.npy", "other.npy"] {
        let index = Path::new(name).with_extension("ccq");
        PROGRAM.succeeds(path, &["build", name, "-o", index.to_str().unwrap()]);
    }
    let and = |other: &'static str| ["query", "west.ccq", "--and", other, "0,9"];
    let words = "east.ccq is in EPSG:32634, but west.ccq is in EPSG:32633";
    PROGRAM.fails(path, &and("east.ccq"), &[words]);
    let words = ["same.ccq", "500060 4000000", "west.ccq", "500000 4000000"];
    PROGRAM.fails(path, &and("same.ccq"), &words);
    PROGRAM.succeeds(path, &and("array.ccq"));
    PROGRAM.fails(path, &and("other.ccq"), &["other.ccq has 3 x 1 cells, but west.ccq has 2 x 2"]);
    let with = |raster: &'static str| ["query", "west.ccq", "--raster", raster, "--range", "1,2"];
    PROGRAM.fails(path, &with("east.tif"), &["east.tif is in EPSG:32634"]);
    PROGRAM.fails(path, &with("same.tif"), &["same.tif", "they do not lie at the same place"]);
}

#[test]
fn a_raster_that_lies_where_the_grid_of_an_array_would_is_no_array() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let write = |name: &str, (left, bottom): (u32, u32)| {
        let header =
            format!("ncols 2\nnrows 1\nxllcorner {left}\nyllcorner {bottom}\ncellsize 1\n");
        std::fs::write(path.join(name), header + "1 1\n").unwrap();
    };
    write("origin.asc", (0, 0));
    write("away.asc", (40, 50));
    write_npy(&path.join("array.npy"), &[1f32, 1.0], 2, 1).unwrap();
    for name in ["origin.asc", "away.asc", "array.npy"] {
        let index = Path::new(name).with_extension("ccq");
        PROGRAM.succeeds(path, &["build", name, "-o", index.to_str().unwrap()]);
    }
    PROGRAM.succeeds(path, &["plan", "origin.asc", "-o", "plan.json"]);
    PROGRAM.succeeds(path, &["run", "plan.json", "--all"]);
    PROGRAM.succeeds(path, &["merge", "plan.json", "-o", "tiled.ccq"]);
    let [tiled, whole] = ["tiled.ccq", "origin.ccq"].map(|name| std::fs::read(path.join(name)));
    assert!(tiled.unwrap() == whole.unwrap());
    for (first, other, raster) in
        [("origin.ccq", "away.ccq", "away.asc"), ("away.ccq", "origin.ccq", "origin.asc")]
    {
        let words = "they do not lie at the same place";
        PROGRAM.fails(path, &["query", first, "--and", other, "1,2"], &[words]);
        PROGRAM.fails(path, &["query", first, "--raster", raster, "--range", "1,2"], &[words]);
        PROGRAM.succeeds(path, &["query", first, "--and", "array.ccq", "1,2"]);
    }
}

#[test]
fn all_indices_of_a_query_lie_on_the_same_ground() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let write = |name: &str, size: u32, (left, top): (f64, f64), cell: f64, crs: Option<&str>| {
        let mut place = Georeference::north_up((left, top), (cell, cell));
        place.crs = crs.map(|code| Crs::parse(code).unwrap());
        let values = vec![1f32; (size * size) as usize];
        let cells = Cells::Values { values: &values, nodata: -9.0 };
        let file = path.join(name);
        write_tiff(&file, &place, (size, size), cells, &TiffOptions::default()).unwrap();
        let index = Path::new(name).with_extension("ccq");
        PROGRAM.succeeds(path, &["build", name, "-o", index.to_str().unwrap()]);
    };
    write("large.tif", 1, (100.0, 110.0), 10.0, None);
    write("west.tif", 2, (100.0, 110.0), 1.0, None);
    write("east.tif", 2, (105.0, 110.0), 1.0, None);
    write("coarse.tif", 2, (100.0, 110.0), 2.0, None);
    write("north.tif", 2, (100.0, 110.0), 1.0, Some("EPSG:32631"));
    write("other.tif", 2, (100.0, 110.0), 1.0, Some("EPSG:32632"));
    let query = |a, b| ["query", "large.ccq", "--and", a, "1,2", "--and", b, "1,2"];
    for (a, b, words) in [
        ("west.ccq", "east.ccq", "they do not lie at the same place"),
        ("west.ccq", "coarse.ccq", "they do not lie at the same place"),
        ("north.ccq", "other.ccq", "other.ccq is in EPSG:32632, but north.ccq is in EPSG:32631"),
    ] {
        PROGRAM.fails(path, &query(a, b), &[words]);
    }
    PROGRAM.succeeds(path, &query("west.ccq", "north.ccq"));
}

#[test]
fn indices_of_other_cell_sizes_are_asked_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let write = |name: &str, (left, top, size): (f64, f64, f64), (width, height): (u32, u32)| {
        let values: Vec<f32> =
            (0..width * height).map(|i| (i % width + i / width) as f32).collect();
        let mut place = Georeference::north_up((left, top), (size, size));
        place.crs = Some(Crs::parse("EPSG:32633").unwrap());
        let cells = Cells::Values { values: &values, nodata: -9.0 };
        write_tiff(&path.join(name), &place, (width, height), cells, &TiffOptions::default())
            .unwrap();
        let index = Path::new(name).with_extension("ccq");
        PROGRAM.succeeds(path, &["build", name, "-o", index.to_str().unwrap()]);
    };
    write("fine.tif", (500_000.0, 4_000_000.0, 10.0), (6, 6));
    write("coarse.tif", (500_000.0, 4_000_000.0, 30.0), (2, 2));
    write("far.tif", (600_000.0, 4_000_000.0, 30.0), (2, 2));
    // The coarse raster has 2 in the south-east only. In the fine one six cells are 8 and more, all in the south-east.
    for (first, and) in [
        (["fine.ccq", "8,99"], ["coarse.ccq", "2,3"]),
        (["coarse.ccq", "2,3"], ["fine.ccq", "8,99"]),
    ] {
        let ask = ["query", first[0], "--range", first[1], "--and", and[0], and[1]];
        let report = PROGRAM.json(path, &[&ask[..], &["-o", "m.npy", "--overwrite"]].concat());
        assert_eq!(report["found"]["cells"], 6);
        assert_eq!(geo_io::read_npy(&path.join("m.npy")).unwrap().shape, [6, 6]);
        let ask = [&ask[..], &["--bounds", "500050,3999940,500060,3999960", "--regions", "r.csv"]]
            .concat();
        let report = PROGRAM.json(path, &[&ask[..], &["--overwrite"]].concat());
        assert_eq!(
            (&report["found"]["cells"], &report["regions"]["area"]),
            (&2.into(), &200.0.into())
        );
        PROGRAM.fails(
            path,
            &[&ask[..], &["--device", "software", "--overwrite"]].concat(),
            &["on the CPU"],
        );
    }
    let ask = ["query", "fine.ccq", "--and", "far.ccq", "0,9"];
    PROGRAM.fails(path, &ask, &["far.ccq", "600000", "fine.ccq", "they do not overlap"]);
}

#[test]
fn regions_are_written_with_areas_and_holes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let write = |name: &str, crs: &str, (left, top, size): (f64, f64, f64)| {
        // A ring of 7 around a 1, a 7 at its corner, and a 7 by itself.
        let values = [
            7f32, 7.0, 7.0, 1.0, 7.0, 7.0, 1.0, 7.0, 1.0, 1.0, 7.0, 7.0, 7.0, 1.0, 1.0, 1.0, 1.0,
            1.0, 7.0, 1.0,
        ];
        let mut place = Georeference::north_up((left, top), (size, size));
        place.crs = Some(Crs::parse(crs).unwrap());
        let cells = Cells::Values { values: &values, nodata: -9.0 };
        write_tiff(&path.join(name), &place, (5, 4), cells, &TiffOptions::default()).unwrap();
        let index = Path::new(name).with_extension("ccq");
        PROGRAM.succeeds(path, &["build", name, "-o", index.to_str().unwrap()]);
    };
    write("utm.tif", "EPSG:32633", (500_000.0, 4_000_000.0, 30.0));
    write("degrees.tif", "EPSG:4326", (10.0, 60.0, 0.5));
    let base = ["query", "utm.ccq", "--range", "7,8", "--overwrite", "--regions"];
    let mut all = Vec::new();
    for device in ["cpu", "software"] {
        let report = PROGRAM.json(path, &[&base[..], &["r.geojson", "--device", device]].concat());
        assert_eq!(report["regions"]["count"], 3);
        assert_eq!(report["regions"]["area"], 8.0 * 900.0);
        all.push(std::fs::read(path.join("r.geojson")).unwrap());
    }
    assert!(all[0] == all[1]);
    let json = json_of(&path.join("r.geojson"));
    assert_eq!(json["crs"]["properties"]["name"], "urn:ogc:def:crs:EPSG::32633");
    let first = &json["features"][0];
    let number = |name: &str| first["properties"][name].as_f64();
    assert_eq!((number("cells"), number("area")), (Some(8.0), Some(7200.0)));
    let rings = first["geometry"]["coordinates"].as_array().unwrap();
    assert_eq!(rings.len(), 2);
    let mut hole: Vec<String> =
        rings[1].as_array().unwrap().iter().map(ToString::to_string).collect();
    hole.sort();
    hole.dedup();
    let corners = [
        [500_030.0, 3_999_940.0],
        [500_030.0, 3_999_970.0],
        [500_060.0, 3_999_940.0],
        [500_060.0, 3_999_970.0],
    ];
    assert_eq!(hole, corners.map(|corner| serde_json::json!(corner).to_string()));
    PROGRAM.succeeds(path, &[&base[..], &["r.csv", "--connectivity", "8"]].concat());
    let table = std::fs::read_to_string(path.join("r.csv")).unwrap();
    assert_eq!(table, "region,row,col,cells,area\n0,0,0,9,8100\n1,0,4,1,900\n");
    // Of half a degree at 60 degrees north: the southern row is larger.
    PROGRAM.succeeds(path, &["query", "degrees.ccq", "--range", "7,8", "--regions", "d.csv"]);
    let table = std::fs::read_to_string(path.join("d.csv")).unwrap();
    let areas: Vec<f64> =
        table.lines().skip(1).map(|row| row.rsplit(',').next().unwrap().parse().unwrap()).collect();
    let square = 55_660.0 * 55_706.0 * 0.5037;
    assert!((areas[1] / square - 1.0).abs() < 0.01 && areas[2] > 1.03 * areas[1], "{areas:?}");
    PROGRAM.succeeds(path, &["query", "utm.ccq", "--range", "9,10", "--regions", "none.geojson"]);
    assert!(json_of(&path.join("none.geojson"))["features"].as_array().unwrap().is_empty());
    PROGRAM.fails(
        path,
        &["query", "utm.ccq", "--regions", "r.npy"],
        &["--regions r.npy", ".geojson, .parquet or .csv"],
    );
    PROGRAM.fails(path, &["query", "utm.ccq", "--connectivity", "8"], &["--regions"]);
}

#[test]
fn areas_are_those_of_the_ellipsoid_to_the_poles_in_grads_and_of_the_moon() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let area = |crs: Crs, (left, top, size): (f64, f64, f64), (width, height): (u32, u32)| {
        let values = vec![7f32; (width * height) as usize];
        let mut place = Georeference::north_up((left, top), (size, size));
        place.crs = Some(crs);
        let cells = Cells::Values { values: &values, nodata: -9.0 };
        let options = TiffOptions::default();
        write_tiff(&path.join("all.tif"), &place, (width, height), cells, &options).unwrap();
        PROGRAM.succeeds(path, &["build", "all.tif", "-o", "all.ccq", "--overwrite"]);
        let ask = ["query", "all.ccq", "--range", "7,8", "--regions", "r.csv", "--overwrite"];
        PROGRAM.json(path, &ask)["regions"]["area"].as_f64().unwrap()
    };
    // The centres of the first and the last row are the poles.
    let of = |code: &str| Crs::parse(code).unwrap();
    let whole = area(of("EPSG:4326"), (-5.0, 95.0, 10.0), (36, 19));
    assert!((whole / 510_065_621_724_088.0 - 1.0).abs() < 1e-12, "{whole}");
    let moon = r#"GEOGCS["Moon",DATUM["D_Moon",SPHEROID["Moon",1737400,0]],PRIMEM["R",0],UNIT["degree",0.0174532925199433]]"#;
    let whole = area(Crs::from_wkt(moon).unwrap(), (-5.0, 95.0, 10.0), (36, 19));
    let sphere = 4.0 * std::f64::consts::PI * 1_737_400.0 * 1_737_400.0;
    assert!((whole / sphere - 1.0).abs() < 1e-12, "{whole}");
    let grads = area(of("EPSG:4807"), (0.0, 54.0, 1.0), (6, 4));
    let degrees = area(of("EPSG:4326"), (0.0, 48.6, 0.9), (6, 4));
    assert!((grads / degrees - 1.0).abs() < 1e-9, "{grads} {degrees}");
}

#[test]
fn bounds_within_a_cell_are_that_cell() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let values: Vec<f32> = (0..6).map(|i| i as f32).collect();
    let place = Georeference::north_up((500_000.0, 4_000_000.0), (10.0, 10.0));
    let cells = Cells::Values { values: &values, nodata: -9.0 };
    write_tiff(&path.join("a.tif"), &place, (3, 2), cells, &TiffOptions::default()).unwrap();
    PROGRAM.succeeds(path, &["build", "a.tif", "-o", "a.ccq"]);
    let found = |bounds: &str| {
        let ask = ["query", "a.ccq", "--range", "0,9", "--bounds", bounds];
        PROGRAM.json(path, &ask)["found"]["cells"].clone()
    };
    assert_eq!(found("500010.001,3999995.001,500010.002,3999995.002"), 1);
    assert_eq!(found("500000,3999990,500020,4000000"), 2);
    let outside = "500030.001,3999995,500030.002,3999996";
    PROGRAM.fails(path, &["query", "a.ccq", "--bounds", outside], &["no cell lies within"]);
}

#[test]
fn what_gives_no_place_is_said_and_a_world_file_gives_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let points: Vec<f64> = [(0.0, 0.0), (2.0, 0.0), (0.0, 2.0)]
        .iter()
        .flat_map(|(x, y)| [*x, *y, 0.0, 500_000.0 + x, 4_000_000.0 - y, 0.0])
        .collect();
    let plain = Tiff::of_bytes(2, &[1, 2, 3, 4]);
    let with_points = plain.clone().tag(33922, Field::Doubles(points));
    std::fs::write(path.join("points.tif"), with_points.bytes()).unwrap();
    std::fs::write(path.join("world.tif"), plain.bytes()).unwrap();
    std::fs::write(path.join("world.tfw"), "5\n0\n0\n-5\n1002.5\n1997.5\n").unwrap();
    for (command, out) in [("build", "x.ccq"), ("plan", "x.json")] {
        let report = PROGRAM.succeeds(path, &[command, "points.tif", "-o", out]);
        assert!(report.contains("ground control points (3)"), "{report}");
        let report = PROGRAM.succeeds(path, &[command, "world.tif", "-o", out, "--overwrite"]);
        assert!(!report.contains("note"), "{report}");
    }
    let report = PROGRAM.succeeds(path, &["info", "x.ccq"]);
    assert!(report.contains("north-west corner 1000 2000, cells of 5"), "{report}");
}

/// Whichever command reads a raster.
#[test]
fn rasters_without_cells_or_of_types_that_are_not_read_are_refused_in_the_same_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "some.tif", 500_000.0, None);
    PROGRAM.succeeds(path, &["build", "some.tif", "-o", "some.ccq"]);
    let cases = [
        ("none.npy", header("<f4", "(0, 0)"), 0, "none.npy has no cells (0 x 0)"),
        ("complex.npy", header("<c8", "(2, 2)"), 32, "its type is <c8"),
    ];
    for (name, header, bytes, words) in cases {
        std::fs::write(path.join(name), npy(1, &header, &vec![0; bytes])).unwrap();
        PROGRAM.fails(path, &["build", name, "-o", "x.ccq"], &[name, words]);
        PROGRAM.fails(path, &["plan", name, "-o", "x.json"], &[name, words]);
        let asked = ["query", "some.ccq", "--raster", name, "--range", "1,2"];
        PROGRAM.fails(path, &asked, &[name, words]);
    }
}

#[test]
fn what_is_found_is_the_same_as_geoparquet() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "utm.tif", 500_000.0, Some("EPSG:32633"));
    PROGRAM.succeeds(path, &["build", "utm.tif", "-o", "a.ccq"]);
    let query = ["query", "a.ccq", "--range", "2,4", "--overwrite"];
    for ending in ["geojson", "parquet"] {
        let [found, regions] = ["found", "regions"].map(|name| format!("{name}.{ending}"));
        PROGRAM.succeeds(path, &[&query[..], &["-o", &found, "--regions", &regions]].concat());
    }
    for name in ["found", "regions"] {
        let read =
            |ending: &str| geo_io::read_features(&path.join(name).with_extension(ending)).unwrap();
        let (json, parquet) = (read("geojson"), read("parquet"));
        assert_eq!((&json.shapes, json.crs), (&parquet.shapes, parquet.crs));
        assert!(!json.shapes.is_empty());
        for (a, b) in json.properties.iter().zip(&parquet.properties) {
            for of in ["row", "min", "max", "region", "cells", "area"] {
                let number = |p: &geo_io::Properties| p.get(of).and_then(|value| value.as_f64());
                assert_eq!(number(a), number(b), "{of}");
            }
        }
    }
}

/// Rasters in the forms that people hold.
#[test]
fn indices_of_mosaics_and_grids_are_those_of_the_geotiff() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let values: Vec<f32> = (0..70 * 66).map(|i| (i * 7 % 41) as f32 + 0.5).collect();
    let place = Georeference::north_up((100.0, 332.0), (2.0, 2.0));
    let cells = Cells::Values { values: &values, nodata: -9999.0 };
    write_tiff(&at("m.tif"), &place, (70, 66), cells, &TiffOptions::default()).unwrap();
    let text = "<GeoTransform>100, 2, 0, 332, 0, -2</GeoTransform>";
    std::fs::write(at("m.vrt"), virtual_raster((70, 66), text, &[("m.tif", [0, 0, 70, 66])]))
        .unwrap();
    std::fs::write(at("m.asc"), ascii_grid(70, &values, (100.0, 200.0), 2.0)).unwrap();
    for form in ["tif", "vrt", "asc"] {
        let [raster, index] = [format!("m.{form}"), format!("{form}.ccq")];
        PROGRAM.succeeds(
            folder.path(),
            &["build", &raster, "--bins", "5,20.5", "--device", "cpu", "-o", &index],
        );
        assert!(is_same(folder.path(), "tif.ccq", &index), "{form}");
    }
}

#[test]
fn areas_in_metres_of_web_maps_are_noted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for (code, is_noted) in [("EPSG:3857", true), ("EPSG:32633", false)] {
        write(path, "a.tif", 500_000.0, Some(code));
        PROGRAM.succeeds(path, &["build", "a.tif", "-o", "a.ccq", "--overwrite"]);
        let query = ["query", "a.ccq", "--range", "2,4", "--regions", "r.csv", "--overwrite"];
        let report = PROGRAM.succeeds(path, &query);
        // The cosine of the latitude at y = 4,000,000: 33.78 degrees.
        let note = "a metre of EPSG:3857 is 0.831 m on the ground here, and areas take it for one";
        assert_eq!(report.contains(note), is_noted, "{report}");
        assert!(!PROGRAM.succeeds(path, &query[..4]).contains("on the ground"));
    }
}
