//! The jobs of copies, and which thread does them next.
//!
//! A piece to the device waits, then a thread copies it into a slot, then the slot's copy is enqueued, and the piece is
//! done. The slot is busy until a thread has waited for its copy. A piece from the device waits, gets a slot, is under
//! way, arrives in the slot, is copied out of it, and is done. One lock guards all of these states; a thread holds the
//! lock only for one change of state.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use super::{Loaded, Piece, Queue, SLOTS, Slot, Way};

/// The most slots of one way: the other never waits for all of them.
const MAX_OF_WAY: usize = SLOTS - SLOTS / 4;

/// The most pieces that are asked for in one job, so that what is filled meanwhile does not wait long.
const AT_ONCE: usize = 4;

/// One step of some pieces.
pub(super) enum Job {
    /// Enqueue the copies of slots. One thread at a time.
    Enqueue(Vec<Loaded>),
    /// Wait for a stream's oldest slot on its way to the device. One thread at a time for each stream.
    Await(Sent),
    /// Wait for a stream's oldest slot on its way from the device. One thread at a time for each stream.
    Receive(Loaded),
    /// Copy a piece into its slot.
    Fill(Loaded),
    /// Copy a piece out of its slot.
    Drain(Loaded),
}

/// A slot on its way to the device, on a stream; its piece is done.
pub(super) struct Sent(pub Queue, pub Slot);

/// A job that one thread does at a time.
#[derive(Clone, Copy)]
pub(super) enum Post {
    Enqueue,
    Await(Queue),
    Receive(Queue),
}

impl Job {
    pub fn post(&self) -> Option<Post> {
        match self {
            Self::Enqueue(_) => Some(Post::Enqueue),
            Self::Await(sent) => Some(Post::Await(sent.queue())),
            Self::Receive(loaded) => Some(Post::Receive(loaded.queue())),
            Self::Fill(_) | Self::Drain(_) => None,
        }
    }
}

/// What a job did with its slot.
pub(super) enum Done {
    Filled(Loaded),
    Sent(Sent),
    /// On its way from the device.
    Asked(Loaded),
    Arrived(Loaded),
    /// No copy uses it.
    Free(Slot, Route),
}

/// Which way a slot was used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Route {
    In,
    Out,
}

/// The pieces of all copies that were begun, and the slots.
pub(super) struct Work {
    free: Vec<Slot>,
    to_device: Line<Sent>,
    from_device: Line<Loaded>,
    filled: Vec<Loaded>,
    arrived: VecDeque<Loaded>,
    is_enqueuing: bool,
    /// Threads that have jobs or look for some.
    pub hands: usize,
    /// Threads among these that found no job in their last search.
    pub idle: usize,
    /// Tasks of rayon's pool that look for jobs once they run; too few where a pool never ran them.
    pub called: usize,
    /// Threads that wait for a copy and found no job.
    pub resting: usize,
}

/// A copy that is on its way on a stream.
trait Passing {
    fn queue(&self) -> Queue;
}

impl Passing for Sent {
    fn queue(&self) -> Queue {
        self.0
    }
}

impl Passing for Loaded {
    fn queue(&self) -> Queue {
        self.piece.of.queue
    }
}

/// One of both ways.
struct Line<T> {
    /// Pieces without a slot.
    waiting: VecDeque<Piece>,
    /// The copies on their way, the oldest first.
    passing: VecDeque<T>,
    /// The streams whose oldest somebody waits for; it is not among the others then.
    watched: Vec<Queue>,
    /// Slots in use.
    slots: usize,
}

impl<T: Passing> Line<T> {
    fn new() -> Self {
        let (waiting, passing) = (VecDeque::new(), VecDeque::new());
        Self { waiting, passing, watched: Vec::new(), slots: 0 }
    }

    /// How many of the pieces can have a slot.
    fn ready(&self, free: usize) -> usize {
        self.waiting.len().min(free).min(MAX_OF_WAY - self.slots)
    }

    /// The first piece with a slot.
    fn load(&mut self, free: &mut Vec<Slot>) -> Option<Loaded> {
        if self.ready(free.len()) == 0 {
            return None;
        }
        self.slots += 1;
        Some(Loaded { piece: self.waiting.pop_front()?, slot: free.pop()? })
    }

    /// The oldest on its way on a stream that nobody watches.
    fn unwatched(&self) -> Option<usize> {
        self.passing.iter().position(|passing| !self.watched.contains(&passing.queue()))
    }

    /// The same for somebody who waits for it.
    fn watch(&mut self) -> Option<T> {
        let oldest = self.passing.remove(self.unwatched()?)?;
        self.watched.push(oldest.queue());
        Some(oldest)
    }

    fn leave(&mut self, queue: Queue) {
        self.watched.retain(|&watched| watched != queue);
    }
}

impl Work {
    pub fn new(free: Vec<Slot>) -> Self {
        Self {
            free,
            to_device: Line::new(),
            from_device: Line::new(),
            filled: Vec::new(),
            arrived: VecDeque::new(),
            is_enqueuing: false,
            hands: 0,
            idle: 0,
            called: 0,
            resting: 0,
        }
    }

    /// The pieces of a copy.
    pub fn add(&mut self, way: &Way, pieces: impl Iterator<Item = Piece>) {
        match way {
            Way::In => self.to_device.waiting.extend(pieces),
            Way::Out(_) => self.from_device.waiting.extend(pieces),
        }
    }

    /// Returns the next job. Jobs that keep the bus busy come first.
    pub fn next(&mut self) -> Option<Job> {
        let job = self.enqueue().or_else(|| self.from_device.watch().map(Job::Receive));
        let job = job.or_else(|| self.arrived.pop_front().map(Job::Drain));
        let job = job.or_else(|| self.to_device.load(&mut self.free).map(Job::Fill));
        let job = job.or_else(|| {
            let oldest = if self.is_short() { self.to_device.watch() } else { None };
            oldest.map(Job::Await)
        })?;
        let taken = |loaded: &Loaded| loaded.piece.of.open.fetch_sub(1, Ordering::Relaxed);
        match &job {
            Job::Enqueue(all) => all.iter().for_each(|loaded| _ = taken(loaded)),
            Job::Receive(loaded) | Job::Fill(loaded) | Job::Drain(loaded) => _ = taken(loaded),
            Job::Await(_) => {}
        }
        Some(job)
    }

    /// All copies that can be enqueued, unless somebody enqueues.
    fn enqueue(&mut self) -> Option<Job> {
        if self.is_enqueuing {
            return None;
        }
        let mut loaded = std::mem::take(&mut self.filled);
        let asked = std::iter::from_fn(|| self.from_device.load(&mut self.free));
        loaded.extend(asked.take(AT_ONCE));
        self.is_enqueuing = !loaded.is_empty();
        self.is_enqueuing.then_some(Job::Enqueue(loaded))
    }

    /// Whether pieces wait for slots that are on their way to the device.
    fn is_short(&self) -> bool {
        let Self { free, to_device, from_device, .. } = self;
        let of_way = |waits: bool, ready: usize| waits && ready == 0;
        of_way(!to_device.waiting.is_empty(), to_device.ready(free.len()))
            || of_way(!from_device.waiting.is_empty(), from_device.ready(free.len()))
    }

    /// Returns a lower bound of the number of jobs.
    pub fn jobs(&self) -> usize {
        let Self { free, to_device, from_device, .. } = self;
        let can_enqueue = !self.filled.is_empty() || from_device.ready(free.len()) > 0;
        usize::from(can_enqueue && !self.is_enqueuing)
            + usize::from(from_device.unwatched().is_some())
            + self.arrived.len()
            + to_device.ready(free.len())
            + usize::from(self.is_short() && to_device.unwatched().is_some())
    }

    /// Lets anybody have a post.
    pub fn leave(&mut self, post: Post) {
        match post {
            Post::Enqueue => self.is_enqueuing = false,
            Post::Await(queue) => self.to_device.leave(queue),
            Post::Receive(queue) => self.from_device.leave(queue),
        }
    }

    /// Records the new state of a slot.
    pub fn note(&mut self, done: Done) {
        let open = |loaded: &Loaded| loaded.piece.of.open.fetch_add(1, Ordering::Relaxed);
        match done {
            Done::Filled(loaded) => {
                open(&loaded);
                self.filled.push(loaded);
            }
            Done::Sent(sent) => self.to_device.passing.push_back(sent),
            Done::Asked(loaded) => {
                open(&loaded);
                self.from_device.passing.push_back(loaded);
            }
            Done::Arrived(loaded) => {
                open(&loaded);
                self.arrived.push_back(loaded);
            }
            Done::Free(slot, route) => {
                self.free.push(slot);
                match route {
                    Route::In => self.to_device.slots -= 1,
                    Route::Out => self.from_device.slots -= 1,
                }
            }
        }
    }
}
