//! What a release needs and nobody would miss before it: one version everywhere, and a place for each program.

mod metadata;

use std::fs;

use serde_json::{Value, json};

use metadata::root;

/// The packages of the workspace.
fn packages() -> Vec<Value> {
    metadata::packages(&["--no-deps"])
}

#[test]
fn versions_agree() {
    let version = env!("CARGO_PKG_VERSION");
    let all = packages();
    let published: Vec<&Value> =
        all.iter().filter(|package| package["publish"].is_null()).collect();
    assert!(published.len() >= 18, "{} packages are not the published ones", published.len());
    for package in &published {
        assert_eq!(package["version"], version, "{}", package["name"]);
        // Tests alone may depend on a crate that no registry has.
        for wanted in package["dependencies"].as_array().expect("dependencies") {
            if !wanted["path"].is_null() && wanted["kind"] != "dev" {
                let named = format!("{} in {}", wanted["name"], package["name"]);
                assert_eq!(wanted["req"], format!("^{version}"), "{named}");
                assert!(published.iter().any(|other| other["name"] == wanted["name"]), "{named}");
            }
        }
    }
    let changes = fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let headings: Vec<&str> = changes.lines().filter(|line| line.starts_with("## ")).collect();
    assert_eq!(headings[0], "## Unreleased");
    assert!(headings[1].starts_with(&format!("## {version} - 20")), "{}", headings[1]);
    let interop = ["interop/cust", "interop/cudarc", "interop/cuda-core", "interop/dlpack"];
    for other in interop.into_iter().chain(["fuzz", "benches/peers/cells"]) {
        let lock = fs::read_to_string(root().join(other).join("Cargo.lock")).unwrap();
        let of_core =
            lock.split("[[package]]").find(|entry| entry.contains("\nname = \"gpu-core\"\n"));
        let of_core = of_core.unwrap_or_else(|| panic!("{other} does not use gpu-core"));
        assert!(of_core.contains(&format!("\nversion = \"{version}\"\n")), "{other}: {of_core}");
    }
}

#[test]
fn programs_have_a_place_in_a_release() {
    let all = packages();
    let place = |package: &Value| package["metadata"]["binstall"].clone();
    let programs: Vec<&Value> = all.iter().filter(|package| !place(package).is_null()).collect();
    let install = fs::read_to_string(root().join("docs/guide/index.md")).unwrap();
    let documented =
        install.lines().filter_map(|line| line.strip_prefix("cargo install --path examples/"));
    let mut documented: Vec<&str> = documented.collect();
    documented.sort();
    let names: Vec<&str> = programs.iter().filter_map(|program| program["name"].as_str()).collect();
    assert_eq!(names, documented);
    for (program, name) in programs.iter().zip(names) {
        assert!(!program["repository"].is_null(), "{name} has no repository");
        // No registry has the programs: a package of that name would be somebody else's.
        assert_eq!(place(program)["disabled-strategies"], json!(["quick-install", "compile"]));
        // The layout that cargo-binstall's documentation recommends.
        let folder = format!("{name}-x86_64-unknown-linux-gnu-v1.2.3");
        let archive = format!("ADDRESS/releases/download/v1.2.3/{folder}.tgz");
        assert_eq!(filled(&place(program)["pkg-url"], name), archive);
        assert_eq!(filled(&place(program)["bin-dir"], name), format!("{folder}/{name}"));
        assert_eq!(place(program)["pkg-fmt"], "tgz");
    }
}

/// A template of cargo-binstall for a program of version 1.2.3 on Linux.
fn filled(template: &Value, name: &str) -> String {
    let values = [
        ("repo", "ADDRESS"),
        ("name", name),
        ("bin", name),
        ("version", "1.2.3"),
        ("target", "x86_64-unknown-linux-gnu"),
        ("archive-suffix", ".tgz"),
        ("binary-ext", ""),
    ];
    let template = template.as_str().expect("a template").to_owned();
    values.iter().fold(template, |text, (key, value)| text.replace(&format!("{{ {key} }}"), value))
}
