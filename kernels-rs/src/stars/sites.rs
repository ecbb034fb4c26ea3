//! The sites of points: their distinct places, and the range of bits of their coordinates.

use device_std::{In, Out, kernel, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use crate::rtree::Tree;
use crate::rtree::descent::{Visitor, walk};
use crate::rtree::group::Group;
use crate::rtree::layout::FANOUT;
use crate::spatial::place::Bounds;

/// Threads of a block.
const BLOCK: usize = 128;

/// Writes, for each point of a tree, the first point at its place in the order of the tree; mostly that is the point
/// itself. The flag of a point is 1 if it is the first. Grid: a thread for each point.
///
/// # Safety
/// The tree is whole, and has points; `firsts` and `flags` have an element for each.
#[kernel(block = BLOCK, resident = 8)]
pub unsafe fn find_firsts(tree: Tree<'_, f64>, firsts: Out<'_, u32>, flags: Out<'_, u32>) {
    let point = thread::index_1d() as u32;
    let is_there = point < tree.points;
    let place = match is_there {
        true => [tree.x.get(point), tree.y.get(point)],
        false => [0.0; 2],
    };
    // SAFETY: the whole warp comes here; the rest is passed on to the caller.
    unsafe {
        let Some(group) = Group::new(place, is_there, tree.extent) else {
            return;
        };
        let mut earliest = Earliest { place, is_there, first: point };
        walk(&tree, &group, &mut earliest);
        if is_there {
            firsts.set(point, earliest.first);
            flags.set(point, u32::from(earliest.first == point));
        }
    }
}

/// Writes the places of the sites, and for each the point that stands for it. Writes the site of each point, in the
/// order of the input. Grid: a thread for each point of the tree.
///
/// # Safety
/// `firsts` are those of the tree; `before` tells how many first points come before each point. `x`, `y` and `points`
/// have an element for each site, and `sites` has one for each point.
#[kernel(block = BLOCK)]
pub unsafe fn gather_sites(
    tree: Tree<'_, f64>,
    firsts: In<'_, u32>,
    before: In<'_, u32>,
    x: Out<'_, f64>,
    y: Out<'_, f64>,
    points: Out<'_, u32>,
    sites: Out<'_, u32>,
) {
    let i = thread::index_1d() as u32;
    if i >= tree.points {
        return;
    }
    let first = firsts.get(i);
    let (site, point) = (before.get(first), tree.order.get(i));
    sites.set(point, site);
    if first == i {
        x.set(site, tree.x.get(i));
        y.set(site, tree.y.get(i));
        points.set(site, point);
    }
}

/// The first point at the lane's place so far.
struct Earliest {
    place: [f64; 2],
    is_there: bool,
    first: u32,
}

impl Visitor<f64> for Earliest {
    const NEAREST_FIRST: bool = false;

    // A leaf that repeats a place comes after the first point there.
    const SKIPS_REPEATED: bool = true;

    #[inline(always)]
    fn reach(&self) -> u32 {
        1
    }

    #[inline(always)]
    fn wants(&self, group: &Group, bounds: Bounds<f32, 2>) -> bool {
        self.is_there && group.gap_of_lane(bounds) == 0.0
    }

    #[inline(always)]
    unsafe fn visit(&mut self, tree: &Tree<'_, f64>, _: &Group, leaf: u32) {
        let point = leaf * FANOUT + warp::lane_id();
        let place = match point < tree.points {
            true => [tree.x.get(point), tree.y.get(point)],
            false => [f64::NAN; 2],
        };
        let mut i = 0;
        while i < vector::unknown(FANOUT) {
            // SAFETY: passed on to the caller.
            let other = place.map(|along| unsafe { warp::shuffle(warp::FULL, along, i) });
            if other == self.place {
                self.first = u32::min(self.first, leaf * FANOUT + i);
            }
            i += 1;
        }
    }
}

/// In a span: the exponent of the lowest bit of all numbers.
pub const LOWEST: u32 = 0;
/// In a span: the bits of the least magnitude except 0.
pub const LEAST: u32 = 1;
/// In a span: the bits of the greatest magnitude.
pub const GREATEST: u32 = 2;
/// How many numbers a span has.
pub const SPAN: usize = 3;

/// Widens a span to the coordinates of some places. Grid: any number of threads, which take turns.
///
/// # Safety
/// The columns have `len` elements, `span` has [`SPAN`].
#[kernel(block = BLOCK)]
pub unsafe fn find_span(x: In<'_, f64>, y: In<'_, f64>, len: u32, span: Out<'_, i64>) {
    let threads = u64::from(thread::grid_dim_x()) * BLOCK as u64;
    let mut i = thread::index_1d();
    let mut own = [i64::MAX, i64::MAX, 0];
    while i < vector::unknown_64(u64::from(len)) {
        for along in [x.get(i), y.get(i)] {
            let magnitude = along.abs().to_bits();
            if magnitude != 0 {
                own[0] = i64::min(own[0], lowest_bit(magnitude) as i64);
                own[1] = i64::min(own[1], magnitude as i64);
                own[2] = i64::max(own[2], magnitude as i64);
            }
        }
        i += threads;
    }
    // SAFETY: the whole warp comes here.
    let all = unsafe {
        [
            warp::reduce(own[0], i64::min),
            warp::reduce(own[1], i64::min),
            warp::reduce(own[2], i64::max),
        ]
    };
    if warp::lane_id() == 0 && all[2] != 0 {
        span.fetch_min(LOWEST, all[0]);
        span.fetch_min(LEAST, all[1]);
        span.fetch_max(GREATEST, all[2]);
    }
}

/// The exponent of the lowest bit of a positive number, from its bits.
#[inline(always)]
fn lowest_bit(bits: u64) -> i32 {
    let (biased, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    let (significand, exponent) =
        if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) };
    exponent + significand.trailing_zeros() as i32
}

/// Multiplies coordinates by two factors, one after the other. Grid: a thread for each place.
///
/// # Safety
/// The columns have `len` elements.
#[kernel(block = BLOCK)]
pub unsafe fn scale_places(x: Out<'_, f64>, y: Out<'_, f64>, len: u32, factors: [f64; 2]) {
    let i = thread::index_1d();
    if i < len as u64 {
        // No number is -0.
        x.set(i, x.get(i) * factors[0] * factors[1] + 0.0);
        y.set(i, y.get(i) * factors[0] * factors[1] + 0.0);
    }
}
