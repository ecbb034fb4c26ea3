//! The thesis's method (Gluck 2014, Fast GPGPU Based Quadtree Construction): level by level, a stable counting sort
//! moves the points of each node above the threshold into its four quadrants.
//!
//! The points of a level's nodes lie side by side, and the sort moves each node's points from one array into the other
//! and back. It counts and then writes pieces of large nodes in parallel, and sorts small nodes whole.

use gpu_core::{Progress, host_memory, parallel};

use super::settle::Digits;
use super::{Coded, append_children, root};
use crate::array::take;
use crate::tree::Node;
use crate::{Params, Result};

/// The nodes, and the points' indices in the order of the tree.
pub(super) fn level_sort(
    mut coded: Vec<Coded>,
    params: &Params,
    progress: &dyn Progress,
) -> Result<(Vec<Node>, Vec<u32>)> {
    let mut nodes = root(coded.len());
    let mut scratch = host_memory::filled((0, 0), coded.len())?;
    let mut level_start = 0;
    for level in 0..params.max_level {
        progress.at("sort", f64::from(level) / f64::from(params.max_level))?;
        let digits = Digits { shift: 2 * (params.max_level - level - 1), levels: 1 };
        let mut parts = cut(&nodes[level_start..], params.threshold, &mut coded, &mut scratch);
        parallel::for_each(&mut parts, 1, |_, part| part.divide(digits));
        let children: Vec<[u64; 4]> = parts.iter().map(|part| part.counts).collect();
        let next = nodes.len();
        if !append_children(&mut nodes, level_start, &children)? {
            break;
        }
        level_start = next;
    }
    Ok((nodes, parallel::map(coded.len(), parallel::FINE, |i| coded[i].1)))
}

/// The points of a node, and the same range of the other array; none of a node that is not divided.
#[derive(Default)]
struct Part<'a> {
    coded: &'a mut [Coded],
    scratch: &'a mut [Coded],
    /// The points of each quadrant, once they are divided.
    counts: [u64; 4],
}

/// The parts of a level's nodes.
fn cut<'a>(
    level: &[Node],
    threshold: u32,
    mut coded: &'a mut [Coded],
    mut scratch: &'a mut [Coded],
) -> Vec<Part<'a>> {
    let mut at = 0;
    let parts = level.iter().map(|node| {
        // Leaves of levels above lie between.
        let skipped = (node.start - at) as usize;
        at = node.start + node.count;
        let part = |rest: &mut &'a mut [Coded]| {
            take(rest, skipped);
            take(rest, node.count as usize)
        };
        let part = Part { coded: part(&mut coded), scratch: part(&mut scratch), counts: [0; 4] };
        if node.count > u64::from(threshold) { part } else { Part::default() }
    });
    parts.collect()
}

impl Part<'_> {
    /// Sorts the points by quadrant.
    fn divide(&mut self, digits: Digits) {
        if !self.coded.is_empty() {
            let starts = digits.sort(self.coded, self.scratch);
            self.counts = std::array::from_fn(|q| (starts[q + 1] - starts[q]) as u64);
            self.coded.copy_from_slice(self.scratch);
        }
    }
}
