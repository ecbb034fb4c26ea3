//! Building trees: crate `ccq-tree`.
//!
//! A square has 64 x 64 elements in 64 [patches](super::patch) of 8 x 8. The plan:
//!
//! 1. [`reduce`](mod@reduce) the cells: a warp has a square, a lane two patches, of which it reads rows of eight cells at once and
//!    keeps the least and the greatest key. Those it looks up among the bins, so a patch costs two searches. By
//!    shuffles the patches make the square: its element of the tier above, and which quadrants are nodes. The few
//!    patches that are divided are read again, by half a warp each, a lane a quadrant of 2 x 2, and their nodes counted.
//! 2. [`reduce_squares`](const@reduce_squares) each tier above, where nearly all is divided: a block has a square, half a warp a patch.
//! 3. A scan of the counts, by gpu-scan.
//! 4. [`write`](mod@write) and [`write_squares`](const@write_squares), for each tier: the nodes of squares that are divided. What step 1 found in a
//!    square's patches it has kept, so that again only the divided ones are read.
//!
//! A square of cells keeps 12 bytes and its counts, 24, and if it is divided 768 for its patches.

use device_std::shared::{Carver, SharedArray};
use device_std::{kernel, search, thread, vector, warp};

use super::patch::{self, Patch, Tally};
use super::plan::Tier;
use super::source::{Cells, PATCH, Seen, Squares};
use super::square::Square;
use super::summary::{Binning, MIXED, Summary};
use super::value::Value;
use super::writer::Writer;
use super::{LEVELS, SIDE};
use crate::spatial::morton;

/// Threads of a block.
pub const BLOCK: usize = 256;

/// Squares of cells of a block.
pub const SQUARES: u32 = BLOCK as u32 / warp::SIZE;

/// Patches of a square.
const PATCHES: u32 = 64;

/// Words that are kept of a square's patches: least keys, greatest keys, tallies.
pub const PATCH_WORDS: u32 = 3 * PATCHES;

/// The most steps between bins.
pub const MAX_STEPS: u32 = 255;

/// Steps that a launch of [`put_steps`](const@put_steps) sets.
pub const STEPS: usize = 16;

/// Sets steps between bins, which come as arguments: a call that works on the device copies nothing from the host. Grid:
/// one block.
///
/// # Safety
/// `out` has `STEPS` elements from `first` on.
#[kernel(block = 32)]
pub unsafe fn put_steps(out: *mut u32, first: u32, steps: [u32; STEPS]) {
    if thread::thread_idx_x() == 0 {
        let mut i = 0;
        while i < STEPS {
            // SAFETY: passed on to the caller.
            unsafe { *out.add(first as usize + i) = steps[i] };
            i += 1;
        }
    }
}

/// The most levels of a tree.
pub const MAX_LEVELS: usize = 31;

/// Where the levels of each tree begin, by the slots of their first squares in a tree's counts; after the last tree the
/// number of all nodes. Grid: a thread for each tree.
///
/// # Safety
/// `starts` has `end` elements and one more, and `stride` for each of `trees`; `out` has `trees * levels + 1`.
#[kernel(block = BLOCK)]
pub unsafe fn find_levels(
    starts: *const u32,
    end: u64,
    stride: u32,
    slots: [u32; MAX_LEVELS],
    levels: u32,
    trees: u32,
    out: *mut u32,
) {
    let tree = thread::index_1d();
    if tree >= trees as u64 {
        return;
    }
    // SAFETY: passed on to the caller.
    unsafe {
        let mut i = 0;
        while i < MAX_LEVELS {
            if (i as u32) < levels {
                let slot = tree * stride as u64 + slots[i] as u64;
                *out.add((tree * levels as u64) as usize + i) = *starts.add(slot as usize);
            }
            i += 1;
        }
        if tree == 0 {
            *out.add((trees * levels) as usize) = *starts.add(end as usize);
        }
    }
}

/// The column and row of a square of a tier, by its number.
#[inline(always)]
fn square_at(tier: &Tier, index: u32) -> (u32, u32) {
    let columns = tier.grid().0;
    let row = index.checked_div(columns).unwrap_or(0);
    (index - row * columns, row)
}

/// The first element of a patch of a square.
#[inline(always)]
fn patch_at(tier: &Tier, (column, row): (u32, u32), patch: u32) -> (u32, u32) {
    let (x, y) = morton::decode(patch as u64);
    (column * tier.side() + x * PATCH, row * tier.side() + y * PATCH)
}

/// The column and the row before which a square ends.
#[inline(always)]
fn end_of(tier: &Tier, (column, row): (u32, u32)) -> (u32, u32) {
    let end = |at: u32, length: u32| u32::min((at + 1) << tier.side_bits, length);
    (end(column, tier.width), end(row, tier.height))
}

/// A lane's two patches, the northern and the southern.
#[inline(always)]
fn own_patches() -> [u32; 2] {
    [warp::lane_id(), warp::lane_id() + warp::SIZE]
}

/// Takes the next two patches out of a set, one for each half of the warp; gives the half's, and both. A patch that is
/// none is `PATCHES` or more.
#[inline(always)]
fn next_two(rest: &mut u64) -> (u32, [u32; 2]) {
    let first = rest.trailing_zeros();
    *rest &= rest.wrapping_sub(1);
    let second = rest.trailing_zeros();
    *rest &= rest.wrapping_sub(1);
    (if warp::lane_id() < patch::LANES { first } else { second }, [first, second])
}

/// The summary of a lane's patch of cells, with its bins.
///
/// # Safety
/// `input` has the tier's cells, and the steps are there.
#[inline(always)]
unsafe fn reduce_patch<T: Value>(
    tier: &Tier,
    (x, y): (u32, u32),
    end: (u32, u32),
    input: *const T,
    seen: &Seen,
) -> Summary {
    if x >= end.0 || y >= end.1 {
        return Summary::OUTSIDE;
    }
    let from = input.wrapping_add((y as u64 * tier.width as u64 + x as u64) as usize);
    let sides = (u32::min(end.0 - x, PATCH), u32::min(end.1 - y, PATCH));
    // SAFETY: passed on to the caller; the part lies in the tier.
    let raw = unsafe {
        if sides == (PATCH, PATCH) && Cells::<T>::has_aligned_rows(input, tier.width) {
            Cells::<T>::whole_patch(from, tier.width, seen)
        } else {
            Cells::<T>::part_of_patch(from, tier.width, sides, seen)
        }
    };
    // SAFETY: passed on to the caller.
    unsafe { <Cells<T> as super::source::Source<T>>::seen(raw, seen) }
}

/// Keeps what a square is in the tier above, and how many nodes it has. `tallies` are the lane's patches', of those
/// that are divided.
///
/// # Safety
/// The whole warp comes here; the arrays are as [`reduce`](mod@reduce) says.
#[inline(always)]
unsafe fn put_square(
    tier: &Tier,
    index: u32,
    square: &Square,
    tallies: [Tally; 2],
    elements: *mut Summary,
    counts: *mut u32,
) {
    let lane = warp::lane_id();
    // SAFETY: the whole warp is here; a lane has a level.
    unsafe {
        let nodes = |tally: Tally| {
            let (twos, fours) = (tally.twos() as u64, tally.fours().count_ones() as u64);
            tally.elements() as u64 | twos << 16 | fours << 32
        };
        let all = warp::reduce(nodes(tallies[0]) + nodes(tallies[1]), |a, b| a + b);
        if lane == 0 {
            *elements.add(index as usize) = square.whole.of_square(square.quadrants());
        }
        if lane <= LEVELS && lane >= tier.first_level {
            let count = match lane {
                4 => (all >> 32) as u32,
                5 => (all >> 16) as u32 & 0xffff,
                6 => all as u32 & 0xffff,
                _ => square.nodes(lane),
            };
            let slots = tier.place(square_at(tier, index));
            *counts.add(tier.slot(slots, lane) as usize) = count;
        }
    }
}

/// Reduces each square of cells to an element of the tier above, and counts its nodes. Grid: a warp for each square, row
/// by row.
///
/// # Safety
/// `input` has the cells of the tier, `elements` room for one for each square, `patches` for [`PATCH_WORDS`]; `counts`
/// has the slots of the whole plan. `binning` is [`Binning`]'s fields, and `steps` has `2^steps - 1` elements.
#[kernel(block = BLOCK, instances(
    u8: <u8>, resident = 4;
    i16: <i16>, resident = 4;
    u16: <u16>, resident = 4;
    i32: <i32>, resident = 3;
    u32: <u32>, resident = 3;
    f32: <f32>, resident = 3;
))]
pub unsafe fn reduce<T: Value>(
    input: *const T,
    tier: [u32; 10],
    binning: [u32; 4],
    steps: *const u32,
    elements: *mut Summary,
    patches: *mut u32,
    counts: *mut u32,
) {
    let tier = Tier::of_words(tier);
    let index = thread::block_idx_x() * SQUARES + warp::warp_id();
    let (columns, rows) = tier.grid();
    if index >= columns * rows {
        return;
    }
    let place = square_at(&tier, index);
    let seen = Seen { binning: binning_of(binning), steps };
    // SAFETY: passed on to the caller; what the warp's way depends on is the same in all of its lanes.
    unsafe {
        // One after the other by the same code.
        let (mut eights, mut patch) = ([Summary::OUTSIDE; 2], warp::lane_id());
        while patch < PATCHES {
            let at = patch_at(&tier, place, patch);
            eights = [eights[1], reduce_patch(&tier, at, end_of(&tier, place), input, &seen)];
            patch = vector::unknown(patch + warp::SIZE);
        }
        let square = Square::new(&tier, eights);
        let tallies = count_divided(&tier, place, &square, input, &seen);
        if tier.is_top != 0 || square.whole.is_divided() {
            let own = patches.add((index as u64 * PATCH_WORDS as u64) as usize);
            let mut i = 0;
            while i < 2 {
                let at = own.add(own_patches()[i] as usize);
                *at = square.eights[i].min;
                *at.add(PATCHES as usize) = square.eights[i].max;
                *at.add(2 * PATCHES as usize) = tallies[i].flagged(square.eights[i]).0;
                i += 1;
            }
        }
        put_square(&tier, index, &square, tallies, elements, counts);
    }
}

/// The tallies of the lane's patches, of those that are divided: two at a time the warp counts them all.
///
/// # Safety
/// The whole warp comes here; `input` has the tier's cells, and the steps are there.
#[inline(always)]
unsafe fn count_divided<T: Value>(
    tier: &Tier,
    place: (u32, u32),
    square: &Square,
    input: *const T,
    seen: &Seen,
) -> [Tally; 2] {
    let is_aligned = patch::has_aligned_pairs(input, tier.width);
    let (mut tallies, mut rest) = ([Tally(0); 2], square.divided);
    while rest != 0 {
        let (own, both) = next_two(&mut rest);
        let at = (own < PATCHES).then(|| patch_at(tier, place, own));
        // SAFETY: the set is the same in all lanes, so the whole warp is here.
        unsafe {
            let patch =
                Patch::new::<T, Cells<T>>(tier, at, end_of(tier, place), input, is_aligned, seen);
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

#[inline(always)]
fn binning_of([nodata, has_nodata, first_bin, steps]: [u32; 4]) -> Binning {
    Binning { nodata, has_nodata, first_bin, steps }
}

/// A warp's square with its patches' tallies, as they were kept: `word(i)` is the i-th.
///
/// # Safety
/// The whole warp comes here.
#[inline(always)]
unsafe fn kept(tier: &Tier, word: impl Fn(u32) -> u32) -> (Square, [Tally; 2]) {
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
struct Places {
    /// Where those of each level begin.
    start: [u32; LEVELS as usize + 1],
    /// How many nodes of elements, of 2 x 2 and of 4 x 4 come before those of the lane's patches, in one word each.
    before: [u32; 2],
}

impl Places {
    const TWOS: u32 = 12;
    const FOURS: u32 = 22;

    /// # Safety
    /// The whole warp comes here; `starts` has the slots of the whole plan.
    #[inline(always)]
    unsafe fn new(
        tier: &Tier,
        slots: (u32, u32),
        starts: *const u32,
        divided: u64,
        tallies: [Tally; 2],
    ) -> Self {
        let lane = warp::lane_id();
        // SAFETY: passed on to the caller; a lane has a level.
        unsafe {
            let mut own = 0;
            if lane <= LEVELS && lane >= tier.first_level {
                own = *starts.add(tier.slot(slots, lane) as usize);
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
            // What the fields of a sum may carry over goes again with the patch's own: before the last patch
            // each fits its bits.
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

    /// The same of any patch, by the lane that has it.
    ///
    /// # Safety
    /// The whole warp comes here.
    #[inline(always)]
    unsafe fn first_of(&self, patch: u32) -> [u32; 3] {
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

/// Writes the nodes of each square of cells that is divided; in the highest tier of all. Grid: a warp for each square, row
/// by row.
///
/// # Safety
/// As for [`reduce`](mod@reduce), which wrote `elements` and `patches`; `starts` are the scanned counts. `nodes` has room for
/// `room` nodes of cells of type `kind`, `presence` for `presence_room` bytes.
#[kernel(block = BLOCK, instances(
    u8: <u8>, resident = 4;
    i16: <i16>, resident = 4;
    u16: <u16>, resident = 4;
    i32: <i32>, resident = 3;
    u32: <u32>, resident = 3;
    f32: <f32>, resident = 3;
))]
pub unsafe fn write<T: Value>(
    input: *const T,
    tier: [u32; 10],
    binning: [u32; 4],
    steps: *const u32,
    elements: *const Summary,
    patches: *const u32,
    starts: *const u32,
    kind: u32,
    nodes: *mut u8,
    room: u32,
    presence: *mut u8,
    presence_room: u32,
) {
    let tier = Tier::of_words(tier);
    let index = thread::block_idx_x() * SQUARES + warp::warp_id();
    let (columns, rows) = tier.grid();
    if index >= columns * rows {
        return;
    }
    // SAFETY: passed on to the caller; what the warp's way depends on is the same in all of its lanes.
    unsafe {
        if tier.is_top == 0 && !(*elements.add(index as usize)).is_divided() {
            return;
        }
        let place = square_at(&tier, index);
        let seen = Seen { binning: binning_of(binning), steps };
        let own = patches.add((index as u64 * PATCH_WORDS as u64) as usize);
        let (square, tallies) = kept(&tier, |i| *own.add(i as usize));
        let slots = tier.place(place);
        let places = Places::new(&tier, slots, starts, square.divided, tallies);
        let base = *starts.add(slots.0 as usize * tier.tree_stride as usize);
        let writer = Writer { nodes, room, kind, presence, presence_room, base };
        write_square::<T, Cells<T>>(&tier, &writer, &square, &places, tallies);
        let is_aligned = patch::has_aligned_pairs(input, tier.width);
        let mut rest = square.divided;
        while rest != 0 {
            let (own, _) = next_two(&mut rest);
            let at = (own < PATCHES).then(|| patch_at(&tier, place, own));
            let patch = Patch::new::<T, Cells<T>>(
                &tier,
                at,
                end_of(&tier, place),
                input,
                is_aligned,
                &seen,
            );
            let first = places.first_of(own);
            patch.write::<T, Cells<T>>(&tier, &writer, &seen, first, |_, _| 0);
        }
    }
}

/// Writes a square's nodes of 8 x 8 and larger.
///
/// # Safety
/// The whole warp comes here; nobody else writes them.
#[inline(always)]
unsafe fn write_square<E: Copy, S: super::source::Source<E>>(
    tier: &Tier,
    writer: &Writer,
    square: &Square,
    places: &Places,
    tallies: [Tally; 2],
) {
    let [a, b, c, d, ..] = places.start;
    let mut i = 0;
    while i < 2 {
        let fours = places.first(places.before[i])[0];
        // SAFETY: passed on to the caller.
        unsafe { square.write::<E, S>(tier, writer, [a, b, c, d], i, (fours, tallies[i])) };
        i += 1;
    }
}

/// The shared memory of a block that has a square of elements: what it keeps of its patches.
#[derive(Clone, Copy)]
struct Room {
    words: SharedArray<u32>,
}

impl Room {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self { words: carver.array(PATCH_WORDS) }
    }
}

/// The patches of a half of a warp in a block that has a square: from this one on, each `HALVES` after the one before.
#[inline(always)]
fn own_half() -> u32 {
    thread::thread_idx_x() / patch::LANES
}

const HALVES: u32 = BLOCK as u32 / patch::LANES;

/// What is in a block's square of elements.
///
/// # Safety
/// Every thread of the block comes here; `input` has the tier's elements.
#[inline(always)]
unsafe fn square_of_elements(
    tier: &Tier,
    place: (u32, u32),
    input: *const Summary,
    seen: &Seen,
    room: &Room,
) -> (Square, [Tally; 2]) {
    let mut own = own_half();
    // SAFETY: the whole block is here; a barrier stands between writing and reading.
    unsafe {
        while own < PATCHES {
            let (at, end) = (Some(patch_at(tier, place, own)), end_of(tier, place));
            let patch = Patch::new::<Summary, Squares>(tier, at, end, input, false, seen);
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

/// Nothing is binned above the cells.
const NOTHING_SEEN: Seen = Seen {
    binning: Binning { nodata: 0, has_nodata: 0, first_bin: 0, steps: 0 },
    steps: core::ptr::null(),
};

/// [`reduce`](mod@reduce) for a tier of elements. Grid: a block for each square, row by row.
///
/// # Safety
/// As for [`reduce`](mod@reduce).
#[kernel(block = BLOCK, carve = |carver| Room::new(carver))]
pub unsafe fn reduce_squares(
    input: *const Summary,
    tier: [u32; 10],
    elements: *mut Summary,
    counts: *mut u32,
) {
    let room = Room::new(&mut Carver::new());
    let tier = Tier::of_words(tier);
    let index = thread::block_idx_x();
    // SAFETY: passed on to the caller; all threads of the block go the same way.
    unsafe {
        let place = square_at(&tier, index);
        let (square, tallies) = square_of_elements(&tier, place, input, &NOTHING_SEEN, &room);
        if warp::warp_id() == 0 {
            let [north, south] = own_patches();
            let of = |patch: u32, tally: Tally| {
                if square.divided >> patch & 1 != 0 { tally } else { Tally(0) }
            };
            let tallies = [of(north, tallies[0]), of(south, tallies[1])];
            put_square(&tier, index, &square, tallies, elements, counts);
        }
    }
}

/// [`write`](mod@write) for a tier of elements, which are squares of the tier `below`. Grid: a block for each square, row by row.
///
/// # Safety
/// As for [`write`](mod@write).
#[kernel(block = BLOCK, carve = |carver| Room::new(carver))]
pub unsafe fn write_squares(
    input: *const Summary,
    tier: [u32; 10],
    below: [u32; 10],
    elements: *const Summary,
    starts: *const u32,
    kind: u32,
    nodes: *mut u8,
    room: u32,
    presence: *mut u8,
    presence_room: u32,
) {
    let shared = Room::new(&mut Carver::new());
    let (tier, below) = (Tier::of_words(tier), Tier::of_words(below));
    let index = thread::block_idx_x();
    // SAFETY: passed on to the caller; all threads of the block go the same way.
    unsafe {
        if tier.is_top == 0 && !(*elements.add(index as usize)).is_divided() {
            return;
        }
        let place = square_at(&tier, index);
        let (square, tallies) = square_of_elements(&tier, place, input, &NOTHING_SEEN, &shared);
        let slots = tier.place(place);
        let places = Places::new(&tier, slots, starts, square.divided, tallies);
        let base = *starts.add(slots.0 as usize * tier.tree_stride as usize);
        let writer = Writer { nodes, room, kind, presence, presence_room, base };
        if warp::warp_id() == 0 {
            write_square::<Summary, Squares>(&tier, &writer, &square, &places, tallies);
        }
        let mut own = own_half();
        while own < PATCHES {
            let (at, end) = (patch_at(&tier, place, own), end_of(&tier, place));
            let patch =
                Patch::new::<Summary, Squares>(&tier, Some(at), end, input, false, &NOTHING_SEEN);
            let first = places.first_of(own);
            if square.divided >> own & 1 != 0 {
                let child_of = |x: u32, y: u32| {
                    let slots = below.place((at.0 + x, at.1 + y));
                    *starts.add(below.slot(slots, 1) as usize)
                };
                patch.write::<Summary, Squares>(&tier, &writer, &NOTHING_SEEN, first, child_of);
            }
            own = vector::unknown(own + HALVES);
        }
    }
}

/// Words of a level of a tile's tree that moves: its first node among those of all tiles; where that goes, or
/// `u32::MAX` for nowhere; where the nodes below begin in the tile's tree, and in the tree of the whole.
pub const MOVE: usize = 4;

/// Moves the nodes of a forest into one tree, level by level of each tile. `moves` are in the order of the nodes, which
/// are the tiles' one after the other; the first begins at 0. Grid: a thread for each node.
///
/// # Safety
/// There are `len` nodes of `WORDS` words, `presence` has their flags unless `presence_room` is 0, and there are
/// `moves_len` moves, at least one. `out` has room for `room` nodes, `out_presence` for `presence_room` flags.
#[kernel(block = BLOCK, instances(
    two: <2>;
    three: <3>;
))]
pub unsafe fn move_nodes<const WORDS: usize>(
    nodes: *const u32,
    presence: *const u8,
    len: u32,
    moves: *const u32,
    moves_len: u32,
    out: *mut u32,
    room: u32,
    out_presence: *mut u8,
    presence_room: u32,
) {
    let i = thread::index_1d() as u32;
    if i >= len {
        return;
    }
    // SAFETY: passed on to the caller; writes are guarded by the rooms.
    unsafe {
        let word = |of: u64, word: usize| *moves.add(MOVE * of as usize + word);
        let own = search::last(0, moves_len as u64 - 1, |of| word(of, 0) <= i);
        let (first, to, below, to_below) = (word(own, 0), word(own, 1), word(own, 2), word(own, 3));
        let at = to.saturating_add(i - first);
        if at < room {
            let (from, to) = (nodes.add(WORDS * i as usize), out.add(WORDS * at as usize));
            let mut w = 0;
            while w < WORDS - 1 {
                *to.add(w) = *from.add(w);
                w += 1;
            }
            let link = *from.add(WORDS - 1);
            let child = link & !MIXED;
            let moved =
                if child == 0 { 0 } else { child.wrapping_sub(below).wrapping_add(to_below) };
            *to.add(WORDS - 1) = (moved & !MIXED) | (link & MIXED);
        }
        if at < presence_room {
            *out_presence.add(at as usize) = *presence.add(i as usize);
        }
    }
}

const _: () = assert!(SIDE == 8 * PATCH && PATCHES == 2 * warp::SIZE && LEVELS == 6);

device_std::ptx_module! { "ccq_build" }
