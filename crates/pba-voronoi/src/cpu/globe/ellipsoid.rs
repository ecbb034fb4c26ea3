//! Nearest sites on the WGS 84 ellipsoid.
//!
//! **Rows.** A geodesic from a place to a parallel grows with the difference in longitude of its ends. As its end moves
//! along the parallel, the length grows by the cosine of the angle between the two. This cosine is not negative as long
//! as the geodesic is a shortest path and leads that way. So in a row of sites, the candidate is the same as on the
//! sphere.
//!
//! **Columns.** On an ellipsoid of revolution, the border between two sites may cross a column more than once, so
//! winners' rows may go back. But lengths are close to those on the sphere. A step of latitude has
//! M = a (1 - e2) / (1 - e2 sin^2 phi)^(3/2) metres a radian, and one of longitude N cos(phi),
//! N = a / (1 - e2 sin^2 phi)^(1/2). The sphere of radius 1 has 1 and cos(phi). Both M and N are at least [`LEAST`], so a
//! curve on the ellipsoid is at least [`LEAST`] times as long as the same curve on the sphere. Likewise a geodesic is at
//! least [`LEAST`] times the arc. So a candidate is farther if its arc times [`LEAST`] is more than the length of a known
//! geodesic. All others are measured; they are few, since M and N are at most 1.0102 times [`LEAST`].

#[cfg(feature = "ellipsoid")]
use geographiclib_rs::{Geodesic, InverseGeodesic};
#[cfg(feature = "ellipsoid")]
use kernels_rs::spatial::sphere::sine_cosine;

use super::columns::Scratch;
use crate::cpu::rows::Column;
use crate::globe::Tables;

/// The least metres of a radian on the ellipsoid: M at the equator, rounded down.
#[cfg(feature = "ellipsoid")]
const LEAST: f64 = 6_335_439.32;

/// Where geodesics are measured.
#[cfg(feature = "ellipsoid")]
pub(super) struct Ellipsoid(Geodesic);

/// Without the feature there is none.
#[cfg(not(feature = "ellipsoid"))]
pub(super) enum Ellipsoid {}

#[cfg(not(feature = "ellipsoid"))]
impl Ellipsoid {
    pub fn measure<C: Column>(&self, _: usize, _: u32, _: &mut Scratch<C>, _: &Tables) {
        match *self {}
    }
}

#[cfg(feature = "ellipsoid")]
impl Ellipsoid {
    pub fn new() -> Self {
        Self(Geodesic::wgs84())
    }

    /// Replaces a column's winners by the winners along geodesics, and h by their lengths.
    pub fn measure<C: Column>(
        &self,
        lane: usize,
        x: u32,
        scratch: &mut Scratch<C>,
        tables: &Tables,
    ) {
        let height = scratch.gaps.len();
        let candidates = &scratch.candidates[lane * height..][..height];
        let winners = &mut scratch.winners[lane * height..][..height];
        let pixels = winners.iter_mut().zip(&mut scratch.squares).enumerate();
        for (row, (winner, h)) in pixels.filter(|(_, (_, h))| **h != 0.0 && h.is_finite()) {
            let cosine = tables.cosine[row];
            let along = &scratch.along[height - 1 - row..];
            let length = |other: u32| {
                let east = tables.difference(x, candidates[other as usize].number());
                let to = tables.latitudes[other as usize];
                self.0.inverse(tables.latitudes[row], 0.0, to, east)
            };
            let nearest = *winner;
            let mut least: (f64, u32) = (length(nearest), nearest);
            let mut most = largest_square(least.0) + tables.slack;
            let reach = tables.along.partition_point(|&along| along <= most);
            let window = (row + 1).saturating_sub(reach)..(row + reach).min(height);
            let parts = along[window.clone()].iter().zip(&scratch.gaps[window.clone()]);
            for (other, (along, gap)) in window.zip(parts) {
                // In a row without sites it is infinite, and at a pole it is NaN.
                let is_near = along + cosine * gap <= most;
                if !is_near || other as u32 == nearest {
                    continue;
                }
                let found = (length(other as u32), other as u32);
                if found < least {
                    least = found;
                    most = largest_square(least.0) + tables.slack;
                }
            }
            (*h, *winner) = least;
        }
    }
}

/// The largest h of a site to which a geodesic of some length may lead.
#[cfg(feature = "ellipsoid")]
fn largest_square(length: f64) -> f64 {
    // More than lengths are rounded by, which nanometres are.
    let arc = (length + 1e-6) / LEAST;
    if arc >= std::f64::consts::PI {
        return 1.0;
    }
    let [sine, _] = sine_cosine(0.5 * arc.to_degrees());
    sine * sine
}
