//! A sample of sites, and which sites conflict with its triangles: see `kernels_rs::stars::sample`.

use gpu_core::{Blocks, Column, Gpu};
use gpu_scan::gpu::{Workspace, scan};
use gpu_scan::{Scan, Sum};
use kernels_rs::stars::predicates::Predicates;
use kernels_rs::stars::queries::SiteColumns;
use kernels_rs::stars::{
    Conflicts, Lists, MAX_HUBS, Mesh, RATE, Sampled, find_conflicts, find_hard_conflicts,
    find_hub_conflicts, gather_sample, join_halves, list_conflicts, mark_triangles, number_halves,
    place_hubs,
};
use quadtree_sort::gpu::{DeviceIndex, nearest_in_order};

use super::{Stars, last_of};
use crate::Result;

/// Triangles of each site that the memory holds: a site outside of the sample has 10 on average, another one 6.
const TRIANGLES: usize = 10;

/// The most sites: 32 bits count all their triangles, of hubs four times as many.
const MAX_SITES: usize = 1 << 27;

/// The most threads that find hard conflicts.
const MAX_THREADS: u64 = 1 << 17;

/// The sites that conflict with each triangle of a sample, and the triangles of each site.
pub(super) struct Sample {
    starts: Column<u32>,
    counts: Column<u32>,
    triangles: Column<u32>,
    begins: Column<u32>,
    sites: Column<u32>,
}

impl Sample {
    /// Takes some of the sites, makes their stars by `stars_of`, and finds all conflicts. `None` if the sample lies in line, or sites are
    /// too many. Waits.
    pub(super) fn of(
        workspace: &mut Workspace,
        sites: &DeviceIndex<f64>,
        predicates: Predicates,
        stars_of: impl FnOnce(&mut Workspace, &DeviceIndex<f64>) -> Result<Stars>,
    ) -> Result<Option<Self>> {
        if sites.len() > MAX_SITES {
            return Ok(None);
        }
        let gpu = workspace.gpu().clone();
        let sample = gathered(&gpu, sites)?;
        let stars = stars_of(workspace, &sample)?;
        // Sites in line have two neighbours at most, and two of them one.
        if stars.neighbours.len() < 2 * sample.len() {
            return Ok(None);
        }
        let nearest = nearest_in_order(workspace, &sample, sites.x(), sites.y(), 1)?.indices;
        let triangles = Triangles::new(workspace, sample, stars, predicates.unit())?;
        let sampled = || Sampled {
            x: sites.x().input(),
            y: sites.y().input(),
            sites: sites.len() as u32,
            unit: predicates.unit(),
            mesh: triangles.mesh(),
            nearest: nearest.input(),
        };
        let mut room = TRIANGLES * sites.len();
        loop {
            let mut found = FoundConflicts::new(&gpu, sites.len(), triangles.len(), room)?;
            found.find(sampled())?;
            let written = found.tallies.to_host()?[0] as usize;
            if written <= room {
                return Ok(Some(found.list(workspace, sampled())?));
            }
            room = written;
        }
    }

    pub(super) fn lists(&self) -> Lists<'_> {
        Lists {
            starts: self.starts.input(),
            counts: self.counts.input(),
            triangles: self.triangles.input(),
            begins: self.begins.input(),
            sites: self.sites.input(),
        }
    }
}

/// The sample of sites, numbered in their order.
fn gathered(gpu: &Gpu, sites: &DeviceIndex<f64>) -> Result<DeviceIndex<f64>> {
    let len = sites.len().div_ceil(RATE as usize);
    // SAFETY: the columns are as long as the kernel needs them, and written whole.
    unsafe {
        let (mut x, mut y) = (gpu.uninitialized(len)?, gpu.uninitialized(len)?);
        let mut numbers = gpu.uninitialized(len)?;
        let arguments = gather_sample::Args {
            x: sites.x().input(),
            y: sites.y().input(),
            sites: sites.len() as u32,
            sample_x: x.output(),
            sample_y: y.output(),
            numbers: numbers.output(),
        };
        gpu.enqueue(gather_sample, Blocks::for_each(&gather_sample, len as u64)?, arguments)?;
        Ok(DeviceIndex::over(gpu, (x, y, numbers), sites.bounds())?)
    }
}

/// The triangles of a sample, as [`Mesh`].
struct Triangles {
    sites: DeviceIndex<f64>,
    starts: Column<u32>,
    of_slots: Column<u32>,
    halves: Column<u64>,
}

impl Triangles {
    /// From the stars of sites, which are not in line. Enqueues and returns.
    fn new(
        workspace: &mut Workspace,
        sites: DeviceIndex<f64>,
        stars: Stars,
        unit: i32,
    ) -> Result<Self> {
        let (gpu, len) = (workspace.gpu().clone(), sites.len() as u64);
        let Stars { starts, neighbours } = stars;
        let slots = neighbours.len();
        let columns = || SiteColumns {
            x: sites.x().input(),
            y: sites.y().input(),
            points: sites.order().input(),
            starts: starts.input(),
            neighbours: neighbours.input(),
            sites: len as u32,
        };
        // SAFETY: lengths are as the kernels need them, and each column is written before it is read.
        unsafe {
            let (mut flags, mut before) =
                (gpu.uninitialized::<u32>(slots)?, gpu.uninitialized::<u32>(slots)?);
            let arguments = mark_triangles::Args { sites: columns(), flags: flags.output() };
            gpu.enqueue(mark_triangles, Blocks::for_each(&mark_triangles, len)?, arguments)?;
            scan(workspace, Sum, Scan::exclusive(0), &flags, &mut before)?;
            let mut of_slots = flags;
            let arguments = number_halves::Args {
                sites: columns(),
                unit,
                before: before.input(),
                of_slots: of_slots.output(),
            };
            gpu.enqueue(number_halves, Blocks::for_each(&number_halves, len)?, arguments)?;
            let mut halves = gpu.uninitialized(3 * Mesh::triangles(sites.len()))?;
            let arguments = join_halves::Args {
                sites: columns(),
                unit,
                of_slots: of_slots.input(),
                halves: halves.output(),
            };
            gpu.enqueue(join_halves, Blocks::for_each(&join_halves, len)?, arguments)?;
            Ok(Self { sites, starts, of_slots, halves })
        }
    }

    fn len(&self) -> usize {
        Mesh::triangles(self.sites.len())
    }

    fn mesh(&self) -> Mesh<'_> {
        Mesh {
            x: self.sites.x().input(),
            y: self.sites.y().input(),
            halves: self.halves.input(),
            starts: self.starts.input(),
            of_slots: self.of_slots.input(),
        }
    }
}

/// The conflicts of sites with triangles, by site.
struct FoundConflicts {
    starts: Column<u32>,
    counts: Column<u32>,
    triangles: Column<u32>,
    /// How many sites conflict with each triangle.
    sites_of: Column<u32>,
    hard: Column<u32>,
    hubs: Column<u32>,
    /// How many triangles were written, how many sites are hard, and how many are hubs.
    tallies: Column<u32>,
}

impl FoundConflicts {
    fn new(gpu: &Gpu, sites: usize, triangles: usize, room: usize) -> Result<Self> {
        // SAFETY: each element is written before it is read.
        unsafe {
            Ok(Self {
                starts: gpu.uninitialized(sites)?,
                counts: gpu.uninitialized(sites)?,
                triangles: gpu.uninitialized(room)?,
                // One more, so that the sums end with the number of conflicts.
                sites_of: gpu.zeroed(triangles + 1)?,
                hard: gpu.uninitialized(sites)?,
                hubs: gpu.zeroed(2 * MAX_HUBS)?,
                tallies: gpu.zeroed(3)?,
            })
        }
    }

    fn conflicts(&mut self) -> Conflicts<'_> {
        Conflicts {
            starts: self.starts.output(),
            counts: self.counts.output(),
            room: self.triangles.len() as u32,
            triangles: self.triangles.output(),
            sites_of: self.sites_of.output(),
            hard: self.hard.output(),
            hubs: self.hubs.output(),
            tallies: self.tallies.output(),
        }
    }

    /// Finds them. Enqueues and returns.
    fn find(&mut self, sampled: Sampled<'_>) -> Result<()> {
        let (gpu, len) = (self.starts.gpu().clone(), self.starts.len() as u64);
        // SAFETY: lengths are as the kernels need them; nothing is counted yet.
        unsafe {
            let arguments = find_conflicts::Args { sampled, conflicts: self.conflicts() };
            gpu.enqueue(find_conflicts, Blocks::for_each(&find_conflicts, len)?, arguments)?;
            let arguments = find_hard_conflicts::Args { sampled, conflicts: self.conflicts() };
            let blocks = Blocks::for_each(&find_hard_conflicts, u64::min(len, MAX_THREADS))?;
            gpu.enqueue(find_hard_conflicts, blocks, arguments)?;
        }
        self.find_hubs(sampled, None, &mut gpu.zeroed(0)?)?;
        let arguments = place_hubs::Args { conflicts: self.conflicts() };
        let blocks = Blocks::for_each(&place_hubs, MAX_HUBS as u64)?;
        // SAFETY: as above.
        unsafe { gpu.enqueue(place_hubs, blocks, arguments)? };
        Ok(())
    }

    /// Counts the conflicts of hubs, or lists them where a triangle's sites begin. Enqueues and returns.
    fn find_hubs(
        &mut self,
        sampled: Sampled<'_>,
        begins: Option<&Column<u32>>,
        listed: &mut Column<u32>,
    ) -> Result<()> {
        let triangles = self.sites_of.len() - 1;
        let gpu = self.starts.gpu().clone();
        let arguments = find_hub_conflicts::Args {
            sampled,
            conflicts: self.conflicts(),
            triangles: triangles as u32,
            begins: begins.map(Column::input),
            listed: listed.output(),
        };
        let blocks = Blocks::for_each(&find_hub_conflicts, triangles as u64)?;
        // SAFETY: lengths are as the kernel needs them.
        unsafe { gpu.enqueue(find_hub_conflicts, blocks, arguments)? };
        Ok(())
    }

    /// The sites of each triangle, too. Waits for their number.
    fn list(mut self, workspace: &mut Workspace, sampled: Sampled<'_>) -> Result<Sample> {
        let (gpu, triangles) = (workspace.gpu().clone(), self.sites_of.len() - 1);
        // SAFETY: lengths are as the kernels need them, and each column is written before it is read.
        unsafe {
            let mut begins = gpu.uninitialized::<u32>(triangles + 1)?;
            scan(workspace, Sum, Scan::exclusive(0), &self.sites_of, &mut begins)?;
            let mut listed = gpu.uninitialized::<u32>(last_of(&begins)? as usize)?;
            let len = self.counts.len();
            let arguments = list_conflicts::Args {
                conflicts: self.conflicts(),
                sites: len as u32,
                begins: begins.input(),
                listed: listed.output(),
            };
            let blocks = Blocks::for_each(&list_conflicts, len as u64)?;
            gpu.enqueue(list_conflicts, blocks, arguments)?;
            self.find_hubs(sampled, Some(&begins), &mut listed)?;
            let Self { starts, counts, triangles, .. } = self;
            Ok(Sample { starts, counts, triangles, begins, sites: listed })
        }
    }
}
