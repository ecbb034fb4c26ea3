//! The first k elements of an order.

use gpu_core::{Blocks, Slice, SliceMut};
use kernels_rs::primitives::top_k::{self as kernels, RADIX_BITS, collect, count};

use super::Workspace;
use super::sort::{Call, Ends};
use super::workspace::{Layout, apart, tiles};
use crate::error::{Error, Result, length, same_len};
use crate::number::nan_last;
use crate::{Key, TopK};

/// Blocks of counting that a multiprocessor holds.
const RESIDENT: u32 = 4;

/// The first k elements of an order, in that order, and their indices, where k is the length of `top`:
/// of equal elements those with the lowest indices. NaN comes last, whether the least or the greatest
/// are first.
///
/// One read of the keys for each 11 bits of them and one more, and a sort of k elements.
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) unless there is a key for each element of `top`, and an index,
/// [`Overlap`](Error::Overlap), [`TooLarge`](Error::TooLarge) for more than 2^31 elements of `top`.
pub fn top_k<'a, 'b, 'c, K: Key>(
    workspace: &mut Workspace,
    how: TopK,
    keys: impl Into<Slice<'a, K>>,
    top: impl Into<SliceMut<'b, K>>,
    indices: impl Into<SliceMut<'c, u64>>,
) -> Result<()> {
    let (keys, mut top, mut indices) =
        (workspace.read(keys)?, workspace.write(top)?, workspace.write(indices)?);
    let (len, k) = (keys.len(), top.len());
    check(len, k)?;
    same_len("indices", k, indices.len())?;
    let (from, to, at) = (keys.as_ptr(), top.as_mut_ptr(), indices.as_mut_ptr());
    apart(("keys", from, len), ("top", to.cast_const(), k))?;
    apart(("keys", from, len), ("indices", at.cast_const(), k))?;
    apart(("top", to.cast_const(), k), ("indices", at.cast_const(), k))?;
    let blocks = tiles(len as u64, kernels::tile_len(size_of::<K>()))?;
    if k == 0 {
        return Ok(());
    }
    let order = nan_last::<K>(how.direction).parameters();
    // SAFETY: the arrays are as long as said and apart.
    unsafe {
        let found = (to.cast::<K::Bits>(), at, k as u64);
        enqueue_collection(workspace, (from.cast(), len as u64), order, found, blocks)?;
        let sort = Call::by_rank::<K>(order, k);
        sort.enqueue_pairs_of(workspace, Ends::new(to, to), Ends::new(at, at))
    }
}

/// Checks that there are k of `len` elements.
pub(crate) fn check(len: usize, k: usize) -> Result<()> {
    if k > len {
        return Err(length("keys", k, len));
    }
    if k as u64 > kernels::MOST {
        return Err(Error::TooLarge { elements: k as u64, most: kernels::MOST });
    }
    Ok(())
}

/// Enqueues writing the first k elements, in no order but that of equal ones, and their indices.
///
/// # Safety
/// The input has `len` elements; the outputs have k, at most as many and more than none, and are
/// apart from it.
unsafe fn enqueue_collection<B: Copy + count::Instance + collect::Instance>(
    workspace: &mut Workspace,
    (input, len): (*const B, u64),
    parameters: [u64; 4],
    (keys, indices, k): (*mut B, *mut u64, u64),
    tiles: u32,
) -> Result<()> {
    let mut layout = Layout::default();
    let words = layout.part::<u64>(kernels::WORDS);
    let words = workspace.arena(&layout)?.at(&words);
    let status = workspace.statuses(u64::from(tiles), 1)?;
    let control = workspace.control();
    let gpu = workspace.gpu();
    let resident = Blocks::x(tiles.min(gpu.multiprocessors() * RESIDENT));
    // SAFETY: the arrays are as long as the kernels ask; the workspace's storage is used on its
    // own stream only.
    unsafe {
        gpu.enqueue(kernels::begin_search, Blocks::x(1), kernels::begin_search::Args { words, k })?;
        let mut end = 8 * size_of::<B>() as u32;
        while end > 0 {
            let shift = end.saturating_sub(RADIX_BITS);
            let bits = end - shift;
            let arguments = count::Args { input, len, shift, bits, parameters, words };
            gpu.enqueue(<B as count::Instance>::KERNEL, resident, arguments)?;
            end = shift;
        }
        let arguments =
            collect::Args { input, len, k, parameters, words, keys, indices, control, status };
        gpu.enqueue(<B as collect::Instance>::KERNEL, Blocks::x(tiles), arguments)?;
    }
    Ok(())
}
