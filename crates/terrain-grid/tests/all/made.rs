//! Products on all devices, and lists of them.

use gpu_core::{GridSpec, GridView};
use terrain_grid::{
    Angle, Aspect, Curvature, Gradient, Ground, Light, Product, ProductParams, Ruggedness, Shading,
    SlopeUnit, product,
};
use testing::{bits, devices};

/// A product, which has the same bits on all devices.
pub fn made(dem: &[f32], grid: &GridSpec, params: &ProductParams) -> Vec<f32> {
    let of = |device| product(&device, view(dem, grid), params).unwrap().into_values();
    let mut all = devices().into_iter().map(of);
    let first = all.next().unwrap();
    all.for_each(|other| assert_eq!(bits(&other), bits(&first), "{params:?}"));
    first
}

pub fn view<'a>(dem: &'a [f32], grid: &GridSpec) -> GridView<'a, f32> {
    GridView::new(dem, *grid).unwrap()
}

/// The slope in degrees.
pub fn slope() -> ProductParams {
    ProductParams::new(Product::Slope(SlopeUnit::Degrees))
}

/// The brightness under a light.
pub fn shade(light: Light) -> ProductParams {
    ProductParams::new(Product::Hillshade(light))
}

/// Every product, by both gradients, on squares, on rectangles and in degrees.
pub fn every_product(grid: &GridSpec) -> impl Iterator<Item = ProductParams> {
    let light = Light::new().azimuth(200.0).altitude(30.0);
    let products = vec![
        Product::Slope(SlopeUnit::Degrees),
        Product::Slope(SlopeUnit::Percent),
        Product::Aspect(Aspect::new()),
        Product::Aspect(Aspect::new().angle(Angle::Trigonometric).flat(0.0)),
        Product::Hillshade(light),
        Product::Hillshade(light.shading(Shading::Multidirectional)),
        Product::Hillshade(light.shading(Shading::Combined)),
        Product::Hillshade(light.shading(Shading::Igor)),
        Product::Curvature(Curvature::Plan),
        Product::Curvature(Curvature::Profile),
        Product::Ruggedness(Ruggedness::Riley),
        Product::Ruggedness(Ruggedness::Wilson),
        Product::Position,
        Product::Roughness,
    ];
    let grounds = [
        Ground::Square,
        Ground::Rectangle { width: 3.0, height: 2.0 },
        Ground::degrees_of(&GridSpec { origin_y: 62.0, cell_size: 0.001, ..*grid }),
    ];
    let of_gradient = |product: &Product| {
        matches!(product, Product::Slope(_) | Product::Aspect(_) | Product::Hillshade(_))
    };
    products.into_iter().flat_map(move |product| {
        let gradients = match of_gradient(&product) {
            true => &[Gradient::Horn, Gradient::ZevenbergenThorne][..],
            false => &[Gradient::Horn],
        };
        gradients.iter().flat_map(move |&gradient| {
            let params = ProductParams::new(product).gradient(gradient).z_factor(1.5);
            grounds.map(|ground| params.ground(ground))
        })
    })
}

/// A plane with these rises to the east and to the south, per unit of ground.
pub fn plane(grid: &GridSpec, east: f64, south: f64) -> Vec<f32> {
    let cell = |i: u64| {
        let (x, y) = (i % u64::from(grid.width), i / u64::from(grid.width));
        ((x as f64 * east + y as f64 * south) * grid.cell_size) as f32
    };
    (0..grid.cells()).map(cell).collect()
}
