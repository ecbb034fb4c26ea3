//! The fields of a line, and the numbers in them.

use std::borrow::Cow;

/// A field of a line: which bytes of it, without blanks and quotes around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    start: usize,
    end: usize,
    /// Whether it stood between quotes.
    pub is_quoted: bool,
}

impl Field {
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Its text. Text that is not UTF-8 counts as Latin-1, in which any byte is a character.
    pub fn text<'a>(&self, line: &'a [u8]) -> Cow<'a, str> {
        let bytes = &line[self.start..self.end];
        let is_void = |c: char| c.is_whitespace() || matches!(c, '\0' | '\u{1A}' | '\u{FEFF}');
        let text = match str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text.trim_matches(is_void)),
            Err(_) => {
                let text: String = bytes.iter().map(|&b| char::from(b)).collect();
                Cow::Owned(text.trim_matches(is_void).to_owned())
            }
        };
        if self.is_quoted && text.contains("\"\"") {
            return Cow::Owned(text.replace("\"\"", "\""));
        }
        text
    }
}

/// A quote opens a field and none closes it on its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenQuote;

/// Divides a line into fields. Blanks around a field are not part of it, nor are tabs unless they separate. The blank
/// as separator stands for any run of blanks and tabs. Between quotes nothing separates, and a quote is written twice.
pub(super) fn split(line: &[u8], separator: u8, fields: &mut Vec<Field>) -> Result<(), OpenQuote> {
    fields.clear();
    let is_blank = |b: u8| b == b' ' || (b == b'\t' && separator != b'\t');
    let separates = |b: u8| b == separator || (separator == b' ' && b == b'\t');
    let mut at = 0;
    loop {
        at = find(line, at, |b| !is_blank(b));
        if separator == b' ' && at == line.len() {
            return Ok(());
        }
        let closed = match line.get(at) {
            Some(b'"') => Some(closing(line, at + 1).ok_or(OpenQuote)?),
            _ => None,
        };
        let end = find(line, closed.map_or(at, |closed| closed + 1), separates);
        let behind = |from: usize| line[from..end].iter().all(|&b| is_blank(b));
        fields.push(match closed.filter(|&closed| behind(closed + 1)) {
            Some(closed) => Field { start: at + 1, end: closed, is_quoted: true },
            None => {
                let last = line[at..end].iter().rposition(|&b| !is_blank(b));
                Field { start: at, end: last.map_or(at, |last| at + last + 1), is_quoted: false }
            }
        });
        if end == line.len() {
            return Ok(());
        }
        at = end + 1;
    }
}

/// The first byte from there on that is as wanted, else the end.
fn find(line: &[u8], from: usize, is_wanted: impl Fn(u8) -> bool) -> usize {
    line[from..].iter().position(|&b| is_wanted(b)).map_or(line.len(), |at| from + at)
}

/// Where the quote stands that closes a field.
fn closing(line: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += line.get(at..)?.iter().position(|&b| b == b'"')?;
        if line.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

/// How the numbers of a table are written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Style {
    /// Whether a comma in a field without quotes is a decimal comma; this is so unless commas separate fields.
    pub has_decimal_commas: bool,
    /// Whether commas are surely decimal, even in numbers such as 1,234.
    pub is_settled: bool,
    /// Whether the point of a number such as 1.234 may separate thousands: others have decimal commas, and none surely a
    /// decimal point.
    pub may_group_by_points: bool,
    /// Whether a comma may follow a number, before the separator.
    pub may_end_in_comma: bool,
}

/// What a field should be.
pub(super) const FINITE: &str = "a finite number";
const GROUPED: &str = "a finite number: write it without thousands separators";
const SEXAGESIMAL: &str =
    "a finite number: write decimal degrees, such as 12.5, in the south and the west below 0";
const EXPONENT: &str = "a finite number: write its exponent with E, such as 1.5E3";
const MINUS: &str = "a finite number: its minus sign is another character than the hyphen -";
const UNCLEAR: &str = "a clear number: its comma may be decimal or separate thousands, so write \
                       a decimal point, or no separator of thousands";
const UNCLEAR_POINT: &str = "a clear number: beside decimal commas its point may separate thousands, so write 1234, or \
                             1,234 for a decimal comma";

impl Style {
    /// Returns the style of a table with this separator, before any number is read.
    pub fn of(separator: u8) -> Self {
        Self {
            has_decimal_commas: separator != b',',
            is_settled: separator != b',',
            may_group_by_points: false,
            may_end_in_comma: matches!(separator, b'\t' | b' '),
        }
    }

    /// Returns the number in a field, or as the error what it should hold.
    pub fn number(self, text: &str, is_quoted: bool) -> Result<f64, &'static str> {
        let finite = |value: f64| Some(value).filter(|v| v.is_finite()).ok_or(FINITE);
        let bare = text.strip_suffix(',').filter(|_| self.may_end_in_comma).unwrap_or(text);
        match bare.parse() {
            Ok(_) if self.may_group_by_points && is_grouped(bare) => Err(UNCLEAR_POINT),
            Ok(value) => finite(value),
            Err(_) if self.has_decimal_commas || is_quoted => match with_decimal_comma(bare) {
                Some(_) if !self.is_settled && is_grouped(bare) => Err(UNCLEAR),
                Some(value) => finite(value),
                None => Err(expected_of(bare)),
            },
            Err(_) => Err(expected_of(bare)),
        }
    }
}

/// What a text should be that is not a number, by how it is written.
fn expected_of(text: &str) -> &'static str {
    // Dashes and the minus of mathematics, as word processors write them.
    const DASHES: [char; 5] = ['\u{2212}', '\u{2013}', '\u{2014}', '\u{2010}', '\u{2011}'];
    let is_number = |text: &str| text.parse::<f64>().is_ok_and(f64::is_finite);
    let is_side = |c: char| "NSEWnsew".contains(c);
    // Degrees, and minutes or a side of the globe.
    let has_degrees = || text.starts_with(|c: char| c.is_ascii_digit() || "+-NSEWnsew".contains(c));
    if is_grouped(text) {
        GROUPED
    } else if is_number(&text.replace(['D', 'd'], "E")) {
        EXPONENT
    } else if is_number(&text.replace(DASHES, "-")) {
        MINUS
    } else if text.contains(['\u{B0}', '\u{BA}']) && has_degrees()
        || is_number(text.trim_matches(|c: char| is_side(c) || c == ' '))
    {
        SEXAGESIMAL
    } else {
        FINITE
    }
}

/// A number with one comma and digits behind.
fn with_decimal_comma(text: &str) -> Option<f64> {
    let (whole, decimals) = text.split_once(',')?;
    let is_decimal = decimals.starts_with(|c: char| c.is_ascii_digit());
    format!("{whole}.{decimals}").parse().ok().filter(|_| is_decimal)
}

/// Whether the point of a number can only be a decimal one.
pub(super) fn has_clear_decimal_point(text: &str) -> bool {
    text.contains('.') && text.parse::<f64>().is_ok() && !is_grouped(text)
}

/// Whether the comma of a number can only be a decimal one.
pub(super) fn has_clear_decimal_comma(text: &str) -> bool {
    with_decimal_comma(text).is_some() && !is_grouped(text)
}

/// Whether a text is one number whose digits stand in groups of three, such as 1 234 567.5 or 1,234.
pub(super) fn is_grouped(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let marks = [' ', '\u{A0}', '\u{202F}', '\'', '\u{2019}', '_', '.', ','];
    let Some(mark) = text.chars().find(|c| !c.is_ascii_digit()) else { return false };
    let (whole, decimals) = match text.rfind(['.', ',']) {
        Some(point) if !text[point..].starts_with(mark) => (&text[..point], &text[point + 1..]),
        _ => (text, "0"),
    };
    let mut groups = whole.split(mark);
    let first = groups.next().unwrap_or_default();
    marks.contains(&mark)
        && digits(first)
        && first.len() <= 3
        && !first.starts_with('0')
        && whole.contains(mark)
        && groups.all(|group| group.len() == 3 && digits(group))
        && digits(decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str, separator: u8) -> Result<Vec<String>, OpenQuote> {
        let mut fields = Vec::new();
        split(line.as_bytes(), separator, &mut fields)?;
        Ok(fields.iter().map(|field| field.text(line.as_bytes()).into_owned()).collect())
    }

    #[test]
    fn fields_are_divided_outside_of_quotes() {
        for (line, separator, expected) in [
            ("1, 2 ,3", b',', &["1", "2", "3"][..]),
            ("1,\t2\t,3,", b',', &["1", "2", "3", ""]),
            ("\"a, b\";\"say \"\"so\"\"\"; \"c\" ;", b';', &["a, b", "say \"so\"", "c", ""]),
            ("  1 \t 2  3\t", b' ', &["1", "2", "3"]),
            ("\t1\t 2 \t", b'\t', &["", "1", "2", ""]),
            ("5\" pipe|12\u{b0}30'15\"|\"a\" b", b'|', &["5\" pipe", "12\u{b0}30'15\"", "\"a\" b"]),
            ("\"north side\" 1 \"\"", b' ', &["north side", "1", ""]),
        ] {
            assert_eq!(texts(line, separator).unwrap(), expected, "{line}");
        }
        for line in ["1,\"2", "1,\"2,3\"\"", "\""] {
            assert_eq!(texts(line, b','), Err(OpenQuote), "{line}");
        }
    }

    #[test]
    fn thousands_are_told_from_decimals() {
        for text in
            ["1 234 567.5", "1,234", "-12,345,678", "1.234,5", "1'234", "500 000,5", "1_000"]
        {
            assert!(is_grouped(text), "{text}");
        }
        for text in
            ["1234", "0,123", "1234,567", "1,2345", "1 2", "1,23", "x,123", "", ",123", "1,234,"]
        {
            assert!(!is_grouped(text), "{text}");
        }
        let (commas, points) = (Style::of(b';'), Style::of(b','));
        assert_eq!(commas.number("1,234", false), Ok(1.234));
        assert_eq!(points.number("1,5", true), Ok(1.5));
        assert_eq!(Style::of(b'\t').number("1.5,", false), Ok(1.5));
        for (style, text, is_quoted) in
            [(points, "1,5", false), (points, "1,234", true), (commas, "1.234,5", false)]
        {
            assert!(style.number(text, is_quoted).is_err(), "{text}");
        }
    }
}
