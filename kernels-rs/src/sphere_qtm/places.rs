//! Places in device memory: unit vectors of sites, and the cells of points.

use device_std::real::Real;
use device_std::{kernel, thread};

use super::MAX_LEVEL;
use super::locate::{NOWHERE, is_on_globe, locate, locate_degrees};
use super::nearest::Place;
use crate::spatial::sphere;

/// Threads of a block.
pub const BLOCK: u32 = 128;

/// The unit vectors of places in degrees. What is no place on the globe gets NaN, and is nobody's nearest.
/// Grid: a thread for each.
///
/// # Safety
/// All have `count` elements.
#[kernel(block = BLOCK)]
pub unsafe fn place_sites(
    longitudes: *const f64,
    latitudes: *const f64,
    count: u32,
    places: *mut Place,
) {
    let i = thread::index_1d();
    if i < count as u64 {
        let i = i as usize;
        // SAFETY: guarded.
        unsafe {
            let (longitude, latitude) = (*longitudes.add(i), *latitudes.add(i));
            let [x, y, z] = if is_on_globe(longitude, latitude) {
                sphere::unit_vector(longitude, latitude)
            } else {
                [f64::NAN; 3]
            };
            *places.add(i) = Place([x, y, z, 0.0]);
        }
    }
}

/// The id of a cell at a place in its level, or 0 for [`NOWHERE`].
#[inline(always)]
pub fn id(level: u32, index: u64) -> u64 {
    if index == NOWHERE { 0 } else { (index << 1 | 1) << (2 * (MAX_LEVEL - level)) }
}

/// The cell of each point: its id, or 0 for what is no place on the globe. Grid: a thread for each.
///
/// # Safety
/// All have `count` elements; `level` is at most [`MAX_LEVEL`].
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn find_cells<T: Real>(
    longitudes: *const T,
    latitudes: *const T,
    count: u64,
    level: u32,
    cells: *mut u64,
) {
    let i = thread::index_1d();
    if i < count {
        let i = i as usize;
        // SAFETY: guarded.
        unsafe {
            let (longitude, latitude) =
                ((*longitudes.add(i)).to_f64(), (*latitudes.add(i)).to_f64());
            *cells.add(i) = id(level, locate_degrees(longitude, latitude, level));
        }
    }
}

/// The cell that each vector points to: its id, or 0 where it has no direction. Grid: a thread for each.
///
/// # Safety
/// As [`find_cells`].
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn find_cells_of_vectors<T: Real>(
    x: *const T,
    y: *const T,
    z: *const T,
    count: u64,
    level: u32,
    cells: *mut u64,
) {
    let i = thread::index_1d();
    if i < count {
        let i = i as usize;
        // SAFETY: guarded.
        unsafe {
            let vector = [(*x.add(i)).to_f64(), (*y.add(i)).to_f64(), (*z.add(i)).to_f64()];
            *cells.add(i) = id(level, locate_vector(vector, level));
        }
    }
}

/// The cell that a vector points to; [`NOWHERE`] for one that is zero or not finite.
#[inline(always)]
fn locate_vector(vector: [f64; 3], level: u32) -> u64 {
    let [x, y, z] = vector;
    let is_finite = x.is_finite() && y.is_finite() && z.is_finite();
    let is_zero = x == 0.0 && y == 0.0 && z == 0.0;
    if is_finite && !is_zero { locate(vector, level) } else { NOWHERE }
}

device_std::ptx_module! { "sphere_places" }
