//! The command line, and the checks before any work starts.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use ccq_tree::{Connectivity, Window};
use clap::{Parser, Subcommand};
use geo_io::{Number, Output};
use gpu_core::{Bounds, DeviceChoice, GridSpec};
use programs::args::{Extent, RunArgs, count, ending, require_file, require_owner, whole};
use programs::catalogues::{CatalogueArgs, Content};
use programs::inputs::{Files, is_one_file};
use programs::scale::RunTileArgs;

use crate::numbers::check_bins;
use crate::place::Place;
use crate::scale::{MergeArgs, PlanArgs};

/// Build an index of the values of a raster, and ask it where values lie in a range.
#[derive(Parser, Debug)]
#[command(name = "raster_index", version, after_help = AFTER_HELP)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Build the index of a raster
    Build(BuildArgs),
    /// Find cells whose values lie in ranges, in one or several rasters
    Query(QueryArgs),
    /// Print what an index holds
    Info(InfoArgs),
    /// Divide a raster into tiles that fit the memory, each a job of its own
    Plan(PlanArgs),
    /// Make one tile of a plan, or all tiles that are still missing
    Run(RunTileArgs),
    /// Merge the tiles of a plan into the index of the whole raster
    Merge(MergeArgs),
}

#[derive(clap::Args, Debug)]
pub struct BuildArgs {
    /// The raster (.tif, .vrt, .asc, .zarr, .npy, .npz, .png), or several adjacent rasters of one type, or catalogues
    /// of them (STAC .json, tile indexes). Without a raster, the program makes a random sample
    #[arg(value_name = "RASTER")]
    pub rasters: Vec<PathBuf>,
    #[command(flatten)]
    pub catalogues: CatalogueArgs,
    /// The array of an NPZ archive [default: mask, or the only one]
    #[arg(long, value_name = "NAME")]
    pub array: Option<String>,
    /// Boundaries of bins, rising, separated by commas: up to 255, or 65,534 for values of 32 and 64 bits [default: the
    /// values themselves]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub bins: Vec<Number>,
    /// Make this many bins with about as many cells each, for values of any type
    #[arg(long, value_name = "N", value_parser = count, conflicts_with = "bins")]
    pub quantiles: Option<usize>,
    /// The value that stands for NODATA [default: what the file says, or GDAL's .aux.xml beside it; NaN always does]
    #[arg(long, value_name = "VALUE")]
    pub nodata: Option<Number>,
    /// The index
    #[arg(short, long, value_name = "PATH", default_value = "index.ccq")]
    pub output: PathBuf,
    /// Number of cells along a side of the sample
    #[arg(long, value_name = "N", value_parser = count, default_value = "1024", conflicts_with = "rasters")]
    pub sample_side: usize,
    /// Seed of the sample
    #[arg(long, default_value_t = 1, value_parser = whole(0..=u64::MAX), conflicts_with = "rasters")]
    pub seed: u64,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(clap::Args, Debug)]
pub struct QueryArgs {
    /// The index
    #[arg(value_name = "TREE")]
    pub tree: PathBuf,
    /// The raster that TREE was built from, needed if the range cuts through bins. If TREE covers several adjacent
    /// rasters, give all of them, or a catalogue of them
    #[arg(long, value_name = "RASTER")]
    pub raster: Vec<PathBuf>,
    #[command(flatten)]
    pub catalogues: CatalogueArgs,
    /// The raster that an index of --and was built from, needed if that index's range cuts through bins; may be given
    /// several times
    #[arg(long, num_args = 2, value_names = ["TREE", "RASTER"])]
    pub raster_of: Vec<PathBuf>,
    /// The array of an NPZ archive [default: mask, or the only one]
    #[arg(long, value_name = "NAME")]
    pub array: Option<String>,
    /// The value that stands for NODATA in the rasters, if the index was built with another value than the file states
    #[arg(long, value_name = "VALUE")]
    pub nodata: Option<Number>,
    /// Values from the first on and below the second, such as 10,20 or 10,inf [default: any]
    #[arg(long, value_name = "LO,HI")]
    pub range: Option<Range>,
    /// Values that are one of these classes, whole numbers from 0 to 62, such as 1,4,7 [default: any]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',', value_parser = whole::<u32>(0..=62))]
    pub classes: Vec<u32>,
    /// Print the sum and the mean of the found values; not for an index with bins. With --json a sum of integers has all
    /// its digits: a number, or beyond 64 bits a text. Readers that take numbers as floats of 64 bits lose digits from
    /// 2^53 on
    #[arg(long)]
    pub sum: bool,
    /// First row and column, then the row and column after the last. If an index of --and has smaller cells than TREE,
    /// rows and columns count these [default: all]
    #[arg(long, value_name = "ROW0,COL0,ROW1,COL1")]
    pub window: Option<Rectangle>,
    /// The rectangle of the ground whose cells count, in the units of the index's place; a cell that it cuts counts
    /// [default: all]
    #[arg(long, value_name = "XMIN,YMIN,XMAX,YMAX", conflicts_with = "window")]
    pub bounds: Option<Extent>,
    /// Another index and its range, which a cell must satisfy as well; may be given several times. Its cells may have
    /// another size: the query finds the finest cells, and a coarser cell counts for all finer cells whose centres lie
    /// in it
    #[arg(long, num_args = 2, value_names = ["TREE", "LO,HI"], allow_hyphen_values = true)]
    pub and: Vec<String>,
    /// Where to write the found cells: as rectangles (.geojson, .parquet, .csv), or as an array or picture (.npy,
    /// .png); may be given several times
    #[arg(short, long, value_name = "PATH")]
    pub output: Vec<PathBuf>,
    /// Where to write the connected regions of found cells, with area and number of cells: outlines with holes
    /// (.geojson, .parquet), or a table (.csv)
    #[arg(long, value_name = "PATH")]
    pub regions: Option<PathBuf>,
    /// Which cells are connected: cells that share a side (4), or a side or a corner (8)
    #[arg(long, value_name = "4|8", default_value = "4", value_parser = connectivity, requires = "regions")]
    pub connectivity: Connectivity,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(clap::Args, Debug)]
pub struct InfoArgs {
    /// The index
    #[arg(value_name = "TREE")]
    pub tree: PathBuf,
    #[command(flatten)]
    pub run: RunArgs,
}

const AFTER_HELP: &str = "\
A raster lies where GDAL has it: by the tags of a GeoTIFF, a world file (.tfw, .wld) or the .aux.xml beside it. The index \
keeps the place and the reference system. Rasters of one index, and those asked together, lie in one system. \
Values of 64 bits are indexed as f32, i32 or u32 where all of them are, and else as they are, exactly; NODATA does not count \
for that. Rasters of one index have one type, the first that holds the values of all. \
Values are those that the file stores: of a palette the indices, and no scale is applied. NODATA is what GDAL takes for \
it, by the file or by .aux.xml beside it; so are the blocks that a sparse GeoTIFF does not have, and a transparent entry \
or grey value of a PNG. A decimal of --range, --bins and --nodata means, among floats, the one of the index's type, f32 or \
f64, that it rounds to. A range up to inf holds infinity as well. Nodes take 8 bytes where values have 8 or 16 bits or are in \
bins, and where values of 64 bits have at most 65,535 different ones; else 12. A PNG \
with coloured or otherwise transparent pixels is refused.\n\n\
Rectangles are quadrants, squares of 2^n cells, cut off where the window or the raster ends: the first row and column, how many rows \
and columns, and the least and the greatest value, or number of a bin. In GeoJSON they are in the units of the index's place (a raster \
that lies nowhere has its south-west corner at (0, 0) and cells of side 1). A range that cuts through a bin gives rectangles of which \
only some cells may be in it (partly); --raster says which, and cells are written with it. A raster whose cells are in other bins than \
the index has is refused. In JSON whole numbers have all of their digits; those beyond 64 bits and infinities, which a number of JSON \
does not hold, are strings, such as \"inf\". Areas of --regions are in square units of the place, of degrees in square \
metres on WGS 84. A query runs on the CPU unless --device names a GPU, to which indices and raster are copied: what is found is \
the same; sums are made on the CPU. A GPU takes four indices at most (--classes counts as one), and of other cell sizes those whose cells are 2^n of the \
finest on a side, with the same north-west and south-east corner.\n\n\
Exit status: 0 where all went well, 2 where something was wrong, 130 where it was interrupted; then one line on \
standard error says what, and no unfinished file is left.";

impl BuildArgs {
    /// Checks what clap cannot check, above all that the program can write its output.
    pub fn check(&self) -> Result<()> {
        let path = &self.output;
        ensure!(ending(path) == "ccq", "--output {}: the name must end in .ccq", path.display());
        check_bins(&self.bins)?;
        check_array(self.array.as_deref(), &self.rasters)?;
        Ok(geo_io::check_output(self.place())?)
    }

    /// Where the index goes.
    pub fn place(&self) -> Output<'_> {
        let existing = match self.rasters.is_empty() {
            false => self.run.existing(),
            true => self.run.existing_example(),
        };
        Output { path: &self.output, existing }
    }
}

/// Refuses the array of an archive if no raster can be one. A catalogue may list archives.
fn check_array(array: Option<&str>, rasters: &[PathBuf]) -> Result<()> {
    let others = ["tif", "tiff", "vrt", "asc", "zarr", "npy", "png"];
    let may_be_archive = |path: &PathBuf| !others.contains(&&ending(path)[..]);
    let has_archive = rasters.iter().any(may_be_archive);
    require_owner("--array", array.is_some(), &[("an NPZ archive", has_archive)])
}

/// What a result is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    GeoJson,
    GeoParquet,
    Csv,
    Npy,
    Png,
}

impl QueryArgs {
    /// Checks what clap cannot check, above all that the program can write its outputs.
    pub fn check(&self) -> Result<()> {
        let mut inputs = vec![self.tree.clone()];
        inputs.extend(self.rasters()?.read());
        inputs.extend(self.raster_of.iter().cloned());
        let others = self.others()?;
        inputs.extend(others.iter().map(|(path, _)| path.clone()));
        for [tree, raster] in self.rasters_of_others() {
            let (tree_name, raster) = (tree.display(), raster.display());
            let is_asked = others.iter().any(|(path, _)| is_one_file(path, tree));
            ensure!(
                is_asked,
                "--raster-of {tree_name} {raster}: --and does not have that index; --raster is for the first index"
            );
        }
        let has_raster = !(self.raster.is_empty() && self.raster_of.is_empty());
        let of_others = self.rasters_of_others();
        let rasters: Vec<PathBuf> =
            self.raster.iter().chain(of_others.map(|[_, raster]| raster)).cloned().collect();
        check_array(self.array.as_deref(), &rasters)?;
        ensure!(
            self.nodata.is_none() || has_raster,
            "--nodata belongs to --raster or --raster-of: give one of these, or leave out \
             --nodata, since an index keeps its own"
        );
        let mut outputs: Vec<&Path> = self.output.iter().map(PathBuf::as_path).collect();
        for path in &outputs {
            kind(path)?;
        }
        if let Some(path) = &self.regions {
            let name = path.display();
            let is_known = matches!(ending(path).as_str(), "geojson" | "parquet" | "csv");
            ensure!(is_known, "--regions {name}: the name must end in .geojson, .parquet or .csv");
            outputs.push(path);
        }
        geo_io::check_distinct(&inputs, &outputs)?;
        for path in outputs {
            geo_io::check_output(Output { path, existing: self.run.existing() })?;
        }
        Ok(())
    }

    /// Whether an output lists the cells one by one.
    pub fn needs_cells(&self) -> bool {
        let of_cells = |path: &PathBuf| matches!(kind(path), Ok(Kind::Npy | Kind::Png));
        self.sum || self.regions.is_some() || self.output.iter().any(of_cells)
    }

    /// All files to write.
    pub fn written(&self) -> Vec<PathBuf> {
        self.output.iter().chain(&self.regions).cloned().collect()
    }

    /// Returns the device to search on. The default is the CPU, since copying an index to a GPU takes longer than one
    /// search.
    pub fn device(&self) -> DeviceChoice {
        match self.run.device {
            DeviceChoice::Auto => DeviceChoice::Cpu,
            named => named,
        }
    }

    /// Returns the rows and columns that count. `place` is the finest raster among the indices of the query.
    pub fn window_in(&self, path: &Path, place: &Place) -> Result<Option<Window>> {
        let name = path.display();
        let Some(Extent(bounds)) = self.bounds else {
            let Some(Rectangle(window)) = self.window else { return Ok(None) };
            let Window { row0, column0, row1, column1 } = window;
            let all = Window::of(&place.grid);
            let is_finest = if path == self.tree { "" } else { ", the finest of the indices" };
            ensure!(
                row0 < row1 && column0 < column1 && all.holds(window),
                "--window {row0},{column0},{row1},{column1}: {name}{is_finest} has {} rows and {} \
                 columns: a window must end after it begins, and lie within these; for \
                 coordinates, use --bounds",
                all.row1,
                all.column1
            );
            return Ok(Some(window));
        };
        let Bounds { min_x, min_y, max_x, max_y } = bounds;
        let option = format!("--bounds {min_x},{min_y},{max_x},{max_y}");
        ensure!(
            place.is_along_axes(),
            "{option}: the rows of {name} do not run along an axis ({place}): give --window"
        );
        cells_of_bounds(&bounds, place).map(Some).with_context(|| {
            let its = place.bounds();
            format!(
                "{option}: no cell lies within, since {name} lies at {},{},{},{}",
                its.min_x, its.min_y, its.max_x, its.max_y
            )
        })
    }

    /// The rasters that TREE was built from.
    pub fn rasters(&self) -> Result<Files> {
        rasters_of(&self.raster, &self.catalogues)
    }

    /// The rasters of other indices, each with its index.
    pub fn rasters_of_others(&self) -> impl Iterator<Item = &[PathBuf; 2]> {
        self.raster_of.as_chunks::<2>().0.iter()
    }

    /// The other indices and their ranges.
    pub fn others(&self) -> Result<Vec<(PathBuf, Range)>> {
        let of = |pair: &[String]| {
            require_file("--and", Path::new(&pair[0]))?;
            match pair[1].parse() {
                Ok(range) => Ok((PathBuf::from(&pair[0]), range)),
                Err(reason) => bail!("--and {} {}: {reason}", pair[0], pair[1]),
            }
        };
        self.and.as_chunks::<2>().0.iter().map(|pair| of(pair)).collect()
    }
}

/// `--connectivity`.
fn connectivity(text: &str) -> Result<Connectivity, String> {
    match text {
        "4" => Ok(Connectivity::Four),
        "8" => Ok(Connectivity::Eight),
        _ => Err("4 or 8".to_owned()),
    }
}

/// Returns the cells of a raster that a rectangle overlaps, along each axis. Leaves out cells of which the rectangle
/// covers less than a thousandth, by rounding, unless there are no others.
fn cells_of_bounds(bounds: &Bounds, place: &Place) -> Option<Window> {
    const LITTLE: f64 = 1e-3;
    let ends = |[from, to]: [f64; 2], (origin, step): (f64, f64), length: u32| {
        let inside = |at: f64| at.clamp(0.0, f64::from(length)) as u32;
        let [one, other] = [from, to].map(|at| (at - origin) / step);
        let (from, to) = (one.min(other), one.max(other));
        let (first, end) = ((from + LITTLE).floor(), (to - LITTLE).ceil());
        if first < end {
            return (inside(first), inside(end));
        }
        (inside(from.floor()), inside(f64::max(to.ceil(), from.floor() + 1.0)))
    };
    let [left, across, _, top, _, down] = place.geotransform();
    let GridSpec { width, height, .. } = place.grid;
    let (column0, column1) = ends([bounds.min_x, bounds.max_x], (left, across), width);
    let (row0, row1) = ends([bounds.min_y, bounds.max_y], (top, down), height);
    Window { row0, column0, row1, column1 }.and(Window::of(&place.grid))
}

/// The format that an output's name means.
pub fn kind(path: &Path) -> Result<Kind> {
    Ok(match ending(path).as_str() {
        "geojson" => Kind::GeoJson,
        "parquet" => Kind::GeoParquet,
        "csv" => Kind::Csv,
        "npy" => Kind::Npy,
        "png" => Kind::Png,
        _ => {
            bail!(
                "--output {}: the name must end in .geojson, .parquet, .csv, .npy or .png",
                path.display()
            )
        }
    })
}

/// Values from the first on, below the second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range(pub Number, pub Number);

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (low, high) = text.split_once(',').ok_or("expected two numbers, such as 10,20")?;
        let number = |word: &str| word.parse::<Number>().map_err(|error| error.to_string());
        let (low, high) = (number(low)?, number(high)?);
        if low.is_nan() || high.is_nan() {
            return Err(format!("\"{text}\": one of the two is not a number"));
        }
        if low <= high {
            Ok(Self(low, high))
        } else {
            Err(format!("the lower end {low} is above the upper end {high}"))
        }
    }
}

/// A window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rectangle(pub Window);

impl FromStr for Rectangle {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split(',').map(whole(0..=u32::MAX)).collect::<Result<Vec<u32>, _>>()?;
        let [row0, column0, row1, column1] = numbers[..] else {
            return Err(format!("expected 4 numbers, found {}", numbers.len()));
        };
        Ok(Self(Window { row0, column0, row1, column1 }))
    }
}

/// Returns the rasters that paths name. A path may be a catalogue's.
pub fn rasters_of(paths: &[PathBuf], args: &CatalogueArgs) -> Result<Files> {
    Files::find(paths, Content::Rasters, args, None, &|_| Ok(None))
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
    fn bounds_have_the_cells_that_they_cut() {
        let grid = GridSpec::new(10.0, 60.0, 0.01, 300, 200).unwrap();
        let place = Place::new(grid, None, None);
        let of = |min_x, min_y, max_x, max_y| {
            let window = cells_of_bounds(&Bounds { min_x, min_y, max_x, max_y }, &place);
            window.map(|Window { row0, column0, row1, column1 }| [row0, column0, row1, column1])
        };
        assert_eq!(of(10.07, 59.9, 10.14, 59.95), Some([5, 7, 10, 14]));
        assert_eq!(of(10.075, 59.905, 10.145, 59.945), Some([5, 7, 10, 15]));
        assert_eq!(of(10.071, 59.991, 10.072, 59.992), Some([0, 7, 1, 8]));
        assert_eq!(of(-180.0, -90.0, 180.0, 90.0), Some([0, 0, 200, 300]));
        assert_eq!(of(0.0, 0.0, 10.0, 90.0), None);
        assert_eq!(of(13.0, 58.0, 14.0, 59.0), None);
        assert_eq!(of(12.99, 58.0, 14.0, 58.01), Some([199, 299, 200, 300]));
        // Rows from the south on, of cells of 10 x 20.
        let transform = Some([100.0, 10.0, 0.0, 0.0, 0.0, 20.0]);
        let place = Place::new(GridSpec::of_pixels(4, 3), transform, None);
        let bounds = Bounds { min_x: 110.0, min_y: 30.0, max_x: 125.0, max_y: 40.0 };
        let window = Window { row0: 1, column0: 1, row1: 2, column1: 3 };
        assert_eq!(cells_of_bounds(&bounds, &place), Some(window));
    }

    #[test]
    fn ranges_and_windows_are_parsed_and_refused() {
        assert_eq!("-1.5, inf".parse(), Ok(Range((-1.5).into(), f64::INFINITY.into())));
        for bad in ["", "1", "2,1", "a,b", "nan,1", "1,2,3"] {
            assert!(bad.parse::<Range>().is_err(), "{bad:?} was taken");
        }
        let window = Window { row0: 1, column0: 2, row1: 3, column1: 4 };
        assert_eq!("1,2, 3,4".parse(), Ok(Rectangle(window)));
        for bad in ["", "1,2,3", "1,2,3,-4", "1,2,3,4,5", "1,2,3,4.5"] {
            assert!(bad.parse::<Rectangle>().is_err(), "{bad:?} was taken");
        }
    }
}
