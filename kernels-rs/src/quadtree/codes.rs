//! The Morton codes of points.

use device_std::block::BlockReduce;
use device_std::shared::Carver;
use device_std::{Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use crate::spatial::frame::Frame;
use crate::spatial::place::{Place, Places};

/// A code: of 32 bits for trees down to level 16, of 64 for all.
pub trait Code: Copy + Ord {
    /// 0.
    const ZERO: Self;

    /// The code, if it fits.
    fn narrowed(code: u64) -> Self;

    /// Which quadrant of its level a code lies in: the two bits at `shift`.
    fn quadrant(self, shift: u32) -> u32;
}

impl Code for u32 {
    const ZERO: Self = 0;

    #[inline(always)]
    fn narrowed(code: u64) -> Self {
        code as u32
    }

    #[inline(always)]
    fn quadrant(self, shift: u32) -> u32 {
        self >> shift & 3
    }
}

impl Code for u64 {
    const ZERO: Self = 0;

    #[inline(always)]
    fn narrowed(code: u64) -> Self {
        code
    }

    #[inline(always)]
    fn quadrant(self, shift: u32) -> u32 {
        (self >> shift) as u32 & 3
    }
}

/// Threads of a block of [`mod@find_bounds`].
const BOUNDS_BLOCK: usize = 256;

/// How many results [`mod@find_bounds`] has.
pub const FOUND: usize = 6;

/// The rank of a float, which rises with the float; the rank of -0 is one below that of 0.
#[inline(always)]
pub fn rank(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

/// The float of a [`rank`].
pub fn of_rank(rank: i64) -> f64 {
    f64::from_bits((rank ^ ((rank >> 63) as u64 >> 1) as i64) as u64)
}

/// Finds the bounds of points. `found` has [`FOUND`] elements, `i64::MAX` before. It gets the [`rank`]s of the least x
/// and the least y, and the complements of the ranks of the greatest. Then it gets the first index of an x, and of a y,
/// that is not finite. Grid: any number of blocks.
///
/// # Safety
/// The columns are as [`Places`] says.
#[kernel(
    block = BOUNDS_BLOCK,
    carve = |carver| BlockReduce::<i64>::new(carver, BOUNDS_BLOCK),
    instances(f32: <f32>; f64: <f64>)
)]
pub unsafe fn find_bounds<T: Place>(places: Places<'_, T>, found: Out<'_, i64>) {
    let Places { x, y, count } = places;
    let blocks = BlockReduce::<i64>::new(&mut Carver::new(), BOUNDS_BLOCK);
    let mut mine = [i64::MAX; FOUND];
    let mut i = thread::index_1d();
    let step = thread::grid_dim_x() as u64 * BOUNDS_BLOCK as u64;
    while i < count {
        let place = [x.get(i).widened(), y.get(i).widened()];
        let mut axis = 0;
        while axis < 2 {
            let rank = rank(place[axis]);
            mine[axis] = mine[axis].min(rank);
            mine[2 + axis] = mine[2 + axis].min(!rank);
            // The first such index of a thread comes first.
            if !place[axis].is_finite() {
                mine[4 + axis] = mine[4 + axis].min(i as i64);
            }
            axis += 1;
        }
        i += step;
    }
    let mut which = 0;
    while which < FOUND {
        // SAFETY: the whole block comes here.
        let least = unsafe { blocks.reduce(mine[which], i64::MAX, i64::min) };
        if thread::thread_idx_x() == 0 {
            found.fetch_min(which, least);
        }
        which += 1;
    }
}

/// Writes the code of each point. If there are `indices`, writes its index; if there is `inside`, whether it lies
/// inside `bounds`; if there are `pairs`, x and y side by side, for `gather_places`.
///
/// `bad` has elements above all indices before. It gets the least index of an x, and of a y, that is not finite;
/// without `inside` also the least index of a point outside. Grid: a thread for each point.
///
/// # Safety
/// The columns are as [`Places`] says. `codes` and, if they are there, `indices` and `inside` have as many elements,
/// and `pairs` has as many pairs. `bad` has three elements. No output overlaps anything else.
#[kernel(block = 256, instances(
    f32_u32: <f32, u32>; f32_u64: <f32, u64>; f64_u32: <f64, u32>; f64_u64: <f64, u64>;
))]
pub unsafe fn encode<T: Place, K: Code>(
    places: Places<'_, T>,
    frame: Frame,
    bounds: [f64; 4],
    codes: Out<'_, K>,
    indices: Option<Out<'_, u32>>,
    pairs: Option<Out<'_, u64>>,
    inside: Option<Out<'_, u8>>,
    bad: Out<'_, i64>,
) {
    let i = thread::index_1d();
    if i >= places.count {
        return;
    }
    let [min_x, min_y, max_x, max_y] = bounds;
    let place = [places.x.get(i), places.y.get(i)];
    if let Some(pairs) = pairs {
        T::store_pair(pairs, i, place);
    }
    let [x, y] = [place[0].widened(), place[1].widened()];
    codes.set(i, K::narrowed(frame.code(x, y)));
    if let Some(indices) = indices {
        indices.set(i, i as u32);
    }
    // False for NaN, too.
    let is_inside = x >= min_x && x <= max_x && y >= min_y && y <= max_y;
    if inside.is_some() {
        if let Some(inside) = inside {
            inside.set(i, is_inside as u8);
        }
    } else if !is_inside {
        bad.fetch_min(2u32, i as i64);
    }
    if !x.is_finite() {
        bad.fetch_min(0u32, i as i64);
    }
    if !y.is_finite() {
        bad.fetch_min(1u32, i as i64);
    }
}
