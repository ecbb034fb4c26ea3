//! The input files of a plan.

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use tile_plan::{Input, Stamp};

/// Returns the stamp of a file, by which a later run recognises it: its length, and the time of its last change or, on
/// a server, its version. The stamp of a virtual raster has the length of the raster and its sources, and the time of
/// their last change.
///
/// # Errors
/// The file, or a source, cannot be read.
pub fn stamp(path: &Path) -> Result<Stamp> {
    let (mut bytes, mut last, mut versions) = (0, Duration::ZERO, 0);
    for path in geo_io::raster_files(path)? {
        if let Some((length, version)) = geo_io::remote_version(&path)? {
            bytes += length;
            versions ^= version as i64;
            continue;
        }
        let failed = |reason| geo_io::Error::Read { path: path.clone(), reason };
        let about = std::fs::metadata(&path).map_err(failed)?;
        let changed = about.modified().map_err(failed)?;
        last = last.max(changed.duration_since(UNIX_EPOCH).unwrap_or_default());
        bytes += about.len();
    }
    Ok(Stamp { bytes, seconds: last.as_secs() as i64 ^ versions, nanoseconds: last.subsec_nanos() })
}

/// Returns an absolute name of a file, which is valid from any folder.
///
/// # Errors
/// The file is not there, or its name is not UTF-8.
pub fn name(path: &Path) -> Result<String> {
    if geo_io::is_url(path) {
        return Ok(path.display().to_string());
    }
    let place = path.canonicalize().with_context(|| path.display().to_string())?;
    match place.to_str() {
        Some(name) => Ok(name.to_owned()),
        None => bail!("{}: a plan takes only names in UTF-8", path.display()),
    }
}

/// Refuses an input that has changed since the plan was made.
///
/// # Errors
/// In the case that the summary names.
pub fn require_unchanged(input: &Input) -> Result<()> {
    let now = stamp(Path::new(&input.path))?;
    let path = &input.path;
    ensure!(
        Some(now) == input.stamp,
        "{path} has changed since you made the plan: make the plan again"
    );
    Ok(())
}
