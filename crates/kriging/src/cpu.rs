//! Kriging on the CPU, on all cores.
//!
//! Targets come in bands: the neighbours of a band are searched together ([`quadtree_sort::Index::nearest`]), then each core solves systems.

use gpu_core::{Points, Progress, Targets, host_memory, parallel};
use kernels_rs::kriging::correlation::Correlation;
use kernels_rs::kriging::system::{Products, pivot};
use quadtree_sort::NONE;

use crate::{Input, MAX_NEIGHBOURS, Params, Result, Surface};

/// Targets of a band.
const BAND: usize = 1 << 16;

/// Correlations that are computed side by side.
const LANES: usize = 4;

/// The most neighbours of a target.
const MOST: usize = MAX_NEIGHBOURS as usize;

/// [`interpolate`](crate::interpolate) on the CPU, of checked parameters and input.
///
/// # Errors
/// The errors of [`interpolate`](crate::interpolate).
pub fn interpolate(input: Input, params: &Params, progress: &dyn Progress) -> Result<Surface> {
    let (values, variances) = columns(&input, params, false, progress)?;
    Ok(Surface::new(values, variances, input.targets.grid(), input.points.len(), params))
}

/// Computes the values of each column, and the variances, of all targets; a target without a value has NaN. With
/// `leave_out` target i is point i, which does not count for it.
fn columns(
    input: &Input,
    params: &Params,
    leave_out: bool,
    progress: &dyn Progress,
) -> Result<(Vec<Vec<f64>>, Vec<f64>)> {
    let Input { points, targets } = *input;
    let (count, columns) = (targets.len() as usize, points.values.len());
    host_memory::require((count * (columns + 1) * size_of::<f64>()) as u64)?;
    let filled = || host_memory::filled(f64::NAN, count);
    let mut values = (0..columns).map(|_| filled()).collect::<gpu_core::Result<Vec<_>>>()?;
    let mut variances = filled()?;
    if points.is_empty() || count == 0 {
        return Ok((values, variances));
    }
    let device = gpu_core::Device::Cpu;
    let index = quadtree_sort::index(
        device.with_progress(progress),
        Points::new(points.x, points.y),
        None,
    )?;
    let call = Call { points, targets, params, leave_out };
    let wanted = params.max_points as usize + usize::from(leave_out);
    let wanted = wanted.min(points.len());
    for first in (0..count).step_by(BAND) {
        progress.at("interpolate", first as f64 / count as f64)?;
        let band = first..count.min(first + BAND);
        let (x, y): (Vec<f64>, Vec<f64>) = band.clone().map(|i| targets.place(i)).unzip();
        let near = index.nearest(&x, &y, wanted)?;
        let mut found = host_memory::filled(f64::NAN, band.len() * (columns + 1))?;
        let solver = || Solver::new(params);
        parallel::for_chunks_init(&mut found, columns + 1, solver, |solver, i, found| {
            call.solve(solver, first + i, near.of(i).0, found);
        });
        for (i, found) in band.zip(found.chunks(columns + 1)) {
            variances[i] = found[columns];
            values.iter_mut().zip(found).for_each(|(column, &value)| column[i] = value);
        }
    }
    Ok((values, variances))
}

/// Predicts the first value of each point from all others. Returns the predictions and their variances.
pub(crate) fn leave_one_out(
    points: Points,
    params: &Params,
    progress: &dyn Progress,
) -> Result<[Vec<f64>; 2]> {
    let targets = Targets::Points { x: points.x, y: points.y };
    let points = Points { values: &points.values[..1], ..points };
    let (values, variances) = columns(&Input { points, targets }, params, true, progress)?;
    Ok([values.into_iter().next().unwrap_or_default(), variances])
}

/// The data that all targets share.
struct Call<'a> {
    points: Points<'a>,
    targets: Targets<'a>,
    params: &'a Params,
    leave_out: bool,
}

impl Call<'_> {
    /// The values of a target, and its variance, from its neighbours, nearest first.
    fn solve(&self, solver: &mut Solver, target: usize, near: &[u32], found: &mut [f64]) {
        let &Self { points: Points { x, y, values }, params, leave_out, .. } = self;
        let (to_x, to_y) = self.targets.place(target);
        let most = params.max_points as usize;
        let reach = params.reach();
        let counts = |&&i: &&u32| i != NONE && !(leave_out && i as usize == target);
        solver.neighbours.clear();
        for &i in near.iter().filter(counts).take(most) {
            let (dx, dy) = (x[i as usize] - to_x, y[i as usize] - to_y);
            if dx * dx + dy * dy > reach * reach {
                break;
            }
            solver.add(i, [dx, dy]);
        }
        let count = solver.neighbours.len();
        if count == 0 || count < params.min_points as usize {
            return;
        }
        let has_all = solver.factorise();
        let (u, v) = (solver.solve([1.0; MOST]), solver.solve(solver.with_target()));
        let mut products = Products::default();
        u[..count].iter().zip(&v).for_each(|(&u, &v)| products.add(u, v));
        let (variance, of_columns) = found.split_last_mut().expect("a variance is there");
        *variance = products.variance(solver.sill);
        for (found, column) in of_columns.iter_mut().zip(values) {
            let value = |i: usize| match has_all {
                true => column[solver.neighbours[i] as usize],
                false => solver.mean(i, &self.points, column),
            };
            let (nearest, mut row) = (value(0), [0.0; MOST]);
            row[..count].iter_mut().enumerate().for_each(|(i, z)| *z = value(i) - nearest);
            let w = solver.solve(row);
            let (mut uw, mut vw) = (0.0, 0.0);
            for i in 0..count {
                uw += u[i] * w[i];
                vw += v[i] * w[i];
            }
            *found = products.value(nearest, uw, vw);
        }
    }
}

/// The system of a target: see `kernels_rs::kriging`.
struct Solver {
    correlation: Correlation,
    isotropy: [f64; 4],
    sill: f64,
    /// The points, nearest first.
    neighbours: Vec<u32>,
    /// Their places relative to the target, where the correlation is the same in all directions.
    x: [f64; MOST],
    y: [f64; MOST],
    /// The factor, column by column, so that elements of one column lie side by side.
    factor: Box<[[f64; MOST]; MOST]>,
    /// The reciprocals of the pivots' roots; 0 for a neighbour that is left out.
    reciprocals: [f64; MOST],
}

impl Solver {
    fn new(params: &Params) -> Self {
        Self {
            correlation: params.variogram.correlation(),
            isotropy: params.variogram.isotropy(),
            sill: params.variogram.sill(),
            neighbours: Vec::with_capacity(MOST),
            x: [0.0; MOST],
            y: [0.0; MOST],
            factor: Box::new([[0.0; MOST]; MOST]),
            reciprocals: [0.0; MOST],
        }
    }

    /// Adds a neighbour at a place relative to the target.
    fn add(&mut self, point: u32, [dx, dy]: [f64; 2]) {
        let [a, b, c, d] = self.isotropy;
        let i = self.neighbours.len();
        self.neighbours.push(point);
        (self.x[i], self.y[i]) = (a * dx + b * dy, c * dx + d * dy);
    }

    /// The correlations of the first neighbours with a place.
    fn correlations(&self, count: usize, [x, y]: [f64; 2]) -> [f64; MOST] {
        let mut row = [0.0; MOST];
        for first in (0..count).step_by(LANES) {
            let lane = |i: usize| (first + i).min(count - 1);
            let dx = std::array::from_fn(|i| self.x[lane(i)] - x);
            let dy = std::array::from_fn(|i| self.y[lane(i)] - y);
            row[first..first + LANES].copy_from_slice(&self.correlation.of::<LANES>(dx, dy));
        }
        row
    }

    /// The correlations of all neighbours with the target.
    fn with_target(&self) -> [f64; MOST] {
        self.correlations(self.neighbours.len(), [0.0; 2])
    }

    /// Makes the factor; returns whether no neighbour is left out.
    fn factorise(&mut self) -> bool {
        let mut has_all = true;
        for row in 0..self.neighbours.len() {
            let mut elements = match row {
                0 => [0.0; MOST],
                _ => self.correlations(row, [self.x[row], self.y[row]]),
            };
            let mut rest = 1.0;
            for column in 0..row {
                let element = elements[column] * self.reciprocals[column];
                rest -= element * element;
                let below = &mut self.factor[column];
                for next in column + 1..row {
                    elements[next] -= element * below[next];
                }
                below[row] = element;
            }
            self.reciprocals[row] = pivot(rest);
            has_all &= self.reciprocals[row] > 0.0;
        }
        has_all
    }

    /// Solves for a row.
    fn solve(&self, mut row: [f64; MOST]) -> [f64; MOST] {
        let count = self.neighbours.len();
        for column in 0..count {
            let element = row[column] * self.reciprocals[column];
            row[column] = element;
            let below = &self.factor[column];
            for next in column + 1..count {
                row[next] -= element * below[next];
            }
        }
        row
    }

    /// The mean of a neighbour's value and those of the neighbours at its place that are left out.
    fn mean(&self, i: usize, points: &Points, column: &[f64]) -> f64 {
        let place = |i: usize| {
            let point = self.neighbours[i] as usize;
            (points.x[point], points.y[point])
        };
        let (mut sum, mut count) = (column[self.neighbours[i] as usize], 1.0);
        for other in i + 1..self.neighbours.len() {
            if self.reciprocals[other] == 0.0 && place(other) == place(i) {
                sum += column[self.neighbours[other] as usize];
                count += 1.0;
            }
        }
        sum / count
    }
}
