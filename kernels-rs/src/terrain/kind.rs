//! The products of a cell's 3 x 3 neighbourhood.

use super::scales::Scale;

/// The products, by the types that make them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Degrees of slope.
    Degrees,
    /// Percent of slope.
    Percent,
    /// Azimuth of the aspect.
    Azimuth,
    /// Trigonometric aspect.
    Trigonometric,
    /// Shade under one light.
    Shade,
    /// Multidirectional shade.
    Multidirectional,
    /// Combined shade.
    Combined,
    /// Igor's shade.
    Igor,
    /// Plan curvature.
    Plan,
    /// Profile curvature.
    Profile,
    /// Riley's ruggedness.
    Riley,
    /// Wilson's ruggedness.
    Wilson,
    /// Position index.
    Position,
    /// Roughness.
    Roughness,
}

/// A product of a neighbourhood.
pub trait Product: Copy {
    /// Its kind.
    const KIND: Kind;
    /// Whether it needs Horn's gradient, or none.
    const IS_HORN: bool = true;

    /// The product of a neighbourhood, and whether it exists: it does not if a height is NaN.
    fn of(n: &[f32; 9], scale: &Scale) -> (f32, bool);

    /// Whether [`of`](Self::of) is right for gradients up to a size alone.
    const HAS_SIZE: bool = false;

    /// How large the gradient of a neighbourhood is, if that matters: the square of its sums.
    #[inline(always)]
    fn size(_: &[f32; 9], _: &Scale) -> f32 {
        0.0
    }

    /// The product as [`of`](Self::of) gives it, and right as well where the size [is beyond](super::is_beyond).
    #[inline(always)]
    fn of_any(n: &[f32; 9], scale: &Scale) -> (f32, bool) {
        Self::of(n, scale)
    }
}
