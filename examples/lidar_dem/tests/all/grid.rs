//! `--size` and `--template`: the cells of the result.

use std::fmt::Write;
use std::path::Path;

use geo_io::{Cells, Crs, Georeference, TiffOptions, read_raster, write_tiff};
use gpu_core::GridSpec;
use testing::files::grid::{ascii_grid, virtual_raster};

use crate::PROGRAM;
use crate::common::{are_same, bands, in_tiles, places};

/// A corner and a side of which edges are not multiples.
const CORNER: [f64; 2] = [634_000.37, 851_001.59];
const SIDE: f64 = 0.7;
const SIZE: (u32, u32) = (61, 43);

fn plane(x: f64, y: f64) -> f64 {
    100.0 + 0.5 * (x - CORNER[0]) - 0.25 * (y - CORNER[1])
}

/// Points of a plane on the grid's ground and around it.
fn write_points(folder: &Path) {
    let mut text = "x,y,z\n".to_owned();
    for [x, y] in places(6000, [60.0, 50.0], 3) {
        let (x, y) = (CORNER[0] - 8.0 + x, CORNER[1] + 8.0 - y);
        writeln!(text, "{x},{y},{}", plane(x, y)).unwrap();
    }
    std::fs::write(folder.join("p.csv"), text).unwrap();
}

fn grid() -> GridSpec {
    GridSpec::new(CORNER[0], CORNER[1], SIDE, SIZE.0, SIZE.1).unwrap()
}

/// Writes a raster that lies so.
fn write_template(folder: &Path, name: &str, place: &Georeference) {
    let values = vec![1.0; (SIZE.0 * SIZE.1) as usize];
    let cells = Cells::Values { values: &values, nodata: -9999.0 };
    write_tiff(&folder.join(name), place, SIZE, cells, &TiffOptions::default()).unwrap();
}

fn place(crs: Option<&str>) -> Georeference {
    let crs = crs.map(|text| Crs::parse(text).unwrap());
    Georeference::of_grid(&grid(), crs.as_ref())
}

fn is_the_plane(values: &[f32], grid: &GridSpec) {
    for (cell, value) in values.iter().enumerate() {
        let (column, row) = (cell as u32 % grid.width, cell as u32 / grid.width);
        let (x, y) = grid.cell_centre(column, row);
        assert!((f64::from(*value) - plane(x, y)).abs() < 1e-3, "{column} {row}: {value}");
    }
}

#[test]
fn a_template_gives_place_size_and_system() {
    let folder = tempfile::tempdir().unwrap();
    write_points(folder.path());
    write_template(folder.path(), "t.tif", &place(Some("EPSG:2994")));
    for device in ["cpu", "software"] {
        let output = format!("{device}.tif");
        let run = ["p.csv", "--template", "t.tif", "-o", &output, "--device", device];
        PROGRAM.succeeds(folder.path(), &run);
    }
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert!(bytes("cpu.tif") == bytes("software.tif"));
    let dem = read_raster(&folder.path().join("cpu.tif"), None).unwrap();
    let found = dem.georeference.unwrap();
    assert_eq!(found.transform, place(None).transform);
    assert_eq!(found.crs.unwrap().epsg(), Some(2994));
    assert_eq!((dem.width as u32, dem.height as u32), SIZE);
    is_the_plane(&bands(&folder.path().join("cpu.tif")).0[0], &grid());
    // The result of several bands is a template as well.
    let run = ["p.csv", "--template", "t.tif", "--device", "cpu", "-o"];
    PROGRAM.succeeds(folder.path(), &[&run[..], &["two.tif", "--layer", "count"]].concat());
    let run = ["p.csv", "--template", "two.tif", "--device", "cpu", "-o", "again.tif"];
    PROGRAM.succeeds(folder.path(), &run);
    assert!(bytes("again.tif") == bytes("cpu.tif"));
    // So are a virtual raster of it and an ASCII grid, which has no system here.
    let template = Georeference::of_grid(&grid(), None).transform.map(|t| t.to_string()).join(", ");
    let text = format!("<SRS>EPSG:2994</SRS><GeoTransform>{template}</GeoTransform>");
    let mosaic = virtual_raster(SIZE, &text, &[("t.tif", [0, 0, SIZE.0, SIZE.1])]);
    std::fs::write(folder.path().join("t.vrt"), mosaic).unwrap();
    let values = vec![1.0; (SIZE.0 * SIZE.1) as usize];
    let bottom = CORNER[1] - SIDE * f64::from(SIZE.1);
    let text = ascii_grid(SIZE.0 as usize, &values, (CORNER[0], bottom), SIDE);
    std::fs::write(folder.path().join("t.asc"), text).unwrap();
    for (template, more) in [("t.vrt", &[][..]), ("t.asc", &["--crs", "EPSG:2994"])] {
        let run =
            ["p.csv", "--template", template, "--device", "cpu", "--overwrite", "-o", "again.tif"];
        PROGRAM.succeeds(folder.path(), &[&run[..], more].concat());
        assert!(bytes("again.tif") == bytes("cpu.tif"), "{template}");
    }
    // Heights above a mosaic.
    let run = ["p.csv", "--template", "t.tif", "--device", "cpu", "--overwrite", "-o"];
    for (ground, output) in [("t.tif", "a.tif"), ("t.vrt", "b.tif")] {
        PROGRAM.succeeds(folder.path(), &[&run[..], &[output, "--above", ground]].concat());
    }
    assert!(bytes("a.tif") == bytes("b.tif") && bytes("a.tif") != bytes("cpu.tif"));
}

/// The points' heights are not the template's: these may be in feet above another datum.
#[test]
fn a_template_gives_no_system_of_heights() {
    let folder = tempfile::tempdir().unwrap();
    write_points(folder.path());
    write_template(folder.path(), "t.tif", &place(Some("EPSG:2994+6360")));
    let run = ["p.csv", "--template", "t.tif", "--device", "cpu", "-o", "a.tif"];
    PROGRAM.succeeds(folder.path(), &run);
    let plan = ["plan", "p.csv", "--template", "t.tif"];
    PROGRAM.succeeds(folder.path(), &plan);
    PROGRAM.succeeds(folder.path(), &["run", "plan.json", "--all", "--device", "cpu"]);
    PROGRAM.succeeds(folder.path(), &["merge", "plan.json", "-o", "b.tif"]);
    for name in ["a.tif", "b.tif"] {
        let crs = read_raster(&folder.path().join(name), None).unwrap().georeference.unwrap().crs;
        let crs = crs.unwrap();
        assert_eq!((crs.epsg(), crs.vertical_epsg()), (Some(2994), None), "{name}");
        assert!(!crs.has_heights(), "{name}: {crs:?}");
    }
}

/// A Zarr array of one run, and one that each tile writes its own chunks of, have the bands of the GeoTIFF.
#[test]
fn a_zarr_array_has_the_values_of_the_geotiff() {
    let folder = tempfile::tempdir().unwrap();
    write_points(folder.path());
    write_template(folder.path(), "t.tif", &place(Some("EPSG:26910")));
    let common = ["p.csv", "--template", "t.tif", "--method", "pixels"];
    let run = [&common[..], &["--device", "cpu", "-o"]].concat();
    let read = |name: &str| {
        let raster = read_raster(&folder.path().join(name), None).unwrap();
        let values = format!("{:?}", raster.values.to_floats(raster.nodata));
        (values, raster.georeference.unwrap().transform)
    };
    for name in ["whole.tif", "whole.zarr"] {
        PROGRAM.succeeds(folder.path(), &[&run[..], &[name]].concat());
    }
    assert!(read("whole.tif") == read("whole.zarr"));
    let plan = [&["plan"], &common[..], &["--tile-size", "16", "--zarr", "tiles.zarr"]].concat();
    PROGRAM.succeeds(folder.path(), &plan);
    for tile in ["5", "0"] {
        PROGRAM.succeeds(folder.path(), &["run", "plan.json", "--tile", tile, "--device", "cpu"]);
    }
    PROGRAM.succeeds(folder.path(), &["run", "plan.json", "--all", "--device", "cpu"]);
    assert!(read("whole.tif") == read("tiles.zarr"));
    // Several bands are one array of three dimensions.
    let two = [&run[..], &["two.zarr", "--layer", "count"]].concat();
    PROGRAM.succeeds(folder.path(), &two);
    let plan = [
        &["plan"],
        &common[..],
        &["--layer", "count", "--tile-size", "32", "--zarr", "two-tiles.zarr", "-o", "two.json"],
    ]
    .concat();
    PROGRAM.succeeds(folder.path(), &plan);
    PROGRAM.succeeds(folder.path(), &["run", "two.json", "--all", "--device", "cpu"]);
    let about = |path: &str| {
        let text = std::fs::read_to_string(folder.path().join(path)).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        (json["shape"].clone(), json["attributes"].clone())
    };
    assert_eq!(about("two.zarr/two/zarr.json"), about("two-tiles.zarr/two-tiles/zarr.json"));
    assert_eq!(about("two.zarr/two/zarr.json").0, serde_json::json!([2, SIZE.1, SIZE.0]));
    let chunk = |path: &str| std::fs::metadata(folder.path().join(path)).unwrap().len();
    assert!(chunk("two-tiles.zarr/two-tiles/c/1/0/0") > 20);
}

#[test]
fn tiles_of_a_template_are_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    write_points(folder.path());
    write_template(folder.path(), "t.tif", &place(Some("EPSG:26910")));
    let mut counts = None;
    for (method, dsm) in [("exact", false), ("pixels", false), ("exact", true), ("pixels", true)] {
        let common = ["p.csv", "--template", "t.tif", "--layer", "count", "--method", method];
        let common = [&common[..], if dsm { &["--dsm"] } else { &[] }].concat();
        let name = format!("{method}.tif");
        PROGRAM.succeeds(
            folder.path(),
            &[&common[..], &["-o", &name, "--device", "cpu", "--overwrite"]].concat(),
        );
        let plan = [&common[..], &["--tile-size", "16"]].concat();
        assert_eq!(in_tiles(folder.path(), &plan, "cpu", "tiles.tif"), 12);
        let [whole, tiles] =
            [&name[..], "tiles.tif"].map(|name| bands(&folder.path().join(name)).0);
        // The highest point of a cell, which is the template's, stands for all of its points.
        assert_eq!(*counts.get_or_insert(whole[1].clone()), whole[1], "{method} {dsm}");
        assert!(whole[0].iter().zip(&tiles[0]).all(|(a, b)| (a - b).abs() < 1e-4), "{method}");
        assert!(are_same(&whole[1], &tiles[1]));
        let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
        assert!(method == "exact" || bytes(&name) == bytes("tiles.tif"));
        std::fs::remove_file(folder.path().join("tiles.tif")).unwrap();
    }
}

#[test]
fn a_size_divides_bounds_that_lie_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    write_points(folder.path());
    let [west, north] = CORNER;
    let (east, south) = (west + f64::from(SIZE.0) * SIDE, north - f64::from(SIZE.1) * SIDE);
    let bounds = format!("--bounds={west},{south},{east},{north}");
    let common = ["p.csv", &bounds, "--size", "61x43"];
    PROGRAM.succeeds(folder.path(), &[&common[..], &["-o", "a.tif", "--device", "cpu"]].concat());
    let dem = read_raster(&folder.path().join("a.tif"), None).unwrap();
    assert_eq!((dem.width as u32, dem.height as u32), SIZE);
    let found = dem.georeference.unwrap().transform;
    let wanted = place(None).transform;
    assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
    let values = bands(&folder.path().join("a.tif")).0;
    is_the_plane(&values[0], &grid());
    let plan = [&common[..], &["--tile-size", "16"]].concat();
    assert_eq!(in_tiles(folder.path(), &plan, "cpu", "tiles.tif"), 12);
    let tiles = bands(&folder.path().join("tiles.tif")).0;
    assert!(values[0].iter().zip(&tiles[0]).all(|(a, b)| (a - b).abs() < 1e-4));
}

/// The ground is 0.0004 cells longer than 50 rows.
#[test]
fn a_size_is_met_where_cells_are_almost_square() {
    let folder = tempfile::tempdir().unwrap();
    write_points(folder.path());
    let [west, north] = [634_000.0, 850_990.0];
    let bounds = format!("--bounds={west},{},{},{north}", north - 20.00016, west + 40.0);
    let run = ["p.csv", &bounds, "--size", "100x50", "-o", "a.tif", "--device", "cpu"];
    PROGRAM.succeeds(folder.path(), &run);
    let dem = read_raster(&folder.path().join("a.tif"), None).unwrap();
    assert_eq!((dem.width, dem.height), (100, 50));
    let found = dem.georeference.unwrap().transform;
    assert_eq!((found[0], found[3]), (west, north));
}

#[test]
fn grids_that_contradict_or_are_none_are_named() {
    let folder = tempfile::tempdir().unwrap();
    write_points(folder.path());
    let at = |transform| Georeference { transform, crs: None };
    let [x, y] = CORNER;
    for (name, transform) in [
        ("turned.tif", [x, 0.7, 0.1, y, 0.1, -0.7]),
        ("mirrored.tif", [x, 0.7, 0.0, y, 0.0, 0.7]),
        ("oblong.tif", [x, 0.7, 0.0, y, 0.0, -0.8]),
        ("far.tif", [0.0, 0.7, 0.0, 0.0, 0.0, -0.7]),
    ] {
        write_template(folder.path(), name, &at(transform));
    }
    write_template(folder.path(), "zone.tif", &place(Some("EPSG:26911")));
    let far_zone =
        Georeference { crs: place(Some("EPSG:26911")).crs, ..at([0.0, 0.7, 0.0, 0.0, 0.0, -0.7]) };
    write_template(folder.path(), "far-zone.tif", &far_zone);
    std::fs::write(folder.path().join("text.tif"), "no raster").unwrap();
    std::fs::write(folder.path().join("t.png"), "no raster").unwrap();
    let bounds = "--bounds=634000,850960,634040,851000";
    let template = |name: &'static str| ["--template", name];
    let cases: [(&[&str], &[&str]); 17] = [
        (&template("missing.tif"), &["--template", "missing.tif"]),
        (&template("text.tif"), &["--template", "text.tif"]),
        (&template("t.png"), &["--template", "t.png", ".tif"]),
        (&template("turned.tif"), &["--template turned.tif", "turned"]),
        (&template("mirrored.tif"), &["--template mirrored.tif", "mirrored"]),
        (&template("oblong.tif"), &["--template oblong.tif", "0.7 x 0.8", "square"]),
        (
            &template("far.tif"),
            // 61 x 43 cells of 0.7 below the origin.
            &[
                "--template far.tif",
                "0 -30.",
                "to 42.",
                "none of the 6000 points",
                "points lie in 63399",
                " to 63405",
            ],
        ),
        // Where no point lies on its ground, the systems come first.
        (
            &["--template", "far-zone.tif", "--crs", "EPSG:26910"],
            &["--template far-zone.tif", "EPSG:26911", "EPSG:26910", "--crs"],
        ),
        (
            &["--template", "zone.tif", "--crs", "EPSG:26910"],
            &["--template zone.tif", "EPSG:26911", "EPSG:26910", "--crs"],
        ),
        (&["--template", "zone.tif", "--resolution", "1"], &["--template", "--resolution"]),
        (&["--template", "zone.tif", bounds], &["--template", "--bounds"]),
        (&["--template", "zone.tif", "-o", "zone.tif"], &["same file", "zone.tif"]),
        (&["--size", "0,5"], &["--size", "0 is below 1"]),
        (&["--size", "5"], &["--size", "640x480"]),
        (&["--size", "5,5"], &["--size 5x5", "--bounds"]),
        (&["--size", "50,40", bounds], &["0.8 x 1", "--size 50x50"]),
        (&["--size", "40,40", bounds, "--resolution", "2"], &["--size 40x40", "--resolution 2"]),
    ];
    for (options, words) in cases {
        PROGRAM.fails(folder.path(), &[&["p.csv", "--device", "cpu"], options].concat(), words);
        let is_output = options.contains(&"-o");
        if !is_output {
            PROGRAM.fails(folder.path(), &[&["plan", "p.csv"], options].concat(), words);
        }
    }
}

/// The same ground in degrees and in grads, of which 100 are 90 degrees.
#[test]
fn slopes_in_grads_are_those_in_degrees() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut slopes = Vec::new();
    for (crs, unit) in [("EPSG:4326", 1.0), ("EPSG:4807", 0.9)] {
        let mut text = "x,y,z\n".to_owned();
        for [x, y] in places(2000, [0.02, 0.02], 5) {
            writeln!(text, "{},{},{}", (2.0 + x) / unit, (48.0 + y) / unit, 9000.0 * (x - y))
                .unwrap();
        }
        std::fs::write(folder.join("p.csv"), text).unwrap();
        let (west, south, side) = (2.0 / unit, 48.0 / unit, 0.02 / unit);
        let bounds = format!("--bounds={west},{south},{},{}", west + side, south + side);
        let words = ["p.csv", "--crs", crs, "--size", "20,20", &bounds, "--slope", "s.npy"];
        let more = ["--max-distance", "inf", "--device", "cpu", "-o", "d.npy", "--overwrite"];
        PROGRAM.succeeds(folder, &[&words[..], &more].concat());
        slopes.push(geo_io::read_npy(&folder.join("s.npy")).unwrap().data.to_floats(None));
    }
    let is_same = |(a, b): (&f64, &f64)| (a - b).abs() < 0.01 || (a.is_nan() && b.is_nan());
    assert_eq!(slopes[0].len(), 400);
    assert!(slopes[0].iter().zip(&slopes[1]).all(is_same), "{slopes:?}");
    assert!(slopes[0][210] > 5.0, "{}", slopes[0][210]);
}

#[test]
fn bounds_narrower_than_rounding_give_one_cell() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.csv"), "x,y,z\n0,0,1\n2,0,1\n0,2,1\n2,2,1\n").unwrap();
    let run = ["p.csv", "--resolution", "1", "--bounds=0,0,1e-9,1e-9", "--device", "cpu"];
    let report = PROGRAM.succeeds(folder.path(), &run);
    assert!(report.contains("1 x 1 cells of 1"), "{report}");
}

#[test]
fn light_is_refused_where_the_system_has_the_north_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    write_points(folder.path());
    let common = ["p.csv", "--resolution", "1", "--device", "cpu", "--crs", "EPSG:2065"];
    for option in ["--hillshade", "--relief"] {
        let words = [option, "EPSG:2065", "x grows to the south and y to the west"];
        PROGRAM.fails(folder.path(), &[&common[..], &[option, "h.png"]].concat(), &words);
    }
    PROGRAM.succeeds(folder.path(), &[&common[..], &["-o", "d.tif", "--slope", "s.tif"]].concat());
}

/// Cells at the border of --bounds count the pixels around them, whatever reach points have.
#[test]
fn an_endless_distance_changes_no_height_on_pixels() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut text = "x,y,z\n".to_owned();
    for (i, [x, y]) in places(20, [17.0, 10.0], 8).into_iter().enumerate() {
        writeln!(text, "{x},{y},{}", 100.0 + (i * 7919 % 23) as f64).unwrap();
    }
    std::fs::write(folder.join("n.csv"), text).unwrap();
    let of = |distance: &str| {
        let words = "n.csv -o o.npy --overwrite --method pixels --supersample 4 --bounds 0,0,17,10";
        let words = format!("{words} --device cpu --max-distance {distance}");
        PROGRAM.succeeds(folder, &words.split(' ').collect::<Vec<_>>());
        std::fs::read(folder.join("o.npy")).unwrap()
    };
    let finite = of("1000");
    assert!(of("inf") == finite);
    assert!(of("30") == finite);
}
