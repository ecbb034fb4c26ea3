//! The thesis's sort: see `kernels_rs::quadtree::baselines`.

use gpu_core::{Blocks, Column, Gpu};
use kernels_rs::quadtree::baselines::{
    BLOCK, Large, PIECE, SMALL, count_pieces, divide_small, list_large, offset_pieces,
    scatter_pieces,
};
use kernels_rs::quadtree::{Moved, collect_leaves};

use super::MAX_BLOCKS;
use super::coordinate::DeviceCode;
use super::nodes::{Coded, Nodes};
use crate::{Params, Result};

/// The points, and the storage of a sort.
pub(super) struct LevelSort<'a, K: DeviceCode> {
    params: &'a Params,
    /// Where the points of nodes of even levels are, and of odd ones.
    coded: [Coded<K>; 2],
    /// For each level the numbers of large nodes and of their pieces.
    listed: Column<u64>,
    large: Column<u32>,
    firsts: Column<u32>,
    counts: Column<u32>,
    most_pieces: u64,
}

impl<'a, K: DeviceCode> LevelSort<'a, K> {
    pub fn new(gpu: &Gpu, coded: Coded<K>, params: &'a Params) -> Result<Self> {
        let len = coded.codes.len();
        let most_large = (len / (SMALL as usize + 1)).max(1);
        // Each large node may have one short piece.
        let most_pieces = len / PIECE as usize + most_large;
        // SAFETY: what is read of them was written.
        unsafe {
            let other = Coded { codes: gpu.uninitialized(len)?, indices: gpu.uninitialized(len)? };
            Ok(Self {
                params,
                coded: [coded, other],
                listed: gpu.zeroed(params.max_level as usize)?,
                large: gpu.uninitialized(most_large)?,
                firsts: gpu.uninitialized(most_large)?,
                counts: gpu.uninitialized(4 * most_pieces)?,
                most_pieces: most_pieces as u64,
            })
        }
    }

    /// Moves the points of a level's nodes above the threshold into their quadrants, and returns their codes.
    pub fn divide(&mut self, gpu: &Gpu, nodes: &Nodes, level: u32) -> Result<&Column<K>> {
        let [even, odd] = &mut self.coded;
        let (from, to) = if level.is_multiple_of(2) { (even, odd) } else { (odd, even) };
        if from.codes.is_empty() {
            return Ok(&to.codes);
        }
        let threshold = u64::from(self.params.threshold);
        let shift = 2 * (self.params.max_level - level - 1);
        let (starts, nodes) = (nodes.report.starts()?, nodes.input());
        let most = |count: u64| Blocks::x(count.clamp(1, MAX_BLOCKS.into()) as u32);
        let of_nodes = (from.codes.len() as u64).min(1 << (2 * level).min(62));
        let (of_pieces, of_large) = (most(self.most_pieces), self.large.len() as u64);
        let points = Moved {
            codes: from.codes.input(),
            indices: from.indices.input(),
            to_codes: to.codes.output(),
            to_indices: to.indices.output(),
        };
        let (listed, large, firsts) =
            (self.listed.output(), self.large.output(), self.firsts.output());
        let counts = self.counts.output();
        // SAFETY: the columns are as long as the kernels need; what is read is apart from what is written.
        unsafe {
            let arguments =
                list_large::Args { nodes, starts, level, threshold, listed, large, firsts };
            gpu.enqueue(list_large, most(of_nodes.div_ceil(BLOCK as u64)), arguments)?;
            let (listed, large, firsts) = (listed.as_input(), large.as_input(), firsts.as_input());
            let large = Large { listed, large, firsts };
            let codes = points.codes;
            let arguments = count_pieces::Args { codes, nodes, level, shift, large, counts };
            gpu.enqueue(<K as count_pieces::Instance>::KERNEL, of_pieces, arguments)?;
            let arguments = offset_pieces::Args { nodes, level, large, counts };
            let warps = most(of_large.div_ceil(BLOCK as u64 / 32));
            gpu.enqueue(offset_pieces, warps, arguments)?;
            let offsets = counts.as_input();
            let arguments = scatter_pieces::Args { points, nodes, level, shift, large, offsets };
            gpu.enqueue(<K as scatter_pieces::Instance>::KERNEL, of_pieces, arguments)?;
            let arguments = divide_small::Args { points, nodes, starts, level, shift, threshold };
            let warps = most(of_nodes.div_ceil(BLOCK as u64 / 32));
            gpu.enqueue(<K as divide_small::Instance>::KERNEL, warps, arguments)?;
        }
        Ok(&to.codes)
    }

    /// Returns the order of the points after all levels are divided.
    pub fn into_order(self, gpu: &Gpu, nodes: &Nodes) -> Result<Column<u32>> {
        let [even, odd] = &self.coded;
        // SAFETY: every point lies in one leaf, and is written with it.
        let mut order = unsafe { gpu.uninitialized::<u32>(even.indices.len())? };
        let arguments = collect_leaves::Args {
            nodes: nodes.counted(self.params.max_level)?,
            even: even.indices.input(),
            odd: odd.indices.input(),
            indices: order.output(),
        };
        // SAFETY: as above; all columns have as many elements.
        unsafe { gpu.enqueue(collect_leaves, Blocks::x(MAX_BLOCKS), arguments)? };
        Ok(order)
    }
}
