//! Products of surfaces that have a formula, and of any surface by the formulas of the papers in f64.

use gpu_core::GridSpec;
use terrain_grid::{
    Angle, Aspect, Curvature, Gradient, Ground, Light, Product, ProductParams, Ruggedness, Shading,
    SlopeUnit, metres_of_degree,
};
use testing::Random;

use crate::made::{made, plane, shade, slope};

fn grid(width: u32, height: u32) -> GridSpec {
    GridSpec::new(100.0, 50.0, 2.0, width, height).unwrap()
}

/// The heights of a function of the place on the ground, x to the east and y to the north, from the middle cell.
fn surface(grid: &GridSpec, [width, height]: [f64; 2], z: impl Fn(f64, f64) -> f64) -> Vec<f32> {
    let (columns, rows) = (grid.width as usize, grid.height as usize);
    let at = |i: usize| {
        let (column, row) = ((i % columns) as f64, (i / columns) as f64);
        let (x, y) = (column - (columns / 2) as f64, (rows / 2) as f64 - row);
        z(x * width, y * height) as f32
    };
    (0..columns * rows).map(at).collect()
}

#[test]
fn planes_face_where_they_fall() {
    let grid = grid(5, 5);
    for (east, south, azimuth) in [
        (0.0, 1.0, 0.0),
        (-1.0, 1.0, 45.0),
        (-2.0, 0.0, 90.0),
        (-1.0, -1.0, 135.0),
        (0.0, -0.25, 180.0),
        (1.0, -1.0, 225.0),
        (0.5, 0.0, 270.0),
        (3.0, 3.0, 315.0),
        (0.3, 0.1, 360.0 - f64::atan2(0.3, 0.1).to_degrees()),
    ] {
        let dem = plane(&grid, east, south);
        for gradient in [Gradient::Horn, Gradient::ZevenbergenThorne] {
            let aspect = |how| {
                let params = ProductParams::new(Product::Aspect(how)).gradient(gradient);
                f64::from(made(&dem, &grid, &params)[12])
            };
            let found = aspect(Aspect::new());
            assert!((found - azimuth).abs() < 3e-5, "{east}, {south}: {found}, not {azimuth}");
            let found = aspect(Aspect::new().angle(Angle::Trigonometric));
            let expected = (450.0 - azimuth) % 360.0;
            assert!((found - expected).abs() < 3e-5, "{east}, {south}: {found}, not {expected}");
        }
    }
    let level = plane(&grid, 0.0, 0.0);
    let aspect = |how| made(&level, &grid, &ProductParams::new(Product::Aspect(how)))[12];
    assert!(aspect(Aspect::new()).is_nan());
    assert_eq!(aspect(Aspect::new().flat(0.0)), 0.0);
    assert_eq!(aspect(Aspect::new().flat(-1.0).angle(Angle::Trigonometric)), -1.0);
}

/// Paraboloids, saddles and cylinders, whose polynomial is themselves: curvatures by the derivatives of the function.
#[test]
fn quadratic_surfaces_have_their_curvatures() {
    let grid = grid(7, 7);
    for sides in [[2.0, 2.0], [3.0, 1.25]] {
        for [a, b, c, d, e] in [
            // z = a x^2 + b y^2 + c x y + d x + e y
            [0.5, 0.5, 0.0, 1.0, 0.0],
            [-0.25, -0.25, 0.0, 0.0, 1.0],
            [1.0, -1.0, 0.0, 0.5, 0.5],
            [0.0, 0.0, 2.0, 1.0, -3.0],
            [0.1, 0.0, 0.0, 0.0, 2.0],
            [0.3, -0.7, 0.4, -1.5, 0.25],
            [0.0, 0.0, 0.0, 2.0, 1.0],
        ] {
            let dem = surface(&grid, sides, |x, y| {
                a * x * x + b * y * y + c * x * y + d * x + e * y + 1000.0
            });
            let (p, q, r, s, t) = (d, e, 2.0 * a, c, 2.0 * b);
            let along = (r * p * p + 2.0 * s * p * q + t * q * q) / (p * p + q * q);
            let across = (r * q * q - 2.0 * s * p * q + t * p * p) / (p * p + q * q);
            let ground = Ground::Rectangle { width: sides[0], height: sides[1] };
            let of = |curvature| {
                let params = ProductParams::new(Product::Curvature(curvature)).ground(ground);
                f64::from(made(&dem, &grid, &params)[24])
            };
            let (plan, profile) = (of(Curvature::Plan), of(Curvature::Profile));
            // Heights of f32 near 1000 are good to 3e-5.
            assert!((plan - across).abs() < 2e-4, "plan {plan}, not {across}");
            assert!((profile + along).abs() < 2e-4, "profile {profile}, not {}", -along);
        }
    }
    // The signs, in words: a round hill is convex along and across its slopes.
    let hill = surface(&grid, [2.0; 2], |x, y| 50.0 - (x - 4.0).powi(2) - y * y);
    let of = |curvature| made(&hill, &grid, &ProductParams::new(Product::Curvature(curvature)))[24];
    assert!(of(Curvature::Plan) < -1.9 && of(Curvature::Profile) > 1.9);
    let top = surface(&grid, [2.0; 2], |x, y| -x * x - y * y);
    let of = |curvature| made(&top, &grid, &ProductParams::new(Product::Curvature(curvature)))[24];
    assert_eq!([of(Curvature::Plan), of(Curvature::Profile)], [0.0, 0.0]);
}

#[test]
fn uneven_ground_is_measured() {
    let grid = grid(3, 3);
    let dem = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0];
    let of = |product| f64::from(made(&dem, &grid, &ProductParams::new(product))[4]);
    let squares = 4.0 + 16.0 + 1.0 + 16.0 + 16.0 + 9.0 + 1.0 + 0.0_f64;
    assert!((of(Product::Ruggedness(Ruggedness::Riley)) - squares.sqrt()).abs() < 1e-6);
    assert_eq!(of(Product::Ruggedness(Ruggedness::Wilson)), 19.0 / 8.0);
    assert_eq!(of(Product::Position), 5.0 - 31.0 / 8.0);
    assert_eq!(of(Product::Roughness), 8.0);
    // In the heights' unit, whatever the ground and the factor.
    let other = |product| {
        let ground = Ground::Rectangle { width: 7.0, height: 0.1 };
        f64::from(made(&dem, &grid, &ProductParams::new(product).z_factor(9.0).ground(ground))[4])
    };
    assert_eq!(other(Product::Position), of(Product::Position));
    // Zeros of either sign are level.
    let zeros = [0.0, -0.0, 0.0, -0.0, 0.0, 0.0, -0.0, -0.0, 0.0];
    for product in [Product::Roughness, Product::Position, Product::Ruggedness(Ruggedness::Wilson)]
    {
        assert_eq!(made(&zeros, &grid, &ProductParams::new(product))[4].to_bits(), 0);
    }
}

/// The first derivatives of a neighbourhood to the east and to the north, as the papers have them.
fn derivatives(n: &[f64; 9], gradient: Gradient, [width, height]: [f64; 2]) -> [f64; 2] {
    let [a, b, c, d, _, f, g, h, i] = *n;
    match gradient {
        Gradient::Horn => [
            ((c + 2.0 * f + i) - (a + 2.0 * d + g)) / (8.0 * width),
            ((a + 2.0 * b + c) - (g + 2.0 * h + i)) / (8.0 * height),
        ],
        Gradient::ZevenbergenThorne => [(f - d) / (2.0 * width), (b - h) / (2.0 * height)],
    }
}

/// A product by the papers' formulas, and the tolerance of its test.
fn expected(product: Product, n: &[f64; 9], [p, q]: [f64; 2]) -> (f64, f64) {
    let steepness = p.hypot(q);
    // The cosine between the surface's normal and the way to a light.
    let lambert = |light: &Light, azimuth: f64| {
        let (azimuth, altitude) = (azimuth.to_radians(), light.altitude.to_radians());
        let way = [azimuth.sin() * altitude.cos(), azimuth.cos() * altitude.cos(), altitude.sin()];
        let normal = [-p, -q, 1.0].map(|part| part / (1.0 + p * p + q * q).sqrt());
        (0..3).map(|k| way[k] * normal[k]).sum::<f64>().max(0.0)
    };
    match product {
        Product::Slope(SlopeUnit::Degrees) => (steepness.atan().to_degrees(), 1e-4),
        Product::Slope(SlopeUnit::Percent) => (100.0 * steepness, 1e-5 * (1.0 + 100.0 * steepness)),
        Product::Aspect(_) => (f64::atan2(-p, -q).to_degrees().rem_euclid(360.0), 1e-3),
        Product::Hillshade(light) if light.shading == Shading::Lambert => {
            (lambert(&light, light.azimuth), 3e-6)
        }
        Product::Hillshade(light) if light.shading == Shading::Combined => {
            let (azimuth, altitude) = (light.azimuth.to_radians(), light.altitude.to_radians());
            let way =
                [azimuth.sin() * altitude.cos(), azimuth.cos() * altitude.cos(), altitude.sin()];
            let towards = (way[2] - p * way[0] - q * way[1]) / (1.0 + steepness * steepness).sqrt();
            let lost = towards.acos().to_degrees() / 90.0 * (steepness.atan().to_degrees() / 90.0);
            ((1.0 - lost).max(0.0), 3e-6)
        }
        Product::Hillshade(light) if light.shading == Shading::Igor => {
            let away = (f64::atan2(-p, -q).to_degrees() - light.azimuth - 180.0).rem_euclid(360.0);
            let share = 1.0 - away.min(360.0 - away) / 180.0;
            (1.0 - steepness.atan().to_degrees() / 90.0 * share, 3e-6)
        }
        Product::Hillshade(light) => {
            // Mark's four lights, each weighted with the squared cosine between it and the gradient.
            let weight = |azimuth: f64| {
                let azimuth = azimuth.to_radians();
                ((p * azimuth.sin() + q * azimuth.cos()) / steepness).powi(2)
            };
            let lights = [225.0, 270.0, 315.0, 360.0];
            let sum: f64 = lights.iter().map(|&a| weight(a) * lambert(&light, a)).sum();
            (0.5 * sum, 3e-6)
        }
        Product::Ruggedness(Ruggedness::Riley) => {
            (n.iter().map(|z| (z - n[4]).powi(2)).sum::<f64>().sqrt(), 1e-4)
        }
        Product::Ruggedness(Ruggedness::Wilson) => {
            (n.iter().map(|z| (z - n[4]).abs()).sum::<f64>() / 8.0, 1e-4)
        }
        Product::Position => (n[4] - (n.iter().sum::<f64>() - n[4]) / 8.0, 1e-4),
        Product::Roughness => {
            let ends = n.iter().fold((n[4], n[4]), |(low, high), &z| (low.min(z), high.max(z)));
            (ends.1 - ends.0, 1e-4)
        }
        _ => unreachable!("{product:?} has a test of its own"),
    }
}

#[test]
fn any_surface_has_what_the_papers_say() {
    let grid = grid(23, 19);
    let mut random = Random::new(5);
    let dem: Vec<f32> = (0..grid.cells()).map(|_| random.between(700.0, 712.0) as f32).collect();
    let light = Light::new().azimuth(250.0).altitude(35.0);
    for (ground, sides) in
        [(Ground::Square, [2.0, 2.0]), (Ground::Rectangle { width: 4.0, height: 2.5 }, [4.0, 2.5])]
    {
        for product in [
            Product::Slope(SlopeUnit::Degrees),
            Product::Slope(SlopeUnit::Percent),
            Product::Aspect(Aspect::new()),
            Product::Hillshade(light),
            Product::Hillshade(light.shading(Shading::Multidirectional)),
            Product::Hillshade(light.shading(Shading::Combined)),
            Product::Hillshade(light.shading(Shading::Igor)),
            Product::Ruggedness(Ruggedness::Riley),
            Product::Ruggedness(Ruggedness::Wilson),
            Product::Position,
            Product::Roughness,
        ] {
            for gradient in [Gradient::Horn, Gradient::ZevenbergenThorne] {
                let params = ProductParams::new(product).gradient(gradient).ground(ground);
                let found = made(&dem, &grid, &params);
                for row in 1..18 {
                    for column in 1..22 {
                        let n = std::array::from_fn(|i| {
                            dem[(row + i / 3 - 1) * 23 + column + i % 3 - 1].into()
                        });
                        let (expected, most) =
                            expected(product, &n, derivatives(&n, gradient, sides));
                        let found = f64::from(found[row * 23 + column]);
                        assert!(
                            (found - expected).abs() <= most,
                            "{params:?} at {column}, {row}: {found}, not {expected}"
                        );
                    }
                }
            }
        }
    }
}

/// Heights near the end of f32, as an undeclared NODATA is, factors too, and both so that slopes are ordinary.
#[test]
fn light_and_aspect_are_right_beside_heights_near_the_end_of_f32() {
    let grid = grid(3, 3);
    let light = Light::new().azimuth(135.0).altitude(35.0);
    let shadings = [Shading::Lambert, Shading::Multidirectional, Shading::Combined, Shading::Igor];
    let mut products = vec![Product::Aspect(Aspect::new().flat(-1.0))];
    products.extend(shadings.map(|shading| Product::Hillshade(light.shading(shading))));
    for high in [1e9_f32, 3e13, 2e19, 1e30, 3.4e38] {
        for far in [[0, 3, 6], [2, 5, 8], [6, 7, 8], [2, 5, 7], [3, 0, 0]] {
            for factor in [1.0, 1e18, f64::from(high).recip().max(1e-16), 1e-10] {
                for high in [high, -high] {
                    let mut n = [100.0_f32, 101.0, 99.5, 98.0, 100.0, 102.0, 97.0, 100.5, 103.0];
                    far.into_iter().for_each(|cell| n[cell] = high);
                    check_extreme(&n, &grid, &products, factor);
                }
            }
        }
    }
}

/// Compares products of gradients with their formulas in f64, for one neighbourhood.
fn check_extreme(n: &[f32; 9], grid: &GridSpec, products: &[Product], factor: f64) {
    for gradient in [Gradient::Horn, Gradient::ZevenbergenThorne] {
        for sides in [[2.0, 2.0], [4.0, 2.5]] {
            let [width, height] = sides;
            let rises = derivatives(&n.map(f64::from), gradient, sides).map(|rise| rise * factor);
            for &product in products {
                let params = ProductParams::new(product).gradient(gradient).z_factor(factor);
                let found = made(n, grid, &params.ground(Ground::Rectangle { width, height }));
                let (expected, most) = expected(product, &n.map(f64::from), rises);
                let found = f64::from(found[4]);
                // Azimuths of 0 and 359.9999 are beside each other.
                let difference = (found - expected).abs();
                assert!(
                    difference.min((360.0 - difference).abs()) <= most,
                    "{params:?} of {n:?}: {found}, not {expected}"
                );
            }
        }
    }
}

/// Planes of known rises to the east and to the north, far from the equator.
#[test]
fn planes_in_degrees_are_those_on_the_ground() {
    let grid = GridSpec::new(20.0, 65.01, 0.001, 30, 20).unwrap();
    let ground = Ground::degrees_of(&grid);
    for (east, north) in [(0.3, 0.0), (0.0, -0.5), (0.4, 0.7), (-1.0, 0.2)] {
        // Rises for each metre, along the metres of the middle row.
        let (across, along) = metres_of_degree(65.0);
        let height = |cell: u32| {
            let (x, y) = grid.cell_centre(cell % 30, cell / 30);
            (east * (x - 20.0) * across + north * (y - 65.0) * along) as f32
        };
        let dem: Vec<f32> = (0..600).map(height).collect();
        let middle = 10 * 30 + 15;
        let of =
            |params: ProductParams| f64::from(made(&dem, &grid, &params.ground(ground))[middle]);
        let rise = f64::hypot(east, north);
        let found = of(slope());
        assert!((found - rise.atan().to_degrees()).abs() < 0.02, "{found}");
        // Feet of height over metres of ground.
        let found = of(slope().z_factor(0.3048));
        assert!((found - (0.3048 * rise).atan().to_degrees()).abs() < 0.02, "{found}");
        let found = of(ProductParams::new(Product::Aspect(Aspect::new())));
        let expected = f64::atan2(-east, -north).to_degrees().rem_euclid(360.0);
        assert!((found - expected).abs() < 0.05, "{found}, not {expected}");
        let found = of(shade(Light::new().azimuth(30.0).altitude(50.0)));
        let (azimuth, altitude) = (30f64.to_radians(), 50f64.to_radians());
        let towards =
            altitude.sin() - altitude.cos() * (azimuth.sin() * east + azimuth.cos() * north);
        let expected = (towards / (1.0 + rise * rise).sqrt()).clamp(0.0, 1.0);
        assert!((found - expected).abs() < 1e-3, "{found}, not {expected}");
    }
}

/// Rows of a larger raster have its bits, in degrees too.
#[test]
fn parts_have_the_bits_of_the_whole() {
    let mut random = Random::new(8);
    let whole = GridSpec::new(9.0, 47.3, 0.01, 17, 90).unwrap();
    let dem: Vec<f32> = (0..whole.cells()).map(|_| random.between(0.0, 900.0) as f32).collect();
    let light = shade(Light::new());
    let of_rows = |first: u32, rows: u32| {
        let part = GridSpec { height: rows, ..whole };
        let ground = Ground::Degrees { north: 47.3, width: 0.01, height: 0.01, first_row: first };
        let cells = first as usize * 17..(first + rows) as usize * 17;
        made(&dem[cells], &part, &light.ground(ground))
    };
    let all = of_rows(0, 90);
    for (first, rows) in [(0, 3), (7, 20), (41, 49)] {
        let part = of_rows(first, rows);
        let cells = (first as usize + 1) * 17..(first + rows - 1) as usize * 17;
        let inner = &part[17..(rows as usize - 1) * 17];
        assert_eq!(testing::bits(inner), testing::bits(&all[cells]), "rows from {first}");
    }
}
