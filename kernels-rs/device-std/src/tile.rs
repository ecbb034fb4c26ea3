//! A tile: the elements that a block holds in registers at once.
//!
//! A warp holds `ROWS` rows. A row is one [`Vector`] of 16 bytes a lane, so one instruction of the warp reads or writes
//! it, without a gap. The warps' rows follow each other: element `i` of the vector of lane `l` in row `r` of warp `w`
//! is element `(((w * ROWS + r) * 32) + l) * LANES + i` of the tile.
//!
//! Backward, the same tile is laid over the array from its end: the first vector is the array's last, and the elements
//! within a vector are reversed. If the length is not a multiple of a vector's, the array counts as continued to such a
//! multiple by elements that are ignored.

use core::marker::PhantomData;

use crate::scalar::{Scalar, reversed};
use crate::shared::SharedArray;
use crate::slice::{In, Out};
use crate::vector::{self, Vector};
use crate::warp;

/// Where a thread's vectors of a tile lie in an array.
pub struct Tile<T, const ROWS: usize> {
    /// The element in memory at which the thread's first vector, that of row 0, begins.
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
            // Before the array's start this wraps to a number beyond the length.
            first: if backward { last.wrapping_sub(from_start) } else { from_start },
            step: if backward { row.wrapping_neg() } else { row },
            len,
            backward,
            whole,
            element: PhantomData,
        }
    }

    /// The array's element at which the vector of row `row` begins in memory; beyond the length if the tile reaches
    /// over the end.
    #[inline(always)]
    pub fn element(&self, row: usize) -> u64 {
        self.first.wrapping_add(self.step.wrapping_mul(row as u64))
    }

    /// Reads the rows, in the order of the scan; elements beyond the array are `fill`. The array has as many elements
    /// as the tile was made for.
    #[inline(always)]
    pub fn load(&self, array: In<T>, fill: T) -> [Vector; ROWS] {
        let mut rows = [[0; 4]; ROWS];
        // The condition is the same in the whole block. Without a branch between them all loads
        // of the fast path are in flight together.
        if self.is_fast(array.start()) {
            let mut row = 0;
            while row < ROWS {
                rows[row] = array.get_vector(self.element(row));
                row += 1;
            }
        } else {
            let mut row = 0;
            while row < ROWS {
                rows[row] = self.load_elements(array, self.element(row), fill);
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

    /// Begins to copy the rows to shared memory as they lie in memory, in the order of the tile (see
    /// [`own`](Self::own)); elements beyond the array are `fill`. After
    /// [`wait_for_copies`](crate::shared::wait_for_copies) a thread can read its own rows by
    /// [`stashed`](Self::stashed).
    ///
    /// # Safety
    /// `stash` has `ROWS` elements for each thread, and nobody else touches them until the copies are waited for.
    #[inline(always)]
    pub unsafe fn stash(&self, array: In<T>, fill: T, stash: SharedArray<Vector>) {
        // SAFETY: the elements of the stash are the thread's own. Where the tile is fast it is whole, and its vectors
        // begin at multiples of 16 bytes.
        unsafe {
            if self.is_fast(array.start()) {
                let mut row = 0;
                while row < ROWS {
                    let from = array.address(self.element(row), T::LANES);
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

    /// Writes a row, in the order of the scan. If a whole vector cannot be written, puts the row back into the stash
    /// for [`write_stashed`](Self::write_stashed).
    ///
    /// # Safety
    /// `stash` is as for [`stash`](Self::stash).
    #[inline(always)]
    pub unsafe fn write(
        &self,
        array: Out<T>,
        row: usize,
        vector: Vector,
        stash: SharedArray<Vector>,
    ) {
        let vector = if self.backward { reversed::<T>(vector) } else { vector };
        if self.is_fast(array.start()) {
            array.set_vector(self.element(row), vector);
        } else {
            // SAFETY: the thread's own element.
            unsafe { stash.store(Self::own(row), vector) };
        }
    }

    /// Writes what [`write`](Self::write) left in the stash.
    ///
    /// # Safety
    /// As `write`, which has been called for every row.
    #[inline(always)]
    pub unsafe fn write_stashed(&self, array: Out<T>, stash: SharedArray<Vector>) {
        if self.is_fast(array.start()) {
            return;
        }
        let mut row = 0;
        while row < vector::unknown(ROWS as u32) {
            // SAFETY: the thread's own element.
            let vector = unsafe { stash.load(Self::own(row as usize)) };
            self.store_elements(array, self.element(row as usize), vector);
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

    /// A vector, element by element. If there are many elements, by a loop, since this path is rare and its code should
    /// be small.
    #[inline(always)]
    fn load_elements(&self, array: In<T>, first: u64, fill: T) -> Vector {
        let count = self.valid(first);
        let mut i = 0;
        if T::LANES <= 4 {
            let mut vector = [0; 4];
            while i < T::LANES as u32 {
                let mut element = fill;
                if i < count {
                    element = array.get(first + i as u64);
                }
                element.put(&mut vector, i as usize);
                i += 1;
            }
            return vector;
        }
        let mut queue = Queue(0);
        while i < count {
            queue.push(array.get(first + i as u64));
            i += 1;
        }
        while i < T::LANES as u32 {
            queue.push(fill);
            i += 1;
        }
        queue.into_vector()
    }

    /// Elements of the array.
    #[inline(always)]
    pub fn array_len(&self) -> u64 {
        self.len
    }

    /// How many elements of the vector that begins at element `first` are in the array.
    #[inline(always)]
    pub fn valid(&self, first: u64) -> u32 {
        if first >= self.len {
            return 0;
        }
        u64::min(self.len - first, T::LANES as u64) as u32
    }

    /// Writes a row back, in the order of the scan, but nothing beyond the array. The array has as many elements as the
    /// tile was made for.
    #[inline(always)]
    pub fn store(&self, array: Out<T>, row: usize, vector: Vector) {
        let vector = if self.backward { reversed::<T>(vector) } else { vector };
        let first = self.element(row);
        if self.is_fast(array.start()) {
            array.set_vector(first, vector);
        } else {
            self.store_elements(array, first, vector);
        }
    }

    #[inline(always)]
    fn store_elements(&self, array: Out<T>, first: u64, vector: Vector) {
        let count = self.valid(first);
        let mut i = 0;
        if T::LANES <= 4 {
            while i < T::LANES as u32 {
                if i < count {
                    array.set(first + i as u64, T::lane(vector, i as usize));
                }
                i += 1;
            }
            return;
        }
        let mut queue = Queue::from_vector(vector);
        while i < count {
            array.set(first + i as u64, queue.pop());
            i += 1;
        }
    }

    /// The bits of the thread's vector in row `row`, from a bit array with one bit an element; 0 beyond the array. Bit
    /// `i` belongs to the vector's element `i` in the order of the scan. `bits` has a bit for each element of the
    /// array, in whole words.
    #[inline(always)]
    pub fn load_bits(&self, bits: In<u32>, row: usize) -> u32 {
        let first = self.element(row);
        if first >= self.len {
            return 0;
        }
        // The bits of one vector never straddle two words.
        let word = bits.get(first / 32) >> (first % 32) as u32;
        let count = T::LANES as u32;
        match self.backward {
            true => word.reverse_bits() >> (32 - count),
            false => word & ((1 << count) - 1),
        }
    }
}

/// A vector as a queue of its elements. Elements are pushed at the high end and popped at the low end, so that loops
/// need no index into registers.
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
