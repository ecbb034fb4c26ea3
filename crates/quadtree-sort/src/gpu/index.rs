//! Indexes of points on the device: see `kernels_rs::rtree`.

use gpu_core::parallel::{self, FINE};
use gpu_core::{Blocks, Bounds, Column, Gpu, Slice};
use gpu_scan::gpu::{argsort, fill, gather as gather_column, scan_in_place, sort_with_indices};
use gpu_scan::{Key, Scan, Sort, Sum};
use kernels_rs::quadtree::{self, GATHERED, Place};
use kernels_rs::rtree::layout::Layout;
use kernels_rs::rtree::{
    Curve, Level, Places, Targets, Tree, bound_boxes, bound_points, count_crowded, find_codes,
    find_finer_cells, find_long_codes, find_nearest, mark_steps, turn_boxes, turn_points,
    write_ranks,
};

use super::queries::{DeviceNeighbours, places};
use super::{Coordinate, DeviceQuadtree, Workspace, bounds};
use crate::index::{check_bounds, is_crowded, sides};
use crate::queries::{NONE, check_k};
use crate::{Index, Result};

/// An index of points in device memory, with coordinates as they were given. See [`Index`].
///
/// Example: see [`nearest`].
#[derive(Debug)]
pub struct DeviceIndex<T: Coordinate> {
    x: Column<T>,
    y: Column<T>,
    order: Column<u32>,
    boxes: Column<[[T; 2]; 2]>,
    turned: Column<[[f64; 2]; 3]>,
    layout: Layout,
    bounds: Bounds,
}

/// Indexes points in device memory, of f32 or f64, within the given bounds or the bounds of the points. **Waits** for
/// the device: for the bounds, unless they are given, and at the end. So a graph cannot hold this call.
///
/// The index is the same as from [`index`](crate::index()), with coordinates of the given type. Device memory in
/// addition to the points and the index: 28 bytes a point for f32, 36 for f64. Cost: one sort by 32 bits. The bounds
/// have 2^16 by 2^16 cells. If more than one point in a thousand shares a cell with 32 points at other places, the call
/// sorts again, by 64 bits, for 2^31 by 2^31 cells. If the points share these cells too, it sorts three more times: twice by
/// coordinates, once by 64 bits.
///
/// Example: see [`nearest`].
///
/// # Errors
/// The errors of [`index`](crate::index()), and [`gpu_core::Error::Captured`].
pub fn index<'a, T: Coordinate>(
    workspace: &mut Workspace,
    x: impl Into<Slice<'a, T>>,
    y: impl Into<Slice<'a, T>>,
    bounds: Option<Bounds>,
) -> Result<DeviceIndex<T>> {
    let (x, y) = places(x, y)?;
    super::check_count(x.len())?;
    check_bounds(bounds)?;
    let gpu = workspace.gpu().clone();
    gpu.refuse_in_capture("an index of points, whose order the host waits for,")?;
    let bounds = match bounds {
        Some(given) => given,
        None if x.is_empty() => Bounds { min_x: 0.0, min_y: 0.0, max_x: 0.0, max_y: 0.0 },
        None => bounds::bounds(&gpu, x, y)?,
    };
    check_bounds(Some(bounds))?;
    sorted(workspace, x, y, bounds)
}

impl<T: Coordinate> DeviceIndex<T> {
    /// Indexes the points of a tree. Points keep the indices that they have in the tree. **Waits**, as [`index`].
    ///
    /// # Errors
    /// The errors of [`index`].
    pub fn of_tree(workspace: &mut Workspace, tree: &DeviceQuadtree<T>) -> Result<Self> {
        let gpu = workspace.gpu().clone();
        gpu.refuse_in_capture("an index of points, whose order the host waits for,")?;
        let mut index = sorted(workspace, (&tree.x).into(), (&tree.y).into(), tree.bounds)?;
        // SAFETY: the gather writes every element.
        let mut order = unsafe { gpu.uninitialized(index.len())? };
        gather_column(workspace, &index.order, &tree.order, &mut order)?;
        index.order = order;
        Ok(index)
    }
}

/// Indexes like [`index`], without checks, for points that are finite and within the bounds. Some searches miss other
/// points, which do no other harm.
///
/// Waits for the device once, to learn how many points share one cell of the curve with many others. A call that a
/// graph records cannot wait, so it always keeps the curve's order. Then results are the same, but searches are slower
/// where many points share a cell.
///
/// Example: see [`nearest`], with [`Bounds`] in place of an option.
///
/// # Errors
/// [`Error::Core`](crate::Error::Core) for the device.
pub fn index_unchecked<'a, T: Coordinate>(
    workspace: &mut Workspace,
    x: impl Into<Slice<'a, T>>,
    y: impl Into<Slice<'a, T>>,
    bounds: Bounds,
) -> Result<DeviceIndex<T>> {
    let (x, y) = (x.into(), y.into());
    let curve = AlongCurve::new(workspace, x, y, bounds)?;
    if workspace.gpu().is_capturing()? { Ok(curve.index) } else { curve.finish(workspace, x, y) }
}

/// The index of points within bounds.
fn sorted<T: Coordinate>(
    workspace: &mut Workspace,
    x: Slice<'_, T>,
    y: Slice<'_, T>,
    bounds: Bounds,
) -> Result<DeviceIndex<T>> {
    let (gpu, len) = (workspace.gpu().clone(), x.len());
    let curve = AlongCurve::new(workspace, x, y, bounds)?;
    let bad = curve.bad.to_host()?;
    bounds::refuse_not_finite(&gpu, [bad[0], bad[1]], x, y)?;
    match bad[2] as u64 {
        outside if outside < len as u64 => Err(bounds::outside(&gpu, outside, x, y)?),
        _ => curve.finish(workspace, x, y),
    }
}

/// An index of points along the curve, and what was seen on the way.
struct AlongCurve<T: Coordinate> {
    index: DeviceIndex<T>,
    /// The first points that are not finite in x, in y, or outside of the bounds.
    bad: Column<i64>,
    /// How many points share a cell of the curve with more than a leaf of others.
    crowded: Column<u32>,
    /// The points as pairs.
    pairs: Column<u64>,
}

impl<T: Coordinate> AlongCurve<T> {
    /// Enqueues and returns.
    fn new(
        workspace: &mut Workspace,
        x: Slice<'_, T>,
        y: Slice<'_, T>,
        bounds: Bounds,
    ) -> Result<Self> {
        let (gpu, len) = (workspace.gpu().clone(), x.len());
        let mut bad = gpu.filled_with_byte::<i64>(0x7f, 3)?;
        if len == 0 {
            let nothing = (gpu.zeroed(0)?, gpu.zeroed(0)?, gpu.zeroed(0)?);
            let index = DeviceIndex::over(&gpu, nothing, bounds)?;
            return Ok(Self { index, bad, crowded: gpu.zeroed(1)?, pairs: gpu.zeroed(0)? });
        }
        let places = plane(x, y);
        // SAFETY: lengths are as the kernels need them, and each column is written before it is read.
        unsafe {
            let (mut codes, mut pairs) =
                (gpu.uninitialized(len)?, gpu.uninitialized(T::PAIR * len)?);
            let arguments = find_codes::Args {
                places,
                curve: Curve::over(sides(bounds)),
                codes: codes.output(),
                pairs: Some(pairs.output()),
                bad: Some(bad.output()),
            };
            let kernel = <T as find_codes::Instance>::KERNEL;
            gpu.enqueue(kernel, Blocks::for_each(&kernel, len as u64)?, arguments)?;
            let (index, crowded) = in_order(workspace, codes, &pairs, bounds)?;
            Ok(Self { index, bad, crowded, pairs })
        }
    }

    /// Returns the index, along a finer curve or one through ranks if too many points share cells. Waits for the device.
    fn finish(
        self,
        workspace: &mut Workspace,
        x: Slice<'_, T>,
        y: Slice<'_, T>,
    ) -> Result<DeviceIndex<T>> {
        let Self { mut index, mut crowded, pairs, .. } = self;
        let bounds = index.bounds;
        for by_ranks in [false, true] {
            if !is_crowded(crowded.to_host()?[0] as usize, x.len()) {
                break;
            }
            let (columns, rows) = match by_ranks {
                false => finer_cells(workspace.gpu(), x, y, bounds)?,
                true => (ranks(workspace, x)?, ranks(workspace, y)?),
            };
            let codes = long_codes(workspace.gpu(), &columns, &rows)?;
            (index, crowded) = in_order(workspace, codes, &pairs, bounds)?;
        }
        Ok(index)
    }
}

/// The index of points in the order of their codes, and how many points share a code with more than a leaf of others.
fn in_order<C: Key, T: Coordinate + count_crowded::Instance<C>>(
    workspace: &mut Workspace,
    codes: Column<C>,
    pairs: &Column<u64>,
    bounds: Bounds,
) -> Result<(DeviceIndex<T>, Column<u32>)> {
    let (gpu, len) = (workspace.gpu().clone(), codes.len());
    let mut crowded = gpu.zeroed::<u32>(1)?;
    // SAFETY: lengths are as the kernels need them, and each column is written before it is read.
    unsafe {
        let (mut sorted, mut order) = (gpu.uninitialized(len)?, gpu.uninitialized(len)?);
        sort_with_indices(workspace, Sort::ascending(), &codes, &mut sorted, &mut order)?;
        drop(codes);
        let (x, y) = gather(&gpu, &order, pairs)?;
        let arguments = count_crowded::Args {
            places: plane((&x).into(), (&y).into()),
            codes: sorted.input(),
            crowded: crowded.output(),
        };
        let kernel = <T as count_crowded::Instance<C>>::KERNEL;
        gpu.enqueue(kernel, Blocks::for_each(&kernel, len as u64)?, arguments)?;
        drop(sorted);
        Ok((DeviceIndex::over(&gpu, (x, y, order), bounds)?, crowded))
    }
}

/// Columns of x and y in an order, from pairs.
fn gather<T: Coordinate>(
    gpu: &Gpu,
    order: &Column<u32>,
    pairs: &Column<u64>,
) -> Result<(Column<T>, Column<T>)> {
    let len = order.len();
    // The kernel reads this flag to know whether the order is complete.
    let overflow = gpu.zeroed::<u32>(1)?;
    // SAFETY: the kernel writes every element of both columns; the order names pairs.
    unsafe {
        let (mut x, mut y) = (gpu.uninitialized(len)?, gpu.uninitialized(len)?);
        let arguments = quadtree::gather_places::Args {
            order: order.input(),
            len: len as u64,
            pairs: pairs.input(),
            overflow: overflow.input(),
            x: x.output(),
            y: y.output(),
        };
        let kernel = <T as quadtree::gather_places::Instance>::KERNEL;
        gpu.enqueue(kernel, Blocks::x((len as u64).div_ceil(GATHERED) as u32), arguments)?;
        Ok((x, y))
    }
}

/// Places in the plane as kernels take them.
fn plane<'a, T: Coordinate>(x: Slice<'a, T>, y: Slice<'a, T>) -> Places<'a, T> {
    Places { x: x.input(), y: y.input(), z: None, len: x.len() as u32 }
}

/// A level of boxes, and where the boxes around their runs go.
pub(super) fn level_of(layout: &Layout, level: usize) -> Level {
    let (first, parents) = (layout.starts[level], layout.starts[level + 1]);
    Level { first, len: layout.counts[level], parents }
}

/// The columns and rows of points among those of the finer curve.
fn finer_cells<T: Coordinate>(
    gpu: &Gpu,
    x: Slice<'_, T>,
    y: Slice<'_, T>,
    bounds: Bounds,
) -> Result<(Column<u32>, Column<u32>)> {
    // SAFETY: all columns have as many elements, and the kernel writes each.
    unsafe {
        let (mut columns, mut rows) = (gpu.uninitialized(x.len())?, gpu.uninitialized(x.len())?);
        let arguments = find_finer_cells::Args {
            places: plane(x, y),
            curve: Curve::over(sides(bounds)),
            columns: columns.output(),
            rows: rows.output(),
        };
        let kernel = <T as find_finer_cells::Instance>::KERNEL;
        gpu.enqueue(kernel, Blocks::for_each(&kernel, x.len() as u64)?, arguments)?;
        Ok((columns, rows))
    }
}

/// The codes of points along a curve through columns and rows.
fn long_codes(gpu: &Gpu, columns: &Column<u32>, rows: &Column<u32>) -> Result<Column<u64>> {
    let len = columns.len() as u32;
    // SAFETY: all columns have as many elements, and the kernel writes each.
    unsafe {
        let mut codes = gpu.uninitialized(columns.len())?;
        let (columns, rows) = (columns.input(), rows.input());
        let arguments = find_long_codes::Args { columns, rows, len, codes: codes.output() };
        gpu.enqueue(find_long_codes, Blocks::for_each(&find_long_codes, len.into())?, arguments)?;
        Ok(codes)
    }
}

/// For each value of a column, counts the different values below it.
fn ranks<T: Coordinate>(workspace: &mut Workspace, column: Slice<'_, T>) -> Result<Column<u32>> {
    let (gpu, len) = (workspace.gpu().clone(), column.len() as u32);
    // SAFETY: lengths are as the kernels need them, and each column is written before it is read.
    unsafe {
        let [mut order, mut steps, mut ranks] = [
            gpu.uninitialized::<u32>(column.len())?,
            gpu.uninitialized(column.len())?,
            gpu.uninitialized(column.len())?,
        ];
        argsort(workspace, Sort::ascending(), column, &mut order)?;
        let arguments = mark_steps::Args {
            column: column.input(),
            order: order.input(),
            len,
            steps: steps.output(),
        };
        let kernel = <T as mark_steps::Instance>::KERNEL;
        gpu.enqueue(kernel, Blocks::for_each(&kernel, len.into())?, arguments)?;
        scan_in_place(workspace, Sum, Scan::inclusive(), &mut steps)?;
        let (order, sums) = (order.input(), steps.input());
        let arguments = write_ranks::Args { order, sums, len, ranks: ranks.output() };
        gpu.enqueue(write_ranks, Blocks::for_each(&write_ranks, len.into())?, arguments)?;
        Ok(ranks)
    }
}

impl<T: Coordinate> DeviceIndex<T> {
    /// Makes the index of points that already have the order of an index, for other crates of Tessera. `order` has
    /// their indices.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core).
    #[doc(hidden)]
    pub fn over(
        gpu: &Gpu,
        (x, y, order): (Column<T>, Column<T>, Column<u32>),
        bounds: Bounds,
    ) -> Result<Self> {
        let layout = Layout::new(order.len() as u32);
        // Zeros stand between the levels, so that copies read nothing that nobody wrote.
        let mut boxes = gpu.zeroed::<[[T; 2]; 2]>(layout.total as usize)?;
        if !order.is_empty() {
            let places = plane((&x).into(), (&y).into());
            let arguments = bound_points::Args { places, boxes: boxes.output() };
            let kernel = <T as bound_points::Instance>::KERNEL;
            let blocks = Blocks::for_each(&kernel, order.len() as u64)?;
            // SAFETY: the first level has a box for each run of points.
            unsafe { gpu.enqueue(kernel, blocks, arguments)? };
        }
        for level in 0..layout.top as usize {
            let arguments =
                bound_boxes::Args { boxes: boxes.output(), level: level_of(&layout, level) };
            let kernel = <T as bound_boxes::Instance>::KERNEL;
            let blocks = Blocks::for_each(&kernel, layout.counts[level].into())?;
            // SAFETY: the levels lie apart, and the next has a box for each run of this one's.
            unsafe { gpu.enqueue(kernel, blocks, arguments)? };
        }
        let turned = turned(gpu, plane((&x).into(), (&y).into()), &boxes, &layout)?;
        Ok(Self { x, y, order, boxes, turned, layout, bounds })
    }

    /// The x of the points in the order of the index.
    pub fn x(&self) -> &Column<T> {
        &self.x
    }

    /// The y of the points in the order of the index.
    pub fn y(&self) -> &Column<T> {
        &self.y
    }

    /// The indices of the points, as given, in the order of the index.
    pub fn order(&self) -> &Column<u32> {
        &self.order
    }

    /// As [`order`](Self::order), without the rest of the index.
    pub(super) fn into_order(self) -> Column<u32> {
        self.order
    }

    /// The number of points.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether it has no points.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Returns the given bounds, or the points' bounds.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Copies the index to the host, coordinates widened to f64. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core).
    pub fn to_host(&self) -> Result<Index> {
        let widened = |column: &Column<T>| -> Result<Vec<f64>> {
            let column = column.to_host()?;
            Ok(parallel::map(column.len(), FINE, |i| column[i].widened()))
        };
        let boxes = self.boxes.to_host()?;
        let boxes =
            boxes.into_iter().map(|corners| corners.map(|c| c.map(Place::widened))).collect();
        let (x, y, order) = (widened(&self.x)?, widened(&self.y)?, self.order.to_host()?);
        Ok(Index { x, y, order, boxes, layout: self.layout, bounds: self.bounds })
    }

    /// The index as an argument of kernels.
    #[doc(hidden)]
    pub fn tree(&self) -> Tree<'_, T> {
        let (bounds, Layout { starts, top, roots, .. }) = (self.bounds, self.layout);
        Tree {
            x: self.x.input(),
            y: self.y.input(),
            z: None,
            order: self.order.input(),
            points: self.len() as u32,
            boxes: self.boxes.input(),
            turned: self.turned.input(),
            starts,
            top,
            roots,
            extent: [[bounds.min_x, bounds.min_y], [bounds.max_x, bounds.max_y]],
        }
    }
}

impl DeviceIndex<f64> {
    /// Copies an index to a device. Waits for the copies.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core).
    pub fn from_host(gpu: &Gpu, index: &Index) -> Result<Self> {
        let (x, y, boxes) =
            (gpu.upload(&index.x)?, gpu.upload(&index.y)?, gpu.upload(&index.boxes)?);
        let turned = turned(gpu, plane((&x).into(), (&y).into()), &boxes, &index.layout)?;
        let (layout, bounds) = (index.layout, index.bounds);
        Ok(Self { x, y, order: gpu.upload(&index.order)?, boxes, turned, layout, bounds })
    }
}

/// Turns boxes along the points of each box of an index.
fn turned<T: Coordinate>(
    gpu: &Gpu,
    places: Places<'_, T>,
    boxes: &Column<[[T; 2]; 2]>,
    layout: &Layout,
) -> Result<Column<[[f64; 2]; 3]>> {
    let mut turned = gpu.zeroed(boxes.len())?;
    // SAFETY: each level has a box for each run of the one below, apart from it.
    unsafe {
        if places.len > 0 {
            let (boxes, turned) = (boxes.input(), turned.output());
            let kernel = <T as turn_points::Instance>::KERNEL;
            let arguments = turn_points::Args { places, boxes, turned };
            let runs = layout.counts[0].into();
            gpu.enqueue(kernel, Blocks::for_each(&kernel, runs)?, arguments)?;
        }
        for level in 0..layout.top as usize {
            let (runs, level) = (layout.counts[level + 1].into(), level_of(layout, level));
            let blocks = Blocks::for_each(&turn_boxes, runs)?;
            gpu.enqueue(turn_boxes, blocks, turn_boxes::Args { turned: turned.output(), level })?;
        }
    }
    Ok(turned)
}

/// Finds the `k` nearest points of each place, as [`Index::nearest`] does. Enqueues and returns.
///
/// A warp searches for 32 places, so successive places should be near each other. So the call sorts places along the
/// curve, by 32-bit codes. Lists of up to 64 neighbours lie in registers, longer ones in the result.
///
/// ```
/// use gpu_core::{DeviceChoice, Gpu};
/// use quadtree_sort::gpu::{Workspace, index, nearest};
///
/// # fn main() -> Result<(), quadtree_sort::Error> {
/// # let gpu = Gpu::open(DeviceChoice::Software)?;
/// # let mut workspace = Workspace::new(&gpu)?;
/// let (x, y) = (gpu.upload(&[1.0, 5.0])?, gpu.upload(&[0.0, 0.0])?);
/// let index = index(&mut workspace, &x, &y, None)?;
/// let (place_x, place_y) = (gpu.upload(&[4.0])?, gpu.upload(&[0.0])?);
/// let near = nearest(&mut workspace, &index, &place_x, &place_y, 2)?.to_host()?;
/// assert_eq!(near.of(0), (&[1, 0][..], &[1.0, 3.0][..]));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Core`](crate::Error::Core), [`Error::NoNeighbours`](crate::Error::NoNeighbours) for k = 0.
pub fn nearest<'a, T: Coordinate>(
    workspace: &mut Workspace,
    index: &DeviceIndex<T>,
    x: impl Into<Slice<'a, T>>,
    y: impl Into<Slice<'a, T>>,
    k: usize,
) -> Result<DeviceNeighbours> {
    let (x, y) = places(x, y)?;
    super::check_count(x.len())?;
    let order = match x.is_empty() {
        true => None,
        false => Some(order_of_places(workspace, index, x, y)?),
    };
    search(workspace, index, (x, y), order.as_ref(), k)
}

/// Searches like [`nearest`], without sorting the places: for places in a good order, such as a grid in patches of 8 x
/// 4 cells. It does not sort them.
///
/// Example: see [`nearest`].
///
/// # Errors
/// The errors of [`nearest`].
pub fn nearest_in_order<'a, T: Coordinate>(
    workspace: &mut Workspace,
    index: &DeviceIndex<T>,
    x: impl Into<Slice<'a, T>>,
    y: impl Into<Slice<'a, T>>,
    k: usize,
) -> Result<DeviceNeighbours> {
    let places = places(x, y)?;
    super::check_count(places.0.len())?;
    search(workspace, index, places, None, k)
}

/// Searches like [`nearest`], for the index's own points; each point is its own nearest point. Returns a row for each
/// point, in the order of the index.
///
/// ```
/// use gpu_core::{DeviceChoice, Gpu};
/// use quadtree_sort::gpu::{Workspace, index, nearest_of_own};
///
/// # fn main() -> Result<(), quadtree_sort::Error> {
/// # let gpu = Gpu::open(DeviceChoice::Software)?;
/// # let mut workspace = Workspace::new(&gpu)?;
/// let (x, y) = (gpu.upload(&[0.0, 1.0, 5.0])?, gpu.upload(&[0.0; 3])?);
/// let index = index(&mut workspace, &x, &y, None)?;
/// let near = nearest_of_own(&mut workspace, &index, 2)?.to_host()?;
/// let last = index.order().to_host()?.iter().position(|&point| point == 2).unwrap();
/// assert_eq!(near.of(last), (&[2, 1][..], &[0.0, 4.0][..])); // itself, then the point at 1
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The errors of [`nearest`].
pub fn nearest_of_own<T: Coordinate>(
    workspace: &mut Workspace,
    index: &DeviceIndex<T>,
    k: usize,
) -> Result<DeviceNeighbours> {
    search(workspace, index, ((&index.x).into(), (&index.y).into()), None, k)
}

/// Returns the order of places along an index's curve, in which a search takes them; for other crates of Tessera.
///
/// # Errors
/// [`Error::Core`](crate::Error::Core).
#[doc(hidden)]
pub fn order_of_places<T: Coordinate>(
    workspace: &mut Workspace,
    index: &DeviceIndex<T>,
    x: Slice<'_, T>,
    y: Slice<'_, T>,
) -> Result<Column<u32>> {
    let (gpu, len) = (workspace.gpu().clone(), x.len());
    // SAFETY: the columns are as long as stated, and written before they are read.
    unsafe {
        let (mut codes, mut order) =
            (gpu.uninitialized::<u32>(len)?, gpu.uninitialized::<u32>(len)?);
        let arguments = find_codes::Args {
            places: plane(x, y),
            curve: Curve::over(sides(index.bounds)),
            codes: codes.output(),
            pairs: None,
            bad: None,
        };
        let kernel = <T as find_codes::Instance>::KERNEL;
        gpu.enqueue(kernel, Blocks::for_each(&kernel, len as u64)?, arguments)?;
        argsort(workspace, Sort::ascending(), &codes, &mut order)?;
        Ok(order)
    }
}

/// Enqueues the search, in an order of the places.
fn search<T: Coordinate>(
    workspace: &mut Workspace,
    index: &DeviceIndex<T>,
    (x, y): (Slice<'_, T>, Slice<'_, T>),
    order: Option<&Column<u32>>,
    k: usize,
) -> Result<DeviceNeighbours> {
    check_k(k)?;
    let (gpu, count) = (workspace.gpu().clone(), x.len());
    let len = count.saturating_mul(k);
    gpu_core::require_at_most("nearest points", k as u64, u64::from(u32::MAX))?;
    let k32 = k as u32;
    // SAFETY: the kernel writes `k` of each place; without points they are filled.
    let (mut indices, mut distances) =
        unsafe { (gpu.uninitialized::<u32>(len)?, gpu.uninitialized::<f64>(len)?) };
    if index.is_empty() || count == 0 {
        fill(workspace, NONE, &mut indices)?;
        fill(workspace, f64::INFINITY, &mut distances)?;
        return Ok(DeviceNeighbours { k, indices, distances });
    }
    let targets = Targets {
        x: x.input(),
        y: y.input(),
        order: order.map(|order| order.input()),
        count: count as u32,
    };
    let (indices_out, distances_out) = (indices.output(), distances.output());
    let arguments = find_nearest::Args {
        tree: index.tree(),
        targets,
        k: k32,
        indices: indices_out,
        distances: distances_out,
    };
    let kernel = <T as find_nearest::Instances>::find(|&most| k32 <= most);
    let kernel = kernel.expect("the last instance takes any number");
    // SAFETY: the tree is the index's; the columns are as long as stated, the order is a permutation.
    unsafe { gpu.enqueue(kernel, Blocks::for_each(&kernel, count as u64)?, arguments)? };
    Ok(DeviceNeighbours { k, indices, distances })
}

/// The kernels for a coordinate.
pub trait IndexKernels:
    find_codes::Instance
    + count_crowded::Instance<u32>
    + count_crowded::Instance<u64>
    + find_finer_cells::Instance
    + mark_steps::Instance
    + bound_points::Instance
    + bound_boxes::Instance
    + turn_points::Instance
    + find_nearest::Instances
{
}
impl IndexKernels for f32 {}
impl IndexKernels for f64 {}
