//! Outputs that are folders: Zarr stores, which appear whole or not at all.

use std::path::{Path, PathBuf};

use gpu_core::files::{UnfinishedFolder, folder_of, require_replaceable};

use crate::output::{Existing, Output, failed, together};
use crate::rasters::zarr::METADATA;
use crate::{Error, Result};

/// A store under way, which is removed unless it is [finished](PendingFolder::finish).
pub(crate) struct PendingFolder {
    unfinished: UnfinishedFolder,
    path: PathBuf,
    existing: Existing,
}

impl PendingFolder {
    /// Makes a new folder beside the place of an output. A complete output replaces an existing folder only if that is
    /// a Zarr store.
    pub fn begin(Output { path, existing }: Output<'_>) -> Result<Self> {
        let place = place(path)?;
        if place.exists() {
            if existing != Existing::Replace {
                return Err(Error::Exists { path: path.to_owned() });
            }
            if !place.join(METADATA).is_file() {
                return Err(Error::write(
                    path,
                    "it exists and is not a Zarr store: remove it first",
                ));
            }
            require_replaceable(&place).map_err(|e| failed(path, e))?;
        }
        let unfinished = UnfinishedFolder::beside(&place).map_err(|e| failed(path, e))?;
        Ok(Self { unfinished, path: path.to_owned(), existing })
    }

    /// Writes a file of the folder.
    pub fn add(&self, name: &Path, bytes: &[u8]) -> Result<()> {
        self.unfinished.add(name, bytes).map_err(|e| failed(&self.path, e))
    }

    /// Gives the complete folder its name.
    pub fn finish(self) -> Result<()> {
        let may_replace = self.existing == Existing::Replace;
        let Self { unfinished, path, .. } = self;
        together::finish(move || unfinished.finish(may_replace).map_err(|e| failed(&path, e)))
    }
}

/// The folder that a path means: links are followed.
fn place(path: &Path) -> Result<PathBuf> {
    if let Ok(place) = path.canonicalize() {
        return Ok(place);
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
