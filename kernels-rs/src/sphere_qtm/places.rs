//! Places in device memory: unit vectors of sites, and the cells of points.

use device_std::real::Real;
use device_std::shared::{Carver, SharedArray};
use device_std::vector::Vector;
use device_std::{In, Out, arguments, kernel, thread, warp};

use super::MAX_LEVEL;
use super::locate::{NOWHERE, is_on_globe, locate, locate_degrees};
use super::nearest::Place;
use super::quick::{self, Start};
use crate::spatial::sphere;

/// Threads of a block.
pub const BLOCK: u32 = 128;

/// Writes the unit vectors of places in degrees, and the same in f32, as four numbers; the last has no meaning. A place
/// that is not on the globe gets NaN, and is nobody's nearest site. In f32 it gets zeros, as do the elements beyond the
/// places' number. Grid: a thread for each of `padded`.
///
/// # Safety
/// All slices have `count` elements, except `narrow`, which has `padded`, at least as many.
#[kernel(block = BLOCK)]
pub unsafe fn place_sites(
    longitudes: In<'_, f64>,
    latitudes: In<'_, f64>,
    count: u32,
    padded: u32,
    places: Out<'_, Place>,
    narrow: Out<'_, Vector>,
) {
    let i = thread::index_1d();
    if i < padded as u64 {
        let is_site = i < count as u64;
        let (longitude, latitude) =
            if is_site { (longitudes.get(i), latitudes.get(i)) } else { (f64::NAN, 0.0) };
        let is_place = is_on_globe(longitude, latitude);
        let [x, y, z] =
            if is_place { sphere::unit_vector(longitude, latitude) } else { [f64::NAN; 3] };
        if is_site {
            places.set(i, Place([x, y, z, 0.0]));
        }
        let bits = |x: f64| if is_place { (x as f32).to_bits() } else { 0 };
        narrow.store(i, [bits(x), bits(y), bits(z), 0]);
    }
}

/// The id of the cell with this index in its level, or 0 for [`NOWHERE`].
#[inline(always)]
pub fn id(level: u32, index: u64) -> u64 {
    if index == NOWHERE { 0 } else { (index << 1 | 1) << (2 * (MAX_LEVEL - level)) }
}

/// Threads of a block that finds cells.
pub const FIND_BLOCK: u32 = 256;

/// Points of a warp that can wait for `exact`: fewer than a warp's, and a warp's.
const WAITING: u32 = 64;

/// Writes the tables of [`quick`]. Grid: a thread for each of [`quick::FACTORS`].
///
/// # Safety
/// `factors` has [`quick::FACTORS`] elements, and `depths` [`quick::DEPTHS`].
#[kernel(block = BLOCK)]
pub unsafe fn tabulate_quick(factors: Out<'_, [f64; 3]>, depths: Out<'_, [f32; 3]>) {
    let i = thread::index_1d() as u32;
    if i < quick::FACTORS {
        factors.set(i, quick::factors(i));
    }
    if i < quick::DEPTHS {
        depths.set(i, quick::depths(i));
    }
}

/// The tables of [`quick`], as [`tabulate_quick`](const@tabulate_quick) writes them.
#[arguments]
pub struct Tables<'a> {
    /// Three numbers for each of [`quick::FACTORS`].
    pub factors: In<'a, f64>,
    /// Three numbers for each of [`quick::DEPTHS`].
    pub depths: In<'a, f32>,
}

/// What a block that finds cells keeps in shared memory: the tables, and the points of each warp that wait for `exact`.
#[derive(Clone, Copy)]
struct Shared {
    factors: SharedArray<f64>,
    depths: SharedArray<f32>,
    waiting: SharedArray<u64>,
}

impl Shared {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self {
            factors: carver.array(3 * quick::FACTORS),
            depths: carver.array(3 * quick::DEPTHS),
            waiting: carver.array(FIND_BLOCK / warp::SIZE * WAITING),
        }
    }

    /// Copies the tables.
    ///
    /// # Safety
    /// The whole block is here.
    #[inline(always)]
    unsafe fn fill(&self, tables: Tables<'_>) {
        // SAFETY: each element is stored by one thread, before the barrier, to which the whole block comes.
        unsafe {
            let mut i = thread::thread_idx_x();
            while i < 3 * quick::FACTORS {
                self.factors.store(i, tables.factors.get(i));
                if i < 3 * quick::DEPTHS {
                    self.depths.store(i, tables.depths.get(i));
                }
                i += FIND_BLOCK;
            }
            thread::sync_threads();
        }
    }

    /// The element of the warp's ring of waiting points for the point that came as number `number`.
    #[inline(always)]
    fn place(&self, number: u32) -> u32 {
        warp::warp_id() * WAITING + number % WAITING
    }
}

impl quick::Table for Shared {
    #[inline(always)]
    fn factors(&self, number: u32) -> [f64; 3] {
        // SAFETY: there are as many, and nobody writes to them any more.
        unsafe { [0, 1, 2].map(|k| self.factors.load(3 * number + k)) }
    }

    #[inline(always)]
    fn depths(&self, index: u32) -> [f32; 3] {
        // SAFETY: as above.
        unsafe { [0, 1, 2].map(|k| self.depths.load(3 * index + k)) }
    }
}

/// Finds the cells of all points: by `quick` where it is certain. The other points wait until a warp is full of them,
/// and then `exact` finds their cells.
///
/// # Safety
/// The whole block is here, and the tables are in its room.
#[inline(always)]
unsafe fn find_all(
    room: Shared,
    count: u64,
    level: u32,
    cells: Out<'_, u64>,
    quick: impl Fn(u64) -> Option<u64>,
    exact: impl Fn(u64) -> u64,
) {
    let lane = warp::lane_id();
    let warps = FIND_BLOCK / warp::SIZE;
    let mut start = (thread::block_idx_x() * warps + warp::warp_id()) as u64 * warp::SIZE as u64;
    let step = thread::grid_dim_x() as u64 * FIND_BLOCK as u64;
    // How many points have come to wait, and how many of these are done.
    let (mut done, mut come) = (0, 0);
    // SAFETY: a warp's lanes repeat the loop together, and a sync of the warp lies between a store to its waiting
    // points and a load.
    unsafe {
        let go_long = |number: u32| {
            let i = room.waiting.load(room.place(number));
            cells.set(i, id(level, exact(i)));
        };
        while start < count {
            let i = start + lane as u64;
            let found = if i < count { quick(i) } else { None };
            if let Some(index) = found {
                cells.set(i, id(level, index));
            }
            let waits = i < count && found.is_none();
            let all = warp::ballot(warp::FULL, waits);
            if waits {
                let number = come + (all & warp::lanes_below()).count_ones();
                room.waiting.store(room.place(number), i);
            }
            come += all.count_ones();
            warp::sync_warp(warp::FULL);
            if come - done >= warp::SIZE {
                go_long(done + lane);
                done += warp::SIZE;
            }
            warp::sync_warp(warp::FULL);
            start += step;
        }
        if done + lane < come {
            go_long(done + lane);
        }
    }
}

/// Writes the id of the cell of each point, or 0 if it is not on the globe. Grid: any number of blocks, which take
/// turns.
///
/// # Safety
/// Columns have `count` elements, and the tables what [`Tables`] says; `level` is at most [`MAX_LEVEL`].
#[kernel(block = FIND_BLOCK, carve = |carver| Shared::new(carver), instances(
    f32: <f32>, resident = 4;
    f64: <f64>, resident = 4;
))]
pub unsafe fn find_cells<T: Real>(
    longitudes: In<'_, T>,
    latitudes: In<'_, T>,
    count: u64,
    level: u32,
    tables: Tables<'_>,
    cells: Out<'_, u64>,
) {
    let room = Shared::new(&mut Carver::new());
    let point = |i: u64| (longitudes.get(i).to_f64(), latitudes.get(i).to_f64());
    let quick = |i| {
        let (longitude, latitude) = point(i);
        if !is_on_globe(longitude, latitude) {
            return Some(NOWHERE);
        }
        Start::of_degrees(longitude, latitude).locate(level, &room)
    };
    let exact = |i| {
        let (longitude, latitude) = point(i);
        locate_degrees(longitude, latitude, level)
    };
    // SAFETY: the whole block is here.
    unsafe {
        room.fill(tables);
        find_all(room, count, level, cells, quick, exact);
    }
}

/// Writes the id of the cell that each vector points to, or 0 if it has no direction. Grid: as for [`mod@find_cells`].
///
/// # Safety
/// As [`mod@find_cells`].
#[kernel(block = FIND_BLOCK, carve = |carver| Shared::new(carver), instances(
    f32: <f32>, resident = 4;
    f64: <f64>, resident = 4;
))]
pub unsafe fn find_cells_of_vectors<T: Real>(
    x: In<'_, T>,
    y: In<'_, T>,
    z: In<'_, T>,
    count: u64,
    level: u32,
    tables: Tables<'_>,
    cells: Out<'_, u64>,
) {
    let room = Shared::new(&mut Carver::new());
    let vector = |i: u64| [x.get(i).to_f64(), y.get(i).to_f64(), z.get(i).to_f64()];
    let quick = |i| Start::of_direction(vector(i)).locate(level, &room);
    let exact = |i| locate_vector(vector(i), level);
    // SAFETY: the whole block is here.
    unsafe {
        room.fill(tables);
        find_all(room, count, level, cells, quick, exact);
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
