//! The file of a forest's merged tree, without the tree in memory.
//!
//! Nodes above the tiles come first; below, a level of the whole is the same level of the tiles one after the other in Z-order.
//! So the file is written front to back from the tiles' trees, which may lie in mapped files, but for the header, which has the
//! sums of what follows it.

use std::io::{self, Seek, SeekFrom, Write};

use gpu_core::host_memory;

use super::merge::{Merging, Moved, merge, of_root, relinked};
use crate::file::{check_system, padding};
use crate::forest::Forest;
use crate::tree::{Node, Storage, bits_of};
use crate::{Cell, Result, Tree};

/// Nodes that are written at once.
const AT_ONCE: usize = 1 << 14;

/// The merged tree of a forest, to be written.
pub struct Merged<'a, T: Cell> {
    forest: &'a Forest<T>,
    /// `None` where the only tree is that of the whole.
    merging: Option<Merging>,
    /// The tree, but for the nodes below the tiles' roots and their flags.
    top: Tree<T>,
}

impl<'a, T: Cell> Merged<'a, T> {
    pub(crate) fn new(forest: &'a Forest<T>) -> Result<Self> {
        let (grid, params) = (forest.tiling.grid, &forest.params);
        if forest.trees.len() < 2 {
            let top = Tree::empty(grid, forest.tiling.bits, params);
            return Ok(Self { forest, merging: None, top });
        }
        let levels = |tile: usize| &forest.trees[tile].starts[..];
        let roots = forest.trees.iter().map(of_root).collect();
        let merging = Merging::new(&forest.tiling, roots, &levels)?;
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
        Ok(Self { forest, merging: Some(merging), top })
    }

    /// The same with a reference system, as [`Tree::in_system`] gives it.
    #[must_use]
    pub fn in_system(self, system: impl Into<Option<String>>) -> Self {
        Self { top: self.top.in_system(system), ..self }
    }

    /// Writes the bytes of the file that [`Tree::save`] makes of [`Forest::merge`]'s tree, and goes back once, to its
    /// header.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_to(&self, mut to: impl Write + Seek) -> io::Result<()> {
        let Some(merging) = &self.merging else {
            let tree = self.forest.trees.first().unwrap_or(&self.top);
            return tree.write_in(&self.top.system, None, to);
        };
        let top = &self.top;
        let flags = match top.presence().is_empty() {
            true => 0,
            // Of the cells none has children.
            false => top.starts[top.bits as usize],
        };
        let lengths = [merging.total as u64, flags];
        check_system(&top.system)?;
        let begin = to.stream_position()?;
        // A file that is left in the middle is none.
        to.write_all(&vec![0; top.header(lengths, [0; 2], &top.system, None).len()])?;
        let nodes = self.write_nodes(merging, &mut to)?;
        to.write_all(&vec![0; padding(merging.total * size_of::<Node<T>>())])?;
        let flags = self.write_flags(merging, &mut to)?;
        let end = to.stream_position()?;
        to.seek(SeekFrom::Start(begin))?;
        to.write_all(&top.header(lengths, [nodes, flags], &top.system, None))?;
        to.seek(SeekFrom::Start(end))?;
        to.flush()
    }

    /// Writes the nodes; gives their sum.
    fn write_nodes(&self, merging: &Merging, to: &mut impl Write) -> io::Result<u32> {
        let mut to = Summed { to, sum: crc32fast::Hasher::new() };
        to.put(bytemuck::cast_slice(self.top.nodes()))?;
        let mut some = Vec::with_capacity(AT_ONCE);
        for (tree, Moved { from, below, .. }) in self.moved(merging) {
            for nodes in tree.nodes[from].chunks(AT_ONCE) {
                some.clear();
                some.extend(nodes.iter().map(|&node| relinked(node, below)));
                to.put(bytemuck::cast_slice(&some))?;
            }
        }
        Ok(to.sum.finalize())
    }

    /// Writes which children there are; gives the sum.
    fn write_flags(&self, merging: &Merging, to: &mut impl Write) -> io::Result<u32> {
        let mut to = Summed { to, sum: crc32fast::Hasher::new() };
        to.put(self.top.presence())?;
        for (tree, Moved { from, .. }) in self.moved(merging) {
            // A tree without flags has nodes of the whole's cells here alone, which have none.
            to.put(tree.presence.get(from).unwrap_or_default())?;
        }
        Ok(to.sum.finalize())
    }

    /// The levels of the tiles' trees below their roots, as the whole has them.
    fn moved<'b>(
        &'b self,
        merging: &'b Merging,
    ) -> impl Iterator<Item = (&'b Tree<T>, Moved)> + 'b {
        let tiles = merging.order();
        (0..self.forest.tiling.bits as usize).flat_map(move |level| {
            let trees = tiles.clone().into_iter();
            trees.filter_map(move |tile| {
                let tree = &self.forest.trees[tile];
                Some((tree, merging.moved(tile, &tree.starts).nth(level)?))
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
    /// [`merge`](Self::merge)'s tree, to be written to a file: in memory is only what lies above the tiles, so that
    /// trees of [mapped](Tree::map) files may be larger than it.
    ///
    /// # Errors
    /// As [`merge`](Self::merge).
    pub fn merged(&self) -> Result<Merged<'_, T>> {
        Merged::new(self)
    }

    /// One tree for the whole raster: the same, byte for byte, as [`build`](crate::build()) makes of it.
    ///
    /// Every node is copied once, by all cores.
    ///
    /// # Errors
    /// [`Error::TooManyNodes`](crate::Error::TooManyNodes), [`Error::Core`](crate::Error::Core) where there is not the memory.
    pub fn merge(self) -> Result<Tree<T>> {
        if self.trees.len() == 1 {
            return self.into_single();
        }
        if self.trees.is_empty() {
            return Ok(Tree::empty(self.tiling.grid, bits_of(&self.tiling.grid), &self.params));
        }
        merge(&self)
    }
}
