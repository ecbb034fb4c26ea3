//! Output files that appear whole or not at all, and never in place of something that matters.
//!
//! [`gpu_core::files`] writes them: under a temporary name in the same folder; files get their final name when all
//! bytes are on the disk. This module decides which files an output may replace, and which names mean the same output.

pub(crate) mod folder;
pub(crate) mod preallocated;
pub(crate) mod replaced;
pub(crate) mod together;

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Read};
use std::path::{Path, PathBuf};

use gpu_core::Cancelled;
use gpu_core::files::{self, Complete, NoFolder, Unfinished};

pub(crate) use gpu_core::files::folder_of;

use crate::output::folder::PendingFolder;
use crate::output::together::Nameless;
use crate::points::ending;
use crate::rasters::zarr::is_zarr;
use crate::{Error, Result, raster_files};

/// How to treat a file that already has the name of an output.
///
/// ```
/// use geo_io::{Existing, Output, write_file};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("log.txt");
/// std::fs::write(&path, "old")?;
/// let output = Output { path: &path, existing: Existing::Refuse };
/// assert!(write_file(output, |_| Ok(())).is_err());
/// assert_eq!(std::fs::read_to_string(&path)?, "old");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// It is replaced.
    #[default]
    Replace,
    /// The file stays, and the output fails.
    Refuse,
    /// The file stays. The output succeeds if it would have the same bytes, else it fails.
    KeepSame,
}

/// Where an output goes. A plain path replaces an existing file.
///
/// If the path is a symbolic link, the output replaces the link's target.
///
/// Example: see [`Existing`].
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    /// The file.
    pub path: &'a Path,
    /// How to treat an existing file.
    pub existing: Existing,
}

impl<'a, P: AsRef<Path> + ?Sized> From<&'a P> for Output<'a> {
    fn from(path: &'a P) -> Self {
        Self { path: path.as_ref(), existing: Existing::Replace }
    }
}

/// Checks, before long work, that an output can be written: its folder exists and takes new files, and nothing blocks
/// it. Leaves nothing behind. The path `-` stands for standard output.
///
/// ```
/// use geo_io::{Error, check_output};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("out.tif");
/// assert!(check_output(&path).is_ok() && !path.exists());
/// let missing = folder.path().join("no-such-folder").join("out.tif");
/// assert!(matches!(check_output(&missing), Err(Error::NoFolder { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - [`Error::NoFolder`]: the folder is missing.
/// - [`Error::Exists`]: the file exists and must stay.
/// - [`Error::Write`]: the file is read-only, or another error.
pub fn check_output<'a>(output: impl Into<Output<'a>>) -> Result<()> {
    let output = output.into();
    if output.path.as_os_str() == "-" {
        return Ok(());
    }
    match is_zarr(output.path) {
        true => PendingFolder::begin(output).map(drop),
        false => Pending::begin(output).map(drop),
    }
}

/// Checks, before long work, that each output is a separate file: not an input, nor a source of a virtual raster among
/// the inputs, nor another output. Two names mean one file if they are links to it, symbolic or not.
///
/// ```
/// use std::path::{Path, PathBuf};
/// use geo_io::{Error, check_distinct};
///
/// let input = PathBuf::from("dem.tif");
/// assert!(check_distinct(&[input.clone()], &[Path::new("slope.tif")]).is_ok());
/// assert!(matches!(check_distinct(&[input], &[Path::new("dem.tif")]), Err(Error::SameFile { .. })));
/// ```
///
/// # Errors
/// [`Error::SameFile`] with the two names.
pub fn check_distinct(inputs: &[PathBuf], outputs: &[&Path]) -> Result<()> {
    const OTHER: &str = "the output";
    // What is wrong with a virtual raster is said when it is read.
    let virtual_rasters = inputs.iter().filter(|input| ending(input) == "vrt");
    let sources: Vec<PathBuf> =
        virtual_rasters.flat_map(|input| raster_files(input).unwrap_or_default()).collect();
    for (i, output) in outputs.iter().enumerate() {
        for (other, role) in inputs
            .iter()
            .chain(&sources)
            .map(|input| (input.as_path(), "the input"))
            .chain(outputs[..i].iter().map(|other| (*other, OTHER)))
        {
            let are_one_pipe = role == OTHER && [output, &other].iter().all(|path| is_pipe(path));
            if are_one_pipe || is_one_file(output, other) || is_folder_of(output, other) {
                let (path, other) = (output.to_path_buf(), other.to_owned());
                return Err(Error::SameFile { path, role, other });
            }
        }
    }
    Ok(())
}

/// Whether a file lies in a folder, which an output would replace with all that it holds: a Zarr group with its arrays.
fn is_folder_of(folder: &Path, file: &Path) -> bool {
    folder.is_dir()
        && match (std::fs::canonicalize(folder), std::fs::canonicalize(file)) {
            (Ok(folder), Ok(file)) => file.starts_with(folder),
            _ => false,
        }
}

/// Whether a path stands for standard input or output.
fn is_pipe(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn is_one_file(a: &Path, b: &Path) -> bool {
    // Standard input and standard output are two.
    if is_pipe(a) || is_pipe(b) {
        return false;
    }
    // What is not there cannot be asked for its device and number: then the names decide.
    is_same_file(a, b).unwrap_or_else(|_| match (place(a), place(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    })
}

/// Whether two files that are there are one. Neither is opened: to open a pipe and to close it ends whoever writes to it.
#[cfg(unix)]
fn is_same_file(a: &Path, b: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let identity = |path: &Path| std::fs::metadata(path).map(|about| (about.dev(), about.ino()));
    Ok(identity(a)? == identity(b)?)
}

#[cfg(not(unix))]
fn is_same_file(a: &Path, b: &Path) -> std::io::Result<bool> {
    same_file::is_same_file(a, b)
}

/// Writes a file of any kind through `fill`. The file gets its name when it is complete.
///
/// ```
/// use std::io::Write;
/// use geo_io::write_file;
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("log.txt");
/// write_file(&path, |file| writeln!(file, "done"))?;
/// assert_eq!(std::fs::read_to_string(&path)?, "done\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of [`check_output`], and [`Error::Write`] with what `fill` met.
pub fn write_file<'a>(
    output: impl Into<Output<'a>>,
    fill: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<()> {
    let output = output.into();
    write_atomic(output, |writer| fill(writer).map_err(|e| Error::write(output.path, e)))
}

/// Writes a file through `fill`, which may seek. The file takes its name when all of it is there.
pub(crate) fn write_atomic(
    output: Output<'_>,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
) -> Result<()> {
    let mut pending = Pending::begin(output)?;
    fill(pending.unfinished.writer())?;
    pending.finish()
}

/// An output under way: a temporary file, which is removed unless it is [finished](Pending::finish).
pub(crate) struct Pending {
    unfinished: Unfinished,
    place: PathBuf,
    path: PathBuf,
    existing: Existing,
}

impl Pending {
    /// Makes a new file beside the place of an output that [can be written](check_output).
    pub fn begin(Output { path, existing }: Output<'_>) -> Result<Self> {
        let place = place(path)?;
        if existing == Existing::Refuse && place.exists() {
            return Err(Error::Exists { path: path.to_owned() });
        }
        if existing == Existing::Replace {
            files::require_replaceable(&place).map_err(|e| failed(path, e))?;
        }
        let unfinished = Unfinished::beside(&place).map_err(|e| failed(path, e))?;
        Ok(Self { unfinished, place, path: path.to_owned(), existing })
    }

    /// The temporary file.
    pub fn file(&self) -> &File {
        self.unfinished.file()
    }

    /// The name of the output in messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the file to the disk and gives it its name.
    pub fn finish(self) -> Result<()> {
        let Self { unfinished, place, path, existing } = self;
        let file = unfinished.complete().map_err(|e| failed(&path, e))?;
        together::finish(CompleteFile { file, place, path, existing, is_same: false })
    }
}

/// A file that lacks nothing but its name.
struct CompleteFile {
    file: Complete,
    place: PathBuf,
    path: PathBuf,
    existing: Existing,
    /// Whether the file that has the name already has the same bytes.
    is_same: bool,
}

impl Nameless for CompleteFile {
    fn check(&mut self) -> Result<()> {
        let (place, path) = (&self.place, || self.path.clone());
        match self.existing {
            Existing::Replace => {
                files::require_replaceable(place).map_err(|e| failed(&self.path, e))
            }
            _ if !place.exists() => Ok(()),
            Existing::Refuse => Err(Error::Exists { path: path() }),
            Existing::KeepSame => {
                let same = have_same_bytes(self.file.path(), place);
                self.is_same = same.map_err(|e| failed(&self.path, e))?;
                if self.is_same { Ok(()) } else { Err(Error::Differs { path: path() }) }
            }
        }
    }

    fn take_name(self: Box<Self>) -> Result<()> {
        let Self { file, place, path, existing, is_same } = *self;
        if is_same {
            return Ok(());
        }
        let may_replace = existing == Existing::Replace;
        let old = may_replace.then(|| replaced::hold(&place)).flatten();
        let named = file.take_name(may_replace);
        replaced::let_go(old);
        named.map_err(|e| failed(&path, e))
    }
}

/// Turns an error of [`files`] into one of an output.
pub(crate) fn failed(path: &Path, error: std::io::Error) -> Error {
    let path = path.to_owned();
    let cause = error.get_ref();
    if let Some(NoFolder(folder)) = cause.and_then(|cause| cause.downcast_ref()) {
        return Error::NoFolder { path, folder: folder.clone() };
    }
    if cause.is_some_and(|cause| cause.is::<Cancelled>()) {
        return Error::Cancelled;
    }
    match error.kind() {
        ErrorKind::AlreadyExists => Error::Exists { path },
        _ => Error::write(&path, error),
    }
}

/// The file that a path means ([`files::place`]).
fn place(path: &Path) -> Result<PathBuf> {
    files::place(path).map_err(|e| failed(path, e))
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

#[cfg(test)]
mod tests {
    use std::io::Write;

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
    fn a_read_only_output_is_refused_before_the_work_and_may_stay_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let (file, store) = (folder.path().join("out.bin"), folder.path().join("out.zarr"));
        write(Output::from(&file), b"old").unwrap();
        std::fs::create_dir(&store).unwrap();
        std::fs::write(store.join("zarr.json"), r#"{"zarr_format":3,"node_type":"array"}"#)
            .unwrap();
        let set = |path: &Path, is_read_only: bool| {
            let mut rights = std::fs::metadata(path).unwrap().permissions();
            rights.set_readonly(is_read_only);
            std::fs::set_permissions(path, rights).unwrap();
        };
        for path in [&file, &store] {
            check_output(path).unwrap();
            set(path, true);
            let error = check_output(path).unwrap_err().to_string();
            let words = [path.to_str().unwrap(), "read-only", "chmod u+w"];
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        }
        write(Output { path: &file, existing: Existing::KeepSame }, b"old").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"old");
        [&file, &store].iter().for_each(|path| set(path, false));
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
