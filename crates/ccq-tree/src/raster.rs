//! Rasters of any type of cells, of which a search looks up single cells.

use crate::number::{end_rank, exact_rank, first_rank};
use crate::{Bound, Number};

/// The cells of a raster, of any of the types.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum RasterRef<'a> {
    U8(&'a [u8]),
    I16(&'a [i16]),
    U16(&'a [u16]),
    I32(&'a [i32]),
    U32(&'a [u32]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    I64(&'a [i64]),
    U64(&'a [u64]),
}

macro_rules! of_each {
    ($raster:expr, $cells:ident => $result:expr) => {
        match $raster {
            RasterRef::U8($cells) => $result,
            RasterRef::I16($cells) => $result,
            RasterRef::U16($cells) => $result,
            RasterRef::I32($cells) => $result,
            RasterRef::U32($cells) => $result,
            RasterRef::F32($cells) => $result,
            RasterRef::F64($cells) => $result,
            RasterRef::I64($cells) => $result,
            RasterRef::U64($cells) => $result,
        }
    };
}

#[cfg(feature = "cuda")]
impl RasterRef<'_> {
    /// A copy in device memory.
    pub(crate) fn upload(
        self,
        gpu: &gpu_core::Gpu,
        grid: gpu_core::GridSpec,
    ) -> crate::Result<std::sync::Arc<dyn crate::gpu::Looked>> {
        use gpu_core::{DeviceGrid, GridView};
        of_each!(self, cells => {
            Ok(std::sync::Arc::new(DeviceGrid::upload(gpu, GridView::new(cells, grid)?)?))
        })
    }
}

impl RasterRef<'_> {
    /// Returns a range of values, and NODATA, as ranks of the raster's type.
    pub(crate) fn wanted(self, range: Option<(Bound, Bound)>, nodata: Option<Bound>) -> Wanted {
        fn of<T: Number>(_: &[T], range: Option<(Bound, Bound)>, nodata: Option<Bound>) -> Wanted {
            Wanted::of::<T>(range, nodata)
        }
        of_each!(self, cells => of(cells, range, nodata))
    }

    /// Calls `take` with the cells among these that are wanted; a cell that is not there is not.
    pub(crate) fn each_wanted(
        self,
        wanted: Wanted,
        cells: std::ops::Range<usize>,
        mut take: impl FnMut(usize),
    ) {
        of_each!(self, values => {
            for (i, &value) in values.get(cells.clone()).unwrap_or_default().iter().enumerate() {
                if wanted.has(value) {
                    take(cells.start + i);
                }
            }
        })
    }
}

/// Which cells of a raster count: those whose ranks lie from the first number on and below the second, but for NODATA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    low: u128,
    end: u128,
    nodata: Option<u64>,
}

impl Wanted {
    /// Returns the ranks of the values in a range, or of all.
    pub fn of<T: Number>(range: Option<(Bound, Bound)>, nodata: Option<Bound>) -> Self {
        let (low, end) = match range {
            Some((low, high)) => (first_rank::<T>(low), end_rank::<T>(high)),
            None => (0, 1 << 64),
        };
        Self { low, end, nodata: nodata.and_then(exact_rank::<T>) }
    }

    /// Returns the least and the greatest wanted rank, and NODATA's rank. If no rank is wanted, the least is above the
    /// greatest.
    #[cfg(feature = "cuda")]
    pub fn ends(self) -> ([u64; 2], Option<u64>) {
        let is_any = self.low < self.end && self.low <= u128::from(u64::MAX);
        let ends = if is_any { [self.low as u64, (self.end - 1) as u64] } else { [1, 0] };
        (ends, self.nodata)
    }

    fn has(self, value: impl Number) -> bool {
        let is_in = |rank| self.low <= u128::from(rank) && u128::from(rank) < self.end;
        value.rank().is_some_and(|rank| Some(rank) != self.nodata && is_in(rank))
    }
}
