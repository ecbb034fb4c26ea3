//! The first few elements of each segment, each by a block of its own.

use device_std::shared::Carver;
use device_std::{Out, kernel, thread};

use super::Input;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::elements::{InMemory, Ranked};
use super::few::{FEW, Few};
use crate::primitives::offsets::Offsets;
use crate::primitives::operators::Order;

/// Threads of a block.
const BLOCK: usize = 64;

/// Writes the first k elements of each segment in order, and their indices in the array. If a segment has fewer, zeros
/// follow, with indices of [`u64::MAX`]. Grid: any number of blocks.
///
/// # Safety
/// The input is as [`Input`] says, of fewer than 2^32 elements. `offsets` has one more than `segments`; `keys` and
/// `indices` have `k` elements for each segment; k is from 1 up to [`FEW`].
#[kernel(
    block = BLOCK,
    resident = 16,
    carve = |carver| Few::<<K as Ranked>::Entry, BLOCK>::new(carver),
    instances(u8: <u8>; u16: <u16>; u32: <u32>; u64: <u64>)
)]
pub unsafe fn of_segments<K: Ranked>(
    input: Input<'_, K>,
    offsets: Offsets<'_>,
    k: u32,
    keys: Out<'_, K>,
    indices: Out<'_, u64>,
) {
    let Input { elements, len, parameters } = input;
    let few = Few::<K::Entry, BLOCK>::new(&mut Carver::new());
    let order = Order::<K>::new(parameters);
    let most = u32::min(u32::max(k + k / 4, 32), FEW as u32);
    let mut index = thread::block_idx_x() as u64;
    while index < offsets.segments {
        let (begin, end) = offsets.bounds(index, len);
        let elements = InMemory {
            keys: elements,
            indices: None,
            parameters,
            count: (end - begin) as u32,
            place: |i| begin + i as u64,
        };
        let wanted = u32::min(k, elements.count);
        let (first, mut i) = (index * k as u64, thread::thread_idx_x());
        // SAFETY: the whole block comes here, and goes the same way.
        unsafe {
            few.first(&elements, (wanted, most), 32);
            while i < k {
                let (mut key, mut place) = (K::from_bits64(0), u64::MAX);
                if i < wanted {
                    let (rank, index) = few.element(i);
                    (key, place) = (order.element(K::from_bits64(rank)), index);
                }
                keys.set(first + i as u64, key);
                indices.set(first + i as u64, place);
                i += BLOCK as u32;
            }
        }
        index += thread::grid_dim_x() as u64;
    }
}
