//! The circle of pixels that a query searches for stolen ones, row by row.
//!
//! Host and device run the same functions.

use device_std::math;
#[cfg(feature = "nni")]
use device_std::{Out, kernel, thread};

#[cfg(all(feature = "nni", not(target_arch = "nvptx64")))]
use super::MODULE;

/// The pixels whose centre is within a radius of the query point.
///
/// With an odd supersampling the query point is the centre of a pixel, and the number of rows is odd: the middle row
/// goes through the point. With an even one it is the corner of four pixels, and no row goes through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circle {
    /// The squared radius in half pixels, below 2^62.
    pub limit: u64,
    /// Pixels of the Voronoi raster along a cell's side.
    pub supersample: u32,
}

impl Circle {
    #[inline(always)]
    fn on_centre(self) -> bool {
        self.supersample % 2 == 1
    }

    /// Rows of pixels.
    #[inline(always)]
    pub fn rows(self) -> u32 {
        2 * self.pixels_within(self.limit) + self.on_centre() as u32
    }

    /// How many pixels of a row, counted from the top, lie to the left of the query point's column; as many lie to the
    /// right. A pixel under the query point counts on neither side.
    #[inline(always)]
    pub fn span(self, row: u32) -> i32 {
        let half = self.rows() / 2;
        let above = half.abs_diff(row);
        // The k-th row from a centre is 2k half pixels away, from a corner 2k - 1.
        let away = match (self.on_centre(), row < half) {
            (true, _) => 2 * above,
            (false, true) => 2 * above - 1,
            (false, false) => 2 * above + 1,
        } as u64;
        self.pixels_within(self.limit - away * away) as i32
    }

    /// Pixels to one side within a squared distance.
    #[inline(always)]
    fn pixels_within(self, squared: u64) -> u32 {
        (root(squared) as u32 + !self.on_centre() as u32) / 2
    }
}

/// The whole part of a square root.
#[inline(always)]
fn root(n: u64) -> u64 {
    // Off by one at most.
    let near = math::sqrt(n as f64) as u64;
    if near * near > n {
        near - 1
    } else if (near + 1) * (near + 1) <= n {
        near + 1
    } else {
        near
    }
}

/// Writes the spans of the rows of a [`Circle`]. Grid: a thread a row.
///
/// # Safety
/// `spans` has an element for each of the circle's rows.
#[cfg(feature = "nni")]
#[kernel(block = 256)]
pub unsafe fn write_spans(limit: u64, supersample: u32, spans: Out<'_, i32>) {
    let circle = Circle { limit, supersample };
    let row = thread::index_1d();
    if row < circle.rows() as u64 {
        spans.set(row, circle.span(row as u32));
    }
}

#[cfg(test)]
mod tests {
    use super::{Circle, root};

    #[test]
    fn spans_hold_the_pixels_of_the_circle() {
        for tenths in 1..80 {
            let radius = f64::from(tenths) * 0.17;
            for supersample in [1, 2] {
                let on_centre = supersample == 1;
                let limit = ((4.0 * radius * radius).floor() as u64).max(2);
                let circle = Circle { limit, supersample };
                let side = |i: i64| if on_centre { 2 * i } else { 2 * i + 1 };
                let is_inside = |x: i64, y: i64| side(x).pow(2) + side(y).pow(2) <= limit as i64;
                let half = i64::from(circle.rows() / 2);
                let last = if on_centre { half } else { half - 1 };
                let reaches = |&y: &i64| side(y).pow(2) <= limit as i64;
                assert_eq!((-40..40).filter(reaches).count() as u32, circle.rows());
                for (row, y) in (-half..=last).enumerate() {
                    let expected = (-40..40).filter(|&x| is_inside(x, y)).count() as i32;
                    assert_eq!(2 * circle.span(row as u32) + i32::from(on_centre), expected);
                }
            }
        }
    }

    #[test]
    fn roots_are_exact_beside_squares() {
        for near in [0u64, 1, 2, 3, 1000, (1 << 26) - 1, 1 << 26, (1 << 30) + 7, (1 << 31) - 1] {
            for n in [(near * near).saturating_sub(1), near * near, near * near + 1] {
                assert_eq!(root(n), n.isqrt());
            }
        }
    }
}
