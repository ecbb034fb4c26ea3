//! Points from a table with column names.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use gpu_core::Progress;

use crate::points::{Attributes, Keep, open, report};
use crate::{Error, Filter, PointCloud, Result, Returns};

/// The names of the coordinate columns of a table, upper or lower case alike. The columns of a table
/// without names are called 1, 2, 3 ...; there the default names mean the first three.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvColumns {
    /// Column of the eastings or longitudes.
    pub x: String,
    /// Column of the northings or latitudes.
    pub y: String,
    /// Column of the elevations.
    pub z: String,
}

impl Default for CsvColumns {
    fn default() -> Self {
        Self { x: "x".into(), y: "y".into(), z: "z".into() }
    }
}

/// Reads the table, from standard input where the path is `-`. Its first line names the columns unless it
/// holds numbers only, and may begin with //; the separator is the first of tab, semicolon, comma, space that
/// occurs there, runs of spaces counting as one, with tabs among them where the first line has numbers between spaces and
/// tabs. A column named `class` or `classification` holds classes. Where the separator is no comma, a comma in a number
/// is its decimal point. What follows a # at a line's start is a comment.
pub(crate) fn read(
    path: &Path,
    filter: &Filter,
    columns: &CsvColumns,
    progress: &dyn Progress,
    mut keep: Keep,
) -> Result<PointCloud> {
    let (file, size): (Box<dyn Read>, u64) = if path.as_os_str() == "-" {
        (Box::new(io::stdin().lock()), 0)
    } else {
        let (file, size) = open(path)?;
        (Box::new(file), size)
    };
    let mut file = BufReader::with_capacity(1 << 20, file);
    let start = file.fill_buf().map_err(|e| Error::read(path, e))?;
    if [[0xFF, 0xFE], [0xFE, 0xFF]].iter().any(|mark| start.starts_with(mark)) {
        return Err(Error::malformed(path, "it is text in UTF-16: save it as UTF-8"));
    }
    let separator = separator(&mut file).map_err(|e| Error::read(path, e))?;
    let file: Box<dyn Read> =
        if separator == b' ' { Box::new(SingleSpaces::new(file)) } else { Box::new(file) };
    let mut table = ::csv::ReaderBuilder::new()
        .delimiter(separator)
        .trim(::csv::Trim::All)
        .comment(Some(b'#'))
        .has_headers(false)
        .from_reader(file);
    let mut record = ::csv::ByteRecord::new();
    let mut there = table.read_byte_record(&mut record).map_err(|e| bad(path, e))?;
    if !there {
        return Err(Error::Empty { path: path.to_owned() });
    }
    let header = Header::find(path, &record, columns)?;
    if header.is_stated {
        there = table.read_byte_record(&mut record).map_err(|e| bad(path, e))?;
    }
    let decimal_comma = separator != b',';
    if filter.classes.is_some() && header.class.is_none() {
        return Err(Error::NoAttribute { path: path.to_owned(), what: "classes" });
    }
    if filter.returns != Returns::All {
        return Err(Error::NoAttribute { path: path.to_owned(), what: "return numbers" });
    }

    let mut cloud = PointCloud { class: header.class.map(|_| Vec::new()), ..Default::default() };
    let mut row = 0;
    while there {
        row += 1;
        let place = record.position().map_or((0, 0), |p| (p.line(), p.byte()));
        if row % 65_536 == 1 {
            report(progress, place.1, size)?;
            cloud.reserve(path, 65_536)?;
        }
        let field = |i: usize| Field {
            path,
            row,
            line: place.0,
            name: header.names[i].as_str(),
            record: &record,
            decimal_comma,
        };
        let [x, y, z] = header.xyz;
        let (x, y, z) = (field(x).number(x)?, field(y).number(y)?, field(z).number(z)?);
        let class = header.class.map(|i| field(i).class(i)).transpose()?;
        let point = Attributes {
            x,
            y,
            class: class.unwrap_or(0),
            return_number: 1,
            number_of_returns: 1,
            withheld: false,
        };
        let [low, high] = cloud.heights.unwrap_or([z; 2]);
        cloud.heights = Some([low.min(z), high.max(z)]);
        if filter.keeps(point, &mut cloud.tally) {
            cloud.x.push(x);
            cloud.y.push(y);
            cloud.z.push(z);
            cloud.class.iter_mut().for_each(|column| column.push(point.class));
            keep.hand_on(&mut cloud, false)?;
        }
        there = table.read_byte_record(&mut record).map_err(|e| bad(path, e))?;
    }
    keep.hand_on(&mut cloud, true)?;
    report(progress, size, size)?;
    Ok(cloud)
}

/// The separator that the first line uses; leaves the reader behind a byte order mark, and behind the slashes with which
/// names of columns begin.
fn separator(file: &mut impl BufRead) -> io::Result<u8> {
    let start = file.fill_buf()?;
    let mark = if start.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    let mut lines = start[mark..].split(|&b| b == b'\n');
    let line = lines.find(|line| !line.starts_with(b"#")).unwrap_or_default();
    let line = line.trim_ascii();
    let found = [b'\t', b';', b',', b' '].into_iter().find(|c| line.contains(c));
    let found = found.unwrap_or(b',');
    let is_mixed = found == b'\t' && is_by_blanks(line);
    let slashes = if has_names_behind_slashes(&start[mark..]) { 2 } else { 0 };
    file.consume(mark + slashes);
    Ok(if is_mixed { b' ' } else { found })
}

/// Whether a table begins with names of columns behind two slashes, as CloudCompare writes them. A row of numbers
/// behind slashes is none.
fn has_names_behind_slashes(start: &[u8]) -> bool {
    let line = start.split(|&b| b == b'\n').next().and_then(|line| line.strip_prefix(b"//"));
    let is_between = |b: &u8| b.is_ascii_whitespace() || matches!(b, b';' | b',');
    let mut words = line.unwrap_or_default().split(is_between);
    words.any(|word| !word.is_empty() && !is_number_of(word))
}

/// Whether a line with a tab is numbers with blanks between, of which the tab is one. Blanks that divide a number
/// into groups of three digits are none of those.
fn is_by_blanks(line: &[u8]) -> bool {
    let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let fields = || line.split(|&b| b == b'\t').map(<[u8]>::trim_ascii);
    words.into_iter().all(is_number_of)
        && fields().any(|field| field.contains(&b' '))
        && !fields().any(is_grouped)
}

/// Whether a field may be one number such as 1 234 567.5.
fn is_grouped(field: &[u8]) -> bool {
    let is_group = |word: &[u8]| word.len() == 3 && word.iter().all(u8::is_ascii_digit);
    let whole = field.split(|b| matches!(b, b'.' | b',')).next().unwrap_or_default();
    let mut words = whole.split(|&b| b == b' ');
    let first = words.next().unwrap_or_default();
    let first = first.strip_prefix(b"-").unwrap_or(first);
    (1..=3).contains(&first.len())
        && first.iter().all(u8::is_ascii_digit)
        && words.clone().count() > 0
        && words.all(is_group)
}

/// Whether the text of a word is a number.
fn is_number_of(word: &[u8]) -> bool {
    str::from_utf8(word).is_ok_and(is_number)
}

/// Whether a word is a number, with a decimal comma too.
fn is_number(word: &str) -> bool {
    word.replace(',', ".").parse::<f64>().is_ok()
}

fn bad(path: &Path, error: ::csv::Error) -> Error {
    match error.into_kind() {
        ::csv::ErrorKind::Io(e) => Error::read(path, e),
        ::csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.map_or(0, |p| p.line());
            let tip = if len == 2 * expected_len {
                "; decimal commas need another separator, such as a semicolon"
            } else {
                ""
            };
            let reason = format!("line {line} has {len} fields, the first has {expected_len}{tip}");
            Error::malformed(path, reason)
        }
        other => Error::malformed(path, format!("{other:?}")),
    }
}

/// Text whose runs of spaces are one space, and whose lines begin with none.
struct SingleSpaces<R> {
    source: R,
    /// Whether the next space is one too many.
    is_blank: bool,
}

impl<R: BufRead> SingleSpaces<R> {
    fn new(source: R) -> Self {
        Self { source, is_blank: true }
    }
}

impl<R: BufRead> Read for SingleSpaces<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let text = self.source.fill_buf()?;
            let (seen, mut kept) = (text.len().min(out.len()), 0);
            for &byte in &text[..seen] {
                let blank = byte == b' ' || byte == b'\t';
                if !(blank && self.is_blank) {
                    out[kept] = if blank { b' ' } else { byte };
                    kept += 1;
                }
                self.is_blank = blank || byte == b'\n';
            }
            self.source.consume(seen);
            if kept > 0 || seen == 0 {
                return Ok(kept);
            }
        }
    }
}

/// Where the columns are.
struct Header {
    /// Whether the table's first line is their names.
    is_stated: bool,
    names: Vec<String>,
    xyz: [usize; 3],
    class: Option<usize>,
}

impl Header {
    fn find(path: &Path, first: &::csv::ByteRecord, columns: &CsvColumns) -> Result<Self> {
        let names: Vec<String> =
            first.iter().map(|n| String::from_utf8_lossy(n).trim().to_owned()).collect();
        if names.iter().filter(|name| !name.is_empty()).all(|name| is_number(name)) {
            return Self::by_number(path, names.len(), columns);
        }
        // Of names that differ in their case alone that of the wanted one's counts.
        let position = |wanted: &str| {
            let same: Vec<usize> = (0..names.len()).filter(|&i| names[i] == wanted).collect();
            let alike = (0..names.len()).filter(|&i| names[i].eq_ignore_ascii_case(wanted));
            let alike: Vec<usize> = alike.collect();
            match (&same[..], &alike[..]) {
                (&[one], _) | (_, &[one]) => Ok(Some(one)),
                (_, []) => Ok(None),
                _ => Err(Error::AmbiguousColumn {
                    path: path.to_owned(),
                    column: wanted.to_owned(),
                    count: same.len().max(alike.len()),
                }),
            }
        };
        let needed = |wanted: &String| {
            position(wanted.trim())?.ok_or_else(|| Error::NoColumn {
                path: path.to_owned(),
                column: wanted.clone(),
                columns: names.join(", "),
            })
        };
        let xyz = [needed(&columns.x)?, needed(&columns.y)?, needed(&columns.z)?];
        let class = match position("classification")? {
            Some(class) => Some(class),
            None => position("class")?,
        };
        Ok(Self { is_stated: true, xyz, class, names })
    }

    /// The columns of a table that names none.
    fn by_number(path: &Path, count: usize, columns: &CsvColumns) -> Result<Self> {
        let names: Vec<String> = (1..=count).map(|i| i.to_string()).collect();
        let CsvColumns { x, y, z } = columns;
        let [x, y, z] = match [x, y, z].map(|name| name.trim()) {
            ["x", "y", "z"] => ["1", "2", "3"],
            // Whoever wants places alone takes y twice.
            ["x", "y", "y"] => ["1", "2", "2"],
            names => names,
        };
        let needed = |wanted: &str| {
            names.iter().position(|name| name == wanted).ok_or_else(|| Error::NoColumn {
                path: path.to_owned(),
                column: wanted.to_owned(),
                columns: names.join(", "),
            })
        };
        let xyz = [needed(x)?, needed(y)?, needed(z)?];
        Ok(Self { is_stated: false, xyz, class: None, names })
    }
}

/// One field, with what an error message needs.
struct Field<'a> {
    path: &'a Path,
    row: u64,
    line: u64,
    name: &'a str,
    record: &'a ::csv::ByteRecord,
    decimal_comma: bool,
}

impl Field<'_> {
    fn number(&self, column: usize) -> Result<f64> {
        let text = self.text(column).unwrap_or_default();
        let number = match text.parse::<f64>() {
            Err(_) if self.decimal_comma && text.matches(',').count() == 1 => {
                text.replace(',', ".").parse()
            }
            other => other,
        };
        let number = number.ok();
        let expected = "a finite number";
        number.filter(|v| v.is_finite()).ok_or_else(|| self.error(column, expected))
    }

    fn class(&self, column: usize) -> Result<u8> {
        // Some programs write every column with decimals.
        let class = self.text(column).and_then(|t| t.parse::<f64>().ok());
        let class = class.filter(|c| (0.0..=255.0).contains(c) && c.fract() == 0.0);
        class.map(|c| c as u8).ok_or_else(|| self.error(column, "a class from 0 to 255"))
    }

    fn text(&self, column: usize) -> Option<&str> {
        std::str::from_utf8(self.record.get(column)?).ok()
    }

    fn error(&self, column: usize, expected: &'static str) -> Error {
        let text = String::from_utf8_lossy(self.record.get(column).unwrap_or_default());
        Error::BadField {
            path: self.path.to_owned(),
            row: self.row,
            line: self.line,
            column: self.name.to_owned(),
            text: text.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect(),
            expected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str, filter: &Filter) -> Result<PointCloud> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.csv");
        std::fs::write(&path, text).unwrap();
        read(
            &path,
            filter,
            &CsvColumns::default(),
            &(),
            Keep::All { at_once: 1, is_checked: false },
        )
    }

    #[test]
    fn columns_are_found_by_name_whatever_the_separator() {
        for text in [
            "Z,name,X,Y\n3,a,1,2\n6.5,\"b, c\",-4e1,5\n",
            "\u{feff}z;X;y;name\n3;1;2;a\n6.5;-40;5;b\n",
            "x\ty\tz\n1\t2\t3\n-40\t5\t6.5\n",
            "x y z\r\n1 2 3\r\n-40 5 6.5\r\n",
        ] {
            let cloud = read_text(text, &Filter::default()).unwrap();
            assert_eq!(cloud.x, [1.0, -40.0], "{text}");
            assert_eq!((cloud.y, cloud.z), (vec![2.0, 5.0], vec![3.0, 6.5]));
            assert_eq!((cloud.tally.read, cloud.tally.kept), (2, 2));
        }
    }

    #[test]
    fn bad_fields_name_row_and_column() {
        for (field, row) in [("NaN", 2), ("inf", 2), ("seven", 2), ("", 2)] {
            let error = read_text(&format!("x,y,z\n1,2,3\n4,{field},6\n"), &Filter::default());
            let text = error.unwrap_err().to_string();
            assert!(text.contains(&format!("row {row} (line 3)")), "{text}");
            assert!(text.contains("column \"y\""), "{text}");
            assert!(text.contains(&format!("\"{field}\"")), "{text}");
        }
        let text = read_text("x,y,z\n1,2\n", &Filter::default()).unwrap_err().to_string();
        assert!(text.contains("line 2 has 2 fields"), "{text}");
    }

    #[test]
    fn tables_without_names_and_with_decimal_commas_are_read() {
        for text in [
            "  1.5   2   3\n 4\t 5    6.25\n",
            "1.5 2 3 255 0 0\n4 5 6.25 0 0 0\n",
            "# x y z\n1.5,2,3\n4,5,6.25\n",
            "1,5;2;3\n4;5;6,25\n",
            "x;y;z\n1,5;2,0;3,0\n4;5;6,25\n",
        ] {
            let cloud = read_text(text, &Filter::default()).unwrap();
            assert_eq!((cloud.x, cloud.y), (vec![1.5, 4.0], vec![2.0, 5.0]), "{text}");
            assert_eq!(cloud.z, [3.0, 6.25]);
        }
        let commas = read_text("x,y,z\n1,5,2,0,3,0\n", &Filter::default()).unwrap_err().to_string();
        assert!(commas.contains("decimal commas"), "{commas}");
        let short = read_text("1,2\n3,4\n", &Filter::default()).unwrap_err().to_string();
        assert!(short.contains("no column \"3\""), "{short}");
    }

    #[test]
    fn numbers_between_blanks_and_a_tab_are_no_names() {
        for text in [
            "1.5 2.5\t3.5\n4 5 6\n",
            "1.5\t2.5 3.5\n4\t5\t6\n",
            " 1.5 \t 2.5  3.5\n4 5 6\n",
            "1,5 2,5\t3,5\n4 5 6\n",
        ] {
            let cloud = read_text(text, &Filter::default()).unwrap();
            assert_eq!((cloud.x, cloud.y), (vec![1.5, 4.0], vec![2.5, 5.0]), "{text}");
            assert_eq!(cloud.z, [3.5, 6.0]);
        }
        // Names with blanks within.
        let text = "site name\tx\ty\tz\na b\t1\t2\t3\n";
        assert_eq!(read_text(text, &Filter::default()).unwrap().z, [3.0]);
        // What may be thousands is not taken apart.
        for text in ["500 000,5\t4 000 000\t12\n", "-1 234\t5 678\t9\n"] {
            let error = read_text(text, &Filter::default()).unwrap_err();
            assert!(matches!(error, Error::NoColumn { .. }), "{text}: {error}");
        }
    }

    #[test]
    fn of_two_columns_of_a_name_none_is_taken() {
        for (text, name) in [
            ("x,y,z,z\n1,2,3,4\n", "\"z\""),
            ("X,x ,Y,z,X\n1,2,3,4,5\n", ""),
            ("X,X,y,z\n1,2,3,4\n", "\"x\""),
            ("x,y,z,CLASS,Class\n1,2,3,4,5\n", "\"class\""),
        ] {
            let found = read_text(text, &Filter::default());
            match name {
                // One of them is written as it is asked for.
                "" => assert_eq!(found.unwrap().x, [2.0]),
                _ => {
                    let error = found.unwrap_err().to_string();
                    assert!(error.contains("2 columns") && error.contains(name), "{error}");
                }
            }
        }
        // What is not asked for may have one name.
        let text = "x,y,z,note,note\n1,2,3,4,5\n";
        assert_eq!(read_text(text, &Filter::default()).unwrap().z, [3.0]);
    }

    #[test]
    fn names_may_begin_with_slashes() {
        for text in [
            "//X Y Z R G B Classification\n1.5 2.5 3.5 0 0 255 2.000000\n",
            "// X, Y, Z, Class\r\n1.5, 2.5, 3.5, 2\r\n",
            "\u{feff}//X;Y;Z;Class\n1,5;2,5;3,5;2\n",
        ] {
            let cloud = read_text(text, &Filter::default()).unwrap();
            assert_eq!((cloud.x, cloud.y), (vec![1.5], vec![2.5]), "{text}");
            assert_eq!((cloud.z, cloud.class), (vec![3.5], Some(vec![2])));
        }
        // A row that somebody took out, and other comments.
        for text in ["//1 2 3\n4 5 6\n", "//1,2,3\n4,5,6\n", "// made by hand\n4 5 6\n"] {
            let error = read_text(text, &Filter::default()).unwrap_err();
            assert!(matches!(error, Error::NoColumn { .. }), "{text}: {error}");
        }
        for class in ["2.5", "-1", "256", "nan", ""] {
            let error = read_text(&format!("x,y,z,class\n1,2,3,{class}\n"), &Filter::default());
            assert!(error.unwrap_err().to_string().contains("0 to 255"), "{class}");
        }
    }

    #[test]
    fn utf_16_is_refused_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.csv");
        for of in [u16::to_le_bytes, u16::to_be_bytes] {
            let text = "\u{feff}x,y,z\n1,2,3\n".encode_utf16();
            std::fs::write(&path, text.flat_map(of).collect::<Vec<u8>>()).unwrap();
            let all = Keep::All { at_once: 1, is_checked: false };
            let error = read(&path, &Filter::default(), &CsvColumns::default(), &(), all);
            assert!(error.unwrap_err().to_string().contains("UTF-16"));
        }
    }

    #[test]
    fn a_missing_column_lists_those_there() {
        let text = read_text("lon,lat,z\n1,2,3\n", &Filter::default()).unwrap_err().to_string();
        assert!(text.contains("\"x\"") && text.contains("lon, lat, z"), "{text}");
    }

    #[test]
    fn classes_are_filtered_and_missing_ones_refused() {
        let ground = Filter { classes: Some(vec![2]), ..Filter::default() };
        let cloud = read_text("x,y,z,Class\n1,2,3,2\n4,5,6,9\n", &ground).unwrap();
        assert_eq!((cloud.x, cloud.class), (vec![1.0], Some(vec![2])));
        assert_eq!(cloud.tally.dropped_class, 1);
        let missing = read_text("x,y,z\n1,2,3\n", &ground);
        assert!(matches!(missing, Err(Error::NoAttribute { .. })));
        let first = Filter { returns: Returns::First, ..Filter::default() };
        assert!(matches!(read_text("x,y,z\n", &first), Err(Error::NoAttribute { .. })));
    }

    #[test]
    fn a_table_without_rows_is_an_empty_cloud() {
        assert!(read_text("x,y,z\n", &Filter::default()).unwrap().is_empty());
    }
}
