//! The tests of the crate, in one binary: what they share is compiled and linked once.

mod bins;
mod bounds;
mod las;
mod odd_las;
mod rasters;
mod room;
mod rows;
mod windows;
