//! Indices and rasters of any type.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use ccq_tree::{
    Cell, Condition, Forest, Params, Tree, Window, build_tile, cells_of_file, mosaic_fill,
};
use geo_io::Output;
use gpu_core::{Device, GridSpec, GridView, Progress, host_memory};

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
    /// Reads the file of an index into memory.
    pub fn read(path: &Path) -> Result<Self> {
        Ok(match cells_of_file(path)? {
            "u8" => Self::U8(Tree::read(path)?),
            "i16" => Self::I16(Tree::read(path)?),
            "u16" => Self::U16(Tree::read(path)?),
            "i32" => Self::I32(Tree::read(path)?),
            "u32" => Self::U32(Tree::read(path)?),
            _ => Self::F32(Tree::read(path)?),
        })
    }

    /// Opens the file of an index without copying its nodes: for those that are larger than memory together.
    ///
    /// # Safety
    /// As [`Tree::map`].
    pub unsafe fn map(path: &Path) -> Result<Self> {
        // SAFETY: passed on to the caller.
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

    /// The reference system, as the index keeps it.
    pub fn system(&self) -> Option<&str> {
        of_each!(self, tree => tree.system())
    }

    /// The same index with a reference system, as it is kept.
    pub fn in_system(self, system: Option<String>) -> Self {
        match self {
            Self::U8(tree) => Self::U8(tree.in_system(system)),
            Self::I16(tree) => Self::I16(tree.in_system(system)),
            Self::U16(tree) => Self::U16(tree.in_system(system)),
            Self::I32(tree) => Self::I32(tree.in_system(system)),
            Self::U32(tree) => Self::U32(tree.in_system(system)),
            Self::F32(tree) => Self::F32(tree.in_system(system)),
        }
    }

    /// How it was built.
    pub fn params(&self) -> &Params {
        of_each!(self, tree => tree.params())
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

macro_rules! values_of_each {
    ($values:expr, $inner:ident => $result:expr) => {
        match $values {
            Values::U8($inner) => $result,
            Values::I16($inner) => $result,
            Values::U16($inner) => $result,
            Values::I32($inner) => $result,
            Values::U32($inner) => $result,
            Values::F32($inner) => $result,
        }
    };
}

/// The same of each of two, which must be of one type.
macro_rules! values_of_both {
    ($values:expr, $a:ident, $b:ident => $result:expr) => {
        match $values {
            (Values::U8($a), Values::U8($b)) => $result,
            (Values::I16($a), Values::I16($b)) => $result,
            (Values::U16($a), Values::U16($b)) => $result,
            (Values::I32($a), Values::I32($b)) => $result,
            (Values::U32($a), Values::U32($b)) => $result,
            (Values::F32($a), Values::F32($b)) => $result,
            (a, b) => bail!("values of type {} beside those of type {}", b.cells(), a.cells()),
        }
    };
}

impl Values {
    /// Their type.
    pub fn cells(&self) -> &'static str {
        fn name<T: Cell>(_: &[T]) -> &'static str {
            T::NAME
        }
        values_of_each!(self, values => name(values))
    }

    /// The value, alone, of cells that lie in none of the rasters beside each other, which are of a type.
    pub fn fill(cells: &str, grid: &GridSpec, places: &[Window], params: &Params) -> Result<Self> {
        Ok(match cells {
            "u8" => Self::U8(vec![mosaic_fill(grid, places, params)?]),
            "i16" => Self::I16(vec![mosaic_fill(grid, places, params)?]),
            "u16" => Self::U16(vec![mosaic_fill(grid, places, params)?]),
            "i32" => Self::I32(vec![mosaic_fill(grid, places, params)?]),
            "u32" => Self::U32(vec![mosaic_fill(grid, places, params)?]),
            "f32" => Self::F32(vec![mosaic_fill(grid, places, params)?]),
            _ => bail!("this plan is damaged: there are no indices of {cells}"),
        })
    }

    /// The first value as often as said.
    pub fn repeated(&self, count: usize) -> Result<Self> {
        fn all<T: Cell>(values: &[T], count: usize) -> Result<Vec<T>> {
            let first = values.first().context("there is no value")?;
            Ok(host_memory::filled(*first, count)?)
        }
        Ok(match self {
            Self::U8(values) => Self::U8(all(values, count)?),
            Self::I16(values) => Self::I16(all(values, count)?),
            Self::U16(values) => Self::U16(all(values, count)?),
            Self::I32(values) => Self::I32(all(values, count)?),
            Self::U32(values) => Self::U32(all(values, count)?),
            Self::F32(values) => Self::F32(all(values, count)?),
        })
    }

    /// Puts a part in its place, from a row and a column on; both have so many columns.
    pub fn paste(
        &mut self,
        part: Self,
        at: (u32, u32),
        [columns, of_part]: [u32; 2],
    ) -> Result<()> {
        fn put<T: Cell>(to: &mut [T], from: &[T], (row, column): (u32, u32), columns: [u32; 2]) {
            let [columns, of_part] = columns.map(|columns| columns as usize);
            let lines = to.chunks_exact_mut(columns).skip(row as usize);
            for (line, part) in lines.zip(from.chunks_exact(of_part)) {
                line[column as usize..][..of_part].copy_from_slice(part);
            }
        }
        values_of_both!((self, part), to, from => put(to, &from, at, [columns, of_part]));
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
        macro_rules! tree {
            ($kind:ident, $values:expr) => {{
                let raster = GridView::new($values, grid)?;
                AnyTree::$kind(build_tile(device.with_progress(progress), raster, side, params)?)
            }};
        }
        Ok(match self {
            Self::U8(values) => tree!(U8, values),
            Self::I16(values) => tree!(I16, values),
            Self::U16(values) => tree!(U16, values),
            Self::I32(values) => tree!(I32, values),
            Self::U32(values) => tree!(U32, values),
            Self::F32(values) => tree!(F32, values),
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

/// The trees of the tiles of a raster, of cells of any type.
pub enum AnyForest {
    U8(Forest<u8>),
    I16(Forest<i16>),
    U16(Forest<u16>),
    I32(Forest<i32>),
    U32(Forest<u32>),
    F32(Forest<f32>),
}

impl AnyForest {
    /// Of the trees of all tiles, row by row, which are of one type.
    pub fn of(grid: GridSpec, side: u32, trees: Vec<AnyTree>) -> Result<Self> {
        macro_rules! forest {
            ($kind:ident) => {{
                let own = trees.into_iter().map(|tree| match tree {
                    AnyTree::$kind(tree) => Ok(tree),
                    other => bail!("a tile of {} beside those of another type", other.cells()),
                });
                // Of a raster that is smaller than the least tile all is one.
                Self::$kind(Forest::of_trees(grid, side.max(64), own.collect::<Result<_>>()?)?)
            }};
        }
        Ok(match trees.first().context("there are no tiles")? {
            AnyTree::U8(_) => forest!(U8),
            AnyTree::I16(_) => forest!(I16),
            AnyTree::U16(_) => forest!(U16),
            AnyTree::I32(_) => forest!(I32),
            AnyTree::U32(_) => forest!(U32),
            AnyTree::F32(_) => forest!(F32),
        })
    }

    /// Writes the index of the whole, with a reference system as it is kept.
    pub fn write_merged(&self, system: Option<String>, output: Output<'_>) -> Result<()> {
        fn write<T: Cell>(
            forest: &Forest<T>,
            system: Option<String>,
            output: Output<'_>,
        ) -> Result<()> {
            let merged = forest.merged()?.in_system(system);
            Ok(geo_io::write_file(output, |file| merged.write_to(file))?)
        }
        match self {
            Self::U8(forest) => write(forest, system, output),
            Self::I16(forest) => write(forest, system, output),
            Self::U16(forest) => write(forest, system, output),
            Self::I32(forest) => write(forest, system, output),
            Self::U32(forest) => write(forest, system, output),
            Self::F32(forest) => write(forest, system, output),
        }
    }
}
