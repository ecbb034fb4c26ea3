//! The exact method on the CPU, on all cores.

use std::ops::Range;

use gpu_core::{Extent, Grid, Progress, host_memory};
use kernels_rs::nni::exact::index::{Merge, PLACE_BITS, Sorted, key};
use kernels_rs::nni::exact::polygon::Slots;
use kernels_rs::nni::exact::rings::{MOST_SIDES, Rings};
use kernels_rs::nni::exact::scene::{Answer, Cell, Sites};
use kernels_rs::nni::exact::search::Index;
use kernels_rs::nni::exact::team::Alone;
use kernels_rs::spatial::cells::Cells;
use rayon::prelude::*;

use super::{Setup, count_within, policy_of, row_bounds};
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
struct OnHost(Vec<Side>);

impl OnHost {
    fn new() -> Self {
        Self(vec![Side::default(); 64])
    }

    /// Calls `attempt` with more and more slots until they suffice.
    fn until<T>(&mut self, mut attempt: impl FnMut(&mut Self) -> Option<T>) -> T {
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
}

/// Sites sorted by cells, with their values.
struct Table {
    cells: Cells,
    places: Vec<[f64; 2]>,
    starts: Vec<u32>,
    values: Vec<i32>,
    rings: Vec<RingsOfSome>,
    gradients: Vec<[f32; 2]>,
    scales: Vec<ValueScale>,
}

/// Sites whose rings lie together.
const TOGETHER: usize = 4096;

/// The rings of some sites that follow each other.
struct RingsOfSome {
    /// Where each site's begins, and where the last ends.
    starts: Vec<u32>,
    corners: Vec<[f64; 2]>,
    neighbours: Vec<u32>,
}

impl RingsOfSome {
    fn new(sites: Range<usize>, table: &Table) -> Self {
        let index = table.index();
        let (mut starts, mut corners, mut neighbours) = (vec![0], Vec::new(), Vec::new());
        let mut sides = [(0, [0.0; 2]); MOST_SIDES as usize];
        for site in sites {
            let len = index.ring(site as u32, |i, neighbour, corner| {
                sides[i as usize] = (neighbour, corner);
            });
            let sides = &sides[..len as usize];
            neighbours.extend(sides.iter().map(|side| side.0));
            corners.extend(sides.iter().map(|side| side.1));
            starts.push(corners.len() as u32);
        }
        Self { starts, corners, neighbours }
    }
}

impl Table {
    /// Sorts points by cells and merges those at the same place.
    fn new(input: &Input, extent: &Extent, setup: &Setup, params: &Params) -> Result<Self> {
        let (x, y, columns) = (input.points.x, input.points.y, input.points.values);
        let within = setup.has_far_points().then(|| count_within(x, y, setup.indexed));
        let cells = setup.cells(within);
        let mut keys: Vec<(u64, u32)> = host_memory::filled((0, 0), x.len())?;
        keys.par_iter_mut().enumerate().for_each(|(i, entry)| {
            *entry = (key(&cells, x[i], y[i]), i as u32);
        });
        keys.par_sort_unstable();
        let sorted = Sorted {
            len: keys.len(),
            key: |i: usize| keys[i].0,
            point: |i: usize| keys[i].1 as usize,
            place: |point: usize| [x[point], y[point]],
        };
        let firsts: Vec<u32> = (0..keys.len() as u32)
            .into_par_iter()
            .filter(|&i| sorted.is_first(i as usize))
            .collect();
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
        let places = firsts.par_iter().map(|&i| (sorted.place)((sorted.point)(i as usize)));
        let scales = scales_of(extent, columns.len(), params);
        let count = scales.len();
        let mut values = host_memory::filled(0i32, firsts.len() * count)?;
        let policy = policy_of(params.duplicates);
        values.par_chunks_mut(count.max(1)).zip(&firsts).for_each(|(values, &first)| {
            for (k, value) in values.iter_mut().enumerate() {
                let mut merge = Merge::new(policy);
                sorted.each_at(first as usize, |point| {
                    merge.add(scales[k].quantise(columns[k][point]));
                });
                *value = merge.value();
            }
        });
        let places = places.collect();
        let (rings, gradients) = (Vec::new(), Vec::new());
        Ok(Self { cells, places, starts, values, rings, gradients, scales })
    }

    /// Makes the rings of all sites.
    fn make_rings(&mut self) -> Result<()> {
        // Six sides a site, or nearly.
        host_memory::require(self.places.len() as u64 * (4 + 6 * 20))?;
        let len = self.places.len();
        let some = (0..len.div_ceil(TOGETHER))
            .into_par_iter()
            .map(|i| RingsOfSome::new(i * TOGETHER..len.min((i + 1) * TOGETHER), self));
        self.rings = some.collect();
        Ok(())
    }

    fn index(&self) -> Index<impl Fn(u32) -> [f64; 2] + Sync, impl Fn(u32) -> u32 + Sync> {
        Index {
            cells: self.cells,
            place: |site: u32| self.places[site as usize],
            start: |cell: u32| self.starts[cell as usize],
        }
    }

    /// Where a site's ring is, and its number there.
    fn rings_of(&self, site: u32) -> (&RingsOfSome, usize) {
        (&self.rings[site as usize / TOGETHER], site as usize % TOGETHER)
    }

    /// The gradients of all values at all sites.
    fn estimate_gradients(&mut self, setup: &Setup) -> Result<()> {
        let count = self.scales.len();
        let mut gradients = host_memory::filled([0.0f32; 2], self.values.len())?;
        let index = self.index();
        gradients.par_chunks_mut(count.max(1)).enumerate().for_each_init(
            OnHost::new,
            |slots, (site, gradients)| {
                let (scene, site) = (&setup.scene, site as u32);
                let mut write = |k: u32, gradient| gradients[k as usize] = gradient;
                if self.sides(site) > 0 {
                    return scene.gradients_by_ring(site, &index, self, self, write);
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

impl Rings for Table {
    fn sides(&self, site: u32) -> u32 {
        let (some, i) = self.rings_of(site);
        some.starts[i + 1] - some.starts[i]
    }
    fn neighbour(&self, site: u32, i: u32) -> u32 {
        let (some, at) = self.rings_of(site);
        some.neighbours[(some.starts[at] + i) as usize]
    }
    fn corner(&self, site: u32, i: u32) -> [f64; 2] {
        let (some, at) = self.rings_of(site);
        some.corners[(some.starts[at] + i) as usize]
    }
}

/// What belongs to a row of cells.
struct Row {
    /// All cells' first value, then all cells' second.
    values: Vec<f32>,
    answers: Vec<Answer>,
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
        table.make_rings()?;
    }
    if params.weights == Weights::SibsonC1 {
        progress.at("gradients", 0.0)?;
        table.estimate_gradients(&setup)?;
    }
    let mut layers = Layers::new(params, values)?;
    layers.fill(&table, &setup, params, input.mask.map(|mask| mask.values()), progress)?;
    let inside = |(&x, &y): (&f64, &f64)| params.grid.cell_of(x, y).is_some();
    let outside = x.par_iter().zip(y).filter(|&point| !inside(point)).count() as u64;
    let sites = table.places.len() as u64;
    let nodata = layers.values[0].par_iter().filter(|value| value.is_nan()).count() as u64;
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
                interpolate_row(row, table, setup, params, mask, hull.as_deref(), slots)
            };
            let rows = (first..last).into_par_iter().map_init(OnHost::new, of_row);
            let rows: Vec<Row> = rows.collect();
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
    let bounds = hull.map_or([i32::MIN, i32::MAX], |hull| [hull[2 * row], hull[2 * row + 1]]);
    let index = table.index();
    let mut answer = |column: usize| {
        let is_masked = mask.is_some_and(|mask| mask[row * width + column] == 0);
        if is_masked && !has_distances {
            return Answer::NONE;
        }
        let cell = Cell { column: column as u32, row: row as u32, hull: bounds };
        let mut write = |k: u32, value| {
            if !is_masked {
                values[k as usize * width + column] = value;
            }
        };
        let (scene, again) = (&setup.scene, || setup.scene);
        let by_rings = match setup.has_rings {
            true => {
                scene.cell_by_rings::<true, _, _>(cell, &index, table, table, again, &mut write)
            }
            false => None,
        };
        let answer = by_rings.unwrap_or_else(|| {
            slots.until(|slots| {
                scene.cell_by_clipping(Alone, cell, &index, slots, table, again, &mut write)
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

    #[test]
    fn rings_answer_nearly_all_queries_among_random_points() {
        // Low bits of multiples of an irrational number, differently for x and y.
        let place = |i: u32, by: f64| (f64::from(i) * by).fract() * 200.0;
        let count = 12_000;
        let x: Vec<f64> = (0..count).map(|i| place(i, 754.877_666_246_69)).collect();
        let y: Vec<f64> = (0..count).map(|i| place(i ^ (i >> 3), 569.840_290_998_05)).collect();
        let z = vec![1.0; x.len()];
        let grid = GridSpec::new(0.0, 200.0, 1.0, 200, 200).unwrap();
        let params = Params::new(grid);
        let values = [&z[..]];
        let input = Input::from(gpu_core::Points { x: &x, y: &y, values: &values });
        let extent = input.check(&params.grid).unwrap();
        let setup = Setup::of(&params, extent.bounds, x.len()).unwrap();
        assert!(setup.has_rings);
        let mut table = Table::new(&input, &extent, &setup, &params).unwrap();
        table.make_rings().unwrap();
        let is_inner = |[x, y]: [f64; 2]| x > 10.0 && x < 190.0 && y > 10.0 && y < 190.0;
        let sites = 0..table.places.len() as u32;
        let lack = sites.filter(|&site| is_inner(table.places[site as usize])).filter(|&site| {
            let sides = table.sides(site);
            // A ring is mutual: each neighbour names the site.
            let is_mutual = (0..sides).all(|i| {
                let other = table.neighbour(site, i);
                let len = table.sides(other);
                len == 0 || (0..len).any(|j| table.neighbour(other, j) == site)
            });
            assert!(is_mutual, "site {site}");
            sides == 0
        });
        assert!(lack.count() < 24);
        let index = table.index();
        let mut left = 0;
        for row in 10..190 {
            for column in 10..190 {
                let cell = Cell { column, row, hull: [i32::MIN, i32::MAX] };
                let (scene, again) = (&setup.scene, || setup.scene);
                let write = |_, value: f32| assert!(value == 1.0, "{value} at {column}, {row}");
                left += u32::from(
                    scene
                        .cell_by_rings::<true, _, _>(cell, &index, &table, &table, again, write)
                        .is_none(),
                );
            }
        }
        assert!(left < 324, "{left} queries of 32,400 are left");
    }
}
