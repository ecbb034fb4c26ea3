//! Which items a block adds: from the root down, those far from its queries, and the leaves near them.

use super::{CHILDREN, LEAF, NODES, Tree};

/// Where the visit of the items is.
#[derive(Clone, Copy)]
pub(super) struct Visit {
    pub level: u32,
    /// The first item of the level.
    start: u32,
    /// The place of the item among those of its level.
    at: u32,
}

/// What to add.
#[derive(Clone, Copy)]
pub(super) struct Found {
    /// What its sources are relative to: its place among the boxes.
    pub origin: u32,
    /// The first source and their number.
    pub first: u32,
    pub count: u32,
}

/// How items are visited.
#[derive(Clone, Copy)]
pub(super) struct Way {
    leaves: u32,
    /// The level of the root.
    pub top: u32,
    /// The square of how far, in multiples of half the longer side, is far enough.
    pub separation: f32,
    /// The box of the queries.
    pub low: [f32; 2],
    pub high: [f32; 2],
}

impl Way {
    /// Through a tree whose root is of level `top`.
    #[inline(always)]
    pub fn new(tree: &Tree, top: u32, separation: f64, (low, high): ([f32; 2], [f32; 2])) -> Self {
        let separation = (separation * separation) as f32;
        Self { leaves: tree.points.div_ceil(LEAF), top, separation, low, high }
    }

    /// The root.
    #[inline(always)]
    pub fn start(&self, tree: &Tree) -> Visit {
        Visit { level: self.top, start: tree.items - 1, at: 0 }
    }

    /// Items of a level: each level has a fourth of those below, rounded up.
    #[inline(always)]
    fn len(&self, level: u32) -> u32 {
        const { assert!(CHILDREN == 4) };
        (self.leaves + ((1 << (2 * level)) - 1)) >> (2 * level)
    }

    /// Whether an item is far from the queries.
    #[inline(always)]
    fn is_far(&self, [x, y, half]: [f32; 3]) -> bool {
        let gap_x = f32::max(f32::max(self.low[0] - x, x - self.high[0]), 0.0);
        let gap_y = f32::max(f32::max(self.low[1] - y, y - self.high[1]), 0.0);
        let squared = gap_x * gap_x + gap_y * gap_y;
        // An item without extent that a query lies on is not far.
        squared >= self.separation * half * half && squared > 0.0
    }

    /// The next item to add; moves the visit behind it. The visit is not at its end.
    ///
    /// # Safety
    /// The items have boxes.
    #[inline(always)]
    pub unsafe fn next(&self, tree: &Tree, visit: &mut Visit) -> Found {
        loop {
            let item = visit.start + visit.at;
            // SAFETY: the visit stays within the items.
            let far = self.is_far(unsafe { tree.middle(item) });
            if far || visit.level == 0 {
                let first = visit.at * LEAF;
                let found = if far {
                    Found { origin: item, first: tree.points + item * NODES, count: NODES }
                } else {
                    let count = u32::min(LEAF, tree.points - first);
                    Found { origin: tree.items + visit.at, first, count }
                };
                self.advance(visit);
                return found;
            }
            let level = visit.level - 1;
            *visit = Visit { level, start: visit.start - self.len(level), at: visit.at * CHILDREN };
        }
    }

    /// On to the next item that is neither done nor within one that is; beyond the root at the end.
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
