//! The surface's cells: over `--bounds`, or over the points; on the sphere, up to the poles.

use anyhow::{Result, ensure};
use gpu_core::{Bounds, GridSpec, Shortest};
use programs::args::{Extent, Size};
use programs::edges::in_cells;
use programs::units::round;

use crate::surface::SurfaceArgs;

/// About how many cells the longer side has if the user gives no size.
const DEFAULT_SIDE: f64 = 512.0;

/// The latitude of the poles, and half the way around.
const POLE: f64 = 90.0;
const HALF_TURN: f64 = 180.0;

/// Returns the surface's cells over `--bounds`, or else over the bounds of the points.
pub fn grid(args: &SurfaceArgs, given: Option<Extent>, points: Bounds) -> Result<GridSpec> {
    match (args.size, given) {
        (Some(size), Some(Extent(bounds))) => exact(bounds, size),
        (Some(size), None) => around(points, size, args.geographic),
        (None, given) => covering(args, given.map_or(points, |extent| extent.0)),
    }
}

/// Returns a note if a surface of the globe does not cover all of the ground that the user gave.
pub fn note_on_uncovered(
    args: &SurfaceArgs,
    grid: &GridSpec,
    given: Option<Extent>,
    points: Bounds,
) -> Option<String> {
    let wanted = given.map_or(points, |extent| extent.0);
    let (b, cell) = (grid.bounds(), grid.cell_size);
    let slack = 1e-6 * cell;
    let is_covered = b.min_x <= wanted.min_x + slack
        && b.min_y <= wanted.min_y + slack
        && b.max_x >= wanted.max_x - slack
        && b.max_y >= wanted.max_y - slack;
    (args.geographic && !is_covered).then(|| {
        let [west, south, east, north] = [b.min_x, b.min_y, b.max_x, b.max_y].map(Shortest);
        format!(
            "the surface ends at {west},{south},{east},{north}: no more cells of {cell} degrees fit before the poles or \
             180 degrees; a --resolution that divides 90 reaches them"
        )
    })
}

/// Returns a grid of this size that fills the bounds. Its cells must be square.
fn exact(b: Bounds, size: Size) -> Result<GridSpec> {
    // Rounding decimals to f64 moves each bound by up to half of its last digit, which small cells far from the origin show.
    let moved = |a: f64, b: f64, cells: u32| f64::EPSILON * a.abs().max(b.abs()) / f64::from(cells);
    let is_square = |size: Size| {
        let (wide, tall) = size.cell(&b);
        let of_columns = moved(b.min_x, b.max_x, size.width);
        let of_rows = moved(b.min_y, b.max_y, size.height);
        (wide - tall).abs() <= 1e-9 * tall + 2.0 * (of_columns + of_rows)
    };
    let (wide, tall) = size.cell(&b);
    ensure!(
        is_square(size),
        "--size {size} over --bounds makes cells of {} x {}, but cells must be square: {}",
        Shortest(wide),
        Shortest(tall),
        size.advice(&b, is_square)
    );
    Ok(GridSpec::new(b.min_x, b.max_y, wide, size.width, size.height)?)
}

/// Returns a grid of this size around the middle of the points. On the sphere it is moved to lie between the poles.
fn around(b: Bounds, size: Size, is_sphere: bool) -> Result<GridSpec> {
    let (width, height) = (b.max_x - b.min_x, b.max_y - b.min_y);
    let (columns, rows) = (f64::from(size.width), f64::from(size.height));
    let cell = cell_around(&b, size);
    let mut west = b.min_x + width / 2.0 - cell * columns / 2.0;
    let mut north = b.min_y + height / 2.0 + cell * rows / 2.0;
    if is_sphere {
        ensure!(
            is_on_sphere(&b, size),
            "--size {size}: cells of {cell} degrees reach beyond a pole, or more than once around \
             the globe; {}",
            advice_on_sphere(&b, size)
        );
        north = north.max(cell * rows - POLE).min(POLE);
        if b.min_x >= -HALF_TURN && b.max_x <= HALF_TURN {
            west = west.min(HALF_TURN - cell * columns).max(-HALF_TURN);
        }
    }
    Ok(GridSpec::new(west, north, cell, size.width, size.height)?)
}

/// The side of the smallest cells of which this many cover the bounds.
fn cell_around(b: &Bounds, size: Size) -> f64 {
    let (wide, tall) = size.cell(b);
    let cell = wide.max(tall);
    if cell > 0.0 { cell } else { 1.0 }
}

/// Whether a grid of this size around the bounds reaches at most from pole to pole and once around.
fn is_on_sphere(b: &Bounds, size: Size) -> bool {
    let cell = cell_around(b, size);
    // Rounding may make it a little more than from pole to pole.
    let most = 1.0 + 1e-12;
    cell * f64::from(size.width) <= 2.0 * HALF_TURN * most
        && cell * f64::from(size.height) <= 2.0 * POLE * most
}

/// Names a size that fits the sphere: fewer columns or rows, or else twice as many columns as rows.
fn advice_on_sphere(b: &Bounds, size: Size) -> String {
    let (columns, rows) = (f64::from(size.width), f64::from(size.height));
    let (wide, tall) = (b.max_x - b.min_x, b.max_y - b.min_y);
    let fewer = |most: f64, cells: u32| cells.min((most * (1.0 + 1e-12)).floor().max(1.0) as u32);
    let height = size.height.min(size.width / 2).max(1);
    let sizes = [
        Size { width: fewer(2.0 * HALF_TURN * rows / tall, size.width), ..size },
        Size { height: fewer(2.0 * POLE * columns / wide, size.height), ..size },
        Size { width: height.saturating_mul(2), height },
    ];
    match sizes.into_iter().find(|size| is_on_sphere(b, *size)) {
        Some(size) => format!("--size {size} fits"),
        None => "no size fits: the points span more than the globe".to_owned(),
    }
}

/// Returns cells that cover the bounds. Their edges are multiples of the cell size.
fn covering(args: &SurfaceArgs, b: Bounds) -> Result<GridSpec> {
    let longest = (b.max_x - b.min_x).max(b.max_y - b.min_y);
    let cell = match args.resolution {
        Some(cell) => cell,
        None if longest > 0.0 => round(longest / DEFAULT_SIDE),
        None => 1.0,
    };
    ensure!(
        !args.geographic || cell <= 2.0 * POLE,
        "--resolution {}: with --geographic this is in degrees, at most 180",
        Shortest(cell)
    );
    let snapped = |low: f64, high: f64| {
        let first = in_cells(low, cell).floor();
        (first, (in_cells(high, cell).ceil() - first).max(1.0))
    };
    let (west, columns) = snapped(b.min_x, b.max_x);
    let (south, rows) = snapped(b.min_y, b.max_y);
    let side = f64::from(u32::MAX);
    ensure!(
        columns <= side && rows <= side,
        args.cells_by(cell).too_many(format_args!("{columns:e} x {rows:e} cells are too many"))
    );
    let (mut west, mut columns) = (west * cell, columns);
    let (mut south, mut rows) = (south * cell, rows);
    if args.geographic {
        (south, rows) = clipped(south, rows, cell, POLE);
        let is_world = b.min_x >= -HALF_TURN && b.max_x <= HALF_TURN;
        if is_world {
            (west, columns) = clipped(west, columns, cell, HALF_TURN);
        }
    }
    Ok(GridSpec::new(west, south + rows * cell, cell, columns as u32, rows as u32)?)
}

/// Takes a row of cells from `low` on, and drops those that pass `limit` on either side. If none is left, returns one
/// that ends at the limit.
fn clipped(low: f64, count: f64, cell: f64, limit: f64) -> (f64, f64) {
    // Rounding may make it a billionth of a cell more.
    let slack = 1e-9 * cell;
    let before = ((-limit - low - slack) / cell).ceil().max(0.0);
    let behind = ((low + count * cell - limit - slack) / cell).ceil().max(0.0);
    match count - before - behind {
        left if left >= 1.0 => (low + before * cell, left),
        _ if before > 0.0 => (-limit, 1.0),
        _ => (limit - cell, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::CommandLine;

    const WORLD: Bounds = Bounds { min_x: -179.876, min_y: -90.0, max_x: 179.981, max_y: 82.75 };

    fn of(words: &[&str], bounds: Bounds) -> Result<GridSpec> {
        let args = CommandLine::parse_from([&["idw_surface"], words].concat()).surface;
        grid(&args.surface, args.points.bounds, bounds)
    }

    #[test]
    fn a_size_is_met_and_covers_the_bounds() {
        let bounds = Bounds { min_x: 0.0, min_y: 10.0, max_x: 100.0, max_y: 20.0 };
        let grid = of(&["--size", "40x30"], bounds).unwrap();
        assert_eq!((grid.width, grid.height, grid.cell_size), (40, 30, 2.5));
        let b = grid.bounds();
        assert!(b.min_x <= 0.0 && b.max_x >= 100.0 && b.min_y <= 10.0 && b.max_y >= 20.0);
    }

    #[test]
    fn edges_are_multiples_of_the_resolution() {
        let bounds = Bounds { min_x: 0.3, min_y: -9.1, max_x: 99.7, max_y: 20.0 };
        let grid = of(&["--resolution", "0.5"], bounds).unwrap();
        let b = grid.bounds();
        assert_eq!((b.min_x, b.min_y, b.max_x, b.max_y), (0.0, -9.5, 100.0, 20.0));
        assert_eq!(of(&[], bounds).unwrap().cell_size, 0.2);
        // 0.3 / 0.1 is a little less than 3, 0.7 / 0.1 a little less than 7 and 2.3 / 0.1 than 23.
        let bounds = ["--bounds", "0.3,0.7,1.1,2.3", "--resolution", "0.1"];
        let grid = of(&bounds, WORLD).unwrap();
        assert_eq!((grid.width, grid.height), (8, 16));
    }

    #[test]
    fn decimal_bounds_of_square_cells_are_taken_wherever_they_lie() {
        for (bounds, size) in [
            ("500000.1,5000000.2,500000.17,5000000.25", "7x5"),
            ("10000000.0,10000000.0,10000000.7,10000000.5", "7x5"),
            ("-179.3,0.1,-179.1,0.2", "20x10"),
        ] {
            let grid = of(&[&format!("--bounds={bounds}"), "--size", size], WORLD).unwrap();
            assert_eq!(size, format!("{}x{}", grid.width, grid.height), "{bounds}");
        }
        // A hundredth of a cell in a thousand is no rounding.
        for bounds in ["0,0,1000.01,1000", "5000000,5000000,5001000.01,5001000"] {
            assert!(of(&["--bounds", bounds, "--size", "1000x1000"], WORLD).is_err(), "{bounds}");
        }
    }

    #[test]
    fn the_world_ends_at_the_poles() {
        for words in [
            &["--geographic"][..],
            &["--geographic", "--resolution", "0.7"],
            &["--geographic", "--resolution", "7"],
            &["--geographic", "--size", "360x180"],
            &["--geographic", "--size", "416x200"],
        ] {
            let grid = of(words, WORLD).unwrap();
            let b = grid.bounds();
            let (_, north) = grid.cell_centre(0, 0);
            let (_, south) = grid.cell_centre(0, grid.height - 1);
            assert!(north <= 90.0 && south >= -90.0, "{words:?}: {b:?}");
            assert!(b.min_x >= -180.5 && b.max_x <= 180.5, "{words:?}: {b:?}");
            assert!(north > 80.0 && south < -80.0, "{words:?}: {b:?}");
        }
        let grid = of(&["--geographic"], WORLD).unwrap();
        assert_eq!((grid.bounds().min_x, grid.bounds().min_y), (-180.0, -90.0));
        let error = of(&["--geographic", "--size", "100x100"], WORLD).unwrap_err().to_string();
        assert!(error.contains("100x50"), "{error}");
        let error = of(&["--geographic", "--size", "500x200"], WORLD).unwrap_err().to_string();
        assert!(error.contains("416x200"), "{error}");
    }

    #[test]
    fn a_surface_that_stops_short_of_a_pole_says_so() {
        let note = |resolution: &str, bounds: &str| {
            let words = ["idw_surface", "--geographic", "--resolution", resolution, bounds];
            let args = CommandLine::parse_from(words).surface;
            let (surface, given) = (&args.surface, args.points.bounds);
            note_on_uncovered(surface, &grid(surface, given, WORLD).unwrap(), given, WORLD)
        };
        let world = "--bounds=-180,-90,180,90";
        let text = note("7", world).unwrap();
        assert!(text.contains("-175,-84,175,84") && text.contains("divides 90"), "{text}");
        assert!(note("12", world).unwrap().contains("-180,-84,180,84"));
        for (resolution, bounds) in [
            ("5", world),
            ("0.1", world),
            ("7", "--bounds=0,0,20,20"),
            ("0.7", "--bounds=-170,-80,170,80"),
            ("0.3", "--bounds=-200,-10,-160.05,10"),
        ] {
            assert_eq!(note(resolution, bounds), None, "{resolution} {bounds}");
        }
    }

    #[test]
    fn no_cell_reaches_beyond_a_pole_however_large() {
        let at =
            |latitude: f64| Bounds { min_x: 2.0, min_y: latitude, max_x: 3.0, max_y: latitude };
        for resolution in ["0.7", "7", "60", "91", "100", "180"] {
            for latitude in [-90.0, -89.9, -60.0, 0.1, 50.0, 89.9, 90.0] {
                let words = ["--geographic", "--resolution", resolution];
                let b = of(&words, at(latitude)).unwrap().bounds();
                let is_within = b.min_y >= -90.0 - 1e-9 && b.max_y <= 90.0 + 1e-9;
                assert!(is_within, "{resolution} at {latitude}: {b:?}");
            }
        }
        for resolution in ["181", "200", "1000"] {
            let words = ["--geographic", "--resolution", resolution];
            let error = of(&words, at(50.0)).unwrap_err().to_string();
            assert!(error.contains("--resolution") && error.contains("degrees"), "{error}");
        }
    }

    #[test]
    fn bounds_with_a_size_are_met_exactly_or_refused() {
        let of = |bounds: &str, size: &str| of(&[bounds, "--size", size], WORLD);
        let grid = of("--bounds=0,0,100,50", "10x5").unwrap();
        let b = grid.bounds();
        assert_eq!((b.min_x, b.min_y, b.max_x, b.max_y), (0.0, 0.0, 100.0, 50.0));
        assert!(of("--bounds=0.1,0.2,0.7,0.5", "6x3").is_ok());
        let error = of("--bounds=0,0,100,100", "10x20").unwrap_err().to_string();
        assert!(error.contains("10 x 5") && error.contains("10x10 or 20x20"), "{error}");
        let error = of("--bounds=0,0,100,33", "512x512").unwrap_err().to_string();
        assert!(error.contains("--resolution") && !error.contains("makes them"), "{error}");
    }

    #[test]
    fn sizes_that_an_error_suggests_are_taken_over_bounds_of_every_shape() {
        let sizes =
            ["1x1", "1x7", "200x80", "100x100", "512x512", "500x101", "1000000x3", "1x4294967295"];
        let mut suggested = 0;
        let mut taken = |words: &[&str], bounds: Bounds| {
            for size in sizes {
                let with = |size: &str| of(&[words, &["--size", size]].concat(), bounds);
                let Err(error) = with(size) else { continue };
                let error = error.to_string();
                let (_, advice) = error.split_once([';', ':']).unwrap();
                for word in advice.split([' ', ',']).filter(|word| word.parse::<Size>().is_ok()) {
                    assert!(with(word).is_ok(), "{words:?} {bounds:?}: {error}");
                    suggested += 1;
                }
            }
        };
        for width in ["1e-300", "1e-9", "0.3", "1", "7", "100", "1234.5", "1e12", "1e300"] {
            for height in ["1e-300", "0.001", "0.3", "3", "33", "100", "1e6", "1e300"] {
                taken(&[&format!("--bounds=0,0,{width},{height}")], WORLD);
            }
        }
        for width in [0.0, 1e-9, 0.7, 90.0, 181.0, 359.9, 360.0] {
            for height in [0.0, 1e-9, 0.3, 33.0, 89.0, 179.9, 180.0] {
                let bounds = Bounds {
                    min_x: -180.0,
                    min_y: -90.0,
                    max_x: width - 180.0,
                    max_y: height - 90.0,
                };
                taken(&["--geographic"], bounds);
            }
        }
        assert!(suggested > 100, "{suggested}");
    }
}
