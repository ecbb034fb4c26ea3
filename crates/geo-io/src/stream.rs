//! Inputs that a program can read only once, from beginning to end: named pipes, standard input, `<(..)` of a shell.
//! Readers seek, and some read a header first. So the bytes of a pipe go to a temporary file, which replaces the pipe
//! until its points are read.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gpu_core::host_memory;

use crate::{Error, Result};

/// How long a pipe is waited for to which nobody writes.
const PATIENCE: Duration = Duration::from_secs(10);

/// The files that hold what came through pipes, by the pipes' names.
static KEPT: Mutex<Option<HashMap<PathBuf, File>>> = Mutex::new(None);

fn kept() -> MutexGuard<'static, Option<HashMap<PathBuf, File>>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a path names something that can be read once.
pub(crate) fn is_stream(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir())
}

/// Opens what comes through a pipe, or through standard input for `-`, as a file at its beginning.
pub(crate) fn open(path: &Path) -> Result<File> {
    let failed = |e| Error::read(path, e);
    let known = kept().as_ref().and_then(|files| files.get(path)?.try_clone().ok());
    let mut file = match known {
        Some(file) => file,
        None => {
            let mut file = tempfile::tempfile().map_err(failed)?;
            match path.as_os_str() == "-" {
                true => io::copy(&mut io::stdin().lock(), &mut file),
                false => copy(path, &mut file, PATIENCE),
            }
            .map_err(failed)?;
            let same = file.try_clone().map_err(failed)?;
            kept().get_or_insert_default().insert(path.to_owned(), same);
            file
        }
    };
    file.rewind().map_err(failed)?;
    Ok(file)
}

/// All bytes that come through a pipe.
pub(crate) fn bytes_of(path: &Path) -> Result<Vec<u8>> {
    let failed = |e| Error::read(path, e);
    let mut file = open(path)?;
    let length = file.metadata().map_err(failed)?.len();
    let memory = |_| Error::OutOfMemory { path: path.to_owned(), asked: length };
    host_memory::require(length).map_err(memory)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// Lets go of what came through a pipe.
pub(crate) fn forget(path: &Path) {
    if let Some(files) = kept().as_mut() {
        files.remove(path);
    }
}

/// Copies all that comes through a pipe. Where nobody has opened it for writing, opening it to read would wait for ever:
/// so it is opened without that, and looked at now and then.
#[cfg(target_os = "linux")]
fn copy(path: &Path, file: &mut File, patience: Duration) -> io::Result<u64> {
    use std::io::{ErrorKind, Write};
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

    use rustix::fs::{OFlags, fcntl_setfl};

    const A_MOMENT: Duration = Duration::from_millis(20);
    if !std::fs::metadata(path)?.file_type().is_fifo() {
        return io::copy(&mut File::open(path)?, file);
    }
    let flags = OFlags::NONBLOCK.bits() as i32;
    let mut pipe = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let mut first = vec![0; 1 << 16];
    let mut waited = Duration::ZERO;
    let length = loop {
        match pipe.read(&mut first) {
            // There is a writer, which has written nothing yet.
            Err(e) if e.kind() == ErrorKind::WouldBlock => break 0,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
            Ok(0) if waited < patience => {
                std::thread::sleep(A_MOMENT);
                waited += A_MOMENT;
            }
            Ok(0) => {
                return Err(io::Error::other(
                    "no program writes to this pipe: start the writer first",
                ));
            }
            Ok(length) => break length,
        }
    };
    fcntl_setfl(&pipe, OFlags::empty())?;
    file.write_all(&first[..length])?;
    Ok(length as u64 + io::copy(&mut pipe, file)?)
}

#[cfg(not(target_os = "linux"))]
fn copy(path: &Path, file: &mut File, _: Duration) -> io::Result<u64> {
    io::copy(&mut File::open(path)?, file)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_pipe_to_which_nobody_writes_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.las");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let mut file = tempfile::tempfile().unwrap();
        let error = copy(&path, &mut file, Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("no program writes"), "{error}");
    }
}
