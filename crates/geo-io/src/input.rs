//! Opens inputs: files, and the temporary files in which [`stream`] keeps pipes.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::{Error, Result, stream};

/// Opens an input of at least one byte, and returns its length too. Checks the kind of file first, since opening a pipe
/// may wait for ever. For an input that can be read once, opens the copy of what came.
pub(crate) fn open(path: &Path) -> Result<(File, u64)> {
    let failed = |e| Error::read(path, e);
    let file = if path.as_os_str() == "-" || stream::is_stream(path) {
        stream::open(path)?
    } else if std::fs::metadata(path).map_err(failed)?.is_dir() {
        return Err(failed(std::io::ErrorKind::IsADirectory.into()));
    } else {
        File::open(path).map_err(failed)?
    };
    match file.metadata().map_err(failed)?.len() {
        0 => Err(Error::Empty { path: path.to_owned() }),
        length => Ok((file, length)),
    }
}

/// Requests a file whose path is an address, and returns its length and a number that another version hardly has;
/// `None` for any other path.
///
/// # Errors
/// The server's error; [`Error::NotBuilt`] without the feature `http`.
pub fn remote_version(path: &Path) -> Result<Option<(u64, u64)>> {
    if !is_url(path) {
        return Ok(None);
    }
    #[cfg(feature = "http")]
    return Ok(Some(crate::http::Remote::open(path)?.version()));
    #[cfg(not(feature = "http"))]
    Err(Error::NotBuilt { path: path.to_owned(), feature: "http" })
}

/// Whether a path is the address of a file on a web server: it begins with `https://` or `http://`.
pub fn is_url(path: &Path) -> bool {
    let text = path.as_os_str().as_encoded_bytes();
    text.starts_with(b"https://") || text.starts_with(b"http://")
}

impl Error {
    /// The error of an input whose ending means no format that a call takes. A file that is missing is called missing,
    /// whatever its name.
    pub(crate) fn unknown_ending(path: &Path, known: &'static str) -> Self {
        match std::fs::metadata(path) {
            Err(reason) if reason.kind() == io::ErrorKind::NotFound && !is_url(path) => {
                Self::read(path, reason)
            }
            _ => Self::UnknownEnding { path: path.to_owned(), known },
        }
    }
}

/// Whether a file that has no ending begins as LAS and LAZ do.
pub(crate) fn is_las(path: &Path) -> Result<bool> {
    const SIGNATURE: &[u8] = b"LASF";
    if path.as_os_str() == "-" {
        // Who reads standard input after this gets what was looked at.
        let mut stdin = io::stdin().lock();
        let start = io::BufRead::fill_buf(&mut stdin).map_err(|e| Error::read(path, e))?;
        return Ok(start.starts_with(SIGNATURE));
    }
    let file = if stream::is_stream(path) { stream::open(path)? } else { open(path)?.0 };
    let mut start = Vec::new();
    file.take(4).read_to_end(&mut start).map_err(|e| Error::read(path, e))?;
    Ok(start == SIGNATURE)
}
