//! The first k elements of an order.

use device_std::Out;
use gpu_core::{Blocks, Slice, SliceMut};
use kernels_rs::primitives::top_k::{self as kernels, Input, RADIX_BITS, collect, count, sort_few};

use super::Workspace;
use super::sort::{Call, Ends};
use super::workspace::{Layout, apart, tiles};
use crate::error::{Error, Result, length, same_len};
use crate::number::nan_last;
use crate::{Key, TopK};

/// Blocks of counting that a multiprocessor holds.
const RESIDENT: u32 = 4;

/// Writes the first k elements of an order to `top`, in that order, and their indices to `indices`. k is the length of
/// `top`. Among equal elements, it takes the lowest indices. NaN comes last in both orders.
///
/// Cost: one read of the keys for each 11 bits of them and one more, and a sort of k elements, by one block up to 1024.
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
    // SAFETY: the arrays are as long as stated and apart.
    unsafe {
        enqueue_collection(workspace, input, (top, indices, k as u64), blocks)?;
        if k as u64 <= kernels::FEW {
            let arguments = sort_few::Args { keys: top, indices, len: k as u32, parameters };
            let kernel = <K::Bits as sort_few::Instance>::KERNEL;
            return Ok(workspace.gpu().enqueue(kernel, Blocks::x(1), arguments)?);
        }
        let sort = Call::by_rank::<K>(parameters, k);
        sort.enqueue_pairs(workspace, Ends::in_place(top), Ends::in_place(indices))
    }
}

/// Checks that there are k of `len` elements.
pub(crate) fn check(len: usize, k: usize) -> Result<()> {
    if k > len {
        return Err(length("keys", k, len));
    }
    if k as u64 > kernels::MAX_K {
        return Err(Error::TooLarge { elements: k as u64, most: kernels::MAX_K });
    }
    Ok(())
}

/// Enqueues writing the first k elements, in no order but that of equal ones, and their indices.
///
/// # Safety
/// The outputs have k elements, at most as many as the input and more than none, and are apart from it.
unsafe fn enqueue_collection<B: Copy + count::Instance + collect::Instance>(
    workspace: &mut Workspace,
    input: Input<'_, B>,
    (keys, indices, k): (Out<'_, B>, Out<'_, u64>, u64),
    tiles: u32,
) -> Result<()> {
    let mut layout = Layout::default();
    let words = layout.part::<u64>(kernels::WORDS);
    let words = workspace.arena(&layout)?.at(&words);
    let status = workspace.status(tiles)?;
    let control = workspace.control();
    let gpu = workspace.gpu();
    let resident = Blocks::x(tiles.min(gpu.multiprocessors() * RESIDENT));
    // SAFETY: the arrays are as the caller promises, and the words as the kernels ask.
    unsafe {
        gpu.enqueue(kernels::begin_search, Blocks::x(1), kernels::begin_search::Args { words, k })?;
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
