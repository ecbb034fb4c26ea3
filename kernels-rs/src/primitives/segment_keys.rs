//! Keys that carry their segment, so that one sort sorts all segments: crate `gpu-scan`.
//!
//! The segment of an element is found by a search in the offsets. The elements of a block's tile
//! lie in few segments as a rule, so a warp first finds those of its own part's ends, and then
//! each lane searches between them.

use device_std::{kernel, thread, warp};

use super::offsets::Offsets;
use super::operators::Order;

/// Threads of a block.
const BLOCK: u32 = 256;
/// Elements of a thread.
const ITEMS: u32 = 8;

/// Elements of a block's tile.
pub const TILE: u64 = (BLOCK * ITEMS) as u64;

/// Calls `each` with the elements of this thread and their segments.
#[inline(always)]
unsafe fn for_each(offsets: Offsets, len: u64, each: impl Fn(u64, u64)) {
    let warp = thread::block_idx_x() as u64 * (BLOCK / 32) as u64 + warp::warp_id() as u64;
    let first = warp * (ITEMS * 32) as u64;
    if first >= len {
        return;
    }
    let last = u64::min(first + (ITEMS * 32) as u64, len) - 1;
    // SAFETY: passed on to the caller; the elements are in the array.
    unsafe {
        let low = offsets.segment(first, 0, offsets.segments - 1);
        let high = offsets.segment(last, low, offsets.segments - 1);
        let mut element = first + warp::lane_id() as u64;
        while element <= last {
            each(element, offsets.segment(element, low, high));
            element += 32;
        }
    }
}

/// Writes each key's rank with its segment in the high half.
///
/// # Safety
/// `keys` and `joined` have `len` elements. `offsets` rise from 0 to `len`, one more than the
/// `segments`, of which there is one.
#[kernel(named, block = BLOCK)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn join_segments(
    keys: *const u32,
    len: u64,
    offsets: *const u64,
    segments: u64,
    parameters: [u64; 4],
    joined: *mut u64,
) {
    let order = Order::<u32>::new(parameters);
    // SAFETY: passed on to the caller.
    unsafe {
        for_each(Offsets::new(offsets, segments), len, |i, segment| {
            let rank = order.rank(*keys.add(i as usize));
            *joined.add(i as usize) = segment << 32 | rank as u64;
        });
    }
}

/// Writes the keys of what [`join_segments`](const@join_segments) wrote.
///
/// # Safety
/// `joined` and `keys` have `len` elements.
#[kernel(named, block = BLOCK)]
pub unsafe fn part_segments(joined: *const u64, len: u64, parameters: [u64; 4], keys: *mut u32) {
    let order = Order::<u32>::new(parameters);
    let first = thread::block_idx_x() as u64 * TILE + thread::thread_idx_x() as u64;
    let mut i = 0;
    while i < ITEMS {
        let at = first + (i * BLOCK) as u64;
        if at < len {
            // SAFETY: guarded.
            unsafe { *keys.add(at as usize) = order.element(*joined.add(at as usize) as u32) };
        }
        i += 1;
    }
}

/// Writes the segment of each of some elements: of element `elements[i]` to `segment_of[i]`.
///
/// # Safety
/// `elements` and `segment_of` have `len` elements, those of the one below `len`; the rest as for
/// [`join_segments`](const@join_segments).
#[kernel(named, block = BLOCK)]
pub unsafe fn segments_of(
    elements: *const u64,
    len: u64,
    offsets: *const u64,
    segments: u64,
    segment_of: *mut u32,
) {
    let offsets = Offsets::new(offsets, segments);
    let first = thread::block_idx_x() as u64 * TILE + thread::thread_idx_x() as u64;
    let mut i = 0;
    while i < ITEMS {
        let at = first + (i * BLOCK) as u64;
        if at < len {
            // SAFETY: guarded.
            unsafe {
                let element = *elements.add(at as usize);
                let segment = offsets.segment(element, 0, segments - 1);
                *segment_of.add(at as usize) = segment as u32;
            }
        }
        i += 1;
    }
}

device_std::ptx_module! { "segment_keys" }
