//! The program `terrain` as its users meet it: exit codes, messages, files.

use std::path::Path;

use geo_io::{ArrayData, Crs, Georeference, read_npy, read_raster, write_georeferenced, write_npy};
use tempfile::TempDir;
use testing::Random;
use testing::files::tiff::Tiff;
use testing::program::is_same;

use crate::PROGRAM;

/// All products that are numbers, with names of files that end so.
pub fn products(ending: &str) -> Vec<[String; 2]> {
    let names = [
        "slope",
        "aspect",
        "hillshade",
        "plan-curvature",
        "profile-curvature",
        "tri",
        "tpi",
        "roughness",
    ];
    names.map(|name| [format!("--{name}"), format!("{name}{ending}")]).to_vec()
}

/// All others, with names of files that have this in them. Colours depend on the range of heights.
pub fn drawings(word: &str) -> Vec<String> {
    let of =
        |option: &str, ending: &str| [format!("--{option}"), format!("{option}{word}.{ending}")];
    [of("relief", "tif"), of("color-relief", "tif"), of("contours", "geojson")].concat()
}

/// Their options. The table is to be written first.
pub const DRAWN: [&str; 4] = ["--colours", "table.txt", "--contour-interval", "7"];
pub const TABLE: &str = "0% blue\n910 10 200 30\n85% brown\n100% white\nnv 1 2 3 4\n";

/// The values of an array.
fn floats(path: &Path) -> Vec<f32> {
    match read_npy(path).unwrap().data {
        ArrayData::F32(values) => values,
        other => panic!("{other:?}"),
    }
}

/// A plane that rises by 1 with each column of side 1, of 6 x 5 cells, and inputs that are wrong.
fn folder_of_inputs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let plane: Vec<f32> = (0..30).map(|i| (i % 6) as f32).collect();
    write_npy(&at("plane.npy"), &plane, 6, 5).unwrap();
    let place = Georeference::north_up((500.0, 900.0), (1.0, 1.0));
    let crs = Crs::parse("EPSG:32632").ok();
    let place = Georeference { crs, ..place };
    write_georeferenced(&at("plane.tif"), &place, (6, 5), &plane, -1.0).unwrap();
    for (name, transform) in [
        ("turned.tif", [0.0, 1.0, 0.1, 9.0, 0.0, -1.0]),
        ("mirrored.tif", [0.0, -1.0, 0.0, 9.0, 0.0, -1.0]),
    ] {
        let place = Georeference { transform, crs: None };
        write_georeferenced(&at(name), &place, (6, 5), &plane, -1.0).unwrap();
    }
    let crs = Crs::parse("EPSG:4326").ok();
    let beyond = Georeference { crs, ..Georeference::north_up((5.0, 900.0), (1.0, 1.0)) };
    write_georeferenced(&at("beyond.tif"), &beyond, (6, 5), &plane, -1.0).unwrap();
    write_npy(&at("nothing.npy"), &[] as &[f32], 0, 0).unwrap();
    std::fs::write(at("empty.npy"), "").unwrap();
    std::fs::write(at("text.tif"), "this is not an image, whatever its name says").unwrap();
    std::fs::write(at("dem.jpg"), "ncols 2").unwrap();
    folder
}

#[test]
fn a_plane_has_its_slope_and_aspect_on_both_devices() {
    let folder = folder_of_inputs();
    for device in ["cpu", "software"] {
        let outputs = ["--slope", "s.npy", "--aspect", "a.npy", "--hillshade", "h.npy"];
        let words = [&["plane.npy"], &outputs[..], &["--device", device, "--overwrite"]].concat();
        let report = PROGRAM.succeeds(folder.path(), &words);
        assert!(report.contains("6 x 5 cells of 1 x 1"), "{report}");
        assert!(report.contains("does not say where it lies") && report.contains("--cell-size"));
        let read = |name: &str| floats(&folder.path().join(name));
        let (slope, aspect, shade) = (read("s.npy"), read("a.npy"), read("h.npy"));
        for i in 0..30 {
            let is_border = i % 6 == 0 || i % 6 == 5 || i / 6 == 0 || i / 6 == 4;
            assert_eq!(slope[i].is_nan(), is_border, "cell {i}");
            assert!(is_border || (slope[i] - 45.0).abs() < 1e-4, "{}", slope[i]);
            assert!(is_border || aspect[i] == 270.0, "{}", aspect[i]);
            assert!(is_border || (shade[i] - 0.853_553_4).abs() < 1e-6, "{}", shade[i]);
        }
        let more = ["--cell-size", "2", "--slope-unit", "percent", "--z-factor", "3"];
        PROGRAM.succeeds(folder.path(), &[&words[..], &more].concat());
        assert!((read("s.npy")[8] - 150.0).abs() < 1e-4);
        let more = ["--aspect-angle", "trigonometric", "--edges", "level"];
        PROGRAM.succeeds(folder.path(), &[&words[..], &more].concat());
        let aspect = read("a.npy");
        assert_eq!(aspect[8], 180.0);
        assert!(aspect.iter().all(|angle| !angle.is_nan()), "{aspect:?}");
    }
}

#[test]
fn all_products_are_georeferenced_and_have_the_same_bytes_on_both_devices() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut random = Random::new(3);
    let heights: Vec<f32> = (0..70 * 41).map(|_| random.between(100.0, 130.0) as f32).collect();
    let crs = Crs::parse("EPSG:32632+5703").ok();
    let place = Georeference { crs, ..Georeference::north_up((5e5, 4.6e6), (2.0, 3.0)) };
    write_georeferenced(&folder.join("dem.tif"), &place, (70, 41), &heights, -1.0).unwrap();
    let whole = ["--relief", "relief", "--contours", "lines.geojson", "--contour-interval", "5"];
    for device in ["cpu", "software"] {
        let mut words = vec!["dem.tif".to_owned(), "--device".to_owned(), device.to_owned()];
        words.extend(products(&format!("-{device}.tif")).concat());
        words.extend(whole.iter().map(|word| match *word {
            "relief" => format!("relief-{device}.tif"),
            "lines.geojson" => format!("lines-{device}.geojson"),
            other => other.to_owned(),
        }));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        PROGRAM.succeeds(folder, &words);
    }
    for [_, stem] in products("") {
        let [a, b] = ["cpu", "software"].map(|device| format!("{stem}-{device}.tif"));
        assert!(is_same(folder, &a, &b), "{stem}");
        let found = read_raster(&folder.join(a), None).unwrap();
        let georeference = found.georeference.unwrap();
        assert_eq!(georeference.transform, place.transform, "{stem}");
        assert_eq!(georeference.crs.unwrap().epsg(), Some(32632), "{stem}");
        let nodata = if stem == "hillshade" { 0.0 } else { -9999.0 };
        assert_eq!(found.nodata.unwrap().to_f64(), nodata, "{stem}");
    }
    assert!(is_same(folder, "relief-cpu.tif", "relief-software.tif"));
    assert!(is_same(folder, "lines-cpu.geojson", "lines-software.geojson"));
    let lines = std::fs::read_to_string(folder.join("lines-cpu.geojson")).unwrap();
    assert!(lines.contains("\"elevation\":115.0") && lines.contains("EPSG::32632"), "{lines:.300}");
    // Coordinates are the DEM's, of cells that are not square.
    let numbers = lines.split("\"coordinates\":[[").nth(1).unwrap();
    let mut numbers = numbers.split([',', ']']).map(|word| word.parse::<f64>().unwrap());
    let (x, y) = (numbers.next().unwrap(), numbers.next().unwrap());
    assert!((5e5..5e5 + 140.0).contains(&x) && (4.6e6 - 123.0..4.6e6).contains(&y), "{x}, {y}");
}

#[test]
fn pictures_arrays_and_cloud_optimised_files_are_written() {
    let folder = folder_of_inputs();
    let path = folder.path();
    let pictures = ["--hillshade", "h.png", "--relief", "r.png", "--contours", "c.fgb"];
    PROGRAM.succeeds(path, &[&["plane.tif", "--contour-interval", "2"], &pictures[..]].concat());
    for name in ["h.png", "r.png"] {
        assert!(std::fs::read(path.join(name)).unwrap().starts_with(b"\x89PNG"), "{name}");
    }
    assert!(std::fs::read(path.join("c.fgb")).unwrap().starts_with(b"fgb"));
    let cog = ["--cog", "--compress", "zstd", "--nodata", "nan"];
    PROGRAM.succeeds(path, &[&["plane.tif", "--tpi", "t.tif"], &cog[..]].concat());
    let bytes = std::fs::read(path.join("t.tif")).unwrap();
    assert!(bytes.windows(6).any(|part| part == b"LAYOUT"));
    let found = read_raster(&path.join("t.tif"), None).unwrap();
    assert!(found.nodata.unwrap().is_nan());
}

/// Rasters without an inner cell, without a height, and with infinite heights.
#[test]
fn odd_rasters_have_products() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let infinite = [0.0, 1.0, f32::INFINITY, 3.0, f32::NEG_INFINITY, 5.0, 6.0, 7.0, 8.0];
    for (name, values, (width, height)) in [
        ("one", &[5.0][..], (1, 1)),
        ("row", &[1.0, 2.0, 3.0, 4.0], (4, 1)),
        ("column", &[1.0, 2.0, 3.0, 4.0], (1, 4)),
        ("two", &[1.0, 2.0, 3.0, 4.0], (2, 2)),
        ("void", &[f32::NAN; 9], (3, 3)),
        ("infinite", &infinite, (3, 3)),
    ] {
        let dem = format!("{name}.npy");
        write_npy(&folder.join(&dem), values, width, height).unwrap();
        for edges in ["nodata", "level"] {
            for device in ["cpu", "software"] {
                let ending = format!("-{edges}-{device}.npy");
                let mut words = vec![&dem[..], "--edges", edges, "--device", device, "--overwrite"];
                let outputs = products(&ending).concat();
                words.extend(outputs.iter().map(String::as_str));
                let report = PROGRAM.succeeds(folder, &words);
                if edges == "nodata" && name != "infinite" {
                    let lines = report.lines().filter(|line| line.ends_with("cell is NODATA"));
                    assert_eq!(lines.count(), 8, "{name}: {report}");
                }
            }
            for [_, stem] in products("") {
                let [a, b] =
                    ["cpu", "software"].map(|device| format!("{stem}-{edges}-{device}.npy"));
                assert!(is_same(folder, &a, &b), "{name}, {edges}: {stem}");
            }
        }
        if name == "one" {
            assert_eq!(floats(&folder.join("slope-level-cpu.npy")), [0.0]);
        }
        if name == "row" {
            // At its ends the missing side counts as level.
            let slopes = floats(&folder.join("slope-level-cpu.npy"));
            assert!((slopes[1] - slopes[2]).abs() < 1e-6 && slopes[0] < slopes[1], "{slopes:?}");
        }
    }
    let lines = ["void.npy", "--contours", "c.geojson", "--relief", "r.png"];
    assert!(PROGRAM.succeeds(folder, &lines).contains("0 lines"));
}

/// Integers with NODATA are heights; what the file has as NODATA is none.
#[test]
fn heights_of_any_type_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut floats_in: Vec<f32> = (0..56).map(|i| ((i * i) % 23) as f32).collect();
    floats_in[20] = f32::NAN;
    let integers: Vec<u64> =
        floats_in.iter().map(|v| if v.is_nan() { 0x8000 } else { *v as u64 }).collect();
    write_npy(&at("f32.npy"), &floats_in, 8, 7).unwrap();
    let wide: Vec<f64> = floats_in.iter().map(|v| f64::from(*v)).collect();
    write_npy(&at("f64.npy"), &wide, 8, 7).unwrap();
    let place = Georeference::north_up((0.0, 7.0), (1.0, 1.0));
    write_georeferenced(&at("f32.tif"), &place, (8, 7), &floats_in, -32768.0).unwrap();
    // Signed integers of 16 bits.
    Tiff::new(8, &integers, (16, 2)).nodata("-32768").write(&at("i16.tif"));
    for name in ["f32.npy", "f64.npy", "f32.tif", "i16.tif"] {
        let out = format!("{name}.npy");
        PROGRAM.succeeds(folder.path(), &[name, "--tri", &out, "--device", "cpu"]);
        assert!(is_same(folder.path(), "f32.npy.npy", &out), "{name}");
    }
}

#[test]
fn what_is_wrong_gets_one_line() {
    let folder = folder_of_inputs();
    let fails = |words: &[&str], parts: &[&str]| PROGRAM.fails(folder.path(), words, parts);
    fails(&["plane.tif"], &["no product: give", "--slope", "--contours"]);
    std::fs::write(folder.path().join("t.txt"), "0% red\n").unwrap();
    fails(
        &["plane.tif", "--slope", "s.tif", "--colours", "t.txt"],
        &["--colours", "--color-relief"],
    );
    fails(
        &["plane.tif", "--slope", "s.tif", "--between", "exact"],
        &["--between", "--color-relief"],
    );
    fails(&["plane.tif", "--color-relief", "c.npy", "--colours", "t.txt"], &["c.npy", ".png"]);
    fails(&["plane.tif", "--slope", "s.png"], &["--slope s.png", ".tif", ".npy"]);
    fails(&["plane.tif", "--hillshade", "h.csv"], &["--hillshade h.csv", ".png"]);
    fails(&["plane.tif", "--relief", "r.npy"], &["--relief r.npy", ".png"]);
    fails(&["plane.tif", "--contours", "c.shp"], &["--contours c.shp", ".geojson"]);
    fails(&["missing.tif", "--slope", "s.tif"], &["missing.tif", "No such file"]);
    fails(&["empty.npy", "--slope", "s.tif"], &["empty.npy", "empty"]);
    fails(&["text.tif", "--slope", "s.tif"], &["text.tif"]);
    fails(&["dem.jpg", "--slope", "s.tif"], &["dem.jpg", ".npy", ".tif"]);
    fails(&["nothing.npy", "--slope", "s.tif"], &["nothing.npy", "no cells"]);
    fails(&["turned.tif", "--slope", "s.tif"], &["turned.tif", "gdalwarp"]);
    fails(&["mirrored.tif", "--slope", "s.tif"], &["mirrored.tif", "gdalwarp"]);
    fails(&["beyond.tif", "--slope", "s.tif"], &["beyond.tif", "latitude of 900", "EPSG:4326"]);
    let slope = ["plane.tif", "--slope", "s.tif"];
    let with = |more: &[&str], parts: &[&str]| fails(&[&slope[..], more].concat(), parts);
    with(&["--contour-interval", "3"], &["--contour-interval belongs to --contours"]);
    with(&["--shading", "igor"], &["--shading belongs to --hillshade or --relief"]);
    with(&["--azimuth", "3"], &["--azimuth belongs to --hillshade"]);
    with(&["--altitude", "3"], &["--altitude belongs to --hillshade"]);
    // Likewise at their default values.
    with(&["--contour-interval", "5"], &["--contour-interval belongs to --contours"]);
    with(&["--shading", "lambert"], &["--shading belongs to --hillshade or --relief"]);
    with(&["--azimuth", "315"], &["--azimuth belongs to --hillshade"]);
    with(&["--tri-method", "riley"], &["--tri-method belongs to --tri"]);
    let shade = |more: &[&str], parts: &[&str]| {
        fails(&[&["plane.tif", "--hillshade", "h.npy"], more].concat(), parts);
    };
    shade(&["--shading", "multidirectional", "--azimuth", "3"], &["--azimuth", "has four"]);
    shade(&["--shading", "igor", "--altitude", "3"], &["igor takes no --altitude"]);
    shade(&["--shading", "igor", "--altitude", "45"], &["igor takes no --altitude"]);
    shade(&["--shading", "multidirectional", "--azimuth", "315"], &["--azimuth", "has four"]);
    shade(&["--cog"], &["--cog belongs to a GeoTIFF"]);
    shade(&["--nodata", "3"], &["--nodata belongs to a GeoTIFF"]);
    let tri = |more: &[&str], parts: &[&str]| {
        fails(&[&["plane.tif", "--tri", "t.tif"], more].concat(), parts);
    };
    tri(&["--gradient", "zevenbergen-thorne"], &["--gradient belongs to --slope, --aspect"]);
    tri(&["--z-factor", "3"], &["--z-factor belongs to --slope, --hillshade"]);
    fails(&["plane.tif", "--relief", "r.png", "--edges", "level"], &["--edges belongs to --slope"]);
    fails(
        &["plan", "plane.tif", "--product", "tri", "--z-factor", "3"],
        &["--z-factor belongs to --slope"],
    );
    with(&["--gradient", "sobel"], &["--gradient", "sobel", "horn"]);
    with(&["--edges", "wrap"], &["--edges", "level"]);
    with(&["--z-factor", "0"], &["--z-factor", "above 0"]);
    with(&["--z-factor", "nan"], &["--z-factor", "nan"]);
    for angle in ["inf", "361", "-361"] {
        with(&["--azimuth", angle], &["--azimuth", "from -360 to 360"]);
    }
    // No light comes from behind the zenith, or from below the ground.
    for angle in ["inf", "91", "90.5", "-1"] {
        with(&["--altitude", angle], &["--altitude", "from 0 to 90"]);
    }
    with(&["--contour-interval", "-1"], &["--contour-interval", "above 0"]);
    with(&["--cell-size", "2"], &["--cell-size", "plane.tif"]);
    with(&["--flat", "0"], &["--flat", "--aspect"]);
    with(&["--aspect-angle", "trigonometric"], &["--aspect-angle", "--aspect"]);
    with(&["--tri-method", "wilson"], &["--tri-method", "--tri"]);
    fails(
        &["plane.tif", "--tri", "t.tif", "--slope-unit", "percent"],
        &["--slope-unit", "--slope"],
    );
    // A plane of slope 45 degrees has this in every cell, and a hole's aspect nowhere.
    fails(&["plane.tif", "--aspect", "a.tif", "--nodata", "270"], &["by --nodata", "a.tif"]);
}

#[test]
fn no_product_stays_where_one_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_npy(&path.join("dem.npy"), &[1.0f32, 2.0, 3.0, 3e38, 5.0, -3e38], 3, 2).unwrap();
    let words = ["dem.npy", "--aspect", "a.npy", "--tri", "t.npy", "--edges", "level"];
    PROGRAM.fails(path, &words, &["--tri", "3e38"]);
    assert_eq!(std::fs::read_dir(path).unwrap().count(), 1);
}

#[test]
fn heights_that_floats_of_32_bits_round_are_noted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let plane = |offset: f64| (0..9).map(|i| offset + f64::from(i % 3)).collect::<Vec<_>>();
    for (offset, is_noted) in [(0.25, false), (1e6, false), (2e7 + 1.0, true), (1e12, true)] {
        write_npy(&path.join("plane.npy"), &plane(offset), 3, 3).unwrap();
        let args = ["plane.npy", "--slope", "s.npy", "--overwrite", "--cell-size", "1"];
        let said = PROGRAM.succeeds(path, &args);
        let note = "as 32-bit floats, which changes them by up to";
        assert_eq!(said.contains(note), is_noted, "{said}");
        // In tiles, whether colours need the range of heights or not.
        for product in ["slope", "relief"] {
            let plan = ["plan", "plane.npy", "--product", product, "--cell-size", "1"];
            let said = PROGRAM.succeeds(path, &[&plan[..], &["--overwrite"]].concat());
            assert_eq!(said.contains(note), is_noted, "{product}: {said}");
        }
    }
}

/// Finite heights whose products are not, heights of 64 bits beyond those of 32, and lines up to infinity are refused
/// by cell.
#[test]
fn heights_beyond_the_floats_of_32_bits_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let heights = [1.0, 2.0, 3.0, 4.0, 3e38, 6.0, 7.0, -3e38, 9.0];
    write_npy(&path.join("large.npy"), &heights, 3, 3).unwrap();
    let wide = heights.map(|height: f64| if height > 1e38 { 1e300 } else { height });
    write_npy(&path.join("wide.npy"), &wide, 3, 3).unwrap();
    let words = ["large.npy", "3e38", "row 1, column 1", "gdal_translate -a_nodata"];
    for product in ["--tri", "--tpi", "--roughness"] {
        PROGRAM.fails(path, &["large.npy", product, "x.npy"], &[&words[..], &[product]].concat());
        let wide = ["wide.npy", product, "x.npy"];
        PROGRAM.fails(path, &wide, &["wide.npy", "1e300 in row 1, column 1", "32-bit float"]);
    }
    let hill = [1.0f32, 2.0, 3.0, 4.0, 9.0, 6.0, 7.0, 5.0, 9.0];
    write_npy(&path.join("hill.npy"), &hill, 3, 3).unwrap();
    for (factor, part) in
        [("1e38", "--z-factor nearer to 1 than 1e38"), ("1e300", "z factor 1e300")]
    {
        let words = ["hill.npy", "--plan-curvature", "x.npy", "--z-factor", factor];
        PROGRAM.fails(path, &words, &["hill.npy", part]);
    }
    PROGRAM.succeeds(path, &["plan", "large.npy", "--product", "tri"]);
    let lines = PROGRAM.errors(path, &["run", "plan.json", "--all"]);
    assert!(
        lines[0].contains("large.npy: tri") && lines[0].contains("row 1, column 1"),
        "{lines:?}"
    );
    let infinite = heights.map(|height| if height > 1e38 { f64::INFINITY } else { height });
    write_npy(&path.join("infinite.npy"), &infinite, 3, 3).unwrap();
    let lines = ["infinite.npy", "--contours", "x.geojson"];
    PROGRAM.fails(path, &lines, &["--contours", "infinite.npy", "height inf in row 1, column 1"]);
    write_npy(&path.join("low.npy"), &[1.0f32, 2.0, 3.0, 4.0], 2, 2).unwrap();
    let lines = ["low.npy", "--contours", "x.geojson", "--contour-interval", "1e-300"];
    PROGRAM.fails(path, &lines, &["--contour-interval", "low.npy", "every 1e-300 from 1 to 4"]);
}

#[test]
fn an_option_of_another_command_is_named_with_it() {
    let folder = folder_of_inputs();
    let path = folder.path();
    let words = [
        "unexpected argument '--contours'",
        "--contours is an option of terrain without a command, merge",
    ];
    PROGRAM.fails(path, &["plan", "plane.tif", "--contours", "c.geojson"], &words);
    PROGRAM.fails(
        path,
        &["plan", "plane.tif", "--slope", "s.tif"],
        &["an option of terrain without a command, merge"],
    );
    let lines = PROGRAM.errors(path, &["plan", "plane.tif", "--no-such-thing", "s.tif"]);
    assert!(!lines[0].contains("as a value"), "{lines:?}");
}

#[test]
fn reports_and_files_are_those_of_every_program() {
    let folder = folder_of_inputs();
    let path = folder.path();
    PROGRAM.prints_its_version_completions_and_page(path);
    let fields = ["dem", "crs", "units", "slope", "device", "seconds", "written"];
    let words = ["plane.tif", "--slope", "s.tif", "--tpi", "t.npy"];
    let report = PROGRAM.reports(path, &words, &fields);
    assert_eq!(report["slope"]["nodata_cells"], 18, "{report}");
    PROGRAM.replaces_only_where_asked(path, &["plane.npy", "--slope", "again.tif"]);
    let twice: &[&[&str]] = &[
        &["plane.tif", "--slope", "plane.tif"],
        &["plane.tif", "--slope", "x.tif", "--aspect", "x.tif"],
        &["plane.tif", "--slope", "x.tif", "--relief", "./x.tif"],
    ];
    PROGRAM.refuses_one_file_twice(path, twice);
}

/// A DEM of 160 MB as floats, of which no more than some rows are in memory. For a picture one of 270 MB, which is not
/// kept between two passes.
#[cfg(target_os = "linux")]
#[test]
fn a_large_dem_is_not_held() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dem.npy");
    let mut floats = |first: usize, rows: &mut [f32]| {
        rows.iter_mut().enumerate().for_each(|(i, z)| *z = ((i + first) % 1009) as f32);
        Ok(())
    };
    geo_io::write_npy_rows(&path, (5000, 8000), &mut floats).unwrap();
    let peak = |output: [&str; 2]| {
        let words = [&["dem.npy", "--device", "cpu"], &output[..]].concat();
        let peak = testing::tiles::peak_memory(&PROGRAM, folder.path(), &words);
        println!("{output:?}: {} MiB", peak >> 20);
        peak
    };
    assert!(peak(["--slope", "s.npy"]) < 140 << 20);
    let mut bytes = |first: usize, rows: &mut [u8]| {
        rows.iter_mut().enumerate().for_each(|(i, z)| *z = ((i + first) % 251) as u8);
        Ok(())
    };
    geo_io::write_npy_rows(&path, (5000, 13_500), &mut bytes).unwrap();
    assert!(peak(["--relief", "r.png"]) < 140 << 20);
}

#[test]
fn bad_numbers_are_refused_with_a_reason() {
    PROGRAM.refuses_numbers(&[
        ("a.tif --z-factor -1", "-1 is not above 0"),
        ("a.tif --cell-size -1", "-1 is not above 0"),
        ("a.tif --flat 1e300", "1e300 is beyond the range of f32"),
        ("a.tif --flat inf", "inf is not a finite number"),
        ("a.tif --contour-interval -1e3", "-1e3 is not above 0"),
        ("a.tif --altitude -45", "-45 is not from 0 to 90 degrees"),
        ("plan a.tif --tile-size -1", "-1 is below 0"),
        ("run plan.json --tile -1", "-1 is below 0"),
    ]);
}
