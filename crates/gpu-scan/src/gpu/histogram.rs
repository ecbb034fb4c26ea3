//! Histograms.

use device_std::host::Kernel;
use device_std::scalar::Scalar;
use gpu_core::{Blocks, Gpu, Slice, SliceMut};
use kernels_rs::primitives::histogram::{
    Even, Histograms, How, MOST_TILES, OUTSIDE, RESIDENT, copies, count, count_in_global,
    make_bounds, tile_len,
};

use super::Workspace;
use super::workspace::{Layout, apart};
use crate::error::{Error, Result, length, same_len};
use crate::histogram::{check_bins, even, places};
use crate::number::{Count, Direction, Number, total_order};

/// Counts in `counts[b]` the elements x with `bounds[b] <= x < bounds[b + 1]`, one bin less than
/// bounds, and in `outside` what is in no bin: elements below the first bound, elements at or above
/// the last, and NaNs.
///
/// Every bin is half open, also the last (unlike numpy's); -0.0 and +0.0 are equal. Bounds do not
/// fall, and between equal ones nothing is counted. They are on the device, and no error is given
/// where they fall or are NaN: then every element is counted somewhere.
/// The greatest value of an integer type is below no bound: to count every value of `u8`, take the
/// bounds 0 to 255, and 255 is what lies above.
///
/// One read of each element, and log2(bins) steps for it, except for `u8`.
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) unless there is a bin, one bound more than bins, and three counts
/// outside; [`Overlap`](Error::Overlap); [`TooLarge`](Error::TooLarge) for more elements than `C`
/// can count, and for 2^32 - 3 bins and more.
pub fn histogram<'a, 'b, 'c, 'd, T: Number, C: Count>(
    workspace: &mut Workspace,
    bounds: impl Into<Slice<'d, T>>,
    input: impl Into<Slice<'a, T>>,
    counts: impl Into<SliceMut<'b, C>>,
    outside: impl Into<SliceMut<'c, u64>>,
) -> Result<()> {
    let (input, mut outside) = (workspace.read(input)?, workspace.write(outside)?);
    let (bounds, mut counts) = (workspace.read(bounds)?, workspace.write(counts)?);
    if counts.is_empty() {
        return Err(length("counts", 1, 0));
    }
    same_len("bounds", 1 + counts.len(), bounds.len())?;
    check_bins(counts.len() as u64)?;
    let call = Call::new(*input, counts.reborrow(), outside.reborrow())?;
    call.apart_from("bounds", bounds.as_ptr(), bounds.len())?;
    call.enqueue(workspace, Bounds::Given(bounds.as_ptr()))
}

/// [`histogram`] with equal bins, as many as counts, from `lower` up to `upper`.
///
/// Bound b is `lower + (upper - lower) * (b / bins)`. For floats it is computed in f64 and rounded
/// to the type; for integers it is exact: an element is counted in the bin whose real bounds it
/// lies between. Up to some thousand bins each element takes two comparisons.
///
/// # Errors
/// As [`histogram`]; [`Bins`](Error::Bins) for no bin, for bounds that are not finite, and unless
/// `lower` is less than `upper`.
pub fn histogram_even<'a, 'b, 'c, T: Number, C: Count>(
    workspace: &mut Workspace,
    (lower, upper): (T, T),
    input: impl Into<Slice<'a, T>>,
    counts: impl Into<SliceMut<'b, C>>,
    outside: impl Into<SliceMut<'c, u64>>,
) -> Result<()> {
    let (input, mut outside) = (workspace.read(input)?, workspace.write(outside)?);
    let mut counts = workspace.write(counts)?;
    let bounds = Bounds::Even(even(lower, upper, counts.len())?, lower);
    Call::new(*input, counts.reborrow(), outside.reborrow())?.enqueue(workspace, bounds)
}

/// Where bins begin and end.
enum Bounds<T> {
    /// At one bound more than bins.
    Given(*const T),
    /// At equal distances from the element on.
    Even(Even, T),
}

/// The arguments of a histogram, checked.
struct Call<T, C> {
    input: *const T,
    len: usize,
    counts: *mut C,
    bins: usize,
    outside: *mut u64,
}

impl<T: Number, C: Count> Call<T, C> {
    fn new(
        input: Slice<'_, T>,
        mut counts: SliceMut<'_, C>,
        mut outside: SliceMut<'_, u64>,
    ) -> Result<Self> {
        same_len("outside", OUTSIDE as usize, outside.len())?;
        if input.len() as u64 > C::MOST {
            return Err(Error::TooLarge { elements: input.len() as u64, most: C::MOST });
        }
        let (bins, len) = (counts.len(), input.len());
        let (counts, outside) = (counts.as_mut_ptr(), outside.as_mut_ptr());
        let call = Self { input: input.as_ptr(), len, counts, bins, outside };
        call.apart_from("input", call.input, len)?;
        let outside = ("outside", outside.cast_const(), OUTSIDE as usize);
        apart(("counts", counts.cast_const(), bins), outside)?;
        Ok(call)
    }

    /// Checks that an array shares no memory with the counts.
    fn apart_from(&self, what: &'static str, array: *const T, len: usize) -> Result<()> {
        apart((what, array, len), ("counts", self.counts.cast_const(), self.bins))?;
        apart((what, array, len), ("outside", self.outside.cast_const(), OUTSIDE as usize))
    }

    /// Enqueues counting, in shared memory where bounds and counters fit.
    fn enqueue(self, workspace: &mut Workspace, bounds: Bounds<T>) -> Result<()> {
        match T::Bits::counting_in_global() {
            Some(kernel) if copies::<T::Bits>(self.bins as u64) == 0 => {
                self.enqueue_in_global(workspace, &bounds, kernel)
            }
            _ => self.enqueue_in_shared(workspace, &bounds),
        }
    }

    fn enqueue_in_shared(self, workspace: &mut Workspace, bounds: &Bounds<T>) -> Result<()> {
        let (bins, len) = (self.bins as u64, self.len as u64);
        let (thresholds, even) = bounds.parts(bins);
        let (how, lower, scale, shift) = how(bounds);
        let (words, long_words) = C::arrays(self.counts);
        let arguments = count::Args {
            input: self.input.cast(),
            len,
            thresholds: thresholds.cast(),
            first: even.first,
            quotient: even.quotient,
            rest: even.rest,
            floats: u32::from(even.floats),
            bins,
            copies: copies::<T::Bits>(bins),
            parameters: total_order::<T>(Direction::Ascending).parameters(),
            lower,
            scale,
            shift,
            words,
            long_words,
            outside: self.outside,
            control: workspace.control(),
            cleared: workspace.cleared(),
        };
        let blocks = self.blocks(workspace.gpu());
        // SAFETY: the arrays are as long as the kernel asks; the workspace's storage is used on its
        // own stream only.
        unsafe { workspace.gpu().enqueue(T::Bits::counting(how), blocks, arguments)? };
        Ok(())
    }

    fn enqueue_in_global(
        self,
        workspace: &mut Workspace,
        bounds: &Bounds<T>,
        kernel: Kernel<count_in_global::Args<T::Bits>>,
    ) -> Result<()> {
        let (bins, len) = (self.bins as u64, self.len as u64);
        let mut layout = Layout::default();
        let ranks = layout.part::<T::Bits>(bins + 1);
        let ranks = workspace.arena(&layout)?.at(&ranks);
        let gpu = workspace.gpu();
        let (thresholds, even) = bounds.parts(bins);
        let parameters = total_order::<T>(Direction::Ascending).parameters();
        let (words, long_words) = C::arrays(self.counts);
        let outside = self.outside;
        let of_bounds = make_bounds::Args {
            thresholds: thresholds.cast(),
            first: even.first,
            quotient: even.quotient,
            rest: even.rest,
            floats: u32::from(even.floats),
            bins,
            parameters,
            ranks,
            words,
            long_words,
            outside,
        };
        let of_counts = count_in_global::Args {
            input: self.input.cast(),
            len,
            ranks: ranks.cast_const(),
            bins,
            parameters,
            words,
            long_words,
            outside,
        };
        let make_bounds = <T::Bits as make_bounds::Instance>::KERNEL;
        let blocks_of_bounds = Blocks::for_each(&make_bounds, bins + OUTSIDE)?;
        // SAFETY: as above.
        unsafe {
            gpu.enqueue(make_bounds, blocks_of_bounds, of_bounds)?;
            gpu.enqueue(kernel, self.blocks(gpu), of_counts)?;
        }
        Ok(())
    }

    /// Blocks that share the tiles: enough for the device, and for the counters of each. One block
    /// even of no tiles sets the counts to zero.
    fn blocks(&self, gpu: &Gpu) -> Blocks {
        let tiles = (self.len as u64).div_ceil(tile_len(size_of::<T>()));
        let most = u64::from(gpu.multiprocessors() * RESIDENT);
        let blocks = u64::max(u64::min(tiles, most), tiles.div_ceil(MOST_TILES));
        Blocks::x(u64::max(blocks, 1) as u32)
    }
}

impl<T: Number> Bounds<T> {
    /// As kernels take them: one of the two counts.
    fn parts(&self, bins: u64) -> (*const T, Even) {
        match *self {
            Bounds::Given(thresholds) => {
                (thresholds, Even { first: 0, quotient: 0, rest: 0, bins, floats: false })
            }
            Bounds::Even(even, _) => (std::ptr::null(), even),
        }
    }
}

/// How to count; and for equal bins the bits of the lowest bound, and scale and shift of places.
fn how<T: Number>(bounds: &Bounds<T>) -> (How, u64, f32, f32) {
    if let Bounds::Even(even, lower) = bounds
        && let Some((scale, shift)) = places::<T>(even)
    {
        let how = if even.floats { How::EvenFloats } else { How::EvenIntegers };
        return (how, lower.bits().to_bits64(), scale, shift);
    }
    (How::Search, 0, 0.0, 0.0)
}
