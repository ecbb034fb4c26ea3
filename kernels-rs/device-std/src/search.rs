//! Searches by one thread, or by a warp together.

use crate::warp;

/// Returns the last place from `low` to `high`, both included, at which a condition holds. The condition holds up to
/// some place and not after it. It holds at `low`, which is not tested.
#[inline(always)]
pub fn last(low: u64, high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (low, high);
    while low < high {
        let middle = high - (high - low) / 2;
        if holds(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

/// Returns the first place from `low` up to `high` at which a condition does not hold, `high` if there is none. The
/// condition holds up to some place and not after it. A warp tests 32 places at a time.
///
/// # Safety
/// The whole warp comes here, with the same places.
#[inline(always)]
pub unsafe fn first_of_warp(low: u64, high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (low, high);
    while low < high {
        // The first places of 32 parts.
        let part = (high - low).div_ceil(32);
        let place = low + warp::lane_id() as u64 * part;
        // SAFETY: passed on to the caller.
        let held = unsafe { warp::ballot(warp::FULL, place < high && holds(place)) };
        let parts = held.count_ones() as u64;
        if parts == 0 {
            return low;
        }
        high = u64::min(low + parts * part, high);
        low += (parts - 1) * part + 1;
    }
    low
}

/// As [`first_of_warp`] from 0 on, by one test if the place is beside a guess.
///
/// # Safety
/// As for [`first_of_warp`].
#[inline(always)]
pub unsafe fn first_of_warp_near(guess: u64, high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let low = u64::min(guess, high).saturating_sub(16);
    let place = low + warp::lane_id() as u64;
    // SAFETY: passed on to the caller.
    unsafe {
        let held = warp::ballot(warp::FULL, place < high && holds(place)).count_ones();
        match held {
            0 => first_of_warp(0, low, holds),
            32 => first_of_warp(low + 32, high, holds),
            _ => low + held as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::last;

    #[test]
    fn the_last_place_is_found_wherever_it_is() {
        for high in 0..40 {
            for place in 0..=high {
                assert_eq!(last(0, high, |i| i <= place), place, "up to {high}");
            }
        }
    }
}
