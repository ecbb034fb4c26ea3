//! Building on a GPU, from device memory to device memory.
//!
//! Kernels and their plan are in `kernels_rs::quadtree`; the sort is gpu-scan's. How many nodes a tree has
//! only the device finds out: room is made for as many as points usually give, and where that was too
//! little for more.

use std::ptr;

use device_std::atomic::Pair;
use device_std::host::Kernel;
use gpu_core::{
    Blocks, Bounds, Column, Element, Extent, Gpu, Points as HostPoints, Progress, Slice,
};
pub use gpu_scan::gpu::Workspace;
use gpu_scan::gpu::{gather, select_flagged, sort_pairs_in_place};
use gpu_scan::{Number, Sort};
use kernels_rs::quadtree::{self as kernels, MOST_SHARED};
use kernels_rs::spatial::frame::Frame;

use crate::tree::{Node, Quadtree};
use crate::{Algorithm, Error, MOST_POINTS, Outside, Params, Result};

/// A coordinate on the device: f32 or f64.
pub trait Coordinate: Element + Number + kernels::Place + sealed::Kernels {}
impl Coordinate for f32 {}
impl Coordinate for f64 {}

mod sealed {
    use super::{Kernel, kernels};
    use kernels::encode;

    /// The kernels for a coordinate.
    pub trait Kernels: Copy {
        /// Codes of 32 bits.
        const SHORT: Kernel<encode::Args<Self, u32>>;
        /// Codes of 64 bits.
        const LONG: Kernel<encode::Args<Self, u64>>;
    }

    impl Kernels for f32 {
        const SHORT: Kernel<encode::Args<f32, u32>> = encode::f32_u32;
        const LONG: Kernel<encode::Args<f32, u64>> = encode::f32_u64;
    }

    impl Kernels for f64 {
        const SHORT: Kernel<encode::Args<f64, u32>> = encode::f64_u32;
        const LONG: Kernel<encode::Args<f64, u64>> = encode::f64_u64;
    }
}

/// A code on the device, and its kernels.
trait DeviceCode: gpu_scan::Key + kernels::Code {
    const DIVIDE: Kernel<kernels::divide::Args<Self>>;

    fn codes<T: Coordinate>() -> Kernel<kernels::encode::Args<T, Self>>;
}

impl DeviceCode for u32 {
    const DIVIDE: Kernel<kernels::divide::Args<Self>> = kernels::divide::u32;

    fn codes<T: Coordinate>() -> Kernel<kernels::encode::Args<T, Self>> {
        T::SHORT
    }
}

impl DeviceCode for u64 {
    const DIVIDE: Kernel<kernels::divide::Args<Self>> = kernels::divide::u64;

    fn codes<T: Coordinate>() -> Kernel<kernels::encode::Args<T, Self>> {
        T::LONG
    }
}

/// The deepest level whose codes have 32 bits.
const SHORT_LEVEL: u32 = 16;

/// Blocks that share the nodes of a level, or the leaves, at most.
const MOST_BLOCKS: u32 = 2048;

/// A point quadtree in device memory.
#[derive(Debug)]
pub struct DeviceQuadtree<T: Coordinate> {
    frame: Frame,
    bounds: Bounds,
    threshold: u32,
    nodes: Column<Node>,
    node_count: usize,
    order: Column<u32>,
    x: Column<T>,
    y: Column<T>,
    given: u64,
}

impl<T: Coordinate> DeviceQuadtree<T> {
    /// The nodes, as [`Quadtree::nodes`].
    ///
    /// # Errors
    /// None that can happen.
    pub fn nodes(&self) -> Result<Slice<'_, Node>> {
        Ok(self.nodes.slice(0..self.node_count)?)
    }

    /// The permutation, as [`Quadtree::order`].
    pub fn order(&self) -> &Column<u32> {
        &self.order
    }

    /// The x of the points in the order of the tree.
    pub fn x(&self) -> &Column<T> {
        &self.x
    }

    /// The y of the points in the order of the tree.
    pub fn y(&self) -> &Column<T> {
        &self.y
    }

    /// What the root covers.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }
}

impl DeviceQuadtree<f64> {
    /// Copies the tree to the host. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`].
    pub fn to_host(&self) -> Result<Quadtree> {
        let mut nodes = self.nodes.to_host()?;
        nodes.truncate(self.node_count);
        Ok(Quadtree {
            frame: self.frame,
            bounds: self.bounds,
            threshold: self.threshold,
            nodes,
            order: self.order.to_host()?,
            x: self.x.to_host()?,
            y: self.y.to_host()?,
            given: self.given,
        })
    }
}

/// [`build`](crate::build) on a GPU, from host columns. Waits for the result.
pub(crate) fn build_of_host(
    gpu: &Gpu,
    points: HostPoints<'_>,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Quadtree> {
    params.check()?;
    progress.at("to the device", 0.0)?;
    let extent = Extent::of(&HostPoints::new(points.x, points.y))?;
    check_count(points.len())?;
    let (x, y) = (gpu.upload(points.x)?, gpu.upload(points.y)?);
    progress.at("tree", 0.0)?;
    let mut workspace = Workspace::new(gpu)?;
    let tree = build(&mut workspace, &x, &y, extent.bounds, params)?;
    progress.at("to the host", 0.0)?;
    let tree = tree.to_host()?;
    progress.at("to the host", 1.0)?;
    Ok(tree)
}

fn check_count(points: usize) -> Result<()> {
    let points = points as u64;
    if points > MOST_POINTS {
        return Err(Error::TooManyPoints { points, most: MOST_POINTS });
    }
    Ok(())
}

/// Builds the tree of points in device memory, within the bounds that `params` gives, or else `extent`,
/// which holds all points. Waits for the number of nodes.
///
/// # Errors
/// As [`build`](crate::build); [`Error::Outside`] also for a point that is not finite or lies outside the
/// extent.
pub fn build<'a, 'b, T: Coordinate>(
    workspace: &mut Workspace,
    x: impl Into<Slice<'a, T>>,
    y: impl Into<Slice<'b, T>>,
    extent: Option<Bounds>,
    params: &Params,
) -> Result<DeviceQuadtree<T>> {
    params.check()?;
    workspace.gpu().refuse_in_capture("a quadtree, whose number of nodes the host waits for,")?;
    let (x, y) = (x.into(), y.into());
    let (expected, found) = (x.len() as u64, y.len() as u64);
    if found != expected {
        return Err(gpu_core::Error::Length { what: "column of y", expected, found }.into());
    }
    check_count(x.len())?;
    let nowhere = Bounds { min_x: 0.0, min_y: 0.0, max_x: 0.0, max_y: 0.0 };
    let of_points = match (extent, x.is_empty()) {
        (Some(extent), _) => extent,
        (None, true) => nowhere,
        (None, false) => params.bounds.ok_or(gpu_core::Error::NoBounds)?,
    };
    let (frame, bounds) = params.frame(of_points)?;
    let inside = params.bounds.unwrap_or(of_points);
    let call = Call { frame, bounds, inside, params };
    if params.max_level <= SHORT_LEVEL {
        call.build::<T, u32>(workspace, x, y)
    } else {
        call.build::<T, u64>(workspace, x, y)
    }
}

/// A build, checked.
struct Call<'a> {
    frame: Frame,
    bounds: Bounds,
    /// Where points must lie.
    inside: Bounds,
    params: &'a Params,
}

impl Call<'_> {
    fn build<T: Coordinate, K: DeviceCode>(
        &self,
        workspace: &mut Workspace,
        x: Slice<'_, T>,
        y: Slice<'_, T>,
    ) -> Result<DeviceQuadtree<T>> {
        let gpu = workspace.gpu().clone();
        let (mut codes, mut order) = self.codes::<T, K>(workspace, x, y)?;
        let bits = 0..2 * self.params.max_level;
        // Level 0 has one code.
        if !bits.is_empty() {
            let sort = Sort::ascending().by_bits(bits);
            sort_pairs_in_place(workspace, sort, &mut codes, &mut order)?;
        }
        let (nodes, starts) = self.nodes(&gpu, &codes)?;
        let node_count = nodes.1;
        let nodes = nodes.0;
        drop(codes);
        self.as_given(workspace, &nodes, &starts, &mut order, x.len())?;
        // SAFETY: the gathers write every element.
        let (mut sorted_x, mut sorted_y) =
            unsafe { (gpu.uninitialized(order.len())?, gpu.uninitialized(order.len())?) };
        gather(workspace, &order, x, &mut sorted_x)?;
        gather(workspace, &order, y, &mut sorted_y)?;
        let Self { frame, bounds, params, .. } = *self;
        let (threshold, given) = (params.threshold, x.len() as u64);
        Ok(DeviceQuadtree {
            frame,
            bounds,
            threshold,
            nodes,
            node_count,
            order,
            x: sorted_x,
            y: sorted_y,
            given,
        })
    }

    /// The codes and the indices of the points inside.
    fn codes<T: Coordinate, K: DeviceCode>(
        &self,
        workspace: &mut Workspace,
        x: Slice<'_, T>,
        y: Slice<'_, T>,
    ) -> Result<(Column<K>, Column<u32>)> {
        let gpu = workspace.gpu().clone();
        let len = x.len();
        let skips = self.params.bounds.is_some() && self.params.outside == Outside::Skip;
        // SAFETY: the kernel writes every element of what it is given.
        let (mut codes, mut indices, mut inside) = unsafe {
            let flags = if skips { len } else { 0 };
            (gpu.uninitialized(len)?, gpu.uninitialized(len)?, gpu.uninitialized::<u8>(flags)?)
        };
        let mut bad = gpu.filled_with_byte::<i64>(0x7f, 1)?;
        let kernel = K::codes::<T>();
        let Bounds { min_x, min_y, max_x, max_y } = self.inside;
        {
            let (x, y) = (gpu.admit(x)?, gpu.admit(y)?);
            let arguments = kernels::encode::Args {
                x: x.as_ptr(),
                y: y.as_ptr(),
                len: len as u64,
                corner: [self.frame.west, self.frame.south],
                per_unit: [self.frame.columns_per_unit, self.frame.rows_per_unit],
                level: self.frame.level,
                bounds: [min_x, min_y, max_x, max_y],
                codes: codes.as_mut_ptr(),
                indices: indices.as_mut_ptr(),
                inside: if skips { inside.as_mut_ptr() } else { ptr::null_mut() },
                bad: bad.as_mut_ptr(),
            };
            // SAFETY: the columns are as long as said.
            unsafe { gpu.enqueue(kernel, Blocks::for_each(&kernel, len as u64)?, arguments)? };
        }
        if skips {
            return kept(workspace, &codes, &indices, &inside);
        }
        let index = bad.to_host()?[0] as u64;
        if index < len as u64 {
            let at = index as usize..index as usize + 1;
            let place = |column: Slice<'_, T>| -> Result<f64> {
                let mut one = gpu.zeroed(1)?;
                one.copy_from(column.slice(at.clone())?)?;
                Ok(kernels::Place::widened(one.to_host()?[0]))
            };
            let (x, y) = (place(x)?, place(y)?);
            return Err(Error::Outside { index, x, y });
        }
        Ok((codes, indices))
    }

    /// The nodes, and how many; and the first of each level.
    fn nodes<K: DeviceCode>(
        &self,
        gpu: &Gpu,
        codes: &Column<K>,
    ) -> Result<((Column<Node>, usize), Column<u64>)> {
        let levels = self.params.max_level as usize;
        let mut starts = gpu.zeroed::<u64>(levels + 2)?;
        if codes.is_empty() {
            return Ok(((gpu.zeroed(0)?, 0), starts));
        }
        // Leaves are half full on average, and nodes a third more than leaves.
        let usual =
            4 * codes.len() as u64 / u64::from(self.params.threshold) + 64 * (levels as u64 + 1);
        let mut capacity = usual.min(u64::from(u32::MAX));
        loop {
            // SAFETY: nodes are written before they are read.
            let mut nodes = unsafe { gpu.uninitialized::<Node>(capacity as usize)? };
            let overflow = self.divide(gpu, codes, &mut nodes, &mut starts)?;
            let count = starts.to_host()?[levels + 1];
            if overflow.to_host()?[0] == 0 {
                return Ok(((nodes, count as usize), starts));
            }
            if capacity == u64::from(u32::MAX) {
                return Err(Error::TooManyNodes { nodes: capacity + 1, most: capacity });
            }
            capacity = (2 * capacity).min(u64::from(u32::MAX));
        }
    }

    /// Enqueues all levels; gives whether they did not fit.
    fn divide<K: DeviceCode>(
        &self,
        gpu: &Gpu,
        codes: &Column<K>,
        nodes: &mut Column<Node>,
        starts: &mut Column<u64>,
    ) -> Result<Column<u32>> {
        let capacity = nodes.len() as u64;
        let nodes: *mut u64 = nodes.as_mut_ptr().cast();
        let starts = starts.as_mut_ptr();
        let mut overflow = gpu.zeroed::<u32>(1)?;
        let mut control = gpu.zeroed::<u64>(1)?;
        let mut status = gpu.zeroed::<Pair>(MOST_BLOCKS as usize)?;
        let count = codes.len() as u64;
        let Params { threshold, max_level, .. } = *self.params;
        // SAFETY: the columns are as long as the kernels need, and live until their work is enqueued.
        unsafe {
            let root = kernels::plant::Args { nodes, starts, count };
            gpu.enqueue(kernels::plant, Blocks::x(1), root)?;
            // The most nodes that a level can have: no more than cells, and all but the last have siblings
            // or parents above the threshold.
            let divided = count / (u64::from(threshold) + 1);
            for level in 0..max_level {
                let most = (1u64 << (2 * level).min(62)).min(4 * divided.max(1));
                let blocks = most.div_ceil(kernels::DIVIDE_BLOCK as u64).min(MOST_BLOCKS.into());
                let arguments = kernels::divide::Args {
                    codes: codes.as_ptr(),
                    nodes,
                    capacity,
                    starts,
                    level,
                    max_level,
                    threshold: threshold.into(),
                    overflow: overflow.as_mut_ptr(),
                    control: control.as_mut_ptr(),
                    status: status.as_mut_ptr(),
                };
                gpu.enqueue(K::DIVIDE, Blocks::x(blocks as u32), arguments)?;
            }
        }
        Ok(overflow)
    }

    /// Brings the points of each leaf into the order in which they were given.
    fn as_given(
        &self,
        workspace: &mut Workspace,
        nodes: &Column<Node>,
        starts: &Column<u64>,
        order: &mut Column<u32>,
        given: usize,
    ) -> Result<()> {
        let Params { threshold, max_level, .. } = *self.params;
        if order.is_empty() || threshold == 1 {
            return Ok(());
        }
        let gpu = workspace.gpu().clone();
        let nodes: *const u64 = nodes.as_ptr().cast();
        let node_count = starts.as_ptr().wrapping_add(max_level as usize + 1);
        let blocks = Blocks::x(MOST_BLOCKS);
        // SAFETY: the tree is over the indices; its leaves above the deepest level are within the threshold.
        unsafe {
            if threshold <= 32 {
                let indices = order.as_mut_ptr();
                let arguments =
                    kernels::order_small_leaves::Args { nodes, node_count, max_level, indices };
                return Ok(gpu.enqueue(kernels::order_small_leaves, blocks, arguments)?);
            }
            if threshold <= MOST_SHARED {
                let (room, indices) = (threshold.next_power_of_two(), order.as_mut_ptr());
                let arguments =
                    kernels::order_leaves::Args { nodes, node_count, max_level, room, indices };
                return Ok(gpu.enqueue(kernels::order_leaves, blocks, arguments)?);
            }
            // By where its leaf starts each point finds its leaf; a stable sort keeps the order as given.
            let mut leaf_starts = gpu.filled_with_byte::<u32>(0xff, given)?;
            let arguments = kernels::mark_leaves::Args {
                nodes,
                node_count,
                indices: order.as_ptr(),
                leaf_starts: leaf_starts.as_mut_ptr(),
            };
            gpu.enqueue(kernels::mark_leaves, blocks, arguments)?;
            let mut indices = gpu.uninitialized::<u32>(given)?;
            gpu_scan::gpu::sequence(workspace, 0, 1, &mut indices)?;
            sort_pairs_in_place(workspace, Sort::ascending(), &mut leaf_starts, &mut indices)?;
            // Points outside the tree have the last of all starts.
            order.copy_from(indices.slice(0..order.len())?)?;
        }
        Ok(())
    }
}

/// The codes and indices whose flag is set. Waits for their number.
fn kept<K: DeviceCode>(
    workspace: &mut Workspace,
    codes: &Column<K>,
    indices: &Column<u32>,
    inside: &Column<u8>,
) -> Result<(Column<K>, Column<u32>)> {
    let gpu = workspace.gpu().clone();
    // SAFETY: what is read of them was written.
    let (mut kept, mut kept_codes) = unsafe {
        (gpu.uninitialized::<u32>(indices.len())?, gpu.uninitialized::<K>(indices.len())?)
    };
    let mut count = gpu.zeroed::<u64>(1)?;
    select_flagged(workspace, inside, indices, &mut kept, &mut count)?;
    select_flagged(workspace, inside, codes, &mut kept_codes, &mut count)?;
    let count = count.to_host()?[0] as usize;
    // SAFETY: the copies write every element.
    let (mut some, mut some_codes) =
        unsafe { (gpu.uninitialized(count)?, gpu.uninitialized(count)?) };
    some.copy_from(kept.slice(0..count)?)?;
    some_codes.copy_from(kept_codes.slice(0..count)?)?;
    Ok((some_codes, some))
}
