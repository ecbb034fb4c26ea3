//! The tree: an array of nodes.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use gpu_core::GridSpec;
use kernels_rs::ccq::summary::MIXED;
use kernels_rs::ccq::value::RawNode;

use crate::params::Window;
use crate::{Cell, Params};

/// A node: the least and the greatest value of a quadrant (or the numbers of their bins), and where its children
/// are. It takes 8 bytes for cells of 8 and 16 bits, and 12 for cells of 32 bits.
///
/// ```
/// use ccq_tree::{Params, build};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new(vec![1u8, 1, 7, 3, 1, 1, 5, 7], GridSpec::of_pixels(4, 2))?;
/// let tree = build(&Device::Cpu, raster.view(), &Params::new())?;
/// let root = tree.nodes()[0];
/// let west = tree.nodes()[root.first_child().expect("values differ") as usize];
/// assert_eq!((west.min(), west.max()), (1, 1));
/// assert_eq!(west.first_child(), None); // all cells have one value
/// # Ok::<(), ccq_tree::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq)]
#[repr(transparent)]
pub struct Node<T: Cell>(RawNode<T>);

// SAFETY: zero bytes are values of every type of cells, a padding and a link.
unsafe impl<T: Cell> bytemuck::Zeroable for Node<T> {}
// SAFETY: the fields are plain, and with the padding between them there are no hidden bytes, as a test of
// `RawNode`'s sizes says for each of the six types.
unsafe impl<T: Cell> bytemuck::Pod for Node<T> {}

impl<T: Cell> Node<T> {
    pub(crate) fn new(min: T, max: T, link: u32) -> Self {
        Self(RawNode { min, max, padding: Default::default(), link })
    }

    /// Returns the least value.
    pub fn min(&self) -> T {
        self.0.min
    }

    /// Returns the greatest value.
    pub fn max(&self) -> T {
        self.0.max
    }

    /// Returns the position of the first child; `None` where all cells have one value.
    pub fn first_child(&self) -> Option<u32> {
        let position = self.0.link & !MIXED;
        (position != 0).then_some(position)
    }

    /// Whether some cells of the quadrant are NODATA, and some are not.
    pub fn is_mixed(&self) -> bool {
        self.0.link & MIXED != 0
    }

    pub(crate) fn link(&self) -> u32 {
        self.0.link
    }
}

impl<T: Cell> fmt::Debug for Node<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mixed = if self.is_mixed() { ", mixed" } else { "" };
        write!(f, "[{:?}, {:?}] -> {:?}{mixed}", self.min(), self.max(), self.first_child())
    }
}

/// Elements that are owned, or lie in a mapped file.
pub(crate) enum Storage<E> {
    Owned(Vec<E>),
    Mapped { file: Arc<memmap2::Mmap>, start: usize, len: usize },
}

impl<E: bytemuck::Pod> Deref for Storage<E> {
    type Target = [E];

    fn deref(&self) -> &[E] {
        match self {
            Self::Owned(elements) => elements,
            Self::Mapped { file, start, len } => {
                // Its place and alignment were checked when it was mapped.
                let bytes = file.get(*start..*start + *len * size_of::<E>()).unwrap_or_default();
                bytemuck::try_cast_slice(bytes).unwrap_or_default()
            }
        }
    }
}

/// A quadrant's place in its tree: a level below the root, and its column and row among that level's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub level: u32,
    pub x: u32,
    pub y: u32,
}

impl Place {
    pub const ROOT: Self = Self { level: 0, x: 0, y: 0 };

    /// Returns the child towards a corner: 0 north-west, 1 north-east, 2 south-west, 3 south-east.
    pub fn child(self, corner: u32) -> Self {
        Self { level: self.level + 1, x: 2 * self.x + (corner & 1), y: 2 * self.y + (corner >> 1) }
    }

    /// Returns the node's part of a raster; `None` if it has no cell of the raster.
    pub fn cells(self, bits: u32, grid: &GridSpec) -> Option<Window> {
        let shift = bits - self.level;
        let [x, y] = [self.x, self.y].map(|at| u64::from(at) << shift);
        let side = 1u64 << shift;
        let end = |from: u64, length: u32| (from + side).min(length.into()) as u32;
        (x < grid.width.into() && y < grid.height.into()).then(|| Window {
            row0: y as u32,
            column0: x as u32,
            row1: end(y, grid.height),
            column1: end(x, grid.width),
        })
    }

    /// Whether the raster has all cells of the node's square.
    pub fn is_whole(self, bits: u32, grid: &GridSpec) -> bool {
        let shift = bits - self.level;
        let end = |at: u32| u64::from(at + 1) << shift;
        end(self.x) <= grid.width.into() && end(self.y) <= grid.height.into()
    }

    /// Returns the quadrants of the node's square in which the raster has cells: bits as in [`Tree::presence`]. The
    /// square has more than one cell.
    pub fn corners(self, bits: u32, grid: &GridSpec) -> u8 {
        if self.is_whole(bits, grid) {
            return 0b1111;
        }
        let is_there = |&corner: &u32| self.child(corner).cells(bits, grid).is_some();
        (0..4).filter(is_there).fold(0, |mask, corner| mask | 1 << corner)
    }

    /// Cells on a side.
    pub fn side(self, bits: u32) -> u32 {
        1 << (bits - self.level)
    }
}

/// A min/max quadtree over a raster: its nodes in one array, level after level from the root, each level in Z-order.
/// `docs/internals/ccq-tree.md` defines it to the bit.
///
/// ```
/// use ccq_tree::{Params, Tree, build};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new(vec![1u8, 1, 7, 3, 1, 1, 5, 7], GridSpec::of_pixels(4, 2))?;
/// let tree = build(&Device::Cpu, raster.view(), &Params::new())?;
/// assert_eq!(tree.levels(), 3); // the root, two quadrants, cells
/// assert_eq!(tree.level_starts()[..2], [0, 1]);
/// let path = std::env::temp_dir().join(format!("tree-{}.ccq", std::process::id()));
/// tree.save(&path)?;
/// assert!(Tree::<u8>::read(&path)? == tree);
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), ccq_tree::Error>(())
/// ```
pub struct Tree<T: Cell> {
    pub(crate) grid: GridSpec,
    /// Levels below the root.
    pub(crate) bits: u32,
    pub(crate) params: Params,
    /// Where each level begins, and the end.
    pub(crate) starts: Vec<u64>,
    pub(crate) nodes: Storage<Node<T>>,
    /// For each node above the cells which of its children there are; empty where every cell has a value.
    pub(crate) presence: Storage<u8>,
    /// The reference system; empty where none was given.
    pub(crate) system: String,
}

/// Levels below the root of a raster's tree: the root is the smallest square of a side 2^n that holds it.
pub(crate) fn bits_of(grid: &GridSpec) -> u32 {
    grid.width.max(grid.height).max(1).next_power_of_two().trailing_zeros()
}

impl<T: Cell> Tree<T> {
    /// Returns where the raster lies.
    pub fn grid(&self) -> &GridSpec {
        &self.grid
    }

    /// Returns the reference system in whose units the grid is, as it was given; `None` where none was given.
    pub fn system(&self) -> Option<&str> {
        (!self.system.is_empty()).then_some(&self.system[..])
    }

    /// Sets the tree's reference system, which its file keeps: a text of up to 2^16 bytes, which this crate does not
    /// interpret.
    #[must_use]
    pub fn in_system(self, system: impl Into<Option<String>>) -> Self {
        Self { system: system.into().unwrap_or_default(), ..self }
    }

    /// Returns the parameters of the build: the bins, and the value that stands for NODATA.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the nodes; none where no cell has a value.
    pub fn nodes(&self) -> &[Node<T>] {
        &self.nodes
    }

    /// Returns the number of levels, including the root's and the cells'.
    pub fn levels(&self) -> u32 {
        self.bits + 1
    }

    /// Returns where the nodes of each level begin, and at last where the last level ends.
    pub fn level_starts(&self) -> &[u64] {
        &self.starts
    }

    /// Returns, for each node above the cells, which of its children are nodes: bit 0 north-west, 1 north-east, 2
    /// south-west, 3 south-east. Empty where cells cannot be NODATA: then all children that lie in the raster are
    /// nodes.
    pub fn presence(&self) -> &[u8] {
        &self.presence
    }

    /// Returns how many bytes the nodes and the flags of children take.
    pub fn bytes(&self) -> u64 {
        (size_of_val(self.nodes()) + self.presence().len()) as u64
    }

    /// Bits for each cell of the raster.
    pub fn bits_per_cell(&self) -> f64 {
        8.0 * self.bytes() as f64 / self.grid.cells().max(1) as f64
    }

    /// Returns how many bytes a quadtree of as many nodes would take with a pointer to each of four children.
    /// `pointer` is the size of a pointer in bytes. For values of 16 bits that is 20 bytes a node with pointers of
    /// 4 bytes, and 36 with pointers of 8 (Zhang et al., 4.3).
    pub fn pointer_tree_bytes(&self, pointer: u64) -> u64 {
        self.nodes.len() as u64 * (2 * size_of::<T>() as u64 + 4 * pointer)
    }

    /// Returns the children that a node may have, by its place and the flags. A link that leads out of the next level,
    /// as in damaged files, counts as no children.
    pub(crate) fn children(&self, position: usize, place: Place) -> Children {
        let none = Children { first: 0, mask: 0 };
        let Some(node) = self.nodes.get(position) else { return none };
        let Some(first) = node.first_child() else { return none };
        if place.level >= self.bits {
            return none;
        }
        let mut mask = place.corners(self.bits, &self.grid);
        if node.is_mixed() {
            mask &= self.presence.get(position).copied().unwrap_or(0);
        }
        let level = place.level as usize + 1;
        let end = u64::from(first) + u64::from(mask.count_ones());
        let fits = u64::from(first) >= self.starts[level] && end <= self.starts[level + 1];
        if fits { Children { first, mask } } else { none }
    }
}

/// The children of a node: the first's position, and which there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Children {
    pub first: u32,
    pub mask: u8,
}

impl Children {
    /// Returns the position of the child towards a corner, if it is a node.
    pub fn get(self, corner: u32) -> Option<u32> {
        let before = self.mask & ((1 << corner) - 1);
        (self.mask >> corner & 1 != 0).then(|| self.first + before.count_ones())
    }
}

impl<T: Cell> PartialEq for Tree<T> {
    fn eq(&self, other: &Self) -> bool {
        // NaN in a NODATA value is equal to itself here.
        let nodata = |tree: &Self| tree.params.nodata.map(f64::to_bits);
        self.grid == other.grid
            && self.params.bins == other.params.bins
            && nodata(self) == nodata(other)
            && self.starts == other.starts
            && bytemuck::cast_slice::<_, u8>(&self.nodes)
                == bytemuck::cast_slice::<_, u8>(&other.nodes)
            && *self.presence == *other.presence
            && self.system == other.system
    }
}

impl<T: Cell> fmt::Debug for Tree<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree")
            .field("cells", &T::NAME)
            .field("width", &self.grid.width)
            .field("height", &self.grid.height)
            .field("nodes", &self.nodes.len())
            .finish_non_exhaustive()
    }
}
