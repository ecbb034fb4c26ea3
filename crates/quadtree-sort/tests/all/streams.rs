//! Points, tree and places of one stream, the work on another. The software device reports work that nothing
//! orders.

use quadtree_sort::gpu::{
    DeviceIndex, DeviceRegions, Workspace, adjacent_leaves, build, count_in, leaves_of, list_in,
    nearest, nearest_of_own, places_of,
};
use quadtree_sort::{Adjacency, Baseline, Method, Params};
use testing::{Cloud, gpu};

#[test]
fn resident_builds_and_searches() {
    let cloud = Cloud::uniform(300, [0.0, 0.0, 20.0, 20.0], 31, |_, _| 0.0);
    let (a, b, c) = (gpu(), gpu(), gpu());
    let (mut on_b, mut on_c) = (Workspace::new(&b).unwrap(), Workspace::new(&c).unwrap());
    for method in [Method::Morton, Method::Baseline(Baseline::LevelSort)] {
        let (x, y) = (a.upload(&cloud.x).unwrap(), c.upload(&cloud.y).unwrap());
        let tree = build(&mut on_b, &x, &y, &Params::new().method(method)).unwrap();
        let tree = tree.with_values(&mut on_c, "x", &x).unwrap();
        drop((x, y));
        let (x, y) = (a.upload(&[3.5, 100.0]).unwrap(), b.upload(&[4.5, 7.0]).unwrap());
        let index = DeviceIndex::of_tree(&mut on_c, &tree).unwrap();
        let near = nearest(&mut on_c, &index, &x, &y, 4).unwrap();
        let leaves = leaves_of(&mut on_c, &tree, &x, &y).unwrap();
        let around = adjacent_leaves(&mut on_b, &tree, &leaves, Adjacency::Edges).unwrap();
        drop((x, y, leaves));
        let windows = a.upload(&[[1.0, 1.0, 12.0, 9.0]]).unwrap();
        let counts = count_in(&mut on_c, &tree, DeviceRegions::Windows((&windows).into())).unwrap();
        let lists = list_in(&mut on_c, &tree, DeviceRegions::Windows((&windows).into())).unwrap();
        let places = places_of(&mut on_b, &tree, &lists.indices).unwrap();
        drop(windows);
        let own = nearest_of_own(&mut on_b, &index, 2).unwrap();
        let of_points = tree.to_host().unwrap();
        drop((tree, index));
        let found = of_points.places_of(&lists.indices.to_host().unwrap()).unwrap();
        assert_eq!(places.to_host().unwrap(), found);
        assert_eq!(of_points.values_of::<f64>("x").unwrap(), of_points.x());
        assert!(near.to_host().unwrap().distances.iter().all(|d| d.is_finite()));
        assert!(!around.to_host().unwrap().indices.is_empty());
        assert_eq!(counts.to_host().unwrap()[0], lists.indices.len() as u64);
        assert!(own.to_host().unwrap().distances.iter().step_by(2).all(|&d| d == 0.0));
    }
}
