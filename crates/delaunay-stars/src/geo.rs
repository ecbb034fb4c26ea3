//! Triangles and cells as types of `geo-types`. (Feature `geo`.)

use gpu_core::Points;
use gpu_core::geo_types::{Polygon, Triangle};

use crate::{Cell, Result, Triangulation};

impl Triangulation {
    /// Returns each triangle of [`triangles`](Self::triangles), with the coordinates of the points as they were given, to the bit.
    /// (Feature `geo`.)
    ///
    /// ```
    /// # fn main() -> delaunay_stars::Result<()> {
    /// use gpu_core::ArrayPoints;
    /// use gpu_core::geo_types::{Point, Polygon, Triangle};
    ///
    /// let places = [(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0), (1.0, 2.0)].map(Point::from);
    /// let points = ArrayPoints::from_geo(places)?;
    /// let triangulation = delaunay_stars::triangulate(&gpu_core::Device::Cpu, points.points())?;
    /// let triangles: Vec<Triangle> = triangulation.geo_triangles(points.points())?.collect();
    /// assert_eq!(triangles[0].v2(), places[1].0);
    /// let cell: Polygon = triangulation.cell(4).to_geo().unwrap(); // Voronoi
    /// assert_eq!(cell.exterior().0.len(), 5);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`gpu_core::Error::Length`] unless the points are as many as were triangulated.
    pub fn geo_triangles<'a>(
        &'a self,
        points: Points<'a>,
    ) -> Result<impl Iterator<Item = Triangle<f64>> + 'a> {
        points.check_lengths()?;
        let (expected, found) = (self.len() as u64, points.len() as u64);
        if found != expected {
            return Err(gpu_core::Error::Length { what: "column of x", expected, found }.into());
        }
        let place = move |i: u32| (points.x[i as usize], points.y[i as usize]).into();
        // They turn counterclockwise already, by exact arithmetic.
        let triangle = move |corners: [u32; 3]| {
            let [a, b, c] = corners.map(place);
            Triangle::unchecked_winding(a, b, c)
        };
        Ok(self.triangles().map(triangle))
    }
}

impl Cell {
    /// Returns the cell as a polygon, counterclockwise; `None` if it is unbounded. (Feature `geo`.)
    pub fn to_geo(&self) -> Option<Polygon<f64>> {
        self.is_bounded.then(|| gpu_core::geo::polygon([self.corners.clone()]))
    }
}
