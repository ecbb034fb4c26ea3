//! Indices of any type.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use ccq_tree::{
    Bound, Cell, ClassSet, Classes, CodedForest, CodedParams, CodedTree, Condition, Forest,
    MAX_CODED_BINS, Number as _, Params, Query, Summed, Total, Tree, build, build_coded,
    build_coded_tile, build_tile, cpu, kind_of_file,
};
use geo_io::{Number, Output};
use gpu_core::{GridSpec, GridView, On};
use programs::scale::MAX_MAPPED;

use crate::cells::cell_bytes;
use crate::numbers::at_least;
use crate::values::{ValueType, Values, of_cells, of_each, of_name, of_type};

/// How an index is built.
#[derive(Clone, Debug, PartialEq)]
pub struct How {
    /// The type of the cells.
    pub cells: String,
    /// Boundaries of bins.
    pub bins: Vec<Number>,
    /// The value that stands for NODATA among the cells, besides NaN.
    pub nodata: Option<Number>,
}

impl How {
    /// Whether nodes hold codes: of values of 64 bits, which no node holds, and of bins of those of 32, which takes 8
    /// bytes a node and not 12.
    pub fn is_coded(&self) -> bool {
        match cell_bytes(&self.cells) {
            8 => true,
            4 => !self.bins.is_empty(),
            _ => false,
        }
    }

    /// Refuses more bins than an index can have.
    pub fn check(&self) -> Result<()> {
        match self.is_coded() {
            true => {
                let (bins, most) = (self.bins.len() + 1, MAX_CODED_BINS);
                ensure!(
                    bins <= most,
                    "--bins: {bins} bins: the number of bins must be from 1 to {most}"
                );
            }
            false => self.params().check()?,
        }
        Ok(())
    }

    /// The parameters of nodes that hold values.
    fn params(&self) -> Params {
        let bins = self.bins.iter().map(|bin| bin.to_f64());
        Params::new().bins(bins.collect::<Vec<f64>>()).nodata(self.nodata.map(Number::to_f64))
    }

    /// The parameters of codes. A boundary that no value reaches is left out.
    fn coded<T: ValueType>(&self) -> CodedParams<T> {
        let bins = self.bins.iter().filter_map(|&bin| T::of_number(at_least(T::SAMPLES, bin)?));
        let nodata = self.nodata.and_then(T::of_number);
        CodedParams::new().bins(bins.collect::<Vec<T>>()).nodata(nodata)
    }

    /// Whether an index was built so.
    pub fn made(&self, index: &dyn Index) -> Result<bool> {
        let Summary { bins, nodata, .. } = index.summary();
        let expected = match self.is_coded() {
            true => of_name!(&self.cells[..], T => {
                let CodedParams { bins, nodata, .. } = self.coded::<T>();
                let bins = bins.into_iter().map(T::bound).collect();
                (bins, nodata.map(T::bound))
            }),
            false => bounds_of(&self.params()),
        };
        let is_coded = index.is_coded() == self.is_coded();
        Ok(index.cells() == self.cells && is_coded && (bins, nodata) == expected)
    }
}

fn bounds_of(params: &Params) -> (Vec<Bound>, Option<Bound>) {
    let bins = params.bins.iter().map(|&bin| bin.into()).collect();
    (bins, params.nodata.map(Bound::from))
}

/// An index over values of any type.
pub trait Index: Send {
    /// The type of the values.
    fn cells(&self) -> &'static str;
    /// Whether its nodes hold codes.
    fn is_coded(&self) -> bool;
    fn grid(&self) -> &GridSpec;
    /// The reference system, as the index keeps it.
    fn system(&self) -> Option<&str>;
    /// Gives the index a reference system, as it is kept.
    fn in_system(self: Box<Self>, system: Option<String>) -> AnyTree;
    fn condition(&self) -> Condition<'_>;
    /// Where the cells of some classes lie, of an index without bins.
    fn class_set(&self, set: u64) -> ccq_tree::Result<ClassSet>;
    /// Returns the sum of the values of all cells that satisfy all conditions; the first condition must be of this
    /// index.
    fn sum(&self, conditions: &[Condition<'_>], query: &Query) -> Result<Option<Sum>>;
    fn write_to(&self, to: &mut dyn Write) -> io::Result<()>;
    fn summary(&self) -> Summary;
}

/// An index whose type is known when the program runs.
pub type AnyTree = Box<dyn Index>;

impl<T: Cell + Summed> Index for Tree<T> {
    fn cells(&self) -> &'static str {
        T::NAME
    }

    fn is_coded(&self) -> bool {
        false
    }

    fn grid(&self) -> &GridSpec {
        self.grid()
    }

    fn system(&self) -> Option<&str> {
        self.system()
    }

    fn in_system(self: Box<Self>, system: Option<String>) -> AnyTree {
        Box::new(Tree::in_system(*self, system))
    }

    fn condition(&self) -> Condition<'_> {
        Condition::new(self)
    }

    fn class_set(&self, set: u64) -> ccq_tree::Result<ClassSet> {
        cpu::fields(self, Classes)?.in_set(set)
    }

    fn sum(&self, conditions: &[Condition<'_>], query: &Query) -> Result<Option<Sum>> {
        let total = cpu::fields(self, ccq_tree::Sum)?.total(conditions, query)?;
        Ok(total.and_then(|total| Sum::of::<T>(&total)))
    }

    fn write_to(&self, to: &mut dyn Write) -> io::Result<()> {
        Tree::write_to(self, to)
    }

    fn summary(&self) -> Summary {
        let root = self.nodes().first();
        let (bins, nodata) = bounds_of(self.params());
        Summary {
            nodes: self.nodes().len(),
            node_bytes: size_of::<ccq_tree::Node<T>>(),
            bytes: self.bytes(),
            levels: self.levels(),
            bits_per_cell: self.bits_per_cell(),
            pointers_32: self.pointer_tree_bytes(4),
            pointers_64: self.pointer_tree_bytes(8),
            range: root.map(|root| [root.min(), root.max()].map(|value| value.bound())),
            bins,
            nodata,
        }
    }
}

impl<T: ValueType> Index for CodedTree<T> {
    fn cells(&self) -> &'static str {
        T::NAME
    }

    fn is_coded(&self) -> bool {
        true
    }

    fn grid(&self) -> &GridSpec {
        self.grid()
    }

    fn system(&self) -> Option<&str> {
        self.system()
    }

    fn in_system(self: Box<Self>, system: Option<String>) -> AnyTree {
        Box::new(CodedTree::in_system(*self, system))
    }

    fn condition(&self) -> Condition<'_> {
        Condition::of_coded(self)
    }

    fn class_set(&self, set: u64) -> ccq_tree::Result<ClassSet> {
        cpu::fields(self, Classes)?.in_set(set)
    }

    fn sum(&self, conditions: &[Condition<'_>], query: &Query) -> Result<Option<Sum>> {
        let total = cpu::fields(self, ccq_tree::Sum)?.total(conditions, query)?;
        Ok(total.and_then(|total| Sum::of::<T>(&total)))
    }

    fn write_to(&self, to: &mut dyn Write) -> io::Result<()> {
        CodedTree::write_to(self, to)
    }

    fn summary(&self) -> Summary {
        let numbers = |values: &[T]| values.iter().map(|value| value.bound()).collect();
        let are_bins = self.codes().are_bins();
        Summary {
            nodes: self.node_count(),
            node_bytes: self.node_bytes(),
            bytes: self.bytes(),
            levels: self.levels(),
            bits_per_cell: self.bits_per_cell(),
            pointers_32: self.pointer_tree_bytes(4),
            pointers_64: self.pointer_tree_bytes(8),
            range: self.bounds(),
            bins: if are_bins { numbers(self.codes().values()) } else { Vec::new() },
            nodata: self.nodata().map(|nodata| nodata.bound()),
        }
    }
}

/// A sum of values, as the sum's own type shows it, and their mean.
pub struct Sum {
    pub cells: u64,
    pub sum: String,
    pub mean: f64,
}

impl Sum {
    fn of<T: Summed>(total: &Total<T::Sum>) -> Option<Self> {
        let mean = total.mean::<T>()?;
        Some(Self { cells: total.cells, sum: total.sum.to_string(), mean })
    }
}

/// What a report says of an index.
pub struct Summary {
    pub nodes: usize,
    pub node_bytes: usize,
    pub bytes: u64,
    pub levels: u32,
    pub bits_per_cell: f64,
    pub pointers_32: u64,
    pub pointers_64: u64,
    /// The least and the greatest value, or number of a bin.
    pub range: Option<[Bound; 2]>,
    pub bins: Vec<Bound>,
    pub nodata: Option<Bound>,
}

/// Reads the file of an index into memory.
pub fn read(path: &Path) -> Result<AnyTree> {
    let kind = kind_of_file(path)?;
    Ok(match kind.is_coded {
        true => of_name!(kind.values, T => Box::new(CodedTree::<T>::read(path)?)),
        false => of_cells!(kind.values, T => Box::new(Tree::<T>::read(path)?)),
    })
}

/// Opens the file of an index without copying its nodes: for those that are larger than memory together.
///
/// # Safety
/// As [`Tree::map`].
pub unsafe fn map(path: &Path) -> Result<AnyTree> {
    let kind = kind_of_file(path)?;
    // SAFETY: passed on to the caller.
    Ok(unsafe {
        match kind.is_coded {
            true => of_name!(kind.values, T => Box::new(CodedTree::<T>::map(path)?)),
            false => of_cells!(kind.values, T => Box::new(Tree::<T>::map(path)?)),
        }
    })
}

/// Builds the index of a raster, or of a tile of a side.
pub fn tree_of(
    values: &Values,
    grid: GridSpec,
    how: &How,
    side: Option<u32>,
    on: On<'_>,
) -> Result<AnyTree> {
    if how.is_coded() {
        return of_each!(values, values, T => coded_tree(GridView::new(values, grid)?, how, side, on));
    }
    let (params, cells) = (how.params(), values.cells());
    macro_rules! plain {
        ($values:expr) => {{
            let raster = GridView::new($values, grid)?;
            Ok(match side {
                None => Box::new(build(on, raster, &params)?),
                Some(side) => Box::new(build_tile(on, raster, side, &params)?),
            })
        }};
    }
    match values {
        Values::U8(values) => plain!(values),
        Values::I16(values) => plain!(values),
        Values::U16(values) => plain!(values),
        Values::I32(values) => plain!(values),
        Values::U32(values) => plain!(values),
        Values::F32(values) => plain!(values),
        _ => bail!("an index cannot hold {cells}"),
    }
}

/// Builds the index of a raster or a tile by codes.
fn coded_tree<T: ValueType>(
    raster: GridView<'_, T>,
    how: &How,
    side: Option<u32>,
    on: On<'_>,
) -> Result<AnyTree> {
    let params = how.coded::<T>();
    Ok(Box::new(match side {
        None => build_coded(on, raster, &params)?,
        Some(side) => build_coded_tile(on, raster, side, &params)?,
    }))
}

/// Writes the index of a raster from the files of its tiles, row by row, with a coordinate system as files keep it. Each
/// tile must pass a check.
///
/// # Safety
/// As [`Tree::map`], of each file.
pub unsafe fn write_merged(
    (grid, side): (GridSpec, u32),
    how: &How,
    tiles: &[PathBuf],
    check: &dyn Fn(usize, &dyn Index) -> Result<()>,
    system: Option<String>,
    output: Output<'_>,
) -> Result<()> {
    // A raster smaller than the least tile is one tile.
    let side = side.max(64);
    if how.is_coded() {
        return of_name!(&how.cells[..], T => {
            // SAFETY: passed on to the caller.
            let map = |path: &Path| Ok(unsafe { CodedTree::<T>::map(path) }?);
            let trees = checked(tiles, check, map, |path| Ok(CodedTree::read(path)?))?;
            let forest = CodedForest::of_trees(grid, side, trees)?;
            let merged = forest.merged()?.in_system(system);
            Ok(geo_io::write_file(output, |file| merged.write_to(file))?)
        });
    }
    of_cells!(&how.cells[..], T => {
        // SAFETY: passed on to the caller.
        let map = |path: &Path| Ok(unsafe { Tree::<T>::map(path) }?);
        let trees = checked(tiles, check, map, |path| Ok(Tree::read(path)?))?;
        let forest = Forest::of_trees(grid, side, trees)?;
        let merged = forest.merged()?.in_system(system);
        Ok(geo_io::write_file(output, |file| merged.write_to(file))?)
    })
}

/// The indices of these files, each of which passes a check.
fn checked<I: Index>(
    tiles: &[PathBuf],
    check: &dyn Fn(usize, &dyn Index) -> Result<()>,
    map: impl Fn(&Path) -> Result<I>,
    read: impl Fn(&Path) -> Result<I>,
) -> Result<Vec<I>> {
    let one = |(number, path): (usize, &PathBuf)| {
        let tree = if number < MAX_MAPPED { map(path)? } else { read(path)? };
        check(number, &tree)?;
        Ok(tree)
    };
    tiles.iter().enumerate().map(one).collect()
}
