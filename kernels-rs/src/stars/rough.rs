//! Stars as they are made: one after the other in the order in which warps finish them.

use device_std::{Out, arguments};

/// Stars in the order in which they were made.
#[arguments]
pub struct Rough<'a> {
    /// The number of neighbours of each site; 0 until its star is made.
    pub counts: Out<'a, u32>,
    /// Where the neighbours of each site begin; [`NONE`](super::NONE) before.
    pub starts: Out<'a, u32>,
    /// The neighbours of all, [`NONE`](super::NONE) before: room for six of each site, which is more than there can be. The last
    /// one has the bit [`OPEN`](super::natural::OPEN) if they do not go all around.
    pub neighbours: Out<'a, u32>,
    /// The sites whose stars are yet to be made.
    pub listed: Out<'a, u32>,
    /// [`TALLIES`] numbers.
    pub tallies: Out<'a, u32>,
}

/// How many neighbours were written.
pub const WRITTEN: u32 = 0;
/// How many sites are listed.
pub const LISTED: u32 = 1;
/// How many nodes and leaves searches visited, in thousands.
pub const SPENT: u32 = 2;
/// How many tallies there are.
pub const TALLIES: usize = 3;
