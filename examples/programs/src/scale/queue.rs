//! Tiles that wait for a card.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A tile to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Job {
    pub number: usize,
    /// Whether a card was lost while making it.
    pub is_second: bool,
}

/// The tiles that wait, handed out as cards get free.
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    waiting: VecDeque<Job>,
    /// Tiles that wait or are in work, and may come back.
    unsettled: usize,
    /// Which cards are lost.
    is_lost: Vec<bool>,
}

impl Queue {
    pub(super) fn new(numbers: impl Iterator<Item = usize>, cards: usize) -> Self {
        let waiting: VecDeque<Job> =
            numbers.map(|number| Job { number, is_second: false }).collect();
        let state = State { unsettled: waiting.len(), waiting, is_lost: vec![false; cards] };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next tile for a card; waits while others' may come back. `None` where all are settled, or the card is
    /// lost.
    pub(super) fn next(&self, card: usize) -> Option<Job> {
        let is_idle = |s: &mut State| s.waiting.is_empty() && s.unsettled > 0 && !s.is_lost[card];
        let waited = self.changed.wait_while(self.lock(), is_idle);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        if state.is_lost[card] { None } else { state.waiting.pop_front() }
    }

    /// A tile will not come back.
    pub(super) fn settle(&self) {
        self.lock().unsettled -= 1;
        self.changed.notify_all();
    }

    /// A tile comes back, for another card.
    pub(super) fn give_back(&self, job: Job) {
        self.lock().waiting.push_front(job);
        self.changed.notify_all();
    }

    /// A card is lost. Whether there is another.
    pub(super) fn lose(&self, card: usize) -> bool {
        let mut state = self.lock();
        state.is_lost[card] = true;
        self.changed.notify_all();
        state.is_lost.iter().any(|is_lost| !is_lost)
    }

    /// The tiles that no card took.
    pub(super) fn rest(self) -> Vec<usize> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.waiting.iter().map(|job| job.number).collect()
    }
}
