//! Searches on the device.

use std::sync::Arc;

use gpu_core::{Blocks, Column, Gpu, GridSlice, GridSpec};
use gpu_scan::gpu::{Workspace, reduce, scan_in_place};
use gpu_scan::{Scan, Sum};
use kernels_rs::ccq::query as kernels;

use super::{DeviceCell, DeviceTree};
use crate::cell::{Ranges, exact_key};
use crate::params::{Window, check_range};
use crate::query::same_sides;
use crate::{Error, Quadrant, Query, Result};

/// The most conditions of a query on a device.
pub const MAX_CONDITIONS: usize = kernels::MAX_CONDITIONS;

/// All conditions of a search, as kernels take them.
pub(super) type Words = [u32; kernels::ALL_WORDS];

/// Blocks that search, which the largest devices have room for at once.
const MOST_BLOCKS: u32 = 2048;

/// What is asked of one raster on the device: see [`crate::Condition`].
#[derive(Clone)]
pub struct Condition<'a> {
    tree: &'a dyn Searched,
    range: Option<(f64, f64)>,
    /// Instead of a range, what it would mean for keys.
    keys: Option<Ranges>,
    raster: Option<Arc<dyn Looked + 'a>>,
}

impl<'a> Condition<'a> {
    /// Any value of a tree's raster.
    pub fn new<T: DeviceCell>(tree: &'a DeviceTree<T>) -> Self {
        Self { tree, range: None, keys: None, raster: None }
    }

    /// Only values from `low` on and below `high`.
    #[must_use]
    pub fn range(self, low: f64, high: f64) -> Self {
        Self { range: Some((low, high)), ..self }
    }

    /// The raster that the tree was built from, which is of its type.
    #[must_use]
    pub fn raster<T: DeviceCell>(self, raster: impl Into<GridSlice<'a, T>>) -> Self {
        Self { raster: Some(Arc::new(raster.into())), ..self }
    }
}

impl Condition<'_> {
    /// Only values of these keys.
    pub(super) fn keys(self, keys: Ranges) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// Where its tree's raster lies.
    pub(super) fn grid(&self) -> &GridSpec {
        self.tree.grid()
    }

    fn ranges(&self) -> Ranges {
        let of_range = || self.range.map_or(Ranges::ALL, |range| self.tree.ranges(range));
        self.keys.unwrap_or_else(of_range)
    }

    /// As the kernel takes it, and what holds its memory in order with the handle's stream.
    fn admitted(&self, gpu: &Gpu) -> Result<(kernels::Condition, Vec<Box<dyn Held + '_>>)> {
        let Ranges { inside, touched, raw } = self.ranges();
        let nodata = self.tree.nodata();
        let mut asked = kernels::Condition {
            nodes: 0,
            presence: 0,
            raster: 0,
            kind: self.tree.kind(),
            nodes_len: 0,
            presence_len: 0,
            inside: (inside.0, inside.1),
            touched: (touched.0, touched.1),
            wanted: (raw.0, raw.1),
            has_nodata: u32::from(nodata.is_some()),
            nodata: nodata.unwrap_or(0),
        };
        let mut held = vec![self.tree.admit(gpu, &mut asked)?];
        if let Some(raster) = &self.raster {
            held.push(raster.admit(gpu, &mut asked)?);
        }
        Ok((asked, held))
    }
}

/// Whatever is held while a query is enqueued.
pub(super) trait Held {}
impl<T> Held for T {}

/// A tree of any type.
trait Searched {
    fn grid(&self) -> &GridSpec;
    fn bits(&self) -> u32;
    fn kind(&self) -> u32;
    /// Its nodes and flags, in order with the handle's stream while the first lives.
    fn admit<'a>(&'a self, gpu: &Gpu, to: &mut kernels::Condition) -> Result<Box<dyn Held + 'a>>;
    fn ranges(&self, range: (f64, f64)) -> Ranges;
    fn nodata(&self) -> Option<u32>;
    fn value(&self, key: u32) -> f64;
}

impl<T: DeviceCell> Searched for DeviceTree<T> {
    fn grid(&self) -> &GridSpec {
        &self.grid
    }

    fn bits(&self) -> u32 {
        self.bits
    }

    fn kind(&self) -> u32 {
        T::KIND
    }

    fn admit<'a>(&'a self, gpu: &Gpu, to: &mut kernels::Condition) -> Result<Box<dyn Held + 'a>> {
        let nodes = gpu.admit(&self.nodes)?;
        let presence = gpu.admit(&self.presence)?;
        to.nodes = nodes.as_ptr() as u64;
        to.nodes_len = nodes.len() as u32;
        to.presence = presence.as_ptr() as u64;
        to.presence_len = presence.len() as u32;
        Ok(Box::new((nodes, presence)))
    }

    fn ranges(&self, range: (f64, f64)) -> Ranges {
        Ranges::of::<T>(range, &self.params.bins)
    }

    fn nodata(&self) -> Option<u32> {
        self.params.nodata.and_then(exact_key::<T>)
    }

    fn value(&self, key: u32) -> f64 {
        T::of_key(key).to_f64()
    }
}

/// A raster of any type.
trait Looked {
    fn grid(&self) -> &GridSpec;
    fn kind(&self) -> u32;
    fn admit<'a>(&'a self, gpu: &Gpu, to: &mut kernels::Condition) -> Result<Box<dyn Held + 'a>>;
}

impl<T: DeviceCell> Looked for GridSlice<'_, T> {
    fn grid(&self) -> &GridSpec {
        GridSlice::grid(self)
    }

    fn kind(&self) -> u32 {
        T::KIND
    }

    fn admit<'a>(&'a self, gpu: &Gpu, to: &mut kernels::Condition) -> Result<Box<dyn Held + 'a>> {
        let values = gpu.admit(self.values())?;
        to.raster = values.as_ptr() as u64;
        Ok(Box::new(values))
    }
}

/// The numbers of quadrants, of cells that satisfy all conditions, and of cells of which no raster says, as
/// [`count`](crate::count) gives them on the host: three numbers in device memory. Enqueues and returns; after one call
/// it can be captured.
///
/// # Errors
/// As [`count`](crate::count); conditions are at most [`MAX_CONDITIONS`].
pub fn count(
    workspace: &mut Workspace,
    conditions: &[Condition<'_>],
    query: &Query,
) -> Result<Column<u64>> {
    let gpu = workspace.gpu().clone();
    let mut sums = gpu.zeroed::<u64>(3)?;
    let Some(search) = Search::new(conditions, query)? else { return Ok(sums) };
    let squares = search.squares();
    let Counted { counts, cells, .. } = search.count(&gpu, false)?;
    let mut total = gpu.zeroed::<u32>(1)?;
    reduce(workspace, Sum, counts.slice(0..squares)?, &mut total)?;
    reduce(workspace, Sum, cells.slice(0..squares)?, sums.slice_mut(1..2)?)?;
    reduce(workspace, Sum, cells.slice(squares..2 * squares)?, sums.slice_mut(2..3)?)?;
    let arguments = kernels::widen::Args { from: total.as_ptr(), to: sums.as_mut_ptr() };
    // SAFETY: both have an element.
    unsafe { gpu.enqueue(kernels::widen, Blocks::x(1), arguments)? };
    Ok(sums)
}

/// The quadrants whose cells satisfy all conditions, as [`quadrants`](crate::quadrants) gives them on the host, in Z-order.
/// Waits for their number, and for the quadrants, which are the host's; so it cannot be captured.
///
/// # Errors
/// As [`quadrants`](crate::quadrants); conditions are at most [`MAX_CONDITIONS`].
pub fn quadrants(
    workspace: &mut Workspace,
    conditions: &[Condition<'_>],
    query: &Query,
) -> Result<Vec<Quadrant>> {
    let gpu = workspace.gpu().clone();
    gpu.refuse_in_capture("the number of quadrants")?;
    let Some(search) = Search::new(conditions, query)? else { return Ok(Vec::new()) };
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
    search.launch(&gpu, &mut counted, hits.as_mut_ptr().cast(), total)?;
    let tree = conditions[0].tree;
    let quadrant = |[row, column, size, min, max]: [u32; kernels::HIT]| Quadrant {
        row,
        column,
        size: size & !kernels::PARTLY,
        min: tree.value(min),
        max: tree.value(max),
        is_partly: size & kernels::PARTLY != 0,
    };
    Ok(hits.to_host()?.into_iter().map(quadrant).collect())
}

/// A checked query.
pub(super) struct Search<'a> {
    conditions: &'a [Condition<'a>],
    pub grid: GridSpec,
    pub bits: u32,
    pub window: Window,
}

/// What a search counts.
pub(super) struct Counted {
    /// The quadrants of each square, and a zero.
    pub counts: Column<u32>,
    /// The cells of each that satisfy all, and those in doubt.
    pub cells: Column<u64>,
    /// The least key of each, and the greatest; or none.
    pub bounds: Column<u32>,
    /// The squares in which the search goes on, and their number.
    listed: Column<u32>,
    listed_len: Column<u32>,
}

impl<'a> Search<'a> {
    /// `None` where there is no cell to search.
    pub fn new(conditions: &'a [Condition<'a>], query: &Query) -> Result<Option<Self>> {
        if conditions.is_empty() || conditions.len() > MAX_CONDITIONS {
            let (conditions, most) = (conditions.len(), MAX_CONDITIONS);
            return Err(Error::Conditions { conditions, most });
        }
        let (grid, bits) = (*conditions[0].tree.grid(), conditions[0].tree.bits());
        for condition in conditions {
            same_sides("a tree", condition.tree.grid(), &grid)?;
            if let Some(raster) = &condition.raster {
                same_sides("a raster", raster.grid(), &grid)?;
                if raster.kind() != condition.tree.kind() {
                    return Err(Error::OtherType);
                }
            }
            condition.range.map_or(Ok(()), check_range)?;
        }
        let window = query.window_in(&grid)?;
        Ok(window.map(|window| Self { conditions, grid, bits, window }))
    }

    /// Squares of 64 x 64 cells.
    pub fn squares(&self) -> usize {
        self.grid.width.div_ceil(64) as usize * self.grid.height.div_ceil(64) as usize
    }

    /// Counts; with their bounds, if these are wanted.
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
        self.launch(gpu, &mut counted, std::ptr::null_mut(), 0)?;
        Ok(counted)
    }

    /// How many conditions the kernels have that search.
    pub fn instance(&self) -> usize {
        self.conditions.len().next_power_of_two()
    }

    /// The conditions as kernels take them, of which there are more: the others are the first's tree with any value. And
    /// what holds their memory in order with the handle's stream.
    pub fn words(&self, gpu: &Gpu) -> Result<(Words, Vec<Box<dyn Held + '_>>)> {
        let first = &self.conditions[0];
        let mut words = [0; kernels::ALL_WORDS];
        let mut held = Vec::new();
        for (i, to) in words.as_chunks_mut::<{ kernels::WORDS }>().0.iter_mut().enumerate() {
            let condition = self.conditions.get(i).unwrap_or(first);
            let (mut asked, holding) = condition.admitted(gpu)?;
            if i >= self.conditions.len() {
                let all = (0, u32::MAX);
                (asked.inside, asked.touched, asked.wanted) = (all, all, all);
            }
            *to = asked.words();
            held.extend(holding);
        }
        Ok((words, held))
    }

    /// The window as kernels take it.
    pub fn window_words(&self) -> [u32; 4] {
        let Window { row0, column0, row1, column1 } = self.window;
        [row0, column0, row1, column1]
    }

    /// Whether a range cuts through bins of a tree whose raster is not given.
    pub fn lacks_raster(&self) -> bool {
        let cuts = |condition: &Condition<'_>| {
            let Ranges { inside, touched, .. } = condition.ranges();
            inside != touched && condition.raster.is_none()
        };
        self.conditions.iter().any(cuts)
    }

    /// Counts; with `out` writes.
    fn launch(&self, gpu: &Gpu, to: &mut Counted, out: *mut u32, room: u32) -> Result<()> {
        let (conditions, held) = self.words(gpu)?;
        let (down, search) = match self.instance() {
            1 => (kernels::descend::one, kernels::search::one),
            2 => (kernels::descend::two, kernels::search::two),
            _ => (kernels::descend::four, kernels::search::four),
        };
        let (width, height, bits) = (self.grid.width, self.grid.height, self.bits);
        let window = self.window_words();
        let bounds = match to.bounds.is_empty() {
            true => std::ptr::null_mut(),
            false => to.bounds.as_mut_ptr(),
        };
        let (counts, cells) = (to.counts.as_mut_ptr(), to.cells.as_mut_ptr());
        let (listed, listed_len) = (to.listed.as_mut_ptr(), to.listed_len.as_mut_ptr());
        let squares = self.squares() as u32;
        // SAFETY: trees and rasters are admitted, with their lengths; a raster is of its tree's sides and type. The
        // other arrays are as long as the kernels need them; `out` is null or has the room.
        unsafe {
            gpu.enqueue(
                down,
                Blocks::x(squares.div_ceil(kernels::BLOCK as u32)),
                kernels::descend::Args {
                    conditions,
                    width,
                    height,
                    bits,
                    window,
                    counts,
                    cells,
                    bounds,
                    out,
                    room,
                    listed,
                    listed_len,
                },
            )?;
            gpu.enqueue(
                search,
                Blocks::x(squares.min(MOST_BLOCKS)),
                kernels::search::Args {
                    conditions,
                    width,
                    height,
                    bits,
                    window,
                    counts,
                    cells,
                    bounds,
                    out,
                    room,
                    listed: listed.cast_const(),
                    listed_len: listed_len.cast_const(),
                },
            )?;
        }
        drop(held);
        Ok(())
    }
}
