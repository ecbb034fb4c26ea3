//! Inputs that can be read once, from their beginning to their end: named pipes, standard input, `<(..)` of a shell. Readers
//! seek, and some look at a header first; so what comes through a pipe goes to a temporary file, which stands for the pipe
//! until its points were read.

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

/// What came through pipes, by their names.
static KEPT: Mutex<Option<HashMap<PathBuf, File>>> = Mutex::new(None);

fn kept() -> MutexGuard<'static, Option<HashMap<PathBuf, File>>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a path names something that can be read once.
pub(crate) fn is_stream(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir())
}

/// What comes through a pipe, or through standard input for `-`, as a file at its beginning.
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
                    "it is a pipe to which nobody writes: start what writes to it first",
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

/// Whether a file that has no ending begins as LAS and LAZ do.
pub(crate) fn is_las(path: &Path) -> Result<bool> {
    const SIGNATURE: &[u8] = b"LASF";
    if path.as_os_str() == "-" {
        // Who reads standard input after this gets what was looked at.
        let mut stdin = io::stdin().lock();
        let start = io::BufRead::fill_buf(&mut stdin).map_err(|e| Error::read(path, e))?;
        return Ok(start.starts_with(SIGNATURE));
    }
    let file = if is_stream(path) { open(path)? } else { crate::points::open(path)?.0 };
    let mut start = Vec::new();
    file.take(4).read_to_end(&mut start).map_err(|e| Error::read(path, e))?;
    Ok(start == SIGNATURE)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::{Filter, LasPoints, read_header, read_points, write_las};

    fn pipe(path: &Path) {
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    }

    #[test]
    fn a_pipe_to_which_nobody_writes_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.las");
        pipe(&path);
        let mut file = tempfile::tempfile().unwrap();
        let error = copy(&path, &mut file, Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("nobody writes"), "{error}");
    }

    /// To open a pipe and to close it would end its writer, or wait for one for ever.
    #[test]
    fn a_pipe_beside_an_output_that_exists_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let [input, output] = ["x.csv", "dem.tif"].map(|name| folder.path().join(name));
        std::fs::write(&output, "before").unwrap();
        pipe(&input);
        let inputs = [input.clone()];
        crate::check_distinct(&inputs, &[&output]).unwrap();
        assert!(crate::check_distinct(&inputs, &[&input]).is_err());
        let to = input.clone();
        let writer = std::thread::spawn(move || std::fs::write(to, "0 0 1\n1 0 2\n0 1 3\n"));
        std::thread::sleep(Duration::from_millis(50));
        crate::check_distinct(&inputs, &[&output]).unwrap();
        let read = read_points(&input, &Filter::default(), &Default::default(), &gpu_core::Silent)
            .unwrap();
        writer.join().unwrap().unwrap();
        assert_eq!(read.len(), 3);
    }

    #[test]
    fn rasters_and_polygons_come_through_pipes() {
        let folder = tempfile::tempdir().unwrap();
        let square = r#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}"#;
        let tiff = testing::files::tiff::Tiff::of_bytes(2, &[1, 2, 3, 4]);
        for (name, bytes) in [("a.tif", tiff.bytes()), ("b.geojson", square.into())] {
            let path = folder.path().join(name);
            pipe(&path);
            let to = path.clone();
            let writer = std::thread::spawn(move || std::fs::write(to, bytes));
            if name == "a.tif" {
                let raster = crate::read_raster(&path, None).unwrap();
                assert_eq!(raster.values, crate::ArrayData::U8(vec![1, 2, 3, 4]));
            } else {
                assert_eq!(crate::read_polygons(&path).unwrap().shapes.len(), 1);
            }
            writer.join().unwrap().unwrap();
        }
    }

    #[test]
    fn points_come_through_pipes_of_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let whole = folder.path().join("whole.laz");
        let x: Vec<f64> = (0..5000).map(f64::from).collect();
        let points = LasPoints { x: &x, y: &x, z: &x, ..Default::default() };
        write_las(&whole, &points, None).unwrap();
        let table: String = (0..5000).map(|i| format!("{i} {i} {i}\n")).collect();
        for (name, bytes) in [
            ("a.laz", std::fs::read(&whole).unwrap()),
            ("las_without_ending", std::fs::read(&whole).unwrap()),
            ("b.xyz", table.clone().into_bytes()),
            ("table_without_ending", table.into_bytes()),
        ] {
            let path = folder.path().join(name);
            pipe(&path);
            let to = path.clone();
            let writer = std::thread::spawn(move || std::fs::write(to, bytes).unwrap());
            // The header first, as a program may.
            let header = read_header(&path).unwrap();
            assert_eq!(header.is_some(), name == "a.laz");
            let read =
                read_points(&path, &Filter::default(), &Default::default(), &gpu_core::Silent);
            assert_eq!(read.unwrap().x, x, "{name}");
            writer.join().unwrap();
            assert!(kept().as_ref().is_none_or(|files| !files.contains_key(&path)));
        }
    }
}
