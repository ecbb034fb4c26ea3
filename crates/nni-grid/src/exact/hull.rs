//! The convex hull of the sites, as the cells that each row of the DEM has in it; and which places are clearly outside.

use gpu_core::GridSpec;
use gpu_core::parallel::{self, FINE};
use kernels_rs::nni::exact::scene::LEAST_ANGLE;
use robust::{Coord, orient2d};

/// Directions in which the outermost places are found first, a quarter of them in each quadrant.
const DIRECTIONS: usize = 16;

/// The convex hull of places.
pub(crate) struct Hull {
    /// Its western and its eastern side, each from north to south.
    sides: [Vec<[f64; 2]>; 2],
    /// How far outside a place is clearly so.
    margin: f64,
}

impl Hull {
    /// That of some places, to which the distances from what is asked for are `extent` at most.
    pub fn of(places: &[[f64; 2]], extent: f64) -> Self {
        // Seen from a place at a distance from an edge the hull takes less than half a turn: by the distance over the
        // extent, or more.
        Self { sides: sides(outer(places)), margin: 4.0 * LEAST_ANGLE * extent }
    }

    /// Whether a place is outside by so much that its cell among the places surely widens there.
    pub fn is_clearly_outside(&self, place: [f64; 2]) -> bool {
        let is_beyond = |(side_of, sign): (&Vec<[f64; 2]>, f64)| {
            let Some((&north, &south)) = side_of.first().zip(side_of.last()) else { return false };
            if place[1] > north[1] + self.margin || place[1] < south[1] - self.margin {
                return true;
            }
            // The edge at its height.
            let next = side_of.partition_point(|corner| corner[1] > place[1]);
            let edge = next.checked_sub(1).zip(side_of.get(next));
            edge.is_some_and(|(before, &b)| {
                let a = side_of[before];
                let length = f64::hypot(b[0] - a[0], b[1] - a[1]);
                sign * side(a, b, place) < -self.margin * length
            })
        };
        self.sides.iter().zip([1.0, -1.0]).any(is_beyond)
    }
}

/// Places among which all corners of the hull are: those that are not within the polygon of the outermost in some
/// directions.
fn outer(places: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let turn = std::f64::consts::TAU / DIRECTIONS as f64;
    let outermost = parallel::map(DIRECTIONS, 1, |i| {
        let (sin, cos) = (i as f64 * turn).sin_cos();
        let reach = |p: &[f64; 2]| p[0] * cos + p[1] * sin;
        places.iter().copied().max_by(|a, b| reach(a).total_cmp(&reach(b)))
    });
    let corners: Vec<[f64; 2]> = outermost.into_iter().flatten().collect();
    let is_outer = |i: u32| {
        let edges = corners.iter().zip(corners.iter().cycle().skip(1));
        // Where two are the same there is no edge.
        edges.into_iter().any(|(&a, &b)| a != b && side(a, b, places[i as usize]) <= 0.0)
    };
    let kept = parallel::filter(places.len() as u32, FINE, is_outer);
    match kept.is_empty() {
        true => places.to_vec(),
        false => kept.into_iter().map(|i| places[i as usize]).collect(),
    }
}

/// The western and the eastern side of the hull of places, each from north to south.
fn sides(mut places: Vec<[f64; 2]>) -> [Vec<[f64; 2]>; 2] {
    // From north to south, and from west to east.
    places.sort_unstable_by(|a, b| b[1].total_cmp(&a[1]).then(a[0].total_cmp(&b[0])));
    let west = chain(places.iter().copied(), 1.0);
    places.sort_unstable_by(|a, b| b[1].total_cmp(&a[1]).then(b[0].total_cmp(&a[0])));
    [west, chain(places.iter().copied(), -1.0)]
}

/// For each row the first and the last column whose cell centre is within the hull of places or on it;
/// the wrong way round where none is. Exact.
pub(crate) fn row_bounds(places: Vec<[f64; 2]>, grid: &GridSpec) -> Vec<i32> {
    let [west, east] = sides(places);
    let (mut at_west, mut at_east) = (0, 0);
    (0..grid.height)
        .flat_map(|row| {
            let first = end_of_row(&west, &mut at_west, grid, row, 1);
            let last = end_of_row(&east, &mut at_east, grid, row, -1);
            match (first, last) {
                (Some(first), Some(last)) => [first, last],
                _ => [1, 0],
            }
        })
        .collect()
}

/// On which side of the way from a to b a place is: positive to the east where the way goes south.
fn side(a: [f64; 2], b: [f64; 2], p: [f64; 2]) -> f64 {
    let [a, b, p] = [a, b, p].map(|[x, y]| Coord { x, y });
    orient2d(a, b, p)
}

/// The western (sign 1) or eastern (-1) side of the hull of places that are given from north to south.
fn chain(places: impl Iterator<Item = [f64; 2]>, sign: f64) -> Vec<[f64; 2]> {
    let mut chain: Vec<[f64; 2]> = Vec::new();
    for place in places {
        // Of places of the same height the outermost is enough.
        if chain.last().is_some_and(|last| last[1] == place[1]) {
            continue;
        }
        while let [.., a, b] = chain[..] {
            if sign * side(a, place, b) < 0.0 {
                break;
            }
            chain.pop();
        }
        chain.push(place);
    }
    chain
}

/// The outermost column of a row inside a chain; rows come from north to south, and `at` remembers the
/// edge. `None` north or south of the chain.
fn end_of_row(
    chain: &[[f64; 2]],
    at: &mut usize,
    grid: &GridSpec,
    row: u32,
    sign: i32,
) -> Option<i32> {
    let y = grid.cell_centre(0, row).1;
    while *at + 1 < chain.len() && chain[*at + 1][1] > y {
        *at += 1;
    }
    let a = *chain.get(*at)?;
    let b = *chain.get(*at + 1).unwrap_or(&a);
    if !(b[1] <= y && y <= a[1]) {
        return None;
    }
    let is_inside = |column: i64| {
        let x = grid.origin_x + (column as f64 + 0.5) * grid.cell_size;
        // At the height of an end of the edge, or on a hull of one height, the place itself decides.
        if y == a[1] {
            return f64::from(sign) * (x - a[0]) >= 0.0;
        }
        f64::from(sign) * side(a, b, [x, y]) >= 0.0
    };
    // One step beyond the grid is as good as any.
    let (mut column, beyond) = match sign {
        1 => (guess(a, b, y, grid), i64::from(grid.width)),
        _ => (guess(a, b, y, grid), -1),
    };
    let outward = -i64::from(sign);
    let is_in_grid = |column: i64| (0..i64::from(grid.width)).contains(&column);
    while is_in_grid(column + outward) && is_inside(column + outward) {
        column += outward;
    }
    while column != beyond && !is_inside(column) {
        column -= outward;
    }
    Some(column as i32)
}

/// About the column where an edge crosses a height, within the grid.
fn guess(a: [f64; 2], b: [f64; 2], y: f64, grid: &GridSpec) -> i64 {
    let part = if a[1] > b[1] { (a[1] - y) / (a[1] - b[1]) } else { 0.0 };
    let x = a[0] + (b[0] - a[0]) * part;
    let column = ((x - grid.origin_x) / grid.cell_size).floor();
    column.max(0.0).min(f64::from(grid.width.max(1)) - 1.0) as i64
}
