//! Repeatable points.

use crate::Random;

/// Points of the test's own, with one value each.
#[derive(Clone, Debug, Default)]
pub struct Cloud {
    /// What the points are; empty where nobody has said.
    pub name: &'static str,
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

    /// Clouds with gaps as surveys have them, in the square from 0 to `side`, by name. They are lines apart, buildings
    /// without ground, the rings of a scanner, and voids amid random points.
    pub fn with_gaps(
        side: f64,
        value: impl Fn(f64, f64) -> f64 + Copy,
    ) -> Vec<(&'static str, Self)> {
        let at = |(x, y): (f64, f64)| (x, y, value(x, y));
        let mut random = Random::new(11);
        let mut noise = |size: f64| random.between(-size, size);
        let steps = |step: f64| (0..=(side / step) as u32).map(move |i| step * f64::from(i));
        let lattice = || steps(1.0).flat_map(move |y| steps(1.0).map(move |x| (x, y)));
        // 15 x 18, a street apart.
        let is_built = |&(x, y): &(f64, f64)| {
            x % 22.0 > 3.5 && x % 22.0 < 18.5 && y % 27.0 > 5.5 && y % 27.0 < 23.5
        };
        let middle = side / 2.0;
        let around = |radius: f64, count: u32| {
            (0..count).map(move |i| {
                let (sin, cos) =
                    (std::f64::consts::TAU * f64::from(i) / f64::from(count)).sin_cos();
                (middle + radius * cos, middle + radius * sin)
            })
        };
        let buildings = lattice()
            .filter(|place| !is_built(place))
            .map(|(x, y)| (x + noise(0.3), y + noise(0.3)));
        let buildings = Self::of(buildings.map(at));
        let rings = (0..14).flat_map(|ring| around(1.5 * 1.28f64.powi(ring), 180));
        let is_within = |&(x, y): &(f64, f64)| x.min(y) >= 0.0 && x.max(y) <= side;
        let lake = |x: f64, y: f64| f64::hypot(x - 0.6 * side, y - 0.4 * side) > 0.25 * side;
        let pond = |x: f64, y: f64| f64::hypot(x - 0.2 * side, y - 0.8 * side) > 0.08 * side;
        let shores = Self::uniform((side * side / 3.0) as usize, [0.0, 0.0, side, side], 5, value);
        let shores = (0..shores.len()).map(|i| (shores.x[i], shores.y[i]));
        let shores = shores.filter(|&(x, y)| lake(x, y) && pond(x, y));
        let lines = |apart: f64| {
            Self::of(steps(apart).flat_map(|y| steps(0.5).map(move |x| (x, y))).map(at))
        };
        vec![
            ("lines 5 apart", lines(5.0)),
            ("lines 11 apart", lines(11.0)),
            ("lines 15 apart", lines(15.0)),
            ("lines 18 apart", lines(18.0)),
            ("lines 25 apart", lines(25.0)),
            ("lines 40 apart", lines(40.0)),
            ("buildings", buildings),
            ("rings of a scanner", Self::of(rings.filter(is_within).map(at))),
            ("voids", Self::of(shores.map(at))),
        ]
    }

    /// The cloud's shape on the globe, as longitudes and latitudes: 170 degrees wide or high, across the antimeridian.
    pub fn on_globe(mut self) -> Self {
        let range = |column: &[f64]| {
            let fold = |f: fn(f64, f64) -> f64, start| column.iter().copied().fold(start, f);
            (fold(f64::min, f64::INFINITY), fold(f64::max, f64::NEG_INFINITY))
        };
        let (x, y) = (range(&self.x), range(&self.y));
        let scale = 170.0 / f64::max(x.1 - x.0, y.1 - y.0).max(1e-300);
        for x_of in &mut self.x {
            let east = 95.0 + scale * (*x_of - x.0);
            *x_of = if east > 180.0 { east - 360.0 } else { east };
        }
        self.y.iter_mut().for_each(|y_of| *y_of = scale * (*y_of - y.0) - 85.0);
        self
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

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }

    /// Calls `f` with the points and their values.
    pub fn with<R>(&self, f: impl FnOnce(gpu_core::Points<'_>) -> R) -> R {
        f(gpu_core::Points { x: &self.x, y: &self.y, values: &[&self.z] })
    }
}
