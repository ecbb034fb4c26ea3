//! Stars from lists that have all neighbours among them, each by a warp.
//!
//! [`sample`](super::sample) says which sites these are: those that conflict with the triangles of a site. A warp collects them in shared
//! memory, without most of those that several triangles have. Then each corner is the best of 32 at a time.

use device_std::shared::{Carver, SharedArray};
use device_std::{In, arguments, kernel, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::corners::Visitor;
use super::far::{FAR_BLOCK, RUN};
use super::predicates::{Place, Predicates};
use super::rough::Rough;
use super::sample::BESIDE;
use super::star::{KEPT, Search, Source, Told};

/// Candidates of a site. A site that has more is left to the last search.
const MOST: u32 = 768;

const WARPS: u32 = FAR_BLOCK / warp::SIZE;

#[inline(always)]
const fn rooms(carver: &mut Carver) -> [SharedArray<u32>; 2] {
    [carver.array(WARPS * MOST), carver.array(WARPS * KEPT)]
}

const SHARED: u32 = {
    let mut carver = Carver::new();
    let _ = rooms(&mut carver);
    carver.bytes()
};

/// The triangles of each site, and the sites that conflict with each.
#[arguments]
pub struct Lists<'a> {
    /// Where the triangles of each site begin in `triangles`.
    pub starts: In<'a, u32>,
    /// How many each site has.
    pub counts: In<'a, u32>,
    /// The triangles of all sites, with [`BESIDE`].
    pub triangles: In<'a, u32>,
    /// Where the sites of each triangle begin, and where the last ones end.
    pub begins: In<'a, u32>,
    /// The sites of all triangles.
    pub sites: In<'a, u32>,
}

/// Makes the stars of those of `sites` sites that have none yet, from their candidates. `unit` is the exponent of the unit of all
/// coordinates. Grid: any number of warps, which take turns.
///
/// # Safety
/// `x`, `y`, [`struct@Lists`] and [`Rough`] have an element for each site, and there is room for six neighbours of each.
// What spills is around calls of exact decisions.
#[kernel(block = FAR_BLOCK, shared = SHARED, resident = 4, spills = 1200)]
pub unsafe fn find_sampled_stars(
    x: In<'_, f64>,
    y: In<'_, f64>,
    sites: u32,
    unit: i32,
    lists: Lists<'_>,
    rough: Rough<'_>,
) {
    let [candidates, kept] = rooms(&mut Carver::new());
    let kept = kept.skip(warp::warp_id() * KEPT);
    let candidates = candidates.skip(warp::warp_id() * MOST);
    let source = Candidates { x, y, sites: candidates, count: 0 };
    let (predicates, told) = (Predicates::new(unit), Told::NOTHING);
    let mut search = Search { x, y, predicates, source, made: rough, kept, is_last: false, told };
    let warps = thread::grid_dim_x() * WARPS;
    let mut i = (thread::index_1d() / warp::SIZE as u64) as u32 * RUN;
    // SAFETY: the whole warp comes here; the rest is passed on to the caller.
    unsafe {
        while i < vector::unknown(sites) {
            // The warp is the only one that makes this star.
            if rough.counts.load(i) == 0 {
                let is_made = search.source.collect(&lists, i) && search.make(i);
                if !is_made && warp::lane_id() == 0 {
                    rough.leave(i);
                }
            }
            i += 1;
            if i.is_multiple_of(RUN) {
                i += (warps - 1) * RUN;
            }
        }
    }
}

/// The candidates of a site.
struct Candidates<'a> {
    x: In<'a, f64>,
    y: In<'a, f64>,
    sites: SharedArray<u32>,
    count: u32,
}

impl Source for Candidates<'_> {
    #[inline(always)]
    unsafe fn look(&mut self, _: Place, _: [u32; 2], visitor: &mut impl Visitor) {
        let mut i = warp::lane_id();
        // SAFETY: passed on to the caller; the elements were stored, and a barrier is between.
        unsafe {
            let mut first = 0;
            while first < vector::unknown(self.count) {
                let is_there = i < self.count;
                let site = self.sites.load(if is_there { i } else { first });
                // A candidate may be listed twice.
                let counts = is_there && site != visitor.found();
                visitor.visit(site, [self.x.get(site), self.y.get(site)], counts);
                first += warp::SIZE;
                i += warp::SIZE;
            }
        }
    }

    #[inline(always)]
    unsafe fn is_over(&mut self) -> bool {
        false
    }
}

impl Candidates<'_> {
    /// Collects the candidates of a site. Gives whether there is room for them.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the site is one of those that the lists are of.
    #[inline(always)]
    unsafe fn collect(&mut self, lists: &Lists<'_>, site: u32) -> bool {
        let (lane, own) = (warp::lane_id(), lists.triangles.from(lists.starts.get(site)));
        let triangles = lists.counts.get(site);
        if triangles == 0 {
            // A hub.
            return false;
        }
        self.count = 0;
        let mut group = 0;
        // SAFETY: passed on to the caller; each lane stores elements of its own.
        unsafe {
            // Nobody reads the candidates before any more.
            warp::sync_warp(warp::FULL);
            // Each lane has one of 32 triangles.
            while group < vector::unknown(triangles) {
                let (mut begin, mut len) = (0, 0);
                if group + lane < triangles {
                    let triangle = own.get(group + lane) & !BESIDE;
                    begin = lists.begins.get(triangle);
                    len = lists.begins.get(triangle + 1) - begin;
                }
                let end = warp::inclusive_scan(len, |a, b| a + b);
                let all = warp::shuffle(warp::FULL, end, warp::SIZE - 1);
                let mut first = 0;
                // Each lane has one site of one of these triangles.
                while first < vector::unknown(all) {
                    let i = first + lane;
                    let of = lane_of(end, i);
                    let from = warp::shuffle(warp::FULL, (begin + len).wrapping_sub(end), of);
                    let at = from.wrapping_add(i);
                    let candidate = if i < all { lists.sites.get(at) } else { site };
                    let same = warp::match_any(warp::FULL, candidate);
                    let counts = candidate != site && same & warp::lanes_below() == 0;
                    let counted = warp::ballot(warp::FULL, counts);
                    let at = self.count + (counted & warp::lanes_below()).count_ones();
                    self.count += counted.count_ones();
                    if self.count > MOST {
                        return false;
                    }
                    if counts {
                        self.sites.store(at, candidate);
                    }
                    first += warp::SIZE;
                }
                group += warp::SIZE;
            }
            warp::sync_warp(warp::FULL);
        }
        true
    }
}

/// The first lane whose `end` is above `i`; the last lane if there is none. Ends rise from lane to lane.
///
/// # Safety
/// The whole warp comes to the same call.
#[inline(always)]
unsafe fn lane_of(end: u32, i: u32) -> u32 {
    let (mut lane, mut step) = (0, warp::SIZE / 2);
    while step > 0 {
        // SAFETY: passed on to the caller.
        let before = unsafe { warp::shuffle(warp::FULL, end, lane + step - 1) };
        if before <= i {
            lane += step;
        }
        step /= 2;
    }
    lane
}
