//! Output files that appear whole or not at all, and never in place of something that matters.
//!
//! A file is written under a temporary name in its own folder and renamed when complete. Within
//! a file system a rename is atomic: a reader sees the old file or the new one, and a failure
//! leaves nothing under the real name. The temporary files under way are listed, so that a program
//! which ends early can remove them ([`remove_unfinished`]).

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, TryLockError};

use same_file::is_same_file;
use tempfile::NamedTempFile;

use crate::{Error, Result, replaced};

/// What becomes of a file that already has the name of an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// It is replaced.
    #[default]
    Replace,
    /// It stays, and the output fails.
    Refuse,
    /// It stays: the output succeeds where it would be the same to the last byte, else it fails.
    KeepSame,
}

/// Where an output goes. A path alone replaces the file that is there.
///
/// A symbolic link is followed: its target is what is written.
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    /// The file.
    pub path: &'a Path,
    /// What becomes of a file that is there.
    pub existing: Existing,
}

impl<'a, P: AsRef<Path> + ?Sized> From<&'a P> for Output<'a> {
    fn from(path: &'a P) -> Self {
        Self { path: path.as_ref(), existing: Existing::Replace }
    }
}

/// Tells before long work whether an output can be written: its folder exists and takes a new file,
/// and nothing is in its way. Leaves nothing behind. The path `-` stands for standard output.
///
/// # Errors
/// [`Error::NoFolder`] where the folder is missing, [`Error::Exists`] for a file that is to stay,
/// [`Error::Write`] otherwise.
pub fn check_output<'a>(output: impl Into<Output<'a>>) -> Result<()> {
    let Output { path, existing } = output.into();
    if path.as_os_str() == "-" {
        return Ok(());
    }
    let place = place(path)?;
    if existing == Existing::Refuse && place.exists() {
        return Err(Error::Exists { path: path.to_owned() });
    }
    Unfinished::beside(&place, path).map(drop)
}

/// Tells before long work whether each output is a file of its own: not one of the inputs, nor another
/// output. Two names mean one file if they are links to it, symbolic or not.
///
/// # Errors
/// [`Error::SameFile`] with the two names.
pub fn check_distinct(inputs: &[PathBuf], outputs: &[&Path]) -> Result<()> {
    for (i, output) in outputs.iter().enumerate() {
        for (other, role) in inputs
            .iter()
            .map(|input| (input.as_path(), "the input"))
            .chain(outputs[..i].iter().map(|other| (*other, "the output")))
        {
            if is_one_file(output, other) {
                let (path, other) = (output.to_path_buf(), other.to_owned());
                return Err(Error::SameFile { path, role, other });
            }
        }
    }
    Ok(())
}

fn is_one_file(a: &Path, b: &Path) -> bool {
    // Standard input and standard output are two; standard output is one.
    if a.as_os_str() == "-" || b.as_os_str() == "-" {
        return false;
    }
    // What is not there cannot be asked for its device and number: then the names decide.
    is_same_file(a, b).unwrap_or_else(|_| match (place(a), place(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    })
}

/// Removes the temporary files of outputs under way, and lets no new ones appear: for a program that is
/// about to end before they are complete. Waits for no lock that the interrupted thread may hold if
/// `is_signal`, as a signal handler must not.
pub fn remove_unfinished(is_signal: bool) {
    let mut parts = match PARTS.try_lock() {
        Ok(parts) => parts,
        Err(TryLockError::Poisoned(parts)) => parts.into_inner(),
        Err(TryLockError::WouldBlock) if is_signal => return,
        Err(TryLockError::WouldBlock) => lock(),
    };
    for path in parts.open.drain(..) {
        // Whatever is in the way, the program ends.
        let _ = std::fs::remove_file(path);
    }
    parts.is_closed = true;
}

/// Writes a file of any kind through `fill`. It takes its name when all of it is there.
///
/// # Errors
/// As [`check_output`], and [`Error::Write`] with what `fill` met.
pub fn write_file<'a>(
    output: impl Into<Output<'a>>,
    fill: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<()> {
    let output = output.into();
    write_atomic(output, |writer| fill(writer).map_err(|e| Error::write(output.path, e)))
}

/// The temporary files under way.
static PARTS: Mutex<Parts> = Mutex::new(Parts { open: Vec::new(), is_closed: false });

struct Parts {
    open: Vec<PathBuf>,
    is_closed: bool,
}

fn lock() -> std::sync::MutexGuard<'static, Parts> {
    PARTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a file through `fill`, which may seek. The file takes its name when all of it is there.
pub(crate) fn write_atomic(
    Output { path, existing }: Output<'_>,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
) -> Result<()> {
    let pending = Pending::begin(Output { path, existing })?;
    let file = pending.file().try_clone().map_err(|e| Error::write(path, e))?;
    let mut writer = BufWriter::with_capacity(1 << 20, file);
    fill(&mut writer)?;
    writer.flush().map_err(|e| Error::write(path, e))?;
    drop(writer);
    pending.finish()
}

/// An output under way: a temporary file, which is removed unless it is [finished](Pending::finish).
pub(crate) struct Pending {
    temporary: Unfinished,
    place: PathBuf,
    path: PathBuf,
    existing: Existing,
}

impl Pending {
    /// A new file beside the place of an output that [can be written](check_output).
    pub fn begin(Output { path, existing }: Output<'_>) -> Result<Self> {
        check_output(Output { path, existing })?;
        let place = place(path)?;
        let temporary = Unfinished::beside(&place, path)?;
        Ok(Self { temporary, place, path: path.to_owned(), existing })
    }

    /// The temporary file.
    pub fn file(&self) -> &File {
        self.temporary.file.as_file()
    }

    /// The output as messages call it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the complete file its name.
    pub fn finish(self) -> Result<()> {
        self.temporary.persist(&self.place, &self.path, self.existing)
    }
}

/// A temporary file, listed in [`PARTS`] and deleted when dropped.
struct Unfinished {
    // In this order: while the file is there, it is listed.
    file: NamedTempFile,
    listed: Listed,
}

/// A path in [`PARTS`].
struct Listed(PathBuf);

impl Drop for Listed {
    fn drop(&mut self) {
        lock().open.retain(|path| *path != self.0);
    }
}

impl Unfinished {
    /// A new file in the folder of `place`, which messages call `path`.
    fn beside(place: &Path, path: &Path) -> Result<Self> {
        let folder = folder_of(place);
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
        let mut parts = lock();
        if parts.is_closed {
            return Err(Error::Cancelled);
        }
        let file = builder.tempfile_in(folder).map_err(|e| Error::write(path, e))?;
        let path = file.path().to_owned();
        parts.open.push(path.clone());
        Ok(Self { file, listed: Listed(path) })
    }

    /// Gives the complete file its name.
    fn persist(self, place: &Path, path: &Path, existing: Existing) -> Result<()> {
        let Self { file, listed: _listed } = self;
        let failed = |e: std::io::Error| Error::write(path, e);
        if existing == Existing::KeepSame && place.exists() {
            let same = have_same_bytes(file.path(), place).map_err(failed)?;
            return if same { Ok(()) } else { Err(Error::Differs { path: path.to_owned() }) };
        }
        let result = match existing {
            Existing::Replace => {
                let old = replaced::hold(place);
                let result = file.persist(place);
                replaced::let_go(old);
                result
            }
            Existing::Refuse | Existing::KeepSame => file.persist_noclobber(place),
        };
        match result {
            Ok(_) => Ok(()),
            Err(e) if e.error.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(Error::Exists { path: path.to_owned() })
            }
            Err(e) => Err(failed(e.error)),
        }
    }
}

fn have_same_bytes(a: &Path, b: &Path) -> std::io::Result<bool> {
    let (mut a, mut b) = (File::open(a)?, File::open(b)?);
    if a.metadata()?.len() != b.metadata()?.len() {
        return Ok(false);
    }
    let (mut left, mut right) = (vec![0; 1 << 18], vec![0; 1 << 18]);
    loop {
        let count = a.read(&mut left)?;
        if count == 0 {
            return Ok(true);
        }
        b.read_exact(&mut right[..count])?;
        if left[..count] != right[..count] {
            return Ok(false);
        }
    }
}

/// The file that a path means: its folder without links, and the name of what a symbolic link there leads
/// to in the end, whether that exists or not.
fn place(path: &Path) -> Result<PathBuf> {
    /// Links that are followed, as many as Linux does.
    const MOST: usize = 40;
    let mut at = path.to_owned();
    for _ in 0..MOST {
        let Some(name) = at.file_name().map(ToOwned::to_owned) else {
            return Err(Error::write(path, "it names no file"));
        };
        let folder = folder_of(&at);
        let folder = folder
            .canonicalize()
            .map_err(|_| Error::NoFolder { path: path.to_owned(), folder: folder_of(&at) })?;
        at = folder.join(name);
        match std::fs::symlink_metadata(&at) {
            Ok(about) if about.is_symlink() => {
                let target = std::fs::read_link(&at).map_err(|e| Error::write(path, e))?;
                at = folder.join(target);
            }
            Ok(about) if about.is_dir() => return Err(Error::write(path, "it is a folder")),
            Ok(about) if !about.is_file() => {
                return Err(Error::write(path, "it is no regular file"));
            }
            _ => return Ok(at),
        }
    }
    Err(Error::write(path, "its symbolic links lead nowhere"))
}

pub(crate) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(output: Output<'_>, bytes: &[u8]) -> Result<()> {
        write_atomic(output, |w| w.write_all(bytes).map_err(|e| Error::write(output.path, e)))
    }

    #[test]
    fn a_failed_output_leaves_the_folder_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.bin");
        std::fs::write(&path, b"old").unwrap();
        let failed = write_atomic(Output::from(&path), |w| {
            w.write_all(b"half").unwrap();
            Err(Error::Cancelled)
        });
        assert!(matches!(failed, Err(Error::Cancelled)));
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        write(Output::from(&path), b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        let mine = lock().open.iter().filter(|p| p.starts_with(folder.path())).count();
        assert_eq!(mine, 0);
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

    #[test]
    fn a_file_that_is_to_stay_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.bin");
        let with = |existing| Output { path: &path, existing };
        write(with(Existing::Refuse), b"old").unwrap();
        assert!(matches!(check_output(with(Existing::Refuse)), Err(Error::Exists { .. })));
        assert!(matches!(write(with(Existing::Refuse), b"old"), Err(Error::Exists { .. })));
        write(with(Existing::KeepSame), b"old").unwrap();
        for other in [&b"new"[..], b"longer", b""] {
            let error = write(with(Existing::KeepSame), other).unwrap_err();
            assert!(matches!(error, Error::Differs { .. }), "{error}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    #[cfg(unix)]
    fn links_are_followed_and_found_out() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("inner")).unwrap();
        symlink("inner/real.bin", at("link.bin")).unwrap();
        symlink("link.bin", at("twice.bin")).unwrap();
        symlink("loop.bin", at("loop.bin")).unwrap();
        // The target need not exist.
        write(Output::from(&at("twice.bin")), b"first").unwrap();
        write(Output::from(&at("link.bin")), b"second").unwrap();
        assert!(at("link.bin").is_symlink() && at("twice.bin").is_symlink());
        assert_eq!(std::fs::read(at("inner/real.bin")).unwrap(), b"second");
        assert!(matches!(check_output(&at("loop.bin")), Err(Error::Write { .. })));

        std::fs::hard_link(at("inner/real.bin"), at("hard.bin")).unwrap();
        symlink("inner", at("again")).unwrap();
        symlink("new.bin", at("to-new.bin")).unwrap();
        let distinct = |a: &str, b: &str| {
            let as_input = check_distinct(&[at(a)], &[&at(b)]).is_ok();
            let as_output = check_distinct(&[], &[&at(a), &at(b)]).is_ok();
            assert_eq!(as_input, as_output);
            as_input
        };
        for one in ["link.bin", "twice.bin", "hard.bin", "again/real.bin", "inner/../hard.bin"] {
            assert!(!distinct("inner/real.bin", one), "{one}");
        }
        assert!(!distinct("to-new.bin", "new.bin"));
        assert!(!distinct("again/new.bin", "inner/new.bin"));
        assert!(distinct("inner/real.bin", "new.bin") && distinct("inner/new.bin", "new.bin"));
        let error = check_distinct(&[at("link.bin")], &[&at("hard.bin")]).unwrap_err().to_string();
        assert!(error.contains("link.bin") && error.contains("hard.bin"), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn what_is_no_regular_file_is_not_replaced() {
        assert!(matches!(check_output(Path::new("/dev/null")), Err(Error::Write { .. })));
    }
}
