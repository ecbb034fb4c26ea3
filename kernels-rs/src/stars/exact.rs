//! Exact sums of products of coordinates.
//!
//! Every coordinate is a whole number of *units*, a power of two, of at most [`MAX_BITS`] bits. A product of four
//! coordinates therefore has at most 2000 bits, and a fixed-point number of 2048 bits holds the sum of 2^48 of them.
//! Kulisch proposed such numbers for scalar products (Kulisch and Miranker 1986, "The arithmetic of the digital
//! computer: a new approach", doi:10.1137/1028001). Unlike an expansion of f64 (Shewchuk 1997, doi:10.1007/PL00009321)
//! its size is known beforehand, its order of summation is free, and no product can overflow or underflow.
//!
//! Most coordinates that f64 cannot decide are [`Short`]: seen from one of the places, they are whole numbers of at
//! most 60 bits. Then 256 bits are enough.

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
    /// One: stands for the missing coordinates of a shorter product.
    pub const ONE: Self = Self { significand: 1, exponent: 0, is_negative: false };

    /// Two.
    pub const TWO: Self = Self { significand: 1, exponent: 1, is_negative: false };

    /// A coordinate in units of `2^unit`; the coordinate is a multiple of the unit.
    #[inline(always)]
    pub fn of(coordinate: f64, unit: i32) -> Self {
        let is_negative = coordinate.to_bits() >> 63 != 0;
        let (significand, exponent) = parts(coordinate);
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

/// A sum of products: what was added, and separately what was subtracted, so that carries stay short.
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
    #[inline(always)]
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

/// The most bits of [`Short`] coordinates: sums of products of four have fewer than 256.
const SHORT: i32 = 60;

/// Places whose coordinates are short whole numbers of one unit.
pub struct Short<const N: usize>([[i64; 2]; N]);

impl<const N: usize> Short<N> {
    /// Places whose coordinates together span at most 60 bits, from the highest to the lowest.
    #[inline(always)]
    pub fn of(places: [[f64; 2]; N]) -> Option<Self> {
        let (mut highest, mut lowest) = (i32::MIN, i32::MAX);
        let mut i = 0;
        while i < 2 * N {
            let (significand, exponent) = parts(places[i / 2][i % 2]);
            if significand != 0 {
                highest = i32::max(highest, exponent + 53);
                lowest = i32::min(lowest, exponent + significand.trailing_zeros() as i32);
            }
            i += 1;
        }
        let is_short = highest == i32::MIN || highest - lowest <= SHORT;
        is_short.then(|| Self(places.map(|place| place.map(|number| whole(number, lowest)))))
    }

    /// The cross product of two of the places.
    #[inline(always)]
    fn cross(&self, i: usize, j: usize) -> i128 {
        let (p, q) = (self.0[i], self.0[j]);
        p[0] as i128 * q[1] as i128 - p[1] as i128 * q[0] as i128
    }

    /// The squared distance of a place from the origin.
    #[inline(always)]
    fn square(&self, i: usize) -> i128 {
        let [x, y] = self.0[i];
        x as i128 * x as i128 + y as i128 * y as i128
    }
}

impl Short<2> {
    /// On which side of the line from the origin to the first place the second place lies: 1 on the left.
    #[inline(always)]
    pub fn side(&self) -> i32 {
        self.cross(0, 1).signum() as i32
    }

    /// Which one is nearer to the origin: 1 if the first is, -1 if the second is.
    #[inline(always)]
    pub fn nearer(&self) -> i32 {
        (self.square(1) - self.square(0)).signum() as i32
    }
}

impl Short<3> {
    /// Whether the origin lies inside the circle through the places, which turn counter-clockwise: 1 inside, -1
    /// outside.
    #[inline(always)]
    pub fn in_circle(&self) -> i32 {
        // The added and the subtracted part, lowest half first.
        let mut sums = [[0_u128; 2]; 2];
        let mut i = 0;
        while i < 3 {
            let cross = self.cross((i + 1) % 3, (i + 2) % 3);
            let [a, b, c, d] = product(self.square(i) as u128, cross.unsigned_abs());
            let [low, high] = [a as u128 | (b as u128) << 64, c as u128 | (d as u128) << 64];
            let side = (cross < 0) as usize;
            let (sum, carry) = sums[side][0].overflowing_add(low);
            sums[side] = [sum, sums[side][1] + high + carry as u128];
            i += 1;
        }
        let [[low, high], [other_low, other_high]] = sums;
        let is_more = high > other_high || high == other_high && low > other_low;
        let is_less = high < other_high || high == other_high && low < other_low;
        is_more as i32 - is_less as i32
    }
}

/// The significand of a number's magnitude, and the exponent of its lowest bit.
#[inline(always)]
fn parts(number: f64) -> (u64, i32) {
    let bits = number.to_bits();
    let (biased, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) }
}

/// A number in units of `2^lowest`; it is a multiple of the unit, and has fewer than 63 bits.
#[inline(always)]
fn whole(number: f64, lowest: i32) -> i64 {
    let (significand, exponent) = parts(number);
    if significand == 0 {
        return 0;
    }
    let shift = exponent - lowest;
    let magnitude = if shift < 0 { significand >> -shift } else { significand << shift } as i64;
    if number < 0.0 { -magnitude } else { magnitude }
}

/// The product of two numbers of at most 122 bits, lowest word first.
#[inline(always)]
fn product(a: u128, b: u128) -> [u64; 4] {
    let (a0, a1) = (a as u64 as u128, a >> 64);
    let (b0, b1) = (b as u64 as u128, b >> 64);
    let low = a0 * b0;
    // Below 2^123 + 2^64.
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
