//! The points of the leaves as sources.

use device_std::block::BlockReduce;
use device_std::math;
use device_std::shared::Carver;
use device_std::{kernel, thread};

use super::super::LEAF;
#[cfg(not(target_arch = "nvptx64"))]
use super::super::MODULE;
use super::{Globe, relative};
use crate::idw::points::Points;

/// The points of the leaves as sources. Grid: a block a leaf.
///
/// # Safety
/// The slices have what [`Points`] and [`Globe`] say, of the same points, and there are points.
#[kernel(block = LEAF, carve = |carver| BlockReduce::<f64>::new(carver, LEAF as usize))]
pub unsafe fn stage_globe(points: Points<'_>, globe: Globe<'_>) {
    let block = BlockReduce::<f64>::new(&mut Carver::new(), LEAF as usize);
    let leaf = thread::block_idx_x();
    let (first, count) = (leaf * LEAF, points.count);
    let point = first + thread::thread_idx_x();
    let at = |i: u32| {
        let (place, n) = (points.places.from(i), count as usize);
        [place.get(0u32), place.get(n), place.get(2 * n)]
    };
    // The point in the middle of the order, so that f32 keeps most where points are dense.
    let [x, y, z] = at(first + u32::min(LEAF, count - first) / 2);
    let origin = [x as f32, y as f32, z as f32];
    // Threads beyond the points take the last point.
    let place = relative(at(u32::min(point, count - 1)), origin);
    let away = math::sqrt(place[0] * place[0] + place[1] * place[1] + place[2] * place[2]);
    // SAFETY: the whole block is here.
    let reach = unsafe { block.reduce(away, 0.0, f64::max) };
    if thread::thread_idx_x() == 0 {
        globe.set_around(globe.items + leaf, origin, reach);
    }
    if point < count {
        let value = (points.values.get(point) - points.offset(0)) as f32;
        globe.set_source(point as usize, place, [1.0, value]);
    }
}
