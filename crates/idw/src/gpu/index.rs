//! The index of points: copies of them, sorted for each way to search them.

use gpu_core::{Blocks, Bounds, Column, DevicePoints, Gpu, Slice};
use gpu_scan::{Max, Min, Sum};
use kernels_rs::idw::TILE;
use kernels_rs::idw::index::{square_deviations, take_off, write_ranges};
use kernels_rs::idw::neighbours::Values;
use kernels_rs::idw::pairs::measure::measure_tiles;
use kernels_rs::idw::targets::{Frame, Targets};
use quadtree_sort::gpu::{DeviceIndex, GlobeIndex, globe_index, index_unchecked};

use super::Workspace;
use super::sort::{self, Places};
use super::targets::on_sphere;
use crate::ground::Ground;
use crate::points::{Range, check_count};
use crate::{Error, Params, Result};

/// Points on the device, sorted for the searches of some parameters: for all pairs, for neighbours, or for both.
///
/// It holds copies, so the caller may change or free the points.
///
/// ```
/// use gpu_core::{DeviceChoice, Extent, Gpu, GridSpec, Points, UploadedPoints};
/// use idw::Params;
/// use idw::gpu::{Index, Workspace};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let gpu = Gpu::open(DeviceChoice::Software)?;
/// # let mut workspace = Workspace::new(&gpu)?;
/// let points = Points { x: &[0.5, 9.5], y: &[0.5, 0.5], values: &[&[1.0, 2.0]] };
/// let uploaded = UploadedPoints::new(&gpu, &points)?;
/// let params = Params::nearest(1);
/// let index = Index::new(&mut workspace, &uploaded.points(Extent::of(&points)?)?, &params)?;
/// for (west, expected) in [(0.0, 1.0), (9.0, 2.0)] {
///     let cell = GridSpec::new(west, 1.0, 1.0, 1, 1)?;
///     let surface = index.interpolate::<f32>(&mut workspace, cell.into(), &params)?;
///     assert_eq!(surface.to_host()?.values[0], [expected]);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Index {
    pub(super) about: About,
    /// Offset, lowest and highest of each value; zeros for those that fill up.
    pub(super) ranges: Column<f64>,
    /// Values in the points' own order, column after column; without neighbours nothing.
    values: Column<f64>,
    to_tile: Option<Tiled>,
    trees: Option<Trees>,
}

/// The kinds of search that parameters need; each has a part of the index.
#[derive(Clone, Copy, Debug, Default)]
struct Needs {
    /// All pairs.
    tiles: bool,
    /// Neighbours.
    trees: bool,
}

impl Needs {
    fn of(params: &Params) -> Self {
        let tiles = params.is_all_pairs();
        Self { tiles, trees: !tiles || params.statistics || params.adaptive.is_some() }
    }
}

/// The facts about the points that the host knows.
#[derive(Clone, Debug)]
pub(super) struct About {
    pub ground: Ground,
    pub ranges: Vec<Range>,
    /// The middle of the bounds, and half of their sides.
    pub centre: [f64; 2],
    pub extent: [f64; 2],
}

/// Points along a curve.
#[derive(Debug)]
pub(super) struct Tiled {
    /// The index of each sorted point.
    pub order: Column<u32>,
    /// Places: x of each, then y; on the sphere the unit vectors' x, y and z.
    pub places: Column<f64>,
    /// Values, column after column.
    pub values: Column<f64>,
    /// How far the points of each tile are from its origin; empty on the sphere.
    pub reaches: Column<f32>,
}

/// Points in the order of a tree, and their values in that order, column after column: so the values of the points that a
/// warp finds lie side by side.
#[derive(Debug)]
pub(super) enum Trees {
    /// In the plane.
    Plane(DeviceIndex<f64>, Column<f64>),
    /// On the globe.
    Globe(GlobeIndex, Column<f64>),
}

impl Trees {
    /// The values.
    pub fn values(&self) -> &Column<f64> {
        match self {
            Self::Plane(_, values) | Self::Globe(_, values) => values,
        }
    }
}

impl About {
    fn new(points: &DevicePoints, geographic: bool) -> Self {
        let (count, extent) = (points.len(), points.extent());
        let bounds = extent.bounds.filter(|_| count > 0);
        let around = |b: Bounds| match geographic && (b.min_x < -180.0 || b.max_x > 180.0) {
            true => Bounds { min_x: -180.0, max_x: 180.0, ..b },
            false => b,
        };
        let ground = Ground { count, bounds: bounds.map(around), geographic };
        let ranges = extent.ranges.iter().map(|range| Range::between(range.min, range.max));
        let mut ranges: Vec<Range> = ranges.collect();
        ranges.resize(points.values().len(), Range::NONE);
        let (mut centre, mut half) = ([0.0; 2], [0.0; 2]);
        if let Some(b) = ground.bounds {
            centre = [b.min_x / 2.0 + b.max_x / 2.0, b.min_y / 2.0 + b.max_y / 2.0];
            half = [b.max_x - centre[0], b.max_y - centre[1]];
        }
        Self { ground, ranges, centre, extent: half }
    }

    /// The number of columns of values that the kernels take: one, or a multiple of four.
    pub fn padded(&self) -> usize {
        match self.ranges.len() {
            1 => 1,
            columns => columns.next_multiple_of(4),
        }
    }

    /// Returns the range of a column. A column that only fills up the group has no range.
    pub fn range(&self, column: usize) -> Range {
        self.ranges.get(column).copied().unwrap_or(Range::NONE)
    }
}

impl Index {
    /// Sorts points for interpolations with such parameters. Enqueues and returns. If it sorts for neighbours, it waits
    /// for the device once; while a graph records the stream it does not
    /// ([`index_unchecked`](quadtree_sort::gpu::index_unchecked) says why).
    ///
    /// Cost: about ten reads and writes of each point for each kind of search.
    ///
    /// # Errors
    /// The errors of [`crate::interpolate`] for the parameters, [`Error::NoValues`], [`gpu_core::Error::TooMany`],
    /// [`Error::Core`] for the device.
    pub fn new(workspace: &mut Workspace, points: &DevicePoints, params: &Params) -> Result<Self> {
        params.check()?;
        check_count("points", points.len() as u64)?;
        if points.values().is_empty() {
            return Err(Error::NoValues);
        }
        let gpu = workspace.gpu().clone();
        let about = About::new(points, params.geographic);
        let ranges = ranges_of(&gpu, &about)?;
        let source = Source::new(&gpu, &about, points)?;
        let needs = Needs::of(params);
        let to_tile = if needs.tiles { Some(source.along_curve(workspace)?) } else { None };
        let trees = match about.ground.bounds.filter(|_| needs.trees) {
            Some(bounds) => Some(source.in_tree(workspace, bounds)?),
            None => None,
        };
        let values = if needs.trees { source.values(&gpu, None)? } else { gpu.zeroed(0)? };
        Ok(Self { about, ranges, values, to_tile, trees })
    }

    /// How many points.
    pub fn len(&self) -> usize {
        self.about.ground.count
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Checks that the index is one for such parameters.
    pub(super) fn check(&self, params: &Params) -> Result<()> {
        let with = "an index for other parameters";
        if self.about.ground.geographic != params.geographic {
            return Err(Error::Conflict { option: "geographic", with });
        }
        let needs = Needs::of(params);
        let parts = [
            (needs.tiles, self.to_tile.is_some(), "all pairs"),
            (needs.trees, self.trees.is_some(), "neighbours, statistics or adaptive power"),
        ];
        match parts.into_iter().find(|(is_needed, is_there, _)| *is_needed && !is_there) {
            Some((_, _, option)) if !self.is_empty() => Err(Error::Conflict { option, with }),
            _ => Ok(()),
        }
    }

    /// The part for all pairs, which a checked call has.
    pub(super) fn tiled(&self) -> Result<&Tiled> {
        let missing = Error::Conflict { option: "all pairs", with: "this index" };
        self.to_tile.as_ref().ok_or(missing)
    }

    /// The part for neighbours, which a checked call has.
    pub(super) fn trees(&self) -> Result<&Trees> {
        let missing = Error::Conflict { option: "neighbours", with: "this index" };
        self.trees.as_ref().ok_or(missing)
    }

    /// Values in some order as a search takes them.
    pub(super) fn values_as<'a>(&'a self, values: &'a Column<f64>) -> Values<'a> {
        Values {
            of_points: values.input(),
            ranges: self.ranges.input(),
            columns: self.about.ranges.len() as u32,
            points: self.len() as u32,
        }
    }

    /// Returns the sum of the first value less its offset, the sum of the squared differences from the mean, and the
    /// lowest and the highest first value. The extent may be wider than these two.
    pub(super) fn moments(&self, workspace: &mut Workspace) -> Result<Column<f64>> {
        let gpu = workspace.gpu().clone();
        let (n, len) = (self.len(), self.len() as u64);
        let (values, offset) = (self.values.input(), self.about.range(0).offset);
        // SAFETY: all columns have an element for each point, and are written before they are read.
        unsafe {
            let mut rest = gpu.uninitialized::<f64>(n)?;
            let mut sums = gpu.uninitialized::<f64>(4)?;
            let blocks = Blocks::for_each(&take_off, len)?;
            let arguments = take_off::Args { values, len, offset, to: rest.output() };
            gpu.enqueue(take_off, blocks, arguments)?;
            gpu_scan::gpu::reduce(workspace, Sum, &rest, sums.slice_mut(0..1)?)?;
            let arguments =
                square_deviations::Args { numbers: rest.output(), len, sum: sums.input() };
            gpu.enqueue(square_deviations, blocks, arguments)?;
            gpu_scan::gpu::reduce(workspace, Sum, &rest, sums.slice_mut(1..2)?)?;
            let first = self.values.slice(0..n)?;
            gpu_scan::gpu::reduce(workspace, Min, first, sums.slice_mut(2..3)?)?;
            gpu_scan::gpu::reduce(workspace, Max, first, sums.slice_mut(3..4)?)?;
            Ok(sums)
        }
    }
}

/// The ranges of all values, in device memory: they come as arguments of launches.
fn ranges_of(gpu: &Gpu, about: &About) -> Result<Column<f64>> {
    let columns = about.padded();
    // SAFETY: each launch writes three numbers for each of up to four columns.
    unsafe {
        let mut all = gpu.uninitialized::<f64>(3 * columns)?;
        for first in (0..columns).step_by(4) {
            let values = u32::min(4, (columns - first) as u32);
            let mut ranges = [0.0; 12];
            for (three, column) in ranges.chunks_exact_mut(3).zip(first..) {
                let Range { offset, low, high } = about.range(column);
                three.copy_from_slice(&[offset, low, high]);
            }
            let to = all.slice_mut(3 * first..3 * (first + values as usize))?.output();
            gpu.enqueue(write_ranges, Blocks::x(1), write_ranges::Args { ranges, values, to })?;
        }
        Ok(all)
    }
}

/// The points, and what both sorts need of them.
struct Source<'a> {
    about: &'a About,
    points: &'a DevicePoints<'a>,
    /// On the sphere longitudes and latitudes, and the unit vectors.
    on_sphere: Option<[Column<f64>; 2]>,
}

impl<'a> Source<'a> {
    fn new(gpu: &Gpu, about: &'a About, points: &'a DevicePoints<'a>) -> Result<Self> {
        let (count, geographic) = (points.len() as u64, about.ground.geographic);
        let (x, y) = (Some(points.x().input()), Some(points.y().input()));
        let on_sphere = match geographic {
            true => {
                let all = Targets { x, y, count, width: 1, height: 1, grid: [0.0; 3] };
                Some(on_sphere(gpu, all)?)
            }
            false => None,
        };
        Ok(Self { about, points, on_sphere })
    }

    /// x and y, or longitude and latitude.
    fn positions(&self) -> Result<Places<'_>> {
        match &self.on_sphere {
            Some([degrees, _]) => Ok(Slice::from(degrees).split_at(self.points.len())?),
            None => Ok((self.points.x(), self.points.y())),
        }
    }

    /// The points in the order of a tree.
    fn in_tree(&self, workspace: &mut Workspace, bounds: Bounds) -> Result<Trees> {
        let gpu = workspace.gpu().clone();
        match &self.on_sphere {
            Some([_, vectors]) => {
                let all = sort::columns(vectors, 3)?;
                let tree = globe_index(workspace, [all[0], all[1], all[2]])?;
                let values = self.values(&gpu, Some(tree.order()))?;
                Ok(Trees::Globe(tree, values))
            }
            None => {
                let tree = index_unchecked(workspace, self.points.x(), self.points.y(), bounds)?;
                let values = self.values(&gpu, Some(tree.order()))?;
                Ok(Trees::Plane(tree, values))
            }
        }
    }

    /// The places in an order.
    fn places(&self, gpu: &Gpu, order: &Column<u32>) -> Result<Column<f64>> {
        match &self.on_sphere {
            Some([_, vectors]) => sort::in_order(gpu, order, &sort::columns(vectors, 3)?),
            None => sort::in_order(gpu, order, &[self.points.x(), self.points.y()]),
        }
    }

    /// The values in an order, or their own, with columns of zeros that fill up.
    fn values(&self, gpu: &Gpu, order: Option<&Column<u32>>) -> Result<Column<f64>> {
        let (n, columns) = (self.points.len(), self.points.values());
        let all = self.about.padded() * n;
        // SAFETY: as above; what is not gathered is filled.
        unsafe {
            let mut values = gpu.uninitialized::<f64>(all)?;
            for (v, &column) in columns.iter().enumerate() {
                sort::gather(gpu, order, column, values.slice_mut(v * n..(v + 1) * n)?)?;
            }
            let given = columns.len() * n;
            if given < all {
                let rest = values.slice_mut(given..all)?.as_mut_ptr();
                gpu.fill_with_byte(rest, 0, all - given)?;
            }
            Ok(values)
        }
    }

    fn along_curve(&self, workspace: &mut Workspace) -> Result<Tiled> {
        let gpu = workspace.gpu().clone();
        let extent = self.about.ground.bounds.map_or([0.0; 4], |b| {
            let Bounds { min_x, min_y, max_x, max_y } = b;
            [min_x, max_x, min_y, max_y]
        });
        let order = sort::along_curve(workspace, self.positions()?, extent)?;
        let (places, values) = (self.places(&gpu, &order)?, self.values(&gpu, Some(&order))?);
        let reaches = match self.on_sphere {
            Some(_) => gpu.zeroed(0)?,
            None => measure(&gpu, self.about, &places)?,
        };
        Ok(Tiled { order, places, values, reaches })
    }
}

/// How far the points of each tile are from its origin.
fn measure(gpu: &Gpu, about: &About, places: &Column<f64>) -> Result<Column<f32>> {
    let points = about.ground.count as u32;
    let tiles = points.div_ceil(TILE);
    // SAFETY: every element is written; the places are two columns of points.
    unsafe {
        let mut reaches = gpu.uninitialized::<f32>(tiles as usize)?;
        let arguments = measure_tiles::Args {
            places: places.input(),
            points,
            frame: Frame { centre: about.centre, scale: 1.0 / about.ground.unit() },
            reaches: reaches.output(),
        };
        gpu.enqueue(measure_tiles, Blocks::x(tiles), arguments)?;
        Ok(reaches)
    }
}
