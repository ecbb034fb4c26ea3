//! Which points count for a place: all of them, or those of an ellipse, by quadrants, or all but one.

use super::descent::Tree;
use super::group::Group;
use crate::spatial::place::Place;

/// Stands for a point where there is none.
pub const NONE: u32 = u32::MAX;

/// Which points count for the lane's place, and in which of `LISTS` lists each goes.
pub trait Choice<const LISTS: usize>: Copy {
    /// Whether every point counts, in one list.
    const IS_ALL: bool;

    /// The list of a point; `LISTS` for a point that does not count.
    fn list<T: Place>(&self, tree: &Tree<'_, T>, position: u32) -> u32;

    /// Whether a box may hold a point that counts and whose squared distance, as bits, is below that of its list.
    fn wants(&self, group: &Group, bounds: [f32; 4], below: [u32; LISTS]) -> bool;
}

/// Every point.
#[derive(Clone, Copy)]
pub struct All;

impl Choice<1> for All {
    const IS_ALL: bool = true;

    #[inline(always)]
    fn list<T: Place>(&self, _: &Tree<'_, T>, _: u32) -> u32 {
        0
    }

    #[inline(always)]
    fn wants(&self, group: &Group, bounds: [f32; 4], [below]: [u32; 1]) -> bool {
        group.gap_of_lane(bounds).to_bits() < below
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
    fn wants(&self, group: &Group, bounds: [f32; 4], below: [u32; LISTS]) -> bool {
        let squared = group.gap_of_lane(bounds).to_bits();
        let [west, south, east, north] =
            [bounds[0] - group.x, bounds[1] - group.y, bounds[2] - group.x, bounds[3] - group.y];
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
