//! Merging sorted arrays.

use device_std::{In, Out};
use gpu_core::{Blocks, Slice, SliceMut};
use kernels_rs::primitives::merge::{Arrays, TILE, Values, find_splits, merge};

use super::Workspace;
use super::workspace::{Layout, apart, tiles};
use crate::Merge;
use crate::error::{Result, same_len};
use crate::number::sealed::{KernelBits, PayloadSize};
use crate::number::{Number, Payload, total_order};

/// The most tiles that find their own splits: a launch for them all would take longer.
const MAX_SEARCHED: u32 = 8192;

/// Merges two arrays, each sorted in the stated order, into one. Equal keys keep their order, and keys of `a` come
/// before equal keys of `b`.
///
/// Numbers are in their total order: -0.0 before +0.0, NaN last (first, if descending). If an array is not sorted, the
/// output has some of the elements, in some order. One read and one write of each element, after Green, McColl and
/// Bader, "GPU merge path: a GPU merging algorithm", 2012, DOI 10.1145/2304576.2304621.
///
/// Example: see [`cpu::merge_keys`](crate::cpu::merge_keys()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) unless the output is as long as both inputs together,
/// [`Overlap`](crate::Error::Overlap), [`TooLarge`](crate::Error::TooLarge).
pub fn merge_keys<'a, K: Number>(
    workspace: &mut Workspace,
    how: Merge,
    a: impl Into<Slice<'a, K>>,
    b: impl Into<Slice<'a, K>>,
    output: impl Into<SliceMut<'a, K>>,
) -> Result<()> {
    let call = Call::new(how, a.into(), b.into(), output.into())?;
    let none = Values::<()> { a: In::empty(), b: In::empty(), output: Out::empty() };
    // SAFETY: without values none are touched.
    unsafe { call.enqueue(workspace, none) }
}

/// Merges as [`merge_keys`], and moves a value along with each key. Equal keys come in the order that [`merge_keys`]
/// states, whatever their values.
///
/// Example: see [`cpu::merge_pairs`](crate::cpu::merge_pairs()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// The errors of [`merge_keys`], also where there is not one value for each key.
pub fn merge_pairs<'a, K: Number, V: Payload>(
    workspace: &mut Workspace,
    how: Merge,
    (a, a_values): (impl Into<Slice<'a, K>>, impl Into<Slice<'a, V>>),
    (b, b_values): (impl Into<Slice<'a, K>>, impl Into<Slice<'a, V>>),
    (output, output_values): (impl Into<SliceMut<'a, K>>, impl Into<SliceMut<'a, V>>),
) -> Result<()> {
    let (a, b, output) = (a.into(), b.into(), output.into());
    let (a_values, b_values) = (a_values.into(), b_values.into());
    let output_values = output_values.into();
    same_len("values of a", a.len(), a_values.len())?;
    same_len("values of b", b.len(), b_values.len())?;
    same_len("output of values", output.len(), output_values.len())?;
    for keys in [("a", a), ("b", b), ("output", output.as_slice())] {
        apart(keys, ("output of values", &output_values))?;
    }
    for values in [("values of a", a_values), ("values of b", b_values)] {
        apart(values, ("output of values", &output_values))?;
        apart(values, ("output", &output))?;
    }
    let call = Call::new(how, a, b, output)?;
    // SAFETY: there is a value for each key, of the size that the kernel takes, and they go elsewhere.
    unsafe {
        match V::SIZE {
            PayloadSize::Four => {
                call.enqueue::<u32>(workspace, values(a_values, b_values, output_values))
            }
            PayloadSize::Eight => {
                call.enqueue::<u64>(workspace, values(a_values, b_values, output_values))
            }
        }
    }
}

/// Values as the kernel takes them, which are as many bytes.
fn values<'a, V: Payload, W: gpu_core::Element>(
    a: Slice<'a, V>,
    b: Slice<'a, V>,
    output: SliceMut<'a, V>,
) -> Values<'a, W> {
    Values { a: a.cast().input(), b: b.cast().input(), output: output.cast().output() }
}

/// Keys to merge, checked.
struct Call<'a, B> {
    arrays: Arrays<'a, B>,
    output: Out<'a, B>,
    tiles: u32,
}

impl<'a, B: KernelBits + gpu_core::Element> Call<'a, B> {
    fn new<K: Number<Bits = B>>(
        how: Merge,
        a: Slice<'a, K>,
        b: Slice<'a, K>,
        output: SliceMut<'a, K>,
    ) -> Result<Self> {
        same_len("output", a.len() + b.len(), output.len())?;
        apart(("a", a), ("output", &output))?;
        apart(("b", b), ("output", &output))?;
        let arrays = Arrays {
            a: a.cast().input(),
            a_len: a.len() as u64,
            b: b.cast().input(),
            b_len: b.len() as u64,
            parameters: total_order::<K>(how.direction).parameters(),
        };
        let tiles = tiles(output.len() as u64, TILE)?;
        Ok(Self { arrays, output: output.cast().output(), tiles })
    }

    /// Enqueues the merge, and before it, where tiles are many, the search for their splits.
    ///
    /// # Safety
    /// The values, if there are any, are as many as their keys, and go to memory that is apart from all else.
    unsafe fn enqueue<V: Copy>(self, workspace: &mut Workspace, values: Values<'_, V>) -> Result<()>
    where
        B: merge::Instance<V>,
    {
        let Self { arrays, output, tiles } = self;
        let gpu = workspace.gpu();
        gpu.check_argument(&arrays.a)?;
        gpu.check_argument(&arrays.b)?;
        gpu.check_argument(&output)?;
        gpu.check_argument(&values.a)?;
        gpu.check_argument(&values.b)?;
        gpu.check_argument(&values.output)?;
        let is_searched = tiles <= MAX_SEARCHED;
        let splits = if is_searched { None } else { Some(self.find_splits(workspace)?) };
        let arguments = merge::Args { arrays, splits, output, values };
        let kernel = <B as merge::Instance<V>>::KERNEL;
        // SAFETY: the keys are as `new` checked; the values are the caller's promise.
        unsafe { workspace.gpu().enqueue(kernel, Blocks::x(tiles), arguments)? };
        Ok(())
    }

    /// Enqueues the search for the tiles' splits.
    fn find_splits(&self, workspace: &mut Workspace) -> Result<In<'a, u64>> {
        let count = u64::from(self.tiles) + 1;
        let mut layout = Layout::default();
        let splits = layout.part::<u64>(count);
        let splits = workspace.arena(&layout)?.at(&splits);
        let kernel = <B as find_splits::Instance>::KERNEL;
        let arguments = find_splits::Args { arrays: self.arrays, splits };
        let blocks = Blocks::for_each(&kernel, count)?;
        // SAFETY: the keys are as `new` checked; there is room for a split of each tile and the end.
        unsafe { workspace.gpu().enqueue(kernel, blocks, arguments)? };
        Ok(splits.as_input())
    }
}
