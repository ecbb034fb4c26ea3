//! The sites that have no star yet, with their neighbours: see `kernels_rs::stars::part`.

use gpu_core::Blocks;
use gpu_scan::gpu::{Workspace, gather, select_flagged, sequence};
use kernels_rs::stars::{PartStars, Rough, mark_part, take_stars};
use quadtree_sort::gpu::DeviceIndex;

use super::Stars;
use crate::Result;

/// A part of sites, in their order. Its index has their numbers among all.
pub(super) struct Part(pub(super) DeviceIndex<f64>);

impl Part {
    /// Takes the sites that have no star yet, and their neighbours. `None` if these are more than half of all. Waits.
    pub fn of(
        workspace: &mut Workspace,
        sites: &DeviceIndex<f64>,
        rough: Rough<'_>,
    ) -> Result<Option<Self>> {
        let (gpu, len) = (workspace.gpu().clone(), sites.len());
        // SAFETY: lengths are as the kernel needs them, and each column is written before it is read.
        unsafe {
            let mut flags = gpu.uninitialized::<u8>(len)?;
            let arguments = mark_part::Args { rough, flags: flags.output() };
            gpu.enqueue(mark_part, Blocks::for_each(&mark_part, len as u64)?, arguments)?;
            let (mut all, mut marked) = (gpu.uninitialized(len)?, gpu.uninitialized(len)?);
            let mut count = gpu.zeroed::<u64>(1)?;
            sequence(workspace, 0_u32, 1, &mut all)?;
            select_flagged(workspace, &flags, &all, &mut marked, &mut count)?;
            let count = count.to_host()?[0] as usize;
            if count > len / 2 {
                return Ok(None);
            }
            let mut numbers = gpu.uninitialized(count)?;
            numbers.copy_from(marked.slice(0..count)?)?;
            let (mut x, mut y) = (gpu.uninitialized(count)?, gpu.uninitialized(count)?);
            gather(workspace, &numbers, sites.x(), &mut x)?;
            gather(workspace, &numbers, sites.y(), &mut y)?;
            Ok(Some(Self(DeviceIndex::over(&gpu, (x, y, numbers), sites.bounds())?)))
        }
    }

    /// Gives all sites that have no star theirs, of the stars of the part. Enqueues and returns.
    pub fn give(&self, stars: &Stars, rough: Rough<'_>) -> Result<()> {
        let len = self.0.len();
        let part = PartStars {
            numbers: self.0.order().input(),
            starts: stars.starts.input(),
            neighbours: stars.neighbours.input(),
            sites: len as u32,
        };
        let blocks = Blocks::for_each(&take_stars, len as u64)?;
        // SAFETY: lengths are as the kernel needs them.
        unsafe { self.0.x().gpu().enqueue(take_stars, blocks, take_stars::Args { part, rough })? };
        Ok(())
    }
}
