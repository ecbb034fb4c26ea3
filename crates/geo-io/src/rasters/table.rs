//! Rasters as tables, with a line for each cell.

use std::fmt::Display;
use std::io::{self, BufWriter, Write};

use gpu_core::{GridSpec, Shortest};

use crate::output::{Output, write_atomic, write_file};
use crate::points::ending;
use crate::{Error, Result, RowMajor};

/// Writes the centre and the value of cells as a table, row by row from the north-west.
///
/// The table has a line for each cell with a value, commas between the numbers, and a first line with the names x, y
/// and z. An output that ends in `.xyz` has spaces and no names. Since GDAL's XYZ driver reads it as a raster, it has a
/// line for every cell, and `nodata` for a missing value. NaN is not a value. The path `-` stands for standard output.
///
/// ```
/// use geo_io::write_table;
/// use gpu_core::GridSpec;
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("cells.csv");
/// let grid = GridSpec::new(100.0, 20.0, 10.0, 2, 1)?;
/// write_table(&path, &grid, &[5.5, f32::NAN], -9999.0)?;
/// assert_eq!(std::fs::read_to_string(&path)?, "x,y,z\n105,15,5.5\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - [`Error::Shape`]: there is not one value for each cell.
/// - The errors of writing.
pub fn write_table<'a>(
    output: impl Into<Output<'a>>,
    grid: &GridSpec,
    values: &(impl RowMajor<f32> + ?Sized),
    nodata: f32,
) -> Result<()> {
    let output = output.into();
    let values = values.row_major((grid.width as usize, grid.height as usize))?;
    let xyz = (ending(output.path) == "xyz").then_some(nodata);
    let failed = |e: io::Error| Error::write(output.path, e);
    if output.path.as_os_str() == "-" {
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        return match write_lines(&mut out, grid, values, xyz).and_then(|()| out.flush()) {
            // Who reads may have had enough.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result.map_err(failed),
        };
    }
    write_atomic(output, |file| write_lines(file, grid, values, xyz).map_err(failed))
}

/// Writes a table of a program's own: a line of names, and a line for each row.
///
/// ```
/// use geo_io::write_rows;
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("powers.csv");
/// write_rows(&path, "power,rmse", ["1,2.5", "2,1.5"])?;
/// assert_eq!(std::fs::read_to_string(&path)?, "power,rmse\n1,2.5\n2,1.5\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of writing.
pub fn write_rows<'a>(
    output: impl Into<Output<'a>>,
    names: &str,
    rows: impl IntoIterator<Item = impl Display>,
) -> Result<()> {
    write_file(output, |file| {
        writeln!(file, "{names}")?;
        rows.into_iter().try_for_each(|row| writeln!(file, "{row}"))
    })
}

/// Writes the lines of a table; of one without names if it is told what stands for no value.
fn write_lines(
    out: &mut impl Write,
    grid: &GridSpec,
    values: &[f32],
    xyz: Option<f32>,
) -> io::Result<()> {
    if xyz.is_none() {
        writeln!(out, "x,y,z")?;
    }
    let between = if xyz.is_some() { ' ' } else { ',' };
    for (row, line) in (0..grid.height).zip(values.chunks(grid.width.max(1) as usize)) {
        for (column, &value) in (0..grid.width).zip(line) {
            let Some(value) = Some(value).filter(|value| !value.is_nan()).or(xyz) else { continue };
            let (x, y) = grid.cell_centre(column, row);
            let (x, y, value) = (Shortest(x), Shortest(y), Shortest(value));
            writeln!(out, "{x}{between}{y}{between}{value}")?;
        }
    }
    Ok(())
}
