//! Catalogues in place of files give the same bytes as the files by name. The program opens no file outside of a
//! window, and refuses a catalogue that contradicts a file. One test is the worked example of docs/guide/catalogues.md.

use std::path::Path;
use std::process::Command;

use geo_io::{Crs, LasPoints, Properties, Shape, write_geoparquet_features, write_las};
use serde_json::{Value, json};
use testing::Random;
use testing::files::catalogues::{Listed, items, tile_index};

use crate::PROGRAM;

const DOCUMENT: &str = include_str!("../../../../docs/guide/catalogues.md");

/// Points of a tile, and tiles on a side of the survey.
const POINTS: usize = 900;
const SIDE: usize = 3;

/// A survey of tiles of 60 x 60 m in a folder of their own.
fn survey(folder: &Path) -> Vec<Listed> {
    let mut random = Random::new(7);
    std::fs::create_dir(folder.join("tiles")).unwrap();
    let crs = Crs::parse("EPSG:26910").unwrap();
    let tiles = (0..SIDE * SIDE).map(|i| {
        let (west, south) = (500_000.0 + 60.0 * (i % SIDE) as f64, 5e6 + 60.0 * (i / SIDE) as f64);
        let mut column = |low: f64, wide: f64| -> Vec<f64> {
            (0..POINTS).map(|_| low + (random.unit() * wide * 1e3).floor() / 1e3).collect()
        };
        let (x, y, z) = (column(west, 60.0), column(south, 60.0), column(200.0, 9.0));
        let class = vec![2; POINTS];
        let points = LasPoints { x: &x, y: &y, z: &z, class: &class, ..Default::default() };
        let name = format!("tiles/{i}.laz");
        write_las(&folder.join(&name), &points, Some(&crs)).unwrap();
        Listed::new(&name, [west, south, west + 60.0, south + 60.0])
            .states("pc:count", POINTS)
            .states("proj:code", "EPSG:26910")
    });
    tiles.collect()
}

fn write(folder: &Path, name: &str, document: &Value) {
    std::fs::write(folder.join(name), document.to_string()).unwrap();
}

fn bytes(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap()
}

/// The bytes of a DEM and of a plan, both of these inputs.
fn made(folder: &Path, inputs: &[&str]) -> [Vec<u8>; 2] {
    let more = ["--overwrite", "--resolution", "2"];
    PROGRAM.succeeds(folder, &[inputs, &more, &["-o", "dem.tif", "--device", "cpu"]].concat());
    let plan = [&["plan"], inputs, &more, &["--tile-size", "32", "-o", "plan.json"]].concat();
    PROGRAM.succeeds(folder, &plan);
    [bytes(folder, "dem.tif"), bytes(folder, "plan.json")]
}

/// Catalogue, collection and items, each a file with links.
fn write_linked(folder: &Path, tiles: &[Listed]) {
    let link =
        |rel: &str, href: &str| json!({"rel": rel, "href": href, "type": "application/json"});
    std::fs::create_dir(folder.join("area one")).unwrap();
    let mut links = vec![link("root", "../catalog.json"), link("license", "https://example.org")];
    for (i, tile) in tiles.iter().enumerate() {
        let up = Listed { href: format!("../{}", tile.href), ..tile.clone() };
        write(folder, &format!("area one/{i}.json"), &up.item("x"));
        links.push(link("item", &format!("./{i}.json")));
    }
    let about = json!({"stac_version": "1.1.0", "id": "a", "description": "d"});
    let with = |kind: &str, links: Value| {
        let mut document = about.clone();
        document["type"] = kind.into();
        document["links"] = links;
        document
    };
    write(folder, "area one/collection.json", &with("Collection", links.into()));
    let children =
        json!([link("self", "catalog.json"), link("child", "area%20one/collection.json")]);
    write(folder, "catalog.json", &with("Catalog", children));
}

#[test]
fn catalogues_of_every_kind_have_the_bytes_of_their_files_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let tiles = survey(here);
    let names: Vec<&str> = tiles.iter().map(|tile| tile.href.as_str()).collect();
    let expected = made(here, &names);
    write(here, "survey.vpc", &items(&tiles));
    let absolute = |(i, tile): (usize, &Listed)| {
        let path = here.join(&tile.href).display().to_string();
        let href = if i % 2 == 0 { path } else { format!("file://{path}") };
        Listed { href, ..tile.clone() }
    };
    let absolute: Vec<Listed> = tiles.iter().enumerate().map(absolute).collect();
    write(here, "items.json", &items(&absolute));
    write_linked(here, &tiles);
    write(here, "index.geojson", &tile_index(&tiles, 26910));
    let rows = tiles.iter().map(|tile| {
        let mut properties = Properties::default();
        properties.set_text("File", tile.href.as_str());
        let [a, b, c, d] = tile.bounds;
        let ring = vec![[a, b], [c, b], [c, d], [a, d], [a, b]];
        (properties, Shape::Polygons(vec![vec![ring]]))
    });
    let crs = Crs::parse("EPSG:26910").unwrap();
    write_geoparquet_features(&here.join("index.parquet"), rows, Some(&crs)).unwrap();
    let of_column = ["index.parquet", "--path-column", "file"];
    for inputs in
        [&["survey.vpc"][..], &["items.json"], &["catalog.json"], &["index.geojson"], &of_column]
    {
        assert!(made(here, inputs) == expected, "{inputs:?}");
    }
    // A file by name that a catalogue has too counts once, where it first stands.
    assert!(made(here, &[names[0], "survey.vpc"]) == expected);
    for name in ["index.fgb", "index.gpkg", "index.shp"] {
        match Command::new("ogr2ogr").current_dir(here).args([name, "index.geojson"]).output() {
            Ok(ran) => assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr)),
            Err(_) => return println!("skipped: no ogr2ogr"),
        }
    }
    for name in ["index.gpkg", "index.shp"] {
        assert!(made(here, &[name]) == expected, "{name}");
    }
    // FlatGeobuf sorts its features by place: the files come in another order, which a plan does not keep.
    let [_, plan] = made(here, &["index.fgb"]);
    assert!(plan == expected[1]);
}

#[test]
fn files_outside_of_the_window_are_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let mut tiles = survey(here);
    // The window and its halo meet four of nine tiles. Of the others one is damaged, and the rest are gone.
    let window = ["--bounds", "500130,5000130,500150,5000150"];
    let met = [4, 5, 7, 8];
    for i in (0..SIDE * SIDE).filter(|i| !met.contains(i)) {
        match i {
            0 => std::fs::write(here.join(&tiles[i].href), b"LASF is all that is left").unwrap(),
            _ => std::fs::remove_file(here.join(&tiles[i].href)).unwrap(),
        }
    }
    // And very many more, far away, on another machine.
    tiles.extend((0..10_000).map(|i| {
        let west = 600_000.0 + 60.0 * f64::from(i);
        let href = format!("https://example.org/{i}.laz");
        Listed::new(&href, [west, 5e6, west + 60.0, 5_000_060.0])
    }));
    let names: Vec<&str> = met.iter().map(|&i| tiles[i].href.as_str()).collect();
    write(here, "survey.vpc", &items(&tiles));
    write(here, "index.geojson", &tile_index(&tiles, 26910));
    let halo = ["--max-distance", "4"];
    let limits: [&[&str]; 2] =
        [&halo, &["--method", "pixels", "--query-radius", "2", "--max-distance", "6"]];
    for how in limits {
        let expected = made(here, &[&names[..], &window, how].concat());
        for catalogue in ["survey.vpc", "index.geojson"] {
            assert!(
                made(here, &[&[catalogue], &window[..], how].concat()) == expected,
                "{catalogue} {how:?}"
            );
        }
    }
    let said = PROGRAM.json(here, &["plan", "survey.vpc", window[0], window[1], "-o", "p.json"]);
    let taken = json!([{"path": "survey.vpc", "files": 10_009, "taken": 4}]);
    assert_eq!(said["catalogues"], taken);
    let fails = |arguments: &[&str], words: &[&str]| {
        PROGRAM.fails(here, &[arguments, &["-o", "x.tif"]].concat(), words);
    };
    let all = ["survey.vpc, item 0 (\"0\")", "tiles/0.laz"];
    fails(&["survey.vpc"], &all);
    let west = ["survey.vpc", "--bounds", "500130,4999990,500150,5000050"];
    fails(&west, &["survey.vpc, item 1 (\"1\"): its file tiles/1.laz is missing"]);
    let away = ["survey.vpc", "--bounds", "600100,5000000,600110,5000010"];
    // With the feature its server would be asked.
    if cfg!(not(feature = "http")) {
        fails(&away, &["item 10 (\"1", "https://example.org/1.laz", "feature http"]);
    }
    let nowhere = ["index.geojson", "--bounds", "100,200,300,400"];
    fails(&nowhere, &["none of the 10009 files of index.geojson", "footprints are in EPSG:26910"]);
}

#[test]
fn longitudes_and_latitudes_choose_files_of_their_own_system_alone() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let tiles = survey(here);
    let around = [-123.1, 45.1, -122.9, 45.2];
    let degrees = |tile: &Listed| Listed { bounds: around, ..tile.clone() };
    let mut places: Vec<Listed> = tiles.iter().map(degrees).collect();
    write(here, "index.geojson", &tile_index(&places, 4326));
    let window = ["--bounds", "500130,5000130,500150,5000150"];
    let run = |more: &[&'static str]| [&["index.geojson"], &window[..], more].concat();
    let more = ["--resolution", "2", "-o", "x.tif"];
    PROGRAM.fails(here, &run(&more), &["none of the 9 files", "EPSG:4326", "--crs"]);
    // With the system of the files all are opened.
    let names: Vec<&str> = tiles.iter().map(|tile| tile.href.as_str()).collect();
    let crs = ["--crs", "EPSG:26910"];
    let expected = made(here, &[&names[..], &window, &crs].concat());
    assert!(made(here, &run(&crs)) == expected);
    for place in &mut places {
        *place = place.clone().states("srs", "EPSG:26910");
    }
    write(here, "index.geojson", &tile_index(&places, 4326));
    let expected = made(here, &[&names[..], &window].concat());
    assert!(made(here, &run(&[])) == expected);
    // Footprints that meet the window by chance are those of another system.
    write(here, "index.geojson", &tile_index(&tiles, 26911));
    let words = ["feature 4: its footprint is in EPSG:26911", "tiles/4.laz is in EPSG:26910"];
    PROGRAM.fails(here, &run(&more), &words);
}

#[test]
fn what_contradicts_a_header_is_refused_with_both_values() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let tiles = survey(here);
    let fails = |tile: Listed, words: &[&str]| {
        write(here, "a.vpc", &items(&[tiles[0].clone(), tile]));
        let named = ["a.vpc, item 1 (\"1\"): ", "tiles/1.laz"];
        PROGRAM.fails(here, &["a.vpc", "-o", "x.tif"], &[&named, words].concat());
    };
    let tile = || tiles[1].clone();
    fails(tile().states("pc:count", 901), &["pc:count is 901", "has 900 points"]);
    fails(tile().states("proj:code", "EPSG:26911"), &["EPSG:26911", "is in EPSG:26910", "--crs"]);
    let wkt = Crs::parse("EPSG:26911").unwrap().wkt().unwrap().to_owned();
    let by_text = tile().states("proj:code", Value::Null).states("proj:wkt2", wkt);
    fails(by_text, &["is in EPSG:26910", "--crs"]);
    let by_number = tile().states("proj:code", Value::Null).states("proj:epsg", 26_912);
    fails(by_number, &["EPSG:26912", "is in EPSG:26910"]);
    let [a, b, c, d] = tile().bounds;
    let moved = Listed { bounds: [a + 1.0, b, c, d], ..tile() };
    fails(moved, &["its box (proj:bbox) is", "reaches beyond it"]);
    // To a ten-thousandth of the side boxes agree, and --crs settles systems.
    let near = Listed { bounds: [a + 0.003, b, c, d], ..tile() };
    write(here, "a.vpc", &items(&[near.states("proj:code", "EPSG:26911")]));
    let given = ["a.vpc", "--crs", "EPSG:26910", "-o", "x.tif", "--device", "cpu"];
    PROGRAM.succeeds(here, &given);
}

/// Runs the program on a document, which must be refused by the name of its file and these words.
fn refuses(folder: &Path, document: &Value, more: &[&str], words: &[&str]) {
    write(folder, "odd.json", document);
    let arguments = [&["odd.json"], more, &["-o", "x.tif"]].concat();
    PROGRAM.fails(folder, &arguments, &[&["odd.json"], words].concat());
}

#[test]
fn odd_catalogues_are_refused_by_entry() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let tiles = survey(here);
    let fails = |document: &Value, more: &[&str], words: &[&str]| {
        refuses(here, document, more, words);
    };
    let item = |assets: Value| {
        let mut item = tiles[0].item("a");
        item["assets"] = assets;
        item
    };
    fails(&items(&[]), &[], &["lists no files"]);
    fails(
        &json!({"type": "Catalog", "stac_version": "1.0.0", "links": []}),
        &[],
        &["lists no files"],
    );
    fails(
        &json!({"type": "Catalogue", "stac_version": "1.0.0"}),
        &[],
        &["its \"type\" is", "Collection"],
    );
    fails(&json!({"name": "a plan"}), &[], &["it has no \"type\""]);
    let same = Listed { href: "./tiles/../tiles/0.laz".to_owned(), ..tiles[0].clone() };
    let two = [tiles[0].clone(), same];
    fails(
        &items(&two),
        &[],
        &["item 0 (\"0\") and item 1 (\"1\") both name the file", "remove one"],
    );
    fails(&tile_index(&two, 26910), &[], &["feature 0 and feature 1 both name the file"]);
    fails(&item(json!({})), &[], &["item \"a\": it has no assets"]);
    let tif = json!({"href": "a.tif", "roles": ["data"]});
    fails(&item(json!({"dem": tif})), &[], &["none of its assets has points", "--asset", "dem"]);
    let laz = json!({"href": "tiles/0.laz", "roles": ["data"]});
    let both = item(json!({"raw": laz, "copc": laz, "dem": tif}));
    fails(&both, &[], &["several of its assets have points", "--asset, copc or raw"]);
    fails(
        &both,
        &["--asset", "points"],
        &["--asset points: it has no such asset, but copc, dem, raw"],
    );
    fails(
        &item(json!({"raw": {"href": " ", "roles": ["data"], "type": "application/vnd.laszip"}})),
        &[],
        &["no \"href\""],
    );
    for (name, value, words) in [
        ("pc:count", json!(-1), "pc:count is -1"),
        ("proj:code", json!(26_910), "proj:code is 26910: expected text"),
        ("proj:code", json!("EPSG:99999"), "EPSG:99999"),
        ("proj:shape", json!([1]), "proj:shape is [1]"),
        ("proj:transform", json!("x"), "proj:transform is \"x\""),
    ] {
        fails(&items(&[tiles[0].clone().states(name, value)]), &[], &["item 0", words]);
    }
    let mut reversed = tiles[0].item("a");
    reversed["properties"]["proj:bbox"] = json!([5, 0, 1, 1]);
    fails(&reversed, &[], &["proj:bbox is [5,0,1,1]: expected four numbers"]);
    // By its key an asset is read.
    write(here, "both.json", &both);
    PROGRAM.succeeds(here, &["both.json", "--asset", "raw", "-o", "a.tif", "--device", "cpu"]);
}

#[test]
fn links_and_files_that_lead_nowhere_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    survey(here);
    let link = |href: &str| json!({"type": "Catalog", "stac_version": "1.0.0", "links": [{"rel": "child", "href": href}]});
    refuses(here, &link("gone.json"), &[], &["link 0: its file gone.json is missing"]);
    refuses(
        here,
        &link("https://example.org/c.json"),
        &[],
        &["https://example.org/c.json is not on this machine"],
    );
    write(here, "circle.json", &link("./circle.json"));
    refuses(here, &link("circle.json"), &[], &["circle.json", "a second link leads to it"]);
    let option = ["tiles/0.laz", "--path-column", "file", "-o", "x.tif"];
    PROGRAM.fails(here, &option, &["--path-column: none of the inputs is a catalogue"]);
    for (name, text, words) in [
        ("empty.vpc", "", "empty.vpc"),
        ("cut.vpc", "{\"type\": \"FeatureColl", "cut.vpc"),
        (
            "plain.vpc",
            "{\"type\": \"FeatureCollection\", \"features\": []}",
            "no member \"stac_version\"",
        ),
    ] {
        std::fs::write(here.join(name), text).unwrap();
        PROGRAM.fails(here, &[name, "-o", "x.tif"], &[words]);
    }
}

/// The commands of a program below a heading of the document.
fn commands(section: &'static str) -> Vec<Vec<&'static str>> {
    let lines = section.lines().filter_map(|line| line.strip_prefix("lidar_dem "));
    lines.map(|line| line.split(' ').collect()).collect()
}

#[test]
fn the_worked_example_runs_and_has_the_bytes_of_its_files_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let (_, section) = DOCUMENT.split_once("## From a STAC catalogue to a mosaic").unwrap();
    let (_, catalogue) = section.split_once("```json\n").unwrap();
    let (catalogue, _) = catalogue.split_once("```").unwrap();
    std::fs::write(here.join("survey.json"), catalogue).unwrap();
    for name in ["first", "second"] {
        std::fs::create_dir(here.join(name)).unwrap();
    }
    let commands = commands(section);
    let [first, second, plan, run, merge] = &commands[..] else { panic!("{commands:?}") };
    for command in [first, second, run] {
        PROGRAM.succeeds(here, &[&command[..], &["--device", "cpu"]].concat());
        if command == second {
            let said = PROGRAM.succeeds(here, plan);
            let words = "survey.json, 2 of 3 files: those that meet --bounds";
            assert!(said.contains(words) && section.contains(words), "{said}");
        }
    }
    PROGRAM.succeeds(here, merge);
    let mosaic = bytes(here, "mosaic.tif");
    let by_name = |command: &[&'static str]| -> Vec<&'static str> {
        let files = ["first/survey.laz", "second/survey.laz"];
        let words = command.iter().flat_map(|&word| match word {
            "survey.json" => files.to_vec(),
            word => vec![word],
        });
        words.chain(["--overwrite"]).collect()
    };
    PROGRAM.succeeds(here, &by_name(plan));
    PROGRAM.succeeds(here, &[&run[..], &["--device", "cpu"]].concat());
    PROGRAM.succeeds(here, &by_name(merge));
    assert!(bytes(here, "mosaic.tif") == mosaic);
}

/// GeoJSON of points is what people try first.
#[test]
fn geojson_of_points_is_refused_by_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let point = json!({"type": "Feature", "properties": {"z": 5.0},
                       "geometry": {"type": "Point", "coordinates": [1.0, 2.0]}});
    write(folder.path(), "p.geojson", &json!({"type": "FeatureCollection", "features": [point]}));
    let words = ["p.geojson", "without polygons", "ogr2ogr points.fgb p.geojson"];
    PROGRAM.fails(folder.path(), &["p.geojson"], &words);
    PROGRAM.fails(folder.path(), &["plan", "p.geojson"], &words);
}
