//! The software device: a CUDA driver whose GPU is the CPU.
//!
//! [`load`] puts this driver into the place of `libcuda` (see the crate `cuda-driver`). From then on everything on
//! top of it works as on a machine with GPUs: it allocates, copies, loads modules and launches kernels. There is
//! one GPU unless the environment says how many.
//!
//! A launch runs the kernel's host-compiled function. The PTX is compiled from the same source, so any machine can test
//! the whole path.
//!
//! # What it checks
//!
//! - **Launches**: block size as declared, grid within limits, dynamic shared memory within the function's limit, every
//!   pointer null, in live memory or in memory that the program lends ([`lend`]).
//! - **Stray writes**: red zones lie round every allocation; freed memory is poisoned and kept for a while. The
//!   device checks the memory that a launch was given after that launch, and all memory at every synchronisation.
//! - **Accesses outside a slice**: a load or store through a slice of arguments (`device_std::In`, `Out`) has an index
//!   beyond the slice, even if the memory there is live. The report names kernel, block, thread, slice and index. At
//!   the launch, each slice must lie in one live allocation.
//! - **Copies, fills and frees**: the range lies in one live allocation.
//! - **Uninitialised memory**: fresh memory, global and shared, holds a NaN pattern. The device finds a read of shared
//!   memory that no thread of the block has written at once.
//! - **Races on shared memory**: two accesses of different threads that neither a barrier nor, within a warp, an
//!   exchange of the whole warp orders. At least one is a write, and not both are atomic.
//! - **Two streams**: two streams use the same memory, at least one of them writes it, and nothing orders them. An
//!   event, a wait of the host, or work on the legacy default stream between them would order them.
//! - **Divergence**: a barrier that some threads never reach, warp operations in which lanes disagree or are
//!   missing, threads that spin for ever.
//! - **Two devices**: a launch on one device uses streams, functions or memory of another.
//! - **Panics** in a kernel.
//!
//! A failed check is one [`Report`], printed to standard error and kept for [`take_reports`]. The driver call that
//! found it returns an error as a real device would. A fault in a kernel returns `LAUNCH_FAILED` or
//! `ILLEGAL_ADDRESS`, and an invalid call returns `INVALID_VALUE`.
//!
//! [`fail`] makes a call fail, so that a test can check how a program handles the error. [`copies`], [`bytes_to_host`]
//! and [`bytes_in_use`] count what a program should use sparingly.
//!
//! # What it promises
//!
//! - Threads of a block, and blocks, run in an order shuffled from a seed (`TESSERA_SOFTWARE_SEED`, [`set_seed`]), so
//!   that tests find kernels that depend on the order. Each block's own order is the same on every run with that seed;
//!   how blocks on different OS threads interleave is not.
//! - Blocks run on all cores, several interleaved on each, and memory is plain host memory: atomics on global memory
//!   are atomics of the host.
//! - A stream is a queue that is always empty: work is done when the call that enqueues it
//!   returns, in the order of the calls. Host threads may call at the same time; nothing is
//!   locked while a launch runs.
//! - While a stream captures, its launches, fills, copies on the device, allocations and frees are recorded instead,
//!   and run whenever the graph is launched. Memory of the graph is fresh at each launch and checked as any other;
//!   before the first launch it does not exist.
//!
//! # What it does not
//!
//! - It has no speed.
//! - It finds no races on global memory.
//! - In kernels that take raw pointers it finds no stray *reads* of global memory, which may read a red zone. It does
//!   not find null pointers that a kernel follows, which end the process. The same goes for addresses that a kernel
//!   gets from a slice (`In::address`), if it reads beyond the length that it stated.
//! - The race check ignores exchanges between a part of a warp's lanes. So it can report a pair of accesses that such
//!   an exchange orders.
//! - A spin loop without `device_std::thread::pause` runs for ever.
//! - It does not know which elements of its slices a kernel touches, nor how far from a raw pointer the kernel reaches.
//!   So it reports two kernels on two streams if their slices overlap, or if both were given the same address. It does
//!   not report a kernel beside a copy or a fill. It is exact for two copies, and for every use of memory beside its
//!   allocation or free.
//! - An error is **not sticky**. On a real device a fault in a kernel spoils the context for good. Here the next
//!   call works, so that tests of faulty kernels can share a process. A launch reports its own fault at once, not
//!   at a later synchronisation.
//! - It keeps no freed memory of more than 4 MiB for the check.
//! - A capture takes one stream. Events, host functions, copies from or to the host and other graphs cannot be in
//!   it (a real device can record them).
//! - Textures, arrays, graphs built node by node, managed memory and linking are not supported; their calls return an
//!   error.
//!
//! # Environment
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `TESSERA_SOFTWARE_SEED` | seed of the order of threads and blocks | fixed |
//! | `TESSERA_SOFTWARE_DEVICES` | how many devices there are, 1 to 64 | 1 |
//! | `TESSERA_SOFTWARE_LOST` | `1:40`: every call of device 1 fails once 40 launches were made there | none is lost |
//! | `TESSERA_SOFTWARE_MEMORY` | bytes of memory of each device | 3/4 of the memory available |
//! | `TESSERA_SOFTWARE_PATIENCE` | seconds until spinning threads are called stuck | 20 |
#![deny(missing_docs)]

mod block;
mod copies;
mod driver;
mod failure;
mod fiber;
mod memory;
mod modules;
mod order;
mod race;
mod random;
mod report;
mod scheduler;
mod settings;

use cuda_driver::LoadError;

pub use copies::{bytes_to_host, copies};
pub use failure::{Failure, Operation, fail};
pub use modules::register;
pub use report::{Kind, Report, take_reports};
pub use settings::{seed, set_seed};

/// Bytes of device memory that are allocated now, in the whole process.
pub fn bytes_in_use() -> u64 {
    memory::in_use()
}

/// Returns the bytes of device memory that this thread has allocated, less the bytes that it has freed. So tests that
/// count bytes can run side by side.
pub fn bytes_of_thread() -> i64 {
    memory::of_thread()
}

/// The most that [`bytes_of_thread`] was since the last call on this thread.
pub fn take_peak_bytes_of_thread() -> i64 {
    memory::take_peak_of_thread()
}

/// Lets kernels use host memory that the device did not allocate, such as an array of another library. It lies at `start`
/// and has `bytes` bytes. It may overlap memory that was lent before. The device forgets it where it allocates memory of its own.
pub fn lend(start: *const u8, bytes: usize) {
    memory::lend(start as u64, bytes);
}

/// Lets the software device serve this process. Idempotent and thread-safe.
///
/// # Errors
/// [`LoadError::OtherDriver`] if the CUDA driver serves it already.
pub fn load() -> Result<(), LoadError> {
    // SAFETY: the functions in `driver` have the signatures of the driver's.
    unsafe { cuda_driver::load_with(driver::lookup) }
}
