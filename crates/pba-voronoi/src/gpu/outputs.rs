//! Makes the outputs of a transform one after the other.

use gpu_core::{Column, DeviceGrid, Element, Gpu, GridSpec, Slice};

use super::bits::Bits;
use super::derived::{self, Measured, Wanted};
use super::globe::OnGlobe;
use super::winners::Winners;
use super::{Input, Integers, Sites, baselines};
use crate::metric::Metric;
use crate::{Baseline, Method, Params, Result};

/// An output.
pub(super) enum Output {
    Nearest(Integers),
    Coordinates(DeviceGrid<[u32; 2]>),
    Squared(Integers),
    Distance(DeviceGrid<f32>),
    DistanceF64(DeviceGrid<f64>),
    Signed(DeviceGrid<f32>),
    Value(DeviceGrid<f32>),
    Label(DeviceGrid<u32>),
}

/// The arrays that every output is made from.
pub(super) struct Sources<'a> {
    gpu: &'a Gpu,
    input: &'a Input<'a>,
    grid: GridSpec,
    metric: Metric,
    bits: Bits,
    /// Where the raster lies on the globe, if distances are measured there.
    globe: Option<OnGlobe<'a>>,
}

impl<'a> Sources<'a> {
    /// Returns the sources of an input that was checked.
    pub fn new(gpu: &'a Gpu, input: &'a Input<'a>, metric: Metric) -> Result<Self> {
        let bits = Bits::of(gpu, input)?;
        Ok(Self { gpu, input, grid: input.grid, metric, bits, globe: None })
    }

    /// Returns the sources with distances on the globe.
    pub fn on_globe(self, globe: OnGlobe<'a>) -> Self {
        Self { globe: Some(globe), ..self }
    }

    /// Makes the outputs, and passes each to `keep` before it makes the next.
    pub fn each_output(
        &self,
        params: &Params,
        mut keep: impl FnMut(Output) -> Result<()>,
    ) -> Result<()> {
        if params.nearest || params.coordinates || params.value || params.label {
            self.each_of_indices(params, &mut keep)?;
        }
        if params.squared_distance
            || params.distance
            || params.distance_f64
            || params.signed_distance
        {
            self.each_distance(params, &mut keep)?;
        }
        Ok(())
    }

    /// Makes the outputs that name sites.
    fn each_of_indices(
        &self,
        params: &Params,
        keep: &mut impl FnMut(Output) -> Result<()>,
    ) -> Result<()> {
        let gpu = self.gpu;
        let mut indices = self.indices(params.method)?;
        self.exclude_integers(&mut indices)?;
        if params.coordinates {
            let columns = self.input.shape().columns();
            keep(Output::Coordinates(derived::coordinates(gpu, &indices, columns)?))?;
        }
        if let (true, Some(values)) = (params.value, self.input.values) {
            let none = f32::NAN;
            let raster = match (self.input.sites, self.input.inverted) {
                (Sites::List { columns, rows }, false) => {
                    let of_pixels =
                        derived::listed_values(gpu, (columns, rows), values, &self.grid)?;
                    derived::gather(gpu, &indices, (&of_pixels).into(), none)?
                }
                _ => derived::gather(gpu, &indices, values, none)?,
            };
            keep(Output::Value(raster))?;
        }
        if let (true, Sites::Labels(labels)) = (params.label, self.input.sites) {
            keep(Output::Label(derived::gather(gpu, &indices, labels, 0)?))?;
        }
        if params.nearest {
            keep(Output::Nearest(indices))?;
        }
        Ok(())
    }

    fn indices(&self, method: Method) -> Result<Integers> {
        if let Some(globe) = &self.globe {
            return globe.indices(self.gpu, &self.bits);
        }
        match method {
            Method::Baseline(Baseline::ScanPrune) => {
                let unpacked: Column<u8>;
                let mask: Slice<'_, u8> = match (self.input.sites, self.input.inverted) {
                    (Sites::Mask(mask), false) => mask,
                    _ => {
                        unpacked = self.bits.unpacked(self.gpu)?;
                        (&unpacked).into()
                    }
                };
                Ok(Integers::U32(baselines::scan_prune(self.gpu, mask, self.grid)?))
            }
            Method::Auto | Method::Monotone => {
                let strip = self.input.strip.as_ref();
                Winners::find(self.gpu, &self.bits, self.metric, strip)?.indices(self.gpu)
            }
        }
    }

    /// Makes the outputs that are distances.
    fn each_distance(
        &self,
        params: &Params,
        keep: &mut impl FnMut(Output) -> Result<()>,
    ) -> Result<()> {
        let (gpu, scale) = (self.gpu, self.metric.scale);
        let wanted = Wanted {
            squares: params.squared_distance,
            distances: params.distance || params.signed_distance,
            distances_f64: params.distance_f64,
        };
        if let Some(globe) = &self.globe {
            let mut indices = globe.indices(gpu, &self.bits)?;
            let measured = globe.measure(gpu, &mut indices, wanted)?;
            drop(indices);
            return self.each_measured(params, measured, keep);
        }
        let winners = Winners::find(gpu, &self.bits, self.metric, self.input.strip.as_ref())?;
        if let Some(measured) = winners.measured(gpu, wanted)? {
            drop(winners);
            return self.each_measured(params, measured, keep);
        }
        if params.squared_distance || params.distance_f64 {
            let mut squares = winners.squares(gpu)?;
            if params.distance_f64 {
                let mut out = derived::distances_f64(gpu, &squares, scale)?;
                self.exclude(&mut out, f64::NAN.to_bits())?;
                keep(Output::DistanceF64(out))?;
            }
            if params.squared_distance {
                self.exclude_integers(&mut squares)?;
                keep(Output::Squared(squares))?;
            }
        }
        if params.distance || params.signed_distance {
            let mut out = winners.distances(gpu)?;
            drop(winners);
            self.exclude(&mut out, f32::NAN.to_bits().into())?;
            self.each_rounded(params, out, keep)?;
        }
        Ok(())
    }

    /// Makes the outputs that are distances, of pixels that are not square.
    fn each_measured(
        &self,
        params: &Params,
        measured: Measured,
        keep: &mut impl FnMut(Output) -> Result<()>,
    ) -> Result<()> {
        if let Some(mut out) = measured.distances_f64 {
            self.exclude(&mut out, f64::NAN.to_bits())?;
            keep(Output::DistanceF64(out))?;
        }
        if let Some(squares) = measured.squares {
            let mut squares = Integers::U64(squares);
            self.exclude_integers(&mut squares)?;
            keep(Output::Squared(squares))?;
        }
        if let Some(mut out) = measured.distances {
            self.exclude(&mut out, f32::NAN.to_bits().into())?;
            self.each_rounded(params, out, keep)?;
        }
        Ok(())
    }

    /// The distance of each pixel, rounded, for the sites that the bits name.
    fn rounded(&self, bits: &Bits) -> Result<DeviceGrid<f32>> {
        if let Some(globe) = &self.globe {
            return globe.distances(self.gpu, bits);
        }
        let wanted = Wanted { distances: true, ..Wanted::default() };
        let winners = Winners::find(self.gpu, bits, self.metric, None)?;
        match winners.measured(self.gpu, wanted)?.and_then(|measured| measured.distances) {
            Some(distances) => Ok(distances),
            None => winners.distances(self.gpu),
        }
    }

    /// Hands on distances, and makes signed ones of them.
    fn each_rounded(
        &self,
        params: &Params,
        distances: DeviceGrid<f32>,
        keep: &mut impl FnMut(Output) -> Result<()>,
    ) -> Result<()> {
        let gpu = self.gpu;
        let mut signed = match (params.distance, params.signed_distance) {
            (true, true) => {
                let copy = derived::copied(gpu, &distances)?;
                keep(Output::Distance(distances))?;
                copy
            }
            (false, true) => distances,
            (_, false) => return keep(Output::Distance(distances)),
        };
        let others = self.bits.flipped(gpu)?;
        let inside = self.rounded(&others)?;
        derived::sign(gpu, &mut signed, &inside)?;
        keep(Output::Signed(signed))
    }

    fn exclude_integers(&self, out: &mut Integers) -> Result<()> {
        match out {
            Integers::U32(raster) => self.exclude(raster, u64::MAX),
            Integers::U64(raster) => self.exclude(raster, u64::MAX),
        }
    }

    /// Writes these bits into every excluded pixel.
    fn exclude<T: Element>(&self, out: &mut DeviceGrid<T>, bits: u64) -> Result<()> {
        match self.input.excluded {
            Some(mask) => derived::exclude(self.gpu, mask, out, bits),
            None => Ok(()),
        }
    }
}
