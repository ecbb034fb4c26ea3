//! What points lie between.

use device_std::In;
use gpu_core::{Blocks, Bounds, Error as CoreError, Extent, Slice, ValueRange};
use kernels_rs::primitives::extent::{Columns, MAX_COLUMNS, WORDS, chunks, find_extent};

use super::Workspace;
use super::workspace::Layout;
use crate::error::{Result, same_len};

/// Returns the bounds of x and y and the range of each column of values. [`gpu_core::Extent::of`] on the CPU gives the
/// same bits. Without points there are no bounds and no ranges.
///
/// **Waits** for the workspace's stream, since the result is on the host, so a graph cannot hold this call.
///
/// Cost: one launch for each 8 columns, and one read of each element.
///
/// ```
/// use gpu_core::{DeviceChoice, DevicePoints, Gpu};
/// use gpu_scan::gpu::{Workspace, extent};
///
/// # fn main() -> Result<(), gpu_scan::Error> {
/// let gpu = Gpu::open(DeviceChoice::Software)?;
/// let mut workspace = Workspace::new(&gpu)?;
/// let (x, y) = (gpu.upload(&[2.0, -1.0, 3.0])?, gpu.upload(&[0.5, 5.0, 4.0])?);
/// let z = gpu.upload(&[7.0, 9.0, 8.0])?;
/// let extent = extent(&mut workspace, &x, &y, &[(&z).into()])?;
/// assert_eq!(extent.bounds.map(|b| (b.min_x, b.max_y)), Some((-1.0, 5.0)));
/// assert_eq!((extent.ranges[0].min, extent.ranges[0].max), (7.0, 9.0));
/// let points = DevicePoints::new(&x, &y, [(&z).into()], extent)?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// - [`Length`](gpu_core::Error::Length): a column differs from x in length.
/// - [`NotFinite`](CoreError::NotFinite): a number is NaN or infinite. The error names the first such coordinate, or
///   else the first such value.
/// - [`Captured`](CoreError::Captured): the stream is being captured.
pub fn extent<'a>(
    workspace: &mut Workspace,
    x: impl Into<Slice<'a, f64>>,
    y: impl Into<Slice<'a, f64>>,
    values: &[Slice<'_, f64>],
) -> Result<Extent> {
    let (x, y) = (x.into(), y.into());
    same_len("column of y", x.len(), y.len())?;
    values.iter().try_for_each(|column| same_len("column of values", x.len(), column.len()))?;
    workspace.gpu().refuse_in_capture("the search for an extent, which the host waits for,")?;
    if x.is_empty() {
        return Ok(Extent::default());
    }
    let columns = [x, y].into_iter().chain(values.iter().copied());
    let columns: Vec<In<'_, u64>> = columns.map(|column| column.cast().input()).collect();
    // SAFETY: the columns have `len` elements, which are some.
    let results = unsafe { search(workspace, &columns, x.len() as u64)? };
    let range = |what, column: usize| {
        let word = |i: usize| results[column * WORDS as usize + i];
        let (min, max) = (f64::from_bits(word(0)), f64::from_bits(word(1)));
        match word(2) {
            u64::MAX => Ok(ValueRange { min, max }),
            index => Err(CoreError::NotFinite { what, index, value: f64::from_bits(word(3)) }),
        }
    };
    let (x, y) = (range("x", 0)?, range("y", 1)?);
    let ranges = (2..columns.len()).map(|column| range("value", column));
    Ok(Extent {
        bounds: Some(Bounds { min_x: x.min, min_y: y.min, max_x: x.max, max_y: y.max }),
        ranges: ranges.collect::<Result<_, CoreError>>()?,
    })
}

/// Enqueues the search and waits for its results, [`WORDS`] for each column.
///
/// # Safety
/// Each column has `len` elements, and `len` is not 0.
unsafe fn search(workspace: &mut Workspace, columns: &[In<'_, u64>], len: u64) -> Result<Vec<u64>> {
    let (tiles, chunks) = chunks(len);
    let mut layout = Layout::default();
    let partials = layout.part::<u64>(chunks * MAX_COLUMNS as u64 * WORDS);
    let results = layout.part::<u64>(columns.len() as u64 * WORDS);
    let arena = workspace.arena(&layout)?;
    let (partials, results) = (arena.at(&partials), arena.at(&results));
    let done = workspace.done();
    let gpu = workspace.gpu();
    let mut host = vec![0; columns.len() * WORDS as usize];
    // SAFETY: the columns are as the caller promises; there are words for each chunk and each column; `host` lives until
    // the stream is synchronised.
    unsafe {
        for (launch, some) in columns.chunks(MAX_COLUMNS).enumerate() {
            let mut columns = [some[0]; MAX_COLUMNS];
            columns[..some.len()].copy_from_slice(some);
            let columns = Columns::new(columns, len);
            let results = results.from(launch * MAX_COLUMNS * WORDS as usize);
            let arguments = find_extent::Args { columns, tiles, partials, done, results };
            let blocks = Blocks { x: chunks as u32, y: some.len() as u32 };
            gpu.enqueue(find_extent, blocks, arguments)?;
        }
        gpu.enqueue_read(Slice::from_raw_parts(results.start(), host.len()), &mut host)?;
    }
    gpu.synchronize()?;
    Ok(host)
}
