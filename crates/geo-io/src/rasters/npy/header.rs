//! The headers of NPY files, from any version of NumPy.
//!
//! `npyz` reads the header, which is a dictionary. Before that, this module rewrites what Python 2 wrote differently:
//! long integers as `23L` and names as `b'descr'`.

use std::io::Read;
use std::path::Path;

use npyz::{DType, NpyHeader, Order, TypeStr};

use crate::error::unwinding;
use crate::{Error, Result};

/// Bytes that no header of an array of numbers reaches.
const MOST: usize = 1 << 20;

/// Brackets within each other that a header has at most. The parser of headers takes time that doubles with each.
const DEEPEST: usize = 8;

/// The types that are read, as NumPy names them without the byte order.
const KNOWN: [&str; 12] = ["f2", "f4", "f8", "b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"];

/// The fields of a header.
pub(crate) struct Header {
    pub shape: Vec<usize>,
    /// The type of the elements, among the types that geo-io reads.
    pub element: TypeStr,
    pub by_columns: bool,
    /// Bytes before the first element.
    pub start: u64,
}

impl Header {
    /// Reads the header of an array of one or two dimensions; the source is then at its first element.
    ///
    /// # Errors
    /// [`Error::NotA`] for another file, [`Error::Malformed`] for an array that geo-io does not read.
    pub fn read(path: &Path, source: &mut dyn Read) -> Result<Self> {
        let bad = |reason: String| Error::malformed(path, reason);
        let mut signature = [0; 6];
        if source.read_exact(&mut signature).is_err() || signature != *b"\x93NUMPY" {
            return Err(Error::NotA { path: path.to_owned(), format: "NPY" });
        }
        let cut = |_| bad("it ends within its header".to_owned());
        let mut version = [0; 2];
        source.read_exact(&mut version).map_err(cut)?;
        let mut length = [0; 4];
        let digits = if version[0] == 1 { 2 } else { 4 };
        source.read_exact(&mut length[..digits]).map_err(cut)?;
        let length = u32::from_le_bytes(length) as usize;
        if !(1..=3).contains(&version[0]) || length > MOST {
            let [major, minor] = version;
            return Err(bad(format!("its header has version {major}.{minor} and {length} bytes")));
        }
        let mut text = vec![0; length];
        source.read_exact(&mut text).map_err(cut)?;
        let text = match version[0] {
            3 => String::from_utf8_lossy(&text).into_owned(),
            _ => text.iter().map(|&byte| char::from(byte)).collect(),
        };
        Self::of_text(&text, (8 + digits + length) as u64).map_err(bad)
    }

    fn of_text(text: &str, start: u64) -> Result<Self, String> {
        let text = cleaned(text);
        if nesting(&text) > DEEPEST {
            return Err(format!("its header has more than {DEEPEST} brackets within brackets"));
        }
        let mut bytes = b"\x93NUMPY\x03\x00".to_vec();
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
        let header = unwinding(|| NpyHeader::from_reader(&bytes[..]))
            .and_then(|header| header.map_err(|e| e.to_string()))
            .map_err(|reason| format!("its header is not an NPY header: {reason}"))?;
        let element = match header.dtype() {
            DType::Plain(element) => element,
            DType::Record(fields) => {
                let names: Vec<&str> = fields.iter().map(|field| &field.name[..]).collect();
                let first = names.first().copied().unwrap_or_default();
                return Err(format!(
                    "its elements are records of {}: save a field alone, such as array[\"{first}\"]",
                    names.join(", ")
                ));
            }
            DType::Array(..) => return Err("its elements are arrays".to_owned()),
        };
        let name = element.to_string();
        let kind = name.trim_start_matches(['<', '>', '|', '=']);
        if kind.starts_with('O') {
            return Err("its elements are Python objects: save numbers, as by array.astype(float)"
                .to_owned());
        }
        if !KNOWN.contains(&kind) {
            return Err(format!("its type is {name}; geo-io reads {}", KNOWN.join(", ")));
        }
        let side = |&n: &u64| usize::try_from(n).map_err(|_| format!("a side of {n} is too long"));
        let shape = header.shape().iter().map(side).collect::<Result<Vec<usize>, _>>()?;
        if !(1..=2).contains(&shape.len()) {
            return Err(format!("it has {} dimensions; geo-io reads 1 and 2", shape.len()));
        }
        Ok(Self { shape, element, by_columns: header.order() == Order::Fortran, start })
    }

    /// The type of the elements without its byte order.
    pub fn kind(&self) -> String {
        self.element.to_string().trim_start_matches(['<', '>', '|', '=']).to_owned()
    }

    /// Bytes of an element.
    pub fn element_bytes(&self) -> u64 {
        self.element.num_bytes().unwrap_or(0) as u64
    }

    /// Bytes of all elements.
    ///
    /// # Errors
    /// If the elements need more than `most` bytes.
    pub fn bytes(&self, path: &Path, most: u64) -> Result<u64> {
        let sides = self.shape.iter().map(|&n| n as u128);
        let bytes = sides.fold(u128::from(self.element_bytes()), u128::saturating_mul);
        if bytes > u128::from(most) {
            let reason = format!("its header promises {bytes} bytes, more than it has");
            return Err(Error::malformed(path, reason));
        }
        Ok(bytes as u64)
    }
}

/// Returns how many brackets lie within each other at most, those in quotes left out.
fn nesting(text: &str) -> usize {
    let (mut quote, mut open, mut most) = (None, 0usize, 0);
    for letter in text.chars() {
        match (quote, letter) {
            (Some(mark), _) => quote = (letter != mark).then_some(mark),
            (None, '\'' | '"') => quote = Some(letter),
            (None, '(' | '[' | '{') => open += 1,
            (None, ')' | ']' | '}') => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    most
}

/// Returns a dictionary as NumPy writes it under Python 3. Drops the L of a long integer and the b or u of a text, and
/// gives the types that are read their standard names.
fn cleaned(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let mut last = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' => {
                let mut content = String::new();
                while let Some(next) = letters.next_if(|&next| next != letter) {
                    content.push(next);
                    if next == '\\' {
                        content.extend(letters.next());
                    }
                }
                let is_type = last == "descr" && out.trim_end().ends_with(':');
                let name = if is_type { standard(&content) } else { None };
                out.push(letter);
                out.push_str(name.as_deref().unwrap_or(&content));
                last = content;
                // The closing mark; a text that is cut short has none.
                out.extend(letters.next());
            }
            'L' if out.ends_with(|c: char| c.is_ascii_digit()) => {}
            'b' | 'B' | 'u' | 'U' if matches!(letters.peek(), Some('\'' | '"')) => {}
            _ => out.push(letter),
        }
    }
    out
}

/// Other names that NumPy has for the types that are read.
const NAMES: [(&str, &str); 24] = [
    ("float16", "f2"),
    ("float32", "f4"),
    ("float64", "f8"),
    ("bool", "b1"),
    ("int8", "i1"),
    ("uint8", "u1"),
    ("int16", "i2"),
    ("uint16", "u2"),
    ("int32", "i4"),
    ("uint32", "u4"),
    ("int64", "i8"),
    ("uint64", "u8"),
    ("e", "f2"),
    ("f", "f4"),
    ("d", "f8"),
    ("?", "b1"),
    ("b", "i1"),
    ("B", "u1"),
    ("h", "i2"),
    ("H", "u2"),
    ("i", "i4"),
    ("I", "u4"),
    ("q", "i8"),
    ("Q", "u8"),
];

/// Returns the standard name of a type that is read, where it has another; a name without a byte order has this machine's.
fn standard(name: &str) -> Option<String> {
    let kind = name.trim_start_matches(['<', '>', '|', '=']);
    let other = NAMES.iter().find(|(other, _)| *other == kind).map(|(_, kind)| *kind);
    let kind = other.or_else(|| KNOWN.into_iter().find(|known| *known == kind))?;
    let native = if cfg!(target_endian = "little") { '<' } else { '>' };
    let order = match name.chars().next() {
        _ if kind.ends_with('1') => '|',
        Some(stated @ ('<' | '>')) => stated,
        _ => native,
    };
    Some(format!("{order}{kind}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_of_brackets_within_brackets_ends_at_once() {
        for open in ["{", "(", "["] {
            let text = format!("{{'descr': '|u1', 'shape': ({}3, 4)}}", open.repeat(60));
            let error = Header::of_text(&text, 0).err().unwrap();
            assert!(error.contains("brackets"), "{error}");
        }
        assert_eq!(nesting("{'a(((': (1, [2]), \"b[\": 3}"), 3);
    }

    #[test]
    fn what_python_2_wrote_is_written_as_python_3_would() {
        let old = "{b'descr': u'<f4', 'fortran_order': False, 'shape': (23L, 37L), }\n";
        let new = "{'descr': '<f4', 'fortran_order': False, 'shape': (23, 37), }\n";
        assert_eq!(cleaned(old), new);
        assert_eq!(cleaned(new), new);
        let quoted = r#"{'descr': [('2L\'b', '<i4'), ("u'", '<i4')]}"#;
        assert_eq!(cleaned(quoted), quoted);
        assert_eq!(cleaned("{'descr': 'cut"), "{'descr': 'cut");
        assert_eq!(cleaned("{'descr' : \"bool\"}"), "{'descr' : \"|b1\"}");
        // The name of a field.
        assert_eq!(cleaned("{'descr': [('h', '<i4')]}"), "{'descr': [('h', '<i4')]}");
    }

    #[test]
    fn types_have_several_names() {
        for (name, expected) in [
            ("uint8", Some("|u1")),
            (">u1", Some("|u1")),
            ("f4", Some("<f4")),
            ("=f8", Some("<f8")),
            (">i2", Some(">i2")),
            (">H", Some(">u2")),
            ("bool", Some("|b1")),
            ("descr", None),
            ("<c8", None),
            ("O", None),
        ] {
            // Those without an order have the machine's.
            let native = |name: &str| match cfg!(target_endian = "little") || name.contains('>') {
                true => name.to_owned(),
                false => name.replace('<', ">"),
            };
            assert_eq!(standard(name), expected.map(native), "{name}");
        }
    }
}
