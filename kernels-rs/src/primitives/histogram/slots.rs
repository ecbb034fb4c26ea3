//! The slots of elements: by a search in the bounds, or computed for equal bins.

use device_std::math::{mul_add_f32, mul_add_saturated};

use super::bounds::last_number;
use crate::primitives::operators::{Bits, Order};

/// The slots of some elements, by a search in the `bins + 1` bounds.
#[inline(always)]
pub(super) fn search<B: Bits, const SIDE: usize>(
    order: Order<B>,
    elements: [B; SIDE],
    bounds: impl Fn(u32) -> B,
    bins: u32,
) -> [u32; SIDE] {
    let ranks = ranks_of(order, elements);
    // `found` bounds are known not to be above the element; the `rest` after them are undecided.
    let mut found = [0; SIDE];
    let mut rest = bins + 1;
    while rest > 0 {
        let half = rest.div_ceil(2);
        let mut i = 0;
        while i < SIDE {
            let below = bounds(found[i] + half - 1) <= ranks[i];
            found[i] += if below { half } else { 0 };
            i += 1;
        }
        rest -= half;
    }
    let mut i = 0;
    while i < SIDE {
        found[i] += (ranks[i] > last_number(order)) as u32;
        i += 1;
    }
    found
}

/// From here on floats are whole numbers.
const WHOLE: f32 = 8_388_608.0;

/// Equal bins: where elements lie among the slots.
///
/// The place of an element is `value * scale + shift`. It runs from 0, in the middle of the slot below the lowest
/// bound, to 1, in the middle of the slot above the highest. Multiplied by the number of bins plus 1 it is a whole
/// number in the middle of each slot.
#[derive(Clone, Copy)]
pub(super) struct Places<F> {
    /// The value of an element.
    value: F,
    scale: f32,
    shift: f32,
    bins: u32,
    /// A place this close to the middle of a slot, in bins, is certainly in that slot.
    near: f32,
}

impl<F> Places<F> {
    /// Bounds may be off by `error` bins, apart from a few roundings.
    #[inline(always)]
    pub(super) fn new(value: F, (scale, shift): (f32, f32), bins: u32, error: f32) -> Self {
        // A value, a scale, a place and a bound are rounded, each by 2^-24 of the greatest place.
        const ROUNDINGS: f32 = 1.0 / (1 << 21) as f32;
        let near = 0.5 - (bins + 1) as f32 * ROUNDINGS - error;
        Self { value, scale, shift, bins, near }
    }

    /// The slots of some elements: computed, and compared with bounds if the place is close to one.
    #[inline(always)]
    pub(super) fn slots<B: Bits, const SIDE: usize>(
        &self,
        order: Order<B>,
        elements: [B; SIDE],
        bounds: impl Fn(u32) -> B,
    ) -> [u32; SIDE]
    where
        F: Fn(B) -> f32,
    {
        let mut slots = [0; SIDE];
        let mut certain = true;
        let steps = (self.bins + 1) as f32;
        let mut i = 0;
        while i < SIDE {
            let value = (self.value)(elements[i]);
            // A place outside all bins is clamped to the middle of its slot.
            let place = mul_add_saturated(value, self.scale, self.shift);
            let rounded = mul_add_f32(place, steps, WHOLE);
            slots[i] = rounded.to_bits().wrapping_sub(WHOLE.to_bits());
            let from_middle = mul_add_f32(place, steps, WHOLE - rounded);
            certain &= !value.is_nan() & (from_middle.abs() < self.near);
            i += 1;
        }
        let mut i = 0;
        while i < SIDE && !certain {
            slots[i] = self.compare(order.rank(elements[i]), slots[i], order, &bounds);
            i += 1;
        }
        slots
    }

    /// Moves to the slot that has a rank between its bounds.
    #[inline(always)]
    fn compare<B: Bits>(
        &self,
        rank: B,
        slot: u32,
        order: Order<B>,
        bounds: &impl Fn(u32) -> B,
    ) -> u32 {
        let mut slot = u32::min(slot, self.bins + 1);
        while slot <= self.bins && rank >= bounds(slot) {
            slot += 1;
        }
        while slot > 0 && rank < bounds(slot - 1) {
            slot -= 1;
        }
        slot + (rank > last_number(order)) as u32
    }
}

/// The ranks of some elements.
#[inline(always)]
fn ranks_of<B: Bits, const SIDE: usize>(order: Order<B>, mut elements: [B; SIDE]) -> [B; SIDE] {
    let mut i = 0;
    while i < SIDE {
        elements[i] = order.rank(elements[i]);
        i += 1;
    }
    elements
}
