//! Which packages of the workspace run on a GPU, those with a feature `cuda`, and which are published.
//!
//! It is read from their manifests, so that a new crate is in every check without a list to add it to.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{output_of, root};

/// Packages whose tests run on a GPU: those, and the kernels'.
pub fn tested_on_gpu() -> Result<Vec<String>> {
    let mut names = algorithms()?;
    names.push("kernels-rs".to_owned());
    Ok(names)
}

/// Packages in `crates/` that may be built with the feature `cuda` or without it.
pub fn algorithms() -> Result<Vec<String>> {
    named(|package, folder| {
        package["features"].get("cuda").is_some() && folder.starts_with("crates")
    })
}

/// Packages that go into the registry.
pub fn published() -> Result<Vec<String>> {
    named(|package, _| package["publish"].is_null())
}

/// The names of the workspace's packages that are as wanted, by their metadata and their folder, in order.
fn named(is: impl Fn(&Value, &Path) -> bool) -> Result<Vec<String>> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.current_dir(root()).args(["metadata", "--no-deps", "--format-version=1"]);
    let metadata: Value = serde_json::from_str(&output_of(&mut cargo)?)?;
    let mut names = Vec::new();
    for package in metadata["packages"].as_array().context("metadata without packages")? {
        let manifest = package["manifest_path"].as_str().context("a package without a manifest")?;
        let folder = Path::new(manifest).parent().context("a manifest in no folder")?;
        if is(package, folder.strip_prefix(root()).unwrap_or(folder)) {
            names.push(package["name"].as_str().context("a package without a name")?.to_owned());
        }
    }
    names.sort();
    Ok(names)
}
