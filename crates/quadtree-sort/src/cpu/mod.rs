//! Builds trees on all cores of the CPU.

mod baselines;
mod morton;
mod settle;

use gpu_core::{Bounds, Points, Progress, host_memory, parallel};
use kernels_rs::spatial::frame::Frame;

use crate::tree::{Node, Quadtree};
use crate::{Baseline, Error, MAX_POINTS, Method, Outside, Params, Result};

/// A point's code, and its index as given.
pub(crate) type Coded = (u64, u32);

/// [`build`](crate::build) on the CPU.
///
/// # Errors
/// The errors of [`build`](crate::build).
pub(crate) fn build(
    points: Points<'_>,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Quadtree> {
    let (frame, bounds) = prepare(points, params, progress)?;
    let coded = codes(points, &frame, params)?;
    progress.at("sort", 0.0)?;
    let (nodes, order) = match params.method {
        Method::Auto | Method::Morton => morton::sort(coded, params, progress)?,
        Method::Baseline(Baseline::LevelSort) => baselines::level_sort(coded, params, progress)?,
    };
    finish(points, nodes, order, frame, bounds, params, progress)
}

/// Checks parameters and points; gives the frame, and what the root covers.
pub(crate) fn prepare(
    points: Points<'_>,
    params: &Params,
    progress: &dyn Progress,
) -> Result<(Frame, Bounds)> {
    check(points, params, progress)?;
    let ranges = ranges(points);
    let prepared = params.frame(bounds(points, ranges)?)?;
    refuse_outside(points, ranges, params)?;
    Ok(prepared)
}

/// The bounds that are given, which must hold all points, or those of the points.
pub(crate) fn bounds_of(points: Points<'_>, given: Option<Bounds>) -> Result<Bounds> {
    let ranges = ranges(points);
    let own = bounds(points, ranges)?;
    refuse_outside(points, ranges, &Params { bounds: given, ..Params::new() })?;
    Ok(given.unwrap_or(own))
}

/// The ranges of x and of y.
fn ranges(points: Points<'_>) -> [Range; 2] {
    [points.x, points.y].map(|column| {
        // Of one length on any number of cores, which decides between 0.0 and -0.0.
        let pieces: Vec<&[f64]> = column.chunks(1 << 14).collect();
        let ranges = parallel::map(pieces.len(), 1, |piece| Range::of(pieces[piece]));
        ranges.into_iter().fold(Range::default(), Range::join)
    })
}

/// Sorts by codes of as many levels; those with one code stay in their order.
pub(crate) fn sort_by_code(coded: &mut [Coded], levels: u32) -> Result<()> {
    settle::sort_by_code(coded, levels)
}

/// Checks parameters, and of points how many there are.
pub(crate) fn check(points: Points<'_>, params: &Params, progress: &dyn Progress) -> Result<()> {
    params.check()?;
    progress.at("codes", 0.0)?;
    Points::new(points.x, points.y).check_lengths()?;
    Ok(gpu_core::require_at_most("points", points.len() as u64, MAX_POINTS)?)
}

/// The bounds of points whose x and y have these ranges.
pub(crate) fn bounds(points: Points<'_>, [across, up]: [Range; 2]) -> Result<Bounds> {
    across.refuse_not_finite("x", points.x)?;
    up.refuse_not_finite("y", points.y)?;
    Ok(match points.is_empty() {
        true => Bounds { min_x: 0.0, min_y: 0.0, max_x: 0.0, max_y: 0.0 },
        false => Bounds {
            min_x: across.least,
            min_y: up.least,
            max_x: across.greatest,
            max_y: up.greatest,
        },
    })
}

/// An error for the first point outside of given bounds, unless those are left out.
pub(crate) fn refuse_outside(
    points: Points<'_>,
    [across, up]: [Range; 2],
    params: &Params,
) -> Result<()> {
    let holds_all = |bounds: &Bounds| {
        is_inside(bounds, across.least, up.least) && is_inside(bounds, across.greatest, up.greatest)
    };
    let refused = params.bounds.filter(|_| params.outside == Outside::Refuse);
    if let Some(bounds) = refused.filter(|bounds| !points.is_empty() && !holds_all(bounds)) {
        let is_outside = |i: usize| !is_inside(&bounds, points.x[i], points.y[i]);
        if let Some(index) = parallel::first(points.len(), parallel::FINE, is_outside) {
            let (x, y) = (points.x[index], points.y[index]);
            return Err(Error::Outside { index: index as u64, x, y });
        }
    }
    Ok(())
}

/// The range of some numbers.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    least: f64,
    greatest: f64,
    /// The sum of their products with 0: NaN if one of them is not finite.
    zero: f64,
}

impl Default for Range {
    /// The range of no numbers.
    fn default() -> Self {
        Self { least: f64::INFINITY, greatest: f64::NEG_INFINITY, zero: 0.0 }
    }
}

impl Range {
    /// Finds the range in eight lanes of a vector. Each comparison is a single instruction, whose result for NaN does
    /// not matter.
    #[inline(always)]
    pub fn of(numbers: &[f64]) -> Self {
        let (mut least, mut greatest, mut zero) =
            ([f64::INFINITY; 8], [f64::NEG_INFINITY; 8], [0.0; 8]);
        let mut add = |lane: usize, number: f64| {
            least[lane] = if number < least[lane] { number } else { least[lane] };
            greatest[lane] = if number > greatest[lane] { number } else { greatest[lane] };
            zero[lane] += number * 0.0;
        };
        let (eights, rest) = numbers.as_chunks::<8>();
        for eight in eights {
            (0..8).for_each(|lane| add(lane, eight[lane]));
        }
        rest.iter().for_each(|&number| add(0, number));
        let lane = |i: usize| Self { least: least[i], greatest: greatest[i], zero: zero[i] };
        (0..8).map(lane).fold(Self::default(), Self::join)
    }

    pub fn join(a: Self, b: Self) -> Self {
        let (least, greatest) = (a.least.min(b.least), a.greatest.max(b.greatest));
        Self { least, greatest, zero: a.zero + b.zero }
    }

    /// An error for the first number of the column that is not finite.
    fn refuse_not_finite(self, what: &'static str, column: &[f64]) -> Result<()> {
        if self.zero == 0.0 {
            return Ok(());
        }
        let index = column.iter().position(|value| !value.is_finite()).unwrap_or_default();
        let (value, index) = (column[index], index as u64);
        Err(gpu_core::Error::NotFinite { what, index, value }.into())
    }
}

/// Whether a place lies in a rectangle, its edges included.
pub(crate) fn is_inside(bounds: &Bounds, x: f64, y: f64) -> bool {
    (bounds.min_x..=bounds.max_x).contains(&x) && (bounds.min_y..=bounds.max_y).contains(&y)
}

/// Puts the parts of a tree together.
fn finish(
    points: Points<'_>,
    nodes: Vec<Node>,
    order: Vec<u32>,
    frame: Frame,
    bounds: Bounds,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Quadtree> {
    progress.at("points", 0.0)?;
    let gather = |column: &[f64]| {
        host_memory::collected(order.len(), parallel::FINE, |i| column[order[i] as usize])
    };
    let (x, y) = (gather(points.x)?, gather(points.y)?);
    progress.at("points", 1.0)?;
    let (threshold, given) = (params.threshold, points.len() as u64);
    let (nodes, order, x, y) = (nodes.into(), order.into(), x.into(), y.into());
    let values = Vec::new();
    Ok(Quadtree { frame, bounds, threshold, nodes, order, x, y, values, given, system: 0 })
}

/// Returns the codes of the points inside the bounds. Earlier checks have refused the points that are errors.
fn codes(points: Points<'_>, frame: &Frame, params: &Params) -> Result<Vec<Coded>> {
    let code = |i: u32| (frame.code(points.x[i as usize], points.y[i as usize]), i);
    match (params.bounds, params.outside) {
        (Some(bounds), Outside::Skip) => {
            let is_in = |i: u32| is_inside(&bounds, points.x[i as usize], points.y[i as usize]);
            let inside = parallel::filter(points.len() as u32, parallel::FINE, is_in);
            Ok(host_memory::collected(inside.len(), parallel::FINE, |i| code(inside[i]))?)
        }
        _ => Ok(host_memory::collected(points.len(), parallel::FINE, |i| code(i as u32))?),
    }
}

/// The root of a tree over some points; none without.
fn root(points: usize) -> Vec<Node> {
    let count = points as u64;
    let root =
        Node { code: 0, start: 0, count, first_child: 0, level: 0, quadrants: 0, reserved: [0; 2] };
    if count == 0 { Vec::new() } else { vec![root] }
}

/// Appends the children of the last level's nodes, whose first is `level_start`, as `divide` gives the
/// points of each quadrant; gives whether there are any.
fn append_children(
    nodes: &mut Vec<Node>,
    level_start: usize,
    children: &[[u64; 4]],
) -> Result<bool> {
    let level_end = nodes.len();
    let mut end = level_end;
    let firsts: Vec<usize> = children
        .iter()
        .map(|counts| {
            let first = end;
            end += counts.iter().filter(|&&count| count > 0).count();
            first
        })
        .collect();
    let most = u64::from(u32::MAX);
    if end as u64 > most {
        return Err(Error::TooManyNodes { nodes: end as u64, most });
    }
    let parents = &mut nodes[level_start..];
    parallel::for_each(parents, parallel::FINE, |i, parent| {
        let quadrants = (0..4).map(|q| u8::from(children[i][q] > 0) << q).sum();
        if quadrants != 0 {
            (parent.first_child, parent.quadrants) = (firsts[i] as u32, quadrants);
        }
    });
    let of_ranges = parallel::map_ranges(children.len(), parallel::FINE, &|range| {
        range.flat_map(|i| children_of(parents[i], &children[i])).collect::<Vec<Node>>()
    });
    nodes.reserve(end - level_end);
    of_ranges.iter().for_each(|of_range| nodes.extend_from_slice(of_range));
    Ok(end > level_end)
}

/// Returns the children of a node; `counts` has the points of each quadrant.
fn children_of(parent: Node, counts: &[u64; 4]) -> impl Iterator<Item = Node> {
    let mut start = parent.start;
    (0u8..).zip(counts).filter(|&(_, &count)| count > 0).map(move |(quadrant, &count)| {
        let code = parent.code << 2 | u64::from(quadrant);
        start += count;
        let (level, reserved) = (parent.level + 1, [0; 2]);
        Node { code, start: start - count, count, first_child: 0, level, quadrants: 0, reserved }
    })
}
