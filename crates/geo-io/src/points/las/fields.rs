//! The fields of a LAS record other than coordinates (LAS 1.4 R16, tables 7 to 18): their offsets and their ranges. In
//! a chunk with layers, only the needed fields are decoded.

use std::path::Path;

use ::laz::DecompressionSelection;
use laz_chunks::Fields;

use crate::{Error, Result};

/// A field of LAS points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LasField {
    /// Strength of the return, 0 to 65,535.
    Intensity,
    /// Number of the return within its pulse.
    Return,
    /// Returns of the pulse.
    Returns,
    /// ASPRS class.
    Class,
    /// Angle of the beam in degrees, positive to the right of the track.
    ScanAngle,
    /// A number for a program's own use, 0 to 255.
    UserData,
    /// The source of the point, such as a flight line, 0 to 65,535.
    Source,
    /// GPS time in seconds: of the week, or since the beginning of GPS time minus 10^9.
    GpsTime,
    /// Red, 0 to 65,535.
    Red,
    /// Green, 0 to 65,535.
    Green,
    /// Blue, 0 to 65,535.
    Blue,
    /// Near infrared, 0 to 65,535.
    Infrared,
}

impl LasField {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Intensity,
        Self::Return,
        Self::Returns,
        Self::Class,
        Self::ScanAngle,
        Self::UserData,
        Self::Source,
        Self::GpsTime,
        Self::Red,
        Self::Green,
        Self::Blue,
        Self::Infrared,
    ];

    /// The name of the field for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Intensity => "intensity",
            Self::Return => "return",
            Self::Returns => "returns",
            Self::Class => "class",
            Self::ScanAngle => "scan_angle",
            Self::UserData => "user_data",
            Self::Source => "source",
            Self::GpsTime => "gps_time",
            Self::Red => "red",
            Self::Green => "green",
            Self::Blue => "blue",
            Self::Infrared => "nir",
        }
    }

    /// Returns the range of the field's values in every file; `None` for the time. All whole numbers have the range of
    /// 16 bits, so that values scaled by their range share one scale.
    pub fn range(self) -> Option<[f64; 2]> {
        match self {
            // In units of 0.006 degrees, of 16 bits with a sign.
            Self::ScanAngle => Some([-32_768.0 * SCAN_STEP, 32_767.0 * SCAN_STEP]),
            Self::GpsTime => None,
            _ => Some([0.0, 65_535.0]),
        }
    }

    /// Returns the field with a name, in lower or upper case.
    pub fn of(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        Self::ALL.into_iter().find(|field| field.name() == name)
    }

    /// Where it begins in the records of a point format from 0 to 10; `None` where these have no such field.
    fn offset(self, format: u8) -> Option<usize> {
        let is_long = format >= 6;
        let colours = match format {
            2 => Some(20),
            3 | 5 => Some(28),
            7 | 8 | 10 => Some(30),
            _ => None,
        };
        match self {
            Self::Intensity => Some(12),
            Self::Return | Self::Returns => Some(14),
            Self::Class => Some(if is_long { 16 } else { 15 }),
            Self::ScanAngle => Some(if is_long { 18 } else { 16 }),
            Self::UserData => Some(17),
            Self::Source => Some(if is_long { 20 } else { 18 }),
            Self::GpsTime => match format {
                0 | 2 => None,
                _ => Some(if is_long { 22 } else { 20 }),
            },
            Self::Red => colours,
            Self::Green => colours.map(|offset| offset + 2),
            Self::Blue => colours.map(|offset| offset + 4),
            Self::Infrared => matches!(format, 8 | 10).then_some(36),
        }
    }

    /// Adds the field to the selection of a decoder. Every decoder decodes coordinates, returns and class.
    fn selected(self, selection: DecompressionSelection) -> DecompressionSelection {
        match self {
            Self::Return | Self::Returns | Self::Class => selection,
            Self::Intensity => selection.decompress_intensity(),
            Self::ScanAngle => selection.decompress_scan_angle(),
            Self::UserData => selection.decompress_user_data(),
            Self::Source => selection.decompress_point_source_id(),
            Self::GpsTime => selection.decompress_gps_time(),
            Self::Red | Self::Green | Self::Blue => selection.decompress_rgb(),
            Self::Infrared => selection.decompress_nir(),
        }
    }
}

/// A step of the scan angle of point formats 6 to 10, in degrees.
const SCAN_STEP: f64 = 0.006;

/// A field that is taken out of records.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub field: LasField,
    offset: usize,
    is_long: bool,
}

impl Taken {
    /// The fields of some names, in the records of a point format.
    pub fn of(path: &Path, names: &[String], format: u8) -> Result<Vec<Self>> {
        let taken = |name: &String| {
            let found = LasField::of(name).and_then(|field| {
                Some(Self { field, offset: field.offset(format)?, is_long: format >= 6 })
            });
            found.ok_or_else(|| {
                let there = LasField::ALL.iter().filter(|field| field.offset(format).is_some());
                let there: Vec<&str> = there.map(|field| field.name()).collect();
                let (path, field, fields) = (path.to_owned(), name.clone(), there.join(", "));
                Error::NoField { path, field, fields }
            })
        };
        names.iter().map(taken).collect()
    }

    /// Its value in a record.
    pub fn value(&self, record: &[u8]) -> f64 {
        let byte = record[self.offset];
        let word = || [byte, record[self.offset + 1]];
        match (self.field, self.is_long) {
            (LasField::Return, true) => f64::from(byte & 15),
            (LasField::Return, false) => f64::from(byte & 7),
            (LasField::Returns, true) => f64::from(byte >> 4),
            (LasField::Returns, false) => f64::from(byte >> 3 & 7),
            (LasField::Class, false) => f64::from(byte & 31),
            (LasField::Class, true) | (LasField::UserData, _) => f64::from(byte),
            (LasField::ScanAngle, true) => f64::from(i16::from_le_bytes(word())) * SCAN_STEP,
            (LasField::ScanAngle, false) => f64::from(byte as i8),
            (LasField::GpsTime, _) => {
                f64::from_le_bytes(std::array::from_fn(|i| record[self.offset + i]))
            }
            _ => f64::from(u16::from_le_bytes(word())),
        }
    }
}

/// Selects the layers to decode where a record's fields lie one behind the other: those that every reader uses, and the
/// taken fields.
pub(super) fn selection(taken: &[Taken]) -> DecompressionSelection {
    let all = DecompressionSelection::base();
    let all = all.decompress_z().decompress_classification().decompress_flags();
    taken.iter().fold(all, |all, taken| taken.field.selected(all))
}

/// Returns what a GPU decodes for the taken fields; `None` if it does not decode one of them.
pub(super) fn decoded_on_device(taken: &[Taken]) -> Option<Fields> {
    let mut fields = Fields::default();
    for taken in taken {
        match taken.field {
            LasField::Return | LasField::Returns | LasField::Class => {}
            LasField::Intensity => fields.intensity = true,
            LasField::ScanAngle => fields.scan_angle = true,
            LasField::UserData => fields.user_data = true,
            LasField::Source => fields.source = true,
            LasField::GpsTime
            | LasField::Red
            | LasField::Green
            | LasField::Blue
            | LasField::Infrared => return None,
        }
    }
    Some(fields)
}
