//! Inverse distance weighting over neighbours: crate `idw`.
//!
//! A thread takes a query, and searches the index of module `idw_index`:
//!
//! 1. It widens a box of cells until the box holds points enough, and estimates from them the radius
//!    that holds the neighbours wanted.
//! 2. It looks at the points of the cells within that radius. Cells are numbered by rows, so those of a
//!    box are one run of points a row. If the radius held too few points it is widened; once it has
//!    enough, the farthest of them is the radius for which the answer is certain.
//! 3. Up to 24 nearest are kept in registers, in order: kernels `nearest`. Otherwise (kernels
//!    `neighbours`) nothing is kept: the limit of each quadrant is found by bisection, each step a count
//!    of the points below it, and a last walk adds up what is within.
//!
//! Distances are squares of differences in f64, the same on every back end, so the same neighbours are
//! found; equal distances go by the index of the point. On the sphere they are those of the chord.

use device_std::real::Real;
use device_std::shared::{Carver, SharedArray};
use device_std::{kernel, math, thread};

use crate::idw_cells::Cells;

/// Threads of a block.
pub const BLOCK: u32 = 128;

/// Numbers of [`Search`] that come in an array.
pub mod setup {
    /// The index: west, south, 1 / cell, cell.
    pub const CELLS: usize = 0;
    /// The target grid: west, north, cell.
    pub const GRID: usize = 4;
    /// Squared smoothing, minus half the power, radius of the sphere (0 in the plane).
    pub const LAW: usize = 7;
    /// The farthest distance of a neighbour; infinite where nothing limits it. In the plane on the
    /// ground; on the sphere the chord, then the arc in radians.
    pub const REACH: usize = 10;
    /// Of the ellipse: the half extents of its box, then xx, xy, yy of the form that is at most 1
    /// inside.
    pub const ELLIPSE: usize = 12;
    /// Of each value: offset, lowest, highest.
    pub const VALUES: usize = 17;
}

/// Statistics of a query's neighbours, in this order, for [`Results`].
pub mod statistic {
    /// How many.
    pub const COUNT: usize = 0;
    /// The lowest value.
    pub const MIN: usize = 1;
    /// The highest value.
    pub const MAX: usize = 2;
    /// The mean of the values.
    pub const MEAN: usize = 3;
    /// The standard deviation of the values, over their number.
    pub const DEVIATION: usize = 4;
    /// The distance to the nearest, on the ground.
    pub const NEAREST: usize = 5;
    /// The mean distance, on the ground.
    pub const DISTANCE: usize = 6;
    /// How many there are.
    pub const ALL: usize = 7;
}

/// Bits of `flags`.
pub mod flag {
    /// Neighbours lie in an ellipse.
    pub const ELLIPSE: u32 = 1;
    /// Neighbours count by quadrants.
    pub const QUADRANTS: u32 = 2;
    /// Query `i` leaves point `i` out.
    pub const LEAVE_OUT: u32 = 4;
    /// With too few neighbours, the nearest are taken however far they are.
    pub const NEAREST_BELOW: u32 = 8;
}

/// The index and the points.
#[derive(Clone, Copy)]
struct Index {
    cells: Cells,
    cell: f64,
    starts: *const u32,
    order: *const u32,
    /// Sorted places: x of each, then y, on the sphere then z.
    places: *const f64,
    /// Values in the points' own order, one column after the other.
    values: *const f64,
    points: u32,
}

/// What a search asks for.
#[derive(Clone, Copy)]
struct Search {
    setup: *const f64,
    /// Minus half the power.
    exponent: *const f64,
    law: u32,
    flags: u32,
    max_points: u32,
    min_points: u32,
    max_per_quadrant: u32,
    min_per_quadrant: u32,
}

/// A query: where it is in the index (x, y; or longitude, latitude), and in space.
#[derive(Clone, Copy)]
struct Query {
    index: u64,
    x: f64,
    y: f64,
    place: [f64; 3],
}

/// Where results go: values, column after column, and unless null the [`statistic`]s likewise.
#[derive(Clone, Copy)]
struct Results<T> {
    values: *mut T,
    value_count: u32,
    statistics: *mut T,
    count: u64,
}

/// A point as a search sees it: its place in the sorted order, and its squared distance.
#[derive(Clone, Copy)]
struct Candidate {
    at: u32,
    squared: f64,
    quadrant: u32,
}

/// Runs of cells in each row of a box: one, or two where the box passes the date line.
#[derive(Clone, Copy)]
struct CellBox {
    first_row: u32,
    last_row: u32,
    columns: [[u32; 2]; 2],
    runs: u32,
    /// Whether it is the whole index.
    whole: bool,
}

impl Search {
    #[inline(always)]
    unsafe fn number(&self, i: usize) -> f64 {
        // SAFETY: the caller's setup is whole.
        unsafe { *self.setup.add(i) }
    }

    #[inline(always)]
    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// The sphere's radius, or 0.
    #[inline(always)]
    unsafe fn sphere(&self) -> f64 {
        // SAFETY: passed on to the caller.
        unsafe { self.number(setup::LAW + 2) }
    }

    /// The square of the distance on the ground, from that of the chord where this is a sphere.
    #[inline(always)]
    unsafe fn on_ground(&self, squared: f64) -> f64 {
        // SAFETY: passed on to the caller.
        let radius = unsafe { self.sphere() };
        if radius == 0.0 {
            return squared;
        }
        let arc = squared.arc_of_squared_chord() * radius;
        arc * arc
    }

    /// The square of the distance on the ground, smoothed.
    #[inline(always)]
    unsafe fn smoothed(&self, squared: f64) -> f64 {
        // SAFETY: passed on to the caller.
        unsafe { self.on_ground(squared) + self.number(setup::LAW) }
    }

    /// The weight at a squared distance, over that of the nearest neighbour, whose smoothed square is
    /// given: at most 1, so that none overflows.
    #[inline(always)]
    unsafe fn weight(&self, squared: f64, nearest: f64) -> f64 {
        // SAFETY: passed on to the caller.
        let (ratio, exponent) = unsafe { (nearest / self.smoothed(squared), *self.exponent) };
        match self.law {
            2 => ratio,
            4 => ratio * ratio,
            1 => math::sqrt(ratio),
            3 => ratio * math::sqrt(ratio),
            _ => (-exponent * ratio.log2()).exp2(),
        }
    }
}

impl Index {
    /// The cells within `reach` of a query: in the plane on the ground, on the sphere in radians.
    #[inline(always)]
    fn cells_within(&self, query: &Query, reach: [f64; 2], sphere: bool) -> CellBox {
        let c = &self.cells;
        // A little more than asked for, so that no rounding leaves out a point on the edge.
        let slack = self.cell * 0.001;
        let degrees = 180.0 / core::f64::consts::PI;
        let up = if sphere { reach[1] * degrees } else { reach[1] } + slack;
        let (first_row, last_row) = (c.row(query.y - up), c.row(query.y + up));
        let all_rows = first_row == 0 && last_row == c.rows - 1;
        if !sphere {
            let side = reach[0] + slack;
            let columns = [c.column(query.x - side), c.column(query.x + side)];
            let whole = all_rows && columns[0] == 0 && columns[1] == c.columns - 1;
            return CellBox { first_row, last_row, columns: [columns, [0, 0]], runs: 1, whole };
        }
        // The widest longitude of a cap: sin(dlon) = sin(reach) / cos(latitude).
        let [px, py, _] = query.place;
        let sine = f64::min(reach[0] * 1.000001, 1.0);
        let ratio = sine * sine / f64::max(px * px + py * py, 1e-30);
        let half = (4.0 * ratio).arc_of_squared_chord() * 0.5 * degrees + slack;
        // Beyond a right angle, over a pole, or around the world: every column.
        let pole = up + f64::max(query.y, -query.y) >= 89.999;
        if pole || ratio >= 0.999 || half >= 180.0 || reach[0] >= 1.5 {
            let columns = [[0, c.columns - 1], [0, 0]];
            return CellBox { first_row, last_row, columns, runs: 1, whole: all_rows };
        }
        let (from, to) = (query.x - half, query.x + half);
        let mut found = CellBox {
            first_row,
            last_row,
            columns: [[c.column(from), c.column(to)], [0, 0]],
            runs: 1,
            whole: false,
        };
        if from < -180.0 {
            found.columns = [[0, c.column(to)], [c.column(from + 360.0), c.columns - 1]];
            found.runs = 2;
        } else if to > 180.0 {
            found.columns = [[c.column(from), c.columns - 1], [0, c.column(to - 360.0)]];
            found.runs = 2;
        }
        if found.runs == 2 {
            // Two runs that meet would visit a cell twice.
            let (low, high) = if from < -180.0 { (0, 1) } else { (1, 0) };
            if found.columns[low & 1][1] >= found.columns[high & 1][0] {
                found.columns[0] = [0, c.columns - 1];
                found.runs = 1;
                found.whole = all_rows;
            }
        }
        found
    }

    /// The sorted points of run `run` of a row of a box.
    #[inline(always)]
    unsafe fn run(&self, cells: &CellBox, row: u32, run: u32) -> [u32; 2] {
        let [from, to] = if run == 0 { cells.columns[0] } else { cells.columns[1] };
        let row = row as usize * self.cells.columns as usize;
        // SAFETY: rows and columns of a box are in the index; `starts` has one more than the cells.
        unsafe { [*self.starts.add(row + from as usize), *self.starts.add(row + to as usize + 1)] }
    }

    /// How many points a box holds.
    #[inline(always)]
    unsafe fn count(&self, cells: &CellBox) -> u32 {
        let mut count = 0;
        let mut row = cells.first_row;
        while row <= cells.last_row {
            let mut run = 0;
            while run < cells.runs {
                // SAFETY: passed on to the caller.
                let [from, to] = unsafe { self.run(cells, row, run) };
                count += to - from;
                run += 1;
            }
            row += 1;
        }
        count
    }

    /// Shows every candidate of a box that the search may take.
    #[inline(always)]
    unsafe fn visit(
        &self,
        cells: &CellBox,
        query: &Query,
        search: &Search,
        limited: bool,
        mut see: impl FnMut(Candidate),
    ) {
        // SAFETY: passed on to the caller; runs are of sorted points.
        unsafe {
            let sphere = search.sphere() > 0.0;
            let reach = search.number(setup::REACH);
            let reach = if limited { reach * reach } else { f64::INFINITY };
            let n = self.points as usize;
            let form = search.setup.add(setup::ELLIPSE + 2);
            let mut row = cells.first_row;
            while row <= cells.last_row {
                let mut run = 0;
                while run < cells.runs {
                    let [mut at, end] = self.run(cells, row, run);
                    while at < end {
                        let i = at as usize;
                        let dx = *self.places.add(i) - query.place[0];
                        let dy = *self.places.add(i + n) - query.place[1];
                        let mut squared = dx * dx + dy * dy;
                        if sphere {
                            let dz = *self.places.add(i + 2 * n) - query.place[2];
                            squared += dz * dz;
                        }
                        let mut counts = squared <= reach;
                        if limited && search.has(flag::ELLIPSE) {
                            let inside =
                                *form * dx * dx + *form.add(1) * dx * dy + *form.add(2) * dy * dy;
                            counts = counts && inside <= 1.0;
                        }
                        if search.has(flag::LEAVE_OUT) {
                            counts = counts && *self.order.add(i) as u64 != query.index;
                        }
                        if counts {
                            let quadrant = (dx >= 0.0) as u32 | ((dy >= 0.0) as u32) << 1;
                            see(Candidate { at, squared, quadrant });
                        }
                        at += 1;
                    }
                    run += 1;
                }
                row += 1;
            }
        }
    }

    /// The radius, of a box of cells, that about `wanted` points lie within.
    #[inline(always)]
    unsafe fn first_radius(&self, query: &Query, wanted: u32, sphere: bool) -> f64 {
        let degree = core::f64::consts::PI / 180.0;
        let mut half = if sphere { self.cell * degree } else { self.cell };
        // SAFETY: passed on to the caller.
        unsafe {
            // Far outside the index the box widens until it reaches it.
            let mut cells = self.cells_within(query, [half; 2], sphere);
            let mut count = self.count(&cells);
            while count < wanted && !cells.whole {
                half *= 2.0;
                cells = self.cells_within(query, [half; 2], sphere);
                count = self.count(&cells);
            }
            let wanted = wanted as f64;
            let wanted = wanted + 2.0 * math::sqrt(wanted) + 1.0;
            // The box is wider than asked for, by half a cell on each side.
            let side = 2.0 * half + if sphere { self.cell * degree } else { self.cell };
            let share = wanted / (f64::max(count as f64, 1.0) * core::f64::consts::PI);
            f64::min(side * math::sqrt(share), half * 2.0)
        }
    }
}

/// The reach of a search in the two directions, for a radius (a chord's, where `sphere`).
#[inline(always)]
unsafe fn reach_of(search: &Search, radius: f64, limited: bool, sphere: bool) -> [f64; 2] {
    // SAFETY: passed on to the caller.
    unsafe {
        if !limited {
            return [radius; 2];
        }
        if sphere {
            return [f64::min(radius, search.number(setup::REACH + 1)); 2];
        }
        let most = [search.number(setup::ELLIPSE), search.number(setup::ELLIPSE + 1)];
        [f64::min(radius, most[0]), f64::min(radius, most[1])]
    }
}

/// The squared distance, as candidates have it, within which a radius holds every point.
#[inline(always)]
fn certain(radius: f64, sphere: bool) -> f64 {
    if !sphere {
        return radius * radius;
    }
    // The chord of the arc, from below: c^2 = 2 - 2 cos(r) >= r^2 - r^4 / 12.
    let square = radius * radius;
    if radius > 3.0 { 3.9 } else { f64::max(0.0, square - square * square / 12.0) }
}

/// The radius that a squared distance of a candidate asks for.
#[inline(always)]
fn radius_of(squared: f64, sphere: bool) -> f64 {
    if sphere {
        squared.arc_of_squared_chord() * 1.000001 + 1e-9
    } else {
        math::sqrt(squared) * 1.000001
    }
}

/// The nearest points found, nearest first; places that are not asked for hold -1, before all others.
struct Nearest<const K: usize> {
    squared: [f64; K],
    index: [u32; K],
    spare: u32,
}

impl<const K: usize> Nearest<K> {
    #[inline(always)]
    fn new(wanted: u32) -> Self {
        let spare = K as u32 - wanted;
        let mut squared = [f64::INFINITY; K];
        let mut i = 0;
        while i < K {
            if (i as u32) < spare {
                squared[i] = -1.0;
            }
            i += 1;
        }
        Self { squared, index: [u32::MAX; K], spare }
    }

    #[inline(always)]
    fn is_before(squared: f64, index: u32, other: f64, other_index: u32) -> bool {
        squared < other || (squared == other && index < other_index)
    }

    #[inline(always)]
    fn insert(&mut self, squared: f64, index: u32) {
        if !Self::is_before(squared, index, self.squared[K - 1], self.index[K - 1]) {
            return;
        }
        let (mut squared, mut index) = (squared, index);
        let mut i = 0;
        while i < K {
            let (other, other_index) = (self.squared[i], self.index[i]);
            let before = Self::is_before(squared, index, other, other_index);
            self.squared[i] = if before { squared } else { other };
            self.index[i] = if before { index } else { other_index };
            squared = if before { other } else { squared };
            index = if before { other_index } else { index };
            i += 1;
        }
    }

    /// How many were found.
    #[inline(always)]
    fn found(&self) -> u32 {
        let mut found = 0;
        let mut i = 0;
        while i < K {
            found += (self.squared[i] >= 0.0 && self.squared[i] < f64::INFINITY) as u32;
            i += 1;
        }
        found
    }
}

/// The `wanted` nearest points of a query, `limited` by the search's reach.
#[inline(always)]
unsafe fn nearest_points<const K: usize>(
    index: &Index,
    search: &Search,
    query: &Query,
    wanted: u32,
    limited: bool,
) -> Nearest<K> {
    // SAFETY: passed on to the caller.
    unsafe {
        let sphere = search.sphere() > 0.0;
        let mut radius = index.first_radius(query, wanted, sphere);
        loop {
            let mut nearest = Nearest::<K>::new(wanted);
            let reach = reach_of(search, radius, limited, sphere);
            let cells = index.cells_within(query, reach, sphere);
            index.visit(&cells, query, search, limited, |candidate| {
                nearest.insert(candidate.squared, *index.order.add(candidate.at as usize));
            });
            let farthest = nearest.squared[K - 1];
            let is_all = cells.whole || (reach[0] < radius && reach[1] < radius);
            if is_all || farthest <= certain(radius, sphere) {
                return nearest;
            }
            radius = if farthest < f64::INFINITY {
                f64::max(radius_of(farthest, sphere), radius * 1.01)
            } else {
                radius * 2.0
            };
        }
    }
}

/// The sums over a query's neighbours.
#[derive(Clone, Copy)]
struct Sums {
    count: f64,
    /// Neighbours that lie on the query.
    coincident: f64,
    values: f64,
    squares: f64,
    min: f64,
    max: f64,
    nearest: f64,
    distance: f64,
}

impl Sums {
    const EMPTY: Self = Self {
        count: 0.0,
        coincident: 0.0,
        values: 0.0,
        squares: 0.0,
        min: f64::INFINITY,
        max: f64::NEG_INFINITY,
        nearest: f64::INFINITY,
        distance: 0.0,
    };

    #[inline(always)]
    fn add(&mut self, value: f64, offset: f64, distance: f64) {
        let rest = value - offset;
        self.count += 1.0;
        self.values += rest;
        self.squares += rest * rest;
        self.min = f64::min(self.min, value);
        self.max = f64::max(self.max, value);
        self.nearest = f64::min(self.nearest, distance);
        self.distance += distance;
    }

    /// Writes the statistics of values whose sums had `offset` taken off.
    #[inline(always)]
    unsafe fn write<T: Real>(&self, offset: f64, query: u64, results: &Results<T>) {
        let mean = self.values / self.count;
        let variance = f64::max(0.0, self.squares / self.count - mean * mean);
        let some = self.count > 0.0;
        let put = |i: usize, value: f64, missing: f64| {
            let value = if some { value } else { missing };
            // SAFETY: the caller's statistics have `count` elements each.
            unsafe {
                *results.statistics.add((i as u64 * results.count + query) as usize) =
                    T::from_f64(value)
            }
        };
        put(statistic::COUNT, self.count, 0.0);
        put(statistic::MIN, self.min, f64::NAN);
        put(statistic::MAX, self.max, f64::NAN);
        put(statistic::MEAN, mean + offset, f64::NAN);
        put(statistic::DEVIATION, math::sqrt(variance), f64::NAN);
        put(statistic::NEAREST, self.nearest, f64::NAN);
        put(statistic::DISTANCE, self.distance / self.count, f64::NAN);
    }
}

/// Offset, lowest and highest of value `v`.
#[inline(always)]
unsafe fn bounds(search: &Search, v: u32) -> [f64; 3] {
    let at = setup::VALUES + 3 * v as usize;
    // SAFETY: the setup has three numbers for each value.
    unsafe { [search.number(at), search.number(at + 1), search.number(at + 2)] }
}

/// Writes value `v` of a query.
#[inline(always)]
unsafe fn put_value<T: Real>(results: &Results<T>, v: u32, query: u64, value: f64) {
    // SAFETY: the caller's values have `count` elements each.
    unsafe { *results.values.add((v as u64 * results.count + query) as usize) = T::from_f64(value) }
}

/// The value from its sums, between the lowest and the highest.
#[inline(always)]
fn mean(offset: f64, sum: f64, weight: f64, low: f64, high: f64) -> f64 {
    if weight > 0.0 { f64::min(f64::max(offset + sum / weight, low), high) } else { f64::NAN }
}

/// The query of this thread.
#[inline(always)]
unsafe fn query_of(
    search: &Search,
    positions: *const f64,
    places: *const f64,
    count: u64,
    width: u32,
) -> Query {
    let index = thread::index_1d();
    // SAFETY: the index is below the count; the arrays are as long as said.
    unsafe {
        if positions.is_null() {
            let row = index.checked_div(width as u64).unwrap_or(0);
            let column = index - row * width as u64;
            let cell = search.number(setup::GRID + 2);
            let x = search.number(setup::GRID) + (column as f64 + 0.5) * cell;
            let y = search.number(setup::GRID + 1) - (row as f64 + 0.5) * cell;
            return Query { index, x, y, place: [x, y, 0.0] };
        }
        let (i, n) = (index as usize, count as usize);
        let (x, y) = (*positions.add(i), *positions.add(i + n));
        let place = if search.sphere() > 0.0 {
            [*places.add(i), *places.add(i + n), *places.add(i + 2 * n)]
        } else {
            [x, y, 0.0]
        };
        Query { index, x, y, place }
    }
}

/// The lists of a block's threads, once they are complete.
struct Lists {
    squared: SharedArray<f64>,
    index: SharedArray<u32>,
}

impl Lists {
    #[inline(always)]
    const fn new(carver: &mut Carver, wanted: u32) -> Self {
        Self { squared: carver.array(wanted * BLOCK), index: carver.array(wanted * BLOCK) }
    }
}

/// Bytes of shared memory of the kernel that keeps `wanted` points.
pub const fn shared_bytes(wanted: u32) -> u32 {
    let mut carver = Carver::new();
    let _ = Lists::new(&mut carver, wanted);
    carver.bytes()
}

/// The body of the kernels that keep the nearest points.
#[inline(always)]
unsafe fn nearest<T: Real, const K: usize>(
    index: Index,
    search: Search,
    query: Query,
    results: Results<T>,
) {
    let lists = Lists::new(&mut Carver::new(), K as u32);
    let slot = |i: u32| i * BLOCK + thread::thread_idx_x();
    // SAFETY: slots are the thread's own; the rest is passed on to the caller.
    unsafe {
        // No neighbour at all is too few, whatever was asked for.
        let least = u32::max(1, search.min_points);
        let (mut wanted, mut limited) = (search.max_points, true);
        let found = loop {
            let nearest = nearest_points::<K>(&index, &search, &query, wanted, limited);
            let found = nearest.found();
            if limited && found < least && search.has(flag::NEAREST_BELOW) {
                (wanted, limited) = (least, false);
                continue;
            }
            // From the registers, where only constants can index, without the spare places.
            let mut i = 0;
            while i < K {
                if i as u32 >= nearest.spare {
                    let at = slot(i as u32 - nearest.spare);
                    lists.squared.store(at, nearest.squared[i]);
                    lists.index.store(at, nearest.index[i]);
                }
                i += 1;
            }
            break found;
        };
        let enough = found >= search.min_points && found > 0;
        let smooth = search.number(setup::LAW) > 0.0;
        let coincident = enough && !smooth && lists.squared.load(slot(0)) == 0.0;
        let [first_offset, _, _] = bounds(&search, 0);
        let mut statistics = Sums::EMPTY;
        let nearest = if found > 0 { search.smoothed(lists.squared.load(slot(0))) } else { 1.0 };
        let mut i = 0;
        while i < found {
            let squared = lists.squared.load(slot(i));
            if !results.statistics.is_null() {
                let value = *index.values.add(lists.index.load(slot(i)) as usize);
                statistics.add(value, first_offset, math::sqrt(search.on_ground(squared)));
            }
            let weight = if coincident {
                (squared == 0.0) as u32 as f64
            } else {
                search.weight(squared, nearest)
            };
            lists.squared.store(slot(i), weight);
            i += 1;
        }
        if !results.statistics.is_null() {
            statistics.write(first_offset, query.index, &results);
        }
        let mut v = 0;
        while v < results.value_count {
            let [offset, low, high] = bounds(&search, v);
            let offset = if coincident { 0.0 } else { offset };
            let values = index.values.add(v as usize * index.points as usize);
            let (mut weights, mut sum) = (0.0, 0.0);
            let mut i = 0;
            while i < found {
                let weight = lists.squared.load(slot(i));
                weights += weight;
                sum += weight * (*values.add(lists.index.load(slot(i)) as usize) - offset);
                i += 1;
            }
            let value = if enough { mean(offset, sum, weights, low, high) } else { f64::NAN };
            put_value(&results, v, query.index, value);
            v += 1;
        }
    }
}

/// What of a quadrant's candidates counts: those nearer than `squared`, and at that distance those with
/// an index up to `index`.
#[derive(Clone, Copy)]
struct Limit {
    squared: f64,
    index: u32,
}

/// The circle in which a search without a list works.
#[derive(Clone, Copy)]
struct Circle {
    cells: CellBox,
    /// Candidates beyond this do not count, since not all of them may be in the cells.
    squared: f64,
    limited: bool,
}

impl Circle {
    /// Shows every candidate in the circle with its group: its quadrant, or 0.
    #[inline(always)]
    unsafe fn visit(
        &self,
        index: &Index,
        search: &Search,
        query: &Query,
        mut see: impl FnMut(Candidate, u32),
    ) {
        let quadrants = search.has(flag::QUADRANTS);
        // SAFETY: passed on to the caller.
        unsafe {
            index.visit(&self.cells, query, search, self.limited, |candidate| {
                if candidate.squared <= self.squared {
                    see(candidate, if quadrants { candidate.quadrant } else { 0 });
                }
            });
        }
    }

    /// The circle that surely holds `wanted` candidates of each group, or all there are; and how many
    /// of each it holds.
    #[inline(always)]
    unsafe fn around(
        index: &Index,
        search: &Search,
        query: &Query,
        wanted: u32,
        limited: bool,
    ) -> (Self, [u32; 4]) {
        // SAFETY: passed on to the caller.
        unsafe {
            let sphere = search.sphere() > 0.0;
            let groups = if search.has(flag::QUADRANTS) { 4 } else { 1 };
            let endless = wanted == u32::MAX;
            let mut radius = if endless {
                f64::INFINITY
            } else {
                index.first_radius(query, u32::min(wanted, 1 << 20) * groups, sphere)
            };
            loop {
                let reach = reach_of(search, radius, limited, sphere);
                let cells = index.cells_within(query, reach, sphere);
                let is_all = cells.whole || (reach[0] < radius && reach[1] < radius);
                let squared = if is_all { f64::INFINITY } else { certain(radius, sphere) };
                let circle = Self { cells, squared, limited };
                let mut counts = [0; 4];
                circle.visit(index, search, query, |_, group| {
                    counts[0] += (group == 0) as u32;
                    counts[1] += (group == 1) as u32;
                    counts[2] += (group == 2) as u32;
                    counts[3] += (group == 3) as u32;
                });
                let least = if groups == 4 {
                    u32::min(u32::min(counts[0], counts[1]), u32::min(counts[2], counts[3]))
                } else {
                    counts[0]
                };
                if is_all || least >= wanted {
                    return (circle, counts);
                }
                radius *= 1.6;
            }
        }
    }

    /// The limit within which `wanted` of a group's candidates lie, by bisection.
    #[inline(always)]
    unsafe fn limit(
        &self,
        index: &Index,
        search: &Search,
        query: &Query,
        group: u32,
        wanted: u32,
    ) -> Limit {
        // SAFETY: passed on to the caller.
        unsafe {
            // The bits of floats that are not negative are in the order of their values.
            let (mut low, mut high) = (0u64, f64::INFINITY.to_bits());
            while low < high {
                let middle = low + (high - low) / 2;
                let mut count = 0;
                self.visit(index, search, query, |candidate, of| {
                    count += (of == group && candidate.squared.to_bits() <= middle) as u32;
                });
                if count >= wanted {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            let squared = f64::from_bits(low);
            let (mut low, mut high) = (0u32, u32::MAX);
            while low < high {
                let middle = low + (high - low) / 2;
                let mut count = 0;
                self.visit(index, search, query, |candidate, of| {
                    let nearer = candidate.squared < squared
                        || (candidate.squared == squared
                            && *index.order.add(candidate.at as usize) <= middle);
                    count += (of == group && nearer) as u32;
                });
                if count >= wanted {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            Limit { squared, index: low }
        }
    }
}

/// How many of each quadrant count: by turns, the nearest of each, then the second nearest of each, and
/// so on until `most`.
#[inline(always)]
fn by_turns(counts: [u32; 4], per_quadrant: u32, most: u32) -> [u32; 4] {
    let counts = [
        u32::min(counts[0], per_quadrant),
        u32::min(counts[1], per_quadrant),
        u32::min(counts[2], per_quadrant),
        u32::min(counts[3], per_quadrant),
    ];
    let total = |rounds: u32| {
        u32::min(counts[0], rounds) as u64
            + u32::min(counts[1], rounds) as u64
            + u32::min(counts[2], rounds) as u64
            + u32::min(counts[3], rounds) as u64
    };
    if total(u32::MAX) <= most as u64 {
        return counts;
    }
    // The most whole rounds.
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if total(middle) <= most as u64 {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    let mut rest = most - total(low) as u32;
    let mut turn = |count: u32| {
        let extra = (count > low && rest > 0) as u32;
        rest -= extra;
        u32::min(count, low) + extra
    };
    [turn(counts[0]), turn(counts[1]), turn(counts[2]), turn(counts[3])]
}

/// The body of the kernels that keep no list: any number of neighbours, quadrants, all within a radius.
#[inline(always)]
unsafe fn neighbours<T: Real>(index: Index, search: Search, query: Query, results: Results<T>) {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut search = search;
        let wanted = u32::min(search.max_points, search.max_per_quadrant);
        let wanted = u32::max(wanted, search.min_per_quadrant);
        let (mut circle, mut counts) = Circle::around(&index, &search, &query, wanted, true);
        let mut taken = by_turns(counts, search.max_per_quadrant, search.max_points);
        let total = |taken: [u32; 4]| taken[0] + taken[1] + taken[2] + taken[3];
        let few = |counts: [u32; 4], of: u32| {
            (counts[0] < of) as u32
                + (counts[1] < of) as u32
                + (counts[2] < of) as u32
                + (counts[3] < of) as u32
        };
        let mut enough = total(taken) >= search.min_points && total(taken) > 0;
        if search.has(flag::QUADRANTS) {
            enough = enough && few(counts, search.min_per_quadrant) == 0;
        }
        if !enough && search.has(flag::NEAREST_BELOW) {
            // Without quadrants and without reach.
            search.flags &= !flag::QUADRANTS;
            let least =
                u32::max(1, u32::max(search.min_points, search.min_per_quadrant.saturating_mul(4)));
            (circle, counts) = Circle::around(&index, &search, &query, least, false);
            taken = by_turns(counts, u32::MAX, least);
            enough = total(taken) >= search.min_points && total(taken) > 0;
        }
        let no_limit = Limit { squared: f64::INFINITY, index: u32::MAX };
        let mut limits = [no_limit; 4];
        let mut group = 0;
        while group < 4 {
            if taken[group] < counts[group] {
                limits[group] = circle.limit(&index, &search, &query, group as u32, taken[group]);
            }
            group += 1;
        }
        let pick = |of: u32| match of {
            0 => (limits[0], taken[0]),
            1 => (limits[1], taken[1]),
            2 => (limits[2], taken[2]),
            _ => (limits[3], taken[3]),
        };
        let counts_in = |candidate: Candidate, of: u32| {
            let (limit, taken) = pick(of);
            let i = *index.order.add(candidate.at as usize);
            taken > 0
                && (candidate.squared < limit.squared
                    || (candidate.squared == limit.squared && i <= limit.index))
        };
        let [first_offset, _, _] = bounds(&search, 0);
        let mut all = Sums::EMPTY;
        let smooth = search.number(setup::LAW) > 0.0;
        let mut nearest = f64::INFINITY;
        circle.visit(&index, &search, &query, |candidate, of| {
            if counts_in(candidate, of) {
                nearest = f64::min(nearest, candidate.squared);
                all.coincident += (candidate.squared == 0.0 && !smooth) as u32 as f64;
                if !results.statistics.is_null() {
                    let i = *index.order.add(candidate.at as usize) as usize;
                    let distance = math::sqrt(search.on_ground(candidate.squared));
                    all.add(*index.values.add(i), first_offset, distance);
                }
            }
        });
        if !results.statistics.is_null() {
            all.write(first_offset, query.index, &results);
        }
        let coincident = all.coincident > 0.0;
        let nearest = search.smoothed(nearest);
        let mut v = 0;
        while v < results.value_count {
            let [offset, low, high] = bounds(&search, v);
            let offset = if coincident { 0.0 } else { offset };
            let (mut weights, mut sum) = (0.0, 0.0);
            circle.visit(&index, &search, &query, |candidate, of| {
                if counts_in(candidate, of) {
                    let weight = if coincident {
                        (candidate.squared == 0.0) as u32 as f64
                    } else {
                        search.weight(candidate.squared, nearest)
                    };
                    let i = *index.order.add(candidate.at as usize) as usize;
                    let value = *index.values.add(v as usize * index.points as usize + i);
                    weights += weight;
                    sum += weight * (value - offset);
                }
            });
            let value = if enough { mean(offset, sum, weights, low, high) } else { f64::NAN };
            put_value(&results, v, query.index, value);
            v += 1;
        }
    }
}

macro_rules! search_kernels {
    ($($name:ident: $type:ty, $body:expr;)+) => {$(
        /// Interpolates over neighbours; `nearest` keeps up to so many in registers, `neighbours` does
        /// without. Grid: a thread a query.
        ///
        /// # Safety
        /// `limits` are max and min points, then per quadrant; `shape` the index's columns and rows, the
        /// points, the law, the [`flag`]s and the values a point; all six and more of `index` are the
        /// index's arrays: starts, order, sorted places, values, as addresses; `positions` and (on the
        /// sphere) `places` have `count` elements a column, or `positions` is null for a grid of
        /// `width` columns; `exponents`, unless null, has minus half the power of each query, which
        /// then takes the place of that in `setup`; `values` has `count` elements for each value, `statistics` (unless null)
        /// for each [`statistic`]; `setup` is as [`setup`] says.
        #[kernel(block = 128)]
        pub unsafe fn $name(
            starts: *const u32,
            order: *const u32,
            sorted: *const f64,
            point_values: *const f64,
            shape: *const u32,
            limits: *const u32,
            setup: *const f64,
            positions: *const f64,
            places: *const f64,
            count: u64,
            width: u32,
            exponents: *const f64,
            values: *mut $type,
            statistics: *mut $type,
        ) {
            if thread::index_1d() >= count {
                return;
            }
            // SAFETY: passed on to the caller.
            unsafe {
                let cells = Cells {
                    west: *setup.add(setup::CELLS),
                    south: *setup.add(setup::CELLS + 1),
                    per_unit: *setup.add(setup::CELLS + 2),
                    columns: *shape,
                    rows: *shape.add(1),
                };
                let index = Index {
                    cells,
                    cell: *setup.add(setup::CELLS + 3),
                    starts,
                    order,
                    places: sorted,
                    values: point_values,
                    points: *shape.add(2),
                };
                let search = Search {
                    setup,
                    exponent: if exponents.is_null() {
                        setup.add(setup::LAW + 1)
                    } else {
                        exponents.add(thread::index_1d() as usize)
                    },
                    law: *shape.add(3),
                    flags: *shape.add(4),
                    max_points: *limits,
                    min_points: *limits.add(1),
                    max_per_quadrant: *limits.add(2),
                    min_per_quadrant: *limits.add(3),
                };
                let results = Results { values, value_count: *shape.add(5), statistics, count };
                let query = query_of(&search, positions, places, count, width);
                $body(index, search, query, results)
            };
        }
    )+};
}

search_kernels! {
    nearest_8_f32: f32, nearest::<f32, 8>;
    nearest_12_f32: f32, nearest::<f32, 12>;
    nearest_16_f32: f32, nearest::<f32, 16>;
    nearest_24_f32: f32, nearest::<f32, 24>;
    neighbours_f32: f32, neighbours::<f32>;
    nearest_8_f64: f64, nearest::<f64, 8>;
    nearest_12_f64: f64, nearest::<f64, 12>;
    nearest_16_f64: f64, nearest::<f64, 16>;
    nearest_24_f64: f64, nearest::<f64, 24>;
    neighbours_f64: f64, neighbours::<f64>;
}

device_std::ptx_module! {
    "idw_neighbours": nearest_8_f32, nearest_12_f32, nearest_16_f32, nearest_24_f32, neighbours_f32,
    nearest_8_f64, nearest_12_f64, nearest_16_f64, nearest_24_f64, neighbours_f64
}
