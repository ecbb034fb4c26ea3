//! The queries by other [`weights`] than Sibson's areas, and the gradients that these weights need.

use device_std::shared::{Carver, SharedArray};
use device_std::{In, Out, arguments, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::tile::{BLOCK, Cells, LARGE, Left, MEDIUM, SMALL, Tile, boxed_cells};
use crate::nni::pixels::geometry::Width;
use crate::nni::pixels::query::{Lattice, query_point};
use crate::nni::pixels::region::{Bounds, Region};
use crate::nni::pixels::spans::Diagram;
use crate::nni::pixels::values::{Scales, Sites};
use crate::nni::pixels::weights;

/// A raster, with the data that its weighted queries read.
#[derive(Clone, Copy)]
struct Weighted<'a, const N: usize> {
    sites: Sites<'a>,
    /// Columns and rows of the raster.
    extent: [i32; 2],
    reciprocal: u64,
}

impl<const N: usize> Weighted<'_, N> {
    /// The diagram, without a circle.
    #[inline(always)]
    fn diagram(&self) -> Diagram<impl Fn(i32, i32) -> u32, impl Fn(i32) -> i32> {
        let (nearest, extent) = (self.sites.nearest, self.extent);
        Diagram {
            nearest: move |x: i32, y: i32| nearest.get(y as i64 * extent[0] as i64 + x as i64),
            width: Width::new(extent[0] as u32, self.reciprocal),
            bounds: Bounds::of_raster(extent),
        }
    }

    /// The gradients at a site; `cell` is its Voronoi cell.
    #[inline(always)]
    fn gradients_at(&self, site: u32, cell: &impl Region) -> [[f32; 2]; N] {
        let of_sites = self.sites.values();
        let values = |site: u32| of_sites.of(site);
        weights::gradients(cell, values(site), values)
    }

    /// Writes the gradients at the sites of a tile, and lists the sites whose box does not suffice.
    ///
    /// # Safety
    /// The whole block comes to the same call.
    #[inline(always)]
    unsafe fn estimate_tile<const REACH: i32>(&self, tile: u32, to: Out<'_, f32>, left: Left<'_>) {
        let pixels = self.extent.map(|side| side as u32);
        let cells = Cells::of_tile::<REACH>(tile, pixels, 1);
        let mut carver = Carver::new();
        let memory = Tile::<REACH>::carve(&mut carver);
        let (places, count) = carve_sites::<REACH>(&mut carver);
        if !self.sites.are_some() {
            return;
        }
        // SAFETY: the whole block comes to the barriers, and the tile has the boxes of its pixels.
        unsafe {
            let base = cells.base(1);
            let tile = Tile::<REACH>::new(memory, base, self.extent, self.reciprocal);
            tile.gather(self.sites.nearest);
            if thread::thread_idx_x() == 0 {
                count.store(0, 0);
            }
            thread::sync_threads();
            // First the pixels that are sites, so that all threads of a warp then have one.
            cells.each(|pixel| {
                if let Some([x, y]) = pixel
                    && let Some(_) = tile.site_at([x as i32, y as i32])
                {
                    let place = (y - base[1]) << 8 | (x - base[0]);
                    places.store(count.atomic_add(0, 1), place as u16);
                }
            });
            thread::sync_threads();
            let sites = count.load(0);
            let bounds = Bounds::of_raster(self.extent);
            let mut first = 0;
            while first < sites {
                let i = first + thread::thread_idx_x();
                let (mut is_left, mut site) = (false, 0);
                if i < sites {
                    let place = places.load(i) as u32;
                    let [x, y] = [base[0] + (place & 0xff), base[1] + (place >> 8)];
                    site = y * pixels[0] + x;
                    let cell = tile.cell_of(site, bounds);
                    let gradients = self.gradients_at(site, &cell);
                    is_left = !cell.is_closed();
                    if !is_left {
                        put_gradients(to, site, gradients);
                    }
                }
                left.append(is_left, site);
                first += BLOCK;
            }
        }
    }
}

/// Writes the gradients at a site.
#[inline(always)]
fn put_gradients<const N: usize>(to: Out<'_, f32>, site: u32, gradients: [[f32; 2]; N]) {
    let mut k = 0;
    while k < N {
        let [east, south] = gradients[k];
        let of_value = to.from(2 * (N * site as usize + k));
        of_value.set(0u32, east);
        of_value.set(1u32, south);
        k += 1;
    }
}

/// The sites of a tile, as places from the first query point's pixel on, and their number.
const fn carve_sites<const REACH: i32>(
    carver: &mut Carver,
) -> (SharedArray<u16>, SharedArray<u32>) {
    let [columns, rows] = boxed_cells(REACH, 1);
    let count = carver.array(1);
    (carver.array(columns * rows), count)
}

/// The memory of a block that estimates gradients.
const fn carve_gradients<const REACH: i32>(carver: &mut Carver) {
    let _ = Tile::<REACH>::carve(carver);
    let _ = carve_sites::<REACH>(carver);
}

/// A DEM of weighted means.
#[derive(Clone, Copy)]
struct Dem<'a, const N: usize> {
    of: Weighted<'a, N>,
    lattice: Lattice,
    weights: Weights<'a>,
}

/// The data that the weights depend on, and the output.
#[arguments]
pub struct Weights<'a> {
    /// Two for each value of each pixel; only those of sites are written. Without gradients the weights are Laplace's.
    pub gradients: Option<In<'a, f32>>,
    /// Only sites nearer to the query point than this count. Squared, in half pixels.
    pub site_limit: u64,
    /// The scale of each value: as [`Scales`].
    pub scales: In<'a, f64>,
    /// The values of all cells, one value after the other.
    pub dem: Out<'a, f32>,
}

impl<'a, const N: usize> Dem<'a, N> {
    #[inline(always)]
    fn new(sites: Sites<'a>, lattice: Lattice, weights: Weights<'a>) -> Self {
        let (extent, reciprocal) = (lattice.extent(), lattice.reciprocal);
        Self { of: Weighted { sites, extent, reciprocal }, lattice, weights }
    }

    /// The values of a cell that steals these pixels; NaN if no site reaches it.
    #[inline(always)]
    fn values_of(&self, stolen: &impl Region) -> [f32; N] {
        let Weights { gradients, site_limit, scales, .. } = self.weights;
        if stolen.is_beyond(site_limit) {
            return [f32::NAN; N];
        }
        let of_sites = self.of.sites.values();
        let values = |site: u32| of_sites.of(site);
        let means = if let Some(gradients) = gradients {
            let gradients = |site: u32| {
                let mut all = [[0.0; 2]; N];
                let mut k = 0;
                while k < N {
                    let of_value = gradients.from(2 * (N * site as usize + k));
                    all[k] = [of_value.get(0u32), of_value.get(1u32)];
                    k += 1;
                }
                all
            };
            weights::smooth(stolen, site_limit, values, gradients)
        } else {
            weights::laplace(stolen, site_limit, values)
        };
        let scale = |k: usize| Scales(scales).of(k);
        weights::weighted_values(means, stolen, site_limit, values, scale)
    }

    /// Writes the values of a cell.
    #[inline(always)]
    fn put(&self, cell: u32, values: [f32; N]) {
        let Lattice { columns, rows, .. } = self.lattice;
        let mut k = 0;
        while k < N {
            let plane = k * (columns as usize * rows as usize);
            self.weights.dem.set(plane + cell as usize, values[k]);
            k += 1;
        }
    }

    /// Interpolates the cells of a tile, and lists those whose box does not suffice.
    ///
    /// # Safety
    /// The whole block comes to the same call.
    #[inline(always)]
    unsafe fn query_tile<const REACH: i32>(&self, tile: u32, left: Left<'_>) {
        let Lattice { columns, rows, supersample, .. } = self.lattice;
        let cells = Cells::of_tile::<REACH>(tile, [columns, rows], supersample);
        let memory = Tile::<REACH>::carve(&mut Carver::new());
        // SAFETY: the whole block comes to the barrier, and the tile has the boxes of its cells.
        unsafe {
            let (base, extent) = (cells.base(supersample), self.of.extent);
            let tile = Tile::<REACH>::new(memory, base, extent, self.of.reciprocal);
            let has_sites = self.of.sites.are_some();
            if has_sites {
                tile.gather(self.of.sites.nearest);
            }
            thread::sync_threads();
            let bounds = Bounds::of_raster(extent);
            cells.each(|cell| {
                let (mut is_left, mut number) = (false, 0);
                if let Some([column, row]) = cell {
                    let mut values = [f32::NAN; N];
                    if has_sites {
                        let q = query_point(column, row, supersample);
                        let stolen = tile.stolen_by(q, bounds);
                        values = self.values_of(&stolen);
                        is_left = !stolen.is_closed();
                    }
                    number = row * columns + column;
                    if !is_left {
                        self.put(number, values);
                    }
                }
                left.append(is_left, number);
            });
        }
    }
}

/// Writes the gradients of every site, by [`gradients`](weights::gradients). Sites whose cells do not end in a box are
/// listed for [`mod@gradients_left`].
///
/// Grid: one block for [`boxed_cells`] of a supersampling of 1, in pixels, row by row of tiles.
///
/// # Safety
/// The slices have what [`Sites`], with `N` values, says, for a raster of these columns and rows; `reciprocal` is that
/// of its width. `gradients` has two elements for each value of each pixel. [`Left`] has an entry for each site.
#[kernel(
    block = BLOCK,
    carve = |carver| carve_gradients::<REACH>(carver),
    key: (usize, i32) = (N, REACH),
    instances(
        one_small: <1, SMALL>, resident = 3;
        two_small: <2, SMALL>, resident = 3;
        four_small: <4, SMALL>, resident = 2;
        one_medium: <1, MEDIUM>, resident = 3;
        two_medium: <2, MEDIUM>, resident = 3;
        four_medium: <4, MEDIUM>, resident = 2;
        one_large: <1, LARGE>, resident = 3;
        two_large: <2, LARGE>, resident = 3;
        four_large: <4, LARGE>, resident = 2;
    )
)]
pub unsafe fn gradients_boxed<const N: usize, const REACH: i32>(
    sites: Sites<'_>,
    extent: [i32; 2],
    reciprocal: u64,
    gradients: Out<'_, f32>,
    left: Left<'_>,
) {
    let all = Weighted::<N> { sites, extent, reciprocal };
    // SAFETY: the whole block is here.
    unsafe { all.estimate_tile::<REACH>(thread::block_idx_x(), gradients, left) };
}

/// Writes the gradients of the sites of a list. Grid: any; warps take sites until none is left.
///
/// # Safety
/// As for [`mod@gradients_boxed`], which has made the list.
#[kernel(block = 128, instances(one: <1>; two: <2>; four: <4>))]
pub unsafe fn gradients_left<const N: usize>(
    sites: Sites<'_>,
    extent: [i32; 2],
    reciprocal: u64,
    gradients: Out<'_, f32>,
    left: Left<'_>,
) {
    let all = Weighted::<N> { sites, extent, reciprocal };
    // SAFETY: all warps are whole, and the list is complete.
    unsafe {
        left.each(|site| {
            let diagram = all.diagram();
            put_gradients(gradients, site, all.gradients_at(site, &diagram.cell_of(site)));
        });
    }
}

/// Interpolates every cell without a circle, by Laplace's weights or, with gradients, by Sibson's smooth interpolant.
/// Cells whose box does not suffice are listed for [`mod@weighted_left`].
///
/// Grid: one block for [`boxed_cells`], row by row of tiles.
///
/// # Safety
/// The slices have what [`Sites`], with `N` values, and [`Weights`] say, of this lattice; [`Left`] has an entry for
/// each cell.
#[kernel(
    block = BLOCK,
    carve = |carver| Tile::<REACH>::carve(carver),
    key: (usize, i32) = (N, REACH),
    instances(
        one_small: <1, SMALL>, resident = 3;
        two_small: <2, SMALL>, resident = 2;
        four_small: <4, SMALL>, resident = 2;
        one_medium: <1, MEDIUM>, resident = 2;
        two_medium: <2, MEDIUM>, resident = 2;
        four_medium: <4, MEDIUM>, resident = 2;
        one_large: <1, LARGE>, resident = 2;
        two_large: <2, LARGE>, resident = 2;
        four_large: <4, LARGE>, resident = 2;
    )
)]
pub unsafe fn weighted_boxed<const N: usize, const REACH: i32>(
    sites: Sites<'_>,
    weights: Weights<'_>,
    lattice: Lattice,
    left: Left<'_>,
) {
    let dem = Dem::<N>::new(sites, lattice, weights);
    // SAFETY: the whole block is here.
    unsafe { dem.query_tile::<REACH>(thread::block_idx_x(), left) };
}

/// Interpolates the cells of a list by the same weights, row by row. Grid: any; warps take cells until none is left.
///
/// # Safety
/// As for [`mod@weighted_boxed`], which has made the list.
#[kernel(block = 128, instances(one: <1>; two: <2>; four: <4>))]
pub unsafe fn weighted_left<const N: usize>(
    sites: Sites<'_>,
    weights: Weights<'_>,
    lattice: Lattice,
    left: Left<'_>,
) {
    let dem = Dem::<N>::new(sites, lattice, weights);
    // SAFETY: all warps are whole, and the list is complete.
    unsafe {
        left.each(|cell| {
            let row = cell.checked_div(lattice.columns).unwrap_or(0);
            let q = query_point(cell - row * lattice.columns, row, lattice.supersample);
            let diagram = dem.of.diagram();
            dem.put(cell, dem.values_of(&diagram.stolen_by(q)));
        });
    }
}
