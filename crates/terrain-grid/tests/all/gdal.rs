//! Products beside gdaldem's, where it is installed.

use std::path::Path;
use std::process::Command;

use gpu_core::{Device, GridSpec, GridView};
use terrain_grid::{
    Angle, Aspect, Gradient, Light, Product, ProductParams, Ruggedness, Shading, SlopeUnit, product,
};
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

/// What gdaldem writes of a brightness, before it is rounded.
fn as_bytes(brightness: f32) -> f32 {
    // 0 is NODATA, 1 is shadow, 255 the brightest.
    if brightness.is_nan() { 0.0 } else { 1.0 + 254.0 * brightness }
}

/// What gdaldem writes of a value, and the two tolerances.
type How = (fn(f32) -> f32, f32, f32);

/// Compares a product with gdaldem's, cell by cell: `written` makes a value what gdaldem writes. The two may differ by `most`, and by
/// `share` of gdaldem's.
fn compare(
    folder: &Path,
    arguments: &[&str],
    params: &ProductParams,
    dem: GridView<'_, f32>,
    (written, most, share): How,
) -> Option<()> {
    let theirs = gdaldem(folder, arguments)?;
    let ours = product(&Device::Cpu, dem, params).unwrap();
    for (i, (&ours, &theirs)) in ours.values().iter().zip(&theirs).enumerate() {
        let ours = written(ours);
        let away = (ours - theirs).abs();
        // North is 0 and 360.
        let away = if arguments[0] == "aspect" { away.min(360.0 - away) } else { away };
        assert!(
            away <= most + share * theirs.abs(),
            "{arguments:?}, cell {i}: {ours}, gdaldem {theirs}"
        );
    }
    Some(())
}

#[test]
fn products_are_those_of_gdaldem() {
    let grid = GridSpec::new(1000.0, 5000.0, 2.5, 70, 60).unwrap();
    let dem = dem(&grid);
    let folder = tempfile::tempdir().unwrap();
    geo_io::write_geotiff(&folder.path().join("dem.tif"), &grid, &dem, None, -9999.0).unwrap();
    let view = GridView::new(&dem, grid).unwrap();
    let number = |value: f32| if value.is_nan() { -9999.0 } else { value };
    let as_numbers: How = (number, 1e-5, 1e-5);
    // gdaldem subtracts sums of heights, of which f32 keeps less than of differences.
    let as_angles: How = (number, 1e-3, 0.0);
    let of = |arguments: &[&str], params: &ProductParams, how| {
        compare(folder.path(), arguments, params, view, how)
    };
    let slope = |unit| ProductParams::new(Product::Slope(unit));
    if of(&["slope"], &slope(SlopeUnit::Degrees), as_numbers).is_none() {
        println!("skipped: gdaldem is not installed");
        return;
    }
    let of = |arguments: &[&str], params: &ProductParams, how| of(arguments, params, how).unwrap();
    of(&["slope", "-p"], &slope(SlopeUnit::Percent), as_numbers);
    of(&["TRI", "-alg", "Riley"], &ruggedness(Ruggedness::Riley), as_numbers);
    of(&["TRI", "-alg", "Wilson"], &ruggedness(Ruggedness::Wilson), as_numbers);
    of(&["TPI"], &ProductParams::new(Product::Position), as_numbers);
    of(&["roughness"], &ProductParams::new(Product::Roughness), as_numbers);
    for (gradient, algorithm) in
        [(Gradient::Horn, "Horn"), (Gradient::ZevenbergenThorne, "ZevenbergenThorne")]
    {
        let of = |arguments: &[&str], params: &ProductParams, how| {
            let arguments = [arguments, &["-alg", algorithm]].concat();
            of(&arguments, &params.gradient(gradient), how);
        };
        of(&["slope"], &slope(SlopeUnit::Degrees), as_numbers);
        let aspect = |how| ProductParams::new(Product::Aspect(how));
        of(&["aspect"], &aspect(Aspect::new()), as_angles);
        let trigonometric = aspect(Aspect::new().angle(Angle::Trigonometric));
        of(&["aspect", "-trigonometric"], &trigonometric, as_angles);
        for (azimuth, altitude, z_factor) in [(315.0, 45.0, 1.0), (80.0, 20.0, 3.0)] {
            let numbers = [azimuth, altitude, z_factor].map(|number: f64| number.to_string());
            let [azimuths, altitudes, factors] = numbers.each_ref();
            let light = Light::new().azimuth(azimuth).altitude(altitude);
            let shade = |light| ProductParams::new(Product::Hillshade(light)).z_factor(z_factor);
            let how: How = (as_bytes, 0.501, 0.0);
            let common = ["hillshade", "-alt", altitudes, "-z", factors];
            of(&[&common[..], &["-az", azimuths]].concat(), &shade(light), how);
            let several = shade(light.shading(Shading::Multidirectional));
            of(&[&common[..], &["-multidirectional"]].concat(), &several, how);
            let combined = shade(light.shading(Shading::Combined));
            of(&[&common[..], &["-az", azimuths, "-combined"]].concat(), &combined, how);
            let igor = shade(light.shading(Shading::Igor));
            // From 0 to 255; 0 is NODATA too.
            let as_igor = |b: f32| if b.is_nan() { 0.0 } else { 255.0 * b };
            let line = ["hillshade", "-z", factors, "-az", azimuths, "-igor"];
            of(&line, &igor, (as_igor, 0.501, 0.0));
        }
    }
}

fn ruggedness(which: Ruggedness) -> ProductParams {
    ProductParams::new(Product::Ruggedness(which))
}

/// Level ground: NODATA, or 0, of the aspect; the light from straight above or not.
#[test]
fn level_ground_is_that_of_gdaldem() {
    let grid = GridSpec::new(1000.0, 5000.0, 2.5, 5, 5).unwrap();
    let folder = tempfile::tempdir().unwrap();
    geo_io::write_geotiff(&folder.path().join("dem.tif"), &grid, &[7.5; 25], None, -9999.0)
        .unwrap();
    for (arguments, params) in [
        (&["aspect"][..], ProductParams::new(Product::Aspect(Aspect::new()))),
        (
            &["aspect", "-zero_for_flat"],
            ProductParams::new(Product::Aspect(Aspect::new().flat(0.0))),
        ),
    ] {
        let Some(theirs) = gdaldem(folder.path(), arguments) else {
            println!("skipped: gdaldem is not installed");
            return;
        };
        let view = GridView::new(&[7.5; 25], grid).unwrap();
        let ours = product(&Device::Cpu, view, &params).unwrap().into_values();
        // At the border gdaldem writes what stands for NODATA, which with -zero_for_flat is 0.
        let ours = if ours[12].is_nan() { -9999.0 } else { ours[12] };
        assert_eq!(ours, theirs[12]);
    }
    let shade = Product::Hillshade(Light::new().shading(Shading::Multidirectional));
    let theirs = gdaldem(folder.path(), &["hillshade", "-multidirectional"]).unwrap();
    let view = GridView::new(&[7.5; 25], grid).unwrap();
    let ours = product(&Device::Cpu, view, &ProductParams::new(shade)).unwrap();
    assert!((as_bytes(ours.values()[12]) - theirs[12]).abs() <= 0.501);
}
