//! Histograms.

use device_std::Out;
use device_std::scalar::Scalar;
use gpu_core::{Blocks, Gpu, Slice, SliceMut};
use kernels_rs::primitives::histogram::{
    Bounds, Counted, Even, Histograms, How, Line, MAX_TILES, OUTSIDE, RESIDENT, Tiles, copies,
    count, count_in_global, make_bounds, tile_len,
};

use super::Workspace;
use super::workspace::{Layout, apart};
use crate::error::{Error, Result, length, same_len};
use crate::histogram::{check_bins, even, places};
use crate::number::{Count, Direction, Number, total_order};

/// Counts in `counts[b]` the elements x with `bounds[b] <= x < bounds[b + 1]`. So there is one bin less than bounds.
/// Three counts in `outside` are for elements below the first bound, elements at or above the last bound, and NaNs.
///
/// Every bin is half open, even the last (unlike in numpy). -0.0 and +0.0 are equal. Bounds must not fall; a bin
/// between equal bounds is empty. Bounds are on the device, so the call cannot check them. If bounds fall or are NaN,
/// every element still counts once, in some bin.
///
/// No bound is above the greatest value of an integer type. To count every value of `u8`, take the bounds 0 to 255: the
/// elements at or above the last bound have the value 255.
///
/// Cost: one read of each element, and log2(bins) steps for it, except for `u8`.
///
/// ```
/// # use gpu_core::{DeviceChoice, Gpu};
/// use gpu_scan::gpu::{Workspace, histogram};
///
/// # fn main() -> Result<(), gpu_scan::Error> {
/// # let gpu = Gpu::open(DeviceChoice::Software)?;
/// # let mut workspace = Workspace::new(&gpu)?;
/// let bounds = gpu.upload(&[0.0, 1.0, 10.0])?;
/// let input = gpu.upload(&[0.5, 3.0, 10.0, f64::NAN])?;
/// let (mut counts, mut outside) = (gpu.zeroed::<u32>(2)?, gpu.zeroed::<u64>(3)?);
/// histogram(&mut workspace, &bounds, &input, &mut counts, &mut outside)?;
/// assert_eq!(counts.to_host()?, [1, 1]);
/// assert_eq!(outside.to_host()?, [0, 1, 1]); // below, above, NaN
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// - [`Length`](gpu_core::Error::Length): there are no bins, or `bounds` does not have one element more than bins, or
///   `outside` does not have three.
/// - [`Overlap`](Error::Overlap): two of the arrays share memory.
/// - [`TooLarge`](Error::TooLarge): there are more elements than `C` can count, or 2^32 - 3 bins and more.
pub fn histogram<'a, T: Number, C: Count>(
    workspace: &mut Workspace,
    bounds: impl Into<Slice<'a, T>>,
    input: impl Into<Slice<'a, T>>,
    counts: impl Into<SliceMut<'a, C>>,
    outside: impl Into<SliceMut<'a, u64>>,
) -> Result<()> {
    let (bounds, counts) = (bounds.into(), counts.into());
    if counts.is_empty() {
        return Err(length("counts", 1, 0));
    }
    same_len("bounds", 1 + counts.len(), bounds.len())?;
    check_bins(counts.len() as u64)?;
    let call = Call::new(input.into(), counts, outside.into())?;
    call.apart_from("bounds", bounds)?;
    call.enqueue(workspace, Bins::Given(bounds))
}

/// Counts like [`histogram`], in bins of equal width from `lower` up to `upper`; `counts` has an element for each bin.
///
/// Bound b is `lower + (upper - lower) * (b / bins)`. For floats, f64 computes it and rounds it to the type. For
/// integers it is exact: an element counts in the bin whose real bounds it lies between. Up to some thousand bins each
/// element takes two comparisons.
///
/// Example: see [`cpu::histogram_even`](crate::cpu::histogram_even()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// The errors of [`histogram`]; [`Bins`](Error::Bins) for no bin, for bounds that are not finite, and unless `lower` is
/// less than `upper`.
pub fn histogram_even<'a, T: Number, C: Count>(
    workspace: &mut Workspace,
    (lower, upper): (T, T),
    input: impl Into<Slice<'a, T>>,
    counts: impl Into<SliceMut<'a, C>>,
    outside: impl Into<SliceMut<'a, u64>>,
) -> Result<()> {
    let counts = counts.into();
    let bins = Bins::Even(even(lower, upper, counts.len())?, lower);
    Call::new(input.into(), counts, outside.into())?.enqueue(workspace, bins)
}

/// Where bins begin and end.
enum Bins<'a, T> {
    /// At one bound more than bins.
    Given(Slice<'a, T>),
    /// At equal distances from the element on.
    Even(Even, T),
}

/// The arguments of a histogram, checked.
struct Call<'a, T, C> {
    input: Slice<'a, T>,
    counts: SliceMut<'a, C>,
    outside: SliceMut<'a, u64>,
}

impl<'a, T: Number, C: Count> Call<'a, T, C> {
    fn new(
        input: Slice<'a, T>,
        counts: SliceMut<'a, C>,
        outside: SliceMut<'a, u64>,
    ) -> Result<Self> {
        same_len("outside", OUTSIDE as usize, outside.len())?;
        if input.len() as u64 > C::MOST {
            return Err(Error::TooLarge { elements: input.len() as u64, most: C::MOST });
        }
        let call = Self { input, counts, outside };
        call.apart_from("input", input)?;
        apart(("counts", &call.counts), ("outside", &call.outside))?;
        Ok(call)
    }

    /// Checks that an array shares no memory with the counts.
    fn apart_from(&self, what: &'static str, array: Slice<'_, T>) -> Result<()> {
        apart((what, array), ("counts", &self.counts))?;
        apart((what, array), ("outside", &self.outside))
    }

    /// Enqueues counting, in shared memory where bounds and counters fit.
    fn enqueue(self, workspace: &mut Workspace, bins: Bins<'_, T>) -> Result<()> {
        let gpu = workspace.gpu().clone();
        let blocks = blocks(&gpu, self.input.len() as u64, size_of::<T>());
        let bounds = bins.bounds(self.counts.len() as u64);
        let parameters = total_order::<T>(Direction::Ascending).parameters();
        let tiles = Tiles { input: self.input.cast().input(), len: self.input.len() as u64 };
        let (words, long_words) = C::arrays(self.counts.output());
        let words = words.unwrap_or(Out::empty());
        let counted = Counted { words, long_words, outside: self.outside.output() };
        let copies = copies::<T::Bits>(bounds.bins);
        if copies == 0
            && let Some(kernel) = T::Bits::counting_in_global()
        {
            let mut layout = Layout::default();
            let ranks = layout.part::<T::Bits>(bounds.bins + 1);
            let ranks = workspace.arena(&layout)?.at(&ranks);
            let of_bounds = make_bounds::Args { bounds, parameters, ranks, counted };
            let (ranks, bins) = (ranks.as_input(), bounds.bins);
            let of_counts = count_in_global::Args { tiles, ranks, bins, parameters, counted };
            let make_bounds = <T::Bits as make_bounds::Instance>::KERNEL;
            let blocks_of_bounds = Blocks::for_each(&make_bounds, bins + OUTSIDE)?;
            // SAFETY: the arrays are as long as the kernels ask, and outputs are apart from the rest.
            unsafe {
                gpu.enqueue(make_bounds, blocks_of_bounds, of_bounds)?;
                gpu.enqueue(kernel, blocks, of_counts)?;
            }
            return Ok(());
        }
        let (how, line) = bins.how();
        let (control, cleared) = (workspace.control(), workspace.cleared());
        let arguments =
            count::Args { tiles, bounds, copies, parameters, line, counted, control, cleared };
        // SAFETY: as above.
        unsafe { gpu.enqueue(T::Bits::counting(how), blocks, arguments)? };
        Ok(())
    }
}

/// Blocks that share the tiles: enough for the device, and for the counters of each. One block
/// even of no tiles sets the counts to zero.
fn blocks(gpu: &Gpu, len: u64, element: usize) -> Blocks {
    let tiles = len.div_ceil(tile_len(element));
    let most = u64::from(gpu.multiprocessors() * RESIDENT);
    let blocks = u64::max(u64::min(tiles, most), tiles.div_ceil(MAX_TILES));
    Blocks::x(u64::max(blocks, 1) as u32)
}

impl<'a, T: Number> Bins<'a, T> {
    /// As kernels take them.
    fn bounds(&self, bins: u64) -> Bounds<'a, T::Bits> {
        match *self {
            Bins::Given(thresholds) => {
                let thresholds = Some(thresholds.cast().input());
                Bounds { thresholds, first: 0, quotient: 0, rest: 0, floats: 0, bins }
            }
            Bins::Even(Even { first, quotient, rest, bins, floats }, _) => {
                let floats = u32::from(floats);
                Bounds { thresholds: None, first, quotient, rest, floats, bins }
            }
        }
    }

    /// How to count; and where elements lie among equal bins.
    fn how(&self) -> (How, Line) {
        if let Bins::Even(even, lower) = self
            && let Some((scale, shift)) = places::<T>(even)
        {
            let how = if even.floats { How::EvenFloats } else { How::EvenIntegers };
            return (how, Line { lower: lower.bits().to_bits64(), scale, shift });
        }
        (How::Search, Line { lower: 0, scale: 0.0, shift: 0.0 })
    }
}
