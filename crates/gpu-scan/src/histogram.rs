//! The bounds of histograms, for CPU and GPU alike.

use device_std::scalar::Scalar;
use kernels_rs::primitives::histogram::{Even, MAX_BINS, rank_of_bound};
use kernels_rs::primitives::operators::Bits;

use crate::error::{Error, Result};
use crate::number::{Direction, Number, total_order};

/// What a histogram on the CPU counts.
///
/// Example: see [`cpu::histogram`](crate::cpu::histogram()).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// How many elements each bin has.
    pub counts: Vec<u64>,
    /// Elements below the first bound.
    pub below: u64,
    /// Elements at or above the last bound.
    pub above: u64,
    /// NaNs.
    pub nan: u64,
}

/// The ranks of given bounds, which are checked: at least two, none NaN, none less than the one
/// before.
pub(crate) fn ranks<T: Number>(bounds: &[T]) -> Result<Vec<T::Bits>> {
    let rise = bounds.windows(2).all(|pair| pair[0] <= pair[1]);
    if bounds.len() < 2 || !rise {
        return Err(error(bounds.len().saturating_sub(1), bounds.first(), bounds.last()));
    }
    let order = total_order::<T>(Direction::Ascending);
    Ok(bounds.iter().map(|bound| rank_of_bound(order, bound.bits())).collect())
}

/// `bins` bins of equal width, checked.
pub(crate) fn even<T: Number>(lower: T, upper: T, bins: usize) -> Result<Even> {
    let floats = T::MAGNITUDE != 0;
    let is_finite = |x: T| !floats || to_f64(x).is_finite();
    if bins == 0 || !is_finite(lower) || !is_finite(upper) || lower >= upper {
        return Err(error(bins, Some(&lower), Some(&upper)));
    }
    let bins = bins as u64;
    check_bins(bins)?;
    if floats {
        let (first, quotient) = (to_f64(lower).to_bits(), to_f64(upper).to_bits());
        return Ok(Even { first, quotient, rest: 0, bins, floats });
    }
    let order = total_order::<T>(Direction::Ascending);
    let (first, last) = (order.rank(lower.bits()), order.rank(upper.bits()));
    let (first, span) = (first.to_bits64(), last.minus(first).to_bits64());
    Ok(Even { first, quotient: span / bins, rest: span % bins, bins, floats })
}

/// Checks that there are not too many bins.
pub(crate) fn check_bins(bins: u64) -> Result<()> {
    match bins > MAX_BINS {
        true => Err(Error::TooLarge { elements: bins, most: MAX_BINS }),
        false => Ok(()),
    }
}

/// Returns the factor and the summand by which kernels guess where an element lies among the slots, from 0 to 1. `None`
/// where f32 is too narrow for that. The kernel multiplies a 32-bit float itself, and any other value's distance from
/// the lowest bound.
#[cfg(feature = "cuda")]
pub(crate) fn places<T: Number>(even: &Even) -> Option<(f32, f32)> {
    let (first, last) = (f64::from_bits(even.first), f64::from_bits(even.quotient));
    let (bins, steps) = (even.bins as f64, even.bins as f64 + 1.0);
    let span = match even.floats {
        true => last - first,
        false => even.quotient as f64 * bins + even.rest as f64,
    };
    let lower = if even.floats && size_of::<T>() == 4 { first } else { 0.0 };
    let scale = (bins / span / steps) as f32;
    let shift = (0.5 - lower * (bins / span)) / steps;
    // Every element's distance must be representable, as must the product.
    let narrow = span < f64::from(f32::MAX) && scale.is_normal() && (1.0 / scale).is_normal();
    narrow.then_some((scale, shift as f32))
}

/// A float as f64.
fn to_f64<T: Number>(x: T) -> f64 {
    match size_of::<T>() {
        4 => f64::from(f32::from_bits(x.bits().to_bits64() as u32)),
        _ => f64::from_bits(x.bits().to_bits64()),
    }
}

fn error<T: Number>(bins: usize, lower: Option<&T>, upper: Option<&T>) -> Error {
    let text = |bound: Option<&T>| bound.map_or("nothing".to_owned(), |b| format!("{b:?}"));
    Error::Bins { bins: bins as u64, lower: text(lower), upper: text(upper) }
}
