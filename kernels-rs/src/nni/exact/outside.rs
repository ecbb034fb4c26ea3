//! Which places lie outside the hull of the sites.
//!
//! There a cell has no end, and is clipped within a [window](super::scene). A search finds that out by itself, but goes by
//! every site that the place sees before it does: along a line of points these are all.
//!
//! Plan:
//!
//! 1. The outermost sites in [`DIRECTIONS`] directions are found.
//! 2. Sites that are clearly inside of the polygon of these are left out. Next to nothing is left of most clouds.
//! 3. Seen from a place outside the hull the others take less than half a turn, from a rightmost to a leftmost one, between
//!    which and the place no other lies: these bound the opening of the place's cell. The outermost come first: from most
//!    places inside the hull they alone take more.

use super::polygon::{cross, diverge};

/// Directions in which the outermost sites are looked for.
pub const DIRECTIONS: u32 = 16;

/// Sites are clearly inside of an edge where they are farther from it than this, in lengths of the ways from its end to
/// its other and to the site.
const CLEARLY: f64 = 1e-9;

/// Direction `k`; they go round counterclockwise.
#[inline(always)]
pub fn direction(k: u32) -> [f64; 2] {
    let along = (k % 4) as f64 - 2.0;
    match k / 4 % 4 {
        0 => [2.0, along],
        1 => [-along, 2.0],
        2 => [-2.0, -along],
        _ => [along, -2.0],
    }
}

/// How far out a site lies on a way, but for what `f32` takes from it, then the site: of two the greater is the outer one.
#[inline(always)]
pub fn outwardness(direction: [f64; 2], way: [f64; 2], site: u32) -> i64 {
    let reach = direction[0] * way[0] + direction[1] * way[1];
    let bits = (reach.clamp(-1e30, 1e30) as f32).to_bits() as i32;
    // Of negative numbers the bits are the greater the smaller these are.
    let ordered = if bits < 0 { bits ^ i32::MAX } else { bits };
    (ordered as i64) << 32 | site as i64
}

/// The site of an [`outwardness`].
#[inline(always)]
pub fn site_of(outwardness: i64) -> u32 {
    outwardness as u32
}

/// Whether a site is clearly inside of the polygon of the outermost ones, `outermost(k)` in direction `k`. These go round,
/// whatever else rounding made of them; some may be the same.
#[inline(always)]
pub fn is_clearly_inside(site: [f64; 2], outermost: impl Fn(u32) -> [f64; 2]) -> bool {
    let (mut has_edges, mut k) = (false, 0);
    let mut from = outermost(DIRECTIONS - 1);
    while k < DIRECTIONS {
        let to = outermost(k);
        let edge = [to[0] - from[0], to[1] - from[1]];
        let way = [site[0] - from[0], site[1] - from[1]];
        let length = edge[0].abs() + edge[1].abs();
        if length > 0.0 {
            has_edges = true;
            // What is no number is not inside.
            let is_inside = cross(edge, way) > CLEARLY * length * (way[0].abs() + way[1].abs());
            if !is_inside {
                return false;
            }
        }
        from = to;
        k += 1;
    }
    has_edges
}

/// The sites that are seen from a place, while they take less than half a turn: the first, and the rightmost and the
/// leftmost.
pub struct Seen {
    first: [f64; 2],
    right: [f64; 2],
    left: [f64; 2],
}

impl Seen {
    /// One site alone.
    #[inline(always)]
    pub fn one(way: [f64; 2]) -> Self {
        Self { first: way, right: way, left: way }
    }

    /// Takes one more; `false` where they take half a turn then, or more.
    #[inline(always)]
    pub fn meet(&mut self, way: [f64; 2]) -> bool {
        let turn = cross(self.first, way);
        if turn > 0.0 && cross(self.left, way) > 0.0 {
            self.left = way;
        } else if turn < 0.0 && cross(self.right, way) < 0.0 {
            self.right = way;
        } else {
            let is_behind = self.first[0] * way[0] + self.first[1] * way[1] < 0.0;
            return !(turn == 0.0 && is_behind);
        }
        cross(self.right, self.left) > 0.0
    }

    /// Whether the cell of the place opens by more than an angle.
    #[inline(always)]
    pub fn opens(&self, angle: f64) -> bool {
        diverge(self.left, self.right, angle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(angle: f64) -> [f64; 2] {
        [angle.cos(), angle.sin()]
    }

    #[test]
    fn directions_go_round_once() {
        let turns = (0..DIRECTIONS).map(|k| {
            let (a, b) = (direction(k), direction((k + 1) % DIRECTIONS));
            let turn = cross(a, b).atan2(a[0] * b[0] + a[1] * b[1]);
            assert!(turn > 0.2, "from {a:?} to {b:?}");
            turn
        });
        assert!((turns.sum::<f64>() - std::f64::consts::TAU).abs() < 1e-12);
    }

    #[test]
    fn the_outermost_site_is_that_of_the_greatest_reach() {
        let places = [[-3.0, 1.0], [-2.0, 7.0], [5.0, -4.0], [0.5, 0.25], [-1e300, 1e300]];
        for k in 0..DIRECTIONS {
            let u = direction(k);
            let reach = |[x, y]: [f64; 2]| u[0] * x + u[1] * y;
            let all = places[..4].iter().zip(0..).map(|(&place, i)| outwardness(u, place, i));
            let outermost = places[site_of(all.max().unwrap()) as usize];
            assert!(places[..4].iter().all(|&place| reach(place) <= reach(outermost)), "{u:?}");
        }
        assert!(outwardness([2.0, -2.0], places[4], 4) < outwardness([2.0, -2.0], places[0], 0));
    }

    #[test]
    fn sites_on_the_hull_are_never_left_out_and_most_others_are() {
        let place = |i: u32| {
            let part = |by: f64| (f64::from(i) * by).fract();
            [part(754.877_666_246_69) * 9.0 + 5e6, part(569.840_290_998_05) * 4.0]
        };
        let places: Vec<_> = (0..3000).map(place).collect();
        let outermost: Vec<_> = (0..DIRECTIONS)
            .map(|k| {
                let way = |i: u32| [places[i as usize][0] - 5e6, places[i as usize][1]];
                let of = |i: u32| outwardness(direction(k), way(i), i);
                places[site_of((0..3000).map(of).max().unwrap()) as usize]
            })
            .collect();
        let mut kept = 0;
        for &[x, y] in &places {
            let is_kept = !is_clearly_inside([x, y], |k| outermost[k as usize]);
            kept += u32::from(is_kept);
            // A corner of the hull has all others on one side.
            let is_corner = (0..360).any(|i| {
                let u = way(f64::from(i).to_radians());
                let beyond = |p: &[f64; 2]| (p[0] - x) * u[0] + (p[1] - y) * u[1] <= 0.0;
                places.iter().all(beyond)
            });
            assert!(is_kept || !is_corner, "{x}, {y} is left out");
        }
        assert!(kept < 300, "{kept}");
        assert!(!is_clearly_inside([1.0, 1.0], |_| [0.0, 0.0]), "one site has no inside");
    }

    #[test]
    fn sites_within_less_than_half_a_turn_leave_an_opening() {
        for first in [0.0, 1.0, 3.0, 5.5] {
            for (from, to, opens) in [
                (-0.3, 2.8, true),
                (-3.1, 0.04, true),
                (-1.0, 2.2, false),
                (-2.5, 2.5, false),
                (0.0, 3.13, true),
                (-3.15, 0.0, false),
            ] {
                let mut seen = Seen::one(way(first));
                let mut angles = (0..=20).map(|i| {
                    let part = f64::from(i * 8 % 21) / 20.0;
                    first + from + (to - from) * part
                });
                let is_open = angles.all(|angle| seen.meet(way(angle)));
                assert_eq!(is_open && seen.opens(1e-9), opens, "{first}: {from} to {to}");
            }
        }
        let mut seen = Seen::one([1.0, 0.0]);
        assert!(seen.meet([2.0, 0.0]) && seen.opens(1e-9), "in line, seen from an end");
        assert!(!seen.meet([-1.0, 0.0]), "in line, seen from between");
    }
}
