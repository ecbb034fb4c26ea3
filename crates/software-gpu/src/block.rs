//! A resident block: its threads, what each waits for, and its shared memory.
//!
//! The scheduler asks [`Block::next`] what to run; the running thread calls
//! [`Block::barrier`], [`Block::exchange`] and the rest, which say whether it has to wait. Both
//! run on the same OS thread in turn, and no borrow is held while the other runs.

use crate::fiber::Fiber;
use crate::memory;
use crate::race::{Shadow, Violation};
use crate::random::{Permutation, Random};
use crate::report::Kind;
use device_std::host::Access;
use std::cell::{Cell, RefCell, UnsafeCell};

/// Threads of a warp.
const WARP: u32 = 32;

/// One block in that many gives way to another resident block at a barrier, so that blocks
/// interleave even where none waits for another.
const GIVE_WAY: u64 = 4;

/// What a running thread must not do, in words.
pub(crate) struct Fault {
    pub kind: Kind,
    pub message: String,
}

/// What a thread does after it has come to a meeting point.
pub(crate) enum Arrival {
    /// It was the last: everybody goes on.
    Complete,
    /// It waits for others.
    Wait,
}

/// What the scheduler does next.
pub(crate) enum Next {
    /// Resumes a waiting thread.
    Resume(u32, Box<Fiber>),
    /// Lets a fiber run new threads.
    StartNew,
    /// Turns to another block; `progress` says whether anything moved since the last time.
    GiveWay { progress: bool },
    /// All threads have ended.
    Finished,
    /// Threads wait that nobody will wake.
    Stuck(Fault),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    New,
    Running,
    Barrier,
    Exchange,
    Paused,
    Ended,
}

struct Thread {
    place: Place,
    /// Its stack, while it waits or is ready to go on.
    fiber: Option<Box<Fiber>>,
}

/// An exchange under way, or one that not every lane has taken its result from.
struct Exchange {
    mask: u32,
    operation: &'static str,
    arrived: u32,
    taken: u32,
    values: [u64; 32],
}

#[derive(Default)]
struct Warp {
    /// Lanes that have ended.
    ended: u32,
    /// Mostly at most one.
    exchanges: Vec<Exchange>,
}

struct State {
    random: Random,
    threads: Vec<Thread>,
    /// The order in which threads start, and how many have.
    order: Permutation,
    started: u32,
    /// Threads that can go on; the last goes first.
    ready: Vec<u32>,
    paused: Vec<u32>,
    at_barrier: u32,
    ended: u32,
    warps: Vec<Warp>,
    progress: bool,
    give_way: bool,
}

/// Shared memory, aligned as kernels may assume.
#[repr(C, align(128))]
#[derive(Clone, Copy)]
struct Line([u8; 128]);

/// A place for one block after another of a launch.
pub(crate) struct Block {
    index: Cell<[u32; 3]>,
    size: u32,
    shared_size: u32,
    shared: UnsafeCell<Vec<Line>>,
    shadow: RefCell<Shadow>,
    state: RefCell<State>,
}

impl Block {
    /// For blocks of `size` threads with `shared_size` bytes of shared memory.
    pub(crate) fn new(size: u32, shared_size: u32) -> Self {
        let mut random = Random::new(0);
        let state = State {
            threads: (0..size).map(|_| Thread { place: Place::New, fiber: None }).collect(),
            order: Permutation::new(u64::from(size), &mut random),
            random,
            started: 0,
            ready: Vec::with_capacity(size as usize),
            paused: Vec::new(),
            at_barrier: 0,
            ended: 0,
            warps: (0..size.div_ceil(WARP)).map(|_| Warp::default()).collect(),
            progress: false,
            give_way: false,
        };
        let lines = vec![Line([0; 128]); shared_size.div_ceil(128) as usize];
        Self {
            index: Cell::new([0; 3]),
            size,
            shared_size,
            shared: UnsafeCell::new(lines),
            shadow: RefCell::new(Shadow::new(shared_size)),
            state: RefCell::new(state),
        }
    }

    /// Begins block `index`; the last one has ended or was abandoned.
    pub(crate) fn begin(&self, index: [u32; 3], seed: u64) {
        self.index.set(index);
        self.shadow.borrow_mut().begin_block();
        // SAFETY: no thread of a block runs now, and nobody else sees this memory.
        let lines = unsafe { &mut *self.shared.get() };
        for word in lines.iter_mut().flat_map(|line| line.0.as_chunks_mut::<4>().0) {
            *word = memory::FRESH.to_le_bytes();
        }
        let state = &mut *self.state.borrow_mut();
        state.random = Random::new(seed);
        state.order = Permutation::new(u64::from(self.size), &mut state.random);
        state.started = 0;
        state.at_barrier = 0;
        state.ended = 0;
        state.progress = true;
        state.give_way = false;
        for thread in &mut state.threads {
            thread.place = Place::New;
        }
        for warp in &mut state.warps {
            warp.ended = 0;
        }
    }

    pub(crate) fn index(&self) -> [u32; 3] {
        self.index.get()
    }

    /// What to run now.
    pub(crate) fn next(&self) -> Next {
        let state = &mut *self.state.borrow_mut();
        if std::mem::take(&mut state.give_way) {
            return Next::GiveWay { progress: std::mem::take(&mut state.progress) };
        }
        if let Some(thread) = state.ready.pop() {
            let entry = &mut state.threads[thread as usize];
            if let Some(fiber) = entry.fiber.take() {
                entry.place = Place::Running;
                return Next::Resume(thread, fiber);
            }
        }
        if state.started < self.size {
            return Next::StartNew;
        }
        if state.ended == self.size {
            return Next::Finished;
        }
        if state.paused.is_empty() {
            return Next::Stuck(self.stuck(state));
        }
        let len = state.paused.len() as u64;
        let order = Permutation::new(len, &mut state.random);
        state.ready.extend((0..len).map(|i| state.paused[order.at(i) as usize]));
        state.paused.clear();
        Next::GiveWay { progress: std::mem::take(&mut state.progress) }
    }

    /// The next thread that has not run yet begins to.
    pub(crate) fn start_next(&self) -> Option<u32> {
        let state = &mut *self.state.borrow_mut();
        if state.started == self.size {
            return None;
        }
        let thread = state.order.at(u64::from(state.started)) as u32;
        state.started += 1;
        state.threads[thread as usize].place = Place::Running;
        Some(thread)
    }

    /// Keeps the stack of a thread that waits.
    pub(crate) fn park(&self, thread: u32, fiber: Box<Fiber>) {
        self.state.borrow_mut().threads[thread as usize].fiber = Some(fiber);
    }

    /// `thread` has ended.
    pub(crate) fn end(&self, thread: u32) -> Result<(), Fault> {
        let state = &mut *self.state.borrow_mut();
        state.threads[thread as usize].place = Place::Ended;
        state.ended += 1;
        state.progress = true;
        let lane = 1 << (thread % WARP);
        let warp = &mut state.warps[(thread / WARP) as usize];
        warp.ended |= lane;
        match warp.exchanges.iter().find(|e| e.is_open() && e.mask & lane != 0) {
            None => Ok(()),
            Some(e) => Err(Fault {
                kind: Kind::Exchange,
                message: format!(
                    "the thread ended while lanes {:#010x} of its warp wait for it in {} of {:#010x}",
                    e.arrived, e.operation, e.mask
                ),
            }),
        }
    }

    /// `thread` has come to the block's barrier.
    pub(crate) fn barrier(&self, thread: u32) -> Arrival {
        let state = &mut *self.state.borrow_mut();
        state.threads[thread as usize].place = Place::Barrier;
        state.at_barrier += 1;
        if state.at_barrier < self.size {
            return Arrival::Wait;
        }
        self.shadow.borrow_mut().order_block();
        state.at_barrier = 0;
        state.progress = true;
        state.give_way = state.random.below(GIVE_WAY) == 0;
        let order = Permutation::new(u64::from(self.size), &mut state.random);
        let others = (0..u64::from(self.size)).map(|i| order.at(i) as u32).filter(|t| *t != thread);
        state.ready.extend(others);
        for thread in &mut state.threads {
            thread.place = Place::Running;
        }
        Arrival::Complete
    }

    /// `thread` lets others run.
    pub(crate) fn pause(&self, thread: u32) {
        let state = &mut *self.state.borrow_mut();
        state.threads[thread as usize].place = Place::Paused;
        state.paused.push(thread);
    }

    /// `thread` has come to a warp exchange.
    pub(crate) fn exchange(
        &self,
        thread: u32,
        mask: u32,
        operation: &'static str,
        value: u64,
    ) -> Result<Arrival, Fault> {
        let state = &mut *self.state.borrow_mut();
        let (warp, lane) = (thread / WARP, thread % WARP);
        let present = self.lanes(warp);
        let fault = |message| Err(Fault { kind: Kind::Exchange, message });
        if mask >> lane & 1 == 0 {
            return fault(format!(
                "{operation} of {mask:#010x}, in which its own lane {lane} is not"
            ));
        }
        if mask & !present != 0 {
            return fault(format!(
                "{operation} of {mask:#010x}, but the warp has the lanes {present:#010x} only"
            ));
        }
        let Warp { ended, exchanges } = &mut state.warps[warp as usize];
        let gone = mask & *ended;
        if gone != 0 {
            return fault(format!(
                "{operation} of {mask:#010x}, but lanes {gone:#010x} have ended"
            ));
        }
        let other = exchanges.iter().find(|e| e.clashes(lane, mask, operation));
        if let Some(e) = other {
            return fault(format!(
                "{operation} of {mask:#010x}, but lanes {:#010x} are in {} of {:#010x}",
                e.arrived, e.operation, e.mask
            ));
        }
        let at =
            exchanges.iter().position(|e| e.is_open() && e.mask == mask).unwrap_or_else(|| {
                exchanges.push(Exchange { mask, operation, arrived: 0, taken: 0, values: [0; 32] });
                exchanges.len() - 1
            });
        let exchange = &mut exchanges[at];
        exchange.arrived |= 1 << lane;
        exchange.values[lane as usize] = value;
        state.threads[thread as usize].place = Place::Exchange;
        if exchange.is_open() {
            return Ok(Arrival::Wait);
        }
        if mask == present {
            self.shadow.borrow_mut().order_warp(warp);
        }
        let start = state.random.next() as u32;
        let lanes = (0..32).map(|i| (i + start) % 32).filter(|l| mask >> l & 1 == 1);
        for other in lanes.map(|l| warp * WARP + l) {
            state.threads[other as usize].place = Place::Running;
            if other != thread {
                state.ready.push(other);
            }
        }
        Ok(Arrival::Complete)
    }

    /// What the exchange gave that `thread` has just been through.
    pub(crate) fn take_exchanged(&self, thread: u32) -> [u64; 32] {
        let state = &mut *self.state.borrow_mut();
        let lane = 1 << (thread % WARP);
        let exchanges = &mut state.warps[(thread / WARP) as usize].exchanges;
        let waiting = |e: &Exchange| !e.is_open() && e.mask & lane != 0 && e.taken & lane == 0;
        let Some(at) = exchanges.iter().position(waiting) else { return [0; 32] };
        let exchange = &mut exchanges[at];
        exchange.taken |= lane;
        let values = exchange.values;
        if exchange.taken == exchange.mask {
            exchanges.swap_remove(at);
        }
        values
    }

    /// Checks an access to shared memory; returns the address.
    pub(crate) fn shared(
        &self,
        thread: u32,
        offset: u32,
        size: u32,
        access: Access,
    ) -> Result<*mut u8, Fault> {
        let fault = |kind, message| Err(Fault { kind, message });
        let verb = name(access);
        if u64::from(offset) + u64::from(size) > u64::from(self.shared_size) {
            return fault(
                Kind::SharedBounds,
                format!(
                    "{verb} of {size} bytes at offset {offset} of {} bytes of shared memory",
                    self.shared_size
                ),
            );
        }
        if size.is_power_of_two() && !offset.is_multiple_of(size.min(16)) {
            return fault(
                Kind::SharedAlignment,
                format!("{verb} of {size} bytes at offset {offset} of shared memory"),
            );
        }
        let checked = self.shadow.borrow_mut().access(thread, offset, size, access);
        if let Err(violation) = checked {
            let place = format!("{verb} of {size} bytes at offset {offset} of shared memory");
            return Err(violation.in_words(&place));
        }
        // SAFETY: inside the lines; the borrow of the vector ends here, and it never grows.
        Ok(unsafe { (*self.shared.get()).as_mut_ptr().cast::<u8>().add(offset as usize) })
    }

    /// Drops the stacks of all threads that wait.
    pub(crate) fn abandon(&self) {
        let state = &mut *self.state.borrow_mut();
        for thread in &mut state.threads {
            thread.fiber = None;
        }
        state.ready.clear();
        state.paused.clear();
        state.warps.iter_mut().for_each(|warp| warp.exchanges.clear());
    }

    /// The lanes that a warp of this block has.
    fn lanes(&self, warp: u32) -> u32 {
        let count = (self.size - warp * WARP).min(WARP);
        u32::MAX >> (WARP - count)
    }

    /// Who waits for what.
    fn stuck(&self, state: &State) -> Fault {
        let mut parts = vec![format!("{} of {} threads have ended", state.ended, self.size)];
        if state.at_barrier > 0 {
            let example = state.threads.iter().position(|t| t.place == Place::Barrier);
            parts.push(format!(
                "{} wait at the block's barrier (thread {})",
                state.at_barrier,
                example.unwrap_or(0)
            ));
        }
        for (i, warp) in state.warps.iter().enumerate() {
            for e in warp.exchanges.iter().filter(|e| e.is_open()) {
                parts.push(format!(
                    "lanes {:#010x} of warp {i} wait in {} of {:#010x}",
                    e.arrived, e.operation, e.mask
                ));
            }
        }
        if state.at_barrier > 0 && state.ended > 0 {
            let example = state.threads.iter().position(|t| t.place == Place::Ended);
            parts.push(format!("thread {} ended without the barrier", example.unwrap_or(0)));
        }
        Fault { kind: Kind::Deadlock, message: parts.join("; ") }
    }
}

impl Violation {
    fn in_words(&self, place: &str) -> Fault {
        match self {
            Violation::Uninitialised => Fault {
                kind: Kind::SharedUninitialised,
                message: format!("{place}, which nobody in the block has written yet"),
            },
            Violation::Race { thread, access } => Fault {
                kind: Kind::SharedRace,
                message: format!(
                    "{place}, not ordered after the {} by thread {thread}",
                    name(*access)
                ),
            },
        }
    }
}

impl Exchange {
    /// Whether lanes are still to come.
    fn is_open(&self) -> bool {
        self.arrived != self.mask
    }

    /// Whether `lane`, coming with `mask` and `operation`, can never agree with the lanes that
    /// wait here: each of the two expects the other, but in something else.
    fn clashes(&self, lane: u32, mask: u32, operation: &str) -> bool {
        let meets = self.mask >> lane & 1 == 1 && self.arrived & mask != 0;
        self.is_open() && meets && (self.mask != mask || self.operation != operation)
    }
}

fn name(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::Atomic => "atomic operation",
    }
}
