//! Units of length and of angles by their codes.

/// Codes of units of length, and their metres.
const UNITS: [(u16, f64); 10] = [
    (9001, 1.0),
    (9002, 0.3048),
    (9003, 1200.0 / 3937.0),
    (9005, 0.304_797_265_4),
    (9030, 1852.0),
    (9036, 1000.0),
    (9041, 0.304_799_471_538_676),
    (9080, 0.304_799_510_248_147),
    (9093, 1609.344),
    (9096, 0.9144),
];

/// Degrees of a unit of angles with a code: radians, degrees, and grads by two names.
pub(super) fn degrees_of(unit: u16) -> Option<f64> {
    match unit {
        9101 => Some(1_f64.to_degrees()),
        9102 | 9122 => Some(1.0),
        9105 | 9106 => Some(0.9),
        _ => None,
    }
}

/// Metres of a unit with a code.
pub(super) fn metres_of(unit: u16) -> Option<f64> {
    UNITS.iter().find(|(code, _)| *code == unit).map(|(_, metres)| *metres)
}

/// The code of a unit of this many metres.
pub(super) fn unit_code(metres: f64) -> Option<u16> {
    UNITS.iter().find(|(_, size)| (size / metres - 1.0).abs() < 1e-9).map(|(code, _)| *code)
}
