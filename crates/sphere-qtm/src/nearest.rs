//! The sites nearest to places.
//!
//! A search goes down the balls around runs of sites, to the nearest of four first. It skips a ball that is farther than the
//! last of the sites found so far.

use std::ops::Range;

use gpu_core::{Points, Progress, host_memory};
use kernels_rs::sphere_qtm::nearest::{NearSite, Two, squared_chord};
use kernels_rs::sphere_qtm::outputs;
use kernels_rs::sphere_qtm::triangle::Vector;
use rayon::prelude::*;

use crate::balls::{Ball, Balls, FANOUT};
use crate::params::check_count;
use crate::{NONE, Result, sites};

/// Places of a report of progress.
const REPORT: usize = 1 << 16;

/// The `k` sites nearest to each of many places, in host memory.
///
/// Example: see [`nearest_sites`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Nearest {
    /// How many sites each place has.
    pub k: usize,
    /// `k` sites for each place, the nearest first, equally near ones by index; [`NONE`](crate::NONE) if there are
    /// fewer sites.
    pub sites: Vec<u32>,
    /// The angle to each site in radians; infinite if there are fewer sites.
    pub distances: Vec<f64>,
}

/// Finds the `k` sites nearest to each of many places by great-circle distance. It runs on the CPU, on all cores.
///
/// Sites and places have longitudes in x and latitudes in y, in degrees. Work for each place: O(k log sites) where
/// sites are spread. The results are the same, bit for bit, as from a comparison of all squared chords in f64.
///
/// ```
/// use gpu_core::{Points, Silent};
/// use sphere_qtm::nearest_sites;
///
/// let sites = Points::new(&[0.0, 10.0, -179.0], &[0.0; 3]);
/// let places = Points::new(&[9.0, 179.0], &[0.0; 2]);
/// let found = nearest_sites(&sites, &places, 2, &Silent)?;
/// assert_eq!(found.sites, [1, 0, 2, 1]); // two of each place
/// assert!((found.distances[2] - 2f64.to_radians()).abs() < 1e-12); // across the antimeridian
/// # Ok::<(), sphere_qtm::Error>(())
/// ```
///
/// # Errors
/// [`Error::NoSites`](crate::Error::NoSites), [`gpu_core::Error::TooMany`],
/// [`Error::Row`](crate::Error::Row) and [`gpu_core::Error::Length`] for the input,
/// [`Error::Cancelled`](crate::Error::Cancelled), and [`Error::Core`](crate::Error::Core) where memory fails.
pub fn nearest_sites(
    sites: &Points<'_>,
    places: &Points<'_>,
    k: usize,
    progress: &dyn Progress,
) -> Result<Nearest> {
    check_count(sites.len() as u64)?;
    let balls = Balls::new(&sites::vectors("site", sites)?);
    let k_found = k.min(sites.len());
    let places = sites::vectors("place", places)?;
    let all = places.len();
    let count = all.saturating_mul(k);
    host_memory::require((count as u64).saturating_mul(12))?;
    let mut found = Nearest {
        k,
        sites: host_memory::filled(NONE, count)?,
        distances: host_memory::filled(f64::INFINITY, count)?,
    };
    if count == 0 {
        return Ok(found);
    }
    let of_report = k.saturating_mul(REPORT);
    let outputs = found.sites.chunks_mut(of_report).zip(found.distances.chunks_mut(of_report));
    for (i, (places, (sites, distances))) in places.chunks(REPORT).zip(outputs).enumerate() {
        progress.at("nearest", (i * REPORT) as f64 / all as f64)?;
        let outputs = sites.par_chunks_mut(k).zip(distances.par_chunks_mut(k));
        places.par_iter().zip(outputs).for_each(|(&place, (sites, distances))| {
            let best = balls.nearest(place, k_found);
            for (i, found) in best.into_iter().enumerate() {
                sites[i] = found.site;
                let two = Two { first: found, ..Two::NOTHING };
                distances[i] = outputs::distance(two);
            }
        });
    }
    progress.at("nearest", 1.0)?;
    Ok(found)
}

impl Balls {
    /// The `k` sites nearest to a place, in order; `k` is not 0.
    fn nearest(&self, place: Vector, k: usize) -> Vec<NearSite> {
        let mut best = Best { k, sites: Vec::with_capacity(k + 1) };
        let (level, top) = self.top();
        self.visit(place, level, top, &mut best);
        best.sites
    }

    /// The two sites nearest to a place. The search is short if two are given that are near.
    pub(crate) fn nearest_two(&self, place: Vector, near: Two, sites: &[Vector]) -> Two {
        let at = |site: u32| match sites.get(site as usize) {
            Some(&vector) => NearSite { squared: squared_chord(place, vector), site },
            None => NearSite::NOTHING,
        };
        let mut two = Two::NOTHING.with(at(near.first.site)).with(at(near.second.site));
        let (level, top) = self.top();
        self.visit(place, level, top, &mut two);
        two
    }

    /// Visits at most [`FANOUT`] balls of a level, the nearest first.
    fn visit(&self, place: Vector, level: usize, balls: Range<u32>, found: &mut impl Found) {
        let mut all = [(f64::INFINITY, 0); FANOUT];
        let count = balls.len();
        for (slot, of) in all.iter_mut().zip(balls) {
            let Ball { centre, radius, site } = self.ball(level, of);
            let squared = squared_chord(place, centre);
            if level == 0 {
                found.offer(NearSite { squared, site });
            } else {
                *slot = (squared.sqrt() - radius, of);
            }
        }
        if level == 0 {
            return;
        }
        all[..count].sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        for &(distance, of) in &all[..count] {
            // With room for rounding.
            if distance > found.reach() + 1e-14 {
                return;
            }
            self.visit(place, level - 1, self.inside(level, of), found);
        }
    }
}

/// What a search has found.
trait Found {
    /// Beyond this chord nothing is among the nearest.
    fn reach(&self) -> f64;
    /// Takes a site if it is among the nearest.
    fn offer(&mut self, found: NearSite);
}

impl Found for Two {
    fn reach(&self) -> f64 {
        self.second.squared.sqrt()
    }

    fn offer(&mut self, found: NearSite) {
        if found.site != self.first.site && found.site != self.second.site {
            *self = self.with(found);
        }
    }
}

/// The best so far, in order.
struct Best {
    k: usize,
    sites: Vec<NearSite>,
}

impl Found for Best {
    fn reach(&self) -> f64 {
        self.sites.get(self.k - 1).map_or(f64::INFINITY, |worst| worst.squared.sqrt())
    }

    fn offer(&mut self, found: NearSite) {
        let at = self.sites.partition_point(|other| other.is_before(found));
        if at < self.k {
            self.sites.insert(at, found);
            self.sites.truncate(self.k);
        }
    }
}
