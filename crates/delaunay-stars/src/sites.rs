//! The sites of points: their different places.

use gpu_core::{Points, host_memory, parallel};

use crate::Result;
use crate::divide::Site;
use crate::range::Scale;

/// Returns the different places of points, sorted by x, then by y. For each point that shares its place with one of a
/// lower index, also returns the point and the lowest index there, in order.
pub(crate) fn of(points: Points<'_>, scale: Scale) -> Result<(Vec<Site>, Vec<[u32; 2]>)> {
    let mut order: Vec<(u64, u32)> = parallel::map(points.len(), parallel::FINE, |i| {
        (parallel::ordered_bits(points.x[i]), i as u32)
    });
    parallel::sort_pairs(&mut order);
    sort_by_y(&mut order, points.y);
    let mut sites: Vec<Site> = host_memory::with_capacity(points.len())?;
    let mut duplicates = Vec::new();
    for &(_, point) in &order {
        let place = [points.x, points.y].map(|column| scale.apply(column[point as usize]) + 0.0);
        match sites.last() {
            Some(last) if last.place == place => duplicates.push([point, last.point]),
            _ => sites.push(Site { place, point }),
        }
    }
    duplicates.sort_unstable();
    Ok((sites, duplicates))
}

/// Sorts places of equal x by y, then by index.
fn sort_by_y(order: &mut [(u64, u32)], y: &[f64]) {
    for run in order.chunk_by_mut(|a, b| a.0 == b.0) {
        if run.len() > 1 {
            run.sort_unstable_by_key(|&(_, point)| {
                (parallel::ordered_bits(y[point as usize]), point)
            });
        }
    }
}
