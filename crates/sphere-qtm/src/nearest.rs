//! The sites nearest to places.
//!
//! Sites are sorted by the cells that they lie in at the deepest level, so that the sites of any cell are consecutive.
//! A search goes down from the octants, to the nearest of four children first. It skips a cell that is farther than the
//! last of the sites found so far. A cell's distance is the distance of the circle around its vertices.

use gpu_core::{Points, Progress, host_memory};
use kernels_rs::sphere_qtm::nearest::{NearSite, Two, squared_chord};
use kernels_rs::sphere_qtm::outputs;
use kernels_rs::sphere_qtm::triangle::{Triangle, Vector};
use rayon::prelude::*;

use crate::params::check_count;
use crate::{Cell, Level, NONE, Result, UnitVector, sites};

/// A run of at most this many sites is compared one by one.
const FEW: usize = 16;

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
    let index = Index::new(sites::vectors("site", sites)?);
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
            let best = index.search(place, k.min(index.vectors.len()));
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

/// Sites in the order of their cells.
struct Index {
    /// The id of each one's deepest cell, and its index.
    keys: Vec<(u64, u32)>,
    vectors: Vec<Vector>,
}

impl Index {
    fn new(vectors: Vec<Vector>) -> Self {
        let key = |(i, &vector): (usize, &Vector)| {
            (Cell::containing(UnitVector(vector), Level::MAX).id(), i as u32)
        };
        let mut keys: Vec<(u64, u32)> = vectors.par_iter().enumerate().map(key).collect();
        keys.par_sort_unstable();
        Self { keys, vectors }
    }

    /// The nearest, in order.
    fn search(&self, place: Vector, k: usize) -> Vec<NearSite> {
        let mut search = Search { index: self, place, k, best: Vec::with_capacity(k + 1) };
        let octants = Level::ZERO.cells().map(|cell| (cell, cell.triangle()));
        search.visit(octants, &self.keys);
        search.best
    }
}

/// A search around a place.
struct Search<'a> {
    index: &'a Index,
    place: Vector,
    k: usize,
    /// The best so far, in order.
    best: Vec<NearSite>,
}

impl Search<'_> {
    /// Visits cells side by side, the nearest first. `keys` hold all their sites.
    fn visit(&mut self, cells: impl Iterator<Item = (Cell, Triangle)>, keys: &[(u64, u32)]) {
        let mut all: Vec<(f64, Cell, Triangle)> = cells
            .map(|(cell, triangle)| (self.least_distance(&triangle), cell, triangle))
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (distance, cell, triangle) in all {
            if distance > self.reach() {
                return;
            }
            let range = cell.id_range();
            let start = keys.partition_point(|key| key.0 < *range.start());
            let end = start + keys[start..].partition_point(|key| key.0 <= *range.end());
            let own = &keys[start..end];
            match cell.children() {
                Some(children) if own.len() > FEW => {
                    self.visit(children.into_iter().zip(triangle.children()), own);
                }
                _ => own.iter().for_each(|&(_, site)| self.offer(site)),
            }
        }
    }

    /// No site of a triangle is nearer than this chord, but for rounding.
    fn least_distance(&self, triangle: &Triangle) -> f64 {
        let centre = triangle.centre();
        let chord = |vertex| squared_chord(centre, vertex).sqrt();
        let radius = chord(triangle.a).max(chord(triangle.b)).max(chord(triangle.c));
        // Chords obey the inequality of triangles, as all distances in space.
        squared_chord(centre, self.place).sqrt() - radius
    }

    /// Beyond this chord nothing is among the best, with room for rounding.
    fn reach(&self) -> f64 {
        match self.best.get(self.k - 1) {
            Some(worst) => worst.squared.sqrt() + 1e-14,
            None => f64::INFINITY,
        }
    }

    fn offer(&mut self, site: u32) {
        let squared = squared_chord(self.place, self.index.vectors[site as usize]);
        let found = NearSite { squared, site };
        let at = self.best.partition_point(|other| other.is_before(found));
        if at < self.k {
            self.best.insert(at, found);
            self.best.truncate(self.k);
        }
    }
}
