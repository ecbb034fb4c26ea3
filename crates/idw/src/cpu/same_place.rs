//! Finds the points that lie exactly where a target lies, without a pass over all points.

use std::cmp::Ordering;

use gpu_core::parallel::{self, FINE};

/// Points sorted by their places.
pub(super) struct SamePlace {
    /// Numbers of sorted points; those of one place follow one another, by rising number.
    by_place: Vec<u32>,
}

impl SamePlace {
    /// Sorts points by their places.
    pub fn of(places: &[[f64; 3]]) -> Self {
        let mut by_place = parallel::map(places.len(), FINE, |i| i as u32);
        let place = |i: u32| &places[i as usize];
        by_place.sort_unstable_by(|&a, &b| compare(place(a), place(b)).then(a.cmp(&b)));
        Self { by_place }
    }

    /// Returns the points at a place. `places` are those that the points were sorted by.
    pub fn at(&self, places: &[[f64; 3]], place: &[f64; 3]) -> &[u32] {
        let order = |i: u32| compare(&places[i as usize], place);
        let from = self.by_place.partition_point(|&i| order(i) == Ordering::Less);
        let behind = &self.by_place[from..];
        &behind[..behind.partition_point(|&i| order(i) == Ordering::Equal)]
    }
}

/// Compares places. Zeros are equal, whatever their signs.
fn compare(a: &[f64; 3], b: &[f64; 3]) -> Ordering {
    let axes = a.iter().zip(b).map(|(a, b)| (a + 0.0).total_cmp(&(b + 0.0)));
    axes.fold(Ordering::Equal, Ordering::then)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_one_place_are_found_and_no_others() {
        let places = [[1.0, 2.0, 0.0], [1.0, 3.0, 0.0], [1.0, 2.0, 0.0], [-0.0, 2.0, 0.0]];
        let same = SamePlace::of(&places);
        assert_eq!(same.at(&places, &[1.0, 2.0, 0.0]), [0, 2]);
        assert_eq!(same.at(&places, &[1.0, 3.0, -0.0]), [1]);
        assert_eq!(same.at(&places, &[0.0, 2.0, 0.0]), [3]);
        assert_eq!(same.at(&places, &[0.0, 1.0, 0.0]), [0u32; 0]);
        assert_eq!(SamePlace::of(&[]).at(&[], &[0.0; 3]), [0u32; 0]);
    }
}
