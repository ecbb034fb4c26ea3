//! The Voronoi diagram on the CPU, on all cores.
//!
//! Plan. One array of `u32` holds first the row pass's answer and then the diagram:
//!
//! 1. Rows ([`nearest_in_row`]), in parallel: a forward and a backward scan leave in every pixel
//!    the column of the nearest site *of its row*. Rows without a site are left out of all that
//!    follows.
//! 2. Columns, in parallel over tiles of [`TILE`] neighbouring columns, so that memory is touched
//!    by whole cache lines: going down the rows, each column pushes its candidate onto its
//!    [`Envelope`]; going down again, the envelopes are read off and the diagram replaces the
//!    candidates in place.
//! 3. Distances, where asked for, follow from the diagram pixel by pixel.
//!
//! All comparisons are in integers; see [`first_row_nearer`] for why 64 bits hold them.

use std::ops::Range;

use gpu_core::{Progress, host_memory};
use rayon::prelude::*;

use crate::params::check_raster;
use crate::{Error, NONE, Outputs, Result, Voronoi};

/// Columns that one task sweeps together: two cache lines of indices.
const TILE: usize = 32;

/// How often a pass reports its progress, at most.
const REPORTS: usize = 32;

/// The exact Voronoi diagram of the sites (nonzero bytes) in a row-major mask, on all cores.
///
/// O(pixels) time. Beside the outputs it takes about half a byte per pixel for the tiles, and up
/// to 12 bytes x 32 columns x rows per thread for the envelopes.
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
    let pixels = check_raster(sites, width, height)?;
    host_memory::require(bytes_needed(width, height, outputs))?;
    let mut nearest = host_memory::filled(NONE, pixels)?;
    if pixels > 0 {
        let rows = scan_rows(sites, width, &mut nearest, progress)?;
        if !rows.is_empty() {
            sweep_columns(&mut nearest, &rows, width, height, progress)?;
        }
    }
    let squared_distance = match outputs.squared_distance {
        true => Some(distances(&nearest, width, u64::MAX, |d2| d2, progress)?),
        false => None,
    };
    let root = |d2: u64| (d2 as f64).sqrt() as f32;
    let distance = match outputs.distance {
        true => Some(distances(&nearest, width, f32::INFINITY, root, progress)?),
        false => None,
    };
    Ok(Voronoi { width, height, nearest, squared_distance, distance })
}

/// Bytes that a call takes at its peak.
fn bytes_needed(width: u32, height: u32, outputs: Outputs) -> u64 {
    let (columns, rows) = (u64::from(width), u64::from(height));
    let pixels = columns * rows;
    let per_pixel =
        4 + if outputs.squared_distance { 8 } else { 0 } + if outputs.distance { 4 } else { 0 };
    let tiles = columns.div_ceil(TILE as u64) * rows * size_of::<&mut [u32]>() as u64;
    let tasks = columns.div_ceil(TILE as u64).min(rayon::current_num_threads() as u64);
    let entries = tasks * rows * columns.min(TILE as u64);
    pixels * per_pixel + tiles + entries * size_of::<Entry>() as u64 + rows * 4
}

/// Pass 1: the nearest site column of every pixel within its row; gives the rows with sites.
fn scan_rows(
    sites: &[u8],
    width: u32,
    nearest: &mut [u32],
    progress: &dyn Progress,
) -> Result<Vec<u32>> {
    let width = width as usize;
    let height = nearest.len() / width;
    let mut occupied = host_memory::filled(false, height)?;
    for band in bands(height) {
        report(progress, "voronoi rows", band.start, height)?;
        let pixels = band.start * width..band.end * width;
        nearest[pixels.clone()]
            .par_chunks_exact_mut(width)
            .zip(sites[pixels].par_chunks_exact(width))
            .zip(&mut occupied[band])
            .for_each(|((nearest, sites), occupied)| *occupied = nearest_in_row(sites, nearest));
    }
    report(progress, "voronoi rows", height, height)?;
    let mut rows = host_memory::with_capacity(occupied.iter().filter(|&&o| o).count())?;
    rows.extend((0..).zip(&occupied).filter(|(_, o)| **o).map(|(row, _): (u32, _)| row));
    Ok(rows)
}

/// For every pixel of a row the column of the row's nearest site, ties to the left.
///
/// False, and `nearest` untouched, where the row has no site.
fn nearest_in_row(sites: &[u8], nearest: &mut [u32]) -> bool {
    let Some(first) = sites.iter().position(|&s| s != 0) else { return false };
    let mut left = first as u32;
    for (x, (&site, nearest)) in (0..).zip(sites.iter().zip(&mut *nearest)) {
        if site != 0 {
            left = x;
        }
        *nearest = left;
    }
    // Left of the first site `left` is the first site itself: the distances below agree.
    let mut right = *nearest.last().unwrap_or(&0);
    for (x, (&site, nearest)) in (0..nearest.len() as u32).zip(sites.iter().zip(nearest)).rev() {
        if site != 0 {
            right = x;
        }
        if right.abs_diff(x) < x.abs_diff(*nearest) {
            *nearest = right;
        }
    }
    true
}

/// Pass 2: the lower envelope of every column's candidates, which stand in `rows` of `nearest`.
fn sweep_columns(
    nearest: &mut [u32],
    rows: &[u32],
    width: u32,
    height: u32,
    progress: &dyn Progress,
) -> Result<()> {
    let mut tiles = column_tiles(nearest, width as usize, height as usize)?;
    let count = tiles.len();
    for band in bands(count) {
        report(progress, "voronoi columns", band.start, count)?;
        let first = band.start;
        tiles[band].par_iter_mut().enumerate().try_for_each_init(
            Vec::new,
            |envelopes, (i, tile)| {
                sweep_tile(tile, ((first + i) * TILE) as u32, rows, width, envelopes)
            },
        )?;
    }
    report(progress, "voronoi columns", count, count)
}

/// The array cut into tiles of [`TILE`] columns; each tile is the list of its rows.
fn column_tiles(nearest: &mut [u32], width: usize, height: usize) -> Result<Vec<Vec<&mut [u32]>>> {
    let count = width.div_ceil(TILE);
    let mut tiles = host_memory::with_capacity(count)?;
    for _ in 0..count {
        tiles.push(host_memory::with_capacity(height)?);
    }
    for row in nearest.chunks_exact_mut(width) {
        for (tile, part) in tiles.iter_mut().zip(row.chunks_mut(TILE)) {
            tile.push(part);
        }
    }
    Ok(tiles)
}

/// Replaces the candidates in a tile by the nearest sites; its first column is `first_column`.
fn sweep_tile(
    tile: &mut [&mut [u32]],
    first_column: u32,
    rows: &[u32],
    width: u32,
    envelopes: &mut Vec<Envelope>,
) -> Result<()> {
    let height = tile.len() as u32;
    let columns = tile.first().map_or(0, |row| row.len());
    envelopes.resize_with(columns, Envelope::default);
    for envelope in envelopes.iter_mut() {
        envelope.reset(rows.len())?;
    }
    for &row in rows {
        for ((x, envelope), &column) in
            (first_column..).zip(envelopes.iter_mut()).zip(&*tile[row as usize])
        {
            envelope.push(x, Candidate { row, column }, height);
        }
    }
    for (y, row) in (0..).zip(tile) {
        for (envelope, nearest) in envelopes.iter_mut().zip(&mut **row) {
            let Candidate { row, column } = envelope.at(y);
            // Below MAX_PIXELS, so it fits.
            *nearest = row * width + column;
        }
    }
    Ok(())
}

/// A site that is the nearest of its row to some column.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Candidate {
    row: u32,
    column: u32,
}

/// A candidate and the first row of the column where it beats those below it on the stack.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u32,
    candidate: Candidate,
}

/// The lower envelope of one column's candidates: a stack while it is built from north to south,
/// then read off in the same direction.
///
/// Starts grow strictly from the bottom, which starts at row 0; each entry holds to the start of
/// the next.
#[derive(Debug, Default)]
struct Envelope {
    entries: Vec<Entry>,
    cursor: usize,
}

impl Envelope {
    /// Empties the envelope and makes room for `candidates`.
    fn reset(&mut self, candidates: usize) -> Result<()> {
        self.entries.clear();
        self.cursor = 0;
        if self.entries.capacity() < candidates {
            self.entries = host_memory::with_capacity(candidates)?;
        }
        Ok(())
    }

    /// Adds the candidate of a row south of all before, for the column at `x`.
    fn push(&mut self, x: u32, candidate: Candidate, height: u32) {
        let mut start = 0;
        while let Some(top) = self.entries.last() {
            start = first_row_nearer(x, top.candidate, candidate);
            if start > u64::from(top.start) {
                break;
            }
            // The top loses to the new one everywhere it beats those below.
            self.entries.pop();
            start = 0;
        }
        if start < u64::from(height) {
            self.entries.push(Entry { start: start as u32, candidate });
        }
    }

    /// The nearest candidate at row `y`; rows are asked for in ascending order.
    fn at(&mut self, y: u32) -> Candidate {
        while self.entries.get(self.cursor + 1).is_some_and(|next| next.start <= y) {
            self.cursor += 1;
        }
        self.entries[self.cursor].candidate
    }
}

/// The first row, from 0, of the column at `x` where `south` is strictly nearer than `north`.
///
/// With i < j the rows, F and G the squared column distances of north and south, south is nearer
/// at row y when (y - j)^2 + G < (y - i)^2 + F, that is when 2 (j - i) y > j^2 - i^2 + G - F.
/// Rows and columns are below 2^31, so each of j^2 - i^2 and G - F is below 2^62 in size and
/// their sum fits an `i64`.
fn first_row_nearer(x: u32, north: Candidate, south: Candidate) -> u64 {
    let square = |a: u32| i64::from(a) * i64::from(a);
    let rows = square(south.row) - square(north.row);
    let columns = square(x.abs_diff(south.column)) - square(x.abs_diff(north.column));
    match u64::try_from(rows + columns) {
        Ok(bisector) => bisector / (2 * u64::from(south.row - north.row)) + 1,
        Err(_) => 0,
    }
}

/// What `of` makes of every pixel's squared distance to its site; `none` where there is no site.
fn distances<T: Copy + Send + Sync>(
    nearest: &[u32],
    width: u32,
    none: T,
    of: impl Fn(u64) -> T + Sync,
    progress: &dyn Progress,
) -> Result<Vec<T>> {
    let mut out = host_memory::filled(none, nearest.len())?;
    if nearest.first().is_none_or(|&site| site == NONE) {
        return Ok(out);
    }
    let columns = width as usize;
    let height = nearest.len() / columns;
    for band in bands(height) {
        report(progress, "distances", band.start, height)?;
        let pixels = band.start * columns..band.end * columns;
        (band.start as u32..band.end as u32)
            .into_par_iter()
            .zip(nearest[pixels.clone()].par_chunks_exact(columns))
            .zip(out[pixels].par_chunks_exact_mut(columns))
            .for_each(|((y, nearest), out)| row_distances(y, nearest, width, &of, out));
    }
    report(progress, "distances", height, height)?;
    Ok(out)
}

/// The distances of row `y`.
fn row_distances<T>(y: u32, nearest: &[u32], width: u32, of: impl Fn(u64) -> T, out: &mut [T]) {
    let mut last = NONE;
    let mut site = Candidate { row: 0, column: 0 };
    for (x, (&nearest, out)) in (0..).zip(nearest.iter().zip(out)) {
        // Neighbours mostly share their site: that saves the division.
        if nearest != last {
            last = nearest;
            site = Candidate { row: nearest / width, column: nearest % width };
        }
        let dy = u64::from(y.abs_diff(site.row));
        let dx = u64::from(site.column.abs_diff(x));
        *out = of(dx * dx + dy * dy);
    }
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
