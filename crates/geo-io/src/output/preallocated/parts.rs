//! Writes a large array into a file with several threads.

use std::fs::File;
use std::io::{Error, Result};
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use gpu_core::parallel;

/// Threads that write one file: more wait for each other, since a file system lets one at a time add to a file.
const WRITERS: usize = 4;

/// Bytes that a thread maps at a time: few enough that what is mapped does not count beside the array.
#[cfg(target_os = "linux")]
const WINDOW: usize = 4 << 20;

/// Writes an array into a file from `start` on. The first `there` bytes of the array's place already have pages.
pub fn put(file: &File, start: u64, array: &[u8], there: usize) -> Result<()> {
    let (there, rest) = array.split_at(there.min(array.len()));
    let failed = Failed::default();
    let behind = start + there.len() as u64;
    let of_part = rest.len().div_ceil(WRITERS).max(1);
    parallel::join(
        || {
            #[cfg(target_os = "linux")]
            in_parts(there, WINDOW, &|at, part| failed.note(overwrite(file, start + at, part)));
            #[cfg(not(target_os = "linux"))]
            failed.note(file.write_all_at(there, start));
        },
        || in_parts(rest, of_part, &|at, part| failed.note(file.write_all_at(part, behind + at))),
    );
    failed.first()
}

/// Calls `work` with parts of this many bytes, and where they begin, on several threads.
fn in_parts(bytes: &[u8], of_part: usize, work: &(dyn Fn(u64, &[u8]) + Sync)) {
    parallel::for_ranges(bytes.len().div_ceil(of_part), 1, &|parts| {
        for part in parts {
            let first = part * of_part;
            work(first as u64, &bytes[first..bytes.len().min(first + of_part)]);
        }
    });
}

/// The first error of several tasks.
#[derive(Default)]
struct Failed(Mutex<Option<Error>>);

impl Failed {
    fn note(&self, done: Result<()>) {
        if let Err(error) = done {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }

    fn first(self) -> Result<()> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

/// Writes zeros from `start` on, until told to stop. If this fails, writing the array fails too and returns the error.
#[cfg(target_os = "linux")]
pub fn fill(
    file: &File,
    start: u64,
    bytes: u64,
    stop: &std::sync::atomic::AtomicBool,
) -> crate::Prefilled {
    use std::sync::atomic::Ordering;
    use std::time::Instant;

    // As much as stays in a core's own cache.
    let zeros = vec![0; 1 << 20];
    let (begin, mut done) = (Instant::now(), 0);
    while done < bytes && !stop.load(Ordering::Relaxed) {
        let count = (bytes - done).min(zeros.len() as u64);
        if file.write_all_at(&zeros[..count as usize], start + done).is_err() {
            break;
        }
        done += count;
    }
    crate::Prefilled { bytes: done, seconds: begin.elapsed().as_secs_f64() }
}

/// Overwrites bytes that have pages and room on the disk.
///
/// Writing through a mapping needs no lock of the file's, so threads do not wait for each other. Where a mapping fails
/// (a file system without mappings, or a system that cannot bring the pages first), the bytes are written instead.
#[cfg(target_os = "linux")]
fn overwrite(file: &File, at: u64, bytes: &[u8]) -> Result<()> {
    use memmap2::{Advice, MmapOptions};

    // SAFETY: this process made the file under a name that nobody was told, so nobody cuts it short. This process
    // writes the file; it neither reads it nor maps the same bytes elsewhere meanwhile. The bytes are within the file,
    // since zeros were written there. Their room was taken on a disk which overwrites in place, so none of them can be
    // refused.
    let mapped = unsafe { MmapOptions::new().offset(at).len(bytes.len()).map_mut(file) };
    if let Ok(mut mapped) = mapped
        // All pages at once; and where one cannot be had that is an error here, and no signal below.
        && mapped.advise(Advice::PopulateWrite).is_ok()
    {
        mapped.copy_from_slice(bytes);
        return Ok(());
    }
    file.write_all_at(bytes, at)
}

/// Reserves space on the disk, and returns whether the file system supports this.
///
/// # Errors
/// The disk, or a limit of the user, does not have as much space.
#[cfg(target_os = "linux")]
pub fn take(file: &File, start: u64, bytes: u64) -> Result<bool> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;

    match fallocate(file, FallocateFlags::empty(), start, bytes) {
        Ok(()) => Ok(true),
        Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => Err(error.into()),
        // What cannot be had before comes with the writing.
        Err(_) => Ok(false),
    }
}

/// Whether a file lies on a disk of this machine, on a file system that overwrites bytes in place. On other file
/// systems, zeros would go through a network for nothing, or would take space a second time.
#[cfg(target_os = "linux")]
pub fn overwrites_in_place(file: &File) -> bool {
    /// ext2 to ext4, XFS, and the layers of containers, which nearly always lie on one of them.
    const KNOWN: [u32; 3] = [0xef53, 0x5846_5342, 0x794c_7630];
    rustix::fs::fstatfs(file).is_ok_and(|about| KNOWN.contains(&(about.f_type as u32)))
}

/// The most bytes that are filled ahead. The system begins to write to the disk when a tenth of its memory is
/// unwritten; zeros should stay below that.
#[cfg(target_os = "linux")]
pub fn most_ahead() -> u64 {
    gpu_core::host_memory::available().map_or(0, |available| available / 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_gets_to_its_place_wherever_pages_are() {
        let bytes: Vec<u8> = (0..(9 << 20) + 12_345).map(|i| ((i * 31) >> 7) as u8).collect();
        let len = bytes.len();
        for there in [0, 1, 4095, (4 << 20) - 3, (4 << 20) + 1, len - 1, len, usize::MAX] {
            let file = tempfile::tempfile().unwrap();
            file.write_all_at(b"head", 0).unwrap();
            file.write_all_at(&vec![0; there.min(len)], 4).unwrap();
            put(&file, 4, &bytes, there).unwrap();
            let mut written = vec![0; 4 + len];
            file.read_exact_at(&mut written, 0).unwrap();
            assert_eq!(file.metadata().unwrap().len(), 4 + len as u64);
            assert!(written[..4] == *b"head" && written[4..] == bytes, "{there} bytes were there");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_cannot_be_written_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().write_all_at(&[0; 8], 0).unwrap();
        let reading = File::open(file.path()).unwrap();
        for there in [0, 8] {
            assert!(put(&reading, 0, &[1; 8], there).is_err());
        }
        assert!(take(file.as_file(), 0, 1 << 62).is_err());
    }
}
