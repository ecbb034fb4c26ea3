//! The points and the nodes of a tree, as they are made.

use device_std::In;
use device_std::atomic::Pair;
use gpu_core::{Column, Slice, SliceMut};
use kernels_rs::quadtree::{self as kernels, Words};

use super::coordinate::DeviceCode;
use crate::Result;
use crate::tree::Node;

/// Blocks that share the nodes of a level, or the leaves, at most.
pub(super) const MAX_BLOCKS: u32 = 2048;

/// The words of a build that the host reads: three of `bad`, whether nodes did not fit, how many points are in nodes
/// above the threshold at the last level sorted, whether there are leaves whose points must go back into the order as
/// given, and then the first node of each level.
pub(super) const OVERFLOW: usize = 3;
pub(super) const UNSETTLED: usize = 4;
pub(super) const DISORDER: usize = 5;
pub(super) const STARTS: usize = 6;

/// The points of a tree, as they are sorted.
pub(super) struct Coded<K: DeviceCode> {
    pub codes: Column<K>,
    pub indices: Column<u32>,
}

/// The nodes, as they are made.
pub(super) struct Nodes {
    pub nodes: Column<Node>,
    /// What the host reads at the end.
    pub words: Column<u64>,
    pub control: Column<u64>,
    pub status: Column<Pair>,
}

impl Nodes {
    /// As the kernels see them.
    pub fn input(&self) -> In<'_, Words> {
        Slice::from(&self.nodes).cast().input()
    }

    /// The first node of each level; after that of the last the number of all.
    pub fn starts(&self) -> Result<In<'_, u64>> {
        Ok(self.words.slice(STARTS..self.words.len())?.input())
    }

    /// The nodes of levels up to `deepest`, with their number.
    pub fn counted(&self, deepest: u32) -> Result<kernels::Nodes<'_>> {
        let place = STARTS + deepest as usize + 1;
        let count = self.words.slice(place..place + 1)?.input();
        Ok(kernels::Nodes { nodes: self.input(), count })
    }

    /// One word that the host reads, to be written.
    pub fn word(&mut self, which: usize) -> Result<SliceMut<'_, u64>> {
        Ok(self.words.slice_mut(which..which + 1)?)
    }
}
