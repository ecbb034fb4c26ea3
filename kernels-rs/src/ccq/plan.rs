//! Squares in tiers: cuts a tree into parts that are counted and written independently.
//!
//! A tier is a raster of elements. Tier 0 has the cells, and each tier above has one element for a square of 64 x 64
//! elements below. The highest tier has one square a tree, whose side may be shorter. A tree with K levels below its
//! root has `max(1, ceil(K / 6))` tiers.
//!
//! One array counts nodes by square and level: highest tier first, in a tier level by level, in a level by the squares
//! in Z-order. That is the order of the tree's nodes. So an exclusive scan of the counts tells where each square's
//! nodes of each level begin.
//!
//! A forest is many trees over one raster, each over a tile of it; their arrays of counts follow each other. A single
//! tree is a forest with one tile.

use device_std::arguments;

#[cfg(not(target_arch = "nvptx64"))]
use super::LEVELS;

/// One tier of a forest.
#[arguments]
pub struct Tier {
    /// Columns of elements, of all trees together.
    pub width: u32,
    /// Rows of elements.
    pub height: u32,
    /// Elements on a side of a square are 2^this: 6, or in the highest tier the number of the tree's levels in it.
    pub side_bits: u32,
    /// Squares on a side of a tree are 2^this, unless the raster's edge cuts the tree off.
    pub square_bits: u32,
    /// The level within squares at which trees begin in this tier: that of the root in the highest tier, else 1.
    pub first_level: u32,
    /// Where the counts of the tier begin in a tree's array.
    pub counts: u32,
    /// Counts of a level: squares of a tree.
    pub stride: u32,
    /// Counts of a tree, in all tiers.
    pub tree_stride: u32,
    /// Whether trees have their roots here.
    pub is_top: u32,
    /// Trees beside each other.
    pub trees: u32,
}

impl Tier {
    /// Elements on a side of a square.
    #[inline(always)]
    pub fn side(&self) -> u32 {
        1 << self.side_bits
    }

    /// Columns and rows of squares.
    #[inline(always)]
    pub fn grid(&self) -> (u32, u32) {
        let up = |length: u32| (length + self.side() - 1) >> self.side_bits;
        (up(self.width), up(self.height))
    }

    /// How many squares there are.
    pub fn squares(&self) -> u32 {
        let (columns, rows) = self.grid();
        columns * rows
    }

    /// The tree of a square, by its column and row, and the square's place in the Z-order of its tree.
    #[inline(always)]
    pub fn place(&self, (column, row): (u32, u32)) -> (u32, u32) {
        let bits = self.square_bits;
        let (tree_x, tree_y) = (column >> bits, row >> bits);
        let (columns, rows) = self.grid();
        let squares = 1 << bits;
        let within = squares - 1;
        let width = least(columns - (tree_x << bits), squares);
        let height = least(rows - (tree_y << bits), squares);
        let rank = rank((column & within, row & within), (width, height), bits);
        (tree_y * self.trees + tree_x, rank)
    }

    /// Where the nodes of a level of a square are counted.
    #[inline(always)]
    pub fn slot(&self, (tree, rank): (u32, u32), level: u32) -> u64 {
        let in_tree = self.counts + (level - self.first_level) * self.stride + rank;
        tree as u64 * self.tree_stride as u64 + in_tree as u64
    }
}

#[inline(always)]
fn least(a: u32, b: u32) -> u32 {
    if a < b { a } else { b }
}

/// How many of the elements of a raster come before one of them in Z-order. Both sides of the raster are at most
/// `2^bits`.
#[inline(always)]
pub fn rank((column, row): (u32, u32), (width, height): (u32, u32), bits: u32) -> u32 {
    let (mut width, mut height) = (width, height);
    let (mut before, mut bit) = (0, bits);
    while bit > 0 {
        bit -= 1;
        let half = 1 << bit;
        // The raster's part in the western and in the northern half of the quadrant.
        let (west, north) = (least(width, half), least(height, half));
        if row & half != 0 {
            before += width * north;
            height -= north;
        } else {
            height = north;
        }
        if column & half != 0 {
            before += west * height;
            width -= west;
        } else {
            width = west;
        }
    }
    before
}

/// The tiers of a forest, tier 0 first. `bits` is the number of levels below a root.
#[cfg(not(target_arch = "nvptx64"))]
pub fn tiers(width: u32, height: u32, bits: u32) -> Vec<Tier> {
    let count = bits.div_ceil(LEVELS).max(1);
    let side_of_tree = 1u64 << bits;
    let (mut tiers, mut size) = (Vec::new(), (width, height));
    for t in 0..count {
        let is_top = t + 1 == count;
        let levels = if is_top { bits - t * LEVELS } else { LEVELS };
        let side = 1 << levels;
        let square_bits = bits.saturating_sub((t + 1) * LEVELS);
        let tree_side = side_of_tree >> (t * LEVELS);
        let trees = u64::from(size.0).div_ceil(tree_side) as u32;
        // Squares of a whole tree, or as many as the raster has if it is one tree.
        let within =
            |side: u32, length: u32| u64::from(length.div_ceil(side)).min(1u64 << square_bits);
        let stride = within(side, size.0) * within(side, size.1);
        tiers.push(Tier {
            width: size.0,
            height: size.1,
            side_bits: levels,
            square_bits,
            first_level: if is_top { LEVELS - levels } else { 1 },
            counts: 0,
            stride: stride as u32,
            tree_stride: 0,
            is_top: u32::from(is_top),
            trees,
        });
        size = (size.0.div_ceil(side), size.1.div_ceil(side));
    }
    let mut counts = 0;
    for tier in tiers.iter_mut().rev() {
        tier.counts = counts;
        counts += (LEVELS + 1 - tier.first_level) * tier.stride;
    }
    tiers.iter_mut().for_each(|tier| tier.tree_stride = counts);
    tiers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spatial::morton;

    #[test]
    fn ranks_number_the_elements_in_z_order() {
        for (width, height, bits) in [(1, 1, 0), (3, 5, 3), (8, 8, 3), (1, 7, 3), (6, 2, 4)] {
            let mut elements: Vec<(u32, u32)> =
                (0..height).flat_map(|row| (0..width).map(move |column| (column, row))).collect();
            elements.sort_by_key(|&(column, row)| morton::encode(column, row));
            for (i, &element) in elements.iter().enumerate() {
                assert_eq!(rank(element, (width, height), bits), i as u32, "{element:?}");
            }
        }
    }

    #[test]
    fn every_square_and_level_has_a_slot_of_its_own() {
        for (width, height, bits) in
            [(1, 1, 0), (64, 3, 6), (65, 1, 7), (300, 200, 9), (300, 200, 7)]
        {
            let tiers = tiers(width, height, bits);
            let trees = tiers[0].trees as u64 * u64::from(height.div_ceil(1 << bits));
            let slots = trees * u64::from(tiers[0].tree_stride);
            let mut seen = std::collections::HashSet::new();
            for tier in &tiers {
                let (columns, rows) = tier.grid();
                for (column, row) in (0..rows).flat_map(|r| (0..columns).map(move |c| (c, r))) {
                    for level in tier.first_level..=LEVELS {
                        let slot = tier.slot(tier.place((column, row)), level);
                        assert!(slot < slots && seen.insert(slot), "{width} {height} {bits}");
                    }
                }
            }
        }
    }
}
