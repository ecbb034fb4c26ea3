//! `ccq_bench`: trees over a raster of the world's size, on a GPU and beside it on the CPU.
//!
//! `ccq_bench [WIDTH HEIGHT [DEVICE]]`, 43200 x 21600 on `cuda:0` without. A seeded fractal field of i16 is made on the
//! CPU, with eight bins of about as many cells. Times on the GPU are of ten runs by events, those that end on the host
//! by its clock, after two to warm up. A row has the cells, and the nodes of the tree.

use anyhow::{Context, Result};
use benches::{Times, clocked, fractal};
use ccq_tree::gpu::{self, Condition, Workspace};
use ccq_tree::{Params, Query, Tree, build, quadrants, quantile_boundaries};
use gpu_core::{Device, DeviceChoice, DeviceGrid, Gpu, Grid, GridSlice};

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let side = |i: usize, default: u32| words.get(i).map_or(Ok(default), |word| word.parse());
    let (width, height) = (side(0, 43200)?, side(1, 21600)?);
    let choice: DeviceChoice = words.get(2).map_or("cuda:0", String::as_str).parse()?;
    let gpu = Gpu::open(choice)?;
    let raster = fractal(0..width, 0..height);
    let quantiles = |bins: usize| -> Result<Vec<f64>> {
        let boundaries = quantile_boundaries(raster.view(), None, bins)?;
        Ok(boundaries.into_iter().map(f64::from).collect())
    };
    let bins = quantiles(8)?;
    let params = Params::new().bins(bins.clone());
    let resident = DeviceGrid::upload(&gpu, raster.view())?;
    let tree = build_resident(&gpu, &resident, &params)?;
    build_tiles(&gpu, &resident, &params)?;
    // Eight bins of which the lowest has a hundredth of the cells.
    let hundredths = quantiles(100)?;
    let rare = [0, 14, 28, 42, 56, 70, 85].map(|i: usize| hundredths[i.min(hundredths.len() - 1)]);
    let rare_tree = gpu::build(&mut Workspace::new(&gpu)?, &resident, &Params::new().bins(rare))?;
    drop(resident);
    end_to_end(&gpu, &raster, &params)?;
    let host = tree.to_host()?;
    search(&gpu, "eighth", &tree, &host, (bins[2], bins[3]))?;
    search(&gpu, "hundredth", &rare_tree, &rare_tree.to_host()?, (f64::NEG_INFINITY, rare[0]))?;
    load(&host)?;
    memory(&host);
    Ok(())
}

/// Timed runs.
const RUNS: usize = 10;

fn build_resident(
    gpu: &Gpu,
    raster: &DeviceGrid<i16>,
    params: &Params,
) -> Result<gpu::DeviceTree<i16>> {
    let mut workspace = Workspace::new(gpu)?;
    let times = Times::on_device(gpu, RUNS, || Ok(gpu::build(&mut workspace, raster, params)?))?;
    let tree = gpu::build(&mut workspace, raster, params)?;
    let (cells, room) = (raster.grid().cells(), tree.nodes().len());
    times.print("tessera", "ccq_build", cells, room as u64);
    let within = || Ok(gpu::build_with_capacity(&mut workspace, raster, params, room)?);
    let times = Times::on_device(gpu, RUNS, within)?;
    times.print("tessera", "ccq_build_in_given_room", cells, room as u64);
    Ok(tree)
}

/// One tile of 4096 x 4096, and all tiles of the raster together.
fn build_tiles(gpu: &Gpu, raster: &DeviceGrid<i16>, params: &Params) -> Result<()> {
    let mut workspace = Workspace::new(gpu)?;
    let side = 4096.min(raster.width()).min(raster.height());
    let host = fractal(0..side, 0..side);
    let tile = DeviceGrid::upload(gpu, host.view())?;
    let times = Times::on_device(gpu, RUNS, || Ok(gpu::build(&mut workspace, &tile, params)?))?;
    let (cells, room) =
        (tile.grid().cells(), gpu::build(&mut workspace, &tile, params)?.nodes().len());
    times.print("tessera", "ccq_tile", cells, room as u64);
    let within = || Ok(gpu::build_with_capacity(&mut workspace, &tile, params, room)?);
    let times = Times::on_device(gpu, RUNS, within)?;
    times.print("tessera", "ccq_tile_in_given_room", cells, room as u64);
    let slice = GridSlice::from(raster);
    let forest = || Ok(gpu::build_forest(&mut workspace, slice, 4096, params)?);
    let times = Times::on_device(gpu, RUNS, forest)?;
    let (columns, rows) = gpu::build_forest(&mut workspace, slice, 4096, params)?.tiles();
    let (cells, tiles) = (raster.grid().cells(), u64::from(columns * rows));
    times.print("tessera", "ccq_tiles_in_a_batch", cells, tiles);
    let merged =
        || Ok(gpu::build_forest(&mut workspace, slice, 4096, params)?.merge(&mut workspace)?);
    let times = Times::on_device(gpu, RUNS, merged)?;
    times.print("tessera", "ccq_tiles_merged", cells, tiles);
    Ok(())
}

/// From pageable host memory to a tree in host memory.
fn end_to_end(gpu: &Gpu, raster: &Grid<i16>, params: &Params) -> Result<()> {
    let device = Device::Gpu(gpu.clone());
    let mut built = None;
    let times = Times::on_host(RUNS, || {
        drop(built.take());
        built = Some(build(&device, raster.view(), params)?);
        Ok(())
    })?;
    let built = built.context("a tree was built")?;
    let (cells, nodes) = (raster.grid().cells(), built.nodes().len() as u64);
    times.print("tessera", "ccq_host", cells, nodes);
    let back = gpu.zeroed::<u8>(built.bytes() as usize)?;
    let times = Times::on_host(RUNS, || {
        let resident = DeviceGrid::upload(gpu, raster.view())?;
        gpu.synchronize()?;
        Ok((back.to_host()?, resident))
    })?;
    times.print("tessera", "ccq_host_copies_alone", cells, nodes);
    let (tree, time) = clocked(|| Ok(build(&Device::Cpu, raster.view(), params)?))?;
    Times::new(vec![time]).print("cpu", "ccq_host", cells, nodes);
    anyhow::ensure!(tree == built, "the device and the CPU have built different trees");
    Ok(())
}

/// The cells of one bin, which has `part` of all; a row has these cells, and the quadrants.
fn search(
    gpu: &Gpu,
    part: &str,
    tree: &gpu::DeviceTree<i16>,
    host: &Tree<i16>,
    (low, high): (f64, f64),
) -> Result<()> {
    let (mut workspace, query) = (Workspace::new(gpu)?, Query::new());
    let asked = [Condition::new(tree).range(low, high)];
    let found = gpu::count(&mut workspace, &asked, &query)?.to_host()?;
    let print = |what: &str, library: &str, times: Times| {
        times.print(library, format!("ccq_{part}_{what}"), found[1], found[0]);
    };
    let count = || Ok(gpu::count(&mut workspace, &asked, &query)?);
    print("count", "tessera", Times::on_device(gpu, RUNS, count)?);
    let quadrants_to_host = || Ok(gpu::quadrants(&mut workspace, &asked, &query)?);
    print("quadrants_to_host", "tessera", Times::on_device(gpu, RUNS, quadrants_to_host)?);
    let mask = || Ok(gpu::mask(&mut workspace, &asked, &query)?);
    print("mask", "tessera", Times::on_device(gpu, RUNS, mask)?);
    let runs = || Ok(gpu::runs(&mut workspace, &asked, &query)?);
    print("runs_to_host", "tessera", Times::on_device(gpu, RUNS, runs)?);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let condition = [ccq_tree::Condition::new(host).range(low, high)];
    let on_cpu = || Ok(pool.install(|| quadrants(&Device::Cpu, &condition, &query))?);
    print("quadrants_by_one_thread", "cpu", Times::on_host(RUNS, on_cpu)?);
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
    let times = Times::on_host(RUNS, || {
        // SAFETY: nobody else knows the file.
        let mapped = unsafe { Tree::<i16>::map(&path)? };
        Ok(std::hint::black_box(mapped.nodes().len()))
    });
    std::fs::remove_file(&path)?;
    let (cells, nodes) = (tree.grid().cells(), tree.nodes().len() as u64);
    times?.print("cpu", "ccq_file_mapped", cells, nodes);
    let linear = linear(tree);
    let (root, time) = clocked(|| pointer_tree(&linear).context("a tree has a root"))?;
    Times::new(vec![time]).print("cpu", "ccq_pointer_tree_rebuilt", cells, nodes);
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
        "# {:.2} bytes a node, {:.3} bits a cell; {:.0}% of a pointer quadtree with pointers of 32 bits, {:.0}% of 64",
        tree.bytes() as f64 / nodes,
        tree.bits_per_cell(),
        100.0 * tree.bytes() as f64 / tree.pointer_tree_bytes(4) as f64,
        100.0 * tree.bytes() as f64 / tree.pointer_tree_bytes(8) as f64,
    );
}
