//! A resident block: its threads, the event that each waits for, and its shared memory.
//!
//! The scheduler asks [`Block::next`] what to run; the running thread calls [`Block::barrier`], [`Block::exchange`] and
//! others, which say whether it has to wait. Both run on the same OS thread in turn, and no borrow is held while the
//! other runs.

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

/// A fault of a running thread, in words.
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

/// Where an exchange is found again by a lane that has come to it.
#[derive(Clone, Copy)]
pub(crate) enum Slot {
    /// One of the warp's two for all lanes.
    Whole(usize),
    /// Among those of some lanes.
    Part,
}

/// Where a thread is, as far as a report says it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Elsewhere,
    Barrier,
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
    /// Lanes that have their result, for an exchange of some lanes.
    taken: u32,
    values: [u64; 32],
}

struct Warp {
    /// The lanes that it has.
    lanes: u32,
    /// Lanes that have ended.
    ended: u32,
    /// Exchanges of all lanes, in turn, with the one to come to now. Two are enough: a lane that
    /// comes to one has taken the result of the one before, so once it is complete, nobody needs
    /// that any more.
    whole: [Exchange; 2],
    now: usize,
    /// Exchanges of some lanes; mostly none.
    parts: Vec<Exchange>,
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
            threads: (0..size).map(|_| Thread { place: Place::Elsewhere, fiber: None }).collect(),
            order: Permutation::new(u64::from(size), &mut random),
            random,
            started: 0,
            ready: Vec::with_capacity(size as usize),
            paused: Vec::new(),
            at_barrier: 0,
            ended: 0,
            warps: (0..size.div_ceil(WARP)).map(|warp| Warp::new(size - warp * WARP)).collect(),
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
            thread.place = Place::Elsewhere;
        }
        for warp in &mut state.warps {
            warp.ended = 0;
        }
    }

    pub(crate) fn index(&self) -> [u32; 3] {
        self.index.get()
    }

    /// Returns what to run now.
    pub(crate) fn next(&self) -> Next {
        let state = &mut *self.state.borrow_mut();
        if std::mem::take(&mut state.give_way) {
            return Next::GiveWay { progress: std::mem::take(&mut state.progress) };
        }
        if let Some(thread) = state.ready.pop()
            && let Some(fiber) = state.threads[thread as usize].fiber.take()
        {
            return Next::Resume(thread, fiber);
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
        state.ready.extend(order.iter().map(|i| state.paused[i as usize]));
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
        match warp.open().find(|e| e.mask & lane != 0) {
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
        state.ready.extend(order.iter().map(|i| i as u32).filter(|t| *t != thread));
        for thread in &mut state.threads {
            thread.place = Place::Elsewhere;
        }
        Arrival::Complete
    }

    /// `thread` lets others run.
    pub(crate) fn pause(&self, thread: u32) {
        let state = &mut *self.state.borrow_mut();
        state.paused.push(thread);
    }

    /// `thread` has come to a warp exchange; it finds the result in the slot.
    pub(crate) fn exchange(
        &self,
        thread: u32,
        mask: u32,
        operation: &'static str,
        value: u64,
    ) -> Result<(Arrival, Slot), Fault> {
        let state = &mut *self.state.borrow_mut();
        let lane = thread % WARP;
        let warp = &mut state.warps[(thread / WARP) as usize];
        if !warp.plainly_agrees(mask, operation) {
            warp.check(lane, mask, operation)?;
        }
        let (slot, exchange) = warp.exchange(mask, operation);
        exchange.arrived |= 1 << lane;
        exchange.values[lane as usize] = value;
        if exchange.is_open() {
            return Ok((Arrival::Wait, slot));
        }
        if let Slot::Whole(at) = slot {
            warp.now = 1 - at;
            warp.whole[warp.now].arrived = 0;
            self.shadow.borrow_mut().order_warp(thread / WARP);
        }
        let others = mask & !(1 << lane);
        let random = state.random.next();
        let (start, step) = (random as u32, (random >> 32) as u32 | 1);
        let order = (0..WARP).map(|i| step.wrapping_mul(i).wrapping_add(start) % WARP);
        let base = thread - lane;
        state.ready.extend(order.filter(|l| others >> l & 1 == 1).map(|l| base + l));
        Ok((Arrival::Complete, slot))
    }

    /// Gives `take` what the exchange gave that `thread` has just been through.
    pub(crate) fn take_exchanged(&self, thread: u32, slot: Slot, take: &mut dyn FnMut(&[u64; 32])) {
        let warp = &mut self.state.borrow_mut().warps[(thread / WARP) as usize];
        if let Slot::Whole(at) = slot {
            return take(&warp.whole[at].values);
        }
        let lane = 1 << (thread % WARP);
        let waiting = |e: &Exchange| !e.is_open() && e.mask & lane != 0 && e.taken & lane == 0;
        let at = warp.parts.iter().position(waiting).expect("the thread has been through it");
        let exchange = &mut warp.parts[at];
        take(&exchange.values);
        exchange.taken |= lane;
        if exchange.taken == exchange.mask {
            warp.parts.swap_remove(at);
        }
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
            for e in warp.open() {
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

impl Warp {
    /// With `threads` threads, or 32 of them.
    fn new(threads: u32) -> Self {
        let lanes = u32::MAX >> (WARP - threads.min(WARP));
        let whole = || Exchange::new(lanes, "");
        Self { lanes, ended: 0, whole: [whole(), whole()], now: 0, parts: Vec::new() }
    }

    /// Exchanges to which lanes are still to come.
    fn open(&self) -> impl Iterator<Item = &Exchange> {
        self.whole.iter().chain(&self.parts).filter(|e| e.is_open())
    }

    /// Whether an exchange is the common case, in which nothing can be wrong: all lanes, in the
    /// operation in which the first ones are.
    fn plainly_agrees(&self, mask: u32, operation: &'static str) -> bool {
        let Exchange { arrived, operation: now, .. } = &self.whole[self.now];
        mask == self.lanes
            && self.ended == 0
            && self.parts.is_empty()
            && (*arrived == 0 || std::ptr::eq(*now, operation))
    }

    /// Returns the fault of `lane` at an exchange, if there is one.
    fn check(&self, lane: u32, mask: u32, operation: &'static str) -> Result<(), Fault> {
        let fault = |message| Err(Fault { kind: Kind::Exchange, message });
        if mask >> lane & 1 == 0 {
            return fault(format!(
                "{operation} of {mask:#010x}, in which its own lane {lane} is not"
            ));
        }
        if mask & !self.lanes != 0 {
            return fault(format!(
                "{operation} of {mask:#010x}, but the warp has the lanes {:#010x} only",
                self.lanes
            ));
        }
        let gone = mask & self.ended;
        if gone != 0 {
            return fault(format!(
                "{operation} of {mask:#010x}, but lanes {gone:#010x} have ended"
            ));
        }
        match self.open().find(|e| e.clashes(lane, mask, operation)) {
            None => Ok(()),
            Some(e) => fault(format!(
                "{operation} of {mask:#010x}, but lanes {:#010x} are in {} of {:#010x}",
                e.arrived, e.operation, e.mask
            )),
        }
    }

    /// The exchange to which lanes of `mask` come now.
    fn exchange(&mut self, mask: u32, operation: &'static str) -> (Slot, &mut Exchange) {
        if mask == self.lanes {
            let whole = &mut self.whole[self.now];
            if whole.arrived == 0 {
                whole.operation = operation;
            }
            return (Slot::Whole(self.now), whole);
        }
        let open = self.parts.iter().position(|e| e.is_open() && e.mask == mask);
        let at = open.unwrap_or_else(|| {
            self.parts.push(Exchange::new(mask, operation));
            self.parts.len() - 1
        });
        (Slot::Part, &mut self.parts[at])
    }
}

impl Exchange {
    fn new(mask: u32, operation: &'static str) -> Self {
        Self { mask, operation, arrived: 0, taken: 0, values: [0; 32] }
    }

    /// Whether lanes wait here for others.
    fn is_open(&self) -> bool {
        self.arrived != 0 && self.arrived != self.mask
    }

    /// Whether `lane`, coming with `mask` and `operation`, can never agree with the lanes that
    /// wait here: each of the two expects the other, but in something else.
    fn clashes(&self, lane: u32, mask: u32, operation: &str) -> bool {
        let meets = self.mask >> lane & 1 == 1 && self.arrived & mask != 0;
        meets && (self.mask != mask || self.operation != operation)
    }
}

fn name(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::Atomic => "atomic operation",
    }
}
