//! The threads that clip one polygon together: one alone, or the lanes of a warp.
//!
//! A query beside the hull or a void looks at thousands of sites, most of which cut nothing. The lanes of a warp
//! look at 32 of them at once; all take the same way through the search, and one of them, the leader, changes the
//! polygon.

use device_std::warp::{self, Word};

use super::search::NEAR;

/// Threads that take the same way through the code.
pub trait Team: Copy {
    /// How many.
    const THREADS: u32;
    /// Half the side of the largest block of cells that they go through. What is farther would hold up the warp
    /// of a thread that works for itself.
    const MOST: u32;
    /// Whether they leave places where sites crowd to others.
    const LEAVES_CROWDS: bool;
    /// Which of them this is; 0 leads.
    fn rank(self) -> u32;
    /// Bit i: what thread i says.
    fn ballot(self, flag: bool) -> u32;
    /// What a thread has.
    fn get<V: Word>(self, value: V, rank: u32) -> V;
    /// All threads' values combined, the same for all where the order does not matter.
    fn reduce<V: Word>(self, value: V, combine: impl Fn(V, V) -> V) -> V;
    /// Waits for the others; what they wrote before is seen after.
    fn sync(self);
    /// Whether this is the thread that changes what they share.
    #[inline(always)]
    fn leads(self) -> bool {
        self.rank() == 0
    }
}

/// A thread by itself.
#[derive(Clone, Copy)]
pub struct Alone;

/// A thread by itself that leaves what is far to others.
#[derive(Clone, Copy)]
pub struct Near;

/// What one thread does in place of a team.
macro_rules! by_itself {
    ($team:ty, $most:expr, $leaves_crowds:expr) => {
        impl Team for $team {
            const THREADS: u32 = 1;
            const MOST: u32 = $most;
            const LEAVES_CROWDS: bool = $leaves_crowds;
            #[inline(always)]
            fn rank(self) -> u32 {
                0
            }
            #[inline(always)]
            fn ballot(self, flag: bool) -> u32 {
                flag as u32
            }
            #[inline(always)]
            fn get<V: Word>(self, value: V, _: u32) -> V {
                value
            }
            #[inline(always)]
            fn reduce<V: Word>(self, value: V, _: impl Fn(V, V) -> V) -> V {
                value
            }
            #[inline(always)]
            fn sync(self) {}
        }
    };
}

by_itself!(Alone, u32::MAX, false);
by_itself!(Near, NEAR, true);

/// The lanes of a warp.
#[derive(Clone, Copy)]
pub struct Warp(());

impl Warp {
    /// # Safety
    /// All lanes of the warp take the same way through whatever works with the team.
    #[inline(always)]
    pub unsafe fn new() -> Self {
        Self(())
    }
}

// SAFETY (all): the lanes come here together, by the contract of `Warp::new`.
impl Team for Warp {
    const THREADS: u32 = warp::SIZE;
    const MOST: u32 = u32::MAX;
    const LEAVES_CROWDS: bool = false;
    #[inline(always)]
    fn rank(self) -> u32 {
        warp::lane_id()
    }
    #[inline(always)]
    fn ballot(self, flag: bool) -> u32 {
        // SAFETY: as above.
        unsafe { warp::ballot(warp::FULL, flag) }
    }
    #[inline(always)]
    fn get<V: Word>(self, value: V, rank: u32) -> V {
        // SAFETY: as above.
        unsafe { warp::shuffle(warp::FULL, value, rank) }
    }
    #[inline(always)]
    fn reduce<V: Word>(self, value: V, combine: impl Fn(V, V) -> V) -> V {
        // SAFETY: as above.
        unsafe { warp::reduce(value, combine) }
    }
    #[inline(always)]
    fn sync(self) {
        // SAFETY: as above.
        unsafe { warp::sync_warp(warp::FULL) }
    }
}
