//! Voronoi cells.

use kernels_rs::stars::cell::{Polygon, centre};

use crate::Triangulation;

/// The Voronoi cell of a site: the places to which no other site is nearer.
///
/// Example: see [`Triangulation::cell`](crate::Triangulation::cell).
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The corners in counter-clockwise order, each equally far from the site and from two successive neighbours of its
    /// star. Corners share a place if more than three sites are on a circle.
    ///
    /// If the cell is unbounded its sides to the first and to the last neighbour are rays, from the first and from the
    /// last corner.
    pub corners: Vec<[f64; 2]>,
    /// Whether the cell ends in every direction. The cells of sites on the hull do not.
    pub is_bounded: bool,
    /// Its area; infinite if it is unbounded.
    pub area: f64,
    /// Its centre of gravity; `None` if it is unbounded.
    pub centroid: Option<[f64; 2]>,
}

impl Triangulation {
    /// Returns the Voronoi cell of a point's site. Its corners are rounded: they come from formulas in f64, relative to
    /// the site. Cost: in proportion to the site's neighbours.
    ///
    /// If three sites are nearly in line, their corner lies far away, and its error is large. If they are in line but for
    /// some ulps, the cell's area may be anything, also negative.
    ///
    /// ```
    /// # fn main() -> delaunay_stars::Result<()> {
    /// use gpu_core::Points;
    ///
    /// let (x, y) = ([0.0, 2.0, 0.0, -2.0, 0.0], [0.0, 0.0, 2.0, 0.0, -2.0]);
    /// let triangulation = delaunay_stars::triangulate(&gpu_core::Device::Cpu, Points::new(&x, &y))?;
    /// let cell = triangulation.cell(0);
    /// assert_eq!((cell.area, cell.centroid), (4.0, Some([0.0, 0.0])));
    /// assert!(!triangulation.cell(1).is_bounded);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    /// Panics if there is no such point.
    pub fn cell(&self, point: u32) -> Cell {
        let site = self.site_of(point);
        let at = self.places[site as usize];
        let ways: Vec<[f64; 2]> = self.star(site).iter().map(|&i| self.way(at, i)).collect();
        let is_bounded = !self.is_on_hull(site);
        let after = ways.iter().skip(1).chain(ways.first().filter(|_| is_bounded));
        let pairs = ways.iter().zip(after).filter(|_| !self.is_in_line());
        let corners: Vec<[f64; 2]> = pairs.map(|(&a, &b)| centre(a, b)).collect();
        let (area, centroid) = match is_bounded {
            true => area_and_centroid(&corners),
            false => (f64::INFINITY, [f64::NAN; 2]),
        };
        let back = |[x, y]: [f64; 2]| [at[0] + x, at[1] + y].map(|v| self.scale.undo(v, 1));
        Cell {
            area: self.scale.undo(area, 2),
            centroid: is_bounded.then(|| back(centroid)),
            corners: corners.into_iter().map(back).collect(),
            is_bounded,
        }
    }

    /// The way from a place to a site.
    pub(crate) fn way(&self, from: [f64; 2], site: u32) -> [f64; 2] {
        let [x, y] = self.places[site as usize];
        [x - from[0], y - from[1]]
    }
}

/// The area and the centre of gravity of a polygon, its corners counter-clockwise.
fn area_and_centroid(corners: &[[f64; 2]]) -> (f64, [f64; 2]) {
    let mut polygon = Polygon::default();
    let after = corners.iter().skip(1).chain(corners.first());
    corners.iter().zip(after).for_each(|(&a, &b)| polygon.add(a, b));
    (polygon.area(), polygon.centroid())
}
