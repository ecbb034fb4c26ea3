//! Contour lines on the device: kernels find the pieces, join them and sort the lines.

use device_std::host::Kernel;
use gpu_core::{Blocks, Column, Gpu, GridSlice, GridSpec, Slice, host_memory, parallel};
use gpu_scan::gpu::{Workspace, gather, reduce, scan_in_place, select_if, sort_in_place};
use gpu_scan::{Max, Min, Predicate, Scan, Sort, Sum};
use kernels_rs::terrain::{self as kernels, CellPlaces, Piece};

use crate::contour::{Contour, Found, check_count, ground, with_length};
use crate::params::check_grid;
use crate::{ContourParams, Result};

/// Finds the [contour lines](fn@crate::contours) of a DEM in device memory, and returns them on the host. Waits for the
/// stream, since the host needs the numbers of pieces, lines and points. So it cannot be captured.
///
/// Example: see [the module](crate::gpu#examples).
///
/// # Errors
/// The errors of [`contours`](fn@crate::contours).
pub fn contours<'a>(
    workspace: &mut Workspace,
    dem: impl Into<GridSlice<'a, f32>>,
    params: &ContourParams,
) -> Result<Vec<Contour>> {
    let dem = dem.into();
    let lines = find(workspace, dem, params, ground(dem.grid(), [0; 2]))?;
    Ok(with_length(lines))
}

/// The lines of cells that lie somewhere, and where each begins.
pub(crate) fn find(
    workspace: &mut Workspace,
    dem: GridSlice<'_, f32>,
    params: &ContourParams,
    ground: CellPlaces,
) -> Result<Vec<Found>> {
    let gpu = workspace.gpu().clone();
    let GridSpec { width, height, .. } = *dem.grid();
    check_grid(dem.grid())?;
    params.check()?;
    let (low, high) = match params.needs_range() {
        true => range(workspace, dem.values())?,
        false => (0.0, 0.0),
    };
    let heights = params.within(low, high)?;
    if width < 2 || height < 2 || heights.is_empty() {
        return Ok(Vec::new());
    }
    let levels = gpu.upload(&heights)?;
    let pieces = Pieces::find(workspace, dem, &levels)?;
    if pieces.count == 0 {
        return Ok(Vec::new());
    }
    let chains = pieces.join(&gpu)?;
    let lines = Lines::of(workspace, &pieces, &chains)?;
    let points = lines.points(&gpu, &pieces, &chains, (dem, ground), &levels)?;
    let first = lines.first_pieces(workspace, &pieces)?;
    lines.to_host(&gpu, &points, &first, &heights)
}

/// The lowest and the highest value; the wrong way round where there is none.
fn range(workspace: &mut Workspace, dem: Slice<'_, f32>) -> Result<(f64, f64)> {
    let mut range = workspace.gpu().zeroed::<f32>(2)?;
    reduce(workspace, Min, dem, range.slice_mut(0..1)?)?;
    reduce(workspace, Max, dem, range.slice_mut(1..2)?)?;
    let range = range.to_host()?;
    Ok((range[0].into(), range[1].into()))
}

/// The pieces of all lines, square by square.
struct Pieces {
    count: u32,
    /// Columns and rows of squares.
    squares: [u32; 2],
    /// Two words each.
    words: Column<u64>,
    /// The first of each square, and the end.
    places: Column<u64>,
}

impl Pieces {
    fn find(
        workspace: &mut Workspace,
        dem: GridSlice<'_, f32>,
        levels: &Column<f64>,
    ) -> Result<Self> {
        let gpu = workspace.gpu().clone();
        let GridSpec { width, height, .. } = *dem.grid();
        let squares = (width as usize - 1) * (height as usize - 1);
        let blocks = Blocks::for_each(&kernels::count_pieces, squares as u64)?;
        let dem = kernels::Dem { heights: dem.values().input(), width, height };
        let levels = kernels::Levels { heights: levels.input(), count: levels.len() as u32 };
        // SAFETY: lengths are as the kernels need them; counts are written whole, and one after them.
        unsafe {
            let mut places = gpu.uninitialized::<u64>(squares + 1)?;
            let end = places.as_mut_ptr().wrapping_add(squares);
            gpu.fill_with_byte(end, 0, 1)?;
            let counts = places.output();
            let arguments = kernels::count_pieces::Args { dem, levels, counts };
            gpu.enqueue(kernels::count_pieces, blocks, arguments)?;
            scan_in_place(workspace, Sum, Scan::exclusive(0), &mut places)?;
            let mut total = gpu.zeroed::<u64>(1)?;
            reduce(workspace, Max, places.slice(squares..squares + 1)?, &mut total)?;
            let count = total.to_host()?[0];
            check_count(count)?;
            let mut words = gpu.uninitialized::<u64>(2 * count as usize)?;
            let arguments = kernels::write_pieces::Args {
                dem,
                levels,
                places: places.input(),
                pieces_out: words.output(),
            };
            gpu.enqueue(kernels::write_pieces, blocks, arguments)?;
            let squares = [width - 1, height - 1];
            Ok(Self { count: count as u32, squares, words, places })
        }
    }

    /// Joins the pieces to chains.
    fn join(&self, gpu: &Gpu) -> Result<Chains> {
        let (count, len) = (self.count, self.count as usize);
        let blocks = Blocks::for_each(&kernels::link_pieces, count.into())?;
        // SAFETY: lengths are as the kernels need them, which write all that is read.
        unsafe {
            let mut next = gpu.uninitialized::<u32>(len)?;
            let mut previous = gpu.filled_with_byte::<u32>(0xff, len)?;
            let arguments = kernels::link_pieces::Args {
                pieces: self.words.input(),
                count,
                places: self.places.input(),
                squares: self.squares,
                next: next.output(),
                previous: previous.output(),
            };
            gpu.enqueue(kernels::link_pieces, blocks, arguments)?;
            let mut heads = gpu.uninitialized::<u64>(len)?;
            let arguments = kernels::start_heads::Args {
                previous: previous.input(),
                count,
                heads: heads.output(),
            };
            gpu.enqueue(kernels::start_heads, blocks, arguments)?;
            let mut other = gpu.uninitialized::<u64>(len)?;
            let heads = jump(gpu, kernels::jump::heads, count, heads, &mut other)?;
            let mut ranks = gpu.uninitialized::<u64>(len)?;
            let arguments = kernels::start_ranks::Args {
                previous: previous.input(),
                heads: heads.input(),
                count,
                ranks: ranks.output(),
            };
            gpu.enqueue(kernels::start_ranks, blocks, arguments)?;
            let ranks = jump(gpu, kernels::jump::ranks, count, ranks, &mut other)?;
            Ok(Chains { next, previous, ranks })
        }
    }
}

/// Rounds of pointer jumping, as many as the longest chain may need, between `state` and `other`; an
/// even number, so that the result is in `state`.
fn jump(
    gpu: &Gpu,
    kernel: Kernel<kernels::jump::Args<'static>>,
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
            0 => (state.input(), other.output()),
            _ => (other.input(), state.output()),
        };
        let changes = changes.output();
        let arguments = kernels::jump::Args { from, to, count, round, changes };
        // SAFETY: lengths are as the kernel needs them; both were written by the round before, or are
        // where this one writes.
        unsafe { gpu.enqueue(kernel, blocks, arguments)? };
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
        // SAFETY: lengths are as the kernels need them, which write all that is read.
        unsafe {
            let mut all = gpu.uninitialized::<u64>(len)?;
            let mut lengths = gpu.uninitialized::<u32>(len)?;
            gpu.enqueue(
                kernels::key_lines,
                Blocks::for_each(&kernels::key_lines, count.into())?,
                kernels::key_lines::Args {
                    pieces: pieces.words.input(),
                    next: chains.next.input(),
                    previous: chains.previous.input(),
                    ranks: chains.ranks.input(),
                    count,
                    keys: all.output(),
                    lengths: lengths.output(),
                },
            )?;
            let mut keys = gpu.uninitialized::<u64>(len)?;
            let mut selected = gpu.zeroed::<u64>(1)?;
            let is_key = Predicate::not_equal_to(kernels::NO_KEY);
            select_if(workspace, is_key, &all, &mut keys, &mut selected)?;
            let lines = selected.to_host()?[0] as usize;
            sort_in_place(workspace, Sort::ascending(), keys.slice_mut(0..lines)?)?;
            let blocks = Blocks::for_each(&kernels::measure_lines, lines as u64)?;
            let mut starts = gpu.zeroed::<u64>(lines + 1)?;
            let arguments = kernels::measure_lines::Args {
                keys: keys.input(),
                lengths: lengths.input(),
                lines: lines as u32,
                points: starts.output(),
            };
            gpu.enqueue(kernels::measure_lines, blocks, arguments)?;
            scan_in_place(workspace, Sum, Scan::exclusive(0), &mut starts)?;
            let mut starts_of = gpu.uninitialized::<u64>(len)?;
            let arguments = kernels::place_lines::Args {
                keys: keys.input(),
                starts: starts.input(),
                lines: lines as u32,
                starts_of: starts_of.output(),
            };
            gpu.enqueue(kernels::place_lines, blocks, arguments)?;
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
        (dem, ground): (GridSlice<'_, f32>, CellPlaces),
        levels: &Column<f64>,
    ) -> Result<Column<[f64; 2]>> {
        let count = self.starts.last().copied().unwrap_or(0);
        // SAFETY: lengths are as the kernel needs them, which writes every point.
        unsafe {
            let mut points = gpu.uninitialized::<[f64; 2]>(count as usize)?;
            gpu.enqueue(
                kernels::write_points,
                Blocks::for_each(&kernels::write_points, pieces.count.into())?,
                kernels::write_points::Args {
                    pieces: pieces.words.input(),
                    next: chains.next.input(),
                    ranks: chains.ranks.input(),
                    count: pieces.count,
                    starts_of: self.starts_of.input(),
                    dem: dem.values().input(),
                    width: dem.grid().width,
                    levels: levels.input(),
                    ground,
                    points: points.output().cast(),
                },
            )?;
            Ok(points)
        }
    }

    /// The first piece of each line.
    fn first_pieces(&self, workspace: &mut Workspace, pieces: &Pieces) -> Result<Vec<Piece>> {
        let words = |key: &u64| [0, 1].map(|word| 2 * u64::from(*key as u32) + word);
        let indices: Vec<u64> = self.keys.iter().flat_map(words).collect();
        let indices = workspace.gpu().upload(&indices)?;
        let mut first = workspace.gpu().zeroed::<u64>(indices.len())?;
        gather(workspace, &indices, &pieces.words, &mut first)?;
        Ok(first.to_host()?.as_chunks().0.iter().map(|&words| Piece::from_words(words)).collect())
    }

    /// The lines on the host.
    ///
    /// Their points come through one page-locked array for some lines at a time.
    fn to_host(
        &self,
        gpu: &Gpu,
        points: &Column<[f64; 2]>,
        first: &[Piece],
        heights: &[f64],
    ) -> Result<Vec<Found>> {
        const POINTS: u64 = 1 << 18;
        let mut contours = host_memory::with_capacity(self.keys.len())?;
        let longest = self.starts.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0);
        let most = self.starts.last().map_or(0, |&end| end.min(POINTS)).max(longest);
        let mut staged = gpu.page_locked::<[f64; 2]>(most as usize)?;
        while contours.len() < self.keys.len() {
            let done = contours.len();
            let most = self.starts[done] + POINTS;
            // At least one line, however long.
            let fit = self.starts[done + 1..].partition_point(|&end| end <= most);
            let lines = done..done + fit.max(1);
            let (start, end) = (self.starts[lines.start], self.starts[lines.end]);
            let part = &mut staged[..(end - start) as usize];
            let from = points.slice(start as usize..end as usize)?;
            // SAFETY: nothing comes between the copy and the wait for it.
            let copied = unsafe { gpu.enqueue_read(from, part) };
            gpu.synchronize()?;
            copied?;
            let line = |i: usize| {
                let [from, to] = [i, i + 1].map(|i| (self.starts[i] - start) as usize);
                let key = self.keys[i];
                let (level, points) = (heights[(key >> 33) as usize], staged[from..to].to_vec());
                let is_ring = (key >> 32) & 1 == 1;
                Found { line: Contour { level, points }, first: first[i], is_ring }
            };
            contours.extend(parallel::map(lines.len(), 64, |i| line(lines.start + i)));
        }
        Ok(contours)
    }
}
