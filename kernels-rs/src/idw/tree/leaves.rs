//! The boxes of the leaves, and their points as sources.

use device_std::block::BlockReduce;
use device_std::shared::Carver;
use device_std::{Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::{LEAF, Tree, box_of, set_extent};
use crate::idw::SEVERAL;
use crate::idw::points::Points;
use crate::idw::targets::{Frame, split};

const ALL: usize = SEVERAL as usize;

/// The boxes of the leaves, and their points as sources. Grid: a block a leaf.
///
/// # Safety
/// The slices have what [`Points`] and [`Tree`] say, of the same points, and there are points; `extents` has 4 numbers
/// for each item.
#[kernel(
    block = LEAF,
    carve = |carver| BlockReduce::<f64>::new(carver, LEAF as usize),
    instances(one: <1>; several: <ALL>)
)]
pub unsafe fn stage_leaves<const V: usize>(
    points: Points<'_>,
    frame: Frame,
    tree: Tree<'_>,
    extents: Out<'_, f64>,
) {
    let block = BlockReduce::<f64>::new(&mut Carver::new(), LEAF as usize);
    let leaf = thread::block_idx_x();
    let point = leaf * LEAF + thread::thread_idx_x();
    let (n, places) = (points.count as usize, points.places);
    // Threads beyond the points take the last point.
    let i = u32::min(point, points.count - 1) as usize;
    let (x, y) = (frame.x(places.get(i)), frame.y(places.get(i + n)));
    // SAFETY: the whole block is here.
    let extent = unsafe { box_of(block, [x, y], [x, y]) };
    // The point in the middle of the order, so that f32 keeps most where points are dense.
    let half = u32::min(LEAF, points.count - leaf * LEAF) / 2;
    let origin = (leaf * LEAF + half) as usize;
    let origin_x = frame.x(places.get(origin)) as f32;
    let origin_y = frame.y(places.get(origin + n)) as f32;
    if thread::thread_idx_x() == 0 {
        set_extent(extents, leaf, extent);
        tree.set_middle(leaf, extent);
        tree.boxes.store(tree.items + leaf, [origin_x.to_bits(), origin_y.to_bits(), 0, 0]);
    }
    if point < points.count {
        // These are the same operations as for targets, so that a target on a point is at distance 0.
        let ([x, x_rest], [y, y_rest]) = (split(x), split(y));
        let (x, y) = ((x - origin_x) + x_rest, (y - origin_y) + y_rest);
        let mut all = [0u32; 4];
        let mut v = 0;
        while v < V {
            let offset = points.offset(v);
            all[v] = ((points.values.get(i + v * n) - offset) as f32).to_bits();
            v += 1;
        }
        tree.sources.store(i, [x.to_bits(), y.to_bits(), 1f32.to_bits(), all[0]]);
        if V > 1 {
            tree.values.store(i, all);
        }
    }
}
