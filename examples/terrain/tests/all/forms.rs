//! DEMs in the forms that people hold: mosaics and ASCII grids give the products of the GeoTIFF.

use std::path::Path;

use geo_io::{Crs, Georeference, read_raster, write_georeferenced};
use testing::files::grid::{ascii_grid, virtual_raster};
use testing::program::is_same;

use crate::PROGRAM;

const SIZE: (u32, u32) = (70, 41);

fn height(column: u32, row: u32) -> f32 {
    match (column * 7 + row) % 53 {
        11 => f32::NAN,
        _ => 900.5 + (column * column % 97) as f32 * 0.25 - row as f32,
    }
}

/// Writes columns of the DEM as a GeoTIFF, NODATA -9999.
fn write(folder: &Path, name: &str, columns: std::ops::Range<u32>) -> Vec<f32> {
    let corner = (500_000.0 + 5.0 * f64::from(columns.start), 4_000_000.0);
    let crs = Crs::parse("EPSG:32633").ok();
    let place = Georeference { crs, ..Georeference::north_up(corner, (5.0, 5.0)) };
    let cells = (0..SIZE.1).flat_map(|row| columns.clone().map(move |column| height(column, row)));
    let (values, size): (Vec<f32>, _) = (cells.collect(), (columns.len() as u32, SIZE.1));
    write_georeferenced(&folder.join(name), &place, size, &values, -9999.0).unwrap();
    values
}

/// Writes the DEM as `dem.tif`, `dem.asc` and `dem.vrt` of `west.tif` and `east.tif`.
fn write_all(folder: &Path) {
    let values = write(folder, "dem.tif", 0..SIZE.0);
    write(folder, "west.tif", 0..33);
    write(folder, "east.tif", 33..SIZE.0);
    let sources = [("west.tif", [0, 0, 33, SIZE.1]), ("east.tif", [33, 0, SIZE.0 - 33, SIZE.1])];
    let place = "<SRS>EPSG:32633</SRS><GeoTransform>500000, 5, 0, 4000000, 0, -5</GeoTransform>";
    std::fs::write(folder.join("dem.vrt"), virtual_raster(SIZE, place, &sources)).unwrap();
    let corner = (500_000.0, 4_000_000.0 - 5.0 * f64::from(SIZE.1));
    let grid = ascii_grid(SIZE.0 as usize, &values, corner, 5.0);
    std::fs::write(folder.join("dem.asc"), grid).unwrap();
    std::fs::write(
        folder.join("dem.asc.aux.xml"),
        "<PAMDataset><SRS>EPSG:32633</SRS></PAMDataset>",
    )
    .unwrap();
}

#[test]
fn mosaics_and_grids_give_the_products_of_the_geotiff() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_all(folder);
    for form in ["tif", "vrt", "asc"] {
        let [dem, slope, lines] = ["dem", "slope", "lines"].map(|name| match name {
            "dem" => format!("dem.{form}"),
            "slope" => format!("slope-{form}.tif"),
            _ => format!("lines-{form}.geojson"),
        });
        PROGRAM
            .succeeds(folder, &[&dem, "--slope", &slope, "--contours", &lines, "--device", "cpu"]);
        assert!(
            is_same(folder, "slope-tif.tif", &slope)
                && is_same(folder, "lines-tif.geojson", &lines),
            "{form}"
        );
    }
    // Zarr in, and out.
    PROGRAM.succeeds(folder, &["dem.tif", "--slope", "slope.zarr", "--device", "cpu"]);
    let read = |name: &str| {
        let raster = read_raster(&folder.join(name), None).unwrap();
        format!("{:?}", raster.values.to_floats(raster.nodata))
    };
    assert!(read("slope.zarr") == read("slope-tif.tif"));
    for name in ["slope.zarr", "slope-tif.tif"] {
        let tri = format!("tri-of-{name}.tif");
        PROGRAM.succeeds(folder, &[name, "--tri", &tri, "--device", "cpu"]);
    }
    assert!(is_same(folder, "tri-of-slope.zarr.tif", "tri-of-slope-tif.tif.tif"));
    let slopes = read_raster(&folder.join("slope-vrt.tif"), None).unwrap();
    assert!(slopes.values.to_floats(slopes.nodata).iter().any(|value| *value > 1.0));
}

#[test]
fn tiles_of_a_mosaic_have_its_bytes_and_know_when_a_source_changes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_all(folder);
    PROGRAM.succeeds(folder, &["dem.tif", "--slope", "whole.tif", "--device", "cpu"]);
    let plan = ["plan", "dem.vrt", "--product", "slope", "--tile-size", "20", "-o", "plan.json"];
    PROGRAM.succeeds(folder, &plan);
    PROGRAM.succeeds(folder, &["run", "plan.json", "--tile", "3", "--device", "cpu"]);
    PROGRAM.succeeds(folder, &["run", "plan.json", "--all", "--device", "cpu"]);
    PROGRAM.succeeds(folder, &["merge", "plan.json", "--slope", "merged.tif"]);
    assert!(is_same(folder, "whole.tif", "merged.tif"));
    PROGRAM.succeeds(folder, &[&plan[..7], &["again.json", "--z-factor", "2"]].concat());
    PROGRAM.succeeds(folder, &["run", "again.json", "--tile", "0", "--device", "cpu"]);
    write(folder, "east.tif", 33..SIZE.0);
    PROGRAM.fails(folder, &["run", "again.json", "--tile", "3", "--device", "cpu"], &["dem.vrt"]);
}

#[test]
fn rows_that_do_not_fit_the_memory_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for (name, size) in [("wide.vrt", [2_000_000_000, 500]), ("vast.vrt", [2_000_000_000; 2])] {
        let [width, height] = size;
        let band = "<VRTRasterBand dataType=\"Byte\" band=\"1\"/>";
        let text = format!(
            "<VRTDataset rasterXSize=\"{width}\" rasterYSize=\"{height}\">{band}</VRTDataset>"
        );
        std::fs::write(here.join(name), text).unwrap();
        for (option, output) in [
            ("--slope", "s.npy"),
            ("--slope", "s.tif"),
            ("--relief", "r.png"),
            ("--contours", "c.geojson"),
        ] {
            PROGRAM.fails(here, &[name, option, output], &[name, "terrain plan", "memory"]);
        }
    }
}

#[test]
fn a_dash_is_refused_where_an_argument_needs_a_file() {
    PROGRAM.refuses_streams(&[
        ("- --slope s.tif", "<DEM>"),
        ("dem.tif --slope -", "--slope"),
        ("dem.tif --color-relief c.png --colours -", "--colours"),
        ("plan - --product slope", "<DEM>"),
        ("plan dem.tif --product slope -o -", "--output"),
        ("run - --all", "<PLAN>"),
        ("merge - --slope s.tif", "<PLAN>"),
    ]);
}
