//! The division of the ground into square blocks.

use gpu_core::Bounds;

/// Points of a block, about: as much as a disk reads at once.
const POINTS: u64 = 4096;

/// Blocks at most, so that their counts take a few megabytes.
const MOST: u64 = 1 << 18;

/// Square blocks over a ground, row by row from the south-west.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Blocks {
    pub west: f64,
    pub south: f64,
    pub side: f64,
    pub columns: u32,
    pub rows: u32,
}

impl Blocks {
    /// Returns blocks with about [`POINTS`] points each, if `points` points are spread evenly.
    pub fn over(ground: &Bounds, points: u64) -> Self {
        let (width, height) = (ground.max_x - ground.min_x, ground.max_y - ground.min_y);
        let longest = width.max(height);
        let one = Self { west: ground.min_x, south: ground.min_y, side: 1.0, columns: 1, rows: 1 };
        if !(longest.is_finite() && longest > 0.0) {
            return one;
        }
        let wanted = (points / POINTS).clamp(1, MOST) as f64;
        // If the ground is nearly a line, the blocks stand in a row.
        let shorter = width.min(height).max(longest / wanted);
        let side = (longest * shorter / wanted).sqrt();
        let count = |length: f64| ((length / side).floor() + 1.0).min(MOST as f64) as u32;
        Self { side, columns: count(width), rows: count(height), ..one }
    }

    /// Whether these can be blocks.
    pub fn is_sound(&self) -> bool {
        let is_finite = [self.west, self.south, self.side].iter().all(|v| v.is_finite());
        let count = u64::from(self.columns) * u64::from(self.rows);
        is_finite && self.side > 0.0 && (1..=8 * MOST).contains(&count)
    }

    pub fn count(&self) -> usize {
        self.columns as usize * self.rows as usize
    }

    /// Returns the block of a place; for a place outside, the nearest block.
    pub fn of(&self, x: f64, y: f64) -> u32 {
        self.row(y) * self.columns + self.column(x)
    }

    // Both rise with the place, so what lies between two places is in a block between theirs.

    pub fn column(&self, x: f64) -> u32 {
        // A cast takes what is below 0 for 0.
        (((x - self.west) / self.side) as u32).min(self.columns - 1)
    }

    pub fn row(&self, y: f64) -> u32 {
        (((y - self.south) / self.side) as u32).min(self.rows - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_about_as_many_points_whatever_the_ground() {
        let over = |width: f64, height: f64, points: u64| {
            let ground =
                Bounds { min_x: -5.0, min_y: 7.0, max_x: width - 5.0, max_y: 7.0 + height };
            let blocks = Blocks::over(&ground, points);
            assert!(blocks.is_sound(), "{blocks:?}");
            assert_eq!(blocks.of(-5.0, 7.0), 0);
            assert_eq!(blocks.of(-50.0, -70.0), 0);
            let last = blocks.count() as u32 - 1;
            assert_eq!(blocks.of(ground.max_x + 1e9, ground.max_y + 1e9), last);
            blocks.count() as u64
        };
        assert_eq!(over(0.0, 0.0, 1 << 40), 1);
        assert_eq!(over(100.0, 100.0, 10), 4);
        for (width, height) in [(1e6, 1e6), (1e-3, 2e-3), (1e7, 1.0), (1.0, 1e9), (0.0, 3.0)] {
            for points in [1_u64 << 20, 1 << 26, u64::MAX] {
                let (count, wanted) = (over(width, height, points), (points / POINTS).min(MOST));
                assert!(count >= wanted / 2 && count <= 4 * wanted, "{count} of {wanted}");
            }
        }
    }
}
