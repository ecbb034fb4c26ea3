//! The index of points, and its searches: those of brute force, on the CPU and on the device, bit for bit.

use gpu_core::{Bounds, Device, Points};
use quadtree_sort::gpu::{self, DeviceIndex, Workspace};
use quadtree_sort::{Error, Index, NONE, Neighbours, Params, build, index};
use testing::clouds::{self, SIDE};
use testing::{Cloud, Random};

/// Numbers of neighbours: of every kernel some, and of each its most.
const EACH_K: [usize; 10] = [1, 3, 8, 9, 16, 25, 32, 64, 65, 100];

/// Columns of x and y of places.
type Places = (Vec<f64>, Vec<f64>);

/// The index of a cloud on the host, and the one that the device under test makes.
struct Searcher {
    cloud: Cloud,
    index: Index,
    workspace: Workspace,
    on_device: DeviceIndex<f64>,
}

impl Searcher {
    fn new(cloud: Cloud) -> Self {
        let index = index(&Device::Cpu, Points::new(&cloud.x, &cloud.y), None).unwrap();
        let gpu = testing::gpu();
        let mut workspace = Workspace::new(&gpu).unwrap();
        let (x, y) = (gpu.upload(&cloud.x).unwrap(), gpu.upload(&cloud.y).unwrap());
        let on_device = gpu::index(&mut workspace, &x, &y, None).unwrap();
        let copied = on_device.to_host().unwrap();
        assert_eq!(copied.order(), index.order(), "{}", cloud.name);
        assert_eq!((copied.x(), copied.y()), (index.x(), index.y()), "{}", cloud.name);
        Self { cloud, index, workspace, on_device }
    }

    /// Searches on both, and compares with brute force at every `step`th place.
    fn check(&mut self, (x, y): &Places, k: usize, step: usize) {
        let gpu = self.workspace.gpu().clone();
        let (dx, dy) = (gpu.upload(x).unwrap(), gpu.upload(y).unwrap());
        let found = self.index.nearest(x, y, k).unwrap();
        for i in (0..x.len()).step_by(step) {
            assert_row(self.cloud.name, &found, i, &by_distance(&self.cloud, x[i], y[i]));
        }
        let on_device = gpu::nearest(&mut self.workspace, &self.on_device, &dx, &dy, k).unwrap();
        self.assert_same(&on_device.to_host().unwrap(), &found);
    }

    /// Searches for the neighbours of the cloud's own points.
    fn check_own(&mut self, k: usize, step: usize) {
        let places = (self.index.x().to_vec(), self.index.y().to_vec());
        let found = self.index.nearest(&places.0, &places.1, k).unwrap();
        for i in (0..places.0.len()).step_by(step) {
            let all = by_distance(&self.cloud, places.0[i], places.1[i]);
            assert_row(self.cloud.name, &found, i, &all);
        }
        let own = gpu::nearest_of_own(&mut self.workspace, &self.on_device, k).unwrap();
        self.assert_same(&own.to_host().unwrap(), &found);
    }

    fn assert_same(&self, on_device: &Neighbours, found: &Neighbours) {
        let (name, k) = (self.cloud.name, found.k);
        if let Some(i) =
            (0..found.indices.len()).find(|&i| on_device.indices[i] != found.indices[i])
        {
            let place = i / k;
            panic!(
                "{name}, {k} nearest, place {place}: {:?} for {:?}",
                on_device.of(place),
                found.of(place)
            );
        }
        assert!(on_device.distances == found.distances, "{name}, {k} nearest");
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
fn assert_row(name: &str, found: &Neighbours, i: usize, all: &[(f64, u32)]) {
    let (indices, distances) = found.of(i);
    for place in 0..indices.len() {
        let (squared, index) = all.get(place).copied().unwrap_or((f64::INFINITY, NONE));
        let found = (distances[place].to_bits(), indices[place]);
        let wanted = (squared.sqrt().to_bits(), index);
        assert_eq!(
            found,
            wanted,
            "{name}, {} nearest, place {i}, neighbour {place}",
            indices.len()
        );
    }
}

/// Places at random in a rectangle.
fn places(count: usize, west: f64, south: f64, side: f64, seed: u64) -> Places {
    let mut random = Random::new(seed);
    let place = |_| (random.between(west, west + side), random.between(south, south + side));
    (0..count).map(place).unzip()
}

/// The cloud with all coordinates multiplied.
fn scaled(mut cloud: Cloud, by: f64) -> Cloud {
    cloud.x.iter_mut().chain(&mut cloud.y).for_each(|along| *along *= by);
    cloud
}

#[test]
fn neighbours_of_every_cloud_are_those_of_brute_force() {
    for (which, cloud) in clouds::all(1500, 1).enumerate() {
        let mut searcher = Searcher::new(cloud);
        // Every kernel on some clouds, and on each cloud several.
        for k in EACH_K.into_iter().skip(which % 3).step_by(3) {
            searcher.check_own(k, 67);
            searcher.check(&places(300, -0.1 * SIDE, -0.1 * SIDE, 1.2 * SIDE, 2), k, 23);
        }
    }
}

#[test]
fn points_that_share_places_are_told_apart_by_their_index() {
    // More than a list holds at each place, and so many places that leaves hold one and several.
    for places_of_points in [1, 2, 40] {
        let place = |i: usize| (i * 7 % places_of_points) as f64;
        let cloud = Cloud::of((0..3000).map(|i| (place(i), 2.0 * place(i), 0.0)));
        let mut searcher = Searcher::new(cloud);
        for k in EACH_K {
            searcher.check(&places(70, -1.0, -1.0, 42.0, 3), k, 7);
            searcher.check(&(vec![0.0, 1.0], vec![0.0, 2.0]), k, 1);
        }
    }
}

#[test]
fn a_place_is_passed_over_only_after_as_many_points_as_are_wanted() {
    // 64 points at the end of the curve, among which one of another place has the same code; the last is alone in its leaf.
    let others = clouds::uniform(1984, 17);
    let mut cloud = Cloud::of([(0.0, 0.0, 0.0), (0.0, 1.0, 0.0)]);
    (2..1984).for_each(|i| cloud.push((0.9 * others.x[i] / SIDE, 0.9 * others.y[i] / SIDE, 0.0)));
    (0..65).for_each(|i| cloud.push((if i == 40 { 1.0 - 1e-9 } else { 1.0 }, 0.0, 0.0)));
    let mut searcher = Searcher::new(cloud);
    assert_eq!(searcher.index.order()[1984..], (1984..2049).collect::<Vec<u32>>());
    for k in [32, 64, 65] {
        searcher.check(&(vec![1.0, 0.99], vec![0.0, 0.01]), k, 1);
    }
}

#[test]
fn equal_distances_are_in_the_order_of_indices() {
    // Places in the middles of a lattice's cells, and at its points.
    let cloud = clouds::lattice(1600, 5);
    let step = cloud.x.iter().copied().filter(|&x| x > 0.0).fold(f64::INFINITY, f64::min);
    let mut searcher = Searcher::new(cloud);
    let middles = |offset: f64| -> Places {
        (0..400)
            .map(|i| ((f64::from(i % 20) + offset) * step, (f64::from(i / 20) + offset) * step))
            .unzip()
    };
    for k in EACH_K {
        searcher.check(&middles(0.5), k, 31);
        searcher.check(&middles(1.0), k, 31);
    }
    // A place with all points as far from it.
    let circle = |i: usize| {
        let (a, b) = [(3.0, 4.0), (4.0, 3.0), (5.0, 0.0), (0.0, 5.0)][i % 4];
        let signed =
            |along: f64, turn: usize| if (i / turn).is_multiple_of(2) { along } else { -along };
        (signed(a, 4), signed(b, 8), 0.0)
    };
    let mut searcher = Searcher::new(Cloud::of((0..500).map(circle)));
    for k in EACH_K {
        searcher.check(&(vec![0.0; 33], vec![0.0; 33]), k, 1);
    }
}

#[test]
fn coordinates_of_any_size_keep_their_order() {
    for scale in [1e-140, 1e-133, 1e-30, 1e30, 1e140, 1e147] {
        let mut searcher = Searcher::new(scaled(clouds::heaps(1000, 7), scale));
        let (x, y) = places(100, 0.0, 0.0, SIDE, 8);
        let places = (x.iter().map(|x| x * scale).collect(), y.iter().map(|y| y * scale).collect());
        for k in [1, 8, 64, 70] {
            searcher.check(&places, k, 9);
            searcher.check_own(k, 97);
        }
    }
}

#[test]
fn points_whose_squared_distances_overflow_are_found_in_the_order_of_their_indices() {
    let far =
        Cloud::of((0..100).map(|i| (1e200 * f64::from(1 + i % 7), 1e160 * f64::from(i), 0.0)));
    let index = index(&Device::Cpu, Points::new(&far.x, &far.y), None).unwrap();
    let tree = build(&Device::Cpu, Points::new(&far.x, &far.y), &Params::new()).unwrap();
    for k in [1, 2, 8, 40, 100, 170] {
        let ([x, y], all) = ([-1e200, 0.0], by_distance(&far, -1e200, 0.0));
        assert_row("index", &index.nearest(&[x], &[y], k).unwrap(), 0, &all);
        assert_row("tree", &tree.nearest(&[x], &[y], k).unwrap(), 0, &all);
    }
}

#[test]
fn places_far_from_all_points_have_neighbours_too() {
    let mut searcher = Searcher::new(clouds::uniform(2000, 9));
    for far in [1e4, 1e9, 1e15] {
        let mut places = places(60, far, -far, SIDE, 10);
        // In one group with places among the points.
        places.0[30] = 1.0;
        places.1[30] = 2.0;
        for k in [1, 16, 80] {
            searcher.check(&places, k, 1);
        }
    }
}

#[test]
fn far_places_that_would_see_thousands_of_points_together_have_the_neighbours_of_brute_force() {
    let lines = [
        clouds::zigzag,
        clouds::axis_line,
        clouds::oblique_line,
        clouds::circle,
        clouds::annulus,
        clouds::corridor,
    ];
    for (which, generator) in lines.into_iter().enumerate() {
        let cloud = scaled(generator(20_000, 18), [1.0, 1e-140, 1e140][which % 3]);
        let scale = cloud.x.iter().fold(0.0, |most, &x| f64::max(most, x)) / SIDE;
        let (x, y) = places(96, -0.1 * SIDE, -0.1 * SIDE, 1.2 * SIDE, 19);
        let [x, y] = [x, y].map(|along| along.iter().map(|along| along * scale).collect());
        let places = (x, y);
        let mut searcher = Searcher::new(cloud);
        for k in [1, 12, 33, 64] {
            searcher.check(&places, k, 17);
        }
    }
    // Three points at each place of a line, and a hundred at one: seen from afar, all in pairs at the same distance.
    let place = |i: usize| if i < 100 { 2500 } else { i % 5000 } as f64;
    let mut searcher = Searcher::new(Cloud::of((0..15_000).map(|i| (place(i), 0.0, 0.0))));
    let (x, y) = places(96, 0.0, 3000.0, 5000.0, 20);
    let places = (x.iter().map(|x| (2.0 * x).round() / 2.0).collect(), y);
    for k in [1, 12, 33, 64] {
        searcher.check(&places, k, 17);
    }
}

#[test]
fn places_are_of_any_number_and_points_too() {
    for points in [1, 2, 31, 32, 33, 64, 65, 1023, 1024, 1025, 1057] {
        let mut searcher = Searcher::new(clouds::uniform(points, points as u64));
        for (count, k) in [(1, 8), (31, 5), (33, 16), (65, 20), (128, 40), (129, 70)] {
            searcher.check(&places(count, 0.0, 0.0, SIDE, count as u64), k, 5);
        }
    }
}

#[test]
fn clusters_that_the_curve_cannot_divide_are_ordered_by_ranks() {
    // A thousand points in less than one cell of the curve, and as many about the same place.
    let mut random = Random::new(11);
    let mut cloud = Cloud::of([(0.0, 0.0, 0.0), (1e12, 1e12, 0.0)]);
    for _ in 0..1000 {
        cloud.push((random.between(0.0, 1.0), random.between(0.0, 1.0), 0.0));
        cloud.push((5e11, 5e11, 0.0));
    }
    let mut searcher = Searcher::new(cloud);
    for k in [1, 8, 64, 100] {
        searcher.check(&places(200, 0.0, 0.0, 1.0, 12), k, 19);
        searcher.check_own(k, 201);
    }
    // Leaves that follow each other are near each other: their boxes hardly overlap.
    let leaves = searcher.index.x().chunks(32).zip(searcher.index.y().chunks(32));
    let areas = leaves.map(|(x, y)| length(x) * length(y));
    let within_one: f64 = areas.filter(|&area| area <= 1.0).sum();
    assert!(within_one < 3.0, "{within_one}");
}

/// The half perimeters of an index's leaves, but for those that reach from one heap to another.
fn half_perimeters(index: &Index) -> f64 {
    let leaves = index.x().chunks(32).zip(index.y().chunks(32));
    let sides = leaves.map(|leaf| <[&[f64]; 2]>::from(leaf).map(length));
    sides.map(|[x, y]| x + y).filter(|&sum| sum < 1000.0).sum()
}

/// The length of the range of some numbers.
fn length(numbers: &[f64]) -> f64 {
    let range = numbers.iter().fold((f64::MAX, f64::MIN), |r, &v| (r.0.min(v), r.1.max(v)));
    range.1 - range.0
}

#[test]
fn heaps_within_a_cell_have_leaves_as_tight_as_alone() {
    let mut random = Random::new(17);
    let (mut cloud, mut alone) = (Cloud::of([]), 0.0);
    for heap in 0..20 {
        // Up to 10 wide, where a cell of the curve is 15.
        let width = 10.0_f64.powi(heap % 4 - 2);
        let [x, y] = [random.between(0.0, 1e6), random.between(0.0, 1e6)];
        let mut place = || (x + random.between(0.0, width), y + random.between(0.0, width), 0.0);
        let heap = Cloud::of((0..1024).map(|_| place()));
        alone += half_perimeters(&Searcher::new(heap.clone()).index);
        heap.x.iter().zip(&heap.y).for_each(|(&x, &y)| cloud.push((x, y, 0.0)));
    }
    let perimeters = half_perimeters(&Searcher::new(cloud).index);
    assert!(perimeters < 1.2 * alone, "{perimeters}, each heap alone {alone}");
}

#[test]
fn a_graph_holds_an_index_of_points_that_are_known_to_be_finite() {
    let gpu = testing::gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    for cloud in clouds::all(700, 14) {
        let (x, y) = (gpu.upload(&cloud.x).unwrap(), gpu.upload(&cloud.y).unwrap());
        let whole = gpu::index(&mut workspace, &x, &y, None).unwrap();
        let bounds = whole.bounds();
        let unchecked = gpu::index_unchecked(&mut workspace, &x, &y, bounds).unwrap();
        let order = whole.order().to_host().unwrap();
        assert_eq!(unchecked.order().to_host().unwrap(), order, "{}", cloud.name);
        let mut held = None;
        let graph = gpu.capture::<Error>(|| {
            held = Some(gpu::index_unchecked(&mut workspace, &x, &y, bounds)?);
            Ok(())
        });
        let (graph, held) = (graph.unwrap(), held.unwrap());
        // SAFETY: what the graph uses is alive, and nothing else runs.
        unsafe { graph.launch().unwrap() };
        let (px, py) = places(80, -0.1 * SIDE, -0.1 * SIDE, 1.2 * SIDE, 15);
        let (px, py) = (gpu.upload(&px).unwrap(), gpu.upload(&py).unwrap());
        let mut nearest = |index: &DeviceIndex<f64>| {
            gpu::nearest(&mut workspace, index, &px, &py, 7).unwrap().to_host().unwrap()
        };
        assert_eq!(nearest(&held), nearest(&whole), "{}", cloud.name);
    }
}

#[test]
fn without_points_there_are_no_neighbours() {
    let gpu = testing::gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    let nothing = gpu.upload::<f64>(&[]).unwrap();
    let index = gpu::index(&mut workspace, &nothing, &nothing, None).unwrap();
    let place = gpu.upload(&[1.0]).unwrap();
    for k in [1, 64, 65] {
        let found =
            gpu::nearest(&mut workspace, &index, &place, &place, k).unwrap().to_host().unwrap();
        assert_eq!(found.indices, vec![NONE; k]);
        assert!(found.distances.iter().all(|distance| distance.is_infinite()));
        assert_eq!(found, index.to_host().unwrap().nearest(&[1.0], &[1.0], k).unwrap());
    }
}

#[test]
fn places_that_are_not_finite_have_no_neighbours_on_the_device() {
    let gpu = testing::gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    let cloud = clouds::uniform(300, 13);
    let (x, y) = (gpu.upload(&cloud.x).unwrap(), gpu.upload(&cloud.y).unwrap());
    let index = gpu::index(&mut workspace, &x, &y, None).unwrap();
    let px = gpu.upload(&[1.0, f64::NAN, f64::INFINITY, 5.0]).unwrap();
    let py = gpu.upload(&[1.0, 1.0, 2.0, f64::NEG_INFINITY]).unwrap();
    for k in [2, 70] {
        let found = gpu::nearest(&mut workspace, &index, &px, &py, k).unwrap().to_host().unwrap();
        assert_row("uniform", &found, 0, &by_distance(&cloud, 1.0, 1.0));
        assert!(found.indices[k..].iter().all(|&index| index == NONE));
    }
}

#[test]
fn points_of_f32_are_searched_as_their_f64() {
    let gpu = testing::gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    for cloud in [clouds::heaps(1200, 14), clouds::tracks(1200, 15), clouds::lattice(1200, 16)] {
        let narrow = |column: &[f64]| -> Vec<f32> { column.iter().map(|&v| v as f32).collect() };
        let (x, y) = (narrow(&cloud.x), narrow(&cloud.y));
        let wide = |column: &[f32]| -> Vec<f64> { column.iter().map(|&v| v.into()).collect() };
        let (wide_x, wide_y) = (wide(&x), wide(&y));
        let wanted = index(&Device::Cpu, Points::new(&wide_x, &wide_y), None).unwrap();
        let (x, y) = (gpu.upload(&x).unwrap(), gpu.upload(&y).unwrap());
        let on_device = gpu::index(&mut workspace, &x, &y, None).unwrap();
        assert_eq!(on_device.to_host().unwrap().order(), wanted.order());
        for k in [1, 8, 24, 64, 65] {
            let found =
                gpu::nearest_of_own(&mut workspace, &on_device, k).unwrap().to_host().unwrap();
            assert_eq!(found, wanted.nearest(wanted.x(), wanted.y(), k).unwrap(), "{k}");
            let found =
                gpu::nearest(&mut workspace, &on_device, &y, &x, k).unwrap().to_host().unwrap();
            assert_eq!(found, wanted.nearest(&wide_y, &wide_x, k).unwrap(), "{k}");
        }
    }
}

#[test]
fn what_cannot_be_indexed_is_refused_alike_on_all_devices() {
    let square = |side: f64| Some(Bounds { min_x: 0.0, min_y: 0.0, max_x: side, max_y: side });
    for device in testing::devices() {
        let of = |x: &[f64], y: &[f64], bounds| index(&device, Points::new(x, y), bounds);
        assert!(matches!(of(&[1.0], &[], None), Err(Error::Core(gpu_core::Error::Length { .. }))));
        let not_finite =
            |index, what| gpu_core::Error::NotFinite { what, index, value: f64::INFINITY };
        let x = [1.0, 2.0, f64::INFINITY, f64::INFINITY];
        assert_eq!(of(&x, &[0.0; 4], None).unwrap_err(), not_finite(2, "x").into());
        assert_eq!(of(&[0.0; 4], &x, square(5.0)).unwrap_err(), not_finite(2, "y").into());
        let outside = Error::Outside { index: 1, x: 6.0, y: 1.0 };
        assert_eq!(of(&[1.0, 6.0, 7.0], &[1.0; 3], square(5.0)).unwrap_err(), outside);
        assert!(matches!(of(&[1.0], &[1.0], square(-1.0)), Err(Error::Bounds { .. })));
        assert!(matches!(of(&[-1e308, 1e308], &[1.0; 2], None), Err(Error::Bounds { .. })));
        assert!(of(&[1.0, 5.0], &[0.0, 2.0], square(5.0)).is_ok());
    }
}
