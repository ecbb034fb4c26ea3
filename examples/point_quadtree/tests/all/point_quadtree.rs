//! The program `point_quadtree` as its users meet it: exit codes, messages, files.

use std::path::Path;

use quadtree_sort::Quadtree;
use serde_json::Value;
use tempfile::TempDir;

use testing::program::json_of;

use crate::PROGRAM;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/");

const POINTS: &str = "x,y\n1,1\n9,1\n1,9\n9,9\n5,5.5\n5.1,5.5\n";

fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    PROGRAM.succeeds(folder, arguments)
}

fn fails(folder: &Path, arguments: &[&str], words: &[&str]) {
    PROGRAM.fails(folder, arguments, words);
}

fn with_points() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("points.csv"), POINTS).unwrap();
    folder
}

#[test]
fn every_device_and_algorithm_gives_the_same_file() {
    let folder = with_points();
    let mut files = Vec::new();
    for device in ["cpu", "software"] {
        for more in [
            &["--algorithm", "morton"][..],
            &["--algorithm", "level-sort"],
            &["--memory-budget", "2MiB"],
        ] {
            let base = ["points.csv", "--threshold", "1", "--device", device, "--overwrite"];
            let report = succeeds(folder.path(), &[&base[..], &["-o", "t.qtree"], more].concat());
            assert!(report.contains("6 points read, 6 kept"), "{report}");
            files.push(std::fs::read(folder.path().join("t.qtree")).unwrap());
        }
    }
    assert!(files.iter().all(|file| *file == files[0]));
    let tree = Quadtree::open(folder.path().join("t.qtree")).unwrap();
    assert_eq!((tree.order().len(), tree.summary().leaves), (6, 6));
}

#[test]
fn crowds_and_strays_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let report = |points: &str, bounds: &[&'static str]| {
        std::fs::write(folder.path().join("points.csv"), points).unwrap();
        let base = ["points.csv", "--threshold", "2", "--device", "cpu"];
        succeeds(folder.path(), &[&base[..], bounds].concat())
    };
    let said = report("x,y\n5,5\n5,5\n5,5\n1,9\n", &[]);
    assert!(
        said.contains(
            "75.0% of the points lie in 1 leaf of the deepest level, each 4.7e-10 of the root wide"
        ),
        "{said}"
    );
    let mut points = String::from("x,y\n1e12,1e12\n");
    points.extend((0..400).map(|i| format!("{},{}\n", i % 20, i / 20)));
    let said = report(&points, &[]);
    assert!(
        said.contains("1 of 401 points lies far from the others, the farthest at 1000000000000"),
        "{said}"
    );
    assert!(said.contains("99.8% of the points lie in 1 leaf"), "{said}");
    let said = report(&points, &["--bounds=0,0,20,20"]);
    assert!(!said.contains("note"), "{said}");
}

#[test]
fn leaves_are_written_in_every_format_and_questions_answered() {
    let folder = with_points();
    let base = ["points.csv", "--threshold", "2", "--max-depth", "1", "--device", "cpu"];
    let with = |more: &[&'static str]| succeeds(folder.path(), &[&base[..], more].concat());
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    with(&["--leaves", "leaves.csv"]);
    assert_eq!(
        read("leaves.csv"),
        "level,xmin,ymin,xmax,ymax,count\n1,1,1,5,5,1\n1,5,1,9,5,1\n1,1,5,5,9,1\n\
         1,5,5,9,9,3\n"
    );
    with(&["--leaves", "leaves.geojson"]);
    let shapes: Value = serde_json::from_str(&read("leaves.geojson")).unwrap();
    assert_eq!(shapes["features"].as_array().unwrap().len(), 4);
    assert_eq!(shapes["features"][3]["properties"]["count"], 3);
    with(&["--leaves", "leaves.png"]);
    let report = with(&["--window=0,0,6,6", "--nearest", "5,5,2", "--json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["window"], 3);
    assert_eq!(
        (&report["nearest"][0]["point"], &report["nearest"][1]["point"]),
        (&4.into(), &5.into())
    );
    assert_eq!(report["tree"]["overfull"], 1);
    assert_eq!(report["notes"], Value::Null);
    let report = with(&["--bounds=0,0,6,6"]);
    assert!(report.contains("3 dropped"), "{report}");
    std::fs::write(folder.path().join("bare.csv"), "1,2\n3,4\n").unwrap();
    assert!(succeeds(folder.path(), &["bare.csv", "--device", "cpu"]).contains("2 kept"));
}

/// Whether a place lies in an odd number of rings, by the angles that their edges span.
fn is_inside(rings: &[Vec<[f64; 2]>], x: f64, y: f64) -> bool {
    let winds = |ring: &Vec<[f64; 2]>| {
        let angle = |pair: &[[f64; 2]]| {
            let ([ax, ay], [bx, by]) = (pair[0], pair[1]);
            let (ax, ay, bx, by) = (ax - x, ay - y, bx - x, by - y);
            (ax * by - ay * bx).atan2(ax * bx + ay * by)
        };
        let turns = ring.windows(2).map(angle).sum::<f64>() / std::f64::consts::TAU;
        turns.round() as i64 % 2 != 0
    };
    rings.iter().filter(|ring| winds(ring)).count() % 2 == 1
}

/// A closed ring of corners around a place, none of which has the coordinates of a city.
fn ring(x: f64, y: f64, radius: f64) -> Vec<[f64; 2]> {
    let corner = |i: usize| {
        let angle = std::f64::consts::TAU * i as f64 / 9.0 + 0.123;
        let radius = radius * if i.is_multiple_of(2) { 1.0 } else { 0.6 };
        [x + radius * angle.cos(), y + radius * angle.sin()]
    };
    (0..9).map(corner).chain([corner(0)]).collect()
}

#[test]
fn points_in_polygons_with_holes_and_parts_are_those_of_brute_force() {
    let path = format!("{DATA}cities.csv");
    if !Path::new(&path).exists() {
        println!("skipped: no {path}");
        return;
    }
    // A polygon with a hole, one of two parts with a hole, and one over nothing.
    let shapes = vec![
        vec![vec![ring(5.0, 48.0, 12.0), ring(5.0, 48.0, 3.0)]],
        vec![vec![ring(-95.0, 38.0, 20.0), ring(-95.0, 38.0, 6.0)], vec![ring(80.0, 22.0, 15.0)]],
        vec![vec![ring(-150.0, -60.0, 2.0)]],
    ];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("areas.geojson");
    let features = shapes.iter().map(|s| (geo_io::Properties::default(), s.clone()));
    geo_io::write_polygons(&file, features, None).unwrap();
    let lines = std::fs::read_to_string(&path).unwrap();
    let mut lines = lines.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let [lon, lat] = ["lon", "lat"].map(|name| names.iter().position(|n| *n == name).unwrap());
    let places: Vec<[f64; 2]> = lines
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            [lon, lat].map(|column| fields[column].parse().unwrap())
        })
        .collect();
    let mut wanted = Vec::new();
    for (number, parts) in shapes.iter().enumerate() {
        let rings: Vec<_> = parts.iter().flatten().cloned().collect();
        for (point, &[x, y]) in places.iter().enumerate() {
            if is_inside(&rings, x, y) {
                wanted.push((number, point));
            }
        }
    }
    let base = [&path, "--columns", "lon,lat", "--polygons", "areas.geojson", "--overwrite"];
    for device in ["cpu", "software"] {
        let with = |name: &str| {
            let more = ["--device", device, "--json", "--polygons-out", name];
            succeeds(folder.path(), &[&base[..], &more].concat())
        };
        let report: Value = serde_json::from_str(&with("found.csv")).unwrap();
        let table = std::fs::read_to_string(folder.path().join("found.csv")).unwrap();
        let row = |line: &str| {
            let mut fields = line.split(',').map(|field| field.parse::<f64>().unwrap());
            let (number, point) = (fields.next().unwrap(), fields.next().unwrap());
            let place: Vec<f64> = fields.collect();
            assert_eq!(place, places[point as usize]);
            (number as usize, point as usize)
        };
        let mut found: Vec<(usize, usize)> = table.lines().skip(1).map(row).collect();
        found.sort_unstable();
        assert_eq!(found, wanted);
        with("found.geojson");
        let written = json_of(&folder.path().join("found.geojson"));
        for number in 0..shapes.len() {
            let count = wanted.iter().filter(|(polygon, _)| *polygon == number).count();
            assert!(count > 100 || number == 2);
            assert_eq!(report["polygons"][number]["points"], count);
            assert_eq!(written["features"][number]["properties"]["points"], count);
        }
        let again = geo_io::read_polygons(&folder.path().join("found.geojson")).unwrap();
        assert_eq!(again.shapes, shapes);
    }
}

/// A ring holds the places that it winds around an odd number of times; the test counts by the angles that edges span.
/// A polygon holds what its outer ring holds and none of its holes. A feature holds what any of its polygons holds.
#[test]
fn rings_that_cross_overlap_or_lie_outside_hold_what_make_valid_makes_of_them() {
    let square = |x: f64, y: f64, half: f64| {
        let (w, s, e, n) = (x - half, y - half, x + half, y + half);
        vec![[w, s], [e, s], [e, n], [w, n], [w, s]]
    };
    let bow = vec![[0.0, 0.0], [50.0, 60.0], [50.0, 0.0], [0.0, 60.0], [0.0, 0.0]];
    let star: Vec<[f64; 2]> = (0..=5)
        .map(|i| (144.0 * f64::from(i)).to_radians())
        .map(|turn: f64| [50.0 + 30.0 * turn.sin(), 30.0 + 30.0 * turn.cos()])
        .collect();
    let spike = vec![
        [9.0, 9.0],
        [9.0, 9.0],
        [40.0, 9.0],
        [90.0, 9.0],
        [40.0, 9.0],
        [40.0, 40.0],
        [9.0, 9.0],
    ];
    let clockwise: Vec<[f64; 2]> = square(30.0, 30.0, 20.0).into_iter().rev().collect();
    let shapes = vec![
        vec![vec![square(25.0, 20.0, 15.0)], vec![square(35.0, 25.0, 15.0)]],
        vec![vec![square(25.0, 20.0, 15.0)]; 2],
        vec![vec![bow.clone()]],
        vec![vec![star]],
        vec![vec![square(25.0, 20.0, 15.0), square(80.0, 40.0, 10.0)]],
        vec![vec![square(25.0, 20.0, 15.0), square(38.0, 22.0, 10.0)]],
        vec![vec![square(30.0, 30.0, 25.0), square(25.0, 30.0, 10.0), square(35.0, 30.0, 10.0)]],
        vec![vec![square(30.0, 30.0, 25.0), square(30.0, 30.0, 15.0), square(30.0, 30.0, 5.0)]],
        vec![vec![square(30.0, 30.0, 25.0), square(45.0, 30.0, 10.0)]],
        vec![vec![square(30.0, 30.0, 25.0), bow]],
        vec![vec![spike]],
        vec![vec![clockwise, square(30.0, 30.0, 5.0)]],
        vec![
            vec![square(30.0, 30.0, 25.0), square(30.0, 30.0, 15.0)],
            vec![square(30.0, 30.0, 5.0)],
        ],
        vec![vec![square(30.0, 30.0, 5.0), square(30.0, 30.0, 15.0)]],
        vec![vec![vec![[10.0, 10.0], [50.0, 50.0], [10.0, 10.0]]]],
    ];
    let mut random = testing::Random::new(4);
    let places: Vec<[f64; 2]> =
        (0..3000).map(|_| [random.between(0.0, 100.0), random.between(0.0, 60.0)]).collect();
    let folder = tempfile::tempdir().unwrap();
    let rows: String = places.iter().map(|[x, y]| format!("{x},{y}\n")).collect();
    std::fs::write(folder.path().join("p.csv"), format!("x,y\n{rows}")).unwrap();
    let features = shapes.iter().map(|s| (geo_io::Properties::default(), s.clone()));
    geo_io::write_polygons(&folder.path().join("areas.geojson"), features, None).unwrap();
    for device in ["cpu", "software"] {
        let run =
            ["p.csv", "--polygons", "areas.geojson", "--polygons-out", "found.csv", "--overwrite"];
        let report = succeeds(folder.path(), &[&run[..], &["--device", device]].concat());
        assert!(report.contains("feature 4 of areas.geojson: a hole lies outside"), "{report}");
        let table = std::fs::read_to_string(folder.path().join("found.csv")).unwrap();
        let mut found = vec![Vec::new(); shapes.len()];
        for line in table.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let number = |i: usize| fields[i].parse::<usize>().unwrap();
            found[number(0)].push(number(1));
        }
        for (number, (parts, found)) in shapes.iter().zip(&mut found).enumerate() {
            found.sort_unstable();
            let holds = |ring: &Vec<[f64; 2]>, [x, y]: [f64; 2]| {
                is_inside(std::slice::from_ref(ring), x, y)
            };
            let is_in = |rings: &Vec<Vec<[f64; 2]>>, place: [f64; 2]| {
                holds(&rings[0], place) && !rings[1..].iter().any(|hole| holds(hole, place))
            };
            // The fifth has a hole outside of its outer ring, which is a part of its own.
            let is_beside = |place: [f64; 2]| number == 4 && holds(&parts[0][1], place);
            let wanted: Vec<usize> = (0..places.len())
                .filter(|&i| {
                    parts.iter().any(|rings| is_in(rings, places[i])) || is_beside(places[i])
                })
                .collect();
            assert_eq!(*found, wanted, "shape {number} on {device}");
            assert!(wanted.len() > 100 || number >= 13);
        }
    }
}

#[test]
fn points_in_polygons_are_named_by_their_rows_where_files_are_several() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    // In each file a row lies outside the bounds. A name with a comma is one field all the same.
    let files = [("a,b.csv", "x,y\n1,1\n90,90\n2,2\n"), ("c.csv", "x,y\n3,1\n95,1\n4,4\n30,30\n")];
    for (name, text) in files {
        std::fs::write(here.join(name), text).unwrap();
    }
    let square = vec![vec![[0.0, 0.0], [10.0, 0.0], [10.0, 10.0], [0.0, 10.0], [0.0, 0.0]]];
    let feature = (geo_io::Properties::default(), vec![square]);
    geo_io::write_polygons(&here.join("areas.geojson"), [feature], None).unwrap();
    let asked = ["--polygons", "areas.geojson", "--polygons-out", "found.csv", "--device", "cpu"];
    succeeds(here, &[&["a,b.csv", "c.csv", "--bounds=0,0,50,50"], &asked[..]].concat());
    let table = std::fs::read_to_string(here.join("found.csv")).unwrap();
    let mut lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.remove(0), "polygon,point,x,y,row");
    lines.sort_unstable();
    let wanted = [
        "0,0,1,1,\"a,b.csv: row 1\"",
        "0,2,2,2,\"a,b.csv: row 3\"",
        "0,3,3,1,\"c.csv: row 1\"",
        "0,5,4,4,\"c.csv: row 3\"",
    ];
    assert_eq!(lines, wanted);
    // A saved tree does not know the files, and does not promise their rows.
    assert!(succeeds(here, &["--help"]).contains("file and row of each point"));
    assert!(!succeeds(here, &["ask", "--help"]).contains("file and row of each point"));
    // The numbers of one file are its rows, from 0, and nothing else is said.
    succeeds(here, &[&["c.csv", "--overwrite"], &asked[..]].concat());
    let table = std::fs::read_to_string(here.join("found.csv")).unwrap();
    assert_eq!(table.lines().next(), Some("polygon,point,x,y"));
}

#[test]
fn windows_without_width_and_leaves_without_area_are_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("p.csv"), "x,y\n5,5\n5,5\n1,2\n").unwrap();
    for (window, count) in [("5,5,5,5", 2), ("1,0,1,9", 1), ("0,5,9,5", 2), ("2,2,2,2", 0)] {
        let window = format!("--window={window}");
        let said = succeeds(here, &["p.csv", &window, "--device", "cpu"]);
        assert!(said.contains(&format!("window      {count} points")), "{said}");
    }
    fails(here, &["p.csv", "--window=5,5,4,5"], &["least x, 5, is above the greatest, 4"]);
    for (points, kind) in
        [("5,7\n5,7\n", "Point"), ("5,7\n5,9\n", "Polygon"), ("1,7\n5,9\n", "Polygon")]
    {
        std::fs::write(here.join("q.csv"), format!("x,y\n{points}")).unwrap();
        succeeds(here, &["q.csv", "--leaves", "l.geojson", "--overwrite", "--device", "cpu"]);
        let text = std::fs::read_to_string(here.join("l.geojson")).unwrap();
        assert!(text.contains(&format!("\"type\":\"{kind}\"")), "{text}");
    }
}

#[test]
fn the_number_of_a_point_is_its_row_also_where_rows_were_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    // Rows 1, 3 and 5 are noise; two points are the same, and one row of noise is where the last point is.
    let rows = "x,y,class\n0,0,7\n1,1,2\n5,5,18\n5,5,2\n9,9,7\n5,5,2\n";
    std::fs::write(here.join("a.csv"), rows).unwrap();
    std::fs::write(here.join("b.csv"), "x,y\n4,4\n8,8\n").unwrap();
    let run = |inputs: &[&str]| {
        let report =
            PROGRAM.json(here, &[inputs, &["--nearest=9,9,9", "--device", "cpu"]].concat());
        let near = report["nearest"].as_array().unwrap().iter();
        let near = near
            .map(|near| (near["point"].as_u64().unwrap(), near["row"].as_str().map(str::to_owned)));
        let mut near: Vec<_> = near.collect();
        near.sort();
        (near, report.to_string().contains("a point's number"))
    };
    let row = |file: &str, row: u32| Some(format!("{file}.csv: row {row}"));
    let (near, is_noted) = run(&["b.csv"]);
    assert_eq!((near, is_noted), (vec![(0, None), (1, None)], false));
    let (near, is_noted) = run(&["a.csv"]);
    // Of several rows in one place the file has the kept ones.
    assert_eq!((near, is_noted), (vec![(1, None), (3, None), (5, None)], false));
    let (near, is_noted) = run(&["b.csv", "a.csv"]);
    let of_a = [(3, row("a", 2)), (5, row("a", 4)), (7, row("a", 6))];
    let of_b = [(0, row("b", 1)), (1, row("b", 2))];
    assert_eq!((near, is_noted), ([&of_b[..], &of_a[..]].concat(), true));
    // The tree's file has the same numbers.
    succeeds(here, &["a.csv", "-o", "a.qtree", "--device", "cpu"]);
    let tree = Quadtree::open(here.join("a.qtree")).unwrap();
    let mut rows = tree.order().to_vec();
    rows.sort_unstable();
    assert_eq!((rows, tree.summary().points, tree.summary().skipped), (vec![1, 3, 5], 6, 3));
    let asked = succeeds(here, &["ask", "a.qtree", "--nearest=9,9,1", "--device", "cpu"]);
    assert!(asked.contains("point numbers count the rows of the tree's inputs from 0"), "{asked}");
    assert!(asked.contains("point 3 at (5, 5)"), "{asked}");
    let asked = succeeds(here, &["ask", "a.qtree", "--window=0,0,9,9", "--device", "cpu"]);
    assert!(!asked.contains("point numbers"), "{asked}");
}

#[test]
fn values_come_back_from_questions_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    // The third row is noise. A name with a comma is one field all the same.
    let rows = "x,y,z,class,\"a,b\"\n1,1,10.5,2,0.25\n9,1,11,6,-3\n5,5,99,7,1\n2,2,12.125,2,1e3\n";
    std::fs::write(here.join("p.csv"), rows).unwrap();
    let square = r#"{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[0,4],[0,0]]]}"#;
    std::fs::write(here.join("areas.geojson"), square).unwrap();
    let questions = [
        "--window=0,0,4,4",
        "--nearest=9,0,2",
        "--polygons",
        "areas.geojson",
        "--polygons-out",
        "found.csv",
        "--device",
        "cpu",
        "--overwrite",
    ];
    let words = ["p.csv", "--value", "z,class", "--value", "a,b", "-o", "p.qtree"];
    // Commas part names.
    fails(here, &words, &["\"a\""]);
    let words = ["p.csv", "--value", "z,class", "--value", "5", "-o", "p.qtree"];
    let check = |report: Value| {
        let kinds = [("z", "f64"), ("class", "f64"), ("5", "f64")];
        for (i, (name, of)) in kinds.into_iter().enumerate() {
            assert_eq!(report["values"][i], serde_json::json!({"name": name, "type": of}));
        }
        let z = serde_json::json!({"min": 10.5, "mean": 11.3125, "max": 12.125});
        assert_eq!(report["window_values"]["z"], z);
        assert_eq!(report["polygons"][0]["values"]["z"], z);
        let near = report["nearest"].as_array().unwrap();
        let values = |i: usize| near[i]["values"].clone();
        assert_eq!(values(0), serde_json::json!({"z": 11.0, "class": 6.0, "5": -3.0}));
        assert_eq!(values(1), serde_json::json!({"z": 12.125, "class": 2.0, "5": 1000.0}));
        let table = std::fs::read_to_string(here.join("found.csv")).unwrap();
        let mut lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.remove(0), "polygon,point,x,y,z,class,5");
        lines.sort_unstable();
        assert_eq!(lines, ["0,0,1,1,10.5,2,0.25", "0,3,2,2,12.125,2,1000"]);
    };
    check(PROGRAM.json(here, &[&words[..], &questions].concat()));
    check(PROGRAM.json(here, &[&["ask", "p.qtree"], &questions[..]].concat()));
    let text = succeeds(here, &["ask", "p.qtree", "--nearest=9,0,1", "--device", "cpu"]);
    assert!(text.contains("point 1 at (9, 1), distance 1, z 11, class 6, 5 -3\n"), "{text}");
    assert!(text.contains("z f64, class f64, 5 f64"), "{text}");
    let asked =
        ["--polygons", "areas.geojson", "--polygons-out", "found.geojson", "--device", "cpu"];
    let text = succeeds(here, &[&["ask", "p.qtree", "--window=0,0,4,4"], &asked[..]].concat());
    assert!(text.contains("2 points, z 10.5 to 12.125, mean 11.3125, class 2 to 2"), "{text}");
    assert!(text.contains("0: 2 points, z 10.5 to 12.125, mean 11.3125, class 2 to 2"), "{text}");
    let found = std::fs::read_to_string(here.join("found.geojson")).unwrap();
    let found: Value = serde_json::from_str(&found).unwrap();
    let properties = &found["features"][0]["properties"];
    assert_eq!((&properties["points"], &properties["z_mean"]), (&2.into(), &11.3125.into()));
    assert_eq!((&properties["z_min"], &properties["5_max"]), (&10.5.into(), &1000.into()));
    let text = succeeds(here, &["ask", "p.qtree", "--window=40,40,50,50", "--device", "cpu"]);
    assert!(text.contains("0 points\n"), "{text}");
    for (value, said) in [("z,Z", "--value z"), ("z,,5", "--value"), ("height", "height")] {
        fails(here, &["p.csv", "--value", value], &[said]);
    }
    // What is missing is named by its own option.
    std::fs::write(here.join("flat.csv"), "x,y,a\n1,1,1\n").unwrap();
    fails(here, &["flat.csv", "--value", "b"], &["flat.csv", "\"b\"", "--value names"]);
    fails(here, &["flat.csv", "--value", "Z"], &["flat.csv", "\"z\"", "--value names"]);
    fails(here, &["plan", "flat.csv", "--value", "z"], &["\"z\"", "--value names"]);
    fails(here, &["flat.csv", "--columns", "x,b"], &["\"b\"", "--columns names"]);
}

#[test]
fn whole_numbers_beyond_2_to_53_keep_their_digits_and_tables_say_what_they_lose() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let (x, y) = ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]);
    let ids = [u64::MAX, 9_007_199_254_740_993, u64::MAX - 2];
    let signed = [i64::MIN, 9_007_199_254_740_993, i64::MIN + 2];
    let points = gpu_core::Points::new(&x, &y);
    let tree = quadtree_sort::build(&gpu_core::Device::Cpu, points, &Default::default()).unwrap();
    let tree = tree.with_values("id", &ids).unwrap().with_values("at", &signed).unwrap();
    tree.save(here.join("t.qtree")).unwrap();
    let square = r#"{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[0,4],[0,0]]]}"#;
    std::fs::write(here.join("areas.geojson"), square).unwrap();
    let ask = |more: &[&str]| {
        let words = ["ask", "t.qtree", "--device", "cpu", "--polygons", "areas.geojson"];
        succeeds(here, &[&words[..], more].concat())
    };
    let said = ask(&["--window=0,0,1,1", "--nearest=2,2,1", "--polygons-out", "f.csv"]);
    for words in [
        "1 points, id 18446744073709551615 to 18446744073709551615",
        "at -9223372036854775808 to -9223372036854775808",
        "id 9007199254740993, at 9007199254740993",
        "3 points, id 9007199254740993 to 18446744073709551615",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let table = std::fs::read_to_string(here.join("f.csv")).unwrap();
    assert!(table.contains("\n0,2,3,3,18446744073709551613,-9223372036854775806\n"), "{table}");
    let said = ask(&["--nearest=1,1,1", "--polygons-out", "f.geojson", "--json"]);
    assert!(said.contains("\"id\":18446744073709551615"), "{said}");
    let text = std::fs::read_to_string(here.join("f.geojson")).unwrap();
    for words in [
        "\"id_min\":9007199254740993",
        "\"id_max\":18446744073709551615",
        "\"at_min\":-9223372036854775808",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }

    let rows =
        "x,y,id,n\n1,1,9007199254740993,1\n2,2,9007199254740992,9007199254740995\n3,3,5,1e23\n";
    std::fs::write(here.join("p.csv"), rows).unwrap();
    let said = succeeds(here, &["p.csv", "--value", "id,n", "--device", "cpu"]);
    let note = "p.csv: whole numbers beyond 2^53 that were rounded, since numbers are floats of 64 bits here: 2, the first \
                9007199254740993 in row 1, column \"id\"";
    assert!(said.contains(note), "{said}");
    let said = succeeds(here, &["p.csv", "--device", "cpu"]);
    assert!(!said.contains("rounded"), "{said}");
}

#[test]
fn large_and_small_numbers_have_exponents_and_means_of_the_largest_are_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("p.csv"), "x,y,v\n1e200,0,1.7e308\n2e200,1e200,1.7e308\n").unwrap();
    let words = ["--value=v", "--window=0,0,1e300,1e300", "--leaves", "l.csv", "--device", "cpu"];
    let said = succeeds(here, &[&["p.csv", "-o", "p.qtree"], &words[..]].concat());
    assert!(said.contains("points      1e200 0 to 2e200 1e200\n"), "{said}");
    assert!(said.contains("v 1.7e308 to 1.7e308, mean 1.7e308"), "{said}");
    let table = std::fs::read_to_string(here.join("l.csv")).unwrap();
    assert!(said.len() < 2000 && table.contains("\n0,1e200,0,2e200,1e200,2\n"), "{table}");
    std::fs::write(here.join("q.csv"), "x,y\n1e-200,0\n1,0.5\n").unwrap();
    let said = succeeds(here, &["q.csv", "--device", "cpu", "--nearest=0,0,1"]);
    assert!(said.contains("point 0 at (1e-200, 0), distance"), "{said}");
}

#[test]
fn fields_are_named_in_any_case_and_values_named_as_a_column_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let (x, z) = ([1.0, 2.0, 3.0], [5.5, 6.5, 7.5]);
    let points = geo_io::LasPoints { x: &x, y: &x, z: &z, class: &[2, 6, 2], ..Default::default() };
    geo_io::write_las(&here.join("a.laz"), &points, None).unwrap();
    let said =
        succeeds(here, &["a.laz", "--value", "Z,Class", "--nearest=3,3,1", "--device", "cpu"]);
    assert!(said.contains("z 7.5, Class 2"), "{said}");

    std::fs::write(here.join("p.csv"), "x,y,X_value,row,n\n1,1,7,8,9\n2,2,7,8,9\n").unwrap();
    std::fs::write(here.join("q.csv"), "x,y,X_value,row,n\n3,3,7,8,9\n").unwrap();
    let square = r#"{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[0,4],[0,0]]]}"#;
    std::fs::write(here.join("areas.geojson"), square).unwrap();
    let words = ["--value", "x,X_value,row,n", "--polygons", "areas.geojson", "--polygons-out"];
    succeeds(here, &[&["p.csv", "q.csv"], &words[..], &["f.csv", "--device", "cpu"]].concat());
    let table = std::fs::read_to_string(here.join("f.csv")).unwrap();
    let head = "polygon,point,x,y,x_value_value,X_value,row_value,n,row";
    assert_eq!(table.lines().next(), Some(head));
    assert!(table.contains("\n0,2,3,3,3,7,8,9,\"q.csv: row 1\"\n"), "{table}");
}

#[test]
fn the_file_of_a_tree_has_the_ending_of_trees() {
    let folder = with_points();
    for name in ["t.csv", "t.geojson", "t"] {
        fails(folder.path(), &["points.csv", "-o", name], &[name, ".qtree", "--leaves"]);
    }
    succeeds(folder.path(), &["points.csv", "-o", "t.QTREE", "--device", "cpu"]);
}

#[test]
fn fields_of_surveys_keep_their_types() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let (x, z) = ([1.0, 2.0, 3.0], [5.5, 6.5, 7.5]);
    let points = geo_io::LasPoints { x: &x, y: &x, z: &z, class: &[2, 6, 2], ..Default::default() };
    geo_io::write_las(&here.join("a.laz"), &points, None).unwrap();
    std::fs::write(here.join("b.csv"), "x,y,z,class\n4,4,9,1\n").unwrap();
    let words = ["--value=z,class,intensity,gps_time", "-o", "a.qtree", "--device", "cpu"];
    succeeds(here, &[&["a.laz"], &words[..]].concat());
    let tree = Quadtree::open(here.join("a.qtree")).unwrap();
    let places = tree.places_of(&[0, 1, 2]).unwrap();
    let (heights, classes) = (tree.values_of("z"), tree.values_of("class"));
    let heights: Vec<f64> = places.iter().map(|&i| heights.unwrap()[i as usize]).collect();
    let classes: Vec<u8> = places.iter().map(|&i| classes.unwrap()[i as usize]).collect();
    assert_eq!((heights, classes), (z.to_vec(), vec![2, 6, 2]));
    assert!(tree.values_of::<u16>("intensity").is_some());
    assert!(tree.values_of::<f64>("gps_time").is_some());
    // In a tree that also has a table's points, all values are f64.
    let words = ["--value=class", "-o", "b.qtree", "--device", "cpu"];
    succeeds(here, &[&["a.laz", "b.csv"], &words[..]].concat());
    let tree = Quadtree::open(here.join("b.qtree")).unwrap();
    let classes: Vec<f64> =
        tree.order().iter().map(|&i| [2.0, 6.0, 2.0, 1.0][i as usize]).collect();
    assert_eq!(tree.values_of::<f64>("class"), Some(&classes[..]));
}

#[test]
fn features_without_geometry_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.csv"), "x,y\n1,1\n5,5\n").unwrap();
    let feature = |geometry: &str| {
        format!(r#"{{"type": "Feature", "properties": null, "geometry": {geometry}}}"#)
    };
    let square =
        r#"{"type": "Polygon", "coordinates": [[[0, 0], [2, 0], [2, 2], [0, 2], [0, 0]]]}"#;
    let features = [feature("null"), feature(square)].join(", ");
    let text = format!(r#"{{"type": "FeatureCollection", "features": [{features}]}}"#);
    std::fs::write(folder.path().join("areas.geojson"), text).unwrap();
    let run = ["p.csv", "--polygons", "areas.geojson", "--device", "cpu"];
    let report = succeeds(folder.path(), &run);
    assert!(report.contains("1 of 2 features has no geometry"), "{report}");
    assert!(report.contains("polygon     1: 1 points"), "{report}");
    let report = PROGRAM.json(folder.path(), &run);
    assert_eq!(
        (&report["features_skipped"], &report["polygons"][1]["points"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let folder = with_points();
    let here = folder.path();
    std::fs::write(here.join("empty.csv"), "x,y\n").unwrap();
    std::fs::write(here.join("bad.csv"), "x,y\n1,NaN\n").unwrap();
    std::fs::write(here.join("there.qtree"), "x").unwrap();
    fails(here, &[], &["POINTS"]);
    fails(here, &["nowhere.csv"], &["nowhere.csv"]);
    fails(here, &["empty.csv"], &["no points"]);
    fails(here, &["bad.csv"], &["bad.csv", "NaN"]);
    fails(here, &["points.csv", "--columns", "a,b"], &["\"a\""]);
    fails(here, &["points.csv", "-o", "there.qtree"], &["there.qtree", "--overwrite"]);
    fails(here, &["points.csv", "-o", "points.csv", "--overwrite"], &["points.csv"]);
    for (option, value) in [
        ("--threshold", "0"),
        ("--threshold", "-1"),
        ("--max-depth", "32"),
        ("--algorithm", "bubble"),
        ("--leaves", "leaves.tif"),
        ("--polygons", "nowhere.geojson"),
        ("--polygons", "points.csv"),
        ("--polygons-out", "found.csv"),
        ("--leaves", "nowhere/leaves.csv"),
        ("--window", "1,1,0,0"),
        ("--nearest", "1,1,0"),
        ("--memory-budget", "some"),
        ("--crs", "EPSG:1"),
        ("--device", "abacus"),
    ] {
        fails(here, &["points.csv", option, value], &[]);
    }
    // Where all distances are infinite none is the least.
    fails(here, &["points.csv", "--nearest", "1e300,5,2"], &["--nearest 1e300,5e0", "too far"]);
    let little = ["points.csv", "--memory-budget", "1kB", "--device", "software"];
    fails(here, &little, &["--memory-budget: a budget of 1000 bytes of device memory"]);
    let on_cpu = succeeds(here, &["points.csv", "--memory-budget", "1kB", "--device", "cpu"]);
    let words = ["--memory-budget is ignored", "memory of a card", "point_quadtree plan"];
    assert!(words.iter().all(|word| on_cpu.contains(word)), "{on_cpu}");
}

#[test]
fn version_completions_and_page_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    PROGRAM.prints_its_version_completions_and_page(folder.path());
    assert!(succeeds(folder.path(), &["--completions", "bash"]).contains("threshold"));
}

#[test]
fn real_points_make_trees() {
    for (name, columns) in [("cities.csv", "lon,lat"), ("topography.laz", "x,y")] {
        let path = format!("{DATA}{name}");
        if !Path::new(&path).exists() {
            println!("skipped: no {path}");
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let base = [&path, "--columns", columns, "--device", "cpu"];
        let output = ["--leaves", "leaves.csv", "-o", "tree.qtree"];
        let report = succeeds(folder.path(), &[&base[..], &output].concat());
        assert!(report.contains("leaves down to level"), "{report}");
        let tree = Quadtree::open(folder.path().join("tree.qtree")).unwrap();
        let table = std::fs::read_to_string(folder.path().join("leaves.csv")).unwrap();
        assert_eq!(table.lines().count() as u64, 1 + tree.summary().leaves);
        let counts = table.lines().skip(1).map(|line| line.rsplit(',').next().unwrap());
        let sum: usize = counts.map(|count| count.parse::<usize>().unwrap()).sum();
        assert_eq!(sum, tree.order().len());
    }
}

#[test]
fn inputs_and_outputs_are_under_no_other_heading() {
    PROGRAM.lists_under_headings(&[
        ["Arguments:", "<POINTS>..."],
        ["Options:", "--output"],
        ["Options:", "--columns"],
        ["Options:", "--threshold"],
    ]);
}

#[test]
fn bad_numbers_are_refused_with_a_reason() {
    PROGRAM.refuses_numbers(&[
        ("a.csv --threshold -1", "-1 is below 0"),
        ("a.csv --max-depth -1", "-1 is below 0"),
        ("a.csv --max-depth 99", "99 is above 31"),
        ("a.csv --memory-budget -1MB", "-1 is not above 0"),
        ("a.csv --nearest -1,2,-3", "-3 is below 1"),
        (
            "a.csv --nearest 1,2,184467440737095516159",
            "184467440737095516159 is above 18446744073709551615",
        ),
        ("a.csv --window -1,2,-3,4", "the least x, -1, is above the greatest, -3"),
        ("run plan.json --tile -1", "-1 is below 0"),
    ]);
}
