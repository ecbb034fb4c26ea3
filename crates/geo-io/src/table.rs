//! Rasters as tables: a line a cell that has a value.

use std::fmt::Display;
use std::io::{self, BufWriter, Write};

use gpu_core::GridSpec;

use crate::output::{Output, write_atomic, write_file};
use crate::points::ending;
use crate::{Error, Result};

/// Writes the centre and the value of each cell that has one, row by row from the north-west: with the names
/// x, y and z and commas between, or with spaces and without names where the output ends in `.xyz`. The
/// path `-` stands for standard output. NaN is no value.
///
/// # Errors
/// [`Error::Shape`] unless there is a value for each cell, and those of writing.
pub fn write_table<'a>(
    output: impl Into<Output<'a>>,
    grid: &GridSpec,
    values: &[f32],
) -> Result<()> {
    let output = output.into();
    let (found, expected) = (values.len() as u64, grid.cells());
    if found != expected {
        return Err(Error::Shape { what: "raster", expected, found });
    }
    let xyz = ending(output.path) == "xyz";
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
/// # Errors
/// Those of writing.
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

fn write_lines(out: &mut impl Write, grid: &GridSpec, values: &[f32], xyz: bool) -> io::Result<()> {
    if !xyz {
        writeln!(out, "x,y,z")?;
    }
    let between = if xyz { ' ' } else { ',' };
    for (row, line) in (0..grid.height).zip(values.chunks(grid.width.max(1) as usize)) {
        for (column, value) in (0..grid.width).zip(line).filter(|(_, value)| !value.is_nan()) {
            let (x, y) = grid.cell_centre(column, row);
            writeln!(out, "{x}{between}{y}{between}{value}")?;
        }
    }
    Ok(())
}
