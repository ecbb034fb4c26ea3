//! A raster of sites, and further data of its pixels.

use std::borrow::Cow;

use gpu_core::{GridSpec, GridView, host_memory};

use crate::limits::{MAX_PIXELS, check_sides};
use crate::{Error, NONE, Result};

/// Where the sites are.
///
/// ```
/// use gpu_core::{Device, GridSpec};
/// use pba_voronoi::{Input, Params, Sites, transform};
///
/// // The same site, the third pixel of four, in four forms.
/// for sites in [
///     Sites::Mask(&[0, 0, 1, 0]),
///     Sites::Bits(&[0b100]),
///     Sites::List { columns: &[2], rows: &[0] },
///     Sites::Labels(&[0, 0, 7, 0]),
/// ] {
///     let input = Input::new(sites, GridSpec::of_pixels(4, 1));
///     let diagram = transform(&Device::Cpu, &input, &Params::new().distance())?;
///     assert_eq!(diagram.distance.unwrap().values(), [2.0, 1.0, 0.0, 1.0]);
/// }
/// # Ok::<(), pba_voronoi::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Sites<'a> {
    /// A byte a pixel, row by row: a site where it is not zero.
    Mask(&'a [u8]),
    /// A bit a pixel. Each row begins with a new word, and bit i of word w of a row is pixel 32 w + i.
    /// So there are `width.div_ceil(32) * height` words. Bits beyond the width are ignored.
    Bits(&'a [u32]),
    /// The sites' columns and rows, in any order; the list may name a pixel more than once.
    List {
        /// Columns.
        columns: &'a [u32],
        /// Rows, as many.
        rows: &'a [u32],
    },
    /// A label a pixel, row by row: a site where it is not zero.
    Labels(&'a [u32]),
}

/// A strip of columns, and the sites beyond it in the wider raster. The strip has all rows of that raster.
///
/// Only two of a row's sites beyond the strip can be nearest to one of the strip's columns: the last one before the
/// strip and the first one after it. With these two for each row, the strip has the distances and nearest sites of the
/// whole, however far away they are. So a program can transform a raster larger than memory strip by strip.
///
/// On the [globe](crate::geodesic()) these two are the first sites west and east of the strip, around the globe if
/// necessary. So a row with one site names it twice, and the site may lie in the strip. If the first and the last
/// column are one meridian and both have a site, the site in the first column counts.
///
/// ```
/// use gpu_core::{Device, GridSpec};
/// use pba_voronoi::{Input, NONE, Params, Sites, Strip, transform};
///
/// // The eastern half of a raster of 4 x 1 pixels, whose only site is in column 0.
/// let strip = Strip { columns: 4, first: 2, before: &[0], after: &[NONE] };
/// let input = Input::new(Sites::Mask(&[0, 0]), GridSpec::of_pixels(2, 1)).strip(strip);
/// let diagram = transform(&Device::Cpu, &input, &Params::new().distance())?;
/// assert_eq!(diagram.distance.unwrap().values(), [2.0, 3.0]);
/// # Ok::<(), pba_voronoi::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Strip<'a> {
    /// Columns of the whole.
    pub columns: u32,
    /// The strip's first column, as a column of the whole.
    pub first: u32,
    /// In each row the last site before the strip, as a column of the whole; [`NONE`](crate::NONE) in a row without
    /// one. If the input is [inverted](Input::inverted), this is a site after the inversion.
    pub before: &'a [u32],
    /// In each row the first site after the strip, in the same form.
    pub after: &'a [u32],
}

/// A raster of sites, and further data of its pixels. A `GridView<u8>` converts into an input: it is a mask.
///
/// ```
/// use gpu_core::{Device, GridSpec};
/// use pba_voronoi::{Input, Params, Sites, transform};
///
/// let input = Input::new(Sites::Mask(&[1, 0, 0, 1]), GridSpec::of_pixels(4, 1))
///     .values(&[10.0, 0.0, 0.0, 40.0])
///     .excluded(&[0, 0, 0, 1]);
/// let diagram = transform(&Device::Cpu, &input, &Params::new().value())?;
/// let values = diagram.value.unwrap();
/// assert_eq!(values.values()[..3], [10.0, 10.0, 40.0]); // of the nearest site
/// assert!(values.values()[3].is_nan()); // left out
/// # Ok::<(), pba_voronoi::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Input<'a> {
    /// Where the sites are.
    pub sites: Sites<'a>,
    /// Where the pixels lie; [`GridSpec::of_pixels`] for pixels without a place on the ground.
    pub grid: GridSpec,
    /// Whether to invert the sites: the input names the pixels that are not sites, and all others are.
    pub inverted: bool,
    /// Pixels to leave out of the output, a byte each, where it is not zero (NODATA, a barrier's own pixels): they get
    /// no site and NaN for distances. A site among these pixels still counts for other pixels.
    pub excluded: Option<&'a [u8]>,
    /// Values that pixels take from their nearest sites: one value a pixel. With [`Sites::List`], unless
    /// [inverted](Self::inverted), one value a site; the first site listed on a pixel counts.
    pub values: Option<&'a [f32]>,
    /// The sites beyond the raster, if it is a strip of a wider raster. Indices and coordinates then count in the whole
    /// raster. Values, labels and signed distances are not available.
    pub strip: Option<Strip<'a>>,
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
    pub fn excluded(mut self, mask: &'a [u8]) -> Self {
        self.excluded = Some(mask);
        self
    }

    /// Sets [`values`](Self::values).
    pub fn values(mut self, values: &'a [f32]) -> Self {
        self.values = Some(values);
        self
    }

    /// Sets [`strip`](Self::strip).
    pub fn strip(mut self, strip: Strip<'a>) -> Self {
        self.strip = Some(strip);
        self
    }

    /// Words of a row of bits.
    pub(crate) fn words(&self) -> usize {
        self.grid.width.div_ceil(32) as usize
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
            excluded: self.excluded.map(<[u8]>::len),
            values: self.values.map(<[f32]>::len),
            strip: self.strip.map(|strip| StripShape {
                columns: strip.columns,
                first: strip.first,
                before: strip.before.len(),
                after: strip.after.len(),
            }),
        }
    }

    /// Checks what arrays hold: that listed sites are pixels of the raster, and that others lie beyond the strip, on the globe in the
    /// whole.
    pub(crate) fn check_sites(&self, is_on_globe: bool) -> Result<()> {
        self.check_list()?;
        let Some(Strip { columns, first, before, after }) = self.strip else { return Ok(()) };
        let width = self.grid.width;
        let is_in = |x: u32| x == NONE || (is_on_globe && x < columns);
        let is_before = |&x: &u32| is_in(x) || x < first;
        let is_after = |&x: &u32| is_in(x) || (first + width..columns).contains(&x);
        let found = |row: usize, column| Error::NotBeyond { row, column, first, width, columns };
        if let Some(row) = before.iter().position(|x| !is_before(x)) {
            return Err(found(row, before[row]));
        }
        match after.iter().position(|x| !is_after(x)) {
            Some(row) => Err(found(row, after[row])),
            None => Ok(()),
        }
    }

    fn check_list(&self) -> Result<()> {
        let Sites::List { columns, rows } = self.sites else { return Ok(()) };
        let GridSpec { width, height, .. } = self.grid;
        let is_outside = |(x, y): (&u32, &u32)| *x >= width || *y >= height;
        match columns.iter().zip(rows).position(is_outside) {
            Some(site) => {
                let (column, row) = (columns[site], rows[site]);
                Err(Error::SiteOutside { site, column, row, width, height })
            }
            None => Ok(()),
        }
    }

    /// Returns one value a pixel; only sites' values count.
    pub(crate) fn value_raster(&self) -> Result<Option<Cow<'a, [f32]>>> {
        Ok(match (self.values, self.sites, self.inverted) {
            (Some(values), Sites::List { columns, rows }, false) => {
                let mut raster = host_memory::filled(f32::NAN, self.grid.cells() as usize)?;
                for ((&x, &y), &value) in columns.iter().zip(rows).zip(values).rev() {
                    raster[y as usize * self.grid.width as usize + x as usize] = value;
                }
                Some(raster.into())
            }
            (values, ..) => values.map(Into::into),
        })
    }
}

impl<'a> From<GridView<'a, u8>> for Input<'a> {
    fn from(mask: GridView<'a, u8>) -> Self {
        Self::new(Sites::Mask(mask.values()), *mask.grid())
    }
}

/// The lengths of an input, on the host or on a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub sites: Form,
    pub grid: GridSpec,
    pub inverted: bool,
    pub excluded: Option<usize>,
    pub values: Option<usize>,
    pub strip: Option<StripShape>,
}

/// The place of a strip in its whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StripShape {
    pub columns: u32,
    pub first: u32,
    pub before: usize,
    pub after: usize,
}

/// How sites are given, and the lengths of the arrays.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    Mask(usize),
    Bits(usize),
    List(usize, usize),
    Labels(usize),
}

impl Shape {
    /// Returns the columns of the whole raster if this one is a strip, else its own columns.
    pub fn columns(&self) -> u32 {
        self.strip.map_or(self.grid.width, |strip| strip.columns)
    }

    /// Whether indices of pixels, and one more number, fit 32 bits.
    pub fn is_short(&self) -> bool {
        u64::from(self.columns()) * u64::from(self.grid.height) <= MAX_PIXELS
    }

    /// Checks sides and lengths.
    pub fn check(&self) -> Result<()> {
        let GridSpec { width, height, .. } = self.grid;
        let pixels = check_sides(width, height)?;
        match self.sites {
            Form::Mask(len) => length("site mask", len, pixels)?,
            Form::Labels(len) => length("label raster", len, pixels)?,
            Form::Bits(len) => {
                length("bit mask", len, u64::from(width.div_ceil(32)) * u64::from(height))?;
            }
            Form::List(columns, rows) => length("list of rows", rows, columns as u64)?,
        }
        if let Some(len) = self.excluded {
            length("mask of excluded pixels", len, pixels)?;
        }
        if let Some(StripShape { columns, first, before, after }) = self.strip {
            if first.checked_add(width).is_none_or(|end| end > columns) {
                return Err(Error::Strip { first, width, columns });
            }
            length("list of sites before the strip", before, height.into())?;
            length("list of sites after the strip", after, height.into())?;
        }
        match (self.values, self.sites, self.inverted) {
            (None, ..) => Ok(()),
            (Some(len), Form::List(sites, _), false) => length("list of values", len, sites as u64),
            (Some(len), ..) => length("raster of values", len, pixels),
        }
    }
}

fn length(what: &'static str, found: usize, expected: u64) -> Result<()> {
    let found = found as u64;
    if found == expected {
        return Ok(());
    }
    Err(gpu_core::Error::Length { what, expected, found }.into())
}
