//! Nearest points of places that lie side by side, which the GPU searches for 32 at a time: those of brute force, as on
//! the CPU, bit for bit.

use gpu_core::{Bounds, Device, Points};
use proptest::prelude::*;
use quadtree_sort::gpu::{self, DeviceQuadtree, Workspace};
use quadtree_sort::{NONE, Neighbours, Params, Quadtree, build};
use testing::clouds::{self, SIDE};
use testing::{Cloud, Random};

const SQUARE: Bounds = Bounds { min_x: 0.0, min_y: 0.0, max_x: 100.0, max_y: 100.0 };

/// Numbers of neighbours: of every kernel some, and of each its most.
const EACH_K: [usize; 7] = [1, 3, 8, 9, 16, 25, 32];

/// Columns of x and y of places.
type Places = (Vec<f64>, Vec<f64>);

/// The tree of a cloud on the host, with a copy on the device under test.
struct Searcher {
    cloud: Cloud,
    tree: Quadtree,
    workspace: Workspace,
    copy: DeviceQuadtree<f64>,
}

impl Searcher {
    fn new(cloud: Cloud, params: &Params) -> Self {
        let tree = build(&Device::Cpu, Points::new(&cloud.x, &cloud.y), params, &()).unwrap();
        let gpu = testing::gpu();
        let copy = DeviceQuadtree::from_host(&gpu, &tree).unwrap();
        Self { cloud, tree, workspace: Workspace::new(&gpu).unwrap(), copy }
    }

    /// Searches on both, and compares with brute force at every `step`th place.
    fn check(&mut self, (x, y): &Places, k: usize, step: usize) {
        let gpu = self.workspace.gpu().clone();
        let (dx, dy) = (gpu.upload(x).unwrap(), gpu.upload(y).unwrap());
        let found = gpu::nearest(&mut self.workspace, &self.copy, &dx, &dy, k).unwrap();
        let found = found.to_host().unwrap();
        assert!(found == self.tree.nearest(x, y, k).unwrap(), "{k} nearest differ from the CPU's");
        for i in (0..x.len()).step_by(step) {
            assert_row(&found, i, &by_distance(&self.cloud, x[i], y[i]));
        }
    }

    /// Searches for the neighbours of the tree's own points.
    fn check_own(&mut self, k: usize, step: usize) {
        let found = gpu::nearest_of_own(&mut self.workspace, &self.copy, k).unwrap();
        let found = found.to_host().unwrap();
        let places = (self.tree.x().to_vec(), self.tree.y().to_vec());
        let wanted = self.tree.nearest(&places.0, &places.1, k).unwrap();
        assert!(found == wanted, "{k} nearest of its own differ from the CPU's");
        for i in (0..places.0.len()).step_by(step) {
            assert_row(&found, i, &by_distance(&self.cloud, places.0[i], places.1[i]));
        }
    }
}

/// The squares of all distances to a place, with the indices, in order.
fn by_distance(cloud: &Cloud, x: f64, y: f64) -> Vec<(f64, u32)> {
    let squared = |i: usize| {
        let (dx, dy) = (cloud.x[i] - x, cloud.y[i] - y);
        dx * dx + dy * dy
    };
    let mut all: Vec<(f64, u32)> = (0..cloud.len()).map(|i| (squared(i), i as u32)).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    all
}

/// A row has the first of all points, and nothing after the last.
fn assert_row(found: &Neighbours, i: usize, all: &[(f64, u32)]) {
    let (indices, distances) = found.of(i);
    for place in 0..indices.len() {
        let (squared, index) = all.get(place).copied().unwrap_or((f64::INFINITY, NONE));
        let found = (distances[place].to_bits(), indices[place]);
        assert_eq!(found, (squared.sqrt().to_bits(), index), "place {i}, neighbour {place}");
    }
}

/// Places at random in a rectangle.
fn places(count: usize, west: f64, south: f64, side: f64, seed: u64) -> Places {
    let mut random = Random::new(seed);
    let place = |_| (random.between(west, west + side), random.between(south, south + side));
    (0..count).map(place).unzip()
}

fn uniform(count: usize, seed: u64) -> Cloud {
    let (x, y) = places(count, 0.0, 0.0, 100.0, seed);
    Cloud::of(x.into_iter().zip(y).map(|(x, y)| (x, y, 0.0)))
}

#[test]
fn uniform_points_have_the_same_neighbours_whatever_their_number() {
    for (max_level, threshold) in [(16, 20), (31, 1), (6, 300), (0, 20)] {
        let params = Params::new().bounds(SQUARE).max_level(max_level).threshold(threshold);
        let mut searcher = Searcher::new(uniform(1500, 1), &params);
        for k in EACH_K {
            searcher.check(&places(700, -10.0, -10.0, 120.0, 2), k, 41);
            searcher.check_own(k, 67);
        }
    }
}

#[test]
fn places_are_of_any_number() {
    let mut searcher = Searcher::new(uniform(200, 3), &Params::new());
    for count in [25, 31, 32, 33, 63, 64, 65, 127, 128, 129] {
        searcher.check(&places(count, 0.0, 0.0, 100.0, count as u64), 8, 1);
    }
}

#[test]
fn points_of_every_cloud_have_the_neighbours_of_brute_force() {
    for (cloud, others) in clouds::all(900, 4).zip(clouds::all(300, 5)) {
        println!("{}", cloud.name);
        for (threshold, numbers) in [(4, &[8][..]), (20, &[1, 32])] {
            let params = Params::new().threshold(threshold).square(threshold == 4);
            let mut searcher = Searcher::new(cloud.clone(), &params);
            for &k in numbers {
                searcher.check_own(k, 67);
                // Places of a cloud of its own, and of the whole square.
                searcher.check(&(others.x.clone(), others.y.clone()), k, 41);
                searcher.check(&places(300, -0.1 * SIDE, -0.1 * SIDE, 1.2 * SIDE, 6), k, 41);
            }
        }
    }
}

#[test]
fn fewer_points_than_wanted_are_all_taken() {
    for count in [1, 2, 7, 8, 9, 10, 31, 40] {
        let mut searcher = Searcher::new(uniform(count, 6), &Params::new());
        for k in [8, 16, 32] {
            searcher.check(&places(150, -50.0, -50.0, 200.0, 7), k, 1);
            searcher.check_own(k, 1);
        }
    }
}

#[test]
fn equal_distances_and_equal_points_go_by_their_index() {
    let shuffled = |i: u32| i * 7919 % 900;
    let lattice = |i: u32| (f64::from(shuffled(i) % 30), f64::from(shuffled(i) / 30), 0.0);
    let mut searcher = Searcher::new(Cloud::of((0..900).map(lattice)), &Params::new());
    let between: Places =
        (0..3600).map(|i| (0.5 * f64::from(i % 60), 0.5 * f64::from(i / 60))).unzip();
    for k in [3, 8, 12] {
        searcher.check(&between, k, 37);
        searcher.check_own(k, 13);
    }
    // Ten points in each place.
    let some = uniform(60, 8);
    let ten = |i: usize| (some.x[i % 60], some.y[i % 60], 0.0);
    let mut searcher = Searcher::new(Cloud::of((0..600).map(ten)), &Params::new());
    searcher.check_own(8, 7);
    searcher.check(&places(500, 0.0, 0.0, 100.0, 9), 12, 11);
}

#[test]
fn places_far_outside_and_those_that_are_none_are_answered() {
    let cloud = uniform(800, 13);
    let (mut x, mut y) = places(640, 0.0, 0.0, 100.0, 14);
    for i in 0..40 {
        (x[i * 16], y[i * 16 + 3]) = (1e3 * (i as f64 - 20.0), -1e12);
        (x[i * 16 + 5], y[i * 16 + 9]) = (1e30, -1e200);
    }
    let wanted = |place: usize| by_distance(&cloud, x[place], y[place]);
    let tree = build(&Device::Cpu, Points::new(&cloud.x, &cloud.y), &Params::new(), &()).unwrap();
    let gpu = testing::gpu();
    let copy = DeviceQuadtree::from_host(&gpu, &tree).unwrap();
    let mut workspace = Workspace::new(&gpu).unwrap();
    let mut none = x.clone();
    // What is no place finds nothing, among places that are searched with it.
    (0..64).for_each(|i| none[i * 10 + 7] = [f64::NAN, f64::INFINITY, -f64::INFINITY][i % 3]);
    for k in [1, 8, 16, 32] {
        let (dx, dy) = (gpu.upload(&none).unwrap(), gpu.upload(&y).unwrap());
        let found = gpu::nearest(&mut workspace, &copy, &dx, &dy, k).unwrap().to_host().unwrap();
        for (i, x) in none.iter().enumerate() {
            let all = if x.is_finite() { wanted(i) } else { Vec::new() };
            assert_row(&found, i, &all);
        }
    }
}

#[test]
fn lengths_of_any_magnitude_are_searched_alike() {
    for (scale, offset) in [(1e-30, 0.0), (1e30, 0.0), (1e-3, 5e6), (1e-8, 5e6), (1e-12, 0.7)] {
        let unit = uniform(700, 15);
        let scaled = |v: &f64| offset + scale * v;
        let cloud = Cloud::of(unit.x.iter().zip(&unit.y).map(|(x, y)| (scaled(x), scaled(y), 0.0)));
        let mut searcher = Searcher::new(cloud, &Params::new());
        searcher.check_own(8, 17);
        let (x, y) = places(300, -5.0, -5.0, 110.0, 16);
        let scaled = (x.iter().map(scaled).collect(), y.iter().map(scaled).collect());
        searcher.check(&scaled, 8, 17);
    }
}

#[test]
fn f32_trees_give_what_their_widened_ones_do() {
    let gpu = testing::gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    for cloud in [clouds::uniform(3000, 17), clouds::heaps(3000, 18)] {
        let narrow = |column: &[f64]| column.iter().map(|&v| v as f32).collect::<Vec<f32>>();
        let (x, y) = (narrow(&cloud.x), narrow(&cloud.y));
        let (dx, dy) = (gpu.upload(&x).unwrap(), gpu.upload(&y).unwrap());
        let tree = gpu::build(&mut workspace, &dx, &dy, &Params::new()).unwrap();
        let on_host = tree.to_host().unwrap();
        for k in EACH_K {
            let found = gpu::nearest_of_own(&mut workspace, &tree, k).unwrap().to_host().unwrap();
            assert!(found == on_host.nearest(on_host.x(), on_host.y(), k).unwrap(), "own, {k}");
            let found = gpu::nearest(&mut workspace, &tree, &dy, &dx, k).unwrap();
            let wide = |column: &[f32]| column.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
            let wanted = on_host.nearest(&wide(&y), &wide(&x), k).unwrap();
            assert!(found.to_host().unwrap() == wanted, "others, {k}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn points_at_random_have_the_neighbours_of_brute_force(
        points in prop::collection::vec((0..40u32, 0..40u32, 0..3u32), 1..400),
        others in prop::collection::vec((-30..70i32, -30..70i32, 0..2u32), 100..300),
        k in 1..33usize,
        threshold in 1..40u32,
    ) {
        // Some on a lattice, so that many are as far from each other; some beside it.
        let cloud = Cloud::of(points.iter().map(|&(x, y, step)| {
            let beside = f64::from(step * 7) / 31.0;
            (f64::from(x) + beside, f64::from(y) - beside * 1e-6, 0.0)
        }));
        let places: Places = others
            .iter()
            .map(|&(x, y, step)| (f64::from(x) + f64::from(step) * 0.3, f64::from(y)))
            .unzip();
        let mut searcher = Searcher::new(cloud, &Params::new().threshold(threshold));
        searcher.check(&places, k, 3);
        searcher.check_own(k, 3);
    }
}
