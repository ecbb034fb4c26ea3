//! Which nodes are divided, in trees over some of the points of a larger one too.

use device_std::arguments;

/// Where the points of a build end among those of a larger tree: two cells of that tree, which hold the first and the
/// last of them. A cell above either may have fewer points here than there; that it is divided there, and so here, is
/// known from these. Of every other cell all points are here, or none.
///
/// Two cells of level 0, above which is nothing, for a tree of its own.
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
    /// Where the points end.
    pub cut: Cut,
}

impl Cut {
    /// Whether a cell lies above one of the two.
    #[inline(always)]
    pub(super) fn divides(&self, code: u64, level: u32) -> bool {
        let mut is_above = false;
        let mut end = 0;
        while end < 2 {
            let above = self.levels[end].saturating_sub(level);
            is_above |= above > 0 && self.codes[end] >> (2 * above) == code;
            end += 1;
        }
        is_above
    }
}
