//! The file that an output replaces.
//!
//! The system keeps a file that was written or read lately in its cache, and takes that back, page by page, when the last name
//! of the file goes: 0.1 to 0.3 s for a gigabyte, at the very end of a program. The file itself must stay as it is until the new
//! one is complete; its pages need not.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::room::LARGE;

/// A large file that was not written lately: its pages are on the disk as well.
pub(crate) fn at_rest(place: &Path) -> Option<File> {
    /// The system writes to the disk what has waited for half as long.
    const LONG: Duration = Duration::from_secs(60);
    let old = hold(place)?;
    let written = old.metadata().ok()?.modified().ok()?;
    (written.elapsed().ok()? > LONG).then_some(old)
}

/// A large file that is about to lose its name. While it is held its pages stay, and the new file gets the name at once.
pub(crate) fn hold(place: &Path) -> Option<File> {
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

/// Lets the system take back the pages of a file, until told to stop. Those that are not on the disk yet stay: it would begin
/// to write them there.
#[cfg(target_os = "linux")]
pub(crate) fn forget(old: &File, stop: &AtomicBool) {
    use std::num::NonZero;
    use std::sync::atomic::Ordering;

    use rustix::fs::{Advice, fadvise};

    let size = old.metadata().map_or(0, |about| about.len());
    let step = LARGE as u64;
    for first in (0..size).step_by(LARGE) {
        if stop.load(Ordering::Relaxed)
            || fadvise(old, first, NonZero::new(step), Advice::DontNeed).is_err()
        {
            return;
        }
    }
}

/// Elsewhere the system is not told.
#[cfg(not(target_os = "linux"))]
pub(crate) fn forget(_: &File, _: &AtomicBool) {}
