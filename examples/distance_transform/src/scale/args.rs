//! The command line of the commands on tiles.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use programs::args::{RasterArgs, RunArgs, fraction};
use programs::catalogues::CatalogueArgs;
use programs::scale::{BudgetArgs, RunTileArgs, StoreArgs};

use crate::args::{AFTER_HELP, Args, SiteArgs};
use crate::globe::GlobeArgs;
use crate::ground::GroundArgs;

/// Compute the distance from every pixel of a raster to the nearest site.
#[derive(Parser, Debug)]
#[command(
    name = "distance_transform",
    version,
    after_help = AFTER_HELP,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub transform: Option<Args>,
}

/// The steps that make distances in tiles.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Divide distances into tiles that fit the memory, each a job of its own
    Plan(PlanArgs),
    /// Read the mask once and write, for each row, the nearest sites beyond each tile: the tiles need these if the plan
    /// has no --max-distance, or has --geodesic
    Scan(ScanArgs),
    /// Make one tile of a plan, or all tiles that are still missing
    Run(RunTileArgs),
    /// Merge the tiles of a plan
    Merge(MergeArgs),
}

#[derive(clap::Args, Debug)]
pub struct PlanArgs {
    /// The raster (.npy, .tif, .vrt, .asc, .zarr): a site is a pixel that is not zero and has a value. Or a catalogue
    /// that lists this raster alone (STAC .json, tile index)
    #[arg(value_name = "MASK")]
    pub mask: PathBuf,
    #[command(flatten)]
    pub catalogues: CatalogueArgs,
    /// The plan; its tiles go into a folder beside it
    #[arg(short, long, value_name = "PATH", default_value = "plan.json")]
    pub output: PathBuf,
    /// Also find the linear index (row * width + column) of each pixel's nearest site, which `merge` needs for
    /// directions and coordinates too
    #[arg(long)]
    pub nearest: bool,
    #[command(flatten)]
    pub sites: SiteArgs,
    #[command(flatten)]
    pub globe: GlobeArgs,
    /// Leave pixels without a site if every site is farther than this; metres with --geodesic. Without a limit, and
    /// with --geodesic, tiles are strips of columns, and `scan` comes before `run`
    #[arg(long, value_name = "D", value_parser = fraction)]
    pub max_distance: Option<f64>,
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub budget: BudgetArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(clap::Args, Debug)]
pub struct ScanArgs {
    /// The plan
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
    /// Remove the files of the scan, which the program otherwise keeps
    #[arg(long)]
    pub remove: bool,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(clap::Args, Debug)]
pub struct MergeArgs {
    /// The plan
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
    /// The distances: a GeoTIFF (.tif), Zarr (.zarr) or an array (.npy); may be given several times
    #[arg(short, long, value_name = "PATH", default_value = "distance.tif")]
    pub output: Vec<PathBuf>,
    /// Also write the nearest site of each pixel, if the plan has --nearest: the site's linear index (.npy), or the
    /// coordinates of its centre as two bands of float64 (.tif)
    #[arg(long, value_name = "PATH")]
    pub nearest: Option<PathBuf>,
    // For a plan with --nearest.
    #[command(flatten)]
    pub ground: GroundArgs,
    #[command(flatten)]
    pub raster: RasterArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        CommandLine::command().debug_assert();
    }
}
