//! How many points the nodes of the [`Pyramid`] above the cells hold.

use device_std::shared::{Carver, SharedArray};
use device_std::{atomic, kernel, thread};

use super::BLOCK;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::crowds::LIST_HEAD;
use crate::idw::crowd::MOST_EVEN;
use crate::idw::plan::Plan;
use crate::spatial::cells::Cells;
use crate::spatial::pyramid::Pyramid;

/// Nodes of a level along a side of those that a block sums of the lowest level.
const SIDE: u32 = 16;

/// Blocks of [`sum_cells`](mod@sum_cells) at most: those that large devices have at once, about.
pub const MOST_BLOCKS: u32 = 1024;

/// The sums of a block: of level 1, then of level 2.
#[inline(always)]
const fn room(carver: &mut Carver) -> [SharedArray<u32>; 2] {
    [carver.array(SIDE * SIDE), carver.array(SIDE)]
}

/// Bytes of them.
const ROOM_BYTES: u32 = {
    let mut carver = Carver::new();
    let _ = room(&mut carver);
    carver.bytes()
};

/// Writes how many points the nodes of levels 1 to 3 hold, and lists the crowded cells, in any order. Grid: at most [`MOST_BLOCKS`], each of which takes nodes of
/// level 3 in turns.
///
/// # Safety
/// `starts` are those of the plan's cells, with one more; `sums` has room for the pyramid above them, and `crowds`
/// for all crowded cells behind [`LIST_HEAD`] zeros.
#[kernel(block = BLOCK, shared = ROOM_BYTES)]
pub unsafe fn sum_cells(plan: *const Plan, starts: *const u32, sums: *mut u32, crowds: *mut u32) {
    let [lowest, middle] = room(&mut Carver::new());
    let me = thread::thread_idx_x();
    let (across, along) = (me % SIDE, me / SIDE);
    // SAFETY: nodes are in the pyramid, cells in the grid; the block stays together, and barriers stand between writes
    // and reads of others.
    unsafe {
        let cells = (*plan).cells();
        let pyramid = Pyramid::over(&cells);
        let put = |level: u32, column: u32, row: u32, sum: u32| {
            let columns = pyramid.columns(level);
            if column < columns && row < pyramid.rows(level) {
                *sums.add((pyramid.start(level) + row * columns + column) as usize) = sum;
            }
        };
        let across_top = pyramid.columns(3);
        let mut node = thread::block_idx_x();
        while node < pyramid.nodes(3) {
            let (column, row) = (node % across_top, node / across_top);
            let (first, end) =
                (column * 64 + across * 4, u32::min(row * 64 + along * 4 + 4, cells.rows));
            let mut sum = 0;
            let mut of_cells = row * 64 + along * 4;
            while of_cells < end && first < cells.columns {
                let start = of_cells as usize * cells.columns as usize;
                let last = u32::min(first + 4, cells.columns) as usize;
                sum += *starts.add(start + last) - *starts.add(start + first as usize);
                of_cells += 1;
            }
            if sum > MOST_EVEN {
                list_crowds(&cells, starts, [first, row * 64 + along * 4], crowds);
            }
            put(1, column * 16 + across, row * 16 + along, sum);
            lowest.store(me, sum);
            thread::sync_threads();
            if me < SIDE {
                let (across, along) = (me % 4, me / 4);
                let (mut sum, mut i) = (0, 0);
                while i < 16 {
                    sum += lowest.load((along * 4 + i / 4) * SIDE + across * 4 + i % 4);
                    i += 1;
                }
                put(2, column * 4 + across, row * 4 + along, sum);
                middle.store(me, sum);
            }
            thread::sync_threads();
            if me == 0 {
                let (mut sum, mut i) = (0, 0);
                while i < SIDE {
                    sum += middle.load(i);
                    i += 1;
                }
                put(3, column, row, sum);
            }
            node += thread::grid_dim_x();
        }
    }
}

/// Lists the crowded ones of the cells of a node, from a column and a row on.
///
/// # Safety
/// As for [`sum_cells`](mod@sum_cells).
#[inline(always)]
unsafe fn list_crowds(
    cells: &Cells,
    starts: *const u32,
    [column, row]: [u32; 2],
    crowds: *mut u32,
) {
    let mut i = 0;
    while i < 16 {
        let (column, row) = (column + i % 4, row + i / 4);
        if column < cells.columns && row < cells.rows {
            let cell = row as usize * cells.columns as usize + column as usize;
            // SAFETY: the cell is in the grid; the rest is passed on to the caller.
            unsafe {
                if *starts.add(cell + 1) - *starts.add(cell) > MOST_EVEN {
                    let slot = LIST_HEAD + atomic::add_u32(crowds, 1);
                    *crowds.add(slot as usize) = cell as u32;
                }
            }
        }
        i += 1;
    }
}

/// Writes how many points the nodes of the levels above those hold. Grid: one block.
///
/// # Safety
/// As for [`sum_cells`](mod@sum_cells), which has come before.
#[kernel(block = BLOCK)]
pub unsafe fn sum_nodes(plan: *const Plan, sums: *mut u32) {
    // SAFETY: nodes are in the pyramid; a barrier stands between the levels.
    unsafe {
        let pyramid = Pyramid::over(&(*plan).cells());
        let mut level = 4;
        while level <= pyramid.top() {
            let (columns, rows) = (pyramid.columns(level - 1), pyramid.rows(level - 1));
            let (from, to) = (pyramid.start(level - 1), pyramid.start(level));
            let mut node = thread::thread_idx_x();
            while node < pyramid.nodes(level) {
                let across = pyramid.columns(level);
                let (column, row) = (node % across * 4, node / across * 4);
                let (mut sum, mut i) = (0, 0);
                while i < 16 {
                    let (column, row) = (column + i % 4, row + i / 4);
                    if column < columns && row < rows {
                        sum += *sums.add((from + row * columns + column) as usize);
                    }
                    i += 1;
                }
                *sums.add((to + node) as usize) = sum;
                node += BLOCK;
            }
            thread::sync_threads();
            level += 1;
        }
    }
}
