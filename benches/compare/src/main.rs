//! Sets the times of two libraries beside each other: a Markdown table with the ratio of the two,
//! and whether it meets the project's bar.
//!
//! `compare CUB.tsv TESSERA.tsv`; peers/README.md says how the files come about. A row is
//! `library name n median_ms min_ms max_ms`, separated by tabs; empty lines and lines that begin
//! with `#` are passed over. The first column says whose row it is, not the file.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result, bail, ensure};

fn main() -> Result<()> {
    let paths: Vec<_> = std::env::args_os().skip(1).collect();
    ensure!(paths.len() == 2, "usage: compare CUB.tsv TESSERA.tsv");
    let mut times = Times::default();
    for path in paths {
        let path = std::path::PathBuf::from(path);
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        times.read(&text).with_context(|| path.display().to_string())?;
    }
    print!("{}", times.report());
    Ok(())
}

/// The sizes for which a bar holds.
enum Sizes {
    Exactly(u64),
    Above(u64),
}

/// A bar: work whose name begins with `name`, at these sizes, must reach the ratio
/// CUB's time / Tessera's time.
struct Bar {
    name: &'static str,
    sizes: Sizes,
    ratio: f64,
}

const SMALLEST: u64 = 1 << 16;

/// The bars for gpu-scan. The smallest size, where launching is most of the time, has one bar of
/// its own; a bar that names no size holds for the larger ones.
const BARS: &[Bar] = &[
    Bar { name: "", sizes: Sizes::Exactly(SMALLEST), ratio: 1.0 / 1.2 },
    Bar { name: "reduce_sum_", sizes: Sizes::Above(SMALLEST), ratio: 0.98 },
    Bar { name: "reduce_min_", sizes: Sizes::Above(SMALLEST), ratio: 0.98 },
    Bar { name: "argmin_", sizes: Sizes::Above(SMALLEST), ratio: 0.98 },
    Bar { name: "scan_inclusive_sum_u8", sizes: Sizes::Above(SMALLEST), ratio: 1.5 },
    Bar { name: "scan_inclusive_sum_u16", sizes: Sizes::Above(SMALLEST), ratio: 1.5 },
    Bar { name: "scan_inclusive_sum_u32", sizes: Sizes::Exactly(1 << 28), ratio: 1.1 },
    Bar { name: "scan_inclusive_sum_f32", sizes: Sizes::Exactly(1 << 28), ratio: 1.1 },
    Bar { name: "scan_exclusive_sum_u32", sizes: Sizes::Exactly(1 << 28), ratio: 1.1 },
    Bar { name: "scan_inclusive_max_u32", sizes: Sizes::Exactly(1 << 28), ratio: 1.1 },
    Bar { name: "select_", sizes: Sizes::Exactly(1 << 28), ratio: 1.1 },
    Bar { name: "unique_", sizes: Sizes::Exactly(1 << 28), ratio: 1.1 },
    Bar { name: "rle_", sizes: Sizes::Above(SMALLEST), ratio: 1.2 },
    Bar { name: "reduce_by_key_", sizes: Sizes::Above(SMALLEST), ratio: 1.2 },
    Bar { name: "sort_keys_u32", sizes: Sizes::Exactly(1 << 28), ratio: 1.0 },
    Bar { name: "sort_pairs_", sizes: Sizes::Exactly(1 << 24), ratio: 1.0 },
];

/// Not a primitive but the memory's speed, shown for orientation.
const NO_BAR: &str = "copy_";

/// The ratio that this work must reach; where several bars hold, the highest.
fn bar(name: &str, n: u64) -> Option<f64> {
    let holds = |bar: &&Bar| {
        let size = match bar.sizes {
            Sizes::Exactly(size) => n == size,
            Sizes::Above(size) => n > size,
        };
        size && name.starts_with(bar.name) && !name.starts_with(NO_BAR)
    };
    BARS.iter().filter(holds).map(|bar| bar.ratio).reduce(f64::max)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Library {
    Cub,
    Tessera,
}

#[derive(Debug, PartialEq)]
struct Row {
    library: Library,
    name: String,
    n: u64,
    median_ms: f64,
}

fn parse_row(line: &str) -> Result<Row> {
    let fields: Vec<_> = line.split('\t').map(str::trim).collect();
    let &[library, name, n, median, min, max] = fields.as_slice() else {
        bail!("{} columns where 6 belong", fields.len());
    };
    let library = match library {
        "cub" => Library::Cub,
        "tessera" => Library::Tessera,
        other => bail!("library {other:?}, neither \"cub\" nor \"tessera\""),
    };
    ensure!(!name.is_empty(), "no name");
    let n = n.parse().with_context(|| format!("n = {n:?}"))?;
    let [median_ms, min_ms, max_ms] = [parse_time(median)?, parse_time(min)?, parse_time(max)?];
    ensure!(
        min_ms <= median_ms && median_ms <= max_ms,
        "median {median_ms} is not between min {min_ms} and max {max_ms}"
    );
    Ok(Row { library, name: name.to_owned(), n, median_ms })
}

fn parse_time(text: &str) -> Result<f64> {
    let milliseconds: f64 = text.parse().with_context(|| format!("time {text:?}"))?;
    ensure!(milliseconds.is_finite() && milliseconds > 0.0, "time {text:?} is not above 0");
    Ok(milliseconds)
}

/// The medians of one piece of work.
#[derive(Default)]
struct Pair {
    /// Where it stood in the files: the table keeps their order.
    position: usize,
    cub: Option<f64>,
    tessera: Option<f64>,
}

/// All rows read so far, joined on name and size.
#[derive(Default)]
struct Times {
    pairs: BTreeMap<(String, u64), Pair>,
}

impl Times {
    fn read(&mut self, text: &str) -> Result<()> {
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let row = parse_row(line).and_then(|row| self.add(row));
            row.with_context(|| format!("line {}", index + 1))?;
        }
        Ok(())
    }

    fn add(&mut self, row: Row) -> Result<()> {
        let position = self.pairs.len();
        let entry = self.pairs.entry((row.name.clone(), row.n));
        let pair = entry.or_insert(Pair { position, ..Pair::default() });
        let place = match row.library {
            Library::Cub => &mut pair.cub,
            Library::Tessera => &mut pair.tessera,
        };
        let before = place.replace(row.median_ms);
        ensure!(before.is_none(), "{} at {} is there twice", row.name, row.n);
        Ok(())
    }

    fn report(&self) -> String {
        let mut rows: Vec<_> = self.pairs.iter().collect();
        rows.sort_by_key(|(_, pair)| pair.position);
        let mut out = String::from(
            "| work | n | CUB ms | Tessera ms | CUB / Tessera | bar | |\n\
             |---|---:|---:|---:|---:|---:|---|\n",
        );
        let mut count = Count::default();
        for ((name, n), pair) in rows {
            let bar = bar(name, *n);
            let ratio = pair.cub.zip(pair.tessera).map(|(cub, tessera)| cub / tessera);
            writeln!(
                out,
                "| {name} | {} | {} | {} | {} | {} | {} |",
                size(*n),
                cell(pair.cub, 4),
                cell(pair.tessera, 4),
                cell(ratio, 3),
                cell(bar, 3),
                count.judge(ratio, bar),
            )
            .expect("writing to a String");
        }
        out + &count.line()
    }
}

#[derive(Default)]
struct Count {
    met: usize,
    missed: usize,
    not_compared: usize,
}

impl Count {
    fn judge(&mut self, ratio: Option<f64>, bar: Option<f64>) -> &'static str {
        let (counter, verdict) = match (ratio, bar) {
            (_, None) => return "",
            (None, Some(_)) => (&mut self.not_compared, "not compared"),
            (Some(ratio), Some(bar)) if ratio >= bar => (&mut self.met, "met"),
            _ => (&mut self.missed, "**missed**"),
        };
        *counter += 1;
        verdict
    }

    fn line(&self) -> String {
        let Count { met, missed, not_compared } = self;
        format!("\nBars: {met} met, {missed} missed, {not_compared} not compared.\n")
    }
}

fn cell(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

fn size(n: u64) -> String {
    if n.is_power_of_two() { format!("2^{}", n.ilog2()) } else { n.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(library: &str, name: &str, n: u64, ms: f64) -> String {
        format!("{library}\t{name}\t{n}\t{ms}\t{ms}\t{ms}\n")
    }

    fn read(text: &str) -> Result<Times> {
        let mut times = Times::default();
        times.read(text)?;
        Ok(times)
    }

    fn error(text: &str) -> String {
        format!("{:#}", read(text).err().expect("an error"))
    }

    #[test]
    fn a_row_is_read() {
        let parsed = parse_row("cub\tscan_inclusive_sum_u32\t268435456\t0.694\t0.690\t0.701\r");
        let name = "scan_inclusive_sum_u32".to_owned();
        let expected = Row { library: Library::Cub, name, n: 1 << 28, median_ms: 0.694 };
        assert_eq!(parsed.unwrap(), expected);
    }

    #[test]
    fn comments_and_empty_lines_are_passed_over() {
        let text = format!("# a card\n\n  \n{}", row("cub", "a", 5, 1.0));
        assert_eq!(read(&text).unwrap().pairs.len(), 1);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        assert_eq!(error("#\ncub\ta\t1\t1\t1\n"), "line 2: 5 columns where 6 belong");
        assert!(error("thrust\ta\t1\t1\t1\t1").contains("\"thrust\""));
        assert!(error("cub\t\t1\t1\t1\t1").contains("no name"));
        assert!(error("cub\ta\t-1\t1\t1\t1").contains("\"-1\""));
        assert!(error("cub\ta\t1\tfast\t1\t1").contains("\"fast\""));
        for time in ["0", "-1", "NaN", "inf"] {
            assert!(error(&format!("cub\ta\t1\t{time}\t1\t1")).contains(time));
        }
        assert!(error("cub\ta\t1\t3\t1\t2").contains("between min 1 and max 2"));
        let twice = row("cub", "a", 1, 1.0) + &row("cub", "a", 1, 2.0);
        assert_eq!(error(&twice), "line 2: a at 1 is there twice");
    }

    #[test]
    fn rows_join_on_name_and_size_in_the_order_read() {
        let text = row("cub", "z", 1 << 20, 3.0)
            + &row("cub", "a", 1 << 20, 1.0)
            + &row("tessera", "a", 1 << 20, 2.0)
            + &row("tessera", "z", 1 << 20, 2.0)
            + &row("tessera", "a", 1000, 7.0);
        let report = read(&text).unwrap().report();
        let rows: Vec<_> = report.lines().skip(2).take(3).collect();
        assert_eq!(rows[0], "| z | 2^20 | 3.0000 | 2.0000 | 1.500 | - |  |");
        assert_eq!(rows[1], "| a | 2^20 | 1.0000 | 2.0000 | 0.500 | - |  |");
        assert_eq!(rows[2], "| a | 1000 | - | 7.0000 | - | - |  |");
    }

    #[test]
    fn bars_are_judged_and_counted() {
        let n = 1 << 28;
        let text = row("cub", "rle_u32_mean2", n, 1.2)
            + &row("tessera", "rle_u32_mean2", n, 1.0)
            + &row("cub", "rle_u32_mean50", n, 1.19)
            + &row("tessera", "rle_u32_mean50", n, 1.0)
            + &row("cub", "rle_u32_mean7", n, 1.19)
            + &row("cub", "partition_u32", n, 1.0)
            + &row("tessera", "partition_u32", n, 9.0);
        let report = read(&text).unwrap().report();
        assert!(report.contains("| 1.200 | 1.200 | met |"), "{report}");
        assert!(report.contains("| 1.190 | 1.200 | **missed** |"), "{report}");
        assert!(report.contains("| - | - | 1.200 | not compared |"), "{report}");
        assert!(report.ends_with("\nBars: 1 met, 1 missed, 1 not compared.\n"), "{report}");
    }

    #[test]
    fn each_bar_holds_at_its_sizes() {
        assert_eq!(bar("histogram_256_u8", 1 << 16), Some(1.0 / 1.2));
        assert_eq!(bar("histogram_256_u8", 1 << 20), None);
        assert_eq!(bar("reduce_sum_f32", 1 << 16), Some(1.0 / 1.2));
        assert_eq!(bar("reduce_sum_f32", 1 << 20), Some(0.98));
        assert_eq!(bar("reduce_by_key_u32_mean2", 1 << 24), Some(1.2));
        assert_eq!(bar("scan_inclusive_sum_u32", 1 << 24), None);
        assert_eq!(bar("scan_inclusive_sum_u32", 1 << 28), Some(1.1));
        assert_eq!(bar("scan_inclusive_sum_u16_narrow", 1 << 24), Some(1.5));
        assert_eq!(bar("sort_pairs_u32_u32", 1 << 28), None);
        assert_eq!(bar("sort_pairs_u32_u32", 1 << 24), Some(1.0));
        assert_eq!(bar("copy_u32", 1 << 16), None);
    }

    #[test]
    fn every_bar_is_for_work_that_the_peer_does() {
        let peer = include_str!("../../peers/cub_bench.cu");
        for bar in BARS {
            assert!(peer.contains(&format!("{{\"{}", bar.name)), "{} is in no case", bar.name);
        }
    }
}
