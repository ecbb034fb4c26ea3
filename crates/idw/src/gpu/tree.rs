//! Far points expanded in nodes, on the device: the items, and the launch that sums over them. See
//! [`crate::expansion`]; the kernels, with the plan of the algorithm, are in `kernels_rs::idw::tree`.

use device_std::vector::Vector;
use gpu_core::{Blocks, Column};
use kernels_rs::idw::SEVERAL;
use kernels_rs::idw::tree as kernels;
use kernels_rs::idw::tree::leaves::stage_leaves;
use kernels_rs::idw::tree::nodes::{Level, weigh_nodes};
use kernels_rs::idw::tree::sum::{PlanePoints, TARGETS, sum_items};

use super::group::{Group, instance};
use crate::Result;
use crate::expansion::{self, CHILDREN, LEAF, NODES};

const _: () = assert!(
    kernels::LEAF as usize == LEAF
        && kernels::CHILDREN as usize == CHILDREN
        && kernels::NODES as usize == NODES
);

/// Blocks that a launch should have. Where the targets make fewer, blocks share the items; in how many
/// parts depends on the number of targets alone, and not on the device.
const BLOCKS: u32 = 1024;

/// The most parts.
const MAX_PARTS: u32 = 32;

/// Rows of blocks that share the items.
pub(super) fn rows(blocks: u32) -> u32 {
    (BLOCKS / blocks).clamp(1, MAX_PARTS)
}

/// Points and nodes with their boxes, on the device.
pub(super) struct Tree {
    points: u32,
    items: u32,
    /// The level of the root.
    top: u32,
    sources: Column<Vector>,
    all: Column<Vector>,
    boxes: Column<Vector>,
}

impl Tree {
    fn output(&mut self) -> kernels::Tree<'_> {
        kernels::Tree {
            sources: self.sources.output(),
            values: self.all.output(),
            boxes: self.boxes.output(),
            points: self.points,
            items: self.items,
        }
    }

    /// The tree over the points with a group of their values. Enqueues and returns.
    pub fn new(group: &Group) -> Result<Self> {
        let (gpu, points) = (group.call.gpu, group.call.index.len());
        let starts = expansion::levels(points);
        let items = starts[starts.len() - 1];
        let vectors = points + items as usize * NODES;
        // SAFETY: columns have the lengths that the kernels need; every source and box is written, those
        // of a level before the next one reads them.
        unsafe {
            let mut tree = Self {
                points: points as u32,
                items,
                top: starts.len() as u32 - 2,
                sources: gpu.uninitialized(vectors)?,
                all: gpu.uninitialized(if group.is_several() { vectors } else { 0 })?,
                boxes: gpu.uninitialized((items + starts[1]) as usize)?,
            };
            let mut extents = gpu.uninitialized::<f64>(4 * items as usize)?;
            let arguments = stage_leaves::Args {
                points: group.points()?,
                frame: group.frame(),
                tree: tree.output(),
                extents: extents.output(),
            };
            let kernel = if group.is_several() { stage_leaves::several } else { stage_leaves::one };
            gpu.enqueue(kernel, Blocks::x(starts[1]), arguments)?;
            for level in 0..starts.len() - 1 {
                let (start, end) = (starts[level], starts[level + 1]);
                let below = if level > 0 { starts[level - 1] } else { 0 };
                let arguments = weigh_nodes::Args {
                    level: Level { start, below, below_count: start - below },
                    tree: tree.output(),
                    extents: extents.output(),
                };
                let kernel =
                    if group.is_several() { weigh_nodes::several } else { weigh_nodes::one };
                gpu.enqueue(kernel, Blocks::x(end - start), arguments)?;
            }
            Ok(tree)
        }
    }

    /// Enqueues the sums over all points for targets near each other; returns the sums, and the number of their rows.
    pub fn sum(mut self, group: &Group) -> Result<(u32, Column<f64>)> {
        let several = group.is_several();
        let columns = 1 + if several { SEVERAL } else { 1 };
        let (call, targets) = (group.call, group.targets);
        let blocks = group.blocks(TARGETS[usize::from(several)])?;
        let rows = rows(blocks);
        let kernel = instance(group.summing(), |wanted| sum_items::find(|of| of == wanted));
        // SAFETY: the columns have the lengths that the kernel needs; each row of blocks writes the sums of
        // every target.
        unsafe {
            let sums = u64::from(rows * columns) * targets.count;
            let mut partial = call.gpu.uninitialized::<f64>(sums as usize)?;
            let arguments = sum_items::Args {
                top: self.top,
                tree: self.output(),
                separation: expansion::separation(call.params),
                ground: PlanePoints {
                    places: group.tiled.places.input(),
                    reaches: group.tiled.reaches.input(),
                    ranges: group.ranges()?,
                },
                targets: targets.argument()?,
                frame: group.frame(),
                extent: group.extent(),
                weighting: group.weighting(group.smoothing()),
                leave_out: u32::from(call.leave_out),
                partial: partial.output(),
            };
            call.gpu.enqueue(kernel, Blocks { x: blocks, y: rows }, arguments)?;
            Ok((rows, partial))
        }
    }
}
