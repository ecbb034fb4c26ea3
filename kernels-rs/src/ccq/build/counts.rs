//! The data of squares that is kept between counting their nodes and writing them.

use device_std::{In, Out, arguments, warp};

use super::{PATCHES, own_patches, square_at};
use crate::ccq::LEVELS;
use crate::ccq::patch::Tally;
use crate::ccq::plan::Tier;
use crate::ccq::source::Source;
use crate::ccq::square::Square;
use crate::ccq::summary::Summary;
use crate::ccq::writer::Writer;

/// Where the nodes of a tier are counted.
#[arguments]
pub struct Counting<'a> {
    /// The elements of the tier above: one a square, row by row.
    pub elements: Out<'a, Summary>,
    /// The numbers of nodes, in the slots of the whole plan.
    pub counts: Out<'a, u32>,
}

/// The results of counting.
#[arguments]
pub struct Counted<'a> {
    /// The elements of the tier above: one a square, row by row.
    pub elements: In<'a, Summary>,
    /// Where the nodes of each slot of the whole plan begin: the scanned counts.
    pub starts: In<'a, u32>,
}

impl Counted<'_> {
    /// Whether no nodes of a square are written: it is not divided, and not in the highest tier.
    #[inline(always)]
    pub fn lacks_nodes(&self, tier: &Tier, index: u32) -> bool {
        tier.is_top == 0 && !self.elements.get(index).is_divided()
    }

    /// Where the nodes of a square's tree begin.
    #[inline(always)]
    pub fn base(&self, tier: &Tier, (tree, _): (u32, u32)) -> u32 {
        self.starts.get(tree as usize * tier.tree_stride as usize)
    }
}

/// Writes a square's element of the tier above, and how many nodes the square has. `tallies` are those of the lane's
/// divided patches.
///
/// # Safety
/// The whole warp comes here.
#[inline(always)]
pub unsafe fn put_square(
    tier: &Tier,
    index: u32,
    square: &Square,
    tallies: [Tally; 2],
    counting: &Counting<'_>,
) {
    let lane = warp::lane_id();
    let nodes = |tally: Tally| {
        let (twos, fours) = (tally.twos() as u64, tally.fours().count_ones() as u64);
        tally.elements() as u64 | twos << 16 | fours << 32
    };
    // SAFETY: passed on to the caller.
    let all = unsafe { warp::reduce(nodes(tallies[0]) + nodes(tallies[1]), |a, b| a + b) };
    if lane == 0 {
        counting.elements.set(index, square.whole.of_square(square.quadrants()));
    }
    if lane <= LEVELS && lane >= tier.first_level {
        let count = match lane {
            4 => (all >> 32) as u32,
            5 => (all >> 16) as u32 & 0xffff,
            6 => all as u32 & 0xffff,
            _ => square.nodes(lane),
        };
        let slots = tier.place(square_at(tier, index));
        counting.counts.set(tier.slot(slots, lane), count);
    }
}

/// A warp's square with its patches' tallies, from the words that were kept: `word(i)` is word i.
///
/// # Safety
/// The whole warp comes here.
#[inline(always)]
pub unsafe fn kept(tier: &Tier, word: impl Fn(u32) -> u32) -> (Square, [Tally; 2]) {
    let of = |patch: u32| {
        let tally = Tally(word(patch + 2 * PATCHES));
        (Summary { min: word(patch), max: word(patch + PATCHES), flags: tally.flags() }, tally)
    };
    let [north, south] = own_patches();
    let ((north, of_north), (south, of_south)) = (of(north), of(south));
    // SAFETY: passed on to the caller.
    let square = unsafe { Square::new(tier, [north, south]) };
    (square, [of_north, of_south])
}

/// Where a square's nodes go.
pub struct Places {
    /// Where the nodes of each level begin.
    start: [u32; LEVELS as usize + 1],
    /// How many nodes of elements, of 2 x 2 and of 4 x 4 come before those of the lane's patches: all three in one word
    /// for each patch.
    before: [u32; 2],
}

impl Places {
    const TWOS: u32 = 12;
    const FOURS: u32 = 22;

    /// Finds the places in `starts` and by the tallies of the lane's patches.
    ///
    /// # Safety
    /// The whole warp comes here.
    #[inline(always)]
    pub unsafe fn new(
        tier: &Tier,
        slots: (u32, u32),
        starts: In<'_, u32>,
        divided: u64,
        tallies: [Tally; 2],
    ) -> Self {
        let lane = warp::lane_id();
        // SAFETY: passed on to the caller.
        unsafe {
            let mut own = 0;
            if lane <= LEVELS && lane >= tier.first_level {
                own = starts.get(tier.slot(slots, lane));
            }
            let (mut start, mut level) = ([0; LEVELS as usize + 1], 0);
            while level <= LEVELS {
                start[level as usize] = warp::shuffle(warp::FULL, own, level);
                level += 1;
            }
            let [north, south] = own_patches();
            let packed = |patch: u32, tally: Tally| {
                let fours = tally.fours().count_ones();
                let all = tally.elements() | tally.twos() << Self::TWOS | fours << Self::FOURS;
                if divided >> patch & 1 != 0 { all } else { 0 }
            };
            // The fields of a sum may carry over, but subtracting the patch's own undoes that: before the last patch
            // each sum fits its bits.
            let (own_north, own_south) = (packed(north, tallies[0]), packed(south, tallies[1]));
            let sum = |a: u32, b: u32| a.wrapping_add(b);
            let to_north = warp::inclusive_scan(own_north, sum);
            let all_north = warp::shuffle(warp::FULL, to_north, warp::SIZE - 1);
            let to_south = all_north.wrapping_add(warp::inclusive_scan(own_south, sum));
            let before = [to_north.wrapping_sub(own_north), to_south.wrapping_sub(own_south)];
            Self { start, before }
        }
    }

    /// Where the nodes of 4 x 4, 2 x 2 and of elements begin, by a word of `before`.
    #[inline(always)]
    fn first(&self, before: u32) -> [u32; 3] {
        [
            self.start[4] + (before >> Self::FOURS),
            self.start[5] + (before >> Self::TWOS & 0x3ff),
            self.start[6] + (before & 0xfff),
        ]
    }

    /// The same for any patch, by the lane that has it.
    ///
    /// # Safety
    /// The whole warp comes here.
    #[inline(always)]
    pub unsafe fn first_of(&self, patch: u32) -> [u32; 3] {
        // SAFETY: passed on to the caller.
        let [north, south] = unsafe {
            [
                warp::shuffle(warp::FULL, self.before[0], patch & (warp::SIZE - 1)),
                warp::shuffle(warp::FULL, self.before[1], patch & (warp::SIZE - 1)),
            ]
        };
        self.first(if patch < warp::SIZE { north } else { south })
    }
}

/// Writes a square's nodes of 8 x 8 and larger. Each lane of a warp writes its part.
#[inline(always)]
pub fn write_square<S: Source>(
    tier: &Tier,
    writer: &Writer<'_>,
    square: &Square,
    places: &Places,
    tallies: [Tally; 2],
) {
    let [a, b, c, d, ..] = places.start;
    let mut i = 0;
    while i < 2 {
        let fours = places.first(places.before[i])[0];
        square.write::<S>(tier, writer, [a, b, c, d], i, (fours, tallies[i]));
        i += 1;
    }
}
