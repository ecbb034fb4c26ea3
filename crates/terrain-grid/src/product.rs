//! Products of a cell and its eight neighbours, and their parameters.

use gpu_core::{GridSpec, require_parameter};
use kernels_rs::terrain::{Gradient as _, Horn, Kind, Recipe, ZevenbergenThorne};

use crate::ground::Scales;
use crate::params::finite;
use crate::{Ground, Result};

/// A product of a cell and its eight neighbours.
///
/// Example: see [`product`](fn@crate::product).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Product {
    /// How steep the ground is.
    Slope(SlopeUnit),
    /// The direction in which the ground falls, from 0 to below 360 degrees.
    Aspect(Aspect),
    /// How bright the ground is: from 0 in shadow to 1 where the light falls at a right angle.
    Hillshade(Light),
    /// The curvature over one unit of the ground (Zevenbergen and Thorne 1987); 0 on level ground.
    Curvature(Curvature),
    /// The Terrain Ruggedness Index (TRI), in the unit of heights.
    Ruggedness(Ruggedness),
    /// The Topographic Position Index (TPI), in the unit of heights: the height minus the mean of the neighbours'
    /// heights (Weiss 2001). It is above 0 on ridges.
    Position,
    /// The roughness, in the unit of heights: the highest minus the lowest of the nine cells (Wilson et al. 2007).
    Roughness,
}

impl Product {
    /// Returns its name in one word.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Slope(_) => "slope",
            Self::Aspect(_) => "aspect",
            Self::Hillshade(_) => "hillshade",
            Self::Curvature(_) => "curvature",
            Self::Ruggedness(_) => "ruggedness",
            Self::Position => "position",
            Self::Roughness => "roughness",
        }
    }
}

/// The unit of slopes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlopeUnit {
    /// Degrees, from 0 to 90.
    #[default]
    Degrees,
    /// Rise over run, in percent.
    Percent,
}

/// How directions are counted.
///
/// ```
/// use gpu_core::{Device, GridSpec, GridView};
/// use terrain_grid::{Angle, Aspect, Product, ProductParams, product};
///
/// let dem = GridView::new(&[2.0, 1.0, 0.0, 2.0, 1.0, 0.0, 2.0, 1.0, 0.0], GridSpec::of_pixels(3, 3))?;
/// let of = |aspect| product(&Device::Cpu, dem, &ProductParams::new(Product::Aspect(aspect)));
/// assert_eq!(of(Aspect::new())?.values()[4], 90.0); // it falls to the east
/// assert_eq!(of(Aspect::new().angle(Angle::Trigonometric))?.values()[4], 0.0);
/// # Ok::<(), terrain_grid::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Aspect {
    /// The direction in which angles count: by default, clockwise from north.
    pub angle: Angle,
    /// The value of level ground, which has no direction: NaN by default.
    pub flat: f32,
}

impl Aspect {
    /// Azimuths; NaN on level ground.
    pub fn new() -> Self {
        Self { angle: Angle::Azimuth, flat: f32::NAN }
    }

    gpu_core::builders! {
        angle: Angle;
        flat: f32;
    }
}

impl Default for Aspect {
    fn default() -> Self {
        Self::new()
    }
}

/// Where angles begin, and in which direction they count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Angle {
    /// Clockwise from north.
    #[default]
    Azimuth,
    /// Counter-clockwise from east.
    Trigonometric,
}

/// The direction of the light.
///
/// ```
/// use gpu_core::{Device, GridSpec, GridView};
/// use terrain_grid::{Light, Product, ProductParams, product};
///
/// let level = GridView::new(&[5.0; 9], GridSpec::of_pixels(3, 3))?;
/// let of = |light| product(&Device::Cpu, level, &ProductParams::new(Product::Hillshade(light)));
/// assert_eq!(of(Light::new().altitude(90.0))?.values()[4], 1.0); // at a right angle
/// assert!((of(Light::new().altitude(30.0))?.values()[4] - 0.5).abs() < 1e-6);
/// # Ok::<(), terrain_grid::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Light {
    /// The direction that the light comes from, in degrees clockwise from north: 315 by default.
    /// [`Shading::Multidirectional`] ignores it.
    pub azimuth: f64,
    /// Its height above the horizon, in degrees: 45 by default.
    pub altitude: f64,
    /// The lights, and how they shade the ground: by default one light, with Lambert's brightness.
    pub shading: Shading,
}

impl Light {
    /// The defaults.
    pub fn new() -> Self {
        Self { azimuth: 315.0, altitude: 45.0, shading: Shading::Lambert }
    }

    gpu_core::builders! {
        azimuth: f64;
        altitude: f64;
        shading: Shading;
    }
}

impl Default for Light {
    fn default() -> Self {
        Self::new()
    }
}

/// The lights, and how they shade the ground.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shading {
    /// One light. The brightness is Lambert's.
    #[default]
    Lambert,
    /// Four lights, in the south-west, west, north-west and north, after Mark (1992), with gdaldem's weights. The
    /// brightness is the weighted mean of Lambert's brightness under each light. A weight is the squared cosine of the
    /// angle between the gradient and the light's direction.
    Multidirectional,
    /// One light, as gdaldem's `-combined`. The brightness is `1 - (slope / 90) * (angle / 90)`, in degrees, where the
    /// angle lies between the light and the ground's normal. Level ground is bright.
    Combined,
    /// One light, as gdaldem's `-igor`. Where the ground falls away from the light, the brightness is `1 - slope / 90`,
    /// in degrees. Where it falls towards the light, the brightness is 1. In between, it depends on the angle. The
    /// light's [altitude](Light::altitude) is ignored. Level ground is bright, which suits shading over a map.
    Igor,
}

/// The line along which a curvature is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curvature {
    /// Along the contour line: above 0 in hollows, where water gathers, and below 0 on spurs.
    Plan,
    /// Along the line of steepest slope: above 0 where the slope is convex, so that water speeds up, and below 0 where
    /// it is concave.
    Profile,
}

/// Which Terrain Ruggedness Index to compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ruggedness {
    /// The root of the sum of the squared differences to the neighbours (Riley, DeGloria and Elliot 1999).
    #[default]
    Riley,
    /// The mean of the absolute differences to the neighbours (Wilson et al. 2007).
    Wilson,
}

/// How to compute the gradient, for slope, aspect and hillshade.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gradient {
    /// Weighted differences over all eight neighbours (Horn 1981): for rough ground.
    #[default]
    Horn,
    /// Differences over the four neighbours beside the cell (Zevenbergen and Thorne 1987): for smooth ground.
    ZevenbergenThorne,
}

/// How to treat a cell with a neighbour that is NODATA or beyond the raster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edges {
    /// NODATA, as by gdaldem.
    #[default]
    Nodata,
    /// The neighbour counts as level with the cell: for pictures.
    Level,
}

/// Parameters of a product of a DEM.
///
/// ```
/// use gpu_core::{Device, GridSpec, GridView};
/// use terrain_grid::{Edges, Product, ProductParams, SlopeUnit, product};
///
/// // Feet on a ground of metres: a rise of 1 m from column to column.
/// let dem: Vec<f32> = (0..9).map(|cell| (cell % 3) as f32 / 0.3048).collect();
/// let dem = GridView::new(&dem, GridSpec::of_pixels(3, 3))?;
/// let params = ProductParams::new(Product::Slope(SlopeUnit::Percent)).z_factor(0.3048).edges(Edges::Level);
/// let slope = product(&Device::Cpu, dem, &params)?;
/// assert!((slope.values()[4] - 100.0).abs() < 1e-4);
/// assert!(slope.values()[0].is_finite()); // at the border too
/// # Ok::<(), terrain_grid::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ProductParams {
    /// The product.
    pub product: Product,
    /// How to compute gradients: Horn's by default. Curvature has its own derivatives.
    pub gradient: Gradient,
    /// The shape of a cell on the ground: by default, a square of the grid's cell size. Products in the unit of heights
    /// ignore it.
    pub ground: Ground,
    /// A factor on heights: an exaggeration, or the ratio of the unit of heights to the unit of the ground; 1 by
    /// default. Products in the unit of heights and aspect ignore it.
    pub z_factor: f64,
    /// How to treat cells beside NODATA: by default they are NODATA too.
    pub edges: Edges,
}

impl ProductParams {
    /// A product with the defaults.
    pub fn new(product: Product) -> Self {
        Self {
            product,
            gradient: Gradient::Horn,
            ground: Ground::Square,
            z_factor: 1.0,
            edges: Edges::Nodata,
        }
    }

    gpu_core::builders! {
        product: Product;
        gradient: Gradient;
        ground: Ground;
        z_factor: f64;
        edges: Edges;
    }

    /// Checks it, and returns the kernels' product, whether its gradient is Horn's, what a scale is made of, and the
    /// scales of a grid.
    pub(crate) fn recipe(&self, grid: &GridSpec) -> Result<(Kind, bool, Recipe, Scales)> {
        finite("z factor", self.z_factor)?;
        let (kind, light, constant) = self.kind()?;
        let (is_horn, weight) = match self.gradient {
            _ if !has_gradient(kind) => (true, 1.0),
            Gradient::Horn => (true, Horn::WEIGHT),
            Gradient::ZevenbergenThorne => (false, ZevenbergenThorne::WEIGHT),
        };
        let is_curvature = u32::from(matches!(kind, Kind::Plan | Kind::Profile));
        let rise = self.z_factor / weight;
        let recipe = Recipe { rise, light, constant: constant as f32, is_curvature };
        let scales = self.ground.scales(grid, &recipe)?;
        let is_scaled = is_curvature == 1
            || has_gradient(kind) && !matches!(kind, Kind::Azimuth | Kind::Trigonometric);
        let factor = match &scales {
            Scales::Same(scale) => scale.factor,
            Scales::OfRows(parallels) => recipe.scale(parallels.sides_of(0)).factor,
        };
        let fits = !is_scaled || self.z_factor == 0.0 || factor.is_normal();
        require_parameter("z factor", self.z_factor, fits, EXPECTED)?;
        Ok((kind, is_horn, recipe, scales))
    }

    /// The kernels' product, and what it takes of the light.
    fn kind(&self) -> Result<(Kind, [f64; 2], f64)> {
        let plain = |kind| Ok((kind, [0.0; 2], 0.0));
        match self.product {
            Product::Slope(SlopeUnit::Degrees) => plain(Kind::Degrees),
            Product::Slope(SlopeUnit::Percent) => plain(Kind::Percent),
            Product::Aspect(Aspect { angle, flat }) => {
                let expected = "NaN or a finite number";
                require_parameter("flat aspect", flat, !flat.is_infinite(), expected)?;
                let kind = match angle {
                    Angle::Azimuth => Kind::Azimuth,
                    Angle::Trigonometric => Kind::Trigonometric,
                };
                // A NaN of other bits would not be the same on every device.
                let flat = if flat.is_nan() { f64::NAN } else { flat.into() };
                Ok((kind, [0.0; 2], flat))
            }
            Product::Hillshade(light) => light.kind(),
            Product::Curvature(Curvature::Plan) => plain(Kind::Plan),
            Product::Curvature(Curvature::Profile) => plain(Kind::Profile),
            Product::Ruggedness(Ruggedness::Riley) => plain(Kind::Riley),
            Product::Ruggedness(Ruggedness::Wilson) => plain(Kind::Wilson),
            Product::Position => plain(Kind::Position),
            Product::Roughness => plain(Kind::Roughness),
        }
    }
}

/// What a factor on heights must be.
const EXPECTED: &str =
    "between about 1e-18 and 1e18 times the side of a cell: results would not fit a 32-bit float";

fn has_gradient(kind: Kind) -> bool {
    use Kind::{Azimuth, Combined, Degrees, Igor, Multidirectional, Percent, Shade, Trigonometric};
    let is_shade = matches!(kind, Shade | Multidirectional | Combined | Igor);
    is_shade || matches!(kind, Degrees | Percent | Azimuth | Trigonometric)
}

impl Light {
    /// The kernels' product, and the way to the light.
    fn kind(&self) -> Result<(Kind, [f64; 2], f64)> {
        finite("azimuth", self.azimuth)?;
        finite("altitude", self.altitude)?;
        let (azimuth, altitude) = (self.azimuth.to_radians(), self.altitude.to_radians());
        let up = altitude.sin();
        let way = [azimuth.sin() * altitude.cos(), -(azimuth.cos() * altitude.cos())];
        Ok(match self.shading {
            Shading::Lambert => (Kind::Shade, way, up),
            Shading::Combined => (Kind::Combined, way, up),
            // The way from the light.
            Shading::Igor => (Kind::Igor, [0.0; 2], (270.0 - self.azimuth).rem_euclid(360.0)),
            Shading::Multidirectional => {
                let straight = altitude.cos();
                let diagonal = straight * std::f64::consts::FRAC_1_SQRT_2;
                (Kind::Multidirectional, [straight, diagonal], up)
            }
        })
    }
}
