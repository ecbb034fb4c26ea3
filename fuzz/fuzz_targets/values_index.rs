//! Indexes of any raster: searches beside a look at every cell.
#![no_main]

use arbitrary::Arbitrary;
use ccq_tree::{Condition, Params, Query, Window, build, count};
use gpu_core::{Device, Grid, GridSpec};
use libfuzzer_sys::fuzz_target;
use tessera_fuzz::Coordinate;

#[derive(Arbitrary, Debug)]
struct Case {
    width: u8,
    values: Vec<Coordinate>,
    nodata: Option<Coordinate>,
    bins: Vec<Coordinate>,
    range: [Coordinate; 2],
    window: Option<[u8; 4]>,
}

fuzz_target!(|case: Case| {
    let width = usize::from(case.width % 100) + 1;
    let height = case.values.len() / width;
    let values: Vec<f32> =
        case.values[..width * height].iter().map(|value| value.get() as f32).collect();
    let Ok(raster) = Grid::new(values, GridSpec::of_pixels(width as u32, height as u32)) else {
        return;
    };
    let nodata = case.nodata.map(Coordinate::get);
    let bins: Vec<f64> = case.bins.into_iter().map(Coordinate::get).collect();
    let params = Params::new().nodata(nodata).bins(bins);
    let Ok(tree) = build(&Device::Cpu, raster.view(), &params) else { return };
    let [low, high] = case.range.map(Coordinate::get);
    let condition = Condition::new(&tree).range(low, high).raster(raster.view());
    let mut query = Query::new();
    let mut window = Window { row0: 0, column0: 0, row1: height as u32, column1: width as u32 };
    if let Some([row0, column0, row1, column1]) = case.window.map(|sides| sides.map(u32::from)) {
        window = Window { row0, column0, row1, column1 };
        query = query.window(window);
    }
    let Ok(found) = count(&gpu_core::Device::Cpu, &[condition], &query) else { return };
    let is_missing =
        |value: f32| value.is_nan() || nodata.is_some_and(|nodata| f64::from(value) == nodata);
    let is_below = |value: f32| f64::from(value) < high || high == f64::INFINITY;
    let is_hit = |value: f32| !is_missing(value) && f64::from(value) >= low && is_below(value);
    let rows = window.row0..window.row1.min(height as u32);
    let hits = rows.flat_map(|row| {
        (window.column0..window.column1.min(width as u32)).map(move |column| (column, row))
    });
    let truth = hits
        .filter(|&(column, row)| raster.get(column, row).is_some_and(|&value| is_hit(value)))
        .count();
    assert_eq!(found.cells, truth as u64);
});
