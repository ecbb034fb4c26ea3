//! Contour lines of a DEM that is cut into parts, with the bits of the whole.
//!
//! Plan:
//!
//! 1. Each square between four cell centres belongs to one part. [`contours_of_part`] finds the lines of a part alone.
//! 2. Where a line leaves the squares of its part, it goes on in another part from the same side of a square. The
//!    line's level and this side are the *seam*. A seam joins two fragments: for each level, at most one piece leaves
//!    through a side, and at most one enters.
//! 3. [`join`] follows the seams. A ring of several fragments begins at its lowest piece, as every ring does. A
//!    fragment finds its own lowest piece, and its end, by going from square to square, and states where the lowest
//!    piece is.
//! 4. Sorts the lines by their first pieces, which is the order of the whole.

use std::collections::HashMap;

use gpu_core::{GridSpec, GridView, On, require_at_most, require_parameter};
use kernels_rs::terrain::{NONE, Piece, Side, pieces};

use crate::contour::{Contour, Found, ground};
use crate::{ContourParams, Result, find_contours};

/// Where a DEM lies in a larger one that it is a part of.
///
/// Neighbouring parts share their outermost row or column of cells, so that each square between four cell centres is in
/// one part.
///
/// Example: see [`contours_of_part`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// The whole.
    pub whole: GridSpec,
    /// The column and the row of the part's first cell.
    pub first_cell: [u32; 2],
}

/// A side of a square, between two cells of the whole: the column and the row of the western or northern one, and whether the other
/// is south of it.
type Seam = ([u32; 2], bool);

/// The row and the column of a piece's square in the whole, and which of the square's pieces it is. Pieces of a level are in this order.
type Place = (u32, u32, u8);

/// A fragment of a contour line, without its points: the whole line, or the stretch between two seams.
///
/// Example: see [`contours_of_part`].
#[derive(Clone, Debug, PartialEq)]
pub struct Fragment {
    level: f64,
    points: u64,
    is_ring: bool,
    /// Whether all of its points are one place.
    is_place: bool,
    first: Place,
    lowest: Place,
    /// How many points are before the lowest piece.
    before_lowest: u64,
    enters_by: Option<Seam>,
    leaves_by: Option<Seam>,
}

impl Fragment {
    /// The number of words that a fragment is stored in.
    pub const WORDS: usize = 8;

    /// Returns the level of the line.
    pub fn level(&self) -> f64 {
        self.level
    }

    /// Returns how many points the fragment has.
    pub fn points(&self) -> u64 {
        self.points
    }

    /// Returns the fragment as words, which the caller stores until all parts are done.
    pub fn to_words(&self) -> [u64; Self::WORDS] {
        let pair = |a: u32, b: u32| u64::from(a) << 32 | u64::from(b);
        let cell = |seam: Option<Seam>| seam.map_or(0, |([column, row], _)| pair(row, column));
        // Two bits: no seam, the other cell is to the east, or it is to the south.
        let kind = |seam: Option<Seam>| seam.map_or(0, |(_, goes_south)| 1 + u64::from(goes_south));
        let flags = u64::from(self.is_ring)
            | u64::from(self.first.2) << 1
            | u64::from(self.lowest.2) << 2
            | kind(self.enters_by) << 3
            | kind(self.leaves_by) << 5
            | u64::from(self.is_place) << 7;
        [
            self.level.to_bits(),
            self.points,
            pair(self.first.0, self.first.1),
            pair(self.lowest.0, self.lowest.1),
            self.before_lowest,
            cell(self.enters_by),
            cell(self.leaves_by),
            flags,
        ]
    }

    /// Returns the fragment that [`to_words`](Self::to_words) turned into these words.
    pub fn from_words(words: [u64; Self::WORDS]) -> Self {
        let [level, points, first, lowest, before_lowest, enters, leaves, flags] = words;
        let bit = |at: u32| (flags >> at & 1) as u8;
        let place = |word: u64, at| ((word >> 32) as u32, word as u32, bit(at));
        let seam = |word: u64, at: u32| match flags >> at & 3 {
            0 => None,
            kind => Some(([word as u32, (word >> 32) as u32], kind == 2)),
        };
        Self {
            level: f64::from_bits(level),
            points,
            is_ring: bit(0) == 1,
            is_place: bit(7) == 1,
            first: place(first, 1),
            lowest: place(lowest, 2),
            before_lowest,
            enters_by: seam(enters, 3),
            leaves_by: seam(leaves, 5),
        }
    }
}

/// Finds the contour lines of a part of a DEM. If a line goes on in other parts, it returns the fragment in this part.
/// Points have the same bits as in the lines of the whole DEM. The place of the part's own grid is ignored.
///
/// ```
/// use gpu_core::{Device, GridSpec, GridView};
/// use terrain_grid::{ContourParams, Part, contours, contours_of_part, join};
///
/// # fn main() -> Result<(), terrain_grid::Error> {
/// // A hill in the middle of 5 x 3 cells, cut at its top.
/// let dem = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 9.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
/// let (whole, params) = (GridSpec::of_pixels(5, 3), ContourParams::at([4.0]));
/// let (mut fragments, mut points) = (Vec::new(), Vec::new());
/// for column in [0, 2] {
///     let cells: Vec<f32> = dem.chunks(5).flat_map(|row| &row[column..column + 3]).copied().collect();
///     let cells = GridView::new(&cells, GridSpec::of_pixels(3, 3))?;
///     let part = Part { whole, first_cell: [column as u32, 0] };
///     for (fragment, line) in contours_of_part(&Device::Cpu, cells, &params, &part)? {
///         fragments.push(fragment);
///         points.push(line.points);
///     }
/// }
/// let lines = join(&fragments)?;
/// let ring = lines[0].points(|fragment| Ok::<_, terrain_grid::Error>(points[fragment].clone()))?;
/// let at_once = contours(&Device::Cpu, GridView::new(&dem, whole)?, &params)?;
/// assert!(lines.len() == 1 && ring == at_once[0].points);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The errors of [`contours`](fn@crate::contours), and [`gpu_core::Error::Parameter`] for a part beyond the whole.
pub fn contours_of_part<'on>(
    on: impl Into<On<'on>>,
    dem: GridView<'_, f32>,
    params: &ContourParams,
    part: &Part,
) -> Result<Vec<(Fragment, Contour)>> {
    let (&grid, &Part { whole, first_cell }) = (dem.grid(), part);
    for (what, first, side, of) in [
        ("first column of the part", first_cell[0], grid.width, whole.width),
        ("first row of the part", first_cell[1], grid.height, whole.height),
    ] {
        let is_within = u64::from(first) + u64::from(side) <= u64::from(of);
        require_parameter(what, first, is_within, "one of a part that ends in the whole")?;
    }
    let found = find_contours(on.into(), dem, params, ground(&whole, first_cell))?;
    let squares = [grid.width.saturating_sub(1), grid.height.saturating_sub(1)];
    let walk = Walk { heights: dem.values(), width: grid.width, squares, part };
    Ok(found.into_iter().map(|found| (walk.fragment(&found), found.line)).collect())
}

/// The data by which a line is followed through its part.
struct Walk<'a> {
    heights: &'a [f32],
    width: u32,
    squares: [u32; 2],
    part: &'a Part,
}

impl Walk<'_> {
    /// Describes a line: its length, its ends and its lowest piece.
    fn fragment(&self, found: &Found) -> Fragment {
        let Found { line, first, is_ring } = found;
        let Contour { level, points } = line;
        let enters_by = self.seam(first.square, first.from);
        let mut fragment = Fragment {
            level: *level,
            points: points.len() as u64,
            is_ring: *is_ring,
            is_place: line.is_place(),
            first: self.place(*level, first),
            lowest: self.place(*level, first),
            before_lowest: 0,
            enters_by,
            leaves_by: None,
        };
        if *is_ring {
            return fragment;
        }
        let mut last = *first;
        for before in 1..points.len() as u64 - 1 {
            let Some(next) = self.next(*level, &last) else { break };
            last = next;
            // The pieces of a ring alone need it, which come from other parts.
            let place = enters_by.map(|_| self.place(*level, &last));
            if let Some(place) = place.filter(|place| *place < fragment.lowest) {
                (fragment.lowest, fragment.before_lowest) = (place, before);
            }
        }
        fragment.leaves_by = self.seam(last.square, last.to);
        fragment
    }

    /// The pieces of a level in a square.
    fn pieces(&self, [column, row]: [u32; 2], level: f64, mut piece: impl FnMut(Side, Side)) {
        let north = row as usize * self.width as usize + column as usize;
        let south = north + self.width as usize;
        let of = |cell: usize| self.heights[cell];
        pieces([of(north), of(north + 1), of(south + 1), of(south)], level, &mut piece);
    }

    /// The piece after one, in the part.
    fn next(&self, level: f64, piece: &Piece) -> Option<Piece> {
        let square = piece.square_beyond(self.squares)?;
        let mut found = None;
        self.pieces(square, level, |from, to| {
            if from == piece.to.from_beyond() {
                found = Some(Piece { square, level: piece.level, from, to });
            }
        });
        found
    }

    fn place(&self, level: f64, piece: &Piece) -> Place {
        let (mut count, mut own) = (0, 0);
        self.pieces(piece.square, level, |from, _| {
            if from == piece.from {
                own = count;
            }
            count += 1;
        });
        let [column, row] = self.in_whole(piece.square);
        (row, column, own)
    }

    fn in_whole(&self, [column, row]: [u32; 2]) -> [u32; 2] {
        let [first_column, first_row] = self.part.first_cell;
        [first_column + column, first_row + row]
    }

    /// The seam at a side of a square, if the side is one of the part's and not of the whole's.
    fn seam(&self, square: [u32; 2], side: Side) -> Option<Seam> {
        let [dx, dy] = side.way();
        let is_inside = |first: u32, way: i32, count: u32| {
            first.checked_add_signed(way).is_some_and(|beyond| beyond < count)
        };
        let [column, row] = square;
        if is_inside(column, dx, self.squares[0]) && is_inside(row, dy, self.squares[1]) {
            return None;
        }
        let [column, row] = self.in_whole(square);
        let GridSpec { width, height, .. } = self.part.whole;
        let is_of_whole = is_inside(column, dx, width - 1) && is_inside(row, dy, height - 1);
        let goes_south = matches!(side, Side::East | Side::West);
        let cell = [column + u32::from(side == Side::East), row + u32::from(side == Side::South)];
        is_of_whole.then_some((cell, goes_south))
    }
}

/// A contour line of the whole.
///
/// Example: see [`contours_of_part`].
#[derive(Clone, Debug, PartialEq)]
pub struct JoinedLine {
    /// Its height.
    pub level: f64,
    /// Its fragments in their order, by their numbers.
    pub fragments: Vec<u32>,
    /// For a ring of several fragments, how many points of the first fragment come before the ring's beginning.
    pub before: u64,
}

impl JoinedLine {
    /// Returns the points of the line, without repeated ones. `read` returns the points of a fragment.
    ///
    /// # Errors
    /// The errors of `read`.
    pub fn points<E>(
        &self,
        mut read: impl FnMut(usize) -> Result<Vec<[f64; 2]>, E>,
    ) -> Result<Vec<[f64; 2]>, E> {
        let mut points: Vec<[f64; 2]> = Vec::new();
        for &fragment in &self.fragments {
            // It begins where the one before it ends.
            points.pop();
            points.append(&mut read(fragment as usize)?);
        }
        if self.before > 0 && points.len() > 1 {
            points.pop();
            let before = self.before as usize % points.len();
            points.rotate_left(before);
            points.push(points[0]);
        }
        points.dedup();
        // Where the caller's coordinates round all to one place, it is still a line.
        if let [only] = points[..] {
            points.push(only);
        }
        Ok(points)
    }
}

/// Joins the fragments of all parts of a DEM to the contour lines of the whole. The lines have the same order and the
/// same first points as by [`contours`](fn@crate::contours). If a part is missing, lines end at its border.
///
/// Takes some 150 bytes a fragment.
///
/// Example: see [`contours_of_part`].
///
/// # Errors
/// [`gpu_core::Error::TooMany`] beyond 2^32 - 2 fragments.
pub fn join(fragments: &[Fragment]) -> Result<Vec<JoinedLine>> {
    require_at_most("fragments of contour lines", fragments.len() as u64, u64::from(NONE) - 1)?;
    let entered: HashMap<(u64, Seam), u32> = (0..)
        .zip(fragments)
        .filter_map(|(i, f)| Some(((f.level.to_bits(), f.enters_by?), i)))
        .collect();
    let next = |f: &Fragment| Some(*entered.get(&(f.level.to_bits(), f.leaves_by?))?);
    let mut is_continuation = vec![false; fragments.len()];
    fragments.iter().filter_map(next).for_each(|i| is_continuation[i as usize] = true);
    let mut is_done = vec![false; fragments.len()];
    let mut lines: Vec<((bool, Place), JoinedLine)> = Vec::new();
    let count = fragments.len() as u32;
    let starts = (0..count).filter(|&i| !is_continuation[i as usize]);
    for (first, is_chain) in starts.map(|i| (i, true)).chain((0..count).map(|i| (i, false))) {
        let mut of_line = Vec::new();
        let mut i = Some(first);
        while let Some(own) = i.filter(|&i| !std::mem::replace(&mut is_done[i as usize], true)) {
            of_line.push(own);
            i = next(&fragments[own as usize]);
        }
        let of = |i: &u32| &fragments[*i as usize];
        let Some(start) = of_line.first().map(of) else { continue };
        // Where one fragment ends, the next one begins: then all are the same place.
        if of_line.iter().all(|i| of(i).is_place) {
            continue;
        }
        let (level, mut before, mut place) = (start.level, 0, (start.is_ring, start.first));
        if !is_chain {
            let lowest = (0..of_line.len()).min_by_key(|&at| of(&of_line[at]).lowest).unwrap_or(0);
            of_line.rotate_left(lowest);
            let lowest = of(&of_line[0]);
            (before, place) = (lowest.before_lowest, (true, lowest.lowest));
        }
        lines.push((place, JoinedLine { level, fragments: of_line, before }));
    }
    lines.sort_by(|(a, line), (b, other)| line.level.total_cmp(&other.level).then(a.cmp(b)));
    Ok(lines.into_iter().map(|(_, line)| line).collect())
}
