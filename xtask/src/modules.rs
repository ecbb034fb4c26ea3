//! The kernel modules, as the manifest of kernels-rs has them.
//!
//! Each feature of kernels-rs is a module, but those that `package.metadata.ptx.switches` names.
//! All have PTX for the lowest level; `package.metadata.ptx.sm_80` names those with more.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{output_of, root};

/// The level that every module has PTX for.
const LOWEST: u32 = 75;

/// One file of PTX: a module, and the compute capability from which GPUs run it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Image {
    /// The feature of kernels-rs.
    pub module: String,
    /// As `10 * major + minor`.
    pub level: u32,
    /// Whether the module has no PTX for a higher level.
    pub is_highest: bool,
}

impl Image {
    /// Where its PTX is committed.
    pub fn file(&self) -> PathBuf {
        folder().join(self.file_name())
    }

    /// The file's name, which tells module and level.
    pub fn file_name(&self) -> String {
        format!("{}.sm_{}.ptx", self.module, self.level)
    }
}

/// Where PTX is committed.
pub fn folder() -> PathBuf {
    root().join("kernels-rs/ptx")
}

/// Every image, by module and level.
pub fn images() -> Result<Vec<Image>> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.current_dir(root()).args(["metadata", "--no-deps", "--format-version=1"]);
    let workspace: Value = serde_json::from_str(&output_of(&mut cargo)?)?;
    let packages = workspace["packages"].as_array().context("cargo names no packages")?;
    let package = packages.iter().find(|package| package["name"] == "kernels-rs");
    images_of(package.context("no package kernels-rs")?)
}

fn images_of(package: &Value) -> Result<Vec<Image>> {
    let declared = &package["metadata"]["ptx"];
    let named = |list: &str| -> Result<BTreeSet<&str>> {
        let names = declared[list].as_array().with_context(|| format!("no list ptx.{list}"))?;
        Ok(names.iter().filter_map(Value::as_str).collect())
    };
    let (switches, sm_80) = (named("switches")?, named("sm_80")?);
    let features = package["features"].as_object().context("kernels-rs has no features")?;
    let modules = features.keys().filter(|name| !switches.contains(name.as_str()));
    Ok(modules
        .flat_map(|name| {
            let highest = if sm_80.contains(name.as_str()) { 80 } else { LOWEST };
            let levels = if highest > LOWEST { vec![LOWEST, highest] } else { vec![LOWEST] };
            levels.into_iter().map(move |level| Image {
                module: name.clone(),
                level,
                is_highest: level == highest,
            })
        })
        .collect())
}

/// Files among the committed PTX that belong to no image.
pub fn strays(images: &[Image]) -> Result<Vec<String>> {
    let known: BTreeSet<String> = images.iter().map(Image::file_name).collect();
    let name = |entry: std::io::Result<std::fs::DirEntry>| -> Result<String> {
        Ok(Path::new(&entry?.file_name()).to_string_lossy().into_owned())
    };
    let found = std::fs::read_dir(folder())?.map(name).collect::<Result<Vec<_>>>()?;
    Ok(found.into_iter().filter(|name| !known.contains(name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_that_is_no_switch_is_a_module() {
        let package = serde_json::json!({
            "features": { "default": [], "scan": [], "flags": [], "sm_80": [] },
            "metadata": { "ptx": { "switches": ["default", "sm_80"], "sm_80": ["scan"] } },
        });
        let image = |module: &str, level, is_highest| Image {
            module: module.to_owned(),
            level,
            is_highest,
        };
        assert_eq!(
            images_of(&package).unwrap(),
            [image("flags", 75, true), image("scan", 75, false), image("scan", 80, true)]
        );
    }
}
