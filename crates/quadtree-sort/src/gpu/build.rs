//! Building, step by step.

use std::ptr;

use device_std::atomic::Pair;
use gpu_core::{Blocks, Bounds, Column, Gpu, Slice};
use gpu_scan::gpu::{
    scan_in_place, select_flagged, sequence, sort_pairs_in_place, sort_with_indices,
};
use gpu_scan::{Scan, Sort, Sum};
use kernels_rs::quadtree::{self as kernels, FOUND, MOST_OF_WARP, MOST_SHARED, Place};
use kernels_rs::spatial::frame::Frame;

use super::coordinate::{Coordinate, DeviceCode};
use super::level_sort::LevelSort;
use super::{DeviceQuadtree, Workspace};
use crate::tree::Node;
use crate::{Algorithm, Error, Outside, Params, Result};

/// Blocks that share the nodes of a level, or the leaves, at most.
pub(super) const MOST_BLOCKS: u32 = 2048;

/// The most nodes of a tree.
const MOST_NODES: u64 = u32::MAX as u64;

/// The words of a build that the host reads: three of `bad`, whether nodes did not fit, how many points are in nodes
/// above the threshold at the last level sorted, whether there are leaves whose points must go back into the order as
/// given, and then the first node of each level.
const OVERFLOW: usize = 3;
const UNSETTLED: usize = 4;
const DISORDER: usize = 5;
const STARTS: usize = 6;

/// Levels that each round of sorting adds: a pass of the sort.
const ROUND_LEVELS: u32 = 4;

/// The level from which a round goes to the deepest.
const LAST_ROUND: u32 = 16;

/// The bounds of points that are finite. Waits for them.
pub(super) fn bounds<T: Coordinate>(gpu: &Gpu, x: Slice<'_, T>, y: Slice<'_, T>) -> Result<Bounds> {
    let mut found = gpu.enqueue_upload(&[i64::MAX; FOUND])?;
    let blocks = Blocks::for_each(&T::BOUNDS, x.len() as u64)?;
    {
        let (x, y) = (gpu.admit(x)?, gpu.admit(y)?);
        let (len, found) = (x.len() as u64, found.as_mut_ptr());
        let arguments = kernels::find_bounds::Args { x: x.as_ptr(), y: y.as_ptr(), len, found };
        // SAFETY: the columns have `len` elements.
        unsafe { gpu.enqueue(T::BOUNDS, Blocks::x(blocks.x.min(MOST_BLOCKS)), arguments)? };
    }
    let found = found.to_host()?;
    refuse_not_finite(gpu, [found[4], found[5]], x, y)?;
    let least = |which: usize| kernels::of_rank(found[which]);
    let greatest = |which: usize| kernels::of_rank(!found[2 + which]);
    Ok(Bounds { min_x: least(0), min_y: least(1), max_x: greatest(0), max_y: greatest(1) })
}

/// An error where there is an index of an x or a y that is not finite.
pub(super) fn refuse_not_finite<T: Coordinate>(
    gpu: &Gpu,
    indices: [i64; 2],
    x: Slice<'_, T>,
    y: Slice<'_, T>,
) -> Result<()> {
    for ((what, column), index) in [("x", x), ("y", y)].into_iter().zip(indices) {
        let index = index as u64;
        if index < column.len() as u64 {
            let value = element(gpu, column, index)?;
            return Err(gpu_core::Error::NotFinite { what, index, value }.into());
        }
    }
    Ok(())
}

/// The error for a point outside the bounds. Waits for the point.
pub(super) fn outside<T: Coordinate>(
    gpu: &Gpu,
    index: u64,
    x: Slice<'_, T>,
    y: Slice<'_, T>,
) -> Result<Error> {
    Ok(Error::Outside { index, x: element(gpu, x, index)?, y: element(gpu, y, index)? })
}

/// One element. Waits for it.
fn element<T: Coordinate>(gpu: &Gpu, column: Slice<'_, T>, index: u64) -> Result<f64> {
    let mut one = gpu.zeroed(1)?;
    one.copy_from(column.slice(index as usize..index as usize + 1)?)?;
    Ok(Place::widened(one.to_host()?[0]))
}

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

/// Which of the points of a larger tree a build is given: those of some cells that follow each other.
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

    fn codes(&self) -> [u64; 2] {
        self.ends.map(|(code, _)| code)
    }

    fn levels(&self) -> [u32; 2] {
        self.ends.map(|(_, level)| level)
    }
}

/// The points of a tree, as they are sorted.
pub(super) struct Coded<K: DeviceCode> {
    pub codes: Column<K>,
    pub indices: Column<u32>,
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

/// The nodes, as they are made.
pub(super) struct Nodes {
    pub nodes: Column<Node>,
    /// What the host reads at the end.
    pub words: Column<u64>,
    control: Column<u64>,
    status: Column<Pair>,
}

impl Nodes {
    pub fn as_ptr(&self) -> *const u64 {
        self.nodes.as_ptr().cast()
    }

    /// The first node of each level; after that of the last the number of all.
    pub fn starts(&self) -> *const u64 {
        self.words.as_ptr().wrapping_add(STARTS)
    }
}

/// What a division notes for the host.
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
        let mut room = usual.min(MOST_NODES);
        loop {
            if let Some(tree) = self.attempt::<T, K>(workspace, x, y, room)? {
                return Ok(tree);
            }
            if room == MOST_NODES {
                return Err(Error::TooManyNodes { nodes: room + 1, most: room });
            }
            room = (4 * room).min(MOST_NODES);
        }
    }

    /// Builds with room for some nodes; gives no tree where there are more.
    fn attempt<T: Coordinate, K: DeviceCode>(
        &self,
        workspace: &mut Workspace,
        x: Slice<'_, T>,
        y: Slice<'_, T>,
        room: u64,
    ) -> Result<Option<DeviceQuadtree<T>>> {
        let gpu = workspace.gpu().clone();
        let max_level = self.params.max_level as usize;
        // SAFETY: nodes are written before they are read.
        let column = unsafe { gpu.uninitialized::<Node>(room as usize)? };
        let mut nodes = Nodes {
            nodes: column,
            words: gpu.zeroed(STARTS + max_level + 2)?,
            control: gpu.zeroed(1)?,
            status: gpu.zeroed(MOST_BLOCKS as usize)?,
        };
        // SAFETY: these are elements of the column, on its own stream.
        unsafe { gpu.fill_with_byte(nodes.words.as_mut_ptr(), 0x7f, OVERFLOW)? };
        let Given { codes, indices, pairs } =
            self.codes::<T, K>(workspace, x, y, &mut nodes.words)?;
        let sorted = match self.params.algorithm {
            Algorithm::Auto | Algorithm::Morton => {
                self.morton(workspace, (codes, indices), &mut nodes)?
            }
            Algorithm::LevelSort => {
                Some(self.level_sort(workspace, (codes, indices), &mut nodes)?)
            }
        };
        let len = sorted.as_ref().map_or(0, |sorted| sorted.order.len());
        // SAFETY: the gather writes every element, unless nodes did not fit: then nobody reads them.
        let (mut sorted_x, mut sorted_y) =
            unsafe { (gpu.uninitialized::<T>(len)?, gpu.uninitialized::<T>(len)?) };
        if let Some(Sorted { order, .. }) = &sorted {
            let arguments = kernels::gather_places::Args {
                order: order.as_ptr(),
                len: len as u64,
                pairs: pairs.as_ptr(),
                overflow: nodes.words.as_ptr().wrapping_add(OVERFLOW).cast(),
                x: sorted_x.as_mut_ptr(),
                y: sorted_y.as_mut_ptr(),
            };
            let blocks = Blocks::x((len as u64).div_ceil(kernels::GATHERED) as u32);
            // SAFETY: the columns have `len` elements, and the order those of points, unless nodes did not fit.
            unsafe { gpu.enqueue(T::GATHER, blocks, arguments)? };
        }
        let words = nodes.words.to_host()?;
        refuse_not_finite(&gpu, [words[0] as i64, words[1] as i64], x, y)?;
        if words[2] < x.len() as u64 {
            return Err(outside(&gpu, words[2], x, y)?);
        }
        let Some(Sorted { order, deepest }) = sorted.filter(|_| words[OVERFLOW] == 0) else {
            return Ok(None);
        };
        Ok(Some(DeviceQuadtree {
            frame: self.frame,
            bounds: self.bounds,
            threshold: self.params.threshold,
            nodes: nodes.nodes,
            node_count: words[STARTS + deepest as usize + 1] as usize,
            order,
            x: sorted_x,
            y: sorted_y,
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
        bad: &mut Column<u64>,
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
        {
            let (x, y) = (gpu.admit(x)?, gpu.admit(y)?);
            let arguments = kernels::encode::Args {
                x: x.as_ptr(),
                y: y.as_ptr(),
                len: len as u64,
                corner: [self.frame.west, self.frame.south],
                per_unit: [self.frame.columns_per_unit, self.frame.rows_per_unit],
                level: self.frame.level,
                bounds: [min_x, min_y, max_x, max_y],
                codes: codes.as_mut_ptr(),
                indices: if skips { indices.as_mut_ptr() } else { ptr::null_mut() },
                pairs: pairs.as_mut_ptr(),
                inside: if skips { inside.as_mut_ptr() } else { ptr::null_mut() },
                bad: bad.as_mut_ptr().cast(),
            };
            // SAFETY: the columns are as long as said.
            unsafe { gpu.enqueue(kernel, Blocks::for_each(&kernel, len as u64)?, arguments)? };
        }
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
            let words = nodes.words.to_host()?;
            if words[OVERFLOW] != 0 {
                return Ok(None);
            }
            let unsettled = words[UNSETTLED];
            if unsettled == 0 || end == max_level {
                // A root that is a leaf is nobody's child, which are what is noted.
                let is_one_leaf = points <= self.params.threshold.into() && end > 0;
                if words[DISORDER] != 0 || is_one_leaf {
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
            let of_level = (words[STARTS + level as usize], words[STARTS + level as usize + 1]);
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

    /// Sorts the points of nodes above the threshold by the bits down to another level. The nodes are those of a level,
    /// whose first and end are given.
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
        let arguments = kernels::count_unsettled::Args {
            nodes: nodes.as_ptr(),
            first,
            count,
            threshold: threshold.into(),
            cut_codes: self.share.codes(),
            cut_levels: self.share.levels(),
            counts: offsets.as_mut_ptr(),
        };
        let blocks = Blocks::for_each(&kernels::count_unsettled, count)?;
        // SAFETY: the level has these nodes.
        unsafe { gpu.enqueue(kernels::count_unsettled, blocks, arguments)? };
        scan_in_place(workspace, Sum, Scan::exclusive(0), &mut offsets)?;
        let arguments = kernels::take_unsettled::Args {
            nodes: nodes.as_ptr(),
            first,
            count,
            offsets: offsets.as_ptr(),
            total,
            codes: coded.codes.as_ptr(),
            indices: coded.indices.as_ptr(),
            places: places.as_mut_ptr(),
            to_codes: some.codes.as_mut_ptr(),
            to_indices: some.indices.as_mut_ptr(),
        };
        // SAFETY: `total` is the sum of what was counted; nodes lie among the points.
        unsafe { gpu.enqueue(K::TAKE, Blocks::for_each(&K::TAKE, total)?, arguments)? };
        let sort = Sort::ascending().by_bits(2 * (max_level - to_level)..2 * max_level);
        sort_pairs_in_place(workspace, sort, &mut some.codes, &mut some.indices)?;
        let arguments = kernels::put_back::Args {
            places: places.as_ptr(),
            total,
            codes: some.codes.as_ptr(),
            indices: some.indices.as_ptr(),
            to_codes: coded.codes.as_mut_ptr(),
            to_indices: coded.indices.as_mut_ptr(),
        };
        // SAFETY: places are those that were taken from.
        unsafe { gpu.enqueue(K::PUT_BACK, Blocks::for_each(&K::PUT_BACK, total)?, arguments)? };
        // The next round counts anew.
        let unsettled = nodes.words.as_mut_ptr().wrapping_add(UNSETTLED);
        // SAFETY: this is an element of the column, on its own stream.
        unsafe { gpu.fill_with_byte(unsettled, 0, 1)? };
        Ok(())
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
        let starts = nodes.words.as_mut_ptr().wrapping_add(STARTS);
        if count == 0 {
            return Ok(0);
        }
        let root = kernels::plant::Args { nodes: nodes.nodes.as_mut_ptr().cast(), starts, count };
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
        let words = nodes.words.as_mut_ptr();
        let word = |which, wanted| if wanted { words.wrapping_add(which) } else { ptr::null_mut() };
        let arguments = kernels::divide::Args {
            codes: codes.as_ptr(),
            capacity: nodes.nodes.len() as u64,
            nodes: nodes.nodes.as_mut_ptr().cast(),
            starts: words.wrapping_add(STARTS),
            level,
            max_level,
            threshold: threshold.into(),
            cut_codes: self.share.codes(),
            cut_levels: self.share.levels(),
            overflow: words.wrapping_add(OVERFLOW).cast(),
            unsettled: word(UNSETTLED, notes.unsettled),
            has_leaves: word(DISORDER, notes.has_leaves).cast(),
            control: nodes.control.as_mut_ptr(),
            status: nodes.status.as_mut_ptr(),
        };
        let blocks = self.blocks(level, count, kernels::DIVIDE_BLOCK as u64);
        // SAFETY: the columns are as long as the kernel needs, and live until its work is enqueued.
        unsafe { gpu.enqueue(K::DIVIDE, blocks, arguments)? };
        Ok(())
    }

    /// Blocks for the nodes of a level: there are no more than cells, nor than children of those above the
    /// threshold.
    fn blocks(&self, level: u32, count: u64, per_block: u64) -> Blocks {
        let divided = count / (u64::from(self.params.threshold) + 1);
        let most = (1u64 << (2 * level).min(62)).min(4 * divided.max(1));
        Blocks::x(most.div_ceil(per_block).min(MOST_BLOCKS.into()) as u32)
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
        let node_count = nodes.starts().wrapping_add(deepest as usize + 1);
        let (nodes, blocks) = (nodes.as_ptr(), Blocks::x(MOST_BLOCKS));
        let indices = order.as_mut_ptr();
        // SAFETY: the tree is over the indices; its leaves above the deepest level are within the threshold.
        unsafe {
            if threshold <= 32 {
                let arguments =
                    kernels::order_small_leaves::Args { nodes, node_count, in_order, indices };
                return Ok(gpu.enqueue(kernels::order_small_leaves, blocks, arguments)?);
            }
            if threshold > MOST_SHARED {
                return self.sort_as_given(workspace, (nodes, node_count), order);
            }
            let arguments = kernels::order_leaves::Args { nodes, node_count, in_order, indices };
            gpu.enqueue(kernels::order_leaves, blocks, arguments)?;
            if threshold > MOST_OF_WARP {
                let arguments =
                    kernels::order_large_leaves::Args { nodes, node_count, in_order, indices };
                gpu.enqueue(kernels::order_large_leaves, blocks, arguments)?;
            }
            Ok(())
        }
    }

    /// The same for leaves too large for shared memory. By where its leaf starts each point finds its leaf,
    /// and a sort that is stable keeps the order as given.
    ///
    /// # Safety
    /// The nodes and their number are those of a tree over the indices.
    unsafe fn sort_as_given(
        &self,
        workspace: &mut Workspace,
        (nodes, node_count): (*const u64, *const u64),
        order: &mut Column<u32>,
    ) -> Result<()> {
        let gpu = workspace.gpu().clone();
        let len = order.len();
        // SAFETY: both are written before they are read: every point lies in one leaf.
        let (mut starts, mut sorted) =
            unsafe { (gpu.uninitialized::<u32>(len)?, gpu.uninitialized::<u32>(len)?) };
        // By index first, with the leaf's start beside; then by that.
        let arguments =
            kernels::mark_leaves::Args { nodes, node_count, leaf_starts: starts.as_mut_ptr() };
        // SAFETY: passed on to the caller.
        unsafe { gpu.enqueue(kernels::mark_leaves, Blocks::x(MOST_BLOCKS), arguments)? };
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
