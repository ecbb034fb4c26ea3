//! The bounds of a query as integers, shared by CPU and GPU.
//!
//! Lengths are in half pixels of the Voronoi raster, so that pixel centres (odd positions) and
//! query points (multiples of `supersample`) are integers.

use kernels_rs::nni::pixels::circle::Circle;

use crate::Result;
use crate::params::OnGrid;

/// The limits of every query of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueryLimits {
    /// The query circle: a pixel within it may count. `None` where it holds the whole raster.
    pub circle: Option<Circle>,
    /// A site counts if its squared distance to the query point is below this; `u64::MAX` if all sites count.
    pub site_limit: u64,
}

impl QueryLimits {
    /// Checks the parameters and computes the bounds.
    pub fn of(params: &OnGrid) -> Result<Self> {
        let raster = params.raster()?;
        let half_pixels = 2.0 * f64::from(params.supersample);
        let squared = |radius: f64| (radius * half_pixels) * (radius * half_pixels);
        // However small the radii, a query sees the pixels that touch it, and a site on it. (A cast
        // from infinity saturates.)
        let limit = (squared(params.query_radius).floor() as u64).max(2);
        let diagonal = 4 * (u64::from(raster.width).pow(2) + u64::from(raster.height).pow(2));
        let circle = Circle { limit, supersample: params.supersample };
        let site_limit = (squared(params.region_of_influence).ceil() as u64).max(1);
        // No limit, if every site reaches every cell.
        let site_limit = if site_limit > diagonal { u64::MAX } else { site_limit };
        Ok(Self { circle: (limit < diagonal).then_some(circle), site_limit })
    }

    /// The spans of the circle's rows, from the top; empty without a circle.
    pub fn spans(&self) -> Vec<i32> {
        let rows = |circle: Circle| (0..circle.rows()).map(move |row| circle.span(row));
        self.circle.into_iter().flat_map(rows).collect()
    }

    /// The circle, if it is so small that a query visits each of its pixels.
    pub fn small_circle(&self) -> Option<Circle> {
        // From about here on it is faster to go by rows.
        const MOST: u64 = 200;
        self.circle.filter(|circle| circle.limit <= MOST)
    }
}
