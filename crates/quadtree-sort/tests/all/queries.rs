//! Searches, beside brute force and another crate's tree.

use gpu_core::{Bounds, Device, Points};
use kiddo::{ImmutableKdTree, SquaredEuclidean};
use quadtree_sort::{
    Adjacency, Disk, Error, Lists, NONE, Neighbours, Params, Polygons, Quadtree, Regions, build,
};
use testing::clouds::{self, SIDE};
use testing::{Cloud, Random};

/// Searches by the host and by the device under test, which are to agree.
struct Both {
    tree: Quadtree,
    #[cfg(feature = "cuda")]
    gpu: on_device::Searcher,
}

impl Both {
    fn new(cloud: &Cloud, params: &Params) -> Self {
        let tree = build(&Device::Cpu, Points::new(&cloud.x, &cloud.y), params).unwrap();
        Self {
            #[cfg(feature = "cuda")]
            gpu: on_device::Searcher::new(&tree),
            tree,
        }
    }

    fn list_in(&mut self, regions: Regions<'_>) -> Lists {
        let lists = self.tree.list_in(regions).unwrap();
        let counts: Vec<u64> = (0..lists.len()).map(|i| lists.of(i).len() as u64).collect();
        assert_eq!(self.tree.count_in(regions).unwrap(), counts);
        #[cfg(feature = "cuda")]
        {
            assert_eq!(self.gpu.list_in(regions), lists);
            assert_eq!(self.gpu.count_in(regions), counts);
        }
        for device in testing::devices() {
            assert_eq!(quadtree_sort::list_in(&device, &self.tree, regions).unwrap(), lists);
            assert_eq!(quadtree_sort::count_in(&device, &self.tree, regions).unwrap(), counts);
        }
        lists
    }

    fn nearest(&mut self, x: &[f64], y: &[f64], k: usize) -> Neighbours {
        let neighbours = self.tree.nearest(x, y, k).unwrap();
        for device in testing::devices() {
            let points = Points::new(x, y);
            let found = quadtree_sort::nearest(&device, &self.tree, points, k).unwrap();
            assert_eq!(found, neighbours);
        }
        #[cfg(feature = "cuda")]
        assert_eq!(self.gpu.nearest(x, y, k), neighbours);
        neighbours
    }

    fn leaves_of(&mut self, x: &[f64], y: &[f64]) -> Vec<u32> {
        let leaves = self.tree.leaves_of(x, y).unwrap();
        for device in testing::devices() {
            let points = Points::new(x, y);
            let found = quadtree_sort::leaves_of(&device, &self.tree, points).unwrap();
            assert_eq!(found, leaves);
        }
        #[cfg(feature = "cuda")]
        assert_eq!(self.gpu.leaves_of(x, y), leaves);
        leaves
    }

    fn adjacent_leaves(&mut self, leaves: &[u32], adjacency: Adjacency) -> Lists {
        let lists = self.tree.adjacent_leaves(leaves, adjacency).unwrap();
        for device in testing::devices() {
            let found = quadtree_sort::adjacent_leaves(&device, &self.tree, leaves, adjacency);
            assert_eq!(found.unwrap(), lists);
        }
        #[cfg(feature = "cuda")]
        assert_eq!(self.gpu.adjacent_leaves(leaves, adjacency), lists);
        lists
    }
}

#[cfg(feature = "cuda")]
mod on_device {
    use quadtree_sort::gpu::{self, DevicePolygons, DeviceQuadtree, DeviceRegions, Workspace};

    use super::*;

    pub struct Searcher {
        workspace: Workspace,
        tree: DeviceQuadtree<f64>,
    }

    impl Searcher {
        pub fn new(tree: &Quadtree) -> Self {
            let gpu = testing::gpu();
            let tree = DeviceQuadtree::from_host(&gpu, tree).unwrap();
            Self { workspace: Workspace::new(&gpu).unwrap(), tree }
        }

        /// Calls `search` with the regions in device memory.
        fn with<R>(
            &mut self,
            regions: Regions<'_>,
            search: impl FnOnce(&mut Workspace, &DeviceQuadtree<f64>, DeviceRegions<'_>) -> R,
        ) -> R {
            let gpu = self.workspace.gpu().clone();
            match regions {
                Regions::Windows(windows) => {
                    let sides = |w: &Bounds| [w.min_x, w.min_y, w.max_x, w.max_y];
                    let windows: Vec<[f64; 4]> = windows.iter().map(sides).collect();
                    let windows = gpu.upload(&windows).unwrap();
                    search(
                        &mut self.workspace,
                        &self.tree,
                        DeviceRegions::Windows((&windows).into()),
                    )
                }
                Regions::Discs(discs) => {
                    let discs: Vec<[f64; 3]> = discs.iter().map(|d| [d.x, d.y, d.radius]).collect();
                    let discs = gpu.upload(&discs).unwrap();
                    search(&mut self.workspace, &self.tree, DeviceRegions::Discs((&discs).into()))
                }
                Regions::Polygons(polygons) => {
                    let polygons = DevicePolygons::upload(&gpu, polygons).unwrap();
                    search(&mut self.workspace, &self.tree, DeviceRegions::Polygons(&polygons))
                }
                _ => unreachable!("no other regions"),
            }
        }

        pub fn list_in(&mut self, regions: Regions<'_>) -> Lists {
            self.with(regions, |workspace, tree, regions| {
                gpu::list_in(workspace, tree, regions).unwrap().to_host().unwrap()
            })
        }

        pub fn count_in(&mut self, regions: Regions<'_>) -> Vec<u64> {
            self.with(regions, |workspace, tree, regions| {
                gpu::count_in(workspace, tree, regions).unwrap().to_host().unwrap()
            })
        }

        pub fn nearest(&mut self, x: &[f64], y: &[f64], k: usize) -> Neighbours {
            let gpu = self.workspace.gpu().clone();
            let (x, y) = (gpu.upload(x).unwrap(), gpu.upload(y).unwrap());
            let index = gpu::DeviceIndex::of_tree(&mut self.workspace, &self.tree).unwrap();
            let found = gpu::nearest(&mut self.workspace, &index, &x, &y, k).unwrap();
            found.to_host().unwrap()
        }

        pub fn leaves_of(&mut self, x: &[f64], y: &[f64]) -> Vec<u32> {
            let gpu = self.workspace.gpu().clone();
            let (x, y) = (gpu.upload(x).unwrap(), gpu.upload(y).unwrap());
            gpu::leaves_of(&mut self.workspace, &self.tree, &x, &y).unwrap().to_host().unwrap()
        }

        pub fn adjacent_leaves(&mut self, leaves: &[u32], adjacency: Adjacency) -> Lists {
            let leaves = self.workspace.gpu().upload(leaves).unwrap();
            let found = gpu::adjacent_leaves(&mut self.workspace, &self.tree, &leaves, adjacency);
            found.unwrap().to_host().unwrap()
        }
    }
}

/// The list's clouds, and those that it cannot have: no points, one, and each point twice.
fn clouds() -> impl Iterator<Item = Cloud> {
    let few = [
        Cloud { name: "none", ..Cloud::default() },
        Cloud { name: "one", ..Cloud::of([(300.0, 400.0, 0.0)]) },
        Cloud { name: "a lattice twice", ..clouds::lattice(144, 1).doubled() },
    ];
    few.into_iter().chain(clouds::all(250, 1)).inspect(|cloud| println!("{}", cloud.name))
}

/// Trees over a cloud that differ in shape.
fn trees(cloud: &Cloud) -> Vec<Both> {
    let [max_x, max_y] = [&cloud.x, &cloud.y].map(|v| v.iter().copied().fold(2.0 * SIDE, f64::max));
    let bounds = Bounds { min_x: -SIDE, min_y: -0.3 * SIDE, max_x, max_y };
    let params = [
        Params::new().threshold(4),
        Params::new().threshold(30).max_level(3).square(false),
        Params::new().threshold(2).max_level(16).bounds(bounds),
        Params::new().max_level(0),
    ];
    params.iter().map(|params| Both::new(cloud, params)).collect()
}

/// Places in and around a cloud: some of its own, some between, some far away.
fn places(cloud: &Cloud, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut random = Random::new(seed);
    let own = (0..cloud.len()).step_by(cloud.len() / 12 + 1).map(|i| (cloud.x[i], cloud.y[i]));
    let mut places: Vec<(f64, f64)> = own.collect();
    places.extend((0..12).map(|_| (random.between(-300.0, 1500.0), random.between(0.0, 1100.0))));
    places.extend([(1e9, -1e9), (-1e300, 500.0), (0.0, 0.0)]);
    places.into_iter().unzip()
}

/// The squares of all distances to a place, with the indices, in order.
fn by_distance(cloud: &Cloud, x: f64, y: f64) -> Vec<(f64, u32)> {
    let squared = |i: usize| (cloud.x[i] - x).powi(2) + (cloud.y[i] - y).powi(2);
    let mut all: Vec<(f64, u32)> = (0..cloud.len()).map(|i| (squared(i), i as u32)).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    all
}

#[test]
fn the_nearest_points_are_those_of_brute_force_and_of_kiddo() {
    for cloud in clouds() {
        let (x, y) = places(&cloud, 3);
        let entries: Vec<[f64; 2]> = cloud.x.iter().zip(&cloud.y).map(|(&x, &y)| [x, y]).collect();
        for mut tree in trees(&cloud) {
            for k in [1, 8, 40] {
                let found = tree.nearest(&x, &y, k);
                for i in 0..x.len() {
                    let all = by_distance(&cloud, x[i], y[i]);
                    let (indices, distances) = found.of(i);
                    for place in 0..k {
                        let wanted = all.get(place).copied().unwrap_or((f64::INFINITY, NONE));
                        assert_eq!((distances[place], indices[place]), (wanted.0.sqrt(), wanted.1));
                    }
                }
            }
        }
        // (kiddo splits between different coordinates, which equal points do not have.)
        if !["none", "one place", "half at one place"].contains(&cloud.name) {
            let others: ImmutableKdTree<f64, 2> =
                ImmutableKdTree::new_from_slice(&entries).unwrap();
            let k = 5.min(cloud.len());
            let found = trees(&cloud)[0].nearest(&x, &y, k);
            for i in 0..x.len() {
                let count = k.try_into().unwrap();
                let place = [x[i], y[i]];
                let near = others.query(&place).nearest_n::<SquaredEuclidean<f64>>(count);
                let other = near.execute();
                let wanted: Vec<f64> = other.iter().map(|near| near.distance.sqrt()).collect();
                assert_eq!(found.of(i).1, wanted, "{}", cloud.name);
            }
        }
    }
}

/// Windows of all sizes, on the points' own coordinates too.
fn windows(cloud: &Cloud) -> Vec<Bounds> {
    let (x, y) = places(cloud, 4);
    let mut windows = Vec::new();
    for i in 0..x.len() {
        for j in [i, (i + 7) % x.len(), (i + 13) % x.len()] {
            windows.push(Bounds {
                min_x: x[i].min(x[j]),
                min_y: y[i].min(y[j]),
                max_x: x[i].max(x[j]),
                max_y: y[i].max(y[j]),
            });
        }
    }
    let all = f64::INFINITY;
    windows.push(Bounds { min_x: -all, min_y: -all, max_x: all, max_y: all });
    windows
}

/// Checks lists of points against a condition, and that they are in the order of the tree.
fn check_lists(
    tree: &Quadtree,
    cloud: &Cloud,
    lists: &Lists,
    is_in: impl Fn(usize, f64, f64) -> bool,
) {
    for i in 0..lists.len() {
        let wanted: Vec<u32> = tree
            .order()
            .iter()
            .copied()
            .filter(|&index| is_in(i, cloud.x[index as usize], cloud.y[index as usize]))
            .collect();
        assert_eq!(lists.of(i), wanted, "region {i}");
    }
}

#[test]
fn points_in_windows_and_discs_are_those_of_brute_force() {
    for cloud in clouds() {
        let windows = windows(&cloud);
        let (x, y) = places(&cloud, 5);
        let radii = [0.0, 1e-4, 1.0, 90.0, 5000.0, f64::INFINITY];
        let of = |i: usize| radii.map(|radius| Disk { x: x[i], y: y[i], radius });
        let discs: Vec<Disk> = (0..x.len()).step_by(3).flat_map(of).collect();
        for mut tree in trees(&cloud) {
            let lists = tree.list_in(Regions::Windows(&windows));
            check_lists(&tree.tree, &cloud, &lists, |i, x, y| {
                let w = windows[i];
                (w.min_x..=w.max_x).contains(&x) && (w.min_y..=w.max_y).contains(&y)
            });
            let lists = tree.list_in(Regions::Discs(&discs));
            check_lists(&tree.tree, &cloud, &lists, |i, x, y| {
                let d = discs[i];
                (x - d.x).powi(2) + (y - d.y).powi(2) <= d.radius * d.radius
            });
        }
    }
}

/// How often the ring winds around a place, by the angles that its edges span.
fn winds_around(ring: &[[f64; 2]], x: f64, y: f64) -> bool {
    let angle = |i: usize| {
        let (a, b) = (ring[i], ring[(i + 1) % ring.len()]);
        let (a, b) = ([a[0] - x, a[1] - y], [b[0] - x, b[1] - y]);
        (a[0] * b[1] - a[1] * b[0]).atan2(a[0] * b[0] + a[1] * b[1])
    };
    let turns = (0..ring.len()).map(angle).sum::<f64>() / std::f64::consts::TAU;
    turns.round() as i64 % 2 != 0
}

#[test]
fn points_in_polygons_are_those_of_the_winding_of_their_rings() {
    let star = |x: f64, y: f64, radius: f64| -> Vec<[f64; 2]> {
        let corner = |i: u32| {
            let angle = std::f64::consts::TAU * f64::from(i) / 11.0 + 0.1;
            let radius = if i.is_multiple_of(2) { radius } else { 0.4 * radius };
            [x + radius * angle.cos(), y + radius * angle.sin()]
        };
        (0..11).map(corner).collect()
    };
    let shapes = [
        vec![star(400.0, 600.0, 500.0)],
        vec![star(400.0, 600.0, 500.0), star(400.0, 600.0, 200.0)],
        vec![star(0.0, 600.0, 250.0), star(900.0, 300.0, 400.0)],
        vec![vec![[-1e4, -1e4], [1e4, -1e4], [1e4, 1e4], [-1e4, 1e4]], star(600.0, 500.0, 300.0)],
        vec![star(-4000.0, 0.0, 10.0)],
        vec![],
        vec![vec![[201.23, 557.0], [809.0, 632.0]]],
    ];
    let mut polygons = Polygons::new();
    shapes.iter().for_each(|rings| polygons.push(rings).unwrap());
    for cloud in clouds() {
        for mut tree in trees(&cloud) {
            let lists = tree.list_in(Regions::Polygons(&polygons));
            check_lists(&tree.tree, &cloud, &lists, |i, x, y| {
                shapes[i].iter().filter(|ring| winds_around(ring, x, y)).count() % 2 == 1
            });
        }
    }
}

#[test]
fn of_squares_that_share_edges_each_point_of_a_lattice_is_in_one() {
    let cloud = Cloud::of((0..289).map(|i| (f64::from(i % 17), f64::from(i / 17), 0.0)));
    let mut polygons = Polygons::new();
    for row in 0..4 {
        for column in 0..4 {
            let (x, y) = (4.0 * f64::from(column), 4.0 * f64::from(row));
            polygons.push([[[x, y], [x + 4.0, y], [x + 4.0, y + 4.0], [x, y + 4.0]]]).unwrap();
        }
    }
    for mut tree in trees(&cloud) {
        let lists = tree.list_in(Regions::Polygons(&polygons));
        let mut seen = vec![0; cloud.len()];
        lists.indices.iter().for_each(|&index| seen[index as usize] += 1);
        // The lattice's last row and column are outside of all squares.
        for (i, &seen) in seen.iter().enumerate() {
            let is_in = cloud.x[i] < 16.0 && cloud.y[i] < 16.0;
            assert_eq!(seen, u32::from(is_in), "({}, {})", cloud.x[i], cloud.y[i]);
        }
    }
}

#[test]
fn of_triangles_that_share_edges_each_point_beside_an_edge_is_in_one() {
    // Along each edge from the centre lie points whose side rounding decides.
    let centre = [0.37, 0.61];
    let corner = |i: u32| {
        let angle = std::f64::consts::TAU * f64::from(i % 9) / 9.0 + 0.2;
        [centre[0] + 3.0 * angle.cos(), centre[1] + 3.0 * angle.sin()]
    };
    let along = |i: u32| {
        let ([ax, ay], [bx, by], t) = (centre, corner(i), f64::from(i / 9 + 1) / 200.0);
        (ax + t * (bx - ax), ay + t * (by - ay), 0.0)
    };
    let cloud = Cloud::of((0..9 * 198).map(along));
    let mut polygons = Polygons::new();
    for i in 0..9 {
        // Neighbours list the edge between them in opposite directions, and in the same one where one turns back.
        let mut ring = [centre, corner(i), corner(i + 1)];
        if i % 4 == 3 {
            ring.reverse();
        }
        polygons.push([ring]).unwrap();
    }
    for mut tree in trees(&cloud) {
        let lists = tree.list_in(Regions::Polygons(&polygons));
        let mut seen = vec![0; cloud.len()];
        lists.indices.iter().for_each(|&index| seen[index as usize] += 1);
        for (i, &seen) in seen.iter().enumerate() {
            assert_eq!(seen, 1, "point {i}: ({}, {})", cloud.x[i], cloud.y[i]);
        }
    }
}

#[test]
fn a_point_beside_an_edge_is_on_the_side_where_it_is() {
    // The exact values of these decimals lie within an ulp of the first triangle's edge and of the second's.
    let triangles = [[[0.5, 0.9], [0.7, 0.3], [5.0, -5.0]], [[0.2, 0.1], [0.6, 0.5], [5.0, 5.0]]];
    let cloud = Cloud::of([(0.6, 0.6, 0.0), (0.3, 0.2, 0.0), (4.0, -3.0, 0.0)]);
    let mut polygons = Polygons::new();
    triangles.iter().for_each(|&ring| polygons.push([ring]).unwrap());
    for mut tree in trees(&cloud) {
        let lists = tree.list_in(Regions::Polygons(&polygons));
        assert!(!lists.of(0).contains(&0), "outside");
        assert_eq!(lists.of(1), [1]);
    }
}

/// Whether a cell has a place; those of the last column and row have the root's edges.
fn cell_has(tree: &Quadtree, cell: Bounds, x: f64, y: f64) -> bool {
    let root = tree.bounds();
    let within = |v: f64, low: f64, high: f64, last: f64| {
        low <= v && (v < high || v == last && high == last)
    };
    within(x, cell.min_x, cell.max_x, root.max_x) && within(y, cell.min_y, cell.max_y, root.max_y)
}

#[test]
fn the_leaf_of_a_place_is_the_one_whose_cell_has_it() {
    for cloud in clouds() {
        let (mut x, mut y) = places(&cloud, 6);
        for mut tree in trees(&cloud) {
            for (i, leaf) in tree.leaves_of(&x, &y).into_iter().enumerate() {
                let nodes = tree.tree.nodes().iter().enumerate();
                let mut holding = nodes.filter(|(_, node)| {
                    node.is_leaf() && cell_has(&tree.tree, tree.tree.cell(node), x[i], y[i])
                });
                let wanted = holding.next().map_or(NONE, |(place, _)| place as u32);
                assert_eq!((leaf, holding.next()), (wanted, None), "({}, {})", x[i], y[i]);
            }
            x.push(f64::NAN);
            y.push(50.0);
            assert_eq!(tree.leaves_of(&x, &y).last(), Some(&NONE));
            x.pop();
            y.pop();
        }
    }
}

#[test]
fn leaves_around_a_leaf_are_those_whose_cells_touch_it() {
    for cloud in clouds() {
        for mut tree in trees(&cloud) {
            let nodes = tree.tree.nodes().to_vec();
            // Columns and rows of the deepest level, as far as they are apart from the next ones.
            let deepest = tree.tree.max_level();
            let span = |i: usize| {
                let (mut column, mut row) = (0u64, 0u64);
                for bit in 0..31 {
                    column |= (nodes[i].code >> (2 * bit) & 1) << bit;
                    row |= (nodes[i].code >> (2 * bit + 1) & 1) << bit;
                }
                let below = deepest - u32::from(nodes[i].level);
                [column << below, row << below, (column + 1) << below, (row + 1) << below]
            };
            let queries: Vec<u32> = (0..nodes.len() as u32).step_by(nodes.len() / 60 + 1).collect();
            let mut queries = queries;
            queries.extend([NONE, nodes.len() as u32]);
            for adjacency in [Adjacency::Edges, Adjacency::EdgesAndCorners] {
                let lists = tree.adjacent_leaves(&queries, adjacency);
                for (i, &query) in queries.iter().enumerate() {
                    let is_leaf = nodes.get(query as usize).is_some_and(|node| node.is_leaf());
                    let touches = |other: usize| {
                        let (a, b) = (span(query as usize), span(other));
                        let meet = |axis: usize| a[axis] <= b[axis + 2] && b[axis] <= a[axis + 2];
                        let overlap = |axis: usize| a[axis] < b[axis + 2] && b[axis] < a[axis + 2];
                        let corner = adjacency == Adjacency::EdgesAndCorners;
                        meet(0) && meet(1) && (corner || overlap(0) || overlap(1))
                    };
                    let all = (0..nodes.len()).filter(|&other| {
                        is_leaf && nodes[other].is_leaf() && other as u32 != query && touches(other)
                    });
                    let mut wanted: Vec<u32> = all.map(|other| other as u32).collect();
                    wanted.sort_by_key(|&other| nodes[other as usize].start);
                    assert_eq!(lists.of(i), wanted, "{}, node {query}", cloud.name);
                }
            }
        }
    }
}

/// A progress that ends the call at once.
struct Stop;

impl gpu_core::Progress for Stop {
    fn report(&self, _: &'static str, _: f64) -> std::ops::ControlFlow<()> {
        std::ops::ControlFlow::Break(())
    }
}

#[test]
fn bad_queries_are_refused_alike_on_every_device_and_progress_ends_a_search() {
    let cloud = clouds::uniform(50, 8);
    let tree = build(&Device::Cpu, Points::new(&cloud.x, &cloud.y), &Params::new()).unwrap();
    let inverted = Bounds { min_x: 5.0, min_y: 0.0, max_x: 1.0, max_y: 1.0 };
    let windows = Regions::Windows(&[inverted]);
    let discs = Regions::Discs(&[Disk { x: 1.0, y: f64::NAN, radius: 3.0 }]);
    let (x, y) = ([1.0, f64::NAN], [0.0, 0.0]);
    for device in testing::devices() {
        for regions in [windows, discs] {
            let wanted = tree.count_in(regions).unwrap_err().to_string();
            let error = quadtree_sort::count_in(&device, &tree, regions).unwrap_err();
            assert_eq!(error.to_string(), wanted);
            let error = quadtree_sort::list_in(&device, &tree, regions).unwrap_err();
            assert_eq!(error.to_string(), wanted);
        }
        let near = |x: &[f64], y: &[f64], k| {
            quadtree_sort::nearest(&device, &tree, Points::new(x, y), k).unwrap_err()
        };
        assert_eq!(near(&x, &y, 3).to_string(), "place's x 1 is NaN, not a finite number");
        assert!(near(&x[..1], &[], 3).to_string().contains("places' y"));
        assert_eq!(near(&x[..1], &y[..1], 0), Error::NoNeighbours);
        let places = Points::new(&x, &[]);
        let error = quadtree_sort::leaves_of(&device, &tree, places).unwrap_err();
        assert!(error.to_string().contains("places' y"));
        let stopped =
            quadtree_sort::leaves_of(device.with_progress(&Stop), &tree, Points::new(&x, &y));
        assert!(matches!(stopped, Err(Error::Cancelled(_))));
    }
}

#[test]
fn bad_queries_are_named() {
    let cloud = clouds::uniform(50, 7);
    let tree = Both::new(&cloud, &Params::new()).tree;
    let fine = Bounds { min_x: 0.0, min_y: 0.0, max_x: 1.0, max_y: 1.0 };
    let inverted = Bounds { min_x: 5.0, ..fine };
    let error = tree.list_in(Regions::Windows(&[fine, inverted])).unwrap_err().to_string();
    assert_eq!(error, "window 1, 5 0 to 1 1, is not a rectangle");
    let nan = Bounds { max_y: f64::NAN, ..fine };
    assert!(matches!(tree.count_in(Regions::Windows(&[nan])), Err(Error::Window { index: 0, .. })));
    let discs = [Disk { x: 1.0, y: 2.0, radius: -3.0 }];
    let error = tree.count_in(Regions::Discs(&discs)).unwrap_err().to_string();
    let expected = "disc 0 around (1, 2) has radius -3: centre and radius must be finite, and the radius not negative";
    assert_eq!(error, expected);
    let error = tree.nearest(&[1.0, f64::NAN], &[0.0, 0.0], 3).unwrap_err().to_string();
    assert_eq!(error, "place's x 1 is NaN, not a finite number");
    assert!(tree.nearest(&[1.0], &[], 3).unwrap_err().to_string().contains("places' y"));
    assert_eq!(tree.nearest(&[1.0], &[1.0], 0), Err(Error::NoNeighbours));
    let mut polygons = Polygons::new();
    polygons.push([[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]]).unwrap();
    let before = polygons.clone();
    let error = polygons.push([[[0.0, 0.0], [1.0, f64::INFINITY]]]).unwrap_err().to_string();
    assert_eq!(error, "polygon 1 has a vertex (1, inf) that is not finite");
    assert_eq!(polygons, before);
}
