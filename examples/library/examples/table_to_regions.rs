//! From a table of Arrow to regions of ground higher than 420 metres, as polygons and as a table. The page
//! docs/guide/types.md shows this program, and how polars, pyarrow or Parquet give the table.
//!
//! ```text
//! cargo run -p library --example table_to_regions
//! ```

use std::sync::Arc;

use ccq_tree::{Condition, Connectivity, Query};
use gpu_core::arrow_array::{ArrayRef, Float64Array, RecordBatch, UInt64Array};
use gpu_core::geo_types::MultiPolygon;
use gpu_core::{ArrayPoints, Bounds, Device, DeviceChoice, GridSpec};
use nni_grid::Input;

/// Finds the regions above a height: their polygons, and a row for each of its cells and its area.
fn regions_above(
    table: &RecordBatch,
    height: f32,
) -> library::Result<(Vec<MultiPolygon>, RecordBatch)> {
    let columns = ArrayPoints::from_batch(table, "x", "y", &["z"])?; // nothing is copied
    let points = columns.points();
    let bounds = Bounds::of(points.x, points.y).ok_or("the table has no rows")?;
    let grid = GridSpec::covering(bounds, 10.0)?;
    let device = Device::open(DeviceChoice::Auto)?;
    let dem = nni_grid::interpolate(&device, Input::new(points, grid), &nni_grid::Params::new())?;
    let tree = ccq_tree::build(&device, dem.values[0].view(), &ccq_tree::Params::new())?;
    let above = [Condition::new(&tree).range(height, f32::MAX)];
    let found = ccq_tree::regions(&device, &above, &Query::new(), Connectivity::Four)?;

    let cells: Vec<u64> = found.regions().iter().map(|region| region.cells).collect();
    let areas: Vec<f64> = cells.iter().map(|&cells| 100.0 * cells as f64).collect();
    let cells: ArrayRef = Arc::new(UInt64Array::from(cells)); // nor here
    let areas: ArrayRef = Arc::new(Float64Array::from(areas));
    let rows = RecordBatch::try_from_iter([("cells", cells), ("area", areas)])?;
    Ok((found.multi_polygons(&grid)?, rows))
}

/// A survey of two hills, 440 and 430 metres high.
fn survey() -> library::Result<RecordBatch> {
    let [x, y] = library::spread(4000, [1000.0, 500.0]);
    let hill = |x: f64, y: f64, at: f64| (-((x - at).powi(2) + (y - 250.0).powi(2)) / 2e4).exp();
    let height =
        |(&x, &y): (&f64, &f64)| 400.0 + 40.0 * hill(x, y, 250.0) + 30.0 * hill(x, y, 750.0);
    let z = x.iter().zip(&y).map(height).collect();
    let column = |values: Vec<f64>| Arc::new(Float64Array::from(values)) as ArrayRef;
    Ok(RecordBatch::try_from_iter([("x", column(x)), ("y", column(y)), ("z", column(z))])?)
}

fn main() -> library::Result<()> {
    let (polygons, rows) = regions_above(&survey()?, 420.0)?;
    for (polygon, row) in polygons.iter().zip(0..rows.num_rows()) {
        let first = polygon.0[0].exterior().0[0];
        println!(
            "region {row} begins at {} {}: {:?}",
            first.x,
            first.y,
            rows.slice(row, 1).columns()
        );
    }
    Ok(())
}

#[test]
fn the_regions_are_the_tops_of_the_hills() {
    let (polygons, rows) = regions_above(&survey().unwrap(), 420.0).unwrap();
    assert_eq!((polygons.len(), rows.num_rows()), (2, 2));
    let areas: &Float64Array = rows["area"].as_any().downcast_ref().unwrap();
    // A hill of height h is above 20 within a radius whose square is 2e4 ln(h / 20).
    let wanted = [40.0_f64, 30.0].map(|h| std::f64::consts::PI * 2e4 * (h / 20.0).ln());
    for (polygon, (&area, wanted)) in polygons.iter().zip(areas.values().iter().zip(wanted)) {
        assert!((area - wanted).abs() < 0.05 * wanted, "{area} {wanted}");
        let ring = polygon.0[0].exterior();
        let of_ring: f64 = ring.lines().map(|line| 0.5 * line.determinant()).sum();
        assert_eq!(of_ring, area);
    }
    let empty = survey().unwrap().slice(0, 0);
    assert_eq!(regions_above(&empty, 1.0).unwrap_err().to_string(), "the table has no rows");
}
