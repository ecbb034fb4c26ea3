//! Which items a block adds: from the root down, those far from its targets, and the leaves near them.

use super::{CHILDREN, LEAF, NODES};

/// Where the visit of the items is.
#[derive(Clone, Copy)]
pub(super) struct Visit {
    pub level: u32,
    /// The first item of the level.
    start: u32,
    /// The place of the item among those of its level.
    at: u32,
}

/// The sources of an item, to add.
#[derive(Clone, Copy)]
pub(super) struct SourceRun {
    /// The origin of its sources: its index among the boxes.
    pub origin: u32,
    /// The first source and their number.
    pub first: u32,
    pub count: u32,
}

/// The tree's shape, by which items are visited.
#[derive(Clone, Copy)]
pub(super) struct Way {
    points: u32,
    items: u32,
    leaves: u32,
    /// The level of the root.
    pub top: u32,
}

impl Way {
    /// For a tree of `items` items over `points` points, whose root is of level `top`.
    #[inline(always)]
    pub fn new(points: u32, items: u32, top: u32) -> Self {
        Self { points, items, leaves: points.div_ceil(LEAF), top }
    }

    /// The root.
    #[inline(always)]
    pub fn start(&self) -> Visit {
        Visit { level: self.top, start: self.items - 1, at: 0 }
    }

    /// Items of a level: each level has a fourth of those below, rounded up.
    #[inline(always)]
    fn len(&self, level: u32) -> u32 {
        const { assert!(CHILDREN == 4) };
        (self.leaves + ((1 << (2 * level)) - 1)) >> (2 * level)
    }

    /// Returns the next item to add, and moves the visit behind it. `is_far` says which items are far from the targets.
    /// The visit is not at its end.
    #[inline(always)]
    pub fn next(&self, visit: &mut Visit, is_far: impl Fn(u32) -> bool) -> SourceRun {
        loop {
            let item = visit.start + visit.at;
            let far = is_far(item);
            if far || visit.level == 0 {
                let first = visit.at * LEAF;
                let found = if far {
                    SourceRun { origin: item, first: self.points + item * NODES, count: NODES }
                } else {
                    let count = u32::min(LEAF, self.points - first);
                    SourceRun { origin: self.items + visit.at, first, count }
                };
                self.advance(visit);
                return found;
            }
            let level = visit.level - 1;
            *visit = Visit { level, start: visit.start - self.len(level), at: visit.at * CHILDREN };
        }
    }

    /// Moves to the next item that is neither done nor within one that is; beyond the root at the end.
    #[inline(always)]
    fn advance(&self, visit: &mut Visit) {
        visit.at += 1;
        loop {
            let len = self.len(visit.level);
            if !visit.at.is_multiple_of(CHILDREN) && visit.at != len {
                return;
            }
            *visit = Visit {
                level: visit.level + 1,
                start: visit.start + len,
                at: (visit.at - 1) / CHILDREN + 1,
            };
            if visit.level > self.top {
                return;
            }
        }
    }
}
