//! Codes: whole numbers in the order of the values that they stand for.

use gpu_core::{Grid, GridView, host_memory, parallel};

use crate::cell::{Keys, Ranges};
use crate::number::{end_rank, first_rank};
use crate::{Bound, Error, Number, Params, Result};

/// The most bins of a [`CodedTree`](crate::CodedTree).
pub const MAX_CODED_BINS: usize = 65_535;

/// How to build a [`CodedTree`](crate::CodedTree).
///
/// Example: see [`build_coded`](crate::build_coded).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CodedParams<T> {
    /// Boundaries of bins, each equal to the previous one or above it. A value is in bin k if exactly k boundaries are
    /// at or below it. So an empty bin lies between equal boundaries. Without boundaries there are no bins: each value
    /// has a code.
    pub bins: Vec<T>,
    /// The value that stands for NODATA; NaN always does.
    pub nodata: Option<T>,
}

impl<T: Number> CodedParams<T> {
    /// Takes values as they are. All values are valid except NaN.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`bins`](Self#structfield.bins).
    #[must_use]
    pub fn bins(self, bins: impl Into<Vec<T>>) -> Self {
        Self { bins: bins.into(), ..self }
    }

    /// Sets [`nodata`](Self#structfield.nodata).
    #[must_use]
    pub fn nodata(self, nodata: impl Into<Option<T>>) -> Self {
        Self { nodata: nodata.into(), ..self }
    }
}

impl<T> Default for CodedParams<T> {
    fn default() -> Self {
        Self { bins: Vec::new(), nodata: None }
    }
}

/// The table of codes: each code stands for a value, or each for a bin.
///
/// Example: see [`build_coded`](crate::build_coded).
#[derive(Clone, Debug, PartialEq)]
pub struct Codes<T> {
    /// The values, rising; or the boundaries between bins, none below the one before.
    pub(crate) values: Vec<T>,
    pub(crate) are_bins: bool,
}

/// Values that are worth a task of their own.
const TOGETHER: usize = 1 << 16;

impl<T: Number> Codes<T> {
    /// The codes of these values: bins, where the parameters have some.
    ///
    /// # Errors
    /// [`Error::Boundary`] and [`Error::Bins`]; [`Error::Core`] where memory does not suffice.
    pub(crate) fn new(values: &[T], params: &CodedParams<T>) -> Result<Self> {
        if params.bins.is_empty() {
            return Self::distinct(values, params.nodata);
        }
        let codes = Self { values: params.bins.clone(), are_bins: true };
        codes.check()?;
        Ok(codes)
    }

    /// Refuses boundaries that fall, values that do not rise, and too many.
    pub(crate) fn check(&self) -> Result<()> {
        if self.are_bins && self.values.len() >= MAX_CODED_BINS {
            return Err(Error::Bins { bins: self.values.len() + 1, most: MAX_CODED_BINS });
        }
        let ranks: Vec<Option<u64>> = self.values.iter().map(|value| value.rank()).collect();
        let falls = |a: Option<u64>, b: Option<u64>| if self.are_bins { a > b } else { a >= b };
        let is_bad = |&i: &usize| ranks[i].is_none() || (i > 0 && falls(ranks[i - 1], ranks[i]));
        match (0..ranks.len()).find(is_bad) {
            Some(index) => Err(Error::Boundary { index, value: self.values[index].bound() }),
            None => Ok(()),
        }
    }

    /// A code for each value that occurs.
    fn distinct(values: &[T], nodata: Option<T>) -> Result<Self> {
        host_memory::require(values.len() as u64 * 16)?;
        let nodata = nodata.and_then(Number::rank);
        let of_range = |range: std::ops::Range<usize>| {
            let ranks = values[range].iter().filter_map(|value| value.rank());
            ranks.filter(|&rank| Some(rank) != nodata).collect::<Vec<u64>>()
        };
        let mut ranks = parallel::map_ranges(values.len(), TOGETHER, &of_range).concat();
        parallel::sort(&mut ranks);
        ranks.dedup();
        Ok(Self { values: ranks.into_iter().map(T::of_rank).collect(), are_bins: false })
    }

    /// The codes of a raster whose tiles have these, of which there is one at least.
    ///
    /// # Errors
    /// [`Error::Core`] where memory does not suffice.
    pub(super) fn of_tiles(tiles: &[&Self]) -> Result<Self> {
        if tiles[0].are_bins {
            return Ok(tiles[0].clone());
        }
        let count: u64 = tiles.iter().map(|codes| codes.values.len() as u64).sum();
        // The ranks, and the values of all.
        host_memory::require(count * (8 + size_of::<T>() as u64))?;
        let ranks = tiles.iter().flat_map(|codes| codes.values.iter());
        let mut ranks: Vec<u64> = ranks.filter_map(|value| value.rank()).collect();
        parallel::sort(&mut ranks);
        ranks.dedup();
        Ok(Self { values: ranks.into_iter().map(T::of_rank).collect(), are_bins: false })
    }

    /// Returns the whole's code for each of these codes; nothing if the codes are the same.
    pub(super) fn in_whole(&self, whole: &Self) -> Result<Vec<u32>> {
        if self.values.len() == whole.values.len() {
            return Ok(Vec::new());
        }
        host_memory::require(self.values.len() as u64 * 4)?;
        let mut code = 0;
        let of = |value: &T| {
            code += whole.values[code..].partition_point(|other| other.rank() < value.rank());
            code as u32
        };
        Ok(self.values.iter().map(of).collect())
    }

    /// Returns the values that codes stand for, rising; or the boundaries of bins.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Whether codes are the numbers of bins.
    pub fn are_bins(&self) -> bool {
        self.are_bins
    }

    /// How many there are.
    fn len(&self) -> usize {
        self.values.len() + usize::from(self.are_bins)
    }

    /// Whether they and NODATA have 16 bits.
    pub(crate) fn are_short(&self) -> bool {
        self.len() <= usize::from(u16::MAX)
    }

    /// How the tree of codes is built: with NODATA where values may be none.
    pub(crate) fn params(&self, nodata: Option<T>) -> Params {
        let missing = if self.are_short() { u16::MAX.into() } else { u32::MAX.into() };
        let may_lack = nodata.is_some() || T::MISSING.is_some();
        Params::new().nodata(may_lack.then_some(missing))
    }

    /// A raster of the codes.
    pub(crate) fn encode<C: Copy + Send + Sync>(
        &self,
        raster: GridView<'_, T>,
        nodata: Option<T>,
        code: impl Fn(u32) -> C + Sync,
        missing: C,
    ) -> Result<Grid<C>> {
        let ranks: Vec<u64> = self.values.iter().filter_map(|value| value.rank()).collect();
        let nodata = nodata.and_then(Number::rank);
        let one = |value: T| match value.rank() {
            Some(rank) if Some(rank) != nodata => {
                let at = ranks.partition_point(|&other| other <= rank);
                code((at - usize::from(!self.are_bins)) as u32)
            }
            _ => missing,
        };
        let mut codes = host_memory::filled(missing, raster.values().len())?;
        parallel::for_chunks(&mut codes, TOGETHER, |i, part| {
            let values = &raster.values()[i * TOGETHER..];
            part.iter_mut().zip(values).for_each(|(code, &value)| *code = one(value));
        });
        Ok(Grid::new(codes, *raster.grid())?)
    }

    /// Returns a range of values as ranges of codes.
    pub(crate) fn ranges(&self, (low, high): (Bound, Bound)) -> Ranges {
        let rank = |value: &T| value.rank().map_or(0, u128::from);
        let (low, end) = (first_rank::<T>(low), end_rank::<T>(high));
        let raw = Keys(1, 1);
        if low >= end {
            return Ranges { inside: Keys::NONE, touched: Keys::NONE, raw };
        }
        let below = |bound: u128| self.values.partition_point(|value| rank(value) < bound) as u64;
        if !self.are_bins {
            let keys = Keys::new(below(low), below(end));
            return Ranges { inside: keys, touched: keys, raw };
        }
        let bin_of = |at: u128| self.values.partition_point(|value| rank(value) <= at);
        let begin = |bin: usize| match bin {
            0 => u128::from(T::RANKS.0),
            _ => rank(&self.values[bin - 1]),
        };
        let end_of = |bin: usize| self.values.get(bin).map_or(u128::from(T::RANKS.1) + 1, rank);
        let (first, last) = (bin_of(low), bin_of(end - 1));
        let from = if begin(first) == low { first } else { first + 1 };
        let to = if end_of(last) == end { last + 1 } else { last };
        let inside = Keys::new(from as u64, to as u64);
        Ranges { inside, touched: Keys::new(first as u64, last as u64 + 1), raw }
    }

    /// Returns what a code stands for: a value, or the number of a bin.
    pub(crate) fn bound(&self, code: u32) -> Bound {
        match self.values.get(code as usize) {
            Some(value) if !self.are_bins => value.bound(),
            _ => code.into(),
        }
    }
}
