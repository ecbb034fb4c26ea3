//! The build on the CPU.
//!
//! 1. Tier by tier from the cells up, each square of 64 x 64 elements is reduced to one element of the tier above,
//!    and its nodes are counted, level by level.
//! 2. A scan of all counts gives where each square's nodes of each level begin.
//! 3. Each square that is divided is reduced once more, and its nodes are written.

use gpu_core::{GridView, Progress, host_memory};
use kernels_rs::ccq::LEVELS;
use kernels_rs::ccq::plan::{Tier, rank, tiers};
use kernels_rs::ccq::summary::{self, Binning, MIXED, Summary, binned, raw_cell};
use rayon::prelude::*;

use crate::forest::{Forest, Tiling, level_starts};
use crate::tree::{Node, Place, Storage};
use crate::{Cell, Error, MAX_NODES, Params, Result, Tree};

/// [`build`](crate::build()) on the CPU.
///
/// # Errors
/// As [`build`](crate::build()).
pub fn build<T: Cell>(
    raster: GridView<'_, T>,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Tree<T>> {
    let tiling = Tiling::whole(*raster.grid())?;
    let forest = build_tiles(raster, tiling, params, progress)?;
    forest.into_single()
}

/// [`build_forest`](crate::build_forest()) on the CPU.
///
/// # Errors
/// As [`build_forest`](crate::build_forest()).
pub fn build_forest<T: Cell>(
    raster: GridView<'_, T>,
    tile_side: u32,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Forest<T>> {
    let tiling = Tiling::new(*raster.grid(), tile_side)?;
    build_tiles(raster, tiling, params, progress)
}

fn build_tiles<T: Cell>(
    raster: GridView<'_, T>,
    tiling: Tiling,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Forest<T>> {
    params.check()?;
    if raster.grid().cells() == 0 {
        return Forest::empty(tiling, params);
    }
    let (binning, steps) = params.binning::<T>();
    let cells = Cells { values: raster.values(), binning, steps: &steps };
    let tiers = tiers(raster.grid().width, raster.grid().height, tiling.bits);
    let mut counts = host_memory::filled(0u32, tiling.slots(&tiers)? as usize)?;
    progress.at("reduce", 0.0)?;
    let mut summaries: Vec<Vec<Summary>> = Vec::new();
    for (t, tier) in tiers.iter().enumerate() {
        let reduced = match t {
            0 => reduce(tier, &cells, &mut counts)?,
            _ => reduce(tier, &Elements(&summaries[t - 1]), &mut counts)?,
        };
        summaries.push(reduced);
    }
    progress.at("scan", 0.6)?;
    let total = scan(&mut counts)?;
    let lacks = params.may_lack_values::<T>();
    let mut nodes = host_memory::filled(Node::new(T::of_key(0), T::of_key(0), 0), total as usize)?;
    let mut presence = host_memory::filled(0u8, if lacks { total as usize } else { 0 })?;
    progress.at("write", 0.65)?;
    for (t, tier) in tiers.iter().enumerate().rev() {
        let (nodes, presence) = (&mut nodes[..], &mut presence[..]);
        let mut out = Output { starts: &counts, nodes, presence, are_cells: t == 0 };
        match t.checked_sub(1) {
            None => write(tier, &summaries[0], &cells, &|_, _| 0, &mut out),
            Some(t) => {
                let slot = |x, y| tiers[t].slot(tiers[t].place((x, y)), 1);
                let below = |x, y| counts[slot(x, y) as usize];
                write(tier, &summaries[t + 1], &Elements(&summaries[t]), &below, &mut out);
            }
        }
    }
    progress.at("write", 1.0)?;
    Forest::of_parts(tiling, params, &tiers, &counts, nodes, presence)
}

/// What a tier is made of.
trait Source: Sync {
    /// The element at a place in its raster.
    fn element(&self, index: usize) -> Summary;
}

/// The cells of the raster.
struct Cells<'a, T> {
    values: &'a [T],
    binning: Binning,
    steps: &'a [u32],
}

impl<T: Cell> Source for Cells<'_, T> {
    fn element(&self, index: usize) -> Summary {
        let raw = raw_cell(self.values[index], self.binning);
        binned::<T>(raw, self.binning, |i| self.steps[i as usize])
    }
}

/// The squares of the tier below.
struct Elements<'a>(&'a [Summary]);

impl Source for Elements<'_> {
    fn element(&self, index: usize) -> Summary {
        self.0[index]
    }
}

/// Where the quadrants of a level of a square begin, in an array of all its levels.
const fn first_of(level: u32) -> usize {
    ((1 << (2 * level)) - 1) / 3
}

/// A square: the summaries of its quadrants, level by level, each in Z-order.
struct Square {
    all: Vec<Summary>,
}

impl Square {
    fn new() -> Self {
        Self { all: vec![Summary::OUTSIDE; first_of(LEVELS + 1)] }
    }

    fn level(&self, level: u32) -> &[Summary] {
        &self.all[first_of(level)..first_of(level + 1)]
    }

    /// Reads the elements of a square and reduces them.
    fn fill(&mut self, tier: &Tier, (column, row): (u32, u32), source: &impl Source) {
        self.all.fill(Summary::OUTSIDE);
        let end = |at: u32, length: u32| (length - at * tier.side()).min(tier.side());
        let (width, height) = (end(column, tier.width), end(row, tier.height));
        let elements = &mut self.all[first_of(LEVELS)..];
        for y in 0..height {
            let line = (u64::from(row * tier.side() + y) * u64::from(tier.width)) as usize;
            let line = line + (column * tier.side()) as usize;
            for x in 0..width {
                let place = kernels_rs::spatial::morton::encode32(x as u16, y as u16);
                elements[place as usize] = source.element(line + x as usize);
            }
        }
        for level in (0..LEVELS).rev() {
            let (above, below) = self.all.split_at_mut(first_of(level + 1));
            let quadrants = &mut above[first_of(level)..];
            for (quadrant, children) in quadrants.iter_mut().zip(below.as_chunks::<4>().0) {
                *quadrant = children.iter().fold(Summary::OUTSIDE, |all, &child| all.and(child));
            }
        }
    }

    /// Whether the children of a quadrant are nodes: where it is divided, and above the root.
    fn is_divided(&self, tier: &Tier, level: u32, quadrant: usize) -> bool {
        let summary = self.level(level)[quadrant];
        let is_above_root = tier.is_top != 0 && level < tier.first_level;
        if is_above_root { summary.has_values() } else { summary.is_divided() }
    }

    /// Which children of a quadrant above the elements have values.
    fn mask(&self, level: u32, quadrant: usize) -> u8 {
        let four = &self.level(level + 1)[4 * quadrant..4 * quadrant + 4];
        (0..4).filter(|&i| four[i].has_values()).fold(0, |mask, i| mask | 1 << i)
    }

    /// Calls `of` for each node of a level with its place in Z-order.
    fn each_node(&self, tier: &Tier, level: u32, mut of: impl FnMut(usize, Summary)) {
        for (quadrant, &summary) in self.level(level).iter().enumerate() {
            let is_node = match level {
                0 => summary.has_values(),
                _ => summary.has_values() && self.is_divided(tier, level - 1, quadrant / 4),
            };
            if is_node {
                of(quadrant, summary);
            }
        }
    }
}

/// All squares of a tier, in parallel, each with a `Square` to work in.
fn each_square<R: Send>(
    tier: &Tier,
    of: impl Fn(&mut Square, (u32, u32)) -> R + Sync,
) -> Result<Vec<R>> {
    let (columns, rows) = tier.grid();
    let count = u64::from(columns) * u64::from(rows);
    let mut results = host_memory::with_capacity(count as usize)?;
    let squares = (0..count as usize)
        .into_par_iter()
        .map_init(Square::new, |square, i| of(square, (i as u32 % columns, i as u32 / columns)));
    squares.collect_into_vec(&mut results);
    Ok(results)
}

/// Reduces the squares of a tier and counts their nodes.
fn reduce(tier: &Tier, source: &impl Source, counts: &mut [u32]) -> Result<Vec<Summary>> {
    const LEVELS_ALL: usize = LEVELS as usize + 1;
    let reduced = each_square(tier, |square, place| {
        square.fill(tier, place, source);
        let mut nodes = [0u32; LEVELS_ALL];
        for level in tier.first_level..=LEVELS {
            square.each_node(tier, level, |_, _| nodes[level as usize] += 1);
        }
        (square.level(0)[0].of_square(square.mask(0, 0).into()), nodes)
    })?;
    let columns = tier.grid().0;
    for (i, (_, nodes)) in reduced.iter().enumerate() {
        let place = tier.place((i as u32 % columns, i as u32 / columns));
        for level in tier.first_level..=LEVELS {
            counts[tier.slot(place, level) as usize] = nodes[level as usize];
        }
    }
    Ok(reduced.into_iter().map(|(summary, _)| summary).collect())
}

/// Makes counts the positions of the first nodes; gives the number of all.
fn scan(counts: &mut [u32]) -> Result<u64> {
    let total: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    if total > MAX_NODES {
        return Err(Error::TooManyNodes { nodes: total, most: MAX_NODES });
    }
    let mut before = 0;
    for count in counts {
        before += std::mem::replace(count, before);
    }
    Ok(total)
}

/// An array that squares write side by side.
struct Shared<E>(*mut E);
// SAFETY: elements are written through `put` alone, each by one square.
unsafe impl<E: Send> Sync for Shared<E> {}

impl<E> Shared<E> {
    /// # Safety
    /// The index is in the array, and nobody else uses the element.
    unsafe fn put(&self, index: u32, element: E) {
        // SAFETY: passed on to the caller.
        unsafe { self.0.add(index as usize).write(element) }
    }
}

/// Writes the nodes of a tier, which was reduced to `reduced`. `below` gives where the children of an element
/// begin, by its column and row; in the tier of the cells it is not asked.
fn write<T: Cell>(
    tier: &Tier,
    reduced: &[Summary],
    source: &impl Source,
    below: &(impl Fn(u32, u32) -> u32 + Sync),
    out: &mut Output<'_, T>,
) {
    let columns = tier.grid().0;
    let (nodes, presence) = (Shared(out.nodes.as_mut_ptr()), Shared(out.presence.as_mut_ptr()));
    let (nodes, presence) = (&nodes, &presence);
    let (has_presence, starts, are_cells) = (!out.presence.is_empty(), out.starts, out.are_cells);
    reduced.par_iter().enumerate().for_each_init(Square::new, |square, (i, summary)| {
        // Nothing in it is divided.
        if tier.is_top == 0 && !summary.is_divided() {
            return;
        }
        let (column, row) = (i as u32 % columns, i as u32 / columns);
        let place = tier.place((column, row));
        let start = |level: u32| starts[tier.slot(place, level) as usize];
        let base = starts[place.0 as usize * tier.tree_stride as usize];
        square.fill(tier, (column, row), source);
        for level in tier.first_level..=LEVELS {
            let mut next = start(level);
            let mut child = if level < LEVELS { start(level + 1) } else { base };
            square.each_node(tier, level, |quadrant, summary| {
                let mut mask = 0;
                if level == LEVELS && !are_cells && summary.is_divided() {
                    let (x, y) = kernels_rs::spatial::morton::decode(quadrant as u64);
                    child = below(column * tier.side() + x, row * tier.side() + y);
                    mask = summary.quadrants() as u8;
                } else if level < LEVELS && summary.is_divided() {
                    mask = square.mask(level, quadrant);
                }
                let [min, max] = [summary.min, summary.max].map(T::of_key);
                let node = Node::new(min, max, summary.link(child - base));
                // SAFETY: the counts were of the same nodes, so that each position is in the array and is
                // one node's alone; with presence there is as much of it.
                unsafe {
                    nodes.put(next, node);
                    if has_presence {
                        presence.put(next, mask);
                    }
                }
                next += 1;
                child += if level < LEVELS { mask.count_ones() } else { 0 };
            });
        }
    });
}

/// What squares write to: nodes by their positions.
struct Output<'a, T: Cell> {
    /// Where the nodes of each level of each square begin.
    starts: &'a [u32],
    nodes: &'a mut [Node<T>],
    /// As long as the nodes, or empty.
    presence: &'a mut [u8],
    /// Whether the elements are the cells, which have no children.
    are_cells: bool,
}

/// Merges the trees of a forest.
///
/// The tiles are the elements of tiers above them, and their roots say what is in each: so the nodes above the tiles
/// are written as in a build. Below, a level of the whole is the same level of the tiles one after the other in
/// Z-order, and only links change.
pub(crate) fn merge<T: Cell>(forest: &Forest<T>) -> Result<Tree<T>> {
    let tiling = &forest.tiling;
    let whole = Tiling::whole(tiling.grid)?;
    let elements: Vec<Summary> = forest.trees.iter().map(of_root).collect();
    let (columns, rows) = (tiling.columns, tiling.rows);
    let tiers = tiers(columns, rows, whole.bits - tiling.bits);
    // The positions above the tiles, and then those of each level of each tile.
    let above = tiers[0].tree_stride as usize;
    let order = Order::new(columns, rows, tiling.bits);
    let mut starts = host_memory::filled(0u32, above + order.segments())?;
    let mut summaries = vec![elements];
    for tier in &tiers {
        let reduced = reduce(tier, &Elements(&summaries[summaries.len() - 1]), &mut starts)?;
        summaries.push(reduced);
    }
    for (tile, tree) in forest.trees.iter().enumerate() {
        for level in 1..=tiling.bits {
            let sizes = &tree.starts[level as usize..];
            starts[above + order.segment(tile, level)] = (sizes[1] - sizes[0]) as u32;
        }
    }
    let total = scan(&mut starts)? as usize;
    let lacks = forest.params.may_lack_values::<T>();
    let mut nodes = host_memory::filled(Node::new(T::of_key(0), T::of_key(0), 0), total)?;
    let mut presence = host_memory::filled(0u8, if lacks { total } else { 0 })?;
    let start = |tile: usize, level: u32| match level <= tiling.bits {
        true => starts[above + order.segment(tile, level)],
        false => 0,
    };
    for (t, tier) in tiers.iter().enumerate() {
        let below = |x: u32, y: u32| match t {
            0 => start((y * columns + x) as usize, 1),
            _ => starts[tiers[t - 1].slot(tiers[t - 1].place((x, y)), 1) as usize],
        };
        let are_cells = tiling.bits == 0;
        let (nodes, presence) = (&mut nodes[..], &mut presence[..]);
        let mut out = Output { starts: &starts, nodes, presence, are_cells };
        write(tier, &summaries[t + 1], &Elements(&summaries[t]), &below, &mut out);
    }
    let (to, to_presence) = (&Shared(nodes.as_mut_ptr()), &Shared(presence.as_mut_ptr()));
    forest.trees.par_iter().enumerate().for_each(|(tile, tree)| {
        for level in 1..=tiling.bits {
            let [from, end] = [0, 1].map(|i| tree.starts[level as usize + i] as usize);
            let (at, below) = (start(tile, level), start(tile, level + 1));
            let first_below = tree.starts.get(level as usize + 1).copied().unwrap_or(0) as u32;
            for i in from..end {
                let node = tree.nodes[i];
                let mixed = node.link() & MIXED;
                let link = node.first_child().map_or(0, |child| child - first_below + below);
                let position = at + (i - from) as u32;
                // SAFETY: the segment has as many nodes, and is this tile's and level's alone.
                unsafe {
                    to.put(position, Node::new(node.min(), node.max(), link | mixed));
                    if lacks {
                        to_presence.put(position, tree.presence.get(i).copied().unwrap_or(0));
                    }
                }
            }
        }
    });
    let mut levels = level_starts(&tiers, &starts, 0);
    levels.extend((1..=tiling.bits).map(|level| u64::from(starts[above + order.first(level)])));
    levels.push(total as u64);
    presence.truncate(levels[whole.bits as usize] as usize);
    Ok(Tree {
        grid: tiling.grid,
        bits: whole.bits,
        params: forest.params.clone(),
        starts: levels,
        nodes: Storage::Owned(nodes),
        presence: Storage::Owned(if lacks { presence } else { Vec::new() }),
    })
}

/// What a tile holds, by the root of its tree. A tile without nodes has cells, and none has a value.
fn of_root<T: Cell>(tree: &Tree<T>) -> Summary {
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
