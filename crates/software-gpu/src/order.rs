//! Checks the order of work on different streams.
//!
//! The software device does work in the order of the calls, so a program that forgets to order two streams would never
//! notice. So this module keeps, for each stream, a vector clock of the work that it comes after (Lamport 1978; Fidge
//! 1988, Mattern 1989). The clock holds, for each other stream, the number of its last piece of work that is certainly
//! done. A stream's clock advances at an event that it waits for, and at a wait of the host. A blocking stream and the
//! legacy default stream also advance each other's clocks. An access to memory must come after the last write to it,
//! and a write must come after all reads since.
//!
//! This module does not see how host threads synchronise: if one of them has waited for work, it counts as done for
//! all. So it never reports a fault that cannot happen, but it misses faults where host threads fail to synchronise.

use crate::report::{Kind, Report};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The legacy default stream.
const LEGACY: usize = 0;

/// The number of the last piece of work of each stream that is known to be done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock(HashMap<usize, u64>);

impl Clock {
    fn learn(&mut self, other: &Clock) {
        for (&stream, &work) in &other.0 {
            let known = self.0.entry(stream).or_default();
            *known = work.max(*known);
        }
    }

    fn knows(&self, work: Work) -> bool {
        self.0.get(&work.stream).is_some_and(|known| *known >= work.number)
    }
}

/// How much of an allocation an access touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Just the bytes that are stated: a copy or a fill.
    Exact,
    /// From the stated address on, nobody knows how far: a launch.
    Unknown,
    /// All of it: it is made or freed.
    Whole,
}

impl Reach {
    /// Whether two accesses whose stated bytes overlap are known to meet. A launch may leave alone what
    /// a copy moves meanwhile: a raster goes to the host in bands while the next band is made.
    fn meets(self, other: Self) -> bool {
        self == other || self == Self::Whole || other == Self::Whole
    }
}

/// One piece of work.
#[derive(Clone, Copy, Debug)]
struct Work {
    stream: usize,
    number: u64,
}

/// What an access does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// It only reads.
    Read,
    /// It may write. Allocating and freeing are such too.
    Write,
}

/// The accesses to one allocation that the next ones must know.
#[derive(Debug, Default)]
pub(crate) struct History(Vec<Past>);

/// An access to a part of an allocation.
#[derive(Clone, Debug)]
struct Past {
    bytes: Range<u64>,
    reach: Reach,
    work: Work,
    access: Access,
}

/// Accesses that are kept of one allocation; older ones are forgotten.
const KEPT: usize = 64;

impl History {
    /// The access that `new` should come after and does not know.
    fn unordered(&self, clock: &Clock, new: &Past) -> Option<&Past> {
        let meets = |old: &&Past| {
            (old.access == Access::Write || new.access == Access::Write)
                && old.reach.meets(new.reach)
                && old.bytes.start < new.bytes.end
                && new.bytes.start < old.bytes.end
        };
        self.0.iter().filter(meets).find(|old| !clock.knows(old.work))
    }

    /// Adds an access and forgets what no later one can miss.
    fn add(&mut self, new: Past, host: &Clock) {
        let replaces = |old: &Past| {
            let whole = new.bytes.start <= old.bytes.start && old.bytes.end <= new.bytes.end;
            let same = old.work.stream == new.work.stream && old.access == new.access;
            let meets = old.reach.meets(new.reach);
            whole && meets && (same || new.access == Access::Write)
        };
        self.0.retain(|old| !replaces(old) && !host.knows(old.work));
        if self.0.len() == KEPT {
            self.0.remove(0);
        }
        self.0.push(new);
    }
}

/// An access of new work to an allocation.
pub(crate) struct Use<'a> {
    pub(crate) history: &'a Mutex<History>,
    /// Addresses; a launch has just the addresses that it was given.
    pub(crate) bytes: Range<u64>,
    pub(crate) reach: Reach,
    pub(crate) access: Access,
    /// The allocation, in words.
    pub(crate) memory: String,
}

#[derive(Default)]
struct Streams {
    clocks: HashMap<usize, Clock>,
    /// The streams that do not wait for the legacy default stream.
    non_blocking: Vec<usize>,
    /// The work that the host has waited for.
    host: Clock,
}

static STREAMS: Mutex<Option<Streams>> = Mutex::new(None);

fn with_streams<R>(f: impl FnOnce(&mut Streams) -> R) -> R {
    let mut streams: MutexGuard<Option<Streams>> =
        STREAMS.lock().unwrap_or_else(PoisonError::into_inner);
    f(streams.get_or_insert_default())
}

impl Streams {
    /// Brings a stream's clock up to what it must know by now.
    fn refresh(&mut self, stream: usize) -> &mut Clock {
        let mut clock = self.clocks.remove(&stream).unwrap_or_default();
        clock.learn(&self.host);
        if stream == LEGACY {
            let blocking = self.clocks.iter().filter(|(s, _)| !self.non_blocking.contains(s));
            blocking.for_each(|(_, other)| clock.learn(other));
        } else if !self.non_blocking.contains(&stream)
            && let Some(legacy) = self.clocks.get(&LEGACY)
        {
            clock.learn(legacy);
        }
        self.clocks.entry(stream).or_insert(clock)
    }
}

/// One name for the three that the default stream has.
fn named(stream: usize) -> usize {
    if stream <= 2 { LEGACY } else { stream }
}

/// A stream was made.
pub(crate) fn created(stream: usize, non_blocking: bool) {
    with_streams(|streams| {
        streams.clocks.insert(stream, Clock::default());
        if non_blocking {
            streams.non_blocking.push(stream);
        }
    });
}

/// A stream is gone; what is still to be ordered after its work stays.
pub(crate) fn destroyed(stream: usize) {
    with_streams(|streams| {
        let Some(clock) = streams.clocks.remove(&stream) else { return };
        streams.non_blocking.retain(|other| *other != stream);
        let last = clock.0.get(&stream).copied().unwrap_or(0);
        if last > 0 && !streams.host.knows(Work { stream, number: last }) {
            // Kept under its handle, which no other stream gets: others may have learnt of it.
            streams.clocks.insert(stream, clock);
        }
    });
}

/// Returns the clock of an event that is recorded on the stream now.
pub(crate) fn recorded(stream: usize) -> Clock {
    with_streams(|streams| streams.refresh(named(stream)).clone())
}

/// A stream waits for an event.
pub(crate) fn waits(stream: usize, event: &Clock) {
    with_streams(|streams| streams.refresh(named(stream)).learn(event));
}

/// The host has waited for an event.
pub(crate) fn host_waited(event: &Clock) {
    with_streams(|streams| streams.host.learn(event));
}

/// The host has waited for a stream.
pub(crate) fn host_waited_for(stream: usize) {
    host_waited(&recorded(stream));
}

/// The host has waited for everything.
pub(crate) fn host_waited_for_all() {
    with_streams(|streams| {
        let Streams { clocks, host, .. } = streams;
        clocks.values().for_each(|clock| host.learn(clock));
    });
}

/// A new piece of work on the stream, with its accesses; what they should have been ordered after
/// and were not is reported, `what` being the work in words.
pub(crate) fn work(stream: usize, what: &str, uses: &[Use<'_>]) -> Result<(), Report> {
    let stream = named(stream);
    let (clock, host, number) = with_streams(|streams| {
        let clock = streams.refresh(stream);
        let number = clock.0.entry(stream).or_default();
        *number += 1;
        let number = *number;
        (clock.clone(), streams.host.clone(), number)
    });
    let work = Work { stream, number };
    let mut found = None;
    for Use { history, bytes, reach, access, memory } in uses {
        let mut history = history.lock().unwrap_or_else(PoisonError::into_inner);
        let new = Past { bytes: bytes.clone(), reach: *reach, work, access: *access };
        if found.is_none()
            && let Some(old) = history.unordered(&clock, &new)
        {
            let verb = |access| if access == Access::Read { "reads" } else { "writes" };
            let (ours, theirs) = (verb(*access), verb(old.access));
            let message = format!(
                "{what} on stream {stream:#x} {ours} the {memory}, which work on stream {:#x} \
                 {theirs}; nothing orders the two",
                old.work.stream
            );
            found = Some(Report::new(Kind::StreamRace, message));
        }
        history.add(new, &host);
    }
    found.map_or(Ok(()), Err)
}
