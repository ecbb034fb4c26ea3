//! Several values of a point: elevation, intensity, a colour.
//!
//! The `N` values of a pixel lie together, so that one memory transaction loads them all. A query searches once, and
//! then sums every value.

use device_std::{In, arguments};

use crate::nni::tallies::SITES;

/// The most values that a query sums together.
pub const MAX_VALUES: usize = 4;

/// The sites of a raster, with their diagram and their values.
#[arguments]
pub struct Sites<'a> {
    /// The counts: [`TALLIES`](crate::nni::tallies::TALLIES) elements.
    pub tallies: In<'a, u64>,
    /// The nearest site of each pixel, as the index of its pixel, if there are sites.
    pub nearest: In<'a, u32>,
    /// The values of each pixel, as many as a kernel takes. Only the values of sites have a meaning.
    pub values: In<'a, i32>,
    /// 0; or, if sites are numbered in the raster turned by 180 degrees, its number of pixels. The values then lie as
    /// in the raster before it was turned: from the last pixel to the first.
    pub turned: u32,
}

impl<'a> Sites<'a> {
    /// Whether the raster has a site.
    #[inline(always)]
    pub fn are_some(&self) -> bool {
        self.tallies.get(SITES) > 0
    }

    /// The values of the sites, `N` for each.
    #[inline(always)]
    pub fn values<const N: usize>(&self) -> Values<'a, N> {
        Values { first: self.values, turned: self.turned }
    }
}

/// The values of the raster's pixels; only the values of sites have a meaning.
#[derive(Clone, Copy)]
pub struct Values<'a, const N: usize> {
    /// The values of the first pixel.
    first: In<'a, i32>,
    /// As [`Sites::turned`].
    turned: u32,
}

/// Where the values of a site lie, counted in pixels.
#[inline(always)]
pub fn place_of(site: u32, turned: u32) -> usize {
    (if turned == 0 { site } else { turned - 1 - site }) as usize
}

impl<const N: usize> Values<'_, N> {
    /// The values of a site. The first pixel's begin at a multiple of 16 bytes.
    #[inline(always)]
    pub fn of(self, site: u32) -> [i32; N] {
        let mut values = [0; N];
        let of_site = self.first.from(N * place_of(site, self.turned));
        if N == 4 {
            let all = of_site.get_vector(0u32);
            let mut k = 0;
            while k < N {
                values[k] = all[k & 3] as i32;
                k += 1;
            }
        } else if N == 2 {
            // SAFETY: pairs of values are aligned to their size.
            let both = unsafe { of_site.cast::<u64>() }.get(0u32);
            values[0] = both as i32;
            values[N - 1] = (both >> 32) as i32;
        } else {
            let mut k = 0;
            while k < N {
                values[k] = of_site.get(k);
                k += 1;
            }
        }
        values
    }
}

/// The columns of the values of points. Kernels for fewer values do not read the last.
#[arguments]
pub struct Columns<'a> {
    /// The first value of each point.
    pub first: In<'a, f64>,
    /// The second.
    pub second: In<'a, f64>,
    /// The third.
    pub third: In<'a, f64>,
    /// The fourth.
    pub fourth: In<'a, f64>,
}

impl<'a> Columns<'a> {
    /// The columns by their numbers.
    #[inline(always)]
    pub fn all(&self) -> [In<'a, f64>; MAX_VALUES] {
        [self.first, self.second, self.third, self.fourth]
    }
}

/// The fixed point of each value: `value = offset + integer * step`. In memory offset, step and the
/// step's reciprocal, which is exact.
#[derive(Clone, Copy)]
pub struct Scales<'a>(pub In<'a, f64>);

impl Scales<'_> {
    /// The scale of one value as it lies in memory.
    pub fn in_memory(offset: f64, step: f64) -> [f64; 3] {
        [offset, step, 1.0 / step]
    }

    /// Offset and step of value `k`.
    #[inline(always)]
    pub fn of(self, k: usize) -> [f64; 2] {
        [self.0.get(3 * k), self.0.get(3 * k + 1)]
    }

    /// Offset and reciprocal step of value `k`.
    #[inline(always)]
    pub fn inverse_of(self, k: usize) -> [f64; 2] {
        [self.0.get(3 * k), self.0.get(3 * k + 2)]
    }
}
