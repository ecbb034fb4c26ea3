//! The rings of sites in device memory.

use device_std::vector;

use super::super::rings::{MOST_SIDES, MOST_WIDE_SIDES, Ring, Rings};

/// The rings of sites in memory: [`RING_NUMBERS`] for each, the corners, then the neighbours and the number of sides
/// in halves of numbers.
#[derive(Clone, Copy)]
pub(super) struct InRecords(pub(super) *const f64);

/// Numbers of a site's ring in memory: 256 bytes, so that a record begins with a line of the cache.
pub const RING_NUMBERS: usize = 32;

/// Where the neighbours begin, and where the number of sides is, in halves of numbers.
const NEIGHBOURS_AT: usize = 4 * MOST_SIDES as usize;
pub(super) const SIDES_AT: usize = 5 * MOST_SIDES as usize;

impl InRecords {
    #[inline(always)]
    fn record(self, site: u32) -> *const f64 {
        self.0.wrapping_add(RING_NUMBERS * site as usize)
    }
}

impl Rings for InRecords {
    type Ring = InRecord;
    #[inline(always)]
    fn of(self, site: u32) -> InRecord {
        InRecord { start: self.record(site), most: MOST_SIDES as usize }
    }
}

/// A ring in memory.
#[derive(Clone, Copy)]
pub(super) struct InRecord {
    start: *const f64,
    /// The most sides that its memory has room for.
    most: usize,
}

// SAFETY (all): sites and sides are below their counts, by the contract of the kernels.
impl Ring for InRecord {
    #[inline(always)]
    fn sides(self) -> u32 {
        // SAFETY: as above.
        unsafe { *self.start.cast::<u32>().add(5 * self.most) }
    }
    #[inline(always)]
    fn neighbour(self, i: u32) -> u32 {
        // SAFETY: as above.
        unsafe { *self.start.cast::<u32>().add(4 * self.most + i as usize) }
    }
    #[inline(always)]
    fn corner(self, i: u32) -> [f64; 2] {
        // SAFETY: as above.
        unsafe { pair(self.start.add(2 * i as usize)) }
    }
}

/// The same with the wide rings, which lie behind in the same way, with more room: [`WIDE_RECORDS`] for each. A site's
/// record without sides has the record where its wide ring is, or 0.
#[derive(Clone, Copy)]
pub(super) struct WithWide(pub(super) InRecords);

/// Records that a wide ring takes.
pub const WIDE_RECORDS: usize = (5 * MOST_WIDE_SIDES as usize + 1).div_ceil(2 * RING_NUMBERS);

/// Where the neighbours of a wide ring begin, and where the number of sides is, in halves of numbers.
pub(super) const WIDE_NEIGHBOURS_AT: usize = 4 * MOST_WIDE_SIDES as usize;
pub(super) const WIDE_SIDES_AT: usize = 5 * MOST_WIDE_SIDES as usize;

/// Where a record tells of the wide ring, in halves of numbers.
pub(super) const WIDE_AT: usize = SIDES_AT + 1;

impl Rings for WithWide {
    const ARE_WIDE: bool = true;
    type Ring = InRecord;
    #[inline(always)]
    fn of(self, site: u32) -> InRecord {
        let record = self.0.record(site);
        // SAFETY: sites are below their count, by the contract of the kernels; a record without sides tells of a
        // wide ring.
        let wide = unsafe {
            let halves = record.cast::<u32>();
            if *halves.add(SIDES_AT) > 0 { 0 } else { *halves.add(WIDE_AT) }
        };
        if wide == 0 {
            InRecord { start: record, most: MOST_SIDES as usize }
        } else {
            InRecord { start: self.0.record(wide), most: MOST_WIDE_SIDES as usize }
        }
    }
}

/// Two numbers that lie together.
///
/// # Safety
/// Both are there, at a multiple of 16 bytes, and nobody writes them meanwhile.
#[inline(always)]
pub(super) unsafe fn pair(at: *const f64) -> [f64; 2] {
    // SAFETY: passed on to the caller.
    let [a, b, c, d] = unsafe { vector::load(at.cast()) };
    let number = |low: u32, high: u32| f64::from_bits(low as u64 | (high as u64) << 32);
    [number(a, b), number(c, d)]
}

/// Writes side `i` of a ring.
///
/// # Safety
/// The record is that of a site, and has room for the side.
#[inline(always)]
pub(super) unsafe fn write_side(record: *mut f64, i: u32, neighbour: u32, [x, y]: [f64; 2]) {
    // SAFETY: passed on to the caller.
    unsafe {
        *record.add(2 * i as usize) = x;
        *record.add(2 * i as usize + 1) = y;
        *record.cast::<u32>().add(NEIGHBOURS_AT + i as usize) = neighbour;
    }
}
