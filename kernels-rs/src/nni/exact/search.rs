//! The Voronoi cell of a place among points sorted by cells, cut out of a window.
//!
//! Plan:
//!
//! 1. The polygon is the window, a square round the query point.
//! 2. The cells around the query point are gone through in growing blocks, and the polygon cut by the
//!    bisector of each point. A point farther than twice the farthest corner cannot cut (Ray, Sokolov,
//!    Lefebvre and Levy 2018, doi:10.1145/3272127.3275092): once no point outside of the block is nearer
//!    than that, the polygon is the cell.
//! 3. Beyond [`NEAR`] cells, where there is a void or the edge of all points, blocks double, and of
//!    each row only what a point must lie in to cut is gone through: the circles through the query point
//!    round the corners, found for a strip of rows at once, the farther the higher. Rows are contiguous in
//!    memory, so a void costs as many looks as it has rows. Out there only a site that cuts can be the
//!    nearest.
//!
//! Where a row has many sites they are gone through by boxes: one that is in none of these circles is left out
//! ([`crowds`](super::crowds)).
//!
//! A [team](super::team) of threads looks at as many sites at once, or, where strips are high and rows have few sites, at as
//! many rows, which are left out where no site of theirs cuts. Of those that cut, the first does, and the
//! others look at what is left: the sites cut in the same order for a team of any size. Each thread finds the
//! circles of one strip, by the polygon as it is at the first of them: wider ones change nothing but work.

use device_std::{math, vector};

use super::crowds::{Area, Crowds, FEW};
use super::polygon::{Line, Polygon, Slots, WINDOW};
use super::sought::{CROWD, squared_distance};
use super::team::Team;
use crate::spatial::cells::{Block, Cells};

/// Half the side of the largest block that is gone through whole, in cells.
pub const NEAR: u32 = 3;

/// How far rows are for each that is taken together with others: a strip of them, the farther the higher.
const STRIP: u32 = 8;

/// Rows of a strip from which on a team looks whether any has a site that cuts, a thread a row.
const FEW_ROWS: u32 = 4;

/// The most sites of a part of a row that one thread goes through.
const MOST_OF_THREAD: u32 = 8;

/// Sites sorted by cells.
#[derive(Clone, Copy)]
pub struct Index<P, S> {
    /// The cells.
    pub cells: Cells,
    /// The place of a site.
    pub place: P,
    /// The first site of a cell; asked with the number of cells, how many sites there are.
    pub start: S,
}

/// What to look for.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    /// Where.
    pub at: [f64; 2],
    /// A site that is left out: the one whose own cell this is. [`WINDOW`] where there is none.
    pub own: u32,
    /// Half the side of the window.
    pub half_window: f64,
    /// Where no site is nearer than the root of this, the search ends.
    pub give_up: f64,
    /// Half the side of the largest block that is gone through, in cells; beyond it is too far.
    pub most: u32,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The polygon is the cell.
    Found,
    /// The place is that of the nearest site.
    OnSite,
    /// No site is near enough.
    Beyond,
    /// The slots, or the cells gone through, do not suffice.
    Exceeded,
}

/// What a search found.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// How it ended.
    pub end: End,
    /// The nearest site, [`WINDOW`] where there is none.
    pub nearest: u32,
    /// Its squared distance.
    pub squared: f64,
}

impl Found {
    /// Takes a site for the nearest, if it is.
    #[inline(always)]
    pub fn meet(&mut self, site: u32, way: [f64; 2]) {
        let squared = way[0] * way[0] + way[1] * way[1];
        if squared < self.squared {
            (self.squared, self.nearest) = (squared, site);
        }
    }
}

impl<P: Fn(u32) -> [f64; 2], S: Fn(u32) -> u32> Index<P, S> {
    /// The line of a name, seen from a place.
    #[inline(always)]
    pub fn line(&self, query: &Query, name: u32) -> Line {
        if name >= WINDOW {
            return Line::of_window(name - WINDOW, query.half_window);
        }
        Line::of_site(self.way(query, name))
    }

    /// The way from the query point to a site.
    #[inline(always)]
    pub fn way(&self, query: &Query, site: u32) -> [f64; 2] {
        let [x, y] = (self.place)(site);
        [x - query.at[0], y - query.at[1]]
    }

    /// Calls `visit(site, way to it)` for the sites in a block of cells; `false`, after some of them, where
    /// those are more than `most`.
    #[inline(always)]
    pub fn scan(
        &self,
        at: [f64; 2],
        block: Block,
        most: u32,
        mut visit: impl FnMut(u32, [f64; 2]),
    ) -> bool {
        let [first, last] = block.columns;
        let mut left = most;
        let mut row = block.rows[0];
        while row <= block.rows[1] {
            let start = row * self.cells.columns;
            let (site, end) = ((self.start)(start + first), (self.start)(start + last + 1));
            if end - site > left {
                return false;
            }
            left -= end - site;
            self.each_of([site, end], at, &mut visit);
            row += 1;
        }
        true
    }

    /// Calls `visit(site, way to it)` for the sites from a first to before an end.
    #[inline(always)]
    pub fn each_of(
        &self,
        [mut site, end]: [u32; 2],
        at: [f64; 2],
        mut visit: impl FnMut(u32, [f64; 2]),
    ) {
        while site < end {
            let [x, y] = (self.place)(site);
            visit(site, [x - at[0], y - at[1]]);
            site += 1;
        }
    }

    /// The nearest site, as far as blocks of up to [`NEAR`] cells to each side tell, each with [`CROWD`] sites at most:
    /// `Exceeded` where they do not, `Beyond` where it is not within the query's limit.
    #[inline(always)]
    pub fn nearest(&self, query: &Query) -> Found {
        let mut found = Found { end: End::Exceeded, nearest: WINDOW, squared: f64::INFINITY };
        let mut half = 1;
        while half <= NEAR {
            let block = self.cells.around(query.at, half);
            if !self.scan(query.at, block, CROWD, |site, way| found.meet(site, way)) {
                break;
            }
            let reach = self.cells.reach(block, query.at);
            let squared = if reach > 0.0 { reach * reach } else { 0.0 };
            if found.squared == 0.0 {
                found.end = End::OnSite;
            } else if found.squared <= squared || self.cells.is_whole(block) {
                found.end = End::Found;
            } else if query.give_up <= squared && found.squared >= query.give_up {
                found.end = End::Beyond;
            }
            if found.end != End::Exceeded {
                break;
            }
            half += 1;
        }
        found
    }

    /// Makes the polygon the Voronoi cell of the query point among the sites, within the window.
    #[inline(always)]
    pub fn cell<Q: Slots, T: Team>(&self, query: &Query, polygon: &mut Polygon<'_, Q, T>) -> Found {
        polygon.open(query.half_window);
        let found = Found { end: End::Exceeded, nearest: WINDOW, squared: f64::INFINITY };
        let beside = if T::LEAVES_CROWDS { [0; 2] } else { self.beside(query.at) };
        let met = [0; 2];
        let mut walk = Walk { index: self, query, found, agreed: found, beside, met };
        let mut inner: Option<Block> = None;
        let mut half = 0;
        loop {
            let block = self.cells.around(query.at, half);
            let goes_on = walk.block(block, inner, half > NEAR, polygon);
            walk.agree(polygon.team);
            if !goes_on {
                return walk.found;
            }
            let reach = self.cells.reach(block, query.at);
            let squared = if reach > 0.0 { reach * reach } else { 0.0 };
            if 4.0 * polygon.farthest <= squared || self.cells.is_whole(block) {
                walk.found.end = End::Found;
            } else if query.give_up <= squared && walk.found.squared >= query.give_up {
                walk.found.end = End::Beyond;
            }
            if walk.found.end != End::Exceeded {
                return walk.found;
            }
            inner = Some(block);
            half = if half < NEAR { half + 1 } else { 2 * half + 1 };
            if half > query.most {
                return walk.found;
            }
        }
    }
}

/// A search under way.
struct Walk<'a, P, S> {
    index: &'a Index<P, S>,
    query: &'a Query,
    /// The nearest site is that of the thread's own, until they [agree](Self::agree).
    found: Found,
    /// What they agreed on last.
    agreed: Found,
    /// Sites that have their turn first, from a first to before an end; and the same once they had it.
    beside: [u32; 2],
    met: [u32; 2],
}

impl<P: Fn(u32) -> [f64; 2], S: Fn(u32) -> u32> Walk<'_, P, S> {
    /// Goes through what a block has beyond an inner one, from the query point's row to the north and then to
    /// the south: what is near cuts most. `false` where the search is over.
    #[inline(always)]
    fn block<Q: Slots, T: Team>(
        &mut self,
        block: Block,
        inner: Option<Block>,
        by_circles: bool,
        polygon: &mut Polygon<'_, Q, T>,
    ) -> bool {
        let cells = &self.index.cells;
        let [first_row, last_row] = block.rows;
        let own_row = cells.row(self.query.at[1]);
        let (mut row, mut is_southward) = (own_row, false);
        let ([mut first, mut last], mut strip_rows) = ([0; 2], 0);
        // The columns of this thread's strip, a gap in them, and whose turn it is.
        let (mut own, mut own_gap, mut turn) = ([0; 2], NO_GAP, T::THREADS);
        let mut gap = NO_GAP;
        loop {
            if !by_circles {
                let reach = 2.0 * math::sqrt(polygon.farthest);
                let ends = [self.query.at[0] - reach, self.query.at[0] + reach];
                [first, last] = columns_between(cells, block, ends);
            } else if strip_rows == 0 {
                let beyond = if is_southward { row - first_row } else { last_row - row };
                let distance = row.abs_diff(own_row);
                if turn == T::THREADS {
                    (own, own_gap) = (UNREACHED, NO_GAP);
                    if let Some([near, far]) = strip_ahead(distance, beyond, polygon.team.rank()) {
                        let south = if is_southward { row - far } else { row + near };
                        let (ends, between) = self.circles([south, south + (far - near)], polygon);
                        own = columns_between(cells, block, ends);
                        own_gap = columns_of_gap(cells, between);
                    }
                    turn = 0;
                }
                [first, last] = own.map(|column| polygon.team.get(column, turn));
                gap = own_gap.map(|column| polygon.team.get(column, turn));
                strip_rows = strip_height(distance, beyond);
                turn += 1;
            }
            let is_reached = [first, last] != UNREACHED;
            let hole = |row| with_gap(hole_of(row, inner), gap);
            let mut spared = 0;
            if T::THREADS > 1 && by_circles && is_reached && strip_rows >= FEW_ROWS {
                spared =
                    self.rows_spared([row, strip_rows], is_southward, [first, last], hole, polygon);
            }
            if spared > 0 {
                // The last of them is left as any row is.
                row = if is_southward { row - (spared - 1) } else { row + (spared - 1) };
                strip_rows -= spared - 1;
            } else if is_reached {
                let hole = hole(row);
                let [mut part, parts] = parts_beside(hole);
                while part < vector::unknown(parts) {
                    let range = part_of(part, [first, last], hole);
                    if !self.cells_of(row, range, by_circles, polygon) {
                        return false;
                    }
                    part += 1;
                }
            }
            strip_rows = strip_rows.wrapping_sub(1);
            // The circles all hold the query point: where one row is beyond them, so are those behind it.
            if is_southward {
                if row == first_row || !is_reached {
                    return true;
                }
                row -= 1;
            } else if row == last_row || !is_reached {
                if own_row == first_row {
                    return true;
                }
                (row, is_southward, strip_rows, turn) = (own_row - 1, true, 0, T::THREADS);
            } else {
                row += 1;
            }
        }
    }

    /// How many rows of a strip have no site that cuts, from `row` on, of which `left` are left: each thread looks at
    /// one. 0 where some row has too many sites for that.
    #[inline(always)]
    fn rows_spared<Q: Slots, T: Team>(
        &self,
        [row, left]: [u32; 2],
        is_southward: bool,
        columns: [u32; 2],
        hole: impl Fn(u32) -> [u32; 2],
        polygon: &Polygon<'_, Q, T>,
    ) -> u32 {
        let (index, query, team) = (self.index, self.query, polygon.team);
        let (rank, rows) = (team.rank(), u32::min(left, T::THREADS));
        let (mut is_long, mut cuts) = (false, false);
        let line_of = |name: u32| index.line(query, name);
        if rank < rows {
            let own = if is_southward { row - rank } else { row + rank };
            let (start, hole) = (own * index.cells.columns, hole(own));
            let [mut part, parts] = parts_beside(hole);
            while part < vector::unknown(parts) {
                let [first, last] = part_of(part, columns, hole);
                part += 1;
                if first > last {
                    continue;
                }
                let mut site = (index.start)(start + first);
                let end = (index.start)(start + last + 1);
                is_long |= end - site > MOST_OF_THREAD;
                while site < end && !is_long && !cuts {
                    let way = index.way(query, site);
                    let is_near = way[0] * way[0] + way[1] * way[1] < 4.0 * polygon.farthest;
                    cuts = is_near
                        && site != query.own
                        && polygon.farthest_beyond(Line::of_site(way), line_of).is_some();
                    site += 1;
                }
            }
        }
        let cutting = team.ballot(cuts);
        if team.ballot(is_long) != 0 { 0 } else { u32::min(cutting.trailing_zeros(), rows) }
    }

    /// Cuts by the points of some cells of a row; `false` where the search is over.
    #[inline(always)]
    fn cells_of<Q: Slots, T: Team>(
        &mut self,
        row: u32,
        [first, last]: [u32; 2],
        by_circles: bool,
        polygon: &mut Polygon<'_, Q, T>,
    ) -> bool {
        if first > last {
            return true;
        }
        let (index, at) = (self.index, self.query.at);
        let start = row * index.cells.columns;
        let all = [(index.start)(start + first), (index.start)(start + last + 1)];
        let count = all[1] - all[0];
        let are_few = count <= FEW;
        // Others begin with what is beside the query point there.
        if T::LEAVES_CROWDS && !are_few {
            return false;
        }
        let mut crowds = Crowds::of_row(row, [first, last]);
        let mut range = if T::LEAVES_CROWDS { all } else { self.beside };
        loop {
            while range[0] < range[1] {
                if !self.sites(range, by_circles, polygon) {
                    return false;
                }
                range[0] += T::THREADS;
            }
            if self.beside[0] < self.beside[1] {
                (self.met, self.beside) = (self.beside, [0; 2]);
            }
            if T::LEAVES_CROWDS {
                return true;
            }
            let may_hold = |area| are_few || may_be_cut(polygon, area);
            let Some(next) = crowds.next(index, at, may_hold) else { return true };
            range = next;
        }
    }

    /// Cuts by a site for each thread, from a first on and before an end; `false` where the search is over.
    #[inline(always)]
    fn sites<Q: Slots, T: Team>(
        &mut self,
        [first, end]: [u32; 2],
        by_circles: bool,
        polygon: &mut Polygon<'_, Q, T>,
    ) -> bool {
        let (index, query, team) = (self.index, self.query, polygon.team);
        let (rank, site) = (team.rank(), first + team.rank());
        let (mut way, mut squared) = ([0.0; 2], f64::INFINITY);
        let was_met = self.met[0] <= site && site < self.met[1];
        if site < end && site != query.own && !was_met {
            way = index.way(query, site);
            squared = way[0] * way[0] + way[1] * way[1];
        }
        let line_of = |name: u32| index.line(query, name);
        // Threads before this one have had their turn.
        let mut turn = 0;
        loop {
            let is_near = rank >= turn && squared < 4.0 * polygon.farthest;
            let mut worst = None;
            if is_near {
                worst = polygon.farthest_beyond(Line::of_site(way), line_of);
            }
            let cutting = team.ballot(worst.is_some());
            let next = cutting.trailing_zeros();
            let is_met = if by_circles { rank == next } else { is_near && rank <= next };
            if is_met {
                self.meet(site, squared);
            }
            if !by_circles && team.ballot(is_met && squared == 0.0) != 0 {
                self.found.end = End::OnSite;
                return false;
            }
            if cutting == 0 {
                return true;
            }
            let line = Line::of_site([team.get(way[0], next), team.get(way[1], next)]);
            let at = team.get(worst.unwrap_or(0), next);
            if !polygon.cut(line, first + next, at, line_of) {
                return false;
            }
            turn = next + 1;
            if turn == T::THREADS {
                return true;
            }
        }
    }

    /// Takes a site for the nearest, if it is.
    #[inline(always)]
    fn meet(&mut self, site: u32, squared: f64) {
        let is_first = squared == self.found.squared && site < self.found.nearest;
        if squared < self.found.squared || is_first {
            (self.found.squared, self.found.nearest) = (squared, site);
        }
    }

    /// Lets all threads know the nearest site of all.
    #[inline(always)]
    fn agree<T: Team>(&mut self, team: T) {
        let own = self.found;
        // Most blocks bring nothing nearer.
        let is_other = own.squared != self.agreed.squared || own.nearest != self.agreed.nearest;
        if team.ballot(is_other) == 0 {
            return;
        }
        self.found.squared = team.reduce(own.squared, f64::min);
        let is_nearest = own.squared == self.found.squared;
        let nearest = if is_nearest { own.nearest } else { WINDOW };
        self.found.nearest = team.reduce(nearest, u32::min);
        self.agreed = self.found;
    }

    /// From where to where a point of some rows of cells may lie that cuts the polygon: it is nearer to a corner
    /// than the query point is. And a gap between, on both sides of the query point's x, in which none lies; none where the
    /// second is not the greater: beside a straight edge of all points the far corners of a cell that hardly opens have
    /// circles that touch a row far to the west and far to the east alone.
    #[inline(always)]
    fn circles<Q: Slots, T: Team>(
        &self,
        [first, last]: [u32; 2],
        polygon: &Polygon<'_, Q, T>,
    ) -> ([f64; 2], [f64; 2]) {
        let ([south, _], [_, north]) =
            (self.index.cells.strip(first), self.index.cells.strip(last));
        let rise = self.query.at[1] - self.index.cells.south;
        let (mut west, mut east) = (f64::INFINITY, f64::NEG_INFINITY);
        let mut gap = [f64::NEG_INFINITY, f64::INFINITY];
        let mut i = 0;
        while i < polygon.len {
            let [x, y] = polygon.slots.corner(i);
            let squared = x * x + y * y;
            let away = f64::max(f64::max(south - rise - y, y - (north - rise)), 0.0);
            let rest = squared - away * away;
            if rest >= -1e-15 * squared {
                // More than rounding takes away.
                let half = math::sqrt(f64::max(rest, 0.0) + 1e-15 * squared);
                let slack = 1e-15 * (x.abs() + half);
                let (first, last) = (x - half - slack, x + half + slack);
                west = f64::min(west, first);
                east = f64::max(east, last);
                // Beside the query point's x on one side, or on both.
                if last < 0.0 {
                    gap[0] = f64::max(gap[0], last);
                } else if first > 0.0 {
                    gap[1] = f64::min(gap[1], first);
                } else {
                    gap = [0.0; 2];
                }
            }
            i += 1;
        }
        let x = self.query.at[0];
        ([west + x, east + x], [gap[0] + x, gap[1] + x])
    }
}

/// Whether a site in a box may cut a polygon: whether one of the circles through the query point round the corners
/// reaches there. The threads share the corners.
#[inline(always)]
fn may_be_cut<Q: Slots, T: Team>(polygon: &Polygon<'_, Q, T>, area: Area) -> bool {
    let (mut is_reached, mut i) = (false, polygon.team.rank());
    while i < polygon.len && !is_reached {
        let [x, y] = polygon.slots.corner(i);
        // More than rounding takes away.
        is_reached = squared_distance(area, [x, y]) <= (x * x + y * y) * (1.0 + 1e-9);
        i += T::THREADS;
    }
    polygon.team.ballot(is_reached) != 0
}

/// What stands for the columns of a gap where there is none.
const NO_GAP: [u32; 2] = [u32::MAX, 0];

/// The columns that lie wholly within a gap, but for one at each end: more than rounding takes away. The first is behind
/// the last where there are none.
#[inline(always)]
fn columns_of_gap(cells: &Cells, [west, east]: [f64; 2]) -> [u32; 2] {
    let [first, end] = [cells.column(west) + 2, cells.column(east).saturating_sub(1)];
    if first < end { [first, end - 1] } else { NO_GAP }
}

/// A hole, made wider by a gap that touches it, or the gap where there is no hole.
#[inline(always)]
fn with_gap(hole: [u32; 2], gap: [u32; 2]) -> [u32; 2] {
    if hole[0] > hole[1] {
        gap
    } else if gap[0] <= gap[1] && gap[0] <= hole[1] + 1 && hole[0] <= gap[1] + 1 {
        [u32::min(hole[0], gap[0]), u32::max(hole[1], gap[1])]
    } else {
        hole
    }
}

/// The columns of a row that were gone through before, with the inner block; the first is behind the last where none
/// were.
#[inline(always)]
fn hole_of(row: u32, inner: Option<Block>) -> [u32; 2] {
    match inner {
        Some(inner) if inner.rows[0] <= row && row <= inner.rows[1] => inner.columns,
        _ => [u32::MAX, 0],
    }
}

/// The first part of a row beside a hole, and the number behind the last: 0 is what lies before the hole, 1 what lies
/// behind it; without one all is before it.
#[inline(always)]
fn parts_beside(hole: [u32; 2]) -> [u32; 2] {
    [if hole[0] == 0 { 1 } else { 0 }, if hole[0] <= hole[1] { 2 } else { 1 }]
}

/// The columns of a part.
#[inline(always)]
fn part_of(part: u32, [first, last]: [u32; 2], hole: [u32; 2]) -> [u32; 2] {
    if part == 0 {
        [first, u32::min(last, hole[0].wrapping_sub(1))]
    } else {
        [u32::max(first, hole[1] + 1), last]
    }
}

/// What stands for the columns of rows where no site can cut.
const UNREACHED: [u32; 2] = [u32::MAX, 0];

/// The columns of a block between two ends; its first is behind its last where there are none.
#[inline(always)]
fn columns_between(cells: &Cells, block: Block, [west, east]: [f64; 2]) -> [u32; 2] {
    if west <= east {
        [
            u32::max(block.columns[0], cells.column(west)),
            u32::min(block.columns[1], cells.column(east)),
        ]
    } else {
        UNREACHED
    }
}

/// How many rows the strip has that begins at a distance from the query point's row, in rows, where there are `beyond`
/// more behind its first.
#[inline(always)]
fn strip_height(distance: u32, beyond: u32) -> u32 {
    u32::min(u32::max(distance / STRIP, 1) - 1, beyond) + 1
}

/// The first and the last row of the strip that comes `strips` after the one that begins at a distance, counted from
/// there; `None` behind the last row.
#[inline(always)]
fn strip_ahead(distance: u32, beyond: u32, strips: u32) -> Option<[u32; 2]> {
    let (mut first, mut i) = (0, 0);
    while i < strips {
        first += strip_height(distance + first, beyond - first);
        if first > beyond {
            return None;
        }
        i += 1;
    }
    Some([first, first + strip_height(distance + first, beyond - first) - 1])
}
