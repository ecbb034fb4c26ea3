//! Integers, as a prediction and a correction.
//!
//! ```text
//! bits    a symbol k: the correction c has about k bits             -(2^k - 1) <= c <= -2^(k-1), or 2^(k-1) < c <= 2^k
//! k = 0   a bit: c is 0 or 1
//! k <= 8  a symbol: which c of these
//! k > 8   a symbol for the eight highest bits, the others as they are
//! ```

use device_std::vector;

use super::layer::Layer;
use super::models::{BitModel, CORRECTIONS, Row, WORDS_OF_BIT, Words, words_of};

/// Bits of a correction that have a model.
const HIGH_BITS: u32 = 8;

/// The models of an integer.
#[derive(Clone, Copy)]
pub struct Integers {
    /// Bits of the integer: 16 or 32.
    bits: u32,
    /// A model of k for each context.
    sizes: Row,
    /// The first word of the model for k = 0. Behind it are those for k = 1, 2, ..
    zero: u32,
}

impl Integers {
    /// Models of integers with so many bits and contexts, from a word on.
    pub const fn new(first: u32, bits: u32, contexts: u32) -> Self {
        let sizes = Row { first, symbols: bits + 1, count: contexts };
        Self { bits, sizes, zero: sizes.end() }
    }

    /// The words behind all models.
    pub const fn end(&self) -> u32 {
        self.zero + WORDS_OF_BIT + words_before(self.bits + 1)
    }

    /// The model of corrections of `k` bits.
    #[inline(always)]
    fn corrections(&self, base: u32, k: u32) -> Row {
        let first = base + self.zero + WORDS_OF_BIT + words_before(k);
        Row { first, symbols: if k < HIGH_BITS { 1 << k } else { CORRECTIONS }, count: 1 }
    }

    /// Makes all models anew.
    #[inline(always)]
    pub fn begin(&self, words: Words<'_>, base: u32) {
        self.sizes.begin(words, base);
        BitModel { words, first: base + self.zero }.begin();
        let mut k = 1;
        while k <= vector::unknown(self.bits) {
            self.corrections(base, k).begin(words, 0);
            k += 1;
        }
    }

    /// Decodes an integer in a context, and returns it with its k.
    ///
    /// # Safety
    /// The whole warp comes to the same call, with the same arguments.
    #[inline(always)]
    pub unsafe fn decode(
        &self,
        layer: &mut Layer<'_>,
        (words, base): (Words<'_>, u32),
        predicted: i32,
        context: u32,
    ) -> (i32, u32) {
        // SAFETY: passed on to the caller.
        unsafe {
            let k = layer.symbol(self.sizes.of(words, base, context));
            let correction = match k {
                0 => layer.bit(BitModel { words, first: base + self.zero }) as i32,
                32 => i32::MIN,
                _ => {
                    let mut found = layer.symbol(self.corrections(base, k).of(words, 0, 0));
                    if k > HIGH_BITS {
                        let low = k - HIGH_BITS;
                        found = found << low | layer.bits(low);
                    }
                    match found >= 1 << (k - 1) {
                        true => found as i32 + 1,
                        false => (found as i32).wrapping_sub(((1_u32 << k) - 1) as i32),
                    }
                }
            };
            let value = predicted.wrapping_add(correction);
            let range = if self.bits < 32 { 1 << self.bits } else { 0 };
            let value = match value {
                value if value < 0 => value.wrapping_add(range),
                value if value >= range => value.wrapping_sub(range),
                value => value,
            };
            (value, k)
        }
    }
}

/// The words of the models of corrections with 1 to `k - 1` bits.
const fn words_before(k: u32) -> u32 {
    // A model of k bits, up to 7, has 4 words and 2^k symbols; that of one bit has two words more for missing symbols.
    match k {
        0 | 1 => 0,
        2..=HIGH_BITS => (1 << k) + 4 * k - 4,
        _ => (1 << HIGH_BITS) + 4 * HIGH_BITS - 4 + (k - HIGH_BITS) * words_of(CORRECTIONS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_of_corrections_lie_one_behind_the_other() {
        let mut expected = 0;
        for k in 1..=33 {
            assert_eq!(words_before(k), expected, "k = {k}");
            expected += words_of(if k < HIGH_BITS { 1 << k } else { CORRECTIONS });
        }
    }
}
