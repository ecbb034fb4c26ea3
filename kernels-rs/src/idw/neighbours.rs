//! Neighbours: the points near each target, in the plane and on the globe.
//!
//! A warp takes 32 targets that lie side by side, and walks down the R-tree of the points once for all of them
//! ([`rtree`](crate::rtree)). On the globe the tree has the points' unit vectors, and distances are chords.
//!
//! 1. Up to 64 nearest points of each target, or 16 of each quadrant, go into lists: [`warp_search`]. They are added
//!    nearest first, of equal distances the lower index first.
//! 2. For more, [`many`] keeps nothing. It counts the points within some distances, until it knows the distance within
//!    which the neighbours lie. A last walk adds them up, in the order of the tree.
//!
//! Distances are squares of differences in f64. They are the same on every back end, so all find the same neighbours; of
//! equal distances the lower index wins.
//!
//! Weights are powers of the distance, or a kernel function of it: [`weighing`]. The adaptive power of each target
//! follows from its neighbours' distances: [`powers`].

#[cfg(feature = "idw_globe")]
pub mod globe;
pub mod many;
#[cfg(feature = "idw_neighbours")]
pub mod plane;
#[cfg(feature = "idw_neighbours")]
pub mod powers;
mod results;
mod turns;
pub mod warp_search;
pub mod weighing;

use device_std::{arguments, math};

pub use results::{Results, Values};

/// Which points are neighbours of a target, and how many.
#[arguments]
pub struct Limits {
    /// The farthest distance, or infinity; on the globe as a chord.
    pub reach: f64,
    /// The half sides of the box of everything within reach, in the plane.
    pub extent: [f64; 2],
    /// xx, xy, yy of the form that is at most 1 inside the ellipse; zeros for no ellipse.
    pub ellipse: [f64; 3],
    /// 1 where target `i` leaves point `i` out, else 0.
    pub leaves_out: u32,
    /// 1 where neighbours count by quadrants, else 0.
    pub by_quadrants: u32,
    /// The most neighbours.
    pub max_points: u32,
    /// With fewer a target has too few.
    pub min_points: u32,
    /// The most of each quadrant.
    pub max_per_quadrant: u32,
    /// With fewer in any quadrant a target has too few.
    pub min_per_quadrant: u32,
}

impl Limits {
    /// How many points a search wants: of each quadrant, or of all.
    #[inline(always)]
    fn of_list(&self) -> u32 {
        u32::max(u32::min(self.max_points, self.max_per_quadrant), self.min_per_quadrant)
    }

    /// No neighbour is farther than this.
    #[inline(always)]
    fn widest(&self) -> f64 {
        let [x, y] = self.extent;
        // The corner of the ellipse's box.
        if self.ellipse[0] > 0.0 { math::sqrt(x * x + y * y) } else { self.reach }
    }
}

#[cfg(feature = "idw_neighbours")]
device_std::ptx_module! { "idw_neighbours" }
