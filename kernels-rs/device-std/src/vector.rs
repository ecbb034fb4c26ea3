//! Loads and stores of 16 bytes by one thread: the widest, which keep the most in flight.

/// 16 bytes in registers.
pub type Vector = [u32; 4];

/// Bytes of a [`Vector`].
pub const BYTES: usize = 16;

/// Whether an address can be read and written by vectors.
#[inline(always)]
pub fn is_aligned<T>(p: *const T) -> bool {
    (p as usize).is_multiple_of(BYTES)
}

/// Reads 16 bytes of global memory that nobody writes meanwhile.
///
/// # Safety
/// `p` is valid for 16 bytes and aligned to 16.
#[inline(always)]
pub unsafe fn load(p: *const u8) -> Vector {
    #[cfg(target_arch = "nvptx64")]
    {
        let (a, b, c, d): (u32, u32, u32, u32);
        // SAFETY: passed on to the caller.
        unsafe {
            core::arch::asm!(
                "ld.global.v4.b32 {{{0}, {1}, {2}, {3}}}, [{4}];",
                out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg64) p,
                options(readonly, nostack),
            );
        }
        [a, b, c, d]
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        // SAFETY: passed on to the caller.
        unsafe { p.cast::<Vector>().read_unaligned() }
    }
}

/// Loads data that nobody writes while the kernel runs, like [`load`]. The load may take the read-only path of the
/// cache, as `__ldg` does in CUDA C++.
///
/// # Safety
/// As [`load`], for as long as the kernel runs.
#[inline(always)]
pub unsafe fn load_read_only(p: *const u8) -> Vector {
    #[cfg(target_arch = "nvptx64")]
    {
        let (a, b, c, d): (u32, u32, u32, u32);
        // SAFETY: passed on to the caller.
        unsafe {
            core::arch::asm!(
                "ld.global.nc.v4.b32 {{{0}, {1}, {2}, {3}}}, [{4}];",
                out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg64) p,
                options(pure, readonly, nostack),
            );
        }
        [a, b, c, d]
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        // SAFETY: passed on to the caller.
        unsafe { load(p) }
    }
}

/// Writes 16 bytes of global memory.
///
/// # Safety
/// `p` is valid for 16 bytes and aligned to 16, and no other thread touches them meanwhile.
#[inline(always)]
pub unsafe fn store(p: *mut u8, [a, b, c, d]: Vector) {
    #[cfg(target_arch = "nvptx64")]
    {
        // SAFETY: passed on to the caller.
        unsafe {
            core::arch::asm!(
                "st.global.v4.b32 [{0}], {{{1}, {2}, {3}, {4}}};",
                in(reg64) p, in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d,
                options(nostack),
            );
        }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        // SAFETY: passed on to the caller.
        unsafe { p.cast::<Vector>().write_unaligned([a, b, c, d]) }
    }
}

/// Returns the same number, hidden from the compiler: a loop with this bound is not unrolled.
#[inline(always)]
pub fn unknown(number: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let same: u32;
        // SAFETY: copies a register.
        unsafe {
            core::arch::asm!(
                "mov.u32 {0}, {1};", out(reg32) same, in(reg32) number,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        same
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        number
    }
}

/// [`unknown`] for 64 bits.
#[inline(always)]
pub fn unknown_64(number: u64) -> u64 {
    unknown(number as u32) as u64 | (unknown((number >> 32) as u32) as u64) << 32
}
