//! The layout of a table: the separator and the columns to read, found in its first lines.
//!
//! The first line that is neither blank nor a comment decides, outside of its quotes. After titles, it is the first
//! line that has the names of the wanted columns and is followed by a row. Among the separators in that line, the
//! reader takes the first that yields the wanted columns: by name, or by numbers in the wanted positions. So a
//! semicolon or a blank within the name of a column does not separate.

use std::io::BufRead;
use std::path::Path;

use crate::points::csv::fields::{
    Field, Style, has_clear_decimal_comma, has_clear_decimal_point, is_grouped, split,
};
use crate::points::csv::lines::{Line, Lines};
use crate::{CsvColumns, Error, Result};

/// Lines that are read to find the layout, before the first row.
const HEAD: usize = 64;

/// Lines that may stand before the names of the columns.
const TITLES: usize = 20;

/// The separators, in the order in which they are tried.
const SEPARATORS: [u8; 5] = [b'\t', b';', b'|', b',', b' '];

/// The most names that an error lists.
const MAX_SHOWN: usize = 50;

/// The separators, in words.
const IN_WORDS: &str = "commas, semicolons, tabs, blanks and | separate columns";

/// Why a line is refused whose quotes do not close.
const OPEN_QUOTE: &str = "has a quote that opens a field, and no quote closes it: write it twice if it belongs to the \
                          text, and take line breaks out of fields";

/// The layout of a table, by its first lines.
#[derive(Debug)]
pub(super) struct Layout {
    pub separator: u8,
    /// The names of the columns, or their numbers.
    pub names: Vec<String>,
    pub xyz: [usize; 3],
    pub class: Option<usize>,
    /// Columns of further values.
    pub values: Vec<usize>,
    pub style: Style,
    /// How many rows the first line promises, if that line is only a number.
    pub promised: Option<u64>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// The fewest and the most fields of a row.
    fields: [usize; 2],
}

impl Layout {
    /// Takes all lines before the first row. `None` for a table without lines.
    pub fn find<R: BufRead>(
        path: &Path,
        lines: &mut Lines<R>,
        columns: &CsvColumns,
    ) -> Result<Option<Self>> {
        let (mut stated, mut promised, mut comment) = (None, None, None);
        let head = loop {
            let head = lines.look_ahead(HEAD)?;
            let Some(first) = head.front() else { return Ok(None) };
            let rest = || head.iter().skip(1).find(|line| line.comment().is_none());
            if let Some(text) = first.comment() {
                comment = Some(text.to_owned());
            } else if let Some(separator) = stated_separator(&first.text) {
                stated = Some(separator);
            } else if let Some(count) = row_count(&first.text, rest()) {
                promised = Some(count);
            } else {
                break head;
            }
            head.pop_front();
        };
        let comment = comment.as_deref();
        let guess = |at: usize| {
            let second = head.iter().skip(at + 1).find(|line| line.comment().is_none());
            Guess { path, columns, comment, second }.of_line(&head[at], stated)
        };
        let names_row = |at: usize, (layout, is_named): &(Self, bool)| {
            *is_named && layout.fits(head.iter().skip(at + 1).find(|l| l.comment().is_none()))
        };
        let (before, (mut layout, is_named)) = match guess(0) {
            Ok(found) if !found.1 || names_row(0, &found) => (0, found),
            // Titles may stand before the names, and have the same words.
            first => match titles(head.len(), columns, guess, names_row) {
                Some((at, found, fits)) if fits || first.is_err() => (at, found),
                _ => (0, first?),
            },
        };
        head.drain(..before + usize::from(is_named));
        if before > 0 {
            let lines = if before == 1 { "line" } else { "lines" };
            layout.notes.push(format!(
                "{before} {lines} before the one with the names of the columns: passed over"
            ));
        }
        layout.promised = promised;
        layout.look_at_rows(&*head, !is_named);
        Ok(Some(layout))
    }

    /// Whether a line can be a row below the names, even a faulty one. It has as many fields as the names, and at least
    /// one wanted column holds a number or a mark for a missing number. A table may end with the names.
    fn fits(&self, line: Option<&Line>) -> bool {
        let Some(line) = line else { return true };
        let mut fields = Vec::new();
        if self.divide(line, &mut fields) != Ok(true) {
            return false;
        }
        let style = Style { is_settled: true, ..self.style };
        let is_value = |&column: &usize| {
            let (text, is_quoted) = (fields[column].text(&line.text), fields[column].is_quoted);
            style.number(&text, is_quoted).is_ok() || stands_for_number(&text)
        };
        self.xyz.iter().any(is_value)
    }

    /// Divides a row into fields, and returns whether it has as many fields as the first line. Empty fields at its end
    /// do not count, nor does a tab at its start if that makes a field too many.
    pub fn divide(&self, line: &Line, fields: &mut Vec<Field>) -> Result<bool, String> {
        split(&line.text, self.separator, fields).map_err(|_| OPEN_QUOTE.to_owned())?;
        let [fewest, most] = self.fields;
        while fields.len() > most && fields.last().is_some_and(|field| field.is_empty()) {
            fields.pop();
        }
        if self.separator == b'\t' && fields.len() == most + 1 && fields[0].is_empty() {
            fields.remove(0);
        }
        Ok((fewest..=most).contains(&fields.len()))
    }

    /// Says why the reader refuses a row whose number of fields differs from the first line's.
    pub fn ragged(&self, line: &Line, fields: &[Field]) -> String {
        let (found, [_, expected]) = (fields.len(), self.fields);
        let plural = if found == 1 { "field" } else { "fields" };
        let tip = match self.separator {
            b',' if found == 2 * expected && !line.text.contains(&b'.') => {
                "; decimal commas need another separator, such as a semicolon"
            }
            separator if found == 1 => match separator {
                b'\t' => ", which tabs separate",
                b';' => ", which semicolons separate",
                b'|' => ", which | separates",
                b',' => ", which commas separate",
                _ => ", which blanks separate",
            },
            _ => "",
        };
        format!("has {found} {plural}, the first has {expected}{tip}")
    }

    /// Learns from the first rows how numbers are written, and whether the first column counts them.
    fn look_at_rows<'a>(&mut self, rows: impl IntoIterator<Item = &'a Line>, is_bare: bool) {
        let (mut has_points, mut has_clear_points, mut has_commas) = (false, false, false);
        let mut fields = Vec::new();
        let mut counted = Vec::new();
        for line in rows.into_iter().filter(|line| line.comment().is_none()) {
            if self.divide(line, &mut fields) != Ok(true) {
                continue;
            }
            for &column in self.xyz.iter().chain(&self.values) {
                let text = fields[column].text(&line.text);
                has_points |= text.contains('.') && text.parse::<f64>().is_ok();
                has_clear_points |= has_clear_decimal_point(&text);
                has_commas |= has_clear_decimal_comma(&text);
            }
            counted.push(fields[0].text(&line.text).parse::<u64>().ok());
        }
        let separates = self.separator == b',';
        self.style.is_settled = has_commas || !(separates || has_points);
        self.style.may_group_by_points = has_commas && !has_clear_points;
        let rises = |pair: &[Option<u64>]| matches!(pair, &[Some(a), Some(b)] if b == a + 1);
        if is_bare
            && self.xyz[0] == 0
            && self.fields[0] > 3
            && counted.len() > 2
            && counted.windows(2).all(rises)
        {
            self.notes.push(
                "the table has no names, and its first column, which is taken for x, counts the rows: --columns 2,3,4 takes \
                 the next three, --columns 3,2,4 where northings come first"
                    .to_owned(),
            );
        }
    }
}

/// Finds the line behind the first that names the wanted columns and is followed by a row; if none is, the first line
/// with the names. Returns how many lines stand before it, its layout, and whether a row follows. Returns `None` if a
/// column is wanted by its number, since any line has one.
fn titles(
    lines: usize,
    columns: &CsvColumns,
    of_line: impl Fn(usize) -> Result<(Layout, bool)>,
    names_row: impl Fn(usize, &(Layout, bool)) -> bool,
) -> Option<(usize, (Layout, bool), bool)> {
    let CsvColumns { x, y, z, values } = columns;
    let is_name = |name: &String| column_number(name.trim(), usize::MAX).is_none();
    if ![x, y, z].into_iter().chain(values).all(is_name) {
        return None;
    }
    let mut named = (1..lines.min(TITLES + 1)).filter_map(|at| {
        let found = of_line(at).ok().filter(|(_, is_named)| *is_named)?;
        let fits = names_row(at, &found);
        Some((at, found, fits))
    });
    let first = named.next()?;
    if first.2 { Some(first) } else { named.find(|(_, _, fits)| *fits).or(Some(first)) }
}

/// The separator that a line such as sep=; states, as Excel reads and writes it.
fn stated_separator(line: &[u8]) -> Option<u8> {
    let line = line.strip_prefix(b"\"").unwrap_or(line);
    let line = line.strip_suffix(b"\"").unwrap_or(line);
    match line {
        [s, e, p, b'=', separator] if [s, e, p].map(u8::to_ascii_lowercase) == *b"sep" => {
            SEPARATORS.contains(separator).then_some(*separator)
        }
        // Blanks at the ends of a line are gone.
        [s, e, p, b'='] if [s, e, p].map(u8::to_ascii_lowercase) == *b"sep" => Some(b' '),
        _ => None,
    }
}

/// The number of rows on a line of its own, as some programs write it before the points.
fn row_count(line: &[u8], next: Option<&Line>) -> Option<u64> {
    let next = next?.text.trim_ascii();
    let count = str::from_utf8(line.trim_ascii()).ok()?;
    let is_count = count.bytes().all(|b| b.is_ascii_digit());
    count.parse().ok().filter(|_| is_count && next.iter().any(|b| SEPARATORS.contains(b)))
}

/// The evidence for a layout.
struct Guess<'a> {
    path: &'a Path,
    columns: &'a CsvColumns,
    /// The last comment before the first line.
    comment: Option<&'a [u8]>,
    /// The line behind the first.
    second: Option<&'a Line>,
}

/// Where the wanted columns are.
struct Found {
    names: Vec<String>,
    xyz: [usize; 3],
    /// Whether the first line has the names.
    is_named: bool,
}

impl Guess<'_> {
    /// The layout, and whether the first line names columns.
    fn of_line(&self, first: &Line, stated: Option<u8>) -> Result<(Layout, bool)> {
        let occurs = |&separator: &u8| match separator {
            b' ' => first.text.trim_ascii().iter().any(|b| matches!(b, b' ' | b'\t')),
            _ => first.text.contains(&separator),
        };
        let mut tried: Vec<u8> = match stated {
            Some(separator) => vec![separator],
            None => SEPARATORS.into_iter().filter(occurs).collect(),
        };
        if tried.is_empty() {
            tried.push(b',');
        }
        // Numbers that can be read go before what stands in place of numbers.
        // A blank may belong to a name, so what it divides counts less than what another separator does.
        let mut refused: Option<((bool, usize), Error)> = None;
        for is_strict in [true, false] {
            for &separator in &tried {
                let (texts, spare) = match self.fields(first, separator) {
                    Ok(fields) => fields,
                    // Under another separator that quote may open nothing.
                    Err(error) => {
                        refused = Some(((true, usize::MAX), error));
                        continue;
                    }
                };
                if separator == b' ' && stated.is_none() && self.has_groups(first) {
                    continue;
                }
                match self.columns_of(&texts, separator, is_strict) {
                    Ok(found) => return self.layout(found, separator, spare),
                    Err(error) => {
                        let found = (separator != b' ' && texts.len() >= 3, texts.len());
                        if refused.as_ref().is_none_or(|(most, _)| found > *most) {
                            refused = Some((found, error));
                        }
                    }
                }
            }
        }
        Err(refused.map_or_else(|| self.no_column(&[], &self.columns.x), |(_, error)| error))
    }

    /// The texts of the first line's fields, and how many at its end are empty.
    fn fields(&self, first: &Line, separator: u8) -> Result<(Vec<String>, usize)> {
        let mut fields = Vec::new();
        split(&first.text, separator, &mut fields).map_err(|_| {
            let number = first.number;
            Error::malformed(self.path, format!("line {number} {OPEN_QUOTE}"))
        })?;
        // A tab at the start makes a field only where the next line has as many.
        if separator == b'\t' && fields[0].is_empty() && fields.len() > 1 {
            let mut next = Vec::new();
            let second = self.second.map(|line| split(&line.text, separator, &mut next));
            if second.is_some_and(|divided| divided.is_ok()) && next.len() + 1 == fields.len() {
                fields.remove(0);
            }
        }
        let spare = fields.iter().rev().take_while(|field| field.is_empty()).count();
        Ok((fields.iter().map(|field| field.text(&first.text).into_owned()).collect(), spare))
    }

    /// Whether blanks in the line may stand between the digits of numbers that tabs separate.
    fn has_groups(&self, first: &Line) -> bool {
        let mut fields = Vec::new();
        first.text.contains(&b'\t')
            && split(&first.text, b'\t', &mut fields).is_ok()
            && fields.iter().any(|field| {
                let text = field.text(&first.text);
                text.contains(' ') && is_grouped(&text)
            })
    }

    fn layout(&self, found: Found, separator: u8, spare: usize) -> Result<(Layout, bool)> {
        let Found { names, xyz, is_named } = found;
        let value = |name: &String| {
            let found = self.position(&names, name.trim())?;
            let found = found.or_else(|| column_number(name.trim(), names.len()));
            found.ok_or_else(|| Error::NoColumn {
                path: self.path.to_owned(),
                column: name.clone(),
                columns: listed(&names),
                is_value: true,
            })
        };
        let values = self.columns.values.iter().map(value).collect::<Result<Vec<usize>>>()?;
        let wanted = xyz.iter().chain(&values).fold(0, |most, &column| most.max(column)) + 1;
        let (most, fewest) = (names.len(), (names.len() - spare).max(wanted));
        let class = match self.position(&names, "classification")? {
            Some(class) => Some(class),
            None => self.position(&names, "class")?,
        };
        let layout = Layout {
            separator,
            xyz,
            class,
            values,
            style: Style::of(separator),
            promised: None,
            notes: Vec::new(),
            fields: [fewest, most],
            names,
        };
        Ok((layout, is_named))
    }

    /// The columns under one separator. Not strict: where something stands in the place of a number, or where columns are
    /// wanted by number and the first line has names.
    fn columns_of(&self, texts: &[String], separator: u8, is_strict: bool) -> Result<Found> {
        let style = Style { is_settled: true, ..Style::of(separator) };
        let is_number = |text: &String| style.number(text, true).is_ok();
        let is_value = |text: &String| is_number(text) || (!is_strict && stands_for_number(text));
        let CsvColumns { x, y, z, .. } = self.columns;
        let wanted = [x, y, z].map(|name| name.trim());
        let numbers = || (1..=texts.len()).map(|i| i.to_string()).collect::<Vec<_>>();
        let row = |names: Vec<String>, xyz| Found { names, xyz, is_named: false };
        let named = |xyz| Found { names: texts.to_vec(), xyz, is_named: true };

        if let [Some(x), Some(y), Some(z)] = wanted.map(|name| column_number(name, texts.len())) {
            let xyz = [x, y, z];
            let values = xyz.map(|i| is_value(&texts[i]));
            let named_so = wanted.map(|name| self.position(texts, name).ok().flatten());
            return match named_so {
                // Such names are numbers in another order.
                [Some(x), Some(y), Some(z)] if [x, y, z] != xyz && !texts.iter().all(is_value) => {
                    Ok(named([x, y, z]))
                }
                _ if values == [true; 3] => Ok(row(numbers(), xyz)),
                // A row may lack a number, but names are not numbers at all.
                _ if !is_strict && values.contains(&true) => Ok(row(numbers(), xyz)),
                _ if !is_strict => Ok(named(xyz)),
                _ => Err(self.no_column(texts, wanted[0])),
            };
        }
        let error = match self.positions(texts, wanted) {
            Ok(xyz) => return Ok(named(xyz)),
            Err(error) => error,
        };
        let is_row = |xyz: [usize; 3]| {
            xyz.iter().all(|&i| texts.get(i).is_some_and(is_value))
                && xyz.iter().any(|&i| is_number(&texts[i]))
        };
        let behind_mark = self.names_behind_mark(texts, separator);
        if let Some(names) = &behind_mark
            && let Ok(xyz) = self.positions(names, wanted)
            && is_row(xyz)
        {
            return Ok(row(names.clone(), xyz));
        }
        let by_place = match wanted {
            ["x", "y", "z"] => Some([0, 1, 2]),
            // Whoever wants places alone takes y twice.
            ["x", "y", "y"] => Some([0, 1, 1]),
            _ => None,
        };
        if let Some(xyz) = by_place.filter(|&xyz| is_row(xyz)) {
            return Ok(row(numbers(), xyz));
        }
        match (error, by_place) {
            (Error::NoColumn { .. }, Some(_)) if texts.iter().all(is_value) => {
                Err(self.no_column(&numbers(), &(texts.len() + 1).to_string()))
            }
            (Error::NoColumn { column, .. }, _) if texts.iter().all(is_value) => {
                Err(self.no_column(&behind_mark.unwrap_or_else(numbers), &column))
            }
            (error, _) => Err(error),
        }
    }

    /// The names in the last comment before the first line, where they are as many as its fields; empty ones at the end do not
    /// count.
    fn names_behind_mark(&self, texts: &[String], separator: u8) -> Option<Vec<String>> {
        let comment = self.comment?;
        let trimmed = |all: &[String]| all.iter().rposition(|text| !text.is_empty());
        [separator, b',', b' '].into_iter().find_map(|separator| {
            let mut fields = Vec::new();
            split(comment, separator, &mut fields).ok()?;
            let names = fields.iter().map(|field| field.text(comment).into_owned());
            let mut names: Vec<String> = names.collect();
            let is_whole = trimmed(&names) >= trimmed(texts) && trimmed(&names) < Some(texts.len());
            names.resize(texts.len(), String::new());
            is_whole.then_some(names)
        })
    }

    /// Where the names stand.
    fn positions(&self, names: &[String], wanted: [&str; 3]) -> Result<[usize; 3]> {
        let mut xyz = [0; 3];
        for (place, wanted) in xyz.iter_mut().zip(wanted) {
            // Some columns may be wanted by name and others by number.
            let found = self.position(names, wanted)?;
            *place = found
                .or_else(|| column_number(wanted, names.len()))
                .ok_or_else(|| self.no_column(names, wanted))?;
        }
        Ok(xyz)
    }

    /// Returns where a name stands. Among names that differ only in case, the one with the wanted case counts.
    fn position(&self, names: &[String], wanted: &str) -> Result<Option<usize>> {
        let same: Vec<usize> = (0..names.len()).filter(|&i| names[i] == wanted).collect();
        let lower = wanted.to_lowercase();
        let alike = (0..names.len()).filter(|&i| names[i].to_lowercase() == lower);
        let alike: Vec<usize> = alike.collect();
        match (&same[..], &alike[..]) {
            (&[one], _) | (_, &[one]) => Ok(Some(one)),
            (_, []) => Ok(None),
            _ => Err(Error::AmbiguousColumn {
                path: self.path.to_owned(),
                column: wanted.to_owned(),
                count: same.len().max(alike.len()),
            }),
        }
    }

    fn no_column(&self, names: &[String], wanted: &str) -> Error {
        let (path, column) = (self.path.to_owned(), wanted.to_owned());
        Error::NoColumn { path, column, columns: listed(names), is_value: false }
    }
}

/// The names of columns, as an error lists them.
fn listed(names: &[String]) -> String {
    let printed =
        |text: &str| -> String { text.chars().filter(|c| !c.is_control()).take(40).collect() };
    if let [one] = names {
        return format!("{} alone ({IN_WORDS})", printed(one));
    }
    let some: Vec<_> = names.iter().take(MAX_SHOWN).map(|name| printed(name)).collect();
    let more = match names.len().saturating_sub(MAX_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    some.join(", ") + &more
}

/// The place of a column that is wanted by its number.
fn column_number(wanted: &str, count: usize) -> Option<usize> {
    let is_number = wanted.bytes().all(|b| b.is_ascii_digit());
    let number = wanted.parse().ok().filter(|number| is_number && (1..=count).contains(number));
    number.map(|number: usize| number - 1)
}

/// Whether a word stands where a number is missing, or is one that cannot be read.
fn stands_for_number(word: &str) -> bool {
    const MISSING: [&str; 8] = ["", "na", "n/a", "nan", "null", "none", "inf", "-inf"];
    MISSING.contains(&word.to_ascii_lowercase().as_str()) || is_grouped(word)
}
