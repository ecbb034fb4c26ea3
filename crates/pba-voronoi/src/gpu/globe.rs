//! The launches of distances on the globe; the kernels and the plan are in `kernels_rs::voronoi::monotone::globe`.
//!
//! Scratch, in bytes a pixel: 4 for the candidates, 8 for their gaps, 4 for the winners; 4 for the least gap of each 32 rows.

use gpu_core::{Blocks, Column, DeviceGrid, Element, Gpu, GridSpec, Slice};
use kernels_rs::voronoi::monotone as kernels;

use super::bits::{Bits, words_of};
use super::derived::{Measured, Wanted};
use super::winners::{candidates, candidates_in_strip};
use super::{Input, Integers, Strip};
use crate::globe::check_strip;
use crate::input::Shape;
use crate::limits::MAX_PIXELS;
use crate::{Error, Globe, Result};

/// Where the pixels of a raster lie on the sphere, in device memory: the device's [`Globe`].
///
/// It holds tables of sines and cosines: 8 bytes for each column of the raster and 16 for each row. Transforms of all rasters
/// of one shape can share them.
///
/// Example: see [`geodesic`](crate::gpu::geodesic()).
#[derive(Debug)]
pub struct DeviceGlobe {
    along: Column<f64>,
    across: Column<f64>,
    cosine: Column<f64>,
    turn: f64,
    slack: f64,
    radius: f64,
    width: u32,
    height: u32,
    has_pole: bool,
}

impl DeviceGlobe {
    /// Computes the tables of a raster of `width` columns and `height` rows on the host, and copies them to the device.
    /// A strip of columns takes the tables of its whole. Waits.
    ///
    /// # Errors
    /// [`Error::Globe`] for a raster that does not lie on the globe; [`Error::Core`] where memory or the device fails.
    pub fn new(gpu: &Gpu, globe: &Globe, width: u32, height: u32) -> Result<Self> {
        let tables = globe.tables(width, height)?;
        Ok(Self {
            along: gpu.upload(&tables.along)?,
            across: gpu.upload(&tables.across)?,
            cosine: gpu.upload(&tables.cosine)?,
            turn: tables.turn,
            slack: tables.slack,
            radius: tables.radius,
            width,
            height,
            has_pole: tables.has_pole(),
        })
    }

    /// Checks that it is the one for an input.
    pub(super) fn check(&self, input: &Shape) -> Result<()> {
        let (given, expected) = ([self.width, self.height], [input.columns(), input.grid.height]);
        if given != expected {
            return Err(Error::GlobeShape { given, expected });
        }
        check_strip(input, self.has_pole)
    }
}

/// A raster on the globe.
#[derive(Debug)]
pub(super) struct OnGlobe<'a> {
    globe: &'a DeviceGlobe,
    grid: GridSpec,
    /// Where the raster is a strip of a wider one.
    strip: Option<Strip<'a>>,
    /// The largest distance of a site.
    most: f64,
}

impl<'a> OnGlobe<'a> {
    /// Returns the launches for sites up to a largest distance.
    pub fn new(globe: &'a DeviceGlobe, input: &Input<'a>, most: Option<f64>) -> Self {
        let most = most.map_or(f64::INFINITY, crate::globe::reached);
        Self { globe, grid: input.grid, strip: input.strip, most }
    }

    fn pitch(&self) -> u32 {
        words_of(self.grid.width) * kernels::WORD
    }

    fn arguments(&self) -> kernels::Globe<'_> {
        kernels::Globe {
            along: self.globe.along.input(),
            across: self.globe.across.input(),
            cosine: self.globe.cosine.input(),
            turn: self.globe.turn,
            slack: self.globe.slack,
            radius: self.globe.radius,
            width: self.grid.width,
            height: self.grid.height,
            whole: self.globe.width,
            first: self.strip.map_or(0, |strip| strip.first),
            pitch: self.pitch(),
        }
    }

    /// Computes, for each pixel, the linear index of the nearest site within the limit, in as many bits as the raster
    /// needs.
    pub fn indices(&self, gpu: &Gpu, bits: &Bits) -> Result<Integers> {
        let whole = u64::from(self.globe.width) * u64::from(self.globe.height);
        let mut indices = match whole > MAX_PIXELS {
            false => Integers::U32(self.indices_of(gpu, bits)?),
            true => Integers::U64(self.indices_of(gpu, bits)?),
        };
        if self.most < f64::INFINITY {
            self.measure(gpu, &mut indices, Wanted::default())?;
        }
        Ok(indices)
    }

    fn indices_of<I>(&self, gpu: &Gpu, bits: &Bits) -> Result<DeviceGrid<I>>
    where
        I: Element + kernels::name_sites::Instance,
    {
        let GridSpec { width, height, .. } = self.grid;
        let cells = self.grid.cells() as usize;
        let mut nearest = match &self.strip {
            Some(strip) => candidates_in_strip(gpu, bits, strip)?,
            None => candidates::<u32>(gpu, bits)?,
        };
        let [across, down] = [width, height].map(|side| u64::from(side.div_ceil(kernels::SQUARE)));
        let threads = across * down * u64::from(kernels::BLOCK);
        let squares = Blocks::for_each(&kernels::go_round, threads)?;
        let own;
        let [firsts, lasts] = match &self.strip {
            Some(strip) => [strip.before, strip.after],
            None => {
                own = self.row_ends(gpu, &nearest)?;
                own.each_ref().map(Slice::from)
            }
        };
        // SAFETY: arrays have the sizes that the kernels demand, and each is written whole before it is read. One
        // kernel each writes the gaps and the winners, and the last kernel the indices.
        unsafe {
            let mut all = gpu.uninitialized(cells)?;
            let mut leasts = gpu.uninitialized(width as usize * down as usize)?;
            let arguments = kernels::go_round::Args {
                nearest: nearest.output(),
                firsts: firsts.input(),
                lasts: lasts.input(),
                gaps: kernels::Gaps { all: all.output(), leasts: leasts.output() },
                globe: self.arguments(),
            };
            gpu.enqueue(kernels::go_round, squares, arguments)?;
            let mut winners = gpu.uninitialized(cells)?;
            let arguments = kernels::solve_columns::Args {
                gaps: kernels::Gaps { all: all.output(), leasts: leasts.output() },
                winners: winners.output(),
                globe: self.arguments(),
            };
            let lanes = u64::from(width) * u64::from(kernels::WORD);
            let columns = Blocks::for_each(&kernels::solve_columns, lanes)?;
            gpu.enqueue(kernels::solve_columns, columns, arguments)?;
            drop((all, leasts));
            let mut out = gpu.uninitialized::<I>(cells)?;
            let arguments = kernels::name_sites::Args {
                nearest: nearest.input(),
                winners: winners.input(),
                firsts: firsts.input(),
                indices: out.output(),
                globe: self.arguments(),
            };
            gpu.enqueue(<I as kernels::name_sites::Instance>::KERNEL, squares, arguments)?;
            Ok(DeviceGrid::from_column(out, self.grid)?)
        }
    }

    /// The first and the last site of each row.
    fn row_ends(&self, gpu: &Gpu, nearest: &Column<u32>) -> Result<[Column<u32>; 2]> {
        let height = self.grid.height;
        // SAFETY: arrays have the sizes that the kernel asks for, and it writes both ends of all rows.
        unsafe {
            let mut firsts = gpu.uninitialized(height as usize)?;
            let mut lasts = gpu.uninitialized(height as usize)?;
            let arguments = kernels::find_row_ends::Args {
                nearest: nearest.input(),
                firsts: firsts.output(),
                lasts: lasts.output(),
                globe: self.arguments(),
            };
            let rows = Blocks::for_each(&kernels::find_row_ends, height.into())?;
            gpu.enqueue(kernels::find_row_ends, rows, arguments)?;
            Ok([firsts, lasts])
        }
    }

    /// Computes the distance from each pixel to the nearest site among the bits, rounded.
    pub fn distances(&self, gpu: &Gpu, bits: &Bits) -> Result<DeviceGrid<f32>> {
        let wanted = Wanted { distances: true, ..Wanted::default() };
        let measured = self.measure(gpu, &mut self.indices(gpu, bits)?, wanted)?;
        Ok(measured.distances.expect("they are wanted"))
    }

    /// Removes indices of sites beyond the limit, and measures the distances of the others.
    pub fn measure(&self, gpu: &Gpu, indices: &mut Integers, wanted: Wanted) -> Result<Measured> {
        match indices {
            Integers::U32(raster) => self.measure_by(gpu, raster, wanted),
            Integers::U64(raster) => self.measure_by(gpu, raster, wanted),
        }
    }

    fn measure_by<I: Element + kernels::measure_arcs::Instance>(
        &self,
        gpu: &Gpu,
        indices: &mut DeviceGrid<I>,
        wanted: Wanted,
    ) -> Result<Measured> {
        fn room<T: Element>(gpu: &Gpu, is_wanted: bool, pixels: u64) -> Result<Option<Column<T>>> {
            // SAFETY: the kernel writes every pixel.
            Ok(is_wanted.then(|| unsafe { gpu.uninitialized(pixels as usize) }).transpose()?)
        }
        fn raster<T: Element>(
            of: Option<Column<T>>,
            grid: GridSpec,
        ) -> Result<Option<DeviceGrid<T>>> {
            Ok(of.map(|column| DeviceGrid::from_column(column, grid)).transpose()?)
        }
        let kernel = <I as kernels::measure_arcs::Instance>::KERNEL;
        let pixels = self.grid.cells();
        let mut distances = room(gpu, wanted.distances, pixels)?;
        let mut distances_f64 = room(gpu, wanted.distances_f64, pixels)?;
        let arguments = kernels::measure_arcs::Args {
            indices: indices.column_mut().output(),
            out: distances.as_mut().map(Column::output),
            out_f64: distances_f64.as_mut().map(Column::output),
            globe: self.arguments(),
            most: self.most,
        };
        // SAFETY: indices and outputs have as many pixels as the raster.
        unsafe { gpu.enqueue(kernel, Blocks::for_each(&kernel, pixels)?, arguments)? };
        Ok(Measured {
            squares: None,
            distances: raster(distances, self.grid)?,
            distances_f64: raster(distances_f64, self.grid)?,
        })
    }
}
