//! What the tests share: a context on the software device, and launches of declared kernels.
#![allow(dead_code)]

use cust::context::Context;
use cust::error::CudaResult;
use cust::function::Function;
use cust::module::Module;
use cust::prelude::*;
use device_std::host::{HostKernel, Kernel};
use software_gpu::Report;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Orders that every kernel is tried in.
pub const SEEDS: [u64; 4] = [1, 2, 0xfeed, u64::MAX];

/// Loads the software device and makes its context current on this thread.
pub fn context() -> Context {
    software_gpu::load().unwrap();
    cust::init(CudaFlags::empty()).unwrap();
    Context::new(Device::get_device(0).unwrap()).unwrap()
}

/// Tests that read the reports, or set the seed, take turns: the whole process has one of each.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kernel's function. Its module is loaded once, and stays.
pub fn function(kernel: &'static HostKernel) -> Function<'static> {
    static LOADED: Mutex<BTreeMap<&str, &'static Module>> = Mutex::new(BTreeMap::new());
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let module: &'static Module = loaded.entry(kernel.name).or_insert_with(|| {
        software_gpu::register(kernel);
        let text = format!(".visible .entry {}(", kernel.entry_name());
        Box::leak(Box::new(Module::from_ptx(text, &[]).unwrap()))
    });
    module.get_function(kernel.entry_name()).unwrap()
}

/// Launches `kernel` with blocks of the declared size.
pub fn launch<A>(
    kernel: Kernel<A>,
    stream: &Stream,
    grid: u32,
    shared: u32,
    arguments: &[*mut c_void],
) -> CudaResult<()> {
    let function = function(kernel.host);
    // SAFETY: the tests give the arguments that their kernels take.
    unsafe { stream.launch(&function, grid, kernel.host.block, shared, arguments) }
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
