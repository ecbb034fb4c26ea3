//! Rings in the plane.

use robust::{Coord, orient2d};

/// Whether two closed rings, with their interiors, have a place in common.
pub fn meets(a: &[[f64; 2]], b: &[[f64; 2]]) -> bool {
    let ([low, high], [from, to]) = (extent(a), extent(b));
    if (0..2).any(|k| low[k] > to[k] || from[k] > high[k]) {
        return false;
    }
    // Where no edges meet, a ring lies on one side of the other.
    let first = |ring: &[[f64; 2]]| ring.first().copied();
    first(b).is_some_and(|place| holds(a, place))
        || first(a).is_some_and(|place| holds(b, place))
        || edges_meet(a, b, [from, to])
}

/// The least and the greatest coordinates.
pub fn extent(ring: &[[f64; 2]]) -> [[f64; 2]; 2] {
    let none = [[f64::INFINITY; 2], [f64::NEG_INFINITY; 2]];
    ring.iter().fold(none, |[low, high], place| {
        [[0, 1].map(|k| low[k].min(place[k])), [0, 1].map(|k| high[k].max(place[k]))]
    })
}

/// Returns twice the area of a ring, above 0 if it goes counterclockwise.
pub fn area(ring: &[[f64; 2]]) -> f64 {
    let Some(&[x, y]) = ring.first() else { return 0.0 };
    let cross = |ends: &[[f64; 2]]| {
        (ends[0][0] - x) * (ends[1][1] - y) - (ends[1][0] - x) * (ends[0][1] - y)
    };
    ring.windows(2).map(cross).sum()
}

/// Which side of a line a place is on: 1, 0 or -1, exact.
fn side(from: [f64; 2], to: [f64; 2], place: [f64; 2]) -> i32 {
    let [a, b, c] = [from, to, place].map(|[x, y]| Coord { x, y });
    let turn = orient2d(a, b, c);
    i32::from(turn > 0.0) - i32::from(turn < 0.0)
}

/// Whether a ring goes round a place an odd number of times.
pub fn holds(ring: &[[f64; 2]], place: [f64; 2]) -> bool {
    let crossings = ring.windows(2).filter(|ends| {
        let is_above = |end: [f64; 2]| end[1] > place[1];
        match [is_above(ends[0]), is_above(ends[1])] {
            [false, true] => side(ends[0], ends[1], place) > 0,
            [true, false] => side(ends[1], ends[0], place) > 0,
            _ => false,
        }
    });
    crossings.count() % 2 == 1
}

/// Whether edges of both have a place in common; `reach` is what the second lies in.
fn edges_meet(a: &[[f64; 2]], b: &[[f64; 2]], reach: [[f64; 2]; 2]) -> bool {
    let beside = |p: &[[f64; 2]], q: &[[f64; 2]]| {
        (0..2).any(|k| {
            p[0][k].max(p[1][k]) < q[0][k].min(q[1][k])
                || q[0][k].max(q[1][k]) < p[0][k].min(p[1][k])
        })
    };
    let meet = |p: &[[f64; 2]], q: &[[f64; 2]]| {
        !beside(p, q)
            && side(p[0], p[1], q[0]) * side(p[0], p[1], q[1]) <= 0
            && side(q[0], q[1], p[0]) * side(q[0], q[1], p[1]) <= 0
    };
    a.windows(2).filter(|p| !beside(p, &reach)).any(|p| b.windows(2).any(|q| meet(p, q)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(x: f64, y: f64, half: f64) -> Vec<[f64; 2]> {
        let (w, s, e, n) = (x - half, y - half, x + half, y + half);
        vec![[w, s], [e, s], [e, n], [w, n], [w, s]]
    }

    #[test]
    fn rings_meet_where_they_overlap_or_touch() {
        let one = square(0.0, 0.0, 10.0);
        for (other, expected) in [
            (square(0.0, 0.0, 5.0), true),
            (square(0.0, 0.0, 20.0), true),
            (square(8.0, 3.0, 5.0), true),
            (square(15.0, 0.0, 5.0), true),
            (square(20.0, 20.0, 10.0), true),
            (square(20.0, 20.0, 9.9), false),
            (square(-30.0, 0.0, 5.0), false),
            (vec![[-20.0, 3.0], [20.0, 3.0], [20.0, 4.0], [-20.0, 4.0], [-20.0, 3.0]], true),
            // In a corner of the rectangle around a triangle.
            (vec![[10.0, 10.1], [10.1, 10.0], [30.0, 30.0], [10.0, 10.1]], false),
        ] {
            assert_eq!(meets(&one, &other), expected, "{other:?}");
            assert_eq!(meets(&other, &one), expected, "{other:?}");
        }
        let triangle = [[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [0.0, 0.0]];
        assert!(!meets(&triangle, &square(8.0, 8.0, 1.0)));
        assert!(meets(&triangle, &square(5.5, 5.5, 0.5)));
    }
}
