//! The tests of the program, in one binary: what they share is compiled and linked once.

mod asked;
mod catalogues;
mod places;
mod raster_index;
mod scale;

use testing::program::Program;

const PROGRAM: Program = Program { name: "raster_index", path: env!("CARGO_BIN_EXE_raster_index") };
