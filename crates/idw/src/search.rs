//! The limits of a search for neighbours, in the form that both back ends take.

use kernels_rs::spatial::sphere;

use crate::ground::RADIUS;
use crate::{Params, TooFewPoints};

/// If a radius holds more points than these, its points are summed without a list.
const MANY: u32 = 256;

/// The limits of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Search {
    /// The most points; `u32::MAX` for no limit.
    pub max_points: u32,
    pub min_points: u32,
    pub max_per_quadrant: u32,
    pub min_per_quadrant: u32,
    pub quadrants: bool,
    pub too_few_points: TooFewPoints,
    /// The farthest distance: on the ground; on the sphere the chord. Infinite where there is no limit.
    pub reach: f64,
    /// The farthest distance on the sphere as an angle.
    pub arc: f64,
    pub ellipse: Option<Ellipse>,
    /// Half the sides of the box around everything within reach.
    pub extent: [f64; 2],
    /// The most points of a target's list; sums over more points need no list.
    pub many: usize,
}

/// A place at (dx, dy) is inside where `xx dx^2 + xy dx dy + yy dy^2 <= 1`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ellipse {
    pub xx: f64,
    pub xy: f64,
    pub yy: f64,
}

impl Ellipse {
    /// Whether a place at (dx, dy) from the middle is inside.
    #[inline(always)]
    pub fn holds(&self, dx: f64, dy: f64) -> bool {
        self.xx * dx * dx + self.xy * dx * dy + self.yy * dy * dy <= 1.0
    }

    /// Whether every place of a box of differences, from dx to dx and from dy to dy, is inside, however it is rounded.
    pub fn covers(&self, [x, y]: [[f64; 2]; 2]) -> bool {
        let Self { xx, xy, yy } = *self;
        // The form is convex: it is greatest at a corner of the box.
        let is_inside = |[dx, dy]: [f64; 2]| {
            let rounding = 1e-14 * (xx * dx * dx + (xy * dx * dy).abs() + yy * dy * dy);
            xx * dx * dx + xy * dx * dy + yy * dy * dy + rounding <= 1.0
        };
        [[x[0], y[0]], [x[0], y[1]], [x[1], y[0]], [x[1], y[1]]].into_iter().all(is_inside)
    }

    /// Whether no place of a box of differences, from dx to dx and from dy to dy, is inside, however it is rounded.
    pub fn misses(&self, [x, y]: [[f64; 2]; 2]) -> bool {
        let Self { xx, xy, yy } = *self;
        let form = |dx: f64, dy: f64, xy: f64| xx * dx * dx + xy * dx * dy + yy * dy * dy;
        let [far_x, far_y] = [x, y].map(|[low, high]| f64::max(-low, high));
        let rounding = 1e-14 * form(far_x, far_y, xy.abs());
        // Around the middle the form is convex: it is least there, or else on an edge of the box.
        let holds_middle = x[0] <= 0.0 && x[1] >= 0.0 && y[0] <= 0.0 && y[1] >= 0.0;
        let across = x.map(|dx| form(dx, (-xy * dx / (2.0 * yy)).clamp(y[0], y[1]), xy));
        let along = y.map(|dy| form((-xy * dy / (2.0 * xx)).clamp(x[0], x[1]), dy, xy));
        // What is not a number misses nothing.
        let is_outside = |least: f64| least - rounding > 1.0;
        !holds_middle && across.into_iter().chain(along).all(is_outside)
    }
}

impl Search {
    /// The search that checked parameters describe.
    pub fn of(params: &Params) -> Self {
        let no_limit = |count: u32| if count == 0 { u32::MAX } else { count };
        let mut search = Self {
            max_points: no_limit(params.max_points),
            min_points: params.min_points,
            max_per_quadrant: no_limit(params.max_points_per_quadrant),
            min_per_quadrant: params.min_points_per_quadrant,
            quadrants: params.has_quadrants(),
            too_few_points: params.too_few_points,
            reach: f64::INFINITY,
            arc: f64::INFINITY,
            ellipse: None,
            extent: [f64::INFINITY; 2],
            many: usize::MAX,
        };
        if params.are_summed_within() {
            search.many = MANY.max(params.min_points) as usize;
        }
        let (a, b) = (params.radius1, params.radius2);
        if a == 0.0 {
            return search;
        }
        if params.geographic {
            search.arc = a / RADIUS;
            search.reach = sphere::squared_chord_of_arc(search.arc).sqrt();
        } else if a == b {
            (search.reach, search.extent) = (a, [a; 2]);
        } else {
            let (sin, cos) = params.angle.to_radians().sin_cos();
            let (p, q) = (1.0 / (a * a), 1.0 / (b * b));
            search.ellipse = Some(Ellipse {
                xx: cos * cos * p + sin * sin * q,
                xy: 2.0 * sin * cos * (p - q),
                yy: sin * sin * p + cos * cos * q,
            });
            search.extent = [(a * cos).hypot(b * sin), (a * sin).hypot(b * cos)];
        }
        search
    }

    /// Returns the search of [`TooFewPoints::Nearest`]: it takes a number of points at any distance.
    pub fn fallback(&self) -> u32 {
        let of_quadrants = if self.quadrants { self.min_per_quadrant.saturating_mul(4) } else { 0 };
        self.min_points.max(of_quadrants).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ellipse_turns_counter_clockwise() {
        let params = Params::default().radius1(4.0).radius2(1.0).angle(30.0);
        let search = Search::of(&params);
        let e = search.ellipse.unwrap();
        let form = |x: f64, y: f64| e.xx * x * x + e.xy * x * y + e.yy * y * y;
        let (sin, cos) = 30f64.to_radians().sin_cos();
        assert!((form(4.0 * cos, 4.0 * sin) - 1.0).abs() < 1e-12);
        assert!((form(-sin, cos) - 1.0).abs() < 1e-12);
        assert!(search.extent[0] >= 4.0 * cos && search.extent[1] >= 4.0 * sin);
    }

    #[test]
    fn a_box_misses_the_ellipse_where_none_of_its_places_is_inside() {
        let params = Params::default().radius1(4.0).radius2(0.5).angle(-35.0);
        let ellipse = Search::of(&params).ellipse.unwrap();
        let (mut missed, mut covered) = (0, 0);
        for i in 0..40_000u32 {
            let at = |k: u32| f64::from(i / 20u32.pow(k) % 20) * 0.5 - 5.0;
            let (low, side) = ([at(0), at(1)], [0.3 * f64::from(i % 7), 0.2 * f64::from(i % 11)]);
            let within = |share: [f64; 2]| [0, 1].map(|axis| low[axis] + side[axis] * share[axis]);
            let shares = (0..441).map(|k| [f64::from(k % 21) / 20.0, f64::from(k / 21) / 20.0]);
            let holds = shares.clone().map(within).any(|[dx, dy]| ellipse.holds(dx, dy));
            let sides = [0, 1].map(|axis| [low[axis], low[axis] + side[axis]]);
            let (misses, covers) = (ellipse.misses(sides), ellipse.covers(sides));
            assert!(!(holds && misses), "{low:?} {side:?}");
            assert!(!covers || shares.map(within).all(|[dx, dy]| ellipse.holds(dx, dy)));
            (missed, covered) = (missed + u32::from(misses), covered + u32::from(covers));
        }
        assert!(missed > 30_000 && covered > 200, "{missed} {covered}");
        // Where squares underflow or overflow, nothing is missed that counts.
        for radius in [1e-130, 1e200] {
            let ellipse = Search::of(&params.radius1(radius).radius2(1.0)).ellipse.unwrap();
            assert!(!ellipse.misses([[-1e140, 1e140], [0.0, 1e140]]));
        }
    }
}
