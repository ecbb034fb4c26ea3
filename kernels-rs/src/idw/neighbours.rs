//! Neighbours: the points near each query.
//!
//! A thread takes a query, and searches the index of module [`index`](super::index):
//!
//! 1. It widens a box of cells until the box holds points enough, and estimates from them the radius
//!    that holds the neighbours wanted: `search`.
//! 2. It looks at the points of the cells within that radius. Cells are numbered by rows, so those of a
//!    box are one run of points a row. If the radius held too few points it is widened; once it has
//!    enough, the farthest of them is the radius for which the answer is certain.
//! 3. Up to 24 nearest are kept in registers, in order: [`nearest`]; up to 64, or 16 of each quadrant, in shared
//!    memory: [`ranked`]. Otherwise ([`circle`]) nothing is kept: the limit of each quadrant is found by bisection,
//!    each step a count of the points below it, and a last walk adds up what is within, in the order of the index.
//!    What is kept is added nearest first, of equal distances the lower index, on every back end.
//!
//! Distances are squares of differences in f64, the same on every back end, so the same neighbours are
//! found; equal distances go by the index of the point. On the sphere they are those of the chord.
//!
//! The adaptive power of each query follows from its neighbours' distances: [`powers`].

mod batches;
mod chosen;
pub mod circle;
mod descent;
pub mod far;
mod ground;
mod lists;
mod many;
pub mod nearest;
pub mod patches;
pub mod powers;
mod quarters;
pub mod ranked;
mod ranks;
mod results;
mod search;
pub mod together;
mod turns;

use device_std::real::Real;
use device_std::{kernel, thread, warp};

use super::BLOCK;
use super::plan::Plan;
use super::targets::Targets;
use circle::Circle;
use nearest::Nearest;
use patches::Patches;
use ranked::Nearby;
use results::Results;
use search::{Index, Query, Search};

/// How a kernel searches.
pub trait Method {
    /// Bytes of shared memory of a block.
    const SHARED: u32;

    /// Writes values, and statistics, of the query of this thread.
    ///
    /// # Safety
    /// Index, query and results are as [`mod@interpolate`] says.
    unsafe fn interpolate<T: Real>(
        index: &Index,
        search: &Search,
        query: &Query,
        wanted: Wanted,
        results: &Results<T>,
    );
}

/// How many neighbours a query takes.
#[derive(Clone, Copy)]
pub struct Wanted {
    max_points: u32,
    min_points: u32,
    max_per_quadrant: u32,
    min_per_quadrant: u32,
    falls_back: bool,
}

impl Wanted {
    /// How many of a quadrant, or of all, are looked for.
    #[inline(always)]
    fn of_group(&self) -> u32 {
        u32::max(u32::min(self.max_points, self.max_per_quadrant), self.min_per_quadrant)
    }
}

/// Interpolates over at most `max_points` points, by a list of the nearest or, in the instances
/// `any`, without one. These take `max_per_quadrant` of each quadrant where `by_quadrants` is not 0, by
/// turns. Where there are fewer than `min_points`, or in a quadrant `min_per_quadrant`, a query has no
/// value, or, if `falls_back` is not 0, that of as many nearest, however they lie. Unless `left` is null,
/// only queries are taken that [`interpolate_together`](mod@together::interpolate_together) left. Grid: a
/// thread a query, then one of the [`Patches`].
///
/// # Safety
/// `plan`, `starts`, `order` and `places` are those of the index of `points` points, `point_values` has so
/// many elements for each of `value_count` values, `ranges` three for each; `x` and `y` have `count`
/// elements, or are null for a grid of `width` columns, and on the sphere `vectors` has three columns of
/// them, else it is null; `left` and `target_order` are those of `interpolate_together`; `exponents`,
/// unless null, has minus half the power of each query, which then takes the place of `exponent`; `values`
/// has `count` elements for each value, `statistics` (unless null) for each
/// [`statistic`](super::statistic).
#[kernel(block = BLOCK, shared = <M as Method>::SHARED, instances(
    f32_8: <f32, Nearest<8>>;
    f32_12: <f32, Nearest<12>>;
    f32_16: <f32, Nearest<16>>;
    f32_24: <f32, Nearest<24>>, spills = 60;
    f32_64: <f32, Nearby<1>>;
    f32_quadrants_16: <f32, Nearby<4>>;
    f32_any: <f32, Circle>;
    f64_8: <f64, Nearest<8>>;
    f64_12: <f64, Nearest<12>>;
    f64_16: <f64, Nearest<16>>;
    f64_24: <f64, Nearest<24>>, spills = 60;
    f64_64: <f64, Nearby<1>>;
    f64_quadrants_16: <f64, Nearby<4>>;
    f64_any: <f64, Circle>;
))]
pub unsafe fn interpolate<T: Real, M: Method>(
    plan: *const Plan,
    starts: *const u32,
    order: *const u32,
    places: *const f64,
    point_values: *const f64,
    ranges: *const f64,
    points: u32,
    x: *const f64,
    y: *const f64,
    vectors: *const f64,
    left: *const u32,
    target_order: *const u32,
    count: u64,
    width: u32,
    grid: [f64; 3],
    law: u32,
    smoothing: f64,
    exponent: f64,
    exponents: *const f64,
    sphere: f64,
    reach: [f64; 2],
    extent: [f64; 2],
    ellipse: [f64; 3],
    leaves_out: u32,
    by_quadrants: u32,
    max_points: u32,
    min_points: u32,
    max_per_quadrant: u32,
    min_per_quadrant: u32,
    falls_back: u32,
    value_count: u32,
    values: *mut T,
    statistics: *mut T,
) {
    let targets = Targets { x, y, count, width, height: 0, grid };
    let results = Results { values, value_count, statistics, count };
    // SAFETY: the query is below the count; the rest is passed on to the caller.
    unsafe {
        let index = Index::new(plan, (starts, order), (places, point_values, ranges), points);
        let mine = if left.is_null() {
            thread::index_1d()
        } else {
            left_to_thread(left, Patches { targets, order: target_order })
        };
        if mine >= count {
            return;
        }
        let query = Query::new(mine, &targets, vectors);
        if !query.is_place() {
            results.put_nothing(query.index);
            return;
        }
        let exponent =
            if exponents.is_null() { exponent } else { *exponents.add(query.index as usize) };
        let (leaves_out, by_quadrants) = (leaves_out != 0, by_quadrants != 0);
        let search = Search {
            smoothing,
            exponent,
            law,
            sphere,
            reach,
            extent,
            ellipse,
            leaves_out,
            by_quadrants,
        };
        let falls_back = falls_back != 0;
        let wanted =
            Wanted { max_points, min_points, max_per_quadrant, min_per_quadrant, falls_back };
        M::interpolate(&index, &search, &query, wanted, &results);
    }
}

/// The query of this thread, if it was left; else the count.
///
/// # Safety
/// `left` has a word for each warp; the patches are those that it was written for.
#[inline(always)]
unsafe fn left_to_thread(left: *const u32, patches: Patches) -> u64 {
    let thread = thread::index_1d();
    let of_warp = thread / warp::SIZE as u64;
    if of_warp >= patches.warps() {
        return patches.targets.count;
    }
    // SAFETY: passed on to the caller.
    unsafe {
        let is_left = *left.add(of_warp as usize) >> (thread % warp::SIZE as u64) & 1 != 0;
        if is_left { patches.index(thread) } else { patches.targets.count }
    }
}

device_std::ptx_module! { "idw_neighbours" }
