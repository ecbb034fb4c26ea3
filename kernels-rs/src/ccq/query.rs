//! Searching trees: crate `ccq-tree`.
//!
//! The raster is cut into squares of 64 x 64 cells, which share nothing. The plan:
//!
//! 1. [`descend`](mod@descend): a thread for each square goes down from the root to it, by the square's own column and row.
//!    What it meets on the way that ends the search, the thread of the square at the north-western corner of it answers
//!    for. Squares where the search goes on are listed, with the nodes that hold them; in which order does not matter.
//! 2. [`search`](mod@search): a block takes one listed square after the other. A slot stands for 2 x 2 cells, in Z-order, and a
//!    quadrant has the slot of its north-western corner. Level by level each open quadrant is judged by one thread,
//!    and opens its children's slots or ends.
//! 3. A thread has four slots that follow each other: it counts what ended there, and judges the cells of those
//!    that are still open. To write, a scan over the block says where.
//!
//! A node is never trusted: a link that leads out of the tree, or a child that is not there, leads nowhere; levels bound
//! the way down, so that no contents of device memory make a search read outside or go on for ever.
//!
//! Conditions are searched together, `N` of them: a quadrant has a node of each tree, its own or a leaf above.

use device_std::block::{BlockReduce, BlockScan};
use device_std::shared::{Carver, SharedArray};
use device_std::{atomic, kernel, thread, vector, warp};

use super::plan::rank;
use super::summary::MIXED;
use super::value::{Kind, Value};
use super::{LEVELS, SIDE};
use crate::spatial::morton;

/// Threads of a block.
pub const BLOCK: usize = 256;

/// Slots of a square.
const SLOTS: u32 = 1024;

/// Words of a condition, as a kernel takes them: see [`Condition`].
pub const WORDS: usize = 16;

/// The most conditions of a search.
pub const MAX_CONDITIONS: usize = 4;

/// Words of a search's conditions; those of the first come first.
pub const ALL_WORDS: usize = WORDS * MAX_CONDITIONS;

/// Words of a listed square where there are so many conditions: its number, row by row, and the nodes that hold it.
pub const fn listed_words(conditions: usize) -> usize {
    conditions + 1
}

/// Words that are written for a quadrant: row, column, size with [`PARTLY`], least key, greatest key.
pub const HIT: usize = 5;

/// The bit of a size that says that only some cells may be in the ranges.
pub const PARTLY: u32 = 1 << 31;

/// What is asked of one tree.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    /// The address of its nodes.
    pub nodes: u64,
    /// The address of the flags that say which children there are; 0 for none.
    pub presence: u64,
    /// The address of the raster, or 0.
    pub raster: u64,
    /// The type of the tree's values.
    pub kind: u32,
    /// How many nodes there are, and how many flags.
    pub nodes_len: u32,
    /// Flags.
    pub presence_len: u32,
    /// The keys that all of a node's are in, if all its values are in the range.
    pub inside: (u32, u32),
    /// The keys that one of a node's is in, if a value may be in the range.
    pub touched: (u32, u32),
    /// The keys of cells of the raster that are in the range.
    pub wanted: (u32, u32),
    /// 1 if a value of the raster stands for NODATA, and its key.
    pub has_nodata: u32,
    /// See above.
    pub nodata: u32,
}

impl Condition {
    /// As a kernel takes it.
    pub const fn words(&self) -> [u32; WORDS] {
        [
            self.nodes as u32,
            (self.nodes >> 32) as u32,
            self.presence as u32,
            (self.presence >> 32) as u32,
            self.raster as u32,
            (self.raster >> 32) as u32,
            self.kind | self.has_nodata << 8,
            self.nodes_len,
            self.presence_len,
            self.inside.0,
            self.inside.1,
            self.touched.0,
            self.touched.1,
            self.wanted.0,
            self.wanted.1,
            self.nodata,
        ]
    }

    /// The i-th of all.
    #[inline(always)]
    const fn of_words(all: [u32; ALL_WORDS], i: usize) -> Self {
        let (mut w, mut word) = ([0; WORDS], 0);
        while word < WORDS {
            w[word] = all[i * WORDS + word];
            word += 1;
        }
        Self {
            nodes: w[0] as u64 | (w[1] as u64) << 32,
            presence: w[2] as u64 | (w[3] as u64) << 32,
            raster: w[4] as u64 | (w[5] as u64) << 32,
            kind: w[6] & 0xff,
            has_nodata: w[6] >> 8,
            nodes_len: w[7],
            presence_len: w[8],
            inside: (w[9], w[10]),
            touched: (w[11], w[12]),
            wanted: (w[13], w[14]),
            nodata: w[15],
        }
    }

    /// The node at a position; `None` beyond the last.
    ///
    /// # Safety
    /// The nodes are there, as many as it says.
    #[inline(always)]
    unsafe fn node(&self, position: u32) -> Option<Node> {
        if position >= self.nodes_len {
            return None;
        }
        // SAFETY: guarded.
        unsafe {
            let i = position as usize;
            Some(if self.kind >= Kind::I32 as u32 {
                let words = (self.nodes as *const u32).add(3 * i);
                let (min, max, link) = (*words, *words.add(1), *words.add(2));
                Node { min: key_of(self.kind, min), max: key_of(self.kind, max), link }
            } else {
                let word = *(self.nodes as *const u64).add(i);
                let bits = if self.kind == Kind::U8 as u32 { 8 } else { 16 };
                let max = word as u32 >> bits;
                let (min, link) = (word as u32, (word >> 32) as u32);
                Node { min: key_of(self.kind, min), max: key_of(self.kind, max), link }
            })
        }
    }

    /// Whether a cell of the raster counts.
    ///
    /// # Safety
    /// The raster is there, and has the cell.
    #[inline(always)]
    unsafe fn wants(&self, cell: u64) -> bool {
        let i = cell as usize;
        // SAFETY: passed on to the caller.
        let bits = unsafe {
            if self.kind >= Kind::I32 as u32 {
                *(self.raster as *const u32).add(i)
            } else if self.kind == Kind::U8 as u32 {
                *(self.raster as *const u8).add(i) as u32
            } else {
                *(self.raster as *const u16).add(i) as u32
            }
        };
        let key = key_of(self.kind, bits);
        let is_number = self.kind != Kind::F32 as u32 || f32::of_bits(bits).is_number();
        let is_missing = self.has_nodata != 0 && key == self.nodata;
        is_number && !is_missing && self.wanted.0 <= key && key <= self.wanted.1
    }
}

/// The key of a value's bits, of which those above its size mean nothing.
#[inline(always)]
fn key_of(kind: u32, bits: u32) -> u32 {
    if kind == Kind::U8 as u32 {
        u8::of_bits(bits).key()
    } else if kind == Kind::I16 as u32 {
        i16::of_bits(bits).key()
    } else if kind == Kind::U16 as u32 {
        u16::of_bits(bits).key()
    } else if kind == Kind::I32 as u32 {
        i32::of_bits(bits).key()
    } else if kind == Kind::U32 as u32 {
        bits
    } else {
        f32::of_bits(bits).key()
    }
}

#[derive(Clone, Copy)]
struct Node {
    min: u32,
    max: u32,
    link: u32,
}

/// A part of the raster: rows and columns from the first on, up to the second.
#[derive(Clone, Copy)]
struct Part {
    column0: u32,
    row0: u32,
    column1: u32,
    row1: u32,
}

impl Part {
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self {
            column0: u32::max(self.column0, other.column0),
            row0: u32::max(self.row0, other.row0),
            column1: u32::min(self.column1, other.column1),
            row1: u32::min(self.row1, other.row1),
        }
    }

    #[inline(always)]
    fn is_empty(self) -> bool {
        self.column0 >= self.column1 || self.row0 >= self.row1
    }

    #[inline(always)]
    fn is_in(self, other: Self) -> bool {
        self.column0 >= other.column0
            && self.row0 >= other.row0
            && self.column1 <= other.column1
            && self.row1 <= other.row1
    }

    #[inline(always)]
    fn cells(self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        (self.column1 - self.column0) as u64 * (self.row1 - self.row0) as u64
    }
}

/// The raster's sides, its levels, and the window.
#[derive(Clone, Copy)]
struct Ground {
    width: u32,
    height: u32,
    bits: u32,
    window: Part,
}

impl Ground {
    /// A quadrant's part of the raster; empty outside.
    #[inline(always)]
    fn part(&self, (column, row): (u32, u32), side: u32) -> Part {
        Part {
            column0: column,
            row0: row,
            column1: u32::min(column + side, self.width),
            row1: u32::min(row + side, self.height),
        }
    }
}

const NONE: u32 = 0;
const HIT_WHOLE: u32 = 1;
const HIT_PARTLY: u32 = 2;
const OPEN: u32 = 3;

/// A verdict on a quadrant, the bounds in the first tree, and which trees have children there.
#[derive(Clone, Copy)]
struct Verdict {
    what: u32,
    min: u32,
    max: u32,
}

/// All conditions, and what they are searched on.
struct Search<const N: usize> {
    conditions: [Condition; N],
    ground: Ground,
}

impl<const N: usize> Search<N> {
    /// Judges a quadrant by the nodes that hold it.
    ///
    /// # Safety
    /// The trees are as their conditions say.
    #[inline(always)]
    unsafe fn judge(&self, place: (u32, u32), level: u32, positions: [u32; N]) -> Verdict {
        let none = Verdict { what: NONE, min: 0, max: 0 };
        let cells = self.ground.part(place, 1 << (self.ground.bits - level));
        if cells.and(self.ground.window).is_empty() {
            return none;
        }
        let (mut all_inside, mut any_open, mut is_out) = (true, false, false);
        let mut bounds = (0, 0);
        let mut i = 0;
        while i < N {
            let condition = &self.conditions[i];
            // SAFETY: passed on to the caller.
            match unsafe { condition.node(positions[i]) } {
                None => is_out = true,
                Some(Node { min, max, link }) => {
                    is_out |= min > condition.touched.1 || max < condition.touched.0;
                    let (low, high) = condition.inside;
                    let within = |key: u32| low <= key && key <= high;
                    all_inside &= within(min) && within(max) && link & MIXED == 0;
                    any_open |= link & !MIXED != 0 && level < self.ground.bits;
                    if i == 0 {
                        bounds = (min, max);
                    }
                }
            }
            i += 1;
        }
        if is_out {
            return none;
        }
        let (min, max) = bounds;
        let what = if any_open && !(all_inside && cells.is_in(self.ground.window)) {
            OPEN
        } else if all_inside {
            HIT_WHOLE
        } else {
            HIT_PARTLY
        };
        Verdict { what, min, max }
    }

    /// The nodes that hold a child of an open quadrant; the second is false where a tree has none there.
    ///
    /// # Safety
    /// As [`judge`](Self::judge).
    #[inline(always)]
    unsafe fn child(
        &self,
        (column, row): (u32, u32),
        level: u32,
        positions: [u32; N],
        corner: u32,
    ) -> ([u32; N], bool) {
        let half = 1u32 << (self.ground.bits - level - 1);
        let east = (column + half < self.ground.width) as u32;
        let south = (row + half < self.ground.height) as u32;
        let in_raster = 1 | east << 1 | south << 2 | (east & south) << 3;
        let (mut children, mut is_there) = (positions, in_raster >> corner & 1 != 0);
        let mut i = 0;
        while i < N {
            let condition = &self.conditions[i];
            // SAFETY: passed on to the caller; flags are compared with their number.
            unsafe {
                let link = match condition.node(positions[i]) {
                    Some(node) => node.link,
                    None => 0,
                };
                let first = link & !MIXED;
                if first != 0 {
                    let mut mask = in_raster;
                    if link & MIXED != 0 {
                        let has_flags =
                            condition.presence != 0 && positions[i] < condition.presence_len;
                        mask &= if has_flags {
                            *(condition.presence as *const u8).add(positions[i] as usize) as u32
                        } else {
                            0
                        };
                    }
                    is_there &= mask >> corner & 1 != 0;
                    let before = mask & ((1 << corner) - 1);
                    // Beyond the last node there is none, as the child's own verdict says.
                    children[i] = first.saturating_add(before.count_ones());
                }
            }
            i += 1;
        }
        (children, is_there)
    }

    /// How many cells of a part are wanted of all rasters that conditions cut bins of; `None` where one is not given.
    ///
    /// # Safety
    /// Rasters are there where their addresses are not 0.
    #[inline(always)]
    unsafe fn wanted_cells(&self, part: Part) -> Option<u64> {
        let mut lacks = false;
        let mut i = 0;
        while i < N {
            lacks |= self.cuts(i) && self.conditions[i].raster == 0;
            i += 1;
        }
        if lacks {
            return None;
        }
        let (mut count, mut row) = (0, part.row0);
        while row < part.row1 {
            let mut column = part.column0;
            while column < part.column1 {
                // SAFETY: passed on to the caller; the part lies in the raster.
                count += unsafe { self.is_wanted((column, row)) } as u64;
                column += 1;
            }
            row += 1;
        }
        Some(count)
    }

    /// Whether a cell is wanted of all rasters that conditions cut bins of.
    ///
    /// # Safety
    /// The cell is in the raster; rasters are there where conditions cut bins.
    #[inline(always)]
    unsafe fn is_wanted(&self, (column, row): (u32, u32)) -> bool {
        let cell = row as u64 * self.ground.width as u64 + column as u64;
        let (mut all, mut i) = (true, 0);
        while i < N {
            // SAFETY: passed on to the caller.
            all &= !self.cuts(i) || unsafe { self.conditions[i].wants(cell) };
            i += 1;
        }
        all
    }

    /// Whether a condition's range cuts through bins.
    #[inline(always)]
    fn cuts(&self, i: usize) -> bool {
        let Condition { inside, touched, .. } = self.conditions[i];
        inside.0 != touched.0 || inside.1 != touched.1
    }
}

/// The shared memory of a block.
#[derive(Clone, Copy)]
struct Room<const N: usize> {
    states: SharedArray<u8>,
    positions: SharedArray<u32>,
    scan: BlockScan<u32>,
    sums: BlockReduce<u64>,
    bounds: BlockReduce<u32>,
    /// What the whole square is.
    what: SharedArray<u32>,
}

impl<const N: usize> Room<N> {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self {
            states: carver.array(SLOTS),
            positions: carver.array(SLOTS * N as u32),
            scan: BlockScan::new(carver),
            sums: BlockReduce::new(carver, BLOCK),
            bounds: BlockReduce::new(carver, BLOCK),
            what: carver.array(1 + N as u32),
        }
    }

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

    /// # Safety
    /// The slot is the thread's.
    #[inline(always)]
    unsafe fn positions(&self, slot: u32) -> [u32; N] {
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

/// What a thread finds, and where it puts it.
struct Found {
    quadrants: u32,
    cells: u64,
    unsure: u64,
    /// The least and the greatest key of all.
    least: u32,
    greatest: u32,
    /// Where quadrants are written from here on; null to count alone.
    out: *mut u32,
    room: u32,
}

impl Default for Found {
    #[inline(always)]
    fn default() -> Self {
        Self {
            quadrants: 0,
            cells: 0,
            unsure: 0,
            least: u32::MAX,
            greatest: 0,
            out: core::ptr::null_mut(),
            room: 0,
        }
    }
}

impl Found {
    #[inline(always)]
    unsafe fn take<const N: usize>(
        &mut self,
        search: &Search<N>,
        place: (u32, u32),
        side: u32,
        verdict: Verdict,
    ) {
        let part = search.ground.part(place, side).and(search.ground.window);
        let is_partly = verdict.what == HIT_PARTLY;
        if !self.out.is_null() {
            if self.quadrants < self.room {
                // SAFETY: guarded by the room.
                unsafe {
                    let out = self.out.add(HIT * self.quadrants as usize);
                    *out = place.1;
                    *out.add(1) = place.0;
                    *out.add(2) = side | if is_partly { PARTLY } else { 0 };
                    *out.add(3) = verdict.min;
                    *out.add(4) = verdict.max;
                }
            }
        } else if !is_partly {
            self.cells += part.cells();
        } else {
            // SAFETY: passed on to the caller.
            match unsafe { search.wanted_cells(part) } {
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
/// Both are there.
#[kernel(block = 32)]
pub unsafe fn widen(from: *const u32, to: *mut u64) {
    if thread::thread_idx_x() == 0 {
        // SAFETY: passed on to the caller.
        unsafe { *to = *from as u64 };
    }
}

/// What both kernels of a search are given.
impl<const N: usize> Search<N> {
    #[inline(always)]
    fn new(
        words: [u32; ALL_WORDS],
        (width, height, bits): (u32, u32, u32),
        [row0, column0, row1, column1]: [u32; 4],
    ) -> Self {
        let mut conditions = [Condition::of_words(words, 0); N];
        let mut i = 1;
        while i < N {
            conditions[i] = Condition::of_words(words, i);
            i += 1;
        }
        let window = Part { column0, row0, column1, row1 };
        Self { conditions, ground: Ground { width, height, bits, window } }
    }

    /// Columns and rows of squares.
    #[inline(always)]
    fn squares(&self) -> (u32, u32) {
        (self.ground.width.div_ceil(SIDE), self.ground.height.div_ceil(SIDE))
    }

    /// The column and row of a square, and its place in Z-order.
    #[inline(always)]
    fn square(&self, index: u32) -> ((u32, u32), usize) {
        let (columns, rows) = self.squares();
        let row = index.checked_div(columns).unwrap_or(0);
        let square = (index - row * columns, row);
        let bits = self.ground.bits.saturating_sub(LEVELS);
        (square, rank(square, (columns, rows), bits) as usize)
    }
}

/// Where a search leaves what it finds.
#[derive(Clone, Copy)]
struct Results {
    counts: *mut u32,
    cells: *mut u64,
    bounds: *mut u32,
    out: *mut u32,
    room: u32,
}

impl Results {
    /// Keeps the numbers of a square.
    ///
    /// # Safety
    /// The arrays have the square.
    #[inline(always)]
    unsafe fn put(&self, place: usize, squares: (u32, u32), found: &Found) {
        // SAFETY: passed on to the caller.
        unsafe {
            *self.counts.add(place) = found.quadrants;
            *self.cells.add(place) = found.cells;
            let all = (squares.0 * squares.1) as usize;
            *self.cells.add(all + place) = found.unsure;
            if !self.bounds.is_null() {
                *self.bounds.add(place) = found.least;
                *self.bounds.add(all + place) = found.greatest;
            }
        }
    }

    /// Where the quadrants from the `first` of all on are written; nowhere without `out`.
    #[inline(always)]
    fn from(&self, first: u32) -> Found {
        let mut found = Found::default();
        if !self.out.is_null() {
            found.out = self.out.wrapping_add(HIT * first as usize);
            found.room = self.room.saturating_sub(first);
        }
        found
    }
}

/// Goes down to each square. Without `out` it counts what ends above a square: `counts` gets the quadrants of each
/// square, in Z-order of the squares, and `cells` the cells of each that satisfy all, and then those of which no raster
/// says; `bounds`, if there is one, their least and their greatest keys; and it lists the squares in which the search goes on. With `out` it writes the quadrants, those of
/// each square from where `counts` says, which were scanned, and lists nothing. Grid: a thread for each square.
///
/// # Safety
/// Trees and rasters are as the conditions say, and of `width * height` cells; `counts` has an element for each square, and
/// one more, `cells` and `bounds` two for each; `out` has room for `room` quadrants. `listed` has room for all squares, each
/// [`listed_words`], and `listed_len` is 0.
#[kernel(block = BLOCK, instances(
    one: <1>;
    two: <2>;
    four: <4>;
))]
pub unsafe fn descend<const N: usize>(
    conditions: [u32; ALL_WORDS],
    width: u32,
    height: u32,
    bits: u32,
    window: [u32; 4],
    counts: *mut u32,
    cells: *mut u64,
    bounds: *mut u32,
    out: *mut u32,
    room: u32,
    listed: *mut u32,
    listed_len: *mut u32,
) {
    let search = Search::<N>::new(conditions, (width, height, bits), window);
    let results = Results { counts, cells, bounds, out, room };
    let (columns, rows) = search.squares();
    let index = thread::index_1d() as u32;
    let mut open = None;
    // SAFETY: passed on to the caller; a listed square has a place of its own, as there is room for all.
    unsafe {
        if index < columns * rows {
            let (square, place) = search.square(index);
            let first = if out.is_null() { 0 } else { *counts.add(place) };
            let mut found = results.from(first);
            open = search.descend(square, &mut found);
            if out.is_null() && open.is_none() {
                results.put(place, (columns, rows), &found);
            }
        }
        if !out.is_null() {
            return;
        }
        let lanes = warp::ballot(warp::FULL, open.is_some());
        let mut first = 0;
        if warp::lane_id() == 0 && lanes != 0 {
            first = atomic::add_u32(listed_len, lanes.count_ones());
        }
        let first = warp::shuffle(warp::FULL, first, 0);
        if let Some(positions) = open {
            let at = first + (lanes & warp::lanes_below()).count_ones();
            let to = listed.add(at as usize * listed_words(N));
            *to = index;
            let mut i = 0;
            while i < N {
                *to.add(1 + i) = positions[i];
                i += 1;
            }
        }
    }
}

impl<const N: usize> Search<N> {
    /// Goes down to a square; gives the nodes that hold it if the search goes on there. What ends above is taken for the
    /// square at its corner.
    ///
    /// # Safety
    /// As [`descend`](mod@descend).
    #[inline(always)]
    unsafe fn descend(&self, (column, row): (u32, u32), found: &mut Found) -> Option<[u32; N]> {
        // SAFETY: passed on to the caller.
        unsafe {
            let end = self.reach((column, row));
            let is_own = end.corner == (column * SIDE, row * SIDE);
            match end.verdict.what {
                OPEN => Some(end.positions),
                what => {
                    if what != NONE && is_own {
                        let side = 1 << (self.ground.bits - end.level);
                        found.take(self, end.corner, side, end.verdict);
                    }
                    None
                }
            }
        }
    }

    /// Goes down from the root towards a square, as far as the search goes on, to the square itself at most.
    ///
    /// # Safety
    /// As [`descend`](mod@descend).
    #[inline(always)]
    unsafe fn reach(&self, (column, row): (u32, u32)) -> End<N> {
        let above = self.ground.bits.saturating_sub(LEVELS);
        let (mut positions, mut level) = ([0; N], 0);
        loop {
            // The quadrant of this level that the square lies in.
            let shift = above - level;
            let corner = ((column >> shift << shift) * SIDE, (row >> shift << shift) * SIDE);
            // SAFETY: passed on to the caller.
            unsafe {
                let mut verdict = self.judge(corner, level, positions);
                if verdict.what != OPEN || level == above {
                    return End { verdict, corner, level, positions };
                }
                let towards = (column >> (shift - 1) & 1) | (row >> (shift - 1) & 1) << 1;
                let (children, is_there) = self.child(corner, level, positions, towards);
                if !is_there {
                    verdict.what = NONE;
                    return End { verdict, corner, level, positions };
                }
                positions = children;
                level += 1;
            }
        }
    }
}

/// Where the way down ends: a quadrant, its verdict, and the nodes that hold it.
struct End<const N: usize> {
    verdict: Verdict,
    corner: (u32, u32),
    level: u32,
    positions: [u32; N],
}

/// Searches the squares that [`descend`](mod@descend) listed, and leaves their numbers or quadrants as it does. Grid: any
/// number of blocks.
///
/// # Safety
/// As for [`descend`](mod@descend), which wrote `listed`.
#[kernel(block = BLOCK, carve = |carver| Room::<N>::new(carver), instances(
    one: <1>;
    two: <2>;
    four: <4>;
))]
pub unsafe fn search<const N: usize>(
    conditions: [u32; ALL_WORDS],
    width: u32,
    height: u32,
    bits: u32,
    window: [u32; 4],
    counts: *mut u32,
    cells: *mut u64,
    bounds: *mut u32,
    out: *mut u32,
    room: u32,
    listed: *const u32,
    listed_len: *const u32,
) {
    let search = Search::<N>::new(conditions, (width, height, bits), window);
    let results = Results { counts, cells, bounds, out, room };
    let shared = Room::<N>::new(&mut Carver::new());
    let mut next = thread::block_idx_x();
    // SAFETY: passed on to the caller; all threads of a block go the same way.
    unsafe {
        let len = *listed_len;
        while next < len {
            let own = listed.add(next as usize * listed_words(N));
            let (mut positions, mut i) = ([0; N], 0);
            while i < N {
                positions[i] = *own.add(1 + i);
                i += 1;
            }
            search_square(&search, &results, *own, positions, &shared);
            next = vector::unknown(next + thread::grid_dim_x());
        }
    }
}

/// Searches a square.
///
/// # Safety
/// As [`search`](mod@search); every thread of the block comes here.
#[inline(always)]
unsafe fn search_square<const N: usize>(
    search: &Search<N>,
    results: &Results,
    index: u32,
    positions: [u32; N],
    shared: &Room<N>,
) {
    let (square, place) = search.square(index);
    // SAFETY: passed on to the caller; what ends it early is the same for all threads.
    unsafe {
        if results.out.is_null() {
            in_square(search, square, positions, shared);
            let mut found = results.from(0);
            each_in_slots(search, square, shared, |place, side, verdict| {
                found.take(search, place, side, verdict);
            });
            // Levels of a square have at most 4096 quadrants.
            let quadrants = shared.sums.reduce(found.quadrants as u64, 0, |a, b| a + b);
            let all = Found {
                quadrants: quadrants as u32,
                cells: shared.sums.reduce(found.cells, 0, |a, b| a + b),
                unsure: shared.sums.reduce(found.unsure, 0, |a, b| a + b),
                least: shared.bounds.reduce(found.least, u32::MAX, u32::min),
                greatest: shared.bounds.reduce(found.greatest, 0, u32::max),
                ..Found::default()
            };
            if thread::thread_idx_x() == 0 {
                results.put(place, search.squares(), &all);
            }
            return;
        }
        let first = *results.counts.add(place);
        if first == *results.counts.add(place + 1) {
            return;
        }
        in_square(search, square, positions, shared);
        let mut quadrants = 0;
        each_in_slots(search, square, shared, |_, _, _| quadrants += 1);
        let (until, _) = shared.scan.inclusive(quadrants, 0, |a, b| a + b);
        let mut found = results.from(first + (until - quadrants));
        each_in_slots(search, square, shared, |place, side, verdict| {
            found.take(search, place, side, verdict);
        });
    }
}

/// Judges the square's quadrants level by level, down to 2 x 2 cells. The whole, or of a smaller raster the root, is open.
///
/// # Safety
/// As [`search`]; every thread of the block comes here.
#[inline(always)]
unsafe fn in_square<const N: usize>(
    search: &Search<N>,
    (column, row): (u32, u32),
    positions: [u32; N],
    shared: &Room<N>,
) {
    let bits = search.ground.bits;
    let (root, above) = if bits < LEVELS { (LEVELS - bits, 0) } else { (0, bits - LEVELS) };
    let thread = thread::thread_idx_x();
    // SAFETY: passed on to the caller; a quadrant's slots are one thread's between two barriers.
    unsafe {
        // The square before is read no more.
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
        // The open one's children first; then each level is judged before it opens.
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
/// As [`in_square`]; the quadrant's slots are this thread's.
#[inline(always)]
unsafe fn open_children<const N: usize>(
    search: &Search<N>,
    (column, row): (u32, u32),
    (level, tree_level): (u32, u32),
    slot: u32,
    shared: &Room<N>,
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

/// Calls `take` with each quadrant that ended in the thread's four slots, and with their cells where those are open.
///
/// # Safety
/// As [`in_square`], after it.
#[inline(always)]
unsafe fn each_in_slots<const N: usize>(
    search: &Search<N>,
    (column, row): (u32, u32),
    shared: &Room<N>,
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

/// Sets each cell of a mask to 1 if it satisfies all conditions, else to 0. Grid: a block for each square, row by row.
///
/// # Safety
/// Trees and rasters are as the conditions say, and of `width * height` cells, as is `mask`; a condition that cuts bins
/// has a raster.
#[kernel(block = BLOCK, carve = |carver| Room::<N>::new(carver), instances(
    one: <1>;
    two: <2>;
    four: <4>;
))]
pub unsafe fn paint<const N: usize>(
    conditions: [u32; ALL_WORDS],
    width: u32,
    height: u32,
    bits: u32,
    window: [u32; 4],
    mask: *mut u8,
) {
    let search = Search::<N>::new(conditions, (width, height, bits), window);
    let shared = Room::<N>::new(&mut Carver::new());
    let (square, _) = search.square(thread::block_idx_x());
    let (mut positions, mut i) = ([0; N], 0);
    // SAFETY: passed on to the caller; all threads of the block go the same way.
    unsafe {
        if thread::thread_idx_x() == 0 {
            let end = search.reach(square);
            shared.what.store(0, end.verdict.what);
            while i < N {
                shared.what.store(1 + i as u32, end.positions[i]);
                i += 1;
            }
        }
        thread::sync_threads();
        let what = shared.what.load(0);
        i = 0;
        while i < N {
            positions[i] = shared.what.load(1 + i as u32);
            i += 1;
        }
        if what == OPEN {
            in_square(&search, square, positions, &shared);
        }
        // The square's rows one after the other, four at a time.
        let mut cell = thread::thread_idx_x();
        while cell < SIDE * SIDE {
            let (x, y) = (cell % SIDE, cell / SIDE);
            let (column, row) = (square.0 * SIDE + x, square.1 * SIDE + y);
            if column < width && row < height {
                let of_cell = match what {
                    OPEN => search.verdict_in_square((column, row), (x, y), &shared),
                    _ => what,
                };
                let at = Part { column0: column, row0: row, column1: column + 1, row1: row + 1 };
                let is_found = at.is_in(search.ground.window)
                    && (of_cell == HIT_WHOLE
                        || (of_cell == HIT_PARTLY && search.is_wanted((column, row))));
                *mask.add((row as u64 * width as u64 + column as u64) as usize) = is_found as u8;
            }
            cell = vector::unknown(cell + BLOCK as u32);
        }
    }
}

impl<const N: usize> Search<N> {
    /// What the quadrant that ended around a cell of a square is, or the cell itself.
    ///
    /// # Safety
    /// As [`in_square`], after it.
    #[inline(always)]
    unsafe fn verdict_in_square(
        &self,
        (column, row): (u32, u32),
        (x, y): (u32, u32),
        shared: &Room<N>,
    ) -> u32 {
        let slot = morton::encode(x / 2, y / 2) as u32;
        let bits = self.ground.bits;
        // SAFETY: passed on to the caller; nobody writes the slots any more.
        unsafe {
            if shared.states.load(slot) as u32 == OPEN {
                let (corner, positions) = ((x & 1) | (y & 1) << 1, shared.positions(slot));
                let place = (column & !1, row & !1);
                let (cell, is_there) = self.child(place, bits - 1, positions, corner);
                return if is_there { self.judge((column, row), bits, cell).what } else { NONE };
            }
            let mut level = LEVELS;
            while level > 0 {
                level -= 1;
                let step = 2 * (LEVELS - 1 - level);
                let state = shared.states.load(slot >> step << step) as u32;
                if state != NONE && state != OPEN && state >> 2 == level {
                    return state & 3;
                }
            }
        }
        NONE
    }
}

/// Words of a run: row, first column, the column after the last.
pub const RUN: usize = 3;

/// Finds the runs of cells that are not 0 in the rows of a mask. Without `out` it counts those of each row in `counts`;
/// with `out` it writes them, from where `counts` says, which were scanned. Grid: a warp for each row.
///
/// # Safety
/// `mask` has `width * height` cells, `counts` an element for each row, `out` room for `room` runs of [`RUN`] words.
#[kernel(block = BLOCK)]
pub unsafe fn find_runs(
    mask: *const u8,
    width: u32,
    height: u32,
    counts: *mut u32,
    out: *mut u32,
    room: u32,
) {
    let row = thread::block_idx_x() * (BLOCK as u32 / warp::SIZE) + warp::warp_id();
    if row >= height {
        return;
    }
    let (lane, below) = (warp::lane_id(), warp::lanes_below());
    let line = mask.wrapping_add((row as u64 * width as u64) as usize);
    // SAFETY: passed on to the caller; the whole warp has a row, and goes the same way.
    unsafe {
        let first = if out.is_null() { 0 } else { *counts.add(row as usize) };
        let put = |run: u32, word: usize, value: u32| {
            if !out.is_null() && run < room {
                *out.add(RUN * run as usize + word) = value;
            }
        };
        let (mut begun, mut ended, mut before, mut from) = (0, 0, 0, 0);
        // One step further than the row, where a run ends at the latest.
        while from <= width {
            let column = from + lane;
            let is_in = column < width && *line.add(column as usize) != 0;
            let cells = warp::ballot(warp::FULL, is_in);
            let west = cells << 1 | before;
            let (begins, ends) = (cells & !west, !cells & west);
            if begins >> lane & 1 != 0 {
                let run = first + begun + (begins & below).count_ones();
                put(run, 0, row);
                put(run, 1, column);
            }
            if ends >> lane & 1 != 0 {
                put(first + ended + (ends & below).count_ones(), 2, column);
            }
            begun += begins.count_ones();
            ended += ends.count_ones();
            before = cells >> 31;
            from = vector::unknown(from + warp::SIZE);
        }
        if out.is_null() && lane == 0 {
            *counts.add(row as usize) = begun;
        }
    }
}

device_std::ptx_module! { "ccq_query" }
