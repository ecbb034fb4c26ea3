//! The cost of a DEM in tiles. A model is fitted to what `scale_bench` measured on one card, checked against its
//! figures for two, and extrapolated to larger surveys.
//!
//! The seconds of a step are a sum of coefficients times what the plan counts: tiles, points and cells with their
//! halos, points unpacked. The fit takes the coefficients with the least sum of squared relative errors, none below 0.
//! Steps of different tiles run at the same time. So a run takes the time of its slowest step, divided by the number of
//! cards, and the other steps of one tile.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// What `scale_bench` printed of a case.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    /// `exact` or `pixels`.
    case: String,
    density: f64,
    tile_size: u32,
    cards: u32,
    tiles: f64,
    given: f64,
    points: f64,
    cells: f64,
    own_cells: f64,
    unpacked: f64,
    bin_bytes: f64,
    tile_bytes: f64,
    /// Seconds; none where tiles read the inputs.
    bin: Option<f64>,
    read: f64,
    make: f64,
    write: f64,
    tiles_seconds: f64,
    run: f64,
    merge: f64,
}

/// What was measured on a machine.
#[derive(Debug, Default)]
pub struct Measured {
    /// The lines that begin with `# word:`.
    heads: Vec<(String, String)>,
    cases: Vec<Case>,
}

impl Measured {
    /// A file of lines as `scale_bench` prints them.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let mut measured = Self::default();
        for line in text.lines() {
            match line.strip_prefix("# ").and_then(|note| note.split_once(": ")) {
                Some((word, rest)) => measured.heads.push((word.to_owned(), rest.to_owned())),
                None => measured
                    .cases
                    .push(serde_json::from_str(line).with_context(|| path.display().to_string())?),
            }
        }
        Ok(measured)
    }

    /// The most points of a survey.
    pub fn points(&self) -> f64 {
        self.cases.iter().map(|case| case.given).fold(0.0, f64::max)
    }

    /// What the line that begins with `# word:` says.
    pub fn head(&self, word: &str) -> Option<&str> {
        self.heads.iter().find(|(other, _)| other == word).map(|(_, rest)| rest.as_str())
    }
}

/// Seconds for each tile, point and cell of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Step {
    tile: f64,
    point: f64,
    cell: f64,
}

impl Step {
    /// Of some cases, by what is counted of each and what was measured.
    fn fit(cases: &[&Case], of: impl Fn(&Case) -> ([f64; 3], f64)) -> Result<Self> {
        let rows: Vec<_> = cases.iter().map(|case| of(case)).collect();
        let [tile, point, cell] = least_squares(&rows)?;
        Ok(Self { tile, point, cell })
    }

    fn seconds(&self, tiles: f64, points: f64, cells: f64) -> f64 {
        self.tile * tiles + self.point * points + self.cell * cells
    }
}

/// The model.
#[derive(Debug)]
pub struct Model {
    /// Seconds from the start of a program to its first tile.
    start: f64,
    bin: Step,
    unpack: Step,
    read: Step,
    exact: Step,
    pixels: Step,
    write: Step,
    merge: Step,
    bytes_of_binned: f64,
    bytes_of_cell: f64,
}

impl Model {
    /// Fits the model to what was measured on one card.
    pub fn fit(one: &Measured) -> Result<Self> {
        let cases: Vec<&Case> = one.cases.iter().collect();
        ensure!(cases.iter().all(|case| case.cards == 1), "the model is fitted to one card");
        let (with, without): (Vec<_>, Vec<_>) = cases.iter().partition(|case| case.bin.is_some());
        let of = |name: &str| -> Vec<&Case> {
            cases.iter().copied().filter(|case| case.case == name).collect()
        };
        let make = |c: &Case| ([c.tiles, c.points, c.cells], c.make);
        let mean = |of: &dyn Fn(&Case) -> f64, cases: &[&Case]| {
            cases.iter().map(|case| of(case)).sum::<f64>() / cases.len() as f64
        };
        Ok(Self {
            start: mean(&|c| c.run - c.tiles_seconds, &cases),
            bin: Step::fit(&with, |c| ([0.0, c.given, 0.0], c.bin.unwrap_or(0.0)))?,
            unpack: Step::fit(&without, |c| ([0.0, c.unpacked, 0.0], c.read))?,
            read: Step::fit(&with, |c| ([c.tiles, c.points, 0.0], c.read))?,
            exact: Step::fit(&of("exact"), make)?,
            pixels: Step::fit(&of("pixels"), make)?,
            write: Step::fit(&cases, |c| ([c.tiles, 0.0, c.own_cells], c.write))?,
            merge: Step::fit(&cases, |c| ([c.tiles, 0.0, c.own_cells], c.merge))?,
            bytes_of_binned: mean(&|c| c.bin_bytes / c.given, &with),
            bytes_of_cell: mean(&|c| c.tile_bytes / c.own_cells, &cases),
        })
    }

    /// Seconds from the start of a program to its first tile.
    pub fn start(&self) -> f64 {
        self.start
    }

    /// Points that are unpacked in a second.
    pub fn unpacked(&self) -> f64 {
        1.0 / self.unpack.point
    }

    /// Seconds of reading, making and writing the tiles of a case.
    fn steps(&self, case: &Case) -> [f64; 3] {
        let (tiles, points) = (case.tiles, case.points);
        let read = match case.bin {
            Some(_) => self.read.seconds(tiles, points, 0.0),
            None => self.unpack.seconds(0.0, case.unpacked, 0.0),
        };
        let make = if case.case == "exact" { self.exact } else { self.pixels };
        let write = self.write.seconds(tiles, 0.0, case.own_cells);
        [read, make.seconds(tiles, points, case.cells), write]
    }

    /// Seconds of all tiles.
    fn tiles_seconds(&self, case: &Case, cards: f64) -> f64 {
        let steps = self.steps(case);
        let slowest = steps.iter().copied().fold(0.0, f64::max);
        let others = steps.iter().sum::<f64>() - slowest;
        slowest / cards + others / case.tiles
    }

    /// The coefficients, as a table.
    pub fn table(&self) -> String {
        let mut text =
            "| step | a tile, ms | a point, ns | a cell, ns |\n|---|---:|---:|---:|\n".to_owned();
        for (name, step) in [
            ("`bin`, a point of the inputs", self.bin),
            ("read of the inputs, a point unpacked", self.unpack),
            ("read of bins", self.read),
            ("make, exact", self.exact),
            ("make, on pixels", self.pixels),
            ("write, a cell of its own", self.write),
            ("`merge`, a cell of its own", self.merge),
        ] {
            let of = |seconds: f64, unit: f64| match seconds {
                0.0 => String::new(),
                _ => format!("{:.3}", seconds / unit),
            };
            let (tile, point, cell) =
                (of(step.tile, 1e-3), of(step.point, 1e-9), of(step.cell, 1e-9));
            // Writing to a string cannot fail.
            let _ = writeln!(text, "| {name} | {tile} | {point} | {cell} |");
        }
        text
    }

    /// Cases as measured and as the model has them.
    pub fn beside(&self, measured: &Measured) -> String {
        let mut text = "| method, points a m², side of a tile | tiles | read, s | make | write | all tiles | by the model | off |\n\
                        |---|---:|---:|---:|---:|---:|---:|---:|\n"
            .to_owned();
        for case in &measured.cases {
            let Case { case: name, density, tile_size, read, make, write, tiles_seconds, .. } =
                case;
            let model = self.tiles_seconds(case, f64::from(case.cards));
            let bins = if case.bin.is_some() { "" } else { ", no bins" };
            let off = 100.0 * (model / tiles_seconds - 1.0);
            let _ = writeln!(
                text,
                "| {name}, {density}, {tile_size}{bins} | {} | {read:.2} | {make:.2} | {write:.2} | {tiles_seconds:.2} | {model:.2} | {off:+.0}% |",
                case.tiles
            );
        }
        text
    }

    /// How far the model is off, in the mean and at most, in percent.
    pub fn errors(&self, measured: &Measured) -> [f64; 2] {
        let off = |case: &Case| {
            let model = self.tiles_seconds(case, f64::from(case.cards));
            100.0 * (model / case.tiles_seconds - 1.0).abs()
        };
        let all: Vec<f64> = measured.cases.iter().map(off).collect();
        [all.iter().sum::<f64>() / all.len() as f64, all.into_iter().fold(0.0, f64::max)]
    }

    /// The estimate for a survey that was not measured, on several numbers of cards and on file systems of two speeds.
    pub fn forecast(&self, survey: &Survey) -> String {
        let mut text = "| cards, 16 cores each | tiles read | `bin`, h | tiles: read, h | make | write | `merge`, h | all, h \
                        | TB moved | all at 1 GB/s, h | all at 10 GB/s, h |\n\
                        |---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
            .to_owned();
        for cards in [1.0, 4.0, 64.0] {
            for (name, has_bins) in [("bins", true), ("the inputs", false)] {
                let run = self.large_run(survey, cards, has_bins);
                let [bin, read, make, write, merge] = run.seconds.map(|seconds| seconds / 3600.0);
                let [all, slow, fast] = [None, Some(1e9), Some(1e10)].map(|rate| run.hours(rate));
                // Where waiting for the file system is a tenth of the time or more.
                let marked = |hours: f64| match hours > 1.1 * all {
                    true => format!("**{hours:.1}**"),
                    false => format!("{hours:.1}"),
                };
                let (moved, slow, fast) =
                    (run.bytes.iter().sum::<f64>() / 1e12, marked(slow), marked(fast));
                let _ = writeln!(
                    text,
                    "| {cards} | {name} | {bin:.1} | {read:.2} | {make:.2} | {write:.2} | {merge:.2} | {all:.1} \
                     | {moved:.1} | {slow} | {fast} |"
                );
            }
        }
        text
    }

    fn large_run(&self, survey: &Survey, cards: f64, has_bins: bool) -> LargeRun {
        let Survey { points, cells, side, halo, files, .. } = *survey;
        let tiles = cells / (side * side);
        let share = ((side + 2.0 * halo) / side).powi(2);
        // How many tiles touch a file, in the mean.
        let times = ((side + 2.0 * halo + files) / side).powi(2);
        let (bin, read) = match has_bins {
            true => {
                (self.bin.seconds(0.0, points, 0.0), self.read.seconds(tiles, points * share, 0.0))
            }
            false => (0.0, self.unpack.seconds(0.0, points * times, 0.0)),
        };
        let make = self.exact.seconds(tiles, points * share, cells * share);
        let write = self.write.seconds(tiles, 0.0, cells);
        let merge = self.merge.seconds(tiles, 0.0, cells);
        let (of_tiles, of_bins) = (cells * self.bytes_of_cell, points * self.bytes_of_binned);
        let (binned, moved) = match has_bins {
            true => (survey.bytes + of_bins, of_bins * share),
            false => (0.0, survey.bytes * times),
        };
        LargeRun {
            seconds: [bin, read / cards, make / cards, write / cards, merge],
            bytes: [binned, moved + of_tiles, 2.0 * of_tiles],
        }
    }
}

/// What a large survey takes.
struct LargeRun {
    /// `bin`; the three steps of the tiles; `merge`.
    seconds: [f64; 5],
    /// To and from the file system by `bin`, the tiles and `merge`.
    bytes: [f64; 3],
}

impl LargeRun {
    /// Hours of all, where the file system gives so many bytes a second.
    fn hours(&self, rate: Option<f64>) -> f64 {
        let [bin, read, make, write, merge] = self.seconds;
        let tiles = read.max(make).max(write);
        let waited =
            |(seconds, bytes): (f64, f64)| rate.map_or(seconds, |rate| seconds.max(bytes / rate));
        [bin, tiles, merge].into_iter().zip(self.bytes).map(waited).sum::<f64>() / 3600.0
    }
}

/// A survey to be made in tiles by the exact method.
#[derive(Clone, Copy, Debug)]
pub struct Survey {
    /// Bytes of its files.
    pub bytes: f64,
    /// All of them.
    pub points: f64,
    /// Cells of the DEM.
    pub cells: f64,
    /// Cells on a side of a tile.
    pub side: f64,
    /// Cells around it.
    pub halo: f64,
    /// Cells on a side of a file.
    pub files: f64,
}

/// Fits coefficients of three factors, none below 0, with the least sum of squared relative errors.
fn least_squares(rows: &[([f64; 3], f64)]) -> Result<[f64; 3]> {
    ensure!(rows.iter().all(|(_, seconds)| *seconds > 0.0), "a time is not above 0");
    let mut is_in = [0, 1, 2].map(|k| rows.iter().any(|(factors, _)| factors[k] > 0.0));
    loop {
        let found = normal_equations(rows, is_in)?;
        let worst = (0..3).min_by(|&a, &b| found[a].total_cmp(&found[b])).unwrap_or(0);
        if found[worst] >= 0.0 {
            return Ok(found);
        }
        is_in[worst] = false;
    }
}

/// Returns the coefficients of the chosen factors, by the normal equations, and 0 for the others.
fn normal_equations(rows: &[([f64; 3], f64)], is_in: [bool; 3]) -> Result<[f64; 3]> {
    let places: Vec<usize> = (0..3).filter(|&k| is_in[k]).collect();
    let count = places.len();
    // Factors in units of their largest, so that no pivot is small for its unit alone.
    let unit = [0, 1, 2].map(|k| rows.iter().map(|row| row.0[k]).fold(0.0, f64::max));
    let mut matrix = vec![vec![0.0; count + 1]; count];
    for (factors, seconds) in rows {
        let scaled: Vec<f64> = places.iter().map(|&k| factors[k] / unit[k] / seconds).collect();
        for (line, &a) in matrix.iter_mut().zip(&scaled) {
            for (entry, b) in line.iter_mut().zip(scaled.iter().chain(&[1.0])) {
                *entry += a * b;
            }
        }
    }
    for pivot in 0..count {
        let first = matrix[pivot].clone();
        ensure!(first[pivot].abs() > 1e-12, "the cases do not tell the factors apart");
        for (_, line) in matrix.iter_mut().enumerate().filter(|&(place, _)| place != pivot) {
            let share = line[pivot] / first[pivot];
            line.iter_mut().zip(&first).for_each(|(entry, of_first)| *entry -= share * of_first);
        }
    }
    let mut found = [0.0; 3];
    for (line, &k) in places.iter().enumerate() {
        found[k] = matrix[line][count] / matrix[line][line] / unit[k];
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(tiles: f64, points: f64, cells: f64) -> Case {
        Case {
            case: "exact".to_owned(),
            density: 1.0,
            tile_size: 512,
            cards: 1,
            tiles,
            given: points,
            points,
            cells,
            own_cells: cells,
            unpacked: points,
            bin_bytes: 28.0 * points,
            tile_bytes: 2.0 * cells,
            bin: Some(2e-7 * points),
            read: 1e-3 * tiles + 1e-8 * points,
            make: 2e-3 * tiles + 3e-9 * points + 5e-9 * cells,
            write: 1e-4 * tiles + 1e-9 * cells,
            tiles_seconds: 1.0,
            run: 1.25,
            merge: 4e-9 * cells,
        }
    }

    fn measured() -> Measured {
        let plans = [(100.0, 1e6, 2e6), (10.0, 3e6, 2e6), (40.0, 2e6, 9e6), (7.0, 5e6, 1e6)];
        let mut cases: Vec<Case> = plans.iter().map(|&(t, p, c)| case(t, p, c)).collect();
        let pixels = cases.clone().into_iter().map(|c| Case { case: "pixels".to_owned(), ..c });
        cases.extend(pixels.collect::<Vec<_>>());
        cases.push(Case { bin: None, read: 0.5, ..case(20.0, 1e6, 1e6) });
        Measured { cases, ..Measured::default() }
    }

    fn is_near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-6 * b.abs()
    }

    #[test]
    fn what_a_model_made_is_fitted_exactly() {
        let model = Model::fit(&measured()).unwrap();
        assert!(is_near(model.exact.tile, 2e-3) && is_near(model.exact.cell, 5e-9));
        assert!(is_near(model.exact.point, 3e-9) && is_near(model.read.point, 1e-8));
        assert!(is_near(model.unpack.point, 5e-7) && is_near(model.start, 0.25));
        assert_eq!(model.read.cell, 0.0);
        // One card takes the slowest step and a tile of the others; two halve the first.
        let case = case(100.0, 1e6, 2e6);
        let [read, make, write] = [case.read, case.make, case.write];
        let one = make + (read + write) / 100.0;
        assert!(is_near(model.tiles_seconds(&case, 1.0), one));
        assert!(is_near(model.tiles_seconds(&case, 2.0), one - make / 2.0));
    }

    #[test]
    fn no_coefficient_is_below_zero() {
        let rows = [([1.0, 1.0, 0.0], 1.0), ([1.0, 2.0, 0.0], 0.9), ([1.0, 3.0, 0.0], 0.8)];
        let [constant, slope, _] = least_squares(&rows).unwrap();
        assert!(slope == 0.0 && (0.8..0.95).contains(&constant), "{constant} {slope}");
    }

    #[test]
    fn cases_that_do_not_tell_factors_apart_are_refused() {
        let rows = [([1.0, 2.0, 0.0], 1.0), ([2.0, 4.0, 0.0], 2.0)];
        assert!(least_squares(&rows).is_err());
        assert!(least_squares(&[([1.0, 0.0, 0.0], 0.0)]).is_err());
    }
}
