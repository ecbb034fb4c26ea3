//! gpu-scan beside CUB: a table of both medians, their ratio, the bar where there is one, and how many were met.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::Result;

use crate::results::{Results, Row};

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

/// The bars for gpu-scan: no row is behind, sorts are ahead, and some others further.
const BARS: &[Bar] = &[
    Bar { name: "", sizes: Sizes::Above(0), ratio: 1.0 },
    Bar { name: "sort_", sizes: Sizes::Above(0), ratio: 1.1 },
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

/// The medians of one piece of work.
#[derive(Default)]
struct Pair {
    /// Where it stood in the files: the table keeps their order.
    position: usize,
    cub: Option<f64>,
    tessera: Option<f64>,
}

/// The table, of the files cub_bench.tsv and scan.tsv.
pub fn table(results: &Results) -> Result<String> {
    Ok(table_of(results.file("cub_bench")?.rows().iter().chain(results.file("scan")?.rows())))
}

fn table_of<'a>(rows: impl Iterator<Item = &'a Row>) -> String {
    let mut pairs: BTreeMap<(&str, u64), Pair> = BTreeMap::new();
    for row in rows {
        let position = pairs.len();
        let pair = pairs
            .entry((&row.work, row.size))
            .or_insert_with(|| Pair { position, ..Pair::default() });
        let place = if row.library == "cub" { &mut pair.cub } else { &mut pair.tessera };
        *place = Some(row.median());
    }
    let mut pairs: Vec<_> = pairs.into_iter().collect();
    pairs.sort_by_key(|(_, pair)| pair.position);
    let mut out = String::from(
        "| work | n | CUB ms | Tessera ms | CUB / Tessera | bar | |\n\
         |---|---:|---:|---:|---:|---:|---|\n",
    );
    let mut count = Count::default();
    for ((name, n), pair) in pairs {
        let bar = bar(name, n);
        let ratio = pair.cub.zip(pair.tessera).map(|(cub, tessera)| cub / tessera);
        writeln!(
            out,
            "| {name} | {} | {} | {} | {} | {} | {} |",
            size(n),
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
        format!("\nBars: {met} met, {missed} missed, {not_compared} not compared.")
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

    fn row(library: &str, work: &str, size: u64, ms: f64) -> Row {
        let (library, work) = (library.to_owned(), work.to_owned());
        Row { library, work, size, times: [ms; 3] }
    }

    #[test]
    fn rows_join_on_name_and_size_in_the_order_read() {
        let rows = [
            row("cub", "z", 1 << 20, 3.0),
            row("cub", "a", 1 << 20, 1.0),
            row("tessera", "a", 1 << 20, 2.0),
            row("tessera", "z", 1 << 20, 2.0),
            row("tessera", "a", 1000, 7.0),
        ];
        let table = table_of(rows.iter());
        let lines: Vec<_> = table.lines().skip(2).take(3).collect();
        assert_eq!(lines[0], "| z | 2^20 | 3.0000 | 2.0000 | 1.500 | 1.000 | met |");
        assert_eq!(lines[1], "| a | 2^20 | 1.0000 | 2.0000 | 0.500 | 1.000 | **missed** |");
        assert_eq!(lines[2], "| a | 1000 | - | 7.0000 | - | 1.000 | not compared |");
    }

    #[test]
    fn bars_are_judged_and_counted() {
        let n = 1 << 28;
        let rows = [
            row("cub", "rle_u32_mean2", n, 1.2),
            row("tessera", "rle_u32_mean2", n, 1.0),
            row("cub", "rle_u32_mean50", n, 1.19),
            row("tessera", "rle_u32_mean50", n, 1.0),
            row("cub", "rle_u32_mean7", n, 1.19),
            row("cub", "copy_u32", n, 1.0),
            row("tessera", "copy_u32", n, 9.0),
        ];
        let table = table_of(rows.iter());
        assert!(table.contains("| 1.200 | 1.200 | met |"), "{table}");
        assert!(table.contains("| 1.190 | 1.200 | **missed** |"), "{table}");
        assert!(table.contains("| - | - | 1.200 | not compared |"), "{table}");
        assert!(table.ends_with("\nBars: 1 met, 1 missed, 1 not compared."), "{table}");
    }

    #[test]
    fn each_bar_holds_at_its_sizes() {
        assert_eq!(bar("histogram_256_u8", 1 << 16), Some(1.0));
        assert_eq!(bar("reduce_by_key_u32_mean2", 1 << 16), Some(1.0));
        assert_eq!(bar("reduce_by_key_u32_mean2", 1 << 24), Some(1.2));
        assert_eq!(bar("scan_inclusive_sum_u32", 1 << 24), Some(1.0));
        assert_eq!(bar("scan_inclusive_sum_u32", 1 << 28), Some(1.1));
        assert_eq!(bar("scan_inclusive_sum_u16_narrow", 1 << 24), Some(1.5));
        assert_eq!(bar("sort_pairs_u32_u32", 1 << 28), Some(1.1));
        assert_eq!(bar("sort_keys_u8", 1 << 16), Some(1.1));
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
