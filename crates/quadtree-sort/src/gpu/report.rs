//! What a build reports to the host.

use std::mem::offset_of;

use bytemuck::{Pod, Zeroable};
use device_std::{In, Out};
use gpu_core::{Column, Gpu, Slice};

use crate::Result;

/// The words of a report that stand before the first node of each level.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Head {
    /// The first point whose x is not finite, and the first whose y is not. Without such a point, the number lies
    /// beyond all points, as in `outside`.
    pub not_finite: [i64; 2],
    /// The first point outside of the bounds.
    pub outside: u64,
    /// Not 0 if the nodes did not fit.
    overflow: u64,
    /// The points in nodes above the threshold at the last level sorted.
    pub unsettled: u64,
    /// Not 0 if points of some leaf must go back into the order as given.
    disorder: u64,
}

/// The words of a head.
const HEAD: usize = size_of::<Head>() / size_of::<u64>();

/// The word at which a field of a head lies.
const fn word(offset: usize) -> usize {
    offset / size_of::<u64>()
}

/// A report in device memory: a [`Head`], and the first node of each level.
pub(super) struct DeviceReport(Column<u64>);

/// A report's parts as kernels write them.
pub(super) struct Outputs<'a> {
    pub overflow: Out<'a, u32>,
    pub unsettled: Out<'a, u64>,
    pub disorder: Out<'a, u32>,
    /// The first node of each level; behind the last level the number of all nodes.
    pub starts: Out<'a, u64>,
}

/// A report as the host reads it.
pub(super) struct Report {
    pub head: Head,
    /// The first node of each level; behind the last level the number of all nodes.
    pub starts: Vec<u64>,
}

impl DeviceReport {
    /// The empty report of a build to `max_level`.
    pub fn new(gpu: &Gpu, max_level: u32) -> Result<Self> {
        let mut words = gpu.zeroed(HEAD + max_level as usize + 2)?;
        // SAFETY: these are elements of the column, on its own stream.
        unsafe { gpu.fill_with_byte(words.as_mut_ptr(), 0x7f, word(offset_of!(Head, overflow)))? };
        Ok(Self(words))
    }

    /// The first points that are not finite in x and in y, and the first one outside.
    pub fn refused(&mut self) -> Result<Out<'_, i64>> {
        Ok(self.0.slice_mut(0..word(offset_of!(Head, overflow)))?.cast().output())
    }

    /// The parts that kernels write.
    pub fn outputs(&mut self) -> Outputs<'_> {
        let words = self.0.output();
        // SAFETY: any bits are the lower half of a word.
        let flag = |offset| unsafe { words.from(word(offset)).cast() };
        Outputs {
            overflow: flag(offset_of!(Head, overflow)),
            unsettled: words.from(word(offset_of!(Head, unsettled))),
            disorder: flag(offset_of!(Head, disorder)),
            starts: words.from(HEAD),
        }
    }

    /// The first node of each level; behind the last level the number of all nodes.
    pub fn starts(&self) -> Result<In<'_, u64>> {
        Ok(self.0.slice(HEAD..self.0.len())?.input())
    }

    /// The number of nodes of levels up to `deepest`.
    pub fn count(&self, deepest: u32) -> Result<Slice<'_, u64>> {
        let place = HEAD + deepest as usize + 1;
        Ok(self.0.slice(place..place + 1)?)
    }

    /// Sets the number of unsettled points to 0.
    pub fn forget_unsettled(&mut self) -> Result<()> {
        let (gpu, at) = (self.0.gpu().clone(), word(offset_of!(Head, unsettled)));
        let mut unsettled = self.0.slice_mut(at..at + 1)?;
        // SAFETY: this is an element of the column, on its own stream.
        unsafe { gpu.fill_with_byte(unsettled.as_mut_ptr(), 0, 1)? };
        Ok(())
    }

    /// Waits for the report.
    pub fn to_host(&self) -> Result<Report> {
        let mut words = self.0.to_host()?;
        let starts = words.split_off(HEAD);
        Ok(Report { head: bytemuck::cast_slice(&words)[0], starts })
    }
}

impl Report {
    /// Whether all nodes fitted.
    pub fn has_all_nodes(&self) -> bool {
        self.head.overflow == 0
    }

    /// Whether the points of some leaf must go back into the order as given.
    pub fn needs_order(&self) -> bool {
        self.head.disorder != 0
    }
}
