//! Finds the points that a part of a DEM depends on beyond the known points.
//!
//! Take each circle through a query and two successive natural neighbours: its middle is a corner of the query's
//! Voronoi cell among the sites. These circles hold no site. A further site changes the query's value only if it lies
//! in one of these circles. Beside a void, or along the hull, these circles are as wide as the empty space.
//!
//! The Voronoi cell of a query outside the hull is open. Besides its circles, it has two half-planes: beyond the lines
//! through the query that touch the hull. Together these hold every site that may become a natural neighbour, and every
//! site that would move the nearest place of the hull.
//!
//! Plan:
//!
//! 1. A cell's walk around its natural neighbours yields its circles and half-planes. The search keeps those that reach
//!    beyond the known area. A cell that keeps none is settled.
//! 2. The search wants further points within the kept circles. More points make circles shrink: no new circle reaches
//!    beyond the old ones.

use delaunay_stars::SiteStars;
use gpu_core::{Bounds, GridSpec, Points, parallel};
use kernels_rs::nni::exact::scene::Scene;
use kernels_rs::stars::angles::{cross, square, way};
use kernels_rs::stars::locate::{Located, Query};
use kernels_rs::stars::natural::Shares;
use kernels_rs::stars::neighbours::Stars;
use kernels_rs::stars::predicates::{Predicates, sure};

use super::scene_of;
use super::stars::stars_of_finite;
use crate::params::OnGrid;
use crate::{Error, Input, Method, Params, Result, Weights};

/// Cells that one task checks.
const TOGETHER: usize = 1024;

/// Parts along each side of an area in which wanted points are told from others: a power of two.
const PARTS: u32 = 512;

/// Tells which further points a part of a DEM depends on, so that a DEM made in parts has the values of the whole.
///
/// The caller passes the points of the part's ground and of a halo to [`look`](Self::look). The halo is at least as
/// wide as [`Params::max_distance`]. If `look` returns `false`, the caller adds the points that
/// [`wanted`](Self::wanted) names within a wider halo, and calls `look` again. When it returns `true`, the part has
/// the values of the whole, to rounding.
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
/// let grid = GridSpec::new(0.0, 60.0, 1.0, 8, 20)?;
/// let mut dependence = Dependence::new(grid, &Params::new(), all)?;
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
    params: OnGrid,
    all: Bounds,
    /// The cells that are not settled; `None` before the first look, for all.
    open: Option<Vec<u32>>,
    circles: Vec<Circle>,
}

impl Dependence {
    /// Returns the dependence of a DEM of these cells. All points lie within `all`.
    ///
    /// # Errors
    /// [`Error::Dependence`] for the method on pixels, whose dependence is known without a search, and for the smooth
    /// interpolant and the hull, which points at any distance influence. Else the errors of
    /// [`interpolate`](crate::interpolate) for the parameters.
    pub fn new(grid: GridSpec, params: &Params, all: Bounds) -> Result<Self> {
        let checked = OnGrid::new(grid, params)?;
        let refused = [
            ("the method on pixels", params.method == Method::Pixels),
            ("the smooth interpolant", params.weights == Weights::SibsonC1),
            ("a DEM within the hull", params.hull),
        ];
        if let Some((what, _)) = refused.into_iter().find(|(_, is_so)| *is_so) {
            return Err(Error::Dependence { what });
        }
        let params = OnGrid::new(grid, &Params::new().max_distance(checked.max_distance))?;
        Ok(Self { params, all, open: None, circles: Vec::new() })
    }

    /// Checks the cells that are not yet settled, with all points known so far. Returns whether all cells are settled
    /// now. `known` is the ground whose wanted points the caller has given completely.
    ///
    /// Cost: the triangulation of the points, and a walk for each cell that is not settled.
    ///
    /// # Errors
    /// The errors of [`interpolate`](crate::interpolate) for the points; [`Error::Core`] where memory fails.
    pub fn look(&mut self, x: &[f64], y: &[f64], known: &Bounds) -> Result<bool> {
        let beyond = beyond(known, &self.all);
        let cells = self.params.grid.cells() as usize;
        let open = self.open.take();
        let count = open.as_ref().map_or(cells, Vec::len);
        let (mut still_open, mut circles) = (Vec::new(), Vec::new());
        if !beyond.is_empty() {
            Input::new(Points { x, y, values: &[] }, self.params.grid).check()?;
            let (stars, _) = stars_of_finite(x, y, &self.params.grid, &gpu_core::Silent)?;
            let scene = scene_of(&self.params, stars.scale, stars.predicates);
            let look = Look { stars: &stars, scene: &scene, beyond: &beyond };
            let of_some = |ways: &mut Vec<[f64; 2]>, i: usize| {
                let which = i * TOGETHER..count.min((i + 1) * TOGETHER);
                let cell = |k: usize| open.as_ref().map_or(k as u32, |open| open[k]);
                let (mut open, mut circles) = (Vec::new(), Vec::new());
                let mut hint = 0;
                for cell in which.map(cell) {
                    if look.is_open(cell, &mut hint, ways, &mut circles) {
                        open.push(cell);
                    }
                }
                (open, circles)
            };
            let parts = count.div_ceil(TOGETHER);
            for (open, more) in parallel::map_init(parts, 1, Vec::new, of_some) {
                still_open.extend(open);
                circles.extend(more);
            }
        }
        self.circles = circles;
        let is_settled = still_open.is_empty();
        self.open = Some(still_open);
        Ok(is_settled)
    }

    /// The cells that the last [`look`](Self::look) left unsettled, row by row: further points may change their values.
    /// The other cells have the values of the whole DEM, up to rounding. Empty before the first call.
    pub fn unsettled(&self) -> &[u32] {
        self.open.as_deref().unwrap_or_default()
    }

    /// Returns which points within some ground may change cells that the last [`look`](Self::look) left unsettled.
    pub fn wanted(&self, within: &Bounds) -> Wanted {
        Wanted::of(&self.circles, &common(within, &self.all))
    }
}

/// The data that the check of every cell shares.
struct Look<'a> {
    stars: &'a SiteStars,
    scene: &'a Scene,
    /// Where points are not at hand.
    beyond: &'a [Bounds],
}

impl Look<'_> {
    /// Whether circles of a cell reach beyond; these go into `circles`. `hint` is a site, and becomes the nearest one; `ways` is
    /// room.
    fn is_open(
        &self,
        cell: u32,
        hint: &mut u32,
        ways: &mut Vec<[f64; 2]>,
        circles: &mut Vec<Circle>,
    ) -> bool {
        if self.stars.is_empty() {
            return false;
        }
        let row = cell.checked_div(self.scene.columns).unwrap_or(0);
        let at = self.scene.centre(cell - row * self.scene.columns, row);
        let predicates = Predicates::new(self.scene.unit);
        let query = Query { stars: self.stars, predicates: &predicates, at };
        let nearest = sure(query.nearest(*hint));
        *hint = nearest;
        if square(way(at, self.stars.place(nearest))) > self.scene.max_squared {
            return false;
        }
        ways.clear();
        let side = match sure(query.locate(nearest)) {
            Located::OnSite(_) => return false,
            Located::Side(side) => Some(side),
            Located::Inside(triangle) => {
                let begin = sure(query.begin(triangle));
                sure(query.each(begin, Shares::Borders, |_, _, way| ways.push(way)));
                None
            }
        };
        let before = circles.len();
        let reaches = |circle: &Circle| self.beyond.iter().any(|area| circle.touches(area));
        let of_two = |(&a, &b)| self.circle(at, centre(a, b));
        if let Some(side) = side {
            ways.clear();
            seen_from_outside(&query, side, |site| ways.push(way(at, self.stars.place(site))));
            circles.extend(self.half_planes(at, ways).into_iter().filter(reaches));
            circles.extend(ways.windows(2).map(|two| of_two((&two[0], &two[1]))).filter(reaches));
        } else {
            let after = ways.iter().skip(1).chain(ways.first());
            circles.extend(ways.iter().zip(after).map(of_two).filter(reaches));
        }
        circles.len() > before
    }

    /// The half-planes of a place outside the hull, from the ways to its natural neighbours from right to left. If there are not
    /// two, the half-planes hold everything.
    fn half_planes(&self, at: [f64; 2], ways: &[[f64; 2]]) -> [Circle; 2] {
        let (right, left) = match ways {
            [[x, y], .., last] => ([*y, -*x], [-last[1], last[0]]),
            _ => ([1.0, 0.0], [-1.0, 0.0]),
        };
        [right, left].map(|inward| Circle { is_flat: true, ..self.circle(at, inward) })
    }

    /// A circle in the caller's lengths.
    fn circle(&self, through: [f64; 2], middle: [f64; 2]) -> Circle {
        let back = |place: [f64; 2]| place.map(|length| self.stars.scale.undo(length, 1));
        Circle { through: back(through), middle: back(middle), is_flat: false }
    }
}

/// Shows the natural neighbours of a place outside the hull, or on it, counter-clockwise: from the rightmost corner of the hull
/// that it sees to the leftmost. `side` is one that it is beyond or on. None are shown if all sites are in line.
///
/// From a site the walk goes on through the triangles whose circles have the place inside. At a side that the place sees it
/// goes on from the next site of the hull clockwise, or ends.
fn seen_from_outside(query: &Query<'_, SiteStars>, side: [u32; 2], mut show: impl FnMut(u32)) {
    let Query { stars, predicates, at } = *query;
    let place = |site: u32| stars.place(site);
    let neighbour = |slot: u32| stars.neighbour(slot);
    let is_seen = |a: u32, b: u32| predicates.orientation(place(a), place(b), at) < 0;
    let [first, end] = stars.star(side[0]);
    let is_in_line = || {
        predicates.orientation(place(neighbour(first)), place(side[0]), place(neighbour(end - 1)))
            == 0
    };
    if end - first < 2 || end - first == 2 && is_in_line() {
        return;
    }
    let mut site = side[1];
    loop {
        let next = neighbour(stars.star(site)[0]);
        if !is_seen(site, next) {
            break;
        }
        site = next;
    }
    show(site);
    // Whether the place is beyond or on the side of the hull that ends at a site.
    let is_open = |before: u32, site: u32| side == [before, site] || is_seen(before, site);
    // The slot from which the walk goes on clockwise around a site.
    let mut slot = stars.star(site)[1] - 1;
    loop {
        let [first, end] = stars.star(site);
        let is_on_hull = stars.is_on_hull(site);
        let starts_at_side = is_on_hull && slot + 1 == end && is_open(neighbour(slot), site);
        while !(is_on_hull && slot == first) {
            let next = if slot == first { end - 1 } else { slot - 1 };
            let [a, b] = [neighbour(next), neighbour(slot)].map(place);
            if predicates.in_circle(place(site), a, b, at) <= 0 {
                break;
            }
            slot = next;
        }
        let other = neighbour(slot);
        let has_moved = !(starts_at_side && slot + 1 == end);
        if has_moved && is_on_hull && slot == first && is_open(site, other) {
            // The walk has come to a side that the place sees. It goes on from the one before, or ends.
            if !is_open(neighbour(end - 1), site) {
                return;
            }
            slot = end - 1;
            continue;
        }
        show(other);
        let [first, end] = stars.star(other);
        slot = if has_moved {
            (first..end).find(|&at| neighbour(at) == site).unwrap_or(first)
        } else if is_open(neighbour(end - 1), other) {
            end - 1
        } else {
            return;
        };
        site = other;
    }
}

/// The centre of the circle through the origin and two places, which may be next to in line with it.
fn centre(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    let (of_a, of_b) = (square(a), square(b));
    let twice = 2.0 * cross(a, b);
    let scale = if twice > 0.0 { 1.0 / twice } else { f64::MAX.sqrt() };
    [(of_a * b[1] - of_b * a[1]) * scale, (of_b * a[0] - of_a * b[0]) * scale]
}

/// A circle through a place, or a half-plane up to one.
#[derive(Clone, Copy, Debug)]
struct Circle {
    through: [f64; 2],
    /// The way to its middle; of a half-plane the way straight into it.
    middle: [f64; 2],
    is_flat: bool,
}

impl Circle {
    /// How far a place is outside, but for rounding: its power, as ways from the place on the circle give it without taking
    /// large numbers from each other.
    fn power(&self, [x, y]: [f64; 2]) -> (f64, f64) {
        let round = if self.is_flat { 0.0 } else { 1.0 };
        let of = |way: f64, middle: f64| {
            (way * (round * way - 2.0 * middle), round * way * way + (way * middle).abs())
        };
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
        let nearest = |[low, high]: [f64; 2], middle: f64| match self.is_flat {
            true if middle > 0.0 => high,
            true => low,
            false => middle.max(low).min(high),
        };
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
///
/// Example: see [`Dependence`].
#[derive(Clone, Debug)]
pub struct Wanted {
    area: Bounds,
    /// Whether each of [`PARTS`] x [`PARTS`] parts of the area is wanted, row by row.
    parts: Vec<bool>,
}

impl Wanted {
    /// Returns the parts of an area that touch circles.
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

    /// Whether the search may want a point of an area.
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

    /// Returns the smallest ground that holds all wanted points; `None` if there are none.
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

/// Returns the ground of `all` beyond some bounds: up to four areas, which overlap at the corners.
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
