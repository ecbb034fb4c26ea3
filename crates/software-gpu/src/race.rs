//! The shadow of a block's shared memory: which thread accessed each word, and when.
//!
//! Time is a clock that ticks whenever threads of the block synchronise: at every barrier, and at every exchange of a
//! whole warp. Two accesses are ordered if a barrier lies between them, or, for two threads of one warp, an exchange of
//! that warp. So each word remembers only its accesses since the last barrier. It keeps only as many as are needed to
//! detect a later unordered access. For each kind of access, it keeps the latest thread and one other thread, if
//! possible of another warp.
//!
//! The clock never goes back, not even from block to block, so entries of earlier blocks are simply old, and nothing
//! needs clearing.
//!
//! The shadow has a cell for each four bytes until an access is smaller or not aligned to four; from then on it has a
//! cell for each byte.

use device_std::host::Access;

/// Threads of a warp.
const WARP: u32 = 32;
/// No other thread.
const NOBODY: u16 = u16::MAX;

/// The accesses of one kind to one cell.
#[derive(Clone, Copy)]
struct Mark {
    /// When the latest was.
    clock: u32,
    /// Who made the latest.
    thread: u16,
    /// Who else: a thread of another warp since the last barrier, or else one of the same warp
    /// since its last exchange.
    other: u16,
}

impl Mark {
    const NEVER: Self = Self { clock: 0, thread: 0, other: NOBODY };

    /// A thread whose access is not ordered before one that `me` makes now.
    fn unordered(&self, me: u32, clock: &Clock) -> Option<u32> {
        if self.clock < clock.barrier {
            return None;
        }
        let concurrent = |thread: &u16| {
            let thread = u32::from(*thread);
            let warp = thread / WARP;
            thread != me && (warp != me / WARP || self.clock >= clock.warps[warp as usize])
        };
        [self.thread, self.other]
            .into_iter()
            .filter(|thread| *thread != NOBODY)
            .find(concurrent)
            .map(u32::from)
    }

    /// Adds an access by `me`, now.
    fn touch(&mut self, me: u32, clock: &Clock) {
        let warp = me / WARP;
        let is_mine = |thread: u16| u32::from(thread) / WARP == warp;
        if self.clock < clock.barrier {
            self.other = NOBODY;
        } else if !is_mine(self.thread) {
            self.other = self.thread;
        } else if self.other == NOBODY || is_mine(self.other) {
            if self.clock < clock.warps[warp as usize] {
                self.other = NOBODY;
            } else if u32::from(self.thread) != me {
                self.other = self.thread;
            }
        }
        self.thread = me as u16;
        self.clock = clock.now;
    }
}

#[derive(Clone, Copy)]
struct Cell {
    reads: Mark,
    writes: Mark,
    atomics: Mark,
}

impl Cell {
    const NEVER: Self = Self { reads: Mark::NEVER, writes: Mark::NEVER, atomics: Mark::NEVER };

    fn access(&mut self, me: u32, access: Access, clock: &Clock) -> Result<(), Violation> {
        let written = self.writes.clock >= clock.block || self.atomics.clock >= clock.block;
        if !written && access != Access::Write {
            return Err(Violation::Uninitialised);
        }
        let race = |mark: &Mark, kind| match mark.unordered(me, clock) {
            Some(thread) => Err(Violation::Race { thread, access: kind }),
            None => Ok(()),
        };
        race(&self.writes, Access::Write)?;
        if access != Access::Atomic {
            race(&self.atomics, Access::Atomic)?;
        }
        if access != Access::Read {
            race(&self.reads, Access::Read)?;
        }
        let mark = match access {
            Access::Read => &mut self.reads,
            Access::Write => &mut self.writes,
            Access::Atomic => &mut self.atomics,
        };
        mark.touch(me, clock);
        Ok(())
    }
}

struct Clock {
    now: u32,
    /// When the block began.
    block: u32,
    /// When the block's last barrier was.
    barrier: u32,
    /// When each warp was last brought in order, by an exchange or a barrier.
    warps: [u32; 32],
}

/// The fault of an access.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    /// Another thread's access is not ordered with it.
    Race { thread: u32, access: Access },
    /// Nobody has written there.
    Uninitialised,
}

/// The shadow of one block after another.
pub(crate) struct Shadow {
    cells: Vec<Cell>,
    /// Bytes of a cell: 4, or 1.
    grain: u32,
    clock: Clock,
}

impl Shadow {
    /// For `size` bytes of shared memory.
    pub(crate) fn new(size: u32) -> Self {
        Self {
            cells: vec![Cell::NEVER; size.div_ceil(4) as usize],
            grain: 4,
            clock: Clock { now: 1, block: 1, barrier: 1, warps: [1; 32] },
        }
    }

    /// A new block begins: everything is unwritten.
    pub(crate) fn begin_block(&mut self) {
        if self.clock.now > u32::MAX / 2 {
            self.cells.fill(Cell::NEVER);
            self.clock.now = 0;
        }
        self.order_block();
        self.clock.block = self.clock.now;
    }

    /// A barrier: the whole block is brought in order.
    pub(crate) fn order_block(&mut self) {
        self.clock.now += 1;
        self.clock.barrier = self.clock.now;
        self.clock.warps = [self.clock.now; 32];
    }

    /// An exchange of all lanes of `warp`.
    pub(crate) fn order_warp(&mut self, warp: u32) {
        self.clock.now += 1;
        self.clock.warps[warp as usize] = self.clock.now;
    }

    /// Checks and notes an access inside bounds.
    pub(crate) fn access(
        &mut self,
        thread: u32,
        offset: u32,
        size: u32,
        access: Access,
    ) -> Result<(), Violation> {
        if self.grain == 4 && !(offset | size).is_multiple_of(4) {
            self.refine();
        }
        let first = (offset / self.grain) as usize;
        let last = ((offset + size) / self.grain) as usize;
        for cell in &mut self.cells[first..last] {
            cell.access(thread, access, &self.clock)?;
        }
        Ok(())
    }

    /// From a cell for four bytes to a cell for each.
    fn refine(&mut self) {
        self.cells = self.cells.iter().flat_map(|cell| [*cell; 4]).collect();
        self.grain = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Access::{Atomic, Read, Write};

    fn shadow() -> Shadow {
        let mut shadow = Shadow::new(64);
        shadow.begin_block();
        shadow
    }

    fn race(thread: u32, access: Access) -> Result<(), Violation> {
        Err(Violation::Race { thread, access })
    }

    #[test]
    fn a_barrier_orders_everybody() {
        let mut s = shadow();
        s.access(0, 0, 4, Write).unwrap();
        assert_eq!(s.access(40, 0, 4, Read), race(0, Write));
        s.order_block();
        s.access(40, 0, 4, Read).unwrap();
        s.access(1, 0, 4, Read).unwrap();
        assert_eq!(s.access(1, 0, 4, Write), race(40, Read));
        s.order_block();
        s.access(1, 0, 4, Write).unwrap();
    }

    #[test]
    fn an_exchange_orders_its_warp_only() {
        let mut s = shadow();
        s.access(0, 0, 4, Write).unwrap();
        s.order_warp(1);
        assert_eq!(s.access(1, 0, 4, Read), race(0, Write));
        s.order_warp(0);
        s.access(1, 0, 4, Read).unwrap();
        assert_eq!(s.access(33, 0, 4, Read), race(0, Write));
    }

    #[test]
    fn an_earlier_reader_of_another_warp_is_not_forgotten() {
        let mut s = shadow();
        s.access(5, 8, 4, Write).unwrap();
        s.order_block();
        for reader in [40, 1, 2, 1] {
            s.access(reader, 8, 4, Read).unwrap();
            s.order_warp(0);
        }
        assert_eq!(s.access(1, 8, 4, Write), race(40, Read));
    }

    #[test]
    fn earlier_readers_of_the_same_warp_are_ordered_by_the_exchange() {
        let mut s = shadow();
        s.access(5, 8, 4, Write).unwrap();
        s.order_block();
        s.access(1, 8, 4, Read).unwrap();
        s.access(2, 8, 4, Read).unwrap();
        assert_eq!(s.access(2, 8, 4, Write), race(1, Read));
        s.order_warp(0);
        s.access(2, 8, 4, Write).unwrap();
    }

    #[test]
    fn atomics_race_with_others_but_not_with_each_other() {
        let mut s = shadow();
        assert_eq!(s.access(3, 0, 4, Atomic), Err(Violation::Uninitialised));
        s.access(3, 0, 4, Write).unwrap();
        s.order_block();
        s.access(3, 0, 4, Atomic).unwrap();
        s.access(70, 0, 4, Atomic).unwrap();
        assert_eq!(s.access(3, 0, 4, Read), race(70, Atomic));
    }

    #[test]
    fn neighbouring_bytes_are_apart() {
        let mut s = shadow();
        s.access(0, 0, 8, Write).unwrap();
        s.order_block();
        for thread in 0..8 {
            s.access(thread, thread, 1, Write).unwrap();
        }
        assert_eq!(s.access(9, 7, 1, Read), race(7, Write));
        assert_eq!(s.access(9, 8, 1, Read), Err(Violation::Uninitialised));
    }

    #[test]
    fn a_new_block_has_written_nothing() {
        let mut s = shadow();
        s.access(0, 0, 16, Write).unwrap();
        s.begin_block();
        assert_eq!(s.access(0, 12, 4, Read), Err(Violation::Uninitialised));
        s.access(9, 12, 4, Write).unwrap();
    }
}
