//! The command line, and what can be checked before any work starts.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Result, bail, ensure};
use clap::Parser;
use geo_io::{Output, Returns};
use programs::args::{Classes, Columns, Extent, PointArgs, RunArgs, ending, number};
use quadtree_sort::{Algorithm, MAX_LEVEL, Outside, Params};

/// Sort points into a quadtree, save it, draw its leaves, and ask it for points.
#[derive(Parser, Debug)]
#[command(name = "point_quadtree", version, after_help = AFTER_HELP)]
pub struct Args {
    /// Point files (.las, .laz, .csv, .txt, .xyz), folders of them, patterns such as "tiles/*.laz", or - for a
    /// table on standard input; all are joined, and their coordinate systems must agree
    #[arg(value_name = "POINTS", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Names of a table's columns, or their numbers where it names none
    #[arg(long, value_name = "X,Y", default_value = "x,y")]
    pub columns: Pair,
    /// Keep only these classes, such as 2,9 [default: all but 7 and 18, noise]
    #[arg(long, value_name = "LIST")]
    pub classes: Option<Classes>,
    /// Keep all, the first or the last returns of a pulse
    #[arg(long, value_name = "all|first|last", default_value = "all")]
    pub returns: Returns,
    /// What the tree covers [default: the points]; points outside are left out
    #[arg(long, value_name = "XMIN,YMIN,XMAX,YMAX", allow_hyphen_values = true)]
    pub bounds: Option<Extent>,
    /// Coordinate system, such as EPSG:26910, in place of the one in the files
    #[arg(long)]
    pub crs: Option<String>,
    /// A cell with more points than this is divided into four
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub threshold: u32,
    /// How often, at most
    #[arg(long, value_name = "LEVELS", default_value_t = MAX_LEVEL)]
    pub max_depth: u32,
    /// How points are sorted: auto, morton or level-sort; the tree is the same
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub algorithm: AlgorithmName,
    /// Save the tree
    #[arg(short, long, value_name = "TREE.qtree")]
    pub output: Option<PathBuf>,
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
    /// Use at most so much device memory, such as 512MiB: points pass through it in chunks
    #[arg(long, value_name = "SIZE")]
    pub memory_budget: Option<Size>,
    #[command(flatten)]
    pub run: RunArgs,
}

const AFTER_HELP: &str = "\
Exit status: 0 where all was done, 2 where something was wrong, 130 where it was interrupted; then one line \
on standard error says what, and no unfinished file is left.";

impl AsRef<RunArgs> for Args {
    fn as_ref(&self) -> &RunArgs {
        &self.run
    }
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

impl Args {
    /// Which points to read.
    pub fn points(&self) -> PointArgs {
        let Pair([x, y]) = self.columns.clone();
        PointArgs {
            inputs: self.inputs.clone(),
            // A table need not have a third column.
            columns: Columns([x, y.clone(), y]),
            classes: self.classes.clone(),
            returns: self.returns,
            bounds: self.bounds,
            crs: self.crs.clone(),
        }
    }

    /// Checks what clap does not, in particular that outputs can be written. `inputs` are all files to read.
    pub fn check(&self, inputs: &[PathBuf]) -> Result<()> {
        ensure!(self.threshold > 0, "--threshold 0: a leaf holds at least one point");
        let deepest = self.max_depth;
        ensure!(deepest <= MAX_LEVEL, "--max-depth {deepest}: at most {MAX_LEVEL} levels");
        self.points().crs()?;
        if self.leaves.is_some() {
            self.leaves_format()?;
        }
        if self.polygons_out.is_some() {
            self.polygons_format()?;
        }
        let outputs: Vec<_> = self.outputs().map(PathBuf::as_path).collect();
        let inputs: Vec<PathBuf> = inputs.iter().chain(&self.polygons).cloned().collect();
        geo_io::check_distinct(&inputs, &outputs)?;
        let existing = self.run.existing();
        for path in outputs {
            geo_io::check_output(Output { path, existing })?;
        }
        Ok(())
    }

    /// How to build.
    pub fn params(&self) -> Params {
        let params = Params::new().threshold(self.threshold).max_level(self.max_depth);
        let params = params.algorithm(self.algorithm.0);
        match self.bounds {
            Some(extent) => params.bounds(extent.0).outside(Outside::Skip),
            None => params,
        }
    }

    /// All files to write.
    pub fn outputs(&self) -> impl Iterator<Item = &PathBuf> {
        self.output.iter().chain(&self.leaves).chain(&self.polygons_out)
    }

    /// The format that the name of `--polygons-out` asks for.
    pub fn polygons_format(&self) -> Result<PolygonsFormat> {
        let path = self.polygons_out.clone().unwrap_or_default();
        match ending(&path).as_str() {
            "geojson" | "json" => Ok(PolygonsFormat::GeoJson),
            "csv" => Ok(PolygonsFormat::Table),
            _ => bail!("--polygons-out {}: the name must end in .geojson or .csv", path.display()),
        }
    }

    /// The format that the name of `--leaves` asks for.
    pub fn leaves_format(&self) -> Result<LeavesFormat> {
        let path = self.leaves.clone().unwrap_or_default();
        match ending(&path).as_str() {
            "geojson" | "json" => Ok(LeavesFormat::GeoJson),
            "csv" => Ok(LeavesFormat::Table),
            "png" => Ok(LeavesFormat::Png),
            _ => bail!("--leaves {}: the name must end in .geojson, .csv or .png", path.display()),
        }
    }
}

/// Two names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair(pub [String; 2]);

impl FromStr for Pair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        let count = names.len();
        names.try_into().map(Self).map_err(|_| format!("expected 2 names, found {count}"))
    }
}

/// `--algorithm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlgorithmName(pub Algorithm);

impl FromStr for AlgorithmName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self(Algorithm::Auto)),
            "morton" => Ok(Self(Algorithm::Morton)),
            "level-sort" => Ok(Self(Algorithm::LevelSort)),
            _ => Err(format!("\"{text}\" is none of auto, morton, level-sort")),
        }
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
        let k = programs::args::count(k)?;
        Ok(Self { x, y, k })
    }
}

/// Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("\"{text}\" is no size, such as 512MiB, 2GB or 1000000");
        let text = text.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (value, unit) = text.split_at(digits);
        let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "kb" => 1000,
            "mb" => 1000 * 1000,
            "gb" => 1000 * 1000 * 1000,
            "kib" => 1 << 10,
            "mib" => 1 << 20,
            "gib" => 1 << 30,
            _ => return Err(bad()),
        };
        let value: u64 = value.parse().map_err(|_| bad())?;
        value.checked_mul(factor).map(Self).ok_or_else(bad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }

    #[test]
    fn sizes_places_and_names_are_parsed_and_refused() {
        assert_eq!("512MiB".parse(), Ok(Size(512 << 20)));
        assert_eq!("2 GB".parse(), Ok(Size(2_000_000_000)));
        assert_eq!("77".parse(), Ok(Size(77)));
        for bad in ["", "MiB", "1.5GB", "-1", "3 parsecs", "99999999999999GiB"] {
            assert!(bad.parse::<Size>().is_err(), "{bad:?} was taken");
        }
        assert_eq!("-3.5, 4,8".parse(), Ok(Nearest { x: -3.5, y: 4.0, k: 8 }));
        for bad in ["", "1,2", "1,2,0", "inf,2,3", "1,2,3,4", "a,2,3"] {
            assert!(bad.parse::<Nearest>().is_err(), "{bad:?} was taken");
        }
        assert_eq!("lon, lat".parse(), Ok(Pair(["lon".into(), "lat".into()])));
        assert!("a,b,c".parse::<Pair>().is_err());
        assert_eq!("level-sort".parse(), Ok(AlgorithmName(Algorithm::LevelSort)));
        assert!("bubble".parse::<AlgorithmName>().is_err());
    }
}
