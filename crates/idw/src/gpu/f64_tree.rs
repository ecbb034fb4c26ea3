//! Far points expanded in nodes in f64, on the device: the items, and the launch that sums over them. See
//! [`crate::expansion`]; the kernels are in `kernels_rs::idw::tree::f64_tree`.

use gpu_core::{Blocks, Column};
use kernels_rs::idw::Summing;
use kernels_rs::idw::tree::f64_tree as kernels;
use kernels_rs::idw::tree::f64_tree::nodes::{bound_leaves, weigh_in_f64};
use kernels_rs::idw::tree::f64_tree::sum::{TARGETS, sum_in_double};
use kernels_rs::idw::tree::nodes::Level;

use super::group::{Group, instance};
use super::tree::rows;
use crate::Result;
use crate::expansion::{self, NODES_IN_F64};

const _: () = assert!(kernels::NODES as usize == NODES_IN_F64);

/// Nodes with their boxes, on the device: of the items above the leaves.
pub(super) struct Double {
    items: u32,
    /// The level of the root.
    top: u32,
    nodes: Column<kernels::Node>,
    extents: Column<f64>,
}

impl Double {
    fn output<'a>(&'a mut self, group: &'a Group) -> Result<kernels::Tree<'a>> {
        let (nodes, extents) = (self.nodes.output(), self.extents.output());
        Ok(kernels::Tree { points: group.points()?, scale: group.scale(), nodes, extents })
    }

    /// The tree over the points with one of their values. Enqueues and returns.
    pub fn new(group: &Group) -> Result<Self> {
        let (gpu, points) = (group.call.gpu, group.call.index.len());
        let starts = expansion::levels(points);
        let items = starts[starts.len() - 1];
        let leaves = starts[1];
        // SAFETY: columns have the lengths that the kernels need; every box and node is written, those
        // of a level before the next one reads them.
        unsafe {
            let mut tree = Self {
                items,
                top: starts.len() as u32 - 2,
                nodes: gpu.uninitialized((items - leaves) as usize * NODES_IN_F64)?,
                extents: gpu.uninitialized(4 * items as usize)?,
            };
            let arguments = bound_leaves::Args {
                places: group.tiled.places.input(),
                points: points as u32,
                scale: group.scale(),
                extents: tree.extents.output(),
            };
            gpu.enqueue(bound_leaves, Blocks::x(leaves), arguments)?;
            for level in 1..starts.len() - 1 {
                let (below, start, end) = (starts[level - 1], starts[level], starts[level + 1]);
                let arguments = weigh_in_f64::Args {
                    tree: tree.output(group)?,
                    leaves,
                    level: Level { start, below, below_count: start - below },
                };
                gpu.enqueue(weigh_in_f64, Blocks::x(end - start), arguments)?;
            }
            Ok(tree)
        }
    }

    /// Enqueues the sums over all points for targets near each other; returns the sums, and the number of their rows.
    pub fn sum(mut self, group: &Group) -> Result<(u32, Column<f64>)> {
        let (call, targets) = (group.call, group.targets);
        let blocks = group.blocks(TARGETS)?;
        let rows = rows(blocks);
        // The same kernels take powers of the targets' own.
        let summing = Summing { has_each: false, ..group.summing() };
        let kernel = instance(summing, |wanted| sum_in_double::find(|of| of == wanted));
        // SAFETY: the columns have the lengths that the kernel needs; each row of blocks writes the sums of
        // every target.
        unsafe {
            let sums = u64::from(rows * 2) * targets.count;
            let mut partial = call.gpu.uninitialized::<f64>(sums as usize)?;
            let arguments = sum_in_double::Args {
                items: self.items,
                top: self.top,
                tree: self.output(group)?,
                separation: expansion::separation_in_f64(call.params),
                targets: targets.argument()?,
                law: group.law(),
                weighting: group.weighting(group.smoothing()),
                partial: partial.output(),
            };
            call.gpu.enqueue(kernel, Blocks { x: blocks, y: rows }, arguments)?;
            Ok((rows, partial))
        }
    }
}
