//! Windows of rasters: what every file gives of which parts are read.

use std::ops::Range;

use crate::rasters::nodata::Sample;
use crate::rasters::npy::parts::ArrayFile;
use crate::{ArrayData, Georeference, Number, Result};

/// Bytes of values that are decoded together.
pub(crate) const AT_ONCE: usize = 1 << 26;

/// A raster of one band, of whose values windows are read.
pub(crate) trait Windows: Send + Sync {
    /// Columns and rows.
    fn size(&self) -> (usize, usize);

    /// Bytes of a value in memory.
    fn value_bytes(&self) -> u64;

    /// Bytes that a window takes beside those of its values.
    fn unpacking_bytes(&self) -> u64 {
        0
    }

    /// Rows that are decoded together whatever part of them a window has.
    fn block_rows(&self) -> usize {
        1
    }

    /// Where it lies on the ground.
    fn place(&self) -> Option<&Georeference> {
        None
    }

    /// The value of its type that stands for NODATA.
    fn nodata(&self) -> Option<Number> {
        None
    }

    /// Metres of the unit of its values, if the file states a unit of length.
    fn metres(&self) -> Option<f64> {
        None
    }

    /// Notes on the file for the user.
    fn notes(&self) -> &[String] {
        &[]
    }

    /// The values of a window that lies within it, row by row, as they are stored.
    fn stored(&self, rows: Range<usize>, columns: Range<usize>) -> Result<ArrayData>;

    /// The values of a window that lies within it, row by row. Each that stands for NODATA is [`Windows::nodata`].
    fn window(&self, rows: Range<usize>, columns: Range<usize>) -> Result<ArrayData> {
        let mut values = self.stored(rows, columns)?;
        if let Some(nodata) = self.nodata() {
            match &mut values {
                ArrayData::F32(values) => unify(values, nodata),
                ArrayData::F64(values) => unify(values, nodata),
                _ => {}
            }
        }
        Ok(values)
    }
}

/// Writes NODATA in place of the other value that stands for it.
fn unify<T: Sample>(values: &mut [T], nodata: Number) {
    let Some(other) = T::also(nodata) else { return };
    let nodata = T::fill(Some(nodata));
    values.iter_mut().filter(|value| **value == other).for_each(|value| *value = nodata);
}

impl Windows for ArrayFile {
    fn size(&self) -> (usize, usize) {
        self.size()
    }

    fn value_bytes(&self) -> u64 {
        self.element_bytes()
    }

    /// A window of an array is read at once.
    fn block_rows(&self) -> usize {
        usize::MAX
    }

    fn stored(&self, rows: Range<usize>, columns: Range<usize>) -> Result<ArrayData> {
        Ok(self.window(rows, columns)?.data)
    }
}

/// Parts of some rows that are decoded together: whole rows of blocks, so that none is decoded twice.
pub(crate) fn parts(
    value_bytes: u64,
    block_rows: usize,
    rows: Range<usize>,
    columns: usize,
) -> impl Iterator<Item = Range<usize>> {
    let row = columns.saturating_mul(value_bytes as usize).max(1);
    let step = (AT_ONCE / row / block_rows).max(1).saturating_mul(block_rows);
    let mut top = rows.start;
    std::iter::from_fn(move || {
        let part = top..(top / step + 1).saturating_mul(step).min(rows.end);
        top = part.end;
        (!part.is_empty()).then_some(part)
    })
}
