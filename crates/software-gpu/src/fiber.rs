//! Fibers: stacks on which threads of a kernel run and wait.
//!
//! A fiber is not one thread: it runs one new thread of the block after the other until one of them has to wait. So
//! threads that never wait cost no switch. A thread that waits keeps its fiber until the thread ends; then the fiber
//! runs new threads. Fibers that find no new thread go back to the pool of their OS thread.

use corosensei::stack::{DefaultStack, Stack, StackPointer};
use corosensei::{Coroutine, CoroutineResult};
use std::cell::{Cell, RefCell};
use std::convert::Infallible;

/// Address space of a stack; only pages that are touched take memory. Unoptimised frames, and a
/// panic that prints a backtrace, need a good part of it.
const STACK_SIZE: usize = 256 << 10;

/// Stacks are this much shifted against each other, so that their tops, which are the busiest
/// lines, do not all fall into the same sets of the caches.
const COLOUR: usize = 5 * 64;
const COLOURS: usize = 48;

/// Why a fiber stopped.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Suspension {
    /// There is no new thread for it: the fiber is free.
    Idle,
    /// Its thread waits; the block knows for what.
    Waiting,
    /// Its thread did something from which there is no going on.
    Fault,
}

pub(crate) type Yielder = corosensei::Yielder<Input, Suspension>;

/// A worker that resumes fibers; for it they run new threads.
pub(crate) trait Worker {
    /// Suspends the fiber that runs just now.
    fn yielder(&self) -> &Cell<*const Yielder>;

    /// Runs new threads of the current block, one after the other. Called on a fiber.
    fn run_new_threads(&self);
}

/// The argument of every resumption: the worker that resumes the fiber, of whatever type.
#[derive(Clone, Copy)]
pub(crate) struct Input {
    worker: *const (),
    run: unsafe fn(*const (), &Yielder),
}

/// Runs new threads for a worker.
///
/// # Safety
/// `worker` points to a `W` that lives as long as the call.
unsafe fn run<W: Worker>(worker: *const (), yielder: &Yielder) {
    // SAFETY: as the caller promises.
    let worker = unsafe { &*worker.cast::<W>() };
    worker.yielder().set(yielder);
    worker.run_new_threads();
}

/// A stack whose top is a little lower.
struct ColouredStack {
    stack: DefaultStack,
    shift: usize,
}

// SAFETY: the guard page is the inner stack's, and the top is lowered by far less than its size.
unsafe impl Stack for ColouredStack {
    fn base(&self) -> StackPointer {
        let base = self.stack.base().get() - self.shift;
        StackPointer::new(base).unwrap_or(self.stack.base())
    }

    fn limit(&self) -> StackPointer {
        self.stack.limit()
    }
}

/// A stack with what runs on it.
pub(crate) struct Fiber {
    coroutine: Coroutine<Input, Suspension, Infallible, ColouredStack>,
    /// How code on the stack suspends itself; known once it has run.
    yielder: *const Yielder,
}

impl Fiber {
    fn new(shift: usize) -> std::io::Result<Self> {
        let stack = ColouredStack { stack: DefaultStack::new(STACK_SIZE)?, shift };
        Ok(Self { coroutine: Coroutine::with_stack(stack, body), yielder: std::ptr::null() })
    }

    /// Lets the fiber go on until it suspends itself.
    pub(crate) fn resume<W: Worker>(&mut self, worker: &W) -> Suspension {
        worker.yielder().set(self.yielder);
        let input = Input { worker: std::ptr::from_ref(worker).cast(), run: run::<W> };
        match self.coroutine.resume(input) {
            CoroutineResult::Yield(suspension) => {
                self.yielder = worker.yielder().get();
                suspension
            }
            CoroutineResult::Return(never) => match never {},
        }
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        if self.coroutine.started() {
            // SAFETY: an idle fiber has nothing on its stack that needs dropping. Nor has one in
            // the midst of a kernel: kernels are device code, without destructors, and this crate
            // holds nothing across a suspension.
            unsafe { self.coroutine.force_reset() };
        }
    }
}

/// The body of every fiber, which never ends.
fn body(yielder: &Yielder, mut input: Input) -> Infallible {
    loop {
        // SAFETY: `run` is that of the worker's type. The worker outlives the resumption, and it
        // resumes no fiber of another launch before its threads have ended.
        unsafe { (input.run)(input.worker, yielder) };
        input = yielder.suspend(Suspension::Idle);
    }
}

struct Pool {
    /// Boxed, because they move from hand to hand at every switch.
    #[allow(clippy::vec_box)]
    idle: Vec<Box<Fiber>>,
    made: usize,
}

thread_local! {
    static POOL: RefCell<Pool> = const { RefCell::new(Pool { idle: Vec::new(), made: 0 }) };
}

/// A fiber from the pool of this OS thread, or a new one.
pub(crate) fn take() -> std::io::Result<Box<Fiber>> {
    POOL.with_borrow_mut(|pool| match pool.idle.pop() {
        Some(fiber) => Ok(fiber),
        None => {
            pool.made += 1;
            Fiber::new(pool.made % COLOURS * COLOUR).map(Box::new)
        }
    })
}

/// Gives an idle fiber back.
pub(crate) fn put(fiber: Box<Fiber>) {
    POOL.with_borrow_mut(|pool| pool.idle.push(fiber));
}
