//! Scans along the columns of a grid: chunks of rows in parallel, in the kernels' order.

use bytemuck::{cast, cast_slice_mut};
use device_std::scalar::Scalar;
use kernels_rs::primitives::columns::chunks;
use kernels_rs::primitives::operators::Operator;

use super::segments::Segments;
use crate::error::{Error, Result, same_len};
use crate::{Number, Scan, ScanOperator};
use gpu_core::parallel::{Parts, for_ranges, map};

/// Scans each column of a row-major grid of `width` elements a row. The scan goes from the first row to the last; a
/// backward scan goes from the last to the first.
///
/// Cost: two reads and one write of each element.
///
/// ```
/// use gpu_scan::{Scan, Sum, cpu};
///
/// let mut sums = [0; 6];
/// let grid = [1, 2, 3,
///             10, 20, 30];
/// cpu::scan_columns(Sum, Scan::inclusive(), 3, &grid, &mut sums)?;
/// assert_eq!(sums, [1, 2, 3, 11, 22, 33]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// - [`Length`](gpu_core::Error::Length): the output has another length, or the input does not consist of whole rows.
/// - [`TooLarge`](Error::TooLarge): there are more than 2^32 - 1 columns or rows.
pub fn scan_columns<T: Number, O: ScanOperator<T>>(
    operator: O,
    how: Scan<T>,
    width: usize,
    input: &[T],
    output: &mut [T],
) -> Result<()> {
    same_len("output", input.len(), output.len())?;
    Segments::rows(width, input.len())?;
    output.copy_from_slice(input);
    scan_columns_in_place(operator, how, width, output)
}

/// Scans like [`scan_columns`], in place: the result overwrites the input.
///
/// ```
/// use gpu_scan::{LastValid, Scan, cpu};
///
/// // Fills gaps, which are -1, from the row to the south.
/// let mut grid = [5, -1, 7, 8];
/// cpu::scan_columns_in_place(LastValid(-1), Scan::inclusive().backward(), 2, &mut grid)?;
/// assert_eq!(grid, [5, 8, 7, 8]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// The errors of [`scan_columns`].
pub fn scan_columns_in_place<T: Number, O: ScanOperator<T>>(
    operator: O,
    how: Scan<T>,
    width: usize,
    data: &mut [T],
) -> Result<()> {
    Segments::rows(width, data.len())?;
    if data.is_empty() {
        return Ok(());
    }
    let rows = rows_of_chunk(width, data.len() / width)?;
    let columns = Columns { operator: operator.kernel(), width, backward: how.backward };
    let initial = how.initial.map(|initial| columns.operator.lift(cast(initial)));
    columns.scan(cast_slice_mut::<T, O::Element>(data), rows, initial);
    Ok(())
}

/// Rows of a chunk.
fn rows_of_chunk(width: usize, height: usize) -> Result<usize> {
    let side = |n: usize| {
        let most = u64::from(u32::MAX);
        u32::try_from(n).map_err(|_| Error::TooLarge { elements: n as u64, most })
    };
    Ok(chunks(side(width)?, side(height)?).0 as usize)
}

/// The columns of a grid, all of which are scanned at once.
struct Columns<P> {
    operator: P,
    width: usize,
    backward: bool,
}

impl<P: Send + Sync> Columns<P> {
    /// The chunks, `len` elements each but the last, in the order of the scan.
    fn cut<'a, E>(&self, data: &'a mut [E], len: usize) -> Vec<&'a mut [E]> {
        if self.backward { data.rchunks_mut(len).collect() } else { data.chunks_mut(len).collect() }
    }

    /// Scans chunks of `rows` rows.
    fn scan<E>(&self, data: &mut [E], rows: usize, initial: Option<E>)
    where
        E: Scalar + Send + Sync,
        P: Operator<E>,
    {
        let parts = Parts::new(self.cut(data, rows * self.width).into_iter());
        let before = self.before_each(&parts);
        for_ranges(parts.len(), 1, &|chunks| {
            for chunk in chunks {
                let mut sums = before[chunk].clone();
                self.for_each_row(&mut parts.part(chunk), |row| {
                    self.finish(row, &mut sums, initial);
                });
            }
        });
    }

    /// Calls `visit` with each row of a chunk, in the order of the scan.
    fn for_each_row<E>(&self, chunk: &mut [E], visit: impl FnMut(&mut [E])) {
        let rows = chunk.chunks_mut(self.width);
        if self.backward { rows.rev().for_each(visit) } else { rows.for_each(visit) }
    }

    /// Returns the sums before each chunk, a value for each column.
    fn before_each<E>(&self, chunks: &Parts<'_, E>) -> Vec<Vec<E>>
    where
        E: Scalar + Send + Sync,
        P: Operator<E>,
    {
        let nothing = || vec![self.operator.identity(); self.width];
        let sums = map(chunks.len() - 1, 1, |chunk| {
            let mut sums = nothing();
            self.for_each_row(&mut chunks.part(chunk), |row| {
                for (sum, element) in sums.iter_mut().zip(row) {
                    *sum = self.operator.combine(*sum, self.operator.lift(*element));
                }
            });
            sums
        });
        let mut before = vec![nothing()];
        for (chunk, sums) in sums.iter().enumerate() {
            let until = before[chunk].iter().zip(sums);
            before.push(until.map(|(&a, &b)| self.operator.combine(a, b)).collect());
        }
        before
    }

    /// Overwrites a row by its results; `sums` are those of the rows before.
    fn finish<E: Scalar>(&self, row: &mut [E], sums: &mut [E], initial: Option<E>)
    where
        P: Operator<E>,
    {
        let operator = &self.operator;
        for (element, sum) in row.iter_mut().zip(sums) {
            let until = *sum;
            *sum = operator.combine(until, operator.lift(*element));
            let value = initial.map_or(*sum, |initial| operator.combine(initial, until));
            *element = operator.lower(value);
        }
    }
}
