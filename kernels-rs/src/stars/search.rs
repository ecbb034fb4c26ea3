//! Searches of a warp among sites: the nearest one, and the third corner of a Delaunay triangle.
//!
//! All lanes look for the same. The unit of work is [`apex`](Search::apex): of a Delaunay edge, the third corner of the
//! triangle on its left. It is the site on the left whose circle with the edge's ends has no site inside. A candidate
//! shrinks the circle, and the search goes down only into boxes that the circle, or the half plane while there is no
//! candidate, may touch:
//!
//! ```text
//! first the leaves of the edge's two ends, and those where the last corners were found: the warp's sites follow each
//!     other, so these nearly always leave a small circle
//! then down the tree, the nearest box first: each lane tells whether the circle may touch one child of a node, once when
//!     the node is opened, and again when the circle has shrunk
//! in a leaf each lane tells whether one site may lie inside; of those the one whose circle reaches least far is the next
//!     candidate, until none is inside
//! ```
//!
//! The first neighbour of a site is the nearest one: the circle over the way to it is empty. From it on, each neighbour
//! counter-clockwise is the apex of the edge to the one before, until the first comes again, or until there is none: then
//! the site is on the hull, and the neighbours clockwise of the first are found likewise, by the edges taken backwards.
//!
//! Each triangle is in three stars. If the star of a neighbour is made already, it tells what comes next
//! ([`told`](Search::told)), and no search is needed. Other warps make stars meanwhile. Whether a star is ready changes the time
//! alone: decisions are exact, so a search finds the same corner.
//!
//! f64 tells with a bound of its error which sites may be inside ([`Circle`]); [`Predicates`] decide. A search costs what
//! the boxes cost that the circle of its answer touches. Circles that many boxes touch without a site inside, as when most
//! sites lie on one circle, make it slow, never wrong.

use device_std::shared::SharedArray;
use device_std::{Out, math, vector, warp};

use super::angles::square;
use super::circle::{Circle, ROUNDING};
use super::natural::OPEN;
use super::predicates::{Place, Predicates, is_before};
use super::rough::Rough;
use crate::rtree::Tree;
use crate::rtree::layout::{FANOUT, MAX_LEVELS};

/// Stands for no site.
pub const NONE: u32 = u32::MAX;

/// Elements of the shared memory that a search needs for each warp.
pub const ROOM: u32 = MAX_LEVELS as u32 * FANOUT;

/// Stands for a child that need not be visited any more.
const DONE: u32 = u32::MAX;

/// A warp's search among the sites of a tree, of which no two lie at one place.
pub struct Search<'a> {
    /// The sites.
    pub tree: Tree<'a, f64>,
    /// The predicates for their coordinates.
    pub predicates: Predicates,
    /// Of the warp: for each level and child of the present node its key; see [`key`].
    pub room: SharedArray<u32>,
    /// The leaves to begin with.
    pub leaves: Leaves,
    /// What searches may cost.
    pub budget: Budget<'a>,
    /// The stars of all sites that are made so far.
    pub made: Rough<'a>,
}

/// The leaves that a search visits before it goes down the tree: a lane has one. The first two are those of an edge's ends, the
/// next ones those where the last corners were found.
#[derive(Clone, Copy)]
pub struct Leaves {
    /// The lane's leaf; [`NONE`] if it has none.
    leaf: u32,
    /// Whether the present search has visited it.
    is_done: bool,
}

/// How many leaves of corners are kept.
const KEPT: u32 = 8;

impl Leaves {
    /// No leaf.
    pub const NONE: Self = Self { leaf: NONE, is_done: false };

    /// Begins a search at the leaves of two sites.
    #[inline(always)]
    fn begin(&mut self, [from, to]: [u32; 2]) {
        self.leaf = match warp::lane_id() {
            0 => from / FANOUT,
            1 => to / FANOUT,
            _ => self.leaf,
        };
        self.is_done = false;
    }

    /// Keeps the leaf of a corner.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn keep(&mut self, corner: u32) {
        let leaf = corner / FANOUT;
        // SAFETY: passed on to the caller.
        unsafe {
            if self.has(leaf, true) {
                return;
            }
            let before = warp::shuffle_up(warp::FULL, self.leaf, 1);
            self.leaf = match warp::lane_id() {
                0 | 1 => self.leaf,
                2 => leaf,
                lane if lane < 2 + KEPT => before,
                _ => NONE,
            };
        }
    }

    /// Whether a leaf is one of those of the lanes that count.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn has(&self, leaf: u32, counts: bool) -> bool {
        // SAFETY: passed on to the caller.
        unsafe { warp::any(warp::FULL, counts && self.leaf == leaf) }
    }
}

/// How many nodes and leaves all searches together may visit.
pub struct Budget<'a> {
    /// Thousands of visits of all warps.
    pub spent: Out<'a, u32>,
    /// The most of them.
    pub most: u32,
    /// Visits that are not in `spent` yet.
    pub own: u32,
    /// Whether more was spent. Then no result counts.
    pub is_over: bool,
}

impl Budget<'_> {
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn spend(&mut self) {
        self.own += 1;
        if self.own < 1000 {
            return;
        }
        self.own = 0;
        let spent = if warp::lane_id() == 0 { self.spent.fetch_add(0_u32, 1) } else { 0 };
        // SAFETY: passed on to the caller.
        self.is_over |= unsafe { warp::shuffle(warp::FULL, spent, 0) } >= self.most;
    }
}

/// Which boxes a walk wants, and what it does with the sites of a leaf. The same for all lanes.
pub trait Visitor {
    /// Whether a box may hold a site that counts.
    fn wants(&self, bounds: [f64; 4]) -> bool;

    /// Looks at the sites of a leaf, of which this lane has one, if `is_there`. Gives whether fewer boxes count now.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    unsafe fn visit(&mut self, site: u32, place: Place, is_there: bool) -> bool;
}

/// The bits of a number as f32, in the order of the numbers; below [`DONE`].
#[inline(always)]
fn key(number: f32) -> u32 {
    let bits = number.to_bits();
    let ordered = if bits >> 31 == 0 { bits | 1 << 31 } else { !bits };
    u32::min(ordered, DONE - 1)
}

/// The upper bits of a number of at least 0, in the order of the numbers; below [`DONE`].
#[inline(always)]
fn rank(number: f64) -> u32 {
    u32::min((number.to_bits() >> 32) as u32, DONE - 1)
}

#[inline(always)]
fn way(from: Place, to: Place) -> Place {
    [to[0] - from[0], to[1] - from[1]]
}

/// # Safety
/// The whole warp comes to the same call.
#[inline(always)]
unsafe fn shuffled(place: Place, lane: u32) -> Place {
    // SAFETY: passed on to the caller.
    place.map(|along| unsafe { warp::shuffle(warp::FULL, along, lane) })
}

impl Search<'_> {
    /// Where a site lies.
    #[inline(always)]
    pub fn place(&self, site: u32) -> Place {
        [self.tree.x.get(site), self.tree.y.get(site)]
    }

    /// Shows the neighbours of a site one after the other, with whether the next comes counter-clockwise, and gives whether
    /// they go all around. They stand in counter-clockwise order: all of them, or, if they do not go all around, from the
    /// nearest on, and after these the others clockwise from the nearest. If all sites are in line: the next by x, then by
    /// y, and the one before.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the tree is whole.
    #[inline(always)]
    pub unsafe fn star(&mut self, site: u32, mut show: impl FnMut(u32, bool)) -> bool {
        // SAFETY: passed on to the caller.
        unsafe {
            let first = self.nearest(site, Which::All);
            if first == NONE {
                return false;
            }
            show(first, true);
            let (mut neighbour, mut is_alone, mut turns_left) = (first, true, true);
            // Decisions are exact, so each neighbour is met once. The budget ends the loop in any case.
            while vector::unknown(1) == 1 {
                self.budget.spend();
                let [from, to] = if turns_left { [site, neighbour] } else { [neighbour, site] };
                let next = match self.told(site, neighbour, turns_left) {
                    Some(next) => next,
                    None => self.apex(from, to),
                };
                if next == first || self.budget.is_over {
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
                // No site lies beside the line through the two.
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

    /// Returns the neighbour that follows `neighbour` in the star of `site`, counter-clockwise or clockwise, read from the star of
    /// `neighbour`: [`NONE`] if that edge is on the hull, `None` if that star is not written yet, or too short or too long.
    ///
    /// Other warps may be writing the neighbour's star. Its count is read as 0 or as it stays, and every other word as [`NONE`] or as
    /// it stays. If a word is missing, the star does not tell.
    ///
    /// # Safety
    /// As [`star`](Self::star).
    #[inline(always)]
    unsafe fn told(&self, site: u32, neighbour: u32, turns_left: bool) -> Option<u32> {
        // SAFETY: passed on to the caller.
        let [count, start] = [self.made.counts, self.made.starts]
            .map(|all| unsafe { warp::shuffle(warp::FULL, all.load(neighbour), 0) });
        // A star of two may be on a line, without a triangle. One that is longer than a warp has no lane for each neighbour.
        if !(3..=warp::SIZE).contains(&count) || start == NONE {
            return None;
        }
        let (lane, last) = (warp::lane_id(), count - 1);
        let own = if lane < count { self.made.neighbours.load(start + lane) } else { NONE };
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

    /// The nearest site elsewhere of those that count; [`NONE`] if there is none.
    ///
    /// # Safety
    /// As [`star`](Self::star).
    #[inline(always)]
    unsafe fn nearest(&mut self, site: u32, which: Which) -> u32 {
        let (at, predicates) = (self.place(site), self.predicates);
        let mut nearest =
            Nearest { predicates, at, site, which, found: NONE, place: at, squared: f64::INFINITY };
        // SAFETY: passed on to the caller.
        unsafe {
            self.leaves.begin([site, site]);
            self.look(at, &mut nearest);
        }
        nearest.found
    }

    /// The third corner of the Delaunay triangle to the left of the Delaunay edge between two sites; [`NONE`] if there is
    /// none: then the edge is on the hull.
    ///
    /// # Safety
    /// As [`star`](Self::star).
    #[inline(always)]
    unsafe fn apex(&mut self, from: u32, to: u32) -> u32 {
        let [start, end] = [self.place(from), self.place(to)];
        let mut apex = Apex::new(self.predicates, [from, to], [start, end]);
        // SAFETY: passed on to the caller.
        unsafe {
            self.leaves.begin([from, to]);
            self.look(start, &mut apex);
            if apex.found != NONE {
                self.leaves.keep(apex.found);
            }
        }
        apex.found
    }

    /// Visits the leaves that are wanted: first those that are at hand.
    ///
    /// # Safety
    /// As [`star`](Self::star).
    #[inline(always)]
    unsafe fn look(&mut self, at: Place, visitor: &mut impl Visitor) {
        let own = self.leaves.leaf;
        // SAFETY: passed on to the caller; the leaves are of the tree.
        unsafe {
            let mut is_wanted = false;
            let mut has_changed = true;
            while vector::unknown(1) == 1 {
                if has_changed {
                    is_wanted = own != NONE
                        && !self.leaves.is_done
                        && visitor.wants(self.tree.box_of(0, own));
                }
                let wanted = warp::ballot(warp::FULL, is_wanted);
                if wanted == 0 {
                    break;
                }
                let leaf = warp::shuffle(warp::FULL, own, wanted.trailing_zeros());
                self.leaves.is_done |= own == leaf;
                is_wanted &= own != leaf;
                has_changed = self.visit(leaf, visitor);
            }
            self.descend(at, visitor);
        }
    }

    /// # Safety
    /// As [`star`](Self::star); the leaf is one of the tree.
    #[inline(always)]
    unsafe fn visit(&mut self, leaf: u32, visitor: &mut impl Visitor) -> bool {
        // SAFETY: passed on to the caller.
        unsafe { self.budget.spend() };
        let site = leaf * FANOUT + warp::lane_id();
        let is_there = site < self.tree.points;
        let place = if is_there { self.place(site) } else { [0.0; 2] };
        // SAFETY: passed on to the caller.
        unsafe { visitor.visit(site, place, is_there) }
    }

    /// Visits the leaves that are wanted and not done yet, those of the nearest boxes first.
    ///
    /// # Safety
    /// As [`star`](Self::star).
    #[inline(always)]
    unsafe fn descend(&mut self, at: Place, visitor: &mut impl Visitor) {
        let (top, mut root) = (self.tree.top, 0);
        // SAFETY: passed on to the caller; children are below the count of their level.
        unsafe {
            while root < vector::unknown(self.tree.roots) {
                let (mut level, mut node) = (top, root);
                // A bit for each level: whether fewer children may be wanted than the keys say.
                let mut stale = 0_u32;
                self.open(level, node, at, visitor);
                while vector::unknown(1) == 1 {
                    if self.budget.is_over {
                        return;
                    }
                    let own = level * FANOUT + warp::lane_id();
                    let mut key = self.room.load(own);
                    if stale >> level & 1 != 0 {
                        stale &= !(1 << level);
                        if key != DONE
                            && !visitor
                                .wants(self.tree.box_of(level, node * FANOUT + warp::lane_id()))
                        {
                            key = DONE;
                            self.room.store(own, key);
                        }
                    }
                    let nearest = warp::min(key);
                    if nearest == DONE {
                        if level == top {
                            break;
                        }
                        (level, node) = (level + 1, node / FANOUT);
                        continue;
                    }
                    let of = warp::ballot(warp::FULL, key == nearest).trailing_zeros();
                    if warp::lane_id() == of {
                        self.room.store(own, DONE);
                    }
                    let child = node * FANOUT + of;
                    if level > 0 {
                        (level, node) = (level - 1, child);
                        stale &= !(1 << level);
                        self.open(level, node, at, visitor);
                    } else if !self.leaves.has(child, self.leaves.is_done)
                        && self.visit(child, visitor)
                    {
                        stale = u32::MAX;
                    }
                }
                root += 1;
            }
        }
    }

    /// Keeps the keys of a node's children on a level: how far they are, or that they are not wanted.
    ///
    /// # Safety
    /// As [`star`](Self::star); the node is one of the tree.
    #[inline(always)]
    unsafe fn open(&mut self, level: u32, node: u32, at: Place, visitor: &impl Visitor) {
        // SAFETY: passed on to the caller.
        unsafe { self.budget.spend() };
        let child = node * FANOUT + warp::lane_id();
        let (mut away, mut is_wanted) = (0.0, false);
        if child < self.tree.boxes_of(level) {
            let bounds = self.tree.box_of(level, child);
            away = squared(at, bounds);
            is_wanted = visitor.wants(bounds);
        }
        // SAFETY: the whole warp comes here; the element is the lane's own.
        unsafe {
            // Relative to the nearest child: the ranks of two children far away differ by their difference alone.
            let own = if is_wanted { rank(away) } else { DONE };
            let nearest = warp::ballot(warp::FULL, own == warp::min(own)).trailing_zeros();
            let of_nearest = warp::shuffle(warp::FULL, away, nearest);
            let key = if is_wanted { rank(f64::max(away - of_nearest, 0.0)) } else { DONE };
            self.room.store(level * FANOUT + warp::lane_id(), key);
        }
    }
}

/// The squared distance between a place and a box.
#[inline(always)]
fn squared(at: Place, [west, south, east, north]: [f64; 4]) -> f64 {
    let x = f64::max(f64::max(west - at[0], at[0] - east), 0.0);
    let y = f64::max(f64::max(south - at[1], at[1] - north), 0.0);
    x * x + y * y
}

/// Which sites count: all, or those before or after one by x, then by y, which are its two sides on a line.
#[derive(Clone, Copy, PartialEq)]
enum Which {
    All,
    Before,
    After,
}

/// The nearest site so far.
struct Nearest {
    predicates: Predicates,
    at: Place,
    site: u32,
    which: Which,
    found: u32,
    place: Place,
    /// Its squared distance, rounded up.
    squared: f64,
}

impl Nearest {
    /// Whether a place is nearer than the present one. Of places as near the first by x, then by y, counts as nearer: so the
    /// same site is found whichever leaf comes first.
    #[inline(always)]
    fn is_nearer(&self, place: Place) -> bool {
        let order = self.predicates.nearer(self.at, place, self.place);
        order > 0 || order == 0 && is_before(place, self.place)
    }
}

impl Visitor for Nearest {
    #[inline(always)]
    fn wants(&self, bounds: [f64; 4]) -> bool {
        squared(self.at, bounds) <= self.squared
    }

    #[inline(always)]
    unsafe fn visit(&mut self, site: u32, place: Place, is_there: bool) -> bool {
        let [x, y] = way(self.at, place);
        let squared = x * x + y * y;
        let counts = match self.which {
            Which::All => true,
            Which::Before => is_before(place, self.at),
            Which::After => is_before(self.at, place),
        };
        let mut is_open = is_there && counts && site != self.site;
        let (own, before) = (rank(squared), self.found);
        // SAFETY: passed on to the caller.
        unsafe {
            while vector::unknown(1) == 1 {
                // Each lane decides about its own site.
                is_open = is_open
                    && squared <= self.squared
                    && (self.found == NONE || self.is_nearer(place));
                let least = warp::min(if is_open { own } else { DONE });
                if least == DONE {
                    break;
                }
                let of = warp::ballot(warp::FULL, is_open && own == least).trailing_zeros();
                is_open = is_open && warp::lane_id() != of;
                self.found = warp::shuffle(warp::FULL, site, of);
                self.place = shuffled(place, of);
                self.squared = warp::shuffle(warp::FULL, squared, of) * (1.0 + ROUNDING);
            }
        }
        self.found != before
    }
}

/// The best third corner so far of the triangle to the left of an edge.
pub struct Apex {
    predicates: Predicates,
    /// Where the edge's ends lie.
    edge: [Place; 2],
    sites: [u32; 2],
    /// The way between the two.
    way: Place,
    /// Which site; [`NONE`] before there is one.
    pub found: u32,
    place: Place,
    /// The circle through the edge's ends and the corner, relative to the end nearer to the corner. Relative to a far end, rounding
    /// would hide where the circle passes.
    circle: Circle,
    /// Whether the circle is relative to the edge's first end.
    is_from_first: bool,
}

impl Apex {
    /// No corner yet for an edge between two sites.
    #[inline(always)]
    pub fn new(predicates: Predicates, sites: [u32; 2], edge: [Place; 2]) -> Self {
        let [from, to] = edge;
        let (circle, way) = (Circle::EVERYTHING, way(from, to));
        Self { predicates, edge, sites, way, found: NONE, place: to, circle, is_from_first: true }
    }

    /// Makes the circle that of the present corner.
    #[inline(always)]
    fn pass_through_corner(&mut self) {
        let [from, to] = self.edge;
        let (to_first, to_second) = (way(self.place, from), way(self.place, to));
        self.is_from_first = square(to_first) <= square(to_second);
        let [first, second] =
            if self.is_from_first { [to, self.place] } else { [self.place, from] };
        self.circle = Circle::through(way(self.origin(), first), way(self.origin(), second));
    }

    /// Returns the end of the edge that the circle is relative to.
    #[inline(always)]
    fn origin(&self) -> Place {
        if self.is_from_first { self.edge[0] } else { self.edge[1] }
    }

    /// The circle through the edge's ends and the corner, and the end that it is seen from.
    #[inline(always)]
    pub fn circle(&self) -> (Circle, u32) {
        (self.circle, if self.is_from_first { self.sites[0] } else { self.sites[1] })
    }
}

impl Visitor for Apex {
    #[inline(always)]
    fn wants(&self, [west, south, east, north]: [f64; 4]) -> bool {
        let ([from, to], [x, y]) = (self.edge, self.way);
        let o = self.origin();
        let seen = [west - o[0], south - o[1], east - o[0], north - o[1]];
        // The box's farthest corner to the left of the edge.
        let corner = [if y > 0.0 { west } else { east }, if x > 0.0 { north } else { south }];
        self.circle.may_meet(seen) && self.predicates.orientation(from, to, corner) > 0
    }

    #[inline(always)]
    unsafe fn visit(&mut self, site: u32, place: Place, is_there: bool) -> bool {
        let ([from, to], [x, y]) = (self.edge, self.way);
        let seen = way(from, place);
        let mut is_open = is_there
            && site != self.sites[0]
            && site != self.sites[1]
            && self.circle.may_hold(way(self.origin(), place));
        // SAFETY: passed on to the caller.
        if unsafe { !warp::any(warp::FULL, is_open) } {
            return false;
        }
        // How far the circle's centre lies to the left, in lengths of the edge.
        let height = seen[0] * (seen[0] - x) + seen[1] * (seen[1] - y);
        let left = x * seen[1] - y * seen[0];
        let reach = height as f32 * math::reciprocal_f32(left as f32);
        let (own, before) = (key(reach), self.found);
        // SAFETY: passed on to the caller.
        unsafe {
            while vector::unknown(1) == 1 {
                // Each lane decides about its own site. One that is outside now is outside of all better circles.
                is_open = is_open
                    && self.circle.may_hold(way(self.origin(), place))
                    && self.predicates.orientation(from, to, place) > 0
                    && (self.found == NONE
                        || self.predicates.is_inside(from, to, self.place, place));
                let least = warp::min(if is_open { own } else { DONE });
                if least == DONE {
                    break;
                }
                let of = warp::ballot(warp::FULL, is_open && own == least).trailing_zeros();
                is_open = is_open && warp::lane_id() != of;
                self.found = warp::shuffle(warp::FULL, site, of);
                self.place = shuffled(place, of);
                self.pass_through_corner();
            }
        }
        self.found != before
    }
}
