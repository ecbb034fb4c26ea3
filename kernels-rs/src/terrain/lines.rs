//! From the pieces of contour lines to whole lines.
//!
//! A piece goes from one side of a square to another with the high ground on its right. So in each level
//! every side is left by one piece at most and entered by one at most, and lines are chains: those that
//! begin at a side which no piece enters (at the border, or beside NODATA), and rings.
//!
//! 1. [`link_pieces`](const@link_pieces): each finds the piece after it, in the square beyond the side at
//!    which it leaves, and tells it.
//! 2. [`start_heads`](const@start_heads) and [`mod@jump`] by [`Heads`]: pointer jumping (Wyllie 1979). In each
//!    round a piece looks at where it points to and takes over that one's pointer, so that pointers reach
//!    twice as far as before. In the end a piece of an open line points beyond its line's first, and one of
//!    a ring has seen the lowest of the ring, which becomes its first.
//! 3. [`start_ranks`](const@start_ranks) and [`mod@jump`] by [`Ranks`]: the same once more, from the first on:
//!    now each piece knows its line's first piece and how many are between.
//! 4. [`key_lines`](const@key_lines): the first pieces' keys, which sorted give the order of the lines; and
//!    [`measure_lines`](const@measure_lines), their numbers of points, of which a scan makes places.
//! 5. [`place_lines`](const@place_lines) and [`write_points`](const@write_points): each piece writes its
//!    point at its place.
//!
//! A round of jumping does nothing after one that changed nothing.

use device_std::{kernel, thread};

use super::BLOCK;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::squares::{Ground, Piece, crossing};

/// No piece.
pub const NONE: u32 = u32::MAX;

/// The key of a piece that is not the first of its line.
pub const NO_KEY: u64 = u64::MAX;

/// The piece of this thread, if it has one.
#[inline(always)]
fn own(count: u32) -> Option<usize> {
    let index = thread::index_1d();
    (index < count as u64).then_some(index as usize)
}

/// A piece from memory.
///
/// # Safety
/// There is a piece `i`.
#[inline(always)]
unsafe fn piece_at(pieces: *const u64, i: usize) -> Piece {
    // SAFETY: passed on to the caller.
    unsafe { Piece::from_words([*pieces.add(2 * i), *pieces.add(2 * i + 1)]) }
}

#[inline(always)]
fn pair(pointer: u32, number: u32) -> u64 {
    (pointer as u64) << 32 | number as u64
}

#[inline(always)]
fn parts(pair: u64) -> (u32, u32) {
    ((pair >> 32) as u32, pair as u32)
}

/// Of the pieces `first..end` of a square, which are in the order of their levels, the one that continues
/// a piece; [`NONE`] where there is none.
#[inline(always)]
pub fn continuation(piece: Piece, first: usize, end: usize, at: impl Fn(usize) -> Piece) -> u32 {
    let (mut low, mut high) = (first, end);
    while low < high {
        let middle = low + (high - low) / 2;
        if at(middle).level < piece.level {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    // A level has two pieces in a square at most.
    let mut found = NONE;
    let mut i = low;
    while i < end && i < low + 2 {
        if piece.is_continued_by(at(i)) {
            found = i as u32;
        }
        i += 1;
    }
    found
}

/// Writes the piece after each piece, or [`NONE`], and the piece before it, where there is one.
///
/// Grid: one thread a piece.
///
/// # Safety
/// `pieces` has two elements for each of `count` pieces, `places` one for each of `columns * rows` squares
/// and one more: the first of its pieces. `next` and `previous` have one for each piece.
#[kernel(block = BLOCK)]
pub unsafe fn link_pieces(
    pieces: *const u64,
    count: u32,
    places: *const u64,
    columns: u32,
    rows: u32,
    next: *mut u32,
    previous: *mut u32,
) {
    let Some(i) = own(count) else { return };
    // SAFETY: the piece and the square exist.
    unsafe {
        let piece = piece_at(pieces, i);
        let mut found = NONE;
        if let Some([column, row]) = piece.square_beyond([columns, rows]) {
            let square = row as usize * columns as usize + column as usize;
            let (first, end) = (*places.add(square) as usize, *places.add(square + 1) as usize);
            found = continuation(piece, first, end, |i| piece_at(pieces, i));
        }
        *next.add(i) = found;
        if found != NONE {
            *previous.add(found as usize) = i as u32;
        }
    }
}

/// Begins the search for the lines' first pieces: each points to the one before it, and has seen
/// itself.
///
/// Grid: one thread a piece.
///
/// # Safety
/// `previous` and `heads` have `count` elements.
#[kernel(block = BLOCK)]
pub unsafe fn start_heads(previous: *const u32, count: u32, heads: *mut u64) {
    let Some(i) = own(count) else { return };
    // SAFETY: guarded by `count`.
    unsafe { *heads.add(i) = pair(*previous.add(i), i as u32) };
}

/// Begins the count from the lines' first pieces.
///
/// Grid: one thread a piece.
///
/// # Safety
/// `previous`, `heads` and `ranks` have `count` elements.
#[kernel(block = BLOCK)]
pub unsafe fn start_ranks(previous: *const u32, heads: *const u64, count: u32, ranks: *mut u64) {
    let Some(i) = own(count) else { return };
    // SAFETY: guarded by `count`.
    unsafe {
        let (pointer, lowest) = parts(*heads.add(i));
        let before = *previous.add(i);
        let is_first = before == NONE || (pointer != NONE && lowest == i as u32);
        *ranks.add(i) = if is_first { pair(i as u32, 0) } else { pair(before, 1) };
    }
}

/// Whether a round of jumping has anything to do; it is called in the one before.
///
/// # Safety
/// `changes` has an element for each round up to this.
#[inline(always)]
unsafe fn is_done(changes: *const u32, round: u32) -> bool {
    // SAFETY: passed on to the caller.
    round > 0 && unsafe { *changes.add(round as usize - 1) } == 0
}

/// What a round of pointer jumping does for a piece.
pub trait Jumping {
    /// What the round writes for a piece with this pointer and number; `note` is called if that changes
    /// anything.
    ///
    /// # Safety
    /// `from` has an element for each piece, and pointers are pieces.
    unsafe fn jumped(from: *const u64, pointer: u32, number: u32, note: impl FnOnce()) -> u64;
}

/// The search for the lines' first pieces: pointers, and the lowest piece seen.
pub struct Heads;

impl Jumping for Heads {
    #[inline(always)]
    unsafe fn jumped(from: *const u64, pointer: u32, lowest: u32, note: impl FnOnce()) -> u64 {
        let mut new = pair(pointer, lowest);
        if pointer != NONE {
            // SAFETY: the pointer is a piece.
            let (beyond, other) = parts(unsafe { *from.add(pointer as usize) });
            new = pair(beyond, u32::min(lowest, other));
            // Pointers in a ring go round for ever.
            if beyond == NONE || other < lowest {
                note();
            }
        }
        new
    }
}

/// The count: pointers, and the number of pieces up to where they point.
pub struct Ranks;

impl Jumping for Ranks {
    #[inline(always)]
    unsafe fn jumped(from: *const u64, pointer: u32, rank: u32, note: impl FnOnce()) -> u64 {
        // SAFETY: the pointer is a piece.
        let (beyond, more) = parts(unsafe { *from.add(pointer as usize) });
        if beyond != pointer {
            note();
        }
        pair(beyond, rank + more)
    }
}

/// A round of pointer jumping.
///
/// Grid: one thread a piece.
///
/// # Safety
/// `from` and `to` have `count` elements; `changes` has one for each round, of zeros at first. After a
/// round that changed nothing `from` and `to` are the same.
#[kernel(block = BLOCK, instances(heads: <Heads>; ranks: <Ranks>))]
pub unsafe fn jump<J: Jumping>(
    from: *const u64,
    to: *mut u64,
    count: u32,
    round: u32,
    changes: *mut u32,
) {
    // SAFETY: passed on to the caller; pointers are pieces.
    unsafe {
        if is_done(changes, round) {
            return;
        }
        let Some(i) = own(count) else { return };
        let (pointer, number) = parts(*from.add(i));
        *to.add(i) = J::jumped(from, pointer, number, || *changes.add(round as usize) = 1);
    }
}

/// Writes for the first piece of each line a key: the level, then open lines before rings, then the
/// piece; for the others [`NO_KEY`]. And for the last piece how many the line has, in the place of the
/// first.
///
/// Grid: one thread a piece.
///
/// # Safety
/// `pieces` has two elements for each of `count` pieces, the others one; levels are below 2^31.
#[kernel(block = BLOCK)]
pub unsafe fn key_lines(
    pieces: *const u64,
    next: *const u32,
    previous: *const u32,
    ranks: *const u64,
    count: u32,
    keys: *mut u64,
    lengths: *mut u32,
) {
    let Some(i) = own(count) else { return };
    // SAFETY: guarded by `count`; first pieces are pieces.
    unsafe {
        let (first, rank) = parts(*ranks.add(i));
        let mut key = NO_KEY;
        if first == i as u32 {
            let is_ring = *previous.add(i) != NONE;
            let level = piece_at(pieces, i).level as u64;
            key = level << 33 | (is_ring as u64) << 32 | first as u64;
        }
        *keys.add(i) = key;
        let after = *next.add(i);
        if after == NONE || after == first {
            *lengths.add(first as usize) = rank + 1;
        }
    }
}

/// Writes the number of each line's points: one more than its pieces.
///
/// Grid: one thread a line.
///
/// # Safety
/// `keys` and `points` have `lines` elements, `lengths` one for each piece.
#[kernel(block = BLOCK)]
pub unsafe fn measure_lines(keys: *const u64, lengths: *const u32, lines: u32, points: *mut u64) {
    let Some(line) = own(lines) else { return };
    // SAFETY: guarded by `lines`; keys end with a piece.
    unsafe {
        let first = *keys.add(line) as u32;
        *points.add(line) = *lengths.add(first as usize) as u64 + 1;
    }
}

/// Writes where each line's points begin to the place of its first piece.
///
/// Grid: one thread a line.
///
/// # Safety
/// `keys` and `starts` have `lines` elements, `starts_of` one for each piece.
#[kernel(block = BLOCK)]
pub unsafe fn place_lines(keys: *const u64, starts: *const u64, lines: u32, starts_of: *mut u64) {
    let Some(line) = own(lines) else { return };
    // SAFETY: guarded by `lines`; keys end with a piece.
    unsafe {
        let first = *keys.add(line) as u32;
        *starts_of.add(first as usize) = *starts.add(line);
    }
}

/// Writes the point at which each piece begins, and where it is its line's last also the one at which it
/// ends; x and y.
///
/// Grid: one thread a piece.
///
/// # Safety
/// As for [`key_lines`](const@key_lines); `dem` has `width` columns and the pieces' cells, `levels` the
/// pieces' levels, `starts_of` an element for each piece, `points` two for each point.
#[kernel(block = BLOCK)]
pub unsafe fn write_points(
    pieces: *const u64,
    next: *const u32,
    ranks: *const u64,
    count: u32,
    starts_of: *const u64,
    dem: *const f32,
    width: u32,
    levels: *const f64,
    x: f64,
    y: f64,
    cell_size: f64,
    points: *mut f64,
) {
    let Some(i) = own(count) else { return };
    let ground = Ground { x, y, cell_size };
    // SAFETY: guarded by `count`; the piece's square is in the raster.
    unsafe {
        let piece = piece_at(pieces, i);
        let (first, rank) = parts(*ranks.add(i));
        let at = points.add(2 * (*starts_of.add(first as usize) as usize + rank as usize));
        let level = *levels.add(piece.level as usize);
        let height =
            |column: u32, row: u32| *dem.add(row as usize * width as usize + column as usize);
        let [px, py] = crossing(piece.square, piece.from, level, ground, height);
        *at = px;
        *at.add(1) = py;
        let after = *next.add(i);
        if after == NONE || after == first {
            let [px, py] = crossing(piece.square, piece.to, level, ground, height);
            *at.add(2) = px;
            *at.add(3) = py;
        }
    }
}
