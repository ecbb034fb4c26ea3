//! The shuffled order of threads and blocks.

/// SplitMix64 (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195): small, fast, and any
/// seed is a good one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `bound`; the bias of the plain multiplication does not matter here.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

/// A seed for one purpose from seeds for others.
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    Random(a.rotate_left(32) ^ b).next()
}

/// A permutation of `0..len` that needs no table: `i * step + start (mod len)`, where `step` has
/// no factor in common with `len`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permutation {
    len: u64,
    step: u64,
    start: u64,
}

impl Permutation {
    /// A shuffled order of `0..len`; `len` is at least 1.
    pub(crate) fn new(len: u64, random: &mut Random) -> Self {
        let start = random.below(len);
        let step = loop {
            let step = 1 + random.below(len);
            if greatest_common_divisor(step, len) == 1 {
                break step;
            }
        };
        Self { len, step, start }
    }

    /// The elements in order; no division.
    pub(crate) fn iter(self) -> impl Iterator<Item = u64> {
        let Self { len, step, start } = self;
        let next = move |at: &u64| {
            let left = len - at;
            Some(if step < left { at + step } else { step - left })
        };
        std::iter::successors(Some(start), next).take(len as usize)
    }

    /// The element at position `i`.
    pub(crate) fn at(&self, i: u64) -> u64 {
        if self.len <= 1 << 31 {
            return (i * self.step + self.start) % self.len;
        }
        let wide = u128::from(i) * u128::from(self.step) + u128::from(self.start);
        (wide % u128::from(self.len)) as u64
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_comes_once() {
        let mut random = Random::new(1);
        for len in [1, 2, 3, 31, 32, 96, 97, 1024, 30030] {
            for _ in 0..20 {
                let order = Permutation::new(len, &mut random);
                let mut seen: Vec<_> = (0..len).map(|i| order.at(i)).collect();
                assert!(order.iter().eq(seen.iter().copied()), "{order:?}");
                seen.sort_unstable();
                assert!(seen.into_iter().eq(0..len), "{order:?}");
            }
        }
    }

    #[test]
    fn a_grid_too_large_for_64_bit_products_stays_in_range() {
        let mut random = Random::new(2);
        let len = (1 << 31) * 65535 * 65535_u64;
        let order = Permutation::new(len, &mut random);
        assert!((0..1000).all(|i| order.at(len - 1 - i) < len));
    }
}
