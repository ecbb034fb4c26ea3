//! The CPU's way of building, on all cores.

mod level_sort;
mod morton;

use gpu_core::{Bounds, Extent, Points, Progress, host_memory};
use kernels_rs::spatial::frame::Frame;
use rayon::prelude::*;

use crate::tree::{Node, Quadtree};
use crate::{Algorithm, Error, MOST_POINTS, Outside, Params, Result};

/// A point's code, and its index as given.
type Coded = (u64, u32);

/// [`build`](crate::build) on the CPU.
///
/// # Errors
/// As [`build`](crate::build).
pub fn build(points: Points<'_>, params: &Params, progress: &dyn Progress) -> Result<Quadtree> {
    params.check()?;
    progress.at("codes", 0.0)?;
    let extent = Extent::of(&Points::new(points.x, points.y))?;
    let given = points.len() as u64;
    if given > MOST_POINTS {
        return Err(Error::TooManyPoints { points: given, most: MOST_POINTS });
    }
    let nowhere = Bounds { min_x: 0.0, min_y: 0.0, max_x: 0.0, max_y: 0.0 };
    let (frame, bounds) = params.frame(extent.bounds.unwrap_or(nowhere))?;
    let coded = codes(points, &frame, params)?;
    progress.at("sort", 0.0)?;
    let (nodes, order) = match params.algorithm {
        Algorithm::Auto | Algorithm::Morton => morton::sort(coded, params, progress)?,
        Algorithm::LevelSort => level_sort::sort(coded, params, progress)?,
    };
    progress.at("points", 0.0)?;
    let gather = |column: &[f64]| -> Result<Vec<f64>> {
        let mut sorted = host_memory::filled(0.0, order.len())?;
        sorted.par_iter_mut().zip(&order).for_each(|(to, &from)| *to = column[from as usize]);
        Ok(sorted)
    };
    let (x, y) = (gather(points.x)?, gather(points.y)?);
    progress.at("points", 1.0)?;
    let threshold = params.threshold;
    let (nodes, order, x, y) = (nodes.into(), order.into(), x.into(), y.into());
    Ok(Quadtree { frame, bounds, threshold, nodes, order, x, y, given })
}

/// The codes of the points inside the bounds.
fn codes(points: Points<'_>, frame: &Frame, params: &Params) -> Result<Vec<Coded>> {
    let coded = |i: usize| (frame.code(points.x[i], points.y[i]), i as u32);
    let all = (0..points.len()).into_par_iter();
    let Some(bounds) = params.bounds else { return Ok(all.map(coded).collect()) };
    let (across, up) = (bounds.min_x..=bounds.max_x, bounds.min_y..=bounds.max_y);
    let inside = |&i: &usize| across.contains(&points.x[i]) && up.contains(&points.y[i]);
    match params.outside {
        Outside::Skip => Ok(all.filter(inside).map(coded).collect()),
        Outside::Refuse => match all.clone().find_first(|i| !inside(i)) {
            Some(index) => {
                let (x, y) = (points.x[index], points.y[index]);
                Err(Error::Outside { index: index as u64, x, y })
            }
            None => Ok(all.map(coded).collect()),
        },
    }
}

/// The root of a tree over some points; none without.
fn root(points: usize) -> Vec<Node> {
    let count = points as u64;
    let root =
        Node { code: 0, start: 0, count, first_child: 0, level: 0, quadrants: 0, reserved: [0; 2] };
    if count == 0 { Vec::new() } else { vec![root] }
}

/// Appends the children of the last level's nodes, whose first is `level_start`, as `divide` gives the
/// points of each quadrant; gives whether there are any.
fn append_children(
    nodes: &mut Vec<Node>,
    level_start: usize,
    children: &[[u64; 4]],
) -> Result<bool> {
    let level_end = nodes.len();
    for (parent, counts) in (level_start..level_end).zip(children) {
        let Node { code, mut start, level, .. } = nodes[parent];
        for (quadrant, &count) in (0u8..).zip(counts).filter(|&(_, &count)| count > 0) {
            if nodes[parent].quadrants == 0 {
                let most = u64::from(u32::MAX);
                let first = u32::try_from(nodes.len());
                nodes[parent].first_child =
                    first.map_err(|_| Error::TooManyNodes { nodes: nodes.len() as u64, most })?;
            }
            nodes[parent].quadrants |= 1 << quadrant;
            nodes.push(Node {
                code: code << 2 | u64::from(quadrant),
                start,
                count,
                first_child: 0,
                level: level + 1,
                quadrants: 0,
                reserved: [0; 2],
            });
            start += count;
        }
    }
    Ok(nodes.len() > level_end)
}
