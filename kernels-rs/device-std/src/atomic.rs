//! Relaxed atomics on global memory.
//!
//! Integers only: a sum of floats would depend on the order in which threads come.

use core::sync::atomic::{AtomicI64, AtomicU32, Ordering::Relaxed};

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
