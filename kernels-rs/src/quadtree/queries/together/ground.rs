//! The part of the plane that a turn looks at.

use device_std::{math, warp};

use super::super::ground::{Cell, EPSILON};
use crate::spatial::frame::Frame;
use crate::spatial::keys::ENDLESS;

/// How the warp sees the places of a turn: from the leader's, with the radius of its circle as unit.
pub(super) struct View {
    pub(super) origin: [f64; 2],
    pub(super) radius: f64,
    per_radius: f64,
    pub(super) takes_part: bool,
    /// The lane's place and the radius of its circle.
    pub(super) x: f32,
    pub(super) y: f32,
    circle: f32,
}

impl View {
    /// That of the first of the lanes in `waiting`.
    ///
    /// # Safety
    /// The whole warp comes to the same call; some lane waits, and those that do have a place and a radius.
    #[inline(always)]
    pub(super) unsafe fn new(
        place: [f64; 2],
        radius: f64,
        waits: bool,
        waiting: u32,
        reach: f32,
    ) -> Self {
        let leader = waiting.trailing_zeros();
        // SAFETY: passed on to the caller.
        unsafe {
            let origin = place.map(|along| warp::shuffle(warp::FULL, along, leader));
            let unit = warp::shuffle(warp::FULL, radius, leader);
            let mut view = Self {
                origin,
                radius: unit,
                per_radius: 1.0 / unit,
                takes_part: false,
                x: 0.0,
                y: 0.0,
                circle: 0.0,
            };
            let [x, y] = view.seen(place);
            let circle = (radius * view.per_radius) as f32;
            let widest = 1.0 + 0.5 * reach;
            let is_near = f32::abs(x) <= reach && f32::abs(y) <= reach && circle <= widest;
            if waits && is_near {
                (view.takes_part, view.x, view.y, view.circle) = (true, x, y, circle);
            }
            view
        }
    }

    /// A place as it is seen from the origin.
    #[inline(always)]
    pub(super) fn seen(&self, [x, y]: [f64; 2]) -> [f32; 2] {
        [
            ((x - self.origin[0]) * self.per_radius) as f32,
            ((y - self.origin[1]) * self.per_radius) as f32,
        ]
    }

    /// What the keys of points in the lane's circle are below; of all points, where the ground has no end.
    #[inline(always)]
    pub(super) fn limit(&self, ground: &Ground) -> u32 {
        if !self.takes_part {
            0
        } else if ground.is_whole() {
            ENDLESS
        } else {
            (self.circle * self.circle).to_bits() & !1023
        }
    }
}

/// What the circles of a turn cover, and a little more: what is in the box of the circles, and no farther from the box of
/// the places than the widest circle reaches; everything, where the box reaches the ends of the tree.
pub(super) struct Ground {
    /// Columns and rows of the box of the circles.
    columns: [u32; 2],
    rows: [u32; 2],
    /// The box of the circles, in radii from the leader.
    low: [f32; 2],
    high: [f32; 2],
    /// The box of the places, too.
    inner_low: [f32; 2],
    inner_high: [f32; 2],
    /// The widest circle, in radii.
    circle: f32,
    /// The box of the places in columns and rows.
    first: [f64; 2],
    last: [f64; 2],
    /// The sides of a cell of the deepest level in radii, a little less.
    sides: [f64; 2],
    deepest: u32,
}

/// What rounding may take from a circle, in radii of the leader's, is far less than this.
pub(super) const SLACK: f32 = 1e-5;

impl Ground {
    /// That of a view.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub(super) unsafe fn new(frame: &Frame, view: &View) -> Self {
        // The lanes that take no part stand at the leader's place.
        let circle = view.circle + SLACK;
        let along = [view.x, view.y];
        // SAFETY: passed on to the caller.
        let (mut low, mut high, inner_low, inner_high, mut circle) = unsafe {
            (
                along.map(|along| warp::reduce(along - circle, f32::min)),
                along.map(|along| warp::reduce(along + circle, f32::max)),
                along.map(|along| warp::reduce(along, f32::min)),
                along.map(|along| warp::reduce(along, f32::max)),
                warp::reduce(circle, f32::max),
            )
        };
        // Outward by more than rounding may move it.
        let at = |axis: usize, along: f32, sign: f64| {
            let at = view.origin[axis] + along as f64 * view.radius;
            at + sign * EPSILON * f64::abs(at)
        };
        let columns = [frame.column(at(0, low[0], -1.0)), frame.column(at(0, high[0], 1.0))];
        let rows = [frame.row(at(1, low[1], -1.0)), frame.row(at(1, high[1], 1.0))];
        let end = ((1u64 << frame.level) - 1) as u32;
        if columns[0] == 0 && columns[1] == end && rows[0] == 0 && rows[1] == end {
            (low, high) = ([f32::NEG_INFINITY; 2], [f32::INFINITY; 2]);
            circle = f32::INFINITY;
        }
        let per_unit = [frame.columns_per_unit, frame.rows_per_unit];
        let corner = [frame.west, frame.south];
        // As for `Origin`: less, or more, than rounding may have made of it.
        let position = |axis: usize, along: f32, sign: f64| {
            let origin = (view.origin[axis] - corner[axis]) * per_unit[axis];
            let along = along as f64 * view.radius * per_unit[axis];
            let cells = (1u64 << frame.level) as f64;
            origin + along + sign * (f64::abs(origin) + f64::abs(along) + cells) * EPSILON
        };
        let side = |per_unit: f64| f64::min(view.per_radius / per_unit, f64::MAX) * (1.0 - EPSILON);
        Self {
            columns,
            rows,
            low,
            high,
            inner_low,
            inner_high,
            circle,
            first: [position(0, inner_low[0], -1.0), position(1, inner_low[1], -1.0)],
            last: [position(0, inner_high[0], 1.0), position(1, inner_high[1], 1.0)],
            sides: per_unit.map(side),
            deepest: frame.level,
        }
    }

    /// Whether a cell has a part of it.
    #[inline(always)]
    pub(super) fn meets(&self, cell: Cell) -> bool {
        let below = self.deepest - cell.level;
        let [west, east] = self.columns.map(|column| column >> below);
        let [south, north] = self.rows.map(|row| row >> below);
        let is_in_box =
            cell.column >= west && cell.column <= east && cell.row >= south && cell.row <= north;
        let size = (1u64 << below) as f64;
        let gap = |axis: usize, number: u32| {
            let first = number as f64 * size;
            let beside = f64::max(first - self.last[axis], self.first[axis] - (first + size));
            (f64::max(0.0, beside) * self.sides[axis]) as f32
        };
        is_in_box && self.is_within(gap(0, cell.column), gap(1, cell.row))
    }

    /// Whether it holds a point, which is seen from the leader at a place.
    #[inline(always)]
    pub(super) fn holds(&self, [x, y]: [f32; 2]) -> bool {
        let is_in_box =
            x >= self.low[0] && x <= self.high[0] && y >= self.low[1] && y <= self.high[1];
        let gap = |axis: usize, along: f32| {
            f32::max(0.0, f32::max(self.inner_low[axis] - along, along - self.inner_high[axis]))
        };
        is_in_box && self.is_within(gap(0, x), gap(1, y))
    }

    /// Whether what lies so far from the box of the places may be in a circle.
    #[inline(always)]
    pub(super) fn is_within(&self, dx: f32, dy: f32) -> bool {
        math::mul_add_f32(dy, dy, dx * dx) <= self.circle * self.circle
    }

    /// Whether it is much wider than the leader's circle, so that it is smaller with fewer places.
    #[inline(always)]
    pub(super) fn is_wide(&self) -> bool {
        let [across, along] = [0, 1].map(|axis| self.inner_high[axis] - self.inner_low[axis]);
        f32::max(across, along) > 1.0 || self.circle > 1.5
    }

    /// Whether it holds all points.
    #[inline(always)]
    pub(super) fn is_whole(&self) -> bool {
        self.circle == f32::INFINITY
    }
}
