//! Forests of coded trees: tiles whose codes stand for their own values.

use std::io::{self, Seek, Write};
use std::ops::Range;

use gpu_core::GridSpec;
use kernels_rs::ccq::summary::Summary;
use kernels_rs::ccq::value::Value;

use super::{CodedTree, Codes, Stored, of_stored};
use crate::cpu::{Tiles, merge, of_root, relinked};
use crate::forest::Tiling;
use crate::tree::{Node, bits_of};
use crate::{Cell, Merged, Number, Params, Result, Tree};

/// A coded tree for each tile of a raster; [`merge`](Self::merge) makes them one tree.
///
/// The codes of a tile stand for the values that the tile has. The codes of the whole stand for the values of all
/// tiles. Both rise with the values. So only the two codes of a node change when it becomes a node of the whole.
///
/// Example: see [`build_coded_tile`](crate::build_coded_tile).
#[derive(Debug)]
pub struct CodedForest<T: Number> {
    tiling: Tiling,
    trees: Vec<CodedTree<T>>,
    /// The codes of the whole.
    codes: Codes<T>,
    /// For each tile its codes in the whole; nothing where they are the same.
    in_whole: Vec<Vec<u32>>,
    nodata: Option<T>,
}

impl<T: Number> CodedForest<T> {
    /// Returns the forest of trees that were built one by one ([`build_coded_tile`](crate::build_coded_tile)), row by row of tiles.
    ///
    /// Beside the trees it takes 20 bytes of memory for each value of each tile.
    ///
    /// # Errors
    /// The errors of [`Forest::of_trees`](crate::Forest::of_trees), where the parameters of all are the bins and
    /// NODATA; [`Error::Core`](crate::Error::Core) where memory does not suffice.
    pub fn of_trees(grid: GridSpec, tile_side: u32, trees: Vec<CodedTree<T>>) -> Result<Self> {
        let tiling = Tiling::new(grid, tile_side)?;
        let first = trees.first();
        let are_alike = |tree: &CodedTree<T>| {
            first.is_some_and(|first| {
                let (codes, own) = (&first.codes, &tree.codes);
                let same_bins = codes.are_bins == own.are_bins
                    && (!codes.are_bins || codes.values == own.values);
                same_bins && first.nodata.and_then(T::rank) == tree.nodata.and_then(T::rank)
            })
        };
        tiling.check_trees(trees.len(), |i| {
            let tree = &trees[i];
            let bits = of_stored!(&tree.tree, tree => tree.bits);
            (*tree.grid(), bits, are_alike(tree))
        })?;
        let nodata = first.and_then(|tree| tree.nodata);
        let all: Vec<&Codes<T>> = trees.iter().map(|tree| tree.codes()).collect();
        let codes = match all.is_empty() {
            true => Codes { values: Vec::new(), are_bins: false },
            false => Codes::of_tiles(&all)?,
        };
        let in_whole = all.iter().map(|own| own.in_whole(&codes)).collect::<Result<_>>()?;
        let mut trees = trees;
        for (i, tree) in trees.iter_mut().enumerate() {
            let place = tiling.place(i);
            of_stored!(&mut tree.tree, tree => tree.grid = place);
        }
        Ok(Self { tiling, trees, codes, in_whole, nodata })
    }

    /// Returns one tree for the whole raster: the same, byte for byte, as [`build_coded`](crate::build_coded) makes of it.
    ///
    /// # Errors
    /// The errors of [`Forest::merge`](crate::Forest::merge).
    pub fn merge(mut self) -> Result<CodedTree<T>> {
        if self.trees.len() == 1
            && let Some(mut tree) = self.trees.pop()
        {
            of_stored!(&mut tree.tree, tree => tree.grid = self.tiling.grid);
            return Ok(tree);
        }
        let params = self.codes.params(self.nodata);
        let tree = if self.codes.are_short() {
            Stored::Short(self.of_codes(&params)?)
        } else {
            Stored::Long(self.of_codes(&params)?)
        };
        Ok(CodedTree { tree, codes: self.codes.into(), nodata: self.nodata })
    }

    /// The code in the whole of a tile's.
    fn in_whole(&self, tile: usize, own: u32) -> u32 {
        self.in_whole[tile].get(own as usize).copied().unwrap_or(own)
    }

    fn of_codes<C: Code>(&self, params: &Params) -> Result<Tree<C>> {
        match self.trees.is_empty() {
            true => Ok(Tree::empty(self.tiling.grid, bits_of(&self.tiling.grid), params)),
            false => merge::<C>(&self.tiling, params, self),
        }
    }

    /// Returns the merged tree as [`Forest::merged`](crate::Forest::merged) does, with the codes in memory.
    ///
    /// # Errors
    /// The errors of [`merge`](Self::merge).
    pub fn merged(&self) -> Result<CodedMerged<'_>> {
        let params = self.codes.params(self.nodata);
        let codes = Some(self.codes.part(self.nodata));
        Ok(CodedMerged(if self.codes.are_short() {
            Either::Short(Merged::new(&self.tiling, &params, self, codes)?)
        } else {
            Either::Long(Merged::new(&self.tiling, &params, self, codes)?)
        }))
    }
}

/// A type of codes.
trait Code: Cell {
    fn of(code: u32) -> Self;
    /// The tree of such codes.
    fn own(tree: &Stored) -> Option<&Tree<Self>>;
}

impl Code for u16 {
    fn of(code: u32) -> Self {
        code as Self
    }

    fn own(tree: &Stored) -> Option<&Tree<Self>> {
        if let Stored::Short(tree) = tree { Some(tree) } else { None }
    }
}

impl Code for u32 {
    fn of(code: u32) -> Self {
        code
    }

    fn own(tree: &Stored) -> Option<&Tree<Self>> {
        if let Stored::Long(tree) = tree { Some(tree) } else { None }
    }
}

impl<T: Number, C: Code> Tiles<C> for CodedForest<T> {
    fn count(&self) -> usize {
        self.trees.len()
    }

    fn only(&self) -> Option<&Tree<C>> {
        if let [tree] = &self.trees[..] { C::own(&tree.tree) } else { None }
    }

    fn root(&self, tile: usize) -> Summary {
        let root = of_stored!(&self.trees[tile].tree, tree => of_root(tree));
        if !root.has_values() {
            return root;
        }
        // The key of an unsigned number is itself.
        let [min, max] = [root.min, root.max].map(|own| self.in_whole(tile, own));
        Summary { min, max, ..root }
    }

    fn levels(&self, tile: usize) -> &[u64] {
        of_stored!(&self.trees[tile].tree, tree => &tree.starts)
    }

    fn presence(&self, tile: usize) -> &[u8] {
        of_stored!(&self.trees[tile].tree, tree => &tree.presence)
    }

    fn put(&self, tile: usize, from: Range<usize>, below: (u32, u32), to: &mut [Node<C>]) {
        let code = |own: u32| C::of(self.in_whole(tile, own));
        of_stored!(&self.trees[tile].tree, tree => {
            for (to, node) in to.iter_mut().zip(&tree.nodes[from]) {
                let (min, max) = (code(node.min().key()), code(node.max().key()));
                *to = relinked(Node::new(min, max, node.link()), below);
            }
        });
    }
}

/// The merged tree of a [`CodedForest`], to be written.
///
/// Example: see [`Merged`].
pub struct CodedMerged<'a>(Either<'a>);

enum Either<'a> {
    Short(Merged<'a, u16>),
    Long(Merged<'a, u32>),
}

impl CodedMerged<'_> {
    /// As [`Merged::in_system`].
    #[must_use]
    pub fn in_system(self, system: impl Into<Option<String>>) -> Self {
        Self(match self.0 {
            Either::Short(merged) => Either::Short(merged.in_system(system)),
            Either::Long(merged) => Either::Long(merged.in_system(system)),
        })
    }

    /// As [`Merged::write_to`].
    ///
    /// # Errors
    /// The writer's.
    pub fn write_to(&self, to: impl Write + Seek) -> io::Result<()> {
        match &self.0 {
            Either::Short(merged) => merged.write_to(to),
            Either::Long(merged) => merged.write_to(to),
        }
    }
}
