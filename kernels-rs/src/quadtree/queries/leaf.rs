//! The leaf of a place.

use device_std::{In, Out, kernel, thread};

use super::super::node::{Node, Words};
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use crate::spatial::frame::Frame;
use crate::spatial::morton;
use crate::spatial::place::{Place, Places};

/// Stands for no leaf.
pub const NONE: u32 = u32::MAX;

/// Returns the leaf whose cell holds a place, as its index among the nodes; [`NONE`] outside of the bounds, or if the
/// cell has no points and so no node. The nodes are those of a tree, at least one.
#[inline(always)]
pub fn find(nodes: In<Words>, frame: &Frame, bounds: [f64; 4], [x, y]: [f64; 2]) -> u32 {
    // False for NaN, too.
    let inside = x >= bounds[0] && y >= bounds[1] && x <= bounds[2] && y <= bounds[3];
    if !inside {
        return NONE;
    }
    let code = morton::encode(frame.column(x), frame.row(y));
    let (mut index, mut below) = (0, frame.level);
    loop {
        // Children of a node are nodes, and one of the deepest level has none.
        let (node, first_child) = Node::load_with_child(nodes, index as u64);
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

/// Finds the leaf of each place: see [`find`]. Grid: a thread for each.
///
/// # Safety
/// `nodes` are those of a tree, at least one; the columns are as [`Places`] says, and `leaves` has as many elements.
#[kernel(block = 256, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn find_leaves<T: Place>(
    nodes: In<'_, Words>,
    frame: Frame,
    bounds: [f64; 4],
    places: Places<'_, T>,
    leaves: Out<'_, u32>,
) {
    let i = thread::index_1d();
    if i < places.count {
        let place = [places.x.get(i).widened(), places.y.get(i).widened()];
        leaves.set(i, find(nodes, &frame, bounds, place));
    }
}
