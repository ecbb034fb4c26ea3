//! Rasters of any type of cells, to look single cells up in.

use crate::number::first_rank;
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
    /// A copy in device memory; `None` of values of 64 bits, which no kernel reads.
    pub(crate) fn upload(
        self,
        gpu: &gpu_core::Gpu,
        grid: gpu_core::GridSpec,
    ) -> crate::Result<Option<std::sync::Arc<dyn crate::gpu::Looked>>> {
        use gpu_core::{DeviceGrid, GridView};
        macro_rules! there {
            ($cells:expr) => {
                Ok(Some(std::sync::Arc::new(DeviceGrid::upload(
                    gpu,
                    GridView::new($cells, grid)?,
                )?)))
            };
        }
        match self {
            Self::U8(cells) => there!(cells),
            Self::I16(cells) => there!(cells),
            Self::U16(cells) => there!(cells),
            Self::I32(cells) => there!(cells),
            Self::U32(cells) => there!(cells),
            Self::F32(cells) => there!(cells),
            Self::F64(_) | Self::I64(_) | Self::U64(_) => Ok(None),
        }
    }

    /// 1 for each cell that is wanted, 0 for each other.
    pub(crate) fn marks(self, wanted: Wanted) -> crate::Result<Vec<u16>> {
        let cells = of_each!(self, cells => cells.len());
        let mut marks = gpu_core::host_memory::filled(0u16, cells)?;
        self.each_wanted(wanted, 0..cells, |cell| marks[cell] = 1);
        Ok(marks)
    }
}

impl RasterRef<'_> {
    /// What a range of values and NODATA are as ranks of its type.
    pub(crate) fn wanted(self, range: Option<(Bound, Bound)>, nodata: Option<Bound>) -> Wanted {
        fn of<T: Number>(_: &[T], range: Option<(Bound, Bound)>, nodata: Option<Bound>) -> Wanted {
            let (low, end) = match range {
                Some((low, high)) => (first_rank::<T>(low), first_rank::<T>(high)),
                None => (0, 1 << 64),
            };
            let exact = |bound: Bound| {
                let rank = u64::try_from(first_rank::<T>(bound)).ok();
                rank.filter(|&rank| rank <= T::RANKS.1 && T::of_rank(rank).bound() == bound)
            };
            Wanted { low, end, nodata: nodata.and_then(exact) }
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
    fn has(self, value: impl Number) -> bool {
        let is_in = |rank| self.low <= u128::from(rank) && u128::from(rank) < self.end;
        value.rank().is_some_and(|rank| Some(rank) != self.nodata && is_in(rank))
    }
}
