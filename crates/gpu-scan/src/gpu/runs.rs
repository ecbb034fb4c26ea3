//! Runs of equal keys and segments: run-length encoding, reductions by key and by offsets.

use device_std::Out;
use gpu_core::{Blocks, Element, Gpu, Slice, SliceMut};
use kernels_rs::primitives::offsets::Offsets;
use kernels_rs::primitives::reduce_by_key::{Arrays, RunKey, by_key, tile};
use kernels_rs::primitives::segment_totals::{
    BLOCK, Chunks, Entry, Input, MAX_FEW, by_chunks, by_groups, lanes_log2, most_long, reduce_few,
};
use kernels_rs::primitives::select::Runs;

use super::Workspace;
use super::select::{Call, zero};
use super::workspace::{Layout, apart, tiles};
use crate::error::{Error, Result, check_offsets, same_len};
use crate::{Count, Number, ReduceOperator};

/// Blocks of a multiprocessor that share the chunks of long segments.
const BLOCKS_OF_MULTIPROCESSOR: u64 = 8;

/// Finds the runs of equal elements, which are compared by their bits. Writes the first element of each run to the
/// front of `values`, its length to the front of `lengths`, and the number of runs to `count[0]`.
///
/// Cost: one read of each element, one write of each run.
///
/// Example: see [`cpu::run_lengths`](crate::cpu::run_lengths()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// - [`Length`](gpu_core::Error::Length): an output has fewer or more elements than the input, or the count not one
///   element.
/// - [`Overlap`](Error::Overlap): two of the arrays share memory.
/// - [`TooLarge`](Error::TooLarge): there are too many elements, or `L` might not hold a length.
pub fn run_lengths<'a, T: Number, L: Count>(
    workspace: &mut Workspace,
    input: impl Into<Slice<'a, T>>,
    values: impl Into<SliceMut<'a, T>>,
    lengths: impl Into<SliceMut<'a, L>>,
    count: impl Into<SliceMut<'a, u64>>,
) -> Result<()> {
    let (input, lengths) = (input.into(), lengths.into());
    let mut call = Call::new(input, count.into())?.keep(values.into())?;
    let len = input.len();
    same_len("lengths", len, lengths.len())?;
    if len as u64 > L::MOST {
        return Err(Error::TooLarge { elements: len as u64, most: L::MOST });
    }
    apart(("input", input), ("lengths", &lengths))?;
    call.lengths = L::arrays(lengths.output());
    call.enqueue::<Runs>(workspace)
}

/// Combines the values of each run of equal keys. Keys are compared by their bits. Writes the key of each run to
/// the front of `keys_out`, the combination of its values to the front of `totals`, and the number of runs to
/// `count[0]`.
///
/// Cost: one read of each key and each value, one write of each run.
///
/// Example: see [`cpu::reduce_by_key`](crate::cpu::reduce_by_key()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// - [`Length`](gpu_core::Error::Length): an array does not have the length of the keys, or the count not one
///   element.
/// - [`Overlap`](Error::Overlap): two of the arrays share memory.
/// - [`TooLarge`](Error::TooLarge): there are too many elements for one call.
#[allow(clippy::too_many_arguments)]
pub fn reduce_by_key<'a, K: Number, T: Number, O: ReduceOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    keys: impl Into<Slice<'a, K>>,
    values: impl Into<Slice<'a, T>>,
    keys_out: impl Into<SliceMut<'a, K>>,
    totals: impl Into<SliceMut<'a, T>>,
    count: impl Into<SliceMut<'a, u64>>,
) -> Result<()> {
    let (keys, values, count) = (keys.into(), values.into(), count.into());
    let (keys_out, totals) = (keys_out.into(), totals.into());
    let len = keys.len();
    let lengths = [("values", values.len()), ("output", keys_out.len()), ("totals", totals.len())];
    lengths.into_iter().try_for_each(|(what, found)| same_len(what, len, found))?;
    same_len("count", 1, count.len())?;
    apart(("input", keys), ("output", &keys_out))?;
    apart(("values", values), ("totals", &totals))?;
    apart(("input", keys), ("totals", &totals))?;
    apart(("values", values), ("output", &keys_out))?;
    apart(("output", &keys_out), ("totals", &totals))?;
    if len == 0 {
        return zero(workspace, count);
    }
    // The end of the array is an element too.
    let tiles = tiles(len as u64 + 1, tile::<K, T>())?;
    let [status, count_status] = workspace.two_statuses(tiles)?;
    let arguments = by_key::Args {
        arrays: Arrays {
            keys: keys.cast().input(),
            values: values.cast().input(),
            len: len as u64,
            keys_out: keys_out.cast().output(),
            totals: totals.cast().output(),
            count: count.output(),
        },
        parameters: operator.parameters(),
        control: workspace.control(),
        status,
        count_status,
    };
    let kernel = K::Bits::reduction::<O::Element, O::Reduction>();
    // SAFETY: the arrays are as long as the kernel asks, and apart.
    unsafe { workspace.gpu().enqueue(kernel, Blocks::x(tiles), arguments)? };
    Ok(())
}

/// Combines the elements of each segment. `totals[s]` combines `offsets[s]..offsets[s + 1]`; for an empty segment
/// it is what [`reduce`](super::reduce) gives for no elements.
///
/// Offsets must rise from 0 to the number of elements. They are on the device, so the call cannot check them. Wrong
/// offsets give no error, but the call touches nothing outside the arrays:
///
/// - An offset beyond the end counts as the end.
/// - A segment that would end before it begins is empty.
/// - If segments overlap, some totals may have any value, or stay unchanged.
///
/// Cost: one read of each element, one write of each total.
///
/// Example: see [`cpu::segmented_reduce`](crate::cpu::segmented_reduce()), called in [this
/// form](crate::gpu#examples).
///
/// # Errors
/// - [`Length`](gpu_core::Error::Length): there is not one total for each segment.
/// - [`Overlap`](Error::Overlap): two of the arrays share memory.
/// - [`TooLarge`](Error::TooLarge): there are too many elements or segments for one call.
pub fn segmented_reduce<'a, T: Number, O: ReduceOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    offsets: impl Into<Slice<'a, u64>>,
    values: impl Into<Slice<'a, T>>,
    totals: impl Into<SliceMut<'a, T>>,
) -> Result<()> {
    let (offsets, values, totals) = (offsets.into(), values.into(), totals.into());
    let segments = check_offsets(offsets.len())? as u64;
    same_len("totals", segments as usize, totals.len())?;
    apart(("values", values), ("totals", &totals))?;
    apart(("offsets", offsets), ("totals", &totals))?;
    if segments == 0 {
        return Ok(());
    }
    let len = values.len() as u64;
    let input = Input {
        elements: values.cast().input(),
        len,
        offsets: Offsets { offsets: offsets.input(), segments },
        lanes_log2: lanes_log2(len, segments),
        parameters: operator.parameters(),
    };
    let call = SegmentsCall::<O::Element> { input, totals: totals.cast().output() };
    // SAFETY: there is an offset more than segments, and a total for each, apart from the rest.
    unsafe {
        match segments <= MAX_FEW {
            true => call.reduce_few::<O::Reduction>(workspace),
            false => call.reduce_many::<O::Reduction>(workspace),
        }
    }
}

/// The arguments of a reduction of segments, checked.
struct SegmentsCall<'a, E> {
    input: Input<'a, E>,
    totals: Out<'a, E>,
}

impl<E: Element> SegmentsCall<'_, E> {
    /// Blocks of the groups of lanes.
    fn blocks_of_groups(&self) -> Result<u32> {
        tiles(self.input.offsets.segments << self.input.lanes_log2, BLOCK as u64)
    }

    /// Blocks that share the chunks of long segments.
    fn blocks_of_chunks(&self, gpu: &Gpu) -> u32 {
        let (_, chunks) = most_long(self.input.len, self.input.lanes_log2);
        let most = u64::from(gpu.multiprocessors()) * BLOCKS_OF_MULTIPROCESSOR;
        u64::min(chunks, most) as u32
    }

    /// One launch.
    ///
    /// # Safety
    /// There are `segments + 1` offsets, and a total for each segment.
    unsafe fn reduce_few<R: reduce_few::Instance<E>>(
        self,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let of_chunks = self.blocks_of_chunks(workspace.gpu());
        let blocks = Blocks::x(of_chunks + self.blocks_of_groups()?);
        let (_, most_chunks) = most_long(self.input.len, self.input.lanes_log2);
        let mut layout = Layout::default();
        let partials = layout.part::<E>(most_chunks);
        let partials = workspace.arena(&layout)?.at(&partials);
        let chunks = Chunks { partials, done: workspace.counters(most_chunks)? };
        let Self { input, totals } = self;
        let arguments = reduce_few::Args { input, of_chunks, most_chunks, chunks, totals };
        // SAFETY: the caller promises the arrays; `partials` and the counters hold all chunks.
        unsafe { workspace.gpu().enqueue(R::KERNEL, blocks, arguments)? };
        Ok(())
    }

    /// A launch for the groups and, where segments may be long, one for their chunks.
    ///
    /// # Safety
    /// As [`reduce_few`](Self::reduce_few).
    unsafe fn reduce_many<R>(self, workspace: &mut Workspace) -> Result<()>
    where
        R: by_groups::Instance<E> + by_chunks::Instance<E>,
    {
        let blocks = Blocks::x(self.blocks_of_groups()?);
        let (entries, chunks) = most_long(self.input.len, self.input.lanes_log2);
        let mut layout = Layout::default();
        // The counters of the list, the list, and those of the chunks that are done of each entry.
        let words = 1 + entries + entries.div_ceil(4);
        let all = layout.part::<Entry>(words);
        let partials = layout.part::<E>(chunks);
        let arena = workspace.arena(&layout)?;
        let (all, partials) = (arena.at(&all), arena.at(&partials));
        let gpu = workspace.gpu();
        let blocks_of_chunks = self.blocks_of_chunks(gpu);
        let Self { input, totals } = self;
        // SAFETY: the caller promises the arrays. The list begins behind its counters. The words that are left behind
        // the list hold four counters each, for which any bits will do; `partials` holds all chunks.
        unsafe {
            let (listed, list) = (all.cast::<u64>(), all.from(1u32));
            let done = list.from(entries).cast::<u32>();
            if entries > 0 {
                gpu.fill_with_byte(all.start(), 0, words as usize)?;
            }
            let arguments = by_groups::Args { input, listed, list, totals };
            gpu.enqueue(<R as by_groups::Instance<E>>::KERNEL, blocks, arguments)?;
            let arguments = by_chunks::Args {
                input,
                listed: listed.as_input(),
                list: list.as_input(),
                chunks: Chunks { partials, done },
                totals,
            };
            // Without chunks there are no blocks, so nothing is launched.
            let blocks = Blocks::x(blocks_of_chunks);
            gpu.enqueue(<R as by_chunks::Instance<E>>::KERNEL, blocks, arguments)?;
        }
        Ok(())
    }
}
