//! Scans along the columns of a row-major grid: crate `gpu-scan`.
//!
//! Each column is cut into chunks of the same number of rows, and a thread has one chunk of one column. Neighbouring
//! threads have neighbouring columns, so every access is as wide as a warp. The plan:
//!
//! 1. [`mod@sums`]: each thread adds up its chunk. The sums are a grid as wide, with a row
//!    for each chunk.
//! 2. [`mod@scan`] on that grid, exclusive, with one chunk: what comes before each chunk.
//! 3. [`mod@scan`] of the chunks, each from what comes before it.
//!
//! So each element is read twice and written once; with one chunk, it is read only once. Backward, rows are counted
//! from the last.
//!
//! Elements are combined in a fixed order: row after row within a chunk, then chunk after chunk.

use device_std::scalar::Scalar;
use device_std::{In, Out, arguments, kernel, thread, vector};

use super::operators::{BACKWARD, EXCLUSIVE, Last, Least, Operator, Sum};

/// Threads of a block.
pub const BLOCK: usize = 256;

/// How many threads keep a large GPU's memory busy.
const THREADS: u64 = 1 << 18;

/// The least number of rows of a chunk, so that sums are a small part of the memory traffic.
const LEAST_ROWS: u64 = 32;

/// The most chunks of a column: one thread visits all of their sums.
const MAX_CHUNKS: u64 = 1024;

/// Rows that a thread has in flight at once.
const BATCH: usize = 8;

/// Rows of a chunk, and chunks of a column.
pub const fn chunks(width: u32, height: u32) -> (u32, u32) {
    if width == 0 || height == 0 {
        return (1, 0);
    }
    let mut chunks = THREADS.div_ceil(width as u64);
    if chunks > MAX_CHUNKS {
        chunks = MAX_CHUNKS;
    }
    let mut rows = (height as u64).div_ceil(chunks);
    if rows < LEAST_ROWS {
        rows = LEAST_ROWS;
    }
    (rows as u32, (height as u64).div_ceil(rows) as u32)
}

/// A grid whose columns are scanned, in chunks.
#[arguments]
pub struct Grid {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Rows of a chunk.
    pub rows: u32,
    /// [`EXCLUSIVE`] and [`BACKWARD`], or neither.
    pub mode: u32,
}

/// A thread's part of a column.
struct Chunk<O> {
    operator: O,
    /// The first element, and elements from a row to the next, wrapping.
    first: u64,
    step: u64,
    rows: u32,
    /// The index of the chunk's sum.
    place: u64,
}

impl<O: Copy> Chunk<O> {
    /// This thread's chunk; `None` for threads beyond the last.
    #[inline(always)]
    fn new(operator: O, Grid { width, height, rows, mode }: Grid) -> Option<Self> {
        let backward = mode & BACKWARD != 0;
        let place = thread::index_1d();
        let chunk = place.checked_div(width as u64).unwrap_or(0);
        let column = place - chunk * width as u64;
        let row = chunk * rows as u64;
        if width == 0 || row >= height as u64 {
            return None;
        }
        let rows = u64::min(rows as u64, height as u64 - row) as u32;
        let row = if backward { height as u64 - 1 - row } else { row };
        let step = if backward { (width as u64).wrapping_neg() } else { width as u64 };
        Some(Self { operator, first: row * width as u64 + column, step, rows, place })
    }

    /// Calls `take` for each element, row after row, with its index and its lifted value.
    #[inline(always)]
    fn for_each<T: Scalar>(&self, input: In<T>, mut take: impl FnMut(u64, T))
    where
        O: Operator<T>,
    {
        let (mut at, mut row) = (self.first, 0);
        while row + BATCH as u32 <= self.rows {
            let mut batch = [T::from_bits64(0); BATCH];
            let mut i = 0;
            while i < BATCH {
                let from = at.wrapping_add(self.step.wrapping_mul(i as u64));
                batch[i] = input.get(from);
                i += 1;
            }
            let mut i = 0;
            while i < BATCH {
                take(at, self.operator.lift(batch[i]));
                at = at.wrapping_add(self.step);
                i += 1;
            }
            row += BATCH as u32;
        }
        while row < vector::unknown(self.rows) {
            take(at, self.operator.lift(input.get(at)));
            at = at.wrapping_add(self.step);
            row += 1;
        }
    }
}

/// Writes the sums of the chunks, one row of sums after the other. Grid: a thread for each chunk of each column.
///
/// # Safety
/// `input` has an element for each cell of the grid. `output` is a grid of the same width with a row for each chunk,
/// and does not overlap `input`.
#[kernel(block = BLOCK, resident = 6, instances(
    sum_u8: <u8, Sum>;
    sum_u16: <u16, Sum>;
    sum_u32: <u32, Sum>;
    sum_u64: <u64, Sum>, resident = 4;
    sum_f32: <f32, Sum>;
    sum_f64: <f64, Sum>, resident = 4;
    least_u8: <u8, Least<u8>>;
    least_u16: <u16, Least<u16>>, resident = 4;
    least_u32: <u32, Least<u32>>;
    least_u64: <u64, Least<u64>>, resident = 4;
    last_u8: <u8, Last<u8>>;
    last_u16: <u16, Last<u16>>;
    last_u32: <u32, Last<u32>>;
    last_u64: <u64, Last<u64>>, resident = 4;
))]
pub unsafe fn sums<T: Scalar, O: Operator<T>>(
    input: In<'_, T>,
    output: Out<'_, T>,
    grid: Grid,
    parameters: [u64; 4],
) {
    let operator = O::new(parameters);
    if let Some(chunk) = Chunk::new(operator, grid) {
        let mut sum = operator.identity();
        chunk.for_each(input, |_, element| sum = operator.combine(sum, element));
        output.set(chunk.place, operator.lower(sum));
    }
}

/// Writes the scans of the chunks, each after the combination of the chunks before it. Grid: a thread for each chunk of
/// each column.
///
/// # Safety
/// `input` and `output` have an element for each cell of the grid, and are the same array or do not overlap. `before`
/// has a value for each chunk of each column. It may be missing if each column has one chunk.
#[kernel(block = BLOCK, resident = 6, instances(
    sum_u8: <u8, Sum>;
    sum_u16: <u16, Sum>;
    sum_u32: <u32, Sum>;
    sum_u64: <u64, Sum>, resident = 4;
    sum_f32: <f32, Sum>;
    sum_f64: <f64, Sum>, resident = 4;
    least_u8: <u8, Least<u8>>;
    least_u16: <u16, Least<u16>>, resident = 4;
    least_u32: <u32, Least<u32>>;
    least_u64: <u64, Least<u64>>, resident = 4;
    last_u8: <u8, Last<u8>>;
    last_u16: <u16, Last<u16>>;
    last_u32: <u32, Last<u32>>;
    last_u64: <u64, Last<u64>>, resident = 4;
))]
pub unsafe fn scan<T: Scalar, O: Operator<T>>(
    input: In<'_, T>,
    output: Out<'_, T>,
    before: Option<In<'_, T>>,
    grid: Grid,
    initial: T,
    parameters: [u64; 4],
) {
    let operator = O::new(parameters);
    if let Some(chunk) = Chunk::new(operator, grid) {
        let initial = operator.lift(initial);
        let mut sum = operator.identity();
        if let Some(before) = before {
            sum = operator.lift(before.get(chunk.place));
        }
        // In place, an element is read before it is written.
        chunk.for_each(input, |at, element| {
            let until = operator.combine(initial, sum);
            sum = operator.combine(sum, element);
            let value = if grid.mode & EXCLUSIVE != 0 { until } else { sum };
            output.set(at, operator.lower(value));
        });
    }
}

device_std::ptx_module! { "columns" }
