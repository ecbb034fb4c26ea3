//! The way to a place, from triangle to triangle.

use kernels_rs::stars::natural::{Query, Stars};
use kernels_rs::stars::predicates::{Predicates, sure};

use crate::{Result, Triangulation};

/// A star of more neighbours than this is searched by bisection.
const FEW: usize = 16;

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

    /// The third corner of the triangle to the left of an edge; `None` along the hull.
    pub(crate) fn apex(&self, from: u32, to: u32) -> Option<u32> {
        let star = self.star(from);
        let at = if star.len() <= FEW {
            star.iter().position(|&neighbour| neighbour == to)?
        } else {
            self.towards(from, self.places[to as usize], self.predicates)
        };
        debug_assert_eq!(star[at], to, "neighbours of {from}");
        match star.get(at + 1) {
            Some(&apex) => Some(apex).filter(|_| !self.is_in_line()),
            None if self.is_on_hull(from) => None,
            None => star.first().copied(),
        }
    }

    /// The position in a site's star of the last neighbour, counter-clockwise from the first, whose direction is not after
    /// the direction of a place. Cost: the logarithm of the star.
    fn towards(&self, site: u32, place: [f64; 2], predicates: Predicates) -> usize {
        let star @ [first, _] = Stars::star(self, site);
        let query = Query { stars: self, predicates: &predicates, at: place };
        (sure(query.bisect(site, star, place)) - first) as usize
    }

    /// An edge of a site with a long star: from the site, and the place is in its wedge; or of the hull, and the place
    /// is beyond. A walk that turns around the site comes to this edge. `None` for a site with a short star.
    fn turned(&self, site: u32, target: Target) -> Option<[u32; 2]> {
        let star = self.star(site);
        if star.len() <= FEW {
            return None;
        }
        let at = self.towards(site, target.place, target.predicates);
        if at + 1 < star.len() || !self.is_on_hull(site) {
            return Some([site, star[at]]);
        }
        // The place lies in the gap of the star, or in line with its last edge.
        [[site, star[at]], [star[0], site]].into_iter().find(|edge| {
            let [a, b] = edge.map(|end| self.places[end as usize]);
            target.predicates.orientation(a, b, target.place) > 0
        })
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
        Ok(self.locate_target(target))
    }

    pub(crate) fn locate_target(&mut self, target: Target) -> Location {
        let Some(start) = self.near.or_else(|| self.nearest_sample(target.place)) else {
            return Location::Nowhere;
        };
        let location = match self.triangulation.is_in_line() {
            true => self.on_line(target),
            false => self.walked_from(start, target),
        };
        match location {
            Location::Site(i) | Location::Edge([i, _]) => self.near = Some(i),
            Location::Triangle([i, ..]) | Location::Outside([i, _]) => self.near = Some(i),
            Location::Nowhere => {}
        }
        location
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

    /// Walks from triangle to triangle, across an edge that the place lies beyond. In a Delaunay triangulation no walk comes
    /// back to a triangle (De Floriani, Falcidieno, Nagy and Pienovi 1991, "On sorting triangles in a Delaunay tessellation",
    /// doi:10.1007/BF01759057).
    fn walked_from(&self, start: u32, target: Target) -> Location {
        let all = self.triangulation;
        let side = |a: u32, b: u32| {
            let [a, b] = [a, b].map(|i| all.places[i as usize]);
            target.predicates.orientation(a, b, target.place)
        };
        // The place is not on the right of the way from one to the other.
        let mut edge = all.turned(start, target).unwrap_or([start, all.star(start)[0]]);
        if side(edge[0], edge[1]) < 0 {
            edge.reverse();
        }
        if side(edge[0], edge[1]) == 0 && all.apex(edge[0], edge[1]).is_none() {
            edge.reverse();
        }
        loop {
            let [a, b] = edge;
            let Some(c) = all.apex(a, b) else {
                return Location::Outside([b, a]);
            };
            let sides = [side(b, c), side(c, a)];
            edge = match sides.map(|side| side < 0) {
                [true, _] => [c, b],
                [_, true] => [a, c],
                _ => return within([a, b, c], [side(a, b), sides[0], sides[1]]),
            };
            // The place is on the left of the edge. So each triangle of a turn around an end, to the place's direction, is
            // a step that a walk may take, and still none comes back.
            edge = edge.into_iter().find_map(|end| all.turned(end, target)).unwrap_or(edge);
        }
    }

    /// Where all sites are in line.
    fn on_line(&self, Target { place, predicates }: Target) -> Location {
        let (all, line) = (self.triangulation, self.triangulation.hull());
        let at = |i: usize| all.places[line[i] as usize];
        let before = |a: [f64; 2], b: [f64; 2]| a[0] < b[0] || a[0] == b[0] && a[1] < b[1];
        let behind = line.partition_point(|&i| before(all.places[i as usize], place));
        if behind < line.len() && at(behind) == place {
            return Location::Site(line[behind]);
        }
        let is_between = behind > 0 && behind < line.len();
        if is_between && predicates.orientation(at(behind - 1), at(behind), place) == 0 {
            return Location::Edge(ordered([line[behind - 1], line[behind]]));
        }
        Location::Nowhere
    }
}

/// A place in a triangle or on its border, from its sides of the edges a-b, b-c and c-a.
fn within([a, b, c]: [u32; 3], sides: [i32; 3]) -> Location {
    match sides {
        [0, 0, _] => Location::Site(b),
        [_, 0, 0] => Location::Site(c),
        [0, _, 0] => Location::Site(a),
        [0, ..] => Location::Edge(ordered([a, b])),
        [_, 0, _] => Location::Edge(ordered([b, c])),
        [.., 0] => Location::Edge(ordered([c, a])),
        _ if a < b && a < c => Location::Triangle([a, b, c]),
        _ if b < c => Location::Triangle([b, c, a]),
        _ => Location::Triangle([c, a, b]),
    }
}

fn ordered([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}
