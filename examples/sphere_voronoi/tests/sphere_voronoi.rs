//! The program `sphere_voronoi` as its users meet it: exit codes, messages, files.

use std::collections::HashMap;
use std::path::Path;

use geo_io::{ArrayData, read_npy};
use tempfile::TempDir;
use testing::program::{Program, json_of};

const SITES: &str = "name,lon,lat\na,116.4,39.9\nb,-0.1,51.5\nc,-78.5,-0.2\nd,180,-17\n";

const AIRPORTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/airports.csv");

const PROGRAM: Program =
    Program { name: "sphere_voronoi", path: env!("CARGO_BIN_EXE_sphere_voronoi") };

fn with_sites() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("sites.csv"), SITES).unwrap();
    folder
}

fn cells(path: &Path) -> (Vec<usize>, Vec<u32>) {
    let array = read_npy(path).unwrap();
    match array.data {
        ArrayData::U32(values) => (array.shape, values),
        other => panic!("{other:?}"),
    }
}

#[test]
fn all_files_are_written_and_agree() {
    let folder = with_sites();
    let at = |name: &str| folder.path().join(name);
    let report = PROGRAM.succeeds(
        folder.path(),
        &[
            "sites.csv",
            "--level",
            "4",
            "--latitude",
            "geodetic",
            "--device",
            "cpu",
            "-o",
            "cells.npy",
            "--centres",
            "centres.npy",
            "--regions",
            "regions.geojson",
            "--areas",
            "areas.csv",
            "--neighbours",
            "neighbours.csv",
            "--map",
            "map.png",
            "--map-width",
            "200",
        ],
    );
    assert!(report.contains("level 4, 2048 cells"), "{report}");
    let (shape, sites) = cells(&at("cells.npy"));
    assert_eq!(shape, [2048]);
    let ArrayData::F64(centres) = read_npy(&at("centres.npy")).unwrap().data else {
        panic!("centres are f64")
    };
    assert_eq!(centres.len(), 3 * 2048);
    // The nearest site has the greatest scalar product.
    let vector = |lon: f64, lat: f64| {
        let (lon, lat) = (lon.to_radians(), lat.to_radians());
        [lat.cos() * lon.cos(), lat.cos() * lon.sin(), lat.sin()]
    };
    let places =
        [vector(116.4, 39.9), vector(-0.1, 51.5), vector(-78.5, -0.2), vector(180.0, -17.0)];
    for (centre, &site) in centres.chunks(3).zip(&sites) {
        let product = |p: &[f64; 3]| (0..3).map(|k| p[k] * centre[k]).sum::<f64>();
        let most = places.iter().map(product).fold(-2.0, f64::max);
        assert!((product(&places[site as usize]) - most).abs() < 1e-12);
    }
    let areas = std::fs::read_to_string(at("areas.csv")).unwrap();
    let area = |line: &str| line.rsplit(',').next().unwrap().parse::<f64>().unwrap();
    let sum: f64 = areas.lines().skip(1).map(area).sum();
    assert!((sum / 510_065_621.724 - 1.0).abs() < 1e-9, "{sum}");
    let neighbours = std::fs::read_to_string(at("neighbours.csv")).unwrap();
    assert!(neighbours.starts_with("site,neighbour\n0,1\n"), "{neighbours}");
    let regions = json_of(&at("regions.geojson"));
    let features = regions["features"].as_array().unwrap();
    assert_eq!(features.len(), 4);
    // The one at 180 degrees, which has the south pole too, reaches all three edges of the map.
    let ring = features[3]["geometry"]["coordinates"][0].as_array().unwrap();
    for corner in [[-180.0, -90.0], [180.0, -90.0]] {
        assert!(ring.contains(&serde_json::json!(corner)), "{ring:?}");
    }
    assert!(std::fs::metadata(at("map.png")).unwrap().len() > 100);
}

/// The area of WGS 84 from the equator to a latitude, a radian wide, over the equatorial radius squared. Simpson's rule
/// integrates the lengths of a degree of latitude and of longitude.
fn zone(degrees: f64) -> f64 {
    let e2 = 6.694_379_990_141_316e-3;
    let density = |phi: f64| (1.0 - e2) * phi.cos() / (1.0 - e2 * phi.sin().powi(2)).powi(2);
    let (end, steps) = (degrees.to_radians(), 256);
    let h = end / f64::from(steps);
    let term = |i: i32| density(h * f64::from(i)) * if i % 2 == 0 { 2.0 } else { 4.0 };
    ((1..steps).map(term).sum::<f64>() + density(0.0) + density(end)) * h / 3.0
}

/// The area of WGS 84 within a ring whose edges are straight between longitudes and latitudes, in square kilometres:
/// the integral of the zone below it along the ring.
fn area_on_ellipsoid(ring: &serde_json::Value) -> f64 {
    let places: Vec<[f64; 2]> = serde_json::from_value(ring.clone()).unwrap();
    let of_edge = |edge: &[[f64; 2]]| {
        let [[x0, y0], [x1, y1]] = [edge[0], edge[1]];
        let at = |i: i32| zone(y0 + (y1 - y0) * f64::from(i) / 8.0);
        let weight = |i: i32| if i % 8 == 0 { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
        -(x1 - x0).to_radians() * (0..=8).map(|i| weight(i) * at(i)).sum::<f64>() / 24.0
    };
    places.windows(2).map(of_edge).sum::<f64>() * 6378.137 * 6378.137
}

#[test]
fn areas_are_those_of_the_outlines_on_the_ellipsoid() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..24)
        .map(|i| {
            format!("{},{}\n", i * 83 % 360 - 180, [-88, -55, -20, 5, 30, 65, 89][i as usize % 7])
        })
        .collect();
    std::fs::write(folder.path().join("sites.csv"), format!("lon,lat\n{rows}")).unwrap();
    let mut worst = Vec::new();
    for latitude in ["authalic", "geocentric", "geodetic"] {
        let outputs = ["--regions", "regions.geojson", "--overwrite", "--level", "8"];
        let base = ["sites.csv", "--device", "cpu", "--latitude", latitude];
        PROGRAM.succeeds(folder.path(), &[&base[..], &outputs].concat());
        let regions = json_of(&folder.path().join("regions.geojson"));
        let (mut off, mut all) = (0.0f64, 0.0);
        for feature in regions["features"].as_array().unwrap() {
            let geometry = &feature["geometry"];
            let polygons = match geometry["type"].as_str().unwrap() {
                "Polygon" => vec![geometry["coordinates"].clone()],
                _ => geometry["coordinates"].as_array().unwrap().clone(),
            };
            let rings = polygons.iter().flat_map(|polygon| polygon.as_array().unwrap());
            let area: f64 = rings.map(area_on_ellipsoid).sum();
            let said = feature["properties"]["area_km2"].as_f64().unwrap();
            off = off.max((said / area - 1.0).abs());
            all += area;
        }
        assert!((all / 510_065_621.724 - 1.0).abs() < 1e-9, "{latitude}: {all}");
        worst.push(off);
    }
    assert!(worst[0] < 2e-4, "{worst:?}");
    assert!(worst[1] > 2e-3 && worst[2] > 5e-3, "{worst:?}");
}

#[test]
fn devices_kernels_and_formats_agree() {
    let folder = with_sites();
    let base = ["sites.csv", "--level", "2"];
    let mut found = Vec::new();
    for (device, kernel) in
        [("cpu", "auto"), ("software", "pruned"), ("software", "registers"), ("software", "global")]
    {
        let out = format!("{device}-{kernel}.npy");
        let more = ["--device", device, "--kernel", kernel, "-o", &out];
        PROGRAM.succeeds(folder.path(), &[&base[..], &more].concat());
        found.push(cells(&folder.path().join(out)).1);
    }
    assert!(found.windows(2).all(|pair| pair[0] == pair[1]));
    PROGRAM.succeeds(folder.path(), &[&base[..], &["--device", "cpu", "-o", "cells.csv"]].concat());
    let table = std::fs::read_to_string(folder.path().join("cells.csv")).unwrap();
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!((rows.len(), rows[0]), (129, "cell,site"));
    assert_eq!(rows[1], format!("100,{}", found[0][0]));
}

#[test]
fn every_row_is_a_site_whatever_its_class_and_notes_on_the_table_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let rows = "lon,lat,class\n0,0,7\n120,0,2\n# a remark\n-120,0,18\n0,89,2\n";
    std::fs::write(folder.path().join("sites.csv"), rows).unwrap();
    let report = PROGRAM.succeeds(
        folder.path(),
        &[
            "sites.csv",
            "--level",
            "3",
            "--device",
            "cpu",
            "-o",
            "cells.npy",
            "--areas",
            "areas.csv",
        ],
    );
    assert!(report.contains("sites.csv: lines behind a comment mark"), "{report}");
    let areas = std::fs::read_to_string(folder.path().join("areas.csv")).unwrap();
    assert_eq!(areas.lines().count(), 5, "{areas}");
    let mut sites = cells(&folder.path().join("cells.npy")).1;
    sites.sort_unstable();
    sites.dedup();
    assert_eq!(sites, [0, 1, 2, 3]);
}

#[test]
fn standard_input_is_read_to_its_first_row() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    // Without a header no row may be missing; the longer table has more bytes than a pipe holds.
    for (head, rows) in [("lon,lat\n", 2), ("", 9), ("", 8000)] {
        let place = |i: i32| format!("{},{}\n", i * 97 % 360 - 180, i * 61 % 179 - 89);
        let text = head.to_owned() + &(0..rows).map(place).collect::<String>();
        std::fs::write(folder.path().join("sites.csv"), &text).unwrap();
        let options = ["--columns", "1,2", "--level", "3", "--device", "cpu", "--overwrite", "-o"];
        PROGRAM.succeeds(folder.path(), &[&["sites.csv"], &options[..], &["file.npy"]].concat());
        let words = [&["-"], &options[..], &["pipe.npy"]].concat();
        let output = PROGRAM.run_on(folder.path(), &words, text.as_bytes());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(read("pipe.npy") == read("file.npy"), "{rows} rows");
    }
}

const SHAPES: &str = r#"{"type": "FeatureCollection", "features": [
    {"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates":
        [[[-30, -10], [30, -10], [30, 20], [-30, 20], [-30, -10]]]}},
    {"type": "Feature", "properties": {}, "geometry": {"type": "LineString", "coordinates":
        [[100, 50], [170, 10], [-150, -20]]}},
    {"type": "Feature", "properties": {}, "geometry": {"type": "MultiPoint", "coordinates":
        [[0, -80], [-100, 40]]}}]}"#;

/// Polygons, lines and points of a GeoJSON file are sites: a place in the polygon is its, one by the line the line's.
#[test]
fn sites_may_be_polygons_and_lines() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("sites.geojson"), SHAPES).unwrap();
    let run = |device: &str, output: &str, more: &[&str]| {
        let mut args = vec!["sites.geojson", "--level", "4", "--device", device, "-o", output];
        args.extend(more);
        PROGRAM.succeeds(folder.path(), &args)
    };
    let report =
        run("cpu", "cpu.npy", &["--areas", "areas.csv", "--map", "map.png", "--map-width", "100"]);
    assert!(report.contains("3 features"), "{report}");
    run("software", "software.npy", &["--kernel", "global"]);
    let (_, sites) = cells(&at("cpu.npy"));
    assert_eq!(cells(&at("software.npy")).1, sites);
    let level = sphere_qtm::Level::new(4).unwrap();
    for (lon, lat, site) in [
        (0.0, 5.0, 0),
        (25.0, 15.0, 0),
        (140.0, 30.0, 1),
        (-160.0, -20.0, 1),
        (10.0, -75.0, 2),
        (-100.0, 35.0, 2),
    ] {
        let place = sphere_qtm::LonLat::new(lon, lat).unwrap();
        let cell = sphere_qtm::Cell::containing(place, level);
        assert_eq!(sites[cell.index() as usize], site, "({lon}, {lat})");
    }
    let areas = std::fs::read_to_string(at("areas.csv")).unwrap();
    assert_eq!(areas.lines().count(), 4, "{areas}");

    std::fs::write(at("bad.geojson"), SHAPES.replace("[170, 10]", "[-80, -50], [170, 10]"))
        .unwrap();
    PROGRAM.fails(
        folder.path(),
        &["bad.geojson", "-o", "bad.npy"],
        &["bad.geojson", "feature 1", "antipodes"],
    );
}

/// A feature without geometry is not a site, and the others keep their numbers.
#[test]
fn features_without_geometry_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let none = |geometry: &str| {
        format!(r#"{{"type": "Feature", "properties": {{}}, "geometry": {geometry}}}"#)
    };
    let first = "\"features\": [";
    let (null, empty) = (none("null"), none(r#"{"type": "MultiPoint", "coordinates": []}"#));
    std::fs::write(at("all.geojson"), SHAPES).unwrap();
    let text = SHAPES.replace(first, &format!("{first}{null}, {empty}, "));
    std::fs::write(at("some.geojson"), &text).unwrap();
    let run = |name: &str| {
        let outputs = [format!("{name}.npy"), format!("{name}.csv"), format!("{name}-r.geojson")];
        let [cells, areas, regions] = &outputs;
        let more = ["-o", cells, "--areas", areas, "--regions", regions, "--map", "m.png"];
        let input = format!("{name}.geojson");
        let base = [&input, "--level", "3", "--device", "cpu", "--overwrite", "--map-width", "50"];
        PROGRAM.succeeds(folder.path(), &[&base[..], &more].concat())
    };
    assert!(!run("all").contains("no geometry"));
    let report = run("some");
    assert!(report.contains("5 features\n") && report.contains("2 of 5 features have no geometry"));
    let moved: Vec<u32> = cells(&at("all.npy")).1.iter().map(|site| site + 2).collect();
    assert_eq!(cells(&at("some.npy")).1, moved);
    let rows = |name: &str| std::fs::read_to_string(at(name)).unwrap();
    let (all, some) = (rows("all.csv"), rows("some.csv"));
    assert_eq!(all.lines().count(), some.lines().count());
    for (all, some) in all.lines().zip(some.lines()).skip(1) {
        let ((a, rest), (b, others)) =
            (all.split_once(',').unwrap(), some.split_once(',').unwrap());
        let number = |text: &str| text.parse::<u32>().unwrap();
        assert_eq!((number(a) + 2, rest), (number(b), others));
    }
    assert!(!rows("some-r.geojson").contains("NaN"));
    let bad = text.replace("[170, 10]", "[-80, -50], [170, 10]");
    std::fs::write(at("bad.geojson"), bad).unwrap();
    PROGRAM.fails(
        folder.path(),
        &["bad.geojson", "-o", "bad.npy"],
        &["bad.geojson", "feature 3", "antipodes"],
    );
    std::fs::write(at("none.geojson"), none("null")).unwrap();
    PROGRAM.fails(folder.path(), &["none.geojson", "-o", "none.npy"], &["there are no sites"]);
}

/// A bow tie within a square has no more than the square; what is mended is said.
#[test]
fn polygons_that_cross_themselves_are_mended_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let area = |name: &str, coordinates: &str| {
        let polygon = format!(r#"{{"type":"Polygon","coordinates":{coordinates}}}"#);
        let point = r#"{"type":"Point","coordinates":[-100,-20]}"#;
        let feature = |geometry: &str| {
            format!(r#"{{"type":"Feature","properties":{{}},"geometry":{geometry}}}"#)
        };
        let all = [feature(&polygon), feature(point)].join(",");
        let text = format!(r#"{{"type":"FeatureCollection","features":[{all}]}}"#);
        std::fs::write(here.join("a.geojson"), text).unwrap();
        let run =
            ["a.geojson", "--level", "5", "--device", "cpu", "--overwrite", "--areas", "a.csv"];
        let said = PROGRAM.succeeds(here, &run);
        assert_eq!(said.contains("feature 0: polygons had rings"), name != "square", "{said}");
        let rows = std::fs::read_to_string(here.join("a.csv")).unwrap();
        let row = rows.lines().nth(1).unwrap();
        row.rsplit(',').next().unwrap().parse::<f64>().unwrap()
    };
    let square = area("square", "[[[0,0],[20,0],[20,20],[0,20],[0,0]]]");
    let bow = area("bow", "[[[0,0],[20,20],[20,0],[0,20],[0,0]]]");
    assert!(bow <= square && bow > 0.9 * square, "{bow} {square}");
    let outside = "[[[0,0],[20,0],[20,20],[0,20],[0,0]],[[50,50],[60,50],[60,60],[50,60],[50,50]]]";
    // It is a part of its own, as GEOS takes it.
    assert!(area("hole outside", outside) > square);
}

#[test]
fn an_option_without_its_output_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (option, value, owner) in [
        ("--projection", "orthographic", "--map"),
        // Likewise at their default values.
        ("--projection", "equirectangular", "--map"),
        ("--map-width", "2048", "--map"),
        ("--centre", "10,30", "--projection orthographic"),
        ("--cell-column", "cell", "--ids"),
        ("--map-width", "100", "--map"),
        ("--centre", "5,6", "--projection orthographic"),
        ("--cell-column", "id", "--ids"),
    ] {
        let words = [option, "belongs to", owner];
        PROGRAM.fails(folder.path(), &["--level", "3", option, value], &words);
    }
}

#[test]
fn what_no_site_can_be_is_said_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let fails = |text: &str, words: &[&str]| {
        std::fs::write(folder.path().join("a.geojson"), text).unwrap();
        let words = [&["a.geojson"], words].concat();
        PROGRAM.fails(folder.path(), &["a.geojson", "--level", "3", "--device", "cpu"], &words);
    };
    let half =
        r#"{"type":"Polygon","coordinates":[[[-90,-90],[90,-90],[90,90],[-90,90],[-90,-90]]]}"#;
    fails(half, &["feature 0", "every 90 degrees or less"]);
    fails(r#"{"type":"Point","coordinates":[0,91]}"#, &["feature 0", "91"]);
    fails(r#"{"type":"Point","coordinates":[540,0]}"#, &["feature 0", "540"]);
    let system = r#""crs":{"type":"name","properties":{"name":"EPSG:32631"}}"#;
    let metres = format!(r#"{{"type":"Point",{system},"coordinates":[5,5]}}"#);
    fails(&metres, &["EPSG:32631", "ogr2ogr"]);
    fails(&metres.replace("32631", "4807"), &["a.geojson", "EPSG:4807", "0.9 degrees"]);
    fails(r#"{"type":"FeatureCollection","features":[]}"#, &["there are no sites"]);
    std::fs::write(folder.path().join("s.kml"), "").unwrap();
    PROGRAM.fails(folder.path(), &["s.kml"], &["s.kml", ".csv", ".geojson"]);
    let wide = r#"{"type":"Feature","properties":{"name":"A","lon":"x"},"geometry":
        {"type":"Polygon","coordinates":[[[-170,0],[170,0],[170,9],[-170,9],[-170,0]]]}}"#;
    std::fs::write(folder.path().join("w.geojson"), wide).unwrap();
    let run = ["w.geojson", "--level", "3", "--device", "cpu", "--regions", "r.geojson"];
    let said = PROGRAM.succeeds(folder.path(), &[&run[..], &["--overwrite"]].concat());
    assert!(said.contains("feature 0: an edge over more than 180 degrees"), "{said}");
    // Regions keep the properties of their sites, but for those that are written.
    let regions = json_of(&folder.path().join("r.geojson"));
    let properties = &regions["features"][0]["properties"];
    assert_eq!((&properties["name"], &properties["lon"]), (&"A".into(), &(-170).into()));
    let twice = r#"{"type":"LineString","coordinates":[[0,0],[0,0],[10,0]]}"#;
    std::fs::write(folder.path().join("l.geojson"), twice).unwrap();
    let run = ["l.geojson", "--level", "3", "--device", "cpu", "--overwrite"];
    PROGRAM.succeeds(folder.path(), &run);
}

/// The coordinates of a survey may look like degrees: its system says what they are.
#[test]
fn surveys_are_sites_in_degrees_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (x, y) = ([10.0, 20.0, -30.0], [50.0, 0.0, -60.0]);
    let points = geo_io::LasPoints { x: &x, y: &y, z: &x, ..Default::default() };
    let write = |name: &str, system: &str| {
        let crs = geo_io::Crs::parse(system).unwrap();
        geo_io::write_las(&folder.path().join(name), &points, Some(&crs)).unwrap();
    };
    let run = |name| [name, "--level", "3", "--device", "cpu"];
    for (name, system, word) in
        [("utm.las", "EPSG:32631", "ogr2ogr"), ("grads.las", "EPSG:4807", "0.9 degrees")]
    {
        write(name, system);
        PROGRAM.fails(folder.path(), &run(name), &[name, system, word]);
    }
    write("degrees.las", "EPSG:4326");
    // The second point is withheld, so the third is site 1.
    let path = folder.path().join("degrees.las");
    let mut bytes = std::fs::read(&path).unwrap();
    let [first, length] = [96..100, 105..107].map(|at| {
        bytes[at].iter().rev().fold(0_usize, |number, &byte| 256 * number + usize::from(byte))
    });
    let is_extended = bytes[104] & 63 > 5;
    bytes[first + length + 15] |= if is_extended { 4 } else { 128 };
    std::fs::write(&path, bytes).unwrap();
    let report = PROGRAM.succeeds(folder.path(), &run("degrees.las"));
    assert!(report.contains("counts the kept points"), "{report}");
    let sites = cells(&folder.path().join("cells.npy")).1;
    assert_eq!(sites.iter().max(), Some(&1));
}

#[test]
fn a_sample_may_be_there_already_and_maps_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let base = ["--level", "3", "--device", "cpu", "--map", "globe.png", "--map-width", "100"];
    let globe = ["--projection", "orthographic", "--centre=-100,40"];
    for _ in 0..2 {
        PROGRAM.succeeds(folder.path(), &[&base[..], &globe].concat());
    }
    let json = PROGRAM.json(folder.path(), &[&base[..], &globe].concat());
    assert_eq!((json["sites"].as_u64(), json["cells"].as_u64()), (Some(1000), Some(512)));
    assert!(json["sites_without_cell"].as_u64() > Some(400));
    PROGRAM.fails(folder.path(), &["--level", "4"], &["cells.npy"]);
}

#[test]
fn mistakes_are_named() {
    let folder = with_sites();
    let fails = |arguments: &[&str], words: &[&str]| PROGRAM.fails(folder.path(), arguments, words);
    fails(&["sites.csv", "--level", "30"], &["30", "level"]);
    fails(
        &["sites.csv", "--level", "29", "--device", "cpu"],
        &["--level: level 29", "bytes", "available; give a lower --level"],
    );
    fails(&["missing.csv"], &["missing.csv"]);
    fails(&["sites.csv", "--columns", "lon,name"], &["name"]);
    // Some programs take two columns, others three.
    fails(&["sites.csv", "--columns", "lon,width"], &["width", "--columns names those"]);
    fails(&["sites.csv", "-o", "cells.tif"], &["cells.tif", ".npy or .csv"]);
    fails(&["sites.csv", "--map", "map.jpg"], &["map.jpg", ".png"]);
    fails(&["sites.csv", "-o", "a.csv", "--areas", "a.csv"], &["a.csv"]);
    std::fs::write(folder.path().join("bad.csv"), "lon,lat\n1,2\n3,95\n").unwrap();
    fails(&["bad.csv", "--device", "cpu"], &["bad.csv", "row 2", "95"]);
    std::fs::write(folder.path().join("none.csv"), "lon,lat\n").unwrap();
    fails(&["none.csv", "--device", "cpu"], &["none.csv"]);
    std::fs::write(folder.path().join("cells.npy"), "something").unwrap();
    fails(&["sites.csv", "--device", "cpu"], &["cells.npy"]);
}

#[test]
fn airports_have_regions() {
    if !Path::new(AIRPORTS).exists() {
        println!("skipped: {AIRPORTS} is not there");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let outputs = ["--areas", "areas.csv", "--map", "map.png", "--map-width", "400"];
    let report = PROGRAM.succeeds(
        folder.path(),
        &[&[AIRPORTS, "--level", "6", "--device", "cpu"], &outputs[..]].concat(),
    );
    assert!(report.contains("28298 points read"), "{report}");
}

#[test]
fn version_completions_and_page_are_printed() {
    PROGRAM.prints_its_version_completions_and_page(tempfile::tempdir().unwrap().path());
}

/// Cells whose centres are published: of H3's base cell 0, and of HEALPix's squares, whose latitudes are those of sines
/// 2/3 and 1/12.
#[test]
fn cells_of_other_grids_have_the_site_nearest_to_their_centres() {
    let folder = with_sites();
    let sites = [[116.4, 39.9], [-0.1, 51.5], [-78.5, -0.2], [180.0, -17.0]];
    let metres = |[a, b]: [f64; 2], [c, d]: [f64; 2]| {
        let [a, b, c, d] = [a, b, c, d].map(f64::to_radians);
        let [x, y] = [(b - d) / 2.0, (a - c) / 2.0].map(|half| half.sin().powi(2));
        2.0 * 6_371_007.180_918_474 * (x + b.cos() * d.cos() * y).sqrt().asin()
    };
    let sine = |of: f64| of.asin().to_degrees();
    for (grid, cells, centres) in [
        ("h3:0", 122, vec![("8001fffffffffff", [38.023_407_007_969_89, 79.242_398_509_759_04])]),
        ("h3:2", 5882, vec![]),
        ("healpix:0", 12, vec![("0", [45.0, sine(2.0 / 3.0)]), ("11", [315.0, sine(-2.0 / 3.0)])]),
        ("healpix:3", 768, vec![("0", [45.0, sine(1.0 / 12.0)])]),
        (
            "healpix-nuniq:0",
            12,
            vec![("4", [45.0, sine(2.0 / 3.0)]), ("15", [315.0, sine(-2.0 / 3.0)])],
        ),
        ("healpix-nuniq:3", 768, vec![("256", [45.0, sine(1.0 / 12.0)])]),
        ("a5:0", 12, vec![]),
        ("a5:3", 960, vec![]),
    ] {
        let all = ["sites.csv", "--level", "3", "--latitude", "geodetic", "--device", "cpu"];
        let more = ["--ids", grid, "-o", "ids.csv", "--overwrite"];
        PROGRAM.succeeds(folder.path(), &[&all[..], &more].concat());
        let table = std::fs::read_to_string(folder.path().join("ids.csv")).unwrap();
        let (head, rows) = table.split_once('\n').unwrap();
        let rows: HashMap<&str, Vec<&str>> = rows
            .lines()
            .map(|line| (line.split_once(',').unwrap().0, line.split(',').collect()))
            .collect();
        assert_eq!((head, rows.len()), ("cell,site,metres", cells), "{grid}");
        for (id, centre) in centres {
            let far = sites.map(|site| metres(site, centre));
            let nearest = (0..4).min_by(|&a, &b| far[a].total_cmp(&far[b])).unwrap();
            let row = &rows[id];
            assert_eq!(row[1], nearest.to_string(), "{grid} {id}");
            assert!((row[2].parse::<f64>().unwrap() - far[nearest]).abs() < 0.01, "{grid} {row:?}");
        }
    }
    for (arguments, words) in [
        (&["sites.csv", "--ids", "h3:16", "-o", "x.csv"][..], "expected h3:0 to h3:15"),
        (&["sites.csv", "--ids", "s2:3", "-o", "x.csv"], "healpix:0 to healpix:29"),
        (&["sites.csv", "--ids", "healpix-nuniq:30", "-o", "x.csv"], "to healpix-nuniq:29"),
        (
            &["sites.csv", "--ids", "h3:3", "-o", "x.npy"],
            "x.npy: with --ids the name must end in .csv or .parquet",
        ),
        (
            &["sites.csv", "--ids", "h3:3", "-o", "x.tif"],
            "x.tif: with --ids the name must end in .csv or .parquet",
        ),
        (&["sites.csv", "--ids", "healpix:29", "-o", "x.csv"], "--ids: --cells takes some cells"),
    ] {
        PROGRAM.fails(folder.path(), arguments, &[words]);
    }
}

#[test]
fn points_of_features_have_ids_as_those_of_a_table() {
    let folder = with_sites();
    let sites = [[116.4, 39.9], [-0.1, 51.5], [-78.5, -0.2], [180.0, -17.0]];
    let mut features: Vec<String> = sites
        .iter()
        .map(|[x, y]| format!(r#"{{"type":"Point","coordinates":[{x},{y}]}}"#))
        .collect();
    // No site.
    features.insert(1, "null".to_owned());
    let feature = |geometry: &String| {
        format!(r#"{{"type":"Feature","properties":{{}},"geometry":{geometry}}}"#)
    };
    let features: Vec<String> = features.iter().map(feature).collect();
    let text = format!(r#"{{"type":"FeatureCollection","features":[{}]}}"#, features.join(","));
    std::fs::write(folder.path().join("sites.geojson"), text).unwrap();
    let tables = ["sites.csv", "sites.geojson"].map(|name| {
        let more = [name, "--ids", "h3:1", "-o", "ids.csv", "--overwrite", "--device", "cpu"];
        PROGRAM.succeeds(folder.path(), &more);
        std::fs::read_to_string(folder.path().join("ids.csv")).unwrap()
    });
    for (row, other) in tables[0].lines().zip(tables[1].lines()).skip(1) {
        let [mut own, other] = [row, other].map(|row| row.split(',').collect::<Vec<_>>());
        let number = own[1].parse::<u32>().unwrap();
        let number = (number + u32::from(number > 0)).to_string();
        own[1] = &number;
        assert_eq!(own, other);
    }
    let shapes = r#"{"type":"Feature","properties":{},"geometry":{"type":"LineString","coordinates":[[0,0],[10,5]]}}"#;
    std::fs::write(folder.path().join("line.geojson"), shapes).unwrap();
    let arguments = ["line.geojson", "--ids", "h3:1", "-o", "x.csv"];
    PROGRAM.fails(folder.path(), &arguments, &["line.geojson", "needs points"]);
}

/// Runs the program with more arguments and gives the rows of its table.
fn rows_of(folder: &Path, more: &[&str]) -> Vec<String> {
    let all = ["sites.csv", "--level", "3", "--device", "cpu", "-o", "out.csv", "--overwrite"];
    PROGRAM.succeeds(folder, &[&all[..], more].concat());
    let table = std::fs::read_to_string(folder.join("out.csv")).unwrap();
    table.lines().map(str::to_owned).collect()
}

#[test]
fn cells_by_their_ids_have_the_rows_that_all_cells_have() {
    use geo_io::{ColumnType, Number, Shape, write_geoparquet};
    let folder = with_sites();
    let here = folder.path();
    let id = |row: &String| row.split_once(',').unwrap().0.to_owned();
    let grids = [("h3", 1), ("h3", 2), ("healpix", 3), ("healpix-nuniq", 2), ("a5", 2), ("a5", 4)];
    for (grid, level) in grids {
        let grid_level = format!("{grid}:{level}");
        let all = rows_of(here, &["--ids", &grid_level]);
        let wanted: Vec<&String> = all[1..].iter().rev().step_by(7).collect();
        let ids: Vec<String> = wanted.iter().map(|row| id(row)).collect();
        std::fs::write(
            here.join("a.csv"),
            format!(
                "n;cell\n{}\n",
                ids.iter().map(|id| format!("1;{id}")).collect::<Vec<_>>().join("\n")
            ),
        )
        .unwrap();
        let by_level = ["--ids", &grid_level, "--cells", "a.csv"];
        let found = rows_of(here, &by_level);
        assert!(found[1..].iter().eq(wanted.iter().copied()), "{grid_level}");
        assert_eq!(found[0], "cell,site,metres");
        // Numbers of 64 bits in a table with another name for them.
        let radix = if grid.starts_with("healpix") { 10 } else { 16 };
        let number = |id: &String| u64::from_str_radix(id, radix).unwrap().cast_signed();
        let rows =
            ids.iter().map(|id| (vec![Number::from(number(id))], Shape::Points(vec![[0.0, 0.0]])));
        write_geoparquet(&here.join("a.parquet"), &[("Key", ColumnType::Whole)], rows, None)
            .unwrap();
        let as_numbers = ["--ids", &grid_level, "--cells", "a.parquet", "--cell-column", "key"];
        let as_numbers = rows_of(here, &as_numbers);
        assert_eq!((&as_numbers[1..], as_numbers[0].as_str()), (&found[1..], "key,site,metres"));
        std::fs::remove_file(here.join("a.parquet")).unwrap();
    }
    // Ids that carry their level may be of several, in any order.
    for grid in ["h3", "healpix-nuniq", "a5"] {
        let [one, two] = [1, 3].map(|level| rows_of(here, &["--ids", &format!("{grid}:{level}")]));
        let mixed = [&one[5], &two[9], &one[1]];
        let ids = mixed.map(id).join("\n");
        std::fs::write(here.join("b.txt"), format!("cell\n{}\n", ids.to_uppercase())).unwrap();
        let found = rows_of(here, &["--ids", grid, "--cells", "b.txt"]);
        assert!(found[1..].iter().eq(mixed), "{grid}: {found:?}");
    }
}

/// 2^53 + 1 is no float of 64 bits, nor 2^24 + 1 one of 32 bits: each is the float before it.
#[test]
fn ids_that_floats_may_have_rounded_are_refused_with_file_and_row() {
    use geo_io::{ColumnType, Number, Shape, write_geoparquet};
    let folder = with_sites();
    let here = folder.path();
    let write = |name: &str, ids: [f64; 2]| {
        let place = || Shape::Points(vec![[0.0, 0.0]]);
        let rows = ids.map(|id| (vec![Number::from(id)], place()));
        write_geoparquet(&here.join(name), &[("cell", ColumnType::Real)], rows, None).unwrap();
    };
    write("few.parquet", [7.0, 9_007_199_254_740_991.0]);
    write("far.parquet", [7.0, 9_007_199_254_740_993_u64 as f64]);
    let run = |table| ["sites.csv", "--ids", "healpix:29", "--cells", table];
    let found = rows_of(here, &run("few.parquet")[1..]);
    assert!(found[2].starts_with("9007199254740991,"), "{found:?}");
    let words = [
        "far.parquet",
        "row 2",
        "\"cell\" has floats",
        "9007199254740992",
        "whole numbers or as text",
    ];
    PROGRAM.fails(here, &[&run("far.parquet")[..], &["-o", "x.csv"]].concat(), &words);
    for text in ["9007199254740993.0", "9.007199254740993e15"] {
        std::fs::write(here.join("far.csv"), format!("cell\n{text}\n")).unwrap();
        let words = ["far.csv, row 1", text, "is not an id"];
        PROGRAM.fails(here, &[&run("far.csv")[..], &["-o", "x.csv"]].concat(), &words);
    }
}

/// Longitudes of EPSG:4806 begin at Rome, 12.45 degrees to the east of Greenwich, by the EPSG list.
#[test]
fn sites_with_longitudes_from_another_meridian_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for (code, is_refused) in [(4806, true), (4258, false)] {
        let text = format!(
            r#"{{"type":"FeatureCollection","crs":{{"type":"name","properties":{{"name":"EPSG:{code}"}}}},"features":[{{"type":"Feature","properties":{{}},"geometry":{{"type":"Point","coordinates":[0,42]}}}}]}}"#
        );
        std::fs::write(here.join("s.geojson"), text).unwrap();
        let run = ["s.geojson", "--level", "2", "--device", "cpu", "-o", "c.csv"];
        match is_refused {
            true => {
                PROGRAM.fails(here, &run, &["s.geojson", "EPSG:4806", "Greenwich", "EPSG:4326"]);
            }
            false => drop(PROGRAM.succeeds(here, &run)),
        }
    }
}

/// Ids by hand, and by 4 * 4^order + nested index, have the rows of these nested indices.
#[test]
fn ids_of_nuniq_are_nested_indices_with_their_order() {
    use geo_io::{ColumnType, Number, Shape, write_geoparquet};
    let folder = with_sites();
    let here = folder.path();
    let mut cells: Vec<(u64, u32, u64)> = vec![
        (4, 0, 0),
        (15, 0, 11),
        (16, 1, 0),
        (63, 1, 47),
        (266, 3, 10),
        (1024, 4, 0),
        (1_152_921_504_606_846_976, 29, 0),
        (4_611_686_018_427_387_903, 29, 3_458_764_513_820_540_927),
    ];
    for order in 0..=29 {
        let nested = 12 * 4_u64.pow(order) * 5 / 7;
        cells.push((4 * 4_u64.pow(order) + nested, order, nested));
    }
    let column = |ids: &[u64]| {
        ids.iter().fold("cell\n".to_owned(), |text, id| text + &id.to_string() + "\n")
    };
    let behind_id = |row: &String| row.split_once(',').unwrap().1.to_owned();
    let ids: Vec<u64> = cells.iter().map(|&(id, ..)| id).collect();
    std::fs::write(here.join("nuniq.csv"), column(&ids)).unwrap();
    let found = rows_of(here, &["--ids", "healpix-nuniq", "--cells", "nuniq.csv"]);
    assert_eq!(found.len(), cells.len() + 1);
    for (row, &(id, order, nested)) in found[1..].iter().zip(&cells) {
        std::fs::write(here.join("one.csv"), column(&[nested])).unwrap();
        let by_index = ["--ids", &format!("healpix:{order}"), "--cells", "one.csv"];
        let expected = format!("{id},{}", behind_id(&rows_of(here, &by_index)[1]));
        assert_eq!(*row, expected, "order {order}");
    }
    let rows = ids.iter().map(|&id| (vec![Number::from(id)], Shape::Points(vec![[0.0, 0.0]])));
    let columns = [("UNIQ", ColumnType::Whole)];
    write_geoparquet(&here.join("nuniq.parquet"), &columns, rows, None).unwrap();
    let table = ["--cells", "nuniq.parquet", "--cell-column", "UNIQ"];
    let of_table = rows_of(here, &[&["--ids", "healpix-nuniq"], &table[..]].concat());
    assert_eq!(of_table[1..], found[1..]);
}

#[test]
fn ids_that_are_none_are_refused_with_file_and_row() {
    let folder = with_sites();
    let here = folder.path();
    for (name, text) in [
        ("h3.csv", "cell\n8001fffffffffff\n8003fffffffffff\n"),
        ("mixed.csv", "cell\n8001fffffffffff\n81003ffffffffff\n"),
        ("bad.csv", "cell\n8001fffffffffff\n8001ffffffffff0\n"),
        ("word.csv", "cell\nvalley\n"),
        ("gap.csv", "n,cell\n1,8001fffffffffff\n2,\n"),
        ("pix.csv", "cell\n767\n768\n"),
        ("three.csv", "cell\n4\n3\n"),
        ("below.csv", "cell\n4\n-4\n"),
        ("beyond.csv", "cell\n4611686018427387903\n4611686018427387904\n"),
        ("longer.csv", "cell\n18446744073709551616\n"),
        ("half.csv", "cell\n4.5\n"),
        ("sites.las", "LASF"),
        ("orders.csv", "cell\n16\n64\n"),
        ("none.csv", "cell\n"),
    ] {
        std::fs::write(here.join(name), text).unwrap();
    }
    for (ids, table, words) in [
        ("h3:0", "mixed.csv", &["row 2", "level 1", "--ids h3 takes"][..]),
        ("h3", "bad.csv", &["row 2", "8001ffffffffff0 is not a cell of H3"]),
        ("h3", "word.csv", &["row 1", "\"valley\" is not an id"]),
        ("h3", "gap.csv", &["row 2", "there is no id"]),
        ("h3", "none.csv", &["has no rows"]),
        (
            "healpix:3",
            "pix.csv",
            &["row 2", "768 is not a cell of healpix:3, whose last cell is 767"],
        ),
        ("healpix:3", "h3.csv", &["row 1", "is not an id"]),
        ("healpix-nuniq", "three.csv", &["row 2", "3 is not an id of NUNIQ", "from 4 to 46"]),
        ("healpix-nuniq", "below.csv", &["row 2", "\"-4\" is not an id", "not negative"]),
        ("healpix-nuniq", "beyond.csv", &["row 2", "4611686018427387904 is not an id of NUNIQ"]),
        ("healpix-nuniq", "longer.csv", &["row 1", "\"18446744073709551616\" is not an id"]),
        ("healpix-nuniq", "half.csv", &["row 1", "\"4.5\" is not an id"]),
        (
            "healpix-nuniq:1",
            "orders.csv",
            &["row 2", "64 is a cell of level 2", "says healpix-nuniq:1"],
        ),
        ("h3", "sites.csv", &["no column \"cell\"", "; give its name by --cell-column"]),
        ("h3", "sites.las", &["sites.las", ".parquet"]),
    ] {
        let arguments = ["sites.csv", "--ids", ids, "--cells", table, "-o", "x.csv"];
        PROGRAM.fails(here, &arguments, &[&[table], words].concat());
    }
    for (ids, count) in [("a5:30", "17293822569102704640"), ("h3:15", "569707381193162")] {
        let words =
            [&format!("--ids {ids}: the grid has {count} cells")[..], "lower level", "--cells"];
        PROGRAM.fails(here, &["sites.csv", "--ids", ids, "-o", "x.csv"], &words);
    }
    let a5 = ["sites.csv", "--ids", "a5", "--cells", "h3.csv", "-o", "x.csv"];
    PROGRAM.fails(here, &a5, &["h3.csv"]);
    let rows = [4, -7].map(|id: i64| (vec![id.into()], geo_io::Shape::Points(vec![[0.0, 0.0]])));
    let columns = [("cell", geo_io::ColumnType::Whole)];
    geo_io::write_geoparquet(&here.join("below.parquet"), &columns, rows, None).unwrap();
    for grid in ["healpix:3", "healpix-nuniq"] {
        let signed = ["sites.csv", "--ids", grid, "--cells", "below.parquet", "-o", "x.csv"];
        PROGRAM.fails(here, &signed, &["below.parquet, row 2: -7 is not an id", "not negative"]);
    }
    for grid in ["h3", "healpix-nuniq"] {
        let no_level = ["sites.csv", "--ids", grid, "-o", "x.csv"];
        PROGRAM.fails(here, &no_level, &["--ids", "give a level", "--cells"]);
    }
}

#[test]
fn cells_go_out_as_geoparquet_with_their_ids_and_centres() {
    let folder = with_sites();
    let here = folder.path();
    for grid in ["h3:1", "healpix:2", "healpix-nuniq:2", "a5:2"] {
        let rows = rows_of(here, &["--ids", grid]);
        let out = ["sites.csv", "--level", "3", "--ids", grid, "-o", "out.parquet", "--overwrite"];
        PROGRAM.succeeds(here, &[&out[..], &["--device", "cpu"]].concat());
        let found = geo_io::read_features(&here.join("out.parquet")).unwrap();
        let text = |i: usize| {
            let of = |name: &str| found.properties[i].get(name).unwrap().clone();
            let plain =
                |value: serde_json::Value| value.as_str().map_or(value.to_string(), str::to_owned);
            format!("{},{},{}", plain(of("cell")), of("site"), of("metres").as_f64().unwrap())
        };
        assert_eq!(found.properties.len(), rows.len() - 1);
        assert!((1..rows.len()).all(|i| text(i - 1) == rows[i]), "{grid}");
        // Read back, they are the cells.
        let again = rows_of(here, &["--ids", grid, "--cells", "out.parquet"]);
        assert_eq!(again, rows);
    }
    let without = ["sites.csv", "-o", "x.parquet"];
    PROGRAM.fails(here, &without, &["without --ids the name must end in .npy or .csv"]);
}

#[test]
fn sites_of_geoparquet_keep_their_columns_in_regions_and_neighbours() {
    use geo_io::{ColumnType, Crs, Number, Shape, write_geoparquet};
    let folder = with_sites();
    let here = folder.path();
    let places = [[116.4, 39.9], [-0.1, 51.5], [-78.5, -0.2], [180.0, -17.0]];
    let rows = places.iter().enumerate();
    let rows = rows.map(|(i, &p)| (vec![Number::from(i as u64 + 40)], Shape::Points(vec![p])));
    let columns = [("station", ColumnType::Whole)];
    let write = |name: &str, system: &str| {
        let crs = Crs::parse(system).unwrap();
        write_geoparquet(&here.join(name), &columns, rows.clone(), Some(&crs)).unwrap();
    };
    write("sites.parquet", "EPSG:4326");
    for (sites, cells, regions, neighbours) in [
        ("sites.parquet", "cells.npy", "regions.parquet", "neighbours.parquet"),
        ("sites.csv", "csv.npy", "regions.geojson", "neighbours.csv"),
    ] {
        let outputs = ["-o", cells, "--regions", regions, "--neighbours", neighbours];
        PROGRAM
            .succeeds(here, &[&[sites, "--level", "4", "--device", "cpu"], &outputs[..]].concat());
    }
    assert_eq!(cells(&here.join("cells.npy")), cells(&here.join("csv.npy")));
    let [json, parquet] = ["regions.geojson", "regions.parquet"]
        .map(|name| geo_io::read_features(&here.join(name)).unwrap());
    assert_eq!(json.shapes, parquet.shapes);
    assert_eq!(parquet.crs, Some(Crs::parse("EPSG:4326").unwrap()));
    assert!(parquet.properties.iter().zip(40..).all(|(of, i)| of.get("station").unwrap() == i));
    let pairs = geo_io::read_features(&here.join("neighbours.parquet")).unwrap();
    let text = std::fs::read_to_string(here.join("neighbours.csv")).unwrap();
    let pair = |of: &geo_io::Properties| {
        ["site", "neighbour"].map(|name| of.get(name).unwrap().to_string()).join(",")
    };
    let found: Vec<String> = pairs.properties.iter().map(pair).collect();
    assert_eq!(found, text.lines().skip(1).collect::<Vec<_>>());
    let first: Vec<usize> = found[0].split(',').map(|word| word.parse().unwrap()).collect();
    let line = vec![places[first[0]], places[first[1]]];
    assert_eq!(pairs.shapes[0], Some(Shape::Lines(vec![line])));
    write("utm.parquet", "EPSG:32631");
    PROGRAM.fails(
        here,
        &["utm.parquet", "-o", "u.npy"],
        &["utm.parquet", "utm.parquet is in EPSG:32631"],
    );
}

#[test]
fn bad_numbers_are_refused_with_a_reason() {
    PROGRAM.refuses_numbers(&[
        ("a.csv --level -1", "-1 is below 0"),
        ("a.csv --level 99", "99 is above 29"),
        ("a.csv --map-width -1", "-1 is below 2"),
        ("a.csv --centre -1,b", "expected two numbers, as 10,30"),
        ("--sample-sites -1", "-1 is below 0"),
        ("--seed 1.5", "\"1.5\" is not a whole number"),
    ]);
}

#[test]
fn the_first_id_of_a_list_without_a_name_counts() {
    let folder = with_sites();
    let here = folder.path();
    let ids = ["8202cffffffffff", "82034ffffffffff", "820357fffffffff"];
    let run =
        ["sites.csv", "--ids", "h3:2", "--cells", "u.csv", "--cell-column", "1", "--level", "3"];
    let run = [&run[..], &["--device", "cpu", "--overwrite", "-o", "o.csv"]].concat();
    for head in ["", "id\n", "0x\n"] {
        std::fs::write(here.join("u.csv"), format!("{head}{}\n", ids.join("\n"))).unwrap();
        PROGRAM.succeeds(here, &run);
        let text = std::fs::read_to_string(here.join("o.csv")).unwrap();
        let found: Vec<&str> = text.lines().skip(1).map(|row| &row[..15]).collect();
        assert_eq!(found, ids, "{head}");
    }
}

#[test]
fn properties_that_regions_do_not_keep_are_noted() {
    let folder = with_sites();
    let here = folder.path();
    let text = r#"{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"site": "X", "name": "a"},
        "geometry": {"type": "Point", "coordinates": [1, 2]}}]}"#;
    std::fs::write(here.join("s.geojson"), text).unwrap();
    let more = ["--level", "3", "--device", "cpu", "--overwrite", "--regions", "r.geojson"];
    let said = PROGRAM.succeeds(here, &[&["s.geojson"], &more[..]].concat());
    assert!(
        said.contains("\"site\" of s.geojson gives way") && !said.contains("\"name\""),
        "{said}"
    );
    assert_eq!(json_of(&here.join("r.geojson"))["features"][0]["properties"]["name"], "a");
    let said = PROGRAM.succeeds(here, &[&["sites.csv"], &more[..]].concat());
    assert!(said.contains("no other columns of sites.csv"), "{said}");
}

#[test]
fn a_dash_is_refused_where_an_argument_needs_a_file() {
    PROGRAM.refuses_streams(&[
        ("s.csv -o -", "--output"),
        ("s.csv --regions -", "--regions"),
        ("s.csv --map -", "--map"),
    ]);
}

#[test]
fn sites_and_cells_are_not_both_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let both = ["-", "--cells", "-", "--ids", "h3", "-o", "cells.csv"];
    PROGRAM.fails(folder.path(), &both, &["SITES and --cells", "standard input"]);
}
