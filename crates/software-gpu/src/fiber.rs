//! Fibers: stacks on which threads of a kernel run and wait.
//!
//! A fiber is not one thread: it runs one new thread of the block after the other until one of
//! them has to wait. Threads that never wait thus cost no switch at all, and a thread that waits
//! keeps its fiber until it ends, whereupon the fiber goes on with new threads. Fibers that find
//! no new thread go back to the pool of their OS thread.
//!
//! The stacks are corosensei's. Its coroutines are not used, since those return to who resumed
//! them: a thread that waits would switch to the scheduler, and that to the next thread. Here it
//! switches to the next thread itself, which more than halves the time.

use crate::scheduler::Worker;
use crate::switch::{self, Context};
use corosensei::stack::{DefaultStack, Stack};
use std::cell::RefCell;
use std::ptr::NonNull;

/// Address space of a stack; only pages that are touched take memory. Unoptimised frames, and a
/// panic that prints a backtrace, need a good part of it.
const STACK_SIZE: usize = 256 << 10;

/// Stacks are this much shifted against each other, so that their tops, which are the busiest
/// lines, do not all fall into the same sets of the caches.
const COLOUR: usize = 5 * 64;
const COLOURS: usize = 48;

/// Why the worker goes on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Suspension {
    /// There is no new thread for the fiber: it is free.
    Idle,
    /// All threads that ran wait; the block knows for what.
    Waiting,
    /// A thread did something from which there is no going on.
    Fault,
}

/// A stack with what runs on it.
pub(crate) struct Fiber(NonNull<Inner>);

struct Inner {
    /// Where it goes on, while it does not run.
    context: Context,
    /// Freed with the fiber. An idle fiber has nothing on its stack that needs dropping. Nor has
    /// one in the midst of a kernel: kernels are device code, without destructors, and this crate
    /// holds nothing across a switch.
    _stack: DefaultStack,
}

impl Fiber {
    fn new(shift: usize) -> std::io::Result<Self> {
        let stack = DefaultStack::new(STACK_SIZE)?;
        let top = stack.base().get() - shift;
        // SAFETY: far inside the stack, and a multiple of 16 like its base.
        let context = unsafe { switch::new_context(top as *mut u8, body) };
        let inner = Box::new(Inner { context, _stack: stack });
        Ok(Self(NonNull::from(Box::leak(inner))))
    }

    /// Where it is told to go on.
    pub(crate) fn context(&self) -> *mut Context {
        // SAFETY: the fiber is there.
        unsafe { &raw mut (*self.0.as_ptr()).context }
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        // SAFETY: leaked by `new`, and this is its only owner.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// What runs on every fiber, for good.
extern "C" fn body(mut worker: *const ()) -> ! {
    loop {
        // SAFETY: who switches to a new or an idle fiber is a worker, and hands itself over; it
        // outlives the threads that run here until the fiber is idle again.
        let running = unsafe { &*worker.cast::<Worker<'static>>() };
        running.run_new_threads();
        worker = running.leave(Suspension::Idle);
    }
}

struct Pool {
    idle: Vec<Fiber>,
    made: usize,
}

thread_local! {
    static POOL: RefCell<Pool> = const { RefCell::new(Pool { idle: Vec::new(), made: 0 }) };
}

/// A fiber from the pool of this OS thread, or a new one.
pub(crate) fn take() -> std::io::Result<Fiber> {
    POOL.with_borrow_mut(|pool| match pool.idle.pop() {
        Some(fiber) => Ok(fiber),
        None => {
            pool.made += 1;
            Fiber::new(pool.made % COLOURS * COLOUR)
        }
    })
}

/// Gives an idle fiber back.
pub(crate) fn put(fiber: Fiber) {
    POOL.with_borrow_mut(|pool| pool.idle.push(fiber));
}
