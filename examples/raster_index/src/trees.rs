//! Indices and rasters of any type.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use ccq_tree::{
    Bound, Cell, CodedParams, CodedTree, Condition, Forest, Number as _, Params, Tree, Window,
    build_coded, build_tile, kind_of_file, mosaic_fill,
};
use geo_io::{Number, Output, SampleType};
use gpu_core::{Device, GridSpec, GridView, Progress, host_memory};

/// Something that there is of each type of values.
pub trait Family {
    type Of<T: ValueType>;
}

/// One of a family, whose type is known when the program runs.
pub enum Any<F: Family> {
    U8(F::Of<u8>),
    I16(F::Of<i16>),
    U16(F::Of<u16>),
    I32(F::Of<i32>),
    U32(F::Of<u32>),
    F32(F::Of<f32>),
    F64(F::Of<f64>),
    I64(F::Of<i64>),
    U64(F::Of<u64>),
}

pub struct Trees;

impl Family for Trees {
    type Of<T: ValueType> = T::Tree;
}

/// An index over cells of any type.
pub type AnyTree = Any<Trees>;

pub struct Rasters;

impl Family for Rasters {
    type Of<T: ValueType> = Vec<T>;
}

/// The cells of a raster, of a type that indices have.
pub type Values = Any<Rasters>;

/// A type of values that indices have: of cells, or of 64 bits.
pub trait ValueType: ccq_tree::Number {
    /// Its indices.
    type Tree: Index;
    /// What is of this type.
    fn own<F: Family>(any: Any<F>) -> Option<F::Of<Self>>;
    /// The opposite.
    fn any<F: Family>(own: F::Of<Self>) -> Any<F>;
}

macro_rules! kinds {
    ($($kind:ident $type:ty, $tree:ident;)*) => {
        $(impl ValueType for $type {
            type Tree = $tree<$type>;

            fn own<F: Family>(any: Any<F>) -> Option<F::Of<Self>> {
                match any {
                    Any::$kind(own) => Some(own),
                    _ => None,
                }
            }

            fn any<F: Family>(own: F::Of<Self>) -> Any<F> {
                Any::$kind(own)
            }
        })*
    };
}

kinds! {
    U8 u8, Tree; I16 i16, Tree; U16 u16, Tree; I32 i32, Tree; U32 u32, Tree; F32 f32, Tree;
    F64 f64, CodedTree; I64 i64, CodedTree; U64 u64, CodedTree;
}

/// An index of a type.
pub trait Index: Sized {
    /// Reads the file of an index into memory.
    fn read(path: &Path) -> Result<Self>;
    fn condition(&self) -> Condition<'_>;
    fn summary(&self) -> Summary;
}

impl<T: Cell> Index for Tree<T> {
    fn read(path: &Path) -> Result<Self> {
        Ok(Tree::read(path)?)
    }

    fn condition(&self) -> Condition<'_> {
        Condition::new(self)
    }

    fn summary(&self) -> Summary {
        let root = self.nodes().first();
        Summary {
            nodes: self.nodes().len(),
            bytes: self.bytes(),
            levels: self.levels(),
            bits_per_cell: self.bits_per_cell(),
            pointers_32: self.pointer_tree_bytes(4),
            pointers_64: self.pointer_tree_bytes(8),
            range: root.map(|root| [root.min(), root.max()].map(|value| value.to_f64().into())),
            bins: self.params().bins.iter().map(|&bin| bin.into()).collect(),
            nodata: self.params().nodata.map(Bound::from),
        }
    }
}

impl<T: ccq_tree::Number> Index for CodedTree<T> {
    fn read(path: &Path) -> Result<Self> {
        Ok(CodedTree::read(path)?)
    }

    fn condition(&self) -> Condition<'_> {
        Condition::of_coded(self)
    }

    fn summary(&self) -> Summary {
        let numbers = |values: &[T]| values.iter().map(|value| value.bound()).collect();
        let are_bins = self.codes().are_bins();
        Summary {
            nodes: self.node_count(),
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

/// A type of values of 64 bits, and the numbers that its values are.
pub trait WideType: ccq_tree::Number {
    const SAMPLES: SampleType;
    fn of_number(number: Number) -> Option<Self>;
}

impl WideType for f64 {
    const SAMPLES: SampleType = SampleType::F64;
    fn of_number(number: Number) -> Option<Self> {
        Some(number.to_f64())
    }
}

impl WideType for i64 {
    const SAMPLES: SampleType = SampleType::I64;
    fn of_number(number: Number) -> Option<Self> {
        number.to_i128()?.try_into().ok()
    }
}

impl WideType for u64 {
    const SAMPLES: SampleType = SampleType::U64;
    fn of_number(number: Number) -> Option<Self> {
        number.to_i128()?.try_into().ok()
    }
}

/// How an index of values of 64 bits is built. A boundary that no value reaches is left out.
fn coded_params<T: WideType>(bins: &[Number], nodata: Option<Number>) -> CodedParams<T> {
    let bins = bins.iter().filter_map(|&bin| T::of_number(T::SAMPLES.at_least(bin)?));
    let nodata = nodata.and_then(|nodata| T::of_number(T::SAMPLES.value(nodata)?));
    CodedParams::new().bins(bins.collect::<Vec<T>>()).nodata(nodata)
}

/// The value of an expression in which `T` is a type.
macro_rules! of_type {
    ($T:ident, $type:ty, $result:expr) => {{
        #[allow(dead_code)]
        type $T = $type;
        $result
    }};
}

/// The value of an expression about one of any type, `T`.
macro_rules! of_each {
    ($any:expr, $inner:pat, $T:ident => $result:expr) => {
        match $any {
            Any::U8($inner) => of_type!($T, u8, $result),
            Any::I16($inner) => of_type!($T, i16, $result),
            Any::U16($inner) => of_type!($T, u16, $result),
            Any::I32($inner) => of_type!($T, i32, $result),
            Any::U32($inner) => of_type!($T, u32, $result),
            Any::F32($inner) => of_type!($T, f32, $result),
            Any::F64($inner) => of_type!($T, f64, $result),
            Any::I64($inner) => of_type!($T, i64, $result),
            Any::U64($inner) => of_type!($T, u64, $result),
        }
    };
}

/// The same where `T` is a type of cells.
macro_rules! of_cells {
    ($any:expr, $inner:pat, $T:ident => $result:expr) => {
        match $any {
            Any::U8($inner) => of_type!($T, u8, $result),
            Any::I16($inner) => of_type!($T, i16, $result),
            Any::U16($inner) => of_type!($T, u16, $result),
            Any::I32($inner) => of_type!($T, i32, $result),
            Any::U32($inner) => of_type!($T, u32, $result),
            Any::F32($inner) => of_type!($T, f32, $result),
            other => bail!("values of type {} are not indexed in tiles", other.cells()),
        }
    };
}

/// The value of an expression about the type of cells of a name, `T`.
macro_rules! of_name {
    ($cells:expr, $T:ident => $result:expr) => {
        match $cells {
            "u8" => of_type!($T, u8, $result),
            "i16" => of_type!($T, i16, $result),
            "u16" => of_type!($T, u16, $result),
            "i32" => of_type!($T, i32, $result),
            "u32" => of_type!($T, u32, $result),
            "f32" => of_type!($T, f32, $result),
            other => bail!("this plan is damaged: there are no indices of {other}"),
        }
    };
}

pub(crate) use {of_name, of_type};

impl<F: Family> Any<F> {
    /// The type of its cells.
    pub fn cells(&self) -> &'static str {
        of_each!(self, _, T => T::NAME)
    }
}

impl AnyTree {
    /// Reads the file of an index into memory.
    pub fn read(path: &Path) -> Result<Self> {
        let kind = kind_of_file(path)?;
        Ok(match (kind.values, kind.is_coded) {
            ("f64", true) => Self::F64(Index::read(path)?),
            ("i64", true) => Self::I64(Index::read(path)?),
            ("u64", true) => Self::U64(Index::read(path)?),
            (cells, _) => of_name!(cells, T => T::any(Tree::read(path)?)),
        })
    }

    /// Opens the file of an index without copying its nodes: for those that are larger than memory together.
    ///
    /// # Safety
    /// As [`Tree::map`].
    pub unsafe fn map(path: &Path) -> Result<Self> {
        // SAFETY: passed on to the caller.
        Ok(of_name!(kind_of_file(path)?.values, T => T::any(unsafe { Tree::map(path) }?)))
    }

    pub fn grid(&self) -> &GridSpec {
        of_each!(self, tree, T => tree.grid())
    }

    /// The reference system, as the index keeps it.
    pub fn system(&self) -> Option<&str> {
        of_each!(self, tree, T => tree.system())
    }

    /// The same index with a reference system, as it is kept.
    pub fn in_system(self, system: Option<String>) -> Self {
        of_each!(self, tree, T => T::any(tree.in_system(system)))
    }

    /// How it was built, of cells.
    pub fn params(&self) -> Result<&Params> {
        Ok(of_cells!(self, tree, T => tree.params()))
    }

    pub fn condition(&self) -> Condition<'_> {
        of_each!(self, tree, T => Index::condition(tree))
    }

    pub fn write_to(&self, to: impl Write) -> io::Result<()> {
        of_each!(self, tree, T => tree.write_to(to))
    }

    pub fn summary(&self) -> Summary {
        of_each!(self, tree, T => Index::summary(tree))
    }
}

/// What there is to say of one.
pub struct Summary {
    pub nodes: usize,
    pub bytes: u64,
    pub levels: u32,
    pub bits_per_cell: f64,
    pub pointers_32: u64,
    pub pointers_64: u64,
    /// The least and the greatest value.
    pub range: Option<[Bound; 2]>,
    pub bins: Vec<Bound>,
    pub nodata: Option<Bound>,
}

impl Values {
    /// The value, alone, of cells that lie in none of the rasters beside each other, which are of a type.
    pub fn fill(cells: &str, grid: &GridSpec, places: &[Window], params: &Params) -> Result<Self> {
        Ok(of_name!(cells, T => T::any(vec![mosaic_fill(grid, places, params)?])))
    }

    /// The first value as often as said.
    pub fn repeated(&self, count: usize) -> Result<Self> {
        Ok(of_cells!(self, values, T => {
            let first = values.first().context("there is no value")?;
            T::any(host_memory::filled(*first, count)?)
        }))
    }

    /// Puts a part in its place, from a row and a column on; both have so many columns.
    pub fn paste(
        &mut self,
        part: Self,
        (row, column): (u32, u32),
        [columns, of_part]: [u32; 2],
    ) -> Result<()> {
        let (to, from) = (self.cells(), part.cells());
        let [columns, of_part] = [columns, of_part].map(|columns| columns as usize);
        of_cells!(self, values, T => {
            let part = <T as ValueType>::own(part);
            let part = part.with_context(|| format!("values of type {from} beside those of type {to}"))?;
            let lines = values.chunks_exact_mut(columns).skip(row as usize);
            for (line, part) in lines.zip(part.chunks_exact(of_part)) {
                line[column as usize..][..of_part].copy_from_slice(part);
            }
        });
        Ok(())
    }

    /// The tree of a tile that they are.
    pub fn tree_of_tile(
        &self,
        grid: GridSpec,
        side: u32,
        params: &Params,
        device: &Device,
        progress: &dyn Progress,
    ) -> Result<AnyTree> {
        Ok(of_cells!(self, values, T => {
            let raster = GridView::new(values, grid)?;
            T::any(build_tile(device.with_progress(progress), raster, side, params)?)
        }))
    }

    /// The tree of values of 64 bits.
    pub fn coded_tree(
        &self,
        grid: GridSpec,
        (bins, nodata): (&[Number], Option<Number>),
        device: &Device,
        progress: &dyn Progress,
    ) -> Result<AnyTree> {
        fn tree<T: WideType>(
            values: &[T],
            grid: GridSpec,
            (bins, nodata): (&[Number], Option<Number>),
            on: gpu_core::On<'_>,
        ) -> Result<CodedTree<T>> {
            Ok(build_coded(on, GridView::new(values, grid)?, &coded_params(bins, nodata))?)
        }
        let (on, how) = (device.with_progress(progress), (bins, nodata));
        Ok(match self {
            Self::F64(values) => Any::F64(tree(values, grid, how, on)?),
            Self::I64(values) => Any::I64(tree(values, grid, how, on)?),
            Self::U64(values) => Any::U64(tree(values, grid, how, on)?),
            other => bail!("values of type {} are cells", other.cells()),
        })
    }

    /// Lets a condition consult the raster.
    pub fn give_to<'a>(
        &'a self,
        condition: Condition<'a>,
        grid: GridSpec,
    ) -> Result<Condition<'a>> {
        Ok(of_each!(self, values, T => condition.raster(GridView::new(values, grid)?)))
    }
}

/// Writes the index of a raster whose tiles have these trees, row by row and of one type, with a reference system as it is kept.
pub fn write_merged(
    (grid, side): (GridSpec, u32),
    trees: Vec<AnyTree>,
    system: Option<String>,
    output: Output<'_>,
) -> Result<()> {
    of_name!(trees.first().context("there are no tiles")?.cells(), T => {
        let own = trees.into_iter().map(|tree| {
            let cells = tree.cells();
            let tree = <T as ValueType>::own(tree);
            tree.with_context(|| format!("a tile of {cells} beside those of another type"))
        });
        // Of a raster that is smaller than the least tile all is one.
        let forest = Forest::of_trees(grid, side.max(64), own.collect::<Result<Vec<Tree<T>>>>()?)?;
        let merged = forest.merged()?.in_system(system);
        Ok(geo_io::write_file(output, |file| merged.write_to(file))?)
    })
}
