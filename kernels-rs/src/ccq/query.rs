//! Searching trees: crate `ccq-tree`.
//!
//! A block has a square of 64 x 64 cells, so that blocks share nothing. The plan:
//!
//! 1. All threads together go down from the root to the quadrant of the block, by its own column and row. What they meet
//!    on the way that ends the search, the block at the north-western corner of it answers for.
//! 2. Below, a slot stands for 2 x 2 cells, in Z-order, and a quadrant has the slot of its north-western corner. Level by
//!    level each open quadrant is judged by one thread, and opens its children's slots or ends.
//! 3. A thread has four slots that follow each other: it counts what ended there, and judges the cells of those
//!    that are still open. To write, a scan over the block says where.
//!
//! A node is never trusted: a link that leads out of the tree, or a child that is not there, leads nowhere; levels bound
//! the way down, so that no contents of device memory make a search read outside or go on for ever.
//!
//! Conditions are searched together, `N` of them: a quadrant has a node of each tree, its own or a leaf above.

use device_std::block::{BlockReduce, BlockScan};
use device_std::shared::{Carver, SharedArray};
use device_std::{kernel, thread};

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

    #[inline(always)]
    const fn of_words(w: [u32; WORDS]) -> Self {
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
                let cell = row as u64 * self.ground.width as u64 + column as u64;
                let (mut all, mut i) = (true, 0);
                while i < N {
                    // SAFETY: passed on to the caller; the part lies in the raster.
                    all &= !self.cuts(i) || unsafe { self.conditions[i].wants(cell) };
                    i += 1;
                }
                count += all as u64;
                column += 1;
            }
            row += 1;
        }
        Some(count)
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
}

impl<const N: usize> Room<N> {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self {
            states: carver.array(SLOTS),
            positions: carver.array(SLOTS * N as u32),
            scan: BlockScan::new(carver),
            sums: BlockReduce::new(carver, BLOCK),
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
    /// Where quadrants are written from here on; null to count alone.
    out: *mut u32,
    room: u32,
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

/// Searches for all conditions. Without `out` it counts: `counts` gets the quadrants of each square, in Z-order of the
/// squares, and `cells` the cells of each that satisfy all, and then those of which no raster says. With `out` it
/// writes the quadrants, those of each square from where `counts` says, which were scanned. Grid: a block for each square of
/// 64 x 64 cells, row by row.
///
/// # Safety
/// Trees and rasters are as the conditions say, and of `width * height` cells; `counts` has an element for each square, and
/// one more, `cells` two for each; `out` has room for `room` quadrants.
#[kernel(block = BLOCK, carve = |carver| Room::<N>::new(carver), instances(
    one: <1>;
    two: <2>;
    four: <4>;
))]
pub unsafe fn search<const N: usize>(
    first: [u32; WORDS],
    second: [u32; WORDS],
    third: [u32; WORDS],
    fourth: [u32; WORDS],
    width: u32,
    height: u32,
    bits: u32,
    window: [u32; 4],
    counts: *mut u32,
    cells: *mut u64,
    out: *mut u32,
    room: u32,
) {
    let all = [first, second, third, fourth];
    let mut conditions = [Condition::of_words(first); N];
    let mut i = 0;
    while i < N {
        conditions[i] = Condition::of_words(all[i & 3]);
        i += 1;
    }
    let [row0, column0, row1, column1] = window;
    let window = Part { column0, row0, column1, row1 };
    let search = Search { conditions, ground: Ground { width, height, bits, window } };
    let (columns, rows) = (width.div_ceil(SIDE), height.div_ceil(SIDE));
    let block = thread::block_idx_x();
    let row = block.checked_div(columns).unwrap_or(0);
    let square = (block - row * columns, row);
    let square_bits = bits.saturating_sub(LEVELS);
    let place = rank(square, (columns, rows), square_bits) as usize;
    let shared = Room::<N>::new(&mut Carver::new());
    // SAFETY: passed on to the caller; what ends a block early is the same for all of its threads.
    unsafe {
        let mut first = 0;
        if !out.is_null() {
            first = *counts.add(place);
            // A square without quadrants.
            if first == *counts.add(place + 1) {
                return;
            }
        }
        let mut found =
            Found { quadrants: 0, cells: 0, unsure: 0, out: core::ptr::null_mut(), room: 0 };
        let open = descend(&search, square, &mut found, (out, first, room));
        if let Some(positions) = open {
            in_square(&search, square, positions, &shared);
            found = gather(&search, square, &shared, (out, first, room));
        }
        if out.is_null() {
            let thread = thread::thread_idx_x();
            let alone = open.is_none() && thread != 0;
            let of = |number: u64| if alone { 0 } else { number };
            // Levels of a square have at most 4096 quadrants.
            let quadrants = shared.sums.reduce(of(found.quadrants as u64), 0, |a, b| a + b);
            let sure = shared.sums.reduce(of(found.cells), 0, |a, b| a + b);
            let unsure = shared.sums.reduce(of(found.unsure), 0, |a, b| a + b);
            if thread == 0 {
                *counts.add(place) = quadrants as u32;
                *cells.add(place) = sure;
                *cells.add((columns * rows) as usize + place) = unsure;
            }
        }
    }
}

/// Goes down to the block's square; gives the nodes that hold it if the search goes on there. What ends above is taken by
/// thread 0 of the block at its corner.
///
/// # Safety
/// As [`search`].
#[inline(always)]
unsafe fn descend<const N: usize>(
    search: &Search<N>,
    (column, row): (u32, u32),
    found: &mut Found,
    (out, first, room): (*mut u32, u32, u32),
) -> Option<[u32; N]> {
    let bits = search.ground.bits;
    let above = bits.saturating_sub(LEVELS);
    let (mut positions, mut level) = ([0; N], 0);
    loop {
        // The quadrant of this level that the square lies in.
        let shift = above - level;
        let corner = ((column >> shift << shift) * SIDE, (row >> shift << shift) * SIDE);
        // SAFETY: passed on to the caller.
        unsafe {
            let verdict = search.judge(corner, level, positions);
            if verdict.what != OPEN {
                let is_own = corner == (column * SIDE, row * SIDE);
                if verdict.what != NONE && is_own && thread::thread_idx_x() == 0 {
                    if !out.is_null() {
                        found.out = out.wrapping_add(HIT * first as usize);
                        found.room = room.saturating_sub(first);
                    }
                    found.take(search, corner, 1 << (bits - level), verdict);
                }
                return None;
            }
            if level == above {
                return Some(positions);
            }
            let towards = (column >> (shift - 1) & 1) | (row >> (shift - 1) & 1) << 1;
            let (children, is_there) = search.child(corner, level, positions, towards);
            if !is_there {
                return None;
            }
            positions = children;
            level += 1;
        }
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
            corner += 1;
        }
    }
}

/// Takes what ended in the square, in Z-order, and the cells of what is still open. To write, all threads count first.
///
/// # Safety
/// As [`in_square`], after it.
#[inline(always)]
unsafe fn gather<const N: usize>(
    search: &Search<N>,
    square: (u32, u32),
    shared: &Room<N>,
    (out, first, room): (*mut u32, u32, u32),
) -> Found {
    let none = || Found { quadrants: 0, cells: 0, unsure: 0, out: core::ptr::null_mut(), room: 0 };
    let mut found = none();
    // SAFETY: passed on to the caller.
    unsafe {
        if out.is_null() {
            own_slots(search, square, shared, &mut found);
            return found;
        }
        let mut quadrants = 0;
        count_slots(search, square, shared, &mut quadrants);
        let (until, _) = shared.scan.inclusive(quadrants, 0, |a, b| a + b);
        let at = first + (until - quadrants);
        found.out = out.wrapping_add(HIT * at as usize);
        found.room = room.saturating_sub(at);
        own_slots(search, square, shared, &mut found);
        found
    }
}

/// How many quadrants a thread's slots have.
///
/// # Safety
/// As [`gather`].
#[inline(always)]
unsafe fn count_slots<const N: usize>(
    search: &Search<N>,
    square: (u32, u32),
    shared: &Room<N>,
    quadrants: &mut u32,
) {
    // SAFETY: passed on to the caller.
    unsafe { each_in_slots(search, square, shared, |_, _, _| *quadrants += 1) }
}

/// Takes what a thread's slots have.
///
/// # Safety
/// As [`gather`].
#[inline(always)]
unsafe fn own_slots<const N: usize>(
    search: &Search<N>,
    square: (u32, u32),
    shared: &Room<N>,
    found: &mut Found,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        each_in_slots(search, square, shared, |place, side, verdict| {
            found.take(search, place, side, verdict);
        });
    }
}

/// Calls `take` with each quadrant that ended in the thread's four slots, and with their cells where those are open.
///
/// # Safety
/// As [`gather`].
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
                        corner += 1;
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
        i += 1;
    }
}

device_std::ptx_module! { "ccq_query" }
