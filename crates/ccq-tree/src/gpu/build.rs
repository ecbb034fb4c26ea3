//! The build on the device: the steps, each a launch.

use gpu_core::{Blocks, Column, Gpu, GridSlice};
use gpu_scan::gpu::{Workspace, scan_in_place};
use gpu_scan::{Scan, Sum};
use kernels_rs::ccq::LEVELS;
use kernels_rs::ccq::build::{self as kernels, Counted as Counts, Counting, reduce, write};
use kernels_rs::ccq::plan::{Tier, tiers};
use kernels_rs::ccq::source::{Cells, Squares};
use kernels_rs::ccq::summary::Binning;
use kernels_rs::ccq::writer::Nodes;

use super::DeviceTree;
use super::tree::{DeviceForest, Levels};
use crate::forest::Tiling;
use crate::tree::Node;
use crate::{Cell, Error, MAX_NODES, Params, Result};

/// The most cells of a raster that is built at once on a device: positions are counted in 32 bits.
const MAX_CELLS: u64 = 3 << 30;

/// Returns the [tree](crate::build()) of a raster in device memory. Waits once, when nodes are counted, for their number: what
/// it gives has as many. So it cannot be captured; [`build_with_capacity`] can.
///
/// A raster whose rows all begin at multiples of 16 bytes (of 8 for `u8`) is read faster.
///
/// Example: see [`build`](crate::build()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// The errors of [`build`](crate::build()); [`Error::TooLarge`] also for more than 3 * 2^30 cells.
pub fn build<'a, T: Cell>(
    workspace: &mut Workspace,
    raster: impl Into<GridSlice<'a, T>>,
    params: &Params,
) -> Result<DeviceTree<T>> {
    let raster = raster.into();
    let tiling = Tiling::whole(*raster.grid())?;
    build_tiles(workspace, raster, tiling, params)?.into_single()
}

/// Returns the [trees](crate::build_forest()) of a raster's tiles, all in as many launches as one. Waits once, as [`build`]
/// does.
///
/// ```
/// use ccq_tree::Params;
/// use ccq_tree::gpu::{Workspace, build_forest};
/// use gpu_core::{DeviceChoice, DeviceGrid, Gpu, Grid, GridSpec};
///
/// # fn main() -> Result<(), ccq_tree::Error> {
/// # let gpu = Gpu::open(DeviceChoice::Software)?;
/// # let mut workspace = Workspace::new(&gpu)?;
/// let raster = Grid::new((0u16..128 * 64).collect(), GridSpec::of_pixels(128, 64))?; // row by row
/// let raster = DeviceGrid::upload(&gpu, raster.view())?;
/// let forest = build_forest(&mut workspace, &raster, 64, &Params::new())?;
/// assert_eq!(forest.tiles(), (2, 1));
/// let whole = forest.merge(&mut workspace)?.to_host()?;
/// assert_eq!((whole.nodes()[0].min(), whole.nodes()[0].max()), (0, 128 * 64 - 1));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The errors of [`build`], and [`Error::TileSide`].
pub fn build_forest<'a, T: Cell>(
    workspace: &mut Workspace,
    raster: impl Into<GridSlice<'a, T>>,
    tile_side: u32,
    params: &Params,
) -> Result<DeviceForest<T>> {
    let raster = raster.into();
    let tiling = Tiling::new(*raster.grid(), tile_side)?;
    build_tiles(workspace, raster, tiling, params)
}

/// The trees of a raster's tiles, whose roots stand for 2^bits cells on a side also where the raster is smaller.
pub(super) fn build_of_bits<T: Cell>(
    workspace: &mut Workspace,
    raster: GridSlice<'_, T>,
    bits: u32,
    params: &Params,
) -> Result<DeviceForest<T>> {
    build_tiles(workspace, raster, Tiling::of_bits(*raster.grid(), bits)?, params)
}

/// A tree whose caller gave the capacity for its nodes before their number was known.
///
/// Example: see [`build_with_capacity`].
#[derive(Debug)]
pub struct Bounded<T: Cell> {
    tiling: Tiling,
    params: Params,
    nodes: Column<Node<T>>,
    presence: Column<u8>,
    levels: Option<Levels>,
}

/// Returns the tree of a raster of at most `capacity` nodes. Enqueues and returns; after one call it can be captured.
///
/// ```
/// use ccq_tree::gpu::{Workspace, build_with_capacity};
/// use ccq_tree::{Error, Params};
/// use gpu_core::{DeviceChoice, DeviceGrid, Gpu, Grid, GridSpec};
///
/// # fn main() -> Result<(), ccq_tree::Error> {
/// # let gpu = Gpu::open(DeviceChoice::Software)?;
/// # let mut workspace = Workspace::new(&gpu)?;
/// let raster = Grid::new(vec![1u8, 1, 7, 3, 1, 1, 5, 7], GridSpec::of_pixels(4, 2))?;
/// let raster = DeviceGrid::upload(&gpu, raster.view())?;
/// let few = build_with_capacity(&mut workspace, &raster, &Params::new(), 2)?;
/// assert!(matches!(few.finish(), Err(Error::Capacity { .. })));
/// let tree = build_with_capacity(&mut workspace, &raster, &Params::new(), 100)?.finish()?;
/// assert_eq!(tree.to_host()?.nodes()[0].max(), 7);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The errors of [`build`], but for the number of nodes.
pub fn build_with_capacity<'a, T: Cell>(
    workspace: &mut Workspace,
    raster: impl Into<GridSlice<'a, T>>,
    params: &Params,
    capacity: usize,
) -> Result<Bounded<T>> {
    let raster = raster.into();
    let tiling = Tiling::whole(*raster.grid())?;
    params.check()?;
    let gpu = workspace.gpu().clone();
    let lacks = params.may_lack_values::<T>();
    // SAFETY: of both arrays only the beginning is read, which the kernels write.
    let mut nodes = unsafe { gpu.uninitialized::<Node<T>>(capacity)? };
    // SAFETY: likewise.
    let mut presence = unsafe { gpu.uninitialized::<u8>(if lacks { capacity } else { 0 })? };
    let mut levels = None;
    if raster.grid().cells() > 0 {
        let counted = Counted::new(workspace, raster, tiling, params)?;
        levels = Some(counted.levels(&gpu)?);
        counted.write(&gpu, &mut nodes, &mut presence)?;
    }
    Ok(Bounded { tiling, params: params.clone(), nodes, presence, levels })
}

impl<T: Cell> Bounded<T> {
    /// Returns the tree, if its nodes fit the capacity. Waits for it. The tree keeps the memory of all of the capacity.
    ///
    /// # Errors
    /// [`Error::Capacity`] with the number of nodes that there are.
    pub fn finish(self) -> Result<DeviceTree<T>> {
        let Self { tiling, params, nodes, presence, levels } = self;
        let starts = match levels {
            Some(levels) => levels.to_host(tiling.bits)?,
            None => vec![vec![0; tiling.bits as usize + 2]],
        };
        let total = starts[0].last().copied().unwrap_or(0);
        if total > nodes.len() as u64 {
            return Err(Error::Capacity { nodes: total, capacity: nodes.len() as u64 });
        }
        DeviceForest { tiling, params, starts, nodes, presence }.into_single()
    }
}

fn build_tiles<T: Cell>(
    workspace: &mut Workspace,
    raster: GridSlice<'_, T>,
    tiling: Tiling,
    params: &Params,
) -> Result<DeviceForest<T>> {
    params.check()?;
    let gpu = workspace.gpu().clone();
    gpu.refuse_in_capture("the number of a tree's nodes")?;
    if raster.grid().cells() == 0 {
        let tiles = tiling.columns as usize * tiling.rows as usize;
        let starts = vec![vec![0; tiling.bits as usize + 2]; tiles];
        let (nodes, presence) = (gpu.zeroed(0)?, gpu.zeroed(0)?);
        return Ok(DeviceForest { tiling, params: params.clone(), starts, nodes, presence });
    }
    let counted = Counted::new(workspace, raster, tiling, params)?;
    let starts = counted.levels(&gpu)?.to_host(tiling.bits)?;
    let sum = |of: &dyn Fn(&Vec<u64>) -> u64| starts.iter().map(of).sum::<u64>();
    let total = sum(&|levels| levels[levels.len() - 1]);
    if total > MAX_NODES {
        return Err(Error::TooManyNodes { nodes: total, most: MAX_NODES });
    }
    // A single tree leaves out the flags of the cells, which come last.
    let flags = if starts.len() == 1 { starts[0][tiling.bits as usize] } else { total };
    let flags = if params.may_lack_values::<T>() { flags } else { 0 };
    // SAFETY: the kernels write every node, and with it its flags.
    let mut nodes = unsafe { gpu.uninitialized::<Node<T>>(total as usize)? };
    // SAFETY: likewise.
    let mut presence = unsafe { gpu.uninitialized::<u8>(flags as usize)? };
    counted.write(&gpu, &mut nodes, &mut presence)?;
    Ok(DeviceForest { tiling, params: params.clone(), starts, nodes, presence })
}

/// The bins of a call, on the device.
struct Bins {
    binning: Binning,
    steps: Column<u32>,
}

impl Bins {
    fn new<T: Cell>(gpu: &Gpu, params: &Params) -> Result<Self> {
        let (binning, mut host) = params.binning::<T>();
        host.resize(host.len().next_multiple_of(kernels::STEPS), u32::MAX);
        // SAFETY: written below.
        let mut steps = unsafe { gpu.uninitialized::<u32>(host.len())? };
        for (i, chunk) in host.as_chunks().0.iter().enumerate() {
            let first = (i * kernels::STEPS) as u32;
            let out = steps.output();
            let arguments = kernels::put_steps::Args { out, first, steps: *chunk };
            // SAFETY: there are as many elements as chunks have.
            unsafe { gpu.enqueue(kernels::put_steps, Blocks::x(1), arguments)? };
        }
        Ok(Self { binning, steps })
    }

    /// A raster's cells, as kernels take them.
    fn cells<'a, T>(&'a self, raster: GridSlice<'a, T>) -> Cells<'a, T> {
        let (input, steps) = (raster.values().input(), self.steps.input());
        Cells { input, binning: self.binning, steps }
    }
}

/// A raster whose nodes are counted.
struct Counted<'a, T> {
    raster: GridSlice<'a, T>,
    tiers: Vec<Tier>,
    trees: u32,
    bins: Bins,
    /// The patches of the divided squares of cells.
    patches: Column<u32>,
    /// The elements above each tier, a summary of three words each.
    elements: Vec<Column<[u32; 3]>>,
    /// Where the nodes of each level of each square begin, and after the last their number.
    starts: Column<u32>,
}

impl<'a, T: Cell> Counted<'a, T> {
    fn new(
        workspace: &mut Workspace,
        raster: GridSlice<'a, T>,
        tiling: Tiling,
        params: &Params,
    ) -> Result<Self> {
        let (width, height) = (raster.grid().width, raster.grid().height);
        if raster.grid().cells() > MAX_CELLS {
            return Err(Error::TooLarge { width, height });
        }
        let tiers = tiers(width, height, tiling.bits);
        let slots = tiling.slots(&tiers)? as usize;
        let gpu = workspace.gpu().clone();
        let bins = Bins::new::<T>(&gpu, params)?;
        // Zero where tiles have no squares.
        let mut starts = gpu.zeroed::<u32>(slots + 1)?;
        let mut elements: Vec<Column<[u32; 3]>> = Vec::new();
        let squares = tiers[0].squares();
        let mut patches =
            // SAFETY: the kernel writes those of squares that are divided, and no others are read.
            unsafe { gpu.uninitialized::<u32>(squares as usize * kernels::PATCH_WORDS as usize)? };
        for (t, tier) in tiers.iter().enumerate() {
            // SAFETY: the kernel writes every element.
            let mut out = unsafe { gpu.uninitialized::<[u32; 3]>(tier.squares() as usize)? };
            // SAFETY: the tier is that of the raster, and then of the elements before; a summary is three words.
            unsafe {
                let (above, counts) = (out.output().cast(), starts.output());
                let (tier, counting) = (*tier, Counting { elements: above, counts });
                match t.checked_sub(1) {
                    None => {
                        let (cells, patches) = (bins.cells(raster), patches.output());
                        let arguments = reduce::Args { cells, tier, counting, patches };
                        let blocks = Blocks::x(squares.div_ceil(kernels::SQUARES));
                        gpu.enqueue(<T as reduce::Instance>::KERNEL, blocks, arguments)?;
                    }
                    Some(below) => {
                        let squares = Squares { input: elements[below].input().cast() };
                        let arguments = kernels::reduce_squares::Args { squares, tier, counting };
                        gpu.enqueue(kernels::reduce_squares, Blocks::x(tier.squares()), arguments)?;
                    }
                }
            }
            elements.push(out);
        }
        scan_in_place(workspace, Sum, Scan::exclusive(0), &mut starts)?;
        let trees = tiling.columns * tiling.rows;
        Ok(Self { raster, tiers, trees, bins, patches, elements, starts })
    }

    /// Where the levels of each tree begin.
    fn levels(&self, gpu: &Gpu) -> Result<Levels> {
        let mut slots = [0; kernels::MAX_LEVELS];
        let in_tree = self.tiers.iter().rev().flat_map(|tier| {
            (tier.first_level..=LEVELS)
                .map(move |level| tier.counts + (level - tier.first_level) * tier.stride)
        });
        let mut levels = 0;
        for (to, slot) in slots.iter_mut().zip(in_tree) {
            *to = slot;
            levels += 1;
        }
        let count = self.trees as usize * levels as usize + 1;
        // SAFETY: the kernel writes all.
        let mut out = unsafe { gpu.uninitialized::<u32>(count)? };
        let arguments = kernels::find_levels::Args {
            starts: self.starts.input(),
            end: self.starts.len() as u64 - 1,
            stride: self.tiers[0].tree_stride,
            slots,
            levels,
            trees: self.trees,
            out: out.output(),
        };
        let blocks = Blocks::for_each(&kernels::find_levels, self.trees.into())?;
        // SAFETY: lengths are as the kernel needs them.
        unsafe { gpu.enqueue(kernels::find_levels, blocks, arguments)? };
        Ok(Levels { starts: out })
    }

    /// Writes the nodes, and which children there are, as far as there is room.
    fn write(
        &self,
        gpu: &Gpu,
        nodes: &mut Column<Node<T>>,
        presence: &mut Column<u8>,
    ) -> Result<()> {
        let nodes = Nodes {
            kind: T::KIND,
            room: nodes.len() as u32,
            // SAFETY: a node is words: two, or three where values have 32 bits.
            words: unsafe { nodes.output().cast() },
            presence_room: presence.len() as u32,
            presence: presence.output(),
        };
        for (t, tier) in self.tiers.iter().enumerate().rev() {
            // SAFETY: as where they were counted; rooms are the columns' lengths.
            unsafe {
                let (elements, starts) = (self.elements[t].input().cast(), self.starts.input());
                let (tier, counted) = (*tier, Counts { elements, starts });
                match t.checked_sub(1) {
                    None => {
                        let (cells, patches) = (self.bins.cells(self.raster), self.patches.input());
                        let arguments = write::Args { cells, tier, counted, patches, nodes };
                        let blocks = Blocks::x(tier.squares().div_ceil(kernels::SQUARES));
                        gpu.enqueue(<T as write::Instance>::KERNEL, blocks, arguments)?;
                    }
                    Some(below) => {
                        let squares = Squares { input: self.elements[below].input().cast() };
                        let below = self.tiers[below];
                        let arguments =
                            kernels::write_squares::Args { squares, tier, below, counted, nodes };
                        gpu.enqueue(kernels::write_squares, Blocks::x(tier.squares()), arguments)?;
                    }
                }
            }
        }
        Ok(())
    }
}
