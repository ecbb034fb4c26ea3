//! From points to sites sorted by cells: what host and device do alike.

use super::crowds::{self, CODE_BITS};
use crate::spatial::cells::Cells;

/// Bits of a key that tell apart the places within a cell: the [code](crowds::code) of its part, and a number made from the
/// place.
pub const PLACE_BITS: u32 = 32;

/// The most cells: a key has 64 bits.
pub const MOST_CELLS: u64 = 1 << 28;

/// The key by which a point is sorted: its cell, the part of that, and a number that is the same for points at the same
/// place, and hardly ever for others.
#[inline(always)]
pub fn key(cells: &Cells, x: f64, y: f64) -> u64 {
    let [column, row] = [cells.column(x), cells.row(y)];
    let (cell, code) = (row * cells.columns + column, crowds::code(cells, [column, row], [x, y]));
    // Adding 0 makes one zero of two.
    let (x, y) = ((x + 0.0).to_bits(), (y + 0.0).to_bits());
    let mixed = (x ^ y.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let place = (code as u64) << (PLACE_BITS - CODE_BITS) | mixed >> (64 - PLACE_BITS + CODE_BITS);
    (cell as u64) << PLACE_BITS | place
}

/// How far a point may lie from the middle of the DEM, 2^230. Products of four lengths then have no more than 2^1000.
pub const FARTHEST: f64 = (1u128 << 115) as f64 * (1u128 << 115) as f64;

/// Where a point counts that lies farther than [`FARTHEST`] from a middle: on the way there, at between half of that
/// and that. What is not farther, or no number, counts where it is.
///
/// A point at a distance D takes a part of about R / D of the weight, where R is the distance of the nearest one. Where
/// R is 2^202 at most, both D and the distance drawn in leave less than an `f32` tells.
#[inline(always)]
pub fn drawn_in([x, y]: [f64; 2], middle: [f64; 2]) -> [f64; 2] {
    // A quarter of the way: differences of any two numbers are numbers.
    let way = [x * 0.25 - middle[0] * 0.25, y * 0.25 - middle[1] * 0.25];
    let far = f64::max(way[0].abs(), way[1].abs());
    if !(far > FARTHEST * 0.25 && far < f64::INFINITY) {
        return [x, y];
    }
    let power_of_two = f64::from_bits(far.to_bits() & f64::INFINITY.to_bits());
    let scale = FARTHEST * 0.5 / power_of_two;
    [middle[0] + way[0] * scale, middle[1] + way[1] * scale]
}

/// Points in the order of their keys.
#[derive(Clone, Copy)]
pub struct Sorted<K, O, P> {
    /// How many.
    pub len: usize,
    /// The keys, sorted.
    pub key: K,
    /// Which point each is; points of a key in the order in which they were given.
    pub point: O,
    /// The place of a point.
    pub place: P,
}

impl<K: Fn(usize) -> u64, O: Fn(usize) -> usize, P: Fn(usize) -> [f64; 2]> Sorted<K, O, P> {
    #[inline(always)]
    fn is_same_place(&self, i: usize, j: usize) -> bool {
        let (a, b) = ((self.place)((self.point)(i)), (self.place)((self.point)(j)));
        a[0] == b[0] && a[1] == b[1]
    }

    /// Whether element `i` is the first at its place.
    #[inline(always)]
    pub fn is_first(&self, i: usize) -> bool {
        let key = (self.key)(i);
        let mut j = i;
        while j > 0 && (self.key)(j - 1) == key {
            j -= 1;
            if self.is_same_place(j, i) {
                return false;
            }
        }
        true
    }

    /// Calls `visit` for the points at the place of element `i`, which is the first there, in the order in
    /// which they were given.
    #[inline(always)]
    pub fn each_at(&self, i: usize, mut visit: impl FnMut(usize)) {
        let key = (self.key)(i);
        let mut j = i;
        while j < self.len && (self.key)(j) == key {
            if self.is_same_place(j, i) {
                visit((self.point)(j));
            }
            j += 1;
        }
    }

    /// The first element of a cell or a later one.
    #[inline(always)]
    pub fn first_of(&self, cell: u64) -> usize {
        let (mut first, mut end) = (0, self.len);
        while first < end {
            let middle = first + (end - first) / 2;
            if (self.key)(middle) >> PLACE_BITS < cell {
                first = middle + 1;
            } else {
                end = middle;
            }
        }
        first
    }
}

/// The values of several points at one place, merged by a policy of [`rasterise`](crate::nni::rasterise).
#[derive(Clone, Copy)]
pub struct Merge {
    policy: u32,
    merged: i64,
    count: u32,
}

impl Merge {
    /// No point yet.
    #[inline(always)]
    pub fn new(policy: u32) -> Self {
        Self { policy, merged: 0, count: 0 }
    }

    /// Adds the next point's value.
    #[inline(always)]
    pub fn add(&mut self, value: i32) {
        use crate::nni::rasterise::{FIRST, MAX, MEAN, MIN};
        let (old, value) = (self.merged, value as i64);
        self.merged = match self.policy {
            _ if self.count == 0 => value,
            MEAN => old + value,
            MIN => i64::min(old, value),
            MAX => i64::max(old, value),
            FIRST => old,
            _ => value,
        };
        self.count += 1;
    }

    /// The value of the site.
    #[inline(always)]
    pub fn value(self) -> i32 {
        use crate::nni::rasterise::{MEAN, rounded_mean};
        if self.policy == MEAN && self.count > 1 {
            return rounded_mean(self.merged, self.count);
        }
        self.merged as i32
    }
}
