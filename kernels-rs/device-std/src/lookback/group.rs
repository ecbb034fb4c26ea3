//! The statuses of 32 tiles, a lane a tile: a *group* of the [look-back](super).

use super::PREFIX;
use crate::scalar::Scalar;
use crate::warp;

/// Tiles of a group: a warp's scan combines their values.
pub const GROUP: u64 = warp::SIZE as u64;
/// The lane of a group's last tile.
pub(super) const LAST: u32 = warp::SIZE - 1;

/// A group's statuses as a warp read them: in each lane the value and the state of a tile.
#[derive(Clone, Copy)]
pub(super) struct Group<T> {
    pub(super) value: T,
    pub(super) state: u32,
}

/// All functions are called by the whole warp.
impl<T: Scalar> Group<T> {
    /// Whether all tiles have a status, or at least all tiles from the last one that has a prefix.
    #[inline(always)]
    pub(super) unsafe fn is_enough(&self) -> bool {
        // SAFETY: the whole warp is here.
        let missing = unsafe { warp::ballot(warp::FULL, self.state == 0) };
        // A number is greater if its highest bit is: the last prefix comes after the last missing tile.
        // SAFETY: as above.
        missing == 0 || unsafe { self.prefixes() } > missing
    }

    /// The tiles that have a prefix.
    #[inline(always)]
    pub(super) unsafe fn prefixes(&self) -> u32 {
        // SAFETY: as above.
        unsafe { warp::ballot(warp::FULL, self.state == PREFIX) }
    }

    /// In each lane the combination of the tiles up to it, from the last closed one on.
    #[inline(always)]
    pub(super) unsafe fn sums(&self, closed: u32, combine: &impl Fn(T, T) -> T) -> T {
        let start = warp::segment_start(closed);
        // SAFETY: as above; lanes of one segment have the same start.
        unsafe { warp::inclusive_scan_from(start, self.value, combine) }
    }

    /// The value of one tile, in all lanes.
    #[inline(always)]
    pub(super) unsafe fn value_of(&self, lane: u32) -> T {
        // SAFETY: as above.
        unsafe { warp::shuffle(warp::FULL, self.value, lane) }
    }
}
