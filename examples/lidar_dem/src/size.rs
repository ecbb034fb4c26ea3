//! The cells that `--size` defines.

use anyhow::{Result, ensure};
use gpu_core::Bounds;
use programs::args::Size;

/// The side of cells if this many columns and rows divide the bounds.
///
/// # Errors
/// The cells are not square, or differ from the resolution.
pub fn cell_of(size: Size, b: &Bounds, resolution: Option<f64>) -> Result<f64> {
    let Size { width: columns, height: rows } = size;
    let (width, height) = (b.max_x - b.min_x, b.max_y - b.min_y);
    let (across, down) = (width / f64::from(columns), height / f64::from(rows));
    let size = format!("--size {size} with --bounds");
    // A thousandth of a cell over the whole side.
    let is_same = |side: f64, cells: u32| (side - across).abs() * f64::from(cells) <= 1e-3 * across;
    ensure!(
        is_same(down, rows),
        "{size} makes cells of {across} x {down}, which are not square: use --size {columns}x{}",
        (height / across).round().max(1.0)
    );
    if let Some(resolution) = resolution {
        ensure!(
            is_same(resolution, columns.max(rows)),
            "{size} makes cells of {across}, not of --resolution {resolution}: give one of the two"
        );
    }
    Ok(across)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_make_square_cells_or_are_refused() {
        let bounds = Bounds { min_x: 10.3, min_y: 0.0, max_x: 110.3, max_y: 50.0 };
        let of = |size: &str, resolution| cell_of(size.parse().unwrap(), &bounds, resolution);
        assert!((of("200, 100", None).unwrap() - 0.5).abs() < 1e-12);
        assert!(of("200,100", Some(0.5)).is_ok());
        let error = of("200,80", None).unwrap_err().to_string();
        assert!(error.contains("not square: use --size 200x100"), "{error}");
        let error = of("200,100", Some(1.0)).unwrap_err().to_string();
        assert!(error.contains("--resolution 1"), "{error}");
    }
}
