//! What is asked of a tree: where its leaves are, and which points lie somewhere.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Result, anyhow, bail};
use geo_io::{Existing, Output};
use gpu_core::Device;
use programs::args::{Extent, RunArgs, count, ending, number};
use programs::opening::Opening;
use programs::report::Report;
use programs::stages::Stages;
use quadtree_sort::{NONE, Quadtree, Regions};
use serde_json::json;

use crate::areas::Areas;
use crate::{leaves, report_tree};

/// What is asked of a tree.
#[derive(clap::Args, Debug)]
pub struct AskArgs {
    /// Write its leaves: polygons (.geojson), a table (.csv) or a picture (.png)
    #[arg(long, value_name = "PATH")]
    pub leaves: Option<PathBuf>,
    /// Count the points in a rectangle, edges included
    #[arg(long, value_name = "XMIN,YMIN,XMAX,YMAX", allow_hyphen_values = true)]
    pub window: Option<Extent>,
    /// Find the K points nearest to a place
    #[arg(long, value_name = "X,Y,K", allow_hyphen_values = true)]
    pub nearest: Option<Nearest>,
    /// Count the points in each polygon of a GeoJSON file, with holes and several parts
    #[arg(long, value_name = "FILE.geojson")]
    pub polygons: Option<PathBuf>,
    /// Write what was found in them: each point (.csv), or the polygons with their counts (.geojson)
    #[arg(long, value_name = "PATH", requires = "polygons")]
    pub polygons_out: Option<PathBuf>,
}

/// A tree that was saved, and what is asked of it.
#[derive(clap::Args, Debug)]
pub struct AskSavedArgs {
    /// The tree, as -o or merge wrote it
    #[arg(value_name = "TREE.qtree")]
    pub tree: PathBuf,
    #[command(flatten)]
    pub ask: AskArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

/// The formats of the leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeavesFormat {
    /// A polygon each.
    GeoJson,
    /// A line each.
    Table,
    /// A picture of all.
    Png,
}

/// The formats of what was found in polygons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolygonsFormat {
    /// The polygons, with counts.
    GeoJson,
    /// A line for each point in each polygon.
    Table,
}

impl AskArgs {
    /// Checks that outputs can be written, of which `outputs` are all that the program writes and `inputs` all that it
    /// reads, but for the polygons.
    pub fn check(
        &self,
        inputs: &[PathBuf],
        outputs: &[&PathBuf],
        existing: Existing,
    ) -> Result<()> {
        if let Some(path) = &self.leaves {
            leaves_format(path)?;
        }
        if let Some(path) = &self.polygons_out {
            polygons_format(path)?;
        }
        let inputs: Vec<PathBuf> = inputs.iter().chain(&self.polygons).cloned().collect();
        let outputs: Vec<&Path> = outputs.iter().map(|path| path.as_path()).collect();
        geo_io::check_distinct(&inputs, &outputs)?;
        for path in outputs {
            geo_io::check_output(Output { path, existing })?;
        }
        Ok(())
    }

    /// The files that answers go into.
    pub fn outputs(&self) -> impl Iterator<Item = &PathBuf> {
        self.leaves.iter().chain(&self.polygons_out)
    }

    /// Answers: into the report, and for the files.
    pub fn answer(
        &self,
        device: &Device,
        tree: &Quadtree,
        stages: &mut Stages,
        report: &mut Report,
    ) -> Result<Option<Areas>> {
        stages.run("ask", |_| self.points(tree, report))?;
        let areas = stages.run("polygons", |p| {
            self.polygons.as_ref().map(|path| Areas::search(path, device, tree, p)).transpose()
        })?;
        if let Some(areas) = &areas {
            areas.report(report);
        }
        Ok(areas)
    }

    /// What `--window` and `--nearest` ask.
    fn points(&self, tree: &Quadtree, report: &mut Report) -> Result<()> {
        if let Some(window) = self.window {
            let count = tree.count_in(Regions::Windows(&[window.0]))?[0];
            report.line("window", format_args!("{count} points"));
            report.field("window", count);
        }
        let Some(Nearest { x, y, k }) = self.nearest else { return Ok(()) };
        // No more than there are.
        let found = tree.nearest(&[x], &[y], k.min(tree.order().len()).max(1))?;
        let places = places_of(tree, &found.indices);
        for ((&index, &distance), place) in found.indices.iter().zip(&found.distances).zip(places) {
            let Some((x, y)) = place else { continue };
            report
                .line("nearest", format_args!("point {index} at ({x}, {y}), distance {distance}"));
            let near = json!({"point": index, "x": x, "y": y, "distance": distance});
            report.element("nearest", near);
        }
        Ok(())
    }

    /// Writes the files.
    pub fn write(&self, tree: &Quadtree, areas: Option<&Areas>, existing: Existing) -> Result<()> {
        if let Some(path) = &self.leaves {
            leaves::write(leaves_format(path)?, Output { path, existing }, tree)?;
        }
        if let (Some(path), Some(areas)) = (&self.polygons_out, areas) {
            areas.write(polygons_format(path)?, Output { path, existing }, tree)?;
        }
        Ok(())
    }
}

/// Asks a tree that was saved.
pub fn ask(args: &AskSavedArgs) -> Result<()> {
    let existing = args.run.existing();
    let outputs: Vec<&PathBuf> = args.ask.outputs().collect();
    args.ask.check(std::slice::from_ref(&args.tree), &outputs, existing)?;
    let opening = Opening::begin(args.run.device);
    let (mut stages, mut report) = (Stages::new(args.run.quiet), Report::default());
    let (device, tree) = opening.beside(&mut stages, "read", |_| open(&args.tree))?;
    report.device(&device, args.run.device);
    report_tree(&mut report, &tree);
    let areas = args.ask.answer(&device, &tree, &mut stages, &mut report)?;
    stages.run("write", |_| args.ask.write(&tree, areas.as_ref(), existing))?;
    report.stages(&stages);
    report.written(args.ask.outputs());
    report.print(&args.run, false);
    Ok(())
}

/// Reads a tree that was saved.
fn open(path: &Path) -> Result<Quadtree> {
    Quadtree::open(path).map_err(|error| of_file(path, error))
}

/// An error of opening a tree, with the file's name.
pub fn of_file(path: &Path, error: quadtree_sort::Error) -> anyhow::Error {
    match error {
        // Which names the file.
        quadtree_sort::Error::File { .. } => error.into(),
        _ => anyhow!("{}: {error}", path.display()),
    }
}

/// Where points lie, by their indices as given.
fn places_of(tree: &Quadtree, indices: &[u32]) -> Vec<Option<(f64, f64)>> {
    let place = |&index: &u32| {
        let place = tree.order().iter().position(|&at| at == index && index != NONE)?;
        Some((tree.x()[place], tree.y()[place]))
    };
    indices.iter().map(place).collect()
}

/// The format that the name of `--polygons-out` asks for.
fn polygons_format(path: &Path) -> Result<PolygonsFormat> {
    match ending(path).as_str() {
        "geojson" | "json" => Ok(PolygonsFormat::GeoJson),
        "csv" => Ok(PolygonsFormat::Table),
        _ => bail!("--polygons-out {}: the name must end in .geojson or .csv", path.display()),
    }
}

/// The format that the name of `--leaves` asks for.
fn leaves_format(path: &Path) -> Result<LeavesFormat> {
    match ending(path).as_str() {
        "geojson" | "json" => Ok(LeavesFormat::GeoJson),
        "csv" => Ok(LeavesFormat::Table),
        "png" => Ok(LeavesFormat::Png),
        _ => bail!("--leaves {}: the name must end in .geojson, .csv or .png", path.display()),
    }
}

/// `--nearest`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    pub x: f64,
    pub y: f64,
    pub k: usize,
}

impl FromStr for Nearest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split(',').collect();
        let [x, y, k] = words[..] else {
            return Err(format!("expected a place and a number, as 3.5,4,8; found {text}"));
        };
        let (x, y) = (number(x)?, number(y)?);
        if !(x.is_finite() && y.is_finite()) {
            return Err(format!("the place {x},{y} is not finite"));
        }
        let k = count(k)?;
        Ok(Self { x, y, k })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_parsed_and_refused() {
        assert_eq!("-3.5, 4,8".parse(), Ok(Nearest { x: -3.5, y: 4.0, k: 8 }));
        for bad in ["", "1,2", "1,2,0", "inf,2,3", "1,2,3,4", "a,2,3"] {
            assert!(bad.parse::<Nearest>().is_err(), "{bad:?} was taken");
        }
    }
}
