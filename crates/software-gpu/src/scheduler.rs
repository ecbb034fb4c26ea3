//! A launch: OS threads share its blocks, and each thread interleaves a few blocks.
//!
//! Each worker keeps a window of resident blocks and takes new ones, in shuffled order, as others finish. It runs a
//! block until all of its threads have ended or paused. Now and then it leaves a block at a barrier, only to interleave
//! blocks. Then it turns to the next resident block. Nothing is locked while a launch runs.

use crate::block::{Arrival, Block, Fault, Next};
use crate::fiber::{self, Suspension, Yielder};
use crate::random::{Permutation, Random, mix};
use crate::report::{Kind, Report};
use crate::settings;
use device_std::host::{Access, DeviceThread, HostKernel, set_current};
use std::any::Any;
use std::cell::Cell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// Most OS threads that run blocks. Each waiting thread of a kernel is two mappings of memory,
/// of which a process may have some 65,000.
const MAX_WORKERS: usize = 12;

/// Resident threads of a worker that are aimed at.
const RESIDENT_THREADS: u32 = 2048;

/// OS threads that run the blocks of a launch.
pub(crate) fn workers() -> usize {
    static WORKERS: OnceLock<usize> = OnceLock::new();
    *WORKERS.get_or_init(|| {
        std::thread::available_parallelism().map_or(1, usize::from).min(MAX_WORKERS)
    })
}

/// Blocks that each worker interleaves.
pub(crate) fn window(block: u32) -> u32 {
    (RESIDENT_THREADS / block.max(1)).clamp(2, 4)
}

/// One launch of a kernel.
pub(crate) struct Launch {
    kernel: &'static HostKernel,
    arguments: *const *const c_void,
    grid: [u32; 3],
    shared_size: u32,
    seed: u64,
    blocks: u64,
    order: Permutation,
    /// Blocks given to workers.
    taken: AtomicU64,
    failed: AtomicBool,
    failure: Mutex<Option<Report>>,
    /// Counts what moved, so that a standstill shows.
    progress: AtomicU64,
    active: AtomicUsize,
    standing: AtomicUsize,
}

// SAFETY: the arguments outlive the launch and are only read.
unsafe impl Send for Launch {}
// SAFETY: as above.
unsafe impl Sync for Launch {}

impl Launch {
    /// # Safety
    /// `arguments` has a pointer to a value of each of the kernel's parameters, valid until
    /// [`run`](Self::run) returns.
    pub(crate) unsafe fn new(
        kernel: &'static HostKernel,
        grid: [u32; 3],
        shared_size: u32,
        arguments: *const *const c_void,
    ) -> Self {
        let name = kernel.name.bytes().fold(0, |hash, byte| mix(hash, u64::from(byte)));
        let seed = mix(settings::seed(), name);
        let blocks = grid.map(u64::from).iter().product();
        Self {
            kernel,
            arguments,
            grid,
            shared_size,
            seed,
            blocks,
            order: Permutation::new(blocks, &mut Random::new(seed)),
            taken: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
            progress: AtomicU64::new(0),
            active: AtomicUsize::new(0),
            standing: AtomicUsize::new(0),
        }
    }

    /// Runs every block, or reports the first fault.
    pub(crate) fn run(self) -> Result<(), Box<Report>> {
        let count = (workers() as u64).min(self.blocks);
        match (count > 1).then(pool).flatten() {
            None => Worker::run(&self),
            Some(pool) => pool.in_place_scope(|scope| {
                for _ in 0..count {
                    scope.spawn(|_| Worker::run(&self));
                }
            }),
        }
        let failure = self.failure.into_inner().unwrap_or_else(PoisonError::into_inner);
        failure.map_or(Ok(()), |report| Err(Box::new(report)))
    }

    fn next_block(&self) -> Option<([u32; 3], u64)> {
        let position = self.taken.fetch_add(1, Ordering::Relaxed);
        if position >= self.blocks {
            return None;
        }
        let block = self.order.at(position);
        let [x, y, _] = self.grid.map(u64::from);
        let index = [block % x, block / x % y, block / x / y].map(|i| i as u32);
        Some((index, mix(self.seed, block)))
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Ends the launch with a report, if it is the first.
    fn fail(&self, report: Report) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if failure.is_none() {
            *failure = Some(report.in_kernel(self.kernel.name));
        }
        self.failed.store(true, Ordering::Relaxed);
    }
}

/// The OS threads of the software device; apart from rayon's own, so that launches do not wait
/// for the host's parallel loops.
fn pool() -> Option<&'static rayon::ThreadPool> {
    static POOL: OnceLock<Option<rayon::ThreadPool>> = OnceLock::new();
    POOL.get_or_init(|| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(workers())
            .thread_name(|i| format!("software-gpu-{i}"))
            .build()
            .ok()
    })
    .as_ref()
}

/// Runs blocks of a launch on one OS thread; also knows the thread that runs just now.
pub(crate) struct Worker<'a> {
    launch: &'a Launch,
    block: Cell<Option<NonNull<Block>>>,
    thread: Cell<u32>,
    /// Suspends the fiber that runs just now.
    yielder: Cell<*const Yielder>,
}

impl Worker<'_> {
    /// Runs blocks until none is left or the launch has failed.
    fn run(launch: &Launch) {
        let worker = Worker {
            launch,
            block: Cell::new(None),
            thread: Cell::new(0),
            yielder: Cell::new(std::ptr::null()),
        };
        let thread: NonNull<dyn DeviceThread + '_> = NonNull::from(&worker);
        // SAFETY: only the lifetime changes; the pointer is taken back below, before it ends.
        let thread: NonNull<dyn DeviceThread> = unsafe { std::mem::transmute(thread) };
        // SAFETY: the worker stays in place until the next call.
        let before = unsafe { set_current(Some(thread)) };
        launch.active.fetch_add(1, Ordering::Relaxed);
        worker.run_blocks();
        launch.active.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: whoever set it keeps it valid.
        unsafe { set_current(before) };
    }

    fn run_blocks(&self) {
        let mut resident: Vec<Box<Block>> = Vec::new();
        let mut spare: Vec<Box<Block>> = Vec::new();
        let mut standstill = Standstill::new(self.launch);
        let window = window(self.launch.kernel.block) as usize;
        while !self.launch.has_failed() {
            while resident.len() < window {
                let Some((index, seed)) = self.launch.next_block() else { break };
                let block = spare.pop().unwrap_or_else(|| {
                    Box::new(Block::new(self.launch.kernel.block, self.launch.shared_size))
                });
                block.begin(index, seed);
                resident.push(block);
            }
            if resident.is_empty() {
                break;
            }
            let mut progress = false;
            let mut i = 0;
            while i < resident.len() && !self.launch.has_failed() {
                match self.run_block(&resident[i]) {
                    Turn::Finished => {
                        progress = true;
                        spare.push(resident.swap_remove(i));
                    }
                    Turn::GaveWay { progress: moved } => {
                        progress |= moved;
                        i += 1;
                    }
                    Turn::Failed => break,
                }
            }
            standstill.note(progress);
        }
        self.block.set(None);
        resident.iter().for_each(|block| block.abandon());
    }

    /// Runs threads of one block as long as it goes.
    fn run_block(&self, block: &Block) -> Turn {
        self.block.set(Some(NonNull::from(block)));
        loop {
            if self.launch.has_failed() {
                return Turn::Failed;
            }
            let mut fiber = match block.next() {
                Next::Resume(thread, fiber) => {
                    self.thread.set(thread);
                    fiber
                }
                Next::StartNew => match fiber::take() {
                    Ok(fiber) => fiber,
                    Err(error) => {
                        let message = format!("no stack for another thread: {error}");
                        self.launch.fail(Report::new(Kind::Resources, message));
                        return Turn::Failed;
                    }
                },
                Next::GiveWay { progress } => return Turn::GaveWay { progress },
                Next::Finished => return Turn::Finished,
                Next::Stuck(fault) => {
                    let report = Report::new(fault.kind, fault.message).in_block(block.index());
                    self.launch.fail(report);
                    return Turn::Failed;
                }
            };
            match fiber.resume(self) {
                Suspension::Idle => fiber::put(fiber),
                Suspension::Waiting => block.park(self.thread.get(), fiber),
                // The thread cannot go on, so its fiber is given up with whatever is on it.
                Suspension::Fault => return Turn::Failed,
            }
        }
    }

    fn block(&self) -> &Block {
        // SAFETY: set before any fiber runs, and the block stays in its box while it is resident.
        unsafe { self.block.get().expect("a thread runs in a block").as_ref() }
    }

    fn suspend(&self, suspension: Suspension) {
        // SAFETY: the running fiber has set it, and lives as long as it runs.
        let yielder = unsafe { &*self.yielder.get() };
        yielder.suspend(suspension);
    }

    /// Ends the launch because of what the running thread did; the thread never goes on.
    fn fault(&self, fault: Fault) -> ! {
        self.report(fault);
        loop {
            self.suspend(Suspension::Fault);
        }
    }

    fn report(&self, fault: Fault) {
        let report = Report::new(fault.kind, fault.message)
            .in_block(self.block().index())
            .in_thread(self.thread.get());
        self.launch.fail(report);
    }
}

impl fiber::Worker for Worker<'_> {
    fn yielder(&self) -> &Cell<*const Yielder> {
        &self.yielder
    }

    fn run_new_threads(&self) {
        let block = self.block();
        let entry = self.launch.kernel.entry.expect("what is registered can be run");
        let arguments = self.launch.arguments;
        while !self.launch.has_failed() {
            let Some(thread) = block.start_next() else { return };
            self.thread.set(thread);
            // SAFETY: `Launch::new`'s caller gave the arguments that the kernel takes.
            let ran = catch_unwind(AssertUnwindSafe(|| unsafe { entry(arguments) }));
            let ended = match ran {
                Ok(()) => block.end(thread),
                Err(panic) => {
                    Err(Fault { kind: Kind::Panic, message: panic_message(panic.as_ref()) })
                }
            };
            if let Err(fault) = ended {
                self.fault(fault);
            }
        }
    }
}

impl DeviceThread for Worker<'_> {
    fn thread_index(&self) -> u32 {
        self.thread.get()
    }

    fn block_index(&self) -> [u32; 3] {
        self.block().index()
    }

    fn block_size(&self) -> u32 {
        self.launch.kernel.block
    }

    fn grid_size(&self) -> [u32; 3] {
        self.launch.grid
    }

    fn shared_size(&self) -> u32 {
        self.launch.shared_size
    }

    fn barrier(&self) {
        if let Arrival::Wait = self.block().barrier(self.thread.get()) {
            self.suspend(Suspension::Waiting);
        }
    }

    fn exchange(
        &self,
        mask: u32,
        operation: &'static str,
        value: u64,
        take: &mut dyn FnMut(&[u64; 32]),
    ) {
        let slot = match self.block().exchange(self.thread.get(), mask, operation, value) {
            Ok((Arrival::Complete, slot)) => slot,
            Ok((Arrival::Wait, slot)) => {
                self.suspend(Suspension::Waiting);
                slot
            }
            Err(fault) => self.fault(fault),
        };
        self.block().take_exchanged(self.thread.get(), slot, take);
    }

    fn pause(&self) {
        self.block().pause(self.thread.get());
        self.suspend(Suspension::Waiting);
    }

    fn shared(&self, offset: u32, size: u32, access: Access) -> *mut u8 {
        match self.block().shared(self.thread.get(), offset, size, access) {
            Ok(address) => address,
            Err(fault) => self.fault(fault),
        }
    }

    fn outside(&self, message: String) -> ! {
        self.fault(Fault { kind: Kind::SliceBounds, message })
    }
}

/// How a block's turn ended.
enum Turn {
    Finished,
    GaveWay { progress: bool },
    Failed,
}

/// Watches for the case that every thread of a launch spins.
struct Standstill<'a> {
    launch: &'a Launch,
    /// Since when, and at which count of progress.
    since: Option<(Instant, u64)>,
}

impl<'a> Standstill<'a> {
    fn new(launch: &'a Launch) -> Self {
        Self { launch, since: None }
    }

    /// Notes whether anything moved in the last round over the worker's blocks.
    fn note(&mut self, progress: bool) {
        if progress {
            self.launch.progress.fetch_add(1, Ordering::Relaxed);
            self.leave();
            return;
        }
        let now = self.launch.progress.load(Ordering::Relaxed);
        match self.since {
            None => {
                self.launch.standing.fetch_add(1, Ordering::Relaxed);
                self.since = Some((Instant::now(), now));
            }
            Some((_, then)) if then != now => self.since = Some((Instant::now(), now)),
            Some((instant, _)) if instant.elapsed() > settings::patience() => self.give_up(),
            Some(_) => {}
        }
        std::thread::yield_now();
    }

    /// All workers have stood still for too long, unless one of them is at work.
    fn give_up(&self) {
        let active = self.launch.active.load(Ordering::Relaxed);
        if self.launch.standing.load(Ordering::Relaxed) < active {
            return;
        }
        self.launch.fail(Report::new(
            Kind::NoProgress,
            format!(
                "all threads that have not ended or wait have only called pause() for {:?}; \
                 {} of {} blocks had started",
                settings::patience(),
                self.launch.taken.load(Ordering::Relaxed).min(self.launch.blocks),
                self.launch.blocks,
            ),
        ));
    }

    fn leave(&mut self) {
        if self.since.take().is_some() {
            self.launch.standing.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Standstill<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a message".to_owned())
}
