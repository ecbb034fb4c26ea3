//! Files that appear whole or not at all.
//!
//! [`replace`] saves to a file; every crate and program of Tessera calls it. The bytes go to a temporary file in the
//! folder of the target. When all are written:
//!
//! 1. The system writes the file to the disk (`fsync`). Some file systems, such as NFS, Lustre and those with quotas,
//!    accept bytes first and report here that the disk was full.
//! 2. [`replace`] closes the file, and checks for errors of closing too.
//! 3. The file takes the name of the target, which is atomic within a file system: a reader sees the old file or the new one.
//! 4. The system writes the folder to the disk, so that the name outlives a power failure.
//!
//! A step that fails removes the temporary file and leaves the target as it was. The temporary file has a random name
//! that no other file has (`O_EXCL`), so it cannot overwrite another writer's file, nor follow a link that somebody put
//! there. If two writers save under one name, both succeed, and one writer's file remains.
//!
//! A list holds the unfinished temporary files, so that a program that ends early can remove them by
//! [`remove_unfinished`].

use std::collections::hash_map::RandomState;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{BufWriter, Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

mod folder;

pub use folder::{CompleteFolder, UnfinishedFolder};

use crate::Cancelled;

/// Bytes that are put together before they are written.
const BUFFER: usize = 1 << 20;

/// Saves to a file: `fill` writes its bytes. It replaces an existing file when all bytes are on the disk.
///
/// If the path is a symbolic link, the call replaces the link's target. A new file has the rights that the user's umask
/// gives. It writes directly to a pipe or a device.
///
/// # Errors
/// - The errors of `fill` and of writing. After an error, the old file is unchanged.
/// - [`ErrorKind::PermissionDenied`]: the existing file is read-only.
///
/// # Example
/// ```
/// # fn main() -> std::io::Result<()> {
/// use std::io::Write;
///
/// let path = std::env::temp_dir().join(format!("tessera-{}.txt", std::process::id()));
/// gpu_core::files::replace(&path, |file| file.write_all(b"one"))?;
/// gpu_core::files::replace(&path, |file| file.write_all(b"two"))?;
/// assert_eq!(std::fs::read(&path)?, b"two");
/// # std::fs::remove_file(&path)
/// # }
/// ```
pub fn replace(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
    if fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        let mut writer =
            BufWriter::with_capacity(BUFFER, OpenOptions::new().write(true).open(path)?);
        fill(&mut writer)?;
        return end(writer);
    }
    let place = place(path)?;
    require_replaceable(&place)?;
    let mut unfinished = Unfinished::beside(&place)?;
    fill(unfinished.writer())?;
    unfinished.finish(true)
}

/// Refuses to replace a read-only file or folder. Renaming over it would work, and so would writing as root, but its owner
/// made it read-only to keep it. Refuses another user's file in a shared folder such as `/tmp` too. Its sticky bit lets
/// only owners rename over their files, and the system's error would come after all work.
///
/// # Errors
/// [`ErrorKind::PermissionDenied`]: the file or folder is read-only, or another user's in such a folder. A path without a
/// file is not an error.
///
/// # Example
/// ```
/// # fn main() -> std::io::Result<()> {
/// use gpu_core::files::require_replaceable;
///
/// let path = std::env::temp_dir().join(format!("tessera-kept-{}.txt", std::process::id()));
/// assert!(require_replaceable(&path).is_ok());
/// std::fs::write(&path, "kept")?;
/// let mut rights = std::fs::metadata(&path)?.permissions();
/// rights.set_readonly(true);
/// std::fs::set_permissions(&path, rights)?;
/// assert!(require_replaceable(&path).is_err());
/// # std::fs::remove_file(&path)
/// # }
/// ```
pub fn require_replaceable(place: &Path) -> Result<()> {
    let reason = match fs::metadata(place) {
        Ok(about) if about.permissions().readonly() => {
            "it is read-only, so it is not replaced: make it writable (chmod u+w) or give another name"
        }
        Ok(about) if is_kept_for_its_owner(&about, folder_of(place)) => {
            "it is another user's, and its folder lets only owners replace files: give another name or folder"
        }
        _ => return Ok(()),
    };
    Err(Error::new(ErrorKind::PermissionDenied, reason))
}

/// Whether the sticky bit of a folder keeps this user from renaming over a file there.
#[cfg(unix)]
fn is_kept_for_its_owner(file: &fs::Metadata, folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    // SAFETY: the call takes no arguments, and cannot fail.
    let user = unsafe { libc::geteuid() };
    fs::metadata(folder)
        .is_ok_and(|folder| !may_rename_over(user, (folder.mode(), folder.uid()), file.uid()))
}

/// Elsewhere folders have no such bit.
#[cfg(not(unix))]
fn is_kept_for_its_owner(_: &fs::Metadata, _: &Path) -> bool {
    false
}

/// Whether a user may rename over an owner's file in a folder of this mode and owner, as far as the sticky bit says.
#[cfg(unix)]
fn may_rename_over(user: u32, (mode, of_folder): (u32, u32), of_file: u32) -> bool {
    const STICKY: u32 = 0o1000;
    mode & STICKY == 0 || [0, of_folder, of_file].contains(&user)
}

/// The folder for a file does not exist. [`place`] and [`Unfinished::beside`] return it as the cause of an [`Error`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the folder {} does not exist", .0.display())]
pub struct NoFolder(pub PathBuf);

/// Returns the file that a path means: its folder without links, and its name. If the path is a symbolic link, the name
/// is the link's final target, whether it exists or not.
///
/// # Errors
/// - [`NoFolder`]: the folder does not exist.
/// - [`ErrorKind::InvalidInput`]: the path names no file, or a folder, also by a slash at its end.
/// - [`ErrorKind::InvalidInput`]: the path does not name a regular file, or its links point to nothing.
pub fn place(path: &Path) -> Result<PathBuf> {
    /// Links that are followed, as many as Linux does.
    const MOST: usize = 40;
    let bad = |reason: &str| Error::new(ErrorKind::InvalidInput, reason);
    let mut at = path.to_owned();
    for _ in 0..MOST {
        if names_folder(&at) {
            return Err(bad("it ends in a slash, so it names a folder: name a file"));
        }
        let Some(name) = at.file_name().map(ToOwned::to_owned) else {
            return Err(bad("it does not name a file"));
        };
        let folder = folder_of(&at).canonicalize().map_err(|_| no_folder(folder_of(&at)))?;
        at = folder.join(name);
        match fs::symlink_metadata(&at) {
            Ok(about) if about.is_symlink() => at = folder.join(fs::read_link(&at)?),
            Ok(about) if about.is_dir() => return Err(bad("it is a folder")),
            Ok(about) if !about.is_file() => return Err(bad("it is not a regular file")),
            // A name that is too long, or a folder without the right to look into it.
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => return Ok(at),
        }
    }
    Err(bad("its symbolic link points to nothing"))
}

/// Whether a path can only be a folder's: it ends in a slash, or in a slash and a dot. (The standard library's names of files leave
/// both out.)
fn names_folder(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    let is_separator = |&b: &u8| std::path::is_separator(char::from(b));
    let end = bytes.strip_suffix(b".").filter(|rest| rest.last().is_some_and(is_separator));
    end.unwrap_or(bytes).last().is_some_and(is_separator)
}

/// Opens a regular file for reading, and returns its length too. A reader compares the length with what the file's
/// header says.
///
/// # Errors
/// - The errors of the system.
/// - [`ErrorKind::InvalidInput`]: it is a folder, or a pipe or a device, which has no length and may never end.
pub fn open(path: &Path) -> Result<(File, u64)> {
    let about = fs::metadata(path)?;
    if !about.is_file() {
        let reason = if about.is_dir() { "it is a folder" } else { "it is not a regular file" };
        return Err(Error::new(ErrorKind::InvalidInput, reason));
    }
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    Ok((file, length))
}

/// Returns the folder that a path lies in.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// An error of making something in a folder. It names the folder, since the output itself may be writable.
fn not_in(folder: &Path, error: &Error) -> Error {
    let reason = format!("the folder {} takes no new file: {error}", folder.display());
    Error::new(error.kind(), reason)
}

fn no_folder(folder: &Path) -> Error {
    Error::new(ErrorKind::NotFound, NoFolder(folder.to_owned()))
}

/// A file under a temporary name, in the same folder as its final name. Dropped, it is removed.
#[derive(Debug)]
pub struct Unfinished {
    /// None when it is closed.
    writer: Option<BufWriter<File>>,
    path: PathBuf,
    place: PathBuf,
    /// Whether the temporary name is there.
    is_there: bool,
}

impl Unfinished {
    /// Makes an empty file in the folder of `place`, a path as [`place`] returns it.
    ///
    /// # Errors
    /// [`NoFolder`], [`Cancelled`] after [`remove_unfinished`], and the errors of the system.
    pub fn beside(place: &Path) -> Result<Self> {
        let folder = folder_of(place);
        if !folder.is_dir() {
            return Err(no_folder(folder));
        }
        // While the list is locked no file appears that is not on it.
        let mut list = lock();
        if list.is_closed {
            return Err(Error::other(Cancelled));
        }
        let (file, path) = temporary(folder)?;
        list.names.push(listed(&path));
        let writer = Some(BufWriter::with_capacity(BUFFER, file));
        Ok(Self { writer, path, place: place.to_owned(), is_there: true })
    }

    /// The file, buffered. The file is open for reading and seeking too.
    pub fn writer(&mut self) -> &mut BufWriter<File> {
        self.writer.as_mut().expect("it is open until it is finished")
    }

    /// Returns the file itself, for callers that write without [`writer`](Self::writer).
    pub fn file(&self) -> &File {
        self.writer.as_ref().expect("it is open until it is finished").get_ref()
    }

    /// Writes the file to the disk and closes it. Only its name is missing then.
    ///
    /// # Errors
    /// The errors of writing.
    pub fn complete(mut self) -> Result<Complete> {
        if let Some(writer) = self.writer.take() {
            end(writer)?;
        }
        Ok(Complete(self))
    }

    /// Writes the file to the disk and gives it its name, by [`complete`](Self::complete) and [`Complete::take_name`].
    ///
    /// # Errors
    /// The errors of both.
    pub fn finish(self, may_replace: bool) -> Result<()> {
        self.complete()?.take_name(may_replace)
    }
}

/// A file under a temporary name whose bytes are on the disk. Dropped, it is removed.
///
/// # Example
/// ```
/// # fn main() -> std::io::Result<()> {
/// use std::io::Write;
/// use gpu_core::files::{Unfinished, place};
///
/// let path = place(&std::env::temp_dir().join(format!("tessera-complete-{}.txt", std::process::id())))?;
/// let mut file = Unfinished::beside(&path)?;
/// file.writer().write_all(b"one")?;
/// let file = file.complete()?;
/// assert!(!path.exists());
/// file.take_name(false)?;
/// assert_eq!(std::fs::read(&path)?, b"one");
/// # std::fs::remove_file(&path)
/// # }
/// ```
#[derive(Debug)]
pub struct Complete(Unfinished);

impl Complete {
    /// Returns the temporary file's path, so that the caller can read the file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Gives the file its name. If `may_replace`, it replaces an existing file of that name; otherwise that file stays.
    ///
    /// # Errors
    /// - [`ErrorKind::AlreadyExists`]: a file of that name was kept.
    /// - [`ErrorKind::PermissionDenied`]: a file of that name is read-only.
    pub fn take_name(self, may_replace: bool) -> Result<()> {
        let Self(mut file) = self;
        match may_replace {
            true => {
                require_replaceable(&file.place)?;
                fs::rename(&file.path, &file.place)?
            }
            false => rename_to_new(&file.path, &file.place)?,
        }
        file.is_there = false;
        sync_folder(folder_of(&file.place))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // What is buffered is not worth writing.
        drop(self.writer.take().map(BufWriter::into_parts));
        if self.is_there {
            // Whatever is in the way, the first error says what happened.
            let _ = fs::remove_file(&self.path);
        }
        let name = listed(&self.path);
        lock().names.retain(|other| *other != name);
    }
}

/// A new file of a name that no other has. What is temporary is known by its end, `.part`.
fn temporary(folder: &Path) -> Result<(File, PathBuf)> {
    /// Names that are tried: each is taken by chance once in 2^64.
    const MOST: usize = 16;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    for _ in 0..MOST {
        // The standard library's source of numbers that nobody can foresee.
        let random = RandomState::new().build_hasher().finish();
        let path = folder.join(format!(".{random:016x}.part"));
        match options.open(&path) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(not_in(folder, &e)),
            Ok(file) => return Ok((file, path)),
        }
    }
    Err(Error::new(ErrorKind::AlreadyExists, "every temporary name is taken"))
}

/// Writes what is buffered, has the system write the file to the disk, and closes it.
fn end(writer: BufWriter<File>) -> Result<()> {
    let file = writer.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    where_it_can(file.sync_all())?;
    close(file)
}

/// Ignores the error of a file system, pipe or device that has no such call: it loses nothing without one.
fn where_it_can(synced: Result<()>) -> Result<()> {
    match synced {
        Err(e) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}

/// Closes a file: some file systems say only here that bytes were lost, and dropping a file does not look.
#[cfg(unix)]
fn close(file: File) -> Result<()> {
    use std::os::fd::IntoRawFd;

    // SAFETY: the descriptor was the file's alone, which has given it up; it is closed once, here.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => match Error::last_os_error() {
            // It is closed nevertheless, and what it had was synced.
            e if e.kind() == ErrorKind::Interrupted => Ok(()),
            e => Err(e),
        },
    }
}

#[cfg(not(unix))]
fn close(file: File) -> Result<()> {
    drop(file);
    Ok(())
}

/// Has the system write the names of a folder to the disk. A folder that cannot be opened for that is left alone.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder).map_or(Ok(()), |folder| where_it_can(folder.sync_all()))
}

/// Elsewhere folders are not files.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> Result<()> {
    Ok(())
}

/// Renames a file to a name that no file has yet.
fn rename_to_new(from: &Path, to: &Path) -> Result<()> {
    #[cfg(target_os = "linux")]
    match rename_by(from, to, libc::RENAME_NOREPLACE) {
        // A file system or a system without that call.
        Err(e) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {}
        renamed => return renamed,
    }
    fs::hard_link(from, to)?;
    // The file has its name: a second one that stays does no harm.
    let _ = fs::remove_file(from);
    Ok(())
}

/// Renames by the system's call, with its flags.
#[cfg(target_os = "linux")]
fn rename_by(from: &Path, to: &Path, flags: libc::c_uint) -> Result<()> {
    let (from, to) = (listed(from), listed(to));
    let here = libc::AT_FDCWD;
    // SAFETY: both names are strings that end with a zero and live until the call returns.
    let renamed = unsafe {
        libc::syscall(libc::SYS_renameat2, here, from.as_ptr(), here, to.as_ptr(), flags)
    };
    if renamed == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

/// The temporary files under way.
static LIST: Mutex<List> = Mutex::new(List { names: Vec::new(), is_closed: false });

struct List {
    names: Vec<Name>,
    is_closed: bool,
}

/// A path as the system takes it, so that a signal handler need not put it together.
#[cfg(unix)]
type Name = std::ffi::CString;
#[cfg(not(unix))]
type Name = PathBuf;

#[cfg(unix)]
fn listed(path: &Path) -> Name {
    use std::os::unix::ffi::OsStrExt;
    // A path that names a file has no zero within.
    Name::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

#[cfg(not(unix))]
fn listed(path: &Path) -> Name {
    path.to_owned()
}

fn lock() -> MutexGuard<'static, List> {
    LIST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all unfinished temporary files, and prevents new ones. Call it before a program ends early. A signal handler
/// sets `is_signal`: then the call waits for no lock that the interrupted thread may hold, and neither allocates nor
/// frees memory.
pub fn remove_unfinished(is_signal: bool) {
    let mut list = match LIST.try_lock() {
        Ok(list) => list,
        Err(TryLockError::Poisoned(list)) => list.into_inner(),
        Err(TryLockError::WouldBlock) if is_signal => return,
        Err(TryLockError::WouldBlock) => lock(),
    };
    list.is_closed = true;
    // Whatever is in the way, the program ends. What is in a folder was made after it.
    for name in list.names.iter().rev() {
        #[cfg(unix)]
        // SAFETY: the name is a string that ends with a zero.
        unsafe {
            if libc::unlink(name.as_ptr()) != 0 {
                libc::rmdir(name.as_ptr());
            }
        }
        #[cfg(not(unix))]
        let _ = fs::remove_file(name).or_else(|_| fs::remove_dir(name));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn save(path: &Path, bytes: &[u8]) -> Result<()> {
        replace(path, |file| file.write_all(bytes))
    }

    #[test]
    #[cfg(unix)]
    fn in_a_sticky_folder_only_owners_and_root_replace_files() {
        let (root, ann, bob) = (0, 1001, 1002);
        for (mode, of_folder, of_file, users) in [
            (0o1777, root, ann, &[root, ann][..]),
            (0o1777, ann, bob, &[root, ann, bob]),
            (0o1777, root, root, &[root]),
            (0o777, root, ann, &[root, ann, bob]),
        ] {
            for user in [root, ann, bob] {
                let may = may_rename_over(user, (mode, of_folder), of_file);
                assert_eq!(may, users.contains(&user), "{mode:o} {of_folder} {of_file} {user}");
            }
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_folder_that_takes_no_file_is_named() {
        // No user can make files there, root neither.
        let error = save(Path::new("/proc/self/out.bin"), b"new").unwrap_err();
        assert!(error.to_string().starts_with("the folder /proc/"), "{error}");
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_the_old_one_until_all_of_the_new_one_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        save(&path, b"old").unwrap();
        let failed = replace(&path, |file| {
            file.write_all(&[1; 3 * BUFFER])?;
            assert_eq!(fs::read(&path)?, b"old");
            assert_eq!(names(folder.path()).len(), 2);
            Err(Error::other("no more"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "no more");
        assert_eq!(
            (fs::read(&path).unwrap(), names(folder.path())),
            (b"old".to_vec(), vec!["a".into()])
        );
        save(&path, b"new").unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), names(folder.path())),
            (b"new".to_vec(), vec!["a".into()])
        );
        let mine = folder.path().to_str().unwrap().to_owned();
        assert!(!lock().names.iter().any(|name| format!("{name:?}").contains(&mine)));
    }

    #[test]
    fn a_folder_is_the_old_one_until_all_of_the_new_one_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("a");
        let begin = |text: &[u8]| {
            let new = UnfinishedFolder::beside(&place).unwrap();
            new.add("c/0/1".as_ref(), text).unwrap();
            new.add("c/0/2".as_ref(), text).unwrap();
            assert!(new.add("c/0/2".as_ref(), text).is_err());
            new
        };
        let content = || fs::read(place.join("c/0/1")).ok();
        drop(begin(b"none"));
        assert_eq!((content(), names(folder.path())), (None, vec![]));
        begin(b"old").finish(false).unwrap();
        assert_eq!(begin(b"new").finish(false).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(content(), Some(b"old".to_vec()));
        begin(b"new").finish(true).unwrap();
        assert_eq!((content(), names(folder.path())), (Some(b"new".to_vec()), vec!["a".into()]));
        let mine = folder.path().to_str().unwrap().to_owned();
        assert!(!lock().names.iter().any(|name| format!("{name:?}").contains(&mine)));
        assert!(UnfinishedFolder::beside(&folder.path().join("b/c")).is_err());
    }

    #[test]
    fn two_that_save_under_one_name_leave_the_file_of_one_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for _ in 0..20 {
            std::thread::scope(|scope| {
                for byte in [1, 2] {
                    let path = &path;
                    scope.spawn(move || {
                        replace(path, |file| {
                            (0..100).try_for_each(|_| {
                                std::thread::yield_now();
                                file.write_all(&[byte; 2000])
                            })
                        })
                        .unwrap()
                    });
                }
            });
            let bytes = fs::read(&path).unwrap();
            assert_eq!(bytes.len(), 200_000);
            assert!(bytes.iter().all(|&byte| byte == bytes[0]));
        }
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn what_is_not_to_be_replaced_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = place(&folder.path().join("a")).unwrap();
        let new = |bytes: &[u8]| {
            let mut file = Unfinished::beside(&path).unwrap();
            file.writer().write_all(bytes).unwrap();
            file.finish(false)
        };
        new(b"first").unwrap();
        assert_eq!(new(b"second").unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!((fs::read(&path).unwrap(), names(folder.path()).len()), (b"first".to_vec(), 1));
    }

    #[test]
    fn a_read_only_file_or_folder_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (file, store) = (place(&at("a")).unwrap(), at("b"));
        let new_file = || {
            let mut new = Unfinished::beside(&file).unwrap();
            new.writer().write_all(b"new").unwrap();
            new.finish(true)
        };
        let new_store = || {
            let new = UnfinishedFolder::beside(&store).unwrap();
            new.add("c".as_ref(), b"new").unwrap();
            new.finish(true)
        };
        save(&file, b"old").unwrap();
        fs::create_dir(&store).unwrap();
        let set = |path: &Path, is_read_only: bool| {
            let mut rights = fs::metadata(path).unwrap().permissions();
            rights.set_readonly(is_read_only);
            fs::set_permissions(path, rights).unwrap();
        };
        [&file, &store].iter().for_each(|path| set(path, true));
        let mut is_filled = false;
        let early = replace(&file, |_| {
            is_filled = true;
            Ok(())
        });
        assert!(!is_filled, "it is refused before the work");
        for refused in [early, new_file(), new_store()] {
            let error = refused.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied);
            assert!(error.to_string().contains("read-only") && error.to_string().contains("chmod"));
        }
        assert_eq!(
            (fs::read(&file).unwrap(), names(folder.path())),
            (b"old".to_vec(), vec!["a".into(), "b".into()])
        );
        [&file, &store].iter().for_each(|path| set(path, false));
        new_file().unwrap();
        new_store().unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
    }

    #[test]
    fn a_slash_at_the_end_makes_a_name_that_of_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("there")).unwrap();
        for name in ["a.tif/", "a.tif//", "a.tif/.", "there/", "there/./"] {
            let error = save(&folder.path().join(name), b"x").unwrap_err();
            assert!(error.to_string().contains("a folder"), "{name}: {error}");
        }
        save(&folder.path().join("there/../there/./.tif"), b"x").unwrap();
        save(&folder.path().join("a."), b"x").unwrap();
        assert_eq!(names(folder.path()), ["a.", "there"]);
    }

    #[test]
    fn a_name_that_is_too_long_is_refused_before_the_work() {
        let folder = tempfile::tempdir().unwrap();
        let name = "f".repeat(300);
        for path in [folder.path().join(&name), folder.path().join(&name).join("a")] {
            assert!(place(&path).is_err(), "{}", path.display());
        }
        let error = place(&folder.path().join(&name)).unwrap_err();
        assert!(error.to_string().contains("too long"), "{error}");
        place(&folder.path().join("f".repeat(100))).unwrap();
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = save(Path::new("no/such/folder/a"), b"").unwrap_err();
        assert_eq!(error.to_string(), "the folder no/such/folder does not exist");
        let inner = error.get_ref().and_then(|e| e.downcast_ref::<NoFolder>());
        assert_eq!(inner.unwrap().0, Path::new("no/such/folder"));
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(save(folder.path(), b"").unwrap_err().to_string(), "it is a folder");
    }

    #[test]
    #[cfg(unix)]
    fn links_are_followed_and_rights_are_those_of_the_umask() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink("real", at("link")).unwrap();
        save(&at("link"), b"through").unwrap();
        assert!(at("link").is_symlink());
        assert_eq!(fs::read(at("real")).unwrap(), b"through");
        File::create(at("plain")).unwrap();
        let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode();
        assert_eq!(mode("real"), mode("plain"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_device_is_an_error_and_pipes_are_written_as_they_are() {
        use std::io::Read;
        let full = save(Path::new("/dev/full"), b"some").unwrap_err();
        assert_eq!(full.kind(), ErrorKind::StorageFull);
        save(Path::new("/dev/null"), b"some").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let read = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut bytes = Vec::new();
                File::open(&pipe).unwrap().read_to_end(&mut bytes).unwrap();
                bytes
            });
            save(&pipe, b"through").unwrap();
            reader.join().unwrap()
        });
        assert_eq!((read, names(folder.path())), (b"through".to_vec(), vec!["pipe".into()]));
        // Opening it would wait for a writer.
        assert_eq!(open(&pipe).unwrap_err().to_string(), "it is not a regular file");
        assert_eq!(open(folder.path()).unwrap_err().to_string(), "it is a folder");
    }
}
