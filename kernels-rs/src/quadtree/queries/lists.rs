//! The output of searches: counts or lists.

use device_std::{In, Out, arguments};

/// Where searches write. A first launch counts, and a second one lists.
#[arguments]
pub struct Lists<'a> {
    /// How many each search finds; written only without a list.
    pub counts: Out<'a, u64>,
    /// Where each search begins in the list; read if there is a list.
    pub offsets: In<'a, u64>,
    /// An element for each result that was counted; missing in the launch that counts.
    pub list: Out<'a, u32>,
}

impl<'a> Lists<'a> {
    /// The part of the list for the results of search `i`.
    #[inline(always)]
    pub(super) fn of(&self, i: u64) -> Out<'a, u32> {
        if self.list.is_missing() { self.list } else { self.list.from(self.offsets.get(i)) }
    }
}
