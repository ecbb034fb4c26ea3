//! Decides which nodes are divided, even if a build has only some of a larger tree's points.
//!
//! A tree beyond the device's memory is built in batches of points that follow each other along the curve. A batch must
//! divide the cells that the whole tree divides, though it may hold few of their points:
//!
//! ```text
//! points along the curve   ..... | . . . . this batch . . . . | .....
//! cells of the cut               [first]                 [last]
//! cells above them         [  divided whatever this batch has    ]   others: all of their points are here, or none
//! ```
//!
//! A cell that reaches beyond an end of the batch contains that end, so it lies above the cell of the cut there or is
//! that cell. The whole tree has the cut's cells as nodes, so it divides all cells above them. Every other cell with
//! points here has all of them here: the threshold decides as in the whole tree. The cost is two shifts and comparisons
//! a node.

use device_std::arguments;

/// The ends of the points of a build within a larger tree: the cells of that tree that hold the first and the last of
/// them.
///
/// A tree of its own has two cells of level 0: no cell lies above these.
#[arguments]
pub struct Cut {
    /// The cells' codes.
    pub codes: [u64; 2],
    /// Their levels.
    pub levels: [u32; 2],
}

/// Which nodes are divided: those above the threshold, and those above a cell of the cut.
#[arguments]
pub struct Rule {
    /// The most points of a node that is not divided.
    pub threshold: u64,
    /// The ends of the build's points within a larger tree.
    pub cut: Cut,
}

impl Cut {
    /// Whether a cell lies above one of the two.
    #[inline(always)]
    pub(super) fn divides(&self, code: u64, level: u32) -> bool {
        // A cell is above another if the other's code begins with its code: two bits a level are left out.
        let mut is_above = false;
        let mut end = 0;
        while end < 2 {
            // 0 for a cell on the same level or below: it is decided by its points alone.
            let above = self.levels[end].saturating_sub(level);
            is_above |= above > 0 && self.codes[end] >> (2 * above) == code;
            end += 1;
        }
        is_above
    }
}
