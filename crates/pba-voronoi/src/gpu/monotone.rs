//! The launches of `Algorithm::Monotone`; the kernels and the plan are in `kernels_rs::monotone`.
//!
//! Scratch, in bytes a pixel: 1/8 for the bits, 2 for the candidates (4 in wide rasters), 1/64 for the
//! winners.

use gpu_core::{Blocks, Column, DeviceGrid, Gpu};
use kernels_rs::monotone as kernels;

use crate::Result;
use crate::metric::Metric;

/// Most blocks of a grid in y.
const MAX_BLOCKS_Y: u32 = 65_535;

/// Warps of a block.
const WARPS: u32 = kernels::BLOCK / 32;

/// A raster of sites as bits: every row begins with a word of its own.
#[derive(Debug)]
pub(super) struct Bits {
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

/// The candidates of a raster, and the winners of every 256th row: what a diagram is spread from.
#[derive(Debug)]
pub(super) struct Winners {
    candidates: Candidates,
    rows: Column<u32>,
    width: u32,
    height: u32,
    metric: Metric,
}

/// Words of a row of bits.
fn words_of(width: u32) -> u32 {
    width.div_ceil(kernels::WORD)
}

impl Bits {
    /// Packs a byte mask; with `flip` its zeros are the sites.
    pub(super) fn pack(gpu: &Gpu, mask: &DeviceGrid<u8>, flip: bool) -> Result<Self> {
        let (width, height) = (mask.width(), mask.height());
        let words = words_of(width);
        let sites = mask.column().as_ptr();
        let aligned = width.is_multiple_of(16) && (sites as usize).is_multiple_of(16);
        // SAFETY: `bits` is written whole, and the sizes are as the kernels ask.
        unsafe {
            let mut bits = gpu.uninitialized(words as usize * height as usize)?;
            let arguments = (sites, bits.as_mut_ptr(), width, words, height, u32::from(flip));
            if aligned {
                let threads = u64::from(words) * u64::from(height);
                let blocks = Blocks::for_each(&kernels::pack_vectors, threads)?;
                gpu.launch(kernels::pack_vectors, blocks, 0, arguments)?;
            } else {
                let blocks =
                    Blocks { x: words.div_ceil(32 * WARPS), y: height.min(MAX_BLOCKS_Y) };
                gpu.launch(kernels::pack_bytes, blocks, 0, arguments)?;
            }
            Ok(Self { words: bits, width, height })
        }
    }
}

impl Winners {
    /// Finds the candidates and the winners that a diagram with this metric begins with.
    pub(super) fn find(gpu: &Gpu, bits: &Bits, metric: Metric) -> Result<Self> {
        let &Bits { ref words, width, height } = bits;
        let candidates = Candidates::find(gpu, words, words_of(width), height, metric)?;
        let mut spacing = kernels::TILE_ROWS;
        while spacing.saturating_mul(2 * kernels::LEVEL_RATIO) < height {
            spacing *= kernels::LEVEL_RATIO;
        }
        let mut rows = None;
        loop {
            let found = candidates.search(gpu, rows.as_ref(), (width, height), spacing, metric)?;
            rows = Some(found);
            if spacing == kernels::TILE_ROWS {
                break;
            }
            spacing /= kernels::LEVEL_RATIO;
        }
        let rows = match rows {
            Some(rows) => rows,
            None => gpu.zeroed(0)?,
        };
        Ok(Self { candidates, rows, width, height, metric })
    }

    /// The nearest site's linear index for each pixel.
    pub(super) fn indices(&self, gpu: &Gpu) -> Result<DeviceGrid<u32>> {
        // SAFETY: the kernels write every pixel.
        let mut out = unsafe { gpu.uninitialized(self.pixels())? };
        match &self.candidates {
            Candidates::Narrow(nearest) => {
                let (blocks, shared) = self.tiles()?;
                let (pitch, width, height, search, limit) = self.shape();
                // SAFETY: sizes are as the kernel asks.
                unsafe {
                    gpu.launch(
                        kernels::spread_indices,
                        blocks,
                        shared,
                        (
                            nearest.as_ptr(),
                            self.rows.as_ptr(),
                            out.as_mut_ptr(),
                            pitch,
                            width,
                            height,
                            search,
                            limit,
                        ),
                    )?;
                }
            }
            Candidates::Wide(nearest) => {
                let (blocks, shared) = self.tiles()?;
                let (pitch, width, height, search, limit) = self.shape();
                // SAFETY: sizes are as the kernel asks.
                unsafe {
                    gpu.launch(
                        kernels::spread_indices_wide,
                        blocks,
                        shared,
                        (
                            nearest.as_ptr(),
                            self.rows.as_ptr(),
                            out.as_mut_ptr(),
                            pitch,
                            width,
                            height,
                            search,
                            limit,
                            self.metric.across,
                            self.metric.down,
                        ),
                    )?;
                }
            }
        }
        Ok(DeviceGrid::new(out, self.width, self.height)?)
    }

    fn pixels(&self) -> usize {
        self.width as usize * self.height as usize
    }

    /// Pitch, sides, the limit of the search and that of the result.
    fn shape(&self) -> (u32, u32, u32, u64, u64) {
        let pitch = words_of(self.width) * kernels::WORD;
        let search = self.metric.limit_within(kernels::SPAN);
        (pitch, self.width, self.height, search, self.metric.limit)
    }

    /// Blocks of a spreading kernel, and its shared memory.
    fn tiles(&self) -> Result<(Blocks, u32)> {
        let groups = words_of(self.width).div_ceil(kernels::GROUP);
        let tiles = u64::from(groups * kernels::GROUP)
            * u64::from(self.height.div_ceil(kernels::TILE_ROWS));
        let blocks = blocks_x("spread_indices", tiles)?;
        Ok((blocks, kernels::SPREAD_SHARED))
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
fn blocks_x(kernel: &'static str, blocks: u64) -> Result<Blocks> {
    match i32::try_from(blocks) {
        Ok(blocks) => Ok(Blocks::x(blocks as u32)),
        Err(_) => Err(gpu_core::Error::LaunchTooLarge { kernel, blocks }.into()),
    }
}
