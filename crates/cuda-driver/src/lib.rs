//! The CUDA driver API, bound at run time.
//!
//! The host crate `cust` calls the driver's C functions (`cuInit`, `cuLaunchKernel`, ...) as
//! ordinary external symbols. Linked the usual way, `-lcuda`, a program does not even start on a
//! machine without an NVIDIA driver, and nothing can stand in for the driver. This crate defines
//! those symbols itself, so a program starts anywhere, and decides at run time who answers:
//! `libcuda.so.1` ([`load_cuda`]) or the software device ([`load_with`]).
//!
//! # How it works
//!
//! Per symbol there is one slot, a pointer to the function that serves it, and one trampoline
//! with the symbol's name: a naked function of one instruction that jumps through the slot. A
//! jump leaves registers and stack as the caller made them, so a trampoline needs to know neither
//! the number nor the types of the arguments. Filling the table is a `dlsym` per symbol.
//!
//! - Before a driver is loaded every slot leads to a stub that returns
//!   `CUDA_ERROR_NOT_INITIALIZED`; the two functions that put errors into words work already, so
//!   that an early error can be displayed.
//! - A symbol that the loaded driver lacks returns `CUDA_ERROR_NOT_SUPPORTED`.
//!
//! `cust`'s build script and the linker still want a library called `cuda`: the empty archive in
//! `empty-libcuda/lib64`, which `.cargo/config.toml` names, satisfies both.
//!
//! It costs one predicted indirect jump a call, about a nanosecond, where a driver call takes
//! hundreds.
//!
//! # Use
//!
//! Load first, call the driver second. One driver serves a process: loading the other one later
//! is an error, loading the same one again is not.
//!
//! ```
//! match cuda_driver::load_cuda() {
//!     Ok(()) => println!("the driver is there"),
//!     Err(error) => println!("going on without a GPU: {error}"),
//! }
//! ```
//!
//! # Platforms
//!
//! Linux on x86-64 and AArch64. Elsewhere the crate compiles without the trampolines, so a
//! program must do without `cust` there (the algorithm crates' feature `cuda` switched off), and
//! loading answers [`LoadError::Platform`].
#![deny(missing_docs)]

mod error;
mod names;
mod symbols;

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use error::LoadError;
pub use names::{ErrorText, error_text};

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

/// Every driver function that this crate defines, by its exported name, sorted.
pub fn symbols() -> impl Iterator<Item = &'static str> {
    symbols::TABLE.iter().map(|(name, _)| *name)
}

/// Opens `libcuda.so.1` and lets it serve the process. Idempotent and thread-safe.
///
/// This neither initialises the driver nor asks for its version: call `cuInit` next.
///
/// # Errors
/// [`LoadError::NoLibrary`] without an NVIDIA driver, [`LoadError::NotADriver`] if the library is
/// something else, [`LoadError::OtherDriver`] if the software device serves the process already,
/// [`LoadError::Platform`] where there are no trampolines. A failed call changes nothing.
pub fn load_cuda() -> Result<(), LoadError> {
    install(Loaded::Cuda, || {
        // SAFETY: libcuda's initialisers are meant to run in any process.
        let library = unsafe { libloading::Library::new("libcuda.so.1") }
            .map_err(|error| LoadError::NoLibrary { reason: error.to_string() })?;
        let found = symbols::TABLE.map(|(name, _)| {
            // SAFETY: the symbol is only taken as an address here.
            let symbol = unsafe { library.get::<*const c_void>(name.as_bytes()) };
            // SAFETY: a function's address is a pointer to its code.
            symbol.ok().map(|symbol| unsafe { symbol.into_raw().into_raw() }.cast_const().cast())
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
/// [`LoadError::NotADriver`] without a `cuInit`, [`LoadError::Platform`] where there are no
/// trampolines.
pub unsafe fn load_with(lookup: impl Fn(&str) -> Option<*const c_void>) -> Result<(), LoadError> {
    install(Loaded::Software, || Ok(symbols::TABLE.map(|(name, _)| lookup(name))))
}

/// Fills the table with what `find` finds, unless a driver is there already.
fn install(
    driver: Loaded,
    find: impl FnOnce() -> Result<[Option<*const c_void>; symbols::COUNT], LoadError>,
) -> Result<(), LoadError> {
    if !symbols::SUPPORTED {
        return Err(LoadError::Platform);
    }
    let mut loaded = lock();
    match *loaded {
        Some(other) if other == driver => return Ok(()),
        Some(other) => return Err(LoadError::OtherDriver { loaded: other, wanted: driver }),
        None => {}
    }
    let found = find()?;
    let has_init =
        symbols::TABLE.iter().zip(&found).any(|((n, _), f)| *n == "cuInit" && f.is_some());
    if !has_init {
        return Err(LoadError::NotADriver { driver });
    }
    for ((name, slot), function) in symbols::TABLE.iter().zip(found) {
        slot.set(function.unwrap_or_else(|| names::fallback(name)));
    }
    *loaded = Some(driver);
    Ok(())
}
