//! The quadrants of a square, which a block judges in shared memory.

use device_std::block::{BlockReduce, BlockScan};
use device_std::shared::{Carver, SharedArray};
use device_std::{thread, vector};

use super::super::{LEVELS, SIDE};
use super::{BLOCK, ConditionSearch, NONE, OPEN, Verdict};
use crate::spatial::morton;

/// Slots of a square.
const SLOTS: u32 = 1024;

/// The shared memory of a block.
#[derive(Clone, Copy)]
pub struct Shared<const N: usize> {
    /// The state of each slot.
    pub states: SharedArray<u8>,
    positions: SharedArray<u32>,
    /// For sums before each thread.
    pub scan: BlockScan<u32>,
    /// For sums over the block.
    pub sums: BlockReduce<u64>,
    /// For the least and the greatest key of the block.
    pub bounds: BlockReduce<u32>,
    /// The verdict on the whole square, and the nodes that hold it.
    pub what: SharedArray<u32>,
}

impl<const N: usize> Shared<N> {
    /// Takes the memory.
    #[inline(always)]
    pub const fn new(carver: &mut Carver) -> Self {
        Self {
            states: carver.array(SLOTS),
            positions: carver.array(SLOTS * N as u32),
            scan: BlockScan::new(carver),
            sums: BlockReduce::new(carver, BLOCK),
            bounds: BlockReduce::new(carver, BLOCK),
            what: carver.array(1 + N as u32),
        }
    }

    /// Sets a slot.
    ///
    /// # Safety
    /// The slot is the thread's.
    #[inline(always)]
    unsafe fn put(&self, slot: u32, state: u32, positions: [u32; N]) {
        // SAFETY: passed on to the caller.
        unsafe {
            self.states.store(slot, state as u8);
            let mut i = 0;
            while i < N {
                self.positions.store(slot + i as u32 * SLOTS, positions[i]);
                i += 1;
            }
        }
    }

    /// The nodes that hold a slot's quadrant.
    ///
    /// # Safety
    /// Nobody writes the slot meanwhile.
    #[inline(always)]
    pub unsafe fn positions(&self, slot: u32) -> [u32; N] {
        let mut positions = [0; N];
        let mut i = 0;
        while i < N {
            // SAFETY: passed on to the caller.
            positions[i] = unsafe { self.positions.load(slot + i as u32 * SLOTS) };
            i += 1;
        }
        positions
    }
}

/// The state of a slot where a quadrant of this level of the square ended.
#[inline(always)]
fn ended(what: u32, level: u32) -> u32 {
    what | level << 2
}

/// Judges the square's quadrants level by level, down to 2 x 2 cells. The square, or the root if the raster is smaller,
/// is open.
///
/// # Safety
/// Every thread of the block comes here.
#[inline(always)]
pub unsafe fn in_square<const N: usize>(
    search: &ConditionSearch<'_, N>,
    (column, row): (u32, u32),
    positions: [u32; N],
    shared: &Shared<N>,
) {
    let bits = search.ground.bits;
    let (root, above) = if bits < LEVELS { (LEVELS - bits, 0) } else { (0, bits - LEVELS) };
    let thread = thread::thread_idx_x();
    // SAFETY: the whole block is here; a quadrant's slots are one thread's between two barriers.
    unsafe {
        // No thread reads the square before any more.
        thread::sync_threads();
        let mut slot = thread;
        while slot < SLOTS {
            shared.put(slot, NONE, positions);
            slot += BLOCK as u32;
        }
        thread::sync_threads();
        if thread == 0 {
            shared.put(0, OPEN, positions);
        }
        thread::sync_threads();
        // First the children of the open quadrant; then each level is judged before it opens.
        let mut level = root;
        while level < LEVELS - 1 {
            let step = 2 * (LEVELS - 1 - level);
            let mut quadrant = thread;
            while quadrant << step < SLOTS {
                let slot = quadrant << step;
                if shared.states.load(slot) as u32 == OPEN {
                    open_children(
                        search,
                        (column, row),
                        (level, above + level - root),
                        slot,
                        shared,
                    );
                }
                quadrant += BLOCK as u32;
            }
            thread::sync_threads();
            level += 1;
        }
    }
}

/// Judges the children of an open quadrant, which have 2 x 2 cells or more.
///
/// # Safety
/// The quadrant's slots are this thread's.
#[inline(always)]
unsafe fn open_children<const N: usize>(
    search: &ConditionSearch<'_, N>,
    (column, row): (u32, u32),
    (level, tree_level): (u32, u32),
    slot: u32,
    shared: &Shared<N>,
) {
    let (x, y) = morton::decode(slot as u64);
    let place = (column * SIDE + 2 * x, row * SIDE + 2 * y);
    let half = SIDE >> (level + 1);
    let quarter = 1 << (2 * (LEVELS - 2 - level));
    // SAFETY: passed on to the caller.
    unsafe {
        let positions = shared.positions(slot);
        let mut corner = 0;
        while corner < 4 {
            let (children, is_there) = search.child(place, tree_level, positions, corner);
            let child = (place.0 + half * (corner & 1), place.1 + half * (corner >> 1));
            let mut state = NONE;
            if is_there {
                let what = search.judge(child, tree_level + 1, children).what;
                state = if what == OPEN || what == NONE { what } else { ended(what, level + 1) };
            }
            shared.put(slot + corner * quarter, state, children);
            corner = vector::unknown(corner + 1);
        }
    }
}

/// Calls `take` with each quadrant that ended in the thread's four slots; if the slots are open, with their cells.
///
/// # Safety
/// [`in_square`] was called before, and no thread writes slots any more.
#[inline(always)]
pub unsafe fn each_in_slots<const N: usize>(
    search: &ConditionSearch<'_, N>,
    (column, row): (u32, u32),
    shared: &Shared<N>,
    mut take: impl FnMut((u32, u32), u32, Verdict),
) {
    let bits = search.ground.bits;
    let each = SLOTS / BLOCK as u32;
    let mut i = 0;
    while i < each {
        let slot = thread::thread_idx_x() * each + i;
        // SAFETY: passed on to the caller; nobody writes the slots any more.
        unsafe {
            let state = shared.states.load(slot) as u32;
            let (x, y) = morton::decode(slot as u64);
            let place = (column * SIDE + 2 * x, row * SIDE + 2 * y);
            if state != NONE {
                let positions = shared.positions(slot);
                if state == OPEN {
                    let mut corner = 0;
                    while corner < 4 {
                        let (cell, is_there) = search.child(place, bits - 1, positions, corner);
                        let at = (place.0 + (corner & 1), place.1 + (corner >> 1));
                        if is_there {
                            let verdict = search.judge(at, bits, cell);
                            if verdict.what != NONE {
                                take(at, 1, verdict);
                            }
                        }
                        corner = vector::unknown(corner + 1);
                    }
                } else {
                    let side = SIDE >> (state >> 2);
                    let (min, max) = match search.conditions[0].node(positions[0]) {
                        Some(node) => (node.min, node.max),
                        None => (0, 0),
                    };
                    take(place, side, Verdict { what: state & 3, min, max });
                }
            }
        }
        i = vector::unknown(i + 1);
    }
}
