//! Results from a diagram: the areas of regions, pairs of regions that touch, and outlines.

mod outline;

use std::collections::BTreeMap;

use gpu_core::host_memory;
use kernels_rs::sphere_qtm::triangle::Triangle;
use rayon::prelude::*;

use crate::cell::area;
use crate::{Cell, Diagram, Level, Result};

pub use outline::{Polygon, outlines};

/// Levels above this one are not divided among the cores.
const PARALLEL: u32 = 4;

/// Returns the area of each site's region on the sphere of radius 1, in steradians. The area is the sum of the areas of
/// the region's cells, exact up to rounding. All areas sum to 4 pi. Every machine gives the same bits.
///
/// The level decides how close this is to the area of the true region. A cell on a border gives about half of its
/// area to the wrong side, and most of these errors cancel.
///
/// ```
/// use gpu_core::{Device, Points};
/// use sphere_qtm::{Level, Params, region_areas, voronoi};
///
/// let poles = Points::new(&[0.0, 0.0], &[90.0, -90.0]);
/// let diagram = voronoi(&Device::Cpu, &poles, &Params::new(Level::new(3)?))?;
/// let hemisphere = 2.0 * std::f64::consts::PI;
/// assert!(region_areas(&diagram, 2)?.iter().all(|area| (area - hemisphere).abs() < 1e-12));
/// # Ok::<(), sphere_qtm::Error>(())
/// ```
///
/// # Errors
/// [`gpu_core::Error::Length`] and [`Error::Site`](crate::Error::Site) for a diagram that belongs to other sites.
pub fn region_areas(diagram: &Diagram, sites: usize) -> Result<Vec<f64>> {
    diagram.check(sites)?;
    let top = Level::new(diagram.level.get().min(PARALLEL))?;
    let parts: Vec<BTreeMap<u32, f64>> = (0..top.cell_count())
        .into_par_iter()
        .map(|index| {
            let cells = diagram.nearest.len() / top.cell_count() as usize;
            let first = index as usize * cells;
            let mut sums = BTreeMap::new();
            let triangle = Triangle::of_index(top.get(), index);
            sum_areas(&triangle, &diagram.nearest[first..first + cells], &mut sums);
            sums
        })
        .collect();
    let mut areas = host_memory::filled(0.0, sites)?;
    for (site, area) in parts.into_iter().flatten() {
        areas[site as usize] += area;
    }
    Ok(areas)
}

/// Adds the areas of a triangle's cells to those of their sites.
fn sum_areas(triangle: &Triangle, nearest: &[u32], sums: &mut BTreeMap<u32, f64>) {
    if let [site] = nearest {
        *sums.entry(*site).or_default() += area(triangle);
        return;
    }
    let quarter = nearest.len() / 4;
    for (child, nearest) in triangle.children().iter().zip(nearest.chunks(quarter)) {
        sum_areas(child, nearest, sums);
    }
}

/// Returns the pairs of sites whose regions touch: a cell of one shares an edge with a cell of the other. Each pair
/// has the lower site first, and the pairs are in order.
///
/// This is the Delaunay graph of the sites, as exact as the level allows. If two regions touch along less than a
/// cell, the pair may be missing. Where four regions meet in a point, the graph may hold a pair that does not
/// touch.
///
/// ```
/// use gpu_core::{Device, Points};
/// use sphere_qtm::{Level, Params, adjacency, voronoi};
///
/// // The north pole, three sites around the equator, the south pole.
/// let sites = Points::new(&[0.0, 0.0, 120.0, -120.0, 0.0], &[90.0, 0.0, 0.0, 0.0, -90.0]);
/// let diagram = voronoi(&Device::Cpu, &sites, &Params::new(Level::new(4)?))?;
/// let pairs = adjacency(&diagram, 5)?;
/// assert_eq!(pairs[..3], [[0, 1], [0, 2], [0, 3]]);
/// assert_eq!(pairs[3..], [[1, 2], [1, 3], [1, 4], [2, 3], [2, 4], [3, 4]]); // all but [0, 4]
/// # Ok::<(), sphere_qtm::Error>(())
/// ```
///
/// # Errors
/// The errors of [`region_areas`].
pub fn adjacency(diagram: &Diagram, sites: usize) -> Result<Vec<[u32; 2]>> {
    diagram.check(sites)?;
    let sorted = |mut pairs: Vec<[u32; 2]>| {
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    };
    let chunk = 1 << 14;
    let pairs: Vec<Vec<[u32; 2]>> = diagram
        .nearest
        .par_chunks(chunk)
        .enumerate()
        .map(|(i, nearest)| {
            let mut pairs = Vec::new();
            for (k, &site) in nearest.iter().enumerate() {
                let cell = Cell::at(diagram.level, (i * chunk + k) as u64);
                let others = cell.edge_neighbours().map(|n| diagram.nearest[n.index() as usize]);
                // The pair comes from the other side too.
                pairs.extend(others.into_iter().filter(|&o| site < o).map(|o| [site, o]));
            }
            sorted(pairs)
        })
        .collect();
    Ok(sorted(pairs.concat()))
}
