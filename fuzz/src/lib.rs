//! What the fuzz targets share: files in memory, a limit on memory, coordinates that are likely to hurt.

mod checksums;
mod features;
mod limited;
mod numbers;
mod rasters;
mod zarrs;

use std::backtrace::Backtrace;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

pub use checksums::{seal_bins, seal_ccq, seal_qtree};
pub use features::read_table;
pub use limited::LIMIT;
pub use numbers::{Coordinate, Place, columns};
pub use rasters::read_in_parts;
pub use zarrs::{ZARR_FILES, join_zarr, zarr};

/// The folder of this process's files: in memory where the system has such a place.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let_decoders_panic();
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let folder = parent.join(format!("tessera-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the inputs");
    folder
});

/// Lets panics in other crates unwind: decoders panic on damaged data, and geo-io makes errors of that. A panic that
/// nobody catches still ends the process. A panic of our own code ends it at once.
fn let_decoders_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let place = info.location().map_or("", |place| place.file());
        if !is_of_a_decoder(place) && !(is_of_std(place) && is_of_a_decoder(&caller_of_std())) {
            before(info);
        }
    }));
}

fn is_of_a_decoder(file: &str) -> bool {
    file.contains("/registry/src/")
}

fn is_of_std(file: &str) -> bool {
    file.starts_with("/rustc/")
}

/// Returns the file whose code called the standard library, in which a panic began: a product in an iterator that
/// overflows states the library's own place.
fn caller_of_std() -> String {
    let frames = Backtrace::force_capture().to_string();
    let files = frames.lines().filter_map(|line| line.trim_start().strip_prefix("at "));
    // The first frames are of the hook itself.
    let mut of_panic = files.skip_while(|file| !file.contains("/panicking.rs"));
    of_panic.find(|file| !is_of_std(file)).unwrap_or_default().to_owned()
}

/// Writes an input to a file of this name and returns its path. The next input of the same name replaces it.
pub fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = FOLDER.join(name);
    std::fs::write(&path, bytes).expect("an input is written");
    path
}

/// Returns an empty folder for inputs of several files.
pub fn empty_folder(name: &str) -> PathBuf {
    let path = FOLDER.join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder for an input");
    path
}
