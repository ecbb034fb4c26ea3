//! How far the points of a tile are from its origin.

use device_std::block::BlockReduce;
use device_std::shared::Carver;
use device_std::{In, Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use crate::idw::TILE;
use crate::idw::targets::Frame;

/// Writes how far the points of each tile are from its origin, along either axis in units, including what f32 does to a
/// place there. Grid: a block a tile.
///
/// # Safety
/// `places` has `2 * points` elements, `reaches` one for each tile; `points` is not 0.
#[kernel(block = TILE, carve = |carver| BlockReduce::<f64>::new(carver, TILE as usize))]
pub unsafe fn measure_tiles(places: In<'_, f64>, points: u32, frame: Frame, reaches: Out<'_, f32>) {
    let block = BlockReduce::<f64>::new(&mut Carver::new(), TILE as usize);
    let (tile, n) = (thread::block_idx_x(), points as usize);
    let first = tile * TILE;
    // Threads beyond the points take the last point.
    let i = u32::min(first + thread::thread_idx_x(), points - 1) as usize;
    let origin = (first + u32::min(TILE, points - first) / 2) as usize;
    let x = frame.x(places.get(origin)) as f32 as f64;
    let y = frame.y(places.get(origin + n)) as f32 as f64;
    let (dx, dy) = (frame.x(places.get(i)) - x, frame.y(places.get(i + n)) - y);
    let farthest = f64::max(f64::abs(dx), f64::abs(dy));
    // SAFETY: the whole block is here.
    let reach = unsafe { block.reduce(farthest, 0.0, f64::max) };
    if thread::thread_idx_x() == 0 {
        let of_place = f64::max(f64::abs(x), f64::abs(y)) / 16_777_216.0;
        reaches.set(tile, ((reach + of_place) * 1.000_000_2) as f32);
    }
}
