//! What is looked for among the sites round a place: the nearest, or the next neighbour on the way round a cell
//! ([`rings`](super::rings)).
//!
//! Plan: the sites of the 3 x 3 cells round the place are gone through first. What is best among them bounds where a better one
//! may lie: in a circle. Where that reaches beyond, the sites of the cells that it reaches into are gone through; where
//! these are many, first more cells round the place.
//!
//! - Near: no more than [`CROWD`] sites, nor cells [`WIDEST`] across, and then not at all. All threads of a warp run the
//!   same short loops.
//! - Far: blocks double, up to [`FARTHEST`] cells to each side, and boxes outside of the circle are left out
//!   ([`crowds`](super::crowds)): along lines of points far apart a circle reaches over many cells, and touches few of their
//!   sites.

use device_std::math;

use super::crowds::{Area, Crowds};
use super::polygon::{WINDOW, cross};
use super::search::{End, Found, Index, Query};
use crate::spatial::cells::Block;

/// The most sites that one pass over near cells goes through.
pub const CROWD: u32 = 256;

/// The most columns, and rows, of near cells that a circle may reach into.
const WIDEST: u32 = 6;

/// The most near cells to each side that are gone through before a circle is narrow enough.
const MOST_HALF: u32 = 4;

/// The most cells to each side that are gone through at all. Only next to the hull, where there is nothing to be found, and
/// beside the widest voids are they too few.
const FARTHEST: u32 = 63;

/// More than rounding moves the end of a circle, in radii.
const SLACK: f64 = 1e-9;

/// What is looked for among the sites round a place, which ways and boxes are seen from.
trait Sought {
    /// Takes a site, if it is better than those before.
    fn visit(&mut self, site: u32, way: [f64; 2]);
    /// Where a better site would lie; `None` where there is none yet.
    fn area(&self) -> Option<Area>;
    /// Whether a better site may lie in a box.
    fn may_lie_in(&self, area: Area) -> bool;
}

/// The nearest site but one.
pub struct Nearest {
    but: u32,
    /// Which it is; [`WINDOW`] where there is none.
    pub site: u32,
    /// The way there.
    pub way: [f64; 2],
    squared: f64,
}

impl Nearest {
    /// None yet.
    #[inline(always)]
    pub fn but(site: u32) -> Self {
        Self { but: site, site: WINDOW, way: [0.0; 2], squared: f64::INFINITY }
    }
}

impl Sought for Nearest {
    #[inline(always)]
    fn visit(&mut self, site: u32, way: [f64; 2]) {
        let squared = way[0] * way[0] + way[1] * way[1];
        if squared < self.squared && site != self.but {
            (self.site, self.way, self.squared) = (site, way, squared);
        }
    }
    #[inline(always)]
    fn area(&self) -> Option<Area> {
        let reach = math::sqrt(self.squared) * (1.0 + SLACK);
        (self.site != WINDOW).then_some([[-reach, reach], [-reach, reach]])
    }
    #[inline(always)]
    fn may_lie_in(&self, area: Area) -> bool {
        squared_distance(area, [0.0; 2]) <= self.squared
    }
}

/// The neighbour that follows another.
pub struct Next {
    after: [f64; 2],
    /// Which it is; [`WINDOW`] where there is none.
    pub site: u32,
    /// The way there.
    pub way: [f64; 2],
    /// How far its circle reaches to the left: a quotient, infinite at first.
    above: f64,
    below: f64,
}

impl Next {
    /// None yet, after the neighbour on whose way that is.
    #[inline(always)]
    pub fn after(way: [f64; 2]) -> Self {
        Self { after: way, site: WINDOW, way: [0.0; 2], above: 1.0, below: 0.0 }
    }
}

impl Sought for Next {
    #[inline(always)]
    fn visit(&mut self, site: u32, way: [f64; 2]) {
        let turn = cross(self.after, way);
        let rise = way[0] * (way[0] - self.after[0]) + way[1] * (way[1] - self.after[1]);
        if turn > 0.0 && rise * self.below < self.above * turn {
            (self.site, self.way, self.above, self.below) = (site, way, rise, turn);
        }
    }
    #[inline(always)]
    fn area(&self) -> Option<Area> {
        (self.site != WINDOW).then(|| left_of_circle(self.after, self.above / self.below))
    }
    #[inline(always)]
    fn may_lie_in(&self, area: Area) -> bool {
        let ([x, y], [[west, east], [south, north]]) = (self.after, area);
        let most_left =
            x * (if x > 0.0 { north } else { south }) - y * (if y > 0.0 { west } else { east });
        // What is no number is of a box without an end.
        if most_left <= 0.0 {
            return false;
        }
        let middle = middle_of_circle(self.after, self.above / self.below);
        let squared = middle[0] * middle[0] + middle[1] * middle[1];
        self.site == WINDOW || squared_distance(area, middle) <= squared * (1.0 + SLACK)
    }
}

impl<P: Fn(u32) -> [f64; 2], S: Fn(u32) -> u32> Index<P, S> {
    /// Finds the best site of all, among what is near or `FAR`; `false` where that would be too much work.
    #[inline(always)]
    #[expect(private_bounds, reason = "nothing else is looked for")]
    pub fn find<const FAR: bool>(&self, at: [f64; 2], sought: &mut impl Sought) -> bool {
        if FAR { self.find_far(at, sought) } else { self.find_near(at, sought) }
    }

    #[inline(always)]
    fn find_near(&self, at: [f64; 2], sought: &mut impl Sought) -> bool {
        let mut half = 1;
        let mut block = self.cells.around(at, half);
        loop {
            if !self.scan(at, block, CROWD, |site, way| sought.visit(site, way)) {
                return false;
            }
            if half > MOST_HALF {
                return true;
            }
            let area = sought.area();
            if let Some(area) = area
                && covers(self.cells.within(block, at), area)
            {
                return true;
            }
            (block, half) = match area.and_then(|area| self.reached(at, area, WIDEST)) {
                Some(reached) => (reached, u32::MAX),
                None if half == MOST_HALF => return false,
                None => (self.cells.around(at, half + 1), half + 1),
            };
        }
    }

    #[inline(always)]
    fn find_far(&self, at: [f64; 2], sought: &mut impl Sought) -> bool {
        self.each_beside(at, |site, way| sought.visit(site, way));
        let mut half = 1;
        let mut block = self.cells.around(at, half);
        loop {
            self.scan_for(at, block, sought);
            let area = sought.area();
            if half == u32::MAX {
                return true;
            }
            if self.cells.is_whole(block) {
                return area.is_some();
            }
            if let Some(area) = area
                && covers(self.cells.within(block, at), area)
            {
                return true;
            }
            (block, half) = match area.and_then(|area| self.reached(at, area, 2 * FARTHEST)) {
                Some(reached) => (reached, u32::MAX),
                None if half >= FARTHEST => return false,
                None => (self.cells.around(at, 2 * half + 1), 2 * half + 1),
            };
        }
    }

    /// Calls `visit(site, way to it)` for the sites about a place, where many are in its cell.
    #[inline(always)]
    fn each_beside(&self, at: [f64; 2], visit: impl FnMut(u32, [f64; 2])) {
        self.each_of(self.beside(at), at, visit);
    }

    /// Goes through the sites of a block that may be what is looked for.
    #[inline(always)]
    fn scan_for(&self, at: [f64; 2], block: Block, sought: &mut impl Sought) {
        let mut row = block.rows[0];
        while row <= block.rows[1] {
            let mut crowds = Crowds::of_row(row, block.columns);
            while let Some(range) = crowds.next(self, at, |area| sought.may_lie_in(area)) {
                self.each_of(range, at, |site, way| sought.visit(site, way));
            }
            row += 1;
        }
    }

    /// The nearest site, however far away and however many there are; `Beyond` where it is not within the query's limit.
    pub fn nearest_of_all(&self, query: &Query) -> Found {
        let mut nearest = Nearest::but(WINDOW);
        self.each_beside(query.at, |site, way| nearest.visit(site, way));
        let (mut half, mut end) = (1, End::Exceeded);
        while end == End::Exceeded {
            let block = self.cells.around(query.at, half);
            self.scan_for(query.at, block, &mut nearest);
            let reach = f64::max(self.cells.reach(block, query.at), 0.0);
            if nearest.squared == 0.0 {
                end = End::OnSite;
            } else if nearest.squared <= reach * reach || self.cells.is_whole(block) {
                end = End::Found;
            } else if query.give_up <= reach * reach {
                end = End::Beyond;
            }
            half = 2 * half + 1;
        }
        Found { end, nearest: nearest.site, squared: nearest.squared }
    }

    /// The cells that hold all sites of an area; `None` where they are `widest` across or more.
    #[inline(always)]
    fn reached(&self, at: [f64; 2], [x, y]: Area, widest: u32) -> Option<Block> {
        let cells = &self.cells;
        let columns = [cells.column(at[0] + x[0]), cells.column(at[0] + x[1])];
        let rows = [cells.row(at[1] + y[0]), cells.row(at[1] + y[1])];
        let is_narrow = columns[1] - columns[0] < widest && rows[1] - rows[0] < widest;
        is_narrow.then_some(Block { columns, rows })
    }
}

/// The squared distance of a box from a place.
#[inline(always)]
pub fn squared_distance([[west, east], [south, north]]: Area, [x, y]: [f64; 2]) -> f64 {
    let across = f64::max(f64::max(west - x, x - east), 0.0);
    let along = f64::max(f64::max(south - y, y - north), 0.0);
    across * across + along * along
}

/// Whether one box holds another.
#[inline(always)]
fn covers(outer: Area, inner: Area) -> bool {
    let holds = |outer: [f64; 2], inner: [f64; 2]| outer[0] <= inner[0] && inner[1] <= outer[1];
    holds(outer[0], inner[0]) && holds(outer[1], inner[1])
}

/// The middle of a circle through both ends of the chord `way`: it lies to the left of the chord's by half of `rise`
/// chords.
#[inline(always)]
fn middle_of_circle([x, y]: [f64; 2], rise: f64) -> [f64; 2] {
    [(x - rise * y) * 0.5, (y + rise * x) * 0.5]
}

/// The box of what lies to the left of the chord `way` in a circle through both its ends.
#[inline(always)]
fn left_of_circle(way: [f64; 2], rise: f64) -> Area {
    let [x, y] = way;
    let middle = middle_of_circle(way, rise);
    let radius = math::sqrt(middle[0] * middle[0] + middle[1] * middle[1]) * (1.0 + SLACK);
    let turn = cross(way, middle);
    // The outermost places of the circle count where they are to the left.
    let end = |is_left: bool, outermost: f64, chord: f64| if is_left { outermost } else { chord };
    [
        [
            end(turn + y * radius > 0.0, middle[0] - radius, f64::min(x, 0.0)),
            end(turn - y * radius > 0.0, middle[0] + radius, f64::max(x, 0.0)),
        ],
        [
            end(turn - x * radius > 0.0, middle[1] - radius, f64::min(y, 0.0)),
            end(turn + x * radius > 0.0, middle[1] + radius, f64::max(y, 0.0)),
        ],
    ]
}
