//! Places on the sphere: longitude and latitude in degrees, or a vector of length 1. Two types, so that no
//! function takes one for the other.

use kernels_rs::spatial::sphere;
use kernels_rs::sphere_qtm::locate::is_on_globe;
pub(crate) use kernels_rs::sphere_qtm::triangle::cross;
use kernels_rs::sphere_qtm::triangle::{Vector, dot, unit};

use crate::{Error, Result};

/// Longitude and latitude in degrees: from -360 to 360, and from -90 to 90.
///
/// ```
/// use sphere_qtm::LonLat;
///
/// let place = LonLat::new(90.0, 0.0)?;
/// let [x, y, z] = place.to_vector().to_array();
/// assert!(x.abs() < 1e-15 && y == 1.0 && z == 0.0);
/// assert!(LonLat::new(0.0, 91.0).is_err());
/// # Ok::<(), sphere_qtm::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LonLat {
    longitude: f64,
    latitude: f64,
}

impl LonLat {
    /// From degrees, longitude first.
    ///
    /// # Errors
    /// [`Error::Place`].
    pub fn new(longitude: f64, latitude: f64) -> Result<Self> {
        if is_on_globe(longitude, latitude) {
            Ok(Self { longitude, latitude })
        } else {
            Err(Error::Place { longitude, latitude })
        }
    }

    /// The same of what is known to be a place.
    pub(crate) fn of_degrees(longitude: f64, latitude: f64) -> Self {
        Self { longitude, latitude }
    }

    /// Degrees east, as given.
    pub fn longitude(self) -> f64 {
        self.longitude
    }

    /// Degrees north.
    pub fn latitude(self) -> f64 {
        self.latitude
    }

    /// Returns the vector of length 1 to this place.
    pub fn to_vector(self) -> UnitVector {
        UnitVector(sphere::unit_vector(self.longitude, self.latitude))
    }

    /// Converts a place with geodetic latitude on an ellipsoid to a place on the sphere.
    ///
    /// # Errors
    /// [`Error::Place`].
    pub fn from_geodetic(longitude: f64, latitude: f64, how: Latitude) -> Result<Self> {
        let place = Self::new(longitude, latitude)?;
        Ok(Self { latitude: how.on_sphere(place.latitude), ..place })
    }

    /// Converts a place on the sphere to a place with geodetic latitude on the ellipsoid: the reverse of
    /// [`from_geodetic`](Self::from_geodetic).
    #[must_use]
    pub fn to_geodetic(self, how: Latitude) -> Self {
        Self { latitude: how.to_geodetic(self.latitude), ..self }
    }
}

/// A vector of length 1: x towards longitude 0 on the equator, y towards 90 degrees east, z towards the north
/// pole.
///
/// ```
/// use sphere_qtm::{LonLat, UnitVector};
///
/// let pole = UnitVector::new(0.0, 0.0, 5.0)?; // any length
/// assert_eq!(pole.to_lon_lat().latitude(), 90.0);
/// let quarter = pole.distance(LonLat::new(30.0, 0.0)?.into());
/// assert!((quarter.to_degrees() - 90.0).abs() < 1e-12);
/// # Ok::<(), sphere_qtm::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitVector(pub(crate) Vector);

impl UnitVector {
    /// Returns the direction of a vector of any length.
    ///
    /// # Errors
    /// [`Error::Direction`] where it has none.
    pub fn new(x: f64, y: f64, z: f64) -> Result<Self> {
        let largest = x.abs().max(y.abs()).max(z.abs());
        let sum = x + y + z;
        if !(largest > 0.0 && largest.is_finite() && !sum.is_nan()) {
            return Err(Error::Direction { x, y, z });
        }
        // Scaled first, so that no square leaves the range of numbers.
        Ok(Self(unit([x / largest, y / largest, z / largest])))
    }

    /// x, y and z.
    pub fn to_array(self) -> [f64; 3] {
        self.0
    }

    /// Longitude from -180 to 180 and latitude, in degrees. At a pole the longitude is 0.
    pub fn to_lon_lat(self) -> LonLat {
        let [x, y, z] = self.0;
        let longitude = if x == 0.0 && y == 0.0 { 0.0 } else { y.atan2(x).to_degrees() };
        LonLat { longitude, latitude: z.atan2(x.hypot(y)).to_degrees() }
    }

    /// The great-circle distance to another place on the sphere of radius 1: an angle in radians.
    pub fn distance(self, other: Self) -> f64 {
        angle(self.0, other.0)
    }
}

impl From<LonLat> for UnitVector {
    fn from(place: LonLat) -> Self {
        place.to_vector()
    }
}

impl From<UnitVector> for LonLat {
    fn from(place: UnitVector) -> Self {
        place.to_lon_lat()
    }
}

/// The difference.
pub(crate) fn minus(u: Vector, v: Vector) -> Vector {
    [u[0] - v[0], u[1] - v[1], u[2] - v[2]]
}

/// The angle between two vectors of length 1, exact where it is small and where it is nearly half a turn.
pub(crate) fn angle(u: Vector, v: Vector) -> f64 {
    let product = cross(u, v);
    dot(product, product).sqrt().atan2(dot(u, v))
}

/// How geodetic latitudes, as on maps and by GPS, become latitudes on the sphere. The ellipsoid is WGS 84's.
///
/// ```
/// use sphere_qtm::Latitude;
///
/// let how = Latitude::Geocentric;
/// assert_eq!((how.on_sphere(0.0), how.on_sphere(90.0)), (0.0, 90.0));
/// let on_sphere = how.on_sphere(45.0); // nearer to the equator, since the Earth is flattened
/// assert!((on_sphere - 44.81).abs() < 0.01);
/// assert!((how.to_geodetic(on_sphere) - 45.0).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Latitude {
    /// Geodetic latitudes stay unchanged. Directions are up to 22 km off; areas are 0.45% too large at the equator and
    /// 0.9% too small at the poles.
    Geodetic,
    /// Geocentric latitude: the direction from the centre of the Earth.
    Geocentric,
    /// Authalic latitude: areas on the sphere, times the area of the ellipsoid over 4 pi, are areas on the ellipsoid
    /// (Snyder 1987, equation 3-11, DOI 10.3133/pp1395).
    #[default]
    Authalic,
}

/// The flattening of WGS 84.
const FLATTENING: f64 = 1.0 / 298.257_223_563;

/// The square of its eccentricity.
const SQUARED: f64 = FLATTENING * (2.0 - FLATTENING);

impl Latitude {
    /// Converts a geodetic latitude to a latitude on the sphere, in degrees.
    pub fn on_sphere(self, degrees: f64) -> f64 {
        if degrees.abs() == 90.0 {
            return degrees;
        }
        match self {
            Self::Geodetic => degrees,
            Self::Geocentric => ((1.0 - SQUARED) * degrees.to_radians().tan()).atan().to_degrees(),
            Self::Authalic => authalic(degrees),
        }
    }

    /// Returns the geodetic latitude, in degrees, of a latitude on the sphere. It reverses
    /// [`on_sphere`](Self::on_sphere) to 1e-13 degrees.
    pub fn to_geodetic(self, degrees: f64) -> f64 {
        if degrees.abs() == 90.0 {
            return degrees;
        }
        match self {
            Self::Geodetic => degrees,
            Self::Geocentric => (degrees.to_radians().tan() / (1.0 - SQUARED)).atan().to_degrees(),
            Self::Authalic => {
                // The two latitudes differ by 0.13 degrees at most, and their rates by 0.9%: each step leaves a hundredth
                // of the error.
                (0..8).fold(degrees, |geodetic, _| geodetic + (degrees - authalic(geodetic)))
            }
        }
    }
}

/// The authalic latitude of a geodetic one, in degrees.
fn authalic(degrees: f64) -> f64 {
    let sine = degrees.abs().to_radians().sin();
    let cosine = (90.0 - degrees.abs()).to_radians().sin();
    let e = SQUARED.sqrt();
    let inside = 1.0 - SQUARED * sine * sine;
    // The area from the equator to the latitude but for a factor, and from there to the pole. The second is no difference of
    // areas: near the pole that would lose half of the digits.
    let below = sine / inside + (e * sine).atanh() / e;
    let left = cosine * cosine / (1.0 + sine);
    let beyond = left * (1.0 + SQUARED * sine) / ((1.0 - SQUARED) * inside)
        + (e * left / (1.0 - SQUARED * sine)).atanh() / e;
    // Sine and cosine of the authalic latitude, both times the area from the equator to the pole.
    below.atan2((beyond * (2.0 * below + beyond)).sqrt()).to_degrees().copysign(degrees)
}
