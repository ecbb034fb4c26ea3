//! What a check found, in words for the author of the kernel.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// An impossible launch: a wrong block or grid size, too much shared memory, or a pointer outside of live memory.
    Launch,
    /// A copy, fill or free whose range is not inside one live allocation.
    Range,
    /// A write just before or just past an allocation.
    RedZone,
    /// A write to freed memory, or a free of memory that a running kernel was given.
    UseAfterFree,
    /// An access through a slice of global memory (`device_std::slice`) with an index beyond its end.
    SliceBounds,
    /// An access beyond the block's shared memory.
    SharedBounds,
    /// An access to shared memory at an address that its size does not divide.
    SharedAlignment,
    /// A read of shared memory that nobody in the block has written.
    SharedUninitialised,
    /// Two unordered accesses to shared memory, at least one a write.
    SharedRace,
    /// Work on one stream uses memory that work on another uses, at least one of them writing it, and
    /// no event, wait or default stream orders the two.
    StreamRace,
    /// Threads wait for other threads that will never arrive.
    Deadlock,
    /// Lanes of a warp meet in different operations, or name lanes that do not exist.
    Exchange,
    /// The kernel panicked.
    Panic,
    /// Every thread that is left spins, and nothing has moved for a long time.
    NoProgress,
    /// The host lacks what the launch needs, such as memory for the threads' stacks.
    Resources,
}

/// The finding of one check.
#[derive(Clone, Debug)]
pub struct Report {
    /// What is wrong.
    pub kind: Kind,
    /// The kernel that ran, if any.
    pub kernel: Option<String>,
    /// The block, in x, y, z, if the fault is one block's.
    pub block: Option<[u32; 3]>,
    /// The thread in its block, if the fault is one thread's.
    pub thread: Option<u32>,
    /// The seed of the order in which threads and blocks ran.
    pub seed: u64,
    /// The finding itself.
    pub message: String,
}

impl Report {
    /// A report that blames no kernel yet.
    pub(crate) fn new(kind: Kind, message: String) -> Self {
        let seed = crate::settings::seed();
        Self { kind, kernel: None, block: None, thread: None, seed, message }
    }

    pub(crate) fn in_kernel(mut self, kernel: &str) -> Self {
        self.kernel = Some(kernel.to_owned());
        self
    }

    pub(crate) fn in_block(mut self, block: [u32; 3]) -> Self {
        self.block = Some(block);
        self
    }

    pub(crate) fn in_thread(mut self, thread: u32) -> Self {
        self.thread = Some(thread);
        self
    }

    /// Prints the report and keeps it for [`take_reports`].
    pub(crate) fn file(self) {
        eprintln!("{self}");
        let mut reports = lock();
        if reports.len() == KEPT {
            reports.pop_front();
        }
        reports.push_back(self);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "software device: {:?}", self.kind)?;
        if let Some(kernel) = &self.kernel {
            write!(f, " in kernel {kernel}")?;
        }
        if let Some([x, y, z]) = self.block {
            write!(f, ", block ({x}, {y}, {z})")?;
        }
        if let Some(thread) = self.thread {
            write!(f, ", thread {thread}")?;
        }
        write!(f, ": {} [seed {:#x}]", self.message, self.seed)
    }
}

/// Reports kept for [`take_reports`]; the oldest give way (all were printed).
const KEPT: usize = 1000;

static REPORTS: Mutex<VecDeque<Report>> = Mutex::new(VecDeque::new());

fn lock() -> std::sync::MutexGuard<'static, VecDeque<Report>> {
    REPORTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the reports of the whole process since the last call, oldest first, at most the last
/// 1000. Each was printed to standard error too.
pub fn take_reports() -> Vec<Report> {
    lock().drain(..).collect()
}
