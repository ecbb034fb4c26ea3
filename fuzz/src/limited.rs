//! An allocator that ends the process where a target takes more memory than any of its inputs can need.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that may be taken at the same time. Inputs have 64 KiB at most, and the densest codec makes a thousand bytes
/// of one.
pub const LIMIT: usize = 256 << 20;

/// The system's allocator with a count of live bytes.
struct Limited;

static LIVE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator with the arguments that came.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        take(size);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Counts bytes that are taken.
fn take(bytes: usize) {
    let before = LIVE.fetch_add(bytes, Ordering::Relaxed);
    if before.saturating_add(bytes) > LIMIT {
        // A panic would allocate.
        LIVE.store(0, Ordering::Relaxed);
        eprintln!("an input takes {bytes} bytes beside {before}: more than {LIMIT}");
        std::process::abort();
    }
}

#[global_allocator]
static ALLOCATOR: Limited = Limited;
