//! Texts of JSON in a file.

use std::ops::Range;
use std::path::Path;

use serde_json::{Deserializer, Value};

use crate::{Error, Result, stream};

/// What the numbers of an object or a list are.
#[derive(Clone, Copy, PartialEq)]
enum Numbers {
    /// The numbers of a feature or a geometry itself.
    Own,
    /// Coordinates, which are floats.
    Places,
    /// The values of properties, whatever their names.
    Properties,
}

impl Numbers {
    /// The numbers of a member.
    fn of_member(self, key: &str) -> Self {
        match (self, key) {
            (Self::Own, "coordinates" | "bbox") => Self::Places,
            (Self::Own, "properties") => Self::Properties,
            _ => self,
        }
    }
}

/// The objects of a file.
pub(crate) struct Documents {
    pub values: Vec<Value>,
    /// How many whole numbers are texts because no type of JSON's reader holds them, and the first.
    pub texts: Option<(u64, String)>,
}

/// Reads the objects in a file, of which there may be several one after the other, as newline-delimited JSON and JSON text
/// sequences (RFC 7464) have them. A whole number that neither 64 bits nor a float hold becomes a text, unless it is a
/// coordinate. Nesting ends at 127 levels, so that no file exhausts the stack.
///
/// # Errors
/// [`Error::Read`], [`Error::Empty`], [`Error::NotA`] for a file that does not begin with an object,
/// [`Error::Malformed`] with line and column for what is not JSON.
pub(crate) fn documents(path: &Path) -> Result<Documents> {
    let bytes = match stream::is_stream(path) {
        true => stream::bytes_of(path)?,
        false => std::fs::read(path).map_err(|e| Error::read(path, e))?,
    };
    if bytes.is_empty() {
        return Err(Error::Empty { path: path.to_owned() });
    }
    let not_json = || Error::NotA { path: path.to_owned(), format: "GeoJSON" };
    let malformed = |reason: String| Error::Malformed { path: path.to_owned(), reason };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    // What separates the texts of a sequence.
    let bytes: Vec<u8> = bytes.iter().map(|&b| if b == 0x1e { b' ' } else { b }).collect();
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(not_json());
    }
    let text = std::str::from_utf8(&bytes);
    let text = text.map_err(|e| malformed(format!("byte {} is not UTF-8", e.valid_up_to())))?;
    let parsed = |text: &str| -> Result<Vec<Value>, serde_json::Error> {
        Deserializer::from_str(text).into_iter().collect()
    };
    let values = |text: &str| parsed(text).map_err(|error| malformed(words(text, &error)));
    let long = long_numbers(text);
    // Errors name lines and columns of the text without further quotes.
    let Some(first) = long.first() else {
        return Ok(Documents { values: values(text)?, texts: None });
    };
    let texts = Some((long.len() as u64, text[first.clone()].to_owned()));
    let (mut quoted, mut end) = (String::with_capacity(text.len() + 2 * long.len()), 0);
    for number in &long {
        let before = &text[end..number.start];
        quoted.extend([before, "\"", &text[number.clone()], "\""]);
        end = number.end;
    }
    quoted.push_str(&text[end..]);
    Ok(Documents { values: parsed(&quoted).or_else(|_| values(text))?, texts })
}

/// Where a text has whole numbers that neither 64 bits nor a float hold, outside of coordinates.
fn long_numbers(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let end_of = |from: usize, is_part: fn(u8) -> bool| {
        bytes[from..].iter().position(|&b| !is_part(b)).map_or(bytes.len(), |count| from + count)
    };
    let (mut found, mut key, mut numbers, mut at) = (Vec::new(), "", Vec::new(), 0);
    while let Some(&byte) = bytes.get(at) {
        let mut next = at + 1;
        match byte {
            b'"' => {
                while let Some(b) = bytes.get(next).filter(|b| **b != b'"') {
                    next += if *b == b'\\' { 2 } else { 1 };
                }
                let behind = end_of((next + 1).min(bytes.len()), |b| b.is_ascii_whitespace());
                if bytes.get(behind) == Some(&b':') {
                    key = &text[at + 1..next];
                }
                next += 1;
            }
            b'{' | b'[' => {
                let outside = numbers.last().copied().unwrap_or(Numbers::Own);
                numbers.push(outside.of_member(key));
            }
            b'}' | b']' => {
                numbers.pop();
                key = "";
            }
            b'-' | b'0'..=b'9' => {
                next = end_of(next, |b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
                let is_long = next - at > 19 && is_rounded(&text[at..next]);
                if is_long && numbers.last() != Some(&Numbers::Places) {
                    found.push(at..next);
                }
            }
            _ => {}
        }
        at = next;
    }
    found
}

/// Whether a word is a whole number that neither 64 bits nor a float hold.
fn is_rounded(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    let is_whole = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    let is_held = || match word.parse::<i128>() {
        Ok(whole) => {
            i64::try_from(whole).is_ok()
                || u64::try_from(whole).is_ok()
                || (whole as f64) as i128 == whole
        }
        Err(_) => false,
    };
    is_whole && !is_held()
}

/// An error of the parser, in words that tell what stands there.
fn words(text: &str, error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    if error.to_string().starts_with("recursion limit") {
        return format!("line {line} column {column}: nested more than 127 levels deep");
    }
    let here = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let after = here.get(column.saturating_sub(1)..).unwrap_or_default();
    let word = |c: char| c.is_alphanumeric() || c == '-';
    let before = here.get(..column.saturating_sub(1)).unwrap_or_default();
    let begun = before.rfind(|c| !word(c)).map_or(0, |at| at + 1);
    let number: String = before
        .get(begun..)
        .unwrap_or_default()
        .chars()
        .chain(after.chars())
        .take_while(|&c| word(c))
        .collect();
    match number.trim_start_matches('-').to_ascii_lowercase().as_str() {
        "nan" | "inf" | "infinity" => {
            format!("line {line} column {column}: {number} is not a number in JSON")
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_found_outside_of_texts_and_coordinates() {
        const LONG: &str = "123456789012345678901234567890";
        for (text, count) in [
            (r#"{"id": LONG}"#, 1),
            (r#"{"id": [1, -LONG], "other": {"a":LONG}}"#, 2),
            (r#"{"coordinates": [[LONG, 1], [2, LONG]], "bbox" : [LONG], "id": LONG}"#, 1),
            (r#"{"geometry": {"coordinates": [LONG]}, "properties": {"id": LONG}}"#, 1),
            (r#"{"properties": {"coordinates": LONG, "bbox": [LONG], "a": {"bbox": LONG}}}"#, 3),
            (r#"[{"id": LONG, "coordinates": [LONG]}, {"id": LONG}]"#, 2),
            (r#"{"id": "LONG", "a\" LONG": ": LONG \\"}"#, 0),
            (r#"{"id": LONG.5, "a": LONGe3, "b": 0LONG}"#, 0),
            (r#"{"id": 18446744073709551615, "a": -9223372036854775808}"#, 0),
            (r#"{"id": 18446744073709551616, "a": 100000000000000000000}"#, 0),
            (r#"{"id": 18446744073709551617, "a": -9223372036854775809}"#, 2),
            (r#"{"id": LONG"#, 1),
            (r#"]]"LONG\"#, 0),
        ] {
            let text = text.replace("LONG", LONG);
            assert_eq!(long_numbers(&text).len(), count, "{text}");
        }
    }
}
