//! `raster_index`: an index of a raster's values, built once and asked often.
//!
//! The way from here to the kernel: [`build::build`] calls `ccq_tree::build`, whose `cpu/` and `gpu/` are siblings; the
//! latter launches the kernels of `kernels-rs/src/ccq/build.rs`.

mod args;
mod asked;
mod build;
mod cells;
mod info;
mod numbers;
mod place;
mod query;
mod regions;
mod sample;
mod scale;
mod systems;
mod trees;
mod values;

use std::process::ExitCode;

use programs::program;

use args::{Args, Command};

fn main() -> ExitCode {
    program::run("raster_index", |args: &Args| match &args.command {
        Command::Build(args) => build::build(args),
        Command::Query(args) => query::query(args),
        Command::Info(args) => info::info(args),
        Command::Plan(args) => scale::plan(args),
        Command::Run(args) => programs::scale::run::<scale::Recipe>(args),
        Command::Merge(args) => scale::merge(args),
    })
}
