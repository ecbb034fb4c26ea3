//! How to build a tree and how to search it: parameters and their checks.

use gpu_core::GridSpec;
use kernels_rs::ccq::summary::Binning;

use crate::cell::{Cell, exact_key, first_key};
use crate::{Bound, Error, Result};

/// The longest side of a raster: 2^30 cells.
pub const MAX_SIDE: u32 = 1 << 30;

/// The most nodes of a tree: as many as a link can number.
pub const MAX_NODES: u64 = (1 << 31) - 1;

/// The most bins.
pub const MAX_BINS: usize = 256;

/// How to build a tree.
///
/// ```
/// use ccq_tree::Params;
/// let params = Params::new().bins([0.0, 10.0, 50.0]).nodata(-9999.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Params {
    /// Boundaries of bins, rising: a value is in bin k if exactly k boundaries are at or below it. If empty, there are
    /// no bins and the tree has the values themselves.
    pub bins: Vec<f64>,
    /// The value that stands for NODATA; NaN always does. A value that the cells' type does not have marks no cell.
    pub nodata: Option<f64>,
}

impl Params {
    /// Takes values as they are. All values are valid except NaN.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`bins`](Self#structfield.bins).
    #[must_use]
    pub fn bins(self, bins: impl Into<Vec<f64>>) -> Self {
        Self { bins: bins.into(), ..self }
    }

    /// Sets [`nodata`](Self#structfield.nodata).
    #[must_use]
    pub fn nodata(self, nodata: impl Into<Option<f64>>) -> Self {
        Self { nodata: nodata.into(), ..self }
    }

    /// Whether cells of the type may have no value.
    pub(crate) fn may_lack_values<T: Cell>(&self) -> bool {
        T::MISSING.is_some() || self.nodata.and_then(exact_key::<T>).is_some()
    }

    /// Checks that a tree can have these parameters: boundaries are numbers, rise, and are not too many.
    ///
    /// # Errors
    /// [`Error::Boundary`] and [`Error::Bins`].
    pub fn check(&self) -> Result<()> {
        if self.bins.len() >= MAX_BINS {
            return Err(Error::Bins { bins: self.bins.len() + 1, most: MAX_BINS });
        }
        for (index, &value) in self.bins.iter().enumerate() {
            if value.is_nan() || (index > 0 && self.bins[index - 1] >= value) {
                return Err(Error::Boundary { index, value: value.into() });
            }
        }
        Ok(())
    }

    /// How cells become keys, and the steps between bins.
    pub(crate) fn binning<T: Cell>(&self) -> (Binning, Vec<u32>) {
        let nodata = self.nodata.and_then(exact_key::<T>);
        let edges = self.bins.iter().map(|&boundary| first_key::<T>(boundary));
        // A boundary that no value is below leaves no bin before it.
        let edges: Vec<u64> = edges.collect();
        let first_bin = edges.iter().take_while(|&&edge| edge <= u64::from(T::ENDS.0)).count();
        let mut steps: Vec<u32> =
            edges[first_bin..].iter().map(|&edge| (edge - 1) as u32).collect();
        let bits = if self.bins.is_empty() { 0 } else { bits_for(steps.len()) };
        steps.resize((1 << bits) - 1, u32::MAX);
        let binning = Binning {
            nodata: nodata.unwrap_or(0),
            has_nodata: u32::from(nodata.is_some()),
            first_bin: first_bin as u32,
            steps: bits,
        };
        (binning, steps)
    }
}

/// The least number b, at least 1, with `2^b - 1` not below a number.
fn bits_for(steps: usize) -> u32 {
    (1..).find(|&bits| (1usize << bits) > steps).unwrap_or(1)
}

/// A part of a raster: its rows and columns from the first up to, but without, the second.
///
/// ```
/// use ccq_tree::Window;
///
/// let window = |row0, column0, row1, column1| Window { row0, column0, row1, column1 };
/// let north = window(0, 0, 2, 4);
/// assert_eq!(north.cells(), 8);
/// assert_eq!(north.and(window(1, 3, 5, 5)), Some(window(1, 3, 2, 4)));
/// assert!(north.holds(window(1, 1, 2, 2)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The first row.
    pub row0: u32,
    /// The first column.
    pub column0: u32,
    /// The row after the last.
    pub row1: u32,
    /// The column after the last.
    pub column1: u32,
}

impl Window {
    /// Returns the whole of a raster.
    pub fn of(grid: &GridSpec) -> Self {
        Self { row0: 0, column0: 0, row1: grid.height, column1: grid.width }
    }

    /// Returns the cells that are in both.
    pub fn and(self, other: Self) -> Option<Self> {
        let both = Self {
            row0: self.row0.max(other.row0),
            column0: self.column0.max(other.column0),
            row1: self.row1.min(other.row1),
            column1: self.column1.min(other.column1),
        };
        (both.row0 < both.row1 && both.column0 < both.column1).then_some(both)
    }

    /// Whether it holds all of `other`.
    pub fn holds(self, other: Self) -> bool {
        self.and(other) == Some(other)
    }

    /// Returns the number of cells; 0 if the end comes before the beginning.
    pub fn cells(self) -> u64 {
        let [rows, columns] = [(self.row0, self.row1), (self.column0, self.column1)]
            .map(|(first, end)| u64::from(end.saturating_sub(first)));
        rows * columns
    }

    /// Itself, if it is a part of a raster that is not empty.
    pub(crate) fn check(self, grid: &GridSpec) -> Result<Self> {
        let GridSpec { width, height, .. } = *grid;
        let Self { row0, column0, row1, column1 } = self;
        if row0 >= row1 || column0 >= column1 || row1 > height || column1 > width {
            return Err(Error::Window { row0, column0, row1, column1, width, height });
        }
        Ok(self)
    }
}

/// Where to search. What for, the conditions say.
///
/// Example: see [`statistics`](crate::statistics()).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Query {
    /// The part of the raster that counts; `None` for all of it.
    pub window: Option<Window>,
}

impl Query {
    /// All of the raster.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`window`](Self#structfield.window).
    #[must_use]
    pub fn window(self, window: impl Into<Option<Window>>) -> Self {
        Self { window: window.into() }
    }

    /// The window; `None` where there is no cell at all.
    pub(crate) fn window_in(&self, grid: &GridSpec) -> Result<Option<Window>> {
        match self.window {
            Some(window) => window.check(grid).map(Some),
            None => Ok((grid.cells() > 0).then(|| Window::of(grid))),
        }
    }
}

/// Checks a range of values.
pub(crate) fn check_range((low, high): (Bound, Bound)) -> Result<()> {
    if low <= high { Ok(()) } else { Err(Error::Range { low, high }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_whose_end_comes_first_has_no_cells() {
        let window = Window { row0: 2, column0: 3, row1: 5, column1: 7 };
        assert_eq!(window.cells(), 12);
        assert_eq!(Window { row1: 1, ..window }.cells(), 0);
        assert_eq!(Window { column1: 0, ..window }.cells(), 0);
        assert_eq!(Window { row1: 1, column1: 0, ..window }.cells(), 0);
    }

    #[test]
    fn bins_that_do_not_rise_are_named() {
        let bad = |bins: &[f64]| Params::new().bins(bins).check();
        let boundary = |index, value: f64| Err(Error::Boundary { index, value: value.into() });
        assert_eq!(bad(&[1.0, 1.0]), boundary(1, 1.0));
        assert_eq!(bad(&[2.0, 3.0, -1.0]), boundary(2, -1.0));
        assert!(bad(&[f64::NAN]).unwrap_err().to_string().contains("NaN"));
        let many: Vec<f64> = (0..256).map(f64::from).collect();
        assert_eq!(bad(&many), Err(Error::Bins { bins: 257, most: 256 }));
        assert_eq!(bad(&many[1..]), Ok(()));
    }

    #[test]
    fn boundaries_below_all_values_only_raise_the_first_bin() {
        let (binning, steps) = Params::new().bins([-5.0, 0.0, 7.5, 300.0]).binning::<u8>();
        assert_eq!((binning.first_bin, binning.steps), (2, 2));
        assert_eq!(steps, [7, 255, u32::MAX]);
        let (binning, steps) = Params::new().bins([-5.0]).binning::<u8>();
        assert_eq!((binning.first_bin, binning.steps, &steps[..]), (1, 1, &[u32::MAX][..]));
        assert_eq!(Params::new().binning::<u8>().0.steps, 0);
    }

    #[test]
    fn windows_lie_in_the_raster() {
        let grid = GridSpec::of_pixels(10, 5);
        let window = |row0, column0, row1, column1| Window { row0, column0, row1, column1 };
        for bad in [window(0, 0, 0, 1), window(3, 2, 2, 4), window(0, 0, 6, 1), window(0, 9, 1, 11)]
        {
            assert!(matches!(bad.check(&grid), Err(Error::Window { .. })), "{bad:?}");
        }
        assert_eq!(window(4, 9, 5, 10).check(&grid), Ok(window(4, 9, 5, 10)));
    }
}
