//! A raster of sites in device memory, and further data of its pixels.

use gpu_core::{GridSlice, GridSpec, Slice};

use crate::input::{Form, Shape, StripShape};

/// Where the sites are: the device's [`Sites`](crate::Sites).
///
/// Example: see [`Sites`](crate::Sites), called in [this form](crate::gpu#examples).
#[derive(Clone, Copy, Debug)]
pub enum Sites<'a> {
    /// A byte a pixel, row by row: a site where it is not zero.
    Mask(Slice<'a, u8>),
    /// A bit a pixel. Each row begins with a new word, and bit i of word w of a row is pixel 32 w + i.
    /// So there are `width.div_ceil(32) * height` words. Bits beyond the width are ignored.
    Bits(Slice<'a, u32>),
    /// The sites' columns and rows, in any order; the list may name a pixel more than once. Sites outside the raster
    /// are left out.
    List {
        /// Columns.
        columns: Slice<'a, u32>,
        /// Rows, as many.
        rows: Slice<'a, u32>,
    },
    /// A label a pixel, row by row: a site where it is not zero.
    Labels(Slice<'a, u32>),
}

/// A raster of sites, and further data of its pixels: the device's [`Input`](crate::Input). A `GridSlice<u8>` converts
/// into an input: it is a mask.
///
/// Example: see [the module](crate::gpu#examples).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Input<'a> {
    /// Where the sites are.
    pub sites: Sites<'a>,
    /// Where the pixels lie; [`GridSpec::of_pixels`] for pixels without a place on the ground.
    pub grid: GridSpec,
    /// Whether to invert the sites: the input names the pixels that are not sites, and all others are.
    pub inverted: bool,
    /// Pixels to leave out of the output, a byte each, where it is not zero.
    pub excluded: Option<Slice<'a, u8>>,
    /// Values that pixels take from their nearest sites: one value a pixel. With [`Sites::List`], unless
    /// [inverted](Self::inverted), one value a site; the first site listed on a pixel counts.
    pub values: Option<Slice<'a, f32>>,
    /// The sites beyond the raster, if it is a strip of a wider raster.
    pub strip: Option<Strip<'a>>,
}

/// A strip of columns and the sites beyond it, like [`Strip`](crate::Strip) on the host.
///
/// Example: see [`Strip`](crate::Strip), called in [this form](crate::gpu#examples).
#[derive(Clone, Copy, Debug)]
pub struct Strip<'a> {
    /// Columns of the whole.
    pub columns: u32,
    /// The strip's first column, as a column of the whole.
    pub first: u32,
    /// The last site before the strip in each row, as a column of the whole. A column that is not before the strip
    /// counts as no site.
    pub before: Slice<'a, u32>,
    /// The first site after the strip in each row, in the same form.
    pub after: Slice<'a, u32>,
}

impl<'a> Input<'a> {
    /// Sites in the raster of `grid`.
    pub fn new(sites: Sites<'a>, grid: GridSpec) -> Self {
        Self { sites, grid, inverted: false, excluded: None, values: None, strip: None }
    }

    /// Exchanges sites and other pixels.
    pub fn inverted(mut self) -> Self {
        self.inverted = !self.inverted;
        self
    }

    /// Sets [`excluded`](Self::excluded).
    pub fn excluded(mut self, mask: impl Into<Slice<'a, u8>>) -> Self {
        self.excluded = Some(mask.into());
        self
    }

    /// Sets [`values`](Self::values).
    pub fn values(mut self, values: impl Into<Slice<'a, f32>>) -> Self {
        self.values = Some(values.into());
        self
    }

    /// Sets [`strip`](Self::strip).
    pub fn strip(mut self, strip: Strip<'a>) -> Self {
        self.strip = Some(strip);
        self
    }

    /// Returns the shape by which the request is checked.
    pub(crate) fn shape(&self) -> Shape {
        Shape {
            sites: match self.sites {
                Sites::Mask(mask) => Form::Mask(mask.len()),
                Sites::Bits(bits) => Form::Bits(bits.len()),
                Sites::List { columns, rows } => Form::List(columns.len(), rows.len()),
                Sites::Labels(labels) => Form::Labels(labels.len()),
            },
            grid: self.grid,
            inverted: self.inverted,
            excluded: self.excluded.map(|mask| mask.len()),
            values: self.values.map(|values| values.len()),
            strip: self.strip.map(|strip| StripShape {
                columns: strip.columns,
                first: strip.first,
                before: strip.before.len(),
                after: strip.after.len(),
            }),
        }
    }
}

impl<'a> From<GridSlice<'a, u8>> for Input<'a> {
    fn from(mask: GridSlice<'a, u8>) -> Self {
        Self::new(Sites::Mask(mask.values()), *mask.grid())
    }
}
