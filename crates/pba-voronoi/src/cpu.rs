//! Transforms on the CPU, on all cores: rows first, then columns.
//!
//! In: sites, in an [`Input`]. Out: the outputs that [`Params`] names, for every pixel.
//!
//! ```text
//! rows      in parallel: for every pixel the column of the nearest site of its row, its candidate
//! columns   in parallel over strips of 64 columns, so that memory is touched by whole cache lines:
//!           of a column's candidates, one a row, each pixel has a winner
//! outputs   are written along with the winners
//! ```
//!
//! 1. `rows`: candidates have 16 bits if the raster is narrow enough. In a strip of a wider raster, columns have their
//!    numbers in the whole, here and below, and the nearest sites beyond the strip are candidates too.
//! 2. Winners are found in one of three ways:
//!    - `walk`: eight rows and sixteen columns at a time, by a walk over the candidates from the last winners on. It is
//!      the GPU's `Monotone` without its coarse levels: the winners of the row above are known.
//!    - `divide`: if a site is farther than 500 pixels, it halves blocks of rows, sixteen columns at a time.
//!    - `envelope`: for pixels that are not square and wide rasters, a stack of the candidates that win some row. With
//!      `Baseline::ScanPrune` everywhere.
//!
//! **Why it is right.** A squared distance is a part along the row plus a part along the column. So a row's nearest
//! site is its only candidate in a column. The winner's row never decreases down a column, since for two rows the
//! difference of their costs grows with y. `kernels_rs::voronoi::monotone` has the proof. All comparisons use integers,
//! and ties go to the lowest index, so all three ways give the same bits.
//!
//! **What it costs.** Time in proportion to the pixels. A walk compares the candidates from one winner to the next for
//! eight rows at once. Halving compares about ten candidates a pixel, whatever the distance of the sites.

mod divide;
mod envelope;
mod globe;
mod outputs;
mod rows;
mod walk;

use std::ops::Range;

use gpu_core::parallel::{FINE, for_each, map_init};
use gpu_core::{Progress, host_memory};

use crate::metric::Metric;
use crate::{Baseline, Diagram, Input, Method, Params, Result, Sites};

use envelope::Envelope;
pub use globe::geodesic;
#[cfg(feature = "ellipsoid")]
pub use globe::geodesic_on_ellipsoid;
use outputs::Sinks;
use rows::Candidates;

/// Columns of a strip, which is a task: 64 candidates of 16 bits are two cache lines.
const STRIP: usize = 64;

/// How often a pass reports its progress, at most.
const REPORTS: usize = 32;

/// Computes the [`transform`](crate::transform) on all cores of the CPU.
///
/// O(pixels) time. In addition to input and outputs, it takes 2 bytes a pixel, or 4 in rasters wider than 60,000. Where
/// sites are far apart it takes up to 12 bytes x 64 columns x rows per thread more.
///
/// # Errors
/// The errors of [`transform`](crate::transform).
pub fn transform(input: &Input<'_>, params: &Params, progress: &dyn Progress) -> Result<Diagram> {
    let metric = params.check(&input.shape())?;
    input.check_sites(false)?;
    host_memory::require(bytes_needed(input, &metric, params))?;
    let mut wanted = *params;
    wanted.distance |= wanted.signed_distance;
    let mut diagram = pass(&wanted, input, metric, progress)?;
    if wanted.signed_distance {
        let only = Params::new().method(params.method).distance();
        let others = Input { excluded: None, ..input.inverted() };
        let inside = pass(&only, &others, metric, progress)?.distance;
        if let (Some(outside), Some(mut signed)) = (&diagram.distance, inside) {
            let outside = outside.values();
            for_each(signed.values_mut(), FINE, |i, signed| *signed = outside[i] - *signed);
            diagram.signed_distance = Some(signed);
        }
        if !params.distance {
            diagram.distance = None;
        }
    }
    Ok(diagram)
}

/// Bytes that a call takes at its peak.
fn bytes_needed(input: &Input<'_>, metric: &Metric, params: &Params) -> u64 {
    let (columns, rows) = (u64::from(input.grid.width), u64::from(input.grid.height));
    let pixels = columns * rows;
    let written = params.bytes_of_pixel(input.shape().is_short(), metric.is_narrow);
    let candidate = if metric.is_narrow { 2 } else { 4 };
    let listed = if matches!(input.sites, Sites::List { .. }) { pixels / 8 } else { 0 };
    let strips = columns.div_ceil(STRIP as u64).min(rayon::current_num_threads() as u64);
    pixels * (candidate + written) + listed + strips * rows * STRIP as u64 * 12
}

/// One diagram; signed distances take two.
fn pass(
    params: &Params,
    input: &Input<'_>,
    metric: Metric,
    progress: &dyn Progress,
) -> Result<Diagram> {
    let method = params.method;
    let values = if params.value { input.value_raster()? } else { None };
    let sinks = Sinks::new(params, input, metric, values.as_deref())?;
    if input.grid.cells() > 0 {
        if metric.is_narrow {
            let candidates = Candidates::<u16>::find(input, progress)?;
            columns(method, &candidates, metric, &sinks, progress)?;
        } else {
            let candidates = Candidates::<u32>::find(input, progress)?;
            columns(method, &candidates, metric, &sinks, progress)?;
        }
    }
    sinks.into_diagram()
}

/// The column pass.
fn columns<C: rows::Column>(
    method: Method,
    candidates: &Candidates<C>,
    metric: Metric,
    sinks: &Sinks<'_>,
    progress: &dyn Progress,
) -> Result<()> {
    let width = candidates.width as usize;
    let strips = width.div_ceil(STRIP);
    for band in bands(strips) {
        report(progress, "voronoi columns", band.start, strips)?;
        let done = map_init(band.len(), 1, Vec::new, |envelopes, i| {
            let first = (band.start + i) * STRIP;
            let columns = first..(first + STRIP).min(width);
            // False if the strip is not one that walks serve: pixels that are not square, or wide rasters.
            // SAFETY: no other task has these columns.
            let done = method != Method::Baseline(Baseline::ScanPrune)
                && unsafe { walk::strip(candidates, columns.clone(), metric, sinks) };
            if done {
                return Ok(());
            }
            // SAFETY: likewise.
            unsafe { Envelope::strip(candidates, columns, metric, sinks, envelopes) }
        });
        done.into_iter().collect::<Result<()>>()?;
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
    Ok(progress.at(stage, fraction)?)
}
