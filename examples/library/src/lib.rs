//! The crates put together: each takes what another left on the device.
//!
//! | module | from | over | to |
//! |---|---|---|---|
//! | [`segments`] | points with heights | a quadtree, its leaves and their neighbours | a DEM, segment by segment |
//! | [`places`] | a DEM | an index of heights and one of slopes | the distance to where both are in a range |
//! | [`regions`] | stations, and a raster of the globe | the stations' regions on the globe | their areas, and the raster's mean in each |
//!
//! Each module has a function for the host, which calls the crates one by one. Its module `gpu` has one of the same
//! name, which copies no points, values or rasters to the host. Both give the same bits. The programs of the same names
//! show how to call them.

#[cfg(doctest)]
mod guide;
pub mod places;
pub mod regions;
pub mod segments;

/// The result of these functions: any crate's error.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Returns points spread over the rectangle from (0, 0) to (width, height), as evenly as the points of a survey, and
/// without a pattern. They are Roberts's sequence R2, in which each point follows from its number.
pub fn spread(count: usize, [width, height]: [f64; 2]) -> [Vec<f64>; 2] {
    // 1 / p and 1 / p^2, where p is the real root of p^3 = p + 1.
    let along =
        |step: f64, side: f64| (0..count).map(|i| side * (0.5 + step * i as f64).fract()).collect();
    [along(0.754_877_666_246_692_7, width), along(0.569_840_290_998_053_3, height)]
}
