//! A warp's search for corners in the tree of all sites.
//!
//! ```text
//! first the leaves of the edge's two ends, and those where the last corners were found: the warp's sites follow each
//!     other, so these nearly always leave a small circle
//! then down the tree, the nearest box first: each lane tells whether the circle may touch one child of a node, once when
//!     the node is opened, and again when the circle has shrunk
//! in a leaf each lane has one site
//! ```
//!
//! The search goes down only into boxes that the present circle may touch, or the half plane while there is no
//! candidate. Its cost depends on the boxes that the answer's circle touches. Circles that touch many boxes without a
//! site inside, as when most sites lie on one circle, make it slow, never wrong. So there is a [`Budget`].

use device_std::shared::SharedArray;
use device_std::{Out, vector, warp};

use super::Source;
use super::corners::{DONE, Visitor, rank, squared};
use crate::rtree::Tree;
use crate::rtree::layout::{FANOUT, MAX_LEVELS};
use crate::stars::predicates::Place;
use crate::stars::rough::NONE;

/// Elements of shared memory that a search needs for each warp: a key for each child of a node on each level. They are
/// the stack of the search.
pub const ROOM: u32 = MAX_LEVELS as u32 * FANOUT;

/// A search among the sites of a tree; no two sites lie at one place.
pub struct Descent<'a> {
    /// The sites.
    pub tree: Tree<'a, f64>,
    /// Shared memory of the warp: for each level the keys of the present node's children; see [`rank`].
    pub room: SharedArray<u32>,
    /// The leaves to begin with.
    pub leaves: Leaves,
    /// How much searches may cost.
    pub budget: Budget<'a>,
}

impl Source for Descent<'_> {
    #[inline(always)]
    unsafe fn look(&mut self, at: Place, edge: [u32; 2], visitor: &mut impl Visitor) {
        // SAFETY: passed on to the caller.
        unsafe {
            self.leaves.begin(edge);
            self.visit_leaves_at_hand(visitor);
            self.descend(at, visitor);
            // The next corners of this and of the next site mostly lie in the same leaf.
            if edge[0] != edge[1] && visitor.found() != NONE {
                self.leaves.keep(visitor.found());
            }
        }
    }

    #[inline(always)]
    unsafe fn is_over(&mut self) -> bool {
        // SAFETY: passed on to the caller.
        unsafe { self.budget.spend() };
        self.budget.is_over
    }
}

/// The leaves that a search visits before it goes down the tree: a lane has one. The first two are the leaves of an
/// edge's ends, the next ones the leaves where the last corners were found.
#[derive(Clone, Copy)]
pub struct Leaves {
    /// The lane's leaf; [`NONE`] if it has none.
    leaf: u32,
    /// Whether the present search has visited it.
    is_done: bool,
}

/// How many leaves of the last corners are kept.
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
            // A queue in registers: the oldest of the eight leaves at the end.
            let before = warp::shuffle_up(warp::FULL, self.leaf, 1);
            self.leaf = match warp::lane_id() {
                0 | 1 => self.leaf,
                2 => leaf,
                lane if lane < 2 + KEPT => before,
                _ => NONE,
            };
        }
    }

    /// Whether a lane that `counts` has a leaf.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn has(&self, leaf: u32, counts: bool) -> bool {
        // SAFETY: passed on to the caller.
        unsafe { warp::any(warp::FULL, counts && self.leaf == leaf) }
    }
}

/// Visits after which a warp adds them to the common count: an atomic for each visit would cost more than the visit.
pub const VISITS: u32 = 64;

/// How many nodes and leaves all searches together may visit.
pub struct Budget<'a> {
    /// The visits of all warps, in units of [`VISITS`].
    pub spent: Out<'a, u32>,
    /// The most of these units; no limit if it is [`u32::MAX`].
    pub most: u32,
    /// Visits that are not in `spent` yet.
    pub own: u32,
    /// Whether the searches exceeded the budget. Then the last answer does not count.
    pub is_over: bool,
}

impl Budget<'_> {
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn spend(&mut self) {
        self.own += 1;
        if self.own < VISITS {
            return;
        }
        self.own = 0;
        let spent = if warp::lane_id() == 0 { self.spent.fetch_add(0_u32, 1) } else { 0 };
        // SAFETY: passed on to the caller.
        self.is_over |=
            unsafe { warp::shuffle(warp::FULL, spent, 0) } >= self.most && self.most != u32::MAX;
    }
}

impl Descent<'_> {
    /// Visits the leaves at hand that are wanted: each lane tests its own.
    ///
    /// # Safety
    /// As [`look`](Source::look); the tree is whole.
    #[inline(always)]
    unsafe fn visit_leaves_at_hand(&mut self, visitor: &mut impl Visitor) {
        let own = self.leaves.leaf;
        // SAFETY: passed on to the caller; the leaves are of the tree.
        unsafe {
            let mut is_wanted = false;
            let mut has_changed = true;
            while vector::unknown(1) == 1 {
                // A smaller circle may no longer touch a leaf.
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
        }
    }

    /// # Safety
    /// As for [`look`](Source::look); the leaf is one of the tree.
    #[inline(always)]
    unsafe fn visit(&mut self, leaf: u32, visitor: &mut impl Visitor) -> bool {
        // SAFETY: passed on to the caller.
        unsafe { self.budget.spend() };
        let site = leaf * FANOUT + warp::lane_id();
        let is_there = site < self.tree.points;
        let place = match is_there {
            true => [self.tree.x.get(site), self.tree.y.get(site)],
            false => [0.0; 2],
        };
        // SAFETY: passed on to the caller.
        unsafe { visitor.visit(site, place, is_there) }
    }

    /// Visits the leaves that are wanted and not done yet, the nearest box first.
    ///
    /// # Safety
    /// As for [`look`](Source::look).
    #[inline(always)]
    unsafe fn descend(&mut self, at: Place, visitor: &mut impl Visitor) {
        let (top, mut root) = (self.tree.top, 0);
        // SAFETY: passed on to the caller; children are below the count of their level.
        unsafe {
            while root < vector::unknown(self.tree.roots) {
                let (mut level, mut node) = (top, root);
                // A bit for each level: whether the circle has shrunk since its keys were tested.
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
                        // The node is done: back to its parent, whose keys are in shared memory.
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

    /// Opens a node: stores the keys of its children on a level. A key tells how far a child is, or that it is not
    /// wanted.
    ///
    /// # Safety
    /// As for [`look`](Source::look); the node is one of the tree.
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
            // Relative to the nearest child. The upper words of two large squares may be the same; those of their
            // differences from the least square are not.
            let own = if is_wanted { rank(away) } else { DONE };
            let nearest = warp::ballot(warp::FULL, own == warp::min(own)).trailing_zeros();
            let of_nearest = warp::shuffle(warp::FULL, away, nearest);
            let key = if is_wanted { rank(f64::max(away - of_nearest, 0.0)) } else { DONE };
            self.room.store(level * FANOUT + warp::lane_id(), key);
        }
    }
}
