//! The values of rasters, of any type that indices have.

use anyhow::{Context, Result, anyhow, bail};
use ccq_tree::{Condition, Number as _, Summed, Window, mosaic, mosaic_fill, quantile_boundaries};
use geo_io::{Number, SampleType};
use gpu_core::{GridSpec, GridView, host_memory};

use crate::numbers::{bound, number_of};

/// The cells of a raster, of a type that indices have.
pub enum Values {
    U8(Vec<u8>),
    I16(Vec<i16>),
    U16(Vec<u16>),
    I32(Vec<i32>),
    U32(Vec<u32>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    I64(Vec<i64>),
    U64(Vec<u64>),
}

/// A type of values that indices have.
pub trait ValueType: Summed {
    const SAMPLES: SampleType;
    /// The value that equals a number.
    fn of_number(number: Number) -> Option<Self>;
    /// The values, as a vector of this type.
    fn own(values: Values) -> Option<Vec<Self>>;
    /// The opposite.
    fn any(own: Vec<Self>) -> Values;
}

macro_rules! value_types {
    ($($kind:ident $type:ty, $number:ident => $of_number:expr;)*) => {
        $(impl ValueType for $type {
            const SAMPLES: SampleType = SampleType::$kind;

            fn of_number($number: Number) -> Option<Self> {
                $of_number
            }

            fn own(values: Values) -> Option<Vec<Self>> {
                if let Values::$kind(own) = values { Some(own) } else { None }
            }

            fn any(own: Vec<Self>) -> Values {
                Values::$kind(own)
            }
        })*
    };
}

value_types! {
    U8 u8, n => n.to_i128()?.try_into().ok();
    I16 i16, n => n.to_i128()?.try_into().ok();
    U16 u16, n => n.to_i128()?.try_into().ok();
    I32 i32, n => n.to_i128()?.try_into().ok();
    U32 u32, n => n.to_i128()?.try_into().ok();
    I64 i64, n => n.to_i128()?.try_into().ok();
    U64 u64, n => n.to_i128()?.try_into().ok();
    F32 f32, n => Some(n.to_f64() as f32);
    F64 f64, n => Some(n.to_f64());
}

/// The value of an expression in which `T` is a type.
macro_rules! of_type {
    ($T:ident, $type:ty, $result:expr) => {{
        #[allow(dead_code)]
        type $T = $type;
        $result
    }};
}

/// The value of an expression about values of any type, `T`.
macro_rules! of_each {
    ($values:expr, $inner:pat, $T:ident => $result:expr) => {
        match $values {
            Values::U8($inner) => of_type!($T, u8, $result),
            Values::I16($inner) => of_type!($T, i16, $result),
            Values::U16($inner) => of_type!($T, u16, $result),
            Values::I32($inner) => of_type!($T, i32, $result),
            Values::U32($inner) => of_type!($T, u32, $result),
            Values::F32($inner) => of_type!($T, f32, $result),
            Values::F64($inner) => of_type!($T, f64, $result),
            Values::I64($inner) => of_type!($T, i64, $result),
            Values::U64($inner) => of_type!($T, u64, $result),
        }
    };
}

/// The value of an expression about the type of cells of a name, `T`: one that nodes hold.
macro_rules! of_cells {
    ($cells:expr, $T:ident => $result:expr) => {
        match $cells {
            "u8" => of_type!($T, u8, $result),
            "i16" => of_type!($T, i16, $result),
            "u16" => of_type!($T, u16, $result),
            "i32" => of_type!($T, i32, $result),
            "u32" => of_type!($T, u32, $result),
            "f32" => of_type!($T, f32, $result),
            other => bail!("an index cannot hold {other}"),
        }
    };
}

/// The value of an expression about the type of values of a name, `T`: any.
macro_rules! of_name {
    ($cells:expr, $T:ident => $result:expr) => {
        match $cells {
            "f64" => of_type!($T, f64, $result),
            "i64" => of_type!($T, i64, $result),
            "u64" => of_type!($T, u64, $result),
            cells => of_cells!(cells, $T => $result),
        }
    };
}

pub(crate) use {of_cells, of_each, of_name, of_type};

impl Values {
    /// The type of the cells.
    pub fn cells(&self) -> &'static str {
        of_each!(self, _, T => T::NAME)
    }

    /// The NODATA value of cells that lie in none of the adjacent rasters, as cells of a type.
    pub fn fill(
        cells: &str,
        nodata: Option<Number>,
        (grid, places): (&GridSpec, &[Window]),
    ) -> Result<Self> {
        let nodata = nodata.map(bound);
        Ok(of_name!(cells, T => {
            let fill = mosaic_fill(grid, places, nodata).map_err(with_option)?;
            T::any(vec![fill])
        }))
    }

    /// The value of a cell.
    pub fn get(&self, cell: usize) -> Option<Number> {
        of_each!(self, values, T => values.get(cell).map(|value| number_of(value.bound())))
    }

    /// The first value, repeated this many times.
    pub fn repeated(&self, count: usize) -> Result<Self> {
        Ok(of_each!(self, values, T => {
            let first = values.first().context("there is no value")?;
            T::any(host_memory::filled(*first, count)?)
        }))
    }

    /// Copies a part into the whole, from a row and a column on; each has the given number of columns.
    pub fn paste(
        &mut self,
        part: Self,
        (row, column): (u32, u32),
        [columns, of_part]: [u32; 2],
    ) -> Result<()> {
        let (to, from) = (self.cells(), part.cells());
        let [columns, of_part] = [columns, of_part].map(|columns| columns as usize);
        of_each!(self, values, T => {
            let part = <T as ValueType>::own(part);
            let part = part.with_context(|| format!("values of type {from} do not fit beside values of type {to}"))?;
            let lines = values.chunks_exact_mut(columns).skip(row as usize);
            for (line, part) in lines.zip(part.chunks_exact(of_part)) {
                line[column as usize..][..of_part].copy_from_slice(part);
            }
        });
        Ok(())
    }

    /// Joins adjacent rasters of one type into one, with NODATA between them.
    pub fn put_together(
        cells: &str,
        nodata: Option<Number>,
        parts: Vec<(Self, GridSpec)>,
    ) -> Result<(Self, GridSpec)> {
        Ok(of_name!(cells, T => {
            let own = parts.into_iter().map(|(values, grid)| {
                let other = values.cells();
                let own = <T as ValueType>::own(values);
                Ok((own.with_context(|| format!("cells of type {other} do not fit beside cells of type {cells}"))?, grid))
            });
            let own = own.collect::<Result<Vec<_>>>()?;
            let views = own.iter().map(|(values, grid)| GridView::new(values, *grid));
            let views = views.collect::<Result<Vec<_>, _>>()?;
            let whole = mosaic::<T>(&views, nodata.map(bound)).map_err(with_option)?;
            let grid = *whole.grid();
            (T::any(whole.into_values()), grid)
        }))
    }

    /// Boundaries of this many bins with about as many cells each.
    pub fn quantiles(
        &self,
        grid: GridSpec,
        nodata: Option<Number>,
        count: usize,
    ) -> Result<Vec<Number>> {
        Ok(of_each!(self, values, T => {
            let boundaries = quantile_boundaries(GridView::new(values, grid)?, nodata.map(bound), count)?;
            boundaries.into_iter().map(|value| number_of(value.bound())).collect()
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

/// An error of a mosaic, with the option that mends it.
fn with_option(error: ccq_tree::Error) -> anyhow::Error {
    match error {
        ccq_tree::Error::Gap { .. } => anyhow!("{error}, by --nodata"),
        other => other.into(),
    }
}
