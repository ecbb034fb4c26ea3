//! The tests of the program, in one binary: what they share is compiled and linked once.

mod idw_surface;
mod kriging;
mod prediction;
mod scale;
mod tables;

use testing::program::Program;

const PROGRAM: Program = Program { name: "idw_surface", path: env!("CARGO_BIN_EXE_idw_surface") };
