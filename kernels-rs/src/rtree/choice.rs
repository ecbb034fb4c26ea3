//! Which points count for a place: all of them, or those of an ellipse, by quadrants, or all but one.

use super::descent::Tree;
use super::group::Group;
use super::layout::NONE;
use crate::spatial::place::{Bounds, Place};
use crate::spatial::sphere::{WEST, quadrant};

/// Which points count for the lane's place, and in which of `LISTS` lists each goes.
pub trait Choice<const LISTS: usize, const D: usize = 2>: Copy {
    /// Whether every point counts, in one list.
    const IS_ALL: bool;

    /// The list of a point; `LISTS` for a point that does not count.
    fn list<T: Place>(&self, tree: &Tree<'_, T, D>, position: u32) -> u32;

    /// Whether a box may hold a point that counts and whose squared distance, as bits, is below that of its list.
    fn wants(&self, group: &Group<D>, bounds: Bounds<f32, D>, below: [u32; LISTS]) -> bool;
}

/// Every point.
#[derive(Clone, Copy)]
pub struct All;

impl<const D: usize> Choice<1, D> for All {
    const IS_ALL: bool = true;

    #[inline(always)]
    fn list<T: Place>(&self, _: &Tree<'_, T, D>, _: u32) -> u32 {
        0
    }

    #[inline(always)]
    fn wants(&self, group: &Group<D>, bounds: Bounds<f32, D>, [below]: [u32; 1]) -> bool {
        group.gap_of_lane(bounds).to_bits() < below
    }
}

/// All points of the globe but one. With four lists those of each quadrant.
#[derive(Clone, Copy)]
pub struct OnGlobe {
    /// The unit vector of the lane's place.
    pub place: [f64; 3],
    /// The index of the point that does not count, or [`NONE`].
    pub except: u32,
}

impl<const LISTS: usize> Choice<LISTS, 3> for OnGlobe {
    const IS_ALL: bool = false;

    #[inline(always)]
    fn list<T: Place>(&self, tree: &Tree<'_, T, 3>, position: u32) -> u32 {
        match self.except != NONE && tree.order.get(position) == self.except {
            true => LISTS as u32,
            false if LISTS == 1 => 0,
            false => quadrant(tree.place(position), self.place),
        }
    }

    #[inline(always)]
    fn wants(&self, group: &Group<3>, bounds: Bounds<f32, 3>, below: [u32; LISTS]) -> bool {
        let squared = group.gap_of_lane(bounds).to_bits();
        if LISTS == 1 {
            return squared < below[0];
        }
        let [least, greatest] = bounds;
        let [x, y, z] = group.place;
        // A vector turns to the east by `place.x * y - place.y * x`, which is 0 for the place itself. f32 loses less than
        // the slack.
        let [px, py, _] = self.place.map(|along| along as f32);
        let (low, high) = ([least[0] - x, least[1] - y], [greatest[0] - x, greatest[1] - y]);
        let far = x.abs() + y.abs() + low[0].abs() + low[1].abs() + high[0].abs() + high[1].abs();
        let slack = 1e-6 * far + 2.0 * WEST as f32 * group.origin.scale() as f32;
        let [to_low, to_high] = [low, high].map(|[dx, dy]| [-py * dx, px * dy]);
        let turn = |choose: fn(f32, f32) -> f32| {
            choose(to_low[0], to_high[0]) + choose(to_low[1], to_high[1])
        };
        let (is_east, is_west) = (turn(f32::max) + slack >= 0.0, turn(f32::min) - slack <= 0.0);
        // f32 keeps the order of coordinates.
        let (is_north, is_south) = (greatest[2] >= z, least[2] <= z);
        let (mut wants, mut i) = (false, 0);
        while i < LISTS {
            let is_across = if i & 1 != 0 { is_east } else { is_west };
            let is_along = if i & 2 != 0 { is_north } else { is_south };
            wants |= is_across && is_along && squared < below[i];
            i += 1;
        }
        wants
    }
}

/// The points of an ellipse, all but one of them. With four lists the points of each quadrant.
#[derive(Clone, Copy)]
pub struct InEllipse {
    /// The lane's place.
    pub place: [f64; 2],
    /// xx, xy, yy of the form that is at most 1 inside the ellipse; zeros for no ellipse.
    pub ellipse: [f64; 3],
    /// The half sides of the ellipse's bounding box, as [`Group::reach_along`] has them.
    pub extent: [f32; 2],
    /// The index of the point that does not count, or [`NONE`].
    pub except: u32,
}

impl<const LISTS: usize> Choice<LISTS> for InEllipse {
    const IS_ALL: bool = false;

    #[inline(always)]
    fn list<T: Place>(&self, tree: &Tree<'_, T>, position: u32) -> u32 {
        let dx = tree.x.get(position).widened() - self.place[0];
        let dy = tree.y.get(position).widened() - self.place[1];
        let [xx, xy, yy] = self.ellipse;
        let is_inside = xx <= 0.0 || xx * dx * dx + xy * dx * dy + yy * dy * dy <= 1.0;
        let is_excepted = self.except != NONE && tree.order.get(position) == self.except;
        match is_inside && !is_excepted {
            false => LISTS as u32,
            true if LISTS == 1 => 0,
            true => (dx >= 0.0) as u32 | ((dy >= 0.0) as u32) << 1,
        }
    }

    /// f32 keeps the order of coordinates, so a box around a point of a quadrant reaches into that quadrant in f32 too.
    #[inline(always)]
    fn wants(&self, group: &Group, bounds: Bounds<f32, 2>, below: [u32; LISTS]) -> bool {
        let squared = group.gap_of_lane(bounds).to_bits();
        let [[west, south], [east, north]] =
            bounds.map(|corner| [corner[0] - group.place[0], corner[1] - group.place[1]]);
        let [width, height] = self.extent;
        let is_near = west <= width && east >= -width && south <= height && north >= -height;
        if LISTS == 1 {
            return is_near && squared < below[0];
        }
        let (mut wants, mut quadrant) = (false, 0);
        while quadrant < LISTS {
            let is_across = if quadrant & 1 != 0 { east >= 0.0 } else { west <= 0.0 };
            let is_along = if quadrant & 2 != 0 { north >= 0.0 } else { south <= 0.0 };
            wants |= is_across && is_along && squared < below[quadrant];
            quadrant += 1;
        }
        is_near && wants
    }
}
