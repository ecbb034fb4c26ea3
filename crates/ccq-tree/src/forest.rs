//! Forests: a tree for each tile of a raster.

use gpu_core::GridSpec;
use kernels_rs::ccq::LEVELS;
use kernels_rs::ccq::plan::Tier;

use crate::tree::{Node, Storage, bits_of};
use crate::{Cell, Error, MAX_SIDE, Params, Result, Tree};

/// How a raster is cut into the tiles of trees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tiling {
    pub grid: GridSpec,
    /// Levels below a tree's root: tiles have 2^bits cells on a side.
    pub bits: u32,
    pub columns: u32,
    pub rows: u32,
}

impl Tiling {
    /// Returns the division into one tile, the smallest that holds the raster.
    pub fn whole(grid: GridSpec) -> Result<Self> {
        Self::of_bits(grid, bits_of(&grid))
    }

    /// Returns the division into tiles with a side of `side` cells, a power of two, or smaller if the raster is.
    pub fn new(grid: GridSpec, side: u32) -> Result<Self> {
        if !side.is_power_of_two() || !(kernels_rs::ccq::SIDE..=MAX_SIDE).contains(&side) {
            return Err(Error::TileSide { side });
        }
        Self::of_bits(grid, side.trailing_zeros().min(bits_of(&grid)))
    }

    /// Tiles of 2^bits cells.
    pub fn of_bits(grid: GridSpec, bits: u32) -> Result<Self> {
        let GridSpec { width, height, .. } = grid;
        if width.max(height) > MAX_SIDE {
            return Err(Error::TooLarge { width, height });
        }
        let tiles = |length: u32| length.div_ceil(1 << bits);
        Ok(Self { grid, bits, columns: tiles(width), rows: tiles(height) })
    }

    /// Counts over all squares and levels of all trees.
    pub fn slots(&self, tiers: &[Tier]) -> Result<u64> {
        let GridSpec { width, height, .. } = self.grid;
        let squares = u64::from(width.div_ceil(64)) * u64::from(height.div_ceil(64));
        let trees = u64::from(self.columns) * u64::from(self.rows);
        // Twelve counts a square bound what a tree's stride was computed from.
        let slots = trees.checked_mul(tiers.first().map_or(0, |tier| tier.tree_stride.into()));
        match slots {
            Some(slots) if squares.max(trees) < 1 << 28 && slots < 1 << 32 => Ok(slots),
            _ => Err(Error::TooLarge { width, height }),
        }
    }

    /// Refuses the trees unless there is one for each tile, with the tile's sides and levels. `of` gives, for each
    /// tree, its grid, its levels, and whether its parameters equal the first tree's.
    pub fn check_trees(
        &self,
        trees: usize,
        of: impl Fn(usize) -> (GridSpec, u32, bool),
    ) -> Result<()> {
        let tiles = self.columns as usize * self.rows as usize;
        let is_its = |i: usize| {
            let ((own, bits, are_alike), tile) = (of(i), self.place(i));
            are_alike && (own.width, own.height, bits) == (tile.width, tile.height, self.bits)
        };
        let first_bad = match trees == tiles {
            true => (0..tiles).find(|&i| !is_its(i)),
            false => Some(trees.min(tiles)),
        };
        first_bad.map_or(Ok(()), |tile| Err(Error::Tiles { tile, tiles }))
    }

    /// Returns where a tile lies, by its number row by row.
    pub fn place(&self, tile: usize) -> GridSpec {
        self.tile(tile as u32 % self.columns, tile as u32 / self.columns)
    }

    /// Returns where a tile lies.
    pub fn tile(&self, column: u32, row: u32) -> GridSpec {
        let (x, y) = (column << self.bits, row << self.bits);
        let side = |from: u32, length: u32| (length - from).min(1 << self.bits);
        let GridSpec { origin_x, origin_y, cell_size, width, height } = self.grid;
        GridSpec {
            origin_x: origin_x + f64::from(x) * cell_size,
            origin_y: origin_y - f64::from(y) * cell_size,
            cell_size,
            width: side(x, width),
            height: side(y, height),
        }
    }
}

/// Where the levels of a tree begin that the tiers hold, by the positions of the first nodes of squares; the first is
/// taken from all.
pub(crate) fn level_starts(tiers: &[Tier], starts: &[u32], tree: usize) -> Vec<u64> {
    let mut levels = Vec::new();
    for tier in tiers.iter().rev() {
        let tree = tree * tier.tree_stride as usize;
        for level in tier.first_level..=LEVELS {
            let slot = tree + (tier.counts + (level - tier.first_level) * tier.stride) as usize;
            levels.push(u64::from(starts[slot] - starts[tree]));
        }
    }
    levels
}

/// A tree for each tile of a raster; [`merge`](Self::merge) makes them one tree.
///
/// ```
/// use ccq_tree::{Params, build_forest};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new((0u16..128 * 64).collect(), GridSpec::of_pixels(128, 64))?; // row by row
/// let forest = build_forest(&Device::Cpu, raster.view(), 64, &Params::new())?;
/// let least: Vec<u16> = forest.trees().iter().map(|tree| tree.nodes()[0].min()).collect();
/// assert_eq!(least, [0, 64]);
/// assert_eq!(forest.merge()?.nodes()[0].max(), 128 * 64 - 1);
/// # Ok::<(), ccq_tree::Error>(())
/// ```
#[derive(Debug, PartialEq)]
pub struct Forest<T: Cell> {
    pub(crate) tiling: Tiling,
    pub(crate) params: Params,
    pub(crate) trees: Vec<Tree<T>>,
}

impl<T: Cell> Forest<T> {
    /// Returns the raster's place.
    pub fn grid(&self) -> &GridSpec {
        &self.tiling.grid
    }

    /// Columns and rows of tiles.
    pub fn tiles(&self) -> (u32, u32) {
        (self.tiling.columns, self.tiling.rows)
    }

    /// Cells on a side of a tile that the raster's edge does not cut off.
    pub fn tile_side(&self) -> u32 {
        1 << self.tiling.bits
    }

    /// Returns the trees, row by row of tiles. The root of each stands for a whole tile, also where the raster's edge cuts it
    /// off, so that it has as many levels as the others.
    pub fn trees(&self) -> &[Tree<T>] {
        &self.trees
    }

    /// Returns the forest of trees that were built one by one ([`build_tile`](crate::build_tile())), row by row of tiles.
    ///
    /// # Errors
    /// [`Error::TileSide`]; [`Error::Tiles`] unless there is a tree for each tile, with the tile's sides and levels,
    /// and all trees have the same parameters.
    pub fn of_trees(grid: GridSpec, tile_side: u32, trees: Vec<Tree<T>>) -> Result<Self> {
        let tiling = Tiling::new(grid, tile_side)?;
        let params = trees.first().map_or_else(Params::default, |tree| tree.params.clone());
        tiling.check_trees(trees.len(), |i| {
            (trees[i].grid, trees[i].bits, trees[i].params == params)
        })?;
        let placed = |(i, tree): (usize, Tree<T>)| Tree { grid: tiling.place(i), ..tree };
        let trees = trees.into_iter().enumerate().map(placed).collect();
        Ok(Self { tiling, params, trees })
    }

    /// The forest of a raster without cells.
    pub(crate) fn empty(tiling: Tiling, params: &Params) -> Result<Self> {
        let tiles = u64::from(tiling.columns) * u64::from(tiling.rows);
        let trees = (0..tiles).map(|_| Tree::empty(tiling.grid, tiling.bits, params)).collect();
        Ok(Self { tiling, params: params.clone(), trees })
    }

    /// Cuts what was written together into trees. `starts` has the positions of all squares' nodes.
    pub(crate) fn of_parts(
        tiling: Tiling,
        params: &Params,
        tiers: &[Tier],
        starts: &[u32],
        mut nodes: Vec<Node<T>>,
        mut presence: Vec<u8>,
    ) -> Result<Self> {
        let count = tiling.columns as usize * tiling.rows as usize;
        let stride = tiers[0].tree_stride as usize;
        let mut trees = Vec::with_capacity(count);
        for i in 0..count {
            let first = starts[i * stride] as usize;
            let end = starts.get((i + 1) * stride).map_or(nodes.len(), |&end| end as usize);
            let mut levels = level_starts(tiers, starts, i);
            levels.push((end - first) as u64);
            let above_cells = levels[tiling.bits as usize] as usize;
            let (nodes, presence) = if count == 1 {
                presence.truncate(above_cells);
                (std::mem::take(&mut nodes), std::mem::take(&mut presence))
            } else {
                let part = if presence.is_empty() { 0..0 } else { first..first + above_cells };
                (nodes[first..end].to_vec(), presence[part].to_vec())
            };
            let (column, row) = (i as u32 % tiling.columns, i as u32 / tiling.columns);
            trees.push(Tree {
                grid: tiling.tile(column, row),
                bits: tiling.bits,
                params: params.clone(),
                starts: levels,
                nodes: Storage::Owned(nodes),
                presence: Storage::Owned(presence),
                system: String::new(),
            });
        }
        Ok(Self { tiling, params: params.clone(), trees })
    }

    /// The only tree of a forest of one tile.
    pub(crate) fn into_single(mut self) -> Result<Tree<T>> {
        let tree = self.trees.pop();
        let empty = || Tree::empty(self.tiling.grid, self.tiling.bits, &self.params);
        Ok(tree.unwrap_or_else(empty))
    }
}

impl<T: Cell> Tree<T> {
    /// The tree of a raster without cells, or without values.
    pub(crate) fn empty(grid: GridSpec, bits: u32, params: &Params) -> Self {
        Self {
            grid,
            bits,
            params: params.clone(),
            starts: vec![0; bits as usize + 2],
            nodes: Storage::Owned(Vec::new()),
            presence: Storage::Owned(Vec::new()),
            system: String::new(),
        }
    }
}
