//! The queries by Sibson's areas: the sums of each, and the query of a cell [row by row](super::spans).

#[cfg(feature = "nni")]
use device_std::kernel;
use device_std::{In, Out, arguments, math, thread};

#[cfg(all(feature = "nni", not(target_arch = "nvptx64")))]
use super::MODULE;
use super::geometry::{Width, means};
use super::region::{Bounds, Neighbour, Region};
use super::spans::Diagram;
#[cfg(feature = "nni")]
use super::values::place_of;
use super::values::{Scales, Sites};

/// Cells of a block in x.
pub const COLUMNS: u32 = 32;
/// Cells of a block in y.
pub const ROWS: u32 = 8;

/// The sums of an area-weighted query.
#[derive(Clone, Copy)]
pub struct Areas<const N: usize> {
    /// How many pixels it steals.
    pub count: u32,
    /// The sum of each value over these pixels' sites.
    pub sums: [i64; N],
    /// The sum of the vectors to these sites, in half pixels.
    pub way: [i64; 2],
}

/// The distance from the query point to the mean of the counted sites' places, weighted as their values, in cells: 0
/// for exact weights.
#[inline(always)]
pub fn deviation<const N: usize>(areas: &Areas<N>, supersample: u32) -> f32 {
    if areas.count == 0 {
        return f32::NAN;
    }
    let (x, y) = (areas.way[0] as f64, areas.way[1] as f64);
    (math::sqrt(x * x + y * y) / areas.count as f64 / (2 * supersample) as f64) as f32
}

impl<const N: usize> Areas<N> {
    /// Empty sums.
    pub(super) const NONE: Self = Self { count: 0, sums: [0; N], way: [0; 2] };

    /// Sums what a query point steals from the sites that reach it. If it steals nothing, sums the sites that touch it.
    ///
    /// `before` gives the sums of the values of all pixels before one; it is allowed only if there is no site limit.
    /// Then a row takes two reads, however many sites it has, and the vectors are not summed.
    #[inline(always)]
    pub fn of(
        cell: &impl Region,
        site_limit: u64,
        values: impl Fn(u32) -> [i32; N],
        before: Option<impl Fn(usize) -> [i64; N]>,
    ) -> Self {
        let mut areas = Self::NONE;
        if cell.is_beyond(site_limit) {
            return areas;
        }
        match before {
            Some(before) => cell.rows(|y, first, last| {
                if first <= last {
                    let start = cell.position().index(first, y);
                    let pixels = (last - first + 1) as u32;
                    areas.count += pixels;
                    let (from, to) = (before(start), before(start + pixels as usize));
                    let mut k = 0;
                    while k < N {
                        areas.sums[k] += to[k].wrapping_sub(from[k]);
                        k += 1;
                    }
                }
            }),
            None => cell.in_any_order(site_limit, |site, pixels| {
                areas.add(site, pixels, values(site.site));
            }),
        }
        if areas.count == 0 { Self::touching(cell, site_limit, values) } else { areas }
    }

    /// Sums the sites that touch a query point that steals nothing.
    #[inline(always)]
    pub fn touching(cell: &impl Region, site_limit: u64, values: impl Fn(u32) -> [i32; N]) -> Self {
        let mut areas = Self::NONE;
        cell.touching_sites(|site| {
            if (site.squared() as u64) < site_limit {
                areas.add(site, 1, values(site.site));
            }
        });
        areas
    }

    #[inline(always)]
    fn add(&mut self, site: Neighbour, pixels: u32, values: [i32; N]) {
        self.count += pixels;
        // A run is shorter than 2^31 pixels, and a product of two numbers of 32 bits is one instruction.
        let pixels = pixels as i32 as i64;
        let mut k = 0;
        while k < N {
            self.sums[k] += pixels * values[k] as i64;
            k += 1;
        }
        self.way[0] += pixels * site.dx as i64;
        self.way[1] += pixels * site.dy as i64;
    }
}

/// The distance from the sums of one value to the sums of the next: an element for each pixel and one more, rounded up
/// to an even number. So each value's sums start at a multiple of 16 bytes.
#[inline(always)]
pub const fn sum_plane(pixels: usize) -> usize {
    (pixels + 2) & !1
}

/// The query point of a cell of the DEM, in half pixels.
#[inline(always)]
pub(super) fn query_point(column: u32, row: u32, supersample: u32) -> [i32; 2] {
    [column, row].map(|i| (supersample * (2 * i + 1)) as i32)
}

/// The cells of a DEM, and how they lie over the pixels of the raster.
#[arguments]
pub struct Lattice {
    /// Columns of cells.
    pub columns: u32,
    /// Rows of cells.
    pub rows: u32,
    /// The reciprocal of the raster's width: [`Width::reciprocal`](super::geometry::Width::reciprocal).
    pub reciprocal: u64,
    /// Pixels along a cell's side.
    pub supersample: u32,
}

impl Lattice {
    /// Columns and rows of the raster.
    #[inline(always)]
    pub(super) fn extent(&self) -> [i32; 2] {
        [self.columns, self.rows].map(|side| (self.supersample * side) as i32)
    }
}

/// The part of the raster that a query reads.
#[arguments]
pub struct Limits<'a> {
    /// For each row of the query circle, from the top, how many of its pixels lie to the left of the query point; as
    /// many lie to the right. Empty without a circle.
    pub spans: In<'a, i32>,
    /// The rows of the query circle; `i32::MAX` without one.
    pub span_rows: u32,
    /// Only sites nearer to the query point than this count. Squared, in half pixels.
    pub site_limit: u64,
}

/// Where queries write.
#[arguments]
pub struct Results<'a> {
    /// The scale of each value: as [`Scales`].
    pub scales: In<'a, f64>,
    /// The values of all cells, one value after the other.
    pub dem: Out<'a, f32>,
    /// How many pixels each cell stole.
    pub counts: Option<Out<'a, u32>>,
}

/// A DEM, with the data that its queries read.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a, const N: usize> {
    pub sites: Sites<'a>,
    pub limits: Limits<'a>,
    pub lattice: Lattice,
    pub results: Results<'a>,
    /// For each value the sums of all pixels before each.
    pub sums: Option<In<'a, i64>>,
    pub deviations: Option<Out<'a, f32>>,
}

impl<const N: usize> Scene<'_, N> {
    /// The part of the raster that queries read.
    #[inline(always)]
    pub fn bounds(&self) -> Bounds<impl Fn(i32) -> i32 + Copy> {
        let spans = self.limits.spans;
        Bounds {
            extent: self.lattice.extent(),
            circle_rows: self.limits.span_rows as i32,
            reach: move |k: i32| spans.get(k as usize),
        }
    }

    /// Interpolates a cell of the DEM row by row.
    #[inline(always)]
    pub fn query(&self, column: u32, row: u32) {
        let bounds = self.bounds();
        let extent = bounds.extent;
        let nearest =
            |x: i32, y: i32| self.sites.nearest.get(y as i64 * extent[0] as i64 + x as i64);
        let width = Width::new(extent[0] as u32, self.lattice.reciprocal);
        let diagram = Diagram { nearest, width, bounds };
        let mut areas = Areas::NONE;
        if self.sites.are_some() {
            let plane = sum_plane(extent[0] as usize * extent[1] as usize);
            let before = self.sums.map(|all| {
                move |pixel: usize| {
                    let mut sums = [0; N];
                    let mut k = 0;
                    while k < N {
                        sums[k] = all.get(k * plane + pixel);
                        k += 1;
                    }
                    sums
                }
            });
            let cell = diagram.stolen_by(query_point(column, row, self.lattice.supersample));
            let values = |site: u32| self.sites.values().of(site);
            areas = Areas::of(&cell, self.limits.site_limit, values, before);
        }
        self.put(column, row, &areas);
    }

    /// Writes the results of a cell of the DEM.
    #[inline(always)]
    pub fn put(&self, column: u32, row: u32, areas: &Areas<N>) {
        let Lattice { columns, rows, supersample, .. } = self.lattice;
        let Results { scales, dem, counts } = self.results;
        let index = row as usize * columns as usize + column as usize;
        let values = means(areas.sums, areas.count, |k| Scales(scales).of(k));
        let mut k = 0;
        while k < N {
            dem.set(k * (columns as usize * rows as usize) + index, values[k]);
            k += 1;
        }
        if let Some(counts) = counts {
            counts.set(index, areas.count);
        }
        if let Some(deviations) = self.deviations {
            deviations.set(index, deviation(areas, supersample));
        }
    }

    /// Interpolates the cells of listed tiles, of `tile` cells in x and y: the blocks take [`COLUMNS`] by [`ROWS`]
    /// cells of a tile in turn. `listed` has the number of tiles, then the tiles.
    #[inline(always)]
    fn query_listed(&self, listed: In<'_, u32>, tile: [u32; 2]) {
        let ([tile_columns, tile_rows], Lattice { columns, rows, .. }) = (tile, self.lattice);
        let tiles_x = columns.checked_div(tile_columns).unwrap_or(0)
            + (columns.checked_rem(tile_columns).unwrap_or(0) > 0) as u32;
        let parts_x = tile_columns / COLUMNS;
        let parts = parts_x * (tile_rows / ROWS);
        let work = listed.get(0u32) * parts;
        let mut item = thread::block_idx_x();
        while item < work {
            let number = item.checked_div(parts).unwrap_or(0);
            let part = item - number * parts;
            let tile = listed.get(1 + number as usize);
            let tile_row = tile.checked_div(tiles_x).unwrap_or(0);
            let part_row = part.checked_div(parts_x).unwrap_or(0);
            let thread = thread::thread_idx_x();
            let column = (tile - tile_row * tiles_x) * tile_columns
                + (part - part_row * parts_x) * COLUMNS
                + thread % COLUMNS;
            let row = tile_row * tile_rows + part_row * ROWS + thread / COLUMNS;
            if column < columns && row < rows {
                self.query(column, row);
            }
            item += thread::grid_dim_x();
        }
    }
}

/// Interpolates the cells of listed tiles, of `tile_columns` by `tile_rows` cells, row by row within a circle. `listed`
/// has the number of tiles, then the tiles.
///
/// Grid: any; each block takes [`COLUMNS`] by [`ROWS`] cells of a tile in turn.
///
/// # Safety
/// The slices have what [`Sites`], with `N` values, [`Limits`] and [`Results`] say, of this lattice. The sides of a
/// tile are multiples of those of a block.
#[cfg(feature = "nni")]
#[kernel(block = COLUMNS * ROWS, instances(one: <1>; two: <2>; four: <4>))]
pub unsafe fn query_listed<const N: usize>(
    sites: Sites<'_>,
    limits: Limits<'_>,
    lattice: Lattice,
    listed: In<'_, u32>,
    tile: [u32; 2],
    results: Results<'_>,
) {
    let scene = Scene::<N> { sites, limits, lattice, results, sums: None, deviations: None };
    scene.query_listed(listed, tile);
}

/// Writes the values of every pixel's site, and zeros after the last pixel. A scan turns them into the sums of the
/// values of all pixels before each.
///
/// Grid: one thread for every pixel, and one more.
///
/// # Safety
/// The slices have what [`Sites`] says, with `value_count` values, of `pixels` pixels; `sums` has [`sum_plane`]
/// elements for each value.
#[cfg(feature = "nni")]
#[kernel(block = 256)]
pub unsafe fn gather_sums(sites: Sites<'_>, value_count: u32, sums: Out<'_, i64>, pixels: u64) {
    let pixel = thread::index_1d();
    if pixel > pixels {
        return;
    }
    let p = pixel as usize;
    let is_pixel = pixel < pixels && sites.are_some();
    let place = if is_pixel { place_of(sites.nearest.get(p), sites.turned) } else { 0 };
    let mut k = 0;
    while k < value_count as usize {
        let mut value = 0;
        if is_pixel {
            value = sites.values.get(place * value_count as usize + k);
        }
        sums.set(k * sum_plane(pixels as usize) + p, value as i64);
        k += 1;
    }
}
