//! From the words of pixels to sites: the mask, and the sites' values.

use device_std::block::BlockReduce;
use device_std::shared::Carver;
use device_std::vector::Vector;
use device_std::{In, Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::rasterise::{ONE_POINT, SHIFT, neutral_word, quantise};
use super::values::{Columns, MAX_VALUES, Scales};
use crate::nni::policies::{MAX, MEAN, MIN, rounded_mean};
use crate::nni::tallies::{COUNTED, SITES};

/// Threads of a block.
const BLOCK: u32 = 256;

/// Words that a thread of [`mod@resolve_sites`] takes.
pub const RESOLVED: u64 = 4;

/// The words of a raster with `pixels` pixels, and the values of the points in them.
#[derive(Clone, Copy)]
struct Words<'a> {
    words: In<'a, i64>,
    /// The columns of the values of all points.
    z: [In<'a, f64>; MAX_VALUES],
    scales: Scales<'a>,
    policy: u32,
    pixels: u64,
}

impl<'a> Words<'a> {
    /// Writes the mask and the values of the pixels of this thread's [`RESOLVED`] words, and counts
    /// sites and points.
    ///
    /// # Safety
    /// The whole block comes to the same call.
    #[inline(always)]
    unsafe fn resolve<const N: usize>(
        &self,
        mask: Out<'_, u8>,
        values: Out<'_, i32>,
        tallies: Out<'_, u64>,
    ) {
        let (first, end) = (thread::index_1d() * RESOLVED, self.pixels * N as u64);
        let (mut sites, mut points) = (0, 0);
        if first < end {
            let is_whole = first + RESOLVED <= end;
            let four = self.load(first as usize, end as usize, is_whole);
            let mut flags = 0;
            let mut vector: Vector = [0; 4];
            // Words whose value needs a division or a point.
            let mut rest = 0;
            let mut i = 0;
            while i < 4 {
                let word = four[i];
                let is_site = word != neutral_word(self.policy);
                let count = (word as u64 >> 48) as u32;
                if i.is_multiple_of(N) {
                    flags |= (is_site as u32) << (8 * (i / N));
                    points += if self.policy == MEAN { count } else { 0 };
                }
                let is_easy = match self.policy {
                    MEAN => count <= 1,
                    MIN | MAX => true,
                    _ => false,
                };
                let one = if self.policy == MEAN { word - ONE_POINT as i64 - SHIFT } else { word };
                vector[i] = if is_site { one as u32 } else { 0 };
                rest |= ((is_site && !is_easy) as u32) << i;
                i += 1;
            }
            sites = flags.count_ones();
            let of_pixel = mask.from(first as usize / N);
            if is_whole {
                match N {
                    // SAFETY: four flags begin at a multiple of four.
                    1 => unsafe { of_pixel.cast::<u32>() }.set(0u32, flags),
                    // SAFETY: two flags begin at a multiple of two.
                    2 => unsafe { of_pixel.cast::<u16>() }.set(0u32, flags as u16),
                    _ => of_pixel.set(0u32, flags as u8),
                }
                // With one or two pixels a vector, most vectors have no site, and nobody reads their values.
                if N == 1 || sites > 0 {
                    values.set_vector(first, vector);
                }
            } else {
                let mut i = 0;
                while i < 4 {
                    if first + (i as u64) < end {
                        of_pixel.set(i / N, (flags >> (8 * (i / N))) as u8);
                        values.set(first as usize + i, vector[i] as i32);
                    }
                    i += 1;
                }
            }
            // One division in the code, repeated as often as the warp's fullest thread needs.
            while rest != 0 {
                let i = first as usize + rest.trailing_zeros() as usize;
                values.set(i, self.value_of::<N>(i));
                rest &= rest - 1;
            }
        }
        // SAFETY: all threads of the block come here.
        unsafe {
            let block = BlockReduce::<u64>::new(&mut Carver::new(), BLOCK as usize);
            let sum = block.reduce((sites as u64) << 32 | points as u64, 0, |a, b| a + b);
            if sum != 0 && thread::thread_idx_x() == 0 {
                tallies.fetch_add(SITES, sum >> 32);
                tallies.fetch_add(COUNTED, sum & 0xffff_ffff);
            }
        }
    }

    /// Loads four words, neutral ones from `end` on; `is_whole` says that all four lie before it.
    #[inline(always)]
    fn load(&self, first: usize, end: usize, is_whole: bool) -> [i64; 4] {
        let mut four = [neutral_word(self.policy); 4];
        if is_whole {
            let low = self.words.get_vector(first);
            let high = self.words.get_vector(first + 2);
            four = [
                join(low[0], low[1]),
                join(low[2], low[3]),
                join(high[0], high[1]),
                join(high[2], high[3]),
            ];
        } else {
            let mut i = 0;
            while i < 4 {
                if first + i < end {
                    four[i] = self.words.get(first + i);
                }
                i += 1;
            }
        }
        four
    }

    /// The value of a site from its word `i`: the mean of several points, or the value of the point whose index it is.
    #[inline(always)]
    fn value_of<const N: usize>(&self, i: usize) -> i32 {
        let word = self.words.get(i);
        if self.policy == MEAN {
            let count = (word as u64 >> 48) as u32;
            let sum = (word as u64 & (ONE_POINT - 1)) as i64;
            return rounded_mean(sum - count as i64 * SHIFT, count);
        }
        let k = i % N;
        let column = self.column::<N>(k);
        quantise(column.get(word as usize), self.scales.inverse_of(k))
    }

    /// The column of value `k < N`: by comparisons, since an array in registers has no other index.
    #[inline(always)]
    fn column<const N: usize>(&self, k: usize) -> In<'a, f64> {
        let mut column = self.z[0];
        let mut i = 1;
        while i < N {
            if k == i {
                column = self.z[i];
            }
            i += 1;
        }
        column
    }
}

/// Writes the site mask and the values of every site, and counts the sites and, with [`MEAN`], the points
/// in the words.
///
/// Grid: one thread for every [`RESOLVED`] words.
///
/// # Safety
/// `mask` has `pixels` elements, `words` and `values` one for each value of each; all start at multiples of 16 bytes.
/// With [`FIRST`](crate::nni::policies::FIRST) and [`LAST`](crate::nni::policies::LAST) the words of occupied pixels
/// are indices into the first `N` of `z`.
#[kernel(
    block = BLOCK,
    carve = |carver| BlockReduce::<u64>::new(carver, BLOCK as usize),
    instances(one: <1>; two: <2>; four: <4>)
)]
pub unsafe fn resolve_sites<const N: usize>(
    words: In<'_, i64>,
    z: Columns<'_>,
    scales: In<'_, f64>,
    policy: u32,
    pixels: u64,
    mask: Out<'_, u8>,
    values: Out<'_, i32>,
    tallies: Out<'_, u64>,
) {
    let all = Words { words, z: z.all(), scales: Scales(scales), policy, pixels };
    // SAFETY: the whole block is here.
    unsafe { all.resolve::<N>(mask, values, tallies) };
}

#[inline(always)]
fn join(low: u32, high: u32) -> i64 {
    (low as u64 | (high as u64) << 32) as i64
}
