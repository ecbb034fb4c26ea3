//! Where points come along the curve.

use core::array;

use device_std::scalar::Scalar;
use device_std::{In, Out, arguments, atomic, kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::layout::FANOUT;
use crate::spatial::frame::Frame;
use crate::spatial::hilbert;
use crate::spatial::place::{Place, are_same};
use crate::spatial::sphere;

/// Levels of the curve over the bounds of the points. A code has twice as many bits, so 32: the sort takes four
/// passes over keys of 4 bytes, where 24 levels take six over keys of 8. If many points share
/// a cell, the build sorts again, along a curve of [`FINER_LEVELS`], and then by ranks.
pub const LEVELS: u32 = 16;

/// Levels of the finer curve, whose codes have 64 bits.
pub const FINER_LEVELS: u32 = 31;

/// Threads of a block.
const BLOCK: usize = 256;

/// Columns of coordinates.
#[arguments]
pub struct Places<'a, T> {
    /// x of each place.
    pub x: In<'a, T>,
    /// y of each place.
    pub y: In<'a, T>,
    /// z of each place, where places have one.
    pub z: Option<In<'a, T>>,
    /// How many.
    pub len: u32,
}

impl<T: Place> Places<'_, T> {
    /// A place.
    #[inline(always)]
    pub fn place<const D: usize>(&self, i: u64) -> [T; D] {
        array::from_fn(|axis| match (axis, self.z) {
            (0, _) => self.x.get(i),
            (2, Some(z)) => z.get(i),
            _ => self.y.get(i),
        })
    }
}

/// Where the curve lies: it runs through `2^LEVELS` columns and rows.
#[arguments]
pub struct Curve {
    /// The bounds that it covers: the least x and y, then the greatest.
    pub bounds: [f64; 4],
    /// Columns to a unit of x, and rows to a unit of y.
    pub per_unit: f64,
}

impl Curve {
    /// The curve over some bounds, which are finite and not farther apart than f64 can tell.
    pub fn over(bounds: [f64; 4]) -> Self {
        let [west, south, east, north] = bounds;
        let side = f64::max(east - west, north - south);
        // Of a side of no length every place is in the first cell, whatever the factor.
        Self { bounds, per_unit: f64::min((1u64 << LEVELS) as f64 / side, f64::MAX) }
    }

    /// The code of a place; a place outside has the code of the nearest cell.
    #[inline(always)]
    pub fn code(&self, x: f64, y: f64) -> u32 {
        let [west, south, ..] = self.bounds;
        let frame = Frame::new([west, south], [self.per_unit; 2], LEVELS);
        hilbert::number::<LEVELS>(frame.column(x), frame.row(y)) as u32
    }

    /// The column and the row of a place among those of the finer curve.
    #[inline(always)]
    pub fn finer_cell(&self, x: f64, y: f64) -> [u32; 2] {
        let [west, south, ..] = self.bounds;
        let finer = (1u64 << (FINER_LEVELS - LEVELS)) as f64;
        let per_unit = f64::min(self.per_unit * finer, f64::MAX);
        let frame = Frame::new([west, south], [per_unit; 2], FINER_LEVELS);
        [frame.column(x), frame.row(y)]
    }

    /// Whether a place lies within the bounds; NaN does not.
    #[inline(always)]
    pub fn holds(&self, x: f64, y: f64) -> bool {
        let [west, south, east, north] = self.bounds;
        x >= west && x <= east && y >= south && y <= north
    }
}

/// Writes the code of each place along the curve. `pairs`, if there, gets x and y side by side. `bad`, if there, gets
/// three indices: the lowest of an x that is not finite, of such a y, and of a place outside the bounds. Its elements are
/// above all indices before. Grid: a thread for each place.
///
/// # Safety
/// The columns have `len` elements, `codes` as many, `pairs` as many pairs, `bad` three elements.
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn find_codes<T: Place>(
    places: Places<'_, T>,
    curve: Curve,
    codes: Out<'_, u32>,
    pairs: Option<Out<'_, u64>>,
    bad: Option<Out<'_, i64>>,
) {
    let i = thread::index_1d();
    if i >= places.len as u64 {
        return;
    }
    let place = [places.x.get(i), places.y.get(i)];
    let [x, y] = place.map(Place::widened);
    codes.set(i, curve.code(x, y));
    if let Some(pairs) = pairs {
        T::store_pair(pairs, i, place);
    }
    let Some(bad) = bad else {
        return;
    };
    // SAFETY: `bad` has three elements, which are touched by atomics alone.
    unsafe {
        if !x.is_finite() {
            atomic::min_i64(bad.address(0, 1), i as i64);
        }
        if !y.is_finite() {
            atomic::min_i64(bad.address(1, 1), i as i64);
        }
        if !curve.holds(x, y) {
            atomic::min_i64(bad.address(2, 1), i as i64);
        }
    }
}

/// Writes the unit vectors of places on a map without a border, an octahedron unfolded to a square from -1 to 1: near places
/// have near codes. Grid: a thread for each vector.
///
/// # Safety
/// The columns have `len` elements, with z.
#[kernel(block = BLOCK)]
pub unsafe fn unfold_vectors(vectors: Places<'_, f64>, x: Out<'_, f64>, y: Out<'_, f64>) {
    let i = thread::index_1d();
    if i < vectors.len as u64 {
        let [u, v] = sphere::unfolded(vectors.place(i));
        x.set(i, u);
        y.set(i, v);
    }
}

/// Counts the points that lie elsewhere than the next one though both have the same code, and that share their code with
/// more points than a leaf holds. The order of such points does not follow the curve, so their leaves would overlap. Grid:
/// a thread for each point.
///
/// # Safety
/// The columns, in the order of the codes, have `len` elements, `codes` as many, `crowded` one.
#[kernel(block = BLOCK, instances(
    u32_f32: <u32, f32>; u32_f64: <u32, f64>; u64_f32: <u64, f32>; u64_f64: <u64, f64>;
))]
pub unsafe fn count_crowded<C: Scalar, T: Place>(
    places: Places<'_, T>,
    codes: In<'_, C>,
    crowded: Out<'_, u32>,
) {
    let (i, len) = (thread::index_1d(), places.len as u64);
    let mut is_crowded = false;
    if i + 1 < len && codes.get(i) == codes.get(i + 1) {
        let place = |i: u64| -> [T; 2] { places.place(i) };
        let (code, leaf) = (codes.get(i), FANOUT as u64);
        let is_long = i + leaf < len && codes.get(i + leaf) == code
            || i >= leaf && codes.get(i - leaf) == code;
        is_crowded = is_long && !are_same(place(i), place(i + 1));
    }
    // SAFETY: the whole warp comes here.
    unsafe {
        let count = warp::ballot(warp::FULL, is_crowded).count_ones();
        if count > 0 && warp::lane_id() == 0 {
            atomic::add_u32(crowded.address(0, 1), count);
        }
    }
}

/// Writes the column and the row of each place among those of the finer curve. Grid: a thread for each place.
///
/// # Safety
/// All columns have `len` elements.
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn find_finer_cells<T: Place>(
    places: Places<'_, T>,
    curve: Curve,
    columns: Out<'_, u32>,
    rows: Out<'_, u32>,
) {
    let i = thread::index_1d();
    if i < places.len as u64 {
        let [x, y] = [places.x.get(i), places.y.get(i)].map(Place::widened);
        let [column, row] = curve.finer_cell(x, y);
        columns.set(i, column);
        rows.set(i, row);
    }
}

/// Marks, along a column in order, each value that differs from the previous one: 1, else 0. Their running sum is the
/// rank of each value. Grid: a thread for each of `len` points.
///
/// # Safety
/// `order` and `steps` have `len` elements; `order` names elements of the column.
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn mark_steps<T: Place>(
    column: In<'_, T>,
    order: In<'_, u32>,
    len: u32,
    steps: Out<'_, u32>,
) {
    let i = thread::index_1d();
    if i < len as u64 {
        let value = |i: u64| column.get(order.get(i));
        steps.set(i, (i > 0 && value(i) != value(i - 1)) as u32);
    }
}

/// Writes the rank of each of `len` points, from the order of a column and the running sums of
/// [`mark_steps`](mod@mark_steps). Grid: a thread for each point.
///
/// # Safety
/// All have `len` elements; `order` is a permutation.
#[kernel(block = BLOCK)]
pub unsafe fn write_ranks(order: In<'_, u32>, sums: In<'_, u32>, len: u32, ranks: Out<'_, u32>) {
    let i = thread::index_1d();
    if i < len as u64 {
        ranks.set(order.get(i), sums.get(i));
    }
}

/// Writes the code of each of `len` points along a curve through columns and rows: of the finer curve, or of the ranks of the
/// points' coordinates. Grid: a thread for each point.
///
/// # Safety
/// All have `len` elements.
#[kernel(block = BLOCK)]
pub unsafe fn find_long_codes(
    columns: In<'_, u32>,
    rows: In<'_, u32>,
    len: u32,
    codes: Out<'_, u64>,
) {
    let i = thread::index_1d();
    if i < len as u64 {
        codes.set(i, long_code(columns.get(i), rows.get(i)));
    }
}

/// The code of a column and a row along a curve of 32 levels: of two pairs of ranks it is never the same.
#[inline(always)]
pub fn long_code(column: u32, row: u32) -> u64 {
    hilbert::number::<32>(column, row)
}
