//! The lines of a text that are not blank, without line ends.

use std::collections::VecDeque;
use std::io::BufRead;
use std::path::Path;

use memchr::memchr2;

use crate::{Error, Result};

/// The longest line, in bytes: what is longer is not a table.
const LONGEST: usize = 1 << 26;

/// Marks that open a comment at the start of a line.
const MARKS: [&[u8]; 4] = [b"#", b"%", b"!", b"//"];

/// A line, and where it stands.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    /// The line without its end, and without blanks, NUL bytes and Ctrl-Z at both ends. Tabs stay, since they may
    /// separate fields.
    pub text: Vec<u8>,
    /// From 1.
    pub number: u64,
    /// Where the next line begins, in bytes.
    pub end: u64,
}

impl Line {
    /// Returns the text after a comment's mark; `None` if the line is not a comment.
    pub fn comment(&self) -> Option<&[u8]> {
        let text = self.text.trim_ascii_start();
        MARKS.into_iter().find_map(|mark| text.strip_prefix(mark))
    }

    /// Takes blanks and what is not text from both ends, and a byte order mark from the start, which stands within a
    /// file where two were joined. Gives how many NUL bytes were among it.
    fn trim(&mut self) -> u64 {
        let is_void = |&b: &u8| matches!(b, b' ' | 0 | 0x1A);
        let count = |bytes: &[u8]| bytes.iter().filter(|&&b| b == 0).count() as u64;
        let kept = self.text.iter().rposition(|b| !is_void(b)).map_or(0, |last| last + 1);
        let behind = count(&self.text[kept..]);
        self.text.truncate(kept);
        let mut start = 0;
        loop {
            let rest = &self.text[start..];
            start += match rest {
                [0xEF, 0xBB, 0xBF, ..] => 3,
                [first, ..] if is_void(first) => 1,
                _ => break,
            };
        }
        behind + count(self.text.drain(..start).as_slice())
    }

    fn is_blank(&self) -> bool {
        let is_wide = || str::from_utf8(&self.text).is_ok_and(|text| text.trim().is_empty());
        match self.text.first() {
            None => true,
            Some(first) if first.is_ascii() => self.text.iter().all(u8::is_ascii_whitespace),
            Some(_) => is_wide(),
        }
    }
}

/// Reads lines one by one. A line ends with a line feed, a carriage return or both.
pub(super) struct Lines<'a, R> {
    source: R,
    path: &'a Path,
    /// Lines read, blank ones too.
    number: u64,
    /// Bytes read.
    taken: u64,
    /// Whether the last line ended with a carriage return: a line feed that follows belongs to it.
    is_after_return: bool,
    /// NUL bytes at the ends of lines.
    nuls: u64,
    ahead: VecDeque<Line>,
}

impl<'a, R: BufRead> Lines<'a, R> {
    pub fn new(path: &'a Path, source: R) -> Self {
        let ahead = VecDeque::new();
        Self { source, path, number: 0, taken: 0, is_after_return: false, nuls: 0, ahead }
    }

    /// How many NUL bytes there were at the ends of lines.
    pub fn nuls(&self) -> u64 {
        self.nuls
    }

    /// Returns up to `most` lines that `next` will return.
    pub fn look_ahead(&mut self, most: usize) -> Result<&mut VecDeque<Line>> {
        while self.ahead.len() < most {
            let mut line = Line::default();
            if !self.read(&mut line)? {
                break;
            }
            self.ahead.push_back(line);
        }
        Ok(&mut self.ahead)
    }

    /// Reads the next line into `line`, and reuses its memory; returns false at the end.
    pub fn next(&mut self, line: &mut Line) -> Result<bool> {
        match self.ahead.pop_front() {
            Some(next) => *line = next,
            None => return self.read(line),
        }
        Ok(true)
    }

    fn read(&mut self, line: &mut Line) -> Result<bool> {
        while self.read_text(&mut line.text)? {
            self.number += 1;
            self.nuls += line.trim();
            if !line.is_blank() {
                (line.number, line.end) = (self.number, self.taken);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn read_text(&mut self, text: &mut Vec<u8>) -> Result<bool> {
        text.clear();
        loop {
            let found = self.source.fill_buf().map_err(|e| Error::read(self.path, e))?;
            let Some(&first) = found.first() else { return Ok(!text.is_empty()) };
            if std::mem::take(&mut self.is_after_return) && first == b'\n' {
                self.consume(1);
                continue;
            }
            let end = memchr2(b'\n', b'\r', found);
            text.extend_from_slice(&found[..end.unwrap_or(found.len())]);
            self.is_after_return = end.is_some_and(|end| found[end] == b'\r');
            let count = end.map_or(found.len(), |end| end + 1);
            self.consume(count);
            if end.is_some() {
                return Ok(true);
            }
            if text.len() > LONGEST {
                let reason = format!(
                    "line {} is longer than {} MiB, so the file is not a table of text",
                    self.number + 1,
                    LONGEST >> 20
                );
                return Err(Error::malformed(self.path, reason));
            }
        }
    }

    fn consume(&mut self, count: usize) {
        self.source.consume(count);
        self.taken += count as u64;
    }
}
