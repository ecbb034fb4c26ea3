//! The table of functions: for each symbol, the address of the function that serves it.
#![allow(non_upper_case_globals)]

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::functions::driver_functions;
use crate::status;

/// The address of the function that serves a symbol.
#[repr(transparent)]
pub(crate) struct Slot(AtomicPtr<c_void>);

impl Slot {
    pub(crate) const fn new(function: *const c_void) -> Self {
        Self(AtomicPtr::new(function.cast_mut()))
    }

    /// A slot of a driver that is not loaded.
    pub(crate) const fn empty() -> Self {
        Self::new(status::not_initialized as *const c_void)
    }

    /// Makes `function` serve the symbol from now on.
    pub(crate) fn set(&self, function: *const c_void) {
        self.0.store(function.cast_mut(), Ordering::Release);
    }

    /// Returns the function that the symbol calls now.
    pub(crate) fn get(&self) -> *const c_void {
        self.0.load(Ordering::Acquire)
    }
}

macro_rules! slots {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)+) => {
        $(pub(crate) static $name: Slot = Slot::empty();)+

        /// The functions that Tessera calls, with their slots.
        pub(crate) static TYPED: &[(&str, &Slot)] = &[$((stringify!($name), &$name)),+];
    };
}

driver_functions!(slots);
