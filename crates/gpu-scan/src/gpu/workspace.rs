//! The temporary storage of the primitives, and the stream they run on.

use device_std::atomic::Pair;
use gpu_core::{Column, Gpu, Reading, Slice, SliceMut, Writing};
use kernels_rs::primitives::sort::{DIGITS, MOST_PASSES};

use crate::{Error, Result};

/// The stream on which primitives are enqueued, and the temporary storage that they share.
///
/// Calls with one workspace run one after the other, so they can use the same memory. It grows
/// when a call needs more than any before, and is never given back before the workspace is
/// dropped. For work on several streams make a workspace for each.
///
/// A sequence of calls can be captured into a CUDA graph, after the same sequence has run once
/// outside, so that the workspace has grown: inside it refuses to, by
/// [`Captured`](gpu_core::Error::Captured), as it refuses to tidy up after a sort that failed. The
/// workspace must live as long as the graph is
/// launched, and work on it and the graph must not run at the same time.
#[derive(Debug)]
pub struct Workspace {
    gpu: Gpu,
    /// The tickets and the epoch of look-backs; after it the counter of finished blocks, and the epoch in
    /// which a histogram was cleared.
    control: Column<u64>,
    /// The statuses of tiles.
    status: Column<Pair>,
    /// Counters that are zero between calls.
    counters: Column<u64>,
    /// The control word of sorts; after it the counts of the digits of all passes of one, zero
    /// between sorts.
    sort: Column<u64>,
    /// Whether a sort was begun and not enqueued to its end: its counts may not be zero then.
    is_sorting: bool,
    /// The statuses of the digits of tiles, and a word that says when they were cleared.
    digit_status: Column<u64>,
    /// What a call puts there between its launches.
    arena: Column<Pair>,
    /// What a call that consists of others keeps meanwhile.
    outer_arena: Column<Pair>,
    /// Storage that was outgrown; a captured graph may still use it.
    outgrown: Vec<Outgrown>,
}

/// Storage that was outgrown: kept, never read.
#[derive(Debug)]
enum Outgrown {
    Pairs(#[expect(dead_code)] Column<Pair>),
    Words(#[expect(dead_code)] Column<u64>),
}

/// The arrays of a sort's kernels.
pub(crate) struct Digits {
    /// Digit counts, for each pass.
    pub(crate) counts: *mut u64,
    /// The control word.
    pub(crate) control: *mut u64,
    /// The statuses of tiles, and one word more.
    pub(crate) status: *mut u64,
    /// How many there are.
    pub(crate) status_len: u64,
}

/// Control words of a sort.
const SORT_CONTROL: usize = 1;

/// Digit counts of a sort.
const COUNTS: usize = (MOST_PASSES * DIGITS) as usize;

/// Statuses to begin with: enough for 2^24 elements of 4 bytes.
const FIRST_TILES: usize = 4096;

/// What a capture is refused for: the memory would be the graph's.
const GROWTH: &str = "the growth of a workspace, which happens at the first call of its size,";
/// The same.
const CLEARING: &str = "the first sort after one that failed";

impl Workspace {
    /// A workspace on the stream of `gpu`.
    ///
    /// # Errors
    /// [`Error::Core`] where the memory cannot be had.
    pub fn new(gpu: &Gpu) -> Result<Self> {
        Ok(Self {
            gpu: gpu.clone(),
            control: gpu.zeroed(3)?,
            status: gpu.zeroed(FIRST_TILES)?,
            counters: gpu.zeroed(0)?,
            sort: gpu.zeroed(SORT_CONTROL + COUNTS)?,
            is_sorting: false,
            digit_status: gpu.zeroed(0)?,
            arena: gpu.zeroed(0)?,
            outer_arena: gpu.zeroed(0)?,
            outgrown: Vec::new(),
        })
    }

    /// The handle that calls are enqueued on.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Puts the work of the call that holds the result in order with the slice's own stream.
    pub(crate) fn read<'a, T>(&self, slice: impl Into<Slice<'a, T>>) -> Result<Reading<'a, T>> {
        Ok(self.gpu.admit(slice)?)
    }

    /// The same for a slice that is written.
    pub(crate) fn write<'a, T>(&self, slice: impl Into<SliceMut<'a, T>>) -> Result<Writing<'a, T>> {
        Ok(self.gpu.admit_mut(slice)?)
    }

    /// The control word of look-backs.
    pub(crate) fn control(&mut self) -> *mut u64 {
        self.control.as_mut_ptr()
    }

    /// The counter of finished blocks.
    pub(crate) fn done(&mut self) -> *mut u32 {
        self.control.as_mut_ptr().wrapping_add(1).cast()
    }

    /// The epoch in which the counts of a histogram were last set to zero.
    pub(crate) fn cleared(&mut self) -> *mut u64 {
        self.control.as_mut_ptr().wrapping_add(2)
    }

    /// `arrays` status arrays of `tiles` elements each, one after the other.
    pub(crate) fn statuses(&mut self, tiles: u64, arrays: u64) -> Result<*mut Pair> {
        let needed = (tiles * arrays) as usize;
        if needed > self.status.len() {
            self.gpu.refuse_in_capture(GROWTH)?;
            let grown = self.gpu.zeroed(needed.next_power_of_two())?;
            let outgrown = std::mem::replace(&mut self.status, grown);
            self.outgrown.push(Outgrown::Pairs(outgrown));
        }
        Ok(self.status.as_mut_ptr())
    }

    /// `len` counters, which are zero and are left so by the call.
    pub(crate) fn counters(&mut self, len: u64) -> Result<*mut u32> {
        let needed = len.div_ceil(2) as usize;
        if needed > self.counters.len() {
            self.gpu.refuse_in_capture(GROWTH)?;
            let grown = self.gpu.zeroed(needed.next_power_of_two())?;
            let outgrown = std::mem::replace(&mut self.counters, grown);
            self.outgrown.push(Outgrown::Words(outgrown));
        }
        Ok(self.counters.as_mut_ptr().cast())
    }

    /// The arrays of a sort with this number of statuses, which ends with [`end_sort`](Self::end_sort).
    pub(crate) fn begin_sort(&mut self, statuses: u64) -> Result<Digits> {
        let needed = statuses as usize;
        if needed >= self.digit_status.len() {
            self.gpu.refuse_in_capture(GROWTH)?;
            let grown = self.gpu.zeroed(needed.next_power_of_two() + 1)?;
            let outgrown = std::mem::replace(&mut self.digit_status, grown);
            self.outgrown.push(Outgrown::Words(outgrown));
        }
        let control = self.sort.as_mut_ptr();
        let counts = control.wrapping_add(SORT_CONTROL);
        if self.is_sorting {
            // Enqueued, not recorded: the graph might never be launched.
            self.gpu.refuse_in_capture(CLEARING)?;
            // SAFETY: the counts lie behind the control word, and are used on this stream only.
            unsafe { self.gpu.fill_with_byte(counts, 0, COUNTS)? };
        }
        self.is_sorting = true;
        Ok(Digits {
            counts,
            control,
            status: self.digit_status.as_mut_ptr(),
            status_len: self.digit_status.len() as u64 - 1,
        })
    }

    /// All passes of a sort are enqueued, the last of which leaves the counts at zero.
    pub(crate) fn end_sort(&mut self) {
        self.is_sorting = false;
    }

    /// Uninitialised memory for the parts of a layout.
    pub(crate) fn arena(&mut self, layout: &Layout) -> Result<Arena> {
        let outgrown = grow(&self.gpu, &mut self.arena, layout)?;
        self.outgrown.extend(outgrown.map(Outgrown::Pairs));
        Ok(Arena { start: self.arena.as_mut_ptr().cast() })
    }

    /// The same apart from [`arena`](Self::arena), for a call that consists of others.
    pub(crate) fn outer_arena(&mut self, layout: &Layout) -> Result<Arena> {
        let outgrown = grow(&self.gpu, &mut self.outer_arena, layout)?;
        self.outgrown.extend(outgrown.map(Outgrown::Pairs));
        Ok(Arena { start: self.outer_arena.as_mut_ptr().cast() })
    }
}

/// Makes `arena` large enough, and gives the one that it was before, if it was not.
fn grow(gpu: &Gpu, arena: &mut Column<Pair>, layout: &Layout) -> Result<Option<Column<Pair>>> {
    let needed = layout.bytes.div_ceil(size_of::<Pair>() as u64) as usize;
    if needed <= arena.len() {
        return Ok(None);
    }
    gpu.refuse_in_capture(GROWTH)?;
    // SAFETY: every call writes a part before it reads it.
    let grown = unsafe { gpu.uninitialized(needed.next_power_of_two())? };
    Ok(Some(std::mem::replace(arena, grown)))
}

/// The parts of a call's temporary storage, planned before it is taken.
#[derive(Default)]
pub(crate) struct Layout {
    bytes: u64,
}

/// Where a part lies.
pub(crate) struct Part<T> {
    offset: u64,
    element: std::marker::PhantomData<T>,
}

impl Layout {
    /// Room for `len` elements, aligned as vectors need it.
    pub(crate) fn part<T>(&mut self, len: u64) -> Part<T> {
        let offset = self.bytes;
        self.bytes = (offset + len * size_of::<T>() as u64).next_multiple_of(256);
        Part { offset, element: std::marker::PhantomData }
    }
}

/// A call's temporary storage.
#[derive(Clone, Copy)]
pub(crate) struct Arena {
    start: *mut u8,
}

impl Arena {
    /// The address of a part.
    pub(crate) fn at<T>(&self, part: &Part<T>) -> *mut T {
        self.start.wrapping_add(part.offset as usize).cast()
    }
}

/// The blocks of a launch with one block a tile.
pub(crate) fn tiles(elements: u64, tile: u64) -> Result<u32> {
    let tiles = elements.div_ceil(tile);
    if tiles > device_std::lookback::MAX_TILES {
        return Err(Error::TooLarge { elements, most: device_std::lookback::MAX_TILES * tile });
    }
    Ok(tiles as u32)
}

/// Checks that two arrays share no memory.
pub(crate) fn apart<A, B>(
    (first, a, a_len): (&'static str, *const A, usize),
    (second, b, b_len): (&'static str, *const B, usize),
) -> Result<()> {
    let (a, b) = (a as usize, b as usize);
    let (a_end, b_end) = (a + a_len * size_of::<A>(), b + b_len * size_of::<B>());
    if a < b_end && b < a_end {
        return Err(Error::Overlap { first, second });
    }
    Ok(())
}
