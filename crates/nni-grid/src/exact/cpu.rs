//! The exact method on the CPU, on all cores.

use std::ops::Range;

use gpu_core::parallel::{self, FINE};
use gpu_core::{Extent, Grid, Progress, host_memory};
use kernels_rs::nni::exact::index::{Merge, PLACE_BITS, Sorted, drawn_in, key};
use kernels_rs::nni::exact::polygon::Slots;
use kernels_rs::nni::exact::rings::{
    MOST_CLIPPED_SIDES, MOST_SIDES, Ring, Rings, few_ringless, most_wide,
};
use kernels_rs::nni::exact::scene::{Answer, Cell, Scene, Sites};
use kernels_rs::nni::exact::search::{Index, NEAR};
use kernels_rs::nni::exact::team::Alone;
use kernels_rs::spatial::cells::Cells;

use super::{Hull, Setup, count_within, policy_of, row_bounds};
use crate::{Dem, Input, Params, Result, Summary, ValueScale, Weights};

/// A side of a polygon.
#[derive(Clone, Copy, Default)]
struct Side {
    corner: [f64; 2],
    share: f64,
    time: f64,
    line: u32,
}

/// Slots that a thread uses again and again.
pub(super) struct OnHost(Vec<Side>);

impl OnHost {
    pub(super) fn new() -> Self {
        Self(vec![Side::default(); 64])
    }

    /// Calls `attempt` with more and more slots until they suffice.
    pub(super) fn until<T>(&mut self, mut attempt: impl FnMut(&mut Self) -> Option<T>) -> T {
        loop {
            if let Some(done) = attempt(self) {
                return done;
            }
            let more = 2 * self.0.len();
            self.0.resize(more, Side::default());
        }
    }
}

impl Slots for OnHost {
    fn capacity(&self) -> u32 {
        self.0.len() as u32
    }
    fn corner(&self, i: u32) -> [f64; 2] {
        self.0[i as usize].corner
    }
    fn set_corner(&mut self, i: u32, corner: [f64; 2]) {
        self.0[i as usize].corner = corner;
    }
    fn line(&self, i: u32) -> u32 {
        self.0[i as usize].line
    }
    fn set_line(&mut self, i: u32, line: u32) {
        self.0[i as usize].line = line;
    }
    fn share(&self, i: u32) -> f64 {
        self.0[i as usize].share
    }
    fn set_share(&mut self, i: u32, share: f64) {
        self.0[i as usize].share = share;
    }
    fn time(&self, i: u32) -> f64 {
        self.0[i as usize].time
    }
    fn set_time(&mut self, i: u32, time: f64) {
        self.0[i as usize].time = time;
    }
    fn move_sides(&mut self, [first, end]: [u32; 2], to: u32, _: bool) {
        self.0.copy_within(first as usize..end as usize, to as usize);
    }
}

/// Sites sorted by cells, with their values.
pub(super) struct Table {
    pub(super) cells: Cells,
    places: Vec<[f64; 2]>,
    pub(super) starts: Vec<u32>,
    values: Vec<i32>,
    rings: Vec<RingsOfSome>,
    /// Sites without a ring that have a wide one, sorted, and these.
    wide_sites: Vec<u32>,
    wide: RingsOfSome,
    gradients: Vec<[f32; 2]>,
    scales: Vec<ValueScale>,
    /// The hull of the sites, where cells outside have no end.
    hull: Option<Hull>,
}

/// Sites whose rings lie together.
const TOGETHER: usize = 4096;

/// The rings of some sites, one after the other.
#[derive(Default)]
struct RingsOfSome {
    /// Where each site's begins, and where the last ends.
    starts: Vec<u32>,
    corners: Vec<[f64; 2]>,
    neighbours: Vec<u32>,
}

impl RingsOfSome {
    /// Those of some sites, by what is near.
    fn near(sites: Range<usize>, table: &Table) -> Self {
        let index = table.index();
        let mut all = Self { starts: vec![0], ..Self::default() };
        let mut sides = [(0, [0.0; 2]); MOST_SIDES as usize];
        for site in sites {
            let len = index.ring::<false>(site as u32, |i, neighbour, corner| {
                sides[i as usize] = (neighbour, corner);
            });
            all.push(&sides[..len as usize]);
        }
        all
    }

    /// The same sites' from `first` on, and of those without a ring by what is far.
    fn or_far(&self, first: usize, table: &Table) -> Self {
        let index = table.index();
        let mut all = Self { starts: vec![0], ..Self::default() };
        let mut sides = [(0, [0.0; 2]); MOST_SIDES as usize];
        for at in 0..self.starts.len() - 1 {
            let near = self.of(at);
            let mut len = near.sides();
            for i in 0..len {
                sides[i as usize] = (near.neighbour(i), near.corner(i));
            }
            if len == 0 {
                len = index.ring::<true>((first + at) as u32, |i, neighbour, corner| {
                    sides[i as usize] = (neighbour, corner);
                });
            }
            all.push(&sides[..len as usize]);
        }
        all
    }

    /// Adds a ring.
    fn push(&mut self, sides: &[(u32, [f64; 2])]) {
        self.neighbours.extend(sides.iter().map(|side| side.0));
        self.corners.extend(sides.iter().map(|side| side.1));
        self.starts.push(self.corners.len() as u32);
    }

    fn of(&self, at: usize) -> RingOnHost<'_> {
        let sides = self.starts[at] as usize..self.starts[at + 1] as usize;
        RingOnHost { neighbours: &self.neighbours[sides.clone()], corners: &self.corners[sides] }
    }
}

impl Table {
    /// Sorts points by cells and merges those at the same place.
    pub(super) fn new(
        input: &Input,
        extent: &Extent,
        setup: &Setup,
        params: &Params,
    ) -> Result<Self> {
        let (x, y, columns) = (input.points.x, input.points.y, input.points.values);
        let drawn = setup.drawn_to.map(|to| draw_in([x, y], to, setup, params)).transpose()?;
        let [x, y] = drawn.as_ref().map_or([x, y], |drawn| drawn.each_ref().map(Vec::as_slice));
        let within = setup.has_far_points().then(|| count_within(x, y, setup.indexed));
        let cells = setup.cells(within);
        let mut keys: Vec<(u64, u32)> = host_memory::filled((0, 0), x.len())?;
        parallel::for_each(&mut keys, FINE, |i, entry| {
            *entry = (key(&cells, x[i], y[i]), i as u32);
        });
        parallel::sort_pairs(&mut keys);
        let sorted = Sorted {
            len: keys.len(),
            key: |i: usize| keys[i].0,
            point: |i: usize| keys[i].1 as usize,
            place: |point: usize| [x[point], y[point]],
        };
        let firsts = parallel::filter(keys.len() as u32, FINE, |i| sorted.is_first(i as usize));
        let mut starts = host_memory::filled(0u32, cells.len() as usize + 1)?;
        let mut next = 0;
        for (site, &first) in firsts.iter().enumerate() {
            let cell = (keys[first as usize].0 >> PLACE_BITS) as usize;
            if cell >= next {
                starts[next..=cell].fill(site as u32);
                next = cell + 1;
            }
        }
        starts[next..].fill(firsts.len() as u32);
        let scales = scales_of(extent, columns.len(), params);
        let count = scales.len();
        let mut values = host_memory::filled(0i32, firsts.len() * count)?;
        let policy = policy_of(params.duplicates);
        parallel::for_chunks(&mut values, count.max(1), |site, values| {
            for (k, value) in values.iter_mut().enumerate() {
                let mut merge = Merge::new(policy);
                sorted.each_at(firsts[site] as usize, |point| {
                    merge.add(scales[k].quantise(columns[k][point]));
                });
                *value = merge.value();
            }
        });
        let place = |site: usize| (sorted.place)((sorted.point)(firsts[site] as usize));
        let places = parallel::map(firsts.len(), FINE, place);
        let hull = setup.is_unlimited().then(|| Hull::of(&places, setup.diagonal()));
        Ok(Self {
            cells,
            places,
            starts,
            values,
            rings: Vec::new(),
            wide_sites: Vec::new(),
            wide: RingsOfSome::default(),
            gradients: Vec::new(),
            scales,
            hull,
        })
    }

    /// Makes the rings of all sites, of `points` points.
    fn make_rings(&mut self, points: usize) -> Result<()> {
        // Six sides a site, or nearly.
        host_memory::require(self.places.len() as u64 * (4 + 6 * 20))?;
        let len = self.places.len();
        self.rings = parallel::map(len.div_ceil(TOGETHER), 1, |i| {
            RingsOfSome::near(i * TOGETHER..len.min((i + 1) * TOGETHER), self)
        });
        let ringless = parallel::count(len, FINE, |site| self.of(site as u32).sides() == 0);
        if ringless > few_ringless(points as u64) {
            let mut rings = std::mem::take(&mut self.rings);
            parallel::for_each(&mut rings, 1, |i, some| {
                *some = some.or_far(i * TOGETHER, self);
            });
            self.rings = rings;
        }
        Ok(())
    }

    /// Makes the wide rings of sites that have none, unless they are many.
    fn make_wide_rings(&mut self, setup: &Setup, points: usize) {
        let sites = self.places.len() as u32;
        let ringless = parallel::filter(sites, FINE, |site| self.of(site).sides() == 0);
        if ringless.len() as u64 > most_wide(points as u64) {
            return;
        }
        let index = self.index();
        let few = || OnHost(vec![Side::default(); MOST_CLIPPED_SIDES as usize]);
        let rings = parallel::map_init(ringless.len(), 16, few, |slots, i| {
            let site = ringless[i];
            let (mut sides, half_extent) = (Vec::new(), setup.scene.half_extent);
            index.ring_by_clipping(Alone, site, half_extent, slots, |_, neighbour, corner| {
                sides.push((neighbour, corner));
            });
            (site, sides)
        });
        let mut wide = RingsOfSome { starts: vec![0], ..RingsOfSome::default() };
        let has_sides = |(_, sides): &&(u32, Vec<_>)| !sides.is_empty();
        let sites = rings.iter().filter(has_sides).map(|(site, sides)| {
            wide.push(sides);
            *site
        });
        let sites = sites.collect();
        drop(index);
        (self.wide_sites, self.wide) = (sites, wide);
    }

    pub(super) fn index(
        &self,
    ) -> Index<impl Fn(u32) -> [f64; 2] + Sync, impl Fn(u32) -> u32 + Sync> {
        Index {
            cells: self.cells,
            place: |site: u32| self.places[site as usize],
            start: |cell: u32| self.starts[cell as usize],
        }
    }

    /// Whether a cell has no site near enough to have a value, if it need not be known which is the nearest.
    fn is_too_far(&self, scene: &Scene, cell: Cell) -> bool {
        let query = scene.query(scene.centre(cell.column, cell.row), NEAR);
        let is_limited = query.give_up < f64::INFINITY;
        is_limited && self.index().nearest_of_all(&query).squared > scene.max_squared
    }

    /// Half the side of the window to clip a cell in whose centre lies clearly outside the hull; 0 where it does not, or no
    /// site is near enough. As [`Scene::window_outside`], which needs wide rings, and to go by all sites along an edge.
    fn window_outside(&self, scene: &Scene, cell: Cell) -> f64 {
        let at = scene.centre(cell.column, cell.row);
        match &self.hull {
            Some(hull) if hull.is_clearly_outside(at) => {
                scene.open_window(self.index().nearest_of_all(&scene.query(at, NEAR)))
            }
            _ => 0.0,
        }
    }

    /// The gradients of all values at all sites.
    fn estimate_gradients(&mut self, setup: &Setup) -> Result<()> {
        let count = self.scales.len();
        let mut gradients = host_memory::filled([0.0f32; 2], self.values.len())?;
        let index = self.index();
        parallel::for_chunks_init(
            &mut gradients,
            count.max(1),
            OnHost::new,
            |slots, site, gradients| {
                let (scene, site) = (&setup.scene, site as u32);
                let mut write = |k: u32, gradient| gradients[k as usize] = gradient;
                let ring = self.of(site);
                if ring.sides() > 0 {
                    return scene.gradients_by_ring(site, &index, ring, self, write);
                }
                slots.until(|slots| {
                    scene
                        .gradients_by_clipping(Alone, site, &index, slots, self, &mut write)
                        .then_some(())
                });
            },
        );
        drop(index);
        self.gradients = gradients;
        Ok(())
    }
}

impl Sites for Table {
    fn values(&self) -> u32 {
        self.scales.len() as u32
    }
    fn value(&self, site: u32, k: u32) -> i32 {
        self.values[site as usize * self.scales.len() + k as usize]
    }
    fn gradient(&self, site: u32, k: u32) -> [f32; 2] {
        self.gradients[site as usize * self.scales.len() + k as usize]
    }
    fn scale(&self, k: u32) -> [f64; 2] {
        let ValueScale { offset, step } = self.scales[k as usize];
        [offset, step]
    }
}

impl<'a> Rings for &'a Table {
    type Ring = RingOnHost<'a>;
    fn of(self, site: u32) -> RingOnHost<'a> {
        self.rings[site as usize / TOGETHER].of(site as usize % TOGETHER)
    }
}

/// The rings of a table, wide ones among them.
#[derive(Clone, Copy)]
struct WithWide<'a>(&'a Table);

impl<'a> Rings for WithWide<'a> {
    const ARE_WIDE: bool = true;
    type Ring = RingOnHost<'a>;
    fn of(self, site: u32) -> RingOnHost<'a> {
        let ring = self.0.of(site);
        if ring.sides() > 0 {
            return ring;
        }
        let wide = self.0.wide_sites.binary_search(&site);
        wide.map_or(ring, |at| self.0.wide.of(at))
    }
}

/// One of the rings of a table.
#[derive(Clone, Copy)]
pub(super) struct RingOnHost<'a> {
    neighbours: &'a [u32],
    corners: &'a [[f64; 2]],
}

impl Ring for RingOnHost<'_> {
    fn sides(self) -> u32 {
        self.corners.len() as u32
    }
    fn neighbour(self, i: u32) -> u32 {
        self.neighbours[i as usize]
    }
    fn corner(self, i: u32) -> [f64; 2] {
        self.corners[i as usize]
    }
}

/// What belongs to a row of cells.
struct Row {
    /// All cells' first value, then all cells' second.
    values: Vec<f32>,
    answers: Vec<Answer>,
}

/// Columns of where points count, some of which lie too far from the grid to count where they are.
fn draw_in(
    [x, y]: [&[f64]; 2],
    to: [f64; 2],
    setup: &Setup,
    params: &Params,
) -> Result<[Vec<f64>; 2]> {
    let (around, error) = setup.surroundings(&params.grid);
    if count_within(x, y, around) == 0 {
        return Err(error);
    }
    host_memory::require(16 * x.len() as u64)?;
    let column = |k: usize| parallel::map(x.len(), FINE, |i| drawn_in([x[i], y[i]], to)[k]);
    Ok([column(0), column(1)])
}

/// As [`interpolate`](crate::interpolate).
pub(crate) fn interpolate(input: &Input, params: &Params, progress: &dyn Progress) -> Result<Dem> {
    params.check()?;
    let extent = input.check(&params.grid)?;
    let (x, y, values) = (input.points.x, input.points.y, input.points.values.len());
    if values == 0 {
        return Ok(Dem::without_values(params.grid));
    }
    let (points, cells) = (x.len() as u64, params.grid.cells());
    let of_point = 40 + 16 * values as u64;
    let of_cell = 12 + 4 * values as u64;
    host_memory::require(points * of_point + cells * of_cell)?;
    let setup = Setup::of(params, extent.bounds, x.len())?;
    progress.at("index", 0.0)?;
    let mut table = Table::new(input, &extent, &setup, params)?;
    if setup.has_rings {
        progress.at("rings", 0.0)?;
        table.make_rings(x.len())?;
    }
    if setup.has_wide_rings {
        table.make_wide_rings(&setup, x.len());
    }
    if params.weights == Weights::SibsonC1 {
        progress.at("gradients", 0.0)?;
        table.estimate_gradients(&setup)?;
    }
    let mut layers = Layers::new(params, values)?;
    layers.fill(&table, &setup, params, input.mask.map(|mask| mask.values()), progress)?;
    let inside = |i: usize| params.grid.cell_of(x[i], y[i]).is_some();
    let outside = parallel::count(x.len(), FINE, |i| !inside(i));
    let sites = table.places.len() as u64;
    let first = &layers.values[0];
    let nodata = parallel::count(first.len(), FINE, |i| first[i].is_nan());
    let summary = Summary { points, outside, sites, merged: points - sites, nodata };
    layers.into_dem(params, summary)
}

/// The scales of the columns of values.
fn scales_of(extent: &Extent, columns: usize, params: &Params) -> Vec<ValueScale> {
    let of = |k: usize| match extent.ranges.get(k) {
        Some(&range) => ValueScale::of_range(params.widened(range)),
        None => ValueScale::of(&[]),
    };
    (0..columns).map(of).collect()
}

/// What a call gives, cell by cell.
struct Layers {
    values: Vec<Vec<f32>>,
    counts: Option<Vec<u32>>,
    distances: Option<Vec<f32>>,
    deviations: Option<Vec<f32>>,
}

impl Layers {
    /// Layers to be filled.
    fn new(params: &Params, values: usize) -> Result<Self> {
        let cells = params.grid.cells() as usize;
        let layer = |wanted: bool, value: f32| match wanted {
            true => host_memory::filled(value, cells).map(Some),
            false => Ok(None),
        };
        let filled = (0..values).map(|_| host_memory::filled(f32::NAN, cells));
        Ok(Self {
            values: filled.collect::<Result<_, _>>()?,
            counts: params.counts.then(|| host_memory::filled(0u32, cells)).transpose()?,
            distances: layer(params.distances, f32::INFINITY)?,
            deviations: layer(params.deviations, f32::NAN)?,
        })
    }

    /// Fills them, in bands of rows, so that progress is told of from this thread.
    fn fill(
        &mut self,
        table: &Table,
        setup: &Setup,
        params: &Params,
        mask: Option<&[u8]>,
        progress: &dyn Progress,
    ) -> Result<()> {
        let hull = params.hull.then(|| row_bounds(table.places.clone(), &params.grid));
        let (width, height) = (params.grid.width as usize, params.grid.height as usize);
        let band = height.div_ceil(32).max(1);
        for first in (0..height).step_by(band) {
            progress.at("query", first as f64 / height as f64)?;
            let last = height.min(first + band);
            let of_row = |slots: &mut OnHost, row: usize| {
                let row = first + row;
                interpolate_row(row, table, setup, params, mask, hull.as_deref(), slots)
            };
            let rows = parallel::map_init(last - first, 1, OnHost::new, of_row);
            for (row, done) in (first..last).zip(rows) {
                self.put(row * width..(row + 1) * width, done);
            }
        }
        Ok(progress.at("query", 1.0)?)
    }

    /// Takes over the cells of a row.
    fn put(&mut self, cells: Range<usize>, row: Row) {
        for (layer, values) in self.values.iter_mut().zip(row.values.chunks(cells.len().max(1))) {
            layer[cells.clone()].copy_from_slice(values);
        }
        for (cell, answer) in cells.zip(row.answers) {
            self.counts.iter_mut().for_each(|counts| counts[cell] = answer.count);
            self.distances.iter_mut().for_each(|all| all[cell] = answer.distance);
            self.deviations.iter_mut().for_each(|all| all[cell] = answer.deviation);
        }
    }

    fn into_dem(self, params: &Params, summary: Summary) -> Result<Dem> {
        let grid = params.grid;
        let floats = |layer: Option<Vec<f32>>| layer.map(|layer| Grid::new(layer, grid));
        Ok(Dem {
            grid,
            values: self
                .values
                .into_iter()
                .map(|layer| Grid::new(layer, grid))
                .collect::<Result<_, _>>()?,
            counts: self.counts.map(|layer| Grid::new(layer, grid)).transpose()?,
            distances: floats(self.distances).transpose()?,
            deviations: floats(self.deviations).transpose()?,
            summary,
        })
    }
}

/// Interpolates a row of cells.
fn interpolate_row(
    row: usize,
    table: &Table,
    setup: &Setup,
    params: &Params,
    mask: Option<&[u8]>,
    hull: Option<&[i32]>,
    slots: &mut OnHost,
) -> Row {
    let (width, has_distances) = (params.grid.width as usize, params.distances);
    let mut values = vec![f32::NAN; width * table.scales.len()];
    let bounds = hull.map_or(Cell::EVERYWHERE, |hull| [hull[2 * row], hull[2 * row + 1]]);
    let index = table.index();
    let mut answer = |column: usize| {
        let is_masked = mask.is_some_and(|mask| mask[row * width + column] == 0);
        let hull = if is_masked { Cell::NOWHERE } else { bounds };
        let cell = Cell { column: column as u32, row: row as u32, hull };
        let mut write = |k: u32, value| {
            if !is_masked {
                values[k as usize * width + column] = value;
            }
        };
        let (scene, again) = (&setup.scene, || setup.scene);
        if let Some(value) = scene.value_left_out(cell, is_masked, has_distances) {
            (0..table.values()).for_each(|k| write(k, value));
            return Answer::NONE;
        }
        let mut answer = None;
        if setup.has_rings {
            answer =
                scene.cell_by_rings::<true, _, _, _>(cell, &index, table, table, again, &mut write);
        }
        if answer.is_none() && table.is_too_far(scene, cell) {
            let nowhere = Cell { hull: Cell::NOWHERE, ..cell };
            let value = scene.value_left_out(nowhere, is_masked, has_distances);
            (0..table.values()).for_each(|k| write(k, value.unwrap_or(f32::NAN)));
            return Answer::NONE;
        }
        // What goes round the cell of such a place finds no end.
        let mut outside = match answer {
            Some(_) => 0.0,
            None => table.window_outside(scene, cell),
        };
        if answer.is_none() && outside == 0.0 && setup.has_wide_rings {
            let rings = WithWide(table);
            answer =
                scene.cell_by_rings::<true, _, _, _>(cell, &index, rings, table, again, &mut write);
        }
        let answer = answer.unwrap_or_else(|| {
            if outside == 0.0 && setup.has_wide_rings {
                outside = scene.window_outside(cell, &index, WithWide(table));
            }
            slots.until(|slots| {
                let write = &mut write;
                scene.cell_by_clipping(Alone, cell, outside, &index, slots, table, again, write)
            })
        });
        if is_masked { Answer { distance: answer.distance, ..Answer::NONE } } else { answer }
    };
    let answers = (0..width).map(&mut answer).collect();
    Row { values, answers }
}

#[cfg(test)]
mod tests {
    use gpu_core::GridSpec;

    use super::*;

    /// Places among random ones on a square of 200, none within `void` of its middle: the low bits of multiples of an
    /// irrational number, differently for x and y.
    fn places(count: u32, void: f64) -> (Vec<f64>, Vec<f64>) {
        let place = |i: u32, by: f64| (f64::from(i) * by).fract() * 200.0;
        let at = |i: u32| (place(i, 754.877_666_246_69), place(i ^ (i >> 3), 569.840_290_998_05));
        let is_there = |&(x, y): &(f64, f64)| f64::hypot(x - 100.0, y - 100.0) >= void;
        (0..count).map(at).filter(is_there).unzip()
    }

    /// The table of points with values, with all rings, its setup, and what was asked for.
    fn table_of(x: &[f64], y: &[f64], z: &[f64], weights: Weights) -> (Table, Setup, Params) {
        let grid = GridSpec::new(0.0, 200.0, 1.0, 200, 200).unwrap();
        let params = Params::new(grid).max_distance(f64::INFINITY).weights(weights);
        let values = [z];
        let input = Input::from(gpu_core::Points { x, y, values: &values });
        let extent = input.check(&params.grid).unwrap();
        let setup = Setup::of(&params, extent.bounds, x.len()).unwrap();
        assert!(setup.has_rings && setup.has_wide_rings);
        let mut table = Table::new(&input, &extent, &setup, &params).unwrap();
        table.make_rings(x.len()).unwrap();
        table.make_wide_rings(&setup, x.len());
        if weights == Weights::SibsonC1 {
            table.estimate_gradients(&setup).unwrap();
        }
        (table, setup, params)
    }

    /// How many cells the rings do not tell.
    fn left(table: &Table, setup: &Setup, rings: impl Rings, of: impl Fn(u32, u32) -> bool) -> u32 {
        let index = table.index();
        let mut left = 0;
        for (row, column) in (0..200).flat_map(|row| (0..200).map(move |column| (row, column))) {
            let cell = Cell { column, row, hull: Cell::EVERYWHERE };
            let (scene, again) = (&setup.scene, || setup.scene);
            let write = |_, value: f32| assert!(value == 1.0, "{value} at {column}, {row}");
            if of(column, row) {
                let answer =
                    scene.cell_by_rings::<true, _, _, _>(cell, &index, rings, table, again, write);
                left += u32::from(answer.is_none());
            }
        }
        left
    }

    #[test]
    fn wide_rings_answer_nearly_all_queries_in_a_void_and_along_the_hull() {
        let (x, y) = places(60_000, 60.0);
        let (table, setup, _) = table_of(&x, &y, &vec![1.0; x.len()], Weights::Sibson);
        let is_void = |c: u32, r: u32| f64::hypot(f64::from(c) - 99.5, f64::from(r) - 99.5) < 56.0;
        let is_edge = |c: u32, r: u32| c.min(r) < 2 || c.max(r) > 197;
        for (what, of) in [("void", &is_void as &dyn Fn(u32, u32) -> bool), ("edge", &is_edge)] {
            let [narrow, wide] =
                [left(&table, &setup, &table, of), left(&table, &setup, WithWide(&table), of)];
            println!(
                "{what}: {narrow} queries are left, {wide} by {} wide rings",
                table.wide_sites.len()
            );
            assert!(narrow > 1000 && wide < 5, "{what}: {wide} of {narrow} queries are left");
        }
    }

    #[test]
    fn cells_outside_the_hull_know_their_window_and_have_the_bits_of_a_search_without_it() {
        let disc = |&(x, y): &(f64, f64)| f64::hypot(x - 100.0, y - 100.0) < 60.0;
        let (x, y) = places(9_000, 0.0);
        let (x, y): (Vec<f64>, Vec<f64>) = x.into_iter().zip(y).filter(disc).unzip();
        let z: Vec<f64> = x.iter().zip(&y).map(|(x, y)| (x / 9.0).sin() + y / 50.0).collect();
        for weights in [Weights::Sibson, Weights::Laplace, Weights::SibsonC1] {
            let (table, setup, _) = table_of(&x, &y, &z, weights);
            let (scene, again, index) = (&setup.scene, || setup.scene, table.index());
            let (mut slots, mut outside, mut untold) = (OnHost::new(), 0, 0);
            for (row, column) in (0..200).step_by(7).flat_map(|r| (0..200).map(move |c| (r, c))) {
                let cell = Cell { column, row, hull: Cell::EVERYWHERE };
                let window = scene.window_outside(cell, &index, WithWide(&table));
                let away = f64::hypot(f64::from(column) - 99.5, f64::from(row) - 99.5);
                assert!(window == 0.0 || away > 58.0, "{column}, {row} lies inside");
                untold += u32::from(window == 0.0 && away > 62.0);
                outside += u32::from(window > 0.0);
                let mut clipped = |window: f64| {
                    let mut bits = 0;
                    let answer = slots.until(|slots| {
                        let write = |_, value: f32| bits = value.to_bits();
                        scene.cell_by_clipping(
                            Alone, cell, window, &index, slots, &table, again, write,
                        )
                    });
                    (bits, answer.count, answer.distance.to_bits())
                };
                if window > 0.0 {
                    assert_eq!(clipped(window), clipped(0.0), "{weights:?} at {column}, {row}");
                }
            }
            println!("{weights:?}: {outside} cells outside, {untold} are not told so");
            assert!(outside > 3000 && untold == 0, "{outside} outside, {untold} untold");
        }
    }

    #[test]
    fn a_cell_beside_a_straight_edge_of_points_looks_at_few_of_them() {
        // The outermost centres lie outside by less than a tenth of a cell.
        let (x, y) = places(60_000, 0.0);
        let inward = |v: f64| 0.55 + v * (198.9 / 200.0);
        let (x, y): (Vec<f64>, Vec<f64>) =
            x.into_iter().zip(y).map(|(x, y)| (inward(x), inward(y))).unzip();
        let z: Vec<f64> = x.iter().zip(&y).map(|(x, y)| (x / 9.0).sin() + y / 50.0).collect();
        let (table, setup, _) = table_of(&x, &y, &z, Weights::Sibson);
        let (scene, again, sites) = (&setup.scene, || setup.scene, table.places.len() as u32);
        let looks = std::cell::Cell::new(0u32);
        let place = |site: u32| {
            looks.set(looks.get() + 1);
            table.places[site as usize]
        };
        let searched =
            Index { cells: table.cells, place, start: |cell| table.starts[cell as usize] };
        // Cells that are out of the way, where all sites belong to the last: each is looked at.
        let one = Cells { west: -1e9, south: -1e9, columns: 1, rows: 1, ..table.cells };
        let all = Index {
            cells: one,
            place: |site: u32| table.places[site as usize],
            start: |cell| if cell == 0 { 0 } else { sites },
        };
        let (mut slots, mut open, mut most) = (OnHost::new(), 0, 0);
        let edge = (3..197).flat_map(|i| [(i, 0), (i, 199), (0, i), (199, i)]);
        for (column, row) in edge.step_by(3) {
            let cell = Cell { column, row, hull: Cell::EVERYWHERE };
            let window = scene.window_outside(cell, &table.index(), WithWide(&table));
            assert_eq!(window, table.window_outside(scene, cell), "at {column}, {row}");
            open += u32::from(window > 0.0);
            let mut value = 0.0;
            looks.set(0);
            let answer = slots.until(|slots| {
                let write = |_, is: f32| value = is;
                scene.cell_by_clipping(Alone, cell, 0.0, &searched, slots, &table, again, write)
            });
            most = most.max(looks.get());
            let mut expected = 0.0;
            let of_all = slots.until(|slots| {
                let write = |_, is: f32| expected = is;
                scene.cell_by_clipping(Alone, cell, 0.0, &all, slots, &table, again, write)
            });
            let is_same = (value - expected).abs() < 1e-5 && answer.count == of_all.count;
            assert!(is_same, "{value} of {expected} at {column}, {row}: {answer:?}, {of_all:?}");
        }
        println!("{open} cells open, at most {most} looks at {sites} sites");
        assert!(open > 50 && most < 10_000, "{open}, {most} of {sites}");
    }

    #[test]
    fn a_cell_that_is_left_out_looks_for_its_nearest_point_and_clips_nothing() {
        let (x, y) = places(60_000, 60.0);
        let (table, setup, _) = table_of(&x, &y, &vec![1.0; x.len()], Weights::Sibson);
        let (scene, again) = (&setup.scene, || setup.scene);
        let looks = std::cell::Cell::new(0u32);
        let place = |site: u32| {
            looks.set(looks.get() + 1);
            table.places[site as usize]
        };
        let index = Index { cells: table.cells, place, start: |cell| table.starts[cell as usize] };
        let mut slots = OnHost::new();
        let mut looks_of = |cell: Cell| {
            looks.set(0);
            let answer = slots.until(|slots| {
                let write = |_, value: f32| assert_eq!(value.is_nan(), cell.is_left_out());
                scene.cell_by_clipping(Alone, cell, 0.0, &index, slots, &table, again, write)
            });
            (looks.get(), answer)
        };
        for (column, row) in [(100, 100), (90, 120), (60, 80)] {
            let hull = Cell::EVERYWHERE;
            let (clipped, of_value) = looks_of(Cell { column, row, hull });
            let (searched, left_out) = looks_of(Cell { column, row, hull: Cell::NOWHERE });
            let at = (f64::from(column) + 0.5, 199.5 - f64::from(row));
            let away = x.iter().zip(&y).map(|(x, y)| f64::hypot(x - at.0, y - at.1));
            let nearest = away.fold(f64::INFINITY, f64::min) as f32;
            assert_eq!((left_out.count, left_out.distance), (0, nearest), "{column}, {row}");
            assert_eq!(of_value.distance, nearest);
            assert!(searched < clipped, "{searched} looks of {clipped} at {column}, {row}");
        }
    }

    #[test]
    fn wide_rings_give_what_clipping_gives() {
        let (x, y) = places(60_000, 60.0);
        let height = |(x, y): (&f64, &f64)| 30.0 * (x / 40.0).sin() + 20.0 * (y / 25.0).cos();
        let z: Vec<f64> = x.iter().zip(&y).map(height).collect();
        for weights in [Weights::Sibson, Weights::Laplace, Weights::SibsonC1] {
            let (table, setup, params) = table_of(&x, &y, &z, weights);
            let values = |has_wide_rings: bool| {
                let setup = Setup { has_wide_rings, ..setup };
                let mut layers = Layers::new(&params, 1).unwrap();
                layers.fill(&table, &setup, &params, None, &()).unwrap();
                layers.values.remove(0)
            };
            let (walked, clipped) = (values(true), values(false));
            let apart = |(a, b): (&f32, &f32)| f64::from((a - b).abs());
            let worst = walked.iter().zip(&clipped).map(apart).fold(0.0, f64::max);
            let others = walked.iter().zip(&clipped).filter(|(a, b)| a.to_bits() != b.to_bits());
            let others = others.count();
            println!(
                "{weights:?}: {others} of 40,000 cells have other bits, at most {worst:.1e} off"
            );
            // A unit in the last place, of values up to 50.
            assert!(worst <= 4e-6 && others < 4, "{weights:?}: {others}, {worst}");
        }
    }

    #[test]
    fn rings_answer_nearly_all_queries_among_random_points() {
        let (x, y) = places(12_000, 0.0);
        let (table, setup, _) = table_of(&x, &y, &vec![1.0; x.len()], Weights::Sibson);
        let is_inner = |[x, y]: [f64; 2]| x > 10.0 && x < 190.0 && y > 10.0 && y < 190.0;
        let sites = 0..table.places.len() as u32;
        let lack = sites.filter(|&site| is_inner(table.places[site as usize])).filter(|&site| {
            let ring = (&table).of(site);
            // A ring is mutual: each neighbour names the site.
            let is_mutual = ring.neighbours.iter().all(|&other| {
                let others = (&table).of(other).neighbours;
                others.is_empty() || others.contains(&site)
            });
            assert!(is_mutual, "site {site}");
            ring.sides() == 0
        });
        assert!(lack.count() < 24);
        let is_inner = |column, row| (10..190).contains(&column) && (10..190).contains(&row);
        let left = left(&table, &setup, &table, is_inner);
        assert!(left < 324, "{left} queries of 32,400 are left");
    }
}
