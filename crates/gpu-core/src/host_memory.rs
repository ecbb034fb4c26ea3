//! Large allocations on the host that fail with an error instead of ending the process.
//!
//! Linux hands out more memory than it has and kills the process that later touches it, so a
//! refused allocation is not enough to go by: ask [`require`] for the whole of a call's need
//! first, then take each buffer with [`filled`].

use crate::{Error, Result};

/// Bytes that the host can still give without swapping (Linux: `MemAvailable`), or `None` where
/// the system does not say.
pub fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    mem_available(&text)
}

/// Checks that `asked` bytes are there before a call takes them piece by piece.
///
/// Where the system does not say what is available nothing is checked: the allocation itself
/// will tell.
///
/// # Errors
/// [`Error::HostMemory`] where fewer are available.
pub fn require(asked: u64) -> Result<()> {
    match available() {
        Some(available) if asked > available => Err(Error::HostMemory { asked, available }),
        _ => Ok(()),
    }
}

/// A vector of `len` copies of `value`.
///
/// # Errors
/// [`Error::HostMemory`] where the allocator refuses.
pub fn filled<T: Clone>(value: T, len: usize) -> Result<Vec<T>> {
    let mut vec = with_capacity(len)?;
    vec.resize(len, value);
    Ok(vec)
}

/// A vector of zeros, whose memory the system brings where it is first touched: by the threads that fill it.
///
/// # Errors
/// [`Error::HostMemory`] where the allocator refuses.
#[cfg(feature = "cuda")]
pub fn zeroed<T: bytemuck::Zeroable>(len: usize) -> Result<Vec<T>> {
    bytemuck::try_zeroed_vec(len).map_err(|()| refused::<T>(len))
}

/// An empty vector with room for `len` elements.
///
/// # Errors
/// [`Error::HostMemory`] where the allocator refuses.
pub fn with_capacity<T>(len: usize) -> Result<Vec<T>> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(len).map_err(|_| refused::<T>(len))?;
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
    }
}
