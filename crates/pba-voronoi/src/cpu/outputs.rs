//! The outputs that the column pass writes.

use bytemuck::Pod;
use gpu_core::{Grid, GridSpec, host_memory};

use super::STRIP;
use super::rows::LANES;
use crate::metric::{Ground, Metric};
use crate::{Diagram, Input, Integers, Params, Result, Sites};

/// A pixel's nearest site, and how far it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Winner {
    pub row: u32,
    pub column: u32,
    pub cost: u64,
}

impl Winner {
    /// There is no site, or none within the limit.
    pub const NONE: Self = Self { row: u32::MAX, column: u32::MAX, cost: u64::MAX };

    fn is_none(self) -> bool {
        self.cost == u64::MAX
    }
}

/// An array that tasks write at different places. While it is shared its elements are reached by the pointer alone.
pub(super) struct Shared<T> {
    values: Vec<T>,
    /// Taken from the array before anybody shared it.
    start: *mut T,
}

// SAFETY: the elements go to other threads, each to one.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: a shared one gives its elements away through `part` alone, whose caller sees to it that each is one thread's.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T: Pod> Shared<T> {
    /// Returns zeros in fresh memory, whose pages the tasks touch first, in parallel. Every pixel is written later.
    pub fn new(is_wanted: bool, pixels: usize) -> Result<Option<Self>> {
        if !is_wanted {
            return Ok(None);
        }
        let mut values = host_memory::zeroed(pixels)?;
        let start = values.as_mut_ptr();
        Ok(Some(Self { values, start }))
    }

    /// Returns the elements from `start` on, for writing.
    ///
    /// # Safety
    /// No other thread touches these elements while the slice lives.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn part(&self, start: usize, len: usize) -> &mut [T] {
        assert!(start + len <= self.values.len());
        // SAFETY: in bounds, as just seen; the rest is passed on to the caller.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(start), len) }
    }
}

/// The outputs of one pass, and what they are made with.
pub(super) struct Sinks<'a> {
    grid: GridSpec,
    width: usize,
    /// Columns of the raster of which this is a strip, or its own.
    whole: usize,
    /// The number there of the first column.
    first: u32,
    metric: Metric,
    excluded: Option<&'a [u8]>,
    values: Option<&'a [f32]>,
    labels: Option<&'a [u32]>,
    nearest: Option<Shared<u32>>,
    long_nearest: Option<Shared<u64>>,
    coordinates: Option<Shared<[u32; 2]>>,
    squares: Option<Shared<u32>>,
    long_squares: Option<Shared<u64>>,
    distance: Option<Shared<f32>>,
    distance_f64: Option<Shared<f64>>,
    value: Option<Shared<f32>>,
    label: Option<Shared<u32>>,
}

impl<'a> Sinks<'a> {
    /// Room for the outputs.
    pub fn new(
        params: &Params,
        input: &Input<'a>,
        metric: Metric,
        values: Option<&'a [f32]>,
    ) -> Result<Self> {
        let pixels = input.grid.cells() as usize;
        let shape = input.shape();
        let (is_long, is_narrow) = (!shape.is_short(), metric.is_narrow);
        let labels = match input.sites {
            Sites::Labels(labels) => Some(labels),
            _ => None,
        };
        Ok(Self {
            grid: input.grid,
            width: input.grid.width as usize,
            whole: shape.columns() as usize,
            first: input.strip.map_or(0, |strip| strip.first),
            metric,
            excluded: input.excluded,
            values,
            labels,
            nearest: Shared::new(params.nearest && !is_long, pixels)?,
            long_nearest: Shared::new(params.nearest && is_long, pixels)?,
            coordinates: Shared::new(params.coordinates, pixels)?,
            squares: Shared::new(params.squared_distance && is_narrow, pixels)?,
            long_squares: Shared::new(params.squared_distance && !is_narrow, pixels)?,
            distance: Shared::new(params.distance, pixels)?,
            distance_f64: Shared::new(params.distance_f64, pixels)?,
            value: Shared::new(params.value, pixels)?,
            label: Shared::new(params.label, pixels)?,
        })
    }

    /// Writes neighbouring pixels of row `y` from column `x` on.
    ///
    /// # Safety
    /// No other thread writes them.
    #[inline(always)]
    pub unsafe fn put(&self, y: u32, x: usize, winners: &[Winner]) {
        let start = y as usize * self.width + x;
        let whole = self.whole;
        // SAFETY: passed on to the caller.
        unsafe {
            self.each(&self.nearest, start, winners, u32::MAX, |w| {
                (w.row as usize * whole) as u32 + w.column
            });
            self.each(&self.long_nearest, start, winners, u64::MAX, |w| {
                u64::from(w.row) * whole as u64 + u64::from(w.column)
            });
            self.each(&self.coordinates, start, winners, [u32::MAX; 2], |w| [w.column, w.row]);
            self.each(&self.squares, start, winners, u32::MAX, |w| w.cost as u32);
            self.each(&self.long_squares, start, winners, u64::MAX, |w| w.cost);
            self.distances((self.first + x as u32, y), start, winners);
            let index = |w: Winner| w.row as usize * whole + w.column as usize;
            if let Some(values) = self.values {
                self.each(&self.value, start, winners, f32::NAN, |w| values[index(w)]);
            }
            if let Some(labels) = self.labels {
                self.each(&self.label, start, winners, 0, |w| labels[index(w)]);
            }
        }
    }

    /// Writes up to [`LANES`] neighbouring pixels whose squared distances are known, in vectors; `u32::MAX` where there
    /// is no site. Looks up the sites themselves only if an output needs them.
    ///
    /// # Safety
    /// No other thread writes them.
    #[inline(always)]
    pub unsafe fn put_squares(
        &self,
        y: u32,
        x: usize,
        lanes: usize,
        squares: &[u32; LANES],
        winner: impl Fn(usize) -> Winner,
    ) {
        if !self.has_only_distances() {
            let winners: [Winner; LANES] = std::array::from_fn(winner);
            // SAFETY: passed on to the caller.
            return unsafe { self.put(y, x, &winners[..lanes]) };
        }
        let start = y as usize * self.width + x;
        let Some(sink) = &self.distance else { return };
        // SAFETY: passed on to the caller.
        let out = unsafe { sink.part(start, lanes) };
        let distances = distances(squares, self.metric.scale);
        match <&mut [f32; LANES]>::try_from(&mut *out) {
            Ok(out) => *out = distances,
            Err(_) => out.copy_from_slice(&distances[..lanes]),
        }
        if let Some(excluded) = self.excluded {
            // SAFETY: likewise.
            unsafe { blank(&self.distance, start, lanes, &excluded[start..], f32::NAN) };
        }
    }

    /// Whether distances as f32 are all that is wanted.
    fn has_only_distances(&self) -> bool {
        let has_sites = self.nearest.is_some()
            || self.long_nearest.is_some()
            || self.coordinates.is_some()
            || self.value.is_some()
            || self.label.is_some();
        let has_others =
            self.squares.is_some() || self.long_squares.is_some() || self.distance_f64.is_some();
        !has_sites && !has_others
    }

    /// Writes an output, if it is wanted.
    #[inline(always)]
    unsafe fn each<T: Pod>(
        &self,
        sink: &Option<Shared<T>>,
        start: usize,
        winners: &[Winner],
        none: T,
        of: impl Fn(Winner) -> T,
    ) {
        let Some(sink) = sink else { return };
        // SAFETY: passed on to the caller.
        let out = unsafe { sink.part(start, winners.len()) };
        for (out, &winner) in out.iter_mut().zip(winners) {
            *out = if winner.is_none() { none } else { of(winner) };
        }
        if let Some(excluded) = self.excluded {
            for (out, &excluded) in out.iter_mut().zip(&excluded[start..]) {
                if excluded != 0 {
                    *out = none;
                }
            }
        }
    }

    /// Writes the distances that are wanted, of pixels from (`x`, `y`) on.
    #[inline(always)]
    unsafe fn distances(&self, (x, y): (u32, u32), start: usize, winners: &[Winner]) {
        if let Some(ground) = self.metric.ground {
            // SAFETY: passed on to the caller.
            return unsafe { self.distances_on(ground, (x, y), start, winners) };
        }
        let metric = self.metric;
        // SAFETY: passed on to the caller.
        unsafe {
            if metric.scale == 1.0 && metric.is_narrow {
                self.each(&self.distance, start, winners, f32::INFINITY, |w| {
                    // The root in f64, rounded to f32, is that of the exact square.
                    f64::from(w.cost as u32).sqrt() as f32
                });
            } else {
                self.each(&self.distance, start, winners, f32::INFINITY, |w| {
                    metric.distance(w.cost) as f32
                });
            }
            self.each(&self.distance_f64, start, winners, f64::INFINITY, |w| {
                metric.distance(w.cost)
            });
            self.blank_distances(start, winners.len());
        }
    }

    /// The same of pixels that are not square.
    unsafe fn distances_on(
        &self,
        ground: Ground,
        (x, y): (u32, u32),
        start: usize,
        winners: &[Winner],
    ) {
        let (mut distances, count) = ([f64::INFINITY; STRIP], winners.len());
        for ((x, winner), distance) in (x..).zip(winners).zip(&mut distances) {
            if !winner.is_none() {
                *distance = ground.distance(x.abs_diff(winner.column), y.abs_diff(winner.row));
            }
        }
        // SAFETY: passed on to the caller.
        unsafe {
            if let Some(sink) = &self.distance {
                let out = sink.part(start, count);
                out.iter_mut().zip(&distances).for_each(|(out, &distance)| *out = distance as f32);
            }
            if let Some(sink) = &self.distance_f64 {
                sink.part(start, count).copy_from_slice(&distances[..count]);
            }
            self.blank_distances(start, count);
        }
    }

    /// Writes NaN as the distances of excluded pixels.
    #[inline(always)]
    unsafe fn blank_distances(&self, start: usize, len: usize) {
        let Some(excluded) = self.excluded else { return };
        let excluded = &excluded[start..];
        // SAFETY: passed on to the caller.
        unsafe {
            blank(&self.distance, start, len, excluded, f32::NAN);
            blank(&self.distance_f64, start, len, excluded, f64::NAN);
        }
    }

    /// Returns the written outputs as a diagram.
    pub fn into_diagram(self) -> Result<Diagram> {
        let grid = self.grid;
        let short = |sink| Ok::<_, crate::Error>(raster(sink, grid)?.map(Integers::U32));
        let long = |sink| Ok::<_, crate::Error>(raster(sink, grid)?.map(Integers::U64));
        Ok(Diagram {
            nearest: short(self.nearest)?.or(long(self.long_nearest)?),
            coordinates: raster(self.coordinates, grid)?,
            squared_distance: short(self.squares)?.or(long(self.long_squares)?),
            distance: raster(self.distance, grid)?,
            distance_f64: raster(self.distance_f64, grid)?,
            value: raster(self.value, grid)?,
            label: raster(self.label, grid)?,
            ..Diagram::new(grid, self.metric.scale * self.metric.scale)
        })
    }
}

/// The distances of squares, `u32::MAX` being infinite.
#[inline(always)]
fn distances(squares: &[u32; LANES], scale: f64) -> [f32; LANES] {
    let is_near = squares.iter().fold(true, |near, &square| near & (square < 1 << 24));
    let mut out = [f32::INFINITY; LANES];
    if is_near && scale == 1.0 {
        // The root of an exact f32 in f32 is the root in f64, rounded (Figueroa 1995, doi:10.1145/221332.221334).
        for (out, &square) in out.iter_mut().zip(squares) {
            *out = (square as i32 as f32).sqrt();
        }
        return out;
    }
    for (out, &square) in out.iter_mut().zip(squares) {
        let distance = (f64::from(square).sqrt() * scale) as f32;
        *out = if square == u32::MAX { f32::INFINITY } else { distance };
    }
    out
}

/// The raster that was written, if there is one.
pub(super) fn raster<T>(sink: Option<Shared<T>>, grid: GridSpec) -> Result<Option<Grid<T>>> {
    Ok(sink.map(|sink| Grid::new(sink.values, grid)).transpose()?)
}

/// Writes `value` where a pixel is excluded.
///
/// # Safety
/// No other thread touches these pixels.
unsafe fn blank<T: Pod>(
    sink: &Option<Shared<T>>,
    start: usize,
    len: usize,
    excluded: &[u8],
    value: T,
) {
    let Some(sink) = sink else { return };
    // SAFETY: passed on to the caller.
    let out = unsafe { sink.part(start, len) };
    for (out, _) in out.iter_mut().zip(excluded).filter(|(_, excluded)| **excluded != 0) {
        *out = value;
    }
}
