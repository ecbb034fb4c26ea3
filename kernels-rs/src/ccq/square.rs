//! A square of 64 x 64 elements, which a warp has. A lane has two patches of 8 x 8, at its place in the Z-order of the
//! northern half and of the southern half.
//!
//! Sets of quadrants are words of 64 bits; a quadrant is the bit of its first patch.

use device_std::warp;

use super::patch::{Tally, divides, gathered, of_lane, together};
use super::plan::Tier;
use super::source::Source;
use super::summary::Summary;
use super::writer::Writer;

/// A warp's square, as one of its lanes sees it.
pub struct Square {
    /// The lane's patches, and the quadrants of 16 x 16 and 32 x 32 that they lie in.
    pub eights: [Summary; 2],
    sixteens: [Summary; 2],
    thirty_twos: [Summary; 2],
    /// The summary of the whole square.
    pub whole: Summary,
    /// Which quadrants have values, and which are nodes.
    eight_values: u64,
    eight_nodes: u64,
    sixteen_values: u64,
    sixteen_nodes: u64,
    thirty_two_values: u64,
    thirty_two_nodes: u64,
    /// The patches whose children are nodes.
    pub divided: u64,
}

/// The lanes in which a condition holds: the first condition for the northern half, the second for the southern.
///
/// # Safety
/// The whole warp comes here.
#[inline(always)]
unsafe fn both(conditions: [bool; 2]) -> u64 {
    // SAFETY: passed on to the caller.
    unsafe {
        let north = warp::ballot(warp::FULL, conditions[0]);
        let south = warp::ballot(warp::FULL, conditions[1]);
        north as u64 | (south as u64) << 32
    }
}

/// How many bits of a set come before one of them.
#[inline(always)]
fn before(set: u64, bit: u32) -> u32 {
    (set & ((1 << bit) - 1)).count_ones()
}

impl Square {
    /// # Safety
    /// The whole warp comes here.
    #[inline(always)]
    pub unsafe fn new(tier: &Tier, eights: [Summary; 2]) -> Self {
        let lane = warp::lane_id();
        // SAFETY: the whole warp is here.
        unsafe {
            let sixteens = [together(eights[0], 1), together(eights[1], 1)];
            let thirty_twos = [together(sixteens[0], 4), together(sixteens[1], 4)];
            let column = thirty_twos[0].and(thirty_twos[1]);
            let whole = column.and(of_lane(column, lane ^ 16));
            let values = |of: [Summary; 2], every: u32| {
                let is_first = lane & (every - 1) == 0;
                [is_first && of[0].has_values(), is_first && of[1].has_values()]
            };
            let in_divided = |values: [bool; 2], level: u32, above: [Summary; 2]| {
                let [north, south] = above;
                [values[0] && divides(tier, level, north), values[1] && divides(tier, level, south)]
            };
            let (of_8, of_16, of_32) =
                (values(eights, 1), values(sixteens, 4), values(thirty_twos, 16));
            Self {
                eight_values: both(of_8),
                eight_nodes: both(in_divided(of_8, 2, sixteens)),
                sixteen_values: both(of_16),
                sixteen_nodes: both(in_divided(of_16, 1, thirty_twos)),
                thirty_two_values: both(of_32),
                thirty_two_nodes: both(in_divided(of_32, 0, [whole; 2])),
                divided: both([divides(tier, 3, eights[0]), divides(tier, 3, eights[1])]),
                eights,
                sixteens,
                thirty_twos,
                whole,
            }
        }
    }

    /// Which of its quadrants of 32 x 32 have values.
    #[inline(always)]
    pub fn quadrants(&self) -> u32 {
        let set = self.thirty_two_values;
        (set & 1) as u32 | (set >> 15 & 2) as u32 | (set >> 30 & 4) as u32 | (set >> 45 & 8) as u32
    }

    /// The number of nodes of a level down to the patches.
    #[inline(always)]
    pub fn nodes(&self, level: u32) -> u32 {
        match level {
            0 => self.whole.has_values() as u32,
            1 => self.thirty_two_nodes.count_ones(),
            2 => self.sixteen_nodes.count_ones(),
            _ => self.eight_nodes.count_ones(),
        }
    }

    /// Writes the nodes down to the patches, each by the lane of its first patch; `which` is the northern half or the
    /// southern. `start` has where the nodes of each level begin. `fours` has where the nodes of 4 x 4 of the lane's
    /// patch begin.
    #[inline(always)]
    pub fn write<S: Source>(
        &self,
        tier: &Tier,
        writer: &Writer<'_>,
        start: [u32; 4],
        which: usize,
        (fours, tally): (u32, Tally),
    ) {
        let patch = warp::lane_id() + 32 * which as u32;
        let is_in = |set: u64, level: u32| set >> patch & 1 != 0 && level >= tier.first_level;
        let [whole_at, thirty_two_at, sixteen_at, eight_at] = start;
        let eight_at = eight_at + before(self.eight_nodes, patch);
        let sixteen_at = sixteen_at + before(self.sixteen_nodes, patch);
        let thirty_two_at = thirty_two_at + before(self.thirty_two_nodes, patch);
        if is_in(self.eight_nodes, 3) {
            writer.put::<S>(eight_at, self.eights[which], fours, tally.fours());
        }
        if is_in(self.sixteen_nodes, 2) {
            let mask = (self.eight_values >> patch) as u32 & 0xf;
            writer.put::<S>(sixteen_at, self.sixteens[which], eight_at, mask);
        }
        if is_in(self.thirty_two_nodes, 1) {
            let mask = gathered((self.sixteen_values >> patch) as u32 & 0xffff);
            writer.put::<S>(thirty_two_at, self.thirty_twos[which], sixteen_at, mask);
        }
        let is_root = tier.is_top != 0 && tier.first_level == 0;
        if patch == 0 && is_root && self.whole.has_values() {
            writer.put::<S>(whole_at, self.whole, thirty_two_at, self.quadrants());
        }
    }
}
