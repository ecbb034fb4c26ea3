//! README's example is the program here.

use std::process::Command;

#[test]
fn the_example_of_the_readme_is_the_program() {
    let program = include_str!("../src/bin/first_grid.rs");
    let (_, code) = program.split_once("\n\n").expect("a comment above the code");
    assert!(include_str!("../../../README.md").contains(code), "README.md shows other code");
    let output = Command::new(env!("CARGO_BIN_EXE_first_grid")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
