//! The triangles of a Delaunay triangulation as half-edges, from its stars, and the cavity of a new site.
//!
//! Beyond each side of the hull lies a triangle whose third corner is at infinity. So every edge lies between two
//! triangles. Sites that do not all lie on a line have [`Mesh::triangles`] triangles, wherever they lie.
//!
//! A triangle `t` has three *half-edges*, `3 t`, `3 t + 1` and `3 t + 2`. Each goes from a corner to the next one
//! counter-clockwise. Its *twin* is the half-edge that goes back, in the triangle on its right, and its *apex* that
//! triangle's third corner.
//!
//! # The cavity
//!
//! When a new site joins, the triangles that have it inside their circles vanish (Bowyer 1981,
//! doi:10.1093/comjnl/24.2.162; Watson 1981, doi:10.1093/comjnl/24.2.167). The circle of a triangle at infinity is the
//! half plane beyond its side, with the side itself. Sites on one circle are decided by the rule of
//! [`is_inside`](Predicates::is_inside). Together these triangles are a polygon, the *cavity*, without a site in its
//! interior. So they are connected as a tree, and a walk along the border meets each of their half-edges once:
//!
//! ```text
//! from a half-edge of a triangle of the cavity:
//!     the triangle across is in the cavity:  enter it, and go to the half-edge that follows the twin
//!     else:                                  go to the triangle's next half-edge
//! until the first half-edge comes again
//! ```
//!
//! The walk stores nothing, so a cavity may be of any size.

use device_std::{In, Out, arguments, kernel, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use crate::stars::MODULE;
use crate::stars::angles::{cross, way};
use crate::stars::locate::Query;
use crate::stars::neighbours::Stars;
use crate::stars::predicates::{Decide, Place, Predicates, is_before, sure};
use crate::stars::queries::SiteColumns;
use crate::stars::rough::NONE;

/// Threads of a block.
const BLOCK: usize = 128;

/// The triangles of some sites, and those at infinity.
#[arguments]
pub struct Mesh<'a> {
    /// Where each site lies.
    pub x: In<'a, f64>,
    /// As `x`.
    pub y: In<'a, f64>,
    /// For each half-edge its twin, and in the upper word its apex; [`NONE`] if the apex is at infinity.
    pub halves: In<'a, u64>,
    /// For each site, where its half-edges begin in `of_slots`, and where the last ones end.
    pub starts: In<'a, u32>,
    /// The half-edges from each site, counter-clockwise. For a site on the hull they begin at the hull, without the
    /// half-edge to infinity.
    pub of_slots: In<'a, u32>,
}

/// The star of a site.
struct Star {
    site: u32,
    first: u32,
    end: u32,
    is_on_hull: bool,
}

impl Star {
    #[inline(always)]
    fn of(sites: &SiteColumns<'_>, site: u32) -> Self {
        let [first, end] = sites.star(site);
        Self { site, first, end, is_on_hull: sites.is_on_hull(site) }
    }

    /// The neighbours at a slot and at the next one, which are corners of a triangle; the second is [`NONE`] if it is
    /// at infinity.
    #[inline(always)]
    fn corners(&self, sites: &SiteColumns<'_>, slot: u32) -> [u32; 2] {
        let is_last = slot + 1 == self.end;
        let next = if is_last { self.first } else { slot + 1 };
        let second = if is_last && self.is_on_hull { NONE } else { sites.neighbour(next) };
        [sites.neighbour(slot), second]
    }

    /// Whether the site is the lowest corner of its triangle after a slot.
    #[inline(always)]
    fn is_lowest(&self, sites: &SiteColumns<'_>, slot: u32) -> bool {
        let [a, b] = self.corners(sites, slot);
        // A triangle at infinity belongs to the site that infinity follows.
        b == NONE || self.site < a && self.site < b
    }
}

/// The whole warp shares a star of more neighbours than this.
const LONG: u32 = 32;

/// Shows each slot of the lane's star. The lanes share long stars.
///
/// # Safety
/// The whole warp comes to the same call.
#[inline(always)]
unsafe fn each_slot(sites: &SiteColumns<'_>, site: u32, mut show: impl FnMut(&Star, u32)) {
    let is_there = site < sites.sites;
    let [first, end] = if is_there { sites.star(site) } else { [0; 2] };
    if is_there && end - first <= LONG {
        let star = Star::of(sites, site);
        let mut slot = first;
        while slot < vector::unknown(end) {
            show(&star, slot);
            slot += 1;
        }
    }
    // SAFETY: passed on to the caller.
    let mut long = unsafe { warp::ballot(warp::FULL, end - first > LONG) };
    while long != 0 {
        let lane = long.trailing_zeros();
        long &= long - 1;
        // SAFETY: passed on to the caller.
        let star = Star::of(sites, unsafe { warp::shuffle(warp::FULL, site, lane) });
        let mut slot = star.first + warp::lane_id();
        while slot < vector::unknown(star.end) {
            show(&star, slot);
            slot += warp::SIZE;
        }
    }
}

/// Marks the slots of triangles that belong to this site: 1 for these, 0 for others. A triangle belongs to its lowest
/// site; at infinity, to the site that infinity follows. Grid: a thread for each site.
///
/// # Safety
/// The slices have what [`struct@SiteColumns`] says; `flags` has an element for each neighbour.
#[kernel(block = BLOCK)]
pub unsafe fn mark_triangles(sites: SiteColumns<'_>, flags: Out<'_, u32>) {
    // SAFETY: the whole warp comes here.
    unsafe {
        each_slot(&sites, thread::index_1d() as u32, |star, slot| {
            flags.set(slot, u32::from(star.is_lowest(&sites, slot)));
        });
    }
}

/// Numbers the half-edges from each site: three times the number of the triangle, plus which of its half-edges it is.
/// Grid: a thread for each site.
///
/// # Safety
/// As for [`mark_triangles`](mod@mark_triangles). `before` tells how many marked slots come before each one. `of_slots`
/// has an element for each neighbour. `unit` is the exponent of the unit of all coordinates.
// The spills are around calls of exact decisions.
#[kernel(block = BLOCK, resident = 6, spills = 700)]
pub unsafe fn number_halves(
    sites: SiteColumns<'_>,
    unit: i32,
    before: In<'_, u32>,
    of_slots: Out<'_, u32>,
) {
    let predicates = Predicates::new(unit);
    // SAFETY: the whole warp comes here.
    unsafe {
        each_slot(&sites, thread::index_1d() as u32, |star, slot| {
            let at = sites.place(star.site);
            let query = Query { stars: &sites, predicates: &predicates, at };
            let [a, b] = star.corners(&sites, slot);
            let half = if star.is_lowest(&sites, slot) {
                3 * before.get(slot)
            } else if a < b {
                3 * before.get(sure(query.slot_of(a, b, sites.place(b)))) + 2
            } else {
                3 * before.get(sure(query.slot_of(b, star.site, at))) + 1
            };
            of_slots.set(slot, half);
        });
    }
}

/// Finds twin and apex of each half-edge. Grid: a thread for each site.
///
/// # Safety
/// As [`number_halves`](mod@number_halves), which has run. `halves` has three elements for each triangle.
// As for `number_halves`.
#[kernel(block = BLOCK, resident = 6, spills = 700)]
pub unsafe fn join_halves(
    sites: SiteColumns<'_>,
    unit: i32,
    of_slots: In<'_, u32>,
    halves: Out<'_, u64>,
) {
    let predicates = Predicates::new(unit);
    let join = |half: u32, twin: u32, apex: u32| {
        halves.set(half, u64::from(twin) | u64::from(apex) << 32);
    };
    // SAFETY: the whole warp comes here.
    unsafe {
        each_slot(&sites, thread::index_1d() as u32, |star, slot| {
            let (site, at) = (star.site, sites.place(star.site));
            let query = Query { stars: &sites, predicates: &predicates, at };
            let neighbour = sites.neighbour(slot);
            let apex = match slot == star.first {
                true if star.is_on_hull => NONE,
                true => sites.neighbour(star.end - 1),
                false => sites.neighbour(slot - 1),
            };
            let twin = of_slots.get(sure(query.slot_of(neighbour, site, at)));
            join(of_slots.get(slot), twin, apex);
            if star.is_on_hull && slot == star.first {
                // The half-edges from infinity to the site, and back. Each is in a triangle at infinity: one beyond the
                // side from the site, one beyond the side to it.
                let [_, end] = sites.star(neighbour);
                let (from, back) = (of_slots.get(star.end - 1) + 2, of_slots.get(end - 1) + 1);
                join(from, back, neighbour);
                join(back, from, sites.neighbour(star.end - 1));
            }
        });
    }
}

/// A half-edge of the walk around a cavity.
#[derive(Clone, Copy)]
struct Half {
    number: u32,
    /// Where it begins, where it ends, and where the third corner of its triangle lies. NaN at infinity.
    corners: [Place; 3],
}

impl Mesh<'_> {
    /// The number of triangles of `sites` sites, with those at infinity. It follows from Euler's formula: the
    /// polyhedron of the sites and infinity has only triangles as faces.
    pub const fn triangles(sites: usize) -> usize {
        2 * sites - 2
    }

    /// Shows the triangles at a site.
    #[inline(always)]
    pub fn around(&self, site: u32, mut show: impl FnMut(u32)) {
        let (mut slot, end) = (self.starts.get(site), self.starts.get(site + 1));
        let first = self.of_slots.get(slot);
        while slot < vector::unknown(end) {
            show(self.of_slots.get(slot) / 3);
            slot += 1;
        }
        let (twin, apex) = self.across(first);
        if apex == NONE {
            // Beyond the side to the next site of the hull.
            show(twin / 3);
        }
    }

    /// Shows each triangle of the cavity of a place that is on no site, and `true`; and each triangle beside the
    /// cavity, once for each edge between, and `false`. The walk to the cavity begins at `site`, best one near the
    /// place. It ends early, and returns `None`, if `show` returns false or a decision is left open.
    ///
    /// Cost: the triangles on the way, and the triangles of the cavity.
    #[inline(always)]
    pub fn cavity(
        &self,
        predicates: &impl Decide,
        at: Place,
        site: u32,
        mut show: impl FnMut(u32, bool) -> bool,
    ) -> Option<()> {
        let begin = self.locate(predicates, at, site)?;
        let mut here = begin;
        while vector::unknown(1) == 1 {
            if here.number.is_multiple_of(3) && !show(here.number / 3, true) {
                return None;
            }
            let (twin, apex) = self.across(here.number);
            let [from, to, third] = here.corners;
            let place = self.place(apex);
            here = if is_inside(predicates, [to, from, place], at)? {
                Half { number: next(twin), corners: [from, place, to] }
            } else {
                if !show(twin / 3, false) {
                    return None;
                }
                Half { number: next(here.number), corners: [to, third, from] }
            };
            if here.number == begin.number {
                break;
            }
        }
        Some(())
    }

    /// The triangle beyond a half-edge.
    #[inline(always)]
    pub fn beyond(&self, half: u32) -> u32 {
        self.across(half).0 / 3
    }

    /// The corners of a triangle. NaN at infinity.
    #[inline(always)]
    pub fn corners(&self, triangle: u32) -> [Place; 3] {
        // A corner is the apex of the twin of the half-edge across.
        [1, 2, 0].map(|half| self.place(self.across(self.across(3 * triangle + half).0).1))
    }

    /// A half-edge of the triangle that a place lies in, or of a triangle at infinity if the place lies beyond its
    /// side.
    ///
    /// Walks from triangle to triangle, always across an edge that the place lies beyond. In a Delaunay triangulation
    /// such a walk ends.
    #[inline(always)]
    fn locate(&self, predicates: &impl Decide, at: Place, site: u32) -> Option<Half> {
        let number = self.towards(site, at);
        let (_, of_third) = self.across(self.across(number).0);
        let (_, of_end) = self.across(self.across(next(next(number))).0);
        let corners = [site, of_end, of_third].map(|site| self.place(site));
        let mut here = Half { number, corners };
        let mut seen = 0;
        while seen < vector::unknown(3) {
            let [from, to, third] = here.corners;
            if predicates.side(from, to, at).ok()? < 0.0 {
                let (twin, apex) = self.across(here.number);
                let place = self.place(apex);
                here = Half { number: next(twin), corners: [from, place, to] };
                if apex == NONE {
                    break;
                }
                // The place does not lie beyond the edge by which the walk entered.
                seen = 1;
            } else {
                here = Half { number: next(here.number), corners: [to, third, from] };
                seen += 1;
            }
        }
        Some(here)
    }

    /// A half-edge from a site. If the site has many, it is the one before the direction of a place, as far as rounding
    /// tells.
    #[inline(always)]
    fn towards(&self, site: u32, at: Place) -> u32 {
        let [first, end] = [self.starts.get(site), self.starts.get(site + 1)];
        let (mut low, mut high) = (first, end);
        if end - first > LONG {
            let from = self.place(site);
            let there = |slot: u32| {
                // A half-edge ends at the apex of the twin of the one before it in its triangle.
                let before = next(next(self.of_slots.get(slot)));
                way(from, self.place(self.across(self.across(before).0).1))
            };
            let (start, towards) = (there(first), way(from, at));
            // Whether a direction is less than half a turn after the first.
            let is_early = |way: Place| cross(start, way) >= 0.0;
            let is_soon = is_early(towards);
            while high - low > vector::unknown(1) {
                let middle = low + (high - low) / 2;
                let way = there(middle);
                let comes_after = match (is_early(way), is_soon) {
                    (true, false) => false,
                    (false, true) => true,
                    _ => cross(way, towards) < 0.0,
                };
                (low, high) = if comes_after { (low, middle) } else { (middle, high) };
            }
            // The last one of a site on the hull lies in a triangle at infinity.
            let (_, third) = self.across(self.across(self.of_slots.get(low)).0);
            low = if third == NONE { first } else { low };
        }
        self.of_slots.get(low)
    }

    /// The twin and the apex of a half-edge.
    #[inline(always)]
    fn across(&self, half: u32) -> (u32, u32) {
        let word = self.halves.get(half);
        (word as u32, (word >> 32) as u32)
    }

    #[inline(always)]
    fn place(&self, site: u32) -> Place {
        match site {
            NONE => [f64::NAN; 2],
            _ => [self.x.get(site), self.y.get(site)],
        }
    }
}

/// The half-edge that follows in its triangle.
#[inline(always)]
fn next(half: u32) -> u32 {
    if half % 3 == 2 { half - 2 } else { half + 1 }
}

/// Whether a triangle has a place inside its circle; a corner may be at infinity. `None` if the decision is left open.
#[inline(always)]
pub fn is_inside(predicates: &impl Decide, [a, b, c]: [Place; 3], at: Place) -> Option<bool> {
    let [from, to] = if c[0].is_nan() {
        [b, a]
    } else if a[0].is_nan() {
        [c, b]
    } else if b[0].is_nan() {
        [a, c]
    } else {
        return predicates.is_within([a, b, c], at).ok();
    };
    // Beyond the side, which has the sites on its left, or on it.
    let side = predicates.side(from, to, at).ok()?;
    Some(side < 0.0 || side == 0.0 && is_before(at, from) != is_before(at, to))
}
