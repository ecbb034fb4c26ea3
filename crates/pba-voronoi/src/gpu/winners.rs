//! The launches of `Method::Monotone`; the kernels and the plan are in `kernels_rs::voronoi::monotone`.
//!
//! Scratch, in bytes a pixel: 1/8 for the bits, 2 for the candidates (4 in wide rasters), 1/64 for the
//! winners.

use device_std::host::Kernel;
use gpu_core::{Blocks, Column, DeviceGrid, Element, Gpu, GridSpec};
use kernels_rs::voronoi::monotone as kernels;

use super::bits::{Bits, WARPS, words_of};
use super::derived::{Measured, Wanted};
use super::{Integers, Strip, blocks_x, derived};
use crate::Result;
use crate::limits::MAX_PIXELS;
use crate::metric::{MAX_NARROW, Metric};

// The kernels' numbers hold wherever the metric says that they do.
const _: () = assert!(MAX_NARROW <= kernels::MAX_NARROW);

/// In every row and column the site of the row that is nearest to the column.
#[derive(Debug)]
enum Candidates {
    Narrow(Column<u16>),
    Wide(Column<u32>),
}

/// The candidates of a raster, and the winners of every 256th row: what the outputs are made from, one
/// by one. What it makes is enqueued.
#[derive(Debug)]
pub(super) struct Winners {
    candidates: Candidates,
    rows: Column<u32>,
    grid: GridSpec,
    place: Place,
    metric: Metric,
}

/// Where the raster lies in the one of which it is a strip.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The number there of its first column.
    first: u32,
    /// Columns there.
    columns: u32,
}

impl Place {
    fn pair(self) -> (u32, u32) {
        (self.first, self.columns)
    }
}

impl Winners {
    /// Finds the candidates and the winners, the first steps of a diagram with this metric.
    pub fn find(gpu: &Gpu, bits: &Bits, metric: Metric, strip: Option<&Strip<'_>>) -> Result<Self> {
        let GridSpec { width, height, .. } = bits.grid;
        let candidates = match strip {
            Some(strip) => Candidates::Wide(candidates_in_strip(gpu, bits, strip)?),
            None => Candidates::find(gpu, bits, metric)?,
        };
        let place = Place {
            first: strip.map_or(0, |strip| strip.first),
            columns: strip.map_or(width, |strip| strip.columns),
        };
        let mut spacing = kernels::TILE_ROWS;
        while spacing.saturating_mul(2 * kernels::LEVEL_RATIO) < height {
            spacing *= kernels::LEVEL_RATIO;
        }
        let size = (width, height);
        let mut rows = candidates.search(gpu, None, (size, place.first), spacing, metric)?;
        while spacing > kernels::TILE_ROWS {
            spacing /= kernels::LEVEL_RATIO;
            rows = candidates.search(gpu, Some(&rows), (size, place.first), spacing, metric)?;
        }
        Ok(Self { candidates, rows, grid: bits.grid, place, metric })
    }

    /// The nearest site's linear index (row * width + column) for each pixel, in as many bits as the
    /// raster needs.
    pub fn indices(&self, gpu: &Gpu) -> Result<Integers> {
        let mut indices = self.indices_by_squares(gpu)?;
        match &self.metric.ground {
            Some(ground) if ground.most < f64::INFINITY => {
                derived::measure(
                    gpu,
                    &mut indices,
                    (&self.metric, ground),
                    self.place.pair(),
                    Wanted::default(),
                )?;
            }
            _ => {}
        }
        Ok(indices)
    }

    /// Returns the measures that the outputs need for pixels that are not square; `None` for square pixels.
    pub fn measured(&self, gpu: &Gpu, wanted: Wanted) -> Result<Option<Measured>> {
        let Some(ground) = &self.metric.ground else { return Ok(None) };
        let mut indices = self.indices_by_squares(gpu)?;
        derived::measure(gpu, &mut indices, (&self.metric, ground), self.place.pair(), wanted)
            .map(Some)
    }

    /// The indices, of sites beyond the limit too where pixels are not square.
    fn indices_by_squares(&self, gpu: &Gpu) -> Result<Integers> {
        let whole = u64::from(self.place.columns) * u64::from(self.grid.height);
        let is_long = whole > MAX_PIXELS;
        match &self.candidates {
            Candidates::Narrow(nearest) => {
                self.spread(gpu, nearest, kernels::spread_narrow::indices).map(Integers::U32)
            }
            Candidates::Wide(nearest) if is_long => self
                .spread_wide(gpu, nearest, kernels::spread_wide::long_indices)
                .map(Integers::U64),
            Candidates::Wide(nearest) => {
                self.spread_wide(gpu, nearest, kernels::spread_wide::indices).map(Integers::U32)
            }
        }
    }

    /// The squared distance of each pixel, as in
    /// [`Diagram::squared_distance`](crate::Diagram::squared_distance), of square pixels.
    pub fn squares(&self, gpu: &Gpu) -> Result<Integers> {
        match &self.candidates {
            Candidates::Narrow(nearest) => {
                self.spread(gpu, nearest, kernels::spread_narrow::squares).map(Integers::U32)
            }
            // In a strip candidates are wide whatever the numbers.
            Candidates::Wide(nearest) if self.metric.is_narrow => self
                .spread_wide(gpu, nearest, kernels::spread_wide::short_squares)
                .map(Integers::U32),
            Candidates::Wide(nearest) => {
                self.spread_wide(gpu, nearest, kernels::spread_wide::squares).map(Integers::U64)
            }
        }
    }

    /// The distance of each pixel, on the ground, of square pixels.
    pub fn distances(&self, gpu: &Gpu) -> Result<DeviceGrid<f32>> {
        let Candidates::Narrow(nearest) = &self.candidates else {
            return derived::distances(gpu, &self.squares(gpu)?, self.metric.scale);
        };
        let kernel = kernels::spread_distances;
        self.spread_by(gpu, nearest, &kernel, |blocks, spread| {
            let scale = self.metric.scale;
            let arguments = kernels::spread_distances::Args { spread, scale };
            // SAFETY: `spread_by` gives what the kernel asks for.
            unsafe { gpu.enqueue(kernel, blocks, arguments) }
        })
    }

    /// One of the kernels that spread narrow candidates.
    fn spread<T: Element>(
        &self,
        gpu: &Gpu,
        nearest: &Column<u16>,
        kernel: Kernel<kernels::spread_narrow::Args<'static, T>>,
    ) -> Result<DeviceGrid<T>> {
        self.spread_by(gpu, nearest, &kernel, |blocks, spread| {
            // SAFETY: `spread_by` gives what the kernel asks for.
            unsafe { gpu.enqueue(kernel, blocks, kernels::spread_narrow::Args { spread }) }
        })
    }

    /// One of the kernels that spread wide candidates.
    fn spread_wide<T: Element>(
        &self,
        gpu: &Gpu,
        nearest: &Column<u32>,
        kernel: Kernel<kernels::spread_wide::Args<'static, T>>,
    ) -> Result<DeviceGrid<T>> {
        self.spread_by(gpu, nearest, &kernel, |blocks, spread| {
            let Metric { across, down, .. } = self.metric;
            let (first, whole) = self.place.pair();
            let arguments = kernels::spread_wide::Args { spread, first, whole, across, down };
            // SAFETY: `spread_by` gives what the kernel asks for.
            unsafe { gpu.enqueue(kernel, blocks, arguments) }
        })
    }

    /// A raster that `enqueue` writes whole by a spreading kernel.
    fn spread_by<C: Element, T: Element, A>(
        &self,
        gpu: &Gpu,
        nearest: &Column<C>,
        kernel: &Kernel<A>,
        enqueue: impl FnOnce(Blocks, kernels::Spread<'_, C, T>) -> gpu_core::Result<()>,
    ) -> Result<DeviceGrid<T>> {
        let GridSpec { width, height, .. } = self.grid;
        let pitch = words_of(width) * kernels::WORD;
        // SAFETY: written whole by the work that is enqueued next.
        let mut out = unsafe { gpu.uninitialized(self.grid.cells() as usize)? };
        let spread = kernels::Spread {
            nearest: nearest.input(),
            winners: self.rows.input(),
            out: out.output(),
            raster: kernels::Raster { pitch, width, height },
            search_limit: self.metric.limit_within(kernels::SPAN),
            limit: self.metric.limit,
        };
        enqueue(self.tiles(kernel)?, spread)?;
        Ok(DeviceGrid::from_column(out, self.grid)?)
    }

    /// Blocks of a spreading kernel.
    fn tiles<A>(&self, kernel: &Kernel<A>) -> Result<Blocks> {
        let groups = words_of(self.grid.width).div_ceil(kernels::GROUP);
        let tiles_down = self.grid.height.div_ceil(kernels::TILE_ROWS);
        blocks_x(kernel, u64::from(groups * kernels::GROUP) * u64::from(tiles_down))
    }
}

impl Candidates {
    fn find(gpu: &Gpu, bits: &Bits, metric: Metric) -> Result<Self> {
        if metric.is_narrow {
            candidates(gpu, bits).map(Self::Narrow)
        } else {
            candidates(gpu, bits).map(Self::Wide)
        }
    }

    /// The winners of every `spacing`-th row, between those of the level above; `first` is the number of the first column
    /// in the whole.
    fn search(
        &self,
        gpu: &Gpu,
        above: Option<&Column<u32>>,
        ((width, height), first): ((u32, u32), u32),
        spacing: u32,
        metric: Metric,
    ) -> Result<Column<u32>> {
        let words = words_of(width);
        let pitch = words * kernels::WORD;
        let count = height.div_ceil(spacing) + 1;
        let bands = if height > 0 { count.div_ceil(WARPS) } else { 0 };
        let blocks = blocks_x(&kernels::search_rows, u64::from(words) * u64::from(bands))?;
        let limit = metric.limit_within(spacing.saturating_mul(2));
        // SAFETY: the kernel writes every element, and the sizes are as it needs them.
        unsafe {
            let mut found = gpu.uninitialized(pitch as usize * count as usize)?;
            let (winners, above) = (found.output(), above.map(Column::input));
            let rows = kernels::Rows { pitch, height, spacing, count, limit };
            match self {
                Self::Narrow(nearest) => {
                    let level = kernels::Level { nearest: nearest.input(), above, winners, rows };
                    let arguments = kernels::search_rows::Args { level };
                    gpu.enqueue(kernels::search_rows, blocks, arguments)?;
                }
                Self::Wide(nearest) => {
                    let level = kernels::Level { nearest: nearest.input(), above, winners, rows };
                    let ground = kernels::RectangularPixels {
                        first,
                        across: metric.across,
                        down: metric.down,
                    };
                    let arguments = kernels::search_rows_wide::Args { level, ground };
                    gpu.enqueue(kernels::search_rows_wide, blocks, arguments)?;
                }
            }
            Ok(found)
        }
    }
}

/// The columns of candidates, in as many bits as a [`Candidates`] has.
pub(super) fn candidates<C>(gpu: &Gpu, bits: &Bits) -> Result<Column<C>>
where
    C: Element + kernels::nearest_columns::Instance,
{
    let kernel = <C as kernels::nearest_columns::Instance>::KERNEL;
    let (words, height) = (words_of(bits.grid.width), bits.grid.height);
    let rows = if words > 0 { u64::from(height) + u64::from(kernels::PADDING) } else { 0 };
    let blocks = blocks_x(&kernel, rows.div_ceil(u64::from(WARPS)))?;
    let pixels = bits.words.len() + words as usize * kernels::PADDING as usize;
    // SAFETY: the kernel writes every element, and the sizes are as it needs them.
    unsafe {
        let mut nearest = gpu.uninitialized(pixels * kernels::WORD as usize)?;
        gpu.enqueue(
            kernel,
            blocks,
            kernels::nearest_columns::Args {
                bits: bits.words.input(),
                nearest: nearest.output(),
                words,
                rows: height,
            },
        )?;
        Ok(nearest)
    }
}

/// Finds the candidates of a strip of a wider raster, as columns of the whole.
pub(super) fn candidates_in_strip(
    gpu: &Gpu,
    bits: &Bits,
    strip: &Strip<'_>,
) -> Result<Column<u32>> {
    let mut nearest = candidates::<u32>(gpu, bits)?;
    let pitch = words_of(bits.grid.width) * kernels::WORD;
    let pixels = u64::from(pitch) * u64::from(bits.grid.height);
    // SAFETY: rows have `pitch` elements; a site before and one after of each is there, as the shape was checked.
    unsafe {
        gpu.enqueue(
            kernels::reach_beyond,
            Blocks::for_each(&kernels::reach_beyond, pixels)?,
            kernels::reach_beyond::Args {
                nearest: nearest.output(),
                before: strip.before.input(),
                after: strip.after.input(),
                pitch,
                width: bits.grid.width,
                rows: bits.grid.height,
                first: strip.first,
                whole: strip.columns,
            },
        )?;
    }
    Ok(nearest)
}
