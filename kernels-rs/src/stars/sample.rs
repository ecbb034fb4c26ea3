//! The conflicts of each site with the triangulation of a random sample: which of the sample's triangles have the site
//! inside their circles. (Clarkson and Shor 1989, "Applications of random sampling in computational geometry, II",
//! doi:10.1007/BF02187740.)
//!
//! Lift all sites to the height x² + y². A site *conflicts* with a triangle of the sample's triangulation if it lies on
//! the triangle's plane or below: it is a corner, or inside the triangle's circle. The *candidates* of a site are the
//! sites that conflict with its triangles. If the site is not in the sample, its triangles include those beside the
//! ones that it conflicts with. All its neighbours are candidates:
//!
//! - The edge to a neighbour is an edge of the lower hull of all lifted sites. So it lies nowhere above the lower hull
//!   of the sample.
//! - Over each triangle of the sample that the edge crosses, it lies on the plane or below. So at least one of its ends
//!   does: that end conflicts with the triangle.
//! - The first triangle on the way conflicts with one end, the last with the other. So somewhere both ends conflict
//!   with one triangle, or one end conflicts with a triangle and the other end with the next.
//! - An end in the sample lies on the plane of the first triangle, so the other end conflicts with that triangle.
//!
//! The tie rule lowers heights by infinitesimals, which changes none of this. Beyond each side of the hull lies a
//! triangle with a corner at infinity, whose plane stands upright on the side.
//!
//! The number of conflicts does not depend on where the sites lie. Since the sample is random, a site outside it
//! conflicts with as many triangles as a star has, less two: on average 4.
//!
//! 1. [`gather_sample`]: of every [`RATE`] successive sites, the sample has a random one.
//! 2. [`find_conflicts`]: a thread has one site. It lists the site's triangles, and counts the sites that conflict with
//!    each triangle. A site in the sample has the triangles of its star; another site has those of its cavity
//!    ([`mesh`](mesh)) and those beside it. [`find_hard_conflicts`] takes the few sites that f64 does not decide: a
//!    kernel that never decides exactly keeps its numbers in registers. For a few *hubs*, sites with very many
//!    triangles, [`find_hub_conflicts`] tests each triangle.
//! 3. [`list_conflicts`]: the sites of each triangle.

pub(super) mod candidates;
pub(super) mod hard;
pub(super) mod mesh;
pub(super) mod sampled;

use device_std::shared::{Carver, SharedArray};
use device_std::{In, Out, arguments, kernel, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::angles::way;
use super::circle::Circle;
use super::predicates::{Decide, Predicates, Quick};
use mesh::{Mesh, is_inside};

/// Of how many sites the sample has one.
pub const RATE: u32 = 4;

/// Threads of a block.
const BLOCK: u32 = 128;

/// Triangles of a site that a thread can keep.
const KEPT: u32 = 16;

/// In a list of triangles this bit is set for one that the site does not conflict with.
pub const BESIDE: u32 = 1 << 31;

const SHARED: u32 = {
    let mut carver = Carver::new();
    let _ = lists(&mut carver);
    carver.bytes()
};

#[inline(always)]
const fn lists(carver: &mut Carver) -> SharedArray<u32> {
    carver.array(BLOCK * KEPT)
}

/// The site that is number `i` of the sample, of `sites` sites.
#[inline(always)]
fn site_of(i: u32, sites: u32) -> u32 {
    let first = i * RATE;
    let mut bits = (i ^ 0x9e37_79b9).wrapping_mul(0x85eb_ca6b);
    bits = (bits ^ (bits >> 15)).wrapping_mul(0xc2b2_ae35);
    first + (((bits >> 16) * u32::min(RATE, sites - first)) >> 16)
}

/// Writes the sites of the sample: where they lie, and their numbers in the sample. Grid: a thread for each.
///
/// # Safety
/// The columns of all sites have `sites` elements, those of the sample one for each [`RATE`] of these, rounded up.
#[kernel(block = BLOCK)]
pub unsafe fn gather_sample(
    x: In<'_, f64>,
    y: In<'_, f64>,
    sites: u32,
    sample_x: Out<'_, f64>,
    sample_y: Out<'_, f64>,
    numbers: Out<'_, u32>,
) {
    let i = thread::index_1d();
    if i < u64::from(sites.div_ceil(RATE)) {
        let site = site_of(i as u32, sites);
        sample_x.set(i, x.get(site));
        sample_y.set(i, y.get(site));
        numbers.set(i, i as u32);
    }
}

/// Sites, and the triangles of a sample of them.
#[arguments]
pub struct Sampled<'a> {
    /// Where each site lies.
    pub x: In<'a, f64>,
    /// As `x`.
    pub y: In<'a, f64>,
    /// How many sites there are.
    pub sites: u32,
    /// The exponent of the unit of all coordinates.
    pub unit: i32,
    /// The sample's triangles.
    pub mesh: Mesh<'a>,
    /// For each site, a nearby site of the sample, by its number there.
    pub nearest: In<'a, u32>,
}

/// Which triangles of the sample each site conflicts with.
#[arguments]
pub struct Conflicts<'a> {
    /// Where the triangles of each site begin in `triangles`.
    pub starts: Out<'a, u32>,
    /// How many triangles each site has.
    pub counts: Out<'a, u32>,
    /// The triangles of all sites, with [`BESIDE`].
    pub triangles: Out<'a, u32>,
    /// How many elements `triangles` has.
    pub room: u32,
    /// How many sites conflict with each triangle.
    pub sites_of: Out<'a, u32>,
    /// The sites that [`find_conflicts`](mod@find_conflicts) leaves to
    /// [`find_hard_conflicts`](mod@find_hard_conflicts).
    pub hard: Out<'a, u32>,
    /// The sites of very many triangles, in no order: [`MAX_HUBS`] elements. Then how many triangles each of them has,
    /// 0 before.
    pub hubs: Out<'a, u32>,
    /// Three numbers: how many elements of `triangles` are needed, how many sites `hard` has, and how many elements of
    /// `hubs` are needed. The first and the last may be more than there are.
    pub tallies: Out<'a, u32>,
}

/// A tally of [`struct@Conflicts`].
const WRITTEN: u32 = 0;
/// As [`WRITTEN`].
const HARD: u32 = 1;
/// As [`WRITTEN`].
const HUBS: u32 = 2;

/// The most hubs. The threads of further ones walk after all, many at once.
pub const MAX_HUBS: usize = 1024;

/// A site outside the sample is a hub if it has this many triangles: a single thread would walk for too long.
pub const MANY: u32 = 256;

impl Sampled<'_> {
    /// Shows the triangles of a site, with [`BESIDE`]. `None` if the walk ends early: see [`Mesh::cavity`].
    #[inline(always)]
    fn each_triangle(
        &self,
        predicates: &impl Decide,
        site: u32,
        mut show: impl FnMut(u32) -> bool,
    ) -> Option<()> {
        let number = site / RATE;
        if site_of(number, self.sites) == site {
            self.mesh.around(number, |triangle| {
                show(triangle);
            });
            return Some(());
        }
        let (at, near) = ([self.x.get(site), self.y.get(site)], self.nearest.get(site));
        self.mesh.cavity(predicates, at, near, |triangle, is_inside| {
            show(if is_inside { triangle } else { triangle | BESIDE })
        })
    }
}

impl Conflicts<'_> {
    /// Reserves elements for the triangles of each lane's site. `None` if they do not fit, or the lane needs none.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn place(&self, site: u32, count: u32) -> Option<u32> {
        // SAFETY: passed on to the caller.
        let start = unsafe {
            let end = warp::inclusive_scan(count, |a, b| a + b);
            let all = warp::shuffle(warp::FULL, end, warp::SIZE - 1);
            let is_first = warp::lane_id() == 0;
            let first = if is_first { self.tallies.fetch_add(WRITTEN, all) } else { 0 };
            warp::shuffle(warp::FULL, first, 0) + end - count
        };
        if count == 0 || count > self.room || start > self.room - count {
            return None;
        }
        self.starts.set(site, start);
        self.counts.set(site, count);
        Some(start)
    }

    /// Keeps a hub, which has no list of triangles yet. Returns whether it fits.
    #[inline(always)]
    fn keep_hub(&self, site: u32) -> bool {
        let i = self.tallies.fetch_add(HUBS, 1);
        let is_room = i < MAX_HUBS as u32;
        if is_room {
            self.hubs.set(i, site);
            self.counts.set(site, 0);
        }
        is_room
    }

    /// Lists a site with a triangle that it conflicts with.
    #[inline(always)]
    fn give(&self, triangle: u32, site: u32, begins: In<'_, u32>, listed: Out<'_, u32>) {
        let left = self.sites_of.fetch_add(triangle, u32::MAX);
        listed.set(begins.get(triangle) + left - 1, site);
    }

    /// Lists a triangle, and counts the site there.
    #[inline(always)]
    fn list(&self, at: u32, triangle: u32) {
        self.triangles.set(at, triangle);
        if triangle & BESIDE == 0 {
            self.sites_of.fetch_add(triangle, 1);
        }
    }
}

/// Finds the conflicts of sites, except those that f64 does not decide, and those with many triangles. Grid: a thread
/// for each site.
///
/// # Safety
/// [`struct@Sampled`] and [`struct@Conflicts`] have an element for each site. `sites_of` has one for each triangle; it
/// and the tallies are 0. The sample is one of these sites, and not all of it lies on a line.
#[kernel(block = BLOCK, shared = SHARED, resident = 8)]
pub unsafe fn find_conflicts(sampled: Sampled<'_>, conflicts: Conflicts<'_>) {
    let site = thread::index_1d() as u32;
    let kept = lists(&mut Carver::new()).skip(thread::thread_idx_x());
    let quick = Quick(Predicates::new(sampled.unit));
    let mut count = 0;
    if site < sampled.sites {
        let found = sampled.each_triangle(&quick, site, |triangle| {
            if count < KEPT {
                // SAFETY: the list is the thread's own.
                unsafe { kept.store(count * BLOCK, triangle) };
            }
            count += 1;
            count <= KEPT
        });
        if found.is_none() || count > KEPT {
            conflicts.hard.set(conflicts.tallies.fetch_add(HARD, 1), site);
            count = 0;
        }
    }
    // SAFETY: the whole warp comes here.
    let Some(start) = (unsafe { conflicts.place(site, count) }) else {
        return;
    };
    let mut i = 0;
    while i < vector::unknown(count) {
        // SAFETY: as above.
        conflicts.list(start + i, unsafe { kept.load(i * BLOCK) });
        i += 1;
    }
}

/// Finds the conflicts of the sites in `hard`. Grid: any number of threads, which take turns.
///
/// # Safety
/// As [`find_conflicts`](mod@find_conflicts), which has run.
// The spills are around calls of exact decisions.
#[kernel(block = BLOCK, spills = 900)]
pub unsafe fn find_hard_conflicts(sampled: Sampled<'_>, conflicts: Conflicts<'_>) {
    let predicates = Predicates::new(sampled.unit);
    let all = conflicts.tallies.get(HARD);
    let mut first = thread::index_1d() as u32 & !(warp::SIZE - 1);
    while first < vector::unknown(all) {
        let (i, mut start, mut is_again) = (first + warp::lane_id(), None, false);
        let site = if i < all { conflicts.hard.get(i) } else { 0 };
        let (mut most, mut goes_on) = (MANY, i < all);
        // Once to count the triangles, and once to list them. A loop, so that the code stands once.
        while vector::unknown(1) == 1 {
            let mut count = 0;
            while goes_on {
                count = 0;
                let found = sampled.each_triangle(&predicates, site, |triangle| {
                    if let Some(start) = start {
                        conflicts.list(start + count, triangle);
                    }
                    count += 1;
                    count < most
                });
                let is_hub = found.is_none() && conflicts.keep_hub(site);
                goes_on = found.is_none() && !is_hub;
                count = if is_hub { 0 } else { count };
                most = u32::MAX;
            }
            if is_again {
                break;
            }
            // SAFETY: the whole warp comes here.
            start = unsafe { conflicts.place(site, count) };
            (goes_on, is_again) = (start.is_some(), true);
        }
        first += thread::grid_dim_x() * BLOCK;
    }
}

/// Counts the hubs that conflict with each triangle, and the triangles of each hub. If `begins` tells where the sites
/// of each triangle begin, it lists both instead. Grid: a thread for each triangle.
///
/// # Safety
/// As [`find_hard_conflicts`](mod@find_hard_conflicts), which has run, or [`place_hubs`](mod@place_hubs) and
/// [`list_conflicts`](mod@list_conflicts).
// The spills are around calls of exact decisions.
#[kernel(block = BLOCK, spills = 800)]
pub unsafe fn find_hub_conflicts(
    sampled: Sampled<'_>,
    conflicts: Conflicts<'_>,
    triangles: u32,
    begins: Option<In<'_, u32>>,
    listed: Out<'_, u32>,
) {
    let triangle = thread::index_1d() as u32;
    if triangle >= triangles {
        return;
    }
    let hubs = u32::min(conflicts.tallies.get(HUBS), MAX_HUBS as u32);
    if hubs == 0 {
        return;
    }
    let (predicates, mut i) = (Predicates::new(sampled.unit), 0);
    let corners = sampled.mesh.corners(triangle);
    let circle = Circle::through(way(corners[0], corners[1]), way(corners[0], corners[2]));
    while i < vector::unknown(hubs) {
        let site = conflicts.hubs.get(i);
        let at = [sampled.x.get(site), sampled.y.get(site)];
        // Most hubs surely lie outside. False at infinity, where the circle is NaN.
        let is_outside = circle.is_outside(way(corners[0], at));
        if !is_outside && is_inside(&predicates, corners, at) == Some(true) {
            // List the triangle with those beside it, some of which conflict too.
            let around = [0, 1, 2].map(|half| sampled.mesh.beyond(3 * triangle + half) | BESIDE);
            let own = [triangle, around[0], around[1], around[2]];
            match begins {
                None => {
                    conflicts.sites_of.fetch_add(triangle, 1);
                    conflicts.hubs.fetch_add(MAX_HUBS as u32 + i, own.len() as u32);
                }
                Some(begins) => {
                    conflicts.give(triangle, site, begins, listed);
                    let before = conflicts.counts.fetch_add(site, own.len() as u32);
                    let at = conflicts.starts.get(site) + before;
                    let mut k = 0;
                    while k < own.len() as u32 {
                        conflicts.triangles.set(at + k, own[k as usize]);
                        k += 1;
                    }
                }
            }
        }
        i += 1;
    }
}

/// Reserves elements for the triangles of hubs. Grid: a thread for each of [`MAX_HUBS`].
///
/// # Safety
/// As [`find_hub_conflicts`](mod@find_hub_conflicts), which has counted them.
#[kernel(block = BLOCK)]
pub unsafe fn place_hubs(conflicts: Conflicts<'_>) {
    let i = thread::index_1d() as u32;
    if i < u32::min(conflicts.tallies.get(HUBS), MAX_HUBS as u32) {
        let triangles = conflicts.hubs.get(MAX_HUBS as u32 + i);
        let start = conflicts.tallies.fetch_add(WRITTEN, triangles);
        conflicts.starts.set(conflicts.hubs.get(i), start);
    }
}

/// Lists the sites that conflict with each triangle, except hubs. Grid: a thread for each site.
///
/// # Safety
/// [`find_conflicts`](mod@find_conflicts) and [`find_hard_conflicts`](mod@find_hard_conflicts) have found the
/// conflicts, and all of them fit. `begins` tells where the sites of each triangle begin in `listed`, which has an
/// element for each conflict. Each listed conflict takes 1 from `sites_of`.
#[kernel(block = BLOCK)]
pub unsafe fn list_conflicts(
    conflicts: Conflicts<'_>,
    sites: u32,
    begins: In<'_, u32>,
    listed: Out<'_, u32>,
) {
    let site = thread::index_1d() as u32;
    if site >= sites {
        return;
    }
    let own = conflicts.triangles.from(conflicts.starts.get(site));
    let (count, mut i) = (conflicts.counts.get(site), 0);
    while i < vector::unknown(count) {
        let triangle = own.get(i);
        if triangle & BESIDE == 0 {
            conflicts.give(triangle, site, begins, listed);
        }
        i += 1;
    }
}
