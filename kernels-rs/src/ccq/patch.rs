//! A patch of 8 x 8 elements, which half a warp has: each lane has a quadrant of 2 x 2, in Z-order.

use device_std::{thread, warp};

use super::plan::Tier;
use super::source::{PATCH, Source};
use super::summary::{MISSING, Summary};
use super::writer::Writer;
use crate::spatial::morton;

/// Lanes of a patch.
pub const LANES: u32 = 16;

/// A patch in one word: how many nodes of elements and of 2 x 2 it has, and which of its quadrants of 4 x 4 have
/// values. A flag tells whether an element is NODATA.
#[derive(Clone, Copy)]
pub struct Tally(pub u32);

impl Tally {
    const TWOS: u32 = 7;
    const FOURS: u32 = 12;
    const FLAGS: u32 = 16;

    #[inline(always)]
    fn new(elements: u32, twos: u32, fours: u32) -> Self {
        Self(elements | twos << Self::TWOS | fours << Self::FOURS)
    }

    /// Adds a summary's flag.
    #[inline(always)]
    pub fn flagged(self, summary: Summary) -> Self {
        Self(self.0 | (summary.flags & MISSING) << Self::FLAGS)
    }

    /// The flag of the summary.
    #[inline(always)]
    pub fn flags(self) -> u32 {
        self.0 >> Self::FLAGS & MISSING
    }

    /// Nodes of elements, up to 64.
    #[inline(always)]
    pub fn elements(self) -> u32 {
        self.0 & 0x7f
    }

    /// Nodes of 2 x 2, up to 16.
    #[inline(always)]
    pub fn twos(self) -> u32 {
        self.0 >> Self::TWOS & 0x1f
    }

    /// Which quadrants of 4 x 4 have values.
    #[inline(always)]
    pub fn fours(self) -> u32 {
        self.0 >> Self::FOURS & 0xf
    }
}

/// Every fourth bit of sixteen.
#[inline(always)]
pub fn gathered(bits: u32) -> u32 {
    (bits & 1) | (bits >> 3 & 2) | (bits >> 6 & 4) | (bits >> 9 & 8)
}

/// Whether the children of a quadrant are nodes: if it is divided, or lies above the root and has values.
#[inline(always)]
pub fn divides(tier: &Tier, level: u32, summary: Summary) -> bool {
    if tier.is_top != 0 && level < tier.first_level {
        summary.has_values()
    } else {
        summary.is_divided()
    }
}

/// The summary of another lane.
///
/// # Safety
/// The whole warp comes here.
#[inline(always)]
pub unsafe fn of_lane(summary: Summary, lane: u32) -> Summary {
    // SAFETY: passed on to the caller.
    unsafe {
        Summary {
            min: warp::shuffle(warp::FULL, summary.min, lane),
            max: warp::shuffle(warp::FULL, summary.max, lane),
            flags: warp::shuffle(warp::FULL, summary.flags, lane),
        }
    }
}

/// The summary of four neighbouring quadrants, `step` lanes apart; all of their lanes get it.
///
/// # Safety
/// The whole warp comes here.
#[inline(always)]
pub unsafe fn together(summary: Summary, step: u32) -> Summary {
    let lane = warp::lane_id();
    // SAFETY: passed on to the caller.
    unsafe {
        let two = summary.and(of_lane(summary, lane ^ step));
        two.and(of_lane(two, lane ^ (2 * step)))
    }
}

/// A patch as one of its lanes sees it.
pub struct Patch {
    /// The lane's elements, raw, in Z-order, and which of them have values.
    elements: [Summary; 4],
    element_mask: u32,
    two: Summary,
    four: Summary,
    /// Which of the quadrants of 2 x 2 have values, and which are nodes, by their lanes.
    two_values: u32,
    two_nodes: u32,
    /// Which of the quadrants of 4 x 4 have values, by their first lanes.
    four_values: u32,
    /// How many nodes of elements this lane has, the lanes before have, and all have.
    elements_before: u32,
    elements_all: u32,
    has_elements: bool,
}

/// The lane's number within its patch.
#[inline(always)]
fn own_lane() -> u32 {
    thread::thread_idx_x() % LANES
}

impl Patch {
    /// Reads a patch of elements and finds its nodes as if all quadrants of 8 x 8 were divided. `place` is its first
    /// element, and its square ends before `end`. Without a place the half has no patch.
    ///
    /// # Safety
    /// The whole warp comes here; `is_aligned` only if [`Source::has_aligned_pairs`] of the tier's width.
    #[inline(always)]
    pub unsafe fn new<S: Source>(
        tier: &Tier,
        place: Option<(u32, u32)>,
        end: (u32, u32),
        source: &S,
        is_aligned: bool,
    ) -> Self {
        let lane = own_lane();
        let (x, y) = morton::decode(lane as u64);
        // SAFETY: passed on to the caller.
        unsafe {
            let elements = match place {
                Some((column, row)) => {
                    load(tier, (column + 2 * x, row + 2 * y), end, source, is_aligned)
                }
                None => [Summary::OUTSIDE; 4],
            };
            let [a, b, c, d] = elements;
            let two = source.seen(a.and(b).and(c.and(d)));
            let four = together(two, 1);
            let half = warp::lane_id() & LANES;
            let of_half = |bits: u32| bits >> half & 0xffff;
            let element_mask = elements[0].has_values() as u32
                | (elements[1].has_values() as u32) << 1
                | (elements[2].has_values() as u32) << 2
                | (elements[3].has_values() as u32) << 3;
            let has_elements = divides(tier, 5, two);
            let is_two = two.has_values() && divides(tier, 4, four);
            let below = (1 << lane) - 1;
            let (mut elements_before, mut elements_all, mut i) = (0, 0, 0);
            while i < 4 {
                let is_node = has_elements && element_mask >> i & 1 != 0;
                let nodes = of_half(warp::ballot(warp::FULL, is_node));
                elements_before += (nodes & below).count_ones();
                elements_all += nodes.count_ones();
                i += 1;
            }
            Self {
                elements,
                element_mask,
                two,
                four,
                two_values: of_half(warp::ballot(warp::FULL, two.has_values())),
                two_nodes: of_half(warp::ballot(warp::FULL, is_two)),
                four_values: of_half(warp::ballot(warp::FULL, lane & 3 == 0 && four.has_values())),
                elements_before,
                elements_all,
                has_elements,
            }
        }
    }

    /// The summary of the whole patch.
    ///
    /// # Safety
    /// The whole warp comes here.
    #[inline(always)]
    pub unsafe fn whole(&self) -> Summary {
        // SAFETY: passed on to the caller.
        unsafe { together(self.four, 4) }
    }

    /// How many nodes there are.
    #[inline(always)]
    pub fn tally(&self) -> Tally {
        Tally::new(self.elements_all, self.two_nodes.count_ones(), gathered(self.four_values))
    }

    /// Writes the nodes of a divided patch. `first` says where the nodes of 4 x 4, of 2 x 2 and of elements begin.
    /// `child_of` says where the children of an element begin, by the element's column and row in the patch.
    #[inline(always)]
    pub fn write<S: Source>(
        &self,
        tier: &Tier,
        writer: &Writer<'_>,
        source: &S,
        first: [u32; 3],
        child_of: impl Fn(u32, u32) -> u32,
    ) {
        let lane = own_lane();
        let before = |bits: u32| (bits & ((1 << lane) - 1)).count_ones();
        let writes = |level: u32| level >= tier.first_level;
        let [fours, twos, elements] = first;
        let (two_at, element_at) = (twos + before(self.two_nodes), elements + self.elements_before);
        if writes(4) && self.four_values >> lane & 1 != 0 {
            let mask = self.two_values >> lane & 0xf;
            writer.put::<S>(fours + before(self.four_values), self.four, two_at, mask);
        }
        if writes(5) && self.two_nodes >> lane & 1 != 0 {
            writer.put::<S>(two_at, self.two, element_at, self.element_mask);
        }
        if self.has_elements {
            let (x, y) = morton::decode(lane as u64);
            let (mut at, mut i) = (element_at, 0);
            while i < 4 {
                let raw = self.elements[i as usize];
                if raw.has_values() {
                    let own = source.seen(raw);
                    let mut child = writer.base;
                    if !S::ARE_CELLS && own.is_divided() {
                        child = child_of(2 * x + (i & 1), 2 * y + (i >> 1));
                    }
                    writer.put::<S>(at, own, child, own.quadrants());
                    at += 1;
                }
                i += 1;
            }
        }
    }
}

/// Four elements from a place on, in Z-order; elements beyond the square's end are empty.
///
/// # Safety
/// `is_aligned` only if [`Source::has_aligned_pairs`] of the tier's width, and `x` is even.
#[inline(always)]
unsafe fn load<S: Source>(
    tier: &Tier,
    (x, y): (u32, u32),
    end: (u32, u32),
    source: &S,
    is_aligned: bool,
) -> [Summary; 4] {
    let mut elements = [Summary::OUTSIDE; 4];
    let mut j = 0;
    while j < 2 {
        let row = y + j as u32;
        // Beyond the square's end this may lie beyond the tier.
        let from = source.input().wrapping_from(row as u64 * tier.width as u64 + x as u64);
        if row < end.1 && x < end.0 {
            if x + 1 < end.0 {
                // SAFETY: rows begin at multiples of a pair, and so does an even column.
                let [a, b] = unsafe { S::pair(from, is_aligned) };
                elements[2 * j] = source.raw(a);
                elements[2 * j + 1] = source.raw(b);
            } else {
                elements[2 * j] = source.raw(from.get(0u32));
            }
        }
        j += 1;
    }
    elements
}

const _: () = assert!(PATCH * PATCH == 4 * LANES);
