//! Predicates against big integers.

use kernels_rs::stars::predicates::Predicates;
use proptest::prelude::*;
use testing::Random;

use crate::exact::{self, P};

/// Checks all predicates of four places, multiples of `2^unit`, in every order.
fn check(unit: i32, places: [P; 4]) {
    let predicates = Predicates::new(unit);
    for order in 0..24 {
        let mut left = vec![0, 1, 2, 3];
        let mut take = |radix: usize, weight: usize| left.remove(order / weight % radix);
        let [a, b, c, d] = [take(4, 6), take(3, 2), take(2, 1), take(1, 1)].map(|i| places[i]);
        let side = predicates.orientation(a, b, c);
        assert_eq!(side, exact::orientation(a, b, c), "{a:?} {b:?} {c:?}");
        assert_eq!(predicates.nearer(a, b, c), exact::nearer(a, b, c), "{a:?} {b:?} {c:?}");
        let inside = exact::in_circle(a, b, c, d);
        assert_eq!(predicates.in_circle(a, b, c, d), inside, "{a:?} {b:?} {c:?} {d:?}");
        let are_different = (0..4).all(|i| (0..i).all(|j| places[i] != places[j]));
        if side > 0 && inside != 0 {
            assert_eq!(predicates.is_inside(a, b, c, d), inside > 0);
        } else if side > 0 && are_different {
            let is_inside = predicates.is_inside(a, b, c, d);
            assert_eq!(is_inside, fan([a, b, c, d]), "{a:?} {b:?} {c:?} {d:?}");
        }
    }
}

/// Whether the last of four places on one circle is inside, by the rule that their polygon is a fan around the first
/// place by x, then by y. It is inside if the triangle of the other three is not part of the fan.
fn fan(places: [P; 4]) -> bool {
    let [a, b, c, d] = places;
    let mut ordered = places;
    ordered.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    let first = ordered[0];
    // A triangle of the fan has the first place, and no other one between its far corners.
    let has_between = |p: P, q: P| exact::orientation(p, q, d) != exact::orientation(p, q, first);
    match first {
        _ if first == d => true,
        _ if first == a => has_between(b, c),
        _ if first == b => has_between(c, a),
        _ => has_between(a, b),
    }
}

#[test]
fn random_places_are_decided_as_by_big_integers() {
    let mut random = Random::new(3);
    for _ in 0..800 {
        check(
            -60,
            std::array::from_fn(|_| [0; 2].map(|_| whole(random.between(-1e3, 1e3), 2e-13))),
        );
    }
}

/// A number near the given one that is a multiple of a power of two of about the unit.
fn whole(value: f64, unit: f64) -> f64 {
    let unit = unit.log2().floor().exp2();
    (value / unit).round() * unit
}

#[test]
fn lattices_are_decided_and_divided_as_the_rule_says() {
    for unit in [-250, -3, 0, 7, 248] {
        let step = 2f64.powi(unit);
        for i in 0..3_u32.pow(8) {
            let place =
                |k: u32| [f64::from(i / 3_u32.pow(k) % 3), f64::from(i / 3_u32.pow(k + 1) % 3)];
            if i % 7 == unit.unsigned_abs() % 7 {
                check(unit, [0, 2, 4, 6].map(|k| place(k).map(|v| v * step)));
            }
        }
    }
}

#[test]
fn corners_of_rectangles_tie_and_an_ulp_decides() {
    let mut random = Random::new(5);
    let mut number = || whole(random.between(-1e3, 1e3), 2e-13);
    for i in 0..200 {
        let [west, south, east, north] = [number(), number(), number(), number()];
        let mut corners = [[west, south], [east, south], [east, north], [west, north]];
        check(-60, corners);
        corners[i % 4][i / 4 % 2] += whole(1.0, 2e-13) * 2f64.powi(-43);
        check(-60, corners);
    }
}

#[test]
fn rational_points_of_circles_tie() {
    // (m^2 - n^2, 2 m n) times what makes the radius the same for all.
    let radius = [(2_u64, 1_u64), (3, 2), (4, 1), (5, 2), (6, 1)];
    let length: u64 = radius.iter().map(|(m, n)| m * m + n * n).product();
    let mut places = Vec::new();
    for (m, n) in radius {
        let scale = length / (m * m + n * n);
        let [x, y] = [(m * m - n * n) * scale, 2 * m * n * scale].map(|v| v as f64);
        places.extend([[x, y], [-x, y], [x, -y], [-x, -y], [y, x], [-y, x], [y, -x], [-y, -x]]);
    }
    let mut random = Random::new(5);
    let mut ties = 0;
    for _ in 0..800 {
        let mut any = || places[random.below(places.len() as u64) as usize];
        let four: [P; 4] = std::array::from_fn(|_| any());
        ties += i32::from(exact::in_circle(four[0], four[1], four[2], four[3]) == 0);
        check(0, four);
        // Elsewhere, and one unit beside.
        let moved = four.map(|[x, y]| [x + 1e12, y - 3e13]);
        check(0, moved);
        check(0, [moved[0], moved[1], moved[2], [moved[3][0] + 1.0, moved[3][1]]]);
    }
    assert!(ties == 800);
}

#[test]
fn places_in_line_are_in_line() {
    let mut random = Random::new(7);
    for _ in 0..1000 {
        let [dx, dy] = [0; 2].map(|_| random.between(-9.0, 9.0).round());
        let mut on = || {
            let part = random.between(-1e6, 1e6).round();
            [1e9 + part * dx, -1e10 + part * dy]
        };
        let places: [P; 4] = std::array::from_fn(|_| on());
        check(0, places);
    }
}

#[test]
fn far_places_with_small_differences_are_decided() {
    let mut random = Random::new(9);
    for _ in 0..800 {
        // A unit of 2^-29 is 1.9e-9; 1e7 has 24 bits before the point.
        let place = [0; 2].map(|_| 1e7 + random.below(4) as f64 * 2f64.powi(-29));
        let mut near = || [0, 1].map(|i| place[i] + random.below(5) as f64 * 2f64.powi(-29));
        check(-29, [place, near(), near(), near()]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(700))]

    #[test]
    fn numbers_of_any_size_within_the_range_are_decided(
        parts in prop::array::uniform8((-(1_i64 << 53)..1 << 53, -250..197_i32, 0..40_u32)),
        few in any::<bool>(),
    ) {
        let number = |(significand, exponent, short): (i64, i32, u32)| {
            let exponent = if few { exponent.rem_euclid(3) } else { exponent };
            (significand >> short) as f64 * 2f64.powi(exponent)
        };
        let n = parts.map(number);
        check(-250, [[n[0], n[1]], [n[2], n[3]], [n[4], n[5]], [n[6], n[7]]]);
    }
}
