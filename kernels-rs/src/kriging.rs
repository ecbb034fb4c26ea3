//! Ordinary kriging of the nearest points: crate `kriging`.
//!
//! 1. [`find_neighbours`](mod@search::find_neighbours): the nearest points of each target, in the R-tree of the points
//!    ([`rtree`](crate::rtree)): their positions in the order of the tree, an entry of all targets after the other.
//! 2. [`solve_by_thread`](mod@by_thread::solve_by_thread) or [`solve_by_warp`](mod@by_warp::solve_by_warp): the
//!    system of each target, its value and its variance.
//!
//! # The system
//!
//! The covariances of n neighbours, and those of each with the target, are divided by the sill: correlations, 1 at
//! distance 0 ([`correlation`]). Of their matrix R = L L' the Cholesky factor is made row by row. Three more rows are
//! solved with it:
//!
//! ```text
//! L u = 1    ones
//! L v = c    the correlations of the neighbours with the target
//! L w = z    their values, less the value at the nearest place
//!
//! lagrange = (1 - u'v) / u'u
//! value    = value at the nearest place + v'w + lagrange u'w
//! variance = sill (1 - v'v + lagrange (1 - u'v))
//! ```
//!
//! Every element is `(element - L[i][0] L[j][0] - L[i][1] L[j][1] - ..) / L[j][j]`, its terms subtracted in this order
//! one by one; so it has the same bits whoever makes it. A neighbour that those before it determine is left out
//! ([`system::pivot`]): the reciprocal of its pivot is 0, so nothing that comes after it depends on it.

#[cfg(feature = "kriging")]
pub mod arguments;
#[cfg(feature = "kriging")]
pub mod by_thread;
#[cfg(feature = "kriging")]
pub mod by_warp;
pub mod correlation;
#[cfg(feature = "kriging")]
pub mod search;
pub mod system;

#[cfg(feature = "kriging")]
device_std::ptx_module! { "kriging" }
