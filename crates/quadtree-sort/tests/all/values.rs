//! Values of points: what a search finds has the values of the rows that brute force finds.

use gpu_core::{Bounds, Device, Points};
use quadtree_sort::{
    Disk, Error, MAX_NAME, NONE, Outside, Params, Polygons, Quadtree, Regions, ValueType, build,
};
use testing::{Cloud, Random, bits, bits64};

/// Points with a height, a class, an intensity and a number, as a survey's have.
struct Rows {
    cloud: Cloud,
    class: Vec<u8>,
    intensity: Vec<u16>,
    reflectance: Vec<f32>,
    number: Vec<i64>,
    flag: Vec<i32>,
    time: Vec<u32>,
    pulse: Vec<u64>,
}

impl Rows {
    fn new(count: usize) -> Self {
        let mut cloud = Cloud::uniform(count, [0.0, 0.0, 100.0, 60.0], 71, |x, y| (x - y).sin());
        // Some at one place.
        for i in (0..count).step_by(9) {
            (cloud.x[i], cloud.y[i]) = (31.0, 17.5);
        }
        let mut random = Random::new(72);
        Self {
            class: (0..count).map(|_| random.below(19) as u8).collect(),
            intensity: (0..count).map(|_| random.next_u64() as u16).collect(),
            reflectance: (0..count).map(|_| random.between(-1.0, 1.0) as f32).collect(),
            number: (0..count as i64).map(|i| -i << 40).collect(),
            flag: (0..count as i32).map(|i| 7 - i).collect(),
            time: (0..count as u32).collect(),
            pulse: (0..count as u64).map(|i| u64::MAX - i).collect(),
            cloud,
        }
    }

    fn points(&self) -> Points<'_> {
        Points::new(&self.cloud.x, &self.cloud.y)
    }

    /// The tree of the points, with all their values.
    fn tree(&self, params: &Params) -> Quadtree {
        let tree = build(&Device::Cpu, self.points(), params).unwrap();
        let tree = tree.with_values("z", &self.cloud.z).unwrap();
        let tree = tree.with_values("class", &self.class).unwrap();
        let tree = tree.with_values("intensity", &self.intensity).unwrap();
        let tree = tree.with_values("reflectance", &self.reflectance).unwrap();
        let tree = tree.with_values("number", &self.number).unwrap();
        let tree = tree.with_values("flag", &self.flag).unwrap();
        let tree = tree.with_values("time", &self.time).unwrap();
        tree.with_values("pulse", &self.pulse).unwrap()
    }

    /// Asserts that found points, wherever they are in the tree, have the values of their rows.
    fn assert_values(&self, tree: &Quadtree, found: &[u32]) {
        let places = tree.places_of(found).unwrap();
        assert_eq!(places.len(), found.len());
        let z: &[f64] = tree.values_of("z").unwrap();
        let class: &[u8] = tree.values_of("class").unwrap();
        let intensity: &[u16] = tree.values_of("intensity").unwrap();
        let reflectance: &[f32] = tree.values_of("reflectance").unwrap();
        let number: &[i64] = tree.values_of("number").unwrap();
        for (&place, &row) in places.iter().zip(found) {
            let (place, row) = (place as usize, row as usize);
            assert_eq!(tree.x()[place], self.cloud.x[row]);
            assert_eq!(z[place], self.cloud.z[row]);
            assert_eq!((class[place], intensity[place]), (self.class[row], self.intensity[row]));
            assert_eq!(reflectance[place], self.reflectance[row]);
            assert_eq!(number[place], self.number[row]);
            assert_eq!(tree.values_of::<i32>("flag").unwrap()[place], self.flag[row]);
            assert_eq!(tree.values_of::<u32>("time").unwrap()[place], self.time[row]);
            assert_eq!(tree.values_of::<u64>("pulse").unwrap()[place], self.pulse[row]);
            assert_eq!(tree.values()[2].at(place), f64::from(self.intensity[row]));
        }
    }

    /// The rows that a test says yes to.
    fn rows(&self, is_wanted: impl Fn(f64, f64) -> bool) -> Vec<u32> {
        let wanted = |&i: &u32| is_wanted(self.cloud.x[i as usize], self.cloud.y[i as usize]);
        (0..self.cloud.len() as u32).filter(wanted).collect()
    }
}

fn sorted(list: &[u32]) -> Vec<u32> {
    let mut list = list.to_vec();
    list.sort_unstable();
    list
}

#[test]
fn what_is_found_has_the_values_of_its_rows() {
    for count in [1, 40, 3000] {
        let rows = Rows::new(count);
        let tree = rows.tree(&Params::new().threshold(7));
        let window = Bounds { min_x: 20.0, min_y: 10.0, max_x: 45.0, max_y: 30.0 };
        let found = tree.list_in(Regions::Windows(&[window])).unwrap();
        let wanted = rows.rows(|x, y| (20.0..=45.0).contains(&x) && (10.0..=30.0).contains(&y));
        assert_eq!(sorted(found.of(0)), wanted);
        rows.assert_values(&tree, found.of(0));

        let disk = Disk { x: 60.0, y: 30.0, radius: 9.0 };
        let found = tree.list_in(Regions::Discs(&[disk])).unwrap();
        let wanted = rows.rows(|x, y| (x - 60.0).powi(2) + (y - 30.0).powi(2) <= 81.0);
        assert_eq!(sorted(found.of(0)), wanted);
        rows.assert_values(&tree, found.of(0));

        let mut polygons = Polygons::new();
        polygons.push([[[10.0, 5.0], [90.0, 5.0], [90.0, 45.0], [10.0, 45.0]]]).unwrap();
        let found = tree.list_in(Regions::Polygons(&polygons)).unwrap();
        let wanted = rows.rows(|x, y| (10.0..90.0).contains(&x) && (5.0..45.0).contains(&y));
        assert_eq!(sorted(found.of(0)), wanted);
        rows.assert_values(&tree, found.of(0));

        let near = tree.nearest(&[31.5, 99.0], &[17.0, 1.0], count.min(25)).unwrap();
        let by_distance = |[x, y]: [f64; 2]| {
            let square = |i: &u32| {
                let (dx, dy) = (rows.cloud.x[*i as usize] - x, rows.cloud.y[*i as usize] - y);
                dx * dx + dy * dy
            };
            let mut all: Vec<u32> = (0..count as u32).collect();
            all.sort_by(|a, b| square(a).total_cmp(&square(b)).then(a.cmp(b)));
            all.truncate(count.min(25));
            all
        };
        for (place, at) in [[31.5, 17.0], [99.0, 1.0]].into_iter().enumerate() {
            assert_eq!(near.of(place).0, by_distance(at));
            rows.assert_values(&tree, near.of(place).0);
        }
        rows.assert_values(&tree, tree.order());
    }
}

#[test]
fn points_that_are_not_in_the_tree_have_no_place() {
    let rows = Rows::new(500);
    let bounds = Bounds { min_x: 0.0, min_y: 0.0, max_x: 50.0, max_y: 60.0 };
    let tree = rows.tree(&Params::new().bounds(bounds).outside(Outside::Skip));
    assert!(tree.summary().skipped > 0);
    rows.assert_values(&tree, tree.order());
    let outside = rows.rows(|x, _| x > 50.0);
    // Few and many points take two different paths.
    for some in [&outside[..1], &outside[..]] {
        assert!(tree.places_of(some).unwrap().iter().all(|&place| place == NONE));
    }
    assert_eq!(tree.places_of(&[NONE, 500]).unwrap(), [NONE, NONE]);
    assert_eq!(tree.places_of(&[NONE; 100]).unwrap(), [NONE; 100]);
    // Of a part of a larger tree few and many are looked for as well.
    let indices: Vec<u32> = (0..500).map(|i| 1_000_000 * i + 7).collect();
    let part = rows.tree(&Params::new()).renumbered(&indices, 4_000_000_000).unwrap();
    let (order, all) = (part.order(), (0..500).collect::<Vec<u32>>());
    assert_eq!(part.places_of(order).unwrap(), all);
    assert_eq!(part.places_of(&order[7..8]).unwrap(), [7]);
    assert_eq!(part.places_of(&[6, 3_999_999_999]).unwrap(), [NONE; 2]);
    let twice = tree.order()[3];
    assert_eq!(tree.places_of(&[twice, twice]).unwrap(), [3, 3]);
    assert!(tree.places_of(&[]).unwrap().is_empty());
}

#[test]
fn columns_are_named_and_typed() {
    let rows = Rows::new(40);
    let tree = rows.tree(&Params::new());
    let kinds: Vec<_> = tree.values().iter().map(|v| (v.name(), v.value_type())).collect();
    let wanted = [
        ("z", ValueType::F64),
        ("class", ValueType::U8),
        ("intensity", ValueType::U16),
        ("reflectance", ValueType::F32),
        ("number", ValueType::I64),
        ("flag", ValueType::I32),
        ("time", ValueType::U32),
        ("pulse", ValueType::U64),
    ];
    assert_eq!(kinds, wanted);
    assert_eq!(ValueType::U16.to_string(), "u16");
    assert!(tree.values_of::<f32>("z").is_none() && tree.values_of::<u8>("Class").is_none());
    for name in ["", "z", &"x".repeat(MAX_NAME + 1)] {
        let error = tree.clone().with_values(name, &rows.class).unwrap_err();
        assert!(matches!(error, Error::ValuesName { .. }), "{error}");
    }
    let error = tree.with_values("w", &rows.class[1..]).unwrap_err();
    let wanted = gpu_core::Error::Length { what: "column of values", expected: 40, found: 39 };
    assert_eq!(error, Error::Core(wanted));
}

#[test]
fn values_that_are_no_numbers_stay_as_they_are() {
    let (x, y) = ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]);
    let tree = build(&Device::Cpu, Points::new(&x, &y), &Params::new()).unwrap();
    let z = [f64::NAN, -0.0, f64::INFINITY];
    let tree = tree.with_values("z", &z).unwrap();
    assert_eq!(bits64(tree.values_of("z").unwrap()), bits64(&z));
    assert_eq!(tree, tree.clone());
}

#[test]
fn a_file_keeps_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree.qtree");
    for count in [0, 1, 7, 700] {
        let rows = Rows::new(count);
        let tree = rows.tree(&Params::new().threshold(3));
        let tree = tree.with_values("Höhe über NN, in m", &rows.reflectance).unwrap();
        tree.save(&path).unwrap();
        let opened = Quadtree::open(&path).unwrap();
        // SAFETY: nobody else has the folder.
        let mapped = unsafe { Quadtree::map(&path) }.unwrap();
        for other in [opened, mapped] {
            assert_eq!(other, tree);
            rows.assert_values(&other, other.order());
            let mut bytes = Vec::new();
            other.write_to(&mut bytes).unwrap();
            assert!(bytes == std::fs::read(&path).unwrap());
        }
    }
}

#[cfg(feature = "cuda")]
mod on_device {
    use gpu_scan::gpu::{fill, gather};
    use quadtree_sort::gpu::{self, DeviceQuadtree, DeviceRegions, Workspace};
    use testing::gpu;

    use super::*;

    /// A resident tree with values, made on the device.
    fn resident(workspace: &mut Workspace, rows: &Rows, params: &Params) -> DeviceQuadtree<f64> {
        let gpu = workspace.gpu().clone();
        let (x, y) = (gpu.upload(&rows.cloud.x).unwrap(), gpu.upload(&rows.cloud.y).unwrap());
        let tree = gpu::build(workspace, &x, &y, params).unwrap();
        let z = gpu.upload(&rows.cloud.z).unwrap();
        let class = gpu.upload(&rows.class).unwrap();
        let intensity = gpu.upload(&rows.intensity).unwrap();
        let reflectance = gpu.upload(&rows.reflectance).unwrap();
        let number = gpu.upload(&rows.number).unwrap();
        let flag = gpu.upload(&rows.flag).unwrap();
        let time = gpu.upload(&rows.time).unwrap();
        let pulse = gpu.upload(&rows.pulse).unwrap();
        let tree = tree.with_values(workspace, "z", &z).unwrap();
        let tree = tree.with_values(workspace, "class", &class).unwrap();
        let tree = tree.with_values(workspace, "intensity", &intensity).unwrap();
        let tree = tree.with_values(workspace, "reflectance", &reflectance).unwrap();
        let tree = tree.with_values(workspace, "number", &number).unwrap();
        let tree = tree.with_values(workspace, "flag", &flag).unwrap();
        let tree = tree.with_values(workspace, "time", &time).unwrap();
        tree.with_values(workspace, "pulse", &pulse).unwrap()
    }

    #[test]
    fn the_device_makes_the_tree_of_the_host() {
        let gpu = gpu();
        let mut workspace = Workspace::new(&gpu).unwrap();
        let bounds = Bounds { min_x: 0.0, min_y: 0.0, max_x: 50.0, max_y: 60.0 };
        for count in testing::sizes(256) {
            let rows = Rows::new(count);
            for params in
                [Params::new(), Params::new().bounds(bounds).outside(Outside::Skip).threshold(5)]
            {
                let tree = resident(&mut workspace, &rows, &params);
                let wanted = rows.tree(&params);
                assert_eq!(tree.to_host().unwrap(), wanted);
                let copy = DeviceQuadtree::from_host(&gpu, &wanted).unwrap();
                assert_eq!(copy.to_host().unwrap(), wanted);
                let kinds: Vec<_> =
                    copy.values().iter().map(|v| (v.name().to_owned(), v.value_type())).collect();
                let of_host = wanted.values().iter();
                let of_host: Vec<_> =
                    of_host.map(|v| (v.name().to_owned(), v.value_type())).collect();
                assert_eq!(kinds, of_host);
            }
        }
    }

    #[test]
    fn values_of_what_is_found_stay_on_the_device() {
        let gpu = gpu();
        let mut workspace = Workspace::new(&gpu).unwrap();
        let rows = Rows::new(2000);
        let tree = resident(&mut workspace, &rows, &Params::new());
        let windows = gpu.upload(&[[20.0, 10.0, 45.0, 30.0]]).unwrap();
        let regions = DeviceRegions::Windows((&windows).into());
        let found = gpu::list_in(&mut workspace, &tree, regions).unwrap();
        let places = gpu::places_of(&mut workspace, &tree, &found.indices).unwrap();
        let mut heights = gpu.zeroed::<f32>(places.len()).unwrap();
        let of_tree = tree.values_of::<f32>("reflectance").unwrap();
        gather(&mut workspace, &places, of_tree, &mut heights).unwrap();
        let found = found.indices.to_host().unwrap();
        let wanted: Vec<f32> = found.iter().map(|&row| rows.reflectance[row as usize]).collect();
        assert!(!found.is_empty());
        assert_eq!(bits(&heights.to_host().unwrap()), bits(&wanted));
        let on_host = tree.to_host().unwrap();
        assert_eq!(places.to_host().unwrap(), on_host.places_of(&found).unwrap());
        assert!(tree.values_of::<f64>("reflectance").is_none());

        // What no point has has no place.
        let asked = [NONE, 2000, 7, 7];
        let places = gpu::places_of(&mut workspace, &tree, &gpu.upload(&asked).unwrap()).unwrap();
        assert_eq!(places.to_host().unwrap(), on_host.places_of(&asked).unwrap());
    }

    #[test]
    fn places_are_found_in_a_captured_graph() {
        let gpu = gpu();
        let mut workspace = Workspace::new(&gpu).unwrap();
        let rows = Rows::new(300);
        let tree = resident(&mut workspace, &rows, &Params::new());
        let mut asked = gpu.upload(&[5_u32; 40]).unwrap();
        gpu::places_of(&mut workspace, &tree, &asked).unwrap();
        let mut places = None;
        let graph = gpu
            .capture(|| {
                places = Some(gpu::places_of(&mut workspace, &tree, &asked)?);
                Ok::<_, Error>(())
            })
            .unwrap();
        fill(&mut workspace, 9, &mut asked).unwrap();
        // SAFETY: what it uses is alive, and nothing else uses it.
        unsafe { graph.launch().unwrap() };
        let wanted = tree.to_host().unwrap().places_of(&[9; 40]).unwrap();
        assert_eq!(places.unwrap().to_host().unwrap(), wanted);
    }

    #[test]
    fn columns_that_do_not_fit_are_refused() {
        let gpu = gpu();
        let mut workspace = Workspace::new(&gpu).unwrap();
        let rows = Rows::new(50);
        let refused = |name: &str, len: usize, workspace: &mut Workspace| {
            let tree = resident(workspace, &rows, &Params::new());
            let column = gpu.zeroed::<u16>(len).unwrap();
            tree.with_values(workspace, name, &column).unwrap_err()
        };
        assert!(matches!(refused("z", 50, &mut workspace), Error::ValuesName { .. }));
        assert!(matches!(refused("w", 49, &mut workspace), Error::Core(_)));
    }
}
