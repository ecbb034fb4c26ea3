//! Radix sort, least significant digit first, one launch a digit: crate `gpu-scan`.
//!
//! Onesweep (Adinets and Merrill 2022, *Onesweep: A Faster Least Significant Digit Radix Sort for
//! GPUs*, arXiv 2206.01784). The plan:
//!
//! 1. [`mod@count_digits`] reads the keys once and counts the digits of all passes.
//! 2. One [`mod@sort_by_digit`] for each digit of 8 bits, from the lowest, sorts stably by that digit.
//!    A block does one tile:
//!    - a warp loads a contiguous part of it, lane-striped, so that the order of (item, lane) is the order in memory;
//!      each warp counts its digits in shared memory;
//!    - thread d sums digit d over the warps and publishes the count. A scan over the digits gives each digit's start
//!      in the sorted tile, and from it the start of each warp's counters;
//!    - the warps rank their keys: lanes with the same digit find each other by ballots, and the highest of them
//!      advances the counter for all. Each lane puts its key at its rank in shared memory: beside the counters at once
//!      or, with values, over the counters once all ranks are known;
//!    - thread d looks back to count the keys with digit d in earlier tiles;
//!    - the sorted tile goes to the digits' places in the output, in runs; then the values take the same way through
//!      the same shared memory.
//!
//! Keys of 1 and 2 bytes are widened to 4 in registers and in shared memory. Keys of one byte without values need no
//! pass: [`mod@write_counted`] writes what the histogram counts.
//!
//! Keys are sorted by their rank in an [`Order`](super::operators::Order): the first pass maps them as it reads them,
//! the last one maps them back.
//!
//! Differences from the paper:
//!
//! - the starts of the digits in the output have no array of their own: tile 0 scans the histogram and publishes the
//!   sums as part of its prefix;
//! - a status word carries an epoch, so nothing is cleared between passes;
//! - a look-back reads only four tiles at a time, two where values move, since its repeated reads queue behind these
//!   loads and stores.

mod counted;
mod digits;
mod histogram;
mod lookback;
mod part;
mod pass;

pub use counted::{COUNTED_TILE, write_counted};
pub use digits::{DIGITS, Key, MAX_PASSES, RADIX_BITS};
#[cfg(not(target_arch = "nvptx64"))]
pub use histogram::histogram_tile;
pub use histogram::{RESIDENT, count_digits};
#[cfg(not(target_arch = "nvptx64"))]
pub use pass::tile;
pub use pass::{Arrays, INDEX, RANK, UNRANK, pass_word, sort_by_digit};

device_std::ptx_module! { "sort" }
