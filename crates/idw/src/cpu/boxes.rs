//! Boxes of the index's cells around a place: which points may lie within a distance, and within what distance there
//! may be as many as are wanted.

use std::ops::Range;

use kernels_rs::spatial::cells::Cells;
use kernels_rs::spatial::sphere;

use super::careful;
use super::index::Index;

/// A place, as the index has places.
pub(super) struct Place<'a, 'b> {
    pub index: &'a Index<'b>,
    x: f64,
    y: f64,
    /// Its coordinates, or on the sphere its unit vector.
    pub at: [f64; 3],
}

/// Cells from one row and column to another, both inclusive.
pub(super) struct CellBox {
    rows: [u32; 2],
    columns: [Option<[u32; 2]>; 2],
    /// Of each row only what is within a radius of a place counts, where there is one: x, y, and the radius.
    disc: Option<[f64; 3]>,
}

/// Which points count: all, or those of one of the quadrants around a place.
pub(super) const ALL_QUADRANTS: u8 = 4;

/// Points within a distance, over those wanted, from which on a lesser distance is looked for.
const TOO_MANY: usize = 4;

/// How often a distance is halved, at most.
const MOST_HALVINGS: u32 = 24;

impl<'a, 'b> Place<'a, 'b> {
    pub fn new(index: &'a Index<'b>, (x, y): (f64, f64)) -> Self {
        let x = if index.geographic { sphere::normalised(x) } else { x };
        Self { index, x, y, at: careful::place(index.geographic, (x, y)) }
    }

    /// The distance that a radius is: on the sphere, where it is an angle, its chord.
    pub fn chord(&self, radius: f64) -> f64 {
        let geographic = self.index.geographic;
        if geographic { sphere::squared_chord_of_arc(radius).sqrt() } else { radius }
    }

    /// The radius of a distance, and no less.
    pub fn arc(&self, chord: f64) -> f64 {
        if !self.index.geographic {
            return chord;
        }
        sphere::arc_of_squared_chord(chord.min(2.0).powi(2)) * (1.0 + 1e-9)
    }

    /// The radius that about `wanted` points lie within: on the sphere an angle.
    pub fn radius_of(&self, wanted: f64) -> f64 {
        let cell = self.index.cells.side;
        let cell = if self.index.geographic { cell.to_radians() } else { cell };
        let mut half = cell;
        loop {
            let (cells, _) = self.box_of([half; 2]);
            let count: usize = cells.runs(self.index).map(|run| run.len()).sum();
            if count as f64 >= wanted || cells.is_whole(self.index) {
                let wanted = wanted + 2.0 * wanted.sqrt() + 1.0;
                let share = wanted / (count.max(1) as f64 * std::f64::consts::PI);
                return ((2.0 * half + cell) * share.sqrt()).min(half * 2.0);
            }
            half *= 2.0;
        }
    }

    /// The distance of a place among the points in which quadrant of this, as a bit for the east and one for the north.
    #[inline(always)]
    pub fn seen(&self, [x, y, z]: [f64; 3]) -> (f64, u8) {
        let [dx, dy, dz] = [x - self.at[0], y - self.at[1], z - self.at[2]];
        (dx * dx + dy * dy + dz * dz, u8::from(dx >= 0.0) | u8::from(dy >= 0.0) << 1)
    }

    /// A radius within which there are `wanted` points of a quadrant, or of all, and not many times as many unless they lie
    /// together; within `least` there are fewer. Infinite where there are not so many within `most`.
    ///
    /// Seen from far away the points are all about as far: what a radius half as long again holds may be all of them.
    pub fn radius_with(&self, wanted: usize, quadrant: u8, [least, most]: [f64; 2]) -> f64 {
        let cell = self.index.cells.side;
        let cell = if self.index.geographic { cell.to_radians() } else { cell };
        if self.count_within(most, quadrant, wanted) < wanted {
            return f64::INFINITY;
        }
        let (mut low, mut high) = (least, f64::max(2.0 * least, cell).min(most));
        let mut count = self.count_within(high, quadrant, TOO_MANY * wanted);
        while count < wanted && high < most {
            (low, high) = (high, f64::min(2.0 * high, most));
            count = self.count_within(high, quadrant, TOO_MANY * wanted);
        }
        for _ in 0..MOST_HALVINGS {
            if count <= TOO_MANY * wanted {
                break;
            }
            let middle = low / 2.0 + high / 2.0;
            match self.count_within(middle, quadrant, TOO_MANY * wanted) {
                fewer if fewer < wanted => low = middle,
                enough => (count, high) = (enough, middle),
            }
        }
        high
    }

    /// How many points lie within a radius, with one more than `most` for all that are more.
    fn count_within(&self, radius: f64, quadrant: u8, most: usize) -> usize {
        let (cells, is_whole) = self.disc_of(radius);
        let (cells, is_whole) = cells.part(is_whole, self, quadrant);
        let chord = self.chord(radius);
        let squared = if is_whole { f64::INFINITY } else { chord * chord };
        let mut count = 0;
        for run in cells.runs(self.index) {
            for &place in &self.index.places[run] {
                let (away, seen_in) = self.seen(place);
                let counts = quadrant == ALL_QUADRANTS || quadrant == seen_in;
                count += usize::from(counts && away <= squared);
                if count > most {
                    return count;
                }
            }
        }
        count
    }

    /// The cells within a radius of the place, on the sphere an angle, and whether every point counts as within: in the
    /// plane not where the box is the whole index and the circle in it need not be.
    pub fn disc_of(&self, radius: f64) -> (CellBox, bool) {
        let (cells, is_whole) = self.box_of([radius; 2]);
        let is_round = !self.index.geographic && radius < f64::INFINITY;
        let disc = is_round.then_some([self.x, self.y, radius]);
        (CellBox { disc, ..cells }, is_whole && !is_round)
    }

    /// The cells of a box around the place, and whether it is the whole index.
    pub fn box_of(&self, [x, y]: [f64; 2]) -> (CellBox, bool) {
        let c = &self.index.cells;
        // A little more than that, so that no rounding leaves out a point on the edge.
        let slack = c.side * 0.001;
        let up = if self.index.geographic { y.to_degrees() } else { y } + slack;
        let rows = [c.row(self.y - up), c.row(self.y + up)];
        let columns = if self.index.geographic {
            self.columns_of_cap(x, up, slack)
        } else {
            [Some([c.column(self.x - x - slack), c.column(self.x + x + slack)]), None]
        };
        let found = CellBox { rows, columns, disc: None };
        let whole = found.is_whole(self.index);
        (found, whole)
    }

    /// The columns that a cap of the sphere touches: two runs where it passes the date line.
    fn columns_of_cap(&self, arc: f64, up: f64, slack: f64) -> [Option<[u32; 2]>; 2] {
        let c = &self.index.cells;
        let all = [Some([0, c.columns - 1]), None];
        let cosine = self.at[0].hypot(self.at[1]);
        // Over a pole, or from a right angle on, every column.
        if up + self.y.abs() >= 89.999 || arc >= 1.5 || arc.sin() >= 0.999 * cosine {
            return all;
        }
        // The widest longitude of a cap: sin(dlon) = sin(arc) / cos(latitude).
        let half = (arc.sin() / cosine).asin().to_degrees() + slack;
        let (from, to) = (self.x - half, self.x + half);
        let runs = if from < -180.0 {
            [[0, c.column(to)], [c.column(from + 360.0), c.columns - 1]]
        } else if to > 180.0 {
            [[0, c.column(to - 360.0)], [c.column(from), c.columns - 1]]
        } else {
            return [Some([c.column(from), c.column(to)]), None];
        };
        // Two runs that meet would visit a cell twice.
        if runs[0][1] >= runs[1][0] { all } else { runs.map(Some) }
    }
}

impl CellBox {
    pub fn is_whole(&self, index: &Index) -> bool {
        let c = &index.cells;
        self.rows == [0, c.rows - 1] && self.columns[0] == Some([0, c.columns - 1])
    }

    /// The part that holds the points of a quadrant of a place in the plane, or of all, and whether every one of these counts as
    /// within; `is_whole` says that of all.
    pub fn part(self, is_whole: bool, at: &Place, quadrant: u8) -> (Self, bool) {
        let ([Some(columns), _], true) = (self.columns, quadrant != ALL_QUADRANTS) else {
            return (self, is_whole);
        };
        let c = &at.index.cells;
        // Rows and columns do not decrease with what lies in them.
        let half = |is_upper: bool, [first, last]: [u32; 2], own: u32, cells: u32| match is_upper {
            true => ([own, last], last == cells - 1),
            false => ([first, own], first == 0),
        };
        let (columns, ends_across) = half(quadrant & 1 != 0, columns, c.column(at.x), c.columns);
        let (rows, ends_along) = half(quadrant & 2 != 0, self.rows, c.row(at.y), c.rows);
        let is_whole = ends_across && ends_along && self.disc.is_none();
        (Self { rows, columns: [Some(columns), None], ..self }, is_whole)
    }

    /// The sorted points of the cells: a run of them for each row, or two.
    pub fn runs<'a>(&self, index: &'a Index) -> impl Iterator<Item = Range<usize>> + 'a {
        let ([first, last], columns, disc) = (self.rows, self.columns, self.disc);
        (first..=last).flat_map(move |row| {
            let start = row as usize * index.cells.columns as usize;
            columns.into_iter().flatten().map(move |[from, to]| {
                let (from, to) = match disc {
                    Some(disc) => within_disc(&index.cells, row, [from, to], disc),
                    None => (from, to + 1),
                };
                index.starts[start + from as usize] as usize
                    ..index.starts[start + to as usize] as usize
            })
        })
    }
}

/// Of some columns of a row those that reach into a disc: the first, and the one behind the last.
fn within_disc(c: &Cells, row: u32, [from, to]: [u32; 2], [x, y, radius]: [f64; 3]) -> (u32, u32) {
    let [low, high] = c.strip(row);
    // The slack of a box.
    let slack = c.side * 0.001;
    let away = f64::max(c.south + low - y, y - (c.south + high)) - slack;
    let away = f64::max(away, 0.0);
    if away > radius {
        return (from, from);
    }
    let half = f64::max(radius * radius - away * away, 0.0).sqrt() + slack;
    let (first, last) = (from.max(c.column(x - half)), to.min(c.column(x + half)));
    (first.min(last + 1), last + 1)
}

#[cfg(test)]
mod tests {
    use testing::Random;

    use super::*;
    use crate::points::Data;
    use crate::{Params, Points};

    #[test]
    fn a_radius_holds_what_is_wanted_and_little_more_however_far_the_points_are() {
        let mut random = Random::new(9);
        let [x, y] = [0, 1].map(|_| (0..20_000).map(|_| random.unit()).collect::<Vec<f64>>());
        let values = [&x[..]];
        let data = Data::of(Points { x: &x, y: &y, values: &values }, &Params::default()).unwrap();
        let index = Index::to_search(&data, false);
        for at in [(0.5, 0.5), (0.0, 1.0), (-1.0, 0.5), (3.0, 4.0), (-200.0, 300.0)] {
            let place = Place::new(&index, at);
            for quadrant in 0..=ALL_QUADRANTS {
                let squares: Vec<f64> = (x.iter().zip(&y))
                    .map(|(&x, &y)| place.seen([x, y, 0.0]))
                    .filter(|(_, seen_in)| [*seen_in, ALL_QUADRANTS].contains(&quadrant))
                    .map(|(squared, _)| squared)
                    .collect();
                for wanted in [1, 12, 64] {
                    let radius = place.radius_with(wanted, quadrant, [0.0, f64::INFINITY]);
                    let within = squares.iter().filter(|&&s| s <= radius * radius).count();
                    let is_so = match squares.len() < wanted {
                        true => radius == f64::INFINITY,
                        false => (wanted..=TOO_MANY * wanted).contains(&within),
                    };
                    assert!(is_so, "{within} for {wanted} of {quadrant} around {at:?}: {radius}");
                }
            }
        }
    }
}
