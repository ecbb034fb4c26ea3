//! The nodes of trees in the squares of higher tiers: a block has a square, half a warp a patch.

use device_std::shared::{Carver, SharedArray};
use device_std::{kernel, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::{
    BLOCK, Counted, Counting, PATCH_WORDS, PATCHES, Places, end_of, kept, own_patches, patch_at,
    put_square, square_at, write_square,
};
use crate::ccq::patch::{self, Patch, Tally};
use crate::ccq::plan::Tier;
use crate::ccq::source::Squares;
use crate::ccq::square::Square;
use crate::ccq::writer::{Nodes, Writer};

/// The shared memory of a block that has a square of elements: the summaries and tallies of its patches.
#[derive(Clone, Copy)]
struct Shared {
    words: SharedArray<u32>,
}

impl Shared {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self { words: carver.array(PATCH_WORDS) }
    }
}

/// The first patch of a half of a warp in a block that has a square. The half's other patches follow, each `HALVES`
/// after the one before.
#[inline(always)]
fn own_half() -> u32 {
    thread::thread_idx_x() / patch::LANES
}

const HALVES: u32 = BLOCK as u32 / patch::LANES;

/// Reads a block's square of elements.
///
/// # Safety
/// Every thread of the block comes here.
#[inline(always)]
unsafe fn square_of_elements(
    tier: &Tier,
    place: (u32, u32),
    squares: &Squares<'_>,
    room: &Shared,
) -> (Square, [Tally; 2]) {
    let mut own = own_half();
    // SAFETY: the whole block is here; a barrier stands between writing and reading.
    unsafe {
        while own < PATCHES {
            let (at, end) = (Some(patch_at(tier, place, own)), end_of(tier, place));
            let patch = Patch::new(tier, at, end, squares, false);
            let whole = patch.whole();
            if thread::thread_idx_x().is_multiple_of(patch::LANES) {
                room.words.store(own, whole.min);
                room.words.store(own + PATCHES, whole.max);
                room.words.store(own + 2 * PATCHES, patch.tally().flagged(whole).0);
            }
            own = vector::unknown(own + HALVES);
        }
        thread::sync_threads();
        kept(tier, |i| room.words.load(i))
    }
}

/// [`reduce`](mod@super::reduce) for a tier of elements. Grid: a block for each square, row by row.
///
/// # Safety
/// As for [`reduce`](mod@super::reduce).
#[kernel(block = BLOCK, carve = |carver| Shared::new(carver))]
pub unsafe fn reduce_squares(squares: Squares<'_>, tier: Tier, counting: Counting<'_>) {
    let room = Shared::new(&mut Carver::new());
    let index = thread::block_idx_x();
    let place = square_at(&tier, index);
    // SAFETY: all threads of the block take the same branches.
    unsafe {
        let (square, tallies) = square_of_elements(&tier, place, &squares, &room);
        if warp::warp_id() == 0 {
            let [north, south] = own_patches();
            let of = |patch: u32, tally: Tally| {
                if square.divided >> patch & 1 != 0 { tally } else { Tally(0) }
            };
            let tallies = [of(north, tallies[0]), of(south, tallies[1])];
            put_square(&tier, index, &square, tallies, &counting);
        }
    }
}

/// [`write`](mod@super::write) for a tier of elements, which are squares of the tier `below`. Grid: a block for each
/// square, row by row.
///
/// # Safety
/// As for [`write`](mod@super::write).
#[kernel(block = BLOCK, carve = |carver| Shared::new(carver))]
pub unsafe fn write_squares(
    squares: Squares<'_>,
    tier: Tier,
    below: Tier,
    counted: Counted<'_>,
    nodes: Nodes<'_>,
) {
    let shared = Shared::new(&mut Carver::new());
    let index = thread::block_idx_x();
    if counted.lacks_nodes(&tier, index) {
        return;
    }
    let place = square_at(&tier, index);
    // SAFETY: all threads of the block take the same branches.
    unsafe {
        let (square, tallies) = square_of_elements(&tier, place, &squares, &shared);
        let slots = tier.place(place);
        let places = Places::new(&tier, slots, counted.starts, square.divided, tallies);
        let writer = Writer { nodes, base: counted.base(&tier, slots) };
        if warp::warp_id() == 0 {
            write_square::<Squares<'_>>(&tier, &writer, &square, &places, tallies);
        }
        let mut own = own_half();
        while own < PATCHES {
            let (at, end) = (patch_at(&tier, place, own), end_of(&tier, place));
            let patch = Patch::new(&tier, Some(at), end, &squares, false);
            let first = places.first_of(own);
            if square.divided >> own & 1 != 0 {
                let child_of = |x: u32, y: u32| {
                    let slots = below.place((at.0 + x, at.1 + y));
                    counted.starts.get(below.slot(slots, 1))
                };
                patch.write(&tier, &writer, &squares, first, child_of);
            }
            own = vector::unknown(own + HALVES);
        }
    }
}
