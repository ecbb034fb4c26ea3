//! The launches of `Algorithm::Monotone`; the kernels and the plan are in `kernels_rs::monotone`.
//!
//! Scratch, in bytes a pixel: 1/8 for the bits, 2 for the candidates (4 in wide rasters), 1/64 for the
//! winners.

use device_std::host::Kernel;
use gpu_core::{Blocks, Column, DeviceGrid, Element, Gpu};
use kernels_rs::monotone as kernels;

use super::outputs::DeviceIntegers;
use crate::metric::Metric;
use crate::params::MAX_PIXELS;
use crate::{Error, Result};

/// Most blocks of a grid in y.
const MAX_BLOCKS_Y: u32 = 65_535;

/// Warps of a block.
const WARPS: u32 = kernels::BLOCK / 32;

/// A raster of sites on the device, as bits: bit i of word w of a row is pixel 32 w + i, and every row
/// begins with a word of its own. What makes one enqueues and returns.
#[derive(Debug)]
pub struct Bits {
    words: Column<u32>,
    width: u32,
    height: u32,
}

/// In every row and column the site of the row that is nearest to the column.
#[derive(Debug)]
enum Candidates {
    Narrow(Column<u16>),
    Wide(Column<u32>),
}

/// The candidates of a raster, and the winners of every 256th row: what the outputs are made from, one
/// by one. It comes from [`Transform::search`](crate::Transform::search). What it makes is enqueued.
#[derive(Debug)]
pub struct Winners {
    candidates: Candidates,
    rows: Column<u32>,
    width: u32,
    height: u32,
    metric: Metric,
}

/// Arguments of the kernels that spread narrow candidates.
type SpreadArguments<C, T> = (*const C, *const u32, *mut T, u32, u32, u32, u64, u64);

/// Arguments of the kernels that spread wide candidates.
type WideArguments<C, T> = (*const C, *const u32, *mut T, u32, u32, u32, u64, u64, u32, u32);

/// Words of a row of bits.
fn words_of(width: u32) -> u32 {
    width.div_ceil(kernels::WORD)
}

impl Bits {
    /// Packs a byte mask.
    ///
    /// # Errors
    /// [`Error::Core`].
    pub fn from_mask(gpu: &Gpu, mask: &DeviceGrid<u8>) -> Result<Self> {
        let (width, height) = (mask.width(), mask.height());
        let words = words_of(width);
        let mask = gpu.admit(mask.column())?;
        let sites = mask.as_ptr();
        let aligned = width.is_multiple_of(16) && (sites as usize).is_multiple_of(16);
        // SAFETY: `bits` is written whole, and the sizes are as the kernels ask.
        unsafe {
            let mut bits = gpu.uninitialized(words as usize * height as usize)?;
            let arguments = (sites, bits.as_mut_ptr(), width, words, height);
            if aligned {
                let blocks = Blocks::for_each(&kernels::pack_vectors, bits.len() as u64)?;
                gpu.launch(kernels::pack_vectors, blocks, 0, arguments)?;
            } else {
                let blocks = Blocks { x: words.div_ceil(32 * WARPS), y: height.min(MAX_BLOCKS_Y) };
                gpu.launch(kernels::pack_bytes, blocks, 0, arguments)?;
            }
            Ok(Self { words: bits, width, height })
        }
    }

    /// Takes words that are bits already. Those beyond the width are set to 0.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are `width.div_ceil(32) * height`, [`Error::Core`].
    pub fn from_words(mut words: Column<u32>, width: u32, height: u32) -> Result<Self> {
        let expected = u64::from(words_of(width)) * u64::from(height);
        let found = words.len() as u64;
        if found != expected {
            return Err(Error::Length { what: "bit mask", width, height, expected, found });
        }
        if !width.is_multiple_of(kernels::WORD) {
            let gpu = words.gpu().clone();
            let blocks = Blocks::for_each(&kernels::trim_bits, u64::from(height))?;
            let arguments = (words.as_mut_ptr(), width, words_of(width), height);
            // SAFETY: there are as many words.
            unsafe { gpu.launch(kernels::trim_bits, blocks, 0, arguments)? };
        }
        Ok(Self { words, width, height })
    }

    /// Sets the bits of listed sites. What is listed outside the raster is left out.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are as many rows as columns, [`Error::Core`].
    pub fn from_list(
        gpu: &Gpu,
        columns: &Column<u32>,
        rows: &Column<u32>,
        width: u32,
        height: u32,
    ) -> Result<Self> {
        let (sites, found) = (columns.len() as u64, rows.len() as u64);
        if found != sites {
            let what = "list of rows";
            return Err(Error::Length { what, width, height, expected: sites, found });
        }
        let (columns, rows) = (gpu.admit(columns)?, gpu.admit(rows)?);
        let mut bits = gpu.zeroed::<u32>(words_of(width) as usize * height as usize)?;
        // SAFETY: both lists have `sites` elements, and `bits` has all words.
        unsafe {
            gpu.launch(
                kernels::scatter_sites,
                Blocks::for_each(&kernels::scatter_sites, sites)?,
                0,
                (columns.as_ptr(), rows.as_ptr(), bits.as_mut_ptr(), width, height, sites),
            )?;
        }
        Ok(Self { words: bits, width, height })
    }

    /// Packs a raster of labels.
    ///
    /// # Errors
    /// [`Error::Core`].
    pub fn from_labels(gpu: &Gpu, labels: &DeviceGrid<u32>) -> Result<Self> {
        let (width, height) = (labels.width(), labels.height());
        let words = words_of(width);
        let total = u64::from(words) * u64::from(height);
        let labels = gpu.admit(labels.column())?;
        // SAFETY: `bits` is written whole, and the sizes are as the kernel asks.
        unsafe {
            let mut bits = gpu.uninitialized(total as usize)?;
            gpu.launch(
                kernels::pack_labels,
                blocks_x("pack_labels", total.div_ceil(u64::from(WARPS)))?,
                0,
                (labels.as_ptr(), bits.as_mut_ptr(), width, words, total),
            )?;
            Ok(Self { words: bits, width, height })
        }
    }

    /// Columns and rows.
    pub fn sides(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    /// A byte mask of the sites.
    pub(super) fn unpacked(&self, gpu: &Gpu) -> Result<DeviceGrid<u8>> {
        let &Self { ref words, width, height } = self;
        let pixels = u64::from(width) * u64::from(height);
        let words = gpu.admit(words)?;
        // SAFETY: the mask is written whole, and the sizes are as the kernel asks.
        unsafe {
            let mut mask = gpu.uninitialized(pixels as usize)?;
            gpu.launch(
                kernels::unpack_bits,
                Blocks::for_each(&kernels::unpack_bits, pixels)?,
                0,
                (words.as_ptr(), mask.as_mut_ptr(), width, words_of(width), pixels),
            )?;
            Ok(DeviceGrid::new(mask, width, height)?)
        }
    }

    /// The sites' complement.
    ///
    /// # Errors
    /// [`Error::Core`].
    pub fn flipped(&self, gpu: &Gpu) -> Result<Self> {
        let &Self { ref words, width, height } = self;
        let words = gpu.admit(words)?;
        let total = words.len() as u64;
        // SAFETY: `bits` is written whole, and the sizes are as the kernel asks.
        unsafe {
            let mut bits = gpu.uninitialized(words.len())?;
            gpu.launch(
                kernels::flip_bits,
                Blocks::for_each(&kernels::flip_bits, total)?,
                0,
                (words.as_ptr(), bits.as_mut_ptr(), width, words_of(width), total),
            )?;
            Ok(Self { words: bits, width, height })
        }
    }
}

impl Winners {
    /// Finds the candidates and the winners that a diagram with this metric begins with.
    pub(crate) fn find(gpu: &Gpu, bits: &Bits, metric: Metric) -> Result<Self> {
        let &Bits { ref words, width, height } = bits;
        let candidates = Candidates::find(gpu, words, words_of(width), height, metric)?;
        let mut spacing = kernels::TILE_ROWS;
        while spacing.saturating_mul(2 * kernels::LEVEL_RATIO) < height {
            spacing *= kernels::LEVEL_RATIO;
        }
        let mut rows = candidates.search(gpu, None, (width, height), spacing, metric)?;
        while spacing > kernels::TILE_ROWS {
            spacing /= kernels::LEVEL_RATIO;
            rows = candidates.search(gpu, Some(&rows), (width, height), spacing, metric)?;
        }
        Ok(Self { candidates, rows, width, height, metric })
    }

    /// The nearest site's linear index (row * width + column) for each pixel, in as many bits as the
    /// raster needs.
    ///
    /// # Errors
    /// [`Error::Core`].
    pub fn indices(&self, gpu: &Gpu) -> Result<DeviceIntegers> {
        let is_long = self.pixels() as u64 > MAX_PIXELS;
        match &self.candidates {
            Candidates::Narrow(nearest) => {
                self.spread(gpu, nearest, kernels::spread_indices).map(DeviceIntegers::U32)
            }
            Candidates::Wide(nearest) if is_long => self
                .spread_wide(gpu, nearest, kernels::spread_long_indices)
                .map(DeviceIntegers::U64),
            Candidates::Wide(nearest) => self
                .spread_wide(gpu, nearest, kernels::spread_indices_wide)
                .map(DeviceIntegers::U32),
        }
    }

    /// The squared distance of each pixel, as in
    /// [`Diagram::squared_distance`](crate::Diagram::squared_distance).
    ///
    /// # Errors
    /// [`Error::Core`].
    pub fn squares(&self, gpu: &Gpu) -> Result<DeviceIntegers> {
        match &self.candidates {
            Candidates::Narrow(nearest) => {
                self.spread(gpu, nearest, kernels::spread_squares).map(DeviceIntegers::U32)
            }
            Candidates::Wide(nearest) => self
                .spread_wide(gpu, nearest, kernels::spread_long_squares)
                .map(DeviceIntegers::U64),
        }
    }

    /// The distance of each pixel, on the ground.
    ///
    /// # Errors
    /// [`Error::Core`].
    pub fn distances(&self, gpu: &Gpu) -> Result<DeviceGrid<f32>> {
        let Candidates::Narrow(nearest) = &self.candidates else {
            return self.squares(gpu)?.distances(gpu, self.metric.scale);
        };
        let (pitch, search, limit) = self.shape();
        let (nearest, rows) = (gpu.admit(nearest)?, gpu.admit(&self.rows)?);
        // SAFETY: the kernel writes every pixel, and sizes are as it asks.
        unsafe {
            let mut out = gpu.uninitialized(self.pixels())?;
            gpu.launch(
                kernels::spread_distances,
                self.tiles()?,
                kernels::SPREAD_SHARED,
                (
                    nearest.as_ptr(),
                    rows.as_ptr(),
                    out.as_mut_ptr(),
                    pitch,
                    self.width,
                    self.height,
                    search,
                    limit,
                    self.metric.scale,
                ),
            )?;
            Ok(DeviceGrid::new(out, self.width, self.height)?)
        }
    }

    /// One of the kernels that spread narrow candidates.
    fn spread<T: Element>(
        &self,
        gpu: &Gpu,
        nearest: &Column<u16>,
        kernel: Kernel<SpreadArguments<u16, T>>,
    ) -> Result<DeviceGrid<T>> {
        let (pitch, search, limit) = self.shape();
        let (nearest, rows) = (gpu.admit(nearest)?, gpu.admit(&self.rows)?);
        // SAFETY: the kernel writes every pixel, and sizes are as it asks.
        unsafe {
            let mut out = gpu.uninitialized(self.pixels())?;
            let (nearest, rows) = (nearest.as_ptr(), rows.as_ptr());
            let (width, height) = (self.width, self.height);
            let arguments = (nearest, rows, out.as_mut_ptr(), pitch, width, height, search, limit);
            gpu.launch(kernel, self.tiles()?, kernels::SPREAD_SHARED, arguments)?;
            Ok(DeviceGrid::new(out, width, height)?)
        }
    }

    /// One of the kernels that spread wide candidates.
    fn spread_wide<T: Element>(
        &self,
        gpu: &Gpu,
        nearest: &Column<u32>,
        kernel: Kernel<WideArguments<u32, T>>,
    ) -> Result<DeviceGrid<T>> {
        let (pitch, search, limit) = self.shape();
        let Metric { across, down, .. } = self.metric;
        let (nearest, rows) = (gpu.admit(nearest)?, gpu.admit(&self.rows)?);
        // SAFETY: the kernel writes every pixel, and sizes are as it asks.
        unsafe {
            let mut out = gpu.uninitialized(self.pixels())?;
            let (nearest, rows) = (nearest.as_ptr(), rows.as_ptr());
            let (width, height) = (self.width, self.height);
            let to = out.as_mut_ptr();
            let arguments = (nearest, rows, to, pitch, width, height, search, limit, across, down);
            gpu.launch(kernel, self.tiles()?, kernels::SPREAD_SHARED, arguments)?;
            Ok(DeviceGrid::new(out, width, height)?)
        }
    }

    fn pixels(&self) -> usize {
        self.width as usize * self.height as usize
    }

    /// Pitch, the limit of the search and that of the result.
    fn shape(&self) -> (u32, u64, u64) {
        let pitch = words_of(self.width) * kernels::WORD;
        (pitch, self.metric.limit_within(kernels::SPAN), self.metric.limit)
    }

    /// Blocks of a spreading kernel.
    fn tiles(&self) -> Result<Blocks> {
        let groups = words_of(self.width).div_ceil(kernels::GROUP);
        let tiles = u64::from(groups * kernels::GROUP)
            * u64::from(self.height.div_ceil(kernels::TILE_ROWS));
        blocks_x("spread", tiles)
    }
}

impl Candidates {
    fn find(
        gpu: &Gpu,
        bits: &Column<u32>,
        words: u32,
        height: u32,
        metric: Metric,
    ) -> Result<Self> {
        let padding = u64::from(kernels::PADDING);
        let blocks = blocks_x(
            "nearest_columns",
            if words > 0 { (u64::from(height) + padding).div_ceil(u64::from(WARPS)) } else { 0 },
        )?;
        let pixels = bits.len() + words as usize * kernels::PADDING as usize;
        let pixels = pixels * kernels::WORD as usize;
        let bits = gpu.admit(bits)?;
        // SAFETY: the kernels write every element, and the sizes are as they ask.
        unsafe {
            if metric.is_narrow {
                let mut nearest = gpu.uninitialized(pixels)?;
                let arguments = (bits.as_ptr(), nearest.as_mut_ptr(), words, height);
                gpu.launch(kernels::nearest_columns, blocks, 0, arguments)?;
                Ok(Self::Narrow(nearest))
            } else {
                let mut nearest = gpu.uninitialized(pixels)?;
                let arguments = (bits.as_ptr(), nearest.as_mut_ptr(), words, height);
                gpu.launch(kernels::nearest_columns_wide, blocks, 0, arguments)?;
                Ok(Self::Wide(nearest))
            }
        }
    }

    /// The winners of every `spacing`-th row, between those of the level above.
    fn search(
        &self,
        gpu: &Gpu,
        above: Option<&Column<u32>>,
        (width, height): (u32, u32),
        spacing: u32,
        metric: Metric,
    ) -> Result<Column<u32>> {
        let words = words_of(width);
        let pitch = words * kernels::WORD;
        let levels = height.div_ceil(spacing) + 1;
        let above = above.map_or(std::ptr::null(), Column::as_ptr);
        let blocks = blocks_x(
            "search_rows",
            u64::from(words) * u64::from(if height > 0 { levels.div_ceil(WARPS) } else { 0 }),
        )?;
        let limit = metric.limit_within(spacing.saturating_mul(2));
        // SAFETY: the kernel writes every element, and the sizes are as it asks.
        unsafe {
            let mut winners = gpu.uninitialized(pitch as usize * levels as usize)?;
            let out = winners.as_mut_ptr();
            match self {
                Self::Narrow(nearest) => gpu.launch(
                    kernels::search_rows,
                    blocks,
                    0,
                    (nearest.as_ptr(), above, out, pitch, height, spacing, levels, limit),
                )?,
                Self::Wide(nearest) => gpu.launch(
                    kernels::search_rows_wide,
                    blocks,
                    0,
                    (
                        nearest.as_ptr(),
                        above,
                        out,
                        pitch,
                        height,
                        spacing,
                        levels,
                        limit,
                        metric.across,
                        metric.down,
                    ),
                )?,
            }
            Ok(winners)
        }
    }
}

/// So many blocks in x, if a grid can have them.
pub(super) fn blocks_x(kernel: &'static str, blocks: u64) -> Result<Blocks> {
    match i32::try_from(blocks) {
        Ok(blocks) => Ok(Blocks::x(blocks as u32)),
        Err(_) => Err(gpu_core::Error::LaunchTooLarge { kernel, blocks }.into()),
    }
}
