//! The tests of the program, in one binary: what they share is compiled and linked once.

mod geographic;
mod point_quadtree;
mod scale;
mod tables;

use testing::program::Program;

const PROGRAM: Program =
    Program { name: "point_quadtree", path: env!("CARGO_BIN_EXE_point_quadtree") };
