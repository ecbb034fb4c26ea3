//! Indices and rasters of any type.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use ccq_tree::{
    Cell, Condition, Forest, Params, Tree, Window, build_tile, cells_of_file, mosaic_fill,
};
use geo_io::Output;
use gpu_core::{Device, GridSpec, GridView, Progress, host_memory};

/// Something that there is of each type of cells.
pub trait Family {
    type Of<T: Cell>;
}

/// One of a family, whose type is known when the program runs.
pub enum Any<F: Family> {
    U8(F::Of<u8>),
    I16(F::Of<i16>),
    U16(F::Of<u16>),
    I32(F::Of<i32>),
    U32(F::Of<u32>),
    F32(F::Of<f32>),
}

pub struct Trees;

impl Family for Trees {
    type Of<T: Cell> = Tree<T>;
}

/// An index over cells of any type.
pub type AnyTree = Any<Trees>;

pub struct Rasters;

impl Family for Rasters {
    type Of<T: Cell> = Vec<T>;
}

/// The cells of a raster, of a type that indices have.
pub type Values = Any<Rasters>;

/// A type of cells.
pub trait CellType: Cell {
    /// What is of this type.
    fn own<F: Family>(any: Any<F>) -> Option<F::Of<Self>>;
    /// The opposite.
    fn any<F: Family>(own: F::Of<Self>) -> Any<F>;
}

macro_rules! kinds {
    ($($kind:ident $type:ty;)*) => {
        $(impl CellType for $type {
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

kinds! { U8 u8; I16 i16; U16 u16; I32 i32; U32 u32; F32 f32; }

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
        Ok(of_name!(cells_of_file(path)?, T => T::any(Tree::read(path)?)))
    }

    /// Opens the file of an index without copying its nodes: for those that are larger than memory together.
    ///
    /// # Safety
    /// As [`Tree::map`].
    pub unsafe fn map(path: &Path) -> Result<Self> {
        // SAFETY: passed on to the caller.
        Ok(of_name!(cells_of_file(path)?, T => T::any(unsafe { Tree::map(path) }?)))
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

    /// How it was built.
    pub fn params(&self) -> &Params {
        of_each!(self, tree, T => tree.params())
    }

    pub fn condition(&self) -> Condition<'_> {
        of_each!(self, tree, T => Condition::new(tree))
    }

    pub fn write_to(&self, to: impl Write) -> io::Result<()> {
        of_each!(self, tree, T => tree.write_to(to))
    }

    pub fn summary(&self) -> Summary {
        of_each!(self, tree, T => {
            let root = tree.nodes().first();
            Summary {
                nodes: tree.nodes().len(),
                bytes: tree.bytes(),
                levels: tree.levels(),
                bits_per_cell: tree.bits_per_cell(),
                pointers_32: tree.pointer_tree_bytes(4),
                pointers_64: tree.pointer_tree_bytes(8),
                min: root.map_or(f64::NAN, |root| root.min().to_f64()),
                max: root.map_or(f64::NAN, |root| root.max().to_f64()),
                bins: tree.params().bins.clone(),
                nodata: tree.params().nodata,
            }
        })
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
    pub min: f64,
    pub max: f64,
    pub bins: Vec<f64>,
    pub nodata: Option<f64>,
}

impl Values {
    /// The value, alone, of cells that lie in none of the rasters beside each other, which are of a type.
    pub fn fill(cells: &str, grid: &GridSpec, places: &[Window], params: &Params) -> Result<Self> {
        Ok(of_name!(cells, T => T::any(vec![mosaic_fill(grid, places, params)?])))
    }

    /// The first value as often as said.
    pub fn repeated(&self, count: usize) -> Result<Self> {
        Ok(of_each!(self, values, T => {
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
        of_each!(self, values, T => {
            let part = <T as CellType>::own(part);
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
        Ok(of_each!(self, values, T => {
            let raster = GridView::new(values, grid)?;
            T::any(build_tile(device.with_progress(progress), raster, side, params)?)
        }))
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
            let tree = <T as CellType>::own(tree);
            tree.with_context(|| format!("a tile of {cells} beside those of another type"))
        });
        // Of a raster that is smaller than the least tile all is one.
        let forest = Forest::of_trees(grid, side.max(64), own.collect::<Result<Vec<Tree<T>>>>()?)?;
        let merged = forest.merged()?.in_system(system);
        Ok(geo_io::write_file(output, |file| merged.write_to(file))?)
    })
}
