//! Far points expanded in nodes on the sphere, on the device: the items, and the launch that sums over them. See
//! [`crate::expansion`]; the kernels are in `kernels_rs::idw::tree::globe`.

use device_std::vector::Vector;
use gpu_core::{Blocks, Column};
use kernels_rs::idw::SEVERAL;
use kernels_rs::idw::tree::globe::leaves::stage_globe;
use kernels_rs::idw::tree::globe::nodes::weigh_globe;
use kernels_rs::idw::tree::globe::sum::{QUERIES, sum_globe};

use super::group::Group;
use super::tree::rows;
use crate::Result;
use crate::expansion::{self, NODES};
use crate::ground::RADIUS;

/// Points and nodes with their boxes, on the device.
pub(super) struct Globe {
    items: u32,
    /// The level of the root.
    top: u32,
    sources: Column<Vector>,
    all: Column<Vector>,
    boxes: Column<Vector>,
}

impl Globe {
    /// The tree over the points with a group of their values. Enqueues and returns.
    pub fn new(group: &Group) -> Result<Self> {
        let (gpu, points) = (group.call.gpu, group.call.index.len());
        let starts = expansion::levels(points);
        let items = starts[starts.len() - 1];
        let places = points + items as usize * NODES;
        let several = group.is_several();
        // SAFETY: columns have the lengths that the kernels need; every source and box is written, those
        // of a level before the next one reads them.
        unsafe {
            let mut sources = gpu.uninitialized::<Vector>(2 * places)?;
            let mut all = gpu.uninitialized::<Vector>(if several { places } else { 0 })?;
            let mut boxes = gpu.uninitialized::<Vector>((items + starts[1]) as usize)?;
            let arguments = stage_globe::Args {
                places: group.tiled.places.as_ptr(),
                values: group.point_values(),
                ranges: group.ranges(),
                points: points as u32,
                items,
                sources: sources.as_mut_ptr(),
                all: all.as_mut_ptr(),
                boxes: boxes.as_mut_ptr(),
            };
            let kernel = if several { stage_globe::several } else { stage_globe::one };
            gpu.enqueue(kernel, Blocks::x(starts[1]), arguments)?;
            for level in 0..starts.len() - 1 {
                let (start, end) = (starts[level], starts[level + 1]);
                let below = if level > 0 { starts[level - 1] } else { 0 };
                let arguments = weigh_globe::Args {
                    points: points as u32,
                    items,
                    start,
                    below,
                    below_count: start - below,
                    sources: sources.as_mut_ptr(),
                    all: all.as_mut_ptr(),
                    boxes: boxes.as_mut_ptr(),
                };
                let kernel = if several { weigh_globe::several } else { weigh_globe::one };
                gpu.enqueue(kernel, Blocks::x(end - start), arguments)?;
            }
            Ok(Self { items, top: starts.len() as u32 - 2, sources, all, boxes })
        }
    }

    /// Enqueues the sums over all points for queries near each other; returns them, and in how many rows
    /// they are.
    pub fn sum(&self, group: &Group) -> Result<(u32, Column<f64>)> {
        let several = group.is_several();
        let columns = 1 + if several { SEVERAL } else { 1 };
        let (call, queries) = (group.call, group.queries);
        let blocks = group.blocks(QUERIES[usize::from(several)])?;
        let rows = rows(blocks);
        let kernel = match (group.law(), several) {
            (2, false) => sum_globe::square,
            (_, false) => sum_globe::any,
            (2, true) => sum_globe::square_several,
            (_, true) => sum_globe::any_several,
        };
        // SAFETY: the columns have the lengths that the kernel needs; each row of blocks writes the sums of
        // every query.
        unsafe {
            let sums = u64::from(rows * columns) * queries.count;
            let mut partial = call.gpu.uninitialized::<f64>(sums as usize)?;
            let arguments = sum_globe::Args {
                sources: self.sources.as_ptr(),
                all: self.all.as_ptr(),
                boxes: self.boxes.as_ptr(),
                points: call.index.len() as u32,
                items: self.items,
                top: self.top,
                separation: expansion::separation(call.params),
                vectors: queries.vectors,
                count: queries.count,
                smoothing: (call.params.smoothing / RADIUS).powi(2),
                exponent: group.exponent(),
                exponents: group.exponents,
                leave_out: u32::from(call.leave_out),
                partial: partial.as_mut_ptr(),
            };
            call.gpu.enqueue(kernel, Blocks { x: blocks, y: rows }, arguments)?;
            Ok((rows, partial))
        }
    }
}
