//! Selections with compaction: by a condition, by flags, of distinct elements; partitions.

use device_std::{In, Out};
use gpu_core::{Blocks, Gpu, Slice, SliceMut};
use kernels_rs::primitives::select::{self as kernels, Flagged, If, Mode, Rule, Target, Unique};

use super::Workspace;
use super::workspace::{apart, tiles};
use crate::error::{Result, same_len};
use crate::number::{Direction, total_order};
use crate::{Number, Predicate};

/// Copies the elements that satisfy a condition to the front of `output`, in their order, and writes how many there are
/// to `count[0]`. The call leaves the rest of `output` unchanged.
///
/// One read of each element, one write of each that is kept.
///
/// Example: see [`cpu::select_if`](crate::cpu::select_if()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) unless the output has as many elements as the input and the
/// count one, [`Overlap`](crate::Error::Overlap), [`TooLarge`](crate::Error::TooLarge).
pub fn select_if<'a, T: Number>(
    workspace: &mut Workspace,
    predicate: Predicate<T>,
    input: impl Into<Slice<'a, T>>,
    output: impl Into<SliceMut<'a, T>>,
    count: impl Into<SliceMut<'a, u64>>,
) -> Result<()> {
    let call = Call::new(input.into(), count.into())?.keep(output.into())?;
    call.with(predicate).enqueue::<If>(workspace)
}

/// Selects like [`select_if`], by flags: elements whose flag is not 0.
///
/// Example: see [`cpu::select_flagged`](crate::cpu::select_flagged()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// The errors of [`select_if`], also for another length of the flags.
pub fn select_flagged<'a, T: Number>(
    workspace: &mut Workspace,
    flags: impl Into<Slice<'a, u8>>,
    input: impl Into<Slice<'a, T>>,
    output: impl Into<SliceMut<'a, T>>,
    count: impl Into<SliceMut<'a, u64>>,
) -> Result<()> {
    let flags = flags.into();
    let mut call = Call::new(input.into(), count.into())?.keep(output.into())?;
    same_len("flags", call.input.len(), flags.len())?;
    call.flags = flags.input();
    call.enqueue::<Flagged>(workspace)
}

/// Selects like [`select_if`]: the first element of each run of equal elements. Elements are compared by their bits.
///
/// Example: see [`cpu::unique`](crate::cpu::unique()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// The errors of [`select_if`].
pub fn unique<'a, T: Number>(
    workspace: &mut Workspace,
    input: impl Into<Slice<'a, T>>,
    output: impl Into<SliceMut<'a, T>>,
    count: impl Into<SliceMut<'a, u64>>,
) -> Result<()> {
    let call = Call::new(input.into(), count.into())?.keep(output.into())?;
    call.enqueue::<Unique>(workspace)
}

/// Copies the elements that satisfy a condition to the front of `selected`, and the others to the front of
/// `rejected`. Both keep their order. Writes how many are selected to `count[0]`.
///
/// Example: see [`cpu::partition`](crate::cpu::partition()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// The errors of [`select_if`], for both outputs.
pub fn partition<'a, T: Number>(
    workspace: &mut Workspace,
    predicate: Predicate<T>,
    input: impl Into<Slice<'a, T>>,
    selected: impl Into<SliceMut<'a, T>>,
    rejected: impl Into<SliceMut<'a, T>>,
    count: impl Into<SliceMut<'a, u64>>,
) -> Result<()> {
    let call = Call::new(input.into(), count.into())?;
    let call = call.keep(selected.into())?.reject(rejected.into())?;
    call.with(predicate).enqueue::<If>(workspace)
}

/// Copies elements to the front of three outputs, and writes the three counts. The first output takes the elements less
/// than `low`. The second takes the elements from `low` to `high`, both included. The third takes all others, NaN among
/// them. All keep their order.
///
/// Cost: three reads of each element, one write.
///
/// ```
/// # use gpu_core::{DeviceChoice, Gpu};
/// use gpu_scan::gpu::{Workspace, partition_three};
///
/// # fn main() -> Result<(), gpu_scan::Error> {
/// # let gpu = Gpu::open(DeviceChoice::Software)?;
/// # let mut workspace = Workspace::new(&gpu)?;
/// let input = gpu.upload(&[9, 3, 1, 5, 2])?;
/// let [mut low, mut middle, mut high] = [gpu.zeroed(5)?, gpu.zeroed(5)?, gpu.zeroed(5)?];
/// let mut counts = gpu.zeroed(3)?;
/// let outputs = [&mut low, &mut middle, &mut high].map(Into::into);
/// partition_three(&mut workspace, (3, 5), &input, outputs, &mut counts)?;
/// assert_eq!(counts.to_host()?, [2, 2, 1]);
/// assert_eq!(middle.to_host()?[..2], [3, 5]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// - [`Thresholds`](crate::Error::Thresholds): `low` is not at most `high`.
/// - The errors of [`select_if`] for all outputs. The counts are three.
pub fn partition_three<'a, T: Number>(
    workspace: &mut Workspace,
    (low, high): (T, T),
    input: impl Into<Slice<'a, T>>,
    outputs: [SliceMut<'a, T>; 3],
    counts: impl Into<SliceMut<'a, u64>>,
) -> Result<()> {
    let (input, mut counts) = (input.into(), counts.into());
    same_len("counts", 3, counts.len())?;
    let classes = Predicate::three(low, high)?;
    let mut calls = Vec::with_capacity(3);
    for (output, class) in outputs.into_iter().zip(classes) {
        let (count, others) = counts.split_at(1)?;
        counts = others;
        calls.push(Call::new(input, count)?.keep(output)?.with(class));
    }
    calls.iter().try_for_each(|call| call.check_admission(workspace.gpu()))?;
    for call in calls {
        call.enqueue::<If>(workspace)?;
    }
    Ok(())
}

/// The arguments of a selection, as they come together.
pub(super) struct Call<'a, T: Number> {
    pub(super) input: Slice<'a, T>,
    predicate: Predicate<T>,
    flags: In<'a, u8>,
    kept: Option<SliceMut<'a, T>>,
    rejected: Option<SliceMut<'a, T>>,
    count: SliceMut<'a, u64>,
    pub(super) lengths: Lengths<'a>,
}

/// Where the lengths of runs go, which are 32 bits or 64; or nowhere.
pub(super) type Lengths<'a> = (Option<Out<'a, u32>>, Option<Out<'a, u64>>);

impl<'a, T: Number> Call<'a, T> {
    /// Checks that a launch would admit what is read, kept and counted.
    fn check_admission(&self, gpu: &Gpu) -> Result<()> {
        gpu.check_argument(&self.input.input())?;
        for kept in self.kept.iter().chain(&self.rejected) {
            gpu.check_argument(&Slice::from(kept).input())?;
        }
        Ok(gpu.check_argument(&Slice::from(&self.count).input())?)
    }

    pub(super) fn new(input: Slice<'a, T>, count: SliceMut<'a, u64>) -> Result<Self> {
        same_len("count", 1, count.len())?;
        Ok(Self {
            input,
            predicate: Predicate::is_nan(),
            flags: In::empty(),
            kept: None,
            rejected: None,
            count,
            lengths: (None, None),
        })
    }

    pub(super) fn keep(mut self, output: SliceMut<'a, T>) -> Result<Self> {
        self.check("output", &output)?;
        self.kept = Some(output);
        Ok(self)
    }

    fn reject(mut self, output: SliceMut<'a, T>) -> Result<Self> {
        self.check("rejected", &output)?;
        if let Some(kept) = &self.kept {
            apart(("selected", kept), ("rejected", &output))?;
        }
        self.rejected = Some(output);
        Ok(self)
    }

    fn check(&self, what: &'static str, output: &SliceMut<'_, T>) -> Result<()> {
        same_len(what, self.input.len(), output.len())?;
        apart(("input", self.input), (what, output))
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
        let len = self.input.len() as u64;
        let tiles = tiles(len, kernels::tile::<M, T::Bits>())?;
        if tiles == 0 {
            return zero(workspace, self.count);
        }
        // The second is for run lengths.
        let [status, heads_status] = workspace.two_statuses(tiles)?;
        let order = total_order::<T>(Direction::Ascending);
        let (lengths, long_lengths) = self.lengths;
        let arguments = kernels::select::Args {
            input: self.input.cast().input(),
            len,
            rule: Rule {
                magnitude: order.magnitude,
                top: order.top,
                shift: order.shift,
                low: self.predicate.low,
                span: self.predicate.span,
                outside: u32::from(self.predicate.outside),
                flags: self.flags,
            },
            target: Target {
                kept: self.kept.map(|kept| kept.cast().output()),
                rejected: self.rejected.map(|rejected| rejected.cast().output()),
                count: self.count.output(),
                lengths,
                long_lengths,
            },
            control: workspace.control(),
            status,
            heads_status,
        };
        let kernel = <T::Bits as kernels::select::Instance<M>>::KERNEL;
        // SAFETY: the arrays are as long as the kernel asks, and outputs are apart from the input and each other.
        unsafe { workspace.gpu().enqueue(kernel, Blocks::x(tiles), arguments)? };
        Ok(())
    }
}

/// Enqueues setting a count to 0.
pub(super) fn zero(workspace: &Workspace, count: SliceMut<'_, u64>) -> Result<()> {
    let gpu = workspace.gpu();
    let mut count = gpu.admit_mut(count)?;
    // SAFETY: the elements are borrowed mutably, and admitted until the work on them is enqueued.
    unsafe { gpu.fill_with_byte(count.as_mut_ptr(), 0, count.len())? };
    Ok(())
}
