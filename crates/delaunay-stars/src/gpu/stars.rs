//! The stars of sites.

use gpu_core::{Blocks, Column, Gpu};
use gpu_scan::gpu::{Workspace, fill, scan, sort_pairs_in_place};
use gpu_scan::{Scan, Sort, Sum};
use kernels_rs::stars::predicates::{Predicates, Quick};
use kernels_rs::stars::{
    ALL, FAR_BLOCK, LANES, LEFT, LINKS, LISTED, Links, MANY, Rough, SPENT, Sorted, TALLIES, Turn,
    VISITS, WRITTEN, find_far_stars, find_hard_stars, find_last_sampled_stars, find_last_stars,
    find_links, find_near_stars, find_sampled_stars, gather_stars, join_links, order_links,
};
use quadtree_sort::gpu::DeviceIndex;

use super::Stars;
use super::part::Part;
use super::sample::Sample;
use crate::Result;

/// The most warps that make stars, one after the other.
const MAX_WARPS: u64 = 1 << 13;

/// The byte of which [`NONE`](kernels_rs::stars::NONE) is made.
const NONE_BYTE: u8 = u8::MAX;

/// With at most this many sites, searches are always short enough.
const FEW: usize = 4096;

/// Returns how many nodes searches for the stars of `sites` sites may visit, in units of [`VISITS`]. Beyond that a
/// sample takes over, which costs about as much as these visits.
pub(super) fn most_visits(sites: usize) -> u32 {
    match sites {
        0..=FEW => u32::MAX,
        _ => u32::try_from(sites as u64 / u64::from(VISITS)).unwrap_or(u32::MAX - 1),
    }
}

/// Finds the stars of sites. For a number of sites, `most` returns how many times [`VISITS`] nodes searches may visit.
/// Waits.
pub(super) fn of(
    workspace: &mut Workspace,
    sites: &DeviceIndex<f64>,
    predicates: Predicates,
    most: fn(usize) -> u32,
) -> Result<Stars> {
    let gpu = workspace.gpu().clone();
    if sites.is_empty() {
        return Ok(Stars { starts: gpu.zeroed(1)?, neighbours: gpu.zeroed(0)? });
    }
    let most_of_these = most(sites.len());
    let mut rough = InAnyOrder::new(&gpu, sites.len())?;
    let stars_of =
        |workspace: &mut Workspace, some: &DeviceIndex<f64>| of(workspace, some, predicates, most);
    let found = rough.find(workspace, sites, predicates, most_of_these)?;
    let part = match found {
        Found::Most => Part::of(workspace, sites, rough.rough())?,
        _ => None,
    };
    let mut sample = None;
    if let Some(part) = part {
        let stars = stars_of(workspace, &part.0)?;
        part.give(&stars, rough.rough())?;
        rough.reset(workspace, LEFT)?;
    } else if found != Found::All {
        sample = Sample::of(workspace, sites, predicates, stars_of)?;
        rough.make_sampled(workspace, sites, predicates, sample.as_ref())?;
    }
    let mut tallies = rough.tallies.to_host()?;
    if tallies[LEFT as usize] > 0 {
        let links = rough.link(workspace, sites)?;
        rough.fill(workspace, sites, predicates, sample.as_ref(), &links)?;
        tallies = rough.tallies.to_host()?;
    }
    rough.in_order(workspace, tallies[WRITTEN as usize])
}

/// How many stars near ones and searches give.
#[derive(Clone, Copy, PartialEq)]
enum Found {
    /// All, but for those that are left to the last search.
    All,
    /// Most; searches for the others would take long.
    Most,
    /// Too few for searches.
    Few,
}

/// Stars in any order.
struct InAnyOrder {
    counts: Column<u32>,
    starts: Column<u32>,
    neighbours: Column<u32>,
    /// The sites whose stars are to be made next.
    listed: Column<u32>,
    /// The sites that are left to what comes after.
    left: Column<u32>,
    tallies: Column<u32>,
}

impl InAnyOrder {
    /// No stars yet.
    fn new(gpu: &Gpu, sites: usize) -> Result<Self> {
        // SAFETY: of each site what is read was written.
        unsafe {
            Ok(Self {
                // One more, so that the sums end with the number of neighbours.
                counts: gpu.zeroed(sites + 1)?,
                starts: gpu.filled_with_byte(NONE_BYTE, sites)?,
                neighbours: gpu.filled_with_byte(NONE_BYTE, 6 * sites)?,
                listed: gpu.uninitialized(sites)?,
                left: gpu.uninitialized(sites)?,
                tallies: gpu.zeroed(TALLIES)?,
            })
        }
    }

    /// Finds near stars, and those of the others that searches of so many visits give. Waits.
    fn find(
        &mut self,
        workspace: &mut Workspace,
        sites: &DeviceIndex<f64>,
        predicates: Predicates,
        most: u32,
    ) -> Result<Found> {
        if most == u32::MAX {
            self.find_near::<Quick>(sites, predicates, Turn::Once)?;
            self.search(sites, predicates, most, LISTED)?;
            return Ok(Found::All);
        }
        self.find_near::<Quick>(sites, predicates, Turn::Trial)?;
        let tried = Turn::sites(Turn::Trial.blocks(sites.len() as u32));
        let (mut failed, mut is_exact) = (self.tally(LISTED)?, false);
        if failed > tried / 5 {
            // Perhaps it is f64 that does not decide.
            self.reset(workspace, LISTED)?;
            self.find_near::<Predicates>(sites, predicates, Turn::Trial)?;
            let undecided = failed - self.tally(LISTED)?;
            is_exact = undecided > failed / 2;
            failed -= undecided;
        }
        if failed > tried / 5 * 4 {
            return Ok(Found::Few);
        }
        match is_exact {
            true => self.find_near::<Predicates>(sites, predicates, Turn::Rest)?,
            false => self.find_near::<Quick>(sites, predicates, Turn::Rest)?,
        }
        // Searches for this many sites would take longer than a sample.
        if failed > tried / 5 {
            return Ok(Found::Few);
        }
        self.search(sites, predicates, most, LISTED)?;
        Ok(if self.tally(SPENT)? <= most { Found::All } else { Found::Most })
    }

    /// A tally. Waits.
    fn tally(&self, which: u32) -> Result<u32> {
        Ok(self.tallies.to_host()?[which as usize])
    }

    /// Makes near stars, with decisions by f64 alone, or exact ones.
    fn find_near<D: find_near_stars::Instance>(
        &mut self,
        sites: &DeviceIndex<f64>,
        predicates: Predicates,
        turn: Turn,
    ) -> Result<()> {
        let (tree, unit, rough) = (sites.tree(), predicates.unit(), self.rough());
        let arguments = find_near_stars::Args { tree, unit, turn: turn.number(), rough };
        let blocks = turn.blocks(sites.len() as u32);
        if blocks > 0 {
            // SAFETY: lengths are as the kernel needs them.
            unsafe { sites.x().gpu().enqueue(D::KERNEL, Blocks::x(blocks), arguments)? };
        }
        Ok(())
    }

    fn rough(&mut self) -> Rough<'_> {
        Rough {
            sites: self.starts.len() as u32,
            counts: self.counts.output(),
            starts: self.starts.output(),
            neighbours: self.neighbours.output(),
            listed: self.listed.output(),
            left: self.left.output(),
            tallies: self.tallies.output(),
        }
    }

    /// Searches for those stars that are not made yet, of the sites that are listed, or of all. Enqueues and returns.
    fn search(
        &mut self,
        sites: &DeviceIndex<f64>,
        predicates: Predicates,
        most: u32,
        which: u32,
    ) -> Result<()> {
        let (tree, unit, rough) = (sites.tree(), predicates.unit(), self.rough());
        let arguments = find_far_stars::Args { tree, unit, most, which, rough };
        // SAFETY: lengths are as the kernel needs them; near stars are made.
        unsafe { sites.x().gpu().enqueue(find_far_stars, warps(sites.len()), arguments)? };
        Ok(())
    }

    /// Makes the stars of the sites that are listed, of their links and by searches. Enqueues and returns.
    fn fill(
        &mut self,
        workspace: &mut Workspace,
        sites: &DeviceIndex<f64>,
        predicates: Predicates,
        sample: Option<&Sample>,
        links: &SortedLinks,
    ) -> Result<()> {
        let Some(sample) = sample else {
            return self.fill_by_search(sites, predicates, u32::MAX, links);
        };
        // A site of many triangles has so many candidates that a few searches cost less.
        self.fill_sampled(sites, predicates, (sample, MANY), links)?;
        self.reset(workspace, SPENT)?;
        self.fill_by_search(sites, predicates, most_visits(sites.len()), links)?;
        self.fill_sampled(sites, predicates, (sample, u32::MAX), links)
    }

    /// Makes the stars of listed sites by searches, within this many visits.
    fn fill_by_search(
        &mut self,
        sites: &DeviceIndex<f64>,
        predicates: Predicates,
        most: u32,
        links: &SortedLinks,
    ) -> Result<()> {
        let (tree, unit) = (sites.tree(), predicates.unit());
        let (links, rough) = (links.sorted(sites.len()), self.rough());
        let arguments = find_last_stars::Args { tree, unit, most, links, rough };
        // SAFETY: as above; the links are those of these sites.
        unsafe { sites.x().gpu().enqueue(find_last_stars, warps(sites.len()), arguments)? };
        Ok(())
    }

    /// Makes the stars of listed sites from their candidates, for sites with at most this many triangles.
    fn fill_sampled(
        &mut self,
        sites: &DeviceIndex<f64>,
        predicates: Predicates,
        (sample, most): (&Sample, u32),
        links: &SortedLinks,
    ) -> Result<()> {
        let [x, y] = [sites.x(), sites.y()].map(Column::input);
        let (unit, lists) = (predicates.unit(), sample.lists());
        let (links, rough) = (links.sorted(sites.len()), self.rough());
        let arguments = find_last_sampled_stars::Args { x, y, unit, most, lists, links, rough };
        // SAFETY: as above; the lists are those of these sites.
        unsafe { sites.x().gpu().enqueue(find_last_sampled_stars, warps(sites.len()), arguments)? };
        Ok(())
    }

    /// Makes the stars that are not made yet, from a sample; without one by searches. Waits.
    fn make_sampled(
        &mut self,
        workspace: &mut Workspace,
        sites: &DeviceIndex<f64>,
        predicates: Predicates,
        sample: Option<&Sample>,
    ) -> Result<()> {
        // What was left before is made now.
        self.reset(workspace, LEFT)?;
        let Some(sample) = sample else {
            return self.search(sites, predicates, u32::MAX, ALL);
        };
        let gpu = sites.x().gpu();
        let [x, y] = [sites.x(), sites.y()].map(Column::input);
        let (lists, len) = (sample.lists(), sites.len() as u64);
        // SAFETY: lengths are as the kernels need them; the lists are those of these sites.
        unsafe {
            let rough = self.rough();
            let arguments = find_sampled_stars::Args { x, y, sites: len as u32, lists, rough };
            let blocks = Blocks::for_each(&find_sampled_stars, len * u64::from(LANES))?;
            gpu.enqueue(find_sampled_stars, blocks, arguments)?;
            self.link(workspace, sites)?;
            let (unit, rough) = (predicates.unit(), self.rough());
            let arguments = find_hard_stars::Args { x, y, unit, lists, rough };
            gpu.enqueue(find_hard_stars, warps(sites.len()), arguments)?;
        }
        Ok(())
    }

    /// Makes stars of sites that are left, of the links that made ones tell. The others are listed. Gives all links. Waits.
    fn link(&mut self, workspace: &mut Workspace, sites: &DeviceIndex<f64>) -> Result<SortedLinks> {
        let (gpu, len) = (workspace.gpu().clone(), sites.len());
        let mut links = SortedLinks::with_room(&gpu, len / 2 + FEW)?;
        let [x, y] = [sites.x(), sites.y()].map(Column::input);
        loop {
            self.reset(workspace, LINKS)?;
            let arguments = find_links::Args { x, y, rough: self.rough(), links: links.output() };
            let blocks = Blocks::for_each(&find_links, len as u64)?;
            // SAFETY: lengths are as the kernel needs them.
            unsafe { gpu.enqueue(find_links, blocks, arguments)? };
            links.count = self.tally(LINKS)? as usize;
            if links.count <= links.keys.len() {
                break;
            }
            links = SortedLinks::with_room(&gpu, links.count)?;
        }
        let all = 0..links.count;
        let (keys, values) = (links.keys.slice_mut(all.clone())?, links.values.slice_mut(all)?);
        sort_pairs_in_place(workspace, Sort::ascending(), keys, values)?;
        if links.count > 0 {
            let arguments = order_links::Args {
                x,
                y,
                sites: len as u32,
                keys: links.keys.input(),
                values: links.values.output(),
                count: links.count as u32,
            };
            let blocks = Blocks::for_each(&order_links, links.count as u64)?;
            // SAFETY: as above.
            unsafe { gpu.enqueue(order_links, blocks, arguments)? };
        }
        self.reset(workspace, LISTED)?;
        let arguments = join_links::Args { links: links.sorted(len), rough: self.rough() };
        // SAFETY: as above.
        unsafe { gpu.enqueue(join_links, warps(len), arguments)? };
        self.reset(workspace, LEFT)?;
        Ok(links)
    }

    /// Sets a tally to 0.
    fn reset(&mut self, workspace: &mut Workspace, tally: u32) -> Result<()> {
        let tally = tally as usize;
        Ok(fill(workspace, 0, self.tallies.slice_mut(tally..tally + 1)?)?)
    }

    /// Returns the stars in the order of their sites, which have `neighbours` neighbours together.
    fn in_order(self, workspace: &mut Workspace, neighbours: u32) -> Result<Stars> {
        let Self { counts, starts: from, neighbours: rough, listed, left, .. } = self;
        // Here most memory is in use.
        drop([listed, left]);
        let (gpu, sites) = (workspace.gpu().clone(), from.len());
        // SAFETY: lengths are as the kernel needs them, and each column is written before it is read.
        unsafe {
            let mut starts = gpu.uninitialized::<u32>(sites + 1)?;
            scan(workspace, Sum, Scan::exclusive(0), &counts, &mut starts)?;
            let mut all = gpu.uninitialized::<u32>(neighbours as usize)?;
            let arguments = gather_stars::Args {
                counts: counts.input(),
                from: from.input(),
                rough: rough.input(),
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

/// The links of sites that are left: see `kernels_rs::stars::Links`.
struct SortedLinks {
    keys: Column<u64>,
    values: Column<u64>,
    count: usize,
}

impl SortedLinks {
    fn with_room(gpu: &Gpu, room: usize) -> Result<Self> {
        // SAFETY: what is read was written.
        let [keys, values] = unsafe { [gpu.uninitialized(room)?, gpu.uninitialized(room)?] };
        Ok(Self { keys, values, count: 0 })
    }

    fn output(&mut self) -> Links<'_> {
        let room = self.keys.len() as u32;
        Links { keys: self.keys.output(), values: self.values.output(), room }
    }

    /// Returns the links as those of `sites` sites, in order.
    fn sorted(&self, sites: usize) -> Sorted<'_> {
        let (keys, values) = (self.keys.input(), self.values.input());
        Sorted { keys, values, count: self.count as u32, sites: sites as u32 }
    }
}

/// Returns blocks of warps that share this many sites.
fn warps(sites: usize) -> Blocks {
    let threads = 32 * u64::min(sites as u64, MAX_WARPS);
    Blocks::x(threads.div_ceil(u64::from(FAR_BLOCK)) as u32)
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
            let mut made = InAnyOrder::new(&gpu, found.index.len()).unwrap();
            made.find(&mut workspace, &found.index, found.predicates, u32::MAX).unwrap();
            let spent = made.tally(SPENT).unwrap();
            assert!(spent * VISITS < 60_000, "{}: {spent}", cloud.name);
        }
    }

    /// Searches give up at once where there are more than a few sites.
    fn give_up(sites: usize) -> u32 {
        if sites > 20 { 0 } else { u32::MAX }
    }

    fn never_give_up(_: usize) -> u32 {
        u32::MAX
    }

    /// Stars from a sample, and by searches, are the same.
    fn check(gpu: &Gpu, workspace: &mut Workspace, cloud: &testing::Cloud) {
        let (x, y) = (gpu.upload(&cloud.x).unwrap(), gpu.upload(&cloud.y).unwrap());
        let index = quadtree_sort::gpu::index(workspace, &x, &y, None).unwrap();
        let found = triangulate(workspace, &index).unwrap();
        let [a, b] = [give_up, never_give_up].map(|most| {
            let stars = of(workspace, &found.index, found.predicates, most).unwrap();
            [stars.starts, stars.neighbours].map(|column| column.to_host().unwrap())
        });
        assert!(a == b, "{} points, {}", cloud.len(), cloud.name);
    }

    #[test]
    fn a_sample_gives_the_same_stars() {
        let gpu = testing::gpu();
        let mut workspace = Workspace::new(&gpu).unwrap();
        let large = if testing::is_slow() { 1500 } else { 100_000 };
        for size in [30, 200, large] {
            let rounded = testing::clouds::rounded_lattice(size, 3);
            for cloud in testing::clouds::all(size, 3).chain([rounded]) {
                check(&gpu, &mut workspace, &cloud);
            }
        }
    }

    #[test]
    fn a_site_that_sees_all_others_is_in_a_sample_or_beside_it() {
        let gpu = testing::gpu();
        let mut workspace = Workspace::new(&gpu).unwrap();
        for size in 2401..2405 {
            // The centre of a circle has all sites as its neighbours. It is in one of these samples, more or less.
            let mut cloud = testing::clouds::circle(size, 1);
            let middle = |along: &[f64]| along.iter().sum::<f64>() / along.len() as f64;
            let centre = [middle(&cloud.x), middle(&cloud.y)];
            cloud.x.push(centre[0]);
            cloud.y.push(centre[1]);
            check(&gpu, &mut workspace, &cloud);
        }
    }
}
