//! The star of a site, by a warp: one third corner of a Delaunay triangle after the other.
//!
//! All lanes work on one corner. The unit of work is [`apex`](StarSearch::apex): the third corner of the triangle on
//! the left of a Delaunay edge. It is the site on the left whose circle with the edge's ends has no site inside
//! ([`Apex`]). A [`Source`] gives the sites to test: those that a search in the tree meets ([`descent`](descent)), or a
//! list that has them all ([`candidates`](super::sample::candidates)).
//!
//! ```text
//!         n2
//!        /  \         star of p:  first = nearest site
//!      n3 -- p -- n1             n1 -> n2 = apex(p -> n1) -> n3 = apex(p -> n2) -> none: p is on the hull
//!             \  |               then from n1 clockwise: n0 = apex(n1 -> p) -> none
//!               n0              written: n0 n1 n2 n3, the last one marked OPEN
//! ```
//!
//! The first neighbour of a site is the nearest one: the circle over the edge to it is empty. From it on, each
//! neighbour counter-clockwise is the apex of the edge to the one before. This ends when the first neighbour comes
//! again, or when there is no apex. In the latter case the site is on the hull, and the neighbours clockwise of the
//! first one are found likewise, from reversed edges.
//!
//! Each triangle is in three stars. If the star of a neighbour is made already, it tells what comes next ([`told`]),
//! and no search is needed. Other warps make stars meanwhile. Whether a star is ready changes only the time: decisions
//! are right, so a search finds the same corner, or none.

pub(super) mod corners;
pub(super) mod descent;

use device_std::shared::SharedArray;
use device_std::{In, vector, warp};

use super::neighbours::OPEN;
use super::predicates::{Decide, Place, is_before};
use super::rough::{NONE, Rough, WRITTEN};
use corners::{Apex, Nearest, Visitor, Which};

/// Neighbours of a star that shared memory holds. A longer star is made twice: to count, then to write.
pub const KEPT: u32 = 256;

/// Where a warp finds the sites that may be the next corner.
pub trait Source {
    /// Shows a visitor every site that it wants, those nearest to `at` first. The search is for the edge between two
    /// sites, or for one site if both are the same.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    unsafe fn look(&mut self, at: Place, edge: [u32; 2], visitor: &mut impl Visitor);

    /// From now on, sites outside a wedge need not be shown. The wedge goes counter-clockwise from one direction to
    /// another, less than half a turn. `None`: all sites are to be shown again.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn narrow(&mut self, _wedge: Option<[Place; 2]>) {}

    /// Whether the source gives up. Then the last answer does not count.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    unsafe fn is_over(&mut self) -> bool;
}

/// Makes stars.
pub struct StarSearch<'a, S, D> {
    /// Where each site lies.
    pub x: In<'a, f64>,
    /// As `x`.
    pub y: In<'a, f64>,
    /// The predicates for their coordinates.
    pub predicates: D,
    /// The source that finds corners.
    pub source: S,
    /// The stars of all sites, as far as they are made. Other warps write to it meanwhile.
    pub made: Rough<'a>,
    /// Shared memory of the warp for [`KEPT`] neighbours.
    pub kept: SharedArray<u32>,
    /// Whether this is the last search: no other one follows.
    pub is_last: bool,
    /// Whether f64 left a decision about the present star open.
    pub is_undecided: bool,
}

impl<S: Source, D: Decide> StarSearch<'_, S, D> {
    /// Makes the star of a site and writes it. Returns whether it did; it does not if the source gives up, or if a
    /// decision is left open. Only the last search makes stars of more than [`KEPT`] neighbours.
    ///
    /// # Safety
    /// The whole warp comes to the same call. [`Rough`] has an element for each site, and six neighbours for each.
    #[inline(always)]
    pub unsafe fn make(&mut self, site: u32) -> bool {
        let (lane, made) = (warp::lane_id(), self.made);
        let kept = self.kept;
        self.is_undecided = false;
        let mut length = Length { all: 0, onward: 0 };
        let (mut to, mut is_open) = (0, false);
        // SAFETY: passed on to the caller; the lanes write different elements.
        unsafe {
            // A star too long for shared memory is made a second time, when its length and place are known. A loop, so
            // that the code of a star stands once.
            while vector::unknown(1) == 1 {
                let (before, mut i, mut onward) = (length, 0, 0);
                let is_again = before.all > 0;
                let closes = self.star(site, |neighbour, turns_left| {
                    if lane == 0 {
                        if !is_again && i < KEPT {
                            kept.store(i, neighbour);
                        } else if is_again && i < before.all {
                            before.write(&made, to, i, neighbour, is_open);
                        }
                    }
                    i += 1;
                    onward += u32::from(turns_left);
                });
                if is_again {
                    return true;
                }
                if self.is_over() || i > KEPT && !self.is_last {
                    return false;
                }
                (length, is_open) = (Length { all: i, onward }, !closes);
                if lane == 0 {
                    to = made.tallies.fetch_add(WRITTEN, i);
                    // No fence: `told` takes every word either as final or as not written, in whatever order they
                    // arrive.
                    made.starts.store(site, to);
                    made.counts.store(site, i);
                }
                to = warp::shuffle(warp::FULL, to, 0);
                warp::sync_warp(warp::FULL);
                if i <= KEPT {
                    break;
                }
            }
            let mut i = lane;
            while i < vector::unknown(length.all) {
                length.write(&made, to, i, kept.load(i), is_open);
                i += warp::SIZE;
            }
            warp::sync_warp(warp::FULL);
        }
        true
    }

    /// Whether the last answer does not count.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub(super) unsafe fn is_over(&mut self) -> bool {
        // SAFETY: passed on to the caller.
        self.is_undecided || unsafe { self.source.is_over() }
    }

    /// Where a site lies.
    #[inline(always)]
    pub(super) fn place(&self, site: u32) -> Place {
        [self.x.get(site), self.y.get(site)]
    }

    /// Shows the neighbours of a site one after the other, each with whether it was found counter-clockwise. Returns
    /// whether the star is closed. If the source gave up, neither counts. Neighbours come counter-clockwise from the
    /// nearest one; if the site is on the hull, the others follow clockwise from the nearest one. If all sites lie on a
    /// line, they are the next site by x, then by y, and the one before.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the tree is whole.
    #[inline(always)]
    unsafe fn star(&mut self, site: u32, mut show: impl FnMut(u32, bool)) -> bool {
        // SAFETY: passed on to the caller.
        unsafe {
            let first = self.nearest(site, Which::All);
            if first == NONE {
                return false;
            }
            show(first, true);
            let (mut neighbour, mut is_alone, mut turns_left) = (first, true, true);
            // Decisions are right, so each neighbour is met once and the loop ends. If a decision is left open, the
            // star ends.
            while vector::unknown(1) == 1 {
                if self.is_over() {
                    return true;
                }
                let [from, to] = if turns_left { [site, neighbour] } else { [neighbour, site] };
                let next = match told(&self.made, site, neighbour, turns_left) {
                    Some(next) => next,
                    None => self.apex(from, to),
                };
                if next == first {
                    return true;
                }
                if next != NONE {
                    show(next, turns_left);
                    (neighbour, is_alone) = (next, false);
                } else if turns_left {
                    (turns_left, neighbour) = (false, first);
                } else {
                    break;
                }
            }
            if is_alone {
                // No site lies beside the line through the two: look for the neighbour on the other side, along the
                // line.
                let is_behind = is_before(self.place(first), self.place(site));
                let behind =
                    self.nearest(site, if is_behind { Which::After } else { Which::Before });
                if behind != NONE {
                    // The next by x, then by y, comes first.
                    show(behind, !is_behind);
                }
            }
            false
        }
    }

    /// Finds the nearest other site among those that count; [`NONE`] if there is none.
    ///
    /// # Safety
    /// As [`star`](Self::star).
    #[inline(always)]
    unsafe fn nearest(&mut self, site: u32, which: Which) -> u32 {
        let at = self.place(site);
        let mut nearest = Nearest::new(self.predicates, (site, at), which);
        // SAFETY: passed on to the caller.
        unsafe { self.source.look(at, [site, site], &mut nearest) };
        self.is_undecided |= nearest.is_undecided();
        nearest.found
    }

    /// The third corner of the Delaunay triangle to the left of the Delaunay edge between two sites; [`NONE`] if there
    /// is none: then the edge is on the hull.
    ///
    /// # Safety
    /// As [`star`](Self::star).
    #[inline(always)]
    pub(super) unsafe fn apex(&mut self, from: u32, to: u32) -> u32 {
        let [start, end] = [self.place(from), self.place(to)];
        let mut apex = Apex::new(self.predicates, [from, to], [start, end]);
        // SAFETY: passed on to the caller.
        unsafe { self.source.look(start, [from, to], &mut apex) };
        self.is_undecided |= apex.is_undecided();
        apex.found
    }
}

/// Reads from the star of `neighbour` which neighbour of `site` follows it, counter-clockwise or clockwise; [`NONE`] if
/// their edge is on the hull. `None` if that star is not written yet, or is too short or too long. Each lane reads one
/// of its neighbours.
///
/// The triangle of `site`, `neighbour` and the next corner is in three stars: in the star of `neighbour`, the next
/// corner stands beside `site`.
///
/// Other warps may be writing that star. Its count is read as 0 or as final, every other word as [`NONE`] or as final.
/// If a word that matters is missing, the star does not tell, and a search finds the same corner.
///
/// # Safety
/// The whole warp comes to the same call.
#[inline(always)]
pub unsafe fn told(made: &Rough<'_>, site: u32, neighbour: u32, turns_left: bool) -> Option<u32> {
    // SAFETY: passed on to the caller.
    let [count, start] = [made.counts, made.starts]
        .map(|all| unsafe { warp::shuffle(warp::FULL, all.load(neighbour), 0) });
    // A star of two may be on a line, without a triangle. One that is longer than a warp has no lane for each
    // neighbour.
    if !(3..=warp::SIZE).contains(&count) || start == NONE {
        return None;
    }
    let (lane, last) = (warp::lane_id(), count - 1);
    let own = if lane < count { made.neighbours.load(start + lane) } else { NONE };
    // SAFETY: passed on to the caller.
    unsafe {
        let of_last = warp::shuffle(warp::FULL, own, last);
        let here = warp::ballot(warp::FULL, own != NONE && own & !OPEN == site);
        if here == 0 || of_last == NONE {
            return None;
        }
        let (here, is_open) = (here.trailing_zeros(), of_last & OPEN != 0);
        if is_open && here == if turns_left { 0 } else { last } {
            return Some(NONE);
        }
        // Counter-clockwise around `site` is clockwise around `neighbour`.
        let beside = match turns_left {
            true if here == 0 => last,
            true => here - 1,
            false if here == last => 0,
            false => here + 1,
        };
        let next = warp::shuffle(warp::FULL, own, beside);
        (next != NONE).then_some(next & !OPEN)
    }
}

/// How many neighbours a star has, and how many of them come counter-clockwise from the first.
#[derive(Clone, Copy)]
struct Length {
    all: u32,
    onward: u32,
}

impl Length {
    /// The place in the star of the neighbour that was found as number `i`. Those found clockwise come before the first
    /// one, in reverse.
    #[inline(always)]
    fn position(self, i: u32) -> u32 {
        if i < self.onward { self.all - self.onward + i } else { self.all - 1 - i }
    }

    /// Writes the neighbour that was found as number `i`, of a star that begins at `start`.
    #[inline(always)]
    fn write(self, rough: &Rough<'_>, start: u32, i: u32, neighbour: u32, is_open: bool) {
        let at = self.position(i);
        let mark = if is_open && at + 1 == self.all { OPEN } else { 0 };
        rough.neighbours.store(start + at, neighbour | mark);
    }
}
