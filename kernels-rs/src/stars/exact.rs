//! Exact sums of products of coordinates.
//!
//! Every coordinate is a whole number of *units*, a power of two, of at most [`MAX_BITS`] bits. A product of four
//! coordinates therefore has at most 2000 bits, and a fixed-point number of 2048 bits holds the sum of 2^48 of them, as
//! Kulisch proposed for scalar products (Kulisch and Miranker 1986, "The arithmetic of the digital computer: a new
//! approach", doi:10.1137/1028001). Unlike an expansion of f64 (Shewchuk 1997, doi:10.1007/PL00009321) its size is
//! known beforehand, its order of summation is free, and no product can overflow or underflow.

/// The most bits of a coordinate, as a whole number of units.
pub const MAX_BITS: i32 = 500;

/// Words of a sum.
const WORDS: usize = 32;

/// A coordinate: `significand * 2^exponent` units, negated or not.
#[derive(Clone, Copy)]
pub struct Factor {
    significand: u64,
    exponent: u32,
    is_negative: bool,
}

impl Factor {
    /// One: a product of fewer coordinates has it for the others.
    pub const ONE: Self = Self { significand: 1, exponent: 0, is_negative: false };

    /// Two.
    pub const TWO: Self = Self { significand: 1, exponent: 1, is_negative: false };

    /// A coordinate in units of `2^unit`, of which it is a multiple.
    #[inline(always)]
    pub fn of(coordinate: f64, unit: i32) -> Self {
        let bits = coordinate.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        let biased = (bits >> 52 & 0x7ff) as i32;
        let is_negative = bits >> 63 != 0;
        let (significand, exponent) =
            if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) };
        if significand == 0 {
            return Self { significand: 0, exponent: 0, is_negative: false };
        }
        let zeros = significand.trailing_zeros();
        let exponent = (exponent + zeros as i32 - unit) as u32;
        Self { significand: significand >> zeros, exponent, is_negative }
    }

    /// The same number with the other sign.
    #[inline(always)]
    pub fn negated(self) -> Self {
        Self { is_negative: !self.is_negative, ..self }
    }
}

/// A sum of products: what was added, and apart from it what was subtracted, so that carries stay short.
pub struct Sum {
    added: [u64; WORDS],
    subtracted: [u64; WORDS],
}

impl Sum {
    /// Nothing.
    #[inline(always)]
    pub fn zero() -> Self {
        Self { added: [0; WORDS], subtracted: [0; WORDS] }
    }

    /// Adds a product of four factors.
    #[inline(never)]
    pub fn add(&mut self, [a, b, c, d]: [Factor; 4]) {
        let first = a.significand as u128 * b.significand as u128;
        let second = c.significand as u128 * d.significand as u128;
        if first == 0 || second == 0 {
            return;
        }
        let position = a.exponent + b.exponent + c.exponent + d.exponent;
        let is_negative = a.is_negative ^ b.is_negative ^ c.is_negative ^ d.is_negative;
        let words = shifted(product(first, second), position % 64);
        let side = if is_negative { &mut self.subtracted } else { &mut self.added };
        let start = (position / 64) as usize;
        let (mut carry, mut i) = (false, 0);
        while i < 5 {
            // The mask bounds the index. It changes none of a word that is not 0: the product has at most 2000 bits.
            let word = &mut side[(start + i) & (WORDS - 1)];
            let (sum, over) = word.overflowing_add(words[i]);
            let (sum, again) = sum.overflowing_add(carry as u64);
            *word = sum;
            carry = over | again;
            i += 1;
        }
        while carry && start + i < WORDS {
            let word = &mut side[(start + i) & (WORDS - 1)];
            (*word, carry) = word.overflowing_add(1);
            i += 1;
        }
    }

    /// The sign: 1, 0 or -1.
    #[inline(always)]
    pub fn sign(&self) -> i32 {
        let mut i = WORDS;
        while i > 0 {
            i -= 1;
            let (added, subtracted) = (self.added[i], self.subtracted[i]);
            if added != subtracted {
                return if added > subtracted { 1 } else { -1 };
            }
        }
        0
    }
}

/// The product of two numbers of at most 106 bits, lowest word first.
#[inline(always)]
fn product(a: u128, b: u128) -> [u64; 4] {
    let (a0, a1) = (a as u64 as u128, a >> 64);
    let (b0, b1) = (b as u64 as u128, b >> 64);
    let low = a0 * b0;
    // Below 2^106 + 2^106 + 2^64.
    let middle = a0 * b1 + a1 * b0 + (low >> 64);
    let high = a1 * b1 + (middle >> 64);
    [low as u64, middle as u64, high as u64, (high >> 64) as u64]
}

/// The words, shifted up by fewer bits than a word has.
#[inline(always)]
fn shifted([a, b, c, d]: [u64; 4], bits: u32) -> [u64; 5] {
    let over = |low: u64| (low >> 1) >> (63 - bits);
    [a << bits, b << bits | over(a), c << bits | over(b), d << bits | over(c), over(d)]
}
