//! The results of a search, and where it writes them.

use device_std::{In, Out, arguments, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::{ConditionSearch, HIT_PARTLY, Verdict};

/// Words that are written for a quadrant: row, column, size with [`PARTLY`], least key, greatest key.
pub const HIT: usize = 5;

/// The bit of a size that says that only some cells may be in the ranges.
pub const PARTLY: u32 = 1 << 31;

/// Where a search writes its results. Squares are in Z-order.
#[arguments]
pub struct Results<'a> {
    /// Without `out`, the number of each square's quadrants is written here; with `out`, this says where they go. An
    /// element a square, and one more.
    pub counts: Out<'a, u32>,
    /// How many cells of each square satisfy all conditions, then how many no raster decides: two numbers a square.
    pub cells: Out<'a, u64>,
    /// The least key of each square, then the greatest: two numbers a square.
    pub bounds: Option<Out<'a, u32>>,
    /// The quadrants, `room` of them.
    pub out: Option<Out<'a, [u32; HIT]>>,
    /// See above; 0 without `out`.
    pub room: u32,
}

impl<'a> Results<'a> {
    /// Writes the numbers of a square.
    #[inline(always)]
    pub fn put(&self, place: usize, squares: (u32, u32), found: &FoundQuadrants<'_>) {
        let all = (squares.0 * squares.1) as usize;
        self.counts.set(place, found.quadrants);
        self.cells.set(place, found.cells);
        self.cells.set(all + place, found.unsure);
        if let Some(bounds) = self.bounds {
            bounds.set(place, found.least);
            bounds.set(all + place, found.greatest);
        }
    }

    /// No results yet. If there is `out`, quadrants will be written from number `first` of all on.
    #[inline(always)]
    pub fn from(&self, first: u32) -> FoundQuadrants<'a> {
        let out = self.out.map(|out| out.wrapping_from(first));
        FoundQuadrants { out, room: self.room.saturating_sub(first), ..FoundQuadrants::default() }
    }
}

/// The results of a thread, and where it writes them.
pub struct FoundQuadrants<'a> {
    /// How many quadrants.
    pub quadrants: u32,
    /// How many of their cells satisfy all conditions.
    pub cells: u64,
    /// How many of their cells no raster decides.
    pub unsure: u64,
    /// The least key of all.
    pub least: u32,
    /// The greatest key of all.
    pub greatest: u32,
    /// Where further quadrants are written; if missing, they are only counted.
    pub out: Option<Out<'a, [u32; HIT]>>,
    /// How many elements `out` has.
    pub room: u32,
}

impl Default for FoundQuadrants<'_> {
    #[inline(always)]
    fn default() -> Self {
        Self { quadrants: 0, cells: 0, unsure: 0, least: u32::MAX, greatest: 0, out: None, room: 0 }
    }
}

impl FoundQuadrants<'_> {
    /// Takes a quadrant.
    #[inline(always)]
    pub fn take<const N: usize>(
        &mut self,
        search: &ConditionSearch<'_, N>,
        place: (u32, u32),
        side: u32,
        verdict: Verdict,
    ) {
        let part = search.ground.part(place, side).and(search.ground.window);
        let is_partly = verdict.what == HIT_PARTLY;
        if let Some(out) = self.out {
            if self.quadrants < self.room {
                let size = side | if is_partly { PARTLY } else { 0 };
                out.set(self.quadrants, [place.1, place.0, size, verdict.min, verdict.max]);
            }
        } else if !is_partly {
            self.cells += part.cells();
        } else {
            match search.wanted_cells(part) {
                Some(cells) => self.cells += cells,
                None => self.unsure += part.cells(),
            }
        }
        self.quadrants += 1;
        self.least = u32::min(self.least, verdict.min);
        self.greatest = u32::max(self.greatest, verdict.max);
    }
}

/// Copies a number of 32 bits to one of 64. Grid: one block.
///
/// # Safety
/// Both slices have an element.
#[kernel(block = 32)]
pub unsafe fn widen(from: In<'_, u32>, to: Out<'_, u64>) {
    if thread::thread_idx_x() == 0 {
        to.set(0u32, from.get(0u32) as u64);
    }
}
