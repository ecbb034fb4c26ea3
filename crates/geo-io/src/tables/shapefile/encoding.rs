//! What a shapefile says of the encoding of its texts: a file beside it (.cpg), and a byte of its .dbf.

use std::path::Path;

use crate::{Error, Result};

/// How texts are read.
const READ: &str = "texts were read as UTF-8, or as Latin-1 where they are not UTF-8";

/// Code pages by the byte at place 29 of a .dbf, as GDAL has them.
const PAGES: [(&[u8], &str); 19] = [
    (&[1, 9, 11, 13, 15, 17, 21, 24, 25, 27], "437"),
    (&[2, 10, 14, 16, 18, 20, 22, 26, 29, 37, 55], "850"),
    (&[3, 87, 88, 89], "1252"),
    (&[8, 23, 102], "865"),
    (&[19, 123], "932"),
    (&[28, 108], "863"),
    (&[31, 34, 35, 64, 100, 135], "852"),
    (&[36], "860"),
    (&[38, 101], "866"),
    (&[77, 122], "936"),
    (&[78, 121], "949"),
    (&[79, 120], "950"),
    (&[80, 124], "874"),
    (&[103], "861"),
    (&[107, 136], "857"),
    (&[134], "737"),
    (&[200], "1250"),
    (&[201], "1251"),
    (&[202], "1254"),
];

/// Names of the two encodings that texts are read in, without what is no letter or digit.
const UTF_8: [&str; 2] = ["utf8", "65001"];
const LATIN_1: [&str; 7] =
    ["1252", "cp1252", "windows1252", "ansi1252", "iso88591", "88591", "latin1"];

/// Returns a note if texts may be read wrongly. The .cpg and the byte of the .dbf contradict each other, or one of them
/// names an encoding that is not read.
pub(super) fn note(page_file: Option<&Path>, byte: u8) -> Result<Option<String>> {
    let stated = match page_file {
        Some(path) => {
            let text = std::fs::read(path).map_err(|reason| Error::read(path, reason))?;
            Some(String::from_utf8_lossy(&text).trim().to_owned()).filter(|text| !text.is_empty())
        }
        None => None,
    };
    let page = PAGES.iter().find(|(bytes, _)| bytes.contains(&byte)).map(|(_, page)| *page);
    let in_dbf = page.map(|page| format!("its .dbf says code page {page}"));
    Ok(match (stated, page) {
        (Some(stated), Some(page)) if plain(&stated) != plain(page) => {
            let in_dbf = in_dbf.unwrap_or_default();
            Some(format!("its .cpg says {stated}, and {in_dbf}: {READ}"))
        }
        (Some(stated), _) if !is_read(&stated) => Some(format!("its .cpg says {stated}: {READ}")),
        (None, Some(page)) if !is_read(page) => in_dbf.map(|in_dbf| format!("{in_dbf}: {READ}")),
        _ => None,
    })
}

fn is_read(name: &str) -> bool {
    let name = plain(name);
    UTF_8.contains(&&name[..]) || LATIN_1.contains(&&name[..])
}

/// A name as one of those of its encoding, which people write in several ways.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let name: String = letters.collect::<String>().to_ascii_lowercase();
    let one = |names: &[&str]| names.contains(&&name[..]).then(|| names[0].to_owned());
    let number = || {
        let digits = name.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let prefix = &name[..name.len() - digits.len()];
        ["cp", "windows", "ansi", "oem", "ibm", ""].contains(&prefix).then(|| digits.to_owned())
    };
    one(&UTF_8).or_else(|| one(&LATIN_1)).or_else(number).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictions_and_encodings_that_are_not_read_are_noted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.cpg");
        let noted = |text: Option<&str>, byte: u8| {
            text.iter().for_each(|text| std::fs::write(&path, text).unwrap());
            note(text.map(|_| path.as_path()), byte).unwrap()
        };
        for (text, byte) in [
            (None, 0),
            (None, 87),
            (Some("UTF-8"), 0),
            (Some("utf-8\r\n"), 0),
            (Some("ISO 8859-1"), 87),
            (Some("ANSI 1252"), 3),
            (Some(""), 0),
        ] {
            assert_eq!(noted(text, byte), None, "{text:?} {byte}");
        }
        for (text, byte, words) in [
            (Some("UTF-8"), 87, "its .cpg says UTF-8, and its .dbf says code page 1252: texts"),
            (Some("1251"), 200, "its .cpg says 1251, and its .dbf says code page 1250: texts"),
            (Some("CP1251"), 201, "its .cpg says CP1251: texts were read as UTF-8, or as Latin-1"),
            (Some("Big5"), 0, "its .cpg says Big5: texts"),
            (None, 38, "its .dbf says code page 866: texts"),
        ] {
            let note = noted(text, byte).unwrap();
            assert!(note.starts_with(words), "{note}");
        }
    }
}
