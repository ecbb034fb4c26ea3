//! Output files that appear whole or not at all.
//!
//! A file is written under a temporary name in its own folder and renamed when complete. Within
//! a file system a rename is atomic: a reader sees the old file or the new one, and a failure
//! leaves nothing under the real name.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::{Error, Result};

/// Tells before long work whether `path` can be written: the folder exists, takes a new file,
/// and `path` is not itself a folder. Leaves nothing behind.
///
/// # Errors
/// [`Error::NoFolder`] where the folder is missing, [`Error::Write`] otherwise.
pub fn check_output(path: &Path) -> Result<()> {
    if path.file_name().is_none() {
        return Err(Error::write(path, "it names no file"));
    }
    if path.is_dir() {
        return Err(Error::write(path, "it is a folder"));
    }
    temporary_beside(path).map(drop)
}

/// Writes a file through `fill`, which may seek. The file takes its name when all of it is there.
pub(crate) fn write_atomic(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
) -> Result<()> {
    check_output(path)?;
    let temporary = temporary_beside(path)?;
    let file = temporary.as_file().try_clone().map_err(|e| Error::write(path, e))?;
    let mut writer = BufWriter::with_capacity(1 << 20, file);
    fill(&mut writer)?;
    writer.flush().map_err(|e| Error::write(path, e))?;
    persist(temporary, path)
}

/// A new file in `path`'s folder, deleted when dropped.
fn temporary_beside(path: &Path) -> Result<NamedTempFile> {
    let folder = folder_of(path);
    if !folder.is_dir() {
        return Err(Error::NoFolder { path: path.to_owned(), folder });
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".").suffix(".part");
    #[cfg(unix)]
    {
        // A temporary file is private by default; an output has the rights of the user's umask.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder).map_err(|e| Error::write(path, e))
}

/// Gives the complete file its name.
fn persist(temporary: NamedTempFile, path: &Path) -> Result<()> {
    temporary.persist(path).map(drop).map_err(|e| Error::write(path, e.error))
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_output_leaves_the_folder_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.bin");
        std::fs::write(&path, b"old").unwrap();
        let failed = write_atomic(&path, |w| {
            w.write_all(b"half").unwrap();
            Err(Error::Cancelled)
        });
        assert!(matches!(failed, Err(Error::Cancelled)));
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        write_atomic(&path, |w| w.write_all(b"new").map_err(|e| Error::write(&path, e))).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn a_missing_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nowhere/out.tif");
        let error = check_output(&path).unwrap_err();
        assert!(matches!(error, Error::NoFolder { .. }));
        assert!(error.to_string().contains("nowhere"), "{error}");
        assert!(matches!(check_output(folder.path()), Err(Error::Write { .. })));
        check_output(&folder.path().join("out.tif")).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
