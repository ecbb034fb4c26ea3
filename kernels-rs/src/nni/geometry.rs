//! Where pixels and query points lie, and what a cell's value is.

/// The width of a raster, and what divides by it: `index / width` without a division.
///
/// The reciprocal is Lemire, Kaser and Kurz's (2019, doi:10.1002/spe.2689): exact for every 32-bit
/// index.
#[derive(Clone, Copy)]
pub struct Width {
    width: u32,
    reciprocal: u64,
}

impl Width {
    /// What [`Width::new`] takes beside the width, which is not 0.
    pub const fn reciprocal(width: u32) -> u64 {
        // 2^64 / width, rounded up; for a width of 1 it wraps to 0.
        (u64::MAX / width as u64).wrapping_add(1)
    }

    /// A width that is not 0, with its [`reciprocal`](Self::reciprocal).
    #[inline(always)]
    pub fn new(width: u32, reciprocal: u64) -> Self {
        Self { width, reciprocal }
    }

    /// The pixel (column, row) of an index.
    #[inline(always)]
    pub fn split(self, index: u32) -> (i32, i32) {
        let quotient = ((self.reciprocal as u128 * index as u128) >> 64) as u32;
        let row = if self.width == 1 { index } else { quotient };
        ((index - row * self.width) as i32, row as i32)
    }
}

/// The squared length of a difference.
#[inline(always)]
pub fn squared(dx: i32, dy: i32) -> u64 {
    let (dx, dy) = (dx as i64, dy as i64);
    (dx * dx + dy * dy) as u64
}

/// The value of a cell: the mean of `count` fixed-point values with this sum; NaN of none.
#[inline(always)]
pub fn mean(sum: i64, count: u32, offset: f64, step: f64) -> f32 {
    if count == 0 { f32::NAN } else { (offset + sum as f64 / count as f64 * step) as f32 }
}

#[cfg(test)]
mod tests {
    use super::Width;

    #[test]
    fn indices_split_as_by_division() {
        for width in [1, 2, 3, 7, 641, 5000, 65_535, 65_536, (1 << 29) - 1, u32::MAX] {
            let fast = Width::new(width, Width::reciprocal(width));
            let near = |n: u64| [n.saturating_sub(1), n, n + 1];
            let rows = [0, 1, 2, 1000, u64::from(u32::MAX / width)];
            for index in rows.iter().flat_map(|row| near(row * u64::from(width))) {
                let Ok(index) = u32::try_from(index) else { continue };
                let expected = ((index % width) as i32, (index / width) as i32);
                assert_eq!(fast.split(index), expected, "{index} by {width}");
            }
        }
    }
}
