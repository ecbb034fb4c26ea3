//! Rings in the plane.

use robust::{Coord, orient2d};

/// A closed ring, prepared for questions about places and other rings. A question looks at edges of about its height alone:
/// polygons with many vertices and many holes take as long as they are, not the product of both.
pub struct Outline<'a> {
    ring: &'a [[f64; 2]],
    extent: [[f64; 2]; 2],
    edges: Bands,
}

impl<'a> Outline<'a> {
    /// Prepares a ring.
    pub fn of(ring: &'a [[f64; 2]]) -> Self {
        let heights = ring.windows(2).map(|ends| {
            let [a, b] = [ends[0][1], ends[1][1]];
            [a.min(b), a.max(b)]
        });
        Self { ring, extent: extent(ring), edges: Bands::of(&heights.collect::<Vec<_>>()) }
    }

    /// The least and the greatest coordinates.
    pub fn extent(&self) -> [[f64; 2]; 2] {
        self.extent
    }

    /// Whether the ring goes round a place an odd number of times.
    pub fn holds(&self, place: [f64; 2]) -> bool {
        let near = self.edges.at(place[1]).iter().map(|&edge| self.edge(edge));
        near.filter(|ends| passes(ends, place)).count() % 2 == 1
    }

    /// Whether both rings, with their interiors, have a place in common.
    pub fn meets(&self, other: &[[f64; 2]]) -> bool {
        let [[low, high], [from, to]] = [self.extent, extent(other)];
        if (0..2).any(|k| low[k] > to[k] || from[k] > high[k]) {
            return false;
        }
        // Where no edges meet, a ring lies on one side of the other.
        other.first().is_some_and(|&place| self.holds(place))
            || self.ring.first().is_some_and(|&place| holds(other, place))
            || edges_meet(self.ring, other, [from, to])
    }

    fn edge(&self, edge: u32) -> &[[f64; 2]] {
        &self.ring[edge as usize..edge as usize + 2]
    }
}

/// Intervals of numbers, to be found by a number within them. The whole range is divided into equal bands, each with the
/// intervals that reach into it.
pub struct Bands {
    from: f64,
    bands_per_unit: f64,
    /// Where the intervals of each band begin among all, and at last where they end.
    starts: Vec<usize>,
    intervals: Vec<u32>,
}

impl Bands {
    /// Divides the range of some intervals into as many bands that an interval reaches into four on average.
    pub fn of(intervals: &[[f64; 2]]) -> Self {
        let nothing = (f64::INFINITY, f64::NEG_INFINITY, 0.0);
        let (from, to, lengths) =
            intervals.iter().fold(nothing, |(from, to, lengths), &[low, high]| {
                (from.min(low), to.max(high), lengths + (high - low))
            });
        let count = intervals.len() as f64;
        // The ratio is not a number if all intervals are one place: then there is one band.
        let bands = f64::min(3.0 * count * ((to - from) / lengths), count).max(1.0) as usize;
        let mut all = Self {
            from,
            bands_per_unit: bands as f64 / (to - from),
            starts: vec![0; bands + 1],
            intervals: Vec::new(),
        };
        let reach = |&[low, high]: &[f64; 2]| all.band(low)..=all.band(high);
        let reaches: Vec<_> = intervals.iter().map(reach).collect();
        reaches.iter().cloned().flatten().for_each(|band| all.starts[band + 1] += 1);
        for band in 0..bands {
            all.starts[band + 1] += all.starts[band];
        }
        let mut next = all.starts.clone();
        all.intervals = vec![0; all.starts[bands]];
        for (reach, interval) in reaches.into_iter().zip(0..) {
            for band in reach {
                all.intervals[next[band]] = interval;
                next[band] += 1;
            }
        }
        all
    }

    /// The intervals that may hold a number: all that do, and others.
    pub fn at(&self, number: f64) -> &[u32] {
        let band = self.band(number);
        &self.intervals[self.starts[band]..self.starts[band + 1]]
    }

    fn band(&self, number: f64) -> usize {
        let last = self.starts.len() - 2;
        usize::min(((number - self.from) * self.bands_per_unit) as usize, last)
    }
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
fn holds(ring: &[[f64; 2]], place: [f64; 2]) -> bool {
    ring.windows(2).filter(|ends| passes(ends, place)).count() % 2 == 1
}

/// Whether an edge passes a place on its right.
fn passes(ends: &[[f64; 2]], place: [f64; 2]) -> bool {
    let is_above = |end: [f64; 2]| end[1] > place[1];
    match [is_above(ends[0]), is_above(ends[1])] {
        [false, true] => side(ends[0], ends[1], place) > 0,
        [true, false] => side(ends[1], ends[0], place) > 0,
        _ => false,
    }
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
            assert_eq!(Outline::of(&one).meets(&other), expected, "{other:?}");
            assert_eq!(Outline::of(&other).meets(&one), expected, "{other:?}");
        }
        let triangle = [[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [0.0, 0.0]];
        let triangle = Outline::of(&triangle);
        assert!(!triangle.meets(&square(8.0, 8.0, 1.0)));
        assert!(triangle.meets(&square(5.5, 5.5, 0.5)));
    }

    #[test]
    fn bands_find_every_interval_that_holds_a_number() {
        let mut state = 1_u64;
        let mut number = |most: f64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as f64 / (1_u64 << 24) as f64 * most
        };
        for (count, longest) in [(0, 1.0), (1, 0.0), (5, 0.0), (300, 0.01), (300, 0.9), (40, 1e9)] {
            let intervals: Vec<[f64; 2]> = (0..count)
                .map(|_| {
                    let low = number(1.0);
                    [low, low + number(longest)]
                })
                .collect();
            let bands = Bands::of(&intervals);
            assert!(bands.intervals.len() <= 5 * count + 1, "{count} {longest}");
            let ends = intervals.iter().flatten().copied();
            let places = ends.chain((0..50).map(|i| f64::from(i) / 49.0)).collect::<Vec<_>>();
            for place in places {
                let holds = |i: u32| {
                    let [low, high] = intervals[i as usize];
                    low <= place && place <= high
                };
                let found: Vec<u32> =
                    bands.at(place).iter().copied().filter(|&i| holds(i)).collect();
                let expected: Vec<u32> = (0..count as u32).filter(|&i| holds(i)).collect();
                assert_eq!(found, expected, "{count} {longest} {place}");
            }
        }
    }
}
