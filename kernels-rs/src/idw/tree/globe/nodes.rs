//! The charts, boxes and nodes of the items: a thread a source, then a thread a node.

use device_std::block::BlockReduce;
use device_std::shared::Carver;
use device_std::vector::{self, Vector};
use device_std::{kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::super::MODULE;
use super::super::nodes::{Level, OfNode, Scales, per_half, place_of_node};
use super::super::{NODES, box_of};
use super::{Globe, relative};
use crate::idw::BLOCK;
use crate::spatial::chart::Chart;

/// How many charts with turned axes are tried: the box of a run of points along a curve may have any shape.
const TURNS: u32 = 4;

/// The shared memory of a block.
#[inline(always)]
const fn shared(carver: &mut Carver) -> (Scales, BlockReduce<f64>) {
    (Scales::new(carver, 1), BlockReduce::new(carver, BLOCK as usize))
}

/// The sources of a block's item.
#[derive(Clone, Copy)]
struct Sources<'a> {
    globe: &'a Globe<'a>,
    level: Level,
    item: u32,
    first: u32,
    count: u32,
}

impl Sources<'_> {
    /// The place of source `i`, and the source as it lies in memory.
    #[inline(always)]
    fn place(&self, i: u32) -> ([f64; 3], [Vector; 2]) {
        let ([x, y, z], _) = self.globe.around(self.level.origin(self.globe.items, self.item, i));
        let source = self.globe.sources.from(2 * (self.first + i) as usize);
        let (high, rest) = (source.load(0u32), source.load(1u32));
        let sum = |origin: f32, axis: usize| {
            let relative = f32::from_bits(high[axis]) as f64 + f32::from_bits(rest[axis]) as f64;
            origin as f64 + relative
        };
        ([sum(x, 0), sum(y, 1), sum(z, 2)], [high, rest])
    }

    /// The middle of the box of the sources' unit vectors, in every thread.
    ///
    /// # Safety
    /// The whole block comes to the same call.
    #[inline(always)]
    unsafe fn middle(&self, block: BlockReduce<f64>) -> [f64; 3] {
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        let mut i = thread::thread_idx_x();
        while i < self.count {
            let (place, _) = self.place(i);
            let mut axis = 0;
            while axis < 3 {
                low[axis] = f64::min(low[axis], place[axis]);
                high[axis] = f64::max(high[axis], place[axis]);
                axis += 1;
            }
            i += BLOCK;
        }
        let mut middle = [0.0; 3];
        let mut axis = 0;
        while axis < 3 {
            // SAFETY: the whole block is here, as the caller says.
            let (least, greatest) = unsafe {
                let least = block.reduce(low[axis], f64::INFINITY, f64::min);
                (least, block.reduce(high[axis], f64::NEG_INFINITY, f64::max))
            };
            middle[axis] = least + greatest;
            axis += 1;
        }
        middle
    }

    /// The chart around the middle of the sources' box, and half of the sides of their box in this chart, in every
    /// thread. Of the charts with turned axes, it is the one with the smallest box.
    ///
    /// # Safety
    /// As for [`Self::middle`].
    #[inline(always)]
    unsafe fn chart(&self, block: BlockReduce<f64>) -> (Chart, [f64; 2]) {
        // SAFETY: the whole block is here, as the caller says.
        unsafe {
            let chart = Chart::around(self.middle(block));
            let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
            let mut i = thread::thread_idx_x();
            while i < self.count {
                let [u, v] = chart.place(self.place(i).0);
                low = [f64::min(low[0], u), f64::min(low[1], v)];
                high = [f64::max(high[0], u), f64::max(high[1], v)];
                i += BLOCK;
            }
            let [west, south, east, north] = box_of(block, low, high);
            let middle = chart.vector([(west + east) * 0.5, (south + north) * 0.5]);
            let straight = Chart::around(middle);
            let (mut best, mut half) = (straight, self.half(&straight, block));
            let mut turn = 1;
            while turn < vector::unknown(TURNS) {
                let turned = straight.turned(turn * (8 / TURNS));
                let other = self.half(&turned, block);
                if f64::max(other[0], other[1]) < f64::max(half[0], half[1]) {
                    (best, half) = (turned, other);
                }
                turn += 1;
            }
            (best, half)
        }
    }

    /// Half of the sides of the sources' box in a chart, in every thread.
    ///
    /// # Safety
    /// As for [`Self::middle`].
    #[inline(always)]
    unsafe fn half(&self, chart: &Chart, block: BlockReduce<f64>) -> [f64; 2] {
        let mut half = [0.0; 2];
        let mut i = thread::thread_idx_x();
        while i < self.count {
            let [u, v] = chart.place(self.place(i).0);
            half = [f64::max(half[0], f64::abs(u)), f64::max(half[1], f64::abs(v))];
            i += BLOCK;
        }
        // SAFETY: the whole block is here, as the caller says.
        unsafe { [block.reduce(half[0], 0.0, f64::max), block.reduce(half[1], 0.0, f64::max)] }
    }
}

/// Writes the nodes of a level's items. Grid: a block an item.
///
/// # Safety
/// The slices have what [`Globe`] says; the sources of the level below, or of the leaves, are written.
#[kernel(block = BLOCK, carve = |carver| shared(carver))]
pub unsafe fn weigh_globe(level: Level, globe: Globe<'_>) {
    let (scales, reduce) = shared(&mut Carver::new());
    let (item, me) = (thread::block_idx_x(), thread::thread_idx_x());
    let (first, count) = level.sources(globe.points, item);
    let sources = Sources { globe: &globe, level, item, first, count };
    // SAFETY: the block stays together; a thread writes its own slots between barriers.
    unsafe {
        let (chart, half) = sources.chart(reduce);
        let per = [per_half(half[0]), per_half(half[1])];
        let mut sums = OfNode::<1>::NONE;
        let mut start = 0;
        while start < count {
            thread::sync_threads();
            if start + me < count {
                let (place, [high, rest]) = sources.place(start + me);
                let [u, v] = chart.place(place);
                scales.put::<1>([u * per[0], v * per[1]], rest[3], &[high[3]; 4]);
            }
            thread::sync_threads();
            scales.add(u32::min(BLOCK, count - start), &mut sums);
            start += BLOCK;
        }
        let origin = [chart.middle[0] as f32, chart.middle[1] as f32, chart.middle[2] as f32];
        let item = level.start + item;
        if me == 0 {
            globe.set_around(item, origin, f64::max(half[0], half[1]));
        }
        if me < NODES {
            let [u, v] = place_of_node();
            let place = relative(chart.vector([u * half[0], v * half[1]]), origin);
            let node = (globe.points + item * NODES + me) as usize;
            globe.set_source(node, place, [sums.weight as f32, sums.values[0] as f32]);
        }
    }
}
