//! Global memory by address.

use crate::scalar::Scalar;

/// Stores 1 to 8 bytes to an address that was computed as a number.
///
/// A pointer made from a number may point anywhere, and a store through it is one instruction for
/// any kind of memory; this is one for global memory.
///
/// # Safety
/// The address is aligned and valid, and no other thread touches the element meanwhile.
#[inline(always)]
pub unsafe fn store<T: Scalar>(address: u64, value: T) {
    // SAFETY: passed on to the caller.
    unsafe { device::store(address, value) }
}

/// Loads 1 to 8 bytes from an address that was computed as a number, as [`store`] stores them.
///
/// # Safety
/// The address is aligned and valid, and no other thread writes the element meanwhile.
#[inline(always)]
pub unsafe fn load<T: Scalar>(address: u64) -> T {
    // SAFETY: passed on to the caller.
    unsafe { device::load(address) }
}

#[cfg(target_arch = "nvptx64")]
mod device {
    use crate::scalar::Scalar;

    #[inline(always)]
    pub unsafe fn load<T: Scalar>(address: u64) -> T {
        let (word, long): (u32, u64);
        unsafe {
            match size_of::<T>() {
                1 => core::arch::asm!(
                    "ld.global.u8 {1}, [{0}];",
                    in(reg64) address, out(reg32) word, options(readonly, nostack),
                ),
                2 => core::arch::asm!(
                    "ld.global.u16 {1}, [{0}];",
                    in(reg64) address, out(reg32) word, options(readonly, nostack),
                ),
                4 => core::arch::asm!(
                    "ld.global.u32 {1}, [{0}];",
                    in(reg64) address, out(reg32) word, options(readonly, nostack),
                ),
                _ => {
                    core::arch::asm!(
                        "ld.global.u64 {1}, [{0}];",
                        in(reg64) address, out(reg64) long, options(readonly, nostack),
                    );
                    return T::from_bits64(long);
                }
            }
        }
        T::from_bits64(word as u64)
    }

    #[inline(always)]
    pub unsafe fn store<T: Scalar>(address: u64, value: T) {
        let bits = value.to_bits64();
        unsafe {
            match size_of::<T>() {
                1 => core::arch::asm!(
                    "st.global.u8 [{0}], {1};",
                    in(reg64) address, in(reg32) bits as u32, options(nostack),
                ),
                2 => core::arch::asm!(
                    "st.global.u16 [{0}], {1};",
                    in(reg64) address, in(reg32) bits as u32, options(nostack),
                ),
                4 => core::arch::asm!(
                    "st.global.u32 [{0}], {1};",
                    in(reg64) address, in(reg32) bits as u32, options(nostack),
                ),
                _ => core::arch::asm!(
                    "st.global.u64 [{0}], {1};",
                    in(reg64) address, in(reg64) bits, options(nostack),
                ),
            }
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod device {
    use crate::scalar::Scalar;

    pub unsafe fn load<T: Scalar>(address: u64) -> T {
        // SAFETY: passed on to the caller.
        unsafe { (address as usize as *const T).read() }
    }
    pub unsafe fn store<T: Scalar>(address: u64, value: T) {
        // SAFETY: passed on to the caller.
        unsafe { (address as usize as *mut T).write(value) }
    }
}
