//! Searches for cells of a set of classes, which one range of values cannot express.

use gpu_core::host_memory;
use kernels_rs::ccq::summary::indicated;

use super::{Classes, Fields};
use crate::tree::{Node, Storage};
use crate::{Condition, Number, Params, Result, Tree};

/// Where the cells of a set of classes lie: a condition of any search, on any device.
///
/// ```
/// # fn main() -> Result<(), ccq_tree::Error> {
/// use ccq_tree::{Classes, Condition, Params, Query, build, cpu, quadrants};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let cover = Grid::new(vec![1u8, 1, 7, 3, 1, 1, 5, 7], GridSpec::of_pixels(4, 2))?;
/// let tree = build(&Device::Cpu, cover.view(), &Params::new())?;
/// let set = cpu::fields(&tree, Classes)?.in_set(1 << 1 | 1 << 7)?;
/// // The bounds of what is found are those of the first condition's tree.
/// let found = quadrants(&Device::Cpu, &[Condition::new(&tree), set.condition()], &Query::new())?;
/// assert_eq!(found.iter().map(|q| q.size).collect::<Vec<_>>(), [2, 1, 1]);
/// # Ok(())
/// # }
/// ```
pub struct ClassSet {
    /// A tree with the nodes of the other: the least value is 1 where all classes of a node are in the set, the greatest where one is.
    tree: Tree<u8>,
}

impl ClassSet {
    /// Returns the condition that a cell's class is in the set.
    pub fn condition(&self) -> Condition<'_> {
        Condition::new(&self.tree).range(1, 2)
    }
}

impl<T: Number> Fields<'_, T, Classes> {
    /// Returns the cells whose class is in a set: bit `v` for the value `v` from 0 to 62, bit 63 for every other value.
    ///
    /// Work: O(nodes), in 8 bytes a node.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core) where memory does not suffice.
    pub fn in_set(&self, set: u64) -> Result<ClassSet> {
        let tree = self.of.tree;
        let mut nodes = host_memory::filled(Node::new(0, 0, 0), self.fields.len())?;
        for (i, (node, &classes)) in nodes.iter_mut().zip(&self.fields).enumerate() {
            let [min, max] = indicated(classes, set);
            *node = Node::new(min.into(), max.into(), tree.link(i as u32));
        }
        let tree = Tree {
            grid: *tree.grid(),
            bits: tree.bits(),
            params: Params::new(),
            starts: tree.starts().to_vec(),
            nodes: Storage::Owned(nodes),
            presence: Storage::Owned(tree.presence().to_vec()),
            system: String::new(),
        };
        Ok(ClassSet { tree })
    }
}
