//! Stars of sites whose neighbours have their stars.
//!
//! A triangle is in three stars. If one of these is made, it tells each other corner, the *owner*, that two of its
//! neighbours follow each other counter-clockwise: a *link*. Sort an owner's links by the direction in which they
//! begin. They are its star if each link ends where the next one begins. (One may also end at infinity, and the next
//! begin there.) For triangles that close around a site are all of its triangles. Directions are rounded, so the kernel
//! tests that the links close.
//!
//! ```text
//! find_links   a thread has one star, and writes the links of those of its neighbours that have none
//! (a sort)     by owner, then by direction
//! order_links  a thread has one run of links in nearly the same direction
//! join_links   a warp has one owner, and writes its star if its links close
//! ```
//!
//! A star of many neighbours costs as much as these neighbours do; otherwise a single warp would find its corners one
//! after the other.

mod gaps;

use device_std::{In, Out, arguments, kernel, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::angles::{cross, way};
use super::neighbours::OPEN;
use super::predicates::Place;
use super::rough::{LEFT, LINKS, NONE, Rough, WRITTEN};

/// Threads of a block.
const BLOCK: u32 = 128;

/// Links of owners.
#[arguments]
pub struct Links<'a> {
    /// The owner, and in the lower bits the direction in which the link begins.
    pub keys: Out<'a, u64>,
    /// The site where the link begins, with [`OPEN`] if infinity comes before. The upper word has the site where it
    /// ends, or [`NONE`] if infinity comes next.
    pub values: Out<'a, u64>,
    /// How many elements both have.
    pub room: u32,
}

impl Links<'_> {
    /// Writes a link of each lane that has one.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn write(&self, rough: &Rough<'_>, link: Option<(u64, [u32; 2])>) {
        // SAFETY: passed on to the caller.
        unsafe {
            let has = warp::ballot(warp::FULL, link.is_some());
            if has == 0 {
                return;
            }
            let mut first = 0;
            if warp::lane_id() == 0 {
                first = rough.tallies.fetch_add(LINKS, has.count_ones());
            }
            let at = warp::shuffle(warp::FULL, first, 0) + (has & warp::lanes_below()).count_ones();
            if let Some((key, [from, to])) = link
                && at < self.room
            {
                self.keys.set(at, key);
                self.values.set(at, u64::from(from) | u64::from(to) << 32);
            }
        }
    }
}

/// How many bits of a key are for the direction, for this number of sites: no more than rounding leaves of it.
#[inline(always)]
const fn direction_bits(sites: u32) -> u32 {
    let bits = 32 + sites.leading_zeros();
    if bits < 48 { bits } else { 48 }
}

/// The key of a link of an owner, which begins in the direction of `way`. Directions rise counter-clockwise.
#[inline(always)]
fn key(sites: u32, owner: u32, [x, y]: Place) -> u64 {
    let bits = direction_bits(sites);
    // From 0 to 2 in the upper half plane, from 2 to 4 in the lower one.
    let part = x / (x.abs() + y.abs());
    let turn = if y >= 0.0 { 1.0 - part } else { 3.0 + part };
    let direction = (turn * (1u64 << (bits - 2)) as f64) as u64;
    u64::from(owner) << bits | u64::min(direction, (1 << bits) - 1)
}

/// Writes the links of all sites that have no star yet. Links that do not fit are only counted. Grid: a thread for each
/// site.
///
/// # Safety
/// `x`, `y` and [`Rough`] have an element for each site. Nobody writes stars meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn find_links(x: In<'_, f64>, y: In<'_, f64>, rough: Rough<'_>, links: Links<'_>) {
    let site = thread::index_1d() as u32;
    let count = if site < rough.sites { rough.counts.get(site) } else { 0 };
    // A star of two may be on a line, without a triangle.
    let count = if count < 3 { 0 } else { count };
    let start = if count > 0 { rough.starts.get(site) } else { 0 };
    let neighbour = |i: u32| rough.neighbours.get(start + i) & !OPEN;
    let (mut i, mut before, mut here) = (0, 0, 0);
    let mut is_open = false;
    if count > 0 {
        let last = rough.neighbours.get(start + count - 1);
        (before, is_open, here) = (last & !OPEN, last & OPEN != 0, neighbour(0));
    }
    let place = |site: u32| [x.get(site), y.get(site)];
    let link = |owner: u32, from: u32, to: u32| {
        (key(rough.sites, owner, way(place(owner), place(from & !OPEN))), [from, to])
    };
    // SAFETY: the whole warp comes here.
    unsafe {
        while warp::any(warp::FULL, i < count) {
            let (mut inward, mut outward) = (None, None);
            if i < count {
                let is_last = i + 1 == count;
                let after = neighbour(if is_last { 0 } else { i + 1 });
                if rough.counts.get(here) == 0 {
                    let first = if is_open && is_last { OPEN } else { 0 };
                    let to = if is_open && i == 0 { NONE } else { before };
                    inward = Some(link(here, site | first, to));
                    // If the neighbour after it had a star, that star would tell this link.
                    if !(is_open && is_last) && rough.counts.get(after) == 0 {
                        outward = Some(link(here, after, site));
                    }
                }
                (before, here) = (here, after);
            }
            links.write(&rough, inward);
            links.write(&rough, outward);
            i += 1;
        }
    }
}

/// The most links in nearly the same direction that are put in order.
const RUN: u32 = 32;

/// Orders links whose directions the keys do not distinguish. Keys stay as they are. Grid: a thread for each link.
///
/// # Safety
/// `x` and `y` are as in [`find_links`](mod@find_links); `keys` and `values` are sorted by keys.
#[kernel(block = BLOCK)]
pub unsafe fn order_links(
    x: In<'_, f64>,
    y: In<'_, f64>,
    sites: u32,
    keys: In<'_, u64>,
    values: Out<'_, u64>,
    count: u32,
) {
    let first = thread::index_1d();
    if first >= u64::from(count) {
        return;
    }
    let first = first as u32;
    // Rounding may put links of one direction one unit apart.
    let bits = direction_bits(sites);
    let is_near = |i: u32| {
        let [before, own] = [i - 1, i].map(|i| keys.get(u32::min(i, count - 1)));
        i < count && own - before <= 1 && own >> bits == before >> bits
    };
    if first > 0 && is_near(first) {
        return;
    }
    let mut end = first + 1;
    while end - first <= RUN && is_near(end) {
        end += 1;
    }
    if end - first == 1 || end - first > RUN {
        return;
    }
    let place = |site: u32| [x.get(site), y.get(site)];
    let at = place((keys.get(first) >> bits) as u32);
    let direction = |link: u64| way(at, place(link as u32 & !OPEN));
    // Insert each link before those that it precedes counter-clockwise.
    let mut i = first + 1;
    while i < vector::unknown(end) {
        let (link, mut to) = (values.get(i), i);
        while to > first {
            let before = values.get(to - 1);
            if cross(direction(before), direction(link)) >= 0.0 {
                break;
            }
            values.set(to, before);
            to -= 1;
        }
        values.set(to, link);
        i += 1;
    }
}

/// The links of all owners, sorted by [`key`].
#[arguments]
pub struct Sorted<'a> {
    /// As in [`struct@Links`].
    pub keys: In<'a, u64>,
    /// As in [`struct@Links`].
    pub values: In<'a, u64>,
    /// How many there are.
    pub count: u32,
    /// How many sites there are.
    pub sites: u32,
}

impl<'a> Sorted<'a> {
    /// The links of an owner.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub unsafe fn of(&self, owner: u32) -> Owned<'a> {
        let bits = direction_bits(self.sites);
        let [first, end] = [u64::from(owner), u64::from(owner) + 1]
            // SAFETY: passed on to the caller.
            .map(|owner| unsafe { first_not_below(self.keys, self.count, owner << bits) });
        let count = end - first;
        let (keys, links) = (self.keys.from(first), self.values.from(first));
        Owned { owner, keys, links, count, sites: self.sites }
    }
}

/// The links of one owner in the order of their directions.
pub struct Owned<'a> {
    owner: u32,
    keys: In<'a, u64>,
    links: In<'a, u64>,
    pub count: u32,
    sites: u32,
}

/// How links follow each other.
#[derive(Clone, Copy, PartialEq)]
pub enum Joint {
    /// One ends where the next one begins.
    Closed,
    /// Infinity lies between them.
    Hull,
    /// What lies between them is not known.
    Broken,
}

impl Owned<'_> {
    /// The link after one.
    #[inline(always)]
    pub fn after(&self, i: u32) -> u32 {
        if i + 1 < self.count { i + 1 } else { 0 }
    }

    /// Where a link begins, with [`OPEN`], and where it ends.
    #[inline(always)]
    pub fn ends(&self, i: u32) -> [u32; 2] {
        let link = self.links.get(i);
        [link as u32, (link >> 32) as u32]
    }

    /// How a link and the next one follow each other.
    #[inline(always)]
    pub fn joint(&self, i: u32) -> Joint {
        let ([_, to], [from, _]) = (self.ends(i), self.ends(self.after(i)));
        if to == NONE && from & OPEN != 0 {
            Joint::Hull
        } else if to == from {
            Joint::Closed
        } else {
            Joint::Broken
        }
    }

    /// Whether a link begins at a site.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub unsafe fn begins_at(&self, site: u32, way: Place) -> bool {
        let key = key(self.sites, self.owner, way);
        let run = u64::from(RUN);
        // SAFETY: passed on to the caller.
        let mut i = unsafe { first_not_below(self.keys, self.count, key.saturating_sub(run)) };
        let mut is_found = false;
        while i < vector::unknown(self.count) && self.keys.get(i) <= key + run {
            is_found |= self.ends(i)[0] & !OPEN == site;
            i += 1;
        }
        is_found
    }

    /// Returns `None` if the links are no star. Returns the number of the first link if the star is open, or no number
    /// if it is closed.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn star(&self) -> Option<Option<u32>> {
        let (mut i, mut gaps, mut first, mut is_whole) = (warp::lane_id(), 0, 0, self.count >= 3);
        while i < vector::unknown(self.count) {
            // Four at a time, so that their loads overlap.
            for i in [0, 1, 2, 3].map(|k| i + k * warp::SIZE) {
                let joint = if i < self.count { self.joint(i) } else { Joint::Closed };
                is_whole &= joint != Joint::Broken;
                if joint == Joint::Hull {
                    (gaps, first) = (gaps + 1, self.after(i));
                }
            }
            i += 4 * warp::SIZE;
        }
        // SAFETY: passed on to the caller.
        unsafe {
            if !warp::all(warp::FULL, is_whole) {
                return None;
            }
            match warp::reduce(gaps, |a, b| a + b) {
                0 => Some(None),
                1 => Some(Some(warp::max(first))),
                _ => None,
            }
        }
    }
}

/// Makes stars for those of the remaining sites whose links close, and lists the other sites. Grid: any number of
/// warps, which take turns.
///
/// # Safety
/// As [`find_links`](mod@find_links), which has run.
#[kernel(block = BLOCK)]
pub unsafe fn join_links(links: Sorted<'_>, rough: Rough<'_>) {
    let lane = warp::lane_id();
    let mut i = (thread::index_1d() / u64::from(warp::SIZE)) as u32;
    let left = rough.tallies.get(LEFT);
    // SAFETY: the whole warp comes here.
    unsafe {
        while i < vector::unknown(left) {
            let site = rough.left.get(i);
            i += thread::grid_dim_x() * (BLOCK / warp::SIZE);
            let own = links.of(site);
            let Some(gap) = own.star() else {
                if lane == 0 {
                    rough.list(site);
                }
                continue;
            };
            let mut start = 0;
            if lane == 0 {
                start = rough.tallies.fetch_add(WRITTEN, own.count);
                rough.starts.set(site, start);
                rough.counts.set(site, own.count);
            }
            start = warp::shuffle(warp::FULL, start, 0);
            let (begin, mut at) = (gap.unwrap_or(0), lane);
            while at < vector::unknown(own.count) {
                let turned = begin + at;
                let turned = if turned < own.count { turned } else { turned - own.count };
                let is_end = gap.is_some() && at + 1 == own.count;
                let end = if is_end { OPEN } else { 0 };
                rough.neighbours.set(start + at, own.ends(turned)[0] & !OPEN | end);
                at += warp::SIZE;
            }
        }
    }
}

/// The number of the first of `count` sorted keys that is not below `key`.
///
/// # Safety
/// The whole warp comes to the same call.
#[inline(always)]
unsafe fn first_not_below(keys: In<'_, u64>, count: u32, key: u64) -> u32 {
    let (mut low, mut len) = (0, count);
    while len > vector::unknown(0) {
        // Each lane has the first key of one of 32 parts.
        let step = len.div_ceil(warp::SIZE);
        let at = warp::lane_id() * step;
        let is_below = at < len && keys.get(low + at) < key;
        // SAFETY: passed on to the caller.
        let below = unsafe { warp::ballot(warp::FULL, is_below) }.count_ones();
        if below == 0 {
            break;
        }
        let before = (below - 1) * step + 1;
        (low, len) = (low + before, u32::min(step - 1, len - before));
    }
    low
}
