//! `ccq_bench`: trees over a raster of the world's size, on a GPU and beside it on the CPU.
//!
//! `ccq_bench [WIDTH HEIGHT [DEVICE]]`, 43200 x 21600 on `cuda:0` without. A seeded fractal field of i16 is made on the
//! CPU, with eight bins of about as many cells. Times on the GPU are medians of ten by events, after two to warm up.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ccq_tree::gpu::{self, Condition, Workspace};
use ccq_tree::{Params, Query, Tree, build, quadrants, quantile_boundaries};
use gpu_core::{Device, DeviceChoice, DeviceGrid, Gpu, Grid, GridSlice, GridSpec};
use rayon::prelude::*;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let side = |i: usize, default: u32| words.get(i).map_or(Ok(default), |word| word.parse());
    let (width, height) = (side(0, 43200)?, side(1, 21600)?);
    let choice: DeviceChoice = words.get(2).map_or("cuda:0", String::as_str).parse()?;
    let gpu = Gpu::open(choice)?;
    println!("{}: {width} x {height} cells of i16, 8 bins", gpu.name());
    let raster = fractal(width, height);
    let bins = quantile_boundaries(raster.view(), None, 8)?;
    let params = Params::new().bins(bins.clone());
    let resident = DeviceGrid::upload(&gpu, raster.view())?;
    let tree = build_resident(&gpu, &resident, &params)?;
    build_tiles(&gpu, &resident, &params)?;
    // Eight bins of which the lowest has a hundredth of the cells.
    let hundredths = quantile_boundaries(raster.view(), None, 100)?;
    let rare = [0, 14, 28, 42, 56, 70, 85].map(|i: usize| hundredths[i.min(hundredths.len() - 1)]);
    let rare_tree = gpu::build(&mut Workspace::new(&gpu)?, &resident, &Params::new().bins(rare))?;
    drop(resident);
    end_to_end(&gpu, &raster, &params)?;
    let host = tree.to_host()?;
    search(&gpu, &tree, &host, (bins[2], bins[3]))?;
    search(&gpu, &rare_tree, &rare_tree.to_host()?, (f64::NEG_INFINITY, rare[0]))?;
    load(&host)?;
    memory(&host);
    Ok(())
}

/// A field of octaves of noise between lattice points, each 0.6 as high and at twice as many places.
fn fractal(width: u32, height: u32) -> Grid<i16> {
    let lattice = |x: u32, y: u32, octave: u32| {
        let bits = (x.wrapping_mul(0x9e37_79b1) ^ y.wrapping_mul(0x85eb_ca77)).wrapping_add(octave);
        let bits = (bits ^ bits >> 15).wrapping_mul(0x2c1b_3c6d);
        ((bits ^ bits >> 12).wrapping_mul(0x297a_2d39) >> 8) as f32 / (1 << 24) as f32
    };
    let of_row = |row: u32| {
        let mut line = vec![0.0f32; width as usize];
        let (mut weight, mut cell) = (8000.0, 4096u32);
        for octave in 0..12 {
            let (y, v) = (row / cell, (row % cell) as f32 / cell as f32);
            for (x, part) in line.chunks_mut(cell as usize).enumerate() {
                let corner = |dx: u32, dy: u32| lattice(x as u32 + dx, y + dy, octave);
                let west = corner(0, 0) * (1.0 - v) + corner(0, 1) * v;
                let east = corner(1, 0) * (1.0 - v) + corner(1, 1) * v;
                let step = (east - west) * weight / cell as f32;
                for (i, value) in part.iter_mut().enumerate() {
                    *value += west * weight + i as f32 * step;
                }
            }
            weight *= 0.6;
            cell /= 2;
        }
        line.into_iter().map(|value| value as i16)
    };
    let values = (0..height).into_par_iter().flat_map_iter(of_row).collect();
    Grid::new(values, GridSpec::of_pixels(width, height)).expect("a value for each cell")
}

/// The median of ten, after two to warm up.
fn median(mut run: impl FnMut() -> Result<Duration>) -> Result<f64> {
    run()?;
    run()?;
    let mut times = (0..10).map(|_| run()).collect::<Result<Vec<_>>>()?;
    times.sort();
    Ok(times[5].as_secs_f64() * 1e3)
}

fn line(what: &str, milliseconds: f64) {
    println!("{what:<58} {milliseconds:>12.4} ms");
}

fn build_resident(
    gpu: &Gpu,
    raster: &DeviceGrid<i16>,
    params: &Params,
) -> Result<gpu::DeviceTree<i16>> {
    let mut workspace = Workspace::new(gpu)?;
    let time = median(|| Ok(gpu.time(|| gpu::build(&mut workspace, raster, params))?.1))?;
    line("build, resident, with the wait for the number of nodes", time);
    let tree = gpu::build(&mut workspace, raster, params)?;
    let room = tree.nodes().len();
    let within = |workspace: &mut Workspace| gpu::build_within(workspace, raster, params, room);
    let time = median(|| Ok(gpu.time(|| within(&mut workspace))?.1))?;
    line("build, resident, in given room", time);
    let bytes = raster.grid().cells() * 2;
    println!("  {:.2} GB of cells, {room} nodes", bytes as f64 * 1e-9);
    Ok(tree)
}

/// One tile of 4096 x 4096, and all tiles of the raster together.
fn build_tiles(gpu: &Gpu, raster: &DeviceGrid<i16>, params: &Params) -> Result<()> {
    let mut workspace = Workspace::new(gpu)?;
    let side = 4096.min(raster.width()).min(raster.height());
    let host = fractal(side, side);
    let tile = DeviceGrid::upload(gpu, host.view())?;
    let time = median(|| Ok(gpu.time(|| gpu::build(&mut workspace, &tile, params))?.1))?;
    line(&format!("one tile of {side} x {side}"), time);
    let room = gpu::build(&mut workspace, &tile, params)?.nodes().len();
    let within = |workspace: &mut Workspace| gpu::build_within(workspace, &tile, params, room);
    let time = median(|| Ok(gpu.time(|| within(&mut workspace))?.1))?;
    line("  in given room", time);
    let slice = GridSlice::from(raster);
    let time =
        median(|| Ok(gpu.time(|| gpu::build_forest(&mut workspace, slice, 4096, params))?.1))?;
    let (columns, rows) = gpu::build_forest(&mut workspace, slice, 4096, params)?.tiles();
    let tiles = columns * rows;
    line(&format!("{tiles} tiles in a batch"), time);
    line("  a tile of them", time / f64::from(tiles));
    let merged = |workspace: &mut Workspace| {
        gpu::build_forest(workspace, slice, 4096, params)?.merge(workspace)
    };
    let time = median(|| Ok(gpu.time(|| merged(&mut workspace))?.1))?;
    line("  and merged into one tree", time);
    Ok(())
}

/// From pageable host memory to a tree in host memory.
fn end_to_end(gpu: &Gpu, raster: &Grid<i16>, params: &Params) -> Result<()> {
    let device = Device::Gpu(gpu.clone());
    let mut built = None;
    let time = median(|| {
        drop(built.take());
        let start = Instant::now();
        built = Some(build(&device, raster.view(), params, &())?);
        Ok(start.elapsed())
    })?;
    line("from host to host", time);
    let built = built.context("a tree was built")?;
    let moved = (raster.grid().cells() * 2 + built.bytes()) as f64 * 1e-9;
    println!("  {moved:.2} GB moved, {:.1} GB/s", moved / (time * 1e-3));
    let back = gpu.zeroed::<u8>(built.bytes() as usize)?;
    let time = median(|| {
        let start = Instant::now();
        let resident = DeviceGrid::upload(gpu, raster.view())?;
        gpu.synchronize()?;
        let nodes = back.to_host()?;
        let time = start.elapsed();
        drop((nodes, resident));
        Ok(time)
    })?;
    line("as many bytes copied there and back, and nothing else", time);
    println!("  {:.1} GB/s", moved / (time * 1e-3));
    let start = Instant::now();
    let tree = build(&Device::Cpu, raster.view(), params, &())?;
    line("the same on the CPU, once", start.elapsed().as_secs_f64() * 1e3);
    println!("  on {} threads, {} nodes", rayon::current_num_threads(), tree.nodes().len());
    anyhow::ensure!(tree == built, "the device and the CPU have built different trees");
    Ok(())
}

/// The cells of one bin.
fn search(
    gpu: &Gpu,
    tree: &gpu::DeviceTree<i16>,
    host: &Tree<i16>,
    (low, high): (f64, f64),
) -> Result<()> {
    let (mut workspace, query) = (Workspace::new(gpu)?, Query::new());
    let asked = [Condition::new(tree).range(low, high)];
    let time = median(|| Ok(gpu.time(|| gpu::count(&mut workspace, &asked, &query))?.1))?;
    let found = gpu::count(&mut workspace, &asked, &query)?.to_host()?;
    let share = 100.0 * found[1] as f64 / host.grid().cells() as f64;
    println!("from {low} below {high}: {} quadrants, {share:.2}% of the cells", found[0]);
    line("  count on the device", time);
    let time = median(|| Ok(gpu.time(|| gpu::quadrants(&mut workspace, &asked, &query))?.1))?;
    line("  quadrants, from the device to the host", time);
    let time = median(|| Ok(gpu.time(|| gpu::mask(&mut workspace, &asked, &query))?.1))?;
    line("  a mask on the device", time);
    let time = median(|| Ok(gpu.time(|| gpu::runs(&mut workspace, &asked, &query))?.1))?;
    line("  runs, from the device to the host", time);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let condition = [ccq_tree::Condition::new(host).range(low, high)];
    let time = median(|| {
        let start = Instant::now();
        pool.install(|| quadrants(&condition, &query))?;
        Ok(start.elapsed())
    })?;
    line("  quadrants on one thread of the CPU", time);
    Ok(())
}

/// A node of a quadtree with pointers.
struct PointerNode {
    _bounds: (i16, i16),
    children: [Option<Box<PointerNode>>; 4],
}

/// The same tree, node by node from its linear form, as the paper's BMMQ-tree is: each node found by its code from the
/// root, and allocated.
fn pointer_tree(linear: &[(u64, u32, i16, i16)]) -> Option<Box<PointerNode>> {
    let mut root: Option<Box<PointerNode>> = None;
    for &(code, level, min, max) in linear {
        let mut at = &mut root;
        for step in (0..level).rev() {
            let corner = (code >> (2 * step) & 3) as usize;
            at = &mut at.as_mut()?.children[corner];
        }
        *at = Some(Box::new(PointerNode { _bounds: (min, max), children: Default::default() }));
    }
    root
}

/// Loading a file, beside rebuilding a pointer quadtree from as many nodes.
fn load(tree: &Tree<i16>) -> Result<()> {
    let path = std::env::temp_dir().join(format!("ccq_bench.{}.ccq", std::process::id()));
    tree.save(&path)?;
    let read = median(|| {
        let start = Instant::now();
        // SAFETY: nobody else knows the file.
        let mapped = unsafe { Tree::<i16>::map(&path)? };
        std::hint::black_box(mapped.nodes().len());
        Ok(start.elapsed())
    });
    std::fs::remove_file(&path)?;
    let read = read?;
    line("a file mapped and checked", read);
    let linear = linear(tree);
    let start = Instant::now();
    let root = pointer_tree(&linear).context("a tree has a root")?;
    let time = start.elapsed().as_secs_f64() * 1e3;
    line(&format!("a pointer quadtree of {} nodes rebuilt", linear.len()), time);
    println!("  {:.0} times as long", time / read);
    // Not taken apart node by node: the program ends.
    std::mem::forget(root);
    Ok(())
}

/// Codes, levels and bounds of all nodes.
fn linear(tree: &Tree<i16>) -> Vec<(u64, u32, i16, i16)> {
    let (nodes, starts) = (tree.nodes(), tree.level_starts());
    let mut linear = Vec::with_capacity(nodes.len());
    let mut codes = vec![0u64];
    for level in 0..tree.levels() {
        let range = starts[level as usize] as usize..starts[level as usize + 1] as usize;
        let mut below = Vec::new();
        for (node, &code) in nodes[range].iter().zip(&codes) {
            linear.push((code, level, node.min(), node.max()));
            if node.first_child().is_some() {
                below.extend((0..4).map(|corner| code << 2 | corner).filter(|&child| {
                    let (x, y) = decode(child);
                    let side = 1u64 << (tree.levels() - 2 - level);
                    u64::from(x) * side < tree.grid().width.into()
                        && u64::from(y) * side < tree.grid().height.into()
                }));
            }
        }
        codes = below;
    }
    linear
}

/// The bits of a code in turn.
fn decode(code: u64) -> (u32, u32) {
    let gather = |code: u64| (0..32).fold(0, |bits, i| bits | ((code >> (2 * i) & 1) as u32) << i);
    (gather(code), gather(code >> 1))
}

fn memory(tree: &Tree<i16>) {
    let nodes = tree.nodes().len().max(1) as f64;
    println!(
        "{:.2} bytes a node, {:.3} bits a cell; {:.0}% of a pointer quadtree with pointers of 32 bits, {:.0}% of 64",
        tree.bytes() as f64 / nodes,
        tree.bits_per_cell(),
        100.0 * tree.bytes() as f64 / tree.pointer_tree_bytes(4) as f64,
        100.0 * tree.bytes() as f64 / tree.pointer_tree_bytes(8) as f64,
    );
}
