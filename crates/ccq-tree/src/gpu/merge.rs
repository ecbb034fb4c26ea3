//! Merging the trees of a forest on the device.
//!
//! The host fetches the roots of the tiles, plans where every level of every tile goes, and writes the few nodes above
//! the tiles. The device moves the other nodes.

use gpu_core::{Blocks, Column};
use gpu_scan::gpu::Workspace;
use kernels_rs::ccq::build as kernels;

use super::DeviceTree;
use super::tree::DeviceForest;
use crate::cpu::{Merging, of_root};
use crate::tree::{Node, Storage, Tree};
use crate::{Cell, Error, MAX_NODES, Result};

impl<T: Cell> DeviceForest<T> {
    /// Returns one tree for the whole raster: the same, byte for byte, as [`build`](super::build()) makes of it. The
    /// call waits for the roots of the tiles, so a graph cannot capture it.
    ///
    /// Every node is copied once. The call frees the forest's memory when the copies are done.
    ///
    /// # Errors
    /// [`Error::TooManyNodes`], [`Error::Core`] where memory or the device fails.
    pub fn merge(self, workspace: &mut Workspace) -> Result<DeviceTree<T>> {
        if self.starts.len() <= 1 {
            return self.into_single();
        }
        let gpu = workspace.gpu().clone();
        gpu.refuse_in_capture("the roots of a forest's tiles")?;
        let roots = self.roots(workspace)?.iter().map(of_root).collect();
        let merging = Merging::new(&self.tiling, roots, &|tile| &self.starts[tile])?;
        let (total, levels) = (merging.total, merging.levels());
        if total as u64 > MAX_NODES {
            return Err(Error::TooManyNodes { nodes: total as u64, most: MAX_NODES });
        }
        let lacks = self.params.may_lack_values::<T>();
        let flags = if lacks { levels[merging.bits as usize] as usize } else { 0 };
        // SAFETY: the first nodes are copied below, and the moves write all others.
        let mut nodes = unsafe { gpu.uninitialized::<Node<T>>(total)? };
        // SAFETY: likewise.
        let mut presence = unsafe { gpu.uninitialized::<u8>(flags)? };
        let top = merging.top_len();
        let mut host = vec![Node::new(T::of_key(0), T::of_key(0), 0); top];
        let mut host_presence = vec![0u8; if lacks { top } else { 0 }];
        merging.write_top(&mut host, &mut host_presence);
        gpu.copy(&gpu.upload(&host)?, nodes.slice_mut(0..top)?)?;
        let in_top = flags.min(top);
        let first_flags = gpu.upload(&host_presence[..in_top.min(host_presence.len())])?;
        gpu.copy(&first_flags, presence.slice_mut(0..first_flags.len())?)?;
        self.move_nodes(workspace, &merging, &mut nodes, &mut presence)?;
        let (grid, bits) = (self.tiling.grid, merging.bits);
        Ok(DeviceTree { grid, bits, params: self.params, starts: levels, nodes, presence })
    }

    /// The tiles as trees that have their roots alone.
    fn roots(&self, workspace: &Workspace) -> Result<Vec<Tree<T>>> {
        let gpu = workspace.gpu();
        let firsts = self.firsts();
        let mut nodes = gpu.zeroed::<Node<T>>(firsts.len())?;
        let has_flags = !self.presence.is_empty();
        let mut flags = gpu.zeroed::<u8>(if has_flags { firsts.len() } else { 0 })?;
        for (tile, &first) in firsts.iter().enumerate() {
            if self.starts[tile].last() == Some(&0) {
                continue;
            }
            gpu.copy(self.nodes.slice(first..first + 1)?, nodes.slice_mut(tile..tile + 1)?)?;
            if has_flags {
                let flag = self.presence.slice(first..first + 1)?;
                gpu.copy(flag, flags.slice_mut(tile..tile + 1)?)?;
            }
        }
        let (nodes, flags) = (nodes.to_host()?, flags.to_host()?);
        let tree = |tile: usize| {
            let has_nodes = self.starts[tile].last() != Some(&0);
            let (column, row) =
                (tile as u32 % self.tiling.columns, tile as u32 / self.tiling.columns);
            Tree {
                grid: self.tiling.tile(column, row),
                bits: self.tiling.bits,
                params: self.params.clone(),
                starts: self.starts[tile].clone(),
                nodes: Storage::Owned(nodes[tile..tile + usize::from(has_nodes)].to_vec()),
                presence: Storage::Owned(flags.get(tile).copied().into_iter().collect()),
                system: String::new(),
            }
        };
        Ok((0..firsts.len()).map(tree).collect())
    }

    /// Where the nodes of each tile begin.
    fn firsts(&self) -> Vec<usize> {
        let sizes = self.starts.iter().map(|levels| levels[levels.len() - 1] as usize);
        sizes.scan(0, |next, size| Some(std::mem::replace(next, *next + size))).collect()
    }

    /// Moves the nodes below the roots.
    fn move_nodes(
        &self,
        workspace: &Workspace,
        merging: &Merging,
        nodes: &mut Column<Node<T>>,
        presence: &mut Column<u8>,
    ) -> Result<()> {
        let gpu = workspace.gpu();
        let mut moves: Vec<kernels::Move> = Vec::new();
        for (tile, first) in self.firsts().into_iter().enumerate() {
            // The root is among those above, which are there already.
            moves.push([first as u32, u32::MAX, 0, 0]);
            for level in merging.moved(tile, &self.starts[tile]) {
                let from = (first + level.from.start) as u32;
                moves.push([from, level.to, level.below.0, level.below.1]);
            }
        }
        let moves = gpu.upload(&moves)?;
        let len = self.nodes.len() as u32;
        let words = size_of::<Node<T>>() / size_of::<u32>();
        let kernel = kernels::move_nodes::find(|&of| of == words).expect("an instance for each");
        let blocks = Blocks::for_each(&kernel, len.into())?;
        // SAFETY: the lengths are the columns'; a node is two words, or three.
        unsafe {
            let moving = kernels::Moving {
                nodes: self.nodes.input().cast(),
                presence: self.presence.input(),
                len,
                moves: moves.input(),
                moves_len: moves.len() as u32,
                room: nodes.len() as u32,
                out: nodes.output().cast(),
                presence_room: presence.len() as u32,
                out_presence: presence.output(),
            };
            gpu.enqueue(kernel, blocks, kernels::move_nodes::Args { moving })?;
        }
        Ok(())
    }
}
