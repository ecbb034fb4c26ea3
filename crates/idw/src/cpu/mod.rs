//! Inverse distance weighting on the CPU, on all cores.
//!
//! Points are sorted (`index`). Then every point counts for every target (`pairs`), or the neighbours of each target
//! are searched (`search`). If a radius holds many points, there is no list of them: the sum runs as for all pairs,
//! with far points expanded (`pairs::limit`). If f32 or vectors may get a sum wrong, `f64_value` computes it again.

mod f64_value;
mod index;
mod pairs;
mod same_place;
mod search;

use gpu_core::parallel::{self, FINE};
use gpu_core::{Progress, host_memory};
use gpu_scan::{Max, Min, cpu};

use crate::points::{Data, check_targets};
use crate::statistics;
use crate::{Input, Number, Params, Part, Result, Statistics, Summary, Surface, Targets, Weight};

use index::Index;
use search::min_lists::LANES;
use search::neighbours::Found;
use search::patches::{Own, Patches};

/// Targets between two reports of progress.
const BAND: usize = 1 << 16;

/// [`interpolate`](crate::interpolate) on the CPU.
///
/// # Errors
/// The errors of [`interpolate`](crate::interpolate).
pub fn interpolate<T: Number>(
    input: Input,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Surface<T>> {
    params.check()?;
    let Input { points, targets } = input;
    let data = Data::of(points, params)?;
    data.require_type::<T>(params)?;
    check_targets(targets, params.geographic)?;
    let count = targets.len() as usize;
    let mut values = no_values::<T>(&data, count)?;
    let mut found = Vec::new();
    let too_few = params.is_all_pairs() && params.min_points as usize > data.len();
    if data.len() > 0 && count > 0 && !too_few {
        let to_search = || Index::to_search(&data, params.geographic);
        let exponents = exponents(&data, targets, params, false);
        let exponents = exponents.as_deref();
        if params.is_all_pairs() {
            let index = Index::to_tile(&data, params.geographic);
            pairs::interpolate(&index, targets, params, exponents, &mut values, None, progress)?;
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
    statistics.iter().try_for_each(Statistics::require_finite)?;
    let missing = parallel::count(count, FINE, |i| values[0][i].is_missing());
    let nodata = T::from_f64(params.nodata);
    values.iter_mut().flatten().filter(|v| v.is_missing()).for_each(|v| *v = nodata);
    let summary = Summary { points: points.x.len() as u64, skipped: data.skipped, nodata: missing };
    Ok(Surface { values, grid: targets.grid(), statistics, summary })
}

/// [`part`](crate::part) on the CPU.
///
/// # Errors
/// The errors of [`part`](crate::part).
pub fn part<T: Number>(input: Input, params: &Params, progress: &dyn Progress) -> Result<Part<T>> {
    params.check_part()?;
    let Input { points, targets } = input;
    let data = Data::of(points, params)?;
    data.require_type::<T>(params)?;
    check_targets(targets, params.geographic)?;
    let count = targets.len() as usize;
    let mut values = no_values(&data, count)?;
    let mut weights = host_memory::filled(Weight::NONE, count)?;
    if data.len() > 0 && count > 0 {
        let index = Index::to_tile(&data, params.geographic);
        let of_targets = Some(&mut weights[..]);
        pairs::interpolate(&index, targets, params, None, &mut values, of_targets, progress)?;
    }
    let nodata = parallel::count(count, FINE, |i| !weights[i].is_some());
    let summary = Summary { points: points.x.len() as u64, skipped: data.skipped, nodata };
    Ok(Part { values, weights, grid: targets.grid(), summary })
}

/// Allocates columns for the values of `count` targets.
fn no_values<T: Number>(data: &Data, count: usize) -> Result<Vec<Vec<T>>> {
    let columns = data.values.len();
    host_memory::require((count * columns * size_of::<T>()) as u64)?;
    let column = || host_memory::filled(T::from_f64(f64::NAN), count);
    Ok((0..columns).map(|_| column()).collect::<gpu_core::Result<_>>()?)
}

/// Minus half the power of each target, where that is adaptive.
fn exponents(data: &Data, targets: Targets, params: &Params, leave_out: bool) -> Option<Vec<f64>> {
    let how = params.adaptive?;
    let index = &Index::to_search(data, params.geographic);
    let pattern = data.ground.pattern(how, leave_out);
    let params = params.of_pattern(how);
    let patches = Patches::new(index, targets, &params, leave_out);
    let mut exponents = vec![0.0; targets.len() as usize];
    let powers = patches.map(0..patches.len(), |own, patch| {
        let mut powers = Vec::with_capacity(LANES);
        patches.each(own, patch, |scratch, _| {
            powers.push(-0.5 * pattern.power(scratch.found(index, &params).distance));
        })?;
        Some(powers)
    });
    for (patch, powers) in powers.iter().enumerate() {
        patches.targets(patch).zip(powers).for_each(|(i, &power)| exponents[i] = power);
    }
    Some(exponents)
}

/// The results of a patch: the values of its targets one after the other, and, if they are wanted, their statistics.
#[derive(Default)]
struct Made {
    values: Vec<f64>,
    found: Vec<Found>,
    /// Targets whose points are summed without a list, and which have no value yet.
    many: Vec<u32>,
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
    let mut all = match params.statistics {
        true => host_memory::filled(Found::default(), targets.len() as usize)?,
        false => Vec::new(),
    };
    let patches = Patches::new(index, targets, params, leave_out);
    let columns = values.len();
    let of_patch = |own: &mut Own, patch: usize| {
        if exponents.is_none() && !params.statistics {
            let values = patches.values(own, patch, params, columns)?;
            return Some(Made { values, many: std::mem::take(&mut own.many), ..Made::default() });
        }
        let mut made = Made::default();
        patches.each(own, patch, |scratch, i| {
            let power = exponents.map_or(params.power, |all| -2.0 * all[i]);
            made.many.extend(scratch.many.then_some(i as u32));
            scratch.weigh(&params.power(power));
            made.values.extend((0..columns).map(|v| scratch.value(index, v)));
            if params.statistics {
                made.found.push(scratch.found(index, params));
            }
        })?;
        Some(made)
    };
    let mut many = Vec::new();
    for first in (0..patches.len()).step_by(BAND / LANES) {
        progress.at("interpolate", first as f64 / patches.len() as f64)?;
        let band = first..patches.len().min(first + BAND / LANES);
        for (patch, made) in band.clone().zip(patches.map(band, of_patch)) {
            many.extend(made.many);
            let mut of_patch = made.values.iter();
            for (lane, i) in patches.targets(patch).enumerate() {
                for (column, &value) in values.iter_mut().zip(&mut of_patch) {
                    column[i] = T::from_f64(value);
                }
                if let (Some(all), Some(&found)) = (all.get_mut(i), made.found.get(lane)) {
                    *all = found;
                }
            }
        }
    }
    if !many.is_empty() {
        let index = Index::to_tile(index.data, index.geographic);
        match leave_out {
            false => pairs::within(&index, targets, &many, params, exponents, values, progress)?,
            // All points, not only `many`: the targets of a chunk must leave out points that follow one another.
            true => {
                let all =
                    pairs::leave_one_out_within(&index, targets, params, exponents, progress)?;
                many.iter().for_each(|&i| values[0][i as usize] = T::from_f64(all[i as usize]));
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
    let (values, offset) = (&data.values[0], data.ranges[0].offset);
    let [mean, deviation] = statistics::moments(values, offset);
    // `data.ranges` may be wider: the caller's range of the whole is in it.
    let (min, max) = (cpu::reduce(Min, values), cpu::reduce(Max, values));
    Statistics::constant(data.len() as u32, [min, max, mean, deviation], nearest)
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

/// Predicts the first value of each point from all others.
pub(crate) fn leave_one_out(
    data: &Data,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Vec<f64>> {
    let targets = data.as_targets();
    let exponents = exponents(data, targets, params, true);
    let exponents = exponents.as_deref();
    if params.is_all_pairs() {
        let index = Index::to_tile(data, params.geographic);
        return pairs::leave_one_out(&index, targets, params, exponents, progress);
    }
    let mut values = vec![host_memory::filled(f64::NAN, data.len())?];
    let index = Index::to_search(data, params.geographic);
    let params = params.statistics(false);
    search(&index, targets, &params, true, exponents, &mut values, progress)?;
    Ok(values.swap_remove(0))
}
