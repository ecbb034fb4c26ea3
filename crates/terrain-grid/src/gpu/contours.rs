//! Contour lines: their pieces found, joined and put in order on the device.

use gpu_core::{Blocks, Column, DeviceGrid, Gpu, GridSpec, host_memory};
use gpu_scan::gpu::{Workspace, reduce, scan_in_place, select_if, sort_in_place};
use gpu_scan::{Max, Min, Predicate, Scan, Sort, Sum};
use kernels_rs::terrain as kernels;
use rayon::prelude::*;

use crate::contours::{Contour, check_count, ground};
use crate::params::check_grid;
use crate::{Error, Levels, Result};

/// The contour lines of a DEM in device memory. Waits for the stream.
///
/// # Errors
/// As [`contours`](fn@crate::contours); [`Error::Shape`] unless the DEM has the grid's sides.
pub fn contours(
    gpu: &Gpu,
    dem: &DeviceGrid<f32>,
    grid: &GridSpec,
    levels: &Levels,
) -> Result<Vec<Contour>> {
    check_grid(grid)?;
    levels.check()?;
    if (dem.width(), dem.height()) != (grid.width, grid.height) {
        let found = dem.column().len() as u64;
        return Err(Error::Shape { expected: grid.cells(), found });
    }
    let mut workspace = Workspace::new(gpu)?;
    let (low, high) = match levels.needs_range() {
        true => range(&mut workspace, dem.column())?,
        false => (0.0, 0.0),
    };
    let heights = levels.within(low, high)?;
    if dem.width() < 2 || dem.height() < 2 || heights.is_empty() {
        return Ok(Vec::new());
    }
    let levels = gpu.upload(&heights)?;
    let pieces = Pieces::find(&mut workspace, dem, &levels)?;
    if pieces.count == 0 {
        return Ok(Vec::new());
    }
    let chains = pieces.join(gpu, dem)?;
    let lines = Lines::of(&mut workspace, &pieces, &chains)?;
    let points = lines.points(gpu, &pieces, &chains, dem, grid, &levels)?;
    lines.to_host(gpu, &points, &heights)
}

/// The lowest and the highest value; the wrong way round where there is none.
fn range(workspace: &mut Workspace, dem: &Column<f32>) -> Result<(f64, f64)> {
    let mut range = workspace.gpu().zeroed::<f32>(2)?;
    reduce(workspace, Min, dem, range.slice_mut(0..1)?)?;
    reduce(workspace, Max, dem, range.slice_mut(1..2)?)?;
    let range = range.to_host()?;
    Ok((range[0].into(), range[1].into()))
}

/// The pieces of all lines, square by square.
struct Pieces {
    count: u32,
    /// Two words each.
    words: Column<u64>,
    /// The first of each square, and the end.
    places: Column<u64>,
}

impl Pieces {
    fn find(
        workspace: &mut Workspace,
        dem: &DeviceGrid<f32>,
        levels: &Column<f64>,
    ) -> Result<Self> {
        let gpu = workspace.gpu().clone();
        let (width, height) = (dem.width(), dem.height());
        let squares = (width as usize - 1) * (height as usize - 1);
        let blocks = Blocks::for_each(&kernels::count_pieces, squares as u64)?;
        let (heights, level_count) = (levels.as_ptr(), levels.len() as u32);
        let dem = gpu.admit(dem.column())?;
        let raster = dem.as_ptr();
        // SAFETY: lengths are as the kernels ask; counts are written whole, and one after them.
        unsafe {
            let mut places = gpu.uninitialized::<u64>(squares + 1)?;
            let end = places.as_mut_ptr().wrapping_add(squares);
            gpu.fill_with_byte(end, 0, 1)?;
            let arguments = (raster, width, height, heights, level_count, places.as_mut_ptr());
            gpu.launch(kernels::count_pieces, blocks, 0, arguments)?;
            scan_in_place(workspace, Sum, Scan::exclusive(0), &mut places)?;
            let mut total = gpu.zeroed::<u64>(1)?;
            reduce(workspace, Max, places.slice(squares..squares + 1)?, &mut total)?;
            let count = total.to_host()?[0];
            check_count(count)?;
            let mut words = gpu.uninitialized::<u64>(2 * count as usize)?;
            let arguments =
                (raster, width, height, heights, level_count, places.as_ptr(), words.as_mut_ptr());
            gpu.launch(kernels::write_pieces, blocks, 0, arguments)?;
            Ok(Self { count: count as u32, words, places })
        }
    }

    /// Joins the pieces to chains.
    fn join(&self, gpu: &Gpu, dem: &DeviceGrid<f32>) -> Result<Chains> {
        let (count, len) = (self.count, self.count as usize);
        let blocks = Blocks::for_each(&kernels::link_pieces, count.into())?;
        // SAFETY: lengths are as the kernels ask, which write all that is read.
        unsafe {
            let mut next = gpu.uninitialized::<u32>(len)?;
            let mut previous = gpu.filled_with_byte::<u32>(0xff, len)?;
            let arguments = (
                self.words.as_ptr(),
                count,
                self.places.as_ptr(),
                dem.width() - 1,
                dem.height() - 1,
                next.as_mut_ptr(),
                previous.as_mut_ptr(),
            );
            gpu.launch(kernels::link_pieces, blocks, 0, arguments)?;
            let mut heads = gpu.uninitialized::<u64>(len)?;
            let arguments = (previous.as_ptr(), count, heads.as_mut_ptr());
            gpu.launch(kernels::start_heads, blocks, 0, arguments)?;
            let mut other = gpu.uninitialized::<u64>(len)?;
            let heads = jump(gpu, kernels::jump_heads, count, heads, &mut other)?;
            let mut ranks = gpu.uninitialized::<u64>(len)?;
            let arguments = (previous.as_ptr(), heads.as_ptr(), count, ranks.as_mut_ptr());
            gpu.launch(kernels::start_ranks, blocks, 0, arguments)?;
            let ranks = jump(gpu, kernels::jump_ranks, count, ranks, &mut other)?;
            Ok(Chains { next, previous, ranks })
        }
    }
}

/// Rounds of pointer jumping, as many as the longest chain may need, between `state` and `other`; an
/// even number, so that the result is in `state`.
fn jump(
    gpu: &Gpu,
    kernel: kernels::Jump,
    count: u32,
    mut state: Column<u64>,
    other: &mut Column<u64>,
) -> Result<Column<u64>> {
    // After round k pointers reach over 2^(k + 1) pieces; one round more sees that nothing changes.
    let rounds = (u32::BITS - count.leading_zeros() + 1).next_multiple_of(2);
    let mut changes = gpu.zeroed::<u32>(rounds as usize)?;
    let blocks = Blocks::for_each(&kernel, count.into())?;
    for round in 0..rounds {
        let (from, to) = match round % 2 {
            0 => (state.as_ptr(), other.as_mut_ptr()),
            _ => (other.as_ptr(), state.as_mut_ptr()),
        };
        // SAFETY: lengths are as the kernel asks; both were written by the round before, or are where
        // this one writes.
        unsafe { gpu.launch(kernel, blocks, 0, (from, to, count, round, changes.as_mut_ptr()))? };
    }
    Ok(state)
}

/// How the pieces hang together.
struct Chains {
    next: Column<u32>,
    previous: Column<u32>,
    /// The first piece of each one's line, and how many are before it.
    ranks: Column<u64>,
}

/// The lines in their order.
struct Lines {
    /// The key of each.
    keys: Vec<u64>,
    /// Where the points of each begin, and the end.
    starts: Vec<u64>,
    /// The same at the first piece of each.
    starts_of: Column<u64>,
}

impl Lines {
    /// Puts the chains in order.
    fn of(workspace: &mut Workspace, pieces: &Pieces, chains: &Chains) -> Result<Self> {
        let gpu = workspace.gpu().clone();
        let (count, len) = (pieces.count, pieces.count as usize);
        // SAFETY: lengths are as the kernels ask, which write all that is read.
        unsafe {
            let mut all = gpu.uninitialized::<u64>(len)?;
            let mut lengths = gpu.uninitialized::<u32>(len)?;
            gpu.launch(
                kernels::key_lines,
                Blocks::for_each(&kernels::key_lines, count.into())?,
                0,
                (
                    pieces.words.as_ptr(),
                    chains.next.as_ptr(),
                    chains.previous.as_ptr(),
                    chains.ranks.as_ptr(),
                    count,
                    all.as_mut_ptr(),
                    lengths.as_mut_ptr(),
                ),
            )?;
            let mut keys = gpu.uninitialized::<u64>(len)?;
            let mut selected = gpu.zeroed::<u64>(1)?;
            let is_key = Predicate::not_equal_to(kernels::NO_KEY);
            select_if(workspace, is_key, &all, &mut keys, &mut selected)?;
            let lines = selected.to_host()?[0] as usize;
            sort_in_place(workspace, Sort::ascending(), keys.slice_mut(0..lines)?)?;
            let blocks = Blocks::for_each(&kernels::measure_lines, lines as u64)?;
            let mut starts = gpu.zeroed::<u64>(lines + 1)?;
            let arguments = (keys.as_ptr(), lengths.as_ptr(), lines as u32, starts.as_mut_ptr());
            gpu.launch(kernels::measure_lines, blocks, 0, arguments)?;
            scan_in_place(workspace, Sum, Scan::exclusive(0), &mut starts)?;
            let mut starts_of = gpu.uninitialized::<u64>(len)?;
            let arguments = (keys.as_ptr(), starts.as_ptr(), lines as u32, starts_of.as_mut_ptr());
            gpu.launch(kernels::place_lines, blocks, 0, arguments)?;
            let starts = starts.to_host()?;
            let mut on_host = host_memory::filled(0, lines)?;
            let copied = gpu.enqueue_read(keys.slice(0..lines)?, &mut on_host);
            // Waited for before anything can drop the array.
            gpu.synchronize()?;
            copied?;
            Ok(Self { keys: on_host, starts, starts_of })
        }
    }

    /// The points of all lines, x and y.
    fn points(
        &self,
        gpu: &Gpu,
        pieces: &Pieces,
        chains: &Chains,
        dem: &DeviceGrid<f32>,
        grid: &GridSpec,
        levels: &Column<f64>,
    ) -> Result<Column<[f64; 2]>> {
        let count = self.starts.last().copied().unwrap_or(0);
        let ground = ground(grid);
        let (width, dem) = (dem.width(), gpu.admit(dem.column())?);
        // SAFETY: lengths are as the kernel asks, which writes every point.
        unsafe {
            let mut points = gpu.uninitialized::<[f64; 2]>(count as usize)?;
            gpu.launch(
                kernels::write_points,
                Blocks::for_each(&kernels::write_points, pieces.count.into())?,
                0,
                (
                    pieces.words.as_ptr(),
                    chains.next.as_ptr(),
                    chains.ranks.as_ptr(),
                    pieces.count,
                    self.starts_of.as_ptr(),
                    dem.as_ptr(),
                    width,
                    levels.as_ptr(),
                    ground.x,
                    ground.y,
                    ground.cell_size,
                    points.as_mut_ptr().cast(),
                ),
            )?;
            Ok(points)
        }
    }

    /// The lines on the host.
    ///
    /// Their points come through one page-locked array for some lines at a time.
    fn to_host(
        &self,
        gpu: &Gpu,
        points: &Column<[f64; 2]>,
        heights: &[f64],
    ) -> Result<Vec<Contour>> {
        const POINTS: u64 = 1 << 18;
        let mut contours = host_memory::with_capacity(self.keys.len())?;
        let longest = self.starts.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0);
        let most = self.starts.last().map_or(0, |&end| end.min(POINTS)).max(longest);
        let mut staged = gpu.page_locked::<[f64; 2]>(most as usize)?;
        while contours.len() < self.keys.len() {
            let first = contours.len();
            let most = self.starts[first] + POINTS;
            // At least one line, however long.
            let fit = self.starts[first + 1..].partition_point(|&end| end <= most);
            let lines = first..first + fit.max(1);
            let (start, end) = (self.starts[lines.start], self.starts[lines.end]);
            let part = &mut staged[..(end - start) as usize];
            let from = points.slice(start as usize..end as usize)?;
            // SAFETY: nothing comes between the copy and the wait for it.
            let copied = unsafe { gpu.enqueue_read(from, part) };
            gpu.synchronize()?;
            copied?;
            let line = |i: usize| {
                let [from, to] = [i, i + 1].map(|i| (self.starts[i] - start) as usize);
                let level = heights[(self.keys[i] >> 33) as usize];
                Contour { level, points: staged[from..to].to_vec() }
            };
            contours.par_extend(lines.into_par_iter().map(line));
        }
        Ok(contours)
    }
}
