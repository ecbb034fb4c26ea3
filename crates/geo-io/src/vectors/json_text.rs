//! Texts of JSON in a file.

use std::path::Path;

use serde_json::{Deserializer, Value};

use crate::{Error, Result, stream};

/// Reads the objects in a file, of which there may be several one after the other, as newline-delimited JSON and JSON text
/// sequences (RFC 7464) have them. Nesting ends at 127 levels, so that no file exhausts the stack.
///
/// # Errors
/// [`Error::Read`], [`Error::Empty`], [`Error::NotA`] for a file that does not begin with an object,
/// [`Error::Malformed`] with line and column for what is not JSON.
pub(crate) fn documents(path: &Path) -> Result<Vec<Value>> {
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
    let documents = Deserializer::from_str(text).into_iter::<Value>();
    documents.collect::<Result<_, _>>().map_err(|error| malformed(words(text, &error)))
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
