//! Outputs that are folders: Zarr stores, which appear whole or not at all.

use std::path::{Path, PathBuf};

use gpu_core::files::{self, CompleteFolder, UnfinishedFolder, folder_of, require_replaceable};

use crate::output::together::{self, Nameless};
use crate::output::{Existing, Output, failed};
use crate::rasters::zarr::METADATA;
use crate::rasters::zarr::json::json_of;
use crate::rasters::zarr::read::array_of;
use crate::{Error, Result};

/// A store under way, which is removed unless it is [finished](PendingFolder::finish).
pub(crate) struct PendingFolder {
    unfinished: UnfinishedFolder,
    place: PathBuf,
    path: PathBuf,
    existing: Existing,
}

impl PendingFolder {
    /// Makes a new folder beside the place of an output. A complete output replaces an existing folder only if that is
    /// a Zarr store of one raster and holds nothing else.
    pub fn begin(output: Output<'_>) -> Result<Self> {
        let Output { path, existing } = output;
        let place = place(path)?;
        require_free(output, &place)?;
        let unfinished = UnfinishedFolder::beside(&place).map_err(|e| failed(path, e))?;
        Ok(Self { unfinished, place, path: path.to_owned(), existing })
    }

    /// Writes a file of the folder.
    pub fn add(&self, name: &Path, bytes: &[u8]) -> Result<()> {
        self.unfinished.add(name, bytes).map_err(|e| failed(&self.path, e))
    }

    /// Writes the folder to the disk and gives it its name.
    pub fn finish(self) -> Result<()> {
        let Self { unfinished, place, path, existing } = self;
        let folder = unfinished.complete().map_err(|e| failed(&path, e))?;
        together::finish(CompleteStore { folder, place, path, existing })
    }
}

/// A store that lacks nothing but its name.
struct CompleteStore {
    folder: CompleteFolder,
    place: PathBuf,
    path: PathBuf,
    existing: Existing,
}

impl Nameless for CompleteStore {
    fn check(&mut self) -> Result<()> {
        require_free(Output { path: &self.path, existing: self.existing }, &self.place)
    }

    fn take_name(self: Box<Self>) -> Result<()> {
        let may_replace = self.existing == Existing::Replace;
        self.folder.take_name(may_replace).map_err(|e| failed(&self.path, e))
    }
}

/// Refuses a folder in the place of a store, unless the store may replace it: it is a store of one raster, holds nothing
/// else, and is not read-only.
fn require_free(Output { path, existing }: Output<'_>, place: &Path) -> Result<()> {
    if !place.exists() {
        return Ok(());
    }
    if existing != Existing::Replace {
        return Err(Error::Exists { path: path.to_owned() });
    }
    require_store(place).map_err(|reason| Error::write(path, reason))?;
    require_replaceable(place).map_err(|e| failed(path, e))
}

/// Refuses a folder that is not a store of one raster, or holds files that are none of such a store's.
fn require_store(place: &Path) -> Result<(), String> {
    if !place.join(METADATA).is_file() {
        return Err("it exists and is not a Zarr store: remove it first".to_owned());
    }
    let array = array_of(place).map_err(|reason| {
        format!("it exists and is not a Zarr store of one raster ({reason}): remove it first")
    })?;
    let failed = |reason: std::io::Error| reason.to_string();
    for entry in std::fs::read_dir(place).map_err(failed)? {
        let entry = entry.map_err(failed)?.path();
        let other = match is_own(&entry, array == place) {
            true => None,
            false => other_than_array(entry),
        };
        if let Some(other) = other {
            let other = other.display();
            return Err(format!(
                "it holds {other}, which is no part of a raster's Zarr store: give another name, or move that away"
            ));
        }
    }
    Ok(())
}

/// Returns the entry of an array's folder that is neither metadata nor chunks, or the folder if it is no array.
fn other_than_array(folder: PathBuf) -> Option<PathBuf> {
    if !json_of(&folder).is_ok_and(|json| json["node_type"] == "array") {
        return Some(folder);
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).find(|entry| !is_own(entry, true))
}

/// Whether an entry is metadata, or in an array's folder chunks: c, c.0.1, 0.1 or 0. Unfinished files, which a killed
/// program left, count as well.
fn is_own(path: &Path, is_in_array: bool) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let numbers = name.strip_prefix('c').unwrap_or(&name);
    let is_chunk = numbers.bytes().all(|byte| byte == b'.' || byte.is_ascii_digit());
    let is_unfinished = name.starts_with('.') && name.ends_with(".part");
    name == METADATA || (is_in_array && is_chunk) || is_unfinished
}

/// The folder that a path means: links are followed, also to a folder that is not there yet.
fn place(path: &Path) -> Result<PathBuf> {
    if let Ok(place) = path.canonicalize() {
        return Ok(place);
    }
    if path.is_symlink() {
        return files::place(path).map_err(|e| failed(path, e));
    }
    let Some(name) = path.file_name() else {
        return Err(Error::write(path, "it does not name a Zarr store"));
    };
    let parent = folder_of(path);
    match parent.canonicalize() {
        Ok(folder) => Ok(folder.join(name)),
        Err(_) => Err(Error::NoFolder { path: path.to_owned(), folder: parent.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_link_to_a_store_stays_and_its_target_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink("real.zarr", at("link.zarr")).unwrap();
        std::os::unix::fs::symlink("loop.zarr", at("loop.zarr")).unwrap();
        let write = |existing| {
            let store = PendingFolder::begin(Output { path: &at("link.zarr"), existing })?;
            store.add(METADATA.as_ref(), br#"{"zarr_format":3,"node_type":"array"}"#)?;
            store.finish()
        };
        write(Existing::Refuse).unwrap();
        write(Existing::Replace).unwrap();
        assert!(matches!(write(Existing::Refuse), Err(Error::Exists { .. })));
        assert!(at("link.zarr").is_symlink() && at("real.zarr").join(METADATA).is_file());
        assert!(PendingFolder::begin(Output::from(&at("loop.zarr"))).is_err());
    }
}
