//! A tile: the elements that a block holds in registers at once.
//!
//! A warp holds `ROWS` rows; a row is one [`Vector`] of 16 bytes a lane, so
//! each row is read and written by one instruction of the warp, without a gap. The warps' rows
//! follow each other: element `i` of the vector of lane `l` in row `r` of warp `w` is element
//! `(((w * ROWS + r) * 32) + l) * LANES + i` of the tile.
//!
//! Backward, the same tile is laid over the array from its end: the first vector is the array's
//! last, and the elements within a vector are reversed. Where the length is no multiple of the
//! vector's, the array is thought to be continued up to one by elements that do not count.

use core::marker::PhantomData;

use crate::scalar::{Scalar, reversed};
use crate::shared::SharedArray;
use crate::vector::{self, Vector};
use crate::warp;

/// Where a thread's vectors of a tile lie in an array.
pub struct Tile<T, const ROWS: usize> {
    /// The element with which the thread's first vector, that of row 0, begins in memory.
    first: u64,
    /// Elements from a row to the next, wrapping: backward it goes down.
    step: u64,
    /// Elements of the array.
    len: u64,
    backward: bool,
    /// Whether no vector of the tile reaches beyond the array.
    whole: bool,
    element: PhantomData<T>,
}

impl<T: Scalar, const ROWS: usize> Tile<T, ROWS> {
    /// Tile `index` of an array of `len` elements, in blocks of `BLOCK` threads.
    #[inline(always)]
    pub fn new<const BLOCK: usize>(index: u64, len: u64, backward: bool) -> Self {
        let lanes = T::LANES as u64;
        let vectors = (BLOCK * ROWS) as u64;
        let in_tile = warp::warp_id() * (ROWS * 32) as u32 + warp::lane_id();
        let from_start = (index * vectors + in_tile as u64) * lanes;
        let last = (len.wrapping_sub(1) / lanes) * lanes;
        let row = 32 * lanes;
        // Backward, the vector that reaches over the end is the first; forward, it is the last.
        let whole =
            (index + 1) * vectors * lanes <= len && (!backward || len.is_multiple_of(lanes));
        Self {
            // Wraps to beyond the length before the array's start.
            first: if backward { last.wrapping_sub(from_start) } else { from_start },
            step: if backward { row.wrapping_neg() } else { row },
            len,
            backward,
            whole,
            element: PhantomData,
        }
    }

    /// The array's element with which the vector of row `row` begins in memory; beyond the length
    /// where the tile reaches over the end.
    #[inline(always)]
    pub fn element(&self, row: usize) -> u64 {
        self.first.wrapping_add(self.step.wrapping_mul(row as u64))
    }

    /// Reads the rows, in the order of the scan; what lies beyond the array is `fill`.
    ///
    /// # Safety
    /// `array` has as many elements as the tile was made for, and nobody writes them meanwhile.
    #[inline(always)]
    pub unsafe fn load(&self, array: *const T, fill: T) -> [Vector; ROWS] {
        let mut rows = [[0; 4]; ROWS];
        // The condition is the same in the whole block. Without a branch between them all loads
        // of the fast path are in flight together.
        if self.whole && vector::is_aligned(array) {
            let mut row = 0;
            while row < ROWS {
                // SAFETY: the tile is whole, and vectors start at multiples of 16 bytes.
                rows[row] = unsafe { vector::load(array.add(self.element(row) as usize).cast()) };
                row += 1;
            }
        } else {
            let mut row = 0;
            while row < ROWS {
                // SAFETY: passed on to the caller.
                rows[row] = unsafe { self.load_elements(array, self.element(row), fill) };
                row += 1;
            }
        }
        if self.backward {
            let mut row = 0;
            while row < ROWS {
                rows[row] = reversed::<T>(rows[row]);
                row += 1;
            }
        }
        rows
    }

    /// Begins to read the rows into shared memory, in the order of the tile (see
    /// [`own`](Self::own)), as they lie in memory; what lies beyond the array is `fill`. After
    /// [`wait_for_copies`](crate::shared::wait_for_copies) a thread's own are there:
    /// [`stashed`](Self::stashed) gives them.
    ///
    /// # Safety
    /// As [`load`](Self::load), and `stash` has `ROWS` elements for each thread.
    #[inline(always)]
    pub unsafe fn stash(&self, array: *const T, fill: T, stash: SharedArray<Vector>) {
        // SAFETY: as for `load`; the elements of the stash are the thread's own.
        unsafe {
            if self.is_fast(array) {
                let mut row = 0;
                while row < ROWS {
                    let from = array.wrapping_add(self.element(row) as usize);
                    stash.copy_from(Self::own(row), from.cast());
                    row += 1;
                }
            } else {
                let mut row = 0;
                while row < vector::unknown(ROWS as u32) {
                    let first = self.element(row as usize);
                    stash.store(Self::own(row as usize), self.load_elements(array, first, fill));
                    row += 1;
                }
            }
        }
    }

    /// Where the thread's vector of a row is in the stash: the tile's vectors follow each other.
    #[inline(always)]
    pub fn own(row: usize) -> u32 {
        let of_warp = warp::warp_id() * (ROWS * 32) as u32;
        of_warp + warp::lane_id() + row as u32 * 32
    }

    /// Whether no vector of the tile reaches beyond the array.
    #[inline(always)]
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Whether an array can be read and written by whole vectors.
    #[inline(always)]
    fn is_fast(&self, array: *const T) -> bool {
        self.whole && vector::is_aligned(array)
    }

    /// Writes a row, in the order of the scan; or, where that cannot be by a whole vector, puts it
    /// back into the stash for [`write_stashed`](Self::write_stashed).
    ///
    /// # Safety
    /// As [`stash`](Self::stash); no other thread touches the tile of `array` meanwhile.
    #[inline(always)]
    pub unsafe fn write(
        &self,
        array: *mut T,
        row: usize,
        vector: Vector,
        stash: SharedArray<Vector>,
    ) {
        let vector = if self.backward { reversed::<T>(vector) } else { vector };
        // SAFETY: the tile is whole, and vectors start at multiples of 16 bytes.
        unsafe {
            if self.is_fast(array) {
                vector::store(array.wrapping_add(self.element(row) as usize).cast(), vector);
            } else {
                stash.store(Self::own(row), vector);
            }
        }
    }

    /// Writes what [`write`](Self::write) left in the stash.
    ///
    /// # Safety
    /// As `write`, which has been called for every row.
    #[inline(always)]
    pub unsafe fn write_stashed(&self, array: *mut T, stash: SharedArray<Vector>) {
        if self.is_fast(array) {
            return;
        }
        let mut row = 0;
        while row < vector::unknown(ROWS as u32) {
            // SAFETY: the thread's own elements.
            unsafe {
                let vector = stash.load(Self::own(row as usize));
                self.store_elements(array, self.element(row as usize), vector);
            }
            row += 1;
        }
    }

    /// A row that [`stash`](Self::stash) read, in the order of the scan.
    ///
    /// # Safety
    /// As `stash`, after which the thread comes here.
    #[inline(always)]
    pub unsafe fn stashed(&self, stash: SharedArray<Vector>, row: usize) -> Vector {
        // SAFETY: the thread's own element.
        let vector = unsafe { stash.load(Self::own(row)) };
        if self.backward { reversed::<T>(vector) } else { vector }
    }

    /// A vector element by element; where there are many, by a loop, since this path is rare and
    /// its code should be small.
    #[inline(always)]
    unsafe fn load_elements(&self, array: *const T, first: u64, fill: T) -> Vector {
        let count = self.valid(first);
        let mut i = 0;
        if T::LANES <= 4 {
            let mut vector = [0; 4];
            while i < T::LANES as u32 {
                let mut element = fill;
                if i < count {
                    // SAFETY: `valid` elements follow `first`.
                    element = unsafe { *array.add((first + i as u64) as usize) };
                }
                element.put(&mut vector, i as usize);
                i += 1;
            }
            return vector;
        }
        let mut queue = Queue(0);
        while i < count {
            // SAFETY: as above.
            queue.push(unsafe { *array.add((first + i as u64) as usize) });
            i += 1;
        }
        while i < T::LANES as u32 {
            queue.push(fill);
            i += 1;
        }
        queue.into_vector()
    }

    /// How many elements of the vector that begins at element `first` are in the array.
    #[inline(always)]
    pub fn valid(&self, first: u64) -> u32 {
        if first >= self.len {
            return 0;
        }
        u64::min(self.len - first, T::LANES as u64) as u32
    }

    /// Writes a row back, in the order of the scan; nothing beyond the array.
    ///
    /// # Safety
    /// `array` has as many elements as the tile was made for, and no other thread touches the
    /// tile's meanwhile.
    #[inline(always)]
    pub unsafe fn store(&self, array: *mut T, row: usize, vector: Vector) {
        let vector = if self.backward { reversed::<T>(vector) } else { vector };
        let first = self.element(row);
        // SAFETY: as for the loads.
        unsafe {
            if self.whole && vector::is_aligned(array) {
                vector::store(array.add(first as usize).cast(), vector);
            } else {
                self.store_elements(array, first, vector);
            }
        }
    }

    #[inline(always)]
    unsafe fn store_elements(&self, array: *mut T, first: u64, vector: Vector) {
        let count = self.valid(first);
        let mut i = 0;
        if T::LANES <= 4 {
            while i < T::LANES as u32 {
                if i < count {
                    // SAFETY: `valid` elements follow `first`.
                    unsafe {
                        *array.add((first + i as u64) as usize) = T::lane(vector, i as usize)
                    };
                }
                i += 1;
            }
            return;
        }
        let mut queue = Queue::from_vector(vector);
        while i < count {
            // SAFETY: as above.
            unsafe { *array.add((first + i as u64) as usize) = queue.pop() };
            i += 1;
        }
    }

    /// The bits of the thread's vector in row `row`, from a bit array with one bit an element;
    /// bit `i` is that of the row's element `i` in the order of the scan. Zero beyond the array.
    ///
    /// # Safety
    /// `bits` has a bit for each element of the array, in whole words.
    #[inline(always)]
    pub unsafe fn load_bits(&self, bits: *const u32, row: usize) -> u32 {
        let first = self.element(row);
        if first >= self.len {
            return 0;
        }
        // SAFETY: guarded by the length; the bits of one vector never straddle two words.
        let word = unsafe { *bits.add((first / 32) as usize) } >> (first % 32) as u32;
        let count = T::LANES as u32;
        match self.backward {
            true => word.reverse_bits() >> (32 - count),
            false => word & ((1 << count) - 1),
        }
    }
}

/// A vector as a queue of its elements: an element is pushed at the high end, and popped at the low
/// end, so that loops need no index into registers.
struct Queue(u128);

impl Queue {
    #[inline(always)]
    fn push<T: Scalar>(&mut self, element: T) {
        let bits = 128 / T::LANES;
        self.0 = self.0 >> bits | (element.to_bits64() as u128) << (128 - bits);
    }

    #[inline(always)]
    fn pop<T: Scalar>(&mut self) -> T {
        let element = T::from_bits64(self.0 as u64);
        self.0 >>= 128 / T::LANES;
        element
    }

    #[inline(always)]
    fn into_vector(self) -> Vector {
        [self.0 as u32, (self.0 >> 32) as u32, (self.0 >> 64) as u32, (self.0 >> 96) as u32]
    }

    #[inline(always)]
    fn from_vector([a, b, c, d]: Vector) -> Self {
        Self(a as u128 | (b as u128) << 32 | (c as u128) << 64 | (d as u128) << 96)
    }
}
