//! Options of the programs on points.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use geo_io::{Crs, Filter, Returns};
use gpu_core::Bounds;

use crate::args::{Classes, Columns, Extent, ending};
use crate::catalogues::{CatalogueArgs, Content, Reach};
use crate::inputs::Files;

/// Options of the programs on points.
#[derive(Args, Debug)]
#[command(next_help_heading = "Points")]
pub struct PointArgs {
    /// Point files (.las, .laz, .csv, .txt, .xyz, .parquet, .fgb, .gpkg, .shp), folders of them, patterns such as
    /// "tiles/*.laz", catalogues of them (STAC .json, .vpc, tile indexes), or - for standard input. If the program was
    /// built with the feature http, also the addresses of COPC, LAZ and LAS files (https://..). The program joins all
    /// inputs; their coordinate systems must agree
    #[arg(value_name = "INPUT", help_heading = None)]
    pub inputs: Vec<PathBuf>,
    /// A table's columns by name, or by number if no column has that number as its name. If rows have geometries, these
    /// give x and y, and z too if no column is called z
    #[arg(long, value_name = "X,Y,Z", default_value = "x,y,z")]
    pub columns: Columns,
    /// Keep only these classes, such as 2,9 (2 ground, 5 high vegetation, 6 building, 9 water) [default: all
    /// but 7 and 18, noise]
    #[arg(long, value_name = "LIST")]
    pub classes: Option<Classes>,
    /// Keep all, the first or the last returns of a pulse
    #[arg(long, value_name = "all|first|last", default_value = "all")]
    pub returns: Returns,
    /// The result's extent, snapped outward to the resolution [default: the extent of the points]; points outside also
    /// count where they are near enough
    #[arg(long, value_name = "XMIN,YMIN,XMAX,YMAX")]
    pub bounds: Option<Extent>,
    /// Coordinate system, such as EPSG:26910 or EPSG:26910+5703, in place of the one in the files
    #[arg(long)]
    pub crs: Option<String>,
    /// Which files the program takes from catalogues.
    #[command(flatten)]
    pub catalogues: CatalogueArgs,
}

impl PointArgs {
    /// The files that the inputs name; from catalogues, only those that overlap the ground that counts.
    ///
    /// # Errors
    /// The errors of [`Files::find`].
    pub fn files(&self, reach: Reach<'_>) -> Result<Files> {
        let given = self.crs()?;
        let files =
            Files::find(&self.inputs, Content::Points, &self.catalogues, given.as_ref(), reach)?;
        self.require_columns(&files.paths)?;
        Ok(files)
    }

    /// Refuses other columns than x, y and z if all files are LAS or LAZ, which have no columns.
    fn require_columns(&self, paths: &[PathBuf]) -> Result<()> {
        let is_las = |path: &PathBuf| ["las", "laz"].contains(&&ending(path)[..]);
        let names = &self.columns.0;
        // Of a pair, the second stands for the third.
        let given = if names[1] == names[2] { &names[..2] } else { &names[..] }.join(",");
        let are_usual = ["x,y,z", "x,y"].contains(&&given.to_lowercase()[..]);
        ensure!(
            are_usual || paths.is_empty() || !paths.iter().all(is_las),
            "--columns {given}: LAS and LAZ have no columns, and their x, y and z count: leave out --columns, or give a table of \
             the points (.csv, .parquet)"
        );
        Ok(())
    }

    /// The coordinate system given by `--crs`.
    pub fn crs(&self) -> Result<Option<Crs>> {
        self.crs.as_deref().map(Crs::parse).transpose().context("--crs")
    }

    /// Which points to keep, of those within `bounds`.
    pub fn filter(&self, bounds: Option<Bounds>) -> Filter {
        let classes = self.classes.as_ref().map(|c| c.0.clone());
        Filter { classes, returns: self.returns, bounds, numbered: false }
    }
}
