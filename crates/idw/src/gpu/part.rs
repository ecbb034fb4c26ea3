//! Sums over parts of the points on the device: see [`crate::Part`] and [`crate::Total`].

use gpu_core::{Blocks, Column, Gpu, GridSpec};
use kernels_rs::idw::pairs::total::{add_part, write_means};

use super::targets::OnDevice;
use super::{Call, DeviceSurface, DeviceTargets, Index, Input, Workspace, check_targets};
use crate::points::{check_len, require_type};
use crate::{Error, Number, Params, Part, Result, Summary, Weight};

/// The values of targets from a part of the points, on the device.
///
/// Example: see [`part`](crate::gpu::part()).
#[derive(Debug)]
#[non_exhaustive]
pub struct DevicePart<T: Number> {
    /// The weighted means of each target, column after column; NaN where a target has none. There may be more columns
    /// than the points have: the kernels take groups of columns, and the surplus columns have no meaning.
    pub values: Column<T>,
    /// How much the values weigh ([`Weight`]): first a power of two for each target, then each target's sum of weights
    /// as a multiple of this power.
    pub weights: Column<f64>,
    /// Where the targets lie, if they are a grid.
    pub grid: Option<GridSpec>,
    count: usize,
    columns: usize,
    points: usize,
}

/// Computes a [`part`](crate::part) from points that lie on the device. Enqueues and returns; [`DeviceTotal`] adds
/// parts up on the device.
///
/// Cost: as [`Index::new`] and [`Index::part`].
///
/// ```
/// use gpu_core::{DeviceChoice, Extent, Gpu, GridSpec, Points, UploadedPoints};
/// use idw::Params;
/// use idw::gpu::{DeviceTotal, Input, Workspace, part};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let gpu = Gpu::open(DeviceChoice::Software)?;
/// # let mut workspace = Workspace::new(&gpu)?;
/// let cell = GridSpec::new(1.5, 0.5, 1.0, 1, 1)?; // its centre is (2, 0)
/// let (mut total, params) = (DeviceTotal::new(), Params::default());
/// for (x, z) in [(0.0, 10.0), (4.0, 20.0)] {
///     let points = Points { x: &[x], y: &[0.0], values: &[&[z]] };
///     let uploaded = UploadedPoints::new(&gpu, &points)?;
///     let input = Input::new(uploaded.points(Extent::of(&points)?)?, cell);
///     let part = part::<f64>(&mut workspace, &input, &params)?;
///     total.add(&mut workspace, &part)?;
/// }
/// let surface = total.surface::<f64>(&mut workspace, &params)?.to_host()?;
/// assert_eq!(surface.values[0], [15.0]); // as far from the one as from the other
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The errors of [`Index::new`] and [`Index::part`].
pub fn part<T: Number>(
    workspace: &mut Workspace,
    input: &Input<'_>,
    params: &Params,
) -> Result<DevicePart<T>> {
    params.check_part()?;
    Index::new(workspace, &input.points, params)?.part(workspace, input.targets, params)
}

impl Index {
    /// Computes the values of targets from these points, which are a part of all points. Enqueues and returns.
    ///
    /// Cost: as [`Index::interpolate`], and 16 bytes a target more.
    ///
    /// # Errors
    /// The errors of [`crate::part`] for the parameters and a grid, [`Error::Conflict`] where the index was made for
    /// others, [`Error::Core`] for the device and columns of other lengths.
    pub fn part<T: Number>(
        &self,
        workspace: &mut Workspace,
        targets: DeviceTargets,
        params: &Params,
    ) -> Result<DevicePart<T>> {
        params.check_part()?;
        check_targets(targets, params.geographic)?;
        self.check(params)?;
        require_type::<T>(&self.about.ranges, params)?;
        let (gpu, count) = (workspace.gpu().clone(), targets.len() as usize);
        let (values, weights) = if targets.is_empty() || self.is_empty() {
            // Bytes of 0xff are NaN, and bytes of 0 are a weight of nothing.
            let values = gpu.filled_with_byte(0xff, self.about.padded() * count)?;
            (values, gpu.filled_with_byte(0, 2 * count)?)
        } else {
            let targets = OnDevice::new(&gpu, targets, params.geographic)?;
            let call = Call { gpu: &gpu, index: self, targets: &targets, params, leave_out: false };
            call.sum_part(workspace)?
        };
        let grid = targets.grid();
        let columns = self.about.ranges.len();
        Ok(DevicePart { values, weights, grid, count, columns, points: self.len() })
    }
}

impl<T: Number> DevicePart<T> {
    /// Copies the part to the host. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`].
    pub fn to_host(&self) -> Result<Part<T>> {
        let &Self { count, columns, grid, .. } = self;
        // Columns that only fill up were never written.
        let all = self.values.first_to_host(columns * count)?;
        let values = (0..columns).map(|v| all[v * count..(v + 1) * count].to_vec()).collect();
        let numbers = self.weights.to_host()?;
        let (exponents, sums) = numbers.split_at(count);
        let both = exponents.iter().zip(sums);
        let weights: Vec<Weight> = both.map(|(&exponent, &sum)| Weight { exponent, sum }).collect();
        let nodata = weights.iter().filter(|weight| !weight.is_some()).count() as u64;
        let summary = Summary { points: self.points as u64, skipped: 0, nodata };
        Ok(Part { values, weights, grid, summary })
    }
}

/// The total of the parts that were added so far, on the device. It has the bits of [`crate::Total`].
///
/// Memory: 16 bytes a target, and 8 for each column of values.
///
/// Example: see [`part`](crate::gpu::part()).
#[derive(Debug, Default)]
pub struct DeviceTotal {
    sums: Option<Sums>,
    points: u64,
}

/// The sums of the parts that were added.
#[derive(Debug)]
struct Sums {
    means: Column<f64>,
    weights: Column<f64>,
    grid: Option<GridSpec>,
    count: usize,
    columns: usize,
}

impl Sums {
    /// An empty sum for parts such as this.
    fn like<T: Number>(gpu: &Gpu, part: &DevicePart<T>) -> Result<Self> {
        let &DevicePart { count, columns, grid, .. } = part;
        let means = gpu.filled_with_byte(0, columns * count)?;
        Ok(Self { means, weights: gpu.filled_with_byte(0, 2 * count)?, grid, count, columns })
    }

    /// Refuses a part of others.
    fn check<T: Number>(&self, part: &DevicePart<T>) -> Result<()> {
        check_len("part: targets", self.count, part.count)?;
        check_len("part: columns of values", self.columns, part.columns)?;
        if self.grid != part.grid {
            return Err(Error::Conflict { option: "a part", with: "parts on another grid" });
        }
        Ok(())
    }

    /// Enqueues the addition of a part of as many targets, which are not none, and columns.
    fn add<T: Number>(&mut self, gpu: &Gpu, part: &DevicePart<T>) -> Result<()> {
        let count = self.count as u64;
        let arguments = add_part::Args {
            count,
            columns: self.columns as u32,
            part_values: part.values.input(),
            part_weights: part.weights.input(),
            means: self.means.output(),
            weights: self.weights.output(),
        };
        // SAFETY: both have as many targets and columns.
        unsafe { Ok(gpu.enqueue(T::ADD_PART, Blocks::for_each(&T::ADD_PART, count)?, arguments)?) }
    }
}

impl DeviceTotal {
    /// Returns a total without parts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a part. The first part decides how many targets and columns of values there are. Enqueues and returns.
    ///
    /// # Errors
    /// The errors of [`crate::Total::add`], and [`Error::Core`] for the device.
    pub fn add<T: Number>(
        &mut self,
        workspace: &mut Workspace,
        part: &DevicePart<T>,
    ) -> Result<()> {
        let gpu = workspace.gpu().clone();
        if self.sums.is_none() {
            self.sums = Some(Sums::like(&gpu, part)?);
        }
        let Some(sums) = &mut self.sums else { return Ok(()) };
        sums.check(part)?;
        if sums.count > 0 {
            sums.add(&gpu, part)?;
        }
        self.points += part.points as u64;
        Ok(())
    }

    /// Points that were added.
    pub fn points(&self) -> u64 {
        self.points
    }

    /// Returns the values over all points that were added. Targets have no value if fewer than [`Params::min_points`]
    /// points were added. Without parts, the surface has neither targets nor columns. Enqueues and returns.
    ///
    /// # Errors
    /// [`Error::Core`] for the device.
    pub fn surface<T: Number>(
        &self,
        workspace: &mut Workspace,
        params: &Params,
    ) -> Result<DeviceSurface<T>> {
        let gpu = workspace.gpu().clone();
        let (count, columns) = self.sums.as_ref().map_or((0, 0), |sums| (sums.count, sums.columns));
        // Every byte of NaN is set.
        let mut values = gpu.filled_with_byte(0xff, columns * count)?;
        let too_few = self.points < u64::from(params.min_points);
        if let Some(sums) = self.sums.as_ref().filter(|_| count > 0 && !too_few) {
            let arguments = write_means::Args {
                count: count as u64,
                columns: columns as u32,
                means: sums.means.input(),
                weights: sums.weights.input(),
                results: values.output(),
            };
            let blocks = Blocks::for_each(&T::WRITE_MEANS, count as u64)?;
            // SAFETY: all columns are of as many targets and columns.
            unsafe { gpu.enqueue(T::WRITE_MEANS, blocks, arguments)? };
        }
        let grid = self.sums.as_ref().and_then(|sums| sums.grid);
        Ok(DeviceSurface::of_means(values, grid, (count, columns), self.points as usize, params))
    }
}
