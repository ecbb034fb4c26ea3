//! Points from a table of text: its lines (`lines`), the layout that the first lines tell (`layout`), and the fields
//! and numbers of a row (`fields`).

mod fields;
mod layout;
mod lines;

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use gpu_core::{Progress, Shortest};

use crate::input::open;
use crate::points::collect::Collector;
use crate::points::{Keep, report};
use crate::tables::EXACT;
use crate::{Error, Filter, Number, PointCloud, Result};

use fields::Field;
use layout::Layout;
use lines::{Line, Lines};

/// The coordinate columns of a table: their names, in upper or lower case, or their numbers from 1 if no column has
/// that number as its name. If a table has no names, the default names mean the first three columns. The caller may
/// also name further values of each point, for LAS files too.
///
/// ```
/// use geo_io::{CsvColumns, read_points};
/// use gpu_core::Silent;
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("stations.csv");
/// std::fs::write(&path, "east,north,up,rain\n1,2,3,40\n")?;
/// let columns = CsvColumns::new(["east", "north", "up"].map(String::from)).values(["rain".to_owned()]);
/// let points = read_points(&path, &Default::default(), &columns, &Silent)?;
/// assert_eq!((points.z, points.values), (vec![3.0], vec![vec![40.0]]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvColumns {
    /// Column of the eastings or longitudes.
    pub x: String,
    /// Column of the northings or latitudes.
    pub y: String,
    /// Column of the elevations.
    pub z: String,
    /// Columns of further values; for a LAS file, the names of fields.
    pub values: Vec<String>,
}

impl CsvColumns {
    /// Returns three columns, without further values.
    pub fn new([x, y, z]: [String; 3]) -> Self {
        Self { x, y, z, values: Vec::new() }
    }

    /// Sets the field `values`: the columns of further values.
    pub fn values(self, values: impl Into<Vec<String>>) -> Self {
        Self { values: values.into(), ..self }
    }
}

impl Default for CsvColumns {
    fn default() -> Self {
        Self::new(["x", "y", "z"].map(str::to_owned))
    }
}

/// The first bytes of other formats, and their names.
const OTHER_FORMATS: [(&[u8], &str); 23] = [
    (b"\x1F\x8B", "packed with gzip: unpack it first"),
    (b"BZh", "packed with bzip2: unpack it first"),
    (b"\xFD7zXZ\0", "packed with xz: unpack it first"),
    (b"\x28\xB5\x2F\xFD", "packed with Zstandard: unpack it first"),
    (b"7z\xBC\xAF\x27\x1C", "a 7z archive: unpack it first"),
    (b"PK\x03\x04", "a ZIP archive, as .xlsx and .ods are: unpack it, or save it as CSV"),
    (b"\xD0\xCF\x11\xE0", "an old spreadsheet (.xls): save it as CSV"),
    (b"SQLite format 3\0", "a GeoPackage or another SQLite file: its name must end in .gpkg"),
    (b"PAR1", "a Parquet file: its name must end in .parquet"),
    (b"ARROW1", "an Arrow file: save it as CSV"),
    (b"fgb\x03", "a FlatGeobuf file: its name must end in .fgb"),
    (b"\0\0\x27\x0A", "a shapefile: its name must end in .shp"),
    (b"LASF", "a LAS or LAZ file: its name must end in .las or .laz"),
    (b"ASTM-E57", "an E57 file: save it as LAS or CSV"),
    (b"ply\n", "a PLY file: save it as LAS or CSV"),
    (b"ply\r", "a PLY file: save it as LAS or CSV"),
    (b"# .PCD", "a PCD file: save it as LAS or CSV"),
    (b"II*\0", "a TIFF file, not a table"),
    (b"MM\0*", "a TIFF file, not a table"),
    (b"\x89PNG", "a PNG file, not a table"),
    (b"\x89HDF", "an HDF5 file, not a table"),
    (b"\x93NUMPY", "an NPY file, not a table"),
    (b"%PDF-", "a PDF file, not a table"),
];

/// Refuses what is not text in one byte per character by its name.
fn require_text(path: &Path, start: &[u8]) -> Result<()> {
    let is_wide = match start {
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] | [0, 0, 0xFE, 0xFF, ..] => true,
        &[a, b, c, d, ..] => {
            [a, b, c, d].map(|b| b != 0) == [true, false, true, false]
                || [a, b, c, d].map(|b| b != 0) == [false, true, false, true]
                || [a, b, c, d].map(|b| b != 0) == [true, false, false, false]
                || [a, b, c, d].map(|b| b != 0) == [false, false, false, true]
        }
        _ => false,
    };
    let format = if is_wide {
        Some("text in UTF-16 or UTF-32: save it as UTF-8")
    } else {
        let known = OTHER_FORMATS.iter().find(|(mark, _)| start.starts_with(mark));
        let text = start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(start).trim_ascii_start();
        match text.first() {
            _ if known.is_some() => known.map(|(_, format)| *format),
            Some(b'{') => Some("JSON, not a table"),
            Some(b'<') => Some("XML or HTML, not a table"),
            _ => None,
        }
    };
    format.map_or(Ok(()), |format| Err(Error::OtherFormat { path: path.to_owned(), format }))
}

/// Opens a table of text, or standard input where the path is `-`. Returns it with the length of a file.
fn open_text(path: &Path) -> Result<(BufReader<Box<dyn Read>>, u64)> {
    let (file, size): (Box<dyn Read>, u64) = if path.as_os_str() == "-" {
        (Box::new(io::stdin().lock()), 0)
    } else {
        let (file, size) = open(path)?;
        (Box::new(file), size)
    };
    let mut file = BufReader::with_capacity(1 << 20, file);
    require_text(path, file.fill_buf().map_err(|e| Error::read(path, e))?)?;
    Ok((file, size))
}

/// Reads the texts of one column of the table.
pub(crate) fn read_column(path: &Path, column: &str) -> Result<Vec<String>> {
    let columns = CsvColumns::new([column, column, column].map(str::to_owned));
    let mut rows = Rows::open(path, Lines::new(path, open_text(path)?.0), &columns)?;
    let (mut texts, at) = (Vec::new(), rows.layout.xyz[0]);
    // By its number a column is found below names and without: then an id is no name.
    let is_by_number = column.trim().bytes().all(|byte| byte.is_ascii_digit());
    texts.extend(Some(rows.layout.names[at].clone()).filter(|name| is_by_number && is_id(name)));
    while rows.advance()? {
        texts.push(rows.fields[at].text(&rows.line.text).into_owned());
    }
    Ok(texts)
}

/// Whether a text is the id of a cell in hexadecimal digits: too many, with a decimal one among them, for a name.
fn is_id(text: &str) -> bool {
    const FEWEST: usize = 10;
    let digits = text.strip_prefix("0x").unwrap_or(text);
    digits.len() >= FEWEST
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        && digits.bytes().any(|byte| byte.is_ascii_digit())
}

/// Reads the table, from standard input where the path is `-`. docs/guide/tables.md says what it may look like.
pub(crate) fn read(
    path: &Path,
    filter: &Filter,
    columns: &CsvColumns,
    progress: &dyn Progress,
    keep: Keep,
) -> Result<PointCloud> {
    let (file, size) = open_text(path)?;
    let mut rows = Rows::open(path, Lines::new(path, file), columns)?;
    let shape = (rows.layout.values.len(), rows.layout.class.is_some());
    let mut points = Collector::new(path, filter, keep, shape)?;
    while let Some((place, class)) = rows.next()? {
        if rows.read % 65_536 == 1 {
            report(progress, rows.line.end, size)?;
        }
        points.push(place, class, &rows.values)?;
    }
    let mut cloud = points.finish()?;
    report(progress, size, size)?;
    cloud.notes = rows.notes();
    Ok(cloud)
}

/// What the user should know where whole numbers were rounded.
pub(super) fn note_on_rounding(count: u64, first: &str) -> String {
    format!(
        "whole numbers beyond 2^53 that were rounded, since numbers are floats of 64 bits here: {count}, the first {first}"
    )
}

/// A text of which an error shows no more than the beginning.
pub(super) fn shortened(text: &str) -> Cow<'_, str> {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]).into(),
        None => text.into(),
    }
}

/// The rows of a table, one after the other.
struct Rows<'a, R> {
    path: &'a Path,
    lines: Lines<'a, R>,
    layout: Layout,
    line: Line,
    fields: Vec<Field>,
    /// The further values of the last row.
    values: Vec<f64>,
    /// The row of the line, from 1.
    row: u64,
    /// Rows that were points.
    read: u64,
    /// The error for a row of separators alone. It counts only if another row follows: spreadsheets leave such rows at
    /// the end.
    empty: Option<Error>,
    /// Comments below the first row.
    comments: u64,
    /// Rows with each of [`MARKS`].
    without_value: [u64; MARKS.len()],
    /// Whole numbers that floats of 64 bits do not hold, and the first of them.
    rounded: u64,
    first_rounded: String,
}

/// Numbers that many programs write for a missing value: the last two are the least float of 32 bits and Surfer's blank.
const MARKS: [f64; 5] = [-9999.0, -99_999.0, -32_768.0, f32::MIN as f64, 1.70141e38];

impl<'a, R: BufRead> Rows<'a, R> {
    fn open(path: &'a Path, mut lines: Lines<'a, R>, columns: &CsvColumns) -> Result<Self> {
        let layout = Layout::find(path, &mut lines, columns)?
            .ok_or_else(|| Error::Empty { path: path.to_owned() })?;
        let (line, fields) = (Line::default(), Vec::new());
        Ok(Self {
            path,
            lines,
            layout,
            line,
            fields,
            values: Vec::new(),
            row: 0,
            read: 0,
            empty: None,
            comments: 0,
            without_value: [0; MARKS.len()],
            rounded: 0,
            first_rounded: String::new(),
        })
    }

    /// Divides the next row into its fields; false behind the last one.
    fn advance(&mut self) -> Result<bool> {
        while self.lines.next(&mut self.line)? {
            if self.line.comment().is_some() {
                self.comments += 1;
                continue;
            }
            self.row += 1;
            let is_whole = self.layout.divide(&self.line, &mut self.fields);
            if is_whole.is_ok() && self.fields.iter().all(Field::is_empty) {
                let error = self.bad(self.layout.xyz[0], fields::FINITE);
                self.empty.get_or_insert(error);
                continue;
            }
            if let Some(error) = self.empty.take() {
                return Err(error);
            }
            return match is_whole {
                Ok(true) => Ok(true),
                Ok(false) => Err(self.malformed(&self.layout.ragged(&self.line, &self.fields))),
                Err(reason) => Err(self.malformed(&reason)),
            };
        }
        Ok(false)
    }

    /// The coordinates and the class of the next row, 0 where there are no classes. Its further values stay here.
    fn next(&mut self) -> Result<Option<([f64; 3], u8)>> {
        if !self.advance()? {
            return Ok(None);
        }
        let [x, y, z] = self.layout.xyz;
        let xyz = [self.number(x)?, self.number(y)?, self.number(z)?];
        for (count, mark) in self.without_value.iter_mut().zip(MARKS) {
            // Some writers leave digits of the large ones out.
            *count += u64::from((xyz[2] / mark - 1.0).abs() < 2e-6);
        }
        let values = self.layout.values.iter().map(|&column| self.number(column));
        self.values = values.collect::<Result<_>>()?;
        if xyz.iter().chain(&self.values).any(|value| value.abs() >= EXACT[2]) {
            self.note_rounding();
        }
        let class = self.layout.class.map_or(Ok(0), |column| self.class(column))?;
        self.read += 1;
        Ok(Some((xyz, class)))
    }

    /// Counts the whole numbers of the row that were rounded.
    fn note_rounding(&mut self) {
        let [x, y, z] = self.layout.xyz;
        let z = Some(z).filter(|&z| z != y);
        for column in [x, y].into_iter().chain(z).chain(self.layout.values.iter().copied()) {
            let text = self.fields[column].text(&self.line.text);
            let digits = text.strip_prefix(['-', '+']).unwrap_or(&text);
            let is_whole = digits.bytes().all(|b| b.is_ascii_digit());
            let is_exact = |value: f64| text.parse::<Number>().is_ok_and(|n| n == value.into());
            if is_whole && self.number(column).is_ok_and(|value| !is_exact(value)) {
                if self.rounded == 0 {
                    let (row, name) = (self.row, &self.layout.names[column]);
                    self.first_rounded = format!("{text} in row {row}, column \"{name}\"");
                }
                self.rounded += 1;
            }
        }
    }

    /// What the user should know once all rows were read.
    fn notes(&mut self) -> Vec<String> {
        let mut notes = std::mem::take(&mut self.layout.notes);
        let read = self.read;
        if let Some(promised) = self.layout.promised.filter(|&promised| promised != read) {
            notes.push(format!("its first line promises {promised} points, it holds {read}"));
        }
        if self.comments > 0 {
            let count = self.comments;
            notes.push(format!(
                "lines behind a comment mark (#, %, ! or //) among the rows: {count}, passed over"
            ));
        }
        if self.lines.nuls() > 0 {
            let count = self.lines.nuls();
            notes.push(format!(
                "NUL bytes at the ends of lines: {count}, passed over; rows may be lost if the file was not written whole"
            ));
        }
        if self.rounded > 0 {
            notes.push(note_on_rounding(self.rounded, &self.first_rounded));
        }
        let missing = self.without_value.into_iter().zip(MARKS).filter(|(count, _)| *count > 0);
        for (count, mark) in missing {
            let mark = Shortest(mark);
            notes.push(format!(
                "points with the value {mark}: {count}; many programs write that where there is no value, here it counts"
            ));
        }
        notes
    }

    fn number(&self, column: usize) -> Result<f64> {
        let field = self.fields[column];
        let text = field.text(&self.line.text);
        let number = self.layout.style.number(&text, field.is_quoted);
        number.map_err(|expected| self.bad(column, expected))
    }

    fn class(&self, column: usize) -> Result<u8> {
        // Some programs write every column with decimals.
        let class = self.fields.get(column).and_then(|_| self.number(column).ok());
        let class = class.filter(|c| (0.0..=255.0).contains(c) && c.fract() == 0.0);
        class.map(|c| c as u8).ok_or_else(|| self.bad(column, "a class from 0 to 255"))
    }

    fn malformed(&self, reason: &str) -> Error {
        let (row, line) = (self.row, self.line.number);
        Error::malformed(self.path, format!("row {row} (line {line}) {reason}"))
    }

    fn bad(&self, column: usize, expected: &'static str) -> Error {
        let text = self.fields.get(column).map(|field| field.text(&self.line.text));
        let printed = |c: char| match c.is_control() {
            true => c.escape_default().to_string(),
            false => c.to_string(),
        };
        Error::BadField {
            path: self.path.to_owned(),
            row: self.row,
            line: Some(self.line.number),
            column: self.layout.names.get(column).cloned().unwrap_or_default(),
            text: shortened(&text.unwrap_or_default()).chars().map(printed).collect(),
            expected,
        }
    }
}
