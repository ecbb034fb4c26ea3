//! The pixels that a query point steals, row by row: for circles of any size, or none.
//!
//! Whether pixel p is nearer to the query point q than to a site s is a linear inequality in p. So the stolen region is
//! convex: one interval in each row of pixels. [`Region::rows`] finds the intervals, from q's row outward. It keeps the
//! two sites that bounded the last row on the left and on the right; their inequalities give the next row's first
//! guess. If q does not steal the pixel at a guessed end, the site that keeps the pixel gives a tighter inequality, and
//! so on. As in Newton's method on a convex function, the guess never passes the end, so the end that is found is
//! exact. That costs a row some reads of `nearest`, whatever its length.
//!
//! Inside an interval a site's pixels lie together, for a Voronoi cell is convex too. [`Region::runs`] steps from run
//! to run, again by inequalities, and each run adds its length times its site's value.
//!
//! With an owner, the same walk visits the Voronoi cell of a site.
//!
//! Where rows end: q satisfies all inequalities, so once no real number satisfies them in a row, none does farther out.
//! If a row has a real solution but no pixel, the first and the last pixel cross by one. The walk goes on there, since
//! a slanted sliver may meet a pixel again.
//!
//! Host and device run the same functions.

use super::NONE;
use super::geometry::Width;
use super::region::{Bounds, FEW, Neighbour, Position, Region};

/// A raster's diagram, and the part of it that query points read.
#[derive(Clone, Copy)]
pub struct Diagram<N, R> {
    /// The site of a pixel (column, row) of the raster.
    pub nearest: N,
    /// The raster's columns.
    pub width: Width,
    /// The raster, and the circle.
    pub bounds: Bounds<R>,
}

/// The pixels that a query point steals, or that an owner has.
#[derive(Clone, Copy)]
pub struct Cell<'a, N, R> {
    diagram: &'a Diagram<N, R>,
    at: Position,
    owner: u32,
}

/// The inequality `slope * r < room` for the pixels r of a row, as offsets from the base.
#[derive(Clone, Copy)]
struct Cut {
    slope: i64,
    room: i64,
}

impl Cut {
    /// The last offset that satisfies the inequality (positive slope), or the first (negative slope).
    #[inline(always)]
    fn end(self) -> i32 {
        if self.slope > 0 {
            floor_quotient(self.room - 1, self.slope)
        } else {
            floor_quotient(-self.room, -self.slope) + 1
        }
    }
}

/// `floor(a / b)` for a positive b, cut off at 2^29, which is beyond every raster.
///
/// In f64 a quotient of that size is off by one at most, which is then corrected.
#[inline(always)]
#[allow(clippy::manual_clamp)] // `clamp` may panic, which device code must not
fn floor_quotient(a: i64, b: i64) -> i32 {
    const MOST: f64 = (1 << 29) as f64;
    let quotient = f64::max(-MOST, f64::min(MOST, a as f64 / b as f64)) as i64;
    let rest = a - quotient * b;
    let correction = if rest < 0 {
        -1
    } else if rest >= b {
        1
    } else {
        0
    };
    (quotient + correction) as i32
}

impl<N: Fn(i32, i32) -> u32, R: Fn(i32) -> i32> Diagram<N, R> {
    /// The region that a query point, in half pixels, steals.
    #[inline(always)]
    pub fn stolen_by(&self, q: [i32; 2]) -> Cell<'_, N, R> {
        self.cell(q, NONE)
    }

    /// The Voronoi cell of a site.
    #[inline(always)]
    pub fn cell_of(&self, site: u32) -> Cell<'_, N, R> {
        let (column, row) = self.width.split(site);
        self.cell([2 * column + 1, 2 * row + 1], site)
    }

    #[inline(always)]
    fn cell(&self, q: [i32; 2], owner: u32) -> Cell<'_, N, R> {
        Cell { diagram: self, at: Position { q, extent: self.bounds.extent }, owner }
    }
}

impl<N: Fn(i32, i32) -> u32, R: Fn(i32) -> i32> Region for Cell<'_, N, R> {
    #[inline(always)]
    fn position(&self) -> Position {
        self.at
    }

    #[inline(always)]
    fn neighbour(&self, r: i32, y: i32) -> Neighbour {
        let site = (self.diagram.nearest)(self.at.base()[0] + r, y);
        let (column, row) = self.diagram.width.split(site);
        let [x, y] = self.at.q;
        Neighbour { site, dx: 2 * column + 1 - x, dy: 2 * row + 1 - y }
    }

    #[inline(always)]
    fn rows(&self, mut row: impl FnMut(i32, i32, i32)) {
        let mut step = 1;
        while step >= -1 {
            let mut walk = Walk { left: None, right: None, ended: false };
            let mut y = if step > 0 { self.start_row() } else { self.start_row() - 1 };
            while !walk.ended && self.diagram.bounds.has_row(self.at, y) {
                let (first, last) = walk.interval(self, y);
                row(y, first, last);
                y += step;
            }
            step -= 2;
        }
    }

    /// From west to east, the sites of a row's runs lie farther and farther east: no pixel's site lies west of the site
    /// of a pixel to its left. So only the runs between the first and the last whose site may be near enough are
    /// visited, however long the row.
    #[inline(always)]
    fn runs(
        &self,
        y: i32,
        first: i32,
        last: i32,
        site_limit: u64,
        mut run: impl FnMut(Neighbour, u32),
    ) {
        let is_beyond = |way: i32| (way as i64 * way as i64) as u64 >= site_limit;
        let mut r = first;
        if first <= last && is_beyond(i32::min(0, self.neighbour(first, y).dx)) {
            r = self.first_that(y, first, last, |site| !is_beyond(i32::min(0, site.dx)));
        }
        while r <= last {
            let site = self.neighbour(r, y);
            if is_beyond(i32::max(0, site.dx)) {
                return;
            }
            let end = if last - r < FEW { r } else { self.run_end(site, y, last) };
            if (site.squared() as u64) < site_limit {
                run(site, (end - r + 1) as u32);
            }
            r = end + 1;
        }
    }
}

impl<N: Fn(i32, i32) -> u32, R: Fn(i32) -> i32> Cell<'_, N, R> {
    /// The inequality that keeps the pixels of row `y` nearer to the query point than to a site. The
    /// owner wins a tie with a site of a higher index.
    #[inline(always)]
    fn cut(&self, site: Neighbour, y: i32) -> Cut {
        let down = self.at.down(y) as i64;
        let tie = (self.owner < site.site) as i64;
        let right = site.dx as i64;
        Cut {
            slope: 4 * right,
            room: site.squared() + tie
                - 2 * (down * site.dy as i64 + self.at.on_corner() as i64 * right),
        }
    }

    /// The first pixel of a row, after `first` and up to `last`, from which on sites fulfil a condition; `last + 1` if
    /// none does.
    #[inline(always)]
    fn first_that(
        &self,
        y: i32,
        mut first: i32,
        last: i32,
        condition: impl Fn(Neighbour) -> bool,
    ) -> i32 {
        // `first` does not, and `end` does or is beyond the row.
        let mut end = last + 1;
        while end - first > 1 {
            let middle = first + (end - first) / 2;
            if condition(self.neighbour(middle, y)) {
                end = middle;
            } else {
                first = middle;
            }
        }
        end
    }

    /// The last pixel of a site's run, which is `last` at most.
    #[inline(always)]
    fn run_end(&self, site: Neighbour, y: i32, last: i32) -> i32 {
        let mut end = last;
        loop {
            let other = self.neighbour(end, y);
            if other.site == site.site {
                return end;
            }
            // The inequality for the pixels where the site is still nearer than the other; on a tie the lower index
            // wins.
            let tie = (site.site < other.site) as i64;
            let down = self.at.down(y) as i64;
            let right = (other.dx - site.dx) as i64;
            let away = down * (other.dy - site.dy) as i64 + self.at.on_corner() as i64 * right;
            let room = other.squared() - site.squared() + tie - 2 * away;
            // Strictly nearer to the start, since a wrong diagram must not make the loop endless.
            end = i32::min(end - 1, Cut { slope: 4 * right, room }.end());
        }
    }
}

/// The sites that bounded the last row.
struct Walk {
    left: Option<Neighbour>,
    right: Option<Neighbour>,
    /// No row farther out has a pixel.
    ended: bool,
}

impl Walk {
    /// The interval of row `y`.
    #[inline(always)]
    fn interval<N: Fn(i32, i32) -> u32, R: Fn(i32) -> i32>(
        &mut self,
        cell: &Cell<'_, N, R>,
        y: i32,
    ) -> (i32, i32) {
        let [mut first, mut last] = cell.diagram.bounds.columns(cell.at, y);
        if let Some(left) = self.left {
            first = i32::max(first, cell.cut(left, y).end());
        }
        if let Some(right) = self.right {
            last = i32::min(last, cell.cut(right, y).end());
        }
        let mut at_first = true;
        while first <= last {
            let r = if at_first { first } else { last };
            let site = cell.neighbour(r, y);
            let cut = cell.cut(site, y);
            if site.site == cell.owner || cut.slope * (r as i64) < cut.room {
                if !at_first {
                    break;
                }
                at_first = false;
            } else if cut.slope < 0 {
                first = i32::max(first + 1, cut.end());
                self.left = Some(site);
            } else if cut.slope > 0 {
                last = i32::min(last - 1, cut.end());
                self.right = Some(site);
            } else {
                // The site is straight ahead, and everything from here on is nearer to it.
                last = first - 2;
            }
        }
        self.ended = first - last >= 2;
        (first, last)
    }
}
