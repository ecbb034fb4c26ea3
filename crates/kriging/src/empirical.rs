//! Empirical variograms.

use std::collections::BinaryHeap;

use gpu_core::{Bounds, Points, Progress, parallel, require_at_most, require_parameter};

use crate::Result;
use crate::input::check_points;

/// The most lags of an empirical variogram.
const MAX_LAGS: u32 = 10_000;

/// The most points of a sample: this many have 5e11 pairs.
const MAX_SAMPLE: u32 = 1_000_000;

/// How to make an empirical variogram.
///
/// Example: see [`Empirical`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct EmpiricalParams {
    /// Pairs of points farther apart than this do not count; 0 means a third of the diagonal of the points' bounding
    /// box, as in gstat.
    pub cutoff: f64,
    /// The distances up to the cutoff are divided into this many lags of equal width.
    pub lags: u32,
    /// If there are more points than this, a random sample of this many gives the pairs.
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

/// A lag: the pairs whose distances lie between two bounds.
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
///
/// ```
/// use gpu_core::{Points, Silent};
/// use kriging::{Empirical, EmpiricalParams, Lag};
///
/// // Two pairs at distance 1, whose values differ by 1 and 3; one at distance 2, by 4.
/// let points = Points { x: &[0.0, 1.0, 2.0], y: &[0.0; 3], values: &[&[0.0, 1.0, 4.0]] };
/// let params = EmpiricalParams::default().cutoff(2.0).lags(2);
/// let found = Empirical::of(points, &params, &Silent)?;
/// assert_eq!(found.lags[0], Lag { pairs: 2, distance: 1.0, semivariance: 2.5 }); // (1 + 9) / 2 / 2
/// assert_eq!(found.lags[1], Lag { pairs: 1, distance: 2.0, semivariance: 8.0 });
/// # Ok::<(), kriging::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Empirical {
    /// The lags that have pairs, by rising distance. A lag includes its upper bound but not its lower one. Pairs at one
    /// place belong to the first lag.
    pub lags: Vec<Lag>,
    /// Points whose pairs were taken.
    pub points: u64,
    /// The upper bound of the last lag.
    pub cutoff: f64,
}

impl Empirical {
    /// Makes the empirical variogram of the points' first value, on all cores. The bits do not depend on the number of
    /// cores. If there are more points than [`Sample`] takes, it uses a sample of them. Cost: half the square of the
    /// points taken; 10,000 points have 5e7 pairs.
    ///
    /// # Errors
    /// The errors of [`interpolate`](crate::interpolate) for the points; [`gpu_core::Error::Parameter`] and
    /// [`gpu_core::Error::TooMany`] for the parameters; [`Error::Cancelled`](crate::Error::Cancelled) where progress
    /// ends the call.
    pub fn of(points: Points, params: &EmpiricalParams, progress: &dyn Progress) -> Result<Self> {
        let mut sample = Sample::new(params)?;
        sample.add(points)?;
        sample.variogram(progress)
    }
}

/// A random sample of points that come in parts: the points whose coordinates and first value have the least hashes
/// with the seed. So the sample does not depend on the order and the parts in which points come.
///
/// ```
/// use gpu_core::{Points, Silent};
/// use kriging::{EmpiricalParams, Sample};
///
/// let mut sample = Sample::new(&EmpiricalParams::default().cutoff(2.0).lags(2))?;
/// sample.add(Points { x: &[0.0, 1.0], y: &[0.0; 2], values: &[&[0.0, 1.0]] })?;
/// sample.add(Points { x: &[2.0], y: &[0.0], values: &[&[4.0]] })?;
/// let found = sample.variogram(&Silent)?;
/// assert_eq!((found.lags[0].pairs, found.lags[1].semivariance), (2, 8.0));
/// # Ok::<(), kriging::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sample {
    params: EmpiricalParams,
    bounds: Option<Bounds>,
    drawn: BinaryHeap<Drawn>,
}

impl Sample {
    /// An empty sample.
    ///
    /// # Errors
    /// The errors of [`Empirical::of`] for the parameters.
    pub fn new(params: &EmpiricalParams) -> Result<Self> {
        params.check()?;
        Ok(Self { params: *params, bounds: None, drawn: BinaryHeap::new() })
    }

    /// Draws from more points.
    ///
    /// # Errors
    /// The errors of [`Empirical::of`] for the points.
    pub fn add(&mut self, points: Points) -> Result<()> {
        check_points(&points)?;
        let (a, b) = (self.bounds, Bounds::of(points.x, points.y));
        self.bounds = a.into_iter().chain(b).reduce(|a, b| Bounds {
            min_x: a.min_x.min(b.min_x),
            min_y: a.min_y.min(b.min_y),
            max_x: a.max_x.max(b.max_x),
            max_y: a.max_y.max(b.max_y),
        });
        for ((&x, &y), &value) in points.x.iter().zip(points.y).zip(points.values[0]) {
            let point = Drawn::new(self.params.seed, [x, y, value]);
            if self.drawn.len() < self.params.sample as usize {
                self.drawn.push(point);
            } else if let Some(mut last) = self.drawn.peek_mut()
                && point < *last
            {
                *last = point;
            }
        }
        Ok(())
    }

    /// Makes the empirical variogram of the sample.
    ///
    /// # Errors
    /// [`Error::Cancelled`](crate::Error::Cancelled) where progress ends the call.
    pub fn variogram(self, progress: &dyn Progress) -> Result<Empirical> {
        let params = self.params;
        let diagonal = self.bounds.map_or(0.0, |b| (b.max_x - b.min_x).hypot(b.max_y - b.min_y));
        let cutoff = if params.cutoff > 0.0 { params.cutoff } else { diagonal / 3.0 };
        let points = self.drawn.into_sorted_vec();
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

/// A point of a sample: the order is by hash, then by its numbers' bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Drawn {
    hash: u64,
    bits: [u64; 3],
}

impl Drawn {
    fn new(seed: u64, numbers: [f64; 3]) -> Self {
        // Zeros of both signs are one number.
        let bits = numbers.map(|number| (number + 0.0).to_bits());
        Self { hash: bits.iter().fold(seed, |seed, &bits| hash(seed, bits)), bits }
    }

    fn numbers(&self) -> [f64; 3] {
        self.bits.map(f64::from_bits)
    }
}

/// Adds the pairs of the first point with all others.
fn add_pairs(points: &[Drawn], cutoff: f64, sums: &mut [Sums]) {
    let Some((first, others)) = points.split_first() else { return };
    let (width, [x, y, value]) = (cutoff / sums.len() as f64, first.numbers());
    for other in others {
        let [other_x, other_y, other] = other.numbers();
        let (dx, dy) = (other_x - x, other_y - y);
        let distance = (dx * dx + dy * dy).sqrt();
        if distance <= cutoff {
            let above = (distance / width).ceil() as usize;
            let lag = above.saturating_sub(1).min(sums.len() - 1);
            let difference = other - value;
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
