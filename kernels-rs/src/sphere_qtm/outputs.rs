//! What a diagram says of each cell.

use super::nearest::{NONE, Two};
use crate::spatial::sphere;

/// Where to write it, for each cell of a level; null for what is not wanted.
#[derive(Clone, Copy)]
pub struct Outputs {
    /// The nearest site.
    pub nearest: *mut u32,
    /// The second nearest.
    pub second: *mut u32,
    /// The angle to the nearest.
    pub distance: *mut f64,
    /// Whether both are as far.
    pub tie: *mut u8,
}

/// The angle to a site in radians; infinite where there is none.
#[inline(always)]
pub fn distance(two: Two) -> f64 {
    if two.first.site == NONE {
        f64::INFINITY
    } else {
        sphere::arc_of_squared_chord(two.first.squared)
    }
}

/// Whether the two nearest sites are as far, as f64 rounds squared chords.
#[inline(always)]
pub fn is_tie(two: Two) -> bool {
    two.second.site != NONE && two.first.squared == two.second.squared
}

impl Outputs {
    /// Writes what is known of a cell.
    ///
    /// # Safety
    /// The outputs that are not null have an element for the cell.
    #[inline(always)]
    pub unsafe fn write(&self, cell: u64, two: Two) {
        let cell = cell as usize;
        // SAFETY: passed on to the caller.
        unsafe {
            if !self.nearest.is_null() {
                *self.nearest.add(cell) = two.first.site;
            }
            if !self.second.is_null() {
                *self.second.add(cell) = two.second.site;
            }
            if !self.distance.is_null() {
                *self.distance.add(cell) = distance(two);
            }
            if !self.tie.is_null() {
                *self.tie.add(cell) = is_tie(two) as u8;
            }
        }
    }
}
