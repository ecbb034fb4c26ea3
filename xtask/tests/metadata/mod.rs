//! What cargo says of the workspace.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The workspace's folder.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The packages that `cargo metadata` lists with these options.
pub fn packages(options: &[&str]) -> Vec<Value> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.current_dir(root()).args(["metadata", "--format-version=1"]).args(options);
    let output = cargo.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut metadata: Value = serde_json::from_slice(&output.stdout).expect("metadata are JSON");
    match metadata["packages"].take() {
        Value::Array(packages) => packages,
        _ => panic!("metadata without packages"),
    }
}
