//! What can go wrong when a driver is loaded.

use crate::Loaded;

/// Why a driver could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// There is no NVIDIA driver on this machine, or it cannot be opened.
    #[error("no CUDA driver: {reason}")]
    NoLibrary {
        /// What the dynamic linker said.
        reason: String,
    },
    /// The library that was opened lacks `cuInit`.
    #[error("{driver} has no function cuInit")]
    NotADriver {
        /// The library that was opened.
        driver: Loaded,
    },
    /// Another driver serves this process already; a process has one.
    #[error("cannot load {wanted}: {loaded} serves this process already")]
    OtherDriver {
        /// The driver in place.
        loaded: Loaded,
        /// The driver that the caller wanted.
        wanted: Loaded,
    },
}
