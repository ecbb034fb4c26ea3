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

impl Points {
    /// Writes the points from number `first` on into records of this many bytes, as the point formats 6 to 10 have them.
    /// Bytes of fields that were not decoded stay as they are.
    ///
    /// # Panics
    /// Panics if there are fewer points than records, or if a record has fewer than 22 bytes.
    pub fn fill_records(&self, first: usize, records: &mut [u8], bytes: usize) {
        fn set<T: Copy, const N: usize>(
            records: &mut [u8],
            (bytes, at): (usize, usize),
            column: &[T],
            field: impl Fn(T) -> [u8; N],
        ) {
            for (record, &value) in records.chunks_exact_mut(bytes).zip(column) {
                record[at..at + N].copy_from_slice(&field(value));
            }
        }
        let all = first..first + records.len() / bytes;
        set(records, (bytes, 0), &self.x[all.clone()], i32::to_le_bytes);
        set(records, (bytes, 4), &self.y[all.clone()], i32::to_le_bytes);
        set(records, (bytes, 8), &self.z[all.clone()], i32::to_le_bytes);
        set(records, (bytes, 14), &self.returns[all.clone()], u8::to_le_bytes);
        set(records, (bytes, 15), &self.flags[all.clone()], u8::to_le_bytes);
        set(records, (bytes, 16), &self.class[all.clone()], u8::to_le_bytes);
        if let Some(intensity) = &self.intensity {
            set(records, (bytes, 12), &intensity[all.clone()], u16::to_le_bytes);
        }
        if let Some(user_data) = &self.user_data {
            set(records, (bytes, 17), &user_data[all.clone()], u8::to_le_bytes);
        }
        if let Some(scan_angle) = &self.scan_angle {
            set(records, (bytes, 18), &scan_angle[all.clone()], i16::to_le_bytes);
        }
        if let Some(source) = &self.source {
            set(records, (bytes, 20), &source[all], u16::to_le_bytes);
        }
    }
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
        // As `kernels_rs::laz::coordinate`, which a build without a GPU does not have.
        f64::from(along) * self.scale + self.offset
    }
}
