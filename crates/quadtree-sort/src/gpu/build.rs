//! Building, step by step.

use gpu_core::{Blocks, Bounds, Column, Gpu, Slice, SliceMut};
use gpu_scan::gpu::{
    scan_in_place, select_flagged, sequence, sort_pairs_in_place, sort_with_indices,
};
use gpu_scan::{Scan, Sort, Sum};
use kernels_rs::quadtree::{
    self as kernels, Cut, Level, MAX_OF_WARP, MAX_SHARED, Moved, Places, Rule,
};
use kernels_rs::spatial::frame::Frame;

use super::baselines::LevelSort;
use super::bounds::{outside, refuse_not_finite};
use super::coordinate::{Coordinate, DeviceCode};
use super::nodes::{Coded, Nodes};
use super::report::{DeviceReport, Outputs};
use super::{DeviceQuadtree, MAX_BLOCKS, Workspace};
use crate::tree::Node;
use crate::{Baseline, Error, Method, Outside, Params, Result};

/// The most nodes of a tree.
const MAX_NODES: u64 = u32::MAX as u64;

/// Levels that each round of sorting adds: a pass of the sort.
const ROUND_LEVELS: u32 = 4;

/// The level from which a round goes to the deepest.
const LAST_ROUND: u32 = 16;

/// A build, checked, of at least one point.
pub(super) struct Call<'a> {
    pub frame: Frame,
    pub bounds: Bounds,
    /// Where points must lie.
    pub inside: Bounds,
    pub params: &'a Params,
    /// For some of the points of a larger tree.
    pub share: Share,
}

/// The points of a larger tree that a build is given: those of some consecutive cells.
#[derive(Clone, Copy)]
pub(super) struct Share {
    /// Code and level of the first and of the last of these cells; see `kernels_rs::quadtree`'s `Cut`.
    pub ends: [(u64, u32); 2],
    /// The points of the larger tree.
    pub of: u64,
}

impl Share {
    /// All points.
    pub fn all(points: usize) -> Self {
        Self { ends: [(0, 0); 2], of: points as u64 }
    }

    /// Which nodes are divided.
    fn rule(&self, threshold: u32) -> Rule {
        let codes = self.ends.map(|(code, _)| code);
        let levels = self.ends.map(|(_, level)| level);
        Rule { threshold: threshold.into(), cut: Cut { codes, levels } }
    }
}

/// The points as they come: codes, and coordinates side by side. Indices, where points are left out.
struct Given<K: DeviceCode> {
    codes: Column<K>,
    indices: Option<Column<u32>>,
    pairs: Column<u64>,
}

/// Points in the order of a tree, whose deepest nodes are of a level up to `deepest`.
struct Sorted {
    order: Column<u32>,
    deepest: u32,
}

/// A division's report to the host.
#[derive(Clone, Copy, Default)]
struct Notes {
    /// How many points are in children above the threshold.
    unsettled: bool,
    /// Whether there are leaves of several points.
    has_leaves: bool,
}

impl Call<'_> {
    /// Builds, with more room for nodes where the first guess was too small.
    pub fn build<T: Coordinate, K: DeviceCode>(
        &self,
        workspace: &mut Workspace,
        x: Slice<'_, T>,
        y: Slice<'_, T>,
    ) -> Result<DeviceQuadtree<T>> {
        let (levels, threshold) = (u64::from(self.params.max_level), self.params.threshold);
        // A node that is divided just above the threshold has four children a quarter full: four leaves, and
        // a third more nodes, for each `threshold` points.
        let usual = 6 * x.len() as u64 / u64::from(threshold) + 64 * (levels + 1);
        let mut room = usual.min(MAX_NODES);
        loop {
            if let Some(tree) = self.attempt::<T, K>(workspace, x, y, room)? {
                return Ok(tree);
            }
            if room == MAX_NODES {
                return Err(Error::TooManyNodes { nodes: room + 1, most: room });
            }
            room = (4 * room).min(MAX_NODES);
        }
    }

    /// Builds with memory for a number of nodes; returns no tree if there are more.
    fn attempt<T: Coordinate, K: DeviceCode>(
        &self,
        workspace: &mut Workspace,
        x: Slice<'_, T>,
        y: Slice<'_, T>,
        room: u64,
    ) -> Result<Option<DeviceQuadtree<T>>> {
        let gpu = workspace.gpu().clone();
        // SAFETY: nodes are written before they are read.
        let column = unsafe { gpu.uninitialized::<Node>(room as usize)? };
        let mut nodes = Nodes {
            nodes: column,
            report: DeviceReport::new(&gpu, self.params.max_level)?,
            control: gpu.zeroed(1)?,
            status: gpu.zeroed(MAX_BLOCKS as usize)?,
        };
        let Given { codes, indices, pairs } =
            self.codes::<T, K>(workspace, x, y, &mut nodes.report)?;
        let sorted = match self.params.method {
            Method::Auto | Method::Morton => {
                self.morton(workspace, (codes, indices), &mut nodes)?
            }
            Method::Baseline(Baseline::LevelSort) => {
                Some(self.level_sort(workspace, (codes, indices), &mut nodes)?)
            }
        };
        let len = sorted.as_ref().map_or(0, |sorted| sorted.order.len());
        // SAFETY: the gather writes every element, unless nodes did not fit: then nobody reads them.
        let (mut sorted_x, mut sorted_y) =
            unsafe { (gpu.uninitialized::<T>(len)?, gpu.uninitialized::<T>(len)?) };
        if let Some(Sorted { order, .. }) = &sorted {
            let arguments = kernels::gather_places::Args {
                order: order.input(),
                len: len as u64,
                pairs: pairs.input(),
                overflow: nodes.report.outputs().overflow.as_input(),
                x: sorted_x.output(),
                y: sorted_y.output(),
            };
            let blocks = Blocks::x((len as u64).div_ceil(kernels::GATHERED) as u32);
            let kernel = <T as kernels::gather_places::Instance>::KERNEL;
            // SAFETY: the columns have `len` elements, and the order those of points, unless nodes did not fit.
            unsafe { gpu.enqueue(kernel, blocks, arguments)? };
        }
        let report = nodes.report.to_host()?;
        refuse_not_finite(&gpu, report.head.not_finite, x, y)?;
        if report.head.outside < x.len() as u64 {
            return Err(outside(&gpu, report.head.outside, x, y)?);
        }
        let Some(Sorted { order, deepest }) = sorted.filter(|_| report.has_all_nodes()) else {
            return Ok(None);
        };
        Ok(Some(DeviceQuadtree {
            frame: self.frame,
            bounds: self.bounds,
            threshold: self.params.threshold,
            nodes: nodes.nodes,
            node_count: report.starts[deepest as usize + 1] as usize,
            order,
            x: sorted_x,
            y: sorted_y,
            values: Vec::new(),
            given: x.len() as u64,
            system: 0,
        }))
    }

    /// The codes of the points inside, and the coordinates of all.
    fn codes<T: Coordinate, K: DeviceCode>(
        &self,
        workspace: &mut Workspace,
        x: Slice<'_, T>,
        y: Slice<'_, T>,
        report: &mut DeviceReport,
    ) -> Result<Given<K>> {
        let gpu = workspace.gpu().clone();
        let len = x.len();
        let skips = self.params.bounds.is_some() && self.params.outside == Outside::Skip;
        let flags = if skips { len } else { 0 };
        // SAFETY: the kernel writes every element of what it is given.
        let (mut codes, mut indices, mut inside, mut pairs) = unsafe {
            (
                gpu.uninitialized(len)?,
                gpu.uninitialized::<u32>(flags)?,
                gpu.uninitialized::<u8>(flags)?,
                gpu.uninitialized::<u64>(T::PAIR * len)?,
            )
        };
        let kernel = K::encode::<T>();
        let Bounds { min_x, min_y, max_x, max_y } = self.inside;
        let arguments = kernels::encode::Args {
            places: Places { x: x.input(), y: y.input(), count: len as u64 },
            frame: self.frame,
            bounds: [min_x, min_y, max_x, max_y],
            codes: codes.output(),
            indices: skips.then(|| indices.output()),
            pairs: Some(pairs.output()),
            inside: skips.then(|| inside.output()),
            bad: report.refused()?,
        };
        // SAFETY: the columns are as long as stated.
        unsafe { gpu.enqueue(kernel, Blocks::for_each(&kernel, len as u64)?, arguments)? };
        if !skips {
            return Ok(Given { codes, indices: None, pairs });
        }
        let Coded { codes, indices } = kept(workspace, &Coded { codes, indices }, &inside)?;
        Ok(Given { codes, indices: Some(indices), pairs })
    }

    /// The levels that rounds of sorting end at. Uniform points need the first only: its cells have as many points on
    /// average as leave three standard deviations to the threshold. Fewer bits are fewer passes, and leaves of
    /// that level, most of all, need no ordering.
    fn rounds(&self) -> Vec<u32> {
        let Params { threshold, max_level, .. } = *self.params;
        let points = self.share.of;
        let settles = |level: &u32| {
            let mean = points as f64 / f64::from(*level).exp2().powi(2);
            mean + 3.0 * mean.sqrt() <= f64::from(threshold)
        };
        let mut levels = vec![(0..max_level).find(settles).unwrap_or(max_level)];
        while let Some(&last) = levels.last().filter(|&&last| last < max_level) {
            let next = if last < LAST_ROUND { last + ROUND_LEVELS } else { max_level };
            levels.push(next.min(max_level));
        }
        levels
    }

    /// Rounds of sorting by code, each by more bits and of what is above the threshold after the one before. Waits
    /// after each to know how much that is. Gives nothing where nodes did not fit.
    fn morton<K: DeviceCode>(
        &self,
        workspace: &mut Workspace,
        (codes, indices): (Column<K>, Option<Column<u32>>),
        nodes: &mut Nodes,
    ) -> Result<Option<Sorted>> {
        let gpu = workspace.gpu().clone();
        let Params { max_level, .. } = *self.params;
        let points = codes.len() as u64;
        let rounds = self.rounds();
        let mut coded = self.first_round(workspace, codes, indices, rounds[0])?;
        let count = self.plant(&gpu, nodes, points as usize)?;
        let (mut in_order, mut level, mut end) = (0, 0, rounds[0]);
        loop {
            in_order |= 1 << end;
            while level < end {
                let notes = Notes {
                    unsettled: level + 1 == end && end < max_level,
                    has_leaves: level + 1 < end,
                };
                self.divide(&gpu, &coded.codes, nodes, level, count, notes)?;
                level += 1;
            }
            let report = nodes.report.to_host()?;
            if !report.has_all_nodes() {
                return Ok(None);
            }
            let unsettled = report.head.unsettled;
            if unsettled == 0 || end == max_level {
                // A root that is a leaf is nobody's child, which are what is noted.
                let is_one_leaf = points <= self.params.threshold.into() && end > 0;
                if report.needs_order() || is_one_leaf {
                    self.as_given(workspace, nodes, end, in_order, &mut coded.indices)?;
                }
                return Ok(Some(Sorted { order: coded.indices, deepest: end }));
            }
            let next = rounds.iter().find(|&&next| next > end).copied().unwrap_or(max_level);
            // Where most are left the points are no uniform ones, and larger rounds are fewer.
            end = match 2 * unsettled > points {
                true if end < LAST_ROUND => LAST_ROUND.min(max_level),
                true => max_level,
                false => next,
            };
            let of_level = (report.starts[level as usize], report.starts[level as usize + 1]);
            self.sort_unsettled(workspace, &mut coded, nodes, of_level, unsettled, end)?;
        }
    }

    /// Codes and indices, sorted by the bits of some levels.
    fn first_round<K: DeviceCode>(
        &self,
        workspace: &mut Workspace,
        codes: Column<K>,
        indices: Option<Column<u32>>,
        levels: u32,
    ) -> Result<Coded<K>> {
        let gpu = workspace.gpu().clone();
        let len = codes.len();
        let bits = 2 * (self.params.max_level - levels)..2 * self.params.max_level;
        // Level 0 has one code.
        let is_one_cell = bits.is_empty();
        let sort = Sort::ascending().by_bits(bits);
        let Some(indices) = indices else {
            // SAFETY: the sort, or the sequence, writes every element.
            let mut indices = unsafe { gpu.uninitialized::<u32>(len)? };
            if is_one_cell {
                sequence(workspace, 0, 1, &mut indices)?;
                return Ok(Coded { codes, indices });
            }
            // SAFETY: as above.
            let mut sorted = unsafe { gpu.uninitialized::<K>(len)? };
            sort_with_indices(workspace, sort, &codes, &mut sorted, &mut indices)?;
            return Ok(Coded { codes: sorted, indices });
        };
        let mut coded = Coded { codes, indices };
        if !is_one_cell {
            sort_pairs_in_place(workspace, sort, &mut coded.codes, &mut coded.indices)?;
        }
        Ok(coded)
    }

    /// Sorts the points of nodes above the threshold by the bits down to another level. The nodes are those of one
    /// level, from its first to its end.
    fn sort_unsettled<K: DeviceCode>(
        &self,
        workspace: &mut Workspace,
        coded: &mut Coded<K>,
        nodes: &mut Nodes,
        (first, end): (u64, u64),
        total: u64,
        to_level: u32,
    ) -> Result<()> {
        let gpu = workspace.gpu().clone();
        let Params { threshold, max_level, .. } = *self.params;
        let (count, len) = (end - first, total as usize);
        // SAFETY: all are written before they are read.
        let (mut offsets, mut places, mut some) = unsafe {
            let some = Coded { codes: gpu.uninitialized(len)?, indices: gpu.uninitialized(len)? };
            (gpu.uninitialized::<u32>(count as usize)?, gpu.uninitialized::<u32>(len)?, some)
        };
        let (level, rule) =
            (Level { nodes: nodes.input(), first, count }, self.share.rule(threshold));
        let arguments = kernels::count_unsettled::Args { level, rule, counts: offsets.output() };
        let blocks = Blocks::for_each(&kernels::count_unsettled, count)?;
        // SAFETY: the level has these nodes.
        unsafe { gpu.enqueue(kernels::count_unsettled, blocks, arguments)? };
        scan_in_place(workspace, Sum, Scan::exclusive(0), &mut offsets)?;
        let arguments = kernels::take_unsettled::Args {
            level,
            offsets: offsets.input(),
            total,
            places: places.output(),
            points: Moved {
                codes: coded.codes.input(),
                indices: coded.indices.input(),
                to_codes: some.codes.output(),
                to_indices: some.indices.output(),
            },
        };
        let kernel = <K as kernels::take_unsettled::Instance>::KERNEL;
        // SAFETY: `total` is the sum of what was counted; nodes lie among the points.
        unsafe { gpu.enqueue(kernel, Blocks::for_each(&kernel, total)?, arguments)? };
        let sort = Sort::ascending().by_bits(2 * (max_level - to_level)..2 * max_level);
        sort_pairs_in_place(workspace, sort, &mut some.codes, &mut some.indices)?;
        let arguments = kernels::put_back::Args {
            places: places.input(),
            total,
            points: Moved {
                codes: some.codes.input(),
                indices: some.indices.input(),
                to_codes: coded.codes.output(),
                to_indices: coded.indices.output(),
            },
        };
        let kernel = <K as kernels::put_back::Instance>::KERNEL;
        // SAFETY: places are those that were taken from.
        unsafe { gpu.enqueue(kernel, Blocks::for_each(&kernel, total)?, arguments)? };
        // The next round counts anew.
        nodes.report.forget_unsettled()
    }

    /// Level by level.
    fn level_sort<K: DeviceCode>(
        &self,
        workspace: &mut Workspace,
        (codes, indices): (Column<K>, Option<Column<u32>>),
        nodes: &mut Nodes,
    ) -> Result<Sorted> {
        let gpu = workspace.gpu().clone();
        let coded = self.first_round(workspace, codes, indices, 0)?;
        let count = self.plant(&gpu, nodes, coded.codes.len())?;
        let mut sort = LevelSort::new(&gpu, coded, self.params)?;
        for level in 0..self.params.max_level {
            let sorted = sort.divide(&gpu, nodes, level)?;
            self.divide(&gpu, sorted, nodes, level, count, Notes::default())?;
        }
        Ok(Sorted { order: sort.into_order(&gpu, nodes)?, deepest: self.params.max_level })
    }

    /// The root; gives how many points it has.
    fn plant(&self, gpu: &Gpu, nodes: &mut Nodes, points: usize) -> Result<u64> {
        let count = points as u64;
        if count == 0 {
            return Ok(0);
        }
        let starts = nodes.report.outputs().starts;
        let root = SliceMut::from(&mut nodes.nodes).cast().output();
        let root = kernels::plant::Args { nodes: root, starts, count };
        // SAFETY: there is room for a node, and for the starts of two levels.
        unsafe { gpu.enqueue(kernels::plant, Blocks::x(1), root)? };
        Ok(count)
    }

    /// The children of a level's nodes, whose points' codes are sorted by their quadrants.
    fn divide<K: DeviceCode>(
        &self,
        gpu: &Gpu,
        codes: &Column<K>,
        nodes: &mut Nodes,
        level: u32,
        count: u64,
        notes: Notes,
    ) -> Result<()> {
        let Params { threshold, max_level, .. } = *self.params;
        let Outputs { overflow, unsettled, disorder, starts } = nodes.report.outputs();
        let arguments = kernels::divide::Args {
            codes: codes.input(),
            capacity: nodes.nodes.len() as u64,
            nodes: SliceMut::from(&mut nodes.nodes).cast().output(),
            starts,
            level,
            max_level,
            rule: self.share.rule(threshold),
            notes: kernels::Notes {
                overflow,
                unsettled: notes.unsettled.then_some(unsettled),
                has_leaves: notes.has_leaves.then_some(disorder),
            },
            control: nodes.control.output(),
            status: nodes.status.output(),
        };
        let kernel = <K as kernels::divide::Instance>::KERNEL;
        let blocks = self.blocks(level, count, kernels::DIVIDE_BLOCK as u64);
        // SAFETY: the columns are as long as the kernel needs.
        unsafe { gpu.enqueue(kernel, blocks, arguments)? };
        Ok(())
    }

    /// Blocks for the nodes of a level: there are no more than cells, nor than children of those above the
    /// threshold.
    fn blocks(&self, level: u32, count: u64, per_block: u64) -> Blocks {
        let divided = count / (u64::from(self.params.threshold) + 1);
        let most = (1u64 << (2 * level).min(62)).min(4 * divided.max(1));
        Blocks::x(most.div_ceil(per_block).min(MAX_BLOCKS.into()) as u32)
    }

    /// Brings the points of each leaf into the order in which they were given, but for levels that are already. Nodes
    /// are of levels up to `deepest`.
    fn as_given(
        &self,
        workspace: &mut Workspace,
        nodes: &Nodes,
        deepest: u32,
        in_order: u32,
        order: &mut Column<u32>,
    ) -> Result<()> {
        let Params { threshold, .. } = *self.params;
        let gpu = workspace.gpu().clone();
        let (nodes, blocks) = (nodes.counted(deepest)?, Blocks::x(MAX_BLOCKS));
        if threshold > MAX_SHARED {
            // SAFETY: the tree is over the indices.
            return unsafe { self.sort_as_given(workspace, nodes, order) };
        }
        let indices = order.output();
        // SAFETY: the tree is over the indices; its leaves above the deepest level are within the threshold.
        unsafe {
            if threshold <= 32 {
                let arguments = kernels::order_small_leaves::Args { nodes, in_order, indices };
                return Ok(gpu.enqueue(kernels::order_small_leaves, blocks, arguments)?);
            }
            let arguments = kernels::order_leaves::Args { nodes, in_order, indices };
            gpu.enqueue(kernels::order_leaves, blocks, arguments)?;
            if threshold > MAX_OF_WARP {
                let arguments = kernels::order_large_leaves::Args { nodes, in_order, indices };
                gpu.enqueue(kernels::order_large_leaves, blocks, arguments)?;
            }
        }
        Ok(())
    }

    /// The same for leaves too large for shared memory. By where its leaf starts each point finds its leaf,
    /// and a sort that is stable keeps the order as given.
    ///
    /// # Safety
    /// The nodes are those of a tree over the indices.
    unsafe fn sort_as_given(
        &self,
        workspace: &mut Workspace,
        nodes: kernels::Nodes<'_>,
        order: &mut Column<u32>,
    ) -> Result<()> {
        let gpu = workspace.gpu().clone();
        let len = order.len();
        // SAFETY: both are written before they are read: every point lies in one leaf.
        let (mut starts, mut sorted) =
            unsafe { (gpu.uninitialized::<u32>(len)?, gpu.uninitialized::<u32>(len)?) };
        // By index first, with the leaf's start beside; then by that.
        let arguments = kernels::mark_leaves::Args { nodes, leaf_starts: starts.output() };
        // SAFETY: the nodes are the caller's promise; there is a start for each point.
        unsafe { gpu.enqueue(kernels::mark_leaves, Blocks::x(MAX_BLOCKS), arguments)? };
        sort_pairs_in_place(workspace, Sort::ascending(), &mut *order, &mut starts)?;
        sorted.copy_from(&*order)?;
        sort_pairs_in_place(workspace, Sort::ascending(), &mut starts, &mut sorted)?;
        Ok(order.copy_from(&sorted)?)
    }
}

/// The codes and indices whose flag is set. Waits for their number.
fn kept<K: DeviceCode>(
    workspace: &mut Workspace,
    coded: &Coded<K>,
    inside: &Column<u8>,
) -> Result<Coded<K>> {
    let gpu = workspace.gpu().clone();
    let len = inside.len();
    // SAFETY: what is read of them was written.
    let (mut indices, mut codes) =
        unsafe { (gpu.uninitialized::<u32>(len)?, gpu.uninitialized::<K>(len)?) };
    let mut count = gpu.zeroed::<u64>(1)?;
    select_flagged(workspace, inside, &coded.indices, &mut indices, &mut count)?;
    select_flagged(workspace, inside, &coded.codes, &mut codes, &mut count)?;
    let count = count.to_host()?[0] as usize;
    // SAFETY: the copies write every element.
    let mut some =
        unsafe { Coded { codes: gpu.uninitialized(count)?, indices: gpu.uninitialized(count)? } };
    some.indices.copy_from(indices.slice(0..count)?)?;
    some.codes.copy_from(codes.slice(0..count)?)?;
    Ok(some)
}
