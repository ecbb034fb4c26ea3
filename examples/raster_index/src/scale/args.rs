//! The command line of the commands on tiles.

use std::path::PathBuf;

use geo_io::Number;
use programs::args::RunArgs;
use programs::catalogues::CatalogueArgs;
use programs::scale::BudgetArgs;

#[derive(clap::Args, Debug)]
pub struct PlanArgs {
    /// The raster (.tif, .vrt, .asc, .zarr, .npy), or several adjacent rasters of one type, or catalogues of them (STAC
    /// .json, tile indexes)
    #[arg(value_name = "RASTER", required = true)]
    pub rasters: Vec<PathBuf>,
    #[command(flatten)]
    pub catalogues: CatalogueArgs,
    /// Boundaries of bins, rising, separated by commas [default: the values themselves]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub bins: Vec<Number>,
    /// The value that stands for NODATA [default: what the file says, or GDAL's .aux.xml beside it; NaN always does]
    #[arg(long, value_name = "VALUE")]
    pub nodata: Option<Number>,
    /// The plan; its tiles go into a folder beside it
    #[arg(short, long, value_name = "PATH", default_value = "plan.json")]
    pub output: PathBuf,
    #[command(flatten)]
    pub budget: BudgetArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(clap::Args, Debug)]
pub struct MergeArgs {
    /// The plan
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
    /// The index
    #[arg(short, long, value_name = "PATH", default_value = "index.ccq")]
    pub output: PathBuf,
    #[command(flatten)]
    pub run: RunArgs,
}
