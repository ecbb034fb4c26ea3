//! The tests of the program, in one binary: what they share is compiled and linked once.

mod forms;
mod gdal;
mod ground;
mod scale;
mod terrain;

use testing::program::Program;

const PROGRAM: Program = Program { name: "terrain", path: env!("CARGO_BIN_EXE_terrain") };
