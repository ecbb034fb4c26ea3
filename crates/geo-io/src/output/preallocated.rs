//! Reserves space for an array in a file before the array exists, and writes large arrays with many threads.
//!
//! A file system lets only one thread at a time extend a file, and spends most of that time on pages for its cache. But
//! the size of an array is often known long before its values. So there are three steps:
//!
//! 1. [`Preallocated::begin`] makes the temporary file and writes the bytes before the array.
//! 2. [`Preallocated::fill_ahead`] reserves space on the disk while other work goes on, so that a full disk is an early
//!    error. Then a separate thread begins to write zeros, which brings the pages into memory.
//! 3. [`Preallocated::write`] stops that thread. All threads copy the array into the pages that exist, through
//!    mappings, which have no lock; a few threads write the rest in the usual way.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crate::output::replaced::LARGE;
use crate::output::{Output, Pending};
use crate::{Error, Result};

#[cfg(unix)]
mod parts;

/// How much of an array's file was ready when the array came.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prefilled {
    /// Bytes whose pages were there.
    pub bytes: u64,
    /// How long it took to bring these pages into memory, beside other work.
    pub seconds: f64,
}

/// A file that an array of known size will end.
pub(crate) struct Preallocated {
    // In this order: the thread ends before the file is removed.
    filling: Option<Filling>,
    pending: Pending,
    /// Where the array begins.
    start: u64,
    bytes: u64,
    is_taken: bool,
}

impl Preallocated {
    /// Begins the file with the bytes before the array.
    pub fn begin(output: Output<'_>, head: &[u8], bytes: u64) -> Result<Self> {
        let pending = Pending::begin(output)?;
        pending.file().write_all(head).map_err(|e| Error::write(output.path, e))?;
        let start = head.len() as u64;
        Ok(Self { filling: None, pending, start, bytes, is_taken: false })
    }

    /// Reserves the array's space on the disk, and begins to bring its pages into memory, if that is worthwhile.
    pub fn fill_ahead(&mut self) -> Result<()> {
        if self.bytes < LARGE as u64 {
            return Ok(());
        }
        self.take()?;
        #[cfg(target_os = "linux")]
        if self.is_taken && parts::overwrites_in_place(self.pending.file()) {
            let file = self.pending.file().try_clone().map_err(|e| self.failed(e))?;
            let (start, bytes) = (self.start, self.bytes.min(parts::most_ahead()));
            self.filling = Filling::begin(move |stop| parts::fill(&file, start, bytes, stop));
        }
        Ok(())
    }

    /// Writes the array and gives the file its name.
    pub fn write(mut self, array: &[u8]) -> Result<Prefilled> {
        let ahead = self.filling.take().and_then(Filling::end).unwrap_or_default();
        self.put(array, ahead.bytes)?;
        self.pending.finish()?;
        Ok(ahead)
    }

    #[cfg(unix)]
    fn put(&mut self, array: &[u8], there: u64) -> Result<()> {
        if array.len() < LARGE {
            return self.pending.file().write_all(array).map_err(|e| self.failed(e));
        }
        self.take()?;
        parts::put(self.pending.file(), self.start, array, there as usize)
            .map_err(|e| self.failed(e))
    }

    #[cfg(not(unix))]
    fn put(&mut self, array: &[u8], _: u64) -> Result<()> {
        self.pending.file().write_all(array).map_err(|e| self.failed(e))
    }

    /// Takes the room on the disk, once, where that can be done.
    fn take(&mut self) -> Result<()> {
        #[cfg(target_os = "linux")]
        if !self.is_taken {
            let taken = parts::take(self.pending.file(), self.start, self.bytes);
            self.is_taken = taken.map_err(|e| self.failed(e))?;
        }
        Ok(())
    }

    fn failed(&self, error: std::io::Error) -> Error {
        Error::write(self.path(), error)
    }

    fn path(&self) -> &Path {
        self.pending.path()
    }
}

/// A thread that brings pages; dropped, it is told to stop and waited for.
struct Filling {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Prefilled>>,
}

impl Filling {
    /// Begins it; none where the system has no more threads, since nothing depends on it.
    fn begin(fill: impl FnOnce(&AtomicBool) -> Prefilled + Send + 'static) -> Option<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = std::thread::Builder::new().spawn(move || fill(&told)).ok()?;
        Some(Self { stop, thread: Some(thread) })
    }

    /// Stops it, and says what is there.
    fn end(mut self) -> Option<Prefilled> {
        self.join()
    }

    fn join(&mut self) -> Option<Prefilled> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take()?.join().ok()
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        self.join();
    }
}
