//! Groups of values, which one launch takes together.

use std::ops::Range;

use device_std::host::Kernel;
use gpu_core::{Column, Gpu};
use kernels_rs::nni::pixels::values::MAX_VALUES;
use kernels_rs::nni::pixels::{NearShape, query_near};

use crate::gpu::small_uploads::put_scales;
use crate::params::OnGrid;
use crate::pixels::limits::QueryLimits;
use crate::{Result, ValueScale};

/// A kernel for small circles.
pub(super) type NearKernel = Kernel<query_near::Args<'static>>;

/// Which instances of the kernels a group takes: for how many values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instances {
    One,
    Two,
    Four,
}

impl Instances {
    /// Those for a number of values up to [`MAX_VALUES`], or for one more.
    fn for_values(values: usize) -> Self {
        match values {
            0 | 1 => Self::One,
            2 => Self::Two,
            _ => Self::Four,
        }
    }

    /// How many values.
    pub fn values(self) -> usize {
        self.of([1, 2, 4])
    }

    /// Picks, by the size of this group, one of three kernels or of three other things.
    pub fn of<T>(self, [one, two, four]: [T; 3]) -> T {
        match self {
            Self::One => one,
            Self::Two => two,
            Self::Four => four,
        }
    }

    /// The kernel for the query circle, if that is small, and its shape.
    pub fn near(self, limits: &QueryLimits, params: &OnGrid) -> Option<(NearShape, NearKernel)> {
        let limit = limits.circle.map_or(u64::MAX, |circle| circle.limit);
        let fits = |shape: &NearShape| {
            let is_small = limit <= u64::from(shape.circle) && !params.deviations;
            shape.values == self.values() && shape.supersample == params.supersample && is_small
        };
        query_near::ALL.into_iter().find(|(shape, _)| fits(shape))
    }
}

/// The groups into which values are cut: as large as there is a kernel for the query circle.
pub(super) fn groups(
    values: usize,
    limits: &QueryLimits,
    params: &OnGrid,
) -> impl Iterator<Item = Range<usize>> + use<> {
    let has_near = |instances: Instances| instances.near(limits, params).is_some();
    let is_for_few = has_near(Instances::One) && !has_near(Instances::Four);
    let most = if is_for_few { 2 } else { MAX_VALUES };
    (0..values).step_by(most).map(move |first| first..values.min(first + most))
}

/// A group's values, as its kernels take them.
pub(super) struct Group {
    /// The kernels, which may take more values than there are: then the last value fills up.
    pub instances: Instances,
    /// The values there are.
    pub len: usize,
    /// The scales of the values, as arguments of kernels.
    pub scales: Column<f64>,
}

impl Group {
    /// A group of values with these scales.
    pub fn new(gpu: &Gpu, scales: &[ValueScale]) -> Result<Self> {
        let instances = Instances::for_values(scales.len());
        let none = ValueScale::of(&[]);
        let of = |k: usize| *scales.get(k).or(scales.last()).unwrap_or(&none);
        let scales_of_kernels = put_scales(gpu, (0..instances.values()).map(of))?;
        Ok(Self { instances, len: scales.len(), scales: scales_of_kernels })
    }
}
