//! The driver's library: the one file that knows the platform.

use libloading::Library;

use crate::LoadError;

/// The names of the driver's library. NVIDIA has no driver for macOS.
const NAMES: &[&str] = if cfg!(windows) {
    &["nvcuda.dll"]
} else if cfg!(target_os = "macos") {
    &[]
} else {
    &["libcuda.so.1", "libcuda.so"]
};

/// Opens the driver's library, under the first of its names that there is.
pub(crate) fn open() -> Result<Library, LoadError> {
    let mut reason = None;
    for name in NAMES {
        // SAFETY: the driver's initialisers are meant to run in any process.
        match unsafe { Library::new(*name) } {
            Ok(library) => return Ok(library),
            Err(error) => {
                let why = std::error::Error::source(&error).map(ToString::to_string);
                let why = why.unwrap_or_else(|| error.to_string());
                let named = if why.contains(name) { why } else { format!("{name}: {why}") };
                reason = reason.or(Some(named));
            }
        }
    }
    let reason = reason.unwrap_or_else(|| "there is none for this platform".to_owned());
    Err(LoadError::NoLibrary { reason })
}
