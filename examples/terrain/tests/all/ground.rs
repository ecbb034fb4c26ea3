//! Planes in metres, feet, degrees and grads: what the coordinate system says of both units counts.

use std::path::Path;

use geo_io::{Crs, Georeference, read_raster, write_georeferenced};
use terrain_grid::metres_of_degree;

use crate::PROGRAM;

/// Writes a plane that rises to the east by so many units of height with each column.
fn write_plane(folder: &Path, crs: Option<&str>, corner: (f64, f64), side: (f64, f64), rise: f64) {
    let plane: Vec<f32> = (0..63).map(|i| (rise * f64::from(i % 9)) as f32).collect();
    let crs = crs.map(|text| Crs::parse(text).unwrap());
    let place = Georeference { crs, ..Georeference::north_up(corner, side) };
    write_georeferenced(&folder.join("dem.tif"), &place, (9, 7), &plane, -1.0).unwrap();
}

/// The slope of the middle cell, and what the report says of units.
fn slope(folder: &Path, more: &[&str]) -> (f64, String) {
    let words = ["dem.tif", "--slope", "s.tif", "--device", "software", "--overwrite"];
    let report = PROGRAM.json(folder, &[&words[..], more].concat());
    let values = read_raster(&folder.join("s.tif"), None).unwrap().values.to_floats(None);
    (values[3 * 9 + 4], report["units"].as_str().unwrap().to_owned())
}

#[test]
fn slopes_know_the_units_of_ground_and_heights() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // A cell's width in metres, that of a unit of height, and what the report says.
    let cases = [
        (Some("EPSG:32632"), (5e5, 5e6), (10.0, 10.0), 10.0, 1.0, "metres; heights taken"),
        (Some("EPSG:32632"), (5e5, 5e6), (4.0, 7.0), 4.0, 1.0, "metres; heights taken"),
        (Some("EPSG:2994"), (4e5, 1e6), (3.0, 3.0), 3.0, 1.0, "feet; heights taken"),
        (
            Some("EPSG:2994+5703"),
            (4e5, 1e6),
            (3.0, 3.0),
            3.0 * 0.3048,
            1.0,
            "feet; heights in metres",
        ),
        (Some("EPSG:32632+8228"), (5e5, 5e6), (2.0, 2.0), 2.0, 0.3048, "metres; heights in feet"),
        (None, (0.0, 9.0), (5.0, 5.0), 5.0, 1.0, "unknown units"),
    ];
    for (crs, corner, side, width, unit, words) in cases {
        write_plane(folder, crs, corner, side, 2.0);
        let (found, units) = slope(folder, &[]);
        let expected = f64::atan(2.0 * unit / width).to_degrees();
        assert!((found - expected).abs() < 1e-4, "{crs:?}: {found}, not {expected}");
        assert!(units.starts_with(words), "{crs:?}: {units}");
        let (found, _) = slope(folder, &["--z-factor", "3"]);
        let expected = f64::atan(6.0 * unit / width).to_degrees();
        assert!((found - expected).abs() < 1e-4, "{crs:?}: {found}, not {expected}");
    }
}

#[test]
fn slopes_in_degrees_know_the_latitude() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Degrees of a unit of the system, and metres of a unit of height.
    for (crs, unit, height) in
        [("EPSG:4326", 1.0, 1.0), ("EPSG:4326+8228", 1.0, 0.3048), ("EPSG:4807", 0.9, 1.0)]
    {
        for (top, side) in
            [(60.0, (0.001, 0.001)), (-35.0, (0.002, 0.001)), (0.003, (0.0005, 0.001))]
        {
            write_plane(folder, Some(crs), (10.0, top), side, 20.0);
            let (found, units) = slope(folder, &[]);
            let (across, _) = metres_of_degree((top - 3.5 * side.1) * unit);
            let expected = (20.0 * height / (side.0 * unit * across)).atan().to_degrees();
            assert!((found - expected).abs() < 1e-4, "{crs}, {top}: {found}, not {expected}");
            let word = if unit == 1.0 { "degrees" } else { "grads" };
            assert!(units.starts_with(word), "{units}");
        }
    }
    // The last row of a raster whose middle of cells lies on the pole.
    write_plane(folder, Some("EPSG:4326"), (10.0, 90.005), (0.01, 0.01), 1.0);
    assert!(slope(folder, &[]).0.is_finite());
}

/// A degree of the Moon has 30 km, one of the Earth 111.
#[test]
fn degrees_of_another_body_have_no_slope_but_heights_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_plane(folder, None, (10.0, 40.0), (0.001, 0.001), 1.0);
    let moon = r#"GEOGCS["Moon",DATUM["D_Moon",SPHEROID["Moon",1737400,0]],PRIMEM["R",0],UNIT["degree",0.0174532925199433]]"#;
    let values = read_raster(&folder.join("dem.tif"), None).unwrap().values.to_floats(None);
    let values: Vec<f32> = values.into_iter().map(|value| value as f32).collect();
    let place = Georeference::north_up((10.0, 40.0), (0.001, 0.001));
    let place = Georeference { crs: Crs::from_wkt(moon), ..place };
    write_georeferenced(&folder.join("moon.tif"), &place, (9, 7), &values, -1.0).unwrap();
    for product in ["--slope", "--hillshade", "--plan-curvature", "--relief"] {
        let name = if product == "--relief" { "r.png" } else { "p.tif" };
        PROGRAM.fails(folder, &["moon.tif", product, name], &["moon.tif", "1737400", "gdalwarp"]);
    }
    PROGRAM.fails(folder, &["plan", "moon.tif", "--product", "slope"], &["moon.tif", "1737400"]);
    PROGRAM.succeeds(folder, &["moon.tif", "--roughness", "r.tif", "--contours", "c.geojson"]);
}

/// EPSG:2048 counts westings and southings, EPSG:5513 southings and westings, by the EPSG list; EPSG:5514 eastings and
/// northings.
#[test]
fn directions_are_refused_where_the_system_has_the_north_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (crs, axes) in [
        ("EPSG:2048", "x grows to the west and y to the south"),
        ("EPSG:5513", "x grows to the south and y to the west"),
    ] {
        write_plane(folder, Some(crs), (5e5, 1e6), (10.0, 10.0), 2.0);
        for product in ["aspect", "hillshade", "relief"] {
            let words = ["dem.tif", crs, product, axes, "gdalwarp -t_srs"];
            let once = ["dem.tif", &format!("--{product}"), "x.tif", "--device", "cpu"];
            PROGRAM.fails(folder, &once, &words);
            PROGRAM.fails(folder, &["plan", "dem.tif", "--product", product], &words);
        }
        // Slopes have no direction, and their file the system as it was.
        slope(folder, &[]);
        let found = read_raster(&folder.join("s.tif"), None).unwrap().georeference.unwrap();
        assert_eq!(found.crs.unwrap().geokeys(), Crs::parse(crs).unwrap().geokeys());
        assert_eq!((found.transform[0], found.transform[3]), (5e5, 1e6));
    }
    write_plane(folder, Some("EPSG:5514"), (-5e5, -1e6), (10.0, 10.0), 2.0);
    PROGRAM.succeeds(folder, &["dem.tif", "--aspect", "a.tif", "--device", "cpu"]);
    let aspects = read_raster(&folder.join("a.tif"), None).unwrap().values.to_floats(None);
    assert_eq!(aspects[3 * 9 + 4], 270.0);
}

/// A rise of 2 feet in 2 metres, by a unit that GDAL keeps beside the file; the system's own unit counts before it.
#[test]
fn slopes_know_the_unit_of_the_band() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let unit = |name: &str| {
        let text = format!(
            "<PAMDataset><PAMRasterBand band=\"1\"><UnitType>{name}</UnitType></PAMRasterBand></PAMDataset>"
        );
        std::fs::write(folder.join("dem.tif.aux.xml"), text).unwrap();
    };
    for (crs, name, metres, words) in [
        ("EPSG:32632", "ft", 0.3048, "metres; heights in feet"),
        ("EPSG:32632", "m", 1.0, "metres; heights in metres"),
        ("EPSG:32632", "K", 1.0, "metres; heights taken as the same"),
        ("EPSG:32632+5703", "ft", 1.0, "metres; heights in metres"),
    ] {
        write_plane(folder, Some(crs), (5e5, 5e6), (2.0, 2.0), 2.0);
        unit(name);
        let (found, units) = slope(folder, &[]);
        assert!((found - f64::atan(metres).to_degrees()).abs() < 1e-4, "{crs} {name}: {found}");
        assert_eq!(units, words, "{crs} {name}");
    }
    // Tiles know it too.
    write_plane(folder, Some("EPSG:32632"), (5e5, 5e6), (2.0, 2.0), 2.0);
    unit("ft");
    PROGRAM.succeeds(folder, &["plan", "dem.tif", "--product", "slope", "--tile-size", "16"]);
    PROGRAM.succeeds(folder, &["run", "plan.json", "--all", "--device", "cpu"]);
    PROGRAM.succeeds(folder, &["merge", "plan.json", "--slope", "t.tif"]);
    let values = read_raster(&folder.join("t.tif"), None).unwrap().values.to_floats(None);
    assert!((values[3 * 9 + 4] - f64::atan(0.3048).to_degrees()).abs() < 1e-4);
}

/// GDAL says that a slope is in the vertical system's unit.
#[test]
fn no_product_has_the_datum_of_heights_and_only_differences_have_their_unit() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let crs = Crs::parse("EPSG:26910+6360").ok();
    let place = Georeference { crs, ..Georeference::north_up((5e5, 5e6), (10.0, 10.0)) };
    write_georeferenced(&here.join("dem.tif"), &place, (9, 7), &[1.0; 63], -1.0).unwrap();
    let differences = ["tri", "tpi", "roughness"];
    let others = ["slope", "aspect", "hillshade", "plan-curvature", "profile-curvature", "relief"];
    let names = differences.iter().chain(&others);
    let products = |more: &str| -> Vec<String> {
        names.clone().flat_map(|name| [format!("--{name}"), format!("{name}{more}.tif")]).collect()
    };
    let run = |before: &[&str], more: &str| {
        let products = products(more);
        let products = products.iter().map(String::as_str);
        let words: Vec<&str> = before.iter().copied().chain(products).collect();
        PROGRAM.succeeds(here, &words);
    };
    run(&["dem.tif"], "");
    let words = names.clone().copied().collect::<Vec<_>>().join(",");
    PROGRAM.succeeds(here, &["plan", "dem.tif", "--product", &words]);
    PROGRAM.succeeds(here, &["run", "plan.json", "--all"]);
    run(&["merge", "plan.json"], "-merged");
    for (name, more) in names.flat_map(|name| [(name, ""), (name, "-merged")]) {
        let place = geo_io::read_place(&here.join(format!("{name}{more}.tif"))).unwrap();
        let crs = place.georeference.unwrap().crs.unwrap();
        assert_eq!((crs.epsg(), crs.vertical_epsg()), (Some(26910), None), "{name}{more}");
        let has_unit = crs.metres_per_height().is_some();
        assert_eq!(has_unit, differences.contains(name), "{name}{more}: {crs:?}");
    }
}

#[test]
fn web_maps_are_noted_where_slopes_need_lengths_on_the_ground() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // At 60 degrees of latitude.
    write_plane(folder, Some("EPSG:3857"), (1e6, 8_399_770.0), (10.0, 10.0), 2.0);
    let note = "note        a metre of EPSG:3857 is 0.500 m on the ground here, and slopes and light take it";
    let run = ["dem.tif", "--device", "software", "--overwrite"];
    let plan = ["plan", "dem.tif", "--overwrite"];
    for (more, is_noted) in [
        (["--slope", "a.tif"], true),
        (["--hillshade", "a.tif"], true),
        (["--tri", "a.tif"], false),
    ] {
        let report = PROGRAM.succeeds(folder, &[&run[..], &more].concat());
        assert_eq!(report.contains(note), is_noted, "{report}");
        let product = ["--product", more[0].trim_start_matches('-')];
        let report = PROGRAM.succeeds(folder, &[&plan[..], &product].concat());
        assert_eq!(report.contains(note), is_noted, "{report}");
    }
}
