//! Where each site would go into the triangulation of a random sample of the sites: which of its triangles have it inside their
//! circles (Clarkson and Shor 1989, "Applications of random sampling in computational geometry, II", doi:10.1007/BF02187740).
//!
//! A site *conflicts* with a triangle of the sample's triangulation if it is one of its corners, or lies inside its circle. Let two
//! sites be neighbours in the triangulation of all: a circle through both has no site inside. Grow it until it has an edge of the
//! sample's triangulation as a chord. Move its centre away from the chord, either way, until it passes through a third site of the sample. This
//! makes the circles of the triangles on both sides of the edge. What lies on one side of the chord, one of them holds. So:
//!
//! - Two sites on one side conflict with one triangle.
//! - Of two sites on both sides one conflicts with a triangle, and the other with the triangle beside it.
//! - If one of the two is in the sample, the other conflicts with a triangle at it: their edge begins there.
//!
//! So all neighbours of a site are among the *candidates*, those that conflict with its triangles or, for a site outside of the sample, with
//! a triangle beside these.
//!
//! How many these are does not depend on where the sites lie. Since the sample is random, a site outside conflicts with as many triangles as a
//! star has, less two: on average 4.
//!
//! 1. [`gather_sample`]: of each [`RATE`] sites that follow each other the sample has a random one.
//! 2. [`find_conflicts`]: a thread has one site. It lists the triangles of its cavity ([`mesh`](super::mesh)) and those beside it, or, in the
//!    sample, of its star, and counts the sites that conflict with each triangle.
//! 3. [`list_conflicts`]: the sites of each triangle.

use device_std::shared::{Carver, SharedArray};
use device_std::{In, Out, arguments, kernel, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::mesh::Mesh;
use super::predicates::{Place, Predicates};

/// Sites for each one of the sample.
pub const RATE: u32 = 4;

/// Threads of a block.
const BLOCK: u32 = 128;

/// Triangles of a site that are listed in one walk.
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

/// The site that the sample has as number `i`, of so many sites.
#[inline(always)]
fn site_of(i: u32, sites: u32) -> u32 {
    let first = i * RATE;
    let mut bits = (i ^ 0x9e37_79b9).wrapping_mul(0x85eb_ca6b);
    bits = (bits ^ bits >> 15).wrapping_mul(0xc2b2_ae35);
    first + ((bits >> 16) * u32::min(RATE, sites - first) >> 16)
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

/// Which triangles of the sample each site conflicts with.
#[arguments]
pub struct Conflicts<'a> {
    /// Where the triangles of each site begin in `triangles`.
    pub starts: Out<'a, u32>,
    /// How many each site has.
    pub counts: Out<'a, u32>,
    /// The triangles of all sites, with [`BESIDE`].
    pub triangles: Out<'a, u32>,
    /// The room in `triangles`.
    pub room: u32,
    /// How many sites conflict with each triangle.
    pub sites_of: Out<'a, u32>,
    /// How many triangles there are in `triangles`, or would be if there were room.
    pub written: Out<'a, u32>,
}

/// Finds the conflicts of all sites. `unit` is the exponent of the unit of all coordinates. Grid: a thread for each site.
///
/// # Safety
/// `x`, `y` and `nearest` have an element for each of `sites` sites: the number of the sample's site that is nearest, or nearly. The
/// sample is that of these sites, and not in line. [`struct@Conflicts`] has an element for each site, and in `sites_of` one
/// for each triangle, which are 0, as `written` is.
// What spills is around calls of exact decisions.
#[kernel(block = BLOCK, shared = SHARED, resident = 6, spills = 900)]
pub unsafe fn find_conflicts(
    x: In<'_, f64>,
    y: In<'_, f64>,
    sites: u32,
    unit: i32,
    sample: Mesh<'_>,
    nearest: In<'_, u32>,
    conflicts: Conflicts<'_>,
) {
    let site = thread::index_1d() as u32;
    let is_there = site < sites;
    let kept = lists(&mut Carver::new()).skip(thread::thread_idx_x());
    let predicates = Predicates::new(unit);
    let at = if is_there { [x.get(site), y.get(site)] } else { [0.0; 2] };
    let own = Own { site, at, nearest, sites };
    let (mut start, mut is_again) = (0, false);
    // A long list comes a second time, when its place is known. A loop, so that the code stands once.
    while vector::unknown(1) == 1 {
        let mut count = 0;
        if is_there {
            own.each_triangle(&sample, &predicates, |triangle| {
                if is_again {
                    conflicts.triangles.set(start + count, triangle);
                } else if count < KEPT {
                    // SAFETY: the list is the thread's own.
                    unsafe { kept.store(count * BLOCK, triangle) };
                }
                if !is_again && triangle & BESIDE == 0 {
                    conflicts.sites_of.fetch_add(triangle, 1);
                }
                count += 1;
            });
        }
        if is_again {
            return;
        }
        // SAFETY: the whole warp comes here.
        unsafe {
            let end = warp::inclusive_scan(count, |a, b| a + b);
            let all = warp::shuffle(warp::FULL, end, warp::SIZE - 1);
            let is_first = warp::lane_id() == 0;
            let first = if is_first { conflicts.written.fetch_add(0_u32, all) } else { 0 };
            start = warp::shuffle(warp::FULL, first, 0) + end - count;
        }
        // Without room all is made again.
        if !is_there || count > conflicts.room || start > conflicts.room - count {
            return;
        }
        conflicts.starts.set(site, start);
        conflicts.counts.set(site, count);
        is_again = count > KEPT;
        let mut i = 0;
        while !is_again && i < vector::unknown(count) {
            // SAFETY: the list is the thread's own.
            conflicts.triangles.set(start + i, unsafe { kept.load(i * BLOCK) });
            i += 1;
        }
        if !is_again {
            return;
        }
    }
}

/// A site of all.
struct Own<'a> {
    site: u32,
    at: Place,
    nearest: In<'a, u32>,
    sites: u32,
}

impl Own<'_> {
    /// Shows its triangles, with [`BESIDE`].
    #[inline(always)]
    fn each_triangle(&self, sample: &Mesh<'_>, predicates: &Predicates, mut show: impl FnMut(u32)) {
        let number = self.site / RATE;
        if site_of(number, self.sites) == self.site {
            return sample.around(number, show);
        }
        sample.cavity(predicates, self.at, self.nearest.get(self.site), |triangle, is_inside| {
            show(if is_inside { triangle } else { triangle | BESIDE });
        });
    }
}

/// Lists the sites that conflict with each triangle. Grid: a thread for each site.
///
/// # Safety
/// [`find_conflicts`](mod@find_conflicts) has found them, and there was room; `begins` tells where the sites of each triangle begin in `listed`,
/// which has an element for each conflict. In `sites_of` nothing is left.
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
            let left = conflicts.sites_of.fetch_add(triangle, u32::MAX);
            listed.set(begins.get(triangle) + left - 1, site);
        }
        i += 1;
    }
}
