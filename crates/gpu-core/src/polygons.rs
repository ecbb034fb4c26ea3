//! Which cells of a raster lie in polygons.

use std::ops::Range;

use robust::{Coord, orient2d};

use crate::host_memory;
use crate::parallel;
use crate::{Error, Result};

/// Most strips that rows are divided into: each strip looks at all edges once.
const STRIPS: usize = 256;

/// Least rows of a strip.
const LEAST: usize = 16;

/// A cell of the polygon that is being drawn. Bit 0 is of the polygons before it.
const INSIDE: u8 = 2;

/// Returns 1 for each cell whose centre a polygon holds, and 0 for the others, row by row.
///
/// `x` has the centre of each column, from west to east. `y` has the centre of each row, from north to south. A polygon
/// is its outer ring and its holes, of (x, y). It holds the places in its outer ring that are in none of its holes.
/// Polygons may overlap; the mask is their union. A ring holds the places that it winds around an odd number of times.
/// Rings need not repeat their first place, and may turn either way.
///
/// A centre on an edge belongs to one side of the edge. An edge counts for centres to the west of it whose y is at
/// least its lower end's and below its upper end's, as in `quadtree_sort::Polygons`. So if two polygons share an edge,
/// exactly one of them holds a centre on it. Sides are exact: no rounding decides.
///
/// Takes a byte a cell, and 48 bytes an edge. The work is proportional to the cells that are held, the crossings of edges and rows, and 256 times
/// the edges at most.
///
/// ```
/// use gpu_core::cells_within;
///
/// let square = |from: f64, to: f64| vec![[from, from], [to, from], [to, to], [from, to]];
/// let with_hole = vec![square(0.0, 3.0), square(1.0, 2.0)];
/// let (x, y) = ([0.5, 1.5, 2.5, 3.5], [2.5, 1.5, 0.5]);
/// let cells = cells_within(&x, &y, &[with_hole])?;
/// assert_eq!(cells, [1, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0]);
/// # Ok::<(), gpu_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::NotFinite`] with the polygon of a vertex that is not finite; [`Error::HostMemory`].
pub fn cells_within(x: &[f64], y: &[f64], polygons: &[Vec<Vec<[f64; 2]>>]) -> Result<Vec<u8>> {
    let edges_of = |(index, polygon): (usize, &Vec<Vec<[f64; 2]>>)| {
        let infinite = polygon.iter().flatten().flatten().find(|number| !number.is_finite());
        if let Some(&value) = infinite {
            return Err(Error::NotFinite { what: "vertex of polygon", index: index as u64, value });
        }
        Ok(polygon.iter().map(|ring| Ring::of(ring, y)).collect())
    };
    let polygons: Vec<Vec<Ring>> =
        polygons.iter().enumerate().map(edges_of).collect::<Result<_>>()?;
    let mut cells = host_memory::filled(0, x.len().saturating_mul(y.len()))?;
    if cells.is_empty() {
        return Ok(cells);
    }
    let tall = y.len().div_ceil(STRIPS).max(LEAST);
    parallel::for_chunks(&mut cells, tall * x.len(), |strip, cells| {
        let rows = strip * tall..strip * tall + cells.len() / x.len();
        for polygon in &polygons {
            draw(polygon, (x, y), rows.clone(), cells);
        }
    });
    Ok(cells)
}

/// Sets the cells of some rows that a polygon holds.
fn draw(polygon: &[Ring], (x, y): (&[f64], &[f64]), rows: Range<usize>, cells: &mut [u8]) {
    if !polygon.first().is_some_and(|outer| meet(&outer.rows, &rows)) {
        return;
    }
    let near = |ring: &Ring| -> Vec<Edge> {
        ring.edges.iter().filter(|edge| meet(&edge.rows, &rows)).cloned().collect()
    };
    let rings: Vec<Vec<Edge>> = polygon.iter().map(near).collect();
    for (row, cells) in rows.zip(cells.chunks_exact_mut(x.len())) {
        let spans = |ring: &Vec<Edge>| {
            let edges = ring.iter().filter(|edge| edge.rows.contains(&row));
            let mut ends: Vec<usize> = edges.map(|edge| edge.column(x, y[row])).collect();
            ends.sort_unstable();
            ends
        };
        let outer = spans(&rings[0]);
        change(cells, &outer, |cell| cell | INSIDE);
        for hole in &rings[1..] {
            change(cells, &spans(hole), |cell| cell & !INSIDE);
        }
        change(cells, &outer, |cell| u8::from(cell != 0));
    }
}

/// Changes the cells from each first end to the next.
fn change(cells: &mut [u8], ends: &[usize], to: impl Fn(u8) -> u8) {
    for &[first, end] in ends.as_chunks().0 {
        cells[first..end].iter_mut().for_each(|cell| *cell = to(*cell));
    }
}

fn meet(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// The edges of a ring that some row crosses.
struct Ring {
    edges: Vec<Edge>,
    /// The rows from the first to the last that an edge crosses.
    rows: Range<usize>,
}

impl Ring {
    fn of(places: &[[f64; 2]], y: &[f64]) -> Self {
        let next = places.iter().cycle().skip(1);
        let edges: Vec<Edge> =
            places.iter().zip(next).filter_map(|(&a, &b)| Edge::of(a, b, y)).collect();
        let first = edges.iter().map(|edge| edge.rows.start).min().unwrap_or(0);
        let end = edges.iter().map(|edge| edge.rows.end).max().unwrap_or(0);
        Self { edges, rows: first..end }
    }
}

/// An edge, the lower end first: so it has the same crossings in each polygon that it is an edge of.
#[derive(Clone)]
struct Edge {
    low: [f64; 2],
    high: [f64; 2],
    /// Those with low.y <= y < high.y.
    rows: Range<usize>,
}

impl Edge {
    fn of(a: [f64; 2], b: [f64; 2], y: &[f64]) -> Option<Self> {
        let [low, high] = if a[1] < b[1] { [a, b] } else { [b, a] };
        let rows = y.partition_point(|&y| y >= high[1])..y.partition_point(|&y| y >= low[1]);
        (!rows.is_empty()).then_some(Self { low, high, rows })
    }

    /// The first column that is not to the west of the edge at a height.
    fn column(&self, x: &[f64], y: f64) -> usize {
        let ([ax, ay], [bx, by]) = (self.low, self.high);
        let crossing = ax + (y - ay) / (by - ay) * (bx - ax);
        let is_west = |x: f64| {
            let [low, high] = [self.low, self.high].map(|[x, y]| Coord { x, y });
            let side = orient2d(low, high, Coord { x, y });
            // Coordinates beyond 1e150 have no products.
            if side.is_nan() { x < crossing } else { side > 0.0 }
        };
        // Rounding may have carried the crossing beyond a centre or two.
        let mut column = x.partition_point(|&x| x < crossing);
        while column < x.len() && is_west(x[column]) {
            column += 1;
        }
        while column > 0 && !is_west(x[column - 1]) {
            column -= 1;
        }
        column
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws cells as text, with centres at 0, 1, 2 .. in x, and from the number of rows down to 1 in y.
    fn drawn(width: usize, height: usize, polygons: &[Vec<Vec<[f64; 2]>>]) -> Vec<String> {
        let x: Vec<f64> = (0..width).map(|i| i as f64).collect();
        let y: Vec<f64> = (0..height).map(|i| (height - i) as f64).collect();
        let cells = cells_within(&x, &y, polygons).unwrap();
        let row = |cells: &[u8]| cells.iter().map(|&c| if c == 1 { '#' } else { '.' }).collect();
        cells.chunks(width).map(row).collect()
    }

    fn rect(west: f64, south: f64, east: f64, north: f64) -> Vec<[f64; 2]> {
        vec![[west, south], [east, south], [east, north], [west, north], [west, south]]
    }

    #[test]
    fn a_centre_beside_an_edge_is_on_the_side_where_it_is() {
        // By their exact values the first centre lies east of its edge, and the second west of it, within an ulp.
        let triangle = |a, b, c| vec![vec![a, b, c]];
        let outside = triangle([0.5, 0.9], [0.7, 0.3], [5.0, -5.0]);
        let inside = triangle([0.2, 0.1], [0.6, 0.5], [5.0, 5.0]);
        assert_eq!(cells_within(&[0.6], &[0.6], &[outside]).unwrap(), [0]);
        assert_eq!(cells_within(&[0.3], &[0.2], &[inside]).unwrap(), [1]);
    }

    #[test]
    fn western_and_lower_edges_hold_the_centres_on_them() {
        assert_eq!(drawn(4, 3, &[vec![rect(1.0, 1.0, 3.0, 3.0)]]), ["....", ".##.", ".##."]);
        // Of two that share an edge one holds the centres on it, whichever way it is drawn.
        let (a, b) =
            (vec![[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]], vec![[0.0, 3.0], [3.0, 0.0], [3.0, 3.0]]);
        let [of_a, of_b] = [a, b].map(|ring| drawn(4, 3, &[vec![ring]]));
        assert_eq!(of_a, ["....", "#...", "##.."]);
        assert_eq!(of_b, ["....", ".##.", "..#."]);
    }

    #[test]
    fn holes_are_left_out_and_parts_joined() {
        let outer = rect(-0.5, 0.5, 6.5, 5.5);
        // Holes overlap, and one reaches out of the outer ring.
        let holes = [rect(0.5, 1.5, 2.5, 3.5), rect(1.5, 2.5, 3.5, 4.5), rect(5.5, 2.5, 9.0, 3.5)];
        let polygon: Vec<_> = std::iter::once(outer).chain(holes).collect();
        let alone = drawn(8, 5, std::slice::from_ref(&polygon));
        assert_eq!(alone, ["#######.", "##..###.", "#...##..", "#..####.", "#######."]);
        // What is a hole of one polygon may be in another.
        let all = [polygon, vec![rect(1.5, 2.5, 7.5, 3.5)], vec![]];
        assert_eq!(drawn(8, 5, &all)[2], "#.######");
    }

    #[test]
    fn rings_that_cross_themselves_hold_what_they_wind_around_oddly() {
        let bow = vec![[-0.25, 0.5], [4.75, 5.5], [4.75, 0.5], [-0.25, 5.5]];
        let found = drawn(5, 5, &[vec![bow]]);
        assert_eq!(found, ["#....", "##..#", "#####", "##..#", "#...."]);
        let twice = [rect(0.5, 0.5, 2.5, 2.5), rect(0.5, 0.5, 2.5, 2.5)].concat();
        assert_eq!(drawn(3, 2, &[vec![twice]]), ["...", "..."]);
        let flat = vec![vec![[0.0, 1.0], [2.0, 1.0]], vec![], vec![[1.0, 1.0]]];
        assert_eq!(drawn(3, 2, &[flat]), ["...", "..."]);
    }

    #[test]
    fn each_cell_is_in_one_of_polygons_that_divide_the_plane() {
        // A fan of triangles around a centre, with many rows to a strip and ends at centres.
        let (size, parts) = (700, 37);
        let place = |i: usize| {
            let angle = i as f64 / parts as f64 * std::f64::consts::TAU;
            [(350.0 + 2000.0 * angle.cos()).round(), (350.0 + 2000.0 * angle.sin()).round()]
        };
        let mut count = vec![0; size * size];
        let x: Vec<f64> = (0..size).map(|i| i as f64).collect();
        let y: Vec<f64> = x.iter().rev().copied().collect();
        for i in 0..parts {
            let mut ring = vec![[350.0, 350.0], place(i), place((i + 1) % parts)];
            if i % 2 == 1 {
                ring.reverse();
            }
            let cells = cells_within(&x, &y, &[vec![ring]]).unwrap();
            count.iter_mut().zip(&cells).for_each(|(count, cell)| *count += cell);
        }
        assert!(count.iter().all(|&count| count == 1));
    }

    #[test]
    fn odd_places_and_rasters_are_taken_or_named() {
        let far = vec![vec![[-1e308, -1e308], [1e308, -1e308], [1e308, 1e308], [-1e308, 1e308]]];
        assert_eq!(drawn(2, 2, &[far]), ["##", "##"]);
        let bad = vec![rect(0.0, 0.0, f64::NAN, 1.0)];
        let error = cells_within(&[0.0], &[0.0], &[vec![], bad]).unwrap_err();
        assert_eq!(error.to_string(), "vertex of polygon 1 is NaN, not a finite number");
        assert!(cells_within(&[], &[1.0], &[vec![rect(0.0, 0.0, 2.0, 2.0)]]).unwrap().is_empty());
        assert!(cells_within(&[1.0], &[], &[]).unwrap().is_empty());
    }
}
