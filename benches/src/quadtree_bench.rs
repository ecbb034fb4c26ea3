//! Times crate quadtree-sort on a GPU, one tab-separated row each: library, name, points, queries, and the median,
//! least and greatest time in ms. `peers/morton_cub.cu` prints the same rows for the same steps in CUDA C++.
//!
//! `quadtree_bench [FILTER]`; the device is `TESSERA_DEVICE`, else `cuda`; `QUADTREE_POINTS` divides all numbers of
//! points, to try the bench where memory is small. Points are f32, resident, random from a fixed seed in the unit
//! square: uniform, or in 64 heaps of different widths. One run to warm up, then 10 between events of their own. Builds
//! are given the bounds unless the name says `bounds`. Before the bench prints a row, it compares every tree with the
//! other method's, and nearest points with brute force at a sample.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::{Result, ensure};
use gpu_core::{Bounds, Column, Device, DeviceChoice, Gpu, Points, Progress};
use quadtree_sort::gpu::{
    DeviceIndex, Workspace, build, index, nearest, nearest_in_order, nearest_of_own,
};
use quadtree_sort::{Baseline, Method, Params, build_within};
use rayon::prelude::*;

/// Timed runs.
const RUNS: usize = 10;

/// Queries of the sample.
const SAMPLE: usize = 32;

/// Neighbours.
const K: usize = 8;

const UNIT: Bounds = Bounds { min_x: 0.0, min_y: 0.0, max_x: 1.0, max_y: 1.0 };

fn main() -> Result<()> {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let divisor = std::env::var("QUADTREE_POINTS").ok().map(|n| n.parse()).transpose()?;
    let choice = DeviceChoice::from_env()?.unwrap_or(DeviceChoice::Cuda(0));
    let gpu = Gpu::open(choice)?;
    let workspace = RefCell::new(Workspace::new(&gpu)?);
    let bench = Bench { gpu, workspace, filter, divisor: divisor.unwrap_or(1) };
    bench.builds("uniform", 80_000_000, uniform)?;
    bench.builds("clustered", 80_000_000, clustered)?;
    bench.builds("uniform", 169_000_000, uniform)?;
    bench.neighbours("uniform", uniform)?;
    bench.neighbours("clustered", clustered)?;
    bench.neighbours("lines", lines)?;
    bench.stream("stream_quarter", uniform)?;
    bench.stream("stream_quarter_clustered", clustered)
}

struct Bench {
    gpu: Gpu,
    workspace: RefCell<Workspace>,
    filter: String,
    divisor: usize,
}

/// Columns of x and y in the unit square, from a seed.
type Make = fn(usize, u64) -> [Vec<f32>; 2];

impl Bench {
    fn wants(&self, name: &str) -> bool {
        name.contains(&self.filter)
    }

    /// Builds by both methods, both lengths of codes, and three thresholds.
    fn builds(&self, which: &str, points: usize, make: Make) -> Result<()> {
        let base = Params::new().bounds(UNIT);
        let mut rows = Vec::new();
        for (bits, level) in [("32", 16), ("62", 31)] {
            for threshold in [20, 200, 2000] {
                rows.push((
                    format!("{which}_{bits}_t{threshold}"),
                    base.max_level(level).threshold(threshold),
                ));
            }
            let level_sort = base.max_level(level).method(Method::Baseline(Baseline::LevelSort));
            rows.push((format!("{which}_{bits}_levelsort"), level_sort));
            rows.push((format!("{which}_{bits}_bounds"), Params::new().max_level(level)));
        }
        rows.retain(|(name, _)| self.wants(&format!("build_{name}")));
        if rows.is_empty() {
            return Ok(());
        }
        let count = points / self.divisor;
        let [x, y] = make(count, 1);
        let (x, y) = (self.gpu.upload(&x)?, self.gpu.upload(&y)?);
        for (name, params) in rows {
            let run = || Ok(build(&mut self.workspace.borrow_mut(), &x, &y, &params)?);
            self.compare(&name, &x, &y, &params)?;
            self.row(&format!("build_{name}"), count, 0, run)?;
        }
        Ok(())
    }

    /// Both methods give the same nodes and order.
    fn compare(&self, name: &str, x: &Column<f32>, y: &Column<f32>, params: &Params) -> Result<()> {
        let of = |method| -> Result<_> {
            let params = params.method(method);
            let tree = build(&mut self.workspace.borrow_mut(), x, y, &params)?;
            let mut nodes = self.gpu.zeroed(tree.node_count())?;
            nodes.copy_from(tree.nodes()?)?;
            Ok((nodes.to_host()?, tree.order().to_host()?))
        };
        let (morton, level_sort) =
            (of(Method::Morton)?, of(Method::Baseline(Baseline::LevelSort))?);
        ensure!(morton == level_sort, "{name}: the methods differ");
        eprintln!("{name}: {} nodes", morton.0.len());
        Ok(())
    }

    /// Indexes 10,000,000 points, and finds the nearest points of their own, of as many others in random order, and of
    /// 25,000,000 cells of a grid.
    fn neighbours(&self, which: &str, make: Make) -> Result<()> {
        let names = ["tree", "index", "index_f64", "own", "others", "cells"];
        let names = names.map(|what| format!("nearest_{which}_{what}"));
        if !names.iter().any(|name| self.wants(name)) {
            return Ok(());
        }
        let count = 10_000_000 / self.divisor;
        let ([x, y], [px, py]) = (make(count, 2), make(count, 3));
        let (dx, dy) = (self.gpu.upload(&x)?, self.gpu.upload(&y)?);
        let params = Params::new().bounds(UNIT).max_level(16);
        let make_tree = || Ok(build(&mut self.workspace.borrow_mut(), &dx, &dy, &params)?);
        self.row(&names[0], count, 0, make_tree)?;
        let make_index = || Ok(index(&mut self.workspace.borrow_mut(), &dx, &dy, Some(UNIT))?);
        let points: DeviceIndex<f32> = make_index()?;
        self.row(&names[1], count, 0, make_index)?;
        let wide = |column: &[f32]| -> Vec<f64> { column.iter().map(|&v| v.into()).collect() };
        let (wide_x, wide_y) = (self.gpu.upload(&wide(&x))?, self.gpu.upload(&wide(&y))?);
        let make_index =
            || Ok(index(&mut self.workspace.borrow_mut(), &wide_x, &wide_y, Some(UNIT))?);
        self.row(&names[2], count, 0, make_index)?;
        let points_f64 = make_index()?;
        let (qx, qy) = (self.gpu.upload(&px)?, self.gpu.upload(&py)?);
        let others = || Ok(nearest(&mut self.workspace.borrow_mut(), &points, &qx, &qy, K)?);
        let found = others()?.distances.to_host()?;
        let sample: Vec<usize> = (0..SAMPLE).map(|i| i * (count / SAMPLE)).collect();
        for query in sample {
            let wanted = brute_force(&x, &y, px[query], py[query]);
            ensure!(found[query * K..(query + 1) * K] == wanted[..], "query {query} of {which}");
        }
        drop(found);
        let own = || Ok(nearest_of_own(&mut self.workspace.borrow_mut(), &points, K)?);
        self.row(&names[3], count, count, own)?;
        self.row(&names[4], count, count, others)?;
        let side = ((25_000_000 / self.divisor) as f64).sqrt() as usize / 40 * 40;
        let [cx, cy] = cells(side);
        let cells = (self.gpu.upload(&cx)?, self.gpu.upload(&cy)?);
        let cells_f64 = (self.gpu.upload(&wide(&cx))?, self.gpu.upload(&wide(&cy))?);
        for k in [8, 12, 16, 32, 64] {
            let of_cells = || {
                let workspace = &mut self.workspace.borrow_mut();
                Ok(nearest_in_order(workspace, &points, &cells.0, &cells.1, k)?)
            };
            self.row(&format!("{}_{k}", names[5]), count, side * side, of_cells)?;
        }
        let of_cells = || {
            let workspace = &mut self.workspace.borrow_mut();
            Ok(nearest_in_order(workspace, &points_f64, &cells_f64.0, &cells_f64.1, 12)?)
        };
        self.row(&format!("{}_f64_12", names[5]), count, side * side, of_cells)
    }

    /// A build under a quarter of the coordinates' bytes, from the host, beside a copy from page-locked memory.
    fn stream(&self, name: &str, make: Make) -> Result<()> {
        if !self.wants(name) {
            return Ok(());
        }
        let count = 80_000_000 / self.divisor;
        let [x, y] =
            make(count, 4).map(|column| column.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>());
        let bytes = 16 * count;
        let locked = self.gpu.page_locked::<u8>(bytes / 4)?;
        let mut column = self.gpu.zeroed::<u8>(bytes / 4)?;
        let mut best = f64::INFINITY;
        for _ in 0..RUNS {
            let (_, time) = self.gpu.time::<_, anyhow::Error>(|| {
                // SAFETY: the time is taken when the copy has ended; nobody else uses either side.
                unsafe { self.gpu.enqueue_write((&mut column).into(), &locked)? };
                Ok(())
            })?;
            best = best.min(time.as_secs_f64());
        }
        let device = Device::Gpu(self.gpu.clone());
        let (points, params, budget) =
            (Points::new(&x, &y), Params::new().bounds(UNIT), bytes as u64 / 4);
        let mut times = Vec::new();
        for _ in 0..4 {
            let stages = Stages(RefCell::new(vec![("start", Instant::now())]));
            let tree = build_within(device.with_progress(&stages), points, &params, budget)?;
            let start = stages.0.borrow()[0].1;
            times.push(start.elapsed().as_secs_f64());
            stages.print();
            if times.len() == 1 {
                let wanted = build(
                    &mut self.workspace.borrow_mut(),
                    &self.gpu.upload(&x)?,
                    &self.gpu.upload(&y)?,
                    &params,
                )?;
                ensure!(tree == wanted.to_host()?, "the tree of the batches is another");
            }
        }
        times.remove(0);
        times.sort_by(f64::total_cmp);
        let rate = |seconds: f64, bytes: usize| bytes as f64 / seconds * 1e-9;
        let (copy, whole) = (rate(best, bytes / 4), rate(times[1], bytes));
        eprintln!("{name}: copies {copy:.1} GB/s, builds {whole:.2} GB/s of coordinates");
        let ms = |i: usize| times[i] * 1e3;
        println!("tessera\t{name}\t{count}\t0\t{:.4}\t{:.4}\t{:.4}", ms(1), ms(0), ms(2));
        Ok(())
    }

    /// Times `work` and prints a row.
    fn row<R>(
        &self,
        name: &str,
        points: usize,
        queries: usize,
        work: impl Fn() -> Result<R>,
    ) -> Result<()> {
        if !self.wants(name) {
            return Ok(());
        }
        work()?;
        self.gpu.synchronize()?;
        let run = |_| self.gpu.time::<_, anyhow::Error>(&work).map(|(_, time)| time);
        let mut times = (0..RUNS).map(run).collect::<Result<Vec<_>>>()?;
        times.sort();
        let ms = |i: usize| times[i].as_secs_f64() * 1e3;
        let (median, least, most) = (ms(RUNS / 2), ms(0), ms(RUNS - 1));
        println!("tessera\t{name}\t{points}\t{queries}\t{median:.4}\t{least:.4}\t{most:.4}");
        Ok(())
    }
}

/// When each stage of a call began.
struct Stages(RefCell<Vec<(&'static str, Instant)>>);

impl Progress for Stages {
    fn report(&self, stage: &'static str, _: f64) -> ControlFlow<()> {
        let mut stages = self.0.borrow_mut();
        if stages.last().is_none_or(|&(last, _)| last != stage) {
            stages.push((stage, Instant::now()));
        }
        ControlFlow::Continue(())
    }
}

impl Stages {
    /// How long each took.
    fn print(&self) {
        let stages = self.0.borrow();
        for (i, (stage, begin)) in stages.iter().enumerate() {
            let end = stages.get(i + 1).map_or_else(Instant::now, |&(_, next)| next);
            eprint!("{stage} {:.1} ms  ", (end - *begin).as_secs_f64() * 1e3);
        }
        eprintln!();
    }
}

/// The distances of the nearest points, from all of them.
fn brute_force(x: &[f32], y: &[f32], px: f32, py: f32) -> Vec<f64> {
    let (px, py) = (f64::from(px), f64::from(py));
    let squared = |(x, y): (&f32, &f32)| {
        let (dx, dy) = (f64::from(*x) - px, f64::from(*y) - py);
        dx * dx + dy * dy
    };
    let mut all: Vec<f64> = x.par_iter().zip(y).map(squared).collect();
    all.select_nth_unstable_by(K, f64::total_cmp);
    all.truncate(K);
    all.sort_by(f64::total_cmp);
    all.into_iter().map(f64::sqrt).collect()
}

fn uniform(count: usize, seed: u64) -> [Vec<f32>; 2] {
    [0, 1].map(|axis| {
        let unit = |i: u64| (mix(i * 2 + axis + (seed << 40)) >> 40) as f32 / (1u64 << 24) as f32;
        (0..count as u64).into_par_iter().map(unit).collect()
    })
}

/// 64 heaps, most of whose points lie near the middle.
fn clustered(count: usize, seed: u64) -> [Vec<f32>; 2] {
    let ([mut x, mut y], [middles_x, middles_y]) = (uniform(count, seed), uniform(64, seed + 100));
    let heap = |middles: &[f32], column: &mut [f32]| {
        column.par_iter_mut().enumerate().for_each(|(i, v)| {
            let (offset, width) = (2.0 * *v - 1.0, 0.1 * (i % 64 + 1) as f32 / 64.0);
            *v = (middles[i % 64] + width * offset * offset * offset).clamp(0.0, 1.0);
        });
    };
    heap(&middles_x, &mut x);
    heap(&middles_y, &mut y);
    [x, y]
}

/// 100 lines, along which points are uniform.
fn lines(count: usize, seed: u64) -> [Vec<f32>; 2] {
    let [x, mut y] = uniform(count, seed);
    y.par_iter_mut().for_each(|y| {
        let line = (*y * 100.0).floor();
        *y = (line + 0.5) / 100.0 + (*y * 1e4).fract() * 1e-4;
    });
    [x, y]
}

/// The centres of the cells of a square grid, 8 x 4 by 8 x 4.
fn cells(side: usize) -> [Vec<f32>; 2] {
    let place = |i: usize| {
        let (patch, cell) = (i / 32, i % 32);
        // Patches in squares of 5 x 10.
        let (square, patch) = (patch / 50, patch % 50);
        let (across, down) =
            (square % (side / 40) * 5 + patch % 5, square / (side / 40) * 10 + patch / 5);
        let along = |number: usize| (number as f32 + 0.5) / side as f32;
        (along(across * 8 + cell % 8), along(down * 4 + cell / 8))
    };
    let (x, y) = (0..side * side).into_par_iter().map(place).unzip();
    [x, y]
}

/// The finaliser of splitmix64 (Steele, Lea and Flood 2014, DOI 10.1145/2660193.2660195).
fn mix(i: u64) -> u64 {
    let mut x = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
