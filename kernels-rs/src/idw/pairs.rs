//! All pairs of a data point and a target, summed directly.
//!
//! Plan:
//!
//! 1. A block takes `BLOCK * Q` target points, `Q` a thread, and walks over the data points by tiles of [`TILE`], which
//!    it stages in shared memory: [`direct`]. Data points lie along a curve (module `plan`), so a tile is a small piece
//!    of ground. Places in a tile are relative to its middle point. That is exact enough in f32 for a target so near
//!    that rounding matters.
//! 2. A thread sums weights and weighted values of a tile in f32, tiles in f64 up to a segment, and segments in f64. A
//!    segment is a fixed number of tiles, which depends on the number of data points alone. So the bits do not depend
//!    on how a launch splits the work.
//! 3. If targets are few, blocks share the data: each writes the sums of its segments, and [`combine`] adds them in
//!    order.
//! 4. A bound tells how wrong an f32 sum may be. If that is too much, the tile is summed again in f64: `error_bound`.
//!    [`measure`] finds the reach of each tile, which the bound needs.
//! 5. A target whose sum of weights is infinite lies on a data point, or so near or so far that f32 overflowed.
//!    [`combine`] lists it, and [`rescue`] computes it again in f64, relative to its nearest data point.
//!
//! If the points come in parts, [`combine`] and [`rescue`] also write the weight of a part, and [`total`] adds the
//! parts up.
//!
//! In f64, on the sphere, and with a point left out, [`general`] takes the place of [`direct`]. The baseline, Mei's
//! kernels (2014, doi:10.1155/2014/171574), is [`baselines`](super::baselines).

pub mod combine;
pub mod direct;
pub mod general;
pub mod measure;
pub mod rescue;
pub mod total;

use device_std::{arguments, thread};

use super::TILE;
use super::points::Points;

/// Data points, and how their sums are divided.
#[arguments]
pub struct Segmented<'a> {
    /// The points.
    pub points: Points<'a>,
    /// Tiles of a segment.
    pub segment: u32,
}

impl Segmented<'_> {
    /// The segments that this thread's row of blocks takes.
    #[inline(always)]
    fn segments(&self) -> (u32, u32) {
        let tiles = self.points.count.div_ceil(TILE);
        let all = tiles.checked_div(self.segment).unwrap_or(0)
            + (tiles.checked_rem(self.segment).unwrap_or(0) > 0) as u32;
        let rows = thread::grid_dim_y();
        let each =
            all.checked_div(rows).unwrap_or(0) + (all.checked_rem(rows).unwrap_or(0) > 0) as u32;
        let first = u32::min(each * thread::block_idx_y(), all);
        (first, u32::min(first + each, all))
    }
}

/// A value between the lowest and the highest.
#[inline(always)]
pub(super) fn within(x: f64, [_, low, high]: [f64; 3]) -> f64 {
    f64::min(f64::max(x, low), high)
}

device_std::ptx_module! { "idw_pairs" }
