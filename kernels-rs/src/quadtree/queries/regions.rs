//! The points in windows, discs and polygons.
//!
//! Whether a node's cell meets a region is known from whole numbers, the columns and rows of the deepest level:
//! they rise with x and y, so an x in an earlier column than the region's edge lies before it, and nothing is
//! lost to rounding. Only the points of cells that an edge passes through are looked at.

use device_std::{kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::ground::{Cell, Origin};
use super::walk::{Path, Team, Visit, Visitor, Warp, WarpPath, walk};
use crate::spatial::frame::Frame;
use crate::spatial::place::Place;

/// The points of a tree.
#[derive(Clone, Copy)]
pub struct Points<T> {
    /// Their x, in the order of the tree.
    pub x: *const T,
    /// Their y.
    pub y: *const T,
    /// Their indices as given.
    pub order: *const u32,
}

/// Threads of a block.
pub const BLOCK: usize = 128;

/// How a cell lies to a region.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// All its points lie in the region.
    Within,
    /// What is true of one of its points is true of all.
    Uniform,
    /// Points have to be looked at.
    Mixed,
}

/// Regions of one type: numbers of each; for polygons, their bounds, and `edges` from `offsets[which]` on.
#[derive(Clone, Copy)]
pub struct Shapes {
    numbers: *const f64,
    edges: *const f64,
    offsets: *const u64,
}

impl Shapes {
    /// The numbers of region `which`.
    ///
    /// # Safety
    /// There are `N` of each, and the region is there.
    #[inline(always)]
    unsafe fn numbers<const N: usize>(self, which: u64) -> [f64; N] {
        let mut numbers = [0.0; N];
        let mut i = 0;
        while i < N {
            // SAFETY: passed on to the caller.
            numbers[i] = unsafe { *self.numbers.add(N * which as usize + i) };
            i += 1;
        }
        numbers
    }
}

/// Some part of the plane.
pub trait Region: Sized {
    /// Region `which` of an array of shapes.
    ///
    /// # Safety
    /// The arrays are those of regions of this type, more than `which`.
    unsafe fn load(frame: &Frame, shapes: Shapes, which: u64) -> Self;

    /// Whether a cell may have points of it.
    fn meets(&self, cell: Cell) -> bool;

    /// How a cell lies to it.
    ///
    /// # Safety
    /// The whole team comes here.
    unsafe fn relation(&self, cell: Cell, team: &impl Team) -> Relation;

    /// Whether a point lies in it.
    fn has(&self, x: f64, y: f64) -> bool;
}

/// The points with `min_x <= x <= max_x` and `min_y <= y <= max_y`; none where a bound is NaN.
#[derive(Clone, Copy)]
pub struct Window {
    bounds: [f64; 4],
    /// The columns and rows that hold its edges.
    span: [u32; 4],
    deepest: u32,
}

impl Window {
    /// West, south, east, north.
    #[inline(always)]
    pub fn new(frame: &Frame, bounds: [f64; 4]) -> Self {
        let [west, south, east, north] = bounds;
        let span = [frame.column(west), frame.row(south), frame.column(east), frame.row(north)];
        Self { bounds, span, deepest: frame.level }
    }

    /// False for NaN, too.
    #[inline(always)]
    fn is_some(&self) -> bool {
        self.bounds[0] <= self.bounds[2] && self.bounds[1] <= self.bounds[3]
    }
}

impl Region for Window {
    #[inline(always)]
    unsafe fn load(frame: &Frame, shapes: Shapes, which: u64) -> Self {
        // SAFETY: passed on to the caller.
        Self::new(frame, unsafe { shapes.numbers(which) })
    }

    #[inline(always)]
    fn meets(&self, cell: Cell) -> bool {
        let [west, south, east, north] = cell.span(self.deepest);
        let columns = west <= self.span[2] && self.span[0] <= east;
        let rows = south <= self.span[3] && self.span[1] <= north;
        columns && rows && self.is_some()
    }

    #[inline(always)]
    unsafe fn relation(&self, cell: Cell, _: &impl Team) -> Relation {
        let [west, south, east, north] = cell.span(self.deepest);
        let columns = self.span[0] < west && east < self.span[2];
        let rows = self.span[1] < south && north < self.span[3];
        if columns && rows { Relation::Within } else { Relation::Mixed }
    }

    #[inline(always)]
    fn has(&self, x: f64, y: f64) -> bool {
        let [west, south, east, north] = self.bounds;
        west <= x && x <= east && south <= y && y <= north
    }
}

/// The points within a radius of a centre: `dx * dx + dy * dy <= radius * radius` in f64; none where the
/// centre is not finite, or the radius NaN or negative.
#[derive(Clone, Copy)]
pub struct Disc {
    centre: [f64; 2],
    squared: f64,
    origin: Origin,
    deepest: u32,
}

impl Disc {
    /// A disc around a place.
    #[inline(always)]
    pub fn new(frame: &Frame, centre: [f64; 2], radius: f64) -> Self {
        let is_some = radius >= 0.0 && centre[0].is_finite() && centre[1].is_finite();
        let squared = if is_some { radius * radius } else { -1.0 };
        Self { centre, squared, origin: Origin::new(frame, centre), deepest: frame.level }
    }
}

impl Region for Disc {
    #[inline(always)]
    unsafe fn load(frame: &Frame, shapes: Shapes, which: u64) -> Self {
        // SAFETY: passed on to the caller.
        let [x, y, radius] = unsafe { shapes.numbers(which) };
        Self::new(frame, [x, y], radius)
    }

    #[inline(always)]
    fn meets(&self, cell: Cell) -> bool {
        self.origin.gap_squared(cell, self.deepest) <= self.squared
    }

    #[inline(always)]
    unsafe fn relation(&self, _: Cell, _: &impl Team) -> Relation {
        Relation::Mixed
    }

    #[inline(always)]
    fn has(&self, x: f64, y: f64) -> bool {
        let (dx, dy) = (x - self.centre[0], y - self.centre[1]);
        dx * dx + dy * dy <= self.squared
    }
}

/// The points in an odd number of a polygon's rings. Each edge is taken by the points to the west of it and from
/// its lower end up to below its upper one, so that of areas that share an edge each point is in one.
#[derive(Clone, Copy)]
pub struct Polygon {
    frame: Frame,
    window: Window,
    /// x and y of both ends of each edge; the edges of a ring close it.
    edges: *const f64,
    count: u64,
}

impl Polygon {
    /// The polygon of some edges, which lie between `bounds`.
    ///
    /// # Safety
    /// There are four numbers for each edge as long as the polygon is used.
    #[inline(always)]
    pub unsafe fn new(frame: &Frame, bounds: [f64; 4], edges: *const f64, count: u64) -> Self {
        Self { frame: *frame, window: Window::new(frame, bounds), edges, count }
    }

    #[inline(always)]
    fn edge(&self, i: u64) -> [f64; 4] {
        // SAFETY: only edges below the count are read.
        unsafe {
            let edge = self.edges.add(4 * i as usize);
            [*edge, *edge.add(1), *edge.add(2), *edge.add(3)]
        }
    }

    /// Whether the rectangle around an edge meets a cell.
    #[inline(always)]
    fn edge_meets(&self, i: u64, span: [u32; 4]) -> bool {
        let [ax, ay, bx, by] = self.edge(i);
        let (west, east) = (self.frame.column(ax.min(bx)), self.frame.column(ax.max(bx)));
        let (south, north) = (self.frame.row(ay.min(by)), self.frame.row(ay.max(by)));
        west <= span[2] && span[0] <= east && south <= span[3] && span[1] <= north
    }
}

impl Region for Polygon {
    #[inline(always)]
    unsafe fn load(frame: &Frame, shapes: Shapes, which: u64) -> Self {
        // SAFETY: passed on to the caller.
        unsafe {
            let offsets = shapes.offsets.add(which as usize);
            let (first, end) = (*offsets, *offsets.add(1));
            let edges = shapes.edges.add(4 * first as usize);
            Self::new(frame, shapes.numbers(which), edges, end - first)
        }
    }

    #[inline(always)]
    fn meets(&self, cell: Cell) -> bool {
        self.window.meets(cell)
    }

    /// Where no edge's rectangle meets the cell, all of a ring that passes it to the east does so between two
    /// ends beyond its rows, or not at all: every point counts the same edges, but for an even number.
    #[inline(always)]
    unsafe fn relation(&self, cell: Cell, team: &impl Team) -> Relation {
        let span = cell.span(self.window.deepest);
        let (mut meets, mut i) = (false, team.lane() as u64);
        while i < self.count {
            meets |= self.edge_meets(i, span);
            i += team_size(team);
        }
        // SAFETY: passed on to the caller.
        if unsafe { team.any(meets) } { Relation::Mixed } else { Relation::Uniform }
    }

    #[inline(always)]
    fn has(&self, x: f64, y: f64) -> bool {
        let (mut inside, mut i) = (false, 0);
        while i < self.count {
            let [ax, ay, bx, by] = self.edge(i);
            if (ay > y) != (by > y) {
                let at = ax + (y - ay) / (by - ay) * (bx - ax);
                // Rounding must not carry the crossing beyond the edge.
                inside ^= x < at.max(ax.min(bx)).min(ax.max(bx));
            }
            i += 1;
        }
        inside
    }
}

#[inline(always)]
fn team_size<T: Team>(_: &T) -> u64 {
    T::SIZE as u64
}

/// Counts the points of a region, and lists them where there is a list.
pub struct Search<'a, T, R, M> {
    points: Points<T>,
    region: &'a R,
    team: M,
    list: *mut u32,
    count: u64,
}

impl<T: Place, R: Region, M: Team> Search<'_, T, R, M> {
    /// Takes those of a node's points that lie in the region, or all of them.
    #[inline(always)]
    unsafe fn take(&mut self, node: &Visit, all: bool) {
        let mut i = 0;
        while i < node.count {
            let mine = i + self.team.lane() as u64;
            let place = (node.start + mine) as usize;
            // SAFETY: the node's points are the tree's; the list has room for what was counted.
            unsafe {
                let is_in = mine < node.count
                    && (all || {
                        let (x, y) = (*self.points.x.add(place), *self.points.y.add(place));
                        self.region.has(x.widened(), y.widened())
                    });
                let (before, found) = self.team.count(is_in);
                if is_in && !self.list.is_null() {
                    let to = self.count + before as u64;
                    *self.list.add(to as usize) = *self.points.order.add(place);
                }
                self.count += found as u64;
            }
            i += M::SIZE as u64;
        }
    }
}

impl<T: Place, R: Region, M: Team> Visitor for Search<'_, T, R, M> {
    #[inline(always)]
    fn wants(&self, cell: Cell) -> bool {
        self.region.meets(cell)
    }

    #[inline(always)]
    unsafe fn visit(&mut self, node: &Visit) -> bool {
        // SAFETY: the team is here whole, as the caller is; a node has points.
        unsafe {
            let relation = self.region.relation(node.cell, &self.team);
            let all = match relation {
                Relation::Within => true,
                Relation::Uniform => {
                    let first = node.start as usize;
                    let (x, y) = (*self.points.x.add(first), *self.points.y.add(first));
                    if !self.region.has(x.widened(), y.widened()) {
                        return false;
                    }
                    true
                }
                Relation::Mixed => false,
            };
            if all && self.list.is_null() {
                self.count += node.count;
                return false;
            }
            if all || node.is_leaf {
                self.take(node, all);
                return false;
            }
            true
        }
    }
}

/// The number of points in a region; they go into `list`, unless it is null, in the order of the tree.
///
/// # Safety
/// `nodes` are those of a tree over the points, at least one; the list has room; the whole team comes here.
#[inline(always)]
pub unsafe fn search<T: Place, R: Region, M: Team>(
    nodes: *const u64,
    path: &mut impl Path,
    points: Points<T>,
    region: &R,
    team: M,
    list: *mut u32,
) -> u64 {
    let mut search = Search { points, region, team, list, count: 0 };
    // SAFETY: passed on to the caller.
    unsafe { walk(nodes, path, &mut search) };
    search.count
}

/// The points in each region: their number into `counts`, or, with `list`, their indices as given there, from
/// `offsets` on, in the order of the tree. Grid: a warp for each.
///
/// # Safety
/// `nodes` are those of a tree over `px`, `py` and `order`, at least one. The arrays of regions are as for
/// [`Region::load`]; `counts` or `offsets` have `count` elements, and `list` has room for what was counted.
#[kernel(
    block = BLOCK,
    instances(
        windows_f32: <f32, Window>; windows_f64: <f64, Window>;
        discs_f32: <f32, Disc>; discs_f64: <f64, Disc>;
        polygons_f32: <f32, Polygon>; polygons_f64: <f64, Polygon>;
    )
)]
pub unsafe fn search_regions<T: Place, R: Region>(
    nodes: *const u64,
    corner: [f64; 2],
    per_unit: [f64; 2],
    level: u32,
    px: *const T,
    py: *const T,
    order: *const u32,
    shapes: *const f64,
    edges: *const f64,
    edge_offsets: *const u64,
    count: u64,
    counts: *mut u64,
    offsets: *const u64,
    list: *mut u32,
) {
    let which = thread::index_1d() / 32;
    if which >= count {
        return;
    }
    let frame = Frame::new(corner, per_unit, level);
    let mut path = WarpPath::new();
    // SAFETY: guarded, by whole warps; the rest is the caller's.
    unsafe {
        let shapes = Shapes { numbers: shapes, edges, offsets: edge_offsets };
        let region = R::load(&frame, shapes, which);
        let points = Points { x: px, y: py, order };
        let list =
            if list.is_null() { list } else { list.add(*offsets.add(which as usize) as usize) };
        let found = search(nodes, &mut path, points, &region, Warp, list);
        if list.is_null() && warp::lane_id() == 0 {
            *counts.add(which as usize) = found;
        }
    }
}
