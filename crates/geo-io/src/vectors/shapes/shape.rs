//! The shape of a feature in the plane.

use crate::Polygons;
use crate::tables::{Geometry, Vertex};

/// The shape of a feature, in (x, y). A ring of a polygon ends with its first place.
///
/// Example: see [`read_features`](crate::read_features).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Shape {
    /// Places.
    Points(Vec<[f64; 2]>),
    /// Lines from place to place.
    Lines(Vec<Vec<[f64; 2]>>),
    /// Polygons: for each, the outer ring and the holes.
    Polygons(Polygons),
    /// All of these together.
    Several(Vec<Shape>),
}

impl From<Geometry> for Shape {
    /// Takes a geometry without its heights. Closes open rings, and reduces a ring that goes round several times to one turn.
    fn from(geometry: Geometry) -> Self {
        let flat = |line: Vec<Vertex>| line.into_iter().map(|[x, y, _]| [x, y]).collect::<Vec<_>>();
        let ring = |ring: Vec<Vertex>| {
            let mut ring = flat(ring);
            if let Some(&first) = ring.first().filter(|first| ring.last() != Some(first)) {
                ring.push(first);
            }
            once(ring)
        };
        match geometry {
            Geometry::Points(all) => Self::Points(flat(all)),
            Geometry::Lines(all) => Self::Lines(all.into_iter().map(flat).collect()),
            Geometry::Polygons(all) => {
                let rings = |rings: Vec<Vec<Vertex>>| rings.into_iter().map(ring).collect();
                Self::Polygons(all.into_iter().map(rings).collect::<Polygons>())
            }
            Geometry::Several(all) => Self::Several(all.into_iter().map(Self::from).collect()),
        }
    }
}

/// Keeps one round of a closed ring that goes round the same vertices several times. The rule of odd and even would let such a ring
/// hold nothing after an even number of rounds.
fn once(ring: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    let mut cycle = ring.clone();
    cycle.dedup();
    cycle.pop();
    // By the lengths of the longest proper prefixes that are suffixes too (Knuth, Morris and Pratt 1977).
    let mut prefixes = vec![0; cycle.len()];
    for i in 1..cycle.len() {
        let mut length = prefixes[i - 1];
        while length > 0 && cycle[i] != cycle[length] {
            length = prefixes[length - 1];
        }
        prefixes[i] = length + usize::from(cycle[i] == cycle[length]);
    }
    let period = cycle.len() - prefixes.last().copied().unwrap_or(0);
    if cycle.is_empty() || period == cycle.len() || !cycle.len().is_multiple_of(period) {
        return ring;
    }
    cycle.truncate(period);
    cycle.push(cycle[0]);
    cycle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_that_goes_round_several_times_is_taken_once() {
        let triangle = vec![[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]];
        let first = &triangle[..1];
        let closed = [&triangle, first].concat();
        for times in 1..4 {
            assert_eq!(once([&triangle.repeat(times), first].concat()), closed);
            // Closed anew each time.
            assert_eq!(once(closed.repeat(times)), closed);
        }
        // Twice the way, but another one the second time.
        let other = [&triangle[..], &[[0.0, 0.0], [0.0, 4.0], [4.0, 0.0], [0.0, 0.0]]].concat();
        assert_eq!(once(other.clone()), other);
        for short in [vec![], vec![[1.0, 2.0]]] {
            assert_eq!(once(short.clone()), short);
        }
    }
}
