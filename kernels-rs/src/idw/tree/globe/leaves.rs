//! The points of the leaves as sources.

use device_std::block::BlockReduce;
use device_std::math;
use device_std::shared::Carver;
use device_std::vector::Vector;
use device_std::{kernel, thread};

use super::super::LEAF;
#[cfg(not(target_arch = "nvptx64"))]
use super::super::MODULE;
use super::{Globe, relative};

/// The points of the leaves as sources. Grid: a block a leaf.
///
/// # Safety
/// `places` has the unit vectors, `3 * points` elements, `values` as many as there are points, which are not 0, `range`
/// three; `sources` has two vectors for each point, `boxes` one for each of `items` items and one more for each leaf.
#[kernel(block = LEAF, carve = |carver| BlockReduce::<f64>::new(carver, LEAF as usize))]
pub unsafe fn stage_globe(
    places: *const f64,
    values: *const f64,
    range: *const f64,
    points: u32,
    items: u32,
    sources: *mut Vector,
    boxes: *mut Vector,
) {
    let block = BlockReduce::<f64>::new(&mut Carver::new(), LEAF as usize);
    let globe = Globe { sources, boxes, points, items };
    let leaf = thread::block_idx_x();
    let (first, n) = (leaf * LEAF, points as usize);
    let point = first + thread::thread_idx_x();
    // SAFETY: the block stays together; beyond the points its threads take the last one.
    unsafe {
        let at = |i: u32| {
            let place = places.add(i as usize);
            [*place, *place.add(n), *place.add(2 * n)]
        };
        // The point in the middle of the order: where points crowd, there f32 should keep most.
        let [x, y, z] = at(first + u32::min(LEAF, points - first) / 2);
        let origin = [x as f32, y as f32, z as f32];
        let place = relative(at(u32::min(point, points - 1)), origin);
        let away = math::sqrt(place[0] * place[0] + place[1] * place[1] + place[2] * place[2]);
        let reach = block.reduce(away, 0.0, f64::max);
        if thread::thread_idx_x() == 0 {
            globe.set_around(items + leaf, origin, reach);
        }
        if point < points {
            let value = (*values.add(point as usize) - *range) as f32;
            globe.set_source(point as usize, place, [1.0, value]);
        }
    }
}
