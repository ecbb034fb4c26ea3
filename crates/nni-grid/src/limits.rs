//! The bounds of a query as integers, shared by CPU and GPU.
//!
//! Lengths are in half pixels of the Voronoi raster, so that pixel centres (odd positions) and
//! query points (multiples of `supersample`) are integers.

use crate::{Params, Result};

/// What bounds every query of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryLimits {
    /// The query circle: a pixel within it may count. `None` where it holds the whole raster.
    pub circle: Option<Circle>,
    /// A site counts whose squared distance to the query point is below this; `u64::MAX` where all do.
    pub site_limit: u64,
}

/// The pixels in which a query looks for what it steals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circle {
    /// The squared radius.
    pub limit: u64,
    /// For each row of pixels of the circle, from the top: how many pixels it has on the left
    /// of the query point's column, and as many on the right. With an odd supersampling the query
    /// point is the centre of a pixel, which counts on neither side, and there is an odd number of
    /// rows, the middle one through it. With an even one it is a corner, and no row goes through
    /// it.
    pub spans: Vec<i32>,
}

impl QueryLimits {
    /// Checks the parameters and works out the bounds.
    ///
    /// # Errors
    /// [`Error::Supersample`](crate::Error::Supersample), [`Error::QueryRadius`](crate::Error),
    /// [`Error::SiteRadius`](crate::Error), [`Error::TooLarge`](crate::Error).
    pub fn of(params: &Params) -> Result<Self> {
        let raster = params.raster()?;
        let half_pixels = 2.0 * f64::from(params.supersample);
        let squared = |radius: f64| (radius * half_pixels) * (radius * half_pixels);
        // However small the radii, a query sees the pixels that touch it, and a site on it. (A cast
        // from infinity saturates.)
        let limit = (squared(params.query_radius).floor() as u64).max(2);
        let diagonal = 4 * (u64::from(raster.width).pow(2) + u64::from(raster.height).pow(2));
        let circle = || Circle { limit, spans: spans(limit as i64, params.supersample % 2 == 1) };
        let site_limit = (squared(params.site_radius).ceil() as u64).max(1);
        // No limit, if every site reaches every cell.
        let site_limit = if site_limit > diagonal { u64::MAX } else { site_limit };
        Ok(Self { circle: (limit < diagonal).then(circle), site_limit })
    }

    /// The circle, if it is so small that a query looks at each of its pixels.
    pub(crate) fn small_circle(&self) -> Option<&Circle> {
        // From about here on it is faster to go by rows.
        const MOST: u64 = 200;
        self.circle.as_ref().filter(|circle| circle.limit <= MOST)
    }
}

/// The rows of the circle of pixels whose squared distance is at most `limit`.
fn spans(limit: i64, on_centre: bool) -> Vec<i32> {
    // The k-th pixel to one side is 2k half pixels away from a centre, 2k - 1 from a corner.
    let away = |k: i64| if on_centre { 2 * k } else { 2 * k - 1 };
    let most = |rest: i64| (rest.isqrt() + i64::from(!on_centre)) / 2;
    let reach = |row: i64| {
        let dy = away(row);
        most(limit - dy * dy) as i32
    };
    let rows = most(limit);
    let below: Vec<i32> = (1..=rows).map(reach).collect();
    let above = below.iter().rev();
    let middle = on_centre.then(|| most(limit) as i32);
    above.copied().chain(middle).chain(below.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the pixels of the spans, as the queries read them.
    fn pixels(spans: &[i32], on_centre: bool) -> i32 {
        spans.iter().map(|reach| 2 * reach + i32::from(on_centre)).sum()
    }

    #[test]
    fn spans_hold_the_pixels_of_the_circle() {
        for tenths in 1..80 {
            let radius = f64::from(tenths) * 0.17;
            for on_centre in [true, false] {
                let limit = (4.0 * radius * radius).floor() as i64;
                let centre = |i: i64| if on_centre { 2 * i } else { 2 * i + 1 };
                let inside = |x: i64, y: i64| centre(x).pow(2) + centre(y).pow(2) <= limit;
                let expected = (-20..20)
                    .flat_map(|y| (-20..20).map(move |x| (x, y)))
                    .filter(|&(x, y)| inside(x, y))
                    .count();
                assert_eq!(pixels(&spans(limit, on_centre), on_centre), expected as i32);
            }
        }
    }
}
