//! Builds a tree by one sort by Morton codes, and finds nodes by common prefixes.
//!
//! Sorted by code, the points of any cell lie side by side, so a node's quadrants begin where the two bits of its level
//! change: three bisections a node. If a leaf's points were sorted by bits below the tree's levels, they go back into
//! the order as given.

use gpu_core::{Progress, host_memory, parallel};

use super::{Coded, append_children, root, settle};
use crate::tree::Node;
use crate::{Params, Result};

/// Nodes that are worth a task.
const NODES: usize = 256;

/// The nodes, and the points' indices in the order of the tree.
pub(super) fn sort(
    mut coded: Vec<Coded>,
    params: &Params,
    progress: &dyn Progress,
) -> Result<(Vec<Node>, Vec<u32>)> {
    settle::sort(&mut coded, params)?;
    progress.at("nodes", 0.0)?;
    let nodes = nodes(&coded, params, progress)?;
    let order = host_memory::collected(coded.len(), parallel::FINE, |i| coded[i].1)?;
    Ok((nodes, order))
}

/// The nodes over sorted codes.
fn nodes(coded: &[Coded], params: &Params, progress: &dyn Progress) -> Result<Vec<Node>> {
    let mut nodes = root(coded.len());
    let mut level_start = 0;
    for level in 0..params.max_level {
        progress.at("nodes", f64::from(level) / f64::from(params.max_level))?;
        let shift = 2 * (params.max_level - level - 1);
        let level = &nodes[level_start..];
        let children = parallel::map(level.len(), NODES, |i| {
            match level[i].count > u64::from(params.threshold) {
                true => quadrants(&coded[level[i].points()], shift),
                false => [0; 4],
            }
        });
        let next = nodes.len();
        if !append_children(&mut nodes, level_start, &children)? {
            break;
        }
        level_start = next;
    }
    Ok(nodes)
}

/// The points of each quadrant: their bits stand `shift` places up.
fn quadrants(coded: &[Coded], shift: u32) -> [u64; 4] {
    let before =
        |quadrant: u64| coded.partition_point(|&(code, _)| code >> shift & 3 < quadrant) as u64;
    let starts = [0, before(1), before(2), before(3), coded.len() as u64];
    std::array::from_fn(|quadrant| starts[quadrant + 1] - starts[quadrant])
}
