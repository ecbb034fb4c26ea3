//! Where sites crowd: what of a row of cells may have what is looked for.
//!
//! A cell has two sites in the mean. Where points lie along lines, or round a scanner, one has thousands. So the sites
//! of a cell are sorted by the Morton codes of its 256 x 256 parts ([`key`](super::index::key)): what lies together
//! among them lies together in the plane.
//!
//! Plan: where a row has many sites it is halved, and what is left of it again, down to a cell, and its sites in the same
//! way. What is few is gone through; what cannot have what is looked for, by the box round it, is left out. Nothing is stored for
//! that: the box of some cells is known, and that of some sites of a cell is the smallest square of parts, as a
//! quadtree has them, that holds the first and the last.

use device_std::math;

use super::search::Index;
use crate::spatial::cells::Cells;
use crate::spatial::morton;

/// Parts along each side of a cell.
const PARTS: u32 = 256;

/// Bits of the code of a part.
pub const CODE_BITS: u32 = 16;

/// Sites that are gone through one by one.
pub const FEW: u32 = 32;

/// Sites on each side of a place in the order of the sites that are looked at first where many are in its cell.
const BESIDE: u32 = 16;

/// A box of places: from a western x to an eastern one, from a southern y to a northern one.
pub type Area = [[f64; 2]; 2];

/// The part of a cell in which a place lies that belongs to the cell: its column and row there.
#[inline(always)]
fn part(cells: &Cells, [column, row]: [u32; 2], place: [f64; 2]) -> [u32; 2] {
    let along = |position: f64, cell: u32| {
        let part = math::floor((position - cell as f64) * PARTS as f64);
        f64::max(0.0, f64::min(part, (PARTS - 1) as f64)) as u32
    };
    [
        along((place[0] - cells.west) * cells.per_unit, column),
        along((place[1] - cells.south) * cells.per_unit, row),
    ]
}

/// The Morton code of the part of its cell in which a place lies.
#[inline(always)]
pub fn code(cells: &Cells, cell: [u32; 2], place: [f64; 2]) -> u32 {
    let [column, row] = part(cells, cell, place);
    morton::encode32(column as u16, row as u16)
}

/// Numbers below a count by halves, quarters and so on.
struct Halves {
    first: u32,
    len: u32,
    count: u32,
}

impl Halves {
    #[inline(always)]
    fn of(count: u32) -> Self {
        Self { first: 0, len: count.checked_next_power_of_two().unwrap_or(1 << 31), count }
    }

    #[inline(always)]
    fn are_over(&self) -> bool {
        self.first >= self.count
    }

    #[inline(always)]
    fn end(&self) -> u32 {
        u32::min(self.first.saturating_add(self.len), self.count)
    }

    /// Goes on with the first half of the part at hand.
    #[inline(always)]
    fn halve(&mut self) {
        self.len /= 2;
    }

    /// Goes on behind it.
    #[inline(always)]
    fn advance(&mut self) {
        self.first = self.end();
        self.len = 1 << (self.first.trailing_zeros() & 31);
    }
}

/// A way through the sites of some cells of a row.
pub struct Crowds {
    row: u32,
    first_column: u32,
    columns: Halves,
    /// The cell at hand, where it has many sites.
    column: u32,
    first_site: u32,
    sites: Halves,
}

impl Crowds {
    /// Through the columns from a first to a last one.
    #[inline(always)]
    pub fn of_row(row: u32, [first, last]: [u32; 2]) -> Self {
        let columns = Halves::of(last - first + 1);
        let (column, first_site, sites) = (0, 0, Halves::of(0));
        Self { row, first_column: first, columns, column, first_site, sites }
    }

    /// The next sites to be gone through, from a first to before an end, at most [`FEW`]. `may_hold` tells whether a
    /// box, seen from `at`, may have any that is looked for.
    #[inline(always)]
    pub fn next<P: Fn(u32) -> [f64; 2], S: Fn(u32) -> u32>(
        &mut self,
        index: &Index<P, S>,
        at: [f64; 2],
        may_hold: impl Fn(Area) -> bool,
    ) -> Option<[u32; 2]> {
        loop {
            let is_in_cell = !self.sites.are_over();
            let (from, to, area);
            if is_in_cell {
                from = self.first_site + self.sites.first;
                to = self.first_site + self.sites.end();
                area = index.square_round([self.column, self.row], from, to - 1, at);
            } else if !self.columns.are_over() {
                let first = self.first_column + self.columns.first;
                let end = self.first_column + self.columns.end();
                let start = self.row * index.cells.columns;
                (from, to) = ((index.start)(start + first), (index.start)(start + end));
                let rows = [self.row as f64, (self.row + 1) as f64];
                area = index.cells.around_all([first as f64, end as f64], rows, at);
            } else {
                return None;
            }
            let is_held = from < to && may_hold(area);
            if is_held && to - from > FEW {
                if is_in_cell {
                    self.sites.halve();
                } else if self.columns.len > 1 {
                    self.columns.halve();
                } else {
                    (self.column, self.first_site) = (self.first_column + self.columns.first, from);
                    self.sites = Halves::of(to - from);
                    self.columns.advance();
                }
                continue;
            }
            if is_in_cell {
                self.sites.advance();
            } else {
                self.columns.advance();
            }
            if is_held {
                return Some([from, to]);
            }
        }
    }
}

impl<P: Fn(u32) -> [f64; 2], S: Fn(u32) -> u32> Index<P, S> {
    /// The box, seen from `at`, round the sites of a cell from a first to a last one.
    #[inline(always)]
    fn square_round(&self, cell: [u32; 2], first: u32, last: u32, at: [f64; 2]) -> Area {
        let a = part(&self.cells, cell, (self.place)(first));
        let b = part(&self.cells, cell, (self.place)(last));
        let bits = u32::BITS - ((a[0] ^ b[0]) | (a[1] ^ b[1])).leading_zeros();
        let ends = |cell: u32, part: u32| {
            let first = part >> bits << bits;
            let of_cells = |part: u32| cell as f64 + part as f64 * (1.0 / PARTS as f64);
            [of_cells(first), of_cells(first + (1 << bits))]
        };
        self.cells.around_all(ends(cell[0], a[0]), ends(cell[1], a[1]), at)
    }

    /// Sites that lie about a place, from a first to before an end; none where few are in its cell.
    #[inline(always)]
    pub fn beside(&self, at: [f64; 2]) -> [u32; 2] {
        let cell = [self.cells.column(at[0]), self.cells.row(at[1])];
        let number = cell[1] * self.cells.columns + cell[0];
        let (start, end) = ((self.start)(number), (self.start)(number + 1));
        if end - start <= FEW {
            return [start, start];
        }
        let own = code(&self.cells, cell, at);
        let (mut first, mut behind) = (start, end);
        while first < behind {
            let middle = first + (behind - first) / 2;
            if code(&self.cells, cell, (self.place)(middle)) < own {
                first = middle + 1;
            } else {
                behind = middle;
            }
        }
        [u32::max(first, start + BESIDE) - BESIDE, u32::min(end - first, BESIDE) + first]
    }
}

#[cfg(test)]
mod tests {
    use super::super::index::{PLACE_BITS, key};
    use super::super::sought::squared_distance;
    use super::*;

    /// Sites of which nine in ten lie in a hundredth of the square, some of them beyond the cells.
    fn places(cells: &Cells) -> Vec<[f64; 2]> {
        let part = |i: u32, by: f64| (f64::from(i) * by).fract();
        let place = |i: u32| {
            let [x, y] = [part(i, 754.877_666_246_69), part(i ^ (i >> 3), 569.840_290_998_05)];
            if i.is_multiple_of(10) {
                [x * 8.0 - 1.0, y * 8.0 - 1.0]
            } else {
                [x * 0.7 + 2.1, y * 0.7 + 3.2]
            }
        };
        let mut places: Vec<_> = (0..4000).map(place).collect();
        places.sort_by_key(|&[x, y]| key(cells, x, y));
        places
    }

    /// Six by six cells and the places in them, sorted.
    fn sorted() -> (Cells, Vec<[f64; 2]>) {
        let cells = Cells { west: 0.0, south: 0.0, side: 1.0, per_unit: 1.0, columns: 6, rows: 6 };
        (cells, places(&cells))
    }

    fn index(
        cells: Cells,
        places: &[[f64; 2]],
    ) -> Index<impl Fn(u32) -> [f64; 2], impl Fn(u32) -> u32> {
        let before = |cell: u64| {
            places.partition_point(|&[x, y]| key(&cells, x, y) >> PLACE_BITS < cell) as u32
        };
        let starts: Vec<u32> = (0..=cells.len()).map(before).collect();
        let place = |site: u32| places[site as usize];
        Index { cells, place, start: move |cell: u32| starts[cell as usize] }
    }

    #[test]
    fn no_site_is_left_out_that_lies_where_it_is_looked_for_and_most_others_are() {
        let (cells, places) = sorted();
        let index = index(cells, &places);
        let (mut within, mut looked_at) = (0, 0);
        for i in 0..400u32 {
            let at = [f64::from(i % 23) * 0.3 - 0.5, f64::from(i % 31) * 0.22 - 0.5];
            let radius = f64::from(i % 7) * 0.03 + 0.001;
            let mut seen = vec![0; places.len()];
            for row in 0..cells.rows {
                let mut crowds = Crowds::of_row(row, [i % 2, cells.columns - 1]);
                let near = |area| squared_distance(area, [0.0; 2]) <= radius * radius;
                while let Some([first, end]) = crowds.next(&index, at, near) {
                    assert!(first < end && end - first <= FEW);
                    seen[first as usize..end as usize].iter_mut().for_each(|times| *times += 1);
                }
            }
            for (&[x, y], times) in places.iter().zip(seen) {
                let is_within = f64::hypot(x - at[0], y - at[1]) <= radius;
                let is_asked = cells.column(x) >= i % 2;
                assert!(times == 1 || times == 0 && !(is_within && is_asked), "{x}, {y}: {times}");
                within += u32::from(is_within && is_asked);
                looked_at += times;
            }
        }
        assert!(within > 300 && looked_at < 400 * 4000 / 100, "{within}, {looked_at}");
    }

    #[test]
    fn what_is_beside_a_place_lies_near() {
        let (cells, places) = sorted();
        let index = index(cells, &places);
        let [first, end] = index.beside([5.5, 0.5]);
        assert_eq!(first, end, "few lie there");
        let mut far = 0;
        for i in 0..200 {
            let at = [2.15 + f64::from(i) * 0.003, 3.25 + f64::from(i % 17) * 0.03];
            let [first, end] = index.beside(at);
            assert!(end - first >= BESIDE && end - first <= 2 * BESIDE);
            let away = |&[x, y]: &[f64; 2]| f64::hypot(x - at[0], y - at[1]);
            let nearest = places[first as usize..end as usize].iter().map(away);
            far += u32::from(nearest.fold(f64::INFINITY, f64::min) > 0.05);
        }
        assert!(far < 10, "{far} of 200");
    }
}
