//! Parts of the ground whose points are read.

use gpu_core::Bounds;

/// A part of the ground, which need not be a rectangle.
pub trait Ground {
    /// A rectangle that holds it.
    fn bounds(&self) -> Bounds;

    /// Whether it may overlap a rectangle.
    fn touches(&self, area: &Bounds) -> bool;

    /// Whether a point within [`bounds`](Self::bounds) lies in it.
    fn holds(&self, x: f64, y: f64) -> bool;

    /// Whether it equals its bounds, so that no point needs a check.
    fn is_rectangle(&self) -> bool {
        false
    }

    /// Returns the number of strips, from south to north, in which a program reads points from bins. A ground that
    /// fills little of its rectangle takes more strips. Then the memory holds the points of the ground, and beside them
    /// at most the points of one strip.
    fn strips(&self) -> u32 {
        1
    }
}

impl Ground for Bounds {
    fn bounds(&self) -> Bounds {
        *self
    }

    fn touches(&self, area: &Bounds) -> bool {
        let x = area.min_x <= self.max_x && area.max_x >= self.min_x;
        x && area.min_y <= self.max_y && area.max_y >= self.min_y
    }

    fn holds(&self, _: f64, _: f64) -> bool {
        true
    }

    fn is_rectangle(&self) -> bool {
        true
    }
}
