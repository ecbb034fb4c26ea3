//! Diagrams by lists of candidates, level by level: the launches of `kernels_rs::sphere_qtm::prune`.

use device_std::{In, Out};
use gpu_core::{Blocks, Column, Gpu};
use kernels_rs::sphere_qtm::prune::{self as kernels, List, Mesh, Pool};
use kernels_rs::sphere_qtm::{cells_of, nearest};

use super::{DeviceDiagram, Places};
use crate::{Params, Result};

/// The level whose lists are made from all sites: one block a cell fills a GPU once.
const FIRST: u32 = 2;

/// The level whose triangles are made first, and from which those of deeper levels take their way.
const TABLE: u32 = 6;

/// How far the last lists lie above the cells that they serve. Sixteen cells have few candidates more than
/// one, and a list is made by more work than it is searched.
const UP: u32 = 2;

/// A parent's list longer than this, where sites are spread, is shortened by a block; than the others, by 32
/// and by 8 threads; else by 2.
const LONG: [u64; 3] = [1024, 96, 24];

/// Elements of the pool for each site and for each cell of the last lists. A triangle that holds many sites keeps about
/// six times as many, on each level where triangles do. A triangle of a deeper level keeps about five.
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

/// The same with memory for `capacity` candidates in all lists. Too few make it slow, not wrong.
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
    let mut lists = Lists::new(gpu, places, params.wanted(), capacity, last.min(TABLE))?;
    // SAFETY: levels follow on each other.
    let mut of_level = unsafe { lists.first(first)? };
    for level in first + 1..=last {
        // SAFETY: the lists are those of the level above.
        of_level = unsafe { lists.next(level, &of_level)? };
    }
    let arguments = kernels::nearest_of_cells::Args {
        places: places.input(),
        mesh: lists.mesh.input(),
        level,
        up: level - last,
        lists: read(&of_level),
        pool: lists.pool.output(),
        outputs: diagram.outputs(),
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
    mesh: Table,
}

/// The triangles of a level.
struct Table {
    /// Three vertices of three numbers each.
    triangles: Column<[f64; 9]>,
    level: u32,
}

impl Table {
    fn new(gpu: &Gpu, level: u32) -> Result<Self> {
        // SAFETY: the kernel writes all triangles.
        let mut triangles = unsafe { gpu.uninitialized::<[f64; 9]>(cells_of(level) as usize)? };
        // SAFETY: a triangle is nine such numbers.
        let table = unsafe { triangles.output().cast() };
        let kernel = kernels::tabulate_triangles;
        let arguments = kernels::tabulate_triangles::Args { level, table };
        // SAFETY: there is an element for each triangle.
        unsafe { gpu.enqueue(kernel, Blocks::for_each(&kernel, cells_of(level))?, arguments)? };
        Ok(Self { triangles, level })
    }

    fn input(&self) -> Mesh<'_> {
        // SAFETY: a triangle is nine such numbers.
        let table = unsafe { self.triangles.input().cast() };
        Mesh { table, table_level: self.level }
    }
}

/// Lists as a kernel reads them.
fn read(lists: &Column<[u32; 2]>) -> In<'_, List> {
    // SAFETY: a list is two such numbers, and columns begin at multiples of 256 bytes.
    unsafe { lists.input().cast() }
}

/// Lists as a kernel writes them.
fn write(lists: &mut Column<[u32; 2]>) -> Out<'_, List> {
    // SAFETY: as above.
    unsafe { lists.output().cast() }
}

impl<'a> Lists<'a> {
    fn new(
        gpu: &'a Gpu,
        places: &'a Places,
        wanted: u32,
        capacity: u64,
        table_level: u32,
    ) -> Result<Self> {
        let capacity = capacity.min(u64::from(nearest::NONE) - 1);
        // SAFETY: a list is read where it was written.
        let pool = unsafe { gpu.uninitialized(capacity as usize)? };
        let mesh = Table::new(gpu, table_level)?;
        Ok(Self { gpu, places, wanted, pool, used: gpu.zeroed(1)?, mesh })
    }

    /// Memory for a level's lists.
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
        let capacity = self.pool.len() as u64;
        let arguments = kernels::first_lists::Args {
            sites: self.places.sites(),
            narrow: self.places.narrow.input(),
            level,
            wanted: self.wanted,
            pool: Pool { sites: self.pool.output(), capacity, used: self.used.output() },
            lists: write(&mut lists),
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
        let cells = cells_of(level);
        let (gpu, wanted, places) = (self.gpu, self.wanted, self.places.input());
        let (mesh, parents) = (self.mesh.input(), read(parents));
        let capacity = self.pool.len() as u64;
        let pool = Pool { sites: self.pool.output(), capacity, used: self.used.output() };
        let out = write(&mut lists);
        // What a parent's list is long where sites are spread.
        let length = 6 * u64::from(self.places.count()) / cells_of(level - 1);
        let (kernel, lanes) = match LONG.iter().position(|&long| length > long) {
            Some(0) => {
                use kernels::next_long_lists as kernel;
                let arguments =
                    kernel::Args { places, mesh, level, wanted, parents, pool, lists: out };
                // SAFETY: the columns are as long as the kernel says.
                unsafe { gpu.enqueue(kernel, Blocks::x(cells as u32), arguments)? };
                return Ok(lists);
            }
            Some(1) => (kernels::next_lists::of_32, 32),
            Some(_) => (kernels::next_lists::of_8, 8),
            None => (kernels::next_lists::of_2, 2),
        };
        let blocks = Blocks::for_each(&kernel, lanes * cells)?;
        let arguments =
            kernels::next_lists::Args { places, mesh, level, wanted, parents, pool, lists: out };
        // SAFETY: the columns are as long as the kernel says.
        unsafe { gpu.enqueue(kernel, blocks, arguments)? };
        Ok(lists)
    }
}

#[cfg(test)]
mod tests {
    use gpu_core::{DevicePoints, Extent, Points};
    use testing::Random;

    use super::*;
    use crate::{Level, cpu};

    /// A list that does not fit is its parent's, down to no list at all.
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
            let expected = cpu::voronoi(&points, &params, &gpu_core::Silent).unwrap();
            for capacity in [0, 100, 3000, 20_000] {
                // SAFETY: written right below.
                let mut diagram = unsafe { DeviceDiagram::uninitialized(&gpu, &params).unwrap() };
                with_capacity(&gpu, &places, &params, &mut diagram, capacity).unwrap();
                assert!(diagram.to_host().unwrap() == expected, "room for {capacity}");
            }
        }
    }
}
