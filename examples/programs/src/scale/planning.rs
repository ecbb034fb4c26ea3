//! Makes a plan: the part that all programs share.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use geo_io::Output;
use gpu_core::GridSpec;
use serde_json::json;
use tile_plan::{Model, Params, Plan};

use super::{BudgetArgs, Planned, Recipe, joined};
use crate::args::RunArgs;
use crate::report::Report;
use crate::stages::Stages;

/// A plan that is being made.
pub struct Planning<'a> {
    output: &'a PathBuf,
    run: &'a RunArgs,
    /// The times of its stages.
    pub stages: Stages,
}

impl<'a> Planning<'a> {
    /// Checks that the plan can be written, and does not replace a file that the program reads.
    ///
    /// # Errors
    /// In the case that the summary names.
    pub fn begin(read: &[PathBuf], output: &'a PathBuf, run: &'a RunArgs) -> Result<Self> {
        geo_io::check_distinct(read, &[output.as_path()])?;
        geo_io::check_output(Output { path: output, existing: run.existing() })?;
        Ok(Self { output, run, stages: Stages::new(run.quiet) })
    }

    /// Writes the plan, and prints a report on it.
    ///
    /// # Errors
    /// The errors of writing, and a ground that no input reaches.
    pub fn end(mut self, plan: &Plan, mut report: Report) -> Result<()> {
        require_inputs(plan)?;
        let output = Output { path: self.output, existing: self.run.existing() };
        self.stages.run("write", |_| {
            geo_io::write_file(output, |file| file.write_all(plan.to_json().as_bytes()))
        })?;
        report.stages(&self.stages);
        report.written([self.output]);
        report.print(self.run);
        Ok(())
    }
}

/// Refuses a plan of which no tile has an input.
fn require_inputs(plan: &Plan) -> Result<()> {
    let is_bare = plan.tiles().iter().all(|tile| tile.inputs.is_empty());
    let inputs = plan.inputs().iter().filter_map(|input| input.bounds).reduce(joined);
    match inputs.filter(|_| is_bare) {
        Some(inputs) => bail!(
            "no input reaches the ground of the plan, {}: the inputs lie in {inputs}",
            plan.grid().bounds()
        ),
        None => Ok(()),
    }
}

impl BudgetArgs {
    /// Returns the parameters of a plan of a grid. A recipe makes its tiles. The models say how much memory of the
    /// host and of a card a tile takes.
    ///
    /// # Errors
    /// The errors of [`share`](Self::share).
    pub fn params<R: Recipe>(
        &self,
        grid: GridSpec,
        (host, card): (Model, Model),
        recipe: R,
    ) -> Result<Params> {
        let params = Params::new(grid, self.share()?, host)
            .device_model(card)
            .device_budget(self.device_memory)
            .most_side(self.tile_size);
        Ok(params.program(Planned::held(recipe, self.memory)?))
    }
}

/// Says where the whole of a surface lies.
pub fn report_surface(name: &'static str, grid: &GridSpec, report: &mut Report) {
    let (width, height, cell, b) = (grid.width, grid.height, grid.cell_size, grid.bounds());
    report.line(name, format_args!("{width} x {height} cells of {cell}"));
    report.line("extent", b);
    let bounds = [b.min_x, b.min_y, b.max_x, b.max_y];
    let surface = json!({"width": width, "height": height, "cell_size": cell, "bounds": bounds});
    report.field(name, surface);
}
