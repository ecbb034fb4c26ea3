//! Sites for the tests.
#![allow(dead_code, reason = "each test binary uses some of it")]

use std::path::Path;

use gpu_core::Points;
use rayon::prelude::*;
use sphere_qtm::{Cell, Level, NONE, UnitVector};
use testing::{Cloud, Random, clouds};

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

    /// In heaps of many widths.
    pub fn clustered(count: usize, seed: u64) -> Self {
        Self::of_cloud(clouds::heaps(count, seed))
    }

    /// A cloud of the plane, brought to the globe.
    pub fn of_cloud(cloud: Cloud) -> Self {
        let Cloud { x, y, .. } = cloud.on_globe();
        Self { x, y }
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

    /// The first this many, or all.
    pub fn first(mut self, count: usize) -> Self {
        self.x.truncate(count);
        self.y.truncate(count);
        self
    }
}

/// For each cell: the nearest site, the second, and their squared chords, found by comparing all.
pub type Expected = Vec<(u32, u32, f64, f64)>;

/// Sites that are left out together where they are far.
const GROUP: usize = 64;

/// What rounding takes from a chord, and more.
const SLACK: f64 = 1e-12;

/// Sites near each other.
struct Group {
    /// The first of them.
    centre: [f64; 3],
    /// The chord from there within which all lie.
    radius: f64,
    sites: Vec<(u32, [f64; 3])>,
}

/// Sites in bands of latitude, and in each from west to east, by groups.
fn groups(sites: &Sites) -> Vec<Group> {
    let mut all: Vec<(u32, [f64; 3])> = (0..).zip(sites.vectors()).collect();
    // Bands as high as a group is wide.
    let bands = (sites.len() as f64 / GROUP as f64).sqrt().ceil();
    let key = |(_, [x, y, z]): &(u32, [f64; 3])| ((z * bands) as i64, y.atan2(*x));
    all.sort_by(|a, b| key(a).partial_cmp(&key(b)).unwrap());
    let group = |sites: &[(u32, [f64; 3])]| {
        let centre = sites[0].1;
        let far = sites.iter().map(|(_, v)| squared(centre, *v)).fold(0.0, f64::max);
        Group { centre, radius: far.sqrt(), sites: sites.to_vec() }
    };
    all.chunks(GROUP).map(group).collect()
}

fn squared([a, b, c]: [f64; 3], [x, y, z]: [f64; 3]) -> f64 {
    (a - x) * (a - x) + (b - y) * (b - y) + (c - z) * (c - z)
}

/// Compares each cell with all sites in f64. Skips groups of which no site can be as near as the second nearest so far,
/// since chords obey the triangle inequality.
pub fn brute_force(level: Level, sites: &Sites) -> Expected {
    let groups = groups(sites);
    let nearest_two = |index| {
        let place = Cell::from_index(level, index).unwrap().centre().to_array();
        let far: Vec<f64> = groups.iter().map(|group| squared(place, group.centre)).collect();
        let nearest = (0..groups.len()).min_by(|&a, &b| far[a].total_cmp(&far[b])).unwrap();
        let (mut best, mut next) = ((f64::INFINITY, NONE), (f64::INFINITY, NONE));
        for i in [nearest].into_iter().chain((0..groups.len()).filter(|&i| i != nearest)) {
            let reach = next.0.sqrt() + groups[i].radius + SLACK;
            if far[i] > reach * reach {
                continue;
            }
            for &(site, vector) in &groups[i].sites {
                let found = (squared(place, vector), site);
                if found < best {
                    (best, next) = (found, best);
                } else if found < next {
                    next = found;
                }
            }
        }
        (best.1, next.1, best.0, next.0)
    };
    (0..level.cell_count()).into_par_iter().map(nearest_two).collect()
}
