//! J. Zhang, S. You and L. Gruenwald, *Indexing Large-Scale Raster Geospatial Data Using Massively Parallel GPGPU
//! Computing* (2010, doi:10.1145/1869790.1869859): Figures 4 and 5, and bins against false positives. The paper's
//! pyramids on a GPU are `benches/peers/ccq_pyramid.cu`.

use anyhow::{Context, Result, ensure};
use benches::{clocked, fractal};
use ccq_tree::gpu::Workspace;
use ccq_tree::{Condition, Params, Query, Tree, build, count, quantile_boundaries};
use gpu_core::{Device, DeviceGrid, Grid, GridSpec, GridView};
use rayon::prelude::*;

use crate::table::{Table, digits, ratio, whole};
use crate::{Bench, on_one_thread};

/// Tiles of the world.
const TILES: (u32, u32) = (11, 5);

/// What stands for the ocean.
const NODATA: i16 = -9999;

/// Boundaries of so many bins with as many cells of land each.
fn bins_of(raster: GridView<'_, i16>, bins: usize) -> Result<Vec<f64>> {
    let boundaries = quantile_boundaries(raster, Some(NODATA.into()), bins)?;
    Ok(boundaries.into_iter().map(f64::from).collect())
}

/// The part of the world that is ocean.
const OCEAN: f64 = 0.7;

/// The greatest precipitation of the paper's raster, in mm.
const MOST: f64 = 1003.0;

pub fn tables(bench: &Bench) -> Result<Vec<Table>> {
    let world = World::new(bench.choose(4096, 64), bench.choose((43_200, 18_000), (690, 290)))?;
    let (land, distribution) = build_tiles(bench, &world)?;
    Ok(vec![distribution, bins(bench, &land)?, loading(bench, &world, &land)?])
}

/// A number for the times of all tiles.
type Statistic = fn(&[f64]) -> f64;

/// Figure 4; and the tile with the most land.
fn build_tiles(bench: &Bench, world: &World) -> Result<(Grid<i16>, Table)> {
    let params = Params::new().bins(world.bins.clone()).nodata(f64::from(NODATA));
    let (mut gpu_times, mut threads, mut recursive) = (Vec::new(), Vec::new(), Vec::new());
    let mut best: Option<(usize, Grid<i16>)> = None;
    for tile in 0..TILES.0 * TILES.1 {
        let raster = world.tile(tile % TILES.0, tile / TILES.0);
        let (tree, time) = clocked(|| Ok(build(&Device::Cpu, raster.view(), &params)?))?;
        threads.push(time);
        let (root, time) = on_one_thread(|| Ok(Bmmq::of(raster.view(), &world.bins)))?;
        recursive.push(time);
        let nodes = root.map_or(0, |root| root.count());
        ensure!(
            nodes == tree.nodes().len(),
            "tile {tile}: {nodes} nodes, not {}",
            tree.nodes().len()
        );
        if let Some(gpu) = &bench.gpu {
            let mut workspace = Workspace::new(gpu)?;
            let resident = DeviceGrid::upload(gpu, raster.view())?;
            let mut run = || Ok(ccq_tree::gpu::build(&mut workspace, &resident, &params)?);
            ensure!(run()?.to_host()? == tree, "tile {tile}: GPU and CPU differ");
            gpu_times.push(bench.median(gpu, run)?);
        }
        let land = raster.values().iter().filter(|&&value| value != NODATA).count();
        if best.as_ref().is_none_or(|(most, _)| land > *most) {
            best = Some((land, raster));
        }
    }
    let mut table = Table::new(
        "Figure 4: building 55 tiles",
        format!(
            "Times in ms of {} tiles of {2} x {2} cells, eight bins; {:.0}% of the world is ocean, which is NODATA. Published: Quadro FX 3700, and one core \
             of its host by recursion. Our recursion is a tree of pointers from the cells up (BMMQ-tree) on one thread, with as many nodes as \
             ours.",
            TILES.0 * TILES.1,
            100.0 * OCEAN,
            world.side,
        ),
        &[
            "",
            "published GPU",
            "published CPU",
            "GPU",
            "recursion",
            "CPU, all threads",
            "recursion : GPU",
        ],
    );
    let statistics: [(&str, [&str; 2], Statistic); 4] = [
        ("least", ["380", "9280"], |times| times.iter().copied().fold(f64::INFINITY, f64::min)),
        ("mean", ["420", "9830"], |times| times.iter().sum::<f64>() / times.len() as f64),
        ("greatest", ["470", "10,110"], |times| times.iter().copied().fold(0.0, f64::max)),
        ("all tiles", ["23,020", ""], |times| times.iter().sum()),
    ];
    for (name, [of_gpu, of_cpu], of) in statistics {
        let on_gpu = (!gpu_times.is_empty()).then(|| of(&gpu_times));
        table.push([
            name.to_owned(),
            of_gpu.to_owned(),
            of_cpu.to_owned(),
            digits(on_gpu),
            digits(of(&recursive)),
            digits(of(&threads)),
            ratio(of(&recursive), on_gpu),
        ]);
    }
    Ok((best.context("there are tiles")?.1, table))
}

/// Section 4.1: more bins, more nodes, fewer false positives.
fn bins(bench: &Bench, land: &Grid<i16>) -> Result<Table> {
    let mut table = Table::new(
        "Section 4.1: bins, nodes and false positives",
        "The tile with the most land. Ten ranges of values with a tenth of the land cells each are asked for, at ends that are no boundaries of bins; a \
         false positive is a cell of a quadrant found that is outside of the range. The paper names the trade-off and prints no numbers.",
        &[
            "bins",
            "nodes",
            "MB",
            "bits a cell",
            "cells in the ranges",
            "false positives",
            "% of those found",
        ],
    );
    let mut values: Vec<i16> = land.values().iter().copied().filter(|&v| v != NODATA).collect();
    values.sort_unstable();
    let at = |part: f64| f64::from(values[((values.len() - 1) as f64 * part) as usize]);
    // A tenth wide, and never where quantiles of a power of two are.
    let ranges: Vec<(f64, f64)> = (0..10)
        .map(|k| 0.013 + 0.0887 * f64::from(k))
        .map(|low| (at(low), at(low + 0.1)))
        .collect();
    for bits in bench.choose(1..=8, 1..=4) {
        let nodata = f64::from(NODATA);
        let boundaries = bins_of(land.view(), 1 << bits)?;
        let bins = boundaries.len() + 1;
        let params = Params::new().bins(boundaries).nodata(nodata);
        let tree = build(&Device::Cpu, land.view(), &params)?;
        let (mut there, mut found) = (0, 0);
        for &(low, high) in &ranges {
            let condition = Condition::new(&tree).range(low, high);
            let coarse = count(&Device::Cpu, &[condition], &Query::new())?;
            let fine = count(&Device::Cpu, &[condition.raster(land.view())], &Query::new())?;
            there += fine.cells;
            found += coarse.cells + coarse.unsure;
        }
        let wrong = found - there;
        table.push([
            bins.to_string(),
            whole(tree.nodes().len() as u64),
            digits(tree.bytes() as f64 * 1e-6),
            digits(tree.bits_per_cell()),
            whole(there),
            whole(wrong),
            digits(100.0 * wrong as f64 / found.max(1) as f64),
        ]);
    }
    Ok(table)
}

/// Figure 5: a file of nodes against a tree of pointers.
fn loading(bench: &Bench, world: &World, land: &Grid<i16>) -> Result<Table> {
    let mut table = Table::new(
        "Figure 5: loading against the number of nodes",
        "Times in ms. A file is read whole and checked, or mapped; the tree of pointers is rebuilt from a linear quadtree in memory, as the paper's \
         BMMQ-tree: each node is found by its code from the root and allocated. Published: 50 to 90 times as fast from 5000 nodes on.",
        &["nodes", "read", "mapped", "pointers rebuilt", "pointers : read"],
    );
    let params = Params::new().bins(world.bins.clone()).nodata(f64::from(NODATA));
    let path = std::env::temp_dir().join(format!("papers_bench.{}.ccq", std::process::id()));
    for side in bench.choose(vec![32, 64, 128, 256, 512, 1024, 2048, 4096], vec![16, 32, 64]) {
        let part = middle(land, side)?;
        let tree = build(&Device::Cpu, part.view(), &params)?;
        let Some(root) = Bmmq::of(part.view(), &world.bins) else { continue };
        let linear = root.linear();
        ensure!(linear.len() == tree.nodes().len(), "other nodes");
        tree.save(&path)?;
        let read = bench.median_on_host(|| Ok(Tree::<i16>::read(&path)?));
        // SAFETY: nobody else knows the file.
        let mapped = bench.median_on_host(|| Ok(unsafe { Tree::<i16>::map(&path)? }));
        std::fs::remove_file(&path)?;
        let pointers = bench.median_on_host(|| Ok(Bmmq::of_linear(&linear)))?;
        let (read, mapped) = (read?, mapped?);
        let cells = [digits(read), digits(mapped), digits(pointers), ratio(pointers, read)];
        let mut row = vec![whole(linear.len() as u64)];
        row.extend(cells);
        table.push(row);
    }
    Ok(table)
}

/// The square in the middle of a raster.
fn middle(raster: &Grid<i16>, side: u32) -> Result<Grid<i16>> {
    let (width, first) =
        (raster.grid().width as usize, ((raster.grid().width - side) / 2) as usize);
    let rows = raster.values().chunks(width).skip(first).take(side as usize);
    let values = rows.flat_map(|row| row[first..first + side as usize].iter().copied()).collect();
    Ok(Grid::new(values, GridSpec::of_pixels(side, side))?)
}

/// A seeded world of precipitation and ocean.
struct World {
    /// Cells on a side of a tile.
    side: u32,
    width: u32,
    height: u32,
    /// Heights of the field below which is ocean, and at which precipitation is greatest.
    sea: i16,
    top: i16,
    /// Boundaries of eight bins.
    bins: Vec<f64>,
}

impl World {
    fn new(side: u32, (width, height): (u32, u32)) -> Result<Self> {
        let step = (height / 64).max(1);
        let rows = (0..height).step_by(step as usize);
        let mut sample: Vec<i16> =
            rows.flat_map(|row| fractal(0..width, row..row + 1).into_values()).collect();
        sample.sort_unstable();
        let sea = sample[(OCEAN * sample.len() as f64) as usize];
        let top = *sample.last().context("the world has cells")?;
        let mut world = Self { side, width, height, sea, top, bins: Vec::new() };
        let land: Vec<i16> = sample.into_iter().map(|value| world.precipitation(value)).collect();
        let grid = GridSpec::of_pixels(land.len() as u32, 1);
        world.bins = bins_of(GridView::new(&land, grid)?, 8)?;
        Ok(world)
    }

    /// The value of a cell, by the height of the field there.
    fn precipitation(&self, height: i16) -> i16 {
        if height < self.sea {
            return NODATA;
        }
        let above = f64::from(height - self.sea) / f64::from(self.top - self.sea).max(1.0);
        (MOST * above.min(1.0)) as i16
    }

    /// A tile, which is filled with NODATA beyond the world's edges.
    fn tile(&self, column: u32, row: u32) -> Grid<i16> {
        let side = self.side;
        let range = |at: u32, most: u32| (at * side).min(most)..((at + 1) * side).min(most);
        let (columns, rows) = (range(column, self.width), range(row, self.height));
        let part = fractal(columns.clone(), rows);
        let mut values = vec![NODATA; side as usize * side as usize];
        let lines = part.values().par_chunks(columns.len().max(1));
        values.par_chunks_mut(side as usize).zip(lines).for_each(|(to, from)| {
            to.iter_mut().zip(from).for_each(|(to, &from)| *to = self.precipitation(from));
        });
        Grid::new(values, GridSpec::of_pixels(side, side)).expect("a value for each cell")
    }
}

/// A node of the paper's BMMQ-tree: bounds of bins, and a pointer to each of four children.
struct Bmmq {
    min: u8,
    max: u8,
    children: [Option<Box<Bmmq>>; 4],
}

/// What a linear quadtree keeps of a node: its Morton code, level and bounds.
type Linear = (u64, u32, u8, u8);

impl Bmmq {
    /// The tree of a square raster, by recursion; none where no cell has a value.
    fn of(raster: GridView<'_, i16>, bins: &[f64]) -> Option<Box<Self>> {
        let bin_of: Vec<u8> = (i16::MIN..=i16::MAX)
            .map(|value| bins.partition_point(|&bin| bin <= f64::from(value)) as u8)
            .collect();
        let side = raster.grid().width;
        let bin = |x: u32, y: u32| {
            let value = raster.values()[y as usize * side as usize + x as usize];
            (value != NODATA).then(|| bin_of[(i32::from(value) - i32::from(i16::MIN)) as usize])
        };
        Self::of_square(&bin, 0, 0, side).0
    }

    /// The node of a square, and whether all its cells have values.
    fn of_square(
        bin: &impl Fn(u32, u32) -> Option<u8>,
        x: u32,
        y: u32,
        side: u32,
    ) -> (Option<Box<Self>>, bool) {
        if side == 1 {
            let node = |bin| Box::new(Self { min: bin, max: bin, children: Default::default() });
            let found = bin(x, y).map(node);
            let is_full = found.is_some();
            return (found, is_full);
        }
        let half = side / 2;
        let corners = [(x, y), (x + half, y), (x, y + half), (x + half, y + half)];
        let parts = corners.map(|(x, y)| Self::of_square(bin, x, y, half));
        let is_full = parts.iter().all(|(_, is_full)| *is_full);
        let children = parts.map(|(child, _)| child);
        let bounds = children.iter().flatten().map(|child| (child.min, child.max));
        let Some((min, max)) = bounds.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else {
            return (None, false);
        };
        // Cells that are all alike need no children.
        let children = if min == max && is_full { Default::default() } else { children };
        (Some(Box::new(Self { min, max, children })), is_full)
    }

    fn count(&self) -> usize {
        1 + self.children.iter().flatten().map(|child| child.count()).sum::<usize>()
    }

    /// Its linear form, level by level.
    fn linear(&self) -> Vec<Linear> {
        let (mut linear, mut level) = (Vec::new(), vec![(0, self)]);
        for depth in 0.. {
            linear.extend(level.iter().map(|(code, node)| (*code, depth, node.min, node.max)));
            let below = level.iter().flat_map(|(code, node)| {
                let numbered = node.children.iter().enumerate();
                numbered.filter_map(move |(corner, child)| {
                    Some((code << 2 | corner as u64, child.as_deref()?))
                })
            });
            level = below.collect();
            if level.is_empty() {
                break;
            }
        }
        linear
    }

    /// The tree again: each node is found by its code from the root.
    fn of_linear(linear: &[Linear]) -> Option<Box<Self>> {
        let mut root: Option<Box<Self>> = None;
        for &(code, level, min, max) in linear {
            let mut at = &mut root;
            for step in (0..level).rev() {
                at = &mut at.as_mut()?.children[(code >> (2 * step) & 3) as usize];
            }
            *at = Some(Box::new(Self { min, max, children: Default::default() }));
        }
        root
    }
}
