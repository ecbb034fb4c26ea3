//! Times the commands that make a DEM in tiles, as users run them: what docs/internals/cost.md fits its model to.
//!
//! `scale_bench LIDAR_DEM FOLDER [DEVICE] [METRES]`:
//!
//! - LIDAR_DEM is the program.
//! - FOLDER takes surveys, bins, tiles and DEMs; the bench removes those of a case at its end.
//! - DEVICE is the device of `run --all` (`cuda`, or `cuda:all` for every card).
//! - METRES is the side of the ground, for a first try on less.
//!
//! Surveys are hilly ground under a scanner, in files of 512 m, and have as many points for each density. The bench
//! plans each case, puts its points into bins, makes the tiles and merges them. In some cases tiles read the surveys
//! without bins.
//!
//! A line is a JSON object with what the plan says: tiles, points and cells with halos, points that all tiles unpack.
//! Then come the bytes of the inputs, bins, tiles and the DEM, and the seconds of `bin`, `run`, its three steps and
//! `merge`.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use benches::unit;
use geo_io::{LasPoints, write_las};
use gpu_core::Device;
use rayon::prelude::*;
use serde_json::{Value, json};
use tile_plan::Plan;

/// Metres on a side of a survey's file.
const FILE: f64 = 512.0;

/// Metres on a side of the ground at one point a square metre.
const GROUND: f64 = 4096.0;

/// What is made of a survey.
struct Case {
    name: &'static str,
    /// Points a square metre.
    density: f64,
    options: &'static [&'static str],
    tile_size: u32,
    has_bins: bool,
}

const EXACT: &[&str] = &["--query-radius", "4", "--resolution", "1"];
const EXACT_FINE: &[&str] = &["--query-radius", "4", "--resolution", "0.5"];
const PIXELS: &[&str] = &["--method", "pixels", "--resolution", "1"];
const PIXELS_FINE: &[&str] = &["--method", "pixels", "--resolution", "0.5"];

const fn case(
    name: &'static str,
    density: f64,
    options: &'static [&'static str],
    tile_size: u32,
) -> Case {
    Case { name, density, options, tile_size, has_bins: true }
}

const CASES: [Case; 14] = [
    case("exact", 1.0, EXACT, 256),
    case("exact", 1.0, EXACT, 512),
    case("exact", 1.0, EXACT, 1024),
    case("exact", 1.0, EXACT, 2048),
    case("exact", 1.0, EXACT_FINE, 1024),
    case("exact", 4.0, EXACT, 512),
    case("pixels", 1.0, PIXELS, 256),
    case("pixels", 1.0, PIXELS, 512),
    case("pixels", 1.0, PIXELS, 1024),
    case("pixels", 1.0, PIXELS, 2048),
    case("pixels", 1.0, PIXELS_FINE, 1024),
    case("pixels", 4.0, PIXELS, 512),
    Case { has_bins: false, ..case("exact", 1.0, EXACT, 1024) },
    Case { has_bins: false, ..case("pixels", 1.0, PIXELS, 512) },
];

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [program, folder, rest @ ..] = words.as_slice() else {
        bail!("usage: scale_bench LIDAR_DEM FOLDER [DEVICE] [METRES]");
    };
    let device = rest.first().map_or("cuda", String::as_str);
    let ground = rest.get(1).map_or(Ok(GROUND), |side| side.parse())?;
    let cards = Device::open_all(device.parse()?)?.len();
    let program = Path::new(program).canonicalize()?;
    let bench = Bench { program: &program, device, cards, ground };
    let folder = Path::new(folder);
    // The driver compiles kernels when they are first used.
    let small = Bench { ground: FILE, ..bench };
    for case in [&CASES[0], &CASES[6]] {
        small.measure(case, &folder.join("first"))?;
    }
    for case in &CASES {
        println!("{}", bench.measure(case, folder)?);
    }
    Ok(())
}

struct Bench<'a> {
    program: &'a Path,
    device: &'a str,
    cards: usize,
    ground: f64,
}

impl Bench<'_> {
    /// Writes the files of a survey: lines of points across each file, somewhat off their places, and heights in
    /// hundredths.
    fn fly(&self, folder: &Path, density: f64) -> Result<()> {
        std::fs::create_dir_all(folder)?;
        let side = self.ground / density.sqrt();
        let files = (side / FILE).ceil() as u64;
        let lines = (FILE * density.sqrt()).round() as u64;
        let step = FILE / lines as f64;
        let write = |file| {
            let corner = [(file % files) as f64 * FILE, (file / files) as f64 * FILE];
            let mut columns: [Vec<f64>; 3] = Default::default();
            for i in 0..lines * lines {
                let seed = file * lines * lines + i;
                let x = corner[0] + ((i % lines) as f64 + unit(1, seed)) * step;
                let y = corner[1] + ((i / lines) as f64 + unit(2, seed)) * step;
                let hills = 60.0 * (x / 310.0).sin() * (y / 270.0).cos() + 4.0 * (x / 19.0).cos();
                let z = (100.0 * (hills + 0.05 * unit(3, seed))).round() / 100.0;
                [x, y, z].into_iter().zip(&mut columns).for_each(|(v, column)| column.push(v));
            }
            let [x, y, z] = &columns;
            let class = vec![2; x.len()];
            let points = LasPoints { x, y, z, class: &class, ..Default::default() };
            Ok(write_las(&folder.join(format!("{file}.laz")), &points, None)?)
        };
        (0..files * files).into_par_iter().try_for_each(write)
    }

    /// All commands of a case, in a folder where its survey may lie already.
    fn measure(&self, case: &Case, folder: &Path) -> Result<Value> {
        let survey = &folder.join(format!("survey-{}", case.density));
        if !survey.exists() {
            self.fly(survey, case.density)?;
        }
        let work = &folder.join("work");
        std::fs::create_dir_all(work)?;
        let measured = self.run_all(case, survey, work);
        std::fs::remove_dir_all(work)?;
        measured
    }

    fn run_all(&self, case: &Case, survey: &Path, work: &Path) -> Result<Value> {
        let size = case.tile_size.to_string();
        let cards = self.cards.to_string();
        let inputs = survey.to_str().context("a folder's name in UTF-8")?;
        let options = [case.options, &["--tile-size", &size, "--cards", &cards]].concat();
        let (planned, _) =
            self.run(work, &[&["plan", inputs, "-o", "plan.json"], &*options].concat())?;
        let plan = Plan::from_json(&std::fs::read_to_string(work.join("plan.json"))?)?;
        let bin = match case.has_bins {
            true => Some(self.run(work, &["bin", "plan.json"])?.1),
            false => None,
        };
        let (report, run) =
            self.run(work, &["run", "plan.json", "--all", "--device", self.device])?;
        let (_, merge) = self.run(work, &["merge", "plan.json", "-o", "dem.tif"])?;
        let tiles = plan.tiles();
        let sum = |of: &dyn Fn(&tile_plan::Tile) -> u64| tiles.iter().map(of).sum::<u64>();
        let of = |name: &str| work.join(planned[name].as_str().unwrap_or(name));
        let bins = of("folder").to_string_lossy().replace("tiles-", "bins-");
        Ok(json!({
            "case": case.name, "density": case.density, "tile_size": case.tile_size,
            "cards": self.cards, "tiles": tiles.len(), "given": planned["points"],
            "points": sum(&|tile| tile.points), "cells": sum(&|tile| tile.cells),
            "unpacked": sum(&|tile| plan.inputs_of(tile).map(|input| input.points).sum()),
            "own_cells": plan.grid().cells(),
            "input_bytes": bytes(survey)?, "bin_bytes": bytes(Path::new(&bins)).unwrap_or(0),
            "tile_bytes": bytes(&of("folder"))?, "dem_bytes": std::fs::metadata(work.join("dem.tif"))?.len(),
            "bin": bin, "run": run, "read": report["steps"]["read"], "make": report["steps"]["make"],
            "write": report["steps"]["write"], "tiles_seconds": report["seconds"]["tiles"],
            "merge": merge,
        }))
    }

    /// A command's report, and its seconds from its start to its end.
    fn run(&self, work: &Path, words: &[&str]) -> Result<(Value, f64)> {
        let start = Instant::now();
        let output =
            Command::new(self.program).args(words).arg("--json").current_dir(work).output()?;
        let seconds = start.elapsed().as_secs_f64();
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{words:?}: {errors}");
        Ok((serde_json::from_slice(&output.stdout)?, seconds))
    }
}

/// Returns the bytes of all files of a folder.
fn bytes(folder: &Path) -> Result<u64> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    entries.map(|entry| Ok(entry?.metadata()?.len())).sum()
}
