//! The results of a diagram for each cell.

use device_std::{Out, arguments};

use super::nearest::{NONE, Two};
use crate::spatial::sphere;

/// Where a kernel writes a diagram. Each slice has an element for each cell of the level.
#[arguments]
pub struct Outputs<'a> {
    /// The nearest site, or [`NONE`].
    pub nearest: Out<'a, u32>,
    /// The second nearest site, or [`NONE`].
    pub second: Option<Out<'a, u32>>,
    /// The angle to the nearest site, in radians.
    pub distance: Option<Out<'a, f64>>,
    /// 1 where both sites are equally far, else 0.
    pub tie: Option<Out<'a, u8>>,
}

/// The angle to the nearest site in radians; infinite without a site.
#[inline(always)]
pub fn distance(two: Two) -> f64 {
    if two.first.site == NONE {
        f64::INFINITY
    } else {
        sphere::arc_of_squared_chord(two.first.squared)
    }
}

/// Whether the two nearest sites are equally far, as f64 rounds squared chords.
#[inline(always)]
pub fn is_tie(two: Two) -> bool {
    two.second.site != NONE && two.first.squared == two.second.squared
}

impl Outputs<'_> {
    /// Writes the results of a cell.
    #[inline(always)]
    pub fn write(&self, cell: u64, two: Two) {
        self.nearest.set(cell, two.first.site);
        if let Some(second) = self.second {
            second.set(cell, two.second.site);
        }
        if let Some(out) = self.distance {
            out.set(cell, distance(two));
        }
        if let Some(tie) = self.tie {
            tie.set(cell, is_tie(two) as u8);
        }
    }
}
