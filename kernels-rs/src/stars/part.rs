//! The sites that have no star yet, with their neighbours: a triangulation of this part alone tells their stars.
//!
//! Each triangle of such a site has corners that have no star, or that name the site in their star. So all its triangles
//! are among the part. Their circles are empty in all sites, so in the part too, and they fill all directions around the
//! site. So its star in the part is its star.

use device_std::{In, Out, arguments, kernel, thread, vector};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::neighbours::OPEN;
use super::rough::{Rough, WRITTEN};

/// Threads of a block.
const BLOCK: u32 = 256;

/// Writes 1 for each site of the part, else 0. Grid: a thread for each site.
///
/// # Safety
/// [`Rough`] and `flags` have an element for each site. Nobody writes stars meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn mark_part(rough: Rough<'_>, flags: Out<'_, u8>) {
    let site = thread::index_1d() as u32;
    if site >= rough.sites {
        return;
    }
    let count = rough.counts.get(site);
    let start = if count > 0 { rough.starts.get(site) } else { 0 };
    let (mut is_part, mut i) = (count == 0, 0);
    while i < vector::unknown(count) && !is_part {
        is_part = rough.counts.get(rough.neighbours.get(start + i) & !OPEN) == 0;
        i += 1;
    }
    flags.set(site, u8::from(is_part));
}

/// The stars of a part of the sites, which are numbered anew.
#[arguments]
pub struct PartStars<'a> {
    /// Each site's number among all.
    pub numbers: In<'a, u32>,
    /// Where each star begins, and where the last one ends.
    pub starts: In<'a, u32>,
    /// The neighbours of all.
    pub neighbours: In<'a, u32>,
    /// How many sites.
    pub sites: u32,
}

/// Takes over the stars of those sites that have none. Grid: a thread for each site of the part.
///
/// # Safety
/// The slices have what [`struct@PartStars`] says; [`Rough`] has an element for each of all sites.
#[kernel(block = BLOCK)]
pub unsafe fn take_stars(part: PartStars<'_>, rough: Rough<'_>) {
    let i = thread::index_1d() as u32;
    if i >= part.sites {
        return;
    }
    let site = part.numbers.get(i);
    if rough.counts.get(site) > 0 {
        return;
    }
    let first = part.starts.get(i);
    let count = part.starts.get(i + 1) - first;
    let start = rough.tallies.fetch_add(WRITTEN, count);
    let mut k = 0;
    while k < vector::unknown(count) {
        let neighbour = part.neighbours.get(first + k);
        let number = part.numbers.get(neighbour & !OPEN);
        rough.neighbours.set(start + k, number | neighbour & OPEN);
        k += 1;
    }
    rough.starts.set(site, start);
    rough.counts.set(site, count);
}
