//! Scans along the columns of a row-major grid: crate `gpu-scan`.
//!
//! Each column is cut into chunks of as many rows, and a thread has one chunk of one column:
//! neighbouring threads have neighbouring columns, so every access is as wide as a warp. The plan:
//!
//! 1. [`ColumnScans::SUMS`]: each thread adds up its chunk. The sums are a grid as wide, with a row
//!    for each chunk.
//! 2. [`ColumnScans::SCAN`] on that grid, exclusive, with one chunk: what comes before each chunk.
//! 3. [`ColumnScans::SCAN`] of the chunks, each from what comes before it.
//!
//! So each element is read twice and written once; with one chunk, only once. Backward, rows are
//! counted from the last.
//!
//! The order of combination is plain: within a chunk one row after the other, and the chunks one
//! after the other.

use device_std::scalar::Scalar;
use device_std::{kernel, thread, vector};

use crate::operators::{BACKWARD, EXCLUSIVE, Last, Least, Operator, Sum};

/// Threads of a block.
pub const BLOCK: usize = 256;

/// Threads that are enough to keep a large GPU's memory busy.
const THREADS: u64 = 1 << 18;

/// Rows of a chunk, at least: sums are a small part of what is read and written.
const LEAST_ROWS: u64 = 32;

/// The most chunks of a column: one thread goes over their sums.
const MOST_CHUNKS: u64 = 1024;

/// Rows that a thread has under way at once.
const BATCH: usize = 8;

/// Rows of a chunk, and chunks of a column.
pub const fn chunks(width: u32, height: u32) -> (u32, u32) {
    if width == 0 || height == 0 {
        return (1, 0);
    }
    let mut chunks = THREADS.div_ceil(width as u64);
    if chunks > MOST_CHUNKS {
        chunks = MOST_CHUNKS;
    }
    let mut rows = (height as u64).div_ceil(chunks);
    if rows < LEAST_ROWS {
        rows = LEAST_ROWS;
    }
    (rows as u32, (height as u64).div_ceil(rows) as u32)
}

/// A thread's part of a column.
struct Chunk<O> {
    operator: O,
    /// The first element, and elements from a row to the next, wrapping.
    first: u64,
    step: u64,
    rows: u32,
    /// Which of the sums is the chunk's.
    place: u64,
}

impl<O: Copy> Chunk<O> {
    /// This thread's; none beyond the last.
    #[inline(always)]
    fn new(operator: O, (width, height, rows): (u32, u32, u32), backward: bool) -> Option<Self> {
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

    /// Calls `take` with each element, lifted, and where it lies, row after row.
    #[inline(always)]
    unsafe fn for_each<T: Scalar>(&self, input: *const T, mut take: impl FnMut(u64, T))
    where
        O: Operator<T>,
    {
        let (mut at, mut row) = (self.first, 0);
        // SAFETY: the chunk's rows are in the caller's grid.
        unsafe {
            while row + BATCH as u32 <= self.rows {
                let mut batch = [T::from_bits64(0); BATCH];
                let mut i = 0;
                while i < BATCH {
                    let from = at.wrapping_add(self.step.wrapping_mul(i as u64));
                    batch[i] = *input.wrapping_add(from as usize);
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
                take(at, self.operator.lift(*input.wrapping_add(at as usize)));
                at = at.wrapping_add(self.step);
                row += 1;
            }
        }
    }
}

/// The sum of each chunk.
#[inline(always)]
unsafe fn sums<T: Scalar, O: Operator<T>>(
    (input, output): (*const T, *mut T),
    shape: (u32, u32, u32),
    mode: u32,
    operator: O,
) {
    if let Some(chunk) = Chunk::new(operator, shape, mode & BACKWARD != 0) {
        let mut sum = operator.identity();
        // SAFETY: passed on to the caller.
        unsafe {
            chunk.for_each(input, |_, element| sum = operator.combine(sum, element));
            *output.add(chunk.place as usize) = operator.lower(sum);
        }
    }
}

/// The scan of each chunk, after what comes before it.
#[inline(always)]
unsafe fn scan<T: Scalar, O: Operator<T>>(
    (input, output, before): (*const T, *mut T, *const T),
    shape: (u32, u32, u32),
    (mode, initial): (u32, T),
    operator: O,
) {
    if let Some(chunk) = Chunk::new(operator, shape, mode & BACKWARD != 0) {
        let initial = operator.lift(initial);
        let mut sum = operator.identity();
        // SAFETY: passed on to the caller; an element is read before it is written.
        unsafe {
            if !before.is_null() {
                sum = operator.lift(*before.add(chunk.place as usize));
            }
            chunk.for_each(input, |at, element| {
                let until = operator.combine(initial, sum);
                sum = operator.combine(sum, element);
                let value = if mode & EXCLUSIVE != 0 { until } else { sum };
                *output.wrapping_add(at as usize) = operator.lower(value);
            });
        }
    }
}

/// What the kernels take: input, output, what comes before each chunk (null with one chunk, and
/// where sums are taken); width, height and rows of a chunk; mode as in the scans, initial value,
/// the operator's parameters.
#[cfg(not(target_arch = "nvptx64"))]
pub type Arguments<T> = (*const T, *mut T, *const T, u32, u32, u32, u32, T, u64, u64, u64, u64);

/// The kernels of an operator over elements of one type.
#[cfg(not(target_arch = "nvptx64"))]
pub trait ColumnScans<T: Copy>: Operator<T> {
    /// The sums of the chunks.
    const SUMS: device_std::host::Kernel<Arguments<T>>;
    /// The scans of the chunks.
    const SCAN: device_std::host::Kernel<Arguments<T>>;
}

macro_rules! columns {
    ($($sums:ident, $scan:ident: $type:ty, $operator:ty, $resident:literal;)+) => {
        $(
            columns! { @kernel $sums, $type, $operator, $resident,
                |(input, output, _), shape, mode, operator| sums((input, output), shape, mode.0, operator),
                "The sums of the chunks, one row of sums after the other." }
            columns! { @kernel $scan, $type, $operator, $resident,
                |arrays, shape, mode, operator| scan(arrays, shape, mode, operator),
                "The scans of the chunks. Input and output are the same grid or apart." }
            #[cfg(not(target_arch = "nvptx64"))]
            impl ColumnScans<$type> for $operator {
                const SUMS: device_std::host::Kernel<Arguments<$type>> = $sums;
                const SCAN: device_std::host::Kernel<Arguments<$type>> = $scan;
            }
        )+
        device_std::ptx_module! { "columns": $($sums, $scan),+ }
    };
    (@kernel $name:ident, $type:ty, $operator:ty, $resident:literal,
        |$arrays:pat_param, $shape:ident, $mode:ident, $op:ident| $body:expr, $about:literal) => {
        #[doc = $about]
        ///
        /// Grid: a thread for each chunk of each column.
        ///
        /// # Safety
        /// `input` is a grid of `width` columns and `height` rows; the output one as large, or of
        /// as many rows as chunks; `before` null, or a value for each chunk of each column.
        #[kernel(block = 256, resident = $resident)]
        pub unsafe fn $name(
            input: *const $type,
            output: *mut $type,
            before: *const $type,
            width: u32,
            height: u32,
            rows: u32,
            mode: u32,
            initial: $type,
            parameter_0: u64,
            parameter_1: u64,
            parameter_2: u64,
            parameter_3: u64,
        ) {
            let parameters = [parameter_0, parameter_1, parameter_2, parameter_3];
            let $op = <$operator as Operator<$type>>::new(parameters);
            let $arrays = (input, output, before);
            let ($shape, $mode) = ((width, height, rows), (mode, initial));
            // SAFETY: passed on to the caller.
            unsafe { $body }
        }
    };
}

// Columns: kernels; type and operator; blocks on a multiprocessor, at least.
columns! {
    column_sums_u8, column_scan_sum_u8: u8, Sum, 6;
    column_sums_u16, column_scan_sum_u16: u16, Sum, 6;
    column_sums_u32, column_scan_sum_u32: u32, Sum, 6;
    column_sums_u64, column_scan_sum_u64: u64, Sum, 4;
    column_sums_f32, column_scan_sum_f32: f32, Sum, 6;
    column_sums_f64, column_scan_sum_f64: f64, Sum, 4;
    column_leasts_u8, column_scan_least_u8: u8, Least<u8>, 6;
    column_leasts_u16, column_scan_least_u16: u16, Least<u16>, 4;
    column_leasts_u32, column_scan_least_u32: u32, Least<u32>, 6;
    column_leasts_u64, column_scan_least_u64: u64, Least<u64>, 4;
    column_lasts_u8, column_scan_last_u8: u8, Last<u8>, 6;
    column_lasts_u16, column_scan_last_u16: u16, Last<u16>, 6;
    column_lasts_u32, column_scan_last_u32: u32, Last<u32>, 6;
    column_lasts_u64, column_scan_last_u64: u64, Last<u64>, 4;
}
