//! What the benches share: how a time is taken, how a row is printed, and random numbers.
//!
//! A row has these columns, separated by tabs:
//!
//! - the program: `tessera`, `cpu` for the same call on the host's threads, or a rival;
//! - the work;
//! - two numbers for its size: elements, points or cells; and queries, targets or sites, else 0;
//! - the median, least and greatest time in ms.
//!
//! Program `report` makes docs/guide/performance.md of such rows.

use std::fmt::Display;
use std::ops::Range;
use std::time::Instant;

use anyhow::Result;
use gpu_core::{Gpu, Grid, GridSpec};
use rayon::prelude::*;

/// Milliseconds of several runs, in order.
#[derive(Clone, Debug)]
pub struct Times(Vec<f64>);

impl Times {
    /// Of at least one run.
    pub fn new(mut milliseconds: Vec<f64>) -> Self {
        assert!(!milliseconds.is_empty(), "no run was timed");
        milliseconds.sort_by(f64::total_cmp);
        Self(milliseconds)
    }

    /// By events around what `work` enqueues, after two runs to warm up.
    pub fn on_device<R>(
        gpu: &Gpu,
        runs: usize,
        mut work: impl FnMut() -> Result<R>,
    ) -> Result<Self> {
        for _ in 0..2 {
            work()?;
        }
        gpu.synchronize()?;
        let run = |_| {
            let (_, time) = gpu.time::<_, anyhow::Error>(&mut work)?;
            Ok(time.as_secs_f64() * 1e3)
        };
        Ok(Self::new((0..runs).map(run).collect::<Result<_>>()?))
    }

    /// By the host's clock, after two runs to warm up.
    pub fn on_host<R>(runs: usize, mut work: impl FnMut() -> Result<R>) -> Result<Self> {
        for _ in 0..2 {
            work()?;
        }
        Ok(Self::new((0..runs).map(|_| Ok(clocked(&mut work)?.1)).collect::<Result<_>>()?))
    }

    /// The middle one, or of an even number the upper of the two.
    pub fn median(&self) -> f64 {
        self.0[self.0.len() / 2]
    }

    /// Prints a row.
    pub fn print(&self, library: &str, work: impl Display, size: u64, other: u64) {
        let (median, least, most) = (self.median(), self.0[0], self.0[self.0.len() - 1]);
        println!("{library}\t{work}\t{size}\t{other}\t{median:.5}\t{least:.5}\t{most:.5}");
    }
}

/// What `work` gives, and its milliseconds by the host's clock.
pub fn clocked<R>(work: impl FnOnce() -> Result<R>) -> Result<(R, f64)> {
    let start = Instant::now();
    let result = work()?;
    Ok((result, start.elapsed().as_secs_f64() * 1e3))
}

/// Number `i` of a column of random numbers below 1, in 53 bits: the finaliser of splitmix64 (Steele, Lea and Flood
/// 2014, doi:10.1145/2660193.2660195).
pub fn unit(column: u64, i: u64) -> f64 {
    let z = (i + (column << 40)).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ z >> 31) >> 11) as f64 / (1u64 << 53) as f64
}

/// A window of a field of octaves of noise between lattice points, each 0.6 as high and at twice as many places: what
/// stands for a raster of the world.
pub fn fractal(columns: Range<u32>, rows: Range<u32>) -> Grid<i16> {
    let lattice = |x: u32, y: u32, octave: u32| {
        let bits = (x.wrapping_mul(0x9e37_79b1) ^ y.wrapping_mul(0x85eb_ca77)).wrapping_add(octave);
        let bits = (bits ^ bits >> 15).wrapping_mul(0x2c1b_3c6d);
        ((bits ^ bits >> 12).wrapping_mul(0x297a_2d39) >> 8) as f32 / (1 << 24) as f32
    };
    let spec = GridSpec::of_pixels(columns.len() as u32, rows.len() as u32);
    let of_row = |row: u32| {
        let mut line = vec![0.0f32; columns.len()];
        let (mut weight, mut cell) = (8000.0, 4096u32);
        for octave in 0..12 {
            let (y, v) = (row / cell, (row % cell) as f32 / cell as f32);
            let mut at = columns.start;
            while at < columns.end {
                let (x, first) = (at / cell, at % cell);
                let end = columns.end.min(at - first + cell);
                let corner = |dx: u32, dy: u32| lattice(x + dx, y + dy, octave);
                let west = corner(0, 0) * (1.0 - v) + corner(0, 1) * v;
                let east = corner(1, 0) * (1.0 - v) + corner(1, 1) * v;
                let step = (east - west) * weight / cell as f32;
                let part = (at - columns.start) as usize..(end - columns.start) as usize;
                for (i, value) in (first..).zip(&mut line[part]) {
                    *value += west * weight + i as f32 * step;
                }
                at = end;
            }
            weight *= 0.6;
            cell /= 2;
        }
        line.into_iter().map(|value| value as i16)
    };
    let values = rows.into_par_iter().flat_map_iter(of_row).collect();
    Grid::new(values, spec).expect("a value for each cell")
}
