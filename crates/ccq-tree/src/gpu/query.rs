//! Searches on the device.

use std::sync::Arc;

use device_std::In;
use gpu_core::parallel::{self, FINE};
use gpu_core::{Blocks, Column, DeviceGrid, Gpu, GridSlice, GridSpec};
use gpu_scan::gpu::{Workspace, reduce, scan_in_place};
use gpu_scan::{Scan, Sum};
use kernels_rs::ccq::value::{Kind, key_of};
use kernels_rs::ccq::{marks, query as kernels};

use super::{DeviceCodedTree, DeviceTree};
use crate::cell::{Ranges, exact_key};
use crate::params::{Window, check_range};
use crate::query::same_sides;
use crate::raster::Wanted;
use crate::{Bound, Cell, Error, Number, Quadrant, Query, Result};

/// The most conditions of a query on a device.
pub const MAX_CONDITIONS: usize = kernels::MAX_CONDITIONS;

/// Blocks that search: as many as the largest devices run at once.
const MAX_BLOCKS: u32 = 2048;

/// A condition on one raster on the device: see [`crate::Condition`].
///
/// Example: see [the module](crate::gpu#examples).
#[derive(Clone)]
pub struct Condition<'a> {
    tree: &'a dyn Searched,
    range: Option<(Bound, Bound)>,
    /// Instead of a range, what it would mean for keys.
    keys: Option<Ranges>,
    raster: Option<Arc<dyn Looked + 'a>>,
}

impl<'a> Condition<'a> {
    /// Accepts any value of a tree's raster.
    pub fn new<T: Cell>(tree: &'a DeviceTree<T>) -> Self {
        Self::of_parts(tree, None, None)
    }

    /// Accepts any value of a coded tree's raster.
    pub fn of_coded<T: Number>(tree: &'a DeviceCodedTree<T>) -> Self {
        Self::of_parts(tree, None, None)
    }

    /// Accepts only values from `low` up to, but without, `high`. If `high` is infinity, accepts all values from `low`
    /// on. As [`crate::Condition::range`].
    #[must_use]
    pub fn range(self, low: impl Into<Bound>, high: impl Into<Bound>) -> Self {
        Self { range: Some((low.into(), high.into())), ..self }
    }

    /// Consults the raster that the tree was built from. The raster's cells may be larger than the finest cells of a
    /// search, or of another type than the tree. Then the search makes a raster of marks on the finest grid first.
    #[must_use]
    pub fn raster<T: Number>(self, raster: impl Into<GridSlice<'a, T>>) -> Self {
        Self { raster: Some(Arc::new(raster.into())), ..self }
    }
}

impl Condition<'_> {
    /// A condition of any type of cells.
    pub(super) fn of_parts<'a>(
        tree: &'a dyn Searched,
        range: Option<(Bound, Bound)>,
        raster: Option<Arc<dyn Looked + 'a>>,
    ) -> Condition<'a> {
        Condition { tree, range, keys: None, raster }
    }

    /// Only values of these keys.
    pub(super) fn keys(self, keys: Ranges) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// Whether its tree lies at an address.
    pub(super) fn is_of(&self, tree: *const ()) -> bool {
        std::ptr::addr_eq(self.tree, tree)
    }

    /// Where its tree's raster lies.
    pub(super) fn grid(&self) -> &GridSpec {
        self.tree.grid()
    }

    fn ranges(&self) -> Ranges {
        let of_range = || self.range.map_or(Ranges::ALL, |range| self.tree.ranges(range));
        self.keys.unwrap_or_else(of_range)
    }

    /// Whether the range cuts through bins.
    fn cuts_bins(&self) -> bool {
        let Ranges { inside, touched, .. } = self.ranges();
        inside != touched
    }

    /// Marks on a grid of the cells of its raster that count, if a search cannot read the raster itself.
    fn marks(&self, gpu: &Gpu, grid: &GridSpec, bits: u32) -> Result<Option<Column<u32>>> {
        let Some(raster) = self.raster.as_ref().filter(|_| self.cuts_bins()) else {
            return Ok(None);
        };
        let own = self.tree.grid();
        let are_alike = (own.width, own.height) == (grid.width, grid.height);
        if are_alike && !self.tree.is_coded() && raster.kind() == self.tree.kind() {
            return Ok(None);
        }
        let (wanted, nodata) = raster.wanted(self.range, self.tree.nodata_value()).ends();
        let bytes = bytes_of(self.tree.kind());
        let cells = grid.cells();
        // SAFETY: the kernel writes a mark for each cell, and no more is read.
        let mut marks = unsafe { gpu.uninitialized::<u32>((cells * bytes).div_ceil(4) as usize)? };
        let raster = marks::Raster {
            cells: raster.cells(),
            kind: raster.kind(),
            width: own.width,
            levels: bits - self.tree.bits(),
            wanted,
            has_nodata: u32::from(nodata.is_some()),
            nodata: nodata.unwrap_or(0),
        };
        let (width, bytes, to) = (grid.width, bytes as u32, marks.output());
        let arguments = marks::mark::Args { raster, width, cells, bytes, marks: to };
        // SAFETY: the raster has the sides of its tree, whose cells are put together of the grid's, as was checked.
        unsafe { gpu.enqueue(marks::mark, Blocks::for_each(&marks::mark, cells)?, arguments)? };
        Ok(Some(marks))
    }

    /// As kernels take it, with marks in place of its raster where there are some.
    fn asked<'b>(&'b self, marks: Option<&'b Column<u32>>) -> kernels::Condition<'b> {
        let Ranges { inside, touched, raw } = self.ranges();
        let (nodes, nodes_len) = self.tree.nodes();
        let (kind, presence) = (self.tree.kind(), self.tree.presence());
        let nodata = self.tree.nodata().filter(|_| marks.is_none());
        // SAFETY: all numbers are bytes.
        let marks = marks.map(|marks| unsafe { marks.input().cast() });
        kernels::Condition {
            kind,
            nodes,
            nodes_len,
            presence: presence.input(),
            presence_len: presence.len() as u32,
            raster: marks.or_else(|| self.raster.as_ref().map(|raster| raster.cells())),
            inside: inside.into(),
            touched: touched.into(),
            wanted: if marks.is_some() { [key_of(kind, 1); 2] } else { raw.into() },
            has_nodata: u32::from(nodata.is_some()),
            nodata: nodata.unwrap_or(0),
        }
    }
}

/// Bytes of a value of a kind.
fn bytes_of(kind: u32) -> u64 {
    match kind {
        _ if kind == Kind::U8 as u32 => 1,
        _ if kind < Kind::I32 as u32 => 2,
        _ => 4,
    }
}

/// A tree of any type.
pub(crate) trait Searched: Sync {
    fn grid(&self) -> &GridSpec;
    fn bits(&self) -> u32;
    fn kind(&self) -> u32;
    /// The words of its nodes, and how many nodes there are.
    fn nodes(&self) -> (In<'_, u32>, u32);
    fn presence(&self) -> &Column<u8>;
    fn ranges(&self, range: (Bound, Bound)) -> Ranges;
    /// What stands for NODATA, by its key and as a value.
    fn nodata(&self) -> Option<u32>;
    fn nodata_value(&self) -> Option<Bound>;
    fn value(&self, key: u32) -> Bound;
    /// Whether its keys are codes of the raster's values.
    fn is_coded(&self) -> bool {
        false
    }
}

impl<T: Cell> Searched for DeviceTree<T> {
    fn grid(&self) -> &GridSpec {
        &self.grid
    }

    fn bits(&self) -> u32 {
        self.bits
    }

    fn kind(&self) -> u32 {
        T::KIND
    }

    fn nodes(&self) -> (In<'_, u32>, u32) {
        // SAFETY: a node is words: two, or three where values have 32 bits.
        (unsafe { self.nodes.input().cast() }, self.nodes.len() as u32)
    }

    fn presence(&self) -> &Column<u8> {
        &self.presence
    }

    fn ranges(&self, (low, high): (Bound, Bound)) -> Ranges {
        Ranges::of::<T>((low.to_f64(), high.to_f64()), &self.params.bins)
    }

    fn nodata(&self) -> Option<u32> {
        self.params.nodata.and_then(exact_key::<T>)
    }

    fn nodata_value(&self) -> Option<Bound> {
        self.params.nodata.map(Bound::from)
    }

    fn value(&self, key: u32) -> Bound {
        T::of_key(key).bound()
    }
}

/// A raster of any type.
pub(crate) trait Looked {
    fn grid(&self) -> &GridSpec;
    fn kind(&self) -> u32;
    /// The bytes of its cells.
    fn cells(&self) -> In<'_, u8>;
    /// Returns a range of values, and NODATA, as ranks of the raster's type.
    fn wanted(&self, range: Option<(Bound, Bound)>, nodata: Option<Bound>) -> Wanted;
}

impl<T: Number> Looked for DeviceGrid<T> {
    fn grid(&self) -> &GridSpec {
        DeviceGrid::grid(self)
    }

    fn kind(&self) -> u32 {
        T::TYPE
    }

    fn cells(&self) -> In<'_, u8> {
        // SAFETY: all numbers are bytes.
        unsafe { self.column().input().cast() }
    }

    fn wanted(&self, range: Option<(Bound, Bound)>, nodata: Option<Bound>) -> Wanted {
        Wanted::of::<T>(range, nodata)
    }
}

impl<T: Number> Looked for GridSlice<'_, T> {
    fn grid(&self) -> &GridSpec {
        GridSlice::grid(self)
    }

    fn kind(&self) -> u32 {
        T::TYPE
    }

    fn cells(&self) -> In<'_, u8> {
        // SAFETY: all numbers are bytes.
        unsafe { self.values().input().cast() }
    }

    fn wanted(&self, range: Option<(Bound, Bound)>, nodata: Option<Bound>) -> Wanted {
        Wanted::of::<T>(range, nodata)
    }
}

/// Returns three numbers in device memory, as [`count`](crate::count) gives them on the host: quadrants, cells that
/// satisfy all conditions, and cells that only a missing raster could decide. Enqueues and returns; after one call
/// it can be captured.
///
/// Example: see [`count`](crate::count()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// The errors of [`count`](crate::count). There may be at most [`MAX_CONDITIONS`] conditions.
pub fn count(
    workspace: &mut Workspace,
    conditions: &[Condition<'_>],
    query: &Query,
) -> Result<Column<u64>> {
    let gpu = workspace.gpu().clone();
    let mut sums = gpu.zeroed::<u64>(3)?;
    let Some(search) = Search::new(&gpu, conditions, query)? else { return Ok(sums) };
    let squares = search.squares();
    let Counted { counts, cells, .. } = search.count(&gpu, false)?;
    let mut total = gpu.zeroed::<u32>(1)?;
    reduce(workspace, Sum, counts.slice(0..squares)?, &mut total)?;
    reduce(workspace, Sum, cells.slice(0..squares)?, sums.slice_mut(1..2)?)?;
    reduce(workspace, Sum, cells.slice(squares..2 * squares)?, sums.slice_mut(2..3)?)?;
    let arguments = kernels::widen::Args { from: total.input(), to: sums.output() };
    // SAFETY: both have an element.
    unsafe { gpu.enqueue(kernels::widen, Blocks::x(1), arguments)? };
    Ok(sums)
}

/// Returns the quadrants whose cells satisfy all conditions, as [`quadrants`](crate::quadrants) gives them on the host,
/// in Z-order. Waits for the quadrants and copies them to the host, so a graph cannot capture this call.
///
/// Example: see [`quadrants`](crate::quadrants()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// The errors of [`quadrants`](crate::quadrants); conditions are at most [`MAX_CONDITIONS`].
pub fn quadrants(
    workspace: &mut Workspace,
    conditions: &[Condition<'_>],
    query: &Query,
) -> Result<Vec<Quadrant>> {
    let gpu = workspace.gpu().clone();
    gpu.refuse_in_capture("the number of quadrants")?;
    let Some(search) = Search::new(&gpu, conditions, query)? else { return Ok(Vec::new()) };
    let mut counted = search.count(&gpu, false)?;
    let counts = &mut counted.counts;
    scan_in_place(workspace, Sum, Scan::exclusive(0), &mut *counts)?;
    let squares = search.squares();
    let mut total = gpu.zeroed::<u32>(1)?;
    gpu.copy(counts.slice(squares..squares + 1)?, &mut total)?;
    let total = total.to_host()?[0];
    if total == 0 {
        return Ok(Vec::new());
    }
    // Zeroed, should somebody change the trees between the two launches.
    let mut hits = gpu.zeroed::<[u32; kernels::HIT]>(total as usize)?;
    search.launch(&gpu, &mut counted, Some(&mut hits))?;
    let tree = conditions[0].tree;
    let quadrant = |[row, column, size, min, max]: [u32; kernels::HIT]| Quadrant {
        row,
        column,
        size: size & !kernels::PARTLY,
        min: tree.value(min),
        max: tree.value(max),
        is_partly: size & kernels::PARTLY != 0,
    };
    let hits = hits.to_host()?;
    Ok(parallel::map(hits.len(), FINE, |i| quadrant(hits[i])))
}

/// A checked query.
pub(super) struct Search<'a> {
    conditions: &'a [Condition<'a>],
    /// For each, what it has in place of its raster.
    marks: Vec<Option<Column<u32>>>,
    pub grid: GridSpec,
    pub bits: u32,
    pub window: Window,
}

/// Refuses a tree whose cells are not those of the finest grid, joined two by two `levels` times. With such cells the
/// tree's nodes are those of a tree over the finest grid.
pub(super) fn require_aligned(own: &GridSpec, finest: &GridSpec, levels: u32) -> Result<()> {
    let sides =
        |grid: &GridSpec, by: u32| [grid.width, grid.height].map(|side| u64::from(side) << by);
    let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-3 * finest.cell_size;
    let scale = f64::from(1u32 << levels.min(30));
    let is_there = levels == 0
        || is_near(own.origin_x, finest.origin_x)
            && is_near(own.origin_y, finest.origin_y)
            && is_near(own.cell_size, finest.cell_size * scale);
    if is_there && sides(own, levels) == sides(finest, 0) {
        return Ok(());
    }
    let corners = |grid: &GridSpec| {
        let bounds = grid.bounds();
        [[bounds.min_x, bounds.max_y], [bounds.max_x, bounds.min_y]]
    };
    Err(Error::OnDevice {
        width: own.width,
        height: own.height,
        first_width: finest.width,
        first_height: finest.height,
        corners: corners(own),
        first_corners: corners(finest),
    })
}

/// The counts of a search.
pub(super) struct Counted {
    /// The quadrants of each square, and a zero.
    pub counts: Column<u32>,
    /// For each square, the cells that satisfy all conditions, and the undecided cells.
    pub cells: Column<u64>,
    /// The least and the greatest key of each square, if the caller wants them.
    pub bounds: Column<u32>,
    /// The squares in which the search goes on, and their number.
    listed: Column<u32>,
    listed_len: Column<u32>,
}

impl<'a> Search<'a> {
    /// `None` where there is no cell to search. Enqueues what makes marks.
    pub fn new(gpu: &Gpu, conditions: &'a [Condition<'a>], query: &Query) -> Result<Option<Self>> {
        if conditions.is_empty() || conditions.len() > MAX_CONDITIONS {
            let (conditions, most) = (conditions.len(), MAX_CONDITIONS);
            return Err(Error::Conditions { conditions, most });
        }
        let finer =
            |a: &'a dyn Searched, b: &'a dyn Searched| if b.bits() > a.bits() { b } else { a };
        let trees = conditions.iter().map(|condition| condition.tree);
        let lead = trees.reduce(finer).expect("there is a condition");
        let (grid, bits) = (*lead.grid(), lead.bits());
        for condition in conditions {
            let own = condition.tree.grid();
            require_aligned(own, &grid, bits - condition.tree.bits())?;
            if let Some(raster) = &condition.raster {
                same_sides("a raster", raster.grid(), own)?;
            }
            condition.range.map_or(Ok(()), check_range)?;
        }
        let Some(window) = query.window_in(&grid)? else { return Ok(None) };
        let marks = conditions.iter().map(|condition| condition.marks(gpu, &grid, bits));
        let marks = marks.collect::<Result<_>>()?;
        Ok(Some(Self { conditions, marks, grid, bits, window }))
    }

    /// Squares of 64 x 64 cells.
    pub fn squares(&self) -> usize {
        self.grid.width.div_ceil(64) as usize * self.grid.height.div_ceil(64) as usize
    }

    /// The counts, and the bounds if the caller wants them.
    pub fn count(&self, gpu: &Gpu, with_bounds: bool) -> Result<Counted> {
        let squares = self.squares();
        let words = squares * kernels::listed_words(self.instance());
        let mut counted = Counted {
            counts: gpu.zeroed(squares + 1)?,
            cells: gpu.zeroed(2 * squares)?,
            bounds: gpu.zeroed(if with_bounds { 2 * squares } else { 0 })?,
            // SAFETY: no more is read than was written, as its length says.
            listed: unsafe { gpu.uninitialized(words)? },
            listed_len: gpu.zeroed(1)?,
        };
        self.launch(gpu, &mut counted, None)?;
        Ok(counted)
    }

    /// Returns how many conditions the kernels that search are compiled for.
    pub fn instance(&self) -> usize {
        self.conditions.len().next_power_of_two()
    }

    /// Returns the search in the form that kernels take.
    pub fn question(&self) -> kernels::Question<'_> {
        // Kernels take more conditions than there are: the others are the first's tree with any value.
        let all = [0, u32::MAX];
        let any = kernels::Condition {
            inside: all,
            touched: all,
            wanted: all,
            ..self.conditions[0].asked(None)
        };
        let of = |i: usize| {
            let condition = self.conditions.get(i);
            condition.map_or(any, |condition| condition.asked(self.marks[i].as_ref()))
        };
        let conditions =
            kernels::Conditions { first: of(0), second: of(1), third: of(2), fourth: of(3) };
        let Window { row0, column0, row1, column1 } = self.window;
        let window = kernels::Window { row0, column0, row1, column1 };
        let GridSpec { width, height, .. } = self.grid;
        let ground = kernels::SearchGrid { width, height, bits: self.bits, window };
        kernels::Question { conditions, ground }
    }

    /// Whether a range cuts through bins of a tree and the caller gives no raster for it.
    pub fn lacks_raster(&self) -> bool {
        let cuts = |condition: &Condition<'_>| condition.cuts_bins() && condition.raster.is_none();
        self.conditions.iter().any(cuts)
    }

    /// Counts; with `out` writes.
    fn launch(
        &self,
        gpu: &Gpu,
        to: &mut Counted,
        out: Option<&mut Column<[u32; kernels::HIT]>>,
    ) -> Result<()> {
        let conditions = self.instance();
        let descend = kernels::descend::find(|&of| of == conditions);
        let search = kernels::search::find(|&of| of == conditions);
        let (question, squares) = (self.question(), self.squares() as u32);
        let room = out.as_ref().map_or(0, |out| out.len() as u32);
        let results = kernels::Results {
            counts: to.counts.output(),
            cells: to.cells.output(),
            bounds: (!to.bounds.is_empty()).then(|| to.bounds.output()),
            out: out.map(Column::output),
            room,
        };
        // SAFETY: the slices have the lengths that come with them; a raster is of its tree's sides and type. The other
        // slices are as long as the kernels need them.
        unsafe {
            let (listed, listed_len) = (to.listed.output(), to.listed_len.output());
            gpu.enqueue(
                descend.expect("an instance for each"),
                Blocks::x(squares.div_ceil(kernels::BLOCK as u32)),
                kernels::descend::Args { question, results, listed, listed_len },
            )?;
            let (listed, listed_len) = (to.listed.input(), to.listed_len.input());
            gpu.enqueue(
                search.expect("an instance for each"),
                Blocks::x(squares.min(MAX_BLOCKS)),
                kernels::search::Args { question, results, listed, listed_len },
            )?;
        }
        Ok(())
    }
}
