//! Where the boxes of a tree lie.

use crate::spatial::place::{Bounds, Place};

/// Points of a leaf, and children of a node.
pub const FANOUT: u32 = 32;

/// Stands for a point, a child or a level where there is none.
pub const NONE: u32 = u32::MAX;

/// The most levels of boxes: for 2^32 points the highest has 128.
pub const MAX_LEVELS: usize = 5;

/// This many points at one place satisfy every search: the length of the longest list in registers, and one point that
/// is left out. A multiple of 32.
pub const MAX_REPEATED: u32 = 96;

/// Whether a box repeats a place: it holds points of one place alone, and so do the [`MAX_REPEATED`] points before them, the
/// same one. The last number of its greatest corner is NaN; the least corner, which is the same, stands for it. A box around boxes that all repeat
/// a place is marked likewise, since the greatest of NaN and a number is the number.
#[inline(always)]
pub fn is_repeated<T: Place, const D: usize>([_, greatest]: Bounds<T, D>) -> bool {
    greatest[D - 1].widened().is_nan()
}

/// The levels of boxes over some points, one after the other in one array: level 0 has a box for each leaf. A level takes
/// a multiple of 32 boxes, so that the children of each node are aligned; boxes beyond its last are never read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Boxes of each level.
    pub counts: [u32; MAX_LEVELS],
    /// The first box of each level.
    pub starts: [u32; MAX_LEVELS],
    /// The level of the root's children: the first with at most 32 boxes, or the last.
    pub top: u32,
    /// Groups of 32 boxes of that level: 1, unless the points are more than 32^6.
    pub roots: u32,
    /// Boxes of all levels.
    pub total: u32,
}

impl Layout {
    /// The levels over this many points. Without points there is one level without boxes.
    pub const fn new(points: u32) -> Self {
        let mut layout =
            Self { counts: [0; MAX_LEVELS], starts: [0; MAX_LEVELS], top: 0, roots: 0, total: 0 };
        let mut below = points;
        let mut level = 0;
        loop {
            let count = below.div_ceil(FANOUT);
            layout.counts[level] = count;
            layout.starts[level] = layout.total;
            layout.total += count.div_ceil(FANOUT) * FANOUT;
            if count <= FANOUT || level + 1 == MAX_LEVELS {
                layout.top = level as u32;
                layout.roots = count.div_ceil(FANOUT);
                return layout;
            }
            below = count;
            level += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_box_has_a_parent_up_to_the_top() {
        for points in [0, 1, 31, 32, 33, 1024, 1025, 32_768, 32_769, 10_000_000, u32::MAX] {
            let layout = Layout::new(points);
            let top = layout.top as usize;
            assert_eq!(layout.counts[0], points.div_ceil(32));
            let most = if points == u32::MAX { 128 } else { FANOUT };
            assert!(layout.counts[top] <= most && (top == 0 || layout.counts[top - 1] > FANOUT));
            for level in 0..top {
                assert_eq!(layout.counts[level + 1], layout.counts[level].div_ceil(FANOUT));
                let end = layout.starts[level] + layout.counts[level];
                assert!(
                    end <= layout.starts[level + 1]
                        && layout.starts[level + 1].is_multiple_of(FANOUT)
                );
            }
            assert!(layout.starts[top] + layout.counts[top] <= layout.total);
        }
    }
}
