//! Data fields of a tree's nodes: crate `ccq-tree`.
//!
//! [`spread`](const@spread) gives each node the place of its quadrant, level by level from the root. Then
//! [`combine`](const@combine) goes from the cells up. It makes a leaf's field of its value and its cells, and any other
//! field of the children's, from the north-west on. [`take`](const@take) finds the fields of the quadrants that a
//! search gave. A field is two words of 64 bits.

use device_std::{In, Out, arguments, kernel, thread};

use super::summary::MIXED;
use super::value::{Kind, Value};

/// Threads of a block.
pub const BLOCK: usize = 256;

/// Words of a field.
pub const FIELD: usize = 2;

/// Words of a quadrant: row, column, side.
pub const QUADRANT: usize = 3;

/// A field of the number of cells with a value, and their sum: an `i64` for whole numbers, an `f64` for floats.
pub const SUM: u32 = 0;

/// A field of the classes that occur: bit `v` for `v` from 0 to 62, bit 63 for any other value.
pub const CLASSES: u32 = 1;

/// A tree in device memory.
#[arguments]
pub struct Tree<'a> {
    /// The type of its values: a [`Kind`].
    pub kind: u32,
    /// The words of its nodes, one node after the other: two words a node for values of 8 and 16 bits, three for those
    /// of 32 bits.
    pub nodes: In<'a, u32>,
    /// How many nodes there are.
    pub nodes_len: u32,
    /// Which children each node has, a bit a child: `presence_len` bytes.
    pub presence: In<'a, u8>,
    /// How many nodes have such a byte: the first ones.
    pub presence_len: u32,
    /// The raster's columns.
    pub width: u32,
    /// The raster's rows.
    pub height: u32,
    /// Levels below the root.
    pub bits: u32,
    /// The kind of field: [`SUM`] or [`CLASSES`].
    pub what: u32,
}

/// A level of a tree: its number, its nodes, and those of the level below.
#[arguments]
pub struct Level {
    /// Below the root.
    pub level: u32,
    /// The first node.
    pub first: u32,
    /// The node after the last; the first of the level below.
    pub end: u32,
    /// The node after the last of the level below.
    pub below: u32,
}

/// A node: the bits of its least value, and its link.
#[derive(Clone, Copy)]
struct Node {
    bits: u32,
    link: u32,
}

impl Tree<'_> {
    /// The node at a position; beyond the last, a node without children.
    #[inline(always)]
    fn node(&self, position: u32) -> Node {
        if position >= self.nodes_len {
            return Node { bits: 0, link: 0 };
        }
        let (words, link) = if self.kind >= Kind::I32 as u32 { (3, 2) } else { (2, 1) };
        let at = self.nodes.from(words * position as usize);
        Node { bits: at.get(0u32), link: at.get(link as u32) }
    }

    /// Which children a node has.
    #[inline(always)]
    fn mask(&self, position: u32, link: u32, (x, y): (u32, u32), level: u32) -> u32 {
        if link & !MIXED == 0 || level >= self.bits {
            return 0;
        }
        let shift = self.bits - level - 1;
        let east = ((2 * x + 1) as u64) << shift < self.width as u64;
        let south = ((2 * y + 1) as u64) << shift < self.height as u64;
        let mut mask = 1 | (east as u32) << 1 | (south as u32) << 2 | ((east && south) as u32) << 3;
        if link & MIXED != 0 {
            mask &=
                if position < self.presence_len { self.presence.get(position) as u32 } else { 0 };
        }
        mask
    }

    /// How many cells of the raster lie from one column and row on, and before another column and row.
    #[inline(always)]
    fn cells(&self, (column0, row0): (u32, u32), (column1, row1): (u64, u64)) -> u64 {
        let columns = u64::min(column1, self.width as u64).saturating_sub(column0 as u64);
        let rows = u64::min(row1, self.height as u64).saturating_sub(row0 as u64);
        columns * rows
    }

    /// The field of `cells` cells with one value.
    #[inline(always)]
    fn of_value(&self, bits: u32, cells: u64) -> [u64; FIELD] {
        let kind = self.kind;
        let is_float = kind == Kind::F32 as u32;
        let float = f32::of_bits(bits);
        let whole = if kind == Kind::U8 as u32 {
            u8::of_bits(bits) as i64
        } else if kind == Kind::I16 as u32 {
            i16::of_bits(bits) as i64
        } else if kind == Kind::U16 as u32 {
            u16::of_bits(bits) as i64
        } else if kind == Kind::I32 as u32 {
            bits as i32 as i64
        } else {
            bits as i64
        };
        if self.what == SUM {
            let sum = if is_float {
                (float as f64 * cells as f64).to_bits()
            } else {
                whole.wrapping_mul(cells as i64) as u64
            };
            return [cells, sum];
        }
        let mut class = 63;
        if is_float {
            if (0.0..=62.0).contains(&float) && (float as u32) as f32 == float {
                class = float as u32;
            }
        } else if (0..=62).contains(&whole) {
            class = whole as u32;
        }
        [1 << class, 0]
    }

    /// The field of both together.
    #[inline(always)]
    fn both(&self, a: [u64; FIELD], b: [u64; FIELD]) -> [u64; FIELD] {
        if self.what != SUM {
            return [a[0] | b[0], 0];
        }
        let sum = if self.kind == Kind::F32 as u32 {
            (f64::from_bits(a[1]) + f64::from_bits(b[1])).to_bits()
        } else {
            a[1].wrapping_add(b[1])
        };
        [a[0] + b[0], sum]
    }
}

/// Writes the places of the children of a level's nodes: column and row among the quadrants of their level. Grid: a
/// thread for each node of the level.
///
/// # Safety
/// The slices have what [`Tree`] says, `places` two words a node.
#[kernel(block = BLOCK)]
pub unsafe fn spread(tree: Tree<'_>, level: Level, places: Out<'_, u32>) {
    let position = level.first + thread::index_1d() as u32;
    if position >= level.end {
        return;
    }
    let place = (places.get(2 * position as usize), places.get(2 * position as usize + 1));
    let node = tree.node(position);
    let mask = tree.mask(position, node.link, place, level.level);
    let (mut child, mut corner) = (node.link & !MIXED, 0);
    while corner < 4 {
        if mask >> corner & 1 != 0 {
            if child >= level.end && child < level.below {
                places.set(2 * child as usize, 2 * place.0 + (corner & 1));
                places.set(2 * child as usize + 1, 2 * place.1 + (corner >> 1));
            }
            child += 1;
        }
        corner += 1;
    }
}

/// Makes the fields of a level's nodes. Grid: a thread for each node of the level.
///
/// # Safety
/// As for [`spread`](const@spread), which was called for all levels above. `fields` has [`FIELD`] words a node; the
/// fields of the level below are made.
#[kernel(block = BLOCK)]
pub unsafe fn combine(tree: Tree<'_>, level: Level, places: In<'_, u32>, fields: Out<'_, u64>) {
    let position = level.first + thread::index_1d() as u32;
    if position >= level.end {
        return;
    }
    let (x, y) = (places.get(2 * position as usize), places.get(2 * position as usize + 1));
    let node = tree.node(position);
    let mask = tree.mask(position, node.link, (x, y), level.level);
    let (mut all, mut is_first) = ([0; FIELD], true);
    let (mut child, mut corner) = (node.link & !MIXED, 0);
    while corner < 4 {
        if mask >> corner & 1 != 0 {
            if child >= level.end && child < level.below {
                let at = fields.from(FIELD * child as usize);
                let own = [at.get(0u32), at.get(1u32)];
                all = if is_first { own } else { tree.both(all, own) };
                is_first = false;
            }
            child += 1;
        }
        corner += 1;
    }
    if is_first {
        let shift = tree.bits - level.level;
        let end = |at: u32| (at as u64 + 1) << shift;
        let cells = tree.cells((x << shift, y << shift), (end(x), end(y)));
        all = tree.of_value(node.bits, cells);
    }
    let at = fields.from(FIELD * position as usize);
    at.set(0u32, all[0]);
    at.set(1u32, all[1]);
}

/// Takes the fields of quadrants; a quadrant's cells are all alike, or are all in the window. Grid: a thread for each
/// quadrant.
///
/// # Safety
/// The slices have what [`Tree`] says. `quadrants` has `len` times [`QUADRANT`] words, `fields` has [`FIELD`] words a
/// node, and `out` has [`FIELD`] words a quadrant.
#[kernel(block = BLOCK)]
pub unsafe fn take(
    tree: Tree<'_>,
    quadrants: In<'_, u32>,
    len: u32,
    fields: In<'_, u64>,
    window: [u32; 4],
    out: Out<'_, u64>,
) {
    let i = thread::index_1d() as u32;
    if i >= len {
        return;
    }
    let own = quadrants.from(QUADRANT * i as usize);
    let (row, column, side) = (own.get(0u32), own.get(1u32), own.get(2u32));
    let (mut position, mut level, mut size) = (0, 0, 1u64 << tree.bits);
    let mut node = tree.node(0);
    while level < tree.bits && size > side as u64 {
        let shift = tree.bits - level - 1;
        let (x, y) = (column >> shift, row >> shift);
        let mask = tree.mask(position, node.link, (x >> 1, y >> 1), level);
        let corner = (x & 1) | (y & 1) << 1;
        if mask >> corner & 1 == 0 {
            break;
        }
        position = (node.link & !MIXED) + (mask & ((1 << corner) - 1)).count_ones();
        node = tree.node(position);
        level += 1;
        size >>= 1;
    }
    let [row0, column0, row1, column1] = window;
    let mut all = [0; FIELD];
    if node.link & !MIXED == 0 {
        let from = (u32::max(column, column0), u32::max(row, row0));
        let end = |at: u32, last: u32| u64::min(at as u64 + side as u64, last as u64);
        all = tree.of_value(node.bits, tree.cells(from, (end(column, column1), end(row, row1))));
    } else if position < tree.nodes_len {
        let at = fields.from(FIELD * position as usize);
        all = [at.get(0u32), at.get(1u32)];
    }
    let to = out.from(FIELD * i as usize);
    to.set(0u32, all[0]);
    to.set(1u32, all[1]);
}

device_std::ptx_module! { "ccq_fields" }
