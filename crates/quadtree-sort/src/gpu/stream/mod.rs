//! Builds with little device memory: ranges of cells pass through it, each complete, so that nothing needs merging.
//!
//! 1. The host counts the points of cells, and divides cells with many points, until each has few ([`cells`]).
//! 2. Cells that follow each other in the order of codes make a batch of as many points as the budget allows.
//!    [`scatter`] moves the points of every batch, in the order as given, to their range in the tree's columns. So the
//!    build takes only two bytes of host memory a point in addition to the tree's own columns.
//! 3. The device builds the tree over each batch, by the same steps as [`build()`](super::build()), and the columns
//!    come back in order to the same place. While the device builds one batch, the two previous batches are copied out
//!    and the next is copied in. With only one being copied out, its copies would end before the build, and the bus
//!    would idle.
//! 4. The nodes of all batches, level by level, are the tree's. The host completes them from the part that the device
//!    returns ([`join`]). A cell that several batches share is a node of each batch, but one node of the tree.
//!
//! A batch knows the cells that it begins and ends with. It divides the cells above these as the whole tree does, even
//! if it has few points of such a cell. Every other cell has all of its points in the batch or none. So the batch's
//! nodes equal the whole tree's nodes over its points.

mod cells;
mod code;
mod join;
mod scatter;

use std::collections::VecDeque;

use gpu_core::{Blocks, Bounds, Column, Copying, Gpu, Points, Progress, SliceMut, host_memory};
use gpu_scan::gpu::gather;
use kernels_rs::quadtree as kernels;
use kernels_rs::spatial::frame::Frame;

use self::cells::{Batch, Keys};
use self::join::{Brief, Briefs, Piece};
use self::scatter::{Columns, scatter};
use super::build::{Call, Share};
use super::{DeviceQuadtree, SHORT_LEVEL, Workspace};
use crate::array::take;
use crate::tree::Node;
use crate::{Error, Method, Outside, Params, Quadtree, Result, cpu};

/// Batches on the device as they are given: the one that is built, and one that is copied in.
const INPUTS: usize = 2;

/// Batches that are copied out while another is built.
const GOING: usize = 2;

/// Bytes of device memory for each point of a batch, beside nodes. The batch as given takes 20, as it is built 72, its
/// order as given 4, and as it is copied out 20.
const POINT_BYTES: u64 = (20 * INPUTS + 72 + 4 + 20 * GOING) as u64;

/// Bytes of device memory beside the points.
const FIXED_BYTES: u64 = 1 << 20;

/// The least points of a batch that are worth a launch.
const LEAST_BATCH: u64 = 1024;

/// The most points of a batch. A larger batch would not be copied faster, and no other batch could be copied beside it.
const MAX_BATCH: u64 = 1 << 24;

/// The most batches when each has the least size: the host numbers batches by 16 bits.
const MAX_BATCHES: u64 = 1 << 14;

/// A batch is made of cells with at most this part of its points.
const CELLS_OF_BATCH: u64 = 4;

/// Nodes for each threshold of points that a build allocates at first: most trees have fewer.
const USUAL_NODES: u64 = 6;

/// How many nodes a batch usually has, at most.
fn usual_nodes(points: u64, params: &Params) -> u64 {
    (USUAL_NODES * points).div_ceil(params.threshold.into())
}

/// The most points of a batch under a budget.
fn capacity(points: usize, params: &Params, budget: u64) -> Result<u64> {
    // Memory for nodes while they are made, and for the copies of them and of the batches before.
    let of_nodes = USUAL_NODES * (size_of::<Node>() + (1 + GOING) * size_of::<Brief>()) as u64;
    let of_nodes = of_nodes.div_ceil(params.threshold.into());
    let of_point = POINT_BYTES + of_nodes;
    let least = FIXED_BYTES + of_point * LEAST_BATCH.max((points as u64).div_ceil(MAX_BATCHES));
    if budget < least {
        return Err(Error::Budget { bytes: budget, least });
    }
    Ok(((budget - FIXED_BYTES) / of_point).min(MAX_BATCH))
}

/// See [`crate::build_within`].
pub(crate) fn build(
    gpu: &Gpu,
    points: Points<'_>,
    params: &Params,
    budget: u64,
    progress: &dyn Progress,
) -> Result<Quadtree> {
    cpu::check(points, params, progress)?;
    let capacity = capacity(points.len(), params, budget)?;
    let (frame, bounds) = match params.bounds {
        Some(bounds) => params.frame(bounds)?,
        None => cpu::prepare(points, params, progress)?,
    };
    progress.at("count", 0.0)?;
    let (keys, ranges) = Keys::of(points, &frame, params)?;
    cpu::bounds(points, ranges)?;
    cpu::refuse_outside(points, ranges, params)?;
    let most = (capacity / CELLS_OF_BATCH).max(params.threshold.into());
    let cells = keys.cells(most, progress)?;
    let batches = cells::batches(&cells, capacity);
    progress.at("scatter", 0.0)?;
    let mut columns = scatter(&keys.numbered(&batches))?;
    // Pages of this memory that nobody writes do not exist. Without it each batch has its own memory.
    let usual = |batch: &Batch| usual_nodes(batch.points, params);
    let room = batches.iter().map(usual).sum::<u64>() as usize;
    let mut briefs = host_memory::zeroed(room).unwrap_or_default();
    let pipeline = Pipeline::new(gpu, &frame, bounds, params, &batches)?;
    let pieces = pipeline.pieces(&batches, &mut columns, &mut briefs, progress)?;
    progress.at("nodes", 0.0)?;
    let nodes = join::join(&pieces)?;
    progress.at("nodes", 1.0)?;
    let (threshold, given) = (params.threshold, points.len() as u64);
    let Columns { x, y, order } = columns;
    let (nodes, order, x, y) = (nodes.into(), order.into(), x.into(), y.into());
    let values = Vec::new();
    Ok(Quadtree { frame, bounds, threshold, nodes, order, x, y, values, given, system: 0 })
}

/// The points of a batch among the tree's columns: as they are given, and then in order.
struct Part<'a> {
    x: &'a mut [f64],
    y: &'a mut [f64],
    order: &'a mut [u32],
}

/// Memory for a batch on the device, as it is given.
struct Input {
    x: Column<f64>,
    y: Column<f64>,
    given: Column<u32>,
}

/// The tree of a batch on the device, indices as given.
struct Built {
    nodes: Column<Brief>,
    order: Column<u32>,
    x: Column<f64>,
    y: Column<f64>,
}

/// A tree on its way to the host. The copies are the first to be dropped, as that waits for them.
struct Going<'n> {
    copies: [Copying; 4],
    _built: Built,
    nodes: Briefs<'n>,
}

impl<'n> Going<'n> {
    /// Waits for the copies; gives the nodes. What the stream enqueues from now on may use the memory of the tree.
    fn end(self, gpu: &Gpu) -> Result<Briefs<'n>> {
        for copy in self.copies {
            copy.order_before(gpu)?;
            copy.wait()?;
        }
        Ok(self.nodes)
    }
}

/// The way of batches through the device.
struct Pipeline<'a> {
    frame: &'a Frame,
    bounds: Bounds,
    params: Params,
    /// The points of all batches.
    points: u64,
    workspace: Workspace,
    /// Copies to the device, and from it.
    inward: Gpu,
    outward: Gpu,
    inputs: Vec<Input>,
}

impl<'a> Pipeline<'a> {
    fn new(
        gpu: &Gpu,
        frame: &'a Frame,
        bounds: Bounds,
        params: &Params,
        batches: &[Batch],
    ) -> Result<Self> {
        // Points outside are not among those of the batches.
        let params = params.method(Method::Morton).outside(Outside::Refuse);
        let sizes = batches.iter().filter(|batch| batch.needs_device(&params));
        let largest = sizes.clone().map(|batch| batch.points as usize).max().unwrap_or(0);
        let gpu = gpu.fork()?;
        let input = |_| -> Result<Input> {
            // SAFETY: what is read was written.
            unsafe {
                Ok(Input {
                    x: gpu.uninitialized(largest)?,
                    y: gpu.uninitialized(largest)?,
                    given: gpu.uninitialized(largest)?,
                })
            }
        };
        let inputs = (0..sizes.count().min(INPUTS)).map(input).collect::<Result<_>>()?;
        Ok(Self {
            frame,
            bounds,
            params,
            points: batches.iter().map(|batch| batch.points).sum(),
            workspace: Workspace::new(&gpu)?,
            inward: gpu.fork()?,
            outward: gpu.fork()?,
            inputs,
        })
    }

    /// Brings the points of every batch into the order of the tree; gives the nodes of each, in the memory for all as long
    /// as there is some.
    fn pieces<'n>(
        mut self,
        batches: &[Batch],
        columns: &mut Columns,
        briefs: &'n mut [Brief],
        progress: &dyn Progress,
    ) -> Result<Vec<Piece<'n>>> {
        let mut pieces = Vec::with_capacity(batches.len());
        let (mut passing, mut parts) = (Vec::new(), Vec::new());
        let Columns { x, y, order } = columns;
        let (mut x, mut y, mut order) = (&mut x[..], &mut y[..], &mut order[..]);
        let mut start = 0;
        for (number, batch) in batches.iter().enumerate() {
            let len = batch.points as usize;
            let part =
                Part { x: take(&mut x, len), y: take(&mut y, len), order: take(&mut order, len) };
            let mut nodes = Briefs::Own(Vec::new());
            if batch.needs_device(&self.params) {
                passing.push(number);
                parts.push(part);
            } else {
                nodes = Briefs::Own(batch.chain());
            }
            pieces.push(Piece { nodes, start, ends: batch.ends() });
            start += batch.points;
        }
        let which: Vec<&Batch> = passing.iter().map(|&number| &batches[number]).collect();
        let found = self.pass(&which, &mut parts, briefs, progress)?;
        for (number, nodes) in passing.into_iter().zip(found) {
            pieces[number].nodes = nodes;
        }
        Ok(pieces)
    }

    /// Lets batches pass through the device, each copied in while the ones before are built and copied out. Gives the
    /// nodes of each.
    fn pass<'n>(
        &mut self,
        batches: &[&Batch],
        parts: &mut [Part<'_>],
        mut briefs: &'n mut [Brief],
        progress: &dyn Progress,
    ) -> Result<Vec<Briefs<'n>>> {
        let gpu = self.workspace.gpu().clone();
        let mut nodes = Vec::with_capacity(batches.len());
        let mut inputs = std::mem::take(&mut self.inputs);
        let (mut coming, mut going) = (VecDeque::new(), VecDeque::<Going<'n>>::new());
        self.inward.wait_for(&gpu)?;
        for (input, part) in inputs.iter_mut().zip(&*parts) {
            coming.push_back(self.come(input, part)?);
        }
        for (number, batch) in batches.iter().enumerate() {
            progress.at("trees", number as f64 / batches.len() as f64)?;
            for copy in coming.pop_front().into_iter().flatten() {
                copy.order_before(&gpu)?;
            }
            let which = number % inputs.len();
            let built = self.tree(&inputs[which], batch)?;
            going.push_back(self.go(built, &mut parts[number], &mut briefs)?);
            if let Some(part) = parts.get(number + inputs.len()) {
                self.inward.wait_for(&gpu)?;
                coming.push_back(self.come(&mut inputs[which], part)?);
            }
            if going.len() > GOING {
                nodes.extend(going.pop_front().map(|gone| gone.end(&gpu)).transpose()?);
            }
        }
        for gone in going {
            nodes.push(gone.end(&gpu)?);
        }
        Ok(nodes)
    }

    /// Begins the copies of a batch as it is given, which the input's stream is waited for by the one that copies.
    fn come(&self, input: &mut Input, part: &Part<'_>) -> Result<[Copying; 3]> {
        let (gpu, len) = (&self.inward, part.x.len());
        // SAFETY: the batch is copied out only after its tree was built, which waits for these copies. Nothing else
        // uses the input: its stream has been waited for. The input outlives the copies, which are not forgotten.
        unsafe {
            Ok([
                gpu.begin_write(input.x.slice_mut(0..len)?, part.x)?,
                gpu.begin_write(input.y.slice_mut(0..len)?, part.y)?,
                gpu.begin_write(input.given.slice_mut(0..len)?, part.order)?,
            ])
        }
    }

    /// Begins the copies of a tree to where its batch was.
    fn go<'n>(
        &self,
        built: Built,
        part: &mut Part<'_>,
        briefs: &mut &'n mut [Brief],
    ) -> Result<Going<'n>> {
        let (gpu, after, count) = (&self.outward, self.workspace.gpu(), built.nodes.len());
        let mut nodes = match count <= briefs.len() {
            true => Briefs::Shared(take(briefs, count)),
            false => Briefs::Own(host_memory::zeroed(count)?),
        };
        // SAFETY: the part was read before its tree was built, and belongs to the pass until the pass has waited for
        // the copies. The copies are not forgotten, and are dropped before the columns that they read.
        let copies = unsafe {
            [
                gpu.begin_read(after, (&built.x).into(), part.x)?,
                gpu.begin_read(after, (&built.y).into(), part.y)?,
                gpu.begin_read(after, (&built.order).into(), part.order)?,
                gpu.begin_read(after, (&built.nodes).into(), nodes.as_mut_slice())?,
            ]
        };
        Ok(Going { copies, _built: built, nodes })
    }

    /// The tree of a batch. Waits for the number of its nodes.
    fn tree(&mut self, input: &Input, batch: &Batch) -> Result<Built> {
        let len = batch.points as usize;
        let (x, y) = (input.x.slice(0..len)?, input.y.slice(0..len)?);
        let all = f64::INFINITY;
        let call = Call {
            frame: *self.frame,
            bounds: self.bounds,
            inside: Bounds { min_x: -all, min_y: -all, max_x: all, max_y: all },
            params: &self.params,
            share: Share { ends: batch.ends(), of: self.points },
        };
        let tree = if self.params.max_level <= SHORT_LEVEL {
            call.build::<f64, u32>(&mut self.workspace, x, y)?
        } else {
            call.build::<f64, u64>(&mut self.workspace, x, y)?
        };
        let gpu = self.workspace.gpu().clone();
        let count = tree.node_count();
        // SAFETY: both are written before they are read: the indices of a tree are below their number.
        let (mut order, mut nodes) =
            unsafe { (gpu.uninitialized::<u32>(len)?, gpu.uninitialized::<Brief>(count)?) };
        gather(&mut self.workspace, tree.order(), input.given.slice(0..len)?, &mut order)?;
        let briefs = SliceMut::from(&mut nodes).cast().output();
        let arguments = kernels::shorten::Args { nodes: tree.words(), count: count as u64, briefs };
        let blocks = Blocks::for_each(&kernels::shorten, count as u64)?;
        // SAFETY: the tree has these nodes, and there is room for what becomes of them.
        unsafe { gpu.enqueue(kernels::shorten, blocks, arguments)? };
        let DeviceQuadtree { x, y, .. } = tree;
        Ok(Built { nodes, order, x, y })
    }
}
