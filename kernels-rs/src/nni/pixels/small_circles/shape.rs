//! The shapes of the kernels for small circles.

use device_std::shared::{Carver, SharedArray};

use super::packing::Packing;
use super::{BLOCK, WARPS};

/// A kernel's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearShape {
    /// Values of a pixel.
    pub values: usize,
    /// Pixels along a cell's side.
    pub supersample: u32,
    /// The squared radius of the largest circle, in half pixels.
    pub circle: u32,
    /// Cells of a tile in x.
    pub columns: u32,
    /// Cells of a tile in y.
    pub rows: u32,
}

impl NearShape {
    /// A tile 64 pixels wide.
    pub const fn new(values: usize, supersample: u32, circle: u32, rows: u32) -> Self {
        Self { values, supersample, circle, columns: 64 / supersample, rows }
    }

    /// How far the circle reaches to the west and north, in pixels.
    pub(super) const fn reach(self) -> u32 {
        let on_centre = self.supersample % 2;
        let mut reach = 0;
        while (2 * (reach + 1) + on_centre - 1).pow(2) <= self.circle {
            reach += 1;
        }
        reach
    }

    /// Pixels of the circle.
    pub(super) const fn pixels_of_circle(self) -> u32 {
        let (reach, on_corner) = (self.reach() as i32, 1 - (self.supersample % 2) as i32);
        let mut pixels = 0;
        let mut y = -reach;
        while y <= reach - on_corner {
            let mut x = -reach;
            while x <= reach - on_corner {
                let (dx, dy) = (2 * x + on_corner, 2 * y + on_corner);
                pixels += ((dx * dx + dy * dy) as u32 <= self.circle) as u32;
                x += 1;
            }
            y += 1;
        }
        pixels
    }

    /// Pixels along the tile's sides.
    pub(super) const fn sides(self) -> [u32; 2] {
        let halo = 2 * self.reach();
        [self.columns * self.supersample + halo, self.rows * self.supersample + halo]
    }

    /// Pixels of the tile.
    pub(super) const fn pixels(self) -> u32 {
        self.sides()[0] * self.sides()[1]
    }

    /// Cells of a thread, one below the other.
    pub(super) const fn cells_of_thread(self) -> u32 {
        self.columns * self.rows / BLOCK
    }

    /// The pairs of words of the tile's pixels, and a flag for each warp.
    pub(super) const fn carve(self, carver: &mut Carver) -> (SharedArray<u64>, SharedArray<u32>) {
        let pairs = Packing::of(self).words.div_ceil(2) as u32;
        (carver.array(pairs * self.pixels()), carver.array(WARPS))
    }

    /// Bytes of shared memory.
    pub const fn shared_bytes(self) -> u32 {
        let mut carver = Carver::new();
        let _ = self.carve(&mut carver);
        carver.bytes()
    }
}
