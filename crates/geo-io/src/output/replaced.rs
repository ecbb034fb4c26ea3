//! The file that an output replaces.
//!
//! The system keeps a file that was written or read lately in its cache, and takes that back, page by page, when the last name
//! of the file goes: 0.1 to 0.3 s for a gigabyte. The file must stay as it is until the new one is complete, so that would be at
//! the very end of a program; but it can go on beside what the program does last.
//!
//! (To have the pages of an old file taken back while the new one is made, by `posix_fadvise`, gained between nothing and 0.3 s of
//! the 2.0 that it takes to put 3.7 GB in place of a file that lies on the disk.)

use std::fs::File;
use std::path::Path;

/// From this many bytes on a file is large: writing it is worth several threads, and letting go of it takes time.
pub(crate) const LARGE: usize = 64 << 20;

/// A large file that is about to lose its name. While it is held its pages stay, and the new file gets the name at once.
///
/// Where a name cannot be given to another file while one holds the old one, nothing is held.
pub(crate) fn hold(place: &Path) -> Option<File> {
    if !cfg!(unix) {
        return None;
    }
    let about = std::fs::symlink_metadata(place).ok()?;
    let is_large = about.is_file() && about.len() >= LARGE as u64;
    is_large.then(|| File::open(place).ok()).flatten()
}

/// Lets go of a file without a name, beside whatever the program does next, be it its end.
pub(crate) fn let_go(old: Option<File>) {
    if old.is_some() {
        // Without a thread it happens here.
        let _ = std::thread::Builder::new().spawn(move || drop(old));
    }
}
