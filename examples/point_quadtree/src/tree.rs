//! What decides a tree.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Result, ensure};
use geo_io::Returns;
use gpu_core::Bounds;
use programs::args::{Classes, Columns, Extent, PointArgs};
use programs::inputs;
use quadtree_sort::{Baseline, MAX_LEVEL, Method, Outside, Params};

/// What decides a tree.
#[derive(clap::Args, Debug)]
pub struct TreeArgs {
    /// Point files (.las, .laz, .csv, .txt, .xyz), folders of them, patterns such as "tiles/*.laz", or - for a
    /// table on standard input; all are joined, and their coordinate systems must agree
    #[arg(value_name = "POINTS", required = true)]
    pub inputs: Vec<PathBuf>,
    /// A table's columns by name, or by number where no name is that number
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
    /// x and y are degrees of longitude and latitude, and --nearest goes by great circles [default: where --crs, the files or
    /// names of columns such as lon,lat say so]
    #[arg(long)]
    pub geographic: bool,
    /// A cell with more points than this is divided into four
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub threshold: u32,
    /// How often, at most
    #[arg(long, value_name = "LEVELS", default_value_t = MAX_LEVEL)]
    pub max_depth: u32,
    /// How points are sorted: auto, morton or level-sort; the tree is the same
    #[arg(long = "algorithm", value_name = "NAME", default_value = "auto")]
    pub method: MethodName,
}

impl TreeArgs {
    /// The files that the inputs mean.
    pub fn files(&self) -> Result<Vec<PathBuf>> {
        inputs::expand(&self.inputs)
    }

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

    /// Checks what clap does not.
    pub fn check(&self) -> Result<()> {
        ensure!(self.threshold > 0, "--threshold 0: a leaf holds at least one point");
        let Pair([x, y]) = &self.columns;
        ensure!(
            !(is_latitude(x) && is_longitude(y)),
            "--columns {x},{y}: x comes first, so give --columns {y},{x}"
        );
        let deepest = self.max_depth;
        ensure!(deepest <= MAX_LEVEL, "--max-depth {deepest}: at most {MAX_LEVEL} levels");
        self.points().crs()?;
        Ok(())
    }

    /// What the tree covers, if that is given.
    pub fn extent(&self) -> Option<Bounds> {
        self.bounds.map(|extent| extent.0)
    }

    /// How to build.
    pub fn params(&self) -> Params {
        let params = Params::new().threshold(self.threshold).max_level(self.max_depth);
        let params = params.method(self.method.0);
        match self.extent() {
            Some(extent) => params.bounds(extent).outside(Outside::Skip),
            None => params,
        }
    }
}

/// Whether a column has the name of longitudes.
fn is_longitude(name: &str) -> bool {
    ["lon", "long", "lng", "longitude"].contains(&name.to_lowercase().as_str())
}

/// Whether a column has the name of latitudes.
fn is_latitude(name: &str) -> bool {
    ["lat", "latitude"].contains(&name.to_lowercase().as_str())
}

/// Two names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair(pub [String; 2]);

impl Pair {
    /// Whether they are those of longitudes and latitudes.
    pub fn are_degrees(&self) -> bool {
        is_longitude(&self.0[0]) && is_latitude(&self.0[1])
    }
}

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
pub struct MethodName(pub Method);

impl FromStr for MethodName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self(Method::Auto)),
            "morton" => Ok(Self(Method::Morton)),
            "level-sort" => Ok(Self(Method::Baseline(Baseline::LevelSort))),
            _ => Err(format!("\"{text}\" is none of auto, morton, level-sort")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_and_refused() {
        assert_eq!("lon, lat".parse(), Ok(Pair(["lon".into(), "lat".into()])));
        assert!("a,b,c".parse::<Pair>().is_err());
        for (names, degrees) in [("Lon,LAT", true), ("x,y", false), ("lat,lon", false)] {
            assert_eq!(names.parse::<Pair>().unwrap().are_degrees(), degrees, "{names}");
        }
        assert_eq!("level-sort".parse(), Ok(MethodName(Method::Baseline(Baseline::LevelSort))));
        assert!("bubble".parse::<MethodName>().is_err());
    }
}
