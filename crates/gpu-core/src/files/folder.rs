//! Folders of files that appear whole or not at all.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::io::{Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};

use super::{end, folder_of, listed, lock, no_folder, not_in, sync_folder};
use crate::Cancelled;

/// A folder under a temporary name, in the same parent folder as its final name. Dropping this value removes the folder
/// and its contents.
///
/// # Example
/// ```
/// # fn main() -> std::io::Result<()> {
/// use gpu_core::files::UnfinishedFolder;
///
/// let place = std::env::temp_dir().join(format!("tessera-folder-{}", std::process::id()));
/// let folder = UnfinishedFolder::beside(&place)?;
/// folder.add("inner/a.txt".as_ref(), b"one")?;
/// assert!(!place.exists());
/// folder.finish(false)?;
/// assert_eq!(std::fs::read(place.join("inner/a.txt"))?, b"one");
/// # std::fs::remove_dir_all(&place)
/// # }
/// ```
#[derive(Debug)]
pub struct UnfinishedFolder {
    path: PathBuf,
    place: PathBuf,
    is_there: bool,
}

impl UnfinishedFolder {
    /// Makes an empty folder beside `place`, in a parent folder that exists.
    ///
    /// # Errors
    /// [`NoFolder`](super::NoFolder), [`Cancelled`] after [`remove_unfinished`](super::remove_unfinished), and the
    /// errors of the system.
    pub fn beside(place: &Path) -> Result<Self> {
        let folder = folder_of(place);
        if !folder.is_dir() {
            return Err(no_folder(folder));
        }
        let random = RandomState::new().build_hasher().finish();
        let path = folder.join(format!(".{random:016x}.part"));
        make(&path, |path| fs::create_dir(path).map_err(|e| not_in(folder, &e)))?;
        Ok(Self { path, place: place.to_owned(), is_there: true })
    }

    /// Writes a file into the folder, and waits until it is on the disk. Several threads may call it at once.
    ///
    /// # Errors
    /// The errors of [`beside`](Self::beside); a file that is there.
    pub fn add(&self, name: &Path, bytes: &[u8]) -> Result<()> {
        let mut folder = self.path.clone();
        for part in name.parent().into_iter().flat_map(Path::components) {
            folder.push(part);
            match make(&folder, |path| fs::create_dir(path)) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                made => made?,
            }
        }
        let mut file = None;
        make(&self.path.join(name), |path| {
            file = Some(fs::File::create_new(path)?);
            Ok(())
        })?;
        let mut writer = std::io::BufWriter::new(file.expect("it was made"));
        writer.write_all(bytes)?;
        end(writer)
    }

    /// Writes the names in the folder to the disk. Only its own name is missing then.
    ///
    /// # Errors
    /// The errors of writing.
    pub fn complete(self) -> Result<CompleteFolder> {
        sync_folders(&self.path)?;
        Ok(CompleteFolder(self))
    }

    /// Gives the folder its name, by [`complete`](Self::complete) and [`CompleteFolder::take_name`].
    ///
    /// # Errors
    /// The errors of both.
    pub fn finish(self, may_replace: bool) -> Result<()> {
        self.complete()?.take_name(may_replace)
    }
}

/// A folder under a temporary name whose files are on the disk. Dropping this value removes the folder and its contents.
///
/// Example: see [`UnfinishedFolder`], whose `finish` makes one and gives it its name.
#[derive(Debug)]
pub struct CompleteFolder(UnfinishedFolder);

impl CompleteFolder {
    /// Gives the folder its name. If `may_replace`, it replaces and removes a folder that has the name; otherwise that
    /// folder stays.
    ///
    /// # Errors
    /// - [`ErrorKind::AlreadyExists`]: a folder of that name stays.
    /// - [`ErrorKind::PermissionDenied`]: a folder of that name is read-only.
    pub fn take_name(self, may_replace: bool) -> Result<()> {
        let Self(mut folder) = self;
        if fs::symlink_metadata(&folder.place).is_ok() {
            if !may_replace {
                return Err(ErrorKind::AlreadyExists.into());
            }
            super::require_replaceable(&folder.place)?;
            exchange(&folder.path, &folder.place)?;
        } else {
            fs::rename(&folder.path, &folder.place)?;
            folder.is_there = false;
        }
        // Where the folders were exchanged, dropping this removes the old one.
        sync_folder(folder_of(&folder.place))
    }
}

impl Drop for UnfinishedFolder {
    fn drop(&mut self) {
        if self.is_there {
            let _ = fs::remove_dir_all(&self.path);
        }
        let name = listed(&self.path);
        let within = |other: &super::Name| is_within(other, &name);
        lock().names.retain(|other| !within(other));
    }
}

#[cfg(unix)]
fn is_within(name: &super::Name, folder: &super::Name) -> bool {
    name.as_bytes().starts_with(folder.as_bytes())
}

#[cfg(not(unix))]
fn is_within(name: &super::Name, folder: &super::Name) -> bool {
    name.starts_with(folder)
}

/// Makes what is under way and puts it on the list.
fn make(path: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    // While the list is locked nothing appears that is not on it.
    let mut list = lock();
    if list.is_closed {
        return Err(Error::other(Cancelled));
    }
    make(path)?;
    list.names.push(listed(path));
    Ok(())
}

/// Has the system write the names in a folder and in those within it to the disk.
fn sync_folders(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    sync_folder(folder)
}

/// Gives two folders each other's names.
fn exchange(new: &Path, old: &Path) -> Result<()> {
    #[cfg(target_os = "linux")]
    match super::rename_by(new, old, libc::RENAME_EXCHANGE) {
        // A file system or a system without that call.
        Err(e) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {}
        renamed => return renamed,
    }
    let mut aside = new.as_os_str().to_owned();
    aside.push("-old");
    fs::rename(old, &aside)?;
    if let Err(error) = fs::rename(new, old) {
        fs::rename(&aside, old)?;
        return Err(error);
    }
    fs::rename(aside, new)
}
