//! What the kernels for all pairs share, those of modules `idw` and `idw_tree`: targets, weights by the
//! power, and the numbers of a call.

use device_std::real::Real;
use device_std::thread;

/// Threads of a block.
pub const BLOCK: u32 = 128;

/// Threads of a block that share a row of a grid; each has every so-many-th cell.
pub const ROW_THREADS: u32 = 8;

/// Rows of a grid that a block serves.
pub const PATCH_ROWS: u32 = BLOCK / ROW_THREADS;

/// Where the numbers of [`Setup`] lie.
pub mod setup {
    /// 1 / unit of length, a power of two.
    pub const SCALE: usize = 0;
    /// The smoothing's square, in units.
    pub const SMOOTHING: usize = 1;
    /// Minus half the power.
    pub const EXPONENT: usize = 2;
    /// The middle of the data: x, y, and on a sphere z.
    pub const CENTRE: usize = 3;
    /// The grid: x of the west edge, y of the north edge, cell size.
    pub const GRID: usize = 6;
    /// Of each value: offset, lowest, highest.
    pub const VALUES: usize = 9;
}

/// The numbers of a call, in f64, as [`setup`] says.
pub type Setup = *const f64;

/// How a weight follows from a squared distance.
pub trait Law {
    /// Whether two data points share a reciprocal.
    const SHARED: bool;

    /// The weight.
    fn weight<T: Real>(squared: T, exponent: T) -> T;
}

/// The powers 1 to 4.
pub struct Power<const P: u32>;

impl<const P: u32> Law for Power<P> {
    const SHARED: bool = P == 2;

    #[inline(always)]
    fn weight<T: Real>(squared: T, _: T) -> T {
        match P {
            1 => squared.reciprocal_sqrt(),
            2 => squared.reciprocal(),
            3 => {
                let root = squared.reciprocal_sqrt();
                root * root * root
            }
            _ => {
                let reciprocal = squared.reciprocal();
                reciprocal * reciprocal
            }
        }
    }
}

/// Any power.
pub struct AnyPower;

impl Law for AnyPower {
    const SHARED: bool = false;

    #[inline(always)]
    fn weight<T: Real>(squared: T, exponent: T) -> T {
        (exponent * squared.log2()).exp2()
    }
}

/// The query points: columns, or the cells of a grid.
#[derive(Clone, Copy)]
pub struct Targets {
    /// x of each, then y of each; null for a grid.
    pub places: *const f64,
    /// How many.
    pub count: u64,
    /// Columns of the grid.
    pub width: u32,
    /// Rows of the grid.
    pub height: u32,
}

impl Targets {
    /// The index of the thread's query `j`; beyond the queries, `count`.
    #[inline(always)]
    pub fn query<const ROW: bool, const Q: usize>(&self, j: usize) -> u64 {
        let (block, me) = (thread::block_idx_x(), thread::thread_idx_x());
        if !ROW {
            let first = block as u64 * (BLOCK as u64 * Q as u64);
            return u64::min(first + j as u64 * BLOCK as u64 + me as u64, self.count);
        }
        let (column, row) = self.cell::<Q>(block, me, j);
        if column < self.width && row < self.height {
            row as u64 * self.width as u64 + column as u64
        } else {
            self.count
        }
    }

    /// The cell of query `j` of thread `me`.
    #[inline(always)]
    pub fn cell<const Q: usize>(&self, block: u32, me: u32, j: usize) -> (u32, u32) {
        let across = self.width.div_ceil(ROW_THREADS * Q as u32);
        let patch_row = block.checked_div(across).unwrap_or(0);
        let patch_column = block - patch_row * across;
        let column = patch_column * (ROW_THREADS * Q as u32) + me % ROW_THREADS;
        (column + j as u32 * ROW_THREADS, patch_row * PATCH_ROWS + me / ROW_THREADS)
    }

    /// The place of a query, of so many dimensions.
    #[inline(always)]
    pub unsafe fn at(&self, setup: Setup, query: u64, dimensions: u32) -> [f64; 3] {
        // SAFETY: the query is below the count; the setup is whole.
        unsafe {
            if self.places.is_null() {
                let row = query.checked_div(self.width as u64).unwrap_or(0);
                let column = query - row * self.width as u64;
                let cell = *setup.add(setup::GRID + 2);
                let x = *setup.add(setup::GRID) + (column as f64 + 0.5) * cell;
                return [x, *setup.add(setup::GRID + 1) - (row as f64 + 0.5) * cell, 0.0];
            }
            let (i, n) = (query as usize, self.count as usize);
            let z = if dimensions > 2 { *self.places.add(i + 2 * n) } else { 0.0 };
            [*self.places.add(i), *self.places.add(i + n), z]
        }
    }

    /// The place of a cell's centre.
    ///
    /// # Safety
    /// The setup is whole.
    #[inline(always)]
    pub unsafe fn cell_place(setup: Setup, column: u32, row: u32) -> [f64; 2] {
        // SAFETY: passed on to the caller.
        unsafe {
            let cell = *setup.add(setup::GRID + 2);
            [
                *setup.add(setup::GRID) + (column as f64 + 0.5) * cell,
                *setup.add(setup::GRID + 1) - (row as f64 + 0.5) * cell,
            ]
        }
    }

    /// The place of query `j`, on the ground.
    #[inline(always)]
    pub unsafe fn place<const ROW: bool, const Q: usize>(
        &self,
        setup: Setup,
        j: usize,
    ) -> [f64; 2] {
        // SAFETY: the index is brought below the count, which is not 0; the setup is whole.
        unsafe {
            if ROW {
                let (column, row) =
                    self.cell::<Q>(thread::block_idx_x(), thread::thread_idx_x(), j);
                return Self::cell_place(setup, column, row);
            }
            let query = u64::min(self.query::<ROW, Q>(j), self.count - 1) as usize;
            [*self.places.add(query), *self.places.add(query + self.count as usize)]
        }
    }
}

/// A number and what f32 leaves of it.
#[inline(always)]
pub fn split(x: f64) -> [f32; 2] {
    let high = x as f32;
    [high, (x - high as f64) as f32]
}

/// The middle of the data and the scale.
#[derive(Clone, Copy)]
pub struct Frame {
    x: f64,
    y: f64,
    scale: f64,
}

impl Frame {
    #[inline(always)]
    pub unsafe fn new(setup: Setup) -> Self {
        // SAFETY: the setup is whole.
        unsafe {
            Self {
                x: *setup.add(setup::CENTRE),
                y: *setup.add(setup::CENTRE + 1),
                scale: *setup.add(setup::SCALE),
            }
        }
    }

    #[inline(always)]
    pub fn x(&self, x: f64) -> f64 {
        (x - self.x) * self.scale
    }

    #[inline(always)]
    pub fn y(&self, y: f64) -> f64 {
        (y - self.y) * self.scale
    }
}

/// `f32::mul_add` under a name that the inherent method of the host does not hide.
pub trait MulAdd {
    fn mul_add_(self, b: f32, c: f32) -> f32;
}

impl MulAdd for f32 {
    #[inline(always)]
    fn mul_add_(self, b: f32, c: f32) -> f32 {
        Real::mul_add(self, b, c)
    }
}
