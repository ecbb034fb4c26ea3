//! Times `delaunay-stars` beside the crates `spade` and `delaunator`, which use one thread, over `testing::clouds`.
//!
//! `delaunay_bench gpu [POINTS [CLOUD]]`: the same clouds, of 7,000,000 points, on a GPU: the index, and the stars from it, beside
//! the CPU's triangulation. Both must have as many edges.
//!
//! `delaunay_bench [POINTS [CLOUD]]`: every cloud of 1,000,000 points, or the one of that name. The number of threads
//! is rayon's (`RAYON_NUM_THREADS`). Spade must have as many edges; delaunator's are only counted, since it merges points
//! that are nearly equal. `delaunay-stars` has 3 runs, the others one. Spade takes minutes or hours for some clouds, such
//! as a straight line; name a cloud to leave these out.
//!
//! `delaunay_bench write FOLDER [POINTS [CLOUD]]` writes the columns of the clouds for the programs of
//! `benches/peers`: NAME.x, NAME.y and NAME.z, each of f64 in little-endian order.
//!
//! `delaunay_bench surface [POINTS [SIDE [CLOUD]]]`: natural neighbours of 1,000,000 points at the centres of 1000 x
//! 1000 cells, by `nni-grid` and by spade, from points to heights, once each. Heights must differ by at most a
//! millionth of the greatest. Beside a stray point a hundredth is allowed, since spade rounds its shares by so much.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use benches::{Times, clocked};
use gpu_core::{Device, DeviceChoice, Gpu, GridSpec, Points};
use quadtree_sort::gpu::{Workspace, index};
use spade::{DelaunayTriangulation, HasPosition, Point2, Triangulation as _};
use testing::Cloud;

const RUNS: usize = 3;

/// The side of the square in which most clouds lie.
const EXTENT: f64 = 1000.0;

const USAGE: &str =
    "usage: delaunay_bench [gpu | write FOLDER] [POINTS [CLOUD]] | surface [POINTS [SIDE [CLOUD]]]";

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    println!("# threads: {}", rayon::current_num_threads());
    match words.as_slice() {
        ["gpu", words @ ..] => each(words, 7_000_000, gpu_rows),
        ["write", folder, words @ ..] => each(words, 1_000_000, |cloud| write(cloud, folder)),
        ["surface", points, side, name @ ..] => {
            let side = side.parse()?;
            let words: Vec<&str> = [*points].into_iter().chain(name.iter().copied()).collect();
            each(&words, 0, |cloud| surface_rows(cloud, side))
        }
        ["surface", words @ ..] => each(words, 1_000_000, |cloud| surface_rows(cloud, 1000)),
        words => each(words, 1_000_000, rows),
    }
}

/// The rows of every cloud, or of the one of that name.
fn each(words: &[&str], most: usize, rows: impl Fn(&Cloud) -> Result<()>) -> Result<()> {
    let (points, name) = match words {
        [] => (most, None),
        [points] => (points.parse()?, None),
        [points, name] => (points.parse()?, Some(*name)),
        _ => bail!(USAGE),
    };
    let clouds = testing::clouds::all(points, 1);
    for cloud in clouds.filter(|cloud| name.is_none_or(|name| name == cloud.name)) {
        rows(&cloud)?;
    }
    Ok(())
}

fn write(cloud: &Cloud, folder: &str) -> Result<()> {
    for (axis, column) in [("x", &cloud.x), ("y", &cloud.y), ("z", &cloud.z)] {
        let name = format!("{}.{axis}", cloud.name.replace(' ', "_"));
        let bytes: Vec<u8> = column.iter().flat_map(|value| value.to_le_bytes()).collect();
        std::fs::write(Path::new(folder).join(name), bytes)?;
    }
    Ok(())
}

/// A point for spade.
struct Site {
    position: Point2<f64>,
    z: f64,
}

impl HasPosition for Site {
    type Scalar = f64;

    fn position(&self) -> Point2<f64> {
        self.position
    }
}

fn surface_rows(cloud: &Cloud, side: u32) -> Result<()> {
    let work = format!("surface_{side}_{}", cloud.name.replace(' ', "_"));
    let grid = GridSpec::new(0.0, EXTENT, EXTENT / f64::from(side), side, side)?;
    let params = nni_grid::Params::new().max_distance(f64::INFINITY);
    let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z] };
    let run =
        || Ok(nni_grid::interpolate(&Device::Cpu, nni_grid::Input::new(points, grid), &params)?);
    let (ours, time) = clocked(run)?;
    Times::new(vec![time]).print("cpu", &work, cloud.len() as u64, grid.cells());
    let (theirs, time) = clocked(|| by_spade(cloud, &grid))?;
    Times::new(vec![time]).print("spade", &work, cloud.len() as u64, grid.cells());
    let most = cloud.z.iter().fold(0.0, |most, z| f64::max(most, z.abs()));
    let ours = ours.values[0].values();
    let wrong = ours.iter().zip(&theirs).find(|(own, other)| {
        other.is_some_and(|other| (f64::from(**own) - other).abs() > 1e-6 * most)
    });
    ensure!(wrong.is_none() || cloud.name == "stray", "{}: {wrong:?}", cloud.name);
    Ok(())
}

/// Natural neighbours at the cells' centres; `None` outside the hull.
fn by_spade(cloud: &Cloud, grid: &GridSpec) -> Result<Vec<Option<f64>>> {
    let site = |i: usize| Site { position: Point2::new(cloud.x[i], cloud.y[i]), z: cloud.z[i] };
    let mesh = DelaunayTriangulation::<Site>::bulk_load((0..cloud.len()).map(site).collect())?;
    let walk = mesh.natural_neighbor();
    let cells = (0..grid.height).flat_map(|row| (0..grid.width).map(move |column| (column, row)));
    let value = |(column, row)| {
        let (x, y) = grid.cell_centre(column, row);
        walk.interpolate(|site| site.data().z, Point2::new(x, y))
    };
    Ok(cells.map(value).collect())
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
    let (found, time) =
        clocked(|| Ok(delaunay_stars::triangulate(&gpu_core::Device::Cpu, points)?))?;
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
        let (found, time) =
            clocked(|| Ok(delaunay_stars::triangulate(&gpu_core::Device::Cpu, points)?))?;
        edges = found.neighbours().len() / 2;
        Ok(time)
    };
    let times = Times::new(std::iter::repeat_with(run).take(RUNS).collect::<Result<_>>()?);
    times.print("cpu", &work, cloud.len() as u64, edges as u64);
    let sites = cloud.x.iter().zip(&cloud.y).map(|(&x, &y)| delaunator::Point { x, y });
    let (found, time) = clocked(|| Ok(delaunator::triangulate(&sites.collect::<Vec<_>>())))?;
    // A side of the hull has one half, any other edge two.
    let theirs = (found.halfedges.len() + found.hull.len()) / 2;
    Times::new(vec![time]).print("delaunator", &work, cloud.len() as u64, theirs as u64);
    let vertices = || cloud.x.iter().zip(&cloud.y).map(|(&x, &y)| Point2::new(x, y)).collect();
    let bulk = || Ok(DelaunayTriangulation::<Point2<f64>>::bulk_load(vertices())?);
    let (spade, time) = clocked(bulk)?;
    Times::new(vec![time]).print("spade", &work, cloud.len() as u64, edges as u64);
    let theirs = spade.num_undirected_edges();
    ensure!(theirs == edges, "{}: {edges} edges, and {theirs} by spade", cloud.name);
    Ok(())
}
