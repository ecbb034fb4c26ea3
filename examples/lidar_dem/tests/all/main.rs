//! The tests of the program, in one binary: what they share is compiled and linked once.

mod above;
mod bins;
mod breaklines;
mod catalogues;
mod command_line;
mod common;
mod dsm;
mod files;
mod grid;
mod layers;
mod lidar_dem;
mod scale;
mod tables;
mod values;
mod within;

use testing::program::Program;

const PROGRAM: Program = Program { name: "lidar_dem", path: env!("CARGO_BIN_EXE_lidar_dem") };
