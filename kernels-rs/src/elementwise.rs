//! Primitives in which elements do not meet: fill, sequence, adjacent difference, gather, scatter,
//! transpose. Crate `gpu-scan`.
//!
//! They run at the speed of a copy: 16 bytes a thread and instruction where elements lie side by
//! side, several of them under way at once; elsewhere several elements a thread.

use device_std::scalar::Scalar;
use device_std::shared::{Carver, SharedArray};
use device_std::tile::Tile;
use device_std::{kernel, thread};

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
unsafe fn write<T: Scalar>(output: *mut T, len: u64, value: impl Fn(u64) -> T) {
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
        // SAFETY: passed on to the caller.
        unsafe { tile.store(output, row, vector) };
        row += 1;
    }
}

/// `output[i] = input[i] - input[i - 1]`, and the first element as it is.
#[inline(always)]
unsafe fn difference<T: Arithmetic>(input: *const T, output: *mut T, len: u64) {
    let tile = Tile::<T, ROWS>::new::<BLOCK>(thread::block_idx_x() as u64, len, false);
    // SAFETY: the caller's arrays have `len` elements; the element before is in the array.
    unsafe {
        let rows = tile.load(input, T::from_bits64(0));
        let mut row = 0;
        while row < ROWS {
            let first = tile.element(row);
            let in_array = first > 0 && first < len;
            let mut before =
                if in_array { *input.add(first as usize - 1) } else { T::from_bits64(0) };
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
}

/// Calls `work` for the elements that fall to the thread, one in each of [`ITEMS`] rows.
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

/// Side of the square that a block of a transposition moves.
pub const SIDE: u32 = 32;

/// Rows of the square that a warp has under way.
const SQUARE_ROWS: u32 = SIDE * SIDE / BLOCK as u32;

/// Moves one square through shared memory, in rows that are one element longer than the square, so
/// that its columns lie in different banks.
#[inline(always)]
unsafe fn transpose<T: Scalar>(input: *const T, output: *mut T, width: u32, height: u32) {
    let square = Carver::new().array::<T>(SIDE * (SIDE + 1));
    let column = thread::thread_idx_x() & (SIDE - 1);
    let row = thread::thread_idx_x() / SIDE;
    let (left, top) = (thread::block_idx_x() * SIDE, thread::block_idx_y() * SIDE);
    let mut i = 0;
    // SAFETY: reads and writes are guarded by the raster's sides; the barrier stands between.
    unsafe {
        while i < SQUARE_ROWS {
            let (r, x, y) = (row + i * 8, left + column, top + row + i * 8);
            if x < width && y < height {
                square.store(
                    r * (SIDE + 1) + column,
                    *input.add(y as usize * width as usize + x as usize),
                );
            }
            i += 1;
        }
        thread::sync_threads();
        i = 0;
        while i < SQUARE_ROWS {
            // In the result the old row is the column.
            let (r, x, y) = (row + i * 8, top + column, left + row + i * 8);
            if x < height && y < width {
                *output.add(y as usize * height as usize + x as usize) =
                    square.load(column * (SIDE + 1) + r);
            }
            i += 1;
        }
    }
}

/// Bytes of shared memory of a transposition.
pub const fn transpose_shared<T: device_std::shared::Plain>() -> u32 {
    let mut carver = Carver::new();
    let _: SharedArray<T> = carver.array(SIDE * (SIDE + 1));
    carver.bytes()
}

/// The kernels that move elements of one size.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Moves: Copy {
    /// Every element becomes a value: output, length, value.
    const FILL: device_std::host::Kernel<(*mut Self, u64, Self)>;
    /// `output[i] = input[indices[i]]`: indices, length, input and its length, output.
    const GATHER: device_std::host::Kernel<(*const u32, u64, *const Self, u64, *mut Self)>;
    /// The same with long indices.
    const GATHER_LONG: device_std::host::Kernel<(*const u64, u64, *const Self, u64, *mut Self)>;
    /// `output[indices[i]] = input[i]`: indices, length, input, output and its length.
    const SCATTER: device_std::host::Kernel<(*const u32, u64, *const Self, *mut Self, u64)>;
    /// The same with long indices.
    const SCATTER_LONG: device_std::host::Kernel<(*const u64, u64, *const Self, *mut Self, u64)>;
    /// Rows become columns: input, output, width, height.
    const TRANSPOSE: device_std::host::Kernel<(*const Self, *mut Self, u32, u32)>;
}

macro_rules! moves {
    ($($type:ty: $fill:ident, $gather:ident, $gather_long:ident, $scatter:ident,
        $scatter_long:ident, $transpose:ident;)+) => {$(
        /// Fills. Grid: one block a tile of [`tile_len`].
        ///
        /// # Safety
        /// `output` has `len` elements.
        #[kernel(block = 256)]
        pub unsafe fn $fill(output: *mut $type, len: u64, value: $type) {
            // SAFETY: passed on to the caller.
            unsafe { write(output, len, |_| value) }
        }
        moves! { @gather $gather, $type, u32 }
        moves! { @gather $gather_long, $type, u64 }
        moves! { @scatter $scatter, $type, u32 }
        moves! { @scatter $scatter_long, $type, u64 }
        /// Transposes. Grid: one block a square of [`SIDE`], x over columns, y over rows.
        ///
        /// # Safety
        /// Both arrays have `width * height` elements.
        #[kernel(block = 256)]
        pub unsafe fn $transpose(
            input: *const $type,
            output: *mut $type,
            width: u32,
            height: u32,
        ) {
            // SAFETY: passed on to the caller.
            unsafe { transpose(input, output, width, height) }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        impl Moves for $type {
            const FILL: device_std::host::Kernel<(*mut $type, u64, $type)> = $fill;
            const GATHER: device_std::host::Kernel<
                (*const u32, u64, *const $type, u64, *mut $type),
            > = $gather;
            const GATHER_LONG: device_std::host::Kernel<
                (*const u64, u64, *const $type, u64, *mut $type),
            > = $gather_long;
            const SCATTER: device_std::host::Kernel<
                (*const u32, u64, *const $type, *mut $type, u64),
            > = $scatter;
            const SCATTER_LONG: device_std::host::Kernel<
                (*const u64, u64, *const $type, *mut $type, u64),
            > = $scatter_long;
            const TRANSPOSE: device_std::host::Kernel<(*const $type, *mut $type, u32, u32)> =
                $transpose;
        }
    )+};
    (@gather $name:ident, $type:ty, $index:ty) => {
        /// Gathers; an index beyond the input writes nothing. Grid: blocks of [`MOVED`] elements.
        ///
        /// # Safety
        /// `indices` and `output` have `len` elements, `input` has `input_len`.
        #[kernel(block = 256)]
        pub unsafe fn $name(
            indices: *const $index,
            len: u64,
            input: *const $type,
            input_len: u64,
            output: *mut $type,
        ) {
            // SAFETY: guarded by the lengths.
            for_each(len, |i| unsafe {
                let from = (*indices.add(i as usize)).wide();
                if from < input_len {
                    *output.add(i as usize) = *input.add(from as usize);
                }
            });
        }
    };
    (@scatter $name:ident, $type:ty, $index:ty) => {
        /// Scatters; an index beyond the output writes nothing. Grid: blocks of [`MOVED`] elements.
        ///
        /// # Safety
        /// `indices` and `input` have `len` elements, `output` has `output_len`.
        #[kernel(block = 256)]
        pub unsafe fn $name(
            indices: *const $index,
            len: u64,
            input: *const $type,
            output: *mut $type,
            output_len: u64,
        ) {
            // SAFETY: guarded by the lengths.
            for_each(len, |i| unsafe {
                let to = (*indices.add(i as usize)).wide();
                if to < output_len {
                    *output.add(to as usize) = *input.add(i as usize);
                }
            });
        }
    };
}

moves! {
    u8: fill_u8, gather_u8, gather_long_u8, scatter_u8, scatter_long_u8, transpose_u8;
    u16: fill_u16, gather_u16, gather_long_u16, scatter_u16, scatter_long_u16, transpose_u16;
    u32: fill_u32, gather_u32, gather_long_u32, scatter_u32, scatter_long_u32, transpose_u32;
    u64: fill_u64, gather_u64, gather_long_u64, scatter_u64, scatter_long_u64, transpose_u64;
}

/// The kernels with arithmetic.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Steps: Copy {
    /// `output[i] = start + i * step`: output, length, start, step.
    const SEQUENCE: device_std::host::Kernel<(*mut Self, u64, Self, Self)>;
    /// `output[i] = input[i] - input[i - 1]`: input, output, length.
    const DIFFERENCE: device_std::host::Kernel<(*const Self, *mut Self, u64)>;
}

macro_rules! steps {
    ($($type:ty: $sequence:ident, $difference:ident;)+) => {$(
        /// A sequence. Grid: one block a tile of [`tile_len`].
        ///
        /// # Safety
        /// `output` has `len` elements.
        #[kernel(block = 256)]
        pub unsafe fn $sequence(output: *mut $type, len: u64, start: $type, step: $type) {
            // SAFETY: passed on to the caller.
            unsafe { write(output, len, |i| <$type as Arithmetic>::step(start, step, i)) }
        }
        /// Adjacent differences. Grid: one block a tile of [`tile_len`].
        ///
        /// # Safety
        /// Both arrays have `len` elements and are apart.
        #[kernel(block = 256)]
        pub unsafe fn $difference(input: *const $type, output: *mut $type, len: u64) {
            // SAFETY: passed on to the caller.
            unsafe { difference(input, output, len) }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        impl Steps for $type {
            const SEQUENCE: device_std::host::Kernel<(*mut $type, u64, $type, $type)> = $sequence;
            const DIFFERENCE: device_std::host::Kernel<(*const $type, *mut $type, u64)> =
                $difference;
        }
    )+};
}

steps! {
    u8: sequence_u8, difference_u8;
    u16: sequence_u16, difference_u16;
    u32: sequence_u32, difference_u32;
    u64: sequence_u64, difference_u64;
    f32: sequence_f32, difference_f32;
    f64: sequence_f64, difference_f64;
}

device_std::ptx_module! {
    "elementwise":
    fill_u8, fill_u16, fill_u32, fill_u64, gather_u8, gather_u16, gather_u32, gather_u64,
    gather_long_u8, gather_long_u16, gather_long_u32, gather_long_u64, scatter_u8, scatter_u16,
    scatter_u32, scatter_u64, scatter_long_u8, scatter_long_u16, scatter_long_u32,
    scatter_long_u64, transpose_u8, transpose_u16, transpose_u32, transpose_u64, sequence_u8,
    sequence_u16, sequence_u32, sequence_u64, sequence_f32, sequence_f64, difference_u8,
    difference_u16, difference_u32, difference_u64, difference_f32, difference_f64
}
