//! Searches on the CPU.
//!
//! A search goes down all trees of its conditions together, from the roots. It stops at a quadrant if
//!
//! - some tree has no value there that could be in its range, or the quadrant is outside the window;
//! - all its values are in the ranges, and it lies in the window;
//! - all trees have leaves there.
//!
//! At the levels with enough quadrants for all threads, the search visits quadrants in parallel. Results are in Z-order
//! whatever the number of threads.

mod apart;
mod mismatch;
mod results;
mod statistics;

use gpu_core::{GridSpec, GridView};
use rayon::prelude::*;

pub use mismatch::first_mismatch;
pub use results::{Count, Run};
pub(crate) use results::{count, mask, runs};
pub use statistics::{Peak, Statistics};
pub(crate) use statistics::{statistics, top_k};

use apart::Holder;
pub(crate) use apart::Mapping;

use crate::cell::Ranges;
use crate::params::{Window, check_range};
use crate::raster::Wanted;
use crate::tree::{Children, Place};
use crate::{Bound, Cell, Error, Node, Number, Query, RasterRef, Result, Tree};

/// The most conditions of a query.
pub const MAX_CONDITIONS: usize = 8;

/// A condition on one raster: its value lies in a range, or is any value. It may hold the raster itself, which a range
/// that cuts through bins needs.
///
/// If the grids of two trees have equally many columns and rows, a search takes their cells for the same cells, even if
/// the grids lie in different places. The caller must compare the places.
///
/// ```
/// use ccq_tree::{Condition, Params, Query, build, count};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new(vec![1u8, 1, 7, 3, 1, 1, 5, 7], GridSpec::of_pixels(4, 2))?;
/// let tree = build(&Device::Cpu, raster.view(), &Params::new().bins([4.0]))?;
/// // 6 lies within a bin: the raster says which cells of the bin are at or above it.
/// let high = Condition::new(&tree).range(6, 8);
/// assert_eq!(count(&Device::Cpu, &[high], &Query::new())?.unsure, 3);
/// assert_eq!(count(&Device::Cpu, &[high.raster(raster.view())], &Query::new())?.cells, 2);
/// # Ok::<(), ccq_tree::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Condition<'a> {
    pub(crate) tree: &'a dyn Searched,
    pub(crate) range: Option<(Bound, Bound)>,
    pub(crate) raster: Option<(RasterRef<'a>, GridSpec)>,
}

impl<'a> Condition<'a> {
    /// Accepts any value of a tree's raster.
    pub fn new<T: Cell>(tree: &'a Tree<T>) -> Self {
        Self { tree, range: None, raster: None }
    }

    /// Accepts only values from `low` up to, but without, `high`. If `high` is infinity, accepts all values from `low`
    /// on, infinity included. Whole numbers compare exactly with values of 64 bits.
    #[must_use]
    pub fn range(self, low: impl Into<Bound>, high: impl Into<Bound>) -> Self {
        Self { range: Some((low.into(), high.into())), ..self }
    }

    /// Consults the raster that the tree was built from.
    #[must_use]
    pub fn raster<T: Number>(self, raster: impl Into<GridView<'a, T>>) -> Self {
        let raster = raster.into();
        Self { raster: Some((T::raster(raster.values()), *raster.grid())), ..self }
    }

    /// Returns the condition's range as ranges of the tree's keys.
    pub(crate) fn ranges(&self) -> Ranges {
        self.range.map_or(Ranges::ALL, |range| self.tree.ranges(range))
    }

    /// Which cells of the raster count.
    pub(crate) fn wanted(&self, raster: RasterRef<'_>) -> Wanted {
        raster.wanted(self.range, self.tree.nodata())
    }
}

/// A quadrant that a search returns. If the window or the raster's edge cuts it, the part inside counts.
///
/// ```
/// use ccq_tree::{Condition, Params, Query, Window, build, quadrants};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new(vec![1u8, 1, 7, 3, 1, 1, 5, 7], GridSpec::of_pixels(4, 2))?;
/// let tree = build(&Device::Cpu, raster.view(), &Params::new())?;
/// let found = quadrants(&Device::Cpu, &[Condition::new(&tree).range(0, 2)], &Query::new())?;
/// assert_eq!((found[0].size, found[0].max.to_f64()), (2, 1.0));
/// let south = Window { row0: 1, column0: 0, row1: 2, column1: 4 };
/// let cells = found[0].cells(south).expect("a row of it lies there");
/// assert_eq!(cells, Window { row0: 1, column0: 0, row1: 2, column1: 2 });
/// # Ok::<(), ccq_tree::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quadrant {
    /// Its northernmost row.
    pub row: u32,
    /// Its westernmost column.
    pub column: u32,
    /// Cells on a side.
    pub size: u32,
    /// The least value, or number of a bin, in the tree of the first condition.
    pub min: Bound,
    /// The greatest.
    pub max: Bound,
    /// Whether only some of its cells may be in the ranges. This is so if a range cuts through their bin: only the
    /// raster tells which cells.
    pub is_partly: bool,
}

impl Quadrant {
    /// Its cells in a window.
    pub fn cells(&self, window: Window) -> Option<Window> {
        let end = |from: u32| from.saturating_add(self.size);
        let (row0, column0) = (self.row, self.column);
        window.and(Window { row0, column0, row1: end(row0), column1: end(column0) })
    }
}

/// Checks a question before anything is copied for it.
#[cfg(feature = "cuda")]
pub(crate) fn check(conditions: &[Condition<'_>], query: &Query) -> Result<()> {
    Search::new(conditions, query).map(|_| ())
}

/// [`quadrants`](crate::quadrants()) on the CPU.
pub(crate) fn quadrants(conditions: &[Condition<'_>], query: &Query) -> Result<Vec<Quadrant>> {
    let Some(search) = Search::new(conditions, query)? else { return Ok(Vec::new()) };
    let gather = |from: Visit| {
        let mut found = Vec::new();
        search.visit(&from, u32::MAX, &mut |hit| found.push(search.quadrant(hit)), &mut |_| ());
        found
    };
    let mut parts: Vec<Vec<Quadrant>> = search.parts().into_par_iter().map(gather).collect();
    Ok(if parts.len() == 1 { parts.swap_remove(0) } else { parts.concat() })
}

/// A quadrant whose cells satisfy all conditions.
pub(crate) struct FoundNode {
    /// The node of the first tree: the quadrant's, or a leaf above it.
    pub node: u32,
    /// Its cells in the window.
    pub cells: u64,
}

/// Returns what `of` returns for each quadrant whose cells satisfy all conditions, in Z-order.
pub(crate) fn each_found<R: Send>(
    conditions: &[Condition<'_>],
    query: &Query,
    of: &(dyn Fn(FoundNode) -> R + Sync),
) -> Result<Vec<R>> {
    let Some(search) = Search::new(conditions, query)? else { return Ok(Vec::new()) };
    let gather = |from: Visit| {
        let (mut found, mut is_cut) = (Vec::new(), false);
        let take = &mut |hit: Hit| {
            is_cut |= hit.is_partly;
            let cells = hit.place.cells(search.bits, &search.grid);
            let cells = cells.and_then(|cells| search.window.and(cells));
            let cells = cells.map_or(0, |cells| cells.cells());
            found.push(of(FoundNode { node: hit.node, cells }));
        };
        search.visit(&from, u32::MAX, take, &mut |_| ());
        if is_cut { Err(Error::NeedsRaster) } else { Ok(found) }
    };
    let parts: Result<Vec<Vec<R>>> = search.parts().into_par_iter().map(gather).collect();
    Ok(parts?.into_iter().flatten().collect())
}

/// A node, by keys.
#[derive(Clone, Copy)]
pub(crate) struct Keyed {
    pub min: u32,
    pub max: u32,
    pub has_children: bool,
    pub is_mixed: bool,
}

/// A tree of any type.
pub(crate) trait Searched: Sync {
    fn grid(&self) -> &GridSpec;
    fn bits(&self) -> u32;
    fn nodata(&self) -> Option<Bound>;
    /// The boundaries of bins; none where it has values.
    fn boundaries(&self) -> Vec<Bound>;
    fn node(&self, position: u32) -> Option<Keyed>;
    fn children(&self, position: u32, place: Place) -> Children;
    fn ranges(&self, range: (Bound, Bound)) -> Ranges;
    fn value(&self, key: u32) -> Bound;
    /// Where each level begins, and the end.
    fn starts(&self) -> &[u64];
    /// The link of a node.
    fn link(&self, position: u32) -> u32;
    /// As [`Tree::presence`].
    fn presence(&self) -> &[u8];
    #[cfg(feature = "cuda")]
    fn upload(&self, gpu: &gpu_core::Gpu) -> Result<Box<dyn crate::gpu::Searched>>;
}

impl<T: Cell> Searched for Tree<T> {
    fn grid(&self) -> &GridSpec {
        &self.grid
    }

    fn bits(&self) -> u32 {
        self.bits
    }

    fn nodata(&self) -> Option<Bound> {
        self.params.nodata.map(Bound::from)
    }

    fn boundaries(&self) -> Vec<Bound> {
        self.params.bins.iter().map(|&boundary| boundary.into()).collect()
    }

    fn node(&self, position: u32) -> Option<Keyed> {
        let node = self.nodes.get(position as usize)?;
        let (min, max) = (node.min().key(), node.max().key());
        let has_children = node.first_child().is_some();
        Some(Keyed { min, max, has_children, is_mixed: node.is_mixed() })
    }

    fn children(&self, position: u32, place: Place) -> Children {
        self.children(position as usize, place)
    }

    fn ranges(&self, (low, high): (Bound, Bound)) -> Ranges {
        // No value of at most 32 bits lies between a whole number and the float next to it.
        Ranges::of::<T>((low.to_f64(), high.to_f64()), &self.params.bins)
    }

    fn value(&self, key: u32) -> Bound {
        T::of_key(key).bound()
    }

    fn starts(&self) -> &[u64] {
        &self.starts
    }

    fn link(&self, position: u32) -> u32 {
        self.nodes.get(position as usize).map_or(0, Node::link)
    }

    fn presence(&self) -> &[u8] {
        &self.presence
    }

    #[cfg(feature = "cuda")]
    fn upload(&self, gpu: &gpu_core::Gpu) -> Result<Box<dyn crate::gpu::Searched>> {
        Ok(Box::new(crate::gpu::DeviceTree::upload(gpu, self)?))
    }
}

/// A quadrant, and the node that holds it in each tree: its own, or a leaf above it.
#[derive(Clone, Copy)]
struct Visit {
    place: Place,
    /// Whether the whole square is known to lie in the window, and so all quadrants below.
    is_inside: bool,
    nodes: [u32; MAX_CONDITIONS],
    /// The level of the node, in a tree of another grid than the quadrant's.
    levels: [u8; MAX_CONDITIONS],
}

impl Visit {
    const ROOT: Self = Self {
        place: Place::ROOT,
        is_inside: false,
        nodes: [0; MAX_CONDITIONS],
        levels: [0; MAX_CONDITIONS],
    };
}

/// A quadrant at which a search stops.
#[derive(Clone, Copy)]
struct Hit {
    place: Place,
    /// The node of the first tree that holds it.
    node: u32,
    min: u32,
    max: u32,
    is_partly: bool,
}

/// What a search does with a quadrant.
enum Verdict {
    None,
    Hit(Hit),
    Open(Open),
}

/// A quadrant below which the search goes on.
#[derive(Clone, Copy)]
struct Open {
    /// Which trees have a node with children there, a bit each.
    trees: u8,
    /// As in [`Visit`].
    is_inside: bool,
}

/// A checked query.
struct Search<'a> {
    conditions: &'a [Condition<'a>],
    ranges: Vec<Ranges>,
    /// For each tree of another grid, where the search's cells lie in it.
    mappings: Vec<Option<Mapping>>,
    grid: GridSpec,
    bits: u32,
    window: Window,
}

/// The least number of parts that a search is cut into, if there are that many: work for all threads.
const PARTS: usize = 256;

impl<'a> Search<'a> {
    /// `None` where there is no cell to search.
    fn new(conditions: &'a [Condition<'a>], query: &Query) -> Result<Option<Self>> {
        if conditions.is_empty() || conditions.len() > MAX_CONDITIONS {
            let (conditions, most) = (conditions.len(), MAX_CONDITIONS);
            return Err(Error::Conditions { conditions, most });
        }
        let lead = lead(conditions);
        let (grid, bits) = (*lead.grid(), lead.bits());
        let mut mappings = Vec::new();
        for condition in conditions {
            let its = condition.tree.grid();
            mappings.push(match same_sides("a tree", its, &grid) {
                Ok(()) => None,
                Err(error) => Some(Mapping::new(&grid, its).ok_or(error)?),
            });
            if let Some((_, other)) = condition.raster {
                same_sides("a raster", &other, its)?;
            }
            condition.range.map_or(Ok(()), check_range)?;
        }
        let Some(window) = query.window_in(&grid)? else { return Ok(None) };
        let ranges = conditions.iter().map(Condition::ranges).collect();
        // Trees of tiles may begin above the smallest square; then all must.
        let mut alike = conditions.iter().zip(&mappings).filter(|(_, mapping)| mapping.is_none());
        let bits_differ = alike.find(|(condition, _)| condition.tree.bits() != bits);
        if let Some((condition, _)) = bits_differ {
            return Err(sides("a tree with another root", condition.tree.grid(), &grid));
        }
        Ok(Some(Self { conditions, ranges, mappings, grid, bits, window }))
    }

    /// The root, and quadrants below it enough for all threads, each of which is searched on its own; in Z-order.
    fn parts(&self) -> Vec<Visit> {
        let mut parts: Vec<Visit> = self.root().into_iter().collect();
        if rayon::current_num_threads() == 1 {
            return parts;
        }
        for level in 0..self.bits {
            if parts.len() >= PARTS {
                break;
            }
            let mut finer = Vec::new();
            for part in parts {
                // A quadrant where the search stops above is a part of its own, and is found again.
                if part.place.level < level {
                    finer.push(part);
                    continue;
                }
                match self.judge(&part) {
                    Verdict::None => {}
                    Verdict::Hit(_) => finer.push(part),
                    Verdict::Open(open) => self.each_child(&part, open, |child| finer.push(*child)),
                }
            }
            parts = finer;
        }
        parts
    }

    fn judge(&self, visit: &Visit) -> Verdict {
        let Some((is_held, is_inside)) = self.of_window(visit) else { return Verdict::None };
        let (mut all_inside, mut open) = (true, 0);
        let mut bounds = (0, 0);
        let is_divisible = visit.place.level < self.bits;
        for (i, (condition, ranges)) in self.conditions.iter().zip(&self.ranges).enumerate() {
            let Some(node) = condition.tree.node(visit.nodes[i]) else { return Verdict::None };
            if node.min > ranges.touched.1 || node.max < ranges.touched.0 {
                return Verdict::None;
            }
            let is_inside = ranges.inside.contain(node.min) && ranges.inside.contain(node.max);
            all_inside &= is_inside && !node.is_mixed;
            let mut is_open = node.has_children;
            if let Some(mapping) = &self.mappings[i] {
                let cells = visit.place.cells(self.bits, &self.grid);
                let Some(rectangle) = cells.and_then(|cells| mapping.rectangle(cells)) else {
                    return Verdict::None;
                };
                // Where the other raster ends is NODATA.
                all_inside &= rectangle.is_whole;
                is_open |= !rectangle.is_whole;
            }
            open |= u8::from(is_open && is_divisible) << i;
            if i == 0 {
                bounds = (node.min, node.max);
            }
        }
        if open != 0 && !(all_inside && is_held) {
            return Verdict::Open(Open { trees: open, is_inside });
        }
        let (min, max) = bounds;
        let (place, node) = (visit.place, visit.nodes[0]);
        Verdict::Hit(Hit { place, node, min, max, is_partly: !all_inside })
    }

    /// Returns whether the window has all cells of a quadrant, and whether it has the whole square; `None` if it has no
    /// cell.
    fn of_window(&self, visit: &Visit) -> Option<(bool, bool)> {
        if visit.is_inside {
            return Some((true, true));
        }
        let cells = visit.place.cells(self.bits, &self.grid)?;
        self.window.and(cells)?;
        let is_held = self.window.holds(cells);
        Some((is_held, is_held && visit.place.is_whole(self.bits, &self.grid)))
    }

    fn each_child(&self, visit: &Visit, open: Open, mut of: impl FnMut(&Visit)) {
        let mut children = [Children { first: 0, mask: 0 }; MAX_CONDITIONS];
        let is_open = |i: usize| open.trees >> i & 1 != 0;
        for (i, condition) in self.conditions.iter().enumerate() {
            if is_open(i) && self.mappings[i].is_none() {
                children[i] = condition.tree.children(visit.nodes[i], visit.place);
            }
        }
        for corner in 0..4 {
            let place = visit.place.child(corner);
            let mut child = Visit { place, is_inside: open.is_inside, ..Visit::ROOT };
            let mut is_there = true;
            // One by one: a load of several nodes would wait for the store of the last one.
            for (i, children) in children.iter().enumerate().take(self.conditions.len()) {
                (child.nodes[i], child.levels[i]) = (visit.nodes[i], visit.levels[i]);
                if is_open(i) {
                    is_there &= match &self.mappings[i] {
                        None => children.get(corner).map(|position| child.nodes[i] = position),
                        Some(mapping) => self.hold(i, mapping, &mut child),
                    }
                    .is_some();
                }
            }
            if is_there {
                of(&child);
            }
        }
    }

    /// Takes the smallest node that holds a quadrant, in a tree of another grid; `None` if no cell has a value.
    fn hold(&self, i: usize, mapping: &Mapping, visit: &mut Visit) -> Option<()> {
        let rectangle = mapping.rectangle(visit.place.cells(self.bits, &self.grid)?)?;
        let from = Holder { node: visit.nodes[i], level: visit.levels[i] };
        let holder = rectangle.holder(self.conditions[i].tree, from)?;
        (visit.nodes[i], visit.levels[i]) = (holder.node, holder.level);
        Some(())
    }

    /// The root, with the nodes of all trees that hold it; `None` where one has no value there.
    fn root(&self) -> Option<Visit> {
        let mut root = Visit::ROOT;
        for (i, mapping) in self.mappings.iter().enumerate() {
            if let Some(mapping) = mapping {
                self.hold(i, mapping, &mut root)?;
            }
        }
        Some(root)
    }

    /// Calls `take` with each hit in and below a quadrant, in Z-order, and `rest` with what is open at `level`.
    fn visit(
        &self,
        visit: &Visit,
        level: u32,
        take: &mut impl FnMut(Hit),
        rest: &mut impl FnMut(Visit),
    ) {
        match self.judge(visit) {
            Verdict::None => {}
            Verdict::Hit(hit) => take(hit),
            Verdict::Open(_) if visit.place.level >= level => rest(*visit),
            Verdict::Open(open) => {
                self.each_child(visit, open, |child| self.visit(child, level, take, rest));
            }
        }
    }

    fn quadrant(&self, hit: Hit) -> Quadrant {
        let (size, tree) = (hit.place.side(self.bits), self.conditions[0].tree);
        Quadrant {
            row: hit.place.y * size,
            column: hit.place.x * size,
            size,
            min: tree.value(hit.min),
            max: tree.value(hit.max),
            is_partly: hit.is_partly,
        }
    }

    /// The rasters that say which cells of a bin are in the ranges that cut bins. An error where one is not given.
    fn rasters(&self) -> Result<Vec<Refining<'a>>> {
        let cut = self.conditions.iter().zip(&self.ranges).zip(&self.mappings);
        let cut = cut.filter(|((_, ranges), _)| ranges.inside != ranges.touched);
        let rasters = cut.map(|((condition, _), &mapping)| {
            let (raster, _) = condition.raster.ok_or(Error::NeedsRaster)?;
            Ok(Refining { raster, wanted: condition.wanted(raster), mapping })
        });
        rasters.collect()
    }
}

/// A raster that says which cells of a bin count.
struct Refining<'a> {
    raster: RasterRef<'a>,
    wanted: Wanted,
    /// Where the search's cells lie in it, if it has another grid.
    mapping: Option<Mapping>,
}

impl Refining<'_> {
    /// Calls `take` with each of some cells of a row that counts, by its number from the first of them.
    fn each(
        &self,
        grid: &GridSpec,
        row: u32,
        columns: std::ops::Range<u32>,
        mut take: impl FnMut(usize),
    ) {
        match &self.mapping {
            None => {
                let line = row as usize * grid.width as usize;
                let (from, to) = (line + columns.start as usize, line + columns.end as usize);
                self.raster.each_wanted(self.wanted, from..to, |cell| take(cell - from));
            }
            Some(mapping) => {
                for (i, column) in columns.enumerate() {
                    if let Some(cell) = mapping.cell(column, row) {
                        self.raster.each_wanted(self.wanted, cell..cell + 1, |_| take(i));
                    }
                }
            }
        }
    }
}

/// The tree whose grid a search goes by: the first of those with the smallest cells.
fn lead<'a>(conditions: &[Condition<'a>]) -> &'a dyn Searched {
    let trees = conditions.iter().map(|condition| condition.tree);
    let finer = |a: &'a dyn Searched, b: &'a dyn Searched| {
        if b.grid().cell_size < a.grid().cell_size && !is_alike(a.grid(), b.grid()) { b } else { a }
    };
    trees.reduce(finer).expect("there is a condition")
}

/// Returns the grid of what a search finds: the grid of the tree with the smallest cells. The search takes the values
/// of other trees at the centres of these cells.
///
/// ```
/// use ccq_tree::{Condition, Params, build, search_grid};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let coarse = Grid::new(vec![1u8], GridSpec::new(0.0, 2.0, 2.0, 1, 1)?)?;
/// let fine = Grid::new(vec![1u8, 2, 3, 4], GridSpec::new(0.0, 2.0, 1.0, 2, 2)?)?;
/// let coarse = build(&Device::Cpu, coarse.view(), &Params::new())?;
/// let fine = build(&Device::Cpu, fine.view(), &Params::new())?;
/// let grid = search_grid(&[Condition::new(&coarse), Condition::new(&fine)])?;
/// assert_eq!((grid.cell_size, grid.width), (1.0, 2));
/// # Ok::<(), ccq_tree::Error>(())
/// ```
///
/// # Errors
/// [`Error::Conditions`] where there is none.
pub fn search_grid(conditions: &[Condition<'_>]) -> Result<GridSpec> {
    match conditions.is_empty() {
        true => Err(Error::Conditions { conditions: 0, most: MAX_CONDITIONS }),
        false => Ok(*lead(conditions).grid()),
    }
}

fn is_alike(a: &GridSpec, b: &GridSpec) -> bool {
    (a.width, a.height) == (b.width, b.height)
}

pub(crate) fn same_sides(what: &'static str, other: &GridSpec, first: &GridSpec) -> Result<()> {
    if is_alike(other, first) { Ok(()) } else { Err(sides(what, other, first)) }
}

fn sides(what: &'static str, other: &GridSpec, first: &GridSpec) -> Error {
    let (first_width, first_height) = (first.width, first.height);
    Error::Sides { what, width: other.width, height: other.height, first_width, first_height }
}
