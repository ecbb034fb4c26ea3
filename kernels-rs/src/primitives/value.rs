//! Values that move along with keys.

use device_std::global;
use device_std::shared::Plain;

/// A value that moves along with a key: 4 or 8 bytes, or nothing if keys are sorted or merged alone.
pub trait Value: Plain {
    /// Whether there is anything to move.
    const IS_THERE: bool;
    /// The index of a key, as its value.
    fn of_index(index: u64) -> Self;
    /// Stores it at an address in global memory.
    ///
    /// # Safety
    /// As for [`global::store`].
    unsafe fn store_at(self, address: u64);
    /// Loads one from an address in global memory.
    ///
    /// # Safety
    /// As for [`global::load`].
    unsafe fn load_at(address: u64) -> Self;
}

impl Value for () {
    const IS_THERE: bool = false;
    #[inline(always)]
    fn of_index(_: u64) -> Self {}
    #[inline(always)]
    unsafe fn store_at(self, _: u64) {}
    #[inline(always)]
    unsafe fn load_at(_: u64) -> Self {}
}

macro_rules! values {
    ($($type:ty)+) => {$(
        impl Value for $type {
            const IS_THERE: bool = true;
            #[inline(always)]
            fn of_index(index: u64) -> Self {
                index as Self
            }
            #[inline(always)]
            unsafe fn store_at(self, address: u64) {
                // SAFETY: the address is that of an element in global memory, by the caller's promise.
                unsafe { global::store(address, self) }
            }
            #[inline(always)]
            unsafe fn load_at(address: u64) -> Self {
                // SAFETY: the address is that of an element in global memory, by the caller's promise.
                unsafe { global::load(address) }
            }
        }
    )+};
}

values! { u32 u64 }
