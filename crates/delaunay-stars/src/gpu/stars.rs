//! The stars of sites.

use gpu_core::{Blocks, Column, Gpu, Points};
use gpu_scan::gpu::{Workspace, scan};
use gpu_scan::{Scan, Sum};
use kernels_rs::stars::natural::OPEN;
use kernels_rs::stars::predicates::Predicates;
use kernels_rs::stars::{
    FAR_BLOCK, Rough, SPENT, TALLIES, WRITTEN, find_far_stars, find_near_stars, gather_stars,
};
use quadtree_sort::gpu::DeviceIndex;

use crate::Result;

/// The most warps that search for stars, a site each.
const MAX_WARPS: u64 = 1 << 13;

/// The byte of which [`NONE`](kernels_rs::stars::NONE) is made.
const NONE_BYTE: u8 = u8::MAX;

/// Stars in the order of their sites; see [`DeviceTriangulation`](super::DeviceTriangulation).
pub(super) struct Stars {
    pub(super) starts: Column<u32>,
    pub(super) neighbours: Column<u32>,
}

/// Stars in any order.
struct InAnyOrder {
    counts: Column<u32>,
    starts: Column<u32>,
    neighbours: Column<u32>,
    tallies: Column<u32>,
}

/// How many thousands of nodes searches for the stars of some sites may visit before the host takes over: about what takes
/// the host as long.
pub(super) fn most_visits(sites: usize) -> u32 {
    u32::try_from(10_000 + sites as u64 / 2).unwrap_or(u32::MAX)
}

/// The stars of sites, by the host where searches visit more than so many thousands of nodes. Waits.
pub(super) fn of(
    workspace: &mut Workspace,
    sites: &DeviceIndex<f64>,
    predicates: Predicates,
    most: u32,
) -> Result<Stars> {
    let gpu = workspace.gpu().clone();
    if sites.is_empty() {
        return Ok(Stars { starts: gpu.zeroed(1)?, neighbours: gpu.zeroed(0)? });
    }
    let rough = InAnyOrder::new(&gpu, sites, predicates, most)?;
    let tallies = rough.tallies.to_host()?;
    if tallies[SPENT as usize] > most {
        return by_host(&gpu, sites);
    }
    rough.in_order(workspace, tallies[WRITTEN as usize])
}

impl InAnyOrder {
    /// Enqueues and returns.
    fn new(gpu: &Gpu, sites: &DeviceIndex<f64>, predicates: Predicates, most: u32) -> Result<Self> {
        let (len, unit) = (sites.len(), predicates.unit());
        // SAFETY: lengths are as the kernels need them; of each site what is read was written, or the host is asked instead.
        unsafe {
            let mut made = Self {
                // One more, so that the sums end with the number of neighbours.
                counts: gpu.zeroed(len + 1)?,
                starts: gpu.filled_with_byte(NONE_BYTE, len)?,
                neighbours: gpu.filled_with_byte(NONE_BYTE, 6 * len)?,
                tallies: gpu.zeroed(TALLIES)?,
            };
            let mut listed = gpu.uninitialized::<u32>(len)?;
            let arguments =
                find_near_stars::Args { tree: sites.tree(), unit, rough: made.rough(&mut listed) };
            let blocks = Blocks::for_each(&find_near_stars, len as u64)?;
            gpu.enqueue(find_near_stars, blocks, arguments)?;
            let threads = 32 * u64::min(len as u64, MAX_WARPS);
            let blocks = Blocks::x(threads.div_ceil(u64::from(FAR_BLOCK)) as u32);
            let arguments = find_far_stars::Args {
                tree: sites.tree(),
                unit,
                most,
                rough: made.rough(&mut listed),
            };
            gpu.enqueue(find_far_stars, blocks, arguments)?;
            Ok(made)
        }
    }

    fn rough<'a>(&'a mut self, listed: &'a mut Column<u32>) -> Rough<'a> {
        Rough {
            counts: self.counts.output(),
            starts: self.starts.output(),
            neighbours: self.neighbours.output(),
            listed: listed.output(),
            tallies: self.tallies.output(),
        }
    }

    /// The stars in the order of their sites, which have so many neighbours together.
    fn in_order(self, workspace: &mut Workspace, neighbours: u32) -> Result<Stars> {
        let (gpu, sites) = (workspace.gpu().clone(), self.starts.len());
        // SAFETY: lengths are as the kernel needs them, and each column is written before it is read.
        unsafe {
            let mut starts = gpu.uninitialized::<u32>(sites + 1)?;
            scan(workspace, Sum, Scan::exclusive(0), &self.counts, &mut starts)?;
            let mut all = gpu.uninitialized::<u32>(neighbours as usize)?;
            let arguments = gather_stars::Args {
                counts: self.counts.input(),
                from: self.starts.input(),
                rough: self.neighbours.input(),
                sites: sites as u32,
                starts: starts.input(),
                neighbours: all.output(),
            };
            let blocks = Blocks::for_each(&gather_stars, sites as u64)?;
            gpu.enqueue(gather_stars, blocks, arguments)?;
            Ok(Stars { starts, neighbours: all })
        }
    }
}

/// The stars that the host makes of sites in device memory.
fn by_host(gpu: &Gpu, sites: &DeviceIndex<f64>) -> Result<Stars> {
    let (x, y) = (sites.x().to_host()?, sites.y().to_host()?);
    let found = crate::triangulate(&gpu_core::Device::Cpu, Points::new(&x, &y))?;
    let mut neighbours = found.neighbours().to_vec();
    for site in (0..sites.len() as u32).filter(|&site| found.is_on_hull(site)) {
        if let Some(last) = found.slots(site).last() {
            neighbours[last] |= OPEN;
        }
    }
    Ok(Stars { starts: gpu.upload(found.starts())?, neighbours: gpu.upload(&neighbours)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::triangulate;

    #[test]
    fn far_clusters_cost_few_visits() {
        let gpu = testing::gpu();
        let mut workspace = Workspace::new(&gpu).unwrap();
        for cloud in [testing::clouds::stray(60_000, 1), testing::clouds::two_clusters(60_000, 1)] {
            let (x, y) = (gpu.upload(&cloud.x).unwrap(), gpu.upload(&cloud.y).unwrap());
            let index = quadtree_sort::gpu::index(&mut workspace, &x, &y, None).unwrap();
            let found = triangulate(&mut workspace, &index).unwrap();
            let made = InAnyOrder::new(&gpu, &found.index, found.predicates, u32::MAX).unwrap();
            // No warp has come to a thousand.
            assert_eq!(made.tallies.to_host().unwrap()[SPENT as usize], 0, "{}", cloud.name);
        }
    }

    #[test]
    fn the_host_makes_the_same_stars() {
        let gpu = testing::gpu();
        let mut workspace = Workspace::new(&gpu).unwrap();
        for cloud in [testing::clouds::circle(2000, 1), testing::clouds::oblique_line(2000, 1)] {
            let (x, y) = (gpu.upload(&cloud.x).unwrap(), gpu.upload(&cloud.y).unwrap());
            let index = quadtree_sort::gpu::index(&mut workspace, &x, &y, None).unwrap();
            let found = triangulate(&mut workspace, &index).unwrap();
            for most in [0, u32::MAX] {
                let stars = of(&mut workspace, &found.index, found.predicates, most).unwrap();
                let [a, b] = [&found.starts, &stars.starts].map(|all| all.to_host().unwrap());
                assert!(a == b, "{}", cloud.name);
                let [a, b] = [&found.neighbours, &stars.neighbours];
                assert!(a.to_host().unwrap() == b.to_host().unwrap(), "{}", cloud.name);
            }
        }
    }
}
