//! Sites in device memory as bits, made from any form of input.

use gpu_core::{Blocks, Column, Gpu, GridSpec, Slice};
use kernels_rs::voronoi::monotone as kernels;

use super::{Input, MAX_BLOCKS_Y, Sites, blocks_x};
use crate::Result;

/// Warps of a block.
pub(super) const WARPS: u32 = kernels::BLOCK / 32;

/// A raster of sites as bits: bit i of word w of a row is pixel 32 w + i, and every row begins with a word of
/// its own. Bits beyond the width are 0.
#[derive(Debug)]
pub(super) struct Bits {
    pub words: Column<u32>,
    pub grid: GridSpec,
}

/// Words of a row of bits.
pub(super) fn words_of(width: u32) -> u32 {
    width.div_ceil(kernels::WORD)
}

impl Bits {
    /// Returns the bits of an input's sites.
    pub fn of(gpu: &Gpu, input: &Input<'_>) -> Result<Self> {
        let grid = input.grid;
        let words = match input.sites {
            Sites::Mask(mask) => of_mask(gpu, mask, &grid)?,
            Sites::Bits(bits) => trimmed(gpu, bits, &grid)?,
            Sites::List { columns, rows } => of_list(gpu, columns, rows, &grid)?,
            Sites::Labels(labels) => of_labels(gpu, labels, &grid)?,
        };
        let bits = Self { words, grid };
        if input.inverted { bits.flipped(gpu) } else { Ok(bits) }
    }

    /// The sites' complement.
    pub fn flipped(&self, gpu: &Gpu) -> Result<Self> {
        let (width, total) = (self.grid.width, self.words.len() as u64);
        // SAFETY: `bits` is written whole, and the sizes are as the kernel needs them.
        unsafe {
            let mut bits = gpu.uninitialized(self.words.len())?;
            gpu.enqueue(
                kernels::flip_bits,
                Blocks::for_each(&kernels::flip_bits, total)?,
                kernels::flip_bits::Args {
                    from: self.words.input(),
                    to: bits.output(),
                    width,
                    words: words_of(width),
                    total,
                },
            )?;
            Ok(Self { words: bits, grid: self.grid })
        }
    }

    /// A byte mask of the sites.
    pub fn unpacked(&self, gpu: &Gpu) -> Result<Column<u8>> {
        let (width, pixels) = (self.grid.width, self.grid.cells());
        // SAFETY: the mask is written whole, and the sizes are as the kernel needs them.
        unsafe {
            let mut mask = gpu.uninitialized(pixels as usize)?;
            gpu.enqueue(
                kernels::unpack_bits,
                Blocks::for_each(&kernels::unpack_bits, pixels)?,
                kernels::unpack_bits::Args {
                    bits: self.words.input(),
                    mask: mask.output(),
                    width,
                    words: words_of(width),
                    pixels,
                },
            )?;
            Ok(mask)
        }
    }
}

/// Words of a whole raster.
fn total(grid: &GridSpec) -> u64 {
    u64::from(words_of(grid.width)) * u64::from(grid.height)
}

/// Packs a byte mask.
fn of_mask(gpu: &Gpu, mask: Slice<'_, u8>, grid: &GridSpec) -> Result<Column<u32>> {
    let GridSpec { width, height, .. } = *grid;
    let is_aligned =
        |to: u32| width.is_multiple_of(to) && (mask.as_ptr() as usize).is_multiple_of(to as usize);
    // SAFETY: `bits` is written whole, and the sizes are as the kernels need them.
    unsafe {
        let mut bits = gpu.uninitialized(total(grid) as usize)?;
        let all = bits.len() as u64;
        let (mask, words, rows) = (mask.input(), words_of(width), height);
        let packing = kernels::Packing { mask, bits: bits.output(), width, words, rows };
        if is_aligned(16) {
            let kernel = kernels::pack_vectors;
            let arguments = kernels::pack_vectors::Args { packing };
            gpu.enqueue(kernel, Blocks::for_each(&kernel, all)?, arguments)?;
        } else if is_aligned(4) {
            let kernel = kernels::pack_fours;
            let arguments = kernels::pack_fours::Args { packing };
            gpu.enqueue(kernel, Blocks::for_each(&kernel, all)?, arguments)?;
        } else {
            let blocks = Blocks { x: words.div_ceil(32 * WARPS), y: height.min(MAX_BLOCKS_Y) };
            gpu.enqueue(kernels::pack_bytes, blocks, kernels::pack_bytes::Args { packing })?;
        }
        Ok(bits)
    }
}

/// Copies words that are bits already.
fn trimmed(gpu: &Gpu, from: Slice<'_, u32>, grid: &GridSpec) -> Result<Column<u32>> {
    let (width, total) = (grid.width, total(grid));
    // SAFETY: `bits` is written whole, and the sizes are as the kernel needs them.
    unsafe {
        let mut bits = gpu.uninitialized(total as usize)?;
        gpu.enqueue(
            kernels::trim_bits,
            Blocks::for_each(&kernels::trim_bits, total)?,
            kernels::trim_bits::Args {
                from: from.input(),
                to: bits.output(),
                width,
                words: words_of(width),
                total,
            },
        )?;
        Ok(bits)
    }
}

/// Sets the bits of listed sites.
fn of_list(
    gpu: &Gpu,
    columns: Slice<'_, u32>,
    rows: Slice<'_, u32>,
    grid: &GridSpec,
) -> Result<Column<u32>> {
    let count = columns.len() as u64;
    let mut bits = gpu.zeroed::<u32>(total(grid) as usize)?;
    // SAFETY: both lists have `count` elements, and `bits` has all words.
    unsafe {
        gpu.enqueue(
            kernels::scatter_sites,
            Blocks::for_each(&kernels::scatter_sites, count)?,
            kernels::scatter_sites::Args {
                sites: kernels::List { columns: columns.input(), rows: rows.input() },
                bits: bits.output(),
                sides: [grid.width, grid.height],
                count,
            },
        )?;
    }
    Ok(bits)
}

/// Packs a raster of labels.
fn of_labels(gpu: &Gpu, labels: Slice<'_, u32>, grid: &GridSpec) -> Result<Column<u32>> {
    let (width, total) = (grid.width, total(grid));
    let kernel = kernels::pack_labels;
    // SAFETY: `bits` is written whole, and the sizes are as the kernel needs them.
    unsafe {
        let mut bits = gpu.uninitialized(total as usize)?;
        gpu.enqueue(
            kernel,
            blocks_x(&kernel, total.div_ceil(u64::from(WARPS)))?,
            kernels::pack_labels::Args {
                labels: labels.input(),
                bits: bits.output(),
                width,
                words: words_of(width),
                total,
            },
        )?;
        Ok(bits)
    }
}
