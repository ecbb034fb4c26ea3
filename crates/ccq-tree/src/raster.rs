//! Rasters of any type of cells, to look single cells up in.

use kernels_rs::ccq::value::Value;

use crate::cell::{Keys, Ranges, exact_key};

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
    /// What a range of values and NODATA are as keys of its type.
    pub(crate) fn wanted(self, range: Option<(f64, f64)>, nodata: Option<f64>) -> Wanted {
        fn of<T: crate::Cell>(_: &[T], range: Option<(f64, f64)>, nodata: Option<f64>) -> Wanted {
            let keys = range.map_or(Keys::ALL, |range| Ranges::of::<T>(range, &[]).raw);
            Wanted { keys, nodata: nodata.and_then(exact_key::<T>) }
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
                let key = value.key();
                if value.is_number() && wanted.nodata != Some(key) && wanted.keys.contain(key) {
                    take(cells.start + i);
                }
            }
        })
    }
}

/// Which cells of a raster count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub keys: Keys,
    pub nodata: Option<u32>,
}
