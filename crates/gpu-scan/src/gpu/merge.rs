//! Merging sorted arrays.

use std::ptr;

use gpu_core::{Blocks, Slice, SliceMut};
use kernels_rs::primitives::merge::{TILE, find_splits, merge};

use super::Workspace;
use super::workspace::{Layout, apart, tiles};
use crate::Merge;
use crate::error::{Result, same_len};
use crate::number::sealed::{KernelBits, PayloadSize};
use crate::number::{Number, Payload, total_order};

/// The most tiles that find their own splits: a launch for them all would take longer.
const MOST_SEARCHED: u32 = 8192;

/// Merges two arrays that are sorted as said into one that is. Equal keys of `a` come
/// before those of `b`, and keep their order.
///
/// Numbers are in their total order: -0.0 before +0.0, NaN last (first, if descending). Of arrays
/// that are not sorted the output is some of their elements. One read and one write of each
/// element, after Green, McColl and Bader, "GPU merge path: a GPU merging algorithm", 2012,
/// DOI 10.1145/2304576.2304621.
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) unless the output has room for both exactly,
/// [`Overlap`](crate::Error::Overlap), [`TooLarge`](crate::Error::TooLarge).
pub fn merge_keys<'a, 'b, 'c, K: Number>(
    workspace: &mut Workspace,
    how: Merge,
    a: impl Into<Slice<'a, K>>,
    b: impl Into<Slice<'b, K>>,
    output: impl Into<SliceMut<'c, K>>,
) -> Result<()> {
    let (a, b, mut output) = (workspace.read(a)?, workspace.read(b)?, workspace.write(output)?);
    let call = Call::new(how, *a, *b, output.reborrow())?;
    let none = Values::<()> { a: ptr::null(), b: ptr::null(), output: ptr::null_mut() };
    // SAFETY: `Call::new` checked lengths and overlap.
    unsafe { call.enqueue(workspace, none) }
}

/// [`merge_keys`] that moves a value along with each key. What is equal by its key is ordered as
/// said there, whatever the values.
///
/// # Errors
/// As [`merge_keys`], also for the values, of which there must be one for each key.
pub fn merge_pairs<'a, 'b, 'c, 'd, 'e, 'f, K: Number, V: Payload>(
    workspace: &mut Workspace,
    how: Merge,
    (a, a_values): (impl Into<Slice<'a, K>>, impl Into<Slice<'d, V>>),
    (b, b_values): (impl Into<Slice<'b, K>>, impl Into<Slice<'e, V>>),
    (output, output_values): (impl Into<SliceMut<'c, K>>, impl Into<SliceMut<'f, V>>),
) -> Result<()> {
    let (a, b, mut output) = (workspace.read(a)?, workspace.read(b)?, workspace.write(output)?);
    let (a_values, b_values) = (workspace.read(a_values)?, workspace.read(b_values)?);
    let mut output_values = workspace.write(output_values)?;
    same_len("values of a", a.len(), a_values.len())?;
    same_len("values of b", b.len(), b_values.len())?;
    same_len("output of values", output.len(), output_values.len())?;
    let keys_to = ("output", output.as_mut_ptr().cast_const(), output.len());
    let to = ("output of values", output_values.as_mut_ptr().cast_const(), output_values.len());
    for keys in [("a", a.as_ptr(), a.len()), ("b", b.as_ptr(), b.len()), keys_to] {
        apart(keys, to)?;
    }
    let values = [("values of a", *a_values), ("values of b", *b_values)];
    for (name, values) in values {
        let values = (name, values.as_ptr(), values.len());
        apart(values, to)?;
        apart(values, keys_to)?;
    }
    let call = Call::new(how, *a, *b, output.reborrow())?;
    let values =
        Values { a: a_values.as_ptr(), b: b_values.as_ptr(), output: output_values.as_mut_ptr() };
    // SAFETY: as above; and there is a value for each key, of the size that the kernel takes.
    unsafe {
        match V::SIZE {
            PayloadSize::Four => call.enqueue::<u32>(workspace, values.cast()),
            PayloadSize::Eight => call.enqueue::<u64>(workspace, values.cast()),
        }
    }
}

/// Keys to merge, checked.
struct Call<B> {
    a: *const B,
    a_len: u64,
    b: *const B,
    b_len: u64,
    output: *mut B,
    parameters: [u64; 4],
    tiles: u32,
}

/// The values that go with keys.
struct Values<V> {
    a: *const V,
    b: *const V,
    output: *mut V,
}

impl<V> Values<V> {
    /// The same arrays, of elements of the same size.
    fn cast<S>(self) -> Values<S> {
        Values { a: self.a.cast(), b: self.b.cast(), output: self.output.cast() }
    }
}

impl<B: KernelBits> Call<B> {
    fn new<K: Number<Bits = B>>(
        how: Merge,
        a: Slice<'_, K>,
        b: Slice<'_, K>,
        mut output: SliceMut<'_, K>,
    ) -> Result<Self> {
        same_len("output", a.len() + b.len(), output.len())?;
        let to = ("output", output.as_mut_ptr().cast_const(), output.len());
        apart(("a", a.as_ptr(), a.len()), to)?;
        apart(("b", b.as_ptr(), b.len()), to)?;
        Ok(Self {
            a: a.as_ptr().cast(),
            a_len: a.len() as u64,
            b: b.as_ptr().cast(),
            b_len: b.len() as u64,
            output: output.as_mut_ptr().cast(),
            parameters: total_order::<K>(how.direction).parameters(),
            tiles: tiles(output.len() as u64, TILE)?,
        })
    }

    /// Enqueues the merge, and before it, where tiles are many, the search for their splits.
    ///
    /// # Safety
    /// The arrays are those that the call was made of; those of values, if there are any, are as long
    /// as those of their keys, and apart.
    unsafe fn enqueue<V: Copy>(self, workspace: &mut Workspace, values: Values<V>) -> Result<()>
    where
        B: merge::Instance<V>,
    {
        let Self { a, a_len, b, b_len, output, parameters, tiles } = self;
        let splits = match tiles <= MOST_SEARCHED {
            true => ptr::null(),
            // SAFETY: passed on to the caller.
            false => unsafe { self.find_splits(workspace)? },
        };
        let arguments = merge::Args {
            a,
            a_len,
            b,
            b_len,
            parameters,
            splits,
            output,
            a_values: values.a,
            b_values: values.b,
            output_values: values.output,
        };
        let kernel = <B as merge::Instance<V>>::KERNEL;
        // SAFETY: passed on to the caller.
        unsafe { workspace.gpu().enqueue(kernel, Blocks::x(tiles), arguments)? };
        Ok(())
    }

    /// Enqueues the search for the tiles' splits.
    ///
    /// # Safety
    /// As [`enqueue`](Self::enqueue).
    unsafe fn find_splits(&self, workspace: &mut Workspace) -> Result<*const u64> {
        let Self { a, a_len, b, b_len, parameters, tiles, .. } = *self;
        let count = u64::from(tiles) + 1;
        let mut layout = Layout::default();
        let splits = layout.part::<u64>(count);
        let splits = workspace.arena(&layout)?.at(&splits);
        let kernel = <B as find_splits::Instance>::KERNEL;
        let arguments = find_splits::Args { a, a_len, b, b_len, parameters, splits };
        let blocks = Blocks::for_each(&kernel, count)?;
        // SAFETY: passed on to the caller; there is room for a split of each tile and the end.
        unsafe { workspace.gpu().enqueue(kernel, blocks, arguments)? };
        Ok(splits.cast_const())
    }
}
