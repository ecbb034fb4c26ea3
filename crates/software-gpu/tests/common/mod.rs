//! What the tests share: a context on the software device, and launches of declared kernels.
#![allow(dead_code)]

pub mod host;

use cuda_driver::Status;
use cuda_driver::sys::CUfunction;
use device_std::host::{HostKernel, Kernel};
use host::{Context, Module, Stream};
use software_gpu::Report;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Orders that every kernel is tried in.
pub const SEEDS: [u64; 4] = [1, 2, 0xfeed, u64::MAX];

/// Loads the software device and makes its context current on this thread.
pub fn context() -> Context {
    software_gpu::load().unwrap();
    Context::new()
}

/// Tests that look at the reports, or set the seed, take turns: both are the whole process's.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kernel's function. Its module is loaded once, and stays.
pub fn function(kernel: &'static HostKernel) -> CUfunction {
    static LOADED: Mutex<BTreeMap<&str, CUfunction>> = Mutex::new(BTreeMap::new());
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    *loaded.entry(kernel.name).or_insert_with(|| {
        software_gpu::register(kernel);
        let name = kernel.entry_name();
        Module::from_ptx(&format!(".visible .entry {name}(")).function(&name).unwrap()
    })
}

/// Launches `kernel` with blocks of the declared size.
pub fn launch<A>(
    kernel: Kernel<A>,
    stream: &Stream,
    grid: u32,
    shared: u32,
    arguments: &[*mut c_void],
) -> Result<(), Status> {
    let function = function(kernel.host);
    // SAFETY: the tests give the arguments that their kernels take.
    unsafe { stream.launch(function, (grid, 1), kernel.host.block, shared, arguments) }
}

/// `launch!(kernel, stream, grid, shared, arguments..)`: as [`launch`].
#[macro_export]
macro_rules! launch {
    ($kernel:expr, $stream:expr, $grid:expr, $shared:expr $(, $argument:expr)* $(,)?) => {
        $crate::common::launch(
            $kernel,
            $stream,
            $grid,
            $shared,
            &[$(std::ptr::from_ref(&$argument).cast_mut().cast::<std::ffi::c_void>()),*],
        )
    };
}

/// The one report there is.
pub fn only_report() -> Report {
    let mut reports = software_gpu::take_reports();
    assert_eq!(reports.len(), 1, "{reports:#?}");
    reports.remove(0)
}
