//! Points in device memory, admitted to the handle that works on them.

use gpu_core::{Column, DevicePoints, Gpu, GridSlice, Reading, Slice};
use kernels_rs::nni::pixels::values::MOST_VALUES;

use crate::{Params, Result, ValueScale};

/// The columns of a call's points, in order with its stream while this lives.
pub(crate) struct Admitted<'a> {
    x: Reading<'a, f64>,
    y: Reading<'a, f64>,
    values: Vec<Reading<'a, f64>>,
    mask: Option<Reading<'a, u8>>,
}

impl<'a> Admitted<'a> {
    pub fn new(
        gpu: &Gpu,
        points: &DevicePoints<'a>,
        mask: Option<&GridSlice<'a, u8>>,
    ) -> Result<Self> {
        let values = points.values().iter().map(|column| gpu.admit(*column));
        Ok(Self {
            x: gpu.admit(points.x())?,
            y: gpu.admit(points.y())?,
            values: values.collect::<Result<_, _>>()?,
            mask: mask.map(|mask| gpu.admit(mask.values())).transpose()?,
        })
    }

    /// Eastings.
    pub fn x(&self) -> Slice<'a, f64> {
        *self.x
    }

    /// Northings.
    pub fn y(&self) -> Slice<'a, f64> {
        *self.y
    }

    /// The mask's address; null where there is none.
    pub fn mask(&self) -> *const u8 {
        self.mask.as_ref().map_or(std::ptr::null(), |mask| mask.as_ptr())
    }

    /// The mask, where there is one.
    pub fn mask_slice(&self) -> Option<Slice<'a, u8>> {
        self.mask.as_ref().map(|mask| **mask)
    }

    /// All points with a group of their values.
    pub fn part(&self, group: std::ops::Range<usize>) -> Part<'a> {
        let last = group.end.saturating_sub(1);
        let column = |k: usize| self.values.get((group.start + k).min(last));
        let address = |k: usize| column(k).map_or(std::ptr::null(), |column| column.as_ptr());
        Part { x: *self.x, y: *self.y, z: std::array::from_fn(address), first: 0 }
    }

    /// All values, one column after the other.
    pub fn values_in_one(&self, gpu: &Gpu) -> Result<Values<'a>> {
        match &self.values[..] {
            [] => Ok(Values::Joined(gpu.zeroed(0)?)),
            [only] => Ok(Values::Given(**only)),
            columns => {
                let points = self.x.len();
                // SAFETY: the copies write every element.
                let mut joined = unsafe { gpu.uninitialized(points * columns.len())? };
                for (k, column) in columns.iter().enumerate() {
                    gpu.copy(**column, joined.slice_mut(k * points..(k + 1) * points)?)?;
                }
                Ok(Values::Joined(joined))
            }
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

/// Points with up to [`MOST_VALUES`] of their values, or some of the points.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub x: Slice<'a, f64>,
    pub y: Slice<'a, f64>,
    /// The columns of values. Kernels may take more of them than there are: the last stands for those.
    pub z: [*const f64; MOST_VALUES],
    /// The index of its first point among all.
    pub first: u64,
}

/// The scale of each column of values.
pub(crate) fn scales_of(points: &DevicePoints, params: &Params) -> Vec<ValueScale> {
    // Without points there are no ranges.
    let of = |k: usize| match points.extent().ranges.get(k) {
        Some(&range) => ValueScale::of_range(params.widened(range)),
        None => ValueScale::of(&[]),
    };
    (0..points.values().len()).map(of).collect()
}
