//! The tree over codes.

use std::sync::Arc;

use gpu_core::GridSpec;

use super::Codes;
use crate::{Bound, Cell, Node, Number, Tree};

/// The tree of a raster with values of any type. [`build_coded`](crate::build_coded) builds it from codes that stand
/// for the values.
///
/// Searches take it like a [`Tree`]. Nodes cannot hold `f64`, `i64` and `u64`, so each value that occurs gets a code.
/// Nothing is rounded. For types of 32 bits, nodes take 8 bytes instead of 12 if there are at most 65,535 codes, as
/// with bins.
///
/// ```
/// use ccq_tree::{CodedParams, Query, build_coded};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new(vec![1i64 << 60, 0, 7, 7], GridSpec::of_pixels(2, 2))?;
/// let tree = build_coded(&Device::Cpu, raster.view(), &CodedParams::new())?;
/// assert_eq!(tree.codes().values(), [0, 7, 1 << 60]);
/// assert_eq!(tree.node_bytes(), 8);
/// let peak = tree.top_k(&Device::Cpu, 1, &Query::new())?[0];
/// assert_eq!((peak.row, peak.column, peak.value), (0, 0, (1i64 << 60).into()));
/// # Ok::<(), ccq_tree::Error>(())
/// ```
#[derive(Debug, PartialEq)]
pub struct CodedTree<T: Number> {
    pub(crate) tree: Stored,
    pub(crate) codes: Arc<Codes<T>>,
    pub(crate) nodata: Option<T>,
}

/// A tree of codes of 16 bits or of 32.
#[derive(Debug, PartialEq)]
pub(crate) enum Stored {
    Short(Tree<u16>),
    Long(Tree<u32>),
}

macro_rules! of_stored {
    ($stored:expr, $tree:ident => $result:expr) => {
        match $stored {
            $crate::coded::tree::Stored::Short($tree) => $result,
            $crate::coded::tree::Stored::Long($tree) => $result,
        }
    };
}
pub(super) use of_stored;

impl<T: Number> CodedTree<T> {
    /// Returns where the raster lies.
    pub fn grid(&self) -> &GridSpec {
        of_stored!(&self.tree, tree => tree.grid())
    }

    /// As [`Tree::system`].
    pub fn system(&self) -> Option<&str> {
        of_stored!(&self.tree, tree => tree.system())
    }

    /// As [`Tree::in_system`].
    #[must_use]
    pub fn in_system(self, system: impl Into<Option<String>>) -> Self {
        let tree = match self.tree {
            Stored::Short(tree) => Stored::Short(tree.in_system(system)),
            Stored::Long(tree) => Stored::Long(tree.in_system(system)),
        };
        Self { tree, ..self }
    }

    /// Returns the table of codes: what each code stands for.
    pub fn codes(&self) -> &Codes<T> {
        &self.codes
    }

    /// Returns the value that stands for NODATA.
    pub fn nodata(&self) -> Option<T> {
        self.nodata
    }

    /// Returns how many nodes there are.
    pub fn node_count(&self) -> usize {
        of_stored!(&self.tree, tree => tree.nodes().len())
    }

    /// Bytes of a node: 8 or 12.
    pub fn node_bytes(&self) -> usize {
        match self.tree {
            Stored::Short(_) => size_of::<Node<u16>>(),
            Stored::Long(_) => size_of::<Node<u32>>(),
        }
    }

    /// As [`Tree::levels`].
    pub fn levels(&self) -> u32 {
        of_stored!(&self.tree, tree => tree.levels())
    }

    /// Returns how many bytes the nodes, the flags of children and the table of codes take.
    pub fn bytes(&self) -> u64 {
        let codes = 8 * self.codes.values.len() as u64;
        of_stored!(&self.tree, tree => tree.bytes()) + codes
    }

    /// Bits for each cell of the raster.
    pub fn bits_per_cell(&self) -> f64 {
        8.0 * self.bytes() as f64 / self.grid().cells().max(1) as f64
    }

    /// Returns the bytes of a tree with pointers, as [`Tree::pointer_tree_bytes`] does, for values of this type.
    pub fn pointer_tree_bytes(&self, pointer: u64) -> u64 {
        self.node_count() as u64 * (2 * size_of::<T>() as u64 + 4 * pointer)
    }

    /// Returns the least and the greatest value, or number of a bin; `None` where no cell has one.
    pub fn bounds(&self) -> Option<[Bound; 2]> {
        let codes = of_stored!(&self.tree, tree => {
            tree.nodes().first().map(|root| [root.min().to_f64(), root.max().to_f64()])
        });
        codes.map(|ends| ends.map(|code| self.codes.bound(code as u32)))
    }
}
