//! The types of coordinates.

/// A coordinate: f32 or f64.
pub trait Place: Copy {
    /// The same number.
    fn widened(self) -> f64;
}

impl Place for f32 {
    #[inline(always)]
    fn widened(self) -> f64 {
        self as f64
    }
}

impl Place for f64 {
    #[inline(always)]
    fn widened(self) -> f64 {
        self
    }
}
