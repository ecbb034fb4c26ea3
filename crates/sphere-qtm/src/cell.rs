//! Cells of the mesh and their ids.
//!
//! An id has 64 bits. An id has these bits, from the highest: two zeros, three bits for the octant, two bits a level
//! for the path's digits, a one, and zeros. So an id's lowest one bit tells its level. Ids of cells that do not overlap
//! are in the order of the cells. The ids of a cell's descendants are a range of numbers ([`Cell::id_range`]).

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use kernels_rs::sphere_qtm::triangle::{Triangle, Vector, dot};

use crate::locate::locate_direction;
use crate::place::{cross, minus};
use crate::{Error, LonLat, MAX_LEVEL, Result, UnitVector};

/// A level of the mesh, from 0, the octants, to [`MAX_LEVEL`].
///
/// ```
/// use sphere_qtm::Level;
///
/// assert_eq!(Level::ZERO.cell_count(), 8); // the octants
/// assert_eq!(Level::new(2)?.cell_count(), 8 * 4 * 4);
/// assert!(Level::new(30).is_err()); // MAX_LEVEL is 29
/// # Ok::<(), sphere_qtm::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(u32);

impl Level {
    /// The octants.
    pub const ZERO: Self = Self(0);

    /// The deepest level, whose cells are 19 mm wide on the Earth.
    pub const MAX: Self = Self(MAX_LEVEL);

    /// From a number.
    ///
    /// # Errors
    /// [`Error::Level`].
    pub fn new(level: u32) -> Result<Self> {
        if level <= MAX_LEVEL { Ok(Self(level)) } else { Err(Error::Level { level }) }
    }

    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }

    /// Returns the number of cells of the level: 8 * 4^level.
    pub fn cell_count(self) -> u64 {
        8 << (2 * self.0)
    }

    /// Returns all cells of the level, in the order of their ids.
    pub fn cells(self) -> impl ExactSizeIterator<Item = Cell> + Clone {
        // More than 2^32 cells are no `usize` everywhere; here they are.
        (0..self.cell_count() as usize).map(move |index| Cell::at(self, index as u64))
    }
}

/// A cell of the mesh.
///
/// ```
/// use sphere_qtm::{Cell, Level, LonLat};
///
/// let cell = Cell::containing(LonLat::new(45.0, 89.0)?, Level::new(1)?);
/// assert_eq!(cell.to_string(), "11"); // the first octant, and in it the child at the pole
/// assert_eq!(cell, "11".parse()?);
/// assert_eq!(cell, Cell::from_id(cell.id())?);
/// assert_eq!(cell.parent(), Some("1".parse()?));
/// assert_eq!(cell.edge_neighbours()[0], "10".parse()?); // opposite to the pole: the middle child
/// assert!(cell.contains("1123".parse()?));
/// # Ok::<(), sphere_qtm::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell(u64);

impl Cell {
    /// Returns the cell of a level that holds a place.
    ///
    /// A place between cells belongs to one of them. Between siblings, it belongs to the middle cell; between octants,
    /// to the northern and to the eastern one. A pole belongs to the first octant of its side.
    pub fn containing(place: impl Into<UnitVector>, level: Level) -> Self {
        Self::at(level, locate_direction(place.into().0, level.0))
    }

    /// Returns the cell at a position in the order of its level.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub fn from_index(level: Level, index: u64) -> Result<Self> {
        let cells = level.cell_count();
        if index < cells {
            Ok(Self::at(level, index))
        } else {
            Err(Error::Index { level: level.0, index, cells })
        }
    }

    /// The same, where there is such a cell.
    pub(crate) fn at(level: Level, index: u64) -> Self {
        Self((index << 1 | 1) << (2 * (MAX_LEVEL - level.0)))
    }

    /// The cell with an id.
    ///
    /// # Errors
    /// [`Error::Id`].
    pub fn from_id(id: u64) -> Result<Self> {
        let zeros = id.trailing_zeros();
        if id >> 62 == 0 && zeros.is_multiple_of(2) && zeros <= 2 * MAX_LEVEL {
            Ok(Self(id))
        } else {
            Err(Error::Id { id })
        }
    }

    /// Its id.
    pub fn id(self) -> u64 {
        self.0
    }

    /// The ids of the cell and of all its descendants; no other cell's id lies in between.
    pub fn id_range(self) -> RangeInclusive<u64> {
        let half = (self.0 & self.0.wrapping_neg()) - 1;
        self.0 - half..=self.0 + half
    }

    /// Its level.
    pub fn level(self) -> Level {
        Level(MAX_LEVEL - self.0.trailing_zeros() / 2)
    }

    /// Returns its position among the cells of its level.
    pub fn index(self) -> u64 {
        self.0 >> (self.0.trailing_zeros() + 1)
    }

    /// Its octant, from 0: four in the north from longitude 0 eastward, then four in the south.
    pub fn octant(self) -> u32 {
        (self.0 >> 59) as u32
    }

    /// Returns its digit among its parent's children: 0 for the middle one, 1 to 3 for the children at the vertices.
    /// None for an octant.
    pub fn digit(self) -> Option<u32> {
        (self.level() > Level::ZERO).then(|| self.index() as u32 & 3)
    }

    /// Returns its parent, the cell of the level above that holds it; `None` for an octant.
    pub fn parent(self) -> Option<Self> {
        let level = self.level().0.checked_sub(1)?;
        Some(Self::at(Level(level), self.index() >> 2))
    }

    /// Returns its ancestor of a level, or the cell itself for its own level; `None` for a deeper level.
    pub fn ancestor(self, level: Level) -> Option<Self> {
        let up = self.level().0.checked_sub(level.0)?;
        Some(Self::at(level, self.index() >> (2 * up)))
    }

    /// Its ancestors, from its parent up to its octant.
    pub fn ancestors(self) -> impl Iterator<Item = Self> {
        std::iter::successors(self.parent(), |cell| cell.parent())
    }

    /// Returns its four children by digit: the middle child, then the children at its vertices; `None` for a cell of
    /// the deepest level.
    pub fn children(self) -> Option<[Self; 4]> {
        let level = Level::new(self.level().0 + 1).ok()?;
        Some([0, 1, 2, 3].map(|digit| Self::at(level, self.index() << 2 | digit)))
    }

    /// Returns its descendants of a level, in order: the cell itself for its own level, none for a level above.
    pub fn descendants(self, level: Level) -> impl Iterator<Item = Self> + Clone {
        let down = level.0.checked_sub(self.level().0);
        let range =
            down.map_or(0..0, |down| self.index() << (2 * down)..(self.index() + 1) << (2 * down));
        range.map(move |index| Self::at(level, index))
    }

    /// Whether a cell is this one or one of its descendants.
    pub fn contains(self, other: Self) -> bool {
        self.id_range().contains(&other.0)
    }

    /// Returns its vertices in the order of the mesh: in an octant the pole, the western and the eastern vertex. They
    /// go counterclockwise in the north and clockwise in the south.
    pub fn vertices(self) -> [UnitVector; 3] {
        let Triangle { a, b, c } = self.triangle();
        [UnitVector(a), UnitVector(b), UnitVector(c)]
    }

    pub(crate) fn triangle(self) -> Triangle {
        Triangle::of_index(self.level().0, self.index())
    }

    /// Its vertices counterclockwise, seen from outside.
    pub fn polygon(self) -> [UnitVector; 3] {
        let [a, b, c] = self.vertices();
        if self.octant() < 4 { [a, b, c] } else { [a, c, b] }
    }

    /// Its centre: the direction of the sum of its vertices.
    pub fn centre(self) -> UnitVector {
        UnitVector(self.triangle().centre())
    }

    /// Its area on the sphere of radius 1, in steradians: its spherical excess.
    ///
    /// By the tangent of half the excess (van Oosterom and Strackee 1983, DOI 10.1109/TBME.1983.325207).
    /// The relative error grows as cells get small: 1e-15 at level 1, 1e-7 at level 29.
    pub fn area(self) -> f64 {
        area(&self.triangle())
    }
}

/// The area of a spherical triangle.
pub(crate) fn area(&Triangle { a, b, c }: &Triangle) -> f64 {
    // The volume from differences of vertices, which are exact, and not from the vertices, which cancel.
    let volume = dot(a, cross(minus(b, a), minus(c, a))).abs();
    2.0 * volume.atan2(1.0 + dot(a, b) + dot(b, c) + dot(c, a))
}

/// A vector's place on the plane that touches the sphere at another: (x, y), in which arcs are straight lines.
/// None beyond half the globe.
pub(crate) fn gnomonic(frame: &[Vector; 3], place: Vector) -> Option<[f64; 2]> {
    let height = dot(frame[2], place);
    (height > 0.0).then(|| [dot(frame[0], place) / height, dot(frame[1], place) / height])
}

impl From<Cell> for u64 {
    fn from(cell: Cell) -> Self {
        cell.0
    }
}

impl TryFrom<u64> for Cell {
    type Error = Error;

    fn try_from(id: u64) -> Result<Self> {
        Self::from_id(id)
    }
}

impl From<Cell> for LonLat {
    fn from(cell: Cell) -> Self {
        cell.centre().to_lon_lat()
    }
}

/// The octant from 1 to 8, as Dutton numbers them, and then a digit a level.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (level, index) = (self.level().0, self.index());
        let mut text = String::with_capacity(level as usize + 1);
        text.push(char::from(b'1' + self.octant() as u8));
        for step in (0..level).rev() {
            text.push(char::from(b'0' + (index >> (2 * step) & 3) as u8));
        }
        f.pad(&text)
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cell({self})")
    }
}

impl FromStr for Cell {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::Text { text: text.into() };
        let (octant, digits) = text.as_bytes().split_first().ok_or_else(wrong)?;
        if !(b'1'..=b'8').contains(octant) || digits.len() > MAX_LEVEL as usize {
            return Err(wrong());
        }
        let mut index = u64::from(octant - b'1');
        for digit in digits {
            if !(b'0'..=b'3').contains(digit) {
                return Err(wrong());
            }
            index = index << 2 | u64::from(digit - b'0');
        }
        Ok(Self::at(Level(digits.len() as u32), index))
    }
}
