//! The points and the nodes of a tree, as they are made.

use device_std::In;
use device_std::atomic::Pair;
use gpu_core::{Column, Slice};
use kernels_rs::quadtree::{self as kernels, Words};

use super::coordinate::DeviceCode;
use super::report::DeviceReport;
use crate::Result;
use crate::tree::Node;

/// The points of a tree, as they are sorted.
pub(super) struct Coded<K: DeviceCode> {
    pub codes: Column<K>,
    pub indices: Column<u32>,
}

/// The nodes, as they are made.
pub(super) struct Nodes {
    pub nodes: Column<Node>,
    pub report: DeviceReport,
    pub control: Column<u64>,
    pub status: Column<Pair>,
}

impl Nodes {
    /// As the kernels see them.
    pub fn input(&self) -> In<'_, Words> {
        Slice::from(&self.nodes).cast().input()
    }

    /// The nodes of levels up to `deepest`, with their number.
    pub fn counted(&self, deepest: u32) -> Result<kernels::Nodes<'_>> {
        Ok(kernels::Nodes { nodes: self.input(), count: self.report.count(deepest)?.input() })
    }
}
