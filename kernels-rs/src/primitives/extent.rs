//! The extent of points, in one launch: the least and the greatest element of each of several columns,
//! and the first that is not a finite number. Crate `gpu-scan`.
//!
//! Each column is cut into chunks, and a block reads one chunk of one column. A thread keeps the least and the greatest
//! of its elements, and the index of the first that is not finite. It also keeps the index of the first zero: zeros of
//! both signs are equal, and the first one in the column is the result. The block combines what its threads found and
//! writes that to memory. The block that finishes last combines the results of all blocks, column by column.
//!
//! Nothing here depends on an order, so every device finds the same bits.

use device_std::block::{BlockReduce, LastBlock};
use device_std::scalar::Scalar;
use device_std::shared::Carver;
use device_std::tile::Tile;
use device_std::{In, Out, arguments, kernel, thread};

/// Threads of a block.
const BLOCK: usize = 256;
/// Rows of a tile: vectors that a thread loads at once.
const ROWS: usize = 4;
/// Elements of a tile.
const TILE: u64 = (BLOCK * ROWS * f64::LANES) as u64;

/// The most columns of a launch.
pub const MAX_COLUMNS: usize = 8;
/// The most chunks of a column.
const MAX_CHUNKS: u64 = 512;

/// Words of a result: the bits of the least element, those of the greatest, the index of the first element that is not
/// finite, and its bits. If all are finite, that index is all ones.
pub const WORDS: u64 = 4;

/// Tiles of each chunk, and number of chunks, for columns of `len` elements.
pub const fn chunks(len: u64) -> (u64, u64) {
    let tiles = len.div_ceil(TILE);
    let of_chunk = if tiles > MAX_CHUNKS { tiles.div_ceil(MAX_CHUNKS) } else { 1 };
    (of_chunk, tiles.div_ceil(of_chunk))
}

/// The extent of some elements.
#[derive(Clone, Copy)]
struct PartialExtent {
    least: f64,
    greatest: f64,
    zero: u64,
    not_finite: u64,
}

impl PartialExtent {
    const NOTHING: Self = Self {
        least: f64::INFINITY,
        greatest: f64::NEG_INFINITY,
        zero: u64::MAX,
        not_finite: u64::MAX,
    };

    /// The extent with one more element.
    #[inline(always)]
    fn with(self, value: f64, index: u64) -> Self {
        let met = |condition: bool| if condition { index } else { u64::MAX };
        Self {
            least: f64::min(self.least, value),
            greatest: f64::max(self.greatest, value),
            zero: u64::min(self.zero, met(value == 0.0)),
            not_finite: u64::min(self.not_finite, met(!value.is_finite())),
        }
    }

    /// Reads an extent from memory, from [`WORDS`] elements.
    #[inline(always)]
    fn load(from: Out<u64>) -> Self {
        Self {
            least: f64::from_bits(from.get(0u32)),
            greatest: f64::from_bits(from.get(1u32)),
            zero: from.get(2u32),
            not_finite: from.get(3u32),
        }
    }

    /// Writes it to memory, as [`load`](Self::load) reads it.
    #[inline(always)]
    fn store(self, to: Out<u64>) {
        to.set(0u32, self.least.to_bits());
        to.set(1u32, self.greatest.to_bits());
        to.set(2u32, self.zero);
        to.set(3u32, self.not_finite);
    }

    /// The extent of both together.
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self {
            least: f64::min(self.least, other.least),
            greatest: f64::max(self.greatest, other.greatest),
            zero: u64::min(self.zero, other.zero),
            not_finite: u64::min(self.not_finite, other.not_finite),
        }
    }

    /// Writes the words of the result of `column`, whose extent this is.
    #[inline(always)]
    fn write_result(self, column: In<u64>, to: Out<u64>) {
        let at = |index: u64| if index == u64::MAX { 0 } else { column.get(index) };
        let zero = at(self.zero);
        to.set(0u32, if self.least == 0.0 { zero } else { self.least.to_bits() });
        to.set(1u32, if self.greatest == 0.0 { zero } else { self.greatest.to_bits() });
        to.set(2u32, self.not_finite);
        to.set(3u32, at(self.not_finite));
    }
}

/// The shared memory of a block.
#[derive(Clone, Copy)]
struct Shared {
    values: BlockReduce<f64>,
    indices: BlockReduce<u64>,
    last: LastBlock,
}

impl Shared {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self {
            values: BlockReduce::new(carver, BLOCK),
            indices: BlockReduce::new(carver, BLOCK),
            last: LastBlock::new(carver),
        }
    }

    /// The extent of the elements of all threads.
    ///
    /// # Safety
    /// The whole block comes here.
    #[inline(always)]
    unsafe fn of_block(&self, found: PartialExtent) -> PartialExtent {
        let PartialExtent { least, greatest, zero, not_finite } = found;
        // SAFETY: the whole block is here, by the caller's promise.
        unsafe {
            PartialExtent {
                least: self.values.reduce(least, f64::INFINITY, f64::min),
                greatest: self.values.reduce(greatest, f64::NEG_INFINITY, f64::max),
                zero: self.indices.reduce(zero, u64::MAX, u64::min),
                not_finite: self.indices.reduce(not_finite, u64::MAX, u64::min),
            }
        }
    }
}

/// The columns of a launch, as the bits of f64. Columns beyond the grid are not read, and may be anything.
#[arguments]
pub struct Columns<'a> {
    /// `len` elements.
    pub a: In<'a, u64>,
    /// `len` elements.
    pub b: In<'a, u64>,
    /// `len` elements.
    pub c: In<'a, u64>,
    /// `len` elements.
    pub d: In<'a, u64>,
    /// `len` elements.
    pub e: In<'a, u64>,
    /// `len` elements.
    pub f: In<'a, u64>,
    /// `len` elements.
    pub g: In<'a, u64>,
    /// `len` elements.
    pub h: In<'a, u64>,
    /// How many elements each has.
    pub len: u64,
}

impl<'a> Columns<'a> {
    /// Columns of `len` elements.
    #[cfg(not(target_arch = "nvptx64"))]
    pub fn new([a, b, c, d, e, f, g, h]: [In<'a, u64>; MAX_COLUMNS], len: u64) -> Self {
        Self { a, b, c, d, e, f, g, h, len }
    }

    #[inline(always)]
    fn all(self) -> [In<'a, u64>; MAX_COLUMNS] {
        let Self { a, b, c, d, e, f, g, h, .. } = self;
        [a, b, c, d, e, f, g, h]
    }
}

/// Returns a column by comparisons, since registers cannot be indexed.
#[inline(always)]
fn column_of(columns: [In<u64>; MAX_COLUMNS], column: u32) -> In<u64> {
    let mut found = columns[0];
    let mut i = 1;
    while i < MAX_COLUMNS {
        found = if i as u32 == column { columns[i] } else { found };
        i += 1;
    }
    found
}

/// The extent of a chunk of a column.
#[inline(always)]
fn look_at_chunk(column: In<u64>, len: u64, tiles: u64) -> PartialExtent {
    let mut found = PartialExtent::NOTHING;
    let mut index = thread::block_idx_x() as u64 * tiles;
    let end = u64::min(index + tiles, len.div_ceil(TILE));
    while index < end {
        let tile = Tile::<u64, ROWS>::new::<BLOCK>(index, len, false);
        let rows = tile.load(column, 0);
        let mut i = 0;
        while i < ROWS * u64::LANES {
            let (row, lane) = (i / u64::LANES, i % u64::LANES);
            let at = tile.element(row).wrapping_add(lane as u64);
            if at < len {
                found = found.with(f64::from_bits(u64::lane(rows[row], lane)), at);
            }
            i += 1;
        }
        index += 1;
    }
    found
}

/// The extent of each column; see the module's plan. Grid: in x one block a chunk, see [`chunks`], in y
/// the columns.
///
/// # Safety
/// The columns of the grid are as [`Columns`] says, and not empty. `partials` has [`WORDS`] elements for each block,
/// and `results` has as many for each column. `done` is one element, zero, which only successive launches use.
/// `results` for each column. `done` is one element, zero, which only successive launches use.
#[kernel(block = BLOCK, resident = 4, carve = |carver| Shared::new(carver))]
pub unsafe fn find_extent(
    columns: Columns<'_>,
    tiles: u64,
    partials: Out<'_, u64>,
    done: Out<'_, u32>,
    results: Out<'_, u64>,
) {
    let shared = Shared::new(&mut Carver::new());
    let me = thread::thread_idx_x();
    let (chunks, count) = (thread::grid_dim_x(), thread::grid_dim_y());
    let words = |index: u32| index as u64 * WORDS;
    // SAFETY: the block's threads stay together, so all of them come to each reduction.
    unsafe {
        let column = thread::block_idx_y();
        let found = look_at_chunk(column_of(columns.all(), column), columns.len, tiles);
        let found = shared.of_block(found);
        if me == 0 {
            found.store(partials.from(words(column * chunks + thread::block_idx_x())));
        }
        if !shared.last.is_this(done, chunks * count) {
            return;
        }
        let mut column = 0;
        while column < count {
            let mut found = PartialExtent::NOTHING;
            let mut chunk = me;
            while chunk < chunks {
                found =
                    found.and(PartialExtent::load(partials.from(words(column * chunks + chunk))));
                chunk += BLOCK as u32;
            }
            let found = shared.of_block(found);
            if me == 0 {
                found.write_result(column_of(columns.all(), column), results.from(words(column)));
            }
            column += 1;
        }
    }
}

device_std::ptx_module! { "extent" }
