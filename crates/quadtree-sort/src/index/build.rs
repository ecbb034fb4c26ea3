//! Building on the CPU: the same index as on a GPU.

use gpu_core::host_memory::{self, collected};
use gpu_core::parallel::{self, FINE};
use gpu_core::{Bounds, Points};
use kernels_rs::rtree::layout::{FANOUT, Layout};
use kernels_rs::rtree::{Curve, LEVELS, MAX_REPEATED, long_code};

use super::{Index, check_bounds, is_crowded, sides};
use crate::cpu::{self, Coded, sort_by_code};
use crate::{MAX_POINTS, Result};

const LEAF: usize = FANOUT as usize;

/// Boxes that are worth a task.
const BOXES: usize = 128;

/// See [`index`](super::index()).
pub(crate) fn index(points: Points<'_>, bounds: Option<Bounds>) -> Result<Index> {
    gpu_core::require_at_most("points", points.len() as u64, MAX_POINTS)?;
    let bounds = cpu::bounds_of(points, bounds)?;
    check_bounds(Some(bounds))?;
    let curve = Curve::over(sides(bounds));
    let coded = |i: usize| (u64::from(curve.code(points.x[i], points.y[i])), i as u32);
    let mut sorted = collected(points.len(), FINE, coded)?;
    sort_by_code(&mut sorted, LEVELS)?;
    for by_ranks in [false, true] {
        if !is_crowded(crowded(points, &sorted), points.len()) {
            break;
        }
        let code: Box<dyn Fn(usize) -> u64 + Sync> = match by_ranks {
            false => Box::new(|i| {
                let [column, row] = curve.finer_cell(points.x[i], points.y[i]);
                long_code(column, row)
            }),
            true => {
                let (columns, rows) = (ranks(points.x)?, ranks(points.y)?);
                Box::new(move |i| long_code(columns[i], rows[i]))
            }
        };
        sorted = collected(points.len(), FINE, |i| (code(i), i as u32))?;
        sort_by_code(&mut sorted, u32::BITS)?;
    }
    let gathered = |column: &[f64]| collected(sorted.len(), FINE, |i| column[sorted[i].1 as usize]);
    let (x, y) = (gathered(points.x)?, gathered(points.y)?);
    let order = collected(sorted.len(), FINE, |i| sorted[i].1)?;
    let layout = Layout::new(points.len() as u32);
    let boxes = boxes(&x, &y, layout)?;
    Ok(Index { x, y, order, boxes, layout, bounds })
}

/// The points that lie elsewhere than the next one, though both have the same code, and so have more points than a leaf
/// holds.
fn crowded(points: Points<'_>, sorted: &[Coded]) -> usize {
    let place = |i: usize| {
        let at = sorted[i].1 as usize;
        (points.x[at], points.y[at])
    };
    let has = |i: usize, code: u64| sorted.get(i).is_some_and(|coded| coded.0 == code);
    let is_crowded = |i: usize| {
        let (next, code) = (i + 1, sorted[i].0);
        let is_long = has(i + LEAF, code) || i.checked_sub(LEAF).is_some_and(|i| has(i, code));
        has(next, code) && is_long && place(i) != place(next)
    };
    parallel::count(sorted.len(), FINE, is_crowded) as usize
}

/// For each value of a column, counts the different values below it.
fn ranks(column: &[f64]) -> Result<Vec<u32>> {
    let mut order =
        collected(column.len(), FINE, |i| (parallel::ordered_bits(column[i]), i as u32))?;
    parallel::sort_pairs(&mut order);
    let mut ranks = host_memory::filled(0, column.len())?;
    let mut rank = 0;
    for pair in order.windows(2) {
        let [before, this] = [pair[0].1 as usize, pair[1].1 as usize];
        rank += u32::from(column[before] != column[this]);
        ranks[this] = rank;
    }
    Ok(ranks)
}

/// A box: its least corner, then its greatest.
type Corners = [[f64; 2]; 2];

/// The boxes of all levels.
fn boxes(x: &[f64], y: &[f64], layout: Layout) -> Result<Vec<Corners>> {
    let mut boxes = host_memory::filled([[0.0; 2]; 2], layout.total as usize)?;
    let (leaves, mut above) =
        boxes.split_at_mut(layout.starts.get(1).map_or(0, |_| first_end(layout)));
    let leaves = &mut leaves[..layout.counts[0] as usize];
    parallel::for_each(leaves, BOXES, |leaf, bounds| {
        let places = leaf * LEAF..x.len().min((leaf + 1) * LEAF);
        let around = places.clone().map(|i| [[x[i], y[i]]; 2]).reduce(joined);
        *bounds = around.unwrap_or_default();
        let first = places.start;
        let repeats = first >= MAX_REPEATED as usize
            && (first - MAX_REPEATED as usize..places.end)
                .all(|i| (x[i], y[i]) == (x[first], y[first]));
        if repeats {
            bounds[1][1] = f64::NAN;
        }
    });
    let mut below: &[Corners] = leaves;
    for level in 1..=layout.top as usize {
        let room = layout.counts[level].div_ceil(FANOUT) * FANOUT;
        let (this, rest) = std::mem::take(&mut above).split_at_mut(room as usize);
        let count = layout.counts[level] as usize;
        parallel::for_each(&mut this[..count], BOXES, |i, bounds| {
            let children = &below[i * LEAF..below.len().min((i + 1) * LEAF)];
            *bounds = children.iter().copied().reduce(joined).unwrap_or_default();
        });
        (below, above) = (&this[..count], rest);
    }
    Ok(boxes)
}

/// Returns the end of the first level's boxes, padding included.
fn first_end(layout: Layout) -> usize {
    (layout.counts[0].div_ceil(FANOUT) * FANOUT) as usize
}

/// The box around two.
fn joined(a: Corners, b: Corners) -> Corners {
    [[0, 1].map(|axis| a[0][axis].min(b[0][axis])), [0, 1].map(|axis| a[1][axis].max(b[1][axis]))]
}
