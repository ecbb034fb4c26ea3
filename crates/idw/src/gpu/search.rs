//! Neighbours: the kernel that a search takes, and its numbers.

use gpu_core::{Blocks, Column, Gpu};
use kernels_rs::idw_neighbours::{flag, setup, shared_bytes, statistic};

use super::number::DeviceNumber;
use super::{DeviceTargets, Index, padded};
use crate::search::Search;
use crate::{Below, Params, Result, sphere};

/// The most points that a kernel keeps in registers.
const MOST_KEPT: u32 = 24;

/// The values of all targets from their neighbours, and statistics of those if they are asked for;
/// `exponents`, where each target has a power of its own. Enqueues and returns.
pub(super) fn interpolate<T: DeviceNumber>(
    gpu: &Gpu,
    index: &Index,
    targets: &DeviceTargets,
    params: &Params,
    leave_out: bool,
    exponents: Option<&Column<f64>>,
) -> Result<(Column<T>, Option<Column<T>>)> {
    let about = &index.points.about;
    let search = Search::of(params);
    let sorted = index.part(false)?;
    let count = targets.count as usize;
    let setup = gpu.enqueue_upload(&setup_numbers(index, targets, params, &search))?;
    let shape = [
        about.to_search.columns,
        about.to_search.rows,
        about.count as u32,
        params.law(),
        flags(&search, leave_out),
        about.ranges.len() as u32,
    ];
    let limits =
        [search.max_points, search.min_points, search.max_per_quadrant, search.min_per_quadrant];
    let (shape, limits) = (gpu.enqueue_upload(&shape)?, gpu.enqueue_upload(&limits)?);
    let kept = !search.quadrants && search.max_points.max(search.min_points) <= MOST_KEPT;
    let (kernel, size) = T::neighbours(kept.then_some(search.max_points));
    // SAFETY: every value of every target, and every statistic, is written, but for the columns that
    // only fill up; lengths are as the kernels ask; what is dropped is released on the stream.
    unsafe {
        let mut values = gpu.uninitialized::<T>(padded(about.ranges.len()) * count)?;
        let mut statistics = match params.statistics {
            true => Some(gpu.uninitialized::<T>(statistic::ALL * count)?),
            false => None,
        };
        gpu.launch(
            kernel,
            Blocks::for_each(&kernel, targets.count)?,
            shared_bytes(size),
            (
                sorted.starts.as_ptr(),
                sorted.order.as_ptr(),
                sorted.places.as_ptr(),
                index.points.values.as_ptr(),
                shape.as_ptr(),
                limits.as_ptr(),
                setup.as_ptr(),
                targets.positions(),
                targets.places(),
                targets.count,
                targets.width(),
                exponents.map_or(std::ptr::null(), Column::as_ptr),
                values.as_mut_ptr(),
                statistics.as_mut().map_or(std::ptr::null_mut(), Column::as_mut_ptr),
            ),
        )?;
        Ok((values, statistics))
    }
}

fn flags(search: &Search, leave_out: bool) -> u32 {
    let bit = |set: bool, flag: u32| if set { flag } else { 0 };
    bit(search.ellipse.is_some(), flag::ELLIPSE)
        | bit(search.quadrants, flag::QUADRANTS)
        | bit(leave_out, flag::LEAVE_OUT)
        | bit(search.below == Below::Nearest, flag::NEAREST_BELOW)
}

/// The numbers of a search, as `kernels_rs::idw_neighbours::setup` says.
fn setup_numbers(
    index: &Index,
    targets: &DeviceTargets,
    params: &Params,
    search: &Search,
) -> Vec<f64> {
    let about = &index.points.about;
    let cells = &about.to_search;
    let mut numbers = vec![0.0; setup::VALUES];
    let mut put = |at: usize, values: &[f64]| {
        numbers[at..at + values.len()].copy_from_slice(values);
    };
    put(setup::CELLS, &[cells.west, cells.south, cells.per_unit(), cells.cell]);
    put(setup::GRID, &targets.grid_numbers());
    let radius = if about.geographic { sphere::RADIUS } else { 0.0 };
    put(setup::LAW, &[params.smoothing * params.smoothing, -0.5 * params.power, radius]);
    put(setup::REACH, &[search.reach, search.arc]);
    put(setup::ELLIPSE, &search.extent);
    if let Some(e) = search.ellipse {
        put(setup::ELLIPSE + 2, &[e.xx, e.xy, e.yy]);
    }
    for range in &about.ranges {
        numbers.extend([range.offset, range.low, range.high]);
    }
    numbers
}
