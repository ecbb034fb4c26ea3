//! Launches, and the checks before and after them.

use super::device::{self, MAX_GRID, SHARED_MEMORY};
use super::module::Function;
use super::{Code, Outcome, call_in_context, context, module, stream};
use crate::failure::{self, Operation};
use crate::memory::{self, Busy, Used};
use crate::order::Access;
use crate::report::{Kind, Report};
use crate::scheduler::Launch;
use cuda_driver::sys::{CUfunction, CUstream};
use device_std::host::HostKernel;
use std::ffi::{c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The shape of a launch.
#[derive(Clone, Copy)]
struct Shape {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
}

// SAFETY (everywhere in this module): the driver's interface promises that the parameters are a
// pointer to a value of each of the kernel's parameters, in order.

#[allow(clippy::too_many_arguments)]
pub(super) unsafe extern "C" fn cuLaunchKernel(
    function: CUfunction,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    on_stream: CUstream,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Code {
    let function = function.0.addr();
    let on_stream = on_stream.0.addr();
    call_in_context(|| {
        failure::check(Operation::Launch)?;
        stream::known(on_stream)?;
        let function = module::function(function)?;
        let kernel = function.kernel;
        let shape =
            Shape { grid: [grid_x, grid_y, grid_z], block: [block_x, block_y, block_z], shared };
        check_shape(kernel, &shape, function.max_shared.load(Ordering::Relaxed))
            .map_err(|message| refuse(kernel, message))?;
        if !extra.is_null() || (parameters.is_null() && !kernel.parameters.is_empty()) {
            return Err(refuse(kernel, "the arguments must come as one pointer each".to_owned()));
        }
        // SAFETY: as above.
        let arguments = unsafe { Arguments::copy(kernel, parameters.cast_const().cast()) }
            .map_err(|message| refuse(kernel, message))?;
        let arguments = Arc::new(arguments);
        let number = context::current()?;
        let run = move |stream| run(&function, shape, &arguments, stream);
        let outcome = stream::enqueue(on_stream, run);
        device::count_launch(number);
        outcome
    })
}

/// Reports a launch that cannot be.
fn refuse(kernel: &HostKernel, message: String) -> Code {
    Report::new(Kind::Launch, message).in_kernel(kernel.name).file();
    Code::CUDA_ERROR_INVALID_VALUE
}

/// Runs a launch whose shape was found good.
fn run(function: &Function, shape: Shape, arguments: &Arguments, stream: usize) -> Outcome {
    let kernel = function.kernel;
    let busy = arguments.check_pointers(kernel).map_err(|message| refuse(kernel, message))?;
    let ordered = arguments.used(kernel).on(stream, &format!("kernel {}", kernel.name));
    let pointers = arguments.pointers();
    // SAFETY: the arguments are those of the kernel, and `pointers` outlives the launch.
    let launch = unsafe { Launch::new(kernel, shape.grid, shape.shared, pointers.as_ptr()) };
    let result = launch.run();
    let damage = busy.finish();
    let damaged = !damage.is_empty();
    damage.into_iter().for_each(|report| report.in_kernel(kernel.name).file());
    result.map_err(|report| {
        let code = code_of(report.kind);
        report.file();
        code
    })?;
    ordered.map_err(|report| {
        report.in_kernel(kernel.name).file();
        Code::CUDA_ERROR_LAUNCH_FAILED
    })?;
    if damaged { Err(Code::CUDA_ERROR_ILLEGAL_ADDRESS) } else { Ok(()) }
}

/// Blocks of a cooperative launch wait for one another, so all must be resident: not supported.
#[allow(clippy::too_many_arguments)]
pub(super) extern "C" fn cuLaunchCooperativeKernel(
    _function: usize,
    _grid_x: c_uint,
    _grid_y: c_uint,
    _grid_z: c_uint,
    _block_x: c_uint,
    _block_y: c_uint,
    _block_z: c_uint,
    _shared: c_uint,
    _on_stream: usize,
    _parameters: *mut *mut c_void,
) -> Code {
    call_in_context(|| Err(Code::CUDA_ERROR_NOT_SUPPORTED))
}

pub(super) unsafe extern "C" fn cuLaunchHostFunc(
    on_stream: usize,
    function: Option<unsafe extern "C" fn(*mut c_void)>,
    data: *mut c_void,
) -> Code {
    call_in_context(|| {
        stream::cannot_be_captured(on_stream)?;
        let function = function.ok_or(Code::CUDA_ERROR_INVALID_VALUE)?;
        // SAFETY: the caller gives the data that its function takes.
        let run = AssertUnwindSafe(|| unsafe { function(data) });
        catch_unwind(run).map_err(|_| Code::CUDA_ERROR_LAUNCH_FAILED)
    })
}

/// Returns the code that a real device would return.
fn code_of(kind: Kind) -> Code {
    match kind {
        Kind::SharedBounds | Kind::SliceBounds => Code::CUDA_ERROR_ILLEGAL_ADDRESS,
        Kind::SharedAlignment => Code::CUDA_ERROR_MISALIGNED_ADDRESS,
        Kind::Resources => Code::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
        Kind::NoProgress => Code::CUDA_ERROR_LAUNCH_TIMEOUT,
        _ => Code::CUDA_ERROR_LAUNCH_FAILED,
    }
}

/// The sizes of a launch, or what is wrong with them.
fn check_shape(kernel: &HostKernel, shape: &Shape, max_shared: u32) -> Result<(), String> {
    let Shape { grid, block, shared } = shape;
    if *block != [kernel.block, 1, 1] {
        return Err(format!(
            "launched with blocks of {block:?} threads, but declared with {}",
            kernel.block
        ));
    }
    if grid.iter().zip(MAX_GRID).any(|(n, max)| !(1..=max).contains(n)) {
        return Err(format!("a grid of {grid:?} blocks: the device takes 1 to {MAX_GRID:?}"));
    }
    if *shared > max_shared.max(SHARED_MEMORY) {
        return Err(format!(
            "{shared} bytes of shared memory: the function may have at most {max_shared}"
        ));
    }
    Ok(())
}

/// A copy of a launch's arguments: a captured launch outlives the call that asked for it.
struct Arguments {
    /// Each begins at a new element, aligned for any scalar.
    bytes: Vec<u128>,
    /// The element of each.
    starts: Vec<usize>,
}

impl Arguments {
    /// # Safety
    /// `given` has, for each of the kernel's parameters, null or a pointer to a value of it.
    unsafe fn copy(kernel: &HostKernel, given: *const *const c_void) -> Result<Self, String> {
        let mut copy = Self { bytes: Vec::new(), starts: Vec::new() };
        for (i, parameter) in kernel.parameters.iter().enumerate() {
            // SAFETY: passed on to the caller.
            let value = unsafe { *given.add(i) };
            if value.is_null() {
                return Err(format!("argument {i} is missing"));
            }
            let start = copy.bytes.len();
            copy.starts.push(start);
            copy.bytes.resize(start + parameter.size.div_ceil(size_of::<u128>()), 0);
            let to = copy.bytes[start..].as_mut_ptr().cast::<u8>();
            // SAFETY: there is room for it, made right above; the rest is the caller's promise.
            unsafe { value.cast::<u8>().copy_to_nonoverlapping(to, parameter.size) };
        }
        Ok(copy)
    }

    /// A pointer to each.
    fn pointers(&self) -> Vec<*const c_void> {
        self.starts.iter().map(|start| self.bytes[*start..].as_ptr().cast()).collect()
    }

    /// The arguments that point to memory: their number, address and bytes, and what the kernel does there. How
    /// many bytes is known of a slice only; a raw pointer has one.
    fn memory<'a>(
        &'a self,
        kernel: &'a HostKernel,
    ) -> impl Iterator<Item = (usize, u64, usize, Access)> + 'a {
        kernel.parameters.iter().enumerate().filter_map(|(i, parameter)| {
            let access = match parameter.access()? {
                device_std::host::Access::Read => Access::Read,
                _ => Access::Write,
            };
            let value = self.bytes[self.starts[i]];
            let len = (value >> u64::BITS) as usize;
            let bytes = parameter.slice.map_or(1, |(element, _)| len * element);
            Some((i, value as u64, bytes, access))
        })
    }

    /// The memory that the launch uses.
    fn used(&self, kernel: &HostKernel) -> Used {
        let memory = self.memory(kernel).filter(|(_, _, bytes, _)| *bytes > 0);
        Used::from(memory.map(|(_, address, bytes, access)| (address, bytes, access)))
    }

    /// Finds the memory behind each pointer argument, in which all of a slice lies.
    fn check_pointers(&self, kernel: &HostKernel) -> Result<Busy, String> {
        let device = context::current().map_err(|code| code.to_string())?;
        let given = self.memory(kernel).map(|(i, address, bytes, _)| {
            let is_slice = kernel.parameters[i].slice.is_some();
            (address, if is_slice { bytes } else { 0 })
        });
        Busy::new(given, device).map_err(|address| {
            let at = self.memory(kernel).find(|(_, a, ..)| *a == address).map_or(0, |(i, ..)| i);
            let place = match memory::device_of(address) {
                Some(other) if other != device => {
                    format!("in memory of device {other}, the launch is on {device}")
                }
                Some(_) => "of a slice that leaves its allocation".to_owned(),
                None => "in no live allocation".to_owned(),
            };
            format!("argument {at} is the pointer {address:#x}, which is {place}")
        })
    }
}
