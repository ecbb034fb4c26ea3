//! The fields of a shapefile (.dbf): rows of text of fixed widths.
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::Field;
use crate::input::open;
use crate::tables::EXACT;
use crate::{Error, Number, Result};

/// A column.
struct Column {
    name: String,
    kind: u8,
    /// Its bytes in a row.
    bytes: std::ops::Range<usize>,
}

/// The file, at a row.
pub(super) struct Fields {
    file: BufReader<File>,
    columns: Vec<Column>,
    row: Vec<u8>,
    rows: u64,
    next: u64,
    code_page: u8,
}

impl Fields {
    pub fn open(path: &Path) -> Result<Self> {
        let (file, length) = open(path)?;
        let mut file = BufReader::new(file);
        let short = |_| Error::malformed(path, "it ends within its header");
        let mut header = [0; 32];
        file.read_exact(&mut header).map_err(short)?;
        let rows = u64::from(u32::from_le_bytes([header[4], header[5], header[6], header[7]]));
        let [start, width] = [8, 10].map(|at| u16::from_le_bytes([header[at], header[at + 1]]));
        let mut columns = Vec::new();
        let mut descriptor = [0; 32];
        let mut at = 1;
        // The list ends with a carriage return, or where rows begin.
        for _ in 0..usize::from(start).saturating_sub(33) / 32 {
            file.read_exact(&mut descriptor).map_err(short)?;
            if descriptor[0] == b'\r' {
                break;
            }
            let name = descriptor[..11].split(|&byte| byte == 0).next().unwrap_or_default();
            // A text may be longer than 255: the byte behind has the rest.
            let wide = if descriptor[11] == b'C' { usize::from(descriptor[17]) << 8 } else { 0 };
            let end = at + usize::from(descriptor[16]) + wide;
            columns.push(Column { name: text(name), kind: descriptor[11], bytes: at..end });
            at = end;
        }
        if at > usize::from(width) {
            let reason = format!("its columns take {at} bytes, and its rows have {width}");
            return Err(Error::malformed(path, reason));
        }
        let held = length.saturating_sub(start.into()) / u64::from(width);
        if held < rows {
            return Err(Error::Truncated { path: path.to_owned(), expected: rows, found: held });
        }
        file.seek(SeekFrom::Start(start.into())).map_err(|reason| Error::read(path, reason))?;
        Ok(Self { file, columns, row: vec![0; width.into()], rows, next: 0, code_page: header[29] })
    }

    pub fn names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }

    /// The byte that says what code page texts are in; 0 if it says none.
    pub fn code_page(&self) -> u8 {
        self.code_page
    }

    /// Rows, the deleted ones too.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Some fields of the next row; `None` if it was deleted.
    pub fn next(&mut self, wanted: &[usize]) -> Result<Option<Vec<Field>>, String> {
        if self.next == self.rows {
            return Err(format!("its .dbf has {} rows, but there are more shapes", self.rows));
        }
        self.next += 1;
        self.file.read_exact(&mut self.row).map_err(|error| error.to_string())?;
        if self.row[0] == b'*' {
            return Ok(None);
        }
        let field = |&column: &usize| self.columns[column].field(&self.row);
        wanted.iter().map(field).collect::<Result<_, _>>().map(Some)
    }
}

impl Column {
    fn field(&self, row: &[u8]) -> Result<Field, String> {
        let bytes = &row[self.bytes.clone()];
        let word = text(bytes);
        let word = word.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        let fixed = |count: usize| bytes.get(..count).ok_or("a field is too short".to_owned());
        Ok(match self.kind {
            // GDAL writes asterisks where there is no number, dBASE where a number is wider than the column.
            b'N' | b'F' if word.bytes().all(|b| b == b'*') => Field::Null,
            // Where a column says that it has numbers, and a row has none.
            b'N' | b'F' => match word.parse::<Number>() {
                // Programs write floats with a point or an exponent.
                Ok(number)
                    if word.contains(['.', 'e', 'E']) && number.to_f64().abs() >= EXACT[2] =>
                {
                    Field::Rounded(number)
                }
                Ok(number) => Field::Number(number),
                Err(_) => Field::Text(word.to_owned()),
            },
            b'L' => match word {
                "T" | "t" | "Y" | "y" | "1" => Field::Bool(true),
                "F" | "f" | "N" | "n" | "0" => Field::Bool(false),
                _ => Field::Null,
            },
            // Of Visual FoxPro.
            b'I' => {
                let number = fixed(4)?.try_into().map(i32::from_le_bytes);
                Field::Number(number.unwrap_or_default().into())
            }
            b'B' | b'O' if bytes.len() == 8 => {
                let number = fixed(8)?.try_into().map(f64::from_le_bytes);
                Field::double(number.unwrap_or_default())
            }
            b'C' | b'D' if word.is_empty() => Field::Null,
            b'D' if word.bytes().all(|digit| digit == b'0') => Field::Null,
            b'D' => Field::Text(date(word).unwrap_or_else(|| word.to_owned())),
            b'C' => Field::Text(word.to_owned()),
            _ => Field::Other("a memo, a picture or a time"),
        })
    }
}

/// A day as other formats write it, with hyphens.
fn date(word: &str) -> Option<String> {
    let is_whole = word.len() == 8 && word.bytes().all(|digit| digit.is_ascii_digit());
    is_whole.then(|| format!("{}-{}-{}", &word[..4], &word[4..6], &word[6..]))
}

/// A text in UTF-8, or Latin-1 where it is not.
fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&byte| char::from(byte)).collect(),
    }
}
