//! Finds the cell of a place: quickly by [`quick`], and by [`locate`](mod@kernels_rs::sphere_qtm::locate) where `quick`
//! cannot decide.
//!
//! Many places use [`quick`] together, in [`Block`]s: each step is a loop over the block's places without a branch,
//! which the compiler vectorises. With a single place, each step must wait for the previous one.

use std::sync::LazyLock;

use kernels_rs::sphere_qtm::locate;
use kernels_rs::sphere_qtm::quick::{self, DEPTHS, FACTORS, Start, TABLED, Table, Way};
use kernels_rs::sphere_qtm::triangle::Vector;

/// Numbers of factors and depths, to powers of two, so that no index needs a check.
const SIZES: [usize; 2] = [FACTORS.next_power_of_two() as usize, DEPTHS as usize];

/// The tables of [`quick`]: 60 KB.
struct Tables {
    factors: Box<[Vector; SIZES[0]]>,
    depths: Box<[[f32; 3]; SIZES[1]]>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let mut tables =
        Tables { factors: Box::new([[0.0; 3]; SIZES[0]]), depths: Box::new([[0.0; 3]; SIZES[1]]) };
    for (number, factors) in (0..FACTORS).zip(&mut tables.factors[..]) {
        *factors = quick::factors(number);
    }
    for (index, depths) in (0..DEPTHS).zip(&mut tables.depths[..]) {
        *depths = quick::depths(index);
    }
    tables
});

impl Table for Tables {
    #[inline(always)]
    fn factors(&self, number: u32) -> Vector {
        self.factors[number as usize % SIZES[0]]
    }

    #[inline(always)]
    fn depths(&self, index: u32) -> [f32; 3] {
        self.depths[index as usize % SIZES[1]]
    }
}

/// Returns the position, in its level, of the cell that a direction points to.
pub fn locate_direction(direction: Vector, level: u32) -> u64 {
    let found = Start::of_direction(direction).locate(level, &*TABLES);
    found.unwrap_or_else(|| locate::locate(direction, level))
}

/// Places that go down together.
pub const BLOCK: usize = 64;

/// Computes the positions for at most [`BLOCK`] places in degrees, which must be on the globe. The bits are the same on
/// every processor.
pub fn locate_degrees(longitudes: &[f64], latitudes: &[f64], level: u32, out: &mut [u64]) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
        fn widest(longitudes: &[f64], latitudes: &[f64], level: u32, out: &mut [u64]) {
            locate_block(longitudes, latitudes, level, out);
        }
        #[target_feature(enable = "avx2")]
        fn wide(longitudes: &[f64], latitudes: &[f64], level: u32, out: &mut [u64]) {
            locate_block(longitudes, latitudes, level, out);
        }
        let has_widest = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512bw");
        if has_widest {
            // SAFETY: a check has found these instructions on the processor.
            return unsafe { widest(longitudes, latitudes, level, out) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: a check has found these instructions on the processor.
            return unsafe { wide(longitudes, latitudes, level, out) };
        }
    }
    locate_block(longitudes, latitudes, level, out);
}

#[inline(always)]
fn locate_block(longitudes: &[f64], latitudes: &[f64], level: u32, out: &mut [u64]) {
    let mut block = Block::of_degrees(longitudes, latitudes);
    block.descend(level, &TABLES);
    let (indices, are_certain) = block.flat(level);
    for (i, (&longitude, &latitude)) in longitudes.iter().zip(latitudes).enumerate() {
        out[i] = match are_certain[i] {
            true => indices[i],
            false => locate::locate_degrees(longitude, latitude, level),
        };
    }
}

/// Places on their way down: [`Way`]s in columns.
struct Block {
    octant: [u32; BLOCK],
    weights: [[f64; BLOCK]; 3],
    index: [u32; BLOCK],
    depths: [[f32; BLOCK]; 3],
}

impl Block {
    #[inline(always)]
    fn of_degrees(longitudes: &[f64], latitudes: &[f64]) -> Self {
        let mut block = Self {
            octant: [0; BLOCK],
            weights: [[0.0; BLOCK]; 3],
            index: [0; BLOCK],
            depths: [[0.0; BLOCK]; 3],
        };
        let (mut x, mut y) = ([0.0; BLOCK], [0.0; BLOCK]);
        x[..longitudes.len()].copy_from_slice(longitudes);
        y[..latitudes.len()].copy_from_slice(latitudes);
        for (i, (&x, &y)) in x.iter().zip(&y).enumerate() {
            let start = Start::of_degrees(x, y);
            block.octant[i] = start.octant;
            block.set(i, Way::new(start.weights));
        }
        block
    }

    #[inline(always)]
    fn way(&self, i: usize) -> Way {
        let weights = [0, 1, 2].map(|k| self.weights[k][i]);
        Way { weights, index: self.index[i], depths: [0, 1, 2].map(|k| self.depths[k][i]) }
    }

    #[inline(always)]
    fn set(&mut self, i: usize, way: Way) {
        self.index[i] = way.index;
        for k in 0..3 {
            self.weights[k][i] = way.weights[k];
            self.depths[k][i] = way.depths[k];
        }
    }

    /// Through the curved levels.
    #[inline(always)]
    fn descend(&mut self, level: u32, tables: &Tables) {
        let curved = quick::curved_levels(level);
        let mut before = 0;
        for _ in 0..curved.min(TABLED) {
            self.each(Way::down);
            self.each(|way| way.multiplied(before, tables));
            before = 4 * before + 4;
        }
        if curved > TABLED {
            self.each(|way| Way { depths: tables.depths(way.index), ..way });
            self.each(|way| way.curved(true));
        }
        for _ in TABLED + 1..curved {
            self.each(|way| way.curved(false));
        }
    }

    #[inline(always)]
    fn each(&mut self, step: impl Fn(Way) -> Way) {
        for i in 0..BLOCK {
            self.set(i, step(self.way(i)));
        }
    }

    /// Through the flat levels: the cells by their places in the level, and whether they are certain.
    #[inline(always)]
    fn flat(&self, level: u32) -> ([u64; BLOCK], [bool; BLOCK]) {
        let (mut indices, mut are_certain) = ([0; BLOCK], [false; BLOCK]);
        let curved = quick::curved_levels(level);
        for i in 0..BLOCK {
            (indices[i], are_certain[i]) = self.way(i).flat(self.octant[i], level, curved);
        }
        (indices, are_certain)
    }
}

#[cfg(test)]
mod tests {
    use kernels_rs::spatial::sphere::unit_vector;

    use super::*;

    #[test]
    fn blocks_and_directions_have_the_cells_of_the_long_way() {
        let mut numbers = testing::Random::new(5);
        let mut places: Vec<[f64; 2]> = (0..3000)
            .map(|_| {
                [numbers.between(-360.0, 360.0), numbers.between(-1.0, 1.0).asin().to_degrees()]
            })
            .collect();
        // Edges and vertices, which no short way is certain of.
        for longitude in [-360.0, -180.0, -90.0, -0.0, 0.0, 45.0, 90.0, 180.0, 270.0, 360.0] {
            places.extend([-90.0, -45.0, -1e-300, -0.0, 0.0, 45.0, 90.0].map(|y| [longitude, y]));
        }
        let [x, y] = [0, 1].map(|k| places.iter().map(|place| place[k]).collect::<Vec<f64>>());
        for level in 0..=29 {
            for (x, y) in x.chunks(BLOCK - 1).zip(y.chunks(BLOCK - 1)) {
                let mut found = [0; BLOCK];
                locate_degrees(x, y, level, &mut found);
                for ((&x, &y), found) in x.iter().zip(y).zip(found) {
                    let expected = locate::locate_degrees(x, y, level);
                    assert_eq!(found, expected, "({x}, {y}) at level {level}");
                    assert_eq!(locate_direction(unit_vector(x, y), level), expected);
                }
            }
        }
    }
}
