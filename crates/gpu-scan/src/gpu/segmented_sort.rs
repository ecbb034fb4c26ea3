//! Stable sorts of many segments in one go.
//!
//! A key of up to 4 bytes and the number of its segment make a key of 8 bytes, and one sort of these sorts all segments.
//! For keys of 8 bytes, and for parts of keys, a first sort ignores segments, and a second, stable sort is by segment.
//! Both sorts move only indices, and the elements follow at the end.

use device_std::Out;
use gpu_core::{Blocks, Slice, SliceMut};
use kernels_rs::primitives::offsets::Offsets;
use kernels_rs::primitives::segment_keys as kernels;

use super::Workspace;
use super::elementwise::enqueue_gather;
use super::sort::{Call, Ends, pair_ends};
use super::workspace::{Layout, apart};
use crate::error::{Error, Result, check_offsets, same_len};
use crate::{Key, Payload, Sort};

/// The most segments: the number of one is 32 bits of a key.
const MAX_SEGMENTS: u64 = 1 << 32;

/// Sorts the keys of each segment, stably. Segment s is `offsets[s]..offsets[s + 1]`.
///
/// Offsets must rise from 0 to the number of keys. They are on the device, so wrong offsets give no error. If they do
/// not, the keys come in some order, each once. Without segments, the call writes no keys.
///
/// Cost for keys of up to 4 bytes and all their bits: two passes, and a sort of keys of 8 bytes. That sort takes the
/// bits of the key and of the segment's number. For other keys: two sorts of pairs and a gather.
///
/// Example: see [`cpu::segmented_sort`](crate::cpu::segmented_sort()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// - The errors of [`sort`](super::sort()).
/// - [`TooLarge`](Error::TooLarge): there are more than 2^32 elements, or segments.
pub fn segmented_sort<'a, K: Key>(
    workspace: &mut Workspace,
    sort: Sort,
    offsets: impl Into<Slice<'a, u64>>,
    keys: impl Into<Slice<'a, K>>,
    sorted: impl Into<SliceMut<'a, K>>,
) -> Result<()> {
    let (keys, sorted) = (keys.into(), sorted.into());
    same_len("sorted", keys.len(), sorted.len())?;
    apart(("keys", keys), ("sorted", &sorted))?;
    let call = Segmented::new::<K>(&sort, offsets.into(), keys.len())?;
    // SAFETY: both arrays have `len` elements and are apart.
    unsafe { call.enqueue::<K, u32>(workspace, Ends::new(keys, sorted), None) }
}

/// Sorts each segment's keys, and puts each key's value at the key's place.
///
/// Sorts like [`segmented_sort`], and moves the values too.
///
/// Example: see [`cpu::segmented_sort_pairs`](crate::cpu::segmented_sort_pairs()), called in [this
/// form](crate::gpu#examples).
///
/// # Errors
/// The errors of [`segmented_sort`], for all arrays.
#[allow(clippy::too_many_arguments)]
pub fn segmented_sort_pairs<'a, K: Key, V: Payload>(
    workspace: &mut Workspace,
    sort: Sort,
    offsets: impl Into<Slice<'a, u64>>,
    keys: impl Into<Slice<'a, K>>,
    values: impl Into<Slice<'a, V>>,
    sorted_keys: impl Into<SliceMut<'a, K>>,
    sorted_values: impl Into<SliceMut<'a, V>>,
) -> Result<()> {
    let keys = keys.into();
    let call = Segmented::new::<K>(&sort, offsets.into(), keys.len())?;
    let (keys, values) = pair_ends(keys, values.into(), sorted_keys.into(), sorted_values.into())?;
    // SAFETY: all arrays have as many elements, and those written are apart from those read.
    unsafe { call.enqueue(workspace, keys, Some(values)) }
}

/// A sort of segments, checked.
struct Segmented<'a> {
    offsets: Offsets<'a>,
    len: usize,
    sort: Call,
    /// Whether the keys are sorted by all their bits.
    is_whole: bool,
}

impl<'a> Segmented<'a> {
    fn new<K: Key>(sort: &Sort, offsets: Slice<'a, u64>, len: usize) -> Result<Self> {
        let segments = check_offsets(offsets.len())? as u64;
        if segments > MAX_SEGMENTS {
            return Err(Error::TooLarge { elements: segments, most: MAX_SEGMENTS });
        }
        let bits = sort.range::<K>()?;
        let is_whole = bits.len() == 8 * size_of::<K>();
        let offsets = Offsets { offsets: offsets.input(), segments };
        Ok(Self { offsets, len, sort: Call::new::<K>(sort, len)?, is_whole })
    }

    /// Bits of the highest number of a segment.
    fn segment_bits(&self) -> u32 {
        u64::BITS - (self.offsets.segments - 1).leading_zeros()
    }

    /// # Safety
    /// The arrays have `len` elements, and those written are apart from those read.
    unsafe fn enqueue<K: Key, V: Payload>(
        &self,
        workspace: &mut Workspace,
        keys: Ends<'_, K>,
        values: Option<Ends<'_, V>>,
    ) -> Result<()> {
        if self.offsets.segments == 0 || self.len == 0 {
            return Ok(());
        }
        let gpu = workspace.gpu();
        gpu.check_argument(&self.offsets.offsets)?;
        keys.check(gpu)?;
        values.iter().try_for_each(|values| values.check(gpu))?;
        // SAFETY: the arrays are the caller's promise.
        unsafe {
            match size_of::<K>() {
                1 if self.is_whole => self.sort_joined::<u8, V>(workspace, keys.cast(), values),
                2 if self.is_whole => self.sort_joined::<u16, V>(workspace, keys.cast(), values),
                4 if self.is_whole => self.sort_joined::<u32, V>(workspace, keys.cast(), values),
                _ => self.sort_twice(workspace, keys, values),
            }
        }
    }

    /// Sorts keys together with their segments.
    ///
    /// # Safety
    /// As [`enqueue`](Self::enqueue).
    unsafe fn sort_joined<B, V>(
        &self,
        workspace: &mut Workspace,
        keys: Ends<'_, B>,
        values: Option<Ends<'_, V>>,
    ) -> Result<()>
    where
        B: Copy + kernels::join_segments::Instance + kernels::part_segments::Instance,
        V: Payload,
    {
        let mut layout = Layout::default();
        let joined = layout.part::<u64>(self.len as u64);
        let joined = workspace.outer_arena(&layout)?.at(&joined);
        let (len, blocks) = (self.len as u64, self.blocks());
        let parameters = self.sort.order();
        let both = Call::by_bits(self.len, 0..8 * size_of::<B>() as u32 + self.segment_bits());
        let ends = Ends::<u64>::in_place(joined);
        let (from, to) = keys.there();
        // SAFETY: the arrays are the caller's promise; `joined` has `len` elements.
        unsafe {
            let offsets = self.offsets;
            let arguments =
                kernels::join_segments::Args { keys: from, len, offsets, parameters, joined };
            let kernel = <B as kernels::join_segments::Instance>::KERNEL;
            workspace.gpu().enqueue(kernel, blocks, arguments)?;
            match values {
                None => both.enqueue_keys(workspace, ends)?,
                Some(values) => both.enqueue_pairs_of(workspace, ends, values)?,
            }
            let joined = joined.as_input();
            let arguments = kernels::part_segments::Args { joined, len, parameters, keys: to };
            let kernel = <B as kernels::part_segments::Instance>::KERNEL;
            workspace.gpu().enqueue(kernel, blocks, arguments)?;
        }
        Ok(())
    }

    /// Sorts indices by the keys and then by the segments.
    ///
    /// # Safety
    /// As [`enqueue`](Self::enqueue).
    unsafe fn sort_twice<K: Key, V: Payload>(
        &self,
        workspace: &mut Workspace,
        keys: Ends<'_, K>,
        values: Option<Ends<'_, V>>,
    ) -> Result<()> {
        let len = self.len as u64;
        let mut layout = Layout::default();
        let (indices, segments) = (layout.part::<u64>(len), layout.part::<u32>(len));
        let arena = workspace.outer_arena(&layout)?;
        let (indices, segment_of) = (arena.at(&indices), arena.at(&segments));
        let by_segment = Call::by_bits(self.len, 0..self.segment_bits().max(1));
        // SAFETY: the arrays are the caller's promise; the parts of the arena have `len` elements.
        unsafe {
            let by_key = Ends::<K>::nowhere(keys.there().0);
            self.sort.enqueue_pairs_of(workspace, by_key, Ends::indices(indices))?;
            let (elements, offsets) = (indices.as_input(), self.offsets);
            let arguments = kernels::segments_of::Args { elements, len, offsets, segment_of };
            workspace.gpu().enqueue(kernels::segments_of, self.blocks(), arguments)?;
            let segment_of = Ends::<u32>::in_place(segment_of);
            by_segment.enqueue_pairs_of(workspace, segment_of, Ends::in_place(indices))?;
            self.gather(workspace, indices, keys)?;
            match values {
                Some(values) => self.gather(workspace, indices, values),
                None => Ok(()),
            }
        }
    }

    /// # Safety
    /// As [`enqueue`](Self::enqueue), for the indices too.
    unsafe fn gather<T: crate::Number>(
        &self,
        workspace: &Workspace,
        indices: Out<'_, u64>,
        ends: Ends<'_, T>,
    ) -> Result<()> {
        let (input, output) = ends.cast::<T::Bits>().there();
        let (indices, len) = (indices.as_input(), self.len as u64);
        // SAFETY: the arrays are the caller's promise.
        unsafe { enqueue_gather(workspace, (indices, len), (input, len), output) }
    }

    fn blocks(&self) -> Blocks {
        Blocks::x((self.len as u64).div_ceil(kernels::TILE) as u32)
    }
}
