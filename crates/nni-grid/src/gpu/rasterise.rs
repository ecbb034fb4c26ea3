//! From points to the mask and the values of sites.

use gpu_core::{Blocks, Column, DeviceGrid, Gpu, GridSpec, Slice};
use kernels_rs::nni as kernels;

use super::group::Group;
use crate::{Duplicates, Params, Result};

/// Part of the points, in device memory.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub x: Slice<'a, f64>,
    pub y: Slice<'a, f64>,
    /// The first value of each.
    pub z: Slice<'a, f64>,
    /// From a point's value to its next.
    pub plane: u64,
    /// The index of its first point among all.
    pub first: u64,
}

/// What the kernels count, and the index of the first bad point.
#[derive(Debug)]
pub(super) struct Tallies {
    pub counts: Column<u64>,
    pub first_bad: Column<i64>,
}

impl Tallies {
    pub fn new(gpu: &Gpu) -> Result<Self> {
        let first_bad = gpu.filled_with_byte(0x7f, 1)?;
        Ok(Self { counts: gpu.zeroed(kernels::TALLIES)?, first_bad })
    }
}

/// The pixels of the Voronoi raster while points merge into them.
pub(super) struct Pixels {
    words: Column<i64>,
    raster: GridSpec,
    policy: u32,
}

impl Pixels {
    /// Pixels without points, with a word for each of so many values.
    pub fn new(gpu: &Gpu, params: &Params, values: usize) -> Result<Self> {
        let raster = params.raster()?;
        let policy = policy_of(params.duplicates);
        let neutral = kernels::neutral_byte(policy);
        let words = gpu.filled_with_byte(neutral, raster.cells() as usize * values)?;
        Ok(Self { words, raster, policy })
    }

    /// Merges points into their pixels.
    pub fn merge(
        &mut self,
        gpu: &Gpu,
        part: Part,
        group: &Group,
        tallies: &mut Tallies,
    ) -> Result<()> {
        let (raster, points) = (self.raster, part.x.len() as u64);
        let kernel = group.kernels.accumulate_points;
        // SAFETY: lengths are as the kernel asks.
        unsafe {
            gpu.launch(
                kernel,
                Blocks::for_each(&kernel, points)?,
                0,
                (
                    part.x.as_ptr(),
                    part.y.as_ptr(),
                    part.z.as_ptr(),
                    part.plane,
                    points,
                    part.first,
                    raster.origin_x,
                    raster.origin_y,
                    raster.cell_size,
                    raster.width,
                    raster.height,
                    group.scales.as_ptr(),
                    self.policy,
                    self.words.as_mut_ptr(),
                    tallies.counts.as_mut_ptr(),
                    tallies.first_bad.as_mut_ptr(),
                ),
            )?;
        }
        Ok(())
    }

    /// The mask of the occupied pixels, and their values. `all` are the points that were merged.
    pub fn resolve(
        self,
        gpu: &Gpu,
        all: Part,
        group: &Group,
        tallies: &mut Tallies,
    ) -> Result<(DeviceGrid<u8>, Column<i32>)> {
        let pixels = self.raster.cells();
        // SAFETY: lengths are as the kernel asks; `mask` and `values` are written whole; words of
        // first and last points are indices into all of them. What is dropped here is released on
        // the stream, after the launch.
        unsafe {
            let mut mask = gpu.uninitialized::<u8>(pixels as usize)?;
            let mut values = gpu.uninitialized::<i32>(self.words.len())?;
            let threads = (self.words.len() as u64).div_ceil(kernels::RESOLVED);
            let kernel = group.kernels.resolve_sites;
            gpu.launch(
                kernel,
                Blocks::for_each(&kernel, threads)?,
                kernels::SUM_SHARED,
                (
                    self.words.as_ptr(),
                    all.z.as_ptr(),
                    all.plane,
                    group.scales.as_ptr(),
                    self.policy,
                    pixels,
                    mask.as_mut_ptr(),
                    values.as_mut_ptr(),
                    tallies.counts.as_mut_ptr(),
                ),
            )?;
            if self.policy == kernels::MEAN && all.x.len() as u64 > kernels::UNCROWDED {
                self.recount(gpu, all, group, tallies, &mut mask, &mut values)?;
            }
            Ok((DeviceGrid::new(mask, self.raster.width, self.raster.height)?, values))
        }
    }

    /// Counts again, on the device's own decision, where a pixel has more points than a word counts.
    fn recount(
        &self,
        gpu: &Gpu,
        all: Part,
        group: &Group,
        tallies: &mut Tallies,
        mask: &mut Column<u8>,
        values: &mut Column<i32>,
    ) -> Result<()> {
        // The kernels mostly return at once.
        const RESIDENT: u32 = 4;
        let blocks = Blocks::x(gpu.multiprocessors() * RESIDENT);
        let (raster, pixels) = (self.raster, self.raster.cells());
        let (points, values_of) = (all.x.len() as u64, group.kernels.values as u32);
        let flags = tallies.counts.as_mut_ptr();
        // SAFETY: lengths are as the kernels ask; the arrays are cleared before they are counted in,
        // by the same decision.
        unsafe {
            let mut counts = gpu.uninitialized::<u32>(pixels as usize)?;
            let mut sums = gpu.uninitialized::<i64>(self.words.len())?;
            let (count, sum) = (counts.as_mut_ptr(), sums.as_mut_ptr());
            let flags_only = flags.cast_const();
            let arguments = (flags_only, points, count, sum, values_of, pixels);
            gpu.launch(kernels::clear_crowded, blocks, 0, arguments)?;
            gpu.launch(
                kernels::accumulate_crowded,
                blocks,
                0,
                (
                    flags_only,
                    all.x.as_ptr(),
                    all.y.as_ptr(),
                    all.z.as_ptr(),
                    points,
                    raster.origin_x,
                    raster.origin_y,
                    raster.cell_size,
                    raster.width,
                    raster.height,
                    group.scales.as_ptr(),
                    values_of,
                    count,
                    sum,
                ),
            )?;
            let (mask, values) = (mask.as_mut_ptr(), values.as_mut_ptr());
            gpu.launch(
                kernels::resolve_crowded,
                blocks,
                0,
                (
                    flags,
                    points,
                    count.cast_const(),
                    sum.cast_const(),
                    values_of,
                    pixels,
                    mask,
                    values,
                ),
            )?;
        }
        Ok(())
    }
}

fn policy_of(duplicates: Duplicates) -> u32 {
    match duplicates {
        Duplicates::Mean => kernels::MEAN,
        Duplicates::Min => kernels::MIN,
        Duplicates::Max => kernels::MAX,
        Duplicates::First => kernels::FIRST,
        Duplicates::Last => kernels::LAST,
    }
}
