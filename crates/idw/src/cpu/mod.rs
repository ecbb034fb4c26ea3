//! Inverse distance weighting on the CPU, on all cores.
//!
//! Plan: points are sorted (`index`); then either every point counts for every target
//! (`pairs`, in vectors of targets), or each target searches the index for its neighbours
//! (`neighbours`).

mod careful;
mod double;
mod doubt;
mod frame;
mod globe;
mod index;
mod lanes;
mod near;
mod neighbours;
mod pairs;
mod tree;

use gpu_core::parallel::{self, FINE};
use gpu_core::{Progress, host_memory};

use crate::points::Data;
use crate::{Input, Number, Params, Result, Statistics, Summary, Surface, Targets};
use crate::{expansion, statistics};

use index::Index;
use neighbours::Found;

/// Targets between two reports of progress.
const BAND: usize = 1 << 16;

/// [`interpolate`](crate::interpolate) on the CPU.
///
/// # Errors
/// As [`interpolate`](crate::interpolate).
pub fn interpolate<T: Number>(
    input: Input,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Surface<T>> {
    params.check()?;
    let Input { points, targets } = input;
    let data = Data::of(points, params)?;
    targets.check(params.geographic)?;
    let (count, columns) = (targets.len() as usize, data.values.len());
    host_memory::require((count * columns * size_of::<T>()) as u64)?;
    let mut values = Vec::with_capacity(columns);
    for _ in 0..columns {
        values.push(host_memory::filled(T::from_f64(f64::NAN), count)?);
    }
    let mut found = Vec::new();
    let too_few = params.is_all_pairs() && params.min_points as usize > data.len();
    if data.len() > 0 && count > 0 && !too_few {
        let to_search = || Index::to_search(&data, params.geographic);
        let exponents = exponents(&data, targets, params, false);
        let exponents = exponents.as_deref();
        if params.is_all_pairs() {
            let index = Index::to_tile(&data, params.geographic);
            pairs::interpolate(&index, targets, params, exponents, &mut values, progress)?;
            if params.statistics {
                let nearest = params.of_nearest();
                let index = to_search();
                found = search::<T>(&index, targets, &nearest, false, None, &mut [], progress)?;
            }
        } else {
            let index = to_search();
            found = search(&index, targets, params, false, exponents, &mut values, progress)?;
        }
    }
    let statistics = params.statistics.then(|| match () {
        () if found.is_empty() => all_missing(count),
        () if params.is_all_pairs() => of_all(&data, &found),
        () => of_neighbours(&found),
    });
    let missing = parallel::count(count, FINE, |i| values[0][i].is_missing());
    let nodata = T::from_f64(params.nodata);
    values.iter_mut().flatten().filter(|v| v.is_missing()).for_each(|v| *v = nodata);
    let summary = Summary { points: points.x.len() as u64, skipped: data.skipped, nodata: missing };
    Ok(Surface { values, grid: targets.grid(), statistics, summary })
}

/// Minus half the power of each target, where that is adaptive.
fn exponents(data: &Data, targets: Targets, params: &Params, leave_out: bool) -> Option<Vec<f64>> {
    let how = params.adaptive?;
    let index = &Index::to_search(data, params.geographic);
    let pattern = data.ground.pattern(how, leave_out);
    let params = params.of_pattern(how);
    let power = |scratch: &mut neighbours::Scratch, i: usize| {
        let left_out = leave_out.then_some(i as u32);
        let found = neighbours::around(index, &params, targets.place(i), left_out, scratch);
        -0.5 * pattern.power(found.distance)
    };
    Some(parallel::map_init(targets.len() as usize, 64, Default::default, power))
}

/// The neighbours of every target, and their values; `exponents`, where each target has a power of its
/// own.
fn search<T: Number>(
    index: &Index,
    targets: Targets,
    params: &Params,
    leave_out: bool,
    exponents: Option<&[f64]>,
    values: &mut [Vec<T>],
    progress: &dyn Progress,
) -> Result<Vec<Found>> {
    let count = targets.len() as usize;
    let mut all = host_memory::with_capacity(if params.statistics { count } else { 0 })?;
    for first in (0..count).step_by(BAND) {
        progress.at("interpolate", first as f64 / count as f64)?;
        let columns = values.len();
        let of_target = |scratch: &mut neighbours::Scratch, i: usize| {
            let i = first + i;
            let left_out = leave_out.then_some(i as u32);
            let power = exponents.map_or(params.power, |all| -2.0 * all[i]);
            let params = &params.power(power);
            let found = neighbours::around(index, params, targets.place(i), left_out, scratch);
            let values: Vec<f64> = (0..columns).map(|v| scratch.value(index, params, v)).collect();
            (found, values)
        };
        let band = BAND.min(count - first);
        let done = parallel::map_init(band, 64, Default::default, of_target);
        for (i, (found, of_target)) in (first..).zip(done) {
            for (column, value) in values.iter_mut().zip(of_target) {
                column[i] = T::from_f64(value);
            }
            if params.statistics {
                all.push(found);
            }
        }
    }
    progress.at("interpolate", 1.0)?;
    Ok(all)
}

fn all_missing<T: Number>(count: usize) -> Statistics<T> {
    let missing = || vec![T::from_f64(f64::NAN); count];
    Statistics {
        count: vec![0; count],
        min: missing(),
        max: missing(),
        mean: missing(),
        deviation: missing(),
        nearest_distance: missing(),
    }
}

fn of_all<T: Number>(data: &Data, found: &[Found]) -> Statistics<T> {
    let nearest = found.iter().map(|f| T::from_f64(f.nearest)).collect();
    let moments = statistics::moments(&data.values[0], data.ranges[0].offset);
    Statistics::constant(data.len() as u32, data.ranges[0], moments, nearest)
}

fn of_neighbours<T: Number>(found: &[Found]) -> Statistics<T> {
    let column = |of: fn(&Found) -> f64| found.iter().map(|f| T::from_f64(of(f))).collect();
    Statistics {
        count: found.iter().map(|f| f.count).collect(),
        min: column(|f| f.min),
        max: column(|f| f.max),
        mean: column(|f| f.mean),
        deviation: column(|f| f.deviation),
        nearest_distance: column(|f| f.nearest),
    }
}

/// What the first value of each point would be without that point.
pub(crate) fn leave_one_out(
    data: &Data,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Vec<f64>> {
    let targets = data.as_targets();
    let mut values = vec![host_memory::filled(f64::NAN, data.len())?];
    let exponents = exponents(data, targets, params, true);
    if params.is_all_pairs() {
        let index = Index::to_tile(data, params.geographic);
        let points = data.len();
        let least = expansion::least_pairs_in_f64(points);
        if expansion::is_used(params, true, points, points as u64, least) {
            let exponents = exponents.as_deref();
            let found = pairs::leave_one_out(&index, targets, params, exponents, progress)?;
            return Ok(found.into_iter().map(f64::from).collect());
        }
        progress.at("cross-validate", 0.0)?;
        let value = |i: usize| {
            let exponent = exponents.as_ref().map_or(-0.5 * params.power, |all| all[i]);
            careful::value(&index, params, targets.place(i), Some(i as u32), exponent, 0)
        };
        values[0] = parallel::map(data.len(), 64, value);
        progress.at("cross-validate", 1.0)?;
    } else {
        let index = Index::to_search(data, params.geographic);
        let params = params.statistics(false);
        let exponents = exponents.as_deref();
        search(&index, targets, &params, true, exponents, &mut values, progress)?;
    }
    Ok(values.swap_remove(0))
}
