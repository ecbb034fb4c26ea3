//! What searches write.

use device_std::{In, Out, arguments};

/// Where a search counts what it finds, or lists it.
#[arguments]
pub struct Lists<'a> {
    /// Without a list: the number found by each search.
    pub counts: Out<'a, u64>,
    /// With a list: where each search begins in it.
    pub offsets: In<'a, u64>,
    /// Room for all that was counted; empty without a list.
    pub list: Out<'a, u32>,
}

impl<'a> Lists<'a> {
    /// Room for what search `i` finds.
    #[inline(always)]
    pub(super) fn of(&self, i: u64) -> Out<'a, u32> {
        if self.list.is_missing() { self.list } else { self.list.from(self.offsets.get(i)) }
    }
}
