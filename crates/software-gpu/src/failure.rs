//! Makes driver calls fail, for tests.

use cuda_driver::Status as Code;
use std::cell::Cell;

/// A kind of driver call that can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// An allocation of device memory. From the named allocation on, all fail, as if memory had run out.
    Allocation,
    /// Between host and device, or on the device.
    Copy,
    /// Setting device memory to a value.
    Fill,
    /// A launch of a kernel.
    Launch,
    /// A load of a module. Modules stay loaded, so loading can fail only before the first use of a module.
    ModuleLoad,
}

impl Operation {
    fn code(self) -> Code {
        match self {
            Self::Allocation => Code::CUDA_ERROR_OUT_OF_MEMORY,
            Self::Copy | Self::Fill => Code::CUDA_ERROR_UNKNOWN,
            Self::Launch => Code::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
            Self::ModuleLoad => Code::CUDA_ERROR_NO_BINARY_FOR_GPU,
        }
    }
}

#[derive(Clone, Copy)]
struct Plan {
    operation: Operation,
    /// Calls that still succeed.
    left: u64,
    happened: bool,
}

thread_local! {
    static PLAN: Cell<Option<Plan>> = const { Cell::new(None) };
}

/// Failures planned by [`fail`]; dropping it ends them.
#[derive(Debug)]
#[must_use = "dropped, nothing fails"]
pub struct Failure(());

/// Makes one call of this kind on this thread fail: the first after `successes` calls that succeed. The call then does
/// nothing and returns an error, as the real driver might.
///
/// Only one plan is active: a second plan replaces the first.
pub fn fail(operation: Operation, successes: u64) -> Failure {
    PLAN.set(Some(Plan { operation, left: successes, happened: false }));
    Failure(())
}

impl Failure {
    /// Whether the program has made the call, which then failed.
    pub fn happened(&self) -> bool {
        PLAN.get().is_some_and(|plan| plan.happened)
    }
}

impl Drop for Failure {
    fn drop(&mut self) {
        PLAN.set(None);
    }
}

/// The error of a call of this kind that is to fail.
pub(crate) fn check(operation: Operation) -> Result<(), Code> {
    let Some(mut plan) = PLAN.get().filter(|plan| plan.operation == operation) else {
        return Ok(());
    };
    let fails = plan.left == 0 && (!plan.happened || operation == Operation::Allocation);
    plan.happened |= fails;
    plan.left = plan.left.saturating_sub(1);
    PLAN.set(Some(plan));
    if fails { Err(operation.code()) } else { Ok(()) }
}
