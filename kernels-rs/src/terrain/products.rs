//! The products of a cell's 3 x 3 neighbourhood, row-major from the north-west: at the edge of known ground, and by
//! their kind.

use super::gradient::{
    Azimuth, Combined, Degrees, Horn, Igor, Multidirectional, Of, Percent, Shade, Trigonometric,
    ZevenbergenThorne,
};
use super::kind::{Kind, Product};
use super::scales::Scale;
use super::shape::{Plan, Position, Profile, Riley, Roughness, Wilson};

/// The rule for a cell with a neighbour that is NaN or beyond the raster.
pub trait Edge: Copy {
    /// Whether such a neighbour counts as level with the cell; otherwise the cell becomes NaN.
    const IS_LEVEL: bool;
}

/// The cell becomes NaN.
#[derive(Clone, Copy)]
pub struct Nodata;

/// The neighbour counts as level with the cell.
#[derive(Clone, Copy)]
pub struct Level;

impl Edge for Nodata {
    const IS_LEVEL: bool = false;
}

impl Edge for Level {
    const IS_LEVEL: bool = true;
}

/// A neighbourhood in which NaN stands for a missing neighbour, with what the [`Edge`] puts there.
#[inline(always)]
pub(super) fn filled<E: Edge>(mut n: [f32; 9]) -> [f32; 9] {
    if E::IS_LEVEL {
        let mut i = 0;
        while i < 9 {
            n[i] = if n[i].is_nan() { n[4] } else { n[i] };
            i += 1;
        }
    }
    n
}

/// The product of a cell with this neighbourhood, in which NaN stands for a missing neighbour. NaN if the cell is NaN
/// or, depending on the [`Edge`], if a neighbour is. With `IS_ORDINARY` no height is beyond
/// [`ordinary_height`](super::ordinary_height). That changes no bit, but spares a branch.
#[inline(always)]
pub fn product_of<P: Product, E: Edge, const IS_ORDINARY: bool>(n: [f32; 9], scale: &Scale) -> f32 {
    let n = filled::<E>(n);
    let (value, is_known) = if IS_ORDINARY { P::of(&n, scale) } else { P::of_any(&n, scale) };
    if is_known { value } else { f32::NAN }
}

/// Work that is the same for every product, and compiled for each.
pub trait Visitor {
    /// The result of the work.
    type Output;

    /// Does the work for a product.
    fn visit<P: Product>(self) -> Self::Output;
}

/// Does the work for the product of a kind, and of a gradient if it has one.
pub fn visit<V: Visitor>(kind: Kind, is_horn: bool, visitor: V) -> V::Output {
    match (kind, is_horn) {
        (Kind::Degrees, true) => visitor.visit::<Of<Horn, Degrees>>(),
        (Kind::Degrees, false) => visitor.visit::<Of<ZevenbergenThorne, Degrees>>(),
        (Kind::Percent, true) => visitor.visit::<Of<Horn, Percent>>(),
        (Kind::Percent, false) => visitor.visit::<Of<ZevenbergenThorne, Percent>>(),
        (Kind::Azimuth, true) => visitor.visit::<Of<Horn, Azimuth>>(),
        (Kind::Azimuth, false) => visitor.visit::<Of<ZevenbergenThorne, Azimuth>>(),
        (Kind::Trigonometric, true) => visitor.visit::<Of<Horn, Trigonometric>>(),
        (Kind::Trigonometric, false) => visitor.visit::<Of<ZevenbergenThorne, Trigonometric>>(),
        (Kind::Shade, true) => visitor.visit::<Of<Horn, Shade>>(),
        (Kind::Shade, false) => visitor.visit::<Of<ZevenbergenThorne, Shade>>(),
        (Kind::Multidirectional, true) => visitor.visit::<Of<Horn, Multidirectional>>(),
        (Kind::Multidirectional, false) => {
            visitor.visit::<Of<ZevenbergenThorne, Multidirectional>>()
        }
        (Kind::Combined, true) => visitor.visit::<Of<Horn, Combined>>(),
        (Kind::Combined, false) => visitor.visit::<Of<ZevenbergenThorne, Combined>>(),
        (Kind::Igor, true) => visitor.visit::<Of<Horn, Igor>>(),
        (Kind::Igor, false) => visitor.visit::<Of<ZevenbergenThorne, Igor>>(),
        (Kind::Plan, _) => visitor.visit::<Plan>(),
        (Kind::Profile, _) => visitor.visit::<Profile>(),
        (Kind::Riley, _) => visitor.visit::<Riley>(),
        (Kind::Wilson, _) => visitor.visit::<Wilson>(),
        (Kind::Position, _) => visitor.visit::<Position>(),
        (Kind::Roughness, _) => visitor.visit::<Roughness>(),
    }
}
