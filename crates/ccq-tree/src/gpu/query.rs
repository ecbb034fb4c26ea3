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
pub const MAX_CONDITIONS: usize = 4;

/// What is asked of one raster on the device: see [`crate::Condition`].
#[derive(Clone)]
pub struct Condition<'a> {
    tree: &'a dyn Searched,
    range: Option<(f64, f64)>,
    raster: Option<Arc<dyn Looked + 'a>>,
}

impl<'a> Condition<'a> {
    /// Any value of a tree's raster.
    pub fn new<T: DeviceCell>(tree: &'a DeviceTree<T>) -> Self {
        Self { tree, range: None, raster: None }
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
    /// As the kernel takes it, and what holds its memory in order with the handle's stream.
    fn admitted(&self, gpu: &Gpu) -> Result<(kernels::Condition, Vec<Box<dyn Held + '_>>)> {
        let Ranges { inside, touched, raw } =
            self.range.map_or(Ranges::ALL, |range| self.tree.ranges(range));
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
trait Held {}
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
    let Counted { counts, cells } = search.count(&gpu)?;
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
    let Counted { mut counts, .. } = search.count(&gpu)?;
    scan_in_place(workspace, Sum, Scan::exclusive(0), &mut counts)?;
    let squares = search.squares();
    let mut total = gpu.zeroed::<u32>(1)?;
    gpu.copy(counts.slice(squares..squares + 1)?, &mut total)?;
    let total = total.to_host()?[0];
    if total == 0 {
        return Ok(Vec::new());
    }
    // Zeroed, should somebody change the trees between the two launches.
    let mut hits = gpu.zeroed::<[u32; kernels::HIT]>(total as usize)?;
    let (out, no_cells) = (hits.as_mut_ptr().cast(), std::ptr::null_mut());
    search.launch(&gpu, counts.as_mut_ptr(), no_cells, out, total)?;
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
struct Search<'a> {
    conditions: &'a [Condition<'a>],
    grid: GridSpec,
    bits: u32,
    window: Window,
}

/// What a search counts: the quadrants of each square and a zero; the cells that satisfy all, and those in doubt.
struct Counted {
    counts: Column<u32>,
    cells: Column<u64>,
}

impl<'a> Search<'a> {
    /// `None` where there is no cell to search.
    fn new(conditions: &'a [Condition<'a>], query: &Query) -> Result<Option<Self>> {
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
    fn squares(&self) -> usize {
        self.grid.width.div_ceil(64) as usize * self.grid.height.div_ceil(64) as usize
    }

    fn count(&self, gpu: &Gpu) -> Result<Counted> {
        let squares = self.squares();
        let mut counts = gpu.zeroed::<u32>(squares + 1)?;
        let mut cells = gpu.zeroed::<u64>(2 * squares)?;
        self.launch(gpu, counts.as_mut_ptr(), cells.as_mut_ptr(), std::ptr::null_mut(), 0)?;
        Ok(Counted { counts, cells })
    }

    fn launch(
        &self,
        gpu: &Gpu,
        counts: *mut u32,
        cells: *mut u64,
        out: *mut u32,
        room: u32,
    ) -> Result<()> {
        let mut held = Vec::new();
        let mut words = Vec::new();
        for condition in self.conditions {
            let (asked, holding) = condition.admitted(gpu)?;
            words.push(asked.words());
            held.push(holding);
        }
        // The kernels have one, two or four: the last are the first tree's again, of which any value will do.
        let any = Condition { range: None, raster: None, tree: self.conditions[0].tree };
        let (asked, holding) = any.admitted(gpu)?;
        words.resize(MAX_CONDITIONS, asked.words());
        let kernel = match self.conditions.len() {
            1 => kernels::search::one,
            2 => kernels::search::two,
            _ => kernels::search::four,
        };
        let Window { row0, column0, row1, column1 } = self.window;
        let arguments = kernels::search::Args {
            first: words[0],
            second: words[1],
            third: words[2],
            fourth: words[3],
            width: self.grid.width,
            height: self.grid.height,
            bits: self.bits,
            window: [row0, column0, row1, column1],
            counts,
            cells,
            out,
            room,
        };
        // SAFETY: trees and rasters are admitted, with their lengths; a raster is of its tree's sides and type. The
        // callers' arrays are as the kernel needs them.
        unsafe { gpu.enqueue(kernel, Blocks::x(self.squares() as u32), arguments)? };
        drop((held, holding));
        Ok(())
    }
}
