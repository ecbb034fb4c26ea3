//! What every tree must be, however it was built.

use gpu_core::{Bounds, Device, Points};
use proptest::prelude::*;
use quadtree_sort::{Baseline, Error, MAX_LEVEL, Method, Node, Outside, Params, Quadtree, build};
use testing::{Cloud, Random, clouds};

const METHODS: [Method; 2] = [Method::Morton, Method::Baseline(Baseline::LevelSort)];

/// Builds by every method on every device, checks that all trees are the same, and what a tree must be.
fn build_all(x: &[f64], y: &[f64], params: &Params) -> Quadtree {
    let mut trees = Vec::new();
    for device in testing::devices() {
        for method in METHODS {
            let params = params.method(method);
            trees.push(build(&device, Points::new(x, y), &params).unwrap());
        }
    }
    let tree = trees.pop().unwrap();
    for other in &trees {
        assert_eq!(other, &tree);
    }
    check(&tree, x, y, params);
    tree
}

/// The invariants, from the definition alone.
fn check(tree: &Quadtree, x: &[f64], y: &[f64], params: &Params) {
    let (nodes, order) = (tree.nodes(), tree.order());
    let mut seen = vec![false; x.len()];
    for (place, &index) in order.iter().enumerate() {
        let index = index as usize;
        assert!(!std::mem::replace(&mut seen[index], true), "point {index} stands twice");
        assert_eq!((tree.x()[place], tree.y()[place]), (x[index], y[index]));
    }
    assert_eq!(tree.summary().skipped as usize, x.len() - order.len());
    if order.is_empty() {
        assert!(nodes.is_empty());
        return;
    }
    assert_eq!((nodes[0].level, nodes[0].count as usize), (0, order.len()));
    let sort_key = |node: &Node| (node.level, node.code);
    assert!(nodes.windows(2).all(|pair| sort_key(&pair[0]) < sort_key(&pair[1])), "level order");
    let mut next_child = 1;
    for node in nodes {
        let divided =
            node.count > u64::from(params.threshold) && u32::from(node.level) < params.max_level;
        assert_eq!(node.is_leaf(), !divided, "{node:?}");
        assert!(node.count > 0);
        check_places(tree, node);
        if node.is_leaf() {
            let points = &order[node.points()];
            assert!(points.windows(2).all(|pair| pair[0] < pair[1]), "as given in a leaf");
            assert_eq!(node.first_child, 0);
            continue;
        }
        // Children follow those of the node before, in order, and hold the node's points in turn.
        assert_eq!(node.children().start, next_child);
        next_child = node.children().end;
        let mut at = node.start;
        let mut quadrants = 0;
        for child in &nodes[node.children()] {
            assert_eq!((child.level, child.code >> 2), (node.level + 1, node.code));
            assert_eq!(child.start, at);
            at += child.count;
            quadrants |= 1 << (child.code & 3);
        }
        assert_eq!((at, quadrants), (node.start + node.count, node.quadrants));
    }
    assert_eq!(next_child, nodes.len());
}

/// Every point of a node lies in its cell.
fn check_places(tree: &Quadtree, node: &Node) {
    let (cell, root) = (tree.cell(node), tree.bounds());
    let within = |v: f64, low: f64, high: f64, last: f64| {
        low <= v && (v < high || v == last && high == last)
    };
    for place in node.points() {
        let (x, y) = (tree.x()[place], tree.y()[place]);
        assert!(within(x, cell.min_x, cell.max_x, root.max_x), "{x} in {cell:?}, {node:?}");
        assert!(within(y, cell.min_y, cell.max_y, root.max_y), "{y} in {cell:?}, {node:?}");
    }
}

/// The list's clouds, and those that it cannot have: no points, few, and each point twice.
fn every_cloud() -> impl Iterator<Item = Cloud> {
    let named = |name, cloud| Cloud { name, ..cloud };
    let few = [
        named("none", Cloud::default()),
        named("one", Cloud::of([(3.0, 4.0, 0.0)])),
        named("two", Cloud::of([(3.0, 4.0, 0.0), (-3.0, 9.0, 0.0)])),
        named("a lattice twice", clouds::lattice(256, 1).doubled()),
    ];
    few.into_iter().chain(clouds::all(700, 1))
}

#[test]
fn trees_of_every_cloud_are_whole() {
    for cloud in every_cloud() {
        for (threshold, max_level) in [(1, MAX_LEVEL), (2, 16), (20, 7), (20, 0), (200, 1)] {
            println!("{}, threshold {threshold}, to level {max_level}", cloud.name);
            let params = Params::new().threshold(threshold).max_level(max_level);
            build_all(&cloud.x, &cloud.y, &params.square(max_level != 7));
        }
    }
}

#[test]
fn leaves_of_any_size_are_in_the_order_as_given() {
    for cloud in [clouds::uniform(9000, 5), clouds::heaps(9000, 6)] {
        for threshold in [33, 64, 129, 256, 257, 600, 1100, 2100, 4096, 4097] {
            build_all(&cloud.x, &cloud.y, &Params::new().threshold(threshold).max_level(14));
        }
    }
}

#[test]
fn equal_points_beyond_the_threshold_fill_one_leaf_of_the_deepest_level() {
    let cloud = Cloud::of([(1.5, -7.0, 0.0); 50]);
    let tree = build_all(&cloud.x, &cloud.y, &Params::new().max_level(9));
    let summary = tree.summary();
    assert_eq!((summary.leaves, summary.overfull, summary.depth), (1, 1, 9));
    assert_eq!(tree.nodes().len(), 10);
}

#[test]
fn quadrants_are_numbered_from_the_south_west_by_rows() {
    let (x, y) = ([1.0, 9.0, 1.0, 9.0], [1.0, 1.0, 9.0, 9.0]);
    let tree = build_all(&x, &y, &Params::new().threshold(1).max_level(1));
    let codes: Vec<u64> = tree.leaves().map(|leaf| leaf.code).collect();
    assert_eq!((codes, tree.order()), (vec![0, 1, 2, 3], &[0, 1, 2, 3][..]));
    assert_eq!(
        tree.cell(&tree.nodes()[2]),
        Bounds { min_x: 5.0, min_y: 1.0, max_x: 9.0, max_y: 5.0 }
    );
}

#[test]
fn points_beyond_given_bounds_are_refused_or_left_out_and_counted() {
    let cloud = Cloud::uniform(1000, [0.0, 0.0, 100.0, 60.0], 4, |_, _| 0.0);
    let bounds = Bounds { min_x: 10.0, min_y: 10.0, max_x: 60.0, max_y: 40.0 };
    let inside =
        |i: &usize| (10.0..=60.0).contains(&cloud.x[*i]) && (10.0..=40.0).contains(&cloud.y[*i]);
    let skipping = Params::new().bounds(bounds).outside(Outside::Skip);
    let tree = build_all(&cloud.x, &cloud.y, &skipping);
    let kept = (0..1000).filter(inside).count();
    assert_eq!(tree.summary().skipped as usize, 1000 - kept);

    let first = (0..1000).find(|i| !inside(i)).unwrap();
    for device in testing::devices() {
        let points = Points::new(&cloud.x, &cloud.y);
        let error = build(&device, points, &Params::new().bounds(bounds)).unwrap_err();
        let (index, x, y) = (first as u64, cloud.x[first], cloud.y[first]);
        assert_eq!(error, Error::Outside { index, x, y });
    }
}

#[test]
fn bad_input_is_named() {
    let (x, y) = ([1.0, 2.0, 3.0], [1.0, f64::NAN, 3.0]);
    let on = |device: &Device, x: &[f64], y: &[f64], params: &Params| {
        build(device, Points::new(x, y), params).unwrap_err().to_string()
    };
    for device in testing::devices() {
        assert_eq!(on(&device, &x, &y, &Params::new()), "y 1 is NaN, not a finite number");
        let infinite = [1.0, 2.0, f64::NEG_INFINITY];
        assert_eq!(on(&device, &infinite, &x, &Params::new()), "x 2 is -inf, not a finite number");
        let expected = "column of y has 2 elements, expected 3";
        assert_eq!(on(&device, &x, &x[..2], &Params::new()), expected);
        let expected = "a threshold of 0: a leaf holds at least one point";
        assert_eq!(on(&device, &x, &x, &Params::new().threshold(0)), expected);
        let expected = "level 32 is beyond the deepest, 31";
        assert_eq!(on(&device, &x, &x, &Params::new().max_level(32)), expected);
        let inverted = Bounds { min_x: 5.0, min_y: 0.0, max_x: 1.0, max_y: 1.0 };
        let expected = "bounds 5 0 to 1 1 are not finite, have their corners swapped, or have sides that are not finite";
        assert_eq!(on(&device, &x, &x, &Params::new().bounds(inverted)), expected);
        let wide = [-1e308, 1e308];
        assert!(
            on(&device, &wide, &wide, &Params::new())
                .ends_with("or have sides that are not finite")
        );
    }
}

/// Thresholds of each way in which leaves are ordered on a device, and numbers of points up to them.
#[test]
fn a_root_that_is_a_leaf_has_its_points_as_given() {
    for threshold in [2, 3, 7, 20, 32, 33, 64, 200, 3000, 20_000] {
        for count in [threshold / 2, threshold - 1, threshold] {
            let mut random = Random::new(u64::from(threshold + count));
            let mut place = || random.between(-1.0, 1.0);
            let x: Vec<f64> = (0..count).map(|_| place()).collect();
            let y: Vec<f64> = (0..count).map(|_| place()).collect();
            for max_level in [1, 31] {
                let params = Params::new().threshold(threshold).max_level(max_level);
                let tree = build_all(&x, &y, &params);
                assert!(tree.order().iter().copied().eq(0..count), "{count} of {threshold}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_tree_is_whole(
        seed in any::<u64>(),
        count in 0usize..3000,
        threshold in 1u32..40,
        max_level in 0u32..=MAX_LEVEL,
        scale in prop::sample::select(vec![1e-300, 1e-9, 1.0, 1e9, 1e300]),
        snap in any::<bool>(),
        square in any::<bool>(),
    ) {
        let mut random = Random::new(seed);
        let mut place = || {
            let v = random.between(-1.0, 1.0) * random.unit();
            scale * if snap { (v * 50.0).round() } else { v }
        };
        let x: Vec<f64> = (0..count).map(|_| place()).collect();
        let y: Vec<f64> = (0..count).map(|_| place()).collect();
        build_all(&x, &y, &Params::new().threshold(threshold).max_level(max_level).square(square));
    }
}

#[test]
fn arrays_give_the_tree_of_their_points() {
    use gpu_core::ArrayPoints;
    use gpu_core::ndarray::{Array2, ArrayView1};
    let cloud = Cloud::uniform(300, [0.0, 0.0, 20.0, 20.0], 9, |_, _| 0.0);
    let wanted = build(&Device::Cpu, Points::new(&cloud.x, &cloud.y), &Params::new()).unwrap();
    let rows = Array2::from_shape_fn((300, 2), |(i, axis)| [cloud.x[i], cloud.y[i]][axis]);
    let of_rows = ArrayPoints::from_rows(rows.view()).unwrap();
    let columns = [&cloud.x, &cloud.y].map(|column| ArrayView1::from(&column[..]));
    let of_columns = ArrayPoints::from_columns(columns[0], columns[1]).unwrap();
    for points in [of_rows, of_columns] {
        assert_eq!(build(&Device::Cpu, points.points(), &Params::new()).unwrap(), wanted);
    }
}
