//! The sites of points: their different places, along a curve.

use gpu_core::{Points, host_memory, parallel};
use kernels_rs::spatial::morton;

use crate::Result;
use crate::range::Scale;

/// A place that one or more points share.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Site {
    /// Where.
    pub(crate) place: [f64; 2],
    /// The lowest index of its points.
    pub(crate) point: u32,
    /// The number of its cell along Morton's curve. From the highest bit down, a bit is the upper half by y, the next one
    /// the upper half by x.
    pub(crate) code: u32,
}

/// Bits of a cell's column, and of its row.
const LEVELS: u32 = u16::BITS;

/// Up to this many sites of a cell are sorted by their coordinates; more get a curve of their own.
const FEW: usize = 32;

/// Returns the different places of points, [arranged](arrange). For each point that shares its place with one of a lower
/// index, also returns the point and the lowest index there, in order.
pub(crate) fn of(points: Points<'_>, scale: Scale) -> Result<(Vec<Site>, Vec<[u32; 2]>)> {
    let mut sites: Vec<Site> = host_memory::with_capacity(points.len())?;
    sites.extend((0..points.len()).map(|i| Site {
        place: [points.x[i], points.y[i]].map(|value| scale.apply(value) + 0.0),
        point: i as u32,
        code: 0,
    }));
    group(&mut sites);
    let mut duplicates = Vec::new();
    sites.dedup_by(|site, first| {
        let is_same = site.place == first.place;
        if is_same {
            duplicates.push([site.point, first.point]);
        }
        is_same
    });
    duplicates.sort_unstable();
    Ok((sites, duplicates))
}

/// Arranges sites so that those at one place follow each other, the lowest point first.
fn group(sites: &mut [Site]) {
    arrange(sites);
    for cell in sites.chunk_by_mut(|a, b| a.code == b.code) {
        if cell.iter().all(|site| site.place == cell[0].place) {
            continue;
        }
        if cell.len() > FEW {
            let code = cell[0].code;
            group(cell);
            cell.iter_mut().for_each(|site| site.code = code);
        } else {
            cell.sort_unstable_by_key(|site| (site.place.map(parallel::ordered_bits), site.point));
        }
    }
}

/// Brings sites into the order of Morton's curve (1966) over their bounding square: those of one cell stay in their order.
/// Sets their codes.
pub(crate) fn arrange(sites: &mut [Site]) {
    let (mut least, mut greatest) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    for site in &*sites {
        for axis in 0..2 {
            least[axis] = f64::min(least[axis], site.place[axis]);
            greatest[axis] = f64::max(greatest[axis], site.place[axis]);
        }
    }
    let side = f64::max(greatest[0] - least[0], greatest[1] - least[1]);
    let cell = |site: &Site, axis: usize| {
        // A conversion saturates: the last cell has its far side too.
        ((site.place[axis] - least[axis]) / side * f64::from(1 << LEVELS)) as u16
    };
    let mut keys = parallel::map(sites.len(), parallel::FINE, |i| {
        let code = morton::encode32(cell(&sites[i], 0), cell(&sites[i], 1));
        u64::from(code) << 32 | i as u64
    });
    parallel::sort(&mut keys);
    let given = sites.to_vec();
    parallel::for_each(sites, parallel::FINE, |i, site| {
        *site = Site { code: (keys[i] >> 32) as u32, ..given[keys[i] as u32 as usize] };
    });
}
