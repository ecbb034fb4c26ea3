//! The tests of the crate, in one binary.

mod damaged;
mod decoded;
mod files;
