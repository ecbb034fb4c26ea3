//! Weights by kernel functions of the distance over a bandwidth, in place of powers.

use device_std::math;
use device_std::real::Real;

/// The least `law` that names a kernel function of the distance over a bandwidth; lower laws are powers.
pub const FIRST_KERNEL: u32 = 5;

/// Returns the weight of a point at a squared distance, by kernel function `law` and the square of a bandwidth.
/// Functions that end at the bandwidth weigh at most 1, and 0 beyond it. The Gaussian, the last function, is divided by
/// its value at the nearest point, whose square is given, so that it does not vanish there. Single operations in this
/// order give host and device the same bits.
#[inline(always)]
pub fn kernel_weight(law: u32, squared: f64, nearest: f64, bandwidth: f64) -> f64 {
    const HALF_LOG2_E: f64 = 0.5 * core::f64::consts::LOG2_E;
    let share = squared / bandwidth;
    if law == FIRST_KERNEL + 6 {
        return Real::exp2((nearest - squared) / bandwidth * HALF_LOG2_E);
    }
    if share > 1.0 {
        return 0.0;
    }
    let rest = 1.0 - share;
    match law - FIRST_KERNEL {
        0 => 1.0,
        1 => 1.0 - math::sqrt(share),
        2 => rest,
        3 => rest * rest,
        4 => rest * rest * rest,
        _ => {
            let rest = 1.0 - share * math::sqrt(share);
            rest * rest * rest
        }
    }
}
