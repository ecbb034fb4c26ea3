//! The cells that `--size` defines.

use anyhow::{Result, ensure};
use gpu_core::{Bounds, Shortest};
use programs::args::Size;

/// The side of cells if this many columns and rows divide the bounds.
///
/// # Errors
/// The cells are not square, or differ from the resolution.
pub fn cell_of(size: Size, b: &Bounds, resolution: Option<f64>) -> Result<f64> {
    let (across, down) = size.cell(b);
    let sides = [across, down].map(Shortest);
    let with = format!("--size {size} with --bounds");
    ensure!(
        is_square(size, b),
        "{with} makes cells of {} x {}, which are not square: {}",
        sides[0],
        sides[1],
        size.advice(b, |size| is_square(size, b))
    );
    if let Some(resolution) = resolution {
        ensure!(
            is_same(resolution, across, size.width.max(size.height)),
            "{with} makes cells of {}, not of --resolution {}: give one of the two",
            sides[0],
            Shortest(resolution)
        );
    }
    Ok(across)
}

fn is_square(size: Size, b: &Bounds) -> bool {
    let (across, down) = size.cell(b);
    is_same(down, across, size.height)
}

/// Whether rows of cells of two sides end at the same place, up to a thousandth of a cell.
fn is_same(side: f64, other: f64, cells: u32) -> bool {
    (side - other).abs() * f64::from(cells) <= 1e-3 * other
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
        let error = of("200,200", None).unwrap_err().to_string();
        assert!(error.contains("use --size 200x100 or 400x200, or give --resolution"), "{error}");
        let error = of("200,100", Some(1.0)).unwrap_err().to_string();
        assert!(error.contains("--resolution 1"), "{error}");
    }

    #[test]
    fn sizes_that_an_error_suggests_are_taken_over_bounds_of_every_shape() {
        let sides = [1e-300, 1e-9, 0.001, 0.3, 1.0, 7.0, 33.0, 100.0, 1234.5, 1e6, 1e12, 1e300];
        let sizes =
            [[1, 1], [1, 7], [200, 80], [512, 512], [33, 100], [1_000_000, 3], [1, u32::MAX]];
        let mut suggested = 0;
        for (width, height) in sides.into_iter().flat_map(|w| sides.map(|h| (w, h))) {
            let bounds = Bounds { min_x: 0.0, min_y: 0.0, max_x: width, max_y: height };
            for [width, height] in sizes {
                let Err(error) = cell_of(Size { width, height }, &bounds, None) else { continue };
                let error = error.to_string();
                assert!(error.contains("give --resolution in place"), "{error}");
                for word in error.split("not square:").nth(1).unwrap().split([' ', ',']) {
                    let Ok(size) = word.parse::<Size>() else { continue };
                    assert!(cell_of(size, &bounds, None).is_ok(), "{bounds:?}: {error}");
                    suggested += 1;
                }
            }
        }
        assert!(suggested > 100, "{suggested}");
    }
}
