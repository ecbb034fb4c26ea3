//! Building with little device memory: points pass through it in chunks.
//!
//! 1. Each chunk is copied through page-locked memory to the device, coded and sorted there by code, and its codes
//!    and indices come back: a run. Two chunks are under way, each on a stream of its own, so that one is copied
//!    while the other is sorted, and the host fills a third.
//! 2. The host merges the runs, each part of the codes by itself on all cores.
//! 3. Nodes are found as on the CPU ([`crate::cpu`]).
//!
//! The runs are in the order in which points were given, and merging is stable, so the tree is the same.

use gpu_core::{Blocks, Column, Gpu, PageLocked, Points, Progress, host_memory};
use gpu_scan::Sort;
use gpu_scan::gpu::sort_pairs_in_place;
use kernels_rs::quadtree::encode;
use kernels_rs::spatial::frame::Frame;
use rayon::prelude::*;

use super::Workspace;
use crate::cpu::{self, Coded};
use crate::{Error, Outside, Params, Quadtree, Result};

/// Bytes of device memory for each point of a chunk: coordinates 16, codes and indices 12, and what the sort needs:
/// as much again, twice, since a workspace grows by powers of two.
const POINT_BYTES: u64 = 16 + 12 + 2 * 24;

/// Bytes of device memory beside the points: two workspaces.
const FIXED_BYTES: u64 = 1 << 20;

/// The least points of a chunk that are worth a launch.
const LEAST_CHUNK: u64 = 1024;

/// The most points of a chunk: more would not be copied faster, and page-locked memory is dear.
const MOST_CHUNK: u64 = 1 << 24;

/// The least budget.
const LEAST_BUDGET: u64 = FIXED_BYTES + 2 * LEAST_CHUNK * POINT_BYTES;

/// Points of a part that a core merges.
const PART: usize = 1 << 16;

/// See [`crate::build_within`].
pub(crate) fn build(
    gpu: &Gpu,
    points: Points<'_>,
    params: &Params,
    budget: u64,
    progress: &dyn Progress,
) -> Result<Quadtree> {
    let (frame, bounds) = cpu::prepare(points, params, progress)?;
    if budget < LEAST_BUDGET {
        return Err(Error::Budget { bytes: budget, least: LEAST_BUDGET });
    }
    let most = ((budget - FIXED_BYTES) / (2 * POINT_BYTES)).min(MOST_CHUNK);
    let chunk = (most as usize).min(points.len()).max(1);
    let runs = runs(gpu, points, params, &frame, chunk, progress)?;
    progress.at("merge", 0.0)?;
    let coded = merge(runs)?;
    cpu::of_sorted(points, coded, frame, bounds, params, progress)
}

/// The points of a chunk in the order of their codes.
struct Run {
    codes: Vec<u64>,
    indices: Vec<u32>,
}

/// Sorts all chunks.
fn runs(
    gpu: &Gpu,
    points: Points<'_>,
    params: &Params,
    frame: &Frame,
    chunk: usize,
    progress: &dyn Progress,
) -> Result<Vec<Run>> {
    let chunks = points.len().div_ceil(chunk);
    let mut runs = Vec::with_capacity(chunks);
    let mut lanes = Vec::new();
    for _ in 0..chunks.min(2) {
        lanes.push(Lane::new(&gpu.fork()?, chunk)?);
    }
    for number in 0..chunks {
        progress.at("stream", number as f64 / chunks as f64)?;
        let lane = &mut lanes[number % 2];
        runs.extend(lane.finish()?);
        let range = number * chunk..points.len().min((number + 1) * chunk);
        lane.fill(points, range, params);
        lane.start(frame)?;
    }
    // The older chunk first.
    for number in chunks..chunks + lanes.len() {
        let lane = number % lanes.len();
        runs.extend(lanes[lane].finish()?);
    }
    Ok(runs)
}

/// What one chunk at a time goes through.
struct Lane {
    workspace: Workspace,
    /// On the device.
    x: Column<f64>,
    y: Column<f64>,
    codes: Column<u64>,
    indices: Column<u32>,
    bad: Column<i64>,
    /// On the host.
    host_x: PageLocked<f64>,
    host_y: PageLocked<f64>,
    host_codes: PageLocked<u64>,
    host_indices: PageLocked<u32>,
    /// The points of the chunk under way, by their indices as given.
    given: Vec<u32>,
}

impl Lane {
    fn new(gpu: &Gpu, chunk: usize) -> Result<Self> {
        // SAFETY: what is read was written.
        unsafe {
            Ok(Self {
                workspace: Workspace::new(gpu)?,
                x: gpu.uninitialized(chunk)?,
                y: gpu.uninitialized(chunk)?,
                codes: gpu.uninitialized(chunk)?,
                indices: gpu.uninitialized(chunk)?,
                bad: gpu.filled_with_byte(0x7f, 3)?,
                host_x: gpu.page_locked(chunk)?,
                host_y: gpu.page_locked(chunk)?,
                host_codes: gpu.page_locked(chunk)?,
                host_indices: gpu.page_locked(chunk)?,
                given: Vec::new(),
            })
        }
    }

    /// Takes the points of a range that are to be in the tree. Nothing is under way.
    fn fill(&mut self, points: Points<'_>, range: std::ops::Range<usize>, params: &Params) {
        let is_in = |i: &usize| match (params.bounds, params.outside) {
            (Some(bounds), Outside::Skip) => cpu::is_inside(&bounds, points.x[*i], points.y[*i]),
            _ => true,
        };
        self.given = range.into_par_iter().filter(is_in).map(|i| i as u32).collect();
        let (x, y) = (&mut self.host_x[..], &mut self.host_y[..]);
        let places = x.par_iter_mut().zip(y).zip(&self.given);
        places.for_each(|((x, y), &i)| (*x, *y) = (points.x[i as usize], points.y[i as usize]));
    }

    /// Enqueues copies and sort.
    fn start(&mut self, frame: &Frame) -> Result<()> {
        let (len, gpu) = (self.given.len(), self.workspace.gpu().clone());
        if len == 0 {
            return Ok(());
        }
        let Self { x, y, codes, indices, .. } = self;
        // SAFETY: what is copied stays as it is until `finish` has waited for the stream, or drop has; all
        // columns are the stream's own.
        unsafe {
            gpu.enqueue_write(x.slice_mut(0..len)?, &self.host_x[..len])?;
            gpu.enqueue_write(y.slice_mut(0..len)?, &self.host_y[..len])?;
            let all = f64::INFINITY;
            let arguments = encode::Args {
                x: x.as_ptr(),
                y: y.as_ptr(),
                len: len as u64,
                corner: [frame.west, frame.south],
                per_unit: [frame.columns_per_unit, frame.rows_per_unit],
                level: frame.level,
                bounds: [-all, -all, all, all],
                codes: codes.as_mut_ptr(),
                indices: indices.as_mut_ptr(),
                pairs: std::ptr::null_mut(),
                inside: std::ptr::null_mut(),
                bad: self.bad.as_mut_ptr(),
            };
            let blocks = Blocks::for_each(&encode::f64_u64, len as u64)?;
            gpu.enqueue(encode::f64_u64, blocks, arguments)?;
            let bits = 0..2 * frame.level;
            if !bits.is_empty() {
                let sort = Sort::ascending().by_bits(bits);
                let (codes, indices) = (codes.slice_mut(0..len)?, indices.slice_mut(0..len)?);
                sort_pairs_in_place(&mut self.workspace, sort, codes, indices)?;
            }
            gpu.enqueue_read(self.codes.slice(0..len)?, &mut self.host_codes[..len])?;
            gpu.enqueue_read(self.indices.slice(0..len)?, &mut self.host_indices[..len])?;
        }
        Ok(())
    }

    /// Waits for the chunk under way, if there is one.
    fn finish(&mut self) -> Result<Option<Run>> {
        let len = self.given.len();
        if len == 0 {
            return Ok(None);
        }
        self.workspace.gpu().synchronize()?;
        let mut codes = host_memory::with_capacity(len)?;
        self.host_codes[..len].par_iter().copied().collect_into_vec(&mut codes);
        let mut indices = host_memory::with_capacity(len)?;
        self.host_indices[..len]
            .par_iter()
            .map(|&i| self.given[i as usize])
            .collect_into_vec(&mut indices);
        self.given.clear();
        Ok(Some(Run { codes, indices }))
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        // Page-locked memory that copies still use must not go. An error is an earlier one of the stream.
        let _ = self.workspace.gpu().synchronize();
    }
}

/// Merges runs that are in the order in which points were given.
fn merge(runs: Vec<Run>) -> Result<Vec<Coded>> {
    let total: usize = runs.iter().map(|run| run.codes.len()).sum();
    let mut coded = cpu::room(total)?;
    // Every so many codes of each run one is a boundary; between two of them lie few of any run.
    let step = PART / runs.len().max(1) + 1;
    let mut boundaries: Vec<u64> =
        runs.iter().flat_map(|run| run.codes.iter().step_by(step).copied()).collect();
    boundaries.par_sort_unstable();
    boundaries.dedup();
    let boundaries: Vec<u64> = boundaries.into_iter().step_by(runs.len().max(1)).collect();
    let starts: Vec<Vec<usize>> = boundaries
        .par_iter()
        .map(|&code| runs.iter().map(|run| run.codes.partition_point(|&c| c < code)).collect())
        .collect();
    let mut rest = &mut coded[..];
    let mut parts = Vec::with_capacity(starts.len());
    for (number, start) in starts.iter().enumerate() {
        let end =
            |run: usize| starts.get(number + 1).map_or(runs[run].codes.len(), |next| next[run]);
        let ranges: Vec<_> = (0..runs.len()).map(|run| start[run]..end(run)).collect();
        let len = ranges.iter().map(|range| range.len()).sum();
        let (part, after) = std::mem::take(&mut rest).split_at_mut(len);
        rest = after;
        parts.push((part, ranges));
    }
    parts.into_par_iter().for_each(|(part, ranges)| {
        let pieces = runs.iter().zip(ranges).flat_map(|(run, range)| {
            run.codes[range.clone()].iter().copied().zip(run.indices[range].iter().copied())
        });
        part.iter_mut().zip(pieces).for_each(|(to, from)| *to = from);
        // The library's stable sort finds the pieces, which are in order, and merges them.
        part.sort_by_key(|&(code, _)| code);
    });
    Ok(coded)
}
