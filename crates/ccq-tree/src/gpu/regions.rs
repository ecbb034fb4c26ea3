//! Connected regions of what a search finds, joined on the device.

use gpu_core::Blocks;
use gpu_scan::gpu::Workspace;
use kernels_rs::ccq::regions as kernels;

use super::query::Condition;
use super::results::DeviceRuns;
use crate::{Connectivity, Query, Regions, Result};

/// Returns the connected regions of the cells that satisfy all conditions, as [`regions`](crate::regions()) gives them
/// on the host. The host needs the runs and their regions and waits for them, so a graph cannot hold this call.
///
/// Example: see [`regions`](crate::regions()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// The errors of [`runs`](super::runs).
pub fn regions(
    workspace: &mut Workspace,
    conditions: &[Condition<'_>],
    query: &Query,
    connectivity: Connectivity,
) -> Result<Regions> {
    let gpu = workspace.gpu().clone();
    let Some(found) = DeviceRuns::find(workspace, conditions, query)? else {
        return Ok(Regions::default());
    };
    let len = found.runs.len() as u32;
    if len == 0 {
        return Ok(Regions::default());
    }
    // SAFETY: the first kernel writes all.
    let mut parents = unsafe { gpu.uninitialized::<u32>(len as usize)? };
    let own = kernels::own_parents::Args { len, parents: parents.output() };
    let blocks = Blocks::for_each(&kernels::own_parents, len.into())?;
    // SAFETY: there is a parent for each run, and a row for each number.
    unsafe {
        gpu.enqueue(kernels::own_parents, blocks, own)?;
        let join = kernels::join_runs::Args {
            runs: found.runs.input().cast(),
            len,
            rows: found.rows.input(),
            height: found.rows.len() as u32 - 1,
            reach: connectivity.reach(),
            parents: parents.output(),
        };
        gpu.enqueue(kernels::join_runs, blocks, join)?;
        let find = kernels::find_roots::Args { len, parents: parents.output() };
        gpu.enqueue(kernels::find_roots, blocks, find)?;
    }
    Regions::of_roots(found.to_host()?, parents.to_host()?)
}
