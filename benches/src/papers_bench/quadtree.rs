//! J. Gluck, *Fast GPGPU Based Quadtree Construction* (2014): Figures 5 to 8 and 10, and what null nodes take.

use anyhow::{Result, ensure};
use benches::clocked;
use gpu_core::{Bounds, Device, Gpu, Points, Silent};
use quadtree_sort::gpu::Workspace;
use quadtree_sort::{Baseline, Method, Node, Params, Quadtree, build};

use crate::table::{Table, digits, ratio, whole};
use crate::{Bench, on_one_thread, survey};

const UNIT: Bounds = Bounds { min_x: 0.0, min_y: 0.0, max_x: 1.0, max_y: 1.0 };

/// Points of a leaf (Figure 10); the other figures have the first.
const THRESHOLDS: [u32; 3] = [20, 200, 2000];

pub fn tables(bench: &Bench) -> Result<Vec<Table>> {
    const K: usize = 1000;
    let counts = bench.choose(
        vec![100 * K, 1000 * K, 5000 * K, 10_000 * K, 20_000 * K, 40_000 * K, 80_000 * K],
        vec![K, 2 * K, 4 * K, 8 * K],
    );
    let [mut speed, mut thresholds, mut memory] = empty_tables();
    for count in counts {
        let cloud = Cloud::surveyed(count)?;
        let points = Points::new(&cloud.x, &cloud.y);
        let params = Params::new().bounds(UNIT).max_level(16);
        let level_sort = params.method(Method::Baseline(Baseline::LevelSort));
        let (tree, threads) = clocked(|| Ok(build(&Device::Cpu, points, &params)?))?;
        let (sequential_tree, sequential) =
            on_one_thread(|| Ok(build(&Device::Cpu, points, &level_sort)?))?;
        ensure!(sequential_tree.nodes() == tree.nodes(), "the methods give other nodes");
        drop(sequential_tree);
        memory.push(memory_row(&tree));
        let nodes = tree.nodes().len();
        drop(tree);
        let mut device = [[None; 3]; 2];
        let mut transferred = None;
        if let Some(gpu) = &bench.gpu {
            device = on_device(bench, gpu, &cloud, [&level_sort, &params], nodes)?;
            let on = Device::Gpu(gpu.clone());
            transferred = Some(bench.median_on_host(|| Ok(build(&on, points, &params)?))?);
        }
        let [of_level_sort, of_default] = device;
        speed.push([
            whole(count as u64),
            digits(sequential),
            digits(of_level_sort[0]),
            ratio(sequential, of_level_sort[0]),
            digits(of_default[0]),
            ratio(sequential, of_default[0]),
            digits(transferred),
            digits(threads),
            whole(nodes as u64),
        ]);
        let mut row = vec![whole(count as u64)];
        row.extend(device.into_iter().flatten().map(digits));
        thresholds.push(row);
    }
    Ok(vec![speed, thresholds, memory])
}

/// The tables of speeds, of thresholds and of memory, without rows.
fn empty_tables() -> [Table; 3] {
    let speed = Table::new(
        "Figures 5 to 8: the sequential sort and the GPU's",
        "Times in ms, threshold 20. Published: 5 to 12 times as fast as the sequential sort on one core, above 40 million points less, since its \
         card could not hold them; Quadro FX 3800. The figures print no times. The sequential sort is the same level sort on one thread of \
         the CPU. The thesis's points are real LiDAR of Pennsylvania, ours a simulated survey. Figures 7 and 8 leave out the levels that \
         the thesis builds on the CPU; here there are none.",
        &[
            "points",
            "sequential",
            "level sort",
            "sequential : level sort",
            "default",
            "sequential : default",
            "default with transfers",
            "CPU, all threads",
            "nodes",
        ],
    );
    let thresholds = Table::new(
        "Figure 10: thresholds",
        "Times in ms on the device. Published: a greater threshold is faster, but not by much.",
        &["points", "level sort, 20", "200", "2000", "default, 20", "200", "2000"],
    );
    let memory = Table::new(
        "Section 4.2.3: null nodes",
        format!(
            "Nodes at threshold 20, and MB of {} bytes each. *Pruned* keeps four children of every node that is divided, as the thesis does; \
             *complete* divides null nodes too, to the deepest level that has points.",
            size_of::<Node>()
        ),
        &[
            "points",
            "levels",
            "nodes, ours",
            "nodes, pruned",
            "nodes, complete",
            "MB, ours",
            "MB, pruned",
            "MB, complete",
        ],
    );
    [speed, thresholds, memory]
}

/// Milliseconds of each method at each threshold.
fn on_device(
    bench: &Bench,
    gpu: &Gpu,
    cloud: &Cloud,
    methods: [&Params; 2],
    nodes: usize,
) -> Result<[[Option<f64>; 3]; 2]> {
    let narrow = |column: &[f64]| -> Vec<f32> { column.iter().map(|&v| v as f32).collect() };
    let (x, y) = (gpu.upload(&narrow(&cloud.x))?, gpu.upload(&narrow(&cloud.y))?);
    let mut workspace = Workspace::new(gpu)?;
    let mut times = [[None; 3]; 2];
    for (times, params) in times.iter_mut().zip(methods) {
        for (time, threshold) in times.iter_mut().zip(THRESHOLDS) {
            let params = params.threshold(threshold);
            let mut run = || Ok(quadtree_sort::gpu::build(&mut workspace, &x, &y, &params)?);
            let found = run()?.node_count();
            ensure!(threshold != THRESHOLDS[0] || found == nodes, "{found} nodes, not {nodes}");
            *time = Some(bench.median(gpu, run)?);
        }
    }
    Ok(times)
}

fn memory_row(tree: &Quadtree) -> Vec<String> {
    let nodes = tree.nodes().len() as u64;
    let divided = tree.nodes().iter().filter(|node| !node.is_leaf()).count() as u64;
    let deepest = tree.nodes().iter().map(|node| node.level).max().unwrap_or(0);
    let complete = ((1u64 << (2 * (u32::from(deepest) + 1))) - 1) / 3;
    let counts = [nodes, 1 + 4 * divided, complete];
    let mut row = vec![whole(tree.order().len() as u64), (deepest + 1).to_string()];
    row.extend(counts.map(whole));
    row.extend(counts.map(|count| digits(count as f64 * size_of::<Node>() as f64 * 1e-6)));
    row
}

/// Returns of a simulated survey in the unit square, at coordinates that f32 holds.
struct Cloud {
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Cloud {
    fn surveyed(count: usize) -> Result<Self> {
        let survey = survey::fly(count as u64 * 3 / 2, 1, &Silent);
        let all = survey.x.len();
        ensure!(all >= count, "the survey has {all} returns, not {count}");
        let within = |column: &[f64]| -> Vec<f64> {
            let least = column.iter().copied().fold(f64::INFINITY, f64::min);
            let most = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let place = |i: usize| {
                let v = column[(i as u128 * all as u128 / count as u128) as usize];
                f64::from(((v - least) / (most - least)) as f32)
            };
            (0..count).map(place).collect()
        };
        Ok(Self { x: within(&survey.x), y: within(&survey.y) })
    }
}
