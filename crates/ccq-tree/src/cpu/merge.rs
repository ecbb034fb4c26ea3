//! Merging the trees of a forest.
//!
//! The roots of the tiles are the elements of the tiers above, so the merge writes the nodes above the tiles as a build
//! does. Below the roots, a level of the whole is the same level of all tiles, one after the other in Z-order. Only
//! links change.

use gpu_core::{host_memory, parallel};
use kernels_rs::ccq::plan::{Tier, rank, tiers};
use kernels_rs::ccq::summary::{self, MIXED, Summary};

use super::build::{Elements, Output, Shared, reduce, scan, write};
use crate::forest::{Forest, Tiling, level_starts};
use crate::tree::{Node, Place, Storage};
use crate::{Cell, Params, Result, Tree};

/// The trees of a forest's tiles, as a merge reads them: with the values of the whole's nodes.
pub(crate) trait Tiles<T: Cell>: Sync {
    fn count(&self) -> usize;
    /// The tree of the only tile.
    fn only(&self) -> Option<&Tree<T>>;
    /// Returns the range of a tile's values, by the root of its tree.
    fn root(&self, tile: usize) -> Summary;
    /// Where the levels of a tile's tree begin, and its end.
    fn levels(&self, tile: usize) -> &[u64];
    fn presence(&self, tile: usize) -> &[u8];
    /// Writes some nodes of a tile, whose children begin elsewhere ([`relinked`]).
    fn put(&self, tile: usize, from: std::ops::Range<usize>, below: (u32, u32), to: &mut [Node<T>]);
}

impl<T: Cell> Tiles<T> for Forest<T> {
    fn count(&self) -> usize {
        self.trees.len()
    }

    fn only(&self) -> Option<&Tree<T>> {
        if let [tree] = &self.trees[..] { Some(tree) } else { None }
    }

    fn root(&self, tile: usize) -> Summary {
        of_root(&self.trees[tile])
    }

    fn levels(&self, tile: usize) -> &[u64] {
        &self.trees[tile].starts
    }

    fn presence(&self, tile: usize) -> &[u8] {
        &self.trees[tile].presence
    }

    fn put(
        &self,
        tile: usize,
        from: std::ops::Range<usize>,
        below: (u32, u32),
        to: &mut [Node<T>],
    ) {
        let nodes = &self.trees[tile].nodes[from];
        to.iter_mut().zip(nodes).for_each(|(to, &node)| *to = relinked(node, below));
    }
}

/// Where the nodes of a forest go in the tree of the whole.
pub(crate) struct Merging {
    tiling: Tiling,
    /// The tree of the whole's levels.
    pub bits: u32,
    /// The tiers above the tiles, and what their elements are, the tiles first.
    tiers: Vec<Tier>,
    summaries: Vec<Vec<Summary>>,
    /// The positions above the tiles, and then those of each level of each tile.
    starts: Vec<u32>,
    order: Order,
    /// Nodes of the whole.
    pub total: usize,
}

/// A level of a tile's tree, whose nodes stay together.
pub(crate) struct Moved {
    /// Which nodes of the tile's tree.
    pub from: std::ops::Range<usize>,
    /// Where the first goes.
    pub to: u32,
    /// Where the nodes below begin in the tile's tree, and in the whole.
    pub below: (u32, u32),
}

impl Merging {
    /// Returns the plan for the trees of tiles.
    pub fn of_tiles<T: Cell>(tiling: &Tiling, tiles: &dyn Tiles<T>) -> Result<Self> {
        let roots = (0..tiles.count()).map(|tile| tiles.root(tile)).collect();
        Self::new(tiling, roots, &|tile| tiles.levels(tile))
    }

    /// Returns the plan for tiles with such roots, whose levels begin at `levels(tile)`, counted from their roots.
    pub fn new<'a>(
        tiling: &Tiling,
        roots: Vec<Summary>,
        levels: &dyn Fn(usize) -> &'a [u64],
    ) -> Result<Self> {
        let bits = Tiling::whole(tiling.grid)?.bits;
        let (columns, rows) = (tiling.columns, tiling.rows);
        let tiers = tiers(columns, rows, bits - tiling.bits);
        let above = tiers[0].tree_stride as usize;
        let order = Order::new(columns, rows, tiling.bits);
        let mut starts = host_memory::filled(0u32, above + order.segments())?;
        let mut summaries = vec![roots];
        for tier in &tiers {
            let reduced = reduce(tier, &Elements(&summaries[summaries.len() - 1]), &mut starts)?;
            summaries.push(reduced);
        }
        for tile in 0..summaries[0].len() {
            for level in 1..=tiling.bits {
                let sizes = &levels(tile)[level as usize..];
                starts[above + order.segment(tile, level)] = (sizes[1] - sizes[0]) as u32;
            }
        }
        let total = scan(&mut starts)? as usize;
        Ok(Self { tiling: *tiling, bits, tiers, summaries, starts, order, total })
    }

    /// Where the nodes of a level of a tile begin; nowhere below the cells.
    fn start(&self, tile: usize, level: u32) -> u32 {
        let above = self.tiers[0].tree_stride as usize;
        match level <= self.tiling.bits {
            true => self.starts[above + self.order.segment(tile, level)],
            false => 0,
        }
    }

    /// Levels of a tile's tree below its root.
    pub fn tile_levels(&self) -> u32 {
        self.tiling.bits
    }

    /// Nodes of the tiles' roots and above them, which are the first.
    pub fn top_len(&self) -> usize {
        let above = self.tiers[0].tree_stride as usize;
        self.starts.get(above).map_or(self.total, |&first| first as usize)
    }

    /// Writes these nodes, and which children they have unless there is no room for it.
    pub fn write_top<T: Cell>(&self, nodes: &mut [Node<T>], presence: &mut [u8]) {
        for (t, tier) in self.tiers.iter().enumerate() {
            let below = |x: u32, y: u32| match t.checked_sub(1) {
                None => self.start((y * self.tiling.columns + x) as usize, 1),
                Some(t) => {
                    let tier = &self.tiers[t];
                    self.starts[tier.slot(tier.place((x, y)), 1) as usize]
                }
            };
            let are_cells = self.tiling.bits == 0;
            let starts = &self.starts;
            let mut out =
                Output { starts, nodes: &mut *nodes, presence: &mut *presence, are_cells };
            write(tier, &self.summaries[t + 1], &Elements(&self.summaries[t]), &below, &mut out);
        }
    }

    /// Returns what moves of a tile whose levels begin there.
    pub fn moved<'a>(&'a self, tile: usize, levels: &'a [u64]) -> impl Iterator<Item = Moved> + 'a {
        (1..=self.tiling.bits).map(move |level| {
            let at = |level: u32| levels.get(level as usize).copied().unwrap_or(0);
            Moved {
                from: at(level) as usize..at(level + 1) as usize,
                to: self.start(tile, level),
                below: (at(level + 1) as u32, self.start(tile, level + 1)),
            }
        })
    }

    /// Returns the tiles in Z-order.
    pub fn order(&self) -> Vec<usize> {
        let mut tiles: Vec<usize> = (0..self.order.ranks.len()).collect();
        tiles.sort_unstable_by_key(|&tile| self.order.ranks[tile]);
        tiles
    }

    /// Returns where the levels of the whole begin, and its end.
    pub fn levels(&self) -> Vec<u64> {
        let above = self.tiers[0].tree_stride as usize;
        let mut levels = level_starts(&self.tiers, &self.starts, 0);
        let first = |level| u64::from(self.starts[above + self.order.first(level)]);
        levels.extend((1..=self.tiling.bits).map(first));
        levels.push(self.total as u64);
        levels
    }
}

/// Merges the trees of a forest, of which there is one at least.
pub(crate) fn merge<T: Cell>(
    tiling: &Tiling,
    params: &Params,
    tiles: &dyn Tiles<T>,
) -> Result<Tree<T>> {
    let merging = Merging::of_tiles(tiling, tiles)?;
    let lacks = params.may_lack_values::<T>();
    let total = merging.total;
    let mut nodes = host_memory::filled(Node::new(T::of_key(0), T::of_key(0), 0), total)?;
    let mut presence = host_memory::filled(0u8, if lacks { total } else { 0 })?;
    merging.write_top(&mut nodes, &mut presence);
    let (to, to_presence) = (&Shared(nodes.as_mut_ptr()), &Shared(presence.as_mut_ptr()));
    parallel::for_ranges(tiles.count(), 1, &|range| {
        for tile in range {
            for Moved { from, to: at, below } in merging.moved(tile, tiles.levels(tile)) {
                if lacks {
                    let flags = tiles.presence(tile);
                    for (place, i) in (at..).zip(from.clone()) {
                        let flags = flags.get(i).copied().unwrap_or(0);
                        // SAFETY: the segment has as many nodes, and is this tile's and level's alone.
                        unsafe { to_presence.put(place, flags) };
                    }
                }
                // SAFETY: as above.
                let to = unsafe { to.part(at, from.len()) };
                tiles.put(tile, from, below, to);
            }
        }
    });
    let levels = merging.levels();
    presence.truncate(levels[merging.bits as usize] as usize);
    Ok(Tree {
        grid: tiling.grid,
        bits: merging.bits,
        params: params.clone(),
        starts: levels,
        nodes: Storage::Owned(nodes),
        presence: Storage::Owned(if lacks { presence } else { Vec::new() }),
        system: String::new(),
    })
}

/// A node whose children begin elsewhere: the nodes below it did at the first position, and do at the second.
pub(crate) fn relinked<T: Cell>(node: Node<T>, below: (u32, u32)) -> Node<T> {
    let mixed = node.link() & MIXED;
    let link = node.first_child().map_or(0, |child| child - below.0 + below.1);
    Node::new(node.min(), node.max(), link | mixed)
}

/// What a tile holds, by the root of its tree. A tile without nodes has cells, and none has a value.
pub(crate) fn of_root<T: Cell>(tree: &Tree<T>) -> Summary {
    let Some(root) = tree.nodes.first() else { return Summary::MISSING };
    let children = tree.children(0, Place::ROOT);
    let flags = if root.is_mixed() { summary::MISSING } else { 0 };
    Summary { min: root.min().key(), max: root.max().key(), flags }.of_square(children.mask.into())
}

/// Where the nodes of tiles are counted: level by level, in a level by the tiles in Z-order.
struct Order {
    tiles: usize,
    levels: u32,
    /// The place of each tile in Z-order.
    ranks: Vec<u32>,
}

impl Order {
    fn new(columns: u32, rows: u32, levels: u32) -> Self {
        let bits = columns.max(rows).max(1).next_power_of_two().trailing_zeros();
        let tiles = (0..rows).flat_map(|row| (0..columns).map(move |column| (column, row)));
        let ranks: Vec<u32> = tiles.map(|tile| rank(tile, (columns, rows), bits)).collect();
        Self { tiles: ranks.len(), levels, ranks }
    }

    fn segments(&self) -> usize {
        self.tiles * self.levels as usize
    }

    fn first(&self, level: u32) -> usize {
        (level as usize - 1) * self.tiles
    }

    fn segment(&self, tile: usize, level: u32) -> usize {
        self.first(level) + self.ranks[tile] as usize
    }
}
