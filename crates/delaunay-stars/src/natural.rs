//! Natural neighbours of a place, and interpolation.

use gpu_core::{Error as CoreError, fused, parallel};
use kernels_rs::stars::linear;
use kernels_rs::stars::locate::{Located, OnHull, Query, Triangle};
use kernels_rs::stars::natural::Shares;
use kernels_rs::stars::neighbours::Stars;
use kernels_rs::stars::predicates::sure;

use crate::walk::{Location, Walk};
use crate::{Result, Triangulation};

/// Places of a task.
const PLACES: usize = 256;

/// The natural neighbours of a place: the sites whose Voronoi cells would lose area to a new site there.
///
/// Example: see [`Walk::natural_neighbours`](crate::Walk::natural_neighbours).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NaturalNeighbours {
    /// Indices of points, counter-clockwise around the place.
    pub sites: Vec<u32>,
    /// Sibson's share of each neighbour: the part of the new site's cell that lies in the neighbour's cell (Sibson
    /// 1981, "A brief description of natural neighbour interpolation"). Shares sum to 1.
    pub sibson: Vec<f64>,
    /// Laplace's share of each neighbour: the length of the new cell's side towards it, divided by its distance.
    /// The shares are scaled so that their sum is 1 (Belikov et al. 1997, "The non-Sibsonian interpolation").
    pub laplace: Vec<f64>,
}

impl NaturalNeighbours {
    /// Where the neighbours' shares are given, by both rules.
    fn given(sites: &[u32], shares: &[f64]) -> Self {
        Self { sites: sites.to_vec(), sibson: shares.to_vec(), laplace: shares.to_vec() }
    }

    /// Divides shares by their sums.
    fn normalised(mut self) -> Self {
        for shares in [&mut self.sibson, &mut self.laplace] {
            let sum: f64 = shares.iter().sum();
            shares.iter_mut().for_each(|share| *share /= sum);
        }
        self
    }
}

impl Walk<'_> {
    /// Finds the natural neighbours of a place, and their shares. There are none if the place lies outside the hull.
    ///
    /// If the place is on a site, that site has the whole share. On an edge of the hull, the edge's ends share
    /// linearly, which is the limit from inside.
    ///
    /// The set of neighbours is exact: they are the corners of the triangles whose circles hold the place. Source:
    /// Watson 1981, "Computing the n-dimensional Delaunay tessellation with application to Voronoi polytopes",
    /// doi:10.1093/comjnl/24.2.167. Shares are rounded. Their error is some ulps times the square of a ratio: how many
    /// times farther the farthest neighbour is than the nearest one. In a triangle whose height is some ulps of the
    /// coordinates, rounding decides the shares.
    ///
    /// ```
    /// # fn main() -> delaunay_stars::Result<()> {
    /// use gpu_core::Points;
    ///
    /// let (x, y) = ([0.0, 2.0, 2.0, 0.0], [0.0, 0.0, 2.0, 2.0]);
    /// let triangulation = delaunay_stars::triangulate(&gpu_core::Device::Cpu, Points::new(&x, &y))?;
    /// let near = triangulation.walk().natural_neighbours(1.0, 1.0)?;
    /// assert_eq!((near.sites.len(), &near.sibson[..]), (4, &[0.25; 4][..]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`locate`](Self::locate).
    pub fn natural_neighbours(&mut self, x: f64, y: f64) -> Result<NaturalNeighbours> {
        let target = self.triangulation.target(x, y)?;
        let all = self.triangulation;
        let query = all.query(&target);
        Ok(match self.located(&query) {
            None => NaturalNeighbours::default(),
            Some(Located::OnSite(site)) => NaturalNeighbours::given(&[site], &[1.0]),
            Some(Located::Inside(triangle)) => around(&query, triangle),
            Some(Located::Side(ends)) if sure(query.is_on_side(ends)) => {
                let part = all.part_of_edge(target.place, ends);
                NaturalNeighbours::given(&ends, &[1.0 - part, part])
            }
            Some(Located::Side(_)) => NaturalNeighbours::default(),
        })
    }

    /// The value at a place: the mean of its natural neighbours' values by Sibson's shares. `values` has an element for
    /// each point. Outside the hull, the result is the value at the nearest place of the hull. `None` if there are no
    /// points.
    ///
    /// # Errors
    /// The errors of [`interpolate_linear`](Self::interpolate_linear).
    pub fn interpolate_natural(&mut self, values: &[f64], x: f64, y: f64) -> Result<Option<f64>> {
        let all = self.triangulation;
        all.check_values(values)?;
        let near = self.natural_neighbours(x, y)?;
        let target = all.target(x, y)?;
        let value = |i: u32| values[i as usize];
        if !near.sites.is_empty() {
            let terms = near.sites.iter().zip(&near.sibson);
            return Ok(Some(terms.map(|(&site, share)| value(site) * share).sum()));
        }
        let Some(start) = self.nearest_sample(target.place) else { return Ok(None) };
        let query = all.query(&target);
        let nearest = sure(query.nearest(start));
        Ok(Some(match sure(query.locate(nearest)) {
            Located::Side(side) => {
                let OnHull { ends: [a, b], part, .. } = sure(query.project(side));
                linear::on_edge(part, [value(a), value(b)])
            }
            _ => value(nearest),
        }))
    }

    /// Returns the value at a place of the surface that is linear in each triangle (a TIN). `values` has an element for
    /// each point. `None` outside the hull. A site has the value of the point that stands for it.
    ///
    /// # Errors
    /// The errors of [`locate`](Self::locate), and [`gpu_core::Error::Length`] where there are not as many values as
    /// points.
    pub fn interpolate_linear(&mut self, values: &[f64], x: f64, y: f64) -> Result<Option<f64>> {
        let all = self.triangulation;
        all.check_values(values)?;
        let target = all.target(x, y)?;
        let value = |i: u32| values[i as usize];
        Ok(match self.location(&all.query(&target)) {
            Location::Nowhere | Location::Outside(_) => None,
            Location::Site(site) => Some(value(site)),
            Location::Edge(ends) => {
                let part = all.part_of_edge(target.place, ends);
                Some(linear::on_edge(part, ends.map(value)))
            }
            Location::Triangle(corners) => {
                let places = corners.map(|i| all.places[i as usize]);
                Some(linear::in_triangle(target.place, places, corners.map(value)))
            }
        })
    }
}

impl Triangulation {
    /// Interpolates linearly in each triangle at many places, on all cores; NaN outside the hull. It is fastest if each
    /// place lies near the previous one. In a triangle whose height is some ulps of the coordinates, rounding decides
    /// the value.
    ///
    /// ```
    /// # fn main() -> delaunay_stars::Result<()> {
    /// use gpu_core::Points;
    ///
    /// let (x, y, z) = ([0.0, 4.0, 0.0], [0.0, 0.0, 4.0], [1.0, 5.0, 9.0]);
    /// let triangulation = delaunay_stars::triangulate(&gpu_core::Device::Cpu, Points::new(&x, &y))?;
    /// assert_eq!(triangulation.interpolate_linear(&z, &[1.0], &[2.0])?, [6.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`gpu_core::Error::Length`] for columns of other lengths, and the errors of [`Walk::locate`], with the index of
    /// the place.
    pub fn interpolate_linear(&self, values: &[f64], x: &[f64], y: &[f64]) -> Result<Vec<f64>> {
        self.check_values(values)?;
        gpu_core::Extent::of(&gpu_core::Points::new(x, y))?;
        let value = |walk: &mut Walk<'_>, i: usize| walk.interpolate_linear(values, x[i], y[i]);
        let found = parallel::map_init(x.len(), PLACES, || self.walk(), value);
        found.into_iter().map(|value| Ok(value?.unwrap_or(f64::NAN))).collect()
    }

    fn check_values(&self, values: &[f64]) -> Result<()> {
        let (expected, found) = (self.len() as u64, values.len() as u64);
        if found != expected {
            return Err(CoreError::Length { what: "column of values", expected, found }.into());
        }
        Ok(())
    }

    /// Which part of an edge lies before a place on it.
    fn part_of_edge(&self, place: [f64; 2], ends: [u32; 2]) -> f64 {
        linear::part_of_edge(place, ends.map(|end| self.places[end as usize]))
    }
}

/// The natural neighbours of a place, from the triangle that holds it.
fn around(query: &Query<'_, Triangulation>, triangle: Triangle) -> NaturalNeighbours {
    let begin = sure(query.begin(triangle));
    let mut found = NaturalNeighbours::default();
    let by_area = |site, share, _| {
        found.sites.push(site);
        found.sibson.push(share);
    };
    let by_border = |_, share, _| found.laplace.push(share);
    fused(
        #[inline(always)]
        || {
            sure(query.each(begin, Shares::Areas, by_area));
            sure(query.each(begin, Shares::Borders, by_border));
        },
    );
    found.normalised()
}

impl Stars for Triangulation {
    fn place(&self, site: u32) -> [f64; 2] {
        self.places[site as usize]
    }
    fn star(&self, site: u32) -> [u32; 2] {
        [self.starts()[site as usize], self.starts()[site as usize + 1]]
    }
    fn stored(&self, at: u32) -> u32 {
        self.neighbours()[at as usize]
    }
    fn is_on_hull(&self, site: u32) -> bool {
        self.is_on_hull(site)
    }
}
