//! The first k elements of an order.

use device_std::{In, Out};
use gpu_core::{Blocks, Slice, SliceMut};
use kernels_rs::primitives::offsets::Offsets;
use kernels_rs::primitives::top_k::{
    self as kernels, Candidates, FEW, Input, RADIX_BITS, SAMPLE, Source, collect, count, filter,
    finish, of_segments, threshold,
};

use super::Workspace;
use super::sort::{self, Ends};
use super::workspace::{Layout, apart, tiles};
use crate::error::{Error, Result, check_offsets, length, same_len};
use crate::number::nan_last;
use crate::number::sealed::KernelBits;
use crate::{Key, TopK};

/// Blocks of counting and of filtering that a multiprocessor holds.
const RESIDENT: u32 = 4;

/// Writes the first k elements of an order to `top`, in that order, and their indices to `indices`. k is the length of
/// `top`. Among equal elements, it takes the lowest indices. NaN comes last in both orders.
///
/// Cost of up to 1024 elements of fewer than 2^32: one read of the keys, and temporary storage of some 2% of them. It
/// depends on a sample that represents the keys. By estimate that fails for one call in 4,000 at most, and for keys that
/// are chosen to that end. Then one block goes over all keys, at about 1 ns for each on an H200. Otherwise: one read of the keys for
/// each 11 bits of them and one more, and a sort of k elements.
///
/// Example: see [`cpu::top_k`](crate::cpu::top_k()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// - [`Length`](gpu_core::Error::Length): there is not a key and an index for each element of `top`.
/// - [`Overlap`](Error::Overlap): two of the arrays share memory.
/// - [`TooLarge`](Error::TooLarge): `top` has more than 2^31 elements.
pub fn top_k<'a, K: Key>(
    workspace: &mut Workspace,
    how: TopK,
    keys: impl Into<Slice<'a, K>>,
    top: impl Into<SliceMut<'a, K>>,
    indices: impl Into<SliceMut<'a, u64>>,
) -> Result<()> {
    let (keys, top, indices) = (keys.into(), top.into(), indices.into());
    let (len, k) = (keys.len(), top.len());
    check(len, k)?;
    same_len("indices", k, indices.len())?;
    apart(("keys", keys), ("top", &top))?;
    apart(("keys", keys), ("indices", &indices))?;
    apart(("top", &top), ("indices", &indices))?;
    let blocks = tiles(len as u64, kernels::tile_len::<K::Bits>())?;
    if k == 0 {
        return Ok(());
    }
    let parameters = nan_last::<K>(how.direction).parameters();
    let input = Input { elements: keys.cast().input(), len: len as u64, parameters };
    let (top, indices) = (top.cast::<K::Bits>().output(), indices.output());
    let gpu = workspace.gpu();
    gpu.check_argument(&input.elements)?;
    gpu.check_argument(&top)?;
    gpu.check_argument(&indices)?;
    let call = Call { input, keys: top, indices, k: k as u64 };
    // SAFETY: the arrays are as long as stated and apart.
    unsafe {
        if k as u64 <= FEW && input.len < 1 << 32 {
            return call.enqueue_few(workspace);
        }
        call.enqueue_search(workspace, blocks)?;
        let sort = sort::Call::by_rank::<K>(parameters, k);
        sort.enqueue_pairs(workspace, Ends::in_place(top), Ends::in_place(indices))
    }
}

/// Writes the first k elements of each segment in order, and their indices in the array, segment after segment. Segment
/// s is `offsets[s]..offsets[s + 1]`. If it has fewer elements, zeros follow, with indices of [`u64::MAX`]. Equal elements
/// and NaN are treated as by [`top_k`].
///
/// Offsets must rise from 0 to the number of keys. They are on the device, so wrong offsets give no error. Then each
/// segment counts as far as it lies within the array.
///
/// Cost: a block of 64 threads for each segment, which reads it once if it has 32 keys, or a quarter more than k, and else
/// three times or more. So for few long segments [`top_k`] for each is faster.
///
/// Example: see [`cpu::segmented_top_k`](crate::cpu::segmented_top_k()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// - [`Length`](gpu_core::Error::Length): there are not k keys and indices for each segment, or there is no offset.
/// - [`Overlap`](Error::Overlap): two of the arrays share memory.
/// - [`TooLarge`](Error::TooLarge): k is more than 1024, or there are 2^32 keys.
pub fn segmented_top_k<'a, K: Key>(
    workspace: &mut Workspace,
    (how, k): (TopK, usize),
    offsets: impl Into<Slice<'a, u64>>,
    keys: impl Into<Slice<'a, K>>,
    top: impl Into<SliceMut<'a, K>>,
    indices: impl Into<SliceMut<'a, u64>>,
) -> Result<()> {
    let (offsets, keys) = (offsets.into(), keys.into());
    let (top, indices) = (top.into(), indices.into());
    check_offsets(offsets.len())?;
    let segments = offsets.len() - 1;
    at_most(k as u64, FEW)?;
    at_most(keys.len() as u64, u64::from(u32::MAX))?;
    same_len("top", segments * k, top.len())?;
    same_len("indices", segments * k, indices.len())?;
    apart(("keys", keys), ("top", &top))?;
    apart(("keys", keys), ("indices", &indices))?;
    apart(("top", &top), ("indices", &indices))?;
    if top.is_empty() {
        return Ok(());
    }
    let parameters = nan_last::<K>(how.direction).parameters();
    let input = Input { elements: keys.cast().input(), len: keys.len() as u64, parameters };
    let offsets = Offsets { offsets: offsets.input(), segments: segments as u64 };
    let (keys, indices) = (top.cast().output(), indices.output());
    let arguments = of_segments::Args { input, offsets, k: k as u32, keys, indices };
    let gpu = workspace.gpu();
    gpu.check_argument(&arguments.input.elements)?;
    gpu.check_argument(&arguments.offsets.offsets)?;
    gpu.check_argument(&arguments.keys)?;
    gpu.check_argument(&arguments.indices)?;
    let blocks = Blocks::x(segments.min(1 << 24) as u32);
    // SAFETY: the arrays are as long as stated and apart.
    unsafe { gpu.enqueue(<K::Bits as of_segments::Instance>::KERNEL, blocks, arguments)? };
    Ok(())
}

/// Checks that there are k of `len` elements.
pub(crate) fn check(len: usize, k: usize) -> Result<()> {
    if k > len {
        return Err(length("keys", k, len));
    }
    at_most(k as u64, kernels::MAX_K)
}

/// Checks a number of elements.
pub(crate) fn at_most(elements: u64, most: u64) -> Result<()> {
    if elements > most {
        return Err(Error::TooLarge { elements, most });
    }
    Ok(())
}

/// A search of the first k elements, checked.
struct Call<'a, B> {
    input: Input<'a, B>,
    keys: Out<'a, B>,
    indices: Out<'a, u64>,
    k: u64,
}

impl<B: KernelBits> Call<'_, B> {
    /// Enqueues writing the first k elements, at most [`FEW`] of fewer than 2^32, in order: rounds that leave fewer and
    /// fewer candidates, and the sort of the last of these.
    ///
    /// # Safety
    /// The outputs have k elements, at most as many as the input and more than none, and are apart from it.
    unsafe fn enqueue_few(&self, workspace: &mut Workspace) -> Result<()> {
        let Self { input: Input { elements, len, parameters }, keys, indices, k } = *self;
        let index_bits = u64::BITS - len.leading_zeros();
        let rooms = rooms(len, k);
        let mut layout = Layout::default();
        let words = layout.part::<u64>(3 * rooms.len() as u64);
        let mut part = |room: &u64| (layout.part::<B>(*room), layout.part::<u64>(*room));
        let parts: Vec<_> = rooms.iter().map(&mut part).collect();
        let arena = workspace.arena(&layout)?;
        let words = arena.at(&words);
        let gpu = workspace.gpu();
        let all = Source { elements, indices: In::empty(), len, taken: In::empty(), parameters };
        let mut source = all;
        // SAFETY: the arrays are as the caller promises, and the others as the kernels ask.
        unsafe {
            for (round, (room, part)) in rooms.iter().zip(&parts).enumerate() {
                let words = words.from(3 * round as u64);
                let (elements, indices) = (arena.at(&part.0), arena.at(&part.1));
                let candidates = Candidates { elements, indices, room: *room, words };
                let arguments = threshold::Args { source, index_bits, k, candidates };
                gpu.enqueue(<B as threshold::Instance>::KERNEL, Blocks::x(1), arguments)?;
                let blocks = tiles(source.len, kernels::tile_len::<B>())?;
                let blocks = Blocks::x(blocks.min(gpu.multiprocessors() * RESIDENT));
                let arguments = filter::Args { source, candidates };
                gpu.enqueue(<B as filter::Instance>::KERNEL, blocks, arguments)?;
                let (elements, indices) = (elements.as_input(), indices.as_input());
                source = Source { elements, indices, len: *room, taken: words.as_input(), ..all };
            }
            let (k, candidates) = (k as u32, source);
            let arguments = finish::Args { candidates, all, index_bits, k, keys, indices };
            gpu.enqueue(<B as finish::Instance>::KERNEL, Blocks::x(1), arguments)?;
        }
        Ok(())
    }

    /// Enqueues writing the first k elements, in no order but that of equal ones, and their indices.
    ///
    /// # Safety
    /// As for [`enqueue_few`](Self::enqueue_few), whatever k is; `tiles` are those of `collect`.
    unsafe fn enqueue_search(&self, workspace: &mut Workspace, tiles: u32) -> Result<()> {
        let Self { input, keys, indices, k } = *self;
        let mut layout = Layout::default();
        let words = layout.part::<u64>(kernels::WORDS);
        let words = workspace.arena(&layout)?.at(&words);
        let status = workspace.status(tiles)?;
        let control = workspace.control();
        let gpu = workspace.gpu();
        let resident = Blocks::x(tiles.min(gpu.multiprocessors() * RESIDENT));
        // SAFETY: the arrays are as the caller promises, and the words as the kernels ask.
        unsafe {
            let arguments = kernels::begin_search::Args { words, k };
            gpu.enqueue(kernels::begin_search, Blocks::x(1), arguments)?;
            let mut end = 8 * size_of::<B>() as u32;
            while end > 0 {
                let shift = end.saturating_sub(RADIX_BITS);
                let bits = end - shift;
                let arguments = count::Args { input, shift, bits, words };
                gpu.enqueue(<B as count::Instance>::KERNEL, resident, arguments)?;
                end = shift;
            }
            let arguments = collect::Args { input, k, words, keys, indices, control, status };
            gpu.enqueue(<B as collect::Instance>::KERNEL, Blocks::x(tiles), arguments)?;
        }
        Ok(())
    }
}

/// How many candidates there is room for after each round.
fn rooms(len: u64, k: u64) -> Vec<u64> {
    let (mut rooms, mut left) = (Vec::new(), len);
    while left > SAMPLE {
        // By chance, and for equal ranks, there may be more than the mean.
        let expected = kernels::expected(left, k);
        rooms.push(4 * expected);
        left = if expected <= SAMPLE / 2 { 0 } else { 2 * expected };
    }
    rooms
}
