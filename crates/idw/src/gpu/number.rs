//! The kernels of each type of result.

use device_std::host::Kernel;
use gpu_core::Element;
use kernels_rs::idw::index::scatter_values;
use kernels_rs::idw::neighbours::far::interpolate_far;
use kernels_rs::idw::neighbours::interpolate;
use kernels_rs::idw::neighbours::nearest::MOST_KEPT;
use kernels_rs::idw::neighbours::ranked::{MOST_OF_QUADRANT, MOST_RANKED};
use kernels_rs::idw::neighbours::together::interpolate_together;
use kernels_rs::idw::pairs::combine::combine;
use kernels_rs::idw::pairs::rescue::rescue;
use kernels_rs::idw::pairs::total::{add_part, write_means};

use crate::Number;

/// A type of results on the device: `f32` or `f64`.
pub trait DeviceNumber: Number + Element + Kernels {}

impl DeviceNumber for f32 {}
impl DeviceNumber for f64 {}

/// The kernels of a type; not to be named outside.
pub trait Kernels: Sized {
    /// Makes results of sums over all points.
    #[doc(hidden)]
    const COMBINE: Kernel<combine::Args<Self>>;
    /// Brings results of queries along a curve into the queries' own order.
    #[doc(hidden)]
    const SCATTER: Kernel<scatter_values::Args<Self>>;
    /// Computes results anew.
    #[doc(hidden)]
    const RESCUE: Kernel<rescue::Args<Self>>;
    /// Adds means over a part of the points.
    #[doc(hidden)]
    const ADD_PART: Kernel<add_part::Args<Self>>;
    /// Writes means over several parts as results.
    #[doc(hidden)]
    const WRITE_MEANS: Kernel<write_means::Args<Self>>;
    /// Interpolates over neighbours.
    #[doc(hidden)]
    fn neighbours(kept: Kept) -> Kernel<interpolate::Args<Self>>;
    /// Interpolates over neighbours, 32 queries at a time; `None` where they are too many.
    #[doc(hidden)]
    fn together(kept: Kept) -> Option<Kernel<interpolate_together::Args<Self>>>;
    /// Interpolates for what these have left, as far as possible; for all that they take.
    #[doc(hidden)]
    fn far(kept: Kept) -> Option<Kernel<interpolate_far::Args<Self>>>;
}

/// What a search keeps of each query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// So many nearest.
    Nearest(u32),
    /// So many nearest of each quadrant.
    OfQuadrants(u32),
    /// Nothing: there are too many.
    Nothing,
}

macro_rules! kernels {
    ($type:ident: $n8:ident $n12:ident $n16:ident $n24:ident $n32:ident $n48:ident $n64:ident
        $q4:ident $q8:ident $q16:ident $any:ident) => {
        impl Kernels for $type {
            const COMBINE: Kernel<combine::Args<Self>> = combine::$type;
            const SCATTER: Kernel<scatter_values::Args<Self>> = scatter_values::$type;
            const RESCUE: Kernel<rescue::Args<Self>> = rescue::$type;
            const ADD_PART: Kernel<add_part::Args<Self>> = add_part::$type;
            const WRITE_MEANS: Kernel<write_means::Args<Self>> = write_means::$type;

            fn neighbours(kept: Kept) -> Kernel<interpolate::Args<Self>> {
                match kept {
                    Kept::Nearest(0..=8) => interpolate::$n8,
                    Kept::Nearest(9..=12) => interpolate::$n12,
                    Kept::Nearest(13..=16) => interpolate::$n16,
                    Kept::Nearest(17..=MOST_KEPT) => interpolate::$n24,
                    Kept::Nearest(..=MOST_RANKED) => interpolate::$n64,
                    Kept::OfQuadrants(..=MOST_OF_QUADRANT) => interpolate::$q16,
                    _ => interpolate::$any,
                }
            }

            fn together(kept: Kept) -> Option<Kernel<interpolate_together::Args<Self>>> {
                Some(match kept {
                    Kept::Nearest(0..=8) => interpolate_together::$n8,
                    Kept::Nearest(9..=12) => interpolate_together::$n12,
                    Kept::Nearest(13..=16) => interpolate_together::$n16,
                    Kept::Nearest(17..=24) => interpolate_together::$n24,
                    Kept::Nearest(25..=32) => interpolate_together::$n32,
                    Kept::Nearest(33..=48) => interpolate_together::$n48,
                    Kept::Nearest(49..=64) => interpolate_together::$n64,
                    Kept::OfQuadrants(0..=4) => interpolate_together::$q4,
                    Kept::OfQuadrants(5..=8) => interpolate_together::$q8,
                    Kept::OfQuadrants(9..=16) => interpolate_together::$q16,
                    _ => return None,
                })
            }

            fn far(kept: Kept) -> Option<Kernel<interpolate_far::Args<Self>>> {
                Some(match kept {
                    Kept::Nearest(0..=16) => interpolate_far::$n16,
                    Kept::Nearest(17..=32) => interpolate_far::$n32,
                    Kept::Nearest(33..=64) => interpolate_far::$n64,
                    Kept::OfQuadrants(..=MOST_OF_QUADRANT) => interpolate_far::$q16,
                    _ => return None,
                })
            }
        }
    };
}

kernels! { f32: f32_8 f32_12 f32_16 f32_24 f32_32 f32_48 f32_64
f32_quadrants_4 f32_quadrants_8 f32_quadrants_16 f32_any }
kernels! { f64: f64_8 f64_12 f64_16 f64_24 f64_32 f64_48 f64_64
f64_quadrants_4 f64_quadrants_8 f64_quadrants_16 f64_any }
