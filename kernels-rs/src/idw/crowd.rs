//! Cells with far more points than others: what lies below them.
//!
//! Their points are in the order of a curve through the cell, and runs of them have boxes: of [`SHORT`] points, and of
//! [`LONG`] where there are so many. The last run of a cell has what remains, too.

/// Cells with more points are crowded. Of two points on average, as even points have, none ever has so many.
pub const MOST_EVEN: u32 = 64;

/// Points of a short run.
pub const SHORT: u32 = 32;

/// Points of a long run: as many short ones as it has points.
pub const LONG: u32 = SHORT * SHORT;

/// Runs of one length of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runs {
    /// Where the cell's points begin, and how many there are.
    start: u32,
    points: u32,
    length: u32,
    /// The number of the first run among those of all cells.
    pub first: u32,
    /// How many.
    pub count: u32,
}

impl Runs {
    /// Of some points from a start on; of fewer than `length` there are none.
    #[inline(always)]
    pub fn of(start: u32, points: u32, length: u32) -> Self {
        // Numbers of different cells differ, since each run has `length` points at least.
        let first = start.div_ceil(length);
        Self { start, points, length, first, count: points / length }
    }

    /// Where run `i` begins, and how many points it has.
    #[inline(always)]
    pub fn run(&self, i: u32) -> [u32; 2] {
        let from = i * self.length;
        let points = if i + 1 == self.count { self.points - from } else { self.length };
        [self.start + from, points]
    }
}

/// Where the boxes of runs of a length begin, among those of an index of `points` points.
#[inline(always)]
pub const fn first_box(points: u32, length: u32) -> u32 {
    if length == SHORT { 0 } else { points / SHORT + 1 }
}

/// How many boxes there is room for: four numbers each, west, south, east, north.
#[inline(always)]
pub const fn most_boxes(points: u32) -> u32 {
    first_box(points, LONG) + points / LONG + 1
}

/// How many crowded cells there are at most.
#[inline(always)]
pub const fn most_crowds(points: u32) -> u32 {
    points / (MOST_EVEN + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_cells_have_runs_of_the_same_number() {
        let mut state = 1u32;
        for length in [SHORT, LONG] {
            let (mut start, mut next) = (0, 0);
            for _ in 0..2000 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let points = (state >> 16) % (3 * length);
                let runs = Runs::of(start, points, length);
                if runs.count > 0 {
                    assert!(runs.first >= next);
                    next = runs.first + runs.count;
                    let covered: u32 = (0..runs.count).map(|i| runs.run(i)[1]).sum();
                    assert_eq!((runs.run(0)[0], covered), (start, points));
                }
                start += points;
                let room = if length == SHORT { first_box(start, LONG) } else { start / LONG + 1 };
                assert!(next <= room);
            }
        }
    }
}
