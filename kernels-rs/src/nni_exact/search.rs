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
//!    round the corners. Rows are contiguous in memory, so a void costs as many looks as it has rows.

use device_std::{math, vector};

use super::polygon::{Cut, Line, Polygon, Slots, WINDOW};
use crate::cells::{Block, Cells};

/// Half the side of the largest block that is gone through whole, in cells.
pub const NEAR: u32 = 3;

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
            let mut site = (self.start)(start + first);
            let end = (self.start)(start + last + 1);
            if end - site > left {
                return false;
            }
            left -= end - site;
            while site < end {
                let [x, y] = (self.place)(site);
                visit(site, [x - at[0], y - at[1]]);
                site += 1;
            }
            row += 1;
        }
        true
    }

    /// The nearest site, as far as blocks of up to [`NEAR`] cells to each side tell: `Exceeded` where they do
    /// not, `Beyond` where it is not within the query's limit.
    #[inline(always)]
    pub fn nearest(&self, query: &Query) -> Found {
        let mut found = Found { end: End::Exceeded, nearest: WINDOW, squared: f64::INFINITY };
        let mut half = 1;
        while half <= NEAR {
            let block = self.cells.around(query.at, half);
            self.scan(query.at, block, u32::MAX, |site, way| {
                let squared = way[0] * way[0] + way[1] * way[1];
                if squared < found.squared {
                    (found.squared, found.nearest) = (squared, site);
                }
            });
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
    pub fn cell<Q: Slots>(&self, query: &Query, polygon: &mut Polygon<'_, Q>) -> Found {
        polygon.open(query.half_window);
        let farthest = polygon.farthest();
        let found = Found { end: End::Exceeded, nearest: WINDOW, squared: f64::INFINITY };
        let mut walk = Walk { index: self, query, farthest, found };
        let mut inner: Option<Block> = None;
        let mut half = 0;
        loop {
            let block = self.cells.around(query.at, half);
            if !walk.block(block, inner, half > NEAR, polygon) {
                return walk.found;
            }
            let reach = self.cells.reach(block, query.at);
            let squared = if reach > 0.0 { reach * reach } else { 0.0 };
            if 4.0 * walk.farthest <= squared || self.cells.is_whole(block) {
                walk.found.end = End::Found;
            } else if query.give_up <= squared && walk.found.squared >= query.give_up {
                walk.found.end = End::Beyond;
            }
            if walk.found.end != End::Exceeded {
                return walk.found;
            }
            inner = Some(block);
            half = if half < NEAR { half + 1 } else { 2 * half + 1 };
        }
    }
}

/// A search under way.
struct Walk<'a, P, S> {
    index: &'a Index<P, S>,
    query: &'a Query,
    /// The squared distance of the polygon's farthest corner.
    farthest: f64,
    found: Found,
}

impl<P: Fn(u32) -> [f64; 2], S: Fn(u32) -> u32> Walk<'_, P, S> {
    /// Goes through what a block has beyond an inner one; `false` where the search is over.
    #[inline(always)]
    fn block<Q: Slots>(
        &mut self,
        block: Block,
        inner: Option<Block>,
        by_circles: bool,
        polygon: &mut Polygon<'_, Q>,
    ) -> bool {
        let cells = &self.index.cells;
        let [mut row, last_row] = match by_circles {
            true => self.rows(block.rows, polygon),
            false => block.rows,
        };
        while row <= last_row {
            let [west, east] = match by_circles {
                true => self.circles(row, polygon),
                false => {
                    let reach = 2.0 * math::sqrt(self.farthest);
                    [self.query.at[0] - reach, self.query.at[0] + reach]
                }
            };
            if west <= east {
                let first = u32::max(block.columns[0], cells.column(west));
                let last = u32::min(block.columns[1], cells.column(east));
                let hole = match inner {
                    Some(inner) if inner.rows[0] <= row && row <= inner.rows[1] => inner.columns,
                    _ => [u32::MAX, 0],
                };
                // What lies before the hole, and what lies behind it; without one all is before it.
                let mut part = if hole[0] == 0 { 1 } else { 0 };
                let parts = if hole[0] <= hole[1] { 2 } else { 1 };
                while part < vector::unknown(parts) {
                    let range = if part == 0 {
                        [first, u32::min(last, hole[0].wrapping_sub(1))]
                    } else {
                        [u32::max(first, hole[1] + 1), last]
                    };
                    if !self.cells_of(row, range, polygon) {
                        return false;
                    }
                    part += 1;
                }
            }
            row += 1;
        }
        true
    }

    /// Cuts by the points of some cells of a row; `false` where the search is over.
    #[inline(always)]
    fn cells_of<Q: Slots>(
        &mut self,
        row: u32,
        [first, last]: [u32; 2],
        polygon: &mut Polygon<'_, Q>,
    ) -> bool {
        if first > last {
            return true;
        }
        let (index, query) = (self.index, self.query);
        let start = row * index.cells.columns;
        let (mut site, end) = ((index.start)(start + first), (index.start)(start + last + 1));
        while site < end {
            let n = index.way(query, site);
            let squared = n[0] * n[0] + n[1] * n[1];
            if squared < 4.0 * self.farthest && site != query.own {
                if squared < self.found.squared {
                    (self.found.squared, self.found.nearest) = (squared, site);
                }
                if squared == 0.0 {
                    self.found.end = End::OnSite;
                    return false;
                }
                let line_of = |name: u32| index.line(query, name);
                match polygon.cut(Line::of_site(n), site, line_of) {
                    Cut::Missed => {}
                    Cut::Made => self.farthest = polygon.farthest(),
                    Cut::Full => return false,
                }
            }
            site += 1;
        }
        true
    }

    /// The rows, of some, in which a point may lie that cuts the polygon: see [`circles`](Self::circles).
    #[inline(always)]
    fn rows<Q: Slots>(&self, [first, last]: [u32; 2], polygon: &Polygon<'_, Q>) -> [u32; 2] {
        let (mut south, mut north) = (f64::INFINITY, f64::NEG_INFINITY);
        let mut i = 0;
        while i < polygon.len {
            let [x, y] = polygon.slots.corner(i);
            // More than rounding takes away.
            let radius = math::sqrt(x * x + y * y) * (1.0 + 1e-12);
            south = f64::min(south, y - radius);
            north = f64::max(north, y + radius);
            i += 1;
        }
        let cells = &self.index.cells;
        let margin = 1e-6 * cells.side;
        [
            u32::max(first, cells.row(self.query.at[1] + south - margin)),
            u32::min(last, cells.row(self.query.at[1] + north + margin)),
        ]
    }

    /// From where to where a point of a row of cells may lie that cuts the polygon: it is nearer to a corner
    /// than the query point is.
    #[inline(always)]
    fn circles<Q: Slots>(&self, row: u32, polygon: &Polygon<'_, Q>) -> [f64; 2] {
        let [south, north] = self.index.cells.strip(row);
        let rise = self.query.at[1] - self.index.cells.south;
        let (mut west, mut east) = (f64::INFINITY, f64::NEG_INFINITY);
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
                west = f64::min(west, x - half - slack);
                east = f64::max(east, x + half + slack);
            }
            i += 1;
        }
        [west + self.query.at[0], east + self.query.at[0]]
    }
}
