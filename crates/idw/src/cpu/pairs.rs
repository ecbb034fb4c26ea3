//! All pairs on the CPU.
//!
//! Plan, as on the GPU:
//!
//! 1. The points are sorted and stored once in tiles, relative to each tile's middle point.
//! 2. A chunk of targets, in vectors, walks over the tiles. Sums over a tile have the type of the result; sums across
//!    tiles are f64.
//! 3. [`Doubt`] corrects what f32 loses where a part of a tile is dense with points.
//! 4. A target whose sums are not finite lies on points or out of range. It gets the mean of the points in its place,
//!    which `same_place` finds. If there is none, `f64_value` computes it again.
//!
//! At power 2 two points share a reciprocal: 1/a + 1/b = (a + b) / (a b).

pub(super) mod error_bound;
pub(super) mod f32_tree;
pub(super) mod f64_tree;
pub(super) mod frame;
pub(super) mod globe_tree;
pub(super) mod inner_loop;
pub(super) mod lanes;
pub(super) mod limit;
pub(super) mod nodes;

use std::ops::Range;

use gpu_core::parallel::{self, FINE};
use gpu_core::{Progress, host_memory};
use kernels_rs::idw::part::Weight;
use kernels_rs::spatial::sphere;

use crate::cpu::f64_value;
use crate::cpu::index::{Index, curve_of, order_along, order_on_sphere};
use crate::cpu::pairs::error_bound::Doubt;
use crate::cpu::pairs::f32_tree::Tree;
use crate::cpu::pairs::f64_tree::Double;
use crate::cpu::pairs::frame::{Chunk, Frame, MOST, NO_SUMS, Sums, VECTORS, width};
use crate::cpu::pairs::globe_tree::Globe;
use crate::cpu::pairs::inner_loop::{Near, Point, TileSums, vectors};
use crate::cpu::pairs::lanes::{Array, Lanes};
use crate::cpu::pairs::limit::Limit;
use crate::cpu::same_place::SamePlace;
use crate::ground::RADIUS;
use crate::{Method, Number, Params, Result, Targets, expansion};

/// Points whose sums are taken together.
const TILE: usize = 256;

/// Sums of weights and squares of distances beyond these are computed again in f64, as in the kernels.
const LEAST: f64 = 8.5e-22;
const GREATEST: f64 = 3.0e38;
/// Sums of weights may be greater, since they are f64: points that nearly coincide are no reason for a pass over all.
const GREATEST_WEIGHT: f64 = 1.0e150;
const FARTHEST: f64 = 1.0e18;

/// The sorted points as the vectors take them.
struct Staged<'a, S> {
    x: Vec<S>,
    y: Vec<S>,
    /// Each value, less its offset.
    values: Vec<Vec<S>>,
    /// The place of each tile's middle point.
    origins: Vec<[f64; 2]>,
    /// In f32.
    doubt: Option<Doubt<'a>>,
    smoothing: S,
    law: u32,
}

/// Computes the values of all targets into `values`, and the sums of weights into `weights`, if they are wanted.
pub(super) fn interpolate<T: Number>(
    index: &Index,
    targets: Targets,
    params: &Params,
    exponents: Option<&[f64]>,
    values: &mut [Vec<T>],
    mut weights: Option<&mut [Weight]>,
    progress: &dyn Progress,
) -> Result<()> {
    expansion::check(params, T::IS_SINGLE)?;
    let single = T::IS_SINGLE;
    let (points, count) = (index.len(), targets.len());
    let least_pairs = match params.geographic || !single {
        true => expansion::least_pairs_in_f64(points),
        false => expansion::LEAST_PAIRS_CPU,
    };
    let expanded = expansion::is_used(params, single, points, count, least_pairs);
    let place = |i: usize| targets.place(i);
    let order = expanded.then(|| order_of(targets, index.geographic, count as usize, place));
    let width = if expanded { targets.len() as usize } else { row_length(targets) };
    let order = order.as_deref();
    let separation = expanded.then(|| expansion::separation_of(params, single));
    let how = How { separation, leave_out: false, limit: None };
    let chunks = Chunks { index, targets, order, params, exponents, width, how };
    for first in (0..values.len()).step_by(4) {
        let group = &mut values[first..];
        let end = group.len().min(4);
        // The weights are the same for all values.
        chunks.group(first, &mut group[..end], weights.take(), progress)?;
    }
    Ok(())
}

/// Computes the values of some targets from all points within the radius, into their places in `values`.
pub(super) fn within<T: Number>(
    index: &Index,
    targets: Targets,
    which: &[u32],
    params: &Params,
    exponents: Option<&[f64]>,
    values: &mut [Vec<T>],
    progress: &dyn Progress,
) -> Result<()> {
    let place = |i: usize| targets.place(which[i] as usize);
    let along = order_of(targets, index.geographic, which.len(), place);
    let order = parallel::map(which.len(), FINE, |i| which[along[i] as usize]);
    let chunks = Chunks {
        index,
        targets,
        order: Some(&order),
        params,
        exponents,
        width: order.len(),
        how: How {
            separation: Some(expansion::separation_within(params, T::IS_SINGLE)),
            leave_out: false,
            limit: Some(Limit::of(params, 1.0)),
        },
    };
    for (group, four) in values.chunks_mut(4).enumerate() {
        chunks.group(4 * group, four, None, progress)?;
    }
    Ok(())
}

/// Predicts the first value at each point from all others within the radius, in the order of the points as given.
pub(super) fn leave_one_out_within(
    index: &Index,
    targets: Targets,
    params: &Params,
    exponents: Option<&[f64]>,
    progress: &dyn Progress,
) -> Result<Vec<f64>> {
    let separation = Some(expansion::separation_within(params, false));
    let how = How { separation, leave_out: true, limit: Some(Limit::of(params, 1.0)) };
    predict(index, targets, params, exponents, how, progress)
}

/// Predicts the first value at each point from all others, in the order of the points as given. Few pairs are summed in
/// f64, and so are values that f32 does not hold.
pub(super) fn leave_one_out(
    index: &Index,
    targets: Targets,
    params: &Params,
    exponents: Option<&[f64]>,
    progress: &dyn Progress,
) -> Result<Vec<f64>> {
    let (points, single) = (index.len(), index.data.is_of_f32());
    let least = expansion::least_pairs_in_f64(points);
    let is_used = expansion::is_used(params, single, points, points as u64, least);
    let separation = match is_used {
        true => expansion::separation_of(params, single),
        false => f64::INFINITY,
    };
    let how = How { separation: Some(separation), leave_out: true, limit: None };
    let is_direct_in_f32 = params.method == Method::Auto
        && !params.geographic
        && expansion::is_enough(points, points as u64, least);
    if single && (is_used || is_direct_in_f32) {
        let found: Vec<f32> = predict(index, targets, params, exponents, how, progress)?;
        return Ok(found.into_iter().map(f64::from).collect());
    }
    predict(index, targets, params, exponents, how, progress)
}

/// Predicts the first value at each point, in the order of the points as given.
fn predict<T: Number>(
    index: &Index,
    targets: Targets,
    params: &Params,
    exponents: Option<&[f64]>,
    how: How,
    progress: &dyn Progress,
) -> Result<Vec<T>> {
    // Along the points' curve, so that a target's place tells which point it leaves out.
    let (order, width) = (Some(&index.order[..]), index.len());
    let chunks = Chunks { index, targets, order, params, exponents, width, how };
    let mut values = vec![host_memory::filled(T::from_f64(f64::NAN), index.len())?];
    chunks.group(0, &mut values, None, progress)?;
    Ok(values.swap_remove(0))
}

/// Targets that lie in one row, so that a chunk must not pass its end.
fn row_length(targets: Targets) -> usize {
    match targets {
        Targets::Grid(grid) => grid.width as usize,
        Targets::Points { x, .. } => x.len(),
    }
}

/// Sorts some targets along a curve, so that the targets of a chunk lie near each other.
fn order_of(
    targets: Targets,
    geographic: bool,
    count: usize,
    place: impl Fn(usize) -> (f64, f64) + Sync,
) -> Vec<u32> {
    if geographic {
        return order_on_sphere(count, place);
    }
    let curve = match targets {
        Targets::Points { x, y } => curve_of(x, y),
        Targets::Grid(grid) => {
            let b = grid.bounds();
            curve_of(&[b.min_x, b.max_x], &[b.min_y, b.max_y])
        }
    };
    order_along(&curve, count, place)
}

struct Chunks<'a> {
    index: &'a Index<'a>,
    targets: Targets<'a>,
    /// The order of the targets, if it is not their own: with the expansion.
    order: Option<&'a [u32]>,
    params: &'a Params,
    exponents: Option<&'a [f64]>,
    width: usize,
    how: How,
}

/// Over which points the sums run, and how.
#[derive(Clone, Copy)]
struct How {
    /// From which distance on the nodes of a box stand for its points: see [`expansion::separation`]. `None` for sums by
    /// tiles.
    separation: Option<f64>,
    /// Whether the targets are the points, and each leaves itself out.
    leave_out: bool,
    /// Which points count, in ground units; `None` for all.
    limit: Option<Limit>,
}

impl Chunks<'_> {
    /// The target that comes at this place of the order.
    fn target(&self, at: usize) -> usize {
        self.order.map_or(at, |order| order[at] as usize)
    }

    /// Interpolates up to four values of each point.
    fn group<T: Number>(
        &self,
        first: usize,
        values: &mut [Vec<T>],
        mut weights: Option<&mut [Weight]>,
        progress: &dyn Progress,
    ) -> Result<()> {
        let frame = Frame::of(self.index);
        let columns = first..first + values.len();
        let sum = Summer::new::<T>(self.index, self.params, frame, columns, self.how);
        let size = sum.size();
        let count = self.order.map_or(self.targets.len() as usize, <[u32]>::len);
        // Bands of whole rows, so that this thread reports progress.
        let rows = count.div_ceil(self.width);
        let band_rows = (crate::cpu::BAND / 4).div_ceil(self.width).min(rows);
        let band = if rows == 1 { crate::cpu::BAND / 4 } else { band_rows * self.width };
        for start in (0..count).step_by(band) {
            progress.at("interpolate", start as f64 / count as f64)?;
            let end = count.min(start + band);
            let chunks: Vec<(usize, usize)> = (start..end)
                .step_by(self.width)
                .flat_map(|row| {
                    let row_end = end.min(row + self.width);
                    (row..row_end).step_by(size).map(move |at| (at, row_end.min(at + size)))
                })
                .collect();
            let mut done = parallel::map(chunks.len(), 1, |i| {
                let (from, to) = chunks[i];
                self.chunk(&sum, frame, first, values.len(), from, to)
            });
            self.complete(&chunks, &mut done, first, values.len());
            for (&(from, _), of_chunk) in chunks.iter().zip(&done) {
                for (v, column) in values.iter_mut().enumerate() {
                    for (i, found) in (from..).zip(of_chunk.iter().flatten()) {
                        column[self.target(i)] = T::from_f64(found.values[v]);
                    }
                }
                if let Some(weights) = &mut weights {
                    let all = (from..).zip(of_chunk.iter().flatten());
                    all.for_each(|(i, found)| weights[self.target(i)] = found.weight);
                }
            }
        }
        progress.at("interpolate", 1.0)?;
        Ok(())
    }

    /// Computes the values that the sums do not tell.
    fn complete(
        &self,
        chunks: &[(usize, usize)],
        done: &mut [Vec<Option<Found>>],
        first: usize,
        columns: usize,
    ) {
        let missing = |(&(from, _), of_chunk): (&(usize, usize), &Vec<Option<Found>>)| {
            let all = of_chunk.iter().enumerate().filter(|(_, found)| found.is_none());
            all.map(|(i, _)| from + i).collect::<Vec<usize>>()
        };
        let missing: Vec<usize> = chunks.iter().zip(&*done).flat_map(missing).collect();
        if missing.is_empty() {
            return;
        }
        let same_place = self.index.same_place();
        let found = parallel::map(missing.len(), 1, |i| {
            let on_points = self.on_points(same_place, missing[i], first, columns);
            on_points.unwrap_or_else(|| Found::of(columns, |v| self.in_f64(missing[i], first + v)))
        });
        let places = done.iter_mut().flatten().filter(|found| found.is_none());
        places.zip(found).for_each(|(place, found)| *place = Some(found));
    }

    /// The mean of the points in the place of a target; `None` if there is none, or distances are smoothed.
    fn on_points(
        &self,
        same_place: &SamePlace,
        i: usize,
        first: usize,
        columns: usize,
    ) -> Option<Found> {
        let index = self.index;
        let place = f64_value::place(index.geographic, self.targets.place(self.target(i)));
        let left_out = self.left_out(i);
        let all = same_place.at(&index.places, &place).iter().map(|&point| point as usize);
        let all = || all.clone().filter(|&point| Some(index.order[point]) != left_out);
        let count = all().count() as f64;
        if count == 0.0 || self.params.smoothing > 0.0 {
            return None;
        }
        Some(Found::of(columns, |v| {
            let sum: f64 = all().map(|point| index.value(first + v, point)).sum();
            let range = index.range(first + v);
            let weight = Weight::at_square(0.0, self.exponent(i), count);
            ((sum / count).clamp(range.low, range.high), weight)
        }))
    }

    /// Value `v` of a target, in f64 by a pass over all points.
    fn in_f64(&self, i: usize, v: usize) -> (f64, Weight) {
        let but = (self.left_out(i), self.how.limit);
        let target = self.targets.place(self.target(i));
        f64_value::value(self.index, self.params, target, but, self.exponent(i), v)
    }

    /// The point that a target leaves out.
    fn left_out(&self, i: usize) -> Option<u32> {
        self.how.leave_out.then_some(self.target(i) as u32)
    }

    /// Minus half the power of a target.
    fn exponent(&self, i: usize) -> f64 {
        self.exponents.map_or(-0.5 * self.params.power, |all| all[self.target(i)])
    }

    /// The values of the targets `from..to`; `None` where the sums do not tell them.
    #[allow(clippy::too_many_arguments)]
    fn chunk(
        &self,
        sum: &Summer,
        frame: Frame,
        first: usize,
        columns: usize,
        from: usize,
        to: usize,
    ) -> Vec<Option<Found>> {
        let geographic = self.index.geographic;
        if geographic && !matches!(sum, Summer::Globe(..)) {
            let value = |i: usize| Some(Found::of(columns, |v| self.in_f64(i, first + v)));
            return (from..to).map(value).collect();
        }
        let place = |i: usize| {
            let (x, y) = self.targets.place(self.target(i.min(to - from - 1) + from));
            if geographic {
                return sphere::unit_vector(x, y);
            }
            let [x, y] = frame.place(x, y);
            [x, y, 0.0]
        };
        let places: [_; MOST] = std::array::from_fn(place);
        let chunk = Chunk {
            x: places.map(|place| place[0]),
            y: places.map(|place| place[1]),
            z: places.map(|place| place[2]),
            exponents: std::array::from_fn(|i| self.exponent(i.min(to - from - 1) + from)),
            same_row: self.order.is_none() && matches!(self.targets, Targets::Grid(_)),
            left_out: self.how.leave_out.then_some(from),
        };
        let mut sums = NO_SUMS;
        sum.add(&chunk, &mut sums);
        let smoothing = (self.params.smoothing * frame.scale).powi(2);
        // Sums of weights are in units; they are not wanted for targets with powers of their own.
        let unit = if geographic { RADIUS } else { 1.0 / frame.scale };
        let of_unit = Weight::at_square(unit * unit, self.exponent(from), 1.0);
        (from..to)
            .map(|i| {
                let at = i - from;
                let weight = sums[0][at];
                let [x, y] = frame.offset_from_middle(chunk.x[at], chunk.y[at]);
                let squared = x * x + y * y + smoothing;
                let near = !sum.is_single() || squared < FARTHEST;
                let mean = |v: usize| sums[1 + v][at] / weight;
                let is_good = near && weight > LEAST && weight < GREATEST_WEIGHT;
                if !(is_good && (0..columns).all(|v| mean(v).abs() < GREATEST)) {
                    return None;
                }
                Some(Found::of(columns, |v| {
                    let range = self.index.range(first + v);
                    let value = (range.offset + mean(v)).clamp(range.low, range.high);
                    (value, Weight { sum: weight, ..of_unit })
                }))
            })
            .collect()
    }
}

/// The values of a target from all points.
struct Found {
    /// Up to four values.
    values: [f64; 4],
    weight: Weight,
}

impl Found {
    /// Collects each column's value and its weight: the weights are the same but for rounding.
    fn of(columns: usize, value: impl Fn(usize) -> (f64, Weight)) -> Self {
        let mut found = Self { values: [0.0; 4], weight: Weight::NONE };
        for (v, of_column) in found.values[..columns].iter_mut().enumerate() {
            (*of_column, found.weight) = value(v);
        }
        found
    }
}

/// Sums over all points for a chunk, by the widest vectors that the processor has.
enum Summer<'a> {
    Globe(Globe),
    ExpandedDouble(Double),
    Expanded(Box<Tree<'a>>, Width),
    Single(Staged<'a, f32>, Width),
    Double(Staged<'a, f64>),
}

/// Vectors of f32.
#[derive(Clone, Copy, PartialEq)]
enum Width {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Plain,
}

impl Width {
    fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                return Self::Avx512;
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Self::Avx2;
            }
        }
        Self::Plain
    }
}

impl<'a> Summer<'a> {
    fn new<T: Number>(
        index: &'a Index<'a>,
        params: &Params,
        frame: Frame,
        columns: Range<usize>,
        how: How,
    ) -> Self {
        let (first, columns) = (columns.start, columns.len());
        let Some(separation) = how.separation else {
            if T::IS_SINGLE {
                let staged = stage(index, params, frame, first, columns);
                return Self::Single(staged, Width::detect());
            }
            return Self::Double(stage(index, params, frame, first, columns));
        };
        // The unit vectors of the globe are not scaled.
        let scale = if params.geographic { 1.0 } else { frame.scale };
        let limit = how.limit.map(|_| Limit::of(params, scale));
        if params.geographic {
            let globe = Globe::new(index, params, first, columns);
            return Self::Globe(globe.within(limit, separation, T::IS_SINGLE));
        }
        if !T::IS_SINGLE {
            let tree = Double::new(index, params, frame, first, columns);
            return Self::ExpandedDouble(tree.within(limit, separation));
        }
        let limited = limit.map(|limit| {
            let leaves = Double::leaves(index, params, frame, first, columns);
            leaves.within(Some(limit), f64::INFINITY)
        });
        let tree = Tree::new(index, params, frame, first, columns).within(limited, separation);
        Self::Expanded(Box::new(tree), Width::detect())
    }

    fn is_single(&self) -> bool {
        !matches!(self, Self::Double(..) | Self::Globe(..) | Self::ExpandedDouble(..))
    }

    /// Targets of a chunk.
    fn size(&self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Single(_, Width::Avx512) | Self::Expanded(_, Width::Avx512) => VECTORS * 16,
            Self::Globe(..) | Self::ExpandedDouble(..) => MOST,
            _ => VECTORS * 8,
        }
    }

    fn add(&self, chunk: &Chunk, sums: &mut Sums) {
        match self {
            Self::Globe(globe) => globe.add(chunk, sums),
            Self::ExpandedDouble(tree) => tree.add(chunk, sums),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a check has found these instructions on the processor.
            Self::Expanded(tree, Width::Avx512) => unsafe { expanded_avx512(tree, chunk, sums) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a check has found these instructions on the processor.
            Self::Expanded(tree, Width::Avx2) => unsafe { expanded_avx2(tree, chunk, sums) },
            Self::Expanded(tree, Width::Plain) => tree.add::<Array<f32, 8>>(chunk, sums),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a check has found these instructions on the processor.
            Self::Single(staged, Width::Avx512) => unsafe { add_avx512(staged, chunk, sums) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a check has found these instructions on the processor.
            Self::Single(staged, Width::Avx2) => unsafe { add_avx2(staged, chunk, sums) },
            Self::Single(staged, Width::Plain) => add::<Array<f32, 8>>(staged, chunk, sums),
            Self::Double(staged) => add_double(staged, chunk, sums),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
fn expanded_avx512(tree: &Tree, chunk: &Chunk, sums: &mut Sums) {
    tree.add::<crate::cpu::pairs::lanes::Avx512>(chunk, sums);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn expanded_avx2(tree: &Tree, chunk: &Chunk, sums: &mut Sums) {
    tree.add::<crate::cpu::pairs::lanes::Avx2>(chunk, sums);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
fn add_avx512(staged: &Staged<f32>, chunk: &Chunk, sums: &mut Sums) {
    add::<crate::cpu::pairs::lanes::Avx512>(staged, chunk, sums);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn add_avx2(staged: &Staged<f32>, chunk: &Chunk, sums: &mut Sums) {
    add::<crate::cpu::pairs::lanes::Avx2>(staged, chunk, sums);
}

/// The sums in f64. The same operations in the same order on every processor: the wider instructions
/// change no bit.
fn add_double(staged: &Staged<f64>, chunk: &Chunk, sums: &mut Sums) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn wide(staged: &Staged<f64>, chunk: &Chunk, sums: &mut Sums) {
            add::<Array<f64, 8>>(staged, chunk, sums);
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: a check has found these instructions on the processor.
            return unsafe { wide(staged, chunk, sums) };
        }
    }
    add::<Array<f64, 8>>(staged, chunk, sums);
}

/// The points relative to their tiles, and up to four of their values.
fn stage<'a, S: Number>(
    index: &'a Index<'a>,
    params: &Params,
    frame: Frame,
    first: usize,
    columns: usize,
) -> Staged<'a, S> {
    let place = |i: usize| frame.place(index.places[i][0], index.places[i][1]);
    let n = index.len();
    // In the middle of the order, so that the farthest point of the tile is not too far.
    let middle = |first: usize| first + TILE.min(n - first) / 2;
    let origin = |first: usize| if S::IS_SINGLE { place(middle(first)) } else { [0.0; 2] };
    let origins: Vec<[f64; 2]> = (0..n).step_by(TILE).map(origin).collect();
    let along = |axis: usize| {
        let relative = |i: usize| S::from_f64(place(i)[axis] - origins[i / TILE][axis]);
        parallel::map(n, FINE, relative)
    };
    let column = |v: usize| {
        let offset = index.range(v).offset;
        parallel::map(n, FINE, |i| S::from_f64(index.value(v, i) - offset))
    };
    let mut values: Vec<Vec<S>> = (first..first + columns).map(column).collect();
    values.resize(width(columns), vec![S::from_f64(0.0); n]);
    Staged {
        x: along(0),
        y: along(1),
        values,
        smoothing: S::from_f64((params.smoothing * frame.scale).powi(2)),
        law: params.law(),
        doubt: S::IS_SINGLE.then(|| {
            let groups = (TILE, origins.clone());
            Doubt::new(index, params, frame, groups, (first, columns))
        }),
        origins,
    }
}

#[inline(always)]
fn add<L: Lanes>(staged: &Staged<L::Scalar>, chunk: &Chunk, sums: &mut Sums) {
    match staged.values.len() {
        1 => add_columns::<L, 1>(staged, chunk, sums),
        2 => add_columns::<L, 2>(staged, chunk, sums),
        _ => add_columns::<L, 4>(staged, chunk, sums),
    }
}

#[inline(always)]
fn add_columns<L: Lanes, const V: usize>(
    staged: &Staged<L::Scalar>,
    chunk: &Chunk,
    sums: &mut Sums,
) {
    match (staged.law, chunk.same_row) {
        (1, _) => walk::<L, V, 1, false>(staged, chunk, sums),
        (2, true) => walk::<L, V, 2, true>(staged, chunk, sums),
        (2, false) => walk::<L, V, 2, false>(staged, chunk, sums),
        (3, _) => walk::<L, V, 3, false>(staged, chunk, sums),
        (4, _) => walk::<L, V, 4, false>(staged, chunk, sums),
        _ => walk::<L, V, 0, false>(staged, chunk, sums),
    }
}

/// All tiles, one after the other.
#[inline(always)]
fn walk<L: Lanes, const V: usize, const LAW: u32, const ROW: bool>(
    staged: &Staged<L::Scalar>,
    chunk: &Chunk,
    sums: &mut Sums,
) {
    let zero = L::splat(L::Scalar::from_f64(0.0));
    let exponents = vectors::<L>(&chunk.exponents, 0.0);
    let bounds = chunk.bounds();
    for (tile, &[x, y]) in staged.origins.iter().enumerate() {
        let near = Near {
            x: vectors(&chunk.x, x),
            y: vectors(&chunk.y, y),
            exponents,
            smoothing: L::splat(staged.smoothing),
        };
        let points = tile * TILE..staged.x.len().min((tile + 1) * TILE);
        let mut of_tile =
            TileSums::<L, V> { weights: [zero; VECTORS], values: [[zero; VECTORS]; V] };
        let load = |i: usize| Point::<L, V> {
            x: L::splat(staged.x[i]),
            y: L::splat(staged.y[i]),
            values: std::array::from_fn(|v| L::splat(staged.values[v][i])),
        };
        let mut i = points.start;
        if LAW == 2 {
            while i + 2 <= points.end {
                near.add_two::<V, ROW>(load(i), load(i + 1), &mut of_tile);
                i += 2;
            }
        }
        while i < points.end {
            near.add_one::<V, LAW, ROW>(load(i), &mut of_tile);
            i += 1;
        }
        of_tile.add_to(chunk, (staged.doubt.as_ref(), tile, &bounds), sums);
    }
}
