//! Coordinate systems: neighbours on the globe, systems that are kept, and those that do not fit.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use testing::program::json_of;

use crate::PROGRAM;

/// Places of which, from (25, 70), the second and third by degrees are not those by great circles; the last is near
/// 180.
const PLACES: &str =
    "24.97182,70.05133\n25.51122,69.47187\n24.66217,70.99634\n26.72,70.08\n-179.9,0\n";

fn with_places(header: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("c.csv"), format!("{header}\n{PLACES}")).unwrap();
    folder
}

/// Points and whole kilometres of `--nearest`.
fn nearest(folder: &Path, arguments: &[&str]) -> Vec<(u64, f64)> {
    let report = PROGRAM.json(folder, &[arguments, &["--device", "cpu"]].concat());
    let found = report["nearest"].as_array().unwrap().iter();
    let of = |near: &Value| {
        (
            near["point"].as_u64().unwrap(),
            (near["distance"].as_f64().unwrap() / 100.0).round() / 10.0,
        )
    };
    found.map(of).collect()
}

/// By the haversine formula: 5.8, 61.9, 65.9 and 111.5 km.
#[test]
fn neighbours_of_longitudes_and_latitudes_are_those_by_great_circles() {
    let expected = [(0, 5.8), (1, 61.9), (3, 65.9), (2, 111.5)];
    for (header, more) in [
        ("lon,lat", &["--columns", "lon,lat"][..]),
        ("Longitude,Latitude", &["--columns", "Longitude,Latitude"]),
        ("x,y", &["--geographic"]),
        ("x,y", &["--crs", "EPSG:4326"]),
        ("x,y", &["--crs", "EPSG:4269", "--geographic"]),
    ] {
        let folder = with_places(header);
        let here = folder.path();
        let base = [&["c.csv", "-o", "t.qtree"], more].concat();
        assert_eq!(nearest(here, &[&base[..], &["--nearest=25,70,4"]].concat()), expected);
        // The tree keeps its system.
        assert_eq!(nearest(here, &["ask", "t.qtree", "--nearest=25,70,4"]), expected, "{more:?}");
        assert_eq!(nearest(here, &["ask", "t.qtree", "--nearest=179.9,0,1"]), [(4, 22.2)]);
    }
    let folder = with_places("x,y");
    let here = folder.path();
    PROGRAM.succeeds(here, &["c.csv", "-o", "t.qtree", "--device", "cpu"]);
    let asked = ["ask", "t.qtree", "--nearest=25,70,4", "--geographic"];
    assert_eq!(nearest(here, &asked), expected);
    let said = PROGRAM.succeeds(here, &["c.csv", "--nearest=179.9,0,1", "--device", "cpu"]);
    assert!(said.contains("point 3 at (26.72, 70.08), distance 168"), "{said}");
}

#[test]
fn a_window_across_the_antimeridian_is_noted() {
    let folder = with_places("lon,lat");
    let here = folder.path();
    for (window, is_noted) in
        [("170,-10,190,10", true), ("-190,-10,-170,10", true), ("170,-10,180,10", false)]
    {
        let window = format!("--window={window}");
        let said =
            PROGRAM.succeeds(here, &["c.csv", "--columns", "lon,lat", &window, "--device", "cpu"]);
        assert_eq!(said.contains("reaches across the antimeridian"), is_noted, "{said}");
    }
}

/// As with --window: points are taken at the longitudes that they state.
#[test]
fn bounds_across_the_antimeridian_are_noted() {
    let folder = with_places("lon,lat");
    for (bounds, is_noted) in [("20,-10,190,80", true), ("20,-10,180,80", false)] {
        let bounds = format!("--bounds={bounds}");
        let run = ["c.csv", "--columns", "lon,lat", &bounds, "--device", "cpu"];
        for run in [run.to_vec(), [&["plan"], &run[..4], &["-o", "p.json", "--overwrite"]].concat()]
        {
            let said = PROGRAM.succeeds(folder.path(), &run);
            assert_eq!(
                said.contains("--bounds reaches across the antimeridian"),
                is_noted,
                "{said}"
            );
        }
    }
}

#[test]
fn a_tree_of_tiles_keeps_its_system() {
    let folder = with_places("lon,lat");
    let here = folder.path();
    let plan = ["plan", "c.csv", "--columns", "lon,lat", "--memory", "1GiB", "-o", "plan.json"];
    let said = PROGRAM.succeeds(here, &plan);
    assert!(said.contains("EPSG:4326"), "{said}");
    PROGRAM.succeeds(here, &["bin", "plan.json"]);
    PROGRAM.succeeds(here, &["run", "plan.json", "--all", "--device", "cpu"]);
    PROGRAM.succeeds(here, &["merge", "plan.json", "-o", "merged.qtree"]);
    PROGRAM.succeeds(here, &["c.csv", "--columns", "lon,lat", "-o", "t.qtree", "--device", "cpu"]);
    let file = |name: &str| std::fs::read(here.join(name)).unwrap();
    assert!(file("merged.qtree") == file("t.qtree"));
    assert_eq!(nearest(here, &["ask", "merged.qtree", "--nearest=179.9,0,1"]), [(4, 22.2)]);
}

#[test]
fn what_is_no_longitude_and_latitude_is_refused_or_said() {
    let folder = with_places("lat,lon");
    let here = folder.path();
    let fails = |arguments: &[&str], words: &[&str]| {
        PROGRAM.fails(here, &[arguments, &["--device", "cpu"]].concat(), words);
    };
    fails(&["c.csv", "--columns", "lat,lon"], &["'lat,lon'", "give --columns lon,lat"]);
    std::fs::write(here.join("far.csv"), "lon,lat\n1,2\n3,95\n").unwrap();
    let far = ["far.csv", "--columns", "lon,lat"];
    fails(&[&far[..], &["--geographic"]].concat(), &["far.csv: point 1 at (3, 95)", "-90 to 90"]);
    fails(
        &[&far[..], &["--crs", "EPSG:4326"]].concat(),
        &["far.csv has a latitude of 95", "none beyond 90."],
    );
    fails(&[&far[..], &["--crs", "EPSG:32631", "--geographic"]].concat(), &["EPSG:32631"]);
    std::fs::write(here.join("near.csv"), "lon,lat\n1,2\n3,5\n").unwrap();
    fails(&["near.csv", "--columns", "lon,lat", "--nearest=25,91,1"], &["--nearest", "91"]);
    let plan = [&["plan"], &far[..], &["--geographic", "--memory", "1GiB"]].concat();
    PROGRAM.fails(here, &plan, &["3 95", "beyond longitudes"]);
    let said =
        PROGRAM.succeeds(here, &[&far[..], &["--nearest=3,90,1", "--device", "cpu"]].concat());
    assert!(said.contains("note") && said.contains("not degrees"), "{said}");
}

/// `ogrinfo` reads the system of GeoJSON that this program writes.
#[test]
fn geojson_names_its_system() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("u.csv"), "x,y\n448006,5411002\n448997,5411995\n").unwrap();
    let area = |system: &str| {
        format!(
            r#"{{"type":"Feature","properties":{{"name":"A","points":"many"}},{system}"geometry":{{"type":"Polygon","coordinates":
            [[[448000,5411000],[449000,5411000],[449000,5412000],[448000,5411000]]]}}}}"#
        )
    };
    std::fs::write(here.join("area.geojson"), area("")).unwrap();
    let base = ["u.csv", "--crs", "EPSG:32631", "--device", "cpu", "-o", "t.qtree"];
    let outputs =
        ["--leaves", "l.geojson", "--polygons", "area.geojson", "--polygons-out", "p.geojson"];
    let said = PROGRAM.succeeds(here, &[&base[..], &outputs].concat());
    assert!(said.contains("area.geojson names no coordinate system: taken as"), "{said}");
    assert!(said.contains("\"points\" of area.geojson gives way"), "{said}");
    PROGRAM.succeeds(here, &["ask", "t.qtree", "--leaves", "k.geojson", "--device", "cpu"]);
    for name in ["l.geojson", "k.geojson", "p.geojson"] {
        let text = std::fs::read_to_string(here.join(name)).unwrap();
        assert!(text.contains("urn:ogc:def:crs:EPSG::32631"), "{name}: {text}");
        match std::process::Command::new("ogrinfo")
            .args(["-al", "-so"])
            .arg(here.join(name))
            .output()
        {
            Ok(ran) => {
                let said = String::from_utf8_lossy(&ran.stdout).into_owned();
                assert!(said.contains("PROJCRS[\"WGS 84 / UTM zone 31N\""), "{name}: {said}");
            }
            Err(_) => println!("skipped: no ogrinfo"),
        }
    }
    // Properties stay, but for those that the program writes.
    let written = json_of(&here.join("p.geojson"));
    let properties = &written["features"][0]["properties"];
    assert_eq!((&properties["name"], &properties["points"]), (&"A".into(), &2.into()));
}

#[test]
fn polygons_in_another_system_than_the_points_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("u.csv"), "x,y\n448006,5411002\n448997,5411995\n").unwrap();
    std::fs::write(here.join("d.csv"), "lon,lat\n5,5\n6,8\n").unwrap();
    let area = |name: &str, system: &str| {
        let crs = match system {
            "" => String::new(),
            name => format!(r#""crs":{{"type":"name","properties":{{"name":"{name}"}}}},"#),
        };
        let ring = "[[0,0],[9,0],[9,9],[0,9],[0,0]]";
        let geometry = format!(r#"{{"type":"Polygon","coordinates":[{ring}]}}"#);
        let feature = format!(r#"{{"type":"Feature","properties":null,"geometry":{geometry}}}"#);
        let text = format!(r#"{{"type":"FeatureCollection",{crs}"features":[{feature}]}}"#);
        std::fs::write(here.join(name), text).unwrap();
    };
    area("bare.geojson", "");
    area("utm.geojson", "urn:ogc:def:crs:EPSG::32631");
    area("swiss.geojson", "EPSG:2056");
    area("degrees.geojson", "urn:ogc:def:crs:OGC:1.3:CRS84");
    let with = |points: &[&'static str], polygons: &'static str| {
        [points, &["--polygons", polygons, "--device", "cpu"]].concat()
    };
    let (metres, degrees, none) = (
        &["u.csv", "--crs", "EPSG:32631"][..],
        &["d.csv", "--columns", "lon,lat"][..],
        &["u.csv"][..],
    );
    PROGRAM.fails(here, &with(metres, "bare.geojson"), &["bare.geojson", "EPSG:32631", "ogr2ogr"]);
    PROGRAM.fails(
        here,
        &with(metres, "swiss.geojson"),
        &["swiss.geojson", "EPSG:2056", "EPSG:32631"],
    );
    PROGRAM.fails(here, &with(metres, "degrees.geojson"), &["EPSG:4326", "EPSG:32631"]);
    PROGRAM.fails(here, &with(degrees, "utm.geojson"), &["utm.geojson", "EPSG:4326"]);
    let said = PROGRAM.succeeds(here, &with(metres, "utm.geojson"));
    assert!(said.contains("no polygon of utm.geojson reaches"), "{said}");
    let said = PROGRAM.succeeds(here, &with(none, "bare.geojson"));
    assert!(said.contains("no polygon of bare.geojson reaches"), "{said}");
    let said = PROGRAM.succeeds(here, &with(none, "utm.geojson"));
    assert!(said.contains("the points name no coordinate system"), "{said}");
    for (name, east, west, words) in [
        ("uncut.geojson", 170, -170, "reaches across the antimeridian"),
        ("beyond.geojson", 170, 190, "by a turn of 360 degrees"),
    ] {
        let ring = format!("[[{east},0],[{west},0],[{west},9],[{east},9],[{east},0]]");
        let text = format!(r#"{{"type":"Polygon","coordinates":[{ring}]}}"#);
        std::fs::write(here.join(name), text).unwrap();
        let said = PROGRAM.succeeds(here, &with(degrees, name));
        assert!(said.contains(words), "{said}");
    }
    // Points may be those of the other turn too.
    std::fs::write(here.join("turn.csv"), "lon,lat\n1,1\n185,1\n").unwrap();
    for (west, is_noted) in [(-180, true), (170, false)] {
        let east = west + 10;
        let ring = format!("[[{west},0],[{east},0],[{east},9],[{west},9],[{west},0]]");
        let text = format!(r#"{{"type":"Polygon","coordinates":[{ring}]}}"#);
        std::fs::write(here.join("half.geojson"), text).unwrap();
        let points = ["turn.csv", "--columns", "lon,lat"];
        let said = PROGRAM.succeeds(here, &with(&points, "half.geojson"));
        assert_eq!(said.contains("by a turn of 360 degrees"), is_noted, "{said}");
    }
    // Latitude first, and places of which no map has any.
    for (name, ring) in [
        ("swapped.geojson", "[[48,120],[48,121],[49,121],[48,120]]"),
        ("far.geojson", "[[500,0],[501,0],[501,1],[500,0]]"),
    ] {
        let text = format!(r#"{{"type":"Polygon","coordinates":[{ring}]}}"#);
        std::fs::write(here.join(name), text).unwrap();
        PROGRAM.fails(here, &with(degrees, name), &[name, "[longitude, latitude]"]);
    }
    let grads = ["d.csv", "--columns", "lon,lat", "--crs", "EPSG:4807"];
    let words = ["bare.geojson names no coordinate system", "EPSG:4807 is 0.9 degrees"];
    PROGRAM.fails(here, &with(&grads, "bare.geojson"), &words);
    for polygons in ["bare.geojson", "degrees.geojson"] {
        let said = PROGRAM.succeeds(here, &with(degrees, polygons));
        assert!(!said.contains("note") && said.contains("polygon     0: 2 points"), "{said}");
    }
}

/// Great circles are of degrees on the Earth: other units and bodies are refused, and all else of such trees is not.
#[test]
fn neighbours_in_grads_are_refused_and_windows_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    // 400 grads are a full turn.
    std::fs::write(here.join("g.csv"), "x,y\n2.6,54.3\n380,99\n2.6,54.31\n").unwrap();
    let words = ["g.csv", "--crs", "EPSG:4807", "--device", "cpu"];
    PROGRAM.fails(
        here,
        &[&words[..], &["--nearest=2.6,54.3,2"]].concat(),
        &["--nearest", "EPSG:4807", "0.9"],
    );
    let said =
        PROGRAM.succeeds(here, &[&words[..], &["--window=2,54,3,55", "-o", "g.qtree"]].concat());
    assert!(said.contains("window      2 points"), "{said}");
    PROGRAM.fails(here, &["ask", "g.qtree", "--nearest=2.6,54.3,2"], &["--nearest", "EPSG:4807"]);
    std::fs::write(here.join("g.csv"), "x,y\n2.6,101\n2,3\n").unwrap();
    PROGRAM.fails(here, &words, &["latitude of 101"]);
}
