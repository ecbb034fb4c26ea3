//! The first k elements of an order.

use gpu_core::{Blocks, Slice, SliceMut};
use kernels_rs::top_k::{self as kernels, COLLECT_SHARED, COUNT_SHARED, RADIX_BITS, TopKeys};

use super::Workspace;
use super::sort::{Call, Ends};
use super::workspace::{Layout, apart, tiles};
use crate::error::{Error, Result, same_len};
use crate::number::nan_last;
use crate::{Direction, Key};

/// Blocks of counting that a multiprocessor holds.
const RESIDENT: u32 = 4;

/// The least (greatest) k elements in order, and their indices, where k is the length of `top`: of
/// equal elements those with the lowest indices. NaN comes last in either direction.
///
/// One read of the keys for each 11 bits of them and one more, and a sort of k elements.
///
/// # Errors
/// [`Length`](Error::Length) unless there is a key for each element of `top`, and an index,
/// [`Overlap`](Error::Overlap), [`TooLarge`](Error::TooLarge) for more than 2^31 elements of `top`.
pub fn top_k<'a, 'b, 'c, K: Key>(
    workspace: &mut Workspace,
    direction: Direction,
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
    let order = nan_last::<K>(direction).parameters();
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
        return Err(Error::Length { what: "keys", expected: k as u64, found: len as u64 });
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
unsafe fn enqueue_collection<B: TopKeys>(
    workspace: &mut Workspace,
    (input, len): (*const B, u64),
    [p0, p1, p2, p3]: [u64; 4],
    (top, indices, k): (*mut B, *mut u64, u64),
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
        gpu.launch(kernels::begin_top, Blocks::x(1), 0, (words, k))?;
        let mut end = 8 * size_of::<B>() as u32;
        while end > 0 {
            let shift = end.saturating_sub(RADIX_BITS);
            let arguments = (input, len, shift, end - shift, p0, p1, p2, p3, words);
            gpu.launch(B::COUNT, resident, COUNT_SHARED, arguments)?;
            end = shift;
        }
        let arguments = (input, len, k, p0, p1, p2, p3, words, top, indices, control, status);
        gpu.launch(B::COLLECT, Blocks::x(tiles), COLLECT_SHARED, arguments)?;
    }
    Ok(())
}
