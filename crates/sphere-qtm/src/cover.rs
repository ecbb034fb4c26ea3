//! Cells that cover an area of the globe, and sets of cells with large ones in place of many small ones.
//!
//! A search from the octants down finds a cover. It drops cells outside the area, takes cells inside the area whole,
//! and visits the children of all other cells. At the wanted level it takes every cell that the area touches. So a
//! cover is compact; [`uncompact`] brings all of its cells to one level.

mod area;

use kernels_rs::sphere_qtm::triangle::{Triangle, Vector};

use crate::{Cell, Error, Level, LonLat, Result, UnitVector};

use area::{Area, Box, Circle, Overlap, Polygon};

/// Returns the cells down to `level` that cover the circle of this radius, in degrees of arc, around a place. The cells
/// are in the order of their ids, and do not overlap.
///
/// The cover has a cell of `level` exactly if the circle reaches it. Work and memory grow with the circle's
/// circumference in cells.
///
/// ```
/// use sphere_qtm::{Level, LonLat, cover_circle};
///
/// let level = Level::new(2)?;
/// let within = cover_circle(LonLat::new(45.0, 40.0)?, 1.0, level)?;
/// assert_eq!(within, ["100".parse()?]); // a small circle in the middle of an octant
/// let globe = cover_circle(LonLat::new(45.0, 40.0)?, 180.0, level)?;
/// assert!(globe.into_iter().eq(Level::ZERO.cells())); // four siblings become their parent
/// # Ok::<(), sphere_qtm::Error>(())
/// ```
///
/// # Errors
/// [`gpu_core::Error::Parameter`]; [`Error::Core`] where memory fails.
pub fn cover_circle(
    centre: impl Into<UnitVector>,
    radius_degrees: f64,
    level: Level,
) -> Result<Vec<Cell>> {
    let is_angle = radius_degrees >= 0.0 && radius_degrees.is_finite();
    gpu_core::require_parameter(
        "radius",
        radius_degrees,
        is_angle,
        "a number of degrees from 0 up",
    )?;
    cover(&Circle::new(centre.into().0, radius_degrees.to_radians()), level)
}

/// Returns the cells down to `level` that cover a box between two meridians, from `west` eastward to `east`, and two
/// parallels; all in degrees. A box from 170 to -170 crosses the antimeridian.
///
/// The cover holds the box; a cell of `level` is in it if its own bounds in longitude and latitude reach
/// the box's.
///
/// ```
/// use sphere_qtm::{Cell, Level, LonLat, cover_box};
///
/// let cells = cover_box((170.0, -170.0), (10.0, 20.0), Level::new(3)?)?; // across the antimeridian
/// let has = |longitude| -> sphere_qtm::Result<bool> {
///     let place = Cell::containing(LonLat::new(longitude, 15.0)?, Level::MAX);
///     Ok(cells.iter().any(|cell| cell.contains(place)))
/// };
/// assert!(has(175.0)? && has(-175.0)? && !has(0.0)?);
/// # Ok::<(), sphere_qtm::Error>(())
/// ```
///
/// # Errors
/// [`Error::Place`] for invalid corners, [`Error::Box`], [`Error::Core`] where memory fails.
pub fn cover_box(
    (west, east): (f64, f64),
    (south, north): (f64, f64),
    level: Level,
) -> Result<Vec<Cell>> {
    LonLat::new(west, south)?;
    LonLat::new(east, north)?;
    if south > north {
        return Err(Error::Box { south, north });
    }
    cover(&Box::new((west, east), (south, north)), level)
}

/// Returns the cells down to `level` that cover a polygon whose edges are great-circle arcs: an outer ring, and the
/// rings of its holes. A ring need not repeat its first vertex at the end. The direction of a ring has no meaning.
///
/// ```
/// use sphere_qtm::{Level, LonLat, cover_polygon};
///
/// let place = |longitude, latitude| LonLat::new(longitude, latitude);
/// let triangle = [place(40.0, 35.0)?, place(50.0, 35.0)?, place(45.0, 42.0)?];
/// let cells = cover_polygon(&[triangle], Level::new(1)?)?;
/// assert_eq!(cells, ["10".parse()?]); // all of it lies in the middle of the first octant
/// # Ok::<(), sphere_qtm::Error>(())
/// ```
///
/// # Errors
/// - [`Error::Ring`] for a ring of fewer than three vertices.
/// - [`Error::Ring`] for a ring that does not fit into the hemisphere around the middle of the outer ring: its inside
///   would be ambiguous.
/// - [`Error::Core`] where memory fails.
pub fn cover_polygon(rings: &[impl AsRef<[LonLat]>], level: Level) -> Result<Vec<Cell>> {
    let rings: Vec<Vec<Vector>> = rings
        .iter()
        .map(|ring| ring.as_ref().iter().map(|place| place.to_vector().0).collect())
        .collect();
    match Polygon::new(&rings)? {
        Some(polygon) => cover(&polygon, level),
        None => Ok(Vec::new()),
    }
}

/// The cover of an area.
fn cover<A: Area>(area: &A, level: Level) -> Result<Vec<Cell>> {
    let mut cells = Cells(Vec::new());
    let all = area.all();
    for octant in Level::ZERO.cells() {
        descend(area, &all, octant, &octant.triangle(), level, &mut cells)?;
    }
    Ok(compact_sorted(cells.0))
}

fn descend<A: Area>(
    area: &A,
    part: &A::Part,
    cell: Cell,
    triangle: &Triangle,
    level: Level,
    cells: &mut Cells,
) -> Result<()> {
    let is_last = cell.level() == level;
    match area.overlap(part, cell, triangle, is_last) {
        Overlap::Apart => Ok(()),
        Overlap::Inside => cells.push(cell),
        Overlap::Some(_) if is_last => cells.push(cell),
        Overlap::Some(part) => {
            let children = cell.children().unwrap_or([cell; 4]);
            for (child, triangle) in children.into_iter().zip(&triangle.children()) {
                descend(area, &part, child, triangle, level, cells)?;
            }
            Ok(())
        }
    }
}

/// Cells that are collected, as far as memory goes.
struct Cells(Vec<Cell>);

impl Cells {
    fn push(&mut self, cell: Cell) -> Result<()> {
        if self.0.len() == self.0.capacity() {
            let more = self.0.len().max(64);
            self.0.try_reserve(more).map_err(|_| gpu_core::Error::HostMemory {
                asked: (2 * self.0.len() * size_of::<Cell>()) as u64,
                available: gpu_core::host_memory::available().unwrap_or(0),
            })?;
        }
        self.0.push(cell);
        Ok(())
    }
}

/// Returns the fewest cells that make up the same area, in the order of their ids: four siblings become their parent,
/// and cells inside other cells disappear.
///
/// ```
/// use sphere_qtm::{Cell, Level, compact};
///
/// let octant: Cell = "3".parse()?;
/// let mut cells: Vec<Cell> = octant.descendants(Level::new(2)?).collect(); // 16 of them
/// cells.push("70".parse()?);
/// assert_eq!(compact(&cells), [octant, "70".parse()?]);
/// # Ok::<(), sphere_qtm::Error>(())
/// ```
pub fn compact(cells: &[Cell]) -> Vec<Cell> {
    let mut sorted = cells.to_vec();
    // A cell comes before its descendants.
    sorted.sort_unstable_by_key(|cell| (*cell.id_range().start(), cell.level()));
    compact_sorted(sorted)
}

/// The same of cells that are in this order.
fn compact_sorted(cells: Vec<Cell>) -> Vec<Cell> {
    let mut kept: Vec<Cell> = Vec::with_capacity(cells.len());
    for cell in cells {
        if kept.last().is_some_and(|last| last.contains(cell)) {
            continue;
        }
        kept.push(cell);
        while let [.., a, b, c, d] = kept[..] {
            let parent = d.parent();
            if parent.is_none() || [a, b, c].iter().any(|cell| cell.parent() != parent) {
                break;
            }
            kept.truncate(kept.len() - 4);
            kept.extend(parent);
        }
    }
    kept
}

/// Returns the cells of one level, in order, that make up the same area as cells of that level and above.
///
/// ```
/// use sphere_qtm::{Level, uncompact};
///
/// let cells = uncompact(&["3".parse()?, "70".parse()?], Level::new(1)?)?;
/// assert_eq!(cells, ["30".parse()?, "31".parse()?, "32".parse()?, "33".parse()?, "70".parse()?]);
/// # Ok::<(), sphere_qtm::Error>(())
/// ```
///
/// # Errors
/// [`Error::Deeper`] if a cell is below that level, [`Error::Core`] where memory fails.
pub fn uncompact(cells: &[Cell], level: Level) -> Result<Vec<Cell>> {
    let mut count = 0u64;
    for &cell in cells {
        let own = cell.level();
        if own > level {
            return Err(Error::Deeper { cell, level: own.get(), wanted: level.get() });
        }
        count = count.saturating_add(1 << (2 * (level.get() - own.get())));
    }
    let mut all = gpu_core::host_memory::with_capacity(count as usize)?;
    all.extend(cells.iter().flat_map(|cell| cell.descendants(level)));
    Ok(all)
}
