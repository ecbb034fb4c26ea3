//! From host arrays to host arrays, on a GPU.

use gpu_core::{Column, Element, Gpu, GridSpec, Progress};

use super::globe::{DeviceGlobe, OnGlobe};
use super::outputs::{Output, Sources};
use super::{Input, Sites, Strip};
use crate::metric::Metric;
use crate::{Diagram, Globe, Params, Result};

/// [`transform`](crate::transform) on a GPU. Each output goes to the host before the next is made, so that
/// the device need not hold them all. Waits.
///
/// # Errors
/// The errors of [`transform`](crate::transform).
pub(crate) fn transform_host(
    gpu: &Gpu,
    input: &crate::Input<'_>,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Diagram> {
    let metric = params.check(&input.shape())?;
    host(gpu, input, params, metric, None, progress)
}

/// [`geodesic`](crate::geodesic()) on a GPU. Waits.
///
/// # Errors
/// The errors of [`geodesic`](crate::geodesic()).
pub(crate) fn geodesic_host(
    gpu: &Gpu,
    input: &crate::Input<'_>,
    globe: &Globe,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Diagram> {
    let shape = input.shape();
    params.check_on_globe(&shape)?;
    let GridSpec { width, height, .. } = input.grid;
    let globe = DeviceGlobe::new(gpu, globe, shape.columns(), height)?;
    globe.check(&shape)?;
    let mut diagram =
        host(gpu, input, params, Metric::pixels(width, height), Some(&globe), progress)?;
    diagram.square_unit = 0.0;
    Ok(diagram)
}

/// Uploads an input, and downloads each output before the next is made; distances are the plane's, or those on a globe.
fn host(
    gpu: &Gpu,
    input: &crate::Input<'_>,
    params: &Params,
    metric: Metric,
    globe: Option<&DeviceGlobe>,
    progress: &dyn Progress,
) -> Result<Diagram> {
    input.check_sites(globe.is_some())?;
    progress.at("to the device", 0.0)?;
    let uploaded = Uploaded::new(gpu, input, params)?;
    let outputs = params.outputs();
    let mut done = 0;
    let mut report = || {
        done += 1;
        progress.at("voronoi", f64::from(done - 1) / f64::from(outputs.max(1)))
    };
    report()?;
    let mut diagram = Diagram::new(input.grid, metric.scale * metric.scale);
    let resident = uploaded.input(input);
    let mut sources = Sources::new(gpu, &resident, metric)?;
    if let Some(globe) = globe {
        sources = sources.on_globe(OnGlobe::new(globe, &resident, params.max_distance));
    }
    sources.each_output(params, |output| {
        match output {
            Output::Nearest(raster) => diagram.nearest = Some(raster.to_host()?),
            Output::Coordinates(raster) => diagram.coordinates = Some(raster.to_host()?),
            Output::Squared(raster) => diagram.squared_distance = Some(raster.to_host()?),
            Output::Distance(raster) => diagram.distance = Some(raster.to_host()?),
            Output::DistanceF64(raster) => diagram.distance_f64 = Some(raster.to_host()?),
            Output::Signed(raster) => diagram.signed_distance = Some(raster.to_host()?),
            Output::Value(raster) => diagram.value = Some(raster.to_host()?),
            Output::Label(raster) => diagram.label = Some(raster.to_host()?),
        }
        Ok(report()?)
    })?;
    gpu.synchronize()?;
    Ok(diagram)
}

/// The arrays of an input on the device.
struct Uploaded {
    sites: UploadedSites,
    excluded: Option<Column<u8>>,
    values: Option<Column<f32>>,
    /// For a strip, the sites before and after it.
    beyond: Option<[Column<u32>; 2]>,
}

enum UploadedSites {
    Mask(Column<u8>),
    Bits(Column<u32>),
    List(Column<u32>, Column<u32>),
    Labels(Column<u32>),
}

impl Uploaded {
    fn new(gpu: &Gpu, input: &crate::Input<'_>, params: &Params) -> Result<Self> {
        fn optional<T: Element>(gpu: &Gpu, array: Option<&[T]>) -> Result<Option<Column<T>>> {
            Ok(array.map(|array| gpu.upload(array)).transpose()?)
        }
        let sites = match input.sites {
            crate::Sites::Mask(mask) => UploadedSites::Mask(gpu.upload(mask)?),
            crate::Sites::Bits(bits) => UploadedSites::Bits(gpu.upload(bits)?),
            crate::Sites::List { columns, rows } => {
                UploadedSites::List(gpu.upload(columns)?, gpu.upload(rows)?)
            }
            crate::Sites::Labels(labels) => UploadedSites::Labels(gpu.upload(labels)?),
        };
        let values = if params.value { input.values } else { None };
        let (excluded, values) = (optional(gpu, input.excluded)?, optional(gpu, values)?);
        let mut beyond = None;
        if let Some(strip) = &input.strip {
            beyond = Some([gpu.upload(strip.before)?, gpu.upload(strip.after)?]);
        }
        Ok(Self { sites, excluded, values, beyond })
    }

    /// The input with these arrays.
    fn input(&self, of: &crate::Input<'_>) -> Input<'_> {
        let sites = match &self.sites {
            UploadedSites::Mask(mask) => Sites::Mask(mask.into()),
            UploadedSites::Bits(bits) => Sites::Bits(bits.into()),
            UploadedSites::List(columns, rows) => {
                Sites::List { columns: columns.into(), rows: rows.into() }
            }
            UploadedSites::Labels(labels) => Sites::Labels(labels.into()),
        };
        Input {
            sites,
            grid: of.grid,
            inverted: of.inverted,
            excluded: self.excluded.as_ref().map(Into::into),
            values: self.values.as_ref().map(Into::into),
            strip: of.strip.zip(self.beyond.as_ref()).map(|(strip, [before, after])| Strip {
                columns: strip.columns,
                first: strip.first,
                before: before.into(),
                after: after.into(),
            }),
        }
    }
}
