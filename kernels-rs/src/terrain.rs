//! Terrain products from a DEM: crate `terrain`.
//!
//! - [`slope`] and [`hillshade`], a thread a cell, from the gradient over its 3 x 3 neighbourhood
//!   (Horn 1981).
//! - [`count_segments`] and [`write_segments`], a thread a square between four cell centres: the
//!   pieces of contour lines, by marching squares. Between the two the counts are scanned, by
//!   gpu-scan, to places.
//!
//! The functions of a cell and of a square are the host's too. They are single f64 operations in a
//! stated order, so host and device give the same bits.

use device_std::{kernel, math, thread};

/// What a cell's products take from a raster: row-major, NaN where there is no value.
#[derive(Clone, Copy)]
pub struct Gradient {
    /// Rise to the east, per unit of ground.
    pub east: f64,
    /// Rise to the south, likewise.
    pub south: f64,
}

impl Gradient {
    /// Horn's: weighted differences over the neighbourhood, row-major from the north-west. `factor` is
    /// the ratio of a unit of height to a unit of ground over 8 times the cell size. `None` where
    /// the cell is NaN and, unless `is_level_beyond`, where a neighbour is; else such a neighbour is as
    /// high as the cell.
    #[inline(always)]
    pub fn of(mut n: [f32; 9], factor: f64, is_level_beyond: bool) -> Option<Self> {
        let mut missing = false;
        let centre = n[4];
        let mut i = 0;
        while i < 9 {
            if n[i].is_nan() {
                missing = true;
                n[i] = centre;
            }
            i += 1;
        }
        if centre.is_nan() || (missing && !is_level_beyond) {
            return None;
        }
        let sum = |a: f32, b: f32, c: f32| a as f64 + 2.0 * b as f64 + c as f64;
        Some(Self {
            east: (sum(n[2], n[5], n[8]) - sum(n[0], n[3], n[6])) * factor,
            south: (sum(n[6], n[7], n[8]) - sum(n[0], n[1], n[2])) * factor,
        })
    }

    /// The tangent of the slope.
    #[inline(always)]
    pub fn tangent(self) -> f64 {
        math::sqrt(self.east * self.east + self.south * self.south)
    }

    /// Lambert's cosine for a light in the direction (east, south, up), of length 1; not below 0.
    #[inline(always)]
    pub fn shade(self, light: [f64; 3]) -> f64 {
        let towards = light[2] - self.east * light[0] - self.south * light[1];
        let length = math::sqrt(1.0 + (self.east * self.east + self.south * self.south));
        f64::max(0.0, towards / length)
    }
}

/// The angle with this tangent, which is not negative, in degrees; within 1e-9.
#[inline(always)]
pub fn degrees_of(tangent: f64) -> f64 {
    // To the range in which the series converges fast: the tangents of 22.5 and 67.5 degrees.
    const LOW: f64 = 0.414_213_562_373_095_05;
    const HIGH: f64 = 2.414_213_562_373_095;
    let (start, t) = if tangent > HIGH {
        (core::f64::consts::FRAC_PI_2, -1.0 / tangent)
    } else if tangent > LOW {
        (core::f64::consts::FRAC_PI_4, (tangent - 1.0) / (tangent + 1.0))
    } else {
        (0.0, tangent)
    };
    // Gregory's series, to a remainder of LOW^25 / 25.
    let square = t * t;
    let mut sum = 0.0;
    let mut k = 11;
    while k >= 0 {
        sum = 1.0 / (2 * k + 1) as f64 - square * sum;
        k -= 1;
    }
    (start + t * sum) * (180.0 / core::f64::consts::PI)
}

/// The neighbourhood of a cell, row-major from the north-west; NaN beyond the raster.
///
/// # Safety
/// `dem` has `width * height` elements, and the cell is one of them.
#[inline(always)]
unsafe fn neighbourhood(
    dem: *const f32,
    width: u32,
    height: u32,
    column: u32,
    row: u32,
) -> [f32; 9] {
    let mut n = [f32::NAN; 9];
    let mut i = 0;
    while i < 9 {
        // The cell itself in place of one beyond the raster: no branch between the loads.
        let x = (column + i % 3).wrapping_sub(1);
        let y = (row + i / 3).wrapping_sub(1);
        let inside = x < width && y < height;
        let (x, y) = if inside { (x, y) } else { (column, row) };
        // SAFETY: the cell is in the raster.
        let value = unsafe { *dem.add(y as usize * width as usize + x as usize) };
        n[i as usize] = if inside { value } else { f32::NAN };
        i += 1;
    }
    n
}

/// The cell (column, row) of this thread, if it has one.
#[inline(always)]
fn own_cell(width: u32, height: u32) -> Option<[u32; 2]> {
    let cell = thread::index_1d();
    if cell >= width as u64 * height as u64 {
        return None;
    }
    let row = (cell as u32).checked_div(width).unwrap_or(0);
    Some([cell as u32 - row * width, row])
}

/// [`slope`] gives degrees.
pub const DEGREES: u32 = 0;
/// [`slope`] gives percent.
pub const PERCENT: u32 = 1;

/// The slope of every cell, in `unit`; NaN where it has none. See [`Gradient::of`].
///
/// Grid: one thread a cell.
///
/// # Safety
/// `dem` and `out` have `width * height` elements, less than 2^32.
#[kernel(block = 256)]
pub unsafe fn slope(
    dem: *const f32,
    width: u32,
    height: u32,
    factor: f64,
    is_level_beyond: u32,
    unit: u32,
    out: *mut f32,
) {
    let Some([column, row]) = own_cell(width, height) else { return };
    // SAFETY: the cell is in the raster.
    unsafe {
        let n = neighbourhood(dem, width, height, column, row);
        *out.add(row as usize * width as usize + column as usize) =
            slope_of(n, factor, is_level_beyond != 0, unit);
    }
}

/// The slope of a cell.
#[inline(always)]
pub fn slope_of(n: [f32; 9], factor: f64, is_level_beyond: bool, unit: u32) -> f32 {
    match Gradient::of(n, factor, is_level_beyond) {
        None => f32::NAN,
        Some(gradient) if unit == PERCENT => (100.0 * gradient.tangent()) as f32,
        Some(gradient) => degrees_of(gradient.tangent()) as f32,
    }
}

/// The brightness of every cell, from 0 to 1, in light from the direction (`east`, `south`, `up`);
/// NaN where it has none. See [`Gradient::of`].
///
/// Grid: one thread a cell.
///
/// # Safety
/// As [`slope`].
#[kernel(block = 256)]
pub unsafe fn hillshade(
    dem: *const f32,
    width: u32,
    height: u32,
    factor: f64,
    is_level_beyond: u32,
    east: f64,
    south: f64,
    up: f64,
    out: *mut f32,
) {
    let Some([column, row]) = own_cell(width, height) else { return };
    // SAFETY: the cell is in the raster.
    unsafe {
        let n = neighbourhood(dem, width, height, column, row);
        *out.add(row as usize * width as usize + column as usize) =
            shade_of(n, factor, is_level_beyond != 0, [east, south, up]);
    }
}

/// The brightness of a cell.
#[inline(always)]
pub fn shade_of(n: [f32; 9], factor: f64, is_level_beyond: bool, light: [f64; 3]) -> f32 {
    match Gradient::of(n, factor, is_level_beyond) {
        None => f32::NAN,
        Some(gradient) => gradient.shade(light) as f32,
    }
}

/// The side of a square that a contour line crosses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Between the upper two corners.
    North,
    /// Between the right two.
    East,
    /// Between the lower two.
    South,
    /// Between the left two.
    West,
}

/// Calls `piece(from, to)` for each piece of the contour line of a level in a square with these
/// corners: north-west, north-east, south-east, south-west.
///
/// A corner is high where its value is not below the level. A piece goes with the high ground on its
/// right. Where two high corners face each other (a saddle) the two are joined if the mean of the
/// four corners is high, else they are apart. A square with a NaN has no piece.
#[inline(always)]
pub fn pieces(corners: [f32; 4], level: f64, mut piece: impl FnMut(Side, Side)) {
    use Side::{East, North, South, West};
    let [nw, ne, se, sw] = corners.map(f64::from);
    if (nw + ne + se + sw).is_nan() {
        return;
    }
    let high = |value: f64| (value >= level) as u32;
    let joined = nw + ne + se + sw >= 4.0 * level;
    match high(nw) | high(ne) << 1 | high(se) << 2 | high(sw) << 3 {
        0b0001 => piece(North, West),
        0b0010 => piece(East, North),
        0b0011 => piece(East, West),
        0b0100 => piece(South, East),
        0b0110 => piece(South, North),
        0b0111 => piece(South, West),
        0b1000 => piece(West, South),
        0b1001 => piece(North, South),
        0b1011 => piece(East, South),
        0b1100 => piece(West, East),
        0b1101 => piece(North, East),
        0b1110 => piece(West, North),
        0b0101 if joined => {
            piece(North, East);
            piece(South, West);
        }
        0b0101 => {
            piece(North, West);
            piece(South, East);
        }
        0b1010 if joined => {
            piece(West, North);
            piece(East, South);
        }
        0b1010 => {
            piece(East, North);
            piece(West, South);
        }
        _ => {}
    }
}

/// The number of a square's side: twice the cell at its north or west end, and 1 if it goes south.
#[inline(always)]
pub fn side_number(side: Side, column: u32, row: u32, width: u32) -> u64 {
    let cell = |column: u32, row: u32| row as u64 * width as u64 + column as u64;
    match side {
        Side::North => 2 * cell(column, row),
        Side::South => 2 * cell(column, row + 1),
        Side::West => 2 * cell(column, row) + 1,
        Side::East => 2 * cell(column + 1, row) + 1,
    }
}

/// Calls `visit(index, level)` for the levels, which rise, above the lowest corner and not above the
/// highest.
#[inline(always)]
pub fn levels_of(
    corners: [f32; 4],
    count: u32,
    level: impl Fn(u32) -> f64,
    mut visit: impl FnMut(u32, f64),
) {
    let mut low = f64::INFINITY;
    let mut high = f64::NEG_INFINITY;
    let mut i = 0;
    while i < 4 {
        low = f64::min(low, corners[i] as f64);
        high = f64::max(high, corners[i] as f64);
        i += 1;
    }
    // The first level above the lowest corner.
    let (mut first, mut end) = (0, count);
    while first < end {
        let middle = first + (end - first) / 2;
        if level(middle) > low {
            end = middle;
        } else {
            first = middle + 1;
        }
    }
    while first < count && level(first) <= high {
        visit(first, level(first));
        first += 1;
    }
}

/// The corners of a square.
///
/// # Safety
/// `dem` has `width` columns and the square's cells.
#[inline(always)]
unsafe fn corners(dem: *const f32, width: u32, column: u32, row: u32) -> [f32; 4] {
    // SAFETY: passed on to the caller.
    unsafe {
        let north = dem.add(row as usize * width as usize + column as usize);
        let south = north.add(width as usize);
        [*north, *north.add(1), *south.add(1), *south]
    }
}

/// Counts the pieces of contour lines in every square. `levels` rise.
///
/// Grid: one thread a square.
///
/// # Safety
/// `dem` has `width * height` elements, `levels` has `level_count`, `counts` one for each square, of
/// which there is one less than cells in each direction.
#[kernel(block = 256)]
pub unsafe fn count_segments(
    dem: *const f32,
    width: u32,
    height: u32,
    levels: *const f64,
    level_count: u32,
    counts: *mut u64,
) {
    let Some([column, row]) = own_cell(width - 1, height - 1) else { return };
    // SAFETY: the square is in the raster.
    unsafe {
        let corners = corners(dem, width, column, row);
        let mut count = 0;
        levels_of(
            corners,
            level_count,
            |i| *levels.add(i as usize),
            |_, level| pieces(corners, level, |_, _| count += 1),
        );
        *counts.add(row as usize * (width - 1) as usize + column as usize) = count;
    }
}

/// Writes the pieces of contour lines, those of a square from `places` of it on: the level's index and
/// the numbers of the sides at which it enters and leaves.
///
/// Grid: one thread a square.
///
/// # Safety
/// As for [`count_segments`]; `places` has the sum of the counts before each square, `level_of`, `from`
/// and `to` an element for each piece.
#[kernel(block = 256)]
pub unsafe fn write_segments(
    dem: *const f32,
    width: u32,
    height: u32,
    levels: *const f64,
    level_count: u32,
    places: *const u64,
    level_of: *mut u32,
    from: *mut u64,
    to: *mut u64,
) {
    let Some([column, row]) = own_cell(width - 1, height - 1) else { return };
    // SAFETY: the square is in the raster, and there is room for its pieces.
    unsafe {
        let corners = corners(dem, width, column, row);
        let mut place = *places.add(row as usize * (width - 1) as usize + column as usize) as usize;
        levels_of(
            corners,
            level_count,
            |i| *levels.add(i as usize),
            |i, level| {
                pieces(corners, level, |start, end| {
                    *level_of.add(place) = i;
                    *from.add(place) = side_number(start, column, row, width);
                    *to.add(place) = side_number(end, column, row, width);
                    place += 1;
                })
            },
        );
    }
}

device_std::ptx_module! {
    "terrain": slope, hillshade, count_segments, write_segments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_are_those_of_the_arc_tangent() {
        for i in 0..200_000 {
            let tangent = (f64::from(i) * 1e-4).powi(3);
            let expected = tangent.atan().to_degrees();
            assert!((degrees_of(tangent) - expected).abs() <= 1e-9, "{tangent}");
        }
        assert_eq!(degrees_of(0.0), 0.0);
        assert!((degrees_of(f64::INFINITY) - 90.0).abs() < 1e-12);
    }
}
