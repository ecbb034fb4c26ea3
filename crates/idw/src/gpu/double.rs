//! Far points expanded in nodes in f64, on the device: the items, and the launch that sums over them. See
//! [`crate::expansion`]; the kernels are in `kernels_rs::idw::tree::double`.

use gpu_core::{Blocks, Column};
use kernels_rs::idw::tree::double as kernels;
use kernels_rs::idw::tree::double::nodes::{bound_leaves, weigh_in_f64};
use kernels_rs::idw::tree::double::sum::{QUERIES, sum_in_double};

use super::group::Group;
use super::tree::rows;
use crate::Result;
use crate::expansion::{self, NODES_IN_F64};

const _: () = assert!(kernels::NODES as usize == NODES_IN_F64);

/// Nodes with their boxes, on the device: of the items above the leaves.
pub(super) struct Double {
    items: u32,
    /// The level of the root.
    top: u32,
    nodes: Column<f64>,
    extents: Column<f64>,
}

impl Double {
    /// The tree over the points with one of their values. Enqueues and returns.
    pub fn new(group: &Group) -> Result<Self> {
        let (gpu, points) = (group.call.gpu, group.call.index.len());
        let starts = expansion::levels(points);
        let items = starts[starts.len() - 1];
        let leaves = starts[1];
        // SAFETY: columns have the lengths that the kernels need; every box and node is written, those
        // of a level before the next one reads them.
        unsafe {
            let numbers = 4 * (items - leaves) as usize * NODES_IN_F64;
            let mut nodes = gpu.uninitialized::<f64>(numbers)?;
            let mut extents = gpu.uninitialized::<f64>(4 * items as usize)?;
            let arguments = bound_leaves::Args {
                places: group.tiled.places.as_ptr(),
                points: points as u32,
                scale: group.scale(),
                extents: extents.as_mut_ptr(),
            };
            gpu.enqueue(bound_leaves, Blocks::x(leaves), arguments)?;
            for level in 1..starts.len() - 1 {
                let (below, start, end) = (starts[level - 1], starts[level], starts[level + 1]);
                let arguments = weigh_in_f64::Args {
                    places: group.tiled.places.as_ptr(),
                    values: group.point_values(),
                    range: group.ranges(),
                    points: points as u32,
                    leaves,
                    start,
                    below,
                    below_count: start - below,
                    scale: group.scale(),
                    nodes: nodes.as_mut_ptr().cast(),
                    extents: extents.as_mut_ptr(),
                };
                gpu.enqueue(weigh_in_f64, Blocks::x(end - start), arguments)?;
            }
            Ok(Self { items, top: starts.len() as u32 - 2, nodes, extents })
        }
    }

    /// Enqueues the sums over all points for queries near each other; returns them, and in how many rows
    /// they are.
    pub fn sum(&self, group: &Group) -> Result<(u32, Column<f64>)> {
        let (call, queries) = (group.call, group.queries);
        let blocks = group.blocks(QUERIES)?;
        let rows = rows(blocks);
        let kernel = match (queries.grid.is_some(), group.law()) {
            (false, 2) => sum_in_double::scattered_2,
            (false, _) => sum_in_double::scattered_any,
            (true, 2) => sum_in_double::on_grid_2,
            (true, _) => sum_in_double::on_grid_any,
        };
        // SAFETY: the columns have the lengths that the kernel needs; each row of blocks writes the sums of
        // every query.
        unsafe {
            let sums = u64::from(rows * 2) * queries.count;
            let mut partial = call.gpu.uninitialized::<f64>(sums as usize)?;
            let arguments = sum_in_double::Args {
                places: group.tiled.places.as_ptr(),
                values: group.point_values(),
                range: group.ranges(),
                nodes: self.nodes.as_ptr().cast(),
                extents: self.extents.as_ptr(),
                points: call.index.len() as u32,
                items: self.items,
                top: self.top,
                separation: expansion::separation_in_f64(call.params),
                x: queries.x,
                y: queries.y,
                count: queries.count,
                width: queries.width(),
                height: queries.height(),
                grid: queries.grid_numbers(),
                scale: group.scale(),
                law: group.law(),
                smoothing: group.smoothing(),
                exponent: group.exponent(),
                exponents: group.exponents,
                partial: partial.as_mut_ptr(),
            };
            call.gpu.enqueue(kernel, Blocks { x: blocks, y: rows }, arguments)?;
            Ok((rows, partial))
        }
    }
}
