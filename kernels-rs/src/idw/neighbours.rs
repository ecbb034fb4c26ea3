//! Neighbours: the points near each target.
//!
//! In the plane a warp takes 32 targets that lie side by side. It finds up to 64 nearest points of each, or 16 of each
//! quadrant, in the R-tree of the points: [`warp_search`].
//!
//! For more neighbours, and on the sphere, a thread takes a target, and searches the index of module
//! [`index`](super::index):
//!
//! 1. It widens a box of cells until the box holds enough points, and estimates from them the radius that holds the
//!    neighbours wanted: `search`.
//! 2. It tests the points of the cells within that radius. Cells are numbered by rows, so a box has one run of points
//!    in each row. If the radius held too few points, it is widened. Once it holds enough, the farthest of these points
//!    gives the radius within which the answer is certain.
//! 3. Up to 24 nearest points are kept in registers, in order: [`nearest`]; up to 64 in shared memory: [`ranked`]. They
//!    are added nearest first, of equal distances the lower index first, on every back end. For more, [`circle`] keeps
//!    nothing. It finds the limit of each quadrant by bisection, where each step counts the points below it. A last
//!    walk adds up the points within, in the order of the index.
//!
//! Distances are squares of differences in f64, on the sphere of the chord. They are the same on every back end, so all
//! find the same neighbours; of equal distances the lower index wins.
//!
//! Weights are powers of the distance, or a kernel function of it: [`kernel_weights`](super::kernel_weights).
//!
//! The adaptive power of each target follows from its neighbours' distances: [`powers`].

pub mod circle;
mod lists;
pub mod nearest;
pub mod powers;
pub mod ranked;
mod ranks;
mod results;
mod search;
mod turns;
pub mod warp_search;

use device_std::{In, arguments, kernel, math, thread};

use super::BLOCK;
use super::targets::Targets;
use circle::Circle;
use nearest::Nearest;
use ranked::Nearby;
pub use results::{Results, Values};
pub use search::Sorted;
use search::{Index, Search, TargetPlace};

/// How a kernel searches.
pub trait Method {
    /// Bytes of shared memory of a block.
    const SHARED: u32;

    /// Writes values, and statistics, of the target of this thread.
    ///
    /// # Safety
    /// The block has [`SHARED`](Self::SHARED) bytes of shared memory, which nothing else uses.
    unsafe fn interpolate(
        index: &Index,
        values: &Values<'_>,
        search: &Search,
        target: &TargetPlace,
        limits: &Limits,
        results: &Results<'_>,
    );
}

/// How much a neighbour weighs.
#[arguments]
pub struct Weights<'a> {
    /// The law: a power 1 to 4 whose weight has a short form, 0 for other powers, or a kernel function
    /// ([`kernel_weight`](super::kernel_weights::kernel_weight)).
    pub law: u32,
    /// The square of the smoothing, on the ground.
    pub smoothing: f64,
    /// Minus half the power; for a kernel function, the square of its bandwidth.
    pub exponent: f64,
    /// The same for each target, in place of `exponent`.
    pub exponents: Option<In<'a, f64>>,
}

impl Weights<'_> {
    /// Puts the weights of a target's neighbours into a search.
    #[inline(always)]
    fn weigh(&self, search: &mut Search, target: u64) {
        (search.law, search.smoothing) = (self.law, self.smoothing);
        search.exponent = self.exponents.map_or(self.exponent, |exponents| exponents.get(target));
    }
}

/// Which points are neighbours of a target, and how many.
#[arguments]
pub struct Limits {
    /// The farthest distance, or infinity; on the sphere as a chord.
    pub reach: f64,
    /// On the sphere the same distance as an angle.
    pub arc: f64,
    /// The half sides of the box of everything within reach.
    pub extent: [f64; 2],
    /// xx, xy, yy of the form that is at most 1 inside the ellipse; zeros for no ellipse.
    pub ellipse: [f64; 3],
    /// 1 where target `i` leaves point `i` out, else 0.
    pub leaves_out: u32,
    /// 1 where neighbours count by quadrants, else 0.
    pub by_quadrants: u32,
    /// The most neighbours.
    pub max_points: u32,
    /// With fewer a target has no value, or falls back.
    pub min_points: u32,
    /// The most of each quadrant.
    pub max_per_quadrant: u32,
    /// With fewer in any quadrant a target has no value, or falls back.
    pub min_per_quadrant: u32,
    /// 1 if a target with too few takes as many nearest as it needs, however they lie, else 0.
    pub falls_back: u32,
}

impl Limits {
    /// How many points a search wants: of each quadrant, or of all.
    #[inline(always)]
    fn of_list(&self) -> u32 {
        u32::max(u32::min(self.max_points, self.max_per_quadrant), self.min_per_quadrant)
    }

    /// No neighbour is farther than this, in the plane.
    #[inline(always)]
    fn widest(&self) -> f64 {
        let [x, y] = self.extent;
        // The corner of the ellipse's box.
        if self.ellipse[0] > 0.0 { math::sqrt(x * x + y * y) } else { self.reach }
    }

    /// A search within the limits, in the plane.
    #[inline(always)]
    fn search(&self) -> Search {
        Search {
            smoothing: 0.0,
            exponent: -1.0,
            law: 2,
            sphere: 0.0,
            reach: [self.reach, self.arc],
            extent: self.extent,
            ellipse: self.ellipse,
            leaves_out: self.leaves_out != 0,
            by_quadrants: self.by_quadrants != 0,
        }
    }
}

/// Interpolates over at most `max_points` points, by a list of the nearest or, in the instance `any`, without a list.
/// If `by_quadrants` is not 0, `any` takes up to `max_per_quadrant` of each quadrant, by turns. A target has too few
/// neighbours if they are fewer than `min_points`, or in a quadrant fewer than `min_per_quadrant`. Then it has no
/// value; but if `falls_back` is not 0, it takes as many nearest points as it needs, however they lie. Grid: a thread a
/// target.
///
/// # Safety
/// The slices have what their structs say, and the values are those of the points. On the sphere `vectors` has x, y and
/// z of the unit vector of each target, column after column; in the plane it is `None`. Results have a row for each
/// column of values and statistic.
#[kernel(block = BLOCK, shared = <M as Method>::SHARED, instances(
    nearest_8: <Nearest<8>>;
    nearest_24: <Nearest<24>>, spills = 60;
    nearest_64: <Nearby>;
    any: <Circle>;
))]
pub unsafe fn interpolate<M: Method>(
    sorted: Sorted<'_>,
    targets: Targets<'_>,
    vectors: Option<In<'_, f64>>,
    sphere: f64,
    values: Values<'_>,
    weights: Weights<'_>,
    limits: Limits,
    results: Results<'_>,
) {
    let index = Index::new(sorted, values.points);
    let mine = thread::index_1d();
    if mine >= targets.count {
        return;
    }
    let target = TargetPlace::new(mine, &targets, vectors);
    if !target.is_place() {
        results.put_nothing(values.columns, target.index);
        return;
    }
    let mut search = Search { sphere, ..limits.search() };
    weights.weigh(&mut search, target.index);
    // SAFETY: the kernel is declared with that shared memory.
    unsafe { M::interpolate(&index, &values, &search, &target, &limits, &results) };
}

device_std::ptx_module! { "idw_neighbours" }
