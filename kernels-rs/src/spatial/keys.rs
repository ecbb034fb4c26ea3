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

    /// Takes in a key, if it is less than the last.
    #[inline(always)]
    pub fn insert(&mut self, key: u32) {
        // Each key moves up if the new key comes before the one below it: two instructions, none of which waits for
        // another's.
        let mut i = L - 1;
        while i > 0 {
            self.0[i] = u32::max(self.0[i - 1], u32::min(self.0[i], key));
            i -= 1;
        }
        self.0[0] = u32::min(self.0[0], key);
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
        // The loop of `insert`: a call from here would give other instructions.
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

/// Keys that [`Keys::merge`] takes at a time.
pub const BATCH: usize = 16;

impl<const L: usize> Keys<L> {
    /// Offers the keys of a batch, in any order; for long lists this takes far fewer steps than one key at a time. The
    /// batch is sorted, and the lesser key is kept of each pair from the batch and the list's end. This leaves a
    /// bitonic sequence to merge (Batcher 1968, doi:10.1145/1468075.1468121). There is no branch, so lanes stay
    /// together.
    #[inline(always)]
    pub fn merge(&mut self, batch: [u32; BATCH]) {
        const { assert!(L <= 96, "there are steps for such a list") };
        let batch = descending(batch);
        let mut i = 0;
        while i < BATCH && i < L {
            let at = L.saturating_sub(BATCH) + i;
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

/// A batch from its greatest to its least, by a bitonic sort.
#[inline(always)]
fn descending(batch: [u32; BATCH]) -> [u32; BATCH] {
    let batch = sort_step::<2, 1>(batch);
    let batch = sort_step::<4, 1>(sort_step::<4, 2>(batch));
    let batch = sort_step::<8, 1>(sort_step::<8, 2>(sort_step::<8, 4>(batch)));
    sort_step::<16, 1>(sort_step::<16, 2>(sort_step::<16, 4>(sort_step::<16, 8>(batch))))
}

/// A step of the sort: runs of `SIZE` become ordered, falling and rising in turns.
#[inline(always)]
fn sort_step<const SIZE: usize, const STRIDE: usize>(mut batch: [u32; BATCH]) -> [u32; BATCH] {
    let mut i = 0;
    while i < BATCH {
        if i & STRIDE == 0 {
            let (a, b) = (batch[i], batch[i + STRIDE]);
            let (least, most) = (u32::min(a, b), u32::max(a, b));
            let falls = i & SIZE == 0;
            (batch[i], batch[i + STRIDE]) = if falls { (most, least) } else { (least, most) };
        }
        i += 1;
    }
    batch
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<const L: usize>() {
        let mut keys = Keys::<L>::NONE;
        let mut all = Vec::new();
        let mut state = 12345u32;
        for round in 0..40 {
            let batch: [u32; BATCH] = core::array::from_fn(|i| {
                state = state.wrapping_mul(1664525).wrapping_add(1013904223);
                // Batches are rarely full, and keys may be equal.
                if i < round % 17 { state >> 20 } else { u32::MAX }
            });
            all.extend(batch);
            all.sort_unstable();
            keys.merge(batch);
            let wanted = (0..L).map(|i| all.get(i).copied().unwrap_or(u32::MAX));
            assert!(wanted.eq((0..L).map(|i| keys.get(i))), "{L}, {round}");
        }
    }

    #[test]
    fn batches_leave_the_least_in_order() {
        check::<16>();
        check::<33>();
        check::<65>();
        check::<64>();
    }
}
