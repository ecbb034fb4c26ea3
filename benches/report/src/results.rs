//! What the benches printed.
//!
//! A row is `library work size other median least most`, separated by tabs, times in ms; CUB's peer leaves `other` out.
//! Lines that begin with `# word:` say of a whole file on which device, when and by which command it was taken.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

/// The files of a folder, by their names without `.tsv` or `.md`.
#[derive(Debug, Default)]
pub struct Results {
    files: BTreeMap<String, File>,
    printed: BTreeMap<String, String>,
}

/// What one bench printed.
#[derive(Debug, Default)]
pub struct File {
    heads: BTreeMap<String, String>,
    rows: Vec<Row>,
}

/// A piece of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Whose: `tessera`, `cpu`, or a rival.
    pub library: String,
    /// Which.
    pub work: String,
    /// Elements, points or cells.
    pub size: u64,
    /// Milliseconds: median, least and most.
    pub times: [f64; 3],
}

impl Results {
    /// All `.tsv` and `.md` files of a folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let (mut files, mut printed) = (BTreeMap::new(), BTreeMap::new());
        let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let path = entry?.path();
            let name =
                path.file_stem().context("a file has a name")?.to_string_lossy().into_owned();
            let text = || std::fs::read_to_string(&path);
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("tsv") => {
                    let file = File::parse(&text()?).with_context(|| path.display().to_string())?;
                    files.insert(name, file);
                }
                Some("md") => {
                    let (file, rest) = File::before(&text()?);
                    printed.insert(name.clone(), rest);
                    files.insert(name, file);
                }
                _ => {}
            }
        }
        Ok(Self { files, printed })
    }

    /// Tables that a program printed as they stand in a page.
    pub fn printed(&self, name: &str) -> Result<&str> {
        let text =
            self.printed.get(name).with_context(|| format!("no file {name}.md in the results"))?;
        Ok(text.trim())
    }

    /// Whether there is a file of that name.
    pub fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// A file by its name.
    pub fn file(&self, name: &str) -> Result<&File> {
        self.files.get(name).with_context(|| format!("no file {name}.tsv in the results"))
    }

    /// The row of a key `file/[library:]work[@size]`; without a library Tessera's own. Without a size it must be the
    /// only one of its work.
    pub fn row(&self, key: &str) -> Result<&Row> {
        let (file, rest) = key.split_once('/').with_context(|| format!("no file in {key:?}"))?;
        let (rest, size) = match rest.split_once('@') {
            Some((rest, size)) => (rest, Some(size.parse::<u64>().context("a size")?)),
            None => (rest, None),
        };
        let (library, work) = rest.split_once(':').unwrap_or(("tessera", rest));
        let fits = |row: &&Row| {
            row.library == library && row.work == work && size.is_none_or(|size| row.size == size)
        };
        let mut found = self.file(file)?.rows.iter().filter(fits);
        let row = found.next().with_context(|| format!("no row {key:?}"))?;
        ensure!(found.next().is_none(), "{key:?} stands for several rows: give a size");
        Ok(row)
    }
}

impl File {
    fn parse(text: &str) -> Result<Self> {
        let mut file = Self::default();
        for (index, line) in text.lines().enumerate() {
            if let Some(note) = line.strip_prefix('#') {
                if let Some((word, rest)) = note.trim().split_once(": ") {
                    file.heads.insert(word.to_owned(), rest.to_owned());
                }
            } else if !line.trim().is_empty() {
                let row = Row::parse(line).and_then(|row| file.add(row));
                row.with_context(|| format!("line {}", index + 1))?;
            }
        }
        Ok(file)
    }

    /// The lines that say how printed tables were taken, and the tables behind them.
    fn before(text: &str) -> (Self, String) {
        let (mut file, mut rest) = (Self::default(), text);
        while let Some((line, after)) = rest.split_once('\n') {
            let Some((word, value)) = line.strip_prefix("# ").and_then(|l| l.split_once(": "))
            else {
                break;
            };
            file.heads.insert(word.to_owned(), value.to_owned());
            rest = after;
        }
        (file, rest.to_owned())
    }

    fn add(&mut self, row: Row) -> Result<()> {
        let key = |row: &Row| (row.library.clone(), row.work.clone(), row.size);
        let twice = self.rows.iter().any(|other| key(other) == key(&row));
        ensure!(!twice, "{} of {} at {} is there twice", row.work, row.library, row.size);
        self.rows.push(row);
        Ok(())
    }

    /// The rows as they were printed.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// What the line that begins with `# word:` says.
    pub fn head(&self, word: &str) -> Option<&str> {
        self.heads.get(word).map(String::as_str)
    }
}

impl Row {
    fn parse(line: &str) -> Result<Self> {
        let fields: Vec<_> = line.split('\t').map(str::trim).collect();
        let (library, work, size, times) = match *fields.as_slice() {
            [library, work, size, a, b, c] | [library, work, size, _, a, b, c] => {
                (library, work, size, [a, b, c])
            }
            _ => bail!("{} columns where 6 or 7 belong", fields.len()),
        };
        ensure!(!library.is_empty(), "no library");
        ensure!(!work.is_empty(), "no name of the work");
        let size = size.parse().with_context(|| format!("size {size:?}"))?;
        let [median, least, most] = [time(times[0])?, time(times[1])?, time(times[2])?];
        ensure!(
            least <= median && median <= most,
            "median {median} is not between {least} and {most}"
        );
        let times = [median, least, most];
        Ok(Self { library: library.to_owned(), work: work.to_owned(), size, times })
    }

    /// The median in ms.
    pub fn median(&self) -> f64 {
        self.times[0]
    }
}

fn time(text: &str) -> Result<f64> {
    let milliseconds: f64 = text.parse().with_context(|| format!("time {text:?}"))?;
    ensure!(milliseconds.is_finite() && milliseconds > 0.0, "time {text:?} is not above 0");
    Ok(milliseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(library: &str, work: &str, size: u64, ms: f64) -> String {
        format!("{library}\t{work}\t{size}\t0\t{ms}\t{ms}\t{ms}\n")
    }

    fn results(text: &str) -> Results {
        let file = File::parse(text).unwrap();
        Results { files: [("bench".to_owned(), file)].into(), ..Results::default() }
    }

    fn error(text: &str) -> String {
        format!("{:#}", File::parse(text).expect_err("an error"))
    }

    #[test]
    fn a_row_has_two_sizes_or_one() {
        let times = [0.694, 0.69, 0.701];
        let of = |text: &str| Row::parse(text).unwrap();
        let wanted =
            Row { library: "cub".to_owned(), work: "scan".to_owned(), size: 1 << 28, times };
        assert_eq!(of("cub\tscan\t268435456\t0.694\t0.690\t0.701\r"), wanted);
        assert_eq!(of("cub\tscan\t268435456\t12\t0.694\t0.690\t0.701"), wanted);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        assert_eq!(error("#\ncub\ta\t1\t1\t1\n"), "line 2: 5 columns where 6 or 7 belong");
        assert!(error("\ta\t1\t1\t1\t1").contains("no library"));
        assert!(error("cub\t\t1\t1\t1\t1").contains("no name"));
        assert!(error("cub\ta\t-1\t1\t1\t1").contains("\"-1\""));
        for time in ["0", "-1", "NaN", "inf", "fast"] {
            assert!(error(&format!("cub\ta\t1\t{time}\t1\t1")).contains(time));
        }
        assert!(error("cub\ta\t1\t3\t1\t2").contains("not between 1 and 2"));
        let twice = row("cub", "a", 1, 1.0) + &row("cub", "a", 1, 2.0);
        assert_eq!(error(&twice), "line 2: a of cub at 1 is there twice");
    }

    #[test]
    fn a_key_finds_one_row() {
        let rows = row("tessera", "a", 1, 1.0) + &row("cpu", "a", 1, 2.0);
        let results =
            results(&(rows + &row("tessera", "b", 1, 3.0) + &row("tessera", "b", 2, 4.0)));
        let median = |key| results.row(key).map(Row::median);
        assert_eq!(median("bench/a").unwrap(), 1.0);
        assert_eq!(median("bench/cpu:a").unwrap(), 2.0);
        assert_eq!(median("bench/b@2").unwrap(), 4.0);
        for (key, message) in [
            ("bench/b", "several rows"),
            ("bench/c", "no row"),
            ("bench/a@7", "no row"),
            ("other/a", "no file other.tsv"),
            ("a", "no file in"),
        ] {
            assert!(format!("{:#}", median(key).unwrap_err()).contains(message), "{key}");
        }
    }

    #[test]
    fn printed_tables_stand_behind_their_heads() {
        let (file, rest) = File::before("# date: today\n# device: a card\n### A: b\n\n| a |\n");
        assert_eq!(file.head("device"), Some("a card"));
        assert_eq!(rest, "### A: b\n\n| a |\n");
        assert_eq!(File::before("| a |\n").1, "| a |\n");
    }

    #[test]
    fn heads_say_how_a_file_was_taken() {
        let file = File::parse("# device: a card\n# command: bench all\n# nothing\n").unwrap();
        assert_eq!(file.head("device"), Some("a card"));
        assert_eq!(file.head("command"), Some("bench all"));
        assert_eq!(file.head("date"), None);
    }
}
