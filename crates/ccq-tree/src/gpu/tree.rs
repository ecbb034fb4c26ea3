//! Trees in device memory.

use gpu_core::{Column, Gpu, GridSpec};

use crate::forest::{Forest, Tiling};
use crate::tree::{Node, Storage};
use crate::{Cell, Params, Result, Tree};

/// A [`Tree`] in device memory.
///
/// Example: see [the module](crate::gpu#examples).
#[derive(Debug)]
pub struct DeviceTree<T: Cell> {
    pub(super) grid: GridSpec,
    pub(super) bits: u32,
    pub(super) params: Params,
    /// Where each level begins, and the end.
    pub(super) starts: Vec<u64>,
    pub(super) nodes: Column<Node<T>>,
    pub(super) presence: Column<u8>,
}

impl<T: Cell> DeviceTree<T> {
    /// Copies a tree to the device. Waits for the copy.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core) where the device's memory does not suffice.
    pub fn upload(gpu: &Gpu, tree: &Tree<T>) -> Result<Self> {
        Ok(Self {
            grid: tree.grid,
            bits: tree.bits,
            params: tree.params.clone(),
            starts: tree.starts.clone(),
            nodes: gpu.upload(tree.nodes())?,
            presence: gpu.upload(tree.presence())?,
        })
    }

    /// Makes a tree of columns. The starts of the levels tell how many nodes there are. This function does not check
    /// what the nodes hold. [`quadrants`](super::quadrants) ignores a link that leads out of the tree.
    ///
    /// # Errors
    /// [`gpu_core::Error::Length`] unless there are as many nodes and, where cells may be NODATA, flags of those above
    /// the cells.
    pub fn from_columns(
        grid: GridSpec,
        params: &Params,
        starts: Vec<u64>,
        nodes: Column<Node<T>>,
        presence: Column<u8>,
    ) -> Result<Self> {
        let bits = crate::tree::bits_of(&grid);
        let length = |what, expected, found: usize| match expected == found as u64 {
            true => Ok(()),
            false => Err(gpu_core::Error::Length { what, expected, found: found as u64 }),
        };
        length("level starts", u64::from(bits) + 2, starts.len())?;
        length("nodes", starts[bits as usize + 1], nodes.len())?;
        if params.may_lack_values::<T>() {
            length("flags of children", starts[bits as usize], presence.len())?;
        }
        Ok(Self { grid, bits, params: params.clone(), starts, nodes, presence })
    }

    /// Returns where the raster lies.
    pub fn grid(&self) -> &GridSpec {
        &self.grid
    }

    /// Returns the parameters of the build.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the nodes.
    pub fn nodes(&self) -> &Column<Node<T>> {
        &self.nodes
    }

    /// Returns where the nodes of each level begin, and at last where the last level ends.
    pub fn level_starts(&self) -> &[u64] {
        &self.starts
    }

    /// Copies the tree to the host. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core).
    pub fn to_host(&self) -> Result<Tree<T>> {
        let total = self.starts.last().copied().unwrap_or(0) as usize;
        let above_cells = self.starts[self.bits as usize] as usize;
        let mut nodes = self.nodes.to_host()?;
        nodes.truncate(total);
        let mut presence = self.presence.to_host()?;
        presence.truncate(above_cells);
        Ok(Tree {
            grid: self.grid,
            bits: self.bits,
            params: self.params.clone(),
            starts: self.starts.clone(),
            nodes: Storage::Owned(nodes),
            presence: Storage::Owned(presence),
            system: String::new(),
        })
    }
}

/// Where the levels of trees begin, on the device.
#[derive(Debug)]
pub(super) struct Levels {
    pub starts: Column<u32>,
}

impl Levels {
    /// Returns where the levels of each tree begin, counted from its first node. Waits.
    pub fn to_host(&self, bits: u32) -> Result<Vec<Vec<u64>>> {
        let starts = self.starts.to_host()?;
        let levels = bits as usize + 1;
        let trees = (starts.len() - 1) / levels;
        let of = |tree: usize| {
            let (first, end) = (tree * levels, (tree + 1) * levels);
            starts[first..=end].iter().map(|&at| u64::from(at - starts[first])).collect()
        };
        Ok((0..trees).map(of).collect())
    }
}

/// A [`Forest`] in device memory: the nodes of all trees in one column.
///
/// Example: see [`build_forest`](crate::gpu::build_forest).
#[derive(Debug)]
pub struct DeviceForest<T: Cell> {
    pub(super) tiling: Tiling,
    pub(super) params: Params,
    /// For each tree where its levels begin, and its end.
    pub(super) starts: Vec<Vec<u64>>,
    pub(super) nodes: Column<Node<T>>,
    /// A byte a node, those of the cells included; of a single tree without those; or none.
    pub(super) presence: Column<u8>,
}

impl<T: Cell> DeviceForest<T> {
    /// Columns and rows of tiles.
    pub fn tiles(&self) -> (u32, u32) {
        (self.tiling.columns, self.tiling.rows)
    }

    /// Nodes of all trees.
    pub fn nodes(&self) -> u64 {
        self.starts.iter().map(|levels| levels[levels.len() - 1]).sum()
    }

    /// Copies the trees to the host. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core).
    pub fn to_host(&self) -> Result<Forest<T>> {
        let (nodes, presence) = (self.nodes.to_host()?, self.presence.to_host()?);
        let mut trees = Vec::with_capacity(self.starts.len());
        let mut first = 0;
        for (i, levels) in self.starts.iter().enumerate() {
            let end = first + levels[levels.len() - 1] as usize;
            let flags = first..first + levels[self.tiling.bits as usize] as usize;
            let columns = self.tiling.columns;
            trees.push(Tree {
                grid: self.tiling.tile(i as u32 % columns, i as u32 / columns),
                bits: self.tiling.bits,
                params: self.params.clone(),
                starts: levels.clone(),
                nodes: Storage::Owned(nodes[first..end].to_vec()),
                presence: Storage::Owned(presence.get(flags).unwrap_or_default().to_vec()),
                system: String::new(),
            });
            first = end;
        }
        Ok(Forest { tiling: self.tiling, params: self.params.clone(), trees })
    }

    /// The only tree of one tile.
    pub(super) fn into_single(mut self) -> Result<DeviceTree<T>> {
        let none = || vec![0; self.tiling.bits as usize + 2];
        let starts = self.starts.pop().unwrap_or_else(none);
        let Tiling { grid, bits, .. } = self.tiling;
        let (nodes, presence) = (self.nodes, self.presence);
        Ok(DeviceTree { grid, bits, params: self.params, starts, nodes, presence })
    }
}
