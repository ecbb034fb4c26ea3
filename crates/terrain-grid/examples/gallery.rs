//! Draws the picture of docs/guide/terrain-grid.md: products of one DEM beside each other.
//!
//! `cargo run --release --package terrain-grid --example gallery -- DEM.tif OUT.png`

use std::path::Path;

use gpu_core::{Device, GridSpec, GridView};
use terrain_grid::{
    Aspect, Curvature, Edges, Light, Product, ProductParams, Ruggedness, Shading, SlopeUnit,
    product,
};

/// Pictures beside each other.
const COLUMNS: usize = 4;
/// Pixels between two of them.
const GAP: usize = 6;

/// What a value looks like, between the ends of a range: black to white, blue over white to red, or round the circle of colours.
#[derive(Clone, Copy)]
enum Colours {
    Grey,
    Diverging,
    Circle,
}

impl Colours {
    /// The colour of a place between 0 and 1.
    fn of(self, place: f32) -> [u8; 4] {
        let byte = |share: f32| (255.0 * share.clamp(0.0, 1.0)).round() as u8;
        match self {
            Self::Grey => [byte(place), byte(place), byte(place), 255],
            Self::Diverging => {
                let (low, high) = ((2.0 * place).min(1.0), (2.0 - 2.0 * place).min(1.0));
                [byte(low), byte(low.min(high)), byte(high), 255]
            }
            Self::Circle => {
                let part =
                    |turn: f32| byte(0.5 + 0.5 * (std::f32::consts::TAU * (place - turn)).cos());
                [part(0.0), part(1.0 / 3.0), part(2.0 / 3.0), 255]
            }
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args_os().skip(1);
    let (Some(dem), Some(out)) = (words.next(), words.next()) else {
        return Err("give a DEM and the name of a picture".into());
    };
    let raster = geo_io::read_raster(Path::new(&dem), None)?;
    let (width, height) = (raster.width, raster.height);
    let heights: Vec<f32> =
        raster.values.to_floats(raster.nodata).into_iter().map(|height| height as f32).collect();
    let sides = raster.georeference.and_then(|place| place.pixel_sides()).unwrap_or((1.0, 1.0));
    let grid = GridSpec::new(0.0, 0.0, sides.0, width as u32, height as u32)?;
    let several = Light::new().shading(Shading::Multidirectional);
    // Each with its colours and the ends of their range.
    let pictures = [
        (Product::Hillshade(Light::new()), Colours::Grey, [0.0, 1.0]),
        (Product::Hillshade(several), Colours::Grey, [0.0, 1.0]),
        (Product::Slope(SlopeUnit::Degrees), Colours::Grey, [60.0, 0.0]),
        (Product::Aspect(Aspect::new()), Colours::Circle, [0.0, 360.0]),
        (Product::Curvature(Curvature::Plan), Colours::Diverging, [0.3, -0.3]),
        (Product::Curvature(Curvature::Profile), Colours::Diverging, [-0.3, 0.3]),
        (Product::Ruggedness(Ruggedness::Riley), Colours::Grey, [4.0, 0.0]),
        (Product::Position, Colours::Diverging, [-0.5, 0.5]),
    ];
    let rows = pictures.len().div_ceil(COLUMNS);
    let size = |count: usize, side: usize| count * (side + GAP) - GAP;
    let (across, down) = (size(COLUMNS, width), size(rows, height));
    let mut pixels = vec![[255; 4]; across * down];
    for (i, (made, colours, [low, high])) in pictures.into_iter().enumerate() {
        let params = ProductParams::new(made).edges(Edges::Level);
        let values = product(&Device::Cpu, GridView::new(&heights, grid)?, &params)?;
        let (left, top) = (i % COLUMNS * (width + GAP), i / COLUMNS * (height + GAP));
        for (row, line) in values.values().chunks_exact(width).enumerate() {
            let start = (top + row) * across + left;
            for (pixel, value) in pixels[start..start + width].iter_mut().zip(line) {
                if !value.is_nan() {
                    *pixel = colours.of((value - low) / (high - low));
                }
            }
        }
    }
    geo_io::write_colours(Path::new(&out), &pixels, across as u32, down as u32)?;
    Ok(())
}
