//! Questions about a tree: where its leaves are, and which points lie in a place.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use geo_io::{Crs, Existing, Output};
use gpu_core::{Bounds, Shortest};
use programs::args::{RunArgs, count, ending, number};
use programs::mercator::note_on_lengths;
use programs::opening::Opening;
use programs::report::Report;
use programs::stages::Stages;
use programs::systems::is_across_antimeridian;
use programs::units::require_degrees;
use quadtree_sort::{NONE, Quadtree, Regions, Values};
use serde_json::{Value, json};

use crate::areas::{Areas, PolygonsFormat};
use crate::asked::Asked;
use crate::leaves::LeavesFormat;
use crate::{leaves, report_tree, system, values};

/// What the numbers of points in a saved tree are.
const NUMBERING: &str = "point numbers count the rows of the tree's inputs from 0, one input after the other, those of points that \
                         were left out too; of rows with several points, each point counts; if there are more than 4,294,967,295, the points that were kept";

/// Mean radius of the Earth in metres (IUGG, R1).
const RADIUS: f64 = 6_371_008.8;

/// The questions about a tree.
#[derive(clap::Args, Debug)]
pub struct AskArgs {
    /// Write all leaves of the tree, whatever else is asked: polygons (.geojson, .parquet), a table (.csv) or a picture
    /// (.png)
    #[arg(long, value_name = "PATH")]
    pub leaves: Option<PathBuf>,
    /// Count the points in a rectangle, edges included, and print the range of their values
    #[arg(long, value_name = "XMIN,YMIN,XMAX,YMAX")]
    pub window: Option<Window>,
    /// Find the K points nearest to a place. If x and y are degrees, distances are metres along great circles
    #[arg(long, value_name = "X,Y,K")]
    pub nearest: Option<Nearest>,
    /// Count the points in each polygon of a file: GeoJSON, FlatGeobuf (.fgb), GeoParquet (.parquet), GeoPackage
    /// (.gpkg) or Shapefile (.shp). A polygon's points lie in any of its parts, outside of the part's holes
    #[arg(long, value_name = "POLYGONS")]
    pub polygons: Option<PathBuf>,
    /// Write what --polygons found: each point (.csv), or the polygons with their counts and, of each value, the least,
    /// the mean and the greatest (.geojson). The table also has the file and row of each point, if the point's number
    /// does not tell
    #[arg(long, value_name = "PATH", requires = "polygons")]
    pub polygons_out: Option<PathBuf>,
}

/// A saved tree, and the questions about it. It does not keep the names of its inputs, so no answer names files and
/// rows.
#[derive(clap::Args, Debug)]
#[command(mut_arg("polygons_out", |arg| arg.help("Write what was found in them: each point (.csv), or the polygons with their counts and, of each value, the least, the mean and the greatest (.geojson, .parquet). A point's number is its row in the tree's inputs, one input after the other; of rows with several points, each point counts")))]
pub struct AskSavedArgs {
    /// The tree, as -o or merge wrote it
    #[arg(value_name = "TREE.qtree")]
    pub tree: PathBuf,
    #[command(flatten)]
    pub ask: AskArgs,
    /// x and y are degrees of longitude and latitude [default: if the tree's coordinate system has degrees]
    #[arg(long)]
    pub geographic: bool,
    #[command(flatten)]
    pub run: RunArgs,
}

impl AskArgs {
    /// Checks that the outputs can be written. `outputs` are all files that the program writes, and `inputs` all that
    /// it reads except the polygons.
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

    /// Whether answers name points by their numbers.
    pub fn names_points(&self) -> bool {
        let format = self.polygons_out.as_ref().and_then(|path| polygons_format(path).ok());
        self.nearest.is_some() || format == Some(PolygonsFormat::Table)
    }

    /// Answers: into the report, and for the files.
    pub fn answer(
        &self,
        asked: Asked<'_>,
        stages: &mut Stages,
        report: &mut Report,
    ) -> Result<Option<Areas>> {
        stages.run("ask", |_| self.points(asked, report))?;
        let areas = stages.run("polygons", |p| {
            self.polygons.as_ref().map(|path| Areas::search(path, asked, p)).transpose()
        })?;
        if let Some(areas) = &areas {
            areas.report(asked.tree, report);
        }
        Ok(areas)
    }

    /// What `--window` and `--nearest` ask.
    fn points(&self, asked: Asked<'_>, report: &mut Report) -> Result<()> {
        let Asked { tree, crs, rows, .. } = asked;
        if let Some(window) = self.window {
            let windows = Regions::Windows(std::slice::from_ref(&window.0));
            let count = tree.count_in(windows)?[0];
            report.field("window", count);
            let mut words = String::new();
            if !tree.values().is_empty() {
                let places = tree.places_of(&tree.list_in(windows)?.indices)?;
                words = values::in_words(tree.values(), &places);
                report.field("window_values", values::summaries(tree.values(), &places));
            }
            report.line("window", format_args!("{count} points{words}"));
            if crs.is_some_and(Crs::is_geographic)
                && is_across_antimeridian([window.0.min_x, window.0.max_x], tree.bounds())
            {
                report.note(
                    "--window reaches across the antimeridian, beyond which it has no points: ask for the other side by a \
                     window of its own",
                );
            }
        }
        let Some(Nearest { x, y, k }) = self.nearest else { return Ok(()) };
        let is_geographic = crs.is_some_and(Crs::is_geographic);
        require_degrees("--nearest", crs)?;
        note_on_lengths("distances", crs, [y, y]).iter().for_each(|note| report.note(note));
        // No more than there are.
        let k = k.min(tree.order().len()).max(1);
        let found = match is_geographic {
            true => tree.nearest_on_globe(&[x], &[y], k).context("--nearest")?,
            false => tree.nearest(&[x], &[y], k)?,
        };
        let (unit, word) = if is_geographic { (RADIUS, " m") } else { (1.0, "") };
        let places = tree.places_of(&found.indices)?;
        let near = found.indices.iter().zip(&found.distances).zip(places);
        let near: Vec<_> = near.filter(|&(_, place)| place != NONE).collect();
        // Beyond the range of squares all points are equally far.
        ensure!(
            near.iter().all(|((_, distance), _)| distance.is_finite()),
            "--nearest {x:e},{y:e}: the place lies too far from the points: squares of distances \
             overflow f64"
        );
        let points: Vec<usize> = near.iter().map(|((index, _), _)| **index as usize).collect();
        let rows = rows.map(|rows| rows(&points));
        for (i, ((index, distance), place)) in near.into_iter().enumerate() {
            let place = place as usize;
            let (x, y, distance) = (tree.x()[place], tree.y()[place], distance * unit);
            let value = |v: &Values| format!(", {} {}", v.name(), values::at(v, place));
            let values: String = tree.values().iter().map(value).collect();
            let row = rows.as_ref().map(|rows| &rows[i]);
            let shown = row.map(|row| format!(", {row}")).unwrap_or_default();
            let [at_x, at_y, far] = [x, y, distance].map(Shortest);
            let text =
                format!("point {index} at ({at_x}, {at_y}), distance {far}{word}{values}{shown}");
            report.line("nearest", text);
            let mut near = json!({"point": index, "x": x, "y": y, "distance": distance});
            if !tree.values().is_empty() {
                let value =
                    |v: &Values| (v.name().to_owned(), values::json(v, values::at(v, place)));
                let values = tree.values().iter().map(value);
                near["values"] = Value::Object(values.collect());
            }
            row.iter().for_each(|row| near["row"] = row.as_str().into());
            report.element("nearest", near);
        }
        Ok(())
    }

    /// Writes the files.
    pub fn write(&self, asked: Asked<'_>, areas: Option<&Areas>, existing: Existing) -> Result<()> {
        geo_io::write_together(|| {
            if let Some(path) = &self.leaves {
                leaves::write(leaves_format(path)?, Output { path, existing }, asked)?;
            }
            if let (Some(path), Some(areas)) = (&self.polygons_out, areas) {
                areas.write(polygons_format(path)?, Output { path, existing }, asked)?;
            }
            Ok(())
        })
    }
}

/// Asks a tree that was saved.
pub fn ask(args: &AskSavedArgs) -> Result<()> {
    let existing = args.run.existing();
    let outputs: Vec<&PathBuf> = args.ask.outputs().collect();
    args.ask.check(std::slice::from_ref(&args.tree), &outputs, existing)?;
    let opening = Opening::begin(args.run.device);
    let (mut stages, mut report) = (Stages::new(args.run.quiet), Report::default());
    let (device, tree) =
        opening.beside(&mut stages, "read", |_| Ok(Quadtree::open(&args.tree)?))?;
    report.device(&device, args.run.device);
    let crs = system::with_flag(args.geographic, system::of_tree(&tree))?;
    report.crs(crs.as_ref());
    report_tree(&mut report, &tree);
    if args.ask.names_points() {
        report.note(NUMBERING);
    }
    let asked = Asked { device: &device, tree: &tree, crs: crs.as_ref(), rows: None };
    let areas = args.ask.answer(asked, &mut stages, &mut report)?;
    stages.run("write", |_| args.ask.write(asked, areas.as_ref(), existing))?;
    report.stages(&stages);
    report.written(args.ask.outputs());
    report.print(&args.run);
    Ok(())
}

/// The format that the name of `--polygons-out` asks for.
fn polygons_format(path: &Path) -> Result<PolygonsFormat> {
    match ending(path).as_str() {
        "geojson" | "json" => Ok(PolygonsFormat::GeoJson),
        "parquet" => Ok(PolygonsFormat::GeoParquet),
        "csv" => Ok(PolygonsFormat::Table),
        _ => bail!(
            "--polygons-out {}: the name must end in .geojson, .parquet or .csv",
            path.display()
        ),
    }
}

/// The format that the name of `--leaves` asks for.
fn leaves_format(path: &Path) -> Result<LeavesFormat> {
    match ending(path).as_str() {
        "geojson" | "json" => Ok(LeavesFormat::GeoJson),
        "parquet" => Ok(LeavesFormat::GeoParquet),
        "csv" => Ok(LeavesFormat::Table),
        "png" => Ok(LeavesFormat::Png),
        _ => bail!(
            "--leaves {}: the name must end in .geojson, .parquet, .csv or .png",
            path.display()
        ),
    }
}

/// `--window`: a rectangle with its edges, which may be a line or a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window(pub Bounds);

impl FromStr for Window {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split(',').map(number).collect::<Result<Vec<f64>, _>>()?;
        let [min_x, min_y, max_x, max_y] = numbers[..] else {
            return Err(format!("expected 4 numbers, found {}", numbers.len()));
        };
        if let Some(value) = numbers.iter().find(|value| !value.is_finite()) {
            return Err(format!("{value} is not finite"));
        }
        for (low, high, what) in [(min_x, max_x, "x"), (min_y, max_y, "y")] {
            if low > high {
                let (low, high) = (Shortest(low), Shortest(high));
                return Err(format!("the least {what}, {low}, is above the greatest, {high}"));
            }
        }
        Ok(Self(Bounds { min_x, min_y, max_x, max_y }))
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
        let place = Bounds { min_x: 5.0, min_y: 6.0, max_x: 5.0, max_y: 6.0 };
        assert_eq!("5,6,5,6".parse(), Ok(Window(place)));
        for bad in ["", "1,2,3", "1,2,0,3", "1,2,3,1", "1,2,inf,3", "1,2,3,nan", "1,2,3,4,5"] {
            assert!(bad.parse::<Window>().is_err(), "{bad:?} was taken");
        }
    }
}
