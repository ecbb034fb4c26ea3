//! Stations of GeoParquet and other tables with geometries, and the worked example of docs/guide/tables.md.

use std::path::Path;
use std::process::Command;

use geo_io::{ColumnType, Crs, Number, Shape, write_geoparquet};

use crate::PROGRAM;

const DOCUMENT: &str = include_str!("../../../../docs/guide/tables.md");

/// Stations with rain: a file in a system, and the same as a table.
fn stations(folder: &Path, name: &str, first: u32, system: &str) {
    let place = |i: u32| {
        let (u, v) = (f64::from(i * 37 % 101), f64::from(i * 53 % 97));
        ([500_000.0 + u * 40.25, 4_100_000.0 + v * 40.125], 20.0 + u / 7.0 - v / 13.0)
    };
    let rows = (first..first + 60).map(place);
    let mut text = "x,y,rain\n".to_owned();
    rows.clone().for_each(|([x, y], rain)| text += &format!("{x},{y},{rain}\n"));
    std::fs::write(folder.join(name).with_extension("csv"), text).unwrap();
    let rows = rows.map(|(place, rain)| (vec![Number::from(rain)], Shape::Points(vec![place])));
    let crs = Crs::parse(system).unwrap();
    write_geoparquet(&folder.join(name), &[("rain", ColumnType::Real)], rows, Some(&crs)).unwrap();
}

/// The commands of this program below a heading of the document.
fn commands(heading: &str) -> Vec<Vec<&'static str>> {
    let (_, section) = DOCUMENT.split_once(heading).unwrap();
    let lines = section.lines().filter_map(|line| line.strip_prefix("idw_surface "));
    lines.map(|line| line.split(' ').collect()).collect()
}

#[test]
fn the_worked_example_runs_and_gives_the_surface_of_the_same_points_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    stations(here, "stations.parquet", 0, "EPSG:32631");
    stations(here, "more.parquet", 60, "EPSG:32631");
    let commands = commands("## From a GeoParquet of stations to a surface");
    let [first, second] = &commands[..] else { panic!("{commands:?}") };
    let report = PROGRAM.succeeds(here, &[&first[..], &["--device", "cpu"]].concat());
    assert!(report.contains("EPSG:32631"), "{report}");
    let crs = Crs::parse("EPSG:32631").unwrap();
    let place = geo_io::read_place(&here.join("rain.tif")).unwrap();
    assert!(
        place.georeference.and_then(|place| place.crs).is_some_and(|found| found.same_as(&crs))
    );
    let as_text = |command: &[&'static str], inputs: &[&'static str], output: &'static str| {
        let rest = command.iter().copied().skip(inputs.len());
        let rest: Vec<&str> = rest.take_while(|word| *word != "-o").collect();
        let more = ["-o", output, "--crs", "EPSG:32631", "--device", "cpu"];
        PROGRAM.succeeds(here, &[inputs, &rest[..], &more].concat());
        std::fs::read(here.join(output)).unwrap()
    };
    let bytes = |name: &str| std::fs::read(here.join(name)).unwrap();
    assert!(as_text(first, &["stations.csv"], "text.tif") == bytes("rain.tif"));
    // The GeoPackage is made by GDAL, where there is GDAL.
    let options = [
        "-f",
        "GPKG",
        "-oo",
        "X_POSSIBLE_NAMES=x",
        "-oo",
        "Y_POSSIBLE_NAMES=y",
        "-oo",
        "AUTODETECT_TYPE=YES",
    ];
    let made = Command::new("ogr2ogr")
        .current_dir(here)
        .args(options)
        .args(["-a_srs", "EPSG:32631", "more.gpkg", "more.csv"])
        .output();
    match made {
        Ok(ran) => assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr)),
        Err(_) => return println!("skipped: no ogr2ogr"),
    }
    PROGRAM.succeeds(here, &[&second[..], &["--device", "cpu"]].concat());
    assert!(as_text(second, &["stations.csv", "more.csv"], "both.tif") == bytes("all.tif"));
}

#[test]
fn tables_in_two_systems_are_refused_with_both() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    stations(here, "a.parquet", 0, "EPSG:32631");
    stations(here, "b.parquet", 60, "EPSG:32632");
    let run = |more: &[&'static str]| {
        [&["a.parquet", "--columns", "x,y,rain", "-o", "s.tif"], more].concat()
    };
    PROGRAM.fails(
        here,
        &run(&["b.parquet"]),
        &["b.parquet is in EPSG:32632", "a.parquet is in EPSG:32631"],
    );
    PROGRAM.fails(here, &run(&["b.csv"]), &["b.csv is in no named coordinate system"]);
    PROGRAM.succeeds(here, &run(&["b.parquet", "--crs", "EPSG:32631", "--device", "cpu"]));
    // Metres that are said to be degrees.
    stations(here, "c.parquet", 0, "EPSG:4326");
    let wrong = ["c.parquet", "--columns", "x,y,rain", "-o", "c.tif"];
    PROGRAM.fails(here, &wrong, &["c.parquet has a latitude of"]);
    PROGRAM.fails(
        here,
        &["a.parquet", "-o", "d.tif"],
        &["a.parquet", "row 1: its point has no height"],
    );
    let class = ["a.parquet", "--columns", "x,y,rain", "--classes", "2", "-o", "d.tif"];
    PROGRAM.fails(here, &class, &["a.parquet has no classes"]);
    PROGRAM.fails(
        here,
        &["a.parquet", "--columns", "x,y,snow", "-o", "d.tif"],
        &["no column \"snow\"; its columns are rain"],
    );
}

#[test]
fn a_plan_of_geoparquet_gives_the_bytes_of_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    stations(here, "a.parquet", 0, "EPSG:32631");
    let words = ["a.parquet", "--columns", "x,y,rain", "--max-points", "8"];
    PROGRAM.succeeds(here, &[&words[..], &["-o", "one.tif", "--device", "cpu"]].concat());
    PROGRAM.succeeds(
        here,
        &[&["plan"], &words[..], &["--tile-size", "16", "-o", "plan.json"]].concat(),
    );
    PROGRAM.succeeds(here, &["run", "plan.json", "--all", "--device", "cpu"]);
    PROGRAM.succeeds(here, &["merge", "plan.json", "-o", "tiles.tif"]);
    let bytes = |name: &str| std::fs::read(here.join(name)).unwrap();
    assert!(bytes("one.tif") == bytes("tiles.tif"));
}

#[test]
fn a_catalogue_is_its_files_by_name_and_a_radius_leaves_far_ones_out() {
    use testing::files::catalogues::{Listed, items};
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    stations(here, "a.parquet", 0, "EPSG:32631");
    stations(here, "b.parquet", 60, "EPSG:32631");
    let around = [500_000.0, 4_100_000.0, 504_025.0, 4_103_852.0];
    let far = [700_000.0, 4_100_000.0, 704_025.0, 4_103_852.0];
    let files = [("a.parquet", around), ("b.parquet", around), ("gone.parquet", far)];
    let files = files.map(|(name, bounds)| Listed::new(name, bounds));
    std::fs::write(here.join("all.json"), items(&files).to_string()).unwrap();
    let window = "--bounds=500500,4100500,503000,4103000";
    let made = |inputs: &[&str], more: &[&str]| {
        let always = ["--columns", "x,y,rain", "--resolution", "100", "--overwrite", window];
        let surface = [inputs, &always, more, &["-o", "s.tif", "--device", "cpu"]].concat();
        PROGRAM.succeeds(here, &surface);
        let plan = [&["plan"], inputs, &always, more, &["--memory", "1GiB", "-o", "p.json"]];
        PROGRAM.succeeds(here, &plan.concat());
        ["s.tif", "p.json"].map(|name| std::fs::read(here.join(name)).unwrap())
    };
    let by_name = ["a.parquet", "b.parquet"];
    for more in [&["--radius", "900"][..], &["--kernel", "biweight", "--bandwidth", "900"]] {
        assert!(made(&["all.json"], more) == made(&by_name, more), "{more:?}");
    }
    // Any point may count.
    for more in [&["--max-points", "8"][..], &["--radius", "900", "--cross-validate"]] {
        let words = ["all.json", "--columns", "x,y,rain", window, "-o", "x.tif"];
        let missing = ["item 2 (\"2\"): its file gone.parquet is missing"];
        PROGRAM.fails(here, &[&words[..], more].concat(), &missing);
    }
}

#[test]
fn an_error_that_no_point_lies_in_the_bounds_has_both_extents() {
    PROGRAM.tells_both_extents(&["--radius", "3", "-o", "o.tif"]);
}

/// GDAL says that rain is in the vertical system's unit.
#[test]
fn values_of_a_column_have_the_system_without_its_heights() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    stations(here, "s.parquet", 0, "EPSG:32631+6360");
    let columns = ["s.parquet", "--columns", "x,y,rain"];
    let size = ["--max-points", "8", "--size", "20x20"];
    PROGRAM.succeeds(here, &[&columns[..], &size, &["-o", "a.tif"]].concat());
    PROGRAM.succeeds(here, &[&["plan"], &columns[..], &size].concat());
    PROGRAM.succeeds(here, &["run", "plan.json", "--all"]);
    PROGRAM.succeeds(here, &["merge", "plan.json", "-o", "b.tif"]);
    for name in ["a.tif", "b.tif"] {
        let place = geo_io::read_place(&here.join(name)).unwrap().georeference.unwrap();
        let crs = place.crs.unwrap();
        assert_eq!((crs.epsg(), crs.has_heights()), (Some(32631), false), "{name}");
    }
}

#[test]
fn columns_of_files_without_columns_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let column = [1.0, 2.0, 4.0];
    let points = geo_io::LasPoints { x: &column, y: &column, z: &column, ..Default::default() };
    geo_io::write_las(&folder.path().join("a.laz"), &points, None).unwrap();
    std::fs::write(folder.path().join("a.csv"), "X,Y,Z\n1,2,3\n").unwrap();
    let words = ["--columns x,y,intensity", "LAS and LAZ have no columns"];
    for start in [&["a.laz"][..], &["plan", "a.laz"]] {
        let run = [start, &["--columns", "x,y,intensity"]].concat();
        PROGRAM.fails(folder.path(), &run, &words);
    }
    let run = ["a.laz", "--columns", "X,Y,Z", "--size", "3x3", "-o", "a.tif", "--device", "cpu"];
    PROGRAM.succeeds(folder.path(), &run);
}

#[test]
fn a_dash_is_refused_where_an_argument_needs_a_file() {
    PROGRAM
        .refuses_streams(&[("plan p.csv --radius 4 -o -", "--output"), ("run - --all", "<PLAN>")]);
}
