//! The points in windows, discs and polygons.
//!
//! Whole numbers tell whether a node's cell meets a region: the columns and rows of the deepest level. These rise with
//! x and y, so an x in an earlier column than the region's edge lies before the edge, and rounding plays no part.
//! Single points are tested only in cells that an edge passes through.

use device_std::slice::Bytes;
use device_std::{In, Out, arguments, kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::ground::{Cell, Origin};
use super::lists::Lists;
use super::walk::{Path, Team, Visit, Visitor, Warp, WarpPath, walk};
use crate::quadtree::node::Words;
use crate::spatial::frame::Frame;
use crate::spatial::place::Place;
use crate::spatial::side::is_left;

/// The points of a tree.
#[arguments]
pub struct Points<'a, T> {
    /// Their x, in the order of the tree.
    pub x: In<'a, T>,
    /// Their y.
    pub y: In<'a, T>,
    /// Their indices in the input.
    pub order: In<'a, u32>,
}

/// Threads of a block.
pub const BLOCK: usize = 128;

/// How a cell and a region are related.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// All its points lie in the region.
    Within,
    /// Either all its points lie in the region, or none does.
    Uniform,
    /// Each point must be tested.
    Mixed,
}

/// Regions of one kind.
#[arguments]
pub struct Shapes<'a> {
    /// The numbers of each region, as many as its [`Kind`] says.
    pub numbers: In<'a, f64>,
    /// For polygons: x and y of both ends of each edge, the lower end first. Not read for others.
    pub edges: In<'a, [f64; 4]>,
    /// For polygons: the first edge of each, and the end. Not read for others.
    pub offsets: In<'a, u64>,
}

impl Shapes<'_> {
    /// The `N` numbers of region `which`.
    #[inline(always)]
    fn numbers<const N: usize>(self, which: u64) -> [f64; N] {
        let mut numbers = [0.0; N];
        let mut i = 0;
        while i < N {
            numbers[i] = self.numbers.get(N * which as usize + i);
            i += 1;
        }
        numbers
    }
}

/// Where an edge lies.
#[inline(always)]
fn edge(i: u64) -> Bytes {
    Bytes(i as usize * size_of::<[f64; 4]>())
}

/// A kind of regions.
pub trait Kind {
    /// A region of this kind.
    type Region<'a>: Region;

    /// Region `which` of an array of shapes of this kind.
    fn load<'a>(frame: &Frame, shapes: Shapes<'a>, which: u64) -> Self::Region<'a>;
}

/// Windows: min_x, min_y, max_x, max_y.
pub struct Windows;
/// Discs: x, y and radius.
pub struct Discs;
/// Polygons: the numbers are their bounds, as for windows.
pub struct Polygons;

impl Kind for Windows {
    type Region<'a> = Window;

    #[inline(always)]
    fn load<'a>(frame: &Frame, shapes: Shapes<'a>, which: u64) -> Window {
        Window::new(frame, shapes.numbers(which))
    }
}

impl Kind for Discs {
    type Region<'a> = Disc;

    #[inline(always)]
    fn load<'a>(frame: &Frame, shapes: Shapes<'a>, which: u64) -> Disc {
        let [x, y, radius] = shapes.numbers(which);
        Disc::new(frame, [x, y], radius)
    }
}

impl Kind for Polygons {
    type Region<'a> = Polygon<'a>;

    #[inline(always)]
    fn load<'a>(frame: &Frame, shapes: Shapes<'a>, which: u64) -> Polygon<'a> {
        let (first, end) = (shapes.offsets.get(which), shapes.offsets.get(which + 1));
        Polygon::new(frame, shapes.numbers(which), shapes.edges.from(edge(first)), end - first)
    }
}

/// A part of the plane.
pub trait Region: Sized {
    /// Whether a cell may have points in the region.
    fn meets(&self, cell: Cell) -> bool;

    /// How a cell and the region are related.
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

/// The points in an odd number of a polygon's rings. An edge counts for the points to the west of it, from its lower
/// end up to below its upper one. So if areas share an edge, each point is in one of them.
#[derive(Clone, Copy)]
pub struct Polygon<'a> {
    frame: Frame,
    window: Window,
    /// x and y of both ends of each edge, the lower end first; the edges of a ring close it.
    edges: In<'a, [f64; 4]>,
    count: u64,
}

impl<'a> Polygon<'a> {
    /// The polygon of `count` edges, which lie between `bounds`.
    #[inline(always)]
    pub fn new(frame: &Frame, bounds: [f64; 4], edges: In<'a, [f64; 4]>, count: u64) -> Self {
        Self { frame: *frame, window: Window::new(frame, bounds), edges, count }
    }

    #[inline(always)]
    fn edge(&self, i: u64) -> [f64; 4] {
        self.edges.get(edge(i))
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

impl Region for Polygon<'_> {
    #[inline(always)]
    fn meets(&self, cell: Cell) -> bool {
        self.window.meets(cell)
    }

    /// Suppose that no edge's rectangle meets the cell. Then a ring passes the cell to the east between two ends beyond
    /// its rows, or not at all. So the numbers of edges that two points count differ by an even number.
    #[inline(always)]
    unsafe fn relation(&self, cell: Cell, team: &impl Team) -> Relation {
        let span = cell.span(self.window.deepest);
        let (mut meets, mut i) = (false, team.lane() as u64);
        while i < self.count {
            meets |= self.edge_meets(i, span);
            i += team_size(team);
        }
        // SAFETY: the whole team is here, by the caller's promise.
        if unsafe { team.any(meets) } { Relation::Mixed } else { Relation::Uniform }
    }

    #[inline(always)]
    fn has(&self, x: f64, y: f64) -> bool {
        let (mut inside, mut i) = (false, 0);
        while i < self.count {
            let [ax, ay, bx, by] = self.edge(i);
            if ay <= y && y < by {
                inside ^= is_left([ax, ay], [bx, by], [x, y]);
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

/// A search that counts the points of a region, and lists them if there is a list.
pub struct RegionSearch<'a, T, R, M> {
    points: Points<'a, T>,
    region: &'a R,
    team: M,
    list: Out<'a, u32>,
    count: u64,
}

impl<T: Place, R: Region, M: Team> RegionSearch<'_, T, R, M> {
    /// Whether a point lies in the region.
    #[inline(always)]
    fn has(&self, place: u64) -> bool {
        let (x, y) = (self.points.x.get(place), self.points.y.get(place));
        self.region.has(x.widened(), y.widened())
    }

    /// Takes a node's points: all of them, or those that lie in the region.
    #[inline(always)]
    unsafe fn take(&mut self, node: &Visit, all: bool) {
        let mut i = 0;
        while i < node.count {
            let mine = i + self.team.lane() as u64;
            let place = node.start + mine;
            let is_in = mine < node.count && (all || self.has(place));
            // SAFETY: the whole team is here, by the caller's promise.
            let (before, found) = unsafe { self.team.count(is_in) };
            if is_in && !self.list.is_missing() {
                self.list.set(self.count + before as u64, self.points.order.get(place));
            }
            self.count += found as u64;
            i += M::SIZE as u64;
        }
    }
}

impl<T: Place, R: Region, M: Team> Visitor for RegionSearch<'_, T, R, M> {
    #[inline(always)]
    fn wants(&self, cell: Cell) -> bool {
        self.region.meets(cell)
    }

    #[inline(always)]
    unsafe fn visit(&mut self, node: &Visit) -> bool {
        // SAFETY: the team is here whole, as the caller is.
        unsafe {
            let relation = self.region.relation(node.cell, &self.team);
            let all = match relation {
                Relation::Within => true,
                Relation::Uniform => {
                    // A node has points.
                    if !self.has(node.start) {
                        return false;
                    }
                    true
                }
                Relation::Mixed => false,
            };
            if all && self.list.is_missing() {
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

/// Returns the number of points in a region. Writes them into `list`, if there is one, in the order of the tree.
///
/// # Safety
/// `nodes` are those of a tree over the points, at least one; the whole team comes here.
#[inline(always)]
pub unsafe fn search<T: Place, R: Region, M: Team>(
    nodes: In<Words>,
    path: &mut impl Path,
    points: Points<T>,
    region: &R,
    team: M,
    list: Out<u32>,
) -> u64 {
    let mut search = RegionSearch { points, region, team, list, count: 0 };
    // SAFETY: the nodes are a tree's, by the caller's promise, and the path has a place for each level.
    unsafe { walk(nodes, path, &mut search) };
    search.count
}

/// Finds the points in each region: their number, or their indices in the input, in the order of the tree. Grid: a warp
/// for each.
///
/// # Safety
/// `nodes` are those of a tree over the points, at least one. The regions are as [`Shapes`] says, `count` of them; the
/// lists are as [`Lists`] says, for as many searches.
#[kernel(
    block = BLOCK,
    instances(
        windows_f32: <f32, Windows>; windows_f64: <f64, Windows>;
        discs_f32: <f32, Discs>; discs_f64: <f64, Discs>;
        polygons_f32: <f32, Polygons>; polygons_f64: <f64, Polygons>;
    )
)]
pub unsafe fn search_regions<T: Place, R: Kind>(
    nodes: In<'_, Words>,
    frame: Frame,
    points: Points<'_, T>,
    shapes: Shapes<'_>,
    count: u64,
    lists: Lists<'_>,
) {
    let which = thread::index_1d() / 32;
    if which >= count {
        return;
    }
    let mut path = WarpPath::new();
    let region = R::load(&frame, shapes, which);
    let list = lists.of(which);
    // SAFETY: the nodes are a tree's; whole warps come here.
    let found = unsafe { search(nodes, &mut path, points, &region, Warp, list) };
    if list.is_missing() && warp::lane_id() == 0 {
        lists.counts.set(which, found);
    }
}
