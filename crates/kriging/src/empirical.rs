//! Empirical variograms.

use std::collections::BinaryHeap;

use gpu_core::{Bounds, Points, Progress, parallel, require_at_most, require_parameter};

use crate::Result;
use crate::input::check_points;

/// The most lags of an empirical variogram.
const MAX_LAGS: u32 = 10_000;

/// The most points of a sample: so many have 5e11 pairs.
const MAX_SAMPLE: u32 = 1_000_000;

/// How an empirical variogram is made.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct EmpiricalParams {
    /// Pairs of points farther from each other do not count; 0 for a third of the diagonal of the points' bounding box, as in
    /// gstat.
    pub cutoff: f64,
    /// The distances up to the cutoff are divided into so many lags of equal width.
    pub lags: u32,
    /// Of more points so many are drawn, and their pairs taken.
    pub sample: u32,
    /// The seed of the sample.
    pub seed: u64,
}

impl Default for EmpiricalParams {
    /// gstat's 15 lags, of at most 10,000 points.
    fn default() -> Self {
        Self { cutoff: 0.0, lags: 15, sample: 10_000, seed: 1 }
    }
}

impl EmpiricalParams {
    gpu_core::builders! {
        cutoff: f64;
        lags: u32;
        sample: u32;
        seed: u64;
    }

    fn check(&self) -> Result<()> {
        let is_cutoff = self.cutoff == 0.0 || (1e-130..=1e150).contains(&self.cutoff);
        require_parameter("cutoff", self.cutoff, is_cutoff, "0 or between 1e-130 and 1e150")?;
        require_parameter("lags", self.lags, self.lags > 0, "at least 1")?;
        require_at_most("lags", self.lags.into(), MAX_LAGS.into())?;
        require_parameter("sample", self.sample, self.sample > 1, "at least 2")?;
        Ok(require_at_most("points of a sample", self.sample.into(), MAX_SAMPLE.into())?)
    }
}

/// The pairs whose distances lie between two bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lag {
    /// How many pairs.
    pub pairs: u64,
    /// Their mean distance.
    pub distance: f64,
    /// Half the mean squared difference of their values.
    pub semivariance: f64,
}

/// An empirical variogram: Matheron's estimator, of all directions together.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Empirical {
    /// The lags that have pairs, by rising distance: of each the lower bound does not belong to it, the upper does. Pairs at one
    /// place belong to the first.
    pub lags: Vec<Lag>,
    /// Points whose pairs were taken.
    pub points: u64,
    /// The upper bound of the last lag.
    pub cutoff: f64,
}

impl Empirical {
    /// Makes the empirical variogram of the first value of points, on all cores: the same bits on any number of them.
    ///
    /// Of more points than the sample has, those are drawn whose numbers have the least hashes with the seed. Cost: half the
    /// square of the points taken; 10,000 points have 5e7 pairs.
    ///
    /// # Errors
    /// As [`interpolate`](crate::interpolate) for the points; [`gpu_core::Error::Parameter`] and [`gpu_core::Error::TooMany`] for the
    /// parameters; [`Error::Cancelled`](crate::Error::Cancelled) where progress ends the call.
    pub fn of(points: Points, params: &EmpiricalParams, progress: &dyn Progress) -> Result<Self> {
        params.check()?;
        check_points(&points)?;
        let mut sample = Sample::new(params.sample, params.seed);
        sample.add(points.x, points.y, points.values[0]);
        sample.variogram(params, progress)
    }
}

/// A point of a sample: the order is by hash, then by number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Drawn {
    hash: u64,
    number: u64,
    x: f64,
    y: f64,
    value: f64,
}

impl Eq for Drawn {}

impl Ord for Drawn {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.hash, self.number).cmp(&(other.hash, other.number))
    }
}

impl PartialOrd for Drawn {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The points with the least hashes.
struct Sample {
    most: usize,
    seed: u64,
    seen: u64,
    bounds: Option<Bounds>,
    drawn: BinaryHeap<Drawn>,
}

impl Sample {
    fn new(most: u32, seed: u64) -> Self {
        Self { most: most as usize, seed, seen: 0, bounds: None, drawn: BinaryHeap::new() }
    }

    fn add(&mut self, x: &[f64], y: &[f64], values: &[f64]) {
        self.bounds = Bounds::of(x, y);
        for ((&x, &y), &value) in x.iter().zip(y).zip(values) {
            let (number, hash) = (self.seen, hash(self.seed, self.seen));
            self.seen += 1;
            if self.drawn.len() < self.most {
                self.drawn.push(Drawn { hash, number, x, y, value });
            } else if let Some(mut last) = self.drawn.peek_mut()
                && (hash, number) < (last.hash, last.number)
            {
                *last = Drawn { hash, number, x, y, value };
            }
        }
    }

    fn variogram(self, params: &EmpiricalParams, progress: &dyn Progress) -> Result<Empirical> {
        let diagonal = self.bounds.map_or(0.0, |b| (b.max_x - b.min_x).hypot(b.max_y - b.min_y));
        let cutoff = if params.cutoff > 0.0 { params.cutoff } else { diagonal / 3.0 };
        let mut points = self.drawn.into_vec();
        points.sort_unstable_by_key(|point| point.number);
        let empty = vec![Sums::default(); params.lags as usize];
        let mut sums = empty.clone();
        // Rows by rows, so that the sums are the same on any number of cores and somebody may end the call.
        let rows = 256;
        for first in (0..points.len()).step_by(rows) {
            progress.at("variogram", first as f64 / points.len() as f64)?;
            let count = rows.min(points.len() - first);
            let of_rows = parallel::map(count, 1, |row| {
                let mut sums = empty.clone();
                add_pairs(&points[first + row..], cutoff, &mut sums);
                sums
            });
            for row in of_rows {
                sums.iter_mut().zip(row).for_each(|(sum, row)| sum.add(row));
            }
        }
        let lags = sums.iter().filter(|sum| sum.pairs > 0).map(Sums::lag).collect();
        Ok(Empirical { lags, points: points.len() as u64, cutoff })
    }
}

/// Adds the pairs of the first point with all others.
fn add_pairs(points: &[Drawn], cutoff: f64, sums: &mut [Sums]) {
    let Some((first, others)) = points.split_first() else { return };
    let width = cutoff / sums.len() as f64;
    for other in others {
        let (dx, dy) = (other.x - first.x, other.y - first.y);
        let distance = (dx * dx + dy * dy).sqrt();
        if distance <= cutoff {
            let above = (distance / width).ceil() as usize;
            let lag = above.saturating_sub(1).min(sums.len() - 1);
            let difference = other.value - first.value;
            let squares = difference * difference;
            sums[lag].add(Sums { pairs: 1, distances: distance, squares });
        }
    }
}

/// Sums over pairs.
#[derive(Clone, Copy, Default)]
struct Sums {
    pairs: u64,
    distances: f64,
    squares: f64,
}

impl Sums {
    fn add(&mut self, other: Self) {
        self.pairs += other.pairs;
        self.distances += other.distances;
        self.squares += other.squares;
    }

    fn lag(&self) -> Lag {
        let &Self { pairs, distances, squares } = self;
        let count = pairs as f64;
        Lag { pairs, distance: distances / count, semivariance: squares / (2.0 * count) }
    }
}

/// splitmix64 (Steele, Lea and Flood 2014) of a number.
fn hash(seed: u64, number: u64) -> u64 {
    let mut z = seed.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
