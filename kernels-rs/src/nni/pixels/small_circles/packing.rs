//! How a pixel of a tile is packed into a few words, for the queries of small circles.

use super::NearShape;
use crate::nni::pixels::rasterise::SHIFT;
use crate::nni::pixels::values::MAX_VALUES;

/// Bits of a value that is made unsigned.
const VALUE_BITS: u32 = 31;

/// The most words of a pixel.
pub(super) const MAX_WORDS: usize = 8;

/// What the words of a pixel hold: word `k < N` has the upper bits of value `k`; the words after them have the lower
/// bits of the values, and a one.
#[derive(Clone, Copy)]
pub(super) struct Packing {
    /// How many words there are.
    pub(super) words: usize,
    /// Lower bits of each value.
    low_bits: [u32; MAX_VALUES],
    /// Where the lower bits are: word and shift.
    low: [(usize, u32); MAX_VALUES],
    /// Where the one is.
    one: (usize, u32),
    /// Bits of the number of a circle's pixels.
    count_bits: u32,
    /// The bits below the distance in the first word.
    pub(super) first_bits: u32,
}

impl Packing {
    /// Words that hold the sums over the circle of a shape.
    pub(super) const fn of(shape: NearShape) -> Self {
        let count_bits = u32::BITS - shape.pixels_of_circle().leading_zeros();
        // Up to one more than the circle's own squared radius.
        let distance_bits = u32::BITS - (shape.circle + 1).leading_zeros();
        assert!(count_bits <= distance_bits);
        let first_bits = u32::BITS - distance_bits;
        let mut packing = Self {
            words: shape.values,
            low_bits: [0; MAX_VALUES],
            low: [(0, 0); MAX_VALUES],
            one: (shape.values, 0),
            count_bits,
            first_bits,
        };
        let mut used = count_bits;
        let mut k = 0;
        while k < shape.values {
            let upper_bits = if k == 0 { first_bits } else { u32::BITS - count_bits };
            packing.low_bits[k] = VALUE_BITS - upper_bits;
            let room = packing.low_bits[k] + count_bits;
            if used + room > u32::BITS {
                packing.words += 1;
                used = 0;
            }
            packing.low[k] = (packing.words, used);
            used += room;
            k += 1;
        }
        packing.words += 1;
        assert!(packing.words <= MAX_WORDS);
        packing
    }

    /// The words of a pixel.
    #[inline(always)]
    pub(super) fn pack<const N: usize>(&self, distance: u32, values: [i32; N]) -> [u32; MAX_WORDS] {
        let mut words = [0; MAX_WORDS];
        words[0] = distance << self.first_bits;
        words[self.one.0] = 1 << self.one.1;
        let mut k = 0;
        while k < N {
            let value = (values[k] as i64 + SHIFT) as u32;
            words[k] |= value >> self.low_bits[k];
            let (word, shift) = self.low[k];
            words[word] |= (value & ((1 << self.low_bits[k]) - 1)) << shift;
            k += 1;
        }
        words
    }

    /// The sums of the values, and the number of pixels summed, from sums of words.
    #[inline(always)]
    pub(super) fn unpack<const N: usize>(&self, words: &[u32; MAX_WORDS]) -> ([i64; N], u32) {
        let count = words[self.one.0] >> self.one.1 & ((1 << self.count_bits) - 1);
        let mut sums = [0; N];
        let mut k = 0;
        while k < N {
            let (word, shift) = self.low[k];
            let low = words[word] >> shift & ((1 << (self.low_bits[k] + self.count_bits)) - 1);
            sums[k] = ((words[k] as i64) << self.low_bits[k]) + low as i64 - count as i64 * SHIFT;
            k += 1;
        }
        (sums, count)
    }
}

/// Adds the first `count` words, if a condition holds.
///
/// The compiler would first select the addend, which takes one instruction a word more than an addition that is
/// skipped.
#[inline(always)]
pub(super) fn add_words(
    count: usize,
    condition: bool,
    sums: &mut [u32; MAX_WORDS],
    words: &[u32; MAX_WORDS],
) {
    #[cfg(target_arch = "nvptx64")]
    {
        macro_rules! predicated {
            ($additions:literal $($word:literal $sum:ident $term:ident)+) => {
                // SAFETY: arithmetic.
                unsafe {
                    core::arch::asm!(
                        concat!(
                            "{{ .reg .pred p; setp.ne.u32 p, {condition}, 0; ",
                            $additions,
                            " }}"
                        ),
                        condition = in(reg32) condition as u32,
                        $($sum = inout(reg32) sums[$word], $term = in(reg32) words[$word],)+
                        options(pure, nomem, nostack, preserves_flags),
                    )
                }
            };
        }
        // No packing has more.
        match count {
            2 => predicated!(
                "@p add.u32 {a}, {a}, {s}; @p add.u32 {b}, {b}, {t};"
                0 a s 1 b t
            ),
            3 => predicated!(
                "@p add.u32 {a}, {a}, {s}; @p add.u32 {b}, {b}, {t}; @p add.u32 {c}, {c}, {u};"
                0 a s 1 b t 2 c u
            ),
            4 => predicated!(
                "@p add.u32 {a}, {a}, {s}; @p add.u32 {b}, {b}, {t}; @p add.u32 {c}, {c}, {u}; \
                 @p add.u32 {d}, {d}, {v};"
                0 a s 1 b t 2 c u 3 d v
            ),
            6 => predicated!(
                "@p add.u32 {a}, {a}, {s}; @p add.u32 {b}, {b}, {t}; @p add.u32 {c}, {c}, {u}; \
                 @p add.u32 {d}, {d}, {v}; @p add.u32 {e}, {e}, {w}; @p add.u32 {f}, {f}, {x};"
                0 a s 1 b t 2 c u 3 d v 4 e w 5 f x
            ),
            _ => predicated!(
                "@p add.u32 {a}, {a}, {s}; @p add.u32 {b}, {b}, {t}; @p add.u32 {c}, {c}, {u}; \
                 @p add.u32 {d}, {d}, {v}; @p add.u32 {e}, {e}, {w}; @p add.u32 {f}, {f}, {x}; \
                 @p add.u32 {g}, {g}, {y};"
                0 a s 1 b t 2 c u 3 d v 4 e w 5 f x 6 g y
            ),
        }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    for word in 0..count {
        sums[word] += if condition { words[word] } else { 0 };
    }
}
