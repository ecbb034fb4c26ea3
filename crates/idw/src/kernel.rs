//! Weights by kernel functions in place of powers.

use gpu_core::require_parameter;
use kernels_rs::idw::kernel_weights::FIRST_KERNEL;

use crate::points::{LEAST_LENGTH, has_square};
use crate::{Error, Params, Result};

/// A kernel function K(u), the weight of a point at distance d with the bandwidth h, where u = d / h. A constant factor
/// makes no difference, since the value is a weighted mean. All but [`Gaussian`](KernelShape::Gaussian) end at the
/// bandwidth.
///
/// Example: see [`Kernel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KernelShape {
    /// 1: the mean of all points within the bandwidth.
    Uniform,
    /// 1 - u.
    Triangular,
    /// 1 - u^2 (Epanechnikov 1969, doi:10.1137/1114019).
    Epanechnikov,
    /// (1 - u^2)^2, also called quartic or bisquare.
    Biweight,
    /// (1 - u^2)^3.
    Triweight,
    /// (1 - u^3)^3 (Cleveland 1979, doi:10.1080/01621459.1979.10481038).
    Tricube,
    /// exp(-u^2 / 2): the bandwidth is the standard deviation.
    Gaussian,
}

/// A kernel function with its bandwidth.
///
/// ```
/// use gpu_core::{Device, Points, Targets};
/// use idw::{Input, Kernel, KernelShape, Params, interpolate};
///
/// let points = Points { x: &[0.0, 1.0, 9.0], y: &[0.0; 3], values: &[&[10.0, 20.0, 90.0]] };
/// let targets = Targets::Points { x: &[0.5], y: &[0.0] };
/// let params = Params::default().kernel(Kernel::new(KernelShape::Uniform, 2.0));
/// let surface = interpolate::<f64>(&Device::Cpu, Input::new(points, targets), &params)?;
/// assert_eq!(surface.values[0], [15.0]); // the mean of the two within 2
/// # Ok::<(), idw::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kernel {
    /// The function.
    pub shape: KernelShape,
    /// The bandwidth in ground units (metres where coordinates are geographic); positive.
    pub bandwidth: f64,
}

impl KernelShape {
    /// Returns whether points beyond the bandwidth weigh nothing.
    pub fn ends(self) -> bool {
        self != Self::Gaussian
    }
}

impl Kernel {
    /// Returns a kernel function with a bandwidth.
    pub fn new(shape: KernelShape, bandwidth: f64) -> Self {
        Self { shape, bandwidth }
    }

    /// How the kernels and the search name it.
    pub(crate) fn law(self) -> u32 {
        FIRST_KERNEL
            + match self.shape {
                KernelShape::Uniform => 0,
                KernelShape::Triangular => 1,
                KernelShape::Epanechnikov => 2,
                KernelShape::Biweight => 3,
                KernelShape::Triweight => 4,
                KernelShape::Tricube => 5,
                KernelShape::Gaussian => 6,
            }
    }

    /// Refuses a bandwidth that is not a length, and what a kernel function has no use for.
    pub(crate) fn check(self, params: &Params) -> Result<()> {
        let is_length = self.bandwidth >= LEAST_LENGTH && has_square(self.bandwidth);
        let expected = "from 1e-130 to 1e150";
        require_parameter("bandwidth", self.bandwidth, is_length, expected)?;
        let conflicts = [
            (params.smoothing > 0.0, "smoothing"),
            (params.adaptive.is_some(), "the adaptive power"),
            // `Params::kernel` makes a search of parameters whose kernel function ends, so only endless ones get here.
            (params.is_all_pairs(), "all points: give a radius, or the most points"),
        ];
        match conflicts.into_iter().find(|(conflicts, _)| *conflicts) {
            Some((_, with)) => Err(Error::Conflict { option: "a kernel function", with }),
            None => Ok(()),
        }
    }
}
