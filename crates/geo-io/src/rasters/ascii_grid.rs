//! Reads ASCII grids as Esri and GDAL write them: a header of words and numbers, then the values of the rows from north
//! to south.
//!
//! The reader accepts the same files as GDAL. The header's lines may come in any order and case, and values may break
//! lines anywhere. A comma may be the decimal point. The header states the south-west corner, or the centre of the cell
//! there. If something is missing or damaged, GDAL guesses, but this reader refuses the file. Opening scans the text
//! once, for the type of the values and the beginnings of the rows.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use gpu_core::host_memory;

use crate::input::open;
use crate::rasters::band::Band;
use crate::rasters::georeference::RasterPlace;
use crate::rasters::nodata::{Sample, with_sample_type};
use crate::rasters::pam;
use crate::rasters::windows::Windows;
use crate::{ArrayData, Crs, Error, Georeference, Number, Result, SampleType};

/// Bytes of a word at most; no number has this many.
const LONGEST: usize = 1024;

/// Places of rows that are kept at most.
const PLACES: u64 = 1 << 18;

/// Bytes that are read at once.
const BUFFER: usize = 1 << 18;

/// An ASCII grid that is read by windows.
pub(crate) struct AsciiGrid {
    path: PathBuf,
    header: Header,
    sample_type: SampleType,
    /// Where each row of a number that [`Self::every`] divides begins.
    places: Vec<u64>,
    every: usize,
    place: Georeference,
    /// Metres of the unit of its values.
    metres: Option<f64>,
    notes: Vec<String>,
}

impl AsciiGrid {
    /// Opens a grid, and reads its text once.
    ///
    /// # Errors
    /// An error that says what is wrong with the file: a missing field, too few values, or a word that is not a number.
    pub fn open(path: &Path) -> Result<Self> {
        let (header, mut words) = Header::read(path)?;
        let (width, height) = header.size;
        let every = (height as u64).div_ceil(PLACES) as usize;
        let (mut places, mut is_real, mut is_wide) = (Vec::new(), header.is_nodata_real(), false);
        for row in 0..height {
            for column in 0..width {
                let start = words.next(path)?.ok_or_else(|| {
                    let reason = format!(
                        "its header promises {height} rows of {width} values, and it ends in row {row} before column {column}"
                    );
                    Error::malformed(path, reason)
                })?;
                if column == 0 && row % every == 0 {
                    places.push(start);
                }
                match words.integer() {
                    Some(value) => is_wide |= i32::try_from(value).is_err(),
                    None => {
                        words.number(path, (row, column))?;
                        is_real = true;
                    }
                }
            }
        }
        let sample_type = match (is_real, is_wide) {
            (true, _) => SampleType::F32,
            (false, true) => SampleType::F64,
            (false, false) => SampleType::I32,
        };
        let band = band_beside(path, sample_type);
        let (place, of_place) = place_of(path, &header)?;
        let mut notes = band.notes(path);
        notes.extend(of_place);
        if words.next(path)?.is_some() {
            if let Some(field) = &header.before_values {
                let reason = format!(
                    "more values than {height} rows of {width} follow, the first in the line of its field {field}: give that \
                     field one value"
                );
                return Err(Error::malformed(path, reason));
            }
            notes.push(format!(
                "{}: more values follow the {height} rows of {width} that its header promises: they are ignored",
                path.display()
            ));
        }
        let (path, metres) = (path.to_owned(), band.metres);
        Ok(Self { path, header, sample_type, places, every, place, metres, notes })
    }

    fn values<T: Sample>(&self, rows: Range<usize>, columns: Range<usize>) -> Result<Vec<T>> {
        let path = &self.path;
        let asked =
            (rows.len() as u64 * columns.len() as u64).saturating_mul(size_of::<T>() as u64);
        let memory = |_| Error::OutOfMemory { path: path.clone(), asked };
        host_memory::require(asked).map_err(memory)?;
        let mut values = host_memory::with_capacity(rows.len() * columns.len()).map_err(memory)?;
        if !rows.is_empty() && !columns.is_empty() {
            self.read(rows, columns, &mut |number| values.push(T::rounded(number)))?;
        }
        Ok(values)
    }

    /// Passes on the numbers of a window that is not empty, row by row.
    fn read(
        &self,
        rows: Range<usize>,
        columns: Range<usize>,
        take: &mut dyn FnMut(f64),
    ) -> Result<()> {
        let (width, path) = (self.header.size.0, &self.path);
        let (known, mut words) = (rows.start / self.every, Words::open(path)?);
        words.seek(path, self.places[known])?;
        for row in known * self.every..rows.end {
            for column in 0..width {
                if words.next(path)?.is_none() {
                    return Err(Error::malformed(path, "it has changed while it was read"));
                }
                if rows.contains(&row) && columns.contains(&column) {
                    take(match words.integer() {
                        Some(value) => value as f64,
                        None => words.number(path, (row, column))?,
                    });
                }
            }
        }
        Ok(())
    }
}

impl Windows for AsciiGrid {
    fn size(&self) -> (usize, usize) {
        self.header.size
    }

    fn value_bytes(&self) -> u64 {
        self.sample_type.bytes()
    }

    fn place(&self) -> Option<&Georeference> {
        Some(&self.place)
    }

    fn nodata(&self) -> Option<Number> {
        self.sample_type.value(self.header.nodata.as_ref()?.1)
    }

    fn metres(&self) -> Option<f64> {
        self.metres
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn stored(&self, rows: Range<usize>, columns: Range<usize>) -> Result<ArrayData> {
        with_sample_type!(self.sample_type, T => Ok(T::array(self.values(rows, columns)?)))
    }
}

/// Reads how large a grid is and where it lies, by its header alone.
pub(crate) fn read_place(path: &Path) -> Result<RasterPlace> {
    let (header, _) = Header::read(path)?;
    let (place, notes) = place_of(path, &header)?;
    Ok(RasterPlace { size: header.size, georeference: Some(place), notes })
}

/// Reads what GDAL has written beside a grid about its values. NODATA does not count there, as in GDAL.
fn band_beside(path: &Path, sample_type: SampleType) -> Band {
    Band { nodata: None, is_no_number: false, ..Band::beside(path, sample_type) }
}

/// Where a grid lies, and what is to be said of the system in the `.prj` beside it.
fn place_of(path: &Path, header: &Header) -> Result<(Georeference, Vec<String>)> {
    let mut names = ["prj", "PRJ"].map(|ending| path.with_extension(ending)).into_iter();
    let mut notes = Vec::new();
    let crs = match names.find(|name| name.is_file()) {
        Some(name) => {
            let text = std::fs::read(&name).map_err(|reason| Error::read(&name, reason))?;
            let crs = Crs::from_wkt(&String::from_utf8_lossy(&text));
            if crs.is_none() {
                notes.push(format!(
                    "the reference system in {} is not understood, so none is kept: give it as well-known text",
                    name.display()
                ));
            }
            crs
        }
        None => pam::Place::beside(path)?.crs,
    };
    let unknown = header.unknown.iter();
    notes.extend(unknown.map(|word| format!("{}: its field {word} is ignored", path.display())));
    Ok((Georeference { transform: header.transform, crs }, notes))
}

/// The lines before the values.
struct Header {
    /// Columns and rows.
    size: (usize, usize),
    transform: [f64; 6],
    /// NODATA as it stands, and its number.
    nodata: Option<(String, Number)>,
    /// Fields that mean nothing here.
    unknown: Vec<String>,
    /// The last field, if values begin in its line.
    before_values: Option<String>,
}

/// The fields that have a meaning.
const FIELDS: [&str; 10] = [
    "ncols",
    "nrows",
    "cellsize",
    "dx",
    "dy",
    "xllcorner",
    "xllcenter",
    "yllcorner",
    "yllcenter",
    "nodata_value",
];

impl Header {
    /// Reads the header, and returns the words from the first value on.
    fn read(path: &Path) -> Result<(Self, Words)> {
        const MOST_UNKNOWN: usize = 64;
        let mut words = Words::open(path)?;
        let mut stated: [Option<String>; FIELDS.len()] = Default::default();
        let (mut unknown, mut name, mut is_one_line) = (Vec::new(), String::new(), false);
        while let Some(start) = words.next(path)? {
            if !words.is_field() {
                is_one_line = !words.begins_line;
                words.seek(path, start)?;
                break;
            }
            name = words.text();
            let is_grass = start == 0 && name.starts_with("north:");
            if is_grass || unknown.len() > MOST_UNKNOWN {
                return Err(Error::malformed(path, "it is not an ASCII grid of Esri's form"));
            }
            let value = words.next(path)?.filter(|_| !words.begins_line);
            value
                .ok_or_else(|| Error::malformed(path, format!("its field {name} has no value")))?;
            // The first of two equal fields counts.
            match FIELDS.iter().position(|field| name.eq_ignore_ascii_case(field)) {
                Some(field) => {
                    stated[field].get_or_insert_with(|| words.text());
                }
                None => unknown.push(name.clone()),
            }
        }
        let mut header =
            Self::of(&stated, unknown).map_err(|reason| Error::malformed(path, reason))?;
        header.before_values = Some(name).filter(|_| is_one_line);
        let (width, height) = header.size;
        // A value has a digit, and a blank before the next.
        let least = (width as u64).saturating_mul(height as u64).saturating_mul(2) - 1;
        if least > words.length - words.place {
            let reason = format!(
                "its header promises {height} rows of {width} values, for which its {} bytes are too few",
                words.length
            );
            return Err(Error::malformed(path, reason));
        }
        Ok((header, words))
    }

    fn of(stated: &[Option<String>; FIELDS.len()], unknown: Vec<String>) -> Result<Self, String> {
        let text = |name: &str| stated[FIELDS.iter().position(|field| *field == name)?].as_deref();
        let number = |name: &str| {
            let number = text(name).map(|text| {
                let number = SampleType::F64.number_of_tag(text).map(Number::to_f64);
                number
                    .filter(|number| number.is_finite())
                    .ok_or_else(|| format!("its {name} \"{text}\" is not a number"))
            });
            number.transpose()
        };
        let side = |name: &str| {
            let text = text(name).ok_or_else(|| format!("its header has no {name}"))?;
            let whole = text.parse::<Number>().ok().and_then(Number::to_i128);
            let whole = whole.filter(|&side| side > 0).and_then(|side| u32::try_from(side).ok());
            whole
                .map(|side| side as usize)
                .ok_or_else(|| format!("its {name} \"{text}\" is not a whole number from 1 on"))
        };
        let size = (side("ncols")?, side("nrows")?);
        let cell = |name: &str| {
            let side = number("cellsize")?.map_or_else(|| number(name), |side| Ok(Some(side)))?;
            let side = side.ok_or_else(|| format!("its header has neither cellsize nor {name}"))?;
            match side > 0.0 {
                true => Ok(side),
                false => Err(format!("its cells have a side of {side}")),
            }
        };
        let [mut across, mut down] = [cell("dx")?, cell("dy")?];
        let corner = |axis: char, side: f64| {
            let [corner, centre] = ["corner", "center"].map(|what| format!("{axis}ll{what}"));
            match (number(&corner)?, number(&centre)?) {
                (Some(corner), _) => Ok(corner),
                (None, Some(centre)) => Ok(centre - 0.5 * side),
                (None, None) => Err(format!("its header has neither {corner} nor {centre}")),
            }
        };
        let (left, bottom) = (corner('x', across)?, corner('y', down)?);
        // As GDAL has it: the side of a cell of a map of the world may have too few digits.
        let of_globe = 360.0 / size.0 as f64;
        let is_globe = size.0.is_multiple_of(360) && (left + 180.0).abs() < 1e-12;
        if is_globe && across == down && (across - of_globe).abs() < 1e-9 {
            (across, down) = (of_globe, of_globe);
        }
        let nodata = text("nodata_value").map(|text| {
            let number = SampleType::F64.number_of_tag(text);
            let number =
                number.ok_or_else(|| format!("its NODATA_value \"{text}\" is not a number"));
            Ok::<_, String>((text.to_owned(), number?))
        });
        let top = bottom + size.1 as f64 * down;
        let transform = [left, across, 0.0, top, 0.0, -down];
        Ok(Self { size, transform, nodata: nodata.transpose()?, unknown, before_values: None })
    }

    /// Whether NODATA tells that values are floats.
    fn is_nodata_real(&self) -> bool {
        self.nodata.as_ref().is_some_and(|(text, number)| {
            text.contains(['.', ',']) || SampleType::I32.value(*number).is_none()
        })
    }
}

/// The words of a text, one after the other.
struct Words {
    file: BufReader<File>,
    length: u64,
    /// Where the file is.
    place: u64,
    word: Vec<u8>,
    /// Whether a line ends before the word.
    begins_line: bool,
}

impl Words {
    fn open(path: &Path) -> Result<Self> {
        let (file, length) = open(path)?;
        let mut words = Self {
            file: BufReader::with_capacity(BUFFER, file),
            length,
            place: 0,
            word: Vec::new(),
            begins_line: false,
        };
        let start = words.file.fill_buf().map_err(|e| Error::read(path, e))?;
        if start.starts_with(b"\xef\xbb\xbf") {
            words.seek(path, 3)?;
        }
        Ok(words)
    }

    fn seek(&mut self, path: &Path, place: u64) -> Result<()> {
        self.place = place;
        self.file.seek(SeekFrom::Start(place)).map_err(|e| Error::read(path, e)).map(drop)
    }

    /// Goes to the next word, and returns where it begins; `None` at the end.
    fn next(&mut self, path: &Path) -> Result<Option<u64>> {
        self.word.clear();
        self.begins_line = false;
        let mut start = None;
        loop {
            let bytes = self.file.fill_buf().map_err(|e| Error::read(path, e))?;
            if bytes.is_empty() {
                return Ok(start);
            }
            let blanks = match start {
                Some(_) => 0,
                None => bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count(),
            };
            self.begins_line |= bytes[..blanks].iter().any(|byte| b"\n\r".contains(byte));
            let rest = &bytes[blanks..];
            let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
            if end > 0 && start.is_none() {
                start = Some(self.place + blanks as u64);
            }
            self.word.extend_from_slice(&rest[..end.min(LONGEST)]);
            let (used, is_whole) = (blanks + end, end < rest.len());
            self.file.consume(used);
            self.place += used as u64;
            if self.word.len() >= LONGEST {
                let reason = format!("a word in it, at byte {}, is not a number", self.place);
                return Err(Error::malformed(path, reason));
            }
            if is_whole && start.is_some() {
                return Ok(start);
            }
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.word).into_owned()
    }

    /// Whether the word begins with a letter and is not a number.
    fn is_field(&self) -> bool {
        self.word.first().is_some_and(u8::is_ascii_alphabetic)
            && self.text().parse::<f64>().is_err()
    }

    /// The word as a whole number of digits.
    fn integer(&self) -> Option<i64> {
        let digits = self.word.strip_prefix(b"-").or_else(|| self.word.strip_prefix(b"+"));
        let digits = digits.unwrap_or(&self.word);
        if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let value = digits.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
        Some(if self.word.starts_with(b"-") { -value } else { value })
    }

    /// The word as any number, whose decimal point may be a comma.
    fn number(&self, path: &Path, (row, column): (usize, usize)) -> Result<f64> {
        let text = self.text();
        text.replacen(',', ".", 1).parse().map_err(|_| {
            let reason =
                format!("its value in row {row}, column {column} is \"{text}\", not a number");
            Error::malformed(path, reason)
        })
    }
}
