//! Times `delaunay-stars` beside the crate `spade`, which uses one thread, over `testing::clouds`.
//!
//! `delaunay_bench gpu [POINTS [CLOUD]]`: the same clouds, of 7,000,000 points, on a GPU: the index, and the stars from it, beside
//! the CPU's triangulation. Both must have as many edges.
//!
//! `delaunay_bench [POINTS [CLOUD]]`: every cloud of 1,000,000 points, or the one of that name. The number of threads is rayon's
//! (`RAYON_NUM_THREADS`). Both must have as many edges. 3 runs; spade has one, which takes minutes or hours for some clouds, such as a
//! straight line: name a cloud to leave these out.

use anyhow::{Result, bail, ensure};
use benches::{Times, clocked};
use gpu_core::{DeviceChoice, Gpu, Points};
use quadtree_sort::gpu::{Workspace, index};
use spade::{DelaunayTriangulation, Point2, Triangulation as _};
use testing::Cloud;

const RUNS: usize = 3;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (on_gpu, words) = match words.as_slice() {
        ["gpu", words @ ..] => (true, words),
        words => (false, words),
    };
    let (points, name) = match words {
        [] => (if on_gpu { 7_000_000 } else { 1_000_000 }, None),
        [points] => (points.parse()?, None),
        [points, name] => (points.parse()?, Some(*name)),
        _ => bail!("usage: delaunay_bench [gpu] [POINTS [CLOUD]]"),
    };
    println!("# threads: {}", rayon::current_num_threads());
    let clouds = testing::clouds::all(points, 1);
    for cloud in clouds.filter(|cloud| name.is_none_or(|name| name == cloud.name)) {
        if on_gpu { gpu_rows(&cloud)? } else { rows(&cloud)? }
    }
    Ok(())
}

fn gpu_rows(cloud: &Cloud) -> Result<()> {
    let name = cloud.name.replace(' ', "_");
    let gpu = Gpu::open(DeviceChoice::Cuda(0))?;
    let mut workspace = Workspace::new(&gpu)?;
    let (x, y) = (gpu.upload(&cloud.x)?, gpu.upload(&cloud.y)?);
    let times = Times::on_device(&gpu, RUNS, || Ok(index(&mut workspace, &x, &y, None)?))?;
    times.print("gpu", format!("index_{name}"), cloud.len() as u64, 0);
    let index = index(&mut workspace, &x, &y, None)?;
    let mut edges = 0;
    let times = Times::on_device(&gpu, RUNS, || {
        let found = delaunay_stars::gpu::triangulate(&mut workspace, &index)?;
        edges = found.neighbours().len() / 2;
        Ok(())
    })?;
    times.print("gpu", format!("stars_{name}"), cloud.len() as u64, edges as u64);
    let points = Points::new(&cloud.x, &cloud.y);
    let (found, time) = clocked(|| Ok(delaunay_stars::triangulate(points, &())?))?;
    let theirs = found.neighbours().len() / 2;
    Times::new(vec![time]).print("cpu", format!("stars_{name}"), cloud.len() as u64, theirs as u64);
    ensure!(theirs == edges, "{}: {edges} edges, and {theirs} by the CPU", cloud.name);
    Ok(())
}

fn rows(cloud: &Cloud) -> Result<()> {
    let work = format!("delaunay_{}", cloud.name.replace(' ', "_"));
    let mut edges = 0;
    let run = || -> Result<_> {
        let points = Points::new(&cloud.x, &cloud.y);
        let (found, time) = clocked(|| Ok(delaunay_stars::triangulate(points, &())?))?;
        edges = found.neighbours().len() / 2;
        Ok(time)
    };
    let times = Times::new(std::iter::repeat_with(run).take(RUNS).collect::<Result<_>>()?);
    times.print("cpu", &work, cloud.len() as u64, edges as u64);
    let vertices = || cloud.x.iter().zip(&cloud.y).map(|(&x, &y)| Point2::new(x, y)).collect();
    let bulk = || Ok(DelaunayTriangulation::<Point2<f64>>::bulk_load(vertices())?);
    let (spade, time) = clocked(bulk)?;
    Times::new(vec![time]).print("spade", &work, cloud.len() as u64, edges as u64);
    let theirs = spade.num_undirected_edges();
    ensure!(theirs == edges, "{}: {edges} edges, and {theirs} by spade", cloud.name);
    Ok(())
}
