//! Diagrams by lists of candidates, level by level: the launches of `kernels_rs::sphere_qtm::prune`.

use gpu_core::{Blocks, Column, Gpu};
use kernels_rs::sphere_qtm::prune::{self as kernels, List};
use kernels_rs::sphere_qtm::{cells_of, nearest};

use super::diagram::Pointers;
use super::{DeviceDiagram, Places};
use crate::{Params, Result};

/// The level whose lists are made from all sites: cells enough to fill a GPU, and few enough that each
/// may look at every site.
const FIRST: u32 = 3;

/// How far the last lists lie above the cells that they serve. Sixteen cells have few candidates more than
/// one, and a list is made by more work than it is searched.
const UP: u32 = 2;

/// A parent's list of this length, where sites are spread, is shortened by a block.
const LONG: u64 = 128;

/// Elements of the pool for each site and for each cell of the last lists. A triangle that holds many sites
/// keeps some six times as many as it holds, on each of the levels where triangles do; one of a
/// deeper level keeps some five.
const POOL: [u64; 2] = [48, 8];

pub(super) fn voronoi(
    gpu: &Gpu,
    places: &Places,
    params: &Params,
    diagram: &mut DeviceDiagram,
) -> Result<()> {
    let last = params.level.get().saturating_sub(UP);
    let capacity = POOL[0] * u64::from(places.count()) + POOL[1] * cells_of(last);
    with_capacity(gpu, places, params, diagram, capacity)
}

/// The same with room for so many candidates in all lists. Too few make it slow, not wrong.
fn with_capacity(
    gpu: &Gpu,
    places: &Places,
    params: &Params,
    diagram: &mut DeviceDiagram,
    capacity: u64,
) -> Result<()> {
    let level = params.level.get();
    let last = level.saturating_sub(UP);
    let first = FIRST.min(last);
    let mut lists = Lists::new(gpu, places, params.wanted(), capacity)?;
    // SAFETY: levels follow on each other.
    let mut of_level = unsafe { lists.first(first)? };
    for level in first + 1..=last {
        // SAFETY: the lists are those of the level above.
        of_level = unsafe { lists.next(level, &of_level)? };
    }
    let Pointers { nearest, second, distance, tie } = diagram.pointers();
    let arguments = kernels::nearest_of_cells::Args {
        places: places.as_ptr(),
        level,
        up: level - last,
        lists: of_level.as_ptr().cast(),
        pool: lists.pool.as_mut_ptr(),
        nearest,
        second,
        distance,
        tie,
    };
    let kernel = kernels::nearest_of_cells;
    let items = if level == 0 { 8 } else { cells_of(level - 1) };
    // SAFETY: the outputs have an element for each cell; the lists are those of the level `up` above.
    unsafe { gpu.enqueue(kernel, Blocks::for_each(&kernel, items)?, arguments)? };
    Ok(())
}

/// Lists of candidates, in the making.
struct Lists<'a> {
    gpu: &'a Gpu,
    places: &'a Places,
    wanted: u32,
    pool: Column<u32>,
    /// How much of the pool is taken.
    used: Column<u64>,
}

impl<'a> Lists<'a> {
    fn new(gpu: &'a Gpu, places: &'a Places, wanted: u32, capacity: u64) -> Result<Self> {
        let capacity = capacity.min(u64::from(nearest::NONE) - 1);
        // SAFETY: a list is read where it was written.
        let pool = unsafe { gpu.uninitialized(capacity as usize)? };
        Ok(Self { gpu, places, wanted, pool, used: gpu.zeroed(1)? })
    }

    /// Room for a level's lists.
    fn room(&self, level: u32) -> Result<Column<[u32; 2]>> {
        // SAFETY: the kernels write the list of each cell.
        Ok(unsafe { self.gpu.uninitialized(cells_of(level) as usize)? })
    }

    /// The lists of the first level.
    ///
    /// # Safety
    /// The level is one whose cells are fewer than blocks may be.
    unsafe fn first(&mut self, level: u32) -> Result<Column<[u32; 2]>> {
        let mut lists = self.room(level)?;
        let arguments = kernels::first_lists::Args {
            places: self.places.as_ptr(),
            count: self.places.count(),
            level,
            wanted: self.wanted,
            pool: self.pool.as_mut_ptr(),
            capacity: self.pool.len() as u64,
            used: self.used.as_mut_ptr(),
            lists: lists.as_mut_ptr().cast::<List>(),
        };
        let blocks = Blocks::x(cells_of(level) as u32);
        // SAFETY: the columns are as long as the kernel says.
        unsafe { self.gpu.enqueue(kernels::first_lists, blocks, arguments)? };
        Ok(lists)
    }

    /// The lists of a level from those of the level above.
    ///
    /// # Safety
    /// `parents` are those.
    unsafe fn next(&mut self, level: u32, parents: &Column<[u32; 2]>) -> Result<Column<[u32; 2]>> {
        let mut lists = self.room(level)?;
        let (places, wanted) = (self.places.as_ptr(), self.wanted);
        let (pool, capacity) = (self.pool.as_mut_ptr(), self.pool.len() as u64);
        let (used, parents) = (self.used.as_mut_ptr(), parents.as_ptr().cast::<List>());
        let of_level = lists.as_mut_ptr().cast::<List>();
        let cells = cells_of(level);
        // What a parent's list is long where sites are spread.
        let length = 6 * u64::from(self.places.count()) / cells_of(level - 1);
        // SAFETY: the columns are as long as the kernels say.
        unsafe {
            if length > LONG {
                let kernel = kernels::next_long_lists;
                let arguments = kernels::next_long_lists::Args {
                    places,
                    level,
                    wanted,
                    parents,
                    pool,
                    capacity,
                    used,
                    lists: of_level,
                };
                self.gpu.enqueue(kernel, Blocks::x(cells as u32), arguments)?;
            } else {
                let kernel = kernels::next_lists;
                let arguments = kernels::next_lists::Args {
                    places,
                    level,
                    wanted,
                    parents,
                    pool,
                    capacity,
                    used,
                    lists: of_level,
                };
                self.gpu.enqueue(kernel, Blocks::for_each(&kernel, cells)?, arguments)?;
            }
        }
        Ok(lists)
    }
}

#[cfg(test)]
mod tests {
    use gpu_core::{DevicePoints, Extent, Points};
    use testing::Random;

    use super::*;
    use crate::{Level, cpu};

    /// Lists that find no room are their parents', down to none at all.
    #[test]
    fn a_pool_that_is_too_small_changes_nothing() {
        let gpu = testing::gpu();
        let mut random = Random::new(1);
        let x: Vec<f64> = (0..300).map(|_| random.between(-180.0, 180.0)).collect();
        let y: Vec<f64> = (0..300).map(|_| random.between(-90.0, 90.0)).collect();
        let points = Points::new(&x, &y);
        let (lon, lat) = (gpu.upload(&x).unwrap(), gpu.upload(&y).unwrap());
        let extent = Extent::of(&points).unwrap();
        let sites = DevicePoints::new(&lon, &lat, [], extent).unwrap();
        let places = Places::new(&gpu, &sites).unwrap();
        for params in [4, 5].map(|l| Params::new(Level::new(l).unwrap())) {
            let params = params.second(true).distance(true).tie(true);
            let expected = cpu::voronoi(&points, &params, &()).unwrap();
            for capacity in [0, 100, 3000, 20_000] {
                // SAFETY: written right below.
                let mut diagram = unsafe { DeviceDiagram::uninitialized(&gpu, &params).unwrap() };
                with_capacity(&gpu, &places, &params, &mut diagram, capacity).unwrap();
                assert!(diagram.to_host().unwrap() == expected, "room for {capacity}");
            }
        }
    }
}
