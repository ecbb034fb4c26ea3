//! Distances beside those of gdal_proximity, where it is installed.

use std::path::Path;
use std::process::Command;

use geo_io::{Crs, Georeference, read_raster, write_georeferenced};
use testing::Random;

use crate::PROGRAM;

/// Writes a raster of values from 0 to 4, few of them above 0, in square cells of 2.5.
fn write_mask(folder: &Path) {
    let (width, height) = (190, 140);
    let mut random = Random::new(12);
    let value = |random: &mut Random| match random.below(60) {
        0 => 1.0 + random.below(4) as f32,
        _ => 0.0,
    };
    let values: Vec<f32> = (0..width * height).map(|_| value(&mut random)).collect();
    let place = Georeference {
        crs: Crs::parse("EPSG:32632").ok(),
        ..Georeference::north_up((5e5, 5e6), (2.5, 2.5))
    };
    write_georeferenced(&folder.join("mask.tif"), &place, (width, height), &values, -9999.0)
        .unwrap();
}

/// The values of a file, NODATA being NaN.
fn values(path: &Path) -> Vec<f64> {
    let raster = read_raster(path, None).unwrap();
    raster.values.to_floats(raster.nodata)
}

/// gdal_proximity hands sites on from pixel to pixel, so it may miss the nearest one. Its distances are never below the true
/// ones, and most are equal.
#[test]
fn distances_are_those_of_gdal_proximity_or_less() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_mask(folder);
    let cases: [(&[&str], &[&str]); 3] = [
        (&[], &[]),
        (&["-distunits", "GEO"], &["--spacing", "georeference"]),
        (&["-values", "1,4"], &["--values", "1,4"]),
    ];
    for (theirs, ours) in cases {
        let mut command = Command::new("gdal_proximity.py");
        let command = command.args(["-q", "mask.tif", "gdal.tif"]).args(theirs);
        std::fs::remove_file(folder.join("gdal.tif")).ok();
        let Ok(output) = command.current_dir(folder).output() else {
            println!("skipped: there is no gdal_proximity");
            return;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let run = ["mask.tif", "-o", "ours.tif", "--overwrite"];
        PROGRAM.succeeds(folder, &[&run[..], ours].concat());
        let [theirs, ours] = ["gdal.tif", "ours.tif"].map(|name| values(&folder.join(name)));
        assert_eq!(theirs.len(), ours.len());
        let is_equal = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b;
        let mut equal = 0;
        for (cell, (&theirs, &ours)) in theirs.iter().zip(&ours).enumerate() {
            equal += usize::from(is_equal(theirs, ours));
            assert!(ours <= theirs * (1.0 + 1e-6), "{cell}: {ours}, {theirs}");
        }
        assert!(equal * 100 >= ours.len() * 99, "{equal} of {} are equal", ours.len());
    }
}
