//! The file of a forest's merged tree, without the tree in memory.
//!
//! Nodes above the tiles come first. Below the roots, a level of the whole is the same level of all tiles, one after
//! the other in Z-order. So the merge writes the file front to back from the tiles' trees, which may lie in mapped
//! files. It writes the header last, since the header holds checksums of what follows.

use std::io::{self, Seek, SeekFrom, Write};

use gpu_core::host_memory;

use super::merge::{Merging, Moved, Tiles, merge};
use crate::file::{CodesPart, check_system, padding};
use crate::forest::{Forest, Tiling};
use crate::tree::{Node, Storage, bits_of};
use crate::{Cell, Params, Result, Tree};

/// Nodes that are written at once.
const AT_ONCE: usize = 1 << 14;

/// The merged tree of a forest, to be written.
///
/// ```
/// use ccq_tree::{Params, build, build_forest};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new((0u16..128 * 64).collect(), GridSpec::of_pixels(128, 64))?; // row by row
/// let tree = build(&Device::Cpu, raster.view(), &Params::new())?;
/// let forest = build_forest(&Device::Cpu, raster.view(), 64, &Params::new())?;
/// let (mut merged, mut built) = (std::io::Cursor::new(Vec::new()), Vec::new());
/// forest.merged()?.write_to(&mut merged)?;
/// tree.write_to(&mut built)?;
/// assert!(merged.into_inner() == built);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Merged<'a, T: Cell> {
    tiles: &'a dyn Tiles<T>,
    /// `None` where the only tree is that of the whole.
    merging: Option<Merging>,
    /// The tree, but for the nodes below the tiles' roots and their flags.
    top: Tree<T>,
    /// What codes stand for.
    codes: Option<CodesPart>,
}

impl<'a, T: Cell> Merged<'a, T> {
    pub(crate) fn new(
        tiling: &Tiling,
        params: &Params,
        tiles: &'a dyn Tiles<T>,
        codes: Option<CodesPart>,
    ) -> Result<Self> {
        let grid = tiling.grid;
        if tiles.count() < 2 {
            let top = Tree::empty(grid, tiling.bits, params);
            return Ok(Self { tiles, merging: None, top, codes });
        }
        let merging = Merging::of_tiles(tiling, tiles)?;
        let len = merging.top_len();
        let mut nodes = host_memory::filled(Node::new(T::of_key(0), T::of_key(0), 0), len)?;
        let flags = if params.may_lack_values::<T>() { len } else { 0 };
        let mut presence = host_memory::filled(0u8, flags)?;
        merging.write_top(&mut nodes, &mut presence);
        let top = Tree {
            starts: merging.levels(),
            nodes: Storage::Owned(nodes),
            presence: Storage::Owned(presence),
            ..Tree::empty(grid, merging.bits, params)
        };
        Ok(Self { tiles, merging: Some(merging), top, codes })
    }

    /// Sets the tree's reference system, as [`Tree::in_system`] does.
    #[must_use]
    pub fn in_system(self, system: impl Into<Option<String>>) -> Self {
        Self { top: self.top.in_system(system), ..self }
    }

    /// Writes the same bytes as [`Tree::save`] for the tree of [`Forest::merge`]. Goes back once, to the header.
    ///
    /// # Errors
    /// The writer's.
    pub fn write_to(&self, mut to: impl Write + Seek) -> io::Result<()> {
        let Some(merging) = &self.merging else {
            let tree = self.tiles.only().unwrap_or(&self.top);
            return tree.write_in(&self.top.system, self.codes.as_ref(), to);
        };
        let top = &self.top;
        let flags = match top.presence().is_empty() {
            true => 0,
            // Cells have no children.
            false => top.starts[top.bits as usize],
        };
        let lengths = [merging.total as u64, flags];
        let codes = self.codes.as_ref();
        let header = |sums: [u32; 2]| {
            top.header(lengths, sums, &top.system, codes.map(|codes| codes.header))
        };
        check_system(&top.system)?;
        let begin = to.stream_position()?;
        // A header of zeros: a file that is left in the middle is not a tree.
        to.write_all(&vec![0; header([0; 2]).len()])?;
        let nodes = self.write_nodes(merging, &mut to)?;
        to.write_all(&vec![0; padding(merging.total * size_of::<Node<T>>())])?;
        let sum_of_flags = self.write_flags(merging, &mut to)?;
        if let Some(codes) = codes {
            to.write_all(&vec![0; padding(flags as usize)])?;
            to.write_all(bytemuck::cast_slice(&codes.ranks))?;
        }
        let end = to.stream_position()?;
        to.seek(SeekFrom::Start(begin))?;
        to.write_all(&header([nodes, sum_of_flags]))?;
        to.seek(SeekFrom::Start(end))?;
        to.flush()
    }

    /// Writes the nodes; gives their sum.
    fn write_nodes(&self, merging: &Merging, to: &mut impl Write) -> io::Result<u32> {
        let mut to = Summed { to, sum: crc32fast::Hasher::new() };
        to.put(bytemuck::cast_slice(self.top.nodes()))?;
        let none = Node::new(T::of_key(0), T::of_key(0), 0);
        let mut some: Vec<Node<T>> = std::iter::repeat_n(none, AT_ONCE).collect();
        for (tile, Moved { from, below, .. }) in self.moved(merging) {
            for first in from.clone().step_by(AT_ONCE) {
                let nodes = first..from.end.min(first + AT_ONCE);
                let some = &mut some[..nodes.len()];
                self.tiles.put(tile, nodes, below, some);
                to.put(bytemuck::cast_slice(some))?;
            }
        }
        Ok(to.sum.finalize())
    }

    /// Writes which children there are; gives the sum.
    fn write_flags(&self, merging: &Merging, to: &mut impl Write) -> io::Result<u32> {
        let mut to = Summed { to, sum: crc32fast::Hasher::new() };
        to.put(self.top.presence())?;
        for (tile, Moved { from, .. }) in self.moved(merging) {
            // A tree without flags has nodes of the whole's cells here alone, which have none.
            to.put(self.tiles.presence(tile).get(from).unwrap_or_default())?;
        }
        Ok(to.sum.finalize())
    }

    /// The levels of the tiles' trees below their roots, as the whole has them.
    fn moved<'b>(&'b self, merging: &'b Merging) -> impl Iterator<Item = (usize, Moved)> + 'b {
        let tiles = merging.order();
        (0..merging.tile_levels() as usize).flat_map(move |level| {
            let tiles = tiles.clone().into_iter();
            tiles.filter_map(move |tile| {
                Some((tile, merging.moved(tile, self.tiles.levels(tile)).nth(level)?))
            })
        })
    }
}

/// A writer, and the CRC-32 of what was written.
struct Summed<W> {
    to: W,
    sum: crc32fast::Hasher,
}

impl<W: Write> Summed<W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.to.write_all(bytes)
    }
}

impl<T: Cell> Forest<T> {
    /// Returns the tree of [`merge`](Self::merge) in a form that goes straight to a file. Only the nodes above the
    /// tiles are in memory, so the tiles' trees may be larger than memory if their files are [mapped](Tree::map).
    ///
    /// # Errors
    /// The errors of [`merge`](Self::merge).
    pub fn merged(&self) -> Result<Merged<'_, T>> {
        Merged::new(&self.tiling, &self.params, self, None)
    }

    /// Returns one tree for the whole raster: the same, byte for byte, as [`build`](crate::build()) makes of it.
    ///
    /// All cores copy the nodes, each node once.
    ///
    /// # Errors
    /// [`Error::TooManyNodes`](crate::Error::TooManyNodes), [`Error::Core`](crate::Error::Core) where memory does not
    /// suffice.
    pub fn merge(self) -> Result<Tree<T>> {
        if self.trees.len() == 1 {
            return self.into_single();
        }
        if self.trees.is_empty() {
            return Ok(Tree::empty(self.tiling.grid, bits_of(&self.tiling.grid), &self.params));
        }
        merge(&self.tiling, &self.params, &self)
    }
}
