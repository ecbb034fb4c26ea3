//! Times `delaunay-stars` beside the crate `spade`, which uses one thread, over `testing::clouds`.
//!
//! `delaunay_bench [POINTS [CLOUD]]`: every cloud of 1,000,000 points, or the one of that name. The number of threads is rayon's
//! (`RAYON_NUM_THREADS`). Both must have as many edges. 3 runs; spade has one, which takes minutes or hours for some clouds, such as a
//! straight line: name a cloud to leave these out.

use anyhow::{Result, bail, ensure};
use benches::{Times, clocked};
use gpu_core::Points;
use spade::{DelaunayTriangulation, Point2, Triangulation as _};
use testing::Cloud;

const RUNS: usize = 3;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (points, name) = match words.as_slice() {
        [] => (1_000_000, None),
        [points] => (points.parse()?, None),
        [points, name] => (points.parse()?, Some(*name)),
        _ => bail!("usage: delaunay_bench [POINTS [CLOUD]]"),
    };
    println!("# threads: {}", rayon::current_num_threads());
    let clouds = testing::clouds::all(points, 1);
    for cloud in clouds.filter(|cloud| name.is_none_or(|name| name == cloud.name)) {
        rows(&cloud)?;
    }
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
