//! Distances along great circles, as users meet them.

use std::path::Path;

use geo_io::{
    ArrayData, Crs, Georeference, SiteValues, read_mask, read_npy, write_georeferenced, write_npy,
};
use tempfile::TempDir;

use crate::PROGRAM;

fn floats(path: &Path) -> Vec<f32> {
    match read_npy(path).unwrap().data {
        ArrayData::F32(values) => values,
        other => panic!("{other:?}"),
    }
}

fn doubles(path: &Path) -> Vec<f64> {
    match read_npy(path).unwrap().data {
        ArrayData::F64(values) => values,
        other => panic!("{other:?}"),
    }
}

/// The whole Earth in pixels of 10 degrees; the site lies at 175 degrees west, 75 north.
fn folder_of_earth(system: Option<&str>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let place = Georeference::north_up((-180.0, 90.0), (10.0, 10.0));
    let place = Georeference { crs: system.map(|text| Crs::parse(text).unwrap()), ..place };
    let mut mask = [0.0; 36 * 18];
    mask[36] = 1.0;
    let path = folder.path().join("earth.tif");
    write_georeferenced(&path, &place, (36, 18), &mask, -9999.0).unwrap();
    folder
}

const METRES_OF_DEGREE: f64 = 6_371_008.8 * std::f64::consts::PI / 180.0;

#[test]
fn distances_go_round_the_globe_in_metres() {
    for system in [Some("EPSG:4326"), None] {
        let folder = folder_of_earth(system);
        let at = |name: &str| folder.path().join(name);
        let line = ["earth.tif", "--geodesic", "-o", "d.npy", "-o", "d.tif", "--nearest", "n.npy"];
        let more =
            ["--direction", "b.npy", "--nearest-x", "x.npy", "--nearest-y", "y.npy", "--overwrite"];
        for device in ["cpu", "auto", "software"] {
            let report = PROGRAM
                .succeeds(folder.path(), &[&line[..], &more, &["--device", device]].concat());
            assert!(report.contains("radius 6371008.8 m"), "{report}");
            assert!(!report.contains("--geodesic"), "{report}");
            let (metres, directions) = (floats(&at("d.npy")), floats(&at("b.npy")));
            let is_near = |p: usize, degrees: f64, direction: f32| {
                let metres = f64::from(metres[p]);
                assert!((metres / METRES_OF_DEGREE - degrees).abs() < 1e-4, "{p}: {metres}");
                assert!((directions[p] - direction).abs() < 1e-3, "{p}: {}", directions[p]);
            };
            is_near(36, 0.0, 0.0);
            // Along the meridian, and over the pole: 15 degrees on each side.
            is_near(36 * 3, 20.0, 360.0);
            is_near(36 + 18, 30.0, 360.0);
            // From the antipode every direction leads there.
            is_near(36 * 16 + 18, 180.0, directions[36 * 16 + 18]);
            assert!(directions[36 * 16 + 18] > 0.0);
            // The western neighbour lies beyond the antimeridian, as near as the eastern one.
            let beside =
                (2.0 * (5_f64.to_radians().sin() * 75_f64.to_radians().cos()).asin()).to_degrees();
            is_near(36 + 1, beside, 274.8314);
            is_near(36 + 35, beside, 85.1686);
            assert_eq!(read_npy(&at("n.npy")).unwrap().data, ArrayData::U32(vec![36; 36 * 18]));
            assert!(doubles(&at("x.npy")).iter().all(|&x| x == -175.0));
            assert!(doubles(&at("y.npy")).iter().all(|&y| y == 75.0));
            let place =
                read_mask(&at("d.tif"), &SiteValues::default()).unwrap().georeference.unwrap();
            assert_eq!(place.transform, [-180.0, 10.0, 0.0, 90.0, 0.0, -10.0]);
        }
        // A limit in metres; a sphere of another radius.
        let limit = ["earth.tif", "--geodesic", "--max-distance", "2000000", "-o", "m.npy"];
        PROGRAM.succeeds(folder.path(), &limit);
        for (cut, whole) in floats(&at("m.npy")).into_iter().zip(floats(&at("d.npy"))) {
            assert_eq!(cut, if whole <= 2e6 { whole } else { f32::INFINITY });
        }
        PROGRAM
            .succeeds(folder.path(), &["earth.tif", "--geodesic", "--radius", "1", "-o", "r.npy"]);
        assert!((f64::from(floats(&at("r.npy"))[36 * 3]) - 20_f64.to_radians()).abs() < 1e-6);
    }
}

#[test]
fn lengths_on_the_ellipsoid_are_given_where_asked_for() {
    let folder = folder_of_earth(Some("EPSG:4326"));
    let line = ["earth.tif", "--geodesic", "--ellipsoid", "-o", "e.npy", "--device", "cpu"];
    let report = PROGRAM.succeeds(folder.path(), &line);
    assert!(report.contains("WGS 84"), "{report}");
    let metres = floats(&folder.path().join("e.npy"));
    // Meridian arcs of WGS 84 from 75 degrees north to 55, and to 75 over the pole (5 and 15 degrees of latitude:
    // Snyder 1987, equation 3-21).
    let (a, e2) = (6_378_137.0, 0.006_694_379_990_141_f64);
    let arc = |latitude: f64| {
        let p = latitude.to_radians();
        a * ((1.0 - e2 / 4.0 - 3.0 * e2.powi(2) / 64.0 - 5.0 * e2.powi(3) / 256.0) * p
            - (3.0 * e2 / 8.0 + 3.0 * e2.powi(2) / 32.0 + 45.0 * e2.powi(3) / 1024.0)
                * (2.0 * p).sin()
            + (15.0 * e2.powi(2) / 256.0 + 45.0 * e2.powi(3) / 1024.0) * (4.0 * p).sin()
            - (35.0 * e2.powi(3) / 3072.0) * (6.0 * p).sin())
    };
    for (p, expected) in
        [(36 * 3, arc(75.0) - arc(55.0)), (36 + 18, 2.0 * (arc(90.0) - arc(75.0))), (36, 0.0)]
    {
        assert!((f64::from(metres[p]) - expected).abs() < 0.5, "{p}: {} {expected}", metres[p]);
    }
    PROGRAM.fails(folder.path(), &["earth.tif", "--ellipsoid"], &["--geodesic"]);
}

/// Writes a mask of random sites in pixels of 5 degrees from 180 degrees west on, `width` of them.
fn write_random(folder: &Path, width: u32, seed: u64) {
    let place = Georeference::north_up((-180.0, 85.0), (5.0, 5.0));
    let place = Georeference { crs: Crs::parse("EPSG:4326").ok(), ..place };
    let mut random = testing::Random::new(seed);
    let share = [0.003, 0.05, 0.4][seed as usize % 3];
    let values: Vec<f32> =
        (0..width * 34).map(|_| f32::from(u8::from(random.unit() < share))).collect();
    write_georeferenced(&folder.join("m.tif"), &place, (width, 34), &values, -9999.0).unwrap();
}

#[test]
fn tiles_on_the_globe_have_the_bytes_of_one_run() {
    let more: [&[&str]; 4] =
        [&[], &["--max-distance", "900000"], &["--radius", "authalic"], &["--ellipsoid"]];
    for (seed, more) in (0..).zip(more.iter().cycle().take(8)) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        // The first column again as the last, a whole turn, a part of one.
        write_random(folder, [73, 72, 50][seed as usize % 3], seed);
        let words = [&["m.tif", "--geodesic"], *more].concat();
        let outputs = ["-o", "d.tif", "-o", "d.npy", "--nearest", "n.npy", "--direction", "b.npy"];
        PROGRAM.succeeds(folder, &[&words[..], &outputs, &["--device", "cpu"]].concat());
        PROGRAM.succeeds(folder, &[&words[..], &["-o", "e.tif", "--nearest", "n.tif"]].concat());
        let plan = [&words[..], &["--nearest", "--tile-size", "16"]].concat();
        let device = if seed % 2 == 0 { "cpu" } else { "software" };
        let merge = ["-o", "t.tif", "-o", "t.npy", "--nearest", "tn.npy", "--direction", "tb.npy"];
        testing::tiles::in_tiles(&PROGRAM, folder, &plan, &["scan"], device, &merge);
        let merge = ["-o", "t.tif", "--overwrite", "--nearest", "tn.tif"];
        testing::tiles::in_tiles(&PROGRAM, folder, &plan, &["scan"], device, &merge);
        let bytes = |name: &str| std::fs::read(folder.join(name)).unwrap();
        for (one, tiles) in [
            ("d.tif", "t.tif"),
            ("d.npy", "t.npy"),
            ("n.npy", "tn.npy"),
            ("b.npy", "tb.npy"),
            ("n.tif", "tn.tif"),
        ] {
            assert!(bytes(one) == bytes(tiles), "{seed}, {more:?}: {tiles}");
        }
    }
}

/// GDAL reads the two bands of nearest sites as the arrays have them, on the globe and on the plane.
#[test]
fn the_nearest_sites_are_two_bands_of_coordinates() {
    for more in [&["--geodesic"][..], &["--spacing", "georeference", "--max-distance", "20"]] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        write_random(folder, 72, 1);
        let outputs = ["-o", "d.npy", "--nearest-x", "x.npy", "--nearest-y", "y.npy"];
        let line = [&["m.tif"], more, &outputs, &["--nearest", "n.tif"]].concat();
        PROGRAM.succeeds(folder, &line);
        let translate =
            ["-q", "-ot", "Float64", "-of", "ENVI", "-co", "INTERLEAVE=BSQ", "n.tif", "n.raw"];
        let gdal = std::process::Command::new("gdal_translate")
            .args(translate)
            .current_dir(folder)
            .status();
        if !gdal.is_ok_and(|status| status.success()) {
            println!("skipped: GDAL is not installed");
            return;
        }
        let raw = std::fs::read(folder.join("n.raw")).unwrap();
        let bands: Vec<u64> =
            raw.as_chunks::<8>().0.iter().map(|&value| u64::from_le_bytes(value)).collect();
        let [x, y] = ["x.npy", "y.npy"].map(|name| doubles(&folder.join(name)));
        let expected: Vec<f64> = x.into_iter().chain(y).collect();
        assert_eq!(bands.len(), expected.len());
        for (found, expected) in bands.into_iter().map(f64::from_bits).zip(expected) {
            // NODATA is that of --nodata, as in the distances.
            assert!(found == expected || (found == -9999.0 && expected.is_nan()));
        }
    }
}

#[test]
fn a_mask_of_the_moon_is_told_of_its_radius() {
    let folder = folder_of_earth(None);
    let moon = r#"GEOGCS["Moon",DATUM["D_Moon",SPHEROID["Moon",1737400,0]],PRIMEM["R",0],UNIT["degree",0.0174532925199433]]"#;
    let place = Georeference::north_up((-180.0, 90.0), (10.0, 10.0));
    let place = Georeference { crs: Crs::from_wkt(moon), ..place };
    let mask: Vec<f32> = (0..36 * 18).map(|i| f32::from(u8::from(i == 36))).collect();
    write_georeferenced(&folder.path().join("moon.tif"), &place, (36, 18), &mask, -9.0).unwrap();
    for line in [&["moon.tif", "-o", "d.npy"][..], &["plan", "moon.tif"]] {
        let report = PROGRAM.succeeds(folder.path(), line);
        assert!(report.contains("--geodesic --radius 1737400 gives"), "{report}");
    }
    let line = ["moon.tif", "-o", "g.npy", "--geodesic", "--radius", "1737400"];
    PROGRAM.succeeds(folder.path(), &line);
}

#[test]
fn a_mask_in_degrees_is_told_of_the_option() {
    for (system, is_told) in [(Some("EPSG:4326"), true), (Some("EPSG:26910"), false), (None, false)]
    {
        let folder = folder_of_earth(system);
        for spacing in ["georeference", "1,1"] {
            let line = [
                "earth.tif",
                "-o",
                "d.npy",
                "--spacing",
                spacing,
                "--overwrite",
                "--device",
                "cpu",
            ];
            let report = PROGRAM.succeeds(folder.path(), &line);
            assert_eq!(report.contains("--geodesic"), is_told, "{system:?}: {report}");
        }
    }
}

#[test]
fn what_does_not_lie_on_the_globe_is_refused() {
    let folder = folder_of_earth(Some("EPSG:26910"));
    let at = |name: &str| folder.path().join(name);
    write_npy(&at("row.npy"), &[1u8, 0, 0], 3, 1).unwrap();
    let write = |name: &str, transform: [f64; 6]| {
        let place = Georeference { transform, crs: Crs::parse("EPSG:4326").ok() };
        write_georeferenced(&at(name), &place, (3, 2), &[1.0; 6], -9999.0).unwrap();
    };
    write("utm.tif", [5e5, 30.0, 0.0, 4.6e6, 0.0, -30.0]);
    write("wide.tif", [0.0, 200.0, 0.0, 10.0, 0.0, -1.0]);
    write("turned.tif", [0.0, 1.0, 0.5, 10.0, 0.0, -1.0]);
    write("good.tif", [0.0, 1.0, 0.0, 10.0, 0.0, -1.0]);
    write("pole.tif", [0.0, 1.0, 0.0, 90.5, 0.0, -1.0]);
    let cases: [(&[&str], &[&str]); 11] = [
        (&["earth.tif", "--geodesic"], &["--geodesic", "earth.tif", "on a plane", "EPSG:4326"]),
        (&["row.npy", "--geodesic"], &["--geodesic", "row.npy", "where it lies"]),
        (&["utm.tif", "--geodesic"], &["--geodesic", "utm.tif", "between the poles"]),
        (&["wide.tif", "--geodesic"], &["--geodesic", "wide.tif", "more than one turn"]),
        (&["turned.tif", "--geodesic"], &["--geodesic", "turned.tif", "along parallels"]),
        (&["good.tif", "--geodesic", "--spacing", "1,1"], &["--spacing"]),
        (&["good.tif", "--radius", "5"], &["--geodesic"]),
        (&["good.tif", "--geodesic", "--radius", "0"], &["--radius", "0"]),
        (&["good.tif", "--geodesic", "--radius", "mena"], &["--radius", "mena", "authalic"]),
        (&["plan", "wide.tif", "--geodesic"], &["--geodesic", "wide.tif", "more than one turn"]),
        (&["plan", "pole.tif", "--geodesic"], &["--geodesic", "pole.tif", "at a pole"]),
    ];
    for (line, words) in cases {
        PROGRAM.fails(folder.path(), line, words);
    }
}

#[test]
fn options_of_the_globe_are_refused_beside_sides_of_pixels() {
    let folder = folder_of_earth(Some("EPSG:4326"));
    for option in [&["--ellipsoid"][..], &["--radius", "authalic"]] {
        let sides = ["--spacing", "2,3", "-o"];
        let whole = [&["earth.tif"], option, &sides, &["d.npy"]].concat();
        PROGRAM.fails(folder.path(), &whole, &[option[0], "--spacing"]);
        let plan = [&["plan", "earth.tif"], option, &sides, &["p.json"]].concat();
        PROGRAM.fails(folder.path(), &plan, &[option[0], "--spacing"]);
    }
}
