//! Stars by search, each made by itself, against the triangulation.

use gpu_core::{Device, Points};
use kernels_rs::rtree::layout::Layout;
use kernels_rs::stars::predicates::Predicates;
use kernels_rs::stars::search::{Search, Tree};
use quadtree_sort::Index;
use testing::Cloud;

use crate::triangulations::of;

/// An index as searches take it.
struct Boxes<'a> {
    index: &'a Index,
    layout: Layout,
}

impl Tree for Boxes<'_> {
    fn sites(&self) -> u32 {
        self.index.len() as u32
    }
    fn place(&self, site: u32) -> [f64; 2] {
        [self.index.x()[site as usize], self.index.y()[site as usize]]
    }
    fn bounds(&self, level: u32, of: u32) -> [f64; 4] {
        self.index.boxes()[(self.layout.starts[level as usize] + of) as usize]
    }
    fn count(&self, level: u32) -> u32 {
        self.layout.counts[level as usize]
    }
    fn top(&self) -> u32 {
        self.layout.top
    }
}

/// The star of every site by search, with the lowest neighbour or the hull's next first.
fn check(cloud: &Cloud) {
    let triangulation = of(cloud);
    let index =
        quadtree_sort::index(&Device::Cpu, Points::new(&cloud.x, &cloud.y), None, &()).unwrap();
    let tree = Boxes { index: &index, layout: index.layout() };
    // The unit of coordinates up to 1e12 that are not below 1e-290 but 0; of these clouds.
    let search = Search { tree: &tree, predicates: Predicates::new(-250) };
    for site in 0..tree.sites() {
        let point = index.order()[site as usize];
        if triangulation.site_of(point) != point {
            continue;
        }
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let closed = search.star(site, |neighbour, turns_left| {
            let to = if turns_left { &mut left } else { &mut right };
            to.push(index.order()[neighbour as usize]);
        });
        assert_eq!(closed, !triangulation.is_on_hull(point), "{} {point}", cloud.name);
        right.reverse();
        let mut star = [right, left].concat();
        let expected = triangulation.star(point);
        let shift = star.iter().position(|i| Some(i) == expected.first());
        star.rotate_left(shift.unwrap_or(0));
        assert_eq!(star, expected, "{} {point}", cloud.name);
    }
}

#[test]
fn every_star_by_search_is_that_of_the_triangulation() {
    for size in [0, 1, 2, 3, 4, 31, 33, 500, 2000] {
        for cloud in testing::clouds::all(size, 7) {
            check(&cloud);
        }
    }
}
