//! The stars of all sites in device memory.

use device_std::{In, arguments};

use crate::stars::neighbours::Stars;

/// The stars of all sites.
#[arguments]
pub struct StarArrays<'a> {
    /// x and y of each site.
    pub places: In<'a, f64>,
    /// Where each star begins, and where the last one ends.
    pub starts: In<'a, u32>,
    /// The neighbours of all sites, star after star, as [`Stars::stored`] has them.
    pub neighbours: In<'a, u32>,
    /// How many sites.
    pub sites: u32,
}

impl Stars for StarArrays<'_> {
    #[inline(always)]
    fn place(&self, site: u32) -> [f64; 2] {
        let at = 2 * site as u64;
        [self.places.get(at), self.places.get(at + 1)]
    }
    #[inline(always)]
    fn star(&self, site: u32) -> [u32; 2] {
        [self.starts.get(site), self.starts.get(site + 1)]
    }
    #[inline(always)]
    fn stored(&self, at: u32) -> u32 {
        self.neighbours.get(at)
    }
}
