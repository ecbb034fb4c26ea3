//! Units of length by their codes.

/// Codes of units of length, and their metres.
const UNITS: [(u16, f64); 4] =
    [(9001, 1.0), (9002, 0.3048), (9003, 1200.0 / 3937.0), (9005, 0.304_797_265_4)];

/// Metres of a unit with a code.
pub(super) fn metres_of(unit: u16) -> Option<f64> {
    UNITS.iter().find(|(code, _)| *code == unit).map(|(_, metres)| *metres)
}

/// The code of a unit of so many metres.
pub(super) fn unit_code(metres: f64) -> Option<u16> {
    UNITS.iter().find(|(_, size)| (size / metres - 1.0).abs() < 1e-9).map(|(code, _)| *code)
}
