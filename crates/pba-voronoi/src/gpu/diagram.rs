//! The result of a transform in device memory.

use gpu_core::{DeviceGrid, GridSpec};

use super::outputs::Output;
use crate::Result;

/// A raster of unsigned numbers in device memory: the device's [`Integers`](crate::Integers).
///
/// Example: see [`Integers`](crate::Integers), called in [this form](crate::gpu#examples).
#[derive(Debug)]
pub enum Integers {
    /// 32 bits.
    U32(DeviceGrid<u32>),
    /// 64 bits.
    U64(DeviceGrid<u64>),
}

impl Integers {
    /// Copies them to the host. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core).
    pub fn to_host(&self) -> Result<crate::Integers> {
        Ok(match self {
            Self::U32(raster) => crate::Integers::U32(raster.to_host()?),
            Self::U64(raster) => crate::Integers::U64(raster.to_host()?),
        })
    }

    /// Where the pixels lie.
    pub fn grid(&self) -> &GridSpec {
        match self {
            Self::U32(raster) => raster.grid(),
            Self::U64(raster) => raster.grid(),
        }
    }
}

/// The result of a transform in device memory, like [`Diagram`](crate::Diagram) on the host: the rasters that
/// [`Params`](crate::Params) name, on the input's grid.
///
/// Example: see [the module](crate::gpu#examples).
#[derive(Debug)]
#[non_exhaustive]
pub struct Diagram {
    /// Where the pixels lie.
    pub grid: GridSpec,
    /// The square of the length on the ground that a [squared distance](Self::squared_distance) of 1 stands for.
    pub square_unit: f64,
    /// Linear index of the nearest site.
    pub nearest: Option<Integers>,
    /// Column and row of the nearest site; both are `u32::MAX` without a site.
    pub coordinates: Option<DeviceGrid<[u32; 2]>>,
    /// Squared distance to it.
    pub squared_distance: Option<Integers>,
    /// The distance to the nearest site; infinite without a site.
    pub distance: Option<DeviceGrid<f32>>,
    /// The distance to the nearest site; infinite without a site.
    pub distance_f64: Option<DeviceGrid<f64>>,
    /// The signed distance: positive outside the sites, negative at sites; infinite if all pixels are of one kind.
    pub signed_distance: Option<DeviceGrid<f32>>,
    /// The nearest site's value; NaN without a site.
    pub value: Option<DeviceGrid<f32>>,
    /// The nearest site's label; 0 without a site.
    pub label: Option<DeviceGrid<u32>>,
}

impl Diagram {
    /// One without any output yet.
    pub(super) fn new(grid: GridSpec, square_unit: f64) -> Self {
        Self {
            grid,
            square_unit,
            nearest: None,
            coordinates: None,
            squared_distance: None,
            distance: None,
            distance_f64: None,
            signed_distance: None,
            value: None,
            label: None,
        }
    }

    pub(super) fn set(&mut self, output: Output) {
        match output {
            Output::Nearest(raster) => self.nearest = Some(raster),
            Output::Coordinates(raster) => self.coordinates = Some(raster),
            Output::Squared(raster) => self.squared_distance = Some(raster),
            Output::Distance(raster) => self.distance = Some(raster),
            Output::DistanceF64(raster) => self.distance_f64 = Some(raster),
            Output::Signed(raster) => self.signed_distance = Some(raster),
            Output::Value(raster) => self.value = Some(raster),
            Output::Label(raster) => self.label = Some(raster),
        }
    }
}
