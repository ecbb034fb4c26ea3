//! The memory of the tiles in work.
//!
//! A tile takes some memory while it is read and waits, more while it is made, and less again while it is written. A
//! reader may start if its tile fits beside the tiles in work, *and* if any one waiting tile can still grow to the
//! memory that making it takes. So a waiting tile can always be made after the tiles in work are done, and no tile
//! waits for ever.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The memory that a program takes in addition to tiles.
pub const FIXED: u64 = 64 << 20;

/// Bytes of a tile at each step, beside [`FIXED`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// While it is read, and until it is made.
    pub read: u64,
    /// While it is made.
    pub make: u64,
    /// While it is written.
    pub write: u64,
}

/// The memory that tiles share.
pub(super) struct Memory {
    limit: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// By all tiles in work.
    held: u64,
    /// How much more memory each tile that is read or waits will take while it is made.
    growths: Vec<u64>,
}

impl State {
    /// Whether a tile can be read now: with whatever grows next, all fits. One alone always can.
    fn admits(&self, read: u64, growth: u64, limit: u64) -> bool {
        let next = self.growths.iter().copied().fold(growth, u64::max);
        self.held == 0 || self.held.saturating_add(read).saturating_add(next) <= limit
    }

    fn forget(&mut self, growth: u64) {
        if let Some(place) = self.growths.iter().position(|&other| other == growth) {
            self.growths.swap_remove(place);
        }
    }
}

impl Memory {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, state: Mutex::default(), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_until<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        is_free: impl Fn(&State) -> bool,
    ) -> MutexGuard<'a, State> {
        let waited = self.changed.wait_while(state, |state| !is_free(state));
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a tile can be read.
    pub(super) fn begin_reading(&self, needs: Needs) -> Share<'_> {
        let growth = needs.make.saturating_sub(needs.read);
        let free = |state: &State| state.admits(needs.read, growth, self.limit);
        let mut state = self.wait_until(self.lock(), free);
        state.held += needs.read;
        state.growths.push(growth);
        Share { memory: self, needs, held: needs.read, growth: Some(growth) }
    }
}

/// The memory that a tile in work reserves; dropping it frees the memory.
pub(super) struct Share<'a> {
    memory: &'a Memory,
    needs: Needs,
    held: u64,
    /// How much more memory making it will take.
    growth: Option<u64>,
}

impl Share<'_> {
    /// Waits until the tile can be made.
    pub(super) fn begin_making(&mut self) {
        let Some(growth) = self.growth.take() else { return };
        let (memory, own) = (self.memory, self.held);
        let is_free =
            |state: &State| state.held == own || state.held.saturating_add(growth) <= memory.limit;
        let mut state = memory.wait_until(memory.lock(), is_free);
        state.forget(growth);
        state.held += growth;
        self.held += growth;
        drop(state);
        memory.changed.notify_all();
    }

    /// The tile is made: it takes what writing does.
    pub(super) fn begin_writing(&mut self) {
        self.shrink(self.needs.write);
    }

    fn shrink(&mut self, to: u64) {
        let less = self.held.saturating_sub(to);
        let mut state = self.memory.lock();
        state.held -= less;
        self.held -= less;
        if let Some(growth) = self.growth.take() {
            state.forget(growth);
        }
        drop(state);
        self.memory.changed.notify_all();
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.shrink(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Random tiles on one to four cards, each of which reads, makes and writes at the same time. All tiles get
    /// through, and the memory that they hold passes the limit only for a single tile that needs more.
    #[test]
    fn tiles_share_a_limit_and_all_get_through() {
        let mut seed = 1_u64;
        let mut random = move |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        for case in 0..60 {
            let limit = 100 + random(400);
            let memory = Memory::new(limit);
            let most = AtomicU64::new(0);
            let tiles: Vec<Needs> = (0..40)
                .map(|_| {
                    let (read, make) = (1 + random(40), 1 + random(100));
                    Needs { read, make: make.max(read), write: 1 + random(make) }
                })
                .collect();
            let cards = 1 + case % 4;
            let look = || most.fetch_max(memory.lock().held, Ordering::Relaxed);
            std::thread::scope(|scope| {
                for card in 0..cards {
                    let (tiles, memory, look) = (&tiles, &memory, &look);
                    let (read, to_make) = std::sync::mpsc::sync_channel::<Share>(0);
                    let (made, to_write) = std::sync::mpsc::sync_channel::<Share>(0);
                    scope.spawn(move || {
                        for needs in tiles.iter().skip(card).step_by(cards) {
                            let share = memory.begin_reading(*needs);
                            look();
                            read.send(share).unwrap();
                        }
                    });
                    scope.spawn(move || {
                        for mut share in to_make {
                            share.begin_making();
                            look();
                            std::thread::yield_now();
                            share.begin_writing();
                            made.send(share).unwrap();
                        }
                    });
                    scope.spawn(move || to_write.into_iter().for_each(drop));
                }
            });
            let largest = tiles.iter().map(|needs| needs.make).max().unwrap();
            assert!(most.into_inner() <= limit.max(largest), "limit {limit}");
            let state = memory.lock();
            assert_eq!((state.held, state.growths.len()), (0, 0));
        }
    }
}
