//! A DEM made in parts, each from the points within reach and the whole's range of values. By the method on pixels a
//! part has the whole's bits, and by the exact method its values to rounding.

use gpu_core::{Bounds, Device, GridSpec, Points, ValueRange};
use nni_grid::{Dependence, Duplicates, Input, Params, Weights};
use testing::{Cloud, Random, bits, devices};

const SIDE: u32 = 40;

/// Points, and how the whole is made of them.
struct Case {
    x: Vec<f64>,
    y: Vec<f64>,
    z: Vec<f64>,
    params: Params,
    /// Whether the ground ends at the grid, so that cells have nothing to take beyond it.
    is_edge: bool,
}

/// The cells of the whole.
fn whole_grid() -> GridSpec {
    GridSpec::new(0.0, SIDE.into(), 1.0, SIDE, SIDE).unwrap()
}

impl Case {
    /// Sparse or dense points around a grid, on the half of it or all of it.
    fn random(random: &mut Random) -> Self {
        let most = [40, 1500][random.below(2) as usize];
        let count = 5 + random.below(most) as usize;
        // Multiples of 2^-20, so that differences of coordinates are exact.
        let step = 1.0 / f64::from(1 << 20);
        let mut column = |low: f64, high: f64| -> Vec<f64> {
            (0..count).map(|_| (random.between(low, high) / step).round() * step).collect()
        };
        let (x, y, z) = (column(-8.0, 48.0), column(-8.0, 48.0), column(0.0, 300.0));
        let (low, high) = z.iter().fold((f64::MAX, f64::MIN), |(a, b), &v| (a.min(v), b.max(v)));
        let region = random.between(1.0, 9.0);
        let params = Params::on_pixels()
            .region_of_influence(region)
            .query_radius(random.between(0.3, 6.0))
            .supersample(1 + random.below(4) as u32)
            .duplicates(Duplicates::ALL[random.below(5) as usize])
            .max_distance(if random.below(2) == 0 { 9.0 } else { 3.0 })
            .value_range(ValueRange { min: low - 1.0, max: high });
        Self { x, y, z, params, is_edge: random.below(2) == 0 }
    }

    /// How far a point may lie from a cell whose value it changes. A point within the region of influence of a pixel
    /// gives that pixel its value unless another site is nearer, and the pixel is within the query radius.
    fn reach(&self) -> f64 {
        let Params { region_of_influence, query_radius, .. } = self.params;
        let reach = region_of_influence + 2.0 * query_radius;
        reach.ceil() + 2.0
    }

    /// The cells from the columns and rows `from` on and before `to`. They are made with a margin as wide as points
    /// reach; at an edge the margin ends with the whole's grid.
    fn part(&self, device: &Device, from: (u32, u32), to: (u32, u32)) -> Vec<f32> {
        let reach = self.reach();
        let (low, high) = match self.is_edge {
            true => (0.0, f64::from(SIDE)),
            false => (f64::NEG_INFINITY, f64::INFINITY),
        };
        let before = |first: u32| (f64::from(first) - reach).max(low);
        let behind = |end: u32| (f64::from(end) + reach).min(high);
        let (west, north) = (before(from.0), before(from.1));
        let (width, height) = ((behind(to.0) - west) as u32, (behind(to.1) - north) as u32);
        let grid = GridSpec::new(west, f64::from(SIDE) - north, 1.0, width, height).unwrap();
        let is_near = |&i: &usize| {
            let (column, row) = (self.x[i], f64::from(SIDE) - self.y[i]);
            let near = |from: u32, to: u32| f64::from(from) - reach..=f64::from(to) + reach;
            near(from.0, to.0).contains(&column) && near(from.1, to.1).contains(&row)
        };
        let near: Vec<usize> = (0..self.x.len()).filter(is_near).collect();
        let of = |column: &[f64]| near.iter().map(|&i| column[i]).collect::<Vec<f64>>();
        let values = self.dem(device, grid, [of(&self.x), of(&self.y), of(&self.z)]);
        let (left, top) =
            ((f64::from(from.0) - west) as usize, (f64::from(from.1) - north) as usize);
        let rows = values.chunks_exact(width as usize).skip(top).take((to.1 - from.1) as usize);
        rows.flat_map(|row| row[left..left + (to.0 - from.0) as usize].to_vec()).collect()
    }

    fn dem(&self, device: &Device, grid: GridSpec, [x, y, z]: [Vec<f64>; 3]) -> Vec<f32> {
        let points = Points { x: &x, y: &y, values: &[&z] };
        let dem = nni_grid::interpolate(device, Input::new(points, grid), &self.params).unwrap();
        dem.values[0].values().to_vec()
    }

    /// Some parts and what the whole has there.
    fn parts(&self, device: &Device, random: &mut Random) -> Vec<[Vec<f32>; 2]> {
        let whole = match self.is_edge {
            true => {
                let columns = [&self.x, &self.y, &self.z].map(|column| column.to_vec());
                self.dem(device, whole_grid(), columns)
            }
            false => self.part(device, (0, 0), (SIDE, SIDE)),
        };
        let mut parts = vec![];
        for _ in 0..3 {
            let [a, b, c, d] = [(); 4].map(|()| random.below(SIDE.into()) as u32);
            let (from, to) = ((a.min(b), c.min(d)), (a.max(b) + 1, c.max(d) + 1));
            let rows = whole.chunks_exact(SIDE as usize);
            let rows = rows.skip(from.1 as usize).take((to.1 - from.1) as usize);
            let expected =
                rows.flat_map(|row| row[from.0 as usize..to.0 as usize].to_vec()).collect();
            parts.push([self.part(device, from, to), expected]);
        }
        parts
    }
}

#[test]
fn parts_on_pixels_have_the_bits_of_the_whole() {
    for device in devices() {
        let mut random = Random::new(7);
        for case in 0..if matches!(device, Device::Cpu) { 400 } else { 15 } {
            let points = Case::random(&mut random);
            for [part, expected] in points.parts(&device, &mut random) {
                assert!(bits(&part) == bits(&expected), "case {case}, {:?}", points.params);
            }
        }
    }
}

/// The points that a part depends on, as indices, found within halos that double from the least there is.
fn needed(cloud: &Cloud, grid: GridSpec, params: &Params) -> Vec<usize> {
    let all = Bounds::of(&cloud.x, &cloud.y).unwrap();
    let mut dependence = Dependence::new(grid, params, all).unwrap();
    let b = grid.bounds();
    let within = |halo: f64| Bounds {
        min_x: b.min_x - halo,
        min_y: b.min_y - halo,
        max_x: b.max_x + halo,
        max_y: b.max_y + halo,
    };
    let is_in = |b: &Bounds, i: usize| {
        let (x, y) = (cloud.x[i], cloud.y[i]);
        b.min_x <= x && x <= b.max_x && b.min_y <= y && y <= b.max_y
    };
    let mut halo = params.max_distance;
    let mut is_kept: Vec<bool> = (0..cloud.len()).map(|i| is_in(&within(halo), i)).collect();
    loop {
        let kept: Vec<usize> = (0..cloud.len()).filter(|&i| is_kept[i]).collect();
        let of = |column: &[f64]| kept.iter().map(|&i| column[i]).collect::<Vec<f64>>();
        if dependence.look(&of(&cloud.x), &of(&cloud.y), &within(halo)).unwrap() {
            return kept;
        }
        halo *= 2.0;
        assert!(halo < 1e4, "circles that reach nothing are wanted");
        let wanted = dependence.wanted(&within(halo));
        let ground = wanted.bounds().unwrap();
        for (i, is_kept) in is_kept.iter_mut().enumerate() {
            let is_wanted = wanted.holds(cloud.x[i], cloud.y[i]);
            assert!(!is_wanted || is_in(&ground, i));
            *is_kept |= is_wanted;
        }
    }
}

#[test]
fn exact_parts_of_what_they_depend_on_are_the_whole_beside_gaps_too() {
    let height = |x: f64, y: f64| 10.0 * (x / 19.0).sin() * (y / 22.0).cos() + 0.05 * x;
    let mut clouds = Cloud::with_gaps(120.0, height);
    let square = [0.0, 0.0, 120.0, 120.0];
    clouds.push(("few points", Cloud::uniform(30, square, 4, height)));
    clouds.push(("many points", Cloud::uniform(20_000, square, 4, height)));
    let heaps = testing::clouds::heaps(2000, 4);
    let scaled = (0..2000).map(|i| (0.12 * heaps.x[i], 0.12 * heaps.y[i]));
    clouds.push(("heaps", Cloud::of(scaled.map(|(x, y)| (x, y, height(x, y))))));
    let mut random = Random::new(9);
    for (what, cloud) in clouds {
        let grid = GridSpec::new(0.0, 120.0, 1.0, 120, 120).unwrap();
        let (mut read, mut others, mut cells) = (0, 0, 0);
        for weights in [Weights::Sibson, Weights::Laplace] {
            let params = Params::new()
                .weights(weights)
                .max_distance([3.0, 10.0][random.below(2) as usize])
                .value_range(ValueRange { min: -20.0, max: 20.0 });
            let dem = |cloud: &Cloud, grid: GridSpec| {
                let made = cloud.with(|points| {
                    nni_grid::interpolate(&Device::Cpu, Input::new(points, grid), &params)
                });
                made.unwrap().values[0].values().to_vec()
            };
            let whole = dem(&cloud, grid);
            for _ in 0..6 {
                let [column, row] = [(); 2].map(|()| random.below(100) as u32);
                let (x, y) = (f64::from(column), 120.0 - f64::from(row));
                let part = GridSpec::new(x, y, 1.0, 20, 20).unwrap();
                let needed = needed(&cloud, part, &params);
                let point = |&i: &usize| (cloud.x[i], cloud.y[i], cloud.z[i]);
                let made = dem(&Cloud::of(needed.iter().map(point)), part);
                read += needed.len();
                let rows = whole.chunks_exact(120).skip(row as usize).take(20);
                let expected = rows.flat_map(|row| &row[column as usize..column as usize + 20]);
                for (a, b) in made.iter().zip(expected) {
                    let is_same = a.is_nan() && b.is_nan() || (a - b).abs() < 40.0 * 1.2e-7;
                    assert!(is_same, "{what}, {weights:?}: {a} and {b} in the part from {x}, {y}");
                    others += u32::from(!a.is_nan() && a.to_bits() != b.to_bits());
                    cells += 1;
                }
            }
        }
        let share = read as f64 / (12 * cloud.len()) as f64;
        println!("{what}: {:.0}% of the points, {others} of {cells} other bits", 100.0 * share);
        assert!(share < 0.7, "{what}: {share}");
    }
}

#[test]
fn what_depends_on_other_points_too_is_refused() {
    let grid = GridSpec::of_pixels(3, 3);
    let all = Bounds { min_x: 0.0, min_y: 0.0, max_x: 9.0, max_y: 9.0 };
    let exact = Params::new();
    for (params, word) in [
        (Params::on_pixels(), "pixels"),
        (exact.weights(Weights::SibsonC1), "smooth"),
        (exact.hull(true), "hull"),
    ] {
        let error = Dependence::new(grid, &params, all).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn a_range_that_is_none_is_refused() {
    let grid = GridSpec::of_pixels(3, 3);
    let points = Points { x: &[1.0], y: &[1.0], values: &[&[1.0]] };
    for (min, max) in [(2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (-1e39, 0.0)] {
        let params = Params::new().value_range(ValueRange { min, max });
        let error =
            nni_grid::interpolate(&Device::Cpu, Input::new(points, grid), &params).unwrap_err();
        assert!(error.to_string().contains("is empty, or does not fit"), "{error}");
    }
}
