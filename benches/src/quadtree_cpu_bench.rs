//! Times quadtree-sort on the CPU beside a recursive quadtree of pointers, `kiddo`'s immutable k-d tree and
//! `geo-index`'s packed trees, on the same points.
//!
//! `quadtree_cpu_bench [POINTS] [QUERIES]`: building, the 8 nearest points of each query, and small windows; the
//! best of 5 runs. The number of threads is rayon's (`RAYON_NUM_THREADS`); queries of every library run on all
//! of them. Answers are compared before a time is printed.

use std::num::NonZero;
use std::time::Instant;

use anyhow::{Result, ensure};
use geo_index::kdtree::{KDTreeBuilder, KDTreeIndex};
use geo_index::rtree::sort::HilbertSort;
use geo_index::rtree::{RTreeBuilder, RTreeIndex};
use gpu_core::{Bounds, Device, Points};
use kiddo::{ImmutableKdTree, SquaredEuclidean};
use quadtree_sort::{Lists, Neighbours, Params, Regions, build, index};
use rayon::prelude::*;

const RUNS: usize = 5;

/// Neighbours.
const K: usize = 8;

/// Points of a leaf.
const THRESHOLD: usize = 20;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let count: usize = arguments.next().unwrap_or("10000000".into()).parse()?;
    let queries: usize = arguments.next().unwrap_or("1000000".into()).parse()?;
    println!("{} threads, {count} points, {queries} queries", rayon::current_num_threads());
    for (name, make) in
        [("uniform", uniform as fn(usize, u64) -> [Vec<f64>; 2]), ("clustered", clustered)]
    {
        println!("{name}:");
        race(&make(count, 1), &make(queries, 2))?;
    }
    Ok(())
}

/// Runs a few times; gives the last result and the least time in ms.
fn best<R>(mut work: impl FnMut() -> R) -> (R, f64) {
    let mut timed = || {
        let start = Instant::now();
        let result = work();
        (result, start.elapsed().as_secs_f64() * 1e3)
    };
    let (mut last, mut least) = timed();
    for _ in 1..RUNS {
        // What the run before made is not there beside.
        drop(last);
        let (result, time) = timed();
        (last, least) = (result, least.min(time));
    }
    (last, least)
}

fn race(places: &[Vec<f64>; 2], targets: &[Vec<f64>; 2]) -> Result<()> {
    let ([x, y], [qx, qy]) = (places, targets);
    let side = (50.0 / x.len() as f64).sqrt();
    let windows: Vec<Bounds> = qx
        .iter()
        .zip(qy)
        .map(|(&x, &y)| Bounds { min_x: x, min_y: y, max_x: x + side, max_y: y + side })
        .collect();

    let (tree, built) =
        best(|| build(&Device::Cpu, Points::new(x, y), &Params::new().threshold(THRESHOLD as u32)));
    let tree = tree?;
    let (near, near_time) = best(|| tree.nearest(qx, qy, K));
    let near = near?;
    let (found, window_time) = best(|| tree.list_in(Regions::Windows(&windows)));
    let found = found?;
    row("quadtree-sort", built, Some(near_time), Some(window_time));
    drop(tree);

    let (points, built) = best(|| index(&Device::Cpu, Points::new(x, y), None));
    let points = points?;
    let (same, near_time) = best(|| points.nearest(qx, qy, K));
    ensure!(same? == near, "the index finds others than the tree");
    row("index", built, Some(near_time), None);
    drop(points);

    race_pointers(places, &windows, &found)?;
    race_kiddo(places, targets, &near)?;
    race_geo_index(places, targets, &windows, &found)
}

/// A tree of nodes on the heap, made point by point.
fn race_pointers([x, y]: &[Vec<f64>; 2], windows: &[Bounds], found: &Lists) -> Result<()> {
    let (pointers, built) = best(|| Pointers::of(x, y));
    let (counts, window_time) = best(|| -> Vec<usize> {
        windows.par_iter().map(|window| pointers.count_in(window)).collect()
    });
    ensure!(counts.iter().enumerate().all(|(i, &count)| count == found.of(i).len()), "pointers");
    row("recursive, pointers", built, None, Some(window_time));
    Ok(())
}

/// kiddo's k-d tree.
fn race_kiddo([x, y]: &[Vec<f64>; 2], [qx, qy]: &[Vec<f64>; 2], near: &Neighbours) -> Result<()> {
    let all: Vec<[f64; 2]> = x.iter().zip(y).map(|(&x, &y)| [x, y]).collect();
    let (kiddo, built) = best(|| ImmutableKdTree::<f64, 2>::new_from_slice(&all));
    let kiddo = kiddo?;
    let k = NonZero::new(K).expect("positive");
    let ask = |i: usize| {
        let place = [qx[i], qy[i]];
        kiddo.query(&place).nearest_n::<SquaredEuclidean<f64>>(k).execute()
    };
    let (_, near_time) = best(|| -> Vec<[(u32, f64); K]> {
        let all = (0..qx.len()).into_par_iter().map(|i| {
            let found = ask(i);
            std::array::from_fn(|j| (found[j].item, found[j].distance))
        });
        all.collect()
    });
    let same = |i: usize| {
        let found = ask(i);
        let mut distances = found.iter().map(|near| near.distance.sqrt()).zip(near.of(i).1);
        distances.all(|(a, &b)| a == b)
    };
    ensure!((0..qx.len()).step_by(997).all(same), "kiddo finds other distances");
    row("kiddo, immutable", built, Some(near_time), None);
    Ok(())
}

/// geo-index's k-d tree and its R-tree.
fn race_geo_index(
    [x, y]: &[Vec<f64>; 2],
    [qx, qy]: &[Vec<f64>; 2],
    windows: &[Bounds],
    found: &Lists,
) -> Result<()> {
    let (packed, built) = best(|| {
        let mut builder = KDTreeBuilder::<f64>::new(x.len() as u32);
        x.iter().zip(y).for_each(|(&x, &y)| {
            builder.add(x, y);
        });
        builder.finish()
    });
    let (lists, window_time) = best(|| -> Vec<Vec<u32>> {
        windows.par_iter().map(|w| packed.range(w.min_x, w.min_y, w.max_x, w.max_y)).collect()
    });
    ensure!(lists.iter().enumerate().all(|(i, list)| list.len() == found.of(i).len()), "geo-index");
    row("geo-index, k-d tree", built, None, Some(window_time));
    drop(packed);

    let (packed, built) = best(|| {
        let mut builder = RTreeBuilder::<f64>::new(x.len() as u32);
        x.iter().zip(y).for_each(|(&x, &y)| {
            builder.add(x, y, x, y);
        });
        builder.finish::<HilbertSort>()
    });
    let (_, near_time) = best(|| -> Vec<Vec<u32>> {
        let all = (0..qx.len()).into_par_iter();
        all.map(|i| packed.neighbors(qx[i], qy[i], Some(K), None)).collect()
    });
    let (_, window_time) = best(|| -> Vec<Vec<u32>> {
        windows.par_iter().map(|w| packed.search(w.min_x, w.min_y, w.max_x, w.max_y)).collect()
    });
    row("geo-index, R-tree", built, Some(near_time), Some(window_time));
    Ok(())
}

fn row(name: &str, built: f64, nearest: Option<f64>, windows: Option<f64>) {
    let ms = |time: Option<f64>| time.map_or("-".to_owned(), |time| format!("{time:.0} ms"));
    println!(
        "  {name:<20} build {built:>7.0} ms   nearest {:>9}   windows {:>9}",
        ms(nearest),
        ms(windows)
    );
}

/// The tree as textbooks have it (Finkel and Bentley 1974, doi:10.1007/BF00288933): a node holds its points until they
/// pass the threshold, then four boxes.
struct Pointers<'a> {
    x: &'a [f64],
    y: &'a [f64],
    root: Branch,
}

enum Branch {
    Leaf(Vec<u32>),
    Inner(Box<[Branch; 4]>),
}

/// A cell by its middle and half its side.
#[derive(Clone, Copy)]
struct Square {
    x: f64,
    y: f64,
    half: f64,
}

impl Square {
    fn quadrant(self, x: f64, y: f64) -> usize {
        usize::from(x >= self.x) + 2 * usize::from(y >= self.y)
    }

    fn child(self, quadrant: usize) -> Self {
        let half = self.half / 2.0;
        let x = self.x + if quadrant & 1 == 0 { -half } else { half };
        let y = self.y + if quadrant & 2 == 0 { -half } else { half };
        Self { x, y, half }
    }
}

impl<'a> Pointers<'a> {
    fn of(x: &'a [f64], y: &'a [f64]) -> Self {
        let mut tree = Self { x, y, root: Branch::Leaf(Vec::new()) };
        let unit = Square { x: 0.5, y: 0.5, half: 0.5 };
        for i in 0..x.len() as u32 {
            insert(&mut tree.root, unit, 31, i, (x, y));
        }
        tree
    }

    fn count_in(&self, window: &Bounds) -> usize {
        let unit = Square { x: 0.5, y: 0.5, half: 0.5 };
        count(&self.root, unit, window, (self.x, self.y))
    }
}

fn insert(branch: &mut Branch, square: Square, levels: u32, i: u32, (x, y): (&[f64], &[f64])) {
    match branch {
        Branch::Inner(children) => {
            let quadrant = square.quadrant(x[i as usize], y[i as usize]);
            insert(&mut children[quadrant], square.child(quadrant), levels - 1, i, (x, y));
        }
        Branch::Leaf(points) => {
            points.push(i);
            if points.len() <= THRESHOLD || levels == 0 {
                return;
            }
            let points = std::mem::take(points);
            *branch = Branch::Inner(Box::new([const { Branch::Leaf(Vec::new()) }; 4]));
            points.into_iter().for_each(|i| insert(branch, square, levels, i, (x, y)));
        }
    }
}

fn count(branch: &Branch, square: Square, w: &Bounds, (x, y): (&[f64], &[f64])) -> usize {
    let Square { x: mx, y: my, half } = square;
    if w.max_x < mx - half || w.min_x > mx + half || w.max_y < my - half || w.min_y > my + half {
        return 0;
    }
    match branch {
        Branch::Leaf(points) => {
            let is_in = |&&i: &&u32| {
                let (x, y) = (x[i as usize], y[i as usize]);
                w.min_x <= x && x <= w.max_x && w.min_y <= y && y <= w.max_y
            };
            points.iter().filter(is_in).count()
        }
        Branch::Inner(children) => {
            let of = |(quadrant, child)| count(child, square.child(quadrant), w, (x, y));
            children.iter().enumerate().map(of).sum()
        }
    }
}

fn uniform(count: usize, seed: u64) -> [Vec<f64>; 2] {
    [0, 1].map(|axis| {
        let unit = |i: u64| (mix(i * 2 + axis + (seed << 40)) >> 11) as f64 / (1u64 << 53) as f64;
        (0..count as u64).into_par_iter().map(unit).collect()
    })
}

/// 64 heaps, most of whose points lie near the middle.
fn clustered(count: usize, seed: u64) -> [Vec<f64>; 2] {
    let ([mut x, mut y], [middles_x, middles_y]) = (uniform(count, seed), uniform(64, 100));
    let heap = |middles: &[f64], column: &mut [f64]| {
        column.par_iter_mut().enumerate().for_each(|(i, v)| {
            let (offset, width) = (2.0 * *v - 1.0, 0.1 * (i % 64 + 1) as f64 / 64.0);
            *v = (middles[i % 64] + width * offset * offset * offset).clamp(0.0, 1.0);
        });
    };
    heap(&middles_x, &mut x);
    heap(&middles_y, &mut y);
    [x, y]
}

/// The finaliser of splitmix64 (Steele, Lea and Flood 2014, DOI 10.1145/2660193.2660195).
fn mix(i: u64) -> u64 {
    let mut x = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
