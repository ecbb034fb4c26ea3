//! Where a mask lies, and what of its place is not kept; masks that no tile can read.

use geo_io::{ArrayData, Georeference, read_raster, write_georeferenced};
use testing::files::grid::{ascii_grid, virtual_raster};
use testing::files::npy::{header, npy};
use testing::files::tiff::{Field, Tiff};
use testing::program::is_same;

use crate::PROGRAM;

/// A mask of four pixels.
fn mask() -> Tiff {
    Tiff::of_bytes(2, &[1, 0, 0, 0])
}

#[test]
fn a_world_file_places_the_distances_of_a_run_and_of_tiles() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("mask.tif"), mask().bytes()).unwrap();
    std::fs::write(path.join("mask.tfw"), "30\n0\n0\n-30\n500015\n3999985\n").unwrap();
    let spacing = ["--spacing", "georeference"];
    PROGRAM.succeeds(path, &[&["mask.tif", "-o", "d.tif"], &spacing[..]].concat());
    let limit = ["plan", "mask.tif", "--max-distance", "100"];
    PROGRAM.succeeds(path, &[&limit[..], &spacing].concat());
    PROGRAM.succeeds(path, &["run", "plan.json", "--all"]);
    PROGRAM.succeeds(path, &["merge", "plan.json", "-o", "m.tif"]);
    for name in ["d.tif", "m.tif"] {
        let found = read_raster(&path.join(name), None).unwrap();
        let place = found.georeference.unwrap().transform;
        assert_eq!(place, [500_000.0, 30.0, 0.0, 4_000_000.0, 0.0, -30.0], "{name}");
        assert_eq!(found.values, ArrayData::F32(vec![0.0, 30.0, 30.0, 1800f32.sqrt()]));
    }
}

/// GDAL says that distances are in the vertical system's unit.
#[test]
fn distances_have_the_system_without_its_heights() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let crs = geo_io::Crs::parse("EPSG:26910+6360").ok();
    let place = Georeference { crs, ..Georeference::north_up((5e5, 5e6), (10.0, 10.0)) };
    write_georeferenced(&path.join("dem.tif"), &place, (2, 2), &[0.0, 1.0, 2.0, 3.0], -1.0)
        .unwrap();
    let more = ["--nearest", "n.tif", "--direction", "r.tif"];
    PROGRAM.succeeds(path, &[&["dem.tif", "-o", "d.tif"], &more[..]].concat());
    PROGRAM.succeeds(path, &["plan", "dem.tif", "--max-distance", "5"]);
    PROGRAM.succeeds(path, &["run", "plan.json", "--all"]);
    PROGRAM.succeeds(path, &["merge", "plan.json", "-o", "m.tif"]);
    for name in ["d.tif", "n.tif", "r.tif", "m.tif"] {
        let found = geo_io::read_place(&path.join(name)).unwrap().georeference.unwrap();
        assert_eq!(found.transform, place.transform, "{name}");
        let crs = found.crs.unwrap();
        assert_eq!((crs.epsg(), crs.has_heights()), (Some(26910), false), "{name}");
    }
}

#[test]
fn a_system_or_control_points_without_a_place_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let keys = vec![1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32633];
    let system = mask().tag(34735, Field::Shorts(keys));
    let point = mask().tag(33922, Field::Doubles(vec![0.0, 0.0, 0.0, 7.0, 8.0, 0.0]));
    let cases = [
        (system, "states the system EPSG:32633 but not where it lies"),
        (point, "ground control points (1)"),
    ];
    for (tiff, words) in cases {
        std::fs::write(path.join("mask.tif"), tiff.bytes()).unwrap();
        let report = PROGRAM.succeeds(path, &["mask.tif", "-o", "d.tif", "--overwrite"]);
        assert!(report.contains(words), "{report}");
        let plan = ["plan", "mask.tif", "--max-distance", "5", "--overwrite"];
        let report = PROGRAM.succeeds(path, &plan);
        assert!(report.contains(words), "{report}");
        let spacing = ["mask.tif", "-o", "x.tif", "--spacing", "georeference"];
        PROGRAM.fails(path, &spacing, &["mask.tif", words]);
    }
}

#[test]
fn a_plan_refuses_what_no_tile_can_read_in_the_words_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("jpeg.tif"), mask().tag(259, Field::Shorts(vec![7])).bytes()).unwrap();
    for (name, kind, shape) in [
        ("complex.npy", "<c8", "(1, 2)"),
        ("long.npy", "<f16", "(1, 1)"),
        ("objects.npy", "|O", "(1, 2)"),
    ] {
        std::fs::write(path.join(name), npy(1, &header(kind, shape), &[0; 16])).unwrap();
    }
    let cases = [
        ("jpeg.tif", "its compression is JPEG (7)"),
        ("complex.npy", "its type is <c8"),
        ("long.npy", "its type is <f16"),
        ("objects.npy", "its elements are Python objects"),
    ];
    for (name, words) in cases {
        PROGRAM.fails(path, &[name, "-o", "d.tif"], &[name, words]);
        PROGRAM.fails(path, &["plan", name, "--max-distance", "5"], &[name, words]);
        assert!(!path.join("plan.json").exists());
    }
}

/// Masks in the forms that people hold.
#[test]
fn masks_of_mosaics_and_grids_are_those_of_the_geotiff() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let values: Vec<f32> = (0..30 * 20).map(|i| if i % 41 == 7 { 1.0 } else { 0.0 }).collect();
    let place = Georeference::north_up((100.0, 240.0), (2.0, 2.0));
    write_georeferenced(&at("m.tif"), &place, (30, 20), &values, -9999.0).unwrap();
    let text = "<GeoTransform>100, 2, 0, 240, 0, -2</GeoTransform>";
    std::fs::write(at("m.vrt"), virtual_raster((30, 20), text, &[("m.tif", [0, 0, 30, 20])]))
        .unwrap();
    std::fs::write(at("m.asc"), ascii_grid(30, &values, (100.0, 200.0), 2.0)).unwrap();
    for form in ["tif", "vrt", "asc"] {
        let [mask, output, plan, merged] = [
            format!("m.{form}"),
            format!("{form}.tif"),
            format!("{form}.json"),
            format!("{form}-tiles.tif"),
        ];
        let spacing = ["--spacing", "georeference", "--device", "cpu", "-o"];
        PROGRAM.succeeds(folder.path(), &[&[&mask[..]], &spacing[..], &[&output]].concat());
        assert!(is_same(folder.path(), "tif.tif", &output), "{form}");
        let line = [
            "plan",
            &mask,
            "--spacing",
            "georeference",
            "--tile-size",
            "16",
            "--max-distance",
            "9",
            "-o",
            &plan,
        ];
        PROGRAM.succeeds(folder.path(), &line);
        PROGRAM.succeeds(folder.path(), &["run", &plan, "--all", "--device", "cpu"]);
        PROGRAM.succeeds(folder.path(), &["merge", &plan, "-o", &merged]);
        assert!(is_same(folder.path(), "tif-tiles.tif", &merged), "{form}");
    }
}

#[test]
fn distances_in_metres_of_web_maps_and_in_degrees_are_noted_by_runs_and_plans() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for (code, corner, side, note) in [
        // Latitudes of 60 degrees.
        ("EPSG:3857", (1e6, 8_399_758.0), 10.0, "a metre of EPSG:3857 is 0.500 m on the ground"),
        ("EPSG:4326", (10.0, 60.0), 0.1, "distances are in degrees"),
    ] {
        let crs = geo_io::Crs::parse(code).ok();
        let place = Georeference { crs, ..Georeference::north_up(corner, (side, side)) };
        write_georeferenced(&path.join("a.tif"), &place, (2, 2), &[0.0, 1.0, 2.0, 3.0], -1.0)
            .unwrap();
        let spacing = ["--spacing", "georeference", "--overwrite"];
        for (run, is_noted) in [
            ([&["a.tif", "-o", "d.tif"], &spacing[..]].concat(), true),
            ([&["plan", "a.tif", "--max-distance", "5"], &spacing[..]].concat(), true),
            (vec!["a.tif", "-o", "d.tif", "--overwrite"], false),
        ] {
            let report = PROGRAM.succeeds(path, &run);
            assert_eq!(report.contains(note), is_noted, "{report}");
        }
    }
}
