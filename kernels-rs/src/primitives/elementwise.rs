//! Primitives that treat each element by itself: fill, sequence, adjacent difference, gather, scatter, transpose. Crate
//! `gpu-scan`.
//!
//! They run at the speed of a copy. Where elements lie side by side, an instruction moves 16 bytes a thread, and a
//! thread has several instructions in flight. Elsewhere a thread moves several elements.

use device_std::scalar::Scalar;
use device_std::shared::{Carver, Plain, SharedArray};
use device_std::tile::Tile;
use device_std::{In, Out, kernel, thread};

/// Threads of a block.
pub const BLOCK: usize = 256;

/// Rows of a tile.
const ROWS: usize = 4;

/// Elements that a thread of a gather or scatter moves.
const ITEMS: u32 = 4;

/// Elements that a block of a gather or scatter moves.
pub const MOVED: u64 = BLOCK as u64 * ITEMS as u64;

/// Elements of a tile.
pub const fn tile_len(element_size: usize) -> u64 {
    (BLOCK * ROWS * 16 / element_size) as u64
}

/// Numbers with the arithmetic of sequences and differences; integers wrap.
pub trait Arithmetic: Scalar {
    /// `start + i * step`.
    fn step(start: Self, step: Self, i: u64) -> Self;
    /// `self - other`.
    fn minus(self, other: Self) -> Self;
}

macro_rules! arithmetic {
    (integers $($int:ty)+; floats $($float:ty)+) => {
        $(impl Arithmetic for $int {
            #[inline(always)]
            fn step(start: Self, step: Self, i: u64) -> Self {
                start.wrapping_add(step.wrapping_mul(i as Self))
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
        })+
        $(impl Arithmetic for $float {
            #[inline(always)]
            fn step(start: Self, step: Self, i: u64) -> Self {
                start + step * i as Self
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self - other
            }
        })+
    };
}

arithmetic! { integers u8 u16 u32 u64; floats f32 f64 }

/// Writes `value(i)` to each element i of one tile.
#[inline(always)]
fn write<T: Scalar>(output: Out<T>, len: u64, value: impl Fn(u64) -> T) {
    let tile = Tile::<T, ROWS>::new::<BLOCK>(thread::block_idx_x() as u64, len, false);
    let mut row = 0;
    while row < ROWS {
        let first = tile.element(row);
        let mut vector = [0; 4];
        let mut i = 0;
        while i < T::LANES {
            value(first + i as u64).put(&mut vector, i);
            i += 1;
        }
        tile.store(output, row, vector);
        row += 1;
    }
}

/// Sets every element to a value. Grid: one block a tile of [`tile_len`].
///
/// # Safety
/// `output` has `len` elements.
#[kernel(block = BLOCK, instances(u8: <u8>; u16: <u16>; u32: <u32>; u64: <u64>))]
pub unsafe fn fill<T: Scalar>(output: Out<'_, T>, len: u64, value: T) {
    write(output, len, |_| value);
}

/// `output[i] = start + i * step`. Grid: one block a tile of [`tile_len`].
///
/// # Safety
/// `output` has `len` elements.
#[kernel(block = BLOCK, instances(
    u8: <u8>; u16: <u16>; u32: <u32>; u64: <u64>; f32: <f32>; f64: <f64>;
))]
pub unsafe fn sequence<T: Arithmetic>(output: Out<'_, T>, len: u64, start: T, step: T) {
    write(output, len, |i| T::step(start, step, i));
}

/// `output[i] = input[i] - input[i - 1]`, and the first element as it is. Grid: one block a tile of
/// [`tile_len`].
///
/// # Safety
/// Both arrays have `len` elements and are apart.
#[kernel(block = BLOCK, instances(
    u8: <u8>; u16: <u16>; u32: <u32>; u64: <u64>; f32: <f32>; f64: <f64>;
))]
pub unsafe fn difference<T: Arithmetic>(input: In<'_, T>, output: Out<'_, T>, len: u64) {
    let tile = Tile::<T, ROWS>::new::<BLOCK>(thread::block_idx_x() as u64, len, false);
    let rows = tile.load(input, T::from_bits64(0));
    let mut row = 0;
    while row < ROWS {
        let first = tile.element(row);
        let in_array = first > 0 && first < len;
        let mut before = if in_array { input.get(first - 1) } else { T::from_bits64(0) };
        let mut result = [0; 4];
        let mut i = 0;
        while i < T::LANES {
            let element = T::lane(rows[row], i);
            let is_first = first + i as u64 == 0;
            let value = if is_first { element } else { element.minus(before) };
            value.put(&mut result, i);
            before = element;
            i += 1;
        }
        tile.store(output, row, result);
        row += 1;
    }
}

/// Calls `work` for the thread's elements, one in each of [`ITEMS`] rows.
#[inline(always)]
fn for_each(len: u64, mut work: impl FnMut(u64)) {
    let first = thread::block_idx_x() as u64 * MOVED + thread::thread_idx_x() as u64;
    let mut item = 0;
    while item < ITEMS {
        let i = first + (item * BLOCK as u32) as u64;
        if i < len {
            work(i);
        }
        item += 1;
    }
}

/// An index into an array.
pub trait Index: Copy {
    /// As 64 bits.
    fn wide(self) -> u64;
}

impl Index for u32 {
    #[inline(always)]
    fn wide(self) -> u64 {
        self as u64
    }
}

impl Index for u64 {
    #[inline(always)]
    fn wide(self) -> u64 {
        self
    }
}

/// `output[i] = input[indices[i]]`; an index beyond the input writes nothing. Grid: blocks of
/// [`MOVED`] elements.
///
/// # Safety
/// `indices` and `output` have `len` elements, `input` has `input_len`; the output is apart from the others.
#[kernel(block = BLOCK, instances(
    u8: <u32, u8>; u16: <u32, u16>; u32: <u32, u32>; u64: <u32, u64>;
    long_u8: <u64, u8>; long_u16: <u64, u16>; long_u32: <u64, u32>; long_u64: <u64, u64>;
))]
pub unsafe fn gather<I: Index, T: Scalar>(
    indices: In<'_, I>,
    len: u64,
    input: In<'_, T>,
    input_len: u64,
    output: Out<'_, T>,
) {
    for_each(len, |i| {
        let from = indices.get(i).wide();
        if from < input_len {
            output.set(i, input.get(from));
        }
    });
}

/// `output[indices[i]] = input[i]`; an index beyond the output writes nothing. Grid: blocks of
/// [`MOVED`] elements.
///
/// # Safety
/// `indices` and `input` have `len` elements, `output` has `output_len` and is apart from the others.
/// Where indices below `output_len` are the same, one of their elements is written.
#[kernel(block = BLOCK, instances(
    u8: <u32, u8>; u16: <u32, u16>; u32: <u32, u32>; u64: <u32, u64>;
    long_u8: <u64, u8>; long_u16: <u64, u16>; long_u32: <u64, u32>; long_u64: <u64, u64>;
))]
pub unsafe fn scatter<I: Index, T: Scalar>(
    indices: In<'_, I>,
    len: u64,
    input: In<'_, T>,
    output: Out<'_, T>,
    output_len: u64,
) {
    for_each(len, |i| {
        let to = indices.get(i).wide();
        if to < output_len {
            output.set(to, input.get(i));
        }
    });
}

/// Side of the square that a block of a transposition moves.
pub const SIDE: u32 = 32;

/// Rows of the square that a warp has in flight.
const SQUARE_ROWS: u32 = SIDE * SIDE / BLOCK as u32;

/// The square in shared memory: its rows are one element longer, so that its columns lie in different
/// banks.
const fn square<T: Plain>(carver: &mut Carver) -> SharedArray<T> {
    carver.array(SIDE * (SIDE + 1))
}

/// Writes rows as columns. Grid: one block a square of [`SIDE`], x over columns, y over rows.
///
/// # Safety
/// Both arrays have `width * height` elements and are apart.
#[kernel(
    block = BLOCK,
    carve = |carver| square::<T>(carver),
    instances(u8: <u8>; u16: <u16>; u32: <u32>; u64: <u64>)
)]
pub unsafe fn transpose<T: Scalar>(input: In<'_, T>, output: Out<'_, T>, width: u32, height: u32) {
    let square = square::<T>(&mut Carver::new());
    let column = thread::thread_idx_x() & (SIDE - 1);
    let row = thread::thread_idx_x() / SIDE;
    let (left, top) = (thread::block_idx_x() * SIDE, thread::block_idx_y() * SIDE);
    let mut i = 0;
    // SAFETY: elements of the square are below its size, and each is written by one thread; the whole block comes to
    // the barrier, which stands between writes and reads.
    unsafe {
        while i < SQUARE_ROWS {
            let (r, x, y) = (row + i * 8, left + column, top + row + i * 8);
            if x < width && y < height {
                let element = input.get(y as usize * width as usize + x as usize);
                square.store(r * (SIDE + 1) + column, element);
            }
            i += 1;
        }
        thread::sync_threads();
        i = 0;
        while i < SQUARE_ROWS {
            // In the result the old row is the column.
            let (r, x, y) = (row + i * 8, top + column, left + row + i * 8);
            if x < height && y < width {
                let element = square.load(column * (SIDE + 1) + r);
                output.set(y as usize * height as usize + x as usize, element);
            }
            i += 1;
        }
    }
}

/// Element types that these primitives move: one of every size.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Moves:
    Copy
    + fill::Instance
    + gather::Instance<u32>
    + gather::Instance<u64>
    + scatter::Instance<u32>
    + scatter::Instance<u64>
    + transpose::Instance
{
}

#[cfg(not(target_arch = "nvptx64"))]
impl Moves for u8 {}
#[cfg(not(target_arch = "nvptx64"))]
impl Moves for u16 {}
#[cfg(not(target_arch = "nvptx64"))]
impl Moves for u32 {}
#[cfg(not(target_arch = "nvptx64"))]
impl Moves for u64 {}

device_std::ptx_module! { "elementwise" }
