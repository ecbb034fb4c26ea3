//! Points in device memory, in the form that the methods take.

use gpu_core::{Column, DevicePoints, Gpu, Slice};
use kernels_rs::nni::pixels;
use kernels_rs::nni::pixels::values::{Columns, MAX_VALUES};

use crate::params::OnGrid;
use crate::{Result, ValueScale};

/// All values of points, one column after the other.
pub(crate) fn values_in_one<'a>(gpu: &Gpu, points: &DevicePoints<'a>) -> Result<Values<'a>> {
    match points.values() {
        [] => Ok(Values::Joined(gpu.zeroed(0)?)),
        [only] => Ok(Values::Given(*only)),
        columns => {
            let points = points.len();
            // SAFETY: the copies write every element.
            let mut joined = unsafe { gpu.uninitialized(points * columns.len())? };
            for (k, &column) in columns.iter().enumerate() {
                gpu.copy(column, joined.slice_mut(k * points..(k + 1) * points)?)?;
            }
            Ok(Values::Joined(joined))
        }
    }
}

/// Columns of values that lie one after the other.
pub(crate) enum Values<'a> {
    Given(Slice<'a, f64>),
    Joined(Column<f64>),
}

impl Values<'_> {
    pub fn as_slice(&self) -> Slice<'_, f64> {
        match self {
            Self::Given(column) => *column,
            Self::Joined(columns) => columns.into(),
        }
    }
}

/// Points with up to [`MAX_VALUES`] of their values, or some of the points.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub x: Slice<'a, f64>,
    pub y: Slice<'a, f64>,
    /// The columns of values. Kernels may take more values than there are; then the last one fills up.
    pub z: [Slice<'a, f64>; MAX_VALUES],
    /// The index of its first point among all.
    pub first: u64,
}

impl<'a> Part<'a> {
    /// All points with a group of their values, which is not empty.
    pub fn of(points: &DevicePoints<'a>, group: std::ops::Range<usize>) -> Self {
        let columns = &points.values()[group];
        let z = std::array::from_fn(|k| columns[k.min(columns.len() - 1)]);
        Self { x: points.x(), y: points.y(), z, first: 0 }
    }

    /// The values as arguments of kernels.
    pub fn columns(&self) -> Columns<'a> {
        let [first, second, third, fourth] = self.z.map(Slice::input);
        Columns { first, second, third, fourth }
    }

    /// The points as arguments of kernels.
    pub fn input(&self) -> pixels::Points<'a> {
        let (x, y, count) = (self.x.input(), self.y.input(), self.x.len() as u64);
        pixels::Points { x, y, z: self.columns(), count }
    }
}

/// The scale of each column of values.
pub(crate) fn scales_of(points: &DevicePoints, params: &OnGrid) -> Vec<ValueScale> {
    // Without points there are no ranges.
    let of = |k: usize| match points.extent().ranges.get(k) {
        Some(&range) => ValueScale::of_range(params.widened(range)),
        None => ValueScale::of(&[]),
    };
    (0..points.values().len()).map(of).collect()
}
