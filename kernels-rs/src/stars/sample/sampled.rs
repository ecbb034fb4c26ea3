//! Stars from candidates, each by a few lanes, where f64 decides.
//!
//! Plan:
//!
//! 1. The lanes of a site collect its candidates in shared memory, seen from the site ([`Lists`]).
//! 2. From the nearest candidate on, they find for each edge the third corner on its left, among all candidates. It is
//!    the site whose circle with the edge's ends reaches least far ([`reach`](crate::stars::near::reach) has the
//!    formula). Each lane has every [`LANES`]th candidate, and keeps bounds: the greatest reach that its best candidate
//!    may have, and the least that another one may have ([`Least`]).
//! 3. If no other candidate may reach less far than the best, f64 has decided. Otherwise the site is left, as are sites
//!    on the hull, and sites with too many candidates or neighbours.

use device_std::shared::{Carver, SharedArray};
use device_std::{In, kernel, math, thread, vector, warp};

use super::candidates::{Lists, Walk};
#[cfg(not(target_arch = "nvptx64"))]
use crate::stars::MODULE;
use crate::stars::rough::{LEFT, NONE, Rough, WRITTEN};

/// Threads of a block.
const BLOCK: u32 = 128;

/// Lanes of a site.
pub const LANES: u32 = 8;

/// Sites of a block.
const SITES: u32 = BLOCK / LANES;

/// The most candidates. Times 8 bytes, it is an odd multiple of half of all banks, so that two sites read from
/// different banks.
const MOST: u32 = 88;

/// The most neighbours.
const LONGEST: u32 = 24;

/// How many candidates the lanes remember, to drop most of those that are listed twice.
const SEEN: u32 = 64;

/// A bound of relative errors: `left` and `height` of a place `p` and an edge `w` are wrong by at most half of
/// `ROUNDING (p^2 + w^2)`. That is 16 roundings, of which 10 are needed.
const ROUNDING: f64 = 32.0 / (1u64 << 53) as f64;

/// Shared memory of a site, or of all sites of a block.
#[derive(Clone, Copy)]
struct Shared {
    seen: SharedArray<u32>,
    numbers: SharedArray<u32>,
    x: SharedArray<f64>,
    y: SharedArray<f64>,
    star: SharedArray<u32>,
}

impl Shared {
    #[inline(always)]
    const fn carve(carver: &mut Carver) -> Self {
        Self {
            x: carver.array(SITES * MOST),
            y: carver.array(SITES * MOST),
            numbers: carver.array(SITES * MOST),
            seen: carver.array(SITES * SEEN),
            star: carver.array(SITES * LONGEST),
        }
    }

    /// The part of the lane's site.
    #[inline(always)]
    fn own(self) -> Self {
        let i = thread::thread_idx_x() / LANES;
        Self {
            x: self.x.skip(i * MOST),
            y: self.y.skip(i * MOST),
            numbers: self.numbers.skip(i * MOST),
            seen: self.seen.skip(i * SEEN),
            star: self.star.skip(i * LONGEST),
        }
    }
}

const SHARED: u32 = {
    let mut carver = Carver::new();
    let _ = Shared::carve(&mut carver);
    carver.bytes()
};

/// Makes the missing stars of `sites` sites, from their candidates, and leaves those that f64 does not decide. Grid:
/// [`LANES`] threads for each site.
///
/// # Safety
/// `x`, `y`, [`struct@Lists`] and [`Rough`] have an element for each site, and `Rough` has six neighbours for each.
#[kernel(block = BLOCK, shared = SHARED, resident = 6)]
pub unsafe fn find_sampled_stars(
    x: In<'_, f64>,
    y: In<'_, f64>,
    sites: u32,
    lists: Lists<'_>,
    rough: Rough<'_>,
) {
    let site = (thread::index_1d() / u64::from(LANES)) as u32;
    let is_there = site < sites && rough.counts.get(site) == 0;
    let mut candidates = Candidates {
        shared: Shared::carve(&mut Carver::new()).own(),
        lane: warp::lane_id() % LANES,
        first_lane: warp::lane_id() / LANES * LANES,
        count: 0,
    };
    // SAFETY: the whole warp comes here; the rest is passed on to the caller.
    unsafe {
        if !warp::any(warp::FULL, is_there) {
            return;
        }
        candidates.collect([x, y], lists, is_there.then_some(site));
        let count = candidates.make();
        write(&candidates, (site, is_there), count, &rough);
    }
}

/// Writes the stars, and leaves the sites without one.
///
/// # Safety
/// The whole warp comes to the same call.
#[inline(always)]
unsafe fn write(
    candidates: &Candidates,
    (site, is_there): (u32, bool),
    count: u32,
    rough: &Rough<'_>,
) {
    let is_first = candidates.lane == 0;
    // SAFETY: passed on to the caller; the star is that of the lane's site.
    unsafe {
        let end = warp::inclusive_scan(if is_first { count } else { 0 }, |a, b| a + b);
        let all = warp::shuffle(warp::FULL, end, warp::SIZE - 1);
        let left = warp::ballot(warp::FULL, is_first && is_there && count == 0);
        let (mut start, mut at) = (0, 0);
        if warp::lane_id() == 0 {
            start = rough.tallies.fetch_add(WRITTEN, all);
            at = rough.tallies.fetch_add(LEFT, left.count_ones());
        }
        start = warp::shuffle(warp::FULL, start, 0) + end - count;
        at = warp::shuffle(warp::FULL, at, 0);
        if is_there && is_first {
            if count == 0 {
                rough.left.set(at + (left & warp::lanes_below()).count_ones(), site);
            } else {
                rough.counts.set(site, count);
                rough.starts.set(site, start);
            }
        }
        let mut i = candidates.lane;
        while i < vector::unknown(count) {
            rough.neighbours.set(start + i, candidates.shared.star.load(i));
            i += LANES;
        }
    }
}

/// The candidates of a site.
struct Candidates {
    shared: Shared,
    /// The thread's lane among the [`LANES`] lanes of the site.
    lane: u32,
    /// The first of these lanes.
    first_lane: u32,
    count: u32,
}

impl Candidates {
    /// Collects the candidates of a site; none if they do not fit.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the lists have the site.
    #[inline(always)]
    unsafe fn collect(&mut self, [x, y]: [In<'_, f64>; 2], lists: Lists<'_>, site: Option<u32>) {
        let (shared, lanes) = (self.shared, self.lanes());
        let at = match site {
            Some(site) => [x.get(site), y.get(site)],
            None => [0.0; 2],
        };
        let (mut count, mut walk) = (0, Walk::<LANES>::new(lists, site));
        // SAFETY: passed on to the caller; each lane stores elements of its own.
        unsafe {
            let mut i = self.lane;
            while i < SEEN {
                shared.seen.store(i, NONE);
                i += LANES;
            }
            warp::sync_warp(warp::FULL);
            while let Some((candidate, is_there)) = walk.next(count <= MOST) {
                let counts = is_there
                    && Some(candidate) != site
                    && shared.seen.exchange(candidate % SEEN, candidate) != candidate;
                let counted = warp::ballot(warp::FULL, counts) & lanes;
                let at_slot = count + (counted & warp::lanes_below()).count_ones();
                count += counted.count_ones();
                if counts && at_slot < MOST {
                    shared.numbers.store(at_slot, candidate);
                    shared.x.store(at_slot, x.get(candidate) - at[0]);
                    shared.y.store(at_slot, y.get(candidate) - at[1]);
                }
            }
            warp::sync_warp(warp::FULL);
        }
        self.count = if count <= MOST { count } else { 0 };
    }

    /// The lanes of the site, a bit for each.
    #[inline(always)]
    fn lanes(&self) -> u32 {
        ((1 << LANES) - 1) << self.first_lane
    }

    /// Keeps the star, and returns the number of its neighbours. That is 0 if f64 does not decide, on the hull, and if
    /// there are too many.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn make(&self) -> u32 {
        let (mut count, mut closes) = (0, false);
        // SAFETY: passed on to the caller; the star is that of the lane's site.
        unsafe {
            let first = self.nearest();
            let (mut neighbour, mut goes_on) = (first, first.number != NONE);
            while warp::any(warp::FULL, goes_on) {
                if goes_on {
                    if self.lane == 0 {
                        self.shared.star.store(count, neighbour.number);
                    }
                    count += 1;
                }
                let next = self.apex(neighbour, goes_on);
                closes |= goes_on && next.number == first.number;
                goes_on = goes_on && next.number != NONE && !closes && count < LONGEST;
                neighbour = if goes_on { next } else { neighbour };
            }
            warp::sync_warp(warp::FULL);
        }
        if closes { count } else { 0 }
    }

    /// The nearest candidate.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn nearest(&self) -> Candidate {
        let (mut least, mut slot) = (Least::NONE, self.lane);
        // SAFETY: passed on to the caller; slots are below the count.
        unsafe {
            while slot < vector::unknown(self.count) {
                let [x, y] = self.place(slot);
                let squared = x * x + y * y;
                let slack = squared * ROUNDING;
                let candidate = Candidate { slot, number: self.shared.numbers.load(slot) };
                least.see(candidate, squared - slack, squared + slack);
                slot += LANES;
            }
            least.of_all(self.lanes())
        }
    }

    /// The third corner to the left of the edge to a neighbour.
    ///
    /// # Safety
    /// The whole warp comes to the same call; there is such a neighbour if the lane `asks`.
    #[inline(always)]
    unsafe fn apex(&self, neighbour: Candidate, asks: bool) -> Candidate {
        let mut least = Least::NONE;
        // SAFETY: passed on to the caller; slots are below the count.
        unsafe {
            if asks {
                let [x, y] = self.place(neighbour.slot);
                let (length, mut slot) = (x * x + y * y, self.lane);
                while slot < vector::unknown(self.count) {
                    let candidate = Candidate { slot, number: self.shared.numbers.load(slot) };
                    let place = self.place(slot);
                    let [px, py] = place;
                    let left = math::mul_add(x, py, -(y * px));
                    let height = math::mul_add(px, px - x, py * (py - y));
                    let slack = ROUNDING * math::mul_add(px, px, math::mul_add(py, py, length));
                    let is_on_right = left < -slack;
                    if !is_on_right && candidate.number != neighbour.number {
                        let [low, high] = reach(left, height, slack);
                        least.see(candidate, low, high);
                    }
                    slot += LANES;
                }
            }
            least.of_all(self.lanes())
        }
    }

    /// Where a candidate lies, seen from the site.
    ///
    /// # Safety
    /// There is such a slot.
    #[inline(always)]
    unsafe fn place(&self, slot: u32) -> [f64; 2] {
        // SAFETY: passed on to the caller.
        unsafe { [self.shared.x.load(slot), self.shared.y.load(slot)] }
    }
}

/// The least and the greatest reach that a place on the left of an edge, or on its line, may have. Both numbers are
/// wrong by at most half of `slack`.
///
/// If `t` is the true reach and `t'` the computed one, `|t - t'| <= (|t| + 1) slack / (2 left)`.
#[inline(always)]
fn reach(left: f64, height: f64, slack: f64) -> [f64; 2] {
    if left > slack {
        let inverse = math::reciprocal(left);
        let (reach, part) = (height * inverse, slack * inverse);
        let wrong = math::mul_add(part, reach.abs(), part);
        return [reach - wrong, reach + wrong];
    }
    // The place may be on the line. Between the edge's ends it would be inside every circle.
    let is_beyond = height > slack;
    let least = (height - slack) * math::reciprocal(2.0 * slack);
    [if is_beyond { least } else { f64::NEG_INFINITY }, f64::INFINITY]
}

/// A candidate: its slot in the list, and its site.
#[derive(Clone, Copy)]
struct Candidate {
    slot: u32,
    /// [`NONE`] if f64 does not decide which one it is.
    number: u32,
}

impl Candidate {
    const NONE: Self = Self { slot: 0, number: NONE };
}

/// The candidate with the least value among those seen. The value, a distance or a reach, is known between bounds.
struct Least {
    best: Candidate,
    /// The best candidate's value is at least this, and at most `high`.
    low: f64,
    high: f64,
    /// The value of every other candidate is at least this.
    next: f64,
}

impl Least {
    const NONE: Self = Self {
        best: Candidate::NONE,
        low: f64::INFINITY,
        high: f64::INFINITY,
        next: f64::INFINITY,
    };

    /// Sees a candidate whose value lies from `low` to `high`.
    #[inline(always)]
    fn see(&mut self, candidate: Candidate, low: f64, high: f64) {
        if candidate.number == self.best.number {
            return;
        }
        let is_best = high < self.high;
        let other = if is_best { self.low } else { low };
        // NaN stays, and then nothing is decided.
        let stays = other > self.next || self.next.is_nan();
        self.next = if stays { self.next } else { other };
        if is_best {
            (self.best, self.low, self.high) = (candidate, low, high);
        }
    }

    /// The best candidate of these lanes; [`Candidate::NONE`] if it is not certain which one it is.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn of_all(&self, lanes: u32) -> Candidate {
        let (mut most, mut step) = (self.high, 1);
        // SAFETY: passed on to the caller.
        unsafe {
            while step < LANES {
                most = f64::min(most, warp::shuffle(warp::FULL, most, warp::lane_id() ^ step));
                step *= 2;
            }
            // False for NaN.
            let (is_worse, is_next_worse) = (self.low > most, self.next > most);
            let first = (warp::ballot(warp::FULL, !is_worse) & lanes).trailing_zeros();
            let (slot, number) =
                warp::shuffle(warp::FULL, (self.best.slot, self.best.number), first);
            let is_other = !is_worse && self.best.number != number;
            let is_unsure = warp::ballot(warp::FULL, is_other || !is_next_worse) & lanes != 0;
            let is_decided = most < f64::INFINITY && !is_unsure;
            if is_decided { Candidate { slot, number } } else { Candidate::NONE }
        }
    }
}
