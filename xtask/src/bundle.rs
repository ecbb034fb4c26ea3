//! `cargo xtask gpu-bundle`: everything that a GPU machine without Rust needs to run the tests
//! and benches, in one folder with one script.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{output_of, packages, root};

const SCRIPT: &str = include_str!("bundle_run.sh");

/// Builds for this machine's processor and copies into `folder`: the tests of `packages`, or of all
/// that run on a GPU where none is named.
pub fn collect(folder: &Path, packages: &[&str]) -> Result<()> {
    let all = packages::tested_on_gpu()?;
    if let Some(other) = packages.iter().find(|name| !all.iter().any(|known| known == **name)) {
        bail!("{other} has no tests for a GPU; these have: {}", all.join(", "));
    }
    let tested: Vec<&str> = if packages.is_empty() {
        all.iter().map(String::as_str).collect()
    } else {
        packages.to_vec()
    };
    let tests = folder.join("tests");
    let programs = folder.join("bin");
    for part in [&tests, &programs] {
        let _ = fs::remove_dir_all(part);
        fs::create_dir_all(part)?;
    }
    let mut of_packages = cargo();
    of_packages.args(["test", "--no-run"]);
    of_packages.args(tested.iter().map(|name| format!("--package={name}")));
    let mut of_all_together = cargo();
    of_all_together.args(["test", "--no-run", "--package=library", "--test=on_device"]);
    for build in [&mut of_packages, &mut of_all_together] {
        // Cargo builds the packages' examples along with their tests.
        for Executable { name, path, .. } in executables(build)?.iter().filter(|e| e.is_test) {
            fs::copy(path, tests.join(name))?;
        }
    }
    let mut build = cargo();
    build.args(["build", "--bins", "--workspace", "--exclude=xtask"]);
    for Executable { name, path, .. } in executables(&mut build)? {
        fs::copy(&path, programs.join(name))?;
    }
    let peers = folder.join("peers");
    fs::create_dir_all(&peers)?;
    for entry in fs::read_dir(root().join("benches/peers"))? {
        let path = entry?.path();
        if let (Some("cu"), Some(name)) =
            (path.extension().and_then(|e| e.to_str()), path.file_name())
        {
            fs::copy(&path, peers.join(name))?;
        }
    }
    let script = folder.join("run.sh");
    fs::write(&script, SCRIPT)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    println!("collected in {}: run ./run.sh there", folder.display());
    Ok(())
}

fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.current_dir(root());
    cargo
}

/// What a cargo command makes.
struct Executable {
    /// Tells the target, and of a test the package.
    name: String,
    path: PathBuf,
    is_test: bool,
}

fn executables(command: &mut Command) -> Result<Vec<Executable>> {
    command.args(["--profile=bundle", "--message-format=json-render-diagnostics"]);
    let messages = output_of(command)?;
    let mut found = Vec::new();
    for line in messages.lines() {
        let message: serde_json::Value = serde_json::from_str(line)?;
        if let Some(path) = message["executable"].as_str() {
            let target = message["target"]["name"].as_str().context("a target has a name")?;
            let manifest = Path::new(message["manifest_path"].as_str().context("no manifest")?);
            let package = manifest.parent().and_then(Path::file_name).context("no package")?;
            let is_test = message["profile"]["test"].as_bool().unwrap_or(false);
            let name = match is_test {
                true => format!("{}-{target}", package.to_string_lossy()),
                false => target.to_owned(),
            };
            found.push(Executable { name, path: PathBuf::from(path), is_test });
        }
    }
    Ok(found)
}
