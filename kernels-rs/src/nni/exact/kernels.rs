//! The kernels: see the [module](super) for the plan.

use device_std::{In, Out, arguments, kernel, math, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::half_edges::LinkedStars;
use super::merge::Merge;
use super::scene::{Answer, Cell, Scene, Sites};
use super::star_arrays::StarArrays;
use super::weights::{LINEAR, SIBSON, SMOOTH};
use crate::nni::tallies::{LEFT, OUTSIDE, SITES, count_flags};
use crate::stars::predicates::{Decide, Decided, Predicates, Quick, sure};

/// Threads of a block of the kernels over points and sites.
const BLOCK: u32 = 256;

/// Threads of a block of [`mod@interpolate_cells`].
const CELLS_BLOCK: u32 = 64;

/// Columns of a patch of cells, which a warp takes.
pub const PATCH_COLUMNS: u32 = 8;

/// Rows of a patch.
pub const PATCH_ROWS: u32 = 4;

/// Cells of a patch.
pub const OF_PATCH: u32 = PATCH_COLUMNS * PATCH_ROWS;

/// Writes x and y of each of `len` sites side by side. Grid: a thread for each site.
///
/// # Safety
/// The columns have `len` elements, `places` twice as many.
#[kernel(block = BLOCK)]
pub unsafe fn pair_places(x: In<'_, f64>, y: In<'_, f64>, len: u32, places: Out<'_, f64>) {
    let i = thread::index_1d();
    if i < len as u64 {
        places.set(2 * i, x.get(i));
        places.set(2 * i + 1, y.get(i));
    }
}

/// Writes the middle of each patch of cells, of rows of `across` patches. Grid: a thread for each of `len` patches.
///
/// # Safety
/// `x` and `y` have `len` elements.
#[kernel(block = BLOCK)]
pub unsafe fn find_middles(scene: Scene, across: u32, len: u32, x: Out<'_, f64>, y: Out<'_, f64>) {
    let i = thread::index_1d() as u32;
    if i < len {
        let row = i.checked_div(across).unwrap_or(0);
        let column = (i - row * across) * PATCH_COLUMNS + PATCH_COLUMNS / 2;
        let [east, north] = scene.centre(column, row * PATCH_ROWS + PATCH_ROWS / 2);
        x.set(i, east);
        y.set(i, north);
    }
}

/// Writes, for each of `sites` sites, where its points begin among points sorted by their sites, and at the end where
/// the last ones end. Every site has points. Grid: a thread for each of `len` points.
///
/// # Safety
/// `sorted` has `len` elements, `firsts` one more than there are sites.
#[kernel(block = BLOCK)]
pub unsafe fn find_members(sorted: In<'_, u32>, len: u32, sites: u32, firsts: Out<'_, u32>) {
    let i = thread::index_1d() as u32;
    if i >= len {
        return;
    }
    if i == 0 || sorted.get(i) != sorted.get(i - 1) {
        firsts.set(sorted.get(i), i);
    }
    if i == 0 {
        firsts.set(sites, len);
    }
}

/// The values and gradients of sites.
#[arguments]
pub struct SiteValues<'a> {
    /// The values of each site.
    pub values: In<'a, i32>,
    /// Two numbers for each value of each site, if gradients are wanted.
    pub gradients: Option<In<'a, f32>>,
    /// For each value: as [`Scales`](crate::nni::pixels::values::Scales).
    pub scales: In<'a, f64>,
    /// Values of a site.
    pub count: u32,
}

impl Sites for SiteValues<'_> {
    #[inline(always)]
    fn values(&self) -> u32 {
        self.count
    }
    #[inline(always)]
    fn value(&self, site: u32, k: u32) -> i32 {
        self.values.get(site as u64 * self.count as u64 + k as u64)
    }
    #[inline(always)]
    fn gradient(&self, site: u32, k: u32) -> [f32; 2] {
        let at = 2 * (site as u64 * self.count as u64 + k as u64);
        self.gradients.map_or([0.0; 2], |all| [all.get(at), all.get(at + 1)])
    }
    #[inline(always)]
    fn scale(&self, k: u32) -> [f64; 2] {
        [self.scales.get(3 * k), self.scales.get(3 * k + 1)]
    }
}

/// Where the results of cells go.
#[arguments]
pub struct Layers<'a> {
    /// All cells' first value, then all cells' second, and so on.
    pub values: Out<'a, f32>,
    /// `count` of each cell's [`Answer`], if wanted.
    pub counts: Option<Out<'a, u32>>,
    /// `distance` of each cell's [`Answer`], if wanted.
    pub distances: Option<Out<'a, f32>>,
    /// `deviation` of each cell's [`Answer`], if wanted.
    pub deviations: Option<Out<'a, f32>>,
}

impl Layers<'_> {
    #[inline(always)]
    fn put(&self, cell: u64, answer: Answer) {
        if let Some(counts) = self.counts {
            counts.set(cell, answer.count);
        }
        if let Some(distances) = self.distances {
            distances.set(cell, answer.distance);
        }
        if let Some(deviations) = self.deviations {
            deviations.set(cell, answer.deviation);
        }
    }
}

/// Counts the points outside of a grid; `grid` has its western edge, northern edge and cell size. Grid: a thread a
/// point.
///
/// # Safety
/// `x` and `y` have `points` elements, `tallies` [`TALLIES`](crate::nni::tallies::TALLIES).
#[kernel(block = BLOCK)]
pub unsafe fn count_outside(
    x: In<'_, f64>,
    y: In<'_, f64>,
    points: u64,
    grid: [f64; 3],
    columns: u32,
    rows: u32,
    tallies: Out<'_, u64>,
) {
    let i = thread::index_1d();
    let mut is_outside = false;
    if i < points {
        let column = math::floor((x.get(i) - grid[0]) / grid[2]);
        let row = math::floor((grid[1] - y.get(i)) / grid[2]);
        let is_inside = column >= 0.0 && row >= 0.0 && column < columns as f64 && row < rows as f64;
        is_outside = !is_inside;
    }
    // SAFETY: all threads of the block come here.
    unsafe { count_flags(is_outside, tallies, OUTSIDE) };
}

/// Writes the merged values of sites, and counts the sites. Grid: a thread a site.
///
/// # Safety
/// `firsts` has one element more than there are `sites`: where the points of each begin in `members`, and where they
/// end. `z` has an element for each of `points` points in each of `count` columns of values, one column after the
/// other. `scales` has a scale for each value, and `values` has `count` elements for each site. `tallies` has
/// [`TALLIES`](crate::nni::tallies::TALLIES) elements.
#[kernel(block = BLOCK)]
pub unsafe fn merge_values(
    firsts: In<'_, u32>,
    members: In<'_, u32>,
    sites: u32,
    z: In<'_, f64>,
    points: u64,
    scales: In<'_, f64>,
    count: u32,
    policy: u32,
    values: Out<'_, i32>,
    tallies: Out<'_, u64>,
) {
    let site = thread::index_1d();
    let is_site = site < sites as u64;
    if is_site {
        let mut k = 0;
        while k < count {
            let (offset, reciprocal_step) = (scales.get(3 * k), scales.get(3 * k + 2));
            let mut merge = Merge::new(policy);
            let (mut at, end) = (firsts.get(site), firsts.get(site + 1));
            while at < end {
                let z = z.get(k as u64 * points + members.get(at) as u64);
                merge.add(math::round_ties_even((z - offset) * reciprocal_step) as i32);
                at += 1;
            }
            values.set(site * count as u64 + k as u64, merge.value());
            k += 1;
        }
    }
    // SAFETY: all threads of the block come here.
    unsafe { count_flags(is_site, tallies, SITES) };
}

/// Estimates the gradients of every site. Grid: a thread a site.
///
/// # Safety
/// The slices have what [`struct@StarArrays`] and [`struct@SiteValues`] say; `gradients` has two elements for each
/// value of a site.
#[kernel(block = BLOCK)]
pub unsafe fn fit_gradients(
    scene: Scene,
    stars: StarArrays<'_>,
    sites: SiteValues<'_>,
    gradients: Out<'_, f32>,
) {
    let site = thread::index_1d();
    if site >= stars.sites as u64 {
        return;
    }
    scene.gradients(&stars, &sites, site as u32, |k, [east, north]| {
        let at = 2 * (site * sites.count as u64 + k as u64);
        gradients.set(at, east);
        gradients.set(at + 1, north);
    });
}

/// The cells of a DEM, and what they are interpolated from. A warp takes a patch of [`PATCH_COLUMNS`] by [`PATCH_ROWS`]
/// cells; patches lie row by row.
#[arguments]
pub struct Cells<'a> {
    /// The DEM and the options.
    pub scene: Scene,
    /// The stars of the sites.
    pub stars: LinkedStars<'a>,
    /// The values of the sites.
    pub sites: SiteValues<'a>,
    /// A site for each patch, if there are sites.
    pub hints: In<'a, u32>,
    /// 0 for each cell that gets no value.
    pub mask: Option<In<'a, u8>>,
    /// The results.
    pub layers: Layers<'a>,
}

impl Cells<'_> {
    /// Interpolates a cell of a patch, if the DEM has it. Returns whether the cell has no value in the end.
    #[inline(always)]
    fn interpolate<const WEIGHTS: u32, D: Decide>(
        &self,
        [patch, within]: [u32; 2],
        predicates: &D,
    ) -> Decided<bool, D> {
        let scene = &self.scene;
        let across = scene.columns.div_ceil(PATCH_COLUMNS);
        let patch_row = patch.checked_div(across).unwrap_or(0);
        let column = (patch - patch_row * across) * PATCH_COLUMNS + within % PATCH_COLUMNS;
        let row = patch_row * PATCH_ROWS + within / PATCH_COLUMNS;
        if column >= scene.columns || row >= scene.rows {
            return Ok(false);
        }
        let at = row as u64 * scene.columns as u64 + column as u64;
        let cells = scene.rows as u64 * scene.columns as u64;
        let is_masked = self.mask.is_some_and(|mask| mask.get(at) == 0);
        let mut hint = if self.stars.stars.sites > 0 { Some(self.hints.get(patch)) } else { None };
        let mut is_empty = false;
        let write = |k: u32, value: f32| {
            is_empty = value.is_nan();
            self.layers.values.set(k as u64 * cells + at, value);
        };
        let (stars, cell) = ((&self.stars, predicates), Cell { column, row, is_masked });
        let answer =
            scene.interpolate::<WEIGHTS, _, _, _>(stars, &self.sites, cell, &mut hint, write)?;
        self.layers.put(at, answer);
        Ok(is_empty)
    }

    /// The exact predicates.
    #[inline(always)]
    fn predicates(&self) -> Predicates {
        Predicates::new(self.scene.unit)
    }
}

/// Interpolates the cells of the DEM that f64 decides, and counts cells without a value in the end. `hard` has a word
/// for each patch, with a bit for each cell that f64 leaves undecided. Grid: a warp for each of `patches` patches. If
/// `WEIGHTS` takes a weighted mean, the scene says whether the weights are Sibson's or Laplace's.
///
/// # Safety
/// The slices have what [`struct@LinkedStars`], [`struct@SiteValues`] and [`struct@Layers`] say; `hints` and `hard` have
/// an element for each patch, `mask` for each cell; `tallies` has [`TALLIES`](crate::nni::tallies::TALLIES).
// Spills cost less than fewer warps: with 64 registers a thread cells take 10.4 ms, with 128 and nothing spilled 13.8.
#[kernel(
    block = CELLS_BLOCK,
    resident = 16,
    instances(mean: <SIBSON>, spills = 550; smooth: <SMOOTH>, spills = 800; linear: <LINEAR>, spills = 200)
)]
pub unsafe fn interpolate_cells<const WEIGHTS: u32>(
    cells: Cells<'_>,
    patches: u32,
    hard: Out<'_, u32>,
    tallies: Out<'_, u64>,
) {
    let patch = (thread::index_1d() / u64::from(OF_PATCH)) as u32;
    let lane = warp::lane_id();
    if patch >= patches {
        return;
    }
    let decided = cells.interpolate::<WEIGHTS, _>([patch, lane], &Quick(cells.predicates()));
    // SAFETY: the whole warp comes here.
    unsafe {
        let left = warp::ballot(warp::FULL, decided.is_err());
        if lane == 0 {
            hard.set(patch, left);
        }
        count_flags(matches!(decided, Ok(true)), tallies, LEFT);
    }
}

/// Interpolates the undecided cells, with exact decisions. Grid: any number of warps, which take 32 patches in turns.
///
/// # Safety
/// As [`interpolate_cells`](mod@interpolate_cells), which has run.
// The sums of 2048 bits lie in local memory, 512 bytes. The other spills are around calls of exact decisions.
#[kernel(
    block = CELLS_BLOCK,
    resident = 8,
    instances(mean: <SIBSON>, spills = 1100; smooth: <SMOOTH>, spills = 1200; linear: <LINEAR>, spills = 600)
)]
pub unsafe fn interpolate_hard_cells<const WEIGHTS: u32>(
    cells: Cells<'_>,
    patches: u32,
    hard: In<'_, u32>,
    tallies: Out<'_, u64>,
) {
    let lane = warp::lane_id();
    let mut first = thread::index_1d() as u32 - lane;
    // SAFETY: the whole warp comes here.
    unsafe {
        while first < patches {
            let own = if first + lane < patches { hard.get(first + lane) } else { 0 };
            let mut left = warp::ballot(warp::FULL, own != 0);
            while left != 0 {
                let i = left.trailing_zeros();
                left &= left - 1;
                let is_hard = warp::shuffle(warp::FULL, own, i) >> lane & 1 == 1;
                let cell = [first + i, lane];
                let is_empty =
                    is_hard && sure(cells.interpolate::<WEIGHTS, _>(cell, &cells.predicates()));
                count_flags(is_empty, tallies, LEFT);
            }
            first += thread::grid_dim_x() * CELLS_BLOCK;
        }
    }
}
