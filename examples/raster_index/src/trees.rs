//! Indices and rasters of any type.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Result, bail};
use ccq_tree::{Cell, Condition, Tree, cells_of_file};
use geo_io::ArrayData;
use gpu_core::{GridSpec, GridView};

/// An index over cells of any type.
pub enum AnyTree {
    U8(Tree<u8>),
    I16(Tree<i16>),
    U16(Tree<u16>),
    I32(Tree<i32>),
    U32(Tree<u32>),
    F32(Tree<f32>),
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

macro_rules! of_each {
    ($tree:expr, $inner:ident => $result:expr) => {
        match $tree {
            AnyTree::U8($inner) => $result,
            AnyTree::I16($inner) => $result,
            AnyTree::U16($inner) => $result,
            AnyTree::I32($inner) => $result,
            AnyTree::U32($inner) => $result,
            AnyTree::F32($inner) => $result,
        }
    };
}

impl AnyTree {
    /// Opens the file of an index, without copying its nodes.
    pub fn read(path: &Path) -> Result<Self> {
        // SAFETY: the program writes no file that it reads, and ends soon. Whoever cuts an index short under a program
        // that reads it gets a signal, as with any mapped file.
        unsafe {
            Ok(match cells_of_file(path)? {
                "u8" => Self::U8(Tree::map(path)?),
                "i16" => Self::I16(Tree::map(path)?),
                "u16" => Self::U16(Tree::map(path)?),
                "i32" => Self::I32(Tree::map(path)?),
                "u32" => Self::U32(Tree::map(path)?),
                _ => Self::F32(Tree::map(path)?),
            })
        }
    }

    pub fn grid(&self) -> &GridSpec {
        of_each!(self, tree => tree.grid())
    }

    pub fn condition(&self) -> Condition<'_> {
        of_each!(self, tree => Condition::new(tree))
    }

    pub fn write_to(&self, to: impl Write) -> io::Result<()> {
        of_each!(self, tree => tree.write_to(to))
    }

    /// The type of its cells.
    pub fn cells(&self) -> &'static str {
        fn name<T: Cell>(_: &Tree<T>) -> &'static str {
            T::NAME
        }
        of_each!(self, tree => name(tree))
    }

    pub fn summary(&self) -> Summary {
        of_each!(self, tree => {
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

/// The cells of a raster, of a type that indices have.
pub enum Values {
    U8(Vec<u8>),
    I16(Vec<i16>),
    U16(Vec<u16>),
    I32(Vec<i32>),
    U32(Vec<u32>),
    F32(Vec<f32>),
}

impl Values {
    pub fn of(values: ArrayData) -> Result<Self> {
        Ok(match values {
            ArrayData::U8(values) => Self::U8(values),
            ArrayData::Bool(values) => Self::U8(values.into_iter().map(u8::from).collect()),
            ArrayData::I8(values) => Self::I16(values.into_iter().map(i16::from).collect()),
            ArrayData::I16(values) => Self::I16(values),
            ArrayData::U16(values) => Self::U16(values),
            ArrayData::I32(values) => Self::I32(values),
            ArrayData::U32(values) => Self::U32(values),
            ArrayData::F32(values) => Self::F32(values),
            _ => bail!("values of 64 bits have no index"),
        })
    }

    /// Lets a condition consult the raster.
    pub fn give_to<'a>(
        &'a self,
        condition: Condition<'a>,
        grid: GridSpec,
    ) -> Result<Condition<'a>> {
        Ok(match self {
            Self::U8(values) => condition.raster(GridView::new(values, grid)?),
            Self::I16(values) => condition.raster(GridView::new(values, grid)?),
            Self::U16(values) => condition.raster(GridView::new(values, grid)?),
            Self::I32(values) => condition.raster(GridView::new(values, grid)?),
            Self::U32(values) => condition.raster(GridView::new(values, grid)?),
            Self::F32(values) => condition.raster(GridView::new(values, grid)?),
        })
    }
}
