//! The numbers that turn differences of heights into a product: the sides of a cell on the ground, and the product's
//! own numbers.
//!
//! Cells of a plane have one scale. Cells of a grid in degrees have one scale for each row; a table in device memory
//! has them.

use device_std::{In, Out, arguments, kernel, math, thread};

use super::BLOCK;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use crate::spatial::sphere::sine_cosine;

/// The inputs of a product beside the heights, for the cells of a row.
#[arguments]
pub struct Scale {
    /// The side of a cell to the north over that to the east: 1 for squares.
    pub ratio: f32,
    /// For a product of a gradient: the square of the factor that turns its sums into rises over unit lengths. For a
    /// curvature: the rise of a unit of height over the square of the side to the north.
    pub factor: f32,
    /// The product's own numbers, times the factor that turns its sums into rises over unit lengths.
    pub light: [f32; 2],
    /// The product's own number.
    pub constant: f32,
}

/// Numbers of a row in a table of scales.
pub const NUMBERS: u32 = 5;

impl Scale {
    /// The scale of a row of a table; without a table, this scale.
    #[inline(always)]
    pub fn of_row(self, table: Option<In<f32>>, row: u32) -> Self {
        let Some(table) = table else { return self };
        let own = table.from(row as u64 * NUMBERS as u64);
        Self {
            ratio: own.get(0),
            factor: own.get(1),
            light: [own.get(2), own.get(3)],
            constant: own.get(4),
        }
    }
}

/// The inputs of a scale beside the sides of a cell.
#[arguments]
pub struct Recipe {
    /// The factor on heights, over the weight of the gradient's sums.
    pub rise: f64,
    /// As [`Scale::light`], before it is multiplied.
    pub light: [f64; 2],
    /// As [`Scale::constant`].
    pub constant: f32,
    /// 1 for a curvature, else 0.
    pub is_curvature: u32,
}

impl Recipe {
    /// The scale of cells with these sides, to the east and to the north.
    #[inline(always)]
    pub fn scale(&self, [width, height]: [f64; 2]) -> Scale {
        let factor = self.rise / height;
        let squared = if self.is_curvature == 1 { factor / height } else { factor * factor };
        Scale {
            ratio: (height / width) as f32,
            factor: squared as f32,
            light: [(self.light[0] * factor) as f32, (self.light[1] * factor) as f32],
            constant: self.constant,
        }
    }
}

/// The rows of a grid in degrees of longitude and latitude.
#[arguments]
pub struct Parallels {
    /// The latitude of the northern edge of row 0.
    pub north: f64,
    /// The sides of a cell in degrees, to the east and to the north.
    pub sides: [f64; 2],
    /// The row that is row 0 of the raster.
    pub first: u32,
}

impl Parallels {
    /// The sides, in metres, of the cells of a row of the raster, as at the middle of the row.
    #[inline(always)]
    pub fn sides_of(&self, row: u32) -> [f64; 2] {
        let latitude = self.north - (self.first as f64 + row as f64 + 0.5) * self.sides[1];
        let [across, along] = metres_of_degree(latitude);
        [self.sides[0] * across, self.sides[1] * along]
    }
}

/// Metres of a degree of longitude and of a degree of latitude, at a latitude in degrees, on the ellipsoid of WGS 84.
/// They follow from the radii of curvature of the prime vertical and of the meridian (for example J. P. Snyder, Map
/// projections: a working manual, 1987, doi:10.3133/pp1395, equations 4-18 to 4-21). At the poles, and beyond, they are
/// those at 90 degrees less a millionth.
#[inline(always)]
#[allow(clippy::manual_clamp)] // `clamp` may panic, which device code must not
pub fn metres_of_degree(latitude: f64) -> [f64; 2] {
    const SEMI_MAJOR_AXIS: f64 = 6_378_137.0;
    const FLATTENING: f64 = 1.0 / 298.257_223_563;
    const SQUARED_ECCENTRICITY: f64 = FLATTENING * (2.0 - FLATTENING);
    const MOST: f64 = 90.0 - 1e-6;
    const RADIAN: f64 = core::f64::consts::PI / 180.0;
    let [sine, cosine] = sine_cosine(f64::max(-MOST, f64::min(MOST, latitude)));
    let share = 1.0 - SQUARED_ECCENTRICITY * sine * sine;
    let root = math::sqrt(share);
    let across = SEMI_MAJOR_AXIS / root * cosine;
    let along = SEMI_MAJOR_AXIS * (1.0 - SQUARED_ECCENTRICITY) / (share * root);
    [across * RADIAN, along * RADIAN]
}

/// Writes the table of the scales of a grid in degrees. Grid: a thread a row.
///
/// # Safety
/// `out` has [`NUMBERS`] elements for each of `rows`.
#[kernel(block = BLOCK)]
pub unsafe fn measure_rows(parallels: Parallels, recipe: Recipe, rows: u32, out: Out<'_, f32>) {
    let row = thread::index_1d() as u32;
    if row >= rows {
        return;
    }
    let scale = recipe.scale(parallels.sides_of(row));
    let own = out.from(row as u64 * NUMBERS as u64);
    own.set(0, scale.ratio);
    own.set(1, scale.factor);
    own.set(2, scale.light[0]);
    own.set(3, scale.light[1]);
    own.set(4, scale.constant);
}
