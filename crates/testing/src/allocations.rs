//! How much memory a call takes.
//!
//! A test binary installs the counting allocator to measure. The allocator counts for all threads, so the measured call
//! must run alone: [`peak`] lets one thread in at a time, and the binary has no other tests.
//!
//! ```
//! use testing::allocations::{Counting, peak};
//!
//! #[global_allocator]
//! static COUNTING: Counting = Counting;
//!
//! let (bytes, most) = peak(|| vec![7_u8; 1 << 20]);
//! assert!(bytes.len() == 1 << 20 && (1 << 20..2 << 20).contains(&most));
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The system's allocator, which counts what is asked of it.
#[derive(Debug)]
pub struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn taken(bytes: usize) {
    let now = NOW.fetch_add(bytes, Ordering::Relaxed) + bytes;
    MOST.fetch_max(now, Ordering::Relaxed);
}

fn given(bytes: usize) {
    NOW.fetch_sub(bytes, Ordering::Relaxed);
}

// SAFETY: all calls go to the system's allocator as they come.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: as the caller has promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: as the caller has promised.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        given(layout.size());
        // SAFETY: as the caller has promised.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both may be there while one is copied.
        taken(size);
        given(layout.size());
        // SAFETY: as the caller has promised.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// Returns what `work` returns, and the most bytes that were allocated during it beyond those at its beginning, whether they
/// were granted and touched or not.
pub fn peak<R>(work: impl FnOnce() -> R) -> (R, usize) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let result = work();
    (result, MOST.load(Ordering::Relaxed).saturating_sub(before))
}
