//! Large pages for large buffers of the host.

/// From this many bytes on a buffer is worth large pages.
pub(crate) const LARGE: usize = 8 << 20;

/// Asks the system to bring a large buffer's memory, which was not touched yet, in large pages: it may.
#[cfg(target_os = "linux")]
pub(crate) fn prefer_large_pages<T>(vec: &Vec<T>) {
    // What advice needs: the size of a page of memory on all of Linux's architectures is at most this.
    const PAGE: usize = 1 << 16;
    let bytes = vec.capacity().saturating_mul(size_of::<T>());
    if bytes < LARGE {
        return;
    }
    let start = vec.as_ptr().cast::<u8>();
    let skipped = start.align_offset(PAGE);
    let whole = (bytes - skipped) / PAGE * PAGE;
    let from = start.wrapping_add(skipped).cast_mut().cast();
    // SAFETY: the range is part of the vector's allocation, and the advice changes neither what lies there nor what
    // may be done with it. Where it is refused nothing is lost.
    unsafe { libc::madvise(from, whole, libc::MADV_HUGEPAGE) };
}

/// Elsewhere the system decides by itself.
#[cfg(not(target_os = "linux"))]
pub(crate) fn prefer_large_pages<T>(_: &Vec<T>) {}
