//! Neighbours on the CPU: the candidates of a target, in order of distance.
//!
//! A search widens a box of cells, as the kernels do: from the points in the box it estimates a radius,
//! collects the points within, and is done when it has as many as are wanted within the radius that the
//! cells cover.

use kernels_rs::spatial::sphere;

use super::careful;
use super::index::Index;
use crate::points::Range;
use crate::search::Search;
use crate::{Below, Params};

/// What a search found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    pub count: u32,
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    pub deviation: f64,
    /// The distance to the nearest, on the ground.
    pub nearest: f64,
    /// The mean distance, on the ground.
    pub distance: f64,
}

/// A point near a target.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Candidate {
    /// Square of the distance; on the sphere of the chord.
    squared: f64,
    index: u32,
    quadrant: u8,
}

impl Candidate {
    fn key(&self) -> (u64, u32) {
        // The bits of floats that are not negative are in the order of their values.
        (self.squared.to_bits(), self.index)
    }
}

/// Memory that searches of one thread share; after a search it holds what was found.
#[derive(Default)]
pub(super) struct Scratch {
    candidates: Vec<Candidate>,
    weights: Vec<f64>,
    /// Whether there are as many as the parameters want.
    enough: bool,
}

/// A target as the search sees it.
struct Query<'a, 'b> {
    index: &'a Index<'b>,
    search: Search,
    x: f64,
    y: f64,
    place: [f64; 3],
    left_out: Option<u32>,
    limited: bool,
}

/// Finds the neighbours of a target; their values are then [`Scratch::value`]'s.
pub(super) fn around(
    index: &Index,
    params: &Params,
    (x, y): (f64, f64),
    left_out: Option<u32>,
    scratch: &mut Scratch,
) -> Found {
    let search = Search::of(params);
    let x = if params.geographic { sphere::normalised(x) } else { x };
    let place = careful::place(params.geographic, (x, y));
    let mut query = Query { index, search, x, y, place, left_out, limited: true };
    scratch.enough = query.take(scratch);
    if !scratch.enough && search.below == Below::Nearest {
        query.limited = false;
        let wanted = search.fallback();
        query.nearest(wanted, 1, scratch);
        keep_first(&mut scratch.candidates, wanted as usize);
        scratch.enough = scratch.candidates.len() >= search.min_points.max(1) as usize;
    }
    scratch.candidates.sort_unstable_by_key(Candidate::key);
    scratch.weigh(params);
    scratch.found(index, params)
}

/// Keeps the first in order, in any order.
fn keep_first(candidates: &mut Vec<Candidate>, most: usize) {
    if candidates.len() > most {
        candidates.select_nth_unstable_by_key(most, Candidate::key);
        candidates.truncate(most);
    }
}

impl Query<'_, '_> {
    /// Collects the neighbours that the search wants; tells whether there are enough.
    fn take(&self, scratch: &mut Scratch) -> bool {
        let s = &self.search;
        let wanted = s.max_points.min(s.max_per_quadrant).max(s.min_per_quadrant);
        self.nearest(wanted, if s.quadrants { 4 } else { 1 }, scratch);
        let candidates = &mut scratch.candidates;
        if !s.quadrants {
            keep_first(candidates, s.max_points as usize);
            return candidates.len() >= s.min_points.max(1) as usize;
        }
        candidates.sort_unstable_by_key(Candidate::key);
        let mut counts = [0u32; 4];
        candidates.iter().for_each(|c| counts[usize::from(c.quadrant)] += 1);
        let of_each = by_turns(counts.map(|n| n.min(s.max_per_quadrant)), s.max_points);
        let mut taken = [0u32; 4];
        candidates.retain(|c| {
            let taken = &mut taken[usize::from(c.quadrant)];
            *taken += 1;
            *taken <= of_each[usize::from(c.quadrant)]
        });
        counts.iter().all(|&n| n >= s.min_per_quadrant)
            && candidates.len() >= s.min_points.max(1) as usize
    }

    /// Collects at least the `wanted` nearest candidates of each of `groups`, or all there are.
    fn nearest(&self, wanted: u32, groups: u32, scratch: &mut Scratch) {
        let mut radius = if wanted == u32::MAX {
            f64::INFINITY
        } else {
            self.first_radius(f64::from(wanted) * f64::from(groups))
        };
        loop {
            let (cells, is_all) = self.cells_within(radius);
            let certain = if is_all { f64::INFINITY } else { self.certain(radius) };
            scratch.candidates.clear();
            self.collect(&cells, certain, &mut scratch.candidates);
            let least = if groups == 4 {
                let mut counts = [0; 4];
                let all = scratch.candidates.iter();
                all.for_each(|c| counts[usize::from(c.quadrant)] += 1u32);
                counts.into_iter().min().unwrap_or(0)
            } else {
                scratch.candidates.len() as u32
            };
            if is_all || least >= wanted {
                return;
            }
            radius *= 1.5;
        }
    }

    /// The square of the distance within which a radius holds every point.
    fn certain(&self, radius: f64) -> f64 {
        if self.index.geographic { sphere::squared_chord_of_arc(radius) } else { radius * radius }
    }

    /// Pushes the candidates of cells that lie within `certain`.
    fn collect(&self, cells: &CellBox, certain: f64, candidates: &mut Vec<Candidate>) {
        let reach = if self.limited { self.search.reach } else { f64::INFINITY };
        let most = certain.min(reach * reach);
        let ellipse = self.search.ellipse.filter(|_| self.limited);
        for run in cells.runs(self.index) {
            for i in run {
                let p = self.index.places[i];
                let [dx, dy, dz] =
                    [p[0] - self.place[0], p[1] - self.place[1], p[2] - self.place[2]];
                let mut squared = dx * dx + dy * dy;
                if self.index.geographic {
                    squared += dz * dz;
                }
                if squared > most {
                    continue;
                }
                let inside = |e: crate::search::Ellipse| {
                    e.xx * dx * dx + e.xy * dx * dy + e.yy * dy * dy <= 1.0
                };
                let index = self.index.order[i];
                if ellipse.is_none_or(inside) && Some(index) != self.left_out {
                    let quadrant = u8::from(dx >= 0.0) | u8::from(dy >= 0.0) << 1;
                    candidates.push(Candidate { squared, index, quadrant });
                }
            }
        }
    }

    /// The radius that about `wanted` points lie within: on the sphere an angle.
    fn first_radius(&self, wanted: f64) -> f64 {
        let cell = self.index.cells.side;
        let cell = if self.index.geographic { cell.to_radians() } else { cell };
        let mut half = cell;
        loop {
            let (cells, _) = self.box_of([half; 2]);
            let count: usize = cells.runs(self.index).map(|run| run.len()).sum();
            if count as f64 >= wanted || cells.is_whole(self.index) {
                let wanted = wanted + 2.0 * wanted.sqrt() + 1.0;
                let share = wanted / (count.max(1) as f64 * std::f64::consts::PI);
                return ((2.0 * half + cell) * share.sqrt()).min(half * 2.0);
            }
            half *= 2.0;
        }
    }

    /// The cells within a radius, and whether no other cell can hold a candidate.
    fn cells_within(&self, radius: f64) -> (CellBox, bool) {
        let [mut x, mut y] = [radius; 2];
        if self.limited && self.index.geographic {
            x = x.min(self.search.arc);
            y = x;
        } else if self.limited {
            (x, y) = (x.min(self.search.extent[0]), y.min(self.search.extent[1]));
        }
        let (cells, whole) = self.box_of([x, y]);
        (cells, whole || (x < radius && y < radius))
    }

    /// The cells of a box around the target, and whether it is the whole index.
    fn box_of(&self, [x, y]: [f64; 2]) -> (CellBox, bool) {
        let c = &self.index.cells;
        // A little more than that, so that no rounding leaves out a point on the edge.
        let slack = c.side * 0.001;
        let up = if self.index.geographic { y.to_degrees() } else { y } + slack;
        let rows = [c.row(self.y - up), c.row(self.y + up)];
        let columns = if self.index.geographic {
            self.columns_of_cap(x, up, slack)
        } else {
            [Some([c.column(self.x - x - slack), c.column(self.x + x + slack)]), None]
        };
        let found = CellBox { rows, columns };
        let whole = found.is_whole(self.index);
        (found, whole)
    }

    /// The columns that a cap of the sphere touches: two runs where it passes the date line.
    fn columns_of_cap(&self, arc: f64, up: f64, slack: f64) -> [Option<[u32; 2]>; 2] {
        let c = &self.index.cells;
        let all = [Some([0, c.columns - 1]), None];
        let cosine = self.place[0].hypot(self.place[1]);
        // Over a pole, or from a right angle on, every column.
        if up + self.y.abs() >= 89.999 || arc >= 1.5 || arc.sin() >= 0.999 * cosine {
            return all;
        }
        // The widest longitude of a cap: sin(dlon) = sin(arc) / cos(latitude).
        let half = (arc.sin() / cosine).asin().to_degrees() + slack;
        let (from, to) = (self.x - half, self.x + half);
        let runs = if from < -180.0 {
            [[0, c.column(to)], [c.column(from + 360.0), c.columns - 1]]
        } else if to > 180.0 {
            [[0, c.column(to - 360.0)], [c.column(from), c.columns - 1]]
        } else {
            return [Some([c.column(from), c.column(to)]), None];
        };
        // Two runs that meet would visit a cell twice.
        if runs[0][1] >= runs[1][0] { all } else { runs.map(Some) }
    }
}

/// Cells from one row and column to another, both inclusive.
struct CellBox {
    rows: [u32; 2],
    columns: [Option<[u32; 2]>; 2],
}

impl CellBox {
    fn is_whole(&self, index: &Index) -> bool {
        let c = &index.cells;
        self.rows == [0, c.rows - 1] && self.columns[0] == Some([0, c.columns - 1])
    }

    /// The sorted points of the cells: a run of them for each row, or two.
    fn runs<'a>(&self, index: &'a Index) -> impl Iterator<Item = std::ops::Range<usize>> + 'a {
        let ([first, last], columns) = (self.rows, self.columns);
        (first..=last).flat_map(move |row| {
            let row = row as usize * index.cells.columns as usize;
            columns.into_iter().flatten().map(move |[from, to]| {
                let start = index.starts[row + from as usize];
                start as usize..index.starts[row + to as usize + 1] as usize
            })
        })
    }
}

/// How many of each quadrant count: by turns, the nearest of each, then the second nearest of each, and
/// so on until `most`.
fn by_turns(counts: [u32; 4], most: u32) -> [u32; 4] {
    let total = |rounds: u32| counts.iter().map(|&n| u64::from(n.min(rounds))).sum::<u64>();
    if total(u32::MAX) <= u64::from(most) {
        return counts;
    }
    let rounds = (0..=most).take_while(|&r| total(r) <= u64::from(most)).last().unwrap_or(0);
    let mut rest = u64::from(most) - total(rounds);
    counts.map(|n| {
        let extra = u32::from(n > rounds && rest > 0);
        rest -= u64::from(extra);
        n.min(rounds) + extra
    })
}

impl Scratch {
    /// The weights of the candidates, which are in order, relative to that of the nearest, so that none
    /// overflows. Those that lie on the target leave nothing to the others.
    fn weigh(&mut self, params: &Params) {
        let smoothing = params.smoothing * params.smoothing;
        let on_target =
            smoothing == 0.0 && self.candidates.first().is_some_and(|c| c.squared == 0.0);
        let squared = |c: &Candidate| {
            let squared = if params.geographic { careful::on_ground(c.squared) } else { c.squared };
            squared + smoothing
        };
        let nearest = self.candidates.first().map_or(1.0, squared);
        let weight = |c: &Candidate| {
            if on_target {
                return f64::from(u8::from(c.squared == 0.0));
            }
            let ratio = nearest / squared(c);
            match params.law() {
                1 => ratio.sqrt(),
                2 => ratio,
                3 => ratio * ratio.sqrt(),
                4 => ratio * ratio,
                _ => ratio.powf(0.5 * params.power),
            }
        };
        self.weights.clear();
        self.weights.extend(self.candidates.iter().map(weight));
    }

    /// Value `v` of the target that was searched around.
    pub fn value(&self, index: &Index, params: &Params, v: usize) -> f64 {
        if !self.enough {
            return f64::NAN;
        }
        let Range { offset, low, high } = index.range(v);
        let exact =
            params.smoothing == 0.0 && self.candidates.first().is_some_and(|c| c.squared == 0.0);
        let offset = if exact { 0.0 } else { offset };
        let (mut weights, mut sum) = (0.0, 0.0);
        for (c, &weight) in self.candidates.iter().zip(&self.weights) {
            weights += weight;
            if weight > 0.0 {
                sum += weight * (index.data.values[v][c.index as usize] - offset);
            }
        }
        if weights > 0.0 { (offset + sum / weights).clamp(low, high) } else { f64::NAN }
    }

    /// The statistics of the first value.
    fn found(&self, index: &Index, params: &Params) -> Found {
        let missing = f64::NAN;
        let mut found = Found { count: self.candidates.len() as u32, ..Found::default() };
        let Some(nearest) = self.candidates.first() else {
            let (min, max, mean, deviation) = (missing, missing, missing, missing);
            return Found {
                count: 0,
                min,
                max,
                mean,
                deviation,
                nearest: missing,
                distance: missing,
            };
        };
        let on_ground = |squared: f64| {
            if params.geographic { careful::on_ground(squared).sqrt() } else { squared.sqrt() }
        };
        found.nearest = on_ground(nearest.squared);
        // The rest is for statistics and the adaptive power.
        let (offset, n) = (index.range(0).offset, f64::from(found.count));
        let (mut sum, mut squares) = (0.0, 0.0);
        (found.min, found.max) = (f64::INFINITY, f64::NEG_INFINITY);
        for c in &self.candidates {
            let value = index.data.values[0][c.index as usize];
            (found.min, found.max) = (found.min.min(value), found.max.max(value));
            sum += value - offset;
            squares += (value - offset) * (value - offset);
            found.distance += on_ground(c.squared) / n;
        }
        let mean = sum / n;
        found.mean = offset + mean;
        found.deviation = (squares / n - mean * mean).max(0.0).sqrt();
        found
    }
}
