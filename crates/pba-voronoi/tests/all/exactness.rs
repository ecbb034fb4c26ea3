//! Every pixel of every case against brute force, on the CPU and on the process's GPU.

use gpu_core::{Device, DeviceChoice, GridSpec};
use pba_voronoi::{Error, Input, NONE, Params, Sites, transform};
use proptest::prelude::*;
use testing::{Random, devices};

/// Runs a mask on every device and compares all outputs with `expected`.
fn check_against(sites: &[u8], width: u32, height: u32, expected: &[(u32, u64)]) {
    let input = Input::new(Sites::Mask(sites), GridSpec::of_pixels(width, height));
    let params = Params::new().nearest().squared_distance().distance();
    for device in devices() {
        let diagram = transform(&device, &input, &params).unwrap();
        let (nearest, squared) = (diagram.nearest.unwrap(), diagram.squared_distance.unwrap());
        let distance = diagram.distance.unwrap().into_values();
        assert_eq!(nearest.len(), expected.len());
        for (p, &(site, d2)) in expected.iter().enumerate() {
            let found = (nearest.get(p), squared.get(p), distance[p]);
            let expected = match site {
                NONE => (None, None, f32::INFINITY),
                _ => (Some(site.into()), Some(d2), (d2 as f64).sqrt() as f32),
            };
            assert_eq!(found, expected, "{}: {width} x {height}, pixel {p}", device.name());
        }
    }
}

/// The definition: the lowest index among the sites at the least distance.
fn brute_force(sites: &[u8], width: u32, height: u32) -> Vec<(u32, u64)> {
    let position = |p: usize| (p as i64 % i64::from(width), p as i64 / i64::from(width));
    let all: Vec<usize> = (0..sites.len()).filter(|&p| sites[p] != 0).collect();
    let nearest_to = |p: usize| {
        let (x, y) = position(p);
        let squared = |&s: &usize| {
            let (sx, sy) = position(s);
            ((x - sx).pow(2) + (y - sy).pow(2)) as u64
        };
        let nearest = all.iter().map(|s| (squared(s), *s as u32)).min();
        nearest.map_or((NONE, u64::MAX), |(d2, site)| (site, d2))
    };
    (0..width as usize * height as usize).map(nearest_to).collect()
}

fn check(sites: &[u8], width: u32, height: u32) {
    check_against(sites, width, height, &brute_force(sites, width, height));
}

/// A repeatable raster with about `density` of its pixels sites.
fn random_mask(width: u32, height: u32, density: f64, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let pixels = width as usize * height as usize;
    (0..pixels).map(|_| u8::from(random.unit() < density)).collect()
}

/// Few sites, more than 500 pixels from most others: the CPU halves rows there, and walks where they are near.
#[test]
fn near_and_far_sites_in_one_raster() {
    let (width, height) = (211, 2600);
    let position = |p: usize| (p % width as usize, p / width as usize);
    for (seed, few) in [(1, 2), (2, 9), (3, 40)] {
        let mut random = Random::new(seed);
        let mut sites = vec![0; width as usize * height as usize];
        for _ in 0..few {
            let (x, y) = (random.unit() * f64::from(width), random.unit() * 500.0);
            // In heaps at both ends and in the middle, mirrored, so that there are ties on whole rows.
            for row in [y as usize, height as usize - 1 - y as usize, 1250 + y as usize / 30] {
                sites[row * width as usize + x as usize] = 1;
            }
        }
        let expected = brute_force(&sites, width, height);
        for limit in [f64::INFINITY, 700.0, 400.0] {
            let params = Params::new().nearest().squared_distance().max_distance(limit);
            let input = Input::new(Sites::Mask(&sites), GridSpec::of_pixels(width, height));
            let diagram = transform(&Device::Cpu, &input, &params).unwrap();
            let (nearest, squared) = (diagram.nearest.unwrap(), diagram.squared_distance.unwrap());
            for (p, &(site, d2)) in expected.iter().enumerate() {
                let is_within = d2 as f64 <= limit * limit;
                let wanted = is_within.then_some((u64::from(site), d2));
                let found = nearest.get(p).zip(squared.get(p));
                assert_eq!(found, wanted, "{few} sites, limit {limit}, pixel {:?}", position(p));
            }
        }
    }
}

const LADDER: [u32; 11] = [0, 1, 31, 32, 33, 64, 255, 256, 257, 511, 775];

#[test]
fn size_ladder() {
    for &width in &LADDER {
        for &height in &LADDER {
            // Brute force costs pixels x sites: fewer sites on larger rasters.
            let pixels = f64::from(width) * f64::from(height);
            if pixels <= 20_000.0 || (width == height && pixels < 70_000.0) {
                let density = (2e6 / (pixels * pixels + 1.0)).max(3.0 / (pixels + 1.0)).min(0.3);
                let seed = u64::from(width * 1000 + height);
                check(&random_mask(width, height, density, seed), width, height);
            }
        }
    }
}

#[test]
fn densities() {
    for (seed, density) in [0.0001, 0.001, 0.01, 0.05, 0.25, 0.6].into_iter().enumerate() {
        check(&random_mask(193, 131, density, seed as u64 + 7), 193, 131);
    }
}

#[test]
fn all_sites_no_sites_one_site() {
    let (width, height) = (70, 41);
    check(&vec![1; 70 * 41], width, height);
    check(&vec![0; 70 * 41], width, height);
    for at in [0, 69, 35 * 70 + 12, 70 * 41 - 1] {
        let mut sites = vec![0; 70 * 41];
        sites[at] = 255;
        check(&sites, width, height);
    }
}

#[test]
fn empty_rows_and_columns() {
    let (width, height) = (90, 77);
    let full = random_mask(width, height, 0.2, 99);
    let without = |keep: fn(u32, u32) -> bool| -> Vec<u8> {
        let position = |p: usize| (p as u32 % width, p as u32 / width);
        let kept = |(p, &s): (usize, &u8)| if keep(position(p).0, position(p).1) { s } else { 0 };
        full.iter().enumerate().map(kept).collect()
    };
    check(&without(|_, y| y % 3 == 0), width, height);
    check(&without(|x, _| x % 5 == 2), width, height);
    check(&without(|x, _| x > 60), width, height);
    check(&without(|_, y| !(10..70).contains(&y)), width, height);
    check(&without(|x, y| x == 17 || y == 50), width, height);
}

#[test]
fn collinear_sites() {
    let (width, height) = (64, 64);
    let lines: [fn(u32, u32) -> bool; 5] = [
        |x, y| x == y,
        |x, y| x + y == 63,
        |x, y| 2 * x == y,
        |x, y| x == 3 * (y % 21),
        |x, y| y == 20 && x % 4 == 0,
    ];
    for line in lines {
        let sites: Vec<u8> =
            (0..width * height).map(|p| u8::from(line(p % width, p / width))).collect();
        check(&sites, width, height);
    }
}

#[test]
fn cocircular_sites_tie_to_the_lowest_index() {
    for squared in [5i64, 25, 50, 65, 325, 1105] {
        let (side, centre) = (81, 40i64);
        let on_circle = |p: i64| {
            let (dx, dy) = (p % side - centre, p / side - centre);
            dx * dx + dy * dy == squared
        };
        let sites: Vec<u8> = (0..side * side).map(|p| u8::from(on_circle(p))).collect();
        let expected = brute_force(&sites, side as u32, side as u32);
        let first = sites.iter().position(|&s| s != 0).unwrap() as u32;
        assert_eq!(expected[(centre * side + centre) as usize], (first, squared as u64));
        check_against(&sites, side as u32, side as u32, &expected);
    }
}

#[test]
fn checkerboards() {
    for step in [2, 3, 7] {
        let sites: Vec<u8> =
            (0..60 * 50u32).map(|p| u8::from((p % 60 + p / 60) % step == 0)).collect();
        check(&sites, 60, 50);
    }
}

/// A thin raster has a linear oracle: the nearest sites before and after.
#[test]
fn strips() {
    // A block for each of many thousand rows or columns takes the software device a minute.
    let software = testing::choice() == DeviceChoice::Software;
    let length = if software { 3_000u32 } else { 100_000 };
    for density in [0.002, 0.02] {
        let sites = random_mask(length, 1, density, 5);
        let mut expected = vec![(NONE, u64::MAX); sites.len()];
        let mut keep_nearer = |p: usize, site: Option<usize>| {
            if let Some(site) = site {
                let candidate = ((p.abs_diff(site) as u64).pow(2), site as u32);
                let (old, d2) = expected[p];
                if candidate < (d2, old) {
                    expected[p] = (candidate.1, candidate.0);
                }
            }
        };
        let mut last = None;
        for (p, &site) in sites.iter().enumerate() {
            last = if site != 0 { Some(p) } else { last };
            keep_nearer(p, last);
        }
        let mut next = None;
        for (p, &site) in sites.iter().enumerate().rev() {
            next = if site != 0 { Some(p) } else { next };
            keep_nearer(p, next);
        }
        check_against(&sites, length, 1, &expected);
        check_against(&sites, 1, length, &expected);
    }
}

#[test]
fn a_long_column_that_prunes_for_many_rounds() {
    // Sites on a steep curve: most are pruned, few per round.
    let (width, height) = (48u32, 700u32);
    let mut sites = vec![0u8; (width * height) as usize];
    for y in 0..height {
        let x = (f64::from(y) * f64::from(y) * 1e-4) as u32 % width;
        sites[(y * width + x) as usize] = 1;
    }
    check(&sites, width, height);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn random_rasters(
        (width, height) in (1u32..90, 1u32..90),
        exponent in -4.0f64..-0.2,
        seed in any::<u64>(),
    ) {
        check(&random_mask(width, height, 10f64.powf(exponent), seed), width, height);
    }
}

#[test]
fn bad_masks_are_refused_before_any_work() {
    let params = Params::new().nearest();
    for device in devices() {
        let input = Input::new(Sites::Mask(&[1, 0]), GridSpec::of_pixels(3, 1));
        let error = transform(&device, &input, &params).unwrap_err();
        assert_eq!(error.to_string(), "site mask has 2 elements, expected 3");
        let (width, height) = (u32::MAX, u32::MAX);
        let input = Input::new(Sites::Mask(&[]), GridSpec::of_pixels(width, height));
        let error = transform(&device, &input, &params).unwrap_err();
        assert_eq!(error, Error::TooLarge { width, height });
    }
}
