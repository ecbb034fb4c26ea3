//! The triangulation, as stars.

use std::ops::Range;

use gpu_core::host_memory;
use kernels_rs::stars::predicates::Predicates;

use crate::Result;
use crate::range::{Scale, Span};
use crate::stars::{Rings, begin_with_least};

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

impl Triangulation {
    /// Names sites by their points.
    pub(crate) fn of_rings(rings: Rings) -> Result<Self> {
        let points = rings.sites.len() + rings.duplicates.len();
        let point = |site: u32| rings.sites[site as usize].point;
        let mut starts = host_memory::filled(0_u32, points + 1)?;
        let degrees = rings.starts.windows(2).map(|two| two[1] - two[0]);
        degrees.zip(&rings.sites).for_each(|(degree, of)| starts[of.point as usize + 1] = degree);
        for point in 0..points {
            starts[point + 1] += starts[point];
        }
        let neighbours = rings.neighbours(|site, star| {
            star.iter_mut().for_each(|neighbour| *neighbour = point(*neighbour));
            if !rings.on_hull[site] {
                begin_with_least(star);
            }
            starts[point(site as u32) as usize]
        });
        let mut places = host_memory::filled([0.0; 2], points)?;
        rings.sites.iter().for_each(|site| places[site.point as usize] = site.place);
        let duplicates = rings.duplicates.iter();
        duplicates.for_each(|&[point, first]| places[point as usize] = places[first as usize]);
        let hull: Vec<u32> = rings.hull.iter().map(|&site| point(site)).collect();
        let mut on_hull = host_memory::filled(0_u64, points.div_ceil(64))?;
        hull.iter().for_each(|&point| on_hull[point as usize / 64] |= 1 << (point % 64));
        let Rings { scale, span, predicates, duplicates, .. } = rings;
        Ok(Self { places, scale, span, predicates, starts, neighbours, hull, on_hull, duplicates })
    }

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
    pub(crate) fn slots(&self, point: u32) -> Range<usize> {
        self.starts[point as usize] as usize..self.starts[point as usize + 1] as usize
    }
}
