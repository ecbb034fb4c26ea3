//! Values that the metadata of an array state: those of missing chunks, and of NODATA.

use serde_json::Value;

use crate::{Number, SampleType};

/// The number that a `fill_value` is: a number, a word, or the bits of a float.
pub(super) fn fill(value: &Value, sample_type: SampleType) -> Option<Number> {
    sample_type.value(number(value, sample_type)?)
}

/// The number that the attribute `_FillValue` or `missing_value` is: as a `fill_value`, as a list of one such value, or as
/// xarray writes the `_FillValue` of floats.
pub(super) fn stated(value: &Value, sample_type: SampleType) -> Option<Number> {
    let value = match value {
        Value::Array(list) if list.len() == 1 => &list[0],
        value => value,
    };
    let is_float = matches!(sample_type, SampleType::F16 | SampleType::F32 | SampleType::F64);
    let packed = || float_of_base64(value.as_str().filter(|_| is_float)?).map(Number::from);
    number(value, sample_type).or_else(packed)
}

/// A number, a word for one, or the bits of a float of the type.
fn number(value: &Value, sample_type: SampleType) -> Option<Number> {
    Some(match value {
        Value::Bool(value) => Number::from(u8::from(*value)),
        Value::String(text) => match text.strip_prefix("0x") {
            Some(bits) => {
                let bits = u64::from_str_radix(bits, 16).ok()?;
                let float = match sample_type {
                    SampleType::F16 => half::f16::from_bits(bits.try_into().ok()?).into(),
                    SampleType::F32 => f32::from_bits(bits.try_into().ok()?).into(),
                    SampleType::F64 => f64::from_bits(bits),
                    _ => return None,
                };
                float.into()
            }
            None => text.parse().ok()?,
        },
        Value::Number(number) => number.to_string().parse().ok()?,
        _ => return None,
    })
}

/// The float whose eight bytes, the lowest first, a text in base 64 (RFC 4648) holds. xarray writes floats of any width so.
fn float_of_base64(text: &str) -> Option<f64> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // Eleven digits hold the bytes and two bits more, which are 0.
    let digits = text.strip_suffix('=').filter(|digits| digits.len() == 11)?;
    let bits = digits.bytes().try_fold(0_u128, |bits, digit| {
        let value = DIGITS.iter().position(|&known| known == digit)?;
        Some(bits << 6 | value as u128)
    })?;
    let bytes = u64::try_from(bits >> 2).ok()?.to_be_bytes();
    (bits & 3 == 0).then(|| f64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_in_base_64_are_those_of_python() {
        // struct.pack("<d", x), by base64.standard_b64encode.
        for (text, float) in [
            ("AAAAAICHw8A=", -9999.0),
            ("mpmZmZmZuT8=", 0.1),
            ("AAAA4P//70c=", f64::from(f32::MAX)),
            ("AAAAAAAA4MA=", -32768.0),
            ("AAAAAAAA8P8=", f64::NEG_INFINITY),
        ] {
            assert_eq!(float_of_base64(text), Some(float), "{text}");
        }
        assert!(float_of_base64("AAAAAAAA+H8=").unwrap().is_nan());
        for other in ["", "=", "AAAAAICHw8A", "AAAAAICHw8B=", "AAAAAICHw8*=", "AAAA", "none"] {
            assert_eq!(float_of_base64(other), None, "{other}");
        }
    }
}
