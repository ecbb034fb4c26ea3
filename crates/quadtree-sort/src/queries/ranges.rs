//! The points of regions, found as ranges of places in the order of the tree.
//!
//! The points of any node lie side by side, so the points of a region are ranges. A node wholly in the region is one
//! range; in a leaf that is partly in the region, the search tests each point. Ranges that touch become one. The search
//! copies indices into the lists only after it has found all ranges, when the length of every list is known.
//!
//! The search takes regions in the order of codes, not in the order as given: neighbouring regions visit the same
//! nodes, which the caches still hold.

use std::mem::MaybeUninit;

use device_std::In;
use gpu_core::{host_memory, parallel};
use kernels_rs::quadtree::queries::ground::Cell;
use kernels_rs::quadtree::queries::regions::{Disc, Polygon, Region, Relation, Window};
use kernels_rs::quadtree::queries::walk::Alone;

use super::{Lists, Regions, rooms};
use crate::tree::Node;
use crate::{Quadtree, Result};

/// Nodes of at most this many points are not divided further: testing all of them takes less time.
const FEW: u64 = 48;

/// A range of places: first and end.
type Range = (u32, u32);

/// The number of points in each region.
pub(super) fn count(tree: &Quadtree, regions: Regions<'_>) -> Result<Vec<u64>> {
    let order = in_order_of_codes(tree, regions)?;
    let found = parallel::map(order.len(), 1, |i| {
        let mut count = 0;
        let mut add = |(first, end)| count += u64::from(end - first);
        search(tree, regions, order[i] as usize, &mut add);
        count
    });
    let mut counts = vec![0; regions.len()];
    order.iter().zip(found).for_each(|(&which, count)| counts[which as usize] = count);
    Ok(counts)
}

/// The points that were found in some regions.
struct Found<'a> {
    regions: &'a [u32],
    ranges: Vec<Range>,
    /// For each region where its ranges end, and the number of its points.
    ends: Vec<(usize, u64)>,
}

/// The points in each region.
pub(super) fn list(tree: &Quadtree, regions: Regions<'_>) -> Result<Lists> {
    let order = in_order_of_codes(tree, regions)?;
    let found = parallel::map_ranges(order.len(), 1, &|range| find(tree, regions, &order[range]));
    let mut offsets = host_memory::filled(0u64, regions.len() + 1)?;
    for found in &found {
        let counts = found.regions.iter().zip(&found.ends);
        counts.for_each(|(&which, &(_, count))| offsets[which as usize + 1] = count);
    }
    let mut total = 0;
    offsets.iter_mut().for_each(|offset| {
        total += *offset;
        *offset = total;
    });
    let total = total as usize;
    let mut indices = host_memory::with_capacity(total)?;
    let lens = offsets.windows(2).map(|pair| pair[1] - pair[0]);
    let mut rooms = rooms(&mut indices.spare_capacity_mut()[..total], lens);
    let mut room_of = |&which: &u32| std::mem::take(&mut rooms[which as usize]);
    let mut rooms: Vec<Vec<_>> =
        found.iter().map(|found| found.regions.iter().map(&mut room_of).collect()).collect();
    parallel::for_each(&mut rooms, 1, |i, rooms| found[i].copy(&tree.order, rooms));
    // SAFETY: the lists are the whole of the vector, and each was filled.
    unsafe { indices.set_len(total) };
    Ok(Lists { offsets, indices })
}

impl Found<'_> {
    /// Fills the lists.
    fn copy(&self, order: &[u32], rooms: &mut [&mut [MaybeUninit<u32>]]) {
        let mut first = 0;
        for (room, &(end, _)) in rooms.iter_mut().zip(&self.ends) {
            let mut filled = 0;
            for &(start, stop) in &self.ranges[first..end] {
                let from = &order[start as usize..stop as usize];
                for (place, &index) in room[filled..filled + from.len()].iter_mut().zip(from) {
                    place.write(index);
                }
                filled += from.len();
            }
            assert_eq!(filled, room.len(), "as many as were counted");
            first = end;
        }
    }
}

/// The numbers of regions in the order of the codes of where they begin.
fn in_order_of_codes(tree: &Quadtree, regions: Regions<'_>) -> Result<Vec<u32>> {
    let place = |which: usize| match regions {
        Regions::Windows(windows) => [windows[which].min_x, windows[which].min_y],
        Regions::Discs(discs) => [discs[which].x, discs[which].y],
        Regions::Polygons(polygons) => [polygons.bounds[which].min_x, polygons.bounds[which].min_y],
    };
    super::in_order_of_codes(tree, regions.len(), "regions", place)
}

/// The ranges of some regions.
fn find<'a>(tree: &Quadtree, regions: Regions<'_>, some: &'a [u32]) -> Found<'a> {
    let mut ranges: Vec<Range> = Vec::new();
    let mut ends = Vec::with_capacity(some.len());
    for &which in some {
        let begin = ranges.len();
        let mut count = 0;
        search(tree, regions, which as usize, &mut |(first, end)| {
            count += u64::from(end - first);
            match ranges[begin..].last_mut() {
                Some(last) if last.1 == first => last.1 = end,
                _ => ranges.push((first, end)),
            }
        });
        ends.push((ranges.len(), count));
    }
    Found { regions: some, ranges, ends }
}

/// Gives the ranges of a region's points to `take`, in the order of the tree.
fn search(tree: &Quadtree, regions: Regions<'_>, which: usize, take: &mut impl FnMut(Range)) {
    let frame = &tree.frame;
    match regions {
        Regions::Windows(windows) => {
            let gpu_core::Bounds { min_x, min_y, max_x, max_y } = windows[which];
            start(tree, &Window::new(frame, [min_x, min_y, max_x, max_y]), FEW, take);
        }
        Regions::Discs(discs) => {
            let super::Disk { x, y, radius } = discs[which];
            start(tree, &Disc::new(frame, [x, y], radius), FEW, take);
        }
        Regions::Polygons(polygons) => {
            let gpu_core::Bounds { min_x, min_y, max_x, max_y } = polygons.bounds[which];
            let edges = polygons.offsets[which] as usize..polygons.offsets[which + 1] as usize;
            let edges = &polygons.edges[edges];
            let count = edges.len() as u64;
            // SAFETY: the edges outlive the search, and nobody writes them.
            let edges = unsafe { In::from_raw_parts(edges.as_ptr(), edges.len()) };
            let polygon = Polygon::new(frame, [min_x, min_y, max_x, max_y], edges, count);
            // Testing a point against a polygon takes as long as testing a cell.
            start(tree, &polygon, 0, take);
        }
    }
}

fn start(tree: &Quadtree, region: &impl Region, few: u64, take: &mut impl FnMut(Range)) {
    if let Some(root) = tree.nodes.first().filter(|_| region.meets(Cell::ROOT)) {
        Search { tree, nodes: &tree.nodes, region, few, take }.visit(root, Cell::ROOT);
    }
}

struct Search<'a, R, F> {
    tree: &'a Quadtree,
    nodes: &'a [Node],
    region: &'a R,
    few: u64,
    take: &'a mut F,
}

impl<R: Region, F: FnMut(Range)> Search<'_, R, F> {
    /// Sees a node whose cell may have points of the region.
    fn visit(&mut self, node: &Node, cell: Cell) {
        // SAFETY: one alone is the whole team.
        let is_whole = match unsafe { self.region.relation(cell, &Alone) } {
            Relation::Within => true,
            Relation::Uniform => {
                let first = node.start as usize;
                if !self.region.has(self.tree.x[first], self.tree.y[first]) {
                    return;
                }
                true
            }
            Relation::Mixed => false,
        };
        if is_whole {
            return (self.take)((node.start as u32, (node.start + node.count) as u32));
        }
        if node.is_leaf() || node.count <= self.few {
            return self.look(node);
        }
        let mut child = node.first_child as usize;
        for quadrant in 0..4 {
            if node.quadrants >> quadrant & 1 == 1 {
                let cell = cell.child(quadrant);
                if self.region.meets(cell) {
                    self.visit(&self.nodes[child], cell);
                }
                child += 1;
            }
        }
    }

    /// Tests all points of a node, 64 at a time: first which of them lie in the region, then the ranges.
    fn look(&mut self, node: &Node) {
        let (x, y) = (&self.tree.x[node.points()], &self.tree.y[node.points()]);
        let starts = (node.start as u32..).step_by(64);
        for ((x, y), start) in x.chunks(64).zip(y.chunks(64)).zip(starts) {
            let mut inside = 0u64;
            for (bit, (&x, &y)) in x.iter().zip(y).enumerate() {
                inside |= u64::from(self.region.has(x, y)) << bit;
            }
            while inside != 0 {
                let first = inside.trailing_zeros();
                let len = (!(inside >> first)).trailing_zeros();
                (self.take)((start + first, start + first + len));
                // All 64 points may be inside.
                inside &= u64::MAX.checked_shl(first + len).unwrap_or(0);
            }
        }
    }
}
