//! What walks need of each half-edge, from a site to a neighbour, and what does not depend on a cell: kites and twins.
//!
//! A walk around a cell needs a dozen kites and half a dozen twins. A GPU computes them ahead, so that its walks have
//! more registers: 7,000,000 sites to 25,000,000 cells take 17.7 ms on an H200 in place of 19.0.
//!
//! ```text
//! for each half-edge, a thread:
//!     site = the one whose star has the slot, by bisection
//!     kite of the site, this neighbour and the next one
//!     if the neighbour's star is shorter than the site's:
//!         find the site in it: both slots are each other's twins
//! ```
//!
//! The search takes the shorter star of both ends. However long some stars are, in a plane graph these lengths sum up
//! to at most six times the number of edges. (Chiba and Nishizeki 1985, "Arboricity and subgraph listing algorithms",
//! doi:10.1137/0214017.)

use device_std::{In, Out, arguments, kernel, thread, vector};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::star_arrays::StarArrays;
use crate::stars::angles::{Edge, kite, way};
use crate::stars::neighbours::{Stars, after};

/// Threads of a block.
const BLOCK: u32 = 256;

/// The stars of all sites, with what walks need of each half-edge.
#[arguments]
pub struct LinkedStars<'a> {
    /// The stars.
    pub stars: StarArrays<'a>,
    /// For each neighbour, the slot of the site in the neighbour's star.
    pub twins: In<'a, u32>,
    /// For each neighbour, the kite of the site in the triangle of this neighbour and the next one. Empty for weights
    /// that are no areas.
    pub kites: In<'a, f64>,
}

impl Stars for LinkedStars<'_> {
    #[inline(always)]
    fn place(&self, site: u32) -> [f64; 2] {
        self.stars.place(site)
    }
    #[inline(always)]
    fn star(&self, site: u32) -> [u32; 2] {
        self.stars.star(site)
    }
    #[inline(always)]
    fn stored(&self, at: u32) -> u32 {
        self.stars.stored(at)
    }
    #[inline(always)]
    fn kite(&self, slot: u32, _: impl FnOnce() -> f64) -> f64 {
        self.kites.get(slot)
    }
    #[inline(always)]
    fn twin<E>(&self, slot: u32, _: impl FnOnce() -> Result<u32, E>) -> Result<u32, E> {
        Ok(self.twins.get(slot))
    }
}

/// Writes the twins of all half-edges and, if wanted, the kites; see [`struct@LinkedStars`]. The kite of the last
/// neighbour of a site on the hull means nothing. Grid: a thread for each of `len` neighbours of all sites.
///
/// # Safety
/// The slices have what [`struct@StarArrays`] says; `twins` and `kites` have `len` elements. The stars agree: each
/// neighbour of a site has it as a neighbour.
#[kernel(block = BLOCK)]
pub unsafe fn measure_half_edges(
    stars: StarArrays<'_>,
    len: u32,
    twins: Out<'_, u32>,
    kites: Option<Out<'_, f64>>,
) {
    let thread = thread::index_1d();
    if thread >= len as u64 {
        return;
    }
    let slot = thread as u32;
    let site = owner_of(&stars, slot);
    let star @ [first, end] = stars.star(site);
    let other = stars.neighbour(slot);
    if let Some(kites) = kites {
        let from = stars.place(site);
        let to = |other: u32| Edge::to(way(from, stars.place(other)));
        kites.set(slot, kite(&to(other), &to(stars.neighbour(after(slot, star)))));
    }
    let [mut at, beyond] = stars.star(other);
    let (own, others) = (end - first, beyond - at);
    // One of both ends searches for both.
    if others < own || others == own && other < site {
        while at + 1 < vector::unknown(beyond) && stars.neighbour(at) != site {
            at += 1;
        }
        twins.set(slot, at);
        twins.set(at, slot);
    }
}

/// The site whose star has a slot.
#[inline(always)]
fn owner_of(stars: &StarArrays<'_>, slot: u32) -> u32 {
    let (mut low, mut high) = (0, stars.sites);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if stars.starts.get(middle) <= slot {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}
