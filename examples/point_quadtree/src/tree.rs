//! The options that decide a tree.

use std::path::Path;
use std::str::FromStr;

use anyhow::{Result, ensure};
use clap::Arg;
use geo_io::CsvColumns;
use gpu_core::Bounds;
use programs::args::{Columns, PointArgs, ending, value_name, whole};
use programs::inputs::Files;
use quadtree_sort::{Baseline, MAX_LEVEL, Method, Outside, Params};

use crate::values;

/// The options that decide a tree.
#[derive(clap::Args, Debug)]
#[command(mut_args(of_tree))]
pub struct TreeArgs {
    #[command(flatten)]
    pub points: PointArgs,
    /// x and y are degrees of longitude and latitude, and --nearest measures along great circles [default: if --crs,
    /// the files or names of columns such as lon,lat say so]
    #[arg(long)]
    pub geographic: bool,
    /// Divide a cell with more points than this into four
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole(0..=u32::MAX))]
    pub threshold: u32,
    /// How many times a cell may be divided, at most
    #[arg(long, value_name = "LEVELS", default_value_t = MAX_LEVEL, value_parser = whole(0..=MAX_LEVEL))]
    pub max_depth: u32,
    /// Values that points carry, separated by commas: z for the heights, fields of LAS files, or columns of tables by
    /// name or number. The fields are intensity, return, returns, class, scan_angle, user_data, source, gps_time, red,
    /// green, blue and nir. The tree keeps the values, and answers show them
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = value_name)]
    pub value: Vec<String>,
    /// How points are sorted: auto, morton or level-sort; the tree is the same
    #[arg(long = "algorithm", value_name = "NAME", default_value = "auto")]
    pub method: MethodName,
}

/// Returns an option on points in the words of a tree: of a table it has two columns, and it leaves out what lies
/// outside.
fn of_tree(arg: Arg) -> Arg {
    let arg = arg.help_heading(None);
    match arg.get_id().as_str() {
        "inputs" => arg.value_name("POINTS").required(true).help(
            "Point files (.las, .laz, .csv, .txt, .xyz, .parquet, .fgb, .gpkg, .shp), folders of them, patterns such as \
             \"tiles/*.laz\", catalogues of them (STAC .json, .vpc, tile indexes), or - for \
             standard input. The program joins all inputs; their coordinate systems must agree",
        ),
        "columns" => arg.value_name("X,Y").default_value("x,y").value_parser(Columns::pair),
        "classes" => {
            arg.help("Keep only these classes, such as 2,9 [default: all but 7 and 18, noise]")
        }
        "bounds" => {
            arg.help("What the tree covers [default: the points]; points outside are left out")
        }
        "crs" => arg.help("Coordinate system, such as EPSG:26910, in place of the one in the files"),
        _ => arg,
    }
}

impl TreeArgs {
    /// Checks what clap cannot check.
    pub fn check(&self) -> Result<()> {
        ensure!(self.threshold > 0, "--threshold 0: a leaf holds at least one point");
        self.points.crs()?;
        values::check(&self.value)
    }

    /// The columns of tables, and the fields of LAS files.
    pub fn columns(&self) -> CsvColumns {
        values::columns(self.points.columns.names(), &self.value)
    }

    /// What the tree covers, if the user says so.
    pub fn extent(&self) -> Option<Bounds> {
        self.points.bounds.map(|extent| extent.0)
    }

    /// The files that the inputs name. Points beyond `--bounds` are left out, and so are files of catalogues.
    pub fn files(&self) -> Result<Files> {
        self.points.files(&|_| Ok(self.extent()))
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
            _ => Err(format!("unknown sort \"{text}\": use auto, morton or level-sort")),
        }
    }
}

/// Refuses a name that does not end as a tree's file does: the user wants a table or polygons.
///
/// # Errors
/// In the case that the summary names.
pub fn require_tree_name(path: &Path) -> Result<()> {
    ensure!(
        ending(path) == "qtree",
        "-o {}: the name of the tree's file must end in .qtree; to write .csv or .geojson, use \
         --leaves for leaves and --polygons-out for points",
        path.display()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::CommandLine;

    #[test]
    fn names_are_parsed_and_refused() {
        for (names, degrees) in [("Lon, LAT", true), ("x,y", false), ("lon,depth", false)] {
            let line = CommandLine::try_parse_from(["", "a.csv", "--columns", names]).unwrap();
            assert_eq!(line.tree.tree.points.columns.are_degrees(), degrees, "{names}");
        }
        let swapped = ["", "a.csv", "--columns", "lat,lon"];
        assert!(CommandLine::try_parse_from(swapped).is_err());
        assert_eq!("level-sort".parse(), Ok(MethodName(Method::Baseline(Baseline::LevelSort))));
        assert!("bubble".parse::<MethodName>().is_err());
    }
}
