//! The CUDA driver API, bound at run time.
//!
//! A program that links `libcuda` does not even start on a machine without an NVIDIA driver, and nothing can replace
//! the driver. This crate declares the driver's functions ([`sys`]) and decides at run time what serves them: the
//! driver's library ([`load_cuda`]) or the software device ([`load_with`]). It needs no CUDA toolkit, neither to build
//! nor to run, and defines no symbol of the driver's, so that a program can hold other CUDA libraries beside it.
//!
//! # Use
//!
//! Load first, call the driver second. One driver serves a process. To load the other one later is an error; to load
//! the same one again is not.
//!
//! ```
//! match cuda_driver::load_cuda() {
//!     Ok(()) => println!("the driver is there"),
//!     Err(error) => println!("going on without a GPU: {error}"),
//! }
//! ```
//!
//! # Features
//!
//! `trampolines` (off by default): the crate also defines the driver's symbols, for a program that uses the host crate
//! `cust` 0.3, which calls them. Then every call of `cust` uses the same table. A program with this feature also starts
//! without a driver. `cust`'s build script and the linker still need a library called `cuda`. Set the environment
//! variable `CUDA_LIBRARY_PATH` to `empty-libcuda`, whose `lib64` has an empty archive for the build. Linux on x86-64
//! and AArch64.
//!
//! # Platforms
//!
//! Linux (`libcuda.so.1`) is tested, on x86-64. Windows (`nvcuda.dll`) is supported but not tested. Elsewhere
//! everything builds, and [`load_cuda`] says that there is no driver.
#![deny(missing_docs)]

pub mod attribute;
mod error;
mod functions;
mod library;
mod slots;
mod status;
/// The types of the driver's functions, by name. A substitute for CUDA's driver checks its own functions against these
/// types.
pub mod signatures {
    pub use crate::sys::all_signatures::*;
}
pub mod sys;
#[cfg(all(
    feature = "trampolines",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod trampolines;
#[cfg(all(
    feature = "trampolines",
    not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))
))]
compile_error!("the feature \"trampolines\" of cuda-driver is for Linux on x86-64 and AArch64");

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use error::LoadError;
pub use status::{Status, StatusText};

/// The drivers that can serve a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// NVIDIA's `libcuda`.
    Cuda,
    /// The software device.
    Software,
}

impl std::fmt::Display for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Loaded::Cuda => "the CUDA driver",
            Loaded::Software => "the software device",
        })
    }
}

static LOADED: Mutex<Option<Loaded>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Loaded>> {
    LOADED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Which driver serves this process, if one was loaded.
pub fn loaded() -> Option<Loaded> {
    *lock()
}

/// Lists every driver function that a loaded driver can serve, by its name in the driver's library.
pub fn symbols() -> impl Iterator<Item = &'static str> {
    slots().map(|(name, _)| name)
}

/// Every symbol that can be served, with its slot.
fn slots() -> impl Iterator<Item = (&'static str, &'static slots::Slot)> {
    #[cfg(feature = "trampolines")]
    let rest = trampolines::REST;
    #[cfg(not(feature = "trampolines"))]
    let rest: &[(&str, &slots::Slot)] = &[];
    slots::TYPED.iter().chain(rest).copied()
}

/// Opens the driver's library and lets it serve the process. Idempotent and thread-safe.
///
/// This neither initialises the driver nor asks for its version: call `cuInit` next.
///
/// # Errors
/// [`LoadError::NoLibrary`] without an NVIDIA driver, [`LoadError::NotADriver`] if the library is
/// something else, [`LoadError::OtherDriver`] if the software device serves the process already.
/// A failed call changes nothing.
pub fn load_cuda() -> Result<(), LoadError> {
    install(Loaded::Cuda, || {
        let library = library::open()?;
        let found = find(|name| {
            // SAFETY: the symbol is only taken as an address here.
            let symbol = unsafe { library.get::<*const c_void>(name.as_bytes()) }.ok()?;
            // SAFETY: a function's address is a pointer to its code.
            unsafe { symbol.try_as_raw_ptr() }.map(|address| address.cast_const())
        });
        // The slots point into it for the rest of the process.
        std::mem::forget(library);
        Ok(found)
    })
}

/// Lets the functions that `lookup` finds by name serve the process, as [`Loaded::Software`].
/// Idempotent and thread-safe; symbols for which `lookup` has nothing are not supported.
///
/// # Safety
/// Each address must be a function with the signature that the CUDA driver documents under that
/// name, valid until the process ends.
///
/// # Errors
/// [`LoadError::OtherDriver`] if the CUDA driver serves the process already,
/// [`LoadError::NotADriver`] without a `cuInit`.
pub unsafe fn load_with(lookup: impl Fn(&str) -> Option<*const c_void>) -> Result<(), LoadError> {
    install(Loaded::Software, || Ok(find(lookup)))
}

/// For each slot, the driver's function.
type Found = Vec<(&'static str, &'static slots::Slot, Option<*const c_void>)>;

fn find(lookup: impl Fn(&str) -> Option<*const c_void>) -> Found {
    slots().map(|(name, slot)| (name, slot, lookup(name))).collect()
}

/// Fills the table with what `find` finds, unless a driver is there already.
fn install(
    driver: Loaded,
    find: impl FnOnce() -> Result<Found, LoadError>,
) -> Result<(), LoadError> {
    let mut loaded = lock();
    match *loaded {
        Some(other) if other == driver => return Ok(()),
        Some(other) => return Err(LoadError::OtherDriver { loaded: other, wanted: driver }),
        None => {}
    }
    let found = find()?;
    if !found.iter().any(|(name, _, function)| *name == "cuInit" && function.is_some()) {
        return Err(LoadError::NotADriver { driver });
    }
    for (name, slot, function) in found {
        slot.set(function.unwrap_or_else(|| missing(name)));
    }
    *loaded = Some(driver);
    Ok(())
}

/// Returns the function that stands in for `symbol` if the loaded driver lacks it.
fn missing(symbol: &str) -> *const c_void {
    match symbol {
        "cuGetErrorName" => status::get_error_name as *const c_void,
        "cuGetErrorString" => status::get_error_string as *const c_void,
        _ => status::not_supported as *const c_void,
    }
}
