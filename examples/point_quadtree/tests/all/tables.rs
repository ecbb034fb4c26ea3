//! Points and polygons of GeoParquet, and leaves and counts as GeoParquet.

use geo_io::{ColumnType, Crs, Number, Shape, read_features, read_polygons, write_geoparquet};
use testing::files::las::Las;

use crate::PROGRAM;

#[test]
fn geoparquet_in_and_out_says_what_text_and_geojson_say() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let crs = Crs::parse("EPSG:32631").unwrap();
    let points: Vec<[f64; 3]> = (0..500)
        .map(|i| [f64::from(i * 37 % 101), f64::from(i * 53 % 97), f64::from(i) / 8.0])
        .collect();
    let rows: String = points.iter().map(|[x, y, v]| format!("{x},{y},{v}\n")).collect();
    std::fs::write(here.join("p.csv"), format!("x,y,rain\n{rows}")).unwrap();
    let rows = points.iter().map(|&[x, y, v]| (vec![Number::from(v)], Shape::Points(vec![[x, y]])));
    write_geoparquet(&here.join("p.parquet"), &[("rain", ColumnType::Real)], rows, Some(&crs))
        .unwrap();
    let ring = |x: f64, side: f64| {
        vec![[x, x], [x + side, x], [x + side, x + side], [x, x + side], [x, x]]
    };
    let parcels = [
        (vec![Number::from(7)], Shape::Polygons(vec![vec![ring(10.5, 30.0), ring(20.5, 5.0)]])),
        (vec![Number::from(8)], Shape::Polygons(vec![])),
        (
            vec![Number::from(9)],
            Shape::Polygons(vec![vec![ring(50.5, 9.0)], vec![ring(70.5, 9.0)]]),
        ),
    ];
    write_geoparquet(
        &here.join("a.parquet"),
        &[("parcel", ColumnType::Whole)],
        parcels.clone(),
        Some(&crs),
    )
    .unwrap();
    let parcels = parcels.map(|(n, shape)| (vec![("parcel", n[0])], shape));
    geo_io::write_shapes(&here.join("a.geojson"), parcels, Some(&crs)).unwrap();
    let run = |words: &[&str]| {
        let always = ["--value", "rain", "--device", "cpu", "--overwrite"];
        PROGRAM.succeeds(here, &[words, &always].concat());
    };
    let outputs = |ending: &str| [format!("leaves.{ending}"), format!("found.{ending}")];
    for (points, areas, ending, more) in [
        ("p.csv", "a.geojson", "geojson", &["--crs", "EPSG:32631"][..]),
        ("p.parquet", "a.parquet", "parquet", &[]),
    ] {
        let [leaves, found] = outputs(ending);
        let words = [points, "--polygons", areas, "--leaves", &leaves, "--polygons-out", &found];
        run(&[&words[..], more].concat());
    }
    for (json, parquet) in outputs("geojson").iter().zip(&outputs("parquet")) {
        let [json, parquet] = [json, parquet].map(|name| read_features(&here.join(name)).unwrap());
        assert_eq!((&json.shapes, json.crs), (&parquet.shapes, parquet.crs));
        assert!(!json.shapes.is_empty());
        for (a, b) in json.properties.iter().zip(&parquet.properties) {
            for name in [
                "level",
                "count",
                "parcel",
                "polygon",
                "points",
                "rain_min",
                "rain_mean",
                "rain_max",
            ] {
                let number =
                    |of: &geo_io::Properties| of.get(name).and_then(|value| value.as_f64());
                assert_eq!(number(a), number(b), "{name}");
            }
        }
    }
    let found = read_polygons(&here.join("found.parquet")).unwrap();
    assert_eq!(found.properties[0].get("parcel").unwrap(), 7);
    // Polygons on another plane.
    let other = [(vec![], Shape::Polygons(vec![vec![ring(0.0, 5.0)]]))];
    write_geoparquet(&here.join("b.parquet"), &[], other, Some(&Crs::parse("EPSG:4326").unwrap()))
        .unwrap();
    let words = ["b.parquet is in EPSG:4326, but the points are in EPSG:32631"];
    PROGRAM.fails(here, &["p.parquet", "--polygons", "b.parquet"], &words);
    let words = ["feature 0: a point is not a polygon"];
    PROGRAM.fails(here, &["p.parquet", "--polygons", "p.parquet"], &words);
}

/// Tables of points, the first in the west and the second in the east, and a catalogue of both with a third that is
/// gone.
fn listed(folder: &std::path::Path) {
    use testing::files::catalogues::{Listed, items};
    let tables = ["west.csv", "east.csv", "gone.csv"].iter().enumerate().map(|(i, name)| {
        let west = 100.0 * i as f64;
        let row =
            |k: u32| format!("{},{},{k}\n", west + f64::from(k * 37 % 100), f64::from(k * 53 % 97));
        if i < 2 {
            let rows: String = (0..300).map(row).collect();
            std::fs::write(folder.join(name), format!("x,y,z\n{rows}")).unwrap();
        }
        Listed::new(name, [west, 0.0, west + 99.0, 96.0])
    });
    let document = items(&tables.collect::<Vec<_>>()).to_string();
    std::fs::write(folder.join("all.json"), document).unwrap();
}

#[test]
fn polygons_keep_the_ids_of_their_features() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("p.csv"), "x,y\n1,1\n").unwrap();
    let square = r#"{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[0,4],[0,0]]]}"#;
    let feature =
        format!(r#"{{"type":"Feature","id":"A7","properties":{{}},"geometry":{square}}}"#);
    std::fs::write(here.join("a.geojson"), feature).unwrap();
    let found = |name: &str| {
        let words = ["p.csv", "--polygons", "a.geojson", "--polygons-out", name, "--device", "cpu"];
        PROGRAM.succeeds(here, &words);
        read_features(&here.join(name)).unwrap().properties.remove(0)
    };
    assert_eq!(found("f.geojson").id(), Some(&"A7".into()));
    assert_eq!(found("f.parquet").get("id"), Some(&"A7".into()));
}

#[test]
fn a_catalogue_gives_the_tree_and_the_plan_of_its_tables_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    listed(here);
    let made = |inputs: &[&str]| {
        let always = ["--bounds", "0,0,199,96", "--overwrite"];
        let tree = [inputs, &always, &["-o", "a.qtree", "--device", "cpu"]].concat();
        PROGRAM.succeeds(here, &tree);
        let plan = [&["plan"], inputs, &always, &["--memory", "1GiB", "-o", "p.json"]].concat();
        PROGRAM.succeeds(here, &plan);
        ["a.qtree", "p.json"].map(|name| std::fs::read(here.join(name)).unwrap())
    };
    assert!(made(&["all.json"]) == made(&["west.csv", "east.csv"]));
    let all = ["all.json", "-o", "b.qtree"];
    PROGRAM.fails(here, &all, &["all.json, item 2 (\"2\"): its file gone.csv is missing"]);
}

#[test]
fn an_error_that_no_point_lies_in_the_bounds_has_both_extents() {
    PROGRAM.tells_both_extents(&[]);
}

#[test]
fn each_point_of_a_multi_point_has_a_number() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let rows =
        [(5u8, vec![[1.0, 1.0], [2.0, 2.0]]), (6, vec![[3.0, 3.0]]), (7, vec![[4.0, 4.0]; 2])];
    let features = rows.into_iter().map(|(value, places)| {
        let mut properties = geo_io::Properties::default();
        properties.set("v", value);
        (properties, geo_io::Shape::Points(places))
    });
    geo_io::write_geoparquet_features(&here.join("m.parquet"), features, None).unwrap();
    std::fs::write(here.join("a.csv"), "x,y,v\n9,9,1\n").unwrap();
    let near = |inputs: &[&str]| {
        let options = ["--value", "v", "--nearest=0,0,9", "--columns", "x,y", "--device", "cpu"];
        let report = PROGRAM.json(here, &[inputs, &options].concat());
        let near = report["nearest"].as_array().unwrap().clone();
        let of = |near: &serde_json::Value| {
            (
                near["point"].as_u64().unwrap(),
                near["values"]["v"].as_f64(),
                near["row"].as_str().map(str::to_owned),
            )
        };
        let mut near: Vec<_> = near.iter().map(of).collect();
        near.sort_by_key(|(point, ..)| *point);
        near
    };
    let alone = near(&["m.parquet"]);
    let values = [5.0, 5.0, 6.0, 7.0, 7.0].map(Some);
    assert_eq!(alone, (0..).zip(values).map(|(n, v)| (n, v, None)).collect::<Vec<_>>());
    let row = |n: u64| Some(format!("m.parquet: point {n}"));
    let behind: Vec<_> = (1..).zip(values).map(|(n, v)| (n, v, row(n))).collect();
    let first = (0, Some(1.0), Some("a.csv: row 1".to_owned()));
    assert_eq!(near(&["a.csv", "m.parquet"]), [vec![first], behind].concat());
}

#[test]
fn a_dash_is_refused_where_an_argument_needs_a_file() {
    PROGRAM.refuses_streams(&[
        ("p.csv -o -", "--output"),
        ("p.csv --polygons -", "--polygons"),
        ("p.csv --leaves -", "--leaves"),
        ("ask - --window 0,0,1,1", "<TREE.qtree>"),
        ("plan p.csv -o -", "--output"),
    ]);
}

#[test]
fn a_pair_of_columns_is_refused_for_las_as_it_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = Las::new(vec![[1.0, 2.0, 3.0]]).bytes();
    std::fs::write(folder.path().join("a.las"), bytes).unwrap();
    PROGRAM.fails(folder.path(), &["a.las", "--columns", "a,b"], &["--columns a,b: LAS and LAZ"]);
}
