//! Beside `gdal_grid`, on the ground points of a LiDAR survey. Skipped where the data or the program
//! are missing.

use std::path::Path;
use std::process::Command;

use crate::common::{Cloud, devices};
use geo_io::{CsvColumns, Filter, read_points};
use gpu_core::GridSpec;
use idw::{Input, Params, interpolate};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/autzen.laz");

/// Cells of the comparison, across and down.
const SIZE: (u32, u32) = (48, 24);

/// The ground points, or `None` with a word why not.
fn ground() -> Option<Cloud> {
    if Command::new("gdal_grid").arg("--version").output().is_err() {
        println!("skipped: no gdal_grid");
        return None;
    }
    if !Path::new(DATA).exists() {
        println!("skipped: no {DATA}");
        return None;
    }
    let filter = Filter { classes: Some(vec![2]), ..Filter::default() };
    let points =
        read_points(Path::new(DATA), &filter, &CsvColumns::default(), &gpu_core::Silent).unwrap();
    Some(Cloud { x: points.x, y: points.y, z: points.z, ..Cloud::default() })
}

/// What gdal_grid makes of the points, row by row from the north.
fn gdal_grid(folder: &Path, grid: &GridSpec, algorithm: &str) -> Vec<f64> {
    let out = folder.join("out.img");
    let b = grid.bounds();
    let text = |v: f64| format!("{v:.6}");
    let done = Command::new("gdal_grid")
        .args(["-q", "-of", "ENVI", "-ot", "Float64", "-a", algorithm])
        // Its vectorised versions work in f32 with approximate reciprocals.
        .args(["--config", "GDAL_USE_AVX", "NO", "--config", "GDAL_USE_SSE", "NO"])
        .args(["-txe", &text(b.min_x), &text(b.max_x), "-tye", &text(b.min_y), &text(b.max_y)])
        .args(["-outsize", &grid.width.to_string(), &grid.height.to_string()])
        .args([&folder.join("points.vrt"), &out])
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let bytes = std::fs::read(&out).unwrap();
    bytes.chunks_exact(8).map(|b| f64::from_ne_bytes(b.try_into().unwrap())).collect()
}

fn write_points(folder: &Path, cloud: &Cloud) {
    let mut csv = String::from("x,y,z\n");
    for i in 0..cloud.len() {
        csv += &format!("{},{},{}\n", cloud.x[i], cloud.y[i], cloud.z[i]);
    }
    std::fs::write(folder.join("points.csv"), csv).unwrap();
    let vrt = format!(
        "<OGRVRTDataSource><OGRVRTLayer name=\"points\"><SrcDataSource>{}</SrcDataSource>\
         <GeometryType>wkbPoint</GeometryType><GeometryField encoding=\"PointFromColumns\" x=\"x\" \
         y=\"y\" z=\"z\"/></OGRVRTLayer></OGRVRTDataSource>",
        folder.join("points.csv").display()
    );
    std::fs::write(folder.join("points.vrt"), vrt).unwrap();
}

#[test]
fn values_are_those_of_gdal_grid() {
    let Some(cloud) = ground() else { return };
    let folder = tempfile::tempdir().unwrap();
    write_points(folder.path(), &cloud);
    let bounds = gpu_core::Bounds::of(&cloud.x, &cloud.y).unwrap();
    let cell = (bounds.max_x - bounds.min_x) / f64::from(SIZE.0);
    let grid =
        GridSpec::new(bounds.min_x.floor(), bounds.max_y.ceil(), cell, SIZE.0, SIZE.1).unwrap();
    let base = Params::default().nodata(-1.0);
    let circle = |r: f64| base.radius1(r).radius2(r);
    let cases = [
        ("invdist:power=2:nodata=-1", base),
        ("invdist:power=1:nodata=-1", base.power(1.0)),
        ("invdist:power=3.5:smoothing=4:nodata=-1", base.power(3.5).smoothing(4.0)),
        ("invdist:radius1=30:radius2=30:nodata=-1:min_points=5", circle(30.0).min_points(5)),
        (
            "invdist:radius1=60:radius2=20:angle=25:nodata=-1",
            base.radius1(60.0).radius2(20.0).angle(25.0),
        ),
        ("invdistnn:power=2:radius=50:max_points=12:nodata=-1", circle(50.0).max_points(12)),
        (
            "invdistnn:power=3:smoothing=1:radius=8:max_points=7:min_points=3:nodata=-1",
            circle(8.0).power(3.0).smoothing(1.0).max_points(7).min_points(3),
        ),
        (
            "invdistnn:radius=40:max_points=10:max_points_per_quadrant=3:min_points_per_quadrant=1:nodata=-1",
            circle(40.0).max_points(10).max_points_per_quadrant(3).min_points_per_quadrant(1),
        ),
    ];
    for (algorithm, params) in cases {
        let wanted = gdal_grid(folder.path(), &grid, algorithm);
        let empty = wanted.iter().filter(|&&v| v == -1.0).count();
        assert!(empty < wanted.len() / 2, "{algorithm}: {empty} empty cells");
        for device in devices() {
            // All pairs take the software device long; the arithmetic is checked elsewhere.
            let found = cloud.with(|points| {
                interpolate::<f64>(&device, Input::new(points, grid), &params).unwrap()
            });
            for (i, (f, w)) in found.values[0].iter().zip(&wanted).enumerate() {
                let close = (f - w).abs() <= 1e-5 * w.abs();
                assert!(close, "{}, {algorithm}, cell {i}: {f}, gdal {w}", device.name());
            }
        }
    }
}
