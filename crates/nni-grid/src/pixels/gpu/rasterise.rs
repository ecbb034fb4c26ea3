//! From points to the mask and the values of sites.

use gpu_core::{Blocks, Column, DeviceGrid, Gpu, GridSpec};
use kernels_rs::nni::{pixels as kernels, policies};

use super::group::Group;
use crate::Result;
use crate::exact::policy_of;
use crate::gpu::dem::Tallies;
use crate::gpu::points::Part;
use crate::params::OnGrid;

/// The pixels of the Voronoi raster while points merge into them.
pub(super) struct Pixels {
    words: Column<i64>,
    raster: GridSpec,
    policy: u32,
}

impl Pixels {
    /// Pixels without points, with a word for each value.
    pub fn new(gpu: &Gpu, params: &OnGrid, values: usize) -> Result<Self> {
        let raster = params.raster()?;
        let policy = policy_of(params.duplicates);
        let neutral = kernels::neutral_byte(policy);
        let words = gpu.filled_with_byte(neutral, raster.cells() as usize * values)?;
        Ok(Self { words, raster, policy })
    }

    /// Where the pixels lie, as the kernels take it.
    fn raster(&self) -> kernels::Raster {
        let GridSpec { origin_x, origin_y, cell_size, width, height, .. } = self.raster;
        kernels::Raster { origin_x, origin_y, pixel_size: cell_size, width, height }
    }

    /// Merges points into their pixels.
    pub fn merge(
        &mut self,
        gpu: &Gpu,
        part: Part,
        group: &Group,
        tallies: &mut Tallies,
    ) -> Result<()> {
        let points = part.x.len() as u64;
        use kernels::accumulate_points as accumulate;
        let kernel = group.instances.of([accumulate::one, accumulate::two, accumulate::four]);
        let arguments = accumulate::Args {
            points: part.input(),
            first: part.first,
            raster: self.raster(),
            scales: group.scales.input(),
            policy: self.policy,
            words: self.words.output(),
            tallies: tallies.counts.output(),
            first_bad: tallies.first_bad.output(),
        };
        // SAFETY: lengths are as the kernel asks; pixels are checked against the raster.
        unsafe { gpu.enqueue(kernel, Blocks::for_each(&kernel, points)?, arguments)? };
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
            use kernels::resolve_sites as resolve;
            let kernel = group.instances.of([resolve::one, resolve::two, resolve::four]);
            let arguments = resolve::Args {
                words: self.words.input(),
                z: all.columns(),
                scales: group.scales.input(),
                policy: self.policy,
                pixels,
                mask: mask.output(),
                values: values.output(),
                tallies: tallies.counts.output(),
            };
            gpu.enqueue(kernel, Blocks::for_each(&kernel, threads)?, arguments)?;
            if self.policy == policies::MEAN && all.x.len() as u64 > kernels::UNCROWDED {
                self.recount(gpu, all, group, tallies, &mut mask, &mut values)?;
            }
            Ok((DeviceGrid::from_column(mask, self.raster)?, values))
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
        let pixels = self.raster.cells();
        let (points, value_count) = (all.x.len() as u64, group.instances.values() as u32);
        // SAFETY: lengths are as the kernels ask; the arrays are cleared before they are counted in,
        // by the same decision.
        unsafe {
            let mut counts = gpu.uninitialized::<u32>(pixels as usize)?;
            let mut sums = gpu.uninitialized::<i64>(self.words.len())?;
            gpu.enqueue(
                kernels::clear_crowded,
                blocks,
                kernels::clear_crowded::Args {
                    tallies: tallies.counts.input(),
                    points,
                    counts: counts.output(),
                    sums: sums.output(),
                    value_count,
                    pixels,
                },
            )?;
            gpu.enqueue(
                kernels::accumulate_crowded,
                blocks,
                kernels::accumulate_crowded::Args {
                    tallies: tallies.counts.input(),
                    points: all.input(),
                    raster: self.raster(),
                    scales: group.scales.input(),
                    value_count,
                    counts: counts.output(),
                    sums: sums.output(),
                },
            )?;
            gpu.enqueue(
                kernels::resolve_crowded,
                blocks,
                kernels::resolve_crowded::Args {
                    tallies: tallies.counts.output(),
                    points,
                    counts: counts.input(),
                    sums: sums.input(),
                    value_count,
                    pixels,
                    mask: mask.output(),
                    values: values.output(),
                },
            )?;
        }
        Ok(())
    }
}
