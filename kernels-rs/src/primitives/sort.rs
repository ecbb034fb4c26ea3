//! Radix sort, least significant digit first, one launch a digit: crate `gpu-scan`.
//!
//! Onesweep (Adinets and Merrill 2022, *Onesweep: A Faster Least Significant Digit Radix Sort for
//! GPUs*, arXiv 2206.01784). The plan:
//!
//! 1. [`mod@count_digits`] reads the keys once and counts the digits of all passes.
//! 2. One [`mod@sort_by_digit`] for each digit of 8 bits, from the lowest, sorts stably by that digit.
//!    A block does one tile:
//!    - a warp loads a contiguous part of it, lane-striped, so that the order of (item, lane) is
//!      the order in memory, and each warp counts its digits in shared memory;
//!    - thread d sums up digit d over the warps and publishes the count; a scan over the digits
//!      gives where each begins in the sorted tile, and so each warp its counters' start;
//!    - the warps rank their keys: the lanes with the same digit find each other by ballots, the
//!      highest of them moves the counter on for all, and each puts its key at its rank in shared
//!      memory: beside the counters as the ranks come, or, with values, over them when all have come;
//!    - thread d looks back for how many keys with digit d the tiles before have;
//!    - the sorted tile goes out to where each digit's keys belong, in runs; then the values take
//!      the same way through the same shared memory.
//!
//! Keys are sorted by their rank in an [`Order`](super::operators::Order): the first pass maps them as it reads them, the
//! last one maps them back.
//!
//! Where it differs from the paper: where the digits begin in the output is no array of its own,
//! tile 0 scans the histogram and publishes the sums as part of its prefix; a status word carries
//! an epoch, so that nothing is cleared between passes; and a look-back reads four tiles at a time,
//! two where values move: what it reads again and again stands in line with them.

mod digits;
mod histogram;
mod lookback;
mod part;
mod pass;

pub use digits::{DIGITS, Key, MAX_PASSES, RADIX_BITS};
pub use histogram::{RESIDENT, count_digits, histogram_tile};
#[cfg(not(target_arch = "nvptx64"))]
pub use pass::tile;
pub use pass::{Arrays, INDEX, RANK, UNRANK, pass_word, sort_by_digit};

device_std::ptx_module! { "sort" }
