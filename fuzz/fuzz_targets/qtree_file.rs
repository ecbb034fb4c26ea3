//! .qtree files whose checksums are right, and searches in what they hold.
#![no_main]

use gpu_core::Bounds;
use libfuzzer_sys::fuzz_target;
use quadtree_sort::{Adjacency, Quadtree, Regions};

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    let _ = tessera_fuzz::seal_qtree(&mut bytes);
    let path = tessera_fuzz::file("input.qtree", &bytes);
    let Ok(tree) = Quadtree::open(&path) else { return };
    let (x, y) = ([0.0, 3.5, 1e9], [0.0, 7.25, -1e9]);
    if let Ok(places) = tree.nearest(&x, &y, 3).and_then(|near| tree.places_of(&near.indices)) {
        let known = || places.iter().filter(|&&place| place != quadtree_sort::NONE);
        let _: f64 = tree
            .values()
            .iter()
            .flat_map(|v| known().map(move |&place| v.at(place as usize)))
            .sum();
    }
    let windows = [Bounds { min_x: 0.0, min_y: 0.0, max_x: 5.0, max_y: 5.0 }];
    let _ = (tree.count_in(Regions::Windows(&windows)), tree.list_in(Regions::Windows(&windows)));
    if let Ok(leaves) = tree.leaves_of(&x, &y) {
        let leaves: Vec<u32> = leaves.into_iter().filter(|&leaf| leaf != u32::MAX).collect();
        let _ = tree.adjacent_leaves(&leaves, Adjacency::Edges);
    }
});
