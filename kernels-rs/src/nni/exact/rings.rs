//! Each site's own Voronoi cell, made once, for all queries to share.
//!
//! A site's *ring* is its natural neighbours in counterclockwise order, with the corners of its cell
//! between them: corner i is as far from the site as from neighbours i and i + 1.
//!
//! Plan, for a site (gift wrapping; all places relative to it):
//!
//! 1. The nearest other site is the first neighbour.
//! 2. Of the sites to the left of the way to a neighbour a, the next neighbour is that whose circle, through
//!    the site, a and it, reaches least far to the left: no site lies in that part of the circle. The
//!    middles of all circles through the site and a lie on a line, so a quotient tells them apart, and
//!    quotients are compared without a division.
//! 3. What is near, and not crowded, is looked at first. Where that does not do for more than a few sites, along lines
//!    that are far apart or in crowds, these begin again with all that can be ([`sought`](super::sought)).
//! 4. The ring is closed when the first neighbour comes again.
//!
//! A site next to the hull, or with more than [`MOST_SIDES`] neighbours, has no ring of this kind. Unless these are many
//! they get *wide* rings, which a [`search`](super::search) clips ([`ring_by_clipping`](Index::ring_by_clipping)): a
//! query in a void, or along the hull, shares its hundreds of neighbours with those round it. On the hull a wide ring is
//! open: sides of the window are among its neighbours.
//!
//! Rings are made independently. Where sites lie on one circle but for rounding, one may name a
//! neighbour that does not name it; they are neighbours along next to nothing then.

use device_std::{math, vector};

use super::polygon::{Line, Polygon, Slots, WINDOW, cross, meeting};
use super::search::{End, Found, Index, NEAR, Query};
use super::sought::{Nearest, Next};
use super::team::Team;
use super::weights::Sides;
use crate::spatial::cells::Block;

/// The most sides of a ring. Of random sites 1 in 25,000 has more.
pub const MOST_SIDES: u32 = 12;

/// The most sides of a wide ring.
pub const MOST_WIDE_SIDES: u32 = 38;

/// The most sides of the polygons that lead to it.
pub const MOST_CLIPPED_SIDES: u32 = 64;

/// The most sites for which wide rings are made: where there are more without a ring, none gets one. Among points along
/// contours or scan lines one in 14 sees more than [`MOST_SIDES`] others.
pub const fn most_wide(sites: u64) -> u64 {
    let part = sites / 12;
    let most = if part > 1 << 16 { part } else { 1 << 16 };
    if most < sites { most } else { sites }
}

/// The most sites without a ring by what is near for which nothing far is looked at: they are next to the hull or voids, and
/// wide rings serve.
pub const fn few_ringless(sites: u64) -> u64 {
    sites / 64
}

/// The rings of sites.
pub trait Rings: Copy {
    /// Whether there are wide ones, which may be open, among them.
    const ARE_WIDE: bool = false;
    /// One of them.
    type Ring: Ring;
    /// That of a site.
    fn of(self, site: u32) -> Self::Ring;
}

/// A site's ring.
pub trait Ring: Copy {
    /// Its sides; 0 where the site has none.
    fn sides(self) -> u32;
    /// Neighbour `i`.
    fn neighbour(self, i: u32) -> u32;
    /// The corner between the neighbours `i` and `i + 1`, seen from the site.
    fn corner(self, i: u32) -> [f64; 2];
}

impl<P: Fn(u32) -> [f64; 2], S: Fn(u32) -> u32> Index<P, S> {
    /// Makes the ring of a site, by what is near or `FAR`: `write(i, neighbour, corner)` gets its sides one after
    /// the other. Gives their number; 0 where the site has no ring.
    #[inline(always)]
    pub fn ring<const FAR: bool>(
        &self,
        site: u32,
        mut write: impl FnMut(u32, u32, [f64; 2]),
    ) -> u32 {
        let at = (self.place)(site);
        let mut nearest = Nearest::but(site);
        if !self.find::<FAR>(at, &mut nearest) {
            return 0;
        }
        let first = nearest.site;
        let (mut neighbour, mut way) = (first, nearest.way);
        let mut sides = 0;
        while sides < vector::unknown(MOST_SIDES) {
            let mut found = Next::after(way);
            if !self.find::<FAR>(at, &mut found) {
                return 0;
            }
            let (mut next, mut to_next) = (found.site, found.way);
            let [x, y] = (self.place)(first);
            let to_first = [x - at[0], y - at[1]];
            // Where rounding alone decides between the first and one beyond it, it is the first.
            if cross(way, to_first) > 0.0 && cross(to_first, to_next) > 0.0 {
                (next, to_next) = (first, to_first);
            }
            let Some(corner) = meeting(Line::of_site(way), Line::of_site(to_next)) else {
                return 0;
            };
            write(sides, neighbour, corner);
            sides += 1;
            if next == first {
                return sides;
            }
            (neighbour, way) = (next, to_next);
        }
        0
    }
}

impl<P: Fn(u32) -> [f64; 2], S: Fn(u32) -> u32> Index<P, S> {
    /// Makes the wide ring of a site, a team together: `write(i, neighbour, corner)` gets its sides, each from
    /// one of the threads. Gives their number; 0 where there are too many. `half_extent` is half the side of the
    /// window.
    #[inline(always)]
    pub fn ring_by_clipping<Q: Slots, T: Team>(
        &self,
        team: T,
        site: u32,
        half_extent: f64,
        slots: &mut Q,
        mut write: impl FnMut(u32, u32, [f64; 2]),
    ) -> u32 {
        let (at, give_up) = ((self.place)(site), f64::INFINITY);
        let query = Query { at, own: site, half_window: half_extent, give_up, most: T::MOST };
        let mut polygon = Polygon::new(slots, team);
        let found = self.cell(&query, &mut polygon);
        if found.end != End::Found || polygon.len > MOST_WIDE_SIDES {
            team.sync();
            return 0;
        }
        let mut i = team.rank();
        while i < polygon.len {
            let after = if i + 1 == polygon.len { 0 } else { i + 1 };
            write(i, polygon.slots.line(i), polygon.slots.corner(after));
            i += T::THREADS;
        }
        // The next polygon takes these slots.
        team.sync();
        polygon.len
    }

    /// The nearest site, however far away: from the nearest that is known, or one in the first block of cells that
    /// has any, from neighbour to neighbour. `Exceeded` where a ring is missing on the way.
    #[inline(always)]
    pub fn nearest_by_rings(&self, query: &Query, rings: impl Rings) -> Found {
        let mut found = self.nearest(query);
        if found.end == End::Exceeded {
            self.each_of(self.beside(query.at), query.at, |site, way| found.meet(site, way));
        }
        let mut half = NEAR;
        while found.end == End::Exceeded && found.nearest == WINDOW {
            half = 2 * half + 1;
            let block = self.cells.around(query.at, half);
            let reach = f64::max(self.cells.reach(block, query.at), 0.0);
            if let Some(site) = self.some_site(query.at, block) {
                found.meet(site, self.way(query, site));
            } else if query.give_up <= reach * reach {
                found.end = End::Beyond;
            } else if self.cells.is_whole(block) {
                return found;
            }
        }
        while found.end == End::Exceeded {
            let site = found.nearest;
            let ring = rings.of(site);
            let sides = ring.sides();
            if sides == 0 {
                return found;
            }
            let mut i = 0;
            while i < sides {
                let neighbour = ring.neighbour(i);
                if neighbour < WINDOW {
                    found.meet(neighbour, self.way(query, neighbour));
                }
                i += 1;
            }
            if found.nearest == site {
                found.end = if found.squared == 0.0 { End::OnSite } else { End::Found };
            }
        }
        found
    }

    /// A site in a block of cells round a place, from the rows next to the place on.
    #[inline(always)]
    fn some_site(&self, at: [f64; 2], block: Block) -> Option<u32> {
        let ([first, last], own) = (block.columns, self.cells.row(at[1]));
        let (mut north, mut south) = (own, own);
        loop {
            let mut row = north;
            let mut k = 0;
            while k < 2 {
                let start = row * self.cells.columns;
                let site = (self.start)(start + first);
                if site < (self.start)(start + last + 1) {
                    return Some(site);
                }
                row = south;
                k += 1;
            }
            if north == block.rows[1] && south == block.rows[0] {
                return None;
            }
            north = u32::min(north + 1, block.rows[1]);
            south = u32::max(south, block.rows[0] + 1) - 1;
        }
    }
}

/// The sides of a site's ring.
pub struct RingSides<'a, P, S, R> {
    /// The sites.
    pub index: &'a Index<P, S>,
    /// A site.
    pub site: u32,
    /// Its ring.
    pub ring: R,
}

impl<P: Fn(u32) -> [f64; 2], S: Fn(u32) -> u32, R: Ring> Sides for RingSides<'_, P, S, R> {
    #[inline(always)]
    fn each(&self, mut visit: impl FnMut(u32, f64, [f64; 2])) {
        let at = (self.index.place)(self.site);
        let sides = self.ring.sides();
        let mut last = self.ring.corner(sides - 1);
        let mut i = 0;
        while i < sides {
            let corner = self.ring.corner(i);
            let neighbour = self.ring.neighbour(i);
            let place = (self.index.place)(neighbour);
            let way = [place[0] - at[0], place[1] - at[1]];
            let [x, y] = [corner[0] - last[0], corner[1] - last[1]];
            let squared = way[0] * way[0] + way[1] * way[1];
            visit(neighbour, math::sqrt((x * x + y * y) / squared), way);
            last = corner;
            i += 1;
        }
    }
}
