//! The triangulation, as stars.

use std::sync::atomic::{AtomicU32, Ordering};

use gpu_core::{Points, Progress, host_memory, parallel};
use kernels_rs::stars::predicates::Predicates;

use crate::divide::{self, EDGES_OF_SITE, Edge, NONE, Site};
use crate::range::{Scale, Span};
use crate::{Result, sites};

/// The most points of a triangulation: its directed edges, at most six a point, have numbers of 32 bits.
pub const MAX_POINTS: u64 = u32::MAX as u64 / EDGES_OF_SITE as u64;

/// The Delaunay triangulation of points, as the star of each: its neighbours in counter-clockwise order.
///
/// Points at one place are one *site*. The point with the lowest index stands for it. The other points have no
/// neighbours: [`duplicates`](Self::duplicates) names them. All functions name sites by the index of their point, as
/// given.
///
/// ```
/// use delaunay_stars::triangulate;
/// use gpu_core::{Device, Points};
///
/// // A square, its middle, and the middle once more.
/// let (x, y) = ([0.0, 2.0, 2.0, 0.0, 1.0, 1.0], [0.0, 0.0, 2.0, 2.0, 1.0, 1.0]);
/// let triangulation = triangulate(&Device::Cpu, Points::new(&x, &y))?;
/// assert_eq!((triangulation.len(), triangulation.sites()), (6, 5));
/// assert_eq!(triangulation.duplicates(), [[5, 4]]);
/// assert_eq!(triangulation.site_of(5), 4);
/// assert_eq!(triangulation.hull(), [0, 1, 2, 3]);
/// assert_eq!(triangulation.star(0), [1, 4, 3]); // counter-clockwise along the hull
/// let all: Vec<[u32; 3]> = triangulation.triangles().collect();
/// assert_eq!(all, [[0, 1, 4], [0, 4, 3], [1, 2, 4], [2, 3, 4]]);
/// # Ok::<(), delaunay_stars::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Triangulation {
    /// Where points lie, times the scale.
    pub(crate) places: Vec<[f64; 2]>,
    pub(crate) scale: Scale,
    /// All coordinates lie between powers of two.
    pub(crate) span: Span,
    pub(crate) predicates: Predicates,
    pub(crate) starts: Vec<u32>,
    pub(crate) neighbours: Vec<u32>,
    pub(crate) hull: Vec<u32>,
    /// A bit for each point: whether it is on the hull.
    pub(crate) on_hull: Vec<u64>,
    pub(crate) duplicates: Vec<[u32; 2]>,
}

/// The places of points, if they can be triangulated.
pub(crate) fn checked(points: Points<'_>) -> Result<Points<'_>> {
    let points = Points::new(points.x, points.y);
    gpu_core::Extent::of(&points)?;
    gpu_core::require_at_most("points", points.len() as u64, MAX_POINTS)?;
    Ok(points)
}

/// Triangulates like [`triangulate`] on the CPU, with a scale that also suits later queries at coordinates within
/// `queries`.
#[doc(hidden)]
pub fn triangulate_for(
    points: Points<'_>,
    queries: Span,
    progress: &dyn Progress,
) -> Result<Triangulation> {
    let points = checked(points)?;
    let own = Span::of([points.x, points.y]);
    let span = own.joined(queries);
    let (scale, predicates) = span.scale()?;
    progress.at("sort", 0.0)?;
    let (mut sites, duplicates) = sites::of(points, scale)?;
    progress.at("triangulate", 0.2)?;
    let mut edges = host_memory::filled(Edge::FREE, sites.len() * EDGES_OF_SITE)?;
    // The points' own unit: on a lattice f64 decides by it, but not by the finer unit of the queries.
    let hull = divide::triangulate(&mut sites, &mut edges, own.predicates(scale)?);
    progress.at("stars", 0.8)?;
    let stars = Stars::of(&sites, &edges, hull, points.len())?;
    let places = parallel::map(points.len(), parallel::FINE, |i| {
        [points.x[i], points.y[i]].map(|value| scale.apply(value) + 0.0)
    });
    progress.at("stars", 1.0)?;
    let Stars { starts, neighbours, hull, on_hull } = stars;
    Ok(Triangulation {
        places,
        scale,
        span,
        predicates,
        starts,
        neighbours,
        hull,
        on_hull,
        duplicates,
    })
}

impl Triangulation {
    /// The number of points, as given.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The number of sites: of different places.
    pub fn sites(&self) -> usize {
        self.len() - self.duplicates.len()
    }

    /// Returns the points that share their place with a point of a lower index, in the order of the points. Each
    /// entry has the point, and the lowest index at its place, which stands for the site.
    pub fn duplicates(&self) -> &[[u32; 2]] {
        &self.duplicates
    }

    /// Returns the point that stands for a point's site. It is the point itself, unless a point of a lower index has
    /// the same place.
    ///
    /// # Panics
    /// Panics if there is no such point.
    pub fn site_of(&self, point: u32) -> u32 {
        assert!((point as usize) < self.len(), "point {point} of {}", self.len());
        match self.duplicates.binary_search_by_key(&point, |&[point, _]| point) {
            Ok(found) => self.duplicates[found][1],
            Err(_) => point,
        }
    }

    /// Where each star begins in [`neighbours`](Self::neighbours), and at last where the last star ends: one element
    /// more than there are points.
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// The stars of all points, one after the other: see [`star`](Self::star).
    pub fn neighbours(&self) -> &[u32] {
        &self.neighbours
    }

    /// Returns the neighbours of a point in counter-clockwise order. On the hull they begin with the next point of
    /// the hull counter-clockwise and end with the next clockwise. Elsewhere they begin with the neighbour of the
    /// lowest index. The star is empty if another point stands for the point's site.
    ///
    /// # Panics
    /// Panics if there is no such point.
    pub fn star(&self, point: u32) -> &[u32] {
        &self.neighbours[self.slots(point)]
    }

    /// Whether a site is on the hull; a site in line between two others counts too. False for a point that another
    /// point stands for.
    ///
    /// # Panics
    /// Panics if there is no such point.
    pub fn is_on_hull(&self, point: u32) -> bool {
        // A word has bits for points beyond the last one.
        assert!((point as usize) < self.len(), "point {point} of {}", self.len());
        self.on_hull[point as usize / 64] >> (point % 64) & 1 != 0
    }

    /// Returns the sites on the hull in counter-clockwise order, including sites in line between two others. The first
    /// one has the least x, and of these the least y. If all sites are in line, these are all sites, each once, from
    /// one end to the other.
    pub fn hull(&self) -> &[u32] {
        &self.hull
    }

    /// Returns each triangle once, as corners counter-clockwise from the corner with the lowest index. The order of
    /// triangles is by this index, then by its star.
    pub fn triangles(&self) -> impl Iterator<Item = [u32; 3]> + '_ {
        let points = if self.is_in_line() { 0 } else { self.len() as u32 };
        (0..points).flat_map(|point| {
            let star = self.star(point);
            let corners = if self.is_on_hull(point) { star.len().max(1) - 1 } else { star.len() };
            let after = move |i: usize| star[if i + 1 == star.len() { 0 } else { i + 1 }];
            let triangle = move |i: usize| [point, star[i], after(i)];
            (0..corners).map(triangle).filter(|&[a, b, c]| a < b && a < c)
        })
    }

    /// Whether all sites are in line, so that no triangles exist. True also for fewer than three sites.
    pub fn is_in_line(&self) -> bool {
        self.neighbours.len() < 2 * self.sites().max(1)
    }

    /// The coordinates of the points, times the [scale](Self::scale).
    #[doc(hidden)]
    pub fn places(&self) -> &[[f64; 2]] {
        &self.places
    }

    /// Returns the scale that makes decisions about coordinates exact.
    #[doc(hidden)]
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Returns the exact predicates for scaled coordinates.
    #[doc(hidden)]
    pub fn predicates(&self) -> Predicates {
        self.predicates
    }

    /// The places of a star in the neighbours of all.
    pub(crate) fn slots(&self, point: u32) -> std::ops::Range<usize> {
        self.starts[point as usize] as usize..self.starts[point as usize + 1] as usize
    }
}

/// Stars by the indices of points.
struct Stars {
    starts: Vec<u32>,
    neighbours: Vec<u32>,
    hull: Vec<u32>,
    on_hull: Vec<u64>,
}

impl Stars {
    /// Returns the stars of a triangulation's edges. `hull` is an edge with the outside on its right.
    ///
    /// Sites and edges are read in their own order, in which neighbours lie near each other; only whole stars go elsewhere.
    fn of(sites: &[Site], edges: &[Edge], hull: u32, points: usize) -> Result<Self> {
        let (mut firsts, degrees) = ring_starts(sites.len(), edges)?;
        let mut starts = host_memory::filled(0_u32, points + 1)?;
        for (site, &degree) in sites.iter().zip(&degrees) {
            starts[site.point as usize + 1] = degree;
        }
        for i in 0..points {
            starts[i + 1] += starts[i];
        }
        let mut on_hull = host_memory::filled(0_u64, points.div_ceil(64))?;
        let mut around = Vec::new();
        let mut edge = hull;
        while edge != NONE {
            let site = edges[edge as usize].origin;
            let point = sites[site as usize].point;
            let bit = 1 << (point % 64);
            // Where all are in line, the way back comes again.
            if on_hull[point as usize / 64] & bit == 0 {
                firsts[site as usize] = edge;
            }
            on_hull[point as usize / 64] |= bit;
            around.push((site, point));
            edge = edges[edge as usize ^ 1].next;
            if edge == hull {
                break;
            }
        }
        if let [site] = sites {
            around.push((0, site.point));
            on_hull[site.point as usize / 64] |= 1 << (site.point % 64);
        }
        let neighbours =
            parallel::map(starts[points] as usize, parallel::FINE, |_| AtomicU32::new(0));
        parallel::for_ranges(sites.len(), parallel::FINE, &|range| {
            let mut star = Vec::new();
            for site in range {
                star.clear();
                let mut edge = firsts[site];
                for _ in 0..degrees[site] {
                    star.push(sites[edges[edge as usize ^ 1].origin as usize].point);
                    edge = edges[edge as usize].next;
                }
                let point = sites[site].point as usize;
                let is_on_hull = on_hull[point / 64] >> (point % 64) & 1 != 0;
                let least = (0..star.len()).min_by_key(|&i| star[i]);
                let (last, first) = star.split_at(if is_on_hull { 0 } else { least.unwrap_or(0) });
                let room = &neighbours[starts[point] as usize..];
                for (slot, &neighbour) in room.iter().zip(first.iter().chain(last)) {
                    slot.store(neighbour, Ordering::Relaxed);
                }
            }
        });
        let neighbours = neighbours.into_iter().map(AtomicU32::into_inner).collect();
        Ok(Self { starts, neighbours, hull: in_order(around, sites), on_hull })
    }
}

/// An edge of each site, and how many it has.
fn ring_starts(sites: usize, edges: &[Edge]) -> Result<(Vec<u32>, Vec<u32>)> {
    let mut firsts = host_memory::filled(NONE, sites)?;
    let mut degrees = host_memory::filled(0_u32, sites)?;
    for (i, edge) in edges.iter().enumerate() {
        if edge.origin != NONE {
            firsts[edge.origin as usize] = i as u32;
            degrees[edge.origin as usize] += 1;
        }
    }
    Ok((firsts, degrees))
}

/// The points of the hull from the first by x, then by y, each once. A way around sites in line meets those between the
/// ends twice.
fn in_order(mut around: Vec<(u32, u32)>, sites: &[Site]) -> Vec<u32> {
    let place = |&(site, _): &(u32, u32)| sites[site as usize].place;
    let compare = |a: &[f64; 2], b: &[f64; 2]| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1]));
    let least = (0..around.len()).min_by(|&a, &b| compare(&place(&around[a]), &place(&around[b])));
    around.rotate_left(least.unwrap_or(0));
    if around.len() + 2 == 2 * sites.len() {
        // In line: then comes the way back.
        around.truncate(sites.len());
    }
    around.into_iter().map(|(_, point)| point).collect()
}
