//! Slope and hillshade of a DEM whose grid is in degrees of longitude and latitude.
//!
//! A degree has the metres that it has on the ellipsoid of WGS 84 in the middle of the cell's row, to the
//! east and to the north; heights are in metres, unless a `z_factor` says otherwise. Cells are not square on
//! the ground then, which the GPU's kernels take them to be: this is the CPU's work on every device.
//!
//! ```
//! use gpu_core::{GridSpec, GridView};
//! use terrain_grid::{SlopeParams, geographic};
//!
//! # fn main() -> Result<(), terrain_grid::Error> {
//! // At 60 degrees north a degree of longitude has 55,800 m: a rise of 55.8 m over a thousandth is 45 degrees.
//! let dem: Vec<f32> = (0..15).map(|cell| 55.8 * (cell % 5) as f32).collect();
//! let grid = GridSpec::new(10.0, 60.0015, 0.001, 5, 3)?;
//! let slopes = geographic::slope(GridView::new(&dem, grid)?, &SlopeParams::new(), &gpu_core::Silent)?;
//! assert!((slopes.values()[7] - 45.0).abs() < 0.01);
//! # Ok(())
//! # }
//! ```

use gpu_core::{Grid, GridSpec, GridView, Progress};
use kernels_rs::terrain::{Degrees, Percent, Product};

use crate::cpu::Work;
use crate::{HillshadeParams, Result, SlopeParams, SlopeUnit};

/// Metres of a degree of longitude and of latitude at a latitude in degrees, on the ellipsoid of WGS 84: the
/// radii of curvature of the prime vertical and of the meridian (for example J. P. Snyder, Map projections: a
/// working manual, 1987, doi:10.3133/pp1395, equations 4-18 to 4-21). At the poles, and beyond, those of 90
/// degrees less a millionth.
pub fn metres_of_degree(latitude: f64) -> (f64, f64) {
    const SEMI_MAJOR_AXIS: f64 = 6_378_137.0;
    const FLATTENING: f64 = 1.0 / 298.257_223_563;
    const SQUARED_ECCENTRICITY: f64 = FLATTENING * (2.0 - FLATTENING);
    const MOST: f64 = 90.0 - 1e-6;
    let (sine, cosine) = latitude.clamp(-MOST, MOST).to_radians().sin_cos();
    let share = 1.0 - SQUARED_ECCENTRICITY * sine * sine;
    let across = SEMI_MAJOR_AXIS / share.sqrt() * cosine;
    let along = SEMI_MAJOR_AXIS * (1.0 - SQUARED_ECCENTRICITY) / (share * share.sqrt());
    (across.to_radians(), along.to_radians())
}

/// The slope of every cell, as by [`slope`](crate::slope).
///
/// # Errors
/// As [`slope`](crate::slope).
pub fn slope(
    dem: GridView<'_, f32>,
    params: &SlopeParams,
    progress: &dyn Progress,
) -> Result<Grid<f32>> {
    let grid = dem.grid();
    params.factor_squared(grid.cell_size)?;
    let work = Work { dem, edges: params.edges, stage: "slope", progress };
    let factor_squared = |side| params.factor_squared(side);
    match params.unit {
        SlopeUnit::Degrees => work.each_cell(|row| {
            stretched(grid, row, |side| Ok(Degrees { factor_squared: factor_squared(side)? }))
        }),
        SlopeUnit::Percent => work.each_cell(|row| {
            stretched(grid, row, |side| Ok(Percent { factor_squared: factor_squared(side)? }))
        }),
    }
}

/// The brightness of every cell, as by [`hillshade`](crate::hillshade).
///
/// # Errors
/// As [`hillshade`](crate::hillshade).
pub fn hillshade(
    dem: GridView<'_, f32>,
    params: &HillshadeParams,
    progress: &dyn Progress,
) -> Result<Grid<f32>> {
    let grid = dem.grid();
    let work = Work { dem, edges: params.edges, stage: "hillshade", progress };
    work.each_cell(|row| stretched(grid, row, |side| params.shade(side)))
}

/// A product of cells that are longer one way than the other: that of square ones, with rises to the east
/// multiplied.
#[derive(Clone, Copy)]
struct Stretched<P> {
    product: P,
    ratio: f32,
}

impl<P: Product> Product for Stretched<P> {
    fn of(self, east: f32, south: f32) -> f32 {
        self.product.of(east * self.ratio, south)
    }
}

/// The product of a row's cells, from that of square cells with their height.
fn stretched<P>(
    grid: &GridSpec,
    row: usize,
    of_side: impl FnOnce(f64) -> Result<P>,
) -> Result<Stretched<P>> {
    let (_, latitude) = grid.cell_centre(0, row as u32);
    let (across, along) = metres_of_degree(latitude);
    let product = of_side(grid.cell_size * along)?;
    Ok(Stretched { product, ratio: (along / across) as f32 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Edges;

    #[test]
    fn a_degree_has_its_known_lengths() {
        // The equator's and the meridian's degrees as geodesy has them (WGS 84), to the metre.
        for (latitude, across, along) in [
            (0.0, 111_320.0, 110_574.0),
            (45.0, 78_847.0, 111_132.0),
            (60.0, 55_800.0, 111_412.0),
            (-60.0, 55_800.0, 111_412.0),
        ] {
            let found = metres_of_degree(latitude);
            assert!((found.0 - across).abs() < 1.0, "{latitude}: {found:?}");
            assert!((found.1 - along).abs() < 1.0, "{latitude}: {found:?}");
        }
        let (across, along) = metres_of_degree(90.0);
        assert!(across > 0.0 && across < 0.01 && (along - 111_694.0).abs() < 1.0);
    }

    /// Planes of known rises to the east and to the north, far from the equator.
    #[test]
    fn slope_and_light_are_those_of_planes_on_the_ground() {
        let grid = GridSpec::new(20.0, 65.01, 0.001, 30, 20).unwrap();
        for (east, north) in [(0.3, 0.0), (0.0, -0.5), (0.4, 0.7), (-1.0, 0.2)] {
            // Rises for each metre, along the metres of the middle row.
            let (across, along) = metres_of_degree(65.0);
            let height = |cell: u32| {
                let (x, y) = grid.cell_centre(cell % 30, cell / 30);
                (east * (x - 20.0) * across + north * (y - 65.0) * along) as f32
            };
            let dem: Vec<f32> = (0..600).map(height).collect();
            let middle = 10 * 30 + 15;
            let slopes =
                slope(GridView::new(&dem, grid).unwrap(), &SlopeParams::new(), &gpu_core::Silent)
                    .unwrap();
            let slopes = slopes.values();
            let rise = f64::hypot(east, north);
            let expected = rise.atan().to_degrees();
            assert!((f64::from(slopes[middle]) - expected).abs() < 0.02, "{}", slopes[middle]);
            assert!(slopes[0].is_nan());
            let light = HillshadeParams::new().azimuth(30.0).altitude(50.0).edges(Edges::Level);
            let shades =
                hillshade(GridView::new(&dem, grid).unwrap(), &light, &gpu_core::Silent).unwrap();
            let found = shades.values()[middle];
            let (azimuth, altitude) = (30f64.to_radians(), 50f64.to_radians());
            let towards =
                altitude.sin() - altitude.cos() * (azimuth.sin() * east + azimuth.cos() * north);
            let expected = (towards / (1.0 + rise * rise).sqrt()).clamp(0.0, 1.0);
            assert!((f64::from(found) - expected).abs() < 1e-3, "{found}, not {expected}");
        }
    }

    #[test]
    fn bad_arguments_are_named() {
        let grid = GridSpec::new(0.0, 1.0, 0.1, 3, 3).unwrap();
        let dem = GridView::new(&[0.0; 9], grid).unwrap();
        assert!(slope(dem, &SlopeParams::new().z_factor(f64::NAN), &gpu_core::Silent).is_err());
        assert!(
            hillshade(dem, &HillshadeParams::new().azimuth(f64::INFINITY), &gpu_core::Silent)
                .is_err()
        );
        let flat = GridSpec { cell_size: 0.0, ..grid };
        assert!(GridView::new(&[0.0; 9], flat).is_err());
    }
}
