//! Slope, shade and contour lines of any heights.
#![no_main]

use arbitrary::Arbitrary;
use gpu_core::{Device, Grid, GridSpec};
use libfuzzer_sys::fuzz_target;
use terrain_grid::{ContourParams, HillshadeParams, Levels, SlopeParams, contours, hillshade, slope};
use tessera_fuzz::Coordinate;

#[derive(Arbitrary, Debug)]
struct Case {
    width: u8,
    heights: Vec<Coordinate>,
    cell_size: Coordinate,
    levels: Vec<Coordinate>,
}

fuzz_target!(|case: Case| {
    let width = usize::from(case.width % 40) + 1;
    let height = case.heights.len() / width;
    let values: Vec<f32> = case.heights[..width * height].iter().map(|value| value.get() as f32).collect();
    let Ok(grid) = GridSpec::new(0.0, 0.0, case.cell_size.get(), width as u32, height as u32) else { return };
    let Ok(dem) = Grid::new(values, grid) else { return };
    if let Ok(slopes) = slope(&Device::Cpu, dem.view(), &SlopeParams::new()) {
        assert!(slopes.values().iter().all(|slope| slope.is_nan() || (0.0..=90.0).contains(slope)));
    }
    if let Ok(shades) = hillshade(&Device::Cpu, dem.view(), &HillshadeParams::new()) {
        assert!(shades.values().iter().all(|shade| shade.is_nan() || (0.0..=1.0).contains(shade)));
    }
    let levels = Levels::At(case.levels.into_iter().map(Coordinate::get).collect());
    let _ = contours(&Device::Cpu, dem.view(), &ContourParams::new(levels));
});
