//! The first k elements of an order, without sorting the others: crate `gpu-scan`.
//!
//! Up to [`FEW`] elements, by one read of the keys:
//!
//! 1. [`mod@threshold`] takes 8192 elements, one of each stretch of the array. It finds one of these up to which k of all
//!    elements lie, but for a chance of 3e-4 at most.
//! 2. [`mod@filter`] keeps the elements up to that one, by rank and index, in no order. If more than 4096 are expected,
//!    both begin again with these.
//! 3. [`mod@finish`] finds the first k of what is left, and sorts them, in one block (module `few`). If fewer than k are
//!    left, or more than there is room for, it goes over all elements, at about 1 ns for each on an H200.
//!
//! More elements:
//!
//! 1. The rank of the k-th element is found digit by digit, from the highest. [`mod@count`] takes the elements whose
//!    higher digits equal the known ones, and counts their next digit. The last block to finish appends the digit with
//!    which the count reaches k. Each digit costs one read of the keys.
//! 2. [`mod@collect`] copies the elements below that rank with their indices, then as many with that rank as are still
//!    wanted, the first in the array. A look-back over both counts gives their places. This costs one more read.
//! 3. The radix sort sorts them (module `sort`).
//!
//! [`mod@of_segments`] finds the first k of each segment by a block of its own, as `finish` does.

use device_std::{In, arguments};

mod by_segment;
mod cut;
mod elements;
mod few;
mod ordered;
mod sample;
mod search;

pub use by_segment::of_segments;
pub use few::FEW;
pub use ordered::collect;
#[cfg(not(target_arch = "nvptx64"))]
pub use ordered::tile_len;
pub use sample::{Candidates, SAMPLE, Source, expected, filter, finish, threshold};
pub use search::{RADIX_BITS, WORDS, begin_search, count};

/// The greatest k.
pub const MAX_K: u64 = 1 << 31;

/// The elements, and their order.
#[arguments]
pub struct Input<'a, K> {
    /// `len` of them.
    pub elements: In<'a, K>,
    /// How many there are.
    pub len: u64,
    /// The parameters of the [`Order`](super::operators::Order).
    pub parameters: [u64; 4],
}

device_std::ptx_module! { "top_k" }
