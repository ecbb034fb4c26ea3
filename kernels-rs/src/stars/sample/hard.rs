//! Stars from candidates, where f64 does not decide, each by a warp.
//!
//! A warp collects the candidates of a site in shared memory, and drops duplicates among each 32. To find a corner, it
//! takes the best of 32 candidates at a time.

use device_std::shared::{Carver, SharedArray};
use device_std::{In, kernel, vector, warp};

use super::candidates::{Lists, Walk};
#[cfg(not(target_arch = "nvptx64"))]
use crate::stars::MODULE;
use crate::stars::angles::{is_left, way};
use crate::stars::far::{FAR_BLOCK, RUN, each};
use crate::stars::links::Sorted;
use crate::stars::predicates::{Place, Predicates};
use crate::stars::rough::{LISTED, Rough};
use crate::stars::star::corners::Visitor;
use crate::stars::star::{KEPT, Source, StarSearch};

/// The most candidates of a site that shared memory holds. If it has more, they are read from global memory each time.
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

/// Makes the stars of the listed sites, but leaves sites of very many candidates or neighbours. `unit` is the exponent
/// of the unit of all coordinates. Grid: any number of warps, which take turns.
///
/// # Safety
/// As [`find_sampled_stars`](mod@crate::stars::find_sampled_stars), which has run.
// The spills are around calls of exact decisions.
#[kernel(block = FAR_BLOCK, shared = SHARED, resident = 4, spills = 1200)]
pub unsafe fn find_hard_stars(
    x: In<'_, f64>,
    y: In<'_, f64>,
    unit: i32,
    lists: Lists<'_>,
    rough: Rough<'_>,
) {
    let mut search = search([x, y], unit, lists, rough);
    // SAFETY: the whole warp comes here; the rest is passed on to the caller.
    unsafe {
        each::<RUN>(rough.tallies.get(LISTED), |i| {
            let site = rough.listed.get(i);
            search.source.take(site);
            let is_made = matches!(search.source.all, 1..=MOST) && search.make(site);
            if !is_made && warp::lane_id() == 0 {
                rough.leave(site);
            }
            true
        });
    }
}

/// Makes the missing stars of the listed sites, from `links` where it can. It skips sites of more than `most`
/// triangles. Grid: any number of warps, which take turns.
///
/// # Safety
/// As [`find_hard_stars`](mod@find_hard_stars), with the links of all these sites.
// As for `find_hard_stars`.
#[kernel(block = FAR_BLOCK, shared = SHARED, resident = 4, spills = 1500)]
pub unsafe fn find_last_sampled_stars(
    x: In<'_, f64>,
    y: In<'_, f64>,
    unit: i32,
    most: u32,
    lists: Lists<'_>,
    links: Sorted<'_>,
    rough: Rough<'_>,
) {
    let mut search = search([x, y], unit, lists, rough);
    search.is_last = true;
    // SAFETY: as above.
    unsafe {
        each::<1>(rough.tallies.get(LISTED), |i| {
            let site = rough.listed.get(i);
            if rough.counts.load(site) == 0 && lists.counts.get(site) <= most {
                search.source.take(site);
                if !search.fill(site, &links.of(site)) {
                    search.make(site);
                }
            }
            true
        });
    }
}

#[inline(always)]
fn search<'a>(
    [x, y]: [In<'a, f64>; 2],
    unit: i32,
    lists: Lists<'a>,
    made: Rough<'a>,
) -> StarSearch<'a, Candidates<'a>, Predicates> {
    let [candidates, kept] = rooms(&mut Carver::new());
    let kept = kept.skip(warp::warp_id() * KEPT);
    let sites = candidates.skip(warp::warp_id() * MOST);
    let source = Candidates { x, y, lists, site: 0, sites, count: 0, all: 0 };
    let predicates = Predicates::new(unit);
    StarSearch { x, y, predicates, source, made, kept, is_last: false, is_undecided: false }
}

/// The candidates of a site.
struct Candidates<'a> {
    x: In<'a, f64>,
    y: In<'a, f64>,
    lists: Lists<'a>,
    site: u32,
    /// The candidates to show, if they fit.
    sites: SharedArray<u32>,
    count: u32,
    /// How many candidates there are in all, or a number above [`MOST`].
    all: u32,
}

impl Source for Candidates<'_> {
    #[inline(always)]
    unsafe fn look(&mut self, _: Place, _: [u32; 2], visitor: &mut impl Visitor) {
        let (mut i, mut walk) = (warp::lane_id(), self.walk());
        // SAFETY: passed on to the caller; the elements were stored, and a barrier is between.
        unsafe {
            while vector::unknown(1) == 1 {
                let (site, is_there) = if self.count > MOST {
                    let Some(next) = walk.next(true) else { break };
                    next
                } else if i - warp::lane_id() < self.count {
                    let is_there = i < self.count;
                    (self.sites.load(if is_there { i } else { 0 }), is_there)
                } else {
                    break;
                };
                // A candidate may come twice.
                let site = if is_there { site } else { self.site };
                let same = warp::match_any(warp::FULL, site);
                let counts =
                    site != self.site && site != visitor.found() && same & warp::lanes_below() == 0;
                visitor.visit(site, [self.x.get(site), self.y.get(site)], counts);
                i += warp::SIZE;
            }
        }
    }

    #[inline(always)]
    unsafe fn narrow(&mut self, wedge: Option<[Place; 2]>) {
        if self.all > MOST {
            // SAFETY: passed on to the caller.
            self.count = if wedge.is_some() { unsafe { self.collect(wedge) } } else { self.all };
        }
    }

    #[inline(always)]
    unsafe fn is_over(&mut self) -> bool {
        false
    }
}

impl<'a> Candidates<'a> {
    #[inline(always)]
    fn walk(&self) -> Walk<'a, { warp::SIZE }> {
        Walk::new(self.lists, Some(self.site))
    }

    /// Takes the candidates of a site from now on.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the lists have the site.
    #[inline(always)]
    unsafe fn take(&mut self, site: u32) {
        self.site = site;
        // SAFETY: passed on to the caller.
        self.all = unsafe { self.collect(None) };
        self.count = self.all;
    }

    /// Collects the candidates, or those in a wedge. Returns their number, or one above [`MOST`].
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn collect(&self, wedge: Option<[Place; 2]>) -> u32 {
        let (site, mut count, mut walk) = (self.site, 0, self.walk());
        let place = |site: u32| [self.x.get(site), self.y.get(site)];
        // SAFETY: passed on to the caller; each lane stores elements of its own.
        unsafe {
            // All lanes have read the candidates collected before.
            warp::sync_warp(warp::FULL);
            while let Some((candidate, is_there)) = walk.next(count <= MOST) {
                let candidate = if is_there { candidate } else { site };
                let same = warp::match_any(warp::FULL, candidate);
                let mut counts = candidate != site && same & warp::lanes_below() == 0;
                if let Some([first, last]) = wedge {
                    let there = way(place(site), place(candidate));
                    counts = counts && !is_left(there, first) && !is_left(last, there);
                }
                let counted = warp::ballot(warp::FULL, counts);
                let at = count + (counted & warp::lanes_below()).count_ones();
                count += counted.count_ones();
                if counts && at < MOST {
                    self.sites.store(at, candidate);
                }
            }
            warp::sync_warp(warp::FULL);
        }
        count
    }
}
