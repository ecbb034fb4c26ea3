//! Relaxed atomics on global memory, and the fence that orders them.
//!
//! Integers only: a sum of floats would depend on the order of the threads.

use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Adds to `*p`; returns what was there before.
///
/// # Safety
/// `p` is a valid, aligned address in global memory, touched by atomics alone meanwhile.
#[inline(always)]
pub unsafe fn add_u32(p: *mut u32, value: u32) -> u32 {
    // SAFETY: passed on to the caller.
    unsafe { AtomicU32::from_ptr(p) }.fetch_add(value, Relaxed)
}

/// Adds to `*p`; returns what was there before.
///
/// # Safety
/// As [`add_u32`].
#[inline(always)]
pub unsafe fn add_u64(p: *mut u64, value: u64) -> u64 {
    // SAFETY: passed on to the caller.
    unsafe { AtomicU64::from_ptr(p) }.fetch_add(value, Relaxed)
}

/// Sets bits of `*p`; returns what was there before.
///
/// # Safety
/// As [`add_u32`].
#[inline(always)]
pub unsafe fn or_u32(p: *mut u32, bits: u32) -> u32 {
    // SAFETY: passed on to the caller.
    unsafe { AtomicU32::from_ptr(p) }.fetch_or(bits, Relaxed)
}

/// Lowers `*p` to `value` if that is less; returns what was there before.
///
/// # Safety
/// As [`add_u32`].
#[inline(always)]
pub unsafe fn min_u32(p: *mut u32, value: u32) -> u32 {
    // SAFETY: passed on to the caller.
    unsafe { AtomicU32::from_ptr(p) }.fetch_min(value, Relaxed)
}

/// Reads `*p`, which other blocks may be writing by [`store_u32`] or an atomic.
///
/// # Safety
/// As [`add_u32`].
#[inline(always)]
pub unsafe fn load_u32(p: *const u32) -> u32 {
    // SAFETY: passed on to the caller.
    unsafe { AtomicU32::from_ptr(p.cast_mut()) }.load(Relaxed)
}

/// Writes `*p`, which other blocks may be reading by [`load_u32`] or an atomic.
///
/// # Safety
/// As [`add_u32`].
#[inline(always)]
pub unsafe fn store_u32(p: *mut u32, value: u32) {
    // SAFETY: passed on to the caller.
    unsafe { AtomicU32::from_ptr(p) }.store(value, Relaxed)
}

/// Reads `*p`, which other blocks may be writing by [`store_u64`] or an atomic.
///
/// # Safety
/// As [`add_u32`].
#[inline(always)]
pub unsafe fn load_u64(p: *const u64) -> u64 {
    // SAFETY: passed on to the caller.
    unsafe { AtomicU64::from_ptr(p.cast_mut()) }.load(Relaxed)
}

/// Writes `*p`, which other blocks may be reading by [`load_u64`] or an atomic.
///
/// # Safety
/// As [`add_u32`].
#[inline(always)]
pub unsafe fn store_u64(p: *mut u64, value: u64) {
    // SAFETY: passed on to the caller.
    unsafe { AtomicU64::from_ptr(p) }.store(value, Relaxed)
}

/// Orders this thread's writes to global memory: a thread that sees a write from after the fence also sees every write
/// from before it.
#[inline(always)]
pub fn fence() {
    device::fence();
}

/// Two words that are read and written as one.
pub type Pair = [u64; 2];

/// Reads `*p` whole: both words are of the same [`store_pair`].
///
/// # Safety
/// `p` is a valid address in global memory, aligned to 16 bytes. Meanwhile only `load_pair` and `store_pair` touch it.
#[inline(always)]
pub unsafe fn load_pair(p: *const Pair) -> Pair {
    // SAFETY: passed on to the caller.
    unsafe { device::load_pair(p) }
}

/// Writes `*p` whole.
///
/// # Safety
/// As [`load_pair`].
#[inline(always)]
pub unsafe fn store_pair(p: *mut Pair, value: Pair) {
    // SAFETY: passed on to the caller.
    unsafe { device::store_pair(p, value) }
}

#[cfg(target_arch = "nvptx64")]
mod device {
    use super::Pair;

    unsafe extern "C" {
        #[link_name = "llvm.nvvm.membar.gl"]
        fn membar();
    }

    #[inline(always)]
    pub fn fence() {
        // SAFETY: a fence has no precondition.
        unsafe { membar() }
    }

    // A naturally aligned access of 16 bytes by one thread is a single transaction on every GPU
    // from compute capability 7.0 on.
    //
    // SAFETY (both): the caller's address is valid.
    #[inline(always)]
    pub unsafe fn load_pair(p: *const Pair) -> Pair {
        let (low, high): (u64, u64);
        unsafe {
            core::arch::asm!(
                "ld.relaxed.gpu.global.v2.b64 {{{0}, {1}}}, [{2}];",
                out(reg64) low, out(reg64) high, in(reg64) p, options(nostack),
            );
        }
        [low, high]
    }
    #[inline(always)]
    pub unsafe fn store_pair(p: *mut Pair, [low, high]: Pair) {
        unsafe {
            core::arch::asm!(
                "st.relaxed.gpu.global.v2.b64 [{0}], {{{1}, {2}}};",
                in(reg64) p, in(reg64) low, in(reg64) high, options(nostack),
            );
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod device {
    use super::Pair;
    use std::sync::Mutex;
    use std::sync::atomic::{Ordering, fence as host_fence};

    pub fn fence() {
        host_fence(Ordering::SeqCst);
    }

    /// One lock for all pairs: no thread of a kernel waits while it holds it.
    static LOCK: Mutex<()> = Mutex::new(());

    fn locked<R>(access: impl FnOnce() -> R) -> R {
        let _guard = LOCK.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        access()
    }
    pub unsafe fn load_pair(p: *const Pair) -> Pair {
        // SAFETY: the caller's address is valid, and the lock keeps writers out.
        locked(|| unsafe { p.read() })
    }
    pub unsafe fn store_pair(p: *mut Pair, value: Pair) {
        // SAFETY: the caller's address is valid, and the lock keeps others out.
        locked(|| unsafe { p.write(value) })
    }
}

/// Adds to `*p`; returns what was there before.
///
/// # Safety
/// As [`add_u32`].
#[inline(always)]
pub unsafe fn add_i64(p: *mut i64, value: i64) -> i64 {
    // SAFETY: passed on to the caller.
    unsafe { AtomicI64::from_ptr(p) }.fetch_add(value, Relaxed)
}

/// Lowers `*p` to `value` if that is less; returns what was there before.
///
/// # Safety
/// As [`add_u32`].
#[inline(always)]
pub unsafe fn min_i64(p: *mut i64, value: i64) -> i64 {
    // SAFETY: passed on to the caller.
    unsafe { AtomicI64::from_ptr(p) }.fetch_min(value, Relaxed)
}

/// Raises `*p` to `value` if that is more; returns what was there before.
///
/// # Safety
/// As [`add_u32`].
#[inline(always)]
pub unsafe fn max_i64(p: *mut i64, value: i64) -> i64 {
    // SAFETY: passed on to the caller.
    unsafe { AtomicI64::from_ptr(p) }.fetch_max(value, Relaxed)
}
