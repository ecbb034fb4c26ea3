//! Point clouds of every kind that an index or a search has found hard, one generator each.
//!
//! ```
//! for cloud in testing::clouds::all(1000, 1) {
//!     assert_eq!(cloud.len(), 1000, "{}", cloud.name);
//! }
//! ```
//!
//! A generator takes the number of points and a seed. Its points lie in the square from 0 to [`SIDE`], the one that
//! [`stray`] puts elsewhere and the tails of heaps excepted. Values are those of [`height`].
//! Points lie in the order in which a survey gives them: along lines, and elsewhere in no order.
//! The number of tracks, cross-sections and strokes is such that points lie far closer along a line than lines lie apart.

use std::f64::consts::TAU;

use crate::{Cloud, Random};

/// The edge of the square that points lie in.
pub const SIDE: f64 = 1000.0;

/// A generator: of the number of points and a seed.
pub type Generator = fn(usize, u64) -> Cloud;

/// Every generator.
pub const GENERATORS: [Generator; 18] = [
    uniform,
    lattice,
    heaps,
    nested_heaps,
    contours,
    tracks,
    sections,
    zigzag,
    axis_line,
    oblique_line,
    circle,
    annulus,
    corridor,
    two_clusters,
    stray,
    one_place,
    half_at_one_place,
    scanner_ground,
];

/// Every cloud of the list with that many points. The iterator makes each as it reaches it.
pub fn all(points: usize, seed: u64) -> impl Iterator<Item = Cloud> {
    GENERATORS.into_iter().map(move |generator| generator(points, seed))
}

/// The value of a point: smooth, and from 60 to 140 wherever the point lies.
pub fn height(x: f64, y: f64) -> f64 {
    100.0 + 20.0 * (x / 130.0).sin() + 15.0 * (y / 170.0).cos() + 5.0 * ((x - y) / 90.0).sin()
}

/// The cloud of a place for each point's number.
fn each(name: &'static str, points: usize, mut place: impl FnMut(usize) -> (f64, f64)) -> Cloud {
    let places = (0..points).map(|i| {
        let (x, y) = place(i);
        (x, y, height(x, y))
    });
    Cloud { name, ..Cloud::of(places) }
}

/// Random numbers of [0, 1) in ascending order.
fn ascending(points: usize, random: &mut Random) -> Vec<f64> {
    let mut parts: Vec<f64> = (0..points).map(|_| random.unit()).collect();
    parts.sort_unstable_by(f64::total_cmp);
    parts
}

/// How many of up to `most` lines points are on: the points of a line lie some `ratio * ratio` times closer than lines.
fn lines(points: usize, ratio: f64, most: f64) -> f64 {
    ((points as f64).sqrt() / ratio).floor().clamp(2.0, most)
}

/// For point `i` of `points` on that many lines, returns the number of its line, and which part of that line lies
/// before it.
fn along(i: usize, points: usize, lines: f64) -> (f64, f64) {
    let part = lines * i as f64 / points as f64;
    (part.floor(), part.fract())
}

/// Independent and uniform.
pub fn uniform(points: usize, seed: u64) -> Cloud {
    let mut random = Random::new(seed);
    each("uniform", points, |_| (random.between(0.0, SIDE), random.between(0.0, SIDE)))
}

/// A lattice in no order, its last row perhaps incomplete. Its step is a power of two, so that distances tie exactly.
pub fn lattice(points: usize, seed: u64) -> Cloud {
    let mut random = Random::new(seed);
    let columns = (points as f64).sqrt().ceil().max(1.0);
    let step = (SIDE / columns).log2().floor().exp2();
    let mut order: Vec<usize> = (0..points).collect();
    for i in (1..points).rev() {
        order.swap(i, random.below(i as u64 + 1) as usize);
    }
    each("lattice", points, |i| {
        let (i, columns) = (order[i], columns as usize);
        (step * (i % columns) as f64, step * (i / columns) as f64)
    })
}

/// The points of a lattice whose spacing is not a short number, so that four lie on a circle but for rounding, in any
/// order.
pub fn rounded_lattice(points: usize, seed: u64) -> Cloud {
    let short = lattice(points, seed);
    let columns = (points as f64).sqrt().ceil().max(1.0);
    let step = SIDE / columns;
    let stretch = step / step.log2().floor().exp2();
    each("rounded lattice", points, |i| (stretch * short.x[i], stretch * short.y[i]))
}

/// 60 heaps of the normal distribution, of widths from 0.01 to 20.
pub fn heaps(points: usize, seed: u64) -> Cloud {
    let mut random = Random::new(seed);
    let heaps: [[f64; 3]; 60] = std::array::from_fn(|_| {
        let width = 10f64.powf(random.between(-2.0, 1.3));
        [random.between(0.0, SIDE), random.between(0.0, SIDE), width]
    });
    each("heaps", points, |_| {
        let [x, y, width] = heaps[random.below(60) as usize];
        (x + width * random.normal(), y + width * random.normal())
    })
}

/// A heap within a heap within a heap: each a thousand times smaller than the one before, with as many points.
pub fn nested_heaps(points: usize, seed: u64) -> Cloud {
    let mut random = Random::new(seed);
    each("nested heaps", points, |_| {
        let width = 100.0 * 1e-3f64.powi(random.below(3) as i32);
        (0.4 * SIDE + width * random.normal(), 0.6 * SIDE + width * random.normal())
    })
}

/// Contour lines of [`height`]: the points are evenly spaced along them.
pub fn contours(points: usize, seed: u64) -> Cloud {
    const CELLS: usize = 100;
    let mut random = Random::new(seed);
    let interval = interval(points);
    // Where lines cross the triangles into which a diagonal divides each cell of a lattice.
    let node = |column: usize, row: usize| {
        let (x, y) = (SIDE * column as f64 / CELLS as f64, SIDE * row as f64 / CELLS as f64);
        [x, y, height(x, y)]
    };
    let mut segments = Vec::new();
    for (column, row) in (0..CELLS * CELLS).map(|cell| (cell % CELLS, cell / CELLS)) {
        let (low, high) = (node(column, row), node(column + 1, row + 1));
        for third in [node(column + 1, row), node(column, row + 1)] {
            segments.extend(crossings([low, high, third], interval));
        }
    }
    let length = |&[a, b]: &[[f64; 2]; 2]| (b[0] - a[0]).hypot(b[1] - a[1]);
    let step = segments.iter().map(|(_, segment)| length(segment)).sum::<f64>() / points as f64;
    let (mut at, mut start) = (0, 0.0);
    each("contours", points, |i| {
        let place = (i as f64 + random.unit()) * step;
        while at + 1 < segments.len() && start + length(&segments[at].1) < place {
            start += length(&segments[at].1);
            at += 1;
        }
        let (level, segment @ [a, b]) = segments[at];
        let part = ((place - start) / length(&segment)).min(1.0);
        onto(level, a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1]))
    })
}

/// The difference in height between contour lines, such that the points of a line lie at least ten times closer than
/// lines.
fn interval(points: usize) -> f64 {
    (5e5 / points as f64).sqrt().clamp(2.0, 16.0)
}

/// The levels whose lines cross a triangle of places with heights, and where each enters and leaves it.
fn crossings(
    mut corners: [[f64; 3]; 3],
    interval: f64,
) -> impl Iterator<Item = (f64, [[f64; 2]; 2])> {
    corners.sort_unstable_by(|a, b| a[2].total_cmp(&b[2]));
    let [low, middle, high] = corners;
    let levels = (low[2] / interval).ceil() as i32..(high[2] / interval).ceil() as i32;
    levels.map(move |level| {
        let level = interval * f64::from(level);
        let on = |[ax, ay, az]: [f64; 3], [bx, by, bz]: [f64; 3]| {
            let part = (level - az) / (bz - az);
            [ax + part * (bx - ax), ay + part * (by - ay)]
        };
        let short = if level < middle[2] { on(low, middle) } else { on(middle, high) };
        (level, [on(low, high), short])
    })
}

/// The place on a level's line near the given one, by Newton's method along the gradient.
fn onto(level: f64, mut x: f64, mut y: f64) -> (f64, f64) {
    for _ in 0..5 {
        let tilt = ((x - y) / 90.0).cos() / 18.0;
        let (dx, dy) = ((x / 130.0).cos() / 6.5 + tilt, -(y / 170.0).sin() * 15.0 / 170.0 - tilt);
        // At a summit there is no direction: the place stays.
        let step = (level - height(x, y)) / (dx * dx + dy * dy).max(1e-6);
        (x, y) = (x + step * dx, y + step * dy);
    }
    (x, y)
}

/// Soundings along the winding tracks of a ship.
pub fn tracks(points: usize, seed: u64) -> Cloud {
    let mut random = Random::new(seed);
    let tracks = lines(points, 10.0, 40.0);
    each("tracks", points, |i| {
        let (track, part) = along(i, points, tracks);
        let wind = 2.0 * (SIDE * part / 90.0 + track).sin();
        (SIDE * part, SIDE * (track + 0.5) / tracks + wind + 0.05 * random.normal())
    })
}

/// Cross-sections of a river, evenly sampled.
pub fn sections(points: usize, _: u64) -> Cloud {
    let sections = lines(points, 4.0, 100.0);
    each("sections", points, |i| {
        let (section, part) = along(i, points, sections);
        let river = SIDE * (section + 0.25) / sections;
        let bank = 300.0 + 80.0 * (river / 90.0).sin();
        (river + 3.0 * section.sin() + 5.0 * part, bank + 60.0 * part)
    })
}

/// One line to and fro, evenly sampled, with nine strokes.
pub fn zigzag(points: usize, _: u64) -> Cloud {
    each("zigzag", points, |i| {
        let part = i as f64 / points as f64;
        (SIDE * (part * 9.0 % 2.0 - 1.0).abs(), SIDE * part)
    })
}

/// A straight line along the axis of x.
pub fn axis_line(points: usize, seed: u64) -> Cloud {
    let parts = ascending(points, &mut Random::new(seed));
    each("axis line", points, |i| (SIDE * parts[i], 0.4 * SIDE))
}

/// A straight line that is parallel to no axis, so that rounding puts its points beside it.
pub fn oblique_line(points: usize, seed: u64) -> Cloud {
    let parts = ascending(points, &mut Random::new(seed));
    each("oblique line", points, |i| (SIDE * parts[i], 0.7 * SIDE * parts[i] + 100.0))
}

/// A circle.
pub fn circle(points: usize, seed: u64) -> Cloud {
    let parts = ascending(points, &mut Random::new(seed));
    each("circle", points, |i| around(0.45 * SIDE, parts[i]))
}

/// An annulus a thousandth as wide as the square.
pub fn annulus(points: usize, seed: u64) -> Cloud {
    let mut random = Random::new(seed);
    let parts = ascending(points, &mut random);
    each("annulus", points, |i| around((0.45 + 0.001 * random.unit()) * SIDE, parts[i]))
}

/// The place at a distance from the middle of the square, that part of a turn from the east.
fn around(radius: f64, part: f64) -> (f64, f64) {
    let (sin, cos) = (TAU * part).sin_cos();
    (0.5 * SIDE + radius * cos, 0.5 * SIDE + radius * sin)
}

/// A corridor 1200 long and 4 wide, 40 degrees from the axis of x.
pub fn corridor(points: usize, seed: u64) -> Cloud {
    let mut random = Random::new(seed);
    let (sin, cos) = 40f64.to_radians().sin_cos();
    each("corridor", points, |_| {
        let (along, across) = (random.between(0.0, 1.2 * SIDE), random.between(0.0, 0.004 * SIDE));
        (20.0 + along * cos - across * sin, 20.0 + along * sin + across * cos)
    })
}

/// Two clusters a million times farther apart than each is wide.
pub fn two_clusters(points: usize, seed: u64) -> Cloud {
    let mut random = Random::new(seed);
    each("two clusters", points, |_| {
        let corner = [0.2, 0.8][random.below(2) as usize] * SIDE;
        let mut place = || corner + random.between(0.0, 0.6e-6 * SIDE);
        (place(), place())
    })
}

/// Uniform, but for the last point, which lies at 1e12, 1e12.
pub fn stray(points: usize, seed: u64) -> Cloud {
    let mut random = Random::new(seed);
    each("stray", points, |i| match i + 1 == points {
        true => (1e12, 1e12),
        false => (random.between(0.0, SIDE), random.between(0.0, SIDE)),
    })
}

/// All at one place.
pub fn one_place(points: usize, _: u64) -> Cloud {
    each("one place", points, |_| (0.3 * SIDE, 0.7 * SIDE))
}

/// About half at one place, the others uniform, in no order.
pub fn half_at_one_place(points: usize, seed: u64) -> Cloud {
    let mut random = Random::new(seed);
    each("half at one place", points, |_| match random.below(2) {
        0 => (0.3 * SIDE, 0.7 * SIDE),
        _ => (random.between(0.0, SIDE), random.between(0.0, SIDE)),
    })
}

/// The ground around a scanner: the density falls with the square of the distance, over five powers of ten.
pub fn scanner_ground(points: usize, seed: u64) -> Cloud {
    let mut random = Random::new(seed);
    each("scanner ground", points, |_| {
        let radius = 0.45 * SIDE * 1e-5f64.powf(random.unit());
        around(radius, random.unit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cloud_has_as_many_points_as_asked_for_and_those_of_its_seed() {
        for points in [0, 1, 2, 3, 1000] {
            for (cloud, again) in all(points, 5).zip(all(points, 5)) {
                assert_eq!(cloud.len(), points, "{}", cloud.name);
                let all = cloud.x.iter().chain(&cloud.y).chain(&cloud.z);
                assert!(all.clone().all(|v| v.is_finite()), "{}", cloud.name);
                let others = again.x.iter().chain(&again.y).chain(&again.z);
                assert!(all.eq(others), "{}", cloud.name);
            }
        }
        let mut names: Vec<_> = all(1, 5).map(|cloud| cloud.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), GENERATORS.len());
    }

    #[test]
    fn contours_lie_on_their_lines_and_evenly_along_them() {
        let cloud = contours(20_000, 7);
        let mut in_tenths = [0; 10];
        for i in 0..cloud.len() {
            let level = cloud.z[i] / interval(20_000);
            assert!((level - level.round()).abs() < 1e-6, "{} at {i}", cloud.z[i]);
            in_tenths[(cloud.x[i] / 100.0).clamp(0.0, 9.0) as usize] += 1;
        }
        assert!(in_tenths.iter().all(|&count| count > 1000), "{in_tenths:?}");
        let levels: std::collections::BTreeSet<_> =
            cloud.z.iter().map(|z| z.round() as i64).collect();
        assert!((10..=16).contains(&levels.len()), "{levels:?}");
    }

    #[test]
    fn clouds_are_as_uneven_as_they_say() {
        let width = |v: &[f64]| {
            let fold = |f: fn(f64, f64) -> f64, start| v.iter().copied().fold(start, f);
            fold(f64::max, f64::MIN) - fold(f64::min, f64::MAX)
        };
        let clusters = two_clusters(1000, 3);
        let (west, east): (Vec<f64>, Vec<f64>) = clusters.x.iter().partition(|&&x| x < 500.0);
        assert!(west.len() > 400 && east.len() > 400);
        let ratio = width(&clusters.x) / width(&west).max(width(&east));
        assert!((0.99e6..1.05e6).contains(&ratio), "{ratio}");
        let half = half_at_one_place(1000, 3);
        let there = half.x.iter().filter(|&&x| x == 300.0).count();
        assert!((400..600).contains(&there), "{there}");
        assert_eq!((width(&axis_line(9, 3).y), width(&one_place(9, 3).x)), (0.0, 0.0));
        let nested = nested_heaps(3000, 3);
        let within = |radius: f64| nested.x.iter().filter(|&&x| (x - 400.0).abs() < radius).count();
        assert!(within(1e-3) > 900 && within(1.0) > 1900 && within(1.0) < 2200);
    }
}
