//! The nodes of trees in the squares of cells: a warp has a square.

use device_std::{In, Out, kernel, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::{
    BLOCK, Counted, Counting, PATCH_WORDS, PATCHES, Places, SQUARES, end_of, kept, own_patches,
    patch_at, put_square, square_at, write_square,
};
use crate::ccq::patch::{self, Patch, Tally};
use crate::ccq::plan::Tier;
use crate::ccq::source::{Cells, PATCH, Source};
use crate::ccq::square::Square;
use crate::ccq::summary::Summary;
use crate::ccq::value::Value;
use crate::ccq::writer::{Nodes, Writer};

/// Reduces each square of cells to an element of the tier above, and counts its nodes. Grid: a warp for each square,
/// row by row.
///
/// # Safety
/// The slices have what [`Cells`] and [`Counting`] say, and the cells are those of the tier. `patches` has
/// [`PATCH_WORDS`] for each square.
#[kernel(block = BLOCK, instances(
    u8: <u8>, resident = 4;
    i16: <i16>, resident = 4;
    u16: <u16>, resident = 4;
    i32: <i32>, resident = 3;
    u32: <u32>, resident = 3;
    f32: <f32>, resident = 3;
))]
pub unsafe fn reduce<T: Value>(
    cells: Cells<'_, T>,
    tier: Tier,
    counting: Counting<'_>,
    patches: Out<'_, u32>,
) {
    let index = thread::block_idx_x() * SQUARES + warp::warp_id();
    let (columns, rows) = tier.grid();
    if index >= columns * rows {
        return;
    }
    let place = square_at(&tier, index);
    // One patch after the other by the same code.
    let (mut eights, mut patch) = ([Summary::OUTSIDE; 2], warp::lane_id());
    while patch < PATCHES {
        let at = patch_at(&tier, place, patch);
        eights = [eights[1], reduce_patch(&tier, at, end_of(&tier, place), &cells)];
        patch = vector::unknown(patch + warp::SIZE);
    }
    // SAFETY: the warp's branches depend on what is the same in all of its lanes.
    unsafe {
        let square = Square::new(&tier, eights);
        let tallies = count_divided(&tier, place, &square, &cells);
        if tier.is_top != 0 || square.whole.is_divided() {
            let own = patches.from(index as u64 * PATCH_WORDS as u64);
            let mut i = 0;
            while i < 2 {
                let at = own.from(own_patches()[i]);
                at.set(0u32, square.eights[i].min);
                at.set(PATCHES, square.eights[i].max);
                at.set(2 * PATCHES, tallies[i].flagged(square.eights[i]).0);
                i += 1;
            }
        }
        put_square(&tier, index, &square, tallies, &counting);
    }
}

/// The summary of a lane's patch of cells, with its bins.
#[inline(always)]
fn reduce_patch<T: Value>(
    tier: &Tier,
    (x, y): (u32, u32),
    end: (u32, u32),
    cells: &Cells<'_, T>,
) -> Summary {
    if x >= end.0 || y >= end.1 {
        return Summary::OUTSIDE;
    }
    let from = cells.input.from(y as u64 * tier.width as u64 + x as u64);
    let sides = (u32::min(end.0 - x, PATCH), u32::min(end.1 - y, PATCH));
    let raw = if sides == (PATCH, PATCH) && cells.has_aligned_rows(tier.width) {
        // SAFETY: rows are aligned, as was tested; patches are 8 columns apart.
        unsafe { cells.whole_patch(from, tier.width) }
    } else {
        cells.part_of_patch(from, tier.width, sides)
    };
    cells.seen(raw)
}

/// Takes the next two patches out of a set, one for each half of the warp. Returns the half's patch, and both.
/// [`PATCHES`] or more stands for no patch.
#[inline(always)]
fn next_two(rest: &mut u64) -> (u32, [u32; 2]) {
    let first = rest.trailing_zeros();
    *rest &= rest.wrapping_sub(1);
    let second = rest.trailing_zeros();
    *rest &= rest.wrapping_sub(1);
    (if warp::lane_id() < patch::LANES { first } else { second }, [first, second])
}

/// The tallies of those of the lane's patches that are divided. The whole warp counts two patches at a time.
///
/// # Safety
/// The whole warp comes here.
#[inline(always)]
unsafe fn count_divided<T: Value>(
    tier: &Tier,
    place: (u32, u32),
    square: &Square,
    cells: &Cells<'_, T>,
) -> [Tally; 2] {
    let is_aligned = cells.has_aligned_pairs(tier.width);
    let (mut tallies, mut rest) = ([Tally(0); 2], square.divided);
    while rest != 0 {
        let (own, both) = next_two(&mut rest);
        let at = (own < PATCHES).then(|| patch_at(tier, place, own));
        // SAFETY: the set is the same in all lanes, so the whole warp is here.
        unsafe {
            let patch = Patch::new(tier, at, end_of(tier, place), cells, is_aligned);
            let tally = patch.tally().0;
            let found = [
                warp::shuffle(warp::FULL, tally, 0),
                warp::shuffle(warp::FULL, tally, patch::LANES),
            ];
            let mut i = 0;
            while i < 2 {
                if both[i] & (warp::SIZE - 1) == warp::lane_id() {
                    if both[i] < warp::SIZE {
                        tallies[0] = Tally(found[i]);
                    } else if both[i] < PATCHES {
                        tallies[1] = Tally(found[i]);
                    }
                }
                i += 1;
            }
        }
    }
    tallies
}

/// Writes the nodes of each square of cells that is divided; in the highest tier, of every square. Grid: a warp for
/// each square, row by row.
///
/// # Safety
/// As for [`reduce`](mod@reduce), which wrote `patches`; the slices have what [`Counted`] and [`Nodes`] say.
#[kernel(block = BLOCK, instances(
    u8: <u8>, resident = 4;
    i16: <i16>, resident = 4;
    u16: <u16>, resident = 4;
    i32: <i32>, resident = 3;
    u32: <u32>, resident = 3;
    f32: <f32>, resident = 3;
))]
pub unsafe fn write<T: Value>(
    cells: Cells<'_, T>,
    tier: Tier,
    counted: Counted<'_>,
    patches: In<'_, u32>,
    nodes: Nodes<'_>,
) {
    let index = thread::block_idx_x() * SQUARES + warp::warp_id();
    let (columns, rows) = tier.grid();
    if index >= columns * rows {
        return;
    }
    if counted.lacks_nodes(&tier, index) {
        return;
    }
    let place = square_at(&tier, index);
    let own = patches.from(index as u64 * PATCH_WORDS as u64);
    // SAFETY: the warp's branches depend on what is the same in all of its lanes.
    unsafe {
        let (square, tallies) = kept(&tier, |i| own.get(i));
        let slots = tier.place(place);
        let places = Places::new(&tier, slots, counted.starts, square.divided, tallies);
        let writer = Writer { nodes, base: counted.base(&tier, slots) };
        write_square::<Cells<'_, T>>(&tier, &writer, &square, &places, tallies);
        let is_aligned = cells.has_aligned_pairs(tier.width);
        let mut rest = square.divided;
        while rest != 0 {
            let (own, _) = next_two(&mut rest);
            let at = (own < PATCHES).then(|| patch_at(&tier, place, own));
            let patch = Patch::new(&tier, at, end_of(&tier, place), &cells, is_aligned);
            let first = places.first_of(own);
            patch.write(&tier, &writer, &cells, first, |_, _| 0);
        }
    }
}
