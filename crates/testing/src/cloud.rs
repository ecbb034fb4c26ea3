//! Repeatable points.

use crate::Random;

/// Points of the test's own, with one value each.
#[derive(Clone, Debug, Default)]
pub struct Cloud {
    /// Eastings.
    pub x: Vec<f64>,
    /// Northings.
    pub y: Vec<f64>,
    /// Values.
    pub z: Vec<f64>,
}

impl Cloud {
    /// The given points.
    pub fn of(points: impl IntoIterator<Item = (f64, f64, f64)>) -> Self {
        let mut cloud = Self::default();
        points.into_iter().for_each(|point| cloud.push(point));
        cloud
    }

    /// Uniform points in the rectangle [west, south, east, north], with values of a function.
    pub fn uniform(
        count: usize,
        [west, south, east, north]: [f64; 4],
        seed: u64,
        value: impl Fn(f64, f64) -> f64,
    ) -> Self {
        let mut random = Random::new(seed);
        Self::of((0..count).map(|_| {
            let (x, y) = (random.between(west, east), random.between(south, north));
            (x, y, value(x, y))
        }))
    }

    /// Points in `clusters` heaps of the normal distribution with the given deviation, whose centres are
    /// uniform in the rectangle; every heap has about as many.
    pub fn clustered(
        count: usize,
        clusters: usize,
        deviation: f64,
        [west, south, east, north]: [f64; 4],
        seed: u64,
        value: impl Fn(f64, f64) -> f64,
    ) -> Self {
        let mut random = Random::new(seed);
        let centres: Vec<(f64, f64)> = (0..clusters.max(1))
            .map(|_| (random.between(west, east), random.between(south, north)))
            .collect();
        Self::of((0..count).map(|i| {
            let (x, y) = centres[i % centres.len()];
            let (x, y) = (x + deviation * random.normal(), y + deviation * random.normal());
            (x, y, value(x, y))
        }))
    }

    /// Points at the whole coordinates of a square.
    pub fn lattice(side: u32, value: impl Fn(f64, f64) -> f64) -> Self {
        let places = (0..side).flat_map(|y| (0..side).map(move |x| (f64::from(x), f64::from(y))));
        Self::of(places.map(|(x, y)| (x, y, value(x, y))))
    }

    /// Points on one line, evenly spaced from the first place to the second.
    pub fn collinear(
        count: usize,
        (x0, y0): (f64, f64),
        (x1, y1): (f64, f64),
        value: impl Fn(f64, f64) -> f64,
    ) -> Self {
        let last = count.saturating_sub(1).max(1) as f64;
        Self::of((0..count).map(|i| {
            let t = i as f64 / last;
            let (x, y) = (x0 + t * (x1 - x0), y0 + t * (y1 - y0));
            (x, y, value(x, y))
        }))
    }

    /// Points on a circle.
    pub fn on_circle(
        count: usize,
        (x0, y0): (f64, f64),
        radius: f64,
        value: impl Fn(f64, f64) -> f64,
    ) -> Self {
        Self::of((0..count).map(|i| {
            let angle = std::f64::consts::TAU * i as f64 / count as f64;
            let (x, y) = (x0 + radius * angle.cos(), y0 + radius * angle.sin());
            (x, y, value(x, y))
        }))
    }

    /// Every point twice, and the second time with another value.
    pub fn doubled(mut self) -> Self {
        for i in 0..self.len() {
            self.push((self.x[i], self.y[i], self.z[i] + 1.0));
        }
        self
    }

    /// Adds a point.
    pub fn push(&mut self, (x, y, z): (f64, f64, f64)) {
        self.x.push(x);
        self.y.push(y);
        self.z.push(z);
    }

    /// The number of points.
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }

    /// Calls `f` with the points and their values.
    pub fn with<R>(&self, f: impl FnOnce(gpu_core::Points<'_>) -> R) -> R {
        f(gpu_core::Points { x: &self.x, y: &self.y, values: &[&self.z] })
    }
}
