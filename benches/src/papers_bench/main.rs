//! `papers_bench PAPER [--reduced]`: repeats the experiments of the five papers, and prints their tables in Markdown with the
//! published figures beside ours.
//!
//! PAPER is `nni` (You and Zhang), `idw` (Mei 2014), `qtm` (Wang et al. 2015), `quadtree` (Gluck 2014), `ccq` (Zhang,
//! You and Gruenwald 2010) or `all`. The device is `TESSERA_DEVICE`, else `cuda`; with `cpu` the columns of a device
//! are empty. Times on a device are medians by events around the enqueued work, data resident, after warm-up. Times of
//! the CPU are of one run, on one thread unless the column says otherwise. Results are compared with each other before
//! a row is printed.
//!
//! `--reduced` takes small sizes, which the software device finishes in seconds: for tests, no times to quote.

mod ccq;
mod idw;
mod nni;
mod qtm;
mod quadtree;
// The survey that lidar_dem simulates: one landscape for the program and the bench.
#[allow(dead_code)]
#[path = "../../../examples/lidar_dem/src/survey.rs"]
mod survey;
mod table;

use anyhow::{Result, bail};
use benches::{Times, clocked};
use gpu_core::{DeviceChoice, Gpu};
use table::Table;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (paper, is_reduced) = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [paper] => (paper, false),
        [paper, "--reduced"] => (paper, true),
        _ => bail!("usage: papers_bench nni|idw|qtm|quadtree|ccq|all [--reduced]"),
    };
    let chosen: Vec<_> =
        PAPERS.iter().filter(|(name, _)| paper == "all" || paper == *name).collect();
    if chosen.is_empty() {
        bail!("no paper {paper:?}: nni, idw, qtm, quadtree, ccq or all");
    }
    let gpu = match DeviceChoice::from_env()?.unwrap_or(DeviceChoice::Cuda(0)) {
        DeviceChoice::Cpu => None,
        choice => Some(Gpu::open(choice)?),
    };
    let bench = Bench { gpu, is_reduced };
    for (_, tables) in chosen {
        tables(&bench)?.iter().for_each(|table| println!("{table}"));
    }
    Ok(())
}

/// Makes the tables of a paper.
type Paper = fn(&Bench) -> Result<Vec<Table>>;

const PAPERS: [(&str, Paper); 5] = [
    ("nni", nni::tables),
    ("idw", idw::tables),
    ("qtm", qtm::tables),
    ("quadtree", quadtree::tables),
    ("ccq", ccq::tables),
];

/// What tables are made on.
struct Bench {
    /// None leaves the columns of a device empty.
    gpu: Option<Gpu>,
    is_reduced: bool,
}

impl Bench {
    /// A size of the paper's experiment, or the small one in its place.
    fn choose<T>(&self, full: T, reduced: T) -> T {
        if self.is_reduced { reduced } else { full }
    }

    /// The median of what `work` takes on the device, in ms: of ten runs, or of three long ones.
    fn median<R>(&self, gpu: &Gpu, mut work: impl FnMut() -> Result<R>) -> Result<f64> {
        let (_, first) = clocked(|| {
            work()?;
            Ok(gpu.synchronize()?)
        })?;
        if self.is_reduced {
            return Ok(first);
        }
        Ok(Times::on_device(gpu, if first > 300.0 { 3 } else { 10 }, work)?.median())
    }

    /// The median of what `work` takes by the host's clock, in ms.
    fn median_on_host<R>(&self, mut work: impl FnMut() -> Result<R>) -> Result<f64> {
        match self.is_reduced {
            true => Ok(clocked(work)?.1),
            false => Ok(Times::on_host(5, &mut work)?.median()),
        }
    }
}

/// What `work` gives on one thread, and its milliseconds.
fn on_one_thread<R: Send>(work: impl FnOnce() -> Result<R> + Send) -> Result<(R, f64)> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    pool.install(|| clocked(work))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each paper's tables by titles, rows and columns; what they compare they have compared.
    #[test]
    fn every_paper_has_its_tables() {
        let bench = Bench { gpu: Some(testing::gpu()), is_reduced: true };
        let wanted: [&[(usize, usize)]; 5] = [
            &[(3, 12)],
            &[(3, 12); 6],
            &[(2, 4), (2, 7)],
            &[(4, 9), (4, 7), (4, 8)],
            &[(4, 7), (4, 7), (3, 5)],
        ];
        for ((name, tables), wanted) in PAPERS.iter().zip(wanted) {
            let tables = tables(&bench).unwrap_or_else(|error| panic!("{name}: {error:#}"));
            let shapes: Vec<_> = tables.iter().map(Table::shape).collect();
            assert_eq!(shapes, wanted, "{name}");
            for table in tables {
                let text = table.to_string();
                assert!(text.starts_with("### "), "{name}: {text}");
                assert!(!text.contains("| NaN") && !text.contains("| inf"), "{name}: {text}");
            }
        }
    }
}
