//! Times the library on the CPU beside what people can install: nearest sites of rasters, inverse distances over
//! the 12 nearest points, and Voronoi diagrams of the globe. `benches/peers/distance_rivals.py` has the same masks, and `benches/peers/nearest_rivals.py`
//! the same points. This program also times kiddo, whose search returns the neighbours alone.
//!
//! `cpu_bench distance [SIDE] [MASK]`: 0.01%, 1% and 25% random sites, and the window of SIDE x SIDE at the north-west
//! of MASK (.npy, .npz, .png, .tif). Above a side of 4096 it times fewer outputs.
//!
//! `cpu_bench nearest [POINTS [NEIGHBOURS [PATTERN]]]`: random points, and a grid of 5 cells for 2 points. With the
//! pattern `clustered` the points lie in 64 heaps; with `scattered` the targets are as many random places.
//!
//! `cpu_bench globe [SITES [LEVEL]]`: the nearest site of each cell, of 50,000 random sites at level 9. kiddo searches for
//! the centres of the cells in space. Both times have the centres in them.
//!
//! Each time is of 3 runs after a first one. The number of threads is rayon's (`RAYON_NUM_THREADS`).

use std::num::NonZero;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use benches::{Times, clocked, unit};
use gpu_core::{Device, GridSpec, Points};
use kiddo::{ImmutableKdTree, SquaredEuclidean};
use pba_voronoi::{Baseline, Input, Method, Params, Sites, transform};
use rayon::prelude::*;
use sphere_qtm::Level;

const RUNS: usize = 3;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    println!("# threads: {}", rayon::current_num_threads());
    match words.as_slice() {
        ["distance"] => distance(4096, None),
        ["distance", side] => distance(side.parse()?, None),
        ["distance", side, mask] => distance(side.parse()?, Some(Path::new(mask))),
        ["nearest"] => nearest(1_000_000, 12, ""),
        ["nearest", points] => nearest(points.parse()?, 12, ""),
        ["nearest", points, neighbours] => nearest(points.parse()?, neighbours.parse()?, ""),
        ["nearest", points, neighbours, pattern @ ("clustered" | "scattered")] => {
            nearest(points.parse()?, neighbours.parse()?, pattern)
        }
        ["globe"] => globe(50_000, 9),
        ["globe", sites] => globe(sites.parse()?, 9),
        ["globe", sites, level] => globe(sites.parse()?, level.parse()?),
        _ => bail!(
            "usage: cpu_bench distance [SIDE] [MASK] | \
             nearest [POINTS [NEIGHBOURS [clustered | scattered]]] | globe [SITES [LEVEL]]"
        ),
    }
}

fn distance(side: u32, mask: Option<&Path>) -> Result<()> {
    for density in [0.0001, 0.01, 0.25] {
        row(&format!("{}%", density * 100.0), side, &random(side, density))?;
    }
    match mask {
        Some(path) => row("land", side, &window(path, side as usize)?),
        None => Ok(()),
    }
}

fn row(mask: &str, side: u32, sites: &[u8]) -> Result<()> {
    let input = Input::new(Sites::Mask(sites), GridSpec::of_pixels(side, side));
    let count = sites.iter().map(|&site| u64::from(site != 0)).sum();
    let both = Params::new().nearest().distance();
    let mut all = vec![("distances", Params::new().distance()), ("indices_and_distances", both)];
    if side <= 4096 {
        all.push(("indices", Params::new().nearest()));
        all.push(("both_by_scan_prune", both.method(Method::Baseline(Baseline::ScanPrune))));
    }
    for (outputs, params) in all {
        let times = timed(|| Ok(transform(&Device::Cpu, &input, &params)?))?;
        let work = format!("distance_{mask}_{outputs}");
        times.print("cpu", work, u64::from(side).pow(2), count);
    }
    Ok(())
}

/// A repeatable mask: the peer makes the same one.
fn random(side: u32, density: f64) -> Vec<u8> {
    let threshold = (density * 2f64.powi(32)) as u64;
    let is_site = |p: u64| {
        // The mixing function of splitmix64.
        let mut z = p.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) >> 32 < threshold
    };
    (0..u64::from(side) * u64::from(side)).map(|p| u8::from(is_site(p))).collect()
}

/// The north-west corner of a mask.
fn window(path: &Path, side: usize) -> Result<Vec<u8>> {
    let mask = geo_io::read_mask(path, &geo_io::SiteValues::default())?;
    ensure!(side <= mask.width && side <= mask.height, "the mask is smaller than {side} x {side}");
    let rows = mask.sites.chunks(mask.width).take(side);
    Ok(rows.flat_map(|row| &row[..side]).copied().collect())
}

/// The whole call, with its index, and beside it kiddo's tree and search, which give the neighbours alone.
fn nearest(count: u64, neighbours: u32, pattern: &str) -> Result<()> {
    let side = (count as f64 * 2.5).sqrt() as u32;
    let along = |axis| move |i: u64| unit(axis, i) * f64::from(side);
    let point = |axis| {
        move |i: u64| match pattern {
            "clustered" => clustered(axis, i) * f64::from(side),
            _ => along(axis)(i),
        }
    };
    let (x, y, z) = (column(count, point(1)), column(count, point(2)), column(count, along(3)));
    let grid = GridSpec::new(0.0, f64::from(side), 1.0, side, side)?;
    let places: Vec<[f64; 2]> = match pattern {
        "scattered" => column(grid.cells(), |i| [along(4)(i), along(5)(i)]),
        _ => column(grid.cells(), |i| {
            grid.cell_centre((i % u64::from(side)) as u32, (i / u64::from(side)) as u32).into()
        }),
    };
    let to: (Vec<f64>, Vec<f64>) = places.iter().map(|&[x, y]| (x, y)).unzip();
    let targets = match pattern {
        "scattered" => idw::Targets::Points { x: &to.0, y: &to.1 },
        _ => grid.into(),
    };
    let mut work = format!("idw_{neighbours}_nearest");
    if !pattern.is_empty() {
        work += &format!("_{pattern}");
    }
    let points = Points { x: &x, y: &y, values: &[&z] };
    let input = idw::Input::new(points, targets);
    let params = idw::Params::nearest(neighbours);
    let ours = || Ok(idw::interpolate::<f32>(&Device::Cpu, input, &params)?);
    timed(ours)?.print("cpu", &work, grid.cells(), count);
    let points: Vec<[f64; 2]> = x.iter().zip(&y).map(|(&x, &y)| [x, y]).collect();
    let k = NonZero::new(neighbours as usize).context("no neighbours")?;
    let theirs = || {
        let tree = ImmutableKdTree::<f64, 2>::new_from_slice(&points)?;
        let sum = |place: &[f64; 2]| {
            let found = tree.query(place).nearest_n::<SquaredEuclidean<f64>>(k).execute();
            found.iter().map(|near| near.distance).sum::<f64>()
        };
        Ok(places.par_iter().map(sum).collect::<Vec<f64>>())
    };
    timed(theirs)?.print("kiddo", &work, grid.cells(), count);
    Ok(())
}

/// The diagram of the globe; kiddo's tree of the sites in space, and its nearest site of each cell's centre. A site that kiddo finds
/// and the diagram does not must be as near.
fn globe(sites: u64, level: u32) -> Result<()> {
    let level = Level::new(level)?;
    let longitudes = column(sites, |i| unit(6, i) * 360.0 - 180.0);
    let latitudes = column(sites, |i| (unit(7, i) * 2.0 - 1.0).asin().to_degrees());
    let points = Points { x: &longitudes, y: &latitudes, values: &[] };
    let params = sphere_qtm::Params::new(level);
    let ours = || Ok(sphere_qtm::voronoi(&Device::Cpu, &points, &params)?);
    let work = format!("globe_{}_{sites}", level.get());
    timed(ours)?.print("cpu", &work, level.cell_count(), sites);
    let places: Vec<[f64; 3]> = (longitudes.iter().zip(&latitudes))
        .map(|(&longitude, &latitude)| vector(longitude, latitude))
        .collect();
    let theirs = || {
        let tree = ImmutableKdTree::<f64, 3>::new_from_slice(&places)?;
        let nearest = |index: u64| {
            let centre = sphere_qtm::Cell::from_index(level, index)?.centre().to_array();
            Ok(tree.query(&centre).nearest_one::<SquaredEuclidean<f64>>().execute())
        };
        let cells = (0..level.cell_count()).into_par_iter();
        cells.map(nearest).collect::<Result<Vec<_>>>()
    };
    timed(theirs)?.print("kiddo", &work, level.cell_count(), sites);
    Ok(())
}

/// The unit vector of a place in degrees.
fn vector(longitude: f64, latitude: f64) -> [f64; 3] {
    let ((a, b), (c, d)) = (longitude.to_radians().sin_cos(), latitude.to_radians().sin_cos());
    [d * b, d * a, c]
}

/// Numbers in a column.
fn column<T: Send>(count: u64, number: impl Fn(u64) -> T + Sync + Send) -> Vec<T> {
    (0..count).into_par_iter().map(number).collect()
}

/// A coordinate of points in 64 heaps of very different widths, most of a heap near its middle.
fn clustered(axis: u64, i: u64) -> f64 {
    let (heap, offset) = (i % 64, unit(axis, i) - 0.5);
    let width = 0.1 + 0.8 * unit(8, heap);
    unit(axis + 8, heap) + width * offset * offset * offset
}

/// Some runs after one; what they give is dropped outside of the time.
fn timed<R>(mut work: impl FnMut() -> Result<R>) -> Result<Times> {
    let mut run = || clocked(&mut work).map(|(_, time)| time);
    run()?;
    Ok(Times::new((0..RUNS).map(|_| run()).collect::<Result<_>>()?))
}
