//! Where the polygons of teams lie: in shared or in global memory.

use core::marker::PhantomData;

use device_std::shared::{Carver, SharedArray};
use device_std::thread;

use super::super::polygon::Slots;
use super::super::rings::MOST_CLIPPED_SIDES;
use super::super::team::{Near, Team, Warp};

/// Threads of a block of the kernels that clip.
pub const CLIP_BLOCK: u32 = 64;

/// Sides of a polygon in shared memory, of a thread's by itself and of a warp's.
pub const FEW_SIDES: u32 = 12;
/// See [`FEW_SIDES`].
pub const WARP_SIDES: u32 = MOST_CLIPPED_SIDES;

/// Bytes that a polygon's side takes in memory.
pub const SIDE_BYTES: u64 = 36;

/// Where the polygons of the teams lie: for each side four numbers and the name of a line.
pub trait Memory: Sized {
    /// Who clips a polygon.
    type Team: Team;
    /// Bytes of shared memory for a block.
    const SHARED: u32;
    /// The team of this thread.
    ///
    /// # Safety
    /// All its threads take the same way through whatever works with it.
    unsafe fn team() -> Self::Team;
    /// The slots of this team.
    ///
    /// # Safety
    /// `slots` has [`SIDE_BYTES`] for each of `capacity` sides of each of `workers` teams, of which this is
    /// one; shared memory takes nothing of it.
    unsafe fn slots(slots: *mut f64, capacity: u32, workers: u32) -> Strided<Self>;
    /// Number `at`.
    ///
    /// # Safety
    /// It is one of the team's own.
    unsafe fn number(&self, at: usize) -> f64;
    /// Sets number `at`.
    ///
    /// # Safety
    /// As for [`number`](Self::number).
    unsafe fn set_number(&mut self, at: usize, number: f64);
    /// Name `at`.
    ///
    /// # Safety
    /// As for [`number`](Self::number).
    unsafe fn name(&self, at: usize) -> u32;
    /// Sets name `at`.
    ///
    /// # Safety
    /// As for [`number`](Self::number).
    unsafe fn set_name(&mut self, at: usize, name: u32);
}

/// What [`Memory::SHARED`] says.
pub(super) const fn shared_bytes<M: Memory>() -> u32 {
    M::SHARED
}

/// A team whose polygons fit shared memory.
pub trait FewSided: Team {
    /// The most sides of one.
    const SIDES: u32;
    /// As [`Memory::team`].
    ///
    /// # Safety
    /// As there.
    unsafe fn here() -> Self;
}

impl FewSided for Near {
    const SIDES: u32 = FEW_SIDES;
    #[inline(always)]
    unsafe fn here() -> Self {
        Self
    }
}

impl FewSided for Warp {
    const SIDES: u32 = WARP_SIDES;
    #[inline(always)]
    unsafe fn here() -> Self {
        // SAFETY: passed on to the caller.
        unsafe { Self::new() }
    }
}

/// Polygons of few sides in shared memory.
pub struct InShared<T> {
    numbers: SharedArray<f64>,
    names: SharedArray<u32>,
    team: PhantomData<T>,
}

impl<T: FewSided> InShared<T> {
    /// Teams of a block.
    const TEAMS: u32 = CLIP_BLOCK / T::THREADS;

    const fn carve(carver: &mut Carver) -> Self {
        Self {
            numbers: carver.array(4 * T::SIDES * Self::TEAMS),
            names: carver.array(T::SIDES * Self::TEAMS),
            team: PhantomData,
        }
    }

    const BYTES: u32 = {
        let mut carver = Carver::new();
        Self::carve(&mut carver);
        carver.bytes()
    };
}

// SAFETY (all): passed on to the caller.
impl<T: FewSided> Memory for InShared<T> {
    type Team = T;
    const SHARED: u32 = Self::BYTES;

    #[inline(always)]
    unsafe fn team() -> T {
        // SAFETY: as above.
        unsafe { T::here() }
    }

    #[inline(always)]
    unsafe fn slots(_: *mut f64, _: u32, _: u32) -> Strided<Self> {
        let me = (thread::thread_idx_x() / T::THREADS) as usize;
        let memory = Self::carve(&mut Carver::new());
        Strided::new(memory, T::SIDES, T::THREADS, Self::TEAMS as usize, me)
    }
    #[inline(always)]
    unsafe fn number(&self, at: usize) -> f64 {
        // SAFETY: as above.
        unsafe { self.numbers.load(at as u32) }
    }
    #[inline(always)]
    unsafe fn set_number(&mut self, at: usize, number: f64) {
        // SAFETY: as above.
        unsafe { self.numbers.store(at as u32, number) }
    }
    #[inline(always)]
    unsafe fn name(&self, at: usize) -> u32 {
        // SAFETY: as above.
        unsafe { self.names.load(at as u32) }
    }
    #[inline(always)]
    unsafe fn set_name(&mut self, at: usize, name: u32) {
        // SAFETY: as above.
        unsafe { self.names.store(at as u32, name) }
    }
}

/// Polygons of any number of sides in global memory.
pub struct InGlobal {
    numbers: *mut f64,
    names: *mut u32,
}

// SAFETY (all): passed on to the caller.
impl Memory for InGlobal {
    type Team = Warp;
    const SHARED: u32 = 0;

    #[inline(always)]
    unsafe fn team() -> Warp {
        // SAFETY: as above.
        unsafe { Warp::new() }
    }

    #[inline(always)]
    unsafe fn slots(slots: *mut f64, capacity: u32, workers: u32) -> Strided<Self> {
        let (teams, me) = (workers as usize, team_index::<Warp>() as usize);
        // SAFETY: as above.
        let names = unsafe { slots.add(4 * capacity as usize * teams).cast() };
        Strided::new(Self { numbers: slots, names }, capacity, Warp::THREADS, teams, me)
    }
    #[inline(always)]
    unsafe fn number(&self, at: usize) -> f64 {
        // SAFETY: as above.
        unsafe { *self.numbers.add(at) }
    }
    #[inline(always)]
    unsafe fn set_number(&mut self, at: usize, number: f64) {
        // SAFETY: as above.
        unsafe { *self.numbers.add(at) = number }
    }
    #[inline(always)]
    unsafe fn name(&self, at: usize) -> u32 {
        // SAFETY: as above.
        unsafe { *self.names.add(at) }
    }
    #[inline(always)]
    unsafe fn set_name(&mut self, at: usize, name: u32) {
        // SAFETY: as above.
        unsafe { *self.names.add(at) = name }
    }
}

/// The slots of a team.
pub struct Strided<M> {
    memory: M,
    capacity: u32,
    /// Between the slots of a team.
    stride: usize,
    /// Where its numbers begin, and its names.
    first: [usize; 2],
}

impl<M> Strided<M> {
    /// Those of team `me` of `teams`. What the threads of a warp want at once lies together: a slot of each where
    /// each has a polygon, the slots of one where they share it.
    #[inline(always)]
    fn new(memory: M, capacity: u32, threads: u32, teams: usize, me: usize) -> Self {
        let slots = capacity as usize;
        let (stride, first) =
            if threads == 1 { (teams, [me, me]) } else { (1, [4 * slots * me, slots * me]) };
        Self { memory, capacity, stride, first }
    }

    #[inline(always)]
    fn at(&self, number: u32, i: u32) -> usize {
        (number * self.capacity + i) as usize * self.stride + self.first[0]
    }

    #[inline(always)]
    fn name_at(&self, i: u32) -> usize {
        i as usize * self.stride + self.first[1]
    }
}

/// Which team of the grid this thread's is.
#[inline(always)]
pub(super) fn team_index<T: Team>() -> u64 {
    thread::index_1d() / T::THREADS as u64
}

// SAFETY (all): indices are below the capacity, by the contract of `Slots`, and the slots are the
// team's own, of which one thread writes.
impl<M: Memory> Slots for Strided<M> {
    #[inline(always)]
    fn capacity(&self) -> u32 {
        self.capacity
    }
    #[inline(always)]
    fn corner(&self, i: u32) -> [f64; 2] {
        // SAFETY: as above.
        unsafe { [self.memory.number(self.at(0, i)), self.memory.number(self.at(1, i))] }
    }
    #[inline(always)]
    fn set_corner(&mut self, i: u32, [x, y]: [f64; 2]) {
        let (at_x, at_y) = (self.at(0, i), self.at(1, i));
        // SAFETY: as above.
        unsafe {
            self.memory.set_number(at_x, x);
            self.memory.set_number(at_y, y);
        }
    }
    #[inline(always)]
    fn line(&self, i: u32) -> u32 {
        // SAFETY: as above.
        unsafe { self.memory.name(self.name_at(i)) }
    }
    #[inline(always)]
    fn set_line(&mut self, i: u32, line: u32) {
        let at = self.name_at(i);
        // SAFETY: as above.
        unsafe { self.memory.set_name(at, line) }
    }
    #[inline(always)]
    fn share(&self, i: u32) -> f64 {
        // SAFETY: as above.
        unsafe { self.memory.number(self.at(2, i)) }
    }
    #[inline(always)]
    fn set_share(&mut self, i: u32, share: f64) {
        let at = self.at(2, i);
        // SAFETY: as above.
        unsafe { self.memory.set_number(at, share) }
    }
    #[inline(always)]
    fn time(&self, i: u32) -> f64 {
        // SAFETY: as above.
        unsafe { self.memory.number(self.at(3, i)) }
    }
    #[inline(always)]
    fn set_time(&mut self, i: u32, time: f64) {
        let at = self.at(3, i);
        // SAFETY: as above.
        unsafe { self.memory.set_number(at, time) }
    }
}
