//! Putting tiles together.

use anyhow::{Result, ensure};
use geo_io::Output;
use programs::args::ending;
use programs::report::Report;
use programs::scale::require_all;
use programs::stages::Stages;

use super::{MergeArgs, Planned, side_of, tile};
use crate::info::describe;
use crate::trees::{Index, map, write_merged};

/// Writes the index of all tiles, which lie in mapped files.
pub fn merge(args: &MergeArgs) -> Result<()> {
    let planned = Planned::read(&args.plan)?;
    let path = &args.output;
    ensure!(ending(path) == "ccq", "--output {}: the name must end in .ccq", path.display());
    let output = Output { path, existing: args.run.existing() };
    planned.check_distinct(&args.plan, &[path])?;
    geo_io::check_output(output)?;
    let mut stages = Stages::new(args.run.quiet);
    let tiles = planned.plan.tiles().len();
    stages.run("look", |_| require_all(&planned))?;
    let files: Vec<_> = (0..tiles).map(|number| planned.path_of(number, ".ccq")).collect();
    let (place, mut notes) = (planned.recipe.place(*planned.plan.grid())?, Vec::new());
    stages.run("merge", |_| {
        let system = place.kept(&mut notes);
        let (grid, how) = (*planned.plan.grid(), planned.recipe.how()?);
        let check = |number: usize, tree: &dyn Index| tile::check(&planned, number, tree);
        // SAFETY: only `run` writes a tile's file, under another name, then renames it, and never writes to it again.
        // docs/guide/scale.md asks users not to change it.
        unsafe {
            write_merged((grid, side_of(&planned.plan)), &how, &files, &check, system, output)
        }
    })?;
    let mut report = Report::default();
    report.line("tiles", tiles);
    report.field("tiles", tiles);
    // SAFETY: the file has just been renamed to its name, and no program writes to such a file again.
    // docs/guide/scale.md asks users not to change it.
    describe(&mut report, &*unsafe { map(path) }?, place.crs.as_ref());
    notes.iter().for_each(|note| report.note(note));
    report.stages(&stages);
    report.written([path]);
    report.print(&args.run);
    Ok(())
}
