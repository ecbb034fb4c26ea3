//! Points that a warp looks at, as runs of points that follow each other in a sorted order.

use device_std::shared::SharedArray;
use device_std::warp;

/// Runs of points, in shared memory.
#[derive(Clone, Copy)]
pub struct Runs {
    /// Of each run its first point, and above that how many points it has.
    memory: SharedArray<u64>,
    count: u32,
}

impl Runs {
    /// None yet, in memory that has an element for each.
    #[inline(always)]
    pub fn new(memory: SharedArray<u64>) -> Self {
        Self { memory, count: 0 }
    }

    /// Writes the points of run `i`, of those that [`extend`](Self::extend) adds.
    ///
    /// # Safety
    /// There is room, and no other thread writes or reads there.
    #[inline(always)]
    pub unsafe fn store(&self, i: u32, start: u32, points: u32) {
        // SAFETY: passed on to the caller.
        unsafe { self.memory.store(i, start as u64 | (points as u64) << 32) }
    }

    /// Adds runs, which have been stored or will be.
    #[inline(always)]
    pub fn extend(&mut self, runs: u32) {
        self.count += runs;
    }

    /// How many.
    #[inline(always)]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Runs `first` to `first + 31`, as far as there are so many.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub unsafe fn group(&self, first: u32) -> Group {
        let run = first + warp::lane_id();
        // SAFETY: below the number of runs; the rest is passed on to the caller.
        unsafe {
            let run = if run < self.count { self.memory.load(run) } else { 0 };
            let (start, points) = (run as u32, (run >> 32) as u32);
            let up_to = warp::inclusive_scan(points, |a, b| a + b);
            let all = warp::shuffle(warp::FULL, up_to, warp::SIZE - 1);
            Group { offset: start.wrapping_sub(up_to - points), up_to, points: all }
        }
    }
}

/// Runs of the lanes of a warp, one each.
pub struct Group {
    /// Where the lane's run begins in the sorted order, less the points of the runs before it.
    offset: u32,
    /// The points of the runs up to this lane's.
    up_to: u32,
    points: u32,
}

impl Group {
    /// No runs.
    pub const EMPTY: Self = Self { offset: 0, up_to: 0, points: 0 };

    /// The points of all.
    #[inline(always)]
    pub fn points(&self) -> u32 {
        self.points
    }

    /// Where point `number` is in the sorted order.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub unsafe fn position(&self, number: u32) -> u32 {
        // How many runs end before it.
        let mut run = 0;
        let mut step = warp::SIZE / 2;
        // SAFETY: passed on to the caller.
        unsafe {
            while step > 0 {
                let up_to = warp::shuffle(warp::FULL, self.up_to, run + step - 1);
                run += if up_to <= number { step } else { 0 };
                step /= 2;
            }
            warp::shuffle(warp::FULL, self.offset, run).wrapping_add(number)
        }
    }
}
