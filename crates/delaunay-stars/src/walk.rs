//! The way to a place, from triangle to triangle.

use kernels_rs::stars::locate::{Located, Query};
use kernels_rs::stars::predicates::{Predicates, is_before, sure};

use crate::{Result, Triangulation};

/// Where a place lies. Corners and ends are indices of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// On a site.
    Site(u32),
    /// On an edge, between its ends, the lower index first.
    Edge([u32; 2]),
    /// Inside a triangle; its corners counter-clockwise, the lowest index first.
    Triangle([u32; 3]),
    /// Outside the hull, beyond one of its sides: the place is on the right of the way from the first site to the second.
    Outside([u32; 2]),
    /// Not on a site, while all sites are in line or there are none.
    Nowhere,
}

/// Returns how many sites a walk without a hint compares to begin near its end: the cube root of all.
fn samples(sites: usize) -> usize {
    (sites as f64).cbrt().ceil() as usize
}

/// Finds where places lie. Each search starts at the result of the previous one, which is fast if successive places are
/// near.
///
/// ```
/// # fn main() -> delaunay_stars::Result<()> {
/// use delaunay_stars::Location;
/// use gpu_core::Points;
///
/// let (x, y) = ([0.0, 4.0, 0.0], [0.0, 0.0, 4.0]);
/// let triangulation = delaunay_stars::triangulate(&gpu_core::Device::Cpu, Points::new(&x, &y))?;
/// let mut walk = triangulation.walk();
/// assert_eq!(walk.locate(1.0, 1.0)?, Location::Triangle([0, 1, 2]));
/// assert_eq!(walk.locate(2.0, 2.0)?, Location::Edge([1, 2]));
/// assert_eq!(walk.locate(3.0, 2.0)?, Location::Outside([1, 2]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    pub(crate) triangulation: &'a Triangulation,
    /// A site near the place before.
    near: Option<u32>,
}

/// A place, times the triangulation's scale, with what decides exactly about it.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) place: [f64; 2],
    pub(crate) predicates: Predicates,
}

impl Triangulation {
    /// A walk that begins anywhere.
    pub fn walk(&self) -> Walk<'_> {
        Walk { triangulation: self, near: None }
    }

    /// A question about a place.
    pub(crate) fn query<'a>(&'a self, target: &'a Target) -> Query<'a, Self> {
        Query { stars: self, predicates: &target.predicates, at: target.place }
    }

    /// A place of the caller's.
    pub(crate) fn target(&self, x: f64, y: f64) -> Result<Target> {
        for (what, value) in [("x", x), ("y", y)] {
            if !value.is_finite() {
                return Err(gpu_core::Error::NotFinite { what, index: 0, value }.into());
            }
        }
        let predicates = self.span.with(x).with(y).predicates(self.scale)?;
        Ok(Target { place: [x, y].map(|v| self.scale.apply(v) + 0.0), predicates })
    }
}

impl<'a> Walk<'a> {
    /// Finds exactly where a place lies.
    ///
    /// The walk begins at the previous place. For the first place it begins at the nearest of a sample of sites, as
    /// many as the cube root of their number. Source: Mücke, Saias and Zhu 1999, "Fast randomized point location
    /// without preprocessing in two- and three-dimensional Delaunay triangulations", doi:10.1016/S0925-7721(98)00035-2.
    ///
    /// Cost: the triangles on the way, and the logarithm of a star for each. A turn around a site of more than 16
    /// neighbours is one step.
    ///
    /// # Errors
    /// - [`gpu_core::Error::NotFinite`]: the place is not finite.
    /// - [`Error::Range`](crate::Error::Range): the bits of the place and of the sites are too far apart for exact
    ///   decisions.
    pub fn locate(&mut self, x: f64, y: f64) -> Result<Location> {
        let target = self.triangulation.target(x, y)?;
        Ok(self.location(&self.triangulation.query(&target)))
    }

    /// Finds where a place lies, as [`locate`](Self::locate) does.
    pub(crate) fn location(&mut self, query: &Query<'_, Triangulation>) -> Location {
        let is_on = |ends: [u32; 2]| sure(query.side(ends)) == 0.0;
        match self.located(query) {
            None => Location::Nowhere,
            Some(Located::OnSite(site)) => Location::Site(site),
            Some(Located::Inside(triangle)) => {
                let [a, b, c] = query.corners(triangle);
                match [[a, b], [b, c], [c, a]].into_iter().find(|&ends| is_on(ends)) {
                    Some(ends) => Location::Edge(ordered(ends)),
                    None => Location::Triangle(from_lowest([a, b, c])),
                }
            }
            Some(Located::Side(ends)) if sure(query.is_on_side(ends)) => {
                Location::Edge(ordered(ends))
            }
            Some(Located::Side(_)) if self.triangulation.is_in_line() => Location::Nowhere,
            Some(Located::Side(ends)) => Location::Outside(ends),
        }
    }

    /// Finds where a place lies. `None` if there are no sites.
    pub(crate) fn located(&mut self, query: &Query<'_, Triangulation>) -> Option<Located> {
        let start = match self.triangulation.is_in_line() {
            true => self.next_on_line(query.at),
            false => self.near.or_else(|| self.nearest_sample(query.at)),
        }?;
        let located = sure(query.locate(start));
        self.near = Some(match located {
            Located::OnSite(site) | Located::Side([site, _]) => site,
            Located::Inside(triangle) => triangle.site,
        });
        Some(located)
    }

    /// Of sites in line, the first at a place or after it, by x, then by y; else the last one.
    fn next_on_line(&self, place: [f64; 2]) -> Option<u32> {
        let (all, line) = (self.triangulation, self.triangulation.hull());
        let next = line.partition_point(|&site| is_before(all.places[site as usize], place));
        line.get(next).or(line.last()).copied()
    }

    /// The nearest of some sites, evenly chosen by their numbers.
    pub(crate) fn nearest_sample(&self, place: [f64; 2]) -> Option<u32> {
        let len = self.triangulation.len();
        let step = len / samples(len).max(1);
        let squared = |i: u32| {
            let [x, y] = self.triangulation.way(place, i);
            x * x + y * y
        };
        let chosen = (0..len).step_by(step.max(1)).map(|i| self.triangulation.site_of(i as u32));
        chosen.min_by(|&a, &b| squared(a).total_cmp(&squared(b)))
    }
}

/// The corners of a triangle from the lowest index on.
fn from_lowest([a, b, c]: [u32; 3]) -> [u32; 3] {
    match a.min(b).min(c) {
        least if least == a => [a, b, c],
        least if least == b => [b, c, a],
        _ => [c, a, b],
    }
}

fn ordered([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}
