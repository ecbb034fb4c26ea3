//! Sites for the tests.
#![allow(dead_code, reason = "each test binary uses some of it")]

use std::path::Path;

use gpu_core::Points;
use rayon::prelude::*;
use sphere_qtm::{Cell, Level, NONE, UnitVector};
use testing::Random;

/// Longitudes and latitudes in degrees.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
}

impl Sites {
    pub fn of(places: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let (x, y) = places.into_iter().unzip();
        Self { x, y }
    }

    /// Uniform on the sphere.
    pub fn random(count: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        Self::of((0..count).map(|_| {
            (random.between(-180.0, 180.0), random.between(-1.0, 1.0).asin().to_degrees())
        }))
    }

    /// In a few clusters, of which each is smaller than the one before.
    pub fn clustered(count: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let centres = Self::random(6, seed + 1);
        Self::of((0..count).map(|i| {
            let (k, size) = (i % 6, 30.0 / 10f64.powi((i % 6) as i32));
            let y = (centres.y[k] + size * random.normal()).clamp(-90.0, 90.0);
            (centres.x[k] + size * random.normal(), y)
        }))
    }

    /// On a parallel, and on the equator: all as near to the pole.
    pub fn on_circles(count: usize) -> Self {
        let step = 720.0 / count as f64;
        Self::of((0..count).map(|i| ((i / 2) as f64 * step, if i % 2 == 0 { 0.0 } else { 50.0 })))
    }

    /// Each with its antipode.
    pub fn antipodal(count: usize, seed: u64) -> Self {
        let half = Self::random(count / 2, seed);
        let both = half.x.iter().zip(&half.y).flat_map(|(&x, &y)| [(x, y), (x + 180.0, -y)]);
        Self::of(both)
    }

    /// Each many times, and -180 with 180.
    pub fn duplicate(count: usize, seed: u64) -> Self {
        let few = Self::random(1 + count / 10, seed);
        Self::of((0..count).map(|i| match i % 12 {
            0 => (180.0, 10.0),
            1 => (-180.0, 10.0),
            _ => (few.x[i % few.x.len()], few.y[i % few.x.len()]),
        }))
    }

    /// A file of the project's data, if somebody has put it there.
    pub fn of_file(name: &str) -> Option<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
        let text = std::fs::read_to_string(&path).ok()?;
        Some(Self::of(text.lines().skip(1).map(|line| {
            let mut fields = line.split(',').map(|field| field.parse::<f64>().unwrap());
            (fields.next().unwrap(), fields.next().unwrap())
        })))
    }

    pub fn len(&self) -> usize {
        self.x.len()
    }

    pub fn points(&self) -> Points<'_> {
        Points::new(&self.x, &self.y)
    }

    pub fn vectors(&self) -> Vec<[f64; 3]> {
        let of = |(&x, &y)| UnitVector::from(sphere_qtm::LonLat::new(x, y).unwrap()).to_array();
        self.x.iter().zip(&self.y).map(of).collect()
    }

    /// The first so many, or all.
    pub fn first(mut self, count: usize) -> Self {
        self.x.truncate(count);
        self.y.truncate(count);
        self
    }
}

/// Of each cell: the nearest site, the second, and their squared chords. By comparing all.
pub type Expected = Vec<(u32, u32, f64, f64)>;

/// Sites whose scalar products with a place are found together.
const GROUP: usize = 32;

/// What scalar products of vectors rounded to f32 are off by as measures of distance, and more: 2^-24 for each of seven
/// roundings of numbers up to 1, of either of two products.
const DOUBT: f32 = 1e-6;

/// Compares each cell with all sites: first by scalar products, of which the greatest of each group is kept; and then
/// by squared chords with the groups that have, but for rounding, the two greatest or more. The greatest of two
/// groups are of two sites, so that the nearest two are in these groups.
pub fn brute_force(level: Level, sites: &Sites) -> Expected {
    let vectors = sites.vectors();
    let groups: Vec<[[f32; GROUP]; 3]> = vectors
        .chunks(GROUP)
        .map(|group| {
            let coordinate =
                |k: usize| std::array::from_fn(|i| group.get(i).unwrap_or(&group[0])[k] as f32);
            [coordinate(0), coordinate(1), coordinate(2)]
        })
        .collect();
    (0..level.cell_count())
        .into_par_iter()
        .map_init(Vec::new, |greatest: &mut Vec<f32>, index| {
            let centre = Cell::from_index(level, index).unwrap().centre().to_array();
            greatest.clear();
            let narrow = centre.map(|x| x as f32);
            greatest.extend(groups.iter().map(|group| greatest_product(narrow, group)));
            let (mut first, mut second) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
            for &product in greatest.iter() {
                second = second.max(product.min(first));
                first = first.max(product);
            }
            let candidates = (0..groups.len()).filter(|&g| greatest[g] >= second - DOUBT);
            let indices = candidates.flat_map(|g| g * GROUP..vectors.len().min((g + 1) * GROUP));
            nearest_two(centre, indices.map(|i| (i, vectors[i])))
        })
        .collect()
}

fn greatest_product([a, b, c]: [f32; 3], [x, y, z]: &[[f32; GROUP]; 3]) -> f32 {
    // Several maxima side by side, which processors have instructions for.
    let mut greatest = [f32::NEG_INFINITY; 8];
    for i in (0..GROUP).step_by(8) {
        for k in 0..8 {
            let product = a * x[i + k] + b * y[i + k] + c * z[i + k];
            greatest[k] = if product > greatest[k] { product } else { greatest[k] };
        }
    }
    greatest.into_iter().fold(f32::NEG_INFINITY, f32::max)
}

/// Of sites in the order of their indices.
fn nearest_two(
    [a, b, c]: [f64; 3],
    sites: impl Iterator<Item = (usize, [f64; 3])>,
) -> (u32, u32, f64, f64) {
    let (mut best, mut next) = ((f64::INFINITY, NONE), (f64::INFINITY, NONE));
    for (i, [x, y, z]) in sites {
        let d = (a - x) * (a - x) + (b - y) * (b - y) + (c - z) * (c - z);
        if d < best.0 {
            (best, next) = ((d, i as u32), best);
        } else if d < next.0 {
            next = (d, i as u32);
        }
    }
    (best.1, next.1, best.0, next.0)
}
