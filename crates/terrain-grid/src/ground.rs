//! The shape of a cell on the ground.

use gpu_core::{GridSpec, require_parameter};
use kernels_rs::terrain::{Parallels, Recipe, Scale};

use crate::Result;

/// The size of a cell on the ground.
///
/// ```
/// use gpu_core::{Device, GridSpec, GridView};
/// use terrain_grid::{Ground, Product, ProductParams, SlopeUnit, product};
///
/// // A rise of 30 from row to row, in cells that are 10 wide and 30 high: 45 degrees.
/// let dem = GridView::new(&[60.0, 60.0, 60.0, 30.0, 30.0, 30.0, 0.0, 0.0, 0.0], GridSpec::of_pixels(3, 3))?;
/// let params = ProductParams::new(Product::Slope(SlopeUnit::Percent))
///     .ground(Ground::Rectangle { width: 10.0, height: 30.0 });
/// assert_eq!(product(&Device::Cpu, dem, &params)?.values()[4], 100.0);
/// # Ok::<(), terrain_grid::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Ground {
    /// A square of the grid's cell size.
    #[default]
    Square,
    /// A rectangle with these sides, in one unit.
    Rectangle {
        /// From west to east.
        width: f64,
        /// From north to south.
        height: f64,
    },
    /// A part of the globe between two meridians and two parallels: its sides are in degrees.
    ///
    /// The ground's unit is the metre. A degree has its length on the ellipsoid of WGS 84 in the middle of the cell's
    /// row, eastward and northward ([`metres_of_degree`]).
    Degrees {
        /// The latitude of the northern edge of row 0.
        north: f64,
        /// From west to east.
        width: f64,
        /// From north to south.
        height: f64,
        /// The number of the raster's first row, counted from row 0. It is 0 but for a part of a larger raster, which has the bits of
        /// the whole.
        first_row: u32,
    },
}

impl Ground {
    /// Returns the ground of a grid in degrees of longitude and latitude.
    pub fn degrees_of(grid: &GridSpec) -> Self {
        let side = grid.cell_size;
        Self::Degrees { north: grid.origin_y, width: side, height: side, first_row: 0 }
    }

    /// Checks it, and returns the scale of a product's rows.
    pub(crate) fn scales(&self, grid: &GridSpec, recipe: &Recipe) -> Result<Scales> {
        let side = |what, value: f64| {
            let is_good = value.is_finite() && value > 0.0;
            require_parameter(what, value, is_good, "a positive finite number")
        };
        match *self {
            Self::Square => Ok(Scales::Same(recipe.scale([grid.cell_size; 2]))),
            Self::Rectangle { width, height } => {
                side("width of a cell", width)?;
                side("height of a cell", height)?;
                Ok(Scales::Same(recipe.scale([width, height])))
            }
            Self::Degrees { north, width, height, first_row } => {
                side("width of a cell", width)?;
                side("height of a cell", height)?;
                require_parameter(
                    "northern edge",
                    north,
                    north.is_finite(),
                    "a finite number of degrees",
                )?;
                Ok(Scales::OfRows(Parallels { north, sides: [width, height], first: first_row }))
            }
        }
    }
}

/// The scales of the rows of a raster.
pub(crate) enum Scales {
    /// One for all.
    Same(Scale),
    /// One for each.
    OfRows(Parallels),
}

/// Returns the metres of a degree of longitude and of latitude at a latitude in degrees, on the ellipsoid of WGS
/// 84. These lengths follow from the radii of curvature of the prime vertical and of the meridian. A source is J. P.
///   Snyder, Map projections: a working manual, 1987, doi:10.3133/pp1395, equations 4-18 to 4-21. At the poles and
///   beyond, the result is the one for a millionth of a degree from the pole.
///
/// ```
/// let (east, north) = terrain_grid::metres_of_degree(0.0);
/// assert_eq!((east.round(), north.round()), (111_319.0, 110_574.0));
/// let (east, _) = terrain_grid::metres_of_degree(60.0);
/// assert_eq!(east.round(), 55_800.0); // about half
/// ```
pub fn metres_of_degree(latitude: f64) -> (f64, f64) {
    kernels_rs::terrain::metres_of_degree(latitude).into()
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
