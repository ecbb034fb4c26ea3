//! The temporary storage of the primitives, and the stream they run on.

use device_std::Out;
use device_std::atomic::Pair;
use gpu_core::{Column, Element, Gpu, Slice};
use kernels_rs::primitives::sort::{DIGITS, MAX_PASSES};

use crate::{Error, Result};

/// The stream on which primitives are enqueued, and the temporary storage that they share.
///
/// Calls with one workspace run one after the other, so they can use the same memory. The memory grows when a call
/// needs more than any earlier call. Dropping the workspace frees it. For work on several streams make a workspace for
/// each.
///
/// A sequence of calls can be captured into a CUDA graph after it has run once outside, so that the workspace has
/// grown. Inside a capture, the workspace can neither grow nor clean up after a failed sort: the call returns
/// [`Captured`](gpu_core::Error::Captured). The workspace must live as long as the graph is launched. Work on it and
/// the graph must not run at the same time.
///
/// Example: see [the module](crate::gpu#examples), where one workspace serves all calls.
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
    /// Storage of one call between its launches.
    arena: Column<Pair>,
    /// Storage of a call that makes other calls.
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
pub(crate) struct Digits<'a> {
    /// Digit counts, for each pass.
    pub(crate) counts: Out<'a, u64>,
    /// The control word.
    pub(crate) control: Out<'a, u64>,
    /// The statuses of tiles, and one word more.
    pub(crate) status: Out<'a, u64>,
    /// How many there are.
    pub(crate) status_len: u64,
}

/// Control words of a sort.
const SORT_CONTROL: usize = 1;

/// Digit counts of a sort.
const COUNTS: usize = (MAX_PASSES * DIGITS) as usize;

/// Statuses to begin with: enough for 2^24 elements of 4 bytes.
const FIRST_TILES: usize = 4096;

/// The reason for refusing a capture: the memory would be the graph's.
const GROWTH: &str = "the growth of a workspace, which happens at the first call of its size,";
/// The same.
const CLEARING: &str = "the first sort after one that failed";

impl Workspace {
    /// Makes a workspace on the stream of `gpu`.
    ///
    /// # Errors
    /// [`Error::Core`]: the device has no memory left.
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

    /// The control word of look-backs.
    pub(crate) fn control<'a>(&mut self) -> Out<'a, u64> {
        storage(&mut self.control, 0, 1)
    }

    /// The counter of finished blocks.
    pub(crate) fn done<'a>(&mut self) -> Out<'a, u32> {
        storage(&mut self.control, 1, 1)
    }

    /// The epoch in which the counts of a histogram were last set to zero.
    pub(crate) fn cleared<'a>(&mut self) -> Out<'a, u64> {
        storage(&mut self.control, 2, 1)
    }

    /// The status array of a look-back over `tiles` tiles.
    pub(crate) fn status<'a>(&mut self, tiles: u32) -> Result<Out<'a, Pair>> {
        let [status, _] = self.statuses(tiles, 1)?;
        Ok(status)
    }

    /// The same for two look-backs over the same tiles.
    pub(crate) fn two_statuses<'a>(&mut self, tiles: u32) -> Result<[Out<'a, Pair>; 2]> {
        self.statuses(tiles, 2)
    }

    /// The first two of `arrays` status arrays.
    fn statuses<'a>(&mut self, tiles: u32, arrays: usize) -> Result<[Out<'a, Pair>; 2]> {
        let needed = tiles as usize * arrays;
        if needed > self.status.len() {
            self.gpu.refuse_in_capture(GROWTH)?;
            let grown = self.gpu.zeroed(needed.next_power_of_two())?;
            let outgrown = std::mem::replace(&mut self.status, grown);
            self.outgrown.push(Outgrown::Pairs(outgrown));
        }
        let tiles = tiles as usize;
        let second = tiles * (arrays - 1);
        Ok([storage(&mut self.status, 0, tiles), storage(&mut self.status, second, tiles)])
    }

    /// `len` counters, which are zero and are left so by the call.
    pub(crate) fn counters<'a>(&mut self, len: u64) -> Result<Out<'a, u32>> {
        let needed = len.div_ceil(2) as usize;
        if needed > self.counters.len() {
            self.gpu.refuse_in_capture(GROWTH)?;
            let grown = self.gpu.zeroed(needed.next_power_of_two())?;
            let outgrown = std::mem::replace(&mut self.counters, grown);
            self.outgrown.push(Outgrown::Words(outgrown));
        }
        Ok(storage(&mut self.counters, 0, len as usize))
    }

    /// The arrays of a sort with this number of statuses, which ends with [`end_sort`](Self::end_sort).
    pub(crate) fn begin_sort<'a>(&mut self, statuses: u64) -> Result<Digits<'a>> {
        let needed = statuses as usize;
        if needed >= self.digit_status.len() {
            self.gpu.refuse_in_capture(GROWTH)?;
            let grown = self.gpu.zeroed(needed.next_power_of_two() + 1)?;
            let outgrown = std::mem::replace(&mut self.digit_status, grown);
            self.outgrown.push(Outgrown::Words(outgrown));
        }
        let counts: Out<'_, u64> = storage(&mut self.sort, SORT_CONTROL, COUNTS);
        if self.is_sorting {
            // Enqueued, not recorded: the graph might never be launched.
            self.gpu.refuse_in_capture(CLEARING)?;
            // SAFETY: the counts lie behind the control word, and are used on this stream only.
            unsafe { self.gpu.fill_with_byte(counts.start(), 0, COUNTS)? };
        }
        self.is_sorting = true;
        let words = self.digit_status.len();
        Ok(Digits {
            counts,
            control: storage(&mut self.sort, 0, SORT_CONTROL),
            status: storage(&mut self.digit_status, 0, words),
            status_len: words as u64 - 1,
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

/// Returns `len` elements of the workspace's storage, behind `skipped` words of it.
///
/// The lifetime is the caller's choice: a workspace keeps its storage, also what it has outgrown, until it is dropped.
/// Its calls run one after the other on its own stream, so that none needs an admission.
fn storage<'a, W: Element, T: Element>(
    words: &mut Column<W>,
    skipped: usize,
    len: usize,
) -> Out<'a, T> {
    const { assert!(align_of::<T>() <= align_of::<W>()) };
    let held = words.len().saturating_sub(skipped) * size_of::<W>();
    assert!(held >= len * size_of::<T>(), "{len} elements in {held} bytes of storage");
    let start = words.as_mut_ptr().wrapping_add(skipped);
    // SAFETY: this many elements are in the column from there on, aligned as was checked. Any bits are a value.
    unsafe { Out::from_raw_parts(start.cast(), len) }
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
    len: u64,
    element: std::marker::PhantomData<T>,
}

impl Layout {
    /// Room for `len` elements, aligned as vectors need it.
    pub(crate) fn part<T>(&mut self, len: u64) -> Part<T> {
        let offset = self.bytes;
        self.bytes = (offset + len * size_of::<T>() as u64).next_multiple_of(256);
        Part { offset, len, element: std::marker::PhantomData }
    }
}

/// A call's temporary storage.
#[derive(Clone, Copy)]
pub(crate) struct Arena {
    start: *mut u8,
}

impl Arena {
    /// A part, of the layout that the arena was taken for. Its lifetime is the caller's choice, as of all storage of a
    /// workspace.
    pub(crate) fn at<'a, T: Element>(&self, part: &Part<T>) -> Out<'a, T> {
        let start = self.start.wrapping_add(part.offset as usize);
        // SAFETY: the arena is as large as its layout, whose parts lie apart at multiples of 256 bytes. Any bits are
        // a value.
        unsafe { Out::from_raw_parts(start.cast(), part.len as usize) }
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
pub(crate) fn apart<'a, 'b, A: 'a, B: 'b>(
    (first, a): (&'static str, impl Into<Slice<'a, A>>),
    (second, b): (&'static str, impl Into<Slice<'b, B>>),
) -> Result<()> {
    let place = |start: usize, bytes: usize| (start, start + bytes);
    let (a, b) = (a.into(), b.into());
    let (a, a_end) = place(a.as_ptr() as usize, a.len() * size_of::<A>());
    let (b, b_end) = place(b.as_ptr() as usize, b.len() * size_of::<B>());
    if a < b_end && b < a_end {
        return Err(Error::Overlap { first, second });
    }
    Ok(())
}
