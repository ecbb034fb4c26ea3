//! A whole transform on a GPU, from host arrays to host arrays.

use gpu_core::{Column, DeviceGrid, Gpu, Progress};

use super::monotone::{Bits, Winners};
use super::outputs::{self, DeviceIntegers};
use crate::metric::Metric;
use crate::{Algorithm, Diagram, Error, Input, Integers, Result, Sites, Transform};

/// [`Transform::run`] on a GPU.
///
/// # Errors
/// As there.
pub(crate) fn transform(
    transform: &Transform,
    gpu: &Gpu,
    input: &Input<'_>,
    progress: &dyn Progress,
) -> Result<Diagram> {
    let report = |fraction| match progress.report("voronoi", fraction) {
        std::ops::ControlFlow::Continue(()) => Ok(()),
        std::ops::ControlFlow::Break(()) => Err(Error::Cancelled),
    };
    report(0.0)?;
    let metric = transform.metric(input.width, input.height)?;
    let bits = upload(gpu, input)?;
    let excluded = input.excluded.map(|mask| gpu.upload(mask)).transpose()?;
    let mut diagram = Diagram {
        width: input.width,
        height: input.height,
        square_unit: metric.scale * metric.scale,
        ..Diagram::default()
    };
    let work = Work { gpu, metric, bits: &bits, excluded: excluded.as_ref() };
    work.with_indices(transform, input, &mut diagram)?;
    work.with_distances(transform, &mut diagram)?;
    report(1.0)?;
    Ok(diagram)
}

/// The sites of an input, as bits on the device.
fn upload(gpu: &Gpu, input: &Input<'_>) -> Result<Bits> {
    let (width, height) = (input.width, input.height);
    let bits = match input.sites {
        Sites::Mask(mask) => Bits::from_mask(gpu, &gpu.upload_grid(mask, width, height)?)?,
        Sites::Bits(words) => Bits::from_words(gpu.upload(words)?, width, height)?,
        Sites::List { columns, rows } => {
            let (columns, rows) = (gpu.upload(columns)?, gpu.upload(rows)?);
            Bits::from_list(gpu, &columns, &rows, width, height)?
        }
        Sites::Labels(labels) => Bits::from_labels(gpu, &gpu.upload_grid(labels, width, height)?)?,
    };
    if input.inverted { bits.flipped(gpu) } else { Ok(bits) }
}

/// What every output is made from.
struct Work<'a> {
    gpu: &'a Gpu,
    metric: Metric,
    bits: &'a Bits,
    excluded: Option<&'a Column<u8>>,
}

impl Work<'_> {
    /// Adds the outputs that name sites.
    fn with_indices(
        &self,
        transform: &Transform,
        input: &Input<'_>,
        diagram: &mut Diagram,
    ) -> Result<()> {
        let wanted = transform.wanted;
        if !(wanted.nearest || wanted.coordinates || wanted.value || wanted.label) {
            return Ok(());
        }
        let gpu = self.gpu;
        let mut indices = match transform.algorithm {
            Algorithm::ScanPrune => {
                let mask = self.bits.unpacked(gpu)?;
                DeviceIntegers::U32(super::scan_prune(gpu, &mask)?)
            }
            Algorithm::Auto | Algorithm::Monotone => {
                Winners::find(gpu, self.bits, self.metric)?.indices(gpu)?
            }
        };
        match &mut indices {
            DeviceIntegers::U32(grid) => self.exclude(grid, u64::MAX)?,
            DeviceIntegers::U64(grid) => self.exclude(grid, u64::MAX)?,
        }
        if wanted.coordinates {
            let pairs = indices.coordinates(gpu)?.into_column().to_host()?;
            let split = |pair: u64| [pair as u32, (pair >> 32) as u32];
            diagram.coordinates = Some(pairs.into_iter().map(split).collect());
        }
        if wanted.value
            && let Some(values) = input.value_raster(input.check()?)?
        {
            let values = gpu.upload(bytemuck::cast_slice::<f32, u32>(&values))?;
            let found = indices.gather(gpu, &values, f32::NAN.to_bits())?;
            let bits = found.into_column().to_host()?;
            diagram.value = Some(bits.into_iter().map(f32::from_bits).collect());
        }
        if let (true, Sites::Labels(labels)) = (wanted.label, input.sites) {
            let found = indices.gather(gpu, &gpu.upload(labels)?, 0)?;
            diagram.label = Some(found.into_column().to_host()?);
        }
        if wanted.nearest {
            diagram.nearest = Some(indices.to_host()?);
        }
        Ok(())
    }

    /// Adds the outputs that are distances.
    fn with_distances(&self, transform: &Transform, diagram: &mut Diagram) -> Result<()> {
        let (gpu, wanted, scale) = (self.gpu, transform.wanted, self.metric.scale);
        if !(wanted.squared || wanted.distance || wanted.distance_f64 || wanted.signed) {
            return Ok(());
        }
        let winners = Winners::find(gpu, self.bits, self.metric)?;
        if wanted.squared || wanted.distance_f64 {
            let squares = winners.squares(gpu)?;
            if wanted.distance_f64 {
                let mut out = squares.distances_f64(gpu, scale)?;
                self.exclude(&mut out, f64::NAN.to_bits())?;
                diagram.distance_f64 = Some(out.into_column().to_host()?);
            }
            if wanted.squared {
                diagram.squared_distance = Some(self.squares_to_host(squares)?);
            }
        }
        if wanted.distance || wanted.signed {
            let mut out = winners.distances(gpu)?;
            drop(winners);
            self.exclude(&mut out, f32::NAN.to_bits().into())?;
            if wanted.distance {
                diagram.distance = Some(out.column().to_host()?);
            }
            if wanted.signed {
                let others = self.bits.flipped(gpu)?;
                let inside = Winners::find(gpu, &others, self.metric)?.distances(gpu)?;
                outputs::sign(gpu, &mut out, &inside)?;
                diagram.signed_distance = Some(out.into_column().to_host()?);
            }
        }
        Ok(())
    }

    fn squares_to_host(&self, mut squares: DeviceIntegers) -> Result<Integers> {
        match &mut squares {
            DeviceIntegers::U32(grid) => self.exclude(grid, u64::MAX)?,
            DeviceIntegers::U64(grid) => self.exclude(grid, u64::MAX)?,
        }
        squares.to_host()
    }

    fn exclude<T: gpu_core::Element>(&self, out: &mut DeviceGrid<T>, bits: u64) -> Result<()> {
        outputs::exclude(self.gpu, self.excluded, out, bits)
    }
}
