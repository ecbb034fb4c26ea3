//! docs/internals/cost.md: the model of [`cost`](crate::cost) beside what it was fitted to, and what it says of a large
//! survey.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use minijinja::{Environment, UndefinedBehavior, Value, context};

use crate::cost::{Measured, Model, Survey};

const TEMPLATE: &str = include_str!("../cost.md.jinja");

/// 2 TB of LAZ at 5.5 bytes a point, 4 points a cell, files of 1 km, tiles of 4096 cells with the halo of radii of 10
/// and 4.
const LARGE: Survey = Survey {
    bytes: 2e12,
    points: 2e12 / 5.5,
    cells: 2e12 / 5.5 / 4.0,
    side: 4096.0,
    halo: 22.0,
    files: 1000.0,
};

/// The text of the page, of the files in a folder of results.
pub fn render(folder: &Path) -> Result<String> {
    let [one, two] =
        ["scale_one.jsonl", "scale_two.jsonl"].map(|name| Measured::read(&folder.join(name)));
    let (one, two) = (one?, two?);
    let model = Model::fit(&one)?;
    let values = context! {
        one => machine(&one, &model)?,
        two => machine(&two, &model)?,
        start => format!("{:.2}", model.start()),
        table => model.table(),
        unpacked => format!("{:.1}", model.unpacked() * 1e-6),
        unpacked_ns => format!("{:.0}", 1e9 / model.unpacked()),
        forecast => model.forecast(&LARGE),
    };
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.render_str(TEMPLATE, values).map_err(|error| anyhow!("cost.md.jinja: {error:#}"))
}

/// What was measured on a machine, beside the model.
fn machine(measured: &Measured, model: &Model) -> Result<Value> {
    let head = |word| measured.head(word).with_context(|| format!("no line \"# {word}:\""));
    let [mean, worst] = model.errors(measured);
    Ok(context! {
        device => head("device")?,
        date => head("date")?,
        command => head("command")?,
        millions => format!("{:.1}", measured.points() * 1e-6),
        beside => model.beside(measured),
        errors => format!("{mean:.0}% in the mean and {worst:.0}% at most"),
    })
}
