//! Makes docs/guide/performance.md, docs/internals/papers.md, docs/internals/cost.md and the plots in docs/plots from
//! what the benches printed.
//!
//! `report` writes the pages; `report --check` fails if they differ from what it would write. benches/results has what
//! the benches printed, one file a bench ([`results`]). The text around the figures is performance.md.jinja and
//! papers.md.jinja beside this package's manifest ([`page`]). The plots show each algorithm's times over sizes, and the
//! least time that the card needs ([`plots`]).

mod cost;
mod cost_page;
mod cub;
mod page;
mod plots;
mod results;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use results::Results;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("no workspace")?;
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => made(root)?.iter().try_for_each(|(path, text)| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
            std::fs::write(&path, text).with_context(|| path.display().to_string())
        }),
        ["--check"] => check(root),
        _ => bail!("usage: report [--check]"),
    }
}

/// The files that are made, by their paths in the workspace.
fn made(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let results = Results::read(&root.join("benches/results"))?;
    let mut files = plots::all(&results)?;
    files.extend(page::render(results)?);
    files
        .push(("docs/internals/cost.md".into(), cost_page::render(&root.join("benches/results"))?));
    Ok(files)
}

fn check(root: &Path) -> Result<()> {
    for (path, wanted) in made(root)? {
        let there = std::fs::read_to_string(root.join(&path)).unwrap_or_default();
        ensure!(
            there == wanted,
            "{} is not what benches/results give: `cargo run -p report` makes it anew",
            path.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_and_its_plots_are_what_the_results_give() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        super::check(root).unwrap();
    }
}
