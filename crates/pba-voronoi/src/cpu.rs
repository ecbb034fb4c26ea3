//! Transforms on the CPU, on all cores.
//!
//! Plan. The squared distance splits into a part along the row and a part along the column:
//!
//! 1. Rows (`rows`), in parallel: for every pixel the column of the nearest site of its row, its
//!    *candidate*, in 16 bits where the raster is narrow enough.
//! 2. Columns, in parallel over strips of `STRIP` neighbouring columns, so that memory is touched
//!    by whole cache lines. Of the candidates of a column each row has a *winner*.
//!    - `walk`: where sites are near, eight rows and sixteen columns at a time, by a walk over the
//!      candidates from the last winners on; it is the GPU's `Monotone` without its coarse levels.
//!    - `envelope`: where they are far, and for whatever the walk does not serve, a stack of the
//!      candidates that win at all, in time independent of the distances. With
//!      `Algorithm::ScanPrune` everywhere.
//! 3. What is asked for is written along with the winners (`outputs`).
//!
//! All comparisons are in integers.

mod envelope;
mod outputs;
mod rows;
mod walk;

use std::ops::Range;

use gpu_core::{Progress, host_memory};
use rayon::prelude::*;

use crate::metric::Metric;
use crate::params::{Algorithm, MAX_PIXELS, check_raster};
use crate::transform::Wanted;
use crate::{Diagram, Error, Input, Integers, Outputs, Result, Sites, Transform, Voronoi};

use envelope::Envelope;
use outputs::Sinks;
use rows::Candidates;

/// Columns of a strip: a task's.
const STRIP: usize = 64;

/// How often a pass reports its progress, at most.
const REPORTS: usize = 32;

/// The exact Voronoi diagram of the sites (nonzero bytes) in a row-major mask, on all cores.
///
/// O(pixels) time. Beside mask and outputs it takes 2 bytes a pixel (4 in rasters wider than 60,000),
/// and, where sites are far apart, up to 12 bytes x 64 columns x rows per thread.
///
/// # Errors
/// As [`voronoi`](crate::voronoi).
pub fn voronoi(
    sites: &[u8],
    width: u32,
    height: u32,
    outputs: Outputs,
    progress: &dyn Progress,
) -> Result<Voronoi> {
    check_raster(sites, width, height)?;
    let mut wanted = Transform::new().nearest();
    wanted.wanted.squared = outputs.squared_distance;
    wanted.wanted.distance = outputs.distance;
    let diagram = transform(&wanted, &Input::new(Sites::Mask(sites), width, height), progress)?;
    let narrow = |numbers| match numbers {
        Some(Integers::U32(v)) => v,
        // Below MAX_PIXELS, so there is no other; without pixels there is nothing.
        _ => Vec::new(),
    };
    Ok(Voronoi {
        width,
        height,
        nearest: narrow(diagram.nearest),
        squared_distance: diagram.squared_distance.map(widened),
        distance: diagram.distance,
    })
}

/// The numbers in 64 bits.
pub(crate) fn widened(numbers: Integers) -> Vec<u64> {
    match numbers {
        Integers::U64(v) => v,
        Integers::U32(v) => {
            let widen = |&n: &u32| if n == u32::MAX { u64::MAX } else { n.into() };
            v.par_iter().map(widen).collect()
        }
    }
}

/// [`Transform::run`] on the CPU.
///
/// # Errors
/// As there.
pub(crate) fn transform(
    transform: &Transform,
    input: &Input<'_>,
    progress: &dyn Progress,
) -> Result<Diagram> {
    let pixels = input.check()?;
    let metric = transform.metric(input.width, input.height)?;
    host_memory::require(bytes_needed(input, &metric, transform.wanted))?;
    let mut wanted = transform.wanted;
    let keep_distance = wanted.distance;
    wanted.distance |= wanted.signed;
    let mut diagram = pass(transform.algorithm, wanted, input, metric, progress)?;
    if wanted.signed {
        let only = Wanted { distance: true, ..Wanted::default() };
        let others = Input { excluded: None, ..input.inverted() };
        let inside = pass(transform.algorithm, only, &others, metric, progress)?.distance;
        if let (Some(outside), Some(inside)) = (&diagram.distance, inside) {
            let mut signed = inside;
            signed.par_iter_mut().zip(outside).for_each(|(s, o)| *s = o - *s);
            diagram.signed_distance = Some(signed);
        }
        if !keep_distance {
            diagram.distance = None;
        }
    }
    debug_assert!(diagram.nearest.as_ref().is_none_or(|n| n.len() == pixels));
    Ok(diagram)
}

/// Bytes that a call takes at its peak.
fn bytes_needed(input: &Input<'_>, metric: &Metric, wanted: Wanted) -> u64 {
    let (columns, rows) = (u64::from(input.width), u64::from(input.height));
    let pixels = columns * rows;
    let index = if pixels > MAX_PIXELS { 8 } else { 4 };
    let square = if metric.is_narrow { 4 } else { 8 };
    let asked = [
        (wanted.nearest, index),
        (wanted.coordinates, 8),
        (wanted.squared, square),
        (wanted.distance || wanted.signed, 4),
        (wanted.distance_f64, 8),
        (wanted.signed, 4),
        (wanted.value, 4),
        (wanted.label, 4),
    ];
    let written: u64 = asked.iter().filter(|(asked, _)| *asked).map(|(_, bytes)| bytes).sum();
    let candidate = if metric.is_narrow { 2 } else { 4 };
    let listed = if matches!(input.sites, Sites::List { .. }) { pixels / 8 } else { 0 };
    let strips = columns.div_ceil(STRIP as u64).min(rayon::current_num_threads() as u64);
    pixels * (candidate + written) + listed + strips * rows * STRIP as u64 * 12
}

/// One diagram, and what is asked of it.
fn pass(
    algorithm: Algorithm,
    wanted: Wanted,
    input: &Input<'_>,
    metric: Metric,
    progress: &dyn Progress,
) -> Result<Diagram> {
    let pixels = input.check()?;
    let values = if wanted.value { input.value_raster(pixels)? } else { None };
    let mut sinks = Sinks::new(wanted, input, metric, values.as_deref(), pixels)?;
    if pixels > 0 {
        if metric.is_narrow {
            let candidates = Candidates::<u16>::find(input, progress)?;
            columns(algorithm, &candidates, metric, &sinks, progress)?;
        } else {
            let candidates = Candidates::<u32>::find(input, progress)?;
            columns(algorithm, &candidates, metric, &sinks, progress)?;
        }
    }
    Ok(sinks.take(metric))
}

/// The column pass.
fn columns<C: rows::Column>(
    algorithm: Algorithm,
    candidates: &Candidates<C>,
    metric: Metric,
    sinks: &Sinks<'_>,
    progress: &dyn Progress,
) -> Result<()> {
    let width = candidates.width as usize;
    let strips = width.div_ceil(STRIP);
    for band in bands(strips) {
        report(progress, "voronoi columns", band.start, strips)?;
        band.into_par_iter().try_for_each_init(Vec::new, |envelopes, strip| {
            let first = strip * STRIP;
            let columns = first..(first + STRIP).min(width);
            // SAFETY: no other task has these columns.
            let done = algorithm != Algorithm::ScanPrune
                && unsafe { walk::strip(candidates, columns.clone(), metric, sinks) };
            if done {
                return Ok(());
            }
            // SAFETY: likewise.
            unsafe { Envelope::strip(candidates, columns, metric, sinks, envelopes) }
        })?;
    }
    report(progress, "voronoi columns", strips, strips)
}

/// At most [`REPORTS`] ranges of nearly equal length that make up `0..count`.
fn bands(count: usize) -> impl Iterator<Item = Range<usize>> {
    let length = count.div_ceil(REPORTS).max(1);
    (0..count).step_by(length).map(move |start| start..(start + length).min(count))
}

/// Tells the caller that `done` of `count` parts of a stage are done.
fn report(progress: &dyn Progress, stage: &'static str, done: usize, count: usize) -> Result<()> {
    let fraction = done as f64 / count.max(1) as f64;
    if progress.report(stage, fraction).is_break() { Err(Error::Cancelled) } else { Ok(()) }
}
