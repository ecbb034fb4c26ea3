//! The counts that kernels make.

use device_std::{Out, warp};

/// Where the tallies are: points outside the raster.
pub const OUTSIDE: usize = 0;
/// Where the tallies are: sites.
pub const SITES: usize = 1;
/// Where the tallies are: points counted in words, with [`MEAN`](super::policies::MEAN).
pub const COUNTED: usize = 2;
/// Where the tallies are: points that are not finite, or have a value beyond f32.
pub const BAD: usize = 3;
/// Where the tallies are: cells without a value after all.
pub const LEFT: usize = 4;
/// Where the tallies are: cells without a value in either diagram.
pub const UNITED: usize = 5;
/// Tallies, which start at 0.
pub const TALLIES: usize = 6;

/// Adds the number of threads whose flag is set to one of the tallies, with one atomic a warp. For flags that are
/// rarely set.
///
/// # Safety
/// The whole warp comes to the same call.
#[inline(always)]
pub(crate) unsafe fn count_flags(flag: bool, tallies: Out<'_, u64>, which: usize) {
    // SAFETY: passed on to the caller.
    let flags = unsafe { warp::ballot(warp::FULL, flag) };
    if flags != 0 && warp::lane_id() == 0 {
        tallies.fetch_add(which, flags.count_ones() as u64);
    }
}
