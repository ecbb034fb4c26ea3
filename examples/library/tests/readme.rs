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

#[test]
fn the_other_programs_run() {
    for program in [
        env!("CARGO_BIN_EXE_dem_by_segments"),
        env!("CARGO_BIN_EXE_places_and_distance"),
        env!("CARGO_BIN_EXE_means_of_regions"),
    ] {
        let output = Command::new(program).output().unwrap();
        let (said, errors) = (&output.stdout, &output.stderr);
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(errors));
        println!("{}", String::from_utf8_lossy(said));
    }
}
