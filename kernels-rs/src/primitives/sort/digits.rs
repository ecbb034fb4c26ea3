//! Keys as a sort sees them, and the digits that it sorts by.

use crate::primitives::operators::Bits;

/// Threads of a block of a pass.
pub(super) const BLOCK: u32 = 384;

/// Keys of a tile, where a thread has `items`.
pub(super) const fn tile_len(items: usize) -> u32 {
    BLOCK * items as u32
}

/// Bits of a digit.
pub const RADIX_BITS: u32 = 8;
/// Digits.
pub const DIGITS: u32 = 1 << RADIX_BITS;
/// The most passes of one sort.
pub const MAX_PASSES: u32 = 8;

/// A key as the sort sees it: unsigned bits.
pub trait Key: Bits {
    /// The key in registers and in shared memory: 4 bytes at least.
    type Register: Key;
    /// The low bits of `self >> shift`.
    fn shifted(self, shift: u32) -> u32;
    /// The key in a register.
    fn widened(self) -> Self::Register;
    /// The key that was widened.
    fn narrowed(register: Self::Register) -> Self;
}

macro_rules! keys {
    ($($type:ty, $register:ty;)+) => {$(
        impl Key for $type {
            type Register = $register;
            #[inline(always)]
            fn shifted(self, shift: u32) -> u32 {
                self.widened().wrapping_shr(shift) as u32
            }
            #[inline(always)]
            fn widened(self) -> $register {
                self as $register
            }
            #[inline(always)]
            fn narrowed(register: $register) -> Self {
                register as $type
            }
        }
    )+};
}

keys! { u8, u32; u16, u32; u32, u32; u64, u64; }

/// Which bits of a key are the digit.
#[derive(Clone, Copy)]
pub(super) struct Digit {
    shift: u32,
    mask: u32,
}

impl Digit {
    #[inline(always)]
    pub(super) fn new(shift: u32, bits: u32) -> Self {
        Self { shift, mask: (1 << (bits & 31)) - 1 }
    }

    #[inline(always)]
    pub(super) fn of<K: Key>(self, key: K) -> u32 {
        key.shifted(self.shift) & self.mask
    }
}

/// Bits `begin..end` of the keys' ranks are sorted by.
#[derive(Clone, Copy)]
pub(super) struct Range {
    pub(super) begin: u32,
    pub(super) end: u32,
}

impl Range {
    #[inline(always)]
    pub(super) fn digit(self, pass: u32) -> Digit {
        let shift = self.begin + pass * RADIX_BITS;
        Digit::new(shift, u32::min(self.end - shift, RADIX_BITS))
    }

    #[inline(always)]
    pub(super) fn passes(self) -> u32 {
        (self.end - self.begin).div_ceil(RADIX_BITS)
    }
}
