//! Options of the commands that plan and make tiles.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use gpu_core::host_memory;

use super::{PointRecipe, bin, run};
use crate::args::{RasterArgs, RunArgs, bytes, whole};

/// The commands of a program that makes its result of points in tiles. What its own `plan` and `merge` take are `P` and
/// `M`.
#[derive(Subcommand, Debug)]
pub enum PointCommand<P: Args, M: Args> {
    // The help is that of `P`.
    #[allow(missing_docs)]
    Plan(Box<P>),
    /// Read the points of a plan once and put them on disk in bins, so that no tile unpacks the inputs again
    Bin(BinArgs),
    /// Make one tile of a plan, or all tiles that are still missing
    Run(RunTileArgs),
    /// Merge the tiles of a plan
    Merge(M),
}

impl<P: Args, M: Args> PointCommand<P, M> {
    /// Runs the command on tiles that are made by the recipe `R`.
    ///
    /// # Errors
    /// The errors of the command.
    pub fn run<R: PointRecipe>(
        &self,
        plan: impl FnOnce(&P) -> Result<()>,
        merge: impl FnOnce(&M) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Plan(args) => plan(args),
            Self::Bin(args) => bin::<R>(args),
            Self::Run(args) => run::<R>(args),
            Self::Merge(args) => merge(args),
        }
    }
}

/// What a tile may take.
#[derive(Args, Debug)]
#[command(next_help_heading = "Tiles")]
pub struct BudgetArgs {
    /// The most memory that the tiles in work take, such as 8GiB [default: what is free here]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub memory: Option<u64>,
    /// The most memory of a card that a tile takes, such as 4GiB [default: no limit]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub device_memory: Option<u64>,
    /// The cards that will make tiles at the same time, in one `run --all`: they share the memory
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1..=u32::MAX))]
    pub cards: u32,
    /// The most cells on a side of a tile [default: no limit but the memory]
    #[arg(long, value_name = "CELLS", value_parser = whole(0..=u32::MAX))]
    pub tile_size: Option<u32>,
}

impl BudgetArgs {
    /// The memory of a tile, and of those that are in work beside it.
    ///
    /// # Errors
    /// None is given, and the system does not say what is free.
    pub fn share(&self) -> Result<u64> {
        let memory = self.memory.or_else(host_memory::available);
        let memory =
            memory.context("the system does not say how much memory is free: give --memory")?;
        Ok(memory / u64::from(self.cards))
    }

    /// What a plan may not have, under the option that mends it.
    pub fn explain(&self, error: tile_plan::Error) -> anyhow::Error {
        use tile_plan::{Error, Memory};
        match error {
            Error::Side { .. } => anyhow::anyhow!("--tile-size: {error}"),
            Error::Budget { memory: Memory::Host, .. } if self.cards > 1 => {
                anyhow::anyhow!("--memory, which {} cards share: {error}", self.cards)
            }
            Error::Budget { memory: Memory::Host, .. } => anyhow::anyhow!("--memory: {error}"),
            Error::Budget { memory: Memory::Device, .. } => {
                anyhow::anyhow!("--device-memory: {error}")
            }
            Error::TooMany { .. } => anyhow::anyhow!("{error}, by --memory or --tile-size"),
            _ => error.into(),
        }
    }
}

/// Which tiles to make, and how.
#[derive(Args, Debug)]
#[group(id = "which", required = true, multiple = false, args = ["tile", "all"])]
pub struct RunTileArgs {
    /// The plan
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
    /// The tile, counted from 0; nothing is done where it is there and whole
    #[arg(long, value_name = "N", value_parser = whole(0..=usize::MAX))]
    pub tile: Option<usize>,
    /// All tiles that are not there yet, on every card with --device cuda:all; one that fails is named, and the
    /// others are made
    #[arg(long)]
    pub all: bool,
    /// What every program has.
    #[command(flatten)]
    pub run: RunArgs,
}

/// The plan whose points go into bins.
#[derive(Args, Debug)]
pub struct BinArgs {
    /// The plan
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
    /// Remove the plan's bins, which nothing else does
    #[arg(long)]
    pub remove: bool,
    /// What every program has.
    #[command(flatten)]
    pub run: RunArgs,
}

/// The outputs of merging a surface in tiles.
#[derive(Args, Debug)]
pub struct MergeArgs {
    /// The plan
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
    /// The surface: a GeoTIFF (.tif, .tiff) or Zarr (.zarr)
    #[arg(short, long, value_name = "PATH", default_value = "surface.tif")]
    pub output: PathBuf,
    /// How it is written.
    #[command(flatten)]
    pub raster: RasterArgs,
    /// What every program has.
    #[command(flatten)]
    pub run: RunArgs,
}
