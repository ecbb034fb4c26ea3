//! The build on the CPU.
//!
//! 1. Tier by tier from the cells up, reduce each square of 64 x 64 elements to one element of the tier above, and
//!    count its nodes, level by level.
//! 2. Scan all counts: this gives where each square's nodes of each level begin.
//! 3. Reduce each divided square once more, and write its nodes.

use gpu_core::{GridView, Progress, host_memory, parallel};
use kernels_rs::ccq::LEVELS;
use kernels_rs::ccq::plan::{Tier, tiers};
use kernels_rs::ccq::summary::{Binning, Summary, binned, raw_cell};

use crate::forest::{Forest, Tiling};
use crate::tree::Node;
use crate::{Cell, Error, MAX_NODES, Params, Result, Tree};

/// [`build`](crate::build()) on the CPU.
///
/// # Errors
/// The errors of [`build`](crate::build()).
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
/// The errors of [`build_forest`](crate::build_forest()).
pub fn build_forest<T: Cell>(
    raster: GridView<'_, T>,
    tile_side: u32,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Forest<T>> {
    let tiling = Tiling::new(*raster.grid(), tile_side)?;
    build_tiles(raster, tiling, params, progress)
}

/// [`build_tile`](crate::build_tile()) on the CPU; the parts of the tile are checked.
pub(crate) fn build_tile<T: Cell>(
    raster: GridView<'_, T>,
    bits: u32,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Tree<T>> {
    let tiling = Tiling::of_bits(*raster.grid(), bits)?;
    build_tiles(raster, tiling, params, progress)?.into_single()
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

/// The elements that a tier reduces.
pub(super) trait Source: Sync {
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
pub(super) struct Elements<'a>(pub &'a [Summary]);

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

/// Reduces the squares of a tier and counts their nodes.
pub(super) fn reduce(
    tier: &Tier,
    source: &impl Source,
    counts: &mut [u32],
) -> Result<Vec<Summary>> {
    const LEVELS_ALL: usize = LEVELS as usize + 1;
    let (columns, rows) = tier.grid();
    let count = columns as usize * rows as usize;
    let mut reduced = host_memory::filled((Summary::OUTSIDE, [0u32; LEVELS_ALL]), count)?;
    parallel::for_chunks_init(&mut reduced, 1, Square::new, |square, i, reduced| {
        let (summary, nodes) = &mut reduced[0];
        square.fill(tier, (i as u32 % columns, i as u32 / columns), source);
        for level in tier.first_level..=LEVELS {
            square.each_node(tier, level, |_, _| nodes[level as usize] += 1);
        }
        *summary = square.level(0)[0].of_square(square.mask(0, 0).into());
    });
    for (i, (_, nodes)) in reduced.iter().enumerate() {
        let place = tier.place((i as u32 % columns, i as u32 / columns));
        for level in tier.first_level..=LEVELS {
            counts[tier.slot(place, level) as usize] = nodes[level as usize];
        }
    }
    Ok(reduced.into_iter().map(|(summary, _)| summary).collect())
}

/// Makes counts the positions of the first nodes; gives the number of all.
pub(super) fn scan(counts: &mut [u32]) -> Result<u64> {
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
pub(super) struct Shared<E>(pub *mut E);
// SAFETY: elements are written through `put` and `part` alone, each by one square or tile.
unsafe impl<E: Send> Sync for Shared<E> {}

impl<E> Shared<E> {
    /// # Safety
    /// The index is in the array, and nobody else uses the element.
    pub unsafe fn put(&self, index: u32, element: E) {
        // SAFETY: passed on to the caller.
        unsafe { self.0.add(index as usize).write(element) }
    }

    /// Returns some elements that follow each other.
    ///
    /// # Safety
    /// The elements are in the array and hold values, and nobody else uses them meanwhile.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn part(&self, index: u32, len: usize) -> &mut [E] {
        // SAFETY: passed on to the caller.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(index as usize), len) }
    }
}

/// Writes the nodes of a tier, which was reduced to `reduced`. `below` gives where the children of an element
/// begin, by its column and row; in the tier of the cells it is not asked.
pub(super) fn write<T: Cell>(
    tier: &Tier,
    reduced: &[Summary],
    source: &impl Source,
    below: &(dyn Fn(u32, u32) -> u32 + Sync),
    out: &mut Output<'_, T>,
) {
    let columns = tier.grid().0;
    let (nodes, presence) = (Shared(out.nodes.as_mut_ptr()), Shared(out.presence.as_mut_ptr()));
    let (nodes, presence) = (&nodes, &presence);
    let (has_presence, starts, are_cells) = (!out.presence.is_empty(), out.starts, out.are_cells);
    let write = |square: &mut Square, i: usize| {
        let summary = &reduced[i];
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
    };
    parallel::for_ranges(reduced.len(), 1, &|range| {
        let mut square = Square::new();
        range.for_each(|i| write(&mut square, i));
    });
}

/// The arrays that squares write to: nodes by their positions.
pub(super) struct Output<'a, T: Cell> {
    /// Where the nodes of each level of each square begin.
    pub starts: &'a [u32],
    pub nodes: &'a mut [Node<T>],
    /// As long as the nodes, or empty.
    pub presence: &'a mut [u8],
    /// Whether the elements are the cells, which have no children.
    pub are_cells: bool,
}
