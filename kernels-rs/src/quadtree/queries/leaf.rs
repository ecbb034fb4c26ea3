//! The leaf of a place.

use device_std::{kernel, thread};

use super::super::node::Node;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use crate::spatial::frame::Frame;
use crate::spatial::morton;
use crate::spatial::place::Place;

/// What stands where there is none.
pub const NONE: u32 = u32::MAX;

/// The leaf whose cell holds a place, by its place among the nodes; [`NONE`] outside of the bounds, or where
/// the cell has no points and so no node.
///
/// # Safety
/// `nodes` are those of a tree, at least one.
#[inline(always)]
pub unsafe fn find(nodes: *const u64, frame: &Frame, bounds: [f64; 4], [x, y]: [f64; 2]) -> u32 {
    // False for NaN, too.
    let inside = x >= bounds[0] && y >= bounds[1] && x <= bounds[2] && y <= bounds[3];
    if !inside {
        return NONE;
    }
    let code = morton::encode(frame.column(x), frame.row(y));
    let (mut index, mut below) = (0, frame.level);
    loop {
        // SAFETY: children of a node are nodes, and one of the deepest level has none.
        let (node, first_child) = unsafe { Node::load_with_child(nodes, index as u64) };
        if node.quadrants == 0 {
            return index;
        }
        below -= 1;
        let quadrant = (code >> (2 * below)) as u32 & 3;
        if node.quadrants >> quadrant & 1 == 0 {
            return NONE;
        }
        index = first_child + (node.quadrants & ((1 << quadrant) - 1)).count_ones();
    }
}

/// The leaf of each place: see [`find`]. Grid: a thread for each.
///
/// # Safety
/// `nodes` are those of a tree, at least one; the other arrays have `count` elements.
#[kernel(block = 256, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn find_leaves<T: Place>(
    nodes: *const u64,
    corner: [f64; 2],
    per_unit: [f64; 2],
    level: u32,
    bounds: [f64; 4],
    x: *const T,
    y: *const T,
    count: u64,
    leaves: *mut u32,
) {
    let i = thread::index_1d() as usize;
    if i as u64 >= count {
        return;
    }
    let frame = Frame::new(corner, per_unit, level);
    // SAFETY: guarded; the nodes are the caller's.
    unsafe {
        let place = [(*x.add(i)).widened(), (*y.add(i)).widened()];
        *leaves.add(i) = find(nodes, &frame, bounds, place);
    }
}
