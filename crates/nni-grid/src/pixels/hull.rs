//! The convex hull of the sites: for each row of cells, the query points inside it.

/// Returns, for each row of cells, the first and the last position of a query point within the hull or on it, in half
/// pixels. A row without one has its first after its last.
///
/// `extremes` has, for each row of pixels, its first and its last column with a site; in a row without one the first is
/// after the last. All numbers are integers.
pub(crate) fn bounds(extremes: &[[i32; 2]], cell_rows: u32, supersample: u32) -> Vec<i32> {
    let is_occupied = |row: &(usize, &[i32; 2])| row.1[0] <= row.1[1];
    let rows = || extremes.iter().enumerate().filter(is_occupied);
    let centre = |i: i64| 2 * i + 1;
    // The eastern side is the western one of the mirrored sites.
    let side = |sign: i64, end: usize| {
        western(rows().map(|(row, ends)| [sign * centre(ends[end].into()), centre(row as i64)]))
    };
    let (west, east) = (side(1, 0), side(-1, 1));
    let position = |row: u32| i64::from(supersample) * (2 * i64::from(row) + 1);
    let (mut at_west, mut at_east) = (0, 0);
    (0..cell_rows)
        .flat_map(|row| {
            let y = position(row);
            match (first_inside(&west, &mut at_west, y), first_inside(&east, &mut at_east, y)) {
                (Some(first), Some(last)) => [first as i32, -last as i32],
                _ => [1, 0],
            }
        })
        .collect()
}

/// The western side of the hull of points that are given from north to south.
fn western(points: impl Iterator<Item = [i64; 2]>) -> Vec<[i64; 2]> {
    let mut chain: Vec<[i64; 2]> = Vec::new();
    for point in points {
        while let [.., a, b] = chain[..] {
            // b stays if it lies west of the line from a to the point.
            let across = (b[0] - a[0]) * (point[1] - a[1]) - (point[0] - a[0]) * (b[1] - a[1]);
            if across < 0 {
                break;
            }
            chain.pop();
        }
        chain.push(point);
    }
    chain
}

/// The first whole number not west of the chain at height `y`; heights come in rising order, and `at`
/// remembers the edge. `None` north or south of the chain.
fn first_inside(chain: &[[i64; 2]], at: &mut usize, y: i64) -> Option<i64> {
    while *at + 1 < chain.len() && chain[*at + 1][1] < y {
        *at += 1;
    }
    let a = *chain.get(*at)?;
    if a[1] == y {
        return Some(a[0]);
    }
    let b = *chain.get(*at + 1)?;
    let is_between = a[1] < y && y <= b[1];
    // Rounded up.
    let rise = (b[0] - a[0]) * (y - a[1]);
    is_between.then(|| a[0] - (-rise).div_euclid(b[1] - a[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a point is in the hull of others: not strictly on one side of a line through it with all
    /// of them strictly on the other.
    fn is_inside(q: [i64; 2], sites: &[[i64; 2]]) -> bool {
        let cross = |a: [i64; 2], b: [i64; 2]| {
            (a[0] - q[0]) * (b[1] - q[1]) - (a[1] - q[1]) * (b[0] - q[0])
        };
        let dot = |a: [i64; 2], b: [i64; 2]| {
            (a[0] - q[0]) * (b[0] - q[0]) + (a[1] - q[1]) * (b[1] - q[1])
        };
        sites.contains(&q)
            || sites.iter().any(|&a| sites.iter().any(|&b| cross(a, b) == 0 && dot(a, b) < 0))
            || sites.iter().any(|&a| {
                sites.iter().any(|&b| {
                    sites.iter().any(|&c| cross(a, b) > 0 && cross(b, c) > 0 && cross(c, a) > 0)
                })
            })
    }

    #[test]
    fn bounds_are_those_of_every_triangle() {
        let mut state = 5u64;
        let mut next = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        for case in 0..300 {
            let (cells, supersample) = (1 + next(6) as u32, 1 + case % 3);
            let side = (cells * supersample) as usize;
            let sites: Vec<[i64; 2]> = (0..next(9))
                .map(|_| [next(side as u64) as i64, next(side as u64) as i64])
                .collect();
            let mut extremes = vec![[i32::MAX, -1]; side];
            for &[x, y] in &sites {
                let [first, last] = extremes[y as usize];
                extremes[y as usize] = [first.min(x as i32), last.max(x as i32)];
            }
            let bounds = bounds(&extremes, cells, supersample);
            let centres: Vec<[i64; 2]> =
                sites.iter().map(|&[x, y]| [2 * x + 1, 2 * y + 1]).collect();
            for row in 0..cells {
                for column in 0..cells {
                    let q = [column, row].map(|i| i64::from(supersample * (2 * i + 1)));
                    let [first, last] = [0, 1].map(|k| i64::from(bounds[2 * row as usize + k]));
                    let found = first <= q[0] && q[0] <= last;
                    assert_eq!(found, is_inside(q, &centres), "{q:?} among {centres:?}");
                }
            }
        }
    }
}
