//! Several values of a point: elevation, intensity, a colour.
//!
//! The `N` values of a pixel lie together, so that one transaction of memory brings them all. What a
//! query finds out about places it finds out once, and then sums every value.

use device_std::vector;

/// The most values that go through a query together.
pub const MOST_VALUES: usize = 4;

/// The values of the raster's pixels: those of a site mean something.
#[derive(Clone, Copy)]
pub struct Values<const N: usize> {
    /// Those of the first pixel.
    pub first: *const i32,
    /// 0; or, where sites are those of the raster turned by half a circle, its number of pixels: the values lie as in the
    /// raster that was turned, from the last pixel to the first.
    pub turned: u32,
}

/// Where the values of a site lie, counted in pixels.
#[inline(always)]
pub fn place_of(site: u32, turned: u32) -> usize {
    (if turned == 0 { site } else { turned - 1 - site }) as usize
}

impl<const N: usize> Values<N> {
    /// Those of a site.
    ///
    /// # Safety
    /// The site is a pixel of the raster, whose pixels' values start at a multiple of 16 bytes.
    #[inline(always)]
    pub unsafe fn of(self, site: u32) -> [i32; N] {
        let mut values = [0; N];
        // SAFETY: passed on to the caller; 2 and 4 values are aligned to their size.
        unsafe {
            let first = self.first.add(N * place_of(site, self.turned));
            if N == 4 {
                let all = vector::load(first.cast());
                let mut k = 0;
                while k < N {
                    values[k] = all[k & 3] as i32;
                    k += 1;
                }
            } else if N == 2 {
                let both = *first.cast::<u64>();
                values[0] = both as i32;
                values[N - 1] = (both >> 32) as i32;
            } else {
                let mut k = 0;
                while k < N {
                    values[k] = *first.add(k);
                    k += 1;
                }
            }
        }
        values
    }
}

/// The fixed point of each value: `value = offset + integer * step`. In memory offset, step and the
/// step's reciprocal, which is exact.
#[derive(Clone, Copy)]
pub struct Scales(pub *const f64);

impl Scales {
    /// The scale of one value as it lies in memory.
    pub fn in_memory(offset: f64, step: f64) -> [f64; 3] {
        [offset, step, 1.0 / step]
    }

    /// Offset and step of value `k`.
    ///
    /// # Safety
    /// There are `k + 1` scales.
    #[inline(always)]
    pub unsafe fn of(self, k: usize) -> [f64; 2] {
        // SAFETY: passed on to the caller.
        unsafe { [*self.0.add(3 * k), *self.0.add(3 * k + 1)] }
    }

    /// Offset and reciprocal step of value `k`.
    ///
    /// # Safety
    /// As [`of`](Self::of).
    #[inline(always)]
    pub unsafe fn inverse_of(self, k: usize) -> [f64; 2] {
        // SAFETY: passed on to the caller.
        unsafe { [*self.0.add(3 * k), *self.0.add(3 * k + 2)] }
    }
}
