//! Tables in Markdown.

use std::fmt::{Display, Formatter, Result};

/// A table under a title, with what must be known to read it, where the table before does not say it.
pub struct Table {
    title: &'static str,
    note: String,
    columns: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(title: &'static str, note: impl Into<String>, columns: &[&'static str]) -> Self {
        Self { title, note: note.into(), columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row, which has a cell for each column.
    pub fn push(&mut self, row: impl Into<Vec<String>>) {
        let row = row.into();
        assert_eq!(row.len(), self.columns.len(), "{}: cells of a row", self.title);
        self.rows.push(row);
    }

    /// How many rows and columns there are.
    #[cfg(test)]
    pub fn shape(&self) -> (usize, usize) {
        (self.rows.len(), self.columns.len())
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "### {}\n", self.title)?;
        if !self.note.is_empty() {
            writeln!(f, "{}\n", self.note)?;
        }
        writeln!(f, "| {} |", self.columns.join(" | "))?;
        writeln!(f, "|{}", "---:|".repeat(self.columns.len()))?;
        self.rows.iter().try_for_each(|row| writeln!(f, "| {} |", row.join(" | ")))
    }
}

/// A number to three digits; nothing where there is none.
pub fn digits(number: impl Into<Option<f64>>) -> String {
    let Some(number) = number.into() else { return String::new() };
    let before = number.abs().log10().floor();
    let after = if before.is_finite() { (2.0 - before).max(0.0) as usize } else { 0 };
    format!("{number:.after$}")
}

/// How many times the second the first is.
pub fn ratio(long: impl Into<Option<f64>>, short: impl Into<Option<f64>>) -> String {
    digits(long.into().zip(short.into()).map(|(long, short)| long / short))
}

/// A whole number, with commas between thousands.
pub fn whole(number: u64) -> String {
    let text = number.to_string();
    let groups: Vec<&str> = text
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}

/// The part of the work that was timed, where it was not the whole.
pub fn part(step: u64) -> String {
    if step == 1 { "all".to_owned() } else { format!("1/{}", whole(step)) }
}
