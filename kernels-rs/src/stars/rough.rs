//! Stars while they are made: one after the other, in the order in which warps finish them.

use device_std::{Out, arguments};

/// Stands for no site.
pub const NONE: u32 = u32::MAX;

/// Stars in the order in which they were made.
#[arguments]
pub struct Rough<'a> {
    /// The number of neighbours of each site; 0 until its star is made.
    pub counts: Out<'a, u32>,
    /// Where the neighbours of each site begin; [`NONE`] before.
    pub starts: Out<'a, u32>,
    /// The neighbours of all sites, [`NONE`] before they are written: six elements for each site, which is more than
    /// there can be. The last neighbour has the bit [`OPEN`](super::neighbours::OPEN) if the star is open.
    pub neighbours: Out<'a, u32>,
    /// The sites whose stars are yet to be made.
    pub listed: Out<'a, u32>,
    /// The sites that are left to later kernels.
    pub left: Out<'a, u32>,
    /// [`TALLIES`] numbers.
    pub tallies: Out<'a, u32>,
    /// How many sites there are.
    pub sites: u32,
}

/// How many neighbours were written.
pub const WRITTEN: u32 = 0;
/// How many sites are listed.
pub const LISTED: u32 = 1;
/// How many nodes and leaves searches visited, in units of [`VISITS`](super::VISITS).
pub const SPENT: u32 = 2;
/// How many sites are left.
pub const LEFT: u32 = 3;
/// How many links there are.
pub const LINKS: u32 = 4;
/// In place of [`LISTED`]: all sites.
pub const ALL: u32 = u32::MAX;
/// How many tallies there are.
pub const TALLIES: usize = 5;

impl Rough<'_> {
    /// Lists a site. One lane of a warp comes here.
    #[inline(always)]
    pub fn list(&self, site: u32) {
        self.listed.set(self.tallies.fetch_add(LISTED, 1), site);
    }

    /// Leaves a site to later kernels. One lane of a warp comes here.
    #[inline(always)]
    pub fn leave(&self, site: u32) {
        self.left.set(self.tallies.fetch_add(LEFT, 1), site);
    }
}
