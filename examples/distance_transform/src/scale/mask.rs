//! The mask that a plan was made for.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use geo_io::MaskFile;
use programs::scale::require_unchanged;

use crate::scale::Planned;

/// Opens the mask of a plan.
pub fn open_mask(planned: &Planned) -> Result<(&tile_plan::Input, MaskFile)> {
    let input = planned.plan.inputs().first().context("this plan is damaged: no mask")?;
    require_unchanged(input)?;
    let file = MaskFile::open(Path::new(&input.path))?;
    let (grid, path) = (planned.plan.grid(), &input.path);
    let is_its = file.size() == (grid.width as usize, grid.height as usize);
    ensure!(is_its, "{path} has another size than in the plan: make the plan again");
    Ok((input, file))
}
