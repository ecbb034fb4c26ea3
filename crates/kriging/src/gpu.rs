//! Kriging of points that lie on the device.
//!
//! [`interpolate`] indexes the points and interpolates; where the same points serve several calls, an [`Index`] is made
//! once. Both enqueue their work and return, except that the index waits once for one number ([`Index::new`]). After a
//! first call both can be captured into a graph, where nothing waits. The kernels, with their plan, are in
//! `kernels_rs::kriging`.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use gpu_core::{DeviceChoice, DevicePoints, Extent, Gpu, GridSpec, Points};
//! use kriging::gpu::{Input, Workspace, interpolate};
//! use kriging::{Model, Params, Variogram};
//!
//! let (x, z) = ([0.5, 9.5], [1.0, 2.0]);
//! let extent = Extent::of(&Points { x: &x, y: &x, values: &[&z] })?;
//! let gpu = Gpu::open(DeviceChoice::Software)?; // or Cuda(0)
//! let mut workspace = Workspace::new(&gpu)?;
//! let (x, z) = (gpu.upload(&x)?, gpu.upload(&z)?);
//! let points = DevicePoints::new(&x, &x, [(&z).into()], extent)?;
//! let input = Input::new(points, GridSpec::new(0.0, 10.0, 1.0, 10, 10)?);
//! let params = Params::new(Variogram::new(0.0).structure(Model::Exponential, 1.0, 5.0));
//! let surface = interpolate(&mut workspace, &input, &params)?;
//! assert_eq!(surface.values.to_host()?[90], 1.0); // the south-western cell's centre is a point
//! # Ok(())
//! # }
//! ```

use gpu_core::{
    Blocks, Column, DevicePoints, Extent, Gpu, GridSpec, Points, Progress, Slice, Targets,
    UploadedPoints, require_at_most,
};
use kernels_rs::kriging::arguments::{
    Law, Neighbours, Points as KernelPoints, Results, TargetPart,
};
use kernels_rs::kriging::by_thread::solve_by_thread;
use kernels_rs::kriging::by_warp::solve_by_warp;
use kernels_rs::kriging::search::find_neighbours;
use kernels_rs::rtree::patches::{Patches, threads_of_grid};
use quadtree_sort::gpu::{DeviceIndex, index_unchecked, order_of_places};

use crate::input::check_grid;
use crate::{Error, MAX_NEIGHBOURS, MAX_POINTS, Params, Result, Surface};

pub use gpu_core::DeviceTargets;
pub use gpu_scan::gpu::Workspace;

/// Neighbours whose positions are in memory at a time, of all targets of a part.
const POSITIONS: u64 = 1 << 25;

/// Targets of a part are a multiple of this: the threads of a block that searches.
const BLOCK: u64 = 64;

const _: () = assert!(MAX_NEIGHBOURS == kernels_rs::kriging::search::MAX_NEIGHBOURS);

/// Points on the device, and where to interpolate them.
///
/// Example: see [the module](self).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Input<'a> {
    /// The points, with one or more columns of values.
    pub points: DevicePoints<'a>,
    /// Where to interpolate.
    pub targets: DeviceTargets<'a>,
}

impl<'a> Input<'a> {
    /// Returns an input of points, and targets: a [`GridSpec`] or [`DeviceTargets::points`].
    pub fn new(points: DevicePoints<'a>, targets: impl Into<DeviceTargets<'a>>) -> Self {
        Self { points, targets: targets.into() }
    }
}

/// Values and variances on the device.
///
/// Example: see [the module](self).
#[derive(Debug)]
#[non_exhaustive]
pub struct DeviceSurface {
    /// The values of each target, column after column; NaN where a target has none.
    pub values: Column<f64>,
    /// The kriging variance of each target; NaN where it has no value.
    pub variances: Column<f64>,
    /// Where the targets lie, if they are a grid.
    pub grid: Option<GridSpec>,
    points: usize,
    nodata: f64,
}

impl DeviceSurface {
    /// Copies the results to the host, with [`Params::nodata`] where there are none. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`].
    pub fn to_host(&self) -> Result<Surface> {
        let (all, variances) = (self.values.to_host()?, self.variances.to_host()?);
        let values = match variances.len() {
            0 => vec![Vec::new()],
            count if count == all.len() => vec![all],
            count => all.chunks(count).map(<[f64]>::to_vec).collect(),
        };
        Ok(Surface::with_nodata(values, variances, self.grid, self.points, self.nodata))
    }
}

/// Interpolates points on the device. Enqueues and returns, as [`Index::new`] says.
///
/// This function does not check the contents of columns. Results mean nothing if a point lies outside the given extent
/// or is not finite, or if a coordinate or value is beyond 1e150. Such points do no other harm.
///
/// Points at one place are neighbours one by one, and count with their mean: if they are as many as
/// [`Params::max_points`], a target near them has no other neighbours. Merge them first.
///
/// Cost: as [`Index::new`] and [`Index::interpolate`].
///
/// Example: see [the module](self).
///
/// # Errors
/// The errors of [`Index::new`] and [`Index::interpolate`].
pub fn interpolate(
    workspace: &mut Workspace,
    input: &Input<'_>,
    params: &Params,
) -> Result<DeviceSurface> {
    Index::new(workspace, &input.points)?.interpolate(workspace, input.targets, params)
}

/// Points on the device, sorted for searches of nearest neighbours.
///
/// It holds copies, so the caller may change or free the points.
///
/// ```
/// use gpu_core::{DeviceChoice, Extent, Gpu, GridSpec, Points, UploadedPoints};
/// use kriging::gpu::{Index, Workspace};
/// use kriging::{Model, Params, Variogram};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let gpu = Gpu::open(DeviceChoice::Software)?;
/// # let mut workspace = Workspace::new(&gpu)?;
/// let points = Points { x: &[0.5, 9.5], y: &[0.5, 0.5], values: &[&[1.0, 2.0]] };
/// let uploaded = UploadedPoints::new(&gpu, &points)?;
/// let index = Index::new(&mut workspace, &uploaded.points(Extent::of(&points)?)?)?;
/// let params = Params::new(Variogram::new(0.0).structure(Model::Exponential, 1.0, 5.0));
/// for (west, expected) in [(0.0, 1.0), (9.0, 2.0)] {
///     let cell = GridSpec::new(west, 1.0, 1.0, 1, 1)?; // its centre is a point
///     let surface = index.interpolate(&mut workspace, cell.into(), &params)?;
///     assert_eq!(surface.values.to_host()?, [expected]);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Index {
    /// `None` without points.
    tree: Option<DeviceIndex<f64>>,
    /// Values in the order of the tree, column after column.
    values: Column<f64>,
    columns: usize,
}

impl Index {
    /// Indexes points for any parameters. Waits for the device once, to learn whether many points share one cell of the
    /// curve; a graph that records the stream does not wait ([`index_unchecked`]).
    ///
    /// Cost: a sort of the points by 48 bits, and a gather of each column of values; 24 bytes a point and 8 for each of its values.
    ///
    /// # Errors
    /// [`Error::NoValues`], [`gpu_core::Error::TooMany`], [`Error::Core`] for the device.
    pub fn new(workspace: &mut Workspace, points: &DevicePoints) -> Result<Self> {
        let (count, columns) = (points.len(), points.values().len());
        require_at_most("points", count as u64, MAX_POINTS)?;
        if columns == 0 {
            return Err(Error::NoValues);
        }
        let gpu = workspace.gpu().clone();
        // SAFETY: every value is gathered below.
        let mut values = unsafe { gpu.uninitialized::<f64>(columns * count)? };
        let Some(bounds) = points.extent().bounds.filter(|_| count > 0) else {
            return Ok(Self { tree: None, values, columns });
        };
        let tree = index_unchecked(workspace, points.x(), points.y(), bounds)?;
        for (i, &column) in points.values().iter().enumerate() {
            let to = values.slice_mut(i * count..(i + 1) * count)?;
            gpu_scan::gpu::gather(workspace, tree.order(), column, to)?;
        }
        Ok(Self { tree: Some(tree), values, columns })
    }

    /// How many points.
    pub fn len(&self) -> usize {
        self.tree.as_ref().map_or(0, DeviceIndex::len)
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Interpolates the points at targets. Enqueues and returns.
    ///
    /// Cost: a search for the neighbours of each target. With n neighbours it takes n^2 / 2 variograms, and n^3 / 6 + 1.5 n^2 products and
    /// differences. Each column of values after the first takes n^2 / 2 more. Memory beside the results: 134 MB for the neighbours of a part of the
    /// targets.
    ///
    /// # Errors
    /// The errors of [`crate::interpolate`] for the parameters and a grid, [`Error::Core`] for the device and columns
    /// of other lengths.
    pub fn interpolate(
        &self,
        workspace: &mut Workspace,
        targets: DeviceTargets,
        params: &Params,
    ) -> Result<DeviceSurface> {
        params.check()?;
        require_at_most("targets", targets.len(), MAX_POINTS)?;
        targets.check_lengths()?;
        targets.grid().map_or(Ok(()), check_grid)?;
        let gpu = workspace.gpu().clone();
        let count = targets.len() as usize;
        let (grid, points, nodata) = (targets.grid(), self.len(), params.nodata);
        let Some(tree) = self.tree.as_ref().filter(|_| count > 0) else {
            // Every byte of NaN is set.
            let values = gpu.filled_with_byte(0xff, self.columns * count)?;
            let variances = gpu.filled_with_byte(0xff, count)?;
            return Ok(DeviceSurface { values, variances, grid, points, nodata });
        };
        let (places, order) = match targets {
            DeviceTargets::Grid(_) => (None, None),
            DeviceTargets::Points { x, y } => {
                (Some((x, y)), Some(order_of_places(workspace, tree, x, y)?))
            }
        };
        let patches = patches(places, order.as_ref(), grid, count as u64);
        let threads = grid.map_or(count as u64, |g| threads_of_grid(g.width, g.height));
        let call = Call { gpu: &gpu, index: self, tree, params, patches, threads };
        let (values, variances) = call.run(count, false)?;
        Ok(DeviceSurface { values, variances, grid, points, nodata })
    }

    /// Predicts each point from the others. Returns the predictions and variances in the order of the tree, and that
    /// order.
    fn leave_one_out(&self, gpu: &Gpu, params: &Params) -> Result<Option<[Vec<f64>; 2]>> {
        let Some(tree) = &self.tree else { return Ok(None) };
        let count = tree.len();
        let places = Some((tree.x().into(), tree.y().into()));
        let patches = patches(places, None, None, count as u64);
        let call = Call { gpu, index: self, tree, params, patches, threads: count as u64 };
        let (values, variances) = call.run(count, true)?;
        let order = tree.order().to_host()?;
        let given = |sorted: Vec<f64>| {
            let mut given = vec![f64::NAN; count];
            order.iter().zip(sorted).for_each(|(&i, value)| given[i as usize] = value);
            given
        };
        Ok(Some([given(values.first_to_host(count)?), given(variances.to_host()?)]))
    }
}

/// Targets as the kernels take them.
fn patches<'a>(
    places: Option<(Slice<'a, f64>, Slice<'a, f64>)>,
    order: Option<&'a Column<u32>>,
    grid: Option<GridSpec>,
    count: u64,
) -> Patches<'a> {
    Patches {
        x: places.map(|(x, _)| x.input()),
        y: places.map(|(_, y)| y.input()),
        z: None,
        order: order.map(Column::input),
        count,
        width: grid.map_or(0, |grid| grid.width),
        grid: grid.map_or([0.0; 3], |g| [g.origin_x, g.origin_y, g.cell_size]),
        wanted: None,
    }
}

/// An interpolation, checked.
struct Call<'a> {
    gpu: &'a Gpu,
    index: &'a Index,
    tree: &'a DeviceIndex<f64>,
    params: &'a Params,
    patches: Patches<'a>,
    /// Threads for all targets.
    threads: u64,
}

impl Call<'_> {
    /// The values and variances of all targets, part by part.
    fn run(&self, count: usize, leave_out: bool) -> Result<(Column<f64>, Column<f64>)> {
        let most = self.params.max_points;
        let at_once = POSITIONS / u64::from(most) / BLOCK * BLOCK;
        let at_once = u64::min(at_once, self.threads.next_multiple_of(BLOCK));
        // SAFETY: every target is one of a part, for which values, variance and all positions are written.
        unsafe {
            let mut values = self.gpu.uninitialized::<f64>(self.index.columns * count)?;
            let mut variances = self.gpu.uninitialized::<f64>(count)?;
            let mut positions =
                self.gpu.uninitialized::<u32>((at_once * u64::from(most)) as usize)?;
            let mut first = 0;
            while first < self.threads {
                self.search(first, at_once as u32, leave_out, &mut positions)?;
                let results = Results {
                    values: values.output(),
                    variances: variances.output(),
                    targets: count as u64,
                };
                self.solve(first, at_once as u32, &positions, results)?;
                first += at_once;
            }
            Ok((values, variances))
        }
    }

    /// Finds the neighbours of a part.
    ///
    /// # Safety
    /// `positions` has as many for each target as are wanted.
    unsafe fn search(
        &self,
        first: u64,
        targets: u32,
        leave_out: bool,
        positions: &mut Column<u32>,
    ) -> Result<()> {
        let most = self.params.max_points;
        let arguments = find_neighbours::Args {
            tree: self.tree.tree(),
            part: TargetPart { all: self.patches, first },
            targets,
            most,
            reach: self.params.reach(),
            positions: positions.output(),
        };
        let is_wanted = |&[leaves_out, up_to]: &[usize; 2]| {
            (leaves_out != 0) == leave_out && most as usize <= up_to
        };
        let kernel = find_neighbours::find(is_wanted).expect("there is one up to MAX_NEIGHBOURS");
        let blocks = Blocks::for_each(&kernel, targets.into())?;
        // SAFETY: passed on to the caller; the tree is whole and has points.
        unsafe { Ok(self.gpu.enqueue(kernel, blocks, arguments)?) }
    }

    /// Solves the systems of a part.
    ///
    /// # Safety
    /// The positions were written; results have an element for each target.
    unsafe fn solve(
        &self,
        first: u64,
        targets: u32,
        positions: &Column<u32>,
        results: Results<'_>,
    ) -> Result<()> {
        let (tree, params) = (self.tree, self.params);
        let points = KernelPoints {
            x: tree.x().input(),
            y: tree.y().input(),
            values: self.index.values.input(),
            count: tree.len() as u32,
            columns: self.index.columns as u32,
        };
        let most = params.max_points;
        let part = TargetPart { all: self.patches, first };
        let neighbours = Neighbours { positions: positions.input(), targets, most };
        let law = Law {
            correlation: params.variogram.correlation(),
            sill: params.variogram.sill(),
            isotropy: params.variogram.isotropy(),
            least: params.min_points,
        };
        // SAFETY: passed on to the caller; positions name points of the tree.
        unsafe {
            if let Some(kernel) = solve_by_thread::find(|&up_to| most as usize <= up_to) {
                let blocks = Blocks::for_each(&kernel, targets.into())?;
                let arguments = solve_by_thread::Args { points, part, neighbours, law, results };
                return Ok(self.gpu.enqueue(kernel, blocks, arguments)?);
            }
            let kernel = solve_by_warp::find(|&up_to| most as usize <= up_to);
            let kernel = kernel.expect("there is one up to MAX_NEIGHBOURS");
            let arguments = solve_by_warp::Args { points, part, neighbours, law, results };
            Ok(self.gpu.enqueue(kernel, Blocks::x(targets), arguments)?)
        }
    }
}

/// [`interpolate`](crate::interpolate) with all columns on the host, checked. Waits for the result.
pub(crate) fn from_host(
    gpu: &Gpu,
    input: crate::Input,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Surface> {
    let mut workspace = Workspace::new(gpu)?;
    let (uploaded, places) = progress.during("to the device", || -> Result<_> {
        let places = match input.targets {
            Targets::Points { x, y } => Some((gpu.upload(x)?, gpu.upload(y)?)),
            Targets::Grid(_) => None,
        };
        Ok((UploadedPoints::new(gpu, &input.points)?, places))
    })?;
    let points = uploaded.points(Extent::of(&input.points)?)?;
    let surface = progress.during("interpolate", || {
        let index = Index::new(&mut workspace, &points)?;
        let targets = match (&places, input.targets) {
            (_, Targets::Grid(grid)) => grid.into(),
            (places, _) => {
                let (x, y) = places.as_ref().expect("targets that are no grid were uploaded");
                DeviceTargets::points(x, y)
            }
        };
        let surface = index.interpolate(&mut workspace, targets, params)?;
        gpu.synchronize()?;
        Ok::<_, Error>(surface)
    })?;
    progress.during("to the host", || surface.to_host())
}

/// Predicts the first value of each point from all others. Returns the predictions and their variances. Waits for the
/// result.
pub(crate) fn leave_one_out(gpu: &Gpu, points: Points, params: &Params) -> Result<[Vec<f64>; 2]> {
    let points = Points { values: &points.values[..1], ..points };
    let mut workspace = Workspace::new(gpu)?;
    let uploaded = UploadedPoints::new(gpu, &points)?;
    let index = Index::new(&mut workspace, &uploaded.points(Extent::of(&points)?)?)?;
    Ok(index.leave_one_out(gpu, params)?.unwrap_or_default())
}
