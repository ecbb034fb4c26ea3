//! Large allocations on the host that fail with an error instead of ending the process.
//!
//! Linux hands out more memory than it has, and later kills the process that touches it. So it is not enough to check
//! for a refused allocation. First call [`require`] for all the memory that a call needs, then take each buffer with
//! [`filled`].
//!
//! Fresh memory often costs more than the work on it: Linux maps it page by page at the first touch, and unmaps it page
//! by page. On 16 cores of a server, the first touch of 3.7 GB takes 2.6 s with one thread and 0.17 s with 16. With
//! pages of 2 MiB in place of 4 KiB, 16 threads take 0.10 s. Giving it back takes 0.12 s, and 0.013 s with large pages
//! (benches/peers/host_memory.cpp). So large buffers ask for large pages, and all threads touch them.

use crate::large_pages::prefer_large_pages;
use crate::{Error, Result, parallel};

/// Returns how many bytes the host can still allocate without swapping (Linux: `MemAvailable`); `None` if the system
/// does not say.
pub fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    mem_available(&text)
}

/// Checks that `asked` bytes are available, before a call allocates them piece by piece.
///
/// If the system does not say what is available, it checks nothing, and the allocation itself may fail.
///
/// # Errors
/// [`Error::HostMemory`] where fewer are available.
pub fn require(asked: u64) -> Result<()> {
    match available() {
        Some(available) if asked > available => Err(Error::HostMemory { asked, available }),
        _ => Ok(()),
    }
}

/// A vector of `len` copies of `value`, written on all cores.
///
/// # Errors
/// [`Error::HostMemory`] where the allocator refuses.
pub fn filled<T: Copy + Send + Sync>(value: T, len: usize) -> Result<Vec<T>> {
    collected(len, parallel::FINE, |_| value)
}

/// Returns the results of `work` for the numbers below `len`, in order: [`parallel::map`] in memory that may be refused.
///
/// # Errors
/// [`Error::HostMemory`] where the allocator refuses.
pub fn collected<T: Send>(
    len: usize,
    grain: usize,
    work: impl Fn(usize) -> T + Sync,
) -> Result<Vec<T>> {
    let mut vec = with_capacity(len)?;
    parallel::extend(&mut vec, len, grain, || (), |(), i| work(i));
    Ok(vec)
}

/// Returns a vector of zeros. The threads that fill it touch its memory first, so they pay for the system's page
/// faults.
///
/// # Errors
/// [`Error::HostMemory`] where the allocator refuses.
pub fn zeroed<T: bytemuck::Zeroable>(len: usize) -> Result<Vec<T>> {
    let vec = bytemuck::try_zeroed_vec(len).map_err(|()| refused::<T>(len))?;
    prefer_large_pages(&vec);
    Ok(vec)
}

/// Returns [`zeroed`] memory that all threads have touched already: for buffers that one thread fills.
///
/// # Errors
/// [`Error::HostMemory`] where the allocator refuses.
pub fn touched<T: bytemuck::Pod>(len: usize) -> Result<Vec<T>> {
    /// The system's smallest.
    const PAGE: usize = 4096;
    let mut vec = zeroed::<T>(len)?;
    if require(size_of_val(&vec[..]) as u64).is_err() {
        return Ok(vec);
    }
    parallel::for_chunks(bytemuck::cast_slice_mut::<T, u8>(&mut vec), PAGE, |_, page| {
        // What is there already: only the writing counts.
        page[0] = std::hint::black_box(0);
    });
    Ok(vec)
}

/// An empty vector with room for `len` elements.
///
/// # Errors
/// [`Error::HostMemory`] where the allocator refuses.
pub fn with_capacity<T>(len: usize) -> Result<Vec<T>> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(len).map_err(|_| refused::<T>(len))?;
    prefer_large_pages(&vec);
    Ok(vec)
}

/// The error of an allocation of `len` elements.
fn refused<T>(len: usize) -> Error {
    let asked = (len as u64).saturating_mul(size_of::<T>() as u64);
    Error::HostMemory { asked, available: available().unwrap_or(0) }
}

/// The `MemAvailable` line of `/proc/meminfo`, in bytes.
fn mem_available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::large_pages::LARGE;

    #[test]
    fn the_kernel_line_is_read() {
        let text = "MemTotal:       100 kB\nMemAvailable:    2048 kB\nBuffers: 1 kB\n";
        assert_eq!(mem_available(text), Some(2048 * 1024));
        assert_eq!(mem_available("MemTotal: 100 kB\n"), None);
        assert_eq!(mem_available("MemAvailable: many kB\n"), None);
    }

    #[test]
    fn too_much_is_an_error_that_names_the_amount() {
        let asked = 1u64 << 60;
        assert!(matches!(
            filled(0u8, asked as usize),
            Err(Error::HostMemory { asked: a, .. }) if a == asked
        ));
        if let Some(available) = available() {
            assert!(available > 0);
            assert!(matches!(require(asked), Err(Error::HostMemory { .. })));
        }
        assert_eq!(require(0), Ok(()));
        assert_eq!(filled(7u16, 3).unwrap(), [7, 7, 7]);
        assert_eq!(filled(7u16, 0).unwrap(), []);
        assert!(collected(asked as usize, 1, |i| i as u8).is_err());
        let words = collected(1000, 64, |i| i.to_string()).unwrap();
        assert!(words.into_iter().eq((0..1000).map(|i| i.to_string())));
    }

    #[test]
    fn large_buffers_hold_what_they_should() {
        let len = 3 * LARGE + 5;
        assert!(zeroed::<u8>(len).unwrap().iter().all(|&byte| byte == 0));
        assert_eq!(touched::<u16>(len).unwrap(), zeroed::<u16>(len).unwrap());
        assert_eq!(touched::<f64>(0).unwrap(), []);
        let filled = filled([1.5f32, -0.0], len / 8).unwrap();
        assert!(filled.iter().all(|pair| pair.map(f32::to_bits) == [0x3fc0_0000, 0x8000_0000]));
        assert_eq!(filled.len(), len / 8);
    }
}
