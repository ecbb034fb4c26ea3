//! Selections with compaction: by a condition, by flags, of distinct elements; partitions.

use gpu_core::{Blocks, Gpu, Slice, SliceMut};
use kernels_rs::primitives::select::{self as kernels, Flagged, If, Mode, Unique};

use super::Workspace;
use super::workspace::{apart, tiles};
use crate::error::{Result, same_len};
use crate::number::{Direction, total_order};
use crate::{Number, Predicate};

/// Copies the elements that satisfy a condition to the front of `output`, in their order, and
/// writes how many there are to `count[0]`. What lies behind them in `output` is left as it is.
///
/// One read of each element, one write of each that is kept.
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) unless the output has as many elements as the input and the
/// count one, [`Overlap`](crate::Error::Overlap), [`TooLarge`](crate::Error::TooLarge).
pub fn select_if<'a, 'b, 'c, T: Number>(
    workspace: &mut Workspace,
    predicate: Predicate<T>,
    input: impl Into<Slice<'a, T>>,
    output: impl Into<SliceMut<'b, T>>,
    count: impl Into<SliceMut<'c, u64>>,
) -> Result<()> {
    let (input, mut output, mut count) =
        (workspace.read(input)?, workspace.write(output)?, workspace.write(count)?);
    let call = Call::new(*input, count.reborrow())?.keep(output.reborrow())?;
    call.with(predicate).enqueue::<If>(workspace)
}

/// [`select_if`] for the elements whose flag is not 0.
///
/// # Errors
/// As [`select_if`], also for another length of the flags.
pub fn select_flagged<'a, 'b, 'c, 'd, T: Number>(
    workspace: &mut Workspace,
    flags: impl Into<Slice<'d, u8>>,
    input: impl Into<Slice<'a, T>>,
    output: impl Into<SliceMut<'b, T>>,
    count: impl Into<SliceMut<'c, u64>>,
) -> Result<()> {
    let (input, mut output, mut count) =
        (workspace.read(input)?, workspace.write(output)?, workspace.write(count)?);
    let flags = workspace.read(flags)?;
    let mut call = Call::new(*input, count.reborrow())?.keep(output.reborrow())?;
    same_len("flags", call.len, flags.len())?;
    call.flags = flags.as_ptr();
    call.enqueue::<Flagged>(workspace)
}

/// [`select_if`] for the first of equal elements in a row. Elements are compared by their bits.
///
/// # Errors
/// As [`select_if`].
pub fn unique<'a, 'b, 'c, T: Number>(
    workspace: &mut Workspace,
    input: impl Into<Slice<'a, T>>,
    output: impl Into<SliceMut<'b, T>>,
    count: impl Into<SliceMut<'c, u64>>,
) -> Result<()> {
    let (input, mut output, mut count) =
        (workspace.read(input)?, workspace.write(output)?, workspace.write(count)?);
    let call = Call::new(*input, count.reborrow())?.keep(output.reborrow())?;
    call.enqueue::<Unique>(workspace)
}

/// Copies the elements that satisfy a condition to the front of `selected` and the others to the
/// front of `rejected`, both in their order, and writes how many are selected to `count[0]`.
///
/// # Errors
/// As [`select_if`], for both outputs.
pub fn partition<'a, 'b, 'c, 'd, T: Number>(
    workspace: &mut Workspace,
    predicate: Predicate<T>,
    input: impl Into<Slice<'a, T>>,
    selected: impl Into<SliceMut<'b, T>>,
    rejected: impl Into<SliceMut<'d, T>>,
    count: impl Into<SliceMut<'c, u64>>,
) -> Result<()> {
    let (input, mut selected, mut rejected, mut count) = (
        workspace.read(input)?,
        workspace.write(selected)?,
        workspace.write(rejected)?,
        workspace.write(count)?,
    );
    let call = Call::new(*input, count.reborrow())?;
    let call = call.keep(selected.reborrow())?.reject(rejected.reborrow())?;
    call.with(predicate).enqueue::<If>(workspace)
}

/// Copies the elements less than `low` to the front of the first output, those from `low` to
/// `high`, both included, to the second, and all others (NaN among them) to the third, in their
/// order, and writes the three counts.
///
/// Three reads of each element, one write.
///
/// # Errors
/// [`Thresholds`](crate::Error::Thresholds) unless `low <= high`; as [`select_if`] for all
/// outputs; the counts are three.
pub fn partition_three<'a, 'b, 'c, T: Number>(
    workspace: &mut Workspace,
    (low, high): (T, T),
    input: impl Into<Slice<'a, T>>,
    outputs: [SliceMut<'b, T>; 3],
    counts: impl Into<SliceMut<'c, u64>>,
) -> Result<()> {
    let (input, mut counts) = (workspace.read(input)?, workspace.write(counts)?);
    same_len("counts", 3, counts.len())?;
    let classes = Predicate::three(low, high)?;
    let admitted = outputs.into_iter().map(|output| workspace.write(output));
    let mut outputs = admitted.collect::<Result<Vec<_>>>()?;
    let mut calls = Vec::with_capacity(3);
    for (i, (output, class)) in outputs.iter_mut().zip(classes).enumerate() {
        let count = counts.reborrow().slice(i..i + 1)?;
        calls.push(Call::new(*input, count)?.keep(output.reborrow())?.with(class));
    }
    for call in calls {
        call.enqueue::<If>(workspace)?;
    }
    Ok(())
}

/// The arguments of a selection, as they come together.
pub(super) struct Call<T: Number> {
    input: *const T,
    pub(super) len: usize,
    predicate: Predicate<T>,
    flags: *const u8,
    kept: *mut T,
    rejected: *mut T,
    count: *mut u64,
    pub(super) lengths: *mut u32,
    pub(super) long_lengths: *mut u64,
}

impl<T: Number> Call<T> {
    pub(super) fn new(input: Slice<'_, T>, mut count: SliceMut<'_, u64>) -> Result<Self> {
        same_len("count", 1, count.len())?;
        Ok(Self {
            input: input.as_ptr(),
            len: input.len(),
            predicate: Predicate::is_nan(),
            flags: std::ptr::null(),
            kept: std::ptr::null_mut(),
            rejected: std::ptr::null_mut(),
            count: count.as_mut_ptr(),
            lengths: std::ptr::null_mut(),
            long_lengths: std::ptr::null_mut(),
        })
    }

    pub(super) fn keep(mut self, mut output: SliceMut<'_, T>) -> Result<Self> {
        self.kept = output.as_mut_ptr();
        self.check("output", self.kept, output.len())?;
        Ok(self)
    }

    fn reject(mut self, mut output: SliceMut<'_, T>) -> Result<Self> {
        self.rejected = output.as_mut_ptr();
        self.check("rejected", self.rejected, output.len())?;
        let (kept, rejected) = (self.kept.cast_const(), self.rejected.cast_const());
        apart(("selected", kept, self.len), ("rejected", rejected, self.len))?;
        Ok(self)
    }

    fn check(&self, what: &'static str, output: *mut T, len: usize) -> Result<()> {
        same_len(what, self.len, len)?;
        apart(("input", self.input, self.len), (what, output.cast_const(), len))
    }

    fn with(mut self, predicate: Predicate<T>) -> Self {
        self.predicate = predicate;
        self
    }

    /// Enqueues the selection.
    pub(super) fn enqueue<M: Mode>(self, workspace: &mut Workspace) -> Result<()>
    where
        T::Bits: kernels::select::Instance<M>,
    {
        let tiles = tiles(self.len as u64, kernels::tile::<M, T::Bits>())?;
        if tiles == 0 {
            // SAFETY: a count is one element of device memory.
            return unsafe { zero(workspace.gpu(), self.count) };
        }
        // The second status array is for run lengths.
        let status = workspace.statuses(u64::from(tiles), 2)?;
        let order = total_order::<T>(Direction::Ascending);
        let arguments = kernels::select::Args {
            input: self.input.cast(),
            len: self.len as u64,
            magnitude: order.magnitude,
            top: order.top,
            shift: order.shift,
            low: self.predicate.low,
            span: self.predicate.span,
            outside: u32::from(self.predicate.outside),
            flags: self.flags,
            kept: self.kept.cast(),
            rejected: self.rejected.cast(),
            count: self.count,
            lengths: self.lengths,
            long_lengths: self.long_lengths,
            control: workspace.control(),
            status,
            heads_status: status.wrapping_add(tiles as usize),
        };
        let kernel = <T::Bits as kernels::select::Instance<M>>::KERNEL;
        // SAFETY: the arrays are as long as the kernel asks and have elements of the same size;
        // the workspace's storage is used on its own stream only.
        unsafe { workspace.gpu().enqueue(kernel, Blocks::x(tiles), arguments)? };
        Ok(())
    }
}

/// Enqueues setting a count to 0.
///
/// # Safety
/// `count` is an element of device memory that nobody else touches until the work has run.
pub(super) unsafe fn zero(gpu: &Gpu, count: *mut u64) -> Result<()> {
    // SAFETY: passed on to the caller.
    unsafe { gpu.fill_with_byte(count, 0, 1)? };
    Ok(())
}
