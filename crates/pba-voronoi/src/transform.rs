//! What a transform is given, what it is asked for, and what it gives.

use gpu_core::{Device, Progress};

use crate::metric::{Metric, Spacing};
use crate::params::{Algorithm, MAX_PIXELS, MAX_SIDE};
use crate::{Error, Result, cpu};

/// Where the sites are.
#[derive(Clone, Copy, Debug)]
pub enum Sites<'a> {
    /// A byte a pixel, row by row: a site where it is not zero.
    Mask(&'a [u8]),
    /// A bit a pixel: bit i of word w of a row is pixel 32 w + i, and every row begins with a word of
    /// its own, so that there are `width.div_ceil(32) * height` words. Bits beyond the width do not
    /// count.
    Bits(&'a [u32]),
    /// The sites' columns and rows, in any order; a pixel may be named more than once.
    List {
        /// Columns.
        columns: &'a [u32],
        /// Rows, as many.
        rows: &'a [u32],
    },
    /// A label a pixel, row by row: a site where it is not zero.
    Labels(&'a [u32]),
}

/// A raster of sites, and what goes with its pixels.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    pub(crate) sites: Sites<'a>,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) inverted: bool,
    pub(crate) excluded: Option<&'a [u8]>,
    pub(crate) values: Option<&'a [f32]>,
}

impl<'a> Input<'a> {
    /// Sites in a raster of `width` columns and `height` rows.
    pub fn new(sites: Sites<'a>, width: u32, height: u32) -> Self {
        Self { sites, width, height, inverted: false, excluded: None, values: None }
    }

    /// The same with every site no site, and every other pixel one.
    pub fn inverted(mut self) -> Self {
        self.inverted = !self.inverted;
        self
    }

    /// Pixels to leave out of the output, a byte each, where it is not zero (NODATA, a barrier's own
    /// pixels): they get no site and NaN for distances. A site among them still counts for others.
    pub fn excluding(mut self, mask: &'a [u8]) -> Self {
        self.excluded = Some(mask);
        self
    }

    /// Values to hand on to each site's pixels: one a pixel; with [`Sites::List`], unless
    /// [inverted](Self::inverted), one a site, of which the first named on a pixel counts.
    pub fn with_values(mut self, values: &'a [f32]) -> Self {
        self.values = Some(values);
        self
    }

    /// Words of a row of bits.
    pub(crate) fn words(&self) -> usize {
        self.width.div_ceil(32) as usize
    }

    /// Checks all lengths and gives the number of pixels.
    pub(crate) fn check(&self) -> Result<usize> {
        let &Self { width, height, .. } = self;
        let pixels = check_sides(width, height)?;
        let length = |what, found: usize, expected: u64| match found as u64 == expected {
            true => Ok(()),
            false => Err(Error::Length { what, width, height, expected, found: found as u64 }),
        };
        match self.sites {
            Sites::Mask(mask) => length("site mask", mask.len(), pixels)?,
            Sites::Labels(labels) => length("label raster", labels.len(), pixels)?,
            Sites::Bits(bits) => {
                length("bit mask", bits.len(), self.words() as u64 * u64::from(height))?;
            }
            Sites::List { columns, rows } => {
                length("list of rows", rows.len(), columns.len() as u64)?;
                let outside = |&(x, y): &(&u32, &u32)| *x >= width || *y >= height;
                if let Some(site) = columns.iter().zip(rows).position(|s| outside(&s)) {
                    let (column, row) = (columns[site], rows[site]);
                    return Err(Error::SiteOutside { site, column, row, width, height });
                }
            }
        }
        if let Some(mask) = self.excluded {
            length("mask of excluded pixels", mask.len(), pixels)?;
        }
        match (self.values, self.sites, self.inverted) {
            (None, ..) => {}
            (Some(values), Sites::List { columns, .. }, false) => {
                length("list of values", values.len(), columns.len() as u64)?;
            }
            (Some(values), ..) => length("raster of values", values.len(), pixels)?,
        }
        Ok(pixels as usize)
    }

    /// One value a pixel, of which those of the sites count.
    pub(crate) fn value_raster(
        &self,
        pixels: usize,
    ) -> Result<Option<std::borrow::Cow<'a, [f32]>>> {
        Ok(match (self.values, self.sites, self.inverted) {
            (Some(values), Sites::List { columns, rows }, false) => {
                let mut raster = gpu_core::host_memory::filled(f32::NAN, pixels)?;
                for ((&x, &y), &value) in columns.iter().zip(rows).zip(values).rev() {
                    raster[y as usize * self.width as usize + x as usize] = value;
                }
                Some(raster.into())
            }
            (values, ..) => values.map(Into::into),
        })
    }
}

/// Checks the sides of a raster and gives the number of pixels.
fn check_sides(width: u32, height: u32) -> Result<u64> {
    let pixels = u64::from(width) * u64::from(height);
    if pixels > 0 && (width.max(height) > MAX_SIDE || usize::try_from(pixels).is_err()) {
        return Err(Error::TooLarge { width, height });
    }
    Ok(pixels)
}

/// What is asked for beside nothing: each is computed and written only if asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub nearest: bool,
    pub coordinates: bool,
    pub squared: bool,
    pub distance: bool,
    pub distance_f64: bool,
    pub signed: bool,
    pub value: bool,
    pub label: bool,
}

/// A distance transform: how distances are counted, and what is asked for.
///
/// ```
/// use gpu_core::{Device, DeviceChoice};
/// use pba_voronoi::{Input, Sites, Transform};
///
/// # fn main() -> Result<(), pba_voronoi::Error> {
/// let device = Device::open(DeviceChoice::Cpu)?;
/// let labels = [7, 0, 0, 0, 0, 9];
/// let transform = Transform::new().spacing(30.0, 30.0).max_distance(60.0).distance().label();
/// let diagram = transform.run(&device, &Input::new(Sites::Labels(&labels), 6, 1), &())?;
/// assert_eq!(diagram.distance.unwrap(), [0.0, 30.0, 60.0, 60.0, 30.0, 0.0]);
/// assert_eq!(diagram.label.unwrap(), [7, 7, 7, 9, 9, 9]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transform {
    pub(crate) algorithm: Algorithm,
    pub(crate) spacing: Spacing,
    pub(crate) max_distance: Option<f64>,
    pub(crate) wanted: Wanted,
}

impl Transform {
    /// Distances in pixels, without a limit; nothing is asked for yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The way of working; every way gives the same bits.
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// The sides of a pixel on the ground; see [`Spacing`].
    pub fn spacing(mut self, x: f64, y: f64) -> Self {
        self.spacing = Spacing { x, y };
        self
    }

    /// Leaves pixels farther than this from every site without one: distances are infinite there.
    /// The work is then local.
    pub fn max_distance(mut self, max_distance: f64) -> Self {
        self.max_distance = Some(max_distance);
        self
    }

    /// Asks for the linear index (row * width + column) of the nearest site.
    pub fn nearest(mut self) -> Self {
        self.wanted.nearest = true;
        self
    }

    /// Asks for the column and row of the nearest site.
    pub fn coordinates(mut self) -> Self {
        self.wanted.coordinates = true;
        self
    }

    /// Asks for the squared distance, an exact integer: in pixels where these are square, else in
    /// units of [`Diagram::square_unit`].
    pub fn squared_distance(mut self) -> Self {
        self.wanted.squared = true;
        self
    }

    /// Asks for the distance as `f32`: that as `f64`, rounded.
    pub fn distance(mut self) -> Self {
        self.wanted.distance = true;
        self
    }

    /// Asks for the distance as `f64`: the root of the squared distance, times the side of a square
    /// pixel, each rounded once.
    pub fn distance_f64(mut self) -> Self {
        self.wanted.distance_f64 = true;
        self
    }

    /// Asks for the signed distance as `f32`: outside the sites that to the nearest site, at a site
    /// the negative distance to the nearest pixel that is none.
    pub fn signed_distance(mut self) -> Self {
        self.wanted.signed = true;
        self
    }

    /// Asks for the nearest site's value, out of those of [`Input::with_values`].
    pub fn value(mut self) -> Self {
        self.wanted.value = true;
        self
    }

    /// Asks for the nearest site's label, out of [`Sites::Labels`].
    pub fn label(mut self) -> Self {
        self.wanted.label = true;
        self
    }

    /// Runs the transform from host arrays to host arrays.
    ///
    /// `progress` is told of the stages; on a GPU of the beginning and the end.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::Length`] and [`Error::SiteOutside`] for the input,
    /// [`Error::Spacing`], [`Error::MaxDistance`] and [`Error::Missing`] for what is asked,
    /// [`Error::Unsupported`] where [`Algorithm::ScanPrune`] is asked to do what it cannot,
    /// [`Error::Cancelled`], and [`Error::Core`] where memory or the device fails.
    pub fn run(
        &self,
        device: &Device,
        input: &Input<'_>,
        progress: &dyn Progress,
    ) -> Result<Diagram> {
        self.check(input)?;
        match device {
            Device::Cpu => cpu::transform(self, input, progress),
            #[cfg(feature = "cuda")]
            Device::Gpu(gpu) => crate::gpu::transform(self, gpu, input, progress),
            #[allow(unreachable_patterns)]
            other => Err(gpu_core::Error::without_cuda(other).into()),
        }
    }

    /// Finds on a GPU, over device buffers, what the outputs are made from; of the transform only
    /// spacing and largest distance count. Enqueues and returns.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::Spacing`], [`Error::MaxDistance`], [`Error::Core`].
    #[cfg(feature = "cuda")]
    pub fn search(
        &self,
        gpu: &gpu_core::Gpu,
        sites: &crate::gpu::Bits,
    ) -> Result<crate::gpu::Winners> {
        let (width, height) = sites.sides();
        check_sides(width, height)?;
        crate::gpu::Winners::find(gpu, sites, self.metric(width, height)?)
    }

    /// The metric for a raster.
    pub(crate) fn metric(&self, width: u32, height: u32) -> Result<Metric> {
        Metric::new(width, height, self.spacing, self.max_distance)
    }

    fn check(&self, input: &Input<'_>) -> Result<()> {
        let pixels = input.check()?;
        let metric = self.metric(input.width, input.height)?;
        if self.wanted.value && input.values.is_none() {
            return Err(Error::Missing { output: "value", input: "values" });
        }
        if self.wanted.label && !matches!(input.sites, Sites::Labels(_)) {
            return Err(Error::Missing { output: "label", input: "labels" });
        }
        if self.algorithm == Algorithm::ScanPrune {
            let why = if (metric.across, metric.down) != (1, 1) {
                "pixels that are not square"
            } else if pixels as u64 > MAX_PIXELS {
                "more pixels than 32 bits can name"
            } else if self.max_distance.is_some() {
                "a largest distance"
            } else {
                return Ok(());
            };
            return Err(Error::Unsupported { algorithm: self.algorithm, why });
        }
        Ok(())
    }
}

/// Unsigned numbers of 32 bits where these hold every one, else of 64. All bits are set where there is
/// no site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Integers {
    /// 32 bits.
    U32(Vec<u32>),
    /// 64 bits.
    U64(Vec<u64>),
}

impl Integers {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::U32(v) => v.len(),
            Self::U64(v) => v.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of pixel `p`; `None` where it has no site, and beyond the end.
    pub fn get(&self, p: usize) -> Option<u64> {
        match self {
            Self::U32(v) => v.get(p).filter(|&&n| n != u32::MAX).map(|&n| n.into()),
            Self::U64(v) => v.get(p).filter(|&&n| n != u64::MAX).copied(),
        }
    }
}

/// What a transform gives. Arrays are row-major, `width * height` long; those asked for are there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagram {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// What a [squared distance](Self::squared_distance) of 1 is on the ground, squared: the square
    /// of a square pixel's side.
    pub square_unit: f64,
    /// Linear index of the nearest site.
    pub nearest: Option<Integers>,
    /// Column and row of the nearest site; twice `u32::MAX` where there is none.
    pub coordinates: Option<Vec<[u32; 2]>>,
    /// Squared distance to it.
    pub squared_distance: Option<Integers>,
    /// Distance to it; infinite where there is none.
    pub distance: Option<Vec<f32>>,
    /// Distance to it; infinite where there is none.
    pub distance_f64: Option<Vec<f64>>,
    /// Positive outside the sites, negative at them; infinite where there is no pixel of the other
    /// kind.
    pub signed_distance: Option<Vec<f32>>,
    /// Its value; NaN where there is none.
    pub value: Option<Vec<f32>>,
    /// Its label; 0 where there is none.
    pub label: Option<Vec<u32>>,
}
