//! Marching squares: the pieces of contour lines in the squares between four cell centres.

use device_std::{In, Out, arguments, kernel, thread};

use super::BLOCK;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;

/// The side of a square that a contour line crosses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Between the upper two corners.
    North = 0,
    /// Between the right two.
    East = 1,
    /// Between the lower two.
    South = 2,
    /// Between the left two.
    West = 3,
}

impl Side {
    #[inline(always)]
    fn of(number: u64) -> Self {
        match number & 3 {
            0 => Self::North,
            1 => Self::East,
            2 => Self::South,
            _ => Self::West,
        }
    }

    /// The step from a square to the one beyond the side: columns and rows.
    #[inline(always)]
    pub fn way(self) -> [i32; 2] {
        match self {
            Self::North => [0, -1],
            Self::East => [1, 0],
            Self::South => [0, 1],
            Self::West => [-1, 0],
        }
    }

    /// The same side seen from the square beyond it.
    #[inline(always)]
    pub fn from_beyond(self) -> Self {
        Self::of(self as u64 ^ 2)
    }
}

/// A piece of a contour line, in 16 bytes: its square, its level and the sides at which it enters and
/// leaves the square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The square's column and row.
    pub square: [u32; 2],
    /// The index of the level.
    pub level: u32,
    /// Where the line enters.
    pub from: Side,
    /// Where it leaves.
    pub to: Side,
}

impl Piece {
    /// Two words.
    #[inline(always)]
    pub fn to_words(self) -> [u64; 2] {
        let sides = self.from as u64 | (self.to as u64) << 2;
        let [column, row] = self.square;
        [(row as u64) << 32 | column as u64, (self.level as u64) << 32 | sides]
    }

    /// From two words.
    #[inline(always)]
    pub fn from_words([square, rest]: [u64; 2]) -> Self {
        Self {
            square: [square as u32, (square >> 32) as u32],
            level: (rest >> 32) as u32,
            from: Side::of(rest),
            to: Side::of(rest >> 2),
        }
    }

    /// The square that the line goes to, of a raster with `squares` columns and rows of squares.
    #[inline(always)]
    pub fn square_beyond(self, squares: [u32; 2]) -> Option<[u32; 2]> {
        let [dx, dy] = self.to.way();
        let column = self.square[0].wrapping_add_signed(dx);
        let row = self.square[1].wrapping_add_signed(dy);
        (column < squares[0] && row < squares[1]).then_some([column, row])
    }

    /// Whether a piece of the square beyond continues this one.
    #[inline(always)]
    pub fn is_continued_by(self, other: Self) -> bool {
        other.level == self.level && other.from == self.to.from_beyond()
    }
}

/// Where the cells of a raster, or of a part of one, lie on the ground.
#[arguments]
pub struct CellPlaces {
    /// The raster's western border.
    pub x: f64,
    /// The raster's northern border.
    pub y: f64,
    /// The side of a cell.
    pub cell_size: f64,
    /// The column of the part's first cell in the raster.
    pub column: u32,
    /// The row of the part's first cell in the raster.
    pub row: u32,
}

/// Where a level crosses a side of a square, in ground coordinates. `height` gives the height of a cell (column, row).
///
/// The computation runs along the side from north to south or from west to east, and counts columns and rows from those
/// of the whole raster. So both squares beside the side give the same bits, in whichever part of the raster they are.
#[inline(always)]
pub fn crossing(
    square: [u32; 2],
    side: Side,
    level: f64,
    ground: CellPlaces,
    height: impl Fn(u32, u32) -> f32,
) -> [f64; 2] {
    let goes_south = matches!(side, Side::East | Side::West);
    let column = square[0] + (side == Side::East) as u32;
    let row = square[1] + (side == Side::South) as u32;
    let a = height(column, row) as f64;
    let b = height(column + !goes_south as u32, row + goes_south as u32) as f64;
    let t = (level - a) / (b - a);
    let (x, y) = ((ground.column + column) as f64 + 0.5, (ground.row + row) as f64 + 0.5);
    let (x, y) = if goes_south { (x, y + t) } else { (x + t, y) };
    [ground.x + x * ground.cell_size, ground.y - y * ground.cell_size]
}

/// Calls `piece(from, to)` for each piece of the contour line of a level in a square with these
/// corners: north-west, north-east, south-east, south-west.
///
/// A corner is high if its value is not below the level. A piece goes with the high ground on its right. If two high
/// corners face each other (a saddle), they are joined if the mean of the four corners is high; otherwise they are
/// separate. A square with a NaN has no piece.
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

/// Calls `visit(index, level)` for the levels above the lowest corner and not above the highest. Levels rise.
#[inline(always)]
pub fn levels_of(
    corners: [f32; 4],
    count: u32,
    level: impl Fn(u32) -> f64,
    mut visit: impl FnMut(u32, f64),
) {
    let mut low = f64::INFINITY;
    let mut high = f64::NEG_INFINITY;
    for corner in corners {
        low = f64::min(low, corner as f64);
        high = f64::max(high, corner as f64);
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

/// A DEM in device memory, row by row.
#[arguments]
pub struct Dem<'a> {
    /// `width * height` of them.
    pub heights: In<'a, f32>,
    /// Cells of a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

/// The levels of contour lines, which rise.
#[arguments]
pub struct Levels<'a> {
    /// `count` of them.
    pub heights: In<'a, f64>,
    /// How many there are.
    pub count: u32,
}

/// The corners of a square.
#[inline(always)]
fn corners(dem: Dem, column: u32, row: u32) -> [f32; 4] {
    let north = dem.heights.from(row as usize * dem.width as usize + column as usize);
    let south = north.from(dem.width);
    [north.get(0), north.get(1), south.get(1), south.get(0)]
}

/// The square (column, row) of this thread, if it has one.
#[inline(always)]
fn own_square(columns: u32, rows: u32) -> Option<[u32; 2]> {
    let square = thread::index_1d();
    if square >= columns as u64 * rows as u64 {
        return None;
    }
    let row = (square as u32).checked_div(columns).unwrap_or(0);
    Some([square as u32 - row * columns, row])
}

/// Counts the pieces of contour lines in every square.
///
/// Grid: one thread a square.
///
/// # Safety
/// `counts` has an element for each square; in each direction there is one square less than cells.
#[kernel(block = BLOCK)]
pub unsafe fn count_pieces(dem: Dem<'_>, levels: Levels<'_>, counts: Out<'_, u64>) {
    let Some([column, row]) = own_square(dem.width - 1, dem.height - 1) else { return };
    let corners = corners(dem, column, row);
    let mut count = 0;
    levels_of(
        corners,
        levels.count,
        |i| levels.heights.get(i),
        |_, level| pieces(corners, level, |_, _| count += 1),
    );
    counts.set(row as usize * (dem.width - 1) as usize + column as usize, count);
}

/// Writes the pieces of contour lines, as [`Piece::to_words`]; those of a square begin at its element of `places`.
///
/// Grid: one thread a square.
///
/// # Safety
/// `places` has the sum of the [counts](const@count_pieces) before each square, `pieces_out` two elements for each
/// piece.
#[kernel(block = BLOCK)]
pub unsafe fn write_pieces(
    dem: Dem<'_>,
    levels: Levels<'_>,
    places: In<'_, u64>,
    pieces_out: Out<'_, u64>,
) {
    let Some([column, row]) = own_square(dem.width - 1, dem.height - 1) else { return };
    let corners = corners(dem, column, row);
    let mut place = places.get(row as usize * (dem.width - 1) as usize + column as usize) as usize;
    levels_of(
        corners,
        levels.count,
        |i| levels.heights.get(i),
        |i, level| {
            pieces(corners, level, |start, end| {
                let piece = Piece { square: [column, row], level: i, from: start, to: end };
                let [square, rest] = piece.to_words();
                pieces_out.set(2 * place, square);
                pieces_out.set(2 * place + 1, rest);
                place += 1;
            })
        },
    );
}
