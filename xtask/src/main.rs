//! Chores of the workspace.
//!
//! - `cargo xtask ptx [MODULE..]` builds all kernels, or those of some modules, and writes
//!   `kernels-rs/ptx/`.
//! - `cargo xtask check-ptx` fails where the committed PTX is not what the sources give, or not
//!   fit for every GPU it is meant for.
//! - `cargo xtask gpu-bundle [PACKAGE..]` collects tests and benches for a GPU machine without Rust, in the
//!   folder `gpu-bundle`.
//! - `cargo xtask guide` runs the commands of docs/guide with the programs in `target/debug`.
//! - `cargo xtask algorithms` lists the crates that have a feature `cuda`, a line each; `cargo xtask published`
//!   those that go into the registry.

mod bundle;
mod check;
mod compiler;
mod guide;
mod miscompiled;
mod modules;
mod packages;
mod ptx;
mod sources;

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

const USAGE: &str = "usage: cargo xtask ptx [MODULE..] | check-ptx | gpu-bundle [PACKAGE..] | guide | algorithms | published";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["ptx", modules @ ..] => ptx::write(modules),
        ["check-ptx"] => check::check(),
        ["gpu-bundle", packages @ ..] => bundle::collect(&root().join("gpu-bundle"), packages),
        ["guide"] => guide::run(),
        ["published"] => packages::published().map(|names| println!("{}", names.join("\n"))),
        ["algorithms"] => packages::algorithms().map(|names| println!("{}", names.join("\n"))),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace's folder.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// Runs a command and gives what it printed; fails with its standard error.
fn output_of(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}
