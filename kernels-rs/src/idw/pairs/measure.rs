//! How far the points of a tile are from its origin.

use device_std::shared::Carver;
use device_std::{kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::rescue::{RESCUE_BLOCK, of_block, room};
use crate::idw::TILE;
use crate::idw::targets::Frame;

const _: () = assert!(TILE == RESCUE_BLOCK);

/// Writes how far the points of each tile are from its origin, along either axis in units, and what f32
/// does to a place there. Grid: a block a tile.
///
/// # Safety
/// `places` has `2 * points` elements, `reaches` one for each tile; `points` is not 0.
#[kernel(named, block = TILE, shared = super::rescue::ROOM_BYTES)]
pub unsafe fn measure_tiles(
    places: *const f64,
    points: u32,
    centre: [f64; 2],
    scale: f64,
    reaches: *mut f32,
) {
    let shared = room(&mut Carver::new());
    let (tile, n) = (thread::block_idx_x(), points as usize);
    let first = tile * TILE;
    let frame = Frame::new(centre, scale);
    // SAFETY: the block stays together; beyond the points its threads take the last one.
    unsafe {
        let i = u32::min(first + thread::thread_idx_x(), points - 1) as usize;
        let origin = (first + u32::min(TILE, points - first) / 2) as usize;
        let x = frame.x(*places.add(origin)) as f32 as f64;
        let y = frame.y(*places.add(origin + n)) as f32 as f64;
        let (dx, dy) = (frame.x(*places.add(i)) - x, frame.y(*places.add(i + n)) - y);
        let farthest = f64::max(f64::abs(dx), f64::abs(dy));
        let reach = of_block(shared, farthest, f64::max);
        if thread::thread_idx_x() == 0 {
            let of_place = f64::max(f64::abs(x), f64::abs(y)) / 16_777_216.0;
            *reaches.add(tile as usize) = ((reach + of_place) * 1.000_000_2) as f32;
        }
    }
}
