//! The least of many keys, in registers.

use device_std::warp;

/// The `L` least keys that were offered, in order. A key is the bits of an f32 that is not negative; its lowest bits
/// are replaced by the number of the key's owner.
pub struct Keys<const L: usize>([u32; L]);

impl<const L: usize> Keys<L> {
    /// An empty list.
    pub const NONE: Self = Self([u32::MAX; L]);

    /// An empty list that keeps only the least `most` keys below `below`: it begins with zeros, which no key precedes.
    #[inline(always)]
    pub fn at_most(most: u32, below: u32) -> Self {
        let mut keys = Self([below; L]);
        let mut i = 0;
        while i < L {
            if i < L - most as usize {
                keys.0[i] = 0;
            }
            i += 1;
        }
        keys
    }

    /// Offers a key, each lane of the warp its own.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub unsafe fn offer(&mut self, key: u32) {
        // SAFETY: passed on to the caller.
        if !unsafe { warp::any(warp::FULL, key < self.0[L - 1]) } {
            return;
        }
        // Each key moves up if the offered one comes before the key below it: two instructions an entry, none of which
        // waits for another's.
        let mut i = L - 1;
        while i > 0 {
            self.0[i] = u32::max(self.0[i - 1], u32::min(self.0[i], key));
            i -= 1;
        }
        self.0[0] = u32::min(self.0[0], key);
    }

    /// Key `i`. `i` is a constant, since keys are registers.
    #[inline(always)]
    pub fn get(&self, i: usize) -> u32 {
        self.0[i]
    }

    /// The greatest key: no key that was offered and is not here is less.
    #[inline(always)]
    pub fn last(&self) -> u32 {
        self.0[L - 1]
    }
}

impl<const L: usize> Keys<L> {
    /// Offers the `B` keys of a batch, in any order. The batch is sorted. The lesser of its keys and those at the list's
    /// end stay, which is a bitonic sequence, and steps of a merge order it (Batcher 1968,
    /// doi:10.1145/1468075.1468121). No lane branches. Eight keys for a list of 13 take 90 minima and maxima, where eight
    /// insertions take 208.
    #[inline(always)]
    pub fn merge<const B: usize>(&mut self, mut batch: [u32; B]) {
        const { assert!(L <= 96 && B <= 16 && B.is_power_of_two(), "there are steps for these") };
        sort(&mut batch);
        let mut i = 0;
        while i < B && i < L {
            let at = L - 1 - i;
            self.0[at] = u32::min(self.0[at], batch[i]);
            i += 1;
        }
        self.exchange::<64>();
        self.exchange::<32>();
        self.exchange::<16>();
        self.exchange::<8>();
        self.exchange::<4>();
        self.exchange::<2>();
        self.exchange::<1>();
    }

    /// A step of the merge: orders keys that are `STRIDE` apart. The list is the end of an imagined array, whose length
    /// is a power of two. The array's beginning has keys less than any other, which stay there.
    #[inline(always)]
    fn exchange<const STRIDE: usize>(&mut self) {
        if STRIDE >= L.next_power_of_two() {
            return;
        }
        // By parts that the compiler surely unrolls: an array indexed at run time has no registers.
        self.exchange_from::<STRIDE, 0>();
        self.exchange_from::<STRIDE, 16>();
        self.exchange_from::<STRIDE, 32>();
        self.exchange_from::<STRIDE, 48>();
        self.exchange_from::<STRIDE, 64>();
        self.exchange_from::<STRIDE, 80>();
    }

    /// The same for 16 entries.
    #[inline(always)]
    fn exchange_from<const STRIDE: usize, const FROM: usize>(&mut self) {
        let whole = L.next_power_of_two();
        let mut i = FROM;
        while i < L && i < FROM + 16 {
            if (whole - L + i) & STRIDE == 0 {
                let (a, b) = (self.0[i], self.0[i + STRIDE]);
                (self.0[i], self.0[i + STRIDE]) = (u32::min(a, b), u32::max(a, b));
            }
            i += 1;
        }
    }
}

/// Sorts a batch by merges of odd and even entries (Batcher 1968): 19 exchanges for 8 keys, 63 for 16.
#[inline(always)]
fn sort<const B: usize>(batch: &mut [u32; B]) {
    sort_step::<B, 1, 1>(batch);
    sort_step::<B, 2, 2>(batch);
    sort_step::<B, 2, 1>(batch);
    sort_step::<B, 4, 4>(batch);
    sort_step::<B, 4, 2>(batch);
    sort_step::<B, 4, 1>(batch);
    sort_step::<B, 8, 8>(batch);
    sort_step::<B, 8, 4>(batch);
    sort_step::<B, 8, 2>(batch);
    sort_step::<B, 8, 1>(batch);
}

/// A step of the sort, which merges runs of `RUN` in pairs: orders entries that are `STRIDE` apart.
#[inline(always)]
fn sort_step<const B: usize, const RUN: usize, const STRIDE: usize>(batch: &mut [u32; B]) {
    let mut i = 0;
    while i + STRIDE < B {
        let from = STRIDE % RUN;
        let is_first = i >= from && ((i - from) / STRIDE).is_multiple_of(2);
        if is_first && i / (2 * RUN) == (i + STRIDE) / (2 * RUN) {
            let (a, b) = (batch[i], batch[i + STRIDE]);
            (batch[i], batch[i + STRIDE]) = (u32::min(a, b), u32::max(a, b));
        }
        i += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<const L: usize, const B: usize>() {
        let mut keys = Keys::<L>::NONE;
        let mut all = Vec::new();
        let mut state = 12345u32;
        for round in 0..40 {
            let batch: [u32; B] = core::array::from_fn(|i| {
                state = state.wrapping_mul(1664525).wrapping_add(1013904223);
                // Batches are rarely full, and keys may be equal.
                if i < round % (B + 1) { state >> 20 } else { u32::MAX }
            });
            all.extend(batch);
            all.sort_unstable();
            keys.merge(batch);
            let wanted = (0..L).map(|i| all.get(i).copied().unwrap_or(u32::MAX));
            assert!(wanted.eq((0..L).map(|i| keys.get(i))), "{L}, {B}, {round}");
        }
    }

    #[test]
    fn batches_leave_the_least_in_order() {
        check::<5, 8>();
        check::<9, 8>();
        check::<13, 8>();
        check::<17, 8>();
        check::<16, 16>();
        check::<33, 16>();
        check::<65, 16>();
        check::<64, 16>();
    }
}
