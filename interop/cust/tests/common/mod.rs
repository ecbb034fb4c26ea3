//! What the tests share: a context on the software device, and launches of declared kernels.
#![allow(dead_code)]

use cust::context::Context;
use cust::error::CudaResult;
use cust::module::Module;
use cust::prelude::*;
use device_std::host::{Kernel, PtxModule, PtxText};
use software_gpu::Report;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Orders that every kernel is tried in.
pub const SEEDS: [u64; 4] = [1, 2, 0xfeed, u64::MAX];

/// Loads the software device and makes its context current on this thread.
pub fn context() -> Context {
    software_gpu::load().unwrap();
    cust::init(CudaFlags::empty()).unwrap();
    Context::new(Device::get_device(0).unwrap()).unwrap()
}

/// Tests that look at the reports, or set the seed, take turns: both are the whole process's.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The module, loaded once.
pub fn load(module: &'static PtxModule) -> &'static Module {
    static LOADED: OnceLock<Module> = OnceLock::new();
    LOADED.get_or_init(|| {
        software_gpu::register(module);
        let PtxText::Plain(text) = module.images[0].text else { panic!("the tests' PTX is text") };
        Module::from_ptx(text, &[]).unwrap()
    })
}

/// Launches `kernel` with blocks of the declared size.
pub fn launch<A>(
    kernel: Kernel<A>,
    stream: &Stream,
    grid: u32,
    shared: u32,
    arguments: &[*mut c_void],
) -> CudaResult<()> {
    let function = load(kernel.module()).get_function(kernel.host.name)?;
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
