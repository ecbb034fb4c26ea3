//! All products and contour lines of any heights.
#![no_main]

use arbitrary::Arbitrary;
use gpu_core::{Device, Grid, GridSpec};
use libfuzzer_sys::fuzz_target;
use terrain_grid::{
    Angle, Aspect, ContourParams, Curvature, Edges, Gradient, Ground, Levels, Light, Product,
    ProductParams, Ruggedness, Shading, SlopeUnit, contours, product,
};
use tessera_fuzz::Coordinate;

#[derive(Arbitrary, Debug)]
struct Case {
    width: u8,
    heights: Vec<Coordinate>,
    cell_size: Coordinate,
    levels: Vec<Coordinate>,
    is_level: bool,
    is_horn: bool,
    is_geographic: bool,
    altitude: Coordinate,
}

fuzz_target!(|case: Case| {
    let width = usize::from(case.width % 40) + 1;
    let height = case.heights.len() / width;
    let values: Vec<f32> =
        case.heights[..width * height].iter().map(|value| value.get() as f32).collect();
    let Ok(grid) = GridSpec::new(0.0, 0.0, case.cell_size.get(), width as u32, height as u32)
    else {
        return;
    };
    let Ok(dem) = Grid::new(values, grid) else { return };
    let edges = if case.is_level { Edges::Level } else { Edges::Nodata };
    let gradient = if case.is_horn { Gradient::Horn } else { Gradient::ZevenbergenThorne };
    let ground = if case.is_geographic { Ground::degrees_of(&grid) } else { Ground::Square };
    let light =
        |shading| Product::Hillshade(Light::new().altitude(case.altitude.get()).shading(shading));
    let (any, of_heights) = (f32::NEG_INFINITY..=f32::INFINITY, 0.0..=f32::INFINITY);
    for (made, range) in [
        (Product::Slope(SlopeUnit::Degrees), 0.0..=90.0),
        (Product::Slope(SlopeUnit::Percent), of_heights.clone()),
        (Product::Aspect(Aspect::new()), 0.0..=359.999_97),
        (Product::Aspect(Aspect::new().angle(Angle::Trigonometric)), 0.0..=359.999_97),
        (light(Shading::Lambert), 0.0..=1.0),
        (light(Shading::Multidirectional), 0.0..=1.0),
        (Product::Curvature(Curvature::Plan), any.clone()),
        (Product::Curvature(Curvature::Profile), any.clone()),
        (Product::Ruggedness(Ruggedness::Riley), of_heights.clone()),
        (Product::Ruggedness(Ruggedness::Wilson), of_heights.clone()),
        (Product::Position, any),
        (Product::Roughness, of_heights),
    ] {
        let params = ProductParams::new(made).edges(edges).gradient(gradient).ground(ground);
        if let Ok(found) = product(&Device::Cpu, dem.view(), &params) {
            assert!(
                found.values().iter().all(|value| value.is_nan() || range.contains(value)),
                "{made:?}"
            );
        }
    }
    let levels = Levels::At(case.levels.into_iter().map(Coordinate::get).collect());
    let _ = contours(&Device::Cpu, dem.view(), &ContourParams::new(levels));
});
