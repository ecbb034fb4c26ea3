//! Values that go through the kernels together.

use std::ops::Range;

use gpu_core::{Column, Gpu};
use kernels_rs::nni::NearShape;
use kernels_rs::nni::kernels::{KernelSet, NearKernel};
use kernels_rs::nni::values::{MOST_VALUES, Scales};
use kernels_rs::{nni, nni_several};

use crate::{Params, QueryLimits, Result, ValueScale};

/// The kernels for a number of values, up to [`MOST_VALUES`]: those for that many or, of three, for one
/// more.
fn kernels_for(values: usize) -> KernelSet {
    match values {
        0 | 1 => nni::ONE,
        2 => nni_several::TWO,
        _ => nni_several::FOUR,
    }
}

/// How many columns of values there must be where there are so many values: kernels for four read the
/// last of three twice.
pub(super) fn padded(values: usize) -> usize {
    if values % MOST_VALUES == 3 { values + 1 } else { values }
}

/// The groups into which so many values are cut: as large as there is a kernel for the query circle.
pub(super) fn groups(
    values: usize,
    limits: &QueryLimits,
    params: &Params,
) -> impl Iterator<Item = Range<usize>> + use<> {
    let has_near = |set: KernelSet| near(set, limits, params).is_some();
    let is_small = has_near(nni::ONE) && !has_near(nni_several::FOUR);
    let most = if is_small { nni_several::TWO.values } else { MOST_VALUES };
    (0..values).step_by(most).map(move |first| first..values.min(first + most))
}

/// The kernel for the query circle, if that is small, and its shape.
pub(super) fn near(
    set: KernelSet,
    limits: &QueryLimits,
    params: &Params,
) -> Option<(NearShape, NearKernel)> {
    let limit = limits.circle.as_ref().map_or(u64::MAX, |circle| circle.limit);
    let fits = |shape: &NearShape| {
        let is_small = limit <= u64::from(shape.circle);
        shape.supersample == params.supersample && is_small && !params.deviations
    };
    set.near.iter().find(|(shape, _)| fits(shape)).copied()
}

/// What a group's kernels are told of its values.
pub(super) struct Group {
    /// The kernels, which may take more values than there are: then the last stands for them too.
    pub kernels: KernelSet,
    /// The values there are.
    pub len: usize,
    /// Their scales, as the kernels read them.
    pub scales: Column<f64>,
}

impl Group {
    /// A group of values with these scales.
    pub fn new(gpu: &Gpu, scales: &[ValueScale]) -> Result<Self> {
        let kernels = kernels_for(scales.len());
        let none = ValueScale::of(&[]);
        let of = |k: usize| *scales.get(k).or(scales.last()).unwrap_or(&none);
        let in_memory = |k: usize| Scales::in_memory(of(k).offset, of(k).step);
        let host: Vec<f64> = (0..kernels.values).flat_map(in_memory).collect();
        Ok(Self { kernels, len: scales.len(), scales: gpu.enqueue_upload(&host)? })
    }
}
