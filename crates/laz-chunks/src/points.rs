//! Decoded points.

/// Decoded points in the order of the chunks, as columns on the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Points {
    /// x of each point, a whole number: [`Transform::coordinate`] gives the coordinate.
    pub x: Vec<i32>,
    /// y of each point.
    pub y: Vec<i32>,
    /// z of each point.
    pub z: Vec<i32>,
    /// The number of the return in bits 0 to 3, and the number of returns of its pulse in bits 4 to 7.
    pub returns: Vec<u8>,
    /// The flags, as LAS 1.4 has them. Bits 0 to 3: synthetic, key point, withheld, overlap. Bits 4 and 5: the scanner's
    /// channel. Bit 6: the scan direction. Bit 7: the edge of a flight line.
    pub flags: Vec<u8>,
    /// The class.
    pub class: Vec<u8>,
    /// The intensity, if it was asked for.
    pub intensity: Option<Vec<u16>>,
    /// The scan angle in steps of 0.006 degrees, if it was asked for.
    pub scan_angle: Option<Vec<i16>>,
    /// The user data, if they were asked for.
    pub user_data: Option<Vec<u8>>,
    /// The point source, if it was asked for.
    pub source: Option<Vec<u16>>,
}

/// What makes a coordinate of a whole number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transform {
    /// The step from one whole number to the next.
    pub scale: f64,
    /// The coordinate of 0.
    pub offset: f64,
}

impl Transform {
    /// The coordinate of a whole number: `along * scale + offset`, each operation rounded once.
    pub fn coordinate(&self, along: i32) -> f64 {
        kernels_rs::laz::coordinate(along, self.scale, self.offset)
    }
}
