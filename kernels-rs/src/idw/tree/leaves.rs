//! The boxes of the leaves, and their points as sources.

use device_std::shared::{Carver, SharedArray};
use device_std::vector::{self, Vector};
use device_std::{kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::{LEAF, Tree, least};
use crate::idw::SEVERAL;
use crate::idw::targets::{Frame, split};

const ALL: usize = SEVERAL as usize;

const WARPS: u32 = LEAF / warp::SIZE;

/// One number of each warp.
#[inline(always)]
const fn room(carver: &mut Carver) -> SharedArray<f64> {
    carver.array(WARPS)
}

/// Bytes of it.
const ROOM_BYTES: u32 = {
    let mut carver = Carver::new();
    let _ = room(&mut carver);
    carver.bytes()
};

/// The boxes of the leaves, and their points as sources. Grid: a block a leaf.
///
/// # Safety
/// `places` has `2 * points` elements, `values` that of each value, `ranges` three for each; `points` is
/// not 0; `sources` has a vector for each point, `all` (with several values) too, `extents` 4 numbers and
/// `boxes` a vector for each of `items` items, and `boxes` one more for each leaf.
#[kernel(named, block = LEAF, shared = ROOM_BYTES, instances(one: <1>; several: <ALL>))]
pub unsafe fn stage_leaves<const V: usize>(
    places: *const f64,
    values: *const f64,
    ranges: *const f64,
    points: u32,
    items: u32,
    centre: [f64; 2],
    scale: f64,
    sources: *mut Vector,
    all: *mut Vector,
    extents: *mut f64,
    boxes: *mut Vector,
) {
    let shared = room(&mut Carver::new());
    let frame = Frame::new(centre, scale);
    let tree = Tree { sources, values: all, extents, boxes, points, items };
    let leaf = thread::block_idx_x();
    let point = leaf * LEAF + thread::thread_idx_x();
    // SAFETY: the block stays together; beyond the points its threads take the last one.
    unsafe {
        let n = tree.points as usize;
        let i = u32::min(point, tree.points - 1) as usize;
        let (x, y) = (frame.x(*places.add(i)), frame.y(*places.add(i + n)));
        let warps = WARPS;
        let low = [least(shared, warps, x), least(shared, warps, y)];
        let high = [-least(shared, warps, -x), -least(shared, warps, -y)];
        let extent = [low[0], low[1], high[0], high[1]];
        // The point in the middle of the order: where points crowd, there f32 should keep most.
        let half = u32::min(LEAF, tree.points - leaf * LEAF) / 2;
        let origin = (leaf * LEAF + half) as usize;
        let origin_x = frame.x(*places.add(origin)) as f32;
        let origin_y = frame.y(*places.add(origin + n)) as f32;
        if thread::thread_idx_x() == 0 {
            tree.set_box(leaf, extent);
            let packed = [origin_x.to_bits(), origin_y.to_bits(), 0, 0];
            vector::store(tree.boxes.add((tree.items + leaf) as usize).cast(), packed);
        }
        if point < tree.points {
            // The same operations as for queries, so that one on a point is at distance 0.
            let ([x, x_rest], [y, y_rest]) = (split(x), split(y));
            let (x, y) = ((x - origin_x) + x_rest, (y - origin_y) + y_rest);
            let mut all = [0u32; 4];
            let mut v = 0;
            while v < V {
                let offset = *ranges.add(3 * v);
                all[v] = ((*values.add(i + v * n) - offset) as f32).to_bits();
                v += 1;
            }
            let source = [x.to_bits(), y.to_bits(), 1f32.to_bits(), all[0]];
            vector::store(tree.sources.add(i).cast(), source);
            if V > 1 {
                vector::store(tree.values.add(i).cast(), all);
            }
        }
    }
}
