//! Slope and hillshade beside gdaldem's, where it is installed.

use std::path::Path;
use std::process::Command;

use gpu_core::{Device, GridSpec, GridView};
use terrain_grid::{HillshadeParams, SlopeParams, SlopeUnit, hillshade, slope};
use testing::Random;

/// A smooth surface with noise and two holes.
fn dem(grid: &GridSpec) -> Vec<f32> {
    let mut random = Random::new(7);
    let mut values = Vec::new();
    for row in 0..grid.height {
        for column in 0..grid.width {
            let (x, y) = (f64::from(column), f64::from(row));
            values.push((30.0 * (x / 9.0).sin() * (y / 7.0).cos() + 2.0 * random.unit()) as f32);
        }
    }
    let width = grid.width as usize;
    for hole in [12 * width + 30, 40 * width + 5] {
        values[hole] = f32::NAN;
    }
    values
}

/// gdaldem's product of a DEM, as numbers; `None` without gdaldem.
fn gdaldem(folder: &Path, arguments: &[&str]) -> Option<Vec<f32>> {
    let run = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).current_dir(folder).args(arguments).output().ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(())
    };
    let (product, options) = arguments.split_first().unwrap();
    run("gdaldem", &[&[*product, "dem.tif", "out.tif", "-q"], options].concat())?;
    run("gdal_translate", &["-q", "-ot", "Float32", "-of", "ENVI", "out.tif", "out.raw"])?;
    let raw = std::fs::read(folder.join("out.raw")).unwrap();
    Some(raw.as_chunks::<4>().0.iter().map(|c| f32::from_ne_bytes(*c)).collect())
}

#[test]
fn slope_and_hillshade_are_those_of_gdaldem() {
    let grid = GridSpec::new(1000.0, 5000.0, 2.5, 70, 60).unwrap();
    let dem = dem(&grid);
    let folder = tempfile::tempdir().unwrap();
    geo_io::write_geotiff(&folder.path().join("dem.tif"), &grid, &dem, None, -9999.0).unwrap();

    for (arguments, unit) in
        [(&["slope"][..], SlopeUnit::Degrees), (&["slope", "-p"], SlopeUnit::Percent)]
    {
        let Some(theirs) = gdaldem(folder.path(), arguments) else {
            println!("skipped: gdaldem is not installed");
            return;
        };
        let view = GridView::new(&dem, grid).unwrap();
        let ours = slope(&Device::Cpu, view, &SlopeParams::new().unit(unit)).unwrap();
        let ours = ours.values();
        for (i, (&a, &b)) in ours.iter().zip(&theirs).enumerate() {
            assert_eq!(a.is_nan(), b == -9999.0, "cell {i}: {a} and {b}");
            assert!(a.is_nan() || (a - b).abs() <= 1e-5 * b.abs().max(1.0), "{i}: {a} and {b}");
        }
    }
    for (azimuth, altitude, z_factor) in [(315.0, 45.0, 1.0), (80.0, 20.0, 3.0)] {
        let options = [
            "-az",
            &azimuth.to_string(),
            "-alt",
            &altitude.to_string(),
            "-z",
            &z_factor.to_string(),
        ];
        let theirs = gdaldem(folder.path(), &[&["hillshade"], &options[..]].concat()).unwrap();
        let light = HillshadeParams::new().azimuth(azimuth).altitude(altitude).z_factor(z_factor);
        let view = GridView::new(&dem, grid).unwrap();
        let ours = hillshade(&Device::Cpu, view, &light).unwrap();
        let ours = ours.values();
        for (i, (&a, &b)) in ours.iter().zip(&theirs).enumerate() {
            // gdaldem: 0 is NODATA, 1 is shadow, 255 the brightest.
            assert_eq!(a.is_nan(), b == 0.0, "cell {i}: {a} and {b}");
            assert!(a.is_nan() || (1.0 + 254.0 * a - b).abs() <= 0.501, "{i}: {a} and {b}");
        }
    }
}
