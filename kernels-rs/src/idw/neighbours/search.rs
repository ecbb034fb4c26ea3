//! The search of the index: boxes of cells around a target, and the points in them.

use device_std::real::Real;
use device_std::{In, arguments, math};

use crate::idw::kernel_weights::{FIRST_KERNEL, kernel_weight};
use crate::idw::plan::Plan;
use crate::idw::targets::Targets;
use crate::spatial::cells::Cells;
use crate::spatial::sphere::{self, arc_of_squared_chord};

/// Points sorted by the cells of a plan, in device memory.
#[arguments]
pub struct Sorted<'a> {
    /// The plan: one element.
    pub plan: In<'a, Plan>,
    /// Where the points of each cell begin, and where the last one's end.
    pub starts: In<'a, u32>,
    /// The index of each sorted point.
    pub order: In<'a, u32>,
    /// Sorted places: x of each, then y, on the sphere then z.
    pub places: In<'a, f64>,
}

/// The index and the points.
#[derive(Clone, Copy)]
pub struct Index<'a> {
    pub cells: Cells,
    sorted: Sorted<'a>,
    points: u32,
}

/// How a search takes and weighs neighbours.
#[derive(Clone, Copy)]
pub struct Search {
    /// The squared smoothing, on the ground.
    pub smoothing: f64,
    /// Minus half the power; for a kernel function, the square of its bandwidth.
    pub exponent: f64,
    /// The law of powers, or of [`kernel_weight`].
    pub law: u32,
    /// The sphere's radius, or 0.
    pub sphere: f64,
    /// The farthest distance of a neighbour, or infinity. In the plane the distance on the ground; on the sphere the
    /// chord, then the arc in radians.
    pub reach: [f64; 2],
    /// The half extents of the box of everything within reach.
    pub extent: [f64; 2],
    /// xx, xy, yy of the form that is at most 1 inside the ellipse; zeros if there is no ellipse.
    pub ellipse: [f64; 3],
    /// Whether target `i` leaves point `i` out.
    pub leaves_out: bool,
    /// Whether neighbours count by quadrants.
    pub by_quadrants: bool,
}

/// A target: its place in the index (x, y; or longitude, latitude), and in space.
#[derive(Clone, Copy)]
pub struct TargetPlace {
    pub index: u64,
    pub x: f64,
    pub y: f64,
    pub place: [f64; 3],
    /// Whether the target is on the sphere.
    on_sphere: bool,
}

/// A point as a search sees it: its place in the sorted order, and its squared distance.
#[derive(Clone, Copy)]
pub struct Candidate {
    pub at: u32,
    pub squared: f64,
    pub quadrant: u32,
}

/// Runs of cells in each row of a box: one, or two where the box passes the date line.
#[derive(Clone, Copy)]
pub struct CellBox {
    first_row: u32,
    last_row: u32,
    columns: [[u32; 2]; 2],
    runs: u32,
    /// Whether it is the whole index.
    pub whole: bool,
    /// In each row only the cells within this distance of the target count; infinite if all count.
    radius: f64,
}

/// Where a search begins.
#[derive(Clone, Copy)]
pub struct Start {
    /// The radius to begin with.
    pub radius: f64,
    /// Half of a box that surely holds enough points, if the index has that many.
    half: f64,
}

impl Start {
    /// Returns the next radius, after one that held too few points.
    #[inline(always)]
    pub fn wider(self, radius: f64) -> f64 {
        // Within the box, the estimate was too low, and the radius doubles up to the box. The circle around the box has
        // enough, unless the target wants more than all points. Beyond it nothing is known.
        if radius < self.half {
            f64::min(radius * 2.0, self.half)
        } else if radius < 1.44 * self.half {
            radius * 1.2
        } else {
            radius * 2.0
        }
    }
}

/// If a box holds this many times the points wanted, a smaller box is tried.
const TOO_MANY: u32 = 8;

impl Search {
    /// A search in the plane within a radius, or over all of the plane if the radius is infinite.
    #[inline(always)]
    pub fn within(reach: f64) -> Self {
        Self {
            smoothing: 0.0,
            exponent: -1.0,
            law: 2,
            sphere: 0.0,
            reach: [reach; 2],
            extent: [reach; 2],
            ellipse: [0.0; 3],
            leaves_out: false,
            by_quadrants: false,
        }
    }

    /// Whether places are on the sphere.
    #[inline(always)]
    pub fn is_sphere(&self) -> bool {
        self.sphere > 0.0
    }

    /// The squared distance on the ground; on a sphere, from a squared chord.
    #[inline(always)]
    pub fn on_ground(&self, squared: f64) -> f64 {
        if self.sphere == 0.0 {
            return squared;
        }
        let arc = arc_of_squared_chord(squared) * self.sphere;
        arc * arc
    }

    /// The square of the distance on the ground, smoothed.
    #[inline(always)]
    pub fn smoothed(&self, squared: f64) -> f64 {
        self.on_ground(squared) + self.smoothing
    }

    /// Whether only points on the target count; `nearest` is the smoothed square of the nearest point.
    #[inline(always)]
    pub fn is_exact(&self, nearest: f64) -> bool {
        nearest == 0.0 && self.law < FIRST_KERNEL
    }

    /// The weight at a squared distance. Powers and the Gaussian are relative to the weight of the nearest neighbour,
    /// whose smoothed square is given. So a weight is at most 1 and none overflows.
    #[inline(always)]
    pub fn weight(&self, squared: f64, nearest: f64) -> f64 {
        if self.law >= FIRST_KERNEL {
            return kernel_weight(self.law, self.smoothed(squared), nearest, self.exponent);
        }
        let ratio = nearest / self.smoothed(squared);
        match self.law {
            2 => ratio,
            4 => ratio * ratio,
            1 => math::sqrt(ratio),
            3 => ratio * math::sqrt(ratio),
            _ => (-self.exponent * ratio.log2()).exp2(),
        }
    }

    /// The reach of a search in the two directions, for a radius (on the sphere an arc's).
    #[inline(always)]
    pub fn reach_within(&self, radius: f64, limited: bool) -> [f64; 2] {
        if !limited {
            return [radius; 2];
        }
        if self.is_sphere() {
            return [f64::min(radius, self.reach[1]); 2];
        }
        [f64::min(radius, self.extent[0]), f64::min(radius, self.extent[1])]
    }

    /// Whether a place, seen from the target, is in the ellipse, if there is one.
    #[inline(always)]
    pub fn is_inside(&self, dx: f64, dy: f64) -> bool {
        let [xx, xy, yy] = self.ellipse;
        xx <= 0.0 || xx * dx * dx + xy * dx * dy + yy * dy * dy <= 1.0
    }

    /// The squared distance, as candidates have it, within which a radius holds every point.
    #[inline(always)]
    pub fn certain(&self, radius: f64) -> f64 {
        if !self.is_sphere() {
            return radius * radius;
        }
        // The chord of the arc, from below: c^2 = 2 - 2 cos(r) >= r^2 - r^4 / 12.
        let square = radius * radius;
        if radius > 3.0 { 3.9 } else { f64::max(0.0, square - square * square / 12.0) }
    }

    /// The radius that a candidate at a squared distance needs.
    #[inline(always)]
    pub fn radius_of(&self, squared: f64) -> f64 {
        if self.is_sphere() {
            arc_of_squared_chord(squared) * 1.000001 + 1e-9
        } else {
            math::sqrt(squared) * 1.000001
        }
    }
}

impl TargetPlace {
    /// Returns the place of target `index`; on the sphere `vectors` has three columns of places.
    #[inline(always)]
    pub fn new(index: u64, targets: &Targets<'_>, vectors: Option<In<'_, f64>>) -> Self {
        let n = targets.count;
        let [x, y] = targets.at(index);
        let place = match vectors {
            None => [x, y, 0.0],
            Some(vectors) => [0, n, 2 * n].map(|axis| vectors.get(index + axis)),
        };
        Self { index, x, y, place, on_sphere: vectors.is_some() }
    }

    /// Whether the coordinates are a place; around other coordinates, no box would ever grow to the whole index.
    #[inline(always)]
    pub fn is_place(&self) -> bool {
        f64::abs(self.x) < f64::INFINITY && f64::abs(self.y) < f64::INFINITY
    }
}

impl CellBox {
    /// The part within a radius of the target, in the plane.
    #[inline(always)]
    pub fn round(self, radius: f64, sphere: bool) -> Self {
        if sphere { self } else { Self { radius, ..self } }
    }
}

impl<'a> Index<'a> {
    /// The index of `points` points.
    #[inline(always)]
    pub fn new(sorted: Sorted<'a>, points: u32) -> Self {
        Self { cells: sorted.plan.get(0u32).cells(), sorted, points }
    }

    /// The index of the point at a position of the sorted order.
    #[inline(always)]
    pub fn point(&self, position: u32) -> u32 {
        self.sorted.order.get(position)
    }

    /// The cells within `reach` of a target: in the plane on the ground, on the sphere in radians.
    #[inline(always)]
    pub fn cells_within(&self, target: &TargetPlace, reach: [f64; 2], sphere: bool) -> CellBox {
        let (c, radius) = (&self.cells, f64::INFINITY);
        // A little more than that, so that no rounding leaves out a point on the edge.
        let slack = c.side * 0.001;
        let degrees = 180.0 / core::f64::consts::PI;
        let up = if sphere { reach[1] * degrees } else { reach[1] } + slack;
        let (first_row, last_row) = (c.row(target.y - up), c.row(target.y + up));
        let all_rows = first_row == 0 && last_row == c.rows - 1;
        if !sphere {
            let side = reach[0] + slack;
            let columns = [c.column(target.x - side), c.column(target.x + side)];
            let whole = all_rows && columns[0] == 0 && columns[1] == c.columns - 1;
            return CellBox {
                first_row,
                last_row,
                columns: [columns, [0, 0]],
                runs: 1,
                whole,
                radius,
            };
        }
        // The widest longitude of a cap: sin(dlon) = sin(reach) / cos(latitude).
        let [px, py, _] = target.place;
        let sine = f64::min(reach[0] * 1.000001, 1.0);
        let ratio = sine * sine / f64::max(px * px + py * py, 1e-30);
        let half = (4.0 * ratio).arc_of_squared_chord() * 0.5 * degrees + slack;
        // Beyond a right angle, over a pole, or around the world: every column.
        let pole = up + f64::max(target.y, -target.y) >= 89.999;
        if pole || ratio >= 0.999 || half >= 180.0 || reach[0] >= 1.5 {
            let columns = [[0, c.columns - 1], [0, 0]];
            return CellBox { first_row, last_row, columns, runs: 1, whole: all_rows, radius };
        }
        let (from, to) = (target.x - half, target.x + half);
        let mut found = CellBox {
            first_row,
            last_row,
            columns: [[c.column(from), c.column(to)], [0, 0]],
            runs: 1,
            whole: false,
            radius,
        };
        if from < -180.0 {
            found.columns = [[0, c.column(to)], [c.column(from + 360.0), c.columns - 1]];
            found.runs = 2;
        } else if to > 180.0 {
            found.columns = [[c.column(from), c.columns - 1], [0, c.column(to - 360.0)]];
            found.runs = 2;
        }
        if found.runs == 2 {
            // Two runs that meet would visit a cell twice.
            let (low, high) = if from < -180.0 { (0, 1) } else { (1, 0) };
            if found.columns[low & 1][1] >= found.columns[high & 1][0] {
                found.columns[0] = [0, c.columns - 1];
                found.runs = 1;
                found.whole = all_rows;
            }
        }
        found
    }

    /// The square of the distance of the point at a position of the sorted order.
    #[inline(always)]
    pub fn squared(&self, target: &TargetPlace, position: u32) -> f64 {
        let (i, n, places) = (position as usize, self.points as usize, self.sorted.places);
        let dx = places.get(i) - target.place[0];
        let dy = places.get(i + n) - target.place[1];
        let squared = dx * dx + dy * dy;
        if !target.on_sphere {
            return squared;
        }
        let dz = places.get(i + 2 * n) - target.place[2];
        squared + dz * dz
    }

    /// The sorted points of run `run` of a row of a box.
    #[inline(always)]
    fn run(&self, cells: &CellBox, target: &TargetPlace, row: u32, run: u32) -> [u32; 2] {
        let [mut from, mut to] = if run == 0 { cells.columns[0] } else { cells.columns[1] };
        if cells.radius < f64::INFINITY {
            let c = &self.cells;
            let (y, [low, high]) = (target.y - c.south, c.strip(row));
            let away = f64::max(0.0, f64::max(low - y, y - high));
            let square = cells.radius * cells.radius - away * away;
            // The slack of a box.
            let half = math::sqrt(f64::max(square, 0.0)) + c.side * 0.001;
            from = u32::max(from, c.column(target.x - half));
            to = u32::min(to, c.column(target.x + half));
            if away > cells.radius || from > to {
                return [0, 0];
            }
        }
        let (row, starts) = (row as usize * self.cells.columns as usize, self.sorted.starts);
        [starts.get(row + from as usize), starts.get(row + to as usize + 1)]
    }

    /// How many points a box holds.
    #[inline(always)]
    fn count(&self, cells: &CellBox, target: &TargetPlace) -> u32 {
        let mut count = 0;
        let mut row = cells.first_row;
        while row <= cells.last_row {
            let mut run = 0;
            while run < cells.runs {
                let [from, to] = self.run(cells, target, row, run);
                count += to - from;
                run += 1;
            }
            row += 1;
        }
        count
    }

    /// Shows every candidate of a box that the search may take.
    #[inline(always)]
    pub fn visit(
        &self,
        cells: &CellBox,
        target: &TargetPlace,
        search: &Search,
        limited: bool,
        mut see: impl FnMut(Candidate),
    ) {
        let sphere = search.is_sphere();
        let [reach, _] = search.reach;
        let reach = if limited { reach * reach } else { f64::INFINITY };
        let (n, places) = (self.points as usize, self.sorted.places);
        let mut row = cells.first_row;
        while row <= cells.last_row {
            let mut run = 0;
            while run < cells.runs {
                let [mut at, end] = self.run(cells, target, row, run);
                while at < end {
                    let i = at as usize;
                    let dx = places.get(i) - target.place[0];
                    let dy = places.get(i + n) - target.place[1];
                    let mut squared = dx * dx + dy * dy;
                    let mut quadrant = (dx >= 0.0) as u32 | ((dy >= 0.0) as u32) << 1;
                    if sphere {
                        let place = [0, n, 2 * n].map(|plane| places.get(i + plane));
                        let dz = place[2] - target.place[2];
                        squared += dz * dz;
                        quadrant = sphere::quadrant(place, target.place);
                    }
                    let mut counts = squared <= reach;
                    if limited {
                        counts = counts && search.is_inside(dx, dy);
                    }
                    if search.leaves_out {
                        counts = counts && self.point(at) as u64 != target.index;
                    }
                    if counts {
                        see(Candidate { at, squared, quadrant });
                    }
                    at += 1;
                }
                run += 1;
            }
            row += 1;
        }
    }

    /// Returns the radius, found by a box of cells, that holds about `wanted` points.
    #[inline(always)]
    pub fn first_radius(&self, target: &TargetPlace, wanted: u32, sphere: bool) -> Start {
        let degree = core::f64::consts::PI / 180.0;
        let mut half = if sphere { self.cells.side * degree } else { self.cells.side };
        // Far outside the index the box widens until it reaches it.
        let mut cells = self.cells_within(target, [half; 2], sphere);
        let mut count = self.count(&cells, target);
        let mut is_widened = false;
        while count < wanted && !cells.whole {
            half *= 2.0;
            cells = self.cells_within(target, [half; 2], sphere);
            count = self.count(&cells, target);
            is_widened = true;
        }
        if is_widened && !sphere && count / TOO_MANY > wanted {
            // The points begin suddenly, so their density says nothing. Find the least box that holds enough: to within
            // a cell or, far away, to within a share of the box.
            let (mut low, mut step) = (0.5 * half, 0);
            while half - low > self.cells.side && step < 10 {
                let middle = 0.5 * (low + half);
                let cells = self.cells_within(target, [middle; 2], sphere);
                if self.count(&cells, target) < wanted {
                    low = middle
                } else {
                    half = middle
                }
                step += 1;
            }
            return Start { radius: half, half };
        }
        let wanted = wanted as f64;
        let wanted = wanted + 2.0 * math::sqrt(wanted) + 1.0;
        // The box is wider than that, by half a cell on each side.
        let side = 2.0 * half + if sphere { self.cells.side * degree } else { self.cells.side };
        let share = wanted / (f64::max(count as f64, 1.0) * core::f64::consts::PI);
        Start { radius: f64::min(side * math::sqrt(share), half * 2.0), half }
    }
}
