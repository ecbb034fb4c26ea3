//! How wide a circle holds the neighbours of a place.

use device_std::{math, vector};

use super::super::super::node::Node;
use super::super::ground::{Cell, Origin};
use super::super::leaf::NONE;
use crate::spatial::frame::Frame;

/// A cell whose quadrant has fewer than one in so many of its points tells nothing about that quadrant.
const UNEVEN: u64 = 16;

/// The radius of a circle around a place that holds `aim` points where they lie as densely as in the smallest cell around
/// the place that has as many; 0 where they lie at another side of it.
///
/// # Safety
/// `nodes` are those of a tree, at least one.
#[inline(always)]
pub(super) unsafe fn even_radius(
    nodes: *const u64,
    frame: &Frame,
    [x, y]: [f64; 2],
    aim: f32,
) -> f64 {
    let (column, row) = (frame.column(x), frame.row(y));
    let (mut index, mut below) = (0u32, frame.level);
    let (mut count, mut side) = (1, below);
    let mut is_even = true;
    loop {
        // SAFETY: children of a node are nodes, and one of the deepest level has none.
        let (node, first_child) = unsafe { Node::load_with_child(nodes, index as u64) };
        if (node.count as f32) < aim && index != 0 {
            is_even = node.count * UNEVEN >= count;
            break;
        }
        (count, side) = (node.count, below);
        if node.quadrants == 0 {
            break;
        }
        below -= 1;
        let quadrant = column >> below & 1 | (row >> below & 1) << 1;
        if node.quadrants >> quadrant & 1 == 0 {
            is_even = false;
            break;
        }
        index = first_child + (node.quadrants & ((1 << quadrant) - 1)).count_ones();
    }
    let side = (1u64 << side) as f64;
    let area = side / frame.columns_per_unit * (side / frame.rows_per_unit);
    let share = aim as f64 / (core::f64::consts::PI * count as f64);
    if is_even { math::sqrt(area * share) } else { 0.0 }
}

/// The radius of a circle around a place that surely has `k` points: it holds a cell with as many, one that is small and
/// near.
///
/// # Safety
/// `nodes` are those of a tree, at least one.
#[inline(always)]
pub(super) unsafe fn sure_radius(
    nodes: *const u64,
    frame: &Frame,
    [x, y]: [f64; 2],
    k: u32,
) -> f64 {
    let origin = Origin::new(frame, [x, y]);
    let (mut index, mut cell) = (0u32, Cell::ROOT);
    loop {
        // SAFETY: children of a node are nodes.
        let (node, mut child) = unsafe { Node::load_with_child(nodes, index as u64) };
        if node.quadrants == 0 {
            break;
        }
        let (mut best, mut next) = (f64::INFINITY, NONE);
        let mut quadrant = 0;
        // As it stands, since four at a time would take many registers.
        while quadrant < vector::unknown(4) {
            if node.quadrants >> quadrant & 1 == 1 {
                // SAFETY: as above.
                let count = unsafe { Node::load(nodes, child as u64).count };
                let gap = origin.gap_squared(cell.child(quadrant), frame.level);
                if count >= k as u64 && gap < best {
                    (best, next) = (gap, quadrant);
                    index = child;
                }
                child += 1;
            }
            quadrant += 1;
        }
        if next == NONE {
            break;
        }
        cell = cell.child(next);
    }
    let size = (1u64 << (frame.level - cell.level)) as f64;
    let farthest = |position: f64, number: u32, per_unit: f64| {
        let first = number as f64 * size;
        let beside = f64::max(f64::abs(position - first), f64::abs(position - (first + size)));
        beside / per_unit
    };
    let (columns, rows) = (frame.columns_per_unit, frame.rows_per_unit);
    let dx = farthest((x - frame.west) * columns, cell.column, columns);
    let dy = farthest((y - frame.south) * rows, cell.row, rows);
    math::sqrt(dx * dx + dy * dy) * 1.001
}
