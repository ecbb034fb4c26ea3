//! Files beside those of gdaldem, where it is installed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use geo_io::{Crs, Georeference, read_raster, write_georeferenced};
use testing::Random;

use crate::PROGRAM;

/// Writes a smooth surface with noise and two holes, in cells that are not square.
fn write_dem(folder: &Path) {
    let (width, height) = (300, 270);
    let mut random = Random::new(7);
    let height_of = |i: u32| {
        let (x, y) = (f64::from(i % width), f64::from(i / width));
        let height = 30.0 * (x / 9.0).sin() * (y / 7.0).cos() + 2.0 * random.unit();
        // Some heights are those of tables.
        (if i.is_multiple_of(7) { height.round() } else { height }) as f32
    };
    let mut heights: Vec<f32> = (0..width * height).map(height_of).collect();
    (heights[12 * 300 + 30], heights[40 * 300 + 5]) = (f32::NAN, f32::NAN);
    let crs = Crs::parse("EPSG:32632").ok();
    let place = Georeference { crs, ..Georeference::north_up((5e5, 5e6), (2.5, 4.0)) };
    write_georeferenced(&folder.join("dem.tif"), &place, (width, height), &heights, -9999.0)
        .unwrap();
}

/// The values of a file, NODATA being NaN.
fn values(path: &Path) -> Vec<f64> {
    let raster = read_raster(path, None).unwrap();
    raster.values.to_floats(raster.nodata)
}

#[test]
fn files_are_those_of_gdaldem() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_dem(folder);
    // gdaldem's words, ours, and how far the values may be apart: a byte's rounding for hillshades. gdaldem
    // subtracts sums of heights in f32.
    let cases: [(&[&str], &[&str], f64); 14] = [
        (&["slope"], &["--slope"], 1e-4),
        (&["slope", "-p"], &["--slope", "--slope-unit percent"], 1e-3),
        (
            &["slope", "-alg", "ZevenbergenThorne"],
            &["--slope", "--gradient zevenbergen-thorne"],
            1e-4,
        ),
        (&["hillshade"], &["--hillshade"], 1.0),
        (
            &["hillshade", "-az", "80", "-alt", "20", "-z", "3"],
            &["--hillshade", "--azimuth 80 --altitude 20 --z-factor 3"],
            1.0,
        ),
        (
            &["hillshade", "-alg", "ZevenbergenThorne"],
            &["--hillshade", "--gradient zevenbergen-thorne"],
            1.0,
        ),
        (&["hillshade", "-multidirectional"], &["--hillshade", "--shading multidirectional"], 1.0),
        (
            &["hillshade", "-multidirectional", "-alg", "ZevenbergenThorne", "-alt", "60"],
            &[
                "--hillshade",
                "--shading multidirectional --gradient zevenbergen-thorne --altitude 60",
            ],
            1.0,
        ),
        (
            &["hillshade", "-combined", "-az", "100", "-alt", "30"],
            &["--hillshade", "--shading combined --azimuth 100 --altitude 30"],
            1.0,
        ),
        (
            &["hillshade", "-combined", "-alg", "ZevenbergenThorne"],
            &["--hillshade", "--shading combined --gradient zevenbergen-thorne"],
            1.0,
        ),
        (&["TRI", "-alg", "Riley"], &["--tri"], 1e-4),
        (&["TRI", "-alg", "Wilson"], &["--tri", "--tri-method wilson"], 1e-4),
        (&["TPI"], &["--tpi"], 1e-4),
        (&["roughness"], &["--roughness"], 1e-4),
    ];
    for (theirs, ours, most) in cases {
        let (product, options) = theirs.split_first().unwrap();
        let arguments = [&[product, "dem.tif", "theirs.tif", "-q"], options].concat();
        let Ok(output) = Command::new("gdaldem").current_dir(folder).args(arguments).output()
        else {
            println!("skipped: gdaldem is not installed");
            return;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut words = vec!["dem.tif", ours[0], "ours.tif", "--overwrite", "--device", "cpu"];
        words.extend(ours[1..].iter().flat_map(|words| words.split(' ')));
        PROGRAM.succeeds(folder, &words);
        let [ours, expected] = ["ours.tif", "theirs.tif"].map(|name| values(&folder.join(name)));
        assert_eq!(ours.len(), expected.len());
        let mut off = 0;
        for (i, (a, b)) in ours.iter().zip(&expected).enumerate() {
            assert_eq!(a.is_nan(), b.is_nan(), "{theirs:?}, cell {i}: {a} and {b}");
            assert!(a.is_nan() || (a - b).abs() <= most, "{theirs:?}, cell {i}: {a} and {b}");
            off += usize::from(a != b && !a.is_nan());
        }
        // A brightness next to the middle between two bytes may round to either.
        assert!(most < 1.0 || off < ours.len() / 500, "{theirs:?}: {off} bytes differ");
    }
}

/// Every band of every cell is gdaldem's, by tables with shares, names, opacities, and colours of NODATA.
#[test]
fn colours_are_those_of_gdaldem() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_dem(folder);
    let tables = [
        "-20 0 0 255\n0 white\n7.25 10 200 30 128\n25 brown\nnv 9 8 7 6\n",
        "0%,black\n33.3%,255,0,0\n100%,0,255,255\n",
        "1000:1:2:3\n",
        "-30 aqua\n-20 grey\n-10 orange\n0 brown\n10 purple\n20 violet\n30 Indigo\n",
        "# as GMT writes it, and nv in any case\n# COLOR_MODEL = RGB\n-30 10 20 30 -5 40 50 60\n-5 200 0 0 35 0 200 0\nN 1 2 3\n",
        "NV red 40\n-15.5 10.9 200.5 30\n20 9 8 7 128 label of it\n",
        "/ NODATA by its number\n-9999 1 2 3\n-10000 9 9 9\n0 200 100 0\n12 0 1 2\n",
        "-20 0 0 0\n-5 10 200 30\n-5 90 9 70\n16 1 2 3\n16 5 6 7\n20 200 200 200\n20 0 0 0\nnv 3 3 3\n",
    ];
    let modes: [(&str, &[&str]); 3] = [
        ("linear", &[]),
        ("nearest", &["-nearest_color_entry"]),
        ("exact", &["-exact_color_entry"]),
    ];
    for table in tables {
        std::fs::write(folder.join("table.txt"), table).unwrap();
        for (between, options) in modes {
            // gdaldem's ends of the range are off the heights by a rounding.
            if between == "exact" && table.contains('%') {
                continue;
            }
            let run = |program: &str, words: &[&str]| {
                let run = Command::new(program).current_dir(folder).args(words).output();
                run.is_ok_and(|output| output.status.success())
            };
            let words = ["color-relief", "dem.tif", "table.txt", "theirs.tif", "-alpha", "-q"];
            if !run("gdaldem", &[&words[..], options].concat()) {
                println!("skipped: gdaldem is not installed");
                return;
            }
            let words = ["dem.tif", "--color-relief", "ours.tif", "--colours", "table.txt"];
            let more = ["--between", between, "--overwrite", "--device", "cpu"];
            PROGRAM.succeeds(folder, &[&words[..], &more].concat());
            let raw = ["ours", "theirs"].map(|name| {
                let (from, to) = (format!("{name}.tif"), format!("{name}.raw"));
                let how = ["-q", "-of", "ENVI", "-co", "INTERLEAVE=BIP"];
                assert!(run("gdal_translate", &[&how[..], &[&from, &to]].concat()));
                std::fs::read(folder.join(to)).unwrap()
            });
            let pairs = raw[0].chunks(4).zip(raw[1].chunks(4)).enumerate();
            for (cell, (ours, theirs)) in pairs {
                // Without a line of NODATA gdaldem gives it the colour of its number, here the lowest height.
                let has_nodata =
                    ["nv", "NV", "\nN ", "-9999"].iter().any(|word| table.contains(word));
                if [12 * 300 + 30, 40 * 300 + 5].contains(&cell) && !has_nodata {
                    assert_eq!(ours, [0; 4]);
                    continue;
                }
                // gdaldem 3.6 meets no line exactly but that of the lowest height.
                let is_met = between == "exact" && *ours != [0; 4] && *theirs == [0; 4];
                assert!(
                    ours == theirs || is_met,
                    "{table:?}, {between}, {cell}: {ours:?} {theirs:?}"
                );
            }
            assert_eq!(raw[0].len(), raw[1].len());
        }
    }
    std::fs::write(folder.join("bad.txt"), "1 2 3\n").unwrap();
    let bad = ["dem.tif", "--color-relief", "c.png", "--colours", "bad.txt", "--device", "cpu"];
    PROGRAM.fails(folder, &bad, &["bad.txt", "line 1"]);
    PROGRAM.fails(folder, &["dem.tif", "--color-relief", "c.png"], &["--colours"]);
}

/// The points of all lines of a GeoJSON file, with their level, in millionths.
fn points(path: &Path) -> BTreeSet<[i64; 3]> {
    let text = std::fs::read_to_string(path).unwrap();
    let collection: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut all = BTreeSet::new();
    for feature in collection["features"].as_array().unwrap() {
        let level = feature["properties"]["elevation"].as_f64().unwrap();
        for point in feature["geometry"]["coordinates"].as_array().unwrap() {
            let [x, y] = [&point[0], &point[1]].map(|number| number.as_f64().unwrap());
            all.insert([x, y, level].map(|number| (1e6 * number).round() as i64));
        }
    }
    all
}

/// Where no height is a level and no cell is NODATA, contour lines go through the points of gdal_contour's, in tiles
/// too. GDAL's go on for half a cell to the border.
#[test]
fn contour_lines_go_through_the_points_of_gdal() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (width, height) = (90, 70);
    let heights: Vec<f32> = (0..width * height)
        .map(|i| {
            let (x, y) = (f64::from(i % width), f64::from(i / width));
            (30.0 * (x / 9.0).sin() * (y / 7.0).cos() + 0.013) as f32
        })
        .collect();
    let place = Georeference::north_up((1000.0, 2000.0), (2.0, 4.0));
    write_georeferenced(&folder.join("dem.tif"), &place, (width, height), &heights, -9999.0)
        .unwrap();
    let words =
        ["-q", "-i", "5", "-a", "elevation", "-f", "GeoJSON", "-lco", "COORDINATE_PRECISION=12"];
    let words = [&words[..], &["dem.tif", "theirs.geojson"]].concat();
    match Command::new("gdal_contour").current_dir(folder).args(words).output() {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(_) => return println!("skipped: gdal_contour is not installed"),
    }
    let plan = ["dem.tif", "--product", "contours", "--contour-interval", "5", "--tile-size", "32"];
    testing::tiles::in_tiles(&PROGRAM, folder, &plan, &[], "cpu", &["--contours", "ours.geojson"]);
    let [ours, theirs] =
        ["ours", "theirs"].map(|name| points(&folder.join(name).with_extension("geojson")));
    let is_near = |set: &BTreeSet<[i64; 3]>, &[x, y, level]: &[i64; 3]| {
        let around = [-1, 0, 1];
        around.iter().any(|dx| around.iter().any(|dy| set.contains(&[x + dx, y + dy, level])))
    };
    assert!(ours.len() > 3000);
    let lost: Vec<_> = ours.iter().filter(|point| !is_near(&theirs, point)).collect();
    assert!(lost.is_empty(), "{} of {}: {:?}", lost.len(), ours.len(), &lost[..3.min(lost.len())]);
    let is_inner = |&[x, y, _]: &[i64; 3]| {
        (1_001_000_000..=1_179_000_000).contains(&x) && (1_722_000_000..=1_998_000_000).contains(&y)
    };
    let added: Vec<_> =
        theirs.iter().filter(|point| is_inner(point) && !is_near(&ours, point)).collect();
    assert!(added.is_empty(), "{} of {}: {added:?}", added.len(), theirs.len());
}
