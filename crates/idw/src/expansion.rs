//! The expansion of far points in nodes: code that CPU and GPU share.
//!
//! The method is by Wang, Krasny and Tlupova, *A kernel-independent treecode based on barycentric Lagrange
//! interpolation* (2020, doi:10.4208/cicp.OA-2019-0177). Over a box of points that is far from a target, the weight is
//! a smooth function of the point's place. So a polynomial with the same values at the Chebyshev nodes of the box is
//! close to it. So a sum over the nodes replaces the sum over the points. The weight of a node depends only on the
//! points. This crate differs in three ways: boxes hold runs of points along a curve, a whole block of targets decides
//! together, and nodes and points share one inner loop.

use crate::{Error, Method, Params, Result};

/// Points of a leaf.
pub(crate) const LEAF: usize = 256;

/// Items of the next level below that an item stands for.
pub(crate) const CHILDREN: usize = 4;

/// Nodes along each axis of a box.
pub(crate) const SIDE: usize = 9;

/// Nodes of a box.
pub(crate) const NODES: usize = SIDE * SIDE;

/// Nodes along each axis of a box in f64.
pub(crate) const SIDE_IN_F64: usize = 16;

/// Nodes of a box in f64.
pub(crate) const NODES_IN_F64: usize = SIDE_IN_F64 * SIDE_IN_F64;

/// The highest power for which the nodes are accurate enough at the distances below.
pub(crate) const HIGHEST_POWER: f64 = 4.0;

/// Fewer points than these, or pairs, are summed faster directly. Measured on an H200 and on a processor
/// with AVX-512.
const LEAST_POINTS: usize = 8192;
#[cfg(feature = "cuda")]
pub(crate) const LEAST_PAIRS_GPU: f64 = 3e9;
pub(crate) const LEAST_PAIRS_CPU: f64 = 2e8;

/// From how many pairs on it is faster where the direct sum is the one in f64: a thousand targets pay for the nodes.
pub(crate) fn least_pairs_in_f64(points: usize) -> f64 {
    6e7 + 1e3 * points as f64
}

/// How far a box must be from targets for its nodes to stand for its points, in multiples of the longer
/// half of its sides, from its middle. Measured: `docs/internals/idw.md`. Where targets have powers of their own, the highest
/// that they may have counts for all.
pub(crate) fn separation(params: &Params) -> f64 {
    2.25 + 0.5 * params.highest_power()
}

/// The same in f64, with 16 x 16 nodes.
pub(crate) fn separation_in_f64(params: &Params) -> f64 {
    3.2 + 0.42 * params.highest_power()
}

/// How far a box must be for results in f32, or in f64.
pub(crate) fn separation_of(params: &Params, single: bool) -> f64 {
    if single { separation(params) } else { separation_in_f64(params) }
}

/// How far a box must be for sums within a radius. Infinitely far where no far points are expanded: in f64 on the
/// sphere, and where the method sums every pair.
pub(crate) fn separation_within(params: &Params, single: bool) -> f64 {
    match params.method {
        Method::Direct | Method::Baseline(_) => f64::INFINITY,
        Method::Auto | Method::Expansion if !single && params.geographic => f64::INFINITY,
        Method::Auto | Method::Expansion => separation_of(params, single),
    }
}

/// Refuses the expansion where the values of targets are f64 on the sphere.
pub(crate) fn check(params: &Params, single: bool) -> Result<()> {
    if params.method == Method::Expansion && params.geographic && !single {
        return Err(Error::Conflict { option: "the expansion", with: "f64 on the sphere" });
    }
    Ok(())
}

/// Whether far points are expanded, by themselves from `least_pairs` pairs on; `single` where what is wanted is f32, or
/// each point left out.
pub(crate) fn is_used(
    params: &Params,
    single: bool,
    points: usize,
    targets: u64,
    least_pairs: f64,
) -> bool {
    let can = (single || !params.geographic)
        && params.is_all_pairs()
        && params.highest_power() <= HIGHEST_POWER;
    can && points > 0
        && match params.method {
            Method::Auto => is_enough(points, targets, least_pairs),
            Method::Expansion => true,
            Method::Direct | Method::Baseline(_) => false,
        }
}

/// Whether there are as many points and pairs as the expansion pays for.
pub(crate) fn is_enough(points: usize, targets: u64, least_pairs: f64) -> bool {
    points >= LEAST_POINTS && points as f64 * targets as f64 >= least_pairs
}

/// The first item of each level, leaves first, and behind the last the number of all items.
pub(crate) fn levels(points: usize) -> Vec<u32> {
    let mut count = points.div_ceil(LEAF);
    let mut starts = vec![0, count as u32];
    while count > 1 {
        count = count.div_ceil(CHILDREN);
        starts.push(starts[starts.len() - 1] + count as u32);
    }
    starts
}

/// Items of a level.
#[inline(always)]
pub(crate) fn items_of(levels: &[u32], level: usize) -> usize {
    (levels[level + 1] - levels[level]) as usize
}

/// The walk of a group of targets through the items on a CPU. It begins at the root, and either opens an item, which
/// leads to the first below it, or is done with it.
pub(crate) struct Visit<'a> {
    levels: &'a [u32],
    /// The item's level, 0 for leaves.
    pub level: usize,
    /// Its number in the level.
    pub at: usize,
}

impl<'a> Visit<'a> {
    /// Returns a walk at the root of items, whose levels begin where [`levels`] says.
    #[inline(always)]
    pub fn new(levels: &'a [u32]) -> Self {
        Self { levels, level: levels.len() - 2, at: 0 }
    }

    /// The item's number among all.
    #[inline(always)]
    pub fn item(&self) -> usize {
        self.levels[self.level] as usize + self.at
    }

    /// Goes to the first child of this item, which is not a leaf.
    #[inline(always)]
    pub fn open(&mut self) {
        (self.level, self.at) = (self.level - 1, self.at * CHILDREN);
    }

    /// Goes to the next item that is neither done nor below an item that is; returns whether there is one.
    #[inline(always)]
    pub fn go_on(&mut self) -> bool {
        self.at += 1;
        while self.at.is_multiple_of(CHILDREN) || self.at == items_of(self.levels, self.level) {
            if self.level + 2 == self.levels.len() {
                return false;
            }
            (self.level, self.at) = (self.level + 1, (self.at - 1) / CHILDREN + 1);
        }
        true
    }
}
