//! Data fields of the nodes of trees in device memory.

use gpu_core::{Blocks, Column, Gpu};
use gpu_scan::gpu::Workspace;
use kernels_rs::ccq::{fields as kernels, marks};

use super::DeviceTree;
use super::query::{Condition, Searched, quadrants};
use crate::fields::Resident;
use crate::params::Window;
use crate::tree::Node;
use crate::{Cell, Classes, Error, Params, Quadrant, Query, Result};

/// A tree with a data field for each node, in device memory.
///
/// Example: see [`fields`](crate::gpu::fields()).
pub struct DeviceFields<'t, T: Cell, A: Resident<T>> {
    tree: &'t DeviceTree<T>,
    aggregate: A,
    fields: Column<[u64; kernels::FIELD]>,
}

/// Returns the fields of a tree's nodes, as [`cpu::fields`](crate::cpu::fields) makes them. Enqueues two launches a level and returns;
/// after one call it can be captured.
///
/// ```
/// use ccq_tree::gpu::{Workspace, build, fields};
/// use ccq_tree::{Params, Query, Sum};
/// use gpu_core::{DeviceChoice, DeviceGrid, Gpu, Grid, GridSpec};
///
/// # fn main() -> Result<(), ccq_tree::Error> {
/// # let gpu = Gpu::open(DeviceChoice::Software)?;
/// # let mut workspace = Workspace::new(&gpu)?;
/// let raster = Grid::new(vec![1u8, 1, 7, 3, 1, 1, 5, 7], GridSpec::of_pixels(4, 2))?;
/// let raster = DeviceGrid::upload(&gpu, raster.view())?;
/// let tree = build(&mut workspace, &raster, &Params::new())?;
/// let sums = fields(&mut workspace, &tree, Sum)?;
/// let high = sums.condition().range(5, 8);
/// let total = sums.total(&mut workspace, &[high], &Query::new())?.expect("there are such cells");
/// assert_eq!((total.cells, total.sum), (3, 19));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Core`] where memory or the device fails.
pub fn fields<'t, T: Cell, A: Resident<T>>(
    workspace: &mut Workspace,
    tree: &'t DeviceTree<T>,
    aggregate: A,
) -> Result<DeviceFields<'t, T, A>> {
    let gpu = workspace.gpu().clone();
    let starts = tree.level_starts();
    let nodes = starts.last().copied().unwrap_or(0) as usize;
    // Zeroed, for nodes that no link leads to.
    let mut places = gpu.zeroed::<[u32; 2]>(nodes)?;
    let mut fields = gpu.zeroed::<[u64; kernels::FIELD]>(nodes)?;
    let level = |level: usize| {
        let at = |i: usize| starts.get(i).map_or(nodes as u32, |&at| at as u32);
        let (first, end, below) = (at(level), at(level + 1), at(level + 2));
        kernels::Level { level: level as u32, first, end, below }
    };
    let blocks = |level: kernels::Level| {
        Blocks::x((level.end - level.first).div_ceil(kernels::BLOCK as u32))
    };
    let levels = || (0..=tree.bits as usize).map(level).filter(|level| level.first < level.end);
    for level in levels() {
        // SAFETY: the tree comes with its lengths, and there are two words for each node.
        unsafe {
            let places = places.output().cast();
            let arguments = kernels::spread::Args { tree: as_asked(tree, A::WHAT), level, places };
            gpu.enqueue(kernels::spread, blocks(level), arguments)?;
        }
    }
    for level in levels().collect::<Vec<_>>().into_iter().rev() {
        // SAFETY: as above.
        unsafe {
            let (tree, places) = (as_asked(tree, A::WHAT), places.input().cast());
            let fields = fields.output().cast();
            let arguments = kernels::combine::Args { tree, level, places, fields };
            gpu.enqueue(kernels::combine, blocks(level), arguments)?;
        }
    }
    Ok(DeviceFields { tree, aggregate, fields })
}

/// A tree as kernels take it.
fn as_asked<T: Cell>(tree: &DeviceTree<T>, what: u32) -> kernels::Tree<'_> {
    let (nodes, nodes_len) = Searched::nodes(tree);
    kernels::Tree {
        kind: T::KIND,
        nodes,
        nodes_len,
        presence: tree.presence.input(),
        presence_len: tree.presence.len() as u32,
        width: tree.grid.width,
        height: tree.grid.height,
        bits: tree.bits,
        what,
    }
}

impl<'t, T: Cell, A: Resident<T>> DeviceFields<'t, T, A> {
    /// Copies the fields to the host, in the order of the nodes. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`].
    pub fn to_host(&self) -> Result<Vec<A::Field>> {
        Ok(self.fields.to_host()?.into_iter().map(A::of_words).collect())
    }

    /// Accepts any value of the tree's raster: the first of the conditions of [`total`](Self::total).
    pub fn condition(&self) -> Condition<'t> {
        Condition::new(self.tree)
    }

    /// Returns the field of all cells that satisfy all conditions, as [`Fields::total`](crate::Fields::total) gives it
    /// on the host, with the same bits. The host combines the quadrants' fields and waits for them, so a graph cannot
    /// hold this call.
    ///
    /// # Errors
    /// The errors of [`quadrants`](super::quadrants); [`Error::NeedsRaster`] where a range cuts through a bin,
    /// [`Error::Fields`] unless the first condition's tree is this one.
    pub fn total(
        &self,
        workspace: &mut Workspace,
        conditions: &[Condition<'_>],
        query: &Query,
    ) -> Result<Option<A::Field>> {
        let own: *const DeviceTree<T> = self.tree;
        if !conditions.first().is_some_and(|first| first.is_of(own.cast())) {
            return Err(Error::Fields);
        }
        let found = quadrants(workspace, conditions, query)?;
        if found.iter().any(|quadrant| quadrant.is_partly) {
            return Err(Error::NeedsRaster);
        }
        if found.is_empty() {
            return Ok(None);
        }
        let gpu = workspace.gpu().clone();
        let words = |q: &Quadrant| [q.row, q.column, q.size];
        let there = gpu.upload(&found.iter().map(words).collect::<Vec<_>>())?;
        let len = found.len() as u32;
        let mut out = gpu.zeroed::<[u64; kernels::FIELD]>(found.len())?;
        let Window { row0, column0, row1, column1 } =
            query.window.unwrap_or(Window::of(&self.tree.grid));
        let window = [row0, column0, row1, column1];
        // SAFETY: the tree comes with its lengths, the fields are one for each node, and the others have the length.
        unsafe {
            let (tree, quadrants) = (as_asked(self.tree, A::WHAT), there.input().cast());
            let (fields, out) = (self.fields.input().cast(), out.output().cast());
            let arguments = kernels::take::Args { tree, quadrants, len, fields, window, out };
            gpu.enqueue(kernels::take, Blocks::for_each(&kernels::take, len.into())?, arguments)?;
        }
        let fields = out.to_host()?.into_iter().map(A::of_words);
        Ok(fields.reduce(|a, b| self.aggregate.combine(a, b)))
    }
}

/// Where the cells of a set of classes lie, in device memory: see [`ClassSet`](crate::ClassSet).
///
/// ```
/// use ccq_tree::gpu::{Workspace, build, count, fields};
/// use ccq_tree::{Classes, Params, Query};
/// use gpu_core::{DeviceChoice, DeviceGrid, Gpu, Grid, GridSpec};
///
/// # fn main() -> Result<(), ccq_tree::Error> {
/// # let gpu = Gpu::open(DeviceChoice::Software)?;
/// # let mut workspace = Workspace::new(&gpu)?;
/// let raster = Grid::new(vec![1u8, 1, 7, 3, 1, 1, 5, 7], GridSpec::of_pixels(4, 2))?;
/// let raster = DeviceGrid::upload(&gpu, raster.view())?;
/// let tree = build(&mut workspace, &raster, &Params::new())?;
/// let set = fields(&mut workspace, &tree, Classes)?.in_set(&gpu, 1 << 3 | 1 << 7)?;
/// let counted = count(&mut workspace, &[set.condition()], &Query::new())?;
/// assert_eq!(counted.to_host()?[1], 3); // the cells of classes 3 and 7
/// # Ok(())
/// # }
/// ```
pub struct DeviceClassSet {
    tree: DeviceTree<u8>,
}

impl DeviceClassSet {
    /// Returns the condition that a cell's class is in the set.
    pub fn condition(&self) -> Condition<'_> {
        Condition::new(&self.tree).range(1, 2)
    }
}

impl<T: Cell> DeviceFields<'_, T, Classes> {
    /// Returns the cells whose class is in a set, as [`Fields::in_set`](crate::Fields::in_set) gives them on the host. Enqueues a launch
    /// and returns; after one call it can be captured.
    ///
    /// # Errors
    /// [`Error::Core`] where memory or the device fails.
    pub fn in_set(&self, gpu: &Gpu, set: u64) -> Result<DeviceClassSet> {
        let tree = self.tree;
        let len = self.fields.len();
        let mut nodes = gpu.zeroed::<Node<u8>>(len)?;
        let mut presence = gpu.zeroed::<u8>(tree.presence.len())?;
        gpu.copy(&tree.presence, &mut presence)?;
        let words = (size_of::<Node<T>>() / 4) as u32;
        // SAFETY: a node is words, and its link the last of them; a field is two words, of which the first are the classes.
        unsafe {
            let from = marks::Nodes {
                nodes: tree.nodes.input().cast(),
                words,
                len: len as u32,
                classes: self.fields.input().cast(),
            };
            let arguments = marks::indicate::Args { from, set, to: nodes.output().cast() };
            let blocks = Blocks::for_each(&marks::indicate, len as u64)?;
            gpu.enqueue(marks::indicate, blocks, arguments)?;
        }
        let (grid, bits, starts) = (tree.grid, tree.bits, tree.starts.clone());
        Ok(DeviceClassSet {
            tree: DeviceTree { grid, bits, params: Params::new(), starts, nodes, presence },
        })
    }
}
