//! Marks the cells, or nodes, that satisfy a condition that no range of a tree's keys expresses. Crate `ccq-tree`.
//!
//! [`mark`](const@mark) writes a raster of the type that the search reads beside the tree: 1 for each cell of a raster
//! whose value is wanted, and 0 for the others. So values of any type can refine a search whose range cuts through
//! bins, and so can a raster of larger cells, on the grid of the finest. [`indicate`](const@indicate) writes a tree
//! with the same links, to search for a set of classes.

use device_std::{In, Out, arguments, kernel, thread};

use super::summary::indicated;
use super::value::{Kind, rank_of};

/// Threads of a block.
pub const BLOCK: usize = 256;

/// The values of a raster, and which of them are wanted.
#[arguments]
pub struct Raster<'a> {
    /// The bytes of its cells, row by row.
    pub cells: In<'a, u8>,
    /// The type of the values: a [`Kind`].
    pub kind: u32,
    /// Its columns.
    pub width: u32,
    /// A cell has `2^levels` cells of the search's grid on a side.
    pub levels: u32,
    /// The least and the greatest rank that is wanted.
    pub wanted: [u64; 2],
    /// 1 if a value stands for NODATA.
    pub has_nodata: u32,
    /// The rank of that value.
    pub nodata: u64,
}

impl Raster<'_> {
    /// The bits of a cell's value.
    #[inline(always)]
    fn bits(&self, cell: u64) -> u64 {
        // SAFETY: the cells are of the type, and aligned to it.
        unsafe {
            if self.kind >= Kind::F64 as u32 {
                self.cells.cast::<u64>().get(cell)
            } else if self.kind >= Kind::I32 as u32 {
                self.cells.cast::<u32>().get(cell) as u64
            } else if self.kind == Kind::U8 as u32 {
                self.cells.get(cell) as u64
            } else {
                self.cells.cast::<u16>().get(cell) as u64
            }
        }
    }

    /// Whether a cell is wanted.
    #[inline(always)]
    fn wants(&self, cell: u64) -> bool {
        match rank_of(self.kind, self.bits(cell)) {
            Some(rank) => {
                let is_missing = self.has_nodata != 0 && rank == self.nodata;
                !is_missing && self.wanted[0] <= rank && rank <= self.wanted[1]
            }
            None => false,
        }
    }
}

/// Marks the cells of a grid of `width` columns and `cells` cells: 1, as a number of `bytes` bytes, if the raster's
/// cell is wanted, else 0. Grid: a thread for each cell.
///
/// # Safety
/// The raster has a cell for each `2^levels` rows and columns of the grid. A mark has 1, 2 or 4 bytes, and `marks` has
/// a word for each four bytes of all marks.
#[kernel(block = BLOCK)]
pub unsafe fn mark(raster: Raster<'_>, width: u32, cells: u64, bytes: u32, marks: Out<'_, u32>) {
    let cell = thread::index_1d();
    if cell >= cells {
        return;
    }
    let row = cell.checked_div(width as u64).unwrap_or(0);
    let column = cell - row * width as u64;
    let own = (row >> raster.levels) * raster.width as u64 + (column >> raster.levels);
    let is_wanted = raster.wants(own) as u32;
    // SAFETY: there are bytes for all marks, aligned to words.
    unsafe {
        if bytes == 1 {
            marks.cast::<u8>().set(cell, is_wanted as u8);
        } else if bytes == 2 {
            marks.cast::<u16>().set(cell, is_wanted as u16);
        } else {
            marks.set(cell, is_wanted);
        }
    }
}

/// Nodes, and the classes that occur in each.
#[arguments]
pub struct Nodes<'a> {
    /// The words of the nodes, one node after the other; the last word of a node is its link.
    pub nodes: In<'a, u32>,
    /// Words of a node: 2 or 3.
    pub words: u32,
    /// How many nodes there are.
    pub len: u32,
    /// The classes of each node: the first word of its field, which has two.
    pub classes: In<'a, u64>,
}

/// Writes nodes of `u8` with the same links, for a search for 1. The least value is 1 if all classes of the node are in
/// the set; the greatest is 1 if any is. Grid: a thread for each node.
///
/// # Safety
/// The slices have what [`Nodes`] says; `to` has two words a node.
#[kernel(block = BLOCK)]
pub unsafe fn indicate(from: Nodes<'_>, set: u64, to: Out<'_, u32>) {
    let i = thread::index_1d();
    if i >= from.len as u64 {
        return;
    }
    let link = from.nodes.get(i * from.words as u64 + from.words as u64 - 1);
    let [min, max] = indicated(from.classes.get(2 * i), set);
    to.set(2 * i, min as u32 | (max as u32) << 8);
    to.set(2 * i + 1, link);
}

device_std::ptx_module! { "ccq_marks" }
