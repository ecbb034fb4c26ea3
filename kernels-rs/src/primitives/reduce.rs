//! Reductions in one launch: crate `gpu-scan`.
//!
//! The array is cut into chunks; their number depends on the array's length alone. A block reduces one chunk and writes
//! its partial result. The block that finishes last combines the partial results. Within a chunk each thread combines
//! its elements, vector by vector, in [`ROWS`] independent rows; then rows, lanes and warps are combined. So the order
//! is fixed, whatever the device, and floats give the same bits in every run: `gpu-scan`'s documentation spells the
//! order out, and its CPU twin follows it.

use device_std::block::{BlockReduce, LastBlock};
use device_std::scalar::Scalar;
use device_std::shared::{Carver, Plain};
use device_std::tile::Tile;
use device_std::vector::{self, Vector};
use device_std::warp::Word;
use device_std::{In, Out, arguments, kernel, thread};

use super::operators::{Bits, Least, Operator, Order, Sum};

/// Threads of a block.
pub const BLOCK: usize = 256;

/// Rows of a tile: vectors that a thread loads at once.
pub const ROWS: usize = 4;

/// Elements of a tile.
pub const fn tile_len(element_size: usize) -> u64 {
    (BLOCK * ROWS * 16 / element_size) as u64
}

/// The most chunks of an array. Most kernels leave resources for 8 blocks on a multiprocessor, so 132 of them run all
/// chunks at once.
pub const MAX_CHUNKS: u64 = 1056;

/// Tiles of each chunk and number of chunks, for an array of `len` elements. A chunk is whole
/// tiles; the last may be shorter.
pub const fn chunks(len: u64, element_size: usize) -> (u64, u64) {
    let tiles = len.div_ceil(tile_len(element_size));
    let tiles_of_chunk = if tiles > MAX_CHUNKS { tiles.div_ceil(MAX_CHUNKS) } else { 1 };
    (tiles_of_chunk, tiles.div_ceil(tiles_of_chunk))
}

/// An array, in chunks.
#[arguments]
pub struct Input<'a, T> {
    /// `len` of them.
    pub elements: In<'a, T>,
    /// How many there are.
    pub len: u64,
    /// Tiles of a chunk: see [`chunks`].
    pub tiles: u64,
}

/// The shared memory of a block.
#[derive(Clone, Copy)]
struct Shared<T> {
    block: BlockReduce<T>,
    last: LastBlock,
}

impl<T: Plain + Word> Shared<T> {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self { block: BlockReduce::new(carver, BLOCK), last: LastBlock::new(carver) }
    }
}

/// The combination of a thread's vectors of one chunk: first each row separately, then row after row.
#[inline(always)]
fn reduce_chunk<T: Scalar, O: Operator<T>>(
    operator: O,
    Input { elements, len, tiles }: Input<T>,
) -> T {
    let identity = operator.identity();
    let fill = operator.lower(identity);
    let chunk = thread::block_idx_x() as u64;
    let mut sums = [identity; ROWS];
    let mut index = chunk * tiles;
    let end = u64::min(index + tiles, len.div_ceil(tile_len(16 / T::LANES)));
    while index < end {
        let tile = Tile::<T, ROWS>::new::<BLOCK>(index, len, false);
        let rows = tile.load(elements, fill);
        let mut row = 0;
        while row < ROWS {
            sums[row] = operator.combine(sums[row], reduce_vector(operator, rows[row]));
            row += 1;
        }
        index += 1;
    }
    let mut sum = sums[0];
    let mut row = 1;
    while row < ROWS {
        sum = operator.combine(sum, sums[row]);
        row += 1;
    }
    sum
}

#[inline(always)]
fn reduce_vector<T: Scalar, O: Operator<T>>(operator: O, vector: Vector) -> T {
    let mut sum = operator.lift(T::lane(vector, 0));
    let mut i = 1;
    while i < T::LANES {
        sum = operator.combine(sum, operator.lift(T::lane(vector, i)));
        i += 1;
    }
    sum
}

/// A reduction to one value. Grid: one block a chunk, see [`chunks`].
///
/// # Safety
/// The input is as [`Input`] says; `partials` has an element for each block, `result` one. `done` is one element, zero,
/// which only successive launches use.
#[kernel(block = BLOCK, carve = |carver| Shared::<T>::new(carver), instances(
    sum_u8: <u8, Sum>, resident = 2;
    sum_u16: <u16, Sum>, resident = 2;
    sum_u32: <u32, Sum>, resident = 8;
    sum_u64: <u64, Sum>, resident = 8;
    sum_f32: <f32, Sum>, resident = 8;
    sum_f64: <f64, Sum>, resident = 8;
    least_u8: <u8, Least<u8>>, resident = 2;
    least_u16: <u16, Least<u16>>, resident = 2;
    least_u32: <u32, Least<u32>>, resident = 8;
    least_u64: <u64, Least<u64>>, resident = 6;
))]
pub unsafe fn reduce<T: Scalar, O: Operator<T>>(
    input: Input<'_, T>,
    parameters: [u64; 4],
    partials: Out<'_, T>,
    done: Out<'_, u32>,
    result: Out<'_, T>,
) {
    let operator = O::new(parameters);
    let shared = Shared::<T>::new(&mut Carver::new());
    let identity = operator.identity();
    let combine = |a, b| operator.combine(a, b);
    let me = thread::thread_idx_x();
    // SAFETY: the block's threads stay together, so all of them come to each reduction.
    unsafe {
        let of_thread = reduce_chunk(operator, input);
        let of_block = shared.block.reduce(of_thread, identity, combine);
        let chunks = thread::grid_dim_x();
        if chunks == 1 {
            if me == 0 {
                result.set(0u32, operator.lower(of_block));
            }
            return;
        }
        if me == 0 {
            partials.set(thread::block_idx_x(), of_block);
        }
        if !shared.last.is_this(done, chunks) {
            return;
        }
        let mut sum = identity;
        let mut chunk = me;
        while chunk < chunks {
            sum = operator.combine(sum, partials.get(chunk));
            chunk += BLOCK as u32;
        }
        let sum = shared.block.reduce(sum, identity, combine);
        if me == 0 {
            result.set(0u32, operator.lower(sum));
        }
    }
}

/// An element's rank and its index: the lesser rank wins, and of equal ones the lesser index.
type Ranked = (u64, u64);

#[inline(always)]
fn first((a, i): Ranked, (b, j): Ranked) -> Ranked {
    if b < a || (b == a && j < i) { (b, j) } else { (a, i) }
}

/// No element.
const NOBODY: Ranked = (u64::MAX, u64::MAX);

/// The first in an order among a thread's elements of one chunk.
///
/// The thread meets its elements in the order of their indices, so of equal ones the first stays. It remembers the
/// vector with the least rank so far, and finds the element in that vector only at the end.
#[inline(always)]
fn first_of_chunk<B: Bits>(
    Input { elements, len, tiles }: Input<B>,
    order: Order<B>,
    most: u64,
) -> Ranked {
    let begin = thread::block_idx_x() as u64 * tiles;
    let end = u64::min(begin + tiles, len.div_ceil(tile_len(16 / B::LANES)));
    let mut least = B::ONES;
    let mut vector_of_least = 0;
    let mut vector = 0;
    let mut index = begin;
    while index < end {
        let tile = Tile::<B, ROWS>::new::<BLOCK>(index, len, false);
        let rows = tile.load(elements, order.element(B::ONES));
        let mut row = 0;
        while row < ROWS {
            let mut of_vector = order.rank(B::lane(rows[row], 0));
            let mut i = 1;
            while i < B::LANES {
                of_vector = B::min(of_vector, order.rank(B::lane(rows[row], i)));
                i += 1;
            }
            if of_vector < least {
                least = of_vector;
                vector_of_least = vector + row as u64;
            }
            row += 1;
        }
        vector += ROWS as u64;
        index += 1;
    }
    let tile = Tile::<B, ROWS>::new::<BLOCK>(begin + vector_of_least / ROWS as u64, len, false);
    let start = tile.element((vector_of_least % ROWS as u64) as usize);
    let mut i = 0;
    while i < vector::unknown(B::LANES as u32) {
        let at = start + i as u64;
        if at < len && order.rank(elements.get(at)) == least {
            let rank = least.to_bits64();
            return if rank <= most { (rank, at) } else { NOBODY };
        }
        i += 1;
    }
    NOBODY
}

/// The index of the element that comes first in an order, the lowest of equal ones; `u64::MAX` if the
/// ranks of all are above `most`. Grid: one block a chunk, see [`chunks`].
///
/// # Safety
/// As for [`mod@reduce`], but `partials` has two elements for each block.
#[kernel(
    block = BLOCK,
    carve = |carver| Shared::<Ranked>::new(carver),
    instances(u8: <u8>; u16: <u16>; u32: <u32>, resident = 8; u64: <u64>, resident = 8)
)]
pub unsafe fn index_of_least<B: Bits>(
    input: Input<'_, B>,
    parameters: [u64; 4],
    most: u64,
    partials: Out<'_, u64>,
    done: Out<'_, u32>,
    result: Out<'_, u64>,
) {
    let order = Order::<B>::new(parameters);
    let shared = Shared::<Ranked>::new(&mut Carver::new());
    let me = thread::thread_idx_x();
    // SAFETY: the block's threads stay together, so all of them come to each reduction.
    unsafe {
        let best = first_of_chunk(input, order, most);
        let best = shared.block.reduce(best, NOBODY, first);
        let chunks = thread::grid_dim_x();
        if me == 0 {
            let partial = partials.from(2 * thread::block_idx_x() as usize);
            partial.set(0u32, best.0);
            partial.set(1u32, best.1);
        }
        if !shared.last.is_this(done, chunks) {
            return;
        }
        let mut best = NOBODY;
        let mut chunk = me;
        while chunk < chunks {
            let partial = partials.from(2 * chunk as usize);
            best = first(best, (partial.get(0u32), partial.get(1u32)));
            chunk += BLOCK as u32;
        }
        let best = shared.block.reduce(best, NOBODY, first);
        if me == 0 {
            result.set(0u32, best.1);
        }
    }
}

device_std::ptx_module! { "reduce" }
