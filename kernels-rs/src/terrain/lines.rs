//! Joins the pieces of contour lines to whole lines.
//!
//! A piece goes from one side of a square to another with the high ground on its right. So on each level at most one
//! piece leaves a side, and at most one enters it. Lines are therefore chains. An open line begins at a side that no
//! piece enters, at the border or beside NODATA; the other lines are rings.
//!
//! 1. [`link_pieces`](const@link_pieces): each piece finds the piece after it, in the square beyond the side at which
//!    it leaves, and writes itself as that piece's predecessor.
//! 2. [`start_heads`](const@start_heads) and [`mod@jump`] by [`Heads`]: pointer jumping (Wyllie 1979). In each round a
//!    piece takes over the pointer of the piece that it points to, so pointers reach twice as far as before. In the end
//!    a piece of an open line points beyond its line's first piece. A piece of a ring has seen the ring's lowest piece,
//!    which becomes the first.
//! 3. [`start_ranks`](const@start_ranks) and [`mod@jump`] by [`Ranks`]: the same once more, from the first piece on.
//!    Now each piece knows its line's first piece and how many pieces are between.
//! 4. [`key_lines`](const@key_lines): the first pieces' keys, which give the order of the lines when sorted.
//!    [`measure_lines`](const@measure_lines): the lines' numbers of points, which a scan turns into places.
//! 5. [`place_lines`](const@place_lines) and [`write_points`](const@write_points): each piece writes its point at its
//!    place.
//!
//! After a round of jumping that changed nothing, further rounds do nothing.

use device_std::{In, Out, kernel, thread};

use super::BLOCK;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::squares::{CellPlaces, Piece, crossing};

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
#[inline(always)]
fn piece_at(pieces: In<u64>, i: usize) -> Piece {
    Piece::from_words([pieces.get(2 * i), pieces.get(2 * i + 1)])
}

#[inline(always)]
fn pair(pointer: u32, number: u32) -> u64 {
    (pointer as u64) << 32 | number as u64
}

#[inline(always)]
fn parts(pair: u64) -> (u32, u32) {
    ((pair >> 32) as u32, pair as u32)
}

/// The piece that continues `piece`, among the pieces `first..end` of a square, which are in the order of their levels;
/// [`NONE`] if there is none.
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

/// Writes the piece after each piece, or [`NONE`], and the piece before it, if there is one.
///
/// Grid: one thread a piece.
///
/// # Safety
/// `pieces` has two elements for each of `count` pieces. `places` has the first piece of each of the `squares`, columns
/// times rows, and one element more. `next` and `previous` have one for each piece.
#[kernel(block = BLOCK)]
pub unsafe fn link_pieces(
    pieces: In<'_, u64>,
    count: u32,
    places: In<'_, u64>,
    squares: [u32; 2],
    next: Out<'_, u32>,
    previous: Out<'_, u32>,
) {
    let Some(i) = own(count) else { return };
    let piece = piece_at(pieces, i);
    let mut found = NONE;
    if let Some([column, row]) = piece.square_beyond(squares) {
        let square = row as usize * squares[0] as usize + column as usize;
        let (first, end) = (places.get(square) as usize, places.get(square + 1) as usize);
        found = continuation(piece, first, end, |i| piece_at(pieces, i));
    }
    next.set(i, found);
    if found != NONE {
        previous.set(found, i as u32);
    }
}

/// Begins the search for the lines' first pieces: each piece points to the one before it, and has seen itself.
///
/// Grid: one thread a piece.
///
/// # Safety
/// `previous` and `heads` have `count` elements.
#[kernel(block = BLOCK)]
pub unsafe fn start_heads(previous: In<'_, u32>, count: u32, heads: Out<'_, u64>) {
    let Some(i) = own(count) else { return };
    heads.set(i, pair(previous.get(i), i as u32));
}

/// Begins the count from the lines' first pieces.
///
/// Grid: one thread a piece.
///
/// # Safety
/// `previous`, `heads` and `ranks` have `count` elements.
#[kernel(block = BLOCK)]
pub unsafe fn start_ranks(
    previous: In<'_, u32>,
    heads: In<'_, u64>,
    count: u32,
    ranks: Out<'_, u64>,
) {
    let Some(i) = own(count) else { return };
    let (pointer, lowest) = parts(heads.get(i));
    let before = previous.get(i);
    let is_first = before == NONE || (pointer != NONE && lowest == i as u32);
    ranks.set(i, if is_first { pair(i as u32, 0) } else { pair(before, 1) });
}

/// Whether a round of jumping has nothing to do, since the round before changed nothing.
#[inline(always)]
fn is_done(changes: Out<u32>, round: u32) -> bool {
    round > 0 && changes.get(round as usize - 1) == 0
}

/// The work of a round of pointer jumping for a piece.
pub trait Jumping {
    /// The value that the round writes for a piece with this pointer and number; calls `note` if that changes anything.
    /// `from` has an element for each piece, and pointers are pieces.
    fn jumped(from: In<u64>, pointer: u32, number: u32, note: impl FnOnce()) -> u64;
}

/// The search for the lines' first pieces: pointers, and the lowest piece seen.
pub struct Heads;

impl Jumping for Heads {
    #[inline(always)]
    fn jumped(from: In<u64>, pointer: u32, lowest: u32, note: impl FnOnce()) -> u64 {
        let mut new = pair(pointer, lowest);
        if pointer != NONE {
            let (beyond, other) = parts(from.get(pointer));
            new = pair(beyond, u32::min(lowest, other));
            // Pointers in a ring never end.
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
    fn jumped(from: In<u64>, pointer: u32, rank: u32, note: impl FnOnce()) -> u64 {
        let (beyond, more) = parts(from.get(pointer));
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
    from: In<'_, u64>,
    to: Out<'_, u64>,
    count: u32,
    round: u32,
    changes: Out<'_, u32>,
) {
    if is_done(changes, round) {
        return;
    }
    let Some(i) = own(count) else { return };
    let (pointer, number) = parts(from.get(i));
    to.set(i, J::jumped(from, pointer, number, || changes.set(round, 1)));
}

/// Writes a key for the first piece of each line: the level, then open lines before rings, then the piece. Other pieces
/// get [`NO_KEY`]. The last piece of a line writes the line's number of pieces to the first piece's element.
///
/// Grid: one thread a piece.
///
/// # Safety
/// `pieces` has two elements for each of `count` pieces, and the others have one; levels are below 2^31.
#[kernel(block = BLOCK)]
pub unsafe fn key_lines(
    pieces: In<'_, u64>,
    next: In<'_, u32>,
    previous: In<'_, u32>,
    ranks: In<'_, u64>,
    count: u32,
    keys: Out<'_, u64>,
    lengths: Out<'_, u32>,
) {
    let Some(i) = own(count) else { return };
    let (first, rank) = parts(ranks.get(i));
    let mut key = NO_KEY;
    if first == i as u32 {
        let is_ring = previous.get(i) != NONE;
        let level = piece_at(pieces, i).level as u64;
        key = level << 33 | (is_ring as u64) << 32 | first as u64;
    }
    keys.set(i, key);
    let after = next.get(i);
    if after == NONE || after == first {
        lengths.set(first, rank + 1);
    }
}

/// Writes the number of each line's points: one more than its pieces.
///
/// Grid: one thread a line.
///
/// # Safety
/// `keys`, whose low bits are pieces, and `points` have `lines` elements; `lengths` has one for each piece.
#[kernel(block = BLOCK)]
pub unsafe fn measure_lines(
    keys: In<'_, u64>,
    lengths: In<'_, u32>,
    lines: u32,
    points: Out<'_, u64>,
) {
    let Some(line) = own(lines) else { return };
    let first = keys.get(line) as u32;
    points.set(line, lengths.get(first) as u64 + 1);
}

/// Writes where each line's points begin to its first piece's element.
///
/// Grid: one thread a line.
///
/// # Safety
/// `keys`, whose low bits are pieces, and `starts` have `lines` elements; `starts_of` has one for each piece.
#[kernel(block = BLOCK)]
pub unsafe fn place_lines(
    keys: In<'_, u64>,
    starts: In<'_, u64>,
    lines: u32,
    starts_of: Out<'_, u64>,
) {
    let Some(line) = own(lines) else { return };
    let first = keys.get(line) as u32;
    starts_of.set(first, starts.get(line));
}

/// Writes x and y of the point at which each piece begins; for a line's last piece, also of the point at which it ends.
///
/// Grid: one thread a piece.
///
/// # Safety
/// As for [`key_lines`](const@key_lines); `dem` has `width` columns and the pieces' cells, `levels` the
/// pieces' levels, `starts_of` an element for each piece, `points` two for each point.
#[kernel(block = BLOCK)]
pub unsafe fn write_points(
    pieces: In<'_, u64>,
    next: In<'_, u32>,
    ranks: In<'_, u64>,
    count: u32,
    starts_of: In<'_, u64>,
    dem: In<'_, f32>,
    width: u32,
    levels: In<'_, f64>,
    ground: CellPlaces,
    points: Out<'_, f64>,
) {
    let Some(i) = own(count) else { return };
    let piece = piece_at(pieces, i);
    let (first, rank) = parts(ranks.get(i));
    let own = points.from(2 * (starts_of.get(first) as usize + rank as usize));
    let level = levels.get(piece.level);
    let height = |column: u32, row: u32| dem.get(row as usize * width as usize + column as usize);
    let [px, py] = crossing(piece.square, piece.from, level, ground, height);
    own.set(0, px);
    own.set(1, py);
    let after = next.get(i);
    if after == NONE || after == first {
        let [px, py] = crossing(piece.square, piece.to, level, ground, height);
        own.set(2, px);
        own.set(3, py);
    }
}
