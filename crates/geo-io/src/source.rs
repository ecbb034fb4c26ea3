//! Reads bytes from any position of a file, on disk or on a web server.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
#[cfg(feature = "http")]
use std::sync::{Arc, OnceLock};

#[cfg(not(feature = "http"))]
use crate::Error;
use crate::Result;
#[cfg(feature = "http")]
use crate::http::Remote;
use crate::input::{is_url, open};

/// Bytes of a file. Clones for a file of this machine share one place to read from, as those of [`File`] do.
pub(crate) enum Source {
    File(File),
    /// A file on a web server, and the place to read from.
    #[cfg(feature = "http")]
    Remote(Arc<RemoteSource>, u64),
}

/// A file on a web server, and why a read of it failed, if one did: then later reads fail too, without a request.
#[cfg(feature = "http")]
pub(crate) struct RemoteSource {
    file: Remote,
    failure: OnceLock<String>,
}

#[cfg(feature = "http")]
impl RemoteSource {
    fn length(&self) -> u64 {
        self.file.version().0
    }

    fn read(&self, start: u64, length: u64) -> io::Result<Vec<u8>> {
        if let Some(reason) = self.failure.get() {
            return Err(io::Error::other(reason.clone()));
        }
        let read = self.file.read(start, length);
        if let Err(error) = &read {
            self.failure.get_or_init(|| error.to_string());
        }
        read
    }
}

impl Source {
    /// Opens a file of at least one byte, and returns its length too.
    ///
    /// # Errors
    /// The errors of the file or of its server; [`Error::NotBuilt`] for an address without the feature `http`.
    pub fn open(path: &Path) -> Result<(Self, u64)> {
        if !is_url(path) {
            return open(path).map(|(file, length)| (Self::File(file), length));
        }
        #[cfg(feature = "http")]
        return Remote::open(path).map(|file| {
            let remote = RemoteSource { file, failure: OnceLock::new() };
            let length = remote.length();
            (Self::Remote(Arc::new(remote), 0), length)
        });
        #[cfg(not(feature = "http"))]
        Err(Error::NotBuilt { path: path.to_owned(), feature: "http" })
    }

    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::File(file) => Self::File(file.try_clone()?),
            #[cfg(feature = "http")]
            Self::Remote(remote, at) => Self::Remote(Arc::clone(remote), *at),
        })
    }

    /// Whether reads are requests to a server.
    pub fn is_remote(&self) -> bool {
        !matches!(self, Self::File(_))
    }

    /// Reads `length` bytes from a position on, in one request unless some of them are cached. For a file on a server,
    /// it takes no more memory than the bytes that arrive. Several threads may read at once.
    ///
    /// # Errors
    /// The errors of reading. A file on this machine must have the bytes: the caller has checked its length.
    pub fn read_at(&self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        match self {
            Self::File(file) => {
                let mut bytes = vec![0; length as usize];
                read_exact_at(file, offset, &mut bytes)?;
                Ok(bytes)
            }
            #[cfg(feature = "http")]
            Self::Remote(remote, _) => remote.read(offset, length),
        }
    }

    /// Returns the error of a request that failed for good. A reader that tolerates damaged bytes must not tolerate
    /// missing ones.
    pub fn failure(&self) -> Option<io::Error> {
        match self {
            Self::File(_) => None,
            #[cfg(feature = "http")]
            Self::Remote(remote, _) => remote.failure.get().cloned().map(io::Error::other),
        }
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, offset: u64, out: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, out, offset)
}

/// By the place that all clones of the file share, so one thread at a time.
#[cfg(not(unix))]
fn read_exact_at(mut file: &File, offset: u64, out: &mut [u8]) -> io::Result<()> {
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _lock = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(out)
}

impl Read for Source {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(out),
            #[cfg(feature = "http")]
            Self::Remote(remote, at) => {
                let left = remote.length().saturating_sub(*at);
                let length = left.min(out.len() as u64);
                let bytes = remote.read(*at, length)?;
                out[..bytes.len()].copy_from_slice(&bytes);
                *at += length;
                Ok(bytes.len())
            }
        }
    }
}

impl Seek for Source {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file) => file.seek(to),
            #[cfg(feature = "http")]
            Self::Remote(remote, at) => {
                let place = match to {
                    SeekFrom::Start(place) => Some(place),
                    SeekFrom::End(by) => remote.length().checked_add_signed(by),
                    SeekFrom::Current(by) => at.checked_add_signed(by),
                };
                *at = place.ok_or(io::ErrorKind::InvalidInput)?;
                Ok(*at)
            }
        }
    }
}
