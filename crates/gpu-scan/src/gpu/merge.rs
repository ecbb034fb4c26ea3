//! Merging sorted arrays.

use gpu_core::{Blocks, Slice, SliceMut};
use kernels_rs::merge::{Merges, TILE, shared_bytes};

use super::Workspace;
use super::workspace::{Layout, apart, tiles};
use crate::error::{Result, same_len};
use crate::number::{Direction, Number, Payload, total_order};

/// Merges two arrays that are sorted in `direction` into one that is. Equal keys of `a` come
/// before those of `b`, and keep their order.
///
/// Numbers are in their total order: -0.0 before +0.0, NaN last (first, if descending). Of arrays
/// that are not sorted the output is some of their elements. One read and one write of each
/// element, after Green, McColl and Bader, "GPU merge path: a GPU merging algorithm", 2012,
/// DOI 10.1145/2304576.2304621.
///
/// # Errors
/// [`Length`](crate::Error::Length) unless the output has room for both exactly,
/// [`Overlap`](crate::Error::Overlap), [`TooLarge`](crate::Error::TooLarge).
pub fn merge_keys<'a, 'b, 'c, K: Number>(
    workspace: &mut Workspace,
    direction: Direction,
    a: impl Into<Slice<'a, K>>,
    b: impl Into<Slice<'b, K>>,
    output: impl Into<SliceMut<'c, K>>,
) -> Result<()> {
    let (a, b, mut output) = (workspace.read(a)?, workspace.read(b)?, workspace.write(output)?);
    let merge = Merge::new(direction, *a, *b, output.reborrow())?;
    let [p0, p1, p2, p3] = merge.parameters;
    // SAFETY: `Merge::new` checked lengths and overlap; the splits are those of the arrays.
    unsafe {
        let splits = merge.find_splits(workspace)?;
        let arguments = (merge.a.0, merge.b.0, merge.len(), p0, p1, p2, p3, splits, merge.output);
        let shared = shared_bytes(size_of::<K>(), 0);
        workspace.gpu().launch(K::Bits::KEYS, merge.blocks, shared, arguments)?;
    }
    Ok(())
}

/// [`merge_keys`] that moves a value along with each key. What is equal by its key is ordered as
/// said there, whatever the values.
///
/// # Errors
/// As [`merge_keys`], also for the values, of which there must be one for each key.
#[allow(clippy::too_many_arguments)]
pub fn merge_pairs<'a, 'b, 'c, 'd, 'e, 'f, K: Number, V: Payload>(
    workspace: &mut Workspace,
    direction: Direction,
    a: impl Into<Slice<'a, K>>,
    a_values: impl Into<Slice<'d, V>>,
    b: impl Into<Slice<'b, K>>,
    b_values: impl Into<Slice<'e, V>>,
    output: impl Into<SliceMut<'c, K>>,
    output_values: impl Into<SliceMut<'f, V>>,
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
    let merge = Merge::new(direction, *a, *b, output.reborrow())?;
    let (a_values, b_values) = (a_values.as_ptr(), b_values.as_ptr());
    let output_values = output_values.as_mut_ptr();
    // SAFETY: as above; and there is a value for each key, of the size that the kernel takes.
    unsafe {
        let splits = merge.find_splits(workspace)?;
        let shared = shared_bytes(size_of::<K>(), size_of::<V>());
        let (Merge { a, b, output, blocks, .. }, len) = (&merge, merge.len());
        let [p0, p1, p2, p3] = merge.parameters;
        if size_of::<V>() == 4 {
            let (from_a, from_b, to) = (a_values.cast(), b_values.cast(), output_values.cast());
            let arguments = (a.0, b.0, len, p0, p1, p2, p3, splits, *output, from_a, from_b, to);
            workspace.gpu().launch(K::Bits::PAIRS_4, *blocks, shared, arguments)?;
        } else {
            let (from_a, from_b, to) = (a_values.cast(), b_values.cast(), output_values.cast());
            let arguments = (a.0, b.0, len, p0, p1, p2, p3, splits, *output, from_a, from_b, to);
            workspace.gpu().launch(K::Bits::PAIRS_8, *blocks, shared, arguments)?;
        }
    }
    Ok(())
}

/// Keys to merge, checked.
struct Merge<B> {
    a: (*const B, u64),
    b: (*const B, u64),
    output: *mut B,
    parameters: [u64; 4],
    blocks: Blocks,
}

impl<B: Merges> Merge<B> {
    fn new<K: Number<Bits = B>>(
        direction: Direction,
        a: Slice<'_, K>,
        b: Slice<'_, K>,
        mut output: SliceMut<'_, K>,
    ) -> Result<Self> {
        same_len("output", a.len() + b.len(), output.len())?;
        let to = ("output", output.as_mut_ptr().cast_const(), output.len());
        apart(("a", a.as_ptr(), a.len()), to)?;
        apart(("b", b.as_ptr(), b.len()), to)?;
        Ok(Self {
            a: (a.as_ptr().cast(), a.len() as u64),
            b: (b.as_ptr().cast(), b.len() as u64),
            output: output.as_mut_ptr().cast(),
            parameters: total_order::<K>(direction).parameters(),
            blocks: Blocks::x(tiles(output.len() as u64, TILE)?),
        })
    }

    /// Keys of the output.
    fn len(&self) -> u64 {
        self.a.1 + self.b.1
    }

    /// Enqueues the search for the tiles' splits.
    ///
    /// # Safety
    /// The arrays are those that the merge was made of.
    unsafe fn find_splits(&self, workspace: &mut Workspace) -> Result<*const u64> {
        let splits = u64::from(self.blocks.x) + 1;
        let mut layout = Layout::default();
        let part = layout.part::<u64>(splits);
        let to = workspace.arena(&layout)?.at(&part);
        let ((a, a_len), (b, b_len), [p0, p1, p2, p3]) = (self.a, self.b, self.parameters);
        let arguments = (a, a_len, b, b_len, p0, p1, p2, p3, to);
        let blocks = Blocks::for_each(&B::SPLITS, splits)?;
        // SAFETY: there is room for a split of each tile and the end.
        unsafe { workspace.gpu().launch(B::SPLITS, blocks, 0, arguments)? };
        Ok(to)
    }
}
