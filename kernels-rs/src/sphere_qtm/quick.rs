//! From a place to its cell by a third of the operations of [`super::locate`], if the result is certain to be the same.
//!
//! 1. Sines and cosines come from short polynomials, and their symmetry gives the weights of a place in its octant.
//! 2. On the first levels, a table has the factors of the weights ([`FACTORS`]).
//! 3. The cosine of half an edge differs from 1 by a quarter of its parent's difference. On the first level after the
//!    table, terms with the squares of these differences are added.
//! 4. Below some level (`curved_levels`) cells are taken as flat. Then the digits of all deeper levels follow from the
//!    bits of the weights, as shares of their sum.
//!
//! Each step has a small error; all together they are bounded by some share of the last cell's height. A place nearer
//! than that to an edge of its cell is not certain. Neither is one as near to an edge of an ancestor, for that is an
//! edge of the cell, too.

use device_std::math;

use super::locate;
use super::triangle::Vector;
use crate::spatial::morton;

/// Levels of an octant's cells that have factors in the table.
pub const TABLED: u32 = 5;

/// The cells of an octant from level 1 to `TABLED`: the table has three factors for each.
pub const FACTORS: u32 = 1364;

/// The cells of level `TABLED` alone: the table has the differences of their cosines from 1.
pub const DEPTHS: u32 = 1024;

/// 1.5 times 2^52: if a small number is added, the sum is rounded to an integer, and its lowest bits are that integer.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// The tables, wherever they lie.
pub trait Table {
    /// The factors of a cell's weights, by its number among those of [`FACTORS`].
    fn factors(&self, number: u32) -> Vector;
    /// The differences from 1 of the cosines of half the edges, for a cell of level `TABLED` of an octant.
    fn depths(&self, index: u32) -> [f32; 3];
}

/// The table's factors for a cell, by its number.
#[inline(always)]
pub fn factors(number: u32) -> Vector {
    let (mut level, mut index) = (1, number);
    while index >= 1 << (2 * level) {
        index -= 1 << (2 * level);
        level += 1;
    }
    let [p, q, r] = locate::cosines(level - 1, index >> 2);
    match index & 3 {
        0 => [-p, -q, -r],
        1 => [1.0, 2.0 * r, 2.0 * q],
        2 => [2.0 * r, 1.0, 2.0 * p],
        _ => [2.0 * q, 2.0 * p, 1.0],
    }
}

/// The table's cosine differences for a cell of level `TABLED`.
#[inline(always)]
pub fn depths(index: u32) -> [f32; 3] {
    locate::cosines(TABLED, index).map(|cosine| (1.0 - cosine) as f32)
}

/// A place in an octant.
#[derive(Clone, Copy)]
pub struct Start {
    /// The octant.
    pub octant: u32,
    /// The weights of its vertices, up to a common factor.
    pub weights: Vector,
}

impl Start {
    /// From degrees on the globe.
    #[inline(always)]
    pub fn of_degrees(longitude: f64, latitude: f64) -> Self {
        // Quarter turns, from the middle of the octant.
        let turns = longitude * (1.0 / 90.0) - 0.5;
        let rounded = turns + ROUND;
        let across = turns - (rounded - ROUND);
        let is_south = latitude < 0.0;
        let up = (if is_south { -latitude } else { latitude }) * (1.0 / 90.0) - 0.5;
        let ([sin_up, cos_up], [sin_across, cos_across]) = (sine_cosine(up), sine_cosine(across));
        // From the octant's middle to its edge is an eighth of a turn, whose sine and cosine are the same.
        let flat = cos_up - sin_up;
        let weights = [
            core::f64::consts::SQRT_2 * (cos_up + sin_up),
            flat * (cos_across - sin_across),
            flat * (cos_across + sin_across),
        ];
        let octant = (rounded.to_bits() as u32 & 3) + if is_south { 4 } else { 0 };
        Self { octant, weights }
    }

    /// From a direction.
    #[inline(always)]
    pub fn of_direction(direction: Vector) -> Self {
        let (octant, weights) = locate::in_octant(direction);
        Self { octant, weights }
    }

    /// The place of the cell in its level, if it is certain.
    #[inline(always)]
    pub fn locate(&self, level: u32, table: &impl Table) -> Option<u64> {
        let (mut way, mut before, mut step) = (Way::new(self.weights), 0, 0);
        let curved = curved_levels(level);
        while step < u32::min(curved, TABLED) {
            way = way.down().multiplied(before, table);
            before = 4 * before + 4;
            step += 1;
        }
        way.depths = if step < curved { table.depths(way.index) } else { [0.0; 3] };
        while step < curved {
            way = way.curved(step == TABLED);
            step += 1;
        }
        let (index, is_certain) = way.flat(self.octant, level, curved);
        if is_certain { Some(index) } else { None }
    }
}

/// A place during the descent from an octant.
#[derive(Clone, Copy)]
pub struct Way {
    /// The weights of the present cell's vertices, up to a common factor.
    pub weights: Vector,
    /// The present cell, by its index in the octant.
    pub index: u32,
    /// Below the tabled levels, the differences from 1 of the cosines of half the edges.
    pub depths: [f32; 3],
}

impl Way {
    /// At the octant.
    #[inline(always)]
    pub fn new(weights: Vector) -> Self {
        Self { weights, index: 0, depths: [0.0; 3] }
    }

    /// A level down, but without the factors of the child.
    #[inline(always)]
    pub fn down(self) -> Self {
        let child = Child::of(self.weights);
        let index = self.index << 2 | child.digit();
        Self { weights: child.bases(self.weights, 1.0), index, ..self }
    }

    /// Multiplies the weights by the factors of the present cell, which a table has; `before` cells of the levels above
    /// come first there.
    #[inline(always)]
    pub fn multiplied(self, before: u32, table: &impl Table) -> Self {
        let ([u, v, w], [by_u, by_v, by_w]) = (self.weights, table.factors(before + self.index));
        Self { weights: [u * by_u, v * by_v, w * by_w], ..self }
    }

    /// A level down, by the differences of the cosines.
    #[inline(always)]
    pub fn curved(self, is_first: bool) -> Self {
        let child = Child::of(self.weights);
        let index = self.index << 2 | child.digit();
        let (base, own) = (child.bases(self.weights, 2.0), child.depths(self.depths));
        let by = |k: usize| {
            let product = math::mul_add_relaxed(-(own[k] as f64), base[k], base[k]);
            choose(child.middle, -product, product)
        };
        let weights = [by(0), by(1), by(2)];
        // On the first of these levels the squares are no less than the error of the flat levels.
        let depths = match is_first {
            true => child.finer(self.depths),
            false => self.depths.map(|depth| 0.25 * depth),
        };
        Self { weights, index, depths }
    }

    /// The remaining levels, through flat cells: the index of the cell in its level, and whether it is certain.
    #[inline(always)]
    pub fn flat(self, octant: u32, level: u32, curved: u32) -> (u64, bool) {
        let [p, q, r] = self.depths;
        let deepest = f32::max(p, f32::max(q, r));
        let rest = level - curved;
        let error = error(level, curved, deepest);
        let (digits, is_certain) = flat_levels(self.weights, rest, error);
        let curved_part = (octant as u64) << (2 * curved) | self.index as u64;
        (curved_part << (2 * rest) | digits as u64, is_certain)
    }
}

/// How many of `level` levels are divided as curved. The levels below err by the square of a cell's size, which halves
/// on each level.
#[inline(always)]
pub fn curved_levels(level: u32) -> u32 {
    u32::min(level, (level + 12) / 3)
}

/// A bound of the error of the last cell's weights, as shares.
///
/// Rounding and polynomials add less than 1e-13 of the globe. Cosines by quarters add less than 1.5e-8 of a cell of
/// level 8, the first for which they are used. Flatness adds the difference from 1 of the cosines of the first flat
/// level.
#[inline(always)]
fn error(level: u32, curved: u32, deepest: f32) -> f64 {
    let power = |exponent: u32| (1u64 << exponent) as f64;
    let by_quarters = if curved > TABLED { 1.5e-8 / 256.0 } else { 0.0 };
    power(level) * (1e-13 + by_quarters) + power(level - curved) * deepest as f64
}

/// Sine and cosine of a number of quarter turns, at most a half, within 3e-14.
#[inline(always)]
fn sine_cosine(turns: f64) -> [f64; 2] {
    let angle = turns * core::f64::consts::FRAC_PI_2;
    let square = angle * angle;
    // Taylor's series, the last terms first: of angle^13 / 13!, and of angle^14 / 14!.
    let (mut sine, mut cosine) = (1.0 / 6_227_020_800.0, -1.0 / 87_178_291_200.0);
    let sines = [-1.0 / 39_916_800.0, 1.0 / 362_880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0, 1.0];
    let cosines =
        [1.0 / 479_001_600.0, -1.0 / 3_628_800.0, 1.0 / 40_320.0, -1.0 / 720.0, 1.0 / 24.0, -0.5];
    let mut k = 0;
    while k < 6 {
        sine = math::mul_add_relaxed(sine, square, sines[k]);
        cosine = math::mul_add_relaxed(cosine, square, cosines[k]);
        k += 1;
    }
    [angle * sine, math::mul_add_relaxed(cosine, square, 1.0)]
}

/// Which child a place is in, as flags, so that results are selected without a branch.
#[derive(Clone, Copy)]
struct Child {
    /// At which corner.
    at: [bool; 3],
    /// In the middle.
    middle: bool,
    /// By how much each weight exceeds the sum of the two others.
    excess: Vector,
}

#[inline(always)]
fn choose<T: Copy>(condition: bool, a: T, b: T) -> T {
    if condition { a } else { b }
}

impl Child {
    #[inline(always)]
    fn of([u, v, w]: Vector) -> Self {
        let excess = [u - (v + w), v - (w + u), w - (u + v)];
        let (at_u, above_v, above_w) = (excess[0] > 0.0, excess[1] > 0.0, excess[2] > 0.0);
        // A weight that rounding made negative can make two excesses positive, but must not make two digits.
        let at = [at_u, above_v & !at_u, above_w & !(at_u | above_v)];
        Self { at, middle: !(at_u | above_v | above_w), excess }
    }

    #[inline(always)]
    fn digit(&self) -> u32 {
        self.at[0] as u32 | (self.at[1] as u32) << 1 | (self.at[2] as u32 * 3)
    }

    /// Each weight in the child, up to a factor. At a corner the corner's weight is its excess, and the others are
    /// multiplied by `scale`; in the middle the weights are the excesses.
    #[inline(always)]
    fn bases(&self, [u, v, w]: Vector, scale: f64) -> Vector {
        let base =
            |k: usize, own: f64| choose(self.at[k] | self.middle, self.excess[k], scale * own);
        [base(0, u), base(1, v), base(2, w)]
    }

    /// The difference from 1 of the cosine that each weight is multiplied by. In the middle that is the cosine of the
    /// opposite edge. At a corner the corner's weight has none (0), and each other weight has that of its edge to the
    /// corner.
    #[inline(always)]
    fn depths(&self, [p, q, r]: [f32; 3]) -> [f32; 3] {
        let of = |opposite, zero, one, two| {
            let at_corner = choose(self.at[0], zero, choose(self.at[1], one, two));
            choose(self.middle, opposite, at_corner)
        };
        [of(p, 0.0, r, q), of(q, r, 0.0, p), of(r, q, p, 0.0)]
    }

    /// The differences from 1 of the child's cosines, to the second order in those of its parent: [`super::locate`] has
    /// the exact formula.
    #[inline(always)]
    fn finer(&self, [p, q, r]: [f32; 3]) -> [f32; 3] {
        let inner = 0.5 * (p * p + q * q + r * r) - (p * q + q * r + r * p);
        let half = |k: usize, own: f32| {
            let own_or_inner = choose(self.at[k] | self.middle, own - inner, own);
            0.25 * own_or_inner + own * own * (1.0 / 32.0)
        };
        [half(0, p), half(1, q), half(2, r)]
    }
}

/// The digits of `levels` flat levels, at most 16. They are certain if all weights whose shares differ from these by at
/// most `error` have the same digits.
///
/// In a flat triangle the three shares sum to 1. If the triangle stands like its ancestor, at most one share has its
/// bit of the level set. That share names the corner; if none is set, the child is the middle one. The middle child
/// stands on its head, where bits are inverted. So a triangle stands on its head exactly if the three bits of the level
/// above sum to an even number.
#[inline(always)]
fn flat_levels([u, v, w]: Vector, levels: u32, error: f64) -> (u32, bool) {
    let scale = (1u32 << levels) as f64 / (u + v + w);
    let (u, v, w) = (Share::of(u * scale), Share::of(v * scale), Share::of(w * scale));
    // False for NaN.
    let is_certain = (u.apart > error) & (v.apart > error) & (w.apart > error);
    let odd = u.whole ^ v.whole ^ w.whole;
    let all = (1u32 << levels) - 1;
    let on_head = (!odd & all) >> 1;
    let (u, v, w) = (u.whole ^ on_head, v.whole ^ on_head, w.whole ^ on_head);
    (morton::encode32((u | w) as u16, (v | w) as u16), is_certain)
}

/// A number that is not negative.
#[derive(Clone, Copy)]
struct Share {
    /// The integer below it.
    whole: u32,
    /// Its distance from the nearest integer.
    apart: f64,
}

impl Share {
    #[inline(always)]
    fn of(x: f64) -> Self {
        let rounded = x + ROUND;
        let rest = x - (rounded - ROUND);
        let is_above = rest < 0.0;
        Self {
            whole: (rounded.to_bits() as u32).wrapping_sub(is_above as u32),
            apart: if is_above { -rest } else { rest },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Tabled {
        factors: Vec<Vector>,
        depths: Vec<[f32; 3]>,
    }

    impl Table for Tabled {
        fn factors(&self, number: u32) -> Vector {
            self.factors[number as usize]
        }

        fn depths(&self, index: u32) -> [f32; 3] {
            self.depths[index as usize]
        }
    }

    /// splitmix64, as numbers from 0 to 1.
    struct Numbers(u64);

    impl Numbers {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ z >> 31) >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    #[test]
    fn what_is_certain_is_what_the_long_way_finds() {
        let table = Tabled {
            factors: (0..FACTORS).map(factors).collect(),
            depths: (0..DEPTHS).map(depths).collect(),
        };
        let mut numbers = Numbers(1);
        for level in 0..=29 {
            let (all, mut certain) = (60_000, 0);
            for i in 0..all {
                let longitude = 720.0 * numbers.next() - 360.0;
                let mut latitude = (2.0 * numbers.next() - 1.0).asin().to_degrees();
                if i % 50 == 0 {
                    // Near the equator and the meridians of octants, and near the poles.
                    latitude =
                        if i % 100 == 0 { 1e-9 * latitude } else { 90.0 - 1e-7 * latitude.abs() };
                }
                let expected = locate::locate_degrees(longitude, latitude, level);
                let vector = crate::spatial::sphere::unit_vector(longitude, latitude);
                for start in [Start::of_degrees(longitude, latitude), Start::of_direction(vector)] {
                    if let Some(found) = start.locate(level, &table) {
                        assert_eq!(found, expected, "({longitude}, {latitude}) at level {level}");
                        certain += 1;
                    }
                }
            }
            println!("level {level}: {} of {} certain", certain, 2 * all);
            // The deepest levels are finer than the error of the cosines.
            let percent = if level <= 26 { 93 } else { 75 };
            assert!(certain > 2 * all * percent / 100, "level {level}: {certain} of {}", 2 * all);
        }
    }

    #[test]
    fn what_lies_on_edges_and_has_no_direction_is_not_certain() {
        let table = Tabled {
            factors: (0..FACTORS).map(factors).collect(),
            depths: (0..DEPTHS).map(depths).collect(),
        };
        for level in [0, 1, 7, 20] {
            for (lon, lat) in [
                (0.0, 10.0),
                (360.0, 5.0),
                (-360.0, 1.0),
                (270.0, 1e-300),
                (-90.0, -3.0),
                (90.0, 45.0),
                (-90.0, -45.0),
                (180.0, 0.0),
                (-180.0, -0.0),
                (12.0, 0.0),
                (3.0, 90.0),
                (0.0, -90.0),
            ] {
                let found = Start::of_degrees(lon, lat).locate(level, &table);
                assert_eq!(found, None, "({lon}, {lat}) at level {level}");
            }
            for vector in [[0.0; 3], [f64::NAN; 3], [1.0, f64::INFINITY, 2.0]] {
                assert_eq!(Start::of_direction(vector).locate(level, &table), None);
            }
        }
    }
}
