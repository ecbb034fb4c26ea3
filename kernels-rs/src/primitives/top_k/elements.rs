//! Elements that a block goes over together, by rank and index.

use device_std::shared::Plain;
use device_std::warp::Word;
use device_std::{In, thread};

use crate::primitives::operators::{Bits, Order};

/// Elements that a thread reads at once.
const AT_ONCE: usize = 8;

/// Elements that a block goes over together. No two of them have the same rank and index.
pub(super) trait Elements {
    /// How many there are: fewer than 2^32.
    fn count(&self) -> u32;
    /// Calls `visit` with the rank of each of the thread's, and which of all it is.
    fn each(&self, visit: impl FnMut(u64, u32));
    /// The index of an element.
    fn index(&self, of: u32) -> u64;
}

/// Elements in memory, which are read whenever they are visited.
#[derive(Clone, Copy)]
pub(super) struct InMemory<'a, K, P> {
    pub(super) keys: In<'a, K>,
    /// Their indices, if these are not their places.
    pub(super) indices: Option<In<'a, u64>>,
    /// The parameters of the [`Order`].
    pub(super) parameters: [u64; 4],
    /// How many there are.
    pub(super) count: u32,
    /// Where each of these is.
    pub(super) place: P,
}

impl<K: Bits, P: Fn(u32) -> u64> InMemory<'_, K, P> {
    /// The thread's elements from one on, a block apart: one of them, and whether it is there.
    #[inline(always)]
    fn own(&self, first: u32, i: usize) -> (u32, bool) {
        let own = first.saturating_add(i as u32 * thread::block_dim_x());
        (own, own < self.count)
    }

    /// The ranks of some of these.
    #[inline(always)]
    fn ranks(&self, first: u32) -> [K; AT_ONCE] {
        let order = Order::<K>::new(self.parameters);
        let mut keys = [K::from_bits64(0); AT_ONCE];
        let mut i = 0;
        while i < AT_ONCE {
            let (own, is_there) = self.own(first, i);
            if is_there {
                keys[i] = self.keys.get((self.place)(own));
            }
            i += 1;
        }
        let mut i = 0;
        while i < AT_ONCE {
            keys[i] = order.rank(keys[i]);
            i += 1;
        }
        keys
    }

    #[inline(always)]
    fn visit(&self, first: u32, ranks: [K; AT_ONCE], visit: &mut impl FnMut(u64, u32)) {
        let mut i = 0;
        while i < AT_ONCE {
            let (own, is_there) = self.own(first, i);
            if is_there {
                visit(ranks[i].to_bits64(), own);
            }
            i += 1;
        }
    }
}

impl<K: Bits, P: Fn(u32) -> u64> Elements for InMemory<'_, K, P> {
    #[inline(always)]
    fn count(&self) -> u32 {
        self.count
    }

    #[inline(always)]
    fn each(&self, mut visit: impl FnMut(u64, u32)) {
        let mut first = thread::thread_idx_x();
        while first < self.count {
            self.visit(first, self.ranks(first), &mut visit);
            first = self.own(first, AT_ONCE).0;
        }
    }

    #[inline(always)]
    fn index(&self, of: u32) -> u64 {
        let place = (self.place)(of);
        self.indices.map_or(place, |indices| indices.get(place))
    }
}

/// Elements of which a thread has at most [`AT_ONCE`], whose ranks stay in registers: one read.
pub(super) struct Held<'a, K, P> {
    of: InMemory<'a, K, P>,
    ranks: [K; AT_ONCE],
}

impl<'a, K: Bits, P: Fn(u32) -> u64> Held<'a, K, P> {
    #[inline(always)]
    pub(super) fn new(of: InMemory<'a, K, P>) -> Self {
        Self { ranks: of.ranks(thread::thread_idx_x()), of }
    }
}

impl<K: Bits, P: Fn(u32) -> u64> Elements for Held<'_, K, P> {
    #[inline(always)]
    fn count(&self) -> u32 {
        self.of.count
    }

    #[inline(always)]
    fn each(&self, mut visit: impl FnMut(u64, u32)) {
        self.of.visit(thread::thread_idx_x(), self.ranks, &mut visit);
    }

    #[inline(always)]
    fn index(&self, of: u32) -> u64 {
        self.of.index(of)
    }
}

/// A rank and an index, which are compared in this order.
pub trait Entry: Plain + Word + PartialOrd {
    /// After all others.
    const LAST: Self;
    /// Of an index below 2^32 - 1.
    fn new(rank: u64, index: u64) -> Self;
    /// The rank and the index.
    fn parts(self) -> (u64, u64);
}

/// Of a rank below 2^32.
impl Entry for u64 {
    const LAST: Self = u64::MAX;
    #[inline(always)]
    fn new(rank: u64, index: u64) -> Self {
        rank << 32 | index
    }
    #[inline(always)]
    fn parts(self) -> (u64, u64) {
        (self >> 32, self & 0xffff_ffff)
    }
}

impl Entry for (u64, u64) {
    const LAST: Self = (u64::MAX, u64::MAX);
    #[inline(always)]
    fn new(rank: u64, index: u64) -> Self {
        (rank, index)
    }
    #[inline(always)]
    fn parts(self) -> (u64, u64) {
        self
    }
}

/// Keys whose first few can be found.
pub trait Ranked: Bits {
    /// An element's rank and index.
    type Entry: Entry;
}

impl Ranked for u8 {
    type Entry = u64;
}
impl Ranked for u16 {
    type Entry = u64;
}
impl Ranked for u32 {
    type Entry = u64;
}
impl Ranked for u64 {
    type Entry = (u64, u64);
}
