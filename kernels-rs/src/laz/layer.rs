//! The arithmetic decoder of a layer (Said 2004, "Introduction to arithmetic coding: theory and practice").
//!
//! ```text
//! value, length:  the place of the stream's bytes within the interval of what was decoded, and the interval's length
//! a symbol:       length is divided among the symbols; the one whose part holds value was written
//! length < 2^24:  both are multiplied by 256, and value takes the next byte
//! ```
//!
//! All lanes of a warp hold the same state.

use device_std::{In, warp};

use super::models::{BitModel, Model};

/// An interval that is shorter takes more bytes.
const MIN_LENGTH: u32 = 1 << 24;

/// Bits of a probability in a model of many symbols.
const SYMBOL_BITS: u32 = 15;

/// Bits of a probability in a model of a bit.
const BIT_BITS: u32 = 13;

/// The packed bytes of all chunks, as words.
#[derive(Clone, Copy)]
pub struct Packed<'a> {
    /// The words; a byte's number is its place in the file's order.
    pub words: In<'a, u32>,
    /// How many words there are: one or more.
    pub count: u32,
}

impl Packed<'_> {
    /// Word `i` with its first byte in the highest bits; beyond the end the last word.
    #[inline(always)]
    fn word(&self, i: u32) -> u32 {
        self.words.get(u32::min(i, self.count - 1)).swap_bytes()
    }
}

/// The decoder of a layer.
pub struct Layer<'a> {
    packed: Packed<'a>,
    value: u32,
    length: u32,
    /// The next `left` bits, the first one in the highest bit.
    bits: u64,
    left: u32,
    /// The word behind these, which was loaded early: loads take longer than symbols.
    next: u32,
    /// The number of the word behind that.
    at: u32,
    /// The layer's bytes end before this one.
    end: u32,
    /// Whether there are any.
    is_there: bool,
}

impl<'a> Layer<'a> {
    /// Begins to decode the bytes from `start` to before `end`. Without bytes all points have the value of the first one.
    #[inline(always)]
    pub fn new(packed: Packed<'a>, start: u32, end: u32) -> Self {
        let (first, skipped) = (start / 4, 8 * (start % 4));
        let bits = ((packed.word(first) as u64) << 32 | packed.word(first + 1) as u64) << skipped;
        let mut layer = Self {
            packed,
            value: 0,
            length: u32::MAX,
            bits,
            left: 64 - skipped,
            next: packed.word(first + 2),
            at: first + 3,
            end,
            is_there: end > start,
        };
        layer.take(16);
        layer.take(16);
        layer
    }

    /// Whether the layer has bytes.
    #[inline(always)]
    pub fn is_there(&self) -> bool {
        self.is_there
    }

    /// Whether no encoder can have written what was decoded: more bytes than there are, or a symbol without a part of the
    /// interval, after which the length stays 0.
    #[inline(always)]
    pub fn is_broken(&self) -> bool {
        let taken = 4 * (self.at - 1) as u64 - (self.left / 8) as u64;
        self.is_there && (self.length == 0 || taken > self.end as u64)
    }

    /// Moves 8, 16 or 24 bits into the value.
    #[inline(always)]
    fn take(&mut self, count: u32) {
        let both = (self.value as u64) << 32 | self.bits >> 32;
        self.value = (both << count >> 32) as u32;
        self.bits <<= count;
        self.left -= count;
        if self.left < 32 {
            self.bits |= (self.next as u64) << (32 - self.left);
            self.left += 32;
            self.next = self.packed.word(self.at);
            self.at += 1;
        }
    }

    /// Goes into a part of the interval.
    #[inline(always)]
    fn narrow(&mut self, below: u32, length: u32) {
        self.value -= below;
        self.length = length;
        if length < MIN_LENGTH {
            // Whole bytes; of a length of 0 as many as there may be.
            let count = u32::min(length.leading_zeros() & !7, 24);
            self.length <<= count;
            self.take(count);
        }
    }

    /// Decodes a symbol.
    ///
    /// # Safety
    /// The whole warp comes to the same call, with the same model; no other warp uses it.
    #[inline(always)]
    pub unsafe fn symbol(&mut self, model: Model<'_>) -> u32 {
        let unit = self.length >> SYMBOL_BITS;
        // The rest of a division by 2^15 belongs to the last symbol.
        let value = u32::min(self.value, (unit << SYMBOL_BITS).wrapping_sub(1));
        // SAFETY: passed on to the caller.
        let found = unsafe { model.find(|start| start.wrapping_mul(unit) <= value) };
        let below = found.start * unit;
        let end = if found.is_last { self.length } else { found.end * unit };
        self.narrow(below, end - below);
        // SAFETY: passed on to the caller.
        unsafe { model.count(&found) };
        found.symbol
    }

    /// Decodes a bit.
    ///
    /// # Safety
    /// As [`symbol`](Self::symbol).
    #[inline(always)]
    pub unsafe fn bit(&mut self, model: BitModel<'_>) -> u32 {
        // SAFETY: passed on to the caller.
        unsafe {
            let state = model.load();
            let of_zero = warp::shuffle(warp::FULL, state[0], 0) * (self.length >> BIT_BITS);
            let bit = (self.value >= of_zero) as u32;
            match bit {
                0 => self.narrow(0, of_zero),
                _ => self.narrow(of_zero, self.length - of_zero),
            }
            model.count(state, bit);
            bit
        }
    }

    /// Decodes an integer of 1 to 24 bits, whose values are equally likely.
    #[inline(always)]
    pub fn bits(&mut self, count: u32) -> u32 {
        if count > 19 {
            let low = self.few_bits(16);
            return self.few_bits(count - 16) << 16 | low;
        }
        self.few_bits(count)
    }

    /// Decodes an integer of 1 to 19 bits.
    #[inline(always)]
    fn few_bits(&mut self, count: u32) -> u32 {
        let unit = self.length >> count;
        let value = self.value.checked_div(unit).unwrap_or(0);
        self.narrow(value * unit, unit);
        value
    }
}
