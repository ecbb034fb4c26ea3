//! The tests of the program, in one binary: what they share is compiled and linked once.

mod distance_transform;
mod files;
mod gdal;
mod globe;
mod places;
mod scale;

use testing::program::Program;

const PROGRAM: Program =
    Program { name: "distance_transform", path: env!("CARGO_BIN_EXE_distance_transform") };
