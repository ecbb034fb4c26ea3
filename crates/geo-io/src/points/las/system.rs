//! The coordinate system of a file: as well-known text, as GeoTIFF keys, or as both.

use std::path::Path;

use super::LasFile;
use super::vlrs::User;
use crate::crs::{ASCII_TAG, DIRECTORY_TAG, DOUBLES_TAG, words_on_dropped};
use crate::{Crs, Error, GeoKeys, Result};

/// The record of well-known text.
const TEXT: u16 = 2112;

/// Letters of a text that a note quotes, at most.
const QUOTED: usize = 40;

impl LasFile {
    /// The reference system, and what was passed over, in words. Text counts where the header says so or the point format
    /// asks for it, else keys, and where the one is missing the other.
    pub(super) fn crs(&self, path: &Path) -> Result<(Option<Crs>, Vec<String>)> {
        let mut notes = Vec::new();
        let text = self.system_of_text(&mut notes);
        let keys = self.system_of_keys(path, &mut notes)?;
        let says_text = self.raw.global_encoding & 16 != 0 || self.layout.is_extended();
        let (text, keys) = match (text, keys) {
            (Some(text), Some(keys)) => (text, keys),
            (text, keys) => return Ok((text.or(keys), notes)),
        };
        if let Err(difference) = text.compare(&keys) {
            let taken = if says_text { "text" } else { "keys" };
            notes.push(format!(
                "it states two coordinate systems, {text} as well-known text and {keys} as GeoTIFF keys ({difference}): \
                 that of the {taken} was taken"
            ));
        } else if text.has_heights() != keys.has_heights() {
            // One of them says more of the same.
            return Ok((Some(if text.has_heights() { text } else { keys }), notes));
        }
        Ok((Some(if says_text { text } else { keys }), notes))
    }

    /// Returns the contents of records with an id, the preferred ones first.
    fn system_records(&self, id: u16) -> impl Iterator<Item = &[u8]> {
        let is_system = |user| matches!(user, User::Projection | User::LibLas);
        let found =
            self.vlrs.iter().filter(move |record| is_system(record.user) && record.id == id);
        found.map(|record| &record.data[..])
    }

    fn system_of_text(&self, notes: &mut Vec<String>) -> Option<Crs> {
        let mut taken: Option<Crs> = None;
        for record in self.system_records(TEXT) {
            let text = String::from_utf8_lossy(record);
            let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
            match (Crs::from_broken_wkt(text), &taken) {
                _ if text.is_empty() => {}
                (None, _) => {
                    let words: Vec<&str> = text.split_whitespace().collect();
                    let quoted: String = words.join(" ").chars().take(QUOTED).collect();
                    notes.push(format!(
                        "no reader can parse the text of its coordinate system (\"{quoted}\"): it \
                         was passed over"
                    ));
                }
                (Some((crs, is_mended)), None) => {
                    if is_mended {
                        notes.push(format!(
                            "the text of its coordinate system is damaged: what is sound in it, {crs}, was taken"
                        ));
                    }
                    taken = Some(crs);
                }
                (Some((other, _)), Some(first)) => {
                    if let Err(difference) = first.compare(&other) {
                        notes.push(format!(
                            "it states two coordinate systems, {first} and {other} ({difference}): the first was taken"
                        ));
                    }
                }
            }
        }
        taken
    }

    fn system_of_keys(&self, path: &Path, notes: &mut Vec<String>) -> Result<Option<Crs>> {
        let bytes = |id| self.system_records(id).next().unwrap_or_default();
        let ascii = bytes(ASCII_TAG).strip_suffix(b"\0").unwrap_or(bytes(ASCII_TAG));
        let words = bytes(DIRECTORY_TAG).as_chunks().0.iter().map(|&b| u16::from_le_bytes(b));
        let doubles = bytes(DOUBLES_TAG).as_chunks().0.iter().map(|&b| f64::from_le_bytes(b));
        let keys = GeoKeys {
            directory: words.collect(),
            doubles: doubles.collect(),
            // One byte for one byte: the directory counts them.
            ascii: ascii.iter().map(|&b| if b.is_ascii() { b as char } else { '?' }).collect(),
        };
        let (keys, dropped) = keys.cleaned();
        notes.extend(words_on_dropped(&dropped));
        if !keys.is_system() {
            return Ok(None);
        }
        Crs::from_geokeys(keys).map_err(|reason| Error::malformed(path, reason))
    }
}
