//! Far points expanded in nodes on the sphere, on the device: the items, and the launch that sums over them. See
//! [`crate::expansion`]; the kernels are in `kernels_rs::idw::tree::globe`.

use device_std::vector::Vector;
use gpu_core::{Blocks, Column};
use kernels_rs::idw::tree::globe as kernels;
use kernels_rs::idw::tree::globe::leaves::stage_globe;
use kernels_rs::idw::tree::globe::nodes::weigh_globe;
use kernels_rs::idw::tree::globe::sum::{TARGETS, sum_globe};
use kernels_rs::idw::tree::nodes::Level;

use super::group::Group;
use super::tree::rows;
use crate::Result;
use crate::expansion::{self, NODES};
use crate::ground::RADIUS;

/// Points and nodes with their boxes, on the device.
pub(super) struct Globe {
    points: u32,
    items: u32,
    /// The level of the root.
    top: u32,
    sources: Column<Vector>,
    boxes: Column<Vector>,
}

impl Globe {
    fn output(&mut self) -> kernels::Globe<'_> {
        let (sources, boxes) = (self.sources.output(), self.boxes.output());
        kernels::Globe { sources, boxes, points: self.points, items: self.items }
    }

    /// The tree over the points with one of their values. Enqueues and returns.
    pub fn new(group: &Group) -> Result<Self> {
        let (gpu, points) = (group.call.gpu, group.call.index.len());
        let starts = expansion::levels(points);
        let items = starts[starts.len() - 1];
        let places = points + items as usize * NODES;
        // SAFETY: columns have the lengths that the kernels need; every source and box is written, those
        // of a level before the next one reads them.
        unsafe {
            let mut globe = Self {
                points: points as u32,
                items,
                top: starts.len() as u32 - 2,
                sources: gpu.uninitialized(2 * places)?,
                boxes: gpu.uninitialized((items + starts[1]) as usize)?,
            };
            let arguments = stage_globe::Args { points: group.points()?, globe: globe.output() };
            gpu.enqueue(stage_globe, Blocks::x(starts[1]), arguments)?;
            for level in 0..starts.len() - 1 {
                let (start, end) = (starts[level], starts[level + 1]);
                let below = if level > 0 { starts[level - 1] } else { 0 };
                let arguments = weigh_globe::Args {
                    level: Level { start, below, below_count: start - below },
                    globe: globe.output(),
                };
                gpu.enqueue(weigh_globe, Blocks::x(end - start), arguments)?;
            }
            Ok(globe)
        }
    }

    /// Enqueues the sums over all points for targets near each other; returns the sums, and the number of their rows.
    pub fn sum(mut self, group: &Group) -> Result<(u32, Column<f64>)> {
        let (call, targets) = (group.call, group.targets);
        let blocks = group.blocks(TARGETS)?;
        let rows = rows(blocks);
        let kernel = if group.law() == 2 { sum_globe::square } else { sum_globe::any };
        let vectors = targets.vectors().expect("targets on the sphere have vectors");
        // SAFETY: the columns have the lengths that the kernel needs; each row of blocks writes the sums of
        // every target.
        unsafe {
            let sums = u64::from(rows * 2) * targets.count;
            let mut partial = call.gpu.uninitialized::<f64>(sums as usize)?;
            let arguments = sum_globe::Args {
                top: self.top,
                globe: self.output(),
                separation: expansion::separation(call.params),
                vectors,
                count: targets.count,
                weighting: group.weighting((call.params.smoothing / RADIUS).powi(2)),
                leave_out: u32::from(call.leave_out),
                partial: partial.output(),
            };
            call.gpu.enqueue(kernel, Blocks { x: blocks, y: rows }, arguments)?;
            Ok((rows, partial))
        }
    }
}
