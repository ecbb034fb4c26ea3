//! The stars of all sites, as their neighbours one star after the other.
//!
//! A *slot* is the number of a neighbour among all: it stands for the half-edge from the star's site to this neighbour.

/// Set in the last neighbour of a site on the hull: no triangle follows it.
pub const OPEN: u32 = 1 << 31;

/// A place.
type P = [f64; 2];

/// The stars of all sites: their neighbours in the Delaunay triangulation, counter-clockwise.
///
/// The star of a site on the hull begins with the next site of the hull counter-clockwise, and ends with the next one
/// clockwise. If all sites lie on a line, a star has the next sites on the line, and all sites are on the hull. A
/// single site is on the hull, too.
pub trait Stars {
    /// Where a site lies.
    fn place(&self, site: u32) -> P;
    /// The first and the end of a site's star among the neighbours of all.
    fn star(&self, site: u32) -> [u32; 2];
    /// A neighbour; the last one of a site on the hull has the bit [`OPEN`].
    fn stored(&self, at: u32) -> u32;

    /// A neighbour.
    #[inline(always)]
    fn neighbour(&self, at: u32) -> u32 {
        self.stored(at) & !OPEN
    }

    /// Whether a site is on the hull.
    #[inline(always)]
    fn is_on_hull(&self, site: u32) -> bool {
        let [first, end] = self.star(site);
        first == end || self.stored(end - 1) & OPEN != 0
    }

    /// The [`kite`](super::angles::kite) of a site in the triangle of a slot's neighbour and the next one: stored, or
    /// computed by `compute`.
    #[inline(always)]
    fn kite(&self, _slot: u32, compute: impl FnOnce() -> f64) -> f64 {
        compute()
    }

    /// The slot of a site in the star of a slot's neighbour: stored, or found by `find`.
    #[inline(always)]
    fn twin<E>(&self, _slot: u32, find: impl FnOnce() -> Result<u32, E>) -> Result<u32, E> {
        find()
    }
}

/// The next slot of a star, around.
#[inline(always)]
pub fn after(slot: u32, [first, end]: [u32; 2]) -> u32 {
    if slot + 1 == end { first } else { slot + 1 }
}

/// The slot before in a star, around.
#[inline(always)]
pub fn before(slot: u32, [first, end]: [u32; 2]) -> u32 {
    if slot == first { end - 1 } else { slot - 1 }
}
