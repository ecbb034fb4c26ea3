//! Keys that carry their segment, so that one sort sorts all segments: crate `gpu-scan`.
//!
//! A search in the offsets finds the segment of an element. The elements of a block's tile mostly lie in few segments.
//! So a warp first finds the segments of its own part's ends, and then each lane searches between them.

use device_std::{In, Out, kernel, thread, warp};

use super::offsets::Offsets;
use super::operators::{Bits, Order};

/// Threads of a block.
const BLOCK: u32 = 256;
/// Elements of a thread.
const ITEMS: u32 = 8;

/// Elements of a block's tile.
pub const TILE: u64 = (BLOCK * ITEMS) as u64;

/// Calls `each` with the elements of this thread and their segments.
#[inline(always)]
fn for_each(offsets: Offsets, len: u64, each: impl Fn(u64, u64)) {
    let warp = thread::block_idx_x() as u64 * (BLOCK / 32) as u64 + warp::warp_id() as u64;
    let first = warp * (ITEMS * 32) as u64;
    if first >= len {
        return;
    }
    let last = u64::min(first + (ITEMS * 32) as u64, len) - 1;
    let low = offsets.segment(first, 0, offsets.segments - 1);
    let high = offsets.segment(last, low, offsets.segments - 1);
    let mut element = first + warp::lane_id() as u64;
    while element <= last {
        each(element, offsets.segment(element, low, high));
        element += 32;
    }
}

/// Writes each key's rank, and its segment in the bits above.
///
/// # Safety
/// `keys` and `joined` have `len` elements. The offsets are as [`Offsets`] says, and there is a segment.
#[kernel(block = BLOCK, instances(u8: <u8>; u16: <u16>; u32: <u32>))]
pub unsafe fn join_segments<K: Bits>(
    keys: In<'_, K>,
    len: u64,
    offsets: Offsets<'_>,
    parameters: [u64; 4],
    joined: Out<'_, u64>,
) {
    let order = Order::<K>::new(parameters);
    for_each(offsets, len, |i, segment| {
        let rank = order.rank(keys.get(i));
        joined.set(i, segment << (8 * size_of::<K>()) | rank.to_bits64());
    });
}

/// Writes the keys of what [`join_segments`](mod@join_segments) wrote.
///
/// # Safety
/// `joined` and `keys` have `len` elements.
#[kernel(block = BLOCK, instances(u8: <u8>; u16: <u16>; u32: <u32>))]
pub unsafe fn part_segments<K: Bits>(
    joined: In<'_, u64>,
    len: u64,
    parameters: [u64; 4],
    keys: Out<'_, K>,
) {
    let order = Order::<K>::new(parameters);
    let first = thread::block_idx_x() as u64 * TILE + thread::thread_idx_x() as u64;
    let mut i = 0;
    while i < ITEMS {
        let at = first + (i * BLOCK) as u64;
        if at < len {
            keys.set(at, order.element(K::from_bits64(joined.get(at))));
        }
        i += 1;
    }
}

/// Writes the segment of element `elements[i]` to `segment_of[i]`.
///
/// # Safety
/// `elements` and `segment_of` have `len` elements; the offsets as for [`join_segments`](mod@join_segments).
#[kernel(block = BLOCK)]
pub unsafe fn segments_of(
    elements: In<'_, u64>,
    len: u64,
    offsets: Offsets<'_>,
    segment_of: Out<'_, u32>,
) {
    let first = thread::block_idx_x() as u64 * TILE + thread::thread_idx_x() as u64;
    let mut i = 0;
    while i < ITEMS {
        let at = first + (i * BLOCK) as u64;
        if at < len {
            let segment = offsets.segment(elements.get(at), 0, offsets.segments - 1);
            segment_of.set(at, segment as u32);
        }
        i += 1;
    }
}

device_std::ptx_module! { "segment_keys" }
