//! The products of the gradient over a cell's 3 x 3 neighbourhood: slope, aspect and brightness.
//!
//! The host calls these functions, too: they are f32 operations in a stated order, each correctly rounded, so host and
//! device give the same bits. Heights are subtracted before anything else, so that nothing is lost on high ground.

use device_std::math;

use super::kind::{Kind, Product};
use super::scales::Scale;

/// How a gradient is taken: sums of differences of heights, to the east and to the south.
pub trait Gradient: Copy {
    /// Whether it is Horn's.
    const IS_HORN: bool;
    /// The number of distances between cells that a sum counts: the rise over a cell is the sum divided by this.
    const WEIGHT: f64;

    /// The sums for a neighbourhood, which is row-major from the north-west.
    fn sums(n: &[f32; 9]) -> [f32; 2];
}

/// Horn's (1981): weighted differences over all eight neighbours.
#[derive(Clone, Copy)]
pub struct Horn;

/// Zevenbergen and Thorne's (1987): differences over the four neighbours beside the cell.
#[derive(Clone, Copy)]
pub struct ZevenbergenThorne;

impl Gradient for Horn {
    const IS_HORN: bool = true;
    const WEIGHT: f64 = 8.0;

    #[inline(always)]
    fn sums(n: &[f32; 9]) -> [f32; 2] {
        let twice = |a: f32| a + a;
        let east = ((n[2] - n[0]) + (n[8] - n[6])) + twice(n[5] - n[3]);
        let south = ((n[6] - n[0]) + (n[8] - n[2])) + twice(n[7] - n[1]);
        [east, south]
    }
}

impl Gradient for ZevenbergenThorne {
    const IS_HORN: bool = false;
    const WEIGHT: f64 = 2.0;

    #[inline(always)]
    fn sums(n: &[f32; 9]) -> [f32; 2] {
        [n[5] - n[3], n[7] - n[1]]
    }
}

/// A product of a gradient.
pub trait OfGradient: Copy {
    /// Its kind.
    const KIND: Kind;
    /// Whether it depends on the gradient's direction. If not, it may be infinite, or vertical, where a square overflows.
    const HAS_DIRECTION: bool = true;

    /// The product, from the sums of the differences of heights to the east and to the south, as for square cells.
    fn of(east: f32, south: f32, scale: &Scale) -> f32;
}

/// The product `P` of the gradient `G`.
#[derive(Clone, Copy)]
pub struct Of<G, P>(core::marker::PhantomData<(G, P)>);

impl<G: Gradient, P: OfGradient> Product for Of<G, P> {
    const KIND: Kind = P::KIND;
    const IS_HORN: bool = G::IS_HORN;
    const HAS_SIZE: bool = P::HAS_DIRECTION;

    #[inline(always)]
    fn of(n: &[f32; 9], scale: &Scale) -> (f32, bool) {
        let [east, south] = G::sums(n);
        (P::of(east * scale.ratio, south, scale), Self::is_known(n, east + south))
    }

    #[inline(always)]
    fn size(n: &[f32; 9], scale: &Scale) -> f32 {
        let [east, south] = G::sums(n);
        let east = east * scale.ratio;
        east * east + south * south
    }

    #[inline(always)]
    fn of_any(n: &[f32; 9], scale: &Scale) -> (f32, bool) {
        if !is_beyond(Self::size(n, scale), scale) {
            return Self::of(n, scale);
        }
        let [east, south] = G::sums(n);
        let ([small_east, small_south], own) = normalised::<G>(n, scale);
        (P::of(small_east, small_south, &own), Self::is_known(n, east + south))
    }
}

impl<G: Gradient, P> Of<G, P> {
    /// Whether no height is NaN, by the sum of the sums.
    #[inline(always)]
    fn is_known(n: &[f32; 9], sum: f32) -> bool {
        // A neighbour that the sums leave out must still be known.
        let corners = if G::IS_HORN { 0.0 } else { (n[0] + n[2]) + (n[6] + n[8]) };
        !(sum + n[4] + corners).is_nan()
    }
}

/// If neither the squared sums nor the squared slope are above it, no product overflows.
const MOST: f32 = 1e24;

/// Whether a product with this [`Product::size`] needs [`Product::of_any`].
#[inline(always)]
pub fn is_beyond(size: f32, scale: &Scale) -> bool {
    size * f32::max(1.0, scale.factor) > MOST
}

/// The height up to which, above and below 0, no neighbourhood [is beyond](is_beyond).
pub fn ordinary_height(scale: &Scale) -> f32 {
    // A sum is at most 8 times the largest height.
    let squared = 64.0 * (1.0 + scale.ratio * scale.ratio) * f32::max(1.0, scale.factor);
    math::sqrt_f32(0.99 * MOST / squared)
}

/// The sums of a neighbourhood, divided by a power of two so that the larger is about 1, and the scale that makes up
/// for it. If the slope is above 2^40, it becomes about 2^40: no product tells either from a vertical one.
#[inline(always)]
#[allow(clippy::manual_clamp)] // `clamp` may panic, which device code must not
fn normalised<G: Gradient>(n: &[f32; 9], scale: &Scale) -> ([f32; 2], Scale) {
    const EXPONENT: u32 = 0x7f80_0000;
    // 2^126, whose reciprocal is a normal number.
    const LARGEST: u32 = 0x7e80_0000;
    let power_of_two = |exponent: i32| f32::from_bits(((127 + exponent) as u32) << 23);
    let mut small = *n;
    let mut i = 0;
    while i < 9 {
        // Infinite heights count as the largest.
        small[i] = f32::min(f32::MAX, f32::max(-f32::MAX, n[i])) * power_of_two(-32);
        i += 1;
    }
    let [east, south] = G::sums(&small);
    let east = f32::min(f32::MAX, f32::max(-f32::MAX, east * scale.ratio));
    let larger = f32::max(f32::abs(east), f32::abs(south)).to_bits() & EXPONENT;
    let larger = u32::min(larger, LARGEST);
    let divided = f32::from_bits(2 * power_of_two(0).to_bits() - larger);
    let factor = f32::min(
        f32::from_bits(larger) * power_of_two(32),
        power_of_two(39) * twice_reciprocal_sqrt(scale.factor),
    );
    let scale = Scale {
        factor: (scale.factor * factor) * factor,
        light: [scale.light[0] * factor, scale.light[1] * factor],
        ..*scale
    };
    ([east * divided, south * divided], scale)
}

/// The slope as an angle in degrees, within 1e-6 of itself.
#[derive(Clone, Copy)]
pub struct Degrees;

/// The slope as rise over run, in percent.
#[derive(Clone, Copy)]
pub struct Percent;

/// The direction in which the ground falls, in degrees from 0 to below 360, within 1e-6 of itself: clockwise from
/// north. On level ground it is [`Scale::constant`].
#[derive(Clone, Copy)]
pub struct Azimuth;

/// The same counter-clockwise from east.
#[derive(Clone, Copy)]
pub struct Trigonometric;

/// Lambert's brightness, from 0 to 1, within 1e-6. The vector to the light is [`Scale::light`], east and south, and
/// [`Scale::constant`], up.
#[derive(Clone, Copy)]
pub struct Shade;

/// The mean of the brightness under lights in the south-west, west, north-west and north, within 2e-6. A light's weight
/// is the square of the gradient's part along it. [`Scale::light`] is the horizontal part of the vector to a light, and
/// that part times the cosine of 45 degrees; [`Scale::constant`] is the vertical part.
#[derive(Clone, Copy)]
pub struct Multidirectional;

/// A brightness that is less on steep ground, and where the light does not fall at a right angle. It is 1 less the
/// product of the slope and of the angle between the light and the normal, each over 90 degrees, within 1e-6; never
/// below 0. The scale is as for [`Shade`].
#[derive(Clone, Copy)]
pub struct Combined;

/// A brightness that is less on steep ground that falls away from the light, within 1e-6. Let d be the angle between
/// the aspect and the direction from the light, over 180 degrees. The brightness is 1 less the product of the slope
/// over 90 degrees and of 1 - d. [`Scale::constant`] is the direction, counter-clockwise from east in degrees, from 0
/// to below 360.
#[derive(Clone, Copy)]
pub struct Igor;

impl OfGradient for Degrees {
    const KIND: Kind = Kind::Degrees;
    const HAS_DIRECTION: bool = false;

    #[inline(always)]
    fn of(east: f32, south: f32, scale: &Scale) -> f32 {
        degrees_of_squared((east * east + south * south) * scale.factor)
    }
}

impl OfGradient for Percent {
    const KIND: Kind = Kind::Percent;
    const HAS_DIRECTION: bool = false;

    #[inline(always)]
    fn of(east: f32, south: f32, scale: &Scale) -> f32 {
        100.0 * math::sqrt_f32((east * east + south * south) * scale.factor)
    }
}

impl OfGradient for Azimuth {
    const KIND: Kind = Kind::Azimuth;

    #[inline(always)]
    fn of(east: f32, south: f32, scale: &Scale) -> f32 {
        direction(south, -east, scale.constant)
    }
}

impl OfGradient for Trigonometric {
    const KIND: Kind = Kind::Trigonometric;

    #[inline(always)]
    fn of(east: f32, south: f32, scale: &Scale) -> f32 {
        direction(-east, south, scale.constant)
    }
}

impl OfGradient for Shade {
    const KIND: Kind = Kind::Shade;

    #[inline(always)]
    fn of(east: f32, south: f32, scale: &Scale) -> f32 {
        let ([x, y], up) = (scale.light, scale.constant);
        let towards = up - (east * x + south * y);
        let squared = 1.0 + (east * east + south * south) * scale.factor;
        within_0_and_1((0.5 * towards) * twice_reciprocal_sqrt(squared))
    }
}

impl OfGradient for Multidirectional {
    const KIND: Kind = Kind::Multidirectional;

    #[inline(always)]
    fn of(east: f32, south: f32, scale: &Scale) -> f32 {
        let ([straight, diagonal], up) = (scale.light, scale.constant);
        let lit = |towards: f32| f32::max(0.0, up + towards);
        let (squared_east, squared_south) = (east * east, south * south);
        let squared = squared_east + squared_south;
        let (half, product) = (0.5 * squared, east * south);
        let south_west = (half - product) * lit((east - south) * diagonal);
        let north_west = (half + product) * lit((east + south) * diagonal);
        let west = squared_east * lit(east * straight);
        let north = squared_south * lit(south * straight);
        let sum = (south_west + north_west) + (west + north);
        // The weights add up to twice the square.
        let mean = 0.25 * (sum / squared) * twice_reciprocal_sqrt(1.0 + squared * scale.factor);
        within_0_and_1(if squared > 0.0 { mean } else { up })
    }
}

impl OfGradient for Combined {
    const KIND: Kind = Kind::Combined;

    #[inline(always)]
    fn of(east: f32, south: f32, scale: &Scale) -> f32 {
        let squared = (east * east + south * south) * scale.factor;
        // The normal is (-e, -s, 1), the light is (x, y, up). Both products make the angle exact even if it is small.
        let rise = math::sqrt_f32(scale.factor);
        let ([x, y], up) = ([scale.light[0] / rise, scale.light[1] / rise], scale.constant);
        let (e, s) = (east * rise, south * rise);
        let across = [s * up + y, e * up + x, s * x - e * y];
        let across = (across[0] * across[0] + across[1] * across[1]) + across[2] * across[2];
        let angle = direction(up - (e * x + s * y), math::sqrt_f32(across), 90.0);
        let brightness = 1.0 - angle * (degrees_of_squared(squared) * (1.0 / 8100.0));
        within_0_and_1(if squared > 0.0 { brightness } else { 1.0 })
    }
}

impl OfGradient for Igor {
    const KIND: Kind = Kind::Igor;

    #[inline(always)]
    fn of(east: f32, south: f32, scale: &Scale) -> f32 {
        let slope = degrees_of_squared((east * east + south * south) * scale.factor);
        let away = f32::abs(direction(-east, south, 0.0) - scale.constant);
        let away = if away > 180.0 { 360.0 - away } else { away };
        1.0 - (slope * (1.0 / 90.0)) * (1.0 - away * (1.0 / 180.0))
    }
}

/// A brightness clamped to 0 to 1; 0 for NaN.
#[inline(always)]
#[allow(clippy::manual_clamp)] // `clamp` may panic, which device code must not
fn within_0_and_1(brightness: f32) -> f32 {
    f32::min(1.0, f32::max(0.0, brightness))
}

/// The angle of the vector `(along, across)` in degrees, from 0 to below 360: 0 if it points along, 90 if it points
/// across. `flat` if both are 0 or both infinite.
#[inline(always)]
fn direction(along: f32, across: f32, flat: f32) -> f32 {
    let (a, b) = (f32::abs(along), f32::abs(across));
    let is_steep = b > a;
    let tangent = if is_steep { a / b } else { b / a };
    let angle = degrees_of_twice_tangent(tangent + tangent);
    let angle = if is_steep { 90.0 - angle } else { angle };
    let angle = if along < 0.0 { 180.0 - angle } else { angle };
    let angle = if across < 0.0 { 360.0 - angle } else { angle };
    // A direction less than a rounding error west of north is north.
    let angle = if angle >= 360.0 { 0.0 } else { angle };
    if tangent.is_nan() { flat } else { angle }
}

/// Twice the reciprocal of the square root, within 8e-7 of itself, and exact for 1; for a number beyond 1e38, as for
/// 1e38.
///
/// The GPU has an instruction for it, which the host lacks. This is the same on both: half the exponent by a shift, and
/// two steps of Newton's method. The constants of the first step are those of J. Kadlec, which leave an error of 7e-4.
#[inline(always)]
fn twice_reciprocal_sqrt(x: f32) -> f32 {
    let x = f32::min(x, 1e38);
    let y = f32::from_bits(0x5f1f_fff9_u32.wrapping_sub(x.to_bits() >> 1));
    let y = (y * 0.703_952_25) * (2.389_244_6 - (x * y) * y);
    y * (3.0 - (x * y) * y)
}

/// The angle whose tangent has this square, in degrees: up to 45 degrees from the tangent, beyond as 90 less the angle
/// of the cotangent.
#[inline(always)]
pub fn degrees_of_squared(squared: f32) -> f32 {
    let twice_cotangent = twice_reciprocal_sqrt(squared);
    let is_steep = squared > 1.0;
    let angle = degrees_of_twice_tangent(if is_steep {
        twice_cotangent
    } else {
        squared * twice_cotangent
    });
    if is_steep { 90.0 - angle } else { angle }
}

/// The angle, from 0 to 45 degrees, whose tangent is half of this.
///
/// A polynomial in the square of the tangent by Remez' method: its relative error is below 1e-7.
#[inline(always)]
fn degrees_of_twice_tangent(t: f32) -> f32 {
    /// The coefficients of the arc tangent over the tangent, lowest power first.
    const ARC_TANGENT: [f64; 8] = [
        0.9999999009903499,
        -0.33331990746481266,
        0.19969723900164751,
        -0.1401948092241485,
        0.09914292856776338,
        -0.05948639345657555,
        0.024252403279073104,
        -0.00469327605784631,
    ];
    /// The same coefficients in degrees, for twice the tangent.
    const OF_TWICE: [f32; 8] = {
        let mut scaled = [0.0; 8];
        let mut scale = 90.0 / core::f64::consts::PI;
        let mut k = 0;
        while k < 8 {
            scaled[k] = (ARC_TANGENT[k] * scale) as f32;
            scale /= 4.0;
            k += 1;
        }
        scaled
    };
    let square = t * t;
    let mut sum = OF_TWICE[7];
    let mut k = 7;
    while k > 0 {
        k -= 1;
        sum = sum * square + OF_TWICE[k];
    }
    sum * t
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_are_those_of_the_arc_tangent() {
        let mut worst = 0.0f64;
        for i in 0..400_000 {
            let tangent = (f64::from(i) * 1e-4).powi(3);
            let squared = (tangent * tangent) as f32;
            let expected = f64::from(squared).sqrt().atan().to_degrees();
            let error = (f64::from(degrees_of_squared(squared)) - expected).abs();
            worst = worst.max(error / expected.max(1e-15));
        }
        assert!(worst <= 1e-6, "{worst}");
        assert_eq!(degrees_of_squared(0.0), 0.0);
        assert_eq!(degrees_of_squared(f32::INFINITY), 90.0);
    }

    #[test]
    fn directions_are_those_of_the_arc_tangent() {
        for i in 0..36_000 {
            let expected = f64::from(i) * 0.01;
            let (sine, cosine) = expected.to_radians().sin_cos();
            let (along, across) = ((7.0 * cosine) as f32, (7.0 * sine) as f32);
            let exact = f64::from(across).atan2(f64::from(along)).to_degrees().rem_euclid(360.0);
            let found = f64::from(direction(along, across, -1.0));
            assert!((found - exact).abs() <= 3e-5, "{expected}: {found}");
        }
        for (along, across, expected) in
            [(1.0, 0.0, 0.0), (0.0, 2.0, 90.0), (-3.0, 0.0, 180.0), (0.0, -1.0, 270.0)]
        {
            assert_eq!(direction(along, across, -1.0), expected);
        }
        assert_eq!(direction(1.0, -1e-9, -1.0), 0.0);
        for (along, across) in [(0.0, -0.0), (f32::INFINITY, f32::NEG_INFINITY)] {
            assert_eq!(direction(along, across, -1.0), -1.0);
        }
    }

    #[test]
    fn reciprocal_roots_are_close() {
        let mut worst = 0.0f64;
        for i in 0..1_000_000 {
            let x = (f64::from(i) * 2e-5 - 4.0).exp2() as f32;
            let error = f64::from(twice_reciprocal_sqrt(x)) / 2.0 * f64::from(x).sqrt() - 1.0;
            worst = worst.max(error.abs());
        }
        assert!(worst <= 8e-7, "{worst}");
        assert_eq!(twice_reciprocal_sqrt(1.0), 2.0);
    }
}
