//! The queries by Sibson's areas.

use device_std::shared::Carver;
use device_std::{In, Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::tile::{BLOCK, Cells, LARGE, Left, MEDIUM, SMALL, Tile};
use crate::nni::pixels::query::{Areas, Lattice, Limits, Results, Scene, query_point};
use crate::nni::pixels::values::Sites;

impl<const N: usize> Scene<'_, N> {
    /// Interpolates the cells of a tile, and lists those whose box does not suffice.
    ///
    /// # Safety
    /// The whole block comes to the same call.
    #[inline(always)]
    unsafe fn query_tile<const REACH: i32>(&self, tile: u32, left: Left<'_>) {
        let Lattice { columns, rows, reciprocal, supersample } = self.lattice;
        let cells = Cells::of_tile::<REACH>(tile, [columns, rows], supersample);
        let memory = Tile::<REACH>::carve(&mut Carver::new());
        // SAFETY: the whole block comes to the barrier, and the tile has the boxes of its cells.
        unsafe {
            let bounds = self.bounds();
            let base = cells.base(supersample);
            let tile = Tile::<REACH>::new(memory, base, bounds.extent, reciprocal);
            let has_sites = self.sites.are_some();
            if has_sites {
                tile.gather(self.sites.nearest);
            }
            thread::sync_threads();
            cells.each(|cell| {
                let (mut is_left, mut number) = (false, 0);
                if let Some([column, row]) = cell {
                    let mut areas = Areas::NONE;
                    if has_sites {
                        let q = query_point(column, row, supersample);
                        let stolen = tile.stolen_by(q, bounds);
                        let of_sites = self.sites.values();
                        let values = |site: u32| of_sites.of(site);
                        let before = None::<fn(usize) -> [i64; N]>;
                        areas = Areas::of(&stolen, self.limits.site_limit, values, before);
                        is_left = !stolen.is_closed();
                    }
                    number = row * columns + column;
                    if !is_left {
                        self.put(column, row, &areas);
                    }
                }
                left.append(is_left, number);
            });
        }
    }
}

/// Interpolates cells with a circle of any size, or without one if `span_rows` is `i32::MAX`. Cells whose box does not
/// suffice are listed for [`mod@query_left`].
///
/// Grid: one block for [`boxed_cells`](super::boxed_cells), row by row of tiles, from tile `first_tile` on.
///
/// # Safety
/// The slices have what [`Sites`], with `N` values, [`Limits`] and [`Results`] say, of this lattice. `deviations` has
/// an element for each cell, and the list [`Left`] an entry for each cell of the blocks.
#[kernel(
    block = BLOCK,
    carve = |carver| Tile::<REACH>::carve(carver),
    key: (usize, i32) = (N, REACH),
    instances(
        one_small: <1, SMALL>, resident = 4;
        two_small: <2, SMALL>, resident = 4;
        four_small: <4, SMALL>, resident = 4;
        one_medium: <1, MEDIUM>, resident = 4;
        two_medium: <2, MEDIUM>, resident = 4;
        four_medium: <4, MEDIUM>, resident = 4;
        one_large: <1, LARGE>, resident = 3;
        two_large: <2, LARGE>, resident = 3;
        four_large: <4, LARGE>, resident = 3;
    )
)]
pub unsafe fn query_boxed<const N: usize, const REACH: i32>(
    sites: Sites<'_>,
    limits: Limits<'_>,
    lattice: Lattice,
    first_tile: u32,
    results: Results<'_>,
    deviations: Option<Out<'_, f32>>,
    left: Left<'_>,
) {
    let scene = Scene::<N> { sites, limits, lattice, results, sums: None, deviations };
    // SAFETY: the whole block is here.
    unsafe { scene.query_tile::<REACH>(first_tile + thread::block_idx_x(), left) };
}

/// Interpolates the cells of a list row by row. The spills save a third of the time: the walks wait for memory, and
/// spills make room for more warps.
///
/// Grid: any; warps take cells until none is left.
///
/// # Safety
/// As for [`mod@query_boxed`], which has made the list. If there are `sums`, they are those that
/// [`gather_sums`](const@crate::nni::pixels::gather_sums) wrote, scanned, and there is neither a site limit nor
/// `deviations`.
#[kernel(block = BLOCK, instances(
    one: <1>, resident = 3, spills = 24;
    two: <2>, resident = 2;
    four: <4>, resident = 2;
))]
pub unsafe fn query_left<const N: usize>(
    sites: Sites<'_>,
    limits: Limits<'_>,
    lattice: Lattice,
    results: Results<'_>,
    sums: Option<In<'_, i64>>,
    deviations: Option<Out<'_, f32>>,
    left: Left<'_>,
) {
    let scene = Scene::<N> { sites, limits, lattice, results, sums, deviations };
    // SAFETY: all warps are whole, and the list is complete.
    unsafe {
        left.each(|cell| {
            let row = cell.checked_div(lattice.columns).unwrap_or(0);
            scene.query(cell - row * lattice.columns, row);
        });
    }
}
