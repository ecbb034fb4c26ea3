//! Whether a quadrant ends a search, and which nodes hold its children.

use device_std::arguments;

use super::super::summary::MIXED;
use super::{Condition, Conditions, Node, SearchGrid, Window};

/// The conditions of a search, and the raster that it covers.
#[arguments]
pub struct Question<'a> {
    /// The condition on each tree.
    pub conditions: Conditions<'a>,
    /// The raster of all trees.
    pub ground: SearchGrid,
}

/// A verdict on a quadrant: no cell satisfies all conditions.
pub const NONE: u32 = 0;
/// A verdict on a quadrant: all cells in the window satisfy all conditions.
pub const HIT_WHOLE: u32 = 1;
/// A verdict on a quadrant: some cells may satisfy them, and the trees do not say which.
pub const HIT_PARTLY: u32 = 2;
/// A verdict on a quadrant: its children decide.
pub const OPEN: u32 = 3;

/// A verdict on a quadrant, and the keys that its node in the first tree has.
#[derive(Clone, Copy)]
pub struct Verdict {
    /// [`NONE`], [`HIT_WHOLE`], [`HIT_PARTLY`] or [`OPEN`].
    pub what: u32,
    /// The least key.
    pub min: u32,
    /// The greatest key.
    pub max: u32,
}

/// The first `N` conditions, and the raster that the search covers.
pub struct ConditionSearch<'a, const N: usize> {
    /// The condition on each tree.
    pub conditions: [Condition<'a>; N],
    /// The raster of all trees.
    pub ground: SearchGrid,
}

impl<'a, const N: usize> ConditionSearch<'a, N> {
    /// The search for an answer.
    #[inline(always)]
    pub fn new(question: Question<'a>) -> Self {
        Self { conditions: question.conditions.first_of(), ground: question.ground }
    }

    /// Judges a quadrant by the nodes that hold it.
    #[inline(always)]
    pub fn judge(&self, place: (u32, u32), level: u32, positions: [u32; N]) -> Verdict {
        let none = Verdict { what: NONE, min: 0, max: 0 };
        let cells = self.ground.part(place, 1 << (self.ground.bits - level));
        if cells.and(self.ground.window).is_empty() {
            return none;
        }
        let (mut all_inside, mut any_open, mut is_out) = (true, false, false);
        let mut bounds = (0, 0);
        let mut i = 0;
        while i < N {
            let condition = &self.conditions[i];
            match condition.node(positions[i]) {
                None => is_out = true,
                Some(Node { min, max, link }) => {
                    is_out |= min > condition.touched[1] || max < condition.touched[0];
                    let [low, high] = condition.inside;
                    let within = |key: u32| low <= key && key <= high;
                    all_inside &= within(min) && within(max) && link & MIXED == 0;
                    any_open |= link & !MIXED != 0 && level < self.ground.bits;
                    if i == 0 {
                        bounds = (min, max);
                    }
                }
            }
            i += 1;
        }
        if is_out {
            return none;
        }
        let (min, max) = bounds;
        let what = if any_open && !(all_inside && cells.is_in(self.ground.window)) {
            OPEN
        } else if all_inside {
            HIT_WHOLE
        } else {
            HIT_PARTLY
        };
        Verdict { what, min, max }
    }

    /// The nodes that hold a child of an open quadrant; the second result is false if a tree has no child there.
    #[inline(always)]
    pub fn child(
        &self,
        (column, row): (u32, u32),
        level: u32,
        positions: [u32; N],
        corner: u32,
    ) -> ([u32; N], bool) {
        let half = 1u32 << (self.ground.bits - level - 1);
        let east = (column + half < self.ground.width) as u32;
        let south = (row + half < self.ground.height) as u32;
        let in_raster = 1 | east << 1 | south << 2 | (east & south) << 3;
        let (mut children, mut is_there) = (positions, in_raster >> corner & 1 != 0);
        let mut i = 0;
        while i < N {
            let condition = &self.conditions[i];
            let link = match condition.node(positions[i]) {
                Some(node) => node.link,
                None => 0,
            };
            let first = link & !MIXED;
            if first != 0 {
                let mut mask = in_raster;
                if link & MIXED != 0 {
                    mask &= if positions[i] < condition.presence_len {
                        condition.presence.get(positions[i]) as u32
                    } else {
                        0
                    };
                }
                is_there &= mask >> corner & 1 != 0;
                let before = mask & ((1 << corner) - 1);
                // Beyond the last node there is no child; the child's own verdict tells that.
                children[i] = first.saturating_add(before.count_ones());
            }
            i += 1;
        }
        (children, is_there)
    }

    /// How many cells of a part are wanted in all rasters of conditions that cut bins; `None` if such a raster is
    /// missing.
    #[inline(always)]
    pub fn wanted_cells(&self, part: Window) -> Option<u64> {
        let mut lacks = false;
        let mut i = 0;
        while i < N {
            lacks |= self.conditions[i].cuts_bins() && self.conditions[i].raster.is_none();
            i += 1;
        }
        if lacks {
            return None;
        }
        let (mut count, mut row) = (0, part.row0);
        while row < part.row1 {
            let mut column = part.column0;
            while column < part.column1 {
                count += self.is_wanted((column, row)) as u64;
                column += 1;
            }
            row += 1;
        }
        Some(count)
    }

    /// Whether a cell is wanted in all rasters of conditions that cut bins; false if such a raster is missing.
    #[inline(always)]
    pub fn is_wanted(&self, (column, row): (u32, u32)) -> bool {
        let cell = row as u64 * self.ground.width as u64 + column as u64;
        let (mut all, mut i) = (true, 0);
        while i < N {
            let condition = &self.conditions[i];
            let wants = |raster| condition.wants(raster, cell);
            all &= !condition.cuts_bins() || condition.raster.is_some_and(wants);
            i += 1;
        }
        all
    }
}
