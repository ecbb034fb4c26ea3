//! Coordinates and places, biased to what breaks geometry.

use arbitrary::Arbitrary;

/// A coordinate: mostly small whole numbers, whose ties and lines are exact, else any bits.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Coordinate {
    /// A whole number.
    Whole(i8),
    /// Eighths.
    Eighths(i16),
    /// One of the least or greatest numbers, or none.
    Odd(u8),
    /// Any bits.
    Any(f64),
}

const ODD: [f64; 16] = [
    0.0,
    -0.0,
    f64::MIN_POSITIVE,
    5e-324,
    1e-160,
    1e-130,
    1e-20,
    1e16,
    1e20,
    1e105,
    1e150,
    1e160,
    f64::MAX,
    f64::MIN,
    f64::INFINITY,
    f64::NAN,
];

impl Coordinate {
    /// Returns its number.
    pub fn get(self) -> f64 {
        match self {
            Self::Whole(number) => number.into(),
            Self::Eighths(number) => f64::from(number) / 8.0,
            Self::Odd(which) => ODD[usize::from(which) % ODD.len()],
            Self::Any(number) => number,
        }
    }
}

/// A place with a value.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Place {
    /// Easting.
    pub x: Coordinate,
    /// Northing.
    pub y: Coordinate,
    /// Value.
    pub z: Coordinate,
}

/// Returns the places as columns of x, y and values.
pub fn columns(places: &[Place]) -> [Vec<f64>; 3] {
    let column =
        |of: fn(&Place) -> Coordinate| places.iter().map(|place| of(place).get()).collect();
    [column(|place| place.x), column(|place| place.y), column(|place| place.z)]
}
