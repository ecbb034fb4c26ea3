//! Diagrams by all pairs: the launches of `kernels_rs::sphere_qtm::baselines`.

use device_std::host::Kernel;
use gpu_core::{Blocks, Column, Gpu};
use kernels_rs::sphere_qtm::baselines::{self as kernels, BLOCK, GROUP, Narrow, SEVERAL};
use kernels_rs::sphere_qtm::outputs::Outputs;

use super::{DeviceDiagram, Places};
use crate::{Baseline, Method, Params, Result};

/// Blocks of the search in f64 for each multiprocessor.
const SEARCHES: u32 = 8;

pub(super) fn voronoi(
    gpu: &Gpu,
    places: &Places,
    params: &Params,
    diagram: &mut DeviceDiagram,
) -> Result<()> {
    let mut doubts = gpu.zeroed::<u64>(1)?;
    if params.wanted() > 1 {
        // SAFETY: there is no list.
        return unsafe { search_all(gpu, places, diagram, None, &doubts) };
    }
    let (kernel, cells_of_thread) = match params.method {
        Method::Baseline(Baseline::Global) => (kernels::compare_all::global, 1),
        Method::Baseline(Baseline::ReadOnly) => (kernels::compare_all::read_only, 1),
        Method::Baseline(Baseline::Shared) => (kernels::compare_all::shared, 1),
        _ => (kernels::compare_all::registers, SEVERAL),
    };
    // SAFETY: what is read are the elements that `doubts` counts.
    let mut doubtful = unsafe { gpu.uninitialized::<u64>(diagram.nearest.len())? };
    let Outputs { nearest, distance, .. } = diagram.outputs();
    let narrow = Narrow { numbers: places.narrow.input(), padded: places.narrow.len() as u32 };
    let arguments = kernels::compare_all::Args {
        sites: places.sites(),
        narrow,
        sites_of_group: GROUP,
        level: params.level.get(),
        nearest,
        distance,
        doubtful: doubtful.output(),
        doubts: doubts.output(),
    };
    let blocks = blocks_of(&kernel, params, cells_of_thread)?;
    // SAFETY: columns have an element for each cell, or for each padded site.
    unsafe {
        gpu.enqueue(kernel, blocks, arguments)?;
        search_all(gpu, places, diagram, Some(&doubtful), &doubts)
    }
}

/// Blocks of which each thread has some cells.
fn blocks_of<A>(kernel: &Kernel<A>, params: &Params, cells_of_thread: u32) -> Result<Blocks> {
    let of_block = u64::from(BLOCK * cells_of_thread);
    let blocks = params.level.cell_count().div_ceil(of_block);
    match i32::try_from(blocks) {
        Ok(blocks) => Ok(Blocks::x(blocks as u32)),
        Err(_) => Err(gpu_core::Error::LaunchTooLarge { kernel: kernel.host.name, blocks }.into()),
    }
}

/// Searches in f64 for the cells of a list, or for all where there is none.
///
/// # Safety
/// The list has as many cells of the diagram as the one element of `doubts` says.
unsafe fn search_all(
    gpu: &Gpu,
    places: &Places,
    diagram: &mut DeviceDiagram,
    doubtful: Option<&Column<u64>>,
    doubts: &Column<u64>,
) -> Result<()> {
    let arguments = kernels::search_all::Args {
        sites: places.sites(),
        level: diagram.level.get(),
        doubtful: doubtful.map(Column::input),
        doubts: doubts.input(),
        outputs: diagram.outputs(),
    };
    let blocks = Blocks::x(SEARCHES * gpu.multiprocessors().max(1));
    // SAFETY: the caller answers for the list; the outputs have an element for each cell.
    unsafe { gpu.enqueue(kernels::search_all, blocks, arguments)? };
    Ok(())
}
