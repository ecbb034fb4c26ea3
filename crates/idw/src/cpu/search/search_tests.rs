//! Tests searches for all kinds of point sets: their results, against the definition, and their cost, in visits to
//! points and nodes. Other work on the machine does not change these counts.

use std::f64::consts::TAU;

use gpu_core::{Bounds, GridSpec, Points};
use kernels_rs::spatial::sphere;
use testing::Random;

use crate::cpu::f64_value;
use crate::cpu::index::Index;
use crate::cpu::search::patches::Patches;
use crate::points::Data;
use crate::search::Search;
use crate::{Params, Targets, TooFewPoints};

type Cloud = (&'static str, Vec<[f64; 2]>);

/// Clouds of this many points in the plane; the first are even.
fn clouds(count: usize) -> Vec<Cloud> {
    let mut random = Random::new(11);
    let side = (count as f64 / 2.0).sqrt();
    let mut of = |name: &'static str, place: &dyn Fn(usize, [f64; 3]) -> [f64; 2]| {
        let mut unit = || [random.unit(), random.unit(), random.normal()];
        (name, (0..count).map(|i| place(i, unit())).collect())
    };
    let turned = |degrees: f64, x: f64, y: f64| {
        let (sin, cos) = f64::to_radians(degrees).sin_cos();
        [x * cos - y * sin, x * sin + y * cos]
    };
    let far = |i: usize| if i == 77 { 1e9 } else { 0.0 };
    let apart = |i: usize| if i.is_multiple_of(2) { 1e9 } else { 0.0 };
    let heap = |i: usize, [u, v, n]: [f64; 3]| match i % 10 {
        0 => [u * side, v * side],
        _ => [side / 2.0 + 1e-3 * n, side / 2.0 + 1e-3 * u],
    };
    vec![
        of("even", &|_, [u, v, _]| [u * side, v * side]),
        of("an outlier", &|i, [u, v, _]| [u * side + far(i), v * side + far(i)]),
        of("far apart", &|i, [u, v, _]| [u * side + apart(i), v * side + apart(i)]),
        of("a scan", &|_, [u, v, _]| {
            let (radius, angle) = (side.powf(u), TAU * v);
            [radius * angle.cos(), radius * angle.sin()]
        }),
        of("a heap", &heap),
        of("one place", &|i, unit| heap(i, if i % 10 == 0 { unit } else { [0.0; 3] })),
        of("heaps in heaps", &|_, [u, v, _]| [1.0 + u.powi(40), 1.0 + v.powi(40)]),
        of("scan lines", &|i, [u, ..]| turned(10.0, side * u, 40.0 * (i % 3) as f64)),
        of("a line", &|_, [u, ..]| turned(10.0, side * u, 0.0)),
        of("a corridor", &|_, [u, v, _]| turned(45.0, 20.0 * side * u, 3.0 * v)),
        of("a turned square", &|_, [u, v, _]| turned(45.0, side * u, side * v)),
        of("a ring", &|_, [u, v, _]| {
            [(1.0 + 0.05 * v) * (TAU * u).cos(), (1.0 + 0.05 * v) * (TAU * u).sin()]
        }),
        of("a circle", &|i, _| {
            let angle = TAU * i as f64 / count as f64;
            [side * angle.cos(), side * angle.sin()]
        }),
    ]
}

/// Clouds of this many points on the sphere; the first are even.
fn globes(count: usize) -> Vec<Cloud> {
    let mut random = Random::new(12);
    let mut of = |name: &'static str, place: &dyn Fn([f64; 2]) -> [f64; 2]| {
        (name, (0..count).map(|_| place([random.unit(), random.unit()])).collect())
    };
    let around = |u: f64| 360.0 * u - 180.0;
    vec![
        of("even", &|[u, v]| [around(u), (2.0 * v - 1.0).asin().to_degrees()]),
        of("a pole", &|[u, v]| [around(u), 90.0 - 0.01 * v]),
        of("on a pole", &|[u, _]| [around(u), -90.0]),
        of("the date line", &|[u, v]| [around((0.999_7 + 6e-4 * u) % 1.0), 20.0 * v - 10.0]),
        of("a meridian", &|[_, v]| [10.0, 180.0 * v - 90.0]),
        of("a parallel", &|[u, _]| [around(u), 47.0]),
        of("a town", &|[u, v]| [8.5 + 1e-3 * u, 47.4 + 1e-3 * v]),
        of("one place", &|_| [8.5, 47.4]),
    ]
}

/// Calls `with` with an index of a cloud, and a grid over it.
fn over<R>(
    (_, points): &Cloud,
    params: &Params,
    along: u32,
    with: impl FnOnce(&Data, &Index, Targets) -> R,
) -> R {
    let [x, y] = [0, 1].map(|axis| points.iter().map(|p| p[axis]).collect::<Vec<f64>>());
    let values = [&x[..]];
    let data = Data::of(Points { x: &x, y: &y, values: &values }, params).unwrap();
    let index = Index::to_search(&data, params.geographic);
    let grid = if params.geographic {
        GridSpec::new(-180.0, 90.0, 360.0 / f64::from(along), along, along / 2)
    } else {
        let bounds = Bounds::of(&x, &y).unwrap();
        let side = f64::max(bounds.max_x - bounds.min_x, bounds.max_y - bounds.min_y);
        GridSpec::covering(bounds, side / f64::from(along))
    };
    with(&data, &index, Targets::Grid(grid.unwrap()))
}

#[test]
fn no_cloud_costs_many_looks() {
    let by_quadrants = Params::nearest(12).max_points_per_quadrant(3).min_points_per_quadrant(1);
    // Even points take 6, 13 and 230 looks a target, on the sphere 13, 24 and 250.
    for (params, most) in
        [(Params::nearest(12), 60.0), (Params::nearest(64), 150.0), (by_quadrants, 550.0)]
    {
        for (clouds, is_globe) in [(clouds(20_000), false), (globes(20_000), true)] {
            let params = params.geographic(is_globe);
            for cloud in clouds {
                let looks = over(&cloud, &params, 100, |_, index, targets| {
                    let patches = Patches::new(index, targets, &params, false);
                    patches.looks() as f64 / targets.len() as f64
                });
                assert!(looks < most, "{}: {looks} looks a target, {params:?}", cloud.0);
            }
        }
    }
}

/// The square of the distance, the index and the quadrant of a point.
type Seen = (f64, u32, usize);

/// Squares and indices of the neighbours that a target has by the definition, from all points; none where it has not
/// enough.
fn by_definition(
    index: &Index,
    (params, search): (&Params, &Search),
    target: (f64, f64),
    left_out: Option<u32>,
) -> Option<Vec<(f64, u32)>> {
    let at = f64_value::place(index.geographic, target);
    let (mut all, mut within): (Vec<Seen>, Vec<Seen>) = (Vec::new(), Vec::new());
    for (place, &number) in index.places.iter().zip(&index.order) {
        let [dx, dy, dz] = [0, 1, 2].map(|axis| place[axis] - at[axis]);
        let squared = dx * dx + dy * dy + dz * dz;
        let quadrant = match index.geographic {
            true => sphere::quadrant(*place, at) as usize,
            false => usize::from(dx >= 0.0) + 2 * usize::from(dy >= 0.0),
        };
        let seen = (squared, number, quadrant);
        if Some(number) != left_out {
            all.push(seen);
            let is_within = search.ellipse.is_none_or(|ellipse| ellipse.holds(dx, dy));
            within.extend((squared <= search.reach.powi(2) && is_within).then_some(seen));
        }
    }
    let order = |a: &Seen, b: &Seen| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    all.sort_by(order);
    within.sort_by(order);
    let quadrant = |q: usize| within.iter().copied().filter(move |seen| seen.2 == q);
    let mut taken: Vec<Seen> = match search.quadrants {
        false => within.clone(),
        true => (0..within.len().min(search.max_per_quadrant as usize))
            .flat_map(|turn| (0..4).filter_map(move |q| quadrant(q).nth(turn)))
            .collect(),
    };
    taken.truncate(search.max_points as usize);
    taken.sort_by(order);
    let least = search.min_points.max(1) as usize;
    let of_quadrant = search.min_per_quadrant as usize;
    let is_enough = |taken: &[Seen]| taken.len() >= least;
    let is_full = !search.quadrants || (0..4).all(|q| quadrant(q).count() >= of_quadrant);
    if !(is_enough(&taken) && is_full) {
        all.truncate(search.fallback() as usize);
        taken = if params.too_few_points == TooFewPoints::Nearest { all } else { Vec::new() };
    }
    is_enough(&taken).then(|| taken.iter().map(|&(squared, number, _)| (squared, number)).collect())
}

#[test]
fn every_way_finds_the_neighbours_of_the_definition() {
    let base = Params::nearest(12);
    let by_quadrants = base.max_points_per_quadrant(3).min_points_per_quadrant(1);
    let within = |radius: f64| Params::default().radius(radius);
    let ellipse = base.radius1(30.0).radius2(0.5).angle(35.0);
    let nearest = |params: Params| params.too_few_points(TooFewPoints::Nearest).min_points(2);
    let in_plane = [ellipse, within(3.0), nearest(ellipse), nearest(within(1.0).max_points(5))];
    let on_globe = [within(3e5), within(2e6).max_points(9), nearest(within(1e5)), within(1.9e7)];
    let anywhere = [base, Params::nearest(1), Params::nearest(64), Params::nearest(90)];
    let quadrants = [by_quadrants, nearest(by_quadrants), by_quadrants.max_points(0)];
    for (clouds, is_globe) in [(clouds(200), false), (globes(200), true)] {
        let limited = if is_globe { on_globe } else { in_plane };
        let all = anywhere.into_iter().chain(quadrants).chain(limited);
        for (params, cloud) in all.flat_map(|params| clouds.iter().map(move |c| (params, c))) {
            let params = params.geographic(is_globe);
            over(cloud, &params, 10, |data, index, grid| {
                check(index, grid, &params, false, cloud.0);
                check(index, data.as_targets(), &params, true, cloud.0);
            });
        }
    }
}

/// Compares what each way of searching finds with what the definition says, to the bit.
fn check(index: &Index, targets: Targets, params: &Params, leave_out: bool, cloud: &str) {
    let search = Search::of(params);
    let wanted = |i: usize| {
        let left_out = leave_out.then_some(i as u32);
        by_definition(index, (params, &search), targets.place(i), left_out)
    };
    let wanted: Vec<_> = (0..targets.len() as usize).map(wanted).collect();
    let mut count = 0;
    Patches::new(index, targets, params, leave_out).each_way(|scratch, target| {
        let found: Vec<_> = scratch.candidates.iter().map(|c| (c.squared, c.index)).collect();
        let found = scratch.enough.then_some(found);
        assert_eq!(found, wanted[target], "{cloud}, target {target}, {params:?}");
        count += 1;
    });
    assert!(count >= 2 * wanted.len(), "the tree serves always: {count}");
}
