//! Output files that appear whole or not at all.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::{Error, Result};

/// Checks that an output file can be made: its folder exists.
///
/// # Errors
/// [`Error::Folder`]; [`Error::Format`] where `path` is a folder.
pub fn check_output(path: &Path) -> Result<()> {
    let folder = folder_of(path);
    if !folder.is_dir() {
        return Err(Error::Folder { path: path.to_owned(), folder });
    }
    if path.is_dir() {
        return Err(Error::format(path, "is a folder"));
    }
    Ok(())
}

/// Writes through `write` into a temporary file beside `path`, and gives it its name when that has
/// succeeded.
pub(crate) fn whole_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> Result<()>,
) -> Result<()> {
    check_output(path)?;
    let temporary = NamedTempFile::new_in(folder_of(path)).map_err(Error::io(path))?;
    let mut buffer = BufWriter::new(temporary.as_file());
    write(&mut buffer)?;
    buffer.into_inner().map_err(|e| Error::io(path)(e.into_error()))?;
    make_readable(temporary.as_file()).map_err(Error::io(path))?;
    temporary.persist(path).map_err(|e| Error::io(path)(e.error))?;
    Ok(())
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Gives the rights of an ordinary new file: a temporary one is its owner's alone.
fn make_readable(file: &File) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    let _ = file;
    Ok(())
}
