//! Every input and output of a transform against its definition, on the CPU and on the process's GPU,
//! by every method.

use gpu_core::{Device, Grid, GridSpec};
use pba_voronoi::{Baseline, Diagram, Error, Input, Integers, Method, Params, Sites, transform};
use testing::{Random, devices, is_slow};

/// A whole number below `end`, or 0.
fn below(random: &mut Random, end: u32) -> u32 {
    random.below(u64::from(end.max(1))) as u32
}

/// A mask of a density between 1 and 10^-`decades`.
fn sparse_mask(random: &mut Random, width: u32, height: u32, decades: f64) -> Vec<u8> {
    let density = 10f64.powf(-decades * random.unit());
    dense_mask(random, width, height, density)
}

/// A mask of a density.
fn dense_mask(random: &mut Random, width: u32, height: u32, density: f64) -> Vec<u8> {
    (0..width as usize * height as usize).map(|_| u8::from(random.unit() < density)).collect()
}

/// Sites in a raster that lies nowhere.
fn of_pixels(sites: Sites, width: u32, height: u32) -> Input {
    Input::new(sites, GridSpec::of_pixels(width, height))
}

/// A mask as an input.
fn of_mask(mask: &[u8], width: u32, height: u32) -> Input<'_> {
    of_pixels(Sites::Mask(mask), width, height)
}

fn run(params: &Params, device: &Device, input: &Input) -> Diagram {
    transform(device, input, params).unwrap()
}

/// An output's values.
fn values<T>(raster: &Option<Grid<T>>) -> &[T] {
    raster.as_ref().unwrap().values()
}

/// The nearest site of every pixel and its squared distance `a dx^2 + b dy^2`, by looking at all; none
/// beyond `limit`.
fn brute_force(mask: &[u8], width: u32, (a, b): (u64, u64), limit: u64) -> Vec<Option<(u64, u64)>> {
    let position = |p: usize| (p as i64 % i64::from(width), p as i64 / i64::from(width));
    let sites: Vec<usize> = (0..mask.len()).filter(|&p| mask[p] != 0).collect();
    (0..mask.len())
        .map(|p| {
            let (x, y) = position(p);
            let cost = |&site: &usize| {
                let (sx, sy) = position(site);
                (a * (x - sx).pow(2) as u64 + b * (y - sy).pow(2) as u64, site as u64)
            };
            sites.iter().map(cost).min().filter(|&(cost, _)| cost <= limit)
        })
        .collect()
}

fn get(numbers: &Option<Integers>, p: usize) -> Option<u64> {
    numbers.as_ref().unwrap().get(p)
}

/// Compares what names sites and squares with the definition.
fn check(diagram: &Diagram, expected: &[Option<(u64, u64)>], what: &str) {
    assert_eq!(diagram.nearest.as_ref().unwrap().len(), expected.len(), "{what}");
    for (p, site) in expected.iter().enumerate() {
        let found = get(&diagram.squared_distance, p).zip(get(&diagram.nearest, p));
        assert_eq!(
            &found, site,
            "{what}: {} x {}, pixel {p}",
            diagram.grid.width, diagram.grid.height
        );
    }
}

fn both() -> Params {
    Params::new().nearest().squared_distance()
}

#[test]
fn random_rasters_by_every_method() {
    let mut random = Random::new(1);
    let cases = if is_slow() { 150 } else { 20_000 };
    for case in 0..cases {
        let (width, height) = (1 + below(&mut random, 70), 1 + below(&mut random, 70));
        let density = 10f64.powf(-4.0 * random.unit());
        let mask = dense_mask(&mut random, width, height, density);
        let expected = brute_force(&mask, width, (1, 1), u64::MAX);
        let input = of_mask(&mask, width, height);
        for device in devices() {
            for method in [Method::Auto, Method::Baseline(Baseline::ScanPrune)] {
                // A block a row and one a column: the software device takes its time.
                if is_slow() && method == Method::Baseline(Baseline::ScanPrune) && case % 5 > 0 {
                    continue;
                }
                let diagram = run(&both().method(method), &device, &input);
                let what = format!("case {case}, {method:?}, {}", device.name());
                check(&diagram, &expected, &what);
            }
        }
    }
}

#[test]
fn many_random_rasters_on_the_cpu() {
    let mut random = Random::new(2);
    for case in 0..20_000 {
        let (width, height) = (1 + below(&mut random, 40), 1 + below(&mut random, 40));
        let mask = sparse_mask(&mut random, width, height, 3.5);
        let input = of_mask(&mask, width, height);
        let run = |method| run(&both().method(method), &Device::Cpu, &input);
        let diagram = run(Method::Monotone);
        assert_eq!(diagram, run(Method::Baseline(Baseline::ScanPrune)), "case {case}");
        if case % 4 == 0 {
            check(&diagram, &brute_force(&mask, width, (1, 1), u64::MAX), &format!("case {case}"));
        }
    }
}

/// Large enough for the levels of the search, and too far for packed numbers: against ScanPrune.
#[test]
fn large_and_far() {
    let sizes: &[(u32, u32)] = if is_slow() {
        &[(40, 5000), (3000, 40), (70, 600)]
    } else {
        &[
            (40, 5000),
            (3000, 3000),
            (5000, 4500),
            (50, 70_000),
            (65_536, 90),
            (65_535, 90),
            (60_001, 70),
        ]
    };
    let mut random = Random::new(3);
    for &(width, height) in sizes {
        let pixels = f64::from(width) * f64::from(height);
        for sites in [1.0, 3.0, 40.0, pixels / 1000.0, pixels / 20.0] {
            let mut mask = dense_mask(&mut random, width, height, sites / pixels);
            if sites < 2.0 {
                mask.fill(0);
                mask[below(&mut random, pixels as u32) as usize] = 1;
            }
            let input = of_mask(&mask, width, height);
            let reference = both().method(Method::Baseline(Baseline::ScanPrune));
            let expected = run(&reference, &Device::Cpu, &input);
            for device in devices() {
                let found = run(&both(), &device, &input);
                assert!(found == expected, "{width} x {height}, {sites} sites, {}", device.name());
            }
        }
    }
}

/// Pixels far from a rough coast, broken by bays. In places the coast is the only land. Columns of tiles are divided
/// between two winners where that settles them and where it does not, both within and beyond the range of keys of 32
/// bits.
#[test]
fn far_from_a_rough_coast() {
    let sizes: &[(u32, u32)] = if is_slow() {
        &[(290, 700), (40, 1500), (2300, 45)]
    } else {
        &[(290, 700), (40, 5000), (2600, 1300), (5000, 3000), (3000, 9000)]
    };
    let mut random = Random::new(10);
    for &(width, height) in sizes {
        for (depth, bay) in [(5, 1), (30, 1), (30, 150), (60, 400)] {
            let mut mask = vec![0; width as usize * height as usize];
            for y in 0..height {
                if y % bay == 0 || below(&mut random, 50) == 0 {
                    mask[(y * width + below(&mut random, depth.min(width))) as usize] = 1;
                }
            }
            let input = of_mask(&mask, width, height);
            for (x, y) in [(1.0, 1.0), (1.0, 2.0)] {
                let params = both().spacing(x, y);
                let expected = run(&params, &Device::Cpu, &input);
                if x == y {
                    let reference = both().method(Method::Baseline(Baseline::ScanPrune));
                    assert!(expected == run(&reference, &Device::Cpu, &input));
                }
                for device in devices() {
                    let found = run(&params, &device, &input);
                    let what = format!("{width} x {height}, {depth}, {bay}, {x} x {y}");
                    assert!(found == expected, "{what}, {}", device.name());
                }
            }
        }
    }
}

#[test]
fn sites_on_the_borders_of_tiles() {
    let sides: &[(u32, u32)] =
        if is_slow() { &[(97, 290), (130, 70)] } else { &[(97, 290), (600, 1100), (1056, 530)] };
    for &(width, height) in sides {
        for (across, down) in [(32, 256), (32, 32), (64, 8), (16, 512)] {
            let is_border = |p: u32| {
                let (x, y) = (p % width, p / width);
                (x % across <= 1 || (x + 1) % across == 0) && (y % down <= 1 || (y + 1) % down == 0)
            };
            let mask: Vec<u8> = (0..width * height).map(|p| u8::from(is_border(p))).collect();
            let input = of_mask(&mask, width, height);
            let reference = both().method(Method::Baseline(Baseline::ScanPrune));
            let expected = run(&reference, &Device::Cpu, &input);
            for device in devices() {
                assert!(run(&both(), &device, &input) == expected, "{}", device.name());
            }
        }
    }
}

#[test]
fn strips_of_100_000_and_wide_rasters() {
    let mut random = Random::new(4);
    for (width, height) in [(100_000, 1), (1, 100_000), (65_535, 3), (65_536, 2), (65_537, 2)] {
        for density in [0.0, 1e-4, 1e-2, 0.3] {
            let mask = dense_mask(&mut random, width, height, density);
            let input = of_mask(&mask, width, height);
            let reference = both().method(Method::Baseline(Baseline::ScanPrune));
            let expected = run(&reference, &Device::Cpu, &input);
            for device in devices() {
                // The software device takes seconds for a hundred thousand warps.
                if device.name().contains("software") && density != 1e-2 {
                    continue;
                }
                assert!(run(&both(), &device, &input) == expected, "{}", device.name());
            }
        }
    }
}

#[test]
fn every_input_gives_the_same() {
    let mut random = Random::new(5);
    for (width, height, density) in [(1, 1, 0.5), (33, 20, 0.1), (64, 31, 0.01), (90, 45, 0.4)] {
        let mask = dense_mask(&mut random, width, height, density);
        let words = width.div_ceil(32) as usize;
        let mut bits = vec![0u32; words * height as usize];
        let (mut columns, mut rows) = (Vec::new(), Vec::new());
        for p in (0..width * height).filter(|&p| mask[p as usize] != 0) {
            let (x, y) = (p % width, p / width);
            bits[y as usize * words + x as usize / 32] |= 1 << (x % 32);
            columns.push(x);
            rows.push(y);
        }
        // Bits beyond the width do not count; sites may come in any order, and twice.
        if width % 32 != 0 {
            bits.iter_mut().skip(words - 1).step_by(words).for_each(|w| *w |= 1 << 31);
        }
        columns.reverse();
        rows.reverse();
        columns.extend_from_within(..columns.len().min(3));
        rows.extend_from_within(..rows.len().min(3));
        let labels: Vec<u32> = mask.iter().map(|&m| u32::from(m) * 77).collect();
        let flipped: Vec<u8> = mask.iter().map(|&m| 1 - m).collect();
        let inputs = [
            of_mask(&mask, width, height),
            of_pixels(Sites::Bits(&bits), width, height),
            of_pixels(Sites::List { columns: &columns, rows: &rows }, width, height),
            of_pixels(Sites::Labels(&labels), width, height),
            of_pixels(Sites::Mask(&flipped), width, height).inverted(),
        ];
        let expected = brute_force(&mask, width, (1, 1), u64::MAX);
        for device in devices() {
            for input in &inputs {
                check(&run(&both(), &device, input), &expected, &device.name());
                let again = input.inverted().inverted();
                check(&run(&both(), &device, &again), &expected, &device.name());
            }
        }
    }
}

#[test]
fn every_output_agrees_with_the_nearest_site() {
    let mut random = Random::new(6);
    for (width, height, density) in [(1, 1, 1.0), (50, 41, 0.05), (70, 33, 0.0), (40, 60, 0.3)] {
        let mask = dense_mask(&mut random, width, height, density);
        let labels: Vec<u32> =
            mask.iter().map(|&m| u32::from(m) * (1 + below(&mut random, 1_000_000))).collect();
        let of_pixels: Vec<f32> = mask.iter().map(|_| random.unit() as f32).collect();
        let excluded = dense_mask(&mut random, width, height, 0.2);
        let expected = brute_force(&mask, width, (1, 1), u64::MAX);
        let all = Params::new()
            .nearest()
            .coordinates()
            .squared_distance()
            .distance()
            .distance_f64()
            .signed_distance()
            .value()
            .label();
        let grid = GridSpec::of_pixels(width, height);
        let input = Input::new(Sites::Labels(&labels), grid).values(&of_pixels);
        let inside =
            brute_force(&mask.iter().map(|m| 1 - m).collect::<Vec<_>>(), width, (1, 1), u64::MAX);
        for device in devices() {
            let whole = run(&all, &device, &input);
            check(&whole, &expected, &device.name());
            for (p, site) in expected.iter().enumerate() {
                let root = |found: &Option<(u64, u64)>| {
                    found.map_or(f64::INFINITY, |(squared, _)| (squared as f64).sqrt())
                };
                let coordinates = site
                    .map_or([u32::MAX; 2], |(_, site)| [site as u32 % width, site as u32 / width]);
                assert_eq!(values(&whole.coordinates)[p], coordinates);
                assert_eq!(values(&whole.distance_f64)[p], root(site));
                assert_eq!(values(&whole.distance)[p], root(site) as f32);
                let signed = root(site) as f32 - root(&inside[p]) as f32;
                assert_eq!(values(&whole.signed_distance)[p], signed);
                let label = site.map_or(0, |(_, site)| labels[site as usize]);
                assert_eq!(values(&whole.label)[p], label);
                let value = site.map_or(f32::NAN, |(_, site)| of_pixels[site as usize]);
                assert_eq!(values(&whole.value)[p].to_bits(), value.to_bits());
            }
            let part = run(&all, &device, &input.excluded(&excluded));
            for (p, &is_excluded) in excluded.iter().enumerate() {
                if is_excluded == 0 {
                    assert_eq!(get(&part.nearest, p), get(&whole.nearest, p));
                    assert_eq!(get(&part.squared_distance, p), get(&whole.squared_distance, p));
                    let of = |d: &Diagram| values(&d.signed_distance)[p];
                    assert_eq!(of(&part), of(&whole));
                    continue;
                }
                assert_eq!(get(&part.nearest, p), None);
                assert_eq!(get(&part.squared_distance, p), None);
                assert_eq!(values(&part.coordinates)[p], [u32::MAX; 2]);
                assert!(values(&part.distance)[p].is_nan());
                assert!(values(&part.distance_f64)[p].is_nan());
                assert!(values(&part.signed_distance)[p].is_nan());
                assert!(values(&part.value)[p].is_nan());
                assert_eq!(values(&part.label)[p], 0);
            }
        }
    }
}

#[test]
fn only_the_outputs_that_are_wanted_are_there() {
    let input = of_mask(&[0, 1], 2, 1);
    for device in devices() {
        let nothing = run(&Params::new(), &device, &input);
        assert_eq!((nothing.grid, nothing.square_unit), (GridSpec::of_pixels(2, 1), 1.0));
        assert!(nothing.nearest.is_none() && nothing.coordinates.is_none());
        assert!(nothing.squared_distance.is_none() && nothing.distance_f64.is_none());
        assert!(nothing.signed_distance.is_none() && nothing.value.is_none());
        assert!(nothing.distance.is_none() && nothing.label.is_none());
        let diagram = run(&Params::new().distance(), &device, &input);
        assert_eq!(values(&diagram.distance), [1.0, 0.0]);
        let mut rest = diagram;
        rest.distance = None;
        assert_eq!(rest, nothing);
    }
}

#[test]
fn a_largest_distance_cuts_and_changes_nothing_else() {
    let mut random = Random::new(7);
    let cases = if is_slow() { 40 } else { 2000 };
    for _ in 0..cases {
        let (width, height) = (1 + below(&mut random, 60), 1 + below(&mut random, 90));
        let mask = sparse_mask(&mut random, width, height, 3.0);
        let most =
            f64::from(below(&mut random, 12)) + if below(&mut random, 2) == 0 { 0.0 } else { 0.5 };
        let limit = (most * most).floor() as u64;
        let expected = brute_force(&mask, width, (1, 1), limit);
        let input = of_mask(&mask, width, height);
        for device in devices() {
            let params = both().distance().max_distance(most);
            let diagram = run(&params, &device, &input);
            check(&diagram, &expected, &format!("{}, at most {most}", device.name()));
            let far = |p: usize| expected[p].is_none();
            let distance = values(&diagram.distance);
            assert!((0..mask.len()).all(|p| far(p) == distance[p].is_infinite()));
        }
    }
}

/// Within reach of few rows of a tile: the search of the others must not hide it.
#[test]
fn a_lonely_site_is_found_wherever_it_is() {
    let (width, height) = (12, 530);
    for row in [0, 31, 40, 100, 127, 128, 200, 255, 256, 300, 529] {
        let mut mask = vec![0; 12 * 530];
        mask[row * 12 + 5] = 1;
        let input = of_mask(&mask, width, height);
        let expected = brute_force(&mask, width, (1, 1), 81);
        for device in devices() {
            let diagram = run(&both().max_distance(9.0), &device, &input);
            check(&diagram, &expected, &format!("{}, row {row}", device.name()));
        }
    }
}

#[test]
fn pixels_that_are_not_square() {
    let mut random = Random::new(8);
    for (x, y, a, b) in [(2.0, 1.0, 4, 1), (1.0, 3.0, 1, 9), (0.5, 0.75, 4, 9), (30.0, 30.0, 1, 1)]
    {
        let cases = if is_slow() { 8 } else { 300 };
        for _ in 0..cases {
            let (width, height) = (1 + below(&mut random, 60), 1 + below(&mut random, 60));
            let mask = sparse_mask(&mut random, width, height, 3.0);
            let input = of_mask(&mask, width, height);
            let expected = brute_force(&mask, width, (a, b), u64::MAX);
            for device in devices() {
                let params = both().distance_f64().distance().spacing(x, y);
                let diagram = run(&params, &device, &input);
                check(&diagram, &expected, &format!("{}, {x} x {y}", device.name()));
                for (p, site) in expected.iter().enumerate() {
                    let true_distance = site.map_or(f64::INFINITY, |(_, site)| {
                        let site = site as usize;
                        let w = width as usize;
                        let dx = (p % w).abs_diff(site % w) as f64 * x;
                        let dy = (p / w).abs_diff(site / w) as f64 * y;
                        (dx * dx + dy * dy).sqrt()
                    });
                    let found = values(&diagram.distance_f64)[p];
                    let is_near = found == true_distance
                        || (found / true_distance - 1.0).abs() < 4.0 * f64::EPSILON;
                    assert!(is_near, "{found}, {true_distance}");
                    assert_eq!(values(&diagram.distance)[p], found as f32);
                }
            }
        }
    }
}

/// An irrational ratio: CPU and GPU agree, and no other site is nearer by more than the rounding of
/// the ratio.
#[test]
fn pixels_of_any_ratio() {
    let mut random = Random::new(9);
    let (x, y) = (1.0, 0.4f64.cos());
    let (width, height) = (80, 70);
    let mask = dense_mask(&mut random, width, height, 0.01);
    let input = of_mask(&mask, width, height);
    let run = |device: &Device| run(&both().spacing(x, y), device, &input);
    let diagram = run(&Device::Cpu);
    let distance = |p: usize, site: usize| {
        let w = width as usize;
        ((p % w).abs_diff(site % w) as f64 * x).hypot((p / w).abs_diff(site / w) as f64 * y)
    };
    for p in 0..mask.len() {
        let nearest = get(&diagram.nearest, p).unwrap() as usize;
        let sites = (0..mask.len()).filter(|&s| mask[s] != 0);
        let least = sites.map(|s| distance(p, s)).fold(f64::INFINITY, f64::min);
        assert!(distance(p, nearest) <= least * (1.0 + 1e-8));
    }
    for device in devices() {
        assert_eq!(run(&device), diagram, "{}", device.name());
    }
}

/// On the way to the last row a search looks so far around that the square of it passes 2^64.
#[test]
fn a_largest_distance_reaches_down_tall_rasters_of_oblong_pixels() {
    let (width, height) = (32, 33_000);
    let mut mask = vec![0; width as usize * height as usize];
    mask[0] = 1;
    let input = of_mask(&mask, width, height);
    let params = Params::new().spacing(1.0, 2f64.sqrt()).max_distance(60_000.0).distance();
    for device in devices() {
        let found = run(&params, &device, &input).distance.unwrap().into_values();
        for (p, distance) in found.into_iter().enumerate() {
            let (x, y) = ((p % 32) as f64, (p / 32) as f64);
            let expected = (x * x + 2.0 * y * y).sqrt();
            let close = (f64::from(distance) - expected).abs() <= 1e-6 * expected;
            assert!(close, "{}: pixel {p} at {distance}, not {expected}", device.name());
        }
    }
}

/// Sites come in the order of their true distances, whatever the ratio of the sides, and distances are right to a
/// rounding. Compares by brute force over exact squares of `f64` in 128 bits, or in `f64` where 128 bits do not hold
/// the squares.
#[test]
fn pixels_of_any_ratio_of_sides_have_their_nearest_sites_and_distances() {
    let mut random = Random::new(41);
    for round in 0..60 {
        let (width, height) = (1 + random.below(90) as u32, 1 + random.below(90) as u32);
        let ratio = match round % 4 {
            0 => 10f64.powf(6.0 * random.unit()),
            1 => f64::from(1 + random.below(1_000_000) as u32),
            2 => 1.0 + random.unit(),
            _ => [4097.0, 5000.5, 37.123456, 1234.567, 1e9, 1e30, 1e-12, 65_537.0][round / 4 % 8],
        };
        let (x, y) = if round % 2 == 0 { (1.0, ratio) } else { (ratio * 0.3, 0.3) };
        let pixels = width as usize * height as usize;
        let density = [0.002, 0.05, 0.3][round % 3];
        let mask: Vec<u8> = (0..pixels).map(|_| u8::from(random.unit() < density)).collect();
        let at = |p: usize| (p % width as usize, p / width as usize);
        let steps = |p: usize, s: usize| {
            let ((px, py), (sx, sy)) = (at(p), at(s));
            (px.abs_diff(sx) as f64, py.abs_diff(sy) as f64)
        };
        let distance = |p, s| {
            let (dx, dy) = steps(p, s);
            ((dx * x).powi(2) + (dy * y).powi(2)).sqrt()
        };
        let sites: Vec<usize> = (0..pixels).filter(|&p| mask[p] != 0).collect();
        let least = |p| sites.iter().map(|&s| distance(p, s)).fold(f64::INFINITY, f64::min);
        let least: Vec<f64> = (0..pixels).map(least).collect();
        let farthest = least.iter().copied().filter(|d| d.is_finite()).fold(0.0, f64::max);
        let input = of_mask(&mask, width, height);
        let params = Params::new().nearest().distance_f64().distance().spacing(x, y);
        // A limit that is the distance of a pixel, and one above and below all others.
        let limit = least.get(pixels / 2).copied().filter(|d| d.is_finite()).unwrap_or(farthest);
        for limit in [f64::INFINITY, limit, 0.7 * farthest] {
            let params = params.max_distance(limit);
            let diagram = run(&params, &Device::Cpu, &input);
            let found = diagram.distance_f64.as_ref().unwrap().values();
            for p in 0..pixels {
                let name =
                    format!("{x} x {y}, {width} x {height}, limit {limit}, pixel {:?}", at(p));
                let near = |d: f64| (d - least[p]).abs() <= 4.0 * f64::EPSILON * least[p];
                match get(&diagram.nearest, p) {
                    Some(site) => {
                        assert!(
                            near(found[p]) && near(distance(p, site as usize)),
                            "{name}: {}",
                            found[p]
                        );
                        assert!(least[p] <= limit * (1.0 + 1e-15), "{name}: {}", least[p]);
                    }
                    None => {
                        assert!(least[p] > limit || least[p].is_infinite(), "{name}: {}", least[p])
                    }
                }
            }
            for device in devices() {
                assert_eq!(run(&params, &device, &input), diagram, "{}: {x} x {y}", device.name());
            }
        }
    }
}

/// The search itself looks at rows in which two sites differ by the last bits of a large number.
#[test]
fn one_row_and_one_column_of_oblong_pixels_have_exact_distances() {
    for (x, y) in [(1.0, 4097.0), (1.0, 50_000.0), (50_000.0, 1.0), (1.0, 37.123456), (1e6, 3.3)] {
        let mut mask = vec![0; 3000];
        mask[0] = 1;
        for (width, height, side) in [(3000, 1, x), (1, 3000, y)] {
            for device in devices() {
                let params = Params::new().distance_f64().spacing(x, y);
                let found = run(&params, &device, &of_mask(&mask, width, height));
                let expected: Vec<f64> = (0..3000).map(|i| f64::from(i) * side).collect();
                assert_eq!(found.distance_f64.unwrap().values(), expected, "{x} x {y}");
            }
        }
    }
}

#[test]
fn a_distance_that_is_the_limit_is_within_it() {
    let mut mask = vec![0; 40];
    mask[0] = 1;
    for side in [0.1, 0.3, 0.7, 1.1, 30.0] {
        for steps in 1..39 {
            for other in [side, 3.0 * side] {
                let limit = f64::from(steps) * side;
                // As a person types it.
                for limit in [limit, format!("{limit:.1}").parse().unwrap()] {
                    let params = Params::new().distance().spacing(side, other).max_distance(limit);
                    for device in devices() {
                        let found = run(&params, &device, &of_mask(&mask, 40, 1)).distance.unwrap();
                        let within = found.values().iter().filter(|d| d.is_finite()).count();
                        assert_eq!(
                            within,
                            steps as usize + 1,
                            "{}: {limit} of {side}",
                            device.name()
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn listed_values_reach_their_pixels() {
    // The first of those named on a pixel counts; the list may be longer than the raster.
    let (columns, rows) = ([3, 0, 3, 3, 3, 0], [0; 6]);
    let sites = Sites::List { columns: &columns, rows: &rows };
    let listed = [5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
    let input = of_pixels(sites, 4, 1).values(&listed);
    for device in devices() {
        let diagram = run(&Params::new().value(), &device, &input);
        assert_eq!(values(&diagram.value), [6.0, 6.0, 5.0, 5.0], "{}", device.name());
        // Inverted, the sites are the other pixels: then there is a value for each pixel.
        let input = of_pixels(sites, 4, 1).inverted().values(&[1.0, 2.0, 3.0, 4.0]);
        let diagram = run(&Params::new().value(), &device, &input);
        assert_eq!(values(&diagram.value), [2.0, 2.0, 3.0, 3.0], "{}", device.name());
    }
}

#[test]
fn no_pixels_and_no_sites() {
    for device in devices() {
        for (width, height) in [(0, 0), (0, 5), (7, 0)] {
            let input = of_pixels(Sites::Mask(&[]), width, height);
            let diagram = run(&both().distance().signed_distance(), &device, &input);
            assert!(diagram.nearest.unwrap().is_empty());
            assert!(values(&diagram.signed_distance).is_empty());
        }
        let mask = [0; 12];
        let input = of_pixels(Sites::Mask(&mask), 4, 3);
        let diagram = run(&both().distance().signed_distance(), &device, &input);
        assert_eq!(values(&diagram.distance), [f32::INFINITY; 12]);
        assert_eq!(values(&diagram.signed_distance), [f32::INFINITY; 12]);
        assert_eq!(diagram.nearest.unwrap().get(0), None);
        let diagram = run(&Params::new().signed_distance(), &device, &input.inverted());
        assert_eq!(values(&diagram.signed_distance), [f32::NEG_INFINITY; 12]);
    }
}

#[test]
fn bad_input_is_named() {
    let device = Device::Cpu;
    let error =
        |params: Params, input: Input| transform(&device, &input, &params).unwrap_err().to_string();
    let mask = [0, 1, 0];
    let good = of_pixels(Sites::Mask(&mask), 3, 1);
    let short = of_pixels(Sites::Mask(&mask), 2, 2);
    assert_eq!(error(both(), short), "site mask has 3 elements, expected 4");
    let outside = of_pixels(Sites::List { columns: &[1, 3], rows: &[0, 0] }, 3, 1);
    assert_eq!(
        error(both(), outside),
        "site 1 at column 3, row 0 is outside the raster of 3 x 1 pixels"
    );
    assert!(error(both().max_distance(-1.0), good).contains("-1"));
    assert!(error(both().spacing(0.0, 1.0), good).contains("0 x 1"));
    assert!(error(both().value(), good).contains("values"));
    assert!(error(both().label(), good).contains("labels"));
    assert!(error(both(), good.excluded(&[1])).contains("excluded"));
    assert!(error(both(), good.values(&[1.0])).contains("values"));
    let scan_prune = both().method(Method::Baseline(Baseline::ScanPrune)).spacing(1.0, 2.0);
    assert!(matches!(
        transform(&device, &good, &scan_prune).unwrap_err(),
        Error::Unsupported { method: Method::Baseline(Baseline::ScanPrune), .. }
    ));
}

#[test]
fn sides_from_2_to_the_minus_250th_to_2_to_the_250th_have_distances_and_others_are_refused() {
    let (least, most) = (2f64.powi(-250), 2f64.powi(250));
    let mask = [0, 0, 1, 0, 0, 0];
    let distances = Params::new().distance_f64();
    for device in devices() {
        for (x, y) in [(least, most), (most, least), (least, least), (most, most), (least, 1.0)] {
            let run = |params: Params, width, height| {
                let input = of_pixels(Sites::Mask(&mask), width, height);
                run(&params.spacing(x, y), &device, &input).distance_f64.unwrap().into_values()
            };
            let name = format!("{}: {x:e} x {y:e}", device.name());
            let truth = |side: f64| [2.0, 1.0, 0.0, 1.0, 2.0, 3.0].map(|steps| steps * side);
            assert_eq!(run(distances, 6, 1), truth(x), "{name}");
            assert_eq!(run(distances, 1, 6), truth(y), "{name}");
            // A limit far below the longer side, and above the shorter one.
            let within = |side: f64, most: f64| {
                truth(side).map(|d| if d > most { f64::INFINITY } else { d })
            };
            for limit in [least * 0.5, least * 2.0, least * 1e30, 1.0, most] {
                let found = run(distances.max_distance(limit), 6, 1);
                assert_eq!(found, within(x, limit), "{name} up to {limit:e}");
                let found = run(distances.max_distance(limit), 3, 2);
                let (far, away) = ((2.0 * x).hypot(y), x.hypot(y));
                let all = [2.0 * x, x, 0.0, far, away, y];
                let is_same = |(d, truth): (&f64, &f64)| {
                    d == truth
                        || (d - truth).abs() <= 1e-15 * truth
                        || *truth > limit && d.is_infinite()
                };
                assert!(
                    found.iter().zip(&all).all(is_same),
                    "{name} up to {limit:e}: {found:?} of {all:?}"
                );
            }
        }
        let input = of_pixels(Sites::Mask(&mask), 6, 1);
        let refused = |x, y| transform(&device, &input, &distances.spacing(x, y)).unwrap_err();
        for (x, y) in [
            (2.486847263987e-309, 1e105),
            (1e105, 1.0),
            (1.0, 5e-324),
            (least / 2.0, 1.0),
            (1e-76, 1e-76),
            (1e76, 1e76),
            (f64::INFINITY, 1.0),
        ] {
            let error = refused(x, y);
            assert_eq!(error, Error::Spacing { x, y }, "{}", device.name());
            assert!(error.to_string().contains("from 5.5"), "{error}");
        }
    }
}

#[test]
fn distances_that_f32_does_not_hold_are_refused_as_f32_alone() {
    let mask = [1, 0, 0];
    let input = of_pixels(Sites::Mask(&mask), 3, 1);
    for device in devices() {
        for side in [1e-39, 2e38] {
            let params = Params::new().spacing(side, side);
            let found = run(&params.distance_f64(), &device, &input).distance_f64.unwrap();
            assert_eq!(found.values(), [0.0, side, 2.0 * side]);
            for params in [params.distance(), params.signed_distance()] {
                let error = transform(&device, &input, &params).unwrap_err();
                assert!(matches!(error, Error::BeyondSingle { .. }), "{error}");
            }
        }
    }
}

#[test]
fn a_raster_on_the_ground_has_distances_on_the_ground() {
    let grid = GridSpec::new(500.0, 900.0, 30.0, 4, 2).unwrap();
    let mask = [1, 0, 0, 0, 0, 0, 0, 0];
    let mask = gpu_core::GridView::new(&mask, grid).unwrap();
    for device in devices() {
        let params = Params::new().distance().squared_distance().nearest();
        let diagram = run(&params, &device, &mask.into());
        assert_eq!((diagram.grid, diagram.square_unit), (grid, 900.0));
        let distance = diagram.distance.unwrap();
        assert_eq!((distance.grid(), distance.get(3, 0)), (&grid, Some(&90.0)));
        assert_eq!(diagram.squared_distance.unwrap().get(3), Some(9));
        // A spacing of the caller's goes before the grid's.
        let diagram = run(&params.spacing(1.0, 1.0), &device, &mask.into());
        assert_eq!(diagram.distance.unwrap().get(3, 0), Some(&3.0));
    }
}

/// Ends a call at a report of its own choice.
struct Ending(std::cell::Cell<u32>);

impl gpu_core::Progress for Ending {
    fn report(&self, _: &'static str, _: f64) -> std::ops::ControlFlow<()> {
        match self.0.replace(self.0.get().saturating_sub(1)) {
            0 => std::ops::ControlFlow::Break(()),
            _ => std::ops::ControlFlow::Continue(()),
        }
    }
}

#[test]
fn a_transform_can_be_cancelled_at_every_report() {
    let mask = [1, 0, 0, 0, 0, 0];
    let input = of_mask(&mask, 3, 2);
    let params = both().distance().signed_distance();
    for device in devices() {
        let mut cancelled = 0;
        loop {
            match transform(device.with_progress(&Ending(cancelled.into())), &input, &params) {
                Err(error) => assert_eq!(error, Error::Cancelled(gpu_core::Cancelled)),
                Ok(diagram) => break assert_eq!(diagram, run(&params, &device, &input)),
            }
            cancelled += 1;
        }
        assert!(cancelled >= 3, "{}: {cancelled}", device.name());
    }
}
