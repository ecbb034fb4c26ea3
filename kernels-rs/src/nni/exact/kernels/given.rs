//! What the kernels are given: what is asked, the sites sorted by cells, and what these have.

use device_std::vector;

use super::super::scene::{Scene, Sites};
use super::super::search::Index;
use super::records::pair;
use crate::nni::values::Scales;
use crate::spatial::cells::Cells;

/// Numbers of the setup.
pub const SETUP: usize = 20;

/// The cells and the scene, the rows of the DEM, and how many values a site has, as they lie in memory.
pub fn setup_in_memory(
    cells: &Cells,
    scene: &Scene,
    dem_rows: u32,
    value_count: u32,
) -> [f64; SETUP] {
    [
        cells.west,
        cells.south,
        cells.side,
        cells.per_unit,
        cells.columns as f64,
        cells.rows as f64,
        scene.origin_x,
        scene.origin_y,
        scene.cell_size,
        scene.columns as f64,
        scene.half_window,
        scene.half_extent,
        scene.give_up,
        scene.max_squared,
        scene.weights as f64,
        scene.fill as f64,
        scene.fill_value as f64,
        dem_rows as f64,
        value_count as f64,
        scene.has_deviations as u32 as f64,
    ]
}

/// The same from memory.
///
/// # Safety
/// `setup` has what [`setup_in_memory`] gave.
#[inline(always)]
pub(super) unsafe fn read_setup(setup: *const f64) -> (Cells, Scene, u32, u32) {
    // SAFETY: passed on to the caller.
    unsafe {
        let (float, integer) = (|k: usize| *setup.add(k), |k: usize| *setup.add(k) as u32);
        let cells = Cells {
            west: float(0),
            south: float(1),
            side: float(2),
            per_unit: float(3),
            columns: integer(4),
            rows: integer(5),
        };
        let scene = Scene {
            origin_x: float(6),
            origin_y: float(7),
            cell_size: float(8),
            columns: integer(9),
            half_window: float(10),
            half_extent: float(11),
            give_up: float(12),
            max_squared: float(13),
            weights: integer(14),
            fill: integer(15),
            fill_value: float(16) as f32,
            has_deviations: integer(19) != 0,
        };
        (cells, scene, integer(17), integer(18))
    }
}

/// The same address, of which the compiler does not know that it has read there.
#[inline(always)]
pub(super) fn forgotten(setup: *const f64) -> *const f64 {
    vector::unknown_64(setup as u64) as *const f64
}

/// The sites, sorted by cells.
///
/// # Safety
/// `starts` has an element for each cell and one more, `places` two for each site.
#[inline(always)]
pub(super) unsafe fn index_of(
    cells: Cells,
    places: *const f64,
    starts: *const u32,
) -> Index<impl Fn(u32) -> [f64; 2], impl Fn(u32) -> u32> {
    // SAFETY: passed on to the caller.
    let place = move |site: u32| unsafe { pair(places.add(2 * site as usize)) };
    // SAFETY: passed on to the caller.
    Index { cells, place, start: move |cell: u32| unsafe { *starts.add(cell as usize) } }
}

/// What sites have, in device memory.
#[derive(Clone, Copy)]
pub(super) struct OnDevice {
    pub(super) values: *const i32,
    pub(super) gradients: *const f32,
    pub(super) scales: *const f64,
    pub(super) value_count: u32,
}

// SAFETY (all): sites and values are below their counts, by the contract of the kernels.
impl Sites for OnDevice {
    #[inline(always)]
    fn values(&self) -> u32 {
        self.value_count
    }
    #[inline(always)]
    fn value(&self, site: u32, k: u32) -> i32 {
        // SAFETY: as above.
        unsafe { *self.values.add(site as usize * self.value_count as usize + k as usize) }
    }
    #[inline(always)]
    fn gradient(&self, site: u32, k: u32) -> [f32; 2] {
        let i = 2 * (site as usize * self.value_count as usize + k as usize);
        // SAFETY: as above.
        unsafe { [*self.gradients.add(i), *self.gradients.add(i + 1)] }
    }
    #[inline(always)]
    fn scale(&self, k: u32) -> [f64; 2] {
        // SAFETY: as above.
        unsafe { Scales(self.scales).of(k as usize) }
    }
}
