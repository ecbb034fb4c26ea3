//! The least of many keys, in registers.

use device_std::warp;

/// The `L` least keys that were offered, in order. A key is the bits of an f32 that is not negative, the
/// lowest of them replaced by the number of what it belongs to.
pub struct Keys<const L: usize>([u32; L]);

/// What no key of a finite number reaches.
pub const ENDLESS: u32 = f32::INFINITY.to_bits();

impl<const L: usize> Keys<L> {
    /// None yet.
    pub const NONE: Self = Self([u32::MAX; L]);

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
        // Each moves up where the key comes before the one below it: two instructions, none of which waits
        // for another's.
        let mut i = L - 1;
        while i > 0 {
            self.0[i] = u32::max(self.0[i - 1], u32::min(self.0[i], key));
            i -= 1;
        }
        self.0[0] = u32::min(self.0[0], key);
    }

    /// Key `i`, which is a constant: they are registers.
    #[inline(always)]
    pub fn get(&self, i: usize) -> u32 {
        self.0[i]
    }

    /// The greatest: whatever was offered and is not here has none below it.
    #[inline(always)]
    pub fn last(&self) -> u32 {
        self.0[L - 1]
    }
}
