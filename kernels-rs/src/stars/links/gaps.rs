//! The star of a site whose [`links`](super) leave gaps.
//!
//! A gap lies between a link that ends where no link begins, and the next link. Its neighbours are found one after the
//! other, as in [`star`](crate::stars::star): counter-clockwise from the first link, and if that reaches the hull,
//! clockwise from the other. Even if neighbours of a site have long stars themselves, all but a few of the site's
//! triangles are known.

use device_std::shared::SharedArray;
use device_std::{vector, warp};

use super::{Joint, Owned};
use crate::stars::angles::{is_left, way};
use crate::stars::neighbours::OPEN;
use crate::stars::predicates::Decide;
use crate::stars::rough::{NONE, Rough, WRITTEN};
use crate::stars::star::{KEPT, Source, StarSearch, told};

/// The most neighbours that are found in gaps. If a star lacks more, it is made again from its first neighbour on.
const MOST: u32 = KEPT / 2;

/// The neighbours that were found in gaps, in counter-clockwise order.
struct GapNeighbours {
    /// For each neighbour, or infinity as [`NONE`], the link before it.
    links: SharedArray<u32>,
    neighbours: SharedArray<u32>,
    count: u32,
    /// Which one is infinity; [`NONE`] if none is.
    infinity: u32,
}

impl GapNeighbours {
    /// Keeps one more neighbour, if it fits.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn keep(&mut self, link: u32, neighbour: u32) -> bool {
        let is_first_infinity = neighbour != NONE || self.infinity == NONE;
        if self.count == MOST || !is_first_infinity {
            return false;
        }
        if warp::lane_id() == 0 {
            // SAFETY: the slot is below the capacity.
            unsafe {
                self.links.store(self.count, link);
                self.neighbours.store(self.count, neighbour);
            }
        }
        if neighbour == NONE {
            self.infinity = self.count;
        }
        self.count += 1;
        true
    }

    /// Reverses the neighbours from `first` on, which all follow the same link.
    ///
    /// # Safety
    /// As [`keep`](Self::keep).
    #[inline(always)]
    unsafe fn reverse(&self, mut first: u32) {
        let mut end = self.count;
        // SAFETY: both are below the count.
        unsafe {
            while warp::lane_id() == 0 && first + 1 < vector::unknown(end) {
                end -= 1;
                let [a, b] = [first, end].map(|i| self.neighbours.load(i));
                self.neighbours.store(first, b);
                self.neighbours.store(end, a);
                first += 1;
            }
        }
    }

    /// How many neighbours come before a link.
    ///
    /// # Safety
    /// A barrier lies between this and each [`keep`](Self::keep).
    #[inline(always)]
    unsafe fn before(&self, link: u32) -> u32 {
        let (mut low, mut high) = (0, self.count);
        while low < vector::unknown(high) {
            let middle = low + (high - low) / 2;
            // SAFETY: passed on to the caller.
            let is_before = unsafe { self.links.load(middle) } < link;
            (low, high) = if is_before { (middle + 1, high) } else { (low, middle) };
        }
        low
    }

    /// Writes the star.
    ///
    /// # Safety
    /// The whole warp comes to the same call; no other one makes this star.
    #[inline(always)]
    unsafe fn write(&self, site: u32, own: &Owned<'_>, made: &Rough<'_>) {
        let (lane, len) = (warp::lane_id(), own.count + self.count);
        let is_open = self.infinity != NONE;
        let all = if is_open { len - 1 } else { len };
        // SAFETY: passed on to the caller; the lanes write different elements.
        unsafe {
            warp::sync_warp(warp::FULL);
            let mut start = 0;
            if lane == 0 {
                start = made.tallies.fetch_add(WRITTEN, all);
                made.starts.store(site, start);
                made.counts.store(site, all);
            }
            start = warp::shuffle(warp::FULL, start, 0);
            // The neighbour after infinity comes first.
            let first =
                if is_open { self.links.load(self.infinity) + self.infinity + 2 } else { 0 };
            let write = |place: u32, neighbour: u32| {
                let at = if place < first { place + len - first } else { place - first };
                let end = if is_open && at + 1 == all { OPEN } else { 0 };
                made.neighbours.store(start + at, neighbour | end);
            };
            let mut i = lane;
            while i < vector::unknown(own.count) {
                write(i + self.before(i), own.ends(i)[0] & !OPEN);
                i += warp::SIZE;
            }
            let mut i = lane;
            while i < vector::unknown(self.count) {
                let neighbour = self.neighbours.load(i);
                if neighbour != NONE {
                    write(self.links.load(i) + 1 + i, neighbour);
                }
                i += warp::SIZE;
            }
            warp::sync_warp(warp::FULL);
        }
    }
}

impl<S: Source, D: Decide> StarSearch<'_, S, D> {
    /// Makes the star of a site from its links, and writes it. Returns whether it did. It does not if there are no
    /// links, if they miss too many neighbours, if rounding has put them out of order, or if the source gives up.
    ///
    /// # Safety
    /// As [`make`](Self::make).
    #[inline(always)]
    pub unsafe fn fill(&mut self, site: u32, own: &Owned<'_>) -> bool {
        let (links, neighbours) = (self.kept, self.kept.skip(MOST));
        self.is_undecided = false;
        let mut found = GapNeighbours { links, neighbours, count: 0, infinity: NONE };
        let mut first = 0;
        // SAFETY: passed on to the caller.
        unsafe {
            // All lanes have read the neighbours of the star before.
            warp::sync_warp(warp::FULL);
            while first < vector::unknown(own.count) {
                let link = first + warp::lane_id();
                let is_open = link < own.count && own.joint(link) != Joint::Closed;
                let mut open = warp::ballot(warp::FULL, is_open);
                while open != 0 {
                    let link = first + open.trailing_zeros();
                    open &= open - 1;
                    let is_filled = self.fill_gap(site, own, link, &mut found);
                    self.source.narrow(None);
                    if !is_filled {
                        return false;
                    }
                }
                first += warp::SIZE;
            }
            if own.count > 0 {
                found.write(site, own, &self.made);
            }
        }
        own.count > 0
    }

    /// Finds the neighbours between a link and the next one. Returns whether they fit, and no other link begins
    /// between.
    ///
    /// # Safety
    /// As [`make`](Self::make).
    #[inline(always)]
    unsafe fn fill_gap(
        &mut self,
        site: u32,
        own: &Owned<'_>,
        link: u32,
        found: &mut GapNeighbours,
    ) -> bool {
        let ([_, begin], [end, _]) = (own.ends(link), own.ends(own.after(link)));
        let (end, is_on_hull) = (end & !OPEN, end & OPEN != 0);
        let (mut here, mut turns_left, mut back) = (begin, true, 0);
        if begin != NONE {
            let at = self.place(site);
            let wedge = [begin, end].map(|neighbour| way(at, self.place(neighbour)));
            // A wedge of less than half a turn has no hull in it.
            let is_narrow = is_left(wedge[0], wedge[1]);
            // SAFETY: passed on to the caller.
            unsafe { self.source.narrow(is_narrow.then_some(wedge)) };
        }
        // SAFETY: passed on to the caller.
        unsafe {
            while vector::unknown(1) == 1 {
                if here == end && turns_left {
                    return true;
                }
                if here == NONE && !turns_left {
                    found.reverse(back);
                    return true;
                }
                if here != end {
                    let is_linked = here != NONE
                        && own.begins_at(here, way(self.place(site), self.place(here)));
                    if is_linked || !found.keep(link, here) {
                        return false;
                    }
                }
                if here == NONE {
                    if is_on_hull {
                        return true;
                    }
                    (turns_left, here, back) = (false, end, found.count);
                }
                let [from, to] = if turns_left { [site, here] } else { [here, site] };
                here = match told(&self.made, site, here, turns_left) {
                    Some(next) => next,
                    None => self.apex(from, to),
                };
                if self.is_over() {
                    return false;
                }
            }
        }
        true
    }
}
