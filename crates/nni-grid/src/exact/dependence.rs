//! Which points a part of a DEM depends on that are not at hand.
//!
//! The Voronoi cell of a query among the sites has a corner in the middle of each circle through the query that touches two of
//! them or more and holds none. A further site changes the query's value only if it lies in one of these circles. Beside a
//! void, or along the hull, they are as wide as there is nothing.
//!
//! Plan:
//!
//! 1. A cell is settled where every circle through its centre that reaches what is not at hand holds a site. For most
//!    cells eight boxes tell, each within all circles of that width whose middles lie in one direction.
//! 2. The Voronoi cells of the others are cut out, and their circles tell. Those that reach beyond are kept.
//! 3. Further points are wanted where a kept circle is. With more points circles shrink: none reaches beyond the old ones.

use gpu_core::{Bounds, Points, parallel};
use kernels_rs::nni::exact::polygon::{Polygon, Slots};
use kernels_rs::nni::exact::search::End;
use kernels_rs::nni::exact::team::Alone;

use super::Setup;
use super::cpu::{OnHost, Table};
use crate::{Error, Input, Method, Params, Result, Weights};

/// Cells that are looked at together.
const TOGETHER: usize = 1024;

/// Parts along each side of an area in which wanted points are told from others: a power of two.
const PARTS: u32 = 512;

/// How far the middle of a box is from a place, and half its side, in widths of circles through the place. Circles whose
/// middles lie in directions that differ from the box's by a sixteenth of a turn at most hold a disc round the box's
/// middle: cos(tau / 16) / 2 away, with a radius of (1 - sin(tau / 16)) / 2.
const BOX: (f64, f64) = (0.4619, 0.21);

/// Tells which points beyond those at hand a part of a DEM depends on: for a DEM made in parts that must have the values
/// of the whole.
///
/// [`look`](Self::look) is called with the points of the part's ground and of a halo, as wide as
/// [`Params::max_distance`] at least. Where it is not the end, points are added that [`wanted`](Self::wanted) names within a
/// wider halo, and so on: after a last look the part has the values of the whole, to rounding.
///
/// ```
/// use gpu_core::{Bounds, GridSpec};
/// use nni_grid::{Dependence, Params};
///
/// # fn main() -> Result<(), nni_grid::Error> {
/// // Two columns of points, 30 apart; the part's ground holds one of them.
/// let x: Vec<f64> = (0..200).map(|i| f64::from(i % 2) * 30.0).collect();
/// let y: Vec<f64> = (0..200).map(|i| f64::from(i / 2)).collect();
/// let all = Bounds::of(&x, &y).unwrap();
/// let params = Params::new(GridSpec::new(0.0, 60.0, 1.0, 8, 20)?);
/// let mut dependence = Dependence::new(&params, all)?;
/// let known = Bounds { min_x: -20.0, min_y: 20.0, max_x: 28.0, max_y: 80.0 };
/// let within: Vec<usize> = (0..200).filter(|&i| x[i] < 28.0 && (20.0..=80.0).contains(&y[i])).collect();
/// let near = |column: &[f64]| within.iter().map(|&i| column[i]).collect::<Vec<f64>>();
/// assert!(!dependence.look(&near(&x), &near(&y), &known)?);
/// let wanted = dependence.wanted(&Bounds { max_x: 48.0, ..known });
/// assert!(wanted.holds(30.0, 50.0) && !wanted.holds(30.0, 1.0));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Dependence {
    params: Params,
    all: Bounds,
    /// The cells that are not settled; `None` before the first look, for all.
    open: Option<Vec<u32>>,
    circles: Vec<Circle>,
}

impl Dependence {
    /// That of a DEM. All points there are lie within `all`.
    ///
    /// # Errors
    /// [`Error::Dependence`] for the method on pixels, where it is known beforehand, and for the smooth interpolant and
    /// the hull, where other points matter too; else as [`interpolate`](crate::interpolate) for the parameters.
    pub fn new(params: &Params, all: Bounds) -> Result<Self> {
        params.check()?;
        let refused = [
            ("the method on pixels", params.method == Method::Pixels),
            ("the smooth interpolant", params.weights == Weights::SibsonC1),
            ("a DEM within the hull", params.hull),
        ];
        if let Some((what, _)) = refused.into_iter().find(|(_, is_so)| *is_so) {
            return Err(Error::Dependence { what });
        }
        let Params { grid, max_distance, query_radius, .. } = *params;
        let params = Params::new(grid).max_distance(max_distance).query_radius(query_radius);
        Ok(Self { params, all, open: None, circles: Vec::new() })
    }

    /// Looks at the cells that were not settled before, with all points at hand; gives whether all are settled now. `known`
    /// is the ground of which every point is at hand that was wanted, if any was.
    ///
    /// Cost: sorting the points, and a few looks at them for most cells; for those beside voids and on the hull what
    /// clipping their Voronoi cells takes.
    ///
    /// # Errors
    /// As [`interpolate`](crate::interpolate) for the points; [`Error::Core`] where memory fails.
    pub fn look(&mut self, x: &[f64], y: &[f64], known: &Bounds) -> Result<bool> {
        let beyond = beyond(known, &self.all);
        let cells = self.params.grid.cells() as usize;
        let open = self.open.take();
        let count = open.as_ref().map_or(cells, Vec::len);
        let (mut still_open, mut circles) = (Vec::new(), Vec::new());
        if !beyond.is_empty() {
            let input = Input::new(Points { x, y, values: &[] });
            let extent = input.check(&self.params.grid)?;
            let setup = Setup::of(&self.params, extent.bounds, x.len())?;
            let table = Table::new(&input, &extent, &setup, &self.params)?;
            let look = Look { table: &table, setup: &setup, beyond: &beyond };
            let of_some = |slots: &mut OnHost, i: usize| {
                let which = i * TOGETHER..count.min((i + 1) * TOGETHER);
                let cell = |k: usize| open.as_ref().map_or(k as u32, |open| open[k]);
                let (mut open, mut circles) = (Vec::new(), Vec::new());
                for cell in which.map(cell) {
                    if look.is_open(cell, slots, &mut circles) {
                        open.push(cell);
                    }
                }
                (open, circles)
            };
            let parts = count.div_ceil(TOGETHER);
            for (open, more) in parallel::map_init(parts, 1, OnHost::new, of_some) {
                still_open.extend(open);
                circles.extend(more);
            }
        }
        self.circles = circles;
        let is_settled = still_open.is_empty();
        self.open = Some(still_open);
        Ok(is_settled)
    }

    /// Which points within some ground may change cells that the last look left unsettled.
    pub fn wanted(&self, within: &Bounds) -> Wanted {
        Wanted::of(&self.circles, &common(within, &self.all))
    }
}

/// What all cells are looked at with.
struct Look<'a> {
    table: &'a Table,
    setup: &'a Setup,
    /// Where points are not at hand.
    beyond: &'a [Bounds],
}

impl Look<'_> {
    /// Whether circles of a cell reach beyond; these go into `circles`.
    fn is_open(&self, cell: u32, slots: &mut OnHost, circles: &mut Vec<Circle>) -> bool {
        let scene = &self.setup.scene;
        let row = cell.checked_div(scene.columns).unwrap_or(0);
        let at = scene.centre(cell - row * scene.columns, row);
        let away = self.beyond.iter().map(|area| distance(at, area)).fold(f64::INFINITY, f64::min);
        if self.is_surrounded(at, away) {
            return false;
        }
        let (index, query) = (self.table.index(), scene.query(at, u32::MAX));
        let before = circles.len();
        slots.until(|slots| {
            let mut polygon = Polygon::new(slots, Alone);
            let found = index.cell(&query, &mut polygon);
            let has_value = found.end == End::Found && found.squared <= scene.max_squared;
            if has_value {
                let of_corner = |i| Circle { through: at, middle: polygon.slots.corner(i) };
                let reaches = |circle: &Circle| self.beyond.iter().any(|area| circle.touches(area));
                circles.extend((0..polygon.len).map(of_corner).filter(reaches));
            }
            (found.end != End::Exceeded).then_some(())
        });
        circles.len() > before
    }

    /// Whether boxes tell that all circles of a width through a place hold a site.
    fn is_surrounded(&self, at: [f64; 2], width: f64) -> bool {
        (0..8).all(|k| {
            let (sin, cos) = (f64::from(k) * std::f64::consts::FRAC_PI_4).sin_cos();
            let (away, half) = (BOX.0 * width, BOX.1 * width);
            self.holds_a_site([at[0] + away * cos, at[1] + away * sin], half)
        })
    }

    /// Whether a cell of the index that lies within a box has a site.
    fn holds_a_site(&self, [x, y]: [f64; 2], half: f64) -> bool {
        let Table { cells, starts, .. } = self.table;
        // Not the outermost cells: these have what lies beyond them, too.
        let inner = |first: u32, last: u32| first + 1..last.max(1);
        let columns = inner(cells.column(x - half), cells.column(x + half));
        if columns.is_empty() {
            return false;
        }
        inner(cells.row(y - half), cells.row(y + half)).any(|row| {
            let start = |column: u32| starts[(row * cells.columns + column) as usize];
            start(columns.start) < start(columns.end)
        })
    }
}

/// A circle through a place.
#[derive(Clone, Copy, Debug)]
struct Circle {
    through: [f64; 2],
    /// The way to its middle. It may be far away: then the circle is next to a half-plane.
    middle: [f64; 2],
}

impl Circle {
    /// How far a place is outside, but for rounding: its power, as ways from the place on the circle give it without taking
    /// large numbers from each other.
    fn power(&self, [x, y]: [f64; 2]) -> (f64, f64) {
        let of =
            |way: f64, middle: f64| (way * (way - 2.0 * middle), way * way + (way * middle).abs());
        let (across, along) = (of(x, self.middle[0]), of(y, self.middle[1]));
        (across.0 + along.0, 1e-9 * (across.1 + along.1))
    }

    /// The ways from the place on the circle to the sides of an area.
    fn seen(&self, area: &Bounds) -> [[f64; 2]; 2] {
        let [x, y] = self.through;
        [[area.min_x - x, area.max_x - x], [area.min_y - y, area.max_y - y]]
    }

    /// Whether a place of the area is in the circle, or nearly.
    fn touches(&self, area: &Bounds) -> bool {
        let [x, y] = self.seen(area);
        let nearest = |[low, high]: [f64; 2], middle: f64| middle.max(low).min(high);
        let (power, slack) = self.power([nearest(x, self.middle[0]), nearest(y, self.middle[1])]);
        power <= slack
    }

    /// Whether all of the area is in the circle.
    fn holds(&self, area: &Bounds) -> bool {
        let [x, y] = self.seen(area);
        x.iter().all(|&x| y.iter().all(|&y| self.power([x, y]).0 <= 0.0))
    }
}

/// Where points are wanted.
#[derive(Clone, Debug)]
pub struct Wanted {
    area: Bounds,
    /// Of each of [`PARTS`] x [`PARTS`] parts of the area, row by row, whether it is wanted.
    parts: Vec<bool>,
}

impl Wanted {
    /// What of an area touches circles.
    fn of(circles: &[Circle], area: &Bounds) -> Self {
        let mut wanted = Self { area: *area, parts: vec![false; (PARTS * PARTS) as usize] };
        if area.min_x <= area.max_x && area.min_y <= area.max_y {
            let all: Vec<&Circle> = circles.iter().collect();
            wanted.mark([0, 0], PARTS, &all);
        }
        wanted
    }

    /// Marks what circles touch of a square of parts.
    fn mark(&mut self, [column, row]: [u32; 2], side: u32, circles: &[&Circle]) {
        let area = self.ground([column, row], side);
        let touching: Vec<&Circle> =
            circles.iter().copied().filter(|circle| circle.touches(&area)).collect();
        if touching.is_empty() {
            return;
        }
        if side == 1 || touching.iter().any(|circle| circle.holds(&area)) {
            for row in row..row + side {
                let first = (row * PARTS + column) as usize;
                self.parts[first..first + side as usize].fill(true);
            }
            return;
        }
        let half = side / 2;
        for (right, up) in [(0, 0), (half, 0), (0, half), (half, half)] {
            self.mark([column + right, row + up], half, &touching);
        }
    }

    /// The ground of a square of parts.
    fn ground(&self, [column, row]: [u32; 2], side: u32) -> Bounds {
        let Bounds { min_x, min_y, max_x, max_y } = self.area;
        let along = |low: f64, high: f64, part: u32| {
            low + (high - low) * f64::from(part) / f64::from(PARTS)
        };
        Bounds {
            min_x: along(min_x, max_x, column),
            min_y: along(min_y, max_y, row),
            max_x: along(min_x, max_x, column + side),
            max_y: along(min_y, max_y, row + side),
        }
    }

    /// Whether a point is wanted.
    pub fn holds(&self, x: f64, y: f64) -> bool {
        let Bounds { min_x, min_y, max_x, max_y } = self.area;
        if !(min_x <= x && x <= max_x && min_y <= y && y <= max_y) {
            return false;
        }
        self.parts[(self.row(y) * PARTS + self.column(x)) as usize]
    }

    /// Whether a point of an area may be wanted.
    pub fn touches(&self, area: &Bounds) -> bool {
        let Bounds { min_x, min_y, max_x, max_y } = common(area, &self.area);
        if !(min_x <= max_x && min_y <= max_y) {
            return false;
        }
        let [columns, rows] = [[min_x, max_x], [min_y, max_y]];
        let (columns, rows) = (columns.map(|x| self.column(x)), rows.map(|y| self.row(y)));
        let is_wanted = |row: u32| {
            let of_row = row * PARTS..(row + 1) * PARTS;
            let of_row = &self.parts[of_row.start as usize..of_row.end as usize];
            of_row[columns[0] as usize..=columns[1] as usize].contains(&true)
        };
        (rows[0]..=rows[1]).any(is_wanted)
    }

    /// The column of parts in which an x of the area is.
    fn column(&self, x: f64) -> u32 {
        part(x, [self.area.min_x, self.area.max_x])
    }

    /// The row of parts in which a y of the area is.
    fn row(&self, y: f64) -> u32 {
        part(y, [self.area.min_y, self.area.max_y])
    }

    /// The ground outside of which none is wanted; `None` where none is at all.
    pub fn bounds(&self) -> Option<Bounds> {
        let marked = (0..PARTS * PARTS).filter(|&part| self.parts[part as usize]);
        let ground = marked.map(|part| self.ground([part % PARTS, part / PARTS], 1));
        ground.reduce(|a, b| Bounds {
            min_x: a.min_x.min(b.min_x),
            min_y: a.min_y.min(b.min_y),
            max_x: a.max_x.max(b.max_x),
            max_y: a.max_y.max(b.max_y),
        })
    }
}

/// The part in which a place along a side is.
fn part(place: f64, [low, high]: [f64; 2]) -> u32 {
    // No number where the side has no length.
    let part = (place - low) / (high - low) * f64::from(PARTS);
    (part.max(0.0) as u32).min(PARTS - 1)
}

/// What of `all` lies beyond some bounds: up to four areas, which overlap at the corners.
fn beyond(known: &Bounds, all: &Bounds) -> Vec<Bounds> {
    let sides = [
        (known.min_x > all.min_x, Bounds { max_x: known.min_x, ..*all }),
        (known.min_y > all.min_y, Bounds { max_y: known.min_y, ..*all }),
        (known.max_x < all.max_x, Bounds { min_x: known.max_x, ..*all }),
        (known.max_y < all.max_y, Bounds { min_y: known.max_y, ..*all }),
    ];
    sides.into_iter().filter(|(is_there, _)| *is_there).map(|(_, area)| area).collect()
}

fn common(a: &Bounds, b: &Bounds) -> Bounds {
    Bounds {
        min_x: a.min_x.max(b.min_x),
        min_y: a.min_y.max(b.min_y),
        max_x: a.max_x.min(b.max_x),
        max_y: a.max_y.min(b.max_y),
    }
}

/// How far a place is from an area.
fn distance([x, y]: [f64; 2], area: &Bounds) -> f64 {
    let across = (area.min_x - x).max(x - area.max_x).max(0.0);
    let along = (area.min_y - y).max(y - area.max_y).max(0.0);
    across.hypot(along)
}
