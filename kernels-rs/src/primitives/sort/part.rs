//! A thread's part of a tile, in registers.

use device_std::{In, warp};

use super::digits::{BLOCK, tile_len};
use crate::primitives::value::Value;

/// A block's part of the arrays.
#[derive(Clone, Copy)]
pub(super) struct TilePart {
    /// The first element of the tile.
    first: u64,
    /// Elements of the tile that are in the array.
    pub(super) valid: u32,
    /// The thread's first element within the tile; the others follow each 32 later.
    mine: u32,
}

impl TilePart {
    #[inline(always)]
    pub(super) fn new<const ITEMS: usize>(tile: u64, len: u64) -> Self {
        let tile_len = tile_len(ITEMS);
        let first = tile * tile_len as u64;
        let valid = u64::min(len - first, tile_len as u64) as u32;
        Self { first, valid, mine: warp::warp_id() * (ITEMS as u32 * 32) + warp::lane_id() }
    }

    /// The thread's elements; `fill` beyond the array.
    #[inline(always)]
    pub(super) fn load<T: Copy, const ITEMS: usize>(&self, array: In<T>, fill: T) -> [T; ITEMS] {
        let mut elements = [fill; ITEMS];
        let start = array.wrapping_from(self.first + self.mine as u64);
        // The condition is the same in the whole block. Without a branch between them all loads
        // are in flight together.
        if self.valid == BLOCK * ITEMS as u32 {
            let mut i = 0;
            while i < ITEMS {
                elements[i] = start.get(i * 32);
                i += 1;
            }
        } else {
            let mut i = 0;
            while i < ITEMS {
                if self.mine + (i as u32 * 32) < self.valid {
                    elements[i] = start.get(i * 32);
                }
                i += 1;
            }
        }
        elements
    }

    /// The indices of the thread's elements.
    #[inline(always)]
    pub(super) fn indices<V: Value, const ITEMS: usize>(&self) -> [V; ITEMS] {
        let mut indices = [V::of_index(0); ITEMS];
        let first = self.first + self.mine as u64;
        let mut i = 0;
        while i < ITEMS {
            indices[i] = V::of_index(first + i as u64 * 32);
            i += 1;
        }
        indices
    }
}

/// Small numbers, `PER` in a register: `set` once, in any order.
#[derive(Clone, Copy)]
pub(super) struct Packed<const ITEMS: usize, const PER: usize>([u32; ITEMS]);

impl<const ITEMS: usize, const PER: usize> Packed<ITEMS, PER> {
    const BITS: usize = 32 / PER;

    #[inline(always)]
    pub(super) fn new() -> Self {
        Self([0; ITEMS])
    }
    #[inline(always)]
    pub(super) fn set(&mut self, i: usize, value: u32) {
        self.0[i / PER] |= value << (i % PER * Self::BITS);
    }
    #[inline(always)]
    pub(super) fn get(&self, i: usize) -> u32 {
        self.0[i / PER] >> (i % PER * Self::BITS) & (u32::MAX >> (32 - Self::BITS))
    }
}
