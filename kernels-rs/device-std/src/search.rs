//! Searches by one thread.

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
