//! The least Rust that the workspace states is enough for all dependencies, and is what the documentation says.
//!
//! What our own code takes of the standard library is for clippy's `incompatible_msrv`, which reads the same `rust-version`.

mod metadata;

use std::fs;

use serde_json::Value;

use metadata::{packages, root};

/// Numbers of a version: 1.89 is 1.89.0.
fn numbers(version: &str) -> [u32; 3] {
    let mut parts = version.split('.').map(|part| part.parse().expect("a number"));
    std::array::from_fn(|_| parts.next().unwrap_or(0))
}

#[test]
fn no_dependency_wants_a_newer_compiler() {
    let stated = env!("CARGO_PKG_RUST_VERSION");
    // All packages that a build may take, whatever its features and its system.
    let all = packages(&["--locked", "--all-features"]);
    assert!(all.len() > 200, "{} packages are not the workspace's", all.len());
    let of = |package: &Value| package["rust_version"].as_str().map(str::to_owned);
    let newer: Vec<String> = all
        .iter()
        .filter(|package| of(package).is_some_and(|version| numbers(&version) > numbers(stated)))
        .map(|package| {
            format!("{} {}: Rust {:?}", package["name"], package["version"], of(package))
        })
        .collect();
    assert!(
        newer.is_empty(),
        "above Rust {stated}; `cargo update` takes older ones:\n{}",
        newer.join("\n")
    );
    for package in all.iter().filter(|package| package["source"].is_null()) {
        assert_eq!(of(package).as_deref(), Some(stated), "{}", package["name"]);
    }
    for page in ["README.md", "CONTRIBUTING.md", "docs/guide/index.md", "docs/guide/limits.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        assert!(text.contains(&format!("Rust {stated}")), "{page} does not say Rust {stated}");
    }
}
