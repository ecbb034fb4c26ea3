//! Runs of equal keys and segments: run-length encoding, reductions by key and by offsets.

use gpu_core::{Blocks, Gpu, Slice, SliceMut};
use kernels_rs::primitives::reduce_by_key::{RunKey, by_key, tile};
use kernels_rs::primitives::segment_totals::{
    BLOCK, Entry, MOST_FEW, by_chunks, by_groups, lanes_log2, most_long, reduce_few,
};
use kernels_rs::primitives::select::Runs;

use super::Workspace;
use super::segments::check_offsets;
use super::select::{Call, zero};
use super::workspace::{Layout, apart, tiles};
use crate::error::{Error, Result, same_len};
use crate::{Count, Number, ReduceOperator};

/// Blocks of a multiprocessor that share the chunks of long segments.
const BLOCKS_OF_MULTIPROCESSOR: u64 = 8;

/// Writes the first element of each run of equal elements to the front of `values`, the run's
/// length to the front of `lengths`, and the number of runs to `count[0]`. Elements are compared
/// by their bits.
///
/// One read of each element, one write of each run.
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) unless both outputs have as many elements as the input and the count
/// one, [`Overlap`](Error::Overlap), [`TooLarge`](Error::TooLarge), also where a length might not
/// fit `L`.
pub fn run_lengths<'a, 'b, 'c, 'd, T: Number, L: Count>(
    workspace: &mut Workspace,
    input: impl Into<Slice<'a, T>>,
    values: impl Into<SliceMut<'b, T>>,
    lengths: impl Into<SliceMut<'d, L>>,
    count: impl Into<SliceMut<'c, u64>>,
) -> Result<()> {
    let (mut values, mut count) = (workspace.write(values)?, workspace.write(count)?);
    let (input, mut lengths) = (workspace.read(input)?, workspace.write(lengths)?);
    let mut call = Call::new(*input, count.reborrow())?.keep(values.reborrow())?;
    same_len("lengths", call.len, lengths.len())?;
    if call.len as u64 > L::MOST {
        return Err(Error::TooLarge { elements: call.len as u64, most: L::MOST });
    }
    let start = lengths.as_mut_ptr();
    apart(("input", input.as_ptr(), call.len), ("lengths", start.cast_const(), call.len))?;
    (call.lengths, call.long_lengths) = L::arrays(start);
    call.enqueue::<Runs>(workspace)
}

/// Writes the key of each run of equal keys to the front of `keys_out`, the combination of the
/// run's values to the front of `totals`, and the number of runs to `count[0]`. Keys are compared
/// by their bits.
///
/// One read of each key and each value, one write of each run.
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) unless all arrays have the length of the keys and the count one,
/// [`Overlap`](Error::Overlap), [`TooLarge`](Error::TooLarge).
#[allow(clippy::too_many_arguments)]
pub fn reduce_by_key<'a, 'b, 'c, 'd, 'e, K: Number, T: Number, O: ReduceOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    keys: impl Into<Slice<'a, K>>,
    values: impl Into<Slice<'b, T>>,
    keys_out: impl Into<SliceMut<'c, K>>,
    totals: impl Into<SliceMut<'d, T>>,
    count: impl Into<SliceMut<'e, u64>>,
) -> Result<()> {
    let (keys, values, mut count) =
        (workspace.read(keys)?, workspace.read(values)?, workspace.write(count)?);
    let (mut keys_out, mut totals) = (workspace.write(keys_out)?, workspace.write(totals)?);
    let len = keys.len();
    let lengths = [("values", values.len()), ("output", keys_out.len()), ("totals", totals.len())];
    lengths.into_iter().try_for_each(|(what, found)| same_len(what, len, found))?;
    same_len("count", 1, count.len())?;
    let (to, totals) = (keys_out.as_mut_ptr(), totals.as_mut_ptr());
    let outputs = (("output", to.cast_const(), len), ("totals", totals.cast_const(), len));
    apart(("input", keys.as_ptr(), len), outputs.0)?;
    apart(("values", values.as_ptr(), len), outputs.1)?;
    apart(("input", keys.as_ptr(), len), outputs.1)?;
    apart(("values", values.as_ptr(), len), outputs.0)?;
    apart(outputs.0, outputs.1)?;
    if len == 0 {
        // SAFETY: the slice is one element, borrowed mutably.
        return unsafe { zero(workspace.gpu(), count.as_mut_ptr()) };
    }
    // The end of the array is an element too.
    let tiles = tiles(len as u64 + 1, tile::<K, T>())?;
    let status = workspace.statuses(u64::from(tiles), 2)?;
    let arguments = by_key::Args {
        keys: keys.as_ptr().cast(),
        values: values.as_ptr().cast(),
        len: len as u64,
        keys_out: to.cast(),
        totals: totals.cast(),
        count: count.as_mut_ptr(),
        parameters: operator.parameters(),
        control: workspace.control(),
        status,
        count_status: status.wrapping_add(tiles as usize),
    };
    let kernel = K::Bits::reduction::<O::Element, O::Reduction>();
    // SAFETY: the arrays are as long as the kernel asks and have elements of the same size; the
    // workspace's storage is used on its own stream only.
    unsafe { workspace.gpu().enqueue(kernel, Blocks::x(tiles), arguments)? };
    Ok(())
}

/// The combination of each segment's elements: `totals[s]` is that of
/// `offsets[s]..offsets[s + 1]`, as [`reduce`](super::reduce) gives it for an empty one.
///
/// Offsets rise from 0 to the number of elements. They are on the device and no error is given where
/// they do not, but nothing outside the arrays is touched: an offset beyond the end counts as the
/// end, a segment that would end before it begins as empty, and where segments overlap some totals
/// may be any value, or stay as they were.
///
/// One read of each element, one write of each total.
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) unless there is a total for each segment,
/// [`TooManySegments`](Error::TooManySegments) for more segments than elements,
/// [`Overlap`](Error::Overlap), [`TooLarge`](Error::TooLarge).
pub fn segmented_reduce<'a, 'b, 'c, T: Number, O: ReduceOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    offsets: impl Into<Slice<'c, u64>>,
    values: impl Into<Slice<'a, T>>,
    totals: impl Into<SliceMut<'b, T>>,
) -> Result<()> {
    let (offsets, values, mut totals) =
        (workspace.read(offsets)?, workspace.read(values)?, workspace.write(totals)?);
    let segments = check_offsets(offsets.len(), values.len())? as u64;
    same_len("totals", segments as usize, totals.len())?;
    let (to, len) = (totals.as_mut_ptr(), values.len() as u64);
    let outputs = ("totals", to.cast_const(), segments as usize);
    apart(("values", values.as_ptr(), values.len()), outputs)?;
    apart(("offsets", offsets.as_ptr(), offsets.len()), outputs)?;
    if segments == 0 {
        return Ok(());
    }
    let call = SegmentsCall::<O::Element> {
        input: values.as_ptr().cast(),
        len,
        offsets: offsets.as_ptr(),
        segments,
        lanes_log2: lanes_log2(len, segments),
        parameters: operator.parameters(),
        totals: to.cast(),
    };
    // SAFETY: the arrays are as long as said and have elements of the same size.
    unsafe {
        match segments <= MOST_FEW {
            true => call.reduce_few::<O::Reduction>(workspace),
            false => call.reduce_many::<O::Reduction>(workspace),
        }
    }
}

/// The arguments of a reduction of segments, checked.
struct SegmentsCall<E> {
    input: *const E,
    len: u64,
    offsets: *const u64,
    segments: u64,
    lanes_log2: u32,
    parameters: [u64; 4],
    totals: *mut E,
}

impl<E: Copy> SegmentsCall<E> {
    /// Blocks of the groups of lanes.
    fn blocks_of_groups(&self) -> Result<u32> {
        tiles(self.segments << self.lanes_log2, BLOCK as u64)
    }

    /// Blocks that share the chunks of long segments.
    fn blocks_of_chunks(&self, gpu: &Gpu) -> u32 {
        let (_, chunks) = most_long(self.len, self.lanes_log2);
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
        let (_, most_chunks) = most_long(self.len, self.lanes_log2);
        let mut layout = Layout::default();
        let partials = layout.part::<E>(most_chunks);
        let partials = workspace.arena(&layout)?.at(&partials);
        let done = workspace.counters(most_chunks)?;
        let Self { input, len, offsets, segments, lanes_log2, parameters, totals } = self;
        let arguments = reduce_few::Args {
            input,
            len,
            offsets,
            segments,
            lanes_log2,
            parameters,
            of_chunks,
            most_chunks,
            partials,
            done,
            totals,
        };
        // SAFETY: passed on to the caller; the workspace's storage is used on its own stream only.
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
        let (entries, chunks) = most_long(self.len, self.lanes_log2);
        let mut layout = Layout::default();
        // The counters of the list, the list, and those of the chunks that are done of each entry.
        let all = layout.part::<Entry>(1 + entries + entries.div_ceil(4));
        let partials = layout.part::<E>(chunks);
        let arena = workspace.arena(&layout)?;
        let (all, partials) = (arena.at(&all), arena.at(&partials));
        let (listed, list) = (all.cast::<u64>(), all.wrapping_add(1));
        let done = list.wrapping_add(entries as usize).cast::<u32>();
        let gpu = workspace.gpu();
        let blocks_of_chunks = self.blocks_of_chunks(gpu);
        let Self { input, len, offsets, segments, lanes_log2, parameters, totals } = self;
        // SAFETY: as above.
        unsafe {
            if entries > 0 {
                gpu.fill_with_byte(all, 0, (1 + entries + entries.div_ceil(4)) as usize)?;
            }
            let arguments = by_groups::Args {
                input,
                len,
                offsets,
                segments,
                lanes_log2,
                parameters,
                listed,
                list,
                totals,
            };
            gpu.enqueue(<R as by_groups::Instance<E>>::KERNEL, blocks, arguments)?;
            let arguments = by_chunks::Args {
                input,
                len,
                lanes_log2,
                offsets,
                segments,
                parameters,
                listed: listed.cast_const(),
                list: list.cast_const(),
                partials,
                done,
                totals,
            };
            // Without chunks there are no blocks, so nothing is launched.
            let blocks = Blocks::x(blocks_of_chunks);
            gpu.enqueue(<R as by_chunks::Instance<E>>::KERNEL, blocks, arguments)?;
        }
        Ok(())
    }
}
