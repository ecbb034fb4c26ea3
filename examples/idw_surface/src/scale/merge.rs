//! Putting tiles together.

use anyhow::Result;
use geo_io::{Georeference, Output, RasterFile};
use programs::args::Format;
use programs::report::Report;
use programs::scale::{Mosaic, require_all};
use programs::stages::Stages;
use serde_json::json;

use crate::scale::args::MergeArgs;
use crate::scale::{Planned, open};

/// Writes the surface of all tiles, some rows at a time.
pub fn merge(args: &MergeArgs) -> Result<()> {
    Format::of("--output", &args.output, &[Format::GeoTiff])?;
    let planned = Planned::read(&args.plan)?;
    let output = Output { path: &args.output, existing: args.run.existing() };
    geo_io::check_distinct(std::slice::from_ref(&args.plan), &[&args.output])?;
    geo_io::check_output(output)?;
    let mut stages = Stages::new(args.run.quiet);
    let tiles = planned.plan.tiles().len();
    stages.run("look", |_| -> Result<()> {
        require_all(&planned)?;
        (0..tiles).try_for_each(|number| open(&planned, number).map(drop))
    })?;
    let grid = *planned.plan.grid();
    let crs = planned.recipe.crs()?;
    let place = Georeference::of_grid(&grid, crs.as_ref());
    let size = (grid.width, grid.height);
    let open = |number| RasterFile::open(&planned.path_of(number, ".tif"));
    let mut mosaic = Mosaic::new(&planned.plan, &open);
    stages.run("merge", |_| {
        let options = args.raster.options();
        let mut fill = |first: usize, rows: &mut [f32]| mosaic.fill(first, rows);
        geo_io::write_tiff_rows(output, &place, size, args.raster.nodata, &options, &mut fill)
    })?;
    let mut report = Report::default();
    let (width, height, cell) = (grid.width, grid.height, grid.cell_size);
    report.line("surface", format_args!("{width} x {height} cells of {cell}, of {tiles} tiles"));
    report.field("surface", json!({"width": width, "height": height, "cell_size": cell}));
    report.field("tiles", tiles);
    report.crs(crs.as_ref());
    report.stages(stages.done());
    report.written([&args.output]);
    report.print(&args.run, false);
    Ok(())
}
