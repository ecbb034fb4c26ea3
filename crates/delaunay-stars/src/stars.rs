//! The stars of sites, numbered along the curve.

use std::sync::atomic::{AtomicU32, Ordering};

use gpu_core::{Points, Progress, host_memory, parallel};
use kernels_rs::stars::neighbours::{self, OPEN};
use kernels_rs::stars::predicates::Predicates;

use crate::Result;
use crate::divide::{self, EDGES_OF_SITE, Edge, NONE};
use crate::range::{Scale, Span};
use crate::sites::{self, Site};

/// The most points of a triangulation: its directed edges, at most six a point, have numbers of 32 bits.
pub const MAX_POINTS: u64 = u32::MAX as u64 / EDGES_OF_SITE as u64;

/// The sites of points with their stars. Sites that follow each other lie near each other.
#[doc(hidden)]
pub struct SiteStars {
    /// The coordinates of sites, times the scale.
    pub places: Vec<[f64; 2]>,
    /// The lowest index of the points at each site.
    pub points: Vec<u32>,
    /// All other points, each with the lowest index at its place, in order.
    pub duplicates: Vec<[u32; 2]>,
    /// Where each star begins, and at last where the last star ends.
    pub starts: Vec<u32>,
    /// The neighbours of all sites; the last neighbour of a site on the hull has [`OPEN`] set.
    pub neighbours: Vec<u32>,
    /// The sites on the hull: see [`Triangulation::hull`](crate::Triangulation::hull).
    pub hull: Vec<u32>,
    /// The factor of the coordinates.
    pub scale: Scale,
    /// The exact predicates for scaled coordinates.
    pub predicates: Predicates,
}

impl SiteStars {
    /// Triangulates on the CPU, with a scale that also suits later queries at coordinates within `queries`.
    ///
    /// # Errors
    /// As [`triangulate`](crate::triangulate()).
    pub fn of(points: Points<'_>, queries: Span, progress: &dyn Progress) -> Result<Self> {
        let rings = Rings::of(points, queries, progress)?;
        let neighbours = rings.neighbours(|site, star| {
            if !rings.on_hull[site] {
                begin_with_least(star);
            } else if let Some(last) = star.last_mut() {
                *last |= OPEN;
            }
            rings.starts[site]
        });
        let Rings { sites, duplicates, starts, hull, scale, predicates, .. } = rings;
        let places = parallel::map(sites.len(), parallel::FINE, |site| sites[site].place);
        let points = parallel::map(sites.len(), parallel::FINE, |site| sites[site].point);
        progress.at("stars", 1.0)?;
        Ok(Self { places, points, duplicates, starts, neighbours, hull, scale, predicates })
    }

    /// The number of sites.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are no sites.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

impl neighbours::Stars for SiteStars {
    fn place(&self, site: u32) -> [f64; 2] {
        self.places[site as usize]
    }
    fn star(&self, site: u32) -> [u32; 2] {
        [self.starts[site as usize], self.starts[site as usize + 1]]
    }
    fn stored(&self, at: u32) -> u32 {
        self.neighbours[at as usize]
    }
}

/// The edges of a triangulation, around each site.
pub(crate) struct Rings {
    pub(crate) sites: Vec<Site>,
    /// See [`SiteStars`].
    pub(crate) duplicates: Vec<[u32; 2]>,
    edges: Vec<Edge>,
    /// The first edge of each site's star; on the hull the next one counter-clockwise.
    firsts: Vec<u32>,
    /// Where each site's edges begin if all are counted, and at last how many they are.
    pub(crate) starts: Vec<u32>,
    /// The sites on the hull: see [`SiteStars`].
    pub(crate) hull: Vec<u32>,
    /// Whether each site is one of them.
    pub(crate) on_hull: Vec<bool>,
    pub(crate) scale: Scale,
    pub(crate) predicates: Predicates,
    pub(crate) span: Span,
}

impl Rings {
    /// As [`SiteStars::of`].
    pub(crate) fn of(points: Points<'_>, queries: Span, progress: &dyn Progress) -> Result<Self> {
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
        let (mut firsts, starts) = edges_of(sites.len(), &edges)?;
        let (hull, on_hull) = hull_of(&sites, &edges, hull, &mut firsts)?;
        Ok(Self {
            sites,
            duplicates,
            edges,
            firsts,
            starts,
            hull,
            on_hull,
            scale,
            predicates,
            span,
        })
    }

    /// The neighbours of all stars. `finish` takes a site and its neighbours counter-clockwise from its first edge. It
    /// brings these into their final form, and returns where they begin among all.
    pub(crate) fn neighbours(
        &self,
        finish: impl Fn(usize, &mut Vec<u32>) -> u32 + Sync,
    ) -> Vec<u32> {
        let count = self.starts[self.sites.len()] as usize;
        let all = parallel::map(count, parallel::FINE, |_| AtomicU32::new(0));
        // Sites and edges are read in their own order, in which neighbours lie near each other; only whole stars go
        // elsewhere.
        parallel::for_ranges(self.sites.len(), parallel::FINE, &|range| {
            let mut star = Vec::new();
            for site in range {
                star.clear();
                let mut edge = self.firsts[site];
                for _ in self.starts[site]..self.starts[site + 1] {
                    star.push(self.edges[edge as usize ^ 1].origin);
                    edge = self.edges[edge as usize].next;
                }
                let begin = finish(site, &mut star) as usize;
                let slots = all[begin..].iter().zip(&star);
                slots.for_each(|(slot, &neighbour)| slot.store(neighbour, Ordering::Relaxed));
            }
        });
        all.into_iter().map(AtomicU32::into_inner).collect()
    }
}

/// The places of points, if they can be triangulated.
pub(crate) fn checked(points: Points<'_>) -> Result<Points<'_>> {
    let points = Points::new(points.x, points.y);
    gpu_core::Extent::of(&points)?;
    gpu_core::require_at_most("points", points.len() as u64, MAX_POINTS)?;
    Ok(points)
}

/// An edge of each site, and where its edges begin if all are counted.
fn edges_of(sites: usize, edges: &[Edge]) -> Result<(Vec<u32>, Vec<u32>)> {
    let mut firsts = host_memory::filled(NONE, sites)?;
    let mut starts = host_memory::filled(0_u32, sites + 1)?;
    for (i, edge) in edges.iter().enumerate() {
        if edge.origin != NONE {
            firsts[edge.origin as usize] = i as u32;
            starts[edge.origin as usize + 1] += 1;
        }
    }
    for site in 0..sites {
        starts[site + 1] += starts[site];
    }
    Ok((firsts, starts))
}

/// The sites along the hull from one of its edges with the outside on its right; where all are in line, also those of the
/// way back. The first edge of each becomes the hull's. And whether each site is one of them.
fn hull_of(
    sites: &[Site],
    edges: &[Edge],
    hull: u32,
    firsts: &mut [u32],
) -> Result<(Vec<u32>, Vec<bool>)> {
    // Sites without an edge, if there is one at all.
    let mut around: Vec<u32> = (0..sites.len() as u32).filter(|_| hull == NONE).collect();
    let mut on_hull = host_memory::filled(hull == NONE, sites.len())?;
    let mut edge = hull;
    while edge != NONE {
        let site = edges[edge as usize].origin;
        if !on_hull[site as usize] {
            (firsts[site as usize], on_hull[site as usize]) = (edge, true);
        }
        around.push(site);
        edge = edges[edge as usize ^ 1].next;
        if edge == hull {
            break;
        }
    }
    Ok((in_order(around, sites), on_hull))
}

/// Turns a star so that it begins with the lowest number.
pub(crate) fn begin_with_least(star: &mut [u32]) {
    let least = (0..star.len()).min_by_key(|&i| star[i]);
    star.rotate_left(least.unwrap_or(0));
}

/// The sites of the hull from the first by x, then by y, each once. A way around sites in line meets those between the ends
/// twice.
fn in_order(mut around: Vec<u32>, sites: &[Site]) -> Vec<u32> {
    let place = |i: &usize| sites[around[*i] as usize].place;
    let compare = |a: &[f64; 2], b: &[f64; 2]| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1]));
    let least = (0..around.len()).min_by(|a, b| compare(&place(a), &place(b)));
    around.rotate_left(least.unwrap_or(0));
    if around.len() + 2 == 2 * sites.len() {
        // In line: then comes the way back.
        around.truncate(sites.len());
    }
    around
}
